//! How the memory of the process is dealt out: what of `--memory-limit` the caches get, and what the
//! operators of all statements.
//!
//! Both are parts of the limit, and so are memtables and the program itself; what is left is for packets,
//! syntax trees, transactions and rows on their way. Those ask the [`ceiling`](crate::ceiling).

use super::shared::OpenOptions;
use crate::ceiling;

/// Part of the memory that operators may hold: as much as the caches. The rest is for memtables, pages
/// on their way to clients, and the system's own file cache.
const QUERY_DIVISOR: u64 = 4;

/// What they may hold when the machine's memory cannot be learned.
const QUERY_BYTES_FALLBACK: u64 = 1 << 30;

/// Part of a limit that caches get.
const CACHE_DIVISOR: u64 = 4;

/// The program, its threads and what they keep; memtables, of which two may be full.
const FIXED_BYTES: u64 = 224 << 20;

/// The parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Portions {
    /// The caches; `None` lets the engine choose.
    pub(super) cache_bytes: Option<u64>,
    /// What the operators of all statements may hold.
    pub(super) query_bytes: usize,
}

impl Portions {
    /// The parts that the options give, and those that follow from the limit.
    pub(super) fn of(options: &OpenOptions) -> Portions {
        let limit = options.memory_limit_bytes;
        let of_limit = |divisor| limit.map(|limit| limit / divisor);
        let of_machine = || ceiling::memory_bytes().map(|bytes| bytes / QUERY_DIVISOR);
        let query_bytes = options
            .query_memory_total_bytes
            .or(of_limit(QUERY_DIVISOR))
            .or_else(of_machine)
            .unwrap_or(QUERY_BYTES_FALLBACK);
        Portions {
            cache_bytes: options.cache_bytes.or(of_limit(CACHE_DIVISOR)),
            query_bytes: usize::try_from(query_bytes).unwrap_or(usize::MAX),
        }
    }
}

/// Whether the parts fit a limit that was given.
///
/// # Errors
/// One line for the operator.
pub fn check_memory(limit: u64, cache: Option<u64>, query: Option<u64>) -> Result<(), String> {
    let cache = cache.unwrap_or(limit / CACHE_DIVISOR);
    let query = query.unwrap_or(limit / QUERY_DIVISOR);
    let sum = cache.saturating_add(query);
    let sum = sum.saturating_add(FIXED_BYTES + ceiling::spare(limit));
    if sum <= limit {
        return Ok(());
    }
    Err(format!(
        "{limit} bytes are too few for cache-bytes ({cache}), query-memory-total ({query}) and the \
         rest of the server: together {sum}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::testing::options;

    fn of(limit: Option<u64>, cache: Option<u64>, query: Option<u64>) -> Portions {
        Portions::of(&OpenOptions {
            memory_limit_bytes: limit,
            cache_bytes: cache,
            query_memory_total_bytes: query,
            ..options()
        })
    }

    #[test]
    fn parts_follow_from_the_limit() {
        let parts = of(Some(1 << 30), None, None);
        assert_eq!(parts.cache_bytes, Some(256 << 20));
        assert_eq!(parts.query_bytes, 256 << 20);
        let parts = of(Some(1 << 30), Some(5), Some(7));
        assert_eq!((parts.cache_bytes, parts.query_bytes), (Some(5), 7));
        assert_eq!(of(None, None, Some(7)).cache_bytes, None);
    }

    #[test]
    fn parts_fit_the_limit() {
        check_memory(512 << 20, None, None).unwrap();
        let told = check_memory(1 << 30, Some(1 << 30), None).unwrap_err();
        assert!(told.contains("cache-bytes (1073741824)"), "{told}");
    }
}
