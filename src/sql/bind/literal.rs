//! Constants, and the expressions that are one at once.

use std::borrow::Cow;

use crate::error::{Code, Error, Result};
use crate::sql::ast::Literal;
use crate::sql::context::Mode;
use crate::sql::eval::typing;
use crate::sql::expr::{Expr, ExprKind, UnaryOp};
use crate::types::temporal::{DateRules, ParsedDatetime};
use crate::types::{ColumnType, Date, Decimal, Time, Value};

/// Digits of a second's fraction that literals keep.
const FSP_MAX: u8 = 6;

/// A constant as a bound expression.
///
/// # Errors
/// 1525 for a text that is no date or time, 1690 for a number of too many digits.
pub(super) fn literal(literal: &Literal, mode: Mode) -> Result<Expr> {
    Ok(match literal {
        Literal::Null => null(),
        Literal::Bool(truth) => value(Value::Int(i64::from(*truth)), ColumnType::BIGINT),
        Literal::Int(number) => whole(*number),
        Literal::Decimal(digits) => decimal(digits)?,
        Literal::Double(number) => value(Value::Double(*number), ColumnType::Double),
        Literal::Text(text) => {
            let chars_max = u32::try_from(text.chars().count()).ok();
            let text = Value::Text(Cow::Owned(text.clone()));
            value(text, ColumnType::Varchar { chars_max })
        }
        Literal::Bytes(bytes) => {
            let bytes_max = u32::try_from(bytes.len()).ok();
            let bytes = Value::Bytes(Cow::Owned(bytes.clone()));
            value(bytes, ColumnType::Varbinary { bytes_max })
        }
        Literal::Date(text) => {
            let date = Date::parse(text, rules(mode)).filter(|date| !date.is_truncated);
            let date = date.ok_or_else(|| wrong_value("DATE", text))?.value;
            value(Value::Date(date), ColumnType::Date)
        }
        Literal::Time(text) => time(text)?,
        Literal::Timestamp(text) => timestamp(text, mode)?,
    })
}

/// `NULL`.
pub(super) fn null() -> Expr {
    Expr {
        kind: ExprKind::Literal(Value::Null),
        ty: ColumnType::Null,
        nullable: true,
    }
}

/// A constant of a known type.
pub(super) fn value(value: Value<'static>, ty: ColumnType) -> Expr {
    Expr {
        nullable: value.is_null(),
        kind: ExprKind::Literal(value),
        ty,
    }
}

fn whole(number: u64) -> Expr {
    match i64::try_from(number) {
        Ok(number) => value(Value::Int(number), ColumnType::BIGINT),
        Err(_) => value(Value::UInt(number), ColumnType::BIGINT_UNSIGNED),
    }
}

fn decimal(digits: &str) -> Result<Expr> {
    let Some(number) = Decimal::parse(digits) else {
        return Err(Error::new(
            Code::NumericOverflow,
            format!("DECIMAL value is out of range in '{digits}': the most digits are 38"),
        ));
    };
    Ok(exact(number))
}

/// A decimal constant with the type that its digits have.
fn exact(number: Decimal) -> Expr {
    let ty = ColumnType::Decimal {
        precision: number.precision().max(number.scale()).max(1),
        scale: number.scale(),
    };
    value(Value::Decimal(number), ty)
}

fn time(text: &str) -> Result<Expr> {
    let time = Time::parse(text, FSP_MAX).filter(|time| !time.is_truncated);
    let time = time.ok_or_else(|| wrong_value("TIME", text))?.value;
    let fsp = fraction_digits(text);
    Ok(value(
        Value::Time(time.round(fsp)),
        ColumnType::Time { fsp },
    ))
}

fn timestamp(text: &str, mode: Mode) -> Result<Expr> {
    let parsed = ParsedDatetime::parse(text, rules(mode));
    let parsed = parsed.filter(|parsed| !parsed.is_truncated && parsed.has_time);
    let parsed = parsed.ok_or_else(|| wrong_value("DATETIME", text))?;
    if parsed.offset_seconds.is_some() {
        return Err(Error::unsupported("TIMESTAMP literals with a time zone"));
    }
    let fsp = parsed.datetime.fsp();
    Ok(value(
        Value::Datetime(parsed.datetime),
        ColumnType::Datetime { fsp },
    ))
}

/// Digits behind the point of a time.
fn fraction_digits(text: &str) -> u8 {
    let fraction = text.rsplit_once('.').map_or("", |(_, fraction)| fraction);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    u8::try_from(digits).unwrap_or(FSP_MAX).min(FSP_MAX)
}

fn rules(mode: Mode) -> DateRules {
    DateRules {
        no_zero_date: mode.no_zero_date,
        no_zero_in_date: mode.no_zero_in_date,
    }
}

fn wrong_value(what: &str, text: &str) -> Error {
    Error::new(
        Code::DurationOverflow,
        format!("Incorrect {what} value: '{text}'"),
    )
}

/// `-a`; of a number, the negative number.
pub(super) fn negated(a: Expr) -> Expr {
    let folded = match &a.kind {
        ExprKind::Literal(Value::Int(number)) => Some(match number.checked_neg() {
            Some(number) => value(Value::Int(number), ColumnType::BIGINT),
            None => exact(Decimal::from_i64(*number).neg()),
        }),
        ExprKind::Literal(Value::UInt(number)) => Some(match 0_i64.checked_sub_unsigned(*number) {
            Some(number) => value(Value::Int(number), ColumnType::BIGINT),
            None => exact(Decimal::from_u64(*number).neg()),
        }),
        ExprKind::Literal(Value::Decimal(number)) => {
            Some(value(Value::Decimal(number.neg()), a.ty.clone()))
        }
        ExprKind::Literal(Value::Double(number)) => {
            Some(value(Value::Double(-number), ColumnType::Double))
        }
        _ => None,
    };
    folded.unwrap_or_else(|| Expr {
        ty: typing::unary_type(UnaryOp::Negate, &a),
        nullable: a.nullable,
        kind: ExprKind::Unary(UnaryOp::Negate, Box::new(a)),
    })
}

/// A hexadecimal or bit literal where a number is wanted: its bytes are the number's, big end
/// first. Anything else, and what is over 8 bytes, stays.
pub(super) fn as_number(expr: Expr) -> Expr {
    let ExprKind::Literal(Value::Bytes(bytes)) = &expr.kind else {
        return expr;
    };
    let significant = bytes.iter().skip_while(|byte| **byte == 0);
    if 8 < significant.clone().count() {
        return expr;
    }
    let number = significant.fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    value(Value::UInt(number), ColumnType::BIGINT_UNSIGNED)
}
