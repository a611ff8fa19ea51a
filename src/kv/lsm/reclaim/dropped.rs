//! What is left of dropped spaces in files that others have keys in, too: where there is little room on the disk it
//! is given back at once, and not when compactions come by.

use std::sync::Weak;

use fjall::{AbstractTree, Keyspace};
use lsm_tree::Table;

use super::{
    GIVEN_BYTES_MIN, REWRITTEN_BYTES_MAX, after_failure, check_writes, flush, may_rewrite, rewrite,
    warn,
};
use crate::kv::lsm::spaces::{self, DeadSpaces};
use crate::kv::lsm::{Shared, fault, room};
use crate::kv::{Error, Result, Space};

/// Whether dropped spaces may have something in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Debt {
    None,
    /// They may, and it is tried now and then; at least so many bytes stay of the files.
    Owed(u64),
    /// One was dropped just now.
    Grown,
}

/// Gives back what dropped spaces have in files, where there is little room; what is owed then.
pub(super) fn settle((shared, data): (&Weak<Shared>, &Keyspace), debt: Debt) -> Debt {
    let kept = match debt {
        Debt::None => return debt,
        Debt::Owed(_) | Debt::Grown if !may_rewrite(shared) => return Debt::None,
        Debt::Owed(kept) => kept,
        Debt::Grown => 0,
    };
    match give_back((shared, data), kept) {
        Ok(Given::All) => Debt::None,
        Ok(Given::NotNeeded) => Debt::Owed(0),
        Ok(Given::Lacks(kept)) => Debt::Owed(kept),
        Err(cause) => {
            warn("the room of dropped tables was not given back", Err(cause));
            Debt::Owed(kept)
        }
    }
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    /// Nothing is left that is worth it.
    All,
    /// There is room enough: it is to be done when there is not.
    NotNeeded,
    /// There is too little room for what is kept, so many bytes.
    Lacks(u64),
}

/// Where there is little room: rewrites the files without what dropped spaces have in them. Asks for the room
/// that the rewritten files take, `kept` bytes at least as far as that is known, and for what flushes need; nothing is
/// put meanwhile.
fn give_back((shared, data): (&Weak<Shared>, &Keyspace), kept: u64) -> Result<Given> {
    let Some(engine) = shared.upgrade() else {
        return Ok(Given::All);
    };
    if engine.check_room(0).is_ok() {
        return Ok(Given::NotNeeded);
    }
    if REWRITTEN_BYTES_MAX < data.disk_space() {
        return Ok(Given::All);
    }
    check_writes(shared)?;
    if engine.check_compaction(kept).is_err() {
        return Ok(Given::Lacks(kept));
    }
    // What is in memory has to be in a file, or it would be in one behind the compaction.
    flush(shared, data)?;
    let kept = kept_bytes(&engine, data)?;
    let files = data.disk_space();
    if files < kept.saturating_add(GIVEN_BYTES_MIN) {
        return Ok(Given::All);
    }
    if let Err(cause) = engine.check_compaction(kept) {
        tracing::warn!(%cause, "the room of dropped tables is given back when there is some for what is kept");
        return Ok(Given::Lacks(kept));
    }
    drop(engine);
    tracing::info!(
        files,
        kept,
        "there is little room: files are rewritten without dropped tables"
    );
    rewrite(shared, data)?;
    Ok(Given::All)
}

impl Shared {
    /// Whether the disk takes so many bytes of a compaction while nothing is put.
    pub(super) fn check_compaction(&self, bytes: u64) -> Result<()> {
        let tree = self.tree.lock().clone();
        let (db, data) = tree.ok_or(Error::Closed)?;
        room::check_compaction((&db, &data), bytes)
    }
}

/// About how many bytes all files have of spaces that were not dropped. Reads the files that have others', too.
pub(super) fn kept_bytes(shared: &Shared, data: &Keyspace) -> Result<u64> {
    let mut kept = 0_u64;
    for table in data.tree.current_version().iter_tables() {
        kept = kept.saturating_add(kept_of(table, &shared.dead).map_err(|cause| {
            // It is noted: what cannot be read is not read again and again.
            let cause = fault::error("reading what compactions keep", &cause.into());
            after_failure((shared, data), cause)
        })?);
    }
    Ok(kept)
}

fn kept_of(table: &Table, dead: &DeadSpaces) -> lsm_tree::Result<u64> {
    let metadata = &table.metadata;
    let (first, last) = (metadata.key_range.min(), metadata.key_range.max());
    // The engine's own keys come before those of all spaces.
    let first = spaces::space_of(first).unwrap_or(Space(0));
    let has_dead = spaces::space_of(last).is_some_and(|last| dead.has_between(first, last));
    if !has_dead {
        return Ok(metadata.file_size);
    }
    let mut kept = 0_u64;
    for item in table.scan()? {
        let item = item?;
        let key = &item.key.user_key;
        if !spaces::space_of(key).is_some_and(|space| dead.contains(space)) {
            let bytes = u64::try_from(key.len() + item.value.len()).unwrap_or(u64::MAX);
            kept = kept.saturating_add(bytes);
        }
    }
    // Not its share of the file: what stays may be what does not compress.
    Ok(kept.min(metadata.file_size))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use crate::kv::lsm::compaction::Rules;
    use crate::kv::lsm::compression::Compression;
    use crate::kv::lsm::room::pause::Floor;
    use crate::kv::lsm::{Lsm, Options, tree};
    use crate::kv::{Engine as _, WriteSet};

    use super::*;

    /// Of a file that has dropped spaces, too, what the others have in it is counted, unpacked.
    #[test]
    fn what_is_kept_of_a_file_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options::new(dir.path());
        let dead = DeadSpaces::default();
        let rules = Rules {
            dead: dead.clone(),
            expiry: None,
            compression: Arc::new(Compression::open(dir.path(), options.memtable_bytes).unwrap()),
            floor: Arc::new(Floor::new(dir.path(), 0)),
        };
        let (_db, data) = tree::open(dir.path(), &options, rules).unwrap();
        let mut row = 0;
        for (space, values) in [(Space(3), 100), (Space(5), 300)] {
            for value in 0..values {
                let mut key = Vec::new();
                spaces::put_physical(space, format!("{value:03}").as_bytes(), &mut key);
                row = u64::try_from(key.len() + 1000).unwrap();
                data.insert(key, [7; 1000]).unwrap();
            }
        }
        data.rotate_memtable_and_wait().unwrap();
        let version = data.tree.current_version();
        let table = version.iter_tables().next().unwrap();
        let size = table.metadata.file_size;
        for (dropped, kept) in [
            (Space(4), 400 * row),
            (Space(6), 400 * row),
            (Space(5), 100 * row),
            (Space(3), 0),
        ] {
            let is_in = (3..=5).contains(&dropped.0);
            dead.extend([dropped]);
            assert_eq!(kept_of(table, &dead).unwrap(), kept.min(size), "{dropped}");
            let last = spaces::space_of(table.metadata.key_range.max()).unwrap();
            assert!(!is_in || dead.has_between(Space(3), last));
        }
    }

    /// Mechanism: the file was read up to the damage again and again, each time somebody looked for room.
    #[tokio::test]
    async fn what_cannot_be_read_is_noted() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Lsm::open(&Options::new(dir.path())).unwrap();
        for space in [Space(1), Space(2)] {
            engine.create_space(space).await.unwrap();
            let mut writes = WriteSet::blind();
            for row in 0..500 {
                writes.put(space, format!("{row:03}"), [7; 100]);
            }
            engine.commit(writes).await.unwrap();
        }
        let (_, data) = engine.shared.tree.lock().clone().unwrap();
        data.tree.flush_active_memtable(0).unwrap();
        engine.shared.dead.extend([Space(1)]);
        kept_bytes(&engine.shared, &data).unwrap();
        assert!(engine.shared.reclaim.may_rewrite());
        let version = data.tree.current_version();
        let path = version.iter_tables().next().unwrap().path.to_path_buf();
        let mut bytes = fs::read(&path).unwrap();
        bytes[100] ^= 1;
        fs::write(&path, bytes).unwrap();
        let met = kept_bytes(&engine.shared, &data).unwrap_err();
        assert!(matches!(met, Error::Corrupt { .. }), "{met}");
        assert!(!engine.shared.reclaim.may_rewrite());
    }
}
