//! Dates, times and decimals between their wire fields and [`Value`].
//!
//! The rules of the calendar are in `types`; here is only what the wire's fields are called.

use std::fmt;

use super::{number, wire};
use crate::types::temporal::zone::Zone;
use crate::types::{Date, Datetime, Decimal, Time, Value};

/// A date as the wire has it, not yet known to exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DateFields {
    pub(super) year: u16,
    pub(super) month: u8,
    pub(super) day: u8,
}

/// A time of day as the wire has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ClockFields {
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    pub(super) micros: u32,
}

/// A date and a time of day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MomentFields {
    pub(super) date: DateFields,
    pub(super) clock: ClockFields,
}

impl fmt::Display for DateFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for ClockFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}:{:02}", self.hour, self.minute, self.second)?;
        if self.micros != 0 {
            write!(f, ".{:06}", self.micros)?;
        }
        Ok(())
    }
}

impl fmt::Display for MomentFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.date, self.clock)
    }
}

/// Microseconds of a second, a minute and an hour.
const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// A parameter of type DECIMAL.
pub(super) fn decimal(text: &str) -> Option<Value<'static>> {
    Decimal::parse(text).map(Value::Decimal)
}

/// A parameter of type DATE; `None` when there is no such day.
pub(super) fn date(fields: DateFields) -> Option<Value<'static>> {
    Date::new(fields.year, fields.month, fields.day).map(Value::Date)
}

/// A parameter of type DATETIME; `None` when there is no such day or hour.
pub(super) fn datetime(fields: MomentFields, fsp: u8) -> Option<Value<'static>> {
    let DateFields { year, month, day } = fields.date;
    let date = Date::new(year, month, day)?;
    let in_day = fields.clock.hour < 24;
    let micros = in_day.then(|| fields.clock.total_micros()).flatten()?;
    Datetime::new(date, micros, fsp).map(Value::Datetime)
}

/// A parameter of type TIME; `None` when it is longer than a time can be.
pub(super) fn time(
    is_negative: bool,
    days: u32,
    clock: ClockFields,
    fsp: u8,
) -> Option<Value<'static>> {
    let micros = u64::from(days)
        .checked_mul(24 * HOUR)?
        .checked_add(clock.total_micros()?)?;
    let micros = i64::try_from(micros).ok()?;
    let signed = if is_negative { -micros } else { micros };
    Time::from_micros(signed, fsp).map(Value::Time)
}

impl ClockFields {
    fn total_micros(self) -> Option<u64> {
        let ClockFields {
            hour,
            minute,
            second,
            micros,
        } = self;
        let is_clock = minute < 60 && second < 60 && u64::from(micros) < SECOND;
        let minutes = u64::from(hour) * HOUR + u64::from(minute) * MINUTE;
        is_clock.then(|| minutes + u64::from(second) * SECOND + u64::from(micros))
    }
}

/// Appends a value's text. Dates and times are written digit by digit: they are common and the
/// formatting machinery costs more than the rest of a row.
pub(super) fn put_value_text(out: &mut Vec<u8>, value: &Value<'_>, zone: &Zone) {
    match value {
        Value::Date(date) => put_date(out, *date),
        Value::Datetime(datetime) => put_datetime(out, *datetime),
        Value::Timestamp(at) => put_datetime(out, zone.to_datetime(*at)),
        Value::Time(time) => put_time(out, *time),
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Year(_)
        | Value::Json(_)
        | Value::Enum(_) => value.write_text_in(zone, out),
    }
}

fn put_date(out: &mut Vec<u8>, date: Date) {
    let [century, year] = [date.year() / 100, date.year() % 100].map(low_byte);
    let [y1, y2] = number::digit_pair(century);
    let [y3, y4] = number::digit_pair(year);
    let [m1, m2] = number::digit_pair(date.month());
    let [d1, d2] = number::digit_pair(date.day());
    out.extend_from_slice(&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2]);
}

fn put_datetime(out: &mut Vec<u8>, datetime: Datetime) {
    put_date(out, datetime.date());
    out.push(b' ');
    put_clock(out, [datetime.hour(), datetime.minute(), datetime.second()]);
    put_fraction(out, datetime.micros(), datetime.fsp());
}

fn put_time(out: &mut Vec<u8>, time: Time) {
    if time.is_negative() {
        out.push(b'-');
    }
    let [hundreds, hours] = [time.hour() / 100, time.hour() % 100].map(low_byte);
    if 0 < hundreds {
        out.push(b'0' + hundreds);
    }
    put_clock(out, [hours, time.minute(), time.second()]);
    put_fraction(out, time.micros(), time.fsp());
}

fn put_clock(out: &mut Vec<u8>, parts: [u8; 3]) {
    let [[h1, h2], [m1, m2], [s1, s2]] = parts.map(number::digit_pair);
    out.extend_from_slice(&[h1, h2, b':', m1, m2, b':', s1, s2]);
}

fn put_fraction(out: &mut Vec<u8>, micros: u32, fsp: u8) {
    if fsp == 0 {
        return;
    }
    let pairs = [micros / 10_000, micros / 100 % 100, micros % 100];
    let [[f1, f2], [f3, f4], [f5, f6]] =
        pairs.map(|pair| number::digit_pair(u8::try_from(pair).unwrap_or(0)));
    let digits = [b'.', f1, f2, f3, f4, f5, f6];
    let count = usize::from(fsp.min(6)) + 1;
    out.extend_from_slice(digits.get(..count).unwrap_or(&digits));
}

fn low_byte(number: u16) -> u8 {
    u8::try_from(number).unwrap_or(0)
}

/// What is left of microseconds when only `fsp` digits are shown.
fn shown_micros(micros: u32, fsp: u8) -> u32 {
    let unit = 10_u32.pow(6 - u32::from(fsp.min(6)));
    micros - micros % unit
}

/// Appends a DATE's binary form; `false` when the value is none.
pub(super) fn put_binary_date(out: &mut Vec<u8>, value: &Value<'_>) -> bool {
    let Value::Date(date) = value else {
        return false;
    };
    put_binary_moment(out, date.at_midnight());
    true
}

/// Appends a DATETIME's or TIMESTAMP's binary form; `false` when the value is none.
pub(super) fn put_binary_datetime(out: &mut Vec<u8>, value: &Value<'_>, zone: &Zone) -> bool {
    match value {
        Value::Datetime(datetime) => put_binary_moment(out, *datetime),
        Value::Timestamp(at) => put_binary_moment(out, zone.to_datetime(*at)),
        Value::Date(date) => put_binary_moment(out, date.at_midnight()),
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
        | Value::Enum(_) => return false,
    }
    true
}

/// 0, 4, 7 or 11 bytes: parts at the end that are zero are left out.
fn put_binary_moment(out: &mut Vec<u8>, moment: Datetime) {
    let micros = shown_micros(moment.micros(), moment.fsp());
    let clock = [moment.hour(), moment.minute(), moment.second()];
    let length = match (moment.date().is_zero(), clock, micros) {
        (true, [0, 0, 0], 0) => 0,
        (false, [0, 0, 0], 0) => 4,
        (_, _, 0) => 7,
        (_, _, _) => 11,
    };
    out.push(length);
    if 4 <= length {
        wire::put_u16(out, moment.year());
        out.extend_from_slice(&[moment.month(), moment.day()]);
    }
    if 7 <= length {
        out.extend_from_slice(&clock);
    }
    if length == 11 {
        wire::put_u32(out, micros);
    }
}

/// Appends a TIME's binary form, of 0, 8 or 12 bytes; `false` when the value is none.
pub(super) fn put_binary_time(out: &mut Vec<u8>, value: &Value<'_>) -> bool {
    let Value::Time(time) = value else {
        return false;
    };
    let micros = shown_micros(time.micros(), time.fsp());
    let clock = [low_byte(time.hour() % 24), time.minute(), time.second()];
    let length = match (time.hour(), clock, micros) {
        (0, [0, 0, 0], 0) => 0,
        (_, _, 0) => 8,
        (_, _, _) => 12,
    };
    out.push(length);
    if 8 <= length {
        out.push(u8::from(time.is_negative()));
        wire::put_u32(out, u32::from(time.hour() / 24));
        out.extend_from_slice(&clock);
    }
    if length == 12 {
        wire::put_u32(out, micros);
    }
    true
}
