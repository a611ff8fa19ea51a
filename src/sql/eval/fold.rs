//! For how long an expression keeps its value, and its replacement by that value.

use std::sync::Arc;

use super::super::context::{EvalContext, Warnings};
use super::super::expr::{Expr, ExprKind, NoRow};
use crate::error::Result;
use crate::types::{ColumnType, Value};

/// For how long a value stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// For ever: literals and what is computed from them.
    Constant,
    /// While the statement runs: parameters, variables, `NOW()`.
    Statement,
    /// Not from one row to the next: columns, `RAND()`.
    Row,
}

/// For how long `expr` keeps its value.
pub fn stability(expr: &Expr) -> Stability {
    let own = match &expr.kind {
        ExprKind::Column(_) => Stability::Row,
        ExprKind::Parameter(_) | ExprKind::UserVariable(_) | ExprKind::SystemVariable { .. } => {
            Stability::Statement
        }
        ExprKind::Call(function, _) => function.stability,
        ExprKind::Literal(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Xor(..)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsTruth { .. }
        | ExprKind::InList { .. }
        | ExprKind::Between { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. }
        | ExprKind::Case { .. }
        | ExprKind::Cast(..)
        | ExprKind::DateShift { .. }
        | ExprKind::Row(_) => Stability::Constant,
    };
    let mut least = own;
    each_child(expr, &mut |child| least = least.max(stability(child)));
    least
}

/// Whether `expr` has the same value in every execution of the statement.
pub fn is_constant(expr: &Expr) -> bool {
    stability(expr) == Stability::Constant
}

/// Whether `expr` has one value throughout an execution: parameters and `NOW()` count.
pub fn is_statement_constant(expr: &Expr) -> bool {
    stability(expr) <= Stability::Statement
}

/// Calls `visit` with each direct operand of `expr`.
pub fn each_child<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Column(_)
        | ExprKind::Parameter(_)
        | ExprKind::UserVariable(_)
        | ExprKind::SystemVariable { .. } => {}
        ExprKind::Unary(_, a)
        | ExprKind::Not(a)
        | ExprKind::IsNull { expr: a, .. }
        | ExprKind::IsTruth { expr: a, .. }
        | ExprKind::Cast(a, _) => visit(a),
        ExprKind::Binary(_, a, b)
        | ExprKind::Compare(_, a, b)
        | ExprKind::Xor(a, b)
        | ExprKind::Like {
            expr: a,
            pattern: b,
            ..
        }
        | ExprKind::Regexp {
            expr: a,
            pattern: b,
            ..
        }
        | ExprKind::DateShift {
            date: a, amount: b, ..
        } => {
            visit(a);
            visit(b);
        }
        ExprKind::And(list)
        | ExprKind::Or(list)
        | ExprKind::Row(list)
        | ExprKind::Call(_, list) => list.iter().for_each(visit),
        ExprKind::InList { expr: a, list, .. } => {
            visit(a);
            list.iter().for_each(visit);
        }
        ExprKind::Between {
            expr: a, low, high, ..
        } => {
            visit(a);
            visit(low);
            visit(high);
        }
        ExprKind::Case {
            operand,
            branches,
            otherwise,
        } => {
            operand.iter().for_each(|a| visit(a));
            for (condition, result) in branches {
                visit(condition);
                visit(result);
            }
            otherwise.iter().for_each(|a| visit(a));
        }
    }
}

/// As [`each_child`], to change the operands.
pub fn each_child_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Column(_)
        | ExprKind::Parameter(_)
        | ExprKind::UserVariable(_)
        | ExprKind::SystemVariable { .. } => {}
        ExprKind::Unary(_, a)
        | ExprKind::Not(a)
        | ExprKind::IsNull { expr: a, .. }
        | ExprKind::IsTruth { expr: a, .. }
        | ExprKind::Cast(a, _) => visit(a),
        ExprKind::Binary(_, a, b)
        | ExprKind::Compare(_, a, b)
        | ExprKind::Xor(a, b)
        | ExprKind::Like {
            expr: a,
            pattern: b,
            ..
        }
        | ExprKind::Regexp {
            expr: a,
            pattern: b,
            ..
        }
        | ExprKind::DateShift {
            date: a, amount: b, ..
        } => {
            visit(a);
            visit(b);
        }
        ExprKind::And(list)
        | ExprKind::Or(list)
        | ExprKind::Row(list)
        | ExprKind::Call(_, list) => list.iter_mut().for_each(visit),
        ExprKind::InList { expr: a, list, .. } => {
            visit(a);
            list.iter_mut().for_each(visit);
        }
        ExprKind::Between {
            expr: a, low, high, ..
        } => {
            visit(a);
            visit(low);
            visit(high);
        }
        ExprKind::Case {
            operand,
            branches,
            otherwise,
        } => {
            operand.iter_mut().for_each(|a| visit(a));
            for (condition, result) in branches {
                visit(condition);
                visit(result);
            }
            otherwise.iter_mut().for_each(|a| visit(a));
        }
    }
}

/// `expr` with every part that [`is_constant`] replaced by its value. A part whose evaluation
/// fails or warns stays as it is, so that it does so when, and only when, it is run.
///
/// # Errors
/// None of its own.
pub fn fold(expr: Expr, ctx: &EvalContext) -> Result<Expr> {
    Ok(folded(expr, Stability::Constant, ctx))
}

/// As [`fold`], for one execution: parts that are [`is_statement_constant`] go too.
///
/// # Errors
/// None of its own.
pub fn fold_for_execution(expr: Expr, ctx: &EvalContext) -> Result<Expr> {
    Ok(folded(expr, Stability::Statement, ctx))
}

/// Replaces the largest parts that are at most as unstable as `most`.
fn folded(mut expr: Expr, most: Stability, ctx: &EvalContext) -> Expr {
    if matches!(expr.kind, ExprKind::Literal(_)) {
        return expr;
    }
    let is_row = matches!(expr.kind, ExprKind::Row(_));
    if !is_row && stability(&expr) <= most {
        if let Some(value) = quiet_value(&expr, ctx) {
            expr.nullable = matches!(value, Value::Null);
            expr.kind = ExprKind::Literal(value);
            return expr;
        }
    }
    each_child_mut(&mut expr, &mut |child| {
        let whole = std::mem::replace(child, null());
        *child = folded(whole, most, ctx);
    });
    expr
}

/// What stands where an expression is taken out for a moment.
fn null() -> Expr {
    Expr {
        kind: ExprKind::Literal(Value::Null),
        ty: ColumnType::Null,
        nullable: true,
    }
}

/// The value with all its digits; `None` when computing it fails or warns.
fn quiet_value(expr: &Expr, ctx: &EvalContext) -> Option<Value<'static>> {
    let warnings = Arc::new(Warnings::default());
    let quiet = EvalContext {
        now: ctx.now,
        zone: ctx.zone.clone(),
        mode: ctx.mode,
        parameters: ctx.parameters.clone(),
        facts: Arc::clone(&ctx.facts),
        warnings: Arc::clone(&warnings),
        strict_write: ctx.strict_write,
    };
    let value = super::eval_exact(expr, &NoRow, &quiet).ok().map(Value::into_owned);
    value.filter(|_| warnings.count() == 0)
}
