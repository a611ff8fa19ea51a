//! The select list: what is computed, and how a client sees it.

use super::scope::{Item, Scope, Source};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, SelectItem, TableName};
use crate::sql::bound::Output;
use crate::sql::eval::digits;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::{ColumnType, ResultColumn, Value};

/// Characters that `COUNT` takes when shown: MySQL's.
const COUNT_CHARS: u32 = 21;

impl Scope<'_> {
    /// Binds the select list, stars expanded.
    pub(super) fn outputs(&mut self, items: &[SelectItem]) -> Result<Vec<Output>> {
        let mut outputs = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::Star => self.star(None, &mut outputs)?,
                SelectItem::TableStar(table) => self.star(Some(table), &mut outputs)?,
                SelectItem::Expr { expr, alias, text } => {
                    let name = alias.as_ref().unwrap_or(text);
                    let output = self.output(expr, name)?;
                    outputs.push(output);
                }
            }
        }
        Ok(outputs)
    }

    fn output(&mut self, expr: &ast::Expr, name: &str) -> Result<Output> {
        let expr = self.value(expr)?;
        let mut column = self.result_column(&expr);
        name.clone_into(&mut column.name);
        Ok(Output { expr, column })
    }

    /// `*`, `t.*`.
    fn star(&mut self, table: Option<&TableName>, outputs: &mut Vec<Output>) -> Result<()> {
        let Some(source) = &self.source else {
            return Err(match table {
                Some(table) => unknown_table(table),
                None => Error::new(Code::NoTablesUsed, "No tables used"),
            });
        };
        let named =
            |table: &&TableName| !source.is_named(table.database.as_deref(), Some(&table.name));
        if let Some(table) = table.filter(named) {
            return Err(unknown_table(table));
        }
        for (idx, column) in source.table.columns.iter().enumerate() {
            if let Some(expr) = source.column(idx, 0).filter(|_| !column.hidden) {
                let column = self.result_column(&expr);
                outputs.push(Output { expr, column });
            }
        }
        Ok(())
    }

    /// How a client sees an expression; a column of the table is described as that.
    fn result_column(&self, expr: &Expr) -> ResultColumn {
        let own = match &expr.kind {
            ExprKind::Column(idx) => self
                .source
                .as_ref()
                .and_then(|source| table_column(source, *idx)),
            _ => None,
        };
        own.unwrap_or_else(|| ResultColumn {
            database: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: String::new(),
            org_name: String::new(),
            ty: expr.ty.clone(),
            nullable: expr.nullable,
            primary_key: false,
            auto_increment: false,
            display_chars: display_chars(expr),
            decimals: digits::of_double(expr, &|idx| {
                let idx = idx.checked_sub(self.columns_count())?;
                self.aggregates.get(idx)
            }),
        })
    }

    /// The outputs as what HAVING and ORDER BY may refer to.
    pub(super) fn set_items(&mut self, outputs: &[Output]) {
        let item = |output: &Output| Item {
            expr: output.expr.clone(),
            name: output.column.name.clone(),
        };
        self.items = outputs.iter().map(item).collect();
    }
}

fn unknown_table(table: &TableName) -> Error {
    let database = table
        .database
        .as_ref()
        .map(|name| format!("{name}."))
        .unwrap_or_default();
    Error::new(
        Code::UnknownTable,
        format!("Unknown table '{database}{}'", table.name),
    )
}

fn table_column(source: &Source, idx: usize) -> Option<ResultColumn> {
    let column = source.table.columns.get(idx)?;
    Some(ResultColumn {
        database: source.table.database.clone(),
        table: source.alias.clone(),
        org_table: source.table.name.clone(),
        name: column.name.clone(),
        org_name: column.name.clone(),
        ty: column.ty.clone(),
        nullable: column.nullable,
        primary_key: source.table.key_position(idx).is_some(),
        auto_increment: column.auto_increment,
        display_chars: 0,
        decimals: None,
    })
}

/// The most characters of a value where the type says too much: conditions are `0` or `1`.
fn display_chars(expr: &Expr) -> u32 {
    match &expr.kind {
        ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Xor(..)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsTruth { .. }
        | ExprKind::InList { .. }
        | ExprKind::Between { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. } => 1,
        ExprKind::Literal(Value::Int(number)) => {
            let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
            digits + u32::from(*number < 0)
        }
        ExprKind::Column(_) if expr.ty == ColumnType::BIGINT => COUNT_CHARS,
        _ => 0,
    }
}
