//! Definitions as an engine has them, and tables that are filled before anybody sees their definition: those
//! that come from elsewhere, and those of a query.
//!
//! Until a table is adopted its storage belongs to none, and goes when the catalog is opened again.

use std::sync::Arc;

use super::storage::{Lasts, ending_spaces, spaces};
use super::{Catalog, Definitions, SYSTEM_SPACE, read, table_key, unknown_database};
use crate::catalog::schema::Table;
use crate::catalog::{persist, size};
use crate::error::Result;
use crate::kv::{Engine, WriteSet};

impl Definitions {
    /// Reads those of an engine that is not to be changed, and tells it which rows end, those of dropped
    /// tables among them.
    ///
    /// # Errors
    /// Those of the engine; 1712 for a definition that cannot be read.
    pub async fn read(engine: &dyn Engine) -> Result<Definitions> {
        let definitions = read::all(engine).await?;
        if let Some(expiry) = engine.expiry() {
            let trashed = definitions.trash.values().map(|trashed| &trashed.table);
            let tables = definitions.all_tables().chain(trashed);
            expiry.watch(tables.flat_map(|table| ending_spaces(table)).collect());
        }
        Ok(definitions)
    }
}

impl Catalog {
    /// Gives a table of another engine storage in this one, empty, and nobody's yet.
    ///
    /// # Errors
    /// 1049, 1050; 1041 when there are too many tables; those of the engine.
    pub async fn house(&self, table: &mut Table) -> Result<()> {
        let _one_at_a_time = self.ddl.lock().await;
        self.check_new(table)?;
        self.give_storage(table, Lasts::Always).await
    }

    /// Makes a table that statements can write and no name leads to: it is filled, and then comes
    /// [`Catalog::adopt`] or [`Catalog::abandon`].
    ///
    /// # Errors
    /// As [`Catalog::house`]; 1235 for a default that cannot be stored.
    pub async fn foster(&self, mut table: Table) -> Result<Arc<Table>> {
        let _one_at_a_time = self.ddl.lock().await;
        self.check_new(&table)?;
        size::ask(&table)?;
        persist::check_constants(None, &table)?;
        self.give_storage(&mut table, Lasts::Always).await?;
        let table = Arc::new(table);
        self.temporary.admit(&table);
        self.watch(&self.current());
        Ok(table)
    }

    /// Publishes a table whose storage was made by [`Catalog::house`] or [`Catalog::foster`], and is filled.
    ///
    /// # Errors
    /// 1049, 1050; those of the engine.
    pub async fn adopt(&self, table: &Arc<Table>) -> Result<()> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        next.check_free(&table.database, &table.name)?;
        let mut writes = WriteSet::blind();
        writes.put(SYSTEM_SPACE, table_key(table.id), persist::encode(table));
        let within = next.databases.get_mut(&table.database);
        let within = within.ok_or_else(|| unknown_database(&table.database))?;
        within.tables.insert(table.name.clone(), Arc::clone(table));
        self.publish_addition(writes, next).await?;
        self.temporary.dismiss(table.id);
        Ok(())
    }

    /// Gives back what a table has that nobody adopts.
    pub async fn abandon(&self, table: &Table) {
        let _one_at_a_time = self.ddl.lock().await;
        self.temporary.dismiss(table.id);
        self.give_back(spaces(table), Lasts::Always).await;
    }

    /// # Errors
    /// 1049, 1050, 1041.
    fn check_new(&self, table: &Table) -> Result<()> {
        let current = self.current();
        current.check_free(&table.database, &table.name)?;
        current.check_count()
    }
}
