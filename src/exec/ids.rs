//! Ids for rows that come without: the hidden `_rowid` and `AUTO_INCREMENT` columns that spread.
//!
//! Unique, rising for each connection, and spread: five bits of shard, from the number of the
//! connection, go before the time, so that concurrent inserts write to 32 places of the table and
//! not all to its end (docs/loading.md). The rows of one connection lie in the order of their
//! inserts, which many a client takes for granted.
//! Nothing is stored: the clock restarts the sequence. Should the clock go back behind a restart,
//! an id may come twice; the insert that meets it fails its `must_be_absent` check, and
//! the statement takes new ids. Ids that are counted one by one are [`super::counters`].

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::counters::Counters;

/// Bits of shard before the sequence; the sign bit stays clear.
const SHARD_BITS: u32 = 5;
const SEQUENCE_BITS: u32 = 63 - SHARD_BITS;

/// Makes ids for the whole server.
#[derive(Debug, Default)]
pub struct Ids {
    last: AtomicU64,
    /// Those that are counted.
    pub counters: Counters,
}

impl Ids {
    /// As many new ids for a connection as are asked for: positive, never given before by this process.
    /// Those of one run follow each other, so that drivers can work out all ids of a statement from its
    /// first.
    pub fn run(&self, connection: u64, ids_count: u64) -> impl Iterator<Item = i64> + use<> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = u64::try_from(now.as_micros()).unwrap_or(0);
        let mut last = self.last.load(Ordering::Relaxed);
        let sequence = loop {
            let run = run_after(last, now, ids_count);
            match self.last.compare_exchange_weak(
                last,
                run.end.saturating_sub(1),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => break run,
                Err(seen) => last = seen,
            }
        };
        sequence.map(move |sequence| spread(sequence, connection))
    }
}

/// The numbers behind those that were given, and not before the clock.
fn run_after(last: u64, now: u64, ids_count: u64) -> Range<u64> {
    let first = now.max(last.saturating_add(1));
    first..first.saturating_add(ids_count)
}

/// Puts a shard, scattered from the connection (Fibonacci hashing), before the sequence.
fn spread(sequence: u64, connection: u64) -> i64 {
    let shard = connection.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SHARD_BITS);
    let sequence = sequence & ((1 << SEQUENCE_BITS) - 1);
    i64::try_from((shard << SEQUENCE_BITS) | sequence).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_connection_rise() {
        let ids = Ids::default();
        let made: Vec<i64> = (0..1000).flat_map(|_| ids.run(7, 1)).collect();
        assert!(made.is_sorted());
    }

    #[test]
    fn ids_of_one_statement_follow_each_other() {
        let ids = Ids::default();
        let runs = [3, 1, 100].map(|ids_count| ids.run(7, ids_count).collect::<Vec<i64>>());
        for run in &runs {
            assert!(run.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        }
        assert_eq!(runs.each_ref().map(Vec::len), [3, 1, 100]);
        assert!(runs.concat().is_sorted());
        assert_eq!(run_after(90, 50, 5), 91..96);
        assert_eq!(run_after(50, 90, 5), 90..95);
    }

    #[test]
    fn ids_are_positive_unique_and_spread() {
        let ids = Ids::default();
        let mut made: Vec<i64> = (0..10_000).flat_map(|n| ids.run(n % 100, 1)).collect();
        let shards: std::collections::HashSet<i64> =
            made.iter().map(|id| id >> SEQUENCE_BITS).collect();
        assert!(made.iter().all(|id| 0 < *id));
        assert_eq!(shards.len(), 32);
        made.sort_unstable();
        made.dedup();
        assert_eq!(made.len(), 10_000);
    }
}
