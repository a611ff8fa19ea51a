//! Some values of each type, of those that a column of it can have.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few types; all others are one case"
)]

use std::borrow::Cow;

use crate::types::coerce::{self, StoreMode};
use crate::types::value::EnumValue;
use crate::types::{ColumnType, Date, Decimal, Time, Timestamp, Value};

/// Values of a type that are tried.
const COUNT: u8 = 12;

/// From one whole number to the next, so that bounds of ranges are not taken for another.
const STEP: u8 = 10;

/// The year before the first but 0000.
const YEAR_BEFORE: i64 = 1900;

/// A value of a type that stands for one that nobody knows.
pub fn any(ty: &ColumnType) -> Value<'static> {
    some(ty).next().unwrap_or_else(|| nth(ty, 0))
}

/// A value that a column of a type can have, as a value of another type; `None` where none is one.
pub fn typical(column: &ColumnType, ty: &ColumnType) -> Option<Value<'static>> {
    some(column).find_map(|value| as_stored(value, ty))
}

/// Some values of a type, apart from each other where there are many.
pub(super) fn some(ty: &ColumnType) -> impl Iterator<Item = Value<'static>> {
    (0..COUNT).filter_map(|n| as_stored(nth(ty, n), ty))
}

/// Those beside a number: between the bounds that a statement gives, if there is room.
pub(super) fn beside(
    constant: &Value<'_>,
    ty: &ColumnType,
) -> impl Iterator<Item = Value<'static>> {
    let number = match constant {
        Value::Int(number) => Some(*number),
        Value::UInt(number) => i64::try_from(*number).ok(),
        Value::Year(year) => Some(i64::from(*year)),
        Value::Decimal(number) => number.to_i64(),
        _ => None,
    };
    let half = i64::from(STEP / 2);
    let beside = number.map(|number| [number.checked_add(half), number.checked_sub(half)]);
    let beside = beside.into_iter().flatten().flatten();
    beside.filter_map(|number| as_stored(of_number(ty, number)?, ty))
}

/// A value as a column of a type holds it, if it can and nothing is lost.
pub(super) fn as_stored(value: Value<'static>, ty: &ColumnType) -> Option<Value<'static>> {
    if matches!(ty, ColumnType::Null | ColumnType::Dynamic) {
        return Some(value);
    }
    let coerced = coerce::coerce(value, ty, &StoreMode::STRICT).ok()?;
    let is_exact = coerced.adjustment.is_none();
    Some(coerced.value).filter(|value| is_exact && !is_unordered(value))
}

/// The error member of an ENUM, and one without a label, are equal to each other.
fn is_unordered(value: &Value<'_>) -> bool {
    matches!(value, Value::Enum(member) if member.label.is_empty())
}

/// The values next to one where they can be counted, and how they are written: bounds of ranges are
/// moved to them.
pub(super) fn neighbours(value: &Value<'static>) -> [Option<(Value<'static>, &'static str)>; 2] {
    let day = |date: &Date, days: i8| {
        let day = date.day().checked_add_signed(days)?;
        Date::new(date.year(), date.month(), day).map(Value::Date)
    };
    let (before, after) = match value {
        Value::Int(number) => (
            number.checked_sub(1).map(Value::Int),
            number.checked_add(1).map(Value::Int),
        ),
        Value::UInt(number) => (
            number.checked_sub(1).map(Value::UInt),
            number.checked_add(1).map(Value::UInt),
        ),
        Value::Year(year) => (
            year.checked_sub(1).map(Value::Year),
            year.checked_add(1).map(Value::Year),
        ),
        Value::Date(date) => {
            let texts = [" - INTERVAL 1 DAY", " + INTERVAL 1 DAY"];
            let days = [day(date, -1), day(date, 1)].into_iter().zip(texts);
            let mut days = days.map(|(value, text)| value.map(|value| (value, text)));
            return [days.next().flatten(), days.next().flatten()];
        }
        _ => (None, None),
    };
    [
        before.map(|value| (value, " - 1")),
        after.map(|value| (value, " + 1")),
    ]
}

/// A number as a value of a type, if it has numbers, and this one.
fn of_number(ty: &ColumnType, number: i64) -> Option<Value<'static>> {
    match ty {
        ColumnType::Int { unsigned: true, .. } => u64::try_from(number).ok().map(Value::UInt),
        ColumnType::Boolean | ColumnType::Int { .. } => Some(Value::Int(number)),
        ColumnType::Year => u16::try_from(number).ok().map(Value::Year),
        ColumnType::Float | ColumnType::Double => {
            let number = i32::try_from(number).ok()?;
            Some(Value::Double(f64::from(number)))
        }
        ColumnType::Decimal { .. } => Some(Value::Decimal(Decimal::from_i64(number))),
        _ => None,
    }
}

/// One of some values, of which not all need be of the type.
fn nth(ty: &ColumnType, n: u8) -> Value<'static> {
    let number = i64::from(n) * i64::from(STEP) + 1;
    let letter = b'a'.saturating_add(n);
    match ty {
        ColumnType::Boolean | ColumnType::Int { .. } => {
            of_number(ty, number).unwrap_or(Value::Int(number))
        }
        ColumnType::Year => of_number(ty, YEAR_BEFORE + number).unwrap_or(Value::Year(0)),
        ColumnType::Float | ColumnType::Double => {
            of_number(ty, number).unwrap_or(Value::Double(1.0))
        }
        // Those below one where there is nothing else.
        ColumnType::Decimal { precision, scale } if precision <= scale => {
            Value::Decimal(Decimal::new(number.into(), *scale).unwrap_or(Decimal::ZERO))
        }
        ColumnType::Decimal { .. } => Value::Decimal(Decimal::from_i64(number)),
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_) => {
            Value::Bytes(vec![letter].into())
        }
        ColumnType::Date => Value::Date(date(n)),
        ColumnType::Time { fsp } => Value::Time(time(number, *fsp)),
        ColumnType::Datetime { .. } => Value::Datetime(date(n).at_midnight()),
        ColumnType::Timestamp { fsp } => Value::Timestamp(timestamp(number, *fsp)),
        ColumnType::Json => Value::Json(format!("\"{}\"", char::from(letter)).into()),
        ColumnType::Enum(labels) => member(labels, n),
        ColumnType::Null
        | ColumnType::Dynamic
        | ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text(_) => Value::Text(char::from(letter).to_string().into()),
    }
}

fn member(labels: &[Box<str>], n: u8) -> Value<'static> {
    let label = labels.get(usize::from(n)).map(ToString::to_string);
    Value::Enum(EnumValue {
        index: label.as_ref().map_or(0, |_| u16::from(n) + 1),
        label: Cow::Owned(label.unwrap_or_default()),
    })
}

fn date(n: u8) -> Date {
    Date::new(
        Date::MAX.year(),
        12,
        30_u8.saturating_sub(n.saturating_mul(2)),
    )
    .unwrap_or(Date::MAX)
}

fn time(seconds: i64, fsp: u8) -> Time {
    let micros = seconds.saturating_mul(Timestamp::MICROS_MIN);
    Time::from_micros(micros, fsp).unwrap_or(Time::ZERO)
}

fn timestamp(seconds: i64, fsp: u8) -> Timestamp {
    let micros = seconds.saturating_mul(Timestamp::MICROS_MIN);
    Timestamp::from_micros(micros, fsp).unwrap_or(Timestamp::ZERO)
}
