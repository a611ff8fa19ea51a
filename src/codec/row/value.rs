//! The bytes of one value of a row. Their length is known from the row, so that none is stored.
//!
//! Integers take 1, 2, 4 or 8 bytes, whatever the width of their column: widening it rewrites no
//! row. For the same reason a decimal stores its scale, and a `DOUBLE` column reads 4-byte floats.

use std::borrow::Cow;

use super::super::stored::{self, Stored};
use super::super::{Corrupt, EncodeError};
use crate::types::{ColumnType, Date, Datetime, Decimal, Time, Timestamp, Value};

/// Appends the bytes of a value and says `true`; appends nothing and says `false` for `NULL`.
pub(super) fn encode_value(
    out: &mut Vec<u8>,
    value: &Value<'_>,
    ty: &ColumnType,
) -> Result<bool, EncodeError> {
    let Some(stored) = Stored::of(value, ty)? else {
        return Ok(false);
    };
    match stored {
        Stored::Signed(number) => put_signed(out, i128::from(number)),
        Stored::Unsigned(number) => put_unsigned(out, number),
        Stored::Decimal(digits) => put_decimal(out, digits, scale_of(ty)),
        Stored::Float(number) => out.extend_from_slice(&number.to_bits().to_le_bytes()),
        Stored::Double(number) => out.extend_from_slice(&number.to_bits().to_le_bytes()),
        Stored::Text(text) | Stored::Json(text) => out.extend_from_slice(text.as_bytes()),
        Stored::Bytes(bytes) => out.extend_from_slice(bytes),
        Stored::Date(packed) => put_date(out, packed),
        Stored::Datetime(packed) => out.extend_from_slice(&packed.to_le_bytes()),
        Stored::Time(micros) | Stored::Timestamp(micros) => {
            out.extend_from_slice(&micros.to_le_bytes());
        }
    }
    Ok(true)
}

fn scale_of(ty: &ColumnType) -> u8 {
    if let ColumnType::Decimal { scale, .. } = ty {
        *scale
    } else {
        0
    }
}

/// The fewest bytes of 1, 2, 4, 8 and 16 from which the number can be told, signed.
pub(super) fn put_signed(out: &mut Vec<u8>, number: i128) {
    if let Ok(number) = i8::try_from(number) {
        out.extend_from_slice(&number.to_le_bytes());
    } else if let Ok(number) = i16::try_from(number) {
        out.extend_from_slice(&number.to_le_bytes());
    } else if let Ok(number) = i32::try_from(number) {
        out.extend_from_slice(&number.to_le_bytes());
    } else if let Ok(number) = i64::try_from(number) {
        out.extend_from_slice(&number.to_le_bytes());
    } else {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// The fewest bytes of 1, 2, 4 and 8.
pub(super) fn put_unsigned(out: &mut Vec<u8>, number: u64) {
    if let Ok(number) = u8::try_from(number) {
        out.push(number);
    } else if let Ok(number) = u16::try_from(number) {
        out.extend_from_slice(&number.to_le_bytes());
    } else if let Ok(number) = u32::try_from(number) {
        out.extend_from_slice(&number.to_le_bytes());
    } else {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// The scale, then the digits.
pub(super) fn put_decimal(out: &mut Vec<u8>, digits: i128, scale: u8) {
    out.push(scale);
    put_signed(out, digits);
}

/// The packed form, below 2^23, in three bytes.
pub(super) fn put_date(out: &mut Vec<u8>, packed: u32) {
    let [low, middle, high, _] = packed.to_le_bytes();
    out.extend_from_slice(&[low, middle, high]);
}

/// The value of a stored column of type `ty`, borrowed where it can be. Texts, of which wide rows are made, are
/// decoded where it is called.
///
/// # Errors
/// [`Corrupt`] when the bytes are no value of the type.
#[inline]
pub fn decode_value<'a>(bytes: &'a [u8], ty: &'a ColumnType) -> Result<Value<'a>, Corrupt> {
    if let ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_) = ty
        && let Some(text) = utf8(bytes)
    {
        return Ok(Value::Text(Cow::Borrowed(text)));
    }
    decode_any(bytes, ty)
}

fn decode_any<'a>(bytes: &'a [u8], ty: &'a ColumnType) -> Result<Value<'a>, Corrupt> {
    let value = match ty {
        ColumnType::Null | ColumnType::Dynamic => None,
        ColumnType::Boolean
        | ColumnType::Int {
            unsigned: false, ..
        } => signed(bytes).map(Value::Int),
        ColumnType::Int { unsigned: true, .. } => unsigned(bytes).map(Value::UInt),
        ColumnType::Float => float(bytes).map(Value::Float),
        ColumnType::Double => double(bytes).map(Value::Double),
        ColumnType::Decimal { scale, .. } => decimal_parts(bytes)
            .and_then(|(stored_scale, digits)| stored::decimal_of(digits, stored_scale, *scale)),
        ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_) => {
            utf8(bytes).map(|text| Value::Text(Cow::Borrowed(text)))
        }
        ColumnType::Json => utf8(bytes).map(|text| Value::Json(Cow::Borrowed(text))),
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_) => {
            Some(Value::Bytes(Cow::Borrowed(bytes)))
        }
        ColumnType::Date => date(bytes).map(Value::Date),
        ColumnType::Time { fsp } => time(bytes, *fsp).map(Value::Time),
        ColumnType::Datetime { fsp } => datetime(bytes, *fsp).map(Value::Datetime),
        ColumnType::Timestamp { fsp } => timestamp(bytes, *fsp).map(Value::Timestamp),
        ColumnType::Year => unsigned(bytes).and_then(stored::year_of),
        ColumnType::Enum(labels) => {
            unsigned(bytes).and_then(|index| stored::member_of(labels, index))
        }
    };
    value.ok_or_else(|| Corrupt::bad(0, "bytes that are no value of the column's type"))
}

/// A signed integer.
#[inline]
pub(super) fn signed(bytes: &[u8]) -> Option<i64> {
    match *bytes {
        [a] => Some(i64::from(i8::from_le_bytes([a]))),
        [a, b] => Some(i64::from(i16::from_le_bytes([a, b]))),
        [a, b, c, d] => Some(i64::from(i32::from_le_bytes([a, b, c, d]))),
        _ => bytes.try_into().ok().map(i64::from_le_bytes),
    }
}

/// An unsigned integer.
pub(super) fn unsigned(bytes: &[u8]) -> Option<u64> {
    match *bytes {
        [a] => Some(u64::from(a)),
        [a, b] => Some(u64::from(u16::from_le_bytes([a, b]))),
        [a, b, c, d] => Some(u64::from(u32::from_le_bytes([a, b, c, d]))),
        _ => bytes.try_into().ok().map(u64::from_le_bytes),
    }
}

pub(super) fn float(bytes: &[u8]) -> Option<f32> {
    bytes.try_into().ok().map(f32::from_le_bytes)
}

pub(super) fn double(bytes: &[u8]) -> Option<f64> {
    match float(bytes) {
        Some(number) => Some(f64::from(number)),
        None => bytes.try_into().ok().map(f64::from_le_bytes),
    }
}

/// Scale and digits.
fn decimal_parts(bytes: &[u8]) -> Option<(u8, i128)> {
    let (scale, digits) = bytes.split_first()?;
    let digits = match signed(digits) {
        Some(digits) => i128::from(digits),
        None => i128::from_le_bytes(digits.try_into().ok()?),
    };
    Some((*scale, digits))
}

/// A decimal at the scale it was stored with.
pub(super) fn decimal(bytes: &[u8]) -> Option<Decimal> {
    let (scale, digits) = decimal_parts(bytes)?;
    Decimal::new(digits, scale)
}

#[inline]
pub(super) fn utf8(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

pub(super) fn date(bytes: &[u8]) -> Option<Date> {
    let [low, middle, high] = bytes.try_into().ok()?;
    Date::from_packed(u32::from_le_bytes([low, middle, high, 0]))
}

pub(super) fn time(bytes: &[u8], fsp: u8) -> Option<Time> {
    let micros = i64::from_le_bytes(bytes.try_into().ok()?);
    // The magnitude of the least number is none, and `Time` asks for the magnitude.
    (micros != i64::MIN)
        .then(|| Time::from_micros(micros, fsp))
        .flatten()
}

pub(super) fn datetime(bytes: &[u8], fsp: u8) -> Option<Datetime> {
    Datetime::from_packed(u64::from_le_bytes(bytes.try_into().ok()?), fsp)
}

pub(super) fn timestamp(bytes: &[u8], fsp: u8) -> Option<Timestamp> {
    Timestamp::from_micros(i64::from_le_bytes(bytes.try_into().ok()?), fsp)
}
