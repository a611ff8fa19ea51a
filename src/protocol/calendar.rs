//! Dates, times and decimals between their wire fields and [`Value`].
//!
//! The rules of the calendar are in `types`; here is only what the wire's fields are called.

use std::fmt;

use crate::types::Value;

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

pub(super) fn decimal(_text: &str) -> Option<Value<'static>> {
    None
}

pub(super) fn date(_date: DateFields) -> Option<Value<'static>> {
    None
}

pub(super) fn datetime(_moment: MomentFields, _fsp: u8) -> Option<Value<'static>> {
    None
}

pub(super) fn time(_n: bool, _days: u32, _clock: ClockFields, _fsp: u8) -> Option<Value<'static>> {
    None
}

pub(super) fn put_value_text(out: &mut Vec<u8>, value: &Value<'_>) {
    use std::io::Write;
    match value {
        Value::Double(number) => drop(write!(out, "{number}")),
        Value::Float(number) => drop(write!(out, "{number}")),
        _ => {}
    }
}

pub(super) fn put_binary_moment(_out: &mut Vec<u8>, _value: &Value<'_>) -> bool {
    false
}

pub(super) fn put_binary_time(_out: &mut Vec<u8>, _value: &Value<'_>) -> bool {
    false
}
