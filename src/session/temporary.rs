//! CREATE TEMPORARY TABLE: tables that one session sees, and that end with it.
//!
//! A temporary table hides the table or view that has its name, but not inside of views. It is listed
//! nowhere; DESCRIBE and SHOW CREATE TABLE tell of it by name. Making and dropping it commits nothing,
//! its rows belong to transactions like others; changing its definition (`alter`) commits. Source:
//! MySQL manual, "CREATE TEMPORARY TABLE Statement".

mod alter;

use std::sync::Arc;

use parking_lot::Mutex;

use super::Session;
use crate::catalog::{Catalog, Definitions, Table};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{CreateTable, DropTable, TableName};

/// Temporary tables one session may have: each costs a storage space, and dynamic SQL that forgets
/// to drop them should not fill the engine.
const TEMPORARY_TABLES_MAX: usize = 1000;

/// The temporary tables of a session.
pub(super) struct Temporary {
    catalog: Arc<Catalog>,
    /// Those that have a name.
    tables: Vec<Arc<Table>>,
    /// Dropped while a transaction was open that may have written them: kept until it has ended.
    dropped: Vec<Arc<Table>>,
    /// The definitions of all with those of this session, and what they were made from.
    merged: Mutex<Option<Merged>>,
}

struct Merged {
    stored: Arc<Definitions>,
    own: Arc<Definitions>,
}

impl Temporary {
    /// None yet.
    pub(super) fn new(catalog: &Arc<Catalog>) -> Temporary {
        Temporary {
            catalog: Arc::clone(catalog),
            tables: Vec::new(),
            dropped: Vec::new(),
            merged: Mutex::default(),
        }
    }

    /// The temporary table of that name.
    pub(super) fn find(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        let mut tables = self.tables.iter();
        tables.find(|table| table.database == database && table.name == name)
    }

    /// The definitions that names lead to: the same while nothing changes.
    fn over(&self, stored: Arc<Definitions>) -> Arc<Definitions> {
        if self.tables.is_empty() {
            return stored;
        }
        let mut merged = self.merged.lock();
        if let Some(known) = merged.as_ref()
            && Arc::ptr_eq(&known.stored, &stored)
        {
            return Arc::clone(&known.own);
        }
        let own = Arc::new(stored.with_temporary(&self.tables));
        let made = Arc::clone(&own);
        *merged = Some(Merged { stored, own });
        made
    }

    fn add(&mut self, table: Arc<Table>) {
        self.tables.push(table);
        *self.merged.get_mut() = None;
    }

    /// Puts another table into the place of one.
    fn replace(&mut self, old: &Arc<Table>, new: Arc<Table>) {
        self.tables.retain(|table| !Arc::ptr_eq(table, old));
        self.add(new);
    }

    /// Takes the name from a table whose storage stays.
    fn forget(&mut self, database: &str, name: &str) {
        self.tables
            .retain(|table| table.database != database || table.name != name);
        *self.merged.get_mut() = None;
    }

    /// Takes the name from a table; whether there was one.
    fn remove(&mut self, database: &str, name: &str) -> bool {
        let position = self
            .tables
            .iter()
            .position(|table| table.database == database && table.name == name);
        let Some(position) = position else {
            return false;
        };
        self.dropped.push(self.tables.remove(position));
        *self.merged.get_mut() = None;
        true
    }

    /// Leaves all of them.
    pub(super) fn leave_all(&mut self) {
        self.leave_dropped();
        self.catalog.leave_temporary(self.tables.drain(..));
        *self.merged.get_mut() = None;
    }

    fn leave_dropped(&mut self) {
        self.catalog.leave_temporary(self.dropped.drain(..));
    }
}

/// However the session ended.
impl Drop for Temporary {
    fn drop(&mut self) {
        self.leave_all();
    }
}

impl Session {
    /// The definitions that this session's names lead to.
    pub(super) fn definitions(&self) -> Arc<Definitions> {
        self.temporary.over(self.shared.catalog.current())
    }

    /// The temporary table that a name leads to.
    pub(super) fn named_temporary(&self, name: &TableName) -> Option<&Arc<Table>> {
        let database = self.database_or_current(name.database.as_deref()).ok()?;
        self.temporary.find(&database, &name.name)
    }

    /// Whether the table was created: it was not if it is there, and `IF NOT EXISTS` is written.
    ///
    /// # Errors
    /// 1049, 1050; 1041 past [`TEMPORARY_TABLES_MAX`]; those of the definition and of the engine.
    pub(super) async fn create_temporary(&mut self, create: &CreateTable) -> Result<bool> {
        let database = self.database_or_current(create.table.database.as_deref())?;
        if !self.knows_database(&database) {
            let text = format!("Unknown database '{database}'");
            return Err(Error::new(Code::UnknownDatabase, text));
        }
        if self.named_temporary(&create.table).is_some() {
            let text = format!("Table '{}' already exists", create.table.name);
            let error = Error::new(Code::TableExists, text);
            if create.if_not_exists {
                self.note(&error);
                return Ok(false);
            }
            return Err(error);
        }
        if TEMPORARY_TABLES_MAX <= self.temporary.tables.len() {
            let text = format!(
                "this session has {TEMPORARY_TABLES_MAX} temporary tables, the most it may have"
            );
            return Err(Error::new(Code::OutOfResources, text));
        }
        let mut table = self.new_definition(create, &database)?;
        for column in &mut table.columns {
            // Nobody else writes it: nothing is gained by ids that are spread.
            if column.auto_increment && column.counted_from.is_none() {
                column.counted_from = Some(1);
            }
        }
        let table = self.shared.catalog.create_temporary(table).await?;
        if let Some(transaction) = &mut self.transaction {
            transaction.meet_own(&table);
        }
        self.temporary.add(table);
        self.sweep_temporary().await?;
        Ok(true)
    }

    /// `DROP TEMPORARY TABLE`: all or none.
    ///
    /// # Errors
    /// 1051 naming those that are no temporary tables.
    pub(super) async fn drop_temporary(&mut self, drop: &DropTable) -> Result<()> {
        let mut names = Vec::new();
        let mut missing = Vec::new();
        for table in &drop.tables {
            let database = self.database_or_current(table.database.as_deref())?;
            if self.temporary.find(&database, &table.name).is_some() {
                names.push((database, table.name.clone()));
            } else {
                missing.push(format!("{database}.{}", table.name));
            }
        }
        if !missing.is_empty() {
            let text = format!("Unknown table '{}'", missing.join(","));
            let error = Error::new(Code::UnknownTable, text);
            if !drop.if_exists {
                return Err(error);
            }
            self.note(&error);
        }
        self.remove_temporary(&names).await
    }

    /// Takes the names from temporary tables, and gives back what no open transaction may need.
    pub(super) async fn remove_temporary(&mut self, names: &[(String, String)]) -> Result<()> {
        for (database, name) in names {
            self.temporary.remove(database, name);
        }
        self.sweep_temporary().await
    }

    /// Empties a temporary table, by giving it new storage.
    pub(super) async fn truncate_temporary(&mut self, table: &Arc<Table>) -> Result<()> {
        let new = self.shared.catalog.create_temporary(Table::clone(table));
        let new = new.await?;
        self.temporary.remove(&table.database, &table.name);
        self.temporary.add(new);
        self.sweep_temporary().await
    }

    /// Gives back the storage of temporary tables that are used no more.
    pub(super) async fn sweep_temporary(&mut self) -> Result<()> {
        if self.transaction.is_none() {
            self.temporary.leave_dropped();
        }
        if !self.shared.catalog.sweep_temporary().await?.is_empty() {
            let counters = &self.shared.ids.counters;
            counters.sweep(self.shared.engine.as_ref());
        }
        Ok(())
    }

    /// # Errors
    /// 1235 when the name leads to a temporary table, which keeps its first form.
    pub(super) fn refuse_temporary(&self, name: &TableName, statement: &str) -> Result<()> {
        match self.named_temporary(name) {
            None => Ok(()),
            Some(_) => Err(Error::unsupported(format!(
                "{statement} of a temporary table"
            ))),
        }
    }
}
