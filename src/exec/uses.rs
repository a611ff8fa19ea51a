//! When each index was last read, and in which direction tables and indexes are read: for SHOW INDEX, and
//! for who wonders whether it is needed, or has the right order.
//!
//! Noted where a statement has its plan, once per statement. It is not stored: a server that was
//! just started knows of no use. Hot: reading and writing take no lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::catalog::{IndexId, Table};
use crate::plan::{Access, Entries, TablePlan};
use crate::sql::bound::KeyRef;
use crate::types::Timestamp;

/// Indexes of a segment.
const SEGMENT: usize = 1024;

/// Segments: ids above are not noted. Ids are numbers of spaces, given in order.
const SEGMENTS: usize = 4096;

/// Microseconds of a second: the unit in which uses are kept, so that an index that all cores use
/// is written to once in a second.
const MICROS_PER_S: i64 = 1_000_000;

/// Nobody has read it.
const NEVER: i64 = 0;

/// What is noted of a table or an index.
#[derive(Debug)]
struct Slot {
    /// Seconds since 1970.
    last: AtomicI64,
    forwards: AtomicU64,
    backwards: AtomicU64,
}

type Slots = Box<[Slot]>;

/// How many statements have read ranges of a key against the order of its last part, and how many
/// otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Directions {
    /// In its order, in any, or against that of more parts than the last.
    pub forwards: u64,
    /// From its end, ordered by the last part alone: with that part turned round, they would be read forwards.
    pub backwards: u64,
}

/// The last use of each index.
#[derive(Debug)]
pub struct Uses {
    /// Made when one of their indexes is read first.
    segments: Box<[OnceLock<Slots>]>,
}

impl Default for Uses {
    fn default() -> Uses {
        Uses {
            segments: (0..SEGMENTS).map(|_| OnceLock::new()).collect(),
        }
    }
}

impl Uses {
    /// Notes that a statement that began `now` reads as the plan says.
    pub fn note(&self, table: &Table, plan: &TablePlan, now: Timestamp) {
        let note = |key: KeyRef| {
            if let KeyRef::Index(position) = key
                && let Some(index) = table.indexes.get(position)
            {
                self.note_index(index.id, now);
            }
        };
        match &plan.access {
            Access::Index(access) => {
                note(KeyRef::Index(access.position));
                if let (Entries::Ranges(_), Some(index)) =
                    (&access.entries, table.indexes.get(access.position))
                {
                    self.note_direction(index.id.0, is_backwards(plan, index.parts.len()));
                }
            }
            Access::PrefixScan(_) | Access::FullScan => {
                self.note_direction(table.id.0, is_backwards(plan, table.key.len()));
            }
            Access::Ends(ends) => ends.seeks.iter().for_each(|seek| note(seek.key)),
            Access::Merge(merge) => merge.branches.iter().for_each(|branch| note(branch.key)),
            Access::Nothing | Access::PointGet(_) | Access::MultiGet(_) | Access::Count(_) => {}
        }
    }

    /// Notes the use of one index.
    pub fn note_index(&self, index: IndexId, now: Timestamp) {
        let seconds = now.total_micros() / MICROS_PER_S;
        if let Some(slot) = self.made(index.0)
            && slot.last.load(Ordering::Relaxed) < seconds
        {
            slot.last.store(seconds, Ordering::Relaxed);
        }
    }

    /// Notes that a range of a table or index, which are numbered together, is read.
    pub fn note_direction(&self, id: u32, backwards: bool) {
        let Some(slot) = self.made(id) else {
            return;
        };
        let count = if backwards {
            &slot.backwards
        } else {
            &slot.forwards
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// In which directions ranges of a table or index were read since the server was started.
    pub fn directions(&self, id: u32) -> Directions {
        self.there(id)
            .map_or_else(Directions::default, |slot| Directions {
                forwards: slot.forwards.load(Ordering::Relaxed),
                backwards: slot.backwards.load(Ordering::Relaxed),
            })
    }

    /// When an index was last read; `None` when that was not since the server was started.
    pub fn last(&self, index: IndexId) -> Option<Timestamp> {
        let seconds = self.there(index.0)?.last.load(Ordering::Relaxed);
        if seconds == NEVER {
            return None;
        }
        Timestamp::from_micros(seconds.saturating_mul(MICROS_PER_S), 0)
    }

    fn there(&self, id: u32) -> Option<&Slot> {
        let (segment_idx, slot_idx) = place(id);
        self.segments.get(segment_idx)?.get()?.get(slot_idx)
    }

    fn made(&self, id: u32) -> Option<&Slot> {
        let (segment_idx, slot_idx) = place(id);
        let slots = || (0..SEGMENT).map(|_| Slot::unused()).collect();
        let slots = self.segments.get(segment_idx)?.get_or_init(slots);
        slots.get(slot_idx)
    }
}

/// Whether a key of so many parts is read against the order of its last part alone.
fn is_backwards(plan: &TablePlan, parts_count: usize) -> bool {
    plan.reverse && plan.order_part.is_some_and(|part| part + 1 == parts_count)
}

impl Slot {
    fn unused() -> Slot {
        Slot {
            last: AtomicI64::new(NEVER),
            forwards: AtomicU64::new(0),
            backwards: AtomicU64::new(0),
        }
    }
}

fn place(id: u32) -> (usize, usize) {
    let id = usize::try_from(id).unwrap_or(usize::MAX);
    (id / SEGMENT, id % SEGMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_use_is_kept_to_the_second() {
        let uses = Uses::default();
        let at = |micros| Timestamp::from_micros(micros, 6).unwrap();
        for id in [1, 1023, 1024, 70_000] {
            let index = IndexId(id);
            assert_eq!(uses.last(index), None);
            uses.note_index(index, at(7_900_000));
            uses.note_index(index, at(5_000_000));
            assert_eq!(uses.last(index), Timestamp::from_micros(7_000_000, 0));
        }
        uses.note_index(IndexId(u32::MAX), at(7_000_000));
        assert_eq!(uses.last(IndexId(u32::MAX)), None);
    }

    #[test]
    fn directions_are_counted_apart() {
        let uses = Uses::default();
        assert_eq!(uses.directions(9), Directions::default());
        for backwards in [true, false, true] {
            uses.note_direction(9, backwards);
        }
        let seen = uses.directions(9);
        assert_eq!((seen.forwards, seen.backwards), (1, 2));
        assert_eq!(uses.last(IndexId(9)), None);
    }
}
