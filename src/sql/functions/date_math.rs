//! Differences and sums of dates and times, and dates and times made of numbers.
//!
//! Source: MySQL manual, "Date and Time Functions".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use std::cmp::Ordering;

use super::super::eval::convert::{self, Number};
use super::super::eval::typing::{date_shift_type, is_text};
use super::super::eval::{moment, shift};
use super::super::expr::{Expr, ExprKind, IntervalUnit};
use super::{Call, of_text, result};
use crate::error::{Code, Error, Result};
use crate::types::temporal::{FSP_MAX, MICROS_PER_SECOND};
use crate::types::{ColumnType, Date, Datetime, Decimal, Time, Value};

functions! {
    /// Reckoning with dates and times.
    TABLE of DateAndTime:
    "DATEDIFF" 2..2 "a, b" result::int, Always, Statement, Strict(datediff), "Days from the second date to the first.";
    "TIMEDIFF" 2..2 "a, b" time_of_two, Always, Statement, Strict(timediff), "The time from the second argument to the first.";
    "TIMESTAMPDIFF" 3..3 "unit, a, b" result::int, Always, Statement, Strict(timestampdiff), "Whole units from the second argument to the third.";
    "TIMESTAMPADD" 3..3 "unit, n, date" timestampadd_type, Always, Statement, Strict(timestampadd), "The third argument later by so many units.";
    "ADDDATE" 2..2 "date, days" adddate_type, Always, Statement, Strict(adddate), "The date later by so many days.";
    "SUBDATE" 2..2 "date, days" adddate_type, Always, Statement, Strict(subdate), "The date earlier by so many days.";
    "ADDTIME" 2..2 "a, time" addtime_type, Always, Statement, Strict(addtime), "The first argument later by a time.";
    "SUBTIME" 2..2 "a, time" addtime_type, Always, Statement, Strict(subtime), "The first argument earlier by a time.";
    "TIMESTAMP" 1..2 "date [, time]" timestamp_type, Always, Statement, Strict(timestamp), "The date and time of the first argument, later by the second.";
    "FROM_DAYS" 1..1 "n" result::date, Always, Constant, Strict(from_days), "The date of a day's number.";
    "MAKEDATE" 2..2 "year, day" result::date, Always, Constant, Strict(makedate), "The date of a year and a day of the year.";
    "MAKETIME" 3..3 "hour, minute, second" maketime_type, Always, Constant, Strict(maketime), "The time of hours, minutes and seconds.";
    "SEC_TO_TIME" 1..1 "seconds" sec_to_time_type, AnyArgument, Constant, Strict(sec_to_time), "The time of a number of seconds.";
    "PERIOD_ADD" 2..2 "period, n" result::int, AnyArgument, Constant, Strict(period_add), "The month YYYYMM later by so many months.";
    "PERIOD_DIFF" 2..2 "a, b" result::int, AnyArgument, Constant, Strict(period_diff), "Months from the second YYYYMM to the first.";
}

/// The dates and times of both arguments.
fn both(values: &[Value<'_>], call: &Call<'_>) -> Result<Option<(Datetime, Datetime)>> {
    let a = moment::datetime(Call::arg(values, 0), call.ctx)?;
    let b = moment::datetime(Call::arg(values, 1), call.ctx)?;
    Ok(a.zip(b))
}

fn datediff<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let days = both(values, call)?.and_then(|(a, b)| a.date().to_days().zip(b.date().to_days()));
    Ok(days.map_or(Value::Null, |(a, b)| Value::Int(a - b)))
}

fn time_of_two(args: &[Expr]) -> ColumnType {
    let fsp = result::fsp_of_value(args.first()).max(result::fsp_of_value(args.get(1)));
    ColumnType::Time { fsp }
}

/// Both are times or both are dates and times; else `NULL`.
fn timediff<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (a, b) = (Call::arg(values, 0), Call::arg(values, 1));
    let is_time = |value: &Value<'_>| {
        matches!(value, Value::Time(_))
            || (!matches!(value, Value::Date(_)) && !moment::has_time(value, call.ctx))
    };
    let micros = match (is_time(a), is_time(b)) {
        (true, true) => {
            let times = moment::time(a, call.ctx)?.zip(moment::time(b, call.ctx)?);
            times.map(|(a, b)| a.total_micros() - b.total_micros())
        }
        (false, false) => both(values, call)?.and_then(|(a, b)| a.micros_since(b)),
        _ => None,
    };
    Ok(micros.map_or(Value::Null, |micros| of_micros(micros, call)))
}

/// A time; clipped, with warning 1292, where it is too long.
fn of_micros<'a>(micros: i64, call: &Call<'a>) -> Value<'a> {
    let fsp = if micros % MICROS_PER_SECOND == 0 {
        0
    } else {
        FSP_MAX
    };
    let fsp = match call.ty {
        ColumnType::Time { fsp } => *fsp,
        _ => fsp,
    };
    let (time, is_clipped) = Time::clipped(micros, fsp);
    if is_clipped {
        convert::warn(call.ctx, Code::IncorrectTypeValue, || {
            format!("Truncated incorrect time value: '{micros} microseconds'")
        });
    }
    Value::Time(time)
}

fn timestampdiff<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some(unit) = IntervalUnit::of_name(&call.text(values, 0)) else {
        return Err(shift::unknown_unit(&call.text(values, 0)));
    };
    let Some((from, to)) = both(values.get(1..).unwrap_or_default(), call)? else {
        return Ok(Value::Null);
    };
    let Some(micros) = to.micros_since(from) else {
        return Ok(Value::Null);
    };
    let seconds = |count: i64| micros / (count * MICROS_PER_SECOND);
    Ok(Value::Int(match unit {
        IntervalUnit::Microsecond => micros,
        IntervalUnit::Second => seconds(1),
        IntervalUnit::Minute => seconds(60),
        IntervalUnit::Hour => seconds(3600),
        IntervalUnit::Day => seconds(86_400),
        IntervalUnit::Week => seconds(7 * 86_400),
        IntervalUnit::Month => whole_months(from, to),
        IntervalUnit::Quarter => whole_months(from, to) / 3,
        IntervalUnit::Year => whole_months(from, to) / 12,
        IntervalUnit::SecondMicrosecond
        | IntervalUnit::MinuteMicrosecond
        | IntervalUnit::MinuteSecond
        | IntervalUnit::HourMicrosecond
        | IntervalUnit::HourSecond
        | IntervalUnit::HourMinute
        | IntervalUnit::DayMicrosecond
        | IntervalUnit::DaySecond
        | IntervalUnit::DayMinute
        | IntervalUnit::DayHour
        | IntervalUnit::YearMonth => return Err(shift::unknown_unit(&call.text(values, 0))),
    }))
}

fn whole_months(from: Datetime, to: Datetime) -> i64 {
    let months = |at: Datetime| i64::from(at.year()) * 12 + i64::from(at.month());
    let rest = |at: Datetime| (at.day(), at.micros_of_day());
    let difference = months(to) - months(from);
    match (difference.signum(), rest(to).cmp(&rest(from))) {
        (1, Ordering::Less) => difference - 1,
        (-1, Ordering::Greater) => difference + 1,
        _ => difference,
    }
}

fn unit_of_literal(args: &[Expr]) -> Option<IntervalUnit> {
    match args.first().map(|arg| &arg.kind) {
        Some(ExprKind::Literal(Value::Text(name))) => IntervalUnit::of_name(name),
        _ => None,
    }
}

fn timestampadd_type(args: &[Expr]) -> ColumnType {
    match (unit_of_literal(args), args) {
        (Some(unit), [_, amount, date]) => date_shift_type(date, amount, unit),
        _ => result::text(args),
    }
}

fn timestampadd<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some(unit) = IntervalUnit::of_name(&call.text(values, 0)) else {
        return Err(shift::unknown_unit(&call.text(values, 0)));
    };
    let interval = shift::interval(Call::arg(values, 1), unit, call.ctx)?;
    shift::shifted(Call::arg(values, 2), interval, (call.ty, unit), call.ctx)
}

fn adddate_type(args: &[Expr]) -> ColumnType {
    match args {
        [date, days] => date_shift_type(date, days, IntervalUnit::Day),
        _ => result::text(args),
    }
}

fn adddate<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let interval = shift::interval(Call::arg(values, 1), IntervalUnit::Day, call.ctx)?;
    shift::shifted(
        Call::arg(values, 0),
        interval,
        (call.ty, IntervalUnit::Day),
        call.ctx,
    )
}

fn subdate<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let interval = shift::interval(Call::arg(values, 1), IntervalUnit::Day, call.ctx)?;
    let interval = interval.and_then(shift::Shift::negated);
    shift::shifted(
        Call::arg(values, 0),
        interval,
        (call.ty, IntervalUnit::Day),
        call.ctx,
    )
}

fn addtime_type(args: &[Expr]) -> ColumnType {
    let fsp = result::fsp_of_value(args.first()).max(result::fsp_of_value(args.get(1)));
    match args.first().map(|arg| &arg.ty) {
        Some(ColumnType::Time { .. }) => ColumnType::Time { fsp },
        Some(ColumnType::Date | ColumnType::Datetime { .. } | ColumnType::Timestamp { .. }) => {
            ColumnType::Datetime { fsp }
        }
        _ => ColumnType::Varchar {
            chars_max: Some(29),
        },
    }
}

fn addtime<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    add_time(values, call, 1)
}

fn subtime<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    add_time(values, call, -1)
}

/// A time that is added; a text of a date and a time is none (`str_to_DDhhmmssff` in MariaDB).
fn amount(value: &Value<'_>, call: &Call<'_>) -> Result<Option<Time>> {
    match value {
        Value::Text(text) if Time::is_of_datetime(text) => Ok(None),
        _ => moment::time(value, call.ctx),
    }
}

/// The first argument, a time or a date and time, later or earlier by the second.
fn add_time<'a>(values: &[Value<'a>], call: &Call<'a>, sign: i64) -> Result<Value<'a>> {
    let value = Call::arg(values, 0);
    let Some(by) = amount(Call::arg(values, 1), call)? else {
        return Ok(Value::Null);
    };
    let micros = by.total_micros() * sign;
    let is_dated = matches!(
        value,
        Value::Date(_) | Value::Datetime(_) | Value::Timestamp(_)
    ) || (matches!(value, Value::Text(_)) && moment::has_time(value, call.ctx));
    let is_shown = call.args.first().is_some_and(|arg| is_text(&arg.ty));
    if !is_dated {
        let time = moment::time(value, call.ctx)?;
        let sum = time.map(|time| of_micros(time.total_micros().saturating_add(micros), call));
        return Ok(match sum {
            Some(Value::Time(time)) if is_shown => of_text(time.to_string()),
            Some(sum) => sum,
            None => Value::Null,
        });
    }
    let Some(at) = moment::datetime(value, call.ctx)? else {
        return Ok(Value::Null);
    };
    let Some(sum) = at.add_micros(micros) else {
        return shift::overflowed("datetime", call.ctx);
    };
    let fsp = if sum.micros() == 0 { 0 } else { FSP_MAX };
    Ok(match call.ty {
        ColumnType::Datetime { fsp } => Value::Datetime(sum.truncate(*fsp)),
        _ => of_text(sum.truncate(fsp).to_string()),
    })
}

fn timestamp_type(args: &[Expr]) -> ColumnType {
    let fsp = result::fsp_of_value(args.first()).max(result::fsp_of_value(args.get(1)));
    ColumnType::Datetime { fsp }
}

fn timestamp<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let at = moment::datetime(Call::arg(values, 0), call.ctx)?;
    let by = match values.get(1) {
        None => Some(Time::ZERO),
        Some(time) => amount(time, call)?,
    };
    let sum = at.zip(by).and_then(|(at, by)| {
        at.add_micros(by.total_micros())?
            .with_fsp(at.fsp().max(by.fsp()))
    });
    Ok(sum.map_or(Value::Null, Value::Datetime))
}

fn from_days<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let days = call.count(values, 0)?;
    Ok(Value::Date(Date::from_days(days).unwrap_or(Date::ZERO)))
}

/// A year of two digits is one of 1970 to 2069.
fn makedate<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (year, day) = (call.count(values, 0)?, call.count(values, 1)?);
    let year = match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    };
    let first = u16::try_from(year)
        .ok()
        .and_then(|year| Date::new(year, 1, 1));
    let date = first
        .filter(|_| 0 < day)
        .and_then(|first| first.add_days(day.checked_sub(1)?));
    Ok(date.map_or(Value::Null, Value::Date))
}

fn maketime_type(args: &[Expr]) -> ColumnType {
    ColumnType::Time {
        fsp: result::fsp_of_number(args.get(2)),
    }
}

/// A number of seconds in microseconds, with the digits after its point.
fn micros_of(value: &Value<'_>, call: &Call<'_>) -> Result<Option<i64>> {
    let seconds = convert::number(value, call.ctx)?.and_then(Number::to_decimal);
    let million = Decimal::from_i64(MICROS_PER_SECOND);
    Ok(seconds
        .and_then(|seconds| seconds.checked_mul(million))
        .and_then(|n| n.to_i64()))
}

fn maketime<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    /// More hours than a time can have.
    const HOURS_MAX: i64 = 1000;
    let hours = call.count(values, 0)?.clamp(-HOURS_MAX, HOURS_MAX);
    let minutes = call.count(values, 1)?;
    let seconds = Call::arg(values, 2);
    let Some(micros) = micros_of(seconds, call)? else {
        return Ok(Value::Null);
    };
    // What is below 60 may be rounded to it.
    let are_seconds =
        convert::double(seconds, call.ctx)?.is_some_and(|it| (0.0..60.0).contains(&it));
    let fits = (0..60).contains(&minutes) && are_seconds;
    if !fits {
        return Ok(Value::Null);
    }
    let size = (hours.abs() * 60 + minutes) * 60 * MICROS_PER_SECOND + micros;
    Ok(of_micros(if hours < 0 { -size } else { size }, call))
}

fn sec_to_time_type(args: &[Expr]) -> ColumnType {
    ColumnType::Time {
        fsp: result::fsp_of_number(args.first()),
    }
}

fn sec_to_time<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let value = Call::arg(values, 0);
    let is_negative = convert::double(value, call.ctx)?.is_some_and(|seconds| seconds < 0.0);
    let limit = if is_negative { i64::MIN } else { i64::MAX };
    Ok(of_micros(micros_of(value, call)?.unwrap_or(limit), call))
}

/// `YYYYMM` or `YYMM` in months from year 0.
///
/// # Errors
/// 1210 for what is no month.
fn months_of_period(period: i64, call: &Call<'_>) -> Result<i64> {
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        let name = call.function.name.to_ascii_lowercase();
        let text = format!("Incorrect arguments to {name}");
        return Err(Error::new(Code::WrongArguments, text));
    }
    let year = match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    };
    Ok(year.saturating_mul(12).saturating_add(month - 1))
}

fn period_add<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (period, months) = (call.count(values, 0)?, call.count(values, 1)?);
    let sum = months_of_period(period, call)?.saturating_add(months);
    let year = sum.div_euclid(12);
    Ok(Value::Int(
        year.saturating_mul(100)
            .saturating_add(sum.rem_euclid(12) + 1),
    ))
}

fn period_diff<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (a, b) = (call.count(values, 0)?, call.count(values, 1)?);
    Ok(Value::Int(
        months_of_period(a, call)?.saturating_sub(months_of_period(b, call)?),
    ))
}
