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
    let values = view.multi_get(space, &keys).await?;
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
        let Some(index) = self.table.indexes.get(self.position) else {
            return Err(Error::internal(
                "a plan that names an index of another table",
            ));
        };
        let keys = self.primary_keys(index, entries)?;
        if keys.is_empty() {
            return Ok(Batch::Rows(Vec::new()));
        }
        let rows = rows_of(view, Space(self.table.id.0), keys).await?;
        rows.ok_or_else(|| self.orphan(index))
    }

    fn primary_keys(&self, index: &Index, entries: &Batch) -> Result<Vec<Key>> {
        let mut keys = Vec::with_capacity(entries.len());
        for entry_idx in 0..entries.len() {
            let Some(entry) = entries.get(entry_idx) else {
                break;
            };
            keys.push(index::primary_key(&self.table, index, entry)?);
        }
        Ok(keys)
    }

    fn orphan(&self, index: &Index) -> Error {
        let text = format!(
            "index {} of table {} has an entry without a row",
            index.name, self.table.name
        );
        Error::new(Code::StorageCorrupt, text)
    }
}
