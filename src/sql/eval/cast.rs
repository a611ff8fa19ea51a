//! `CAST`: a value as another type, with MySQL's warnings where something is lost.
//!
//! Source: MySQL manual, "Cast Functions and Operators".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use std::borrow::Cow;

use super::super::context::EvalContext;
use super::super::expr::CastType;
use super::super::functions::{self, json};
use super::convert::{self, Number};
use super::{fit, moment};
use crate::error::{Code, Error, Result};
use crate::types::coerce::{Coerced, StoreMode, bytes_of_digits, coerce};
use crate::types::value::number::{parse_decimal, parse_i128};
use crate::types::{ColumnType, Decimal, Value};

/// Bytes of a bad string that a message shows.
const BYTES_SHOWN_MAX: usize = 6;

/// `CAST(value AS target)`.
pub(super) fn cast<'a>(
    value: Value<'a>,
    target: &CastType,
    ctx: &EvalContext,
) -> Result<Value<'a>> {
    if matches!(value, Value::Null) {
        return Ok(value);
    }
    match target {
        CastType::Signed => signed(&value, ctx),
        CastType::Unsigned => unsigned(&value, ctx),
        CastType::Char(chars_max) => text(value, *chars_max, ctx),
        CastType::Binary(bytes_len) => binary(value, *bytes_len, ctx),
        CastType::Decimal { precision, scale } => {
            decimal(&value, (*precision, *scale), ctx).map(Value::Decimal)
        }
        CastType::Float => {
            let number = convert::double(&value, ctx)?;
            Ok(number.map_or(Value::Null, |number| Value::Float(fit::single(number))))
        }
        CastType::Double => Ok(convert::double(&value, ctx)?.map_or(Value::Null, Value::Double)),
        CastType::Date => {
            let at = moment::datetime(&value, ctx)?;
            Ok(at.map_or(Value::Null, |at| Value::Date(at.date())))
        }
        CastType::Time(fsp) => {
            let time = moment::time(&value, ctx)?;
            Ok(time.map_or(Value::Null, |time| Value::Time(time.round(*fsp))))
        }
        CastType::Datetime(fsp) => {
            let at = moment::datetime(&value, ctx)?.and_then(|at| at.round(*fsp));
            Ok(at.map_or(Value::Null, Value::Datetime))
        }
        CastType::Year => Ok(moment::year(&value, ctx)?.map_or(Value::Null, Value::Year)),
        CastType::YearBeside => Ok(year_beside(value)),
        CastType::BytesBeside => bytes_beside(value, ctx),
        CastType::AsIs => Ok(value),
        CastType::Json => json::cast(value, ctx),
    }
}

/// See [`CastType::YearBeside`]. 2020.5 lies between two years and is none: MySQL rounds it (its bug
/// 13580652), which would lose the rows of 2021 in `y > 2020.5`. What gives no
/// year stays what it is.
pub(crate) fn year_beside(value: Value<'_>) -> Value<'_> {
    let is_between = match &value {
        Value::Decimal(number) => number.to_i128().abs() > 99 && !number.is_integer(),
        Value::Float(number) => number.abs() > 99.0 && number.fract() != 0.0,
        Value::Double(number) => number.abs() > 99.0 && number.fract() != 0.0,
        _ => false,
    };
    if is_between {
        return value;
    }
    match coerce(value.borrow(), &ColumnType::Year, &StoreMode::STRICT) {
        Ok(Coerced {
            value: year,
            adjustment: None,
        }) => year.into_owned(),
        Ok(_) | Err(_) => value,
    }
}

/// See [`CastType::BytesBeside`]. A text that only stands for one that is not known yet stands for its bytes.
///
/// # Errors
/// 1366 for a text that gives none: nothing could be equal to it.
fn bytes_beside<'a>(value: Value<'a>, ctx: &EvalContext) -> Result<Value<'a>> {
    let Value::Text(text) = value else {
        return Ok(value);
    };
    match bytes_compared(&text) {
        Ok(bytes) => Ok(Value::Bytes(bytes.into())),
        Err(_) if ctx.has_stand_ins() => Ok(Value::Bytes(text.as_bytes().to_vec().into())),
        Err(error) => Err(error),
    }
}

/// The bytes of a text that is compared with a column of them.
///
/// # Errors
/// 1366 for a text that gives none.
pub(crate) fn bytes_compared(text: &str) -> Result<Vec<u8>> {
    bytes_of_digits(text).map_err(|problem| {
        let text = format!("Comparison with a column of bytes: {problem}");
        Error::new(problem.code(), text)
    })
}

/// Where a number lies outside 64 bits, the nearest limit and a warning.
fn clamped(number: Number, limits: (i128, i128), ctx: &EvalContext) -> Result<i128> {
    let whole = number.to_i128();
    let kept = whole.clamp(limits.0, limits.1);
    if kept != whole {
        let (kind, shown) = match number {
            Number::Double(number) => ("INTEGER", Value::Double(number).to_text().into_owned()),
            Number::Decimal(number) => ("DECIMAL", number.to_string()),
            Number::Int(_) | Number::UInt(_) => ("INTEGER", whole.to_string()),
        };
        convert::truncated(ctx, kind, &shown)?;
    }
    Ok(kept)
}

/// A text as a whole number, from the limits of `i64` to those of `u64`. Where nothing was lost
/// and `changes_sign` holds, a warning says that the result has the other sign.
fn whole_of_text(
    text: &str,
    ctx: &EvalContext,
    (changes_sign, warning): (fn(i128) -> bool, &str),
) -> Result<i128> {
    let parsed = parse_i128(text.as_bytes());
    let kept = parsed
        .value
        .clamp(i128::from(i64::MIN), i128::from(u64::MAX));
    if parsed.is_truncated || kept != parsed.value {
        convert::truncated(ctx, "INTEGER", text)?;
    } else if changes_sign(kept) {
        convert::warn(ctx, Code::Unknown, || warning.to_owned());
    }
    Ok(kept)
}

fn signed<'a>(value: &Value<'_>, ctx: &EvalContext) -> Result<Value<'a>> {
    const LIMITS: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);
    let number = match value {
        Value::Int(number) => return Ok(Value::Int(*number)),
        Value::Text(_) | Value::Bytes(_) => {
            let warning = "Cast to signed converted positive out-of-range integer to its \
                           negative complement";
            let changes_sign = |number: i128| LIMITS.1 < number;
            let text = convert::text(value, ctx);
            let number = whole_of_text(&text, ctx, (changes_sign, warning))?;
            return Ok(Value::Int(convert::bits_of(number).cast_signed()));
        }
        other => convert::number(&convert::whole_second(other), ctx)?,
    };
    Ok(match number {
        None => Value::Null,
        Some(Number::Int(number)) => Value::Int(number),
        Some(Number::UInt(number)) => Value::Int(number.cast_signed()),
        Some(number @ (Number::Decimal(_) | Number::Double(_))) => {
            let whole = clamped(number, LIMITS, ctx)?;
            Value::Int(convert::bits_of(whole).cast_signed())
        }
    })
}

fn unsigned<'a>(value: &Value<'_>, ctx: &EvalContext) -> Result<Value<'a>> {
    const LIMITS: (i128, i128) = (0, u64::MAX as i128);
    let number = match value {
        Value::Int(number) => return Ok(Value::UInt(number.cast_unsigned())),
        Value::UInt(number) => return Ok(Value::UInt(*number)),
        Value::Text(_) | Value::Bytes(_) => {
            let warning = "Cast to unsigned converted negative integer to its positive complement";
            let text = convert::text(value, ctx);
            let number = whole_of_text(&text, ctx, (|number| number < 0, warning))?;
            return Ok(Value::UInt(convert::bits_of(number)));
        }
        other => convert::number(&convert::whole_second(other), ctx)?,
    };
    Ok(match number {
        None => Value::Null,
        Some(Number::Decimal(number)) => {
            let whole = clamped(Number::Decimal(number), LIMITS, ctx)?;
            Value::UInt(convert::bits_of(whole))
        }
        Some(number) => {
            let whole = clamped(number, (i128::from(i64::MIN), LIMITS.1), ctx)?;
            Value::UInt(convert::bits_of(whole))
        }
    })
}

fn text<'a>(value: Value<'a>, chars_max: Option<u32>, ctx: &EvalContext) -> Result<Value<'a>> {
    if let Value::Bytes(bytes) = &value
        && std::str::from_utf8(bytes).is_err()
    {
        convert::lost(ctx, Code::InvalidCharacterString, || {
            let shown = bytes.iter().take(BYTES_SHOWN_MAX);
            let shown = shown.fold(String::new(), |text, byte| text + &format!("{byte:02X}"));
            format!("Invalid utf8mb4 character string: '{shown}'")
        })?;
        return Ok(Value::Null);
    }
    let text = convert::into_text(value, ctx);
    let end = chars_max.and_then(|chars_max| {
        let chars_max = usize::try_from(chars_max).unwrap_or(usize::MAX);
        text.char_indices().nth(chars_max).map(|(end, _)| end)
    });
    let Some(end) = end else {
        return Ok(Value::Text(text));
    };
    let kind = format!("CHAR({})", chars_max.unwrap_or(0));
    convert::truncated(ctx, &kind, &text)?;
    Ok(Value::Text(match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..end).unwrap_or(text)),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }))
}

fn binary<'a>(value: Value<'a>, bytes_len: Option<u32>, ctx: &EvalContext) -> Result<Value<'a>> {
    let bytes = convert::into_bytes(value, ctx);
    let Some(bytes_len) = bytes_len else {
        return Ok(Value::Bytes(bytes));
    };
    let len = usize::try_from(bytes_len).unwrap_or(usize::MAX);
    if len < bytes.len() {
        let kind = format!("BINARY({len})");
        convert::truncated(ctx, &kind, &String::from_utf8_lossy(&bytes))?;
    }
    let Some(_room) = functions::fits(Some(len), "cast_as_binary", ctx)? else {
        return Ok(Value::Null);
    };
    let mut bytes = bytes.into_owned();
    bytes.resize(len, 0);
    Ok(Value::Bytes(Cow::Owned(bytes)))
}

/// The value as `DECIMAL(precision, scale)`; the largest there is when it has more digits.
fn decimal(value: &Value<'_>, digits: (u8, u8), ctx: &EvalContext) -> Result<Decimal> {
    let (precision, scale) = digits;
    let (number, is_negative) = match value {
        Value::Text(_) | Value::Bytes(_) => {
            let parsed = parse_decimal(&convert::bytes(value, ctx));
            if parsed.is_truncated {
                convert::truncated(ctx, "DECIMAL", &convert::text(value, ctx))?;
            }
            (Some(parsed.value), parsed.value.is_negative())
        }
        other => {
            let number = convert::number(other, ctx)?.unwrap_or(Number::Int(0));
            (number.to_decimal(), number.to_f64() < 0.0)
        }
    };
    if let Some(fitted) = number.and_then(|number| number.rescale(precision, scale)) {
        return Ok(fitted);
    }
    convert::lost(ctx, Code::OutOfRange, || {
        format!(
            "Out of range value for column '{}' at row 1",
            convert::text(value, ctx)
        )
    })?;
    let largest = Decimal::max_of(precision, scale);
    let is_negative = number.map_or(is_negative, |number| number.is_negative());
    Ok(if is_negative { largest.neg() } else { largest })
}
