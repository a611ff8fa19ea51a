//! Rows that were read lately, in front of the tree: a hash lookup instead of a walk over tables.
//!
//! Not a write cache and not a cache of blocks: it is filled by point reads only, never by commits
//! or scans, and may forget anything at any time.
//!
//! # Why a hit is right
//!
//! An entry says: since the commit at [`Row::since`] the key has had this value, and no commit
//! that readers can see has changed it after. So every base from there on may use it.
//!
//! ```text
//! reader at base B                        committer, for each batch
//!   get: an entry with since <= B           for each key, under its fence's lock:
//!   else read the tree at B                   fence = F, above every base there is; remove entry
//!   offer, under the key's fence's lock:    write and sync the batch
//!     only if fence <= B:                   show the new base, F or above
//!       insert, with since = fence
//! ```
//!
//! Keys share a fixed number of fences by their hash; a fence is the time from which on none of its
//! keys has changed. A reader inserts only what it read at or after the fence, so what it read is
//! the newest value *and* no batch that has begun changes it. That holds in every order:
//!
//! - offered before the fence is raised: the entry is the old value and is removed with the raise,
//!   before the new base is shown. Only readers of old bases can have met it, and for them it is
//!   right;
//! - offered after the raise and before the new base is shown: the reader's base is below F, so it
//!   is refused. This is why nothing need be done after the base was shown;
//! - offered after that, but read at an old base: refused for the same reason, however late;
//! - read at the new base: accepted with `since` = F, which no older base reaches, so no reader of
//!   an old base meets a new value.
//!
//! The check and the insertion share one critical section with the raise and the removal. Inserting
//! first, and removing again when the fence turns out to be raised, would not do: between the two a
//! reader of the new base could meet the old value. A get takes no locks but the cache's own.
//!
//! That nothing is at a key may become true without a commit: compaction removes values that have
//! ended ([`crate::kv::expiry`]). So absence counts from the base on at which it was read, and not
//! from the fence.
//!
//! When writing a batch fails, nobody knows what of it the tree will show: the cache is emptied and
//! takes nothing any more ([`RowCache::stop`]). A dropped space needs nothing: reads ask for the
//! space first, and its id is never used again, so its entries age out.
//!
//! This file is hot: a hit allocates nothing, and what it costs is waiting for memory. How the rows lie in
//! it is told by [`shard`]; those of a multi-get are waited for at the same time ([`shards`]).

mod joined;
mod shard;
mod shards;

use bytes::{Buf, Bytes};
use parking_lot::{Mutex, MutexGuard};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use self::shards::{Shards, TOGETHER_MAX};
use crate::kv::Ts;
use crate::tally::Counter;

/// Values above it are not kept: reading one costs more than finding it.
pub(super) const VALUE_BYTES_MAX: usize = 16 << 10;

/// Fences: enough that a batch refuses few readers of other keys, few enough (64 KiB) to be
/// nothing beside the rows.
const FENCES: usize = 4096;

/// After this time no value counts as new enough to be kept.
const NEVER: Ts = Ts(u64::MAX);

/// What a base has at a key.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The physical key, then the value. A lookup reads the key to be sure and the value next, and
    /// so waits for memory once.
    joined: Bytes,
    /// From when on that is so.
    since: Ts,
    key_bytes: u32,
    exists: bool,
}

impl Row {
    /// What a reader of the base at `read` found.
    pub(super) fn new(place: &Place<'_>, value: Option<&[u8]>, read: Ts) -> Row {
        Row {
            joined: joined::joined(place.physical, value.unwrap_or_default()),
            // The limits of keys are far below.
            key_bytes: u32::try_from(place.physical.len()).unwrap_or(u32::MAX),
            exists: value.is_some(),
            since: read,
        }
    }

    /// Its value; `None` when there is none.
    pub(super) fn into_value(self) -> Option<Bytes> {
        let key_bytes = self.key_bytes();
        let mut value = self.joined;
        value.advance(key_bytes);
        self.exists.then_some(value)
    }

    /// Whether a reader of the base at `ts` finds this at a place.
    fn answers(&self, place: &Place<'_>, ts: Ts) -> bool {
        self.since <= ts && self.joined.get(..self.key_bytes()) == Some(place.physical)
    }

    fn key_bytes(&self) -> usize {
        let key_bytes = usize::try_from(self.key_bytes).unwrap_or(usize::MAX);
        key_bytes.min(self.joined.len())
    }
}

/// A key to be looked for: its physical form and the hash of that.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    hash: u64,
    physical: &'a [u8],
}

/// The cache.
pub(super) struct RowCache {
    /// By the keys' hashes: of two keys with one hash the later has the place.
    rows: Shards,
    /// [`FENCES`] of them. Each: none of its keys was changed by a commit after this time.
    fences: Box<[Mutex<Ts>]>,
    /// Makes hashes that nobody outside can foresee.
    seed: u64,
    hits: Counter,
    misses: Counter,
}

impl RowCache {
    /// An empty cache that takes up to `bytes` of memory for rows and the slots they are in.
    pub(super) fn new(bytes: u64) -> RowCache {
        RowCache {
            rows: Shards::new(bytes),
            fences: (0..FENCES).map(|_| Mutex::new(Ts(0))).collect(),
            seed: rand::random(),
            hits: Counter::default(),
            misses: Counter::default(),
        }
    }

    /// Where a physical key would be.
    pub(super) fn place<'a>(&self, physical: &'a [u8]) -> Place<'a> {
        let hash = xxh3_64_with_seed(physical, self.seed);
        Place { hash, physical }
    }

    /// What a reader of the base at `ts` sees at a place, when that is known.
    pub(super) fn get(&self, place: &Place<'_>, ts: Ts) -> Option<Row> {
        let row = self.rows.get(place.hash, |row| row.answers(place, ts));
        match &row {
            Some(_) => self.hits.add(1),
            None => self.misses.add(1),
        }
        row
    }

    /// The same for each of many places, in their order.
    pub(super) fn get_all(&self, places: &[Place<'_>], ts: Ts, mut visit: impl FnMut(Option<Row>)) {
        let mut hits = 0;
        let mut found = [const { None }; TOGETHER_MAX];
        for together in places.chunks(TOGETHER_MAX) {
            let hashes = together.iter().map(|place| place.hash);
            let accept = |idx: usize, row: &Row| {
                let place = together.get(idx);
                place.is_some_and(|place| row.answers(place, ts))
            };
            self.rows.get_all(hashes, accept, &mut found);
            for row in found.iter_mut().take(together.len()).map(Option::take) {
                hits += u64::from(row.is_some());
                visit(row);
            }
        }
        self.hits.add(hits);
        let asked = u64::try_from(places.len()).unwrap_or(hits);
        self.misses.add(asked.saturating_sub(hits));
    }

    /// How many rows were looked for and found, and not found.
    pub(super) fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits.sum(), self.misses.sum())
    }

    /// What it takes of memory, and the most that it may.
    pub(super) fn bytes(&self) -> (u64, u64) {
        self.rows.bytes()
    }

    /// Keeps what a reader found in the tree, unless that may be outdated.
    pub(super) fn offer(&self, place: &Place<'_>, row: &Row) {
        if VALUE_BYTES_MAX < row.joined.len().saturating_sub(row.key_bytes()) {
            return;
        }
        let fence = self.fence(place);
        if row.since < *fence {
            return;
        }
        let since = if row.exists { *fence } else { row.since };
        let row = Row {
            since,
            ..row.clone()
        };
        // Under the fence's lock, see the head of this file.
        self.rows.insert(place.hash, row);
    }

    /// Forgets a key that a batch is going to change. For the committer, before the batch is
    /// written; `ts` lies above every base there is and not above the one that will show the batch.
    pub(super) fn forget(&self, place: &Place<'_>, ts: Ts) {
        let mut fence = self.fence(place);
        // Never lower than it was: a stopped cache stays stopped.
        *fence = ts.max(*fence);
        self.rows.remove(place.hash);
    }

    /// Forgets everything and keeps nothing from now on.
    pub(super) fn stop(&self) {
        for fence in &self.fences {
            *fence.lock() = NEVER;
        }
        self.rows.clear();
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "the remainder is below the number of fences"
    )]
    fn fence(&self, place: &Place<'_>) -> MutexGuard<'_, Ts> {
        let fence_idx = usize::try_from(place.hash).unwrap_or(usize::MAX) % FENCES;
        self.fences[fence_idx].lock()
    }
}

#[cfg(test)]
mod tests;
