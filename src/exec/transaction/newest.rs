//! Whether what a transaction has locked is as it has read it.
//!
//! Rows that a scan finds are locked after they are read: who held them, or was quicker, may have changed them
//! in between. The commit of what was written notices; who only reads is to know at once.

use std::sync::Arc;

use super::{Transaction, definition_changed};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::exec::cancel::CancelToken;
use crate::exec::view::View;
use crate::kv::{self, Key, Space};

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
        let newest = View::newest(&*self.engine);
        // Nobody else writes a temporary table.
        if newest.snapshot.ts() == snapshot.ts() || self.catalog.is_temporary(table) {
            return Ok(true);
        }
        let (space, mut rows_done) = (Space(table.id.0), 0);
        while let Some(rest) = keys.get(rows_done..).filter(|rest| !rest.is_empty()) {
            cancel.check()?;
            let batch = rest.get(..KEYS_TOGETHER).unwrap_or(rest);
            // Of large rows, some.
            let now = newest.snapshot.multi_get(space, batch).await;
            let now = now.map_err(unreadable)?;
            let batch = batch.get(..now.len()).unwrap_or(batch);
            let seen = kv::multi_get_all(&**snapshot, space, batch).await;
            if now != seen.map_err(unreadable)? {
                return Ok(false);
            }
            rows_done += batch.len();
        }
        Ok(true)
    }

    /// Forgets the snapshot if this statement has taken it, of which nothing is staged yet; whether it has.
    pub fn renew_snapshot(&mut self) -> bool {
        if self.had_snapshot {
            return false;
        }
        self.snapshot = None;
        self.later = None;
        true
    }
}

fn unreadable(cause: kv::Error) -> Error {
    if matches!(cause, kv::Error::NoSuchSpace(_)) {
        return definition_changed();
    }
    cause.into()
}
