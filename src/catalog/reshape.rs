//! Another list of columns for a table: added, dropped, moved. Columns are known by position
//! everywhere in a definition, so all positions follow.

use super::computed::{ComputedPart, Memo, PartSource};
use super::schema::{Column, Include, Index, Table};
use crate::error::{Error, Result};

/// A column of the new list, and its position in the old one.
pub(crate) type Placed = (Option<usize>, Column);

impl Table {
    /// Gives the table other columns. A column that is in the key, or in a part of an index, must be
    /// among them; an index carries on without included columns that go.
    ///
    /// # Errors
    /// An internal error when a key has lost a column.
    pub fn reshape(&mut self, placed: Vec<Placed>) -> Result<()> {
        let old_count = self.columns.len();
        let new_count = placed.len();
        let mut now_at = vec![None; old_count];
        for (new_idx, (origin, _)) in placed.iter().enumerate() {
            if let Some(place) = origin.and_then(|origin| now_at.get_mut(origin)) {
                *place = Some(new_idx);
            }
        }
        let moved = |idx: usize| match idx.checked_sub(old_count) {
            Some(computed) => Some(new_count + computed),
            None => now_at.get(idx).copied().flatten(),
        };
        let lost = || Error::internal("a key has lost a column");
        for part in &mut self.key {
            part.column_idx = moved(part.column_idx).ok_or_else(lost)?;
        }
        self.columns = placed.into_iter().map(|(_, column)| column).collect();
        let spreads = self.columns.iter_mut();
        for spread in spreads.filter_map(|column| column.spread.as_deref_mut()) {
            for input in &mut spread.inputs {
                *input = moved(*input).ok_or_else(lost)?;
            }
        }
        for index in &mut self.indexes {
            move_index(index, &moved, &self.columns).ok_or_else(lost)?;
        }
        Ok(())
    }

    /// The id for a column that is made now.
    ///
    /// # Errors
    /// An internal error when there are no more.
    pub fn next_column_id(&mut self) -> Result<crate::codec::row::ColumnId> {
        let next = self.columns_made.checked_add(1);
        self.columns_made = next.ok_or_else(|| Error::internal("all column ids are used"))?;
        Ok(crate::codec::row::ColumnId(self.columns_made))
    }

    /// Forgets what rows had before: the table has none.
    pub fn forget_past(&mut self) {
        self.shadow = None;
        for column in &mut self.columns {
            column.past = super::Past::default();
            column.pledge = None;
        }
    }
}

/// Puts the positions of one index right; `None` when a part has no column any more.
fn move_index(
    index: &mut Index,
    moved: &impl Fn(usize) -> Option<usize>,
    columns: &[Column],
) -> Option<()> {
    for part in &mut index.parts {
        part.column_idx = moved(part.column_idx)?;
    }
    if let Include::Columns(included) = &mut index.include {
        *included = included.iter().filter_map(|idx| moved(*idx)).collect();
        if included.is_empty() {
            index.include = Include::None;
        }
    }
    for part in &mut index.computed.parts {
        if let PartSource::Prefix { column_idx, length } = part.source {
            let column_idx = moved(column_idx)?;
            *part = ComputedPart::prefix((column_idx, columns.get(column_idx)?), length)?;
        }
    }
    // What was worked out of its text says the old positions.
    index.computed.memo = Memo::default();
    Some(())
}
