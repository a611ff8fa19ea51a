//! Tables that keep versions of their cells (`WITH (VERSIONS='n')`): how many each row may show, and
//! definitions that read other versions than the newest.
//!
//! The bound may be raised and lowered, and no row is rewritten for it. What was beyond the bound once
//! is never seen again: a row says in which *epoch* it was written, and shows no more versions than
//! the least bound since. A new epoch begins when the bound is raised; lowering it lowers those of all
//! epochs.
//!
//! Not here: the bytes (`codec::row`), what a write does to versions (`exec::timeline`).

use std::sync::Arc;

use super::schema::{Column, Table};
use super::wide::{self, ColumnPlace};
use crate::codec::row::ColumnId;
use crate::error::Result;
use crate::types::ColumnType;

/// Versions of one cell: a write rewrites all of its row, so that more of them are better kept as rows.
pub const VERSIONS_MAX: u32 = 1000;

/// The table option.
pub const VERSIONS: &str = "VERSIONS";

/// What the name of a column ends in that gives the time at which another was written.
pub const STAMP_SUFFIX: &str = "_l_ts";

/// The name of the column of all versions; no identifier can be this.
const COLUMN: &str = "\0versions";

/// How many versions the rows of a table keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Epochs and the bound of rows written since, both rising. The last are those of now.
    bounds: Vec<(u32, u32)>,
    /// Epochs up to this one have begun.
    epochs_made: u32,
    /// The space of the table's deletions; 0 while it has none.
    pub deletions: u32,
}

/// Which versions a SELECT reads instead of the newest of each cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// How many of each cell, at least one.
    pub versions: u32,
    /// Written at this time or later, in milliseconds since 1970.
    pub min_ms: u64,
    /// Written before this time; `None` without bound.
    pub until_ms: Option<u64>,
}

impl Versions {
    /// Of a table whose rows keep so many.
    pub fn of(count: u32) -> Versions {
        Versions {
            bounds: vec![(0, count)],
            epochs_made: 0,
            deletions: 0,
        }
    }

    /// As it is stored: bounds, epochs, space.
    ///
    /// `None` when it says nothing.
    pub fn restored(
        bounds: Vec<(u32, u32)>,
        (epochs_made, deletions): (u32, u32),
    ) -> Option<Versions> {
        let rises = bounds.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1);
        (rises && !bounds.is_empty()).then_some(Versions {
            bounds,
            epochs_made,
            deletions,
        })
    }

    /// Epochs and bounds, and how many epochs have begun: what is stored.
    pub fn stored(&self) -> (&[(u32, u32)], u32) {
        (&self.bounds, self.epochs_made)
    }

    /// How many versions are kept now.
    pub fn count(&self) -> usize {
        let last = self.bounds.last();
        last.map_or(1, |(_, count)| {
            usize::try_from(*count).unwrap_or(usize::MAX)
        })
    }

    /// The epoch of what is written now.
    pub fn epoch(&self) -> u32 {
        self.bounds.last().map_or(0, |(epoch, _)| *epoch)
    }

    /// How many versions a row shows that was written in an epoch.
    pub fn count_of(&self, epoch: u32) -> usize {
        let at = self.bounds.partition_point(|(began, _)| *began <= epoch);
        let bound = self.bounds.get(at.saturating_sub(1));
        bound.map_or(1, |(_, count)| {
            usize::try_from(*count).unwrap_or(usize::MAX)
        })
    }

    /// Changes the number that is kept.
    pub fn set(&mut self, count: u32) {
        let lower = self.bounds.partition_point(|(_, bound)| *bound < count);
        if let Some((epoch, _)) = self.bounds.get(lower) {
            let bound = (*epoch, count);
            self.bounds.truncate(lower);
            self.bounds.push(bound);
        } else {
            self.epochs_made = self.epochs_made.saturating_add(1);
            self.bounds.push((self.epochs_made, count));
        }
    }
}

impl Reading {
    /// Whether one row may be read as several.
    pub fn multiplies(&self) -> bool {
        1 < self.versions
    }

    /// Whether what was written then is read.
    pub fn takes(&self, ms: u64) -> bool {
        self.min_ms <= ms && self.until_ms.is_none_or(|until_ms| ms < until_ms)
    }
}

impl Table {
    /// Says how many versions are kept. The first time the definition gets the column for them.
    ///
    /// # Errors
    /// An internal error when all ids of columns are used.
    pub fn set_versions(&mut self, count: u32) -> Result<()> {
        if let Some(versions) = &mut self.wide.versions {
            versions.set(count);
            return Ok(());
        }
        self.wide.versions = Some(Versions::of(count));
        let id = self.next_column_id()?;
        self.add_columns([Column {
            place: ColumnPlace::Versions,
            hidden: true,
            ..Column::new(id, COLUMN, ColumnType::Varbinary { bytes_max: None })
        }]);
        Ok(())
    }

    /// The position of the column of all versions.
    pub fn versions_idx(&self) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|column| column.place == ColumnPlace::Versions)
    }

    /// Whether a SELECT by this definition leaves rows out that it reads: those without any version of
    /// the times that it asks for.
    pub fn leaves_rows_out(&self) -> bool {
        let reading = self.wide.reading;
        reading.is_some_and(|reading| reading.min_ms != 0 || reading.until_ms.is_some())
    }

    /// The space of the table's deletions, if it has one.
    pub fn deletions_space(&self) -> Option<u32> {
        let deletions = self.wide.versions.as_ref()?.deletions;
        (deletions != 0).then_some(deletions)
    }

    /// The column whose time of writing a name without declaration asks for.
    pub fn stamped<'n>(&self, name: &'n str) -> Option<&'n str> {
        self.wide.versions.as_ref()?;
        let base = base_of(name)?;
        let is_declared = |column: &Column| {
            column.place == ColumnPlace::Row
                && !column.hidden
                && column.name.eq_ignore_ascii_case(base)
        };
        if self.columns.iter().any(is_declared) {
            return Some(base);
        }
        let is_named = base_of(base).is_none() && self.takes_names();
        (is_named && self.named_type(base).is_some()).then_some(base)
    }

    /// A column for the time at which another was written.
    pub(super) fn stamp_column(&self, name: &str) -> Option<Column> {
        self.stamped(name)?;
        Some(Column {
            place: ColumnPlace::Stamp,
            hidden: true,
            ..Column::new(
                ColumnId(0),
                &name.to_ascii_lowercase(),
                ColumnType::BIGINT_UNSIGNED,
            )
        })
    }
}

/// The name before the suffix.
fn base_of(name: &str) -> Option<&str> {
    let at = name.len().checked_sub(STAMP_SUFFIX.len())?;
    let (base, suffix) = name.split_at_checked(at)?;
    (!base.is_empty() && suffix.eq_ignore_ascii_case(STAMP_SUFFIX)).then_some(base)
}

/// The definition of a table for a SELECT that reads other versions than the newest: indexes know
/// nothing of those, and a cell may have none.
pub fn reading(table: &Arc<Table>, reading: Reading) -> Arc<Table> {
    let mut read = Table::clone(table);
    read.wide.origin = Some(Arc::clone(wide::origin(table)));
    read.wide.reading = Some(reading);
    read.indexes.clear();
    for idx in 0..read.columns.len() {
        let is_key = read.key_position(idx).is_some();
        if let Some(column) = read.columns.get_mut(idx).filter(|_| !is_key) {
            column.nullable = true;
        }
    }
    Arc::new(read)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A row shows the least bound since it was written, and no more.
        #[test]
        fn what_was_beyond_a_bound_is_never_seen_again(
            first in 1u32..6,
            changes in prop::collection::vec(1u32..6, 0..12),
        ) {
            let mut versions = Versions::of(first);
            let mut written = vec![(versions.epoch(), first)];
            for count in changes {
                versions.set(count);
                for (_, least) in &mut written {
                    *least = (*least).min(count);
                }
                written.push((versions.epoch(), count));
                prop_assert_eq!(versions.count(), count as usize);
                for (epoch, least) in &written {
                    prop_assert_eq!(versions.count_of(*epoch), *least as usize);
                }
                let (bounds, made) = versions.stored();
                let restored = Versions::restored(bounds.to_vec(), (made, 0));
                prop_assert_eq!(restored, Some(versions.clone()));
            }
        }
    }

    #[test]
    fn the_suffix_of_times() {
        assert_eq!(base_of("a_l_ts"), Some("a"));
        assert_eq!(base_of("A_L_TS"), Some("A"));
        assert_eq!(base_of("_l_ts"), None);
        assert_eq!(base_of("ä_l_t"), None);
    }
}
