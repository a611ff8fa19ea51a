//! Compactions that the storage library would not begin.
//!
//! The library looks for one when a memtable was flushed, once for each of its threads, and at no other time (fjall 3.1,
//! `worker_pool`). A look finds nothing while the level that needs it most is merged into the next one, and is used up.
//! Commits that wait for a compaction fill no memtable meanwhile: where all looks were used up while one ran, none would
//! follow it, and the commits would wait for ever. So one is begun here.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use fjall::compaction::Leveled;
use fjall::{AbstractTree, Keyspace};

use super::Committer;
use super::health::OVERLAPS_MAX;
use crate::kv::lsm::{Shared, fault, reclaim};
use crate::kv::{Error, Result};

/// The name of its thread: what it does is given up when nothing is committed any more.
pub(in crate::kv::lsm) const THREAD_NAME: &str = "meseta-nudge";

/// Compactions that fail one after the other before all writing ends, as where one of the library's own fails.
const FAILURES_MAX: u32 = 4;

/// Compactions on a thread of their own, one at a time.
#[derive(Debug, Default)]
pub(super) struct Nudge {
    thread: Option<JoinHandle<Result<()>>>,
    /// One after the other.
    failures: u32,
}

impl Nudge {
    fn begin(&mut self, shared: Arc<Shared>, data: Keyspace) -> Result<()> {
        let named = thread::Builder::new().name(THREAD_NAME.to_owned());
        let started = named.spawn(move || compact(&shared, &data));
        self.thread = Some(started.map_err(|cause| Error::io("starting a thread", &cause))?);
        Ok(())
    }

    fn is_at_work(&self) -> bool {
        let thread = self.thread.as_ref();
        thread.is_some_and(|thread| !thread.is_finished())
    }

    /// How the last one was, when it is at its end, which is waited for.
    fn result(&mut self) -> Result<()> {
        let ended = self.thread.take().map_or(Ok(Ok(())), JoinHandle::join);
        ended.unwrap_or_else(|_| {
            // The library keeps what it merged hidden: no later one would take it, and commits wait for ever.
            self.failures = FAILURES_MAX;
            Err(Error::Io {
                doing: "compacting".to_owned(),
                cause: "its thread panicked".to_owned(),
            })
        })
    }

    /// Waits for its end.
    pub(super) fn end(&mut self) {
        match self.result() {
            Ok(()) | Err(Error::Closed) => {}
            Err(cause) => tracing::warn!(%cause, "a compaction failed"),
        }
    }
}

/// What needs it most. No version of a key is left out: which of them are still read the library alone knows.
fn compact(shared: &Shared, data: &Keyspace) -> Result<()> {
    let compacted = data.tree.compact(Arc::new(Leveled::default()), 0);
    compacted.map_err(|cause| {
        let cause = fault::error("compacting", &cause.into());
        reclaim::after_failure((shared, data), cause)
    })
}

impl Committer {
    /// Where commits wait for a compaction: begins one. It does nothing where others are at what needs it most.
    pub(super) fn nudge(&mut self) {
        if self.nudge.is_at_work() {
            return;
        }
        match self.nudge.result() {
            Ok(()) => self.nudge.failures = 0,
            Err(Error::Closed) => {}
            Err(cause) => self.note_failure(cause),
        }
        if self.shared.read_only().is_some() {
            // A list of files that was half written must not be written over.
            return;
        }
        let tree = &self.data.tree;
        if tree.l0_run_count() < OVERLAPS_MAX || 0 < tree.sealed_memtable_count() {
            return;
        }
        let (shared, data) = (Arc::clone(&self.shared), self.data.clone());
        if let Err(cause) = self.nudge.begin(shared, data) {
            tracing::warn!(%cause, "commits wait for a compaction that cannot begin");
        }
    }

    fn note_failure(&mut self, cause: Error) {
        self.nudge.failures += 1;
        if self.nudge.failures < FAILURES_MAX {
            tracing::warn!(%cause, "a compaction that commits wait for failed");
            return;
        }
        drop(self.give_up(cause));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use fjall::AbstractTree as _;
    use rand::rngs::StdRng;
    use rand::{RngCore as _, SeedableRng as _};
    use tokio::time::timeout;

    use super::{Arc, OVERLAPS_MAX, THREAD_NAME, thread};
    use crate::kv::expiry::Expiry;
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{Engine as _, Space, WriteSet};

    const SPACE: Space = Space(1);
    const PATIENCE: Duration = Duration::from_secs(20);
    const MEMTABLE_BYTES: u64 = 64 << 10;
    /// A memtable takes three of them, and all together are too many to be made one file where nobody writes.
    const VALUE_BYTES: usize = 20 << 10;

    fn key(number: usize) -> Vec<u8> {
        number.to_string().into_bytes()
    }

    /// It does not compress.
    fn value(number: usize) -> Vec<u8> {
        let mut value = vec![0; VALUE_BYTES];
        StdRng::seed_from_u64(number as u64).fill_bytes(&mut value);
        value
    }

    async fn put(engine: &Lsm, number: usize) {
        let mut writes = WriteSet::blind();
        writes.put(SPACE, key(number), value(number));
        engine.commit(writes).await.unwrap();
    }

    /// An engine in which so many files lie over each other, and nothing will have the library look at them.
    async fn overlapping(dir: &Path) -> Lsm {
        overlapping_with(dir, None).await
    }

    async fn overlapping_with(dir: &Path, expiry: Option<Arc<Expiry>>) -> Lsm {
        let options = Options {
            memtable_bytes: MEMTABLE_BYTES,
            expiry,
            ..Options::new(dir)
        };
        let engine = Lsm::open(&options).unwrap();
        engine.create_space(SPACE).await.unwrap();
        let (_db, data) = engine.shared.tree.lock().clone().unwrap();
        for number in 0..OVERLAPS_MAX {
            put(&engine, number).await;
            data.tree.flush_active_memtable(0).unwrap();
        }
        assert_eq!(data.tree.l0_run_count(), OVERLAPS_MAX);
        engine
    }

    #[tokio::test]
    async fn commits_do_not_wait_for_a_compaction_that_nobody_begins() {
        let dir = tempfile::tempdir().unwrap();
        let engine = overlapping(dir.path()).await;
        timeout(PATIENCE, put(&engine, OVERLAPS_MAX)).await.unwrap();
        let snapshot = engine.snapshot();
        for number in 0..=OVERLAPS_MAX {
            let found = snapshot.get(SPACE, &key(number)).await.unwrap();
            assert_eq!(found.as_deref(), Some(&*value(number)), "key {number}");
        }
        engine.close().await.unwrap();
    }

    /// What is committed until then includes what the server writes down at its end.
    #[tokio::test]
    async fn nor_do_they_when_the_engine_is_to_end() {
        let dir = tempfile::tempdir().unwrap();
        let engine = overlapping(dir.path()).await;
        engine.hurry();
        timeout(PATIENCE, put(&engine, OVERLAPS_MAX)).await.unwrap();
        engine.close().await.unwrap();
    }

    /// A directory stands where the next list of files is to be.
    #[tokio::test]
    async fn a_list_that_cannot_be_written_ends_writing() {
        let dir = tempfile::tempdir().unwrap();
        let engine = overlapping(dir.path()).await;
        let current = dir.path().join("lsm/keyspaces/1/current");
        fs::remove_file(&current).unwrap();
        fs::create_dir(&current).unwrap();
        let mut writes = WriteSet::blind();
        writes.put(SPACE, key(OVERLAPS_MAX), value(OVERLAPS_MAX));
        let refused = timeout(PATIENCE, engine.commit(writes)).await.unwrap();
        refused.unwrap_err();
        assert!(engine.shared.read_only().is_some());
    }

    /// Mechanism: what a compaction hides while it runs stays hidden when it panics, and none takes it after that: each found
    /// nothing to do, and neither commits nor the end of the engine came through.
    #[tokio::test]
    async fn one_that_panics_ends_writing() {
        let panics_there = |_: &[u8]| {
            let here = thread::current();
            assert_ne!(here.name(), Some(THREAD_NAME), "as the library might");
            None
        };
        let expiry = Arc::new(Expiry::new(panics_there));
        expiry.watch([SPACE].into());
        let dir = tempfile::tempdir().unwrap();
        let engine = overlapping_with(dir.path(), Some(expiry)).await;
        let mut writes = WriteSet::blind();
        writes.put(SPACE, key(OVERLAPS_MAX), value(OVERLAPS_MAX));
        let refused = timeout(PATIENCE, engine.commit(writes)).await.unwrap();
        refused.unwrap_err();
        assert!(engine.shared.read_only().is_some());
        timeout(PATIENCE, engine.close())
            .await
            .unwrap()
            .unwrap_err();
    }
}
