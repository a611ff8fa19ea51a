//! Where a constant lies among dates and times.
//!
//! ```text
//!   column      constant                       compared as
//!   DATE        text, DATE, DATETIME           datetimes; a time of day falls between two dates
//!   DATETIME    text, DATE, DATETIME           datetimes
//!   TIMESTAMP   text, DATE, DATETIME           moments: the text is read in the session's zone
//!   TIMESTAMP   integer                        milliseconds since 1970 (Lindorm)
//!   TIME        text, TIME                     spans of time
//!   DATE        integer YYYYMMDD               dates, checked per row as well
//!   DATETIME    integer YYYYMMDDhhmmss         datetimes, checked per row as well
//! ```
//! Whatever else a constant is, it cannot use the key.

use std::ops::Bound;

use super::super::verdict::Obstacle;
use super::Place;
use crate::sql::context::EvalContext;
use crate::types::temporal::{DateRules, LocalTime, ParsedDatetime};
use crate::types::{ColumnType, Date, Datetime, Time, Timestamp, Value};

/// `YYYYMMDD` with a year of four digits.
const DATE_NUMBERS: std::ops::RangeInclusive<u64> = 10_000_101..=99_991_231;
/// `YYYYMMDDhhmmss` with a year of four digits.
const DATETIME_NUMBERS: std::ops::RangeInclusive<u64> = 10_000_101_000_000..=99_991_231_235_959;
/// A text as long as this may be a datetime, of which MySQL takes the time of day.
const TIME_BYTES_MAX: usize = 11;
/// Microseconds in a millisecond.
const MICROS_PER_MILLI: i64 = 1000;

pub(super) fn place(constant: &Value<'_>, ty: &ColumnType, ctx: &EvalContext) -> Place {
    match ty {
        ColumnType::Time { fsp } => place_time(constant, *fsp),
        ColumnType::Timestamp { fsp } => match millis_of(constant) {
            Some(millis) => place_millis(millis, *fsp),
            None => match datetime_of(constant, ctx) {
                Ok(Constant { datetime, .. }) => place_moment(datetime, *fsp, ctx),
                Err(obstacle) => Place::Unusable(obstacle),
            },
        },
        _ => match datetime_of(constant, ctx) {
            Ok(constant) => place_datetime(constant, ty),
            Err(obstacle) => Place::Unusable(obstacle),
        },
    }
}

/// A constant as a datetime.
struct Constant {
    datetime: Datetime,
    /// Whether it was given as one; a number must be checked per row.
    tight: bool,
}

fn datetime_of(constant: &Value<'_>, ctx: &EvalContext) -> Result<Constant, Obstacle> {
    let datetime = match constant {
        Value::Text(text) => return parse(text, ctx),
        Value::Date(date) => date.at_midnight(),
        Value::Datetime(datetime) => *datetime,
        Value::Timestamp(at) => ctx.zone.to_datetime(*at),
        Value::Int(number) => return from_number(u64::try_from(*number).ok(), ctx),
        Value::UInt(number) => return from_number(Some(*number), ctx),
        Value::Float(_) | Value::Double(_) | Value::Decimal(_) | Value::Year(_) => {
            return Err(Obstacle::ComparesAsNumbers);
        }
        Value::Time(_) | Value::Bytes(_) | Value::Enum(_) => return Err(Obstacle::ComparesAsTimes),
        Value::Null | Value::Json(_) => return Err(Obstacle::Unordered),
    };
    Ok(Constant {
        datetime,
        tight: true,
    })
}

fn rules(ctx: &EvalContext) -> DateRules {
    DateRules {
        no_zero_date: ctx.mode.no_zero_date,
        no_zero_in_date: ctx.mode.no_zero_in_date,
    }
}

fn parse(text: &str, ctx: &EvalContext) -> Result<Constant, Obstacle> {
    let parsed = ParsedDatetime::parse(text, rules(ctx)).ok_or(Obstacle::NotAValue)?;
    if parsed.is_truncated || parsed.offset_seconds.is_some() {
        return Err(Obstacle::NotAValue);
    }
    Ok(Constant {
        datetime: parsed.datetime,
        tight: true,
    })
}

fn from_number(number: Option<u64>, ctx: &EvalContext) -> Result<Constant, Obstacle> {
    let number = number
        .filter(|number| DATE_NUMBERS.contains(number) || DATETIME_NUMBERS.contains(number))
        .ok_or(Obstacle::ComparesAsNumbers)?;
    let (datetime, _) =
        Datetime::from_number(number, rules(ctx)).ok_or(Obstacle::ComparesAsNumbers)?;
    Ok(Constant {
        datetime,
        tight: false,
    })
}

fn place_datetime(constant: Constant, ty: &ColumnType) -> Place {
    let Constant { datetime, tight } = constant;
    let (value, is_exact) = match ty {
        ColumnType::Datetime { fsp } => {
            let cut = datetime.truncate(*fsp);
            (Value::Datetime(cut), cut == datetime)
        }
        _ => {
            let date: Date = datetime.date();
            (Value::Date(date), date.at_midnight() == datetime)
        }
    };
    at_or_behind(value, is_exact, tight)
}

/// At `value`, or between it and the next.
fn at_or_behind(value: Value<'static>, is_exact: bool, tight: bool) -> Place {
    if is_exact || !tight {
        return Place::Equal {
            low: value.clone(),
            high: value,
            tight: tight && is_exact,
        };
    }
    Place::Gap {
        below: Some(Bound::Included(value.clone())),
        above: Some(Bound::Excluded(value)),
    }
}

/// An integer compared with a TIMESTAMP is milliseconds since 1970 (dialect §1).
fn millis_of(constant: &Value<'_>) -> Option<i128> {
    match constant {
        Value::Int(millis) => Some((*millis).into()),
        Value::UInt(millis) => Some((*millis).into()),
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
        | Value::Year(_)
        | Value::Json(_)
        | Value::Enum(_) => None,
    }
}

fn place_millis(millis: i128, fsp: u8) -> Place {
    let micros = i64::try_from(millis)
        .ok()
        .and_then(|millis| millis.checked_mul(MICROS_PER_MILLI));
    let micros = micros.unwrap_or(if millis < 0 { i64::MIN } else { i64::MAX });
    match Timestamp::from_micros(micros, fsp) {
        Some(at) => place_at(at, fsp),
        // In the first second, only the zero timestamp is less.
        None if 0 < micros && micros < Timestamp::MICROS_MIN => {
            at_or_behind(Value::Timestamp(Timestamp::ZERO), false, true)
        }
        None => beyond(millis < 0),
    }
}

fn place_at(at: Timestamp, fsp: u8) -> Place {
    let unit = 10_i64.pow(u32::from(6_u8.saturating_sub(fsp)));
    let micros = at.total_micros();
    let cut = micros - micros.rem_euclid(unit);
    match Timestamp::from_micros(cut, fsp) {
        Some(value) => at_or_behind(Value::Timestamp(value), cut == micros, true),
        None => Place::Unusable(Obstacle::NotAValue),
    }
}

/// Before or after every moment that the type can hold.
fn beyond(is_before: bool) -> Place {
    Place::Gap {
        below: (!is_before).then_some(Bound::Unbounded),
        above: is_before.then_some(Bound::Unbounded),
    }
}

fn place_moment(local: Datetime, fsp: u8, ctx: &EvalContext) -> Place {
    match ctx.zone.to_timestamp(local) {
        LocalTime::Once(at) => place_at(at, fsp),
        // Clocks jump over this time: the moment of the jump is near it, and rows are checked.
        LocalTime::Gap(_) | LocalTime::OutOfRange => Place::Unusable(Obstacle::NotAValue),
    }
}

fn place_time(constant: &Value<'_>, fsp: u8) -> Place {
    let time = match constant {
        Value::Time(time) => *time,
        Value::Text(text) if text.len() <= TIME_BYTES_MAX => match Time::parse(text, 6) {
            Some(parsed) if !parsed.is_truncated => parsed.value,
            Some(_) | None => return Place::Unusable(Obstacle::NotAValue),
        },
        Value::Text(_)
        | Value::Date(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Bytes(_)
        | Value::Enum(_) => return Place::Unusable(Obstacle::ComparesAsTimes),
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Year(_) => return Place::Unusable(Obstacle::ComparesAsNumbers),
        Value::Null | Value::Json(_) => return Place::Unusable(Obstacle::Unordered),
    };
    let unit = 10_i64.pow(u32::from(6_u8.saturating_sub(fsp)));
    let micros = time.total_micros();
    let cut = micros - micros.rem_euclid(unit);
    match Time::from_micros(cut, fsp) {
        Some(value) => at_or_behind(Value::Time(value), cut == micros, true),
        None => Place::Unusable(Obstacle::NotAValue),
    }
}
