//! The order of a table whose key is spread: that of its declared columns, as if the computed part were
//! not there.
//!
//! ```text
//!   key (bucket(ts, 4), ts)   ts > 7         four lanes [/0/(7 - ] … [/3/(7 - ], merged by ts
//!                             ts IN (3, 9)   one lane, [/2/3] before [/0/9]
//! ```
//! Each range of keys lies within one value of the part; behind that value its bytes are in the declared
//! order. Ranges that do not overlap there follow each other in one lane; there are no more lanes than
//! values, and no more than `LANES_MAX`, as each holds a page while they are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::access::{Access, MultiGet, Purpose, Request};
use super::candidates::Candidate;
use super::cut::{self, KeyParts};
use super::derive::Keys;
use super::order::Order;
use super::span::Span;
use crate::catalog::Table;
use crate::error::Result;
use crate::kv::{Key, KeyRange};
use crate::sql::bound::KeyRef;
use crate::types::Value;

/// Lanes that are merged; as many as a key has buckets at most ([`crate::catalog::BUCKETS_MAX`]).
const LANES_MAX: usize = 1024;

/// Ranges of keys that are read in one order.
#[derive(Debug, Clone)]
pub struct FanOut {
    /// The lanes, at least one.
    pub lanes: Vec<Lane>,
}

impl FanOut {
    /// How many lanes are merged; `None` when the only one is read as it is.
    pub fn merged_count(&self) -> Option<usize> {
        Some(self.lanes.len()).filter(|count| 1 < *count)
    }
}

/// Ranges that follow each other in the declared order.
#[derive(Debug, Clone, Default)]
pub struct Lane {
    /// The ranges, in the declared order.
    pub ranges: Vec<LaneRange>,
}

/// Keys with one value of the computed part.
#[derive(Debug, Clone)]
pub struct LaneRange {
    /// Bytes of that value in front of each key.
    pub part_bytes: usize,
    /// The keys.
    pub range: KeyRange,
}

/// Whether the rows of some keys of a spread key can be read in the declared order.
pub(super) fn has_order(table: &Table, keys: &Keys) -> bool {
    let Some(spread) = table.spread() else {
        return false;
    };
    let Keys::Spans(spans) = keys else {
        return false;
    };
    if spans.iter().any(Span::is_all) {
        return spread.kind.buckets().is_some();
    }
    if spans.iter().any(|span| span.common_prefix().is_empty()) {
        return false;
    }
    let is_full = |span: &Span| span.point().is_some_and(|one| one.len() == table.key.len());
    // Keys that are fetched one by one are put in order at once.
    spans.iter().all(is_full) || parts_count(spans) <= LANES_MAX
}

/// How many values of the first part normal spans have.
fn parts_count(spans: &[Span]) -> usize {
    let firsts = spans.iter().map(|span| span.common_prefix().first());
    let mut firsts: Vec<&Value<'static>> = firsts.flatten().collect();
    firsts.dedup_by(|a, b| a.total_cmp(b).is_eq());
    firsts.len()
}

/// In which order the ranges of a plan are read, where somebody needs another than that in which they are
/// stored.
///
/// # Errors
/// A value that does not fit its key part: an internal error.
pub(super) fn of(
    request: &Request<'_>,
    best: &Candidate<'_, '_>,
    access: &Access,
) -> Result<Option<FanOut>> {
    let is_scan = matches!(access, Access::PrefixScan(_) | Access::FullScan);
    if !is_scan || best.key != KeyRef::Primary || !is_order_needed(request, best.order) {
        return Ok(None);
    }
    let (table, keys) = (request.table, &best.derived.keys);
    let spans = match keys {
        Keys::Spans(spans) if has_order(table, keys) => spans,
        Keys::Spans(_) | Keys::Nothing | Keys::TooMany(_) => return Ok(None),
    };
    let key = KeyParts::primary(table);
    let is_whole = spans.iter().any(Span::is_all);
    let buckets = is_whole.then(|| buckets(table)).flatten();
    let spans = buckets.as_ref().unwrap_or(spans).iter();
    let ranges: Result<Vec<LaneRange>> = spans.map(|span| lane_range(span, key)).collect();
    Ok(Some(FanOut {
        lanes: lanes(ranges?),
    }))
}

/// Whether groups or ORDER BY count on the order of the key, or a client sees it.
fn is_order_needed(request: &Request<'_>, order: Order) -> bool {
    let is_sorted_by = !request.order_by.is_empty() && order.ordered;
    match request.grouping {
        Some([]) => false,
        Some(_) => order.grouped || is_sorted_by,
        None => is_sorted_by || request.purpose == Purpose::Select,
    }
}

/// The whole table as a span for each bucket of its key, if it has some.
pub(super) fn buckets(table: &Table) -> Option<Vec<Span>> {
    let count = table.spread()?.kind.buckets()?;
    let buckets = (0..count).map(|bucket| Value::UInt(u64::from(bucket)));
    Some(
        buckets
            .map(|bucket| Span::of_prefix(vec![bucket]))
            .collect(),
    )
}

fn lane_range(span: &Span, key: KeyParts<'_>) -> Result<LaneRange> {
    let part = span.common_prefix().get(..1).unwrap_or_default();
    Ok(LaneRange {
        part_bytes: cut::encode_prefix(part, key)?.len(),
        range: span.encode(key)?,
    })
}

impl LaneRange {
    /// Where it begins, without the part.
    fn start(&self) -> &[u8] {
        self.range.start.get(self.part_bytes..).unwrap_or_default()
    }

    /// Where it ends, without the part; `None` at the end of the part's value.
    fn until(&self) -> Option<&[u8]> {
        let part = self.range.start.get(..self.part_bytes)?;
        self.range.until.as_deref()?.strip_prefix(part)
    }
}

/// The fewest lanes for some ranges: each goes to the lane that ends first, if that ends before it.
fn lanes(mut ranges: Vec<LaneRange>) -> Vec<Lane> {
    ranges.sort_by(|a, b| a.start().cmp(b.start()));
    let mut lanes: Vec<Lane> = Vec::new();
    let mut ends: BinaryHeap<Reverse<(Vec<u8>, usize)>> = BinaryHeap::new();
    for range in ranges {
        let first = ends.peek().map(|Reverse((end, _))| end.as_slice());
        let free = first.is_some_and(|end| end <= range.start());
        let at = if let Some(Reverse((_, at))) = free.then(|| ends.pop()).flatten() {
            at
        } else {
            lanes.push(Lane::default());
            lanes.len() - 1
        };
        // A lane whose last range goes to the end of its part takes no other.
        if let Some(until) = range.until() {
            ends.push(Reverse((until.to_vec(), at)));
        }
        if let Some(lane) = lanes.get_mut(at) {
            lane.ranges.push(range);
        }
    }
    lanes
}

/// Puts full keys in the declared order.
///
/// # Errors
/// A value that does not fit its key part: an internal error.
pub(super) fn arrange(table: &Table, gets: &mut MultiGet) -> Result<()> {
    if table.spread().is_none() {
        return Ok(());
    }
    let key = KeyParts::primary(table);
    let mut pairs: Vec<(usize, Key, Span)> = Vec::with_capacity(gets.keys.len());
    for (bytes, span) in gets.keys.drain(..).zip(gets.spans.drain(..)) {
        let part = span.common_prefix().get(..1).unwrap_or_default();
        pairs.push((cut::encode_prefix(part, key)?.len(), bytes, span));
    }
    pairs.sort_by(|(a_part, a, _), (b_part, b, _)| a.get(*a_part..).cmp(&b.get(*b_part..)));
    for (_, bytes, span) in pairs {
        gets.keys.push(bytes);
        gets.spans.push(span);
    }
    Ok(())
}
