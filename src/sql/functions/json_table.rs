//! `JSON_TABLE`: the rows of a document.
//!
//! Source: MySQL manual, "JSON Table Functions": each value that the path finds is a row; nested
//! columns multiply it, one group of them after the other, and are `NULL` when they find nothing.

use std::borrow::Cow;
use std::slice;

use serde_json::Value as Json;

use super::json::{hold, invalid, text_of_json};
use super::json_path::Path;
use super::{room, text_bytes};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, JsonAction};
use crate::sql::context::EvalContext;
use crate::sql::eval::typing::is_text;
use crate::types::coerce::{self, StoreMode};
use crate::types::column_type::IntWidth;
use crate::types::temporal::DateRules;
use crate::types::{ColumnType, Value, json};

/// Columns of all levels: as many as a table may have.
const COLUMNS_MAX: usize = 4096;

/// Steps of reading a byte of a document; each may be a row, and each column of it takes as many.
const STEPS_PER_BYTE: usize = 16;

/// What makes rows of a document.
#[derive(Debug)]
pub struct JsonTable {
    /// The path to the rows, as it was written.
    pub path_text: String,
    path: Path,
    columns: Vec<Column>,
    /// How many columns a row has.
    width: usize,
}

#[derive(Debug)]
enum Column {
    /// Counts the rows that its path has found; at this position of the row.
    Ordinality(usize),
    Value(Box<ValueColumn>),
    Nested(Path, Vec<Column>),
}

#[derive(Debug)]
struct ValueColumn {
    at: usize,
    name: String,
    ty: ColumnType,
    path: Path,
    exists: bool,
    on_empty: Action,
    on_error: Action,
}

#[derive(Debug)]
enum Action {
    Null,
    Error,
    Default(Json),
}

/// Takes rows: each is lent, so that it can be asked for before it is copied.
type Push<'p> = &'p mut dyn FnMut(&[Value<'static>]) -> Result<()>;

impl JsonTable {
    /// What a `JSON_TABLE` says, and the names and types of its columns.
    ///
    /// # Errors
    /// 1117 for too many columns, 3143 for what is no path, 3141 for a default that is no JSON, 3157 for one that is
    /// nested too deeply.
    pub(crate) fn new(table: &ast::JsonTable) -> Result<(JsonTable, Vec<(String, ColumnType)>)> {
        let columns_count = count(&table.columns);
        if COLUMNS_MAX < columns_count {
            let text = format!(
                "Too many columns: {columns_count}, the most of JSON_TABLE is {COLUMNS_MAX}"
            );
            return Err(Error::new(Code::TooManyColumns, text));
        }
        let mut named = Vec::new();
        let columns = columns(&table.columns, &mut named)?;
        let made = JsonTable {
            path: Path::parse(&table.path)?,
            path_text: table.path.clone(),
            columns,
            width: named.len(),
        };
        Ok((made, named))
    }

    /// About how many nanoseconds the rows of a document take at most.
    pub(crate) fn steps(&self, document: &Value<'_>) -> usize {
        let bytes = text_bytes(slice::from_ref(document));
        let each = self.width.saturating_add(1).saturating_mul(STEPS_PER_BYTE);
        bytes.saturating_mul(each)
    }

    /// Makes the rows of a document; `NULL` has none.
    ///
    /// # Errors
    /// 3141 for a text that is no JSON, 3157 for one that is nested too deeply, 1041 when the process has no memory
    /// for a row, those of `ERROR ON …`, those of `push`.
    pub(crate) fn rows(
        &self,
        document: &Value<'_>,
        ctx: &EvalContext,
        push: Push<'_>,
    ) -> Result<()> {
        if document.is_null() {
            return Ok(());
        }
        let text = document.to_text();
        let held = hold(&text)?;
        let document =
            json::parse(&text).map_err(|bad| invalid("argument 1 to function json_table", &bad))?;
        drop(held);
        let mut row = vec![Value::Null; self.width];
        let maker = Maker { ctx };
        maker.matches((&self.path, &self.columns), &document, (&mut row, push))?;
        Ok(())
    }
}

/// How many columns there are, those of nested paths among them.
fn count(columns: &[ast::JsonColumn]) -> usize {
    let counts = columns.iter().map(|column| match column {
        ast::JsonColumn::Ordinality(_) | ast::JsonColumn::Value(_) => 1,
        ast::JsonColumn::Nested { columns, .. } => count(columns),
    });
    counts.sum()
}

fn columns(
    written: &[ast::JsonColumn],
    named: &mut Vec<(String, ColumnType)>,
) -> Result<Vec<Column>> {
    let mut columns = Vec::with_capacity(written.len());
    for column in written {
        columns.push(match column {
            ast::JsonColumn::Ordinality(name) => {
                let ty = ColumnType::Int {
                    width: IntWidth::Int,
                    unsigned: true,
                };
                named.push((name.clone(), ty));
                Column::Ordinality(named.len() - 1)
            }
            ast::JsonColumn::Value(column) => {
                named.push((column.name.clone(), column.ty.clone()));
                Column::Value(Box::new(ValueColumn {
                    at: named.len() - 1,
                    name: column.name.clone(),
                    ty: column.ty.clone(),
                    path: Path::parse(&column.path)?,
                    exists: column.exists,
                    on_empty: action(&column.on_empty)?,
                    on_error: action(&column.on_error)?,
                }))
            }
            ast::JsonColumn::Nested {
                path,
                columns: within,
            } => Column::Nested(Path::parse(path)?, self::columns(within, named)?),
        });
    }
    Ok(columns)
}

fn action(written: &JsonAction) -> Result<Action> {
    Ok(match written {
        JsonAction::Null => Action::Null,
        JsonAction::Error => Action::Error,
        JsonAction::Default(text) => {
            let document = json::parse(text);
            Action::Default(document.map_err(|bad| invalid("a default of JSON_TABLE", &bad))?)
        }
    })
}

/// An array of parts of a document, of which one may lie in another.
fn text_of_all(cells: &[&Json]) -> Result<String> {
    let mut out = "[".to_owned();
    for (idx, cell) in cells.iter().enumerate() {
        let text = text_of_json(cell);
        ceiling::drip("json_table()", text.len())?;
        out.push_str(if idx == 0 { "" } else { ", " });
        out.push_str(&text);
    }
    out.push(']');
    Ok(out)
}

struct Maker<'c> {
    ctx: &'c EvalContext,
}

impl Maker<'_> {
    /// The rows of what a path finds; how many there are.
    fn matches(
        &self,
        (path, columns): (&Path, &[Column]),
        json: &Json,
        (row, push): (&mut Vec<Value<'static>>, Push<'_>),
    ) -> Result<u64> {
        let mut count = 0;
        for found in path.find(json, self.ctx)? {
            self.ctx.facts.check_stop()?;
            count += 1;
            self.own_columns(columns, (found, count), row)?;
            let mut rows = 0;
            for column in columns {
                if let Column::Nested(path, within) = column {
                    rows += self.matches((path, within), found, (row, &mut *push))?;
                    clear(within, row);
                }
            }
            if rows == 0 {
                push(row.as_slice())?;
            }
        }
        Ok(count)
    }

    fn own_columns(
        &self,
        columns: &[Column],
        (json, number): (&Json, u64),
        row: &mut [Value<'static>],
    ) -> Result<()> {
        for column in columns {
            let (at, value) = match column {
                Column::Ordinality(at) => (*at, Value::UInt(number)),
                Column::Value(column) => (column.at, self.value(column, json)?),
                Column::Nested(..) => continue,
            };
            // A text is there when it is asked for, and may have room for as much again.
            let bytes = text_bytes(slice::from_ref(&value)).saturating_mul(2);
            let _room = room(bytes, || "json_table()".to_owned())?;
            if let Some(place) = row.get_mut(at) {
                *place = value;
            }
        }
        Ok(())
    }

    fn value(&self, column: &ValueColumn, json: &Json) -> Result<Value<'static>> {
        let found = column.path.find(json, self.ctx)?;
        if column.exists {
            let exists = Value::Int(i64::from(!found.is_empty()));
            let stored = stored(exists, &column.ty, self.ctx);
            return stored.ok_or_else(|| no_value(column));
        }
        match found.as_slice() {
            [] => self.instead(&column.on_empty, column, || {
                let text = format!("Missing value for JSON_TABLE column '{}'", column.name);
                Error::new(Code::JsonTableMissing, text)
            }),
            _ if column.ty == ColumnType::Json => Ok(Value::Json(Cow::Owned(match found[..] {
                [only] => text_of_json(only),
                _ => text_of_all(&found)?,
            }))),
            [Json::Array(_) | Json::Object(_)] | [_, _, ..] => {
                self.instead(&column.on_error, column, || {
                    let text = format!(
                        "Can't store an array or an object in the scalar JSON_TABLE column '{}'",
                        column.name
                    );
                    Error::new(Code::JsonTableScalar, text)
                })
            }
            [scalar] => match stored(scalar_of(scalar, &column.ty), &column.ty, self.ctx) {
                Some(value) => Ok(value),
                None => self.instead(&column.on_error, column, || no_value(column)),
            },
        }
    }

    fn instead(
        &self,
        action: &Action,
        column: &ValueColumn,
        error: impl FnOnce() -> Error,
    ) -> Result<Value<'static>> {
        match action {
            Action::Null => Ok(Value::Null),
            Action::Error => Err(error()),
            Action::Default(json) if column.ty == ColumnType::Json => {
                Ok(Value::Json(Cow::Owned(text_of_json(json))))
            }
            Action::Default(json) => {
                let value = scalar_of(json, &column.ty);
                stored(value, &column.ty, self.ctx).ok_or_else(|| no_value(column))
            }
        }
    }
}

fn no_value(column: &ValueColumn) -> Error {
    not_of_type(&column.ty, &column.name)
}

/// The error of a part of a document that is to be of a type and cannot be.
pub(super) fn not_of_type(ty: &ColumnType, name: &str) -> Error {
    let text = format!(
        "Invalid JSON value for CAST to {} from column {name} at row 1",
        ty.to_string().to_ascii_uppercase(),
    );
    Error::new(Code::InvalidJsonForCast, text)
}

/// A value of a type; `None` when it cannot be one.
pub(super) fn stored(
    value: Value<'_>,
    ty: &ColumnType,
    ctx: &EvalContext,
) -> Option<Value<'static>> {
    let mode = StoreMode {
        dates: DateRules {
            no_zero_date: ctx.mode.no_zero_date,
            no_zero_in_date: ctx.mode.no_zero_in_date,
        },
        zone: &ctx.zone,
        now: ctx.now,
        ..StoreMode::STRICT
    };
    let stored = coerce::coerce(value, ty, &mode).ok()?;
    Some(stored.value.into_owned())
}

/// Empties the columns of a nested path.
fn clear(columns: &[Column], row: &mut [Value<'static>]) {
    for column in columns {
        match column {
            Column::Ordinality(at) => row.get_mut(*at).into_iter().for_each(empty),
            Column::Value(column) => row.get_mut(column.at).into_iter().for_each(empty),
            Column::Nested(_, within) => clear(within, row),
        }
    }
}

fn empty(value: &mut Value<'static>) {
    *value = Value::Null;
}

/// A JSON scalar as an SQL value.
pub(super) fn scalar_of(json: &Json, ty: &ColumnType) -> Value<'static> {
    let text = |text: String| Value::Text(Cow::Owned(text));
    match json {
        Json::Null => Value::Null,
        Json::String(string) => text(string.clone()),
        Json::Bool(truth) if !is_text(ty) => Value::Int(i64::from(*truth)),
        Json::Number(number) if !is_text(ty) => {
            if let Some(whole) = number.as_i64() {
                Value::Int(whole)
            } else if let Some(whole) = number.as_u64() {
                Value::UInt(whole)
            } else {
                // DECIMAL takes the digits, not what is nearest to them.
                text(number.to_string())
            }
        }
        Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            text(text_of_json(json))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of the outer path, and one of a nested one.
    fn table(outer_count: usize) -> ast::JsonTable {
        let ordinality = |n: usize| ast::JsonColumn::Ordinality(format!("c{n}"));
        let mut columns: Vec<ast::JsonColumn> = (0..outer_count).map(ordinality).collect();
        columns.push(ast::JsonColumn::Nested {
            path: "$.a".to_owned(),
            columns: vec![ordinality(outer_count)],
        });
        ast::JsonTable {
            document: ast::Expr::Literal(ast::Literal::Null),
            path: "$".to_owned(),
            columns,
            alias: Some("t".to_owned()),
        }
    }

    #[test]
    fn columns_of_all_levels_are_counted() {
        let (made, named) = JsonTable::new(&table(COLUMNS_MAX - 1)).unwrap();
        assert_eq!((made.width, named.len()), (COLUMNS_MAX, COLUMNS_MAX));
        let error = JsonTable::new(&table(COLUMNS_MAX)).unwrap_err();
        assert_eq!(error.code(), Code::TooManyColumns);
        assert!(error.message().contains("4097"), "{error}");
    }
}
