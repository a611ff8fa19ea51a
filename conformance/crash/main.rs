//! Kills the server with `SIGKILL` in a loop under concurrent writers, and holds it to what it
//! acknowledged: every acknowledged write is there after the restart, nothing is half-written.
//!
//! The oracle lives in this process, outside of the server ([`oracle`]); the writers log every
//! acknowledgement ([`writers`]). Two more loops hold tables to their indexes, under writers
//! ([`indexes`]) and while an index is being built ([`builds`]), one holds tables to their definitions
//! while they are altered ([`alters`]), one more the server to the ids that it counts ([`counted`]). A killed process loses nothing the system already has, so this
//! does not stand for a power cut: that suite is the storage engine's.
//!
//! | environment | meaning |
//! |---|---|
//! | `MESETA_CRASH_ROUNDS=n` | rounds of each loop; 20 or 12 unless told, 200 in the full profile of `scripts/test` |
//! | `MESETA_CRASH_SEED=n` | the moments of the kills |
//! | `MESETA_CRASH_BINARY=path` | another server than the one just built |

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::little_endian_bytes,
    reason = "a test program: it may stop at a surprise"
)]

mod alters;
mod builds;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/client.rs"]
mod client;
mod counted;
mod indexes;
mod oracle;
mod ring;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/server.rs"]
mod server;
mod writers;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use client::{Client, EndForm, Failure};
use oracle::Oracle;
use server::{Launch, Server};

/// Rounds of the quick profile: of rows, and of indexes.
const QUICK_ROUNDS: u64 = 20;
const QUICK_INDEX_ROUNDS: u64 = 12;
/// The database of the test.
const DATABASE: &str = "crash";
/// The least and the most time that writers have before the kill.
const ROUND_MS: std::ops::Range<u64> = 30..400;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = vec![
        trial("kill_9_loses_nothing_acknowledged", QUICK_ROUNDS, run),
        trial(
            "kill_9_keeps_tables_and_indexes_alike",
            QUICK_INDEX_ROUNDS,
            indexes::run,
        ),
        trial(
            "kill_9_does_not_end_index_builds",
            QUICK_INDEX_ROUNDS,
            builds::run,
        ),
        trial(
            "kill_9_leaves_the_old_or_the_new_definition",
            QUICK_INDEX_ROUNDS,
            alters::run,
        ),
        trial(
            "kill_9_repeats_no_counted_id",
            QUICK_INDEX_ROUNDS,
            counted::run,
        ),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A loop of kills, which ends in one line about itself.
fn trial(
    name: &'static str,
    quick_rounds: u64,
    run: fn(&Rounds) -> Result<String, String>,
) -> Trial {
    Trial::test(name, move || {
        let rounds = Rounds::new(quick_rounds)?;
        let (count, seed) = (rounds.count, rounds.seed);
        println!("crash: {name}: {count} rounds, MESETA_CRASH_SEED={seed}");
        let summary = run(&rounds).map_err(Failed::from)?;
        let slowest_start = rounds.slowest_start.get();
        println!(
            "crash: {name}: {count} rounds passed, {summary}; the slowest restart took \
             {slowest_start:?}"
        );
        Ok(())
    })
}

/// How a loop is run, and the server of it.
struct Rounds {
    count: u64,
    seed: u64,
    binary: PathBuf,
    scratch: tempfile::TempDir,
    slowest_start: Cell<Duration>,
}

impl Rounds {
    fn new(quick_rounds: u64) -> Result<Rounds, String> {
        Ok(Rounds {
            count: setting("MESETA_CRASH_ROUNDS").unwrap_or(quick_rounds),
            seed: setting("MESETA_CRASH_SEED").unwrap_or_else(|| rand::rng().random()),
            binary: std::env::var_os("MESETA_CRASH_BINARY").map_or_else(
                || PathBuf::from(env!("CARGO_BIN_EXE_meseta")),
                PathBuf::from,
            ),
            scratch: tempfile::tempdir().map_err(|e| e.to_string())?,
            slowest_start: Cell::default(),
        })
    }

    /// Holds the data and the log.
    fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// Starts the server, for the first time or again.
    fn start(&self) -> Result<Server, String> {
        let started = Instant::now();
        let server = Server::start(&Launch {
            binary: &self.binary,
            engine: "lsm",
            directory: self.directory(),
            options: &[],
        });
        let slowest = self.slowest_start.get().max(started.elapsed());
        self.slowest_start.set(slowest);
        server.map_err(|e| e.to_string())
    }
}

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let mut random = StdRng::seed_from_u64(rounds.seed);
    let mut oracle = Oracle::default();
    let mut server = rounds.start()?;
    writers::make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    for round in 1..=rounds.count {
        let time = Duration::from_millis(random.random_range(ROUND_MS));
        let logs = writers::run_until_killed(&server, time, &oracle)?;
        oracle.note(&logs);
        server = rounds.start()?;
        let mut client = connect(&server.address)?;
        oracle
            .verify(&mut client)
            .map_err(|e| format!("round {round}, seed {}: {e}", rounds.seed))?;
    }
    Ok(oracle.summary())
}

fn connect_bare(address: &str) -> Result<Client, String> {
    Client::connect(address, "", EndForm::Ok).map_err(|e| e.to_string())
}

/// A connection that uses the test's database.
fn connect(address: &str) -> Result<Client, String> {
    Client::connect(address, DATABASE, EndForm::Ok).map_err(|e| e.to_string())
}

/// Whether an error only asks to try again.
fn is_conflict(failure: &Failure) -> bool {
    matches!(failure, Failure::Server { errno, .. } if [1213, 1205].contains(errno))
}
