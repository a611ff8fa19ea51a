//! `DATE`, `TIME`, `DATETIME`, `TIMESTAMP`: MySQL's calendar values, zero dates included.

/// A calendar date, from `0000-00-00` to `9999-12-31`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// `year << 9 | month << 5 | day`, so that numbers order as dates.
    packed: u32,
}

/// A signed span of time of at most `838:59:59.999999`.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    micros: i64,
    fsp: u8,
}

/// A date and a time of day, without zone.
#[derive(Debug, Clone, Copy)]
pub struct Datetime {
    date: Date,
    micros_of_day: u64,
    fsp: u8,
}

/// A point in time: microseconds since 1970-01-01 00:00:00 UTC.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp {
    micros: i64,
    fsp: u8,
}

/// A time zone.
#[derive(Debug, Clone)]
pub struct Zone;
