//! The declared type of a column, and the inferred type of an expression.

use std::sync::Arc;

/// The type of a column (dialect §1) or of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// The type of a bare `NULL`; never of a column.
    Null,
    /// `BOOLEAN`, `BOOL`: a `TINYINT` whose display length is 1.
    Boolean,
    /// `TINYINT` to `BIGINT`.
    Int {
        /// How many bytes.
        width: IntWidth,
        /// Whether the range starts at zero.
        unsigned: bool,
    },
    /// `FLOAT`: 32 bits.
    Float,
    /// `DOUBLE`: 64 bits.
    Double,
    /// `DECIMAL(precision, scale)`.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point, at most `precision`, at most 30.
        scale: u8,
    },
    /// `CHAR(n)`: at most n characters, trailing spaces are kept as given.
    Char {
        /// The most characters.
        chars_max: u32,
    },
    /// `VARCHAR(n)`, or `VARCHAR` without length.
    Varchar {
        /// The most characters; `None` when only `max_value_bytes` bounds it.
        chars_max: Option<u32>,
    },
    /// `TINYTEXT` to `LONGTEXT`.
    Text(LobSize),
    /// `BINARY(n)`: padded with zero bytes to n.
    Binary {
        /// The exact number of bytes.
        bytes: u32,
    },
    /// `VARBINARY(n)`, or `VARBINARY` without length.
    Varbinary {
        /// The most bytes; `None` when only `max_value_bytes` bounds it.
        bytes_max: Option<u32>,
    },
    /// `TINYBLOB` to `LONGBLOB`.
    Blob(LobSize),
    /// `DATE`.
    Date,
    /// `TIME(fsp)`.
    Time {
        /// Digits after the second, 0 to 6.
        fsp: u8,
    },
    /// `DATETIME(fsp)`.
    Datetime {
        /// Digits after the second, 0 to 6.
        fsp: u8,
    },
    /// `TIMESTAMP(fsp)`: stored as UTC microseconds, shown in the session's zone.
    Timestamp {
        /// Digits after the second, 0 to 6.
        fsp: u8,
    },
    /// `YEAR`.
    Year,
    /// `JSON`.
    Json,
    /// `ENUM('a', 'b', …)`.
    Enum(Arc<[Box<str>]>),
}

/// The sizes of integer types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntWidth {
    /// `TINYINT`, 1 byte.
    Tiny,
    /// `SMALLINT`, 2 bytes.
    Small,
    /// `MEDIUMINT`, 3 bytes.
    Medium,
    /// `INT`, 4 bytes.
    Int,
    /// `BIGINT`, 8 bytes.
    Big,
}

/// The sizes of `TEXT` and `BLOB` types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LobSize {
    /// At most 255 bytes.
    Tiny,
    /// At most 65 535 bytes.
    Regular,
    /// At most 16 777 215 bytes.
    Medium,
    /// At most 4 294 967 295 bytes (and never more than `max_value_bytes`).
    Long,
}

impl ColumnType {
    /// `BIGINT`, the type of most integer expressions.
    pub const BIGINT: ColumnType = ColumnType::Int {
        width: IntWidth::Big,
        unsigned: false,
    };
    /// `BIGINT UNSIGNED`.
    pub const BIGINT_UNSIGNED: ColumnType = ColumnType::Int {
        width: IntWidth::Big,
        unsigned: true,
    };
}
