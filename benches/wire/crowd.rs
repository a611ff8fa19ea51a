//! Many connections, and one that does not read.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::client::{COM_QUERY, Client, EndForm};
use crate::{Options, Outcome};

/// Threads that connect.
const STORM_THREADS: u32 = 16;

/// How long the server may take to give back or to take what it will.
const SETTLES_WITHIN: Duration = Duration::from_secs(2);

/// Bytes of a row that is made up as it is sent.
const ROW_BYTES: usize = 1_000_000;
/// Those of a gigabyte that are read before the client falls asleep: a row and the beginning of the next.
const SEEN_BYTES: usize = ROW_BYTES + ROW_BYTES / 2;
/// Bytes of a PING in its packet, and of the OK that answers it.
const PING: &[u8] = b"\x01\0\0\0\x0e";
const OK_BYTES: usize = 11;
/// Millions of PINGs that are sent at most: what sockets hold of them and of their answers is a few.
const PINGS_MAX: usize = 30;
/// How long a write to a server that does not read any more may wait.
const WRITE_TIMEOUT: Duration = Duration::from_millis(100);

fn connect(options: &Options) -> Outcome<Client> {
    Client::connect(&options.address, "", EndForm::Ok).map_err(|e| format!("connecting: {e}"))
}

/// Opens connections and leaves them be.
pub(crate) fn idle(options: &Options) -> Outcome<String> {
    let watch = options.watch();
    // What the first ones cost is not theirs.
    let mut warm = Vec::new();
    for _ in 0..50 {
        warm.push(used(connect(options)?)?);
    }
    std::thread::sleep(SETTLES_WITHIN);
    let before_kib = watch.resident_kib();
    let (start, mut open) = (Instant::now(), Vec::new());
    for _ in 0..options.connections {
        open.push(used(connect(options)?)?);
    }
    let seconds = start.elapsed().as_secs_f64();
    std::thread::sleep(SETTLES_WITHIN);
    let after_kib = watch.resident_kib();
    let cpu_before = watch.cpu_seconds();
    std::thread::sleep(options.duration);
    let cpu = watch.cpu_seconds() - cpu_before;
    let each_bytes = after_kib.saturating_sub(before_kib) * 1024 / u64::from(options.connections);
    // One of them still works.
    let mut other = connect(options)?;
    other.rows("SELECT 1").map_err(|e| e.to_string())?;
    drop((warm, open));
    std::thread::sleep(SETTLES_WITHIN);
    Ok(format!(
        "{{\"connections\": {}, \"connect_seconds\": {seconds:.2}, \"before_kib\": {before_kib}, \
         \"after_kib\": {after_kib}, \"bytes_each\": {each_bytes}, \"idle_cpu_share\": {:.4}, \
         \"left_kib\": {}}}",
        options.connections,
        cpu / options.duration.as_secs_f64(),
        watch.resident_kib(),
    ))
}

/// A connection that has done something.
fn used(mut client: Client) -> Outcome<TcpStream> {
    client.rows("SELECT 1").map_err(|e| e.to_string())?;
    Ok(client.into_stream())
}

/// The time of a query beside what goes on, over and over until `done`; in microseconds.
fn bystander(mut client: Client, done: &AtomicBool) -> Outcome<Vec<u64>> {
    let mut latencies = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let start = Instant::now();
        client
            .rows("SELECT 1")
            .map_err(|e| format!("the bystander: {e}"))?;
        latencies.push(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
        std::thread::sleep(Duration::from_millis(1));
    }
    latencies.sort_unstable();
    Ok(latencies)
}

fn quantile(sorted: &[u64], percent: usize) -> u64 {
    let at = sorted.len().saturating_sub(1) * percent / 100;
    sorted.get(at).copied().unwrap_or(0)
}

/// Connects, logs in and leaves, at a rate.
pub(crate) fn storm(options: &Options) -> Outcome<String> {
    let watch = options.watch();
    let before_kib = watch.resident_kib();
    let done = Arc::new(AtomicBool::new(false));
    let (entered, failed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let beside = connect(options)?;
    let beside_done = Arc::clone(&done);
    let beside = std::thread::spawn(move || bystander(beside, &beside_done));
    let pause = Duration::from_secs(1) * STORM_THREADS / options.rate.max(1);
    let (start, cpu_before) = (Instant::now(), watch.cpu_seconds());
    let threads = (0..STORM_THREADS).map(|_| {
        let (done, entered, failed) =
            (Arc::clone(&done), Arc::clone(&entered), Arc::clone(&failed));
        let address = options.address.clone();
        std::thread::spawn(move || {
            let mut next = Instant::now();
            while !done.load(Ordering::Relaxed) {
                match Client::connect(&address, "", EndForm::Ok) {
                    Ok(mut client) => {
                        entered.fetch_add(1, Ordering::Relaxed);
                        let _ = client.command(1, &[]);
                    }
                    Err(_) => {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
                next += pause;
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    std::thread::sleep(options.duration);
    let seconds = start.elapsed().as_secs_f64();
    let (entered, failed) = (
        entered.load(Ordering::Relaxed),
        failed.load(Ordering::Relaxed),
    );
    let cpu = watch.cpu_seconds() - cpu_before;
    done.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")?;
    }
    let latencies = beside.join().map_err(|_| "the bystander panicked")??;
    std::thread::sleep(SETTLES_WITHIN);
    connect(options)?
        .rows("SELECT 1")
        .map_err(|e| format!("after the storm: {e}"))?;
    Ok(format!(
        "{{\"entered\": {entered}, \"failed\": {failed}, \"seconds\": {seconds:.2}, \
         \"per_second\": {}, \"cpu_us_each\": {:.0}, \"beside_p50_us\": {}, \"beside_p99_us\": {}, \
         \"before_kib\": {before_kib}, \"left_kib\": {}}}",
        f64::from(u32::try_from(entered).unwrap_or(u32::MAX)) / seconds,
        cpu * 1e6 / f64::from(u32::try_from(entered.max(1)).unwrap_or(u32::MAX)),
        quantile(&latencies, 50),
        quantile(&latencies, 99),
        watch.resident_kib(),
    ))
}

/// Asks for much on several connections and reads nothing, beside one that works.
pub(crate) fn slow(options: &Options) -> Outcome<String> {
    let watch = options.watch();
    let measure = |seconds: Duration| -> Outcome<Vec<u64>> {
        let done = AtomicBool::new(false);
        let client = connect(options)?;
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| bystander(client, &done));
            std::thread::sleep(seconds);
            done.store(true, Ordering::Relaxed);
            beside.join().map_err(|_| "the bystander panicked")?
        })
    };
    let alone = measure(options.duration)?;
    let before_kib = watch.resident_kib();
    let sampler = watch.sample_memory();
    let asleep = fall_asleep(options)?;
    let beside = measure(options.duration)?;
    let (asking, most_kib) = (being_answered(options)?, sampler.finish());
    drop(asleep);
    std::thread::sleep(SETTLES_WITHIN);
    Ok(format!(
        "{{\"slow\": {}, \"alone_p50_us\": {}, \"alone_p99_us\": {}, \"beside_p50_us\": {}, \
         \"beside_p99_us\": {}, \"asking\": {asking}, \"before_kib\": {before_kib}, \"most_kib\": {most_kib}, \
         \"left_kib\": {}, \"kib_each\": {}}}",
        options.connections * 2,
        quantile(&alone, 50),
        quantile(&alone, 99),
        quantile(&beside, 50),
        quantile(&beside, 99),
        watch.resident_kib(),
        most_kib.saturating_sub(before_kib) / u64::from(options.connections * 2),
    ))
}

/// Clients that ask for a gigabyte, or for millions of answers, see that these come, and read no further.
fn fall_asleep(options: &Options) -> Outcome<Vec<TcpStream>> {
    let large = format!(
        "SELECT REPEAT('x', {ROW_BYTES}) FROM (WITH RECURSIVE n AS (SELECT 1 AS a UNION ALL \
         SELECT a + 1 FROM n WHERE a < 1000) SELECT a FROM n) AS many"
    );
    let pings = PING.repeat(1_000_000);
    let mut asleep = Vec::new();
    for _ in 0..options.connections {
        let mut client = connect(options)?;
        client
            .command(COM_QUERY, large.as_bytes())
            .map_err(|e| e.to_string())?;
        asleep.push(seen(client.into_stream(), SEEN_BYTES)?);
        let mut stream = connect(options)?.into_stream();
        stream
            .set_write_timeout(Some(WRITE_TIMEOUT))
            .map_err(|e| e.to_string())?;
        // As many as the server and the sockets take; then it waits for its answers to be read.
        if (0..PINGS_MAX).all(|_| stream.write_all(&pings).is_ok()) {
            return Err(
                "the server takes commands for ever from one who reads no answer".to_owned(),
            );
        }
        asleep.push(seen(stream, OK_BYTES)?);
    }
    Ok(asleep)
}

/// A connection of which so many bytes were read, and were no error.
fn seen(mut stream: TcpStream, bytes: usize) -> Outcome<TcpStream> {
    let mut first = vec![0; bytes];
    stream
        .read_exact(&mut first)
        .map_err(|e| format!("the answer: {e}"))?;
    // The first packet's first byte, behind its header.
    match first.get(4) {
        Some(0xFF) => Err("the answer is an error".to_owned()),
        _ => Ok(stream),
    }
}

/// How many of the large queries the server is still answering.
fn being_answered(options: &Options) -> Outcome<u32> {
    let count = "SELECT COUNT(*) FROM information_schema.processlist \
                 WHERE COMMAND = 'Query' AND INFO LIKE 'SELECT REPEAT(%'";
    let rows = connect(options)?.rows(count).map_err(|e| e.to_string())?;
    let first = rows
        .first()
        .and_then(|row| row.first()?.as_deref()?.parse().ok());
    first.ok_or_else(|| "the list of processes has no count".to_owned())
}
