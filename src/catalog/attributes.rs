//! What a table says of a column besides its type: the part that it has in keys, and whether a row needs
//! a value of it. A client is told it before the rows, and SHOW COLUMNS tells of it, too.

use super::{Column, ColumnDefault, Index, PartSource, Table};
use crate::types::Attributes;

impl Table {
    /// What the table says of the column at a position.
    pub fn attributes(&self, column_idx: usize) -> Attributes {
        let Some(column) = self.columns.get(column_idx) else {
            return Attributes::default();
        };
        // Asked for each of thousands of columns: whether the key is hidden its first part says.
        let first = self.key.first().map(|part| part.column_idx);
        let first = first.and_then(|idx| self.columns.get(idx));
        let is_hidden = first.is_some_and(Column::is_row_id);
        let stand_in = is_hidden.then(|| self.stand_in()).flatten();
        let is_primary = match stand_in {
            Some(index) => index.has_part(column_idx),
            None => !is_hidden && self.key_position(column_idx).is_some(),
        };
        let indexes = self.indexes.iter();
        let others = indexes.filter(|index| stand_in.is_none_or(|own| own.id != index.id));
        let mut is_in_key = is_primary;
        let (mut is_unique, mut is_first) = (false, false);
        for index in others {
            let mut columns = index.columns(self);
            if columns.next().flatten() == Some(column_idx) {
                is_in_key = true;
                is_unique |= index.is_of_one();
                is_first |= !index.is_of_one();
            }
            is_in_key |= columns.any(|part| part == Some(column_idx));
        }
        let is_made = column.auto_increment || column.hidden || column.spread.is_some();
        let has_default = column.nullable || !matches!(column.default, ColumnDefault::None);
        Attributes::default()
            .with_if(Attributes::PRIMARY_KEY, is_primary)
            .with_if(Attributes::UNIQUE_KEY, is_unique)
            .with_if(Attributes::MULTIPLE_KEY, is_first)
            .with_if(Attributes::AUTO_INCREMENT, column.auto_increment)
            .with_if(Attributes::NO_DEFAULT, !has_default && !is_made)
            .with_if(Attributes::PART_KEY, is_in_key)
    }

    /// The index that stands for the primary key of a table without one: the first unique one without
    /// `NULL` (MySQL manual, "SHOW COLUMNS Statement").
    fn stand_in(&self) -> Option<&Index> {
        let never_null = |index: &&Index| {
            index.unique
                && index.computed.is_empty()
                && index.parts.iter().all(|part| {
                    let column = self.columns.get(part.column_idx);
                    column.is_some_and(|column| !column.nullable)
                })
        };
        self.indexes.iter().find(never_null)
    }
}

impl Index {
    /// The columns that its parts are, or prefixes of; `None` for an expression.
    fn columns<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = Option<usize>> + 'a {
        let parts = self.parts.iter();
        parts.map(|part| match self.computed_part(table, part.column_idx) {
            None => Some(part.column_idx),
            Some(computed) => match &computed.source {
                PartSource::Prefix { column_idx, .. } => Some(*column_idx),
                PartSource::Expression(_) => None,
            },
        })
    }

    /// Whether no two rows have the same value of its only part.
    fn is_of_one(&self) -> bool {
        self.unique && self.computed.filter.is_none() && self.parts.len() == 1
    }
}
