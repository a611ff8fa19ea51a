//! ALTER TABLE, from actions to another definition. No row is touched: what rows look like that were
//! written before is kept with each column ([`crate::catalog::Past`]).
//!
//! ```text
//!  columns    added, dropped, renamed, moved                  definition only
//!             another type that reads the stored bytes        definition only, after a look at the
//!             NULL to NOT NULL, a narrower type               values that are there ([`fit`])
//!             any other type                                  the same, and old rows are converted
//!                                                             as they are read
//!  indexes    whose parts change                              built again
//! ```
//! Names mean the table as it was, as in MySQL: `RENAME COLUMN a TO b, RENAME COLUMN b TO a` swaps.

mod back;
mod columns;
pub mod fit;
mod form;
mod indexes;
pub mod key;
pub mod scan;

#[cfg(test)]
mod beside_tests;
#[cfg(test)]
mod tests;

pub use self::back::take_back;
use super::{check_charset, index, options};
use crate::catalog::{Column, Table};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{AlterAction, TableOptions};
use crate::sql::context::{EvalContext, WarningLevel};

/// Which actions are done, when new indexes are built in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All.
    All,
    /// Those that new indexes may need, and that can be taken back.
    Before,
    /// The others: what drops, what renames indexes, and `options::says_what_stays`.
    After,
    /// Where what drops cannot wait: all but how long rows and their versions stay.
    Most,
    /// How long rows and their versions stay.
    Rest,
}

impl Part {
    fn has_first(self) -> bool {
        matches!(self, Part::All | Part::Before | Part::Most)
    }

    /// What drops, and what renames indexes or the table.
    pub fn has_drops(self) -> bool {
        matches!(self, Part::All | Part::After | Part::Most)
    }

    fn has_last(self) -> bool {
        matches!(self, Part::All | Part::After | Part::Rest)
    }

    /// What is done before indexes are built: whether what drops can wait, and whether any are built.
    pub fn first(actions: &[AlterAction], (can_wait, builds): (bool, bool)) -> Part {
        match can_wait {
            true => Part::Before,
            false if builds && says_what_stays(actions) => Part::Most,
            false => Part::All,
        }
    }

    /// What is left to do when the new indexes are there.
    pub fn second(self) -> Option<Part> {
        match self {
            Part::Before => Some(Part::After),
            Part::Most => Some(Part::Rest),
            Part::All | Part::After | Part::Rest => None,
        }
    }

    /// Whether it comes behind the new indexes.
    pub fn is_behind(self) -> bool {
        matches!(self, Part::After | Part::Rest)
    }
}

/// What actions come to besides another definition.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Whether there is another definition.
    pub is_changed: bool,
    /// Columns, by their names as they were, whose values must be looked at, as they are to be.
    pub pledges: Vec<(String, Column)>,
    /// `IF EXISTS` and the like.
    pub notes: Vec<Error>,
    /// The error when the table has rows: a new column without a value that they could have.
    pub needs_empty: Option<Error>,
}

/// Does actions on a definition. New indexes and another name of the table are the caller's.
///
/// # Errors
/// MySQL's errors for what cannot be; 1235 for what this server does not have.
pub fn apply(
    table: &mut Table,
    actions: &[AlterAction],
    (part, ctx): (Part, &EvalContext),
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    if part.has_drops() {
        indexes::drop(table, actions, &mut outcome)?;
    }
    columns::change(table, actions, (part, ctx), &mut outcome)?;
    if part.has_drops() {
        indexes::rename(table, actions, &mut outcome)?;
    }
    for action in actions {
        if let AlterAction::Options(options) = action {
            change_options(table, options, (part, ctx))?;
            outcome.is_changed = true;
        }
    }
    Ok(outcome)
}

/// Whether actions say how long rows and their versions stay.
fn says_what_stays(actions: &[AlterAction]) -> bool {
    let mut names = options_of(actions).flat_map(|changed| &changed.with);
    names.any(|(name, _)| options::says_what_stays(name))
}

/// The options that actions change.
fn options_of(actions: &[AlterAction]) -> impl DoubleEndedIterator<Item = &TableOptions> {
    actions.iter().filter_map(|action| {
        let AlterAction::Options(options) = action else {
            return None;
        };
        Some(options.as_ref())
    })
}

/// What `AUTO_INCREMENT` means after the actions, when the new indexes are among the definition's: a
/// column that had it goes on where it was. Whether another column has it now.
///
/// # Errors
/// 1075 when it is no first column of a key, 1063 when it is no integer.
pub fn settle_ids(
    table: &mut Table,
    old: &Table,
    (actions, ctx): (&[AlterAction], &EvalContext),
) -> Result<bool> {
    let mut given = options_of(actions).rev();
    let first = given.find_map(|options| options.auto_increment);
    super::key::define_auto_increment(table, first, ctx)?;
    let was = old.columns.iter().find(|column| column.auto_increment);
    let Some(column) = table
        .columns
        .iter_mut()
        .find(|column| column.auto_increment)
    else {
        return Ok(false);
    };
    let Some(was) = was.filter(|was| is_same(was, column)) else {
        return Ok(true);
    };
    column.counted_from = match (was.counted_from, first) {
        (Some(was), Some(first)) => Some(was.max(first)),
        (Some(was), None) => Some(was),
        // Spread ids stay so, as long as the type has room for them.
        (None, _) if column.ty == was.ty => None,
        (None, _) => return Ok(column.counted_from.is_some()),
    };
    Ok(false)
}

/// Lets writers know that a column is to be counted: the counter passes the ids that they give.
pub fn pledge_ids(pledges: &mut Vec<(String, Column)>, old: &Table, column: &Column) {
    let Some(was) = old.columns.iter().find(|was| is_same(was, column)) else {
        return;
    };
    match pledges.iter_mut().find(|(name, _)| *name == was.name) {
        Some((_, new)) => new.counted_from = column.counted_from,
        None => pledges.push((was.name.clone(), column.clone())),
    }
}

/// Whether a column is another one as it is now.
fn is_same(was: &Column, now: &Column) -> bool {
    now.id == was.id || now.past.former.iter().any(|former| former.id == was.id)
}

/// Refuses actions that this server does not have, before anything is done.
///
/// # Errors
/// 1235.
pub fn refuse(actions: &[AlterAction]) -> Result<()> {
    let refused = actions.iter().find_map(|action| match action {
        AlterAction::Unsupported(what) => Some(Error::unsupported(what)),
        AlterAction::Options(options) if options.partitioned => {
            Some(Error::unsupported("ALTER TABLE PARTITION BY"))
        }
        AlterAction::Options(_)
        | AlterAction::AddIndex(_)
        | AlterAction::DropIndex { .. }
        | AlterAction::Keys
        | AlterAction::DropKey
        | AlterAction::AddKey(_)
        | AlterAction::SetKey(_)
        | AlterAction::AddColumns { .. }
        | AlterAction::DropColumn { .. }
        | AlterAction::ChangeColumn { .. }
        | AlterAction::RenameColumn { .. }
        | AlterAction::SetDefault { .. }
        | AlterAction::Rename(_)
        | AlterAction::Force
        | AlterAction::OrderBy
        | AlterAction::Compact
        | AlterAction::RenameIndex { .. } => None,
    });
    refused.map_or(Ok(()), Err)
}

/// How long rows and their versions stay is said last: a row that was written with an end has it for
/// good, and a version beyond their number is never seen again.
fn change_options(
    table: &mut Table,
    changed: &TableOptions,
    (part, ctx): (Part, &EvalContext),
) -> Result<()> {
    check_charset(
        changed.charset.as_deref(),
        changed.collation.as_deref(),
        ctx,
    )?;
    if let Some(comment) = changed.comment.as_ref().filter(|_| part.has_first()) {
        table.comment.clone_from(comment);
    }
    let of_mysql = options::compression_of_mysql(changed);
    for (name, value) in changed.with.iter().chain(of_mysql) {
        let is_now = if options::says_what_stays(name) {
            part.has_last()
        } else {
            part.has_first()
        };
        if !is_now {
            continue;
        }
        if let Some(note) = options::set(table, name, value)? {
            ctx.warnings.add(WarningLevel::Warning, note.code(), || {
                note.message().to_owned()
            });
        }
    }
    Ok(())
}

/// Error 1054.
fn unknown_column(name: &str, table: &Table) -> Error {
    let text = format!("Unknown column '{name}' in '{}'", table.name);
    Error::new(Code::UnknownColumn, text)
}

/// Error 1091.
fn cannot_drop(name: &str) -> Error {
    let text = format!("Can't DROP '{name}'; check that column/key exists");
    Error::new(Code::CantDropFieldOrKey, text)
}

/// Refuses a column that no key can have.
///
/// # Errors
/// 1170 and the like.
fn check_part(column: &Column) -> Result<()> {
    index::check_type(column)
}
