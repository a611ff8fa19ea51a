//! The wide row: the columns of one row that are not in its key, by id.
//!
//! ```text
//!  format  flags  counts      ids      NULL ids  ends       values   sections
//!  01      ..     n, nulls    n        nulls     n                   expiry, versions, dynamic
//! ```
//!
//! Ids are sorted, ends are offsets behind the values' start, so that one column is found by
//! binary search and its neighbours are never decoded. The small form has one byte per id and
//! count and two per end; the large form, told by a flag, has four per id and end and two per
//! count. Everything is little-endian. `FORMAT.md` is the system of record.
//!
//! An id that is neither present nor `NULL` is [`Cell::Absent`]: the row was written before the
//! column was added. Ids are given once, so that renaming a column, or dropping and adding one of
//! the same name, touches no row.
//!
//! - `build`: [`RowBuilder`] writes;
//! - `view`: [`RowView`] reads, in place;
//! - `sections`: what a row may carry besides its columns;
//! - `versions`: when its cells were written, and what they held before;
//! - `value`: the bytes of one value.

#![expect(
    clippy::little_endian_bytes,
    reason = "the row format is little-endian, as the machines that read it"
)]

mod build;
mod sections;
mod value;
mod versions;
mod view;

#[cfg(test)]
mod tests;

pub use build::RowBuilder;
pub use sections::DynamicColumn;
pub use value::decode_value;
pub use versions::{CellName, CellVersions, Deletion, VersionsBuilder, VersionsHead, VersionsView};
pub use view::{Cell, Columns, RowView, expiry_of};

pub use super::{Corrupt, EncodeError};

/// The stored name of a column: given once, never reused within its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(pub u32);

/// The first byte of every row: the version of the format.
const FORMAT: u8 = 0x01;

/// Flags of a row; a bit that has no name here is [`super::Corrupt`].
mod flag {
    /// Wide ids, counts and ends.
    pub(super) const LARGE: u8 = 0x01;
    /// A section says when the row expires.
    pub(super) const EXPIRY: u8 = 0x02;
    /// A section says when cells were written, and what they held before.
    pub(super) const VERSIONS: u8 = 0x04;
    /// A section has columns by name.
    pub(super) const DYNAMIC: u8 = 0x08;
    /// All of them.
    pub(super) const KNOWN: u8 = LARGE | EXPIRY | VERSIONS | DYNAMIC;
    /// Those that announce a section.
    pub(super) const SECTIONS: u8 = EXPIRY | VERSIONS | DYNAMIC;
}

/// The most columns of one kind (present, `NULL`, dynamic) in one row: the counts are 16 bits.
/// 4096 are declared at most (docs/limits.md).
const COLUMNS_MAX: usize = u16::MAX as usize;

/// The most bytes of one row (docs/limits.md).
pub const ROW_BYTES_MAX: usize = 64 * 1024 * 1024;
