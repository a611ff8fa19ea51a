//! Forgets the files and memtables that no state which is read needs.
//!
//! The storage library keeps a list of them for each flush and compaction, and forgets only those before the oldest
//! state that is read: one transaction that stays open would hold all memtables and files since. Of the lists
//! between two states that are read none is needed, since a state is read with the last list before it.

use std::path::Path;
use std::sync::{Arc, Weak};

use fjall::{AbstractTree, LsmError};

use super::Committer;
use crate::kv::Ts;
use crate::kv::lsm::manifest;

/// Lists beside the newest that may be there before a busy engine looks which are needed: it costs a look at each state
/// that is read.
const LISTS_MAX: usize = 8;

/// A directory of a tree that is not there.
const NOWHERE: &str = "none";

impl Committer {
    /// Compactions leave files behind for snapshots that are gone by now; an idle engine returns
    /// their space, and a busy one when [`super::super::reclaim`] has made some or many lists are kept.
    pub(super) fn let_go(&mut self) {
        let newest = self.db.snapshot().seqno();
        // Without a view the state is of a time when files were being written.
        if self.base.ts < Ts(newest) || self.base.view.is_none() {
            let spaces = Arc::clone(&self.base.spaces);
            self.publish(spaces);
        }
        if self.data.tree.version_free_list_len() != 0 && self.shared.read_only().is_none() {
            self.forget_lists();
        }
        self.owes_room &= self.data.tree.version_free_list_len() != 0;
    }

    /// Whether a busy engine should let go.
    pub(super) fn has_many_lists(&self) -> bool {
        LISTS_MAX < self.data.tree.version_free_list_len()
    }

    /// Keeps the newest list and, of each state that is read, the last one before it.
    ///
    /// The library removes the file of a list, then forgets the list, and stops halfway where it cannot. So it looks for
    /// the files where none are, and they are removed afterwards: a start reads the newest alone.
    fn forget_lists(&self) {
        let path = self.data.path();
        // Others may make newer ones from now on.
        let newest_id = self.data.tree.current_version().id();
        if let Err(cause) = self.keep_read(&path.join(NOWHERE)) {
            // A list may be kept twice now, and to forget it once would remove the file that a start reads.
            self.fail("forgetting old lists of files", &cause.into());
        } else if let Err(cause) = manifest::remove_before(path, newest_id) {
            tracing::warn!(%cause, "old files of the storage engine were not removed");
        }
    }

    fn keep_read(&self, nowhere: &Path) -> Result<(), LsmError> {
        let read = self.bases.iter().filter_map(Weak::upgrade);
        let read: Vec<Ts> = read.map(|base| base.ts).collect();
        let mut lists = self.data.tree.get_version_history_lock();
        let newest = lists.latest_version();
        let (mut kept, mut behind, mut found) = (Vec::new(), 0, Ok(()));
        for Ts(seqno) in read {
            found = found.and_then(|()| lists.maintenance(nowhere, seqno));
            // The list of this state is the first one now. Where it was so before, it is kept already.
            if lists.len() != behind || found.is_err() {
                kept.push(lists.get_version_for_snapshot(seqno));
            }
            behind = lists.len();
        }
        if behind == 1 && found.is_ok() {
            // It is the newest.
            kept.pop();
        }
        found = found.and_then(|()| lists.maintenance(nowhere, u64::MAX));
        let mut kept = kept.into_iter();
        if let Some(first) = kept.next() {
            lists.replace_latest_version(first);
            kept.for_each(|list| lists.append_version(list));
            lists.append_version(newest);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::{Arc, Weak};
    use std::time::{Duration, Instant};

    use fjall::AbstractTree;
    use lsm_tree::Memtable;
    use rand::rngs::StdRng;
    use rand::{Rng as _, SeedableRng as _};

    use crate::kv::lsm::{Durability, Lsm, Options};
    use crate::kv::{Engine, Key, Snapshot, Space, Ts, WriteSet};

    const MEMTABLE_BYTES: u64 = 64 << 10;

    fn key(number: u8) -> Key {
        vec![number]
    }

    /// Puts so many values, some memtables full.
    async fn put_many(engine: &Lsm, rng: &mut StdRng) {
        for _ in 0..64 {
            let mut writes = WriteSet::blind();
            let number = rng.random_range(0..4);
            let value = vec![rng.random::<u8>(); 8 << 10];
            writes.put(Space(1), key(number), value);
            engine.commit(writes).await.unwrap();
        }
    }

    async fn seen(snapshot: &dyn Snapshot) -> Vec<Option<bytes::Bytes>> {
        let mut values = Vec::new();
        for number in 0..4 {
            values.push(snapshot.get(Space(1), &key(number)).await.unwrap());
        }
        values
    }

    /// The memtable that fills in a list behind all states up to this one, and not in theirs: the library puts the one that
    /// follows a full one into the same list.
    async fn filled_behind(
        engine: &Lsm,
        (Ts(last), deadline): (Ts, Instant),
        rng: &mut StdRng,
    ) -> Weak<Memtable> {
        loop {
            put_many(engine, rng).await;
            let base = engine.base().unwrap();
            while base.tree().sealed_memtable_count() != 0 {
                assert!(Instant::now() < deadline, "full memtables are not flushed");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let lists = base.tree().get_version_history_lock();
            let both = [lists.latest_version(), lists.get_version_for_snapshot(last)];
            let [newest, of_the_last] = both.map(|list| Arc::downgrade(&list.active_memtable));
            if !newest.ptr_eq(&of_the_last) {
                return newest;
            }
        }
    }

    /// Mechanism: the library forgets lists only from the oldest on, so that one open transaction held all memtables
    /// since it began.
    #[tokio::test]
    async fn what_lies_between_states_that_are_read_is_forgotten() {
        let seed: u64 = rand::random();
        println!("seed {seed}");
        let mut rng = StdRng::seed_from_u64(seed);
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            memtable_bytes: MEMTABLE_BYTES,
            durability: Durability::Async,
            cache_bytes: 1 << 20,
            row_cache_bytes: Some(0),
            ..Options::new(dir.path())
        };
        let engine = Lsm::open(&options).unwrap();
        engine.create_space(Space(1)).await.unwrap();
        let mut read = Vec::new();
        for round in 0..6 {
            put_many(&engine, &mut rng).await;
            let snapshot = engine.snapshot();
            let values = seen(&*snapshot).await;
            read.push((snapshot, values));
            if round == 3 {
                // One between others is gone.
                read.remove(1);
            }
        }
        let deadline = Instant::now() + Duration::from_mins(1);
        let last_ts = read.last().map_or(Ts(0), |(snapshot, _)| snapshot.ts());
        let memtable = filled_behind(&engine, (last_ts, deadline), &mut rng).await;
        // One in the middle cannot be removed.
        let tree = dir.path().join("lsm/keyspaces/1");
        let newest_id = || engine.base().unwrap().tree().current_version().id();
        let list = |id: u64| tree.join(format!("v{id}"));
        let stays = list(newest_id() - 1);
        let _removed = fs::remove_file(&stays);
        fs::create_dir(&stays).unwrap();
        put_many(&engine, &mut rng).await;
        while read.len() + 1 < engine.base().unwrap().tree().version_free_list_len() {
            assert!(Instant::now() < deadline, "lists are kept for nobody");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        while memtable.upgrade().is_some() {
            assert!(Instant::now() < deadline, "a memtable is kept for nobody");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        fs::remove_dir(&stays).unwrap();
        while let Some((snapshot, values)) = read.pop() {
            assert!(list(newest_id()).exists(), "a start would find no list");
            assert_eq!(seen(&*snapshot).await, values);
            put_many(&engine, &mut rng).await;
        }
        let newest = seen(&*engine.snapshot()).await;
        engine.close().await.unwrap();
        let engine = Lsm::open(&options).unwrap();
        assert_eq!(seen(&*engine.snapshot()).await, newest);
        engine.close().await.unwrap();
    }
}
