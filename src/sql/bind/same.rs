//! Whether two bound expressions compute the same: how a selected expression finds its GROUP BY
//! key, and a condition the index of what it computes.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::Value;

/// Whether the two are built alike. Never true for two that differ in value; expressions that say
/// the same in other words are not recognised.
pub(crate) fn same(a: &Expr, b: &Expr) -> bool {
    // JSON_VALUE makes the type that it is said to return.
    if matches!(a.kind, ExprKind::Call(..)) && a.ty != b.ty {
        return false;
    }
    simple(&a.kind, &b.kind).unwrap_or_else(|| compound(&a.kind, &b.kind))
}

/// Adds to `state` what is equal of expressions that are the [`same`], and of others hardly ever.
pub(super) fn hash(expr: &Expr, state: &mut impl Hasher) {
    use ExprKind::{
        Binary, Call, Cast, Column, Compare, Literal, Parameter, Slot, SystemVariable, Unary,
        UserVariable,
    };
    discriminant(&expr.kind).hash(state);
    match &expr.kind {
        Literal(value) => {
            discriminant(value).hash(state);
            value.to_text().hash(state);
        }
        Column(position) | Parameter(position) => position.hash(state),
        Slot(slot) => slot.idx.hash(state),
        UserVariable(name) | SystemVariable { name, .. } => name.hash(state),
        Unary(op, _) => discriminant(op).hash(state),
        Binary(op, ..) => discriminant(op).hash(state),
        Compare(op, ..) => discriminant(op).hash(state),
        Cast(_, target) => discriminant(target).hash(state),
        Call(function, _) => function.name.hash(state),
        _ => {}
    }
    fold::each_child(expr, &mut |child| hash(child, state));
}

/// The answer for leaves and operators; `None` for the other kinds.
fn simple(a: &ExprKind, b: &ExprKind) -> Option<bool> {
    use ExprKind::{
        And, Binary, Call, Cast, Column, Compare, Literal, Not, Or, Parameter, Row, SystemVariable,
        Unary, UserVariable, Xor,
    };
    Some(match (a, b) {
        (Literal(a), Literal(b)) => same_value(a, b),
        (Column(a), Column(b)) | (Parameter(a), Parameter(b)) => a == b,
        (ExprKind::Slot(a), ExprKind::Slot(b)) => a == b,
        (UserVariable(a), UserVariable(b)) => a == b,
        (SystemVariable { scope: a, name: x }, SystemVariable { scope: b, name: y }) => {
            a == b && x == y
        }
        (Unary(op, a), Unary(other, b)) => op == other && same(a, b),
        (Binary(op, a, x), Binary(other, b, y)) => op == other && same(a, b) && same(x, y),
        (Compare(op, a, x), Compare(other, b, y)) => op == other && same(a, b) && same(x, y),
        (And(a), And(b)) | (Or(a), Or(b)) | (Row(a), Row(b)) => all_same(a, b),
        (Xor(a, x), Xor(b, y)) => same(a, b) && same(x, y),
        (Not(a), Not(b)) => same(a, b),
        (Cast(a, target), Cast(b, other)) => target == other && same(a, b),
        (Call(function, a), Call(other, b)) => std::ptr::eq(*function, *other) && all_same(a, b),
        _ => return None,
    })
}

/// The answer for predicates and CASE, their words told apart by the flags beside the operands.
fn compound(a: &ExprKind, b: &ExprKind) -> bool {
    match (predicate(a), predicate(b)) {
        (Some((tag, a)), Some((other, b))) => {
            tag == other && a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same(a, b))
        }
        _ => false,
    }
}

/// A predicate's kind and flags in one text, and its operands.
fn predicate(kind: &ExprKind) -> Option<(String, Vec<&Expr>)> {
    Some(match kind {
        ExprKind::IsNull { expr, negated } => (format!("null {negated}"), vec![expr]),
        ExprKind::IsTruth {
            expr,
            truth,
            negated,
        } => (format!("truth {truth:?} {negated}"), vec![expr]),
        ExprKind::InList {
            expr,
            list,
            negated,
        } => {
            let operands = std::iter::once(expr.as_ref()).chain(list);
            (format!("in {negated}"), operands.collect())
        }
        ExprKind::InSet { expr, set, negated } => {
            (format!("set {} {negated}", set.idx), vec![expr])
        }
        ExprKind::Quantified { expr, op, all, set } => {
            (format!("{op:?} {all} {}", set.idx), vec![expr])
        }
        ExprKind::Between {
            expr,
            low,
            high,
            negated,
        } => (format!("between {negated}"), vec![expr, low, high]),
        ExprKind::Like {
            expr,
            pattern,
            escape,
            negated,
        } => (format!("like {escape:?} {negated}"), vec![expr, pattern]),
        ExprKind::Regexp {
            expr,
            pattern,
            negated,
        } => (format!("regexp {negated}"), vec![expr, pattern]),
        ExprKind::DateShift {
            date,
            amount,
            unit,
            negated,
        } => (format!("shift {unit:?} {negated}"), vec![date, amount]),
        ExprKind::Case {
            operand,
            branches,
            otherwise,
        } => {
            let tag = format!("case {} {}", operand.is_some(), otherwise.is_some());
            let branches = branches
                .iter()
                .flat_map(|(condition, result)| [condition, result]);
            let operands = operand.as_deref().into_iter().chain(branches);
            (tag, operands.chain(otherwise.as_deref()).collect())
        }
        _ => return None,
    })
}

fn all_same(a: &[Expr], b: &[Expr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

/// Whether two literals are one: of one kind, and equal to the last digit.
fn same_value(a: &Value<'_>, b: &Value<'_>) -> bool {
    discriminant(a) == discriminant(b)
        && a.total_cmp(b) == Ordering::Equal
        && a.to_text() == b.to_text()
}
