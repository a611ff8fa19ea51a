//! An UPDATE that gives rows another primary key: each goes, and comes again under the new one.
//!
//! Rows move one after the other, as in MySQL: `SET id = id + 1` meets the next row, unless ORDER BY
//! begins with the last. A row whose new key or values another row has stays as it was, so that IGNORE
//! may leave it out. Rows that keep versions stay under their key: what was written to either of the keys
//! at other times would have to move, too.

use super::change::Found;
use super::changer::Changer;
use super::{counted, duplicate_entry, row, space};
use crate::error::Result;
use crate::kv::Key;
use crate::sql::bound::Update;
use crate::types::Value;

/// Whether rows may get another key.
pub(super) fn may_move(update: &Update) -> bool {
    let mut assigned = update.assignments.iter();
    assigned.any(|(idx, _)| update.table.key_position(*idx).is_some())
}

/// Gives a row its new values, and the key that follows from them.
///
/// # Errors
/// 1062 when another row has the key, or the values of a unique index; as [`Changer::change`].
pub(super) async fn change_or_move(
    changer: &mut Changer<'_>,
    old: &Found,
    mut new: Vec<Value<'static>>,
) -> Result<()> {
    let table = changer.table;
    table.fill_spread(&mut new)?;
    let key = row::key(table, &new)?;
    if key == old.key {
        return changer
            .change(&old.key, Some(&old.values), Some(&new))
            .await;
    }
    check_free(changer, &key).await?;
    if let Some(met) = changer.collision(&old.key, &new).await? {
        let zone = &changer.env.ctx.zone;
        return Err(duplicate_entry(table, met.space, &met.entry_key, zone));
    }
    changer.change(&old.key, Some(&old.values), None).await?;
    counted::pass_set((table, changer.env), (&old.values, &new)).await?;
    changer.change(&key, None, Some(&new)).await
}

/// Checks that no row has the key, after what the statement has done so far; it stays so until the commit.
async fn check_free(changer: &mut Changer<'_>, key: &Key) -> Result<()> {
    let at = space(changer.table);
    let there = if let Some(own) = changer.own_value(at, key) {
        own
    } else {
        let cancel = &changer.env.cancel;
        changer.transaction.lock(at, key, cancel).await?;
        changer.writes.must_be_unchanged(at, key.clone());
        changer.transaction.view().get(at, key).await?
    };
    match there {
        Some(_) => Err(duplicate_entry(
            changer.table,
            at,
            key,
            &changer.env.ctx.zone,
        )),
        None => Ok(()),
    }
}
