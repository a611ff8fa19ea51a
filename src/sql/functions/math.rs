//! Functions of analysis: computed as doubles; outside their domain `NULL`, past the largest
//! double error 1690. Source: MySQL manual, "Mathematical Functions".
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use std::f64::consts::{LN_2, PI};

use super::super::eval::convert;
use super::{Call, result};
use crate::error::{Code, Result};
use crate::types::Value;

functions! {
    /// Analysis.
    TABLE of Numeric:
    "PI" 0..0 "" result::double, Never, Constant, Eager(pi), "The ratio of a circle's circumference to its diameter.";
    "SQRT" 1..1 "x" result::double, Always, Constant, Strict(sqrt), "The square root.";
    "POW" 2..2 "x, y" result::double, AnyArgument, Constant, Eager(pow), "The first argument raised to the power of the second.";
    "POWER" 2..2 "x, y" result::double, AnyArgument, Constant, Eager(pow), "The first argument raised to the power of the second.";
    "EXP" 1..1 "x" result::double, AnyArgument, Constant, Strict(exp), "The number e raised to a power.";
    "LN" 1..1 "x" result::double, Always, Constant, Strict(ln), "The natural logarithm.";
    "LOG" 1..2 "[base,] x" result::double, Always, Constant, Strict(log), "The natural logarithm, or the logarithm of the second argument to the base of the first.";
    "LOG2" 1..1 "x" result::double, Always, Constant, Strict(log2), "The logarithm to the base 2.";
    "LOG10" 1..1 "x" result::double, Always, Constant, Strict(log10), "The logarithm to the base 10.";
    "SIN" 1..1 "x" result::double, AnyArgument, Constant, Strict(sin), "The sine.";
    "COS" 1..1 "x" result::double, AnyArgument, Constant, Strict(cos), "The cosine.";
    "TAN" 1..1 "x" result::double, AnyArgument, Constant, Strict(tan), "The tangent.";
    "COT" 1..1 "x" result::double, AnyArgument, Constant, Strict(cot), "The cotangent.";
    "ASIN" 1..1 "x" result::double, Always, Constant, Strict(asin), "The arc sine.";
    "ACOS" 1..1 "x" result::double, Always, Constant, Strict(acos), "The arc cosine.";
    "ATAN" 1..2 "y [, x]" result::double, AnyArgument, Constant, Strict(atan), "The arc tangent, of one number or of two coordinates.";
    "ATAN2" 1..2 "y [, x]" result::double, AnyArgument, Constant, Strict(atan), "The arc tangent of two coordinates.";
    "DEGREES" 1..1 "x" result::double, AnyArgument, Constant, Strict(degrees), "Radians as degrees.";
    "RADIANS" 1..1 "x" result::double, AnyArgument, Constant, Strict(radians), "Degrees as radians.";
}

/// The number as a result; error 1690 when it is none.
fn finite<'a>(number: f64, call: &Call<'a>) -> Result<Value<'a>> {
    if number.is_finite() {
        Ok(Value::Double(number))
    } else {
        Err(call.out_of_range("DOUBLE"))
    }
}

/// The number as a result; `NULL` when it is none.
fn defined<'a>(number: f64) -> Value<'a> {
    if number.is_finite() {
        Value::Double(number)
    } else {
        Value::Null
    }
}

fn pi<'a>(_: &[Value<'a>], _: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::Double(PI))
}

fn sqrt<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(defined(call.double(values, 0)?.sqrt()))
}

/// The exponent is evaluated beside a `NULL` too, as in MySQL.
fn pow<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    finite(call.double(values, 0)?.powf(call.double(values, 1)?), call)
}

fn exp<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    finite(call.double(values, 0)?.exp(), call)
}

/// The logarithm of a number; `NULL` and warning (in a strict write: error) 3020 for one that has
/// none.
fn logarithm<'a>(number: f64, call: &Call<'a>, log: fn(f64) -> f64) -> Result<Value<'a>> {
    if number <= 0.0 {
        convert::lost(call.ctx, Code::InvalidLogarithm, || {
            "Invalid argument for logarithm".to_owned()
        })?;
        return Ok(Value::Null);
    }
    Ok(defined(log(number)))
}

fn ln<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    logarithm(call.double(values, 0)?, call, f64::ln)
}

fn log<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if values.len() < 2 {
        return ln(values, call);
    }
    let base = call.double(values, 0)?;
    let Value::Double(divisor) = logarithm(base, call, f64::ln)? else {
        return Ok(Value::Null);
    };
    if divisor == 0.0 {
        return logarithm(-1.0, call, f64::ln);
    }
    let Value::Double(dividend) = logarithm(call.double(values, 1)?, call, f64::ln)? else {
        return Ok(Value::Null);
    };
    Ok(defined(dividend / divisor))
}

fn log2<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    // As MySQL computes it: its last digit is not that of the nearest double.
    let log2 = |number: f64| number.ln() / LN_2;
    logarithm(call.double(values, 0)?, call, log2)
}

fn log10<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    logarithm(call.double(values, 0)?, call, f64::log10)
}

fn sin<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(defined(call.double(values, 0)?.sin()))
}

fn cos<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(defined(call.double(values, 0)?.cos()))
}

fn tan<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(defined(call.double(values, 0)?.tan()))
}

fn cot<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    finite(call.double(values, 0)?.tan().recip(), call)
}

fn asin<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(defined(call.double(values, 0)?.asin()))
}

fn acos<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(defined(call.double(values, 0)?.acos()))
}

fn atan<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let first = call.double(values, 0)?;
    if values.len() < 2 {
        return Ok(defined(first.atan()));
    }
    Ok(defined(first.atan2(call.double(values, 1)?)))
}

fn degrees<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    finite(call.double(values, 0)?.to_degrees(), call)
}

fn radians<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    finite(call.double(values, 0)?.to_radians(), call)
}
