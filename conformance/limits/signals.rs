//! What signals do to a server: SIGHUP flushes its logs, the second SIGTERM ends it in the middle of a statement.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::house::House;

/// How long the server may take to do what it is told.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer than this test.
const LONG: &str = "SELECT SLEEP(600)";

pub(crate) fn all() -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let dir = scratch.path();
    let mut house = House::open(dir, &[])?;
    hangup_flushes_logs(&mut house, dir)?;
    second_ends_at_once(&house, dir)
}

/// SIGHUP ended the server at once; a log that was moved away is written to no more.
fn hangup_flushes_logs(house: &mut House, dir: &Path) -> Result<(), String> {
    let (log, moved) = (dir.join("data/s.log"), dir.join("data/s.log.1"));
    for sql in [
        "SET GLOBAL slow_query_log_file = 's.log', GLOBAL slow_query_log = 1",
        "SET long_query_time = 0",
        "SELECT 'before'",
    ] {
        house.run(sql)?;
    }
    until("a slow log", || has(&log, "'before'"))?;
    fs::rename(&log, &moved).map_err(|e| e.to_string())?;
    send(house, "HUP")?;
    until("a word of SIGHUP", || {
        has(&dir.join("server.log"), "SIGHUP: logs were flushed")
    })?;
    house.run("SELECT 'after'")?;
    until("a new slow log", || has(&log, "'after'"))?;
    if has(&moved, "'after'") {
        return Err("the old log is written to".to_owned());
    }
    house.run("SET long_query_time = 600").map(drop)
}

fn second_ends_at_once(house: &House, dir: &Path) -> Result<(), String> {
    let mut client = house.another()?;
    let running = thread::spawn(move || client.rows(LONG).is_ok());
    let mut other = house.another()?;
    let sql = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = '{LONG}'");
    until("the statement", || {
        other
            .rows(&sql)
            .is_ok_and(|rows| rows == [[Some("1".to_owned())]])
    })?;
    let log = dir.join("server.log");
    send(house, "TERM")?;
    until("a word of the end", || has(&log, "stopping"))?;
    if house.server.ended().map_err(|e| e.to_string())?.is_some() {
        return Err("the first SIGTERM ends it at once".to_owned());
    }
    send(house, "TERM")?;
    let mut status = None;
    until("the end", || {
        status = house.server.ended().ok().flatten();
        status.is_some()
    })?;
    let code = status.and_then(|status| status.code());
    if code != Some(1) || !has(&log, "told to stop a second time") {
        return Err(format!("exit code {code:?}, and no word of why"));
    }
    let ended = running.join();
    if ended.map_err(|_| "a thread of the test panicked")? {
        return Err("the statement came to its end".to_owned());
    }
    Ok(())
}

fn has(path: &Path, what: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.contains(what))
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        if deadline < Instant::now() {
            return Err(format!("no {what} after {PATIENCE:?}"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn send(house: &House, signal: &str) -> Result<(), String> {
    let id = house.server.process_id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &id]).status();
    match sent {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("kill -s {signal} {id}: {other:?}")),
    }
}
