//! What a table is: its columns, its key and its options. Immutable once published.

use std::sync::Arc;

use super::computed::Computed;
use super::past::Past;
use super::pledge::Pledge;
use super::spread::Spread;
use super::wide::{ColumnPlace, Wide};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::types::{ColumnType, Value};

/// The identity of a table; never reused, also the number of its storage space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

/// The table option that says how values are compressed.
pub const COMPRESSION: &str = "COMPRESSION";

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
    /// How many columns it has ever had: ids up to this one have been given.
    pub columns_made: u32,
    /// The primary key, from 1 to `KEY_COLUMNS_MAX` parts.
    pub key: Vec<KeyPart>,
    /// The secondary indexes, in the order they were made; at most [`INDEXES_MAX`].
    pub indexes: Vec<Index>,
    /// Table options as given (`WITH (…)`, `COMMENT`), in declared order.
    pub options: Vec<(String, String)>,
    /// `COMMENT`.
    pub comment: String,
    /// The columns that nobody declared.
    pub wide: Wide,
    /// The table as it is to be when its primary key has changed: with the same columns, and a key,
    /// storage and indexes of its own. While it is there, every write is done to both.
    pub shadow: Option<Arc<Table>>,
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
    /// The first of the ids that are counted one by one; `None` when they are spread, or when the
    /// server makes none.
    pub counted_from: Option<u64>,
    /// Whether `SELECT *` leaves it out: true for `_rowid`, and for columns that are not declared.
    pub hidden: bool,
    /// What it is computed from: the first part of a spread key; `None` for all others.
    pub spread: Option<Box<Spread>>,
    /// Where its values are stored.
    pub place: ColumnPlace,
    /// `COMMENT`.
    pub comment: String,
    /// What rows have that were written before the column was as it is.
    pub past: Past,
    /// What an ALTER TABLE that looks at the rows asks of new ones, if it is still at work
    /// ([`Column::pledged`]). Never stored.
    pub pledge: Option<Pledge>,
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

/// One part of a primary key or an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    /// Position in [`Table::columns`]; in an index, behind them, one of its computed parts.
    pub column_idx: usize,
    /// Its direction.
    pub direction: Direction,
}

/// Secondary indexes of one table, as in MySQL.
pub const INDEXES_MAX: usize = 64;

/// The identity of an index; never reused, also the number of its storage space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexId(pub u32);

/// A secondary index: a table of its own, ordered by its columns and then the primary key.
#[derive(Debug, Clone)]
pub struct Index {
    /// The index's identity.
    pub id: IndexId,
    /// Its name, unique within the table; compared without case.
    pub name: String,
    /// Whether two rows may not have the same values; rows with a `NULL` among them may.
    pub unique: bool,
    /// The indexed columns, from 1 to `KEY_COLUMNS_MAX`.
    pub parts: Vec<KeyPart>,
    /// Those of them that are no columns of the table, and the condition of a partial index.
    pub computed: Computed,
    /// What an entry carries besides.
    pub include: Include,
    /// Whether it can be read.
    pub state: IndexState,
    /// `COMMENT`.
    pub comment: String,
}

/// The columns that an index entry carries besides the indexed ones and the primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Include {
    /// None.
    None,
    /// These: positions in [`Table::columns`].
    Columns(Vec<usize>),
    /// All that are declared, those that will be added later included.
    All,
}

/// What an index is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// Written, and being filled with the rows that were there before it; not read.
    Building,
    /// Written and read.
    Active,
    /// Written and not read.
    Inactive,
    /// Neither; to be used again it must be built again.
    Disabled,
}

impl IndexState {
    /// Whether writes of rows maintain it.
    pub fn is_written(self) -> bool {
        match self {
            IndexState::Building | IndexState::Active | IndexState::Inactive => true,
            IndexState::Disabled => false,
        }
    }

    /// Whether queries may read it.
    pub fn is_read(self) -> bool {
        self == IndexState::Active
    }

    /// The word for it, in SQL and where it is stored.
    pub fn name(self) -> &'static str {
        match self {
            IndexState::Building => "BUILDING",
            IndexState::Active => "ACTIVE",
            IndexState::Inactive => "INACTIVE",
            IndexState::Disabled => "DISABLED",
        }
    }

    /// The state of that name.
    pub fn of_name(name: &str) -> Option<IndexState> {
        let states = [
            IndexState::Building,
            IndexState::Active,
            IndexState::Inactive,
            IndexState::Disabled,
        ];
        states.into_iter().find(|state| state.name() == name)
    }
}

impl Index {
    /// The parts that order the entries: the indexed columns, and behind them those of the primary
    /// key that are not among them; its spread part, which follows from them, is left out. In a unique index the latter are part of an entry's key only
    /// when an indexed value is `NULL`; else they are in its value.
    pub fn entry_parts(&self, table: &Table) -> Vec<KeyPart> {
        let missing = table
            .declared_key()
            .iter()
            .filter(|part| !self.has_part(part.column_idx));
        self.parts.iter().chain(missing).copied().collect()
    }

    /// Whether the column is one of the indexed ones.
    pub fn has_part(&self, column_idx: usize) -> bool {
        self.parts.iter().any(|part| part.column_idx == column_idx)
    }

    /// The columns that an entry carries besides its parts, as positions in [`Table::columns`],
    /// ascending: neither indexed nor of the primary key.
    pub fn included(&self, table: &Table) -> Vec<usize> {
        let is_extra = |idx: &usize| !self.has_part(*idx) && table.key_position(*idx).is_none();
        let is_own = |idx: &usize| {
            let column = table.columns.get(*idx);
            column.is_some_and(|column| column.place == ColumnPlace::Row)
        };
        let is_wanted = |idx: &usize| match &self.include {
            Include::None => false,
            Include::Columns(columns) => columns.contains(idx),
            Include::All => is_own(idx),
        };
        (0..table.columns.len())
            .filter(|idx| is_wanted(idx) && is_extra(idx))
            .collect()
    }

    /// Whether an entry has every one of these columns, so that the row need not be read.
    pub fn covers(&self, table: &Table, mut columns: impl Iterator<Item = usize>) -> bool {
        let included = self.included(table);
        columns.all(|idx| {
            let of_key = table.key_position(idx).is_some() && !table.is_spread(idx);
            self.has_part(idx) || of_key || included.contains(&idx)
        })
    }
}

impl Column {
    /// Whether it is the key of a table that was declared without one.
    pub fn is_row_id(&self) -> bool {
        self.hidden && self.place == ColumnPlace::Row && self.spread.is_none()
    }

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
            counted_from: None,
            hidden: false,
            spread: None,
            place: ColumnPlace::Row,
            comment: String::new(),
            past: Past::default(),
            pledge: None,
        }
    }
}

impl Column {
    /// Whether a row must hold the value: not if it is what rows without any have, to the last bit.
    pub fn is_stored(&self, value: &Value<'_>) -> bool {
        if self.past.absent.is_null() {
            return !value.is_null();
        }
        !value.is_same(&self.past.absent)
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

    /// The position in [`Table::indexes`] of the index of that name, compared without case.
    pub fn index_position(&self, name: &str) -> Option<usize> {
        self.indexes
            .iter()
            .position(|index| index.name.eq_ignore_ascii_case(name))
    }

    /// The column whose ids are counted one by one, and the first of them.
    pub fn counted(&self) -> Option<(usize, u64)> {
        let mut columns = self.columns.iter().enumerate();
        columns.find_map(|(column_idx, column)| Some((column_idx, column.counted_from?)))
    }

    /// Counts ids from there on, if they are counted.
    pub fn count_from(&mut self, first: u64) {
        for column in &mut self.columns {
            if column.counted_from.is_some() {
                column.counted_from = Some(first);
            }
        }
    }

    /// Whether its values are kept compressed by zstd.
    pub fn is_compressed(&self) -> bool {
        let is_zstd = |value: &str| value.eq_ignore_ascii_case("zstd");
        let mut options = self.options.iter();
        options.any(|(name, value)| name == COMPRESSION && is_zstd(value))
    }

    /// Whether the table was declared without primary key.
    pub fn has_hidden_key(&self) -> bool {
        self.columns.iter().any(Column::is_row_id)
    }
}
