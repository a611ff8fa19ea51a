//! `IN`, `ANY` and `ALL` over the rows of a subquery.
//!
//! Source: MySQL manual, "Subqueries with ANY, IN, or SOME", "Subqueries with ALL".

use super::super::expr::{CompareOp, Expr, ExprKind, Slot};
use super::{Scope, compare};
use crate::error::{Error, Result};
use crate::sql::members::Members;
use crate::types::Value;

/// The truth of a predicate on the rows of a subquery.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other kinds are not of this file"
)]
pub(super) fn condition<'a>(scope: Scope<'a>, expr: &'a Expr) -> Result<Option<bool>> {
    match &expr.kind {
        ExprKind::InSet { expr, set, negated } => {
            let is_member = is_member(scope, expr, set)?;
            Ok(is_member.map(|is_member| is_member != *negated))
        }
        ExprKind::Quantified { expr, op, all, set } => quantified(scope, (expr, *op), *all, set),
        _ => Err(Error::internal(
            "a predicate on the rows of a subquery was expected",
        )),
    }
}

/// `expr IN (SELECT …)`.
fn is_member<'a>(scope: Scope<'a>, expr: &'a Expr, set: &Slot) -> Result<Option<bool>> {
    let members = scope.ctx.set(set)?;
    // Evaluated first, as it may fail or warn beside no member too.
    let values = values_of(scope, expr)?;
    if members.is_empty() {
        return Ok(Some(false));
    }
    let is_known = !values.iter().any(Value::is_null);
    if is_known && let Some(found) = members.contains(&values) {
        return if found || !members.has_null() {
            Ok(Some(found))
        } else {
            any_equal(scope, &values, members)
        };
    }
    any_equal(scope, &values, members)
}

/// The value of a scalar, or those of a row.
fn values_of<'a>(scope: Scope<'a>, expr: &'a Expr) -> Result<Vec<Value<'a>>> {
    if let ExprKind::Row(members) = &expr.kind {
        return members.iter().map(|member| scope.value(member)).collect();
    }
    Ok(vec![scope.value(expr)?])
}

/// Rows that are compared between two questions whether to go on.
const ROWS_BETWEEN_LOOKS: usize = 4096;

/// Before each row: one value may be compared with millions.
fn look(row_idx: usize, scope: Scope<'_>) -> Result<()> {
    if row_idx % ROWS_BETWEEN_LOOKS == ROWS_BETWEEN_LOOKS - 1 {
        return scope.ctx.facts.check_stop();
    }
    Ok(())
}

fn any_equal(scope: Scope<'_>, values: &[Value<'_>], members: &Members) -> Result<Option<bool>> {
    let mut answer = Some(false);
    for (row_idx, row) in members.rows().iter().enumerate() {
        look(row_idx, scope)?;
        match equals(scope, values, row)? {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => answer = None,
        }
    }
    Ok(answer)
}

fn equals(scope: Scope<'_>, values: &[Value<'_>], row: &[Value<'static>]) -> Result<Option<bool>> {
    let mut answer = Some(true);
    for (value, member) in values.iter().zip(row) {
        match compare::is_equal(value, member, scope.ctx)? {
            Some(true) => {}
            Some(false) => return Ok(Some(false)),
            None => answer = None,
        }
    }
    Ok(answer)
}

/// `expr op ANY (SELECT …)`, `expr op ALL (SELECT …)`. Of no rows, `ANY` is false and `ALL` true.
fn quantified<'a>(
    scope: Scope<'a>,
    (expr, op): (&'a Expr, CompareOp),
    all: bool,
    set: &Slot,
) -> Result<Option<bool>> {
    let members = scope.ctx.set(set)?;
    let value = scope.value(expr)?;
    if members.is_empty() {
        return Ok(Some(all));
    }
    let mut answer = Some(all);
    let members = members.rows().iter().filter_map(|row| row.first());
    for (row_idx, member) in members.enumerate() {
        look(row_idx, scope)?;
        match compare::compare_values(op, (&value, member), scope.ctx)? {
            Some(holds) if holds != all => return Ok(Some(holds)),
            Some(_) => {}
            None => answer = None,
        }
    }
    Ok(answer)
}
