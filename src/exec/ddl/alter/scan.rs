//! A look at all rows of a table: whether their values fit the columns as they are to be.
//!
//! The table's definition has the pledges already, so that every later write fits; a snapshot taken
//! now has all rows that do not. Rows that have ended are not looked at, and do not come to life again.

use std::sync::Arc;

use super::fit;
use crate::catalog::{Column, Table};
use crate::error::Result;
use crate::exec::cancel::CancelToken;
use crate::exec::row::{Layout, StoredRow};
use crate::exec::write::space;
use crate::kv::{Engine, KeyRange, Page, Scan, expiry};

/// Looks at every row.
///
/// # Errors
/// That of the first value that does not fit; 1317 when killed; those of the engine.
pub async fn check_rows(
    engine: &Arc<dyn Engine>,
    table: &Table,
    (cancel, told): (&CancelToken, &(dyn Fn(u64) + Sync)),
) -> Result<()> {
    let pledged = table.columns.iter().enumerate();
    let pledged: Vec<(usize, &Column, &Column)> = pledged
        .filter_map(|(idx, column)| Some((idx, column, column.pledged()?)))
        .collect();
    let layout = Layout::of(table);
    let snapshot = engine.snapshot();
    let mut scan = Scan::whole(space(table));
    let mut page = Page::default();
    let mut rows = 0_u64;
    loop {
        snapshot.scan(&scan, &mut page).await?;
        for (key, value) in page.iter() {
            rows += 1;
            let row = StoredRow::parse(table, &layout, key, value)?;
            for (column_idx, old, new) in &pledged {
                fit::check((old, new), &row.value(*column_idx)?, rows)?;
            }
        }
        told(rows);
        cancel.check()?;
        tokio::task::yield_now().await;
        if !scan.advance(&mut page) {
            expiry::rely(engine.as_ref(), snapshot.as_ref());
            return Ok(());
        }
    }
}

/// The greatest number in a column; 0 when there is none above.
///
/// # Errors
/// 1317 when killed; those of the engine.
pub async fn greatest(
    engine: &Arc<dyn Engine>,
    table: &Table,
    (column_idx, cancel): (usize, &CancelToken),
) -> Result<u64> {
    let layout = Layout::of(table);
    let snapshot = engine.snapshot();
    let mut scan = Scan::whole(space(table));
    let mut page = Page::default();
    let mut greatest = 0;
    loop {
        snapshot.scan(&scan, &mut page).await?;
        for (key, value) in page.iter() {
            let row = StoredRow::parse(table, &layout, key, value)?;
            let number = row.value(column_idx)?.to_text().parse().unwrap_or(0);
            greatest = greatest.max(number);
        }
        cancel.check()?;
        tokio::task::yield_now().await;
        if !scan.advance(&mut page) {
            expiry::rely(engine.as_ref(), snapshot.as_ref());
            return Ok(greatest);
        }
    }
}

/// Whether a table has rows.
///
/// # Errors
/// Those of the engine.
pub async fn has_rows(engine: &Arc<dyn Engine>, table: &Table) -> Result<bool> {
    let mut scan = Scan::new(space(table), KeyRange::all());
    scan.options.max_rows = 1;
    scan.options.keys_only = true;
    let mut page = Page::default();
    let snapshot = engine.snapshot();
    let has_rows = scan.first_page(snapshot.as_ref(), &mut page).await?;
    expiry::rely(engine.as_ref(), snapshot.as_ref());
    Ok(has_rows)
}
