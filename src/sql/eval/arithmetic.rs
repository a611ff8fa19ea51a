//! Arithmetic and bit operators, computed in the type written at the node.
//!
//! Overflow is error 1690 with the expression's text; division by zero is `NULL` with warning 1365
//! (an error in a strict write). Source: MySQL manual, "Arithmetic Operators", "Precision Math".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use super::super::context::EvalContext;
use super::super::expr::{BinaryOp, Expr, UnaryOp};
use super::convert::{self, Number};
use super::typing::DIVIDE_SCALE;
use super::{Scope, bytes, dynamic, print};
use crate::error::{Code, Error, Result};
use crate::types::decimal::SCALE_MAX;
use crate::types::{ColumnType, Decimal, Value};

/// Digits of a word of MySQL's own decimals: a quotient has a multiple of them after its point.
const WORD_DIGITS: u8 = 9;
/// Digits by which a quotient is taken longer, to be cut and not rounded.
const GUARD_DIGITS: u8 = 3;

/// `-a` and `~a`.
pub(super) fn unary<'a>(
    scope: Scope<'a>,
    expr: &'a Expr,
    op: UnaryOp,
    a: &'a Expr,
) -> Result<Value<'a>> {
    let value = scope.value(a)?;
    if expr.ty == ColumnType::Dynamic && !value.is_null() {
        return dynamic::unary(op, value, scope.ctx);
    }
    match op {
        UnaryOp::BitNot if bytes::is_meant(expr) => Ok(bytes::not(&value)),
        UnaryOp::BitNot => {
            Ok(convert::bits(&value, scope.ctx)?.map_or(Value::Null, |bits| Value::UInt(!bits)))
        }
        UnaryOp::Negate => negate(&value, expr, scope.ctx),
    }
}

fn negate<'a>(value: &Value<'_>, expr: &Expr, ctx: &EvalContext) -> Result<Value<'a>> {
    let Some(number) = convert::number(value, ctx)? else {
        return Ok(Value::Null);
    };
    match &expr.ty {
        ColumnType::Int { .. } | ColumnType::Boolean => {
            let negative = -number.to_i128();
            i64::try_from(negative)
                .map(Value::Int)
                .map_err(|_| out_of_range("BIGINT", expr))
        }
        ColumnType::Decimal { .. } => {
            let number = number
                .to_decimal()
                .ok_or_else(|| out_of_range("DECIMAL", expr))?;
            Ok(Value::Decimal(number.neg()))
        }
        _ => Ok(Value::Double(-number.to_f64())),
    }
}

/// `a op b`.
pub(super) fn binary<'a>(
    scope: Scope<'a>,
    expr: &'a Expr,
    (op, a, b): (BinaryOp, &'a Expr, &'a Expr),
) -> Result<Value<'a>> {
    let left = scope.value(a)?;
    if matches!(left, Value::Null) && stops_at_null(expr, (op, a, b)) {
        return Ok(Value::Null);
    }
    let (a, b) = (left, scope.value(b)?);
    if matches!(a, Value::Null) || matches!(b, Value::Null) {
        return Ok(Value::Null);
    }
    if expr.ty == ColumnType::Dynamic {
        return dynamic::binary(op, (a, b), scope.ctx);
    }
    if let (Value::Int(x), Value::Int(y), &ColumnType::BIGINT) = (&a, &b, &expr.ty) {
        let sum = match op {
            BinaryOp::Add => x.checked_add(*y),
            BinaryOp::Subtract => x.checked_sub(*y),
            BinaryOp::Multiply => x.checked_mul(*y),
            _ => None,
        };
        if let Some(sum) = sum {
            return Ok(Value::Int(sum));
        }
    }
    let computed = match op {
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor if bytes::is_meant(expr) => {
            return bytes::join(op, (&a, &b));
        }
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight if bytes::is_meant(expr) => {
            return Ok(bytes::shift(op, &a, convert::bits(&b, scope.ctx)?));
        }
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => return bit_operation(op, (&a, &b), scope.ctx),
        BinaryOp::IntegerDivide => integer_divide(expr, (&a, &b), scope.ctx)?,
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo => number_operation(op, expr, (&a, &b), scope.ctx)?,
    };
    if computed.is_none() {
        division_by_zero(scope.ctx)?;
    }
    Ok(computed.unwrap_or(Value::Null))
}

/// Whether the right side is not evaluated beside a `NULL` on the left: where bits or exact numbers are computed
/// with, but not for whole numbers and doubles (`Item_func_mod::decimal_op`, `int_op` and their like in MySQL's
/// `item_func.cc`).
fn stops_at_null(expr: &Expr, (op, a, b): (BinaryOp, &Expr, &Expr)) -> bool {
    let is_whole = |expr: &Expr| expr.ty.is_integer() || expr.ty == ColumnType::Year;
    match op {
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => true,
        BinaryOp::IntegerDivide => !(is_whole(a) && is_whole(b)),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo => matches!(expr.ty, ColumnType::Decimal { .. }),
    }
}

/// Warning 1365, where `sql_mode` asks for it; an error in a strict write.
///
/// # Errors
/// 1365.
pub(crate) fn division_by_zero(ctx: &EvalContext) -> Result<()> {
    if !ctx.mode.error_for_division_by_zero {
        return Ok(());
    }
    convert::lost(ctx, Code::DivisionByZero, || "Division by 0".to_owned())
}

/// Error 1690.
fn out_of_range(kind: &str, expr: &Expr) -> Error {
    let text = format!("{kind} value is out of range in '{}'", print::text(expr));
    Error::new(Code::NumericOverflow, text)
}

/// `None` is a division by zero.
fn number_operation<'a>(
    op: BinaryOp,
    expr: &Expr,
    values: (&Value<'_>, &Value<'_>),
    ctx: &EvalContext,
) -> Result<Option<Value<'a>>> {
    let (Some(a), Some(b)) = (
        convert::number(values.0, ctx)?,
        convert::number(values.1, ctx)?,
    ) else {
        return Ok(Some(Value::Null));
    };
    if matches!(op, BinaryOp::Divide | BinaryOp::Modulo) && b.is_zero() {
        return Ok(None);
    }
    match &expr.ty {
        ColumnType::Int { unsigned, .. } => whole(op, expr, (a, b), *unsigned),
        ColumnType::Decimal { .. } => {
            let operands = a.to_decimal().zip(b.to_decimal());
            let number = operands.and_then(|(a, b)| exact(op, a, b));
            number
                .map(|n| Some(Value::Decimal(n)))
                .ok_or_else(|| out_of_range("DECIMAL", expr))
        }
        _ => {
            let number = floating(op, a.to_f64(), b.to_f64());
            if !number.is_finite() {
                return Err(out_of_range("DOUBLE", expr));
            }
            Ok(Some(Value::Double(number)))
        }
    }
}

fn whole<'a>(
    op: BinaryOp,
    expr: &Expr,
    (a, b): (Number, Number),
    unsigned: bool,
) -> Result<Option<Value<'a>>> {
    let (a, b) = (a.to_i128(), b.to_i128());
    let number = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        BinaryOp::Modulo => a.checked_rem(b),
        _ => a.checked_div(b),
    };
    in_range(number, expr, unsigned).map(Some)
}

/// A whole number in the variant of its type.
fn in_range<'a>(number: Option<i128>, expr: &Expr, unsigned: bool) -> Result<Value<'a>> {
    let (value, kind) = if unsigned {
        (
            number.and_then(|n| u64::try_from(n).ok()).map(Value::UInt),
            "BIGINT UNSIGNED",
        )
    } else {
        (
            number.and_then(|n| i64::try_from(n).ok()).map(Value::Int),
            "BIGINT",
        )
    };
    value.ok_or_else(|| out_of_range(kind, expr))
}

fn exact(op: BinaryOp, a: Decimal, b: Decimal) -> Option<Decimal> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        BinaryOp::Modulo => a.checked_rem(b),
        _ => divide(a, b),
    }
}

/// The quotient with the digits that MySQL computes with: whole words of nine, cut off. What is
/// shown has [`DIVIDE_SCALE`] digits more than the dividend. `None` on overflow and for a zero.
pub(crate) fn divide(a: Decimal, b: Decimal) -> Option<Decimal> {
    let words = |digits: u8| digits.next_multiple_of(WORD_DIGITS);
    let (a_digits, b_digits) = (words(a.scale()), words(b.scale()));
    let spare = (a_digits - a.scale()) + (b_digits - b.scale());
    let scale = words(a_digits + b_digits + DIVIDE_SCALE.saturating_sub(spare)).min(SCALE_MAX);
    let longer = (scale + GUARD_DIGITS).min(SCALE_MAX);
    a.div_to_scale(b, longer)
        .map(|quotient| quotient.trunc(i32::from(scale)))
}

fn floating(op: BinaryOp, a: f64, b: f64) -> f64 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        BinaryOp::Modulo => a % b,
        _ => a / b,
    }
}

/// `None` is a division by zero.
fn integer_divide<'a>(
    expr: &Expr,
    values: (&Value<'_>, &Value<'_>),
    ctx: &EvalContext,
) -> Result<Option<Value<'a>>> {
    let unsigned = expr.ty == ColumnType::BIGINT_UNSIGNED;
    let (Some(a), Some(b)) = (
        convert::number(values.0, ctx)?,
        convert::number(values.1, ctx)?,
    ) else {
        return Ok(Some(Value::Null));
    };
    if b.is_zero() {
        return Ok(None);
    }
    let is_int = |number: Number| matches!(number, Number::Int(_) | Number::UInt(_));
    let quotient = if is_int(a) && is_int(b) {
        a.to_i128().checked_div(b.to_i128())
    } else {
        let operands = a.to_decimal().zip(b.to_decimal());
        let quotient = operands.and_then(|(a, b)| a.checked_div_int(b));
        quotient.map(|quotient| quotient.trunc_to_i128())
    };
    in_range(quotient, expr, unsigned).map(Some)
}

fn bit_operation<'a>(
    op: BinaryOp,
    values: (&Value<'_>, &Value<'_>),
    ctx: &EvalContext,
) -> Result<Value<'a>> {
    let (Some(a), Some(b)) = (convert::bits(values.0, ctx)?, convert::bits(values.1, ctx)?) else {
        return Ok(Value::Null);
    };
    let places = u32::try_from(b).unwrap_or(u64::BITS);
    Ok(Value::UInt(match op {
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::ShiftLeft => a.checked_shl(places).unwrap_or(0),
        _ => a.checked_shr(places).unwrap_or(0),
    }))
}
