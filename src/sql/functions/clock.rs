//! The present, which is when the statement began, and the seconds since 1970.
//!
//! Source: MySQL manual, "Date and Time Functions".

use super::super::eval::convert::{self, Number};
use super::super::eval::moment;
use super::super::expr::Expr;
use super::{Call, date_format, of_text, result};
use crate::error::Result;
use crate::types::temporal::{FSP_MAX, MICROS_PER_SECOND, Zone};
use crate::types::{ColumnType, Datetime, Decimal, Timestamp, Value};

functions! {
    /// The present.
    TABLE of DateAndTime:
    "NOW" 0..1 "[fsp]" datetime_type, Never, Statement, Eager(now), "Date and time at which the statement began.";
    "CURRENT_TIMESTAMP" 0..1 "[fsp]" datetime_type, Never, Statement, Eager(now), "Date and time at which the statement began.";
    "LOCALTIME" 0..1 "[fsp]" datetime_type, Never, Statement, Eager(now), "Date and time at which the statement began.";
    "LOCALTIMESTAMP" 0..1 "[fsp]" datetime_type, Never, Statement, Eager(now), "Date and time at which the statement began.";
    "SYSDATE" 0..1 "[fsp]" datetime_type, Never, Statement, Eager(now), "As NOW(): one clock for the whole statement.";
    "CURDATE" 0..0 "" result::date, Never, Statement, Eager(curdate), "The date on which the statement began.";
    "CURRENT_DATE" 0..0 "" result::date, Never, Statement, Eager(curdate), "The date on which the statement began.";
    "CURTIME" 0..1 "[fsp]" time_type, Never, Statement, Eager(curtime), "The time at which the statement began.";
    "CURRENT_TIME" 0..1 "[fsp]" time_type, Never, Statement, Eager(curtime), "The time at which the statement began.";
    "UTC_TIMESTAMP" 0..1 "[fsp]" datetime_type, Never, Statement, Eager(utc_timestamp), "Date and time in UTC at which the statement began.";
    "UTC_DATE" 0..0 "" result::date, Never, Statement, Eager(utc_date), "The date in UTC on which the statement began.";
    "UTC_TIME" 0..1 "[fsp]" time_type, Never, Statement, Eager(utc_time), "The time in UTC at which the statement began.";
    "UNIX_TIMESTAMP" 0..1 "[date]" unix_type, AnyArgument, Statement, Strict(unix_timestamp), "Seconds from 1970 in UTC to a date and time, or to now.";
    "FROM_UNIXTIME" 1..2 "seconds [, format]" from_unix_type, Always, Statement, Strict(from_unixtime), "The date and time so many seconds after 1970 in UTC.";
    "CONVERT_TZ" 3..3 "date, from_tz, to_tz" convert_tz_type, Always, Constant, Strict(convert_tz), "A date and time of one time zone as another shows it.";
}

fn datetime_type(args: &[Expr]) -> ColumnType {
    ColumnType::Datetime {
        fsp: result::fsp_of_literal(args, 0),
    }
}

fn time_type(args: &[Expr]) -> ColumnType {
    ColumnType::Time {
        fsp: result::fsp_of_literal(args, 0),
    }
}

/// The present in a zone, with as many digits after the second as the argument says.
fn present(values: &[Value<'_>], zone: &Zone, call: &Call<'_>) -> Result<Datetime> {
    let fsp = u8::try_from(call.count(values, 0)?).unwrap_or(FSP_MAX);
    Ok(zone.to_datetime(call.ctx.now).truncate(fsp.min(FSP_MAX)))
}

fn now<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    present(values, &call.ctx.zone, call).map(Value::Datetime)
}

fn curdate<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::Date(present(values, &call.ctx.zone, call)?.date()))
}

fn curtime<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::Time(present(values, &call.ctx.zone, call)?.time()))
}

fn utc_timestamp<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    present(values, &Zone::UTC, call).map(Value::Datetime)
}

fn utc_date<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::Date(present(values, &Zone::UTC, call)?.date()))
}

fn utc_time<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::Time(present(values, &Zone::UTC, call)?.time()))
}

/// Digits of the seconds from 1970 to the end of `TIMESTAMP`, and some.
const UNIX_DIGITS: u8 = 12;

fn unix_type(args: &[Expr]) -> ColumnType {
    match result::fsp_of_value(args.first()) {
        0 => ColumnType::BIGINT,
        fsp => ColumnType::Decimal {
            precision: UNIX_DIGITS + fsp,
            scale: fsp,
        },
    }
}

/// The last second of `TIMESTAMP`, after 1970.
const TIMESTAMP_SECONDS_MAX: i64 = 2_147_483_647;

/// `3001-01-18 23:59:59.999999` UTC, the last that MySQL shows.
const UNIX_SECONDS_MAX: i64 = 32_536_771_199;

/// So long after 1970 is a date that no `TIMESTAMP` reaches: as clocks show at its end.
fn past_timestamps(at: Datetime, call: &Call<'_>) -> Option<i64> {
    let last = TIMESTAMP_SECONDS_MAX * MICROS_PER_SECOND;
    let micros = last.checked_add(at.micros_since(local(last, call)?)?)?;
    let limit = (UNIX_SECONDS_MAX + 1) * MICROS_PER_SECOND;
    (last < micros && micros < limit).then_some(micros)
}

/// A date before 1970, or after what MySQL shows, gives 0.
fn unix_timestamp<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let micros = match values.first() {
        None => call.ctx.now.total_micros(),
        Some(Value::Timestamp(at)) => at.total_micros(),
        Some(value) => match moment::datetime(value, call.ctx)? {
            Some(at) => match call.ctx.zone.to_timestamp(at).nearest() {
                Some(at) => at.total_micros(),
                None => past_timestamps(at, call).unwrap_or(0),
            },
            None => 0,
        },
    };
    let ColumnType::Decimal { scale, .. } = call.ty else {
        return Ok(Value::Int(micros.div_euclid(MICROS_PER_SECOND)));
    };
    let seconds = Decimal::new(i128::from(micros), FSP_MAX).unwrap_or(Decimal::ZERO);
    Ok(Value::Decimal(seconds.trunc(i32::from(*scale))))
}

fn from_unix_type(args: &[Expr]) -> ColumnType {
    if args.len() == 2 {
        return result::text(args);
    }
    ColumnType::Datetime {
        fsp: result::fsp_of_number(args.first()),
    }
}

fn from_unixtime<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let seconds = convert::number(Call::arg(values, 0), call.ctx)?.and_then(Number::to_decimal);
    let million = Decimal::from_i64(MICROS_PER_SECOND);
    let micros = seconds
        .and_then(|s| s.checked_mul(million))
        .and_then(|micros| micros.to_i64());
    let limit = (UNIX_SECONDS_MAX + 1) * MICROS_PER_SECOND;
    let Some(micros) = micros.filter(|micros| (0..limit).contains(micros)) else {
        return Ok(Value::Null);
    };
    let at = local(micros, call);
    let scale = seconds.map_or(0, |seconds| seconds.scale().min(FSP_MAX));
    let Some(at) = at.and_then(|at| at.round(scale)) else {
        return Ok(Value::Null);
    };
    match values.get(1) {
        None => Ok(Value::Datetime(at)),
        Some(format) => {
            let text = date_format::formatted(at, &convert::text(format, call.ctx));
            Ok(text.map_or(Value::Null, of_text))
        }
    }
}

/// What the session's clocks show so long after 1970; also past the end of `TIMESTAMP`.
fn local(micros: i64, call: &Call<'_>) -> Option<Datetime> {
    let within = Timestamp::from_micros(micros, FSP_MAX).filter(|at| !at.is_zero());
    let at = within.unwrap_or(Timestamp::from_clock(micros, FSP_MAX));
    call.ctx
        .zone
        .to_datetime(at)
        .add_micros(micros - at.total_micros())
}

fn convert_tz_type(args: &[Expr]) -> ColumnType {
    ColumnType::Datetime {
        fsp: result::fsp_of_value(args.first()),
    }
}

/// An unknown zone gives `NULL`; a date out of the range of `TIMESTAMP` stays as it is.
fn convert_tz<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let zones = (
        Zone::parse(&call.text(values, 1)),
        Zone::parse(&call.text(values, 2)),
    );
    let (Ok(from), Ok(to)) = zones else {
        return Ok(Value::Null);
    };
    let Some(local) = moment::datetime(Call::arg(values, 0), call.ctx)? else {
        return Ok(Value::Null);
    };
    let at = from.to_timestamp(local).nearest();
    Ok(Value::Datetime(at.map_or(local, |at| to.to_datetime(at))))
}
