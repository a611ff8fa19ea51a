//! Where a constant lies among the values of a column: the one place that knows how a literal is
//! compared in the column's type.
//!
//! It must agree with what `sql::eval` answers for the same comparison: a value outside what is
//! said here must make the comparison false, and where the answer is *tight* a value inside must
//! make it true. The soundness property of `derive` checks both.
//!
//! ```text
//!   column          constant                compared as       here
//!   integer, exact  integer, DECIMAL        exact numbers     exact
//!   integer         DOUBLE, text            doubles           exact below 2^53, else wider
//!   DECIMAL         DOUBLE, text            doubles           exact up to 15 digits, else wider
//!   FLOAT, DOUBLE   any number, text        doubles           exact
//!   text            text, bytes             bytes             exact
//!   text            any number              doubles           cannot use the key
//!   ENUM            text                    labels            equality only
//!   ENUM            number                  positions         exact
//!   date or time    date, time, text, …     see `time`
//! ```

mod number;
mod time;

use std::borrow::Cow;
use std::ops::Bound;

use super::domain::{self, Domain, Interval};
use super::values;
use super::verdict::Obstacle;
use crate::catalog::Column;
use crate::sql::context::EvalContext;
use crate::sql::expr::CompareOp;
use crate::types::value::EnumValue;
use crate::types::{ColumnType, Value};

/// Where a constant lies among the values of a column.
#[derive(Debug)]
pub(super) enum Place {
    /// It is `NULL`.
    Null,
    /// The values from `low` to `high` equal it; what is below is less, what is above is greater.
    Equal {
        /// The first that may be equal.
        low: Value<'static>,
        /// The last that may be equal.
        high: Value<'static>,
        /// Whether all between really are equal; if not, only some of them may be.
        tight: bool,
    },
    /// No value equals it.
    Gap {
        /// The bound of the values that are less; `None` when there are none.
        below: Option<Bound<Value<'static>>>,
        /// The bound of the values that are greater; `None` when there are none.
        above: Option<Bound<Value<'static>>>,
    },
    /// At most one value equals it, and the others are not ordered around it.
    Member(Option<Value<'static>>),
    /// Nothing can be said.
    Unusable(Obstacle),
}

impl Place {
    fn exact(value: Value<'static>) -> Place {
        Place::Equal {
            low: value.clone(),
            high: value,
            tight: true,
        }
    }

    /// Between the greatest smaller and the least greater value; `None` where the type ends.
    fn gap(below: Option<Value<'static>>, above: Option<Value<'static>>) -> Place {
        Place::Gap {
            below: below.map(Bound::Included),
            above: above.map(Bound::Included),
        }
    }

    /// At a position that no value of the type has, but that is ordered among them.
    fn beside(position: Value<'static>) -> Place {
        Place::Gap {
            below: Some(Bound::Excluded(position.clone())),
            above: Some(Bound::Excluded(position)),
        }
    }
}

/// The values of `column` for which `column op constant` may be true, and whether it is true for
/// all of them.
pub(super) fn compare(
    op: CompareOp,
    constant: &Value<'_>,
    column: &Column,
    ctx: &EvalContext,
) -> Result<(Domain, bool), Obstacle> {
    match place(constant, &column.ty, ctx) {
        Place::Null => Ok((null_domain(op, column), true)),
        Place::Equal { low, high, tight } => equal_domain(op, (low, high, tight), column),
        Place::Gap { below, above } => Ok((gap_domain(op, below, above, column), true)),
        Place::Member(member) => member_domain(op, member, column),
        Place::Unusable(obstacle) => Err(obstacle),
    }
}

/// The value of the column that `constant` equals, when it is just one and certain. The short way
/// for point predicates.
pub(super) fn exact_value(
    constant: &Value<'_>,
    ty: &ColumnType,
    ctx: &EvalContext,
) -> Option<Value<'static>> {
    match (constant, ty) {
        (Value::Int(number), ColumnType::Int { .. }) => values::int_value((*number).into(), ty),
        (Value::Text(text), ColumnType::Varchar { chars_max: None }) => Some(owned_text(text)),
        _ => match place(constant, ty, ctx) {
            Place::Equal {
                low,
                high,
                tight: true,
            } if values::compare(&low, &high).is_eq() => Some(low),
            Place::Member(member) => member,
            Place::Null | Place::Equal { .. } | Place::Gap { .. } | Place::Unusable(_) => None,
        },
    }
}

/// Where `constant` lies among the values of a column of type `ty`.
pub(super) fn place(constant: &Value<'_>, ty: &ColumnType, ctx: &EvalContext) -> Place {
    if matches!(constant, Value::Null) {
        return Place::Null;
    }
    match ty {
        ColumnType::Boolean
        | ColumnType::Int { .. }
        | ColumnType::Decimal { .. }
        | ColumnType::Year
        | ColumnType::Float
        | ColumnType::Double => number::place(constant, ty),
        ColumnType::Char { chars_max } => place_text(constant, Some(*chars_max)),
        ColumnType::Varchar { chars_max } => place_text(constant, *chars_max),
        ColumnType::Text(_) => place_text(constant, None),
        ColumnType::Binary { bytes } => place_bytes(constant, Some(*bytes)),
        ColumnType::Varbinary { bytes_max } => place_bytes(constant, *bytes_max),
        ColumnType::Blob(_) => place_bytes(constant, None),
        ColumnType::Enum(labels) => place_enum(constant, labels),
        ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Datetime { .. }
        | ColumnType::Timestamp { .. } => time::place(constant, ty, ctx),
        ColumnType::Null | ColumnType::Dynamic | ColumnType::Json => {
            Place::Unusable(Obstacle::Unordered)
        }
    }
}

fn owned_text(text: &str) -> Value<'static> {
    Value::Text(Cow::Owned(text.to_owned()))
}

fn place_text(constant: &Value<'_>, chars_max: Option<u32>) -> Place {
    let text = match constant {
        Value::Text(text) => text.as_ref(),
        Value::Enum(member) => member.label.as_ref(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => return Place::Unusable(Obstacle::ComparesAsBytes),
        },
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            return Place::Unusable(Obstacle::ComparesAsNumbers);
        }
        Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_) => return Place::Unusable(Obstacle::ComparesAsTimes),
        Value::Null | Value::Json(_) => return Place::Unusable(Obstacle::Unordered),
    };
    let fits = chars_max.is_none_or(|max| within(text.chars().count(), max));
    if fits {
        Place::exact(owned_text(text))
    } else {
        Place::beside(owned_text(text))
    }
}

fn place_bytes(constant: &Value<'_>, bytes_max: Option<u32>) -> Place {
    let bytes = match constant {
        Value::Text(text) => text.as_bytes(),
        Value::Enum(member) => member.label.as_bytes(),
        Value::Bytes(bytes) => bytes.as_ref(),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            return Place::Unusable(Obstacle::ComparesAsNumbers);
        }
        Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_) => return Place::Unusable(Obstacle::ComparesAsTimes),
        Value::Null | Value::Json(_) => return Place::Unusable(Obstacle::Unordered),
    };
    let value = Value::Bytes(Cow::Owned(bytes.to_vec()));
    if bytes_max.is_none_or(|max| within(bytes.len(), max)) {
        Place::exact(value)
    } else {
        Place::beside(value)
    }
}

fn within(count: usize, max: u32) -> bool {
    u32::try_from(count).is_ok_and(|count| count <= max)
}

fn place_enum(constant: &Value<'_>, labels: &[Box<str>]) -> Place {
    let label = match constant {
        Value::Text(text) => text.as_ref(),
        Value::Enum(member) => member.label.as_ref(),
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_)
        | Value::Json(_) => return number::place_enum(constant, labels),
    };
    if label.is_empty() {
        // The error member and a declared '' are both equal to it.
        return Place::Unusable(Obstacle::Unordered);
    }
    let at = labels.iter().position(|known| known.as_ref() == label);
    Place::Member(at.and_then(|at| enum_member(at + 1, labels)))
}

/// The member at `position`, counted from 1; 0 is the error member.
fn enum_member(position: usize, labels: &[Box<str>]) -> Option<Value<'static>> {
    let label = match position.checked_sub(1) {
        None => String::new(),
        Some(idx) => labels.get(idx)?.to_string(),
    };
    Some(Value::Enum(EnumValue {
        index: u16::try_from(position).ok()?,
        label: Cow::Owned(label),
    }))
}

fn null_domain(op: CompareOp, column: &Column) -> Domain {
    match op {
        CompareOp::NullSafeEqual if column.nullable => Domain::point(Value::Null),
        CompareOp::NullSafeEqual
        | CompareOp::Equal
        | CompareOp::NotEqual
        | CompareOp::Less
        | CompareOp::LessOrEqual
        | CompareOp::Greater
        | CompareOp::GreaterOrEqual => Domain::empty(),
    }
}

/// ```text
///   op   all of low..high equal        some of low..high may be equal
///   =    [low, high]                   [low, high]
///   <    (-, low)                      (-, high]
///   <=   (-, high]                     (-, high]
///   >    (high, -)                     [low, -)
///   >=   [low, -)                      [low, -)
///   <>   (-, low) and (high, -)        cannot be used
/// ```
fn equal_domain(
    op: CompareOp,
    (low, high, tight): (Value<'static>, Value<'static>, bool),
    column: &Column,
) -> Result<(Domain, bool), Obstacle> {
    let least = domain::least(column.nullable);
    let domain = match op {
        CompareOp::Equal | CompareOp::NullSafeEqual => {
            between(Bound::Included(low), Bound::Included(high), column)
        }
        CompareOp::Less if tight => between(least, Bound::Excluded(low), column),
        CompareOp::Less | CompareOp::LessOrEqual => between(least, Bound::Included(high), column),
        CompareOp::Greater if tight => between(Bound::Excluded(high), Bound::Unbounded, column),
        CompareOp::Greater | CompareOp::GreaterOrEqual => {
            between(Bound::Included(low), Bound::Unbounded, column)
        }
        CompareOp::NotEqual if tight => Domain::union(
            [
                between(least, Bound::Excluded(low), column),
                between(Bound::Excluded(high), Bound::Unbounded, column),
            ],
            &column.ty,
        ),
        CompareOp::NotEqual => return Err(Obstacle::Inexact),
    };
    Ok((domain, tight))
}

fn gap_domain(
    op: CompareOp,
    below: Option<Bound<Value<'static>>>,
    above: Option<Bound<Value<'static>>>,
    column: &Column,
) -> Domain {
    match op {
        CompareOp::Equal | CompareOp::NullSafeEqual => Domain::empty(),
        CompareOp::Less | CompareOp::LessOrEqual => below.map_or_else(Domain::empty, |below| {
            between(domain::least(column.nullable), below, column)
        }),
        CompareOp::Greater | CompareOp::GreaterOrEqual => above
            .map_or_else(Domain::empty, |above| {
                between(above, Bound::Unbounded, column)
            }),
        CompareOp::NotEqual => Domain::not_null(column.nullable),
    }
}

fn member_domain(
    op: CompareOp,
    member: Option<Value<'static>>,
    column: &Column,
) -> Result<(Domain, bool), Obstacle> {
    match (op, member) {
        (CompareOp::Equal | CompareOp::NullSafeEqual, Some(value)) => {
            Ok((Domain::point(value), true))
        }
        (CompareOp::Equal | CompareOp::NullSafeEqual, None) => Ok((Domain::empty(), true)),
        (CompareOp::NotEqual, Some(value)) => {
            equal_domain(op, (value.clone(), value, true), column)
        }
        (CompareOp::NotEqual, None) => Ok((Domain::not_null(column.nullable), true)),
        (
            CompareOp::Less
            | CompareOp::LessOrEqual
            | CompareOp::Greater
            | CompareOp::GreaterOrEqual,
            _,
        ) => Err(Obstacle::EnumOrder),
    }
}

/// A range of the column's values; a lower bound below which only `NULL` lies is no bound.
pub(super) fn between(
    low: Bound<Value<'static>>,
    high: Bound<Value<'static>>,
    column: &Column,
) -> Domain {
    let low = match low {
        Bound::Included(value) if values::is_least(&value, &column.ty) => {
            // A single value at the end of the range stays a point.
            match &high {
                Bound::Included(high) if values::compare(&value, high).is_eq() => {
                    Bound::Included(value)
                }
                Bound::Included(_) | Bound::Excluded(_) | Bound::Unbounded => {
                    domain::least(column.nullable)
                }
            }
        }
        Bound::Unbounded => domain::least(column.nullable),
        low @ (Bound::Included(_) | Bound::Excluded(_)) => low,
    };
    Domain::from(Interval::between(low, high, &column.ty))
}
