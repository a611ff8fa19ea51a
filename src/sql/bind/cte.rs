//! Common table expressions: which names `WITH` gives to queries. Recursive ones are in `recursive`.
//!
//! A common table expression is bound anew wherever it is named, with the names that it could see
//! where it was defined. Source: MySQL manual, "WITH (Common Table Expressions)".

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::twice::twice;
use super::{Names, Numbering, recursive};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{Cte, TableName, With};
use crate::sql::bound::Round;
use crate::types::ResultColumn;

/// How often one statement may name common table expressions, those named within others counted each time: one
/// that names two doubles what is bound with each level.
const NAMED_MAX: usize = 2000;

/// So many of them are bound in no time.
const FEW_MAX: usize = 64;

/// What one more of them may take, and each is asked for: past [`FEW_MAX`].
const NAMED_BYTES: usize = 64 << 10;

/// Common table expressions that one place of a statement may see. Each is a frame on the stack, below all that
/// is bound there.
const IN_SIGHT_MAX: usize = 1000;

/// Common table expressions in sight, until this is dropped.
struct InSight<'a> {
    numbering: &'a Numbering,
    count: usize,
}

impl Drop for InSight<'_> {
    fn drop(&mut self) {
        let in_sight = &self.numbering.in_sight;
        in_sight.fetch_sub(self.count, Ordering::Relaxed);
    }
}

impl Numbering {
    /// Goes to where so many more common table expressions are in sight.
    ///
    /// # Errors
    /// 1436 past [`IN_SIGHT_MAX`].
    fn sees(&self, count: usize) -> Result<InSight<'_>> {
        let before = self.in_sight.fetch_add(count, Ordering::Relaxed);
        let more = InSight {
            numbering: self,
            count,
        };
        let in_sight = before.saturating_add(count);
        if in_sight <= IN_SIGHT_MAX {
            return Ok(more);
        }
        let text = format!(
            "WITH gives {in_sight} names, those of WITH around it included; {IN_SIGHT_MAX} is the most"
        );
        Err(Error::new(Code::TooDeep, text))
    }

    /// Notes that a common table expression is named; whether so many were that it takes long.
    ///
    /// # Errors
    /// 1436 past [`NAMED_MAX`].
    fn note_named(&self) -> Result<bool> {
        let count = self.named.fetch_add(1, Ordering::Relaxed);
        if count < NAMED_MAX {
            return Ok(FEW_MAX <= count);
        }
        let text = format!(
            "queries of WITH are named, directly and by others, more than {NAMED_MAX} times, the most"
        );
        Err(Error::new(Code::TooDeep, text))
    }
}

/// Notes that a common table expression is named; whether it is to be bound where it keeps no other statement
/// from running, because many are.
///
/// # Errors
/// 1436 past [`NAMED_MAX`]; of many 1041, and when the statement is to stop.
pub(super) fn note(names: &Names<'_>) -> Result<bool> {
    let is_long = names.numbering.note_named()?;
    if is_long {
        names.facts.check_stop()?;
        ceiling::admit("a query of WITH", NAMED_BYTES)?;
    }
    Ok(is_long)
}

/// One name of a `WITH`, and those that were given before it.
#[derive(Debug)]
pub struct CteScope<'a> {
    pub(super) cte: &'a Cte,
    /// Whether `RECURSIVE` was written.
    pub(super) is_recursive: bool,
    pub(super) outer: Option<&'a CteScope<'a>>,
    /// While it is bound itself: what its name means there.
    inside: Option<Inside>,
}

/// What the name of a recursive query means within itself.
#[derive(Debug)]
enum Inside {
    /// Nothing, where there are no parts of which one could go on.
    NoUnion,
    /// Nothing, in a part that begins.
    Beginning,
    /// In one that goes on, the rows of the last round.
    Rounds(Rounds),
}

/// The rows of the last round.
#[derive(Debug)]
struct Rounds {
    round: Arc<Round>,
    columns: Vec<ResultColumn>,
    /// Whether it was named.
    is_used: Cell<bool>,
}

impl<'a> CteScope<'a> {
    /// A name after those of `outer`.
    pub(super) fn new(
        cte: &'a Cte,
        is_recursive: bool,
        outer: Option<&'a CteScope<'a>>,
    ) -> CteScope<'a> {
        CteScope {
            cte,
            is_recursive,
            outer,
            inside: None,
        }
    }

    /// The same name in its own query, which is no union.
    pub(super) fn without_union(&self) -> CteScope<'a> {
        CteScope {
            inside: Some(Inside::NoUnion),
            ..CteScope::new(self.cte, self.is_recursive, self.outer)
        }
    }

    /// The same name in a part that begins its own query.
    pub(super) fn beginning(&self) -> CteScope<'a> {
        CteScope {
            inside: Some(Inside::Beginning),
            ..CteScope::new(self.cte, self.is_recursive, self.outer)
        }
    }

    /// The same name in a part that goes on with its own query, which has that number and these columns.
    pub(super) fn going_on(&self, number: usize, columns: &[ResultColumn]) -> CteScope<'a> {
        let types = columns.iter().map(|column| column.ty.clone()).collect();
        let rounds = Rounds {
            round: Arc::new(Round { number, types }),
            columns: columns.to_vec(),
            is_used: Cell::new(false),
        };
        CteScope {
            inside: Some(Inside::Rounds(rounds)),
            ..CteScope::new(self.cte, self.is_recursive, self.outer)
        }
    }

    /// The rows of the last round and their columns, when this is the name of a recursive query within
    /// itself.
    ///
    /// # Errors
    /// 3573 in a query that is no union, 3574 in a part that begins.
    pub(super) fn round(&self) -> Result<Option<(Arc<Round>, Vec<ResultColumn>)>> {
        match &self.inside {
            None => Ok(None),
            Some(Inside::NoUnion) => Err(recursive::without_union(self.cte)),
            Some(Inside::Beginning) => Err(recursive::without_beginning(&self.cte.name)),
            Some(Inside::Rounds(rounds)) => {
                rounds.is_used.set(true);
                Ok(Some((Arc::clone(&rounds.round), rounds.columns.clone())))
            }
        }
    }

    /// Whether the rows of the last round were named.
    pub(super) fn is_used(&self) -> bool {
        let rounds = match &self.inside {
            Some(Inside::Rounds(rounds)) => rounds,
            Some(Inside::NoUnion | Inside::Beginning) | None => return false,
        };
        rounds.is_used.get()
    }
}

/// Binds something after the names that `WITH` gives, as far as they are in sight there.
///
/// # Errors
/// 1066 for a name given twice, 1436 past [`IN_SIGHT_MAX`]; those of `bind`.
pub(super) fn after<T>(
    with: &With,
    names: &Names<'_>,
    bind: &mut dyn FnMut(&Names<'_>) -> Result<T>,
) -> Result<T> {
    if with.ctes.is_empty() {
        return bind(names);
    }
    let _in_sight = names.numbering.sees(with.ctes.len())?;
    check_names(&with.ctes)?;
    after_each(with.ctes.as_slice(), (with.recursive, names), bind)
}

fn after_each<T>(
    ctes: &[Cte],
    (is_recursive, names): (bool, &Names<'_>),
    bind: &mut dyn FnMut(&Names<'_>) -> Result<T>,
) -> Result<T> {
    let [first, more @ ..] = ctes else {
        return bind(names);
    };
    let scope = CteScope::new(first, is_recursive, names.ctes);
    let names = Names {
        ctes: Some(&scope),
        ..*names
    };
    after_each(more, (is_recursive, &names), bind)
}

/// The common table expression of that name.
pub(super) fn find<'a>(
    name: &TableName,
    mut scope: Option<&'a CteScope<'a>>,
) -> Option<&'a CteScope<'a>> {
    if name.database.is_some() {
        return None;
    }
    while let Some(here) = scope {
        if here.cte.name.eq_ignore_ascii_case(&name.name) {
            return Some(here);
        }
        scope = here.outer;
    }
    None
}

/// Whether one of the names means it.
pub(super) fn is_among(cte: &Cte, mut scope: Option<&CteScope<'_>>) -> bool {
    while let Some(here) = scope {
        if std::ptr::eq(here.cte, cte) {
            return true;
        }
        scope = here.outer;
    }
    false
}

/// # Errors
/// 1066: two of one name.
fn check_names(ctes: &[Cte]) -> Result<()> {
    match twice(ctes.iter().map(|cte| cte.name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let text = format!("Not unique table/alias: '{name}'");
            Err(Error::new(Code::NonUniqueTable, text))
        }
    }
}
