//! Which journals there are, and whether one is missing.

use std::path::{Path, PathBuf};

use super::run;
use crate::kv::lsm::directory;
use crate::kv::{Error, Result};

/// How the name of a journal ends, behind its number and a dot.
pub(in crate::kv::lsm) const ENDING: &str = "jnl";

/// Refuses a directory that lacks a journal: one between two others, which are removed from the oldest on, or the newest.
///
/// # Errors
///
/// [`Error::Corrupt`] names it; [`Error::Io`].
pub(super) fn check_there(dir: &Path) -> Result<()> {
    let journals = numbered(dir)?;
    let gap = journals.windows(2).find_map(|pair| match pair {
        [(one, _), (next, _)] if one + 1 < *next => Some(one + 1),
        _ => None,
    });
    let newest = run::noted_or_warned(dir).and_then(|noted| noted.journal);
    let is_lost = |newest: &u64| journals.last().is_none_or(|(last, _)| last < newest);
    match gap.or(newest.filter(is_lost)) {
        None => Ok(()),
        Some(number) => Err(Error::Corrupt {
            what: format!(
                "journal {} is missing, and with it the commits in it; a start without them takes an empty file in its \
                 place",
                path_of(dir, number).display()
            ),
        }),
    }
}

/// Refuses a directory, complete once, that has no journal at all: the library would count commits from the beginning
/// then, and every row that is in files would be one of a later time, which nobody reads.
///
/// # Errors
///
/// [`Error::Corrupt`]; [`Error::Io`].
pub(in crate::kv::lsm) fn check_any(dir: &Path) -> Result<()> {
    if !numbered(dir)?.is_empty() {
        return Ok(());
    }
    let newest = run::noted(dir).and_then(|noted| noted.journal);
    let name = match newest {
        Some(number) => format!("journal {}", path_of(dir, number).display()),
        None => format!("the journal (a file *.{ENDING}) of {}", dir.display()),
    };
    let empty = path_of(dir, newest.unwrap_or(0));
    Err(Error::Corrupt {
        what: format!(
            "{name} is missing, and with it the commits in it and the order of all others: restore a backup; a start \
             with what the files of rows have takes an empty file {} in its place",
            empty.display()
        ),
    })
}

/// Where the journal of a number is.
pub(super) fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number}.{ENDING}"))
}

/// The journals in `dir`, in order.
///
/// # Errors
///
/// [`Error::Io`].
pub(in crate::kv::lsm) fn list(dir: &Path) -> Result<Vec<PathBuf>> {
    let journals = numbered(dir)?.into_iter();
    Ok(journals.map(|(_, path)| path).collect())
}

/// The journals in `dir` with their numbers, in order.
pub(super) fn numbered(dir: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut journals = Vec::new();
    for path in directory::children(dir)? {
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_suffix(ENDING)?.strip_suffix('.'));
        if let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) {
            journals.push((number, path));
        }
    }
    journals.sort();
    Ok(journals)
}
