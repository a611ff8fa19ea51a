//! What the engine tells of itself: sizes of files and memory, its background work, its commits.
//!
//! Nothing here takes a lock that is held while a commit waits for the disk: what the tree's library
//! says of its journals does, so their files are looked at.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Database, Keyspace};

use super::rows::RowCache;
use super::{Shared, journal, room};
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
    // Not told of under the lock, which closing the engine takes.
    let tree = shared.tree.lock().clone();
    if let Some((db, data)) = tree {
        tell_tree(&db, &data, &mut numbers);
        tell_journals(&shared.engine_dir, data.disk_space(), &mut numbers);
    }
    if let Some(base) = shared.base.read().as_ref() {
        tell_rows(base.row_cache(), &mut numbers);
    }
    shared.commits.tell(&mut numbers);
    Stats { numbers }
}

/// The numbers of the tree.
fn tell_tree(db: &Database, data: &Keyspace, to: &mut Vec<Number>) {
    for level in 0..LEVELS {
        let count = data.tree.level_table_count(level).unwrap_or(0);
        let number = counted("meseta_lsm_tables", "Sorted files, by level.", count);
        to.push(number.of("level", level.to_string()));
    }
    to.extend([
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

/// The numbers of the files. One that ends while it is looked at is not there any more.
fn tell_journals(dir: &Path, tables_bytes: u64, to: &mut Vec<Number>) {
    let help = "Bytes of the files on disk.";
    to.push(whole("meseta_lsm_disk_bytes", help, tables_bytes).of("part", "tables"));
    let Ok(journals) = journal::list(dir) else {
        return;
    };
    let sizes = journals.iter().filter_map(|path| fs::metadata(path).ok());
    // The library makes a journal 64 MiB long before it writes to it: of its length much are holes, which take nothing
    // of the disk.
    let sizes: Vec<u64> = sizes
        .map(|file| file.blocks() * room::STAT_BLOCK_BYTES)
        .collect();
    to.push(whole("meseta_lsm_disk_bytes", help, sizes.iter().sum()).of("part", "journals"));
    to.push(counted(
        "meseta_lsm_journals",
        "Journals on disk.",
        sizes.len(),
    ));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{CommitError, Engine, Space, WriteSet};

    /// A number that stands alone with its name, or is of a part.
    fn number(engine: &Lsm, name: &str, part: Option<&str>) -> Amount {
        let numbers = engine.stats().numbers;
        let is_it = |number: &&Number| {
            let of = number.of.as_ref().map(|(_, value)| value.as_str());
            number.name == name && of == part
        };
        numbers.iter().find(is_it).unwrap().amount
    }

    /// Mechanism: a group of which no member was let in, or that only checked something, counted as a batch, and a
    /// batch that failed counted as well.
    #[tokio::test]
    async fn what_writes_nothing_is_no_group() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Lsm::open(&Options::new(dir.path())).unwrap();
        engine.create_space(Space(1)).await.unwrap();
        let expect = |count: u64| {
            let members = number(&engine, "meseta_lsm_commits_total", None);
            assert_eq!(members, Amount::Whole(count));
            let groups = number(&engine, "meseta_lsm_commit_groups_total", None);
            assert_eq!(groups, Amount::Whole(count));
        };
        expect(0);
        let mut writes = WriteSet::blind();
        writes.put(Space(1), "a", "1");
        writes.must_be_absent.push((Space(1), b"a".to_vec()));
        engine.commit(writes.clone()).await.unwrap();
        expect(1);
        let refused = engine.commit(writes).await;
        assert!(matches!(refused, Err(CommitError::AlreadyExists { .. })));
        let mut checks = WriteSet::blind();
        checks.must_be_absent.push((Space(1), b"b".to_vec()));
        engine.commit(checks).await.unwrap();
        expect(1);
        engine.close().await.unwrap();
    }

    #[tokio::test]
    async fn a_journal_has_as_many_bytes_as_it_takes_of_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Lsm::open(&Options::new(dir.path())).unwrap();
        engine.create_space(Space(1)).await.unwrap();
        let journals = number(&engine, "meseta_lsm_disk_bytes", Some("journals"));
        let Amount::Whole(bytes) = journals else {
            panic!("{journals:?}");
        };
        assert!((1..1 << 20).contains(&bytes), "{bytes}");
        engine.close().await.unwrap();
    }
}
