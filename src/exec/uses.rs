//! When each index was last read: for SHOW INDEX, and for who wonders whether it is needed.
//!
//! Noted where a statement has its plan, once per statement. It is not stored: a server that was
//! just started knows of no use. Hot: reading and writing take no lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::catalog::{IndexId, Table};
use crate::plan::{Access, TablePlan};
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

/// Seconds since 1970.
type Slots = Box<[AtomicI64]>;

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
            Access::Index(access) => note(KeyRef::Index(access.position)),
            Access::Ends(ends) => ends.seeks.iter().for_each(|seek| note(seek.key)),
            Access::Merge(merge) => merge.branches.iter().for_each(|branch| note(branch.key)),
            Access::Nothing
            | Access::PointGet(_)
            | Access::MultiGet(_)
            | Access::PrefixScan(_)
            | Access::Count(_)
            | Access::FullScan => {}
        }
    }

    /// Notes the use of one index.
    pub fn note_index(&self, index: IndexId, now: Timestamp) {
        let (segment_idx, slot_idx) = place(index);
        let Some(segment) = self.segments.get(segment_idx) else {
            return;
        };
        let slots = segment.get_or_init(|| (0..SEGMENT).map(|_| AtomicI64::new(NEVER)).collect());
        let seconds = now.total_micros() / MICROS_PER_S;
        if let Some(slot) = slots.get(slot_idx)
            && slot.load(Ordering::Relaxed) < seconds
        {
            slot.store(seconds, Ordering::Relaxed);
        }
    }

    /// When an index was last read; `None` when that was not since the server was started.
    pub fn last(&self, index: IndexId) -> Option<Timestamp> {
        let (segment_idx, slot_idx) = place(index);
        let slots = self.segments.get(segment_idx)?.get()?;
        let seconds = slots.get(slot_idx)?.load(Ordering::Relaxed);
        if seconds == NEVER {
            return None;
        }
        Timestamp::from_micros(seconds.saturating_mul(MICROS_PER_S), 0)
    }
}

fn place(index: IndexId) -> (usize, usize) {
    let id = usize::try_from(index.0).unwrap_or(usize::MAX);
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
}
