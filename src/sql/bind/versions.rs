//! Hints about versions: which ones a SELECT reads, how a statement dates what it writes.
//!
//! ```text
//!  _l_versions_(n)   SELECT: the n newest versions of each cell, the k-th of each in the k-th row
//!  _l_ts_min_(ms)    SELECT: those written then or later
//!  _l_ts_max_(ms)    SELECT: those written before
//!  _l_ts_(ms)        SELECT: those written exactly then; other statements: the time of what they write
//! ```

use std::sync::Arc;

use super::source::{Bound, Source};
use crate::catalog::versions::{self, Reading};
use crate::catalog::{ColumnPlace, Table};
use crate::error::{Code, Error, Result};
use crate::sql::ast::Hint;
use crate::sql::bound::Relation;

/// Hints that choose versions, and have no meaning where rows are written.
const OF_READS: [&str; 3] = ["_l_versions_", "_l_ts_min_", "_l_ts_max_"];

/// The hint that dates.
pub(super) const DATES: &str = "_l_ts_";

/// Whether a hint is about versions.
pub(super) fn is_one(hint: &Hint) -> bool {
    let is_it = |name: &str| hint.name.eq_ignore_ascii_case(name);
    OF_READS.iter().copied().any(is_it) || is_it(DATES)
}

/// Lets a block read the versions that its hints choose.
///
/// # Errors
/// 1210 for what is no number, 1221 for hints that contradict each other, 1235 for what is no single
/// table that keeps versions.
pub(super) fn read(all: &[Hint], from: &mut Bound) -> Result<()> {
    let Some(first) = all.iter().find(|hint| is_one(hint)) else {
        return Ok(());
    };
    let chosen = reading(all)?;
    let ([source], [relation]) = (from.sources.as_mut_slice(), from.relations.as_mut_slice())
    else {
        return Err(Error::unsupported(format!(
            "the hint {} of a query over several tables: put it into a query of one",
            first.name
        )));
    };
    let Relation::Table(table) = &mut relation.relation else {
        return Err(keeps_none(&first.name, source.table()));
    };
    if source.table().is_none() || table.wide.versions.is_none() {
        return Err(keeps_none(&first.name, source.table()));
    }
    let read = versions::reading(table, chosen);
    *table = Arc::clone(&read);
    source.set_table(read);
    Ok(())
}

fn reading(all: &[Hint]) -> Result<Reading> {
    let mut chosen = Reading {
        versions: 1,
        min_ms: 0,
        until_ms: None,
    };
    let mut exact = None;
    let mut has_range = false;
    for hint in all.iter().filter(|hint| is_one(hint)) {
        let number = number(hint)?;
        match hint.name.to_ascii_lowercase().as_str() {
            "_l_versions_" => {
                let count = u32::try_from(number).unwrap_or(u32::MAX);
                chosen.versions = Some(count).filter(|count| 0 < *count).ok_or_else(|| {
                    let text = "Incorrect arguments to _l_versions_: a number from 1 on";
                    Error::new(Code::WrongArguments, text)
                })?;
            }
            "_l_ts_min_" => {
                has_range = true;
                chosen.min_ms = number;
            }
            "_l_ts_max_" => {
                has_range = true;
                chosen.until_ms = Some(number);
            }
            _ => exact = Some(number),
        }
    }
    let Some(exact) = exact else {
        return Ok(chosen);
    };
    if has_range {
        let text = "Incorrect usage of _l_ts_ and _l_ts_min_ or _l_ts_max_";
        return Err(Error::new(Code::WrongUsage, text));
    }
    Ok(Reading {
        min_ms: exact,
        until_ms: Some(exact.saturating_add(1)),
        ..chosen
    })
}

/// The time at which a statement writes one of these tables.
///
/// # Errors
/// 1210 for what is no number of milliseconds, 1235 for a table that keeps no versions, 1221 for a
/// hint that chooses what is read.
pub(super) fn written_at<'t>(
    all: &[Hint],
    mut tables: impl Iterator<Item = &'t Arc<Table>>,
) -> Result<Option<u64>> {
    let mut at = None;
    for hint in all.iter().filter(|hint| is_one(hint)) {
        if !hint.name.eq_ignore_ascii_case(DATES) {
            let text = format!(
                "Incorrect usage of {} and a statement that writes: it chooses what a SELECT reads",
                hint.name
            );
            return Err(Error::new(Code::WrongUsage, text));
        }
        let number = number(hint)?;
        at = Some(Some(number).filter(|ms| 0 < *ms).ok_or_else(|| {
            let text = "Incorrect arguments to _l_ts_: milliseconds since 1970, from 1 on";
            Error::new(Code::WrongArguments, text)
        })?);
    }
    if at.is_some()
        && let Some(table) = tables.find(|table| table.wide.versions.is_none())
    {
        return Err(keeps_none(DATES, Some(table)));
    }
    Ok(at)
}

fn number(hint: &Hint) -> Result<u64> {
    let number = match hint.args.as_slice() {
        [arg] => arg.trim().parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| {
        let text = format!("Incorrect arguments to {}: one number", hint.name);
        Error::new(Code::WrongArguments, text)
    })
}

/// Error 1235.
fn keeps_none(hint: &str, table: Option<&Arc<Table>>) -> Error {
    let Some(table) = table else {
        return Error::unsupported(format!(
            "the hint {hint} on what is no table: put it into a query of a table that keeps versions"
        ));
    };
    Error::unsupported(format!(
        "the hint {hint} on {}, which keeps no versions: ALTER TABLE {} SET 'VERSIONS' = '1' lets it \
         keep when its cells were written, a higher number what they held before",
        table.name, table.name
    ))
}

/// # Errors
/// 1348 for a column that a statement cannot write: a time of writing.
pub(super) fn check_writable(table: &Table, idx: usize) -> Result<()> {
    match table.columns.get(idx) {
        Some(column) if column.place == ColumnPlace::Stamp => {
            let text = format!(
                "Column '{}' is not updatable: it is when another was written, which the hint \
                 _l_ts_(ms) says",
                column.name
            );
            Err(Error::new(Code::ColumnNotUpdatable, text))
        }
        Some(_) | None => Ok(()),
    }
}

/// The tables of a statement with one.
pub(super) fn only(source: Option<&Source>) -> impl Iterator<Item = &Arc<Table>> {
    source.and_then(Source::table).into_iter()
}
