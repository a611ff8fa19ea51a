//! The statements on rows.

use super::{ColumnName, Expr, IntoFile, JsonTable, NamedWindow};

/// `[database.]table`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// The database, when named.
    pub database: Option<String>,
    /// The table.
    pub name: String,
}

/// A hint of `/*+ … */` after the verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Its name as written.
    pub name: String,
    /// Its arguments, quotes taken off.
    pub args: Vec<String>,
}

/// `WITH` before a query, an UPDATE or a DELETE.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct With {
    /// Its names and what they stand for, in order; empty where nothing was written.
    pub ctes: Vec<Cte>,
    /// `RECURSIVE`.
    pub recursive: bool,
}

/// A query expression: one or more blocks, sorted and limited as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// `WITH`.
    pub with: With,
    /// What is selected.
    pub body: QueryBody,
    /// `ORDER BY`.
    pub order_by: Vec<OrderItem>,
    /// `LIMIT`.
    pub limit: Option<Limit>,
    /// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`.
    pub lock: Option<Lock>,
    /// `INTO`.
    pub into: Option<IntoTarget>,
    /// Whether a user variable is assigned in it or before it in the statement.
    pub assigns: bool,
}

impl Select {
    /// `SELECT expr`.
    pub fn of_expr(expr: Expr) -> Select {
        let assigns = expr.assigns();
        let item = SelectItem::Expr {
            expr,
            alias: None,
            text: String::new(),
        };
        Select {
            with: With::default(),
            body: QueryBody::Block(Box::new(Block {
                hints: Vec::new(),
                distinct: false,
                straight: false,
                counts_rows: false,
                no_cache: false,
                items: vec![item],
                from: Vec::new(),
                filter: None,
                group_by: Vec::new(),
                rollup: false,
                having: None,
                windows: Vec::new(),
            })),
            order_by: Vec::new(),
            limit: None,
            lock: None,
            into: None,
            assigns,
        }
    }
}

/// Where the row of `SELECT … INTO` goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntoTarget {
    /// `INTO @a, @b`: the names, lower case.
    Variables(Vec<String>),
    /// `INTO OUTFILE`, `INTO DUMPFILE`.
    File(Box<IntoFile>),
}

/// One member of `WITH`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: String,
    /// The names of its columns, when given.
    pub columns: Vec<String>,
    /// Its query.
    pub select: Select,
}

/// The body of a query expression.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// `SELECT …`.
    Block(Box<Block>),
    /// `a UNION b`.
    SetOperation {
        /// Which.
        operator: SetOperator,
        /// Whether duplicates are kept.
        all: bool,
        /// Both sides.
        sides: Box<(Select, Select)>,
    },
    /// `VALUES ROW(…), …`.
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`.
    Table(TableName),
}

/// The set operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the SQL word of the same name")]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

/// One `SELECT … FROM … WHERE … GROUP BY … HAVING …`.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one word that may be written or not"
)]
pub struct Block {
    /// Hints after the verb.
    pub hints: Vec<Hint>,
    /// `DISTINCT`.
    pub distinct: bool,
    /// `SELECT STRAIGHT_JOIN`: whether the tables are read in the order of `FROM`.
    pub straight: bool,
    /// `SQL_CALC_FOUND_ROWS`.
    pub counts_rows: bool,
    /// `SQL_NO_CACHE`: who writes it wants a whole table read, as dumps do.
    pub no_cache: bool,
    /// What is returned.
    pub items: Vec<SelectItem>,
    /// `FROM`: comma-separated; empty for none and for `FROM DUAL`.
    pub from: Vec<TableRef>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `GROUP BY`.
    pub group_by: Vec<Expr>,
    /// `WITH ROLLUP`.
    pub rollup: bool,
    /// `HAVING`.
    pub having: Option<Expr>,
    /// `WINDOW`.
    pub windows: Vec<NamedWindow>,
}

/// One member of the select list.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`.
    Star,
    /// `t.*`, `d.t.*`.
    TableStar(TableName),
    /// An expression.
    Expr {
        /// What is computed.
        expr: Expr,
        /// `AS alias`.
        alias: Option<String>,
        /// The column's name when there is no alias: the source text, as MySQL gives it.
        text: String,
    },
}

/// A table and what is joined to it.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRef {
    /// The first table.
    pub factor: TableFactor,
    /// The joins after it, left to right.
    pub joins: Vec<Join>,
}

/// What may stand where a table stands.
#[derive(Debug, Clone, PartialEq)]
pub enum TableFactor {
    /// A table or view.
    Table {
        /// Its name.
        name: TableName,
        /// `AS alias`.
        alias: Option<String>,
        /// `FORCE INDEX (…)` and kin.
        index_hints: Vec<IndexHint>,
    },
    /// `(SELECT …) AS alias`.
    Derived {
        /// The query.
        select: Box<Select>,
        /// Its alias; error 1248 without.
        alias: Option<String>,
        /// The names of its columns, when given.
        columns: Vec<String>,
        /// Whether `LATERAL` stands before it.
        lateral: bool,
    },
    /// `JSON_TABLE(…)`.
    JsonTable(Box<JsonTable>),
    /// `(a JOIN b)`, `(a, b)`.
    Nested(Vec<TableRef>),
}

/// One join.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Which.
    pub kind: JoinKind,
    /// Whether `NATURAL`.
    pub natural: bool,
    /// Whether `STRAIGHT_JOIN`.
    pub straight: bool,
    /// The right side.
    pub right: TableFactor,
    /// `ON`.
    pub on: Option<Expr>,
    /// `USING`.
    pub using: Vec<String>,
}

/// The kinds of join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the SQL word of the same name")]
pub enum JoinKind {
    Inner,
    Left,
    Right,
}

/// `USE | FORCE | IGNORE INDEX (i, …)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    /// Which.
    pub kind: IndexHintKind,
    /// The indexes' names.
    pub indexes: Vec<String>,
}

/// The kinds of [`IndexHint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the SQL word of the same name")]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

/// One key of `ORDER BY`.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// An expression, alias or ordinal.
    pub expr: Expr,
    /// Whether `DESC`.
    pub descending: bool,
}

/// `LIMIT [offset,] count`, `LIMIT count OFFSET offset`: literals or parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// How many rows.
    pub count: Expr,
    /// How many are skipped first.
    pub offset: Option<Expr>,
}

/// The locking clauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// `FOR UPDATE`.
    Update,
    /// `FOR SHARE`, `LOCK IN SHARE MODE`.
    Share,
}

/// `INSERT`, `REPLACE`, `UPSERT`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// Which.
    pub verb: InsertVerb,
    /// `IGNORE`.
    pub ignore: bool,
    /// Hints after the verb.
    pub hints: Vec<Hint>,
    /// The table.
    pub table: TableName,
    /// The named columns; `None` when there is no list.
    pub columns: Option<Vec<ColumnName>>,
    /// The rows.
    pub rows: InsertRows,
    /// `AS new(a, b)`.
    pub alias: Option<RowAlias>,
    /// `ON DUPLICATE KEY …`.
    pub on_duplicate: OnDuplicate,
}

/// The verbs that insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the SQL word of the same name")]
pub enum InsertVerb {
    Insert,
    Replace,
    Upsert,
}

/// Where the rows come from.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertRows {
    /// `VALUES (…), …`, `VALUES ROW(…), …`, `SET c = …` (one row).
    Values(Vec<Vec<InsertValue>>),
    /// `SELECT …`.
    Select(Box<Select>),
}

/// One value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertValue {
    /// An expression.
    Expr(Expr),
    /// `DEFAULT`.
    Default,
}

/// `AS new(a, b)` after the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowAlias {
    /// The alias of the proposed row.
    pub name: String,
    /// New names for its columns, in the order of the column list; may be empty.
    pub columns: Vec<String>,
}

/// What happens to a duplicate.
#[derive(Debug, Clone, PartialEq)]
pub enum OnDuplicate {
    /// No clause: what the verb says.
    Unsaid,
    /// Lindorm's `ON DUPLICATE KEY ERROR`.
    Error,
    /// Lindorm's `ON DUPLICATE KEY IGNORE`.
    Ignore,
    /// `ON DUPLICATE KEY UPDATE c = e, …`.
    Update(Vec<Assignment>),
}

/// `c = e` of UPDATE and `ON DUPLICATE KEY UPDATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: ColumnName,
    /// The new value.
    pub value: InsertValue,
}

/// `UPDATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// `WITH`.
    pub with: With,
    /// Hints after the verb.
    pub hints: Vec<Hint>,
    /// `IGNORE`.
    pub ignore: bool,
    /// The tables.
    pub tables: Vec<TableRef>,
    /// `SET`.
    pub assignments: Vec<Assignment>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `ORDER BY`.
    pub order_by: Vec<OrderItem>,
    /// `LIMIT`.
    pub limit: Option<Expr>,
}

/// The tables of a `DELETE` from several.
#[derive(Debug, Clone, PartialEq)]
pub struct Several {
    /// Those that are deleted from, by name or alias.
    pub targets: Vec<TableName>,
    /// Those that are read.
    pub tables: Vec<TableRef>,
}

/// `DELETE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// `WITH`.
    pub with: With,
    /// `DELETE a FROM …`, `DELETE FROM a USING …`: then `table` is the first target.
    pub several: Option<Several>,
    /// Hints after the verb.
    pub hints: Vec<Hint>,
    /// `IGNORE`.
    pub ignore: bool,
    /// The table.
    pub table: TableName,
    /// `AS alias`.
    pub alias: Option<String>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `ORDER BY`.
    pub order_by: Vec<OrderItem>,
    /// `LIMIT`.
    pub limit: Option<Expr>,
}
