//! `DATE`, `TIME`, `DATETIME`, `TIMESTAMP`: MySQL's calendar values, zero dates included.
//!
//! Not here: which values a column takes (`coerce`) and `DATE_FORMAT` (`sql/functions`).
//! [`calendar`] counts days and weeks, [`parse`] reads texts and numbers, [`zone`] knows offsets.

mod arithmetic;
pub mod calendar;
mod number;
pub mod parse;
mod text;
pub mod zone;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

pub use parse::{DateRules, Parsed, ParsedDatetime};
pub use zone::Zone;

/// Microseconds of one second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds of one day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// The last year of a date.
pub const YEAR_MAX: u16 = 9999;
/// The most digits after the second.
pub const FSP_MAX: u8 = 6;
/// Bits of [`Datetime::packed`] below the date; a day has fewer than 2^37 microseconds.
const MICROS_OF_DAY_BITS: u32 = 37;

/// A calendar date, from `0000-00-00` to `9999-12-31`. Month and day may be zero, each or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// `year << 9 | month << 5 | day`, so that numbers order as dates.
    packed: u32,
}

impl Date {
    /// `0000-00-00`.
    pub const ZERO: Date = Date { packed: 0 };
    /// `9999-12-31`.
    pub const MAX: Date = Date {
        packed: (9999 << 9) | (12 << 5) | 31,
    };

    /// The date, when the calendar has it; zero month and day are allowed.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        let fits = year <= YEAR_MAX && month <= 12 && day <= calendar::days_in_month(year, month);
        let packed = (u32::from(year) << 9) | (u32::from(month) << 5) | u32::from(day);
        fits.then_some(Date { packed })
    }

    /// Numbers that order as dates, below 2^23.
    pub fn packed(&self) -> u32 {
        self.packed
    }

    /// The reverse of [`Date::packed`]; `None` for a number that is no date.
    pub fn from_packed(packed: u32) -> Option<Date> {
        let year = u16::try_from(packed >> 9).ok()?;
        Date::new(year, low_bits(packed >> 5, 15), low_bits(packed, 31))
    }

    /// 0 to 9999.
    pub fn year(&self) -> u16 {
        u16::try_from(self.packed >> 9).unwrap_or(YEAR_MAX)
    }

    /// 0 to 12.
    pub fn month(&self) -> u8 {
        low_bits(self.packed >> 5, 15)
    }

    /// 0 to 31.
    pub fn day(&self) -> u8 {
        low_bits(self.packed, 31)
    }

    /// Whether this is `0000-00-00`.
    pub fn is_zero(&self) -> bool {
        self.packed == 0
    }

    /// Whether month or day is zero: not a day of the calendar.
    pub fn has_zero_part(&self) -> bool {
        self.month() == 0 || self.day() == 0
    }

    /// Midnight of this date.
    pub fn at_midnight(self) -> Datetime {
        Datetime {
            date: self,
            micros_of_day: 0,
            fsp: 0,
        }
    }
}

fn low_bits(number: u32, mask: u8) -> u8 {
    u8::try_from(number & u32::from(mask)).unwrap_or(mask)
}

/// A signed span of time of at most `838:59:59.000000`. Equality ignores `fsp`.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    micros: i64,
    fsp: u8,
}

impl Time {
    /// The longest span, `838:59:59`, in microseconds.
    pub const MICROS_MAX: i64 = (838 * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND;
    /// `00:00:00`.
    pub const ZERO: Time = Time { micros: 0, fsp: 0 };

    /// A span shown with `fsp` digits; `None` when it is too long or `fsp` is over 6. What `fsp`
    /// does not show is kept: see [`Time::round`].
    pub fn from_micros(micros: i64, fsp: u8) -> Option<Time> {
        let fits = micros.abs() <= Time::MICROS_MAX && fsp <= FSP_MAX;
        fits.then_some(Time { micros, fsp })
    }

    /// The nearest span there is, and whether it is another one.
    pub fn clipped(micros: i64, fsp: u8) -> (Time, bool) {
        let kept = micros.clamp(-Time::MICROS_MAX, Time::MICROS_MAX);
        (
            Time {
                micros: kept,
                fsp: fsp.min(FSP_MAX),
            },
            kept != micros,
        )
    }

    /// The span, in microseconds.
    pub fn total_micros(&self) -> i64 {
        self.micros
    }

    /// Digits shown after the second.
    pub fn fsp(&self) -> u8 {
        self.fsp
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.micros < 0
    }

    /// Hours, without sign; up to 838.
    pub fn hour(&self) -> u16 {
        u16::try_from(self.micros.unsigned_abs() / (3_600_000_000)).unwrap_or(u16::MAX)
    }

    /// Minutes of the hour, without sign.
    pub fn minute(&self) -> u8 {
        clock_part(self.micros.unsigned_abs(), 60_000_000, 60)
    }

    /// Seconds of the minute, without sign.
    pub fn second(&self) -> u8 {
        clock_part(self.micros.unsigned_abs(), 1_000_000, 60)
    }

    /// Microseconds of the second, without sign.
    pub fn micros(&self) -> u32 {
        micros_of_second(self.micros.unsigned_abs())
    }
}

/// `micros / unit`, modulo `most`, which is at most 60.
fn clock_part(micros: u64, unit: u64, most: u64) -> u8 {
    u8::try_from(micros / unit % most).unwrap_or(u8::MAX)
}

fn micros_of_second(micros: u64) -> u32 {
    u32::try_from(micros % 1_000_000).unwrap_or(u32::MAX)
}

/// A date and a time of day, without zone. Equality ignores `fsp`.
#[derive(Debug, Clone, Copy)]
pub struct Datetime {
    date: Date,
    /// Below [`MICROS_PER_DAY`].
    micros_of_day: u64,
    /// At most [`FSP_MAX`].
    fsp: u8,
}

impl Datetime {
    /// `0000-00-00 00:00:00`.
    pub const ZERO: Datetime = Datetime {
        date: Date::ZERO,
        micros_of_day: 0,
        fsp: 0,
    };

    /// A date and the microseconds since its midnight, shown with `fsp` digits; `None` when these
    /// are a day or more, or `fsp` is over 6.
    pub fn new(date: Date, micros_of_day: u64, fsp: u8) -> Option<Datetime> {
        let fits = micros_of_day < MICROS_PER_DAY.unsigned_abs() && fsp <= FSP_MAX;
        fits.then_some(Datetime {
            date,
            micros_of_day,
            fsp,
        })
    }

    /// Numbers that order as datetimes, below 2^60; `fsp` is not in them.
    pub fn packed(&self) -> u64 {
        (u64::from(self.date.packed) << MICROS_OF_DAY_BITS) | self.micros_of_day
    }

    /// The reverse of [`Datetime::packed`]; `None` for a number that is no datetime.
    pub fn from_packed(packed: u64, fsp: u8) -> Option<Datetime> {
        let date = u32::try_from(packed >> MICROS_OF_DAY_BITS)
            .ok()
            .and_then(Date::from_packed)?;
        Datetime::new(date, packed & ((1 << MICROS_OF_DAY_BITS) - 1), fsp)
    }

    /// The date.
    pub fn date(&self) -> Date {
        self.date
    }

    /// The time of day.
    pub fn time(&self) -> Time {
        let micros = i64::try_from(self.micros_of_day).unwrap_or(0);
        Time {
            micros,
            fsp: self.fsp,
        }
    }

    /// Microseconds since midnight.
    pub fn micros_of_day(&self) -> u64 {
        self.micros_of_day
    }

    /// Digits shown after the second.
    pub fn fsp(&self) -> u8 {
        self.fsp
    }

    /// 0 to 9999.
    pub fn year(&self) -> u16 {
        self.date.year()
    }

    /// 0 to 12.
    pub fn month(&self) -> u8 {
        self.date.month()
    }

    /// 0 to 31.
    pub fn day(&self) -> u8 {
        self.date.day()
    }

    /// 0 to 23.
    pub fn hour(&self) -> u8 {
        clock_part(self.micros_of_day, 3_600_000_000, 24)
    }

    /// 0 to 59.
    pub fn minute(&self) -> u8 {
        clock_part(self.micros_of_day, 60_000_000, 60)
    }

    /// 0 to 59.
    pub fn second(&self) -> u8 {
        clock_part(self.micros_of_day, 1_000_000, 60)
    }

    /// 0 to 999 999.
    pub fn micros(&self) -> u32 {
        micros_of_second(self.micros_of_day)
    }

    /// Whether this is `0000-00-00 00:00:00`.
    pub fn is_zero(&self) -> bool {
        self.date.is_zero() && self.micros_of_day == 0
    }
}

/// A point in time: microseconds since 1970-01-01 00:00:00 UTC. Equality ignores `fsp`.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp {
    /// 0 stands for the zero timestamp `0000-00-00 00:00:00`.
    micros: i64,
    /// At most [`FSP_MAX`].
    fsp: u8,
}

impl Timestamp {
    /// `0000-00-00 00:00:00`, in every zone.
    pub const ZERO: Timestamp = Timestamp { micros: 0, fsp: 0 };
    /// `1970-01-01 00:00:01` UTC, the first of a `TIMESTAMP` column.
    pub const MICROS_MIN: i64 = MICROS_PER_SECOND;
    /// `2038-01-19 03:14:07.999999` UTC, the last of a `TIMESTAMP` column.
    pub const MICROS_MAX: i64 = (1 << 31) * MICROS_PER_SECOND - 1;

    /// A point shown with `fsp` digits; `None` when `fsp` is over 6 or the point is outside
    /// MySQL's range and not zero.
    pub fn from_micros(micros: i64, fsp: u8) -> Option<Timestamp> {
        let in_range = (Timestamp::MICROS_MIN..=Timestamp::MICROS_MAX).contains(&micros);
        ((in_range || micros == 0) && fsp <= FSP_MAX).then_some(Timestamp { micros, fsp })
    }

    /// The present moment of a clock: as [`Timestamp::from_micros`], clamped into the range.
    pub fn from_clock(micros: i64, fsp: u8) -> Timestamp {
        let micros = micros.clamp(Timestamp::MICROS_MIN, Timestamp::MICROS_MAX);
        Timestamp {
            micros,
            fsp: fsp.min(FSP_MAX),
        }
    }

    /// Microseconds since 1970; 0 is the zero timestamp.
    pub fn total_micros(&self) -> i64 {
        self.micros
    }

    /// Digits shown after the second.
    pub fn fsp(&self) -> u8 {
        self.fsp
    }

    /// Whether this is the zero timestamp.
    pub fn is_zero(&self) -> bool {
        self.micros == 0
    }
}

/// Equality, order and hash by one number, whatever `fsp` is.
macro_rules! ordered_by {
    ($($type:ident . $number:ident;)*) => {$(
        impl PartialEq for $type {
            fn eq(&self, other: &$type) -> bool {
                self.$number() == other.$number()
            }
        }
        impl Eq for $type {}
        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &$type) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for $type {
            fn cmp(&self, other: &$type) -> Ordering {
                self.$number().cmp(&other.$number())
            }
        }
        impl Hash for $type {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.$number().hash(state);
            }
        }
    )*};
}

ordered_by! {
    Time.total_micros;
    Datetime.packed;
    Timestamp.total_micros;
}
