//! What is measured of statements: for `/metrics`, SHOW STATUS, the slow query log and the digests of
//! `performance_schema`. It changes no answer.
//!
//! - `watch`: a session's statement from its first byte to its last row;
//! - [`verb`], [`counts`], [`duration`]: how many there were of each kind, how long they took, how many
//!   failed and why;
//! - [`digests`]: the same for all that differ in literals alone;
//! - [`slow`]: those that took long, in memory and in a file.
//!
//! Hot: every statement passes here once, at its end.

pub mod counts;
pub mod digests;
pub mod duration;
pub mod slow;
pub mod verb;
pub(super) mod watch;

use std::path::PathBuf;
use std::time::Instant;

use crate::error::Code;
use crate::types::Timestamp;
use counts::Counts;
use digests::Digests;
use slow::Slow;
use verb::Verb;

const NANOS_PER_MICRO: u64 = 1000;

/// What was measured since the server started.
#[derive(Debug)]
pub struct Monitor {
    /// By kind of statement.
    pub counts: Counts,
    /// By digest.
    pub digests: Digests,
    /// Those that took long.
    pub slow: Slow,
}

/// A statement that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// What kind.
    pub verb: Verb,
    /// Whether it was prepared before.
    pub is_execution: bool,
    /// How long it took, until its last row was given to the network.
    pub nanos: u64,
    /// Of which it waited for row locks.
    pub lock_nanos: u64,
    /// Rows that went to the client.
    pub rows_sent: u64,
    /// Rows that were read for it.
    pub rows_examined: u64,
    /// Rows that it changed.
    pub rows_affected: u64,
    /// How many warnings it left.
    pub warnings: u16,
    /// How it failed, if it did.
    pub error: Option<Code>,
}

impl Event {
    /// One that took no time and did nothing.
    pub fn of(verb: Verb) -> Event {
        Event {
            verb,
            is_execution: false,
            nanos: 0,
            lock_nanos: 0,
            rows_sent: 0,
            rows_examined: 0,
            rows_affected: 0,
            warnings: 0,
            error: None,
        }
    }
}

impl Monitor {
    /// Nothing was measured yet. The slow query log lies in this directory, if it is not told otherwise.
    pub(super) fn new(data_dir: Option<PathBuf>) -> Monitor {
        Monitor {
            counts: Counts::default(),
            digests: Digests::default(),
            slow: Slow::new(data_dir),
        }
    }
}

/// A clock for what is noted often and read rarely: it counts from its birth, by the clock that is never
/// set, and is turned into wall time when somebody looks.
#[derive(Debug, Clone, Copy)]
struct Clock(Instant);

impl Default for Clock {
    fn default() -> Clock {
        Clock(Instant::now())
    }
}

impl Clock {
    /// Nanoseconds until `at`.
    fn nanos_until(self, at: Instant) -> u64 {
        nanos(at.saturating_duration_since(self.0))
    }

    /// What both clocks show now.
    fn read(self) -> Reading {
        Reading {
            nanos: nanos(self.0.elapsed()),
            wall_micros: super::now().total_micros(),
        }
    }
}

/// A [`Clock`] beside the wall clock at one moment. Times that are compared are told by the same one: by
/// another the same time may come out as another microsecond.
#[derive(Debug, Clone, Copy)]
struct Reading {
    nanos: u64,
    wall_micros: i64,
}

impl Reading {
    /// What the wall clock would have shown, as it goes now.
    fn wall(self, at_nanos: u64) -> Timestamp {
        let ago = self.nanos.saturating_sub(at_nanos) / NANOS_PER_MICRO;
        let ago = i64::try_from(ago).unwrap_or(i64::MAX);
        let micros = self.wall_micros.saturating_sub(ago);
        Timestamp::from_micros(micros, 6).unwrap_or(Timestamp::ZERO)
    }
}

/// A duration as it is kept.
fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
