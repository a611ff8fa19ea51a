//! The rows of a range in their order, from the tree and from what is kept of sparse stretches.
//!
//! This file is hot: no allocation per row, no log.

use std::ops::{Bound, Range};
use std::sync::Arc;

use fjall::{Guard, Iter, Readable as _};

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
    reverse: bool,
    /// What has ended is left out.
    past: Option<(Arc<Expiry>, u64)>,
    /// Values that were left out because they had ended.
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
    Tree(Iter),
    Kept(Arc<Stretch>, Range<usize>),
}

/// One row.
enum Row {
    Tree(Guard),
    Kept(Arc<Stretch>, usize),
}

impl Rows {
    /// The rows of a scan; what has ended is left out where the scan says by when.
    pub(super) fn new(base: &Arc<Base>, scan: &Scan, expiry: Option<&Arc<Expiry>>) -> Rows {
        let range = spaces::physical_range(scan.space, &scan.range);
        let past_ms = scan.options.past_ms;
        let reverse = scan.options.reverse;
        let (first, left) = base.sparse.part(range, reverse, past_ms.unwrap_or(0));
        Rows {
            at: At::of(base, first),
            base: Arc::clone(base),
            left,
            reverse,
            past: expiry.zip(past_ms).map(|(one, ms)| (Arc::clone(one), ms)),
            passed: Passed::default(),
        }
    }

    /// The values that were passed, if nearly all that was read had ended.
    pub(super) fn sparse(&self, page: &Page) -> Option<&Passed> {
        thin::is_sparse(self.passed.count, page.len()).then_some(&self.passed)
    }

    fn next(&mut self) -> Option<Row> {
        loop {
            let row = match &mut self.at {
                At::Tree(iter) if self.reverse => iter.next_back().map(Row::Tree),
                At::Tree(iter) => iter.next().map(Row::Tree),
                At::Kept(stretch, rows) => {
                    let idx = if self.reverse {
                        rows.next_back()
                    } else {
                        rows.next()
                    };
                    idx.map(|idx| Row::Kept(Arc::clone(stretch), idx))
                }
            };
            if row.is_some() {
                return row;
            }
            let past_ms = self.past.as_ref().map_or(0, |(_, ms)| *ms);
            let (part, left) = self
                .base
                .sparse
                .part(self.left.take()?, self.reverse, past_ms);
            self.at = At::of(&self.base, part);
            self.left = left;
        }
    }

    /// Adds rows to the page until it holds `rows_max`, or is full, or the range ends. True when
    /// there is nothing more to do.
    pub(super) fn fill(&mut self, scan: &Scan, page: &mut Page, rows_max: usize) -> Result<bool> {
        let options = scan.options;
        while page.len() < rows_max {
            if ENDED_PER_PAGE_MAX <= self.passed.count {
                page.set_rest_behind(scan, without_prefix(&self.passed.last));
                return Ok(true);
            }
            let Some(row) = self.next() else {
                return Ok(true);
            };
            if !page.has_room(options) {
                page.set_rest(scan);
                return Ok(true);
            }
            let keys_only = options.keys_only && self.past.is_none();
            let was_added = match row {
                Row::Tree(row) if keys_only => {
                    row.key().map(|key| page.push(without_prefix(&key), &[]))
                }
                Row::Tree(row) => {
                    let pair = row.into_inner();
                    let pair = pair.map_err(|cause| self.failed(scan, &cause))?;
                    let value = self.base.compression().plain_slice(scan.space, pair.1)?;
                    Ok(self.add((&pair.0, &value), page))
                }
                Row::Kept(stretch, idx) => {
                    let row = stretch.rows.get(idx);
                    Ok(row.is_none_or(|(key, value)| {
                        if keys_only {
                            page.push(without_prefix(key), &[])
                        } else {
                            self.add((key, value), page)
                        }
                    }))
                }
            };
            if !was_added.map_err(|cause| self.failed(scan, &cause))? {
                page.set_rest(scan);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn failed(&self, scan: &Scan, cause: &fjall::Error) -> Error {
        damage::of_scan(self.base.tree(), scan, cause)
    }

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
    fn of(base: &Base, part: Part) -> At {
        match part {
            Part::Tree(start, until) => At::Tree(base.between(start, until)),
            Part::Kept(stretch, rows) => At::Kept(stretch, rows),
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
