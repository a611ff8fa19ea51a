//! Table options: those that act, those that are kept and shown, those that are refused.

use super::ttl::{self, TTL};
use super::{versions, wide};
use crate::catalog::Table;
use crate::catalog::schema::COMPRESSION;
use crate::catalog::versions::VERSIONS;
use crate::catalog::wide::DYNAMIC_COLUMNS;
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::context::{EvalContext, WarningLevel};

/// Values of [`COMPRESSION`] that are done: blocks of files are always compressed by LZ4.
const COMPRESSIONS: [&str; 2] = ["ZSTD", "LZ4"];

/// Table options that are kept and shown as they are given; [`COMPRESSION`] alone has an effect.
pub(super) const KEPT: [&str; 8] = [
    COMPRESSION,
    "NUMREGIONS",
    "STARTKEY",
    "ENDKEY",
    "SPLITKEYS",
    "COMPACTION_MAJOR_PERIOD",
    "CONSISTENCY",
    "MUTABILITY",
];

/// The options of a new table.
pub(super) fn kept(
    options: &ast::TableOptions,
    ctx: &EvalContext,
) -> Result<Vec<(String, String)>> {
    let mut kept = Vec::new();
    for (name, value) in &options.with {
        let name = name.to_ascii_uppercase();
        check(&name)?;
        if name == DYNAMIC_COLUMNS {
            if wide::is_switched_on(value)? {
                kept.push((name, "true".to_owned()));
            }
            continue;
        }
        if name == TTL || name == VERSIONS {
            continue;
        }
        if let Some(note) = note(&name, value) {
            ctx.warnings.add(WarningLevel::Warning, note.code(), || {
                note.message().to_owned()
            });
        }
        kept.push((name, value.clone()));
    }
    if let Some((name, value)) = compression_of_mysql(options)
        && kept.iter().all(|(known, _)| known != name)
    {
        kept.push((name.clone(), value.clone()));
    }
    Ok(kept)
}

/// `COMPRESSION='zstd'` as MySQL writes it, without `WITH` or `SET`. Its other values are options of another
/// engine, as all of MySQL's are.
pub(super) fn compression_of_mysql(options: &ast::TableOptions) -> Option<&(String, String)> {
    let mut others = options.others.iter();
    others.find(|(name, value)| name == COMPRESSION && note(name, value).is_none())
}

/// `ALTER TABLE t SET 'NAME' = 'value'`; what is to be noted about it.
///
/// # Errors
/// 1221 for an unknown option or value, 1235 for what cannot be changed.
pub fn set(table: &mut Table, name: &str, value: &str) -> Result<Option<Error>> {
    let name = name.to_ascii_uppercase();
    check(&name)?;
    if name == DYNAMIC_COLUMNS {
        return wide::switch(table, value).map(|()| None);
    }
    if name == TTL {
        return ttl::set(table, value).map(|()| None);
    }
    if name == VERSIONS {
        return versions::set(table, value).map(|()| None);
    }
    put(table, &name, value);
    Ok(note(&name, value))
}

/// Whether an option says how long rows and their versions stay. What it has done to them cannot be
/// taken back.
pub(super) fn says_what_stays(name: &str) -> bool {
    [TTL, VERSIONS]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// An option that is there stays where it stands.
pub(super) fn put(table: &mut Table, name: &str, value: &str) {
    match table.options.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => value.clone_into(known),
        None => table.options.push((name.to_owned(), value.to_owned())),
    }
}

/// # Errors
/// 1221.
fn check(name: &str) -> Result<()> {
    if [DYNAMIC_COLUMNS, TTL, VERSIONS].contains(&name) || KEPT.contains(&name) {
        return Ok(());
    }
    let text = format!("Unknown table option '{name}'");
    Err(Error::new(Code::WrongUsage, text))
}

/// What is to be said of an option that is kept and not done.
fn note(name: &str, value: &str) -> Option<Error> {
    let is_known = |known: &&str| value.eq_ignore_ascii_case(known);
    if name != COMPRESSION {
        let text = format!("Table option '{name}' is kept but has no effect on this engine");
        return Some(Error::new(Code::FeatureIgnored, text));
    }
    if COMPRESSIONS.iter().any(is_known) {
        return None;
    }
    let text =
        format!("COMPRESSION '{value}' is kept but has no effect: this engine has ZSTD and LZ4");
    Some(Error::new(Code::FeatureIgnored, text))
}
