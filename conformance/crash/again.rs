//! A write for which the disk has no room although the server looked for it: others were faster. Nothing is
//! acknowledged from then on; and as soon as there is room the server starts anew by itself, with all that
//! was acknowledged.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::broken::{END_MAX, look_at_the_rest, stop};
use crate::client::Client;
use crate::faults::{Call, Fate};
use crate::oracle::Oracle;
use crate::server::{Server, addresses_in};
use crate::{Ending, READ_ONLY, Rounds, connect, connect_bare, trial, writers};

/// Where there is no room.
const CASES: [Call; 4] = [
    call("write", ".jnl"),
    call("write", "/tables/"),
    call("write", "/keyspaces/1/v"),
    call("write", "/keyspaces/1/.tmp"),
];
/// The time that writers have before.
const BEFORE: Duration = Duration::from_millis(200);
/// How long the server may take to be back: it has served for ten seconds before, and looks each second.
const BACK_MAX: Duration = Duration::from_secs(40);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

const fn call(name: &'static str, path: &'static str) -> Call {
    Call { name, path }
}

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let count = u64::try_from(CASES.len()).unwrap_or(0);
    let name = "disk_that_was_full_has_the_server_start_anew".to_owned();
    vec![trial(name, (Ending::Point, count), run)]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let mut oracle = Oracle::default();
    let mut slowest = Duration::ZERO;
    let server = rounds.start()?;
    writers::make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    stop(&server)?;
    for (idx, call) in CASES.into_iter().enumerate() {
        // Every other program is not there any more when it is begun anew.
        let server = if idx % 2 == 0 {
            rounds.start()
        } else {
            rounds.start_and_remove()
        };
        let back = come_back(rounds, (&server?, call), &mut oracle);
        let told = |text| format!("{} of {}: {text}: {}", call.name, call.path, rounds.log());
        let back = back.map_err(told)?;
        slowest = slowest.max(back);
    }
    Ok(format!("back within {slowest:?}; {}", oracle.summary()))
}

fn come_back(
    rounds: &Rounds,
    (server, call): (&Server, Call),
    oracle: &mut Oracle,
) -> Result<Duration, String> {
    let faults = rounds.faults()?;
    let threads = writers::start(server, oracle)?;
    thread::sleep(BEFORE);
    faults.arm(call, (1, 1), Fate::Enospc)?;
    until(END_MAX, "the writers to end", || {
        Ok(threads.iter().all(JoinHandle::is_finished))
    })?;
    oracle.note(&writers::join(threads)?);
    let hits = faults.hits();
    // The one that comes back has room.
    faults.disarm()?;
    if hits != 1 {
        return Err(format!("the writers ended, and {hits} calls failed"));
    }
    look_at_the_rest(server)?;
    if !rounds.log().contains(READ_ONLY) {
        return Err(format!("the log does not tell: {}", rounds.log()));
    }
    let (mut client, back) = wait_until_back(rounds, server)?;
    oracle.verify(&mut client)?;
    client
        .execute("UPDATE counters SET n = n WHERE id = 1")
        .and_then(|_| client.execute("CREATE TABLE IF NOT EXISTS later (id INT PRIMARY KEY)"))
        .and_then(|_| client.execute("REPLACE INTO later VALUES (1)"))
        .map_err(|error| format!("a write after it came back: {error}"))?;
    drop(client);
    stop(server)?;
    Ok(back)
}

/// Waits until a server has started anew by itself, and tells how long that took.
pub(crate) fn wait_until_back(
    rounds: &Rounds,
    server: &Server,
) -> Result<(Client, Duration), String> {
    let began = Instant::now();
    until(BACK_MAX, "the server to start anew", || {
        if let Some(status) = server.ended().map_err(|e| e.to_string())? {
            return Err(format!("the server ended with {status}: {}", rounds.log()));
        }
        Ok(1 < addresses_in(&rounds.log()).len())
    })?;
    let back = began.elapsed();
    let addresses = addresses_in(&rounds.log());
    let client = connect(addresses.last().ok_or("there is no address")?)?;
    Ok((client, back))
}

/// Waits until something is so.
pub(crate) fn until(
    most: Duration,
    what: &str,
    is_so: impl Fn() -> Result<bool, String>,
) -> Result<(), String> {
    let began = Instant::now();
    while !is_so()? {
        if most < began.elapsed() {
            return Err(format!("{most:?} were not enough for {what}"));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
