//! Writes down every call on an engine, one line each, in terms of spaces and keys.
//!
//! Timestamps are not written: they differ between engines and runs.

use std::sync::{Arc, mpsc};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::kv::{
    Answer, Capabilities, Census, CommitError, Engine, Estimate, IsPast, Key, KeyRange, Limits,
    Page, Result, Scan, Snapshot, Space, Spaces, Stats, Ts, WriteSet,
};

/// Prints one key of one space.
type KeyPrinter = dyn Fn(Space, &[u8]) -> String + Send + Sync;

/// Prints one value of one space, which is told its key too.
type ValuePrinter = dyn Fn(Space, &[u8], &[u8]) -> String + Send + Sync;

/// An engine that remembers what it was asked.
pub struct Recorder {
    engine: Arc<dyn Engine>,
    log: Arc<Log>,
    /// What the next call for its numbers waits for.
    stall: Mutex<Option<mpsc::Receiver<()>>>,
}

struct Log {
    lines: Mutex<Vec<String>>,
    key: Box<KeyPrinter>,
    value: Box<ValuePrinter>,
}

impl Recorder {
    /// Records the calls on `engine`, with keys and values as escaped bytes.
    pub fn new(engine: Arc<dyn Engine>) -> Recorder {
        let key = |_: Space, key: &[u8]| key.escape_ascii().to_string();
        let value = |_: Space, _: &[u8], value: &[u8]| value.escape_ascii().to_string();
        Recorder::with_printers(engine, key, value)
    }

    /// Records the calls on `engine`, with keys and values printed by the caller's functions.
    pub fn with_printers(
        engine: Arc<dyn Engine>,
        key: impl Fn(Space, &[u8]) -> String + Send + Sync + 'static,
        value: impl Fn(Space, &[u8], &[u8]) -> String + Send + Sync + 'static,
    ) -> Recorder {
        let log = Log {
            lines: Mutex::default(),
            key: Box::new(key),
            value: Box::new(value),
        };
        Recorder {
            engine,
            log: Arc::new(log),
            stall: Mutex::default(),
        }
    }

    /// Lets the next call for its numbers wait, as for a disk that hangs, until what is given here is
    /// dropped.
    pub fn stall_stats(&self) -> mpsc::Sender<()> {
        let (until, stall) = mpsc::channel();
        *self.stall.lock() = Some(stall);
        until
    }

    /// The lines since the last call of this, oldest first.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lines.lock())
    }
}

impl Log {
    fn add(&self, line: String) {
        self.lines.lock().push(line);
    }

    fn key(&self, space: Space, key: &[u8]) -> String {
        format!("{space} {}", (self.key)(space, key))
    }

    fn scan(&self, scan: &Scan) -> String {
        let space = scan.space;
        let start = (self.key)(space, &scan.range.start);
        let until = scan.range.until.as_deref();
        let until = until.map_or_else(|| "end".to_owned(), |until| (self.key)(space, until));
        let reverse = if scan.options.reverse { " reverse" } else { "" };
        let keys_only = if scan.options.keys_only {
            " keys only"
        } else {
            ""
        };
        format!("scan {space} [{start} .. {until}){reverse}{keys_only}")
    }

    fn commit(&self, writes: &WriteSet) {
        let mut lines = vec!["commit".to_owned()];
        let named =
            |what: &str, (space, key): &(Space, Key)| format!("  {what} {}", self.key(*space, key));
        lines.extend(writes.must_be_absent.iter().map(|at| named("absent", at)));
        lines.extend(
            writes
                .must_be_unchanged
                .iter()
                .map(|at| named("unchanged", at)),
        );
        lines.extend(writes.deletes.iter().map(|at| named("delete", at)));
        for put in &writes.puts {
            let key = self.key(put.space, &put.key);
            let value = (self.value)(put.space, &put.key, &put.value);
            lines.push(format!("  put {key} = {value}"));
        }
        self.lines.lock().extend(lines);
    }
}

fn outcome_of(outcome: &std::result::Result<Ts, CommitError>) -> &'static str {
    match outcome {
        Ok(_) => "  -> committed",
        Err(CommitError::Conflict { .. }) => "  -> conflict",
        Err(CommitError::AlreadyExists { .. }) => "  -> already exists",
        Err(CommitError::TooLarge { .. }) => "  -> too large",
        Err(CommitError::Undetermined { .. }) => "  -> undetermined",
        Err(CommitError::Failed(_)) => "  -> failed",
    }
}

impl Engine for Recorder {
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
        let stall = self.stall.lock().take();
        if let Some(stall) = stall {
            let _ = stall.recv();
        }
        self.engine.stats()
    }

    fn read_only(&self) -> Option<String> {
        self.engine.read_only()
    }

    fn would_write_again(&self) -> bool {
        self.engine.would_write_again()
    }

    fn check_room(&self, bytes: u64) -> Result<()> {
        self.engine.check_room(bytes)
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(Recorded {
            snapshot: self.engine.snapshot(),
            log: Arc::clone(&self.log),
        })
    }

    fn get_newest<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        self.log
            .add(format!("get newest {}", self.log.key(space, key)));
        self.engine.get_newest(space, key)
    }

    fn commit(&self, writes: WriteSet) -> Answer<'_, std::result::Result<Ts, CommitError>> {
        self.log.commit(&writes);
        self.engine.commit(writes).map(|outcome| {
            self.log.add(outcome_of(&outcome).to_owned());
            outcome
        })
    }

    fn create_space(&self, space: Space) -> Answer<'_, Result<()>> {
        self.log.add(format!("create space {space}"));
        self.engine.create_space(space)
    }

    fn drop_space(&self, space: Space) -> Answer<'_, Result<()>> {
        self.log.add(format!("drop space {space}"));
        self.engine.drop_space(space)
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
        let names: Vec<String> = spaces.iter().map(ToString::to_string).collect();
        self.log.add(format!("compact {}", names.join(" ")));
        self.engine.compact(spaces)
    }

    fn sync(&self) -> Answer<'_, Result<()>> {
        self.log.add("sync".to_owned());
        self.engine.sync()
    }

    fn close(&self) -> Answer<'_, Result<()>> {
        self.log.add("close".to_owned());
        self.engine.close()
    }
}

struct Recorded {
    snapshot: Arc<dyn Snapshot>,
    log: Arc<Log>,
}

impl Snapshot for Recorded {
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
        self.log.add(format!("get {}", self.log.key(space, key)));
        self.snapshot.get(space, key)
    }

    fn multi_get<'a>(
        &'a self,
        space: Space,
        keys: &'a [Key],
    ) -> Answer<'a, Result<Vec<Option<Bytes>>>> {
        let printed: Vec<String> = keys.iter().map(|key| (self.log.key)(space, key)).collect();
        self.log
            .add(format!("multi-get {space} [{}]", printed.join(", ")));
        self.snapshot.multi_get(space, keys)
    }

    fn scan<'a>(&'a self, scan: &'a Scan, page: &'a mut Page) -> Answer<'a, Result<()>> {
        self.log.add(self.log.scan(scan));
        self.snapshot.scan(scan, page)
    }

    fn count(&self, space: Space) -> Answer<'_, Result<Option<u64>>> {
        self.log.add(format!("count {space}"));
        self.snapshot.count(space)
    }
}
