//! The versions of one row at work: what a write dated so changes, what a read of other versions
//! than the newest sees.
//!
//! ```text
//!  a cell      its versions by time, newest first, at most as many as the table keeps; one for each
//!              time: a second write of the same time takes the place of the first. NULL is a version
//!              like any other
//!  the row     the time of its newest write. It is there while that is behind its deletion
//!  deletion    takes away all that is dated up to its time, and hides later writes that are
//! ```
//!
//! The newest version of each cell is the value that the row has. Cells that were written before the
//! table kept versions are dated 0. The value of a column that was added since, and the default of a cell
//! that a deletion has emptied, are no versions: no write is told by them, and no deletion takes them
//! away. Not here: which time a write has (`exec::write::versions`), what a batch of rows is read as
//! (`exec::expand`), and the bytes (`codec::row`).

use std::cell::LazyCell;
use std::collections::BTreeMap;

use super::row as stored;
use super::write::row::implicit_default;
use crate::catalog::versions::{Reading, Versions};
use crate::catalog::{Column, ColumnDefault, ColumnPlace, Table};
use crate::codec::row::{
    CellName, ColumnId, Deletion, RowBuilder, VersionsBuilder, VersionsHead, VersionsView,
};
use crate::error::{Error, Result};
use crate::sql::computed;
use crate::types::Value;
use crate::types::coerce::{self, StoreMode};
use crate::types::temporal::DateRules;

/// One version of a cell.
#[derive(Debug, Clone)]
pub struct Version {
    /// When it was written, in milliseconds since 1970.
    pub ms: u64,
    /// What the cell held.
    pub value: Value<'static>,
}

/// Which cell of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellId {
    /// A declared column.
    Column(ColumnId),
    /// A dynamic column.
    Name(String),
}

/// The versions of one row.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// When it was written last.
    pub row_ms: u64,
    /// The deletion that it came behind.
    pub deletion: Option<Deletion>,
    /// The cells that have any; newest first, never empty.
    pub cells: BTreeMap<CellId, Vec<Version>>,
    /// What other cells hold that nobody has written: defaults.
    pub unwritten: BTreeMap<CellId, Value<'static>>,
    /// Versions that each cell may show.
    pub shown: usize,
}

impl Timeline {
    /// The versions of a row with these values, as far as they may be seen.
    ///
    /// # Errors
    /// 1712 for damaged bytes.
    pub fn of(table: &Table, values: &[Value<'static>]) -> Result<Timeline> {
        let mut timeline = Timeline::whole(table, values)?;
        for versions in timeline.cells.values_mut() {
            versions.truncate(timeline.shown);
        }
        Ok(timeline)
    }

    /// As [`Timeline::of`], with versions that are stored and not seen any more.
    ///
    /// # Errors
    /// 1712 for damaged bytes.
    pub fn whole(table: &Table, values: &[Value<'static>]) -> Result<Timeline> {
        let mut timeline = Timeline::default();
        let others = match table.others_idx().and_then(|idx| values.get(idx)) {
            Some(others) => stored::others(others)?,
            None => Vec::new(),
        };
        let place = table.versions_idx().and_then(|idx| values.get(idx));
        let section = place.and_then(Value::as_bytes);
        let names = LazyCell::new(|| table.stored_names());
        let head = match section {
            Some(bytes) => {
                let view = VersionsView::parse(bytes)?;
                for cell in view.cells() {
                    let cell = cell?;
                    let found = match cell.name {
                        CellName::Id(id) => newest_of((table, values), id),
                        CellName::Name(name) => {
                            named((table, values), &others, (name, names.idx(name)))
                        }
                    };
                    let Some((id, newest)) = found else {
                        continue;
                    };
                    let mut versions = vec![Version {
                        ms: cell.newest_ms,
                        value: newest,
                    }];
                    for older in cell.older() {
                        let (ms, value) = older?;
                        let value = value.into_owned();
                        versions.push(Version { ms, value });
                    }
                    timeline.cells.insert(id, versions);
                }
                view.head
            }
            None => VersionsHead::default(),
        };
        let versions = table.wide.versions.as_ref();
        timeline.shown = versions.map_or(1, |versions| versions.count_of(head.epoch));
        timeline.row_ms = head.row_ms;
        timeline.deletion = head.deletion;
        let is_dated = section.is_some();
        for (id, value) in values_of(table, values) {
            timeline.add_undated(id, value, is_dated);
        }
        for cell in others {
            timeline.add_undated(CellId::Name(cell.name.to_owned()), &cell.value, is_dated);
        }
        Ok(timeline)
    }

    /// A value of which no time is known: all of a row that was written before the table kept versions;
    /// in one that says the times of its cells (`is_dated`), what is none of them.
    fn add_undated(&mut self, id: CellId, value: &Value<'_>, is_dated: bool) {
        if value.is_null() || self.cells.contains_key(&id) {
            return;
        }
        let value = value.clone().into_owned();
        if is_dated {
            self.unwritten.insert(id, value);
        } else {
            self.cells.insert(id, vec![Version { ms: 0, value }]);
        }
    }

    /// Gives a cell a version; the one beyond `count` goes.
    pub fn put(&mut self, id: CellId, version: Version, count: usize) {
        self.unwritten.remove(&id);
        let versions = self.cells.entry(id).or_default();
        let at = versions.partition_point(|known| version.ms < known.ms);
        match versions.get_mut(at).filter(|known| known.ms == version.ms) {
            Some(known) => *known = version,
            None => versions.insert(at, version),
        }
        versions.truncate(count.max(1));
    }

    /// Takes away what was written up to a time; whether there was any.
    pub fn forget_until(&mut self, ms: u64) -> bool {
        let mut has_any = false;
        self.cells.retain(|_, versions| {
            has_any |= versions.iter().any(|version| version.ms <= ms);
            versions.retain(|version| ms < version.ms);
            !versions.is_empty()
        });
        has_any
    }

    /// Lets go of dynamic columns of which nothing is known but that they have been `NULL` since before
    /// a time: or a row would have every name that was ever written to it.
    pub fn forget_names(&mut self, before_ms: u64) {
        self.cells.retain(|id, versions| match id {
            CellId::Column(_) => true,
            CellId::Name(_) => versions
                .iter()
                .any(|version| before_ms <= version.ms || !version.value.is_null()),
        });
    }

    /// Puts the newest version of each cell into the values of the row, and all versions beside them.
    ///
    /// # Errors
    /// What cannot be stored.
    pub fn store(&self, table: &Table, values: &mut [Value<'static>]) -> Result<()> {
        let versions = table.wide.versions.as_ref();
        let count = versions.map_or(1, Versions::count);
        let epoch = versions.map_or(0, Versions::epoch);
        self.set_values((table, values), <[Version]>::first)?;
        let mut section = VersionsBuilder::new(VersionsHead {
            epoch,
            row_ms: self.row_ms,
            deletion: self.deletion,
        });
        for (id, versions) in &self.cells {
            let Some((newest, older)) = versions.split_first() else {
                continue;
            };
            let older = older.iter().take(count.saturating_sub(1));
            let older = older.map(|version| (version.ms, &version.value));
            section.cell(id.name(), newest.ms, older)?;
        }
        let section = Value::Bytes(section.finish()?.into());
        if let Some(slot) = table.versions_idx().and_then(|idx| values.get_mut(idx)) {
            *slot = section;
        }
        Ok(())
    }

    /// Gives each column the version that is chosen of its cell. Without any it has what nobody has
    /// written; or `NULL`; or, where that cannot be, the default; or what it has, if rows cannot have
    /// those in common.
    fn set_values(
        &self,
        (table, values): (&Table, &mut [Value<'static>]),
        chosen: impl Fn(&[Version]) -> Option<&Version>,
    ) -> Result<()> {
        let of = |id: &CellId| match self.cells.get(id) {
            Some(versions) => chosen(versions).map(|version| &version.value),
            None => self.unwritten.get(id),
        };
        let computed_from = computed::columns_in_unique_texts(table)?;
        for (idx, (column, slot)) in table.columns.iter().zip(values.iter_mut()).enumerate() {
            match column.place {
                ColumnPlace::Row if table.key_position(idx).is_none() => {
                    *slot = match of(&CellId::Column(column.id)) {
                        Some(value) => value.clone(),
                        None if computed_from.contains(&idx) => continue,
                        None if column.nullable => Value::Null,
                        None if is_each_its_own(table, idx) => continue,
                        None => none_of(column),
                    };
                }
                ColumnPlace::Named => match of(&CellId::Name(column.name.clone())) {
                    Some(value) => *slot = value.clone(),
                    None if computed_from.contains(&idx) => {}
                    None => *slot = Value::Null,
                },
                ColumnPlace::Others => *slot = self.others(table, &chosen)?,
                ColumnPlace::Row
                | ColumnPlace::Expiry
                | ColumnPlace::Versions
                | ColumnPlace::Stamp => {}
            }
        }
        Ok(())
    }

    fn others(
        &self,
        table: &Table,
        chosen: impl Fn(&[Version]) -> Option<&Version>,
    ) -> Result<Value<'static>> {
        let names = table.stored_names();
        let mut others = RowBuilder::new();
        let mut is_empty = true;
        let written = self.cells.iter();
        let written = written.filter_map(|(id, versions)| Some((id, &chosen(versions)?.value)));
        for (id, value) in written.chain(&self.unwritten) {
            if let CellId::Name(name) = id
                && names.idx(name).is_none()
                && !value.is_null()
            {
                others.dynamic(name, value)?;
                is_empty = false;
            }
        }
        if is_empty {
            return Ok(Value::Null);
        }
        Ok(Value::Bytes(others.finish()?.into()))
    }

    /// The rows that a SELECT reads.
    pub fn unfold(
        mut self,
        (table, reading): (&Table, Reading),
        values: &[Value<'static>],
    ) -> Unfolding {
        for column in &table.columns {
            let id = CellId::Column(column.id);
            let versions = self.cells.get_mut(&id);
            let versions = versions.filter(|_| column.place == ColumnPlace::Row);
            // The newest is as the row has it.
            for version in versions.into_iter().flatten().skip(1) {
                version.value = fitting(&version.value, column);
            }
        }
        let versions_max = usize::try_from(reading.versions).unwrap_or(usize::MAX);
        for versions in self.cells.values_mut() {
            versions.retain(|version| reading.takes(version.ms));
            versions.truncate(versions_max);
        }
        if !reading.takes(0) {
            self.unwritten.clear();
        }
        let longest = self.cells.values().map(Vec::len).max().unwrap_or(0);
        let cells = std::mem::take(&mut self.cells).into_iter();
        Unfolding {
            rows_left: longest.max(usize::from(reading.takes(self.row_ms))),
            cells: cells
                .map(|(id, versions)| (id, versions.into_iter()))
                .collect(),
            frame: without_cells(table, values),
            row: self,
        }
    }
}

/// The rows that one stored row is read as, one after the other: the k-th has the k-th version of each
/// cell.
#[derive(Debug)]
pub struct Unfolding {
    rows_left: usize,
    /// Cells that have versions left.
    cells: Vec<(CellId, std::vec::IntoIter<Version>)>,
    /// What all rows have.
    frame: Vec<Value<'static>>,
    /// The next of them, without its cells.
    row: Timeline,
}

impl Unfolding {
    /// The values of the next row; `None` behind the last.
    ///
    /// # Errors
    /// What cannot be stored.
    pub fn next_row(&mut self, table: &Table) -> Result<Option<Vec<Value<'static>>>> {
        let Some(rows_left) = self.rows_left.checked_sub(1) else {
            return Ok(None);
        };
        self.rows_left = rows_left;
        let cells = self.cells.iter_mut();
        let cells = cells.filter_map(|(id, left)| Some((id.clone(), vec![left.next()?])));
        self.row.cells = cells.collect();
        self.cells.retain(|(_, left)| 0 < left.len());
        let mut values = self.frame.clone();
        self.row.store(table, &mut values)?;
        self.row.unwritten.clear();
        Ok(Some(values))
    }

    /// Roughly the bytes that it holds.
    pub fn memory_bytes(&self) -> usize {
        let version = |version: &Version| size_of::<Version>() + version.value.memory_bytes();
        let cells = self.cells.iter();
        let cells = cells.map(|(id, left)| {
            let versions = left.as_slice().iter().map(version).sum::<usize>();
            size_of_val(id) + versions
        });
        let frame = self.frame.iter();
        let frame = frame.map(|value| size_of_val(value) + value.memory_bytes());
        cells.sum::<usize>() + frame.sum::<usize>()
    }
}

impl CellId {
    fn name(&self) -> CellName<'_> {
        match self {
            CellId::Column(id) => CellName::Id(*id),
            CellId::Name(name) => CellName::Name(name),
        }
    }

    /// The cell of a column, if it has one of its own outside the key.
    pub fn of(table: &Table, idx: usize) -> Option<CellId> {
        let column = table.columns.get(idx)?;
        match column.place {
            ColumnPlace::Row if table.key_position(idx).is_none() => {
                Some(CellId::Column(column.id))
            }
            ColumnPlace::Named => Some(CellId::Name(column.name.clone())),
            ColumnPlace::Row
            | ColumnPlace::Others
            | ColumnPlace::Expiry
            | ColumnPlace::Versions
            | ColumnPlace::Stamp => None,
        }
    }
}

/// The cells of columns, with the values that a row has there.
pub fn values_of<'v>(
    table: &Table,
    values: &'v [Value<'static>],
) -> impl Iterator<Item = (CellId, &'v Value<'static>)> {
    let cells = values.iter().enumerate();
    cells.filter_map(|(idx, value)| Some((CellId::of(table, idx)?, value)))
}

/// The cell of a stored column by the definition of now, and the value that the row has there; `None`
/// when it belongs to no column any more.
fn newest_of(
    (table, values): (&Table, &[Value<'static>]),
    id: ColumnId,
) -> Option<(CellId, Value<'static>)> {
    let has_had = |column: &Column| {
        column.place == ColumnPlace::Row
            && (column.id == id || column.past.former.iter().any(|past| past.id == id))
    };
    let idx = table.columns.iter().position(has_had)?;
    Some((CellId::of(table, idx)?, values.get(idx)?.clone()))
}

/// The same of a cell under a name, with the position of the column that it belongs to.
fn named(
    (table, values): (&Table, &[Value<'static>]),
    others: &[crate::codec::row::DynamicColumn<'_>],
    (name, idx): (&str, Option<usize>),
) -> Option<(CellId, Value<'static>)> {
    let id = CellId::Name(name.to_owned());
    if let Some(idx) = idx {
        let is_it = CellId::of(table, idx).as_ref() == Some(&id);
        return is_it.then_some((id, values.get(idx)?.clone()));
    }
    let at = others.binary_search_by(|cell| cell.name.cmp(name)).ok();
    let other = at.and_then(|at| others.get(at));
    let value = other.map_or(Value::Null, |cell| cell.value.clone().into_owned());
    Some((id, value))
}

/// The values of a row without those of its cells, which may be long: its key, its end.
fn without_cells(table: &Table, values: &[Value<'static>]) -> Vec<Value<'static>> {
    let columns = table.columns.iter().zip(values).enumerate();
    let kept = columns.map(|(idx, (column, value))| {
        let is_beside = matches!(column.place, ColumnPlace::Others | ColumnPlace::Versions);
        if is_beside || CellId::of(table, idx).is_some() {
            Value::Null
        } else {
            value.clone()
        }
    });
    kept.collect()
}

/// Whether each row has a value of its own in a column, so that a default of all would not do.
fn is_each_its_own(table: &Table, idx: usize) -> bool {
    let is_counted = |column: &Column| column.auto_increment || column.counted_from.is_some();
    let mut unique = table.indexes.iter().filter(|index| index.unique);
    table.columns.get(idx).is_some_and(is_counted)
        || unique.any(|index| {
            let mut parts = index.parts.iter().map(|part| part.column_idx);
            // What is computed may be so from any column.
            parts.any(|part_idx| part_idx == idx || table.columns.len() <= part_idx)
                || index.computed.filter.is_some()
        })
}

/// What a column has without any version that cannot be `NULL`: its default.
pub fn none_of(column: &Column) -> Value<'static> {
    match &column.default {
        ColumnDefault::Constant(value) => value.clone(),
        ColumnDefault::None | ColumnDefault::Now => implicit_default(&column.ty),
    }
}

/// A value as one of its column, which may have had another type when it was written; what does not
/// fit is adjusted as outside strict mode.
fn fitting(value: &Value<'static>, column: &Column) -> Value<'static> {
    let mode = StoreMode {
        is_strict: false,
        dates: DateRules::LENIENT,
        ..StoreMode::STRICT
    };
    let fitted = coerce::coerce(value.clone(), &column.ty, &mode);
    fitted.map_or(Value::Null, |fitted| fitted.value.into_owned())
}

/// The deletion that a record in the space of deletions tells of.
///
/// # Errors
/// 1712 for bytes that are none.
pub fn deletion_of(record: &[u8]) -> Result<Deletion> {
    let versions = crate::codec::row::RowView::parse(record)?.versions()?;
    let deletion = versions.and_then(|versions| versions.head.deletion);
    deletion.ok_or_else(|| Error::internal("a deletion that says no time"))
}

/// The record of a deletion.
///
/// # Errors
/// What cannot be stored.
pub fn record_of(deletion: Deletion) -> Result<Vec<u8>> {
    let head = VersionsHead {
        deletion: Some(deletion),
        ..VersionsHead::default()
    };
    let mut record = RowBuilder::new();
    record.expiry(deletion.until_ms);
    record.versions(&VersionsBuilder::new(head).finish()?);
    Ok(record.finish()?)
}
