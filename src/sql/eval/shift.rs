//! `date ± INTERVAL amount unit`, for all units.
//!
//! Source: MySQL manual, "Temporal Intervals" and `DATE_ADD`.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use std::borrow::Cow;

use super::super::context::EvalContext;
use super::super::expr::{Expr, ExprKind, IntervalUnit};
use super::convert::{self, Number};
use super::typing::is_whole_days;
use super::{Scope, moment};
use crate::error::{Code, Error, Result};
use crate::types::temporal::{FSP_MAX, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::types::{ColumnType, Datetime, Decimal, Time, Value};

const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;

/// How far a date moves: months first, then days, then the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Shift {
    months: i64,
    days: i64,
    micros: i64,
}

/// What one number of an interval counts.
#[derive(Debug, Clone, Copy)]
enum Part {
    Months(i64),
    Days(i64),
    Micros(i64),
}

const YEARS: Part = Part::Months(12);
const DAYS: Part = Part::Days(1);
const HOURS: Part = Part::Micros(MICROS_PER_HOUR);
const MINUTES: Part = Part::Micros(MICROS_PER_MINUTE);
const SECONDS: Part = Part::Micros(MICROS_PER_SECOND);
const MICROS: Part = Part::Micros(1);

/// The numbers of a unit, the largest first.
fn parts(unit: IntervalUnit) -> &'static [Part] {
    match unit {
        IntervalUnit::Microsecond => &[MICROS],
        IntervalUnit::Second => &[SECONDS],
        IntervalUnit::Minute => &[MINUTES],
        IntervalUnit::Hour => &[HOURS],
        IntervalUnit::Day => &[DAYS],
        IntervalUnit::Week => &[Part::Days(7)],
        IntervalUnit::Month => &[Part::Months(1)],
        IntervalUnit::Quarter => &[Part::Months(3)],
        IntervalUnit::Year => &[YEARS],
        IntervalUnit::SecondMicrosecond => &[SECONDS, MICROS],
        IntervalUnit::MinuteMicrosecond => &[MINUTES, SECONDS, MICROS],
        IntervalUnit::MinuteSecond => &[MINUTES, SECONDS],
        IntervalUnit::HourMicrosecond => &[HOURS, MINUTES, SECONDS, MICROS],
        IntervalUnit::HourSecond => &[HOURS, MINUTES, SECONDS],
        IntervalUnit::HourMinute => &[HOURS, MINUTES],
        IntervalUnit::DayMicrosecond => &[DAYS, HOURS, MINUTES, SECONDS, MICROS],
        IntervalUnit::DaySecond => &[DAYS, HOURS, MINUTES, SECONDS],
        IntervalUnit::DayMinute => &[DAYS, HOURS, MINUTES],
        IntervalUnit::DayHour => &[DAYS, HOURS],
        IntervalUnit::YearMonth => &[YEARS, Part::Months(1)],
    }
}

impl Shift {
    /// Moved further by a number of parts; `None` past what 64 bits hold.
    fn plus(self, part: Part, number: i64) -> Option<Shift> {
        let add = |sum: i64, unit: i64| unit.checked_mul(number).and_then(|n| sum.checked_add(n));
        Some(match part {
            Part::Months(unit) => Shift {
                months: add(self.months, unit)?,
                ..self
            },
            Part::Days(unit) => Shift {
                days: add(self.days, unit)?,
                ..self
            },
            Part::Micros(unit) => Shift {
                micros: add(self.micros, unit)?,
                ..self
            },
        })
    }

    /// The way back; `None` past what 64 bits hold.
    pub(crate) fn negated(self) -> Option<Shift> {
        Some(Shift {
            months: self.months.checked_neg()?,
            days: self.days.checked_neg()?,
            micros: self.micros.checked_neg()?,
        })
    }

    /// A datetime moved; `None` outside the calendar.
    pub(crate) fn applied_to(self, at: Datetime) -> Option<Datetime> {
        let at = if self.months == 0 {
            at
        } else {
            at.add_months(self.months)?
        };
        let at = if self.days == 0 {
            at
        } else {
            at.add_days(self.days)?
        };
        if self.micros == 0 {
            Some(at)
        } else {
            at.add_micros(self.micros)
        }
    }
}

/// The shift that `INTERVAL amount unit` means; `None` past what 64 bits hold.
///
/// # Errors
/// 1292 for a bad text in a strict write.
pub(crate) fn interval(
    amount: &Value<'_>,
    unit: IntervalUnit,
    ctx: &EvalContext,
) -> Result<Option<Shift>> {
    match (parts(unit), unit) {
        ([_], IntervalUnit::Second) => Ok(seconds(amount, ctx)?),
        ([part], _) => {
            let number = convert::integer(amount, ctx)?.and_then(|n| i64::try_from(n).ok());
            Ok(number.and_then(|number| Shift::default().plus(*part, number)))
        }
        (parts, _) => Ok(compound(&convert::text(amount, ctx), parts)),
    }
}

/// Seconds may have a fraction.
fn seconds(amount: &Value<'_>, ctx: &EvalContext) -> Result<Option<Shift>> {
    let number = match amount {
        Value::Text(text) => {
            let (number, rest) = Decimal::parse_prefix(text.trim_ascii_start());
            if !rest.trim_ascii_end().is_empty() {
                convert::truncated(ctx, "DECIMAL", text)?;
            }
            number.or(Some(Decimal::ZERO))
        }
        other => convert::number(other, ctx)?.and_then(Number::to_decimal),
    };
    let million = Decimal::from_i64(MICROS_PER_SECOND);
    let micros = number
        .and_then(|n| n.checked_mul(million))
        .and_then(|n| n.to_i64());
    Ok(micros.map(|micros| Shift {
        micros,
        ..Shift::default()
    }))
}

/// `'1 2:3'`: numbers with anything between them; when some are missing, the largest are. `None` when there are more.
fn compound(text: &str, parts: &[Part]) -> Option<Shift> {
    let body = text.trim_ascii_start();
    let is_negative = body.starts_with('-');
    let mut numbers: Vec<(i64, usize)> = Vec::with_capacity(parts.len());
    for digits in body
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
    {
        if numbers.len() == parts.len() {
            return None;
        }
        numbers.push((digits.parse().ok()?, digits.len()));
    }
    let missing = parts.len() - numbers.len();
    let mut shift = Shift::default();
    for (part, (number, len)) in parts.iter().skip(missing).zip(numbers) {
        let number = match part {
            // Digits after the second's point: '1.5' is 500000 microseconds.
            Part::Micros(1) => {
                let zeros = usize::from(FSP_MAX).saturating_sub(len);
                number.checked_mul(10i64.checked_pow(u32::try_from(zeros).ok()?)?)?
            }
            Part::Micros(_) | Part::Days(_) | Part::Months(_) => number,
        };
        shift = shift.plus(*part, number)?;
    }
    if is_negative {
        shift.negated()
    } else {
        Some(shift)
    }
}

/// The value of an [`ExprKind::DateShift`].
pub(super) fn date_shift<'a>(scope: Scope<'a>, expr: &'a Expr) -> Result<Value<'a>> {
    let ExprKind::DateShift {
        date,
        amount,
        unit,
        negated,
    } = &expr.kind
    else {
        return Err(Error::internal("INTERVAL expected"));
    };
    let date = scope.value(date)?;
    if matches!(date, Value::Null) {
        return Ok(Value::Null);
    }
    let amount = scope.value(amount)?;
    if matches!(amount, Value::Null) {
        return Ok(Value::Null);
    }
    let shift = interval(&amount, *unit, scope.ctx)?;
    let shift = if *negated {
        shift.and_then(Shift::negated)
    } else {
        shift
    };
    shifted(&date, shift, (&expr.ty, *unit), scope.ctx)
}

/// The date moved, in the variant of `target.0`; out of the calendar `NULL` and warning 1441, and of a date without
/// month or day, from which nothing is counted, `NULL` and warning 1292.
///
/// # Errors
/// 1441 and 1292 in a strict write.
pub(crate) fn shifted<'a>(
    date: &Value<'_>,
    shift: Option<Shift>,
    target: (&ColumnType, IntervalUnit),
    ctx: &EvalContext,
) -> Result<Value<'a>> {
    let (ty, unit) = target;
    if let (Value::Time(time), ColumnType::Time { fsp }) = (date, ty) {
        let moved = shift.and_then(|shift| {
            let days = shift.days.checked_mul(MICROS_PER_DAY)?;
            let micros = time
                .total_micros()
                .checked_add(shift.micros)?
                .checked_add(days)?;
            Time::from_micros(micros, *fsp)
                .map(|time| time.truncate(*fsp))
                .filter(|_| shift.months == 0)
        });
        return match moved {
            Some(time) => Ok(Value::Time(time)),
            None => overflowed("time", ctx),
        };
    }
    let Some(at) = moment::datetime(date, ctx)? else {
        return Ok(Value::Null);
    };
    if at.date().month() == 0 || at.date().day() == 0 {
        convert::lost(ctx, Code::IncorrectTypeValue, || {
            let shown = convert::text(date, ctx);
            format!("Incorrect datetime value: '{}'", convert::shown(&shown))
        })?;
        return Ok(Value::Null);
    }
    let Some(moved) = shift.and_then(|shift| shift.applied_to(at)) else {
        return overflowed("datetime", ctx);
    };
    Ok(match ty {
        ColumnType::Date => Value::Date(moved.date()),
        ColumnType::Datetime { fsp } => Value::Datetime(moved.truncate(*fsp)),
        _ if is_whole_days(unit) && !moment::has_time(date, ctx) => {
            Value::Text(Cow::Owned(moved.date().to_string()))
        }
        _ => {
            let fsp = if moved.micros() == 0 { 0 } else { FSP_MAX };
            Value::Text(Cow::Owned(moved.truncate(fsp).to_string()))
        }
    })
}

/// `NULL` and warning 1441.
///
/// # Errors
/// 1441 in a strict write.
pub(crate) fn overflowed<'a>(field: &str, ctx: &EvalContext) -> Result<Value<'a>> {
    convert::lost(ctx, Code::DatetimeOverflow, || {
        format!("Datetime function: {field} field overflow")
    })?;
    Ok(Value::Null)
}

/// Error 1525 for a unit that is none.
pub(crate) fn unknown_unit(name: &str) -> Error {
    Error::new(
        Code::DurationOverflow,
        format!("Incorrect unit value: '{name}'"),
    )
}
