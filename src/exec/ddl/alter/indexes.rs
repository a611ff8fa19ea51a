//! The indexes of a table whose definition changes.

use super::{Outcome, cannot_drop};
use crate::catalog::{Index, IndexId, IndexState, PartSource, Table};
use crate::error::{Code, Error, Result};
use crate::exec::ddl::index::check_name;
use crate::sql::ast::AlterAction;
use crate::sql::computed;

/// `DROP INDEX`.
pub(super) fn drop(
    table: &mut Table,
    actions: &[AlterAction],
    outcome: &mut Outcome,
) -> Result<()> {
    for action in actions {
        let AlterAction::DropIndex { name, if_exists } = action else {
            continue;
        };
        if let Some(position) = table.index_position(name) {
            table.indexes.remove(position);
            outcome.is_changed = true;
        } else if *if_exists {
            outcome.notes.push(cannot_drop(name));
        } else {
            return Err(cannot_drop(name));
        }
    }
    Ok(())
}

/// `RENAME INDEX`.
pub(super) fn rename(
    table: &mut Table,
    actions: &[AlterAction],
    outcome: &mut Outcome,
) -> Result<()> {
    for action in actions {
        if let AlterAction::RenameIndex { from, to } = action {
            check_name(to)?;
            table.rename_index(from, to)?;
            outcome.is_changed = true;
        }
    }
    Ok(())
}

/// The column of the table that a part is made of, if it is one.
fn source_of(table: &Table, index: &Index, column_idx: usize) -> Option<usize> {
    match index.computed_part(table, column_idx) {
        None => Some(column_idx),
        Some(part) => match part.source {
            PartSource::Prefix { column_idx, .. } => Some(column_idx),
            PartSource::Expression(_) => None,
        },
    }
}

/// Whether a column, or a prefix of it, is a part of an index.
pub(super) fn has_column(table: &Table, index: &Index, column_idx: usize) -> bool {
    let mut sources = index.parts.iter();
    sources.any(|part| source_of(table, index, part.column_idx) == Some(column_idx))
}

/// Refuses the change of a column that an index names in an expression or in its condition.
///
/// # Errors
/// 3837.
pub(super) fn check_no_text(table: &Table, column_idx: usize) -> Result<()> {
    for index in &table.indexes {
        if computed::columns_in_text(table, index)?.contains(&column_idx) {
            let name = table
                .columns
                .get(column_idx)
                .map_or("", |column| &column.name);
            let text = format!(
                "Column '{name}' has an expression index dependency and cannot be dropped, renamed \
                 or given another type: DROP INDEX {} first",
                index.name
            );
            return Err(Error::new(Code::ExpressionDependency, text));
        }
    }
    Ok(())
}

/// Takes dropped columns out of the indexes: one without other parts goes with them, another one is
/// to be built again.
///
/// # Errors
/// 1072 for a unique index, which would forbid more without the column.
pub(super) fn lose_columns(table: &mut Table, dropped: &[usize]) -> Result<()> {
    let mut kept = Vec::with_capacity(table.indexes.len());
    for index in &table.indexes {
        let is_kept = |column_idx: usize| {
            source_of(table, index, column_idx).is_none_or(|source| !dropped.contains(&source))
        };
        let count = index
            .parts
            .iter()
            .filter(|part| is_kept(part.column_idx))
            .count();
        if count == 0 {
            continue;
        }
        if count == index.parts.len() {
            kept.push(index.clone());
            continue;
        }
        if index.unique {
            let lost = index.parts.iter().find(|part| !is_kept(part.column_idx));
            let name = lost.and_then(|part| index.column(table, part.column_idx));
            let text = format!(
                "Key column '{}' doesn't exist in table: the unique index '{}' has other columns \
                 besides it; DROP INDEX {} first",
                name.map_or("", |column| &column.name),
                index.name,
                index.name
            );
            return Err(Error::new(Code::KeyColumnMissing, text));
        }
        kept.push(without(table, index, &is_kept));
    }
    table.indexes = kept;
    Ok(())
}

/// An index with some of its parts.
fn without(table: &Table, index: &Index, is_kept: &impl Fn(usize) -> bool) -> Index {
    let mut made = index.clone();
    made.parts.clear();
    made.computed.parts.clear();
    for part in &index.parts {
        if !is_kept(part.column_idx) {
            continue;
        }
        let mut part = *part;
        if let Some(computed) = index.computed_part(table, part.column_idx) {
            part.column_idx = table.columns.len() + made.computed.parts.len();
            made.computed.parts.push(computed.clone());
        }
        made.parts.push(part);
    }
    build_again(&mut made);
    made
}

/// Gives an index new storage, to be built. One that nobody is to read is not: whoever wants it back has
/// it built then.
pub(super) fn build_again(index: &mut Index) {
    index.id = IndexId::NEW;
    index.state = match index.state {
        IndexState::Active | IndexState::Building => IndexState::Building,
        IndexState::Inactive | IndexState::Disabled => IndexState::Disabled,
    };
}
