//! The variant of [`Value`] that a type asks for: clients are sent values by declared type.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use std::borrow::Cow;

use super::super::context::EvalContext;
use super::super::expr::Expr;
use super::super::functions::json;
use super::{convert, digits, moment};
use crate::error::Result;
use crate::types::{ColumnType, Decimal, Value};

/// As [`fit`], and a DECIMAL has the digits after the point that its type shows.
///
/// # Errors
/// As [`fit`].
pub(crate) fn shown<'a>(value: Value<'a>, ty: &ColumnType, ctx: &EvalContext) -> Result<Value<'a>> {
    let value = fit(value, ty, ctx)?;
    match (&value, ty) {
        (Value::Decimal(number), ColumnType::Decimal { scale, .. }) => {
            Ok(Value::Decimal(scaled(*number, *scale)))
        }
        _ => Ok(value),
    }
}

/// As [`fit`], of a value of an expression: a number that becomes text has the digits that it shows.
///
/// # Errors
/// As [`fit`].
pub(crate) fn of<'a>(
    (value, expr): (Value<'a>, &Expr),
    ty: &ColumnType,
    ctx: &EvalContext,
) -> Result<Value<'a>> {
    let is_string = matches!(
        ty,
        ColumnType::Char { .. }
            | ColumnType::Varchar { .. }
            | ColumnType::Text(_)
            | ColumnType::Binary { .. }
            | ColumnType::Varbinary { .. }
            | ColumnType::Blob(_)
    );
    let value = if is_string {
        digits::spelled(value, expr)
    } else {
        value
    };
    fit(value, ty, ctx)
}

/// The number with `scale` digits after the point; as it is when that does not fit.
pub(crate) fn scaled(number: Decimal, scale: u8) -> Decimal {
    if number.scale() == scale {
        return number;
    }
    number
        .rescale(crate::types::decimal::DIGITS_MAX, scale)
        .unwrap_or(number)
}

/// The value in the variant that holds values of `ty`. What cannot be turned stays as it is.
///
/// # Errors
/// 1292 for a bad text in a strict write, 1041 when the process has no memory for a JSON text.
pub(crate) fn fit<'a>(value: Value<'a>, ty: &ColumnType, ctx: &EvalContext) -> Result<Value<'a>> {
    if matches!(value, Value::Null) {
        return Ok(value);
    }
    match ty {
        ColumnType::Null | ColumnType::Dynamic | ColumnType::Enum(_) => Ok(value),
        ColumnType::Boolean => integer(value, false, ctx),
        ColumnType::Int { unsigned, .. } => integer(value, *unsigned, ctx),
        ColumnType::Float => match value {
            Value::Float(_) => Ok(value),
            other => {
                Ok(convert::double(&other, ctx)?.map_or(Value::Null, |x| Value::Float(single(x))))
            }
        },
        ColumnType::Double => match value {
            Value::Double(_) => Ok(value),
            other => Ok(convert::double(&other, ctx)?.map_or(Value::Null, Value::Double)),
        },
        ColumnType::Decimal { .. } => match value {
            Value::Decimal(_) => Ok(value),
            other => {
                let number = convert::number(&other, ctx)?.and_then(convert::Number::to_decimal);
                Ok(number.map_or(other, Value::Decimal))
            }
        },
        ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_) => {
            Ok(match value {
                Value::Text(_) => value,
                Value::Enum(member) => Value::Text(member.label),
                other => Value::Text(convert::into_text(other, ctx)),
            })
        }
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_) => {
            Ok(Value::Bytes(convert::into_bytes(value, ctx)))
        }
        ColumnType::Json => Ok(match value {
            Value::Json(_) => value,
            other => Value::Json(Cow::Owned(json::text_of(&other, ctx)?)),
        }),
        ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Datetime { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::Year => temporal(value, ty, ctx),
    }
}

fn integer<'a>(value: Value<'a>, unsigned: bool, ctx: &EvalContext) -> Result<Value<'a>> {
    match (&value, unsigned) {
        (Value::Int(_), false) | (Value::UInt(_), true) => return Ok(value),
        _ => {}
    }
    let Some(number) = convert::number(&value, ctx)?.map(convert::Number::to_i128) else {
        return Ok(Value::Null);
    };
    let fitted = if unsigned {
        u64::try_from(number).ok().map(Value::UInt)
    } else {
        i64::try_from(number).ok().map(Value::Int)
    };
    Ok(fitted.unwrap_or(value))
}

fn temporal<'a>(value: Value<'a>, ty: &ColumnType, ctx: &EvalContext) -> Result<Value<'a>> {
    let fitted = match ty {
        ColumnType::Date => match &value {
            Value::Date(_) => return Ok(value),
            other => moment::datetime(other, ctx)?.map(|at| Value::Date(at.date())),
        },
        ColumnType::Time { fsp } => {
            moment::time(&value, ctx)?.map(|time| Value::Time(time.round(*fsp)))
        }
        ColumnType::Datetime { fsp } => moment::datetime(&value, ctx)?
            .and_then(|at| at.round(*fsp))
            .map(Value::Datetime),
        ColumnType::Timestamp { fsp } => moment::timestamp(&value, ctx)?
            .and_then(|at| at.round(*fsp))
            .map(Value::Timestamp),
        ColumnType::Year => match &value {
            Value::Year(_) => return Ok(value),
            other => moment::year(other, ctx)?.map(Value::Year),
        },
        _ => return Ok(value),
    };
    Ok(fitted.unwrap_or(Value::Null))
}

/// The nearest single-precision number; the largest one where it lies beyond.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what FLOAT means"
)]
pub(crate) fn single(number: f64) -> f32 {
    let single = number as f32;
    if single.is_infinite() {
        f32::MAX.copysign(single)
    } else {
        single
    }
}
