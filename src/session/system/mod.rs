//! `information_schema` and what clients read of `performance_schema` and `mysql`: tables whose rows
//! are made up when they are read.
//!
//! One registry, [`ALL`]: each table declares its columns, and with each column what makes its value
//! (`table`). To the evaluator they are sources like others ([`crate::sql::listed`]), so any query
//! works on them; SHOW lists the same rows. Columns, types and order are MySQL 8.0's (manual,
//! chapter on `INFORMATION_SCHEMA`), but what is an ENUM or SET there is a VARCHAR here.

mod absent;
mod accounts;
mod columns;
mod digests;
mod keys;
mod schemata;
mod server;
mod table;
mod variables;
mod views;

use std::fmt;
use std::sync::Arc;

use self::table::SystemTable;
use super::shared::Shared;
use super::state::State;
use super::temporary::Temporary;
use crate::catalog::{Column, Definitions, Table, TableId, View, Wide};
use crate::codec::row::ColumnId;
use crate::error::{Code, Error, Result};
use crate::sql::bind::FindTable;
use crate::sql::context::SessionFacts;
use crate::sql::expr::VariableScope;
use crate::sql::listed::{Asked, ListRows, Listed, Take};
use crate::types::{ColumnType, Value, Zone};

/// The database that describes all others.
pub(super) const INFORMATION_SCHEMA: &str = "information_schema";
/// The database of what the server does.
const PERFORMANCE_SCHEMA: &str = "performance_schema";
/// The database of accounts.
const MYSQL: &str = "mysql";

/// The databases of the server, in order of name.
pub(super) const DATABASES: [&str; 4] = [INFORMATION_SCHEMA, MYSQL, PERFORMANCE_SCHEMA, "sys"];

/// Those of them that are listed. The others have nothing that a dump of all databases should hold:
/// their tables can be read by name.
const LISTED: [&str; 2] = [INFORMATION_SCHEMA, PERFORMANCE_SCHEMA];

/// Columns whose texts are compared without case, in whatever table they are.
const CASELESS: &[&str] = &[
    "CHARACTER_SET_NAME",
    "CHECK_OPTION",
    "COLLATION_NAME",
    "COLUMN_KEY",
    "COLUMN_NAME",
    "COLUMN_TYPE",
    "COMMAND",
    "CONSTRAINT_NAME",
    "CONSTRAINT_TYPE",
    "DATA_TYPE",
    "DEFAULT_CHARACTER_SET_NAME",
    "DEFAULT_COLLATION_NAME",
    "ENGINE",
    "EXTRA",
    "INDEX_NAME",
    "INDEX_TYPE",
    "IS_GRANTABLE",
    "IS_NULLABLE",
    "IS_UPDATABLE",
    "IS_VISIBLE",
    "NULLABLE",
    "PLUGIN_NAME",
    "PRIVILEGE_TYPE",
    "REFERENCED_COLUMN_NAME",
    "ROUTINE_NAME",
    "ROUTINE_TYPE",
    "ROWS_EXACT",
    "ROW_FORMAT",
    "SUPPORT",
    "TABLE_COLLATION",
    "TABLE_TYPE",
    "VARIABLE_NAME",
    "WORD",
];

/// All tables of the system, in order of database and name.
static ALL: &[&dyn SystemTable] = &[
    &server::CHARACTER_SETS,
    &absent::CHECK_CONSTRAINTS,
    &server::COLLATIONS,
    &server::COLLATION_CHARACTER_SET_APPLICABILITY,
    &columns::COLUMNS,
    &absent::COLUMN_PRIVILEGES,
    &absent::COLUMN_STATISTICS,
    &server::ENGINES,
    &absent::EVENTS,
    &absent::FILES,
    &server::KEYWORDS,
    &keys::KEY_COLUMN_USAGE,
    &absent::PARAMETERS,
    &schemata::PARTITIONS,
    &server::PLUGINS,
    &server::PROCESSLIST,
    &absent::REFERENTIAL_CONSTRAINTS,
    &absent::ROUTINES,
    &schemata::SCHEMATA,
    &accounts::SCHEMA_PRIVILEGES,
    &keys::STATISTICS,
    &schemata::TABLES,
    &keys::TABLE_CONSTRAINTS,
    &accounts::TABLE_PRIVILEGES,
    &absent::TRIGGERS,
    &accounts::USER_PRIVILEGES,
    &views::VIEWS,
    &absent::COLUMNS_PRIV,
    &absent::HELP_TOPIC,
    &accounts::ROLE_EDGES,
    &accounts::TABLES_PRIV,
    &accounts::USER,
    &digests::DIGESTS,
    &variables::GLOBAL_STATUS,
    &variables::GLOBAL_VARIABLES,
    &variables::PERSISTED_VARIABLES,
    &server::PROCESSLIST_OF_PERFORMANCE,
    &absent::SESSION_CONNECT_ATTRS,
    &variables::SESSION_STATUS,
    &variables::SESSION_VARIABLES,
    &variables::USER_VARIABLES_BY_THREAD,
];

/// What rows are made from: the server, and the session that asks.
#[derive(Clone)]
pub(super) struct Scene {
    shared: Arc<Shared>,
    state: Arc<State>,
    /// The only table there is: a temporary one or one of the system, which may be listed nowhere, or one that
    /// the session may read without seeing it, through a view.
    only: Option<Arc<Table>>,
}

impl Scene {
    /// The scene of a session.
    pub(super) fn new(shared: &Arc<Shared>, state: &Arc<State>) -> Scene {
        Scene {
            shared: Arc::clone(shared),
            state: Arc::clone(state),
            only: None,
        }
    }

    /// The time zone of the session.
    ///
    /// # Errors
    /// 1298 for a time zone that does not exist.
    fn zone(&self) -> Result<Zone> {
        let name = self
            .state
            .system_variable(VariableScope::Session, "time_zone")?;
        Zone::parse(&name.to_text())
    }

    /// The same with one table only.
    pub(super) fn with_only(self, table: Option<&Arc<Table>>) -> Scene {
        Scene {
            only: table.map(Arc::clone),
            ..self
        }
    }

    /// The rows of some columns of a table of `information_schema`, by their names.
    ///
    /// # Errors
    /// 1109 for a name that is not there; those of what the rows are made from.
    pub(super) fn rows(
        &self,
        table: &str,
        columns: &[&str],
        only: &[(&str, &str)],
    ) -> Result<Vec<Vec<Value<'static>>>> {
        let Some(found) = find(INFORMATION_SCHEMA, table) else {
            return Err(unknown(INFORMATION_SCHEMA, table));
        };
        let names = found.columns();
        let position = |column: &str| {
            let idx = names.iter().position(|(name, _)| *name == column);
            idx.ok_or_else(|| Error::internal(format!("{table} has no column {column}")))
        };
        let columns = columns.iter().map(|column| position(column));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let only = only
            .iter()
            .map(|(column, text)| Ok((position(column)?, vec![(*text).to_owned()])));
        let asked = Asked {
            columns: &columns,
            only: &only.collect::<Result<Vec<_>>>()?,
        };
        let mut rows = Vec::new();
        found.list(self, &asked, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The types of columns of a table of `information_schema`.
    pub(super) fn type_of(table: &str, column: &str) -> ColumnType {
        let columns = find(INFORMATION_SCHEMA, table).map(SystemTable::columns);
        let mut columns = columns.into_iter().flatten();
        let found = columns.find(|(name, _)| *name == column);
        found.map_or(ColumnType::VARCHAR, |(_, ty)| ty)
    }
}

/// The rows of a table in a scene.
struct Rows {
    table: &'static dyn SystemTable,
    scene: Scene,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.table)
    }
}

impl ListRows for Rows {
    fn list(&self, asked: &Asked<'_>, take: Take<'_>) -> Result<()> {
        self.table.list(&self.scene, asked, take)
    }
}

/// Finds tables for the binder: stored ones, and those of the system.
pub(super) struct Tables<'a> {
    /// The stored ones.
    pub(super) definitions: &'a Definitions,
    /// The scene that rows of the others are made in.
    pub(super) scene: (&'a Arc<Shared>, &'a Arc<State>),
    /// The temporary tables of the session, and what is found without them.
    pub(super) own: Option<(&'a Temporary, &'a Tables<'a>)>,
}

impl Tables<'_> {
    fn temporary(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        let (own, _) = self.own?;
        own.find(database, name)
    }
}

impl FindTable for Tables<'_> {
    fn find_table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        match self.temporary(database, name) {
            Some(own) => Ok(Arc::clone(own)),
            None => self.definitions.find_table(database, name),
        }
    }

    fn find_view(&self, database: &str, name: &str) -> Option<Arc<View>> {
        if self.temporary(database, name).is_some() {
            return None;
        }
        self.definitions.find_view(database, name)
    }

    fn inside_views(&self) -> Option<&dyn FindTable> {
        self.own.map(|(_, stored)| stored as &dyn FindTable)
    }

    fn find_listed(&self, database: &str, name: &str) -> Result<Option<Arc<Listed>>> {
        let is_stored = || self.definitions.table(database, name).is_ok();
        if canonical(database).is_none() || self.temporary(database, name).is_some() || is_stored()
        {
            return Ok(None);
        }
        let Some(table) = find(database, name) else {
            return Err(unknown(database, name));
        };
        let scene = Scene::new(self.scene.0, self.scene.1);
        Ok(Some(listed(table, scene)))
    }

    fn find_listed_about(
        &self,
        about: &Arc<Table>,
        (database, name): (&str, &str),
    ) -> Result<Option<Arc<Listed>>> {
        let Some(table) = find(database, name) else {
            return Err(unknown(database, name));
        };
        let scene = Scene::new(self.scene.0, self.scene.1);
        Ok(Some(listed(table, scene.with_only(Some(about)))))
    }
}

fn listed(table: &'static dyn SystemTable, scene: Scene) -> Arc<Listed> {
    let definition = definition(table);
    let columns = definition.columns.iter().enumerate();
    let caseless = columns.filter(|(_, column)| CASELESS.contains(&column.name.as_str()));
    let caseless = caseless.map(|(idx, _)| idx).collect();
    Arc::new(Listed {
        table: Arc::new(definition),
        caseless,
        rows: Arc::new(Rows { table, scene }),
    })
}

/// Whether TRUNCATE TABLE of this table forgets what was counted of digests.
pub(super) fn is_of_digests(database: &str, table: &str) -> bool {
    canonical(database) == Some(PERFORMANCE_SCHEMA) && table == digests::DIGESTS_TABLE
}

/// The name of a database of the system, however it is spelled. Only `information_schema` may be
/// spelled otherwise.
pub(super) fn canonical(database: &str) -> Option<&'static str> {
    let is_it = |own: &&str| {
        *own == database
            || *own == INFORMATION_SCHEMA && database.eq_ignore_ascii_case(INFORMATION_SCHEMA)
    };
    DATABASES.into_iter().find(is_it)
}

/// The definition of a table of the system.
///
/// # Errors
/// 1109, 1146.
pub(super) fn described(database: &str, name: &str) -> Result<Arc<Table>> {
    match find(database, name) {
        Some(table) => Ok(Arc::new(definition(table))),
        None => Err(unknown(database, name)),
    }
}

/// The definitions of all tables of a database of the system.
fn definitions(database: &str) -> impl Iterator<Item = Table> {
    let database = canonical(database);
    let tables = ALL.iter();
    tables
        .filter(move |table| Some(table.database()) == database)
        .map(|table| definition(*table))
}

/// Names are compared without case in `information_schema` alone.
fn find(database: &str, name: &str) -> Option<&'static dyn SystemTable> {
    let database = canonical(database)?;
    let in_any_case = database == INFORMATION_SCHEMA;
    let is_named = |own: &str| own == name || in_any_case && own.eq_ignore_ascii_case(name);
    let mut tables = ALL.iter().copied();
    tables.find(|table| table.database() == database && is_named(table.name()))
}

fn unknown(database: &str, name: &str) -> Error {
    if database.eq_ignore_ascii_case(INFORMATION_SCHEMA) {
        let text = format!(
            "Unknown table '{}' in information_schema",
            name.to_uppercase()
        );
        return Error::new(Code::UnknownTableInQuery, text);
    }
    let text = format!("Table '{database}.{name}' doesn't exist");
    Error::new(Code::TableMissing, text)
}

fn definition(table: &dyn SystemTable) -> Table {
    let columns = table.columns().into_iter().enumerate();
    let columns = columns.map(|(idx, (name, ty))| {
        let id = ColumnId(u32::try_from(idx).unwrap_or(u32::MAX));
        Column::new(id, name, ty)
    });
    bare(table.database(), table.name(), columns.collect())
}

/// The definition of what has no storage: a hidden column stands for its key.
fn bare(database: &str, name: &str, mut columns: Vec<Column>) -> Table {
    columns.push(Column {
        hidden: true,
        ..Column::new(ColumnId(u32::MAX), "_rowid", ColumnType::BIGINT)
    });
    Table {
        id: TableId(0),
        database: database.to_owned(),
        name: name.to_owned(),
        columns,
        key: Vec::new(),
        shadow: None,
        columns_made: 0,
        indexes: Vec::new(),
        options: Vec::new(),
        comment: String::new(),
        wide: Wide::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_order_and_no_column_is_declared_twice() {
        let names: Vec<_> = ALL
            .iter()
            .map(|table| (table.database(), table.name()))
            .collect();
        assert!(names.is_sorted(), "{names:?}");
        for table in ALL {
            let columns = table.columns();
            for (idx, (name, _)) in columns.iter().enumerate() {
                let before = columns.iter().take(idx);
                assert!(
                    before.clone().all(|(other, _)| other != name),
                    "{table:?}.{name}"
                );
            }
        }
    }
}
