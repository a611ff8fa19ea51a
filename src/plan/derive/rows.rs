//! Row values: `(a, b) = (1, 2)`, `(a, b) < (1, 2)`, `(a, b) IN ((1, 2), (3, 4))`.
//!
//! Rows compare column by column, the first difference decides:
//!
//! ```text
//!   (a, b) <  (1, 2)    a < 1 OR a = 1 AND b < 2
//!   (a, b) <= (1, 2)    a < 1 OR a = 1 AND b <= 2
//!   (a, b) <> (1, 2)    a <> 1 OR b <> 2
//! ```
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use super::super::verdict::Obstacle;
use super::alternatives::Alternatives;
use super::condition::Scope;
use crate::sql::expr::{CompareOp, Expr, ExprKind};

/// `(a, b, …) op (x, y, …)`.
pub(super) fn compare<'e>(
    scope: Scope<'_>,
    op: CompareOp,
    (left, right): (&'e [Expr], &'e [Expr]),
    condition: &'e Expr,
) -> Alternatives<'e> {
    let pairs = left.iter().zip(right);
    match op {
        CompareOp::Equal | CompareOp::NullSafeEqual => {
            let all = pairs.map(|pair| scope.compare_operands(op, pair, condition));
            scope.all_of(all, condition)
        }
        CompareOp::NotEqual => {
            let any = pairs.map(|pair| scope.compare_operands(op, pair, condition));
            scope.any_of(any, condition)
        }
        CompareOp::Less
        | CompareOp::LessOrEqual
        | CompareOp::Greater
        | CompareOp::GreaterOrEqual => {
            let any =
                (0..left.len()).map(|last| differ_at(scope, op, (left, right, last), condition));
            scope.any_of(any, condition)
        }
    }
}

/// Equal before position `last`, and decided there.
fn differ_at<'e>(
    scope: Scope<'_>,
    op: CompareOp,
    (left, right, last): (&'e [Expr], &'e [Expr], usize),
    condition: &'e Expr,
) -> Alternatives<'e> {
    let deciding = if last + 1 < left.len() {
        strict(op)
    } else {
        op
    };
    let parts = left.iter().zip(right).take(last + 1).enumerate();
    let all = parts.map(|(at, pair)| {
        let op = if at < last {
            CompareOp::Equal
        } else {
            deciding
        };
        scope.compare_operands(op, pair, condition)
    });
    scope.all_of(all, condition)
}

fn strict(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::LessOrEqual => CompareOp::Less,
        CompareOp::GreaterOrEqual => CompareOp::Greater,
        CompareOp::Equal
        | CompareOp::NullSafeEqual
        | CompareOp::NotEqual
        | CompareOp::Less
        | CompareOp::Greater => op,
    }
}

/// `(a, b, …) IN ((x, y, …), …)`.
pub(super) fn in_list<'e>(
    scope: Scope<'_>,
    parts: &'e [Expr],
    list: &'e [Expr],
    condition: &'e Expr,
) -> Alternatives<'e> {
    let any = list.iter().map(|member| match &member.kind {
        ExprKind::Row(row) => compare(scope, CompareOp::Equal, (parts, row), condition),
        _ => Alternatives::unknown(condition, &Obstacle::NotConstant),
    });
    scope.any_of(any, condition)
}
