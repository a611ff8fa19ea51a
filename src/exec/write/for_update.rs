//! `SELECT … FOR UPDATE`: its rows are found and locked, and read from a state in which they are as they were locked.
//!
//! A scan reads rows before they are locked, and then may wait for who changes them. Where they have changed since
//! the snapshot it is taken anew and they are found again; a snapshot of an earlier statement stays, and that is
//! error 1213.

use std::collections::HashSet;
use std::sync::Arc;

use super::change::{Finder, Target};
use super::{CONFLICT_ATTEMPTS_MAX, Env, space, too_many_conflicts};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::exec::row::Layout;
use crate::exec::transaction::{StatementWrites, Transaction};
use crate::kv::Key;
use crate::sql::bound::Select;

impl<'a> Target<'a> {
    /// The rows of a SELECT that are locked: as many as it reads, where each row that it returns is one of the
    /// table, else all that meet the condition.
    fn of_select(select: &'a Select, table: &'a Arc<Table>) -> Target<'a> {
        let is_cut = is_cut(select);
        Target {
            table,
            filter: select.filter.as_ref(),
            order_by: if is_cut { &select.order_by } else { &[] },
            limit: select.limit.as_ref().filter(|_| is_cut),
            offset: select.offset.as_ref().filter(|_| is_cut),
            hints: &select.hints,
        }
    }
}

/// Whether LIMIT is about rows of the table: not about groups, and not about what is left of the rows.
fn is_cut(select: &Select) -> bool {
    select.limit.is_some()
        && select.aggregation.is_none()
        && select.windowing.is_none()
        && select.having.is_none()
        && !select.distinct
}

/// Locks the rows of a `SELECT … FOR UPDATE`, before it is run from the same transaction. They must be
/// unchanged at its commit too, and so must keys that were asked for and have no row, or one that does not meet the
/// condition. Returns the keys of the only rows that it may read then; `None` where it reads all that meet its
/// condition.
///
/// # Errors
/// Refusals, 1205; 1213, also when a row has changed since the snapshot of an earlier statement.
pub async fn lock_rows(
    (select, table): (&Select, &Arc<Table>),
    env: &Env,
    transaction: &mut Transaction,
) -> Result<Option<Vec<Key>>> {
    let target = Target::of_select(select, table);
    let layout = Layout::of(table);
    for _ in 0..CONFLICT_ATTEMPTS_MAX {
        let mut finder = Finder::new(target, (&layout, env), &mut *transaction);
        let found = finder.find().await?.into_iter().map(|found| found.key);
        let (known_keys, locked_late) = (finder.known_keys, finder.locked_late);
        let found: Vec<Key> = found.collect();
        let to_read = is_cut(select).then(|| each_once(table, found.clone()));
        // Where keys are known, what was found is among them.
        let locked = if known_keys.is_empty() {
            found
        } else {
            known_keys
        };
        if !locked_late || transaction.are_newest(table, &locked, &env.cancel).await? {
            let mut reads = StatementWrites::default();
            for key in locked {
                reads.must_be_unchanged(space(table), key);
            }
            transaction.stage(reads)?;
            return Ok(to_read);
        }
        if !transaction.renew_snapshot() {
            let text = "a concurrent transaction changed rows that were to be locked since this one has \
                        begun to read; try again";
            return Err(Error::new(Code::Deadlock, text));
        }
    }
    Err(too_many_conflicts())
}

/// The keys, in their order. Of a row whose versions are read one was found for each version.
fn each_once(table: &Table, mut keys: Vec<Key>) -> Vec<Key> {
    if table.wide.reading.is_some() {
        let mut seen = HashSet::new();
        keys.retain(|key| seen.insert(key.clone()));
    }
    keys
}
