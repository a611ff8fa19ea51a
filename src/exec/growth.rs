//! By how many rows the tables grow that a statement or a transaction writes.

use std::collections::BTreeMap;

use crate::kv::Space;

/// By how many rows a space grows; `None` when nobody knows.
pub(super) type Known = Option<i64>;

/// By how many rows each space grows; `None` where a row was written without looking whether there
/// is one.
#[derive(Debug, Clone, Default)]
pub(super) struct Growth(BTreeMap<Space, Option<i64>>);

impl Growth {
    /// Adds to one space.
    pub(super) fn add(&mut self, space: Space, by: Option<i64>) {
        let sum = self.0.entry(space).or_insert(Some(0));
        *sum = sum.zip(by).and_then(|(sum, by)| sum.checked_add(by));
    }

    /// Each space, and by how much it grows.
    pub(super) fn spaces(self) -> impl Iterator<Item = (Space, Option<i64>)> {
        self.0.into_iter()
    }

    /// What is kept of one space, to be restored.
    pub(super) fn get(&self, space: Space) -> Option<Known> {
        self.0.get(&space).copied()
    }

    /// Keeps what [`Growth::get`] gave.
    pub(super) fn restore(&mut self, space: Space, kept: Option<Known>) {
        match kept {
            Some(by) => drop(self.0.insert(space, by)),
            None => drop(self.0.remove(&space)),
        }
    }

    /// Of one space; `None` when it is not known.
    pub(super) fn of(&self, space: Space) -> Option<i64> {
        self.0.get(&space).copied().unwrap_or(Some(0))
    }

    /// Of the spaces where all is known.
    pub(super) fn into_known(self) -> BTreeMap<Space, i64> {
        let spaces = self.0.into_iter();
        let known = spaces.filter_map(|(space, by)| Some((space, by?)));
        known.collect()
    }
}
