//! What the order of the key is good for: ORDER BY without sort, groups one after the other.
//!
//! A column that has one value in all rows orders nothing and may stand anywhere, in the key and in
//! ORDER BY. What is left of ORDER BY must be the key's parts from the left, all in their direction
//! or all against it.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use super::access::Request;
use super::cut::KeyParts;
use crate::codec::key::Direction;
use crate::sql::eval;
use crate::sql::expr::{Expr, ExprKind};

/// What reading in key order gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    /// Whether rows (or groups, as they are first met) come in the order of ORDER BY.
    pub(super) ordered: bool,
    /// Whether the key must be read backwards for it.
    pub(super) reverse: bool,
    /// The position of the key part that orders, where it is the only one.
    pub(super) part: Option<usize>,
    /// Whether the rows of a group come one after the other.
    pub(super) grouped: bool,
}

/// Matches ORDER BY and GROUP BY with a key, given the columns that have one value.
pub(super) fn of(request: &Request<'_>, key: KeyParts<'_>, fixed: &[usize]) -> Order {
    // Aggregates without GROUP BY are one row.
    let is_one_group = request.grouping.is_some_and(<[Expr]>::is_empty);
    let matched = if is_one_group {
        Some(Matched::default())
    } else {
        matched(request, key, fixed)
    };
    Order {
        ordered: matched.is_some(),
        reverse: matched.is_some_and(|matched| matched.direction == Some(Direction::Desc)),
        part: matched.and_then(|matched| matched.part),
        grouped: request
            .grouping
            .is_some_and(|groups| are_groups_together((request, groups), key, fixed)),
    }
}

/// How ORDER BY is met by a key.
#[derive(Debug, Clone, Copy, Default)]
struct Matched {
    /// In which direction the key must be read; `None` when any will do.
    direction: Option<Direction>,
    /// As in [`Order`].
    part: Option<usize>,
}

/// How the key must be read; `None` when it does not help.
fn matched(request: &Request<'_>, key: KeyParts<'_>, fixed: &[usize]) -> Option<Matched> {
    let mut position = 0;
    let mut matched = Matched::default();
    for wanted in request.order_by {
        if eval::is_statement_constant(&wanted.expr) {
            continue;
        }
        let column_idx = table_column(&wanted.expr, request.grouping)?;
        if fixed.contains(&column_idx) {
            continue;
        }
        position = skip_fixed(position, key, fixed);
        if key.count() <= position {
            // The whole key is matched: no two rows are left to order, only their versions.
            if multiplies(request) {
                return None;
            }
            break;
        }
        if key.position(column_idx) != Some(position) {
            return None;
        }
        let is_backwards = wanted.descending != (key.direction(position) == Direction::Desc);
        let needed = Direction::of(is_backwards);
        matched.part = match matched.direction {
            None => Some(position),
            Some(direction) if direction == needed => None,
            Some(_) => return None,
        };
        matched.direction = Some(needed);
        position += 1;
    }
    Some(matched)
}

/// Whether a row may be read as several of one key.
pub(super) fn multiplies(request: &Request<'_>) -> bool {
    let reading = request.table.wide.reading;
    reading.is_some_and(|reading| reading.multiplies())
}

/// The table's column that an ORDER BY key is; through GROUP BY, the column of the group key.
fn table_column(expr: &Expr, grouping: Option<&[Expr]>) -> Option<usize> {
    let ExprKind::Column(idx) = expr.kind else {
        return None;
    };
    let Some(groups) = grouping else {
        return Some(idx);
    };
    match groups.get(idx)?.kind {
        ExprKind::Column(idx) => Some(idx),
        _ => None,
    }
}

fn skip_fixed(position: usize, key: KeyParts<'_>, fixed: &[usize]) -> usize {
    let rest = key.parts.iter().skip(position);
    let count = rest
        .take_while(|part| fixed.contains(&part.column_idx))
        .count();
    position + count
}

/// Whether the group keys are the leftmost parts of the key, in any order.
fn are_groups_together(
    (request, groups): (&Request<'_>, &[Expr]),
    key: KeyParts<'_>,
    fixed: &[usize],
) -> bool {
    let mut wanted = Vec::with_capacity(groups.len());
    for group in groups {
        match group.kind {
            ExprKind::Column(idx) if fixed.contains(&idx) => {}
            ExprKind::Column(idx) if wanted.contains(&idx) => {}
            ExprKind::Column(idx) => wanted.push(idx),
            _ if eval::is_statement_constant(group) => {}
            _ => return false,
        }
    }
    let parts = key.parts.iter().map(|part| part.column_idx);
    let free = parts.filter(|column_idx| !fixed.contains(column_idx));
    let together = free
        .take_while(|column_idx| wanted.contains(column_idx))
        .count();
    // Rows of one whole key are one, unless they are versions of it.
    let is_one_row = || !multiplies(request) && key.count() == together + fixed_parts(key, fixed);
    together == wanted.len() || is_one_row()
}

fn fixed_parts(key: KeyParts<'_>, fixed: &[usize]) -> usize {
    let parts = key.parts.iter();
    parts
        .filter(|part| fixed.contains(&part.column_idx))
        .count()
}
