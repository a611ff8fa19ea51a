//! INSERT and its kin, UPDATE, DELETE.

use std::sync::Arc;

use super::call::default_value;
use super::literal;
use super::scope::{Clause, Proposed, Scope};
use super::source::Source;
use super::through::{self, Insertable};
use super::{Names, from, hints, operands, order, query, versions, view};
use crate::catalog::{ColumnDefault, Table};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{
    self, Assignment, ColumnName, InsertRows, InsertVerb, OnDuplicate, TableName,
};
use crate::sql::bound::{
    Delete, Insert, InsertKind, InsertSource, InsertValue, Purpose, Query, Update,
};
use crate::sql::expr::{Expr, ExprKind};

// INSERT.

pub(super) fn insert(insert: &ast::Insert, names: &Names<'_>) -> Result<Insert> {
    let view = match view::find(&insert.table, names) {
        Some(view) => Some(through::insertable(&view, insert, names)?),
        None => None,
    };
    let table = match &view {
        Some(view) => Arc::clone(&view.table),
        None => from::find(&insert.table, names)?,
    };
    // Hints that would change what is written are refused; there is no plan for others to change.
    let source = Source::new(Arc::clone(&table), None);
    let hints = hints::hints(&insert.hints, &[], Some(&source))?;
    let kind = insert_kind(insert, names);
    let columns = insert_columns(insert, (&source, view.as_ref()), names)?;
    if kind == InsertKind::Upsert || insert.verb == InsertVerb::Upsert {
        check_keys_named(&table, &columns)?;
    }
    let mut scope = Scope::new(*names, None, Clause::FieldList);
    scope.target = view.is_none().then(|| Arc::clone(&table));
    let source_rows = match &insert.rows {
        InsertRows::Values(rows) => {
            InsertSource::Values(insert_rows(rows, &columns, (&table, &mut scope))?)
        }
        InsertRows::Select(select) => query_rows(select, (&table, &columns), &mut scope)?,
    };
    let mut subqueries = std::mem::take(&mut scope.subqueries);
    let mut parameters_count = scope.parameters_count;
    let on_duplicate = match &insert.on_duplicate {
        OnDuplicate::Update(assignments) => {
            let mut scope = Scope::new(*names, Some(source), Clause::FieldList);
            scope.parameters_count = parameters_count;
            scope.proposed = Some(Proposed::new(insert.alias.as_ref(), &columns)?);
            let assignments = on_duplicate(assignments, &mut scope)?;
            parameters_count = scope.parameters_count;
            subqueries.append(&mut scope.subqueries);
            assignments
        }
        OnDuplicate::Unsaid | OnDuplicate::Error | OnDuplicate::Ignore => Vec::new(),
    };
    if subqueries.iter().any(|one| !one.captures.is_empty()) {
        return Err(Error::unsupported(
            "a subquery in ON DUPLICATE KEY UPDATE that reads the row",
        ));
    }
    Ok(Insert {
        table,
        kind,
        columns,
        source: source_rows,
        on_duplicate,
        ttl_ms: hints.ttl_ms,
        ts_ms: hints.ts_ms,
        hints,
        subqueries,
        parameters_count,
    })
}

fn insert_kind(insert: &ast::Insert, names: &Names<'_>) -> InsertKind {
    let ignores = insert.ignore || insert.on_duplicate == OnDuplicate::Ignore;
    // What is said of a duplicate becomes of it, whatever the verb does without. Source: Lindorm, "UPSERT".
    let is_unsaid = insert.on_duplicate == OnDuplicate::Unsaid;
    match insert.verb {
        InsertVerb::Replace => InsertKind::Replace,
        InsertVerb::Insert | InsertVerb::Upsert if ignores => InsertKind::InsertIgnore,
        InsertVerb::Upsert if is_unsaid => InsertKind::Upsert,
        InsertVerb::Insert if names.mode.lindorm && is_unsaid => InsertKind::Upsert,
        InsertVerb::Insert | InsertVerb::Upsert => InsertKind::Insert,
    }
}

/// The positions that each row gives values for.
fn insert_columns(
    insert: &ast::Insert,
    (source, view): (&Source, Option<&Insertable>),
    names: &Names<'_>,
) -> Result<Vec<usize>> {
    let Some(given) = &insert.columns else {
        let is_empty = |rows: &[Vec<_>]| rows.iter().all(Vec::is_empty);
        if matches!(&insert.rows, InsertRows::Values(rows) if is_empty(rows)) {
            // `VALUES ()`: every column gets its default.
            return Ok(Vec::new());
        }
        return Ok(view.map_or_else(|| source.shown(), Insertable::shown));
    };
    if let Some(table) = source.table().filter(|_| view.is_none()) {
        meet_all(
            given.iter().map(|name| &name.column),
            (source, table),
            names,
        )?;
    }
    let mut columns = Vec::with_capacity(given.len());
    for written in given {
        check_qualifier(written, &insert.table, names)?;
        let name = &written.column;
        let idx = match view {
            Some(view) => view.column_idx(name),
            None => source.column_idx(name),
        };
        let idx = match (idx, source.table().filter(|_| view.is_none())) {
            (None, Some(table)) => names.undeclared(table, name)?,
            (idx, _) => idx,
        };
        let Some(idx) = idx else {
            return Err(Scope::new(*names, None, Clause::FieldList).unknown(name));
        };
        if let Some(table) = source.table() {
            versions::check_writable(table, idx)?;
        }
        if columns.contains(&idx) {
            return Err(Error::new(
                Code::ColumnSpecifiedTwice,
                format!("Column '{name}' specified twice"),
            ));
        }
        columns.push(idx);
    }
    Ok(columns)
}

/// Checks that a column of `INSERT INTO t (…)` is said to be of that table, if it is said to be of one.
///
/// # Errors
/// 1054.
fn check_qualifier(name: &ColumnName, table: &TableName, names: &Names<'_>) -> Result<()> {
    let database = table.database.as_deref().or(names.database);
    let is_other_table = name.table.as_ref().is_some_and(|of| *of != table.name);
    let is_other_database = name.database.is_some() && name.database.as_deref() != database;
    if is_other_table || is_other_database {
        let name = name.to_string();
        return Err(Scope::new(*names, None, Clause::FieldList).unknown(&name));
    }
    Ok(())
}

/// Meets all names without declaration at once, so that the statement is bound again for all of them.
pub(super) fn meet_all<'n>(
    given: impl Iterator<Item = &'n String>,
    (source, table): (&Source, &Table),
    names: &Names<'_>,
) -> Result<()> {
    for name in given.filter(|name| source.column_idx(name).is_none()) {
        names.undeclared(table, name)?;
    }
    Ok(())
}

/// # Errors
/// 1364 when an UPSERT leaves a key column out that nothing else fills.
pub(super) fn check_keys_named(table: &Table, columns: &[usize]) -> Result<()> {
    for part in &table.key {
        let Some(column) = table.columns.get(part.column_idx) else {
            continue;
        };
        let filled = column.hidden
            || column.auto_increment
            || columns.contains(&part.column_idx)
            || !matches!(column.default, ColumnDefault::None);
        if !filled {
            return Err(Error::new(
                Code::NoDefault,
                format!(
                    "Field '{}' doesn't have a default value: UPSERT must name every column of the \
                     primary key",
                    column.name
                ),
            ));
        }
    }
    Ok(())
}

fn insert_rows(
    rows: &[Vec<ast::InsertValue>],
    columns: &[usize],
    (table, scope): (&Table, &mut Scope<'_>),
) -> Result<Vec<Vec<InsertValue>>> {
    let numeric: Vec<bool> = columns
        .iter()
        .map(|idx| {
            table
                .columns
                .get(*idx)
                .is_some_and(|column| column.ty.is_numeric())
        })
        .collect();
    let mut bound = Vec::with_capacity(rows.len());
    for (idx, row) in rows.iter().enumerate() {
        if row.len() != columns.len() {
            return Err(wrong_count(idx + 1));
        }
        let values = row
            .iter()
            .zip(&numeric)
            .map(|(value, numeric)| match value {
                ast::InsertValue::Default => Ok(InsertValue::Default),
                ast::InsertValue::Expr(expr) => {
                    let expr = row_value(expr, table, scope)?;
                    let expr = if *numeric {
                        literal::as_number(expr)
                    } else {
                        expr
                    };
                    Ok(InsertValue::Expr(expr))
                }
            });
        bound.push(values.collect::<Result<Vec<InsertValue>>>()?);
    }
    Ok(bound)
}

/// A value of a row. MySQL lets it read columns to its left; that is not offered.
fn row_value(expr: &ast::Expr, table: &Table, scope: &mut Scope<'_>) -> Result<Expr> {
    scope.value(expr).map_err(|error| match expr {
        ast::Expr::Column(name) if table.column_idx(&name.column).is_some() => {
            Error::unsupported(format!("the column {name} as a value of the same row"))
        }
        _ => error,
    })
}

fn wrong_count(row: usize) -> Error {
    Error::new(
        Code::WrongValueCount,
        format!("Column count doesn't match value count at row {row}"),
    )
}

/// `INSERT … SELECT`.
fn query_rows(
    select: &ast::Select,
    (table, columns): (&Table, &[usize]),
    scope: &mut Scope<'_>,
) -> Result<InsertSource> {
    let mut query = query::query(select, &scope.names, None)?;
    if query.columns().len() != columns.len() {
        return Err(wrong_count(1));
    }
    if let Query::Select(select) = &mut query
        && !select.distinct
    {
        for (output_idx, idx) in columns.iter().enumerate() {
            let column = table.columns.get(*idx);
            let is_number = column.is_some_and(|column| column.ty.is_numeric());
            let is_computed = operands::is_computed(select, output_idx);
            if let Some(output) = select.outputs.get_mut(output_idx).filter(|_| is_number) {
                let expr = std::mem::replace(&mut output.expr, literal::null());
                output.expr = if is_computed {
                    operands::exact(expr)
                } else {
                    operands::as_stored(expr)
                };
            }
        }
    }
    scope.parameters_count = scope.parameters_count.max(query.parameters_count());
    Ok(InsertSource::Query(Arc::new(query)))
}

/// `ON DUPLICATE KEY UPDATE`. A key column may be set to what it is, and to nothing else.
fn on_duplicate(assignments: &[Assignment], scope: &mut Scope<'_>) -> Result<Vec<(usize, Expr)>> {
    let mut bound = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let idx = assigned_column(&assignment.column, scope)?;
        let value = match assigned_value(assignment, idx, scope)? {
            InsertValue::Expr(value) => value,
            InsertValue::Default => column_default(idx, scope)?,
        };
        let Some(table) = scope.source().and_then(Source::table) else {
            return Err(Error::internal("ON DUPLICATE KEY UPDATE without a table"));
        };
        if table.key_position(idx).is_some() {
            let count = table.columns.len();
            let is_own = |value: &Expr| matches!(value.kind, ExprKind::Column(other) if other % count == idx);
            // The list says that the row is kept, also where it says no more.
            if !is_own(&value) && !tells_own(&value, idx) {
                return Err(key_assigned(table, idx));
            }
        }
        bound.push((idx, value));
    }
    Ok(bound)
}

/// Whether it is `LAST_INSERT_ID` of the stored column: MySQL's idiom that tells the client which row was met. It is
/// evaluated for that, and the column stays what it is.
fn tells_own(value: &Expr, idx: usize) -> bool {
    let ExprKind::Call(function, args) = &value.kind else {
        return false;
    };
    let is_of_stored = matches!(args.as_slice(), [arg] if matches!(arg.kind, ExprKind::Column(stored) if stored == idx));
    function.name == "LAST_INSERT_ID" && is_of_stored
}

fn column_default(idx: usize, scope: &Scope<'_>) -> Result<Expr> {
    let table = scope.source().and_then(Source::table);
    let column = table.and_then(|table| table.columns.get(idx));
    column.map_or_else(|| Ok(literal::null()), default_value)
}

// Assignments.

/// The position of an assigned column.
pub(super) fn assigned_column(name: &ColumnName, scope: &Scope<'_>) -> Result<usize> {
    let is_named =
        |source: &&Source| source.is_named(name.database.as_deref(), name.table.as_deref());
    let source = scope.source().filter(is_named);
    let found = source.and_then(|source| source.column_idx(&name.column));
    let found = match (found, source.and_then(Source::table)) {
        (None, Some(table)) => scope.names.undeclared(table, &name.column)?,
        (found, _) => found,
    };
    let found = found.ok_or_else(|| scope.unknown(&name.to_string()))?;
    if let Some(table) = source.and_then(Source::table) {
        versions::check_writable(table, found)?;
    }
    Ok(found)
}

pub(super) fn assigned_value(
    assignment: &Assignment,
    idx: usize,
    scope: &mut Scope<'_>,
) -> Result<InsertValue> {
    let value = match &assignment.value {
        ast::InsertValue::Default => return Ok(InsertValue::Default),
        ast::InsertValue::Expr(value) => scope.value(value)?,
    };
    let table = scope.source().and_then(Source::table);
    let numeric = table
        .and_then(|table| table.columns.get(idx))
        .is_some_and(|column| column.ty.is_numeric());
    Ok(InsertValue::Expr(if numeric {
        literal::as_number(value)
    } else {
        value
    }))
}

/// What is said when a statement would change a row's key and cannot move the row: ON DUPLICATE KEY UPDATE, an
/// UPDATE of several tables, as that of a view or with a subquery of each row is one, and of a table that keeps versions.
pub(crate) fn key_assigned(table: &Table, idx: usize) -> Error {
    let name = table
        .columns
        .get(idx)
        .map_or("?", |column| column.name.as_str());
    Error::unsupported(format!(
        "assignment to {name}, a column of the primary key; DELETE the row and INSERT another"
    ))
}

// UPDATE and DELETE.

pub(super) fn update(update: &ast::Update, names: &Names<'_>) -> Result<Update> {
    let (source, index_hints) = from::only_table(&update.tables, names)?;
    let mut hints = hints::hints(&update.hints, index_hints, Some(&source))?;
    hints.purpose = Purpose::Update;
    let table = table_of(&source)?;
    let alias = source.alias.clone();
    let mut scope = Scope::new(*names, Some(source), Clause::FieldList);
    if let Some(source) = scope.source() {
        let assigned = update.assignments.iter().map(|one| &one.column.column);
        meet_all(assigned, (source, &table), names)?;
    }
    let mut assignments = Vec::with_capacity(update.assignments.len());
    for assignment in &update.assignments {
        let idx = assigned_column(&assignment.column, &scope)?;
        let value = assigned_value(assignment, idx, &mut scope)?;
        let is_key = table.key_position(idx).is_some();
        if is_key && is_itself(&value, idx) {
            continue;
        }
        if is_key && table.wide.versions.is_some() && !is_constant(&value) {
            return Err(key_assigned(&table, idx));
        }
        assignments.push((idx, value));
    }
    scope.clause = Clause::Where;
    let filter = update
        .filter
        .as_ref()
        .map(|filter| scope.condition(filter))
        .transpose()?;
    let order_by = scope.write_order(&update.order_by)?;
    let limit = update.limit.as_ref();
    let limit = limit
        .map(|limit| order::limit(limit, &mut scope))
        .transpose()?;
    Ok(Update {
        table,
        alias,
        hints,
        ignore: update.ignore,
        assignments,
        filter,
        order_by,
        limit,
        subqueries: scope.subqueries,
        parameters_count: scope.parameters_count,
    })
}

/// Whether the value is the column it is assigned to.
fn is_itself(value: &InsertValue, idx: usize) -> bool {
    match value {
        InsertValue::Expr(value) => matches!(value.kind, ExprKind::Column(other) if other == idx),
        InsertValue::Default => false,
    }
}

/// Whether the value is a literal or a parameter. Clients that write whole rows back (updatable result
/// sets, forms) assign a key what it is already, which is known when the row is there.
fn is_constant(value: &InsertValue) -> bool {
    match value {
        InsertValue::Expr(value) => {
            matches!(value.kind, ExprKind::Literal(_) | ExprKind::Parameter(_))
        }
        InsertValue::Default => false,
    }
}

fn table_of(source: &Source) -> Result<Arc<Table>> {
    let table = source.table().map(Arc::clone);
    table.ok_or_else(|| Error::internal("a write to what is no table"))
}

pub(super) fn delete(delete: &ast::Delete, names: &Names<'_>) -> Result<Delete> {
    let source = Source::new(from::find(&delete.table, names)?, delete.alias.as_deref());
    let mut hints = hints::without_rows(&delete.hints, &[], Some(&source))?;
    hints.purpose = Purpose::Delete;
    let (table, alias) = (table_of(&source)?, source.alias.clone());
    let mut scope = Scope::new(*names, Some(source), Clause::Where);
    let filter = delete
        .filter
        .as_ref()
        .map(|filter| scope.condition(filter))
        .transpose()?;
    let order_by = scope.write_order(&delete.order_by)?;
    let limit = delete.limit.as_ref();
    let limit = limit
        .map(|limit| order::limit(limit, &mut scope))
        .transpose()?;
    Ok(Delete {
        ignore: delete.ignore,
        table,
        alias,
        hints,
        filter,
        order_by,
        limit,
        subqueries: scope.subqueries,
        parameters_count: scope.parameters_count,
    })
}
