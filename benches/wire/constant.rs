//! A server that knows one answer: what the protocol costs when nothing is behind it.
//!
//! One read and one write per command, on tokio as the server that it is compared with. Every login is
//! let in, every PREPARE is the same statement, every EXECUTE gives the same row, and everything else
//! is OK.

use meseta::protocol::packet::{PacketReader, PacketWriter};
use meseta::protocol::reply::{self, Outcome as Answer};
use meseta::protocol::wire::{put_lenenc_bytes, put_u16, put_u32};
use meseta::protocol::{Capabilities, Salt, Status, handshake};
use tokio::net::{TcpListener, TcpStream};

use crate::Outcome;

/// The most bytes of a command.
const COMMAND_BYTES_MAX: usize = 1 << 20;

/// Serves until it is killed.
pub(crate) fn serve() -> Outcome<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.map_err(|e| e.to_string())?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|e| e.to_string())?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        println!("listening on {address} ");
        loop {
            let (socket, _) = listener.accept().await.map_err(|e| e.to_string())?;
            tokio::spawn(async move {
                // A client that leaves is none of our business.
                let _ = Connection::new(socket).run().await;
            });
        }
    })
}

struct Connection {
    socket: TcpStream,
    reader: PacketReader,
    out: PacketWriter,
    prepared: Vec<u8>,
    row: Vec<u8>,
    ok: Vec<u8>,
}

impl Connection {
    fn new(socket: TcpStream) -> Connection {
        let _ = socket.set_nodelay(true);
        Connection {
            socket,
            reader: PacketReader::new(COMMAND_BYTES_MAX),
            out: PacketWriter::default(),
            prepared: prebuilt(|out| {
                out.packet(|out| reply::put_prepared(out, 1, 1, 1));
                out.packet(put_column);
                out.packet(put_column);
            }),
            row: prebuilt(|out| {
                out.packet(|out| out.push(1));
                out.packet(put_column);
                out.packet(|out| {
                    out.extend_from_slice(&[0, 0]);
                    put_lenenc_bytes(out, &[b'0'; 100]);
                });
                out.packet(|out| reply::put_end(out, Capabilities::OFFER, &done()));
            }),
            ok: prebuilt(|out| out.packet(|out| reply::put_ok(out, &done()))),
        }
    }

    async fn run(mut self) -> std::io::Result<()> {
        self.out.packet(|out| {
            let plain = Capabilities::COMPRESS | Capabilities::ZSTD;
            let offered = Capabilities::OFFER.without(plain);
            handshake::put_greeting(out, 1, &Salt::random(), offered);
        });
        self.flush().await?;
        self.out.set_sequence(2);
        loop {
            self.socket.readable().await?;
            match self.socket.try_read(self.reader.spare()) {
                Ok(0) => return Ok(()),
                Ok(count) => self.reader.filled(count),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            }
            // The hello has the number 1, each command 0.
            let mut answers = Vec::new();
            while let Ok(Some(packet)) = self.reader.next(u8::from(self.out.sequence() == 2)) {
                if self.out.sequence() == 2 {
                    self.out.packet(|out| reply::put_ok(out, &done()));
                    answers.extend_from_slice(self.out.bytes());
                    self.out.clear();
                    continue;
                }
                match self.reader.payload(&packet).and_then(<[u8]>::first) {
                    Some(0x17) => answers.extend_from_slice(&self.row),
                    Some(0x16) => answers.extend_from_slice(&self.prepared),
                    Some(_) => answers.extend_from_slice(&self.ok),
                    None => return Ok(()),
                }
            }
            send(&self.socket, &answers).await?;
        }
    }

    async fn flush(&mut self) -> std::io::Result<()> {
        send(&self.socket, self.out.bytes()).await?;
        self.out.clear();
        Ok(())
    }
}

async fn send(socket: &TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match socket.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                socket.writable().await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Packets that answer a command.
fn prebuilt(fill: impl FnOnce(&mut PacketWriter)) -> Vec<u8> {
    let mut out = PacketWriter::default();
    out.set_sequence(1);
    fill(&mut out);
    out.bytes().to_vec()
}

fn done() -> Answer<'static> {
    Answer {
        status: Status::AUTOCOMMIT,
        ..Answer::default()
    }
}

/// `bench.points.c`, a VARCHAR(120).
fn put_column(out: &mut Vec<u8>) {
    for name in ["def", "bench", "points", "points", "c", "c"] {
        put_lenenc_bytes(out, name.as_bytes());
    }
    out.push(12);
    put_u16(out, 45);
    put_u32(out, 480);
    out.extend_from_slice(&[253, 1, 0, 0, 0, 0]);
}
