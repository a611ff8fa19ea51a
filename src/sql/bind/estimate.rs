//! `COUNT_ESTIMATE(t)`, and between what it lies: `COUNT_ESTIMATE_LOW(t)`, `COUNT_ESTIMATE_HIGH(t)`.
//!
//! Each is a function of the name of a table, so that it stands wherever a value may; it is bound as the
//! subquery that reads the same number from `information_schema.TABLES`, where all of them are in one
//! row. So there is one estimate, whoever asks for it. Who may ask is who may read the table, which is seen
//! to before the statement is bound; in a view that is whom the view was made for.

use std::sync::Arc;

use super::scope::Scope;
use super::{FindTable, Names};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, Statement, TableName};
use crate::sql::computed::MODE;
use crate::sql::expr::Expr;
use crate::sql::listed::Listed;
use crate::sql::parse;
use crate::types::literal::string_literal;

/// The functions, and the columns of `information_schema.TABLES` that they tell.
const COLUMNS: &[(&str, &str)] = &[
    ("COUNT_ESTIMATE", "TABLE_ROWS"),
    ("COUNT_ESTIMATE_LOW", "ROWS_LOW"),
    ("COUNT_ESTIMATE_HIGH", "ROWS_HIGH"),
];

/// The table that a call names, if it is a call of one of these functions with one.
pub fn named_table(call: &ast::Call) -> Option<TableName> {
    column_of(&call.name)?;
    match call.args.as_slice() {
        [ast::Expr::Column(name)] if name.database.is_none() => Some(TableName {
            database: name.table.clone(),
            name: name.column.clone(),
        }),
        _ => None,
    }
}

fn column_of(function: &str) -> Option<&'static str> {
    let is_it = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(function);
    COLUMNS.iter().find(is_it).map(|(_, column)| *column)
}

impl Scope<'_> {
    /// What a call of these functions is bound as; `None` for a call of another one.
    ///
    /// # Errors
    /// 1582 for anything but the name of a table; 1046, 1049, 1146; 1347 for a view and for a table whose
    /// rows the server makes up; 1235 for a temporary table.
    pub(super) fn estimate_call(&mut self, call: &ast::Call) -> Result<Option<Expr>> {
        let Some(column) = column_of(&call.name) else {
            return Ok(None);
        };
        let Some(table) = named_table(call).filter(|_| !call.star && !call.distinct) else {
            let text = format!(
                "Incorrect parameters in the call to native function '{}': the name of a table",
                call.name
            );
            return Err(Error::new(Code::WrongParameters, text));
        };
        let database = table.database.as_deref().or(self.names.database);
        let Some(database) = database else {
            return Err(Error::new(Code::NoDatabase, "No database selected"));
        };
        let definitions = self.names.definitions;
        if definitions.find_view(database, &table.name).is_some()
            || definitions.find_listed(database, &table.name)?.is_some()
        {
            let text = format!("'{database}.{}' is not BASE TABLE", table.name);
            return Err(Error::new(Code::WrongObject, text));
        }
        let found = definitions.find_table(database, &table.name)?;
        if let Some(stored) = definitions.inside_views()
            && stored.find_table(database, &table.name).map(|one| one.id) != Ok(found.id)
        {
            return Err(Error::unsupported(format!(
                "{} of a temporary table",
                call.name
            )));
        }
        self.estimate_of(&found, column).map(Some)
    }

    fn estimate_of(&mut self, table: &Arc<Table>, column: &str) -> Result<Expr> {
        let text = format!(
            "SELECT {column} FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            string_literal(&table.database),
            string_literal(&table.name)
        );
        let parsed = parse::parse_first(text.as_bytes(), MODE)?;
        let definitions = About {
            table,
            all: self.names.definitions,
        };
        let names = Names {
            definitions: &definitions,
            ..self.names
        };
        match parsed.statement {
            Statement::Select(select) => self.scalar_of(&select, &names),
            _ => Err(Error::internal("the query of an estimate is none")),
        }
    }
}

/// Definitions where what the server tells of tables is about one of them.
struct About<'a> {
    table: &'a Arc<Table>,
    all: &'a dyn FindTable,
}

impl FindTable for About<'_> {
    fn find_table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        self.all.find_table(database, name)
    }

    fn find_listed(&self, database: &str, name: &str) -> Result<Option<Arc<Listed>>> {
        self.all.find_listed_about(self.table, (database, name))
    }
}
