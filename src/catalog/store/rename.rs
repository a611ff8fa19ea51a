//! Other names for tables, and definitions that are announced without being stored.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Catalog, Definitions, SYSTEM_SPACE, no_table, table_key, unknown_database, views};
use crate::catalog::persist;
use crate::catalog::schema::{IndexId, Table, TableId};
use crate::catalog::view::View;
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::WriteSet;

/// A database and a name in it.
type Named = (String, String);

impl Definitions {
    /// The table that has this index.
    pub fn owner(&self, index: IndexId) -> Option<&Arc<Table>> {
        let is_owner = |table: &&Arc<Table>| table.indexes.iter().any(|has| has.id == index);
        self.all_tables().find(is_owner)
    }

    /// The tables of all databases.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        let databases = self.databases.values();
        databases.flat_map(|within| within.tables.values())
    }

    /// # Errors
    /// 1050 when a table or a view has the name, 1049 when there is no such database.
    pub(super) fn check_free(&self, database: &str, name: &str) -> Result<()> {
        if self.database(database)?.has(name) {
            let text = format!("Table '{name}' already exists");
            return Err(Error::new(Code::TableExists, text));
        }
        Ok(())
    }

    /// Takes a table out.
    pub(super) fn take(&mut self, database: &str, name: &str) -> Option<Arc<Table>> {
        self.databases.get_mut(database)?.tables.remove(name)
    }

    /// Puts a table in, under its name.
    pub(super) fn put(&mut self, table: &Arc<Table>) {
        if let Some(within) = self.databases.get_mut(&table.database) {
            within.tables.insert(table.name.clone(), Arc::clone(table));
        }
    }
}

impl Catalog {
    /// Gives tables and views other names, one after the other and all or none: so two can swap.
    /// With `if_exists` those that are not there by then are left out; returns the errors of these.
    ///
    /// # Errors
    /// 1049 or 1146; 1050 when a name is taken; 1235 for a view that would change its database;
    /// those of the engine.
    pub async fn rename_tables(
        &self,
        pairs: &[(Named, Named)],
        if_exists: bool,
    ) -> Result<Vec<Error>> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        let mut writes = WriteSet::blind();
        let mut renamed: Vec<TableId> = Vec::new();
        let mut views: BTreeSet<Named> = BTreeSet::new();
        let mut missing = Vec::new();
        for ((database, name), to) in pairs {
            let is_there = next.has(database, name);
            if is_there {
                // Before it is taken out: its own name is not free either.
                next.check_free(&to.0, &to.1)?;
            }
            if if_exists && !is_there {
                missing.push(no_table(database, name));
            } else if let Some(table) = next.take(database, name) {
                table.check_settled()?;
                let mut table = Table::clone(&table);
                (table.database, table.name) = to.clone();
                renamed.push(table.id);
                next.put(&Arc::new(table));
            } else {
                next.rename_view((database, name), to)?;
                views.extend([(database.clone(), name.clone()), to.clone()]);
            }
        }
        if renamed.is_empty() && views.is_empty() {
            return Ok(missing);
        }
        let tables = next
            .all_tables()
            .filter(|table| renamed.contains(&table.id));
        for table in tables {
            writes.put(SYSTEM_SPACE, table_key(table.id), persist::encode(table));
        }
        for (database, name) in views {
            match next.view(&database, &name) {
                Some(view) => {
                    writes.put(SYSTEM_SPACE, views::key(view), persist::encode_view(view));
                }
                None => writes.delete(SYSTEM_SPACE, SystemKey::View { database, name }.encode()),
            }
        }
        self.publish(writes, next).await?;
        Ok(missing)
    }

    /// Lets everybody see another definition of a table that is not stored: after a crash it never
    /// was. From then on all commits are made with it.
    ///
    /// # Errors
    /// 1049 or 1146; those of `change`.
    pub async fn announce(
        &self,
        (database, name): (&str, &str),
        change: impl FnOnce(&mut Table) -> Result<()> + Send,
    ) -> Result<Arc<Table>> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        let mut table = Table::clone(next.table(database, name)?);
        table.check_settled()?;
        change(&mut table)?;
        let table = Arc::new(table);
        next.put(&table);
        let _closed = self.gate.close().await;
        self.version.fetch_add(1, Ordering::AcqRel);
        self.show(next);
        self.version.fetch_add(1, Ordering::AcqRel);
        Ok(table)
    }
}

impl Definitions {
    fn rename_view(&mut self, (database, name): (&str, &str), to: &Named) -> Result<()> {
        let within = self.databases.get_mut(database);
        let within = within.ok_or_else(|| unknown_database(database))?;
        let view = within.views.remove(name);
        let view = view.ok_or_else(|| no_table(database, name))?;
        if to.0 != database {
            let text = "Changing schema of a view: CREATE VIEW there and DROP VIEW here";
            return Err(Error::unsupported(text));
        }
        let mut view = View::clone(&view);
        view.name.clone_from(&to.1);
        if let Some(within) = self.databases.get_mut(&to.0) {
            within.views.insert(to.1.clone(), Arc::new(view));
        }
        Ok(())
    }
}
