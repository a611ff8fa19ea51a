//! `STR_TO_DATE`: dates and times read from texts of a given format.
//!
//! A week makes a date together with its year and a day of the week: `%X %V %W`, `%x %v %W`,
//! `%Y %U %W`, `%Y %u %W`.
//! Source: MySQL manual, `STR_TO_DATE`, `DATE_FORMAT`.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use super::super::eval::convert;
use super::super::expr::{Expr, ExprKind};
use super::{Call, date_format};
use crate::error::{Code, Result};
use crate::types::temporal::{FSP_MAX, MICROS_PER_DAY};
use crate::types::{ColumnType, Date, Datetime, Time, Value};

functions! {
    /// Dates out of texts.
    TABLE of DateAndTime:
    "STR_TO_DATE" 2..2 "str, format" result_type, Always, Constant, Strict(str_to_date), "The date and time that a text of a format says.";
}

/// Which parts a format has.
fn has_any(format: &str, wanted: &str) -> bool {
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c == '%'
            && chars
                .next()
                .is_some_and(|specifier| wanted.contains(specifier))
        {
            return true;
        }
    }
    false
}

const TIME_PARTS: &str = "HhIiklprSsTf";
/// Not those of a day alone: it is then so many days of a time (`date_part_frms` in MySQL and MariaDB).
const DATE_PARTS: &str = "abcjMmUuVvWwXxYy";

fn result_type(args: &[Expr]) -> ColumnType {
    let Some(ExprKind::Literal(Value::Text(format))) = args.get(1).map(|arg| &arg.kind) else {
        return ColumnType::Datetime { fsp: FSP_MAX };
    };
    let fsp = if has_any(format, "f") { FSP_MAX } else { 0 };
    match (has_any(format, DATE_PARTS), has_any(format, TIME_PARTS)) {
        (false, true) => ColumnType::Time { fsp },
        (true, true) => ColumnType::Datetime { fsp },
        (_, false) => ColumnType::Date,
    }
}

/// What has been read.
#[derive(Debug, Default)]
struct Fields {
    year: u32,
    month: u32,
    day: u32,
    day_of_year: Option<u32>,
    hour: u32,
    is_twelve_hours: bool,
    is_afternoon: bool,
    minute: u32,
    second: u32,
    micros: u32,
    /// The day of the week, 0 for Monday.
    weekday: Option<u8>,
    week: Option<Week>,
    /// The year of `%X` (from Sunday) or `%x`.
    week_year: Option<(u32, bool)>,
}

/// A week of a year.
#[derive(Debug, Clone, Copy)]
struct Week {
    number: u32,
    /// `%U`, `%V`: it begins on Sunday.
    from_sunday: bool,
    /// `%V`, `%v`: it belongs to the year of `%X`, `%x`.
    strict: bool,
}

fn str_to_date<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (text, format) = (call.text(values, 0), call.text(values, 1));
    let mut fields = Fields::default();
    let value = read(&text, &format, &mut fields).and_then(|rest| {
        if !rest.trim_ascii().is_empty() {
            let kind = if has_any(&format, TIME_PARTS) {
                "datetime"
            } else {
                "date"
            };
            convert::truncated(call.ctx, kind, &text).ok()?;
        }
        fields.value(call)
    });
    if value.is_none() {
        convert::lost(call.ctx, Code::WrongValueForFunction, || {
            let shown = convert::shown(&text);
            format!("Incorrect datetime value: '{shown}' for function str_to_date")
        })?;
    }
    Ok(value.unwrap_or(Value::Null))
}

impl Fields {
    fn value<'a>(&self, call: &Call<'_>) -> Option<Value<'a>> {
        let hour = match (self.is_twelve_hours, self.hour) {
            (false, hour) => hour,
            (true, 12) => u32::from(self.is_afternoon) * 12,
            (true, hour) => hour + u32::from(self.is_afternoon) * 12,
        };
        let fits = hour < 24 && self.minute < 60 && self.second < 60;
        let seconds = u64::from((hour * 60 + self.minute) * 60 + self.second);
        let micros = seconds * 1_000_000 + u64::from(self.micros);
        if !fits {
            return None;
        }
        if let ColumnType::Time { fsp } = call.ty {
            let micros = u64::from(self.day) * MICROS_PER_DAY.unsigned_abs() + micros;
            return Time::from_micros(i64::try_from(micros).ok()?, *fsp).map(Value::Time);
        }
        let date = self.date()?;
        if call.ctx.mode.no_zero_date && date.is_zero()
            || call.ctx.mode.no_zero_in_date && date.has_zero_part()
        {
            return None;
        }
        Some(match call.ty {
            ColumnType::Date => Value::Date(date),
            ColumnType::Datetime { fsp } => Value::Datetime(Datetime::new(date, micros, *fsp)?),
            _ => Value::Datetime(Datetime::new(date, micros, FSP_MAX)?),
        })
    }

    fn date(&self) -> Option<Date> {
        if let Some((week, weekday)) = self.week.zip(self.weekday) {
            return self.date_of_week(week, weekday);
        }
        let year = u16::try_from(self.year).ok()?;
        match self.day_of_year {
            None => Date::new(
                year,
                u8::try_from(self.month).ok()?,
                u8::try_from(self.day).ok()?,
            ),
            Some(day) => Date::new(year, 1, 1)?.add_days(i64::from(day.checked_sub(1)?)),
        }
    }

    /// As MySQL reckons it: from the first day of the first week of the year.
    fn date_of_week(&self, week: Week, weekday: u8) -> Option<Date> {
        let year = match (week.strict, self.week_year) {
            (true, Some((year, from_sunday))) if from_sunday == week.from_sunday => year,
            (false, None) => self.year,
            (true, _) | (false, Some(_)) => return None,
        };
        let first = Date::new(u16::try_from(year).ok()?, 1, 1)?;
        let first_weekday = i64::from(first.weekday()?);
        let weekday = i64::from(weekday);
        let (begins, day) = if week.from_sunday {
            let after_sunday = (first_weekday + 1) % 7;
            let until = if after_sunday == 0 { 0 } else { 7 };
            (until - after_sunday, (weekday + 1) % 7)
        } else {
            let until = if first_weekday <= 3 { 0 } else { 7 };
            (until - first_weekday, weekday)
        };
        let days = first.to_days()? + begins + (i64::from(week.number) - 1) * 7 + day;
        Date::from_days(days)
    }

    fn read_week<'t>(&mut self, specifier: char, text: &'t str) -> Option<&'t str> {
        let from_sunday = specifier.is_ascii_uppercase();
        if matches!(specifier, 'X' | 'x') {
            let (year, rest) = digits(text, 4)?;
            self.week_year = Some((year, from_sunday));
            return Some(rest);
        }
        let (number, rest) = digits(text, 2)?;
        let strict = matches!(specifier, 'V' | 'v');
        let first = u32::from(strict);
        self.week = (first..=53).contains(&number).then_some(Week {
            number,
            from_sunday,
            strict,
        });
        self.week.map(|_| rest)
    }

    /// Reads what one specifier stands for; the rest of the text, `None` when it is not there.
    fn read_part<'t>(&mut self, specifier: char, text: &'t str) -> Option<&'t str> {
        let text = text.trim_ascii_start();
        match specifier {
            'Y' => {
                let (year, rest) = digits(text, 4)?;
                let is_short = text.len() - rest.len() <= 2;
                self.year = if is_short { full_year(year) } else { year };
                return Some(rest);
            }
            'y' => {
                return digits(text, 2).map(|(year, rest)| {
                    self.year = full_year(year);
                    rest
                });
            }
            'f' => return self.read_micros(text),
            'M' | 'b' => {
                let (month, len) = date_format::month_of_name(text, specifier == 'b')?;
                self.month = u32::from(month);
                return text.get(len..);
            }
            'W' | 'a' => {
                let (day, len) = date_format::day_of_name(text, specifier == 'a')?;
                self.weekday = Some(day);
                return text.get(len..);
            }
            'p' => return self.read_half(text),
            'D' => {
                let (day, rest) = digits(text, 2)?;
                self.day = day;
                return rest.get(2..);
            }
            'r' => return read(text, "%I:%i:%S %p", self),
            'T' => return read(text, "%H:%i:%S", self),
            'U' | 'u' | 'V' | 'v' | 'X' | 'x' => return self.read_week(specifier, text),
            'w' => {
                let (day, rest) = digits(text, 1)?;
                let day = Some(day).filter(|day| *day < 7)?;
                self.weekday = u8::try_from((day + 6) % 7).ok();
                return Some(rest);
            }
            _ => {}
        }
        let width = if specifier == 'j' { 3 } else { 2 };
        let (number, rest) = digits(text, width)?;
        match specifier {
            'c' | 'm' => self.month = number,
            'd' | 'e' => self.day = number,
            'j' => self.day_of_year = Some(number),
            'H' | 'k' => self.hour = number,
            'h' | 'I' | 'l' => {
                self.is_twelve_hours = true;
                self.hour = Some(number).filter(|number| (1..=12).contains(number))?;
            }
            'i' => self.minute = number,
            'S' | 's' => self.second = number,
            _ => return None,
        }
        Some(rest)
    }

    /// `AM` or `PM`, behind an hour of twelve.
    fn read_half<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        if !self.is_twelve_hours {
            return None;
        }
        let half = text.get(..2)?;
        self.is_afternoon = half.eq_ignore_ascii_case("PM");
        let is_half = self.is_afternoon || half.eq_ignore_ascii_case("AM");
        is_half.then(|| text.get(2..)).flatten()
    }

    fn read_micros<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let (number, rest) = digits(text, usize::from(FSP_MAX))?;
        let len = u32::try_from(text.len() - rest.len()).ok()?;
        self.micros = number * 10u32.checked_pow(u32::from(FSP_MAX).checked_sub(len)?)?;
        Some(rest)
    }
}

fn full_year(year: u32) -> u32 {
    if year < 70 { year + 2000 } else { year + 1900 }
}

/// The number in the first digits, `most` of them at most.
fn digits(text: &str, most: usize) -> Option<(u32, &str)> {
    let len = text
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    let (number, rest) = text.split_at_checked(len)?;
    number.parse().ok().map(|number| (number, rest))
}

/// Reads a text by a format; the rest of the text, `None` when they do not go together.
fn read<'t>(text: &'t str, format: &str, fields: &mut Fields) -> Option<&'t str> {
    let mut rest = text;
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        // A text may end before its format, and has said what it has.
        if rest.trim_ascii_start().is_empty() {
            break;
        }
        rest = match c {
            '%' => match chars.next()? {
                '%' => rest.strip_prefix('%')?,
                '.' => rest.trim_start_matches(|c: char| c.is_ascii_punctuation()),
                '@' => rest.trim_start_matches(char::is_alphabetic),
                '#' => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
                specifier => fields.read_part(specifier, rest)?,
            },
            blank if blank.is_ascii_whitespace() => rest.trim_ascii_start(),
            other => rest.trim_ascii_start().strip_prefix(other)?,
        };
    }
    Some(rest)
}
