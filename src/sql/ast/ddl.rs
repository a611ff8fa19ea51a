//! The statements on definitions.

use super::{Expr, Literal, Select, TableName};
use crate::types::ColumnType;

/// `CREATE DATABASE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateDatabase {
    /// Its name.
    pub name: String,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// Its options.
    pub options: DatabaseOptions,
}

/// The options of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// `CHARACTER SET`, lower case.
    pub charset: Option<String>,
    /// `COLLATE`, lower case.
    pub collation: Option<String>,
}

/// `CREATE TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub table: TableName,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// What it is made of.
    pub source: TableSource,
    /// Options after the column list.
    pub options: TableOptions,
    /// `[IGNORE | REPLACE] [AS] SELECT …`.
    pub query: Option<CreateQuery>,
}

/// The query whose columns and rows a new table takes.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateQuery {
    /// The query.
    pub select: Box<Select>,
    /// `IGNORE`.
    pub ignore: bool,
    /// `REPLACE`.
    pub replace: bool,
}

/// What a new table is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum TableSource {
    /// A list of columns and keys.
    Columns {
        /// The columns.
        columns: Vec<ColumnDef>,
        /// `PRIMARY KEY (…)`, also from `c INT PRIMARY KEY`; `None` without.
        primary_key: Option<Vec<KeyPart>>,
        /// `INDEX`, `KEY`, `UNIQUE`, also from `c INT UNIQUE`.
        indexes: Vec<IndexDef>,
        /// Names of other constraints (`FOREIGN KEY`, `CHECK`), for the refusal.
        constraints: Vec<String>,
    },
    /// `LIKE t`.
    Like(TableName),
}

/// One column of `CREATE TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// `NULL` or `NOT NULL`; `None` when neither is written.
    pub nullable: Option<bool>,
    /// `DEFAULT`.
    pub default: Option<DefaultValue>,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub on_update_now: bool,
    /// `AUTO_INCREMENT`.
    pub auto_increment: bool,
    /// `CHECK (column >= 0)` of an `UNSIGNED` column: its type says the same.
    pub checks_sign: bool,
    /// `COMMENT`.
    pub comment: String,
    /// `CHARACTER SET`, lower case.
    pub charset: Option<String>,
    /// `COLLATE`, lower case.
    pub collation: Option<String>,
    /// An attribute that this server does not have (`GENERATED`, `REFERENCES`), for the refusal.
    pub unsupported: Option<String>,
}

/// What stands after `DEFAULT`.
#[derive(Debug, Clone, PartialEq)]
pub enum DefaultValue {
    /// A constant; `negative` when a minus stands before the number.
    Literal {
        /// The constant.
        literal: Literal,
        /// Whether it is negated.
        negative: bool,
    },
    /// `CURRENT_TIMESTAMP[(fsp)]`, `NOW()`.
    Now {
        /// Digits after the second.
        fsp: u8,
    },
    /// `(expression)`.
    Expression(Box<Expr>),
}

/// One part of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyPart {
    /// What is ordered.
    pub source: KeyPartSource,
    /// Whether `DESC`.
    pub descending: bool,
}

/// What a key part is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyPartSource {
    /// A column.
    Column(String),
    /// `c(n)`: the first n characters of a column.
    Prefix(String, u32),
    /// `hash8(c)`, `bucket(c, n)`: a call without parentheses around it.
    Function(Expr),
    /// `(expression)`.
    Expression(Expr),
}

/// Options after the column list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// `WITH (NAME = 'value', …)`, names as written.
    pub with: Vec<(String, String)>,
    /// `ENGINE`.
    pub engine: Option<String>,
    /// `CHARACTER SET`, lower case.
    pub charset: Option<String>,
    /// `COLLATE`, lower case.
    pub collation: Option<String>,
    /// `COMMENT`.
    pub comment: Option<String>,
    /// `AUTO_INCREMENT`.
    pub auto_increment: Option<u64>,
    /// MySQL's other options (`ROW_FORMAT`, `KEY_BLOCK_SIZE`, …), names upper case.
    pub others: Vec<(String, String)>,
    /// Whether `PARTITION BY` was written: refused later.
    pub partitioned: bool,
}

/// An index as declared.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexDef {
    /// Its name, when given.
    pub name: Option<String>,
    /// `IF NOT EXISTS` of ALTER TABLE. [`CreateIndex`] has its own, and in CREATE TABLE it means
    /// nothing, as in MariaDB.
    pub if_not_exists: bool,
    /// Which kind.
    pub kind: IndexKind,
    /// `USING`, upper case.
    pub using: Option<String>,
    /// The indexed columns.
    pub parts: Vec<KeyPart>,
    /// `INCLUDE`.
    pub include: Include,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `ASYNC` or `SYNC`.
    pub mode: Option<IndexMode>,
    /// `WITH (NAME = 'value', …)`, names as written.
    pub with: Vec<(String, String)>,
    /// `COMMENT`.
    pub comment: String,
}

/// The kinds of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the SQL word of the same name")]
pub enum IndexKind {
    Plain,
    Unique,
    Fulltext,
    Spatial,
}

/// Which columns an index carries besides its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Include {
    /// None.
    None,
    /// `INCLUDE (c, …)`.
    Columns(Vec<String>),
    /// `INCLUDE ALL`.
    All,
}

/// Whether `CREATE INDEX` waits for the build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the SQL word of the same name")]
pub enum IndexMode {
    Async,
    Sync,
}

/// `CREATE INDEX`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The table.
    pub table: TableName,
    /// The index; always named.
    pub index: IndexDef,
}

/// `DROP INDEX i ON t`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropIndex {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The index.
    pub name: String,
    /// The table.
    pub table: TableName,
}

/// `ALTER TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The table.
    pub table: TableName,
    /// What is to be done, together; may be nothing.
    pub actions: Vec<AlterAction>,
}

/// One action of `ALTER TABLE`.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    /// `ADD INDEX`.
    AddIndex(Box<IndexDef>),
    /// `DROP INDEX`.
    DropIndex {
        /// The index.
        name: String,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `DISABLE KEYS`, `ENABLE KEYS`: a hint of dumps that bulk loads follow.
    Keys,
    /// `ADD COLUMN`, of one or of several in parentheses.
    AddColumns {
        /// The columns.
        columns: Vec<ColumnDef>,
        /// `FIRST` or `AFTER`; behind the others without.
        place: Option<ColumnPlace>,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
    },
    /// `DROP COLUMN`.
    DropColumn {
        /// The column.
        name: String,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `CHANGE COLUMN`, `MODIFY COLUMN`.
    ChangeColumn {
        /// The column.
        from: String,
        /// What it becomes; a MODIFY keeps the name.
        column: Box<ColumnDef>,
        /// `FIRST` or `AFTER`; where it is without.
        place: Option<ColumnPlace>,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `RENAME COLUMN a TO b`.
    RenameColumn {
        /// Its name.
        from: String,
        /// Its name to be.
        to: String,
    },
    /// `ALTER COLUMN c SET DEFAULT …`, `… DROP DEFAULT`.
    SetDefault {
        /// The column.
        name: String,
        /// The default; `None` to drop it.
        default: Option<DefaultValue>,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `DROP PRIMARY KEY`.
    DropKey,
    /// `ADD PRIMARY KEY (…)`.
    AddKey(Vec<KeyPart>),
    /// `PRIMARY KEY (…)`: this one instead of the one there is.
    SetKey(Vec<KeyPart>),
    /// `RENAME [TO | AS] t`.
    Rename(TableName),
    /// Table options, `CONVERT TO CHARACTER SET`, `SET 'NAME' = 'value'`.
    Options(Box<TableOptions>),
    /// `ORDER BY`: the rows lie in the order of the key anyway.
    OrderBy,
    /// `FORCE`: a table that is as it should be is not rebuilt.
    Force,
    /// `COMPACT`: Lindorm's word for removing what was deleted and overwritten from the files.
    Compact,
    /// What this server does not have, for the refusal: `DROP PRIMARY KEY`, `ADD CHECK`.
    Unsupported(String),
    /// `RENAME INDEX a TO b`.
    RenameIndex {
        /// Its name.
        from: String,
        /// Its name to be.
        to: String,
    },
}

/// `RENAME TABLE a TO b, c TO d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameTables {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The tables, at least one, each with its name to be: in order, so that two can swap.
    pub pairs: Vec<(TableName, TableName)>,
}

/// Where ALTER TABLE puts a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPlace {
    /// Before the others.
    First,
    /// Behind this one.
    After(String),
}

/// `ALTER INDEX i ON t ACTIVE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterIndex {
    /// The index.
    pub name: String,
    /// The table.
    pub table: TableName,
    /// What it is to become.
    pub goal: IndexGoal,
}

/// What `ALTER INDEX` makes of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexGoal {
    /// Written and read; built first when it was disabled.
    Active,
    /// Written and not read.
    Inactive,
    /// Neither.
    Disabled,
}

/// `CHECK TABLE a, b`, and the other statements of table maintenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maintain {
    /// What is done.
    pub kind: Maintenance,
    /// The tables.
    pub tables: Vec<TableName>,
}

/// What is done with a table that is kept as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    /// Rows, entries of indexes and the number of rows are compared.
    Check,
    /// And made to agree.
    Repair,
    /// The rows are counted.
    Analyze,
    /// What was deleted and overwritten is removed from the files, and the rows are counted.
    Optimize,
}

impl Maintenance {
    /// MySQL's word, as in the column `Op` of the answer.
    pub fn name(self) -> &'static str {
        match self {
            Maintenance::Check => "check",
            Maintenance::Repair => "repair",
            Maintenance::Analyze => "analyze",
            Maintenance::Optimize => "optimize",
        }
    }
}

/// `DROP TABLE a, b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropTable {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// The tables, at least one.
    pub tables: Vec<TableName>,
}
