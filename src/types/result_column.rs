//! The description of one column of a result set, as a client sees it.

use super::ColumnType;

/// What a client is told about a column of a result before its rows.
#[derive(Debug, Clone)]
pub struct ResultColumn {
    /// The database of the table the column comes from; empty for an expression.
    pub database: String,
    /// The alias of the table.
    pub table: String,
    /// The table's own name.
    pub org_table: String,
    /// The name shown: alias or expression text.
    pub name: String,
    /// The column's own name.
    pub org_name: String,
    /// Its type.
    pub ty: ColumnType,
    /// Whether it can be `NULL`.
    pub nullable: bool,
    /// Whether it is a column of a table, or of rows that were put aside, and no expression.
    pub is_field: bool,
    /// What its table says of it.
    pub attributes: Attributes,
    /// The most characters a value takes when shown; 0 lets the type decide.
    pub display_chars: u32,
    /// The digits after the point of a `DOUBLE` where the expression fixes them; `None` lets each
    /// value show as many as it takes.
    pub decimals: Option<u8>,
}

/// What a table says of a column besides its type, in the bits of the protocol (MySQL 8.0 Source
/// Documentation, "Column Definition Flags").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes(u16);

impl Attributes {
    /// It is part of the primary key.
    pub const PRIMARY_KEY: Attributes = Attributes(0x0002);
    /// It is the only column of a unique index.
    pub const UNIQUE_KEY: Attributes = Attributes(0x0004);
    /// It is the first column of another index.
    pub const MULTIPLE_KEY: Attributes = Attributes(0x0008);
    /// It is `AUTO_INCREMENT`.
    pub const AUTO_INCREMENT: Attributes = Attributes(0x0200);
    /// A row cannot be written without a value of it.
    pub const NO_DEFAULT: Attributes = Attributes(0x1000);
    /// It is part of some key.
    pub const PART_KEY: Attributes = Attributes(0x4000);

    /// Those and another one, if it is so.
    #[must_use]
    pub fn with_if(self, other: Attributes, is_so: bool) -> Attributes {
        if is_so {
            Attributes(self.0 | other.0)
        } else {
            self
        }
    }

    /// Whether another one is among them.
    pub fn has(self, other: Attributes) -> bool {
        self.0 & other.0 == other.0
    }

    /// As the protocol sends them.
    pub fn bits(self) -> u16 {
        self.0
    }
}
