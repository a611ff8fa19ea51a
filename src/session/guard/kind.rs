//! The table of statements and what each needs.
//!
//! Every form of statement is in it: [`kind`] leaves none out, so that a statement that is new does
//! not compile before it has its line here, and the tests run every line as a user who may and as one
//! who may not.

use crate::accounts::Privilege;
use crate::sql::ast::{
    AccountKind, AccountStatement, Kill, Maintenance, SetItem, SetScope, Show, Statement,
};

/// What a form of statement needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Rule {
    /// Nothing: it concerns the session alone, or shows what everybody may see; or it filters what it
    /// shows by itself.
    Free,
    /// What it says of the tables that it reads and writes.
    Rows,
    /// This on the tables that it names, and what its queries need.
    Table(Privilege),
    /// Any privilege on the tables that it names.
    AnyOnTable,
    /// This on the database that it names.
    Database(Privilege),
    /// Any privilege on the database that it names, or on a table of it.
    AnyInDatabase,
    /// One of these on everything.
    Global(&'static [Privilege]),
    /// As [`Rule::Global`], unless it is about the session's own account.
    GlobalUnlessOwn(&'static [Privilege]),
    /// What is decided where it is run, by what it names: grants, roles, connections.
    AtRun,
}

macro_rules! kinds {
    ($($name:ident $rule:expr;)*) => {
        /// A form of statement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::session) enum Kind { $($name,)* }

        impl Kind {
            /// Every form.
            #[cfg(test)]
            pub(in crate::session) const ALL: &[Kind] = &[$(Kind::$name,)*];

            /// What it needs.
            pub(in crate::session) fn rule(self) -> Rule {
                match self { $(Kind::$name => $rule,)* }
            }
        }
    };
}

use Privilege::{
    Alter, ConnectionAdmin, Create, CreateRole, CreateTemporaryTables, CreateUser, CreateView,
    Drop, DropRole, Index, Insert, LockTables, Process, Reload, ReplicationClient, Select,
    ShowView, Super, SystemVariablesAdmin,
};
use Rule::{
    AnyInDatabase, AnyOnTable, AtRun, Database, Free, Global, GlobalUnlessOwn, Rows, Table,
};

kinds! {
    // On rows.
    SelectRows          Rows;
    InsertRows          Rows;
    UpdateRows          Rows;
    DeleteRows          Rows;
    LoadFile            Rows;
    LoadLocal           Rows;
    Explain             Rows;
    ExplainRow          Table(Select);
    Do                  Rows;
    // On definitions.
    CreateDatabase      Database(Create);
    DropDatabase        Database(Drop);
    CreateTable         Table(Create);
    CreateTemporary     Database(CreateTemporaryTables);
    DropTable           Table(Drop);
    // Nobody sees those of others.
    DropTemporary       Free;
    CreateView          Table(CreateView);
    // CREATE OR REPLACE, ALTER.
    ReplaceView         Table(CreateView);
    DropView            Table(Drop);
    Truncate            Table(Drop);
    CreateIndex         Table(Index);
    DropIndex           Table(Index);
    AlterTable          Table(Alter);
    // And CREATE, INSERT on the name that it gets.
    Undrop              Table(Drop);
    PurgeTable          Table(Drop);
    PurgeTrash          Global(&[Super]);
    // The new names need CREATE and INSERT, too.
    RenameTables        Table(Alter);
    AlterIndex          Table(Index);
    CheckTables         Table(Select);
    Advise              Table(Select);
    // REPAIR, ANALYZE and OPTIMIZE, which read, too.
    MaintainTables      Table(Insert);
    Describe            AnyOnTable;
    // Of the session.
    Use                 AnyInDatabase;
    Set                 Rows;
    // And the variables of the session that are restricted.
    SetGlobal           Global(&[SystemVariablesAdmin, Super]);
    ResetPersist        Global(&[SystemVariablesAdmin, Super]);
    SetTransaction      Free;
    Begin               Free;
    Commit              Free;
    Rollback            Free;
    Savepoint           Free;
    RollbackTo          Free;
    ReleaseSavepoint    Free;
    // The statement that is prepared is looked at when it is prepared and when it is executed.
    Prepare             Free;
    Execute             Free;
    Deallocate          Free;
    LockTables          Table(LockTables);
    UnlockTables        Free;
    Unsupported         Free;
    // Of the server. Everybody may end their own connections.
    Kill                AtRun;
    Flush               Global(&[Reload]);
    // A copy of everything, in a directory of the server that its operator has named.
    Backup              Global(&[Reload, Super]);
    // On accounts.
    CreateUser          Global(&[CreateUser]);
    AlterUser           GlobalUnlessOwn(&[CreateUser]);
    DropUser            Global(&[CreateUser]);
    RenameUser          Global(&[CreateUser]);
    SetPassword         GlobalUnlessOwn(&[CreateUser]);
    CreateRole          Global(&[CreateRole, CreateUser]);
    DropRole            Global(&[DropRole, CreateUser]);
    Grant               AtRun;
    Revoke              AtRun;
    RevokeAll           Global(&[CreateUser]);
    GrantRoles          AtRun;
    RevokeRoles         AtRun;
    SetRole             Free;
    SetDefaultRole      GlobalUnlessOwn(&[CreateUser]);
    // SHOW.
    ShowDatabases       Free;
    ShowTables          AnyInDatabase;
    ShowTableStatus     AnyInDatabase;
    // Shows what the user may purge.
    ShowTrash           Free;
    ShowColumns         AnyOnTable;
    // Reads rows.
    ShowDynamicColumns  Table(Select);
    ShowIndex           AnyOnTable;
    ShowCreateTable     AnyOnTable;
    ShowCreateDatabase  AnyInDatabase;
    ShowCreateView      Table(ShowView);
    ShowCreateOther     Free;
    ShowCreateUser      AtRun;
    ShowGrants          AtRun;
    ShowDiagnostics     Free;
    ShowVariables       Free;
    ShowStatus          Free;
    ShowProcesslist     Free;
    // Texts of others.
    ShowSlowQueries     Global(&[Process, Super]);
    ShowServer          Free;
    ShowReplication     Global(&[ReplicationClient, Super]);
    ShowLists           Free;
}

/// Who may end the connections of others.
pub(in crate::session) const KILLERS: &[Privilege] = &[ConnectionAdmin, Super];

/// Variables of the session that not everybody may set. Whoever holds the clock that the ends of rows
/// count from writes rows into a table of others' that have ended already, or outlive its `TTL`.
const RESTRICTED: &[&str] = &["debug_ttl_clock"];

/// The form of a statement.
pub(in crate::session) fn kind(statement: &Statement) -> Kind {
    match statement {
        Statement::Select(_) => Kind::SelectRows,
        Statement::Insert(_) => Kind::InsertRows,
        Statement::Update(_) => Kind::UpdateRows,
        Statement::Delete(_) => Kind::DeleteRows,
        Statement::Load(load) if load.local => Kind::LoadLocal,
        Statement::Load(_) => Kind::LoadFile,
        Statement::Explain(_) => Kind::Explain,
        Statement::ExplainRow(_) => Kind::ExplainRow,
        Statement::Describe(_) => Kind::Describe,
        Statement::CreateDatabase(_) => Kind::CreateDatabase,
        Statement::DropDatabase { .. } => Kind::DropDatabase,
        Statement::CreateTable(create) if create.temporary => Kind::CreateTemporary,
        Statement::CreateTable(_) => Kind::CreateTable,
        Statement::DropTable(drop) if drop.temporary => Kind::DropTemporary,
        Statement::DropTable(_) => Kind::DropTable,
        Statement::CreateView(create) if create.or_replace || create.alter => Kind::ReplaceView,
        Statement::CreateView(_) => Kind::CreateView,
        Statement::DropView(_) => Kind::DropView,
        Statement::Truncate(_) => Kind::Truncate,
        Statement::CreateIndex(_) => Kind::CreateIndex,
        Statement::DropIndex(_) => Kind::DropIndex,
        Statement::AlterTable(_) => Kind::AlterTable,
        Statement::Undrop { .. } => Kind::Undrop,
        Statement::Advise(_) => Kind::Advise,
        Statement::Purge(Some(_)) => Kind::PurgeTable,
        Statement::Purge(None) => Kind::PurgeTrash,
        Statement::RenameTables(_) => Kind::RenameTables,
        Statement::AlterIndex(_) => Kind::AlterIndex,
        Statement::Maintain(maintain) => match maintain.kind {
            Maintenance::Check => Kind::CheckTables,
            Maintenance::Repair | Maintenance::Analyze | Maintenance::Optimize => {
                Kind::MaintainTables
            }
        },
        Statement::Use(_) => Kind::Use,
        Statement::Show(show) => show_kind(show),
        Statement::Set(items) if items.iter().any(is_global) => Kind::SetGlobal,
        Statement::Set(_) => Kind::Set,
        Statement::ResetPersist(_) => Kind::ResetPersist,
        Statement::SetTransaction(set) if set.scope == Some(SetScope::Global) => Kind::SetGlobal,
        Statement::SetTransaction(_) => Kind::SetTransaction,
        Statement::Begin(_) => Kind::Begin,
        Statement::Commit(_) => Kind::Commit,
        Statement::Rollback(_) => Kind::Rollback,
        Statement::Savepoint(_) => Kind::Savepoint,
        Statement::RollbackTo(_) => Kind::RollbackTo,
        Statement::ReleaseSavepoint(_) => Kind::ReleaseSavepoint,
        Statement::Kill(Kill { .. }) => Kind::Kill,
        Statement::Prepare(_) => Kind::Prepare,
        Statement::Execute(_) => Kind::Execute,
        Statement::Deallocate(_) => Kind::Deallocate,
        Statement::Do(_) => Kind::Do,
        Statement::Flush { .. } => Kind::Flush,
        Statement::Backup(_) => Kind::Backup,
        Statement::LockTables(_) => Kind::LockTables,
        Statement::UnlockTables => Kind::UnlockTables,
        Statement::Account(statement) => account_kind(statement),
        Statement::Unsupported { .. } => Kind::Unsupported,
    }
}

/// Whether an assignment takes what the variables of the server take: it is of them, or of one that
/// lets a session break what others rely on.
fn is_global(item: &SetItem) -> bool {
    match item {
        SetItem::Variable { scope, name, .. } => match scope {
            SetScope::Global | SetScope::Persist | SetScope::PersistOnly => true,
            SetScope::Session | SetScope::Next => RESTRICTED
                .iter()
                .any(|restricted| name.eq_ignore_ascii_case(restricted)),
        },
        SetItem::UserVariable { .. } | SetItem::Names { .. } | SetItem::CharacterSet(_) => false,
    }
}

fn account_kind(statement: &AccountStatement) -> Kind {
    match statement {
        AccountStatement::CreateUser { .. } => Kind::CreateUser,
        AccountStatement::AlterUser { .. } => Kind::AlterUser,
        AccountStatement::Drop { kind, .. } => match kind {
            AccountKind::User => Kind::DropUser,
            AccountKind::Role => Kind::DropRole,
        },
        AccountStatement::Rename(_) => Kind::RenameUser,
        AccountStatement::SetPassword { .. } => Kind::SetPassword,
        AccountStatement::CreateRole { .. } => Kind::CreateRole,
        AccountStatement::Grant { .. } => Kind::Grant,
        AccountStatement::Revoke { .. } => Kind::Revoke,
        AccountStatement::RevokeAll(_) => Kind::RevokeAll,
        AccountStatement::GrantRoles { .. } => Kind::GrantRoles,
        AccountStatement::RevokeRoles { .. } => Kind::RevokeRoles,
        AccountStatement::SetRole(_) => Kind::SetRole,
        AccountStatement::SetDefaultRole { .. } => Kind::SetDefaultRole,
    }
}

fn show_kind(show: &Show) -> Kind {
    match show {
        Show::Databases(_) => Kind::ShowDatabases,
        Show::Tables { .. } => Kind::ShowTables,
        Show::Trash(_) => Kind::ShowTrash,
        Show::Columns { .. } => Kind::ShowColumns,
        Show::DynamicColumns { .. } => Kind::ShowDynamicColumns,
        Show::Index { .. } => Kind::ShowIndex,
        Show::TableStatus { .. } => Kind::ShowTableStatus,
        Show::CreateTable(_) => Kind::ShowCreateTable,
        Show::CreateDatabase { .. } => Kind::ShowCreateDatabase,
        Show::CreateOther { kind, .. } if kind == "VIEW" => Kind::ShowCreateView,
        Show::CreateOther { .. } => Kind::ShowCreateOther,
        Show::CreateUser(_) => Kind::ShowCreateUser,
        Show::Grants { .. } => Kind::ShowGrants,
        Show::Warnings(_) | Show::Errors(_) | Show::CountWarnings | Show::CountErrors => {
            Kind::ShowDiagnostics
        }
        Show::Variables { .. } => Kind::ShowVariables,
        Show::Status { .. } => Kind::ShowStatus,
        Show::Processlist { .. } => Kind::ShowProcesslist,
        Show::SlowQueries(_) => Kind::ShowSlowQueries,
        Show::Engines | Show::Plugins | Show::Privileges | Show::Profiles => Kind::ShowServer,
        Show::Replication(_) => Kind::ShowReplication,
        Show::Charset(_)
        | Show::Collation(_)
        | Show::Triggers(_)
        | Show::Events(_)
        | Show::ProcedureStatus(_)
        | Show::Functions(_)
        | Show::FunctionStatus(_)
        | Show::OpenTables(_) => Kind::ShowLists,
    }
}
