//! UPDATE and DELETE of several tables, or with subqueries that read the row: a query finds the rows,
//! and computes the new values.
//!
//! Source: MySQL manual, "UPDATE Statement", "DELETE Statement": a row that several rows of the join
//! meet is changed once.

use std::sync::Arc;

use super::call::default_value;
use super::in_order::Before;
use super::literal::null;
use super::output::result_column;
use super::scope::{AggregateRule, Clause, Scope};
use super::select::{ask_by_rows, from_of_tables, hints_of};
use super::{Names, from, hints, operands, order, versions};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, Several, TableFactor, TableName, TableRef};
use crate::sql::bound::{
    Change, ChangeTarget, From, Hints, Output, Purpose, Query, Relation, Select, Subquery,
};
use crate::sql::expr::{Expr, ExprKind};
use crate::types::ResultColumn;

/// The parts of a statement that say which rows it is about.
struct Rows<'a> {
    hints: &'a [ast::Hint],
    filter: Option<&'a ast::Expr>,
    order_by: &'a [ast::OrderItem],
    limit: Option<&'a ast::Expr>,
    /// Whether they are of one table, or view, and of no join.
    is_of_one: bool,
}

/// A target while it is bound: a table, by its own name or through a view, and what is assigned.
struct Target {
    source: usize,
    /// Its position among what is read.
    relation: usize,
    table: Arc<Table>,
    /// Where its columns begin in the row.
    first_column: usize,
    /// Whether an outer join may leave it without a row.
    is_optional: bool,
    assigned: Vec<(usize, Expr)>,
}

impl Target {
    fn of(relation: usize, source: usize, scope: &Scope<'_>) -> Result<Target> {
        let read = scope.from.relations.get(relation);
        let Some((read, table)) = read.and_then(|read| Some((read, read.table()?))) else {
            return Err(Error::internal("a target that is no table"));
        };
        let named = scope.from.sources.get(source);
        Ok(Target {
            source,
            relation,
            table: Arc::clone(table),
            first_column: read.first_column,
            is_optional: named.is_none_or(|named| named.is_optional || named.is_view),
            assigned: Vec::new(),
        })
    }

    /// A column over the row.
    fn column(&self, idx: usize) -> Option<Expr> {
        let column = self.table.columns.get(idx)?;
        Some(Expr {
            kind: ExprKind::Column(self.first_column + idx),
            ty: column.ty.clone(),
            nullable: column.nullable || self.is_optional,
        })
    }
}

/// Binds an UPDATE as a change by a query.
pub(super) fn update(update: &ast::Update, names: &Names<'_>) -> Result<Change> {
    let mut scope = Scope::new(*names, None, Clause::FieldList);
    let tree = scope.bind_from(&update.tables)?;
    let mut targets: Vec<Target> = Vec::new();
    scope.clause = Clause::FieldList;
    for assignment in &update.assignments {
        if let Ok(None) = scope.from.find(&assignment.column) {
            scope.undeclared_place(&assignment.column)?;
        }
    }
    for assignment in &update.assignments {
        let name = &assignment.column;
        let unknown = || scope.unknown(&name.to_string());
        let place = match scope.from.find(name).ok().flatten() {
            Some(place) => Some(place),
            None => scope.undeclared_place(name)?,
        };
        let place = place.ok_or_else(unknown)?;
        let (relation, idx) = updatable(place, name, &scope)?;
        let is_same = |target: &Target| target.relation == relation;
        let known = targets.iter().position(is_same);
        let mut target = match known {
            Some(known) => targets.swap_remove(known),
            None => Target::of(relation, place.0, &scope)?,
        };
        let value = match &assignment.value {
            ast::InsertValue::Expr(value) => scope.value(value)?,
            ast::InsertValue::Default => default_of(&target, idx)?,
        };
        let value = checked(value, idx, &target)?;
        target.assigned.push((idx, value));
        let at = known.unwrap_or(targets.len());
        targets.push(target);
        let last = targets.len() - 1;
        targets.swap(at, last);
    }
    check_views(&targets, &scope)?;
    let rows = Rows {
        hints: &update.hints,
        filter: update.filter.as_ref(),
        order_by: &update.order_by,
        limit: update.limit.as_ref(),
        is_of_one: is_one(&update.tables),
    };
    check_limit(&rows, "UPDATE")?;
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
        let relation = deletable(source, &scope)?;
        if !targets.iter().any(|target| target.relation == relation) {
            targets.push(Target::of(relation, source, &scope)?);
        }
    }
    let rows = Rows {
        hints: &delete.hints,
        filter: delete.filter.as_ref(),
        order_by: &delete.order_by,
        limit: delete.limit.as_ref(),
        is_of_one: is_one(&several.tables),
    };
    check_limit(&rows, "DELETE")?;
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

fn is_one(tables: &[TableRef]) -> bool {
    matches!(tables, [only] if only.joins.is_empty())
}

/// # Errors
/// 1221: a join has no order to be limited by.
fn check_limit(rows: &Rows<'_>, verb: &str) -> Result<()> {
    let clause = match (rows.order_by, rows.limit) {
        ([], None) => return Ok(()),
        ([], Some(_)) => "LIMIT",
        _ => "ORDER BY",
    };
    if rows.is_of_one {
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
        let database = name.database.as_deref();
        source.alias == name.name && database.is_none_or(|named| named == source.database())
    });
    found.ok_or_else(|| {
        let text = format!("Unknown table '{}' in MULTI DELETE", name.name);
        Error::new(Code::UnknownTableInQuery, text)
    })
}

/// The table, as a position among what is read, that a name of DELETE means.
///
/// # Errors
/// 1288 for what is no table, 1395 for a view of several.
fn deletable(source: usize, scope: &Scope<'_>) -> Result<usize> {
    let named = scope.from.sources.get(source);
    let relation = match named.filter(|named| named.is_view) {
        Some(view) if 1 < view.relations.len() => {
            let text = format!(
                "Can not delete from join view '{}.{}'",
                view.database(),
                view.alias
            );
            return Err(Error::new(Code::ViewDeletesSeveral, text));
        }
        Some(view) if view.relations.is_empty() => None,
        Some(view) => Some(view.relations.start),
        None if named.is_some_and(|named| named.table().is_some()) => {
            let base = scope.from.base((source, 0));
            base.map(|(relation, _)| relation)
        }
        None => None,
    };
    let is_table = |relation: &usize| {
        let read = scope.from.relations.get(*relation);
        read.is_some_and(|read| read.table().is_some())
    };
    relation
        .filter(is_table)
        .ok_or_else(|| not_updatable(source, scope, "DELETE"))
}

/// The table, as a position among what is read, and its column that are assigned to.
///
/// # Errors
/// 1288 for what is no table, 1348 for a column of a view that is computed.
fn updatable(
    place: (usize, usize),
    name: &ast::ColumnName,
    scope: &Scope<'_>,
) -> Result<(usize, usize)> {
    let source = scope.from.sources.get(place.0);
    let is_merged_view = source.is_some_and(|one| one.is_view && !one.relations.is_empty());
    let is_target = is_merged_view || source.is_some_and(|source| source.table().is_some());
    if !is_target {
        return Err(not_updatable(place.0, scope, "UPDATE"));
    }
    scope.from.base(place).ok_or_else(|| {
        if !is_merged_view {
            return not_updatable(place.0, scope, "UPDATE");
        }
        let text = format!("Column '{}' is not updatable", name.column);
        Error::new(Code::ColumnNotUpdatable, text)
    })
}

/// # Errors
/// 1393: several tables through one view.
fn check_views(targets: &[Target], scope: &Scope<'_>) -> Result<()> {
    for (position, target) in targets.iter().enumerate() {
        let mut before = targets.iter().take(position);
        if before.any(|other| other.source == target.source) {
            let view = scope.from.sources.get(target.source);
            let name = view.map_or(String::new(), |view| {
                format!("{}.{}", view.database(), view.alias)
            });
            let text =
                format!("Can not modify more than one base table through a join view '{name}'");
            return Err(Error::new(Code::ViewChangesSeveral, text));
        }
    }
    Ok(())
}

/// Error 1288; 1044 for a table whose rows the server makes up.
fn not_updatable(source: usize, scope: &Scope<'_>, verb: &str) -> Error {
    let source = scope.from.sources.get(source);
    let table = source.and_then(|source| source.table());
    let mut relations = scope.from.relations.iter();
    let is_it = |relation: &crate::sql::bound::Source| match &relation.relation {
        Relation::Listed(listed) => table.is_some_and(|table| Arc::ptr_eq(table, &listed.table)),
        Relation::Table(_) | Relation::Query(_) | Relation::Round(_) => false,
    };
    if let Some(table) = table.filter(|_| relations.any(is_it)) {
        return from::access_denied(&table.database, &scope.names);
    }
    let alias = source.map_or("?", |source| source.alias.as_str());
    let text = format!("The target table {alias} of the {verb} is not updatable");
    Error::new(Code::NotUpdatable, text)
}

fn default_of(target: &Target, idx: usize) -> Result<Expr> {
    match target.table.columns.get(idx) {
        Some(column) => default_value(column),
        None => Err(Error::internal("a column that is not there")),
    }
}

/// A value that may be assigned to a column.
fn checked(value: Expr, idx: usize, target: &Target) -> Result<Expr> {
    let table = &target.table;
    let is_itself =
        matches!(value.kind, ExprKind::Column(other) if other == target.first_column + idx);
    if table.key_position(idx).is_some() && !is_itself {
        return Err(super::write::key_assigned(table, idx));
    }
    let column = table.columns.get(idx);
    Ok(if column.is_some_and(|column| column.ty.is_numeric()) {
        operands::as_stored(value)
    } else {
        value
    })
}

/// The hints of a query for the rows of a change. Those of one table may be given an end, as an UPDATE by key gives it.
fn hints_of_change(
    (rows, deletes): (&Rows<'_>, bool),
    (from, targets): (&From, &[Target]),
    scope: &mut Scope<'_>,
) -> Result<Hints> {
    let mut hints = hints_of(rows.hints, from, scope)?;
    hints.purpose = if deletes {
        Purpose::Delete
    } else {
        Purpose::Update
    };
    let tables = targets.iter().map(|target| &target.table);
    hints.ts_ms = versions::written_at(rows.hints, tables)?;
    if !deletes && rows.is_of_one {
        hints.ttl_ms = hints::hints(rows.hints, &[], scope.source())?.ttl_ms;
        hints.unknown.retain(|name| name != "_l_ttl_");
    }
    Ok(hints)
}

fn finish(
    (mut scope, tree): (Scope<'_>, Option<crate::sql::bound::JoinTree>),
    targets: Vec<Target>,
    (rows, deletes, ignore): (Rows<'_>, bool, bool),
) -> Result<Change> {
    scope.clause = Clause::Where;
    scope.aggregate_rule = AggregateRule::Forbidden;
    let filter = rows.filter.map(|filter| scope.condition(filter));
    let filter = filter.transpose()?;
    let order_by = scope.write_order(rows.order_by)?;
    let limit = rows
        .limit
        .map(|limit| order::limit(limit, &mut scope))
        .transpose()?;
    let (from, filter) = from_of_tables(tree, filter, &mut scope);
    let hints = hints_of_change((&rows, deletes), (&from, &targets), &mut scope)?;
    let mut outputs = Vec::new();
    let mut subqueries = std::mem::take(&mut scope.subqueries);
    let targets = targets.into_iter();
    let bound =
        targets.map(|target| outputs_of(target, (&mut outputs, rows.is_of_one), &subqueries));
    let bound = bound.collect::<Result<_>>()?;
    ask_by_rows(&mut subqueries);
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
///
/// # Errors
/// As [`Before::over_new`].
fn outputs_of(
    target: Target,
    (outputs, is_in_order): (&mut Vec<Output>, bool),
    subqueries: &[Subquery],
) -> Result<ChangeTarget> {
    let key = target.table.key.iter();
    let key = key.filter_map(|part| target.column(part.column_idx));
    outputs.extend(key.map(output));
    let table = target.table;
    let mut assigned = Vec::with_capacity(target.assigned.len());
    let (mut over_new, mut asked) = (Vec::new(), Vec::new());
    for (idx, value) in target.assigned {
        if table.key_position(idx).is_some() {
            continue;
        }
        let before = Before {
            table: &table,
            first_column: target.first_column,
            is_in_order,
            assigned: &assigned,
            subqueries,
        };
        let later = before.over_new((assigned.len(), &value), &mut asked)?;
        assigned.push(idx);
        outputs.push(output(if later.is_some() { null() } else { value }));
        over_new.extend(later);
    }
    let asked_count = asked.len();
    outputs.extend(asked.into_iter().map(output));
    Ok(ChangeTarget {
        table,
        assigned,
        over_new,
        asked_count,
    })
}

fn output(expr: Expr) -> Output {
    let column: ResultColumn = result_column(&expr);
    Output { expr, column }
}
