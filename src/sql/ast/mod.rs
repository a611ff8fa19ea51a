//! The syntax tree: what a statement says, names unresolved. Closed and ours.
//!
//! Made by `parse` alone; `bind` turns the statements on rows into [`super::bound`] ones, and the
//! session runs the others from here. Operators, cast targets, units and scopes are those of
//! [`super::expr`].

mod account;
mod ddl;
mod expr;
mod file;
mod json_table;
mod print;
mod query;
mod session;
mod show;
pub mod text;
mod view;
mod walk;
mod window;

pub use account::{
    AccountKind, AccountOptions, AccountStatement, Clear, GrantObject, Identified, PrivilegeList,
    RoleChoice, UserName, UserSpec,
};
pub use ddl::{
    AlterAction, AlterIndex, AlterTable, ColumnDef, ColumnPlace, CreateDatabase, CreateIndex,
    CreateQuery, CreateTable, DatabaseOptions, DefaultValue, DropIndex, DropTable, Include,
    IndexDef, IndexGoal, IndexKind, IndexMode, KeyPart, KeyPartSource, Maintain, Maintenance,
    RenameTables, TableOptions, TableSource,
};
pub use expr::{Call, ColumnName, Expr, Literal};
pub use file::{FileFormat, IntoFile, LoadData, LoadDuplicates, LoadTarget};
pub use json_table::{JsonAction, JsonColumn, JsonTable, JsonValueColumn};
pub use query::{
    Assignment, Block, Cte, Delete, Hint, IndexHint, IndexHintKind, Insert, InsertRows,
    InsertValue, InsertVerb, IntoTarget, Join, JoinKind, Limit, Lock, OnDuplicate, OrderItem,
    QueryBody, RowAlias, Select, SelectItem, SetOperator, Several, TableFactor, TableName,
    TableRef, Update, With,
};
pub use session::{
    AccessMode, Begin, Deallocate, EndTransaction, Execute, IsolationLevel, Kill, Prepare,
    PrepareSource, ResetPersist, SetItem, SetScope, SetTransaction, SetValue,
};
pub use show::{Replication, Show, ShowFilter};
pub use view::{CreateView, Definer, DropView};
pub use window::{Distance, Frame, FrameBound, FrameUnit, NamedWindow, Over, WindowSpec};

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `SELECT`, `TABLE`, `VALUES ROW`, with or without `WITH` and `UNION`.
    Select(Box<Select>),
    /// `INSERT`, `INSERT IGNORE`, `REPLACE`, `UPSERT`.
    Insert(Box<Insert>),
    /// `UPDATE`.
    Update(Box<Update>),
    /// `DELETE`.
    Delete(Box<Delete>),
    /// `LOAD DATA`.
    Load(Box<LoadData>),
    /// `EXPLAIN statement`.
    Explain(Box<Explain>),
    /// `EXPLAIN ROW t WHERE …`: the row that this would delete.
    ExplainRow(Box<Delete>),
    /// `DESCRIBE t`, `DESC t c`, `EXPLAIN t`.
    Describe(Describe),
    /// `CREATE DATABASE`.
    CreateDatabase(CreateDatabase),
    /// `DROP DATABASE`.
    DropDatabase {
        /// Its name.
        name: String,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `CREATE TABLE`.
    CreateTable(Box<CreateTable>),
    /// `DROP TABLE`.
    DropTable(DropTable),
    /// `TRUNCATE [TABLE] t`.
    Truncate(TableName),
    /// `CREATE INDEX`.
    CreateIndex(Box<CreateIndex>),
    /// `DROP INDEX`.
    DropIndex(DropIndex),
    /// `ALTER TABLE`.
    AlterTable(Box<AlterTable>),
    /// `UNDROP TABLE t [TO u]`.
    Undrop {
        /// The table, as it was called.
        table: TableName,
        /// Its name to be.
        to: Option<TableName>,
    },
    /// `ADVISE TABLE t`: what is worth a change.
    Advise(TableName),
    /// `PURGE TABLE t`, `PURGE TRASH`: dropped tables are given up.
    Purge(Option<TableName>),
    /// `RENAME TABLE a TO b, …`: in order, all or none.
    RenameTables(RenameTables),
    /// `CREATE VIEW`, `ALTER VIEW`.
    CreateView(Box<CreateView>),
    /// `DROP VIEW`.
    DropView(DropView),
    /// `ALTER INDEX`.
    AlterIndex(AlterIndex),
    /// `CHECK TABLE a, b` and the like.
    Maintain(Maintain),
    /// `BACKUP TO 'directory'`.
    Backup(String),
    /// `USE database`.
    Use(String),
    /// `SHOW …`.
    Show(Show),
    /// `SET a = 1, NAMES utf8mb4, …`.
    Set(Vec<SetItem>),
    /// `SET [SESSION | GLOBAL] TRANSACTION …`.
    SetTransaction(SetTransaction),
    /// `BEGIN`, `START TRANSACTION`.
    Begin(Begin),
    /// `COMMIT`.
    Commit(EndTransaction),
    /// `ROLLBACK`.
    Rollback(EndTransaction),
    /// `SAVEPOINT name`.
    Savepoint(String),
    /// `ROLLBACK TO [SAVEPOINT] name`.
    RollbackTo(String),
    /// `RELEASE SAVEPOINT name`.
    ReleaseSavepoint(String),
    /// `KILL [CONNECTION | QUERY] id`.
    Kill(Kill),
    /// `PREPARE name FROM …`.
    Prepare(Prepare),
    /// `EXECUTE name USING @a, …`.
    Execute(Execute),
    /// `DEALLOCATE PREPARE name`.
    Deallocate(Deallocate),
    /// `RESET PERSIST [[IF EXISTS] name]`.
    ResetPersist(ResetPersist),
    /// `DO expr, …`.
    Do(Vec<Expr>),
    /// `FLUSH …`: nothing here needs it but `PRIVILEGES`, `STATUS` and logs.
    Flush {
        /// `LOGS`, `SLOW LOGS`: log files are opened anew.
        logs: bool,
        /// `STATUS`: what the session counts begins again.
        status: bool,
    },
    /// `LOCK TABLES …`: accepted, as transactions need no table locks.
    LockTables(Vec<TableName>),
    /// `UNLOCK TABLES`.
    UnlockTables,
    /// A statement on users, roles or privileges.
    Account(Box<AccountStatement>),
    /// A statement that MySQL or Lindorm has and this server does not: error 1235.
    Unsupported {
        /// Its first words, as in `ALTER TABLE`.
        what: String,
    },
}

/// `EXPLAIN [ANALYZE] [FORMAT = …] statement`.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// How the answer is laid out.
    pub format: ExplainFormat,
    /// Whether the statement is run.
    pub analyze: bool,
    /// The statement: a SELECT, INSERT, UPDATE or DELETE.
    pub statement: Statement,
}

/// The layouts of `EXPLAIN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    /// MySQL's twelve columns.
    Traditional,
    /// Sentences and a tree.
    Tree,
    /// One JSON document.
    Json,
}

/// `DESCRIBE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Describe {
    /// The table.
    pub table: TableName,
    /// The column's name or a LIKE pattern of names.
    pub column: Option<String>,
}
