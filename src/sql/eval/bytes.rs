//! Bit operators on binary strings, byte by byte. Those on numbers are `arithmetic`.
//!
//! Source: MySQL manual, "Bit Functions and Operators".

use std::borrow::Cow;

use super::super::expr::{BinaryOp, Expr};
use super::typing;
use crate::error::{Code, Error, Result};
use crate::types::Value;

/// Whether the operator's result is bytes, and its operands are taken as such.
pub(super) fn is_meant(expr: &Expr) -> bool {
    typing::is_binary(&expr.ty)
}

fn of<'v>(value: &'v Value<'_>) -> &'v [u8] {
    value.as_bytes().unwrap_or_default()
}

/// `~a`.
pub(super) fn not<'a>(value: &Value<'_>) -> Value<'a> {
    if value.is_null() {
        return Value::Null;
    }
    Value::Bytes(Cow::Owned(of(value).iter().map(|byte| !byte).collect()))
}

/// `a & b`, `a | b`, `a ^ b`.
///
/// # Errors
/// 3513 for operands of different lengths.
pub(super) fn join<'a>(op: BinaryOp, values: (&Value<'_>, &Value<'_>)) -> Result<Value<'a>> {
    let (a, b) = (of(values.0), of(values.1));
    if a.len() != b.len() {
        let text = "Binary operands of bitwise operators must be of equal length";
        return Err(Error::new(Code::BitOperandsLength, text));
    }
    let joined = a.iter().zip(b).map(|(a, b)| match op {
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::IntegerDivide
        | BinaryOp::Modulo
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => a ^ b,
    });
    Ok(Value::Bytes(Cow::Owned(joined.collect())))
}

/// `a << places`, `a >> places`: the length stays.
pub(super) fn shift<'a>(op: BinaryOp, value: &Value<'_>, places: Option<u64>) -> Value<'a> {
    let bytes = of(value);
    let places = places.and_then(|places| usize::try_from(places).ok());
    let places = places.unwrap_or(usize::MAX);
    let (whole, rest) = (places / 8, places % 8);
    let at = |idx: Option<usize>| {
        let byte = idx.and_then(|idx| bytes.get(idx)).copied();
        u16::from(byte.unwrap_or(0))
    };
    let shifted = (0..bytes.len()).map(|idx| {
        // The byte that lands here, and the one beside it whose bits come over.
        let both = if op == BinaryOp::ShiftLeft {
            let from = idx.checked_add(whole);
            let beside = from.and_then(|from| from.checked_add(1));
            (at(from) << 8 | at(beside)) << rest >> 8
        } else {
            let from = idx.checked_sub(whole);
            let beside = from.and_then(|from| from.checked_sub(1));
            (at(beside) << 8 | at(from)) >> rest
        };
        u8::try_from(both & 0xFF).unwrap_or(0)
    });
    Value::Bytes(Cow::Owned(shifted.collect()))
}
