//! Values as bytes that give back exactly the same value, for spilling, and for telling apart what is equal
//! and not the same: every digit, every variant.
//!
//! Not ordered and not as wide as a type: see [`super::tuple`] for what is compared.

#![expect(
    clippy::little_endian_bytes,
    reason = "a spill file is read by the process that wrote it"
)]

use std::borrow::Cow;

use crate::error::{Code, Error, Result};
use crate::types::{Date, Datetime, Decimal, EnumValue, Time, Timestamp, Value};

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const DOUBLE: u8 = 4;
const DECIMAL: u8 = 5;
const TEXT: u8 = 6;
const BYTES: u8 = 7;
const JSON: u8 = 8;
const DATE: u8 = 9;
const TIME: u8 = 10;
const DATETIME: u8 = 11;
const TIMESTAMP: u8 = 12;
const YEAR: u8 = 13;
const ENUM: u8 = 14;

/// Appends a value.
pub fn push(out: &mut Vec<u8>, value: &Value<'_>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Int(number) => put(out, INT, &number.to_le_bytes()),
        Value::UInt(number) => put(out, UINT, &number.to_le_bytes()),
        Value::Float(number) => put(out, FLOAT, &number.to_le_bytes()),
        Value::Double(number) => put(out, DOUBLE, &number.to_le_bytes()),
        Value::Decimal(number) => {
            put(out, DECIMAL, &number.coefficient().to_le_bytes());
            out.push(number.scale());
        }
        Value::Text(text) => put_long(out, TEXT, text.as_bytes()),
        Value::Bytes(bytes) => put_long(out, BYTES, bytes),
        Value::Json(json) => put_long(out, JSON, json.as_bytes()),
        Value::Date(date) => put(out, DATE, &date.packed().to_le_bytes()),
        Value::Time(time) => {
            put(out, TIME, &time.total_micros().to_le_bytes());
            out.push(time.fsp());
        }
        Value::Datetime(datetime) => {
            put(out, DATETIME, &datetime.packed().to_le_bytes());
            out.push(datetime.fsp());
        }
        Value::Timestamp(at) => {
            put(out, TIMESTAMP, &at.total_micros().to_le_bytes());
            out.push(at.fsp());
        }
        Value::Year(year) => put(out, YEAR, &year.to_le_bytes()),
        Value::Enum(member) => {
            put(out, ENUM, &member.index.to_le_bytes());
            put_length(out, member.label.as_bytes());
        }
    }
}

fn put(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn put_long(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    put_length(out, bytes);
}

fn put_length(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Takes a value off the front; what is behind it.
///
/// # Errors
/// 1712 when the bytes are not what was written.
pub fn take(bytes: &[u8]) -> Result<(Value<'_>, &[u8])> {
    let mut input = Input(bytes);
    match input.value() {
        Some(value) => Ok((value, input.0)),
        None => Err(Error::new(
            Code::StorageCorrupt,
            "a spilled value is not what was written",
        )),
    }
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn value(&mut self) -> Option<Value<'a>> {
        Some(match self.array::<1>()? {
            [NULL] => Value::Null,
            [INT] => Value::Int(i64::from_le_bytes(self.array()?)),
            [UINT] => Value::UInt(u64::from_le_bytes(self.array()?)),
            [FLOAT] => Value::Float(f32::from_le_bytes(self.array()?)),
            [DOUBLE] => Value::Double(f64::from_le_bytes(self.array()?)),
            [DECIMAL] => {
                let coefficient = i128::from_le_bytes(self.array()?);
                Value::Decimal(Decimal::new(coefficient, self.byte()?)?)
            }
            [TEXT] => Value::Text(Cow::Borrowed(self.text()?)),
            [BYTES] => Value::Bytes(Cow::Borrowed(self.long()?)),
            [JSON] => Value::Json(Cow::Borrowed(self.text()?)),
            [DATE] => Value::Date(Date::from_packed(u32::from_le_bytes(self.array()?))?),
            [TIME] => {
                let micros = i64::from_le_bytes(self.array()?);
                Value::Time(Time::from_micros(micros, self.byte()?)?)
            }
            [DATETIME] => {
                let packed = u64::from_le_bytes(self.array()?);
                Value::Datetime(Datetime::from_packed(packed, self.byte()?)?)
            }
            [TIMESTAMP] => {
                let micros = i64::from_le_bytes(self.array()?);
                Value::Timestamp(Timestamp::from_micros(micros, self.byte()?)?)
            }
            [YEAR] => Value::Year(u16::from_le_bytes(self.array()?)),
            [ENUM] => {
                let index = u16::from_le_bytes(self.array()?);
                let label = Cow::Borrowed(self.text()?);
                Value::Enum(EnumValue { index, label })
            }
            [_] => return None,
        })
    }

    fn array<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        let [byte] = self.array()?;
        Some(byte)
    }

    fn long(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(u64::from_le_bytes(self.array()?)).ok()?;
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.long()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_were() {
        let values = [
            Value::Null,
            Value::Int(-5),
            Value::UInt(u64::MAX),
            Value::Float(-0.0),
            Value::Double(f64::MIN_POSITIVE),
            Value::Decimal(Decimal::new(-1_234_567_890_123, 30).unwrap()),
            Value::text("a\0ö"),
            Value::bytes(&[0, 255]),
            Value::Json(Cow::Borrowed("[1]")),
            Value::Date(Date::from_packed(0).unwrap()),
            Value::Time(Time::from_micros(-5, 6).unwrap()),
            Value::Datetime(Date::new(2026, 11, 21).unwrap().at_midnight()),
            Value::Timestamp(Timestamp::from_clock(1_700_000_000_000_000, 3)),
            Value::Year(2026),
            Value::Enum(EnumValue {
                index: 2,
                label: Cow::Borrowed("b"),
            }),
        ];
        let mut bytes = Vec::new();
        for value in &values {
            push(&mut bytes, value);
        }
        let mut rest = bytes.as_slice();
        for value in &values {
            let (found, behind) = take(rest).unwrap();
            assert_eq!(format!("{found:?}"), format!("{value:?}"));
            rest = behind;
        }
        assert!(rest.is_empty());
        for until in 1..bytes.len() {
            let mut rest = &bytes[..until];
            while let Ok((_, behind)) = take(rest) {
                rest = behind;
            }
            assert!(rest.len() < until);
        }
        assert!(take(&[99]).is_err());
    }
}
