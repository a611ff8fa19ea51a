//! How many rows an access path reads, for EXPLAIN: counted where they are few; where they are many
//! a guess, by the engine if it has one, else from where among the keys the counting stopped.
//!
//! MySQL dives into its indexes for the same end.

use std::sync::Arc;

use crate::catalog::Table;
use crate::error::Result;
use crate::exec::view::{Batch, View};
use crate::exec::write;
use crate::kv::page::position;
use crate::kv::{Engine, KeyRange, Page, Scan, ScanOptions, Space};
use crate::plan::{Access, TablePlan};

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
        Access::FullScan => all.as_slice(),
    };
    let view = view.unwrap_or_else(|| View::At(engine.snapshot(), None));
    let space = write::space(table);
    let count = count(&view, space, ranges).await?;
    // What was counted may be more when the statement runs: never "no rows at all".
    let counted = u64::try_from(count.rows).unwrap_or(u64::MAX).max(1);
    let total = u32::try_from(ranges.len()).map_or(f64::MAX, f64::from);
    if total <= count.spans {
        return Ok(Some(counted));
    }
    let knows = engine.capabilities().estimates || matches!(plan.access, Access::FullScan);
    let guesses = ranges.iter().filter(|_| knows);
    let guess: u64 = guesses
        .map(|range| engine.estimate(space, range).rows)
        .sum();
    if counted < guess {
        return Ok(Some(guess));
    }
    Ok(Some(scaled(counted, total / count.spans.max(PART_MIN))))
}

/// What was counted, and how many of the spans that was; the last of them in part.
struct Count {
    rows: usize,
    spans: f64,
}

async fn count(view: &View, space: Space, ranges: &[KeyRange]) -> Result<Count> {
    let mut count = Count {
        rows: 0,
        spans: 0.0,
    };
    for range in ranges.iter().take(COUNTED_SPANS_MAX) {
        let max_rows = COUNTED_ROWS_MAX.saturating_sub(count.rows).max(1);
        let page = page(view, space, (range, max_rows, false)).await?;
        count.rows += page.batch.len();
        if page.has_more {
            let last = self::page(view, space, (range, 1, true)).await?;
            count.spans += part(&page.batch, &last.batch);
            return Ok(count);
        }
        count.spans += 1.0;
        if COUNTED_ROWS_MAX <= count.rows {
            return Ok(count);
        }
    }
    Ok(count)
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

/// How much of a span a page covers, when `last` holds the span's last key.
fn part(page: &Batch, last: &Batch) -> f64 {
    let key = |batch: &Batch, idx: usize| batch.get(idx).map(|(key, _)| key.to_vec());
    let reached = page.len().checked_sub(1).and_then(|idx| key(page, idx));
    match (key(page, 0), reached, key(last, 0)) {
        (Some(first), Some(reached), Some(last)) => position(&reached, &first, &last),
        (_, _, _) => 1.0,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a guess about a number of rows, which saturates"
)]
fn scaled(rows: u64, factor: f64) -> u64 {
    (rows as f64 * factor).round() as u64
}
