//! `COM_FIELD_LIST`: the columns of a table, each with its default.

use super::{Session, compile};
use crate::catalog::{Column, ColumnDefault};
use crate::error::Result;
use crate::exec::write::row::implicit_default;
use crate::sql::ast::TableName;
use crate::sql::eval::like::is_like;
use crate::types::{ResultColumn, Value};

/// A column, and what a row has in it that is written without it; of one that is computed when the
/// row is written, what stands for nothing in its type, as in MySQL.
#[derive(Debug, Clone)]
pub struct Field {
    /// The column.
    pub column: ResultColumn,
    /// Its default.
    pub default: Value<'static>,
}

impl Session {
    /// The columns of a table whose names are like `wildcard` (empty: all), in any case.
    ///
    /// # Errors
    /// 1146 when there is no such table.
    pub fn list_fields(&mut self, table: &str, wildcard: &str) -> Result<Vec<Field>> {
        self.renew_rights();
        let name = TableName {
            database: None,
            name: table.to_owned(),
        };
        self.allow(&self.needs_to_list(&name)?)?;
        let wildcard = wildcard.to_lowercase();
        let is_asked = |name: &str| {
            let matches = || is_like(&name.to_lowercase(), &wildcard, Some('\\'), || Ok(()));
            wildcard.is_empty() || matches().unwrap_or(false)
        };
        if let Some(view) = self.named_view(&name) {
            let columns = self.view_columns(&view)?.into_iter();
            let fields = columns.map(|column| Field {
                default: default_of(&column.ty, column.nullable),
                column: ResultColumn {
                    database: view.database.clone(),
                    table: view.name.clone(),
                    org_table: view.name.clone(),
                    org_name: column.name.clone(),
                    ..column
                },
            });
            return Ok(fields
                .filter(|field| is_asked(&field.column.name))
                .collect());
        }
        let table = self.shown_table(None, table)?;
        let columns = table.columns.iter().filter(|column| !column.hidden);
        let columns = columns
            .enumerate()
            .filter(|(_, column)| is_asked(&column.name));
        let fields = columns.map(|(idx, column)| Field {
            column: compile::result_column(&table, idx, column),
            default: default(column),
        });
        Ok(fields.collect())
    }
}

fn default(column: &Column) -> Value<'static> {
    match &column.default {
        ColumnDefault::Constant(value) => value.clone(),
        ColumnDefault::None | ColumnDefault::Now => default_of(&column.ty, column.nullable),
    }
}

fn default_of(ty: &crate::types::ColumnType, nullable: bool) -> Value<'static> {
    if nullable {
        Value::Null
    } else {
        implicit_default(ty)
    }
}
