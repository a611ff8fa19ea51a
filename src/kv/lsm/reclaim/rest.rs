//! What is done once nobody writes: what was written lately is put where reads are quickest.
//!
//! A memtable that is full of what was loaded stays so until more is written, and each search in it misses the
//! processor's caches some twenty times; each file above the others is one more place to look at. Whoever writes all
//! the time has other files soon, and pays nothing for this.

use std::sync::Weak;
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Keyspace};
use lsm_tree::MemtableId;

use super::{check_writes, flush, let_go, rewrite, warn};
use crate::kv::Result;
use crate::kv::lsm::Shared;

/// How often it is looked whether somebody writes.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Who writes less than this between two looks is taken for nobody: the server's own notes are such.
const NOISE_BYTES: u64 = 16 << 10;

/// A memtable is written to a file when it has this part of what it takes: so a table that is written in bursts has at
/// most so many times the flushes.
const FULL_PART: u64 = 4;

/// The files are made one when those that lie over each other are this part of them at least: so many bytes are
/// written at most for each one that was.
const NEW_PART: u64 = 4;

/// Files of more full memtables than this are not made one: it takes the disk for seconds.
const FILES_MAX: u64 = 4;

/// What is known of whoever writes.
#[derive(Debug)]
pub(super) struct Rest {
    /// Bytes that a memtable takes, as this start was told; those of an older directory may be others.
    memtable_bytes: u64,
    next_look: Instant,
    /// The memtable at the last look, and its bytes.
    seen: Option<(MemtableId, u64)>,
    /// A list of files that could not be made one: one of them may be damaged.
    failed: Option<u64>,
}

impl Rest {
    pub(super) fn new(memtable_bytes: u64) -> Rest {
        Rest {
            memtable_bytes,
            next_look: Instant::now() + LOOK_INTERVAL,
            seen: None,
            failed: None,
        }
    }

    /// How long until the next look.
    pub(super) fn until_look(&self) -> Duration {
        self.next_look.saturating_duration_since(Instant::now())
    }

    /// If it is time, and nobody has written since the last look: tidies up.
    pub(super) fn look(&mut self, engine: (&Weak<Shared>, &Keyspace)) {
        if !self.until_look().is_zero() {
            return;
        }
        self.next_look = Instant::now() + LOOK_INTERVAL;
        let memtable = engine.1.tree.active_memtable();
        let seen = (memtable.id(), memtable.size());
        drop(memtable);
        if !self.rests(seen) || check_writes(engine.0).is_err() {
            return;
        }
        let tidied = self.tidy(engine, seen.1);
        warn("what was written lately was not put into one file", tidied);
    }

    /// Whether next to nothing was written since the last look, and what is seen now is kept for the next.
    fn rests(&mut self, (id, bytes): (MemtableId, u64)) -> bool {
        let before = self.seen.replace((id, bytes));
        before.is_some_and(|(then, had)| then == id && bytes.saturating_sub(had) < NOISE_BYTES)
    }

    fn tidy(&mut self, (shared, data): (&Weak<Shared>, &Keyspace), bytes: u64) -> Result<()> {
        if self.memtable_bytes / FULL_PART <= bytes && has_room(shared, bytes) {
            flush(shared, data)?;
            let_go(shared, data);
        }
        if self.is_worth_joining(data) && has_room(shared, data.disk_space()) {
            self.failed = Some(data.tree.current_version().id());
            rewrite(shared, data)?;
            self.failed = None;
        }
        Ok(())
    }

    /// Whether several files lie over each other, of a size that is quickly read and written.
    fn is_worth_joining(&self, data: &Keyspace) -> bool {
        let version = data.tree.current_version();
        let newest = version.l0();
        let tables = newest.iter().flat_map(|run| run.iter());
        let bytes: u64 = tables.map(|table| table.metadata.file_size).sum();
        let files = data.disk_space();
        1 < newest.run_count()
            && files <= self.memtable_bytes.saturating_mul(FILES_MAX)
            && files <= bytes.saturating_mul(NEW_PART)
            && self.failed != Some(version.id())
    }
}

/// Whether the disk takes so many bytes more and still has what the engine needs; not where it is to end.
fn has_room(shared: &Weak<Shared>, bytes: u64) -> bool {
    let has_room = |shared: &Shared| !shared.floor.is_hurried() && shared.check_room(bytes).is_ok();
    shared.upgrade().is_some_and(|shared| has_room(&shared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{Engine, Space, Ts, WriteSet};

    const T: Space = Space(1);
    const MEMTABLE_BYTES: u64 = 256 << 10;
    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn who_writes_next_to_nothing_is_nobody() {
        let mut rest = Rest::new(MEMTABLE_BYTES);
        // (memtable, its bytes, whether it rests)
        for (id, bytes, rests) in [
            (1, 0, false),
            (1, 0, true),
            (1, NOISE_BYTES, false),
            (1, NOISE_BYTES + 1, true),
            (2, NOISE_BYTES + 1, false),
            (2, NOISE_BYTES + 1, true),
        ] {
            assert_eq!(rest.rests((id, bytes)), rests, "{bytes} bytes in {id}");
        }
    }

    async fn write(engine: &Lsm, (round, rows): (u8, u8)) {
        let mut writes = WriteSet::blind();
        for row in 0..rows {
            let value: Vec<u8> = (0..1000).map(|_| rand::random()).collect();
            writes.put(T, vec![row, round], value);
        }
        engine.commit(writes).await.unwrap();
    }

    async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < deadline, "never: {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn opened(dir: &std::path::Path) -> (Lsm, Keyspace) {
        let options = Options {
            memtable_bytes: MEMTABLE_BYTES,
            ..Options::new(dir)
        };
        let engine = Lsm::open(&options).unwrap();
        engine.create_space(T).await.unwrap();
        let (_, data) = engine.shared.tree.lock().clone().unwrap();
        (engine, data)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_was_written_is_in_one_file_after_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let (engine, data) = opened(dir.path()).await;
        let is_empty = || data.tree.active_memtable().size() < MEMTABLE_BYTES / FULL_PART;
        let mut written = Ts(0);
        // The library moves the first file down, since nothing is below. The third lies over the second: all become one.
        for (round, files) in [(0, 1), (1, 2), (2, 1)] {
            write(&engine, (round, 100)).await;
            written = engine.base().unwrap().ts;
            assert!(!is_empty());
            until("a memtable at rest is written to a file", is_empty).await;
            until("there are as many files as should be", || {
                data.tree.sealed_memtable_count() == 0 && data.tree.table_count() == files
            })
            .await;
        }
        // Whoever reads does so from there, although nobody has written since.
        until("a state after it", || written < engine.base().unwrap().ts).await;
        let snapshot = engine.snapshot();
        for round in 0..3 {
            for row in 0..100 {
                assert!(snapshot.get(T, &[row, round]).await.unwrap().is_some());
            }
        }
        engine.close().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn little_is_left_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let (engine, data) = opened(dir.path()).await;
        write(&engine, (0, 40)).await;
        let had = data.tree.active_memtable().size();
        assert!(had < MEMTABLE_BYTES / FULL_PART);
        let shared = std::sync::Arc::downgrade(&engine.shared);
        let mut rest = Rest::new(MEMTABLE_BYTES);
        rest.tidy((&shared, &data), had).unwrap();
        assert_eq!(data.tree.active_memtable().size(), had);
        assert_eq!(data.tree.table_count(), 0);
        engine.close().await.unwrap();
    }
}
