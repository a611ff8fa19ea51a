//! Queries: blocks, set operations, and the names that `WITH` gives.

use std::sync::Arc;

use super::cte;
use super::scope::{Clause, Outer, Scope};
use super::source::{QueryColumn, Source};
use super::{Names, order, select};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{
    self, Block, Limit, OrderItem, QueryBody, SelectItem, SetOperator, TableFactor, TableRef, With,
};
use crate::sql::bound::{Query, SetQuery};
use crate::sql::eval::{digits, typing};
use crate::sql::expr::{CastType, Expr, ExprKind};
use crate::types::{Attributes, ColumnType, ResultColumn};

/// Binds a query; names that it does not know are looked up in `outer`.
///
/// # Errors
/// Unknown names, wrong grouping, what is not offered yet.
pub(super) fn query<'a>(
    query: &ast::Select,
    names: &Names<'a>,
    outer: Option<&'a mut (dyn Outer + 'a)>,
) -> Result<Query> {
    if query.into.is_some() {
        let text = "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed \
                    at end of UNION clauses.";
        return Err(Error::new(Code::MisplacedInto, text));
    }
    refuse_lock(query)?;
    if counts_rows(query) {
        let text = "Incorrect usage/placement of 'SQL_CALC_FOUND_ROWS'";
        return Err(Error::new(Code::OptionMisplaced, text));
    }
    whole(query, names, outer)
}

/// Locks are taken for the rows that a statement returns, and not for those that a query within it reads.
///
/// # Errors
/// 1235.
pub(super) fn refuse_lock(query: &ast::Select) -> Result<()> {
    match query.lock {
        Some(_) => Err(Error::unsupported(
            "FOR UPDATE or FOR SHARE of a query within a statement",
        )),
        None => Ok(()),
    }
}

/// Whether `SQL_CALC_FOUND_ROWS` stands in the first block.
pub(super) fn counts_rows(query: &ast::Select) -> bool {
    match &query.body {
        QueryBody::Block(block) => block.counts_rows,
        QueryBody::SetOperation { sides, .. } => counts_rows(&sides.0),
        QueryBody::Values(_) | QueryBody::Table(_) => false,
    }
}

/// As [`query`], of one that may have `INTO` and `SQL_CALC_FOUND_ROWS`.
pub(super) fn whole<'a>(
    query: &ast::Select,
    names: &Names<'a>,
    mut outer: Option<&'a mut (dyn Outer + 'a)>,
) -> Result<Query> {
    cte::after(&query.with, names, &mut |names| {
        body(query, names, reborrow(&mut outer))
    })
}

fn body<'a>(
    query: &ast::Select,
    names: &Names<'a>,
    outer: Option<&'a mut (dyn Outer + 'a)>,
) -> Result<Query> {
    match &query.body {
        QueryBody::Block(block) => block_of(query, block, (names, outer)),
        QueryBody::Table(table) => {
            let factor = TableFactor::Table {
                name: table.clone(),
                alias: None,
                index_hints: Vec::new(),
            };
            let joins = Vec::new();
            let from = TableRef { factor, joins };
            block_of(
                query,
                &block(vec![SelectItem::Star], vec![from]),
                (names, outer),
            )
        }
        QueryBody::SetOperation {
            operator,
            all,
            sides,
        } => set_operation(query, (*operator, *all, sides), (names, outer)),
        QueryBody::Values(rows) => values(query, rows, (names, outer)),
    }
}

fn block_of(query: &ast::Select, block: &Block, around: Around<'_, '_>) -> Result<Query> {
    let select = select::block(query, block, around)?;
    Ok(Query::Select(Box::new(select)))
}

/// `SELECT items FROM from`.
fn block(items: Vec<SelectItem>, from: Vec<TableRef>) -> Block {
    Block {
        straight: false,
        hints: Vec::new(),
        distinct: false,
        counts_rows: false,
        no_cache: false,
        items,
        from,
        filter: None,
        group_by: Vec::new(),
        rollup: false,
        having: None,
        windows: Vec::new(),
    }
}

/// Names, and the enclosing query.
pub(super) type Around<'n, 'a> = (&'n Names<'a>, Option<&'a mut (dyn Outer + 'a)>);

fn set_operation(
    query: &ast::Select,
    (operator, all, sides): (SetOperator, bool, &(ast::Select, ast::Select)),
    (names, mut outer): Around<'_, '_>,
) -> Result<Query> {
    if query.lock.is_some() || sides.0.lock.is_some() {
        return Err(Error::unsupported("FOR UPDATE or FOR SHARE of a UNION"));
    }
    let left = whole(&sides.0, names, reborrow(&mut outer))?;
    let right = self::query(&sides.1, names, reborrow(&mut outer))?;
    set_query(around_rows(query), (operator, all, left, right), names)
}

/// `left UNION ALL right`, of queries that are bound.
///
/// # Errors
/// 1222 for different numbers of columns.
pub(super) fn union_all(left: Query, right: Query, names: &Names<'_>) -> Result<Query> {
    set_query((&[], None), (SetOperator::Union, true, left, right), names)
}

/// The enclosing query, for a while.
pub(super) fn reborrow<'s>(
    outer: &'s mut Option<&mut (dyn Outer + '_)>,
) -> Option<&'s mut (dyn Outer + 's)> {
    match outer {
        Some(outer) => Some(&mut **outer),
        None => None,
    }
}

/// What orders and cuts the rows of a whole query.
type AroundRows<'a> = (&'a [OrderItem], Option<&'a Limit>);

fn around_rows(query: &ast::Select) -> AroundRows<'_> {
    (&query.order_by, query.limit.as_ref())
}

fn set_query(
    (order_by, limit): AroundRows<'_>,
    (operator, all, left, right): (SetOperator, bool, Query, Query),
    names: &Names<'_>,
) -> Result<Query> {
    let columns = united_columns(&left, &right)?;
    let (left, right) = (finer(left, &columns), finer(right, &columns));
    let mut scope = Scope::new(*names, None, Clause::OrderBy);
    scope.parameters_count = left.parameters_count().max(right.parameters_count());
    scope.from.columns_count = columns.len();
    scope.from.sources.push(over(&columns));
    scope.items = columns
        .iter()
        .enumerate()
        .map(|(idx, column)| super::scope::Item {
            expr: column_expr(idx, column),
            name: column.name.clone(),
            is_column: true,
        })
        .collect();
    let order_by = scope.order_by(order_by)?;
    let (limit, offset) = order::limits(limit, &mut scope)?;
    Ok(Query::Set(Box::new(SetQuery {
        operator,
        all,
        sides: (Arc::new(left), Arc::new(right)),
        columns,
        order_by,
        limit,
        offset,
        parameters_count: scope.parameters_count,
    })))
}

fn column_expr(idx: usize, column: &ResultColumn) -> Expr {
    Expr {
        kind: ExprKind::Column(idx),
        ty: column.ty.clone(),
        nullable: column.nullable,
    }
}

/// The columns of a result as what names may mean.
fn over(columns: &[ResultColumn]) -> Source {
    let columns = columns.iter().enumerate();
    let columns = columns.map(|(idx, column)| QueryColumn {
        expr: column_expr(idx, column),
        column: column.clone(),
    });
    Source::query("", columns.collect())
}

/// # Errors
/// 1222.
fn united_columns(left: &Query, right: &Query) -> Result<Vec<ResultColumn>> {
    let exprs = side_exprs(left).into_iter().zip(side_exprs(right));
    let (left, right) = (left.columns(), right.columns());
    if left.len() != right.len() {
        return Err(different_columns());
    }
    let pairs = left.into_iter().zip(right);
    let columns = pairs.zip(exprs).map(|((left, right), (a, b))| {
        let ty = typing::common_of([&a, &b].into_iter());
        let is_double = ty == ColumnType::Double;
        ResultColumn {
            database: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: left.name.clone(),
            org_name: String::new(),
            ty,
            nullable: left.nullable || right.nullable,
            is_field: true,
            attributes: Attributes::default(),
            display_chars: if left.ty == right.ty {
                left.display_chars.max(right.display_chars)
            } else {
                0
            },
            decimals: digits::of_column(left)
                .zip(digits::of_column(right))
                .map(|(a, b)| a.max(b))
                .filter(|_| is_double),
        }
    });
    Ok(columns.collect())
}

/// The outputs of a side, as far as they are known as expressions.
fn side_exprs(side: &Query) -> Vec<Expr> {
    match side {
        Query::Select(select) => {
            let outputs = select.outputs.iter();
            outputs.map(|output| output.expr.clone()).collect()
        }
        Query::Set(_) | Query::Recursive(_) | Query::Json(_) => {
            let columns = side.columns().into_iter().enumerate();
            columns
                .map(|(idx, column)| column_expr(idx, column))
                .collect()
        }
    }
}

/// A side whose quotients have the digits of the result and not only those of their own type.
fn finer(mut side: Query, columns: &[ResultColumn]) -> Query {
    let Query::Select(select) = &mut side else {
        return side;
    };
    for (output, column) in select.outputs.iter_mut().zip(columns) {
        let ColumnType::Decimal { precision, scale } = column.ty else {
            continue;
        };
        let is_finer =
            matches!(output.expr.ty, ColumnType::Decimal { scale: own, .. } if own < scale);
        if is_finer && !matches!(output.expr.kind, ExprKind::Column(_) | ExprKind::Literal(_)) {
            let target = CastType::Decimal { precision, scale };
            output.expr = Expr {
                ty: column.ty.clone(),
                nullable: output.expr.nullable,
                kind: ExprKind::Cast(Box::new(output.expr.clone()), target),
            };
            output.column.ty = column.ty.clone();
        }
    }
    side
}

/// Error 1222.
pub(super) fn different_columns() -> Error {
    Error::new(
        Code::SetColumnsCount,
        "The used SELECT statements have a different number of columns",
    )
}

/// Columns with the names of a list behind the query's name, if there is one.
///
/// # Errors
/// 1353 for a list of another length.
pub(super) fn renamed(
    mut columns: Vec<ResultColumn>,
    names: &[String],
) -> Result<Vec<ResultColumn>> {
    if !names.is_empty() && names.len() != columns.len() {
        return Err(Error::new(
            Code::ViewColumnCount,
            "In definition of view, derived table or common table expression, SELECT list and \
             column names list have different column counts",
        ));
    }
    for (column, name) in columns.iter_mut().zip(names) {
        column.name.clone_from(name);
    }
    Ok(columns)
}

/// `VALUES ROW(…), …`: the rows are united, half by half.
fn values(
    query: &ast::Select,
    rows: &[Vec<ast::Expr>],
    (names, mut outer): Around<'_, '_>,
) -> Result<Query> {
    let Some((left, right)) = halves(rows) else {
        let row = rows.first().map_or(&[][..], Vec::as_slice);
        let items = row.iter().enumerate().map(|(idx, expr)| SelectItem::Expr {
            expr: expr.clone(),
            alias: Some(format!("column_{idx}")),
            text: String::new(),
        });
        return block_of(query, &block(items.collect(), Vec::new()), (names, outer));
    };
    let plain = ast::Select {
        with: With::default(),
        body: QueryBody::Values(Vec::new()),
        order_by: Vec::new(),
        limit: None,
        lock: None,
        into: None,
        assigns: false,
    };
    let left = values(&plain, left, (names, reborrow(&mut outer)))?;
    let right = values(&plain, right, (names, reborrow(&mut outer)))?;
    set_query(
        around_rows(query),
        (SetOperator::Union, true, left, right),
        names,
    )
}

/// Both halves of more than one row.
fn halves<T>(rows: &[T]) -> Option<(&[T], &[T])> {
    (1 < rows.len()).then(|| rows.split_at_checked(rows.len() / 2))?
}
