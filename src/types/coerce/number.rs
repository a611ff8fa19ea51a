//! Storing in columns of numbers, `YEAR` among them.

use super::{Coerced, Problem, StoreMode, adjusted, exact, noted, shown};
use crate::types::value::number::{is_blank, json_number, number_prefix, round_f64};
use crate::types::{ColumnType, Decimal, Value};

/// What a number is made from.
enum Source<'v> {
    Whole(i128),
    Double(f64),
    Decimal(Decimal),
    Text(&'v [u8]),
}

fn source<'v>(value: &'v Value<'_>, mode: &StoreMode<'_>) -> Source<'v> {
    match value {
        Value::Null => Source::Whole(0),
        Value::Int(number) => Source::Whole(i128::from(*number)),
        Value::UInt(number) => Source::Whole(i128::from(*number)),
        Value::Year(year) => Source::Whole(i128::from(*year)),
        Value::Enum(member) => Source::Whole(i128::from(member.index)),
        Value::Date(date) => Source::Whole(i128::from(date.to_number())),
        Value::Float(number) => Source::Double(f64::from(*number)),
        Value::Double(number) => Source::Double(*number),
        Value::Decimal(number) => Source::Decimal(*number),
        Value::Time(time) => Source::Decimal(time.to_decimal()),
        Value::Datetime(datetime) => Source::Decimal(datetime.to_decimal()),
        Value::Timestamp(at) => Source::Decimal(mode.zone.to_datetime(*at).to_decimal()),
        Value::Text(text) => Source::Text(text.as_bytes()),
        Value::Bytes(bytes) => Source::Text(bytes),
        Value::Json(text) => Source::Text(json_number(text).as_bytes()),
    }
}

/// A text read as a number.
enum Read {
    /// The number, and whether other text follows it.
    Number(Decimal, bool),
    /// A number of more than 38 digits.
    TooLarge {
        is_negative: bool,
    },
    Nothing,
}

fn read(text: &[u8]) -> Read {
    let (number, rest) = number_prefix(text);
    if number.is_empty() {
        return Read::Nothing;
    }
    match Decimal::parse(number) {
        Some(decimal) => Read::Number(decimal, !is_blank(rest)),
        None => Read::TooLarge {
            is_negative: number.starts_with('-'),
        },
    }
}

fn incorrect(value: &Value<'_>, wanted: &'static str, mode: &StoreMode<'_>) -> Problem {
    Problem::IncorrectValue {
        wanted,
        shown: shown(value, mode),
    }
}

/// A time or moment with a fraction, rounded as such: a second after 23:59:59 is the next day.
fn whole_second(value: &Value<'_>, mode: &StoreMode<'_>) -> Option<Value<'static>> {
    if let Value::Time(time) = value {
        return Some(Value::Time(time.round(0)));
    }
    let at = if let Value::Datetime(at) = value {
        *at
    } else if let Value::Timestamp(at) = value {
        mode.zone.to_datetime(*at)
    } else {
        return None;
    };
    at.round(0).map(Value::Datetime)
}

/// The byte 0 or 1, which is how a value of `BIT(1)` comes in dumps and from drivers: the type is read
/// as `BOOLEAN`. As a text it is no number.
fn bit(value: &Value<'_>) -> Option<i64> {
    let bytes = match value {
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_)
        | Value::Json(_)
        | Value::Enum(_) => return None,
    };
    match bytes {
        [bit @ (0 | 1)] => Some(i64::from(*bit)),
        _ => None,
    }
}

pub(super) fn to_integer(
    value: &Value<'_>,
    ty: &ColumnType,
    mode: &StoreMode<'_>,
) -> Coerced<'static> {
    if let Some(bit) = bit(value).filter(|_| *ty == ColumnType::Boolean) {
        return exact(Value::Int(bit));
    }
    let whole = whole_second(value, mode);
    let (number, problem) = match source(whole.as_ref().unwrap_or(value), mode) {
        Source::Whole(number) => (number, None),
        Source::Decimal(number) => (number.to_i128(), None),
        Source::Double(number) => (
            round_f64(number),
            number.is_nan().then_some(Problem::OutOfRange),
        ),
        Source::Text(text) => match read(text) {
            Read::Number(number, has_rest) => {
                (number.to_i128(), has_rest.then_some(Problem::Truncated))
            }
            Read::TooLarge { is_negative: true } => (i128::MIN, None),
            Read::TooLarge { is_negative: false } => (i128::MAX, None),
            Read::Nothing => (0, Some(incorrect(value, "integer", mode))),
        },
    };
    let (least, most) = ty.int_range().unwrap_or((0, 0));
    let kept = number.clamp(least, most);
    let stored = match (i64::try_from(kept), u64::try_from(kept)) {
        (_, Ok(unsigned)) if ty.is_unsigned() => Value::UInt(unsigned),
        (Ok(signed), _) => Value::Int(signed),
        (Err(_), Ok(unsigned)) => Value::UInt(unsigned),
        (Err(_), Err(_)) => Value::Int(0),
    };
    let problem = if kept == number {
        problem
    } else {
        Some(Problem::OutOfRange)
    };
    match problem {
        Some(problem) => adjusted(stored, problem),
        None => exact(stored),
    }
}

fn double_of(value: &Value<'_>, mode: &StoreMode<'_>) -> (f64, Option<Problem>) {
    match source(value, mode) {
        // The value's own reading rounds once.
        Source::Whole(_) => (value.to_f64().value, None),
        Source::Decimal(number) => (number.to_f64(), None),
        Source::Double(number) if number.is_finite() => (number, None),
        Source::Double(number) if number.is_nan() => (0.0, Some(Problem::OutOfRange)),
        Source::Double(number) => (number.clamp(f64::MIN, f64::MAX), Some(Problem::OutOfRange)),
        Source::Text(text) => {
            let (number, rest) = number_prefix(text);
            let read: f64 = number.parse().unwrap_or(0.0);
            if read.is_infinite() {
                (read.clamp(f64::MIN, f64::MAX), Some(Problem::OutOfRange))
            } else {
                let is_whole = !number.is_empty() && is_blank(rest);
                (read, (!is_whole).then_some(Problem::Truncated))
            }
        }
    }
}

pub(super) fn to_double(value: &Value<'_>, mode: &StoreMode<'_>) -> Coerced<'static> {
    match double_of(value, mode) {
        (number, None) => exact(Value::Double(number)),
        (number, Some(problem)) => adjusted(Value::Double(number), problem),
    }
}

pub(super) fn to_float(value: &Value<'_>, mode: &StoreMode<'_>) -> Coerced<'static> {
    if let Value::Float(number) = value
        && number.is_finite()
    {
        return exact(Value::Float(*number));
    }
    let (number, problem) = double_of(value, mode);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounds to the nearest float"
    )]
    let rounded = number as f32;
    let kept = rounded.clamp(f32::MIN, f32::MAX);
    let problem = if rounded.is_finite() {
        problem
    } else {
        Some(Problem::OutOfRange)
    };
    match problem {
        Some(problem) => adjusted(Value::Float(kept), problem),
        None => exact(Value::Float(kept)),
    }
}

pub(super) fn to_decimal(
    value: &Value<'_>,
    (precision, scale): (u8, u8),
    mode: &StoreMode<'_>,
) -> Coerced<'static> {
    let largest = |is_negative: bool| {
        let most = Decimal::max_of(precision, scale);
        Value::Decimal(if is_negative { most.neg() } else { most })
    };
    let out_of_range = |is_negative| adjusted(largest(is_negative), Problem::OutOfRange);
    let (number, problem) = match source(value, mode) {
        Source::Whole(number) => (Decimal::new(number, 0), None),
        Source::Decimal(number) => (Some(number), None),
        Source::Double(number) if number.is_nan() => return out_of_range(false),
        Source::Double(number) => match Decimal::from_f64(number) {
            Some(number) => (number.rescale(precision, scale).or(Some(number)), None),
            None => return out_of_range(number < 0.0),
        },
        Source::Text(text) => match read(text) {
            Read::Number(number, has_rest) => {
                (Some(number), has_rest.then_some(Problem::Truncated))
            }
            Read::TooLarge { is_negative } => return out_of_range(is_negative),
            Read::Nothing => (Some(Decimal::ZERO), Some(incorrect(value, "decimal", mode))),
        },
    };
    let number = number.unwrap_or(Decimal::ZERO);
    let Some(stored) = number.rescale(precision, scale) else {
        return out_of_range(number.is_negative());
    };
    match problem {
        Some(problem) => adjusted(Value::Decimal(stored), problem),
        None if stored != number => noted(Value::Decimal(stored), Problem::Truncated),
        None => exact(Value::Decimal(stored)),
    }
}

/// 1901 to 2155, 0, and 1 to 99 as years of this and the last century.
pub(super) fn to_year(value: &Value<'_>, mode: &StoreMode<'_>) -> Coerced<'static> {
    match value {
        Value::Date(date) => return year_of(i128::from(date.year())),
        Value::Datetime(datetime) => return year_of(i128::from(datetime.year())),
        Value::Timestamp(at) => return year_of(i128::from(mode.zone.to_datetime(*at).year())),
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Time(_)
        | Value::Year(_)
        | Value::Json(_)
        | Value::Enum(_) => {}
    }
    match source(value, mode) {
        Source::Whole(number) => year_of(number_of_year(number)),
        Source::Decimal(number) => year_of(number_of_year(number.to_i128())),
        Source::Double(number) => year_of(number_of_year(round_f64(number))),
        Source::Text(text) => match read(text) {
            Read::Nothing => adjusted(Value::Year(0), incorrect(value, "integer", mode)),
            Read::TooLarge { .. } => adjusted(Value::Year(0), Problem::OutOfRange),
            Read::Number(_, true) => adjusted(Value::Year(0), Problem::Truncated),
            // '0' and '00' are 2000, '0000' is 0.
            Read::Number(number, false) if number.is_zero() && text.trim_ascii().len() == 4 => {
                exact(Value::Year(0))
            }
            Read::Number(number, false) => match number.to_i128() {
                0 => exact(Value::Year(2000)),
                number => year_of(number_of_year(number)),
            },
        },
    }
}

fn number_of_year(number: i128) -> i128 {
    match number {
        1..=69 => number + 2000,
        70..=99 => number + 1900,
        other => other,
    }
}

fn year_of(number: i128) -> Coerced<'static> {
    match u16::try_from(number) {
        Ok(year) if year == 0 || (1901..=2155).contains(&year) => exact(Value::Year(year)),
        Ok(_) | Err(_) => adjusted(Value::Year(0), Problem::OutOfRange),
    }
}
