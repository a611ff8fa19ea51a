//! How many rows an access path reads, for EXPLAIN: counted where they are few; where they are many
//! a guess, by the engine if it has one, else from where among the keys the counting stopped.
//!
//! MySQL dives into its indexes for the same end.

use std::sync::Arc;

use crate::catalog::Table;
use crate::error::Result;
use crate::exec::view::{Batch, View};
use crate::exec::write;
use crate::index;
use crate::kv::page::position;
use crate::kv::{Engine, KeyRange, Page, Scan, ScanOptions, Space};
use crate::plan::{Access, Entries, TablePlan};

/// Keys that are counted: one page, without values.
const COUNTED_ROWS_MAX: usize = 1024;

/// Spans that are counted; each begins with a seek.
const COUNTED_SPANS_MAX: usize = 64;

/// The least part of a span that is believed to lie in front of where the counting stopped.
const PART_MIN: f64 = 1e-9;

/// About how many rows the plan's access reads; `None` when nobody knows.
///
/// # Errors
/// Those of the engine.
pub(super) async fn rows(
    engine: &Arc<dyn Engine>,
    view: Option<View>,
    (table, plan): (&Table, &TablePlan),
) -> Result<Option<u64>> {
    let all = [KeyRange::all()];
    let ranges = match &plan.access {
        Access::Nothing => return Ok(Some(0)),
        Access::PointGet(_) => return Ok(Some(1)),
        Access::MultiGet(get) => return Ok(u64::try_from(get.keys.len()).ok()),
        Access::PrefixScan(scan) => scan.ranges.as_slice(),
        Access::Index(access) => match &access.entries {
            Entries::Keys(keys) => return Ok(u64::try_from(keys.len()).ok()),
            Entries::Ranges(ranges) => ranges.as_slice(),
        },
        Access::Ends(ends) => return Ok(u64::try_from(ends.seeks.len()).ok()),
        Access::FullScan => all.as_slice(),
    };
    let view = view.unwrap_or_else(|| View::At(engine.snapshot(), None));
    let space = match &plan.access {
        Access::Index(access) => table.indexes.get(access.position).map(index::space),
        Access::Nothing
        | Access::PointGet(_)
        | Access::MultiGet(_)
        | Access::PrefixScan(_)
        | Access::Ends(_)
        | Access::FullScan => None,
    };
    let space = space.unwrap_or_else(|| write::space(table));
    let count = count(&view, space, ranges).await?;
    // What was counted may be more when the statement runs: never "no rows at all".
    let counted = u64::try_from(count.rows).unwrap_or(u64::MAX).max(1);
    if count.is_whole {
        return Ok(Some(counted));
    }
    let knows = engine.capabilities().estimates || matches!(plan.access, Access::FullScan);
    let guesses = ranges.iter().filter(|_| knows);
    let guess: u64 = guesses
        .map(|range| engine.estimate(space, range).rows)
        .sum();
    Ok(Some(if counted < guess {
        guess
    } else {
        counted.max(saturated(count.guess))
    }))
}

/// What was counted, and what it lets guess about the rest.
struct Count {
    rows: usize,
    is_whole: bool,
    guess: f64,
}

async fn count(view: &View, space: Space, ranges: &[KeyRange]) -> Result<Count> {
    let mut rows = 0;
    for (begun, range) in ranges.iter().take(COUNTED_SPANS_MAX).enumerate() {
        let max_rows = COUNTED_ROWS_MAX.saturating_sub(rows).max(1);
        let page = page(view, space, (range, max_rows, false)).await?;
        let in_front = float(rows);
        rows += page.batch.len();
        if page.has_more {
            let last = self::page(view, space, (range, 1, true)).await?;
            let guess = in_front + span_rows(&page.batch, &last.batch);
            return Ok(Count {
                rows,
                is_whole: false,
                guess: guess * float(ranges.len()) / float(begun + 1),
            });
        }
        if COUNTED_ROWS_MAX <= rows && begun + 1 < ranges.len() {
            let guess = float(rows) * float(ranges.len()) / float(begun + 1);
            return Ok(Count {
                rows,
                is_whole: false,
                guess,
            });
        }
    }
    let part = float(ranges.len().clamp(1, COUNTED_SPANS_MAX));
    Ok(Count {
        rows,
        is_whole: ranges.len() <= COUNTED_SPANS_MAX,
        guess: float(rows) * float(ranges.len()) / part,
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
        return float(page.len());
    };
    let part = position(&reached, &half, &last).max(PART_MIN);
    float(middle) + float(page.len() - middle) / part
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of rows and spans, for a guess"
)]
fn float(count: usize) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a guess about a number of rows, which saturates"
)]
fn saturated(rows: f64) -> u64 {
    rows.round() as u64
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
