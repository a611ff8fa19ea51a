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
mod targets;

#[cfg(test)]
mod beside_tests;
#[cfg(test)]
mod tests;

pub use self::back::take_back;
pub use self::targets::Targets;
use super::{check_charset, index, options, wide};
use crate::catalog::{Column, Table};
use crate::codec::row::ColumnId;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{AlterAction, TableOptions};
use crate::sql::context::{EvalContext, WarningLevel};

/// Which actions are done before new indexes are built; the others are for [`complete`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All.
    All,
    /// Those that new indexes may need, and that can be taken back: not what drops, what renames indexes
    /// or the table, and how long rows and their versions stay.
    Before,
    /// Where what drops cannot wait: all but how long rows and their versions stay.
    Most,
}

impl Part {
    /// What drops, and what renames indexes or the table.
    pub fn has_drops(self) -> bool {
        matches!(self, Part::All | Part::Most)
    }

    /// What is done before indexes are built: whether what drops can wait, and whether any are built.
    pub fn first(actions: &[AlterAction], (can_wait, builds): (bool, bool)) -> Part {
        match can_wait {
            true => Part::Before,
            false if builds && says_what_stays(actions) => Part::Most,
            false => Part::All,
        }
    }

    /// Whether something is left to do when the new indexes are there.
    pub fn leaves_some(self) -> bool {
        matches!(self, Part::Before | Part::Most)
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
    // Before it drops: whether that waits for new indexes or not, the table comes to the same.
    wide::forget_names(table)?;
    if part.has_drops() {
        indexes::drop(table, actions, &mut outcome)?;
    }
    columns::change(table, actions, (part, ctx), &mut outcome)?;
    if part.has_drops() {
        indexes::rename(table, actions, &mut outcome)?;
    }
    let is_now = |name: &str| part == Part::All || !options::says_what_stays(name);
    for changed in options_of(actions) {
        check_charset(
            changed.charset.as_deref(),
            changed.collation.as_deref(),
            ctx,
        )?;
        if let Some(comment) = &changed.comment {
            table.comment.clone_from(comment);
        }
        set_options(table, changed, (&is_now, ctx))?;
        outcome.is_changed = true;
    }
    Ok(outcome)
}

/// Does what [`Part::Before`] or [`Part::Most`] has left: what drops, and what renames indexes, by what
/// the names meant then; and how long rows and their versions stay. That is said last: a row that was
/// written with an end has it for good, and a version beyond their number is never seen again.
///
/// # Errors
/// As [`apply`]; 1412 when an index that is meant has other storage by now.
pub fn complete(
    table: &mut Table,
    actions: &[AlterAction],
    (targets, ctx): (&Targets, &EvalContext),
) -> Result<()> {
    targets.change_indexes(table)?;
    columns::drop_all(table, targets.columns(), ctx)?;
    for changed in options_of(actions) {
        set_options(table, changed, (&options::says_what_stays, ctx))?;
    }
    Ok(())
}

/// Whether actions say how long rows and their versions stay.
pub fn says_what_stays(actions: &[AlterAction]) -> bool {
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
        (None, first) if column.ty == was.ty => {
            if let Some(first) = first {
                warn_of_spread(&column.name, first, ctx);
            }
            None
        }
        (None, _) => return Ok(column.counted_from.is_some()),
    };
    Ok(false)
}

/// The ids that are there lie anywhere in the type: there is none to count from.
fn warn_of_spread(column: &str, first: u64, ctx: &EvalContext) {
    let text = || {
        format!(
            "AUTO_INCREMENT = {first} changes nothing: the ids of '{column}' are spread, and a table counts its ids \
             only if it was made with AUTO_INCREMENT = n"
        )
    };
    ctx.warnings
        .add(WarningLevel::Warning, Code::NotSupportedYet, text);
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
    has_been(now, was.id)
}

/// Whether a column has this id, or had it as one of another type.
fn has_been(column: &Column, id: ColumnId) -> bool {
    let mut former = column.past.former.iter();
    column.id == id || former.any(|former| former.id == id)
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

/// Sets those options whose turn it is.
fn set_options(
    table: &mut Table,
    changed: &TableOptions,
    (is_now, ctx): (&dyn Fn(&str) -> bool, &EvalContext),
) -> Result<()> {
    let of_mysql = options::compression_of_mysql(changed);
    let given = changed.with.iter().chain(of_mysql);
    for (name, value) in given.filter(|(name, _)| is_now(name)) {
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
