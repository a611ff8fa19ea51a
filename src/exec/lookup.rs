//! From entries of an index to the rows that they belong to.
//!
//! One snapshot shows the table and its indexes together, so each entry has its row; one that has
//! none is damage, and never passed over.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::view::{Batch, View};
use crate::catalog::{Index, Table};
use crate::error::{Code, Error, Result};
use crate::index;
use crate::kv::{Key, Space};

/// Rows that were looked up.
type Rows = Vec<(Key, Bytes)>;

/// The rows of the first of these keys, which are taken away; `None` when one is not there.
async fn first_rows(view: &View, space: Space, keys: &mut VecDeque<Key>) -> Result<Option<Rows>> {
    let values = view.first_rows(space, keys.make_contiguous()).await?;
    let keys = keys.drain(..values.len().min(keys.len()));
    let rows = keys.zip(values).map(|(key, value)| Some((key, value?)));
    Ok(rows.collect())
}

/// The rows of the first of these keys, which are taken away; entries of several indexes belong to them.
///
/// # Errors
/// 1712 when one is not there; those of the engine.
pub(super) async fn first_of_several(
    view: &View,
    space: Space,
    keys: &mut VecDeque<Key>,
) -> Result<Rows> {
    let rows = first_rows(view, space, keys).await?;
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
        let mut keys = VecDeque::new();
        self.add_keys(entries, &mut keys)?;
        let mut rows = self.first_rows(view, &mut keys).await?;
        while !keys.is_empty() {
            rows.extend(self.first_rows(view, &mut keys).await?);
        }
        Ok(Batch::Rows(rows))
    }

    /// Adds the primary keys of a batch of entries, in their order.
    ///
    /// # Errors
    /// 1712 for an entry that is damaged.
    pub(super) fn add_keys(&self, entries: &Batch, keys: &mut VecDeque<Key>) -> Result<()> {
        let index = self.index()?;
        keys.reserve(entries.len());
        for entry_idx in 0..entries.len() {
            let Some(entry) = entries.get(entry_idx) else {
                break;
            };
            keys.push_back(index::primary_key(&self.table, index, entry)?);
        }
        Ok(())
    }

    /// The rows of the first of these primary keys of entries, in their order; the keys are taken away.
    ///
    /// # Errors
    /// 1712 for an entry that has no row; those of the engine.
    pub(super) async fn first_rows(&self, view: &View, keys: &mut VecDeque<Key>) -> Result<Rows> {
        match first_rows(view, Space(self.table.id.0), keys).await? {
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
