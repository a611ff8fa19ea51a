//! The one way to write: puts and deletes that happen together, and what must hold for them to.

use std::collections::BTreeMap;

use super::{CommitError, Key, Limits, Space, Ts};

/// One key that gets a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The space of the key.
    pub space: Space,
    /// The key; never empty.
    pub key: Key,
    /// Its new value; never empty.
    pub value: Vec<u8>,
}

/// A transaction's writes, applied together or not at all.
///
/// Deletes take effect before puts, so a key in both ends with its put; of two puts of one key
/// the later one counts. The checks look at the newest committed state before this set: they do
/// not see its own writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteSet {
    /// The snapshot this set was made from. Without one nothing is known to be unchanged: a set that
    /// asks for it is a [`CommitError::Conflict`].
    pub start_ts: Option<Ts>,
    /// As of when values count as ended, where that decided what is written: the latest
    /// [`super::Snapshot::judged_ms`] of what was read.
    pub judged_ms: Option<u64>,
    /// Keys that get a value.
    pub puts: Vec<Put>,
    /// Keys that are removed; one that is not there is fine, and counts as changed all the same.
    pub deletes: Vec<(Space, Key)>,
    /// Keys that must have no value in the newest committed state, else
    /// [`CommitError::AlreadyExists`].
    pub must_be_absent: Vec<(Space, Key)>,
    /// Keys that no commit after `start_ts` may have put or deleted, else
    /// [`CommitError::Conflict`].
    pub must_be_unchanged: Vec<(Space, Key)>,
    /// By how much the number of keys of a space changes; the checks above make sure that it is so.
    /// The number of a space that is written and is not here is not known from then on
    /// ([`super::Snapshot::count`]).
    pub growth: BTreeMap<Space, i64>,
    /// How many keys a space has in the state at `start_ts`; no commit after it may have written to
    /// the space, else [`CommitError::Conflict`] with an empty key.
    pub counted: Option<(Space, u64)>,
}

impl WriteSet {
    /// A set without checks against a snapshot.
    pub fn blind() -> WriteSet {
        WriteSet::default()
    }

    /// A set made from what a snapshot at `ts` showed.
    pub fn from_snapshot(ts: Ts) -> WriteSet {
        WriteSet {
            start_ts: Some(ts),
            ..WriteSet::default()
        }
    }

    /// Adds a put.
    pub fn put(&mut self, space: Space, key: impl Into<Key>, value: impl Into<Vec<u8>>) {
        let (key, value) = (key.into(), value.into());
        self.puts.push(Put { space, key, value });
    }

    /// Adds a delete.
    pub fn delete(&mut self, space: Space, key: impl Into<Key>) {
        self.deletes.push((space, key.into()));
    }

    /// The first key that must be unchanged, where there is no snapshot since which it could be. For
    /// engines.
    pub(super) fn unfounded(&self) -> Option<&(Space, Key)> {
        let keys = &self.must_be_unchanged;
        keys.first().filter(|_| self.start_ts.is_none())
    }

    /// Whether nothing is written. The checks may still be there.
    pub fn is_empty(&self) -> bool {
        self.puts.is_empty() && self.deletes.is_empty() && self.counted.is_none()
    }

    /// The spaces that are written, each once.
    pub(super) fn spaces(&self) -> Vec<Space> {
        let mut spaces: Vec<Space> = Vec::new();
        for (space, _) in self.written() {
            if spaces.last() != Some(&space) {
                spaces.push(space);
            }
        }
        spaces.sort_unstable();
        spaces.dedup();
        spaces
    }

    /// How many keys a space that is written has after it, if that is known.
    pub(super) fn count_after(&self, space: Space, before: Option<u64>) -> Option<u64> {
        before?.checked_add_signed(*self.growth.get(&space)?)
    }

    /// Bytes of all keys and values that are written.
    pub fn bytes(&self) -> usize {
        let puts: usize = self
            .puts
            .iter()
            .map(|put| put.key.len() + put.value.len())
            .sum();
        let deletes: usize = self.deletes.iter().map(|(_, key)| key.len()).sum();
        puts + deletes
    }

    /// Every space and key that is written.
    pub fn written(&self) -> impl Iterator<Item = (Space, &[u8])> {
        let puts = self.puts.iter().map(|put| (put.space, put.key.as_slice()));
        let deletes = self
            .deletes
            .iter()
            .map(|(space, key)| (*space, key.as_slice()));
        deletes.chain(puts)
    }

    /// Refuses what an engine with these limits does not take. For engines.
    ///
    /// # Errors
    ///
    /// [`CommitError::TooLarge`].
    pub fn check_limits(&self, limits: &Limits) -> Result<(), CommitError> {
        for (_, key) in self.written() {
            fits("key", key.len(), limits.key_bytes_max)?;
        }
        for put in &self.puts {
            fits("value", put.value.len(), limits.value_bytes_max)?;
        }
        fits("transaction", self.bytes(), limits.write_set_bytes_max)
    }
}

fn fits(what: &'static str, bytes: usize, bytes_max: usize) -> Result<(), CommitError> {
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(CommitError::TooLarge {
        what,
        bytes,
        bytes_max,
    })
}
