//! What a table is: its columns, its key and its options. Immutable once published.

use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::types::{ColumnType, Value};

/// The identity of a table; never reused, also the number of its storage space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

/// The definition of one table.
#[derive(Debug, Clone)]
pub struct Table {
    /// The table's identity.
    pub id: TableId,
    /// The database it lives in.
    pub database: String,
    /// Its name.
    pub name: String,
    /// The columns in declared order; a hidden `_rowid` comes last.
    pub columns: Vec<Column>,
    /// The primary key, from 1 to `KEY_COLUMNS_MAX` parts.
    pub key: Vec<KeyPart>,
    /// Table options as given (`WITH (…)`, `COMMENT`), in declared order.
    pub options: Vec<(String, String)>,
    /// `COMMENT`.
    pub comment: String,
}

/// One column of a [`Table`].
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one attribute of the declaration"
)]
pub struct Column {
    /// The stored name.
    pub id: ColumnId,
    /// The name in SQL; compared without case.
    pub name: String,
    /// The declared type.
    pub ty: ColumnType,
    /// Whether `NULL` may be stored; key columns never.
    pub nullable: bool,
    /// What a row gets that does not name the column.
    pub default: ColumnDefault,
    /// Whether `ON UPDATE CURRENT_TIMESTAMP` was given.
    pub on_update_now: bool,
    /// Whether the server makes a value when none is given.
    pub auto_increment: bool,
    /// Whether `SELECT *` leaves it out: true for `_rowid`.
    pub hidden: bool,
    /// `COMMENT`.
    pub comment: String,
}

/// The default of a column.
#[derive(Debug, Clone)]
pub enum ColumnDefault {
    /// No default: a nullable column gets `NULL`, another one is error 1364.
    None,
    /// A constant, already of the column's type.
    Constant(Value<'static>),
    /// `CURRENT_TIMESTAMP`.
    Now,
}

/// One column of a primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    /// Position in [`Table::columns`].
    pub column_idx: usize,
    /// Its direction.
    pub direction: Direction,
}

impl Column {
    /// A nullable column without anything else.
    pub fn new(id: ColumnId, name: &str, ty: ColumnType) -> Column {
        Column {
            id,
            name: name.to_owned(),
            ty,
            nullable: true,
            default: ColumnDefault::None,
            on_update_now: false,
            auto_increment: false,
            hidden: false,
            comment: String::new(),
        }
    }
}

impl Table {
    /// The position of the column of that name, compared without case.
    pub fn column_idx(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// The position within the key of the column at `column_idx`, if it is a key column.
    pub fn key_position(&self, column_idx: usize) -> Option<usize> {
        self.key
            .iter()
            .position(|part| part.column_idx == column_idx)
    }

    /// Whether the table was declared without primary key.
    pub fn has_hidden_key(&self) -> bool {
        self.columns.iter().any(|column| column.hidden)
    }
}
