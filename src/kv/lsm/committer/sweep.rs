//! By when values had ended, written down: with the commits that rely on it, and by itself where compaction
//! waits for it. Why it is kept is in [`crate::kv::expiry`].

use fjall::{OwnedWriteBatch, PersistMode};

use super::{Committer, Demand, SPACE_RECORD_BYTES};
use crate::kv::Result;
use crate::kv::lsm::{Shared, spaces};

/// The time that is written down when the engine is opened.
pub(super) fn kept_ms(shared: &Shared) -> u64 {
    let expiry = shared.expiry.as_ref();
    expiry.map_or(0, |expiry| expiry.kept_ms())
}

impl Committer {
    /// Adds the time to a batch, if it is later than the one that is written.
    pub(super) fn put_sweep(&mut self, batch: &mut OwnedWriteBatch) {
        let expiry = self.shared.expiry.as_ref();
        let swept_ms = expiry.map_or(0, |expiry| expiry.swept_ms());
        if self.swept_ms < swept_ms {
            batch.insert(
                &self.data,
                spaces::SWEPT_KEY,
                spaces::number_value(swept_ms),
            );
            self.swept_ms = swept_ms;
        }
    }

    /// Everything that was written is on disk.
    pub(super) fn note_synced(&mut self) {
        self.run.note_synced();
        if let Some(expiry) = &self.shared.expiry {
            expiry.keep(self.swept_ms);
        }
    }

    /// Writes the time where compaction waits for it.
    pub(super) fn keep_sweep(&mut self) {
        let expiry = self.shared.expiry.as_ref();
        if !expiry.is_some_and(|expiry| expiry.is_wanted()) {
            return;
        }
        let is_possible = !self.is_behind() && self.shared.read_only().is_none();
        if !is_possible || self.write_sweep().is_err() {
            self.refuse_sweep();
        }
    }

    /// Says to compaction not to wait for it: commits wait for compaction, or nothing can be written.
    pub(super) fn refuse_sweep(&self) {
        if let Some(expiry) = &self.shared.expiry {
            expiry.refuse_wanted();
        }
    }

    fn write_sweep(&mut self) -> Result<()> {
        self.room.admit(Demand {
            bytes: SPACE_RECORD_BYTES,
            makes_room: true,
        })?;
        self.begin_run()?;
        let mut batch = self.db.batch().durability(Some(PersistMode::SyncData));
        self.run.mark((&mut batch, &self.data));
        self.put_sweep(&mut batch);
        let written = batch.commit();
        written.map_err(|cause| self.fail("writing down the time", &cause))?;
        self.note_synced();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::kv::expiry::{Expiry, Living};
    use crate::kv::lsm::{Durability, Lsm, Options, Still};
    use crate::kv::{Engine, Space, WriteSet};

    const ENDING: Space = Space(1);
    const LASTING: Space = Space(2);

    struct House {
        dir: tempfile::TempDir,
        clock: Arc<AtomicU64>,
        durability: Durability,
    }

    impl House {
        fn new(durability: Durability) -> House {
            House {
                dir: tempfile::tempdir().unwrap(),
                clock: Arc::new(AtomicU64::new(10)),
                durability,
            }
        }

        /// The engine, where the first byte of a value is when it ends.
        fn open(&self) -> Living {
            let clock = Arc::clone(&self.clock);
            let end_of: fn(&[u8]) -> Option<u64> = |value| value.first().map(|end| u64::from(*end));
            let expiry = Expiry::with_clock(end_of, move || clock.load(Ordering::SeqCst));
            let expiry = Arc::new(expiry);
            let opened = Lsm::open(&Options {
                cache_bytes: 1 << 20,
                expiry: Some(Arc::clone(&expiry)),
                durability: self.durability,
                ..Options::new(self.dir.path())
            });
            expiry.watch(HashSet::from([ENDING]));
            Living::new(Arc::new(opened.unwrap()), expiry)
        }

        fn set(&self, now_ms: u64) {
            self.clock.store(now_ms, Ordering::SeqCst);
        }
    }

    /// Writes by what a snapshot of now says of a key.
    async fn replace(engine: &Living, space: Space, (key, end_ms): (&str, u8)) {
        let snapshot = engine.snapshot();
        snapshot.get(ENDING, key.as_bytes()).await.unwrap();
        let mut writes = WriteSet::from_snapshot(snapshot.ts());
        writes.judged_ms = snapshot.judged_ms();
        writes.put(space, key, vec![end_ms]);
        engine.commit(writes).await.unwrap();
    }

    fn now_ms(engine: &Living) -> u64 {
        engine.expiry().unwrap().now_ms()
    }

    async fn filled(house: &House) -> Living {
        let engine = house.open();
        engine.create_space(ENDING).await.unwrap();
        engine.create_space(LASTING).await.unwrap();
        for key in ["a", "b"] {
            replace(&engine, ENDING, (key, 20)).await;
        }
        engine
    }

    fn swept_ms(dir: &Path) -> u64 {
        Still::open(dir).unwrap().swept_ms()
    }

    #[tokio::test]
    async fn a_key_that_was_taken_because_its_value_had_ended_stays_so() {
        for durability in [Durability::Sync, Durability::Async] {
            let house = House::new(durability);
            let engine = filled(&house).await;
            house.set(50);
            replace(&engine, ENDING, ("a", 90)).await;
            house.set(15);
            assert_eq!(now_ms(&engine), 50);
            assert!(engine.snapshot().get(ENDING, b"b").await.unwrap().is_none());
            engine.close().await.unwrap();
            assert_eq!(swept_ms(house.dir.path()), 50);
            let engine = house.open();
            assert_eq!(now_ms(&engine), 50);
            house.set(60);
            assert_eq!(now_ms(&engine), 60);
            engine.close().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_clock_by_which_nothing_was_decided_leaves_no_trace() {
        let house = House::new(Durability::Sync);
        let engine = filled(&house).await;
        house.set(50);
        // Nobody was there before; and it was looked for, but written elsewhere.
        replace(&engine, ENDING, ("c", 90)).await;
        replace(&engine, LASTING, ("a", 90)).await;
        house.set(15);
        assert_eq!(now_ms(&engine), 15);
        engine.close().await.unwrap();
        assert_eq!(swept_ms(house.dir.path()), 0);
    }

    /// A statement read while the clock was ahead, and is committed when it is not any more.
    #[tokio::test]
    async fn the_time_is_that_of_the_reading() {
        let house = House::new(Durability::Sync);
        let engine = filled(&house).await;
        house.set(50);
        let snapshot = engine.snapshot();
        assert!(snapshot.get(ENDING, b"a").await.unwrap().is_none());
        house.set(15);
        let mut writes = WriteSet::from_snapshot(snapshot.ts());
        writes.judged_ms = snapshot.judged_ms();
        writes.put(ENDING, "a", vec![90]);
        engine.commit(writes).await.unwrap();
        assert_eq!(now_ms(&engine), 50);
        engine.close().await.unwrap();
    }

    #[tokio::test]
    async fn compaction_removes_what_a_start_will_know_of() {
        for durability in [Durability::Sync, Durability::Async] {
            let house = House::new(durability);
            let engine = filled(&house).await;
            house.set(50);
            engine.compact(&[ENDING]).await.unwrap();
            // Readers see the files of the last commit.
            replace(&engine, LASTING, ("x", 90)).await;
            assert_eq!(engine.get_with_past(ENDING, b"a").await.unwrap(), None);
            // As a kill leaves it.
            assert_eq!(swept_ms(house.dir.path()), 50);
            house.set(15);
            assert_eq!(now_ms(&engine), 50);
            engine.close().await.unwrap();
        }
    }
}
