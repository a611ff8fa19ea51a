//! How the embedded engine is set up. Every size here has its reason beside it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::ceiling;
use crate::kv::Space;
use crate::kv::expiry::Expiry;

/// Part of the machine's memory that the block cache takes: a quarter. The rest is for memtables,
/// pages on their way to clients, and the system's own file cache.
const CACHE_MEMORY_DIVISOR: u64 = 4;

/// The cache when the machine's memory cannot be learned.
const CACHE_BYTES_FALLBACK: u64 = 256 << 20;

/// The least cache: below it, index and filter blocks push each other out.
const CACHE_BYTES_MIN: u64 = 16 << 20;

/// Part of the cache that keeps single rows: a quarter. A row found there saves the walk over the
/// tables; a block holds many rows and serves scans too.
const ROW_CACHE_DIVISOR: u64 = 4;

/// Bytes of a memtable before it is flushed. Each fourth flush rewrites what lies in the level below: with
/// twice the bytes, half as often. The journal is kept until its memtable is on disk, so this also bounds
/// what a start after a crash must replay.
const MEMTABLE_BYTES: u64 = 64 << 20;

/// Full memtables' worth of rows in memory: one that is flushed, and one that is written to. Then commits wait
/// for the flush.
const MEMTABLES_MAX: u64 = 2;

/// Makes memtables of another size, so that tests see flushes and compactions early; fixed when a
/// directory is made.
const MEMTABLE_VARIABLE: &str = "MESETA_TEST_MEMTABLE_BYTES";

/// Bytes of journal files after which flushing is forced.
const JOURNAL_BYTES_MAX: u64 = 256 << 20;

/// In async mode: how long an acknowledged commit may wait for its sync.
const ASYNC_SYNC_INTERVAL: Duration = Duration::from_millis(100);

/// When a commit is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// After it is on disk: nothing acknowledged is ever lost.
    Sync,
    /// After it is with the operating system: the end of this process loses nothing, a power cut
    /// may lose the last [`Options::async_sync_interval`].
    Async,
}

/// Options of [`super::Lsm::open`].
#[derive(Debug, Clone)]
pub struct Options {
    /// The data directory; created when missing.
    pub dir: PathBuf,
    /// Bytes of all caches: of blocks, and of single rows.
    pub cache_bytes: u64,
    /// The part of [`Options::cache_bytes`] that keeps single rows for point reads; at most all of
    /// it, a quarter when `None`. The rest is for blocks.
    pub row_cache_bytes: Option<u64>,
    /// Bytes of one memtable; while one is flushed another may fill. Fixed when a directory is made.
    pub memtable_bytes: u64,
    /// Bytes of journal files after which flushing is forced; at least 64 MiB.
    pub journal_bytes_max: u64,
    /// Which values compaction may leave out because they have ended.
    pub expiry: Option<Arc<Expiry>>,
    /// The space without whose small writes nothing can be dropped: they are done also when the disk is
    /// all but full, as deletes are.
    pub vital: Option<Space>,
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// In async mode: the longest time between two syncs.
    pub async_sync_interval: Duration,
}

impl Options {
    /// The usual options for a data directory.
    pub fn new(dir: impl Into<PathBuf>) -> Options {
        Options {
            dir: dir.into(),
            cache_bytes: default_cache_bytes(),
            row_cache_bytes: None,
            memtable_bytes: memtable_bytes(),
            journal_bytes_max: JOURNAL_BYTES_MAX,
            expiry: None,
            vital: None,
            durability: Durability::Sync,
            async_sync_interval: ASYNC_SYNC_INTERVAL,
        }
    }

    pub(super) fn row_cache_bytes(&self) -> u64 {
        let usual = self.cache_bytes / ROW_CACHE_DIVISOR;
        self.row_cache_bytes.unwrap_or(usual).min(self.cache_bytes)
    }

    /// Bytes of all memtables at which commits wait, if one is being flushed.
    pub(super) fn memtables_bytes_max(&self) -> u64 {
        self.memtable_bytes.saturating_mul(MEMTABLES_MAX)
    }

    pub(super) fn block_cache_bytes(&self) -> u64 {
        self.cache_bytes.saturating_sub(self.row_cache_bytes())
    }
}

fn memtable_bytes() -> u64 {
    let text = std::env::var(MEMTABLE_VARIABLE).ok();
    let Some(bytes) = text.and_then(|text| text.parse().ok()) else {
        return MEMTABLE_BYTES;
    };
    tracing::warn!(bytes, "{MEMTABLE_VARIABLE} is set, which is for tests");
    bytes
}

fn default_cache_bytes() -> u64 {
    let bytes = match ceiling::memory_bytes() {
        Some(memory) => memory / CACHE_MEMORY_DIVISOR,
        None => CACHE_BYTES_FALLBACK,
    };
    bytes.max(CACHE_BYTES_MIN)
}
