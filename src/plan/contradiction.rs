//! Filters that cannot be true because of values that only stand for others ([`super::stand_in`]).
//!
//! Whether the values to come contradict the filter, nobody knows; a plan that reads nothing says
//! nothing then about how its rows would be found. So such a filter is planned without the conditions
//! that may be to blame, and these are left to be checked for each row.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use std::collections::BTreeSet;

use super::access::{Access, Request, TablePlan};
use super::derive::shape;
use super::stand_in;
use crate::error::Result;
use crate::sql::context::EvalContext;
use crate::sql::eval::fold;
use crate::sql::expr::{CompareOp, Expr, ExprKind};

/// Makes a plan of a request.
type Planner = fn(&Request<'_>) -> Result<TablePlan>;

/// What is planned without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// Other conditions on columns that are to be equal to what is not known.
    Equals,
    /// Besides, of the conditions with what is not known, all but the first on a column.
    Firsts,
    /// Besides, for what is not known there is a value of the column.
    Typical,
}

/// A condition of the filter.
struct Part<'e> {
    expr: &'e Expr,
    columns: Vec<usize>,
    /// Whether it reads a value that stands for another.
    is_open: bool,
    /// Whether it says that a column is equal to such a value.
    is_equal: bool,
}

/// The plan of a request; where values that stand for others contradict its filter, that of what is
/// left of it.
///
/// # Errors
/// Those of the planner.
pub(super) fn planned(request: &Request<'_>, planner: Planner) -> Result<TablePlan> {
    let plan = planner(request)?;
    let is_nothing = |plan: &TablePlan| matches!(plan.access, Access::Nothing);
    let Some(filter) = request.filter.filter(|_| is_nothing(&plan)) else {
        return Ok(plan);
    };
    if !stand_in::has_stand_in(request.ctx) {
        return Ok(plan);
    }
    let parts = Part::all(filter, request.ctx);
    let plan_of = |kept: Vec<Expr>| {
        let filter = shape::all_of(kept);
        planner(&Request {
            filter: filter.as_ref(),
            ..*request
        })
    };
    let closed = parts.iter().filter(|part| !part.is_open);
    let closed: Vec<Expr> = closed.map(|part| part.expr.clone()).collect();
    // What is known is a contradiction by itself, or nothing else is there to blame.
    if closed.len() == parts.len() || plan_of(closed).is_ok_and(|plan| is_nothing(&plan)) {
        return Ok(plan);
    }
    for attempt in [Attempt::Equals, Attempt::Firsts, Attempt::Typical] {
        let (kept, mut checked) = divided(&parts, attempt);
        let kept = kept
            .into_iter()
            .map(|part| part.expr_for(attempt, request.ctx));
        let mut plan = plan_of(kept.collect())?;
        if !is_nothing(&plan) {
            checked.splice(0..0, plan.residual.take());
            plan.residual = shape::all_of(checked);
            return Ok(plan);
        }
    }
    Ok(plan)
}

/// The conditions that are planned with, and those that are only checked.
fn divided<'p, 'e>(parts: &'p [Part<'e>], attempt: Attempt) -> (Vec<&'p Part<'e>>, Vec<Expr>) {
    let mut taken = BTreeSet::new();
    let (mut kept, mut checked) = (Vec::new(), Vec::new());
    let rank = |part: &&Part<'_>| (!part.is_equal, !part.is_open);
    let mut ranked: Vec<&Part<'_>> = parts.iter().collect();
    ranked.sort_by_key(rank);
    for part in ranked {
        let is_foreign = part.is_open && part.columns.is_empty();
        if is_foreign || part.columns.iter().any(|column| taken.contains(column)) {
            checked.push(part.expr.clone());
            continue;
        }
        if part.is_equal || (part.is_open && attempt != Attempt::Equals) {
            taken.extend(part.columns.iter().copied());
        }
        kept.push(part);
    }
    (kept, checked)
}

impl<'e> Part<'e> {
    fn all(filter: &'e Expr, ctx: &EvalContext) -> Vec<Part<'e>> {
        let mut parts = Vec::new();
        Part::add(filter, ctx, &mut parts);
        parts
    }

    fn add(expr: &'e Expr, ctx: &EvalContext, parts: &mut Vec<Part<'e>>) {
        if let ExprKind::And(list) = &expr.kind {
            for one in list {
                Part::add(one, ctx, parts);
            }
            return;
        }
        let mut columns = Vec::new();
        add_columns(expr, &mut columns);
        let is_open = stand_in::reads_stand_in(expr, ctx);
        parts.push(Part {
            is_equal: is_open && is_equal(expr),
            expr,
            columns,
            is_open,
        });
    }

    /// The condition as it is planned with.
    fn expr_for(&self, attempt: Attempt, ctx: &EvalContext) -> Expr {
        let mut expr = self.expr.clone();
        if attempt != Attempt::Typical || !self.is_equal {
            return expr;
        }
        if let ExprKind::Compare(_, a, b) = &mut expr.kind {
            let (column, other) = match a.kind {
                ExprKind::Column(_) => (a, b),
                _ => (b, a),
            };
            let typical = stand_in::typical(&column.ty, &other.ty);
            if let Some(value) = typical.filter(|_| stand_in::reads_stand_in(other, ctx)) {
                other.kind = ExprKind::Literal(value);
            }
        }
        expr
    }
}

/// Whether a condition says that a column is equal to something, or to one of some rows.
fn is_equal(expr: &Expr) -> bool {
    let is_column = |expr: &Expr| matches!(expr.kind, ExprKind::Column(_));
    let is_fixed = |expr: &Expr| fold::is_statement_constant(expr);
    match &expr.kind {
        ExprKind::Compare(CompareOp::Equal | CompareOp::NullSafeEqual, a, b) => {
            is_column(a) && is_fixed(b) || is_column(b) && is_fixed(a)
        }
        ExprKind::InSet { expr, negated, .. } => is_column(expr) && !*negated,
        _ => false,
    }
}

fn add_columns(expr: &Expr, columns: &mut Vec<usize>) {
    if let ExprKind::Column(column) = expr.kind {
        columns.push(column);
    }
    fold::each_child(expr, &mut |child| add_columns(child, columns));
}
