//! Whether what a transaction has locked is as it has read it.
//!
//! Rows that a scan finds are locked after they are read: who held them, or was quicker, may have changed them
//! in between. The commit of what was written notices; who only reads is to know at once.

use std::sync::Arc;

use super::{StatementWrites, Transaction, definition_changed};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::exec::cancel::CancelToken;
use crate::exec::view::View;
use crate::kv::{self, Key, Snapshot, Space};

/// Rows that are compared together, at most.
const KEYS_TOGETHER: usize = 512;

impl Transaction {
    /// Whether rows that are locked are in the newest state as they are in the snapshot.
    ///
    /// # Errors
    /// 1412 when the table has other storage by now; those of the engine, and what ends the statement.
    pub async fn are_newest(
        &self,
        table: &Arc<Table>,
        keys: &[Key],
        cancel: &CancelToken,
    ) -> Result<bool> {
        let Some(snapshot) = &self.snapshot else {
            return Ok(true);
        };
        // Nobody else writes a temporary table.
        if self.catalog.is_temporary(table) {
            return Ok(true);
        }
        let newest = View::newest(&*self.engine);
        let states = (&**snapshot, &*newest.snapshot);
        are_same(states, (Space(table.id.0), keys), cancel).await
    }

    /// Whether something was locked when there was a snapshot, which may be older than the lock.
    pub fn has_locked_late(&self) -> bool {
        self.past.locked_late
    }

    /// Whether all that a statement has read for writing is in the newest state as it is in the snapshot: for a statement
    /// that has come to nothing, of which no commit would tell that it has waited for who changed it.
    ///
    /// # Errors
    /// As [`Transaction::are_newest`].
    pub async fn has_read_newest(
        &self,
        statement: &StatementWrites,
        cancel: &CancelToken,
    ) -> Result<bool> {
        let Some(snapshot) = &self.snapshot else {
            return Ok(true);
        };
        let bound = statement.table.as_ref();
        if bound.is_some_and(|bound| self.catalog.is_temporary(&bound.table)) {
            return Ok(true);
        }
        let newest = View::newest(&*self.engine);
        let states = (&**snapshot, &*newest.snapshot);
        let mut places = statement.unchanged.iter().peekable();
        while let Some((space, _)) = places.peek().copied() {
            let of_one = std::iter::from_fn(|| places.next_if(|(at, _)| at == space));
            let keys: Vec<Key> = of_one.map(|(_, key)| key.clone()).collect();
            if !are_same(states, (*space, &keys), cancel).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether this statement has taken the snapshot, of which nothing is staged yet.
    pub fn may_renew_snapshot(&self) -> bool {
        !self.past.had_snapshot
    }

    /// Forgets the snapshot if this statement has taken it; whether it has.
    pub fn renew_snapshot(&mut self) -> bool {
        if !self.may_renew_snapshot() {
            return false;
        }
        self.snapshot = None;
        self.later = None;
        true
    }
}

/// Whether rows have the same values in two states.
async fn are_same(
    (one, other): (&dyn Snapshot, &dyn Snapshot),
    (space, keys): (Space, &[Key]),
    cancel: &CancelToken,
) -> Result<bool> {
    if one.ts() == other.ts() {
        return Ok(true);
    }
    let mut rows_done = 0;
    while let Some(rest) = keys.get(rows_done..).filter(|rest| !rest.is_empty()) {
        cancel.check()?;
        let batch = rest.get(..KEYS_TOGETHER).unwrap_or(rest);
        // Of large rows, some.
        let now = other.multi_get(space, batch).await.map_err(unreadable)?;
        let batch = batch.get(..now.len()).unwrap_or(batch);
        let seen = kv::multi_get_all(one, space, batch).await;
        if now != seen.map_err(unreadable)? {
            return Ok(false);
        }
        rows_done += batch.len();
    }
    Ok(true)
}

fn unreadable(cause: kv::Error) -> Error {
    if matches!(cause, kv::Error::NoSuchSpace(_)) {
        return definition_changed();
    }
    cause.into()
}
