//! The kinds of statement that are counted apart.

use crate::sql::ast::{InsertVerb, Statement};

/// Declares [`Verb`] from one table: the kind, its label in metrics, its counter in SHOW STATUS.
macro_rules! verbs {
    ($($name:ident $label:literal $status:literal;)*) => {
        /// A kind of statement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Verb { $(#[doc = concat!("`", $label, "`.")] $name,)* }

        impl Verb {
            /// Every kind.
            pub const ALL: &[Verb] = &[$(Verb::$name,)*];

            /// Its name in metrics.
            pub fn label(self) -> &'static str {
                match self { $(Verb::$name => $label,)* }
            }

            /// MySQL's counter of it; empty where there is none.
            pub fn status(self) -> &'static str {
                match self { $(Verb::$name => $status,)* }
            }
        }
    };
}

verbs! {
    Select "select" "Com_select";
    Insert "insert" "Com_insert";
    Replace "replace" "Com_replace";
    Upsert "upsert" "Com_upsert";
    Update "update" "Com_update";
    Delete "delete" "Com_delete";
    Load "load" "Com_load";
    Truncate "truncate" "Com_truncate";
    CreateDatabase "create_database" "Com_create_db";
    DropDatabase "drop_database" "Com_drop_db";
    CreateTable "create_table" "Com_create_table";
    AlterTable "alter_table" "Com_alter_table";
    DropTable "drop_table" "Com_drop_table";
    RenameTable "rename_table" "Com_rename_table";
    CreateIndex "create_index" "Com_create_index";
    DropIndex "drop_index" "Com_drop_index";
    View "view" "";
    Begin "begin" "Com_begin";
    Commit "commit" "Com_commit";
    Rollback "rollback" "Com_rollback";
    Savepoint "savepoint" "Com_savepoint";
    Set "set" "Com_set_option";
    Use "use" "Com_change_db";
    Show "show" "";
    Explain "explain" "Com_explain_other";
    Account "account" "";
    Prepare "prepare" "Com_stmt_prepare";
    Execute "execute" "";
    Deallocate "deallocate" "Com_dealloc_sql";
    Maintain "maintain" "";
    Other "other" "";
    Invalid "invalid" "";
}

impl Verb {
    /// How many kinds there are.
    pub const COUNT: usize = Verb::ALL.len();

    /// The kind of a statement.
    pub fn of(statement: &Statement) -> Verb {
        match statement {
            Statement::Select(_) => Verb::Select,
            Statement::Insert(insert) => match insert.verb {
                InsertVerb::Insert => Verb::Insert,
                InsertVerb::Replace => Verb::Replace,
                InsertVerb::Upsert => Verb::Upsert,
            },
            Statement::Update(_) => Verb::Update,
            Statement::Delete(_) => Verb::Delete,
            Statement::Load(_) => Verb::Load,
            Statement::Truncate(_) => Verb::Truncate,
            Statement::CreateDatabase(_) => Verb::CreateDatabase,
            Statement::DropDatabase { .. } => Verb::DropDatabase,
            Statement::CreateTable(_) => Verb::CreateTable,
            Statement::AlterTable(_) => Verb::AlterTable,
            Statement::DropTable(_) => Verb::DropTable,
            Statement::RenameTables(_) => Verb::RenameTable,
            Statement::CreateIndex(_) | Statement::AlterIndex(_) => Verb::CreateIndex,
            Statement::DropIndex(_) => Verb::DropIndex,
            Statement::CreateView(_) | Statement::DropView(_) => Verb::View,
            Statement::Begin(_) => Verb::Begin,
            Statement::Commit(_) => Verb::Commit,
            Statement::Rollback(_) => Verb::Rollback,
            Statement::Savepoint(_) | Statement::RollbackTo(_) | Statement::ReleaseSavepoint(_) => {
                Verb::Savepoint
            }
            Statement::Set(_) | Statement::SetTransaction(_) | Statement::ResetPersist(_) => {
                Verb::Set
            }
            Statement::Use(_) => Verb::Use,
            Statement::Show(_) | Statement::Describe(_) => Verb::Show,
            Statement::Explain(_) | Statement::ExplainRow(_) => Verb::Explain,
            Statement::Account(_) => Verb::Account,
            Statement::Prepare(_) => Verb::Prepare,
            Statement::Deallocate(_) => Verb::Deallocate,
            Statement::Execute(_) => Verb::Execute,
            Statement::Maintain(_)
            | Statement::Advise(_)
            | Statement::Undrop { .. }
            | Statement::Backup(_)
            | Statement::Purge(_) => Verb::Maintain,
            Statement::Kill(_)
            | Statement::Do(_)
            | Statement::Flush { .. }
            | Statement::LockTables(_)
            | Statement::UnlockTables
            | Statement::Unsupported { .. } => Verb::Other,
        }
    }

    /// Its place in a table of all.
    pub(super) fn position(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_have_one_name() {
        for (at, verb) in Verb::ALL.iter().enumerate() {
            assert_eq!(verb.position(), at);
            let mut others = Verb::ALL.iter().filter(|other| *other != verb);
            assert!(others.clone().all(|other| other.label() != verb.label()));
            let shown = verb.status();
            assert!(shown.is_empty() || others.all(|other| other.status() != shown));
        }
    }
}
