//! What signals do to a server: SIGHUP flushes its logs, the second SIGTERM ends it in the middle of a statement. A log
//! that cannot be written ends nothing.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Client, EndForm};
use crate::house::House;
use crate::server::addresses_in;

/// How long the server may take to do what it is told.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer than what counts as one signal that is sent twice.
const APART: Duration = Duration::from_millis(700);
/// Longer than this test.
const LONG: &str = "SELECT SLEEP(600)";

pub(crate) fn all() -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let dir = scratch.path();
    let mut house = House::open(dir, &[])?;
    hangup_flushes_logs(&mut house, dir)?;
    second_ends_at_once(&house, dir)?;
    outlives_its_terminal(&dir.join("other"))
}

/// A server whose log cannot be written, as that of a terminal that was closed, served nobody any more from the first
/// line on, and did not end in order.
fn outlives_its_terminal(dir: &Path) -> Result<(), String> {
    fs::create_dir(dir).map_err(|e| e.to_string())?;
    let told = dir.join("told");
    let out = fs::File::create(&told).map_err(|e| e.to_string())?;
    let full = fs::File::options().write(true).open("/dev/full");
    let mut child = Command::new(env!("CARGO_BIN_EXE_meseta"))
        .args(["--listen", "127.0.0.1:0", "--data-dir"])
        .arg(dir.join("data"))
        .stdout(out)
        .stderr(full.map_err(|e| e.to_string())?)
        .spawn()
        .map_err(|e| e.to_string())?;
    let ended = logs_nowhere(&mut child, &told);
    // One that has ended is not there to be killed.
    let _ = child.kill();
    let _ = child.wait();
    ended
}

fn logs_nowhere(child: &mut Child, told: &Path) -> Result<(), String> {
    let addresses = || addresses_in(&fs::read_to_string(told).unwrap_or_default());
    until("the address", || !addresses().is_empty())?;
    let address = addresses().remove(0);
    for signal in ["HUP", "HUP"] {
        signal_to(child.id(), signal)?;
        // A refused login is a line of the log.
        let mut socket = TcpStream::connect(&address).map_err(|e| e.to_string())?;
        let limited = socket.set_read_timeout(Some(PATIENCE));
        limited.map_err(|e| e.to_string())?;
        socket.write_all(&[0xFF; 64]).map_err(|e| e.to_string())?;
        // Whatever it answers, until it hangs up.
        match socket.read_to_end(&mut Vec::new()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(format!("nobody is served {PATIENCE:?} after {signal}"));
            }
            Ok(_) | Err(_) => {}
        }
    }
    let mut client = Client::connect(&address, "", EndForm::Ok).map_err(|e| e.to_string())?;
    client.rows("SELECT 1").map_err(|e| e.to_string())?;
    signal_to(child.id(), "TERM")?;
    let mut status = None;
    until("the end", || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    })?;
    match status {
        Some(status) if status.success() => Ok(()),
        _ => Err(format!("it ended with {status:?}")),
    }
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
    // As timeout(1) does, to the process and to its group: that is one.
    send(house, "TERM")?;
    send(house, "TERM")?;
    until("a word of the end", || has(&log, "stopping"))?;
    thread::sleep(APART);
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
    signal_to(house.server.process_id(), signal)
}

fn signal_to(process_id: u32, signal: &str) -> Result<(), String> {
    let id = process_id.to_string();
    let sent = Command::new("kill").args(["-s", signal, &id]).status();
    match sent {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("kill -s {signal} {id}: {other:?}")),
    }
}
