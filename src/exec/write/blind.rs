//! Which INSERTs are written without a look at what is there.

use super::Env;
use super::counted::Given;
use crate::catalog::Table;
use crate::sql::bound::{Insert, InsertKind};
use crate::types::Value;

/// Whether no old row is needed.
pub fn is_blind(insert: &Insert, env: &Env) -> bool {
    match insert.kind {
        // A row that has ended is still in the way of one that must be new.
        _ if insert.table.expires() => false,
        // Where versions are kept, an old row has some, and a deleted one has left its time.
        _ if insert.table.wide.versions.is_some() => false,
        InsertKind::Insert => env.autocommit && insert.on_duplicate.is_empty(),
        InsertKind::Upsert => names_every_column(insert) && !has_written_index(&insert.table),
        InsertKind::InsertIgnore | InsertKind::Replace => false,
    }
}

/// Whether these rows may be written without a look. One that brings an id which is not counted yet, and
/// may be refused for another key, is looked at: else the id would be used up in vain.
pub(super) fn may_write<'r>(
    (insert, rows): (&Insert, impl Iterator<Item = &'r [Value<'static>]>),
    env: &Env,
) -> bool {
    if !is_blind(insert, env) {
        return false;
    }
    if insert.kind != InsertKind::Insert {
        return true;
    }
    let mut given = Given::to(&insert.table);
    rows.for_each(|row| given.note(row));
    given.is_in_all_keys(&insert.table) || !given.is_news(env)
}

/// Whether every column of the table is given a value, so that nothing old can remain.
fn names_every_column(insert: &Insert) -> bool {
    let columns_count = insert.table.columns.len();
    (0..columns_count).all(|column_idx| insert.columns.contains(&column_idx))
}

/// Whether a row has entries or a row in a shadow, so that those of the row before it must be known.
fn has_written_index(table: &Table) -> bool {
    table.shadow.is_some() || table.indexes.iter().any(|index| index.state.is_written())
}
