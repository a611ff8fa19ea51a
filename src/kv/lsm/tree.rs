//! The ordered tree that everything is in: how the storage library is to make and keep it.

use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use fjall::config::{BloomConstructionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{Database, Keyspace, KeyspaceCreateOptions};

use super::compaction::Rules;
use super::fault;
use super::options::Options;
use crate::kv::{Error, Result};

/// Block size: one page of the system's cache.
const BLOCK_BYTES: u32 = 4096;

/// About one false positive in a hundred.
const BLOOM_BITS_PER_KEY: f32 = 10.0;

/// Name of the storage library's keyspace that holds everything.
pub(super) const DATA: &str = "data";

/// Threads of the library at least. The first flushes. What it finds to compact it puts back into the queue
/// for the others, again and again: with only one other, a whole core is lost to that while it compacts. Of two,
/// one usually has time to take it, and finds that nothing is left to do.
const WORKERS_MIN: usize = 3;

/// Threads of the library at most, as it has them by default.
const WORKERS_MAX: usize = 4;

/// Opens it, or makes it. Blocks.
///
/// # Errors
///
/// [`Error::InUse`], [`Error::Corrupt`], [`Error::Io`].
pub(super) fn open(dir: &Path, options: &Options, rules: Rules) -> Result<(Database, Keyspace)> {
    let open_both = move || {
        let builder = Database::builder(dir)
            .cache_size(options.block_cache_bytes())
            .worker_threads(workers())
            .max_journaling_size(options.journal_bytes_max)
            .manual_journal_persist(true)
            .with_compaction_filter_factories(Arc::new(move |name| {
                (name == DATA).then(|| Arc::new(rules.clone()) as _)
            }));
        let db = builder.open()?;
        let data = db.keyspace(DATA, || keyspace_options(options))?;
        Ok((db, data))
    };
    // The storage library asserts where it should return errors, above all while it reads a
    // damaged directory.
    match panic::catch_unwind(AssertUnwindSafe(open_both)) {
        Ok(Ok(opened)) => Ok(opened),
        Ok(Err(fjall::Error::Locked)) => Err(Error::InUse {
            dir: options.dir.clone(),
        }),
        Ok(Err(cause)) => Err(fault::error("opening the storage engine", &cause)),
        Err(_) => Err(Error::Corrupt {
            what: "the storage engine could not read its files".to_owned(),
        }),
    }
}

fn workers() -> usize {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    processors.clamp(WORKERS_MIN, WORKERS_MAX)
}

/// How its files are to be.
pub(super) fn keyspace_options(options: &Options) -> KeyspaceCreateOptions {
    let bloom = BloomConstructionPolicy::BitsPerKey(BLOOM_BITS_PER_KEY);
    KeyspaceCreateOptions::default()
        .manual_journal_persist(true)
        .max_memtable_size(options.memtable_bytes)
        .data_block_size_policy(fjall::config::BlockSizePolicy::all(BLOCK_BYTES))
        .filter_policy(FilterPolicy::all(FilterPolicyEntry::Bloom(bloom)))
}
