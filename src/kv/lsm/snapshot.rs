//! Reads of the embedded engine.
//!
//! The storage library lets background work move its newest readable point past a batch that is
//! still being applied, so a snapshot taken from it at a bad moment would see half of that batch.
//! Therefore only the committer takes the library's snapshots, between two batches, and puts each
//! into a [`Base`]; everybody reads at the newest base, and taking a snapshot is one counter.
//!
//! Point reads ask the [`RowCache`] before the tree and tell it what they found there.
//!
//! This file is hot: no allocation per row, no lock beyond the one for the base, no log.

mod multi_get;

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fjall::{AnyTree, Keyspace, Readable};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::absent::Stretch;
use super::compression::{self, Compression};
use super::files::{self, FileScan, PARKED_MAX, Parked, View};
use super::range::Rows;
use super::rows::{self, Row, RowCache};
use super::spaces::{self, PhysicalKey, SpaceSet};
use super::sparse::Sparse;
use super::thin::Suspect;
use super::{Shared, damage, estimate, fault};
use crate::kv::expiry::Expiry;
use crate::kv::page::successor;
use crate::kv::{
    Answer, Census, Error, IsPast, Key, KeyRange, Page, Result, Scan, Snapshot, Space, Ts,
};
use crate::leisure;

/// Rows of a page that are read on the caller's thread; a page with more goes on elsewhere. The
/// hop costs about as much as thirty rows.
const NOW_ROWS_MAX: usize = 128;

/// How long a census waits while files are being written, and how often it looks.
const CENSUS_PATIENCE: Duration = Duration::from_millis(100);
const CENSUS_INTERVAL: Duration = Duration::from_millis(2);

/// A state between two batches.
pub(super) struct Base {
    pub(super) ts: Ts,
    pub(super) spaces: Arc<SpaceSet>,
    /// What is kept of sparse stretches.
    pub(super) sparse: Arc<Sparse>,
    pub(super) snapshot: fjall::Snapshot,
    pub(super) data: Keyspace,
    rows: Arc<RowCache>,
    compression: Arc<Compression>,
    /// The files of this state, for scans forwards.
    pub(super) view: Option<View>,
}

/// What a base is made with: the cache of rows and how values are stored, the spaces there are, and the sparse
/// stretches.
pub(super) type Parts = (
    (Arc<RowCache>, Arc<Compression>),
    (Arc<SpaceSet>, Arc<Sparse>),
);

impl Base {
    /// The present state. Only for the thread that writes, while it is not writing.
    pub(super) fn take(db: &fjall::Database, data: &Keyspace, parts: Parts) -> Base {
        Base::take_after(None, (db, data), parts)
    }

    /// The same, behind the one `before`.
    fn take_after(
        before: Option<&Base>,
        (db, data): (&fjall::Database, &Keyspace),
        parts: Parts,
    ) -> Base {
        let ((rows, compression), (spaces, sparse)) = parts;
        let before = before.and_then(|before| before.view.as_ref());
        let snapshot = db.snapshot();
        Base {
            ts: Ts(snapshot.seqno()),
            spaces,
            sparse,
            snapshot,
            data: data.clone(),
            rows,
            view: View::take(&data.tree, &compression, before),
            compression,
        }
    }

    /// The state after this one. Under the same conditions.
    pub(super) fn next(&self, db: &fjall::Database, states: (Arc<SpaceSet>, Arc<Sparse>)) -> Base {
        let kept = (Arc::clone(&self.rows), Arc::clone(&self.compression));
        Base::take_after(Some(self), (db, &self.data), (kept, states))
    }

    /// Takes a key out of the row cache, before it is written by a batch that a base at `shown` or
    /// later will show.
    pub(super) fn forget(&self, physical: &[u8], shown: Ts) {
        self.rows.forget(&self.rows.place(physical), shown);
    }

    /// The cache of single rows.
    pub(super) fn row_cache(&self) -> &RowCache {
        &self.rows
    }

    /// Reads everything from the tree from now on.
    pub(super) fn stop_caching(&self) {
        self.rows.stop();
    }

    /// One key.
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>> {
        self.spaces.check(space)?;
        let physical = PhysicalKey::new(space, key);
        let place = self.rows.place(physical.as_ref());
        if let Some(row) = self.rows.get(&place, self.ts) {
            return Ok(row.into_value());
        }
        let found = self.snapshot.get(&self.data, &physical);
        let found = found.map_err(|cause| self.failed("reading a key", &physical, &cause))?;
        let plain = |stored| self.compression.plain_slice(space, stored);
        let found = found.map(plain).transpose()?;
        if let Some(large) = &found
            && rows::VALUE_BYTES_MAX < large.len()
        {
            // Shares the cached block's memory. What the row cache keeps does not hold on to blocks.
            return Ok(found.map(Bytes::from_owner));
        }
        let row = Row::new(&place, found.as_deref(), self.ts);
        self.rows.offer(&place, &row);
        Ok(row.into_value())
    }

    /// Whether a key is there.
    pub(super) fn contains(&self, space: Space, key: &[u8]) -> Result<bool> {
        self.spaces.check(space)?;
        let physical = PhysicalKey::new(space, key);
        let found = self.snapshot.contains_key(&self.data, &physical);
        found.map_err(|cause| self.failed("looking for a key", &physical, &cause))
    }

    /// Whether there is nothing from one key to another, both included; `false` where that is not known at once.
    pub(super) fn is_vacant(&self, stretch: &Stretch<'_>) -> Result<bool> {
        let space = stretch.space;
        self.spaces.check(space)?;
        let Some(view) = &self.view else {
            return Ok(false);
        };
        let range = KeyRange::between(stretch.least.as_slice(), successor(stretch.greatest));
        let found = files::is_vacant(view, spaces::physical_range(space, &range));
        found.map_err(|cause| {
            let ends = [stretch.least, stretch.greatest].map(|key| PhysicalKey::new(space, key));
            let [least, greatest] = ends.each_ref().map(PhysicalKey::as_ref);
            let doing = "looking for keys";
            damage::error(&self.data.tree, (least, greatest), (doing, &cause))
        })
    }

    fn failed(&self, doing: &str, physical: &PhysicalKey, cause: &fjall::Error) -> Error {
        let key = physical.as_ref();
        damage::error(&self.data.tree, (key, key), (doing, cause))
    }

    /// How many keys a space has, if that is known.
    pub(super) fn count(&self, space: Space) -> Result<Option<u64>> {
        self.spaces.check(space)?;
        let found = self.snapshot.get(&self.data, spaces::count_key(space));
        let found = found.map_err(|cause| fault::error("reading a number of keys", &cause))?;
        let count = found.map(|value| spaces::read_count(space, &value));
        count.transpose()
    }

    /// The tree with what writes to it.
    pub(super) fn keyspace(&self) -> &Keyspace {
        &self.data
    }

    /// What a space holds, live and dead. Values that are packed are unpacked and looked at where values
    /// end by themselves; elsewhere they are not past.
    pub(super) fn census(
        &self,
        (space, has_ends): (Space, bool),
        is_past: IsPast<'_>,
    ) -> Result<Census> {
        self.spaces.check(space)?;
        let bounds = spaces::physical_range(space, &KeyRange::all());
        let is_past = |stored: &[u8]| {
            if !compression::is_plain(stored) && !has_ends {
                return false;
            }
            let value = self.compression.plain(space, stored);
            value.is_ok_and(|value| is_past(&value))
        };
        let counted = |view: &View, ts| {
            let census = files::census(view, (ts, bounds.clone()), &is_past);
            census.map_err(|cause| fault::error("counting", &fjall::Error::Storage(cause)))
        };
        let patience = Instant::now() + CENSUS_PATIENCE;
        loop {
            // The files as they are now: a compaction makes no new state.
            if let Some(view) = View::take(&self.data.tree, &self.compression, self.view.as_ref()) {
                return counted(&view, Ts(u64::MAX));
            }
            if let Some(view) = &self.view {
                return counted(view, self.ts);
            }
            if patience <= Instant::now() {
                return Ok(self.census_of_files(space));
            }
            thread::sleep(CENSUS_INTERVAL);
        }
    }

    /// What the files say of themselves, while what is written to them hides what is deleted.
    fn census_of_files(&self, space: Space) -> Census {
        Census {
            live: estimate::estimate(self, space, &KeyRange::all()).rows,
            high: u64::MAX,
            is_exact: false,
            ..Census::nothing()
        }
    }

    /// How values are stored.
    pub(super) fn compression(&self) -> &Compression {
        &self.compression
    }

    /// The tree itself, for its sizes.
    pub(super) fn tree(&self) -> &AnyTree {
        &self.data.tree
    }

    /// What a long scan reads the files with; `None` where [`Base::rows`] does it.
    fn file_scan(&self, scan: &Scan) -> Option<FileScan> {
        FileScan::begin((self.view.as_ref()?, &self.data), self.ts, scan)
    }
}

/// A snapshot for callers.
pub(super) struct LsmSnapshot {
    /// None when the engine was closed before.
    pub(super) base: Option<Arc<Base>>,
    /// Whom to tell of sparse stretches.
    shared: Weak<Shared>,
    /// Long scans between two of their pages, the one that waits longest first.
    parked: Mutex<VecDeque<Parked>>,
}

impl LsmSnapshot {
    pub(super) fn new(base: Option<Arc<Base>>, shared: &Arc<Shared>) -> LsmSnapshot {
        LsmSnapshot {
            base,
            shared: Arc::downgrade(shared),
            parked: Mutex::default(),
        }
    }

    /// One of a state that nothing is written behind.
    pub(super) fn still(base: Arc<Base>) -> LsmSnapshot {
        LsmSnapshot {
            base: Some(base),
            shared: Weak::new(),
            parked: Mutex::default(),
        }
    }

    /// The scan of files that a page is read with.
    fn file_scan(&self, base: &Base, scan: &Scan) -> Option<FileScan> {
        let mut parked = self.parked.lock();
        let at = parked.iter().position(|one| one.is_of(scan));
        let resumed = at.and_then(|at| parked.remove(at));
        drop(parked);
        match resumed {
            Some(parked) => Some(parked.resume()),
            None => base.file_scan(scan),
        }
    }

    /// Fills a page from files, on a thread that may wait for the disk where there is one. From a scan's
    /// second such page on the thread gives way.
    async fn fill_from_files(
        &self,
        mut files: FileScan,
        (scan, page): (&Scan, &mut Page),
    ) -> Result<()> {
        let (mut moved, scan) = (std::mem::take(page), scan.clone());
        let is_long = files.is_resumed();
        let fill = move || {
            leisure::end_turn();
            let filled = files.fill(&scan, &mut moved);
            (filled.map(|()| files), moved)
        };
        let filled = if is_long {
            leisure::long_blocking(fill).await
        } else {
            leisure::blocking(fill).await
        };
        let (filled, moved) = filled.ok_or_else(stopped)?;
        *page = moved;
        let files = filled?;
        let mut parked = self.parked.lock();
        parked.extend(files.park(page));
        if PARKED_MAX < parked.len() {
            parked.pop_front();
        }
        drop(parked);
        Ok(())
    }

    fn expiry(&self) -> Option<Arc<Expiry>> {
        self.shared.upgrade()?.expiry.clone()
    }

    /// Has a range looked at where a page met hardly anything alive.
    fn tell_of(&self, rows: &Rows, (scan, page): (&Scan, &Page)) {
        if let Some(passed) = rows.sparse(page)
            && let Some(shared) = self.shared.upgrade()
        {
            shared.look_at(Suspect::of_scan((scan, page), passed));
        }
    }

    fn base(&self) -> Result<&Arc<Base>> {
        self.base.as_ref().ok_or(Error::Closed)
    }
}

impl Snapshot for LsmSnapshot {
    fn ts(&self) -> Ts {
        self.base.as_ref().map_or(Ts(0), |base| base.ts)
    }

    /// It leaves nothing out: who looks at ends is in front of it.
    fn judged_ms(&self) -> Option<u64> {
        None
    }

    fn has_ended(&self, _space: Space, _value: &[u8]) -> bool {
        false
    }

    fn get<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        Answer::Now(self.base().and_then(|base| base.get(space, key)))
    }

    fn multi_get<'a>(
        &'a self,
        space: Space,
        keys: &'a [Key],
    ) -> Answer<'a, Result<Vec<Option<Bytes>>>> {
        let base = match self.base() {
            Ok(base) => base,
            Err(closed) => return Answer::Now(Err(closed)),
        };
        if let Err(missing) = base.spaces.check(space) {
            return Answer::Now(Err(missing));
        }
        multi_get::answer(base, space, keys)
    }

    fn scan<'a>(&'a self, scan: &'a Scan, page: &'a mut Page) -> Answer<'a, Result<()>> {
        page.clear();
        let base = match self.base() {
            Ok(base) => base,
            Err(closed) => return Answer::Now(Err(closed)),
        };
        if let Err(missing) = base.spaces.check(scan.space) {
            return Answer::Now(Err(missing));
        }
        if scan.range.is_empty() {
            return Answer::Now(Ok(()));
        }
        if let Some(files) = self.file_scan(base, scan) {
            return Answer::later(self.fill_from_files(files, (scan, page)));
        }
        let expiry = scan.options.past_ms.and_then(|_| self.expiry());
        let mut rows = Rows::new(base, scan, expiry.as_ref());
        let pool = leisure::pool();
        let now_rows = if pool.is_some() {
            NOW_ROWS_MAX
        } else {
            usize::MAX
        };
        match (rows.fill(scan, page, now_rows), pool) {
            (Err(cause), _) => Answer::Now(Err(cause)),
            (Ok(true), _) | (Ok(false), None) => {
                self.tell_of(&rows, (scan, page));
                Answer::Now(Ok(()))
            }
            (Ok(false), Some(pool)) => Answer::later(async move {
                let rows = fill_elsewhere(pool, rows, scan, page).await?;
                self.tell_of(&rows, (scan, page));
                Ok(())
            }),
        }
    }

    fn count(&self, space: Space) -> Answer<'_, Result<Option<u64>>> {
        Answer::Now(self.base().and_then(|base| base.count(space)))
    }
}

/// Goes on filling a page on a thread that may wait for the disk.
async fn fill_elsewhere(
    pool: Handle,
    mut rows: Rows,
    scan: &Scan,
    page: &mut Page,
) -> Result<Rows> {
    let mut moved = std::mem::take(page);
    let scan = scan.clone();
    let work = pool.spawn_blocking(move || {
        let filled = rows.fill(&scan, &mut moved, usize::MAX);
        (filled.map(|_| rows), moved)
    });
    match work.await {
        Ok((filled, moved)) => {
            *page = moved;
            filled
        }
        Err(_) => Err(stopped()),
    }
}

/// A blocking task ends without an answer only when the runtime stops, or the storage library
/// panics over what it reads.
fn stopped() -> Error {
    Error::Io {
        doing: "reading on a blocking thread".to_owned(),
        cause: "the task was stopped or panicked".to_owned(),
    }
}
