//! `FIELD`: a value among others, all compared in one way.
//!
//! Source: MySQL manual, "String Functions"; `Item_func_field` in its `item_func.cc`.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or expression takes the general rule"
)]

use super::super::context::EvalContext;
use super::super::eval::convert::Number;
use super::super::eval::{compare, convert};
use super::super::expr::ExprKind;
use super::{Call, of_count};
use crate::error::Result;
use crate::types::{ColumnType, Value};

/// The position of the first argument among the others.
///
/// What stands behind the match is not evaluated, nor anything beside `NULL`, which equals nothing.
pub(super) fn field<'a>(call: &Call<'a>) -> Result<Value<'a>> {
    let Some((wanted, list)) = call.args.split_first() else {
        return Ok(Value::Int(0));
    };
    let way = Way::of(call)?;
    let wanted = call.scope().value(wanted)?;
    if wanted.is_null() {
        return Ok(Value::Int(0));
    }
    let wanted = way.sought(wanted, call.ctx)?;
    for (idx, other) in list.iter().enumerate() {
        let other = call.scope().value(other)?;
        if !other.is_null() && way.are_equal(&wanted, &other, call.ctx)? {
            return Ok(of_count(idx + 1));
        }
    }
    Ok(Value::Int(0))
}

/// How `FIELD` compares: all its arguments in one way, which their types decide
/// (`Item_func_field::resolve_type` in MySQL's `item_func.cc`).
#[derive(Clone, Copy)]
enum Way {
    /// No number among them: dates are texts too.
    Texts,
    /// Whole numbers, by their 64 bits: the sign is not looked at.
    Bits,
    /// Exact numbers.
    Exact,
    /// Doubles, also what else stands beside a number.
    Doubles,
    /// As doubles where one of the two is a number, otherwise as texts: one of the arguments is of another
    /// type in each row.
    EachPair,
}

impl Way {
    fn of(call: &Call<'_>) -> Result<Way> {
        let mut way = None;
        for arg in call.args {
            let own = match &arg.kind {
                // Typed by what it stands for, which may be another thing in each execution.
                ExprKind::Parameter(_) => Way::of_value(&call.scope().value(arg)?),
                ExprKind::Literal(value) if !value.is_null() => Way::of_value(value),
                _ if arg.ty == ColumnType::Dynamic => return Ok(Way::EachPair),
                _ if arg.ty.is_integer() || arg.ty == ColumnType::Year => Way::Bits,
                _ if matches!(arg.ty, ColumnType::Decimal { .. }) => Way::Exact,
                _ if arg.ty.is_numeric() => Way::Doubles,
                _ => Way::Texts,
            };
            way = Some(way.map_or(own, |way: Way| way.beside(own)));
        }
        Ok(way.unwrap_or(Way::Texts))
    }

    fn of_value(value: &Value<'_>) -> Way {
        match value {
            Value::Int(_) | Value::UInt(_) | Value::Year(_) => Way::Bits,
            Value::Decimal(_) => Way::Exact,
            _ if value.is_number() => Way::Doubles,
            _ => Way::Texts,
        }
    }

    fn beside(self, other: Way) -> Way {
        match (self, other) {
            (Way::Texts, Way::Texts) => Way::Texts,
            (Way::Bits, Way::Bits) => Way::Bits,
            (Way::Bits | Way::Exact, Way::Bits | Way::Exact) => Way::Exact,
            _ => Way::Doubles,
        }
    }

    /// What is looked for, as a number where all are compared so: a bad text warns once.
    fn sought<'v>(self, value: Value<'v>, ctx: &EvalContext) -> Result<Sought<'v>> {
        let number = match self {
            Way::Texts | Way::EachPair => None,
            Way::Bits | Way::Exact | Way::Doubles => convert::number(&value, ctx)?,
        };
        Ok(Sought { value, number })
    }

    /// Whether two values, neither `NULL`, are equal.
    fn are_equal(self, wanted: &Sought<'_>, other: &Value<'_>, ctx: &EvalContext) -> Result<bool> {
        let are_texts = match self {
            Way::Texts => true,
            Way::EachPair => !wanted.value.is_number() && !other.is_number(),
            Way::Bits | Way::Exact | Way::Doubles => false,
        };
        if are_texts {
            return Ok(convert::bytes(&wanted.value, ctx) == convert::bytes(other, ctx));
        }
        let number = match wanted.number {
            Some(number) => Some(number),
            None => convert::number(&wanted.value, ctx)?,
        };
        let pair = number.zip(convert::number(other, ctx)?);
        Ok(pair.is_some_and(|pair| self.are_equal_numbers(pair)))
    }

    fn are_equal_numbers(self, pair: (Number, Number)) -> bool {
        let pair = match (self, pair) {
            (Way::Bits, (Number::Int(a), Number::UInt(b)) | (Number::UInt(b), Number::Int(a))) => {
                return a.cast_unsigned() == b;
            }
            (Way::Doubles | Way::EachPair, (a, b)) => {
                (Number::Double(a.to_f64()), Number::Double(b.to_f64()))
            }
            (Way::Texts | Way::Bits | Way::Exact, pair) => pair,
        };
        compare::order_numbers(pair.0, pair.1).is_eq()
    }
}

/// The first argument of `FIELD`.
struct Sought<'v> {
    value: Value<'v>,
    number: Option<Number>,
}
