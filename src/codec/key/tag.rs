//! The first byte of every key part. `FORMAT.md` lists them with their status.
//!
//! Tags lie in `0x01..=0x6C`, so that neither they nor their inverses `0x93..=0xFE` are a first
//! byte that the storage contract forbids: `m`, `t`, `x`, `r` and `0xFF`.

use std::ops::RangeInclusive;

use super::Corrupt;
use crate::types::ColumnType;

/// `NULL`, before every value.
pub(super) const NULL: u8 = 0x01;

/// The tags of a family of numbers: the length of the payload is part of the tag, so that a
/// longer positive number lies above a shorter one, and a longer negative one below it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberTags {
    /// Zero, and the positive numbers of `tag - zero` payload bytes.
    pub(super) zero: u8,
    /// The most payload bytes.
    pub(super) payload_bytes_max: u8,
}

impl NumberTags {
    /// The tags, negative numbers included: those of n bytes have `zero - 1 - n`.
    pub(super) const fn range(self) -> RangeInclusive<u8> {
        self.zero - 1 - self.payload_bytes_max..=self.zero + self.payload_bytes_max
    }
}

/// Integers of every width, `BOOLEAN`, `YEAR`, and the index of an `ENUM` member.
pub(super) const INTEGER: NumberTags = NumberTags {
    zero: 0x18,
    payload_bytes_max: 8,
};

/// A number of a dynamic column: see `dynamic`. Only in sort keys.
pub(super) const NUMBER: u8 = 0x08;
/// Character strings.
pub(super) const TEXT: u8 = 0x28;
/// Binary strings.
pub(super) const BYTES: u8 = 0x29;
/// `JSON`, as its text; not to be compared, and only in what sorts hold.
pub(super) const JSON_TEXT: u8 = 0x2A;
/// `JSON`, in the order of documents: see `json`. Only in sort keys.
pub(super) const JSON: u8 = 0x2B;
/// `FLOAT`.
pub(super) const FLOAT: u8 = 0x30;
/// `DOUBLE`.
pub(super) const DOUBLE: u8 = 0x31;
/// `DATE`.
pub(super) const DATE: u8 = 0x32;
/// `TIME`.
pub(super) const TIME: u8 = 0x33;
/// `DATETIME`.
pub(super) const DATETIME: u8 = 0x34;
/// `TIMESTAMP`.
pub(super) const TIMESTAMP: u8 = 0x35;

/// `DECIMAL`: its digits as an integer; the scale is the column's.
pub(super) const DECIMAL: NumberTags = NumberTags {
    zero: 0x50,
    payload_bytes_max: 16,
};

/// Types whose parts have the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Only `NULL` is of this type.
    Nothing,
    /// Any of the others: values of a dynamic column.
    Any,
    Integer,
    Decimal,
    Float,
    Double,
    Text,
    Bytes,
    Json,
    Date,
    Time,
    Datetime,
    Timestamp,
}

impl Family {
    pub(super) fn of(ty: &ColumnType) -> Family {
        match ty {
            ColumnType::Null => Family::Nothing,
            ColumnType::Dynamic => Family::Any,
            ColumnType::Boolean
            | ColumnType::Int { .. }
            | ColumnType::Year
            | ColumnType::Enum(_) => Family::Integer,
            ColumnType::Decimal { .. } => Family::Decimal,
            ColumnType::Float => Family::Float,
            ColumnType::Double => Family::Double,
            ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_) => {
                Family::Text
            }
            ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_) => {
                Family::Bytes
            }
            ColumnType::Json => Family::Json,
            ColumnType::Date => Family::Date,
            ColumnType::Time { .. } => Family::Time,
            ColumnType::Datetime { .. } => Family::Datetime,
            ColumnType::Timestamp { .. } => Family::Timestamp,
        }
    }

    /// The tags of the family's values.
    const fn tags(self) -> RangeInclusive<u8> {
        match self {
            Family::Nothing => NULL..=NULL,
            Family::Any => NUMBER..=TIMESTAMP,
            Family::Integer => INTEGER.range(),
            Family::Decimal => DECIMAL.range(),
            Family::Float => FLOAT..=FLOAT,
            Family::Double => DOUBLE..=DOUBLE,
            Family::Text => TEXT..=TEXT,
            Family::Bytes => BYTES..=BYTES,
            Family::Json => JSON_TEXT..=JSON,
            Family::Date => DATE..=DATE,
            Family::Time => TIME..=TIME,
            Family::Datetime => DATETIME..=DATETIME,
            Family::Timestamp => TIMESTAMP..=TIMESTAMP,
        }
    }

    /// That `tag` begins a value of this family; `mask` is what it was stored with.
    pub(super) fn check(self, tag: u8, mask: u8) -> Result<(), Corrupt> {
        if self.tags().contains(&tag) {
            return Ok(());
        }
        Err(Corrupt::byte(0, tag ^ mask, self.tag_name()))
    }

    const fn tag_name(self) -> &'static str {
        match self {
            Family::Nothing => "the tag of NULL",
            Family::Any => "the tag of a dynamic value",
            Family::Integer => "the tag of an integer",
            Family::Decimal => "the tag of a DECIMAL",
            Family::Float => "the tag of a FLOAT",
            Family::Double => "the tag of a DOUBLE",
            Family::Text => "the tag of a text",
            Family::Bytes => "the tag of a binary string",
            Family::Json => "the tag of a JSON document",
            Family::Date => "the tag of a DATE",
            Family::Time => "the tag of a TIME",
            Family::Datetime => "the tag of a DATETIME",
            Family::Timestamp => "the tag of a TIMESTAMP",
        }
    }

    /// What is wrong when the payload has the right length and is no value of the type.
    pub(super) const fn bad_value(self) -> &'static str {
        match self {
            Family::Any => "no value of a dynamic column",
            Family::Nothing => "a value where only NULL can be",
            Family::Integer => "an integer out of the range of its type",
            Family::Decimal => "a decimal of too many digits",
            Family::Float => "a float in a form that is never written",
            Family::Double => "a double in a form that is never written",
            Family::Text => "a text that is not UTF-8",
            Family::Bytes => "a binary string that cannot be",
            Family::Json => "no JSON document",
            Family::Date => "a date that the calendar lacks",
            Family::Time => "a time out of range",
            Family::Datetime => "a datetime that the calendar lacks",
            Family::Timestamp => "a timestamp out of range",
        }
    }
}
