//! A list of files that could not be written: it ends all writing, as where a thread of the storage library fails.
//!
//! The library knows of its own threads alone, and the next flush writes the same list once more, over one that the disk
//! may name as the present one already: a second failure, or a crash, would leave a directory that cannot be opened.
//! Before it begins with the list, a failed call has done nothing that anybody finds: files that are in no list, which
//! the next start removes. So reads that fail, files that cannot be opened, and files of rows that cannot be written end
//! the call and nothing else.

use std::fs;
use std::io;

use fjall::{AbstractTree, Keyspace};

use crate::kv::Error;
use crate::kv::lsm::{Shared, manifest};

/// After a call that writes lists has failed: ends writing if it had begun one.
pub(super) fn end_writing_if_begun((shared, data): (&Shared, &Keyspace), cause: &Error) {
    if shared.read_only().is_none() && is_begun(data) {
        shared.give_up(cause);
    }
}

/// Whether there is something of the list behind the present one.
fn is_begun(data: &Keyspace) -> bool {
    loop {
        let present = data.tree.current_version().id();
        let next = manifest::list_path(data.path(), present.saturating_add(1));
        let found = fs::symlink_metadata(next);
        // What cannot be looked at may be there.
        let is_there = !found.is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound);
        // A flush that was writing it has ended by now: who writes a list keeps the others from asking.
        if data.tree.current_version().id() == present {
            return is_there;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::kv::lsm::{Lsm, Options, spaces};
    use crate::kv::{CommitError, Engine, Space, WriteSet};

    const T: Space = Space(1);
    const KEPT: Space = Space(2);
    const PATIENCE: Duration = Duration::from_secs(30);

    fn options(dir: &Path) -> Options {
        Options {
            cache_bytes: 1 << 20,
            ..Options::new(dir)
        }
    }

    /// An engine at rest: nothing is in memory, and all files are one.
    async fn at_rest(dir: &Path) -> Lsm {
        let engine = Lsm::open(&options(dir)).unwrap();
        for space in [T, KEPT] {
            engine.create_space(space).await.unwrap();
        }
        engine.commit(one_row()).await.unwrap();
        engine.compact(&[]).await.unwrap();
        engine
    }

    fn one_row() -> WriteSet {
        let mut writes = WriteSet::blind();
        writes.put(KEPT, "key", "value");
        writes
    }

    /// The file that names the present list has a directory in its place: a new list is written and synced, and does not
    /// become the present one.
    fn hurt(dir: &Path) -> (PathBuf, Vec<u8>) {
        let current = dir.join("lsm/keyspaces/1/current");
        let bytes = fs::read(&current).unwrap();
        fs::remove_file(&current).unwrap();
        fs::create_dir(&current).unwrap();
        (current, bytes)
    }

    fn heal((current, bytes): (PathBuf, Vec<u8>)) {
        fs::remove_dir(&current).unwrap();
        fs::write(&current, bytes).unwrap();
    }

    async fn expect_ended(engine: &Lsm) {
        let deadline = Instant::now() + PATIENCE;
        while engine.read_only().is_none() {
            assert!(Instant::now() < deadline, "writing goes on");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let refused = engine.commit(one_row()).await;
        let is_refused = matches!(&refused, Err(CommitError::Failed(Error::ReadOnly { .. })));
        assert!(is_refused, "{refused:?}");
        assert!(engine.shared.floor.has_failed(), "compactions go on");
        let found = engine.get_newest(KEPT, b"key").await.unwrap();
        assert_eq!(found.unwrap(), "value");
    }

    /// Mechanism: the library takes writes back from nobody but its own threads. The failure was told to whoever had asked
    /// for the compaction, and the next flush wrote over the list.
    #[tokio::test]
    async fn a_compaction_that_cannot_write_its_list_ends_writing() {
        let dir = tempfile::tempdir().unwrap();
        let engine = at_rest(dir.path()).await;
        let hurt = hurt(dir.path());
        let failed = engine.compact(&[]).await.unwrap_err();
        assert!(matches!(failed, Error::Io { .. }), "{failed}");
        expect_ended(&engine).await;
        drop(engine.close().await);
        heal(hurt);
        let engine = Lsm::open(&options(dir.path())).unwrap();
        engine.commit(one_row()).await.unwrap();
        engine.close().await.unwrap();
    }

    /// The same of a dropped space, whose files go with a list of their own.
    #[tokio::test]
    async fn a_dropped_space_whose_list_cannot_be_written_ends_writing() {
        let dir = tempfile::tempdir().unwrap();
        let engine = at_rest(dir.path()).await;
        // A file that has nothing of others, as they are when a table is large.
        let (_, data) = engine.shared.tree.lock().clone().unwrap();
        let mut key = Vec::new();
        spaces::put_physical(T, b"key", &mut key);
        data.tree.insert(key, "value", 0);
        data.tree.flush_active_memtable(0).unwrap();
        drop(data);
        let hurt = hurt(dir.path());
        engine.drop_space(T).await.unwrap();
        expect_ended(&engine).await;
        drop(engine.close().await);
        heal(hurt);
        let engine = Lsm::open(&options(dir.path())).unwrap();
        assert!(!engine.spaces().live.contains(&T));
        engine.commit(one_row()).await.unwrap();
        engine.close().await.unwrap();
    }

    /// Files of rows are another matter: what was written of them is in no list.
    #[tokio::test]
    async fn a_compaction_that_cannot_write_its_rows_ends_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let engine = at_rest(dir.path()).await;
        let tables = dir.path().join("lsm/keyspaces/1/tables");
        let number = |name: std::ffi::OsString| name.to_str()?.parse::<u64>().ok();
        let names = fs::read_dir(&tables).unwrap();
        let names = names.filter_map(|entry| number(entry.unwrap().file_name()));
        let last = names.max().unwrap();
        let in_the_way: Vec<PathBuf> = (last + 1..last + 10)
            .map(|number| tables.join(number.to_string()))
            .collect();
        for dir in &in_the_way {
            fs::create_dir(dir).unwrap();
        }
        let failed = engine.compact(&[]).await.unwrap_err();
        assert!(matches!(failed, Error::Io { .. }), "{failed}");
        assert_eq!(engine.read_only(), None);
        engine.commit(one_row()).await.unwrap();
        for dir in &in_the_way {
            fs::remove_dir(dir).unwrap();
        }
        engine.compact(&[]).await.unwrap();
        engine.close().await.unwrap();
    }
}
