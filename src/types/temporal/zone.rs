//! Time zones: what stands between a [`Timestamp`] and the [`Datetime`] a client sees.
//!
//! The only file that names the time zone library.

use std::fmt;
use std::sync::Arc;

use jiff::civil;
use jiff::tz::TimeZone;

use super::{Date, Datetime, MICROS_PER_DAY, MICROS_PER_SECOND, Timestamp};
use crate::error::{Code, Error, Result};

/// `-13:59`, the westmost offset that MySQL takes, in seconds.
const OFFSET_MIN: i32 = -(13 * 3600 + 59 * 60);
/// `+14:00`, the eastmost offset that MySQL takes, in seconds.
const OFFSET_MAX: i32 = 14 * 3600;
/// The day number of 1970-01-01.
const EPOCH_DAY: i64 = 719_528;

/// A time zone, as `time_zone` names it.
#[derive(Debug, Clone)]
pub struct Zone(Kind);

#[derive(Debug, Clone)]
enum Kind {
    /// The counter of a shared zone would go from processor to processor with each statement of any session:
    /// so each that is made has one of its own.
    System(Arc<TimeZone>),
    /// Seconds east of UTC.
    Fixed(i32),
    Named(Arc<TimeZone>),
}

impl Zone {
    /// `+00:00`.
    pub const UTC: Zone = Zone(Kind::Fixed(0));

    /// The zone of the machine; UTC when that is unknown. Reads files: keep it.
    pub fn system() -> Zone {
        Zone(Kind::System(Arc::new(TimeZone::system())))
    }

    /// The short name of the machine's zone as of now: `UTC`, `CET`.
    pub fn system_name() -> String {
        let info = TimeZone::system();
        let info = info.to_offset_info(jiff::Timestamp::now());
        info.abbreviation().to_owned()
    }

    /// Reads `SYSTEM`, `+hh:mm` or a name such as `Asia/Shanghai`.
    ///
    /// # Errors
    /// 1298 for anything else.
    pub fn parse(text: &str) -> Result<Zone> {
        if text.eq_ignore_ascii_case("SYSTEM") {
            return Ok(Zone::system());
        }
        if let Some(seconds) = parse_offset(text) {
            return Ok(Zone(Kind::Fixed(seconds)));
        }
        // A name begins with a letter; this keeps paths out of the look-up.
        let named = text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.contains("..");
        let zone = named.then(|| TimeZone::get(text).ok()).flatten();
        zone.map(|zone| Zone(Kind::Named(Arc::new(zone))))
            .ok_or_else(|| {
                Error::new(
                    Code::UnknownTimeZone,
                    format!("Unknown or incorrect time zone: '{text}'"),
                )
            })
    }

    /// Seconds east of UTC at a moment.
    pub fn offset_seconds(&self, at: Timestamp) -> i32 {
        match &self.0 {
            Kind::Fixed(seconds) => *seconds,
            Kind::System(zone) | Kind::Named(zone) => jiff::Timestamp::from_microsecond(at.micros)
                .map_or(0, |moment| zone.to_offset(moment).seconds()),
        }
    }

    /// What clocks of this zone show at a moment. The zero timestamp is the zero datetime.
    pub fn to_datetime(&self, at: Timestamp) -> Datetime {
        if at.is_zero() {
            return Datetime {
                fsp: at.fsp,
                ..Datetime::ZERO
            };
        }
        let micros = at.micros + i64::from(self.offset_seconds(at)) * MICROS_PER_SECOND;
        let date = Date::from_days(EPOCH_DAY + micros.div_euclid(MICROS_PER_DAY));
        let micros_of_day = micros.rem_euclid(MICROS_PER_DAY).unsigned_abs();
        Datetime {
            date: date.unwrap_or(Date::ZERO),
            micros_of_day,
            fsp: at.fsp,
        }
    }

    /// The moment at which clocks of this zone show a datetime. Where they show it twice, the
    /// first; where they jump over it, [`LocalTime::Gap`] with the moment of the jump.
    pub fn to_timestamp(&self, local: Datetime) -> LocalTime {
        if local.is_zero() {
            return LocalTime::Once(Timestamp {
                fsp: local.fsp,
                ..Timestamp::ZERO
            });
        }
        let Some(naive) = micros_since_epoch(local) else {
            return LocalTime::OutOfRange;
        };
        let (offset, is_gap) = match &self.0 {
            Kind::Fixed(seconds) => (*seconds, false),
            Kind::System(zone) | Kind::Named(zone) => local_offset(zone, local),
        };
        let micros = naive - i64::from(offset) * MICROS_PER_SECOND;
        match Timestamp::from_micros(micros, local.fsp).filter(|at| !at.is_zero()) {
            Some(at) if is_gap => LocalTime::Gap(self.jump_before(at)),
            Some(at) => LocalTime::Once(at),
            None => LocalTime::OutOfRange,
        }
    }

    /// The last change of offset at or before a moment.
    fn jump_before(&self, at: Timestamp) -> Timestamp {
        let zone = match &self.0 {
            Kind::Fixed(_) => return at,
            Kind::System(zone) | Kind::Named(zone) => zone,
        };
        let after = jiff::Timestamp::from_microsecond(at.micros + 1).ok();
        let jump = after.and_then(|after| zone.preceding(after).next());
        let micros = jump.map_or(at.micros, |jump| jump.timestamp().as_microsecond());
        Timestamp::from_micros(micros, at.fsp).unwrap_or(at)
    }
}

/// The moments that a local datetime names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalTime {
    /// One moment, or the first of two.
    Once(Timestamp),
    /// None: clocks jump over it. MySQL takes the moment of the jump, with a warning.
    Gap(Timestamp),
    /// A moment that `TIMESTAMP` does not reach.
    OutOfRange,
}

impl LocalTime {
    /// The moment, adjusted out of a gap; `None` out of range.
    pub fn nearest(self) -> Option<Timestamp> {
        match self {
            LocalTime::Once(at) | LocalTime::Gap(at) => Some(at),
            LocalTime::OutOfRange => None,
        }
    }
}

/// Microseconds from 1970-01-01 00:00:00 to a datetime, both without zone.
fn micros_since_epoch(local: Datetime) -> Option<i64> {
    let days = local.date.to_days()? - EPOCH_DAY;
    Some(days * MICROS_PER_DAY + i64::try_from(local.micros_of_day).ok()?)
}

/// Offset in seconds, and whether the datetime is in a gap.
fn local_offset(zone: &TimeZone, local: Datetime) -> (i32, bool) {
    use jiff::tz::AmbiguousOffset;
    let part = |number: u8| i8::try_from(number).unwrap_or(0);
    let civil = civil::DateTime::new(
        i16::try_from(local.year()).unwrap_or(0),
        part(local.month()),
        part(local.day()),
        part(local.hour()),
        part(local.minute()),
        part(local.second()),
        0,
    );
    let Ok(civil) = civil else {
        return (0, false);
    };
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => (offset.seconds(), false),
        AmbiguousOffset::Fold { before, .. } => (before.seconds(), false),
        AmbiguousOffset::Gap { before, .. } => (before.seconds(), true),
    }
}

/// `+hh:mm`, `-h:mm`: seconds east of UTC, inside MySQL's range.
pub(super) fn parse_offset(text: &str) -> Option<i32> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let is_digits = |part: &str, len: usize| {
        (1..=len).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    if !is_digits(hours, 2) || !is_digits(minutes, 2) || minutes.len() != 2 {
        return None;
    }
    let minutes = minutes
        .parse::<i32>()
        .ok()
        .filter(|&minutes| minutes < 60)?;
    let seconds = sign * (hours.parse::<i32>().ok()? * 3600 + minutes * 60);
    (OFFSET_MIN..=OFFSET_MAX)
        .contains(&seconds)
        .then_some(seconds)
}

/// As `@@time_zone` shows it.
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::System(_) => f.write_str("SYSTEM"),
            Kind::Fixed(seconds) => {
                let sign = if *seconds < 0 { '-' } else { '+' };
                let minutes = seconds.unsigned_abs() / 60;
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            Kind::Named(zone) => f.write_str(zone.iana_name().unwrap_or("UTC")),
        }
    }
}
