//! Kills the server with `SIGKILL` in a loop under concurrent writers, and holds it to what it
//! acknowledged: every acknowledged write is there after the restart, nothing is half-written.
//!
//! The oracle lives in this process, outside of the server ([`oracle`]); the writers log every
//! acknowledgement ([`writers`]). A killed process loses nothing the system already has, so this
//! does not stand for a power cut: that suite is the storage engine's.
//!
//! | environment | meaning |
//! |---|---|
//! | `MESETA_CRASH_ROUNDS=n` | rounds; 20 unless told, 200 in the full profile of `scripts/test` |
//! | `MESETA_CRASH_SEED=n` | the moments of the kills |
//! | `MESETA_CRASH_BINARY=path` | another server than the one just built |

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::little_endian_bytes,
    reason = "a test program: it may stop at a surprise"
)]

#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/client.rs"]
mod client;
mod oracle;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/server.rs"]
mod server;
mod writers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use client::{Client, EndForm, Failure};
use oracle::Oracle;
use server::{Launch, Server};

/// Rounds of the quick profile.
const QUICK_ROUNDS: u32 = 20;
/// The database of the test.
const DATABASE: &str = "crash";
/// The least and the most time that writers have before the kill.
const ROUND_MS: std::ops::Range<u64> = 30..400;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trial = Trial::test("kill_9_loses_nothing_acknowledged", || {
        run().map_err(Failed::from)
    });
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
}

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run() -> Result<(), String> {
    let rounds = setting("MESETA_CRASH_ROUNDS").unwrap_or(u64::from(QUICK_ROUNDS));
    let seed = setting("MESETA_CRASH_SEED").unwrap_or_else(|| rand::rng().random());
    println!("crash: {rounds} rounds, MESETA_CRASH_SEED={seed}");
    let binary = std::env::var_os("MESETA_CRASH_BINARY").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_meseta")),
        PathBuf::from,
    );
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut random = StdRng::seed_from_u64(seed);
    let mut oracle = Oracle::default();
    let mut slowest_start = Duration::ZERO;
    let mut server = start(&binary, scratch.path())?;
    writers::make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    for round in 1..=rounds {
        let time = Duration::from_millis(random.random_range(ROUND_MS));
        let logs = writers::run_until_killed(&server, time, &oracle)?;
        oracle.note(&logs);
        let started = Instant::now();
        server = start(&binary, scratch.path())?;
        slowest_start = slowest_start.max(started.elapsed());
        let mut client = connect(&server.address)?;
        oracle
            .verify(&mut client)
            .map_err(|e| format!("round {round}, seed {seed}: {e}"))?;
    }
    println!(
        "crash: {rounds} rounds passed, {}; the slowest restart took {slowest_start:?}",
        oracle.summary()
    );
    Ok(())
}

fn start(binary: &Path, directory: &Path) -> Result<Server, String> {
    Server::start(&Launch {
        binary,
        engine: "lsm",
        directory,
        options: &[],
    })
    .map_err(|e| e.to_string())
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
