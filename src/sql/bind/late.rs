//! Outputs that are computed once and at their time, where computing them twice or at another time would
//! give something else.
//!
//! What assigns variables is computed of sorted rows: `SELECT @rank := @rank + 1, name … ORDER BY
//! name` counts in the order in which rows are returned, as in MySQL. The rows are sorted by a query
//! within the query ([`with_late_outputs`]).
//!
//! What is sorted by itself is computed of rows as they are read: `SELECT RAND() AS r … ORDER BY r`. It
//! is a query within the query, whose rows are sorted ([`with_outputs_sorted`]).

use std::sync::Arc;

use super::output::result_column;
use super::same::same;
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
    over(select, outputs)
}

/// The block with its rows sorted after its outputs are computed, where a key of ORDER BY is made of an
/// output that is another each time it is computed.
pub(super) fn with_outputs_sorted(mut select: Select) -> Select {
    let keys = select.order_by.iter().map(|key| &key.expr);
    // Locks are taken for the rows of a table, and not for those of a query.
    if select.for_update || !keys.clone().any(|key| reads_changing(key, &select.outputs)) {
        return select;
    }
    let mut order_by = std::mem::take(&mut select.order_by);
    let shown = select.outputs.iter().enumerate().map(of_position).collect();
    for key in &mut order_by {
        read_back(&mut key.expr, &mut select.outputs);
    }
    let (limit, offset) = (select.limit.take(), select.offset.take());
    Select {
        order_by,
        limit,
        offset,
        ..over(select, shown)
    }
}

/// Whether an output that is another each time it is computed is a part of the expression.
fn reads_changing(expr: &Expr, outputs: &[Output]) -> bool {
    if !is_changing(expr) {
        return false;
    }
    let mut found = outputs.iter().any(|output| same(&output.expr, expr));
    fold::each_child(expr, &mut |child| {
        found = found || reads_changing(child, outputs);
    });
    found
}

fn is_changing(expr: &Expr) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Call(function, _) => function.stability == fold::Stability::Row,
        _ => false,
    };
    fold::each_child(expr, &mut |child| found |= is_changing(child));
    found
}

/// Rewrites a key over what the outputs have given; what is not among them is added.
fn read_back(expr: &mut Expr, outputs: &mut Vec<Output>) {
    let mut known = outputs.iter();
    let position = match known.position(|output| same(&output.expr, expr)) {
        Some(position) => position,
        None if reads_changing(expr, outputs) => {
            fold::each_child_mut(expr, &mut |child| read_back(child, outputs));
            return;
        }
        None => {
            outputs.push(output_of(expr.clone()));
            outputs.len() - 1
        }
    };
    expr.kind = ExprKind::Column(position);
}

/// An output of a query as one of the query around it.
fn of_position((position, output): (usize, &Output)) -> Output {
    Output {
        expr: Expr {
            kind: ExprKind::Column(position),
            ..output.expr.clone()
        },
        column: output.column.clone(),
    }
}

/// A query of what another gives.
fn over(mut select: Select, outputs: Vec<Output>) -> Select {
    let parameters_count = select.parameters_count;
    let alias = select.alias.clone();
    // What the whole statement heeds is asked of its first query.
    let hints = Hints {
        timeout_ms: select.hints.timeout_ms,
        unknown: std::mem::take(&mut select.hints.unknown),
        ..Hints::default()
    };
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
        hints,
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
