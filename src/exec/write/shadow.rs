//! Changes of rows of a table whose primary key is being changed: what they are in its shadow
//! ([`Table::shadow`]).
//!
//! A row of the shadow belongs to one row of the table. Rows that are not copied yet may have the key
//! of one that is there: it then belongs to the one that came first, the changes of the others leave
//! it alone, and the copy fails when it meets them. What is looked at must be unchanged at the
//! commit.

use super::changer::Changer;
use super::{duplicate_entry, entries, row, space};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::exec::backfill::copy;
use crate::exec::row::Layout;
use crate::index::{self, Entry};
use crate::kv::{Key, Space};
use crate::types::Value;

/// What a statement does to a shadow for one row, when nothing is in the way.
#[derive(Default)]
pub(super) struct ShadowChange {
    deletes: Vec<(Space, Key)>,
    row: Option<(Key, Vec<u8>)>,
    entries: Vec<(Space, Entry)>,
    grown: i64,
}

impl<'a> Changer<'a> {
    pub(super) fn shadow(&self) -> Option<&'a Table> {
        self.table.shadow.as_deref()
    }

    /// What the change of the row under `row_key` is in the shadow.
    ///
    /// # Errors
    /// 1062 when another row has the new key; 1048 for `NULL` in it; 1071 and 1118 for what is too
    /// large.
    pub(super) async fn shadow_change(
        &mut self,
        row_key: &Key,
        old: Option<&[Value<'_>]>,
        new: Option<&[Value<'_>]>,
    ) -> Result<ShadowChange> {
        let mut change = ShadowChange::default();
        let Some(shadow) = self.shadow() else {
            return Ok(change);
        };
        // What has no key there is not there.
        let old_key = old.and_then(|old| new_key(shadow, old).ok());
        let key = new.map(|new| new_key(shadow, new)).transpose()?;
        let mut is_ours = false;
        if let Some(old_key) = &old_key {
            let owner = self.shadow_owner(shadow, old_key).await?;
            is_ours = owner.as_ref() == Some(row_key);
            if owner.is_some() && !is_ours && key.as_ref() == Some(old_key) {
                return Ok(change);
            }
        }
        if let Some(key) = key.as_ref().filter(|key| Some(*key) != old_key.as_ref())
            && self.shadow_owner(shadow, key).await?.is_some()
        {
            let zone = &self.env.ctx.zone;
            self.is_in_the_making = true;
            return Err(duplicate_entry(shadow, space(shadow), key, zone));
        }
        let old = old.filter(|_| is_ours);
        for one in entries::changes(shadow, old, new)? {
            let Some(at) = shadow.indexes.get(one.index_position).map(index::space) else {
                continue;
            };
            change.deletes.extend(one.delete.map(|key| (at, key)));
            change.entries.extend(one.put.map(|entry| (at, entry)));
        }
        change.grown = i64::from(new.is_some()) - i64::from(is_ours);
        if let Some(old_key) = old_key.filter(|old_key| is_ours && Some(old_key) != key.as_ref()) {
            change.deletes.push((space(shadow), old_key));
        }
        if let Some((key, new)) = key.zip(new) {
            change.row = Some((key, row::value(shadow, new)?));
        }
        Ok(change)
    }

    /// Adds a change of the shadow to the statement's writes.
    pub(super) fn put_shadow(&mut self, change: ShadowChange) {
        let Some(shadow) = self.shadow() else { return };
        let at = space(shadow);
        if shadow.expires() {
            // As for the table's own entries.
            let puts = change.entries.iter().map(|(at, entry)| (*at, &entry.key));
            let deletes = change.deletes.iter().map(|(at, key)| (*at, key));
            for (at, key) in deletes.chain(puts) {
                self.writes.must_be_unchanged(at, key.clone());
            }
        }
        for (at, key) in change.deletes {
            self.writes.delete(at, key);
        }
        if change.row.is_some() || change.grown != 0 {
            let grown = Some(change.grown).filter(|_| !shadow.expires());
            self.writes.grow(at, grown);
        }
        if let Some((key, value)) = change.row {
            self.writes.put(at, key, value);
        }
        for (at, entry) in change.entries {
            self.writes.put(at, entry.key, entry.value);
        }
    }

    /// Puts a row that is new without looking: the commit checks that its key is free.
    ///
    /// # Errors
    /// As [`Changer::shadow_change`], for rows of this statement.
    pub(super) fn put_new_shadow(&mut self, new: &[Value<'_>]) -> Result<()> {
        let Some(shadow) = self.shadow() else {
            return Ok(());
        };
        let at = space(shadow);
        let key = new_key(shadow, new)?;
        let changes = entries::changes(shadow, None, Some(new))?;
        self.put_absent(at, key, row::value(shadow, new)?)?;
        self.writes.grow(at, Some(1));
        for change in changes {
            let at = shadow.indexes.get(change.index_position).map(index::space);
            if let Some((at, entry)) = at.zip(change.put) {
                self.writes.put(at, entry.key, entry.value);
            }
        }
        Ok(())
    }

    /// The key in the table of the row that has a key in the shadow, in the state after what this
    /// statement has done so far.
    async fn shadow_owner(&mut self, shadow: &Table, key: &Key) -> Result<Option<Key>> {
        let at = space(shadow);
        let own = self
            .writes
            .get(at, key)
            .map(Option::<&bytes::Bytes>::cloned);
        let stored = match own {
            Some(own) => own,
            None => self.unlocked_entry(at, key).await?,
        };
        let layout = Layout::of(shadow);
        let tables = (self.table, shadow);
        let owner = stored.map(|value| copy::owner(tables, &layout, (key, &value)));
        owner.transpose()
    }
}

/// The key of a row in the shadow.
fn new_key(shadow: &Table, values: &[Value<'_>]) -> Result<Key> {
    for part in &shadow.key {
        if values.get(part.column_idx).is_none_or(Value::is_null) {
            let column = shadow.columns.get(part.column_idx);
            let text = format!(
                "Column '{}' cannot be null: it is part of the primary key that the table is \
                 getting",
                column.map_or("", |column| &column.name)
            );
            return Err(Error::new(Code::ColumnNotNull, text));
        }
    }
    row::key(shadow, values)
}
