//! Functions that choose among their arguments, and evaluate no more of them than they must.
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use super::super::eval::{cast, compare, convert, fit};
use super::{Call, of_count, result};
use crate::error::Result;
use crate::sql::expr::{CastType, Expr, ExprKind};
use crate::types::{ColumnType, Value};

functions! {
    /// Choice.
    TABLE of ControlFlow:
    "IF" 3..3 "condition, a, b" result::common_tail, Always, Constant, Lazy(choose), "The second argument when the first is true, else the third.";
    "IFNULL" 2..2 "a, b" result::common, AllArguments, Constant, Lazy(coalesce), "The first argument unless it is NULL, else the second.";
    "NULLIF" 2..2 "a, b" null_if_type, Always, Constant, Lazy(null_if), "NULL when both arguments are equal, else the first.";
}

functions! {
    /// Comparison.
    COMPARISONS of Comparison:
    "COALESCE" 1..many "a, ..." result::common, AllArguments, Constant, Lazy(coalesce), "The first argument that is not NULL.";
    "ISNULL" 1..1 "a" result::int, Never, Constant, Eager(is_null), "1 when the argument is NULL, else 0.";
    "INTERVAL" 2..many "n, a, ..." result::int, Never, Constant, Eager(interval), "How many of the sorted arguments after the first are not above the first.";
    "GREATEST" 2..many "a, b, ..." result::common, AnyArgument, Constant, Strict(greatest), "The largest argument.";
    "LEAST" 2..many "a, b, ..." result::common, AnyArgument, Constant, Strict(least), "The smallest argument.";
}

fn choose<'a>(call: &Call<'a>) -> Result<Value<'a>> {
    let [condition, then, otherwise] = call.args else {
        return Ok(Value::Null);
    };
    let holds = call.scope().condition(condition)? == Some(true);
    let chosen = if holds { then } else { otherwise };
    fit::of((call.scope().value(chosen)?, chosen), call.ty, call.ctx)
}

fn coalesce<'a>(call: &Call<'a>) -> Result<Value<'a>> {
    for arg in call.args {
        let value = call.scope().value(arg)?;
        if !value.is_null() {
            return fit::of((value, arg), call.ty, call.ctx);
        }
    }
    Ok(Value::Null)
}

/// The type of the first argument; a member of an ENUM is a text.
fn null_if_type(args: &[Expr]) -> ColumnType {
    let first = result::first(args);
    if matches!(first, ColumnType::Enum(_)) {
        return ColumnType::VARCHAR;
    }
    first
}

fn null_if<'a>(call: &Call<'a>) -> Result<Value<'a>> {
    let [a, b] = call.args else {
        return Ok(Value::Null);
    };
    let value = call.scope().value(a)?;
    if value.is_null() {
        return Ok(value);
    }
    let other = call.scope().value(b)?;
    // As it is bound: one of them is a column of years.
    let beside_year = matches!(b.kind, ExprKind::Cast(_, CastType::YearBeside));
    let compared = if beside_year {
        cast::year_beside(value.borrow())
    } else {
        value.borrow()
    };
    match compare::is_equal(&compared, &other, call.ctx)? {
        Some(true) => Ok(Value::Null),
        Some(false) | None => fit::of((value, a), call.ty, call.ctx),
    }
}

fn is_null<'a>(values: &[Value<'a>], _: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::boolean(Call::arg(values, 0).is_null()))
}

fn interval<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some(wanted) = convert::number(Call::arg(values, 0), call.ctx)? else {
        return Ok(Value::Int(-1));
    };
    let mut passed = 0;
    for value in values.iter().skip(1) {
        let number = convert::number(value, call.ctx)?;
        let is_above = number.is_some_and(|number| compare::order_numbers(wanted, number).is_lt());
        if is_above {
            break;
        }
        passed += 1;
    }
    Ok(of_count(passed))
}

fn greatest<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    extreme(values, call, true)
}

fn least<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    extreme(values, call, false)
}

/// A date among texts is compared as a date, and shown as a text.
fn extreme<'a>(values: &[Value<'a>], call: &Call<'a>, largest: bool) -> Result<Value<'a>> {
    let is_dated = values.iter().any(compare::is_dated);
    let mut best: Option<(&Value<'a>, Value<'a>)> = None;
    for (value, arg) in values.iter().zip(call.args) {
        let fitted = fit::of((value.clone(), arg), call.ty, call.ctx)?;
        let order = match &best {
            None => None,
            Some((other, _)) if is_dated => compare::order(value, other, call.ctx)?,
            Some((_, other)) => compare::order(&fitted, other, call.ctx)?,
        };
        let is_better = match (&best, order) {
            (None, _) => true,
            (Some(_), Some(order)) if largest => order.is_gt(),
            (Some(_), Some(order)) => order.is_lt(),
            (Some(_), None) => false,
        };
        if is_better {
            best = Some((value, fitted));
        }
    }
    Ok(best.map_or(Value::Null, |(_, fitted)| fitted))
}
