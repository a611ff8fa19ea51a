//! From entries of an index to the rows that they belong to.
//!
//! One snapshot shows the table and its indexes together, so each entry has its row; one that has
//! none is damage, and never passed over.

use std::sync::Arc;

use super::view::{Batch, View};
use crate::catalog::{Index, Table};
use crate::error::{Code, Error, Result};
use crate::index;
use crate::kv::{Key, Space};

/// The rows under these keys, all of which must be there; `None` when one is not.
async fn rows_of(view: &View, space: Space, keys: Vec<Key>) -> Result<Option<Batch>> {
    let values = view.rows(space, &keys).await?;
    let mut rows = Vec::with_capacity(keys.len());
    for (key, value) in keys.into_iter().zip(values) {
        let Some(value) = value else {
            return Ok(None);
        };
        rows.push((key, value));
    }
    Ok(Some(Batch::Rows(rows)))
}

/// The rows that entries of several indexes belong to.
///
/// # Errors
/// 1712 when one is not there; those of the engine.
pub(super) async fn all(view: &View, space: Space, keys: Vec<Key>) -> Result<Batch> {
    let rows = rows_of(view, space, keys).await?;
    rows.ok_or_else(|| {
        let text = "an index has an entry without a row: CHECK TABLE tells which";
        Error::new(Code::StorageCorrupt, text)
    })
}

/// Looks up the rows of one index's entries.
pub(super) struct Lookup {
    table: Arc<Table>,
    position: usize,
}

impl Lookup {
    /// Of the entries of the index at `position` of the table.
    pub(super) fn new(table: &Arc<Table>, position: usize) -> Lookup {
        Lookup {
            table: Arc::clone(table),
            position,
        }
    }

    /// The rows of a batch of entries, in the order of the entries.
    ///
    /// # Errors
    /// 1712 for an entry that is damaged or has no row; those of the engine.
    pub(super) async fn rows(&self, view: &View, entries: &Batch) -> Result<Batch> {
        let mut keys = Vec::new();
        self.add_keys(entries, &mut keys)?;
        self.rows_under(view, keys).await
    }

    /// Adds the primary keys of a batch of entries, in their order.
    ///
    /// # Errors
    /// 1712 for an entry that is damaged.
    pub(super) fn add_keys(&self, entries: &Batch, keys: &mut Vec<Key>) -> Result<()> {
        let index = self.index()?;
        keys.reserve(entries.len());
        for entry_idx in 0..entries.len() {
            let Some(entry) = entries.get(entry_idx) else {
                break;
            };
            keys.push(index::primary_key(&self.table, index, entry)?);
        }
        Ok(())
    }

    /// The rows of entries with these primary keys, in the order of the keys.
    ///
    /// # Errors
    /// 1712 for an entry that has no row; those of the engine.
    pub(super) async fn rows_under(&self, view: &View, keys: Vec<Key>) -> Result<Batch> {
        if keys.is_empty() {
            return Ok(Batch::Rows(Vec::new()));
        }
        let rows = rows_of(view, Space(self.table.id.0), keys).await?;
        match rows {
            Some(rows) => Ok(rows),
            None => Err(self.orphan(self.index()?)),
        }
    }

    fn index(&self) -> Result<&Index> {
        let index = self.table.indexes.get(self.position);
        index.ok_or_else(|| Error::internal("a plan that names an index of another table"))
    }

    fn orphan(&self, index: &Index) -> Error {
        let text = format!(
            "index {} of table {} has an entry without a row",
            index.name, self.table.name
        );
        Error::new(Code::StorageCorrupt, text)
    }
}
