//! From the values of a statement to a stored row: conversion to the columns' types, defaults,
//! the encoded key and the encoded row, and their limits.

use std::borrow::Cow;

use super::Env;
use crate::catalog::{Column, ColumnDefault, ColumnPlace, Index, Table};
use crate::codec::key::Direction;
use crate::codec::keyspace;
use crate::codec::row::{DynamicColumn, RowBuilder};
use crate::error::{Code, Error, Result};
use crate::exec::ddl::alter::fit;
use crate::index::Entry;
use crate::sql::context::{EvalContext, WarningLevel};
use crate::types::coerce::{self, Problem, StoreMode};
use crate::types::temporal::DateRules;
use crate::types::{ColumnType, Decimal, Value};

/// Bytes of an encoded key (docs/limits.md).
pub const KEY_BYTES_MAX: usize = 30 * 1024;

/// Bytes of the value of one key column (docs/limits.md), whatever its encoding
/// adds.
pub const KEY_COLUMN_BYTES_MAX: usize = 2 * 1024;

/// Bytes of an encoded row (docs/limits.md).
pub const ROW_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How the values of one row are stored.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    /// Mode, clock, warnings.
    pub ctx: &'a EvalContext,
    /// From 1, for texts.
    pub row_number: usize,
    /// Whether what does not fit is adjusted with a warning rather than refused.
    pub lenient: bool,
}

impl Stored<'_> {
    /// The value in the column's type.
    ///
    /// # Errors
    /// 1048, 1264, 1292, 1366, 1406 naming column and row.
    pub fn coerce(&self, value: Value<'_>, column: &Column) -> Result<Value<'static>> {
        if value.is_null() {
            return self.null_for(column);
        }
        let row_number = u64::try_from(self.row_number).unwrap_or(u64::MAX);
        let value = self.of_digits(value, column)?;
        let mode = StoreMode {
            is_strict: !self.lenient,
            dates: DateRules {
                no_zero_date: self.ctx.mode.no_zero_date,
                no_zero_in_date: self.ctx.mode.no_zero_in_date,
            },
            zone: &self.ctx.zone,
            now: self.ctx.now,
            ..StoreMode::STRICT
        };
        match coerce::coerce(value, &column.ty, &mode) {
            Ok(stored) => {
                if let Some(adjustment) = stored.adjustment {
                    let is_note = adjustment.is_note;
                    let level = if is_note {
                        WarningLevel::Note
                    } else {
                        WarningLevel::Warning
                    };
                    // What was cut off is truncation, 1265, as in MySQL.
                    let problem = if adjustment.problem == Problem::TooLong {
                        Problem::Truncated
                    } else {
                        adjustment.problem
                    };
                    let text = || problem.message(&column.name, row_number);
                    self.ctx.warnings.add(level, problem.code(), text);
                }
                Ok(stored.value.into_owned())
            }
            Err(problem) => Err(problem.into_error(&column.name, row_number)),
        }
    }

    /// With `LINDORM` in `sql_mode`, a text for a column of bytes gives them in hexadecimal digits; one that
    /// does not, where that is no error, gives those that it begins with.
    fn of_digits<'v>(&self, value: Value<'v>, column: &Column) -> Result<Value<'v>> {
        let is_of_bytes = matches!(
            column.ty,
            ColumnType::Binary { .. } | ColumnType::Varbinary { .. }
        );
        let Value::Text(given) = &value else {
            return Ok(value);
        };
        if !self.ctx.mode.lindorm || !is_of_bytes {
            return Ok(value);
        }
        let bytes = match coerce::bytes_of_digits(given) {
            Ok(bytes) => bytes,
            Err(problem) => {
                let row_number = u64::try_from(self.row_number).unwrap_or(u64::MAX);
                if !self.lenient {
                    return Err(problem.into_error(&column.name, row_number));
                }
                let text = || problem.message(&column.name, row_number);
                let warnings = &self.ctx.warnings;
                warnings.add(WarningLevel::Warning, problem.code(), text);
                coerce::leading_bytes(given)
            }
        };
        Ok(Value::Bytes(bytes.into()))
    }

    fn null_for(&self, column: &Column) -> Result<Value<'static>> {
        if column.nullable {
            return Ok(Value::Null);
        }
        let error = Error::new(
            Code::ColumnNotNull,
            format!("Column '{}' cannot be null", column.name),
        );
        if !self.lenient {
            return Err(error);
        }
        let text = error.message().to_owned();
        self.ctx
            .warnings
            .add(WarningLevel::Warning, error.code(), || text);
        Ok(implicit_default(&column.ty))
    }

    /// The present, cut (not rounded, or it would lie in the future) to the column's digits.
    fn now_for(&self, column: &Column) -> Result<Value<'static>> {
        self.coerce(
            Value::Timestamp(self.ctx.now.truncate(column.ty.fsp())),
            column,
        )
    }

    /// The value of a column that the statement does not name, or names `DEFAULT`.
    ///
    /// # Errors
    /// 1364 in strict mode when there is none.
    pub fn default_of(&self, column: &Column) -> Result<Value<'static>> {
        match &column.default {
            ColumnDefault::Constant(value) => Ok(value.clone()),
            ColumnDefault::Now => self.now_for(column),
            ColumnDefault::None if column.nullable => Ok(Value::Null),
            // MySQL manual, "Data Type Default Values": the first member, in every mode.
            ColumnDefault::None if matches!(column.ty, ColumnType::Enum(_)) => {
                Ok(implicit_default(&column.ty))
            }
            ColumnDefault::None => {
                let text = format!("Field '{}' doesn't have a default value", column.name);
                if !self.lenient {
                    return Err(Error::new(Code::NoDefault, text));
                }
                self.ctx
                    .warnings
                    .add(WarningLevel::Warning, Code::NoDefault, || text);
                Ok(implicit_default(&column.ty))
            }
        }
    }
}

/// What MySQL stores where a NOT NULL column gets no value outside strict mode (manual, "Data
/// Type Default Values").
pub fn implicit_default(ty: &ColumnType) -> Value<'static> {
    match ty {
        ColumnType::Null | ColumnType::Dynamic => Value::Null,
        ColumnType::Boolean
        | ColumnType::Int {
            unsigned: false, ..
        } => Value::Int(0),
        ColumnType::Int { unsigned: true, .. } => Value::UInt(0),
        ColumnType::Float => Value::Float(0.0),
        ColumnType::Double => Value::Double(0.0),
        ColumnType::Decimal { scale, .. } => {
            Decimal::new(0, *scale).map_or(Value::Null, Value::Decimal)
        }
        ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_) => {
            Value::Text(Cow::Borrowed(""))
        }
        ColumnType::Binary { bytes } => {
            Value::Bytes(Cow::Owned(vec![0; usize::try_from(*bytes).unwrap_or(0)]))
        }
        ColumnType::Varbinary { .. } | ColumnType::Blob(_) => Value::Bytes(Cow::Borrowed(&[])),
        ColumnType::Json => Value::Json(Cow::Borrowed("null")),
        ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Datetime { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::Year => lenient(Value::Int(0), ty),
        ColumnType::Enum(_) => lenient(Value::Int(1), ty),
    }
}

/// A number as a value of a type, zero dates allowed.
fn lenient(number: Value<'static>, ty: &ColumnType) -> Value<'static> {
    let mode = StoreMode {
        is_strict: false,
        dates: DateRules::LENIENT,
        ..StoreMode::STRICT
    };
    coerce::coerce(number, ty, &mode).map_or(Value::Null, |coerced| coerced.value)
}

/// Whether a value given to an `AUTO_INCREMENT` column asks for a new id.
pub fn asks_for_id(column: &Column, value: &Value<'_>, ctx: &EvalContext) -> bool {
    if !column.auto_increment {
        return false;
    }
    match value {
        Value::Null => true,
        Value::Int(0) | Value::UInt(0) => !ctx.mode.no_auto_value_on_zero,
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_)
        | Value::Json(_)
        | Value::Enum(_) => false,
    }
}

/// Puts an id wherever a column that spreads them is `NULL`; those of one call follow each other, in
/// the order of the rows: all of a list of VALUES, a piece of INSERT … SELECT.
pub fn fill_ids(table: &Table, rows: &mut [Vec<Value<'static>>], env: &Env) {
    let takes_ids = |column: &Column| {
        column.auto_increment && column.counted_from.is_none() || column.is_row_id()
    };
    for (column_idx, column) in table.columns.iter().enumerate() {
        if !takes_ids(column) {
            continue;
        }
        let is_missing = |row: &&Vec<Value<'_>>| row.get(column_idx).is_some_and(Value::is_null);
        let ids_count = u64::try_from(rows.iter().filter(is_missing).count()).unwrap_or(u64::MAX);
        let slots = rows.iter_mut().filter_map(|row| row.get_mut(column_idx));
        let missing = slots.filter(|value| value.is_null());
        let connection = env.ctx.facts.connection_id();
        for (slot, id) in missing.zip(env.ids.run(connection, ids_count)) {
            *slot = id_value(id, &column.ty);
        }
    }
}

/// A new id as a value of its column.
fn id_value(id: i64, ty: &ColumnType) -> Value<'static> {
    if matches!(ty, ColumnType::Int { unsigned: true, .. }) {
        Value::UInt(id.unsigned_abs())
    } else {
        Value::Int(id)
    }
}

/// The encoded key of a row. The first part of a spread key is computed, whatever its value is said to
/// be.
///
/// # Errors
/// 1071 when a part or the whole is too long.
pub fn key(table: &Table, values: &[Value<'_>]) -> Result<Vec<u8>> {
    let mut key = Vec::with_capacity(32);
    if let Some(spread) = table.spread() {
        let part = spread.value(&table.columns, |idx| values.get(idx))?;
        keyspace::push_key_part(&mut key, &part, &spread.ty(&table.columns), Direction::Asc)?;
    }
    for part in table.declared_key() {
        let (Some(column), Some(value)) = (
            table.columns.get(part.column_idx),
            values.get(part.column_idx),
        ) else {
            return Err(Error::internal(format!(
                "a key part of {} has no value",
                table.name
            )));
        };
        keyspace::push_key_part(&mut key, value, &column.ty, part.direction)?;
        check_key_part(column, value)?;
    }
    check_key(&key)?;
    Ok(key)
}

fn check_key_part(column: &Column, value: &Value<'_>) -> Result<()> {
    let bytes = value.as_bytes().map_or(0, <[u8]>::len);
    if bytes <= KEY_COLUMN_BYTES_MAX {
        return Ok(());
    }
    let text = format!(
        "Specified key was too long: column '{}' is {bytes} bytes, max key length is \
         {KEY_COLUMN_BYTES_MAX} bytes",
        column.name
    );
    Err(Error::new(Code::KeyTooLong, text))
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.len() <= KEY_BYTES_MAX {
        return Ok(());
    }
    let text = format!(
        "Specified key was too long: the key is {} bytes, max key length is {KEY_BYTES_MAX} bytes",
        key.len()
    );
    Err(Error::new(Code::KeyTooLong, text))
}

/// Checks the limits of a key for the entry of a row with these values, as the index sees them.
///
/// # Errors
/// 1071 when an indexed value or the whole is too long.
pub fn check_entry(
    table: &Table,
    index: &Index,
    (values, entry): (&[Value<'_>], &Entry),
) -> Result<()> {
    for part in &index.parts {
        if let (Some(column), Some(value)) = (
            index.column(table, part.column_idx),
            values.get(part.column_idx),
        ) {
            check_key_part(column, value)?;
        }
    }
    check_key(&entry.key)
}

/// The encoded row: every column that is not in the key and not NULL.
///
/// # Errors
/// 1118 when it is too large; 1048 and the like for a value that ALTER TABLE is about to forbid.
pub fn value(table: &Table, values: &[Value<'_>]) -> Result<Vec<u8>> {
    let texts = values.iter().filter_map(Value::as_bytes);
    let mut builder = RowBuilder::with_room(values.len(), texts.map(<[u8]>::len).sum());
    for (column_idx, (column, value)) in table.columns.iter().zip(values).enumerate() {
        if let Some(pledge) = column.pledged() {
            check_pledge(column, pledge, value)?;
        }
        match column.place {
            ColumnPlace::Row => {
                if table.key_position(column_idx).is_none() && column.is_stored(value) {
                    builder.set(column.id, value, &column.ty)?;
                }
            }
            ColumnPlace::Named => builder.dynamic(&column.name, value)?,
            ColumnPlace::Others => put_others(&mut builder, value)?,
            ColumnPlace::Expiry => {
                if let Value::UInt(end_ms) = value {
                    builder.expiry(*end_ms);
                }
            }
            ColumnPlace::Versions => {
                if let Some(versions) = value.as_bytes() {
                    builder.versions(versions);
                }
            }
            ColumnPlace::Stamp => {}
        }
    }
    let bytes = builder.finish()?;
    if bytes.len() <= ROW_BYTES_MAX {
        return Ok(bytes);
    }
    let text = format!(
        "Row size too large: the row is {} bytes, the most is {ROW_BYTES_MAX}",
        bytes.len()
    );
    Err(Error::new(Code::RowTooBig, text))
}

/// Puts the cells that a row has under names which the statement does not say.
fn put_others(builder: &mut RowBuilder, others: &Value<'_>) -> Result<()> {
    for DynamicColumn { name, value } in crate::exec::row::others(others)? {
        builder.dynamic(name, &value)?;
    }
    Ok(())
}

/// Refuses a value that ALTER TABLE is about to forbid.
fn check_pledge(column: &Column, pledge: &Column, value: &Value<'_>) -> Result<()> {
    if value.is_null() && !pledge.nullable {
        let text = format!("Column '{}' cannot be null", column.name);
        return Err(Error::new(Code::ColumnNotNull, text));
    }
    fit::check((column, pledge), value, 1)
}

/// Whether two rows of one table hold the same values, so that nobody would see one written over the other.
pub fn same(left: &[Value<'_>], right: &[Value<'_>]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| left.is_same(right))
}

/// Sets the `ON UPDATE CURRENT_TIMESTAMP` columns of a changed row, unless the statement assigns to them:
/// then they have what it gave, be it what they had.
///
/// # Errors
/// Those of coercion.
pub fn touch(
    table: &Table,
    new: &mut [Value<'static>],
    is_assigned: &dyn Fn(usize) -> bool,
    ctx: &EvalContext,
) -> Result<()> {
    let at = Stored {
        ctx,
        row_number: 1,
        lenient: false,
    };
    for (idx, (column, new)) in table.columns.iter().zip(new).enumerate() {
        if column.on_update_now && !is_assigned(idx) {
            *new = at.now_for(column)?;
        }
    }
    Ok(())
}
