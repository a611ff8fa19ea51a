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
    /// Whether it is part of the primary key.
    pub primary_key: bool,
    /// Whether it is `AUTO_INCREMENT`.
    pub auto_increment: bool,
    /// The most characters a value takes when shown; 0 lets the type decide.
    pub display_chars: u32,
    /// The digits after the point of a `DOUBLE` where the expression fixes them; `None` lets each
    /// value show as many as it takes.
    pub decimals: Option<u8>,
}
