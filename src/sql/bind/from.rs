//! The table of a statement.

use std::sync::Arc;

use super::Names;
use super::scope::Source;
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{IndexHint, TableFactor, TableName, TableRef};

/// The table that `FROM` or `UPDATE` names, with the index hints beside it.
#[derive(Debug)]
pub(super) struct From<'a> {
    pub(super) source: Source,
    pub(super) index_hints: &'a [IndexHint],
}

/// Databases that MySQL has and this server knows by name only.
const SYSTEM_DATABASES: [&str; 3] = ["mysql", "performance_schema", "sys"];

/// The only table of a list; `None` for an empty list.
///
/// # Errors
/// 1046, 1049, 1146; 1248 for a derived table without alias; 1235 for more than one table.
pub(super) fn table<'a>(tables: &'a [TableRef], names: &Names<'_>) -> Result<Option<From<'a>>> {
    tables.iter().try_for_each(check_aliases)?;
    let (first, more) = match tables {
        [] => return Ok(None),
        [first, more @ ..] => (first, more),
    };
    if !more.is_empty() || !first.joins.is_empty() {
        return Err(Error::unsupported("joins"));
    }
    match &first.factor {
        TableFactor::Table {
            name,
            alias,
            index_hints,
        } => {
            let source = Source::new(find(name, names)?, alias.as_deref());
            Ok(Some(From {
                source,
                index_hints,
            }))
        }
        TableFactor::Derived { .. } => Err(Error::unsupported("derived tables")),
        TableFactor::Nested(tables) => table(tables, names),
    }
}

/// # Errors
/// 1248.
fn check_aliases(table: &TableRef) -> Result<()> {
    let joined = table.joins.iter().map(|join| &join.right);
    for factor in std::iter::once(&table.factor).chain(joined) {
        match factor {
            TableFactor::Derived { alias: None, .. } => {
                return Err(Error::new(
                    Code::DerivedAlias,
                    "Every derived table must have its own alias",
                ));
            }
            TableFactor::Table { .. } | TableFactor::Derived { .. } => {}
            TableFactor::Nested(tables) => tables.iter().try_for_each(check_aliases)?,
        }
    }
    Ok(())
}

/// The table of that name in the named or the current database.
///
/// # Errors
/// 1046, 1049, 1109, 1146.
pub(super) fn find(name: &TableName, names: &Names<'_>) -> Result<Arc<Table>> {
    let Some(database) = name.database.as_deref().or(names.database) else {
        return Err(Error::new(Code::NoDatabase, "No database selected"));
    };
    let found = names.definitions.find_table(database, &name.name);
    found.map_err(|error| {
        if error.code() != Code::UnknownDatabase {
            return error;
        }
        if database.eq_ignore_ascii_case("information_schema") {
            let text = format!(
                "Unknown table '{}' in information_schema: this server has none yet; SHOW and \
                 DESCRIBE tell about databases and tables",
                name.name
            );
            return Error::new(Code::UnknownTableInQuery, text);
        }
        if SYSTEM_DATABASES
            .iter()
            .any(|system| system.eq_ignore_ascii_case(database))
        {
            let text = format!("Table '{database}.{}' doesn't exist", name.name);
            return Error::new(Code::TableMissing, text);
        }
        error
    })
}
