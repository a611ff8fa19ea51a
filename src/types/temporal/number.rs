//! Calendar values as numbers: `YYYYMMDD`, `YYYYMMDDhhmmss`, `HHMMSS`, in both directions.
//! Source: MySQL manual, "Date and Time Literals" and "Conversion Between Date and Time Types".

use super::parse::{DateRules, Parsed};
use super::{Date, Datetime, FSP_MAX, MICROS_PER_SECOND, Time};
use crate::types::Decimal;

impl Date {
    /// `YYYYMMDD`.
    pub fn to_number(&self) -> u64 {
        u64::from(self.year()) * 10_000 + u64::from(self.month()) * 100 + u64::from(self.day())
    }
}

impl Datetime {
    /// `YYYYMMDDhhmmss`, without fraction.
    pub fn to_number(&self) -> u64 {
        let clock = u64::from(self.hour()) * 10_000
            + u64::from(self.minute()) * 100
            + u64::from(self.second());
        self.date.to_number() * 1_000_000 + clock
    }

    /// `YYYYMMDDhhmmss` with `fsp` digits after the point.
    pub fn to_decimal(&self) -> Decimal {
        with_fraction(i128::from(self.to_number()), self.micros(), self.fsp)
    }

    /// Reads a whole number: `YYMMDD`, `YYYYMMDD`, `YYMMDDhhmmss` or `YYYYMMDDhhmmss`; 0 is the
    /// zero date. Tells also whether it had a time.
    pub fn from_number(number: u64, rules: DateRules) -> Option<(Datetime, bool)> {
        const SECONDS: u64 = 1_000_000;
        let full = match number {
            0 => 0,
            101..=691_231 => (number + 20_000_000) * SECONDS,
            700_101..=991_231 => (number + 19_000_000) * SECONDS,
            10_000_101..=99_991_231 => number * SECONDS,
            101_000_000..=691_231_235_959 => number + 20_000_000_000_000,
            700_101_000_000..=991_231_235_959 => number + 19_000_000_000_000,
            10_000_101_000_000..=99_991_231_235_959 => number,
            _ => return None,
        };
        let (date, clock) = (full / SECONDS, full % SECONDS);
        let date = Date::new(
            u16::try_from(date / 10_000).ok()?,
            u8::try_from(date / 100 % 100).ok()?,
            u8::try_from(date % 100).ok()?,
        )?;
        let micros = clock_micros(clock).filter(|_| clock < 240_000)?;
        let value = Datetime::new(date, micros, 0)?;
        rules.allow(date).then_some((value, 101_000_000 <= number))
    }

    /// As [`Datetime::from_number`], with a fraction of a second.
    pub fn from_decimal(number: Decimal, rules: DateRules) -> Option<(Datetime, bool)> {
        let whole = u64::try_from(number.trunc_to_i128()).ok()?;
        let (value, has_time) = Datetime::from_number(whole, rules)?;
        let micros = fraction_micros(number).filter(|_| has_time).unwrap_or(0);
        Some((
            value
                .add_micros(micros)?
                .with_fsp(number.scale().min(FSP_MAX))?,
            has_time,
        ))
    }
}

impl Time {
    /// `HHMMSS`, signed, without fraction.
    pub fn to_number(&self) -> i64 {
        let clock = i64::from(self.hour()) * 10_000
            + i64::from(self.minute()) * 100
            + i64::from(self.second());
        if self.is_negative() { -clock } else { clock }
    }

    /// `HHMMSS`, signed, with `fsp` digits after the point.
    pub fn to_decimal(&self) -> Decimal {
        let magnitude = with_fraction(i128::from(self.to_number().abs()), self.micros(), self.fsp);
        if self.is_negative() {
            magnitude.neg()
        } else {
            magnitude
        }
    }

    /// Reads `HHMMSS`, or the time of `YYYYMMDDhhmmss`; a longer span is clipped and says so.
    pub fn from_number(number: i64) -> Option<Parsed<Time>> {
        const LARGEST: u64 = 8_385_959;
        let size = number.unsigned_abs();
        if LARGEST < size {
            let rules = DateRules::LENIENT;
            let full = Datetime::from_number(size, rules).filter(|_| 10_000_000_000 <= size);
            if let Some((value, _)) = full.filter(|_| 0 < number) {
                return Some(Parsed {
                    value: value.time(),
                    is_truncated: false,
                });
            }
            let micros = Time::MICROS_MAX * number.signum();
            return Some(Parsed {
                value: Time::clipped(micros, 0).0,
                is_truncated: true,
            });
        }
        let micros = i64::try_from(clock_micros(size)?).ok()? * number.signum();
        Some(Parsed {
            value: Time::from_micros(micros, 0)?,
            is_truncated: false,
        })
    }

    /// As [`Time::from_number`], with a fraction of a second.
    pub fn from_decimal(number: Decimal) -> Option<Parsed<Time>> {
        let whole = i64::try_from(number.trunc_to_i128()).unwrap_or(i64::MAX);
        let parsed = Time::from_number(whole)?;
        let micros = parsed.value.total_micros() + fraction_micros(number).unwrap_or(0);
        let (value, is_clipped) = Time::clipped(micros, number.scale());
        Some(Parsed {
            value,
            is_truncated: parsed.is_truncated || is_clipped,
        })
    }
}

/// `hhmmss` in microseconds; `None` for 60 minutes or seconds and more.
fn clock_micros(clock: u64) -> Option<u64> {
    let (hours, minutes, seconds) = (clock / 10_000, clock / 100 % 100, clock % 100);
    let fits = minutes < 60 && seconds < 60;
    fits.then_some((hours * 3600 + minutes * 60 + seconds) * MICROS_PER_SECOND.unsigned_abs())
}

/// The fraction of a number of seconds, signed, rounded to microseconds.
fn fraction_micros(number: Decimal) -> Option<i64> {
    let whole = Decimal::new(number.trunc_to_i128(), 0)?;
    let fraction = number.checked_sub(whole)?.rescale(FSP_MAX + 1, FSP_MAX)?;
    i64::try_from(fraction.coefficient()).ok()
}

/// A whole number and `fsp` of six digits of microseconds after the point.
fn with_fraction(whole: i128, micros: u32, fsp: u8) -> Decimal {
    let unit = 10i128.pow(u32::from(FSP_MAX.saturating_sub(fsp)));
    let scale = 10i128.pow(u32::from(fsp.min(FSP_MAX)));
    let coefficient = whole * scale + i128::from(micros) / unit;
    Decimal::new(coefficient, fsp.min(FSP_MAX)).unwrap_or(Decimal::ZERO)
}
