//! Changes of one table, made under the lock of DDL from the definition of then.

use std::sync::Arc;

use super::storage::Lasts;
use super::{Catalog, Definitions};
use crate::catalog::persist;
use crate::catalog::schema::{INDEXES_MAX, Index, IndexId, IndexState, Table, TableId};
use crate::catalog::size;
use crate::error::{Code, Error, Result};
use crate::kv::Space;

impl IndexId {
    /// No index has it: an index that is to get its storage when it is published.
    pub const NEW: IndexId = IndexId(0);
}

impl Catalog {
    /// Changes a table as `change` says, all or none; the new definition. Indexes with
    /// [`IndexId::NEW`] get storage, and that of ids that are no longer there is given back.
    ///
    /// # Errors
    /// 1049 or 1146; 1050 when it is given a name that is taken; 1069 past [`INDEXES_MAX`]; 1041 when there
    /// is no memory for it; those of `change` and of the engine.
    pub async fn change_table(
        &self,
        (database, name): (&str, &str),
        change: impl FnOnce(&mut Table) -> Result<()> + Send,
    ) -> Result<Arc<Table>> {
        let _one_at_a_time = self.ddl.lock().await;
        let old = Arc::clone(self.current().table(database, name)?);
        self.change(&old, change).await
    }

    /// The same for the table with this id, whatever its name is by now; `None` when it is gone.
    ///
    /// # Errors
    /// As [`Catalog::change_table`].
    pub async fn change_table_of(
        &self,
        id: TableId,
        change: impl FnOnce(&mut Table) -> Result<()> + Send,
    ) -> Result<Option<Arc<Table>>> {
        let _one_at_a_time = self.ddl.lock().await;
        let found = self.current().table_of(id).map(Arc::clone);
        match found {
            Some(old) => self.change(&old, change).await.map(Some),
            None => Ok(None),
        }
    }

    async fn change(
        &self,
        old: &Arc<Table>,
        change: impl FnOnce(&mut Table) -> Result<()> + Send,
    ) -> Result<Arc<Table>> {
        old.check_settled()?;
        let mut table = Table::clone(old);
        change(&mut table)?;
        table.check_indexes_count()?;
        size::ask_growth((old, &table))?;
        persist::check_constants(Some(old), &table)?;
        let has_moved = table.name != old.name || table.database != old.database;
        if has_moved {
            self.current().check_free(&table.database, &table.name)?;
        }
        for index in &mut table.indexes {
            if index.id == IndexId::NEW {
                index.id = IndexId(self.new_space(Lasts::Always).await?.0);
            }
        }
        if let Some(versions) = &mut table.wide.versions
            && versions.deletions == 0
        {
            versions.deletions = self.new_space(Lasts::Always).await?.0;
        }
        let table = self.replace(table, has_moved.then_some(&**old)).await?;
        let is_lost = |index: &&Index| table.indexes.iter().all(|kept| kept.id != index.id);
        let lost = old.indexes.iter().filter(is_lost);
        let lost = lost.map(|index| Space(index.id.0));
        self.give_back(lost, Lasts::Always).await;
        Ok(table)
    }

    /// Gives an index another name.
    ///
    /// # Errors
    /// 1049 or 1146; 1176 when there is no such index; 1061 when another one has the name; those
    /// of the engine.
    pub async fn rename_index(
        &self,
        table: (&str, &str),
        (from, to): (&str, &str),
    ) -> Result<Arc<Table>> {
        self.change_table(table, |table| table.rename_index(from, to))
            .await
    }
}

impl Definitions {
    /// The table with this id.
    fn table_of(&self, id: TableId) -> Option<&Arc<Table>> {
        self.all_tables().find(|table| table.id == id)
    }
}

impl Table {
    /// Gives an index another name in this definition.
    ///
    /// # Errors
    /// 1176 when there is no such index, 1061 when another one has the name.
    pub fn rename_index(&mut self, from: &str, to: &str) -> Result<()> {
        let Some(position) = self.index_position(from) else {
            let text = format!("Key '{from}' doesn't exist in table '{}'", self.name);
            return Err(Error::new(Code::KeyMissing, text));
        };
        if self
            .index_position(to)
            .is_some_and(|other| other != position)
        {
            let text = format!("Duplicate key name '{to}'");
            return Err(Error::new(Code::DuplicateKeyName, text));
        }
        if let Some(index) = self.indexes.get_mut(position) {
            to.clone_into(&mut index.name);
        }
        Ok(())
    }

    /// Refuses more than [`INDEXES_MAX`] indexes.
    ///
    /// # Errors
    /// 1069.
    pub fn check_indexes_count(&self) -> Result<()> {
        if self.indexes.len() <= INDEXES_MAX {
            return Ok(());
        }
        let text = format!("Too many keys specified; max {INDEXES_MAX} keys allowed");
        Err(Error::new(Code::TooManyKeys, text))
    }

    /// Disables an index: it gets new, empty storage, where a later build can begin.
    pub fn disable_index(&mut self, id: IndexId) {
        for index in self.indexes.iter_mut().filter(|index| index.id == id) {
            index.id = IndexId::NEW;
            index.state = IndexState::Disabled;
        }
    }
}
