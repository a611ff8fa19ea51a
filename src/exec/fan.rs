//! The rows of a spread key in the order of its declared columns: lanes merged as they are read.
//!
//! Each lane holds a page, and the next one while it is read ahead; the longer the pages the fewer the
//! lanes, by [`FAN_BYTES_MAX`]. A call reads so many pages at most, so
//! whoever drives it can stop in between. Of a long scan the next batch is merged while the one before is
//! worked on. This file is hot: no allocation per row, and a merge looks at the beginnings of keys, which lie
//! side by side, and leaves the rows where they are.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use super::ahead::{self, Ahead, PageAhead, Read};
use super::heads::{Heads, word};
use super::view::{Batch, View};
use super::woven::Woven;
use crate::error::{Error, Result};
use crate::kv::page::{PAGE_BYTES, PAGE_ROWS};
use crate::kv::{Scan, ScanOptions, Space};
use crate::leisure;
use crate::plan::fan_out::{FanOut, Lane, LaneRange};

/// Bytes of the pages of all lanes. Those that are read ahead have as many, and so may those that are done with
/// and of which the batches that are worked on and merged have rows: where these are long, else a few.
const FAN_BYTES_MAX: usize = 16 << 20;
/// Bytes of a page of one of many lanes.
const LANE_BYTES_MIN: usize = 16 << 10;
/// Rows of the first page of full length of one of few lanes: so many that engines begin to read them as
/// those of a long scan.
const LANE_ROWS_MAX: usize = 2 * PAGE_ROWS;
/// Rows of its pages from then on: a scan that goes on costs nothing, and the pages of all lanes are to fit into
/// a processor's cache.
const RESUMED_ROWS: usize = PAGE_ROWS / 2;
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
/// Of the pages that are done with the memory of one for so many lanes is kept.
const USED_PART: usize = 4;
/// Pages that one call reads.
const READS_MAX: usize = 64;

/// Lanes at work.
pub(super) struct Fan {
    space: Space,
    reverse: bool,
    keys_only: bool,
    lanes: Vec<LaneReader>,
    heads: Heads,
    /// The lanes of which a page must be read before the next row is known.
    waiting: Vec<usize>,
    /// Pages that are done with, whose memory is used again.
    used: Vec<Batch>,
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
    batch: Arc<Batch>,
    /// Of each row of the batch.
    words: Vec<u128>,
    /// Bytes that a row of the batch has on average.
    row_bytes: usize,
    /// What the batch is called by the rows that are put together.
    batch_idx: Option<u32>,
    row_idx: usize,
    next_rows: usize,
    /// Whether a page of full length was asked for.
    is_long: bool,
    /// Which lane of how many it is, until a page was shorter by such a part: keys are spread evenly, so that
    /// all lanes would need their next page at once, and whoever works on the rows would stand behind so many
    /// readers.
    place: Option<(usize, usize)>,
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
        let lanes = fan_out.lanes.into_iter().enumerate();
        let lanes = lanes.map(|(at, lane)| LaneReader::new(lane, first, (at, count)));
        let lanes: Vec<LaneReader> = lanes.collect();
        Fan {
            space,
            reverse,
            keys_only: false,
            waiting: (0..lanes.len()).rev().collect(),
            heads: Heads::new(lanes.len()),
            used: Vec::new(),
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

    /// The next rows, `rows_max` at most, which may be none; `None` at the end. `spare` is a batch whose
    /// memory may be used again.
    pub(super) async fn next(
        &mut self,
        view: &View,
        rows_max: usize,
        spare: Batch,
    ) -> Result<Option<Batch>> {
        self.batch_rows = rows_max;
        let mut woven = self.unravelled(spare);
        let mut reads = 0;
        loop {
            while let Some(at) = self.waiting.pop() {
                if READS_MAX <= reads {
                    self.waiting.push(at);
                    return Ok(Some(Batch::Woven(woven)));
                }
                reads += 1;
                self.read(at, view).await?;
            }
            self.heads.play(order_of(&self.lanes, self.reverse));
            if self.heads.first().is_none() {
                return Ok((!woven.is_empty()).then_some(Batch::Woven(woven)));
            }
            let is_full = !self.merge(&mut woven);
            leisure::end_turn();
            if is_full {
                return Ok(Some(Batch::Woven(woven)));
            }
        }
    }

    /// Room for the next rows, from a batch that was handed on before.
    fn unravelled(&mut self, spare: Batch) -> Woven {
        let mut woven = match spare {
            Batch::Woven(woven) => woven,
            Batch::Page(_) | Batch::Rows(_) => Woven::default(),
        };
        keep(&mut self.used, woven.unravel());
        self.used.truncate(self.lanes.len().div_ceil(USED_PART));
        for lane in &mut self.lanes {
            lane.batch_idx = None;
        }
        woven
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
        let used = &mut self.used;
        let goes_on = lane
            .read((space, options), (view, ahead), (page_rows, used))
            .await?;
        let next = lane.words.first().copied();
        let tie = order_of(&self.lanes, self.reverse);
        match next {
            Some(word) => self.heads.set(at, word, tie),
            None if goes_on => self.waiting.push(at),
            None => self.heads.end(at, tie),
        }
        Ok(())
    }

    /// Hands rows on, until there are enough (`false`) or a lane has none left.
    fn merge(&mut self, woven: &mut Woven) -> bool {
        while let Some(at) = self.heads.first() {
            if self.batch_rows <= woven.len() || BATCH_BYTES <= woven.bytes() {
                return false;
            }
            let Some(lane) = self.lanes.get_mut(at) else {
                return true;
            };
            if !lane.hand_on(woven) {
                return false;
            }
            let Some(word) = lane.words.get(lane.row_idx).copied() else {
                self.waiting.push(at);
                return true;
            };
            let tie = order_of(&self.lanes, self.reverse);
            self.heads.set(at, word, tie);
        }
        true
    }
}

/// How the next rows of two lanes are ordered; a lane that has none comes last.
fn order_of(lanes: &[LaneReader], reverse: bool) -> impl Fn(usize, usize) -> Ordering {
    move |a, b| {
        let key = |at: usize| lanes.get(at).and_then(LaneReader::next_key);
        match (key(a), key(b)) {
            (Some(a), Some(b)) if reverse => b.cmp(a),
            (Some(a), Some(b)) => a.cmp(b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
}

impl LaneReader {
    fn new(lane: Lane, first_rows: usize, place: (usize, usize)) -> LaneReader {
        LaneReader {
            ranges: VecDeque::from(lane.ranges),
            current: None,
            ahead: None,
            part_bytes: 0,
            batch: nothing(),
            words: Vec::new(),
            row_bytes: 0,
            batch_idx: None,
            row_idx: 0,
            next_rows: first_rows,
            is_long: false,
            place: Some(place),
        }
    }

    /// The key of the next row behind the part.
    fn next_key(&self) -> Option<&[u8]> {
        let (key, _) = self.batch.get(self.row_idx)?;
        key.get(self.part_bytes..)
    }

    /// Adds the next row to those that are put together. False when that has no room for it.
    fn hand_on(&mut self, woven: &mut Woven) -> bool {
        if self.batch_idx.is_none() {
            self.batch_idx = woven.add(Arc::clone(&self.batch));
        }
        let is_added = self
            .batch_idx
            .is_some_and(|idx| woven.push(idx, (self.row_idx, self.row_bytes)));
        self.row_idx += usize::from(is_added);
        is_added
    }

    /// Reads the next page; `false` when there is none. `used` are batches whose memory may be used again.
    async fn read(
        &mut self,
        (space, options): (Space, ScanOptions),
        (view, ahead): (&View, Option<&View>),
        (page_rows, used): (usize, &mut Vec<Batch>),
    ) -> Result<bool> {
        let done = Arc::into_inner(std::mem::replace(&mut self.batch, nothing()));
        keep(used, done);
        self.begin(Batch::Rows(Vec::new()), options.reverse);
        let read = if let Some(ahead) = self.ahead.take() {
            ahead.end().await?
        } else {
            let next = if self.current.is_some() {
                None
            } else if options.reverse {
                self.ranges.pop_back()
            } else {
                self.ranges.pop_front()
            };
            if let Some(next) = next {
                self.begin_range(space, next);
            }
            let Some(mut scan) = self.current.take() else {
                return Ok(false);
            };
            scan.options = self.page_options(options, page_rows);
            ahead::read(view, scan, reused(used)).await?
        };
        let Read { batch, scan, more } = read;
        self.begin(batch, options.reverse);
        if !more {
            return Ok(!self.batch.is_empty() || !self.ranges.is_empty());
        }
        self.current = Some(scan);
        if let Some(view) = ahead.filter(|_| self.next_rows == page_rows)
            && let Some(mut scan) = self.current.take()
        {
            scan.options = self.page_options(options, page_rows);
            self.ahead = Some(PageAhead::page(view.clone(), scan, reused(used)));
        }
        Ok(true)
    }

    fn begin_range(&mut self, space: Space, LaneRange { part_bytes, range }: LaneRange) {
        self.part_bytes = part_bytes;
        self.is_long = false;
        self.current = Some(Scan::new(space, range));
    }

    /// Goes on with the first row of a batch.
    fn begin(&mut self, batch: Batch, reverse: bool) {
        let mut bytes = 0;
        self.words.clear();
        for (key, value) in (0..batch.len()).map_while(|row_idx| batch.get(row_idx)) {
            let key_behind = key.get(self.part_bytes..).unwrap_or_default();
            self.words.push(word(key_behind, reverse));
            bytes += key.len() + value.len();
        }
        self.row_bytes = bytes / self.words.len().max(1);
        self.batch = Arc::new(batch);
        self.batch_idx = None;
        self.row_idx = 0;
    }

    /// How the next page is read; those after it are longer, up to one of full length, and then as long as
    /// pages of a scan that goes on.
    fn page_options(&mut self, options: ScanOptions, page_rows: usize) -> ScanOptions {
        let is_resumed = self.is_long && !options.reverse && page_rows == LANE_ROWS_MAX;
        let mut max_rows = if is_resumed {
            RESUMED_ROWS
        } else {
            self.next_rows
        };
        if self.is_long
            && let Some((at, count)) = self.place.take()
        {
            max_rows -= max_rows * at / count;
        }
        self.is_long |= self.next_rows == page_rows;
        self.next_rows = page_rows.min(self.next_rows * GROWTH);
        ScanOptions {
            max_rows,
            is_long: is_resumed,
            ..options
        }
    }
}

fn nothing() -> Arc<Batch> {
    Arc::new(Batch::Rows(Vec::new()))
}

/// Keeps the pages of what is done with.
fn keep(used: &mut Vec<Batch>, done: impl IntoIterator<Item = Batch>) {
    let pages = done.into_iter();
    used.extend(pages.filter(|batch| matches!(batch, Batch::Page(_))));
}

/// A batch whose memory is used again.
fn reused(used: &mut Vec<Batch>) -> Batch {
    used.pop().unwrap_or(Batch::Rows(Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::KeyRange;

    /// How the next pages of a lane are read: rows, and whether as those of a long scan.
    fn pages(lane: &mut LaneReader, reverse: bool) -> [(usize, bool); 5] {
        std::array::from_fn(|_| {
            let options = ScanOptions {
                reverse,
                ..ScanOptions::default()
            };
            let options = lane.page_options(options, LANE_ROWS_MAX);
            (options.max_rows, options.is_long)
        })
    }

    fn begun(place: (usize, usize)) -> LaneReader {
        let range = || LaneRange {
            part_bytes: 2,
            range: KeyRange::all(),
        };
        let ranges = vec![range(), range()];
        let mut lane = LaneReader::new(Lane { ranges }, FIRST_ROWS_LONG, place);
        lane.begin_range(Space(1), range());
        lane
    }

    #[test]
    fn pages_grow_and_are_shorter_once_the_scan_is_long() {
        let short = [(64, false), (512, false), (2048, false)];
        let found = pages(&mut begun((0, 16)), false);
        assert_eq!(
            found,
            [short[0], short[1], short[2], (512, true), (512, true)]
        );
        let found = pages(&mut begun((4, 16)), false);
        assert_eq!(
            found,
            [short[0], short[1], short[2], (384, true), (512, true)],
            "staggered"
        );
        let found = pages(&mut begun((4, 16)), true);
        assert_eq!(
            found,
            [short[0], short[1], short[2], (1536, false), (2048, false)],
            "backwards"
        );
    }

    #[test]
    fn each_range_begins_with_a_page_of_full_length() {
        let mut lane = begun((0, 16));
        let _ = pages(&mut lane, false);
        let Some(next) = lane.ranges.pop_front() else {
            panic!("it has two more");
        };
        lane.begin_range(Space(1), next);
        let found = pages(&mut lane, false);
        assert_eq!(
            found,
            [
                (2048, false),
                (512, true),
                (512, true),
                (512, true),
                (512, true)
            ]
        );
    }
}
