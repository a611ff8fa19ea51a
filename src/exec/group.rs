//! GROUP BY and aggregates: a hash table from encoded keys to accumulators, in order of arrival.

use std::collections::HashMap;

use super::budget::Budget;
use super::tuple;
use crate::error::Result;
use crate::sql::aggregate::Accumulator;
use crate::sql::bound::{Aggregate, Aggregation};
use crate::sql::context::EvalContext;
use crate::sql::eval::{eval, eval_exact};
use crate::sql::expr::Row;
use crate::types::Value;

/// What a group costs beyond its key bytes and accumulators.
const GROUP_OVERHEAD_BYTES: usize = 96;

/// The groups of one statement.
pub struct Groups {
    by_key: HashMap<Box<[u8]>, usize>,
    in_arrival: Vec<Group>,
    budget: Budget,
    key: Vec<u8>,
}

struct Group {
    keys: Vec<Value<'static>>,
    accumulators: Vec<Accumulator>,
}

impl Group {
    fn new(keys: Vec<Value<'static>>, aggregates: &[Aggregate]) -> Group {
        Group {
            keys,
            accumulators: aggregates.iter().map(Accumulator::new).collect(),
        }
    }

    fn bytes(&self) -> usize {
        self.accumulators.iter().map(Accumulator::bytes).sum()
    }
}

impl Groups {
    /// No groups yet. Without keys there is always one.
    pub fn new(aggregation: &Aggregation, budget: Budget) -> Groups {
        let mut groups = Groups {
            by_key: HashMap::new(),
            in_arrival: Vec::new(),
            budget,
            key: Vec::new(),
        };
        if aggregation.keys.is_empty() {
            groups
                .in_arrival
                .push(Group::new(Vec::new(), &aggregation.aggregates));
        }
        groups
    }

    /// Takes in one row.
    ///
    /// # Errors
    /// Those of evaluation; 1038 when the groups do not fit into memory.
    pub fn add(
        &mut self,
        aggregation: &Aggregation,
        row: &dyn Row,
        ctx: &EvalContext,
    ) -> Result<()> {
        let group_idx = self.group_of(aggregation, row, ctx)?;
        let Some(group) = self.in_arrival.get_mut(group_idx) else {
            return Ok(());
        };
        let before = group.bytes();
        for (aggregate, accumulator) in aggregation.aggregates.iter().zip(&mut group.accumulators) {
            match aggregate.args.as_slice() {
                [] => accumulator.update(&[], ctx)?,
                [arg] => accumulator.update(&[eval_exact(arg, row, ctx)?], ctx)?,
                args => {
                    let values: Result<Vec<_>> =
                        args.iter().map(|arg| eval_exact(arg, row, ctx)).collect();
                    accumulator.update(&values?, ctx)?;
                }
            }
        }
        self.budget.take(group.bytes().saturating_sub(before))
    }

    fn group_of(
        &mut self,
        aggregation: &Aggregation,
        row: &dyn Row,
        ctx: &EvalContext,
    ) -> Result<usize> {
        if aggregation.keys.is_empty() {
            return Ok(0);
        }
        self.key.clear();
        let mut keys = Vec::with_capacity(aggregation.keys.len());
        for expr in &aggregation.keys {
            let value = eval(expr, row, ctx)?;
            tuple::encode(&mut self.key, [(&value, &expr.ty)])?;
            keys.push(value);
        }
        if let Some(group_idx) = self.by_key.get(self.key.as_slice()) {
            return Ok(*group_idx);
        }
        let keys = keys.into_iter().map(Value::into_owned).collect();
        let group = Group::new(keys, &aggregation.aggregates);
        self.budget
            .take(self.key.len() * 2 + group.bytes() + GROUP_OVERHEAD_BYTES)?;
        let group_idx = self.in_arrival.len();
        self.by_key.insert(self.key.as_slice().into(), group_idx);
        self.in_arrival.push(group);
        Ok(group_idx)
    }

    /// The aggregated rows: keys, then aggregates; groups in order of arrival.
    pub fn finish(self) -> impl Iterator<Item = Result<Vec<Value<'static>>>> + Send {
        self.in_arrival.into_iter().map(|group| {
            let mut row = group.keys;
            for accumulator in group.accumulators {
                row.push(accumulator.finish()?);
            }
            Ok(row)
        })
    }
}

/// Rows already seen: DISTINCT.
pub struct Seen {
    rows: std::collections::HashSet<Box<[u8]>>,
    budget: Budget,
}

impl Seen {
    /// Nothing seen yet.
    pub fn new(budget: Budget) -> Seen {
        Seen {
            rows: std::collections::HashSet::new(),
            budget,
        }
    }

    /// Whether these bytes are new; they are remembered.
    ///
    /// # Errors
    /// 1038 when too many rows were seen.
    pub fn is_new(&mut self, row: &[u8]) -> Result<bool> {
        if self.rows.contains(row) {
            return Ok(false);
        }
        self.budget.take(row.len() + GROUP_OVERHEAD_BYTES)?;
        self.rows.insert(row.into());
        Ok(true)
    }
}
