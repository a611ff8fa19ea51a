//! Hints: those of Lindorm and MySQL that mean something here, and the lists of indexes.

use crate::error::{Code, Error, Result};
use crate::sql::ast::{Hint, IndexHint};
use crate::sql::bound::Hints;

/// Hints that ask for something that is not offered yet; to ignore them would give other rows.
const UNSUPPORTED: &[&str] = &[
    "_l_versions_",
    "_l_ts_",
    "_l_ts_min_",
    "_l_ts_max_",
    "_l_ttl_",
];

/// The hints behind a verb.
///
/// # Errors
/// 1235 for one that would change the result and is not offered, 1176 for an index that does not
/// exist.
pub(super) fn hints(all: &[Hint], table: &str) -> Result<Hints> {
    let mut hints = Hints::default();
    for hint in all {
        let name = hint.name.to_ascii_lowercase();
        let number = hint.args.first().and_then(|arg| arg.parse::<u64>().ok());
        match name.as_str() {
            "_l_allow_filtering_" => hints.allow_filtering = true,
            "max_execution_time" | "_l_operation_timeout_" if number.is_some() => {
                hints.timeout_ms = number.filter(|timeout_ms| *timeout_ms != 0);
            }
            "_l_force_index_" | "_l_ignore_index_" => {
                hint.args
                    .iter()
                    .try_for_each(|index| check_index(index, table))?;
            }
            unsupported if UNSUPPORTED.contains(&unsupported) => {
                return Err(Error::unsupported(format!("the hint {}", hint.name)));
            }
            _ => hints.unknown.push(hint.name.clone()),
        }
    }
    Ok(hints)
}

/// Checks that the indexes of `FORCE INDEX (…)` and kin exist. There is only the primary key, so
/// none of them changes a plan.
///
/// # Errors
/// 1176.
pub(super) fn check_index_hints(hints: &[IndexHint], table: &str) -> Result<()> {
    let mut indexes = hints.iter().flat_map(|hint| &hint.indexes);
    indexes.try_for_each(|index| check_index(index, table))
}

fn check_index(index: &str, table: &str) -> Result<()> {
    if index.eq_ignore_ascii_case("PRIMARY") {
        return Ok(());
    }
    Err(Error::new(
        Code::KeyMissing,
        format!("Key '{index}' doesn't exist in table '{table}'"),
    ))
}
