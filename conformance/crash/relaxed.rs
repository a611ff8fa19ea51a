//! `--durability async`: the end of the process loses nothing; a power cut may lose what was acknowledged in the
//! last moment before it, always the newest, and never a part of a statement.
//!
//! Rounds end in a kill and in a power cut in turn, so that what was acknowledged before a kill, and had been in
//! the system's memory alone, meets a cut under the next server: that one has synced what it found. Of syncs that
//! fail [`failed`] tells.

mod failed;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use rand::Rng;

use crate::client::{Client, Failure};
use crate::history::now;
use crate::{DATABASE, Ending, Rounds, connect, connect_bare, is_over, kill, others, trial};

/// Rounds of the quick profile.
const QUICK: u64 = 6;
/// Rounds after which the table is empty again.
const EPOCH: u64 = 10;
const WRITERS: u64 = 4;
/// Rows of each statement.
const PARTS: u64 = 3;
/// Longer than [`LOST_MAX`]: else a server that never syncs would pass.
const ROUND_MS: std::ops::Range<u64> = 1300..2500;
/// The most time before the cut, or the failed sync, that something may be lost of. Promised are 100 ms and the time
/// of a write and a sync, which on these disks are tens of milliseconds.
const LOST_MAX: Duration = Duration::from_secs(1);

/// A statement.
#[derive(Debug, Clone, Copy)]
struct Statement {
    /// When it was sent, which no other was.
    number: u64,
    /// When it was acknowledged; `None` where it is not known whether it took place.
    ended: Option<(u64, Instant)>,
}

type Writer = JoinHandle<Result<Vec<Statement>, String>>;

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "power_cut_in_async_mode_loses_only_the_newest".to_owned();
    let mut trials = vec![trial(name, (Ending::Power, others(QUICK)), run)];
    trials.extend(failed::trials());
    trials
}

fn run(rounds: &Rounds) -> Result<String, String> {
    rounds.options.set(&["--durability", "async"]);
    let clock = Arc::new(AtomicU64::new(1));
    let mut book = Book::default();
    let mut server = rounds.start()?;
    make_table(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    for round in 1..=rounds.count {
        let told = |e| format!("round {round}, seed {}: {e}", rounds.seed);
        let writers = start(&server.address, &clock)?;
        let time = rounds.random.borrow_mut().random_range(ROUND_MS);
        thread::sleep(Duration::from_millis(time));
        let is_cut = round % 2 == 0;
        let ended = Instant::now();
        if is_cut {
            rounds.end_here(&server)?;
        } else {
            kill(&server)?;
        }
        let mut written = Vec::new();
        for writer in writers {
            written.extend(
                writer
                    .join()
                    .map_err(|_| "a writer panicked")?
                    .map_err(told)?,
            );
        }
        server = rounds.start()?;
        let mut client = connect(&server.address)?;
        let found = Found::read(&mut client).map_err(told)?;
        book.compare(&found, &written, is_cut.then_some(ended))
            .map_err(told)?;
        if round % EPOCH == 0 {
            let emptied = client.execute("TRUNCATE TABLE relaxed");
            emptied.map_err(|e| told(e.to_string()))?;
            book.there.clear();
        }
    }
    book.summary()
}

/// What is known.
#[derive(Default)]
struct Book {
    /// What was found behind the last restart.
    there: BTreeSet<u64>,
    acknowledged: usize,
    lost: usize,
    /// The longest time before a cut, or a failed sync, that something was lost of.
    oldest: Duration,
}

impl Book {
    /// Holds what is found to what was written in a round, which a power cut or a failed sync may have ended.
    fn compare(
        &mut self,
        found: &Found,
        written: &[Statement],
        cut: Option<Instant>,
    ) -> Result<(), String> {
        if let Some(number) = self
            .there
            .iter()
            .find(|number| !found.0.contains_key(number))
        {
            return Err(format!(
                "{number} was there at an earlier start, and is lost"
            ));
        }
        let lost = found.lost_of(written)?;
        self.acknowledged += written.iter().filter(|one| one.ended.is_some()).count();
        self.lost += lost.len();
        if let Some(first) = lost.iter().min() {
            let cut = cut.ok_or_else(|| format!("a kill lost {} statements", lost.len()))?;
            let age = cut.saturating_duration_since(*first);
            self.oldest = self.oldest.max(age);
            if LOST_MAX < age {
                return Err(format!(
                    "what was acknowledged {age:?} before the cut or the failed sync is lost"
                ));
            }
            let late = lost.iter().max().unwrap_or(first);
            let late = late.saturating_duration_since(cut);
            if LOST_MAX < late {
                return Err(format!(
                    "what was acknowledged {late:?} after the cut or the failed sync is lost"
                ));
            }
        }
        self.there = found.0.keys().copied().collect();
        Ok(())
    }

    fn summary(&self) -> Result<String, String> {
        let Book {
            acknowledged,
            lost,
            oldest,
            ..
        } = self;
        if *acknowledged == 0 {
            return Err("nothing was acknowledged".to_owned());
        }
        Ok(format!(
            "of {acknowledged} acknowledged statements {lost} were lost, the oldest {oldest:?} before the cut or the \
             failed sync"
        ))
    }
}

fn make_table(client: &mut Client) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    client.execute(&format!("USE {DATABASE}"))?;
    let columns =
        "number BIGINT, part INT, PRIMARY KEY (number, part), INDEX by_part (part, number)";
    client.execute(&format!("CREATE TABLE relaxed ({columns})"))?;
    Ok(())
}

fn start(address: &str, clock: &Arc<AtomicU64>) -> Result<Vec<Writer>, String> {
    let one = |_| {
        let client = connect(address)?;
        let clock = Arc::clone(clock);
        Ok(thread::spawn(move || write(client, &clock)))
    };
    (0..WRITERS).map(one).collect()
}

/// Writes until the server is gone.
fn write(mut client: Client, clock: &AtomicU64) -> Result<Vec<Statement>, String> {
    let mut written = Vec::new();
    loop {
        let number = now(clock);
        let rows: Vec<String> = (0..PARTS)
            .map(|part| format!("({number}, {part})"))
            .collect();
        let done = client.execute(&format!("INSERT INTO relaxed VALUES {}", rows.join(", ")));
        let ended = match &done {
            Ok(_) => Some((now(clock), Instant::now())),
            Err(failure) if is_over(failure) => None,
            Err(failure) => return Err(failure.to_string()),
        };
        written.push(Statement { number, ended });
        if done.is_err() {
            return Ok(written);
        }
    }
}

/// The numbers that are there, each with how many of its rows.
struct Found(BTreeMap<u64, u64>);

impl Found {
    /// Reads the table; its index has the same.
    fn read(client: &mut Client) -> Result<Found, String> {
        let table = Self::read_by(client, "SELECT number FROM relaxed WHERE number >= 0")?;
        let index = Self::read_by(client, "SELECT number FROM relaxed WHERE part >= 0")?;
        if table != index {
            return Err("the table has other rows than its index".to_owned());
        }
        match table.iter().find(|(_, rows)| **rows != PARTS) {
            None => Ok(Found(table)),
            Some((number, rows)) => Err(format!("{rows} of {PARTS} rows of {number} are there")),
        }
    }

    fn read_by(client: &mut Client, sql: &str) -> Result<BTreeMap<u64, u64>, String> {
        let mut found = BTreeMap::new();
        for row in client.rows(sql).map_err(|error| error.to_string())? {
            let number = row.first().and_then(|cell| cell.as_deref()?.parse().ok());
            *found
                .entry(number.ok_or("a row without a number")?)
                .or_default() += 1;
        }
        Ok(found)
    }

    /// When those were acknowledged that are lost: none before another was sent that is there.
    fn lost_of(&self, written: &[Statement]) -> Result<Vec<Instant>, String> {
        let is_there = |one: &&Statement| self.0.contains_key(&one.number);
        let (there, gone): (Vec<&Statement>, Vec<&Statement>) = written.iter().partition(is_there);
        let lost = || gone.iter().filter_map(|one| one.ended);
        let newest = there.iter().map(|one| one.number).max().unwrap_or(0);
        match lost().find(|(ended, _)| *ended < newest) {
            None => Ok(lost().map(|(_, at)| at).collect()),
            Some((ended, _)) => Err(format!(
                "what was acknowledged at {ended} is lost, and what was sent at {newest} is there"
            )),
        }
    }
}
