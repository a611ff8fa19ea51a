//! BEGIN to COMMIT: the open transaction of a session, explicit or begun by `autocommit=0`.

use std::sync::Arc;

use super::Session;
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::exec::cancel::Stop;
use crate::exec::transaction::{Transaction, definition_changed, no_savepoint};
use crate::exec::write;
use crate::sql::ast::{AccessMode, Begin, EndTransaction, IsolationLevel};

/// What `SET TRANSACTION` without a scope says: it holds for the next transaction, and until that has
/// ended. A statement on tables in autocommit is a transaction of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Next {
    pub(super) isolation: Option<IsolationLevel>,
    pub(super) access: Option<AccessMode>,
}

impl Session {
    /// A transaction that has seen nothing.
    pub(super) fn new_transaction(&self) -> Transaction {
        let shared = &self.shared;
        Transaction::new(
            Arc::clone(&shared.engine),
            Arc::clone(&shared.catalog),
            shared.locks.owner(self.client.connection_id),
            self.settings.lock_timeout,
        )
    }

    /// One of several statements, between which definitions may change.
    fn long_transaction(&self) -> Transaction {
        let mut transaction = self.new_transaction();
        transaction.known = Some(self.shared.catalog.current());
        transaction.reads_anew = match self.next.isolation {
            None => self.settings.reads_anew,
            Some(IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted) => true,
            Some(IsolationLevel::RepeatableRead | IsolationLevel::Serializable) => false,
        };
        transaction
    }

    /// A statement begins, or begins again.
    pub(super) fn begin_statement(&mut self) {
        if let Some(open) = &mut self.transaction {
            open.begin_statement(self.settings.lock_timeout);
        }
        self.had_snapshot = self
            .transaction
            .as_ref()
            .is_some_and(Transaction::has_snapshot);
    }

    /// Whether a transaction that begins now may not write.
    pub(super) fn is_read_only(&self) -> bool {
        match self.next.access {
            Some(access) => access == AccessMode::ReadOnly,
            None => self.settings.read_only,
        }
    }

    /// A statement on tables has ended: in autocommit it was the transaction that `SET TRANSACTION`
    /// was about.
    pub(super) fn spend_next(&mut self) {
        if self.transaction.is_none() {
            self.next = Next::default();
        }
    }

    /// The transaction a statement on rows belongs to: the open one, or with `autocommit=0` a new
    /// one. `None` in autocommit.
    pub(super) fn current_transaction(&mut self) -> Option<&mut Transaction> {
        if self.transaction.is_none() && !self.settings.autocommit {
            let mut transaction = self.long_transaction();
            transaction.read_only = self.is_read_only();
            self.transaction = Some(transaction);
        }
        self.transaction.as_mut()
    }

    /// Whether a statement may read the secondary indexes of its table: the snapshot of a transaction
    /// may be older than the entries of an index that was built since.
    pub(super) fn may_use_indexes(&mut self, table: Option<&Arc<Table>>) -> bool {
        let transaction = self.current_transaction();
        transaction.is_none_or(|open| table.is_none_or(|table| open.sees_indexes_of(table)))
    }

    /// Refuses tables whose rows the open transaction does not see: they were copied since its
    /// snapshot. Those that were created since are empty.
    ///
    /// # Errors
    /// 1412.
    pub(super) fn check_seen(&mut self, tables: &[Arc<Table>]) -> Result<()> {
        let Some(open) = &mut self.transaction else {
            return Ok(());
        };
        for table in tables {
            open.meet(table);
            if !open.sees(table) {
                return Err(definition_changed());
            }
        }
        Ok(())
    }

    /// Whether a statement failed because a table is not any more what it was bound with: its storage
    /// is gone, or entries of an index that was dropped are read, which others keep no more. Nothing
    /// was done, and another binding knows better.
    pub(super) fn has_gone(&self, tables: &[Arc<Table>], error: &Error) -> bool {
        let is_current = |table: &Arc<Table>| self.shared.catalog.is_current(table);
        let may_be_gone = matches!(error.code(), Code::TableMissing | Code::StorageCorrupt);
        may_be_gone && !tables.iter().all(is_current)
    }

    /// As [`Session::has_gone`], and in autocommit whether the definition has changed: a transaction
    /// that is open keeps what it has read.
    pub(super) fn is_outdated(&self, tables: &[Arc<Table>], error: &Error) -> bool {
        let has_changed =
            self.transaction.is_none() && error.code() == Code::TableDefinitionChanged;
        has_changed || self.has_gone(tables, error)
    }

    /// [`Session::check_seen`] of a write, and of what it reads.
    pub(super) fn check_all_seen(&mut self, program: &write::Program) -> Result<()> {
        self.check_seen(std::slice::from_ref(program.write.table()))?;
        self.check_seen(&program.tables_read())
    }

    pub(super) async fn begin(&mut self, begin: &Begin) -> Result<()> {
        if self.transaction.is_some() {
            self.commit_open().await?;
        }
        self.next.access = begin.access.or(self.next.access);
        let mut transaction = self.long_transaction();
        transaction.read_only = self.is_read_only();
        if begin.consistent_snapshot {
            transaction.snapshot();
        }
        self.transaction = Some(transaction);
        self.track_begin(begin);
        Ok(())
    }

    /// Commits the open transaction, if there is one: COMMIT, and before DDL and BEGIN.
    ///
    /// # Errors
    /// 1041 when the process has no memory for it, and it is open still; after all others it is over.
    pub(super) async fn commit_open(&mut self) -> Result<()> {
        // Asked for first: a transaction that there is no memory for stays open.
        let memory = self.transaction.as_ref().map(Transaction::commit_memory);
        let memory = memory.transpose()?;
        self.next = Next::default();
        match self.transaction.take().zip(memory) {
            Some((transaction, memory)) => {
                Box::pin(transaction.commit(memory)).await?;
                self.sweep_temporary().await;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(super) async fn commit(&mut self, end: &EndTransaction) -> Result<()> {
        let ended = self.next;
        self.commit_open().await?;
        self.chain(end, ended);
        Ok(())
    }

    pub(super) async fn rollback(&mut self, end: &EndTransaction) {
        let ended = self.next;
        self.drop_transaction();
        self.sweep_temporary().await;
        self.chain(end, ended);
    }

    /// Rolls the open transaction back.
    pub(super) fn drop_transaction(&mut self) {
        self.transaction = None;
        self.next = Next::default();
    }

    /// `AND CHAIN` begins the next transaction with the same characteristics; `RELEASE` ends the
    /// connection.
    fn chain(&mut self, end: &EndTransaction, ended: Next) {
        if end.chain {
            self.next = ended;
            let mut transaction = self.long_transaction();
            transaction.read_only = self.is_read_only();
            self.transaction = Some(transaction);
            self.track_begin(&Begin::default());
        }
        if end.release {
            self.cancel.stop(Stop::Released);
        }
    }

    pub(super) fn savepoint(&mut self, name: &str) -> Result<()> {
        match self.current_transaction() {
            Some(transaction) => transaction.savepoint(name),
            None => Ok(()),
        }
    }

    pub(super) fn rollback_to(&mut self, name: &str) -> Result<()> {
        match &mut self.transaction {
            Some(transaction) => transaction.rollback_to(name),
            None => Err(no_savepoint(name)),
        }
    }

    pub(super) fn release_savepoint(&mut self, name: &str) -> Result<()> {
        match &mut self.transaction {
            Some(transaction) => transaction.release_savepoint(name),
            None => Err(no_savepoint(name)),
        }
    }
}
