//! Dates and times as texts of a given format. Reading them back is `date_parse`.
//!
//! Source: MySQL manual, `DATE_FORMAT`, the table of specifiers.

use std::fmt::Write as _;

use super::super::eval::moment;
use super::{Call, of_text, result};
use crate::error::Result;
use crate::types::temporal::calendar::WeekMode;
use crate::types::{Date, Datetime, Value};

functions! {
    /// Dates as texts.
    TABLE of DateAndTime:
    "DATE_FORMAT" 2..2 "date, format" result::text, Always, Statement, Strict(date_format), "The date and time in a format.";
    "TIME_FORMAT" 2..2 "time, format" result::text, Always, Statement, Strict(time_format), "The time in a format.";
}

const DAY_NAMES: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Letters of a short name.
const SHORT_CHARS: usize = 3;

/// The name of the day of the week; `None` for a zero date.
pub(super) fn day_name(date: Date) -> Option<&'static str> {
    date.weekday()
        .and_then(|day| DAY_NAMES.get(usize::from(day)).copied())
}

/// The name of a month, 1 to 12.
pub(super) fn month_name(month: u8) -> Option<&'static str> {
    usize::from(month)
        .checked_sub(1)
        .and_then(|idx| MONTH_NAMES.get(idx).copied())
}

/// The number, 1 to 12, of the month whose name the first word of the text is, or begins alone, and the word's length.
pub(super) fn month_of_name(text: &str, is_short: bool) -> Option<(u8, usize)> {
    position_of_name(&MONTH_NAMES, text, is_short).map(|(idx, len)| (idx + 1, len))
}

/// The number, 0 for Monday, of the day whose name the first word of the text is, or begins alone, and the word's length.
pub(super) fn day_of_name(text: &str, is_short: bool) -> Option<(u8, usize)> {
    position_of_name(&DAY_NAMES, text, is_short)
}

fn position_of_name(names: &[&str], text: &str, is_short: bool) -> Option<(u8, usize)> {
    let len = text.chars().take_while(char::is_ascii_alphabetic).count();
    let word = text.get(..len).filter(|word| !word.is_empty())?;
    // Whether the word is the name, where it begins it.
    let known = |name: &str| {
        let whole = if is_short { SHORT_CHARS } else { name.len() };
        let begin = name.get(..len).filter(|_| len <= whole)?;
        begin.eq_ignore_ascii_case(word).then_some(len == whole)
    };
    let whole = names.iter().position(|name| known(name) == Some(true));
    let mut begun =
        (0..names.len()).filter(|idx| names.get(*idx).is_some_and(|name| known(name).is_some()));
    let alone = begun.next().filter(|_| begun.next().is_none());
    let idx = whole.or(alone)?;
    Some((u8::try_from(idx).ok()?, len))
}

/// What a specifier of two bytes becomes for each of them, at most: `%r` is `11:59:59 PM`.
const SPECIFIED_BYTES_PER_BYTE: usize = 6;

fn date_format<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some(at) = moment::datetime(Call::arg(values, 0), call.ctx)? else {
        return Ok(Value::Null);
    };
    let format = call.text(values, 1);
    let Some(_room) = call.fits(format.len().checked_mul(SPECIFIED_BYTES_PER_BYTE))? else {
        return Ok(Value::Null);
    };
    Ok(formatted(at, &format).map_or(Value::Null, of_text))
}

/// Hours may pass 24; specifiers of dates give zeros.
fn time_format<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some(time) = moment::time(Call::arg(values, 0), call.ctx)? else {
        return Ok(Value::Null);
    };
    let micros_of_day = time.total_micros().unsigned_abs() % 86_400_000_000;
    let Some(at) = Datetime::new(Date::ZERO, micros_of_day, time.fsp()) else {
        return Ok(Value::Null);
    };
    let format = call.text(values, 1);
    let Some(_room) = call.fits(format.len().checked_mul(SPECIFIED_BYTES_PER_BYTE))? else {
        return Ok(Value::Null);
    };
    let sign = if time.is_negative() { "-" } else { "" };
    Ok(text_of(at, time.hour(), &format)
        .map_or(Value::Null, |text| of_text(format!("{sign}{text}"))))
}

/// The date and time in a format; `None` when the format is empty, or asks for what a zero date has
/// not.
pub(super) fn formatted(at: Datetime, format: &str) -> Option<String> {
    text_of(at, u16::from(at.hour()), format)
}

fn text_of(at: Datetime, hour: u16, format: &str) -> Option<String> {
    if format.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(format.len() * 2);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        match (c, c == '%') {
            (_, true) => match chars.next() {
                Some(specifier) => write_part(&mut out, specifier, (at, hour))?,
                None => out.push('%'),
            },
            (other, false) => out.push(other),
        }
    }
    Some(out)
}

/// Writing to a String does not fail: `None` is a part that the date does not have.
fn write_part(out: &mut String, specifier: char, (at, hour): (Datetime, u16)) -> Option<()> {
    let date = at.date();
    let (minute, second) = (at.minute(), at.second());
    let twelve = (hour + 11) % 12 + 1;
    let half = if hour % 24 < 12 { "AM" } else { "PM" };
    let short = |name: &'static str| name.get(..SHORT_CHARS);
    match specifier {
        'a' => out.push_str(short(day_name(date)?)?),
        'b' => out.push_str(short(month_name(at.month())?)?),
        'c' => write!(out, "{}", at.month()).ok()?,
        'D' => write!(out, "{}{}", at.day(), ordinal(at.day())).ok()?,
        'd' => write!(out, "{:02}", at.day()).ok()?,
        'e' => write!(out, "{}", at.day()).ok()?,
        'f' => write!(out, "{:06}", at.micros()).ok()?,
        'H' => write!(out, "{hour:02}").ok()?,
        'h' | 'I' => write!(out, "{twelve:02}").ok()?,
        'i' => write!(out, "{minute:02}").ok()?,
        'j' if date.has_zero_part() => return None,
        'j' => write!(out, "{:03}", date.day_of_year()).ok()?,
        'k' => write!(out, "{hour}").ok()?,
        'l' => write!(out, "{twelve}").ok()?,
        'M' => out.push_str(month_name(at.month())?),
        'm' => write!(out, "{:02}", at.month()).ok()?,
        'p' => out.push_str(half),
        'r' => write!(out, "{twelve:02}:{minute:02}:{second:02} {half}").ok()?,
        'S' | 's' => write!(out, "{second:02}").ok()?,
        'T' => write!(out, "{hour:02}:{minute:02}:{second:02}").ok()?,
        'U' | 'u' | 'V' | 'v' => write!(out, "{:02}", week(date, specifier)?.1).ok()?,
        'X' | 'x' => write!(out, "{:04}", week(date, specifier)?.0).ok()?,
        'W' => out.push_str(day_name(date)?),
        'w' => write!(out, "{}", (date.weekday()? + 1) % 7).ok()?,
        'Y' => write!(out, "{:04}", at.year()).ok()?,
        'y' => write!(out, "{:02}", at.year() % 100).ok()?,
        other => out.push(other),
    }
    Some(())
}

/// Year and number of the week, as the specifier counts.
fn week(date: Date, specifier: char) -> Option<(u16, u8)> {
    date.week(WeekMode::new(match specifier {
        'U' => 0,
        'u' => 1,
        'V' | 'X' => 2,
        _ => 3,
    }))
}

fn ordinal(day: u8) -> &'static str {
    match (day / 10, day % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}
