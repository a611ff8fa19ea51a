//! The parts of dates and times.
//!
//! Source: MySQL manual, "Date and Time Functions".

use super::super::eval::{moment, shift};
use super::super::expr::{Expr, IntervalUnit};
use super::{Call, date_format, of_text, result};
use crate::error::Result;
use crate::types::temporal::calendar::WeekMode;
use crate::types::{ColumnType, Datetime, Time, Value};

functions! {
    /// Parts of dates and times.
    TABLE of DateAndTime:
    "DATE" 1..1 "expr" result::date, Always, Statement, Strict(date), "The date of a date and time.";
    "TIME" 1..1 "expr" time_type, Always, Statement, Strict(time), "The time of a date and time.";
    "YEAR" 1..1 "date" result::int, Always, Statement, Strict(year), "The year.";
    "QUARTER" 1..1 "date" result::int, Always, Statement, Strict(quarter), "The quarter, 1 to 4.";
    "MONTH" 1..1 "date" result::int, Always, Statement, Strict(month), "The month, 1 to 12.";
    "DAY" 1..1 "date" result::int, Always, Statement, Strict(day), "The day of the month.";
    "DAYOFMONTH" 1..1 "date" result::int, Always, Statement, Strict(day), "The day of the month.";
    "HOUR" 1..1 "time" result::int, Always, Statement, Strict(hour), "The hour.";
    "MINUTE" 1..1 "time" result::int, Always, Statement, Strict(minute), "The minute.";
    "SECOND" 1..1 "time" result::int, Always, Statement, Strict(second), "The second.";
    "MICROSECOND" 1..1 "time" result::int, Always, Statement, Strict(microsecond), "The microseconds.";
    "WEEK" 1..2 "date [, mode]" result::int, Always, Statement, Strict(week), "The number of the week.";
    "WEEKOFYEAR" 1..1 "date" result::int, Always, Statement, Strict(week_of_year), "The number of the week by ISO 8601.";
    "YEARWEEK" 1..2 "date [, mode]" result::int, Always, Statement, Strict(year_week), "The year and number of the week.";
    "WEEKDAY" 1..1 "date" result::int, Always, Statement, Strict(weekday), "The day of the week, 0 for Monday.";
    "DAYOFWEEK" 1..1 "date" result::int, Always, Statement, Strict(day_of_week), "The day of the week, 1 for Sunday.";
    "DAYOFYEAR" 1..1 "date" result::int, Always, Statement, Strict(day_of_year), "The day of the year.";
    "DAYNAME" 1..1 "date" result::text, Always, Statement, Strict(day_name), "The name of the day of the week.";
    "MONTHNAME" 1..1 "date" result::text, Always, Statement, Strict(month_name), "The name of the month.";
    "LAST_DAY" 1..1 "date" result::date, Always, Statement, Strict(last_day), "The last day of the month.";
    "EXTRACT" 2..2 "unit FROM date" result::int, Always, Statement, Strict(extract), "The parts that a unit names, as one number.";
    "TO_DAYS" 1..1 "date" result::int, Always, Statement, Strict(to_days), "The number of the day, from year 0.";
    "TO_SECONDS" 1..1 "date" result::int, Always, Statement, Strict(to_seconds), "Seconds from year 0.";
    "TIME_TO_SEC" 1..1 "time" result::int, Always, Statement, Strict(time_to_sec), "The time in seconds.";
}

fn time_type(args: &[Expr]) -> ColumnType {
    ColumnType::Time {
        fsp: result::fsp_of_value(args.first()),
    }
}

/// What `part` finds in the date and time of the first argument.
fn of_datetime<'a, T>(
    values: &[Value<'a>],
    call: &Call<'a>,
    part: impl Fn(Datetime) -> Option<T>,
) -> Result<Option<T>> {
    Ok(moment::datetime(Call::arg(values, 0), call.ctx)?.and_then(part))
}

/// As [`of_datetime`], for a number.
fn number_of<'a, T: Into<i64>>(
    values: &[Value<'a>],
    call: &Call<'a>,
    part: impl Fn(Datetime) -> Option<T>,
) -> Result<Value<'a>> {
    let number = of_datetime(values, call, part)?;
    Ok(number.map_or(Value::Null, |number| Value::Int(number.into())))
}

/// As [`number_of`], of the time of the first argument.
fn number_of_time<'a, T: Into<i64>>(
    values: &[Value<'a>],
    call: &Call<'a>,
    part: impl Fn(Time) -> T,
) -> Result<Value<'a>> {
    let time = moment::time(Call::arg(values, 0), call.ctx)?;
    Ok(time.map_or(Value::Null, |time| Value::Int(part(time).into())))
}

fn date<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let date = of_datetime(values, call, |at| Some(at.date()))?;
    Ok(date.map_or(Value::Null, Value::Date))
}

fn time<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let time = moment::time(Call::arg(values, 0), call.ctx)?;
    Ok(time.map_or(Value::Null, Value::Time))
}

fn year<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of(values, call, |at| Some(at.year()))
}

fn quarter<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of(values, call, |at| Some(at.date().quarter()))
}

fn month<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of(values, call, |at| Some(at.month()))
}

fn day<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of(values, call, |at| Some(at.day()))
}

fn hour<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of_time(values, call, |time| time.hour())
}

fn minute<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of_time(values, call, |time| time.minute())
}

fn second<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of_time(values, call, |time| time.second())
}

fn microsecond<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of_time(values, call, |time| time.micros())
}

/// The mode in the second argument; 0, the default of `default_week_format`, without one.
fn week_mode(values: &[Value<'_>], call: &Call<'_>) -> Result<WeekMode> {
    let mode = call.count(values, 1)? & 7;
    Ok(WeekMode::new(u8::try_from(mode).unwrap_or(0)))
}

fn week<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let mode = week_mode(values, call)?;
    number_of(values, call, |at| {
        at.date().week(mode).map(|(_, week)| week)
    })
}

fn week_of_year<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of(values, call, |at| {
        at.date().week(WeekMode::ISO).map(|(_, week)| week)
    })
}

fn year_week<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let mode = week_mode(values, call)?.spanning_years();
    number_of(values, call, |at| {
        at.date()
            .week(mode)
            .map(|(year, week)| i64::from(year) * 100 + i64::from(week))
    })
}

fn weekday<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of(values, call, |at| at.date().weekday())
}

fn day_of_week<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of(values, call, |at| {
        at.date().weekday().map(|day| (day + 1) % 7 + 1)
    })
}

fn day_of_year<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of(values, call, |at| {
        Some(at.date())
            .filter(|date| !date.has_zero_part())
            .map(|date| date.day_of_year())
    })
}

fn day_name<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let name = of_datetime(values, call, |at| date_format::day_name(at.date()))?;
    Ok(name.map_or(Value::Null, of_text))
}

fn month_name<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let name = of_datetime(values, call, |at| date_format::month_name(at.month()))?;
    Ok(name.map_or(Value::Null, of_text))
}

fn last_day<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let last = of_datetime(values, call, |at| at.date().last_day())?;
    Ok(last.map_or(Value::Null, Value::Date))
}

fn to_days<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of(values, call, |at| at.date().to_days())
}

fn to_seconds<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of(values, call, |at| {
        let seconds = i64::try_from(at.micros_of_day() / 1_000_000).ok()?;
        Some(at.date().to_days()? * 86_400 + seconds)
    })
}

fn time_to_sec<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    number_of_time(values, call, |time| time.total_micros() / 1_000_000)
}

fn extract<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some(unit) = IntervalUnit::of_name(&call.text(values, 0)) else {
        return Err(shift::unknown_unit(&call.text(values, 0)));
    };
    let value = Call::arg(values, 1);
    let rest = values.get(1..).unwrap_or_default();
    match date_part(unit) {
        Some(part) => number_of(rest, call, part),
        None => Ok(match clock(value, unit, call)? {
            Some((days, time)) => Value::Int(clock_part(unit, days, time)),
            None => Value::Null,
        }),
    }
}

/// What a unit of dates finds.
fn date_part(unit: IntervalUnit) -> Option<fn(Datetime) -> Option<i64>> {
    match unit {
        IntervalUnit::Year => Some(|at| Some(i64::from(at.year()))),
        IntervalUnit::YearMonth => {
            Some(|at| Some(i64::from(at.year()) * 100 + i64::from(at.month())))
        }
        IntervalUnit::Quarter => Some(|at| Some(i64::from(at.date().quarter()))),
        IntervalUnit::Month => Some(|at| Some(i64::from(at.month()))),
        IntervalUnit::Week => Some(|at| {
            at.date()
                .week(WeekMode::new(0))
                .map(|(_, week)| i64::from(week))
        }),
        IntervalUnit::Day => Some(|at| Some(i64::from(at.day()))),
        IntervalUnit::Microsecond
        | IntervalUnit::Second
        | IntervalUnit::Minute
        | IntervalUnit::Hour
        | IntervalUnit::SecondMicrosecond
        | IntervalUnit::MinuteMicrosecond
        | IntervalUnit::MinuteSecond
        | IntervalUnit::HourMicrosecond
        | IntervalUnit::HourSecond
        | IntervalUnit::HourMinute
        | IntervalUnit::DayMicrosecond
        | IntervalUnit::DaySecond
        | IntervalUnit::DayMinute
        | IntervalUnit::DayHour => None,
    }
}

/// The day, for units that have one, and the time.
fn clock(value: &Value<'_>, unit: IntervalUnit, call: &Call<'_>) -> Result<Option<(i64, Time)>> {
    let has_day = matches!(
        unit,
        IntervalUnit::DayMicrosecond
            | IntervalUnit::DaySecond
            | IntervalUnit::DayMinute
            | IntervalUnit::DayHour
    );
    if has_day && !matches!(value, Value::Time(_)) {
        let at = moment::datetime(value, call.ctx)?;
        return Ok(at.map(|at| (i64::from(at.day()), at.time())));
    }
    Ok(moment::time(value, call.ctx)?.map(|time| (0, time)))
}

fn clock_part(unit: IntervalUnit, day: i64, time: Time) -> i64 {
    let (hour, minute) = (day * 100 + i64::from(time.hour()), i64::from(time.minute()));
    let (second, micros) = (i64::from(time.second()), i64::from(time.micros()));
    let with_micros = |seconds: i64| seconds * 1_000_000 + micros;
    let number = match unit {
        IntervalUnit::Microsecond => micros,
        IntervalUnit::Second => second,
        IntervalUnit::SecondMicrosecond => with_micros(second),
        IntervalUnit::Minute => minute,
        IntervalUnit::MinuteSecond => minute * 100 + second,
        IntervalUnit::MinuteMicrosecond => with_micros(minute * 100 + second),
        IntervalUnit::Hour | IntervalUnit::DayHour => hour,
        IntervalUnit::HourMinute | IntervalUnit::DayMinute => hour * 100 + minute,
        IntervalUnit::HourSecond | IntervalUnit::DaySecond => (hour * 100 + minute) * 100 + second,
        IntervalUnit::HourMicrosecond | IntervalUnit::DayMicrosecond => {
            with_micros((hour * 100 + minute) * 100 + second)
        }
        IntervalUnit::Day
        | IntervalUnit::Week
        | IntervalUnit::Month
        | IntervalUnit::Quarter
        | IntervalUnit::Year
        | IntervalUnit::YearMonth => 0,
    };
    if time.is_negative() { -number } else { number }
}
