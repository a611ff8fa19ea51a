//! The short way for `k1 = ? AND k2 = ? AND …` over the whole key: one full key, nothing else.
//!
//! Hot: runs for each execution of a prepared point statement. It must stay free of expression
//! clones, folding, locks and logging; it allocates the key's values and its bytes and no more.
//! Whatever it does not recognise takes the long way through `derive`, with the same answer.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use super::access::PointGet;
use super::cut::{self, KeyParts};
use super::place;
use crate::catalog::Table;
use crate::error::Result;
use crate::kv::Key;
use crate::sql::context::EvalContext;
use crate::sql::expr::{CompareOp, Expr, ExprKind};
use crate::types::Value;

/// Whether `filter` may be nothing but an equality on each part of the primary key, by the number of its
/// conditions: it is so for all values or for none.
pub fn may_be_point(filter: &Expr, table: &Table) -> bool {
    as_many_as_parts(filter, KeyParts::primary(table)).is_some()
}

/// The conditions of a filter, if they are as many as the parts of the key that are not filled by the server.
fn as_many_as_parts<'e>(filter: &'e Expr, key: KeyParts<'_>) -> Option<&'e [Expr]> {
    (parts_asked_for(filter, key) == key.count()).then(|| conditions(filter))
}

/// How many parts of the key are bound if each condition of the filter is an equality on one: the part that
/// is filled by the server, too.
pub(super) fn parts_asked_for(filter: &Expr, key: KeyParts<'_>) -> usize {
    let is_spread = key.column(0).is_some_and(|first| first.spread.is_some());
    conditions(filter).len() + usize::from(is_spread)
}

fn conditions(filter: &Expr) -> &[Expr] {
    match &filter.kind {
        ExprKind::And(parts) => parts.as_slice(),
        _ => std::slice::from_ref(filter),
    }
}

/// The key of the one row that `filter` allows, when the filter is nothing but an equality on each part
/// of the primary key.
///
/// # Errors
/// A value that does not fit its key part: an internal error.
pub fn point_key(filter: &Expr, table: &Table, ctx: &EvalContext) -> Result<Option<Key>> {
    let point = point_get(filter, KeyParts::primary(table), ctx)?;
    Ok(point.map(|point| point.key))
}

/// The one key that `filter` allows, when the filter is nothing but an equality on each part.
///
/// # Errors
/// A value that does not fit its key part: an internal error.
pub(super) fn point_get(
    filter: &Expr,
    key: KeyParts<'_>,
    ctx: &EvalContext,
) -> Result<Option<PointGet>> {
    let Some(conjuncts) = as_many_as_parts(filter, key) else {
        return Ok(None);
    };
    let spread = key.column(0).and_then(|column| column.spread.as_deref());
    let mut values = Vec::with_capacity(key.count());
    for part in key.parts {
        let Some(column) = key.columns.get(part.column_idx) else {
            return Ok(None);
        };
        if column.spread.is_some() {
            values.push(Value::Null);
            continue;
        }
        let constant = conjuncts
            .iter()
            .find_map(|conjunct| equal_to(conjunct, part.column_idx, ctx));
        let value = constant.and_then(|constant| place::exact_value(constant, &column.ty, ctx));
        match value {
            Some(value) => values.push(value),
            None => return Ok(None),
        }
    }
    if let Some(spread) = spread {
        let value_of = |idx| values.get(key.position(idx)?);
        let part = spread.value(key.columns, value_of)?;
        if let Some(first) = values.first_mut() {
            *first = part;
        }
    }
    // As many conjuncts as parts, and one for each part: no conjunct is left over.
    let key = cut::encode_prefix(&values, key)?;
    Ok(Some(PointGet { key, values }))
}

/// The constant that the column must equal, if that is what the conjunct says.
fn equal_to<'a>(
    conjunct: &'a Expr,
    column_idx: usize,
    ctx: &'a EvalContext,
) -> Option<&'a Value<'static>> {
    let ExprKind::Compare(CompareOp::Equal, a, b) = &conjunct.kind else {
        return None;
    };
    let is_column = |expr: &Expr| matches!(expr.kind, ExprKind::Column(idx) if idx == column_idx);
    let constant = if is_column(a) {
        b
    } else if is_column(b) {
        a
    } else {
        return None;
    };
    match &constant.kind {
        ExprKind::Literal(value) => Some(value),
        ExprKind::Parameter(position) => ctx.parameters.get(*position),
        ExprKind::Slot(slot) => ctx.known(slot),
        _ => None,
    }
}
