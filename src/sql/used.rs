//! The columns that a SELECT uses of what it reads: an index that has them all covers it, and rows of
//! joins hold no others.

use std::collections::BTreeSet;

use super::bound::{From, JoinTree, OrderBy, Select, Stage};
use super::eval::fold;
use super::expr::{Expr, ExprKind};

/// The columns, as positions in the row that is read.
pub fn columns(select: &Select) -> Vec<usize> {
    let mut used = BTreeSet::new();
    let mut take = |expr: &Expr| gather(expr, &mut used);
    select.filter.iter().for_each(&mut take);
    if let From::Joined(joined) = &select.from {
        tree(&joined.tree, &mut take);
        let captures = joined.sources.iter().flat_map(|source| &source.captures);
        captures.for_each(|capture| take(&capture.expr));
    }
    for subquery in &select.subqueries {
        // What is asked of groups is over the grouped row.
        if subquery.stage != Stage::Group {
            let captures = subquery.captures.iter();
            captures.for_each(|capture| take(&capture.expr));
        }
    }
    let Some(aggregation) = &select.aggregation else {
        select.having.iter().for_each(&mut take);
        if let Some(windowing) = &select.windowing {
            windowing.inputs.iter().for_each(take);
        } else {
            let outputs = select.outputs.iter().map(|output| &output.expr);
            let order_by = select.order_by.iter().map(|key| &key.expr);
            outputs.chain(order_by).for_each(take);
        }
        return used.into_iter().collect();
    };
    // The other clauses see the grouped row.
    aggregation.keys.iter().for_each(&mut take);
    for aggregate in &aggregation.aggregates {
        let order_by = aggregate.order_by.iter().map(|key: &OrderBy| &key.expr);
        aggregate.args.iter().chain(order_by).for_each(&mut take);
    }
    used.into_iter().collect()
}

/// The conditions of a tree of joins.
fn tree(joined: &JoinTree, take: &mut dyn FnMut(&Expr)) {
    match joined {
        JoinTree::Source(_) => {}
        JoinTree::Inner {
            members,
            conditions,
        } => {
            conditions.iter().for_each(&mut *take);
            for member in members {
                tree(member, take);
            }
        }
        JoinTree::Left { left, right, on } => {
            on.iter().for_each(&mut *take);
            tree(left, take);
            tree(right, take);
        }
    }
}

fn gather(expr: &Expr, used: &mut BTreeSet<usize>) {
    if let ExprKind::Column(idx) = expr.kind {
        used.insert(idx);
    }
    fold::each_child(expr, &mut |child| gather(child, used));
}
