//! Adding to dates and times, rounding them, and turning one into another.

use super::calendar::days_in_month;
use super::{Date, Datetime, FSP_MAX, MICROS_PER_DAY, Time, Timestamp, YEAR_MAX};

/// `micros` rounded half away from zero to `fsp` digits after the second.
fn round_micros(micros: i64, fsp: u8) -> i64 {
    let unit = unit_of(fsp);
    let rest = micros % unit;
    let up = if unit <= rest.abs() * 2 {
        unit * rest.signum()
    } else {
        0
    };
    micros - rest + up
}

/// Microseconds of the last digit that `fsp` shows.
fn unit_of(fsp: u8) -> i64 {
    10i64.pow(u32::from(FSP_MAX.saturating_sub(fsp)))
}

impl Date {
    /// Later by so many days; `None` outside year 1 to 9999 or when a part is zero.
    pub fn add_days(self, days: i64) -> Option<Date> {
        self.to_days()
            .and_then(|day| day.checked_add(days))
            .and_then(Date::from_days)
    }

    /// Later by so many months, on the last day of the month at most; `None` outside year 0 to
    /// 9999 or when the month is zero.
    pub fn add_months(self, months: i64) -> Option<Date> {
        let month = i64::from(self.month())
            .checked_sub(1)
            .filter(|&month| 0 <= month)?;
        let total = (i64::from(self.year()) * 12 + month).checked_add(months)?;
        let year = u16::try_from(total.div_euclid(12))
            .ok()
            .filter(|&year| year <= YEAR_MAX)?;
        let month = u8::try_from(total.rem_euclid(12) + 1).ok()?;
        Date::new(year, month, self.day().min(days_in_month(year, month)))
    }
}

impl Datetime {
    /// A date and a span of time, which may pass midnight in both directions; `None` outside year
    /// 1 to 9999 then, and for a zero date that would have to move.
    pub fn from_date_time(date: Date, time: Time) -> Option<Datetime> {
        date.at_midnight()
            .add_micros(time.total_micros())?
            .with_fsp(time.fsp())
    }

    /// Shown with `fsp` digits; nothing is rounded. `None` over 6.
    pub fn with_fsp(self, fsp: u8) -> Option<Datetime> {
        Datetime::new(self.date, self.micros_of_day, fsp)
    }

    /// Later by so many microseconds; `None` outside year 1 to 9999, or when a zero date would
    /// change its day.
    pub fn add_micros(self, micros: i64) -> Option<Datetime> {
        let total = i64::try_from(self.micros_of_day)
            .ok()?
            .checked_add(micros)?;
        let days = total.div_euclid(MICROS_PER_DAY);
        let date = if days == 0 {
            self.date
        } else {
            self.date.add_days(days)?
        };
        Datetime::new(
            date,
            total.rem_euclid(MICROS_PER_DAY).unsigned_abs(),
            self.fsp,
        )
    }

    /// Later by so many days; `None` as for [`Date::add_days`].
    pub fn add_days(self, days: i64) -> Option<Datetime> {
        self.date
            .add_days(days)
            .map(|date| Datetime { date, ..self })
    }

    /// Later by so many months; `None` as for [`Date::add_months`].
    pub fn add_months(self, months: i64) -> Option<Datetime> {
        self.date
            .add_months(months)
            .map(|date| Datetime { date, ..self })
    }

    /// Microseconds from `earlier` to `self`; `None` when either is a zero date.
    pub fn micros_since(&self, earlier: Datetime) -> Option<i64> {
        let days = self.date.to_days()? - earlier.date.to_days()?;
        let micros = i64::try_from(self.micros_of_day).ok()?;
        Some(days * MICROS_PER_DAY + micros - i64::try_from(earlier.micros_of_day).ok()?)
    }

    /// Rounded to `fsp` digits, carrying up to the year; `None` past `9999-12-31` and when a zero
    /// date would change its day.
    pub fn round(self, fsp: u8) -> Option<Datetime> {
        let fsp = fsp.min(FSP_MAX);
        let micros = i64::try_from(self.micros_of_day).ok()?;
        self.add_micros(round_micros(micros, fsp) - micros)?
            .with_fsp(fsp)
    }

    /// Cut off after `fsp` digits.
    #[must_use]
    pub fn truncate(self, fsp: u8) -> Datetime {
        let rest = self.micros_of_day % unit_of(fsp).unsigned_abs();
        Datetime {
            micros_of_day: self.micros_of_day - rest,
            fsp: fsp.min(FSP_MAX),
            ..self
        }
    }

    /// The date, rounded by the time of day's fraction of a second as MySQL converts; the
    /// fraction is cut off where rounding up leaves the calendar.
    pub fn to_date_rounded(&self) -> Date {
        self.round(0).unwrap_or(*self).date
    }
}

impl Time {
    /// Rounded to `fsp` digits; past the limit, the limit.
    #[must_use]
    pub fn round(self, fsp: u8) -> Time {
        Time::clipped(round_micros(self.micros, fsp.min(FSP_MAX)), fsp).0
    }

    /// Cut off after `fsp` digits.
    #[must_use]
    pub fn truncate(self, fsp: u8) -> Time {
        let micros = self.micros - self.micros % unit_of(fsp);
        Time {
            micros,
            fsp: fsp.min(FSP_MAX),
        }
    }

    /// Shown with `fsp` digits; nothing is rounded. `None` over 6.
    pub fn with_fsp(self, fsp: u8) -> Option<Time> {
        Time::from_micros(self.micros, fsp)
    }
}

impl Timestamp {
    /// Rounded to `fsp` digits; `None` past the end of the range.
    pub fn round(self, fsp: u8) -> Option<Timestamp> {
        let fsp = fsp.min(FSP_MAX);
        Timestamp::from_micros(round_micros(self.micros, fsp), fsp)
    }

    /// Cut off after `fsp` digits.
    #[must_use]
    pub fn truncate(self, fsp: u8) -> Timestamp {
        let micros = self.micros - self.micros % unit_of(fsp);
        Timestamp {
            micros,
            fsp: fsp.min(FSP_MAX),
        }
    }
}
