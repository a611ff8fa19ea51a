//! Functions that keep the kind of their number: sign, rounding.
//!
//! Source: MySQL manual, "Mathematical Functions", "Precision Math".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use super::super::eval::convert::{self, Number};
use super::super::eval::fit;
use super::{Call, result};
use crate::error::Result;
use crate::types::{ColumnType, Decimal, Value};

functions! {
    /// Sign and rounding.
    TABLE of Numeric:
    "ABS" 1..1 "x" result::number, AnyArgument, Constant, Strict(abs), "The number without its sign.";
    "SIGN" 1..1 "x" result::int, AnyArgument, Constant, Strict(sign), "-1, 0 or 1, as the number is below, equal to or above zero.";
    "CEIL" 1..1 "x" result::whole, AnyArgument, Constant, Strict(ceil), "The least whole number that is not below the number.";
    "CEILING" 1..1 "x" result::whole, AnyArgument, Constant, Strict(ceil), "The least whole number that is not below the number.";
    "FLOOR" 1..1 "x" result::whole, AnyArgument, Constant, Strict(floor), "The largest whole number that is not above the number.";
    "ROUND" 1..2 "x [, digits]" result::rounded, AnyArgument, Constant, Strict(round), "The number rounded to so many digits after the point.";
    "TRUNCATE" 2..2 "x, digits" result::rounded, AnyArgument, Constant, Strict(truncate), "The number cut off after so many digits after the point.";
}

/// Digits after (or, negative, before) the point beyond which rounding changes nothing.
const ROUND_DIGITS_MAX: i64 = 400;

/// The number of the first argument, as the kind of number that the result is.
fn number<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Number> {
    let number = convert::number(Call::arg(values, 0), call.ctx)?.unwrap_or(Number::Int(0));
    Ok(match call.ty {
        ColumnType::Double => Number::Double(number.to_f64()),
        _ => number,
    })
}

/// The number in the variant of the result's type.
fn result_of<'a>(number: Number, call: &Call<'a>) -> Result<Value<'a>> {
    let value = match number {
        Number::Int(number) => Value::Int(number),
        Number::UInt(number) => Value::UInt(number),
        Number::Decimal(number) => Value::Decimal(number),
        Number::Double(number) => Value::Double(number),
    };
    fit::fit(value, call.ty, call.ctx)
}

/// A whole number in the 64 bits that the result has, with or without sign; error 1690 where they do not hold it.
fn whole(number: i128, call: &Call<'_>) -> Result<Number> {
    if call.ty.is_unsigned() {
        let number = u64::try_from(number).map(Number::UInt);
        return number.map_err(|_| call.out_of_range("BIGINT UNSIGNED"));
    }
    let number = i64::try_from(number).map(Number::Int);
    number.map_err(|_| call.out_of_range("BIGINT"))
}

fn abs<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let positive = match number(values, call)? {
        Number::Int(number) => {
            let positive = number.checked_abs();
            Number::Int(positive.ok_or_else(|| call.out_of_range("BIGINT"))?)
        }
        Number::UInt(number) => Number::UInt(number),
        Number::Decimal(number) => Number::Decimal(number.abs()),
        Number::Double(number) => Number::Double(number.abs()),
    };
    result_of(positive, call)
}

fn sign<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let number = convert::number(Call::arg(values, 0), call.ctx)?.unwrap_or(Number::Int(0));
    Ok(Value::Int(if number.is_zero() {
        0
    } else if number.to_f64() < 0.0 {
        -1
    } else {
        1
    }))
}

fn ceil<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    to_whole(
        values,
        call,
        &WholeRule {
            exact: Decimal::ceil,
            double: f64::ceil,
        },
    )
}

fn floor<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    to_whole(
        values,
        call,
        &WholeRule {
            exact: Decimal::floor,
            double: f64::floor,
        },
    )
}

/// Which whole number is taken.
struct WholeRule {
    exact: fn(Decimal) -> Decimal,
    double: fn(f64) -> f64,
}

fn to_whole<'a>(values: &[Value<'a>], call: &Call<'a>, rule: &WholeRule) -> Result<Value<'a>> {
    let number = match number(values, call)? {
        Number::Decimal(number) if call.ty.is_integer() => within((rule.exact)(number), call),
        Number::Decimal(number) => Number::Decimal((rule.exact)(number)),
        Number::Double(number) => Number::Double((rule.double)(number)),
        whole @ (Number::Int(_) | Number::UInt(_)) => whole,
    };
    result_of(number, call)
}

/// The nearest whole number of the result's type: an average may be greater than the digits of its type say
/// (`my_decimal2int`, which `Item_func_floor::int_op` asks not to report that).
fn within(number: Decimal, call: &Call<'_>) -> Number {
    let whole = number.trunc_to_i128();
    if call.ty.is_unsigned() {
        Number::UInt(u64::try_from(whole.max(0)).unwrap_or(u64::MAX))
    } else {
        let nearest = whole.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        Number::Int(i64::try_from(nearest).unwrap_or(i64::MAX))
    }
}

fn round<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    to_digits(
        values,
        call,
        &Rule {
            exact: Decimal::round,
            double: f64::round_ties_even,
        },
    )
}

fn truncate<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    to_digits(
        values,
        call,
        &Rule {
            exact: Decimal::trunc,
            double: f64::trunc,
        },
    )
}

/// How digits are dropped.
struct Rule {
    exact: fn(Decimal, i32) -> Decimal,
    double: fn(f64) -> f64,
}

fn to_digits<'a>(values: &[Value<'a>], call: &Call<'a>, rule: &Rule) -> Result<Value<'a>> {
    let digits = call
        .count(values, 1)?
        .clamp(-ROUND_DIGITS_MAX, ROUND_DIGITS_MAX);
    let digits = i32::try_from(digits).unwrap_or(0);
    let number = match number(values, call)? {
        Number::Decimal(number) => Number::Decimal((rule.exact)(number, digits)),
        Number::Double(number) => Number::Double(double_to_digits(number, digits, rule.double)),
        integer if 0 <= digits => integer,
        integer => {
            let exact = Decimal::new(integer.to_i128(), 0).unwrap_or(Decimal::ZERO);
            whole((rule.exact)(exact, digits).to_i128(), call)?
        }
    };
    result_of(number, call)
}

/// As MySQL computes it: scaled, made whole, scaled back.
fn double_to_digits(number: f64, digits: i32, rule: fn(f64) -> f64) -> f64 {
    let power = 10f64.powi(digits.abs());
    let rounded = if digits < 0 {
        rule(number / power) * power
    } else {
        rule(number * power) / power
    };
    if 0 <= digits && !(number * power).is_finite() {
        return number;
    }
    if rounded.is_finite() { rounded } else { 0.0 }
}
