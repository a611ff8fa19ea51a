//! What assigns variables is computed of sorted rows: `SELECT @rank := @rank + 1, name … ORDER BY
//! name` counts in the order in which rows are returned, as in MySQL. The rows are sorted by a query
//! within the query.

use std::sync::Arc;

use super::output::result_column;
use crate::sql::bound::{From, Hints, JoinTree, Joined, Output, Query, Relation, Select, Source};
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};
use crate::sql::functions::assign::is_in as assigns;
use crate::types::{ColumnType, Value};

/// The block with its outputs computed late, where they assign and rows are sorted.
pub(super) fn with_late_outputs(mut select: Select) -> Select {
    let is_plain = select.aggregation.is_none()
        && select.windowing.is_none()
        && select.subqueries.is_empty()
        && select.having.is_none()
        && !select.distinct
        && !select.for_update;
    let outputs = select.outputs.iter().map(|output| &output.expr);
    let keys = select.order_by.iter().map(|key| &key.expr);
    if !is_plain || select.order_by.is_empty() || keys.clone().any(assigns) {
        return select;
    }
    if !outputs.clone().any(assigns) {
        return select;
    }
    let mut used = Vec::new();
    outputs.for_each(|output| columns_of(output, &mut used));
    let mut outputs = std::mem::take(&mut select.outputs);
    for output in &mut outputs {
        renumber(&mut output.expr, &used);
    }
    select.outputs = used.into_iter().map(output_of).collect();
    if select.outputs.is_empty() {
        // A row without columns is none: this one has a constant.
        let one = ExprKind::Literal(Value::Int(1));
        select.outputs.push(output_of(Expr {
            kind: one,
            ty: ColumnType::BIGINT,
            nullable: false,
        }));
    }
    let parameters_count = select.parameters_count;
    let alias = select.alias.clone();
    let source = Source {
        relation: Relation::Query(Arc::new(Query::Select(Box::new(select)))),
        alias: alias.clone(),
        hints: Hints::default(),
        first_column: 0,
        captures: Vec::new(),
    };
    Select {
        from: From::Joined(Box::new(Joined {
            sources: vec![source],
            tree: JoinTree::Source(0),
            keeps_order: false,
        })),
        alias,
        hints: Hints::default(),
        subqueries: Vec::new(),
        filter: None,
        aggregation: None,
        having: None,
        windowing: None,
        outputs,
        distinct: false,
        order_by: Vec::new(),
        limit: None,
        offset: None,
        for_update: false,
        parameters_count,
    }
}

fn output_of(expr: Expr) -> Output {
    let column = result_column(&expr);
    Output { expr, column }
}

/// Adds the columns that an expression reads, each once.
fn columns_of(expr: &Expr, used: &mut Vec<Expr>) {
    if let ExprKind::Column(_) = expr.kind
        && position_of(expr, used).is_none()
    {
        used.push(expr.clone());
    }
    fold::each_child(expr, &mut |child| columns_of(child, used));
}

fn renumber(expr: &mut Expr, used: &[Expr]) {
    if let Some(position) = position_of(expr, used) {
        expr.kind = ExprKind::Column(position);
        return;
    }
    fold::each_child_mut(expr, &mut |child| renumber(child, used));
}

fn position_of(expr: &Expr, used: &[Expr]) -> Option<usize> {
    let ExprKind::Column(idx) = expr.kind else {
        return None;
    };
    let is_same = |one: &Expr| matches!(one.kind, ExprKind::Column(other) if other == idx);
    used.iter().position(is_same)
}
