//! UPDATE and DELETE of several tables, or with subqueries that read the row: a query finds the rows,
//! and computes the new values.
//!
//! Source: MySQL manual, "UPDATE Statement", "DELETE Statement": a row that several rows of the join
//! meet is changed once.

use super::call::default_value;
use super::output::result_column;
use super::scope::{AggregateRule, Clause, Scope};
use super::select::{from_of_tables, hints_of};
use super::source::Source;
use super::{Names, from, literal, order};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, Several, TableFactor, TableName, TableRef};
use crate::sql::bound::{Change, ChangeTarget, Hints, Output, Query, Relation, Select, Stage};
use crate::sql::expr::{Expr, ExprKind};
use crate::types::ResultColumn;

/// The parts of a statement that say which rows it is about.
struct Rows<'a> {
    hints: &'a [ast::Hint],
    filter: Option<&'a ast::Expr>,
    order_by: &'a [ast::OrderItem],
    limit: Option<&'a ast::Expr>,
}

/// A target while it is bound: its source, and what is assigned.
struct Target {
    source: usize,
    assigned: Vec<(usize, Expr)>,
}

/// Binds an UPDATE as a change by a query.
pub(super) fn update(update: &ast::Update, names: &Names<'_>) -> Result<Change> {
    let mut scope = Scope::new(*names, None, Clause::FieldList);
    let tree = scope.bind_from(&update.tables)?;
    let mut targets: Vec<Target> = Vec::new();
    scope.clause = Clause::FieldList;
    for assignment in &update.assignments {
        let name = &assignment.column;
        let unknown = || scope.unknown(&name.to_string());
        let place = scope.from.find(name).ok().flatten();
        let (source, idx) = place.ok_or_else(unknown)?;
        let value = match &assignment.value {
            ast::InsertValue::Expr(value) => scope.value(value)?,
            ast::InsertValue::Default => default_of(&scope, (source, idx))?,
        };
        let value = checked(value, (source, idx), &scope)?;
        match targets.iter_mut().find(|target| target.source == source) {
            Some(target) => target.assigned.push((idx, value)),
            None => targets.push(Target {
                source,
                assigned: vec![(idx, value)],
            }),
        }
    }
    let rows = Rows {
        hints: &update.hints,
        filter: update.filter.as_ref(),
        order_by: &update.order_by,
        limit: update.limit.as_ref(),
    };
    check_limit(&update.tables, &rows, "UPDATE")?;
    finish((scope, tree), targets, (rows, false, update.ignore))
}

/// Binds a DELETE as a change by a query.
pub(super) fn delete(delete: &ast::Delete, names: &Names<'_>) -> Result<Change> {
    let mut scope = Scope::new(*names, None, Clause::FieldList);
    let one;
    let several = if let Some(several) = &delete.several {
        several
    } else {
        one = only(delete);
        &one
    };
    let tree = scope.bind_from(&several.tables)?;
    let mut targets: Vec<Target> = Vec::new();
    for name in &several.targets {
        let source = target_of(name, &scope)?;
        if !targets.iter().any(|target| target.source == source) {
            let assigned = Vec::new();
            targets.push(Target { source, assigned });
        }
    }
    let rows = Rows {
        hints: &delete.hints,
        filter: delete.filter.as_ref(),
        order_by: &delete.order_by,
        limit: delete.limit.as_ref(),
    };
    check_limit(&several.tables, &rows, "DELETE")?;
    finish((scope, tree), targets, (rows, true, delete.ignore))
}

/// A DELETE of one table as one of several.
fn only(delete: &ast::Delete) -> Several {
    let table = TableFactor::Table {
        name: delete.table.clone(),
        alias: delete.alias.clone(),
        index_hints: Vec::new(),
    };
    let alias = delete.alias.as_ref();
    Several {
        targets: vec![TableName {
            database: None,
            name: alias.unwrap_or(&delete.table.name).clone(),
        }],
        tables: vec![TableRef {
            factor: table,
            joins: Vec::new(),
        }],
    }
}

/// # Errors
/// 1221: a join has no order to be limited by.
fn check_limit(tables: &[TableRef], rows: &Rows<'_>, verb: &str) -> Result<()> {
    let is_one = matches!(tables, [only] if only.joins.is_empty());
    let clause = match (rows.order_by, rows.limit) {
        ([], None) => return Ok(()),
        ([], Some(_)) => "LIMIT",
        _ => "ORDER BY",
    };
    if is_one {
        return Ok(());
    }
    let text = format!("Incorrect usage of {verb} and {clause}");
    Err(Error::new(Code::WrongUsage, text))
}

/// # Errors
/// 1109 for a name that is not in `FROM`, 1288 for what is no table.
fn target_of(name: &TableName, scope: &Scope<'_>) -> Result<usize> {
    let mut sources = scope.from.sources.iter();
    let found = sources.position(|source| {
        let database = source.table().map(|table| table.database.as_str());
        source.alias == name.name
            && (name.database.is_none() || name.database.as_deref() == database)
    });
    let Some(source) = found else {
        let text = format!("Unknown table '{}' in MULTI DELETE", name.name);
        return Err(Error::new(Code::UnknownTableInQuery, text));
    };
    check_target(source, scope, "DELETE")?;
    Ok(source)
}

/// # Errors
/// 1288 for what is no table.
fn check_target(source: usize, scope: &Scope<'_>, verb: &str) -> Result<()> {
    let relation = scope.from.relations.iter().find(|relation| {
        let first = scope
            .from
            .sources
            .get(source)
            .and_then(Source::first_column);
        first == Some(relation.first_column)
    });
    if let Some(Relation::Listed(listed)) = relation.map(|relation| &relation.relation) {
        return Err(from::access_denied(&listed.table.database, &scope.names));
    }
    let source = scope.from.sources.get(source);
    if source.is_some_and(|source| source.table().is_some()) {
        return Ok(());
    }
    let alias = source.map_or("?", |source| source.alias.as_str());
    let text = format!("The target table {alias} of the {verb} is not updatable");
    Err(Error::new(Code::NotUpdatable, text))
}

fn default_of(scope: &Scope<'_>, (source, idx): (usize, usize)) -> Result<Expr> {
    let source = scope.from.sources.get(source);
    let table = source.and_then(|source| source.table());
    match table.and_then(|table| table.columns.get(idx)) {
        Some(column) => default_value(column),
        None => Err(Error::internal("a column that is not there")),
    }
}

/// A value that may be assigned to a column.
fn checked(value: Expr, (source, idx): (usize, usize), scope: &Scope<'_>) -> Result<Expr> {
    check_target(source, scope, "UPDATE")?;
    let source = scope.from.sources.get(source);
    let Some(table) = source.and_then(|source| source.table()) else {
        return Err(Error::internal("a target that is no table"));
    };
    let own = source.and_then(|source| source.column(idx));
    let is_itself = match (&value.kind, own.map(|own| own.kind)) {
        (ExprKind::Column(a), Some(ExprKind::Column(b))) => *a == b,
        _ => false,
    };
    if table.key_position(idx).is_some() && !is_itself {
        return Err(super::write::key_assigned(table, idx));
    }
    let column = table.columns.get(idx);
    Ok(if column.is_some_and(|column| column.ty.is_numeric()) {
        literal::as_number(value)
    } else {
        value
    })
}

fn finish(
    (mut scope, tree): (Scope<'_>, Option<crate::sql::bound::JoinTree>),
    targets: Vec<Target>,
    (rows, deletes, ignore): (Rows<'_>, bool, bool),
) -> Result<Change> {
    scope.clause = Clause::Where;
    scope.aggregate_rule = AggregateRule::Forbidden;
    let filter = rows.filter.map(|filter| scope.value(filter)).transpose()?;
    let order_by = scope.write_order(rows.order_by)?;
    let limit = rows
        .limit
        .map(|limit| order::limit(limit, &mut scope))
        .transpose()?;
    let (from, filter) = from_of_tables(tree, filter, &mut scope);
    let hints: Hints = hints_of(rows.hints, &from, &mut scope)?;
    let mut outputs = Vec::new();
    let mut bound = Vec::new();
    for target in targets {
        bound.push(outputs_of(target, &scope, &mut outputs)?);
    }
    let mut subqueries = std::mem::take(&mut scope.subqueries);
    for subquery in &mut subqueries {
        if subquery.stage == Stage::Group {
            subquery.stage = Stage::Row;
        }
    }
    let alias = scope.source().map(|source| source.alias.clone());
    let parameters_count = scope.parameters_count;
    let select = Select {
        from,
        alias: alias.unwrap_or_default(),
        hints: hints.clone(),
        subqueries,
        filter,
        aggregation: None,
        having: None,
        windowing: None,
        outputs,
        distinct: false,
        order_by,
        limit,
        offset: None,
        for_update: false,
        parameters_count,
    };
    Ok(Change {
        query: Query::Select(Box::new(select)),
        targets: bound,
        deletes,
        ignore,
        hints,
        parameters_count,
    })
}

/// The key of a target and its new values, as outputs of the query.
fn outputs_of(
    target: Target,
    scope: &Scope<'_>,
    outputs: &mut Vec<Output>,
) -> Result<ChangeTarget> {
    let source = scope.from.sources.get(target.source);
    let Some((source, table)) = source.and_then(|source| Some((source, source.table()?))) else {
        return Err(Error::internal("a target that is no table"));
    };
    let key = table
        .key
        .iter()
        .filter_map(|part| source.column(part.column_idx));
    outputs.extend(key.map(output));
    let mut assigned = Vec::with_capacity(target.assigned.len());
    for (idx, value) in target.assigned {
        if table.key_position(idx).is_none() {
            assigned.push(idx);
            outputs.push(output(value));
        }
    }
    let table = std::sync::Arc::clone(table);
    Ok(ChangeTarget { table, assigned })
}

fn output(expr: Expr) -> Output {
    let column: ResultColumn = result_column(&expr);
    Output { expr, column }
}
