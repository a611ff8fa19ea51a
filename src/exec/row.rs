//! A stored row as an input of evaluation: columns are decoded only when they are asked for.
//!
//! This file is hot: no allocation per row.

use std::collections::HashSet;

use crate::catalog::{Column, ColumnPlace, Index, KeyPart, Table};
use crate::codec::key::{self, Corrupt, Direction};
use crate::codec::row::{Cell, CellName, DynamicColumn, RowBuilder, RowView};
use crate::error::{Error, Result};
use crate::sql::expr::Row;
use crate::types::{ColumnType, Value};

/// Where each column of a table is stored, in a row or in an entry of an index. Made once per
/// statement.
#[derive(Debug, Clone)]
pub struct Layout {
    places: Vec<Place>,
    /// The parts of the key.
    parts: Vec<(ColumnType, Direction)>,
    /// Names of columns that [`Place::Others`] leaves out, in lower case; none where that is not.
    names: HashSet<String>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// In the key, behind so many parts.
    Key(usize),
    /// In the row, under the column's id.
    Row,
    /// In the row, under the column's name.
    Named,
    /// In the row: what no other column is.
    Others,
    /// In the row: when it ends.
    Expiry,
    /// In the row: its versions.
    Versions,
    /// In the row: when another column was written.
    Stamp(Stamped),
    /// Not in an entry of this index.
    Nowhere,
}

/// The column whose time of writing is asked for.
#[derive(Debug, Clone, Copy)]
enum Stamped {
    /// A column of the key: that of the row.
    Row,
    /// The column at this position.
    Column(usize),
}

impl Stamped {
    /// Of a column of a definition.
    fn of(table: &Table, column: &Column) -> Option<Stamped> {
        let base = table.stamped(&column.name)?;
        let idx = table.column_idx(base)?;
        Some(match table.key_position(idx) {
            Some(_) => Stamped::Row,
            None => Stamped::Column(idx),
        })
    }
}

impl Layout {
    /// The layout of a table.
    pub fn of(table: &Table) -> Layout {
        let place = |(idx, column): (usize, &Column)| match column.place {
            ColumnPlace::Row => table.key_position(idx).map_or(Place::Row, Place::Key),
            ColumnPlace::Named => Place::Named,
            ColumnPlace::Others => Place::Others,
            ColumnPlace::Expiry => Place::Expiry,
            ColumnPlace::Versions => Place::Versions,
            // The column that is asked for is named in the same definition.
            ColumnPlace::Stamp => Stamped::of(table, column).map_or(Place::Nowhere, Place::Stamp),
        };
        let has_others = table.others_idx().is_some();
        let named = table
            .columns
            .iter()
            .filter(|column| has_others && column.place != ColumnPlace::Stamp);
        Layout {
            names: named
                .map(|column| column.name.to_ascii_lowercase())
                .collect(),
            places: table.columns.iter().enumerate().map(place).collect(),
            parts: table
                .key
                .iter()
                .filter_map(|part| typed(part, table.columns.get(part.column_idx)))
                .collect(),
        }
    }

    /// The layout of the entries of an index (see [`mod@crate::index::entry`]).
    pub fn of_entry(table: &Table, index: &Index) -> Layout {
        let included = index.included(table);
        // Where there is a choice, the value: not every entry of a unique index has the rest of the
        // primary key in its key.
        let parts = if index.unique {
            index.parts.clone()
        } else {
            index.entry_parts(table)
        };
        let is_expiry = |idx: usize| {
            let column = table.columns.get(idx);
            column.is_some_and(|column| column.place == ColumnPlace::Expiry)
        };
        let place = |idx: usize| {
            let part = parts.iter().position(|part| part.column_idx == idx);
            match part {
                Some(part) => Place::Key(part),
                None if is_expiry(idx) => Place::Expiry,
                None if table.is_spread(idx) => Place::Nowhere,
                None if table.key_position(idx).is_some() || included.contains(&idx) => Place::Row,
                None => Place::Nowhere,
            }
        };
        let places = (0..table.columns.len()).map(place).collect();
        let typed = parts
            .iter()
            .filter_map(|part| typed(part, index.column(table, part.column_idx)));
        Layout {
            places,
            parts: typed.collect(),
            names: HashSet::new(),
        }
    }
}

/// A part of a key with the type of its column.
fn typed(part: &KeyPart, column: Option<&Column>) -> Option<(ColumnType, Direction)> {
    Some((column?.ty.clone(), part.direction))
}

/// One row as it is stored: under its primary key, or in an entry of an index.
#[derive(Debug, Clone, Copy)]
pub struct StoredRow<'a> {
    table: &'a Table,
    layout: &'a Layout,
    key: &'a [u8],
    row: RowView<'a>,
}

impl<'a> StoredRow<'a> {
    /// The row under `key` with the stored bytes `value`.
    ///
    /// # Errors
    /// 1712 when the bytes are not a row.
    #[inline]
    pub fn parse(
        table: &'a Table,
        layout: &'a Layout,
        key: &'a [u8],
        value: &'a [u8],
    ) -> Result<StoredRow<'a>> {
        let row = RowView::parse(value)?;
        Ok(StoredRow {
            table,
            layout,
            key,
            row,
        })
    }

    /// The value of a column, borrowed from the stored bytes.
    ///
    /// # Errors
    /// 1712 for damaged bytes.
    pub fn value(&self, column_idx: usize) -> Result<Value<'a>> {
        let (Some(column), Some(place)) = (
            self.table.columns.get(column_idx),
            self.layout.places.get(column_idx),
        ) else {
            return Err(Error::internal(format!(
                "column {column_idx} of {}",
                self.table.name
            )));
        };
        match place {
            Place::Key(part) => Ok(self.key_part(*part)?),
            Place::Row => match self.row.get(column.id, &column.ty)? {
                Cell::Value(value) => Ok(value),
                Cell::Null => Ok(Value::Null),
                Cell::Absent => Ok(column.past.value(&self.row, &column.ty)?),
            },
            Place::Named => Ok(self.row.dynamic(&column.name)?.unwrap_or(Value::Null)),
            Place::Others => self.others(),
            Place::Expiry => Ok(self.row.expiry_ms().map_or(Value::Null, Value::UInt)),
            Place::Versions => {
                let versions = self.row.versions_bytes()?;
                Ok(versions.map_or(Value::Null, |bytes| Value::Bytes(bytes.into())))
            }
            Place::Stamp(stamped) => self.stamp(*stamped),
            Place::Nowhere => Err(Error::internal(format!(
                "column {} is not in the index that was read",
                column.name
            ))),
        }
    }

    /// The value of a column that is a signed whole number. `None` for anything else, and
    /// for damaged bytes: [`StoredRow::value`] tells. Hot: runs once per row that is added up.
    #[inline]
    pub fn signed(&self, column_idx: usize) -> Option<i64> {
        let column = self.table.columns.get(column_idx)?;
        match self.layout.places.get(column_idx) {
            Some(Place::Row) if column.ty.is_signed() => self.row.signed(column.id),
            Some(Place::Key(part)) if column.ty.is_signed() => match self.key_part(*part) {
                Ok(Value::Int(number)) => Some(number),
                Ok(_) | Err(_) => None,
            },
            _ => None,
        }
    }

    /// When a column was written, 0 when that was before the table kept versions; `NULL` for a cell
    /// that the row does not have.
    fn stamp(&self, stamped: Stamped) -> Result<Value<'a>> {
        let versions = self.row.versions()?;
        let Stamped::Column(idx) = stamped else {
            return Ok(Value::UInt(versions.map_or(0, |found| found.head.row_ms)));
        };
        let Some(column) = self.table.columns.get(idx) else {
            return Err(Error::internal("a time of writing of no column"));
        };
        let name = match column.place {
            ColumnPlace::Named => CellName::Name(&column.name),
            ColumnPlace::Row
            | ColumnPlace::Others
            | ColumnPlace::Expiry
            | ColumnPlace::Versions
            | ColumnPlace::Stamp => CellName::Id(column.id),
        };
        let mut ms = match versions {
            Some(versions) => versions.newest_ms(name)?,
            None => None,
        };
        for former in column.past.former.iter().rev() {
            if let (None, Some(versions)) = (ms, versions) {
                ms = versions.newest_ms(CellName::Id(former.id))?;
            }
        }
        match ms {
            Some(ms) => Ok(Value::UInt(ms)),
            None if self.value(idx)?.is_null() => Ok(Value::Null),
            None => Ok(Value::UInt(0)),
        }
    }

    /// What is stored under names that no column of the definition has, as a row of nothing else.
    fn others(&self) -> Result<Value<'a>> {
        let mut others = RowBuilder::new();
        let mut is_empty = true;
        for cell in self.row.dynamic_columns()? {
            let DynamicColumn { name, value } = cell?;
            // A column that was declared since goes by its id; what had its name is gone.
            if self.layout.names.contains(name) {
                continue;
            }
            others.dynamic(name, &value)?;
            is_empty = false;
        }
        if is_empty {
            return Ok(Value::Null);
        }
        Ok(Value::Bytes(others.finish()?.into()))
    }

    fn key_part(&self, wanted: usize) -> std::result::Result<Value<'a>, Corrupt> {
        let mut rest = self.key;
        for (position, (ty, direction)) in self.layout.parts.iter().enumerate() {
            if position == wanted {
                return Ok(key::decode_part(rest, ty, *direction)?.0);
            }
            rest = key::skip_part(rest, ty, *direction)?;
        }
        Err(Corrupt::missing(self.key.len()))
    }

    /// Every column, owned: what a write works on.
    ///
    /// # Errors
    /// 1712 for damaged bytes.
    pub fn to_values(&self) -> Result<Vec<Value<'static>>> {
        let values = (0..self.table.columns.len()).map(|idx| Ok(self.value(idx)?.into_owned()));
        values.collect()
    }
}

/// The cells in the column for all other names: see [`ColumnPlace::Others`].
///
/// # Errors
/// 1712 for bytes that are none.
pub fn others<'v>(value: &'v Value<'_>) -> Result<Vec<DynamicColumn<'v>>> {
    let Some(bytes) = value.as_bytes() else {
        return Ok(Vec::new());
    };
    let cells = RowView::parse(bytes)?.dynamic_columns()?;
    Ok(cells.collect::<std::result::Result<_, Corrupt>>()?)
}

impl Row for StoredRow<'_> {
    fn column(&self, column_idx: usize) -> Result<Value<'_>> {
        self.value(column_idx)
    }

    fn signed(&self, column_idx: usize) -> Option<i64> {
        StoredRow::signed(self, column_idx)
    }

    fn key(&self) -> &[u8] {
        self.key
    }

    fn key_of(&self, columns: &[usize]) -> Option<&[u8]> {
        let is_first = |idx: &usize| match self.layout.places.get(*idx) {
            Some(Place::Key(part)) => *part < columns.len(),
            Some(
                Place::Row
                | Place::Named
                | Place::Others
                | Place::Expiry
                | Place::Versions
                | Place::Stamp(_)
                | Place::Nowhere,
            )
            | None => false,
        };
        if !columns.iter().all(is_first) {
            return None;
        }
        let mut rest = self.key;
        for (ty, direction) in self.layout.parts.iter().take(columns.len()) {
            rest = key::skip_part(rest, ty, *direction).ok()?;
        }
        self.key.get(..self.key.len().checked_sub(rest.len())?)
    }
}

/// A row of values in memory: a group, a row about to be written.
#[derive(Debug, Clone, Copy)]
pub struct ValuesRow<'a>(pub &'a [Value<'static>]);

impl Row for ValuesRow<'_> {
    fn column(&self, column_idx: usize) -> Result<Value<'_>> {
        let value = self.0.get(column_idx);
        let value = value.ok_or_else(|| Error::internal(format!("value {column_idx} of a row")))?;
        Ok(value.borrow())
    }
}

/// The existing row followed by the proposed one: `ON DUPLICATE KEY UPDATE`.
#[derive(Debug, Clone, Copy)]
pub struct PairRow<'a> {
    /// The row that is there.
    pub old: &'a [Value<'static>],
    /// The row that was to be inserted.
    pub new: &'a [Value<'static>],
}

impl Row for PairRow<'_> {
    fn column(&self, column_idx: usize) -> Result<Value<'_>> {
        let value = match column_idx.checked_sub(self.old.len()) {
            None => self.old.get(column_idx),
            Some(new_idx) => self.new.get(new_idx),
        };
        let value =
            value.ok_or_else(|| Error::internal(format!("value {column_idx} of a pair")))?;
        Ok(value.borrow())
    }
}
