//! Changes of rows, with the entries of their indexes, as part of one statement's writes.
//!
//! An entry is written only where it changes. A new entry of a unique index must be free: this is
//! looked up here, under a lock on the entry's key, and the commit checks that the key is unchanged
//! since; only a blind INSERT leaves all of it to the commit ([`super::insert`]). What the statement
//! itself has written counts before what is stored, so rows change one after the other.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::super::pace::Pace;
use super::versions::Dating;
use super::{Env, counted, duplicate_entry, entries, row, space};
use crate::catalog::{ComputedPart, Index, IndexState, PartSource, Table};
use crate::codec::row::Deletion;
use crate::error::{Code, Error, Result};
use crate::exec::row::{Layout, StoredRow};
use crate::exec::transaction::{StatementWrites, Transaction, definition_changed};
use crate::exec::view::Written;
use crate::index::{self, Change};
use crate::kv::{self, Key, Space};
use crate::types::Value;

/// What a statement changes rows with.
pub(super) struct Changer<'a> {
    pub(super) table: &'a Table,
    pub(super) layout: &'a Layout,
    pub(super) env: &'a Env,
    pub(super) transaction: &'a mut Transaction,
    pub(super) writes: &'a mut StatementWrites,
    pub(super) dating: Dating<'a>,
    /// Deletions that rows which are not there have left, as far as they were read.
    pub(super) deletions: HashMap<Key, Deletion>,
    /// Entries of unique indexes that were read, locked and required to be unchanged.
    entries: HashMap<(Space, Key), Option<Bytes>>,
    /// In MySQL's order.
    unique: Arc<[&'a Index]>,
    /// Whether the last key that was taken is one of a unique index that is being built, or of a primary key that the
    /// table is getting.
    pub(super) is_in_the_making: bool,
}

/// Why a row cannot be put beside those that are there: a unique index has its values already.
pub(super) struct Collision {
    /// The space of the index.
    pub(super) space: Space,
    /// The key of the entry.
    pub(super) entry_key: Key,
    /// The key of the row that has it.
    pub(super) row_key: Key,
}

impl<'a> Changer<'a> {
    pub(super) fn new(
        (table, layout): (&'a Table, &'a Layout),
        (env, dating): (&'a Env, Dating<'a>),
        transaction: &'a mut Transaction,
        writes: &'a mut StatementWrites,
    ) -> Changer<'a> {
        Changer {
            table,
            layout,
            env,
            transaction,
            writes,
            dating,
            deletions: HashMap::new(),
            entries: HashMap::new(),
            unique: unique_in_order(table).into(),
            is_in_the_making: false,
        }
    }

    /// Changes the row under `key`, whose values are `old` and will be `new`, and its entries.
    /// Nothing is written when it fails.
    ///
    /// # Errors
    /// 1062 when another row has the values of a unique index; 1071 and 1118 for what is too large;
    /// 1041 when the process has no memory for what the statement has written so far.
    pub(super) async fn change(
        &mut self,
        key: &Key,
        old: Option<&[Value<'static>]>,
        new: Option<&[Value<'static>]>,
    ) -> Result<()> {
        self.writes.ask()?;
        let value = new.map(|new| row::value(self.table, new)).transpose()?;
        let mut changes = entries::changes(self.table, old, new)?;
        for change in &mut changes {
            self.check(key, change).await?;
        }
        let shadow = self.shadow_change(key, old, new).await?;
        if let Some((old, new)) = old.zip(new) {
            counted::pass_set((self.table, self.env), (old, new)).await?;
        }
        for change in &mut changes {
            if let Some((space, entry_key)) = self.space(change).zip(change.delete.take()) {
                self.writes.delete(space, entry_key);
            }
        }
        let at = space(self.table);
        match value {
            Some(value) => self.writes.put(at, key.clone(), value),
            None => self.writes.delete(at, key.clone()),
        }
        self.note_deletion(key, (old, new.is_some()))?;
        let grown = i64::from(new.is_some()) - i64::from(old.is_some());
        self.writes
            .grow(at, Some(grown).filter(|_| !self.table.expires()));
        for change in changes {
            if let Some((space, entry)) = self.space(&change).zip(change.put) {
                self.writes.put(space, entry.key, entry.value);
            }
        }
        self.put_shadow(shadow);
        Ok(())
    }

    /// Puts a row that is new without looking: the commit checks that its key and its entries of
    /// unique indexes are free.
    ///
    /// # Errors
    /// As [`Changer::change`], for rows of this statement.
    pub(super) fn put_new(&mut self, key: Key, new: &[Value<'_>]) -> Result<()> {
        self.writes.ask()?;
        let value = row::value(self.table, new)?;
        let changes = entries::changes(self.table, None, Some(new))?;
        self.put_absent(space(self.table), key, value)?;
        self.writes.grow(space(self.table), Some(1));
        for change in changes {
            let Some((index, entry)) = self.index(&change).zip(change.put) else {
                continue;
            };
            let space = index::space(index);
            if change.must_be_absent {
                self.put_absent(space, entry.key, entry.value)?;
            } else {
                self.writes.put(space, entry.key, entry.value);
            }
        }
        self.put_new_shadow(new)
    }

    /// What this statement has written to a key: `Some(None)` a delete, or a value that has ended already.
    pub(super) fn own_value(&mut self, at: Space, key: &Key) -> Option<Written> {
        let own = self.writes.get(at, key)?.cloned();
        if !self.table.expires() {
            return Some(own);
        }
        let snapshot = self.transaction.snapshot();
        Some(own.filter(|value| !snapshot.has_ended(at, value)))
    }

    pub(super) fn put_absent(&mut self, at: Space, key: Key, value: Vec<u8>) -> Result<()> {
        if self.table.expires() && self.own_value(at, &key) == Some(None) {
            self.writes.put(at, key, value);
            return Ok(());
        }
        let put = self.writes.put_new(at, key, value);
        put.map_err(|key| duplicate_entry(self.table, at, &key, &self.env.ctx.zone))
    }

    fn index(&self, change: &Change) -> Option<&'a Index> {
        self.table.indexes.get(change.index_position)
    }

    fn space(&self, change: &Change) -> Option<Space> {
        self.index(change).map(index::space)
    }

    /// Checks that the new entry of a unique index is free.
    ///
    /// While such an index is built, rows that it does not know yet may have equal values; an entry
    /// then belongs to the one that came first, the changes of the others leave it alone, and the
    /// build fails when it meets them.
    async fn check(&mut self, row_key: &Key, change: &mut Change) -> Result<()> {
        let Some(index) = self.index(change).filter(|index| index.unique) else {
            return Ok(());
        };
        if self.table.expires() {
            // The row may have ended for others, who have given its entry to another row.
            let put = change.put.as_ref().filter(|_| !change.must_be_absent);
            let keys = change.delete.iter().chain(put.map(|entry| &entry.key));
            for key in keys {
                self.writes
                    .must_be_unchanged(index::space(index), key.clone());
            }
        }
        if let Some(freed) = change.delete.as_ref().filter(|_| !self.env.autocommit) {
            // Until the transaction ends nobody knows whether the values are free: who wants them waits.
            let (space, cancel) = (index::space(index), &self.env.cancel);
            self.transaction.lock(space, freed, cancel).await?;
        }
        let new = change.put.as_ref().filter(|_| change.must_be_absent);
        if let Some(entry) = new
            && self.owner(index, &entry.key).await?.is_some()
        {
            let space = index::space(index);
            let zone = &self.env.ctx.zone;
            self.is_in_the_making = index.state == IndexState::Building;
            return Err(duplicate_entry(self.table, space, &entry.key, zone));
        }
        if index.state != IndexState::Building {
            return Ok(());
        }
        if let Some(entry_key) = &change.delete {
            let owner = self.owner(index, entry_key).await?;
            if owner.is_some_and(|owner| owner != *row_key) {
                change.delete = None;
            }
        }
        if let Some(entry) = change.put.as_ref().filter(|_| !change.must_be_absent) {
            let owner = self.owner(index, &entry.key).await?;
            if owner.is_some_and(|owner| owner != *row_key) {
                change.put = None;
            }
        }
        Ok(())
    }

    /// The key of the row that has an entry of a unique index, in the state after what this
    /// statement has done so far.
    async fn owner(&mut self, index: &Index, entry_key: &Key) -> Result<Option<Key>> {
        let entry = match self.own_value(index::space(index), entry_key) {
            Some(own) => own,
            None => self.stored_entry(index::space(index), entry_key).await?,
        };
        let row_key = entry.map(|entry| index::primary_key(self.table, index, (entry_key, &entry)));
        Ok(row_key.transpose()?)
    }

    async fn stored_entry(&mut self, at: Space, key: &Key) -> Result<Option<Bytes>> {
        let place = (at, key.clone());
        if let Some(known) = self.entries.get(&place) {
            return Ok(known.clone());
        }
        self.transaction.lock(at, key, &self.env.cancel).await?;
        self.unlocked_entry(at, key).await
    }

    /// As it is stored, and must be at the commit.
    pub(super) async fn unlocked_entry(&mut self, at: Space, key: &Key) -> Result<Option<Bytes>> {
        let place = (at, key.clone());
        if let Some(known) = self.entries.get(&place) {
            return Ok(known.clone());
        }
        let entry = self.transaction.view().get(at, key).await;
        let entry = entry.map_err(unreadable_entry)?;
        self.writes.must_be_unchanged(at, key.clone());
        self.entries.insert(place, entry.clone());
        Ok(entry)
    }

    /// Locks rows and entries, in this order.
    pub(super) async fn lock_all(&mut self, keys: &[(Space, Key)]) -> Result<()> {
        let mut pace = Pace::default();
        for (row_idx, (at, key)) in keys.iter().enumerate() {
            self.env.cancel.check_row(row_idx)?;
            pace.keep().await;
            self.transaction.lock(*at, key, &self.env.cancel).await?;
        }
        Ok(())
    }

    /// Reads entries that will be asked for, all at once; they are locked, and in order.
    pub(super) async fn read_entries(&mut self, keys: &[(Space, Key)]) -> Result<()> {
        for of_one in keys.chunk_by(|left, right| left.0 == right.0) {
            let Some((at, _)) = of_one.first() else {
                continue;
            };
            let entry_keys: Vec<Key> = of_one.iter().map(|(_, key)| key.clone()).collect();
            let entries = self.transaction.view().multi_get(*at, &entry_keys).await;
            for (key, entry) in entry_keys
                .into_iter()
                .zip(entries.map_err(unreadable_entry)?)
            {
                self.writes.must_be_unchanged(*at, key.clone());
                self.entries.insert((*at, key), entry);
            }
        }
        Ok(())
    }

    /// Locks and reads the entries that rows will ask for in unique indexes when they change from old
    /// to new values.
    pub(super) async fn read_new_entries<'v>(
        &mut self,
        rows: impl Iterator<Item = (&'v [Value<'static>], &'v [Value<'static>])> + Clone,
    ) -> Result<()> {
        let mut keys = Vec::new();
        for index in self.table.indexes.iter().filter(|index| index.unique) {
            for (old, new) in rows.clone().filter(|_| index.state.is_written()) {
                let new = entries::unique_key(self.table, index, new)?;
                let old = || entries::unique_key(self.table, index, old).unwrap_or_default();
                if new.is_some() && new != old() {
                    keys.extend(new.map(|key| (index::space(index), key)));
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        self.lock_all(&keys).await?;
        self.read_entries(&keys).await
    }

    /// The first unique index, in MySQL's order, in which another row than that under `row_key` has these values.
    pub(super) async fn collision(
        &mut self,
        row_key: &Key,
        values: &[Value<'_>],
    ) -> Result<Option<Collision>> {
        let table = self.table;
        for index in Arc::clone(&self.unique).iter() {
            let Some(entry_key) = entries::unique_key(table, index, values)? else {
                continue;
            };
            match self.owner(index, &entry_key).await? {
                Some(owner) if owner != *row_key => {
                    return Ok(Some(Collision {
                        space: index::space(index),
                        entry_key,
                        row_key: owner,
                    }));
                }
                Some(_) | None => {}
            }
        }
        Ok(None)
    }

    /// Whether an error is that of a key that the table has: IGNORE leaves out no row for one that is in the making, and
    /// may never be.
    pub(super) fn is_surely_there(&self, error: &Error) -> bool {
        error.code() == Code::DuplicateEntry && !self.is_in_the_making
    }

    /// The row that an entry of a unique index led to, locked, in the state after what this
    /// statement has done so far.
    pub(super) async fn row_of(&mut self, found: &Collision) -> Result<Vec<Value<'static>>> {
        let at = space(self.table);
        let own = self.writes.get(at, &found.row_key);
        let bytes = if let Some(own) = own {
            own.cloned()
        } else {
            let cancel = &self.env.cancel;
            self.transaction.lock(at, &found.row_key, cancel).await?;
            let stored = self.transaction.view().get(at, &found.row_key).await?;
            self.writes.must_be_unchanged(at, found.row_key.clone());
            stored
        };
        let Some(bytes) = bytes else {
            let text = format!(
                "index entry {} in storage space {} of table '{}' belongs to no row",
                found.entry_key.escape_ascii(),
                found.space,
                self.table.name
            );
            return Err(Error::new(Code::StorageCorrupt, text));
        };
        self.values(&found.row_key, &bytes)
    }

    /// The values of a stored row.
    pub(super) fn values(&self, key: &Key, bytes: &[u8]) -> Result<Vec<Value<'static>>> {
        StoredRow::parse(self.table, self.layout, key, bytes)?.to_values()
    }
}

/// The unique indexes in MySQL's order (`sort_keys` in its `sql_table.cc`): those first whose columns cannot be `NULL`,
/// among either those last that have but the beginning of a value, and then as they were defined. It tells which of
/// several rows ON DUPLICATE KEY UPDATE meets.
///
/// Without those that are being built, whose building may yet fail: no row may have gone for one that never was.
fn unique_in_order(table: &Table) -> Vec<&Index> {
    let holds = |index: &&Index| {
        index.unique && index.state.is_written() && index.state != IndexState::Building
    };
    let mut unique: Vec<&Index> = table.indexes.iter().filter(holds).collect();
    unique.sort_by_key(|index| {
        let parts = || index.parts.iter().map(|part| part.column_idx);
        let column = |idx| index.column(table, idx);
        let is_nullable = parts().any(|idx| column(idx).is_none_or(|column| column.nullable));
        let has_prefix = parts().any(|idx| is_prefix(index.computed_part(table, idx)));
        (is_nullable, has_prefix)
    });
    unique
}

fn is_prefix(part: Option<&ComputedPart>) -> bool {
    part.is_some_and(|part| match part.source {
        PartSource::Prefix { .. } => true,
        PartSource::Expression(_) => false,
    })
}

/// An index, or the place of deletions, that is not in the snapshot was made or dropped since the statement
/// was bound, or since the transaction began.
pub(super) fn unreadable_entry(cause: kv::Error) -> Error {
    if matches!(cause, kv::Error::NoSuchSpace(_)) {
        return definition_changed();
    }
    cause.into()
}
