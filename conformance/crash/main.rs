//! Ends the server in a loop under concurrent writers, and holds it to what it acknowledged: every
//! acknowledged write is there after the restart, nothing is half-written.
//!
//! The oracle lives in this process, outside of the server ([`oracle`]); the writers log every
//! acknowledgement ([`writers`]). Two more loops hold tables to their indexes, under writers
//! ([`indexes`]) and while an index is being built ([`builds`]), one holds tables to their definitions
//! while they are altered ([`alters`]), one more the server to the ids that it counts ([`counted`]).
//!
//! Each loop is run with each [`Ending`]: `SIGKILL` at any moment, `SIGKILL` at a named point
//! ([`faults::POINTS`], [`journals`]), and a power cut of the disk that holds the data ([`disk`]), at any moment or at
//! such a point. That the power cuts cut is shown by a server whose syncs do nothing: it must lose what
//! it acknowledged ([`power`]). One more lets the clock jump ([`clock`]), one is of a server that need not sync what it
//! acknowledges ([`relaxed`]), and what transactions see of each other is held to their levels ([`isolation`],
//! [`committed`]).
//!
//! | environment | meaning |
//! |---|---|
//! | `MESETA_CRASH_ROUNDS=n` | rounds of each loop, whatever the ending |
//! | `MESETA_CRASH_KILL=n`, `MESETA_CRASH_POWER=n` | rounds with this ending, shared by the loops; 100 unless told |
//! | `MESETA_CRASH_OTHERS=n` | n times the rounds of the quick profile, for the rest |
//! | `MESETA_CRASH_DISK=must` | what needs a disk of its own fails where none can be made, and is not skipped; so does what needs libeatmydata or libfaketime where they are not installed |
//! | `MESETA_CRASH_SEED=n` | the moments of the ends |
//! | `MESETA_CRASH_BINARY=path` | another server than the one just built |
//!
//! `scripts/crash` runs it.

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::little_endian_bytes,
    reason = "a test program: it may stop at a surprise"
)]

mod again;
mod alters;
mod backups;
mod broken;
mod builds;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/client.rs"]
mod client;
mod clock;
mod committed;
mod counted;
mod disk;
mod entries;
mod faults;
mod files;
mod flips;
mod forged;
mod full;
mod history;
mod http;
mod indexes;
mod isolation;
mod journals;
mod lost;
mod names;
mod oracle;
mod paused;
mod pieces;
mod power;
mod relaxed;
mod ring;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/server.rs"]
mod server;
mod skew;
mod spilled;
mod steps;
mod tight;
mod told;
mod tools;
mod unopened;
mod writers;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use client::{Client, EndForm, Failure};
use disk::{DISK_BYTES, Disk};
use faults::{Fate, Faults, POINTS};
use oracle::Oracle;
use server::{Launch, Server};

/// Rounds with one ending, shared by the loops.
const ROUNDS: u64 = 100;
/// A server that takes longer to start is stuck, for those who wait for it.
const START_MAX: Duration = Duration::from_secs(20);
/// How long a server has to come to a named point before it is ended where it is.
const POINT_PATIENCE: Duration = Duration::from_secs(3);
/// A point that so many rounds were to end at must be one that they end at.
const OFTEN: usize = 4;
/// A loop of so many rounds is long: what a kill is meant to meet must have been met.
const LONG: u64 = 40;
/// How often that is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Rows in memory before they are written to a file: little, so that rounds end in flushes and
/// compactions too.
const MEMTABLE_BYTES: u64 = 256 << 10;
const MEMTABLE_VARIABLE: &str = "MESETA_TEST_MEMTABLE_BYTES";
/// Little, so that a server at rest has as much memory after hundreds of rounds, whose rows it has read, as after few.
const CACHE: &str = "--cache-bytes=32MiB";
/// What a server says that lost its disk, or is stopping: the writer ends.
const LOST_DISK: [u16; 5] = [1021, 1030, 1053, 1180, 1836];
/// The one of them after which it is not known whether the write took place; after the others it did not.
const UNDETERMINED: u16 = 1180;
/// What its log has then.
const READ_ONLY: &str = "takes no more writes";
/// What it has of a thread that panicked.
const PANICKED: &str = "panicked at";
/// The database of the test.
const DATABASE: &str = "crash";
/// The least and the most time that writers have before the kill.
const ROUND_MS: std::ops::Range<u64> = 30..400;

/// How rounds end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// `SIGKILL` at any moment.
    Kill,
    /// `SIGKILL` at a named point.
    Point,
    /// A power cut, at any moment or at a named point.
    Power,
    /// `SIGKILL`, on a small disk.
    Full,
    /// `SIGKILL`, on a disk that hardly holds more than a journal and what is in memory.
    Tight,
    /// `SIGKILL`, on a thin disk.
    Thin,
}

impl Ending {
    /// The disk that is made for it.
    fn disk_bytes(self) -> Option<u64> {
        match self {
            Ending::Kill | Ending::Point => None,
            Ending::Power => Some(DISK_BYTES),
            Ending::Full | Ending::Thin => Some(full::BYTES),
            Ending::Tight => Some(tight::BYTES),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ending::Kill => "kill_9",
            Ending::Point => "kill_9_at_a_point",
            Ending::Power => "power_cut",
            Ending::Full => "small_disk",
            Ending::Tight => "tight_disk",
            Ending::Thin => "thin_disk",
        })
    }
}

/// Runs rounds; ends in one line about them.
type Run = fn(&Rounds) -> Result<String, String>;

/// The loops: what they show, and their part of the rounds, in percent.
const LOOPS: [(&str, u64, Run); 5] = [
    ("loses_nothing_acknowledged", 50, run),
    ("keeps_tables_and_indexes_alike", 30, indexes::run),
    ("does_not_end_index_builds", 4, builds::run),
    ("leaves_the_old_or_the_new_definition", 4, alters::run),
    ("repeats_no_counted_id", 12, counted::run),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (ending, rounds) in [
        // Half of the kills are at named points.
        (Ending::Kill, rounds_of("MESETA_CRASH_KILL").div_ceil(2)),
        (Ending::Point, rounds_of("MESETA_CRASH_KILL").div_ceil(2)),
        (Ending::Power, rounds_of("MESETA_CRASH_POWER")),
    ] {
        for (name, percent, run) in LOOPS {
            let count = (rounds * percent).div_ceil(100);
            if 0 < count {
                trials.push(trial(format!("{ending}_{name}"), (ending, count), run));
            }
        }
    }
    if 0 < rounds_of("MESETA_CRASH_POWER") {
        trials.extend(power::trials());
        trials.extend(backups::trials());
    }
    trials.extend(clock::trials());
    trials.extend(journals::trials());
    trials.extend(steps::trials());
    trials.extend(pieces::trials());
    trials.extend(relaxed::trials());
    trials.extend(told::trials());
    trials.extend(forged::trials());
    trials.extend(broken::trials());
    trials.extend(unopened::trials());
    trials.extend(names::trials());
    trials.extend(full::trials());
    trials.extend(tight::trials());
    trials.extend(paused::trials());
    trials.extend(spilled::trials());
    trials.extend(again::trials());
    trials.extend(lost::trials());
    trials.extend(flips::trials());
    trials.extend(history::trials());
    trials.extend(isolation::trials());
    trials.extend(committed::trials());
    trials.extend(skew::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn rounds_of(variable: &str) -> u64 {
    setting(variable).unwrap_or(ROUNDS)
}

/// A loop of rounds, which ends in one line about itself.
fn trial(name: String, (ending, count): (Ending, u64), run: Run) -> Trial {
    let missing = ending.disk_bytes().and_then(|_| disk::missing());
    let trial = Trial::test(name.clone(), move || {
        let count = setting("MESETA_CRASH_ROUNDS").unwrap_or(count);
        let rounds = Rounds::new(ending, count).map_err(Failed::from)?;
        let (started, seed) = (Instant::now(), rounds.seed);
        println!("crash: {name}: {count} rounds, MESETA_CRASH_SEED={seed}");
        let summary = run(&rounds).and_then(|told| Ok((told, rounds.settle()?)));
        let summary = rounds.check_points().and(summary);
        let (summary, files) =
            summary.map_err(|text| Failed::from(format!("seed {seed}: {text}")))?;
        println!(
            "crash: {name}: {count} rounds passed in {:?}, {summary}; the slowest restart took {:?}; {files}",
            started.elapsed(),
            rounds.slowest_start.get()
        );
        for (point, Aims { aims, hits }) in rounds.points.borrow().iter() {
            println!("crash: {name}: {hits} of {aims} ends at: {point}");
        }
        Ok(())
    });
    unless(trial, missing)
}

/// A trial that is skipped where something is missing that it needs, and says what; where nothing may be missing it
/// is run, and fails.
fn unless(trial: Trial, missing: Option<&str>) -> Trial {
    let Some(missing) = missing.filter(|_| !trial.has_ignored_flag() && !disk::is_must()) else {
        return trial;
    };
    let name = trial.name();
    let filter = Arguments::from_args().filter;
    if filter.is_none_or(|part| name.contains(&part)) {
        println!("crash: {name}: skipped: {}", missing.replace('\n', " "));
    }
    trial.with_ignored_flag(true)
}

/// How a loop is run, and the server of it.
struct Rounds {
    count: u64,
    seed: u64,
    ending: Ending,
    binary: PathBuf,
    /// Preloaded into the server, when it ends at named points.
    faults: Option<Faults>,
    disk: Option<Disk>,
    /// The scratch directory goes after what is mounted in it.
    scratch: tempfile::TempDir,
    random: RefCell<StdRng>,
    slowest_start: Cell<Duration>,
    /// What the server is started with, beside what it must be told.
    options: Cell<&'static [&'static str]>,
    /// The next of the points to end at: one after the other.
    turn: Cell<usize>,
    /// How many rounds were to end at which point, and did.
    points: RefCell<BTreeMap<&'static str, Aims>>,
}

/// Rounds that were to end at a point, and those that did.
#[derive(Debug, Clone, Copy, Default)]
struct Aims {
    aims: usize,
    hits: usize,
}

impl Rounds {
    fn new(ending: Ending, count: u64) -> Result<Rounds, String> {
        let seed = setting("MESETA_CRASH_SEED").unwrap_or_else(|| rand::rng().random());
        let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
        let has_points = [Ending::Point, Ending::Power].contains(&ending);
        let faults = has_points
            .then(|| Faults::make(scratch.path()))
            .transpose()?;
        let disk = ending.disk_bytes().map(|bytes| match ending {
            Ending::Thin => Disk::make_thin(scratch.path(), bytes),
            Ending::Kill | Ending::Point | Ending::Power | Ending::Full | Ending::Tight => {
                Disk::make(scratch.path(), bytes)
            }
        });
        let disk = disk.transpose()?;
        let mut random = StdRng::seed_from_u64(seed.rotate_left(32));
        Ok(Rounds {
            count,
            seed,
            ending,
            binary: binary(),
            faults,
            disk,
            scratch,
            turn: Cell::new(random.random_range(0..POINTS.len())),
            random: RefCell::new(random),
            slowest_start: Cell::default(),
            options: Cell::default(),
            points: RefCell::default(),
        })
    }

    /// Holds the data and the log.
    fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// Starts the server, for the first time or again.
    fn start(&self) -> Result<Server, String> {
        let faults = self.faults.as_ref();
        self.start_with(&faults.map_or_else(Vec::new, Faults::environment))
    }

    /// Starts it with a door for HTTP.
    fn start_at(&self, door: &http::Door) -> Result<Server, String> {
        let faults = self.faults.as_ref();
        let mut environment = faults.map_or_else(Vec::new, Faults::environment);
        environment.push(door.environment());
        self.start_with(&environment)
    }

    /// Starts it with this and nothing else in its environment.
    fn start_with(&self, environment: &[(String, String)]) -> Result<Server, String> {
        self.start_program(&self.binary, environment)
    }

    /// Starts it from another file, which is removed then, as an upgrade does.
    fn start_and_remove(&self) -> Result<Server, String> {
        let program = self.directory().join("meseta");
        std::fs::copy(&self.binary, &program).map_err(|e| e.to_string())?;
        let faults = self.faults.as_ref();
        let environment = faults.map_or_else(Vec::new, Faults::environment);
        let server = self.start_program(&program, &environment)?;
        std::fs::remove_file(&program).map_err(|e| e.to_string())?;
        Ok(server)
    }

    fn start_program(
        &self,
        binary: &Path,
        environment: &[(String, String)],
    ) -> Result<Server, String> {
        let started = Instant::now();
        let launch = Launch {
            binary,
            engine: "lsm",
            directory: self.directory(),
            options: &[&[CACHE], self.options.get()].concat(),
        };
        let server = Server::start_with(&launch, &with_small_memtables(environment));
        let slowest = self.slowest_start.get().max(started.elapsed());
        self.slowest_start.set(slowest);
        if START_MAX < slowest {
            return Err(format!("a start took {slowest:?}"));
        }
        server.map_err(|e| e.to_string())
    }

    /// Makes the data directory with memtables of another size than usual, which it keeps.
    fn make_with_memtables(&self, bytes: u64) -> Result<(), String> {
        let server = self.start_with(&[(MEMTABLE_VARIABLE.to_owned(), bytes.to_string())])?;
        broken::stop(&server)
    }

    /// Ends the server, as it is ended here.
    fn end(&self, server: &Server) -> Result<(), String> {
        match self.ending {
            Ending::Point => self.end_at_a_point([Fate::KillBefore, Fate::KillAfter])?,
            Ending::Power if self.random.borrow_mut().random_bool(0.5) => {
                self.end_at_a_point([Fate::StopBefore, Fate::StopAfter])?;
            }
            Ending::Kill | Ending::Full | Ending::Tight | Ending::Thin | Ending::Power => {}
        }
        self.end_here(server)?;
        let log = self.log();
        if self.ending != Ending::Power && log.contains(READ_ONLY) {
            return Err(format!("the server gave up its disk: {log}"));
        }
        Ok(())
    }

    fn end_at_a_point(&self, fates: [Fate; 2]) -> Result<(), String> {
        let faults = self.faults()?;
        let turn = self.turn.replace(self.turn.get() + 1);
        let point = faults.arm_at(turn, &mut self.random.borrow_mut(), fates)?;
        let deadline = Instant::now() + POINT_PATIENCE;
        while faults.hits() == 0 && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        let mut points = self.points.borrow_mut();
        let aims = points.entry(point).or_default();
        aims.aims += 1;
        aims.hits += usize::from(0 < faults.hits());
        Ok(())
    }

    /// A loop that aimed at every point ended at three of four at least, and at least once at each that it aimed
    /// at often: else its rounds are kills at any moment.
    fn check_points(&self) -> Result<(), String> {
        let points = self.points.borrow();
        let aims: usize = points.values().map(|one| one.aims).sum();
        let hits: usize = points.values().map(|one| one.hits).sum();
        if POINTS.len() <= aims && hits * 4 < aims * 3 {
            return Err(format!(
                "of {aims} rounds {hits} ended at their points: {points:?}"
            ));
        }
        let missed = |one: &Aims| OFTEN <= one.aims && one.hits == 0;
        match points.iter().find(|(_, one)| missed(one)) {
            Some((point, _)) => Err(format!("no round ended at {point}: {points:?}")),
            None => Ok(()),
        }
    }

    /// Ends the server where it is; the next one meets no faults.
    fn end_here(&self, server: &Server) -> Result<(), String> {
        match self.ending {
            Ending::Power => self.cut_power(server)?,
            Ending::Kill | Ending::Point | Ending::Full | Ending::Tight | Ending::Thin => {
                kill(server)?;
            }
        }
        // A panic ends one connection, which a writer takes for the end of the server.
        let log = self.log();
        if log.contains(PANICKED) {
            return Err(format!("the server panicked: {log}"));
        }
        self.faults.as_ref().map_or(Ok(()), Faults::disarm)
    }

    /// First the process stands still, as it does when the power goes: the system answers a sync that is
    /// under way while the filesystem is shut down with success at times, and nobody must hear that.
    fn cut_power(&self, server: &Server) -> Result<(), String> {
        freeze(server)?;
        self.disk()?.cut()?;
        kill(server)?;
        self.disk()?.restore()
    }

    fn faults(&self) -> Result<&Faults, String> {
        self.faults
            .as_ref()
            .ok_or_else(|| "no faults are preloaded".to_owned())
    }

    fn disk(&self) -> Result<&Disk, String> {
        self.disk
            .as_ref()
            .ok_or_else(|| "there is no disk".to_owned())
    }

    /// What the server of now has said, or the last one.
    fn log(&self) -> String {
        let log = std::fs::read(self.directory().join("server.log"));
        String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
    }

    /// After a round: no file is left over, and the server takes no more memory than it may.
    fn rest(&self, server: &Server) -> Result<(), String> {
        files::rest(&self.directory().join("data"), server.process_id())
    }

    /// After all rounds: an idle server has no more files and memory than it needs.
    fn settle(&self) -> Result<String, String> {
        let door = http::Door::new()?;
        let server = self.start_at(&door)?;
        let data = self.directory().join("data");
        files::settle(&data, server.process_id(), &door)
    }
}

/// The server that is tested.
fn binary() -> PathBuf {
    std::env::var_os("MESETA_CRASH_BINARY").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_meseta")),
        PathBuf::from,
    )
}

/// An environment in which memtables are small, unless it says how large they are.
fn with_small_memtables(environment: &[(String, String)]) -> Vec<(String, String)> {
    let mut environment = environment.to_vec();
    if !environment
        .iter()
        .any(|(name, _)| name == MEMTABLE_VARIABLE)
    {
        environment.push((MEMTABLE_VARIABLE.to_owned(), MEMTABLE_BYTES.to_string()));
    }
    environment
}

fn kill(server: &Server) -> Result<(), String> {
    server.kill().map_err(|e| e.to_string())
}

/// Stops a server where it is: from here on none of its threads does anything but end the call of the
/// system that it is in.
fn freeze(server: &Server) -> Result<(), String> {
    let process_id = server.process_id().to_string();
    tools::run("kill", ["-STOP", &process_id])?;
    let deadline = Instant::now() + POINT_PATIENCE;
    while Instant::now() < deadline {
        let tasks = std::fs::read_dir(format!("/proc/{process_id}/task"));
        let tasks = tasks.map_err(|error| error.to_string())?.flatten();
        let mut states = tasks.map(|task| std::fs::read_to_string(task.path().join("stat")));
        // The state is behind the name in brackets: stopped, or in a call that is not interrupted.
        let still = |stat: String| stat.contains(") T ") || stat.contains(") D ");
        if states.all(|stat| stat.is_ok_and(still)) {
            return Ok(());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Err("the server does not stand still".to_owned())
}

/// Whether the server ended by itself in this time.
fn wait_for_end(server: &Server, patience: Duration) -> Result<bool, String> {
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        if server.ended().map_err(|e| e.to_string())?.is_some() {
            return Ok(true);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(false)
}

/// Rounds of what is no loop of ends: so many in the quick profile.
fn others(quick: u64) -> u64 {
    quick * setting("MESETA_CRASH_OTHERS").unwrap_or(1)
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
        let logs = writers::run_until_ended((rounds, &server), time, &oracle)?;
        oracle.note(&logs);
        server = rounds.start()?;
        let mut client = connect(&server.address)?;
        oracle
            .verify(&mut client)
            .and_then(|()| rounds.rest(&server))
            .map_err(|e| format!("round {round}, seed {}: {e}", rounds.seed))?;
    }
    entries::check_growing(&mut connect(&server.address)?)?;
    oracle.check_progress()?;
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

/// Whether the writer's server is gone, or lost its disk.
fn is_over(failure: &Failure) -> bool {
    match failure {
        Failure::Lost(_) => true,
        Failure::Server { errno, .. } => LOST_DISK.contains(errno),
    }
}

/// Whether a write that ended so may have taken place.
fn is_in_doubt(failure: &Failure) -> bool {
    match failure {
        Failure::Lost(_) => true,
        Failure::Server { errno, .. } => *errno == UNDETERMINED,
    }
}
