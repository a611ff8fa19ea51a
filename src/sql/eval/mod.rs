//! The evaluation of bound expressions, with MySQL's rules of conversion and comparison.
//!
//! Hot: [`eval_condition`] runs once per row of a scan. Comparisons of stored integers and strings
//! with literals must stay free of allocation, locks and logging, and touch only the columns they
//! name. Types are worked out beforehand ([`typing`]), never per row.
//!
//! ```text
//!   typing     types of operators, CASE, aggregates       compare    = <=> <> < IN BETWEEN
//!   fold       what is constant, and its value            arithmetic + - * / DIV % & | ^ << >>
//!   convert    numbers, texts and truth of values         moment     dates and times of values
//!   fit        the variant that a type asks for           cast, shift, like, regexp, bytes
//!   print      the text of a bound expression             digits     what numbers show after the point
//!   dynamic    what is typed anew for each row
//!   collation  whether strings together are text or bytes    magnitude  digits of computed whole numbers
//! ```
//!
//! A quotient carries more digits than its type shows, as in MySQL: `1/3*3` is `1.0000`. [`eval`]
//! rounds to what is shown; [`eval_exact`] does not and is for what is computed with or stored.
//!
//! Source of the rules: MySQL 8.0 Reference Manual, "Type Conversion in Expression Evaluation" and
//! "Precision Math".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

pub(crate) mod arithmetic;
mod bytes;
pub(crate) mod cast;
pub(crate) mod collation;
mod common;
pub(crate) mod compare;
pub(crate) mod convert;
pub mod digits;
pub(crate) mod dynamic;
pub(crate) mod fit;
pub mod fold;
pub(crate) mod like;
mod magnitude;
pub(crate) mod moment;
pub mod print;
pub(crate) mod regexp;
mod set;
pub(crate) mod shift;
pub mod typing;

#[cfg(test)]
pub(crate) mod tests;

pub use fold::{
    Stability, fold, fold_for_execution, is_constant, is_statement_constant, stability,
};

use super::context::EvalContext;
use super::expr::{CastType, Expr, ExprKind, Row};
use super::functions::{Body, Call, Category, text_bytes};
use crate::error::{Code, Error, Result};
use crate::types::{ColumnType, Value};
use regexp::Alphabet;

/// The value of `expr` over `row`, as a client is shown it: its variant and scale fit `expr.ty`.
///
/// # Errors
/// 1690 for overflow, what a strict write makes of truncation and division by zero, what reading
/// the row's columns gives.
pub fn eval<'a>(expr: &'a Expr, row: &'a dyn Row, ctx: &'a EvalContext) -> Result<Value<'a>> {
    let value = Scope { row, ctx }.value(expr);
    match (&expr.kind, &value, &expr.ty) {
        // An average in an aggregated row has digits to spare, as a folded quotient has.
        (_, Ok(Value::Decimal(number)), ColumnType::Decimal { scale, .. }) => {
            Ok(Value::Decimal(fit::scaled(*number, *scale)))
        }
        (ExprKind::Literal(_) | ExprKind::Column(_) | ExprKind::Slot(_), _, _) => value,
        _ => fit::shown(value?, &expr.ty, ctx),
    }
}

/// As [`eval`], with all digits that a division left: for arguments of aggregates and for values
/// that are stored.
///
/// # Errors
/// As [`eval`].
pub fn eval_exact<'a>(expr: &'a Expr, row: &'a dyn Row, ctx: &'a EvalContext) -> Result<Value<'a>> {
    // Not taken out of its result where nothing is done with it: that costs as much as to decode it.
    let value = Scope { row, ctx }.value(expr);
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Column(_) | ExprKind::Parameter(_) | ExprKind::Slot(_) => {
            value
        }
        // What is no year stays what it is, and no year of those there are.
        ExprKind::Cast(_, CastType::YearBeside) if expr.ty == ColumnType::Year => value,
        _ => fit::fit(value?, &expr.ty, ctx),
    }
}

/// The value of a column of signed whole numbers, without a [`Value`] around it; `None` for all else, which [`eval`]
/// tells. Hot: most groups, sums and orders are of such columns.
#[inline]
pub fn eval_signed(expr: &Expr, row: &dyn Row) -> Option<i64> {
    let ExprKind::Column(column_idx) = expr.kind else {
        return None;
    };
    if !expr.ty.is_signed() {
        return None;
    }
    row.signed(column_idx)
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
    Scope { row, ctx }.condition(expr)
}

/// What an evaluation is over.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// The input row.
    pub(crate) row: &'a dyn Row,
    /// Clock, session, parameters, warnings.
    pub(crate) ctx: &'a EvalContext,
}

impl<'a> Scope<'a> {
    /// The value of an expression, before it is rounded to its type's scale.
    pub(crate) fn value(self, expr: &'a Expr) -> Result<Value<'a>> {
        match &expr.kind {
            ExprKind::Column(column_idx) => self.row.column(*column_idx),
            ExprKind::Literal(value) => Ok(value.borrow()),
            ExprKind::Parameter(idx) => self.parameter(*idx),
            ExprKind::Slot(slot) => self.ctx.slot(slot),
            ExprKind::UserVariable(name) => self.ctx.facts.copied_user_variable(name),
            ExprKind::SystemVariable { scope, name } => {
                self.ctx.facts.system_variable(*scope, name)
            }
            ExprKind::Unary(op, a) => arithmetic::unary(self, expr, *op, a),
            ExprKind::Binary(op, a, b) => arithmetic::binary(self, expr, (*op, a, b)),
            ExprKind::Case { .. } => self.case(expr),
            ExprKind::Cast(a, target) => {
                let value = self.value(a)?;
                let value = match target {
                    CastType::Char(_) | CastType::Binary(_) => digits::spelled(value, a),
                    _ => value,
                };
                cast::cast(value, target, self.ctx)
            }
            ExprKind::DateShift { .. } => shift::date_shift(self, expr),
            ExprKind::Call(function, args) => {
                let (row, ctx, ty) = (self.row, self.ctx, &expr.ty);
                Call {
                    function,
                    args,
                    ty,
                    row,
                    ctx,
                }
                .value()
            }
            ExprKind::Compare(..)
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
            | ExprKind::Regexp { .. } => self.condition(expr).map(convert::of_truth),
            ExprKind::Row(_) => Err(Error::new(
                Code::OperandColumns,
                "Operand should contain 1 column(s)",
            )),
        }
    }

    /// The value of an expression that is to become text.
    fn spelled(self, expr: &'a Expr) -> Result<Value<'a>> {
        Ok(digits::spelled(self.value(expr)?, expr))
    }

    /// The truth of an expression.
    pub(crate) fn condition(self, expr: &'a Expr) -> Result<Option<bool>> {
        match &expr.kind {
            ExprKind::Compare(op, a, b) => compare::compare(self, *op, (a, b)),
            ExprKind::And(parts) => self.all(parts),
            ExprKind::Or(parts) => self.any(parts),
            ExprKind::Xor(a, b) => {
                let (a, b) = (self.condition(a)?, self.condition(b)?);
                Ok(a.zip(b).map(|(a, b)| a != b))
            }
            ExprKind::Not(a) => Ok(self.condition(a)?.map(|truth| !truth)),
            ExprKind::IsNull { expr, negated } => {
                let is_null = matches!(self.value(expr)?, Value::Null);
                Ok(Some(is_null != *negated))
            }
            ExprKind::IsTruth {
                expr,
                truth,
                negated,
            } => Ok(Some((self.condition(expr)? == *truth) != *negated)),
            ExprKind::InList {
                expr,
                list,
                negated,
            } => Ok(negate(compare::is_in(self, expr, list)?, *negated)),
            ExprKind::InSet { .. } | ExprKind::Quantified { .. } => set::condition(self, expr),
            ExprKind::Between {
                expr,
                low,
                high,
                negated,
            } => Ok(negate(
                compare::is_between(self, expr, (low, high))?,
                *negated,
            )),
            ExprKind::Like {
                expr,
                pattern,
                escape,
                negated,
            } => Ok(negate(self.is_like((expr, pattern), *escape)?, *negated)),
            ExprKind::Regexp {
                expr,
                pattern,
                negated,
            } => Ok(negate(self.is_regexp(expr, pattern)?, *negated)),
            ExprKind::Literal(_)
            | ExprKind::Column(_)
            | ExprKind::Parameter(_)
            | ExprKind::Slot(_)
            | ExprKind::UserVariable(_)
            | ExprKind::SystemVariable { .. }
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Case { .. }
            | ExprKind::Cast(..)
            | ExprKind::DateShift { .. }
            | ExprKind::Call(..)
            | ExprKind::Row(_) => convert::truth(&self.value(expr)?, self.ctx),
        }
    }

    fn parameter(self, idx: usize) -> Result<Value<'a>> {
        let value = self.ctx.parameters.get(idx);
        value
            .map(Value::borrow)
            .ok_or_else(|| Error::new(Code::WrongArguments, "Incorrect arguments to EXECUTE"))
    }

    /// `AND`: the first false part ends it.
    fn all(self, parts: &'a [Expr]) -> Result<Option<bool>> {
        let mut truth = Some(true);
        for part in parts {
            match self.condition(part)? {
                Some(true) => {}
                Some(false) => return Ok(Some(false)),
                None => truth = None,
            }
        }
        Ok(truth)
    }

    /// `OR`: the first true part ends it.
    fn any(self, parts: &'a [Expr]) -> Result<Option<bool>> {
        let mut truth = Some(false);
        for part in parts {
            match self.condition(part)? {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => truth = None,
            }
        }
        Ok(truth)
    }

    fn is_like(self, operands: (&'a Expr, &'a Expr), escape: Option<char>) -> Result<Option<bool>> {
        let (text, pattern) = (self.spelled(operands.0)?, self.spelled(operands.1)?);
        let go_on = || self.ctx.facts.check_stop();
        let is_like = |text: &str, pattern: &str| {
            let steps = text.len().saturating_mul(pattern.len());
            let matches = || like::is_like(text, pattern, escape, go_on);
            self.ctx.at_length(steps, matches).map(Some)
        };
        match (&text, &pattern) {
            (Value::Null, _) | (_, Value::Null) => Ok(None),
            (Value::Text(text), Value::Text(pattern)) => is_like(text, pattern),
            (Value::Bytes(bytes), pattern) => {
                let pattern = convert::bytes(pattern, self.ctx);
                let steps = bytes.len().saturating_mul(pattern.len());
                let matches = || like::is_like_bytes(bytes, &pattern, escape, go_on);
                self.ctx.at_length(steps, matches).map(Some)
            }
            (text, pattern) => is_like(
                &convert::text(text, self.ctx),
                &convert::text(pattern, self.ctx),
            ),
        }
    }

    fn is_regexp(self, text: &'a Expr, pattern: &'a Expr) -> Result<Option<bool>> {
        let alphabet = Alphabet::of([text, pattern]);
        let (text, pattern) = (self.spelled(text)?, self.spelled(pattern)?);
        if matches!(text, Value::Null) || matches!(pattern, Value::Null) {
            return Ok(None);
        }
        let (text, pattern) = (
            alphabet.text(&text, self.ctx),
            alphabet.text(&pattern, self.ctx),
        );
        regexp::is_match(&text, &pattern, self.ctx).map(Some)
    }

    fn case(self, expr: &'a Expr) -> Result<Value<'a>> {
        let ExprKind::Case {
            operand,
            branches,
            otherwise,
        } = &expr.kind
        else {
            return Err(Error::internal("CASE expected"));
        };
        let operand = operand
            .as_deref()
            .map(|operand| self.value(operand))
            .transpose()?;
        let mut chosen = otherwise.as_deref();
        // NULL equals nothing: what it would be compared with is not evaluated.
        let is_null = matches!(operand, Some(Value::Null));
        for (condition, result) in branches.iter().filter(|_| !is_null) {
            let holds = match &operand {
                None => self.condition(condition)?,
                Some(operand) => compare::is_equal(operand, &self.value(condition)?, self.ctx)?,
            };
            if holds == Some(true) {
                chosen = Some(result);
                break;
            }
        }
        match chosen {
            Some(result) => fit::of((self.value(result)?, result), &expr.ty, self.ctx),
            None => Ok(Value::Null),
        }
    }
}

fn negate(truth: Option<bool>, negated: bool) -> Option<bool> {
    truth.map(|truth| truth != negated)
}

/// Bytes of texts from which on a call is taken for one that takes long.
const LONG_BYTES_MIN: usize = 64 << 10;

/// The same of functions on documents: some compare each part of one with each of another.
const LONG_DOCUMENTS_MIN: usize = 16 << 10;

/// Functions that are listed with those of texts and take numbers.
const OF_NUMBERS: &[&str] = &[
    "BIN",
    "CHAR",
    "EXPORT_SET",
    "FORMAT",
    "HEX",
    "MAKE_SET",
    "OCT",
    "SPACE",
];

impl<'a> Call<'a> {
    /// The value of the call.
    fn value(&self) -> Result<Value<'a>> {
        if let Body::Lazy(body) = self.function.body {
            return body(self);
        }
        let stops_at_null = matches!(self.function.body, Body::Strict(_));
        let mut values = Vec::with_capacity(self.args.len());
        for (idx, arg) in self.args.iter().enumerate() {
            let value = self.scope().value(arg)?;
            if stops_at_null && value.is_null() {
                return Ok(Value::Null);
            }
            values.push(self.spelled(value, (idx, arg)));
        }
        if matches!(self.function.body, Body::StrictOfAll(_)) && values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        if *self.ty == ColumnType::Dynamic {
            return dynamic::call(self, values);
        }
        match self.function.body {
            Body::Strict(body) | Body::StrictOfAll(body) | Body::Eager(body) => {
                let bytes = text_bytes(&values);
                let long_min = match self.function.category {
                    Category::Json => LONG_DOCUMENTS_MIN,
                    _ => LONG_BYTES_MIN,
                };
                if bytes < long_min {
                    return body(&values, self);
                }
                // A statement may have thousands of such calls for one row.
                self.ctx.facts.check_stop()?;
                self.ctx.at_length(usize::MAX, || body(&values, self))
            }
            Body::Lazy(body) => body(self),
        }
    }

    /// An argument as the function takes it: a number that becomes text has the digits that it shows. A double may be
    /// a position or a length where it is not the first one.
    fn spelled(&self, value: Value<'a>, (idx, arg): (usize, &Expr)) -> Value<'a> {
        let category = self.function.category;
        let may_be_text = match &value {
            Value::Decimal(_) => true,
            Value::Double(_) => idx == 0 && category != Category::Json,
            _ => return value,
        };
        let are_texts = matches!(category, Category::Text | Category::Digest | Category::Json);
        if may_be_text && are_texts && !OF_NUMBERS.contains(&self.function.name) {
            return digits::spelled(value, arg);
        }
        value
    }

    /// What the arguments are evaluated over.
    pub(crate) fn scope(&self) -> Scope<'a> {
        Scope {
            row: self.row,
            ctx: self.ctx,
        }
    }
}
