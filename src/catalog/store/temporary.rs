//! Temporary tables: storage of the engine with a definition that only one session knows.
//!
//! They are in no [`Definitions`](super::Definitions) and nothing of them is written down: after a crash their storage
//! belongs to no table, and is given back when the catalog is opened. Which session finds them by
//! which name is the session's matter (`session::temporary`).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::Catalog;
use super::storage::{Lasts, compressed_spaces, ending_spaces, spaces};
use crate::catalog::schema::{IndexId, Table, TableId};
use crate::catalog::{size, wide};
use crate::error::Result;
use crate::kv::Space;

/// The temporary tables of all sessions, and tables that are being filled ([`Catalog::foster`]).
#[derive(Debug, Default)]
pub(super) struct TemporaryTables {
    /// Those that a session may write.
    live: RwLock<HashMap<TableId, Arc<Table>>>,
    /// Those that nobody uses any more, and whose storage is still to be given back.
    left: Mutex<Vec<Arc<Table>>>,
}

/// Whether the engine is told of some of its storage.
fn is_watched(table: &Table) -> bool {
    ending_spaces(table)
        .chain(compressed_spaces(table))
        .next()
        .is_some()
}

impl TemporaryTables {
    /// Those that a session may write.
    pub(super) fn all(&self) -> Vec<Arc<Table>> {
        self.live.read().values().map(Arc::clone).collect()
    }

    /// Lets a session write a table.
    pub(super) fn admit(&self, table: &Arc<Table>) {
        self.live.write().insert(table.id, Arc::clone(table));
    }

    /// No session writes the table as its own any more.
    pub(super) fn dismiss(&self, id: TableId) {
        self.live.write().remove(&id);
    }

    /// Whether this is a table that some session may write.
    pub(super) fn has(&self, table: &Arc<Table>) -> bool {
        let live = self.live.read();
        live.get(&table.id)
            .is_some_and(|found| wide::is_same(found, table))
    }
}

impl Catalog {
    /// Makes a temporary table; its [`Table::id`] and those of its indexes are chosen here.
    ///
    /// # Errors
    /// 1041 when there is no memory for it; those of the engine.
    pub async fn create_temporary(&self, mut table: Table) -> Result<Arc<Table>> {
        let _one_at_a_time = self.ddl.lock().await;
        size::ask(&table)?;
        self.give_storage(&mut table, Lasts::WhileOpen).await?;
        let table = Arc::new(table);
        self.temporary.admit(&table);
        if is_watched(&table) {
            self.watch(&self.current());
        }
        Ok(table)
    }

    /// Gives storage to the indexes of a definition that have [`IndexId::NEW`]: to be filled before
    /// [`Catalog::replace_temporary`], or given back by [`Catalog::drop_lost_indexes`]. `old` is the definition
    /// whose place it will take.
    ///
    /// # Errors
    /// 1041 when there is no memory for it; those of the engine.
    pub async fn give_index_storage(&self, old: &Table, table: &mut Table) -> Result<()> {
        let _one_at_a_time = self.ddl.lock().await;
        size::ask_growth((old, table))?;
        for index in &mut table.indexes {
            if index.id == IndexId::NEW {
                index.id = IndexId(self.new_space(Lasts::WhileOpen).await?.0);
            }
        }
        if let Some(versions) = &mut table.wide.versions
            && versions.deletions == 0
        {
            versions.deletions = self.new_space(Lasts::WhileOpen).await?.0;
        }
        Ok(())
    }

    /// Gives a temporary table another definition over the same rows, and gives back the storage of the
    /// indexes that it has no more.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn replace_temporary(&self, old: &Arc<Table>, new: Table) -> Result<Arc<Table>> {
        let _one_at_a_time = self.ddl.lock().await;
        let new = Arc::new(new);
        self.temporary.admit(&new);
        if is_watched(&new) || is_watched(old) {
            self.watch(&self.current());
        }
        self.drop_lost_indexes((old, &new)).await;
        Ok(new)
    }

    /// Gives back the storage of the indexes that the first definition has and the second has not.
    pub async fn drop_lost_indexes(&self, (from, to): (&Table, &Table)) {
        let is_kept = |id| to.indexes.iter().any(|kept| kept.id == id);
        let lost = from.indexes.iter().map(|index| index.id);
        let lost = lost.filter(|id| *id != IndexId::NEW && !is_kept(*id));
        self.give_back(lost.map(|id| Space(id.0)), Lasts::WhileOpen)
            .await;
    }

    /// Whether a definition is that of a temporary table.
    pub fn is_temporary(&self, table: &Arc<Table>) -> bool {
        self.temporary.has(table)
    }

    /// Nobody uses these temporary tables any more: [`Catalog::sweep_temporary`] gives back what
    /// they hold. Waits for nothing, so that it can be said however a session ends.
    pub fn leave_temporary(&self, tables: impl IntoIterator<Item = Arc<Table>>) {
        self.temporary.left.lock().extend(tables);
    }

    /// Gives back the storage of the temporary tables that were left; which they were.
    pub async fn sweep_temporary(&self) -> Vec<TableId> {
        let left = std::mem::take(&mut *self.temporary.left.lock());
        if left.is_empty() {
            return Vec::new();
        }
        let _one_at_a_time = self.ddl.lock().await;
        let mut swept = Vec::new();
        for table in left {
            self.temporary.dismiss(table.id);
            self.give_back(spaces(&table), Lasts::WhileOpen).await;
            swept.push(table.id);
        }
        swept
    }
}
