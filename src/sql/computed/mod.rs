//! What an index computes from a row: prefixes of columns, expressions, and whether there is an
//! entry at all.
//!
//! An expression means the same for every session: what depends on one is refused when the index is
//! defined ([`mod@define`]), and all are evaluated in UTC under the default `sql_mode`. Expressions
//! are bound once per definition and kept with it.

mod check;
pub mod define;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use super::bind;
use super::context::{EvalContext, Mode, SessionFacts, Warnings};
use super::eval;
use super::expr::{Expr, Row, VariableScope};
use super::parse;
use crate::catalog::{Column, ColumnPlace, Index, PartSource, Table};
use crate::error::{Code, Error, Result};
use crate::types::coerce::{self, StoreMode};
use crate::types::temporal::{DateRules, Zone};
use crate::types::{Timestamp, Value};

/// The parts and the condition of an index, bound.
#[derive(Debug)]
pub struct Bound {
    /// The columns of the table, and behind them the computed ones.
    pub columns: Vec<Column>,
    /// The computed parts, in the order of the index.
    pub parts: Vec<Part>,
    /// The condition of a partial index, over the row of the table.
    pub filter: Option<Expr>,
    table_columns_count: usize,
}

/// A computed part.
#[derive(Debug)]
pub enum Part {
    /// The first characters or bytes of a column.
    Prefix {
        /// The column's position in the table.
        column_idx: usize,
        /// How many.
        length: usize,
    },
    /// An expression over the row of the table; constants in it are folded.
    Expression(Expr),
}

/// What an index computes, bound; `None` when it has nothing but columns.
///
/// # Errors
/// 1712 for a definition that is none.
pub fn of(table: &Table, index: &Index) -> Result<Option<Arc<Bound>>> {
    if index.computed.is_empty() {
        return Ok(None);
    }
    if let Some(bound) = index.computed.memo.get::<Bound>() {
        return Ok(Some(bound));
    }
    let bound = Arc::new(Bound::of(table, index)?);
    index.computed.memo.keep(Arc::clone(&bound));
    Ok(Some(bound))
}

/// The values of a row as an index sees them: those of the columns, then the computed ones. `None`
/// when the row has no entry.
///
/// # Errors
/// What an expression makes of the values; 3751 for a result that its type cannot hold.
pub fn image<'v>(
    table: &Table,
    index: &Index,
    values: &'v [Value<'v>],
) -> Result<Option<Cow<'v, [Value<'v>]>>> {
    match of(table, index)? {
        None => Ok(Some(Cow::Borrowed(values))),
        Some(bound) => bound.image(&index.name, values),
    }
}

/// The columns whose values an index needs, computed parts and its condition included; ascending.
///
/// # Errors
/// As [`of`].
pub fn columns_needed(table: &Table, index: &Index) -> Result<Vec<usize>> {
    let parts = index.parts.iter().chain(&table.key);
    let mut columns: Vec<usize> = parts.map(|part| part.column_idx).collect();
    columns.retain(|column_idx| *column_idx < table.columns.len());
    columns.extend(index.included(table));
    let places = table.columns.iter().map(|column| column.place);
    columns.extend(
        places
            .enumerate()
            .filter(|(_, place)| *place == ColumnPlace::Expiry)
            .map(|(idx, _)| idx),
    );
    if let Some(bound) = of(table, index)? {
        bound.gather_columns(&mut columns);
    }
    columns.sort_unstable();
    columns.dedup();
    Ok(columns)
}

/// The columns that an index names in text, in expressions and in its condition.
///
/// # Errors
/// As [`of`].
pub fn columns_in_text(table: &Table, index: &Index) -> Result<Vec<usize>> {
    let mut columns = Vec::new();
    let Some(bound) = of(table, index)? else {
        return Ok(columns);
    };
    for part in &bound.parts {
        match part {
            Part::Expression(expr) => gather(expr, &mut columns),
            Part::Prefix { .. } => {}
        }
    }
    if let Some(filter) = &bound.filter {
        gather(filter, &mut columns);
    }
    Ok(columns)
}

/// The columns that unique indexes name so: a `NULL` in one of them, other than in a part that is a
/// column, may be what another row has.
///
/// # Errors
/// As [`of`].
pub fn columns_in_unique_texts(table: &Table) -> Result<Vec<usize>> {
    let mut columns = Vec::new();
    for index in table.indexes.iter().filter(|index| index.unique) {
        columns.extend(columns_in_text(table, index)?);
    }
    Ok(columns)
}

impl Bound {
    fn of(table: &Table, index: &Index) -> Result<Bound> {
        let computed = &index.computed;
        let shared = Arc::new(table.clone());
        let bind = |text: &String| {
            let expr = bound_text(text, &shared).map_err(|error| damaged(table, index, &error))?;
            eval::fold(expr, &CONTEXT)
        };
        let parts = computed.parts.iter().map(|part| match &part.source {
            PartSource::Prefix { column_idx, length } => Ok(Part::Prefix {
                column_idx: *column_idx,
                length: usize::try_from(*length).unwrap_or(usize::MAX),
            }),
            PartSource::Expression(text) => bind(text).map(Part::Expression),
        });
        let virtual_columns = computed.parts.iter().map(|part| part.column.clone());
        Ok(Bound {
            parts: parts.collect::<Result<_>>()?,
            filter: computed.filter.as_ref().map(bind).transpose()?,
            columns: table
                .columns
                .iter()
                .cloned()
                .chain(virtual_columns)
                .collect(),
            table_columns_count: table.columns.len(),
        })
    }

    /// Of an index that has nothing but columns.
    pub fn without_parts(table: &Table) -> Bound {
        Bound {
            columns: table.columns.clone(),
            parts: Vec::new(),
            filter: None,
            table_columns_count: table.columns.len(),
        }
    }

    /// The position of the computed part at `at`, as parts of the index name it.
    pub fn column_idx(&self, at: usize) -> usize {
        self.table_columns_count + at
    }

    /// Whether what it computes is written as an expression: these are evaluated under the default
    /// `sql_mode`, whatever that of the session.
    pub fn has_expressions(&self) -> bool {
        let is_expression = |part: &Part| match part {
            Part::Expression(_) => true,
            Part::Prefix { .. } => false,
        };
        self.filter.is_some() || self.parts.iter().any(is_expression)
    }

    fn image<'v>(
        &self,
        index_name: &str,
        values: &'v [Value<'v>],
    ) -> Result<Option<Cow<'v, [Value<'v>]>>> {
        let row = Values(values);
        if let Some(filter) = &self.filter
            && eval::eval_condition(filter, &row, &CONTEXT)? != Some(true)
        {
            return Ok(None);
        }
        if self.parts.is_empty() {
            return Ok(Some(Cow::Borrowed(values)));
        }
        let mut image: Vec<Value<'v>> = values.iter().map(Value::borrow).collect();
        for (at, part) in self.parts.iter().enumerate() {
            let value = match part {
                Part::Prefix { column_idx, length } => match values.get(*column_idx) {
                    Some(value) => prefix(value, *length),
                    None => Value::Null,
                },
                Part::Expression(expr) => self.computed((at, index_name), expr, &row)?,
            };
            image.push(value);
        }
        Ok(Some(Cow::Owned(image)))
    }

    /// The value of an expression, in the type of its part.
    fn computed(
        &self,
        (at, index_name): (usize, &str),
        expr: &Expr,
        row: &Values<'_>,
    ) -> Result<Value<'static>> {
        let value = eval::eval(expr, row, &CONTEXT)?;
        let Some(column) = self.columns.get(self.column_idx(at)) else {
            return Err(Error::internal("a computed part without type"));
        };
        let mode = StoreMode {
            dates: DateRules::LENIENT,
            ..StoreMode::STRICT
        };
        let stored = coerce::coerce(value, &column.ty, &mode).map_err(|_| {
            let text = format!("Data truncated for expression index '{index_name}' at row 1");
            Error::new(Code::ExpressionIndexTruncated, text)
        })?;
        Ok(stored.value.into_owned())
    }

    fn gather_columns(&self, columns: &mut Vec<usize>) {
        for part in &self.parts {
            match part {
                Part::Prefix { column_idx, .. } => columns.push(*column_idx),
                Part::Expression(expr) => gather(expr, columns),
            }
        }
        self.filter
            .iter()
            .for_each(|filter| gather(filter, columns));
    }
}

fn gather(expr: &Expr, columns: &mut Vec<usize>) {
    if let super::expr::ExprKind::Column(column_idx) = expr.kind {
        columns.push(column_idx);
    }
    eval::fold::each_child(expr, &mut |child| gather(child, columns));
}

/// The first characters of a text, or bytes of a binary string.
pub fn prefix<'v>(value: &'v Value<'_>, length: usize) -> Value<'v> {
    if let Value::Text(text) = value {
        let end = text
            .char_indices()
            .nth(length)
            .map_or(text.len(), |(at, _)| at);
        return Value::Text(Cow::Borrowed(text.get(..end).unwrap_or(text)));
    }
    if let Value::Bytes(bytes) = value {
        return Value::Bytes(Cow::Borrowed(bytes.get(..length).unwrap_or(bytes)));
    }
    value.borrow()
}

/// Whether expressions mean under this mode what they mean in an index.
pub fn is_default_mode(mode: &Mode) -> bool {
    mode.no_zero_date == MODE.no_zero_date
        && mode.no_zero_in_date == MODE.no_zero_in_date
        && mode.no_unsigned_subtraction == MODE.no_unsigned_subtraction
}

/// The expression that a stored text is.
fn bound_text(text: &str, table: &Arc<Table>) -> Result<Expr> {
    let parsed = parse::expression(text.as_bytes(), MODE)?;
    bind::condition(&parsed, table, &names())
}

fn damaged(table: &Table, index: &Index, error: &Error) -> Error {
    let text = format!(
        "index {} of table {} has a definition that is none: {}",
        index.name,
        table.name,
        error.message()
    );
    Error::new(Code::StorageCorrupt, text)
}

/// `sql_mode` as it is by default.
pub(crate) const MODE: Mode = Mode {
    strict: true,
    error_for_division_by_zero: true,
    no_zero_date: true,
    no_zero_in_date: true,
    no_unsigned_subtraction: false,
    real_as_float: false,
    no_backslash_escapes: false,
    pipes_as_concat: false,
    ansi_quotes: false,
    only_full_group_by: true,
    no_auto_value_on_zero: false,
    lindorm: false,
};

/// What expressions of indexes are evaluated with; nothing of it shows in their values.
pub static CONTEXT: LazyLock<EvalContext> = LazyLock::new(|| EvalContext {
    now: Timestamp::ZERO,
    zone: Zone::UTC,
    mode: MODE,
    parameters: Arc::default(),
    slots: Vec::new(),
    facts: Arc::new(Nobody),
    warnings: Arc::new(Warnings::default()),
    strict_write: false,
});

fn names() -> bind::Names<'static> {
    bind::Names {
        definitions: &Nobody,
        database: None,
        mode: MODE,
        facts: &Nobody,
        parameters: &[],
        ctes: None,
        numbering: &NUMBERING,
        depth: 0,
        trace: None,
        widening: None,
    }
}

/// There are no subqueries to number.
static NUMBERING: bind::Numbering = bind::Numbering::new();

/// The session of an index: none.
struct Nobody;

impl bind::FindTable for Nobody {
    fn find_table(&self, _: &str, name: &str) -> Result<Arc<Table>> {
        let text = format!("Table '{name}' doesn't exist");
        Err(Error::new(Code::TableMissing, text))
    }
}

impl SessionFacts for Nobody {
    fn system_variable(&self, _: VariableScope, name: &str) -> Result<Value<'static>> {
        let text = format!("Unknown system variable '{name}'");
        Err(Error::new(Code::UnknownSystemVariable, text))
    }
    fn user_variable(&self, _: &str) -> Option<Arc<Value<'static>>> {
        None
    }
    fn database(&self) -> Option<String> {
        None
    }
    fn user(&self) -> String {
        String::new()
    }
    fn connection_id(&self) -> u64 {
        0
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn row_count(&self) -> i64 {
        0
    }
    fn found_rows(&self) -> u64 {
        0
    }
    fn version(&self) -> &'static str {
        ""
    }
}

/// The values of a row about to be indexed.
struct Values<'v>(&'v [Value<'v>]);

impl Row for Values<'_> {
    fn column(&self, column_idx: usize) -> Result<Value<'_>> {
        let value = self.0.get(column_idx);
        let value = value.ok_or_else(|| Error::internal(format!("value {column_idx} of a row")))?;
        Ok(value.borrow())
    }
}

#[cfg(test)]
mod tests;
