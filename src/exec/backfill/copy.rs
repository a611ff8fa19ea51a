//! From the rows of a page to the rows and entries of the table's shadow: the same values under
//! another primary key ([`Table::shadow`]).
//!
//! A row of the shadow has all columns of its source, those of the old key too, the hidden one
//! included: so it can be told whose it is, when a row with that key is there already.

use std::collections::HashSet;
use std::sync::Arc;

use crate::catalog::{Table, wide};
use crate::error::{Code, Error, Result};
use crate::exec::pace::Pace;
use crate::exec::row::{Layout, StoredRow};
use crate::exec::write::{duplicate_entry, entries, row, space};
use crate::index::{self, Entry};
use crate::kv::{self, Key, Page, Snapshot, Space, WriteSet};
use crate::leisure;
use crate::types::{Value, Zone};

/// A row as the shadow has it.
struct Copied {
    /// The key of the row that it is made from.
    source: Key,
    key: Key,
    value: Vec<u8>,
    entries: Vec<(Space, Entry)>,
}

/// Puts the rows of a page, which must be unchanged until the commit; how many.
///
/// # Errors
/// 1062 for two rows with the same key, 1138 for a `NULL` in it, 1071 for one that is too long; 1712
/// for a damaged row.
pub(super) async fn put_rows(
    table: &Arc<Table>,
    page: Page,
    ((snapshot, is_careful), writes): ((&dyn Snapshot, bool), &mut WriteSet),
) -> Result<usize> {
    // The cells under names that nobody declared go along.
    let table = wide::widened(table, &[]);
    let shadow = table.shadow.clone();
    let shadow = shadow.ok_or_else(|| Error::internal("a table lost its shadow"))?;
    let (from, to) = (Arc::clone(&table), Arc::clone(&shadow));
    let work = leisure::long_blocking(move || {
        let layout = Layout::of(&from);
        let rows = page.iter();
        let mut turns = Pace::default();
        let rows = rows.map(|pair| {
            turns.end_if_over();
            copied((&from, &to), &layout, pair)
        });
        rows.collect::<Result<Vec<Copied>>>()
    });
    let stopped = || Error::internal("copying a page was stopped");
    let rows = work.await.ok_or_else(stopped)??;
    let count = rows.len();
    let at = space(&shadow);
    let sources = rows.iter().map(|row| (space(&table), row.source.clone()));
    writes.must_be_unchanged.extend(sources);
    let mut seen = HashSet::with_capacity(count);
    if let Some(twice) = rows.iter().find(|row| !seen.insert(&row.key)) {
        return Err(duplicate_entry(&shadow, at, &twice.key, &Zone::UTC));
    }
    let found = if is_careful {
        let keys: Vec<Key> = rows.iter().map(|row| row.key.clone()).collect();
        kv::multi_get_all(snapshot, at, &keys).await?
    } else {
        let keys = rows.iter().map(|row| (at, row.key.clone()));
        writes.must_be_absent.extend(keys);
        vec![None; count]
    };
    let layout = Layout::of(&shadow);
    let mut grown = 0;
    for (row, found) in rows.into_iter().zip(found) {
        if let Some(found) = found {
            // Its writer has put it there, or another row's has.
            let owner = owner((&table, &shadow), &layout, (&row.key, &found))?;
            if owner != row.source {
                return Err(duplicate_entry(&shadow, at, &row.key, &Zone::UTC));
            }
            continue;
        }
        if is_careful {
            // Of a row that has ended there may be one that nobody sees.
            writes.must_be_unchanged.push((at, row.key.clone()));
        }
        grown += 1;
        writes.put(at, row.key, row.value);
        for (at, entry) in row.entries {
            writes.put(at, entry.key, entry.value);
        }
    }
    if !table.expires() {
        writes.growth.insert(at, grown);
    }
    Ok(count)
}

fn copied(
    (table, shadow): (&Table, &Table),
    layout: &Layout,
    (key, value): (&[u8], &[u8]),
) -> Result<Copied> {
    let values = StoredRow::parse(table, layout, key, value)?.to_values()?;
    check_nulls((table, shadow), key, &values)?;
    let changes = entries::changes(shadow, None, Some(&values))?;
    let entries = changes.into_iter().filter_map(|change| {
        let index = shadow.indexes.get(change.index_position)?;
        Some((index::space(index), change.put?))
    });
    Ok(Copied {
        source: key.to_vec(),
        key: row::key(shadow, &values)?,
        value: row::value(shadow, &values)?,
        entries: entries.collect(),
    })
}

fn check_nulls((table, shadow): (&Table, &Table), key: &[u8], values: &[Value<'_>]) -> Result<()> {
    let is_null = |idx: usize| values.get(idx).is_none_or(Value::is_null);
    let mut parts = shadow.key.iter().map(|part| part.column_idx);
    let Some(column_idx) = parts.find(|idx| is_null(*idx)) else {
        return Ok(());
    };
    let column = shadow.columns.get(column_idx);
    let text = format!(
        "Invalid use of NULL value: column '{}' of the new primary key is NULL in row {}",
        column.map_or("", |column| &column.name),
        key_text(table, key)
    );
    Err(Error::new(Code::NullInvalid, text))
}

/// The primary key of a row, for people.
fn key_text(table: &Table, key: &[u8]) -> String {
    let parts = table.key.iter().filter_map(|part| {
        let column = table.columns.get(part.column_idx)?;
        Some((&column.ty, part.direction))
    });
    match crate::codec::keyspace::decode_row_key(key, parts) {
        Ok(values) => crate::codec::keyspace::format_key(&values),
        Err(_) => key.escape_ascii().to_string(),
    }
}

/// The key in the table of the row that one of the shadow belongs to.
///
/// # Errors
/// 1712 for a damaged row.
pub(crate) fn owner(
    (table, shadow): (&Table, &Table),
    layout: &Layout,
    (key, value): (&[u8], &[u8]),
) -> Result<Key> {
    let stored = StoredRow::parse(shadow, layout, key, value)?;
    let mut values = vec![Value::Null; table.columns.len()];
    for part in &table.key {
        if let Some(place) = values.get_mut(part.column_idx) {
            *place = stored.value(part.column_idx)?;
        }
    }
    row::key(table, &values)
}
