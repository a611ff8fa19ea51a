//! `--memory-limit` under many connections that want much at once: it holds, what is refused says so, and
//! afterwards the server works on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::client::{Answer, COM_QUERY, Client, EndForm, Failure};
use crate::house::{House, Told, shown, told};

/// The limit that the server is given.
const LIMIT_BYTES: u64 = 640 << 20;
/// By how much the process may ever pass it, in percent.
const OVER_PERCENT_MAX: u64 = 10;
/// Connections that press: one for each want, and some that want what others want.
const CLIENTS: usize = WANTS.len() + 4;
/// Keys of the rows that are committed when memory was full, above those of the connections that press.
const COMMITTED_FROM: u32 = 900_000;
/// Bytes of the user variables that fill the memory.
const FILL_BYTES: u64 = 60_000_000;
/// What a user variable takes beside its value, at most.
const FILL_MORE_MAX: u64 = 1024;
/// How long it is under pressure.
const PRESSURE: Duration = Duration::from_secs(6);
/// Columns of a wide table.
const WIDE_COLUMNS: usize = 4000;
/// Connections that wait at once.
const WAITING: usize = 700;
/// Connections with a result of four times as many columns.
const RESULTS: usize = 60;
/// What must be possible again afterwards.
const LARGE: &str = "SELECT LENGTH(REPEAT('a', 60000000))";

/// What the connections want, each again and again.
const WANTS: &[&str] = &[
    "SELECT LENGTH(CONCAT(REPEAT('a', 30000000), REPEAT('b', 30000000)))",
    "SELECT COUNT(*) FROM (SELECT DISTINCT a.v, b.id FROM t a, t b LIMIT 300000) x",
    "SELECT a.v, b.id FROM t a, t b ORDER BY b.v, a.id DESC LIMIT 200000, 1",
    "SELECT LENGTH(GROUP_CONCAT(a.v SEPARATOR '')) FROM t a, t b",
    "SET @v = REPEAT('x', 50000000)",
    "SELECT JSON_LENGTH(CONCAT('[', REPEAT('1,', 2000000), '1]'))",
    "SELECT b.v, COUNT(*) FROM t a, t b GROUP BY a.id * 1000 + b.id, b.v LIMIT 1",
    BIG_PACKET,
    BIG_LIST,
    BIG_TRANSACTION,
    "REPLACE INTO copy SELECT a.id * 1000 + b.id, a.v FROM t a, t b",
    "SELECT 'a' REGEXP '((a{100}){100}){100}'",
    "SELECT REPEAT('ab', 100000) REGEXP '(a+b*)+[ab]{100}c'",
    DEEP_NESTING,
    COME_AND_GO,
];

/// Wants that are not one statement, or one that is too long to be written down.
const BIG_PACKET: &str = "big packet";
const BIG_LIST: &str = "big list";
const BIG_TRANSACTION: &str = "big transaction";
const DEEP_NESTING: &str = "deep nesting";
/// A connection that keeps something and leaves.
const COME_AND_GO: &str = "come and go";

/// What may be refused under pressure, beside 1041: memory of statements, another's lock, a conflict, time,
/// nesting, a pattern that is too large, a search that takes too long.
const OTHER_REFUSALS: &[u16] = &[1038, 1205, 1213, 3024, 1436, 3685, 3699];

/// What was refused.
#[derive(Debug, Default)]
struct Refused {
    by_memory: usize,
    otherwise: usize,
}

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
    house.run("CREATE TABLE copy (id INT PRIMARY KEY, v VARCHAR(1000))")?;
    let refused = under_pressure(&house)?;
    let pressed = holds(&house)?;
    if refused.by_memory == 0 {
        return Err(format!("nothing presses: {refused:?}, {pressed} bytes"));
    }
    house.eventually(LARGE)?;
    refuses(&mut house)?;
    house.eventually(LARGE)?;
    let peak = holds(&house)?;
    println!(
        "limits: memory_limit: {} refusals by it and {} others, at most {} of {} MiB, and {} when full",
        refused.by_memory,
        refused.otherwise,
        pressed >> 20,
        LIMIT_BYTES >> 20,
        peak >> 20,
    );
    Ok(())
}

/// The most that the process ever had, which is near the limit.
fn holds(house: &House) -> Result<u64, String> {
    let peak = house.peak_bytes()?;
    let most = LIMIT_BYTES + LIMIT_BYTES * OVER_PERCENT_MAX / 100;
    if peak <= most {
        return Ok(peak);
    }
    Err(format!(
        "the process had {} MiB, the limit is {}, {OVER_PERCENT_MAX} % more are {}",
        peak >> 20,
        LIMIT_BYTES >> 20,
        most >> 20
    ))
}

/// Puts the server under pressure; how often it refused.
fn under_pressure(house: &House) -> Result<Refused, String> {
    let stop = Arc::new(AtomicBool::new(false));
    // All are there before one of them presses: a connection may be refused, too.
    let clients: Result<Vec<Client>, String> = (0..CLIENTS)
        .map(|_| {
            let mut client = house.another()?;
            let bound = client.execute("SET max_execution_time = 4000");
            bound.map_err(|e| e.to_string())?;
            Ok(client)
        })
        .collect();
    let clients = clients?.into_iter().zip(WANTS.iter().cycle()).enumerate();
    let threads: Vec<_> = clients
        .map(|(n, (client, want))| {
            let (stop, address) = (Arc::clone(&stop), house.server.address.clone());
            thread::spawn(move || match *want {
                COME_AND_GO => coming_and_going(&address, &stop),
                want => wanting(client, &statements_of(want, n), &stop),
            })
        })
        .collect();
    thread::sleep(PRESSURE);
    stop.store(true, Ordering::Relaxed);
    let mut refused = Refused::default();
    for thread in threads {
        let told = thread.join().map_err(|_| "a thread of the test panicked")?;
        let told = told?;
        refused.by_memory += told.by_memory;
        refused.otherwise += told.otherwise;
    }
    Ok(refused)
}

/// The statements of a want; `n` is for keys that no other has.
fn statements_of(want: &str, n: usize) -> Vec<String> {
    match want {
        BIG_PACKET => vec![format!("SELECT LENGTH('{}')", "x".repeat(30_000_000))],
        BIG_LIST => {
            let list: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
            vec![format!("SELECT 5 IN ({})", list.join(","))]
        }
        BIG_TRANSACTION => {
            let rows: Vec<String> = (0..20)
                .map(|row| format!("({}, REPEAT('y', 2000000))", n * 1000 + row))
                .collect();
            let rows = format!("REPLACE INTO big VALUES {}", rows.join(", "));
            vec!["BEGIN".to_owned(), rows.clone(), rows, "COMMIT".to_owned()]
        }
        DEEP_NESTING => {
            let parens = ["(", ")"].map(|sign| sign.repeat(200_000));
            vec![format!("SELECT {}1{}", parens[0], parens[1])]
        }
        other => vec![other.to_owned()],
    }
}

/// Wants one thing until it is time to stop; how often that was refused.
fn wanting(
    mut client: Client,
    statements: &[String],
    stop: &AtomicBool,
) -> Result<Refused, String> {
    let mut refused = Refused::default();
    while !stop.load(Ordering::Relaxed) {
        for sql in statements {
            refused.note(client.query(sql), sql)?;
        }
    }
    Ok(refused)
}

/// Connects, keeps a variable, a statement and a table, and leaves, until it is time to stop.
fn coming_and_going(address: &str, stop: &AtomicBool) -> Result<Refused, String> {
    let mut refused = Refused::default();
    while !stop.load(Ordering::Relaxed) {
        let mut client = match Client::connect(address, "d", EndForm::Ok) {
            Ok(client) => client,
            Err(failure) => {
                refused.note(Err(failure), COME_AND_GO)?;
                continue;
            }
        };
        for sql in [
            "SET @kept = REPEAT('u', 500000)",
            "PREPARE p FROM 'SELECT COUNT(*) FROM t WHERE id < ?'",
            "CREATE TEMPORARY TABLE mine (id INT PRIMARY KEY)",
        ] {
            refused.note(client.query(sql), sql)?;
        }
    }
    Ok(refused)
}

impl Refused {
    /// Counts what was refused.
    fn note(&mut self, answer: Result<Answer, Failure>, sql: &str) -> Result<(), String> {
        match answer {
            Ok(_) => {}
            Err(Failure::Server {
                errno: 1041, text, ..
            }) if text.contains("memory-limit") && text.contains("needs") => self.by_memory += 1,
            Err(Failure::Server { errno, .. }) if OTHER_REFUSALS.contains(&errno) => {
                self.otherwise += 1;
            }
            Err(other) => return Err(format!("{}: {other}", shown(sql))),
        }
        Ok(())
    }
}

/// The bytes that a refusal says were needed.
fn needed_bytes(text: &str) -> Option<u64> {
    let (_, needed) = text.split_once("needs ")?;
    needed.split(' ').next()?.parse().ok()
}

/// Sessions fill the memory, one after the other: there is one that is refused. Who has written much meanwhile
/// may commit it when they are gone, rows may be deleted all the time.
fn refuses(house: &mut House) -> Result<(), String> {
    house.run("SET autocommit = 0")?;
    for id in 0..20 {
        let id = COMMITTED_FROM + id;
        let row = format!("INSERT INTO big VALUES ({id}, REPEAT('z', 2000000))");
        house.eventually(&row)?;
    }
    let mut full = Vec::new();
    let refusal = fill(house, FILL_BYTES, &mut full)?;
    let limit = LIMIT_BYTES.to_string();
    let parts = ["memory-limit", &limit];
    // Refused when it is made, or with a little more when it is kept.
    let names_size = needed_bytes(&refusal.1)
        .is_some_and(|bytes| (FILL_BYTES..FILL_BYTES + FILL_MORE_MAX).contains(&bytes));
    if refusal.0 != 1041 || !names_size || !parts.iter().all(|part| refusal.1.contains(part)) {
        return Err(format!(
            "{refusal:?}, not 1041 with about {FILL_BYTES} bytes and {parts:?}"
        ));
    }
    // What has come back since is taken, too.
    for bytes in [FILL_BYTES / 4, FILL_BYTES / 20] {
        fill(house, bytes, &mut full)?;
    }
    house.run("DELETE FROM t WHERE id < 100")?;
    // A commit takes twice what was written: it is refused, unless memory has come back meanwhile.
    match house.ask("COMMIT")? {
        Told::Error { errno: 1041, text } if text.contains("commit needs 80") => {}
        Told::Error { errno, text } => return Err(format!("COMMIT: {errno} {text}")),
        Told::Rows(_) | Told::Done => {}
    }
    house.run("DELETE FROM t WHERE id < 200")?;
    // So is the commit that comes with autocommit, which is not on then.
    if let Told::Error { errno, text } = house.ask("SET autocommit = 1")? {
        let autocommit = house.value("SELECT @@autocommit")?;
        if (errno, autocommit.as_str()) != (1041, "0") {
            return Err(format!("autocommit is {autocommit} after {errno} {text}"));
        }
    }
    drop(full);
    house.eventually("SET autocommit = 1")?;
    // Who leaves takes what is not committed along.
    house.client = house.another()?;
    let count = format!("SELECT COUNT(*) FROM big WHERE id >= {COMMITTED_FROM}");
    let committed = (house.value(&count)?, house.value("SELECT COUNT(*) FROM t")?);
    if committed != ("20".to_owned(), "100".to_owned()) {
        return Err(format!("there are {committed:?} rows, not 20 and 100"));
    }
    Ok(())
}

/// Sessions take so many bytes each until one is refused: why it was.
fn fill(house: &House, bytes: u64, full: &mut Vec<Client>) -> Result<(u16, String), String> {
    let set = format!("SET @v = REPEAT('x', {bytes})");
    for _ in 0..=LIMIT_BYTES / bytes {
        let mut client = house.another()?;
        match client.query(&set) {
            Ok(_) => full.push(client),
            Err(Failure::Server { errno, text, .. }) => return Ok((errno, text)),
            Err(lost) => return Err(lost.to_string()),
        }
    }
    Err(format!(
        "more than {LIMIT_BYTES} bytes fit, {bytes} at a time"
    ))
}

/// What takes memory by and by: definitions, queries of many columns, waits. The most of each that fits is refused,
/// and the limit holds.
pub(crate) fn slow_growth() -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let limit = format!("--memory-limit={LIMIT_BYTES}");
    let options = ["--allow-full-scan", "--durability=async", &limit];
    let mut house = House::open(scratch.path(), &options)?;
    let columns: Vec<String> = (0..WIDE_COLUMNS).map(|n| format!("c{n} INT")).collect();
    let columns = columns.join(", ");
    house.run(&format!("CREATE TABLE w (a INT PRIMARY KEY, {columns})"))?;
    waits(&house)?;
    house.eventually(LARGE)?;
    results(&mut house)?;
    house.eventually(LARGE)?;
    definitions(&mut house)?;
    house.client = house.another()?;
    house.eventually(LARGE)?;
    let peak = holds(&house)?;
    println!(
        "limits: slow_growth: at most {} of {} MiB",
        peak >> 20,
        LIMIT_BYTES >> 20
    );
    Ok(())
}

/// Temporary tables like a wide one, as many as one session may have.
fn definitions(house: &mut House) -> Result<(), String> {
    for n in 0..1000 {
        match house.ask(&format!("CREATE TEMPORARY TABLE w{n} LIKE w"))? {
            Told::Done | Told::Rows(_) => {}
            Told::Error { errno: 1041, .. } => return Ok(()),
            Told::Error { errno, text } => return Err(format!("w{n}: {errno} {text}")),
        }
    }
    Err("1000 tables of 4000 columns fit".to_owned())
}

/// Results of very many columns, each of which stays open, as many as there is memory for.
fn results(house: &mut House) -> Result<(), String> {
    house.run("INSERT INTO w (a) VALUES (1)")?;
    let from = "w w1 JOIN w w2 JOIN w w3 JOIN w w4";
    let keys = "w1.a = 1 AND w2.a = 1 AND w3.a = 1 AND w4.a = 1";
    let sql = format!("SELECT *, SLEEP(8) FROM {from} WHERE {keys}");
    let clients = (0..RESULTS).map(|_| house.another());
    let mut clients = clients.collect::<Result<Vec<Client>, String>>()?;
    for client in &mut clients {
        let sent = client.command(COM_QUERY, sql.as_bytes());
        sent.map_err(|error| error.to_string())?;
    }
    let refused = refusals(clients)?;
    println!("limits: slow_growth: {refused} of {RESULTS} results refused");
    if refused == 0 || refused == RESULTS {
        return Err(format!(
            "{refused} of {RESULTS} results of 16000 columns are refused"
        ));
    }
    Ok(())
}

/// More connections that wait than there is memory for.
fn waits(house: &House) -> Result<(), String> {
    let clients = (0..WAITING).map(|_| house.another());
    let mut clients = clients.collect::<Result<Vec<Client>, String>>()?;
    for client in &mut clients {
        let sent = client.command(COM_QUERY, b"SELECT SLEEP(8)");
        sent.map_err(|error| error.to_string())?;
    }
    let refused = refusals(clients)?;
    println!("limits: slow_growth: {refused} of {WAITING} waits refused");
    if refused == 0 || refused == WAITING {
        return Err(format!(
            "{refused} of {WAITING} connections that wait are refused"
        ));
    }
    Ok(())
}

/// How many of them are refused for want of memory; the others are answered.
fn refusals(clients: Vec<Client>) -> Result<usize, String> {
    let mut refused = 0;
    for mut client in clients {
        match told(client.read_answer()) {
            Ok(Told::Rows(_) | Told::Done) => {}
            Ok(Told::Error { errno: 1041, .. }) => refused += 1,
            Ok(Told::Error { errno, text }) => return Err(format!("{errno} {text}")),
            Err(lost) => return Err(lost.to_string()),
        }
    }
    Ok(refused)
}
