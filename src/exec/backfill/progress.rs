//! How far a build is: for SHOW INDEX, SHOW PROCESSLIST and the log.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::kv::{Key, page};

/// How often a running build writes a line to the log.
const LOG_EVERY: Duration = Duration::from_secs(5);

/// Rows of a table from which an estimate of them is used: some memtables' worth.
const ROWS_ESTIMATED_MIN: u64 = 500_000;

/// What everybody may look at.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) rows: AtomicU64,
    pub(super) percent: AtomicU8,
    pub(super) has_begun: AtomicBool,
    /// Whether it waits for room on the disk.
    pub(super) lacks_room: AtomicBool,
}

/// What the build itself keeps.
#[derive(Debug)]
pub(super) struct Meter {
    began: Instant,
    logged: Instant,
    rows: u64,
    first: Key,
    last: Key,
    /// Where this run began, from 0 to 1.
    start: f64,
    /// What the engine estimated when this run began.
    estimated: Option<Rows>,
}

/// Rows of a table, roughly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub(super) in_all: u64,
    /// Those that are not entered yet.
    pub(super) left: u64,
}

/// One line of the log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pulse {
    pub(super) rows: u64,
    pub(super) rows_per_s: f64,
    pub(super) eta_s: f64,
}

impl Meter {
    /// A build of a table between two keys that begins at `position`.
    pub(super) fn new(
        (first, last): (Key, Key),
        position: &[u8],
        estimated: Option<Rows>,
    ) -> Meter {
        let now = Instant::now();
        let mut meter = Meter {
            began: now,
            logged: now,
            rows: 0,
            first,
            last,
            start: 0.0,
            // Rows that lie in no file yet are not in an estimate: nor is a small table.
            estimated: estimated.filter(|rows| ROWS_ESTIMATED_MIN <= rows.in_all),
        };
        meter.start = meter.fraction(position);
        meter
    }

    /// So many rows more are done, up to `position`.
    pub(super) fn advance(&mut self, rows: usize, position: &[u8], shown: &Progress) {
        self.rows += u64::try_from(rows).unwrap_or(u64::MAX);
        shown.rows.store(self.rows, Ordering::Relaxed);
        // Never 100 before the end.
        let percent = (0..=98)
            .rev()
            .find(|percent| f64::from(*percent) <= 100.0 * self.fraction(position));
        shown.percent.store(percent.unwrap_or(0), Ordering::Relaxed);
    }

    /// By the number of rows where that is known, else by the key, as if keys were evenly spread.
    fn fraction(&self, position: &[u8]) -> f64 {
        let Some(estimated) = self.estimated else {
            return page::position(position, &self.first, &self.last);
        };
        let before = estimated.in_all.saturating_sub(estimated.left);
        (float(before + self.rows) / float(estimated.in_all)).min(1.0)
    }

    /// What is to be logged, if it is time to.
    pub(super) fn pulse(&mut self, position: &[u8]) -> Option<Pulse> {
        if self.logged.elapsed() < LOG_EVERY {
            return None;
        }
        self.logged = Instant::now();
        Some(self.now(position))
    }

    /// The state of now.
    pub(super) fn now(&self, position: &[u8]) -> Pulse {
        let seconds = self.began.elapsed().as_secs_f64();
        let fraction = self.fraction(position);
        let done = (fraction - self.start).max(1e-6);
        Pulse {
            rows: self.rows,
            rows_per_s: float(self.rows) / seconds.max(1e-3),
            eta_s: seconds * (1.0 - fraction) / done,
        }
    }
}

/// A number of rows for a rate.
#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn float(rows: u64) -> f64 {
    rows as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_rises_and_stays_below_a_hundred() {
        let shown = Progress::default();
        let mut meter = Meter::new((vec![0x19, 0], vec![0x19, 200]), &[], None);
        let mut seen = Vec::new();
        for at in [0, 50, 100, 200] {
            meter.advance(10, &[0x19, at], &shown);
            seen.push(shown.percent.load(Ordering::Relaxed));
        }
        assert_eq!(seen, [0, 25, 50, 98]);
        assert_eq!(shown.rows.load(Ordering::Relaxed), 40);
        assert!(meter.now(&[0x19, 200]).eta_s <= 0.0);
    }

    #[test]
    fn rows_count_where_they_are_estimated() {
        let rows = Rows {
            in_all: 1_000_000,
            left: 600_000,
        };
        let keys = (vec![0x19, 0], vec![0x19, 200]);
        let shown = Progress::default();
        let mut meter = Meter::new(keys, &[0x19, 1], Some(rows));
        meter.advance(100_000, &[0x19, 199], &shown);
        assert_eq!(shown.percent.load(Ordering::Relaxed), 50);
        meter.advance(900_000, &[0x19, 200], &shown);
        assert_eq!(shown.percent.load(Ordering::Relaxed), 98);
    }
}
