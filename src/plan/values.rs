//! Values in the form that a key column stores: their order, their neighbours, their text.
//!
//! A value here always has the variant of its column's type (`Int` for signed integers and
//! booleans, `UInt` for unsigned integers, and so on), so two values of one column compare without
//! conversion.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::ops::Bound;

use crate::types::column_type::IntWidth;
use crate::types::literal::string_literal;
use crate::types::temporal::Zone;
use crate::types::{ColumnType, Value};

/// The least and the greatest year besides 0000.
const YEARS: (u16, u16) = (1901, 2155);

/// The order of two values of one column; `NULL` comes first.
pub fn compare(a: &Value<'static>, b: &Value<'static>) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        _ => a.total_cmp(b),
    }
}

/// The least and the greatest value of an integer type.
pub fn int_range(ty: &ColumnType) -> Option<(i128, i128)> {
    let (width, unsigned) = match ty {
        ColumnType::Boolean => (IntWidth::Tiny, false),
        ColumnType::Int { width, unsigned } => (*width, *unsigned),
        ColumnType::Null
        | ColumnType::Dynamic
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text(_)
        | ColumnType::Binary { .. }
        | ColumnType::Varbinary { .. }
        | ColumnType::Blob(_)
        | ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Datetime { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::Year
        | ColumnType::Json
        | ColumnType::Enum(_) => return None,
    };
    let bits = match width {
        IntWidth::Tiny => 8,
        IntWidth::Small => 16,
        IntWidth::Medium => 24,
        IntWidth::Int => 32,
        IntWidth::Big => 64,
    };
    Some(if unsigned {
        (0, (1_i128 << bits) - 1)
    } else {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    })
}

/// The value of an integer column, `None` when it is outside the type's range.
pub fn int_value(number: i128, ty: &ColumnType) -> Option<Value<'static>> {
    let (least, greatest) = int_range(ty)?;
    if number < least || greatest < number {
        return None;
    }
    if least == 0 {
        return u64::try_from(number).ok().map(Value::UInt);
    }
    i64::try_from(number).ok().map(Value::Int)
}

/// The next greater value, where values can be counted.
fn next(value: &Value<'static>, ty: &ColumnType) -> Option<Step> {
    step(value, ty, 1)
}

/// The next smaller value, where values can be counted.
fn previous(value: &Value<'static>, ty: &ColumnType) -> Option<Step> {
    step(value, ty, -1)
}

/// A step to a neighbour.
enum Step {
    /// The neighbour.
    To(Value<'static>),
    /// There is none: the type's range ends.
    Off,
}

/// `None` when the type's values cannot be counted.
fn step(value: &Value<'static>, ty: &ColumnType, by: i128) -> Option<Step> {
    let number = match value {
        Value::Int(number) => i128::from(*number),
        Value::UInt(number) => i128::from(*number),
        Value::Year(year) => return Some(step_year(*year, by)),
        Value::Null
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Json(_)
        | Value::Enum(_) => return None,
    };
    Some(int_value(number + by, ty).map_or(Step::Off, Step::To))
}

fn step_year(year: u16, by: i128) -> Step {
    let (first, last) = YEARS;
    match (year, 0 < by) {
        (0, true) => Step::To(Value::Year(first)),
        (0, false) => Step::Off,
        (year, true) if year == last => Step::Off,
        (year, false) if year == first => Step::To(Value::Year(0)),
        (year, true) => Step::To(Value::Year(year.saturating_add(1))),
        (year, false) => Step::To(Value::Year(year.saturating_sub(1))),
    }
}

/// Whether `greater` is the value right behind `smaller`.
pub fn follows(greater: &Value<'static>, smaller: &Value<'static>, ty: &ColumnType) -> bool {
    match next(smaller, ty) {
        Some(Step::To(value)) => compare(&value, greater) == Ordering::Equal,
        Some(Step::Off) | None => false,
    }
}

/// The one form of a lower bound; `None` when nothing lies above it.
pub fn lower_bound(low: Bound<Value<'static>>, ty: &ColumnType) -> Option<Bound<Value<'static>>> {
    let Bound::Excluded(value) = &low else {
        return Some(low);
    };
    match next(value, ty) {
        Some(Step::To(value)) => Some(Bound::Included(value)),
        Some(Step::Off) => None,
        None => Some(low),
    }
}

/// The one form of an upper bound; `None` when nothing lies below it.
pub fn upper_bound(high: Bound<Value<'static>>, ty: &ColumnType) -> Option<Bound<Value<'static>>> {
    match &high {
        Bound::Excluded(value) => match previous(value, ty) {
            Some(Step::To(value)) => Some(Bound::Included(value)),
            Some(Step::Off) => None,
            None => Some(high),
        },
        Bound::Included(value) if is_greatest(value, ty) => Some(Bound::Unbounded),
        Bound::Included(_) | Bound::Unbounded => Some(high),
    }
}

/// Whether no value of the type is greater.
fn is_greatest(value: &Value<'static>, ty: &ColumnType) -> bool {
    matches!(next(value, ty), Some(Step::Off))
}

/// Whether no value of the type but `NULL` is smaller.
pub fn is_least(value: &Value<'static>, ty: &ColumnType) -> bool {
    matches!(previous(value, ty), Some(Step::Off))
}

/// A value as SQL text: numbers plain, texts and times in quotes, bytes in hexadecimal. `zone` is
/// for TIMESTAMP values.
pub fn literal(value: &Value<'_>, zone: &Zone) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Year(_) => shown(value, zone),
        Value::Text(text) | Value::Json(text) => string_literal(text),
        Value::Enum(member) => string_literal(&member.label),
        Value::Bytes(bytes) => hexadecimal(bytes),
        Value::Date(_) | Value::Time(_) | Value::Datetime(_) | Value::Timestamp(_) => {
            format!("'{}'", shown(value, zone))
        }
    }
}

fn shown(value: &Value<'_>, zone: &Zone) -> String {
    let mut text = Vec::new();
    value.write_text_in(zone, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2 + 3);
    text.push_str("x'");
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text.push('\'');
    text
}
