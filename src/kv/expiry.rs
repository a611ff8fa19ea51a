//! Values that end by themselves: after their expiry a reader does not see them.
//!
//! Which spaces have such values, when a value ends, and what time it is are told from outside
//! ([`Expiry`]): this room knows bytes alone. [`Living`] is an engine that leaves out what is past. A
//! snapshot judges by the time at which it was taken, so that all reads of a statement, of rows and of
//! entries of indexes, agree. An engine may remove what is past wherever it rewrites its files
//! (`lsm::compaction`); nobody sees a difference.
//!
//! A clock may go back. What was done because a value had ended cannot be undone: a row took its key, or
//! compaction removed it and not yet what belongs to it. So nothing is judged by an earlier time than such a
//! decision was, not after a start either:
//!
//! ```text
//! a commit that was decided by what had ended     WriteSet::judged_ms, noted in front of it and, by an
//!                                                 engine with files, written with it
//! compaction                                      removes what had ended by a time that is on the disk
//! ```
//!
//! Nothing is known of the number of keys of such a space: it changes while nobody writes.

use std::collections::HashSet;
use std::fmt;
use std::panic::RefUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use parking_lot::RwLock;

use super::{
    Answer, Capabilities, Census, Checkpoint, CommitError, Engine, Estimate, IsPast, Key, KeyRange,
    Limits, Page, Result, Scan, Snapshot, Space, Spaces, Stats, Ts, WriteSet,
};

/// When a value ends, in milliseconds since 1970; `None` for never.
pub type EndOf = fn(&[u8]) -> Option<u64>;

/// Which values are past.
pub struct Expiry {
    spaces: RwLock<Arc<HashSet<Space>>>,
    end_of: EndOf,
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
    /// By when values had ended at the last decision that cannot be undone. Nothing is judged by an earlier
    /// time, or a clock that is set back would show what is removed in one place and not in another. Who says
    /// when a value ends counts from there too ([`Expiry::now_ms`]): time stands still until the clock has
    /// caught up.
    swept_ms: AtomicU64,
    /// The part of it that a start finds; never ahead of it.
    kept_ms: AtomicU64,
    /// What compaction wants of that: values that have ended by then could be removed.
    wanted_ms: AtomicU64,
}

impl Expiry {
    /// By the clock of the machine.
    pub fn new(end_of: EndOf) -> Expiry {
        Expiry::with_clock(end_of, || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// By this clock, in milliseconds since 1970.
    pub fn with_clock(end_of: EndOf, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Expiry {
        Expiry {
            spaces: RwLock::default(),
            end_of,
            clock: Box::new(clock),
            swept_ms: AtomicU64::new(0),
            kept_ms: AtomicU64::new(0),
            wanted_ms: AtomicU64::new(0),
        }
    }

    /// From now on these spaces, and no others, have values that end.
    pub fn watch(&self, spaces: HashSet<Space>) {
        *self.spaces.write() = Arc::new(spaces);
    }

    /// Whether a space has values that end.
    pub fn watches(&self, space: Space) -> bool {
        self.spaces.read().contains(&space)
    }

    /// Milliseconds since 1970; not before what cannot be undone.
    pub fn now_ms(&self) -> u64 {
        (self.clock)().max(self.swept_ms.load(Ordering::SeqCst))
    }

    /// That values had ended by then is about to be relied on. To be told before it is: a clock that is wrong
    /// while nothing is decided by it leaves no trace.
    pub fn note_sweep(&self, by_ms: u64) {
        self.swept_ms.fetch_max(by_ms, Ordering::SeqCst);
    }

    /// By when values had ended at the last such decision; 0 when there was none.
    pub fn swept_ms(&self) -> u64 {
        self.swept_ms.load(Ordering::SeqCst)
    }

    /// A start would find that time.
    pub fn keep(&self, by_ms: u64) {
        self.note_sweep(by_ms);
        self.kept_ms.fetch_max(by_ms, Ordering::SeqCst);
    }

    /// The time that a start would find: what had ended by then may be removed.
    pub fn kept_ms(&self) -> u64 {
        self.kept_ms.load(Ordering::SeqCst)
    }

    /// Values that have ended by then could be removed.
    pub fn want_kept(&self, by_ms: u64) {
        self.note_sweep(by_ms);
        self.wanted_ms.fetch_max(by_ms, Ordering::SeqCst);
    }

    /// Whether a later time is wanted than is kept.
    pub fn is_wanted(&self) -> bool {
        self.kept_ms() < self.wanted_ms.load(Ordering::SeqCst)
    }

    /// It is not kept now: who waits for it shall not.
    pub fn refuse_wanted(&self) {
        self.wanted_ms.store(self.kept_ms(), Ordering::SeqCst);
    }

    /// Begins with the time that was kept, and warns of a clock that is behind it.
    pub fn resume(&self, kept_ms: u64) {
        self.keep(kept_ms);
        let clock_ms = (self.clock)();
        if clock_ms < kept_ms {
            tracing::warn!(
                behind_ms = kept_ms - clock_ms,
                "the clock is behind a time by which rows have ended: until it has caught up, no row ends (docs/wide.md)"
            );
        }
    }

    /// The spaces that have values that end, ascending.
    pub fn watched(&self) -> Vec<Space> {
        let mut spaces: Vec<Space> = self.spaces.read().iter().copied().collect();
        spaces.sort_unstable();
        spaces
    }

    /// When a value ends, if it ends by a time.
    pub fn end_by(&self, value: &[u8], now_ms: u64) -> Option<u64> {
        (self.end_of)(value).filter(|end_ms| *end_ms <= now_ms)
    }

    /// Whether a value has ended at a time.
    pub fn is_past(&self, value: &[u8], now_ms: u64) -> bool {
        self.end_by(value, now_ms).is_some()
    }

    fn alive(&self, value: Option<Bytes>, now_ms: u64) -> Option<Bytes> {
        value.filter(|value| !self.is_past(value, now_ms))
    }
}

/// What a snapshot left out as past is about to be relied on, by what is committed next. Not needed for a commit whose
/// writes say so themselves ([`WriteSet::judged_ms`]).
pub fn rely(engine: &dyn Engine, snapshot: &dyn Snapshot) {
    if let (Some(expiry), Some(judged_ms)) = (engine.expiry(), snapshot.judged_ms()) {
        expiry.note_sweep(judged_ms);
    }
}

/// Nothing panics while its lock is held.
impl RefUnwindSafe for Expiry {}

impl fmt::Debug for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expiry").finish_non_exhaustive()
    }
}

/// An engine without what is past.
pub struct Living {
    inner: Arc<dyn Engine>,
    expiry: Arc<Expiry>,
}

impl Living {
    /// What is alive in an engine.
    pub fn new(inner: Arc<dyn Engine>, expiry: Arc<Expiry>) -> Living {
        Living { inner, expiry }
    }
}

impl Engine for Living {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn read_only(&self) -> Option<String> {
        self.inner.read_only()
    }

    fn would_write_again(&self) -> bool {
        self.inner.would_write_again()
    }

    fn check_room(&self, bytes: u64) -> Result<()> {
        self.inner.check_room(bytes)
    }

    fn expiry(&self) -> Option<&Arc<Expiry>> {
        Some(&self.expiry)
    }

    fn compress(&self, spaces: HashSet<Space>) {
        self.inner.compress(spaces);
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let spaces = Arc::clone(&self.expiry.spaces.read());
        let inner = self.inner.snapshot();
        if spaces.is_empty() {
            return inner;
        }
        Arc::new(LivingSnapshot {
            inner,
            expiry: Arc::clone(&self.expiry),
            now_ms: self.expiry.now_ms(),
            has_judged: AtomicBool::new(false),
            spaces,
        })
    }

    fn get_newest<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        let found = self.inner.get_newest(space, key);
        if !self.expiry.watches(space) {
            return found;
        }
        let now_ms = self.expiry.now_ms();
        found.map(move |found| Ok(self.expiry.alive(found?, now_ms)))
    }

    fn get_with_past<'a>(
        &'a self,
        space: Space,
        key: &'a [u8],
    ) -> Answer<'a, Result<Option<Bytes>>> {
        self.inner.get_newest(space, key)
    }

    /// What is written to other spaces does not care.
    fn commit(&self, writes: WriteSet) -> Answer<'_, std::result::Result<Ts, CommitError>> {
        if let Some(judged_ms) = writes.judged_ms {
            let watched = Arc::clone(&self.expiry.spaces.read());
            if writes.written().any(|(space, _)| watched.contains(&space)) {
                self.expiry.note_sweep(judged_ms);
            }
        }
        self.inner.commit(writes)
    }

    fn create_space(&self, space: Space) -> Answer<'_, Result<()>> {
        self.inner.create_space(space)
    }

    fn drop_space(&self, space: Space) -> Answer<'_, Result<()>> {
        self.inner.drop_space(space)
    }

    fn create_passing_space(&self, space: Space) -> Answer<'_, Result<()>> {
        self.inner.create_passing_space(space)
    }

    fn drop_passing_space(&self, space: Space) -> Answer<'_, Result<()>> {
        self.inner.drop_passing_space(space)
    }

    fn spaces(&self) -> Spaces {
        self.inner.spaces()
    }

    fn estimate(&self, space: Space, range: &KeyRange) -> Estimate {
        self.inner.estimate(space, range)
    }

    fn census(&self, space: Space, is_past: IsPast<'_>) -> Result<Census> {
        if !self.expiry.watches(space) {
            return self.inner.census(space, is_past);
        }
        let now_ms = self.expiry.now_ms();
        let is_past = |value: &[u8]| is_past(value) || self.expiry.is_past(value, now_ms);
        self.inner.census(space, &is_past)
    }

    fn compact<'a>(&'a self, spaces: &'a [Space]) -> Answer<'a, Result<()>> {
        self.inner.compact(spaces)
    }

    fn checkpoint<'a>(
        &'a self,
        dir: &'a Path,
        is_over: &'a Arc<AtomicBool>,
    ) -> Answer<'a, Result<Option<Checkpoint>>> {
        self.inner.checkpoint(dir, is_over)
    }

    fn sync(&self) -> Answer<'_, Result<()>> {
        self.inner.sync()
    }

    fn hurry(&self) {
        self.inner.hurry();
    }

    fn close(&self) -> Answer<'_, Result<()>> {
        self.inner.close()
    }
}

/// A snapshot without what was past when it was taken.
struct LivingSnapshot {
    inner: Arc<dyn Snapshot>,
    expiry: Arc<Expiry>,
    now_ms: u64,
    /// Whether a value may have been left out.
    has_judged: AtomicBool,
    /// The spaces that were watched then.
    spaces: Arc<HashSet<Space>>,
}

impl LivingSnapshot {
    fn alive(&self, value: Option<Bytes>) -> Option<Bytes> {
        let value = value?;
        let alive = self.expiry.alive(Some(value), self.now_ms);
        if alive.is_none() {
            self.has_judged.store(true, Ordering::Release);
        }
        alive
    }
}

impl Snapshot for LivingSnapshot {
    fn ts(&self) -> Ts {
        self.inner.ts()
    }

    fn judged_ms(&self) -> Option<u64> {
        let has_judged = self.has_judged.load(Ordering::Acquire);
        has_judged.then_some(self.now_ms)
    }

    fn has_ended(&self, space: Space, value: &[u8]) -> bool {
        let has_ended = self.spaces.contains(&space) && self.expiry.is_past(value, self.now_ms);
        if has_ended {
            self.has_judged.store(true, Ordering::Release);
        }
        has_ended
    }

    fn get<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        let found = self.inner.get(space, key);
        if !self.spaces.contains(&space) {
            return found;
        }
        found.map(|found| Ok(self.alive(found?)))
    }

    fn multi_get<'a>(
        &'a self,
        space: Space,
        keys: &'a [Key],
    ) -> Answer<'a, Result<Vec<Option<Bytes>>>> {
        let found = self.inner.multi_get(space, keys);
        if !self.spaces.contains(&space) {
            return found;
        }
        found.map(|found| Ok(found?.into_iter().map(|value| self.alive(value)).collect()))
    }

    /// A page may be empty although the scan goes on. Values are read even where only the keys are
    /// wanted: they say what is past. The engine may have left some out itself, so that nobody knows whether
    /// there were any.
    fn scan<'a>(&'a self, scan: &'a Scan, page: &'a mut Page) -> Answer<'a, Result<()>> {
        if !self.spaces.contains(&scan.space) {
            return self.inner.scan(scan, page);
        }
        self.has_judged.store(true, Ordering::Release);
        let mut whole = scan.clone();
        whole.options.keys_only = false;
        whole.options.past_ms = Some(self.now_ms);
        Answer::later(async move {
            self.inner.scan(&whole, page).await?;
            page.retain(|_, value| !self.expiry.is_past(value, self.now_ms));
            Ok(())
        })
    }

    fn count(&self, space: Space) -> Answer<'_, Result<Option<u64>>> {
        if self.spaces.contains(&space) {
            return Answer::Now(Ok(None));
        }
        self.inner.count(space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::memory::Memory;

    /// The first byte of a value is when it ends; 0 is never.
    fn end_of(value: &[u8]) -> Option<u64> {
        value
            .first()
            .map(|end| u64::from(*end))
            .filter(|end| *end != 0)
    }

    async fn keys(snapshot: &dyn Snapshot, space: Space) -> Vec<Vec<u8>> {
        let mut scan = Scan::new(space, KeyRange::all());
        scan.options.keys_only = true;
        scan.options.max_rows = 2;
        let mut page = Page::default();
        let mut keys = Vec::new();
        loop {
            snapshot.scan(&scan, &mut page).await.unwrap();
            keys.extend(page.iter().map(|(key, _)| key.to_vec()));
            if !scan.advance(&mut page) {
                return keys;
            }
        }
    }

    #[tokio::test]
    async fn what_is_past_is_not_there_in_watched_spaces() {
        let time = Arc::new(AtomicU64::new(10));
        let clock = Arc::clone(&time);
        let expiry = Expiry::with_clock(end_of, move || clock.load(Ordering::Relaxed));
        let engine = Living::new(Arc::new(Memory::default()), Arc::new(expiry));
        let (ending, lasting) = (Space(7), Space(8));
        let mut writes = WriteSet::blind();
        for space in [ending, lasting] {
            engine.create_space(space).await.unwrap();
            for (key, end) in [(b'a', 0), (b'b', 20), (b'c', 5), (b'd', 10), (b'e', 30)] {
                writes.put(space, vec![key], vec![end]);
            }
        }
        engine.commit(writes).await.unwrap();
        engine.expiry().unwrap().watch(HashSet::from([ending]));
        let early = engine.snapshot();
        assert_eq!(keys(early.as_ref(), ending).await, [b"a", b"b", b"e"]);
        assert_eq!(keys(early.as_ref(), lasting).await.len(), 5);
        assert_eq!(early.count(ending).await.unwrap(), None);
        time.store(25, Ordering::Relaxed);
        let late = engine.snapshot();
        assert_eq!(keys(late.as_ref(), ending).await, [b"a", b"e"]);
        // A snapshot keeps its time.
        assert_eq!(keys(early.as_ref(), ending).await, [b"a", b"b", b"e"]);
        assert!(early.get(ending, b"b").await.unwrap().is_some());
        assert!(late.get(ending, b"b").await.unwrap().is_none());
        assert!(engine.get_newest(ending, b"b").await.unwrap().is_none());
        assert!(engine.get_newest(lasting, b"b").await.unwrap().is_some());
        let wanted = [vec![b'b'], vec![b'a']];
        let found = late.multi_get(ending, &wanted).await.unwrap();
        assert_eq!(
            found.iter().map(Option::is_some).collect::<Vec<_>>(),
            [false, true]
        );
    }

    #[test]
    fn a_clock_that_goes_back_does_not_go_behind_what_was_removed() {
        let time = Arc::new(AtomicU64::new(10));
        let clock = Arc::clone(&time);
        let expiry = Expiry::with_clock(end_of, move || clock.load(Ordering::Relaxed));
        time.store(30, Ordering::Relaxed);
        assert_eq!(expiry.now_ms(), 30);
        time.store(20, Ordering::Relaxed);
        assert_eq!(expiry.now_ms(), 20);
        expiry.note_sweep(20);
        time.store(15, Ordering::Relaxed);
        assert_eq!(expiry.now_ms(), 20);
        // One that began earlier.
        expiry.note_sweep(18);
        assert_eq!(expiry.now_ms(), 20);
        time.store(21, Ordering::Relaxed);
        assert_eq!(expiry.now_ms(), 21);
    }
}
