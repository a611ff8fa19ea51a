//! What an index has besides columns: parts that are computed from them, and the condition of the
//! rows that have entries.
//!
//! Expressions are kept as SQL in the server's own spelling; what they mean is known to the rooms
//! above, which keep the result of that work here ([`Memo`]).

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::schema::{Column, Index, Table};
use crate::codec::row::ColumnId;
use crate::types::ColumnType;

/// The computed parts of an index and its condition; none of them in most.
#[derive(Debug, Clone, Default)]
pub struct Computed {
    /// The parts. The i-th stands behind the columns of the table: a key part points to it with
    /// the position `columns.len() + i`.
    pub parts: Vec<ComputedPart>,
    /// `WHERE`, as SQL: only rows for which it is true have an entry.
    pub filter: Option<String>,
    /// What was worked out from both.
    pub memo: Memo,
}

/// A part of an index that is no column.
#[derive(Debug, Clone)]
pub struct ComputedPart {
    /// What it is computed from.
    pub source: PartSource,
    /// Its type, as that of a column. The name is for people.
    pub column: Column,
}

/// What a part is computed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartSource {
    /// `c(n)`: the first n characters, or bytes, of a column.
    Prefix {
        /// Position in [`Table::columns`].
        column_idx: usize,
        /// Characters of a text, bytes of a binary string; at least one.
        length: u32,
    },
    /// `(expression)`, without the parentheses.
    Expression(String),
}

impl ComputedPart {
    /// A part; `name` is for people.
    pub fn new(source: PartSource, (name, ty, nullable): (&str, ColumnType, bool)) -> ComputedPart {
        ComputedPart {
            source,
            column: Column {
                nullable,
                ..Column::new(ColumnId(0), name, ty)
            },
        }
    }

    /// The prefix of a column; `None` when its type has none or no value can be longer.
    pub fn prefix((column_idx, column): (usize, &Column), length: u32) -> Option<ComputedPart> {
        let (ty, length_max) = prefix_type(&column.ty, length)?;
        if length == 0 || length_max.is_some_and(|max| max <= length) {
            return None;
        }
        let source = PartSource::Prefix { column_idx, length };
        let nullable = column.nullable;
        Some(ComputedPart::new(source, (&column.name, ty, nullable)))
    }
}

/// The type of a prefix of a type's values, and their greatest length; `None` when they have no
/// prefixes.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other types are no strings"
)]
pub fn prefix_type(ty: &ColumnType, length: u32) -> Option<(ColumnType, Option<u32>)> {
    let text = ColumnType::Varchar {
        chars_max: Some(length),
    };
    let binary = ColumnType::Varbinary {
        bytes_max: Some(length),
    };
    match ty {
        ColumnType::Char { chars_max } => Some((text, Some(*chars_max))),
        ColumnType::Varchar { chars_max } => Some((text, *chars_max)),
        ColumnType::Text(_) => Some((text, None)),
        ColumnType::Binary { bytes } => Some((binary, Some(*bytes))),
        ColumnType::Varbinary { bytes_max } => Some((binary, *bytes_max)),
        ColumnType::Blob(_) => Some((binary, None)),
        _ => None,
    }
}

impl Computed {
    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.filter.is_none()
    }
}

impl Index {
    /// The column that a part points to: one of the table, or a computed one.
    pub fn column<'a>(&'a self, table: &'a Table, column_idx: usize) -> Option<&'a Column> {
        match column_idx.checked_sub(table.columns.len()) {
            None => table.columns.get(column_idx),
            Some(at) => self.computed.parts.get(at).map(|part| &part.column),
        }
    }

    /// The computed part that a position means; `None` for that of a column.
    pub fn computed_part(&self, table: &Table, column_idx: usize) -> Option<&ComputedPart> {
        let at = column_idx.checked_sub(table.columns.len())?;
        self.computed.parts.get(at)
    }
}

/// What an upper room worked out from a definition, kept for as long as the definition lives. A
/// copy begins without it, as it may be changed.
#[derive(Default)]
pub struct Memo(OnceLock<Arc<dyn Any + Send + Sync>>);

impl Memo {
    /// What is kept, if it is of this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let kept = Arc::clone(self.0.get()?);
        kept.downcast().ok()
    }

    /// Keeps a value, unless there is one.
    pub fn keep<T: Any + Send + Sync>(&self, value: Arc<T>) {
        // Whoever was faster kept the same.
        let _ = self.0.set(value);
    }
}

impl Clone for Memo {
    fn clone(&self) -> Memo {
        Memo::default()
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo")
    }
}
