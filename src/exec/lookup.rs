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
        let values = view.multi_get(Space(self.table.id.0), &keys).await?;
        let mut rows = Vec::with_capacity(keys.len());
        for (key, value) in keys.into_iter().zip(values) {
            match value {
                Some(value) => rows.push((key, value)),
                None => return Err(self.orphan(index)),
            }
        }
        Ok(Batch::Rows(rows))
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
