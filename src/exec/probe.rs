//! How many rows an access path reads: for EXPLAIN, and for the order of joins.

use std::sync::Arc;

use super::sample::{self, Effort};
use super::view::View;
use crate::catalog::Table;
use crate::error::Result;
use crate::kv::{Engine, KeyRange};
use crate::plan::{Access, Entries, TablePlan};
use crate::sql::bound::KeyRef;

/// One page of keys.
pub const TO_SHOW: Effort = Effort {
    rows_max: 1024,
    ranges_max: 64,
};

/// A few keys, where a statement waits for it.
pub const TO_RUN: Effort = Effort {
    rows_max: 128,
    ranges_max: 8,
};

/// About how many rows the plan's access reads; `None` when nobody knows.
///
/// # Errors
/// Those of the engine.
pub async fn rows(
    engine: &Arc<dyn Engine>,
    view: Option<View>,
    (table, plan, effort): (&Table, &TablePlan, Effort),
) -> Result<Option<u64>> {
    let all = [KeyRange::all()];
    let (key, ranges) = match &plan.access {
        Access::Nothing | Access::Count(_) => return Ok(Some(0)),
        Access::PointGet(_) => return Ok(Some(1)),
        Access::MultiGet(get) => return Ok(u64::try_from(get.keys.len()).ok()),
        Access::PrefixScan(scan) => (KeyRef::Primary, scan.ranges.as_slice()),
        Access::Index(access) => match &access.entries {
            Entries::Keys(keys) => return Ok(u64::try_from(keys.len()).ok()),
            Entries::Ranges(ranges) => (KeyRef::Index(access.position), ranges.as_slice()),
        },
        Access::Ends(ends) => return Ok(u64::try_from(ends.seeks.len()).ok()),
        Access::Merge(merge) => {
            let view = view.unwrap_or_else(|| View::newest(&**engine));
            let rows = sample::merged(engine, &view, (table, merge), effort);
            return Ok(Some(rows.await?));
        }
        Access::FullScan => (KeyRef::Primary, all.as_slice()),
    };
    let view = view.unwrap_or_else(|| View::newest(&**engine));
    let at = (sample::space_of(table, key), ranges);
    let count = sample::count(engine, &view, (at, effort)).await?;
    Ok(Some(count.rows))
}
