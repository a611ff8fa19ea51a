//! Conditions on a query in `FROM` that is run on its own: the query gets them too, so that it reads
//! by its keys what may be wanted, and groups and unites no more than that.
//!
//! ```text
//! SELECT … FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) AS d WHERE d.k = 7 AND d.n > 2
//!                                      └ WHERE k = 7           ┘
//! ```
//! What is given to it only narrows, and the conditions outside stay as they are. `n > 2` stays
//! outside alone: it is about a group, not about the rows of one. (MySQL manual, "Derived Condition
//! Pushdown Optimization".)

use std::ops::Range;
use std::sync::Arc;

use super::derived::is_volatile;
use super::select::all_of;
use super::size;
use crate::sql::bound::{From, JoinTree, Query, Relation, Select, SetQuery};
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};

/// Gives the queries in `from` the conditions of `filter` that are about them alone. As [`narrow`],
/// not for a statement that assigns variables.
pub(super) fn into_queries(from: &mut From, filter: Option<&Expr>) {
    let (From::Joined(joined), Some(filter)) = (from, filter) else {
        return;
    };
    let conjuncts = match &filter.kind {
        ExprKind::And(members) => members.as_slice(),
        _ => std::slice::from_ref(filter),
    };
    for (idx, source) in joined.sources.iter_mut().enumerate() {
        let columns = source.first_column..source.first_column + source.columns_count();
        let Relation::Query(query) = &mut source.relation else {
            continue;
        };
        if !is_always_there(&joined.tree, idx) {
            continue;
        }
        for conjunct in conjuncts.iter().filter(|one| is_over(one, &columns)) {
            let mut condition = conjunct.clone();
            move_columns(&mut condition, columns.start);
            narrow(Arc::make_mut(query), condition);
        }
    }
}

/// Whether every row of the join has a row of this source, so that a condition on it may be met
/// before the join.
pub(super) fn is_always_there(tree: &JoinTree, source_idx: usize) -> bool {
    match tree {
        JoinTree::Source(idx) => *idx == source_idx,
        JoinTree::Inner { members, .. } => {
            let mut members = members.iter();
            members.any(|member| is_always_there(member, source_idx))
        }
        JoinTree::Left { left, .. } => is_always_there(left, source_idx),
    }
}

/// Gives a query a condition over its columns, as far as it can be met before its rows are made.
/// Returns whether all of the query has got it. Not for a statement that assigns variables: it would
/// do so for fewer rows.
pub(super) fn narrow(query: &mut Query, condition: Expr) -> bool {
    match query {
        Query::Select(select) => narrow_block(select, condition),
        Query::Set(set) => narrow_sides(set, &condition),
        Query::Recursive(_) | Query::Json(_) => false,
    }
}

fn narrow_sides(set: &mut SetQuery, condition: &Expr) -> bool {
    if set.limit.is_some() || set.offset.is_some() {
        return false;
    }
    let types: Vec<_> = set.columns.iter().map(|column| column.ty.clone()).collect();
    let mut are_narrowed = true;
    for side in [&mut set.sides.0, &mut set.sides.1] {
        let side = Arc::make_mut(side);
        // What is converted afterwards may compare otherwise before.
        let own: Vec<_> = side
            .columns()
            .into_iter()
            .map(|one| one.ty.clone())
            .collect();
        let is_converted = reads_any(condition, &|idx| own.get(idx) != types.get(idx));
        are_narrowed &= !is_converted && narrow(side, condition.clone());
    }
    are_narrowed
}

fn narrow_block(select: &mut Select, mut condition: Expr) -> bool {
    let takes_some = select.limit.is_some() || select.offset.is_some();
    if takes_some || select.windowing.is_some() || select.for_update {
        return false;
    }
    let outputs = &select.outputs;
    let output = |idx: usize| outputs.get(idx).map(|output| output.expr.clone());
    if reads_any(&condition, &|idx| outputs.len() <= idx) {
        return false;
    }
    put_columns(&mut condition, &output);
    if let Some(aggregation) = &select.aggregation {
        let keys = &aggregation.keys;
        // Of a group without keys there is one row, whatever is read.
        if aggregation.rollup || reads_any(&condition, &|idx| keys.len() <= idx) {
            return false;
        }
        put_columns(&mut condition, &|idx| keys.get(idx).cloned());
    }
    if !is_of_the_row(&condition) || !size::is_fit(&condition) {
        return false;
    }
    // Behind HAVING it met fewer rows, and must not fail with the others.
    if select.having.is_some() && may_fail(&condition) {
        return false;
    }
    into_queries(&mut select.from, Some(&condition));
    // After the query's own conditions, which may be there to keep it from failing.
    let own = select.filter.take().map(conjuncts_of).unwrap_or_default();
    select.filter = all_of(own, Some(condition));
    true
}

/// What an AND is made of.
fn conjuncts_of(filter: Expr) -> Vec<Expr> {
    match filter {
        Expr {
            kind: ExprKind::And(members),
            ..
        } => members,
        other => vec![other],
    }
}

/// Whether working a condition out may be an error: not while values are only compared.
fn may_fail(condition: &Expr) -> bool {
    let mut found = !matches!(
        condition.kind,
        ExprKind::Literal(_)
            | ExprKind::Column(_)
            | ExprKind::Parameter(_)
            | ExprKind::Slot(_)
            | ExprKind::Compare(..)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Not(_)
            | ExprKind::IsNull { .. }
            | ExprKind::InList { .. }
            | ExprKind::Between { .. }
            | ExprKind::Row(_)
    );
    fold::each_child(condition, &mut |child| found |= may_fail(child));
    found
}

/// Whether a condition is about columns of this range alone, and always the same for the same row.
fn is_over(condition: &Expr, columns: &Range<usize>) -> bool {
    is_of_the_row(condition)
        && reads_any(condition, &|_| true)
        && !reads_any(condition, &|idx| !columns.contains(&idx))
}

/// Whether it depends on the row and on what is known before alone.
pub(super) fn is_of_the_row(expr: &Expr) -> bool {
    !is_volatile(expr) && !asks_per_row(expr)
}

/// Whether it asks a subquery that is, or may be, run for each row.
fn asks_per_row(expr: &Expr) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Slot(slot) => slot.per_row,
        ExprKind::InSet { .. } | ExprKind::Quantified { .. } => true,
        _ => false,
    };
    fold::each_child(expr, &mut |child| found |= asks_per_row(child));
    found
}

/// Whether it reads any column like this.
fn reads_any(expr: &Expr, is_such: &dyn Fn(usize) -> bool) -> bool {
    let mut found = matches!(expr.kind, ExprKind::Column(idx) if is_such(idx));
    fold::each_child(expr, &mut |child| found |= reads_any(child, is_such));
    found
}

/// Counts columns from where those of the source begin.
fn move_columns(expr: &mut Expr, first: usize) {
    if let ExprKind::Column(idx) = &mut expr.kind {
        *idx = idx.saturating_sub(first);
    }
    fold::each_child_mut(expr, &mut |child| move_columns(child, first));
}

/// Puts an expression in the place of each column.
fn put_columns(expr: &mut Expr, expr_of: &dyn Fn(usize) -> Option<Expr>) {
    if let ExprKind::Column(idx) = expr.kind {
        if let Some(put) = expr_of(idx) {
            *expr = put;
        }
        return;
    }
    fold::each_child_mut(expr, &mut |child| put_columns(child, expr_of));
}
