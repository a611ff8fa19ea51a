//! Values read as numbers, by MySQL's rules: a text counts as far as it is a number, a calendar
//! value is `YYYYMMDDhhmmss`, an `ENUM` its position. What was lost is reported, not judged.
//!
//! `NULL` reads as zero here: ask [`Value::is_null`] first. TIMESTAMP is read in UTC: convert it
//! with the session's zone first.

use super::Value;
use crate::types::{Datetime, Decimal, Parsed, Zone};

fn exact<T>(value: T) -> Parsed<T> {
    Parsed {
        value,
        is_truncated: false,
    }
}

impl Value<'_> {
    /// The nearest double.
    pub fn to_f64(&self) -> Parsed<f64> {
        match self {
            Value::Null => exact(0.0),
            Value::Int(number) => exact(double(i128::from(*number))),
            Value::UInt(number) => exact(double(i128::from(*number))),
            Value::Year(year) => exact(f64::from(*year)),
            Value::Float(number) => exact(f64::from(*number)),
            Value::Double(number) => exact(*number),
            Value::Decimal(number) => exact(number.to_f64()),
            Value::Text(text) => parse_f64(text.as_bytes()),
            Value::Bytes(bytes) => parse_f64(bytes),
            Value::Json(text) => parse_f64(json_number(text).as_bytes()),
            Value::Date(date) => exact(double(i128::from(date.to_number()))),
            Value::Time(time) => exact(time.to_decimal().to_f64()),
            Value::Datetime(datetime) => exact(datetime.to_decimal().to_f64()),
            Value::Timestamp(at) => exact(Zone::UTC.to_datetime(*at).to_decimal().to_f64()),
            Value::Enum(member) => exact(f64::from(member.index)),
        }
    }

    /// The whole number: decimals rounded half away from zero, doubles half to even, texts read up
    /// to the first character that is no digit.
    pub fn to_i128(&self) -> Parsed<i128> {
        match self {
            Value::Null => exact(0),
            Value::Int(number) => exact(i128::from(*number)),
            Value::UInt(number) => exact(i128::from(*number)),
            Value::Year(year) => exact(i128::from(*year)),
            Value::Float(number) => exact(round_f64(f64::from(*number))),
            Value::Double(number) => exact(round_f64(*number)),
            Value::Decimal(number) => exact(number.to_i128()),
            Value::Text(text) => parse_i128(text.as_bytes()),
            Value::Bytes(bytes) => parse_i128(bytes),
            Value::Json(text) => parse_i128(json_number(text).as_bytes()),
            Value::Date(date) => exact(i128::from(date.to_number())),
            Value::Time(time) => exact(time.round(0).to_decimal().to_i128()),
            Value::Datetime(datetime) => exact(whole_second(*datetime)),
            Value::Timestamp(at) => exact(whole_second(Zone::UTC.to_datetime(*at))),
            Value::Enum(member) => exact(i128::from(member.index)),
        }
    }

    /// [`Value::to_i128`] clamped to the range of `BIGINT`, which counts as truncated.
    pub fn to_i64(&self) -> Parsed<i64> {
        let Parsed {
            value,
            is_truncated,
        } = self.to_i128();
        match i64::try_from(value) {
            Ok(value) => Parsed {
                value,
                is_truncated,
            },
            Err(_) if value < 0 => Parsed {
                value: i64::MIN,
                is_truncated: true,
            },
            Err(_) => Parsed {
                value: i64::MAX,
                is_truncated: true,
            },
        }
    }

    /// The exact number, as far as 38 digits go: past them the largest there is, truncated.
    pub fn to_decimal(&self) -> Parsed<Decimal> {
        match self {
            Value::Decimal(number) => exact(*number),
            Value::Float(number) => {
                let mut text = Vec::new();
                super::text::write_f32(*number, &mut text);
                parse_decimal(&text)
            }
            Value::Double(number) => clamped(Decimal::from_f64(*number), *number < 0.0),
            Value::Text(text) => parse_decimal(text.as_bytes()),
            Value::Bytes(bytes) => parse_decimal(bytes),
            Value::Json(text) => parse_decimal(json_number(text).as_bytes()),
            Value::Time(time) => exact(time.to_decimal()),
            Value::Datetime(datetime) => exact(datetime.to_decimal()),
            Value::Timestamp(at) => exact(Zone::UTC.to_datetime(*at).to_decimal()),
            Value::Null
            | Value::Int(_)
            | Value::UInt(_)
            | Value::Date(_)
            | Value::Year(_)
            | Value::Enum(_) => exact(Decimal::new(self.to_i128().value, 0).unwrap_or_default()),
        }
    }
}

/// A moment as a number, rounded as a moment: the second after 23:59:59 is the next day.
fn whole_second(at: Datetime) -> i128 {
    at.round(0).unwrap_or(at).to_decimal().to_i128()
}

fn clamped(number: Option<Decimal>, is_negative: bool) -> Parsed<Decimal> {
    let largest = Decimal::max_of(38, 0);
    let limit = if is_negative { largest.neg() } else { largest };
    Parsed {
        value: number.unwrap_or(limit),
        is_truncated: number.is_none(),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the nearest double is what is asked for"
)]
fn double(number: i128) -> f64 {
    number as f64
}

/// Half to even, as C's `rint` that MySQL uses; saturating.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
pub fn round_f64(number: f64) -> i128 {
    number.round_ties_even() as i128
}

/// JSON's `true`, `false` and strings as the number they read as.
pub(in crate::types) fn json_number(text: &str) -> &str {
    match text {
        "true" => "1",
        "false" | "null" => "0",
        other => other
            .strip_prefix('"')
            .map_or(other, |inner| inner.trim_end_matches('"')),
    }
}

/// The longest beginning that is a number: sign, digits, point, digits, exponent; and the rest.
/// Blanks before it are skipped.
pub(in crate::types) fn number_prefix(bytes: &[u8]) -> (&str, &[u8]) {
    let bytes = bytes.trim_ascii_start();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let at = |at: usize| bytes.get(at).copied();
    let sign = usize::from(matches!(at(0), Some(b'+' | b'-')));
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut has_digits = whole != 0;
    if at(end) == Some(b'.') {
        let fraction = digits(end + 1);
        has_digits |= fraction != 0;
        end += if has_digits { 1 + fraction } else { 0 };
    }
    if !has_digits {
        return ("", bytes);
    }
    if matches!(at(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(at(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        end += if exponent == 0 {
            0
        } else {
            1 + sign + exponent
        };
    }
    let (number, rest) = bytes.split_at(end);
    (std::str::from_utf8(number).unwrap_or(""), rest)
}

pub(in crate::types) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

/// The double at the beginning of a text; 0 without one. Past the largest, the largest.
pub fn parse_f64(bytes: &[u8]) -> Parsed<f64> {
    let (number, rest) = number_prefix(bytes);
    let read: f64 = number.parse().unwrap_or(0.0);
    let value = read.clamp(f64::MIN, f64::MAX);
    let is_truncated = number.is_empty() || !is_blank(rest) || read.is_infinite();
    Parsed {
        value,
        is_truncated,
    }
}

/// The whole number at the beginning of a text, without fraction or exponent; 0 without one.
pub fn parse_i128(bytes: &[u8]) -> Parsed<i128> {
    let trimmed = bytes.trim_ascii_start();
    let (is_negative, body) = match trimmed.split_first() {
        Some((b'-', body)) => (true, body),
        Some((b'+', body)) => (false, body),
        Some(_) | None => (false, trimmed),
    };
    let len = body.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = body.split_at(len);
    let size = digits.iter().fold(0i128, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(i128::from(digit - b'0'))
    });
    let value = if is_negative { -size } else { size };
    Parsed {
        value,
        is_truncated: len == 0 || !is_blank(rest),
    }
}

/// The decimal at the beginning of a text; 0 without one.
pub fn parse_decimal(bytes: &[u8]) -> Parsed<Decimal> {
    let (number, rest) = number_prefix(bytes);
    if number.is_empty() {
        return Parsed {
            value: Decimal::ZERO,
            is_truncated: true,
        };
    }
    let Parsed {
        value,
        is_truncated,
    } = clamped(Decimal::parse(number), number.starts_with('-'));
    Parsed {
        value,
        is_truncated: is_truncated || !is_blank(rest),
    }
}
