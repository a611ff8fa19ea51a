//! Ranges that may be sparse: where many keys were deleted, and where a scan met what had ended.

use std::collections::HashMap;
use std::sync::Arc;

use super::DELETES_MIN;
use crate::kv::lsm::files::{Passage, View, What};
use crate::kv::lsm::range::Passed;
use crate::kv::lsm::snapshot::Base;
use crate::kv::lsm::spaces::{self, Bounds, PREFIX_BYTES};
use crate::kv::lsm::sparse::BYTES_MAX;
use crate::kv::page::successor;
use crate::kv::{Key, KeyRange, Page, Result, Scan, Space, WriteSet};
use crate::leisure;

/// Of so many deleted keys one is remembered, …
const EVERY_MIN: usize = 8;
/// … and of more where there would be more than so many of a space.
const SAMPLES_MAX: usize = 1024;

/// Deletes of one commit that are counted on the caller's thread.
const NOW_DELETES_MAX: usize = 8192;

/// Places in a suspect range that are looked at before it is gone through, the keys of each, and the
/// entries that are passed there: among many deleted keys there may be many more that were deleted
/// before.
const LOOKS: usize = 16;
const LOOK_KEYS: usize = 64;
const LOOK_ENTRIES_MAX: usize = 4096;
/// A place is not sparse with a live row for so many keys.
const LOOK_KEYS_PER_ROW: usize = 4;

/// Rows between the stretch before a suspect range and the range, and entries of any kind, with which the
/// gap is gone through as well.
const GAP_ROWS_MAX: usize = 16;
const GAP_ENTRIES_MAX: usize = 1024;

/// Entries that are gone through for one suspicion: about half a second, in turns.
const WALK_MAX: u64 = 4_000_000;

/// Bytes of the stretches of one suspicion: others are kept, too.
const WALK_BYTES_MAX: usize = BYTES_MAX / 4;

/// How many keys of each space are deleted.
pub(in crate::kv::lsm) fn counts_of(deletes: &[(Space, Key)]) -> HashMap<Space, usize> {
    let mut counts = HashMap::new();
    for (space, _) in deletes {
        *counts.entry(*space).or_default() += 1;
    }
    counts
}

/// Keys of a space that were deleted: some of them.
pub(in crate::kv::lsm) struct Deleted {
    count: usize,
    /// Of so many keys one is in `some`.
    every: usize,
    some: Vec<Key>,
    /// The least and the greatest.
    ends: Option<(Key, Key)>,
}

impl Default for Deleted {
    fn default() -> Deleted {
        Deleted::of(0)
    }
}

impl Deleted {
    fn of(expected: usize) -> Deleted {
        Deleted {
            count: 0,
            every: EVERY_MIN.max(expected / SAMPLES_MAX),
            some: Vec::new(),
            ends: None,
        }
    }

    /// Takes note of one.
    pub(in crate::kv::lsm) fn note(&mut self, key: &Key) {
        if self.count.is_multiple_of(self.every) {
            self.some.push(key.clone());
        }
        self.count += 1;
        match &mut self.ends {
            None => self.ends = Some((key.clone(), key.clone())),
            Some((first, _)) if *key < *first => first.clone_from(key),
            Some((_, last)) if *last < *key => last.clone_from(key),
            Some(_) => {}
        }
    }

    /// How many there were.
    pub(in crate::kv::lsm) fn count(&self) -> usize {
        self.count
    }
}

/// A range that may be sparse.
pub(in crate::kv::lsm) struct Suspect {
    /// Some keys that were deleted, as they are stored and in order; none when values have ended instead.
    pub(super) deleted: Vec<Vec<u8>>,
    /// Of so many deleted keys one is among them.
    every: usize,
    pub(super) range: Bounds,
    /// Entries that may still be gone through.
    pub(super) left: u64,
    /// Bytes that may still be kept.
    pub(super) room: usize,
    /// Values that end within so many milliseconds count as past.
    pub(super) ahead_ms: u64,
    /// How often it could not be looked at.
    pub(in crate::kv::lsm) tries: u32,
}

/// How far a look at a suspect has come.
pub(in crate::kv::lsm) enum Looked {
    /// To its end.
    Through,
    /// Not so far: what is left.
    UpTo(Suspect),
    /// Files are being written, and hide what is deleted.
    Never(Suspect),
}

impl Suspect {
    /// What a write set deletes, where it deletes much. With many deletes, on a thread that may be busy.
    pub(in crate::kv::lsm) async fn in_writes(writes: WriteSet) -> (WriteSet, Vec<Suspect>) {
        if writes.deletes.len() < DELETES_MIN {
            return (writes, Vec::new());
        }
        match leisure::pool() {
            Some(pool) if NOW_DELETES_MAX < writes.deletes.len() => {
                let kept = Arc::new(writes);
                let lent = Arc::clone(&kept);
                let work = pool.spawn_blocking(move || Suspect::of_writes(&lent));
                let suspects = work.await.unwrap_or_default();
                // The thread has given it back.
                (Arc::unwrap_or_clone(kept), suspects)
            }
            _ => {
                let suspects = Suspect::of_writes(&writes);
                (writes, suspects)
            }
        }
    }

    fn of_writes(writes: &WriteSet) -> Vec<Suspect> {
        let counts = counts_of(&writes.deletes).into_iter();
        let many = counts.filter(|(_, count)| DELETES_MIN <= *count);
        let mut spaces: HashMap<Space, Deleted> = many
            .map(|(space, count)| (space, Deleted::of(count)))
            .collect();
        for (space, key) in &writes.deletes {
            if let Some(deleted) = spaces.get_mut(space) {
                deleted.note(key);
            }
        }
        let spaces = spaces.into_iter();
        spaces
            .filter_map(|(space, deleted)| Suspect::of_deleted(space, deleted))
            .collect()
    }

    /// Where keys of a space were deleted; `None` when none were.
    pub(in crate::kv::lsm) fn of_deleted(space: Space, deleted: Deleted) -> Option<Suspect> {
        let (first, last) = deleted.ends?;
        let physical = |key: Key| {
            let mut physical = Vec::with_capacity(PREFIX_BYTES + key.len());
            spaces::put_physical(space, &key, &mut physical);
            physical
        };
        let mut some: Vec<Vec<u8>> = deleted.some.into_iter().map(physical).collect();
        some.sort_unstable();
        some.dedup();
        Some(Suspect {
            deleted: some,
            every: deleted.every,
            ..Suspect::of_bounds((physical(first), successor(&physical(last))))
        })
    }

    /// A range in which values have ended.
    pub(in crate::kv::lsm) fn of_range(space: Space, range: &KeyRange) -> Suspect {
        Suspect::of_bounds(spaces::physical_range(space, range))
    }

    fn of_bounds(range: Bounds) -> Suspect {
        Suspect {
            deleted: Vec::new(),
            every: 1,
            range,
            left: WALK_MAX,
            room: WALK_BYTES_MAX,
            ahead_ms: 0,
            tries: 0,
        }
    }

    /// The same for readers of a time to come: what is found serves them when it is there.
    pub(in crate::kv::lsm) fn looking_ahead(self, ahead_ms: u64) -> Suspect {
        Suspect { ahead_ms, ..self }
    }

    /// What a scan still had before it when it met the first value that had ended; from behind, what it
    /// passed since.
    pub(in crate::kv::lsm) fn of_scan((scan, page): (&Scan, &Page), passed: &Passed) -> Suspect {
        let (mut start, mut until) = spaces::physical_range(scan.space, &scan.range);
        if scan.options.reverse {
            if let Some(rest) = page.rest() {
                let rest = spaces::physical_range(scan.space, rest);
                start = start.max(rest.1);
            }
            until = until.min(successor(&passed.first));
        } else {
            start = start.max(passed.first.clone());
        }
        Suspect::of_bounds((start, until))
    }

    /// The same from the end of the stretch before it on, where hardly anything lies between: what is found
    /// goes on there then, and becomes one with it.
    pub(super) fn starting_at_stretch_before(
        self,
        (base, view): (&Base, &View),
    ) -> Result<Suspect> {
        let (start, until) = self.range;
        let end = base.sparse.end_before(&start);
        let is_gap = |end: &&[u8]| !self.deleted.is_empty() && *end < start.as_slice();
        let start = match end.filter(is_gap) {
            Some(end) if is_small_gap((base, view), (end, &start))? => end.to_vec(),
            Some(_) | None => start,
        };
        Ok(Suspect {
            range: (start, until),
            ..self
        })
    }

    /// The same after a try that came to nothing.
    pub(in crate::kv::lsm) fn tried(self) -> Suspect {
        Suspect {
            tries: self.tries + 1,
            ..self
        }
    }

    /// What lies from a key on, with what may still be spent.
    pub(super) fn rest_from(
        mut self,
        start: Vec<u8>,
        (left, room): (u64, usize),
    ) -> Option<Suspect> {
        let passed = self
            .deleted
            .partition_point(|key| key.as_slice() < start.as_slice());
        let is_spent = left == 0 || room == 0;
        let is_done =
            self.range.1 <= start || (!self.deleted.is_empty() && passed == self.deleted.len());
        if is_spent || is_done {
            return None;
        }
        self.deleted.drain(..passed);
        Some(Suspect {
            range: (start, self.range.1),
            left,
            room,
            ..self
        })
    }

    /// Whether the deleted keys lie close together, by looks at some places.
    pub(super) fn is_close(&self, (base, view): (&Base, &View)) -> Result<bool> {
        if self.deleted.is_empty() {
            return Ok(true);
        }
        let samples = (LOOK_KEYS / self.every).max(1);
        let rows_max = samples * self.every / LOOK_KEYS_PER_ROW;
        let step = (self.deleted.len() / LOOKS).max(1);
        let mut close = 0;
        let mut looks = 0;
        for at in (0..self.deleted.len()).step_by(step) {
            let keys = self.deleted.get(at..).unwrap_or_default();
            let last = keys.get(samples).or(keys.last());
            let (Some(first), Some(last)) = (keys.first(), last) else {
                continue;
            };
            let bounds = (first.clone(), successor(last));
            let mut passage = Passage::begin(view, (base.ts, bounds));
            let mut rows = 0;
            for _ in 0..LOOK_ENTRIES_MAX {
                let Some(met) = passage.next()?.filter(|_| rows <= rows_max) else {
                    break;
                };
                rows += usize::from(matches!(met.what, What::Row(_)));
            }
            looks += 1;
            close += usize::from(rows <= rows_max);
        }
        Ok(looks <= 2 * close)
    }
}

/// Whether hardly anything lies between two physical keys, dead or alive.
fn is_small_gap((base, view): (&Base, &View), (start, until): (&[u8], &[u8])) -> Result<bool> {
    let bounds = (start.to_vec(), until.to_vec());
    let mut passage = Passage::begin(view, (base.ts, bounds));
    let mut rows = 0;
    for _ in 0..GAP_ENTRIES_MAX {
        let Some(met) = passage.next()? else {
            return Ok(true);
        };
        rows += usize::from(matches!(met.what, What::Row(_)));
        if GAP_ROWS_MAX < rows {
            break;
        }
    }
    Ok(false)
}
