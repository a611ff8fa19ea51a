//! From one kind of value to another, as expressions do it: numbers out of texts with warning
//! 1292, truth, texts. What a *column* takes on writing is `types/coerce`.
//!
//! Source: MySQL manual, "Type Conversion in Expression Evaluation".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use std::borrow::Cow;

use super::super::context::{EvalContext, WarningLevel};
use crate::error::{Code, Error, Result};
use crate::types::value::number::{parse_f64, parse_i128, round_f64};
use crate::types::{Datetime, Decimal, Parsed, Value};

/// Characters of a bad value that a message shows.
const SHOWN_CHARS_MAX: usize = 128;

/// A value as a number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    /// A signed integer.
    Int(i64),
    /// An integer without sign.
    UInt(u64),
    /// An exact number.
    Decimal(Decimal),
    /// A double.
    Double(f64),
}

impl Number {
    /// The nearest double.
    #[expect(clippy::cast_precision_loss, reason = "MySQL compares as doubles")]
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Int(number) => number as f64,
            Number::UInt(number) => number as f64,
            Number::Decimal(number) => number.to_f64(),
            Number::Double(number) => number,
        }
    }

    /// The exact number; `None` for a double that no DECIMAL holds.
    pub(crate) fn to_decimal(self) -> Option<Decimal> {
        match self {
            Number::Int(number) => Some(Decimal::from_i64(number)),
            Number::UInt(number) => Some(Decimal::from_u64(number)),
            Number::Decimal(number) => Some(number),
            Number::Double(number) => Decimal::from_f64(number),
        }
    }

    /// The number rounded to a whole one, half away from zero; the limits of `i128` at most.
    pub(crate) fn to_i128(self) -> i128 {
        match self {
            Number::Int(number) => i128::from(number),
            Number::UInt(number) => i128::from(number),
            Number::Decimal(number) => number.to_i128(),
            Number::Double(number) => round_f64(number),
        }
    }

    /// Whether it is zero.
    pub(crate) fn is_zero(self) -> bool {
        match self {
            Number::Int(number) => number == 0,
            Number::UInt(number) => number == 0,
            Number::Decimal(number) => number.is_zero(),
            Number::Double(number) => number == 0.0,
        }
    }
}

/// Adds a warning to the statement, or fails it where a strict write forbids the loss.
pub(crate) fn lost(ctx: &EvalContext, code: Code, text: impl FnOnce() -> String) -> Result<()> {
    if ctx.strict_write {
        return Err(Error::new(code, text()));
    }
    ctx.warnings.add(WarningLevel::Warning, code, text);
    Ok(())
}

/// Adds a warning to the statement.
pub(crate) fn warn(ctx: &EvalContext, code: Code, text: impl FnOnce() -> String) {
    ctx.warnings.add(WarningLevel::Warning, code, text);
}

/// Warning (in a strict write: error) 1292 of a text that is not quite a value of its `kind`.
pub(crate) fn truncated(ctx: &EvalContext, kind: &str, text: &str) -> Result<()> {
    lost(ctx, Code::IncorrectTypeValue, || {
        format!("Truncated incorrect {kind} value: '{}'", shown(text))
    })
}

/// As much of a value as a message shows.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}...", text.get(..end).unwrap_or(""))),
        None => Cow::Borrowed(text),
    }
}

/// The value as a number; `None` for `NULL`.
///
/// # Errors
/// 1292 for a bad text in a strict write.
pub(crate) fn number(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<Number>> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Int(number) => Number::Int(*number),
        Value::UInt(number) => Number::UInt(*number),
        Value::Float(number) => Number::Double(f64::from(*number)),
        Value::Double(number) => Number::Double(*number),
        Value::Decimal(number) => Number::Decimal(*number),
        Value::Text(text) => Number::Double(double_of_text(text.as_bytes(), ctx)?),
        Value::Bytes(bytes) => Number::Double(double_of_text(bytes, ctx)?),
        Value::Json(text) => return json_number(text, ctx).map(Some),
        Value::Enum(member) => Number::Int(i64::from(member.index)),
        Value::Year(year) => Number::Int(i64::from(*year)),
        Value::Date(date) => Number::UInt(date.to_number()),
        Value::Time(time) if time.fsp() == 0 => Number::Int(time.to_number()),
        Value::Time(time) => Number::Decimal(time.to_decimal()),
        Value::Datetime(at) => datetime_number(*at),
        Value::Timestamp(at) => datetime_number(ctx.zone.to_datetime(*at)),
    }))
}

fn datetime_number(at: Datetime) -> Number {
    if at.fsp() == 0 {
        Number::UInt(at.to_number())
    } else {
        Number::Decimal(at.to_decimal())
    }
}

fn json_number(text: &str, ctx: &EvalContext) -> Result<Number> {
    match text {
        "true" => return Ok(Number::Int(1)),
        "false" => return Ok(Number::Int(0)),
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>() {
        return Ok(Number::Int(number));
    }
    if let Ok(number) = text.parse::<u64>() {
        return Ok(Number::UInt(number));
    }
    let text = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text);
    double_of_text(text.as_bytes(), ctx).map(Number::Double)
}

/// The value as a double; `None` for `NULL`.
///
/// # Errors
/// As [`number`].
pub(crate) fn double(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<f64>> {
    match value {
        Value::Double(number) => Ok(Some(*number)),
        other => Ok(number(other, ctx)?.map(Number::to_f64)),
    }
}

/// The number a text begins with, 0 when it begins with none.
fn double_of_text(text: &[u8], ctx: &EvalContext) -> Result<f64> {
    let Parsed {
        value,
        is_truncated,
    } = parse_f64(text);
    if is_truncated {
        truncated(ctx, "DOUBLE", &String::from_utf8_lossy(text))?;
    }
    Ok(value)
}

/// The value rounded to a whole number; a text counts up to its first non-digit. `None` for
/// `NULL`.
///
/// # Errors
/// As [`number`].
pub(crate) fn integer(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<i128>> {
    match value {
        Value::Int(number) => Ok(Some(i128::from(*number))),
        Value::Text(_) | Value::Bytes(_) => {
            let parsed = parse_i128(&bytes(value, ctx));
            if parsed.is_truncated {
                truncated(ctx, "INTEGER", &text(value, ctx))?;
            }
            Ok(Some(parsed.value))
        }
        other => Ok(number(&whole_second(other), ctx)?.map(Number::to_i128)),
    }
}

/// A time rounded to whole seconds, as it is before it becomes a whole number: after `23:59:59.5`
/// comes `24:00:00`, not `23:59:60`.
pub(crate) fn whole_second<'a>(value: &Value<'a>) -> Value<'a> {
    match value {
        Value::Time(time) => Value::Time(time.round(0)),
        Value::Datetime(at) => at.round(0).map_or(Value::Null, Value::Datetime),
        other => other.clone(),
    }
}

/// As [`integer`], cut to the limits of `i64`: for lengths, positions and counts.
///
/// # Errors
/// As [`number`].
pub(crate) fn count(value: &Value<'_>, ctx: &EvalContext) -> Result<i64> {
    let number = integer(value, ctx)?.unwrap_or(0);
    let limit = if number < 0 { i64::MIN } else { i64::MAX };
    Ok(i64::try_from(number).unwrap_or(limit))
}

/// The 64 bits of the value, for bit operators; `None` for `NULL`.
///
/// # Errors
/// As [`number`].
pub(crate) fn bits(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<u64>> {
    Ok(integer(value, ctx)?.map(bits_of))
}

/// Two's complement of a negative number; the limits of `u64` and `i64` where it lies beyond.
pub(crate) fn bits_of(number: i128) -> u64 {
    match u64::try_from(number) {
        Ok(bits) => bits,
        Err(_) if number < 0 => i64::try_from(number).unwrap_or(i64::MIN).cast_unsigned(),
        Err(_) => u64::MAX,
    }
}

/// Whether the value counts as true: is a number other than zero. `None` for `NULL`.
///
/// # Errors
/// As [`number`].
pub(crate) fn truth(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<bool>> {
    match value {
        Value::Int(number) => Ok(Some(*number != 0)),
        Value::Null => Ok(None),
        other => Ok(number(other, ctx)?.map(|number| !number.is_zero())),
    }
}

/// 1, 0 or `NULL`.
pub(crate) fn of_truth(truth: Option<bool>) -> Value<'static> {
    truth.map_or(Value::Null, |truth| Value::Int(i64::from(truth)))
}

/// The text of a value; `NULL` gives an empty one.
pub(crate) fn text<'v>(value: &'v Value<'_>, ctx: &EvalContext) -> Cow<'v, str> {
    match value {
        Value::Text(text) | Value::Json(text) => Cow::Borrowed(text),
        Value::Enum(member) => Cow::Borrowed(&member.label),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
        other => Cow::Owned(plain_text(other, ctx)),
    }
}

/// As [`text`], keeping what the value borrows.
pub(crate) fn into_text<'a>(value: Value<'a>, ctx: &EvalContext) -> Cow<'a, str> {
    match value {
        Value::Text(text) | Value::Json(text) => text,
        Value::Enum(member) => member.label,
        Value::Bytes(Cow::Borrowed(bytes)) => String::from_utf8_lossy(bytes),
        Value::Bytes(Cow::Owned(bytes)) => Cow::Owned(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(bad) => String::from_utf8_lossy(bad.as_bytes()).into_owned(),
        }),
        other => Cow::Owned(plain_text(&other, ctx)),
    }
}

/// The text of what is no string.
fn plain_text(value: &Value<'_>, ctx: &EvalContext) -> String {
    if value.is_null() {
        return String::new();
    }
    let mut out = Vec::new();
    value.write_text_in(&ctx.zone, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// The bytes of a value's text; `NULL` gives none.
pub(crate) fn bytes<'v>(value: &'v Value<'_>, ctx: &EvalContext) -> Cow<'v, [u8]> {
    match value {
        Value::Bytes(bytes) => Cow::Borrowed(bytes),
        other => match text(other, ctx) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
    }
}

/// As [`bytes`], keeping what the value borrows.
pub(crate) fn into_bytes<'a>(value: Value<'a>, ctx: &EvalContext) -> Cow<'a, [u8]> {
    match value {
        Value::Bytes(bytes) => bytes,
        other => match into_text(other, ctx) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
    }
}
