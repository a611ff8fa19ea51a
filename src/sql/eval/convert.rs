//! From one kind of value to another, as expressions do it: numbers out of texts with warning
//! 1292, truth, texts. What a *column* takes on writing is `types/coerce`.
//!
//! Source: MySQL manual, "Type Conversion in Expression Evaluation".

use std::borrow::Cow;

use super::super::context::{EvalContext, WarningLevel};
use super::number_text;
use crate::error::{Code, Error, Result};
use crate::types::value::EnumValue;
use crate::types::{Decimal, Value};

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
            Number::Double(number) => whole_of(number.round_ties_even()),
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

/// The whole part of a double; the limits of `i128` where it lies beyond.
#[expect(clippy::cast_possible_truncation, reason = "a float cast saturates, which is wanted")]
pub(crate) fn whole_of(number: f64) -> i128 {
    number as i128
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

/// The value without copying what it owns.
pub(crate) fn borrowed<'v>(value: &'v Value<'_>) -> Value<'v> {
    match value {
        Value::Null => Value::Null,
        Value::Int(number) => Value::Int(*number),
        Value::UInt(number) => Value::UInt(*number),
        Value::Float(number) => Value::Float(*number),
        Value::Double(number) => Value::Double(*number),
        Value::Decimal(number) => Value::Decimal(*number),
        Value::Text(text) => Value::Text(Cow::Borrowed(text)),
        Value::Bytes(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
        Value::Date(date) => Value::Date(*date),
        Value::Time(time) => Value::Time(*time),
        Value::Datetime(at) => Value::Datetime(*at),
        Value::Timestamp(at) => Value::Timestamp(*at),
        Value::Year(year) => Value::Year(*year),
        Value::Json(text) => Value::Json(Cow::Borrowed(text)),
        Value::Enum(member) => Value::Enum(EnumValue {
            index: member.index,
            label: Cow::Borrowed(&member.label),
        }),
    }
}

/// The value with what it borrows copied.
pub(crate) fn owned(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Null => Value::Null,
        Value::Int(number) => Value::Int(number),
        Value::UInt(number) => Value::UInt(number),
        Value::Float(number) => Value::Float(number),
        Value::Double(number) => Value::Double(number),
        Value::Decimal(number) => Value::Decimal(number),
        Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
        Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
        Value::Date(date) => Value::Date(date),
        Value::Time(time) => Value::Time(time),
        Value::Datetime(at) => Value::Datetime(at),
        Value::Timestamp(at) => Value::Timestamp(at),
        Value::Year(year) => Value::Year(year),
        Value::Json(text) => Value::Json(Cow::Owned(text.into_owned())),
        Value::Enum(member) => Value::Enum(EnumValue {
            index: member.index,
            label: Cow::Owned(member.label.into_owned()),
        }),
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
        Value::Text(text) => Number::Double(double_of_text(text, ctx)?),
        Value::Bytes(bytes) => Number::Double(double_of_text(&String::from_utf8_lossy(bytes), ctx)?),
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

fn datetime_number(at: crate::types::Datetime) -> Number {
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
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    double_of_text(text, ctx).map(Number::Double)
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
fn double_of_text(text: &str, ctx: &EvalContext) -> Result<f64> {
    let (number, is_whole) = double_prefix(text);
    if !is_whole {
        truncated(ctx, "DOUBLE", text)?;
    }
    if number.is_infinite() {
        truncated(ctx, "DOUBLE", text)?;
        return Ok(f64::MAX.copysign(number));
    }
    Ok(number)
}

/// The number a text begins with, and whether nothing but blanks stands around it.
pub(crate) fn double_prefix(text: &str) -> (f64, bool) {
    let body = text.trim_ascii_start();
    let len = number_len(body.as_bytes());
    let (digits, rest) = body.split_at_checked(len).unwrap_or((body, ""));
    let number = digits.parse::<f64>();
    let is_whole = number.is_ok() && rest.bytes().all(|byte| byte.is_ascii_whitespace());
    (number.unwrap_or(0.0), is_whole)
}

/// Bytes of `[sign] digits [. digits] [e [sign] digits]` at the start; 0 when there is no digit.
fn number_len(bytes: &[u8]) -> usize {
    let digits_from = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let is_sign = |at: usize| matches!(bytes.get(at), Some(b'+' | b'-'));
    let start = usize::from(is_sign(0));
    let whole = digits_from(start);
    let mut end = start + whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits_from(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(is_sign(end + 1));
        let exponent = digits_from(end + 1 + sign);
        if 0 < exponent {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// The integer a text begins with, and whether nothing but blanks stands around it. The limits
/// of `i128` where it lies beyond.
pub(crate) fn integer_prefix(text: &str) -> (i128, bool) {
    let body = text.trim_ascii();
    let (is_negative, digits) = match body.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, body.strip_prefix('+').unwrap_or(body)),
    };
    let len = digits.bytes().take_while(u8::is_ascii_digit).count();
    let number = digits.bytes().take(len).fold(0i128, |number, digit| {
        number.saturating_mul(10).saturating_add(i128::from(digit - b'0'))
    });
    let is_whole = 0 < len && len == digits.len();
    (if is_negative { -number } else { number }, is_whole)
}

/// The value rounded to a whole number; a text counts up to its first non-digit. `None` for
/// `NULL`.
///
/// # Errors
/// As [`number`].
pub(crate) fn integer(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<i128>> {
    let of_text = |text: &str| {
        let (number, is_whole) = integer_prefix(text);
        if !is_whole {
            truncated(ctx, "INTEGER", text)?;
        }
        Ok(Some(number))
    };
    match value {
        Value::Int(number) => Ok(Some(i128::from(*number))),
        Value::Text(text) => of_text(text),
        Value::Bytes(bytes) => of_text(&String::from_utf8_lossy(bytes)),
        other => Ok(number(other, ctx)?.map(Number::to_i128)),
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
    match value {
        Value::Null
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Json(_)
        | Value::Enum(_) => String::new(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number_text::float(*number),
        Value::Double(number) => number_text::double(*number),
        Value::Decimal(number) => number.to_string(),
        Value::Date(date) => date.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Datetime(at) => at.to_string(),
        Value::Timestamp(at) => ctx.zone.to_datetime(*at).to_string(),
        Value::Year(year) => format!("{year:04}"),
    }
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
