//! Query blocks: `SELECT … FROM … WHERE … GROUP BY … HAVING …`, with the ORDER BY and LIMIT behind
//! them.

use super::group::{Grouping, misused_grouping};
use super::query::Around;
use super::scope::{AggregateRule, Clause, Scope};
use super::source::Source;
use super::window::Draft;
use super::{hints, late, named, order, push, versions, windowing};
use crate::error::Result;
use crate::sql::ast::{self, Block};
use crate::sql::bound::{
    Aggregation, From, Hints, JoinTree, Joined, OrderBy, Output, Select, Stage, Subquery,
};
use crate::sql::expr::{Expr, ExprKind};

/// What the clauses of a query compute, all over one row.
struct Clauses {
    outputs: Vec<Output>,
    having: Option<Expr>,
    order_by: Vec<OrderBy>,
    windows: Vec<Draft>,
}

/// Binds a block.
///
/// # Errors
/// Unknown names, wrong grouping, what is not offered yet.
pub(super) fn block(
    select: &ast::Select,
    block: &Block,
    (names, outer): Around<'_, '_>,
) -> Result<Select> {
    let mut scope = Scope::new(*names, None, Clause::Where);
    scope.outer = outer;
    scope.from.keeps_order |= block.straight;
    scope.from.rolls_up = block.rollup;
    let tree = scope.bind_from(&block.from)?;
    named::check_dump(block, scope.source().and_then(Source::table))?;
    versions::read(&block.hints, &mut scope.from)?;
    scope.clause = Clause::Where;
    let filter = block.filter.as_ref();
    let filter = filter.map(|filter| scope.condition(filter)).transpose()?;
    let (mut from, filter) = from_of_tables(tree, filter, &mut scope);
    if !names.numbering.is_assigning() {
        push::into_queries(&mut from, filter.as_ref());
    }
    let mut hints = hints_of(&block.hints, &from, &mut scope)?;
    hints.reads_whole = block.no_cache;
    let (limit, offset) = order::limits(select.limit.as_ref(), &mut scope)?;
    let mut clauses = bind_clauses(select, block, &mut scope)?;
    let parameters_count = scope.parameters_count;
    let is_grouped = !scope.keys.is_empty() || !scope.aggregates.is_empty();
    let mut subqueries = std::mem::take(&mut scope.subqueries);
    let alias = scope.source().map(|source| source.alias.clone());
    if !block.rollup && !scope.groupings.is_empty() {
        return Err(misused_grouping());
    }
    let aggregation = if is_grouped {
        let grouping = Grouping::new(scope, (filter.as_ref(), block.rollup), &from)?;
        Some(aggregate(&mut clauses, grouping, &mut subqueries)?)
    } else {
        ask_by_rows(&mut subqueries);
        None
    };
    let windowing =
        windowing::assemble(clauses.windows, &mut clauses.outputs, &mut clauses.order_by)?;
    let select = Select {
        from,
        alias: alias.unwrap_or_default(),
        hints,
        subqueries,
        filter,
        aggregation,
        having: clauses.having,
        windowing,
        outputs: clauses.outputs,
        distinct: block.distinct,
        order_by: clauses.order_by,
        limit,
        offset,
        // A row that is only to be shared is locked all the same: nobody may change it meanwhile.
        for_update: select.lock.is_some(),
        parameters_count,
    };
    let select = late::with_outputs_sorted(select);
    Ok(if names.numbering.is_assigning() {
        late::with_late_outputs(select)
    } else {
        select
    })
}

/// Without groups, what is asked of each group is asked of each row.
pub(super) fn ask_by_rows(subqueries: &mut [Subquery]) {
    let later = subqueries.iter_mut();
    let later = later.filter(|one| one.stage == Stage::Group);
    later.for_each(|one| one.stage = Stage::Row);
}

/// What is read, and all that its rows must meet.
pub(super) fn from_of_tables(
    tree: Option<JoinTree>,
    filter: Option<Expr>,
    scope: &mut Scope<'_>,
) -> (From, Option<Expr>) {
    let mut pooled = Vec::new();
    let from = from_of(tree, scope, &mut pooled);
    (from, all_of(pooled, filter))
}

/// What is read. The conditions of inner joins at the top go to `pooled`: they are as good as
/// `WHERE`.
fn from_of(tree: Option<JoinTree>, scope: &mut Scope<'_>, pooled: &mut Vec<Expr>) -> From {
    let Some(tree) = tree else {
        return From::Nothing;
    };
    let mut members = Vec::new();
    pool(tree, &mut members, pooled);
    let sources = std::mem::take(&mut scope.from.relations);
    if let ([JoinTree::Source(0)], [only]) = (members.as_slice(), sources.as_slice())
        && let Some(table) = only.table()
    {
        return From::Table(std::sync::Arc::clone(table));
    }
    let conditions = Vec::new();
    let tree = match members.len() {
        1 => members.pop(),
        _ => None,
    };
    let tree = tree.unwrap_or(JoinTree::Inner {
        members,
        conditions,
    });
    From::Joined(Box::new(Joined {
        sources,
        tree,
        keeps_order: scope.from.keeps_order,
    }))
}

/// Takes inner joins apart.
fn pool(tree: JoinTree, members: &mut Vec<JoinTree>, conditions: &mut Vec<Expr>) {
    match tree {
        JoinTree::Inner {
            members: inner,
            conditions: own,
        } => {
            conditions.extend(own);
            for member in inner {
                pool(member, members, conditions);
            }
        }
        JoinTree::Source(_) | JoinTree::Left { .. } => members.push(tree),
    }
}

/// Conditions as one.
pub(super) fn all_of(mut conditions: Vec<Expr>, last: Option<Expr>) -> Option<Expr> {
    match last.map(|last| (last.kind, last.ty, last.nullable)) {
        None => {}
        Some((ExprKind::And(members), ..)) if !conditions.is_empty() => conditions.extend(members),
        Some((kind, ty, nullable)) => conditions.push(Expr { kind, ty, nullable }),
    }
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => {
            let nullable = conditions.iter().any(|condition| condition.nullable);
            Some(super::expr::truth(ExprKind::And(conditions), nullable))
        }
    }
}

/// The hints of the block; those that name keys are about the only table.
pub(super) fn hints_of(written: &[ast::Hint], from: &From, scope: &mut Scope<'_>) -> Result<Hints> {
    let source = match from {
        From::Table(_) => scope.source(),
        From::Nothing | From::Joined(_) => None,
    };
    // Those about versions are the business of who reads or writes them.
    let written = written.iter().filter(|hint| !versions::is_one(hint));
    let written: Vec<ast::Hint> = written.cloned().collect();
    let mut hints = hints::without_rows(&written, &[], source)?;
    if let Some(beside) = scope.from.only_hints.take() {
        hints.indexes_ignored.extend(beside.indexes_ignored);
        if let Some(named) = beside.indexes_named {
            hints.indexes_named.get_or_insert_default().extend(named);
        }
    }
    Ok(hints)
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
    let mut order_by = scope.order_by(&select.order_by)?;
    if block.rollup && order_by.is_empty() {
        order_by = scope.rollup_order();
    }
    let windows = scope.window_drafts(&block.windows)?;
    // Groups with ROLLUP have an order that nobody has asked for.
    let has_order = !select.order_by.is_empty();
    if block.distinct && has_order && scope.names.mode.only_full_group_by {
        scope.check_distinct_order(&order_by)?;
    }
    Ok(Clauses {
        outputs,
        having,
        order_by,
        windows,
    })
}

/// Rewrites all clauses over the aggregated row.
fn aggregate(
    clauses: &mut Clauses,
    mut grouping: Grouping,
    subqueries: &mut [Subquery],
) -> Result<Aggregation> {
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
    for draft in &mut clauses.windows {
        let mut position = 0;
        draft.each_expr(&mut |expr| {
            position += 1;
            grouping.rewrite(
                expr,
                "the window or the arguments of a window function",
                position,
            )
        })?;
    }
    let later = subqueries.iter_mut();
    for subquery in later.filter(|one| one.stage == Stage::Group) {
        for capture in &mut subquery.captures {
            grouping.rewrite(&mut capture.expr, "subquery", 1)?;
        }
    }
    Ok(grouping.into_aggregation())
}
