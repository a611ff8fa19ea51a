//! Storing in columns of dates and times.

use super::text::incorrect_time;
use super::{Coerced, Problem, StoreMode, adjusted, exact, noted};
use crate::types::temporal::{ParsedDatetime, zone::LocalTime};
use crate::types::{Date, Datetime, Decimal, Time, Timestamp, Value};

/// From here on a number is no millisecond of a `TIMESTAMP` and is read as `YYYYMMDDhhmmss`.
const MILLIS_END: i128 = 10_000_000_000_000;

/// A value read as a date with a time, in the session's zone.
struct Reading {
    datetime: Datetime,
    /// Whether other text follows.
    is_truncated: bool,
}

/// The value as a datetime; `None` when it is none, or a zero date that the mode forbids.
fn read(value: &Value<'_>, mode: &StoreMode<'_>) -> Option<Reading> {
    let whole = |datetime: Datetime| Reading {
        datetime,
        is_truncated: false,
    };
    let allowed = |datetime: &Datetime| mode.dates.allow(datetime.date());
    match value {
        Value::Date(date) => Some(date.at_midnight()).filter(allowed).map(whole),
        Value::Datetime(datetime) => Some(*datetime).filter(allowed).map(whole),
        Value::Timestamp(at) => Some(mode.zone.to_datetime(*at)).filter(allowed).map(whole),
        Value::Text(text) | Value::Json(text) => read_text(text.trim_matches('"'), mode),
        Value::Bytes(bytes) => read_text(std::str::from_utf8(bytes).ok()?, mode),
        Value::Enum(member) => read_text(&member.label, mode),
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Year(_) => {
            let number = value.to_decimal().value;
            Datetime::from_decimal(number, mode.dates).map(|(datetime, _)| whole(datetime))
        }
        Value::Time(time) => {
            let today = mode.zone.to_datetime(mode.now).date();
            Datetime::from_date_time(today, *time).map(whole)
        }
        Value::Null => None,
    }
}

fn read_text(text: &str, mode: &StoreMode<'_>) -> Option<Reading> {
    let parsed = ParsedDatetime::parse(text, mode.dates)?;
    let datetime = match parsed.offset_seconds {
        Some(_) => mode.zone.to_datetime(moment_of(&parsed, mode)?),
        None => parsed.datetime,
    };
    Some(Reading {
        datetime,
        is_truncated: parsed.is_truncated,
    })
}

/// The moment a text means; `None` out of range or where the zone's clocks jump over it.
fn moment_of(parsed: &ParsedDatetime, mode: &StoreMode<'_>) -> Option<Timestamp> {
    let local = match parsed.offset_seconds {
        Some(seconds) => {
            let shifted = parsed
                .datetime
                .add_micros(-i64::from(seconds) * 1_000_000)?;
            crate::types::Zone::UTC.to_timestamp(shifted)
        }
        None => mode.zone.to_timestamp(parsed.datetime),
    };
    match local {
        LocalTime::Once(at) => Some(at),
        LocalTime::Gap(_) | LocalTime::OutOfRange => None,
    }
}

pub(super) fn to_date(value: &Value<'_>, mode: &StoreMode<'_>) -> Coerced<'static> {
    let Some(Reading {
        datetime,
        is_truncated,
    }) = read(value, mode)
    else {
        return adjusted(Value::Date(Date::ZERO), incorrect_time(value, "date", mode));
    };
    let date = Value::Date(datetime.to_date_rounded());
    if is_truncated {
        adjusted(date, incorrect_time(value, "date", mode))
    } else if datetime.micros_of_day() != 0 {
        noted(date, Problem::Truncated)
    } else {
        exact(date)
    }
}

pub(super) fn to_datetime(value: &Value<'_>, fsp: u8, mode: &StoreMode<'_>) -> Coerced<'static> {
    let zero = Datetime::ZERO.with_fsp(fsp).unwrap_or(Datetime::ZERO);
    let incorrect = || incorrect_time(value, "datetime", mode);
    let Some(Reading {
        datetime,
        is_truncated,
    }) = read(value, mode)
    else {
        return adjusted(Value::Datetime(zero), incorrect());
    };
    match datetime.round(fsp) {
        Some(rounded) if is_truncated => adjusted(Value::Datetime(rounded), incorrect()),
        Some(rounded) => exact(Value::Datetime(rounded)),
        None => adjusted(Value::Datetime(zero), incorrect()),
    }
}

pub(super) fn to_time(value: &Value<'_>, fsp: u8, mode: &StoreMode<'_>) -> Coerced<'static> {
    let text = |text: &str| Time::parse(text, fsp).map(|t| (t.value, t.is_truncated));
    let of_day = |datetime: Datetime| Some((datetime.time(), false));
    let read = match value {
        Value::Time(time) => Some((*time, false)),
        Value::Datetime(datetime) => of_day(*datetime),
        Value::Timestamp(at) => of_day(mode.zone.to_datetime(*at)),
        Value::Date(_) => Some((Time::ZERO, false)),
        Value::Text(given) | Value::Json(given) => text(given.trim_matches('"')),
        Value::Bytes(bytes) => std::str::from_utf8(bytes).ok().and_then(text),
        Value::Enum(member) => text(&member.label),
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Year(_) => {
            Time::from_decimal(value.to_decimal().value).map(|time| (time.value, time.is_truncated))
        }
        Value::Null => None,
    };
    let incorrect = || incorrect_time(value, "time", mode);
    let has_date = matches!(value, Value::Datetime(_) | Value::Timestamp(_));
    match read {
        Some((time, false)) if has_date => noted(Value::Time(time.round(fsp)), Problem::Truncated),
        Some((time, false)) => exact(Value::Time(time.round(fsp))),
        Some((time, true)) => adjusted(Value::Time(time.round(fsp)), incorrect()),
        None => adjusted(Value::Time(Time::ZERO.round(fsp)), incorrect()),
    }
}

/// Numbers are milliseconds since 1970 (Lindorm); those too large for that are read as MySQL does.
pub(super) fn to_timestamp(value: &Value<'_>, fsp: u8, mode: &StoreMode<'_>) -> Coerced<'static> {
    let read = match value {
        Value::Timestamp(at) => {
            let allowed = !at.is_zero() || !mode.dates.no_zero_date;
            allowed.then_some((*at, false))
        }
        Value::Date(_) | Value::Datetime(_) | Value::Time(_) => local(value, fsp, mode),
        Value::Text(text) | Value::Json(text) => from_text(text.trim_matches('"'), fsp, mode),
        Value::Bytes(bytes) => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| from_text(text, fsp, mode)),
        Value::Enum(member) => from_text(&member.label, fsp, mode),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            let number = value.to_decimal().value;
            if MILLIS_END <= number.trunc_to_i128() || number.is_zero() {
                local(value, fsp, mode)
            } else {
                from_millis(number).map(|at| (at, false))
            }
        }
        Value::Null | Value::Year(_) => None,
    };
    let incorrect = || incorrect_time(value, "datetime", mode);
    let rounded = read.and_then(|(at, is_truncated)| Some((at.round(fsp)?, is_truncated)));
    match rounded {
        Some((at, false)) => exact(Value::Timestamp(at)),
        Some((at, true)) => adjusted(Value::Timestamp(at), incorrect()),
        None => adjusted(Value::Timestamp(Timestamp::ZERO), incorrect()),
    }
}

/// What a clock of the session shows, rounded first: the zero datetime is the zero timestamp.
fn local(value: &Value<'_>, fsp: u8, mode: &StoreMode<'_>) -> Option<(Timestamp, bool)> {
    let Reading {
        datetime,
        is_truncated,
    } = read(value, mode)?;
    match mode.zone.to_timestamp(datetime.round(fsp)?) {
        LocalTime::Once(at) => Some((at, is_truncated)),
        LocalTime::Gap(at) => Some((at, true)),
        LocalTime::OutOfRange => None,
    }
}

fn from_text(text: &str, fsp: u8, mode: &StoreMode<'_>) -> Option<(Timestamp, bool)> {
    let parsed = ParsedDatetime::parse(text, mode.dates)?;
    if parsed.offset_seconds.is_some() {
        return moment_of(&parsed, mode).map(|at| (at, parsed.is_truncated));
    }
    match mode.zone.to_timestamp(parsed.datetime.round(fsp)?) {
        LocalTime::Once(at) => Some((at, parsed.is_truncated)),
        LocalTime::Gap(at) => Some((at, true)),
        LocalTime::OutOfRange => None,
    }
}

fn from_millis(millis: Decimal) -> Option<Timestamp> {
    let micros = millis.checked_mul(Decimal::from_i64(1000))?.to_i64()?;
    Timestamp::from_micros(micros, 6)
}
