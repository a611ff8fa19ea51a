//! One entry of an index.
//!
//! ```text
//!                          key                                  value: a row with the columns
//!   plain                  indexed columns, rest of the         included
//!                          primary key
//!   unique                 indexed columns                      included, rest of the primary key
//!   unique, with a NULL    indexed columns, rest of the         included, rest of the primary key
//!                          primary key
//! ```
//! The rest of the primary key is those of its columns that are not indexed, in key order. Entries
//! of a unique index with the same values so have one key, and collide; those with a `NULL` do not.
//!
//! The values of a row are given by column, and behind those of the table's columns come what the
//! index computes ([`crate::catalog::Computed`]), in its order: the room of SQL makes them.

use crate::catalog::{Column, ColumnPlace, Index, KeyPart, Table};
use crate::codec::key::{self, Direction};
use crate::codec::keyspace;
use crate::codec::row::{RowBuilder, RowView};
use crate::codec::{Corrupt, EncodeError};
use crate::kv::Key;
use crate::types::Value;

/// One stored entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its key in the space of the index.
    pub key: Key,
    /// Its value: a row.
    pub value: Vec<u8>,
}

/// The entry of a row, whose values are given by column, what the index computes behind them.
///
/// # Errors
/// A value that is not of its column's type, or a row that is too large.
pub fn entry(table: &Table, index: &Index, values: &[Value<'_>]) -> Result<Entry, EncodeError> {
    let mut key = Vec::with_capacity(48);
    push_parts(&mut key, (table, index), &index.parts, values)?;
    let rest = rest_of_primary_key(table, index);
    let mut row = RowBuilder::new();
    if index.unique {
        for part in &rest {
            set(&mut row, table, part.column_idx, values)?;
        }
    }
    if !index.unique || has_null(index, values) {
        push_parts(&mut key, (table, index), &rest, values)?;
    }
    for column_idx in index.included(table) {
        set(&mut row, table, column_idx, values)?;
    }
    if let Some(end_ms) = end_of(table, values) {
        row.expiry(end_ms);
    }
    let value = row.finish()?;
    Ok(Entry { key, value })
}

/// When the row ends, and its entries with it.
fn end_of(table: &Table, values: &[Value<'_>]) -> Option<u64> {
    if !table.expires() {
        return None;
    }
    let mut columns = table.columns.iter().zip(values);
    let (_, end) = columns.find(|(column, _)| column.place == ColumnPlace::Expiry)?;
    let Value::UInt(end_ms) = end else {
        return None;
    };
    Some(*end_ms)
}

/// The key of the entry that no other row may have: `None` when the index is not unique or one of
/// the indexed values is `NULL`.
///
/// # Errors
/// A value that is not of its column's type.
pub fn unique_key(
    table: &Table,
    index: &Index,
    values: &[Value<'_>],
) -> Result<Option<Key>, EncodeError> {
    if !index.unique || has_null(index, values) {
        return Ok(None);
    }
    let mut key = Vec::with_capacity(48);
    push_parts(&mut key, (table, index), &index.parts, values)?;
    Ok(Some(key))
}

/// Whether one of the indexed values is `NULL`, so that a unique index takes the row as it is.
pub fn has_null(index: &Index, values: &[Value<'_>]) -> bool {
    let mut parts = index.parts.iter();
    parts.any(|part| values.get(part.column_idx).is_none_or(Value::is_null))
}

/// The columns of the primary key that are not indexed, in key order. Its spread part is computed from
/// them.
pub fn rest_of_primary_key(table: &Table, index: &Index) -> Vec<KeyPart> {
    let parts = table.declared_key().iter();
    parts
        .filter(|part| !index.has_part(part.column_idx))
        .copied()
        .collect()
}

fn push_parts(
    key: &mut Key,
    (table, index): (&Table, &Index),
    parts: &[KeyPart],
    values: &[Value<'_>],
) -> Result<(), EncodeError> {
    for part in parts {
        if let (Some(column), Some(value)) = (
            index.column(table, part.column_idx),
            values.get(part.column_idx),
        ) {
            keyspace::push_key_part(key, value, &column.ty, part.direction)?;
        }
    }
    Ok(())
}

fn set(
    row: &mut RowBuilder,
    table: &Table,
    column_idx: usize,
    values: &[Value<'_>],
) -> Result<(), EncodeError> {
    match (table.columns.get(column_idx), values.get(column_idx)) {
        (Some(column), Some(value)) if column.is_stored(value) => {
            row.set(column.id, value, &column.ty)
        }
        _ => Ok(()),
    }
}

/// Whether two values of an entry's key say the same: one may have been written before a column was
/// added, dropped or widened.
///
/// # Errors
/// [`Corrupt`] for bytes that [`entry`] does not make.
pub fn same_value(
    table: &Table,
    index: &Index,
    (left, right): (&[u8], &[u8]),
) -> Result<bool, Corrupt> {
    if left == right {
        return Ok(true);
    }
    let (left, right) = (RowView::parse(left)?, RowView::parse(right)?);
    if left.expiry_ms() != right.expiry_ms() {
        return Ok(false);
    }
    let mut columns = index.included(table);
    if index.unique {
        let rest = rest_of_primary_key(table, index);
        columns.extend(rest.iter().map(|part| part.column_idx));
    }
    for column in columns.iter().filter_map(|idx| table.columns.get(*idx)) {
        let values = (column.value_in(&left)?, column.value_in(&right)?);
        if values.0.total_cmp(&values.1).is_ne() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The encoded primary key of the row that a stored entry belongs to.
///
/// # Errors
/// [`Corrupt`] for bytes that [`entry`] does not make.
pub fn primary_key(
    table: &Table,
    index: &Index,
    (entry_key, entry_value): (&[u8], &[u8]),
) -> Result<Key, Corrupt> {
    let parts = slices(table, index, entry_key)?;
    let mut row = None;
    let mut key = Vec::with_capacity(entry_key.len());
    if let Some(spread) = table.spread() {
        let mut inputs = Vec::with_capacity(spread.inputs.len());
        for idx in &spread.inputs {
            let place = (table, *idx, parts.as_slice());
            inputs.push((*idx, key_value(place, (entry_value, &mut row))?));
        }
        let value_of = |idx| {
            let mut inputs = inputs.iter();
            let found = inputs.find(|(input, _)| *input == idx);
            found.map(|(_, value)| value)
        };
        let value = spread.value(&table.columns, value_of);
        let value = value.map_err(|_| Corrupt::bad(0, "a value of the primary key"))?;
        let ty = spread.ty(&table.columns);
        keyspace::push_key_part(&mut key, &value, &ty, Direction::Asc)
            .map_err(|_| Corrupt::bad(0, "a value of the primary key"))?;
    }
    for part in table.declared_key() {
        let found = parts
            .iter()
            .find(|(found, _)| found.column_idx == part.column_idx);
        match found {
            Some((found, bytes)) if found.direction == part.direction => {
                key.extend_from_slice(bytes);
            }
            // The bytes of the other direction are all the bits turned round.
            Some((_, bytes)) => key.extend(bytes.iter().map(|byte| !byte)),
            None => {
                let column = table.columns.get(part.column_idx);
                let column = column.ok_or_else(|| Corrupt::missing(entry_key.len()))?;
                let value = row_value(column, (entry_value, &mut row))?;
                keyspace::push_key_part(&mut key, &value, &column.ty, part.direction)
                    .map_err(|_| Corrupt::bad(0, "a value of the primary key"))?;
            }
        }
    }
    Ok(key)
}

/// The value of an entry, and what it reads as once somebody has asked for that.
type EntryRow<'r, 'k> = (&'k [u8], &'r mut Option<RowView<'k>>);

/// The value that an entry has of a column of the primary key.
fn key_value<'k>(
    (table, column_idx, parts): (&'k Table, usize, &[(KeyPart, &'k [u8])]),
    row: EntryRow<'_, 'k>,
) -> Result<Value<'k>, Corrupt> {
    let column = table.columns.get(column_idx);
    let column = column.ok_or_else(|| Corrupt::missing(0))?;
    let mut parts = parts.iter();
    match parts.find(|(found, _)| found.column_idx == column_idx) {
        Some((found, bytes)) => Ok(key::decode_part(bytes, &column.ty, found.direction)?.0),
        None => row_value(column, row),
    }
}

/// The value that the row in an entry has of a column of the primary key.
fn row_value<'k>(
    column: &'k Column,
    (entry_value, row): EntryRow<'_, 'k>,
) -> Result<Value<'k>, Corrupt> {
    let row = match row {
        Some(row) => *row,
        None => *row.insert(RowView::parse(entry_value)?),
    };
    // What rows had before the column was added is not stored.
    let value = column.value_in(&row)?;
    if value.is_null() {
        return Err(Corrupt::missing(entry_value.len()));
    }
    Ok(value)
}

/// The parts that are in an entry's key, with their bytes.
fn slices<'k>(
    table: &Table,
    index: &Index,
    entry_key: &'k [u8],
) -> Result<Vec<(KeyPart, &'k [u8])>, Corrupt> {
    let mut rest = entry_key;
    let mut slices = Vec::with_capacity(index.parts.len() + table.key.len());
    for part in index.entry_parts(table) {
        if rest.is_empty() && index.unique && slices.len() == index.parts.len() {
            break;
        }
        let Some(column) = index.column(table, part.column_idx) else {
            return Err(Corrupt::missing(entry_key.len()));
        };
        let behind = key::skip_part(rest, &column.ty, part.direction)?;
        let (bytes, behind) = rest.split_at(rest.len().saturating_sub(behind.len()));
        slices.push((part, bytes));
        rest = behind;
    }
    if rest.is_empty() {
        return Ok(slices);
    }
    Err(Corrupt::bad(
        entry_key.len() - rest.len(),
        "bytes behind the end of an index key",
    ))
}

#[cfg(test)]
mod tests;
