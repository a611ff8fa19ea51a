//! Lets calls on an engine fail: the n-th, or some chosen by a seed, or those that a full disk refuses.
//!
//! Every call that may fail in the real world is counted, from 1: reads, pages, commits, and
//! changes of spaces. The same faults and the same calls fail the same way again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::kv::{
    Answer, Capabilities, Census, CommitError, Engine, Error, Estimate, IsPast, Key, KeyRange,
    Limits, Page, Result, Scan, Snapshot, Space, Spaces, Stats, Ts, WriteSet,
};

/// How a call fails. Calls that are not commits know only [`Fault::Refuse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An error, and nothing was done.
    Refuse,
    /// A conflict that another transaction might have made; nothing was done.
    Conflict,
    /// Undetermined, and nothing was done.
    LoseRequest,
    /// Undetermined, and it was done.
    LoseAnswer,
}

/// Which calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// No call.
    None,
    /// One call, counted from 1.
    Nth(u64, Fault),
    /// About so many of a thousand calls, in every way there is.
    Seeded {
        /// Chooses the calls.
        seed: u64,
        /// How many of a thousand.
        per_mille: u64,
    },
}

impl Faults {
    fn at(self, call: u64) -> Option<Fault> {
        match self {
            Faults::None => None,
            Faults::Nth(nth, fault) => (nth == call).then_some(fault),
            Faults::Seeded { seed, per_mille } => {
                let dice = scatter(seed ^ scatter(call));
                let fault = match dice / 1000 % 4 {
                    0 => Fault::Refuse,
                    1 => Fault::Conflict,
                    2 => Fault::LoseRequest,
                    _ => Fault::LoseAnswer,
                };
                (dice % 1000 < per_mille).then_some(fault)
            }
        }
    }
}

/// Mixes the bits of a number; the finalizer of `SplitMix64` (Steele, Lea, Flood 2014).
fn scatter(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// An engine some of whose calls fail.
pub struct Faulty {
    engine: Arc<dyn Engine>,
    dice: Arc<Dice>,
    is_full: AtomicBool,
    keeps_spaces: AtomicBool,
    conflicts_once: AtomicBool,
    refuses_writes: Mutex<Option<Error>>,
}

/// The space of definitions, which are written to a full disk, too.
const DEFINITIONS: Space = Space(0);

struct Dice {
    faults: Faults,
    calls: AtomicU64,
    breaks_scans: AtomicBool,
}

impl Dice {
    /// Counts a call, and says whether and how it fails.
    fn next(&self) -> (u64, Option<Fault>) {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        (call, self.faults.at(call))
    }

    fn refuse(&self) -> Result<()> {
        match self.next() {
            (_, None) => Ok(()),
            (call, Some(_)) => Err(Error::Injected { call }),
        }
    }

    fn refuse_scan(&self) -> Result<()> {
        if self.breaks_scans.load(Ordering::Relaxed) {
            return Err(Error::Injected { call: 0 });
        }
        self.refuse()
    }
}

impl Faulty {
    /// Lets calls on `engine` fail.
    pub fn new(engine: Arc<dyn Engine>, faults: Faults) -> Faulty {
        let dice = Dice {
            faults,
            calls: AtomicU64::new(0),
            breaks_scans: AtomicBool::new(false),
        };
        Faulty {
            engine,
            dice: Arc::new(dice),
            is_full: AtomicBool::new(false),
            keeps_spaces: AtomicBool::new(false),
            conflicts_once: AtomicBool::new(false),
            refuses_writes: Mutex::default(),
        }
    }

    /// From now on no page of a scan is read, or each is.
    pub fn break_scans(&self, breaks: bool) {
        self.dice.breaks_scans.store(breaks, Ordering::Relaxed);
    }

    /// From now on no space is dropped, or each is that is asked for.
    pub fn keep_spaces(&self, keeps: bool) {
        self.keeps_spaces.store(keeps, Ordering::Relaxed);
    }

    /// The next commit is told of a conflict, and nothing was done.
    pub fn conflict_once(&self) {
        self.conflicts_once.store(true, Ordering::Relaxed);
    }

    /// Whether that has not been met yet.
    pub fn will_conflict(&self) -> bool {
        self.conflicts_once.load(Ordering::Relaxed)
    }

    /// From now on the disk is full, or has room again: nothing is put but definitions, and no file is rewritten.
    pub fn fill(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// From now on nothing is written, definitions neither, and whoever writes is told this; or all is again.
    pub fn refuse_writes(&self, cause: Option<Error>) {
        *self.refuses_writes.lock() = cause;
    }

    fn check_writable(&self) -> Result<()> {
        self.refuses_writes.lock().clone().map_or(Ok(()), Err)
    }

    fn check_full(&self) -> Result<()> {
        if !self.is_full.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Error::NoRoom {
            dir: PathBuf::from("/full"),
            free_bytes: 0,
            least_bytes: 1,
        })
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.dice.calls.load(Ordering::Relaxed)
    }
}

impl Engine for Faulty {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn limits(&self) -> Limits {
        self.engine.limits()
    }

    fn capabilities(&self) -> Capabilities {
        self.engine.capabilities()
    }

    fn stats(&self) -> Stats {
        self.engine.stats()
    }

    fn read_only(&self) -> Option<String> {
        if let Err(Error::ReadOnly { cause }) = self.check_writable() {
            return Some(cause);
        }
        self.engine.read_only()
    }

    fn would_write_again(&self) -> bool {
        self.engine.would_write_again()
    }

    fn check_room(&self, bytes: u64) -> Result<()> {
        self.check_full()?;
        self.engine.check_room(bytes)
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(FaultySnapshot {
            snapshot: self.engine.snapshot(),
            dice: Arc::clone(&self.dice),
        })
    }

    fn get_newest<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        match self.dice.refuse() {
            Ok(()) => self.engine.get_newest(space, key),
            Err(injected) => Answer::Now(Err(injected)),
        }
    }

    fn commit(&self, writes: WriteSet) -> Answer<'_, std::result::Result<Ts, CommitError>> {
        if let Err(cause) = self.check_writable() {
            return Answer::Now(Err(cause.into()));
        }
        let is_put = writes.puts.iter().any(|put| put.space != DEFINITIONS);
        if is_put && let Err(full) = self.check_full() {
            return Answer::Now(Err(full.into()));
        }
        if self.conflicts_once.swap(false, Ordering::Relaxed) {
            return Answer::Now(Err(conflict_of(&writes)));
        }
        let (call, fault) = self.dice.next();
        let cause = format!("injected at call {call}");
        match fault {
            None => self.engine.commit(writes),
            Some(Fault::Refuse) => Answer::Now(Err(Error::Injected { call }.into())),
            Some(Fault::Conflict) => Answer::Now(Err(conflict_of(&writes))),
            Some(Fault::LoseRequest) => Answer::Now(Err(CommitError::Undetermined { cause })),
            Some(Fault::LoseAnswer) => self
                .engine
                .commit(writes)
                .map(|outcome| outcome.and(Err(CommitError::Undetermined { cause }))),
        }
    }

    fn create_space(&self, space: Space) -> Answer<'_, Result<()>> {
        match self.check_writable().and_then(|()| self.dice.refuse()) {
            Ok(()) => self.engine.create_space(space),
            Err(injected) => Answer::Now(Err(injected)),
        }
    }

    fn drop_space(&self, space: Space) -> Answer<'_, Result<()>> {
        match self.check_writable().and_then(|()| self.dice.refuse()) {
            Ok(()) if self.keeps_spaces.load(Ordering::Relaxed) => {
                Answer::Now(Err(Error::Injected { call: 0 }))
            }
            Ok(()) => self.engine.drop_space(space),
            Err(injected) => Answer::Now(Err(injected)),
        }
    }

    fn spaces(&self) -> Spaces {
        self.engine.spaces()
    }

    fn estimate(&self, space: Space, range: &KeyRange) -> Estimate {
        self.engine.estimate(space, range)
    }

    fn census(&self, space: Space, is_past: IsPast<'_>) -> Result<Census> {
        self.engine.census(space, is_past)
    }

    fn compact<'a>(&'a self, spaces: &'a [Space]) -> Answer<'a, Result<()>> {
        match self.check_writable().and_then(|()| self.check_full()) {
            Ok(()) => self.engine.compact(spaces),
            Err(cause) => Answer::Now(Err(cause)),
        }
    }

    fn sync(&self) -> Answer<'_, Result<()>> {
        self.engine.sync()
    }

    fn close(&self) -> Answer<'_, Result<()>> {
        self.engine.close()
    }
}

fn conflict_of(writes: &WriteSet) -> CommitError {
    let first = writes.must_be_unchanged.first().cloned();
    let (space, key) = first.unwrap_or((Space(0), Key::new()));
    CommitError::Conflict { space, key }
}

struct FaultySnapshot {
    snapshot: Arc<dyn Snapshot>,
    dice: Arc<Dice>,
}

impl Snapshot for FaultySnapshot {
    fn ts(&self) -> Ts {
        self.snapshot.ts()
    }

    fn judged_ms(&self) -> Option<u64> {
        self.snapshot.judged_ms()
    }

    fn has_ended(&self, space: Space, value: &[u8]) -> bool {
        self.snapshot.has_ended(space, value)
    }

    fn get<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        match self.dice.refuse() {
            Ok(()) => self.snapshot.get(space, key),
            Err(injected) => Answer::Now(Err(injected)),
        }
    }

    fn multi_get<'a>(
        &'a self,
        space: Space,
        keys: &'a [Key],
    ) -> Answer<'a, Result<Vec<Option<Bytes>>>> {
        match self.dice.refuse() {
            Ok(()) => self.snapshot.multi_get(space, keys),
            Err(injected) => Answer::Now(Err(injected)),
        }
    }

    fn scan<'a>(&'a self, scan: &'a Scan, page: &'a mut Page) -> Answer<'a, Result<()>> {
        match self.dice.refuse_scan() {
            Ok(()) => self.snapshot.scan(scan, page),
            Err(injected) => Answer::Now(Err(injected)),
        }
    }

    fn count(&self, space: Space) -> Answer<'_, Result<Option<u64>>> {
        match self.dice.refuse() {
            Ok(()) => self.snapshot.count(space),
            Err(injected) => Answer::Now(Err(injected)),
        }
    }
}
