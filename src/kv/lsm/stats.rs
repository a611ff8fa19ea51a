//! What the engine tells of itself: sizes of files and memory, its background work, its commits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Database, Keyspace};

use super::Shared;
use super::rows::RowCache;
use crate::kv::stats::{Amount, Number, Stats};

/// Levels of the tree.
const LEVELS: usize = 7;

/// What the committer counts. It alone writes.
#[derive(Debug, Default)]
pub(super) struct Commits {
    /// Write sets that were written.
    members: AtomicU64,
    /// Batches that they were written in, each with one sync at most.
    groups: AtomicU64,
    /// How long that took.
    nanos: AtomicU64,
}

impl Commits {
    /// A batch was written, from `began` on.
    pub(super) fn note(&self, members_count: usize, began: Instant) {
        let add = |counter: &AtomicU64, more: u64| {
            counter.fetch_add(more, Ordering::Relaxed);
        };
        add(&self.members, u64::try_from(members_count).unwrap_or(0));
        add(&self.groups, 1);
        add(
            &self.nanos,
            u64::try_from(began.elapsed().as_nanos()).unwrap_or(0),
        );
    }

    fn tell(&self, to: &mut Vec<Number>) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        to.extend([
            whole(
                "meseta_lsm_commits_total",
                "Write sets that were committed.",
                get(&self.members),
            ),
            whole(
                "meseta_lsm_commit_groups_total",
                "Batches that write sets were committed in, each with one sync at most.",
                get(&self.groups),
            ),
            Number::new(
                "meseta_lsm_commit_seconds_total",
                "Time that writing and syncing these batches took.",
                Amount::Seconds(Duration::from_nanos(get(&self.nanos))),
            ),
        ]);
    }
}

/// What the engine tells of itself.
pub(super) fn of(shared: &Shared) -> Stats {
    let mut numbers = Vec::new();
    if let Some((db, data)) = shared.tree.lock().as_ref() {
        tell_tree(db, data, &mut numbers);
    }
    if let Some(base) = shared.base.read().as_ref() {
        tell_rows(base.row_cache(), &mut numbers);
    }
    shared.commits.tell(&mut numbers);
    Stats {
        read_only: shared.read_only.read().clone(),
        numbers,
    }
}

/// The numbers of the tree.
fn tell_tree(db: &Database, data: &Keyspace, to: &mut Vec<Number>) {
    let tables = "Bytes of the files on disk.";
    to.push(whole("meseta_lsm_disk_bytes", tables, data.disk_space()).of("part", "tables"));
    if let Ok(bytes) = db.journal_disk_space() {
        to.push(whole("meseta_lsm_disk_bytes", tables, bytes).of("part", "journals"));
    }
    for level in 0..LEVELS {
        let count = data.tree.level_table_count(level).unwrap_or(0);
        let number = counted("meseta_lsm_tables", "Sorted files, by level.", count);
        to.push(number.of("level", level.to_string()));
    }
    to.extend([
        counted(
            "meseta_lsm_journals",
            "Journals on disk.",
            db.journal_count(),
        ),
        whole(
            "meseta_lsm_memtable_bytes",
            "Memory for writes that are in no sorted file yet.",
            db.write_buffer_size(),
        ),
        counted(
            "meseta_lsm_sealed_memtables",
            "Full memtables that wait to be flushed.",
            data.sealed_memtable_count(),
        ),
        counted(
            "meseta_lsm_flushes_waiting",
            "Flushes that wait or run.",
            db.outstanding_flushes(),
        ),
        counted(
            "meseta_lsm_compactions_running",
            "Compactions that run.",
            db.active_compactions(),
        ),
        counted(
            "meseta_lsm_compactions_total",
            "Compactions that have ended.",
            db.compactions_completed(),
        ),
        Number::new(
            "meseta_lsm_compaction_seconds_total",
            "Time that compactions took.",
            Amount::Seconds(db.time_compacting()),
        ),
        whole(
            "meseta_lsm_block_cache_bytes",
            "Memory of cached blocks.",
            db.cache_size(),
        ),
        whole(
            "meseta_lsm_block_cache_max_bytes",
            "The most memory of cached blocks.",
            db.cache_capacity(),
        ),
    ]);
}

/// The numbers of the cache of single rows.
fn tell_rows(rows: &RowCache, to: &mut Vec<Number>) {
    let (hits, misses) = rows.hits_and_misses();
    let (bytes, bytes_max) = rows.bytes();
    let of = "Rows that were looked for in the row cache.";
    to.extend([
        whole(
            "meseta_lsm_row_cache_bytes",
            "Memory of cached rows.",
            bytes,
        ),
        whole(
            "meseta_lsm_row_cache_max_bytes",
            "The most memory of cached rows.",
            bytes_max,
        ),
        whole("meseta_lsm_row_cache_lookups_total", of, hits).of("found", "yes"),
        whole("meseta_lsm_row_cache_lookups_total", of, misses).of("found", "no"),
    ]);
}

fn whole(name: &'static str, help: &'static str, amount: u64) -> Number {
    Number::new(name, help, Amount::Whole(amount))
}

fn counted(name: &'static str, help: &'static str, count: usize) -> Number {
    whole(name, help, u64::try_from(count).unwrap_or(u64::MAX))
}
