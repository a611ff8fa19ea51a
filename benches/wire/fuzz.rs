//! Streams of packets that are wrong in places, against a running server.
//!
//! What one packet holds is fuzzed elsewhere, guided by coverage (`conformance/fuzz`). Here it is the
//! connection as a whole: login, commands one after the other, compression, hanging up in between.
//! Each connection comes from an address of its own in 127/8, so that failed logins do not slow the
//! rest down.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use meseta::protocol::compression::{Algorithm, put_packed};
use meseta::protocol::packet::PacketWriter;
use meseta::protocol::wire::put_u32;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::client::{Client, EndForm};
use crate::{Options, Outcome};

/// Connections at a time.
const WORKERS: u64 = 24;

/// How long an answer is waited for before the next wrong thing is sent.
const PATIENCE: Duration = Duration::from_millis(3);

/// How long memory may take to be given back.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);

/// Rounds in all for a server that has grown by too much in each: what it remembers has a bound that is
/// reached by then, a leak grows on.
const ROUNDS_MAX: u64 = 4;

/// Commands that are right before something is done to them.
const COMMANDS: &[&[u8]] = &[
    b"\x03SELECT 1",
    b"\x03SELECT 1; SELECT 2; DO 3",
    b"\x03SELECT REPEAT('x', 100000)",
    b"\x03CREATE TABLE IF NOT EXISTS `default`.fuzz (a BIGINT PRIMARY KEY, b VARCHAR(100), c JSON)",
    b"\x03INSERT INTO `default`.fuzz VALUES (1, 'one', '{}') ON DUPLICATE KEY UPDATE b = 'two'",
    b"\x03SELECT * FROM `default`.fuzz WHERE a = 1",
    b"\x03SHOW VARIABLES LIKE 'session_track%'",
    b"\x03SET session_track_system_variables = '*', session_track_state_change = 1",
    b"\x03SET session_track_transaction_info = 'CHARACTERISTICS'",
    b"\x03BEGIN",
    b"\x03ROLLBACK",
    b"\x03\x01\x01\0\x01\xfe\0\x01n\x02abSELECT mysql_query_attribute_string('n')",
    b"\x02default",
    b"\x04fuzz\0%",
    b"\x09",
    b"\x0a",
    b"\x0e",
    b"\x11root\0\0default\0\xff\0caching_sha2_password\0",
    b"\x16SELECT ?, ? + 1, mysql_query_attribute_string('n')",
    b"\x16SELECT a, b, c FROM `default`.fuzz WHERE a < ?",
    b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\xfd\0\x07\0\0\0\0\0\0\0\x02ab",
    b"\x17\x01\0\0\0\x09\x01\0\0\0\x03\0\x01\x08\0\0\xfd\0\0\xfe\0\x01n\x07\0\0\0\0\0\0\0\x02ab\x01x",
    b"\x17\x02\0\0\0\x01\x01\0\0\0\0\x01\x08\0\x07\0\0\0\0\0\0\0",
    b"\x18\x01\0\0\0\x01\0long data",
    b"\x1a\x01\0\0\0",
    b"\x19\x01\0\0\0",
    b"\x1b\x00\x00",
    b"\x1c\x02\0\0\0\x05\0\0\0",
    b"\x1f",
];

/// What was sent.
#[derive(Debug, Default)]
struct Sent {
    connections: u64,
    logins: u64,
    packets: u64,
    answered_bytes: u64,
}

/// Sends until the time is over, then looks whether the server is as it was. One that has grown gets as
/// much again, so it may take [`ROUNDS_MAX`] times as long. What is told of is the last round; how much a
/// round may leave behind is a matter of the first.
pub(crate) fn run(options: &Options) -> Outcome<String> {
    let address: SocketAddr = options.address.parse().map_err(|e| format!("{e}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|e| e.to_string())?;
    let watch = options.watch();
    // The first fifth fills what is kept: statements, buffers, threads.
    let warm = options.duration / 5;
    let _first = runtime.block_on(all(address, (options.seed, warm)));
    std::thread::sleep(SETTLES_WITHIN);
    let mut before_kib = watch.resident_kib();
    let may_grow_by_kib = before_kib / 3 + 32 * 1024;
    let mut round = 1;
    let (sent, left_kib) = loop {
        let seed = options.seed + round * WORKERS;
        let duration = options.duration.saturating_sub(warm);
        let sent = runtime.block_on(all(address, (seed, duration)));
        std::thread::sleep(SETTLES_WITHIN);
        let left_kib = watch.resident_kib();
        if left_kib <= before_kib + may_grow_by_kib || round == ROUNDS_MAX {
            break (sent, left_kib);
        }
        (before_kib, round) = (left_kib, round + 1);
    };
    let fail = |e| format!("after the streams: {e}");
    let mut client = Client::connect(&options.address, "", EndForm::Ok).map_err(fail)?;
    let status = client
        .rows("SHOW STATUS WHERE variable_name IN ('Internal_errors', 'Threads_connected')")
        .map_err(fail)?;
    let value = |name: &str| -> String {
        let row = status.iter().find(|row| row[0].as_deref() == Some(name));
        row.and_then(|row| row[1].clone()).unwrap_or_default()
    };
    Ok(format!(
        "{{\"seed\": {}, \"connections\": {}, \"logins\": {}, \"packets\": {}, \"answered_bytes\": {}, \
         \"rounds\": {round}, \"before_kib\": {before_kib}, \"left_kib\": {left_kib}, \
         \"may_grow_by_kib\": {may_grow_by_kib}, \"internal_errors\": {}, \"threads_connected\": {}}}",
        options.seed,
        sent.connections,
        sent.logins,
        sent.packets,
        sent.answered_bytes,
        value("Internal_errors"),
        value("Threads_connected"),
    ))
}

async fn all(address: SocketAddr, (seed, duration): (u64, Duration)) -> Sent {
    let until = Instant::now() + duration;
    let workers = (0..WORKERS).map(|number| {
        tokio::spawn(async move {
            let mut rng = StdRng::seed_from_u64(seed + number);
            let mut sent = Sent::default();
            while Instant::now() < until {
                // Whatever breaks a connection, the next one comes.
                let _ = Box::pin(connection(address, &mut rng, &mut sent)).await;
            }
            sent
        })
    });
    let mut sum = Sent::default();
    for worker in workers.collect::<Vec<_>>() {
        if let Ok(sent) = worker.await {
            sum.connections += sent.connections;
            sum.logins += sent.logins;
            sum.packets += sent.packets;
            sum.answered_bytes += sent.answered_bytes;
        }
    }
    sum
}

/// One connection, from its greeting to its end.
async fn connection(address: SocketAddr, rng: &mut StdRng, sent: &mut Sent) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    let own = [127, rng.random(), rng.random(), rng.random_range(1..255)];
    socket.bind(SocketAddr::from((own, 0)))?;
    let mut socket = socket.connect(address).await?;
    sent.connections += 1;
    let mut greeting = [0; 1024];
    let _ = socket.read(&mut greeting).await?;
    let algorithm = match rng.random_range(0..3) {
        0 => None,
        1 => Some(Algorithm::Zlib),
        _ => Some(Algorithm::Zstd(rng.random_range(1..9))),
    };
    let mut hello = framed(&hello(rng, algorithm), 1);
    let is_spoilt = rng.random_ratio(1, 3);
    if is_spoilt {
        spoil(&mut hello, rng);
    }
    socket.write_all(&hello).await?;
    if is_spoilt {
        sent.answered_bytes += Box::pin(read_some(&mut socket)).await?;
        if rng.random() {
            // What comes after a hello that was none.
            socket.write_all(&noise(rng)).await?;
            sent.answered_bytes += Box::pin(read_some(&mut socket)).await?;
        }
        return Ok(());
    }
    let mut answer = [0; 1024];
    let count = timeout(Duration::from_secs(5), socket.read(&mut answer)).await??;
    if count < 5 || answer[4] != 0 {
        return Ok(());
    }
    sent.logins += 1;
    for _ in 0..rng.random_range(1..30) {
        let stream = commands(rng, algorithm, sent);
        if let Ok(written) = timeout(Duration::from_secs(1), socket.write_all(&stream)).await {
            written?;
        }
        if rng.random_ratio(9, 10) {
            sent.answered_bytes += Box::pin(read_some(&mut socket)).await?;
        }
    }
    Ok(())
}

/// Root, without a password.
fn hello(rng: &mut StdRng, algorithm: Option<Algorithm>) -> Vec<u8> {
    // PROTOCOL_41, SECURE_CONNECTION, MULTI_STATEMENTS, MULTI_RESULTS, PLUGIN_AUTH.
    let mut flags = 1 << 9 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 19;
    // SESSION_TRACK, DEPRECATE_EOF, QUERY_ATTRIBUTES.
    for bit in [23, 24, 27] {
        flags |= u32::from(rng.random::<bool>()) << bit;
    }
    match algorithm {
        None => {}
        Some(Algorithm::Zlib) => flags |= 1 << 5,
        Some(Algorithm::Zstd(_)) => flags |= 1 << 26,
    }
    let mut hello = Vec::new();
    put_u32(&mut hello, flags);
    hello.extend_from_slice(&[0; 28]);
    hello.extend_from_slice(b"root\0\0caching_sha2_password\0");
    if let Some(Algorithm::Zstd(level)) = algorithm {
        hello.push(level);
    }
    hello
}

fn framed(payload: &[u8], sequence: u8) -> Vec<u8> {
    let mut out = PacketWriter::default();
    out.set_sequence(sequence);
    out.packet(|out| out.extend_from_slice(payload));
    out.bytes().to_vec()
}

/// Some commands, with something wrong in most of them.
fn commands(rng: &mut StdRng, algorithm: Option<Algorithm>, sent: &mut Sent) -> Vec<u8> {
    let mut plain = Vec::new();
    for _ in 0..rng.random_range(1..5) {
        let mut command = COMMANDS[rng.random_range(0..COMMANDS.len())].to_vec();
        if rng.random_ratio(2, 3) {
            spoil(&mut command, rng);
        }
        let mut packet = framed(&command, 0);
        if rng.random_ratio(1, 50) {
            spoil(&mut packet, rng);
        }
        plain.extend_from_slice(&packet);
        sent.packets += 1;
    }
    let Some(algorithm) = algorithm else {
        return plain;
    };
    let mut packed = Vec::new();
    if rng.random_ratio(1, 4) {
        // In pieces that are numbered.
        let mut sequence = 0;
        for piece in plain.chunks(rng.random_range(1..200)) {
            sequence = put_packed(&mut packed, piece, (algorithm, sequence));
        }
    } else {
        put_packed(&mut packed, &plain, (algorithm, 0));
    }
    if rng.random_ratio(1, 20) {
        spoil(&mut packed, rng);
    }
    packed
}

/// Does one to three things to some bytes.
fn spoil(bytes: &mut Vec<u8>, rng: &mut StdRng) {
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..=bytes.len());
        match rng.random_range(0..6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, rng.random()),
            2 => bytes.extend_from_slice(&noise(rng)),
            3 if at < bytes.len() => bytes[at] ^= 1 << rng.random_range(0..8),
            4 if at < bytes.len() => {
                bytes[at] = [0, 0xFF, 0xFE, 0xFB, 0xFD][rng.random_range(0..5)];
            }
            _ => {
                let twice: Vec<u8> = bytes[at..].to_vec();
                bytes.extend_from_slice(&twice);
            }
        }
    }
}

fn noise(rng: &mut StdRng) -> Vec<u8> {
    let count = rng.random_range(0..60);
    (0..count).map(|_| rng.random()).collect()
}

/// Reads what comes within a moment.
async fn read_some(socket: &mut TcpStream) -> std::io::Result<u64> {
    let mut room = [0; 16 * 1024];
    let mut all = 0;
    while let Ok(read) = timeout(PATIENCE, socket.read(&mut room)).await {
        let count = read?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        all += u64::try_from(count).unwrap_or(0);
    }
    Ok(all)
}
