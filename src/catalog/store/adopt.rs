//! Definitions as an engine has them, and tables that come with rows from elsewhere.
//!
//! A table that comes is filled before anybody sees its definition: until then its storage belongs to
//! no table, and goes when the catalog is opened again.

use std::sync::Arc;

use super::storage::{Lasts, ending_spaces};
use super::{Catalog, Definitions, SYSTEM_SPACE, read, table_key, unknown_database};
use crate::catalog::persist;
use crate::catalog::schema::Table;
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
        let current = self.current();
        current.check_free(&table.database, &table.name)?;
        current.check_count()?;
        self.give_storage(table, Lasts::Always).await
    }

    /// Publishes a table whose storage was made by [`Catalog::house`] and is filled.
    ///
    /// # Errors
    /// 1049, 1050; those of the engine.
    pub async fn adopt(&self, table: Table) -> Result<()> {
        let _one_at_a_time = self.ddl.lock().await;
        let mut next = Definitions::clone(&self.current());
        next.check_free(&table.database, &table.name)?;
        let mut writes = WriteSet::blind();
        writes.put(SYSTEM_SPACE, table_key(table.id), persist::encode(&table));
        let within = next.databases.get_mut(&table.database);
        let within = within.ok_or_else(|| unknown_database(&table.database))?;
        within.tables.insert(table.name.clone(), Arc::new(table));
        self.publish_addition(writes, next).await
    }
}
