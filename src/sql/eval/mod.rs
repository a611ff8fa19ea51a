//! The evaluation of bound expressions, with MySQL's rules of conversion and comparison.
//!
//! Hot: [`eval_condition`] runs once per row of a scan. Comparisons of stored integers and strings
//! with literals must stay free of allocation, locks and logging, and touch only the columns they
//! name. Types are worked out beforehand ([`typing`]), never per row.
//!
//! Source of the rules: MySQL 8.0 Reference Manual, 12.3 "Type Conversion in Expression Evaluation"
//! and 12.25 "Precision Math".

pub mod fold;
pub mod typing;

pub use fold::{
    Stability, fold, fold_for_execution, is_constant, is_statement_constant, stability,
};

use super::context::EvalContext;
use super::expr::{Expr, Row};
use crate::error::{Error, Result};
use crate::types::Value;

/// The value of `expr` over `row`. Its variant fits `expr.ty`.
///
/// # Errors
/// 1690 for overflow, what a strict write makes of truncation and division by zero, what reading
/// the row's columns gives.
pub fn eval<'a>(expr: &'a Expr, row: &'a dyn Row, ctx: &'a EvalContext) -> Result<Value<'a>> {
    let (_, _, _) = (expr, row, ctx);
    Err(Error::internal("not yet"))
}

/// The truth of `expr` over `row` in SQL's three values: `None` is unknown (`NULL`).
///
/// # Errors
/// As [`eval`].
pub fn eval_condition<'a>(
    expr: &'a Expr,
    row: &'a dyn Row,
    ctx: &'a EvalContext,
) -> Result<Option<bool>> {
    let (_, _, _) = (expr, row, ctx);
    Err(Error::internal("not yet"))
}
