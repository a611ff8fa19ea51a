//! CREATE TEMPORARY TABLE: tables that one session sees, and that end with it.
//!
//! A temporary table hides the table or view that has its name, but not inside of views. It is listed
//! nowhere; DESCRIBE and SHOW CREATE TABLE tell of it by name. Making and dropping it commits nothing,
//! its rows belong to transactions like others; changing its definition (`alter`) commits. Source:
//! MySQL manual, "CREATE TEMPORARY TABLE Statement".

mod alter;

use std::sync::Arc;

use super::Session;
use crate::catalog::{Catalog, Table};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{CreateTable, DropTable, TableName};

/// Temporary tables one session may have: each costs a storage space, and dynamic SQL that forgets
/// to drop them should not fill the engine.
const TEMPORARY_TABLES_MAX: usize = 1000;

/// What a table goes by that is being filled: no name of a table.
const UNNAMED: &str = "";

/// What names led to at one moment: the definitions, by their stamp, and the session's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    stored: u64,
    changes: u64,
}

/// A temporary table under the name that leads to it.
struct Named {
    database: String,
    name: String,
    table: Arc<Table>,
}

/// The temporary tables of a session. Few: looked for one by one, before those that all sessions see.
pub(super) struct Temporary {
    catalog: Arc<Catalog>,
    /// Those that have a name.
    named: Vec<Named>,
    /// Dropped while a transaction was open that may have written them: kept until it has ended.
    dropped: Vec<Arc<Table>>,
    /// How often one got a name, or lost it.
    changes: u64,
}

impl Temporary {
    /// None yet.
    pub(super) fn new(catalog: &Arc<Catalog>) -> Temporary {
        Temporary {
            catalog: Arc::clone(catalog),
            named: Vec::new(),
            dropped: Vec::new(),
            changes: 0,
        }
    }

    /// The temporary table that a name leads to.
    pub(super) fn find(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        let mut named = self.named.iter();
        let found = named.find(|own| own.database == database && own.name == name);
        found.map(|own| &own.table)
    }

    fn add(&mut self, table: Arc<Table>) {
        let (database, name) = (table.database.clone(), table.name.clone());
        self.add_as((database, name), table);
    }

    /// Adds a table under another name than its own.
    fn add_as(&mut self, (database, name): (String, String), table: Arc<Table>) {
        self.changes += 1;
        self.named.push(Named {
            database,
            name,
            table,
        });
    }

    /// Takes the name from a table, if it leads to one.
    fn take(&mut self, database: &str, name: &str) -> Option<Arc<Table>> {
        let mut named = self.named.iter();
        let position = named.position(|own| own.database == database && own.name == name)?;
        self.changes += 1;
        Some(self.named.remove(position).table)
    }

    /// Takes the name from a table that is needed no more.
    fn remove(&mut self, database: &str, name: &str) {
        let taken = self.take(database, name);
        self.dropped.extend(taken);
    }

    /// Leaves all of them.
    pub(super) fn leave_all(&mut self) {
        self.leave_dropped();
        self.changes += 1;
        let tables = self.named.drain(..).map(|own| own.table);
        self.catalog.leave_temporary(tables);
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
    /// What the names of this session lead to now.
    pub(super) fn seen(&self) -> Seen {
        Seen {
            stored: self.shared.catalog.stamp(),
            changes: self.temporary.changes,
        }
    }

    /// The temporary table that a name leads to.
    pub(super) fn named_temporary(&self, name: &TableName) -> Option<&Arc<Table>> {
        let database = self.database_or_current(name.database.as_deref()).ok()?;
        self.temporary.find(&database, &name.name)
    }

    /// Whether the table was created: it was not if it is there, and `IF NOT EXISTS` is written.
    ///
    /// # Errors
    /// As [`Session::made_temporary`].
    pub(super) async fn create_temporary(&mut self, create: &CreateTable) -> Result<bool> {
        let Some(table) = self.made_temporary(create).await? else {
            return Ok(false);
        };
        self.temporary.add(table);
        self.sweep_temporary().await;
        Ok(true)
    }

    /// Makes a table that has the name [`UNNAMED`] until [`Session::name_temporary`]: what is read to
    /// fill it may have its name until then. `None` as in [`Session::create_temporary`].
    ///
    /// # Errors
    /// As [`Session::made_temporary`].
    pub(super) async fn create_unnamed(
        &mut self,
        create: &CreateTable,
    ) -> Result<Option<TableName>> {
        let Some(table) = self.made_temporary(create).await? else {
            return Ok(None);
        };
        let name = self.show_unnamed(table);
        self.sweep_temporary().await;
        Ok(Some(name))
    }

    /// Lets this session find a table, that has no name yet, to fill it.
    pub(super) fn show_unnamed(&mut self, table: Arc<Table>) -> TableName {
        let place = (table.database.clone(), UNNAMED.to_owned());
        let name = TableName {
            database: Some(place.0.clone()),
            name: place.1.clone(),
        };
        self.temporary.add_as(place, table);
        name
    }

    /// Whether a table is being filled that has no name yet.
    pub(super) fn is_unnamed(&self, table: &Table) -> bool {
        let unnamed = self.temporary.find(&table.database, UNNAMED);
        unnamed.is_some_and(|unnamed| unnamed.id == table.id)
    }

    /// Takes back [`Session::show_unnamed`].
    pub(super) fn hide_unnamed(&mut self, table: &Table) {
        self.temporary.take(&table.database, UNNAMED);
    }

    /// Gives the table its own name, or takes it back.
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) async fn name_temporary(&mut self, name: &TableName, is_filled: bool) -> Result<()> {
        let database = self.database_or_current(name.database.as_deref())?;
        let table = self.temporary.take(&database, &name.name);
        match table {
            Some(table) if is_filled => self.temporary.add(table),
            other => self.temporary.dropped.extend(other),
        }
        self.sweep_temporary().await;
        Ok(())
    }

    /// Makes the storage of a table.
    ///
    /// # Errors
    /// 1049, 1050; 1041 past [`TEMPORARY_TABLES_MAX`]; those of the definition and of the engine.
    async fn made_temporary(&mut self, create: &CreateTable) -> Result<Option<Arc<Table>>> {
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
                return Ok(None);
            }
            return Err(error);
        }
        if TEMPORARY_TABLES_MAX <= self.temporary.named.len() {
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
        self.keep_ids(&table);
        if let Some(transaction) = &mut self.transaction {
            transaction.meet_own(&table);
        }
        Ok(Some(table))
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
        self.sweep_temporary().await;
        Ok(())
    }

    /// Empties a temporary table, by giving it new storage.
    pub(super) async fn truncate_temporary(&mut self, table: &Arc<Table>) -> Result<()> {
        let mut emptied = Table::clone(table);
        emptied.count_from(1);
        emptied.forget_past();
        let new = self.shared.catalog.create_temporary(emptied).await?;
        self.keep_ids(&new);
        self.temporary.remove(&table.database, &table.name);
        self.temporary.add(new);
        self.sweep_temporary().await;
        Ok(())
    }

    /// Gives back the storage of temporary tables that are used no more.
    pub(super) async fn sweep_temporary(&mut self) {
        if self.transaction.is_none() {
            self.temporary.leave_dropped();
        }
        let swept = self.shared.catalog.sweep_temporary().await;
        self.shared.ids.counters.forget(&swept);
    }

    /// # Errors
    /// 1235 when the name leads to a temporary table.
    pub(super) fn refuse_temporary(&self, name: &TableName, statement: &str) -> Result<()> {
        match self.named_temporary(name) {
            None => Ok(()),
            Some(_) => Err(Error::unsupported(format!(
                "{statement} of a temporary table"
            ))),
        }
    }
}
