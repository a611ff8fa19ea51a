//! Ends the server where it begins another journal, and where it removes one that is not needed any more: a
//! journal is 64 MiB long, so the rounds of the loops are too short for that.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::broken::{END_MAX, look_at_the_rest, stop};
use crate::client::{Client, Failure};
use crate::faults::{Call, Fate};
use crate::oracle::Oracle;
use crate::server::Server;
use crate::{
    Ending, POLL_INTERVAL, READ_ONLY, Rounds, connect, connect_bare, is_over, kill, others, trial,
    writers,
};

/// Rounds of the quick profile: each point, before the call and after it.
const QUICK: u64 = 4;
/// At most: a round writes 64 MiB at least, which takes the better part of half a minute where others run beside it.
const MOST: u64 = 24;
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
/// What fills the journal: rows of letters that compress little.
const ROW_BYTES: usize = 500_000;
/// Of the memtables: with smaller ones compactions never rest.
const MEMTABLE_BYTES: u64 = 8 << 20;
/// How long it may take to fill a journal.
const PATIENCE: Duration = Duration::from_mins(5);

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let count = others(QUICK).min(MOST);
    let of = |ending: Ending, name: &str| trial(name.to_owned(), (ending, count), run);
    vec![
        of(Ending::Point, "kill_9_where_journals_begin_and_go"),
        of(Ending::Power, "power_cut_where_journals_begin_and_go"),
        trial(
            "journal_that_cannot_begin_ends_all_writing".to_owned(),
            (Ending::Point, 2),
            lack_one,
        ),
    ]
}

/// What becomes of the call, before it and after it. Whose power is cut stands still there.
fn fates(ending: Ending) -> [Fate; 2] {
    match ending {
        Ending::Power => [Fate::StopBefore, Fate::StopAfter],
        Ending::Kill | Ending::Point | Ending::Full | Ending::Tight | Ending::Thin => {
            [Fate::KillBefore, Fate::KillAfter]
        }
    }
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let mut oracle = Oracle::default();
    rounds.make_with_memtables(MEMTABLE_BYTES)?;
    let mut server = rounds.start()?;
    make_tables(&mut connect_bare(&server.address)?)?;
    let mut rows = 0;
    let fates = fates(rounds.ending);
    for (round, idx) in (1..=rounds.count).zip(0..) {
        let told = |text: String| format!("round {round}: {text}");
        let (call, fate) = (
            CALLS[idx % CALLS.len()],
            fates[idx / CALLS.len() % fates.len()],
        );
        // Armed when all are connected: who cannot connect has met a server that ended by itself.
        let started = writers::start(&server, &oracle);
        let started = started.and_then(|threads| {
            let filler = fill(&server, rounds.seed.wrapping_add(round))?;
            Ok((threads, filler))
        });
        let (threads, filler) = started.map_err(|text| told(with_end(rounds, &server, &text)))?;
        rounds.faults()?.arm(call, (1, 1), fate)?;
        wait_for_hit(rounds, call, &filler).map_err(told)?;
        rounds.end_here(&server)?;
        oracle.note(&writers::join(threads)?);
        let acknowledged = filler.join().map_err(|_| "the filler panicked")??;
        server = rounds.start().map_err(told)?;
        let client = connect(&server.address);
        let mut client = client.map_err(|text| told(with_end(rounds, &server, &text)))?;
        oracle.verify(&mut client).map_err(told)?;
        rows += expect_filled(&mut client, acknowledged).map_err(told)?;
    }
    oracle.check_progress()?;
    Ok(format!(
        "{}; {rows} rows of {ROW_BYTES} bytes",
        oracle.summary()
    ))
}

/// A failure, with how the server ended, if it has, and what it said.
fn with_end(rounds: &Rounds, server: &Server, text: &str) -> String {
    format!("{text}; it ended: {:?}; {}", server.ended(), rounds.log())
}

/// The next journal cannot be made, once: from then on nothing is acknowledged, and what was is there.
fn lack_one(rounds: &Rounds) -> Result<String, String> {
    let mut oracle = Oracle::default();
    let mut server = rounds.start()?;
    make_tables(&mut connect_bare(&server.address)?)?;
    for fate in [Fate::Eio, Fate::Emfile] {
        let told = |text: String| format!("{fate}: {text}");
        rounds.faults()?.arm(CALLS[0], (1, 1), fate)?;
        let threads = writers::start(&server, &oracle)?;
        let filler = fill(&server, rounds.seed)?;
        wait_for_hit(rounds, CALLS[0], &filler).map_err(told)?;
        let deadline = Instant::now() + END_MAX;
        while !(filler.is_finished() && threads.iter().all(JoinHandle::is_finished)) {
            if deadline < Instant::now() {
                kill(&server)?;
                return Err(told(format!("writers are stuck: {}", rounds.log())));
            }
            thread::sleep(POLL_INTERVAL);
        }
        oracle.note(&writers::join(threads)?);
        let acknowledged = filler.join().map_err(|_| "the filler panicked")??;
        look_at_the_rest(&server).map_err(told)?;
        if !rounds.log().contains(READ_ONLY) {
            return Err(told(format!("the log does not tell: {}", rounds.log())));
        }
        stop(&server).map_err(told)?;
        rounds.faults()?.disarm()?;
        server = rounds.start().map_err(told)?;
        let mut client = connect(&server.address)?;
        oracle.verify(&mut client).map_err(told)?;
        expect_filled(&mut client, acknowledged).map_err(told)?;
    }
    Ok(oracle.summary())
}

/// Waits until the server has come to the call.
fn wait_for_hit(rounds: &Rounds, call: Call, filler: &Filler) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    while rounds.faults()?.hits() == 0 {
        if deadline < Instant::now() {
            return Err(format!(
                "no {} of {} in {PATIENCE:?}; the filler has ended: {}; the log: {}",
                call.name,
                call.path,
                filler.is_finished(),
                rounds.log()
            ));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn make_tables(client: &mut Client) -> Result<(), String> {
    let made = writers::make_tables(client).and_then(|()| {
        client.execute("CREATE TABLE filling (id BIGINT PRIMARY KEY, v LONGTEXT NOT NULL)")
    });
    made.map(drop).map_err(|error| error.to_string())
}

/// Writes rows; ends with how many were acknowledged.
type Filler = JoinHandle<Result<u64, String>>;

/// Writes rows until the connection breaks; how many were acknowledged.
fn fill(server: &Server, seed: u64) -> Result<Filler, String> {
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
