//! The aggregated rows of a hash table: of the groups in memory, then of each part that was
//! spilled.
//!
//! A call of [`GroupRows::step`] does a bounded piece of work, so that whoever drives it can be
//! stopped and lets others run.

use std::sync::Arc;

use super::state::{self, IntoGroups};
use super::{Aside, Groups};
use crate::error::Result;
use crate::exec::budget::Budget;
use crate::exec::key_table::KeyTable;
use crate::exec::partition::Partitions;
use crate::exec::spill::{Disk, SpillFile, SpillReader};
use crate::sql::aggregate::Accumulator;
use crate::sql::bound::Aggregation;
use crate::sql::context::EvalContext;
use crate::types::Value;

/// Spilled rows that one call takes in.
const STEP_ROWS: usize = 256;

/// What a call of [`GroupRows::step`] gave.
pub enum Step {
    /// An aggregated row.
    Row(Vec<Value<'static>>),
    /// Nothing yet.
    Working,
    /// A spilled part begins, which will need memory.
    Part,
    /// There are no more.
    End,
}

/// The aggregated rows of a hash table.
pub struct GroupRows {
    ready: Option<Ready>,
    loading: Option<Box<Loading>>,
    /// Parts that are not worked on yet.
    waiting: Vec<Part>,
    /// Here unless it is with `loading`.
    budget: Option<Budget>,
    disk: Option<Arc<Disk>>,
}

/// Groups in memory that are handed out.
struct Ready {
    table: KeyTable,
    states: IntoGroups,
    next_idx: usize,
    /// What they take of the budget yet.
    bytes: usize,
}

/// A part whose rows are being taken in.
struct Loading {
    groups: Groups,
    file: Option<SpillReader>,
}

/// A part that was spilled.
struct Part {
    file: Option<SpillFile>,
    aside: Vec<Aside>,
    depth: u32,
}

impl GroupRows {
    pub(super) fn new(groups: Groups) -> Result<GroupRows> {
        let mut rows = GroupRows {
            ready: None,
            loading: None,
            waiting: Vec::new(),
            budget: None,
            disk: groups.disk.clone(),
        };
        rows.end_part(groups)?;
        Ok(rows)
    }

    fn end_part(&mut self, groups: Groups) -> Result<()> {
        let depth = groups.depth + 1;
        let files = groups.spilled.map(Partitions::finish).transpose()?;
        let mut files = files.unwrap_or_default().into_iter();
        if let Some(parts) = groups.aside {
            for aside in parts {
                let file = files.next().flatten();
                self.wait(Part { file, aside, depth });
            }
        } else {
            for file in files {
                let aside = Vec::new();
                self.wait(Part { file, aside, depth });
            }
            self.ready = Some(Ready {
                table: groups.table,
                states: groups.states.into_groups(),
                next_idx: 0,
                bytes: groups.bytes,
            });
        }
        self.budget = Some(groups.budget);
        Ok(())
    }

    fn wait(&mut self, part: Part) {
        if part.file.is_some() || !part.aside.is_empty() {
            self.waiting.push(part);
        }
    }

    /// The next row, or a piece of the work towards it.
    ///
    /// # Errors
    /// As [`Groups::add`]; 1690 when an average overflows.
    pub fn step(&mut self, aggregation: &Aggregation, ctx: &EvalContext) -> Result<Step> {
        if let Some(ready) = &mut self.ready {
            if let Some((row, bytes)) = ready.next(aggregation, ctx)? {
                if let Some(budget) = &mut self.budget {
                    budget.give_back(bytes);
                }
                return Ok(Step::Row(row));
            }
            let bytes = ready.bytes;
            self.ready = None;
            if let Some(budget) = &mut self.budget {
                budget.give_back(bytes);
            }
        }
        if let Some(mut loading) = self.loading.take() {
            if loading.take_in(aggregation, ctx)? {
                self.loading = Some(loading);
            } else {
                self.end_part(loading.groups)?;
            }
            return Ok(Step::Working);
        }
        let (Some(part), Some(budget)) = (self.waiting.pop(), self.budget.take()) else {
            return Ok(Step::End);
        };
        let rest = (budget, self.disk.clone(), part.depth);
        self.loading = Some(Box::new(Loading::of_part(part, aggregation, rest)?));
        Ok(Step::Part)
    }
}

impl Ready {
    /// The next row, and how many bytes of memory are free for it.
    fn next(
        &mut self,
        aggregation: &Aggregation,
        ctx: &EvalContext,
    ) -> Result<Option<(Vec<Value<'static>>, usize)>> {
        let Some(states) = self.states.next() else {
            return Ok(None);
        };
        let key = self.table.key(self.next_idx).unwrap_or_default();
        self.next_idx += 1;
        // The states go one by one, the keys all at once at the end.
        let held: usize = states.iter().map(Accumulator::bytes).sum();
        let bytes = (held + size_of_val(states.as_slice())).min(self.bytes);
        self.bytes -= bytes;
        let row = state::finished_row((key, states), aggregation, ctx)?;
        Ok(Some((row, bytes)))
    }
}

impl Loading {
    fn of_part(
        part: Part,
        aggregation: &Aggregation,
        rest: (Budget, Option<Arc<Disk>>, u32),
    ) -> Result<Loading> {
        let mut groups = Groups::of_part(aggregation, rest);
        for group in part.aside {
            groups.take_back(group);
        }
        let file = part.file.map(SpillFile::read).transpose()?;
        Ok(Loading { groups, file })
    }

    /// Takes in some rows; `false` when there are none left.
    fn take_in(&mut self, aggregation: &Aggregation, ctx: &EvalContext) -> Result<bool> {
        let Some(file) = &mut self.file else {
            return Ok(false);
        };
        for _ in 0..STEP_ROWS {
            if !file.advance()? {
                return Ok(false);
            }
            let record = (file.key(), file.payload());
            self.groups.add_spilled(record, aggregation, ctx)?;
        }
        Ok(true)
    }
}
