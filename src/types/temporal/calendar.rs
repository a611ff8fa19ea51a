//! Counting days and weeks, with MySQL's day numbers: 0000-01-01 is day 1, year 0 has 365 days.
//! Sources: MySQL manual, "Date and Time Functions", `TO_DAYS`, `WEEK`, `YEARWEEK`.

use super::{Date, YEAR_MAX};

/// The day number of `0001-01-01`, the first that `FROM_DAYS` answers with a date.
const FIRST_DAY: i64 = 366;
/// The day number of `9999-12-31`.
const LAST_DAY: i64 = 3_652_424;

/// How `WEEK(date, mode)` counts: the bits of MySQL's modes 0 to 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekMode {
    starts_monday: bool,
    /// Days before week 1 belong to the last week of the year before, not to week 0.
    spans_years: bool,
    /// Week 1 has four days or more in its year; else it begins with its first weekday.
    four_days: bool,
}

impl WeekMode {
    /// ISO 8601's weeks, mode 3.
    pub const ISO: WeekMode = WeekMode {
        starts_monday: true,
        spans_years: true,
        four_days: true,
    };

    /// Mode 0 to 7; higher bits are ignored.
    pub fn new(mode: u8) -> WeekMode {
        let starts_monday = mode & 1 != 0;
        let spans_years = mode & 2 != 0;
        let four_days = starts_monday != (mode & 4 != 0);
        WeekMode {
            starts_monday,
            spans_years,
            four_days,
        }
    }

    /// The same weeks, with those before week 1 counted in the year before, as `YEARWEEK` does.
    #[must_use]
    pub fn spanning_years(self) -> WeekMode {
        WeekMode {
            spans_years: true,
            ..self
        }
    }
}

/// Whether February has 29 days. Year 0 is a common year to MySQL.
pub fn is_leap_year(year: u16) -> bool {
    year != 0 && year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days of a month; of month 0, as many as any month has.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days before the first of January of `year` (0 to 10000).
fn days_before_year(year: i64) -> i64 {
    let last = (year - 1).max(0);
    year * 365 + last / 4 - last / 100 + last / 400
}

/// Days of the year before the first of `month`.
fn days_before_month(year: u16, month: u8) -> i64 {
    (1..month)
        .map(|earlier| i64::from(days_in_month(year, earlier)))
        .sum()
}

impl Date {
    /// `TO_DAYS`; `None` when month or day is zero.
    pub fn to_days(&self) -> Option<i64> {
        (!self.has_zero_part()).then(|| self.day_number())
    }

    fn day_number(self) -> i64 {
        days_before_year(i64::from(self.year())) + i64::from(self.day_of_year())
    }

    /// The date of a day number; `None` outside `0001-01-01` to `9999-12-31`.
    pub fn from_days(days: i64) -> Option<Date> {
        if !(FIRST_DAY..=LAST_DAY).contains(&days) {
            return None;
        }
        // 400 years have 146097 days: the estimate is this year or the next.
        let estimate = (days - 1) * 400 / 146_097;
        let year = [estimate + 1, estimate, estimate - 1]
            .into_iter()
            .find(|&year| days_before_year(year) < days)?;
        let (mut left, year) = (days - days_before_year(year), u16::try_from(year).ok()?);
        for month in 1..=12 {
            let length = i64::from(days_in_month(year, month));
            if left <= length {
                return Date::new(year, month, u8::try_from(left).ok()?);
            }
            left -= length;
        }
        None
    }

    /// `DAYOFYEAR`: 1 to 366.
    pub fn day_of_year(&self) -> u16 {
        let days = days_before_month(self.year(), self.month()) + i64::from(self.day());
        u16::try_from(days).unwrap_or(0)
    }

    /// `WEEKDAY`: Monday is 0; `None` when month or day is zero.
    pub fn weekday(&self) -> Option<u8> {
        // Day 2, 0000-01-02, is a Monday of MySQL's calendar.
        self.to_days().map(|days| small((days + 5).rem_euclid(7)))
    }

    /// The last day of the month; `None` when the month is zero.
    pub fn last_day(&self) -> Option<Date> {
        let (year, month) = (self.year(), self.month());
        (month != 0)
            .then(|| Date::new(year, month, days_in_month(year, month)))
            .flatten()
    }

    /// `QUARTER`: 1 to 4, 0 for month 0.
    pub fn quarter(&self) -> u8 {
        self.month().div_ceil(3)
    }

    /// The year and number of the week; `None` when month or day is zero.
    pub fn week(&self, mode: WeekMode) -> Option<(u16, u8)> {
        let (day, year) = (self.to_days()?, i64::from(self.year()));
        let start = first_week_start(year, mode);
        let (year, start) = if day < start {
            if !mode.spans_years {
                return Some((self.year(), 0));
            }
            (year - 1, first_week_start(year - 1, mode))
        } else {
            let next = first_week_start(year + 1, mode);
            if mode.spans_years && next <= day {
                (year + 1, next)
            } else {
                (year, start)
            }
        };
        Some((
            u16::try_from(year).unwrap_or(0).min(YEAR_MAX + 1),
            small((day - start) / 7 + 1),
        ))
    }
}

/// The day number on which week 1 of a year begins; it may lie in the year before.
fn first_week_start(year: i64, mode: WeekMode) -> i64 {
    let first = days_before_year(year) + 1;
    let weekday = (first + if mode.starts_monday { 5 } else { 6 }).rem_euclid(7);
    let belongs = if mode.four_days {
        weekday < 4
    } else {
        weekday == 0
    };
    if belongs {
        first - weekday
    } else {
        first - weekday + 7
    }
}

fn small(number: i64) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}
