//! What deleted rows have in files: where there is little room on the disk it is given back as soon as nobody reads
//! the rows any more, and not when compactions come by. Else who deletes rows to make room would not get any.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Weak;

use fjall::{AbstractTree, Keyspace, Readable};

use super::{GIVEN_BYTES_MIN, REWRITTEN_BYTES_MAX, flush, rewrite};
use crate::kv::Result;
use crate::kv::lsm::snapshot::Base;
use crate::kv::lsm::{Shared, damage, fault, spaces};

/// Less than this part of the files is not worth rewriting them all.
const GAIN_PART: u64 = 8;

/// What stays may take this part more than is told of it.
const MARGIN_PART: u64 = 16;

/// After so many keys it is looked whether the engine is to end.
const LOOK_KEYS: usize = 4096;

/// What is known of deleted rows in files.
#[derive(Debug, Default)]
pub(super) struct Deleted {
    /// Deleted keys in files that were found not worth it, or too much for the room.
    left: u64,
    /// Bytes that stay, where there was too little room for them.
    lacks: Option<u64>,
}

impl Deleted {
    /// Where nothing is put for lack of room: rewrites the files without what was deleted, if that gains enough. Asks
    /// for the room that what stays takes, and for what flushes need.
    pub(super) fn give_back(&mut self, (shared, data): (&Weak<Shared>, &Keyspace)) -> Result<()> {
        let Some(engine) = shared.upgrade() else {
            return Ok(());
        };
        // Other compactions may have come by.
        self.left = self.left.min(data.tree.tombstone_count());
        if !is_asked(&engine, data) {
            return Ok(());
        }
        // Of what is in memory nothing is known.
        flush(shared, data)?;
        let count = data.tree.tombstone_count();
        let fits = |kept| engine.check_compaction(kept).is_ok();
        if count <= self.left && !self.lacks.is_some_and(fits) {
            return Ok(());
        }
        let Some(kept) = kept_by_all(&engine, data)? else {
            return Ok(());
        };
        *self = Deleted {
            left: count,
            lacks: None,
        };
        let files = data.disk_space();
        let gained = freed_bytes(data).saturating_sub(kept);
        if gained < GIVEN_BYTES_MIN.max(files / GAIN_PART) {
            return Ok(());
        }
        if let Err(cause) = engine.check_compaction(kept) {
            tracing::warn!(%cause, "the room of deleted rows is given back when there is some for what is kept");
            self.lacks = Some(kept);
            return Ok(());
        }
        drop(engine);
        tracing::info!(
            files,
            kept,
            "there is little room: files are rewritten without deleted rows"
        );
        rewrite(shared, data)?;
        self.left = data.tree.tombstone_count();
        Ok(())
    }
}

/// Whether nothing is put for lack of room, and there is enough for what is about to be done.
fn is_asked(shared: &Shared, data: &Keyspace) -> bool {
    // What is asked first costs nothing, as long as there is plenty.
    shared.check_room(0).is_err()
        && shared.read_only().is_none()
        && data.disk_space() <= REWRITTEN_BYTES_MAX
        && shared.check_compaction(0).is_ok()
        && shared.let_go().is_some_and(|(_, is_scarce)| is_scarce)
}

/// About how many bytes of the files stay, of the newest state; `None` where somebody reads an older one, which
/// compactions would keep, too, and where the engine is to end.
fn kept_by_all(shared: &Shared, data: &Keyspace) -> Result<Option<u64>> {
    let base = shared.base.read().clone();
    let (Some(base), found) = (base, shared.let_go()) else {
        return Ok(None);
    };
    if found.is_none_or(|(oldest, _)| oldest < base.ts) {
        return Ok(None);
    }
    let kept = kept_of(shared, &base, data);
    kept.map_err(|cause| {
        let cause = fault::error("reading what compactions keep", &cause);
        damage::in_compaction(&shared.engine_dir, cause)
    })
}

/// By the part that keys and values of this state are of all that are in files: those are packed.
fn kept_of(shared: &Shared, base: &Base, data: &Keyspace) -> fjall::Result<Option<u64>> {
    let bytes = |key: &[u8], value: &[u8]| u64::try_from(key.len() + value.len()).unwrap_or(0);
    let is_over = |number: usize| number.is_multiple_of(LOOK_KEYS) && shared.floor.is_hurried();
    let (mut all, mut living) = (0_u64, 0_u64);
    for table in data.tree.current_version().iter_tables() {
        for (number, item) in table.scan()?.enumerate() {
            let item = item?;
            all = all.saturating_add(bytes(&item.key.user_key, &item.value));
            if is_over(number) {
                return Ok(None);
            }
        }
    }
    for (number, item) in base.snapshot.iter(&base.data).enumerate() {
        let (key, value) = item.into_inner()?;
        let is_dead = |space| shared.dead.contains(space);
        if !spaces::space_of(&key).is_some_and(is_dead) {
            living = living.saturating_add(bytes(&key, &value));
        }
        if is_over(number) {
            return Ok(None);
        }
    }
    let files = u128::from(data.disk_space());
    let kept = files * u128::from(living) / u128::from(all.max(1));
    let kept = u64::try_from(kept).unwrap_or(u64::MAX);
    Ok(Some(kept.saturating_add(kept / MARGIN_PART)))
}

/// The bytes of files that are gone when they are replaced: no backup has links to them.
fn freed_bytes(data: &Keyspace) -> u64 {
    let version = data.tree.current_version();
    let tables = version.iter_tables().map(|table| table.path.as_path());
    let found = tables.filter_map(|path| fs::metadata(path).ok());
    let alone = found.filter(|found| found.nlink() == 1);
    alone.map(|found| found.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{Engine, Space, WriteSet};

    const T: Space = Space(1);
    const ROWS: usize = 400;

    async fn with_rows(dir: &std::path::Path) -> (Lsm, Keyspace) {
        let engine = Lsm::open(&Options::new(dir)).unwrap();
        engine.create_space(T).await.unwrap();
        let mut writes = WriteSet::blind();
        for row in 0..ROWS {
            // As long when it is packed.
            let value: Vec<u8> = (0..1000).map(|_| rand::random()).collect();
            writes.put(T, format!("{row:04}"), value);
        }
        engine.commit(writes).await.unwrap();
        let (_, data) = engine.shared.tree.lock().clone().unwrap();
        (engine, data)
    }

    /// On a thread that may wait, as that of the engine.
    fn kept(engine: &Lsm, data: &Keyspace) -> Option<u64> {
        let find = || kept_by_all(&engine.shared, data).unwrap();
        std::thread::scope(|scope| scope.spawn(find).join().unwrap())
    }

    fn flushed(engine: &Lsm, data: &Keyspace) {
        flush(&std::sync::Arc::downgrade(&engine.shared), data).unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_stays_is_known_when_nobody_reads_what_was() {
        let dir = tempfile::tempdir().unwrap();
        let (engine, data) = with_rows(dir.path()).await;
        flushed(&engine, &data);
        let old = engine.snapshot();
        let mut writes = WriteSet::blind();
        for row in 0..ROWS / 2 {
            writes.delete(T, format!("{row:04}"));
        }
        engine.commit(writes).await.unwrap();
        flushed(&engine, &data);
        assert_eq!(kept(&engine, &data), None);
        drop(old);
        let kept = kept(&engine, &data).unwrap();
        let half = data.disk_space() / 2;
        assert!(half < kept && kept < half + half / 8, "{kept} of {half}");
        engine.compact(&[]).await.unwrap();
        let files = data.disk_space();
        assert!(files < kept && kept < files + files / 8, "{files}, {kept}");
        engine.close().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn files_that_others_have_free_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (engine, data) = with_rows(dir.path()).await;
        flushed(&engine, &data);
        let (files, freed) = (data.disk_space(), freed_bytes(&data));
        assert!(
            files / 2 < freed && freed <= files + files / 2,
            "{freed} of {files}"
        );
        let version = data.tree.current_version();
        for (number, table) in version.iter_tables().enumerate() {
            let link = dir.path().join(number.to_string());
            fs::hard_link(table.path.as_path(), link).unwrap();
        }
        assert_eq!(freed_bytes(&data), 0);
        engine.close().await.unwrap();
    }
}
