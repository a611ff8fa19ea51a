//! The writes of one statement, until the transaction takes them in or they are committed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::BoundTable;
use crate::ceiling;
use crate::error::Result;
use crate::exec::growth::Growth;
use crate::kv::{Key, Space, Ts, WriteSet};

/// The writes of one statement.
#[derive(Debug, Default)]
pub struct StatementWrites {
    /// The table they are made for; `None` when nothing is written.
    pub(super) table: Option<BoundTable>,
    /// New values by row; `None` is a delete.
    pub(super) rows: BTreeMap<(Space, Key), Option<Bytes>>,
    pub(super) absent: Vec<(Space, Key)>,
    pub(super) unchanged: BTreeSet<(Space, Key)>,
    pub(super) growth: Growth,
    pub(super) bytes: usize,
    /// Those of them that are not of deletes: deletes are what makes room.
    pub(super) put_bytes: usize,
    /// Those of `put_bytes` that were asked for.
    asked_bytes: usize,
}

impl StatementWrites {
    /// No writes yet, to come of a statement that was bound with this table.
    pub fn of(table: BoundTable) -> StatementWrites {
        StatementWrites {
            table: Some(table),
            ..StatementWrites::default()
        }
    }

    /// Writes a row.
    pub fn put(&mut self, space: Space, key: Key, value: Vec<u8>) {
        self.count_put(key.len() + value.len());
        self.rows.insert((space, key), Some(Bytes::from(value)));
    }

    fn count_put(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.put_bytes += bytes;
    }

    /// Asks for what was put since this was last called, if it is much: to be called for each row.
    ///
    /// # Errors
    /// 1041.
    pub fn ask(&mut self) -> Result<()> {
        if self.put_bytes - self.asked_bytes < ceiling::GRAIN_BYTES {
            return Ok(());
        }
        self.ask_for_rest("the writes of a statement")
    }

    pub(super) fn ask_for_rest(&mut self, what: &str) -> Result<()> {
        if self.asked_bytes < self.put_bytes {
            ceiling::drip(what, self.put_bytes - self.asked_bytes)?;
            self.asked_bytes = self.put_bytes;
        }
        Ok(())
    }

    /// Deletes a row.
    pub fn delete(&mut self, space: Space, key: Key) {
        self.bytes += key.len();
        self.rows.insert((space, key), None);
    }

    /// Writes a row whose key no row may have when the statement or transaction commits. Gives the
    /// key back when this statement has written it already.
    ///
    /// # Errors
    /// The key.
    pub fn put_new(
        &mut self,
        space: Space,
        key: Key,
        value: Vec<u8>,
    ) -> std::result::Result<(), Key> {
        match self.rows.entry((space, key)) {
            Entry::Occupied(taken) => Err(taken.key().1.clone()),
            Entry::Vacant(place) => {
                let bytes = place.key().1.len() + value.len();
                self.absent.push(place.key().clone());
                place.insert(Some(Bytes::from(value)));
                self.count_put(bytes);
                Ok(())
            }
        }
    }

    /// Says by how many rows the space grows by what was written last; `None` when nobody has looked.
    pub fn grow(&mut self, space: Space, by: Option<i64>) {
        self.growth.add(space, by);
    }

    /// Requires that the row is at commit as it was read.
    pub fn must_be_unchanged(&mut self, space: Space, key: Key) {
        self.unchanged.insert((space, key));
    }

    /// What this statement has done to a row so far: `None` nothing, `Some(None)` deleted it.
    pub fn get(&self, space: Space, key: &Key) -> Option<Option<&Bytes>> {
        // A borrowed pair cannot look up an owned one, hence the copy; only duplicates come here.
        self.rows.get(&(space, key.clone())).map(Option::as_ref)
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of the keys and values gathered.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Made from what was read at `start_ts`, if anything was.
    pub(super) fn into_write_set(self, start_ts: Option<Ts>) -> WriteSet {
        let mut writes = WriteSet {
            start_ts,
            ..WriteSet::default()
        };
        let is_founded = writes.start_ts.is_some() || self.unchanged.is_empty();
        debug_assert!(is_founded, "a row was read without a snapshot");
        for ((space, key), value) in self.rows {
            match value {
                Some(value) => writes.put(space, key, value),
                None => writes.delete(space, key),
            }
        }
        writes.growth = self.growth.into_known();
        writes.must_be_absent = self.absent;
        writes.must_be_unchanged = self.unchanged.into_iter().collect();
        writes
    }
}
