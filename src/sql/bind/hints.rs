//! Hints: those of Lindorm and MySQL that mean something here, and the lists of indexes.

use super::source::Source;
use super::versions;
use crate::error::{Code, Error, Result};
use crate::sql::ast::{Hint, IndexHint, IndexHintKind};
use crate::sql::bound::{Hints, KeyRef};

/// The hints behind a verb, and those beside the table's name.
///
/// # Errors
/// 1235 and 1221 for one that is not for this statement or table, 1210 for wrong arguments, 1176 for an
/// index that does not exist.
pub(super) fn hints(all: &[Hint], beside: &[IndexHint], source: Option<&Source>) -> Result<Hints> {
    let mut hints = Hints {
        ts_ms: versions::written_at(all, versions::only(source))?,
        ..Hints::default()
    };
    for hint in all.iter().filter(|hint| !versions::is_one(hint)) {
        let name = hint.name.to_ascii_lowercase();
        let number = hint.args.first().and_then(|arg| arg.parse::<u64>().ok());
        match name.as_str() {
            "_l_allow_filtering_" => hints.allow_filtering = true,
            "max_execution_time" | "_l_operation_timeout_" if number.is_some() => {
                hints.timeout_ms = number.filter(|timeout_ms| *timeout_ms != 0);
            }
            "_l_ttl_" => hints.ttl_ms = Some(ttl(number, source)?),
            "_l_force_index_" => name_indexes(&mut hints, &hint.args, source)?,
            "_l_ignore_index_" if hint.args.is_empty() => ignore_all(&mut hints, source),
            "_l_ignore_index_" => ignore_indexes(&mut hints, &hint.args, source)?,
            _ => hints.unknown.push(hint.name.clone()),
        }
    }
    for hint in beside {
        match hint.kind {
            IndexHintKind::Use | IndexHintKind::Force => {
                name_indexes(&mut hints, &hint.indexes, source)?;
            }
            IndexHintKind::Ignore => ignore_indexes(&mut hints, &hint.indexes, source)?,
        }
    }
    Ok(hints)
}

/// As [`hints`], of a statement that writes no rows: there `_l_ttl_` would have no effect, and is told
/// of as a hint that nobody knows.
///
/// # Errors
/// As [`hints`].
pub(super) fn without_rows(
    all: &[Hint],
    beside: &[IndexHint],
    source: Option<&Source>,
) -> Result<Hints> {
    let mut hints = hints(all, beside, source)?;
    if hints.ttl_ms.take().is_some() {
        hints.unknown.push("_l_ttl_".to_owned());
    }
    Ok(hints)
}

/// # Errors
/// 1235 where rows do not end, 1210 for what is no number of milliseconds.
fn ttl(number: Option<u64>, source: Option<&Source>) -> Result<u64> {
    let table = source.and_then(Source::table);
    if !table.is_some_and(|table| table.expires()) {
        let name = table.map_or("a query", |table| table.name.as_str());
        return Err(Error::unsupported(format!(
            "the hint _l_ttl_ on {name}, whose rows do not end: ALTER TABLE … SET 'TTL' = '0' lets \
             statements say when"
        )));
    }
    number.filter(|ttl_ms| *ttl_ms != 0).ok_or_else(|| {
        let text = "Incorrect arguments to _l_ttl_: milliseconds from 1 on";
        Error::new(Code::WrongArguments, text)
    })
}

fn name_indexes(hints: &mut Hints, names: &[String], source: Option<&Source>) -> Result<()> {
    let keys = hints.indexes_named.get_or_insert_default();
    for name in names {
        keys.push(key_ref(name, source)?);
    }
    Ok(())
}

fn ignore_indexes(hints: &mut Hints, names: &[String], source: Option<&Source>) -> Result<()> {
    for name in names {
        hints.indexes_ignored.push(key_ref(name, source)?);
    }
    Ok(())
}

fn ignore_all(hints: &mut Hints, source: Option<&Source>) {
    let table = source.and_then(Source::table);
    let count = table.map_or(0, |table| table.indexes.len());
    hints.indexes_ignored.extend((0..count).map(KeyRef::Index));
}

/// The key of that name.
///
/// # Errors
/// 1176.
fn key_ref(name: &str, source: Option<&Source>) -> Result<KeyRef> {
    if name.eq_ignore_ascii_case("PRIMARY") {
        return Ok(KeyRef::Primary);
    }
    let table = source.and_then(Source::table);
    let position = table.and_then(|table| table.index_position(name));
    position.map(KeyRef::Index).ok_or_else(|| {
        let alias = source.map_or("", |source| source.alias.as_str());
        let text = format!("Key '{name}' doesn't exist in table '{alias}'");
        Error::new(Code::KeyMissing, text)
    })
}
