//! What the change of a row changes in the indexes of its table: entries with what the indexes
//! compute, within the limits of keys.

use super::row;
use crate::catalog::{Index, Table};
use crate::error::Result;
use crate::index::{self, Change};
use crate::kv::Key;
use crate::sql::computed;
use crate::types::Value;

/// The changes for a row that was `old` and will be `new`; one of them may be missing. Indexes that
/// are not written are left out.
///
/// # Errors
/// 1071 for new values that are too long for a key; what an expression makes of them.
pub fn changes(
    table: &Table,
    old: Option<&[Value<'_>]>,
    new: Option<&[Value<'_>]>,
) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (position, index) in table.indexes.iter().enumerate() {
        if !index.state.is_written() {
            continue;
        }
        // Old values of which an expression makes an error have no entry: while the index is built
        // there may be such, and the build fails when it meets them.
        let old = old.and_then(|old| computed::image(table, index, old).ok()?);
        let new = match new {
            Some(new) => computed::image(table, index, new)?,
            None => None,
        };
        let change = index::change(table, (position, index), old.as_deref(), new.as_deref())?;
        let Some(change) = change else { continue };
        if let (Some(new), Some(entry)) = (&new, &change.put) {
            row::check_entry(table, index, (new, entry))?;
        }
        changes.push(change);
    }
    Ok(changes)
}

/// The key of the entry of a row that no other row may have; `None` when there is none.
///
/// # Errors
/// What an expression makes of the values.
pub fn unique_key(table: &Table, index: &Index, values: &[Value<'_>]) -> Result<Option<Key>> {
    if !index.unique {
        return Ok(None);
    }
    match computed::image(table, index, values)? {
        Some(image) => Ok(index::unique_key(table, index, &image)?),
        None => Ok(None),
    }
}
