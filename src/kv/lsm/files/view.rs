//! The files and the memtable of a tree, as they stand together at one moment.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use fjall::{AbstractTree, AnyTree};
use lsm_tree::table::IndexBlock;
use lsm_tree::{GlobalTableId, Memtable, Result, Table, TableId, TreeId};
use parking_lot::RwLock;

use super::feed;
use crate::kv::lsm::compression::Compression;

/// All that a snapshot reads. It must be taken with the snapshot, before anything else is written:
/// once a newer version of a row is there, compaction leaves out the one that an old snapshot sees,
/// and the storage library gives such a snapshot the files of its own time. The files stay on the
/// disk for as long as this is held.
pub(in crate::kv::lsm) struct View {
    pub(super) memtable: Arc<Memtable>,
    /// How the values are stored.
    pub(super) compression: Arc<Compression>,
    pub(super) files: Arc<Files>,
}

/// The files of a tree until there are others: of as many states as are written meanwhile.
pub(in crate::kv::lsm) struct Files {
    /// The tree's, among all that share a cache of blocks.
    tree: TreeId,
    /// A tree has another one whenever it has other files.
    version: u64,
    /// Lists them. The committer should not have to, and the library has no name for what it keeps them in.
    list: Box<dyn Fn() -> Vec<Run> + Send + Sync>,
    runs: OnceLock<Vec<Run>>,
    indexes: Arc<Indexes>,
}

/// The indexes of files: all of one that is in one piece, the uppermost part of another. Blocks are 4 KiB long,
/// so an index takes a hundredth of its file; and files on the deepest levels, which most are, have theirs in
/// parts.
type Indexes = RwLock<HashMap<TableId, IndexBlock>>;

/// Files without a key in common, in the order of their keys.
pub(super) type Run = Vec<Table>;

impl View {
    /// The present state; `None` while a memtable waits to be written to files, because the storage
    /// library shows only the one that is written to. `before` is one of the same tree.
    pub(in crate::kv::lsm) fn take(
        tree: &AnyTree,
        compression: &Arc<Compression>,
        before: Option<&View>,
    ) -> Option<View> {
        let memtable = tree.active_memtable();
        if tree.sealed_memtable_count() != 0 {
            return None;
        }
        let files = Files::of(tree, before.map(|view| &view.files));
        // Between two looks at the same memtable there was no other that could have begun to wait.
        let is_same = tree.active_memtable().id() == memtable.id();
        is_same.then(|| View {
            memtable,
            compression: Arc::clone(compression),
            files,
        })
    }

    /// Every file, of any level.
    pub(super) fn tables(&self) -> Vec<Table> {
        self.files.runs().iter().flatten().cloned().collect()
    }
}

impl Files {
    fn of(tree: &AnyTree, before: Option<&Arc<Files>>) -> Arc<Files> {
        let version = tree.current_version();
        if let Some(same) = before.filter(|before| before.version == version.id()) {
            return Arc::clone(same);
        }
        Arc::new(Files {
            tree: tree.id(),
            version: version.id(),
            list: Box::new(move || {
                let runs = version.iter_levels().flat_map(|level| level.iter());
                runs.map(|run| run.to_vec()).collect()
            }),
            runs: OnceLock::new(),
            indexes: before.map_or_else(Arc::default, |before| Arc::clone(&before.indexes)),
        })
    }

    /// Them all: a key is in one file of each run at most.
    pub(super) fn runs(&self) -> &[Run] {
        self.runs.get_or_init(|| {
            let runs = (self.list)();
            let live: HashSet<TableId> = runs.iter().flatten().map(Table::id).collect();
            self.indexes.write().retain(|id, _| live.contains(id));
            runs
        })
    }

    /// The index of one of them, or its uppermost part; it is read once.
    pub(super) fn index_of(&self, table: &Table) -> Result<IndexBlock> {
        if let Some(index) = self.indexes.read().get(&table.id()) {
            return Ok(index.clone());
        }
        let index = feed::read_index(table)?;
        self.indexes.write().insert(table.id(), index.clone());
        Ok(index)
    }

    /// What a file is called in the cache of blocks.
    pub(super) fn cached_id(&self, table: &Table) -> GlobalTableId {
        (self.tree, table.id()).into()
    }
}
