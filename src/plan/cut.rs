//! A position between composite keys.
//!
//! A cut lies before or after all keys that begin with a prefix of key values. Inclusive,
//! exclusive and ±infinity need no words of their own: `Before([])` is the start of the table and
//! `After([])` its end. Values stand in key order, one per key part, each in the form its column
//! stores (`Int` for signed integers, `UInt` for unsigned ones, and so on).

use crate::catalog::{Column, KeyPart, Table};
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
}
