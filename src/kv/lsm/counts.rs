//! How many keys each space has, kept up by the commits that say how the number changes.
//!
//! The number is a key of the engine's own, written in the batch that changes it: a snapshot sees
//! the number of its own state, and a crash cannot part number and rows. A commit that writes to a
//! space and does not say how the number changes takes it away.

use std::collections::HashMap;

use fjall::{Keyspace, OwnedWriteBatch};

use super::snapshot::Base;
use super::spaces;
use crate::kv::{Result, Space, WriteSet};

/// The numbers in the newest state, of the spaces that were written; the committer's own.
#[derive(Debug, Default)]
pub(super) struct Counts(HashMap<Space, Option<u64>>);

/// The numbers after a group of commits.
#[derive(Debug, Default)]
pub(super) struct Counted(HashMap<Space, Option<u64>>);

impl Counts {
    fn before(&mut self, space: Space, base: &Base) -> Result<Option<u64>> {
        if let Some(known) = self.0.get(&space) {
            return Ok(*known);
        }
        let count = base.count(space)?;
        self.0.insert(space, count);
        Ok(count)
    }

    /// Takes in what a write set of a group does.
    pub(super) fn add(&mut self, writes: &WriteSet, base: &Base, group: &mut Counted) {
        for space in writes.spaces() {
            let in_group = group.0.get(&space).copied();
            match in_group.map_or_else(|| self.before(space, base), Ok) {
                Ok(before) => {
                    let after = writes.count_after(space, before);
                    if before != after {
                        group.0.insert(space, after);
                    }
                }
                // What cannot be read is taken away, or it would be there again later, and wrong.
                Err(cause) => {
                    tracing::warn!(%cause, %space, "the number of keys of a space is given up");
                    group.0.insert(space, None);
                }
            }
        }
        if let Some((space, count)) = writes.counted {
            group.0.insert(space, Some(count));
        }
    }

    /// Writes the numbers after a group with its batch.
    pub(super) fn put(&mut self, group: Counted, (batch, data): (&mut OwnedWriteBatch, &Keyspace)) {
        for (space, count) in group.0 {
            let key = spaces::count_key(space);
            match count {
                Some(count) => batch.insert(data, key, spaces::number_value(count)),
                None => batch.remove(data, key),
            }
            self.0.insert(space, count);
        }
    }

    /// Forgets a space that was dropped.
    pub(super) fn forget(&mut self, space: Space) {
        self.0.remove(&space);
    }
}

impl Counted {
    /// The number of keys of one space.
    pub(super) fn of(space: Space, keys_count: Option<u64>) -> Counted {
        Counted(HashMap::from([(space, keys_count)]))
    }

    /// Whether no number changes.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
