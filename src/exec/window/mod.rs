//! Window functions: rows sorted by partition and order, then computed one after the other.
//!
//! ```text
//!   Windowed   takes in rows and sorts them for the first window
//!   Pass       hands out the rows of one window, with the values of its functions
//!   partition  the rows of a partition that are in memory
//!   frame      which rows a function is about            function  what it computes of them
//! ```
//! Several windows are passes one after the other, each with a sort that spills. Of a partition only
//! the rows between the first that some function still looks at and the last that one waits for are
//! in memory: none but the row itself for `ROW_NUMBER` and running sums, all for `NTILE`.

mod aggregate;
mod frame;
mod function;
mod partition;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::function::Function;
use self::partition::Partition;
use super::budget::{Budget, Memory};
use super::cancel::CancelToken;
use super::row::ValuesRow;
use super::rows::RowCopy;
use super::sort::{Sorted, Sorter};
use super::{exact, tuple};
use crate::error::{Error, Result};
use crate::sql::bound::{Window, Windowing};
use crate::sql::context::EvalContext;
use crate::sql::eval::eval_exact;
use crate::sql::expr::Row;
use crate::types::Value;

/// What errors call it.
const OPERATOR: &str = "window";

/// Rows that one call takes in.
const STEP_ROWS: usize = 256;

/// Functions that are computed of a row between two questions whether to go on: there may be thousands.
const FUNCTIONS_BETWEEN_LOOKS: usize = 16;

/// Takes in rows and sorts them for one window.
pub struct Windowed {
    sorter: Sorter,
    key: Vec<u8>,
    payload: Vec<u8>,
}

impl Windowed {
    /// No rows yet.
    pub fn new(memory: &Memory, cancel: &Arc<CancelToken>) -> Windowed {
        Windowed {
            sorter: Sorter::new(None, OPERATOR, memory, cancel),
            key: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// Takes in a row that HAVING let pass.
    ///
    /// # Errors
    /// Those of evaluation and of the sort.
    pub fn add(&mut self, windowing: &Windowing, row: &dyn Row, ctx: &EvalContext) -> Result<()> {
        let mut values = vec![Value::Null; windowing.functions_count];
        let mut copy = RowCopy::default();
        for input in &windowing.inputs {
            values.push(copy.owned(eval_exact(input, row, ctx)?)?);
        }
        match windowing.windows.first() {
            Some(window) => self.push(window, &values, ctx),
            None => Err(Error::internal("window functions without a window")),
        }
    }

    /// Takes in a windowed row.
    ///
    /// # Errors
    /// As [`Windowed::add`].
    pub fn push(
        &mut self,
        window: &Window,
        values: &[Value<'static>],
        ctx: &EvalContext,
    ) -> Result<()> {
        self.key.clear();
        let row = ValuesRow(values);
        for expr in &window.partition_by {
            let value = crate::sql::eval::eval(expr, &row, ctx)?;
            tuple::encode(&mut self.key, [(&value, &expr.ty)])?;
        }
        let partition_bytes = u64::try_from(self.key.len()).unwrap_or(u64::MAX);
        tuple::push_order(&mut self.key, &window.order_by, &row, ctx)?;
        self.payload.clear();
        exact::push(&mut self.payload, &Value::UInt(partition_bytes));
        for value in values {
            tuple::room(&self.payload, value)?;
            exact::push(&mut self.payload, value);
        }
        self.sorter.push(&self.key, &self.payload)
    }

    /// The rows with the values of the window's functions.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn finish(mut self, window: &Window, memory: &Memory) -> Result<Pass> {
        if memory.is_half_full() {
            self.sorter.spill()?;
        }
        Ok(Pass {
            sorted: self.sorter.finish()?,
            standing: Standing::Nowhere,
            key: Vec::new(),
            partition_bytes: 0,
            partition: Partition::new(memory.budget(OPERATOR)),
            kept: memory.budget(OPERATOR),
            functions: window.functions.iter().map(|_| None).collect(),
            values: Vec::new(),
            current: 0,
        })
    }
}

/// What a call of [`Pass::step`] gave.
pub enum Step {
    /// A windowed row.
    Row(Vec<Value<'static>>),
    /// Nothing yet.
    Working,
    /// There are no more.
    End,
}

/// Where the sorted rows stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// On a row that is taken in, or before the first.
    Nowhere,
    /// On a row of the next partition.
    Next,
    /// Behind the last row.
    End,
}

/// The rows of one window.
pub struct Pass {
    sorted: Sorted,
    standing: Standing,
    /// Of the row that was taken in last.
    key: Vec<u8>,
    /// How much of the key is the partition's.
    partition_bytes: usize,
    partition: Partition,
    /// What the functions keep of the partition's values for themselves.
    kept: Budget,
    /// The state of each function within the partition; `None` before its first row.
    functions: Vec<Option<Function>>,
    /// The values of the current row, as far as they are known.
    values: Vec<Option<Value<'static>>>,
    /// The number of the current row within the partition.
    current: u64,
}

impl Pass {
    /// The next row, or a piece of the work towards it.
    ///
    /// # Errors
    /// Those of evaluation; 1038 when the rows that are needed at once do not fit, or what functions keep of them;
    /// 1041 when the process has no memory for the values of a row.
    pub fn step(&mut self, window: &Window, ctx: &EvalContext) -> Result<Step> {
        for _ in 0..STEP_ROWS {
            if self.partition.has(self.current) && self.compute(window, ctx)? {
                return self.hand_out(window).map(Step::Row);
            }
            if !self.partition.is_whole() {
                self.take_in()?;
            } else if self.partition.has(self.current) {
                return Err(Error::internal("a window function without a value"));
            } else if self.standing == Standing::End {
                return Ok(Step::End);
            } else {
                self.begin_partition();
            }
        }
        Ok(Step::Working)
    }

    /// Computes what can be known of the current row; whether that is all.
    fn compute(&mut self, window: &Window, ctx: &EvalContext) -> Result<bool> {
        self.values.resize(window.functions.len(), None);
        let (mut is_known, mut copy) = (true, RowCopy::default());
        let functions = window.functions.iter().zip(&mut self.functions);
        for (idx, ((called, state), value)) in functions.zip(&mut self.values).enumerate() {
            if value.is_some() {
                continue;
            }
            if (idx + 1).is_multiple_of(FUNCTIONS_BETWEEN_LOOKS) {
                ctx.facts.check_stop()?;
            }
            let state = match state {
                Some(state) => state,
                None => state.insert(Function::new(called, ctx)?),
            };
            let about = (&self.partition, called, window);
            *value = state.value(self.current, about, (ctx, &mut self.kept))?;
            match value {
                Some(value) => copy.add(value.memory_bytes())?,
                None => is_known = false,
            }
        }
        Ok(is_known)
    }

    /// The current row, whose values are known; goes to the next.
    fn hand_out(&mut self, window: &Window) -> Result<Vec<Value<'static>>> {
        let next = self.current + 1;
        let states = self.functions.iter().zip(&window.functions);
        let kept =
            states.filter_map(|(state, called)| Some(state.as_ref()?.keeps_from(called, next)));
        let keeps_from = kept.min().unwrap_or(next).min(next);
        let mut row = self.partition.take(self.current, keeps_from)?;
        for (called, value) in window.functions.iter().zip(self.values.drain(..)) {
            if let (Some(slot), Some(value)) = (row.get_mut(called.position), value) {
                *slot = value;
            }
        }
        self.current = next;
        Ok(row)
    }

    /// Takes in the next row of the partition, or finds that there is none.
    fn take_in(&mut self) -> Result<()> {
        if self.standing == Standing::Nowhere && !self.sorted.advance()? {
            self.standing = Standing::End;
        }
        if self.standing == Standing::End {
            self.partition.end();
            return Ok(());
        }
        let (key, payload) = self.sorted.row();
        let is_first = self.partition.is_empty();
        let begins_like = key.get(..self.partition_bytes) == self.key.get(..self.partition_bytes);
        if !is_first && !begins_like {
            self.standing = Standing::Next;
            self.partition.end();
            return Ok(());
        }
        let (partition_bytes, payload) = exact::take(payload)?;
        if let Value::UInt(bytes) = partition_bytes {
            self.partition_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        let is_peer = !is_first && key == self.key;
        self.partition.push(payload, is_peer)?;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.standing = Standing::Nowhere;
        Ok(())
    }

    fn begin_partition(&mut self) {
        self.partition.clear();
        self.functions.iter_mut().for_each(|state| *state = None);
        self.kept.reset();
        self.values.clear();
        self.current = 0;
    }
}
