//! How many rows an access path reads, for EXPLAIN: counted where they are few, guessed by the
//! engine where they are many. MySQL dives into its indexes for the same end.

use std::sync::Arc;

use crate::catalog::Table;
use crate::error::Result;
use crate::exec::view::{Batch, View};
use crate::exec::write;
use crate::kv::{Engine, KeyRange, Page, Scan, ScanOptions};
use crate::plan::{Access, TablePlan};

/// Keys that are counted before the engine is asked instead: one page, no values.
const COUNTED_ROWS_MAX: usize = 1024;

/// Spans that are counted; each begins with a seek.
const COUNTED_SPANS_MAX: usize = 64;

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
    let (counted, is_whole) = count(&view, space, ranges).await?;
    // What was counted may be gone, or more, when the statement runs: never "no rows at all".
    let counted = counted.max(1);
    if is_whole {
        return Ok(Some(counted));
    }
    let knows = engine.capabilities().estimates || matches!(plan.access, Access::FullScan);
    let guess: u64 = ranges
        .iter()
        .map(|range| engine.estimate(space, range).rows)
        .sum();
    Ok(knows.then(|| guess.max(counted)))
}

/// The rows of the ranges, and whether that is all of them.
async fn count(view: &View, space: crate::kv::Space, ranges: &[KeyRange]) -> Result<(u64, bool)> {
    let mut rows = 0;
    let mut batch = Batch::Page(Page::default());
    for range in ranges.iter().take(COUNTED_SPANS_MAX) {
        let options = ScanOptions {
            max_rows: COUNTED_ROWS_MAX - rows,
            keys_only: true,
            ..ScanOptions::default()
        };
        let mut scan = Scan {
            space,
            range: range.clone(),
            options,
        };
        let has_more;
        (batch, has_more) = view.scan(&mut scan, batch).await?;
        rows += batch.len();
        if has_more || COUNTED_ROWS_MAX <= rows {
            return Ok((u64::try_from(rows).unwrap_or(u64::MAX), false));
        }
    }
    Ok((
        u64::try_from(rows).unwrap_or(u64::MAX),
        ranges.len() <= COUNTED_SPANS_MAX,
    ))
}
