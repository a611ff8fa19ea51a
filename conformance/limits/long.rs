//! What takes long: it ends when it is killed, and when its time is over, and others are served meanwhile, however
//! many there are of it.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::crowd::crowd_count;
use crate::house::{House, Told, told};

/// How often it is killed until it ends.
const KILL_EVERY: Duration = Duration::from_millis(100);
/// How long a killed statement may go on; a machine that is busy is no fault.
const KILL_TIMEOUT: Duration = Duration::from_mins(1);
/// How long a short statement may take beside long ones that take all processors.
const SHORT_TIMEOUT: Duration = Duration::from_secs(5);
/// How many of them are asked for.
const SHORT_COUNT: usize = 10;

/// Some minutes and more each, in a release build too.
const LONG: &[&str] = &[
    "SELECT REPEAT('a', 8000000) LIKE CONCAT('%', REPEAT('a', 1000000), 'b')",
    "SELECT REPEAT(x'ff', 8000000) LIKE CONCAT('%', REPEAT(x'ff', 1000000), 'b')",
    "SELECT LENGTH(REGEXP_REPLACE(REPEAT('a', 4000000), 'a[^b]*b|a', 'x'))",
    "SELECT JSON_OVERLAPS(CONCAT('[', REPEAT('1,', 1000000), '1]'), CONCAT('[', REPEAT('2,', 1000000), '2]'))",
    "SELECT JSON_CONTAINS(CONCAT('[', REPEAT('1,', 1000000), '1]'), CONCAT('[', REPEAT('1,', 1000000), '2]'))",
    "SELECT JSON_LENGTH(JSON_EXTRACT(CONCAT(REPEAT('[', 90), REPEAT('1,', 1000000), '1', REPEAT(']', 90)), \
     CONCAT('$', REPEAT('**[0]', 400))))",
    "SELECT BENCHMARK(1023, BENCHMARK(1023, BENCHMARK(1023, MD5('a'))))",
];

/// It ends when it is killed, and when its time is over. An answer would be a kill that was not heard.
pub(crate) fn ends(house: &mut House) -> Result<(), String> {
    for sql in LONG {
        killed(house, sql)?;
        house.run("SET max_execution_time = 50")?;
        house.refused(sql, 3024, &[])?;
        house.run("SET max_execution_time = 0")?;
    }
    // Not found, whatever the bytes are, in a time that has nothing of text times part.
    let part = "CONCAT(REPEAT('a', 100000), 'b')";
    let sql = format!("SELECT INSTR(CONCAT(x'ff', REPEAT('a', 1000000)), {part})");
    if house.value(&sql)? != "0" {
        return Err(format!("{sql} is not 0"));
    }
    Ok(())
}

/// Kills a statement until it ends, which it would not do by itself for long.
pub(crate) fn killed(house: &mut House, sql: &str) -> Result<(), String> {
    let mut victim = house.another()?;
    let id = victim.connection_id;
    let text = sql.to_owned();
    let running = thread::spawn(move || told(victim.query(&text)));
    let deadline = Instant::now() + KILL_TIMEOUT;
    while !running.is_finished() && Instant::now() < deadline {
        thread::sleep(KILL_EVERY);
        // One that comes before the statement has begun is forgotten.
        house.ask(&format!("KILL QUERY {id}"))?;
    }
    if !running.is_finished() {
        return Err(format!("{sql}: goes on after KILL"));
    }
    match running.join() {
        Ok(Ok(Told::Error { errno: 1317, .. })) => Ok(()),
        Ok(Ok(Told::Error { errno, text })) => Err(format!("{sql}: {errno} {text}, not 1317")),
        Ok(Ok(Told::Rows(_) | Told::Done)) => Err(format!("{sql}: answered, not 1317")),
        Ok(Err(lost)) => Err(format!("{sql}: {lost}")),
        Err(_) => Err("a thread of the test panicked".to_owned()),
    }
}

/// One more of them than the server has threads for short statements, and they go on. Then all are killed.
pub(crate) fn keeps_nobody_waiting(house: &mut House) -> Result<(), String> {
    let threads = crowd_count();
    for sql in LONG {
        let prober = house.another()?;
        let clients = (0..threads).map(|_| house.another());
        let clients = clients.collect::<Result<Vec<Client>, String>>()?;
        let mut victims = Vec::new();
        for mut victim in clients {
            let id = victim.connection_id;
            victims.push((id, thread::spawn(move || told(victim.query(sql)))));
        }
        let slowest = slowest_short(prober)
            .map_err(|text| format!("SELECT 1 beside {threads} of {sql}: {text}"))?;
        println!("limits: SELECT 1 beside {threads} of {sql:.60}…: {slowest:?} at most");
        let deadline = Instant::now() + KILL_TIMEOUT;
        while victims.iter().any(|(_, running)| !running.is_finished()) {
            if deadline < Instant::now() {
                return Err(format!("{sql}: goes on after KILL"));
            }
            for (id, _) in &victims {
                house.ask(&format!("KILL QUERY {id}"))?;
            }
            thread::sleep(KILL_EVERY);
        }
    }
    Ok(())
}

/// How long a short statement takes at most, of some one after the other. A server that answers none is not waited for.
pub(crate) fn slowest_short(mut client: Client) -> Result<Duration, String> {
    let (sender, answers) = mpsc::channel();
    thread::spawn(move || {
        for _ in 0..SHORT_COUNT {
            thread::sleep(Duration::from_millis(50));
            let asked = Instant::now();
            let answered = told(client.query("SELECT 1")).map(|_| asked.elapsed());
            if sender.send(answered).is_err() {
                return;
            }
        }
    });
    let mut slowest = Duration::ZERO;
    for _ in 0..SHORT_COUNT {
        let late = |_| format!("not answered within {SHORT_TIMEOUT:?}");
        let took = answers.recv_timeout(SHORT_TIMEOUT).map_err(late)?;
        slowest = slowest.max(took.map_err(|lost| lost.to_string())?);
    }
    Ok(slowest)
}

/// What is short, however long it looks: each of these once took twice as long for each level.
pub(crate) fn is_short(house: &mut House) -> Result<(), String> {
    let text = "CONCAT(REPEAT('[', 90), '\"', REPEAT('a', 100000), '\"', REPEAT(']', 90))";
    house.run("SET max_execution_time = 60000")?;
    let bytes = house.value(&format!("SELECT JSON_STORAGE_SIZE({text})"))?;
    if bytes.parse().unwrap_or(0) < 100_000 {
        return Err(format!("a document of 100000 letters takes {bytes} bytes"));
    }
    house.run("SET max_execution_time = 0").map(drop)
}
