//! The parts of the row cache, each behind its lock.
//!
//! Looking for many rows takes the locks of all their shards, then waits for all slots, then for all
//! rows, and only then counts itself among the users of each row. Waits overlap where a processor may
//! go on to the next one, and it may not beyond a lock or a count, which are atomic. Who holds locks
//! waits for no further one: a shard that somebody writes to is asked after the others are let go.

use std::hint::black_box;

use parking_lot::{RwLock, RwLockReadGuard};

use super::Row;
use super::shard::{Shard, Slot};
use crate::tally::Apart;

/// Rows that are looked for together: as many waits as a processor has under way, and few enough that
/// the locks are held for a microsecond or two.
pub(super) const TOGETHER_MAX: usize = 32;

/// Shards at most: so many that threads seldom meet in one.
const SHARDS_MAX: usize = 64;

/// Memory of a shard at least: several rows of the largest size fit.
const SHARD_BYTES_MIN: u64 = 256 << 10;

/// See the head of this file.
pub(super) struct Shards {
    /// A power of two of them.
    shards: Box<[Apart<RwLock<Shard>>]>,
    bytes_max: u64,
}

/// Shards that a thread reads, each in its place.
type Held<'a> = [Option<RwLockReadGuard<'a, Shard>>; SHARDS_MAX];

impl Shards {
    /// No rows yet; with them at most `bytes_max` bytes of memory.
    pub(super) fn new(bytes_max: u64) -> Shards {
        let most = usize::try_from(bytes_max / SHARD_BYTES_MIN).unwrap_or(usize::MAX);
        let shards = match most.min(SHARDS_MAX) {
            0 => 1,
            most => 1_usize << most.ilog2(),
        };
        let each = bytes_max / u64::try_from(shards).unwrap_or(1);
        let shard = || Apart(RwLock::new(Shard::new(each)));
        Shards {
            shards: (0..shards).map(|_| shard()).collect(),
            bytes_max,
        }
    }

    /// The row with a hash, if it is acceptable.
    pub(super) fn get(&self, hash: u64, accept: impl Fn(&Row) -> bool) -> Option<Row> {
        let shard = self.shard(hash)?.read();
        let row = shard.slot_of(hash).and_then(Slot::want);
        row.filter(|row| accept(row)).cloned()
    }

    /// The rows with the first [`TOGETHER_MAX`] of some hashes, each where it is acceptable, into their
    /// places in `found`.
    pub(super) fn get_all(
        &self,
        hashes: impl Iterator<Item = u64> + Clone,
        accept: impl Fn(usize, &Row) -> bool,
        found: &mut [Option<Row>; TOGETHER_MAX],
    ) {
        let (held, written_to) = self.hold(hashes.clone());
        let shard_of = |hash| held.get(self.shard_idx(hash)).and_then(Option::as_ref);
        let mut touched = 0;
        for hash in hashes.clone() {
            touched ^= shard_of(hash).map_or(0, |shard| shard.touch_slot(hash));
        }
        let mut slots = [None; TOGETHER_MAX];
        for (slot, hash) in slots.iter_mut().zip(hashes.clone()) {
            *slot = shard_of(hash).and_then(|shard| shard.slot_of(hash));
            touched ^= slot.map_or(0, Slot::touch_row);
        }
        // What was read for nothing but to be there is not left out by the compiler.
        black_box(touched);
        for (idx, (place, slot)) in found.iter_mut().zip(slots).enumerate() {
            let row = slot.and_then(Slot::want);
            *place = row.filter(|row| accept(idx, row)).cloned();
        }
        drop(held);
        if written_to == 0 {
            return;
        }
        for (idx, (place, hash)) in found.iter_mut().zip(hashes).enumerate() {
            if written_to & self.shard_bit(hash) != 0 {
                *place = self.get(hash, |row| accept(idx, row));
            }
        }
    }

    /// Keeps a row.
    pub(super) fn insert(&self, hash: u64, row: Row) {
        if let Some(shard) = self.shard(hash) {
            shard.write().insert(hash, row);
        }
    }

    /// Forgets the row with a hash.
    pub(super) fn remove(&self, hash: u64) {
        if let Some(shard) = self.shard(hash) {
            shard.write().remove(hash);
        }
    }

    /// Forgets all.
    pub(super) fn clear(&self) {
        for Apart(shard) in &self.shards {
            shard.write().clear();
        }
    }

    /// What it takes of memory, and the most that it may.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let shards = self.shards.iter();
        let bytes = shards.map(|Apart(shard)| shard.read().bytes()).sum();
        (bytes, self.bytes_max)
    }

    /// How many rows there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards
            .iter()
            .map(|Apart(shard)| shard.read().len())
            .sum()
    }

    /// Which shard a hash belongs to: by the bits that its place in there does not come from.
    fn shard_idx(&self, hash: u64) -> usize {
        usize::try_from(hash >> 58).unwrap_or(0) & (self.shards.len().saturating_sub(1))
    }

    /// That shard as a member of a set.
    fn shard_bit(&self, hash: u64) -> u64 {
        1 << self.shard_idx(hash)
    }

    fn shard(&self, hash: u64) -> Option<&RwLock<Shard>> {
        let shard = self.shards.get(self.shard_idx(hash));
        shard.map(|Apart(shard)| shard)
    }

    /// Takes the locks of the shards that hashes belong to, each once, and tells the set of those that
    /// somebody writes to, which it leaves out.
    fn hold(&self, hashes: impl Iterator<Item = u64>) -> (Held<'_>, u64) {
        let mut left = hashes.fold(0, |of, hash| of | self.shard_bit(hash));
        let mut held = [const { None }; SHARDS_MAX];
        let mut written_to = 0;
        while left != 0 {
            let shard_idx = usize::try_from(left.trailing_zeros()).unwrap_or(0);
            if let (Some(place), Some(Apart(shard))) =
                (held.get_mut(shard_idx), self.shards.get(shard_idx))
            {
                *place = shard.try_read();
                written_to |= u64::from(place.is_none()) << shard_idx;
            }
            left &= left - 1;
        }
        (held, written_to)
    }
}
