//! SHOW.

use super::{Expr, Limit, TableName, UserName};
use crate::accounts::AccountName;
use crate::sql::expr::VariableScope;

/// `LIKE 'pattern'` or `WHERE condition` over the answer's own columns.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    /// `LIKE`: on the first column (the name).
    Like(String),
    /// `WHERE`: names are the answer's columns.
    Where(Expr),
}

/// The `SHOW` statements.
#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    /// `SHOW DATABASES`, `SHOW SCHEMAS`.
    Databases(Option<ShowFilter>),
    /// `SHOW [FULL] TABLES [FROM database]`.
    Tables {
        /// `FULL`: with a type column.
        full: bool,
        /// `FROM`, `IN`.
        database: Option<String>,
        /// Which.
        filter: Option<ShowFilter>,
    },
    /// `SHOW [FULL] COLUMNS FROM t`.
    Columns {
        /// `FULL`: with collation, privileges and comment.
        full: bool,
        /// The table.
        table: TableName,
        /// Which.
        filter: Option<ShowFilter>,
    },
    /// `SHOW DYNAMIC COLUMNS FROM t [LIMIT n]`.
    DynamicColumns {
        /// The table.
        table: TableName,
        /// How many rows are looked at.
        limit: Option<u64>,
    },
    /// `SHOW INDEX FROM t`.
    Index {
        /// The table.
        table: TableName,
        /// Which.
        filter: Option<ShowFilter>,
    },
    /// `SHOW TRASH`: the dropped tables.
    Trash(Option<ShowFilter>),
    /// `SHOW TABLE STATUS`.
    TableStatus {
        /// `FROM`, `IN`.
        database: Option<String>,
        /// Which.
        filter: Option<ShowFilter>,
    },
    /// `SHOW CREATE TABLE t`.
    CreateTable(TableName),
    /// `SHOW CREATE DATABASE [IF NOT EXISTS] d`.
    CreateDatabase {
        /// The database.
        name: String,
        /// Whether the answer says `IF NOT EXISTS`.
        if_not_exists: bool,
    },
    /// `SHOW CREATE VIEW` and other kinds of object that this server does not have.
    CreateOther {
        /// `VIEW`, `PROCEDURE`, …
        kind: String,
        /// Its name.
        name: TableName,
    },
    /// `SHOW WARNINGS [LIMIT …]`.
    Warnings(Option<Limit>),
    /// `SHOW ERRORS [LIMIT …]`.
    Errors(Option<Limit>),
    /// `SHOW COUNT(*) WARNINGS`.
    CountWarnings,
    /// `SHOW COUNT(*) ERRORS`.
    CountErrors,
    /// `SHOW [GLOBAL | SESSION] VARIABLES`.
    Variables {
        /// Which values.
        scope: VariableScope,
        /// Which.
        filter: Option<ShowFilter>,
    },
    /// `SHOW [GLOBAL | SESSION] STATUS`.
    Status {
        /// Which values.
        scope: VariableScope,
        /// Which.
        filter: Option<ShowFilter>,
    },
    /// `SHOW SLOW QUERIES`: the last that took long.
    SlowQueries(Option<Limit>),
    /// `SHOW [FULL] PROCESSLIST`.
    Processlist {
        /// `FULL`: statements are not cut.
        full: bool,
    },
    /// `SHOW [STORAGE] ENGINES`.
    Engines,
    /// `SHOW CHARACTER SET`, `SHOW CHARSET`.
    Charset(Option<ShowFilter>),
    /// `SHOW COLLATION`.
    Collation(Option<ShowFilter>),
    /// `SHOW GRANTS [FOR user [USING role, …]]`.
    Grants {
        /// Whose; without `FOR` the session's own, with its active roles.
        user: Option<UserName>,
        /// Roles whose grants are shown too.
        using: Vec<AccountName>,
    },
    /// `SHOW CREATE USER user`.
    CreateUser(UserName),
    /// `SHOW PLUGINS`.
    Plugins,
    /// `SHOW PRIVILEGES`.
    Privileges,
    /// `SHOW TRIGGERS`.
    Triggers(Option<ShowFilter>),
    /// `SHOW EVENTS`.
    Events(Option<ShowFilter>),
    /// `SHOW PROCEDURE STATUS`.
    ProcedureStatus(Option<ShowFilter>),
    /// `SHOW FUNCTIONS`: every function of the server.
    Functions(Option<ShowFilter>),
    /// `SHOW FUNCTION STATUS`.
    FunctionStatus(Option<ShowFilter>),
    /// `SHOW OPEN TABLES`.
    OpenTables(Option<ShowFilter>),
    /// `SHOW PROFILES` and `SHOW PROFILE`: always empty.
    Profiles,
    /// Of replication by a binary log, which is not there.
    Replication(Replication),
}

/// What monitors ask about replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replication {
    /// `SHOW MASTER STATUS`, `SHOW BINARY LOG STATUS`.
    Source,
    /// `SHOW REPLICA STATUS`.
    Replica,
    /// `SHOW SLAVE STATUS`, whose columns have the old words.
    Slave,
    /// `SHOW BINARY LOGS`, `SHOW MASTER LOGS`.
    Logs,
}

impl Show {
    /// `LIKE` or `WHERE`.
    pub fn filter(&self) -> Option<&ShowFilter> {
        match self {
            Show::Databases(filter)
            | Show::Tables { filter, .. }
            | Show::Columns { filter, .. }
            | Show::Index { filter, .. }
            | Show::Trash(filter)
            | Show::TableStatus { filter, .. }
            | Show::Variables { filter, .. }
            | Show::Status { filter, .. }
            | Show::Charset(filter)
            | Show::Collation(filter)
            | Show::Triggers(filter)
            | Show::Events(filter)
            | Show::ProcedureStatus(filter)
            | Show::Functions(filter)
            | Show::FunctionStatus(filter)
            | Show::OpenTables(filter) => filter.as_ref(),
            Show::DynamicColumns { .. }
            | Show::CreateTable(_)
            | Show::CreateDatabase { .. }
            | Show::CreateOther { .. }
            | Show::Warnings(_)
            | Show::Errors(_)
            | Show::CountWarnings
            | Show::CountErrors
            | Show::Processlist { .. }
            | Show::SlowQueries(_)
            | Show::Engines
            | Show::Grants { .. }
            | Show::CreateUser(_)
            | Show::Plugins
            | Show::Privileges
            | Show::Profiles
            | Show::Replication(_) => None,
        }
    }
}
