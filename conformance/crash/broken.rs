//! One call of the server to the system fails, once: from then on the server acknowledges nothing, says
//! why, goes on reading, and ends when it is told to; the next server finds everything that was
//! acknowledged.
//!
//! That one failed sync is enough is the point: the system tells of it once, and takes what it could not
//! write for written afterwards.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::client::{Client, Failure};
use crate::faults::{Call, Fate};
use crate::http::Door;
use crate::oracle::Oracle;
use crate::server::Server;
use crate::tools::run;
use crate::{Ending, READ_ONLY, Rounds, connect, connect_bare, kill, trial, wait_for_end, writers};

/// What fails, and how it is told.
const CASES: &[(Call, Fate)] = &[
    (call("sync", ".jnl"), Fate::Eio),
    (call("write", ".jnl"), Fate::Eio),
    (call("write", ".jnl"), Fate::Enospc),
    (call("create", "/tables/"), Fate::Eio),
    (call("create", "/tables/"), Fate::Emfile),
    (call("write", "/tables/"), Fate::Eio),
    (call("write", "/tables/"), Fate::Enospc),
    (call("sync", "/tables/"), Fate::Eio),
    (call("write", "/keyspaces/1/v"), Fate::Eio),
    (call("sync", "/keyspaces/1/"), Fate::Eio),
    (call("sync", "/current"), Fate::Eio),
];

/// The time that writers have before the failure.
const BEFORE: Duration = Duration::from_millis(200);
/// How long it may take until every writer knows.
const END_MAX: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long a server that was told to stop may take.
const STOP_MAX: Duration = Duration::from_secs(20);
/// What a write is told then.
const READ_ONLY_MODE: u16 = 1836;

const fn call(name: &'static str, path: &'static str) -> Call {
    Call { name, path }
}

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let count = u64::try_from(CASES.len()).unwrap_or(0);
    let of = |name: &str, ending, count, run| trial(name.to_owned(), (ending, count), run);
    vec![
        of("failed_write_ends_all_writing", Ending::Point, count, fail),
        of(
            "too_few_files_are_refused_with_the_numbers",
            Ending::Kill,
            1,
            lack_files,
        ),
    ]
}

fn fail(rounds: &Rounds) -> Result<String, String> {
    let mut oracle = Oracle::default();
    let mut door = Door::new()?;
    let mut server = rounds.start_at(&door)?;
    writers::make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    for (call, fate) in CASES {
        let told = |text: String| format!("{} of {}, {fate}: {text}", call.name, call.path);
        let broken = break_one(rounds, (&server, &door, &mut oracle), (*call, *fate));
        broken.map_err(told)?;
        door = Door::new()?;
        server = rounds.start_at(&door).map_err(told)?;
        let mut client = connect(&server.address).map_err(told)?;
        oracle.verify(&mut client).map_err(told)?;
    }
    Ok(format!("{} failures; {}", CASES.len(), oracle.summary()))
}

/// A server that may open few files says so, and does not start.
fn lack_files(rounds: &Rounds) -> Result<String, String> {
    let program = format!(
        "ulimit -n 1500 && exec {} --listen 127.0.0.1:0 --data-dir {}",
        rounds.binary.display(),
        rounds.directory().join("data").display()
    );
    match run("sh", ["-c", &program]) {
        Ok(_) => Err("it was started".to_owned()),
        Err(told) if told.contains("1500 files may be open") && told.contains("to 2200") => {
            Ok(told)
        }
        Err(told) => Err(format!("the numbers are not told: {told}")),
    }
}

fn break_one(
    rounds: &Rounds,
    (server, door, oracle): (&Server, &Door, &mut Oracle),
    (call, fate): (Call, Fate),
) -> Result<(), String> {
    let faults = rounds.faults()?;
    expect_health(door, 200, "ok")?;
    let threads = writers::start(server, oracle)?;
    thread::sleep(BEFORE);
    faults.arm(call, (1, 1), fate)?;
    let deadline = Instant::now() + END_MAX;
    while !threads.iter().all(JoinHandle::is_finished) {
        if deadline < Instant::now() {
            kill(server)?;
            let (hits, log) = (faults.hits(), rounds.log());
            return Err(format!("writers are stuck; {hits} calls failed: {log}"));
        }
        thread::sleep(POLL_INTERVAL);
    }
    let logs = writers::join(threads)?;
    oracle.note(&logs);
    if faults.hits() != 1 {
        return Err(format!(
            "the writers ended, and {} calls failed",
            faults.hits()
        ));
    }
    look_at_the_rest(server)?;
    expect_health(door, 503, "read-only: ")?;
    if door.metric("meseta_read_only")? < 1.0 {
        return Err("meseta_read_only is not 1".to_owned());
    }
    if !rounds.log().contains(READ_ONLY) {
        return Err(format!("the log does not tell: {}", rounds.log()));
    }
    stop(server)?;
    faults.disarm()
}

/// What those are told who look after the server from outside.
fn expect_health(door: &Door, status: u16, begin: &str) -> Result<(), String> {
    match door.get("/health")? {
        (found, text) if found == status && text.starts_with(begin) => Ok(()),
        other => Err(format!(
            "/health tells {other:?}, not {status} and {begin:?}"
        )),
    }
}

/// Reads go on, writes do not.
fn look_at_the_rest(server: &Server) -> Result<(), String> {
    let mut client = connect(&server.address)?;
    let rows = client.rows("SELECT COUNT(*) FROM singles WHERE writer >= 0");
    rows.map_err(|error| format!("a read: {error}"))?;
    for sql in [
        "INSERT INTO singles VALUES (1000, 1, 'x')",
        "UPDATE counters SET n = 0 WHERE id = 1",
        "DELETE FROM counters WHERE id = 1",
        "CREATE TABLE another (id INT PRIMARY KEY)",
        "DROP TABLE counters",
    ] {
        expect_refusal(&mut client, sql)?;
    }
    Ok(())
}

fn expect_refusal(client: &mut Client, sql: &str) -> Result<(), String> {
    match client.execute(sql) {
        Err(Failure::Server { errno, .. }) if errno == READ_ONLY_MODE => Ok(()),
        Err(failure) => Err(format!("{sql}: {failure}")),
        Ok(_) => Err(format!("{sql}: was done")),
    }
}

/// Tells a server to stop; it ends in peace.
pub(crate) fn stop(server: &Server) -> Result<(), String> {
    let process_id = server.process_id().to_string();
    run("kill", ["-TERM", &process_id])?;
    if !wait_for_end(server, STOP_MAX)? {
        return Err(format!("the server does not stop in {STOP_MAX:?}"));
    }
    match server.ended().map_err(|e| e.to_string())? {
        Some(status) if status.success() => Ok(()),
        status => Err(format!("the server ended with {status:?}")),
    }
}
