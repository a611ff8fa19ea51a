//! What is computed from values of dynamic columns: its type is worked out anew for each row.
//!
//! An operator or function whose static type is [`ColumnType::Dynamic`] is rebuilt over the values of
//! the row, as literals of their own types, and then computed as if it had been written so: `d + 1`
//! is a BIGINT where `d` is an integer, a DECIMAL where it is a DECIMAL and a DOUBLE where it is a
//! text. Comparisons need none of this: they go by values anyway.

use std::cmp::Ordering;

use super::super::context::EvalContext;
use super::super::expr::{BinaryOp, Expr, ExprKind, NoRow, UnaryOp};
use super::super::functions::Call;
use super::{Scope, arithmetic, typing};
use crate::codec::key::{self, Direction};
use crate::error::Result;
use crate::sql::bind;
use crate::types::{ColumnType, Value};

/// A value as an expression of its own type.
fn literal(value: Value<'_>) -> Expr {
    Expr {
        ty: bind::parameter_type(&value),
        nullable: value.is_null(),
        kind: ExprKind::Literal(value.into_owned()),
    }
}

/// The order of `ORDER BY` for values of any types: that of their keys. Compared two by two as
/// operators do they have none.
///
/// # Errors
/// That a value cannot be part of a key.
pub(crate) fn order(a: &Value<'_>, b: &Value<'_>) -> Result<Ordering> {
    let key = |value| -> Result<Vec<u8>> {
        let mut key = Vec::new();
        key::encode_part(&mut key, value, &ColumnType::Dynamic, Direction::Asc)?;
        Ok(key)
    };
    Ok(key(a)?.cmp(&key(b)?))
}

fn over(ctx: &EvalContext) -> Scope<'_> {
    Scope { row: &NoRow, ctx }
}

/// `-a`.
pub(super) fn unary(op: UnaryOp, a: Value<'_>, ctx: &EvalContext) -> Result<Value<'static>> {
    let a = literal(a);
    let ty = typing::unary_type(op, &a);
    let expr = Expr {
        ty,
        nullable: true,
        kind: ExprKind::Unary(op, Box::new(a)),
    };
    let ExprKind::Unary(_, a) = &expr.kind else {
        return Ok(Value::Null);
    };
    arithmetic::unary(over(ctx), &expr, op, a).map(Value::into_owned)
}

/// `a op b`.
pub(super) fn binary(
    op: BinaryOp,
    (a, b): (Value<'_>, Value<'_>),
    ctx: &EvalContext,
) -> Result<Value<'static>> {
    let (a, b) = (literal(a), literal(b));
    let ty = typing::binary_type_in(ctx.mode, op, (&a, &b));
    let expr = Expr {
        ty,
        nullable: true,
        kind: ExprKind::Binary(op, Box::new(a), Box::new(b)),
    };
    let value = over(ctx).value(&expr)?;
    super::fit::shown(value, &expr.ty, ctx).map(Value::into_owned)
}

/// A call, over these values of its arguments.
pub(super) fn call(call: &Call<'_>, values: Vec<Value<'_>>) -> Result<Value<'static>> {
    let args: Vec<Expr> = values.into_iter().map(literal).collect();
    let ty = (call.function.result_type)(&args);
    let retyped = Call {
        function: call.function,
        args: &args,
        ty: &ty,
        row: &NoRow,
        ctx: call.ctx,
    };
    let value = retyped.value()?;
    super::fit::shown(value, &ty, call.ctx).map(Value::into_owned)
}
