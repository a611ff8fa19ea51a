//! The number of rows that the engine keeps: compared, and counted anew.

use std::sync::Arc;

use super::{Checker, Finding, untold};
use crate::catalog::Table;
use crate::error::Result;
use crate::exec::cancel::CancelToken;
use crate::exec::write::space;
use crate::kv::{CommitError, Engine, Page, Scan, Snapshot, WriteSet};

/// How often rows are counted again when others write to the table meanwhile.
const ATTEMPTS_MAX: usize = 3;

/// Counts the rows of a table, and has the engine keep their number from now on. `None` when others
/// wrote to the table meanwhile, every time.
///
/// # Errors
/// 1317 when killed; those of the engine.
pub async fn recount(
    engine: &Arc<dyn Engine>,
    table: &Table,
    cancel: &CancelToken,
) -> Result<Option<u64>> {
    // The number changes while nobody writes.
    if table.expires() {
        let snapshot = engine.snapshot();
        let rows = rows_of((snapshot.as_ref(), table), cancel, &untold).await;
        return rows.map(Some);
    }
    for _ in 0..ATTEMPTS_MAX {
        let snapshot = engine.snapshot();
        let rows = rows_of((snapshot.as_ref(), table), cancel, &untold).await?;
        if snapshot.count(space(table)).await? == Some(rows) {
            return Ok(Some(rows));
        }
        let mut writes = WriteSet::from_snapshot(snapshot.ts());
        writes.counted = Some((space(table), rows));
        match engine.commit(writes).await {
            Ok(_) => return Ok(Some(rows)),
            Err(CommitError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

async fn rows_of(
    (snapshot, table): (&dyn Snapshot, &Table),
    cancel: &CancelToken,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<u64> {
    let mut scan = Scan::whole(space(table));
    scan.options.keys_only = true;
    let mut page = Page::default();
    let mut rows = 0;
    loop {
        snapshot.scan(&scan, &mut page).await?;
        rows += u64::try_from(page.len()).unwrap_or(u64::MAX);
        progress(page.len());
        cancel.check()?;
        tokio::task::yield_now().await;
        if !scan.advance(&mut page) {
            return Ok(rows);
        }
    }
}

impl Checker<'_> {
    /// Compares the number that is kept, if one is, with the rows.
    pub(super) async fn check_count(
        &self,
        table: &Table,
        snapshot: &dyn Snapshot,
    ) -> Result<Finding> {
        let mut finding = Finding::new("number of rows".to_owned());
        let Some(kept) = snapshot.count(space(table)).await? else {
            return Ok(finding);
        };
        let rows = rows_of((snapshot, table), self.cancel, self.progress).await?;
        if kept == rows {
            return Ok(finding);
        }
        finding.add(format!("{kept} is kept, there are {rows}"));
        if self.repairs && recount(self.engine, table, self.cancel).await?.is_some() {
            finding.mended += 1;
        }
        Ok(finding)
    }
}
