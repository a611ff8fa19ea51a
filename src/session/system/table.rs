//! How a table of the system is declared: its columns, each with what makes its value, and what its
//! rows are about.

use std::borrow::Cow;
use std::fmt;

use super::Scene;
use crate::error::Result;
use crate::sql::listed::{Asked, Take};
use crate::types::column_type::{IntWidth, LobSize};
use crate::types::{ColumnType, Value};

/// A table of the system. `S` is what a row is about.
pub(super) struct Made<S: 'static> {
    /// Its database.
    pub(super) database: &'static str,
    /// Its name.
    pub(super) name: &'static str,
    /// Its columns.
    pub(super) columns: &'static [Column<S>],
    /// Finds what the rows are about; only what the conditions want, where that saves work.
    pub(super) each: fn(&Scene, &Wants<'_>, Give<'_, S>) -> Result<()>,
}

/// Takes what a row is about.
pub(super) type Give<'a, S> = &'a mut dyn FnMut(S) -> Result<()>;

/// A column of a table of the system.
pub(super) struct Column<S: 'static> {
    name: &'static str,
    ty: ColumnType,
    value: fn(&S) -> Value<'static>,
}

/// A column: its name, its type, and what makes its value.
pub(super) const fn column<S>(
    name: &'static str,
    ty: ColumnType,
    value: fn(&S) -> Value<'static>,
) -> Column<S> {
    Column { name, ty, value }
}

/// A table of the system that has no rows here, because there are no such things.
pub(super) struct Absent {
    /// Its database.
    pub(super) database: &'static str,
    /// Its name.
    pub(super) name: &'static str,
    /// Its columns.
    pub(super) columns: &'static [(&'static str, ColumnType)],
}

/// What all tables of the system can tell.
pub(super) trait SystemTable: Sync {
    /// Its database.
    fn database(&self) -> &'static str;
    /// Its name.
    fn name(&self) -> &'static str;
    /// The names and types of its columns.
    fn columns(&self) -> Vec<(&'static str, ColumnType)>;
    /// Makes its rows.
    ///
    /// # Errors
    /// Those of `take`, and of what the rows are made from.
    fn list(&self, scene: &Scene, asked: &Asked<'_>, take: Take<'_>) -> Result<()>;
}

/// The conditions on the rows of a table, by the names of columns.
pub(super) struct Wants<'a> {
    asked: &'a Asked<'a>,
    names: Vec<&'static str>,
}

impl Wants<'_> {
    /// Whether rows with this text in the column are wanted.
    pub(super) fn has(&self, column: &str, text: &str) -> bool {
        let position = self.names.iter().position(|name| *name == column);
        position.is_none_or(|idx| self.asked.wants(idx, text))
    }

    /// Whether the column is used.
    pub(super) fn uses(&self, column: &str) -> bool {
        let position = self.names.iter().position(|name| *name == column);
        position.is_some_and(|idx| self.asked.columns.contains(&idx))
    }
}

impl<S> SystemTable for Made<S> {
    fn database(&self) -> &'static str {
        self.database
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn columns(&self) -> Vec<(&'static str, ColumnType)> {
        let columns = self.columns.iter();
        columns
            .map(|column| (column.name, column.ty.clone()))
            .collect()
    }

    fn list(&self, scene: &Scene, asked: &Asked<'_>, take: Take<'_>) -> Result<()> {
        let wants = Wants {
            asked,
            names: self.columns.iter().map(|column| column.name).collect(),
        };
        (self.each)(scene, &wants, &mut |subject| {
            let values = asked.columns.iter().map(|idx| {
                let column = self.columns.get(*idx);
                column.map_or(Value::Null, |column| (column.value)(&subject))
            });
            take(values.collect())
        })
    }
}

impl SystemTable for Absent {
    fn database(&self) -> &'static str {
        self.database
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn columns(&self) -> Vec<(&'static str, ColumnType)> {
        self.columns.to_vec()
    }

    fn list(&self, _scene: &Scene, _asked: &Asked<'_>, _take: Take<'_>) -> Result<()> {
        Ok(())
    }
}

impl fmt::Debug for dyn SystemTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database(), self.name())
    }
}

/// `VARCHAR(chars_max)`.
pub(super) const fn varchar(chars_max: u32) -> ColumnType {
    ColumnType::Varchar {
        chars_max: Some(chars_max),
    }
}

/// The type of most names.
pub(super) const NAME: ColumnType = varchar(64);
/// `YES` and `NO`.
pub(super) const YES_NO: ColumnType = varchar(3);
/// `INT`.
pub(super) const INT: ColumnType = int(IntWidth::Int, false);
/// `INT UNSIGNED`.
pub(super) const UINT: ColumnType = int(IntWidth::Int, true);
/// `BIGINT`.
pub(super) const BIGINT: ColumnType = int(IntWidth::Big, false);
/// `BIGINT UNSIGNED`.
pub(super) const UBIGINT: ColumnType = int(IntWidth::Big, true);
/// `TEXT`.
pub(super) const TEXT: ColumnType = ColumnType::Text(LobSize::Regular);
/// `MEDIUMTEXT`.
pub(super) const MEDIUMTEXT: ColumnType = ColumnType::Text(LobSize::Medium);
/// `LONGTEXT`.
pub(super) const LONGTEXT: ColumnType = ColumnType::Text(LobSize::Long);
/// `TIMESTAMP`.
pub(super) const TIMESTAMP: ColumnType = ColumnType::Timestamp { fsp: 0 };
/// `DATETIME`.
pub(super) const DATETIME: ColumnType = ColumnType::Datetime { fsp: 0 };
/// What is always `NULL`.
pub(super) const NOTHING: ColumnType = ColumnType::Binary { bytes: 0 };

const fn int(width: IntWidth, unsigned: bool) -> ColumnType {
    ColumnType::Int { width, unsigned }
}

/// A text.
pub(super) fn text(text: impl Into<String>) -> Value<'static> {
    Value::Text(Cow::Owned(text.into()))
}

/// A text, or `NULL`.
pub(super) fn maybe(found: Option<impl Into<String>>) -> Value<'static> {
    found.map_or(Value::Null, text)
}

/// A count.
pub(super) fn count(count: usize) -> Value<'static> {
    Value::UInt(u64::try_from(count).unwrap_or(u64::MAX))
}

/// `YES` or `NO`.
pub(super) fn yes_no(is_so: bool) -> Value<'static> {
    Value::text(if is_so { "YES" } else { "NO" })
}
