//! What a window function computes of the rows around a row.
//!
//! A value is asked for again and again until enough rows are in memory to tell it; so nothing may be
//! changed by asking before that.

use super::aggregate::Sliding;
use super::frame::{Finder, count_of};
use super::partition::Partition;
use crate::error::{Code, Error, Result};
use crate::exec::budget::Budget;
use crate::exec::row::ValuesRow;
use crate::sql::bound::{FrameBound, Window, WindowFunction, WindowKind};
use crate::sql::context::EvalContext;
use crate::sql::eval::{eval_exact, fit};
use crate::sql::expr::Expr;
use crate::types::Value;

/// The state of a function within a partition.
pub(super) enum Function {
    RowNumber,
    Rank,
    DenseRank {
        rank: u64,
    },
    PercentRank,
    CumeDist(Finder),
    Ntile {
        buckets: u64,
    },
    Lag {
        rows: u64,
    },
    Lead {
        rows: u64,
    },
    /// The n-th value of the frame, from 0.
    Nth {
        finder: Finder,
        idx: u64,
        known: Option<Value<'static>>,
    },
    Last(Finder),
    Aggregate {
        finder: Finder,
        sliding: Box<Sliding>,
    },
}

/// What a function is computed in.
type Around<'a> = (&'a Partition, &'a WindowFunction, &'a Window);

impl Function {
    /// The state before the first row of a partition.
    ///
    /// # Errors
    /// 1210 for an argument that is no number of rows.
    pub(super) fn new(called: &WindowFunction, ctx: &EvalContext) -> Result<Function> {
        let finder = || Finder::new(&called.frame, ctx);
        Ok(match &called.kind {
            WindowKind::RowNumber => Function::RowNumber,
            WindowKind::Rank => Function::Rank,
            WindowKind::DenseRank => Function::DenseRank { rank: 0 },
            WindowKind::PercentRank => Function::PercentRank,
            WindowKind::CumeDist => Function::CumeDist(Finder::default()),
            WindowKind::Ntile => Function::Ntile {
                buckets: count(called, 0, ctx)?.unwrap_or(1),
            },
            WindowKind::Lag => Function::Lag {
                rows: count(called, 1, ctx)?.unwrap_or(1),
            },
            WindowKind::Lead => Function::Lead {
                rows: count(called, 1, ctx)?.unwrap_or(1),
            },
            WindowKind::FirstValue => Function::Nth {
                finder: finder()?,
                idx: 0,
                known: None,
            },
            WindowKind::NthValue => Function::Nth {
                finder: finder()?,
                idx: count(called, 1, ctx)?.unwrap_or(1).saturating_sub(1),
                known: None,
            },
            WindowKind::LastValue => Function::Last(finder()?),
            WindowKind::Aggregate(aggregate) => Function::Aggregate {
                finder: finder()?,
                sliding: Box::new(Sliding::new(aggregate, &called.frame, ctx)),
            },
        })
    }

    /// The first row that it may still ask for when `next` is the next row.
    pub(super) fn keeps_from(&self, called: &WindowFunction, next: u64) -> u64 {
        let has_moving_start = !matches!(called.frame.start, FrameBound::Unbounded);
        match self {
            Function::RowNumber
            | Function::Rank
            | Function::DenseRank { .. }
            | Function::PercentRank
            | Function::CumeDist(_)
            | Function::Ntile { .. }
            | Function::Lead { .. }
            | Function::Nth { known: Some(_), .. } => next,
            Function::Lag { rows } => next.saturating_sub(*rows),
            Function::Nth {
                finder,
                idx,
                known: None,
            } => {
                let first = if has_moving_start {
                    finder.start()
                } else {
                    *idx
                };
                first.min(finder.keeps_from(&called.frame))
            }
            Function::Last(finder) => {
                let last = finder.until().saturating_sub(1);
                last.min(finder.keeps_from(&called.frame))
            }
            Function::Aggregate { finder, sliding } => {
                sliding.keeps_from().min(finder.keeps_from(&called.frame))
            }
        }
    }

    /// The value for a row; `None` while rows are missing that it depends on. What it keeps of their values is taken
    /// of `kept`.
    ///
    /// # Errors
    /// Those of evaluation; 1038 when it has too much to keep.
    pub(super) fn value(
        &mut self,
        number: u64,
        around: Around<'_>,
        (ctx, kept): (&EvalContext, &mut Budget),
    ) -> Result<Option<Value<'static>>> {
        let (partition, called, window) = around;
        let framed = (partition, &called.frame, window);
        Ok(match self {
            Function::RowNumber => Some(Value::UInt(number + 1)),
            Function::Rank => Some(Value::UInt(partition.first_peer(number)? + 1)),
            Function::DenseRank { rank } => {
                *rank += u64::from(partition.first_peer(number)? == number);
                Some(Value::UInt(*rank))
            }
            Function::PercentRank if partition.is_whole() => {
                let others = partition.count().saturating_sub(1);
                let before = partition.first_peer(number)?;
                Some(Value::Double(share(before, others)))
            }
            Function::CumeDist(finder) if partition.is_whole() => {
                let until = finder.behind_peers(number, partition)?;
                until.map(|until| Value::Double(share(until, partition.count())))
            }
            Function::Ntile { buckets } if partition.is_whole() => {
                Some(Value::UInt(bucket(number, partition.count(), *buckets)))
            }
            Function::PercentRank | Function::CumeDist(_) | Function::Ntile { .. } => None,
            Function::Lag { rows } => match number.checked_sub(*rows) {
                Some(other) => Some(argument(other, around, ctx)?),
                None => Some(default(number, around, ctx)?),
            },
            Function::Lead { rows } => match number.checked_add(*rows) {
                Some(other) if partition.has(other) => Some(argument(other, around, ctx)?),
                _ if partition.is_whole() => Some(default(number, around, ctx)?),
                _ => None,
            },
            Function::Nth { finder, idx, known } => {
                if known.is_some() {
                    return Ok(known.clone());
                }
                let Some((start, until)) = finder.find(number, framed, ctx)? else {
                    return Ok(None);
                };
                let wanted = start.saturating_add(*idx);
                if until <= wanted {
                    return Ok(Some(Value::Null));
                }
                let value = argument(wanted, around, ctx)?;
                if matches!(called.frame.start, FrameBound::Unbounded) {
                    *known = Some(value.clone());
                }
                Some(value)
            }
            Function::Last(finder) => match finder.find(number, framed, ctx)? {
                None => None,
                Some((start, until)) if start < until => Some(argument(until - 1, around, ctx)?),
                Some(_) => Some(Value::Null),
            },
            Function::Aggregate { finder, sliding } => match finder.find(number, framed, ctx)? {
                None => None,
                Some(frame) => Some(sliding.value(frame, (partition, kept), ctx)?),
            },
        })
    }
}

/// The first argument over a row.
fn argument(
    number: u64,
    (partition, called, _): Around<'_>,
    ctx: &EvalContext,
) -> Result<Value<'static>> {
    fitting(called.args.first(), (number, partition, called), ctx)
}

/// What `LAG` and `LEAD` give where there is no such row.
fn default(
    number: u64,
    (partition, called, _): Around<'_>,
    ctx: &EvalContext,
) -> Result<Value<'static>> {
    fitting(called.args.get(2), (number, partition, called), ctx)
}

fn fitting(
    expr: Option<&Expr>,
    (number, partition, called): (u64, &Partition, &WindowFunction),
    ctx: &EvalContext,
) -> Result<Value<'static>> {
    let Some(expr) = expr else {
        return Ok(Value::Null);
    };
    let row = ValuesRow(partition.row(number)?);
    let value = eval_exact(expr, &row, ctx)?;
    if expr.ty == called.ty {
        return Ok(value.into_owned());
    }
    Ok(fit::fit(value, &called.ty, ctx)?.into_owned())
}

/// The number that an argument is; `None` when there is no such argument.
fn count(called: &WindowFunction, idx: usize, ctx: &EvalContext) -> Result<Option<u64>> {
    let Some(expr) = called.args.get(idx) else {
        return Ok(None);
    };
    let least = match called.kind {
        WindowKind::Lag | WindowKind::Lead => 0,
        WindowKind::RowNumber
        | WindowKind::Rank
        | WindowKind::DenseRank
        | WindowKind::PercentRank
        | WindowKind::CumeDist
        | WindowKind::Ntile
        | WindowKind::FirstValue
        | WindowKind::LastValue
        | WindowKind::NthValue
        | WindowKind::Aggregate(_) => 1,
    };
    let count = count_of(expr, ctx)?.filter(|count| least <= *count);
    count.map(Some).ok_or_else(|| {
        let name = called.kind.name().unwrap_or_default().to_ascii_lowercase();
        Error::new(
            Code::WrongArguments,
            format!("Incorrect arguments to {name}"),
        )
    })
}

/// Which of so many buckets a row is in, from 1: the first ones have a row more where it does not
/// come out even.
fn bucket(number: u64, count: u64, buckets: u64) -> u64 {
    let (rows, more) = (count / buckets, count % buckets);
    let larger = more.saturating_mul(rows + 1);
    let idx = match number.checked_sub(larger) {
        None => number / (rows + 1),
        Some(behind) => behind.checked_div(rows).unwrap_or(0) + more,
    };
    idx + 1
}

#[expect(clippy::cast_precision_loss, reason = "a share is a double")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}
