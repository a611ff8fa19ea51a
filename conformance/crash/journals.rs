//! Kills the server where it begins another journal, and where it removes one that is not needed any more: a
//! journal is 64 MiB long, so the rounds of the loops are too short for that.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Failure};
use crate::faults::{Call, Fate};
use crate::oracle::Oracle;
use crate::server::Server;
use crate::{
    Ending, POLL_INTERVAL, Rounds, connect, connect_bare, is_over, kill, others, trial, writers,
};

/// Rounds of the quick profile: each point, before the call and after it.
const QUICK: u64 = 4;
/// Where the server is ended.
const CALLS: [Call; 2] = [
    Call {
        name: "create",
        path: ".jnl",
    },
    Call {
        name: "unlink",
        path: ".jnl",
    },
];
const FATES: [Fate; 2] = [Fate::KillBefore, Fate::KillAfter];
/// What fills the journal: rows of letters that compress little.
const ROW_BYTES: usize = 500_000;
/// How long it may take to fill it. With memtables as small as they are here compactions never rest, and in
/// late rounds there is much to compact.
const PATIENCE: Duration = Duration::from_mins(5);

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "kill_9_where_journals_begin_and_go".to_owned();
    vec![trial(name, (Ending::Point, others(QUICK)), run)]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let mut oracle = Oracle::default();
    let mut server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    let made = writers::make_tables(&mut client).and_then(|()| {
        client.execute("CREATE TABLE filling (id BIGINT PRIMARY KEY, v LONGTEXT NOT NULL)")
    });
    made.map_err(|error| error.to_string())?;
    let mut rows = 0;
    for (round, idx) in (1..=rounds.count).zip(0..) {
        let told = |text: String| format!("round {round}: {text}");
        let (call, fate) = (
            CALLS[idx % CALLS.len()],
            FATES[idx / CALLS.len() % FATES.len()],
        );
        let faults = rounds.faults()?;
        faults.arm(call, (1, 1), fate)?;
        let threads = writers::start(&server, &oracle)?;
        let filler = fill(&server, rounds.seed.wrapping_add(round))?;
        let deadline = Instant::now() + PATIENCE;
        while faults.hits() == 0 {
            if deadline < Instant::now() {
                let filler = filler.is_finished().then(|| filler.join());
                return Err(told(format!(
                    "no {} of {} in {PATIENCE:?}; the filler ended: {filler:?}; the log: {}",
                    call.name,
                    call.path,
                    rounds.log()
                )));
            }
            thread::sleep(POLL_INTERVAL);
        }
        kill(&server)?;
        oracle.note(&writers::join(threads)?);
        let acknowledged = filler.join().map_err(|_| "the filler panicked")??;
        faults.disarm()?;
        server = rounds.start().map_err(told)?;
        let mut client = connect(&server.address)?;
        oracle.verify(&mut client).map_err(told)?;
        rows += expect_filled(&mut client, acknowledged).map_err(told)?;
    }
    oracle.check_progress()?;
    Ok(format!(
        "{}; {rows} rows of {ROW_BYTES} bytes",
        oracle.summary()
    ))
}

/// Writes rows until the connection breaks; how many were acknowledged.
fn fill(server: &Server, seed: u64) -> Result<JoinHandle<Result<u64, String>>, String> {
    let mut client = connect(&server.address)?;
    let mut random = StdRng::seed_from_u64(seed);
    Ok(thread::spawn(move || {
        for id in 0.. {
            let letters = (0..ROW_BYTES).map(|_| char::from(random.random_range(b'a'..=b'z')));
            let text: String = letters.collect();
            match client.execute(&format!("INSERT INTO filling VALUES ({id}, '{text}')")) {
                Ok(_) => {}
                Err(failure) if is_over(&failure) => return Ok(id),
                Err(failure) => return Err(format!("row {id}: {failure}")),
            }
        }
        Err("there are no more numbers".to_owned())
    }))
}

/// The rows that were acknowledged are there, and one more at most; then they go.
fn expect_filled(client: &mut Client, acknowledged: u64) -> Result<u64, String> {
    let failed = |failure: Failure| failure.to_string();
    let sql = format!("SELECT COUNT(*) FROM filling WHERE id >= 0 AND LENGTH(v) = {ROW_BYTES}");
    let rows = client.rows(&sql).map_err(failed)?;
    let found = rows
        .first()
        .and_then(|row| row.first()?.as_deref()?.parse::<u64>().ok());
    let is_there = |found: &u64| (acknowledged..=acknowledged + 1).contains(found);
    let found = found.filter(is_there);
    let found = found.ok_or_else(|| format!("{rows:?} of {acknowledged} rows are there"))?;
    client.execute("TRUNCATE TABLE filling").map_err(failed)?;
    Ok(found)
}
