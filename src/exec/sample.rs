//! About how many rows are in a few ranges of keys: counted where they are few; where they are many
//! a guess, by the engine if it has one, else from where among the keys the counting stopped.
//!
//! MySQL dives into its indexes for the same end. EXPLAIN shows such numbers, and a statement whose
//! plan is in doubt is planned with them.

use std::sync::Arc;

use super::merge;
use super::view::{Batch, View};
use super::write;
use crate::catalog::Table;
use crate::codec::key::{decode_part, prefix_successor};
use crate::error::Result;
use crate::index;
use crate::kv::guess::{float_of, whole};
use crate::kv::page::position;
use crate::kv::{Engine, Key, KeyRange, Page, Scan, ScanOptions, Space};
use crate::plan::skip::VALUES_MAX;
use crate::plan::{Counted, Crossing, Distinct, Doubt, Entries, Estimate};
use crate::plan::{Merge, MergeBranch, MergeKind};
use crate::sql::bound::KeyRef;
use crate::types::Value;

/// The least part of a span that is believed to lie in front of where the counting stopped.
const PART_MIN: f64 = 1e-9;

/// How much is counted.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Keys that are counted, without values.
    pub rows_max: usize,
    /// Ranges that are counted; each begins with a seek.
    pub ranges_max: usize,
}

/// For a statement that is about to run.
const TO_RUN: Effort = Effort {
    rows_max: 512,
    ranges_max: 16,
};

/// Rows of which the reading is over before another key could be looked at. The tables of tests are
/// small.
const FEW_ROWS: u64 = if cfg!(test) { 2 } else { 64 };

/// Rows of the best key from which it is asked whether two keys together find much fewer.
const CROSSED_ROWS_MIN: u64 = if cfg!(test) { 3 } else { 256 };

/// Whether a key has few rows is seen at once, without waiting for the disk.
const TO_LOOK: Effort = Effort {
    rows_max: 65,
    ranges_max: 16,
};

/// About how many rows there are.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    /// How many.
    pub rows: u64,
    /// Whether they were counted to the end.
    pub is_whole: bool,
}

/// Counts what a plan is in doubt about. A key of few rows ends the counting: it is good enough.
///
/// # Errors
/// Those of the engine.
pub async fn settle(
    engine: &Arc<dyn Engine>,
    view: &View,
    (table, doubt): (&Table, &Doubt),
) -> Result<Counted> {
    let mut counted = Counted::default();
    for rival in &doubt.rivals {
        let at = (space_of(table, rival.key), rival.ranges.as_slice());
        let mut count = count(engine, view, (at, TO_LOOK)).await?;
        if !count.is_whole {
            count = self::count(engine, view, (at, TO_RUN)).await?;
        }
        counted.rows.push(Estimate {
            key: rival.key,
            rows: count.rows,
        });
        if count.is_whole && count.rows <= FEW_ROWS {
            return Ok(counted);
        }
    }
    if !doubt.union.is_empty() {
        counted.union_rows = Some(union(engine, view, (table, &doubt.union), TO_RUN).await?);
    }
    counted.crossing = crossing(view, (table, &doubt.pairs), &counted.rows).await?;
    for key in &doubt.skips {
        if let Some(values) = distinct(view, (table, *key)).await? {
            let key = *key;
            counted.distinct = Some(Distinct { key, values });
            break;
        }
    }
    Ok(counted)
}

/// How many rows are in both of the two scans that have the fewest, when that might be few of them.
async fn crossing(
    view: &View,
    (table, pairs): (&Table, &[[MergeBranch; 2]]),
    counted: &[Estimate],
) -> Result<Option<Crossing>> {
    let best = counted.iter().map(|one| one.rows).min().unwrap_or(0);
    if best < CROSSED_ROWS_MIN {
        return Ok(None);
    }
    let rows_of = |branch: &MergeBranch| {
        let found = counted.iter().find(|one| one.key == branch.key);
        found.map(|one| one.rows)
    };
    let pairs = pairs.iter().filter_map(|pair| {
        let [one, two] = pair;
        Some((rows_of(one)?, rows_of(two)?, pair))
    });
    let Some((one, _, pair)) = pairs.min_by_key(|(one, two, _)| one.saturating_add(*two)) else {
        return Ok(None);
    };
    let overlap = merge::overlap(view, table, pair).await?;
    let [seen, common] = [overlap.seen, overlap.common];
    let wide = |count: usize| u128::try_from(count).unwrap_or(u128::MAX);
    let share = u128::from(one).saturating_mul(wide(common)) / wide(seen.max(1));
    Ok(Some(Crossing {
        keys: pair.each_ref().map(|branch| branch.key),
        rows: u64::try_from(share).unwrap_or(u64::MAX).max(1),
    }))
}

/// About how many rows the scans of a union or intersection find.
///
/// # Errors
/// Those of the engine.
pub async fn merged(
    engine: &Arc<dyn Engine>,
    view: &View,
    (table, merge): (&Table, &Merge),
    effort: Effort,
) -> Result<u64> {
    if merge.kind == MergeKind::Union {
        return union(engine, view, (table, &merge.branches), effort).await;
    }
    let mut least = u64::MAX;
    for branch in &merge.branches {
        let rows = union(engine, view, (table, std::slice::from_ref(branch)), effort).await?;
        least = least.min(rows);
    }
    if let [one, two] = merge.branches.as_slice() {
        let overlap = merge::overlap(view, table, &[one.clone(), two.clone()]).await?;
        let wide = |count: usize| u128::try_from(count).unwrap_or(u128::MAX);
        let rows =
            u128::from(least).saturating_mul(wide(overlap.common)) / wide(overlap.seen.max(1));
        least = u64::try_from(rows).unwrap_or(u64::MAX);
    }
    Ok(least)
}

/// About how many rows several scans find, counted as often as they are found.
///
/// # Errors
/// Those of the engine.
pub async fn union(
    engine: &Arc<dyn Engine>,
    view: &View,
    (table, branches): (&Table, &[MergeBranch]),
    effort: Effort,
) -> Result<u64> {
    let mut rows = 0_u64;
    for branch in branches {
        rows = rows.saturating_add(match &branch.entries {
            Entries::Keys(keys) => u64::try_from(keys.len()).unwrap_or(u64::MAX),
            Entries::Ranges(ranges) => {
                let at = (space_of(table, branch.key), ranges.as_slice());
                count(engine, view, (at, effort)).await?.rows
            }
        });
    }
    Ok(rows)
}

/// The values of the first column of a key, each found by a seek; `None` when they are many.
async fn distinct(
    view: &View,
    (table, key): (&Table, KeyRef),
) -> Result<Option<Vec<Value<'static>>>> {
    let index = match key {
        KeyRef::Primary => None,
        KeyRef::Index(position) => table.indexes.get(position),
    };
    let parts = index.map_or(&table.key, |index| &index.parts);
    let first = parts.first();
    let Some((part, column)) =
        first.and_then(|part| Some((part, table.columns.get(part.column_idx)?)))
    else {
        return Ok(None);
    };
    let mut values = Vec::new();
    let mut range = KeyRange::all();
    loop {
        let found = first_key(view, (space_of(table, key), range)).await?;
        let Some(found) = found else {
            return Ok(Some(values));
        };
        if VALUES_MAX <= values.len() {
            return Ok(None);
        }
        let (value, rest) = decode_part(&found, &column.ty, part.direction)?;
        values.push(value.into_owned());
        let prefix = found.get(..found.len() - rest.len());
        let Some(start) = prefix_successor(prefix.unwrap_or_default().to_vec()) else {
            return Ok(Some(values));
        };
        range = KeyRange { start, until: None };
    }
}

async fn first_key(view: &View, (space, range): (Space, KeyRange)) -> Result<Option<Key>> {
    let mut scan = Scan::new(space, range);
    scan.options.max_rows = 1;
    scan.options.keys_only = true;
    loop {
        let (batch, more) = view.scan(&mut scan, Batch::Page(Page::default())).await?;
        if let Some((key, _)) = batch.get(0) {
            return Ok(Some(key.to_vec()));
        }
        if !more {
            return Ok(None);
        }
    }
}

/// Where a key of a table lies.
pub fn space_of(table: &Table, key: KeyRef) -> Space {
    let index = match key {
        KeyRef::Primary => None,
        KeyRef::Index(position) => table.indexes.get(position),
    };
    index.map_or_else(|| write::space(table), index::space)
}

/// About how many keys are in the ranges.
///
/// # Errors
/// Those of the engine.
pub async fn count(
    engine: &Arc<dyn Engine>,
    view: &View,
    ((space, ranges), effort): ((Space, &[KeyRange]), Effort),
) -> Result<Count> {
    let sample = sample(view, (space, ranges), effort).await?;
    // What was counted may be more when the statement runs: never "no rows at all".
    let counted = u64::try_from(sample.rows).unwrap_or(u64::MAX).max(1);
    if sample.is_whole {
        return Ok(Count {
            rows: counted,
            is_whole: true,
        });
    }
    let is_all = ranges.iter().any(|range| *range == KeyRange::all());
    let knows = engine.capabilities().estimates || is_all;
    let guesses = ranges.iter().filter(|_| knows);
    let guess: u64 = guesses
        .map(|range| engine.estimate(space, range).rows)
        .sum();
    let rows = if counted < guess {
        guess
    } else {
        counted.max(whole(sample.guess))
    };
    Ok(Count {
        rows,
        is_whole: false,
    })
}

/// What was counted, and what it lets guess about the rest.
struct Sample {
    rows: usize,
    is_whole: bool,
    guess: f64,
}

async fn sample(
    view: &View,
    (space, ranges): (Space, &[KeyRange]),
    effort: Effort,
) -> Result<Sample> {
    let mut rows = 0;
    for (begun, range) in ranges.iter().take(effort.ranges_max).enumerate() {
        let max_rows = effort.rows_max.saturating_sub(rows).max(1);
        let page = page(view, space, (range, max_rows, false)).await?;
        let in_front = float_of(rows);
        rows += page.batch.len();
        if page.has_more {
            let last = self::page(view, space, (range, 1, true)).await?;
            let guess = in_front + span_rows(&page.batch, &last.batch);
            return Ok(Sample {
                rows,
                is_whole: false,
                guess: guess * float_of(ranges.len()) / float_of(begun + 1),
            });
        }
        if effort.rows_max <= rows && begun + 1 < ranges.len() {
            let guess = float_of(rows) * float_of(ranges.len()) / float_of(begun + 1);
            return Ok(Sample {
                rows,
                is_whole: false,
                guess,
            });
        }
    }
    let part = float_of(ranges.len().clamp(1, effort.ranges_max));
    Ok(Sample {
        rows,
        is_whole: ranges.len() <= effort.ranges_max,
        guess: float_of(rows) * float_of(ranges.len()) / part,
    })
}

struct Keys {
    batch: Batch,
    has_more: bool,
}

async fn page(
    view: &View,
    space: Space,
    (range, max_rows, reverse): (&KeyRange, usize, bool),
) -> Result<Keys> {
    let options = ScanOptions {
        max_rows,
        reverse,
        keys_only: true,
        ..ScanOptions::default()
    };
    let range = range.clone();
    let mut scan = Scan {
        space,
        range,
        options,
    };
    let (batch, has_more) = view.scan(&mut scan, Batch::Page(Page::default())).await?;
    Ok(Keys { batch, has_more })
}

/// About how many rows a span has whose first ones are in a page, and whose last key is in `last`.
/// The second half of the page says how dense the keys lie: the first keys are often unlike others.
fn span_rows(page: &Batch, last: &Batch) -> f64 {
    let key = |batch: &Batch, idx: usize| batch.get(idx).map(|(key, _)| key.to_vec());
    let middle = page.len() / 2;
    let reached = page.len().checked_sub(1).and_then(|idx| key(page, idx));
    let (Some(half), Some(reached), Some(last)) = (key(page, middle), reached, key(last, 0)) else {
        return float_of(page.len());
    };
    let part = position(&reached, &half, &last).max(PART_MIN);
    float_of(middle) + float_of(page.len() - middle) / part
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn keys(numbers: impl Iterator<Item = u16>) -> Batch {
        let byte = |number: u16| u8::try_from(number).unwrap();
        let key = |number: u16| match number {
            0..256 => vec![1, byte(number)],
            _ => vec![2, byte(number / 256), byte(number % 256)],
        };
        Batch::Rows(numbers.map(|number| (key(number), Bytes::new())).collect())
    }

    #[test]
    fn evenly_spread_keys_are_guessed_about_right_though_short_ones_come_first() {
        let guess = span_rows(&keys(0..1024), &keys(9_999..10_000));
        assert!((9_900.0..10_100.0).contains(&guess), "{guess}");
    }

    #[test]
    fn a_span_has_at_least_what_was_counted() {
        assert!(1024.0 <= span_rows(&keys(0..1024), &keys(1_023..1_024)));
        assert!(0.0 <= span_rows(&keys(0..0), &keys(0..0)));
    }
}
