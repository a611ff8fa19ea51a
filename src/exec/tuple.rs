//! Rows of values as bytes, for sorting, grouping and spilling: the same encoding as keys, so
//! that the order of bytes is the order of values.

use std::borrow::Cow;

use super::rows::{ROW_BYTES_UNASKED, RowCopy};
use crate::ceiling;
use crate::codec::key::{self, Direction};
use crate::error::Result;
use crate::sql::bound::{OrderBy, Output};
use crate::sql::context::EvalContext;
use crate::sql::eval::{eval, eval_signed};
use crate::sql::expr::{Expr, Row};
use crate::types::{ColumnType, Value};

/// Asks for the memory that `out` is about to grow by, with a value behind what a row has, where that is much. Hot: one
/// comparison while it has room or is small.
///
/// # Errors
/// 1041 when the process has none.
#[inline]
pub fn room(out: &Vec<u8>, value: &Value<'_>) -> Result<()> {
    let bytes = value.as_bytes().map_or(0, <[u8]>::len);
    ask(bytes_wanted((out.len(), out.capacity()), bytes))
}

#[inline]
fn ask(wanted: Option<usize>) -> Result<()> {
    match wanted {
        None => Ok(()),
        // Filled at once, so it need not be counted any longer.
        Some(bytes) => ceiling::hold("a row", bytes).map(drop),
    }
}

/// What is to be asked for, if anything, before so many bytes are put behind others: what grows doubles.
#[inline]
fn bytes_wanted((len, capacity): (usize, usize), bytes: usize) -> Option<usize> {
    let needed = len.saturating_add(bytes);
    let has_room = needed <= capacity.max(ROW_BYTES_UNASKED);
    (!has_room).then(|| needed.saturating_mul(2))
}

/// Appends one value, ordered in `direction`.
///
/// # Errors
/// An internal error when the value is not of the type; 1041 when the process has no memory for the row.
pub fn push(
    out: &mut Vec<u8>,
    value: &Value<'_>,
    ty: &ColumnType,
    direction: Direction,
) -> Result<()> {
    room(out, value)?;
    Ok(key::encode_part(out, value, ty, direction)?)
}

/// Appends the value of an expression over a row, ordered in a direction.
///
/// # Errors
/// Those of evaluation, and of [`push`].
#[inline]
pub fn push_of(
    out: &mut Vec<u8>,
    (expr, direction): (&Expr, Direction),
    (row, ctx): (&dyn Row, &EvalContext),
) -> Result<()> {
    if let Some(number) = eval_signed(expr, row) {
        key::encode_signed(out, number, direction);
        return Ok(());
    }
    push(out, &eval(expr, row, ctx)?, &expr.ty, direction)
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
                let shown = (self.shown.len(), self.shown.capacity());
                ask(bytes_wanted(shown, self.identity.len()))?;
                self.shown.extend_from_slice(&self.identity);
                self.has_json = true;
            }
            push(&mut self.identity, value, ty, Direction::Asc)?;
            if self.has_json {
                room(&self.shown, value)?;
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
        room(out, value)?;
        key::encode_shown(out, value, ty)?;
    }
    Ok(())
}

/// Appends the outputs of a row that are to be shown, for [`decode`].
///
/// # Errors
/// As [`push_of`].
pub fn push_shown(
    out: &mut Vec<u8>,
    outputs: &[Output],
    row: &dyn Row,
    ctx: &EvalContext,
) -> Result<()> {
    for Output { expr, .. } in outputs {
        match eval_signed(expr, row) {
            Some(number) => key::encode_signed(out, number, Direction::Asc),
            None => encode_shown(out, [(&eval(expr, row, ctx)?, &expr.ty)])?,
        }
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
        push_of(out, (expr, Direction::of(*descending)), (row, ctx))?;
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
/// 1712 when the bytes are not what was written (a damaged spill file); 1041 when the process has no memory for
/// the values.
pub fn decode<'a>(
    mut bytes: &'a [u8],
    exprs: impl Iterator<Item = &'a Expr>,
) -> Result<Vec<Value<'a>>> {
    let mut values = Vec::with_capacity(exprs.size_hint().0);
    let mut copy = RowCopy::default();
    for expr in exprs {
        let (value, rest) = key::decode_part(bytes, &expr.ty, Direction::Asc)?;
        if is_copied(&value) {
            copy.add(value.memory_bytes())?;
        }
        values.push(value);
        bytes = rest;
    }
    Ok(values)
}

/// Whether a value is not as it was written: strings with zero bytes, documents.
fn is_copied(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Text(Cow::Owned(_)) | Value::Bytes(Cow::Owned(_)) | Value::Json(Cow::Owned(_))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mechanism: a row of thousands of times the same large value was put together before anybody asked.
    #[test]
    fn a_large_row_asks_before_it_grows() {
        let large = ROW_BYTES_UNASKED;
        for (len_and_capacity, bytes, wanted) in [
            ((0, 0), 0, None),
            ((10, 10), 100, None),
            ((0, 0), large, None),
            ((large, large), 0, None),
            ((large, large), 1, Some(2 * (large + 1))),
            ((0, 0), 3 * large, Some(6 * large)),
            // It has grown already.
            ((3 * large, 6 * large), 3 * large, None),
            ((3 * large, 6 * large), 3 * large + 1, Some(12 * large + 2)),
            ((usize::MAX, 0), 1, Some(usize::MAX)),
        ] {
            let found = bytes_wanted(len_and_capacity, bytes);
            assert_eq!(found, wanted, "{len_and_capacity:?} {bytes}");
        }
    }
}
