//! What belongs to one state, taken by the committer between two batches.
//!
//! Nobody commits meanwhile, but background work goes on: it writes memtables to tables, replaces the
//! list of the tables, and then deletes journals. So the journals are opened first and the list is read
//! after them: what a journal had that is gone by then is in the tables of the list. What is in both is
//! no harm, as after a crash: replaying a journal skips what the tables have.
//!
//! Everything that takes time is left for later: open files can be read, and tables that are held stay
//! on the disk, whatever becomes of their names. A journal grows after the cut; what is behind the last
//! batch of the cut is left out when it is copied.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use fjall::{AbstractTree, Keyspace};
use lsm_tree::Table;

use super::tree::{self, TableFile, Tree};
use super::{LIBRARY_TREE, reading};
use crate::kv::lsm::journal::{self, BatchId};
use crate::kv::{Error, Result, Ts};

/// How often the list is read: each time it was replaced meanwhile, by a flush or a compaction. And the journals: each time
/// that they all went meanwhile.
const TRIES: usize = 100;

/// One state of the engine.
pub(in crate::kv::lsm) struct Cut {
    /// The commits before it.
    pub(super) ts: Ts,
    /// What was written last, if that was in this run of the server.
    pub(super) last: Option<BatchId>,
    /// The run that wrote last.
    pub(super) run: Option<u64>,
    /// The directory of the engine.
    pub(super) engine_dir: PathBuf,
    /// The journals, in order, by name.
    pub(super) journals: Vec<(String, File)>,
    /// The tree of the data, and its directory.
    pub(super) data: (PathBuf, Tree),
    /// Keeps the tables of the list on the disk.
    pub(super) _tables: Vec<Table>,
}

impl Cut {
    /// The directory of the storage library's own tree: nothing changes there once the engine is open.
    pub(super) fn library_dir(&self) -> PathBuf {
        let (data_dir, _) = &self.data;
        data_dir.with_file_name(LIBRARY_TREE)
    }
}

/// Takes the state of now. Only for the thread that writes, while it is not writing, when everything
/// written is synced; `ts` is the newest state that is shown, and `last` what was written last.
///
/// # Errors
///
/// [`Error::Io`], [`Error::Corrupt`].
pub(in crate::kv::lsm) fn take((ts, last): (Ts, Option<BatchId>), data: &Keyspace) -> Result<Cut> {
    let data_dir = data.path().to_path_buf();
    let engine_dir = data_dir
        .ancestors()
        .nth(2)
        .unwrap_or(&data_dir)
        .to_path_buf();
    let run = journal::last_run(&engine_dir);
    let journals = open_journals(|| {
        journal::check_any(&engine_dir)?;
        journal::list(&engine_dir)
    })?;
    for _ in 0..TRIES {
        let version = data.tree.current_version();
        let tables: Vec<Table> = version.iter_tables().cloned().collect();
        let path = data_dir.join(tree::version_name(version.id()));
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            Err(cause) => return Err(reading(&path, &cause)),
        };
        let Some(tree) = Tree::of(version.id(), bytes) else {
            return Err(super::damaged(&path, "it is not a list of tables"));
        };
        let of_memory = tables.iter().map(|table| TableFile {
            id: table.id(),
            checksum: table.checksum().into_u128(),
        });
        if !of_memory.eq(tree.tables.iter().copied()) {
            return Err(super::damaged(&path, "it is not the list that was written"));
        }
        return Ok(Cut {
            ts,
            last,
            run,
            engine_dir,
            journals,
            data: (data_dir, tree),
            _tables: tables,
        });
    }
    Err(Error::Io {
        doing: format!("reading {}", data_dir.display()),
        cause: format!("the list of tables was replaced {TRIES} times meanwhile"),
    })
}

/// Opens the journals that are listed: one at least, since the library begins to count anew where there is none.
fn open_journals(mut list: impl FnMut() -> Result<Vec<PathBuf>>) -> Result<Vec<(String, File)>> {
    for _ in 0..TRIES {
        let opened = open_all(list()?)?;
        if !opened.is_empty() {
            return Ok(opened);
        }
        // All of them have gone since, and the newest was begun since: it never goes.
    }
    Err(Error::Io {
        doing: "opening the journals".to_owned(),
        cause: format!("they were replaced {TRIES} times meanwhile"),
    })
}

/// Opens journals, which are in order; they may go meanwhile, and all of them may.
fn open_all(paths: Vec<PathBuf>) -> Result<Vec<(String, File)>> {
    let mut journals = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match File::open(&path) {
            Ok(file) => journals.push((name.into_owned(), file)),
            // All of it is in the tables, and so is all of those before it, which go first: one that was opened
            // would stand beside a gap.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => journals.clear(),
            Err(cause) => return Err(reading(&path, &cause)),
        }
    }
    Ok(journals)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mechanism: what was opened before the gap stayed, and no backup with a gap can be opened.
    #[test]
    fn journals_before_one_that_has_gone_have_gone_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = |number: u64| dir.path().join(format!("{number}.jnl"));
        for number in [3, 5, 6] {
            fs::write(path(number), b"").unwrap();
        }
        let opened = open_all((3..=6).map(path).collect()).unwrap();
        let names: Vec<&str> = opened.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["5.jnl", "6.jnl"]);
    }

    /// Mechanism: a flush that ended between the list and the opening left no journal to copy, and a backup without one is
    /// an empty server.
    #[test]
    fn journals_are_listed_again_when_all_of_them_have_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = |number: u64| dir.path().join(format!("{number}.jnl"));
        fs::write(path(5), b"").unwrap();
        let mut lists = vec![vec![path(5)], vec![path(3), path(4)]];
        let opened = open_journals(|| Ok(lists.pop().unwrap())).unwrap();
        let names: Vec<&str> = opened.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["5.jnl"]);
        let replaced = open_journals(|| Ok(vec![path(3)])).unwrap_err();
        assert!(matches!(replaced, Error::Io { .. }), "{replaced}");
    }
}
