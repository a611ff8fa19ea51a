//! What of a value is stored, common to keys and rows: the parameters of its type are left out,
//! and what has several forms in memory has one here. Not here: bytes.

use std::borrow::Cow;

use super::EncodeError;
use crate::types::value::EnumValue;
use crate::types::{ColumnType, Decimal, Value};

/// The content of a value of a known type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stored<'a> {
    /// `BOOLEAN` and signed integers.
    Signed(i64),
    /// Unsigned integers, `YEAR`, and the index of an `ENUM` member.
    Unsigned(u64),
    /// The digits of a `DECIMAL` without their point, at the scale of the column.
    Decimal(i128),
    Float(f32),
    Double(f64),
    Text(&'a str),
    Json(&'a str),
    Bytes(&'a [u8]),
    /// `year << 9 | month << 5 | day`.
    Date(u32),
    /// Microseconds.
    Time(i64),
    /// The packed date above the microseconds of the day.
    Datetime(u64),
    /// Microseconds since 1970, UTC.
    Timestamp(i64),
}

impl<'a> Stored<'a> {
    /// The content of a value; `None` for `NULL`.
    ///
    /// Where two variants are one number or one text (`Int` and `UInt`, an integer and a
    /// `DECIMAL`, `FLOAT` and `DOUBLE`, an `ENUM` member and its label), both are taken.
    pub(super) fn of(
        value: &'a Value<'_>,
        ty: &ColumnType,
    ) -> Result<Option<Stored<'a>>, EncodeError> {
        if matches!(value, Value::Null) {
            return Ok(None);
        }
        let stored = match ty {
            // What is of another type in each row is written with its type: see `key::dynamic`.
            ColumnType::Null | ColumnType::Dynamic => None,
            ColumnType::Boolean
            | ColumnType::Int {
                unsigned: false, ..
            } => signed(value),
            ColumnType::Int { unsigned: true, .. } => unsigned(value),
            ColumnType::Float => float(value),
            ColumnType::Double => double(value),
            ColumnType::Decimal { scale, .. } => return decimal(value, ty, *scale).map(Some),
            ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_) => {
                text(value)
            }
            ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_) => {
                bytes(value)
            }
            ColumnType::Date
            | ColumnType::Time { .. }
            | ColumnType::Datetime { .. }
            | ColumnType::Timestamp { .. }
            | ColumnType::Year => temporal(value, ty),
            ColumnType::Json => json(value),
            ColumnType::Enum(labels) => member(value, labels),
        };
        stored
            .map(Some)
            .ok_or_else(|| EncodeError::misfit(value, ty))
    }
}

/// A whole number, when the value is one.
fn whole(value: &Value<'_>) -> Option<i128> {
    if let Value::Int(number) = value {
        return Some(i128::from(*number));
    }
    let Value::UInt(number) = value else {
        return None;
    };
    Some(i128::from(*number))
}

fn signed<'a>(value: &Value<'_>) -> Option<Stored<'a>> {
    whole(value)
        .and_then(|number| i64::try_from(number).ok())
        .map(Stored::Signed)
}

fn unsigned<'a>(value: &Value<'_>) -> Option<Stored<'a>> {
    whole(value)
        .and_then(|number| u64::try_from(number).ok())
        .map(Stored::Unsigned)
}

fn float<'a>(value: &Value<'_>) -> Option<Stored<'a>> {
    let Value::Float(number) = value else {
        return None;
    };
    Some(Stored::Float(*number))
}

fn double<'a>(value: &Value<'_>) -> Option<Stored<'a>> {
    if let Value::Float(number) = value {
        return Some(Stored::Double(f64::from(*number)));
    }
    let Value::Double(number) = value else {
        return None;
    };
    Some(Stored::Double(*number))
}

/// Digits at the wanted scale. A number with more digits behind its point is not of the column's
/// type, and rounding it here would let two keys become one.
fn decimal<'a>(value: &Value<'_>, ty: &ColumnType, scale: u8) -> Result<Stored<'a>, EncodeError> {
    let Value::Decimal(number) = value else {
        let digits = whole(value).ok_or_else(|| EncodeError::misfit(value, ty))?;
        let digits = at_scale(digits, 0, scale).ok_or(EncodeError::TooManyDigits { scale })?;
        return Ok(Stored::Decimal(digits));
    };
    if number.scale() == scale {
        return Ok(Stored::Decimal(number.coefficient()));
    }
    let number = number.normalized();
    if scale < number.scale() {
        return Err(EncodeError::misfit(value, ty));
    }
    at_scale(number.coefficient(), number.scale(), scale)
        .map(Stored::Decimal)
        .ok_or(EncodeError::TooManyDigits { scale })
}

fn text<'a>(value: &'a Value<'_>) -> Option<Stored<'a>> {
    if let Value::Enum(member) = value {
        return Some(Stored::Text(&member.label));
    }
    let Value::Text(text) = value else {
        return None;
    };
    Some(Stored::Text(text))
}

fn json<'a>(value: &'a Value<'_>) -> Option<Stored<'a>> {
    let Value::Json(text) = value else {
        return None;
    };
    Some(Stored::Json(text))
}

fn bytes<'a>(value: &'a Value<'_>) -> Option<Stored<'a>> {
    if let Value::Text(text) = value {
        return Some(Stored::Bytes(text.as_bytes()));
    }
    let Value::Bytes(bytes) = value else {
        return None;
    };
    Some(Stored::Bytes(bytes))
}

fn temporal<'a>(value: &Value<'_>, ty: &ColumnType) -> Option<Stored<'a>> {
    match (ty, value) {
        (ColumnType::Date, Value::Date(date)) => Some(Stored::Date(date.packed())),
        (ColumnType::Time { .. }, Value::Time(time)) => Some(Stored::Time(time.total_micros())),
        (ColumnType::Datetime { .. }, Value::Datetime(datetime)) => {
            Some(Stored::Datetime(datetime.packed()))
        }
        (ColumnType::Timestamp { .. }, Value::Timestamp(timestamp)) => {
            Some(Stored::Timestamp(timestamp.total_micros()))
        }
        (ColumnType::Year, Value::Year(year)) => Some(Stored::Unsigned(u64::from(*year))),
        _ => None,
    }
}

/// The index of a member of the declaration; 0 is the error member.
fn member<'a>(value: &Value<'_>, labels: &[Box<str>]) -> Option<Stored<'a>> {
    let Value::Enum(member) = value else {
        return None;
    };
    let is_declared = usize::from(member.index) <= labels.len();
    is_declared.then_some(Stored::Unsigned(u64::from(member.index)))
}

/// The member of an `ENUM` with this index; `None` when the declaration has no such member.
pub(super) fn member_of(labels: &[Box<str>], index: u64) -> Option<Value<'_>> {
    let index = u16::try_from(index).ok()?;
    let label = match index.checked_sub(1) {
        None => "",
        Some(position) => labels.get(usize::from(position))?,
    };
    Some(Value::Enum(EnumValue {
        index,
        label: Cow::Borrowed(label),
    }))
}

/// Digits at the scale `from` as digits at the scale `until`, which is not smaller; `None` when
/// a decimal cannot have so many.
fn at_scale(digits: i128, from: u8, until: u8) -> Option<i128> {
    let factor = 10i128.checked_pow(u32::from(until.checked_sub(from)?))?;
    let decimal = Decimal::new(digits.checked_mul(factor)?, until)?;
    Some(decimal.coefficient())
}

/// A decimal as it is stored, as the column has it now: `ALTER TABLE` may have widened the scale
/// since. `None` when there are more digits than a decimal has.
pub(super) fn decimal_of(digits: i128, stored_scale: u8, scale: u8) -> Option<Value<'static>> {
    let number = Decimal::new(digits, stored_scale)?;
    if stored_scale == scale {
        return Some(Value::Decimal(number));
    }
    let digits = at_scale(digits, stored_scale, scale)?;
    Decimal::new(digits, scale).map(Value::Decimal)
}

/// A `YEAR`; `None` for a number that is none.
pub(super) fn year_of(number: u64) -> Option<Value<'static>> {
    /// The last year that the type has.
    const YEAR_MAX: u16 = 2155;
    /// The first one, zero apart.
    const YEAR_MIN: u16 = 1901;
    let year = u16::try_from(number).ok()?;
    (year == 0 || (YEAR_MIN..=YEAR_MAX).contains(&year)).then_some(Value::Year(year))
}
