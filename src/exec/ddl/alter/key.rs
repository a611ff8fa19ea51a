//! Another primary key for a table that is there: which actions ask for it, and what it is.

use crate::catalog::{Column, ColumnPlace, KeyPart, Table};
use crate::codec::key::Direction;
use crate::error::{Code, Error, Result};
use crate::exec::ddl::key::KEY_COLUMNS_MAX;
use crate::sql::ast::{self, AlterAction};
use crate::sql::context::EvalContext;

/// What the actions of an ALTER TABLE ask for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The parts of the new key.
    pub parts: &'a [ast::KeyPart],
    /// Whether the table must have a key for it to replace; `None` when either is right.
    replaces: Option<bool>,
}

/// The change of the primary key that actions ask for, if they do.
///
/// # Errors
/// 1068 for two keys; 1235 for actions that cannot be done in one statement with it, and for a table
/// without key.
pub fn asked(actions: &[AlterAction]) -> Result<Option<Asked<'_>>> {
    let (mut drops, mut adds, mut sets, mut others) = (0, Vec::new(), Vec::new(), 0);
    for action in actions {
        match action {
            AlterAction::DropKey => drops += 1,
            AlterAction::AddKey(parts) => adds.push(parts),
            AlterAction::SetKey(parts) => sets.push(parts),
            AlterAction::Force | AlterAction::Keys | AlterAction::OrderBy => {}
            AlterAction::AddIndex(_)
            | AlterAction::DropIndex { .. }
            | AlterAction::AddColumns { .. }
            | AlterAction::DropColumn { .. }
            | AlterAction::ChangeColumn { .. }
            | AlterAction::RenameColumn { .. }
            | AlterAction::SetDefault { .. }
            | AlterAction::Rename(_)
            | AlterAction::Options(_)
            | AlterAction::Compact
            | AlterAction::Unsupported(_)
            | AlterAction::RenameIndex { .. } => others += 1,
        }
    }
    if drops == 0 && adds.is_empty() && sets.is_empty() {
        return Ok(None);
    }
    if others != 0 {
        let text = "ALTER TABLE … PRIMARY KEY beside other changes: give them in a statement of \
                    their own";
        return Err(Error::unsupported(text));
    }
    match (drops, adds.as_slice(), sets.as_slice()) {
        (0, [parts], []) => Ok(Some(Asked {
            parts,
            replaces: Some(false),
        })),
        (1, [parts], []) => Ok(Some(Asked {
            parts,
            replaces: Some(true),
        })),
        (0, [], [parts]) => Ok(Some(Asked {
            parts,
            replaces: None,
        })),
        (_, [], []) => Err(Error::unsupported(
            "ALTER TABLE … DROP PRIMARY KEY without another key: say DROP PRIMARY KEY, ADD PRIMARY \
             KEY (…)",
        )),
        _ => Err(two_keys()),
    }
}

fn two_keys() -> Error {
    Error::new(Code::MultiplePrimaryKeys, "Multiple primary key defined")
}

/// The table with the key that is asked for; `None` when it has that key.
///
/// # Errors
/// 1068, 1091, 1072, 1060, 1070, 1235 for a table that keeps versions, and what a column cannot be in a key for; 1075 when `AUTO_INCREMENT`
/// would lead no key any more.
pub fn define(table: &Table, asked: Asked<'_>, ctx: &EvalContext) -> Result<Option<Table>> {
    match asked.replaces {
        Some(false) if !table.has_hidden_key() => return Err(two_keys()),
        Some(true) if table.has_hidden_key() => return Err(super::cannot_drop("PRIMARY")),
        Some(_) | None => {}
    }
    if table.wide.versions.is_some() {
        let text = "ALTER TABLE … PRIMARY KEY of a table WITH (VERSIONS=…): versions belong to cells \
                    under one key";
        return Err(Error::unsupported(text));
    }
    let key = parts_of(table, asked.parts)?;
    if key == table.key {
        return Ok(None);
    }
    let mut shadow = table.with_key(key);
    let counted = |table: &Table| {
        let mut columns = table.columns.iter();
        columns.find_map(|column| column.counted_from)
    };
    // Whether ids are counted or spread stays as it is.
    let first = counted(table);
    let columns = shadow.columns.clone();
    crate::exec::ddl::key::define_auto_increment(&mut shadow, first, ctx)?;
    for (column, as_it_was) in shadow.columns.iter_mut().zip(columns) {
        column.counted_from = as_it_was.counted_from;
    }
    Ok(Some(shadow))
}

fn parts_of(table: &Table, declared: &[ast::KeyPart]) -> Result<Vec<KeyPart>> {
    if KEY_COLUMNS_MAX < declared.len() {
        let text = format!(
            "Too many key parts specified; max {KEY_COLUMNS_MAX} parts allowed, {} given",
            declared.len()
        );
        return Err(Error::new(Code::TooManyKeyParts, text));
    }
    let mut key: Vec<KeyPart> = Vec::with_capacity(declared.len());
    for part in declared {
        let name = match &part.source {
            ast::KeyPartSource::Column(name) => name,
            ast::KeyPartSource::Prefix(..) => {
                return Err(Error::unsupported("a prefix part in a primary key"));
            }
            ast::KeyPartSource::Function(_) => {
                return Err(Error::unsupported("an expression part in a primary key"));
            }
            ast::KeyPartSource::Expression(_) => {
                let text = "The primary key cannot be an expression index: use a column, and an \
                            index on the expression";
                return Err(Error::new(Code::ExpressionPrimaryKey, text));
            }
        };
        let column_idx = column_of(table, name)?;
        if key.iter().any(|part| part.column_idx == column_idx) {
            let text = format!("Duplicate column name '{name}'");
            return Err(Error::new(Code::DuplicateColumn, text));
        }
        key.push(KeyPart {
            column_idx,
            direction: Direction::of(part.descending),
        });
    }
    Ok(key)
}

fn column_of(table: &Table, name: &str) -> Result<usize> {
    let can_be = |column: &Column| !column.hidden && column.place == ColumnPlace::Row;
    let idx = table.column_idx(name);
    let found = idx.and_then(|idx| Some((idx, table.columns.get(idx)?)));
    let Some((column_idx, column)) = found.filter(|(_, column)| can_be(column)) else {
        let text = format!("Key column '{name}' doesn't exist in table");
        return Err(Error::new(Code::KeyColumnMissing, text));
    };
    super::check_part(column)?;
    Ok(column_idx)
}
