//! Queries of one table or none.

use super::group::Grouping;
use super::scope::{AggregateRule, Clause, Scope};
use super::{Names, from, hints, order};
use crate::error::{Error, Result};
use crate::sql::ast::{self, Block, QueryBody, SelectItem, TableFactor, TableRef};
use crate::sql::bound::{Aggregation, OrderBy, Output, Select};
use crate::sql::expr::Expr;

/// What the clauses of a query compute, all over one row.
struct Clauses {
    outputs: Vec<Output>,
    having: Option<Expr>,
    order_by: Vec<OrderBy>,
}

pub(super) fn select(select: &ast::Select, names: &Names<'_>) -> Result<Select> {
    check_offered(select)?;
    match &select.body {
        QueryBody::Block(block) => block_of(select, block, names),
        QueryBody::Table(table) => {
            let factor = TableFactor::Table {
                name: table.clone(),
                alias: None,
                index_hints: Vec::new(),
            };
            let from = TableRef {
                factor,
                joins: Vec::new(),
            };
            block_of(select, &whole_table(from), names)
        }
        QueryBody::SetOperation { operator, .. } => Err(Error::unsupported(
            format!("{operator:?}").to_ascii_uppercase(),
        )),
        QueryBody::Values(_) => Err(Error::unsupported("VALUES ROW as a query")),
    }
}

/// `SELECT * FROM t`.
fn whole_table(from: TableRef) -> Block {
    Block {
        hints: Vec::new(),
        distinct: false,
        counts_rows: false,
        items: vec![SelectItem::Star],
        from: vec![from],
        filter: None,
        group_by: Vec::new(),
        rollup: false,
        having: None,
        window: false,
    }
}

/// # Errors
/// 1235 for what the grammar has and this server does not.
fn check_offered(select: &ast::Select) -> Result<()> {
    let mut refused = vec![
        (!select.ctes.is_empty(), "WITH before SELECT"),
        (select.into, "SELECT INTO"),
    ];
    if let QueryBody::Block(block) = &select.body {
        refused.push((block.counts_rows, "SQL_CALC_FOUND_ROWS"));
        refused.push((block.rollup, "WITH ROLLUP"));
        refused.push((block.window, "window functions"));
    }
    match refused.iter().find(|(found, _)| *found) {
        Some((_, what)) => Err(Error::unsupported(what)),
        None => Ok(()),
    }
}

fn block_of(select: &ast::Select, block: &Block, names: &Names<'_>) -> Result<Select> {
    let from = from::table(&block.from, names)?;
    let (source, index_hints) = match from {
        Some(from) => (Some(from.source), from.index_hints),
        None => (None, &[][..]),
    };
    let table = source.as_ref().map(|source| source.table.clone());
    let alias = source
        .as_ref()
        .map(|source| source.alias.clone())
        .unwrap_or_default();
    let hints = hints::hints(&block.hints, index_hints, source.as_ref())?;
    let mut scope = Scope::new(*names, source, Clause::Where);
    let filter = block
        .filter
        .as_ref()
        .map(|filter| scope.value(filter))
        .transpose()?;
    let limit = select.limit.as_ref();
    let count = limit
        .map(|limit| order::limit(&limit.count, &mut scope))
        .transpose()?;
    let offset = limit.and_then(|limit| limit.offset.as_ref());
    let offset = offset
        .map(|offset| order::limit(offset, &mut scope))
        .transpose()?;
    let mut clauses = bind_clauses(select, block, &mut scope)?;
    if block.distinct {
        scope.check_distinct_order(&clauses.order_by)?;
    }
    let parameters_count = scope.parameters_count;
    let is_grouped = !scope.keys.is_empty() || !scope.aggregates.is_empty();
    let aggregation = if is_grouped {
        Some(aggregate(
            &mut clauses,
            Grouping::new(scope, filter.as_ref()),
        )?)
    } else {
        None
    };
    Ok(Select {
        table,
        alias,
        hints,
        filter,
        aggregation,
        having: clauses.having,
        outputs: clauses.outputs,
        distinct: block.distinct,
        order_by: clauses.order_by,
        limit: count,
        offset,
        // A row that is only to be shared is locked all the same: nobody may change it meanwhile.
        for_update: select.lock.is_some(),
        parameters_count,
    })
}

/// Select list, GROUP BY, HAVING and ORDER BY, in the order in which they see each other's names.
fn bind_clauses(select: &ast::Select, block: &Block, scope: &mut Scope<'_>) -> Result<Clauses> {
    scope.clause = Clause::FieldList;
    scope.aggregate_rule = AggregateRule::Allowed;
    let outputs = scope.outputs(&block.items)?;
    scope.set_items(&outputs);
    scope.aggregate_rule = AggregateRule::Forbidden;
    scope.group_by(&block.group_by)?;
    scope.aggregate_rule = AggregateRule::Allowed;
    scope.clause = Clause::Having;
    let having = block
        .having
        .as_ref()
        .map(|having| scope.value(having))
        .transpose()?;
    let order_by = scope.order_by(&select.order_by)?;
    Ok(Clauses {
        outputs,
        having,
        order_by,
    })
}

/// Rewrites all clauses over the aggregated row.
fn aggregate(clauses: &mut Clauses, mut grouping: Grouping) -> Result<Aggregation> {
    for (idx, output) in clauses.outputs.iter_mut().enumerate() {
        grouping.rewrite(&mut output.expr, "SELECT list", idx + 1)?;
        output.column.nullable |= output.expr.nullable;
    }
    if let Some(having) = &mut clauses.having {
        grouping.rewrite(having, "HAVING clause", 1)?;
    }
    if grouping.is_implicit() {
        // There is one row at most, so nothing to sort.
        clauses.order_by.clear();
    }
    for (idx, key) in clauses.order_by.iter_mut().enumerate() {
        grouping.rewrite(&mut key.expr, "ORDER BY clause", idx + 1)?;
    }
    Ok(grouping.into_aggregation())
}
