//! Dates and times out of values, as functions and comparisons take them.
//!
//! A text or number that is none gives `None` and warning 1292. Zero months and days pass;
//! `0000-00-00` passes unless `NO_ZERO_DATE` is set, as in MySQL.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use super::super::context::EvalContext;
use super::convert::{self, Number};
use crate::error::{Code, Result};
use crate::types::temporal::{DateRules, FSP_MAX, MICROS_PER_SECOND, ParsedDatetime, YEAR_MAX};
use crate::types::{Datetime, Time, Timestamp, Value};

/// What `NOW(6)` shows.
pub(crate) fn now(ctx: &EvalContext) -> Datetime {
    ctx.zone.to_datetime(ctx.now)
}

fn rules(ctx: &EvalContext) -> DateRules {
    DateRules {
        no_zero_date: ctx.mode.no_zero_date,
        no_zero_in_date: false,
    }
}

/// A text read as a datetime; one with an offset is carried into the session's zone.
pub(crate) fn parse_datetime(text: &str, ctx: &EvalContext) -> Option<ParsedDatetime> {
    let mut parsed = ParsedDatetime::parse(text, rules(ctx))?;
    if let Some(seconds) = parsed.offset_seconds {
        let shift = i64::from(seconds) * MICROS_PER_SECOND;
        let utc = parsed.datetime.add_micros(-shift)?;
        let at = crate::types::temporal::Zone::UTC
            .to_timestamp(utc)
            .nearest()?;
        parsed.datetime = ctx.zone.to_datetime(at);
    }
    Some(parsed)
}

/// The value as a date and time; `None` when it is `NULL` or none.
///
/// # Errors
/// 1292 for a text with something after the date, in a strict write.
pub(crate) fn datetime(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<Datetime>> {
    Ok(match value {
        Value::Null => None,
        Value::Date(date) => Some(date.at_midnight()),
        Value::Datetime(at) => Some(*at),
        Value::Timestamp(at) => Some(ctx.zone.to_datetime(*at)),
        Value::Time(time) => Datetime::from_date_time(now(ctx).date(), *time),
        Value::Text(_) | Value::Bytes(_) | Value::Json(_) | Value::Enum(_) => {
            let text = convert::text(value, ctx);
            let parsed = parse_datetime(text.trim_matches('"'), ctx);
            if parsed.is_some_and(|parsed| parsed.is_truncated) {
                convert::truncated(ctx, "datetime", &text)?;
            }
            if parsed.is_none() {
                incorrect(ctx, "datetime", &text);
            }
            parsed.map(|parsed| parsed.datetime)
        }
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Year(_) => {
            let at = datetime_of_number(value, ctx)?;
            if at.is_none() {
                incorrect(ctx, "datetime", &convert::text(value, ctx));
            }
            at
        }
    })
}

fn incorrect(ctx: &EvalContext, kind: &str, text: &str) {
    convert::warn(ctx, Code::IncorrectTypeValue, || {
        format!("Incorrect {kind} value: '{}'", convert::shown(text))
    });
}

/// A number read as a datetime; `None`, without warning, when it is none.
///
/// # Errors
/// As [`convert::number`].
pub(crate) fn datetime_of_number(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<Datetime>> {
    let number = convert::number(value, ctx)?;
    let read = number.and_then(|number| match number {
        Number::Int(_) | Number::UInt(_) => {
            let number = u64::try_from(number.to_i128()).ok()?;
            Datetime::from_number(number, rules(ctx))
        }
        Number::Decimal(_) | Number::Double(_) => {
            Datetime::from_decimal(number.to_decimal()?, rules(ctx))
        }
    });
    Ok(read.map(|(at, _)| at))
}

/// Whether the value carries a time of day: `DATE_ADD('2024-01-01', …)` asks.
pub(crate) fn has_time(value: &Value<'_>, ctx: &EvalContext) -> bool {
    match value {
        Value::Date(_) => false,
        Value::Text(_) | Value::Bytes(_) | Value::Enum(_) => {
            parse_datetime(&convert::text(value, ctx), ctx).is_some_and(|parsed| parsed.has_time)
        }
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => {
            // Eight digits and fewer are a date.
            convert::number(value, ctx)
                .ok()
                .flatten()
                .is_some_and(|number| 99_991_231 < number.to_i128())
        }
        _ => true,
    }
}

/// The value as a time; `None` when it is `NULL` or none.
///
/// # Errors
/// 1292 for a text with something after the time, in a strict write.
pub(crate) fn time(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<Time>> {
    let parsed = match value {
        Value::Null => return Ok(None),
        Value::Time(time) => return Ok(Some(*time)),
        Value::Date(_) => return Ok(Some(Time::ZERO)),
        Value::Datetime(at) => return Ok(Some(at.time())),
        Value::Timestamp(at) => return Ok(Some(ctx.zone.to_datetime(*at).time())),
        Value::Text(_) | Value::Bytes(_) | Value::Json(_) | Value::Enum(_) => {
            let text = convert::text(value, ctx);
            Time::parse(&text, fraction_digits(&text))
        }
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Year(_) => time_of_number(value, ctx)?,
    };
    if parsed.is_none_or(|parsed| parsed.is_truncated) {
        convert::truncated(ctx, "time", &convert::text(value, ctx))?;
    }
    Ok(parsed.map(|parsed| parsed.value))
}

fn time_of_number(
    value: &Value<'_>,
    ctx: &EvalContext,
) -> Result<Option<crate::types::temporal::Parsed<Time>>> {
    Ok(
        convert::number(value, ctx)?.and_then(|number| match number {
            Number::Int(_) | Number::UInt(_) => {
                let number = i64::try_from(number.to_i128()).unwrap_or(i64::MAX);
                Time::from_number(number)
            }
            Number::Decimal(_) | Number::Double(_) => Time::from_decimal(number.to_decimal()?),
        }),
    )
}

/// Digits after the last point of a text, at most [`FSP_MAX`].
pub(crate) fn fraction_digits(text: &str) -> u8 {
    let digits = text.rsplit_once('.').map_or(0, |(_, fraction)| {
        fraction.bytes().take_while(u8::is_ascii_digit).count()
    });
    u8::try_from(digits).unwrap_or(FSP_MAX).min(FSP_MAX)
}

/// The value as a moment; `None` when it is `NULL`, no date, or beyond what `TIMESTAMP` reaches.
///
/// # Errors
/// As [`datetime`].
pub(crate) fn timestamp(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<Timestamp>> {
    if let Value::Timestamp(at) = value {
        return Ok(Some(*at));
    }
    Ok(datetime(value, ctx)?.and_then(|at| ctx.zone.to_timestamp(at).nearest()))
}

/// The value as a `YEAR`: 0, 1901 to 2155, or two digits of one.
///
/// # Errors
/// As [`convert::integer`].
pub(crate) fn year(value: &Value<'_>, ctx: &EvalContext) -> Result<Option<u16>> {
    let is_dated = matches!(
        value,
        Value::Date(_) | Value::Datetime(_) | Value::Timestamp(_)
    );
    if is_dated {
        return Ok(datetime(value, ctx)?.map(|at| at.year().min(YEAR_MAX)));
    }
    let Some(number) = convert::integer(value, ctx)? else {
        return Ok(None);
    };
    let year = match number {
        0 if matches!(value, Value::Text(text) if text.len() < 4) => Some(2000),
        0 | 1901..=2155 => u16::try_from(number).ok(),
        1..=69 => u16::try_from(number + 2000).ok(),
        70..=99 => u16::try_from(number + 1900).ok(),
        _ => None,
    };
    if year.is_none() {
        convert::truncated(ctx, "YEAR", &convert::text(value, ctx))?;
    }
    Ok(year)
}
