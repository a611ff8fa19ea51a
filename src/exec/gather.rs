//! The entries of many short ranges of one space, neighbours by one scan.
//!
//! To begin a scan takes as long as to step over some dozens of entries. So a page that begins with one
//! range may reach over the next ones, and is as long as that pays: pages grow while they hold several
//! ranges, or one that fills them, and shrink where what lies between the ranges is read for nothing. Where a
//! page takes so long that dead keys must lie there, each range is read by itself from then on ([`Reach`]).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::cancel::CancelToken;
use super::pace::Pace;
use super::view::{Batch, View};
use crate::error::Result;
use crate::kv::page::{PAGE_BYTES, PAGE_ROWS};
use crate::kv::{Key, KeyRange, Page, Scan, ScanOptions, Space};

/// Entries that are held of all ranges together, and the bytes after which no further one is.
pub(super) const ENTRIES_MAX: usize = 4096;
const BYTES_MAX: usize = PAGE_BYTES;

/// Entries that are held of one range: a longer one leaves room for the others.
const RANGE_ENTRIES_MAX: usize = 512;

/// Rows of a page: where each range needs one of its own, and where they lie side by side.
const PAGE_ROWS_MIN: usize = 16;
const PAGE_ROWS_MAX: usize = PAGE_ROWS;

/// Bytes of a page for each of its rows: what is read between the ranges should not be more.
const BYTES_PER_ROW: usize = PAGE_BYTES / PAGE_ROWS;

/// A page pays as long as it reads fewer entries for each range: about half of what beginning takes.
const ENTRIES_PER_RANGE: usize = 16;

/// A page that takes longer steps over what is dead: tens of thousands of keys.
const PAGE_TIME_MAX: Duration = Duration::from_millis(20);

/// How far a page reaches, and how long it is: what is learnt from page to page, and from one call of a
/// statement to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    /// Over the ranges behind that with which it begins; else to the end of that.
    over_neighbours: bool,
    /// Rows that it has at most.
    rows_max: usize,
}

impl Default for Reach {
    fn default() -> Reach {
        Reach {
            over_neighbours: true,
            rows_max: PAGE_ROWS_MIN,
        }
    }
}

/// What was found in some ranges.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Entries, in the order of their keys within each range.
    pub(super) entries: Page,
    /// What is there of each range, in the order in which they were asked for.
    pub(super) parts: Vec<Part>,
}

/// What was found of one range.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Part {
    /// Which of the entries.
    pub(super) entries: Range<usize>,
    /// What of the range is still to be read.
    pub(super) rest: Option<KeyRange>,
}

/// Reads what lies in some ranges, as far as it may be held: [`ENTRIES_MAX`].
///
/// # Errors
/// Those of the engine; 1317 when the statement is to stop.
pub(super) async fn gather(
    view: &View,
    (space, ranges): (Space, &[KeyRange]),
    (reach, cancel): (&mut Reach, &CancelToken),
) -> Result<Gathered> {
    let mut found = Gathered {
        entries: Page::default(),
        parts: vec![Part::default(); ranges.len()],
    };
    let mut in_order: Vec<(usize, &KeyRange)> = ranges.iter().enumerate().collect();
    in_order.sort_unstable_by(|(_, one), (_, other)| order(one, other));
    let mut window = Window::new((view, space), end_of(ranges), (*reach, cancel));
    let mut before: Option<(&KeyRange, Part)> = None;
    for (range_idx, range) in in_order {
        let part = match before.take() {
            Some((same, part)) if same == range => part,
            Some(_) | None => window.read(range, &mut found.entries).await?,
        };
        if let Some(slot) = found.parts.get_mut(range_idx) {
            *slot = part.clone();
        }
        before = Some((range, part));
    }
    *reach = window.reach;
    Ok(found)
}

fn order(one: &KeyRange, other: &KeyRange) -> Ordering {
    let starts = one.start.cmp(&other.start);
    starts.then_with(|| one.until.cmp(&other.until))
}

/// Behind all of the ranges; `None` when one has no end.
fn end_of(ranges: &[KeyRange]) -> Option<Key> {
    let mut end: Option<&Key> = None;
    for range in ranges {
        end = end.max(Some(range.until.as_ref()?));
    }
    end.cloned()
}

/// A page of entries that moves over the space.
struct Window<'a> {
    view: &'a View,
    space: Space,
    cancel: &'a CancelToken,
    pace: Pace,
    /// Behind all that is wanted.
    end: Option<Key>,
    reach: Reach,
    /// All entries from the first of these keys (in) to the second (out); before the first page there
    /// are none.
    page: Batch,
    covered: Option<(Key, Option<Key>)>,
    /// What the page was good for: ranges that were found in it, and entries of them.
    ranges_met: usize,
    entries_met: usize,
    /// The first row of the page behind the range that was read last.
    next_row: usize,
}

impl<'a> Window<'a> {
    fn new(
        (view, space): (&'a View, Space),
        end: Option<Key>,
        (reach, cancel): (Reach, &'a CancelToken),
    ) -> Window<'a> {
        Window {
            view,
            space,
            cancel,
            pace: Pace::default(),
            end,
            reach,
            page: Batch::Page(Page::default()),
            covered: None,
            ranges_met: 0,
            entries_met: 0,
            next_row: 0,
        }
    }

    /// Adds the entries of a range, as many as may be held.
    async fn read(&mut self, range: &KeyRange, to: &mut Page) -> Result<Part> {
        let first = to.len();
        let entries_max = (first + RANGE_ENTRIES_MAX).min(ENTRIES_MAX);
        let until = range.until.as_ref();
        let mut left = (!range.is_empty()).then_some(Cow::Borrowed(range.start.as_slice()));
        while let Some(start) = &left {
            if entries_max <= to.len() || BYTES_MAX <= to.bytes() {
                break;
            }
            if !self.covers(start) {
                self.move_to(start, until).await?;
            }
            left = self.take((start, until), to, entries_max).map(Cow::Owned);
        }
        self.ranges_met += 1;
        Ok(Part {
            entries: first..to.len(),
            rest: left.map(|start| KeyRange {
                start: start.into_owned(),
                until: range.until.clone(),
            }),
        })
    }

    fn covers(&self, key: &[u8]) -> bool {
        self.covered.as_ref().is_some_and(|(from, until)| {
            let is_before_end = until.as_deref().is_none_or(|until| key < until);
            from.as_slice() <= key && is_before_end
        })
    }

    /// Adds what the page has of a range; where what is left of it begins.
    fn take(
        &mut self,
        (start, until): (&[u8], Option<&Key>),
        to: &mut Page,
        entries_max: usize,
    ) -> Option<Key> {
        let first = to.len();
        let mut passed: Option<&[u8]> = None;
        let mut row_idx = self.first_from(start);
        while let Some((key, value)) = self.page.get(row_idx) {
            if until.is_some_and(|until| until.as_slice() <= key) {
                break;
            }
            if entries_max <= to.len() || BYTES_MAX <= to.bytes() || !to.push(key, value) {
                passed = Some(key);
                break;
            }
            row_idx += 1;
        }
        let covered_until = self
            .covered
            .as_ref()
            .and_then(|(_, until)| until.as_deref());
        let next = passed.or(covered_until);
        let next = next.filter(|next| until.is_none_or(|until| *next < until.as_slice()));
        let next = next.map(<[u8]>::to_vec);
        self.next_row = row_idx;
        self.entries_met += to.len() - first;
        next
    }

    /// The first row of the page whose key is not less. Ranges in order mostly begin behind the one before.
    fn first_from(&self, key: &[u8]) -> usize {
        let is_less = |row_idx: usize| self.page.get(row_idx).map(|(found, _)| found < key);
        let before = self.next_row.checked_sub(1);
        if is_less(self.next_row) == Some(false)
            && before.is_none_or(|before| is_less(before) == Some(true))
        {
            return self.next_row;
        }
        let (mut low, mut high) = (0, self.page.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if is_less(middle) == Some(true) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Reads the page that begins with what is left of a range.
    async fn move_to(&mut self, start: &[u8], until: Option<&Key>) -> Result<()> {
        self.cancel.check()?;
        self.pace.keep().await;
        self.reach.rows_max = self.next_rows_max();
        (self.ranges_met, self.entries_met, self.next_row) = (0, 0, 0);
        // Of a transaction's own writes all are put into a page that lie where it reaches.
        let is_alone = !self.reach.over_neighbours || self.view.own.is_some();
        let until = if is_alone { until } else { self.end.as_ref() }.cloned();
        let range = KeyRange {
            start: start.to_vec(),
            until: until.clone(),
        };
        let mut scan = Scan::new(self.space, range);
        scan.options = ScanOptions {
            max_rows: self.reach.rows_max,
            max_bytes: self.reach.rows_max * BYTES_PER_ROW,
            ..ScanOptions::default()
        };
        let spare = std::mem::replace(&mut self.page, Batch::Rows(Vec::new()));
        let began = Instant::now();
        let (page, more) = self.view.scan(&mut scan, spare).await?;
        if PAGE_TIME_MAX < began.elapsed() {
            self.reach.over_neighbours = false;
        }
        self.page = page;
        let covered_until = if more { Some(scan.range.start) } else { until };
        self.covered = Some((start.to_vec(), covered_until));
        Ok(())
    }

    /// How many rows the page after this one should have.
    fn next_rows_max(&self) -> usize {
        let entries = self.page.len();
        let paid = self.ranges_met * ENTRIES_PER_RANGE;
        let is_wanted = self.covered.is_some() && entries <= 2 * self.entries_met;
        if is_wanted || entries < paid {
            (2 * self.reach.rows_max).min(PAGE_ROWS_MAX)
        } else if paid < entries {
            (self.reach.rows_max / 2).max(PAGE_ROWS_MIN)
        } else {
            self.reach.rows_max
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::exec::view::Overlay;
    use crate::kv::memory::Memory;
    use crate::kv::{Engine as _, WriteSet};

    const SPACE: Space = Space(1);

    fn key(number: u16) -> Key {
        format!("{number:05}").into_bytes()
    }

    /// Half of what is there is of an open transaction, if there is one, which has deleted some, too.
    async fn filled(numbers: &[u16], has_own: bool) -> (View, BTreeMap<Key, Bytes>) {
        let engine = Memory::new();
        engine.create_space(SPACE).await.unwrap();
        let (mut writes, mut own) = (WriteSet::blind(), Overlay::default());
        let mut rows = BTreeMap::new();
        for (idx, number) in numbers.iter().enumerate() {
            let value = Bytes::from(format!("{idx}"));
            rows.insert(key(*number), value.clone());
            if !has_own || idx % 2 == 0 {
                writes.put(SPACE, key(*number), value.to_vec());
                own.restore((SPACE, key(*number)), None);
            } else {
                own.write(SPACE, key(*number), Some(value));
            }
        }
        for number in numbers.iter().step_by(7).filter(|_| has_own) {
            rows.remove(&key(*number));
            own.write(SPACE, key(*number), None);
        }
        engine.commit(writes).await.unwrap();
        let mut view = View::newest(&engine);
        view.own = has_own.then(|| Arc::new(own));
        (view, rows)
    }

    /// What a part says of its range: the entries, and those of its rest.
    async fn read_of(part: &Part, found: &Page, view: &View) -> Vec<(Key, Bytes)> {
        let owned = |(key, value): (&[u8], &[u8])| (key.to_vec(), Bytes::copy_from_slice(value));
        let entries = part.entries.clone();
        let mut read: Vec<_> = entries.map(|idx| owned(found.get(idx).unwrap())).collect();
        let mut rest = part.rest.clone().map(|rest| Scan::new(SPACE, rest));
        while let Some(mut scan) = rest.take() {
            let (page, more) = view.scan(&mut scan, Batch::Rows(Vec::new())).await.unwrap();
            read.extend((0..page.len()).map(|idx| owned(page.get(idx).unwrap())));
            rest = more.then_some(scan);
        }
        read
    }

    /// With a transaction's own writes, and without.
    fn check(numbers: &[u16], ranges: &[KeyRange]) -> Gathered {
        check_with(numbers, ranges, true);
        check_with(numbers, ranges, false)
    }

    fn check_with(numbers: &[u16], ranges: &[KeyRange], has_own: bool) -> Gathered {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let (view, rows) = filled(numbers, has_own).await;
            let cancel = CancelToken::default();
            let mut reach = Reach::default();
            let place = (SPACE, ranges);
            let found = gather(&view, place, (&mut reach, &cancel)).await.unwrap();
            assert!(found.entries.len() <= ENTRIES_MAX);
            for (range, part) in ranges.iter().zip(&found.parts) {
                assert!(part.entries.len() <= RANGE_ENTRIES_MAX);
                let read = read_of(part, &found.entries, &view).await;
                let there = rows.iter().filter(|(key, _)| range.contains(key));
                let there: Vec<_> = there.map(|(k, v)| (k.clone(), v.clone())).collect();
                assert_eq!(read, there, "{range:?}");
            }
            found
        })
    }

    fn ranges() -> impl Strategy<Value = Vec<KeyRange>> {
        let until = prop::option::weighted(0.95, 0_u16..40);
        let range = (0_u16..3000, until).prop_map(|(from, length)| KeyRange {
            start: key(from),
            until: length.map(|length| key(from + length)),
        });
        prop::collection::vec(range, 0..60)
    }

    proptest! {
        #[test]
        fn every_range_has_its_entries(
            numbers in prop::collection::vec(0_u16..3000, 0..1500),
            ranges in ranges(),
        ) {
            check(&numbers, &ranges);
        }
    }

    #[test]
    fn a_long_range_leaves_room_for_the_others() {
        let numbers: Vec<u16> = (0..8000).collect();
        let long = KeyRange::between(key(10), key(7000));
        let short = |from| KeyRange::between(key(from), key(from + 2));
        let found = check(&numbers, &[short(7500), long.clone(), short(5), long]);
        let lengths = found.parts.iter().map(|part| part.entries.len());
        assert_eq!(
            lengths.collect::<Vec<_>>(),
            [2, RANGE_ENTRIES_MAX, 2, RANGE_ENTRIES_MAX]
        );
    }

    #[test]
    fn what_is_not_held_is_left_to_be_read() {
        let numbers: Vec<u16> = (0..20_000).collect();
        let range = |at: u16| KeyRange::between(key(at * 400), key(at * 400 + 300));
        let ranges: Vec<_> = (0..50).map(range).collect();
        let found = check(&numbers, &ranges);
        assert_eq!(found.entries.len(), ENTRIES_MAX);
        assert!(
            found
                .parts
                .iter()
                .any(|part| part.entries.is_empty() && part.rest.is_some())
        );
    }
}
