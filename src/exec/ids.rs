//! Ids for rows that come without: the hidden `_rowid` and `AUTO_INCREMENT` columns that spread.
//!
//! Unique, rising for each connection, and spread: five bits of shard, from the number of the
//! connection, go before the time, so that concurrent inserts write to 32 places of the table and
//! not all to its end (docs/loading.md). The rows of one connection lie in the order of their
//! inserts, which many a client takes for granted.
//! Nothing is stored: the clock restarts the sequence. Should the clock go back behind a restart,
//! an id may come twice; the insert that meets it fails its `must_be_absent` check, and
//! the statement takes new ids. Ids that are counted one by one are [`super::counters`].

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
    /// A new id for a connection: positive, never given before by this process.
    pub fn next(&self, connection: u64) -> i64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = u64::try_from(now.as_micros()).unwrap_or(0);
        let mut last = self.last.load(Ordering::Relaxed);
        let sequence = loop {
            let next = now.max(last + 1);
            match self
                .last
                .compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => break next,
                Err(seen) => last = seen,
            }
        };
        spread(sequence, connection)
    }
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
        let made: Vec<i64> = (0..1000).map(|_| ids.next(7)).collect();
        assert!(made.is_sorted());
    }

    #[test]
    fn ids_are_positive_unique_and_spread() {
        let ids = Ids::default();
        let mut made: Vec<i64> = (0..10_000).map(|n| ids.next(n % 100)).collect();
        let shards: std::collections::HashSet<i64> =
            made.iter().map(|id| id >> SEQUENCE_BITS).collect();
        assert!(made.iter().all(|id| 0 < *id));
        assert_eq!(shards.len(), 32);
        made.sort_unstable();
        made.dedup();
        assert_eq!(made.len(), 10_000);
    }
}
