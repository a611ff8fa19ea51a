//! How calendar values are shown.

use std::fmt::{Display, Formatter, Result};

use super::{Date, Datetime, FSP_MAX, Time, Timestamp, Zone};

impl Display for Date {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "{:04}-{:02}-{:02}",
            self.year(),
            self.month(),
            self.day()
        )
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let sign = if self.is_negative() { "-" } else { "" };
        let (hour, minute, second) = (self.hour(), self.minute(), self.second());
        write!(f, "{sign}{hour:02}:{minute:02}:{second:02}")?;
        fraction(f, self.micros(), self.fsp)
    }
}

impl Display for Datetime {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (hour, minute, second) = (self.hour(), self.minute(), self.second());
        write!(f, "{} {hour:02}:{minute:02}:{second:02}", self.date)?;
        fraction(f, self.micros(), self.fsp)
    }
}

/// In UTC; what a client sees goes through its session's [`Zone`] first.
impl Display for Timestamp {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        Zone::UTC.to_datetime(*self).fmt(f)
    }
}

/// The point and the first `fsp` of six digits; nothing for 0.
fn fraction(f: &mut Formatter<'_>, micros: u32, fsp: u8) -> Result {
    if fsp == 0 {
        return Ok(());
    }
    let shown = micros / 10u32.pow(u32::from(FSP_MAX.saturating_sub(fsp)));
    let width = usize::from(fsp);
    write!(f, ".{shown:0width$}")
}
