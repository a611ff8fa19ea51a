//! The accumulators of aggregate functions. Grouping is `exec`'s.
//!
//! `SUM` and `AVG` of whole numbers and DECIMAL are exact, of anything else doubles. An average
//! keeps more digits than its type shows, as a quotient does (see [`super::eval`]). `NULL` is
//! passed over, but for `ANY_VALUE` and JSON; without any other value the answer is `NULL`, of `COUNT`
//! 0, of `BIT_AND` all bits.
//!
//! Hot: [`Accumulator::update`] runs once per row and aggregate. Source: MySQL manual, "Aggregate
//! Function Descriptions".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

mod document;
mod joined;
pub mod names;
mod result;
mod slide;
mod spread;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use super::bound::{Aggregate, AggregateKind};
use super::context::EvalContext;
use super::eval::convert::{self, Number};
use super::eval::{arithmetic, compare, dynamic, fit};
use super::expr::Expr;
use crate::error::{Code, Error, Result};
use crate::types::value::GroupKey;
use crate::types::{ColumnType, Decimal, Value};
use document::Document;
use joined::Joined;
pub use result::aggregate_type;
use spread::{Spread, Wanted};

/// The state of one aggregate over one group.
#[derive(Debug, Clone)]
pub struct Accumulator {
    state: State,
    /// The argument values met, when only distinct ones count.
    seen: Option<Box<Seen>>,
}

#[derive(Debug, Clone, Default)]
struct Seen {
    /// The digits after the point that numbers are rounded to before they are told apart.
    scale: Option<u8>,
    keys: HashSet<Vec<GroupKey<'static>>>,
    bytes: usize,
}

#[derive(Debug, Clone)]
enum State {
    Count(i64),
    Sum(Sum),
    Average {
        sum: Sum,
        count: i64,
    },
    /// The least value, or the greatest.
    Extreme {
        best: Option<Value<'static>>,
        wanted: Ordering,
        /// Values of several types have the order of `ORDER BY`: compared two by two they have none.
        of_any_type: bool,
    },
    First(Option<Value<'static>>),
    /// Boxed, as `seen` is: there may be a million states, and few are of this kind.
    Joined(Box<Joined>),
    Bits {
        bits: u64,
        join: fn(u64, u64) -> u64,
    },
    Spread {
        spread: Spread,
        wanted: Wanted,
    },
    /// A document, and the type of the values in it.
    Document(Box<(Document, ColumnType)>),
}

/// A sum of the kind that its type asks for.
#[derive(Debug, Clone, Copy)]
enum Sum {
    /// No value yet.
    Empty {
        exact: bool,
    },
    /// Whole numbers: an `i128` holds more of them than there can be rows.
    Whole(i128),
    Exact(Decimal),
    Double(f64),
}

impl Accumulator {
    /// The state before the first row.
    pub fn new(aggregate: &Aggregate, ctx: &EvalContext) -> Accumulator {
        let state = State::new(aggregate, ctx);
        let may_repeat = !matches!(state, State::Extreme { .. } | State::First(_));
        let seen = (aggregate.distinct && may_repeat).then(|| Box::new(Seen::new(aggregate)));
        Accumulator { state, seen }
    }

    /// Takes in the values of the aggregate's arguments for one row, then those of its `ORDER BY`;
    /// none for `COUNT(*)`.
    ///
    /// # Errors
    /// 1690 when a sum overflows; 1292 for a bad text in a strict write.
    pub fn update(&mut self, values: &[Value<'_>], ctx: &EvalContext) -> Result<()> {
        let takes_null = matches!(self.state, State::First(_) | State::Document(_));
        let (values, keys) = match &self.state {
            State::Joined(joined) => joined.split(values),
            _ => (values, &[][..]),
        };
        if !takes_null && values.iter().any(Value::is_null) {
            return Ok(());
        }
        let mut rounded = None;
        if let Some(seen) = &mut self.seen {
            rounded = seen.rounded(values);
            if !seen.is_new(rounded.as_ref().map_or(values, std::slice::from_ref)) {
                return Ok(());
            }
        }
        let values = rounded.as_ref().map_or(values, std::slice::from_ref);
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Sum(sum) => sum.add(first(values), ctx)?,
            State::Average { sum, count } => {
                sum.add(first(values), ctx)?;
                *count += 1;
            }
            State::Extreme {
                best,
                wanted,
                of_any_type,
            } => {
                let value = first(values);
                let order = match best {
                    Some(best) if *of_any_type => Some(dynamic::order(value, best)?),
                    Some(best) => compare::order(value, best, ctx)?,
                    None => Some(*wanted),
                };
                if order == Some(*wanted) {
                    *best = Some(value.clone().into_owned());
                }
            }
            State::First(kept) => {
                if kept.is_none() {
                    *kept = Some(first(values).clone().into_owned());
                }
            }
            State::Joined(joined) => joined.add(values, keys, ctx),
            State::Bits { bits, join } => {
                let more = convert::bits(first(values), ctx)?;
                *bits = more.map_or(*bits, |more| join(*bits, more));
            }
            State::Spread { spread, .. } => {
                if let Some(number) = convert::double(first(values), ctx)? {
                    spread.add(number);
                }
            }
            State::Document(held) => {
                let (document, ty) = &mut **held;
                document.add(values, (ty, ctx))?;
            }
        }
        Ok(())
    }

    /// As [`Accumulator::update`], by the value of the only argument. Hot: whole numbers are added up
    /// here.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn update_by(&mut self, value: &Value<'_>, ctx: &EvalContext) -> Result<()> {
        if let Value::Int(number) = value
            && self.add_whole(*number)
        {
            return Ok(());
        }
        self.update(std::slice::from_ref(value), ctx)
    }

    /// As [`Accumulator::update_by`], by a whole number.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn update_by_whole(&mut self, number: i64, ctx: &EvalContext) -> Result<()> {
        if self.add_whole(number) {
            return Ok(());
        }
        self.update(&[Value::Int(number)], ctx)
    }

    /// Takes in a whole number, where that takes no look at what it is; whether it has.
    #[inline]
    fn add_whole(&mut self, number: i64) -> bool {
        if self.seen.is_some() {
            return false;
        }
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Sum(Sum::Whole(sum)) => return sum_up(sum, number),
            State::Average {
                sum: Sum::Whole(sum),
                count,
            } => {
                let is_taken = sum_up(sum, number);
                *count += i64::from(is_taken);
                return is_taken;
            }
            State::Extreme {
                best: Some(Value::Int(best)),
                wanted,
                of_any_type: false,
            } => {
                if number.cmp(best) == *wanted {
                    *best = number;
                }
            }
            State::Sum(_)
            | State::Average { .. }
            | State::Extreme { .. }
            | State::First(_)
            | State::Joined(_)
            | State::Bits { .. }
            | State::Spread { .. }
            | State::Document(_) => return false,
        }
        true
    }

    /// Takes in so many rows, of a `COUNT(*)`; nothing else is changed by it.
    pub fn count_rows(&mut self, rows_count: u64) {
        if let State::Count(count) = &mut self.state {
            *count = count.saturating_add_unsigned(rows_count);
        }
    }

    /// The aggregate of all rows taken in.
    ///
    /// # Errors
    /// 1690 when an average overflows, or what doubles add up to.
    pub fn finish(self, ctx: &EvalContext) -> Result<Value<'static>> {
        Ok(match self.state {
            State::Count(count) => Value::Int(count),
            State::Sum(sum) => finite(sum.value(), "sum")?,
            State::Average { sum, count } => average(sum, count)?,
            // A label, which is a text here.
            State::Extreme {
                best: Some(Value::Enum(member)),
                ..
            } => Value::Text(member.label),
            State::Extreme { best: value, .. } | State::First(value) => {
                value.unwrap_or(Value::Null)
            }
            State::Joined(joined) => joined.finish(ctx),
            State::Bits { bits, .. } => Value::UInt(bits),
            State::Spread { spread, wanted } => {
                let found = spread.finish(wanted);
                finite(found.map_or(Value::Null, Value::Double), wanted.name())?
            }
            State::Document(document) => document
                .0
                .finish()
                .map_or(Value::Null, |text| Value::Json(Cow::Owned(text))),
        })
    }

    /// Bytes that the state holds beside itself: they grow with the rows.
    pub fn bytes(&self) -> usize {
        let held = match &self.state {
            State::Count(_)
            | State::Sum(_)
            | State::Average { .. }
            | State::Bits { .. }
            | State::Spread { .. } => 0,
            State::Document(held) => held.0.bytes(),
            State::Extreme { best: value, .. } | State::First(value) => {
                let bytes = value.as_ref().and_then(Value::as_bytes);
                bytes.map_or(0, <[u8]>::len)
            }
            State::Joined(joined) => joined.bytes(),
        };
        held + self.seen.as_ref().map_or(0, |seen| seen.bytes)
    }
}

impl State {
    /// The state before the first row.
    fn new(aggregate: &Aggregate, ctx: &EvalContext) -> State {
        let sum = Sum::Empty {
            exact: aggregate.ty != ColumnType::Double,
        };
        let of_any_type = |arg: &Expr| arg.ty == ColumnType::Dynamic;
        let extreme = |wanted| State::Extreme {
            best: None,
            wanted,
            of_any_type: aggregate.args.iter().any(of_any_type),
        };
        let bits = |bits, join| State::Bits { bits, join };
        let spread = |sample, root| State::Spread {
            spread: Spread::default(),
            wanted: Wanted { sample, root },
        };
        let document = |document| {
            let ty = aggregate.args.last().map(|arg| arg.ty.clone());
            State::Document(Box::new((document, ty.unwrap_or(ColumnType::Null))))
        };
        match aggregate.kind {
            AggregateKind::Count => State::Count(0),
            AggregateKind::Sum => State::Sum(sum),
            AggregateKind::Avg => State::Average { sum, count: 0 },
            AggregateKind::Min => extreme(Ordering::Less),
            AggregateKind::Max => extreme(Ordering::Greater),
            AggregateKind::AnyValue => State::First(None),
            AggregateKind::GroupConcat => State::Joined(Box::new(Joined::new(aggregate, ctx))),
            AggregateKind::BitAnd => bits(u64::MAX, |a, b| a & b),
            AggregateKind::BitOr => bits(0, |a, b| a | b),
            AggregateKind::BitXor => bits(0, |a, b| a ^ b),
            AggregateKind::StddevPop => spread(false, true),
            AggregateKind::StddevSamp => spread(true, true),
            AggregateKind::VarPop => spread(false, false),
            AggregateKind::VarSamp => spread(true, false),
            AggregateKind::JsonArray => document(Document::Array(None)),
            AggregateKind::JsonObject => document(Document::object()),
        }
    }
}

/// Adds to a sum, unless that overflows; whether it was added.
#[inline]
fn sum_up(sum: &mut i128, number: i64) -> bool {
    let more = sum.checked_add(i128::from(number));
    *sum = more.unwrap_or(*sum);
    more.is_some()
}

fn first<'v, 'a>(values: &'v [Value<'a>]) -> &'v Value<'a> {
    values.first().unwrap_or(&Value::Null)
}

impl Seen {
    /// Distinct numbers of a sum or an average are those of the argument's type, without the digits
    /// that a quotient has to spare.
    fn new(aggregate: &Aggregate) -> Seen {
        let scale = match aggregate.args.as_slice() {
            [arg] => match arg.ty {
                ColumnType::Decimal { scale, .. } => Some(scale),
                _ => None,
            },
            _ => None,
        };
        Seen {
            scale,
            ..Seen::default()
        }
    }

    fn rounded(&self, values: &[Value<'_>]) -> Option<Value<'static>> {
        match (self.scale, values) {
            (Some(scale), [Value::Decimal(number)]) => {
                Some(Value::Decimal(fit::scaled(*number, scale)))
            }
            _ => None,
        }
    }

    fn is_new(&mut self, values: &[Value<'_>]) -> bool {
        let key: Vec<GroupKey<'static>> = values
            .iter()
            .map(|value| GroupKey(value.clone().into_owned()))
            .collect();
        let bytes: usize = values.iter().map(Value::memory_bytes).sum();
        let is_new = self.keys.insert(key);
        if is_new {
            self.bytes += bytes + size_of::<Vec<GroupKey<'_>>>();
        }
        is_new
    }
}

impl Sum {
    fn add(&mut self, value: &Value<'_>, ctx: &EvalContext) -> Result<()> {
        let Some(number) = convert::number(value, ctx)? else {
            return Ok(());
        };
        *self = self.plus(number).ok_or_else(|| {
            Error::new(
                Code::NumericOverflow,
                "DECIMAL value is out of range in 'sum'",
            )
        })?;
        Ok(())
    }

    fn plus(self, number: Number) -> Option<Sum> {
        let whole = match number {
            Number::Int(number) => Some(i128::from(number)),
            Number::UInt(number) => Some(i128::from(number)),
            Number::Decimal(_) | Number::Double(_) => None,
        };
        Some(match (self, whole) {
            (Sum::Empty { exact: false }, _) => Sum::Double(number.to_f64()),
            (Sum::Double(sum), _) => Sum::Double(sum + number.to_f64()),
            (Sum::Empty { exact: true }, Some(whole)) => Sum::Whole(whole),
            (Sum::Whole(sum), Some(whole)) => Sum::Whole(sum.checked_add(whole)?),
            (Sum::Empty { exact: true }, None) => Sum::Exact(number.to_decimal()?),
            (Sum::Whole(sum), None) => {
                Sum::Exact(Decimal::new(sum, 0)?.checked_add(number.to_decimal()?)?)
            }
            (Sum::Exact(sum), _) => Sum::Exact(sum.checked_add(number.to_decimal()?)?),
        })
    }

    fn value(self) -> Value<'static> {
        match self {
            Sum::Empty { .. } => Value::Null,
            Sum::Whole(sum) => {
                Value::Decimal(Decimal::new(sum, 0).unwrap_or(Decimal::max_of(38, 0)))
            }
            Sum::Exact(sum) => Value::Decimal(sum),
            Sum::Double(sum) => Value::Double(sum),
        }
    }
}

/// Error 1690 for a double past the largest, or one that is computed of such: MySQL shows 0 for it.
fn finite<'a>(value: Value<'a>, name: &str) -> Result<Value<'a>> {
    match value {
        Value::Double(number) if !number.is_finite() => {
            let text = format!("DOUBLE value is out of range in '{name}'");
            Err(Error::new(Code::NumericOverflow, text))
        }
        value => Ok(value),
    }
}

#[expect(clippy::cast_precision_loss, reason = "an average of doubles is one")]
fn average(sum: Sum, count: i64) -> Result<Value<'static>> {
    match sum.value() {
        Value::Decimal(sum) => {
            let average = arithmetic::divide(sum, Decimal::from_i64(count));
            average.map(Value::Decimal).ok_or_else(|| {
                Error::new(
                    Code::NumericOverflow,
                    "DECIMAL value is out of range in 'avg'",
                )
            })
        }
        Value::Double(sum) => finite(Value::Double(sum / count as f64), "avg"),
        other => Ok(other),
    }
}
