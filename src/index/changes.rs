//! What the change of one row changes in one index of its table.

use super::entry::{Entry, entry, has_null};
use crate::catalog::{Index, Table};
use crate::codec::EncodeError;
use crate::kv::Key;
use crate::types::Value;

/// What one index needs for the change of one row. An entry that stays as it is is not mentioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The position of the index in [`Table::indexes`].
    pub index_position: usize,
    /// The key of an entry that goes.
    pub delete: Option<Key>,
    /// An entry that comes, or whose value changes.
    pub put: Option<Entry>,
    /// Whether no other row may have an entry under the key that is put: a unique index gets a new
    /// key without `NULL`.
    pub must_be_absent: bool,
}

/// The change of the index at a position for a row that was `old` and will be `new`, as the index
/// sees them ([`mod@super::entry`]); one of them, or both, may have no entry. `None` when nothing
/// changes.
///
/// # Errors
/// A value that is not of its column's type.
pub fn change(
    table: &Table,
    (index_position, index): (usize, &Index),
    old: Option<&[Value<'_>]>,
    new: Option<&[Value<'_>]>,
) -> Result<Option<Change>, EncodeError> {
    let old = old.map(|old| entry(table, index, old)).transpose()?;
    let made = new.map(|new| entry(table, index, new)).transpose()?;
    if old == made {
        return Ok(None);
    }
    let key_is_new = match (&old, &made) {
        (Some(old), Some(made)) => old.key != made.key,
        (None, Some(_)) => true,
        (_, None) => false,
    };
    let stays = |entry: &Entry| made.as_ref().is_some_and(|made| made.key == entry.key);
    Ok(Some(Change {
        index_position,
        delete: old.filter(|old| !stays(old)).map(|old| old.key),
        must_be_absent: key_is_new && is_exclusive(index, new),
        put: made,
    }))
}

fn is_exclusive(index: &Index, new: Option<&[Value<'_>]>) -> bool {
    index.unique && new.is_some_and(|new| !has_null(index, new))
}
