//! Whether the values in a definition come back as they are: asked before one is stored for the first
//! time, since afterwards rows rely on them.

use super::{decode_default, encode_default};
use crate::catalog::schema::{Column, ColumnDefault, Table};
use crate::error::{Error, Result};
use crate::types::Value;

/// Checks that the defaults of a table, and what its rows have that were written before a column was there,
/// are read as they are written. What `old`, the definition before, has as well is on the disk already.
///
/// # Errors
/// 1235 with the column.
pub fn check_constants(old: Option<&Table>, table: &Table) -> Result<()> {
    let columns = table.columns.iter();
    for column in columns.filter(|column| !old.is_some_and(|old| is_stored(old, column))) {
        if let ColumnDefault::Constant(value) = &column.default {
            check(column, value)?;
        }
        check(column, &column.past.absent)?;
    }
    Ok(())
}

/// Whether a column of the definition has the same type and values.
fn is_stored(old: &Table, column: &Column) -> bool {
    let absent =
        |column: &Column| encode_default(&ColumnDefault::Constant(column.past.absent.clone()));
    let mut same = old.columns.iter().filter(|before| before.ty == column.ty);
    same.any(|before| {
        encode_default(&before.default) == encode_default(&column.default)
            && absent(before) == absent(column)
    })
}

fn check(column: &Column, value: &Value<'static>) -> Result<()> {
    let stored = encode_default(&ColumnDefault::Constant(value.clone()));
    let comes_back = match decode_default(stored, &column.ty) {
        Ok(ColumnDefault::Constant(read)) => read.is_same(value),
        Ok(ColumnDefault::None | ColumnDefault::Now) | Err(_) => false,
    };
    if comes_back {
        return Ok(());
    }
    let text = format!(
        "'{}' as what rows without a value have in column '{}' of type {}: it would be another value \
         after a restart; give the column another DEFAULT",
        value.to_text(),
        column.name,
        column.ty
    );
    Err(Error::unsupported(text))
}
