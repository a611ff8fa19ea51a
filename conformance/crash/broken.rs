//! One call of the server to the system fails, once or with all that follow: from then on the server
//! acknowledges nothing, says why, goes on reading, and ends when it is told to; the next server finds everything
//! that was acknowledged. Of a full disk, after which the server starts anew by itself, [`crate::again`] tells.
//!
//! That one failed sync is enough is the point: the system tells of it once, and takes what it could not
//! write for written afterwards. What fails in the first start or the first write of one, and what only warns,
//! is in [`crate::names`]. Reads for which files lack are in [`crate::unopened`].

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::client::{Client, Failure};
use crate::faults::{Call, Fate};
use crate::http::Door;
use crate::oracle::Oracle;
use crate::server::Server;
use crate::tools::run;
use crate::{
    Ending, READ_ONLY, Rounds, Run, connect, connect_bare, kill, trial, wait_for_end, writers,
};

/// What fails once, and how it is told. A list of files is written as `v*`; what names the present one is
/// written as `.tmp*`, and becomes `current`.
const ONCE: &[(Call, Fate)] = &[
    (call("sync", ".jnl"), Fate::Eio),
    (call("write", ".jnl"), Fate::Eio),
    (call("create", "/tables/"), Fate::Eio),
    (call("create", "/tables/"), Fate::Emfile),
    (call("write", "/tables/"), Fate::Eio),
    (call("sync", "/tables/"), Fate::Eio),
    (call("write", "/keyspaces/1/v"), Fate::Eio),
    (call("sync", "/tables$"), Fate::Eio),
    (call("create", "/keyspaces/1/v"), Fate::Emfile),
    (call("sync", "/keyspaces/1/v"), Fate::Eio),
    (call("sync", "/keyspaces/1$"), Fate::Eio),
    (call("create", "/keyspaces/1/.tmp"), Fate::Emfile),
    (call("sync", "/keyspaces/1/.tmp"), Fate::Eio),
    // Its rename finds nothing.
    (call("sync", "/keyspaces/1/.tmp"), Fate::Lose),
    (call("sync", "/current"), Fate::Eio),
];

/// What fails from some moment on, as long as the server lives.
const FOREVER: &[(Call, Fate)] = &[
    (call("sync", "/data"), Fate::Eio),
    (call("write", "/data/"), Fate::Eio),
    (call("any", "/data"), Fate::Eio),
    // A flush only warns of it, and the next compaction fails.
    (call("unlink", "/keyspaces/1/v"), Fate::Eio),
];

/// Beyond all calls of a server.
const LAST: u64 = 1_000_000_000;
/// The time that writers have before the failure.
const BEFORE: Duration = Duration::from_millis(200);
/// How long it may take until every writer knows.
pub(crate) const END_MAX: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long a server that was told to stop may take.
const STOP_MAX: Duration = Duration::from_secs(20);
/// What a write is told then.
const READ_ONLY_MODE: u16 = 1836;

/// Files that a server at its end may open still, and those who want a connection then.
const FILES_LEFT: usize = 3;
const NEWCOMERS: usize = 20;
/// For so long, which may take so much of the processor.
const LACK: Duration = Duration::from_secs(2);
const LACK_TICKS_MAX: u64 = 60;
/// What the log says of it.
const NOT_ACCEPTED: &str = "a connection could not be accepted";

pub(crate) const fn call(name: &'static str, path: &'static str) -> Call {
    Call { name, path }
}

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let of = |name: &str, ending, count, run: Run| trial(name.to_owned(), (ending, count), run);
    vec![
        of(
            "failed_write_ends_all_writing",
            Ending::Point,
            u64::try_from(ONCE.len()).unwrap_or(0),
            |rounds| fail(rounds, (ONCE, 1)),
        ),
        of(
            "broken_disk_ends_all_writing",
            Ending::Point,
            u64::try_from(FOREVER.len()).unwrap_or(0),
            |rounds| fail(rounds, (FOREVER, LAST)),
        ),
        of(
            "too_few_files_are_refused_with_the_numbers",
            Ending::Kill,
            1,
            lack_files,
        ),
        of(
            "too_few_files_for_more_connections_harm_nobody",
            Ending::Kill,
            1,
            lack_files_later,
        ),
    ]
}

/// Lets these fail, one after the other: from the first call to this one.
fn fail(rounds: &Rounds, (cases, last): (&[(Call, Fate)], u64)) -> Result<String, String> {
    let mut oracle = Oracle::default();
    let mut door = Door::new()?;
    let mut server = rounds.start_at(&door)?;
    writers::make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    for (call, fate) in cases {
        let told = |text: String| format!("{} of {}, {fate}: {text}", call.name, call.path);
        let broken = break_one(rounds, (&server, &door, &mut oracle), (*call, *fate, last));
        broken.map_err(told)?;
        door = Door::new()?;
        server = rounds.start_at(&door).map_err(told)?;
        let mut client = connect(&server.address).map_err(told)?;
        oracle.verify(&mut client).map_err(told)?;
    }
    Ok(format!("{} failures; {}", cases.len(), oracle.summary()))
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

/// A server that has come to the end of its files keeps those who wait for a connection waiting, idly, and
/// serves the others.
fn lack_files_later(rounds: &Rounds) -> Result<String, String> {
    let server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    writers::make_tables(&mut client).map_err(|error| error.to_string())?;
    let process = PathBuf::from(format!("/proc/{}", server.process_id()));
    let before = limit_files(&server, nearly_all(&process, FILES_LEFT)?)?;
    let address = server.address.clone();
    let newcomers: Vec<JoinHandle<Result<Client, String>>> = (0..NEWCOMERS)
        .map(|_| address.clone())
        .map(|address| thread::spawn(move || connect(&address)))
        .collect();
    let used = ticks(&process)?;
    thread::sleep(LACK);
    let used = ticks(&process)? - used;
    let waiting = newcomers.iter().filter(|one| !one.is_finished()).count();
    let sql = "INSERT INTO singles VALUES (1000, 1, 'x')";
    client
        .execute(sql)
        .map_err(|error| format!("{sql}: {error}"))?;
    limit_files(&server, before)?;
    for newcomer in newcomers {
        let newcomer = newcomer.join().map_err(|_| "a newcomer panicked")?;
        let rows = newcomer?.rows("SELECT v FROM singles WHERE writer = 1000");
        if rows.as_ref().ok() != Some(&vec![vec![Some("x".to_owned())]]) {
            return Err(format!("what was written meanwhile is read as {rows:?}"));
        }
    }
    if waiting < NEWCOMERS / 2 || !rounds.log().contains(NOT_ACCEPTED) {
        return Err(format!(
            "{waiting} waited for a connection: {}",
            rounds.log()
        ));
    }
    if LACK_TICKS_MAX < used {
        return Err(format!(
            "{used} ticks of the processor went to waiting for {LACK:?}"
        ));
    }
    stop(&server)?;
    Ok(format!(
        "{waiting} of {NEWCOMERS} waited, which took {used} ticks of {LACK:?}"
    ))
}

/// A limit to the numbers of files that leaves so many free.
pub(crate) fn nearly_all(process: &Path, left: usize) -> Result<usize, String> {
    let open = fs::read_dir(process.join("fd")).map_err(|error| error.to_string())?;
    let names = open.flatten().map(|entry| entry.file_name());
    let taken: HashSet<usize> = names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect();
    let mut free = (0..).filter(|number| !taken.contains(number));
    free.nth(left).ok_or_else(|| "no number is free".to_owned())
}

/// Changes how many files a server may open; how many it was before.
pub(crate) fn limit_files(server: &Server, count: usize) -> Result<usize, String> {
    let process_id = server.process_id().to_string();
    let known = [
        "--pid",
        &process_id,
        "--nofile",
        "--output=SOFT",
        "--noheadings",
    ];
    let before = run("prlimit", known)?;
    run(
        "prlimit",
        ["--pid", &process_id, &format!("--nofile={count}:")],
    )?;
    before
        .trim()
        .parse()
        .map_err(|_| format!("prlimit told {before:?}"))
}

/// What a process has used of the processor, in hundredths of a second.
fn ticks(process: &Path) -> Result<u64, String> {
    let stat = fs::read_to_string(process.join("stat")).map_err(|error| error.to_string())?;
    // Behind the name in brackets, the 12th and the 13th word: utime and stime (proc_pid_stat(5)).
    let words = stat.rsplit_once(") ").map_or("", |(_, words)| words);
    let used = words.split(' ').skip(11).take(2);
    used.map(|word| {
        word.parse::<u64>()
            .map_err(|_| format!("{word:?} of {stat:?}"))
    })
    .sum()
}

fn break_one(
    rounds: &Rounds,
    (server, door, oracle): (&Server, &Door, &mut Oracle),
    (call, fate, last): (Call, Fate, u64),
) -> Result<(), String> {
    let faults = rounds.faults()?;
    expect_health(door, 200, "ok")?;
    let threads = writers::start(server, oracle)?;
    thread::sleep(BEFORE);
    faults.arm(call, (1, last), fate)?;
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
    if !(1..=last).contains(&faults.hits()) {
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
pub(crate) fn expect_health(door: &Door, status: u16, begin: &str) -> Result<(), String> {
    match door.get("/health")? {
        (found, text) if found == status && text.starts_with(begin) => Ok(()),
        other => Err(format!(
            "/health tells {other:?}, not {status} and {begin:?}"
        )),
    }
}

/// Reads go on, writes do not.
pub(crate) fn look_at_the_rest(server: &Server) -> Result<(), String> {
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

/// A write that is told why there are none any more.
pub(crate) fn expect_refusal(client: &mut Client, sql: &str) -> Result<(), String> {
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
