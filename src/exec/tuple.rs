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

/// The bytes of a row that is told apart from others, and those of what is shown of it: documents that are equal,
/// as `1` and `1.0` are, differ in their texts.
#[derive(Debug, Default)]
pub struct RowBytes {
    identity: Vec<u8>,
    /// Nothing while it is the same as the identity.
    shown: Vec<u8>,
    has_json: bool,
}

impl RowBytes {
    /// Takes in a row.
    ///
    /// # Errors
    /// As [`push`].
    pub fn set<'a, 'v: 'a>(
        &mut self,
        values: impl IntoIterator<Item = (&'a Value<'v>, &'a ColumnType)>,
    ) -> Result<()> {
        self.identity.clear();
        self.shown.clear();
        self.has_json = false;
        for (value, ty) in values {
            if matches!(value, Value::Json(_)) && !self.has_json {
                self.shown.extend_from_slice(&self.identity);
                self.has_json = true;
            }
            push(&mut self.identity, value, ty, Direction::Asc)?;
            if self.has_json {
                key::encode_shown(&mut self.shown, value, ty)?;
            }
        }
        Ok(())
    }

    /// What is equal in equal rows, and only in them.
    pub fn identity(&self) -> &[u8] {
        &self.identity
    }

    /// What is shown, for [`decode`].
    pub fn shown(&self) -> &[u8] {
        if self.has_json {
            &self.shown
        } else {
            &self.identity
        }
    }

    /// As [`RowBytes::shown`]; nothing where that is the identity.
    pub fn spelling(&self) -> &[u8] {
        &self.shown
    }
}

/// Appends a row that is to be shown, for [`decode`].
///
/// # Errors
/// As [`push`].
pub fn encode_shown<'a, 'v: 'a>(
    out: &mut Vec<u8>,
    values: impl IntoIterator<Item = (&'a Value<'v>, &'a ColumnType)>,
) -> Result<()> {
    for (value, ty) in values {
        key::encode_shown(out, value, ty)?;
    }
    Ok(())
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

/// The values of bytes that [`encode`] or [`encode_shown`] made for these expressions. [`encode`] gives a document
/// that is equal to the one it had.
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
