//! A sync that fails behind acknowledged statements, as nobody waits for it with `--durability async`: the server
//! takes no more writes and says so, and what is lost are the newest of the last moment before the failure.
//!
//! With a power cut behind the server's end what no sync has brought to the disk is gone in truth; without one
//! the system still has it, and the next start finds it or not.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use rand::Rng;

use super::{Book, EPOCH, Found, ROUND_MS, Statement, Writer, make_table, start};
use crate::again::until;
use crate::broken::{END_MAX, expect_health, expect_refusal, stop};
use crate::faults::{Call, Fate};
use crate::http::Door;
use crate::server::Server;
use crate::{Ending, READ_ONLY, Rounds, connect, connect_bare, others, trial};

/// Rounds of the quick profile.
const QUICK: u64 = 4;
/// Syncs of the journal.
const SYNC: Call = Call {
    name: "sync",
    path: ".jnl",
};
/// Beyond all syncs of a server.
const LAST: u64 = 1_000_000_000;
/// A sync is due ten times a second, beside writers: after this one has been.
const FAILURE_MAX: Duration = Duration::from_secs(10);
/// How often it is looked for. The moment of the failure is known no better than that.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// What this file runs.
pub(super) fn trials() -> Vec<Trial> {
    let of = |name: &str, ending| trial(name.to_owned(), (ending, others(QUICK)), run);
    vec![
        of(
            "failed_sync_in_async_mode_loses_only_the_newest",
            Ending::Point,
        ),
        of(
            "power_cut_after_a_failed_sync_in_async_mode_loses_only_the_newest",
            Ending::Power,
        ),
    ]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    rounds.options.set(&["--durability", "async"]);
    let mut book = Book::default();
    let clock = Arc::new(AtomicU64::new(1));
    let mut door = Door::new()?;
    let mut server = rounds.start_at(&door)?;
    make_table(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    for round in 1..=rounds.count {
        let told = |text: String| format!("round {round}, seed {}: {text}", rounds.seed);
        let writers = start(&server.address, &clock).map_err(told)?;
        let time = rounds.random.borrow_mut().random_range(ROUND_MS);
        thread::sleep(Duration::from_millis(time));
        // One alone is enough, as the system tells of it once.
        let last = if round % 2 == 0 { LAST } else { 1 };
        let failed = fail(rounds, last).map_err(told)?;
        let written = join(writers).map_err(told)?;
        expect_read_only(rounds, (&server, &door)).map_err(told)?;
        end(rounds, &server).map_err(told)?;
        door = Door::new()?;
        server = rounds.start_at(&door).map_err(told)?;
        let mut client = connect(&server.address).map_err(told)?;
        let found = Found::read(&mut client).map_err(told)?;
        book.compare(&found, &written, Some(failed)).map_err(told)?;
        if round % EPOCH == 0 {
            let emptied = client.execute("TRUNCATE TABLE relaxed");
            emptied.map_err(|e| told(e.to_string()))?;
            book.there.clear();
        }
    }
    book.summary()
}

/// Has the next sync fail, or all from that on; when the first did.
fn fail(rounds: &Rounds, last: u64) -> Result<Instant, String> {
    let faults = rounds.faults()?;
    faults.arm(SYNC, (1, last), Fate::Eio)?;
    let deadline = Instant::now() + FAILURE_MAX;
    while faults.hits() == 0 {
        if deadline < Instant::now() {
            return Err(format!("no sync of the journal in {FAILURE_MAX:?}"));
        }
        thread::sleep(LOOK_INTERVAL);
    }
    Ok(Instant::now())
}

/// Waits for the writers, each of which is refused sooner or later; what they wrote.
fn join(writers: Vec<Writer>) -> Result<Vec<Statement>, String> {
    until(END_MAX, "the writers to end", || {
        Ok(writers.iter().all(JoinHandle::is_finished))
    })?;
    let mut written = Vec::new();
    for writer in writers {
        written.extend(writer.join().map_err(|_| "a writer panicked")??);
    }
    Ok(written)
}

/// Reads go on, writes do not, and everybody is told who asks.
fn expect_read_only(rounds: &Rounds, (server, door): (&Server, &Door)) -> Result<(), String> {
    let mut client = connect(&server.address)?;
    let sql = "SELECT COUNT(*) FROM relaxed WHERE number >= 0";
    client.rows(sql).map_err(|e| format!("{sql}: {e}"))?;
    for sql in [
        "INSERT INTO relaxed VALUES (0, 0)",
        "CREATE TABLE another (id INT PRIMARY KEY)",
        "DROP TABLE relaxed",
    ] {
        expect_refusal(&mut client, sql)?;
    }
    expect_health(door, 503, "read-only: ")?;
    if door.metric("meseta_read_only")? < 1.0 {
        return Err("meseta_read_only is not 1".to_owned());
    }
    let log = rounds.log();
    if log.contains(READ_ONLY) {
        return Ok(());
    }
    Err(format!("the log does not tell: {log}"))
}

/// Ends the server in peace, and cuts the power where it is to be cut; the next one meets no failures.
fn end(rounds: &Rounds, server: &Server) -> Result<(), String> {
    stop(server)?;
    if rounds.ending == Ending::Power {
        let disk = rounds.disk()?;
        disk.cut()?;
        disk.restore()?;
    }
    rounds.faults()?.disarm()
}
