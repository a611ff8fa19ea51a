//! The rows of a spread key in the order of its declared columns: lanes merged as they are read.
//!
//! Each lane holds a page, and the next one while it is read ahead; the longer the pages the fewer the
//! lanes, so that all together stay below [`FAN_BYTES_MAX`]. A call reads so many pages at most, so
//! whoever drives it can stop in between. Of a long scan the next batch is merged while the one before is
//! worked on. This file is hot: no allocation per row.

use std::cmp::Ordering;
use std::collections::VecDeque;

use super::ahead::{self, Ahead, PageAhead, Read};
use super::heads::{Heads, word};
use super::view::{Batch, View};
use crate::error::{Error, Result};
use crate::kv::page::{PAGE_BYTES, PAGE_ROWS};
use crate::kv::{Page, Scan, ScanOptions, Space};
use crate::leisure;
use crate::plan::fan_out::{FanOut, Lane, LaneRange};

/// Bytes of the pages of all lanes, those that are read ahead left out.
const FAN_BYTES_MAX: usize = 16 << 20;
/// Bytes of a page of one of many lanes.
const LANE_BYTES_MIN: usize = 16 << 10;
/// Rows of a page of one of few lanes: so many that engines read them as those of a long scan.
const LANE_ROWS_MAX: usize = 2 * PAGE_ROWS;
/// Rows of the pages of all lanes.
const FAN_ROWS: usize = 16 * LANE_ROWS_MAX;
/// Rows of a page of one of many lanes.
const LANE_ROWS_MIN: usize = 16;
/// Rows of the first page of a lane; more when that many are wanted of it.
const FIRST_ROWS: usize = 8;
/// Rows of the first page of a lane, where all rows are wanted.
const FIRST_ROWS_LONG: usize = 64;
/// How much longer each page of a lane is than the one before.
const GROWTH: usize = 8;
/// Bytes after which no further row is handed on.
const BATCH_BYTES: usize = PAGE_BYTES;
/// Pages that one call reads.
const READS_MAX: usize = 64;

/// Lanes at work.
pub(super) struct Fan {
    space: Space,
    reverse: bool,
    keys_only: bool,
    lanes: Vec<LaneReader>,
    /// Of the lanes that have a row.
    heads: Heads,
    /// The lanes of which a page must be read before the next row is known.
    waiting: Vec<usize>,
    may_read_ahead: bool,
    page_rows: usize,
    page_bytes: usize,
    /// Rows that are handed on at once.
    batch_rows: usize,
}

/// Lanes, and where they are merged.
pub(super) enum Fanned {
    /// By whoever asks for rows.
    Here(Box<Fan>),
    /// By another thread, which makes the next batch.
    Ahead {
        merged: Ahead<Option<Merged>>,
        /// Rows that were read before, and not handed on.
        rows_held: usize,
    },
}

/// The lanes behind a batch, and the batch; `None` at the end.
type Merged = Result<(Box<Fan>, Option<Batch>)>;

impl Fanned {
    /// As [`Fan::next`]. Takes `spare` when it merges here.
    pub(super) async fn next(self, view: &View, rows_max: usize, spare: &mut Batch) -> Merged {
        match self {
            Fanned::Here(mut fan) => {
                let spare = std::mem::replace(spare, Batch::Rows(Vec::new()));
                let batch = fan.next(view, rows_max, spare).await?;
                Ok((fan, batch))
            }
            Fanned::Ahead { merged, .. } => {
                let stopped = || Err(Error::internal("merging lanes was stopped"));
                merged.end().await.unwrap_or_else(stopped)
            }
        }
    }

    /// Rows that were read and are not handed on yet; not those that are just being read.
    pub(super) fn rows_held(&self) -> usize {
        match self {
            Fanned::Here(fan) => fan.rows_held(),
            Fanned::Ahead { rows_held, .. } => *rows_held,
        }
    }
}

struct LaneReader {
    ranges: VecDeque<LaneRange>,
    /// What is left of the range that is read.
    current: Option<Scan>,
    ahead: Option<PageAhead>,
    /// Bytes of the part in front of the keys of the batch.
    part_bytes: usize,
    batch: Batch,
    /// The batch before, whose memory is used again.
    spare: Batch,
    row_idx: usize,
    next_rows: usize,
}

impl Fan {
    /// Over the lanes of a plan. `wanted` is how many rows suffice, if that is known.
    pub(super) fn new(
        (space, reverse): (Space, bool),
        fan_out: FanOut,
        wanted: Option<usize>,
    ) -> Fan {
        let count = fan_out.lanes.len().max(1);
        let page_rows = (FAN_ROWS / count).clamp(LANE_ROWS_MIN, LANE_ROWS_MAX);
        // A few more than its share.
        let share = wanted.map_or(FIRST_ROWS_LONG, |wanted| 2 * (wanted / count));
        let first = share.clamp(FIRST_ROWS, page_rows.max(FIRST_ROWS));
        let first = wanted.map_or(first, |wanted| first.min(wanted.max(1)));
        let lane = |lane: Lane| LaneReader::new(lane, first);
        let lanes: Vec<LaneReader> = fan_out.lanes.into_iter().map(lane).collect();
        Fan {
            space,
            reverse,
            keys_only: false,
            waiting: (0..lanes.len()).rev().collect(),
            heads: Heads::with_capacity(lanes.len()),
            lanes,
            may_read_ahead: wanted.is_none(),
            page_rows,
            page_bytes: (FAN_BYTES_MAX / count).clamp(LANE_BYTES_MIN, PAGE_BYTES),
            batch_rows: 0,
        }
    }

    /// Has the next batch made by another thread.
    pub(super) fn ahead(self: Box<Fan>, view: &View, rows_max: usize, spare: Batch) -> Fanned {
        let (mut fan, view) = (self, view.clone());
        let rows_held = fan.rows_held();
        let merged = Ahead::begin(leisure::long(async move {
            let batch = fan.next(&view, rows_max, spare).await;
            batch.map(|batch| (fan, batch))
        }));
        Fanned::Ahead { merged, rows_held }
    }

    /// Leaves the values out.
    pub(super) fn leave_values_out(&mut self) {
        self.keys_only = true;
    }

    /// Rows that were read and are not handed on yet.
    pub(super) fn rows_held(&self) -> usize {
        let lanes = self.lanes.iter();
        let held = lanes.map(|lane| lane.batch.len().saturating_sub(lane.row_idx));
        held.sum()
    }

    /// The next rows, `rows_max` at most, which may be none; `None` at the end. `spare` is a page whose
    /// memory may be used again.
    pub(super) async fn next(
        &mut self,
        view: &View,
        rows_max: usize,
        spare: Batch,
    ) -> Result<Option<Batch>> {
        self.batch_rows = rows_max;
        let mut page = match spare {
            Batch::Page(page) => page,
            Batch::Rows(_) => Page::default(),
        };
        page.clear();
        let mut reads = 0;
        loop {
            while let Some(at) = self.waiting.pop() {
                if READS_MAX <= reads {
                    self.waiting.push(at);
                    return Ok(Some(Batch::Page(page)));
                }
                reads += 1;
                self.read(at, view).await?;
            }
            if self.heads.first().is_none() {
                return Ok((!page.is_empty()).then_some(Batch::Page(page)));
            }
            let is_full = !self.merge(&mut page);
            leisure::end_turn();
            if is_full {
                return Ok(Some(Batch::Page(page)));
            }
        }
    }

    /// Reads a page of a lane, which then has a row, or waits again, or is at its end.
    async fn read(&mut self, at: usize, view: &View) -> Result<()> {
        let options = ScanOptions {
            reverse: self.reverse,
            keys_only: self.keys_only,
            max_bytes: self.page_bytes,
            ..ScanOptions::default()
        };
        let (space, page_rows) = (self.space, self.page_rows);
        let ahead = self.may_read_ahead.then_some(view);
        let Some(lane) = self.lanes.get_mut(at) else {
            return Ok(());
        };
        if !lane
            .read((space, options), (view, ahead), page_rows)
            .await?
        {
            return Ok(());
        }
        if lane.batch.is_empty() {
            self.waiting.push(at);
            return Ok(());
        }
        let word = word(lane.next_key(), self.reverse);
        let tie = order_of(&self.lanes, self.reverse);
        self.heads.push(word, at, tie);
        Ok(())
    }

    /// Moves rows to a page, until it is full (`false`) or a lane has none left.
    fn merge(&mut self, page: &mut Page) -> bool {
        while let Some(at) = self.heads.first() {
            if self.batch_rows <= page.len() || BATCH_BYTES <= page.bytes() {
                return false;
            }
            let Some(lane) = self.lanes.get_mut(at) else {
                return true;
            };
            if let Some((key, value)) = lane.batch.get(lane.row_idx)
                && !page.push(key, value)
            {
                return false;
            }
            lane.row_idx += 1;
            let is_read = lane.batch.len() <= lane.row_idx;
            let word = word(lane.next_key(), self.reverse);
            let tie = order_of(&self.lanes, self.reverse);
            if is_read {
                self.heads.pop_first(tie);
                self.waiting.push(at);
                return true;
            }
            self.heads.replace_first(word, tie);
        }
        true
    }
}

/// How the next rows of two lanes are ordered.
fn order_of(lanes: &[LaneReader], reverse: bool) -> impl Fn(usize, usize) -> Ordering {
    move |a, b| {
        let key = |at: usize| lanes.get(at).map(LaneReader::next_key);
        let order = key(a).cmp(&key(b));
        if reverse { order.reverse() } else { order }
    }
}

impl LaneReader {
    fn new(lane: Lane, first_rows: usize) -> LaneReader {
        LaneReader {
            ranges: VecDeque::from(lane.ranges),
            current: None,
            ahead: None,
            part_bytes: 0,
            batch: Batch::Rows(Vec::new()),
            spare: Batch::Rows(Vec::new()),
            row_idx: 0,
            next_rows: first_rows,
        }
    }

    /// The key of the next row behind the part.
    fn next_key(&self) -> &[u8] {
        let row = self.batch.get(self.row_idx);
        row.and_then(|(key, _)| key.get(self.part_bytes..))
            .unwrap_or_default()
    }

    /// Reads the next page; `false` when there is none.
    async fn read(
        &mut self,
        (space, options): (Space, ScanOptions),
        (view, ahead): (&View, Option<&View>),
        page_rows: usize,
    ) -> Result<bool> {
        let reuse = std::mem::replace(&mut self.batch, Batch::Rows(Vec::new()));
        self.row_idx = 0;
        let read = if let Some(ahead) = self.ahead.take() {
            self.spare = reuse;
            ahead.end().await?
        } else {
            let next = if self.current.is_some() {
                None
            } else if options.reverse {
                self.ranges.pop_back()
            } else {
                self.ranges.pop_front()
            };
            if let Some(LaneRange { part_bytes, range }) = next {
                self.part_bytes = part_bytes;
                self.current = Some(Scan::new(space, range));
            }
            let Some(mut scan) = self.current.take() else {
                return Ok(false);
            };
            scan.options = self.page_options(options, page_rows);
            ahead::read(view, scan, reuse).await?
        };
        let Read { batch, scan, more } = read;
        self.batch = batch;
        if !more {
            return Ok(!self.batch.is_empty() || !self.ranges.is_empty());
        }
        self.current = Some(scan);
        if let Some(view) = ahead.filter(|_| self.next_rows == page_rows)
            && let Some(mut scan) = self.current.take()
        {
            scan.options = self.page_options(options, page_rows);
            let reuse = std::mem::replace(&mut self.spare, Batch::Rows(Vec::new()));
            self.ahead = Some(PageAhead::page(view.clone(), scan, reuse));
        }
        Ok(true)
    }

    /// How the next page is read; those after it are longer.
    fn page_options(&mut self, options: ScanOptions, page_rows: usize) -> ScanOptions {
        let max_rows = self.next_rows;
        self.next_rows = page_rows.min(max_rows * GROWTH);
        ScanOptions {
            max_rows,
            ..options
        }
    }
}
