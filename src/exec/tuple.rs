//! Rows of values as bytes, for sorting, grouping and spilling: the same encoding as keys, so
//! that the order of bytes is the order of values.

use crate::codec::key::{self, Direction};
use crate::error::Result;
use crate::sql::expr::Expr;
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
    if value.is_null() {
        return Ok(key::encode_part(out, &Value::Null, ty, direction)?);
    }
    Ok(key::encode_part(out, value, ty, direction)?)
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
