//! What the rows of a table and the entries of its indexes show, as far as they are looked at: the
//! first and the last few thousand of each, in one snapshot.

use std::sync::Arc;

use super::lints::{Advice, KEY_CHARS_FEW, Lint, PRIMARY_KEY, subject};
use crate::catalog::{Index, IndexState, KeyPart, Table};
use crate::codec::key;
use crate::error::Result;
use crate::kv::{Engine, KeyRange, Page, Scan, Snapshot, Space};
use crate::types::{ColumnType, Value};

/// Entries that are looked at from each end.
const SAMPLED_MAX: usize = 4000;

/// Entries below which nothing is said: values of few rows tell nothing.
const ENTRIES_FEW: usize = 100;

/// Of so many entries, one value is nearly constant.
const ENTRIES_PER_VALUE: usize = 50;

/// Bytes that all keys begin with.
const PREFIX_BYTES_MANY: usize = 8;

/// What was read of one space: its keys, in order, without those between the two ends.
pub struct Sample {
    keys: Vec<Vec<u8>>,
    /// Whether these are all.
    is_whole: bool,
}

/// The values of the first part of some keys.
struct Firsts {
    entries: usize,
    distinct: usize,
}

impl Sample {
    async fn of(snapshot: &dyn Snapshot, space: Space) -> Result<Sample> {
        let mut keys = Self::end(snapshot, space, false).await?;
        let mut last = Self::end(snapshot, space, true).await?;
        last.reverse();
        let is_whole = match (keys.last(), last.first()) {
            (Some(until), Some(from)) => from <= until,
            (_, _) => true,
        };
        if let Some(until) = keys.last().cloned() {
            last.retain(|key| until < *key);
        }
        keys.append(&mut last);
        Ok(Sample { keys, is_whole })
    }

    async fn end(snapshot: &dyn Snapshot, space: Space, reverse: bool) -> Result<Vec<Vec<u8>>> {
        let mut scan = Scan::new(space, KeyRange::all());
        scan.options.reverse = reverse;
        scan.options.keys_only = true;
        let mut keys = Vec::new();
        let mut page = Page::default();
        loop {
            scan.options.max_rows = SAMPLED_MAX.saturating_sub(keys.len()).max(1);
            snapshot.scan(&scan, &mut page).await?;
            keys.extend(page.iter().map(|(key, _)| key.to_vec()));
            if SAMPLED_MAX <= keys.len() || !scan.advance(&mut page) {
                return Ok(keys);
            }
        }
    }

    /// How many different values the first part has; a `NULL` counts as one.
    fn firsts(&self, part: KeyPart, ty: &ColumnType) -> Result<Firsts> {
        let mut distinct = 0;
        let mut before: Option<&[u8]> = None;
        for key in &self.keys {
            let rest = key::skip_part(key, ty, part.direction)?;
            let first = key.get(..key.len() - rest.len()).unwrap_or_default();
            if before != Some(first) {
                distinct += 1;
                before = Some(first);
            }
        }
        Ok(Firsts {
            entries: self.keys.len(),
            distinct,
        })
    }

    fn told(&self) -> String {
        let count = self.keys.len();
        if self.is_whole {
            format!("all {count} entries")
        } else {
            format!("the {count} first and last entries")
        }
    }
}

/// What the rows of a table show. `was_read` says whether an index was read since the server was
/// started.
///
/// # Errors
/// 1712 for a damaged key; those of the engine.
pub async fn of_rows(
    engine: &Arc<dyn Engine>,
    table: &Table,
    was_read: &(dyn Fn(&Index) -> bool + Sync),
) -> Result<Vec<Advice>> {
    let snapshot = engine.snapshot();
    let mut found = Vec::new();
    let rows = Sample::of(snapshot.as_ref(), Space(table.id.0)).await?;
    if !table.has_hidden_key() {
        of_key(table, &rows, &mut found)?;
    }
    for index in &table.indexes {
        if index.state != IndexState::Active {
            continue;
        }
        let entries = Sample::of(snapshot.as_ref(), Space(index.id.0)).await?;
        of_index((table, index), &entries, &mut found)?;
        if !was_read(index) && !index.unique && ENTRIES_FEW <= entries.keys.len() {
            let evidence = format!("{} are kept up", entries.told());
            found.push(Advice::new(Lint::UnusedIndex, subject(index), evidence));
        }
    }
    Ok(found)
}

fn of_key(table: &Table, rows: &Sample, found: &mut Vec<Advice>) -> Result<()> {
    let Some(part) = table.key.first() else {
        return Ok(());
    };
    let Some(column) = table.columns.get(part.column_idx) else {
        return Ok(());
    };
    if rows.keys.len() < ENTRIES_FEW {
        return Ok(());
    }
    let is_bare = table.spread().is_none();
    let firsts = rows.firsts(*part, &column.ty)?;
    if is_bare && 1 < table.key.len() && firsts.distinct * ENTRIES_PER_VALUE <= firsts.entries {
        let evidence = format!(
            "{} have {} values of {}",
            rows.told(),
            firsts.distinct,
            column.name
        );
        found.push(Advice::new(Lint::FewValuesKey, PRIMARY_KEY, evidence));
    }
    let bytes: usize = rows.keys.iter().map(Vec::len).sum();
    let mean = bytes / rows.keys.len();
    if usize::try_from(KEY_CHARS_FEW).is_ok_and(|few| few < mean) {
        let evidence = format!("the keys of {} have {mean} bytes on average", rows.told());
        found.push(Advice::new(Lint::LongKey, PRIMARY_KEY, evidence));
    }
    if !is_bare {
        return Ok(());
    }
    if let Some(evidence) = common_prefix((part, &column.ty), rows)? {
        found.push(Advice::new(Lint::CommonPrefixKey, PRIMARY_KEY, evidence));
    }
    Ok(())
}

/// What the values of the first column begin with, all of them: by that of the first and of the last entry.
fn common_prefix((part, ty): (&KeyPart, &ColumnType), entries: &Sample) -> Result<Option<String>> {
    let (Some(first), Some(last)) = (entries.keys.first(), entries.keys.last()) else {
        return Ok(None);
    };
    let first = key::decode_part(first, ty, part.direction)?.0;
    let last = key::decode_part(last, ty, part.direction)?.0;
    let (Value::Text(first), Value::Text(last)) = (&first, &last) else {
        return Ok(None);
    };
    let pairs = first.chars().zip(last.chars());
    let prefix: String = pairs.take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    let is_common = first != last && PREFIX_BYTES_MANY <= prefix.len();
    Ok(is_common.then(|| format!("all begin with '{prefix}'")))
}

fn of_index(
    (table, index): (&Table, &Index),
    entries: &Sample,
    found: &mut Vec<Advice>,
) -> Result<()> {
    let Some(part) = index.parts.first() else {
        return Ok(());
    };
    let Some(column) = index.column(table, part.column_idx) else {
        return Ok(());
    };
    if entries.keys.len() < ENTRIES_FEW {
        return Ok(());
    }
    if let Some(evidence) = common_prefix((part, &column.ty), entries)? {
        found.push(Advice::new(Lint::CommonPrefixKey, subject(index), evidence));
    }
    let firsts = entries.firsts(*part, &column.ty)?;
    let evidence = format!(
        "{} have {} values of {}",
        entries.told(),
        firsts.distinct,
        column.name
    );
    if firsts.distinct * ENTRIES_PER_VALUE <= firsts.entries
        && index.parts.len() == 1
        && index.computed.filter.is_none()
    {
        found.push(Advice::new(
            Lint::NearConstantIndex,
            subject(index),
            evidence,
        ));
    } else if !index.unique
        && index.parts.len() == 1
        && index.computed.filter.is_none()
        && firsts.distinct == firsts.entries
    {
        found.push(Advice::new(Lint::NearUniqueIndex, subject(index), evidence));
    }
    Ok(())
}
