//! Where a constant lies among dates and times.
//!
//! ```text
//!   column      constant                       compared as
//!   DATE        text, DATE, DATETIME           datetimes; a time of day falls between two dates
//!   DATETIME    text, DATE, DATETIME           datetimes
//!   TIMESTAMP   text, DATE, DATETIME           moments: the text is read in the session's zone
//!   TIMESTAMP   integer                        milliseconds since 1970 (Lindorm)
//!   TIME        text, TIME                     spans of time
//!   DATE        integer YYYYMMDD               dates
//!   DATETIME    integer YYYYMMDDhhmmss         datetimes
//! ```
//! Bytes and members of an ENUM are texts here, too. Whatever else a constant is, it cannot use the key.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the caller sends the types of this file; the last arm takes the rest of them"
)]

use std::ops::Bound;

use super::super::verdict::Obstacle;
use super::Place;
use crate::sql::context::EvalContext;
use crate::types::temporal::{DateRules, ParsedDatetime};
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
        ColumnType::Timestamp { fsp } => place_timestamp(constant, *fsp, ctx),
        _ => match datetime_of(constant, ctx) {
            Ok(datetime) => place_datetime(datetime, ty),
            Err(obstacle) => Place::Unusable(obstacle),
        },
    }
}

fn datetime_of(constant: &Value<'_>, ctx: &EvalContext) -> Result<Datetime, Obstacle> {
    match constant {
        Value::Text(_) | Value::Bytes(_) | Value::Enum(_) => parse(text_of(constant)?, ctx),
        Value::Date(date) => Ok(date.at_midnight()),
        Value::Datetime(datetime) => Ok(*datetime),
        Value::Int(number) => from_number(u64::try_from(*number).ok(), ctx),
        Value::UInt(number) => from_number(Some(*number), ctx),
        Value::Float(_) | Value::Double(_) | Value::Decimal(_) => Err(Obstacle::ComparesAsNumbers),
        Value::Timestamp(_) | Value::Time(_) | Value::Year(_) => Err(Obstacle::ComparesAsTimes),
        Value::Null | Value::Json(_) => Err(Obstacle::Unordered),
    }
}

/// The text of a string of any kind.
fn text_of<'c>(constant: &'c Value<'_>) -> Result<&'c str, Obstacle> {
    let bytes = constant.as_bytes().ok_or(Obstacle::NotAValue)?;
    std::str::from_utf8(bytes).map_err(|_| Obstacle::NotAValue)
}

fn place_timestamp(constant: &Value<'_>, fsp: u8, ctx: &EvalContext) -> Place {
    if let Value::Timestamp(at) = constant {
        return place_at(*at, fsp);
    }
    if let Some(millis) = millis_of(constant) {
        return place_millis(millis, fsp);
    }
    match datetime_of(constant, ctx) {
        // Where clocks jump over a time, it stands for the moment of the jump.
        Ok(local) => match ctx.zone.to_timestamp(local).nearest() {
            Some(at) => place_at(at, fsp),
            None => Place::Unusable(Obstacle::NotAValue),
        },
        Err(obstacle) => Place::Unusable(obstacle),
    }
}

fn rules(ctx: &EvalContext) -> DateRules {
    DateRules {
        no_zero_date: ctx.mode.no_zero_date,
        no_zero_in_date: ctx.mode.no_zero_in_date,
    }
}

fn parse(text: &str, ctx: &EvalContext) -> Result<Datetime, Obstacle> {
    let parsed = ParsedDatetime::parse(text, rules(ctx)).ok_or(Obstacle::NotAValue)?;
    if parsed.is_truncated || parsed.offset_seconds.is_some() {
        return Err(Obstacle::NotAValue);
    }
    Ok(parsed.datetime)
}

fn from_number(number: Option<u64>, ctx: &EvalContext) -> Result<Datetime, Obstacle> {
    number
        .filter(|number| DATE_NUMBERS.contains(number) || DATETIME_NUMBERS.contains(number))
        .and_then(|number| Datetime::from_number(number, rules(ctx)))
        .map(|(datetime, _)| datetime)
        .ok_or(Obstacle::ComparesAsNumbers)
}

fn place_datetime(datetime: Datetime, ty: &ColumnType) -> Place {
    if let ColumnType::Datetime { fsp } = ty {
        let cut = datetime.truncate(*fsp);
        return at_or_behind(Value::Datetime(cut), cut == datetime);
    }
    let date: Date = datetime.date();
    at_or_behind(Value::Date(date), date.at_midnight() == datetime)
}

/// At `value`, or between it and the next.
fn at_or_behind(value: Value<'static>, is_exact: bool) -> Place {
    if is_exact {
        return Place::exact(value);
    }
    Place::Gap {
        below: Some(Bound::Included(value.clone())),
        above: Some(Bound::Excluded(value)),
    }
}

/// An integer compared with a TIMESTAMP is milliseconds since 1970 (README, Known differences), unless it is too
/// large for that: then it is `YYYYMMDDhhmmss`.
fn millis_of(constant: &Value<'_>) -> Option<i128> {
    let least = i128::from(*DATETIME_NUMBERS.start());
    match constant {
        Value::Int(millis) => Some(i128::from(*millis)).filter(|millis| *millis < least),
        Value::UInt(millis) => Some(i128::from(*millis)).filter(|millis| *millis < least),
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
            at_or_behind(Value::Timestamp(Timestamp::ZERO), false)
        }
        None => beyond(millis < 0),
    }
}

fn place_at(at: Timestamp, fsp: u8) -> Place {
    let unit = 10_i64.pow(u32::from(6_u8.saturating_sub(fsp)));
    let micros = at.total_micros();
    let cut = micros - micros.rem_euclid(unit);
    match Timestamp::from_micros(cut, fsp) {
        Some(value) => at_or_behind(Value::Timestamp(value), cut == micros),
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

fn place_time(constant: &Value<'_>, fsp: u8) -> Place {
    let time = match constant {
        Value::Time(time) => *time,
        Value::Text(_) | Value::Bytes(_) | Value::Enum(_) => match time_of_text(constant) {
            Ok(time) => time,
            Err(obstacle) => return Place::Unusable(obstacle),
        },
        Value::Date(_) | Value::Datetime(_) | Value::Timestamp(_) => {
            return Place::Unusable(Obstacle::ComparesAsTimes);
        }
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
        Some(value) => at_or_behind(Value::Time(value), cut == micros),
        None => Place::Unusable(Obstacle::NotAValue),
    }
}

fn time_of_text(constant: &Value<'_>) -> Result<Time, Obstacle> {
    let text = text_of(constant)?;
    if TIME_BYTES_MAX < text.len() {
        return Err(Obstacle::ComparesAsTimes);
    }
    match Time::parse(text, 6) {
        Some(parsed) if !parsed.is_truncated => Ok(parsed.value),
        Some(_) | None => Err(Obstacle::NotAValue),
    }
}
