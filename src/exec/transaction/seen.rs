//! What a transaction sees of tables and indexes that others define meanwhile: all of what was there when its snapshot
//! was taken, and nothing of what came later, even where that has rows of before.

use std::sync::Arc;

use super::{BoundTable, Transaction};
use crate::catalog::{Definitions, IndexId, Table, wide};
use crate::kv::Snapshot;
use crate::kv::later::Later;

/// How often definitions may change while a snapshot is taken.
const LOOKS_MAX: u32 = 1000;

impl Transaction {
    /// Takes the snapshot now, if there is none yet.
    pub fn snapshot(&mut self) -> &Arc<dyn Snapshot> {
        let (engine, catalog) = (&self.engine, &self.catalog);
        self.snapshot.get_or_insert_with(|| {
            let Some(known) = &mut self.known else {
                self.snapshot_version = catalog.version();
                return engine.snapshot();
            };
            let mut looks = 0;
            loop {
                self.snapshot_version = catalog.version();
                *known = catalog.current();
                let snapshot = engine.snapshot();
                self.next_space = engine.spaces().next;
                looks += 1;
                // What was published up to the snapshot is to be known, and nothing else.
                if Arc::ptr_eq(known, &catalog.current()) || LOOKS_MAX <= looks {
                    return snapshot;
                }
            }
        })
    }

    /// Whether something was read.
    pub fn has_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// [`Catalog::version`] when the snapshot was taken, or now when there is none yet: what was
    /// published up to there is in the snapshot, the entries of its active indexes too.
    fn snapshot_version(&self) -> u64 {
        match &self.snapshot {
            Some(_) => self.snapshot_version,
            None => self.catalog.version(),
        }
    }

    /// Whether the snapshot has all entries of a table's active indexes: nothing was published
    /// since it was taken, the table is as it was then, or nobody else writes it. And whether what was written
    /// here has them: an index that was made since has none of it.
    pub fn sees_indexes_of(&self, table: &Arc<Table>) -> bool {
        let has_all = |bound: &BoundTable| {
            bound.table.id != table.id
                || wide::is_same(&bound.table, table)
                || writes_all_indexes((&bound.table, table))
                || !self.has_written(&bound.table)
        };
        if !self.tables.iter().all(has_all) {
            return false;
        }
        if self.snapshot_version() == self.catalog.version()
            || self.catalog.is_temporary(table)
            || self.is_later(table)
        {
            return true;
        }
        let known = self.known.as_ref();
        let known = known.and_then(|known| known.table(&table.database, &table.name).ok());
        known.is_some_and(|known| wide::is_same(known, table))
    }

    /// Whether the snapshot has the rows of a table, and those that were written here are in it: not if it got
    /// other storage since, where some of them may be when its primary key has changed.
    pub fn sees(&self, table: &Arc<Table>) -> bool {
        let is_elsewhere = |bound: &BoundTable| {
            let (old, new) = (&bound.table, table);
            let is_it = (&old.database, &old.name) == (&new.database, &new.name);
            is_it && old.id != new.id && self.has_written(old)
        };
        if self.tables.iter().any(is_elsewhere) {
            return false;
        }
        if !self.has_snapshot()
            || self.catalog.is_temporary(table)
            || self.is_later(table)
            || !self.catalog.is_current(table)
        {
            return true;
        }
        let known = self.known.as_ref();
        known.is_none_or(|known| has(known, table))
    }

    /// Whether a table is known to be newer than the snapshot.
    fn is_later(&self, table: &Table) -> bool {
        let later = self.later.as_ref();
        later.is_some_and(|later| table.own_spaces().all(|space| later.is_later(space)))
    }

    /// A statement is about a table. If it was made after the snapshot was taken, nothing was in it then.
    pub fn meet(&mut self, table: &Arc<Table>) {
        let Some(known) = self.known.as_ref().filter(|_| self.has_snapshot()) else {
            return;
        };
        // Not one that was taken back from the trash, or that was being filled.
        let is_new = table.own_spaces().all(|space| self.next_space <= space);
        if is_new && !has(known, table) && self.snapshot_version == self.catalog.version() {
            self.meet_own(table);
        }
    }

    /// A table was made: the snapshot, if there is one, is older than its storage, which was empty then.
    pub fn meet_own(&mut self, table: &Table) {
        let Some(snapshot) = &mut self.snapshot else {
            return;
        };
        let later = self.later.get_or_insert_with(|| {
            let later = Arc::new(Later::over(Arc::clone(snapshot)));
            *snapshot = Arc::clone(&later) as Arc<dyn Snapshot>;
            later
        });
        table.own_spaces().for_each(|space| later.add(space));
    }

    /// Whether something that was written to a table is to be committed.
    pub(super) fn has_written(&self, table: &Table) -> bool {
        let overlay = &self.staged.overlay;
        table.own_spaces().any(|space| overlay.has_any_of(space))
    }
}

/// Whether who writes by an old definition keeps all entries of the indexes of a new one.
fn writes_all_indexes((old, new): (&Table, &Table)) -> bool {
    let is_written = |id: IndexId| {
        let mut indexes = old.indexes.iter();
        indexes.any(|index| index.id == id && index.state.is_written())
    };
    new.indexes.iter().all(|index| is_written(index.id))
}

/// Whether there is a table of this storage among definitions, whatever its name is.
fn has(definitions: &Definitions, table: &Table) -> bool {
    let of_name = definitions.table(&table.database, &table.name);
    of_name.is_ok_and(|of_name| of_name.id == table.id)
        || definitions.all_tables().any(|other| other.id == table.id)
}
