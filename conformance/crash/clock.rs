//! Lets the clock of the server jump, forward and back, under writers: what was acknowledged and has not
//! ended is there, what has ended is not, what was removed because it had ended does not come back with
//! an earlier clock, nor does what gave its key or its unique value to another row, ids are unique, and the
//! server goes on, also after a kill in the middle of it.
//!
//! The clock is libfaketime's (Debian: `libfaketime`), which reads from a file by how much to lie. The
//! monotonic clock is the machine's, as when an operator sets the time. Without the library there is
//! nothing to do, and this says so, or fails where nothing may be missing ([`crate::disk::is_must`]).

mod reused;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libtest_mimic::Trial;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Failure};
use crate::server::{Launch, Server};
use crate::{DATABASE, Rounds, connect, connect_bare, is_conflict, others, trial, unless};

/// Where Debian and its like put the library, in its form for programs with threads: the other one tells
/// wrong times while a thread reads the file.
const LIBRARIES: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// Without it the clock does not jump.
const MISSING: &str = "libfaketime is not installed (Debian: libfaketime)";

/// Rounds of the quick profile.
const QUICK_ROUNDS: u64 = 20;

/// Seconds after which rows end; a jump is up to three times as long, a round takes less than one.
const TTL_S: i64 = 1000;
const JUMPS_S: std::ops::RangeInclusive<i64> = -3 * TTL_S..=3 * TTL_S;
/// Time that writers have before the clock jumps, and after.
const WORK_MS: std::ops::Range<u64> = 20..120;
/// Rows of a round are told apart by this.
const ROUND_IDS: i64 = 1_000_000;

/// The clock of the server: a file that says by how much it differs from the machine's.
struct Clock {
    file: PathBuf,
    /// It lies between these; they differ while it jumps.
    between_s: Mutex<(i64, i64)>,
    /// The greatest offset that there was: while the clock is behind a compaction, rows live longer by
    /// as much at most.
    greatest_s: AtomicI64,
}

impl Clock {
    fn set(&self, offset_s: i64) -> Result<(), String> {
        let new = self.file.with_extension("new");
        fs::write(&new, format!("{offset_s:+}\n")).map_err(|e| e.to_string())?;
        self.greatest_s.fetch_max(offset_s, Ordering::SeqCst);
        // A whole write of another thread may take place between the file and what is told of it.
        {
            let mut between = self.between_s();
            *between = (between.0.min(offset_s), between.1.max(offset_s));
        }
        fs::rename(&new, &self.file).map_err(|e| e.to_string())?;
        *self.between_s() = (offset_s, offset_s);
        Ok(())
    }

    fn between_s(&self) -> MutexGuard<'_, (i64, i64)> {
        self.between_s
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Between what it lies, in milliseconds.
    fn offsets_ms(&self) -> (i64, i64) {
        let (low, high) = *self.between_s();
        (low * 1000, high * 1000)
    }

    /// The offset while it does not jump, in milliseconds.
    fn offset_ms(&self) -> i64 {
        self.offsets_ms().0
    }
}

fn real_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// A row that ends.
#[derive(Debug, Clone, Copy)]
struct Ending {
    /// It ends between these, in milliseconds of the server's clock.
    end_ms: (i64, i64),
    /// Whether the clock has been past its end, so that compaction may have removed it.
    may_be_gone: bool,
    /// Whether it was removed for certain.
    is_gone: bool,
}

/// What was acknowledged.
#[derive(Debug, Default)]
struct Acknowledged {
    ending: BTreeMap<i64, Ending>,
    spread: HashSet<u64>,
    counted: HashSet<u64>,
    /// How often it was certain of a row that it has ended, and that it has not, when it was looked for.
    verdicts: Verdicts,
}

#[derive(Debug, Default)]
struct Verdicts {
    ended: u64,
    alive: u64,
}

/// The library, where it is installed; else there is nothing to run.
fn library() -> Option<&'static Path> {
    LIBRARIES.iter().map(Path::new).find(|path| path.exists())
}

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "clock_jumps_lose_nothing_and_bring_nothing_back".to_owned();
    let trial = trial(name, (crate::Ending::Kill, others(QUICK_ROUNDS)), run);
    vec![unless(trial, library().is_none().then_some(MISSING))]
}

/// Runs all rounds.
fn run(rounds: &Rounds) -> Result<String, String> {
    let library = library().ok_or(MISSING)?;
    let clock = Arc::new(Clock {
        file: rounds.directory().join("clock"),
        between_s: Mutex::new((0, 0)),
        greatest_s: AtomicI64::new(0),
    });
    clock.set(0)?;
    let binary = wrapper(rounds, library, &clock.file)?;
    let start = || {
        let launch = Launch {
            binary: &binary,
            engine: "lsm",
            directory: rounds.directory(),
            options: &[],
        };
        Server::start(&launch).map_err(|e| e.to_string())
    };
    let mut random = StdRng::seed_from_u64(rounds.seed);
    let mut known = Acknowledged::default();
    let mut server = start()?;
    make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    let mut lies = false;
    for round in 1..=rounds.count {
        let stop = Arc::new(AtomicBool::new(false));
        let writers = start_writers(&server, (&clock, &stop), round)?;
        pause(&mut random);
        // The last jump is to where all that was written before the first one has ended.
        let is_last = round == rounds.count;
        let jump = random.random_range(JUMPS_S);
        clock.set(if is_last { *JUMPS_S.end() } else { jump })?;
        pause(&mut random);
        let killed = random.random_ratio(1, 4);
        if killed {
            server.kill().map_err(|e| e.to_string())?;
        }
        stop.store(true, Ordering::SeqCst);
        for writer in writers {
            known.take(writer.join().map_err(|_| "a writer panicked")??)?;
        }
        if killed {
            server = start()?;
        }
        let mut client = connect(&server.address)?;
        lies |= tells_the_clock(&mut client, &clock)?;
        let compacts = random.random_ratio(1, 3);
        let context = |error: String| format!("round {round}, seed {}: {error}", rounds.seed);
        known
            .verify(&mut client, (&clock, compacts))
            .map_err(context)?;
    }
    if !lies {
        return Err("the server's clock did not follow libfaketime".to_owned());
    }
    known.summary()
}

fn pause(random: &mut StdRng) {
    thread::sleep(Duration::from_millis(random.random_range(WORK_MS)));
}

/// A program that starts the server under the library.
fn wrapper(rounds: &Rounds, library: &Path, file: &Path) -> Result<PathBuf, String> {
    let path = rounds.directory().join("meseta-under-another-clock");
    let text = format!(
        "#!/bin/sh\nLD_PRELOAD='{}' FAKETIME_TIMESTAMP_FILE='{}' FAKETIME_NO_CACHE=1 \
         FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 exec '{}' \"$@\"\n",
        library.display(),
        file.display(),
        rounds.binary.display()
    );
    fs::write(&path, text).map_err(|e| e.to_string())?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&path, executable).map_err(|e| e.to_string())?;
    Ok(path)
}

fn make_tables(client: &mut Client) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    client.execute(&format!("USE {DATABASE}"))?;
    client.execute(&format!(
        "CREATE TABLE ending (id BIGINT PRIMARY KEY, v INT, KEY kv (v)) WITH (TTL='{TTL_S}')"
    ))?;
    reused::make_table(client, TTL_S)?;
    client.execute("CREATE TABLE spread (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT)")?;
    client.execute("CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")?;
    Ok(())
}

/// Whether the server's clock is the one it was given, and not the machine's.
fn tells_the_clock(client: &mut Client, clock: &Clock) -> Result<bool, String> {
    let rows = client
        .rows("SELECT UNIX_TIMESTAMP()")
        .map_err(|e| e.to_string())?;
    let told: i64 = rows[0][0].as_deref().unwrap_or("0").parse().unwrap_or(0);
    let expected = (real_ms() + clock.offset_ms()) / 1000;
    if 30 < (told - expected).abs() {
        return Err(format!("the clock is {told}, not {expected}"));
    }
    Ok(clock.offset_ms() != 0)
}

type Writer = JoinHandle<Result<Acknowledged, String>>;

fn start_writers(
    server: &Server,
    (clock, stop): (&Arc<Clock>, &Arc<AtomicBool>),
    round: u64,
) -> Result<Vec<Writer>, String> {
    let mut writers = Vec::new();
    for writer in 0..3 {
        let mut client = connect(&server.address)?;
        let (clock, stop) = (Arc::clone(clock), Arc::clone(stop));
        let first = i64::try_from(3 * round + writer).unwrap_or(0) * ROUND_IDS;
        writers.push(thread::spawn(move || {
            let mut written = Acknowledged::default();
            for id in first.. {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                match written.write(&mut client, (&clock, id)) {
                    Ok(()) => {}
                    Err(Failure::Lost(_)) => break,
                    Err(failure) if is_conflict(&failure) => {}
                    Err(failure) => return Err(failure.to_string()),
                }
            }
            Ok(written)
        }));
    }
    Ok(writers)
}

impl Acknowledged {
    /// One line about it, where there was something to be wrong about.
    fn summary(&self) -> Result<String, String> {
        let Verdicts { ended, alive } = self.verdicts;
        if ended == 0 || alive == 0 {
            return Err(format!(
                "{ended} rows had to be gone, and {alive} to be there"
            ));
        }
        Ok(format!(
            "{} rows that end, looked for {ended} times when they had ended and {alive} times when they \
             had not, {} and {} ids, each once",
            self.ending.len(),
            self.spread.len(),
            self.counted.len()
        ))
    }

    fn write(&mut self, client: &mut Client, (clock, id): (&Clock, i64)) -> Result<(), Failure> {
        let before = (real_ms(), clock.offsets_ms());
        client.execute(&format!(
            "UPSERT INTO ending (id, v) VALUES ({id}, {})",
            id % 10
        ))?;
        let after = (real_ms(), clock.offsets_ms());
        // A jump lies before or behind the moment of the write.
        let offsets = (before.1.0.min(after.1.0), before.1.1.max(after.1.1));
        let latest = clock.greatest_s.load(Ordering::SeqCst) * 1000;
        let end_ms = (
            before.0 + offsets.0 + TTL_S * 1000 - 1000,
            after.0 + latest + TTL_S * 1000 + 1000,
        );
        let ending = Ending {
            end_ms,
            may_be_gone: end_ms.0 <= after.0 + offsets.1,
            is_gone: false,
        };
        self.ending.insert(id, ending);
        for (table, ids) in [("spread", &mut self.spread), ("counted", &mut self.counted)] {
            client.execute(&format!("INSERT INTO {table} (v) VALUES ({id})"))?;
            let rows = client.rows("SELECT LAST_INSERT_ID()")?;
            ids.insert(rows[0][0].as_deref().unwrap_or("0").parse().unwrap_or(0));
        }
        reused::write(client, id)
    }

    /// Takes in what a writer was told.
    fn take(&mut self, other: Acknowledged) -> Result<(), String> {
        self.ending.extend(other.ending);
        let (spread, counted) = (other.spread, other.counted);
        let repeated = spread.iter().find(|id| self.spread.contains(id));
        let repeated = repeated.or_else(|| counted.iter().find(|id| self.counted.contains(id)));
        if let Some(id) = repeated {
            return Err(format!("id {id} was given twice"));
        }
        self.spread.extend(spread);
        self.counted.extend(counted);
        Ok(())
    }

    /// Compares with what the server has.
    fn verify(
        &mut self,
        client: &mut Client,
        (clock, compacts): (&Clock, bool),
    ) -> Result<(), String> {
        let text = |e: Failure| e.to_string();
        let before = real_ms() + clock.offset_ms();
        if compacts {
            client.rows("OPTIMIZE TABLE ending").map_err(text)?;
        }
        let first = ids(client, "SELECT id FROM ending WHERE id >= 0").map_err(text)?;
        let by_index = "SELECT id FROM ending FORCE INDEX (kv) WHERE v >= 0";
        let entries = ids(client, by_index).map_err(text)?;
        let after = real_ms() + clock.offset_ms();
        for (id, row) in &mut self.ending {
            let has_ended = row.end_ms.1 <= before;
            let lives = after < row.end_ms.0;
            row.may_be_gone |= row.end_ms.0 <= after;
            row.is_gone |= compacts && has_ended;
            self.verdicts.ended += u64::from(has_ended || row.is_gone);
            self.verdicts.alive += u64::from(lives && !row.may_be_gone);
            for (found, place) in [(&first, "the table"), (&entries, "the index")] {
                let is_there = found.contains(id);
                if is_there && (has_ended || row.is_gone) {
                    return Err(format!(
                        "{id} has ended and is in {place}: {row:?}, {before}"
                    ));
                }
                if !is_there && lives && !row.may_be_gone {
                    return Err(format!("{id} is lost from {place}: {row:?}, {after}"));
                }
            }
        }
        for (table, given) in [("spread", &self.spread), ("counted", &self.counted)] {
            let sql = format!("SELECT id FROM {table} WHERE id >= 0");
            let found = ids(client, &sql).map_err(text)?;
            if let Some(id) = given.iter().find(|id| !found.contains(&id.cast_signed())) {
                return Err(format!("{id} is lost from {table}"));
            }
        }
        reused::verify(client)?;
        for table in ["ending", "reused", "spread", "counted"] {
            let rows = client.rows(&format!("CHECK TABLE {table}")).map_err(text)?;
            if rows.iter().any(|row| row[2].as_deref() == Some("error")) {
                return Err(format!("CHECK TABLE {table}: {rows:?}"));
            }
        }
        Ok(())
    }
}

fn ids(client: &mut Client, sql: &str) -> Result<HashSet<i64>, Failure> {
    let rows = client.rows(sql)?;
    let ids = rows
        .iter()
        .filter_map(|row| row[0].as_deref()?.parse().ok());
    Ok(ids.collect())
}
