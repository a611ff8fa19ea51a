//! Groups whose rows come one after the other: a group is handed out when the next one begins.
//!
//! Also the one group of a statement without GROUP BY. Hot: runs once per row.

use super::run::{Runs, StoredRows};
use super::state;
use crate::error::Result;
use crate::exec::budget::{Budget, Memory};
use crate::sql::aggregate::Accumulator;
use crate::sql::bound::{Aggregate, AggregateKind, Aggregation};
use crate::sql::context::EvalContext;
use crate::sql::expr::{Expr, ExprKind, Row};
use crate::types::Value;

/// One group in memory at a time.
pub struct InOrder {
    /// Of the group that rows are taken into.
    key: Vec<u8>,
    /// Of the row that is taken in.
    next_key: Vec<u8>,
    /// The columns that make the key, when it is made of nothing else; each once.
    columns: Vec<usize>,
    /// What the stored keys of the group begin with: rows that share it are of the group. Empty where
    /// that is not known.
    stored: Vec<u8>,
    /// `None` before the first row.
    states: Option<Vec<Accumulator>>,
    /// Whether they grow with the rows.
    grow: bool,
    /// How rows that follow each other are taken in together, if they can be.
    runs: Option<Runs>,
    budget: Budget,
}

impl InOrder {
    /// No group yet. Without keys there is always one.
    pub fn new(aggregation: &Aggregation, memory: &Memory, ctx: &EvalContext) -> InOrder {
        InOrder {
            key: Vec::new(),
            next_key: Vec::new(),
            columns: columns(aggregation).unwrap_or_default(),
            stored: Vec::new(),
            states: aggregation
                .keys
                .is_empty()
                .then(|| new_states(aggregation, ctx)),
            grow: state::grow(aggregation),
            runs: Runs::of(aggregation),
            budget: memory.budget(super::OPERATOR),
        }
    }

    /// Takes in one row. The aggregated row of the group before, when it has ended.
    ///
    /// # Errors
    /// Those of evaluation; 1038 when the state of one group does not fit.
    pub fn add(
        &mut self,
        aggregation: &Aggregation,
        row: &dyn Row,
        ctx: &EvalContext,
    ) -> Result<Option<Vec<Value<'static>>>> {
        let mut ended = None;
        let is_same = !self.stored.is_empty() && row.key().starts_with(&self.stored);
        if !is_same && !aggregation.keys.is_empty() {
            self.next_key.clear();
            state::push_key(&mut self.next_key, aggregation, (row, ctx))?;
            if self.key != self.next_key {
                ended = self.end(aggregation, ctx)?;
                std::mem::swap(&mut self.key, &mut self.next_key);
            }
            self.note_stored(row);
        }
        let states = self
            .states
            .get_or_insert_with(|| new_states(aggregation, ctx));
        let grown = state::update((states, self.grow), aggregation, (row, ctx))?;
        if 0 < grown && !self.budget.try_take(grown) {
            return Err(self.budget.refusal(&state::growing(aggregation), grown));
        }
        Ok(ended)
    }

    /// Takes in those rows from one on which are known to be of the group that there is; how many
    /// they were, 0 where that must be looked at row by row ([`InOrder::add`]).
    ///
    /// # Errors
    /// 1712 for damaged bytes; 1690 when a sum overflows.
    pub fn add_run(
        &mut self,
        aggregation: &Aggregation,
        (rows, from_idx): (&StoredRows<'_>, usize),
        ctx: &EvalContext,
    ) -> Result<usize> {
        let (Some(runs), Some(states)) = (&self.runs, &mut self.states) else {
            return Ok(0);
        };
        if self.stored.is_empty() && !aggregation.keys.is_empty() {
            return Ok(0);
        }
        let count = rows.run(from_idx, &self.stored);
        runs.take_in(states, (rows, from_idx, count), ctx)?;
        Ok(count)
    }

    /// Notes what the stored keys of the group begin with, if they begin with the group's key.
    fn note_stored(&mut self, row: &dyn Row) {
        self.stored.clear();
        if !self.columns.is_empty()
            && let Some(stored) = row.key_of(&self.columns)
        {
            self.stored.extend_from_slice(stored);
        }
    }

    /// Whether a statement only counts its rows.
    pub fn only_counts(aggregation: &Aggregation) -> bool {
        aggregation.keys.is_empty() && aggregation.aggregates.iter().all(counts_rows)
    }

    /// Takes in rows of a statement that [`InOrder::only_counts`].
    pub fn add_counted(&mut self, rows_count: u64) {
        for state in self.states.iter_mut().flatten() {
            state.count_rows(rows_count);
        }
    }

    /// The aggregated row of the last group, when there is one.
    ///
    /// # Errors
    /// 1690 when an average overflows.
    pub fn end(
        &mut self,
        aggregation: &Aggregation,
        ctx: &EvalContext,
    ) -> Result<Option<Vec<Value<'static>>>> {
        let Some(states) = self.states.take() else {
            return Ok(None);
        };
        self.budget.reset();
        state::finished_row((&self.key, states), aggregation, ctx).map(Some)
    }
}

/// The columns that a group's key is made of, each once; `None` when it is made of anything else.
fn columns(aggregation: &Aggregation) -> Option<Vec<usize>> {
    let mut columns = Vec::with_capacity(aggregation.keys.len());
    for key in &aggregation.keys {
        let ExprKind::Column(idx) = key.kind else {
            return None;
        };
        if !columns.contains(&idx) {
            columns.push(idx);
        }
    }
    Some(columns)
}

/// Whether an aggregate of the rows of one table is their number: `COUNT(*)`, `COUNT` of a constant
/// or of a column, neither of which is ever NULL.
pub(super) fn counts_rows(aggregate: &Aggregate) -> bool {
    let is_there = |arg: &Expr| {
        !arg.nullable && matches!(arg.kind, ExprKind::Literal(_) | ExprKind::Column(_))
    };
    aggregate.kind == AggregateKind::Count
        && !aggregate.distinct
        && aggregate.args.iter().all(is_there)
}

fn new_states(aggregation: &Aggregation, ctx: &EvalContext) -> Vec<Accumulator> {
    let aggregates = aggregation.aggregates.iter();
    aggregates
        .map(|aggregate| Accumulator::new(aggregate, ctx))
        .collect()
}
