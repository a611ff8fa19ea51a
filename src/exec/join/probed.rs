//! What a batch of rows has led to, and joining the rows with it in their order.
//!
//! Entries of an index that does not cover the statement lead to rows by one multi-get for some hundreds
//! of them. Held are the entries of the batch, and the rows of one such multi-get, or of one page of a
//! range that was too long to be gathered.

use super::lookup::Found;
use super::probes::{Path, Probe};
use super::rows::{Frame, is_match};
use super::shape::{Piece, Row};
use super::unit::{add_pieces, table_of};
use crate::error::Result;
use crate::exec::gather::Part;
use crate::exec::lookup::Lookup;
use crate::exec::pace::Pace;
use crate::exec::row::Layout;
use crate::exec::sample::space_of;
use crate::exec::view::Batch;
use crate::kv::page::PAGE_ROWS;
use crate::kv::{Page, Scan, ScanOptions, Space};
use crate::plan::join::Step;
use crate::sql::bound::KeyRef;
use crate::sql::expr::Expr;

/// Entries that are joined together, or looked up by one multi-get: those of several rows.
const TOGETHER_ENTRIES: usize = 512;

/// Rows of a page of a long range, where they need not be looked up.
const LONG_PAGE_ROWS: usize = 4 * PAGE_ROWS;

/// Rows, and what they have led to.
pub(super) struct Probed {
    source_idx: usize,
    space: Space,
    probes: std::vec::IntoIter<Probe>,
    found: Batch,
    parts: Vec<Part>,
    /// Of the entries of an index that covers the statement.
    layout: Option<Layout>,
    /// For those of one that does not.
    lookup: Option<Lookup>,
    long: Option<Long>,
}

/// A row whose matches are read page by page.
struct Long {
    row: Row,
    residual: Option<Expr>,
    scan: Scan,
    /// Whether a page was read: not every rest is long.
    is_begun: bool,
    is_matched: bool,
}

impl Probed {
    /// Rows of the join, what was found of a source for them, and where in it.
    pub(super) fn new(
        (source_idx, path): (usize, Path),
        (probes, found, parts): (Vec<Probe>, Batch, Vec<Part>),
        frame: &Frame<'_>,
    ) -> Result<Probed> {
        let (table, _) = table_of(frame.shape, source_idx)?;
        let (layout, lookup) = match path.key {
            KeyRef::Primary => (None, None),
            KeyRef::Index(position) if path.is_covering => {
                let index = table.indexes.get(position);
                (index.map(|index| Layout::of_entry(table, index)), None)
            }
            KeyRef::Index(position) => (None, Some(Lookup::new(table, position))),
        };
        Ok(Probed {
            source_idx,
            space: space_of(table, path.key),
            probes: probes.into_iter(),
            found,
            parts,
            layout,
            lookup,
            long: None,
        })
    }

    /// Joins some of the rows; `false` when none is left.
    pub(super) async fn advance(
        &mut self,
        step: &Step,
        frame: &Frame<'_>,
        to: &mut Found,
    ) -> Result<bool> {
        frame.nest.cancel.check()?;
        if let Some(long) = self.long.take() {
            self.long = self.next_page(long, step, (frame, to)).await?;
            return Ok(true);
        }
        let probes = self.next_probes();
        if probes.is_empty() {
            return Ok(false);
        }
        self.join(probes, step, (frame, to)).await?;
        Ok(true)
    }

    fn part_of(&self, probe: &Probe) -> Option<&Part> {
        self.parts.get(probe.place.as_ref()?.0)
    }

    /// The next rows that are joined together, and what is there of the matches of each. Only the last
    /// may have more.
    fn next_probes(&mut self) -> Vec<(Probe, Part)> {
        let mut taken: Vec<(Probe, Part)> = Vec::new();
        let mut entries = 0;
        while let Some(next) = self.probes.as_slice().first() {
            let part = self.part_of(next).cloned().unwrap_or_default();
            entries += part.entries.len();
            if !taken.is_empty() && TOGETHER_ENTRIES < entries {
                break;
            }
            let is_long = part.rest.is_some();
            taken.extend(self.probes.next().map(|probe| (probe, part)));
            if is_long {
                break;
            }
        }
        taken
    }

    async fn join(
        &mut self,
        mut probes: Vec<(Probe, Part)>,
        step: &Step,
        (frame, to): (&Frame<'_>, &mut Found),
    ) -> Result<()> {
        let looked_up = match &self.lookup {
            Some(lookup) => {
                let entries = self.taken_out(&mut probes);
                Some(lookup.rows(&frame.nest.view, &entries).await?)
            }
            None => None,
        };
        let found = looked_up.as_ref().unwrap_or(&self.found);
        let layout = self.layout.as_ref();
        let mut pace = Pace::default();
        let mut pieces = Vec::new();
        for (Probe { row, place }, Part { entries, rest }) in probes {
            pace.keep().await;
            count(entries.len(), (frame, to));
            let residual = place.and_then(|(_, residual)| residual);
            let reading = (self.source_idx, layout, residual.as_ref());
            add_pieces((found, entries), reading, (frame, &mut pieces))?;
            let is_last = rest.is_none();
            let joining = Joining {
                step,
                source_idx: self.source_idx,
                row,
                is_matched: false,
            };
            let left = joining.with(&mut pieces, is_last, (frame, to))?;
            self.long = left.zip(rest).map(|(joining, rest)| Long {
                scan: Scan::new(self.space, rest),
                row: joining.row,
                residual,
                is_begun: false,
                is_matched: joining.is_matched,
            });
        }
        Ok(())
    }

    /// The entries of some rows, one after the other; the rows' parts are then of these.
    fn taken_out(&self, probes: &mut [(Probe, Part)]) -> Batch {
        let mut entries = Page::default();
        for (_, part) in probes {
            let first = entries.len();
            for entry_idx in part.entries.clone() {
                if let Some((key, value)) = self.found.get(entry_idx) {
                    // What was in a page or two fits into one.
                    let _ = entries.push(key, value);
                }
            }
            part.entries = first..entries.len();
        }
        Batch::Page(entries)
    }

    /// Joins a row with the next page of its matches; gives it back unless that was the last.
    async fn next_page(
        &self,
        mut long: Long,
        step: &Step,
        (frame, to): (&Frame<'_>, &mut Found),
    ) -> Result<Option<Long>> {
        long.scan.options = self.page_options(long.is_begun);
        long.is_begun = true;
        let view = &frame.nest.view;
        let (mut page, more) = view.scan(&mut long.scan, Batch::Rows(Vec::new())).await?;
        if let Some(lookup) = &self.lookup {
            page = lookup.rows(view, &page).await?;
        }
        count(page.len(), (frame, to));
        let all = 0..page.len();
        let reading = (
            self.source_idx,
            self.layout.as_ref(),
            long.residual.as_ref(),
        );
        let mut pieces = Vec::new();
        add_pieces((&page, all), reading, (frame, &mut pieces))?;
        let joining = Joining {
            step,
            source_idx: self.source_idx,
            row: long.row,
            is_matched: long.is_matched,
        };
        let left = joining.with(&mut pieces, !more, (frame, to))?;
        Ok(left.map(|joining| Long {
            row: joining.row,
            is_matched: joining.is_matched,
            ..long
        }))
    }

    fn page_options(&self, is_long: bool) -> ScanOptions {
        let max_rows = if is_long && self.lookup.is_none() {
            LONG_PAGE_ROWS
        } else {
            TOGETHER_ENTRIES
        };
        ScanOptions {
            max_rows,
            is_long,
            ..ScanOptions::default()
        }
    }
}

/// A row that is joined with what it leads to.
struct Joining<'s> {
    step: &'s Step,
    source_idx: usize,
    row: Row,
    is_matched: bool,
}

impl<'s> Joining<'s> {
    /// Joins it with candidates, which it takes out; gives it back unless they were the last. Hot: runs
    /// once per row that is looked up, most of which lead to one row.
    fn with(
        mut self,
        pieces: &mut Vec<Piece>,
        is_last: bool,
        (frame, to): (&Frame<'_>, &mut Found),
    ) -> Result<Option<Joining<'s>>> {
        let last = if is_last { pieces.pop() } else { None };
        for (idx, piece) in pieces.drain(..).enumerate() {
            frame.nest.cancel.check_row(idx)?;
            let mut joined = self.row.clone();
            self.put(&mut joined, Some(piece));
            if is_match(self.step, &joined, frame)? {
                self.is_matched = true;
                to.batch.push(joined);
            }
        }
        if !is_last {
            return Ok(Some(self));
        }
        let mut row = std::mem::take(&mut self.row);
        if last.is_some() {
            self.put(&mut row, last);
            if is_match(self.step, &row, frame)? {
                to.batch.push(row);
                return Ok(None);
            }
            self.put(&mut row, None);
        }
        if self.step.is_outer && !self.is_matched {
            to.batch.push(row);
        }
        Ok(None)
    }

    fn put(&self, row: &mut Row, piece: Option<Piece>) {
        if let Some(place) = row.get_mut(self.source_idx) {
            *place = piece;
        }
    }
}

/// Counts what was fetched from the engine.
fn count(rows: usize, (frame, to): (&Frame<'_>, &mut Found)) {
    to.rows_read += u64::try_from(rows).unwrap_or(u64::MAX);
    frame.nest.cancel.count_rows(rows);
}
