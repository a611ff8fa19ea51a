//! An aggregate over a frame that goes from row to row.
//!
//! ```text
//!   the frame begins with the partition     rows are added as they come
//!   MIN, MAX                                values that may yet be the least are kept in order
//!   counts, exact sums                      rows that leave the frame are taken out
//!   anything else                           computed anew when a row has left
//! ```
//! Doubles are not taken out: what is left would not be the sum of the others.

use std::cmp::Ordering;
use std::collections::VecDeque;

use super::partition::Partition;
use crate::ceiling;
use crate::error::Result;
use crate::exec::budget::Budget;
use crate::exec::row::ValuesRow;
use crate::sql::aggregate::Accumulator;
use crate::sql::bound::{Aggregate, AggregateKind, Frame, FrameBound};
use crate::sql::context::EvalContext;
use crate::sql::eval::{compare, dynamic, eval_exact};
use crate::sql::expr::Expr;
use crate::types::{ColumnType, Value};

/// What takes less is not asked for.
const LARGE_BYTES_MIN: usize = 16 << 10;

/// How often an aggregate is there while its value is made: as it is, as a copy, and as the value.
const COPIES: usize = 3;

/// Rows of a frame between two questions whether to go on.
const ROWS_BETWEEN_LOOKS: u32 = 64;

/// The aggregate of the last frame.
pub(super) struct Sliding {
    aggregate: Aggregate,
    has_moving_start: bool,
    /// The first row that is in it.
    start: u64,
    /// The row behind those that are in it.
    until: u64,
    /// Rows that were taken in and out since it was last asked whether to go on.
    rows_unlooked: u32,
    state: State,
}

enum State {
    Running {
        accumulator: Accumulator,
        /// How many of the rows have a value.
        values_count: u64,
    },
    /// Values that may be the best of a later frame, with their rows; the best of this one first. They may be all
    /// values of the frame, and each function has its own.
    Extreme {
        wanted: Ordering,
        candidates: VecDeque<(u64, Value<'static>)>,
    },
}

impl Sliding {
    pub(super) fn new(aggregate: &Aggregate, frame: &Frame, ctx: &EvalContext) -> Sliding {
        let has_moving_start = !matches!(frame.start, FrameBound::Unbounded);
        let wanted = if aggregate.kind == AggregateKind::Min {
            Some(Ordering::Less)
        } else if aggregate.kind == AggregateKind::Max {
            Some(Ordering::Greater)
        } else {
            None
        };
        let state = match wanted.filter(|_| has_moving_start) {
            Some(wanted) => State::Extreme {
                wanted,
                candidates: VecDeque::new(),
            },
            None => State::Running {
                accumulator: Accumulator::new(aggregate, ctx),
                values_count: 0,
            },
        };
        Sliding {
            aggregate: aggregate.clone(),
            has_moving_start,
            start: 0,
            until: 0,
            rows_unlooked: 0,
            state,
        }
    }

    /// The first row that it may still ask for.
    pub(super) fn keeps_from(&self) -> u64 {
        if self.has_moving_start {
            self.start
        } else {
            self.until
        }
    }

    /// The aggregate of the rows from `start` to before `until`. The values that it keeps are taken of `kept`.
    ///
    /// # Errors
    /// Those of the aggregate; 1038 when it has too many values to keep; that the statement is to stop.
    pub(super) fn value(
        &mut self,
        (start, until): (u64, u64),
        (partition, kept): (&Partition, &mut Budget),
        ctx: &EvalContext,
    ) -> Result<Value<'static>> {
        if self.until <= start {
            self.begin_at(start, kept, ctx);
        }
        while self.start < start {
            self.look(ctx)?;
            if !self.leave(partition, kept, ctx)? {
                self.begin_at(start, kept, ctx);
            }
        }
        while self.until < until {
            self.look(ctx)?;
            self.enter(partition, kept, ctx)?;
        }
        match &self.state {
            State::Running { accumulator, .. } => {
                // What it has, a copy of that, and the value that is made of the copy.
                let bytes = COPIES * accumulator.bytes();
                if LARGE_BYTES_MIN <= bytes {
                    ceiling::drip("a window", bytes)?;
                    ctx.facts.check_stop()?;
                }
                accumulator.clone().finish(ctx)
            }
            State::Extreme { candidates, .. } => {
                Ok(match candidates.front() {
                    // A text, as from an accumulator.
                    Some((_, Value::Enum(member))) => Value::Text(member.label.clone()),
                    Some((_, value)) => value.clone(),
                    None => Value::Null,
                })
            }
        }
    }

    /// Asks now and then whether to go on.
    fn look(&mut self, ctx: &EvalContext) -> Result<()> {
        self.rows_unlooked += 1;
        if self.rows_unlooked < ROWS_BETWEEN_LOOKS {
            return Ok(());
        }
        self.rows_unlooked = 0;
        ctx.facts.check_stop()
    }

    fn begin_at(&mut self, start: u64, kept: &mut Budget, ctx: &EvalContext) {
        self.start = start;
        self.until = start;
        match &mut self.state {
            State::Running {
                accumulator,
                values_count,
            } => {
                *accumulator = Accumulator::new(&self.aggregate, ctx);
                *values_count = 0;
            }
            State::Extreme { candidates, .. } => {
                for (_, value) in candidates.drain(..) {
                    kept.give_back(candidate_bytes(&value));
                }
            }
        }
    }

    /// Takes in the row behind.
    fn enter(&mut self, partition: &Partition, kept: &mut Budget, ctx: &EvalContext) -> Result<()> {
        let row = ValuesRow(partition.row(self.until)?);
        match &mut self.state {
            State::Running {
                accumulator,
                values_count,
            } => {
                let values = arguments(&self.aggregate, &row, ctx)?;
                *values_count += u64::from(takes(&self.aggregate, &values));
                accumulator.update(&values, ctx)?;
            }
            State::Extreme { wanted, candidates } => {
                let values = arguments(&self.aggregate, &row, ctx)?;
                if let Some(value) = values.into_iter().next().filter(|value| !value.is_null()) {
                    let of_any_type = |arg: &Expr| arg.ty == ColumnType::Dynamic;
                    let of_any_type = self.aggregate.args.iter().any(of_any_type);
                    while let Some((_, last)) = candidates.back() {
                        let order = if of_any_type {
                            Some(dynamic::order(last, &value)?)
                        } else {
                            compare::order(last, &value, ctx)?
                        };
                        if order == Some(*wanted) {
                            break;
                        }
                        kept.give_back(candidate_bytes(last));
                        candidates.pop_back();
                    }
                    kept.take(candidate_bytes(&value))?;
                    candidates.push_back((self.until, value.into_owned()));
                }
            }
        }
        self.until += 1;
        Ok(())
    }

    /// Takes out the first row; `false` when what is left is not known then.
    fn leave(
        &mut self,
        partition: &Partition,
        kept: &mut Budget,
        ctx: &EvalContext,
    ) -> Result<bool> {
        match &mut self.state {
            State::Running {
                accumulator,
                values_count,
            } => {
                let row = ValuesRow(partition.row(self.start)?);
                let values = arguments(&self.aggregate, &row, ctx)?;
                if takes(&self.aggregate, &values) {
                    if !accumulator.remove(&values, ctx)? {
                        return Ok(false);
                    }
                    *values_count = values_count.saturating_sub(1);
                    if *values_count == 0 {
                        *accumulator = Accumulator::new(&self.aggregate, ctx);
                    }
                }
            }
            State::Extreme { candidates, .. } => {
                if let Some((row, value)) = candidates.front()
                    && *row == self.start
                {
                    kept.give_back(candidate_bytes(value));
                    candidates.pop_front();
                }
            }
        }
        self.start += 1;
        Ok(true)
    }
}

/// What a value with its row takes.
fn candidate_bytes(value: &Value<'_>) -> usize {
    size_of::<u64>() + value.memory_bytes()
}

/// Whether the aggregate does not pass over the values.
fn takes(aggregate: &Aggregate, values: &[Value<'_>]) -> bool {
    let takes_null = matches!(
        aggregate.kind,
        AggregateKind::JsonArray | AggregateKind::JsonObject
    );
    takes_null || !values.iter().any(Value::is_null)
}

/// What the aggregate takes of a row.
fn arguments<'a>(
    aggregate: &'a Aggregate,
    row: &'a ValuesRow<'a>,
    ctx: &'a EvalContext,
) -> Result<Vec<Value<'a>>> {
    let args = aggregate.args.iter();
    args.map(|arg| eval_exact(arg, row, ctx)).collect()
}
