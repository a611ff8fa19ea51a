//! Stretches of keys of which nearly all are dead, with the few rows that are alive in them.
//!
//! A deleted key stays in the files until compaction has passed, and stepping over one costs as much
//! as two rows: the hundred rows behind a million deleted ones would take half a second. So once a
//! range is known to be nearly empty, its rows are kept in memory, and a scan takes them from here
//! instead of looking for them among the dead. A stretch is exact: it belongs to a state
//! ([`super::snapshot::Base`]), and the committer changes it with the batch that changes its keys. It
//! is no source of truth: it is made by reading (`thin`), may be given up at any time, and is gone when
//! the engine is closed.
//!
//! What had ended when a stretch was made is left out of it, so it serves those alone who see all of
//! that as past.
//!
//! Each stretch that a scan passes is a part of its way. Of a queue, whose first rows are deleted again and
//! again, they would be thousands; so one that begins where another ends becomes one with it.

use std::ops::Range;
use std::sync::Arc;

use fjall::Slice;

use super::spaces::{self, Bounds, PREFIX_BYTES};
use crate::kv::page::successor;
use crate::kv::{KeyRange, Space};

/// Bytes of the rows of one stretch; a write into it copies them.
pub(super) const STRETCH_BYTES: usize = 32 << 10;

/// Rows of one stretch.
pub(super) const STRETCH_ROWS: usize = 128;

/// Bytes of all stretches.
pub(super) const BYTES_MAX: usize = 16 << 20;

/// Stretches; a commit that changes one copies the list.
const STRETCHES_MAX: usize = 4096;

/// Changes of one stretch in one batch; with more of them it is given up from the first to the last.
const CHANGES_MAX: usize = 16;

/// Memory that a stretch or a row takes beside its keys and values.
const OVERHEAD_BYTES: usize = 64;

/// All live rows between two physical keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The first key of it.
    pub(super) from: Vec<u8>,
    /// The first key behind it.
    pub(super) until: Vec<u8>,
    /// In order; keys with their space.
    pub(super) rows: Vec<(Slice, Slice)>,
    /// Values that are left out had ended by then; 0 when none is.
    pub(super) ended_ms: u64,
}

impl Stretch {
    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.rows.iter();
        let rows = rows.map(|(key, value)| key.len() + value.len() + OVERHEAD_BYTES);
        rows.sum::<usize>() + self.from.len() + self.until.len() + OVERHEAD_BYTES
    }

    /// Which of its rows lie in a range.
    fn rows_in(&self, (start, until): (&[u8], &[u8])) -> Range<usize> {
        let before = |bound: &[u8]| self.rows.partition_point(|(key, _)| key.as_ref() < bound);
        before(start)..before(until)
    }

    /// What is left of the stretch after some changes of its rows, in order.
    fn after(&self, changes: &[(Slice, Option<Slice>)]) -> Vec<Stretch> {
        let is_little = changes.len() <= CHANGES_MAX;
        if let Some(one) = is_little.then(|| self.changed(changes)).flatten() {
            return vec![one];
        }
        match (changes.first(), changes.last()) {
            (Some((first, _)), Some((last, _))) => self.around((first, &successor(last))),
            _ => Vec::new(),
        }
    }

    /// What of it lies before a range, and what behind.
    fn around(&self, (start, until): (&[u8], &[u8])) -> Vec<Stretch> {
        let before = (self.from.as_slice(), start.min(&self.until));
        let behind = (until.max(&self.from), self.until.as_slice());
        let ends = [before, behind].into_iter();
        let cut = |(from, until): (&[u8], &[u8])| Stretch {
            from: from.to_vec(),
            until: until.to_vec(),
            rows: self
                .rows
                .get(self.rows_in((from, until)))
                .map_or_else(Vec::new, <[_]>::to_vec),
            ended_ms: self.ended_ms,
        };
        ends.filter(|(from, until)| from < until).map(cut).collect()
    }

    /// Both as one, if the other begins where this one ends and whoever reads now, by `past_ms`, is served by
    /// both or by neither; `None` also when they are too large.
    fn joined(&self, next: &Stretch, past_ms: u64) -> Option<Stretch> {
        let is_of_space = self.from.get(..PREFIX_BYTES) == next.from.get(..PREFIX_BYTES);
        let ended_ms = self.ended_ms.max(next.ended_ms);
        let serves_alike = self.ended_ms == next.ended_ms || ended_ms <= past_ms;
        if !is_of_space || self.until != next.from || !serves_alike {
            return None;
        }
        let rows = self.rows.len() + next.rows.len();
        let fits = rows <= STRETCH_ROWS && self.bytes() + next.bytes() <= STRETCH_BYTES;
        fits.then(|| Stretch {
            from: self.from.clone(),
            until: next.until.clone(),
            rows: [self.rows.as_slice(), &next.rows].concat(),
            ended_ms,
        })
    }

    /// The stretch after some changes of its rows, in order; `None` when they are too many.
    fn changed(&self, changes: &[(Slice, Option<Slice>)]) -> Option<Stretch> {
        let mut rows = self.rows.clone();
        for (key, value) in changes {
            let at = rows.binary_search_by(|(row, _)| row.as_ref().cmp(key.as_ref()));
            match (at, value) {
                (Ok(at), Some(value)) => {
                    if let Some(row) = rows.get_mut(at) {
                        row.1 = value.clone();
                    }
                }
                (Ok(at), None) => drop(rows.remove(at)),
                (Err(at), Some(value)) => rows.insert(at, (key.clone(), value.clone())),
                (Err(_), None) => {}
            }
        }
        let after = Stretch {
            from: self.from.clone(),
            until: self.until.clone(),
            rows,
            ended_ms: self.ended_ms,
        };
        let fits = after.rows.len() <= 2 * STRETCH_ROWS && after.bytes() <= 2 * STRETCH_BYTES;
        fits.then_some(after)
    }
}

/// What a part of a range is read from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The tree, between two keys.
    Tree(Vec<u8>, Vec<u8>),
    /// Some rows of a stretch.
    Kept(Arc<Stretch>, Range<usize>),
}

/// The stretches of one state: in order, none overlaps another.
#[derive(Debug, Default, Clone)]
pub(super) struct Sparse(Vec<Arc<Stretch>>);

impl Sparse {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there are some of a space.
    pub(super) fn has(&self, space: Space) -> bool {
        let (start, until) = spaces::physical_range(space, &KeyRange::all());
        !self.overlapping((&start, &until)).is_empty()
    }

    /// Where the last stretch ends that lies before a physical key, in the same space.
    pub(super) fn end_before(&self, key: &[u8]) -> Option<&[u8]> {
        let behind = self.0.partition_point(|one| one.until.as_slice() <= key);
        let last = self.0.get(behind.checked_sub(1)?)?;
        let is_of_space = last.from.get(..PREFIX_BYTES) == key.get(..PREFIX_BYTES);
        is_of_space.then_some(&last.until)
    }

    /// What the first part of a range, in the direction of the scan, is read from, and what is left
    /// of the range; `past_ms` is by when values count as past for the reader.
    pub(super) fn part(
        &self,
        (start, until): Bounds,
        reverse: bool,
        past_ms: u64,
    ) -> (Part, Option<Bounds>) {
        let serves = |stretch: &&Arc<Stretch>| stretch.ended_ms <= past_ms;
        let left = |start: Vec<u8>, until: Vec<u8>| (start < until).then_some((start, until));
        let stretches = self.overlapping((&start, &until));
        if reverse {
            let Some(last) = stretches.iter().rev().find(serves) else {
                return (Part::Tree(start, until), None);
            };
            if last.until < until {
                let tree = Part::Tree(last.until.clone(), until);
                return (tree, left(start, last.until.clone()));
            }
            let rows = last.rows_in((&start, &until));
            return (
                Part::Kept(Arc::clone(last), rows),
                left(start, last.from.clone()),
            );
        }
        let Some(first) = stretches.iter().find(serves) else {
            return (Part::Tree(start, until), None);
        };
        if start < first.from {
            let tree = Part::Tree(start, first.from.clone());
            return (tree, left(first.from.clone(), until));
        }
        let rows = first.rows_in((&start, &until));
        (
            Part::Kept(Arc::clone(first), rows),
            left(first.until.clone(), until),
        )
    }

    /// The stretches that a range meets.
    fn overlapping(&self, (start, until): (&[u8], &[u8])) -> &[Arc<Stretch>] {
        let from = self.0.partition_point(|one| one.until.as_slice() <= start);
        let to = self.0.partition_point(|one| one.from.as_slice() < until);
        self.0.get(from..to).unwrap_or_default()
    }

    /// The stretches after a batch of changes, in order of their keys; `None` when none is changed.
    pub(super) fn written(&self, changes: &[(Slice, Option<Slice>)]) -> Option<Sparse> {
        let (first, last) = (changes.first()?, changes.last()?);
        let from = self
            .0
            .partition_point(|one| one.until.as_slice() <= first.0.as_ref());
        let to = self
            .0
            .partition_point(|one| one.from.as_slice() <= last.0.as_ref());
        let mut after: Option<Vec<Arc<Stretch>>> = None;
        for (at, stretch) in self.0.iter().enumerate().take(to).skip(from) {
            let before = |bound: &[u8]| changes.partition_point(|(key, _)| key.as_ref() < bound);
            let range = before(&stretch.from)..before(&stretch.until);
            let own = changes.get(range).unwrap_or_default();
            if !own.is_empty() {
                let all = after.get_or_insert_with(|| self.0.iter().take(at).cloned().collect());
                all.extend(stretch.after(own).into_iter().map(Arc::new));
            } else if let Some(all) = &mut after {
                all.push(Arc::clone(stretch));
            }
        }
        let mut all = after?;
        all.extend(self.0.iter().skip(to).cloned());
        all.truncate(STRETCHES_MAX);
        Some(Sparse(all))
    }

    /// The stretches with some more, which are newer where they overlap; `past_ms` is by when values count as
    /// past now.
    pub(super) fn with(&self, new: Vec<Stretch>, past_ms: u64) -> Sparse {
        let new = Sparse(new.into_iter().map(Arc::new).collect()).sorted();
        let old = self.0.iter().flat_map(|one| new.uncovered(one)).collect();
        let mut all = new.0;
        let mut room = BYTES_MAX;
        let mut fits = |stretch: &Arc<Stretch>| {
            let bytes = stretch.bytes();
            let fits = bytes <= room;
            room = room.saturating_sub(bytes);
            fits
        };
        all.retain(&mut fits);
        let mut old: Vec<Arc<Stretch>> = old;
        old.retain(&mut fits);
        all.append(&mut old);
        all.truncate(STRETCHES_MAX);
        Sparse(all).sorted().joined(past_ms)
    }

    /// The stretches that are not of a space.
    pub(super) fn without(&self, space: Space) -> Sparse {
        let (start, until) = spaces::physical_range(space, &KeyRange::all());
        let is_of_it = |one: &Arc<Stretch>| start <= one.from && one.from < until;
        let others = self.0.iter().filter(|one| !is_of_it(one));
        Sparse(others.map(Arc::clone).collect())
    }

    /// What of a stretch of another time these do not cover.
    fn uncovered(&self, old: &Arc<Stretch>) -> Vec<Arc<Stretch>> {
        let mut left = vec![Arc::clone(old)];
        for new in self.overlapping((&old.from, &old.until)) {
            let last = left.pop();
            let around = last.map_or_else(Vec::new, |last| last.around((&new.from, &new.until)));
            left.extend(around.into_iter().map(Arc::new));
        }
        left
    }

    fn sorted(mut self) -> Sparse {
        self.0.sort_by(|a, b| a.from.cmp(&b.from));
        self
    }

    /// The same with as few stretches as can be made of them.
    fn joined(self, past_ms: u64) -> Sparse {
        let mut all: Vec<Arc<Stretch>> = Vec::with_capacity(self.0.len());
        for next in self.0 {
            let one = all.last().and_then(|last| last.joined(&next, past_ms));
            if one.is_some() {
                all.pop();
            }
            all.push(one.map_or(next, Arc::new));
        }
        Sparse(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(from: &str, until: &str, rows: &[&str]) -> Stretch {
        let row = |key: &&str| (Slice::from(key.as_bytes()), Slice::from("v".as_bytes()));
        Stretch {
            from: from.into(),
            until: until.into(),
            rows: rows.iter().map(row).collect(),
            ended_ms: 0,
        }
    }

    fn parts(sparse: &Sparse, (start, until): (&str, &str), reverse: bool) -> Vec<String> {
        let mut left = Some((start.as_bytes().to_vec(), until.as_bytes().to_vec()));
        let mut told = Vec::new();
        while let Some(range) = left {
            let (part, rest) = sparse.part(range, reverse, 0);
            told.push(match part {
                Part::Tree(from, until) => {
                    format!("{}..{}", from.escape_ascii(), until.escape_ascii())
                }
                Part::Kept(stretch, rows) => {
                    let rows = stretch.rows[rows].iter();
                    rows.map(|(key, _)| key.escape_ascii().to_string())
                        .collect()
                }
            });
            left = rest;
        }
        told
    }

    #[test]
    fn a_range_is_read_in_parts_in_either_direction() {
        let new = vec![stretch("g", "i", &["h"]), stretch("c", "e", &["c", "d"])];
        let sparse = Sparse::default().with(new, 0);
        assert_eq!(
            parts(&sparse, ("a", "z"), false),
            ["a..c", "cd", "e..g", "h", "i..z"]
        );
        assert_eq!(
            parts(&sparse, ("a", "z"), true),
            ["i..z", "h", "e..g", "cd", "a..c"]
        );
        assert_eq!(parts(&sparse, ("d", "h"), false), ["d", "e..g", ""]);
        assert_eq!(parts(&sparse, ("d", "h"), true), ["", "e..g", "d"]);
        assert_eq!(parts(&sparse, ("e", "g"), false), ["e..g"]);
        assert_eq!(parts(&sparse, ("cc", "dd"), true), ["d"]);
        assert_eq!(
            parts(&sparse.without(Space(0)), ("a", "b"), false),
            ["a..b"]
        );
    }

    #[test]
    fn what_ended_later_is_not_left_out_for_an_earlier_reader() {
        let mut ended = stretch("c", "e", &[]);
        ended.ended_ms = 100;
        let sparse = Sparse::default().with(vec![ended], 0);
        let range = || (b"a".to_vec(), b"z".to_vec());
        let whole = Part::Tree(range().0, range().1);
        assert_eq!(sparse.part(range(), false, 99), (whole, None));
        let first = Part::Tree(b"a".to_vec(), b"c".to_vec());
        assert_eq!(sparse.part(range(), false, 100).0, first);
    }

    #[test]
    fn a_batch_changes_the_stretches_that_it_meets() {
        let new = vec![stretch("c", "e", &["c", "d"]), stretch("g", "i", &["h"])];
        let sparse = Sparse::default().with(new, 0);
        let change = |key: &str, value: Option<&str>| {
            (
                Slice::from(key.as_bytes()),
                value.map(|value| Slice::from(value.as_bytes())),
            )
        };
        assert!(
            sparse
                .written(&[change("b", Some("x")), change("z", None)])
                .is_none()
        );
        let written = [
            change("c", None),
            change("ce", Some("x")),
            change("f", None),
        ];
        let after = sparse.written(&written).unwrap();
        assert_eq!(
            parts(&after, ("a", "z"), false),
            ["a..c", "ced", "e..g", "h", "i..z"]
        );
        let many: Vec<_> = (0..20)
            .map(|at| change(&format!("h{at:02}"), Some("x")))
            .collect();
        let after = sparse.written(&many).unwrap();
        assert_eq!(
            parts(&after, ("a", "z"), false),
            ["a..c", "cd", "e..g", "h", "h00..h19\\x00", "", "i..z"]
        );
    }

    #[test]
    fn stretches_that_meet_become_one() {
        let sparse = Sparse::default().with(vec![stretch("c", "e", &["c"])], 0);
        let mut later = stretch("i", "k", &["j"]);
        later.ended_ms = 100;
        let sparse = sparse.with(
            vec![later, stretch("e", "g", &[]), stretch("g", "i", &["h"])],
            99,
        );
        assert_eq!(sparse.0.len(), 2, "{sparse:?}");
        let kept = Part::Kept(Arc::new(stretch("c", "i", &["c", "h"])), 0..2);
        let range = || (b"c".to_vec(), b"i".to_vec());
        assert_eq!(sparse.part(range(), false, 0), (kept, None));
        let many: Vec<String> = (0..STRETCH_ROWS).map(|at| format!("b{at:03}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let sparse = sparse.with(vec![stretch("b", "c", &many)], 0);
        assert_eq!(sparse.0.len(), 3, "too many rows for one");
        assert_eq!(sparse.end_before(b"h"), Some(b"c".as_slice()));
        assert_eq!(sparse.end_before(b"a"), None);
        // By then both serve whoever reads.
        assert_eq!(sparse.with(Vec::new(), 100).0.len(), 2);
    }

    #[test]
    fn newer_stretches_take_the_place_of_older_ones() {
        let sparse =
            Sparse::default().with(vec![stretch("c", "e", &["c"]), stretch("g", "i", &[])], 0);
        let sparse = sparse.with(vec![stretch("d", "f", &["d"])], 0);
        assert_eq!(
            parts(&sparse, ("a", "z"), false),
            ["a..c", "cd", "f..g", "", "i..z"]
        );
        let sparse = sparse.with(
            vec![stretch("cc", "ce", &[]), stretch("dd", "de", &["dd"])],
            0,
        );
        assert_eq!(
            parts(&sparse, ("a", "z"), false),
            ["a..c", "cddd", "f..g", "", "i..z"]
        );
    }

    #[test]
    fn there_are_so_many_at_most_whatever_is_written() {
        let name = |at: usize| format!("{at:08}");
        let mut sparse = Sparse::default().with(vec![stretch("0", "9", &[])], 0);
        for at in 1..=STRETCHES_MAX + 10 {
            let change = |n: usize| (Slice::from(name(100 * at + n).as_bytes()), None);
            let many: Vec<_> = (0..=CHANGES_MAX).map(change).collect();
            sparse = sparse.written(&many).unwrap_or(sparse);
        }
        assert_eq!(sparse.0.len(), STRETCHES_MAX);
    }
}
