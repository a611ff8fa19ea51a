//! How many rows an access path reads, for EXPLAIN.

use std::sync::Arc;

use crate::catalog::Table;
use crate::error::Result;
use crate::exec::sample::{self, Effort};
use crate::exec::view::View;
use crate::kv::{Engine, KeyRange};
use crate::plan::{Access, Entries, TablePlan};
use crate::sql::bound::KeyRef;

/// One page of keys.
const EFFORT: Effort = Effort {
    rows_max: 1024,
    ranges_max: 64,
};

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
    let (key, ranges) = match &plan.access {
        Access::Nothing => return Ok(Some(0)),
        Access::PointGet(_) => return Ok(Some(1)),
        Access::MultiGet(get) => return Ok(u64::try_from(get.keys.len()).ok()),
        Access::PrefixScan(scan) => (KeyRef::Primary, scan.ranges.as_slice()),
        Access::Index(access) => match &access.entries {
            Entries::Keys(keys) => return Ok(u64::try_from(keys.len()).ok()),
            Entries::Ranges(ranges) => (KeyRef::Index(access.position), ranges.as_slice()),
        },
        Access::Ends(ends) => return Ok(u64::try_from(ends.seeks.len()).ok()),
        Access::Merge(merge) => {
            let view = view.unwrap_or_else(|| View::At(engine.snapshot(), None));
            let rows = sample::merged(engine, &view, (table, merge), EFFORT);
            return Ok(Some(rows.await?));
        }
        Access::FullScan => (KeyRef::Primary, all.as_slice()),
    };
    let view = view.unwrap_or_else(|| View::At(engine.snapshot(), None));
    let at = (sample::space_of(table, key), ranges);
    let count = sample::count(engine, &view, (at, EFFORT)).await?;
    Ok(Some(count.rows))
}
