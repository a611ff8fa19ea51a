//! A transaction: what it has seen, what it has written, what it has locked.
//!
//! Reads see one snapshot, taken at the first statement, plus the transaction's own writes. Writes
//! wait in the [`Overlay`](super::view::Overlay) until the commit, which checks that every row that was
//! read for writing is unchanged: snapshot isolation, the first committer wins (docs/durability.md, Isolation). A
//! statement's writes are gathered in [`StatementWrites`] first, so that a failed statement leaves no
//! trace. Under `READ COMMITTED` each statement reads a snapshot of its own ([`Transaction::reads_anew`]);
//! the commit compares with the oldest that something was written from. `undo` is how it goes back.
//!
//! A commit is done with the definitions that its statements were bound with, or not at all: it goes
//! through the gate of the [`Catalog`] and looks there whether they still hold.

mod newest;
mod seen;
mod undo;
mod writes;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use super::cancel::CancelToken;
use super::locks::{Held, Wait};
use super::view::View;
use crate::catalog::{Catalog, Definitions, Table, wide};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::kv::later::Later;
use crate::kv::{self, CommitError, Engine, Snapshot, Space, Ts};
use undo::Staged;

/// How often the writes of a commit lie in memory beside those that were gathered.
const COPIES: usize = 2;

/// Savepoints one transaction may have.
pub const SAVEPOINTS_MAX: usize = 1000;

/// A table as a statement that writes it was bound.
#[derive(Debug, Clone)]
pub struct BoundTable {
    /// Its definition.
    pub table: Arc<Table>,
    /// [`Catalog::version`] before it was looked up.
    pub catalog_version: u64,
}

impl BoundTable {
    fn is_current(&self, catalog: &Catalog) -> bool {
        catalog.version() == self.catalog_version || catalog.is_current(&self.table)
    }
}

/// The memory that a commit takes while it is made.
#[derive(Debug, Default)]
#[must_use]
pub struct CommitMemory {
    _held: Option<ceiling::Held>,
}

/// A commit that did not take place, or perhaps not.
#[derive(Debug)]
pub enum Failed {
    /// A table that was written has another definition now, or is gone: bind again.
    DefinitionChanged,
    /// The engine says why.
    Engine(CommitError),
    /// The process has no memory for it; nothing was done.
    Memory(Error),
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Error {
        match failed {
            Failed::DefinitionChanged => definition_changed(),
            Failed::Engine(cause) => cause.into(),
            Failed::Memory(error) => error,
        }
    }
}

/// Error 1412.
pub fn definition_changed() -> Error {
    let text = "Table definition has changed, please retry transaction";
    Error::new(Code::TableDefinitionChanged, text)
}

/// Error 1792.
pub fn read_only() -> Error {
    let text = "Cannot execute statement in a READ ONLY transaction.";
    Error::new(Code::ReadOnlyTransaction, text)
}

/// A point to which a transaction can go back.
struct Savepoint {
    name: String,
    mark: Mark,
}

pub use undo::Mark;
pub use writes::StatementWrites;

/// An open transaction, or the short one of an autocommit statement.
pub struct Transaction {
    engine: Arc<dyn Engine>,
    catalog: Arc<Catalog>,
    /// The tables that were written, even if it was taken back.
    tables: Vec<BoundTable>,
    snapshot_version: u64,
    /// Spaces from it on were made after the snapshot; of one of several statements.
    next_space: Space,
    locks: Held,
    lock_timeout: Duration,
    snapshot: Option<Arc<dyn Snapshot>>,
    /// When there was one.
    past: Past,
    /// The same snapshot, when tables of its own were made after it.
    later: Option<Arc<Later>>,
    staged: Staged,
    /// The oldest snapshot that something of it was made from.
    start_ts: Option<Ts>,
    /// As of when values had ended by which something of it was made ([`Snapshot::judged_ms`]).
    judged_ms: Option<u64>,
    savepoints: Vec<Savepoint>,
    /// Whether each statement reads the newest state: `READ COMMITTED`.
    pub reads_anew: bool,
    /// Whether `START TRANSACTION READ ONLY` began it.
    pub read_only: bool,
    /// The definitions when its snapshot was taken, or when it began; not of one that ends with its statement.
    pub known: Option<Arc<Definitions>>,
}

/// At what times a transaction had a snapshot already.
#[derive(Debug, Clone, Copy, Default)]
struct Past {
    /// When the statement began.
    had_snapshot: bool,
    /// When something was locked: it may be older than the lock.
    locked_late: bool,
}

impl Transaction {
    /// A transaction that has seen and done nothing, and locks rows for the owner of `locks`.
    pub fn new(
        engine: Arc<dyn Engine>,
        catalog: Arc<Catalog>,
        locks: Held,
        lock_timeout: Duration,
    ) -> Transaction {
        Transaction {
            engine,
            catalog,
            tables: Vec::new(),
            snapshot_version: 0,
            next_space: Space(u32::MAX),
            locks,
            lock_timeout,
            snapshot: None,
            past: Past::default(),
            later: None,
            staged: Staged::default(),
            start_ts: None,
            judged_ms: None,
            savepoints: Vec::new(),
            reads_anew: false,
            read_only: false,
            known: None,
        }
    }

    /// Checks that rows of a table may be written: in a read-only transaction those of temporary ones alone.
    ///
    /// # Errors
    /// 1792.
    pub fn check_may_write(&self, table: &Arc<Table>) -> Result<()> {
        if self.read_only && !self.catalog.is_temporary(table) {
            return Err(read_only());
        }
        Ok(())
    }

    /// What this transaction sees.
    pub fn view(&mut self) -> View {
        let snapshot = Arc::clone(self.snapshot());
        let overlay = &self.staged.overlay;
        let own = (!overlay.is_empty()).then(|| Arc::clone(overlay));
        View { snapshot, own }
    }

    /// Forgets the snapshot, so that the next read sees the newest state: for a statement in
    /// autocommit that starts over. Not while something is staged, whose conflicts are found by it.
    pub fn forget_snapshot(&mut self) {
        debug_assert!(self.is_clean(), "what is staged was read from the snapshot");
        self.past.locked_late = false;
        self.snapshot = None;
        self.later = None;
    }

    /// Takes its locks from it, for the same statement that starts over: nobody is in its way then.
    pub fn take_locks(&mut self) -> Held {
        let none = self.locks.another();
        std::mem::replace(&mut self.locks, none)
    }

    /// Goes on with locks that are held already, those of [`Transaction::take_locks`].
    pub fn go_on_with(&mut self, locks: Held) {
        self.locks = locks;
    }

    /// As [`Transaction::forget_snapshot`], and gives up all locks: whoever waits for one of them goes on.
    pub fn begin_again(&mut self) {
        self.locks = self.locks.another();
        self.forget_snapshot();
    }

    /// A statement begins, which waits for a lock no longer than `lock_timeout`.
    pub fn begin_statement(&mut self, lock_timeout: Duration) {
        self.lock_timeout = lock_timeout;
        if self.reads_anew {
            self.snapshot = None;
            self.later = None;
        }
        self.past.had_snapshot = self.has_snapshot();
    }

    /// Whether nothing was written.
    pub fn is_clean(&self) -> bool {
        self.staged.overlay.is_empty()
    }

    /// Locks one row until the transaction ends.
    ///
    /// # Errors
    /// 1205, 1213 and 1317.
    pub async fn lock(&mut self, space: Space, key: &[u8], cancel: &CancelToken) -> Result<()> {
        self.past.locked_late |= self.has_snapshot();
        let wait = Wait {
            timeout: self.lock_timeout,
            cancel,
        };
        self.locks.lock(space, key, wait).await
    }

    fn judged_now(&self) -> Option<u64> {
        let snapshot = self.snapshot.as_ref();
        snapshot.and_then(|snapshot| snapshot.judged_ms())
    }

    /// Whether nobody holds any row lock.
    pub fn are_locks_idle(&self) -> bool {
        self.locks.is_table_idle()
    }

    /// Makes a statement's writes part of the transaction.
    ///
    /// # Errors
    /// When the transaction becomes larger than the engine commits, or the process has no memory for it.
    pub fn stage(&mut self, mut statement: StatementWrites) -> Result<()> {
        let bytes_max = self.engine.limits().write_set_bytes_max;
        let bytes = self.staged.overlay.bytes();
        let bytes = bytes.saturating_add(statement.bytes);
        if bytes_max < bytes {
            return Err(too_large(bytes, bytes_max));
        }
        statement.ask_for_rest("transaction")?;
        if !statement.unchanged.is_empty() {
            let read_at = self.snapshot.as_ref().map(|snapshot| snapshot.ts());
            self.start_ts = match (self.start_ts, read_at) {
                (Some(first), Some(now)) => Some(first.min(now)),
                (first, now) => first.or(now),
            };
        }
        self.judged_ms = self.judged_ms.max(self.judged_now());
        if let Some(bound) = statement
            .table
            .take()
            .filter(|_| !statement.rows.is_empty())
        {
            let mut tables = self.tables.iter();
            if !tables.any(|known| wide::is_same(&known.table, &bound.table)) {
                self.tables.push(bound);
            }
        }
        self.staged.add(statement);
        Ok(())
    }

    /// Commits one statement's writes and nothing else: autocommit.
    ///
    /// # Errors
    /// Those of the engine; a changed definition.
    pub async fn commit_statement(
        &mut self,
        statement: StatementWrites,
    ) -> std::result::Result<(), Failed> {
        if statement.is_empty() {
            return Ok(());
        }
        let memory = self.memory_of(statement.put_bytes);
        let _memory = memory.map_err(Failed::Memory)?;
        let _pass = self.catalog.enter().await;
        let mut tables = statement.table.iter();
        if !tables.all(|bound| bound.is_current(&self.catalog)) {
            return Err(Failed::DefinitionChanged);
        }
        let start_ts = self.snapshot.as_ref().map(|snapshot| snapshot.ts());
        let mut writes = statement.into_write_set(start_ts);
        writes.judged_ms = self.judged_now();
        committed(self.engine.commit(writes).await)
    }

    /// Asks for what [`Transaction::commit`] takes while it is made. Who is refused has the transaction
    /// still, and may ask again.
    ///
    /// # Errors
    /// 1041.
    pub fn commit_memory(&self) -> Result<CommitMemory> {
        if self.is_clean() {
            return Ok(CommitMemory::default());
        }
        let written = self.staged.overlay.iter();
        let put = written.filter_map(|(_, key, value)| Some(key.len() + value?.len()));
        self.memory_of(put.sum())
    }

    /// Commits everything.
    ///
    /// # Errors
    /// Those of the engine, and a changed definition; the transaction is over either way.
    pub async fn commit(mut self, _memory: CommitMemory) -> std::result::Result<(), Failed> {
        if self.is_clean() {
            return Ok(());
        }
        let catalog = Arc::clone(&self.catalog);
        let _pass = catalog.enter().await;
        let is_kept =
            |bound: &BoundTable| bound.is_current(&catalog) || !self.has_written(&bound.table);
        if !self.tables.iter().all(is_kept) {
            return Err(Failed::DefinitionChanged);
        }
        let mut all = StatementWrites::default();
        let staged = std::mem::take(&mut self.staged);
        for (space, key, value) in staged.overlay.iter() {
            all.rows.insert((space, key.clone()), value.cloned());
        }
        all.growth = staged.overlay.growth.clone();
        all.absent = staged.absent.into_iter().collect();
        all.unchanged = staged.unchanged;
        let mut writes = all.into_write_set(self.start_ts);
        writes.judged_ms = self.judged_ms;
        match self.engine.commit(writes).await {
            // A table of which it has locked or read rows, and written none.
            Err(CommitError::Failed(kv::Error::NoSuchSpace(_))) => Err(Failed::DefinitionChanged),
            answer => committed(answer),
        }
    }

    /// Asks for what a commit of so many bytes that are put takes while it is made: they are copied into
    /// the batch and into the memtable. A small one need not ask, unless it stays in memory for good.
    fn memory_of(&self, put_bytes: usize) -> Result<CommitMemory> {
        if ceiling::GRAIN_BYTES <= put_bytes {
            let held = ceiling::hold("commit", put_bytes.saturating_mul(COPIES))?;
            return Ok(CommitMemory { _held: Some(held) });
        }
        if 0 < put_bytes && !self.engine.capabilities().persistent {
            ceiling::drip("commit", put_bytes)?;
        }
        Ok(CommitMemory::default())
    }

    /// A place that a statement goes back to if it fails: to be given to [`Transaction::end_mark`].
    pub fn mark(&mut self) -> Mark {
        self.trim();
        self.staged.mark()
    }

    /// The statement has ended; when it failed, what was written since is forgotten. Locks are kept.
    pub fn end_mark(&mut self, mark: Mark, succeeded: bool) {
        if !succeeded {
            self.staged.back_to(mark);
        }
        self.trim();
    }

    /// Without savepoints there is nothing to go back to between statements.
    fn trim(&mut self) {
        if self.savepoints.is_empty() {
            self.staged.forget_marks();
        }
    }

    /// `SAVEPOINT name`; one of the same name is replaced.
    ///
    /// # Errors
    /// Past [`SAVEPOINTS_MAX`].
    pub fn savepoint(&mut self, name: &str) -> Result<()> {
        self.savepoints
            .retain(|savepoint| !savepoint.name.eq_ignore_ascii_case(name));
        if self.savepoints.len() >= SAVEPOINTS_MAX {
            let text = format!("transaction has {SAVEPOINTS_MAX} savepoints, the most allowed");
            return Err(Error::new(Code::OutOfResources, text));
        }
        let mark = self.mark();
        self.savepoints.push(Savepoint {
            name: name.to_owned(),
            mark,
        });
        Ok(())
    }

    /// `ROLLBACK TO name`: later savepoints go, this one stays. Locks are kept.
    ///
    /// # Errors
    /// 1305 for an unknown name.
    pub fn rollback_to(&mut self, name: &str) -> Result<()> {
        let position = self.savepoint_position(name)?;
        self.savepoints.truncate(position + 1);
        if let Some(savepoint) = self.savepoints.last() {
            self.staged.back_to(savepoint.mark);
        }
        Ok(())
    }

    /// `RELEASE SAVEPOINT name`: it and later ones go.
    ///
    /// # Errors
    /// 1305 for an unknown name.
    pub fn release_savepoint(&mut self, name: &str) -> Result<()> {
        let position = self.savepoint_position(name)?;
        self.savepoints.truncate(position);
        self.trim();
        Ok(())
    }

    fn savepoint_position(&self, name: &str) -> Result<usize> {
        let found = self
            .savepoints
            .iter()
            .position(|point| point.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| no_savepoint(name))
    }
}

fn committed(answer: std::result::Result<Ts, CommitError>) -> std::result::Result<(), Failed> {
    answer.map(|_| ()).map_err(Failed::Engine)
}

/// Error 1305 of ROLLBACK TO and RELEASE.
pub fn no_savepoint(name: &str) -> Error {
    Error::new(
        Code::SavepointMissing,
        format!("SAVEPOINT {name} does not exist"),
    )
}

/// The error of a statement or transaction that is too large to commit.
pub fn too_large(bytes: usize, bytes_max: usize) -> Error {
    CommitError::TooLarge {
        what: "transaction",
        bytes,
        bytes_max,
    }
    .into()
}
