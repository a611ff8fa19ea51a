//! What the names in a statement mean that is carried out in two parts: what it drops, and which
//! indexes it renames. Between the parts indexes are built, and others change the table; a name that
//! means something else by then is none of the statement's.

use super::has_been;
use crate::catalog::{IndexId, Table};
use crate::codec::row::ColumnId;
use crate::error::Result;
use crate::exec::transaction::definition_changed;
use crate::sql::ast::AlterAction;

/// Columns and indexes by their ids.
#[derive(Debug, Default)]
pub struct Targets {
    columns: Vec<ColumnId>,
    /// Each with its name.
    dropped: Vec<(IndexId, String)>,
    /// Each with its name to be.
    renamed: Vec<(IndexId, String)>,
}

impl Targets {
    /// What the names mean in a table; `None` when one of them means nothing there, and the statement
    /// does not say `IF EXISTS`.
    pub fn of(table: &Table, actions: &[AlterAction]) -> Option<Targets> {
        let index_id = |name: &str| {
            let index = table.indexes.get(table.index_position(name)?)?;
            Some(index.id)
        };
        let mut targets = Targets::default();
        for action in actions {
            if let AlterAction::DropColumn { name, if_exists } = action {
                let found = table.column_idx(name);
                let column = found.and_then(|idx| table.columns.get(idx));
                let column = column.filter(|column| !column.hidden);
                match column {
                    Some(column) => targets.columns.push(column.id),
                    None if *if_exists => {}
                    None => return None,
                }
            } else if let AlterAction::DropIndex { name, if_exists } = action {
                match index_id(name) {
                    Some(id) => targets.dropped.push((id, name.clone())),
                    None if *if_exists => {}
                    None => return None,
                }
            } else if let AlterAction::RenameIndex { from, to } = action {
                targets.renamed.push((index_id(from)?, to.clone()));
            }
        }
        Some(targets)
    }

    /// Whether a table has all of them.
    pub fn are_in(&self, table: &Table) -> bool {
        let has_index = |id: IndexId| table.indexes.iter().any(|index| index.id == id);
        let has_column = |id: &ColumnId| {
            let mut columns = table.columns.iter();
            columns.any(|column| has_been(column, *id))
        };
        let mut indexes = self.dropped.iter().chain(&self.renamed);
        indexes.all(|(id, _)| has_index(*id)) && self.columns.iter().all(has_column)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty() && self.dropped.is_empty() && self.renamed.is_empty()
    }

    /// The columns to be dropped.
    pub(super) fn columns(&self) -> &[ColumnId] {
        &self.columns
    }

    /// Drops and renames indexes. One to be dropped may be gone by now.
    ///
    /// # Errors
    /// 1412 when an index has got other storage, and with it another id: it may be another one. 1061
    /// when another index has a name that is given.
    pub(super) fn change_indexes(&self, table: &mut Table) -> Result<()> {
        for (id, name) in &self.dropped {
            let mut indexes = table.indexes.iter();
            match indexes.position(|index| index.id == *id) {
                Some(position) => drop(table.indexes.remove(position)),
                None if table.index_position(name).is_some() => return Err(definition_changed()),
                None => {}
            }
        }
        for (id, to) in &self.renamed {
            let mut indexes = table.indexes.iter();
            let index = indexes.find(|index| index.id == *id);
            let from = index.ok_or_else(definition_changed)?.name.clone();
            table.rename_index(&from, to)?;
        }
        Ok(())
    }
}
