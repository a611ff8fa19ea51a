//! Which conditions no row meets whose columns are all `NULL`: an outer join under such a condition
//! is an inner join.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use super::refs::Sources;
use crate::sql::bound::Joined;
use crate::sql::expr::{CompareOp, Expr, ExprKind};

/// Whether the condition is not true when all columns of these sources are `NULL`. A `false` may be
/// wrong.
pub(super) fn rejects_null(expr: &Expr, (joined, sources): (&Joined, Sources)) -> bool {
    let at = (joined, sources);
    match &expr.kind {
        ExprKind::And(members) => members.iter().any(|member| rejects_null(member, at)),
        ExprKind::Or(members) => members.iter().all(|member| rejects_null(member, at)),
        ExprKind::Compare(CompareOp::NullSafeEqual, ..) => false,
        ExprKind::Compare(_, a, b) => is_null(a, at) || is_null(b, at),
        ExprKind::IsNull {
            expr,
            negated: true,
        }
        | ExprKind::InList { expr, .. }
        | ExprKind::InSet {
            expr,
            negated: false,
            ..
        }
        | ExprKind::Between { expr, .. }
        | ExprKind::Like { expr, .. }
        | ExprKind::Regexp { expr, .. } => is_null(expr, at),
        ExprKind::Column(_) => is_null(expr, at),
        _ => false,
    }
}

/// Whether the value is `NULL` when all columns of these sources are.
fn is_null(expr: &Expr, (joined, sources): (&Joined, Sources)) -> bool {
    let at = (joined, sources);
    match &expr.kind {
        ExprKind::Column(_) => Sources::of(expr, joined).are_in(sources),
        ExprKind::Unary(_, a) => is_null(a, at),
        ExprKind::Binary(_, a, b) => is_null(a, at) || is_null(b, at),
        _ => false,
    }
}
