//! Mending one difference, in the state of now.

use super::Side;
use crate::error::{Code, Error, Result};
use crate::index;
use crate::kv::{CommitError, Snapshot, WriteSet};

/// How often one difference is looked at again when others change the same row meanwhile.
const ATTEMPTS_MAX: usize = 100;

/// What one look at a difference led to.
enum Look {
    /// There is none any more, or it is mended.
    Fine,
    /// It cannot be mended: two rows claim one entry of a unique index.
    Hopeless,
    /// Somebody changed row or entry: look again.
    Again,
}

impl Side<'_> {
    /// Gives a row its entry. `false` when it belongs to another row with the same values.
    pub(super) async fn mend_row(&self, row_key: &[u8]) -> Result<bool> {
        for _ in 0..ATTEMPTS_MAX {
            self.checker.cancel.check()?;
            match self.look_at_row(row_key).await? {
                Look::Fine => return Ok(true),
                Look::Hopeless => return Ok(false),
                Look::Again => tokio::task::yield_now().await,
            }
        }
        Err(too_busy())
    }

    async fn look_at_row(&self, row_key: &[u8]) -> Result<Look> {
        let maker = &self.maker;
        let snapshot = self.checker.engine.snapshot();
        let Some(row) = snapshot.get(maker.rows_space(), row_key).await? else {
            return Ok(Look::Fine);
        };
        let Some(made) = maker.of_row((row_key, &row))? else {
            return Ok(Look::Fine);
        };
        let entry = made.entry;
        let found = snapshot.get(maker.entries_space(), &entry.key).await?;
        if let Some(value) = found {
            if maker.is_value((&entry.value, &value)) {
                return Ok(Look::Fine);
            }
            let pair = (entry.key.as_slice(), value.as_ref());
            let owner = index::primary_key(maker.table, maker.index, pair).unwrap_or_default();
            if owner != row_key
                && let Some(other) = snapshot.get(maker.rows_space(), &owner).await?
                && maker.has_entry((&owner, &other), &entry.key)?
            {
                return Ok(Look::Hopeless);
            }
        }
        let mut writes = self.writes_beside(snapshot.as_ref(), row_key);
        let space = maker.entries_space();
        writes.must_be_unchanged.push((space, entry.key.clone()));
        writes.put(space, entry.key, entry.value);
        self.commit(writes).await
    }

    /// Deletes an entry that no row has.
    pub(super) async fn mend_entry(&self, entry_key: &[u8]) -> Result<bool> {
        for _ in 0..ATTEMPTS_MAX {
            self.checker.cancel.check()?;
            match self.look_at_entry(entry_key).await? {
                Look::Fine => return Ok(true),
                Look::Hopeless => return Ok(false),
                Look::Again => tokio::task::yield_now().await,
            }
        }
        Err(too_busy())
    }

    async fn look_at_entry(&self, entry_key: &[u8]) -> Result<Look> {
        let maker = &self.maker;
        let snapshot = self.checker.engine.snapshot();
        let space = maker.entries_space();
        let Some(value) = snapshot.get(space, entry_key).await? else {
            return Ok(Look::Fine);
        };
        let owner = index::primary_key(maker.table, maker.index, (entry_key, &value));
        let owner = owner.unwrap_or_default();
        if let Some(row) = snapshot.get(maker.rows_space(), &owner).await?
            && maker.has_entry((&owner, &row), entry_key)?
        {
            return Ok(Look::Fine);
        }
        let mut writes = self.writes_beside(snapshot.as_ref(), &owner);
        writes.must_be_unchanged.push((space, entry_key.to_vec()));
        writes.delete(space, entry_key);
        self.commit(writes).await
    }

    /// Writes by what a snapshot has shown, that hold only if this row stays as it is.
    fn writes_beside(&self, snapshot: &dyn Snapshot, row_key: &[u8]) -> WriteSet {
        let mut writes = WriteSet::from_snapshot(snapshot.ts());
        writes.judged_ms = snapshot.judged_ms();
        if !row_key.is_empty() {
            let row = (self.maker.rows_space(), row_key.to_vec());
            writes.must_be_unchanged.push(row);
        }
        writes
    }

    async fn commit(&self, writes: WriteSet) -> Result<Look> {
        match self.checker.engine.commit(writes).await {
            Ok(_) => Ok(Look::Fine),
            Err(CommitError::Conflict { .. }) => Ok(Look::Again),
            Err(error) => Err(error.into()),
        }
    }
}

fn too_busy() -> Error {
    let text = format!(
        "concurrent statements changed a row {ATTEMPTS_MAX} times while it was repaired; try again"
    );
    Error::new(Code::Deadlock, text)
}
