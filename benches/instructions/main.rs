//! Does one of some fixed operations, from the packet of a client to the packets of the answer: the
//! tool of `scripts/instructions`, which counts the instructions that takes.
//!
//! The server is a whole one, on the LSM engine. It and its only client live on one thread, so that
//! who runs when is the same in every run; what the server does elsewhere (commits, long reads) runs
//! on threads of its own as ever. The client knows how long each answer is, and only counts bytes.
//!
//! `instructions prepare DIR` makes a data directory. `instructions count DIR NAME` runs the operation
//! on it: once to warm up, then between the making of `DIR/measure-begin` and of `DIR/measure-end`,
//! which what counts waits for (`still.c`). `instructions list` tells the names.

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::little_endian_bytes,
    reason = "a bench program: it speaks the protocol and stops at the first surprise"
)]

#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/client.rs"]
mod client;
mod operation;
#[path = "../load/statement.rs"]
mod statement;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use meseta::server::{self, Server};
use meseta::session::{OpenOptions, Shared, Storage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use client::{COM_QUERY, Client, EndForm};
use operation::{DATABASE, Form, Operation};
use statement::{AnswerReader, Prepared};

/// As the server's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What went wrong, as a text.
type Outcome<T> = Result<T, String>;

/// Writes before those that are counted.
const WARM_UP_WRITES: i64 = 20;
/// Room for the longest answer.
const INPUT_BYTES: usize = 1 << 20;
/// Fixed, so that the machine's memory makes no difference.
const MEMORY_BYTES: u64 = 64 << 20;
/// An emulated processor is slow.
const PATIENCE: Duration = Duration::from_mins(5);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        // `cargo bench` and `cargo test --benches` run it without saying what.
        [] => return ExitCode::SUCCESS,
        ["list"] => {
            let all = operation::ALL.iter();
            all.for_each(|one| println!("{}", one.name));
            Ok(())
        }
        ["prepare", dir] => prepare(Path::new(dir)),
        ["count", dir, name] => count(Path::new(dir), name),
        _ => Err("what? see the head of the file".to_owned()),
    };
    match done {
        // Without the end of the server: only what is measured is to be done.
        Ok(()) => std::process::exit(0),
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A server on this thread.
struct Served {
    runtime: Runtime,
    address: String,
    stop: Arc<Notify>,
    running: JoinHandle<()>,
}

impl Served {
    fn start(dir: &Path) -> Outcome<Served> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(said)?;
        let (server, address) = runtime.block_on(opened(dir))?;
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        let running = runtime.spawn(server.run(async move { stopped.notified().await }));
        Ok(Served {
            runtime,
            address,
            stop,
            running,
        })
    }

    /// Has a thread of its own speak with the server, which goes on meanwhile.
    fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce(Client) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let (done, waits) = oneshot::channel();
        let address = self.address.clone();
        std::thread::spawn(move || {
            let client = Client::connect(&address, "", EndForm::Ok).map_err(said);
            let _ = done.send(client.and_then(work));
        });
        self.runtime.block_on(waits).map_err(said)?
    }

    fn end(self) -> Outcome<()> {
        self.stop.notify_one();
        self.runtime.block_on(self.running).map_err(said)
    }
}

async fn opened(dir: &Path) -> Outcome<(Server, String)> {
    let listener = server::listen(([127, 0, 0, 1], 0).into())?;
    let address = listener.local_addr().map_err(said)?;
    let shared = Shared::open(OpenOptions {
        storage: Storage::Lsm(dir.to_owned()),
        durable: true,
        allow_full_scan: false,
        memory_limit_bytes: None,
        cache_bytes: Some(MEMORY_BYTES),
        query_memory_total_bytes: Some(MEMORY_BYTES),
        spill_quota_bytes: None,
        secure_file_priv: None,
        backup_dir: None,
        port: address.port(),
        connections_max: 10,
        packet_bytes_max: 64 << 20,
        wait_timeout_s: 28_800,
        net_write_timeout_s: 60,
        connect_timeout_s: 10,
        requires_tls: false,
    })
    .await?;
    let options = server::Options {
        connections_max: 10,
        shutdown_grace: PATIENCE,
        root_password: None,
        certificate: None,
        // No keys are made that nobody needs.
        data_dir: None,
    };
    Ok((Server::new(listener, options, shared)?, address.to_string()))
}

/// Makes the tables, all rows in files.
fn prepare(dir: &Path) -> Outcome<()> {
    let served = Served::start(dir)?;
    served.beside(|mut client| {
        for sql in operation::preparation() {
            let begin: String = sql.chars().take(60).collect();
            client.execute(&sql).map_err(|e| format!("{begin}: {e}"))?;
        }
        client.rows("OPTIMIZE TABLE points").map_err(said)?;
        Ok(())
    })?;
    served.end()
}

/// Runs the operation, and so many of it that one is told from the others.
fn count(dir: &Path, name: &str) -> Outcome<()> {
    let mut all = operation::ALL.iter().copied();
    let operation = all.find(|one| one.name == name);
    let operation = operation.ok_or_else(|| format!("no operation is called {name}"))?;
    let served = Served::start(dir)?;
    let (stream, packets) = served.beside(move |client| connected(client, operation))?;
    let dir = dir.to_owned();
    served
        .runtime
        .block_on(measured(stream, &packets, (operation, dir)))?;
    println!("{}", operation.count);
    Ok(())
}

/// The packets of an operation, whole.
struct Packets {
    warm_up: Vec<Vec<u8>>,
    counted: Vec<Vec<u8>>,
    deprecates_eof: bool,
}

/// A connection on which the operation is prepared.
fn connected(mut client: Client, operation: Operation) -> Outcome<(std::net::TcpStream, Packets)> {
    client.execute(&format!("USE {DATABASE}")).map_err(said)?;
    let mut packets: Box<dyn FnMut(i64) -> Vec<u8>> = match operation.form {
        Form::Text(text) => Box::new(move |at| query(&text(at))),
        Form::Prepared(text, parameters) => {
            let mut prepared = Prepared::new(&mut client, &text())?;
            Box::new(move |at| {
                let mut packet = Vec::new();
                prepared.execute(&mut packet, &parameters(at));
                packet
            })
        }
    };
    let counted = 0..operation.count;
    let warm_up = if operation.writes {
        operation.count..operation.count + WARM_UP_WRITES
    } else {
        counted.clone()
    };
    let packets = Packets {
        warm_up: warm_up.map(&mut packets).collect(),
        counted: counted.map(&mut packets).collect(),
        deprecates_eof: client.deprecates_eof(),
    };
    let stream = client.into_stream();
    stream.set_nonblocking(true).map_err(said)?;
    Ok((stream, packets))
}

fn query(text: &str) -> Vec<u8> {
    let size = u32::try_from(text.len() + 1).unwrap_or(0).to_le_bytes();
    let mut packet = vec![size[0], size[1], size[2], 0, COM_QUERY];
    packet.extend_from_slice(text.as_bytes());
    packet
}

async fn measured(
    stream: std::net::TcpStream,
    packets: &Packets,
    (operation, dir): (Operation, PathBuf),
) -> Outcome<()> {
    let mut stream = TcpStream::from_std(stream).map_err(said)?;
    let mut input = vec![0; INPUT_BYTES];
    let mut sizes = Vec::new();
    for packet in &packets.warm_up {
        let answer = AnswerReader::new(packets.deprecates_eof);
        sizes.push(answered(&mut stream, packet, (answer, &mut input)).await?);
    }
    if operation.writes {
        if sizes.iter().any(|size| *size != sizes[0]) {
            return Err("the answers to writes differ in length".to_owned());
        }
        sizes.resize(packets.counted.len(), sizes[0]);
    }
    mark(&dir, "measure-begin")?;
    for (packet, size) in packets.counted.iter().zip(sizes) {
        exchanged(&mut stream, packet, (size, &mut input)).await?;
    }
    mark(&dir, "measure-end")
}

fn mark(dir: &Path, name: &str) -> Outcome<()> {
    std::fs::create_dir(dir.join(name)).map_err(said)
}

/// Sends a command and reads its answer; how many bytes that has.
async fn answered(
    stream: &mut TcpStream,
    packet: &[u8],
    (mut answer, input): (AnswerReader, &mut [u8]),
) -> Outcome<usize> {
    stream.write_all(packet).await.map_err(said)?;
    let (mut filled, mut used) = (0, 0);
    loop {
        match stream.read(&mut input[filled..]).await.map_err(said)? {
            0 => return Err("the server closed the connection".to_owned()),
            count => filled += count,
        }
        let (more, ended) = answer.advance(&input[used..filled])?;
        used += more;
        if ended && answer.conflict {
            return Err("the answer is a conflict".to_owned());
        }
        if ended {
            return Ok(filled);
        }
    }
}

/// The same, of an answer whose length is known.
async fn exchanged(
    stream: &mut TcpStream,
    packet: &[u8],
    (size, input): (usize, &mut [u8]),
) -> Outcome<()> {
    stream.write_all(packet).await.map_err(said)?;
    let mut filled = 0;
    while filled < size {
        match stream.read(&mut input[filled..]).await.map_err(said)? {
            0 => return Err("the server closed the connection".to_owned()),
            count => filled += count,
        }
        if input[4] == 0xFF {
            let text = String::from_utf8_lossy(&input[7..filled]);
            return Err(format!("an error: {text}"));
        }
    }
    Ok(())
}
