//! What can go wrong between values and bytes: [`Corrupt`] when reading, for the operator;
//! [`EncodeError`] when writing, mostly a bug of the caller.

use std::fmt;

use super::row::ColumnId;
use crate::error::{Code, Error};
use crate::types::{ColumnType, Value};

/// Bytes that nothing of this room has written: damaged, or of another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrupt {
    /// How many bytes behind the start of what was decoded.
    pub at: usize,
    /// What was found there.
    pub found: Found,
}

/// What a decoder found where something else must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The bytes end too early.
    End,
    /// A byte that cannot stand there.
    Byte {
        /// The byte, as stored.
        byte: u8,
        /// What must stand there.
        wanted: &'static str,
    },
    /// Something longer than one byte that cannot be.
    Bad(&'static str),
}

impl Corrupt {
    /// The bytes end at `at`, and more must follow.
    #[must_use]
    pub fn missing(at: usize) -> Corrupt {
        Corrupt {
            at,
            found: Found::End,
        }
    }

    pub(super) fn byte(at: usize, byte: u8, wanted: &'static str) -> Corrupt {
        Corrupt {
            at,
            found: Found::Byte { byte, wanted },
        }
    }

    /// Something longer than one byte, at `at`, that cannot be.
    #[must_use]
    pub fn bad(at: usize, what: &'static str) -> Corrupt {
        Corrupt {
            at,
            found: Found::Bad(what),
        }
    }

    /// The same damage, told from a start that lies `bytes` earlier.
    #[must_use]
    pub fn shifted(self, bytes: usize) -> Corrupt {
        Corrupt {
            at: self.at.saturating_add(bytes),
            ..self
        }
    }
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        match self.found {
            Found::End => write!(f, "stored bytes are damaged: they end at byte {at}"),
            Found::Byte { byte, wanted } => {
                let text = "stored bytes are damaged: byte";
                write!(f, "{text} {at} is 0x{byte:02x} and not {wanted}")
            }
            Found::Bad(what) => write!(f, "stored bytes are damaged: {what} at byte {at}"),
        }
    }
}

impl std::error::Error for Corrupt {}

impl From<Corrupt> for Error {
    fn from(corrupt: Corrupt) -> Error {
        Error::new(Code::StorageCorrupt, corrupt.to_string())
    }
}

/// A value that cannot be written as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EncodeError {
    /// The value is not one of the column's type: the caller has not converted it.
    Misfit {
        /// Which value for which type.
        what: String,
    },
    /// A number with more digits than a `DECIMAL` of the wanted scale can hold.
    TooManyDigits {
        /// Digits after the point.
        scale: u8,
    },
    /// One column was set twice in one row.
    SetTwice(ColumnId),
    /// One dynamic column was set twice in one row, or a timestamp has no column.
    Dynamic(String),
    /// More columns than one row can hold.
    TooManyColumns {
        /// How many were set.
        columns_count: usize,
        /// The most.
        columns_max: usize,
    },
    /// A row longer than one row can be.
    RowTooLong {
        /// How long it is.
        row_bytes: usize,
        /// The most.
        row_bytes_max: usize,
    },
}

impl EncodeError {
    #[cold]
    pub(super) fn misfit(value: &Value<'_>, ty: &ColumnType) -> EncodeError {
        EncodeError::Misfit {
            what: format!("{} for a column of type {ty:?}", kind(value)),
        }
    }
}

/// The kind of a value, for people. Never the value itself: it may be long, or private.
fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Int(_) => "a signed integer",
        Value::UInt(_) => "an unsigned integer",
        Value::Float(_) => "a float",
        Value::Double(_) => "a double",
        Value::Decimal(_) => "a decimal",
        Value::Text(_) => "a text",
        Value::Bytes(_) => "a binary string",
        Value::Date(_) => "a date",
        Value::Time(_) => "a time",
        Value::Datetime(_) => "a datetime",
        Value::Timestamp(_) => "a timestamp",
        Value::Year(_) => "a year",
        Value::Json(_) => "a json text",
        Value::Enum(_) => "a member of an enum",
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::Misfit { what } => write!(f, "{what}"),
            EncodeError::TooManyDigits { scale } => {
                write!(f, "DECIMAL value is out of range with {scale} decimals")
            }
            EncodeError::SetTwice(ColumnId(id)) => write!(f, "column {id} is set twice in a row"),
            EncodeError::Dynamic(name) => {
                write!(
                    f,
                    "dynamic column {name} is set twice, or timed but not set"
                )
            }
            EncodeError::TooManyColumns {
                columns_count,
                columns_max,
            } => {
                write!(
                    f,
                    "row has {columns_count} columns, the most is {columns_max}"
                )
            }
            EncodeError::RowTooLong {
                row_bytes,
                row_bytes_max,
            } => {
                write!(f, "row is {row_bytes} bytes, the most is {row_bytes_max}")
            }
        }
    }
}

impl std::error::Error for EncodeError {}

impl From<EncodeError> for Error {
    fn from(error: EncodeError) -> Error {
        let text = error.to_string();
        match error {
            EncodeError::Misfit { .. } | EncodeError::SetTwice(_) | EncodeError::Dynamic(_) => {
                Error::internal(text)
            }
            EncodeError::TooManyDigits { .. } => Error::new(Code::NumericOverflow, text),
            EncodeError::TooManyColumns { .. } => Error::new(Code::TooManyColumns, text),
            EncodeError::RowTooLong { .. } => Error::new(Code::RowTooBig, text),
        }
    }
}
