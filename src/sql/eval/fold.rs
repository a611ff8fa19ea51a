//! For how long an expression keeps its value, and its replacement by that value.

use std::cell::OnceCell;

use super::super::context::EvalContext;
use super::super::expr::{CastType, Expr, ExprKind, NoRow};
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
        ExprKind::Column(_) | ExprKind::Cast(_, CastType::AsIs) => Stability::Row,
        ExprKind::Parameter(_) | ExprKind::UserVariable(_) | ExprKind::SystemVariable { .. } => {
            Stability::Statement
        }
        ExprKind::Slot(slot)
        | ExprKind::InSet { set: slot, .. }
        | ExprKind::Quantified { set: slot, .. } => {
            if slot.per_row {
                Stability::Row
            } else {
                Stability::Statement
            }
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

/// As [`is_statement_constant`], of what the statement itself says: what a subquery answers, or a query around
/// this one reads of its row, is none of it.
pub fn is_said(expr: &Expr) -> bool {
    is_statement_constant(expr) && !reads_slot(expr)
}

/// Whether it reads what a subquery answers, or what a query around this one reads of its row.
pub fn reads_slot(expr: &Expr) -> bool {
    let mut found = matches!(
        expr.kind,
        ExprKind::Slot(_) | ExprKind::InSet { .. } | ExprKind::Quantified { .. }
    );
    each_child(expr, &mut |child| found = found || reads_slot(child));
    found
}

/// Visits the direct operands of a kind, shared or mutable as the reference to it is; `$iter` is
/// `iter` or `iter_mut`.
macro_rules! visit_children {
    ($kind:expr, $visit:ident, $iter:ident) => {
        match $kind {
            ExprKind::Literal(_)
            | ExprKind::Column(_)
            | ExprKind::Parameter(_)
            | ExprKind::Slot(_)
            | ExprKind::UserVariable(_)
            | ExprKind::SystemVariable { .. } => {}
            ExprKind::Unary(_, a)
            | ExprKind::Not(a)
            | ExprKind::IsNull { expr: a, .. }
            | ExprKind::IsTruth { expr: a, .. }
            | ExprKind::InSet { expr: a, .. }
            | ExprKind::Quantified { expr: a, .. }
            | ExprKind::Cast(a, _) => $visit(a),
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
                $visit(a);
                $visit(b);
            }
            ExprKind::And(list)
            | ExprKind::Or(list)
            | ExprKind::Row(list)
            | ExprKind::Call(_, list) => list.$iter().for_each($visit),
            ExprKind::InList { expr: a, list, .. } => {
                $visit(a);
                list.$iter().for_each($visit);
            }
            ExprKind::Between {
                expr: a, low, high, ..
            } => {
                $visit(a);
                $visit(low);
                $visit(high);
            }
            ExprKind::Case {
                operand,
                branches,
                otherwise,
            } => {
                if let Some(operand) = operand {
                    $visit(operand);
                }
                for (condition, result) in branches {
                    $visit(condition);
                    $visit(result);
                }
                if let Some(otherwise) = otherwise {
                    $visit(otherwise);
                }
            }
        }
    };
}

/// Calls `visit` with each direct operand of `expr`.
pub fn each_child<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit_children!(&expr.kind, visit, iter);
}

/// As [`each_child`], to change the operands.
pub fn each_child_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    visit_children!(&mut expr.kind, visit, iter_mut);
}

/// `expr` with every part that [`is_constant`] replaced by its value. A part whose evaluation
/// fails or warns stays as it is, so that it does so when, and only when, it is run.
///
/// # Errors
/// None of its own.
pub fn fold(expr: Expr, ctx: &EvalContext) -> Result<Expr> {
    Ok(Folder::new(Stability::Constant, ctx).folded(expr))
}

/// As [`fold`], for one execution: parts that are [`is_statement_constant`] go too.
///
/// # Errors
/// None of its own.
pub fn fold_for_execution(expr: Expr, ctx: &EvalContext) -> Result<Expr> {
    Ok(Folder::new(Stability::Statement, ctx).folded(expr))
}

struct Folder<'c> {
    /// What is folded is at most as unstable as this.
    most: Stability,
    ctx: &'c EvalContext,
    /// As `ctx`, with warnings of its own; made when first needed.
    quiet: OnceCell<EvalContext>,
}

impl Folder<'_> {
    fn new(most: Stability, ctx: &EvalContext) -> Folder<'_> {
        Folder {
            most,
            ctx,
            quiet: OnceCell::new(),
        }
    }

    /// Replaces the largest parts that can be.
    fn folded(&self, mut expr: Expr) -> Expr {
        if matches!(expr.kind, ExprKind::Literal(_)) {
            return expr;
        }
        let is_row = matches!(expr.kind, ExprKind::Row(_));
        let is_stable = !is_row && stability(&expr) <= self.most;
        if let Some(value) = is_stable.then(|| self.quiet_value(&expr)).flatten() {
            expr.nullable = value.is_null();
            expr.kind = ExprKind::Literal(value);
            return expr;
        }
        each_child_mut(&mut expr, &mut |child| {
            let whole = std::mem::replace(child, null());
            *child = self.folded(whole);
        });
        expr
    }

    /// The value with all its digits; `None` when computing it fails or warns.
    fn quiet_value(&self, expr: &Expr) -> Option<Value<'static>> {
        let quiet = self.quiet.get_or_init(|| self.ctx.quiet());
        let value = super::eval_exact(expr, &NoRow, quiet)
            .ok()
            .map(Value::into_owned);
        let is_quiet = quiet.warnings.count() == 0;
        if !is_quiet {
            quiet.warnings.take();
        }
        value.filter(|_| is_quiet)
    }
}

/// What stands where an expression is taken out for a moment.
fn null() -> Expr {
    Expr {
        kind: ExprKind::Literal(Value::Null),
        ty: ColumnType::Null,
        nullable: true,
    }
}
