//! Where the type of a parameter decides the type of what is computed with it; or that of a user variable, which
//! may have a value of another type each time that the statement is run.

use crate::sql::bound::InsertValue;
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};

/// The expression of a written value.
pub(super) fn expr_of(value: &InsertValue) -> Option<&Expr> {
    match value {
        InsertValue::Expr(expr) => Some(expr),
        InsertValue::Default => None,
    }
}

/// Whether the expression's own type, or that of something in it, is that of a parameter or a user variable.
pub(super) fn is_typed_by_one(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Parameter(_) | ExprKind::UserVariable(_)
    ) || has_typed_operand(expr)
}

/// Whether something in the expression has a type that follows from that of one.
pub(super) fn has_typed_operand(expr: &Expr) -> bool {
    let mut found = false;
    let takes_types = takes_types(expr);
    fold::each_child(expr, &mut |child| {
        found |= if takes_types {
            is_typed_by_one(child)
        } else {
            has_typed_operand(child)
        };
    });
    found
}

/// Whether the type of the expression follows from those of its operands.
fn takes_types(expr: &Expr) -> bool {
    match expr.kind {
        ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Case { .. }
        | ExprKind::DateShift { .. }
        | ExprKind::Call(..) => true,
        ExprKind::Literal(_)
        | ExprKind::Column(_)
        | ExprKind::Parameter(_)
        | ExprKind::Slot(_)
        | ExprKind::UserVariable(_)
        | ExprKind::SystemVariable { .. }
        | ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Xor(..)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsTruth { .. }
        | ExprKind::InList { .. }
        | ExprKind::InSet { .. }
        | ExprKind::Quantified { .. }
        | ExprKind::Between { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. }
        | ExprKind::Cast(..)
        | ExprKind::Row(_) => false,
    }
}
