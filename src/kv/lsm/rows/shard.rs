//! A part of the row cache: rows by the hashes of their keys, in one array of slots.
//!
//! Open addressing with linear probing, and removals that move the rows behind up, so that no marks of
//! them are left (Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithms L and R).
//! A slot is one line of the processor's cache, and what it does not have of a row is one allocation:
//! a lookup waits twice for memory, and [`Shard::touch_slot`] and [`Slot::touch_row`] do nothing but wait,
//! so that the waits of many lookups overlap.
//!
//! Who has to go is chosen by CLOCK (Corbató, A Paging Experiment with the Multics System, 1968): a hand
//! goes round the slots, and takes the first row that nobody has asked for since it last came by, or since
//! the row came.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Row, joined};

/// Slots of a shard when its first row comes.
const SLOTS_MIN: usize = 16;

/// The most rows, the first, for so many slots, the second: with more, looking for what is not there takes
/// more than four slots on average.
const FULL: (usize, usize) = (5, 8);

/// A line of the processor's cache, in bytes.
const LINE_BYTES: usize = 64;

/// Lines of a row that [`Slot::touch_row`] waits for. Processors fetch what follows by themselves.
const TOUCHED_LINES: usize = 4;

/// Slots that the hand passes for one row, at most. Then it takes what comes, so that nobody waits long
/// where all rows are wanted.
const PASSED_MAX: usize = 512;

/// A place for a row.
#[derive(Default)]
#[repr(align(64))]
pub(super) struct Slot {
    hash: u64,
    row: Option<Row>,
    /// Whether it was asked for since the hand was here.
    is_wanted: AtomicBool,
}

/// See the head of this file.
pub(super) struct Shard {
    /// None, or a power of two.
    slots: Box<[Slot]>,
    /// Slots with a row.
    rows: usize,
    /// Memory of the rows outside of the slots.
    row_bytes: u64,
    bytes_max: u64,
    /// The slot that the hand is at.
    hand: usize,
}

impl Shard {
    /// Without rows, and with at most `bytes_max` bytes of memory; while it grows, its old slots on top.
    pub(super) fn new(bytes_max: u64) -> Shard {
        Shard {
            slots: Box::default(),
            rows: 0,
            row_bytes: 0,
            bytes_max,
            hand: 0,
        }
    }

    /// Waits for the line of the slot where the search for a hash begins. What it returns is of
    /// no other use than that the compiler does not leave it out.
    pub(super) fn touch_slot(&self, hash: u64) -> u64 {
        self.slots.get(self.home(hash)).map_or(0, |slot| slot.hash)
    }

    /// The slot with a hash.
    pub(super) fn slot_of(&self, hash: u64) -> Option<&Slot> {
        self.slots.get(self.search(hash)?)
    }

    /// Keeps a row, in the place of the one with its hash if there is one. Others go until it fits; one
    /// that fits never is not kept.
    pub(super) fn insert(&mut self, hash: u64, row: Row) {
        self.remove(hash);
        let bytes = row_bytes(&row);
        if self.make_room(bytes) {
            self.put(Slot {
                hash,
                row: Some(row),
                is_wanted: AtomicBool::new(false),
            });
            self.rows += 1;
            self.row_bytes += bytes;
        }
    }

    /// Forgets the row with a hash.
    pub(super) fn remove(&mut self, hash: u64) {
        if let Some(slot_idx) = self.search(hash) {
            self.take_out(slot_idx);
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Shard::new(self.bytes_max);
    }

    /// What it takes of memory.
    pub(super) fn bytes(&self) -> u64 {
        table_bytes(self.slots.len()) + self.row_bytes
    }

    /// How many rows there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    fn mask(&self) -> usize {
        self.slots.len().saturating_sub(1)
    }

    /// Where the search for a hash begins.
    fn home(&self, hash: u64) -> usize {
        usize::try_from(hash & u64::from(u32::MAX)).unwrap_or(0) & self.mask()
    }

    /// Where a hash is.
    fn search(&self, hash: u64) -> Option<usize> {
        let mut slot_idx = self.home(hash);
        for _ in 0..self.slots.len() {
            let slot = self.slots.get(slot_idx)?;
            slot.row.as_ref()?;
            if slot.hash == hash {
                return Some(slot_idx);
            }
            slot_idx = (slot_idx + 1) & self.mask();
        }
        None
    }

    /// Whether one more row would make searches long.
    fn is_full(&self) -> bool {
        let (rows, slots) = FULL;
        self.slots.len() * rows <= self.rows * slots
    }

    /// Makes more slots, or forgets rows, until one with so many bytes fits; `false` when it cannot.
    fn make_room(&mut self, bytes: u64) -> bool {
        if self.bytes_max < table_bytes(self.slots.len().max(SLOTS_MIN)) + bytes {
            return false;
        }
        if self.is_full() {
            let slots = (self.slots.len() * 2).max(SLOTS_MIN);
            let table = table_bytes(slots);
            // Slots stay, also where larger rows come later: they get half of the memory at least.
            if table <= self.bytes_max / 2 && table + self.row_bytes + bytes <= self.bytes_max {
                self.grow(slots);
            }
        }
        while self.is_full() || self.bytes_max < self.bytes() + bytes {
            if !self.evict() {
                return false;
            }
        }
        true
    }

    fn grow(&mut self, slots: usize) {
        let more = (0..slots).map(|_| Slot::default()).collect();
        for slot in mem::replace(&mut self.slots, more) {
            if slot.row.is_some() {
                self.put(slot);
            }
        }
    }

    /// Puts a row whose hash is not there into the first free slot from its home on.
    fn put(&mut self, kept: Slot) {
        let (home, mask) = (self.home(kept.hash), self.mask());
        let idxs = (0..self.slots.len()).map(|step| (home + step) & mask);
        for slot_idx in idxs {
            if let Some(slot) = self.slots.get_mut(slot_idx)
                && slot.row.is_none()
            {
                *slot = kept;
                return;
            }
        }
    }

    /// Forgets the row that the hand comes to; `false` when there is none.
    fn evict(&mut self) -> bool {
        // On its first way round it may find that all are wanted.
        for passed in 0..self.slots.len() * 2 {
            let Some(slot) = self.slots.get_mut(self.hand) else {
                return false;
            };
            let was_wanted = mem::take(slot.is_wanted.get_mut()) && passed < PASSED_MAX;
            if slot.row.is_some() && !was_wanted {
                // The hand stays: another row may have come to its place.
                self.take_out(self.hand);
                return true;
            }
            self.hand = (self.hand + 1) & self.mask();
        }
        false
    }

    /// Empties a slot, and moves the rows behind up as far as each may.
    fn take_out(&mut self, slot_idx: usize) {
        let mask = self.mask();
        let slot = self.slots.get_mut(slot_idx).map(mem::take);
        if let Some(row) = slot.and_then(|slot| slot.row) {
            self.rows = self.rows.saturating_sub(1);
            self.row_bytes = self.row_bytes.saturating_sub(row_bytes(&row));
        }
        let mut hole = slot_idx;
        for step in 1..self.slots.len() {
            let at = (slot_idx + step) & mask;
            let Some(hash) = self.slots.get(at).and_then(Slot::hash_of_row) else {
                return;
            };
            let from_home = at.wrapping_sub(self.home(hash)) & mask;
            if at.wrapping_sub(hole) & mask <= from_home {
                self.slots.swap(hole, at);
                hole = at;
            }
        }
    }
}

impl Slot {
    /// Waits for its row, as [`Shard::touch_slot`] does for the slot.
    pub(super) fn touch_row(&self) -> u64 {
        let bytes = self.row.as_ref().map_or(&[][..], |row| &row.joined);
        let lines = (0..TOUCHED_LINES).map(|line| line * LINE_BYTES);
        let firsts = lines.map(|first| bytes.get(first).copied());
        firsts.fold(0, |sum, byte| sum ^ u64::from(byte.unwrap_or(0)))
    }

    /// Its row, for somebody who asks for it.
    pub(super) fn want(&self) -> Option<&Row> {
        // A load is cheaper than a store to a line that other cores read too.
        if !self.is_wanted.load(Ordering::Relaxed) {
            self.is_wanted.store(true, Ordering::Relaxed);
        }
        self.row.as_ref()
    }

    fn hash_of_row(&self) -> Option<u64> {
        self.row.is_some().then_some(self.hash)
    }
}

/// Memory of a row outside of its slot.
fn row_bytes(row: &Row) -> u64 {
    u64::try_from(joined::allocated(row.joined.len())).unwrap_or(u64::MAX)
}

/// Memory of so many slots.
fn table_bytes(slots: usize) -> u64 {
    u64::try_from(slots.saturating_mul(size_of::<Slot>())).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
