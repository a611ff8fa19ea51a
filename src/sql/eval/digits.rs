//! The digits after the point that a number shows where it becomes text.
//!
//! A DECIMAL shows those of its type, whatever it was computed with. A DOUBLE mostly shows as many as
//! it takes to read the same number again; some expressions fix how many:
//!
//! ```text
//!   PI()                 6                  a + b, a * b, a % b    the larger one
//!   FLOOR, CEIL          0                  a / b                  the larger one and 4 more
//!   ROUND, TRUNCATE      as they are told   AVG(a)                 4 more
//! ```
//! Source: `Item::decimals` in MySQL 8.0 (`resolve_type` of the items).
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use std::borrow::Cow;

use super::super::bound::{Aggregate, AggregateKind};
use super::super::expr::{BinaryOp, Expr, ExprKind};
use super::{fit, typing};
use crate::types::value::text::write_fixed_f64;
use crate::types::{ColumnType, ResultColumn, Value};

/// From so many digits on a DOUBLE shows what it takes: MySQL's `DECIMAL_NOT_SPECIFIED`.
const NOT_FIXED: u8 = 31;

/// Digits of `PI()`.
const PI_DIGITS: u8 = 6;

/// How many digits the DOUBLE has that stands at a place of the row that an expression is over.
pub type At<'f> = &'f dyn Fn(usize) -> Option<u8>;

/// How many digits after the point a DOUBLE has when it is shown; `None` for as many as it takes.
pub fn of_double(expr: &Expr, at: At<'_>) -> Option<u8> {
    if expr.ty != ColumnType::Double {
        return None;
    }
    of(expr, at).filter(|digits| *digits < NOT_FIXED)
}

/// As [`of_double`], of a column of a result, whose type need not be `DOUBLE`.
pub fn of_column(column: &ResultColumn) -> Option<u8> {
    of_type(&column.ty).or(column.decimals)
}

/// The digits after the point of numbers of an exact type, and of dates.
fn of_type(ty: &ColumnType) -> Option<u8> {
    match ty {
        ColumnType::Decimal { scale, .. } => Some(*scale),
        ColumnType::Time { fsp } | ColumnType::Datetime { fsp } | ColumnType::Timestamp { fsp } => {
            Some(*fsp)
        }
        ColumnType::Null
        | ColumnType::Boolean
        | ColumnType::Int { .. }
        | ColumnType::Year
        | ColumnType::Date => Some(0),
        _ => None,
    }
}

/// As [`of_double`], of an aggregate.
pub fn of_aggregate(aggregate: &Aggregate, at: At<'_>) -> Option<u8> {
    let arg = of(aggregate.args.first()?, at)?;
    match aggregate.kind {
        AggregateKind::Sum | AggregateKind::Min | AggregateKind::Max | AggregateKind::AnyValue => {
            Some(arg)
        }
        AggregateKind::Avg => Some(arg.saturating_add(typing::DIVIDE_SCALE)),
        _ => None,
    }
}

/// The digits after the point of an expression; `None` where they are not fixed.
fn of(expr: &Expr, at: At<'_>) -> Option<u8> {
    match &expr.ty {
        ColumnType::Double => {}
        ty => return of_type(ty),
    }
    match &expr.kind {
        ExprKind::Column(idx) => at(*idx),
        ExprKind::Slot(slot) => slot.decimals,
        ExprKind::Unary(_, a) => of(a, at),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (of(a, at)?, of(b, at)?);
            match op {
                BinaryOp::Divide => Some(a.max(b).saturating_add(typing::DIVIDE_SCALE)),
                _ => Some(a.max(b)),
            }
        }
        ExprKind::Case {
            branches,
            otherwise,
            ..
        } => {
            let results = branches.iter().map(|(_, result)| result);
            most(results.chain(otherwise.as_deref()), at)
        }
        ExprKind::Call(function, args) => of_call((function.name, args), at),
        _ => None,
    }
}

fn of_call((name, args): (&str, &[Expr]), at: At<'_>) -> Option<u8> {
    match name {
        "PI" => Some(PI_DIGITS),
        "FLOOR" | "CEIL" | "CEILING" => Some(0),
        "ROUND" | "TRUNCATE" => match args.get(1).map(|digits| &digits.kind) {
            None => Some(0),
            Some(ExprKind::Literal(Value::Int(digits))) => {
                Some(u8::try_from((*digits).max(0)).unwrap_or(NOT_FIXED))
            }
            Some(_) => of(args.first()?, at),
        },
        "ABS" | "NULLIF" => of(args.first()?, at),
        "IF" => most(args.iter().skip(1), at),
        "IFNULL" | "COALESCE" | "GREATEST" | "LEAST" => most(args.iter(), at),
        _ => None,
    }
}

/// The most digits of several; `None` when those of one are not fixed.
fn most<'e>(exprs: impl Iterator<Item = &'e Expr>, at: At<'_>) -> Option<u8> {
    let known = exprs.filter(|expr| expr.ty != ColumnType::Null);
    known
        .map(|expr| of(expr, at))
        .try_fold(0, |most, digits| Some(most.max(digits?)))
}

/// A value of `expr` that is to become text: a number with the digits that it shows.
pub(crate) fn spelled<'a>(value: Value<'a>, expr: &Expr) -> Value<'a> {
    match (&value, &expr.ty) {
        (Value::Decimal(number), ColumnType::Decimal { scale, .. }) => {
            Value::Decimal(fit::scaled(*number, *scale))
        }
        (Value::Double(number), ColumnType::Double) => match of_double(expr, &|_| None) {
            Some(digits) => Value::Text(Cow::Owned(fixed(*number, digits))),
            None => value,
        },
        _ => value,
    }
}

fn fixed(number: f64, digits: u8) -> String {
    let mut text = Vec::new();
    write_fixed_f64(number, digits, &mut text);
    String::from_utf8(text).unwrap_or_default()
}
