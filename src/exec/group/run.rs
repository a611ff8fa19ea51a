//! Rows of one group that follow each other in a batch, taken in together.
//!
//! Stored rows come in key order, so those of a group of a key prefix lie side by side, and where
//! they end is found by a few looks at keys instead of one per row. What is left per row is to
//! decode the columns that the aggregates are of and to add them up. Hot: runs once per row.

use super::in_order::counts_rows;
use crate::catalog::Table;
use crate::error::Result;
use crate::exec::row::{Layout, StoredRow};
use crate::exec::view::Batch;
use crate::sql::aggregate::Accumulator;
use crate::sql::bound::{Aggregate, AggregateKind, Aggregation};
use crate::sql::context::EvalContext;
use crate::sql::expr::ExprKind;

/// The most rows of a run: whoever takes them in looks in between whether the statement should stop.
const RUN_ROWS_MAX: usize = 1024;

/// Rows as they were read.
#[derive(Debug, Clone, Copy)]
pub struct StoredRows<'a> {
    /// Whose rows.
    pub table: &'a Table,
    /// Where their columns are.
    pub layout: &'a Layout,
    /// Their bytes.
    pub batch: &'a Batch,
}

impl<'a> StoredRows<'a> {
    /// The n-th row; `None` past the last one.
    ///
    /// # Errors
    /// 1712 when the bytes are not a row.
    #[inline]
    pub fn get(&self, row_idx: usize) -> Result<Option<StoredRow<'a>>> {
        let Some((key, value)) = self.batch.get(row_idx) else {
            return Ok(None);
        };
        StoredRow::parse(self.table, self.layout, key, value).map(Some)
    }

    /// How many rows from one on have keys that begin with `prefix`. Those that do must follow each
    /// other.
    pub(super) fn run(&self, from_idx: usize, prefix: &[u8]) -> usize {
        let is_in = |count: usize| {
            let row = self.batch.get(from_idx + count);
            count < RUN_ROWS_MAX && row.is_some_and(|(key, _)| key.starts_with(prefix))
        };
        if !is_in(0) {
            return 0;
        }
        // Short runs are as common as long ones: the step doubles, then is halved.
        let (mut inside, mut step) = (0, 1);
        while is_in(inside + step) {
            inside += step;
            step *= 2;
        }
        while 1 < step {
            step /= 2;
            if is_in(inside + step) {
                inside += step;
            }
        }
        inside + 1
    }
}

/// What an aggregate takes of the rows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// Their number.
    Rows,
    /// The number in a column.
    Column(usize),
}

/// What the aggregates of a statement take of the rows of a run.
#[derive(Debug)]
pub(super) struct Runs(Vec<Taken>);

impl Runs {
    /// `None` where an aggregate takes anything but counts and numbers of columns: those neither
    /// warn nor grow, so that nobody sees in which order rows and aggregates meet.
    pub(super) fn of(aggregation: &Aggregation) -> Option<Runs> {
        let taken = aggregation.aggregates.iter().map(taken);
        taken.collect::<Option<Vec<Taken>>>().map(Runs)
    }

    /// Takes so many rows from one on into the states of their group.
    ///
    /// # Errors
    /// 1712 for damaged bytes; 1690 when a sum overflows.
    pub(super) fn take_in(
        &self,
        states: &mut [Accumulator],
        (rows, from_idx, count): (&StoredRows<'_>, usize, usize),
        ctx: &EvalContext,
    ) -> Result<()> {
        for (taken, state) in self.0.iter().zip(states.iter_mut()) {
            if *taken == Taken::Rows {
                state.count_rows(u64::try_from(count).unwrap_or(u64::MAX));
            }
        }
        for row_idx in from_idx..from_idx + count {
            let Some(row) = rows.get(row_idx)? else {
                break;
            };
            for (taken, state) in self.0.iter().zip(states.iter_mut()) {
                let Taken::Column(column_idx) = *taken else {
                    continue;
                };
                match row.signed(column_idx) {
                    Some(number) => state.update_by_whole(number, ctx)?,
                    None => state.update_by(&row.value(column_idx)?, ctx)?,
                }
            }
        }
        Ok(())
    }
}

fn taken(aggregate: &Aggregate) -> Option<Taken> {
    if counts_rows(aggregate) {
        return Some(Taken::Rows);
    }
    let is_plain = !aggregate.distinct && aggregate.order_by.is_empty();
    let adds_up = match aggregate.kind {
        AggregateKind::Count | AggregateKind::Sum | AggregateKind::Avg => true,
        AggregateKind::Min
        | AggregateKind::Max
        | AggregateKind::BitAnd
        | AggregateKind::BitOr
        | AggregateKind::BitXor
        | AggregateKind::StddevPop
        | AggregateKind::StddevSamp
        | AggregateKind::VarPop
        | AggregateKind::VarSamp
        | AggregateKind::GroupConcat
        | AggregateKind::JsonArray
        | AggregateKind::JsonObject
        | AggregateKind::AnyValue => false,
    };
    let [arg] = aggregate.args.as_slice() else {
        return None;
    };
    let ExprKind::Column(column_idx) = arg.kind else {
        return None;
    };
    (is_plain && adds_up && arg.ty.is_numeric()).then_some(Taken::Column(column_idx))
}

#[cfg(test)]
mod tests;
