//! Rows that leave an aggregate again: frames of window functions.

use super::{Accumulator, State, Sum};
use crate::error::Result;
use crate::sql::context::EvalContext;
use crate::sql::eval::convert::{self, Number};
use crate::types::{Decimal, Value};

impl Accumulator {
    /// Takes out the values of a row that was taken in; `false` when what is left cannot be told
    /// from that. Whoever takes out the last row begins anew.
    ///
    /// # Errors
    /// As [`Accumulator::update`].
    pub fn remove(&mut self, values: &[Value<'_>], ctx: &EvalContext) -> Result<bool> {
        if self.seen.is_some() {
            return Ok(false);
        }
        Ok(match &mut self.state {
            State::Count(count) => {
                *count -= 1;
                true
            }
            State::Sum(sum) => sum.remove(super::first(values), ctx)?,
            State::Average { sum, count } => {
                *count -= 1;
                sum.remove(super::first(values), ctx)?
            }
            _ => false,
        })
    }
}

impl Sum {
    fn remove(&mut self, value: &Value<'_>, ctx: &EvalContext) -> Result<bool> {
        let Some(number) = convert::number(value, ctx)? else {
            return Ok(true);
        };
        let less = self.minus(number);
        let is_known = less.is_some();
        *self = less.unwrap_or(*self);
        Ok(is_known)
    }

    fn minus(self, number: Number) -> Option<Sum> {
        let whole = match number {
            Number::Int(number) => Some(i128::from(number)),
            Number::UInt(number) => Some(i128::from(number)),
            Number::Decimal(_) | Number::Double(_) => None,
        };
        match (self, whole) {
            (Sum::Whole(sum), Some(whole)) => Some(Sum::Whole(sum.checked_sub(whole)?)),
            (Sum::Exact(sum), _) => {
                let number = number.to_decimal()?;
                let negated = Decimal::new(number.coefficient().checked_neg()?, number.scale())?;
                Some(Sum::Exact(sum.checked_add(negated)?))
            }
            _ => None,
        }
    }
}
