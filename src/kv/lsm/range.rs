//! The rows of a range in their order, from the tree and from what is kept of sparse stretches. Forwards the
//! tree is read by [`Few`], else, and while a memtable waits to be written, by the storage library.
//!
//! This file is hot: no allocation per row, no log.

use std::ops::{Bound, Range};
use std::sync::Arc;

use fjall::{Guard, Iter, Readable as _};

use super::files::Few;
use super::snapshot::Base;
use super::spaces::{self, Bounds, PREFIX_BYTES};
use super::sparse::{Part, Stretch};
use super::{damage, thin};
use crate::kv::expiry::Expiry;
use crate::kv::{Error, Page, Result, Scan};

/// Values that have ended which one page passes over; then it is given out, however short, so that
/// whoever reads may stop.
const ENDED_PER_PAGE_MAX: u64 = 8192;

/// The rows of a range.
pub(super) struct Rows {
    base: Arc<Base>,
    at: At,
    /// What is read behind it.
    left: Option<Bounds>,
    way: Way,
    ended: Ended,
}

/// How rows are read.
#[derive(Debug, Clone, Copy)]
struct Way {
    reverse: bool,
    /// No value is looked at.
    keys_only: bool,
}

/// What has ended is left out.
struct Ended {
    /// Which values had, and by when.
    past: Option<(Arc<Expiry>, u64)>,
    /// Those that were left out.
    passed: Passed,
}

/// Values that were passed over because they had ended.
#[derive(Debug, Default)]
pub(super) struct Passed {
    count: u64,
    /// The first of their keys, as it is stored.
    pub(super) first: Vec<u8>,
    /// The last one that the page may pass, if it did.
    last: Vec<u8>,
}

/// Where rows are read.
enum At {
    Files(Box<Few>),
    Tree(Iter),
    Kept(Arc<Stretch>, Range<usize>),
}

/// One row.
enum Row {
    /// It is the one of [`At::Files`].
    Here,
    Tree(Guard),
    Kept(Arc<Stretch>, usize),
}

impl Rows {
    /// The rows of a scan; what has ended is left out where the scan says by when.
    pub(super) fn new(base: &Arc<Base>, scan: &Scan, expiry: Option<&Arc<Expiry>>) -> Rows {
        let range = spaces::physical_range(scan.space, &scan.range);
        let past_ms = scan.options.past_ms;
        let past = expiry.zip(past_ms).map(|(one, ms)| (Arc::clone(one), ms));
        let way = Way {
            reverse: scan.options.reverse,
            keys_only: scan.options.keys_only && past.is_none(),
        };
        let (first, left) = base.sparse.part(range, way.reverse, past_ms.unwrap_or(0));
        Rows {
            at: At::of(base, first, way),
            base: Arc::clone(base),
            left,
            way,
            ended: Ended {
                past,
                passed: Passed::default(),
            },
        }
    }

    /// The values that were passed, if nearly all that was read had ended.
    pub(super) fn sparse(&self, page: &Page) -> Option<&Passed> {
        let passed = &self.ended.passed;
        thin::is_sparse(passed.count, page.len()).then_some(passed)
    }

    fn next(&mut self) -> fjall::Result<Option<Row>> {
        loop {
            let row = match &mut self.at {
                At::Files(few) => few.next()?.then_some(Row::Here),
                At::Tree(iter) if self.way.reverse => iter.next_back().map(Row::Tree),
                At::Tree(iter) => iter.next().map(Row::Tree),
                At::Kept(stretch, rows) => {
                    let idx = if self.way.reverse {
                        rows.next_back()
                    } else {
                        rows.next()
                    };
                    idx.map(|idx| Row::Kept(Arc::clone(stretch), idx))
                }
            };
            if row.is_some() {
                return Ok(row);
            }
            let Some(left) = self.left.take() else {
                return Ok(None);
            };
            let past_ms = self.ended.past.as_ref().map_or(0, |(_, ms)| *ms);
            let (part, left) = self.base.sparse.part(left, self.way.reverse, past_ms);
            self.at = At::of(&self.base, part, self.way);
            self.left = left;
        }
    }

    /// Adds rows to the page until it holds `rows_max`, or is full, or the range ends. True when
    /// there is nothing more to do.
    pub(super) fn fill(&mut self, scan: &Scan, page: &mut Page, rows_max: usize) -> Result<bool> {
        let options = scan.options;
        while page.len() < rows_max {
            let passed = &self.ended.passed;
            if ENDED_PER_PAGE_MAX <= passed.count {
                page.set_rest_behind(scan, without_prefix(&passed.last));
                return Ok(true);
            }
            let next = self.next().map_err(|cause| self.failed(scan, &cause));
            let Some(row) = next? else {
                return Ok(true);
            };
            if !page.has_room(options) {
                page.set_rest(scan);
                return Ok(true);
            }
            let was_added = if self.way.keys_only {
                self.add_key(row, (scan, page))?
            } else {
                self.add(row, (scan, page))?
            };
            if !was_added {
                page.set_rest(scan);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds the key of a row; false when the page cannot take it.
    fn add_key(&self, row: Row, (scan, page): (&Scan, &mut Page)) -> Result<bool> {
        let mut push = |key: &[u8]| page.push(without_prefix(key), &[]);
        Ok(match row {
            Row::Here => self.at.row().is_none_or(|(key, _)| push(key)),
            Row::Tree(row) => push(&row.key().map_err(|cause| self.failed(scan, &cause))?),
            Row::Kept(stretch, idx) => stretch.rows.get(idx).is_none_or(|(key, _)| push(key)),
        })
    }

    /// Adds a row that has not ended; false when the page cannot take it.
    fn add(&mut self, row: Row, (scan, page): (&Scan, &mut Page)) -> Result<bool> {
        match row {
            Row::Here => {
                let row = self.at.row();
                Ok(row.is_none_or(|row| self.ended.add(row, page)))
            }
            Row::Tree(row) => {
                let pair = row.into_inner();
                let (key, stored) = pair.map_err(|cause| self.failed(scan, &cause))?;
                let value = self.base.compression().plain_slice(scan.space, stored)?;
                Ok(self.ended.add((&key, &value), page))
            }
            Row::Kept(stretch, idx) => {
                let row = stretch.rows.get(idx);
                Ok(row.is_none_or(|(key, value)| self.ended.add((key, value), page)))
            }
        }
    }

    fn failed(&self, scan: &Scan, cause: &fjall::Error) -> Error {
        damage::of_scan(self.base.tree(), scan, cause)
    }
}

impl Ended {
    /// Adds a row that has not ended; false when the page cannot take it.
    fn add(&mut self, (key, value): (&[u8], &[u8]), page: &mut Page) -> bool {
        if let Some((expiry, past_ms)) = &self.past
            && expiry.is_past(value, *past_ms)
        {
            self.passed.note(key);
            return true;
        }
        page.push(without_prefix(key), value)
    }
}

impl Passed {
    fn note(&mut self, key: &[u8]) {
        self.count += 1;
        if self.count == 1 {
            self.first = key.to_vec();
        }
        if self.count == ENDED_PER_PAGE_MAX {
            self.last = key.to_vec();
        }
    }
}

impl At {
    fn of(base: &Base, part: Part, way: Way) -> At {
        match (part, &base.view) {
            (Part::Tree(start, until), Some(view)) if !way.reverse => {
                let few = Few::begin(view, (base.ts, (start, until)), way.keys_only);
                At::Files(Box::new(few))
            }
            (Part::Tree(start, until), _) => At::Tree(base.between(start, until)),
            (Part::Kept(stretch, rows), _) => At::Kept(stretch, rows),
        }
    }

    /// The row that is [`Row::Here`].
    fn row(&self) -> Option<(&[u8], &[u8])> {
        match self {
            At::Files(few) => Some(few.row()),
            At::Tree(_) | At::Kept(..) => None,
        }
    }
}

impl Base {
    /// The library's own iterator between two physical keys: from (in), until (out).
    pub(super) fn between(&self, start: Vec<u8>, until: Vec<u8>) -> Iter {
        let bounds = (Bound::Included(start), Bound::Excluded(until));
        self.snapshot.range::<Vec<u8>, _>(&self.data, bounds)
    }
}

fn without_prefix(physical: &[u8]) -> &[u8] {
    physical.get(PREFIX_BYTES..).unwrap_or_default()
}
