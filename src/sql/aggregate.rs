//! The accumulators of aggregate functions. Grouping is `exec/aggregate`'s.

use super::bound::Aggregate;
use super::context::EvalContext;
use crate::error::{Error, Result};
use crate::types::Value;

/// The state of one aggregate over one group.
#[derive(Debug)]
pub struct Accumulator {}

impl Accumulator {
    /// The state before the first row.
    pub fn new(aggregate: &Aggregate) -> Accumulator {
        let _ = aggregate;
        Accumulator {}
    }

    /// Takes in the values of the aggregate's arguments for one row.
    ///
    /// # Errors
    /// 1690 when a sum overflows.
    pub fn update(&mut self, values: &[Value<'_>], ctx: &EvalContext) -> Result<()> {
        let (_, _) = (values, ctx);
        Err(Error::internal("not yet"))
    }

    /// The aggregate of all rows taken in.
    ///
    /// # Errors
    /// 1690 when an average overflows.
    pub fn finish(self) -> Result<Value<'static>> {
        Err(Error::internal("not yet"))
    }

    /// About how many bytes the state holds.
    pub fn bytes(&self) -> usize {
        size_of::<Accumulator>()
    }
}
