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

use super::super::fault;
use super::Committer;
use super::health::OVERLAPS_MAX;
use crate::kv::{Error, Result};

/// The name of its thread: what it does is given up when the engine is to end.
pub(in crate::kv::lsm) const THREAD_NAME: &str = "meseta-nudge";

/// A compaction on a thread of its own; one at a time.
#[derive(Debug, Default)]
pub(super) struct Nudge(Option<JoinHandle<Result<()>>>);

impl Nudge {
    fn begin(&mut self, data: Keyspace) -> Result<()> {
        let named = thread::Builder::new().name(THREAD_NAME.to_owned());
        let started = named.spawn(move || compact(&data));
        self.0 = Some(started.map_err(|cause| Error::io("starting a thread", &cause))?);
        Ok(())
    }

    fn is_at_work(&self) -> bool {
        let thread = self.0.as_ref();
        thread.is_some_and(|thread| !thread.is_finished())
    }

    /// Waits for its end; how it was.
    pub(super) fn join(&mut self) -> Result<()> {
        let ended = self.0.take().map_or(Ok(Ok(())), JoinHandle::join);
        match ended {
            Ok(Ok(()) | Err(Error::Closed)) => Ok(()),
            Ok(Err(cause)) => Err(cause),
            Err(_) => Err(Error::Io {
                doing: "compacting".to_owned(),
                cause: "its thread panicked".to_owned(),
            }),
        }
    }
}

/// What needs it most. No version of a key is left out: which of them are still read the library alone knows.
fn compact(data: &Keyspace) -> Result<()> {
    let compacted = data.tree.compact(Arc::new(Leveled::default()), 0);
    compacted.map_err(|cause| fault::error("compacting", &cause.into()))
}

impl Committer {
    /// Where commits wait for a compaction: begins one if nobody is at it.
    pub(super) fn nudge(&mut self) {
        if self.nudge.is_at_work() || 0 < self.db.active_compactions() {
            return;
        }
        if let Err(cause) = self.nudge.join() {
            drop(self.give_up(cause));
            return;
        }
        let tree = &self.data.tree;
        if tree.l0_run_count() < OVERLAPS_MAX || 0 < tree.sealed_memtable_count() {
            return;
        }
        tracing::debug!("commits wait for a compaction that nobody has begun");
        if let Err(cause) = self.nudge.begin(self.data.clone()) {
            tracing::warn!(%cause, "commits wait for a compaction");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fjall::AbstractTree as _;
    use rand::rngs::StdRng;
    use rand::{RngCore as _, SeedableRng as _};
    use tokio::time::timeout;

    use super::OVERLAPS_MAX;
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{Engine as _, Space, WriteSet};

    const SPACE: Space = Space(1);
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

    /// So many files lie over each other, and nothing will have the library look at them.
    #[tokio::test]
    async fn commits_do_not_wait_for_a_compaction_that_nobody_begins() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            memtable_bytes: MEMTABLE_BYTES,
            ..Options::new(dir.path())
        };
        let engine = Lsm::open(&options).unwrap();
        engine.create_space(SPACE).await.unwrap();
        let (db, data) = engine.shared.tree.lock().clone().unwrap();
        for number in 0..OVERLAPS_MAX {
            put(&engine, number).await;
            data.tree.flush_active_memtable(0).unwrap();
        }
        assert_eq!(data.tree.l0_run_count(), OVERLAPS_MAX);
        let last = put(&engine, OVERLAPS_MAX);
        timeout(Duration::from_secs(20), last).await.unwrap();
        assert!(data.tree.l0_run_count() < OVERLAPS_MAX);
        let snapshot = engine.snapshot();
        for number in 0..=OVERLAPS_MAX {
            let found = snapshot.get(SPACE, &key(number)).await.unwrap();
            assert_eq!(found.as_deref(), Some(&*value(number)), "key {number}");
        }
        drop((db, data));
        engine.close().await.unwrap();
    }
}
