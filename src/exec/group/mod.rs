//! GROUP BY and aggregates.
//!
//! ```text
//!   InOrder    the rows of a group come one after the other: one group in memory
//!   Groups     a hash table of groups; past the memory it spills
//!   GroupRows  what a hash table hands out
//! ```
//! Rows that meet a group in memory are aggregated there. When there is no room for one more group
//! the rows of others go to files, parted by a hash of the key ([`super::partition`]), and are
//! aggregated part by part when all rows are taken in, parted again by another hash where a part
//! is still too large.
//!
//! The state of some aggregates grows with the rows (`COUNT(DISTINCT)`, `GROUP_CONCAT`, `MIN` of a
//! text). When it outgrows the memory, all groups are put aside by part, and all further rows
//! spill; each part begins with its groups again. So that a part finds more room than the whole,
//! such a table takes half of what there is. Hot: [`Groups::add`] runs once per row.

mod in_order;
mod rows;
mod run;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::budget::{Budget, Memory};
use super::key_table::{KEY_OVERHEAD_BYTES, KeyTable};
use super::partition::{self, DEPTH_MAX, PARTS, Partitions};
use super::spill::Disk;
use crate::error::Result;
use crate::sql::aggregate::Accumulator;
use crate::sql::bound::Aggregation;
use crate::sql::context::EvalContext;
use crate::sql::expr::Row;
pub use in_order::InOrder;
pub use rows::{GroupRows, Step};
pub use run::StoredRows;
use state::States;

/// What the errors call it.
const OPERATOR: &str = "group by";

/// The groups of one statement, or of one part of them.
pub struct Groups {
    table: KeyTable,
    states: States,
    budget: Budget,
    disk: Option<Arc<Disk>>,
    /// How often the rows were parted.
    depth: u32,
    /// What it holds at most, because its states grow; else as much as there is.
    bytes_max: usize,
    /// Whether its states grow with the rows.
    grow: bool,
    /// What its groups take of the budget.
    bytes: usize,
    spilled: Option<Partitions>,
    /// All groups, by part, once they had outgrown the memory.
    aside: Option<Vec<Vec<Aside>>>,
    key: Vec<u8>,
    payload: Vec<u8>,
}

/// A group that waits for its part.
struct Aside {
    key: Box<[u8]>,
    states: Vec<Accumulator>,
}

impl Groups {
    /// No groups yet. There must be keys: else see [`InOrder`].
    pub fn new(aggregation: &Aggregation, memory: &Memory) -> Groups {
        let rest = (memory.budget(OPERATOR), memory.disk().cloned(), 0);
        Groups::of_part(aggregation, rest)
    }

    fn of_part(
        aggregation: &Aggregation,
        (budget, disk, depth): (Budget, Option<Arc<Disk>>, u32),
    ) -> Groups {
        let grow = state::grow(aggregation);
        let may_outgrow = disk.is_some() && depth < DEPTH_MAX;
        let bytes_max = if may_outgrow && grow {
            budget.used_bytes() + budget.left_bytes() / 2
        } else {
            usize::MAX
        };
        Groups {
            table: KeyTable::default(),
            states: States::new(aggregation.aggregates.len()),
            budget,
            disk,
            depth,
            bytes_max,
            grow,
            bytes: 0,
            spilled: None,
            aside: None,
            key: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// Takes in one row.
    ///
    /// # Errors
    /// Those of evaluation; 1038 when neither memory nor disk will do; 1114 past the disk's quota.
    pub fn add(
        &mut self,
        aggregation: &Aggregation,
        row: &dyn Row,
        ctx: &EvalContext,
    ) -> Result<()> {
        if aggregation.rollup {
            for kept in 0..aggregation.keys.len() {
                // Each level evaluates all keys.
                ctx.facts.check_stop()?;
                self.key.clear();
                let about = (aggregation, kept);
                state::push_rolled_up(&mut self.key, about, (row, ctx))?;
                self.add_keyed(aggregation, row, ctx)?;
            }
            return Ok(());
        }
        self.key.clear();
        state::push_key(&mut self.key, aggregation, (row, ctx))?;
        self.add_keyed(aggregation, row, ctx)
    }

    /// Takes a row into the group of `self.key`.
    fn add_keyed(
        &mut self,
        aggregation: &Aggregation,
        row: &dyn Row,
        ctx: &EvalContext,
    ) -> Result<()> {
        let hash = partition::hash(&self.key, self.depth);
        let Some(group_idx) = self.place(hash, aggregation, ctx)? else {
            self.payload.clear();
            state::push_arguments(&mut self.payload, aggregation, (row, ctx))?;
            return self.spill(hash);
        };
        let states = self.states.get_mut(group_idx);
        let grown = state::update((states, self.grow), aggregation, (row, ctx))?;
        self.account(grown, aggregation)
    }

    /// Takes in one row that was spilled.
    fn add_spilled(
        &mut self,
        (key, payload): (&[u8], &[u8]),
        aggregation: &Aggregation,
        ctx: &EvalContext,
    ) -> Result<()> {
        self.key.clear();
        self.key.extend_from_slice(key);
        let hash = partition::hash(key, self.depth);
        let Some(group_idx) = self.place(hash, aggregation, ctx)? else {
            self.payload.clear();
            self.payload.extend_from_slice(payload);
            return self.spill(hash);
        };
        let states = self.states.get_mut(group_idx);
        let grown = state::update_spilled(states, aggregation, (payload, ctx))?;
        self.account(grown, aggregation)
    }

    /// The group of `self.key`, a new one if need be; `None` when there is no room for it.
    fn place(
        &mut self,
        hash: u64,
        aggregation: &Aggregation,
        ctx: &EvalContext,
    ) -> Result<Option<usize>> {
        if self.aside.is_some() {
            return Ok(None);
        }
        if let Some(group_idx) = self.table.find(hash, &self.key) {
            return Ok(Some(group_idx));
        }
        self.insert(hash, aggregation, ctx)
    }

    fn insert(
        &mut self,
        hash: u64,
        aggregation: &Aggregation,
        ctx: &EvalContext,
    ) -> Result<Option<usize>> {
        let bytes = self.group_bytes(self.key.len());
        // A group of which rows were spilled must not be in memory too.
        if self.spilled.is_some() || !self.take(bytes)? {
            return Ok(None);
        }
        let group_idx = self.table.insert(hash, &self.key);
        let accumulators = aggregation.aggregates.iter();
        self.states
            .push(accumulators.map(|aggregate| Accumulator::new(aggregate, ctx)));
        Ok(group_idx)
    }

    fn group_bytes(&self, key_bytes: usize) -> usize {
        key_bytes + KEY_OVERHEAD_BYTES + self.states.group_bytes()
    }

    /// Takes memory; `false` when there is none and rows may spill.
    fn take(&mut self, bytes: usize) -> Result<bool> {
        let is_below = self.budget.used_bytes() + bytes <= self.bytes_max;
        let fits = is_below && self.budget.try_take(bytes);
        if !fits && !self.may_spill() {
            self.budget.take(bytes)?;
        } else if !fits {
            return Ok(false);
        }
        self.bytes += bytes;
        Ok(true)
    }

    fn may_spill(&self) -> bool {
        self.disk.is_some() && self.depth < DEPTH_MAX
    }

    fn spill(&mut self, hash: u64) -> Result<()> {
        let Some(disk) = &self.disk else {
            return Err(self.budget.refusal(OPERATOR, self.key.len()));
        };
        let spilled = self
            .spilled
            .get_or_insert_with(|| Partitions::new(disk, OPERATOR));
        spilled.write(hash, (&self.key, &self.payload))
    }

    /// Accounts for states that have grown.
    #[inline]
    fn account(&mut self, grown: usize, aggregation: &Aggregation) -> Result<()> {
        if grown == 0 {
            return Ok(());
        }
        self.bytes += grown;
        let is_below = self.budget.used_bytes() + grown <= self.bytes_max;
        if is_below && self.budget.try_take(grown) {
            return Ok(());
        }
        // One group alone may have all there is.
        if self.table.len() == 1 || !self.may_spill() {
            if self.budget.try_take(grown) {
                return Ok(());
            }
            return Err(self.budget.refusal(&state::growing(aggregation), grown));
        }
        self.budget.count(grown);
        self.put_aside();
        Ok(())
    }

    fn put_aside(&mut self) {
        let table = std::mem::take(&mut self.table);
        let empty = States::new(self.states.per_group());
        let states = std::mem::replace(&mut self.states, empty);
        let mut parts: Vec<Vec<Aside>> = (0..PARTS).map(|_| Vec::new()).collect();
        for (group_idx, states) in states.into_groups().enumerate() {
            if let (Some(key), Some(hash)) = (table.key(group_idx), table.hash(group_idx))
                && let Some(part) = parts.get_mut(partition::part_of(hash))
            {
                let key = key.into();
                part.push(Aside { key, states });
            }
        }
        self.aside = Some(parts);
    }

    /// Takes back a group that was put aside.
    fn take_back(&mut self, group: Aside) {
        let grown: usize = group.states.iter().map(Accumulator::bytes).sum();
        let bytes = self.group_bytes(group.key.len()) + grown;
        self.bytes += bytes;
        let hash = partition::hash(&group.key, self.depth);
        self.table.insert(hash, &group.key);
        self.states.push(group.states.into_iter());
    }

    /// The groups: those in memory in order of arrival, then those that were spilled.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn finish(self) -> Result<GroupRows> {
        GroupRows::new(self)
    }
}
