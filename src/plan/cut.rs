//! A position between composite keys.
//!
//! A cut lies before or after all keys that begin with a prefix of key values. Inclusive,
//! exclusive and ±infinity need no words of their own: `Before([])` is the start of the table and
//! `After([])` its end. Values stand in key order, one per key part, each in the form its column
//! stores (`Int` for signed integers, `UInt` for unsigned ones, and so on). Cuts are ordered as
//! their encodings; the directions of the key parts take part in both.

use std::cmp::Ordering;

use super::values;
use crate::catalog::{Column, KeyPart, Table};
use crate::codec::key::{Direction, encode_part, prefix_successor};
use crate::error::{Error, Result};
use crate::types::Value;

/// A position between keys.
#[derive(Debug, Clone)]
pub enum Cut {
    /// Before every key that begins with these values.
    Before(Vec<Value<'static>>),
    /// After every key that begins with these values.
    After(Vec<Value<'static>>),
}

/// The parts of a key as the planner sees them: the table's primary key, an index, or an index
/// that does not exist yet.
#[derive(Debug, Clone, Copy)]
pub struct KeyParts<'a> {
    /// The columns that the parts point into.
    pub columns: &'a [Column],
    /// The parts, leftmost first.
    pub parts: &'a [KeyPart],
}

impl<'a> KeyParts<'a> {
    /// The primary key of a table.
    pub fn primary(table: &'a Table) -> KeyParts<'a> {
        KeyParts {
            columns: &table.columns,
            parts: &table.key,
        }
    }

    /// How many parts there are.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// The column of the part at `position`.
    pub fn column(&self, position: usize) -> Option<&'a Column> {
        self.columns.get(self.parts.get(position)?.column_idx)
    }

    /// The direction of the part at `position`; ascending behind the last one.
    pub fn direction(&self, position: usize) -> Direction {
        self.parts
            .get(position)
            .map_or(Direction::Asc, |part| part.direction)
    }

    /// The part that holds the column at `column_idx`.
    pub fn position(&self, column_idx: usize) -> Option<usize> {
        self.parts
            .iter()
            .position(|part| part.column_idx == column_idx)
    }
}

impl Cut {
    /// The start of the table.
    pub fn start() -> Cut {
        Cut::Before(Vec::new())
    }

    /// The end of the table.
    pub fn end() -> Cut {
        Cut::After(Vec::new())
    }

    /// The values that the cut lies before or after.
    pub fn values(&self) -> &[Value<'static>] {
        match self {
            Cut::Before(values) | Cut::After(values) => values,
        }
    }

    /// Whether the cut lies after the keys that begin with its values.
    pub fn is_after(&self) -> bool {
        match self {
            Cut::Before(_) => false,
            Cut::After(_) => true,
        }
    }

    /// The order of two cuts of one key.
    pub fn compare(&self, other: &Cut, key: KeyParts<'_>) -> Ordering {
        let (ours, theirs) = (self.values(), other.values());
        for (position, (a, b)) in ours.iter().zip(theirs).enumerate() {
            let order = match key.direction(position) {
                Direction::Asc => values::compare(a, b),
                Direction::Desc => values::compare(b, a),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        // One is a prefix of the other: the shorter lies before or after all that the longer
        // distinguishes.
        match ours.len().cmp(&theirs.len()) {
            Ordering::Equal => self.is_after().cmp(&other.is_after()),
            Ordering::Less if self.is_after() => Ordering::Greater,
            Ordering::Less => Ordering::Less,
            Ordering::Greater if other.is_after() => Ordering::Less,
            Ordering::Greater => Ordering::Greater,
        }
    }

    /// The first byte string behind the cut; `None` when the cut is the end of the table.
    ///
    /// # Errors
    /// A value that does not fit its key part: a broken invariant of `derive`.
    pub fn encode(&self, key: KeyParts<'_>) -> Result<Option<Vec<u8>>> {
        let bytes = encode_prefix(self.values(), key)?;
        Ok(match self {
            Cut::Before(_) => Some(bytes),
            Cut::After(_) => prefix_successor(bytes),
        })
    }
}

/// The encoded key that consists of, or begins with, `prefix`.
///
/// # Errors
/// A value that does not fit its key part: a broken invariant of `derive`.
pub fn encode_prefix(prefix: &[Value<'static>], key: KeyParts<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(prefix.len() * 12);
    for (position, value) in prefix.iter().enumerate() {
        let Some(column) = key.column(position) else {
            return Err(Error::internal(
                "a cut with more values than the key has parts",
            ));
        };
        encode_part(&mut bytes, value, &column.ty, key.direction(position))?;
    }
    Ok(bytes)
}
