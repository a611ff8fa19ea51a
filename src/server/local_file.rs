//! LOAD DATA LOCAL: the server asks the client for a file, in the middle of a query.
//!
//! ```text
//!  server   FB and the name of the file
//!  client   packets of bytes, as long as it likes; then an empty one
//!  server   OK or ERR, and what the rest of the query gives
//! ```
//!
//! The client cannot be interrupted: when the statement fails, what is left of the file is read and thrown
//! away, then the error is sent.

use std::time::Duration;

use tokio::time::timeout;

use super::connection::{Talk, too_large};
use super::wire::{Gone, Wire};
use crate::error::{Code, Error, Result};
use crate::exec::pace::Pace;
use crate::exec::rows::BoxFuture;
use crate::protocol::packet::PacketReader;
use crate::session::load::{FileSource, Loading};

/// What begins the request for a file.
const FILE_REQUEST: u8 = 0xFB;

/// A statement that waits for a file, and the statements behind it.
pub(super) struct Wanted {
    pub(super) loading: Box<Loading>,
    pub(super) rest: Option<Vec<u8>>,
}

/// A file on its way from the client.
struct Incoming<'a> {
    wire: &'a mut Wire,
    reader: &'a mut PacketReader,
    /// How long the client may be silent.
    patience: Duration,
    /// The number of the next packet.
    sequence: u8,
    has_ended: bool,
    /// Why there will be no more.
    gone: Option<Gone>,
}

impl FileSource for Incoming<'_> {
    fn more<'a>(&'a mut self, out: &'a mut Vec<u8>) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            if self.has_ended || self.gone.is_some() {
                return Ok(false);
            }
            match self.packet(Some(out)).await {
                Ok(taken) => taken.map(|()| !self.has_ended),
                Err(gone) => {
                    self.gone = Some(gone);
                    let text = "Got an error reading communication packets";
                    Err(Error::new(Code::NetReadError, text))
                }
            }
        })
    }
}

impl Incoming<'_> {
    /// Takes the next packet. May be dropped while it waits: no byte is lost.
    async fn packet(&mut self, out: Option<&mut Vec<u8>>) -> std::result::Result<Result<()>, Gone> {
        let packet = loop {
            if let Some(packet) = self.reader.next(self.sequence)? {
                break packet;
            }
            let filling = self.wire.fill_in_statement(self.reader);
            let filled = timeout(self.patience, filling).await;
            filled.unwrap_or_else(|_| {
                let error = std::io::Error::from(std::io::ErrorKind::TimedOut);
                Err(Gone::Failed(error))
            })?;
        };
        self.sequence = packet.sequence.wrapping_add(1);
        let Some(payload) = self.reader.payload(&packet) else {
            let refusal = self.reader.want_of_memory(&packet);
            let bytes_max = self.reader.packet_bytes_max();
            return Ok(Err(refusal.unwrap_or_else(|| too_large(bytes_max))));
        };
        self.has_ended = payload.is_empty();
        if let Some(out) = out {
            out.extend_from_slice(payload);
        }
        Ok(Ok(()))
    }

    /// Reads what is left.
    async fn drain(&mut self) -> std::result::Result<(), Gone> {
        if let Some(gone) = self.gone.take() {
            return Err(gone);
        }
        while !self.has_ended {
            // A packet that is too long was skipped, as the others are.
            let _ = self.packet(None).await?;
        }
        Ok(())
    }
}

/// Asks for a file, loads it and answers; then runs what is left of the query, which may want files too.
pub(super) async fn receive(
    talk: &mut Talk,
    reader: &mut PacketReader,
    wanted: Wanted,
) -> std::result::Result<(), Gone> {
    let (mut wanted, mut pace) = (Some(wanted), Pace::default());
    while let Some(Wanted { loading, rest }) = wanted.take() {
        if !receive_one(talk, reader, (&loading, rest.is_some())).await? {
            break;
        }
        if let Some(rest) = rest {
            if !talk.goes_on(&mut pace).await? {
                break;
            }
            wanted = talk.query(&rest).await?;
        }
    }
    talk.end_command();
    Ok(())
}

/// Whether it succeeded.
async fn receive_one(
    talk: &mut Talk,
    reader: &mut PacketReader,
    (loading, more): (&Loading, bool),
) -> std::result::Result<bool, Gone> {
    talk.wire.out.packet(|out| {
        out.push(FILE_REQUEST);
        out.extend_from_slice(loading.path().as_bytes());
    });
    talk.wire.flush().await?;
    let mut incoming = Incoming {
        sequence: talk.wire.out.sequence(),
        wire: &mut talk.wire,
        reader,
        patience: talk.state.net_read_timeout,
        has_ended: false,
        gone: None,
    };
    let loaded = talk.session.load(loading, &mut incoming).await;
    incoming.drain().await?;
    let last = incoming.sequence.wrapping_sub(1);
    talk.wire.answer(last);
    talk.refresh();
    match loaded {
        Ok(done) => {
            talk.done(&done, more);
            Ok(true)
        }
        Err(error) => {
            talk.wire.error(&error);
            Ok(false)
        }
    }
}
