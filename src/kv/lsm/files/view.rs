//! The files and the memtable of a tree, as they stand together at one moment.

use std::sync::Arc;

use fjall::{AbstractTree, AnyTree};
use lsm_tree::{Memtable, Table};

use crate::kv::lsm::compression::Compression;

/// All that a snapshot reads. It must be taken with the snapshot, before anything else is written:
/// once a newer version of a row is there, compaction leaves out the one that an old snapshot sees,
/// and the storage library gives such a snapshot the files of its own time. The files stay on the
/// disk for as long as this is held.
pub(in crate::kv::lsm) struct View {
    pub(super) memtable: Arc<Memtable>,
    /// How the values are stored.
    pub(super) compression: Arc<Compression>,
    /// Lists the files. A commit should not have to, and the library has no name for what it keeps
    /// them in.
    tables: Box<dyn Fn() -> Vec<Table> + Send + Sync>,
}

impl View {
    /// The present state; `None` while a memtable waits to be written to files, because the storage
    /// library shows only the one that is written to.
    pub(in crate::kv::lsm) fn take(tree: &AnyTree, compression: &Arc<Compression>) -> Option<View> {
        let memtable = tree.active_memtable();
        if tree.sealed_memtable_count() != 0 {
            return None;
        }
        let version = tree.current_version();
        // Between two looks at the same memtable there was no other that could have begun to wait.
        let is_same = tree.active_memtable().id() == memtable.id();
        is_same.then(|| View {
            memtable,
            compression: Arc::clone(compression),
            tables: Box::new(move || version.iter_tables().cloned().collect()),
        })
    }

    /// Every file, of any level.
    pub(super) fn tables(&self) -> Vec<Table> {
        (self.tables)()
    }
}
