//! Order-preserving encoding of key parts.
//!
//! Two laws, each held by a property test, make a row of bytes an ordered table:
//!
//! - **order**: values compare as their encodings do, byte by byte, `NULL` before everything;
//!   in [`Direction::Desc`] every byte is inverted, which reverses all of it;
//! - **prefix-freedom**: no encoding of a type begins with another one of it, so that parts stand
//!   side by side without separator, and what begins with the parts of a prefix has these parts.
//!
//! Each part begins with a tag that says its family and, for numbers, its length. Every
//! encoding is canonical: one value, one row of bytes. Not here: whole keys (`keyspace`).
//!
//! The same bytes serve as sort keys and group keys, so that types which no key column may have
//! (`JSON`) are encoded too.

#![expect(
    clippy::big_endian_bytes,
    reason = "the key format is big-endian, so that bytes order as numbers"
)]

mod compact;
mod cursor;
mod dynamic;
mod escaped;
mod fixed;
mod json;
mod tag;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::stored::{self, Stored};
pub use super::{Corrupt, EncodeError};
use crate::types::{ColumnType, Date, Datetime, Time, Timestamp, Value};
use cursor::Cursor;
use tag::Family;

/// The direction in which a key part is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest first.
    Asc,
    /// Greatest first.
    Desc,
}

impl Direction {
    /// The direction of what was or was not declared `DESC`.
    #[must_use]
    pub fn of(is_descending: bool) -> Direction {
        if is_descending {
            Direction::Desc
        } else {
            Direction::Asc
        }
    }

    /// What turns plain bytes into stored ones and back, by exclusive or.
    fn mask(self) -> u8 {
        match self {
            Direction::Asc => 0x00,
            Direction::Desc => 0xFF,
        }
    }
}

/// Appends one part of a key.
///
/// # Errors
/// [`EncodeError::Misfit`] when the value is not of the type, [`EncodeError::TooManyDigits`].
pub fn encode_part(
    out: &mut Vec<u8>,
    value: &Value<'_>,
    ty: &ColumnType,
    direction: Direction,
) -> Result<(), EncodeError> {
    let start = out.len();
    if *ty == ColumnType::Dynamic {
        dynamic::encode(out, value);
    } else {
        match Stored::of(value, ty)? {
            Some(stored) => encode_stored(out, stored),
            None => out.push(tag::NULL),
        }
    }
    orient(out, start, direction);
    Ok(())
}

/// Turns what was appended in ascending order into the direction that is wanted.
#[inline]
fn orient(out: &mut [u8], start: usize, direction: Direction) {
    match direction {
        Direction::Asc => {}
        Direction::Desc => invert(out.get_mut(start..).unwrap_or_default()),
    }
}

/// Appends a part that is to be read by [`decode_part`] and compared with nothing, in ascending order: as
/// [`encode_part`], but for JSON, of which it gives back the very text.
///
/// # Errors
/// As [`encode_part`].
pub fn encode_shown(
    out: &mut Vec<u8>,
    value: &Value<'_>,
    ty: &ColumnType,
) -> Result<(), EncodeError> {
    let is_shown = matches!(ty, ColumnType::Json | ColumnType::Dynamic);
    let Value::Json(text) = value else {
        return encode_part(out, value, ty, Direction::Asc);
    };
    if !is_shown {
        return encode_part(out, value, ty, Direction::Asc);
    }
    json::encode_text(out, text);
    Ok(())
}

/// As [`encode_part`], of a value of a type of signed whole numbers.
#[inline]
pub fn encode_signed(out: &mut Vec<u8>, number: i64, direction: Direction) {
    let start = out.len();
    compact::encode_short(out, number, tag::INTEGER);
    orient(out, start, direction);
}

fn encode_stored(out: &mut Vec<u8>, stored: Stored<'_>) {
    match stored {
        Stored::Signed(number) => compact::encode_short(out, number, tag::INTEGER),
        Stored::Unsigned(number) => match i64::try_from(number) {
            Ok(number) => compact::encode_short(out, number, tag::INTEGER),
            Err(_) => compact::encode(out, i128::from(number), tag::INTEGER),
        },
        Stored::Decimal(digits) => compact::encode(out, digits, tag::DECIMAL),
        Stored::Float(number) => fixed::put(out, tag::FLOAT, fixed::float_bytes(number)),
        Stored::Double(number) => fixed::put(out, tag::DOUBLE, fixed::double_bytes(number)),
        Stored::Text(text) => escaped::encode(out, tag::TEXT, text.as_bytes()),
        Stored::Json(text) => json::encode(out, text),
        Stored::Bytes(bytes) => escaped::encode(out, tag::BYTES, bytes),
        Stored::Date(packed) => fixed::put(out, tag::DATE, fixed::date_bytes(packed)),
        Stored::Time(micros) => fixed::put(out, tag::TIME, fixed::time_bytes(micros)),
        Stored::Datetime(packed) => fixed::put(out, tag::DATETIME, packed.to_be_bytes()),
        Stored::Timestamp(micros) => {
            fixed::put(out, tag::TIMESTAMP, fixed::timestamp_bytes(micros));
        }
    }
}

fn invert(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

/// Takes one part off the front of `bytes`: its value, and the bytes behind it. Ascending text
/// and bytes without a zero byte are borrowed.
///
/// # Errors
/// [`Corrupt`] when the bytes do not begin with a part of this type.
pub fn decode_part<'a>(
    bytes: &'a [u8],
    ty: &'a ColumnType,
    direction: Direction,
) -> Result<(Value<'a>, &'a [u8]), Corrupt> {
    if ty.is_signed()
        && let Some((number, rest)) = compact::decode_short(bytes, direction.mask(), tag::INTEGER)
    {
        return Ok((Value::Int(number), rest));
    }
    let mut cursor = Cursor::new(bytes, direction);
    let tag = cursor.byte()?;
    let value = if tag == tag::NULL {
        Value::Null
    } else {
        decode_value(&mut cursor, tag, ty)?
    };
    Ok((value, cursor.rest()))
}

fn decode_value<'a>(
    cursor: &mut Cursor<'a>,
    tag: u8,
    ty: &'a ColumnType,
) -> Result<Value<'a>, Corrupt> {
    let family = Family::of(ty);
    family.check(tag, cursor.mask())?;
    let value = match ty {
        ColumnType::Null => None,
        ColumnType::Dynamic => dynamic::decode(cursor, tag)?,
        ColumnType::Boolean
        | ColumnType::Int {
            unsigned: false, ..
        } => i64::try_from(compact::decode(cursor, tag, tag::INTEGER)?)
            .ok()
            .map(Value::Int),
        ColumnType::Int { unsigned: true, .. } => unsigned(cursor, tag)?.map(Value::UInt),
        ColumnType::Year => unsigned(cursor, tag)?.and_then(stored::year_of),
        ColumnType::Enum(labels) => {
            unsigned(cursor, tag)?.and_then(|index| stored::member_of(labels, index))
        }
        ColumnType::Decimal { scale, .. } => {
            stored::decimal_of(compact::decode(cursor, tag, tag::DECIMAL)?, *scale, *scale)
        }
        ColumnType::Float => fixed::float_of(cursor.array()?).map(Value::Float),
        ColumnType::Double => fixed::double_of(cursor.array()?).map(Value::Double),
        ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_) => {
            utf8(escaped::decode(cursor)?).map(Value::Text)
        }
        ColumnType::Json => json::decode(cursor, tag)?,
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_) => {
            Some(Value::Bytes(escaped::decode(cursor)?))
        }
        ColumnType::Date => Date::from_packed(fixed::date_of(cursor.array()?)).map(Value::Date),
        ColumnType::Time { fsp } => {
            Time::from_micros(fixed::time_of(cursor.array()?), *fsp).map(Value::Time)
        }
        ColumnType::Datetime { fsp } => {
            let packed = u64::from_be_bytes(cursor.array()?);
            Datetime::from_packed(packed, *fsp).map(Value::Datetime)
        }
        ColumnType::Timestamp { fsp } => {
            let micros = fixed::timestamp_of(cursor.array()?);
            Timestamp::from_micros(micros, *fsp).map(Value::Timestamp)
        }
    };
    value.ok_or_else(|| Corrupt::bad(0, family.bad_value()))
}

fn unsigned(cursor: &mut Cursor<'_>, tag: u8) -> Result<Option<u64>, Corrupt> {
    Ok(u64::try_from(compact::decode(cursor, tag, tag::INTEGER)?).ok())
}

fn utf8(bytes: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

/// The bytes behind the first part of `bytes`, found without decoding its value. Where
/// [`decode_part`] succeeds, this answers the same rest.
///
/// # Errors
/// [`Corrupt`] when the bytes do not begin with a part of this type.
pub fn skip_part<'a>(
    bytes: &'a [u8],
    ty: &ColumnType,
    direction: Direction,
) -> Result<&'a [u8], Corrupt> {
    let mut cursor = Cursor::new(bytes, direction);
    let tag = cursor.byte()?;
    if tag == tag::NULL {
        return Ok(cursor.rest());
    }
    let family = Family::of(ty);
    family.check(tag, cursor.mask())?;
    let bad = || Corrupt::bad(0, family.bad_value());
    match family {
        Family::Nothing => {}
        Family::Any => {
            dynamic::decode(&mut cursor, tag)?.ok_or_else(bad)?;
        }
        Family::Integer => cursor.skip(compact::payload_bytes(tag, tag::INTEGER))?,
        Family::Decimal => cursor.skip(compact::payload_bytes(tag, tag::DECIMAL))?,
        Family::Text | Family::Bytes => escaped::skip(&mut cursor)?,
        Family::Json => {
            json::decode(&mut cursor, tag)?.ok_or_else(bad)?;
        }
        Family::Date => cursor.skip(fixed::DATE_BYTES)?,
        Family::Float => cursor.skip(fixed::FLOAT_BYTES)?,
        Family::Time => cursor.skip(fixed::TIME_BYTES)?,
        Family::Double | Family::Datetime | Family::Timestamp => {
            cursor.skip(fixed::WORD_BYTES)?;
        }
    }
    Ok(cursor.rest())
}

/// The least row of bytes above all that begin with `prefix`; `None` when there is none, which
/// is so for the empty prefix and never for one that parts were appended to.
#[must_use]
pub fn prefix_successor(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if let Some(next) = last.checked_add(1) {
            prefix.push(next);
            return Some(prefix);
        }
    }
    None
}
