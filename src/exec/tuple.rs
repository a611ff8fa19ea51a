//! Rows of values as bytes, for sorting, grouping and spilling: the same encoding as keys, so
//! that the order of bytes is the order of values.

use crate::codec::key::{self, Direction};
use crate::error::Result;
use crate::sql::bound::OrderBy;
use crate::sql::context::EvalContext;
use crate::sql::eval::eval;
use crate::sql::expr::{Expr, Row};
use crate::types::{ColumnType, Value};

/// Appends one value, ordered in `direction`.
///
/// # Errors
/// An internal error when the value is not of the type.
pub fn push(
    out: &mut Vec<u8>,
    value: &Value<'_>,
    ty: &ColumnType,
    direction: Direction,
) -> Result<()> {
    Ok(key::encode_part(out, value, ty, direction)?)
}

/// Appends what `ORDER BY` compares of a row.
///
/// # Errors
/// Those of evaluation.
pub fn push_order(
    out: &mut Vec<u8>,
    order_by: &[OrderBy],
    row: &dyn Row,
    ctx: &EvalContext,
) -> Result<()> {
    for OrderBy { expr, descending } in order_by {
        let value = eval(expr, row, ctx)?;
        push(out, &value, &expr.ty, Direction::of(*descending))?;
    }
    Ok(())
}

/// The bytes of a row, each value in ascending order: what rows are compared and kept by.
///
/// # Errors
/// As [`push`].
pub fn encode<'a>(
    out: &mut Vec<u8>,
    values: impl IntoIterator<Item = (&'a Value<'a>, &'a ColumnType)>,
) -> Result<()> {
    for (value, ty) in values {
        push(out, value, ty, Direction::Asc)?;
    }
    Ok(())
}

/// The values of bytes that [`encode`] made for these expressions.
///
/// # Errors
/// 1712 when the bytes are not what was written (a damaged spill file).
pub fn decode<'a>(
    mut bytes: &'a [u8],
    exprs: impl Iterator<Item = &'a Expr>,
) -> Result<Vec<Value<'a>>> {
    let mut values = Vec::new();
    for expr in exprs {
        let (value, rest) = key::decode_part(bytes, &expr.ty, Direction::Asc)?;
        values.push(value);
        bytes = rest;
    }
    Ok(values)
}
