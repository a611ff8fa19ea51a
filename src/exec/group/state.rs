//! The accumulators of many groups, and what a row does to those of one.
//!
//! Hot: nothing is allocated per row but for aggregates of several arguments.

use super::super::rows::RowCopy;
use super::super::{exact, tuple};
use crate::codec::key::Direction;
use crate::error::Result;
use crate::sql::aggregate::{Accumulator, names};
use crate::sql::bound::{Aggregate, AggregateKind, Aggregation};
use crate::sql::context::EvalContext;
use crate::sql::eval::{eval, eval_exact, eval_signed};
use crate::sql::expr::{Expr, Row};
use crate::types::{ColumnType, Value};

/// Groups whose accumulators lie side by side: growing moves none of them.
const CHUNK_GROUPS: usize = 1024;

/// The accumulators of many groups.
#[derive(Debug)]
pub(super) struct States {
    per_group: usize,
    groups_count: usize,
    /// Each of [`CHUNK_GROUPS`] groups.
    chunks: Vec<Vec<Accumulator>>,
}

impl States {
    pub(super) fn new(per_group: usize) -> States {
        States {
            per_group,
            groups_count: 0,
            chunks: Vec::new(),
        }
    }

    pub(super) fn per_group(&self) -> usize {
        self.per_group
    }

    /// What the accumulators of one group take.
    pub(super) fn group_bytes(&self) -> usize {
        self.per_group * size_of::<Accumulator>()
    }

    /// Adds a group.
    pub(super) fn push(&mut self, group: impl Iterator<Item = Accumulator>) {
        if self.groups_count.is_multiple_of(CHUNK_GROUPS) {
            // A small table stays small.
            let is_first = self.chunks.is_empty();
            let groups = if is_first { 0 } else { CHUNK_GROUPS };
            self.chunks
                .push(Vec::with_capacity(groups * self.per_group));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.extend(group);
        }
        self.groups_count += 1;
    }

    /// The accumulators of a group.
    #[inline]
    pub(super) fn get_mut(&mut self, group_idx: usize) -> &mut [Accumulator] {
        let start = group_idx % CHUNK_GROUPS * self.per_group;
        let chunk = self.chunks.get_mut(group_idx / CHUNK_GROUPS);
        let states = chunk.and_then(|chunk| chunk.get_mut(start..start + self.per_group));
        states.unwrap_or_default()
    }

    /// The accumulators of each group, in order; what is taken out is freed.
    pub(super) fn into_groups(self) -> IntoGroups {
        IntoGroups {
            per_group: self.per_group,
            left_count: self.groups_count,
            current: Vec::new().into_iter(),
            chunks: self.chunks.into_iter(),
        }
    }
}

/// Takes groups out of [`States`].
#[derive(Debug)]
pub(super) struct IntoGroups {
    per_group: usize,
    left_count: usize,
    current: std::vec::IntoIter<Accumulator>,
    chunks: std::vec::IntoIter<Vec<Accumulator>>,
}

impl Iterator for IntoGroups {
    type Item = Vec<Accumulator>;

    fn next(&mut self) -> Option<Vec<Accumulator>> {
        self.left_count = self.left_count.checked_sub(1)?;
        if self.current.len() == 0 && 0 < self.per_group {
            self.current = self.chunks.next()?.into_iter();
        }
        Some(self.current.by_ref().take(self.per_group).collect())
    }
}

/// Whether the state of an aggregate may grow with the rows.
pub(super) fn grow(aggregation: &Aggregation) -> bool {
    aggregation.aggregates.iter().any(grows)
}

fn grows(aggregate: &Aggregate) -> bool {
    match aggregate.kind {
        AggregateKind::GroupConcat | AggregateKind::JsonArray | AggregateKind::JsonObject => true,
        AggregateKind::Count
        | AggregateKind::Sum
        | AggregateKind::Avg
        | AggregateKind::BitAnd
        | AggregateKind::BitOr
        | AggregateKind::BitXor
        | AggregateKind::StddevPop
        | AggregateKind::StddevSamp
        | AggregateKind::VarPop
        | AggregateKind::VarSamp => aggregate.distinct,
        AggregateKind::Min | AggregateKind::Max | AggregateKind::AnyValue => {
            aggregate.args.iter().any(|arg| is_long(&arg.ty))
        }
    }
}

/// Whether values of a type differ in size.
fn is_long(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Null
            | ColumnType::Dynamic
            | ColumnType::Char { .. }
            | ColumnType::Varchar { .. }
            | ColumnType::Text(_)
            | ColumnType::Binary { .. }
            | ColumnType::Varbinary { .. }
            | ColumnType::Blob(_)
            | ColumnType::Json
    )
}

/// What an error calls the aggregate that has grown.
pub(super) fn growing(aggregation: &Aggregation) -> String {
    let Some(aggregate) = aggregation.aggregates.iter().find(|one| grows(one)) else {
        return super::OPERATOR.to_owned();
    };
    let name = names::of(aggregate.kind).to_ascii_lowercase();
    let distinct = if aggregate.distinct { "distinct" } else { "" };
    format!("{name}({distinct}) of one group")
}

/// Appends the group key of a row.
pub(super) fn push_key(
    out: &mut Vec<u8>,
    aggregation: &Aggregation,
    (row, ctx): (&dyn Row, &EvalContext),
) -> Result<()> {
    for expr in &aggregation.keys {
        tuple::push_of(out, (expr, Direction::Asc), (row, ctx))?;
    }
    Ok(())
}

/// Appends the group key of a row of which all but `kept` keys are rolled up.
pub(super) fn push_rolled_up(
    out: &mut Vec<u8>,
    (aggregation, kept): (&Aggregation, usize),
    (row, ctx): (&dyn Row, &EvalContext),
) -> Result<()> {
    let Some((level, keys)) = aggregation.keys.split_last() else {
        return Ok(());
    };
    for (idx, expr) in keys.iter().enumerate() {
        let value = if idx < kept {
            eval(expr, row, ctx)?
        } else {
            Value::Null
        };
        tuple::encode(out, [(&value, &expr.ty)])?;
    }
    let kept = Value::Int(i64::try_from(kept).unwrap_or(i64::MAX));
    tuple::encode(out, [(&kept, &level.ty)])
}

/// What an aggregate takes of a row.
fn arguments(aggregate: &Aggregate) -> impl Iterator<Item = &Expr> {
    let keys = aggregate.order_by.iter().map(|key| &key.expr);
    aggregate.args.iter().chain(keys)
}

/// The value of an argument. What is joined is the text that a client would see.
fn argument<'a>(
    (aggregate, expr): (&Aggregate, &'a Expr),
    (row, ctx): (&'a dyn Row, &'a EvalContext),
) -> Result<Value<'a>> {
    match aggregate.kind {
        AggregateKind::GroupConcat => eval(expr, row, ctx),
        AggregateKind::Count
        | AggregateKind::Sum
        | AggregateKind::Min
        | AggregateKind::Max
        | AggregateKind::Avg
        | AggregateKind::BitAnd
        | AggregateKind::BitOr
        | AggregateKind::BitXor
        | AggregateKind::StddevPop
        | AggregateKind::StddevSamp
        | AggregateKind::VarPop
        | AggregateKind::VarSamp
        | AggregateKind::JsonArray
        | AggregateKind::JsonObject
        | AggregateKind::AnyValue => eval_exact(expr, row, ctx),
    }
}

/// Takes a row into the accumulators of its group; by how many bytes they have grown, if they do.
#[inline]
pub(super) fn update(
    (states, grow): (&mut [Accumulator], bool),
    aggregation: &Aggregation,
    (row, ctx): (&dyn Row, &EvalContext),
) -> Result<usize> {
    let (mut grown, mut more, mut asked) = (0, 0, RowCopy::default());
    for (aggregate, state) in aggregation.aggregates.iter().zip(states) {
        let before = if grow {
            // What the aggregates before have taken. The last one's is the caller's affair, who may spill.
            asked.add(more)?;
            state.bytes()
        } else {
            0
        };
        take_in(state, aggregate, (row, ctx))?;
        if grow {
            more = state.bytes().saturating_sub(before);
            grown += more;
        }
    }
    Ok(grown)
}

/// Takes a row into one accumulator of its group.
#[inline]
fn take_in(
    state: &mut Accumulator,
    aggregate: &Aggregate,
    (row, ctx): (&dyn Row, &EvalContext),
) -> Result<()> {
    match aggregate.args.as_slice() {
        [] => {
            state.count_rows(1);
            Ok(())
        }
        [arg] if aggregate.order_by.is_empty() => {
            if let Some(number) = eval_signed(arg, row) {
                return state.update_by_whole(number, ctx);
            }
            // Looked at where it is: to move a value takes as long as to decode it.
            let value = argument((aggregate, arg), (row, ctx));
            let Ok(held) = &value else {
                return value.map(drop);
            };
            state.update(std::slice::from_ref(held), ctx)
        }
        _ => {
            let values = arguments(aggregate).map(|arg| argument((aggregate, arg), (row, ctx)));
            state.update(&values.collect::<Result<Vec<_>>>()?, ctx)
        }
    }
}

/// Appends what the aggregates take of a row, for [`update_spilled`].
pub(super) fn push_arguments(
    out: &mut Vec<u8>,
    aggregation: &Aggregation,
    (row, ctx): (&dyn Row, &EvalContext),
) -> Result<()> {
    for aggregate in &aggregation.aggregates {
        for arg in arguments(aggregate) {
            let value = argument((aggregate, arg), (row, ctx))?;
            tuple::room(out, &value)?;
            exact::push(out, &value);
        }
    }
    Ok(())
}

/// As [`update`], with the arguments that [`push_arguments`] wrote.
pub(super) fn update_spilled(
    states: &mut [Accumulator],
    aggregation: &Aggregation,
    (mut payload, ctx): (&[u8], &EvalContext),
) -> Result<usize> {
    let (mut grown, mut more, mut asked) = (0, 0, RowCopy::default());
    let mut values = Vec::new();
    for (aggregate, state) in aggregation.aggregates.iter().zip(states) {
        asked.add(more)?;
        let before = state.bytes();
        values.clear();
        for _ in arguments(aggregate) {
            let (value, rest) = exact::take(payload)?;
            values.push(value);
            payload = rest;
        }
        state.update(&values, ctx)?;
        more = state.bytes().saturating_sub(before);
        grown += more;
    }
    Ok(grown)
}

/// The aggregated row: keys, then aggregates.
pub(super) fn finished_row(
    (key, states): (&[u8], impl IntoIterator<Item = Accumulator>),
    aggregation: &Aggregation,
    ctx: &EvalContext,
) -> Result<Vec<Value<'static>>> {
    let keys = tuple::decode(key, aggregation.keys.iter())?;
    let mut row = Vec::with_capacity(keys.len() + aggregation.aggregates.len());
    let mut copy = RowCopy::default();
    for key in keys {
        row.push(copy.owned(key)?);
    }
    for state in states {
        row.push(state.finish(ctx)?);
    }
    Ok(row)
}
