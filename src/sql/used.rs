//! The columns of its table that a SELECT uses: an index that has them all covers it.

use std::collections::BTreeSet;

use super::bound::{OrderBy, Select};
use super::eval::fold;
use super::expr::{Expr, ExprKind};

/// The columns, as positions in the table.
pub fn columns(select: &Select) -> Vec<usize> {
    let mut used = BTreeSet::new();
    let mut take = |expr: &Expr| gather(expr, &mut used);
    select.filter.iter().for_each(&mut take);
    let order_by = select.order_by.iter().map(|key| &key.expr);
    let Some(aggregation) = &select.aggregation else {
        let outputs = select.outputs.iter().map(|output| &output.expr);
        let all = outputs.chain(&select.having).chain(order_by);
        all.for_each(take);
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

fn gather(expr: &Expr, used: &mut BTreeSet<usize>) {
    if let ExprKind::Column(idx) = expr.kind {
        used.insert(idx);
    }
    fold::each_child(expr, &mut |child| gather(child, used));
}
