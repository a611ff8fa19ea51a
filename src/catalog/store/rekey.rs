//! Another primary key for a table: its shadow is announced, becomes the table, or is given up.
//!
//! ```text
//!  begin_rekey    the definition gets a shadow with storage of its own; every commit from then on
//!                 writes both
//!  finish_rekey   one commit puts the shadow in the place of the table; then the old storage goes
//!  give_up_rekey  the shadow goes, with its storage
//! ```
//! Filling the shadow with the rows that are there is the room of execution's (`exec/backfill`).

use std::sync::Arc;

use super::storage::{Lasts, spaces};
use super::{Catalog, Definitions, SYSTEM_SPACE, table_key};
use crate::catalog::persist;
use crate::catalog::schema::{Column, ColumnDefault, IndexId, IndexState, KeyPart, Table, TableId};
use crate::catalog::size;
use crate::catalog::wide::ColumnPlace;
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::WriteSet;

impl Table {
    /// The same columns and indexes with another primary key, which have no storage yet.
    pub fn with_key(&self, key: Vec<KeyPart>) -> Table {
        let mut table = self.clone();
        table.shadow = None;
        for part in &key {
            if let Some(column) = table.columns.get_mut(part.column_idx) {
                column.nullable = false;
                if matches!(&column.default, ColumnDefault::Constant(value) if value.is_null()) {
                    column.default = ColumnDefault::None;
                }
            }
        }
        table.key = key;
        table
    }

    /// Refuses another change while the primary key is being changed.
    ///
    /// # Errors
    /// 1205.
    pub fn check_settled(&self) -> Result<()> {
        if self.shadow.is_none() {
            return Ok(());
        }
        let text = format!(
            "Lock wait timeout exceeded; try restarting transaction: the primary key of '{}' is \
             being changed, see SHOW PROCESSLIST",
            self.name
        );
        Err(Error::new(Code::LockWaitTimeout, text))
    }

    /// Takes out what only the old key needed: the hidden column of a table declared without key.
    fn drop_hidden_key(&mut self) -> Result<()> {
        let columns = self.columns.iter().enumerate();
        let kept = columns.filter(|(idx, column)| {
            let is_of_key = column.hidden && column.place == ColumnPlace::Row;
            !is_of_key || self.key.iter().any(|part| part.column_idx == *idx)
        });
        let placed = kept.map(|(idx, column)| (Some(idx), Column::clone(column)));
        self.reshape(placed.collect())
    }
}

impl Definitions {
    /// The table that has this shadow.
    pub fn rekeyed(&self, shadow: TableId) -> Option<&Arc<Table>> {
        let has_it =
            |table: &&Arc<Table>| table.shadow.as_ref().is_some_and(|has| has.id == shadow);
        self.all_tables().find(has_it)
    }
}

impl Catalog {
    /// Gives a table a shadow with the key that `define` says; the definition that has it.
    ///
    /// # Errors
    /// 1049 or 1146; 1205 when the key is being changed already, or an index is being built; those
    /// of `define` and of the engine.
    pub async fn begin_rekey(
        &self,
        (database, name): (&str, &str),
        define: impl FnOnce(&Table) -> Result<Table> + Send,
    ) -> Result<Arc<Table>> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut table = Table::clone(self.current().table(database, name)?);
        check_idle(&table)?;
        let mut shadow = define(&table)?;
        size::ask(&shadow)?;
        persist::check_constants(Some(&table), &shadow)?;
        shadow.id = TableId(self.new_space(Lasts::Always).await?.0);
        for index in &mut shadow.indexes {
            index.id = IndexId(self.new_space(Lasts::Always).await?.0);
        }
        table.shadow = Some(Arc::new(shadow));
        self.replace(table, None).await
    }

    /// Puts a shadow that has all rows in the place of its table, and gives back the storage of that;
    /// the record of the build goes with it.
    ///
    /// # Errors
    /// 1412 when no table has the shadow any more; those of the engine.
    pub async fn finish_rekey(&self, shadow: TableId) -> Result<Arc<Table>> {
        let one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        let old = next.rekeyed(shadow).map(Arc::clone).ok_or_else(gone)?;
        let mut old = Table::clone(&old);
        let table = old.shadow.take().ok_or_else(gone)?;
        let mut table = Table::clone(&table);
        table.drop_hidden_key()?;
        let mut writes = WriteSet::blind();
        writes.delete(SYSTEM_SPACE, table_key(old.id));
        writes.delete(SYSTEM_SPACE, SystemKey::Build(table.id.0).encode());
        writes.put(SYSTEM_SPACE, table_key(table.id), persist::encode(&table));
        let table = Arc::new(table);
        next.put(&table);
        self.publish(writes, next).await?;
        drop(one_at_a_time);
        self.give_back(spaces(&old), Lasts::Always).await;
        Ok(table)
    }

    /// Takes a shadow away, with its storage; nothing happens when it is there no more.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn give_up_rekey(&self, shadow: TableId) -> Result<()> {
        let one_at_a_time = self.ddl.lock().await;
        let owner = self.current().rekeyed(shadow).map(Arc::clone);
        let Some(owner) = owner else {
            return Ok(());
        };
        let mut table = Table::clone(&owner);
        let taken = table.shadow.take();
        self.replace(table, None).await?;
        drop(one_at_a_time);
        let taken_spaces = taken.iter().flat_map(|taken| spaces(taken));
        self.give_back(taken_spaces, Lasts::Always).await;
        Ok(())
    }
}

/// Refuses to begin beside another change that goes on.
fn check_idle(table: &Table) -> Result<()> {
    table.check_settled()?;
    let what = if let Some(index) = table
        .indexes
        .iter()
        .find(|index| index.state == IndexState::Building)
    {
        format!("index '{}' is being built", index.name)
    } else if table.is_pledged() {
        format!("another ALTER TABLE of '{}' looks at its rows", table.name)
    } else {
        return Ok(());
    };
    let text = format!("Lock wait timeout exceeded; try restarting transaction: {what}");
    Err(Error::new(Code::LockWaitTimeout, text))
}

fn gone() -> Error {
    let text = "the table was changed while its primary key was being changed";
    Error::new(Code::TableDefinitionChanged, text)
}
