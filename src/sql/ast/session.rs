//! SET, transactions, KILL and text-protocol prepared statements.

use super::Expr;

/// One member of a `SET` list.
#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `name = value`, with or without a scope.
    Variable {
        /// Which value is set.
        scope: SetScope,
        /// The name, lower case.
        name: String,
        /// The value.
        value: SetValue,
    },
    /// `@name = value`.
    UserVariable {
        /// The name, lower case.
        name: String,
        /// The value.
        value: Expr,
    },
    /// `NAMES charset [COLLATE collation]`, lower case.
    Names {
        /// The charset; `None` for `DEFAULT`.
        charset: Option<String>,
        /// The collation.
        collation: Option<String>,
    },
    /// `CHARACTER SET charset`, lower case; `None` for `DEFAULT`.
    CharacterSet(Option<String>),
}

/// Which value of a variable `SET` sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetScope {
    /// `SET x`, `SET SESSION x`, `SET LOCAL x`, `SET @@x`, `SET @@session.x`.
    Session,
    /// `SET @@x` of a characteristic of transactions: of the next one alone, as MySQL has it.
    Next,
    /// `SET GLOBAL x`, `SET @@global.x`.
    Global,
    /// `SET PERSIST x`: global and kept.
    Persist,
    /// `SET PERSIST_ONLY x`: kept, used from the next start.
    PersistOnly,
}

/// What a variable is set to.
#[derive(Debug, Clone, PartialEq)]
pub enum SetValue {
    /// `DEFAULT`.
    Default,
    /// A bare word, as written: `ON`, `OFF`, `utf8mb4`, `SYSTEM`.
    Word(String),
    /// An expression without columns.
    Expr(Expr),
}

/// `RESET PERSIST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResetPersist {
    /// The variable, lower case; `None` for all.
    pub name: Option<String>,
    /// `IF EXISTS`.
    pub if_exists: bool,
}

/// `SET [SESSION | GLOBAL] TRANSACTION …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetTransaction {
    /// `SESSION` or `GLOBAL`; `None` when only the next transaction is meant.
    pub scope: Option<SetScope>,
    /// `ISOLATION LEVEL`.
    pub isolation: Option<IsolationLevel>,
    /// `READ ONLY`, `READ WRITE`.
    pub access: Option<AccessMode>,
}

/// The isolation levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the SQL phrase of the same name")]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// Whether a transaction may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the SQL phrase of the same name")]
pub enum AccessMode {
    ReadOnly,
    ReadWrite,
}

/// `BEGIN`, `START TRANSACTION`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Begin {
    /// `READ ONLY`, `READ WRITE`.
    pub access: Option<AccessMode>,
    /// `WITH CONSISTENT SNAPSHOT`.
    pub consistent_snapshot: bool,
}

/// What follows `COMMIT` and `ROLLBACK`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndTransaction {
    /// `AND CHAIN`: a new transaction begins at once.
    pub chain: bool,
    /// `RELEASE`: the connection is closed.
    pub release: bool,
}

/// `KILL`.
#[derive(Debug, Clone, PartialEq)]
pub struct Kill {
    /// Whether only the running statement is stopped.
    pub query: bool,
    /// The connection's id.
    pub id: Expr,
}

/// `PREPARE name FROM source`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepare {
    /// The statement's name, lower case.
    pub name: String,
    /// Where its text is.
    pub source: PrepareSource,
}

/// Where the text of a prepared statement is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareSource {
    /// `'text'`.
    Text(String),
    /// `@name`, lower case.
    UserVariable(String),
}

/// `EXECUTE name USING @a, @b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execute {
    /// The statement's name, lower case.
    pub name: String,
    /// The user variables, lower case.
    pub using: Vec<String>,
}

/// `DEALLOCATE PREPARE name`, `DROP PREPARE name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deallocate {
    /// The statement's name, lower case.
    pub name: String,
}
