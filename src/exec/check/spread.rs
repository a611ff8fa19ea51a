//! The computed part of a spread key: each row lies under the one that its columns give. A row under
//! another one is found by no condition on them.

use super::{Checker, Finding};
use crate::catalog::{Spread, Table};
use crate::error::Result;
use crate::exec::backfill::rows::key_text;
use crate::exec::pace::Pace;
use crate::exec::row::{Layout, StoredRow};
use crate::exec::write::space;
use crate::kv::{Page, Scan, Snapshot};
use crate::types::Value;

impl Checker<'_> {
    /// Compares the part of each row with what it is computed from.
    pub(super) async fn check_parts(
        &self,
        (table, spread): (&Table, &Spread),
        snapshot: &dyn Snapshot,
    ) -> Result<Finding> {
        let mut finding = Finding::new("primary key".to_owned());
        let layout = Layout::of(table);
        let mut scan = Scan::whole(space(table));
        let mut page = Page::default();
        let mut turns = Pace::default();
        loop {
            snapshot.scan(&scan, &mut page).await?;
            for (key, value) in page.iter() {
                turns.keep().await;
                let row = StoredRow::parse(table, &layout, key, value)?;
                if !is_under_its_part((table, spread), &row)? {
                    let row = key_text(table, key);
                    let part = table.spread_text(spread);
                    finding.add(format!("row {row} lies under another {part}"));
                }
            }
            if !self.next(&mut scan, &mut page).await? {
                return Ok(finding);
            }
        }
    }
}

fn is_under_its_part((table, spread): (&Table, &Spread), row: &StoredRow<'_>) -> Result<bool> {
    let Some(part) = table.key.first() else {
        return Ok(true);
    };
    let mut inputs: Vec<(usize, Value<'_>)> = Vec::with_capacity(spread.inputs.len());
    for idx in &spread.inputs {
        inputs.push((*idx, row.value(*idx)?));
    }
    let value_of = |idx| {
        let mut inputs = inputs.iter();
        let found = inputs.find(|(input, _)| *input == idx);
        found.map(|(_, value)| value)
    };
    let wanted = spread.value(&table.columns, value_of)?;
    Ok(wanted.total_cmp(&row.value(part.column_idx)?).is_eq())
}
