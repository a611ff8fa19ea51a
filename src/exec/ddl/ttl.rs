//! When rows end, in DDL: `TTL='seconds'` and `TTL = column + INTERVAL n unit`.
//!
//! Both may be given; the earlier end counts. `TTL='0'` says that rows have no time, and lets statements
//! say when they end (`_l_ttl_`); `TTL='none'` takes the column away, too. A table that has had the option keeps it: rows with an end
//! may be there.

use super::options;
use crate::catalog::wide::{ColumnPlace, TtlColumn};
use crate::catalog::{Column, Table};
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::computed::MODE;
use crate::sql::expr::IntervalUnit;
use crate::sql::parse;
use crate::types::ColumnType;

/// The table option.
pub(super) const TTL: &str = "TTL";

/// The value that takes the time and the column away.
const NONE: &str = "none";

/// Seconds of the longest time: a thousand years, so that no sum of them overflows.
const SECONDS_MAX: u64 = 1000 * 366 * 86_400;

/// Puts what the options of a new table say about the end of its rows into its definition.
///
/// # Errors
/// As [`set`].
pub(super) fn define(table: &mut Table, options: &[(String, String)]) -> Result<()> {
    for (name, value) in options {
        if name.eq_ignore_ascii_case(TTL) {
            set(table, value)?;
        }
    }
    Ok(())
}

/// Says when the rows that are written from now on end.
///
/// # Errors
/// 1221 for what is neither a number of seconds nor a column and an interval; 1054 for a column that
/// is not there, 1235 for one that is no date or time.
pub(super) fn set(table: &mut Table, value: &str) -> Result<()> {
    let mut ttl = table.wide.ttl.clone().unwrap_or_default();
    let value = value.trim();
    if value.eq_ignore_ascii_case(NONE) {
        // Not `None`: statements may say when rows end, and rows that end may be there.
        ttl.seconds = Some(0);
        ttl.column = None;
        options::put(table, TTL, "0");
    } else if value.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = value.parse().ok().filter(|seconds| *seconds <= SECONDS_MAX);
        ttl.seconds = Some(seconds.ok_or_else(|| wrong(value))?);
        options::put(table, TTL, value);
    } else {
        ttl.column = Some(column_of(table, value)?);
    }
    table.set_ttl(ttl)
}

fn wrong(value: &str) -> Error {
    let text = format!(
        "Incorrect usage of TTL and '{value}': it is a number of seconds up to {SECONDS_MAX}, \
         column + INTERVAL n unit, or none"
    );
    Error::new(Code::WrongUsage, text)
}

fn column_of(table: &Table, value: &str) -> Result<TtlColumn> {
    let parsed = parse::expression(value.as_bytes(), MODE).map_err(|_| wrong(value))?;
    let ast::Expr::DateShift {
        operands,
        unit,
        negated: false,
    } = &parsed
    else {
        return Err(wrong(value));
    };
    let (ast::Expr::Column(name), ast::Expr::Literal(ast::Literal::Int(amount))) = &**operands
    else {
        return Err(wrong(value));
    };
    let amount = i64::try_from(*amount).ok().filter(|amount| 0 < *amount);
    let amount = amount.ok_or_else(|| wrong(value))?;
    let unit: IntervalUnit = *unit;
    let declared = table.columns.iter().find(|column| {
        column.place == ColumnPlace::Row
            && !column.hidden
            && column.name.eq_ignore_ascii_case(&name.column)
    });
    let Some(declared) = declared else {
        let text = format!("Unknown column '{}' in 'TTL'", name.column);
        return Err(Error::new(Code::UnknownColumn, text));
    };
    check_type(declared)?;
    Ok(TtlColumn {
        id: declared.id,
        amount,
        unit: unit.name().to_owned(),
    })
}

/// # Errors
/// 1828 for the column that says when rows end.
pub(super) fn check_drop(table: &Table, column_idx: usize) -> Result<()> {
    let column = table.columns.get(column_idx);
    let Some(column) = column.filter(|column| is_ttl_column(table, column)) else {
        return Ok(());
    };
    let text = format!(
        "Cannot drop column '{}': needed by the TTL of table '{}'",
        column.name, table.name
    );
    Err(Error::new(Code::ColumnNeeded, text))
}

fn is_ttl_column(table: &Table, column: &Column) -> bool {
    let ttl = table.wide.ttl.as_ref().and_then(|ttl| ttl.column.as_ref());
    ttl.is_some_and(|ttl| ttl.id == column.id)
}

/// The column that says when rows end gets another type.
///
/// # Errors
/// 1235 for one that is no date or time.
pub(super) fn follow(table: &mut Table, old: &Column, new: &Column) -> Result<()> {
    if !is_ttl_column(table, old) {
        return Ok(());
    }
    check_type(new)?;
    let ttl = table.wide.ttl.as_mut();
    if let Some(column) = ttl.and_then(|ttl| ttl.column.as_mut()) {
        column.id = new.id;
    }
    Ok(())
}

/// # Errors
/// 1235 for a column that is no date or time.
fn check_type(column: &Column) -> Result<()> {
    let is_dated = matches!(
        column.ty,
        ColumnType::Date | ColumnType::Datetime { .. } | ColumnType::Timestamp { .. }
    );
    if is_dated {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "TTL by column {} of type {}: it needs DATE, DATETIME or TIMESTAMP",
        column.name, column.ty
    )))
}
