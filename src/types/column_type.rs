//! The declared type of a column, and the inferred type of an expression.

use std::fmt;
use std::sync::Arc;

use super::literal::string_literal;

/// The type of a column or of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// The type of a bare `NULL`; never of a column.
    Null,
    /// That of a dynamic column (docs/wide.md): each row's value has a type of its own. Never of a
    /// declared column; a client sees texts.
    Dynamic,
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
    /// `VARCHAR` bounded by `max_value_bytes` alone.
    pub const VARCHAR: ColumnType = ColumnType::Varchar { chars_max: None };

    /// `BOOLEAN` and the integers; not `YEAR`.
    pub fn is_integer(&self) -> bool {
        matches!(self, ColumnType::Boolean | ColumnType::Int { .. })
    }

    /// `BOOLEAN` and the integers that are not `UNSIGNED`.
    #[inline]
    pub fn is_signed(&self) -> bool {
        matches!(
            self,
            ColumnType::Boolean
                | ColumnType::Int {
                    unsigned: false,
                    ..
                }
        )
    }

    /// Integers, `FLOAT`, `DOUBLE`, `DECIMAL` and `YEAR`: what compares as a number.
    pub fn is_numeric(&self) -> bool {
        self.is_integer()
            || matches!(
                self,
                ColumnType::Float
                    | ColumnType::Double
                    | ColumnType::Decimal { .. }
                    | ColumnType::Year
            )
    }

    /// `CHAR`, `VARCHAR` and the `TEXT` family; neither `ENUM` nor `JSON`.
    pub fn is_text(&self) -> bool {
        matches!(
            self,
            ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_)
        )
    }

    /// `BINARY`, `VARBINARY` and the `BLOB` family.
    pub fn is_binary(&self) -> bool {
        matches!(
            self,
            ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_)
        )
    }

    /// `DATE`, `TIME`, `DATETIME` and `TIMESTAMP`; not `YEAR`.
    pub fn is_temporal(&self) -> bool {
        matches!(
            self,
            ColumnType::Date
                | ColumnType::Time { .. }
                | ColumnType::Datetime { .. }
                | ColumnType::Timestamp { .. }
        )
    }

    /// Whether the type has no numbers below zero.
    pub fn is_unsigned(&self) -> bool {
        matches!(
            self,
            ColumnType::Int { unsigned: true, .. } | ColumnType::Year
        )
    }

    /// The smallest and the largest number of an integer type.
    pub fn int_range(&self) -> Option<(i128, i128)> {
        match self {
            ColumnType::Boolean => Some(IntWidth::Tiny.range(false)),
            ColumnType::Int { width, unsigned } => Some(width.range(*unsigned)),
            ColumnType::Null
            | ColumnType::Dynamic
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::Decimal { .. }
            | ColumnType::Char { .. }
            | ColumnType::Varchar { .. }
            | ColumnType::Text(_)
            | ColumnType::Binary { .. }
            | ColumnType::Varbinary { .. }
            | ColumnType::Blob(_)
            | ColumnType::Date
            | ColumnType::Time { .. }
            | ColumnType::Datetime { .. }
            | ColumnType::Timestamp { .. }
            | ColumnType::Year
            | ColumnType::Json
            | ColumnType::Enum(_) => None,
        }
    }

    /// Digits after the second; 0 for what has no seconds.
    pub fn fsp(&self) -> u8 {
        match self {
            ColumnType::Time { fsp }
            | ColumnType::Datetime { fsp }
            | ColumnType::Timestamp { fsp } => *fsp,
            ColumnType::Null
            | ColumnType::Dynamic
            | ColumnType::Boolean
            | ColumnType::Int { .. }
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::Decimal { .. }
            | ColumnType::Char { .. }
            | ColumnType::Varchar { .. }
            | ColumnType::Text(_)
            | ColumnType::Binary { .. }
            | ColumnType::Varbinary { .. }
            | ColumnType::Blob(_)
            | ColumnType::Date
            | ColumnType::Year
            | ColumnType::Json
            | ColumnType::Enum(_) => 0,
        }
    }

    /// Whether a column of this type can be part of a key or index: neither `JSON`
    /// nor what has another type in each row.
    pub fn can_be_in_key(&self) -> bool {
        !matches!(
            self,
            ColumnType::Json | ColumnType::Null | ColumnType::Dynamic
        )
    }
}

impl IntWidth {
    /// Bytes that MySQL stores such a number in.
    pub fn bytes(self) -> u8 {
        match self {
            IntWidth::Tiny => 1,
            IntWidth::Small => 2,
            IntWidth::Medium => 3,
            IntWidth::Int => 4,
            IntWidth::Big => 8,
        }
    }

    /// The smallest and the largest number.
    pub fn range(self, unsigned: bool) -> (i128, i128) {
        let bits = u32::from(self.bytes()) * 8;
        if unsigned {
            (0, (1 << bits) - 1)
        } else {
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        }
    }

    /// The SQL name.
    pub fn name(self) -> &'static str {
        match self {
            IntWidth::Tiny => "tinyint",
            IntWidth::Small => "smallint",
            IntWidth::Medium => "mediumint",
            IntWidth::Int => "int",
            IntWidth::Big => "bigint",
        }
    }
}

impl LobSize {
    /// The most bytes of a value, before `max_value_bytes` is asked.
    pub fn bytes_max(self) -> u64 {
        match self {
            LobSize::Tiny => 0xff,
            LobSize::Regular => 0xffff,
            LobSize::Medium => 0xff_ffff,
            LobSize::Long => 0xffff_ffff,
        }
    }

    /// What stands before `text` and `blob` in SQL.
    pub fn prefix(self) -> &'static str {
        match self {
            LobSize::Tiny => "tiny",
            LobSize::Regular => "",
            LobSize::Medium => "medium",
            LobSize::Long => "long",
        }
    }
}

/// In SQL, as `SHOW CREATE TABLE` prints it.
impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnType::Null => f.write_str("null"),
            ColumnType::Dynamic => f.write_str("dynamic"),
            ColumnType::Boolean => f.write_str("tinyint(1)"),
            ColumnType::Int { width, unsigned } => {
                write!(
                    f,
                    "{}{}",
                    width.name(),
                    if *unsigned { " unsigned" } else { "" }
                )
            }
            ColumnType::Float => f.write_str("float"),
            ColumnType::Double => f.write_str("double"),
            ColumnType::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            ColumnType::Char { chars_max } => write!(f, "char({chars_max})"),
            ColumnType::Varchar { chars_max } => sized(f, "varchar", *chars_max),
            ColumnType::Text(size) => write!(f, "{}text", size.prefix()),
            ColumnType::Binary { bytes } => write!(f, "binary({bytes})"),
            ColumnType::Varbinary { bytes_max } => sized(f, "varbinary", *bytes_max),
            ColumnType::Blob(size) => write!(f, "{}blob", size.prefix()),
            ColumnType::Date => f.write_str("date"),
            ColumnType::Time { fsp } => sized(f, "time", Some(*fsp).filter(|&fsp| fsp != 0)),
            ColumnType::Datetime { fsp } => {
                sized(f, "datetime", Some(*fsp).filter(|&fsp| fsp != 0))
            }
            ColumnType::Timestamp { fsp } => {
                sized(f, "timestamp", Some(*fsp).filter(|&fsp| fsp != 0))
            }
            ColumnType::Year => f.write_str("year"),
            ColumnType::Json => f.write_str("json"),
            ColumnType::Enum(labels) => {
                let quoted = labels.iter().map(|label| string_literal(label));
                write!(f, "enum({})", quoted.collect::<Vec<_>>().join(","))
            }
        }
    }
}

fn sized<T: fmt::Display>(f: &mut fmt::Formatter<'_>, name: &str, size: Option<T>) -> fmt::Result {
    match size {
        Some(size) => write!(f, "{name}({size})"),
        None => f.write_str(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_shown_as_sql() {
        let labels = ["a", "it's", r"\"].map(Box::from);
        let cases = [
            (ColumnType::Boolean, "tinyint(1)"),
            (ColumnType::BIGINT_UNSIGNED, "bigint unsigned"),
            (
                ColumnType::Decimal {
                    precision: 10,
                    scale: 2,
                },
                "decimal(10,2)",
            ),
            (ColumnType::VARCHAR, "varchar"),
            (
                ColumnType::Varchar {
                    chars_max: Some(20),
                },
                "varchar(20)",
            ),
            (ColumnType::Text(LobSize::Medium), "mediumtext"),
            (ColumnType::Blob(LobSize::Regular), "blob"),
            (ColumnType::Datetime { fsp: 3 }, "datetime(3)"),
            (ColumnType::Time { fsp: 0 }, "time"),
            (ColumnType::Enum(labels.into()), r"enum('a','it''s','\\')"),
        ];
        for (ty, expected) in cases {
            assert_eq!(ty.to_string(), expected);
        }
    }

    #[test]
    fn integer_ranges_follow_their_width() {
        assert_eq!(IntWidth::Medium.range(false), (-8_388_608, 8_388_607));
        assert_eq!(
            ColumnType::BIGINT_UNSIGNED.int_range(),
            Some((0, i128::from(u64::MAX)))
        );
        assert_eq!(ColumnType::Boolean.int_range(), Some((-128, 127)));
        assert_eq!(ColumnType::Double.int_range(), None);
    }
}
