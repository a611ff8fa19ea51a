//! Semi-joins: `a IN (SELECT b …)` answered for each row, by the rows of the subquery that are equal to
//! what it is compared with, instead of once by all of them.
//!
//! Where all rows would be too many, and `b` is the first column of a key, one row is found by that
//! key. The answer then lacks the `NULL`s of the others: what would be unknown is false. So only an
//! `IN` is turned that stands where `WHERE` does not tell them apart.

use super::{Select, Stage, Subquery};
use crate::sql::expr::{Expr, ExprKind};

/// The block with its subquery at `position` run for each row; `None` where that may change what is
/// found.
pub fn for_each_row(select: &Select, position: usize) -> Option<Select> {
    let subquery = select.subqueries.get(position)?;
    let semi = subquery.semi.as_deref()?;
    if subquery.stage != Stage::Filter {
        return None;
    }
    let mut turned = select.clone();
    if !turn(turned.filter.as_mut()?, subquery.slot) {
        return None;
    }
    let per_row = Subquery {
        query: std::sync::Arc::clone(&semi.query),
        captures: semi.captures.clone(),
        semi: None,
        ..subquery.clone()
    };
    *turned.subqueries.get_mut(position)? = per_row;
    Some(turned)
}

/// Marks the `IN` whose answer comes in this slot, if it stands where false is as good as unknown.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "under anything else false is not as good as unknown"
)]
fn turn(condition: &mut Expr, slot: usize) -> bool {
    let nullable = condition.nullable;
    match &mut condition.kind {
        ExprKind::InSet { set, negated, .. } if set.idx == slot => {
            set.per_row = !*negated || !nullable;
            set.per_row
        }
        ExprKind::And(members) | ExprKind::Or(members) => {
            members.iter_mut().any(|member| turn(member, slot))
        }
        _ => false,
    }
}
