//! What a session whose transactions may not write refuses beside rows: statements on definitions and
//! accounts, each of which commits the open transaction and is one of its own. Source: MySQL manual,
//! "SET TRANSACTION Statement"; `CF_DISALLOW_IN_RO_TRANS` is MySQL's list.
//!
//! The characteristic of the session decides, not that of the transaction which the statement ends: after
//! `START TRANSACTION READ ONLY` alone they run, as in MySQL. Temporary tables are the session's own, and
//! free; MySQL refuses their definitions too, which would leave a session that may fill them without any.

use super::Session;
use super::guard::{Kind, kind};
use crate::error::Result;
use crate::exec::transaction::read_only;
use crate::sql::ast::Statement;

impl Session {
    /// Refuses what changes definitions or accounts where the session may not write. The open transaction
    /// is committed first, as before every such statement.
    ///
    /// # Errors
    /// 1792; those of the commit.
    pub(super) async fn check_may_define(&mut self, statement: &Statement) -> Result<()> {
        if !self.settings.read_only || !defines(kind(statement)) || self.is_own(statement) {
            return Ok(());
        }
        self.commit_open().await?;
        Err(read_only())
    }

    /// Whether a statement is about temporary tables alone.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others cannot name a temporary table, or refuse it"
    )]
    fn is_own(&self, statement: &Statement) -> bool {
        let is_temporary = |table| self.named_temporary(table).is_some();
        match statement {
            Statement::DropTable(drop) => drop.tables.iter().all(is_temporary),
            Statement::Truncate(table) => is_temporary(table),
            Statement::AlterTable(alter) => is_temporary(&alter.table),
            Statement::CreateIndex(create) => is_temporary(&create.table),
            Statement::DropIndex(drop) => is_temporary(&drop.table),
            _ => false,
        }
    }
}

/// Whether a form of statement changes definitions or accounts, or repairs what is stored.
#[expect(clippy::too_many_lines, reason = "a list of every form of statement")]
fn defines(kind: Kind) -> bool {
    match kind {
        Kind::CreateDatabase
        | Kind::DropDatabase
        | Kind::CreateTable
        | Kind::DropTable
        | Kind::CreateView
        | Kind::ReplaceView
        | Kind::DropView
        | Kind::Truncate
        | Kind::CreateIndex
        | Kind::DropIndex
        | Kind::AlterTable
        | Kind::Undrop
        | Kind::PurgeTable
        | Kind::PurgeTrash
        | Kind::RenameTables
        | Kind::AlterIndex
        | Kind::MaintainTables
        | Kind::CreateUser
        | Kind::AlterUser
        | Kind::DropUser
        | Kind::RenameUser
        | Kind::SetPassword
        | Kind::CreateRole
        | Kind::DropRole
        | Kind::Grant
        | Kind::Revoke
        | Kind::RevokeAll
        | Kind::GrantRoles
        | Kind::RevokeRoles
        | Kind::SetDefaultRole => true,
        // Rows are looked at where they are written.
        Kind::SelectRows
        | Kind::InsertRows
        | Kind::UpdateRows
        | Kind::DeleteRows
        | Kind::LoadFile
        | Kind::LoadLocal
        | Kind::Explain
        | Kind::ExplainRow
        | Kind::Do
        | Kind::CreateTemporary
        | Kind::DropTemporary
        | Kind::CheckTables
        | Kind::Advise
        | Kind::Describe
        | Kind::Use
        | Kind::Set
        | Kind::SetGlobal
        | Kind::ResetPersist
        | Kind::SetTransaction
        | Kind::Begin
        | Kind::Commit
        | Kind::Rollback
        | Kind::Savepoint
        | Kind::RollbackTo
        | Kind::ReleaseSavepoint
        | Kind::Prepare
        | Kind::Execute
        | Kind::Deallocate
        | Kind::LockTables
        | Kind::UnlockTables
        | Kind::Unsupported
        | Kind::Kill
        | Kind::Flush
        | Kind::Backup
        | Kind::SetRole
        | Kind::ShowDatabases
        | Kind::ShowTables
        | Kind::ShowTableStatus
        | Kind::ShowTrash
        | Kind::ShowColumns
        | Kind::ShowDynamicColumns
        | Kind::ShowIndex
        | Kind::ShowCreateTable
        | Kind::ShowCreateDatabase
        | Kind::ShowCreateView
        | Kind::ShowCreateOther
        | Kind::ShowCreateUser
        | Kind::ShowGrants
        | Kind::ShowDiagnostics
        | Kind::ShowVariables
        | Kind::ShowStatus
        | Kind::ShowProcesslist
        | Kind::ShowSlowQueries
        | Kind::ShowServer
        | Kind::ShowReplication
        | Kind::ShowLists => false,
    }
}
