//! The columns of a table whose definition changes. What another type means is in `retype`.

mod retype;

use std::collections::HashSet;

use super::form::{Form, may_not_fit, reads_as};
use super::{Outcome, Part, cannot_drop, has_been, indexes, unknown_column};
use crate::catalog::{Column, ColumnDefault, Past, Table};
use crate::codec::row::ColumnId;
use crate::error::{Code, Error, Result};
use crate::exec::ddl::column::{define_column, define_default};
use crate::exec::ddl::{COLUMNS_MAX, check_identifier, ttl, wide};
use crate::exec::write::row::{Stored, implicit_default};
use crate::sql::ast::{AlterAction, ColumnDef, ColumnPlace};
use crate::sql::context::EvalContext;
use crate::types::{ColumnType, Value};

/// A column in the making.
struct Slot {
    /// Its position in the table as it was; `None` when it is new.
    origin: Option<usize>,
    column: Column,
}

/// The list of columns in the making.
struct Maker<'a> {
    table: &'a mut Table,
    slots: Vec<Slot>,
    ctx: &'a EvalContext,
    outcome: &'a mut Outcome,
    dropped: Vec<usize>,
}

/// Does the actions on columns.
///
/// # Errors
/// See [`super::apply`].
pub(super) fn change(
    table: &mut Table,
    actions: &[AlterAction],
    (part, ctx): (Part, &EvalContext),
    outcome: &mut Outcome,
) -> Result<()> {
    let mut maker = Maker::of(table, ctx, outcome);
    let mut has_any = false;
    for action in actions {
        has_any |= maker.change_old(action, part)?;
    }
    for action in actions {
        has_any |= maker.add_and_move(action)?;
    }
    if has_any {
        maker.finish()?;
    }
    Ok(())
}

/// Drops the columns with these ids that are still there, whatever their names are by now.
///
/// # Errors
/// As `DROP COLUMN`.
pub(super) fn drop_all(table: &mut Table, ids: &[ColumnId], ctx: &EvalContext) -> Result<()> {
    let mut outcome = Outcome::default();
    let mut maker = Maker::of(table, ctx, &mut outcome);
    for id in ids {
        maker.drop_by_id(*id)?;
    }
    if maker.dropped.is_empty() {
        return Ok(());
    }
    maker.finish()
}

impl<'a> Maker<'a> {
    fn of(table: &'a mut Table, ctx: &'a EvalContext, outcome: &'a mut Outcome) -> Maker<'a> {
        let slots = table.columns.iter().enumerate();
        let slots = slots.map(|(idx, column)| Slot {
            origin: Some(idx),
            column: column.clone(),
        });
        Maker {
            slots: slots.collect(),
            table,
            ctx,
            outcome,
            dropped: Vec::new(),
        }
    }
}

impl Maker<'_> {
    /// What is about columns that are there, named as they were. Whether it is.
    fn change_old(&mut self, action: &AlterAction, part: Part) -> Result<bool> {
        match action {
            AlterAction::DropColumn { name, if_exists } if part.has_drops() => {
                self.drop(name, *if_exists)?;
            }
            AlterAction::ChangeColumn {
                from,
                column,
                if_exists,
                ..
            } => self.redefine(from, column, *if_exists)?,
            AlterAction::RenameColumn { from, to } => {
                let (at, idx) = self.find(from)?;
                self.rename((at, idx), to)?;
            }
            AlterAction::SetDefault {
                name,
                default,
                if_exists,
            } => {
                let found = self.find(name);
                let Some((at, _)) = self.or_note(found, *if_exists)? else {
                    return Ok(false);
                };
                let Some(slot) = self.slots.get_mut(at) else {
                    return Ok(false);
                };
                slot.column.default = match default {
                    Some(default) => define_default(&slot.column, default, self.ctx)?,
                    None => ColumnDefault::None,
                };
            }
            AlterAction::DropColumn { .. }
            | AlterAction::AddColumns { .. }
            | AlterAction::AddIndex(_)
            | AlterAction::DropIndex { .. }
            | AlterAction::RenameIndex { .. }
            | AlterAction::Keys
            | AlterAction::DropKey
            | AlterAction::AddKey(_)
            | AlterAction::SetKey(_)
            | AlterAction::Rename(_)
            | AlterAction::Options(_)
            | AlterAction::Force
            | AlterAction::OrderBy
            | AlterAction::Compact
            | AlterAction::Unsupported(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Where a column of the table as it was stands among the slots, and in the table.
    fn find(&self, name: &str) -> Result<(usize, usize)> {
        let unknown = || unknown_column(name, self.table);
        let idx = self.table.column_idx(name).ok_or_else(unknown)?;
        let is_hidden = self
            .table
            .columns
            .get(idx)
            .is_some_and(|column| column.hidden);
        let at = self.slots.iter().position(|slot| slot.origin == Some(idx));
        let at = at.filter(|_| !is_hidden).ok_or_else(unknown)?;
        Ok((at, idx))
    }

    /// `IF EXISTS`: a note instead of an error.
    fn or_note<T>(&mut self, found: Result<T>, if_exists: bool) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if if_exists => {
                self.outcome.notes.push(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn drop(&mut self, name: &str, if_exists: bool) -> Result<()> {
        let found = self.find(name).map_err(|_| cannot_drop(name));
        match self.or_note(found, if_exists)? {
            Some((at, idx)) => self.drop_at((at, idx), name),
            None => Ok(()),
        }
    }

    /// Nothing happens when it is there no more.
    fn drop_by_id(&mut self, id: ColumnId) -> Result<()> {
        let mut columns = self.table.columns.iter();
        let Some(idx) = columns.position(|column| has_been(column, id)) else {
            return Ok(());
        };
        let mut slots = self.slots.iter();
        let at = slots.position(|slot| slot.origin == Some(idx));
        let name = at
            .and_then(|at| self.slots.get(at))
            .map(|slot| slot.column.name.clone());
        match at.zip(name) {
            Some((at, name)) => self.drop_at((at, idx), &name),
            None => Ok(()),
        }
    }

    fn drop_at(&mut self, (at, idx): (usize, usize), name: &str) -> Result<()> {
        if self.table.key_position(idx).is_some() {
            let text = format!(
                "Cannot drop column '{name}': needed in the primary key of table '{}'",
                self.table.name
            );
            return Err(Error::new(Code::ColumnNeeded, text));
        }
        ttl::check_drop(self.table, idx)?;
        indexes::check_no_text(self.table, idx)?;
        self.slots.remove(at);
        self.dropped.push(idx);
        Ok(())
    }

    fn rename(&mut self, (at, idx): (usize, usize), to: &str) -> Result<()> {
        check_identifier(to, Code::WrongFieldSpecifier)?;
        let Some(slot) = self.slots.get_mut(at) else {
            return Ok(());
        };
        if slot.column.name == to {
            return Ok(());
        }
        if !slot.column.name.eq_ignore_ascii_case(to) {
            indexes::check_no_text(self.table, idx)?;
        }
        to.clone_into(&mut slot.column.name);
        Ok(())
    }

    /// `MODIFY`, `CHANGE`.
    fn redefine(&mut self, from: &str, declared: &ColumnDef, if_exists: bool) -> Result<()> {
        let found = self.find(from);
        let Some((at, idx)) = self.or_note(found, if_exists)? else {
            return Ok(());
        };
        self.rename((at, idx), &declared.name)?;
        let Some(old) = self.table.columns.get(idx).cloned() else {
            return Ok(());
        };
        let mut new = Column {
            past: old.past.clone(),
            ..define_column(declared, old.id, self.ctx)?
        };
        if new.auto_increment {
            new.nullable = false;
            new.counted_from = old.counted_from;
        }
        if self.table.key_position(idx).is_some() {
            if declared.nullable == Some(true) {
                let text = "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a \
                            key, use UNIQUE instead";
                return Err(Error::new(Code::PrimaryKeyNull, text));
            }
            new.nullable = false;
        }
        if old.ty != new.ty {
            self.retype((idx, &old), &mut new)?;
        }
        let is_converted = reads_as(&old.ty, &new.ty) == Form::Other;
        if old.nullable && !new.nullable || is_converted || may_not_fit(&old.ty, &new.ty) {
            self.outcome.pledges.push((old.name, new.clone()));
        }
        if let Some(slot) = self.slots.get_mut(at) {
            slot.column = new;
        }
        Ok(())
    }

    /// `ADD COLUMN`, and another place for a column. Whether it is one of them.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others move no column")]
    fn add_and_move(&mut self, action: &AlterAction) -> Result<bool> {
        match action {
            AlterAction::AddColumns {
                columns,
                place,
                if_not_exists,
            } => {
                let mut has_any = false;
                for column in columns {
                    has_any |= self.add(column, place.as_ref(), *if_not_exists)?;
                }
                Ok(has_any)
            }
            AlterAction::ChangeColumn {
                from,
                place: Some(place),
                ..
            } => {
                let Ok((at, _)) = self.find(from) else {
                    return Ok(false);
                };
                let slot = self.slots.remove(at);
                let to = self.position(Some(place))?;
                self.slots.insert(to, slot);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn add(
        &mut self,
        declared: &ColumnDef,
        place: Option<&ColumnPlace>,
        if_not_exists: bool,
    ) -> Result<bool> {
        check_identifier(&declared.name, Code::WrongFieldSpecifier)?;
        let mut names = self.slots.iter().map(|slot| &slot.column.name);
        if if_not_exists && names.any(|name| name.eq_ignore_ascii_case(&declared.name)) {
            self.outcome.notes.push(duplicate(&declared.name));
            return Ok(false);
        }
        if declared.auto_increment {
            let text = "ADD COLUMN … AUTO_INCREMENT: the ids are made when rows are written";
            return Err(Error::unsupported(text));
        }
        if wide::is_pattern(declared) {
            return Err(Error::unsupported(format!(
                "ADD COLUMN of the pattern {}: CREATE TABLE declares those",
                declared.name
            )));
        }
        let at = self.position(place)?;
        let id = self.table.next_column_id()?;
        let mut column = define_column(declared, id, self.ctx)?;
        column.past = Past::of_added(self.absent(&column)?);
        self.slots.insert(
            at,
            Slot {
                origin: None,
                column,
            },
        );
        Ok(true)
    }

    /// What the rows that are there get in a new column.
    fn absent(&mut self, column: &Column) -> Result<Value<'static>> {
        let has_default = !matches!(column.default, ColumnDefault::None);
        if has_default || column.nullable {
            let at = Stored {
                ctx: self.ctx,
                row_number: 1,
                lenient: true,
            };
            return at.default_of(column);
        }
        let value = implicit_default(&column.ty);
        let is_date = matches!(
            column.ty,
            ColumnType::Date | ColumnType::Datetime { .. } | ColumnType::Timestamp { .. }
        );
        if is_date && self.ctx.mode.strict && self.ctx.mode.no_zero_date {
            let kind = if column.ty == ColumnType::Date {
                "date"
            } else {
                "datetime"
            };
            let text = format!(
                "Incorrect {kind} value: '{}' for column '{}' at row 1: give it a DEFAULT",
                value.to_text(),
                column.name
            );
            let error = Error::new(Code::IncorrectTypeValue, text);
            self.outcome.needs_empty.get_or_insert(error);
        }
        Ok(value)
    }

    /// Where a column comes to stand; the hidden one stays last.
    fn position(&self, place: Option<&ColumnPlace>) -> Result<usize> {
        match place {
            None => {
                let hidden = self.slots.iter().position(|slot| slot.column.hidden);
                Ok(hidden.unwrap_or(self.slots.len()))
            }
            Some(ColumnPlace::First) => Ok(0),
            Some(ColumnPlace::After(name)) => {
                let mut slots = self.slots.iter();
                let at = slots.position(|slot| {
                    slot.column.name.eq_ignore_ascii_case(name) && !slot.column.hidden
                });
                at.map(|at| at + 1)
                    .ok_or_else(|| unknown_column(name, self.table))
            }
        }
    }

    fn finish(self) -> Result<()> {
        let mut names = HashSet::new();
        for slot in &self.slots {
            if !names.insert(slot.column.name.to_lowercase()) {
                return Err(duplicate(&slot.column.name));
            }
        }
        if self.slots.iter().all(|slot| slot.column.hidden) {
            let text = "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
            return Err(Error::new(Code::CantRemoveAllColumns, text));
        }
        if COLUMNS_MAX < self.slots.len() {
            let text = format!(
                "Too many columns: {}, the most is {COLUMNS_MAX}",
                self.slots.len()
            );
            return Err(Error::new(Code::TooManyColumns, text));
        }
        wide::check_columns(self.table, self.slots.iter().map(|slot| &slot.column))?;
        indexes::lose_columns(self.table, &self.dropped)?;
        let slots = self.slots.into_iter();
        let placed = slots.map(|slot| (slot.origin, slot.column)).collect();
        self.table.reshape(placed)?;
        self.outcome.is_changed = true;
        Ok(())
    }
}

/// Error 1060.
fn duplicate(name: &str) -> Error {
    let text = format!("Duplicate column name '{name}'");
    Error::new(Code::DuplicateColumn, text)
}
