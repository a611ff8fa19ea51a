//! Builds indexes of a table that nobody else writes or reads meanwhile: page by page, without a record
//! of how far it is.

use std::sync::Arc;

use super::build::{PAGE_BYTES, put_entries};
use super::rows::Maker;
use crate::catalog::{Index, IndexState, Table};
use crate::error::Result;
use crate::exec::cancel::CancelToken;
use crate::kv::{CommitError, Engine, KeyRange, Page, Scan, WriteSet, expiry};

/// Rows of a page: a KILL is seen between two.
const PAGE_ROWS: usize = 1024;

/// Builds the indexes of a table that are `BUILDING`, in storage that is empty.
///
/// # Errors
/// 1062 for a duplicate, 1071 for values that are too long, 1317 when it was killed; those of the
/// engine.
pub async fn build(engine: &Arc<dyn Engine>, table: &Table, cancel: &CancelToken) -> Result<()> {
    let mut indexes = table.indexes.iter();
    while let Some(index) = indexes.find(|index| index.state == IndexState::Building) {
        build_one(engine, (table, index), cancel).await?;
    }
    Ok(())
}

/// The indexes of a table have been built.
pub fn activate(table: &mut Table) {
    for index in &mut table.indexes {
        if index.state == IndexState::Building {
            index.state = IndexState::Active;
        }
    }
}

async fn build_one(
    engine: &Arc<dyn Engine>,
    (table, index): (&Table, &Index),
    cancel: &CancelToken,
) -> Result<()> {
    let maker = Maker::new(table, index)?;
    let snapshot = engine.snapshot();
    let mut scan = Scan::new(maker.rows_space(), KeyRange::all());
    scan.options.max_rows = PAGE_ROWS;
    scan.options.max_bytes = PAGE_BYTES;
    let mut page = Page::default();
    loop {
        cancel.check()?;
        snapshot.scan(&scan, &mut page).await?;
        let mut writes = WriteSet::blind();
        put_entries(&maker, maker.of_page(&page)?, &mut writes)?;
        expiry::rely(engine.as_ref(), snapshot.as_ref());
        match engine.commit(writes).await {
            Ok(_) => {}
            Err(CommitError::AlreadyExists { key, .. }) => return Err(maker.duplicate(&key)),
            Err(error) => return Err(error.into()),
        }
        if !scan.advance(&mut page) {
            return Ok(());
        }
    }
}
