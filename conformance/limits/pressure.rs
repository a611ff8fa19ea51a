//! `--memory-limit` under many connections that want much at once: it holds, what is refused says so, and
//! afterwards the server works on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Client, Failure};
use crate::house::House;

/// The limit that the server is given.
const LIMIT_BYTES: u64 = 640 << 20;
/// By how much the process may pass it, in percent.
const OVER_PERCENT: u64 = 10;
/// How long it is under pressure.
const PRESSURE: Duration = Duration::from_secs(6);
/// How long the server may take until a large statement is possible again.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(60);

/// What the connections want, each again and again.
const WANTS: &[&str] = &[
    "SELECT LENGTH(CONCAT(REPEAT('a', 30000000), REPEAT('b', 30000000)))",
    "SELECT COUNT(*) FROM (SELECT DISTINCT a.v, b.id FROM t a, t b LIMIT 300000) x",
    "SELECT a.v, b.id FROM t a, t b ORDER BY b.v, a.id DESC LIMIT 200000, 1",
    "SELECT LENGTH(GROUP_CONCAT(a.v SEPARATOR '')) FROM t a, t b",
    "SET @v = REPEAT('x', 50000000)",
    "SELECT JSON_LENGTH(CONCAT('[', REPEAT('1,', 2000000), '1]'))",
    "SELECT b.v, COUNT(*) FROM t a, t b GROUP BY a.id * 1000 + b.id, b.v LIMIT 1",
    "big packet",
    "big list",
    "big transaction",
];

/// The trial.
pub(crate) fn memory_limit() -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let limit = format!("--memory-limit={LIMIT_BYTES}");
    let mut house = House::open(
        scratch.path(),
        &["--allow-full-scan", "--durability=async", &limit],
    )?;
    let told = house.value("SELECT @@memory_limit")?;
    if told != LIMIT_BYTES.to_string() {
        return Err(format!("@@memory_limit is {told}"));
    }
    house.run("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(1000))")?;
    house.run("CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT)")?;
    let rows: Vec<String> = (0..300)
        .map(|id| format!("({id}, REPEAT('{id},', 100))"))
        .collect();
    house.run(&format!("INSERT INTO t VALUES {}", rows.join(", ")))?;
    let refused = under_pressure(&house)?;
    let peak = house.peak_bytes()?;
    let most = LIMIT_BYTES + LIMIT_BYTES * OVER_PERCENT / 100;
    if most < peak {
        return Err(format!(
            "the process had {peak} bytes, the limit is {LIMIT_BYTES}"
        ));
    }
    recovers(&mut house)?;
    println!(
        "limits: memory_limit: {refused} refusals, at most {} of {} MiB",
        peak >> 20,
        LIMIT_BYTES >> 20
    );
    Ok(())
}

/// Puts the server under pressure; how often it refused.
fn under_pressure(house: &House) -> Result<usize, String> {
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Result<Vec<_>, String> = (0..14)
        .map(|n| {
            let mut client = house.another()?;
            let bound = client.execute("SET max_execution_time = 4000");
            bound.map_err(|e| e.to_string())?;
            let want = WANTS[n % WANTS.len()];
            let stop = Arc::clone(&stop);
            Ok(thread::spawn(move || wanting(client, (n, want), &stop)))
        })
        .collect();
    thread::sleep(PRESSURE);
    stop.store(true, Ordering::Relaxed);
    let mut refused = 0;
    for thread in threads? {
        let told = thread.join().map_err(|_| "a thread of the test panicked")?;
        refused += told?;
    }
    Ok(refused)
}

/// Wants one thing until it is time to stop; how often that was refused.
fn wanting(
    mut client: Client,
    (n, want): (usize, &str),
    stop: &AtomicBool,
) -> Result<usize, String> {
    let list: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    let list = format!("SELECT 5 IN ({})", list.join(","));
    let packet = format!("SELECT LENGTH('{}')", "x".repeat(30_000_000));
    let rows: Vec<String> = (0..20)
        .map(|row| format!("({}, REPEAT('y', 2000000))", n * 1000 + row))
        .collect();
    let rows = format!("REPLACE INTO big VALUES {}", rows.join(", "));
    let mut refused = 0;
    while !stop.load(Ordering::Relaxed) {
        let statements = match want {
            "big packet" => vec![packet.as_str()],
            "big list" => vec![list.as_str()],
            "big transaction" => vec!["BEGIN", &rows, &rows, "COMMIT"],
            other => vec![other],
        };
        for sql in statements {
            match client.query(sql) {
                Ok(_) => {}
                // By the limit, by limits of statements, by another transaction.
                Err(Failure::Server {
                    errno: 1041, text, ..
                }) if text.contains("memory-limit") && text.contains("needs") => {
                    refused += 1;
                }
                Err(Failure::Server {
                    errno: 1038 | 1205 | 1213 | 3024,
                    ..
                }) => refused += 1,
                Err(other) => return Err(format!("{want}: {other}")),
            }
        }
    }
    Ok(refused)
}

/// A large statement is possible again.
fn recovers(house: &mut House) -> Result<(), String> {
    let deadline = Instant::now() + RECOVERY_TIMEOUT;
    loop {
        let told = house.survived("SELECT LENGTH(REPEAT('a', 60000000))")?;
        if told == 0 {
            return Ok(());
        }
        if deadline < Instant::now() {
            return Err(format!("a large statement is refused with {told} for ever"));
        }
        thread::sleep(Duration::from_millis(100));
    }
}
