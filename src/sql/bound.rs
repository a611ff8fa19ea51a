//! Bound statements on rows: SELECT, INSERT and its kin, UPDATE, DELETE.
//!
//! Made by `bind` from the `ast`; planned by `plan`; run by `exec`. Statements that touch no rows
//! (DDL, SHOW, SET, transactions) are run from their `ast` form.

use std::sync::Arc;

pub use super::ast::SetOperator;
use super::expr::Expr;
use super::functions::json_table::JsonTable;
use crate::catalog::{Column, Table};
use crate::types::ResultColumn;

mod from;
mod hints;
pub mod semi;
mod window;

pub use from::{
    Answer, Capture, From, JoinTree, Joined, Relation, Round, Semi, Source, Stage, Subquery,
};
pub use hints::{Hints, KeyRef, Purpose};
pub use window::{Frame, FrameBound, Window, WindowFunction, WindowKind, Windowing};

/// A bound query.
#[derive(Debug, Clone)]
pub enum Query {
    /// One block.
    Select(Box<Select>),
    /// `UNION`, `INTERSECT`, `EXCEPT`.
    Set(Box<SetQuery>),
    /// A recursive common table expression.
    Recursive(Box<Recursive>),
    /// `JSON_TABLE`.
    Json(Box<JsonRows>),
}

/// The rows that `JSON_TABLE` makes of a document.
#[derive(Debug, Clone)]
pub struct JsonRows {
    /// The document; it reads no row.
    pub document: Expr,
    /// What makes the rows.
    pub table: Arc<JsonTable>,
    /// The columns.
    pub columns: Vec<ResultColumn>,
    /// How many parameters there are.
    pub parameters_count: usize,
}

/// Two queries whose rows are united, intersected or subtracted.
#[derive(Debug, Clone)]
pub struct SetQuery {
    /// Which.
    pub operator: SetOperator,
    /// Whether duplicates are kept.
    pub all: bool,
    /// Both sides. A program keeps them beside its own: of many unions one in another each would have a copy of all
    /// within it.
    pub sides: (Arc<Query>, Arc<Query>),
    /// How a client sees the columns; values of both sides are converted to their types.
    pub columns: Vec<ResultColumn>,
    /// `ORDER BY`, over the columns.
    pub order_by: Vec<OrderBy>,
    /// `LIMIT`: a literal or a parameter.
    pub limit: Option<Expr>,
    /// `OFFSET`: a literal or a parameter.
    pub offset: Option<Expr>,
    /// How many `?` the statement has.
    pub parameters_count: usize,
}

/// `WITH RECURSIVE c AS (first UNION [ALL] next [LIMIT n])`.
#[derive(Debug, Clone)]
pub struct Recursive {
    /// Its number in the statement, by which `next` finds the rows of the last round.
    pub number: usize,
    /// The rows of the first round.
    pub first: Query,
    /// The rows of each later round.
    pub next: Query,
    /// Whether duplicates are kept.
    pub all: bool,
    /// `LIMIT` of all rounds together: a literal or a parameter.
    pub limit: Option<Expr>,
    /// `OFFSET`: a literal or a parameter.
    pub offset: Option<Expr>,
    /// How a client sees the columns.
    pub columns: Vec<ResultColumn>,
    /// How many `?` the statement has.
    pub parameters_count: usize,
}

impl Query {
    /// How a client sees the columns.
    pub fn columns(&self) -> Vec<&ResultColumn> {
        match self {
            Query::Select(select) => select.outputs.iter().map(|output| &output.column).collect(),
            Query::Set(set) => set.columns.iter().collect(),
            Query::Recursive(recursive) => recursive.columns.iter().collect(),
            Query::Json(json) => json.columns.iter().collect(),
        }
    }

    /// Takes `LIMIT` and `OFFSET` away from the whole query.
    pub fn take_limits(&mut self) -> (Option<Expr>, Option<Expr>) {
        match self {
            Query::Select(select) => (select.limit.take(), select.offset.take()),
            Query::Set(set) => (set.limit.take(), set.offset.take()),
            Query::Recursive(_) | Query::Json(_) => (None, None),
        }
    }

    /// Whether its rows come in an order that was asked for.
    pub fn is_ordered(&self) -> bool {
        match self {
            Query::Select(select) => !select.order_by.is_empty(),
            Query::Set(set) => !set.order_by.is_empty(),
            Query::Recursive(_) | Query::Json(_) => false,
        }
    }

    /// How many `?` the statement has.
    pub fn parameters_count(&self) -> usize {
        match self {
            Query::Select(select) => select.parameters_count,
            Query::Set(set) => set.parameters_count,
            Query::Recursive(recursive) => recursive.parameters_count,
            Query::Json(json) => json.parameters_count,
        }
    }
}

/// A bound query block: `SELECT … FROM … WHERE …`.
#[derive(Debug, Clone)]
pub struct Select {
    /// What is read.
    pub from: From,
    /// The alias the table goes by, if there is one table; its name when none was given.
    pub alias: String,
    /// The hints that were understood.
    pub hints: Hints,
    /// The subqueries in the expressions of this block.
    pub subqueries: Vec<Subquery>,
    /// `WHERE`, over the row of what is read.
    pub filter: Option<Expr>,
    /// Grouping and aggregates; `None` when there are neither.
    pub aggregation: Option<Aggregation>,
    /// `HAVING`, over the aggregated row (or the table's row when there is no aggregation).
    pub having: Option<Expr>,
    /// Window functions; `None` when there are none.
    pub windowing: Option<Windowing>,
    /// What is returned, over the same row as `having`, or the windowed row.
    pub outputs: Vec<Output>,
    /// `DISTINCT`.
    pub distinct: bool,
    /// `ORDER BY`, over the same row as `outputs`.
    pub order_by: Vec<OrderBy>,
    /// `LIMIT`: a literal or a parameter.
    pub limit: Option<Expr>,
    /// `OFFSET`: a literal or a parameter.
    pub offset: Option<Expr>,
    /// `FOR UPDATE`.
    pub for_update: bool,
    /// How many `?` the statement has.
    pub parameters_count: usize,
}

impl Select {
    /// Whether rows go out in another order than they are read or grouped in, so that no order of
    /// theirs is of use.
    pub fn rearranges(&self) -> bool {
        let aggregation = self.aggregation.as_ref();
        self.windowing.is_some() || aggregation.is_some_and(|aggregation| aggregation.rollup)
    }

    /// The table, when one table is all that is read.
    pub fn table(&self) -> Option<&Arc<Table>> {
        match &self.from {
            From::Table(table) => Some(table),
            From::Nothing | From::Joined(_) => None,
        }
    }
}

/// One output of a SELECT.
#[derive(Debug, Clone)]
pub struct Output {
    /// What is computed.
    pub expr: Expr,
    /// How the client sees it.
    pub column: ResultColumn,
}

/// One key of `ORDER BY`.
#[derive(Debug, Clone)]
pub struct OrderBy {
    /// What is compared.
    pub expr: Expr,
    /// Whether `DESC`.
    pub descending: bool,
}

/// GROUP BY and the aggregates. The aggregated row is the keys, then the aggregates.
#[derive(Debug, Clone)]
pub struct Aggregation {
    /// The keys, over the table's row. Empty: one group, also when there is no row.
    pub keys: Vec<Expr>,
    /// `WITH ROLLUP`: there is a group for each number of keys from none to all, the other keys
    /// `NULL`. The last of `keys` was not written: it is that number.
    pub rollup: bool,
    /// The aggregates.
    pub aggregates: Vec<Aggregate>,
}

/// One aggregate call.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// Which.
    pub kind: AggregateKind,
    /// Its argument, over the table's row; `None` for `COUNT(*)`. `COUNT(DISTINCT a, b)` has more.
    pub args: Vec<Expr>,
    /// Whether `DISTINCT`.
    pub distinct: bool,
    /// `ORDER BY` inside `GROUP_CONCAT`, over the table's row.
    pub order_by: Vec<OrderBy>,
    /// `SEPARATOR` of `GROUP_CONCAT`; a comma when there is none.
    pub separator: Option<Arc<str>>,
    /// The type of the result.
    pub ty: crate::types::ColumnType,
}

/// The aggregate functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateKind {
    /// `COUNT(*)` and `COUNT(a)`.
    Count,
    /// `SUM(a)`.
    Sum,
    /// `MIN(a)`.
    Min,
    /// `MAX(a)`.
    Max,
    /// `AVG(a)`.
    Avg,
    /// `GROUP_CONCAT(a)`.
    GroupConcat,
    /// `BIT_AND(a)`.
    BitAnd,
    /// `BIT_OR(a)`.
    BitOr,
    /// `BIT_XOR(a)`.
    BitXor,
    /// `STDDEV_POP(a)`, `STDDEV(a)`, `STD(a)`.
    StddevPop,
    /// `STDDEV_SAMP(a)`.
    StddevSamp,
    /// `VAR_POP(a)`, `VARIANCE(a)`.
    VarPop,
    /// `VAR_SAMP(a)`.
    VarSamp,
    /// `JSON_ARRAYAGG(a)`.
    JsonArray,
    /// `JSON_OBJECTAGG(name, a)`.
    JsonObject,
    /// `ANY_VALUE(a)`, and a column that the grouped primary key determines.
    AnyValue,
}

/// A bound INSERT, REPLACE or UPSERT.
#[derive(Debug, Clone)]
pub struct Insert {
    /// The table.
    pub table: Arc<Table>,
    /// Which statement it is.
    pub kind: InsertKind,
    /// Positions in `Table::columns` that each row gives values for, in the order given.
    pub columns: Vec<usize>,
    /// The rows, each as long as `columns`.
    pub source: InsertSource,
    /// `ON DUPLICATE KEY UPDATE`: positions and new values, over the existing row's columns
    /// followed by the proposed row's.
    pub on_duplicate: Vec<(usize, Expr)>,
    /// `_l_ttl_(ms)`: when the rows end, counted from now.
    pub ttl_ms: Option<u64>,
    /// `_l_ts_(ms)`: how the rows are dated.
    pub ts_ms: Option<u64>,
    /// The subqueries in its expressions: each is run once.
    pub subqueries: Vec<Subquery>,
    /// Its hints: those that nobody knows are told, and how long it may take.
    pub hints: Hints,
    /// How many `?` the statement has.
    pub parameters_count: usize,
}

impl Insert {
    /// Whether `ON DUPLICATE KEY UPDATE` assigns to a column.
    pub fn updates(&self, column_idx: usize) -> bool {
        let mut assigned = self.on_duplicate.iter();
        assigned.any(|(idx, _)| *idx == column_idx)
    }

    /// The column that `ON DUPLICATE KEY UPDATE` changes. `None` for one of the primary key: what is assigned to it is
    /// evaluated, for what that tells, and the row stays under its key.
    pub fn changed_column(&self, column_idx: usize) -> Option<&Column> {
        let column = self.table.columns.get(column_idx);
        column.filter(|_| self.table.key_position(column_idx).is_none())
    }
}

/// A bound LOAD DATA: the rows of a file, for an INSERT of [`InsertSource::Given`] rows.
#[derive(Debug, Clone)]
pub struct Load {
    /// What becomes of the rows.
    pub insert: Insert,
    /// Where the fields of a line go.
    pub targets: Vec<LoadTarget>,
    /// `SET`: places in [`Insert::columns`] and values, over the columns of the table with the fields of
    /// the line.
    pub assignments: Vec<(usize, InsertValue)>,
}

/// Where a field of a line goes.
#[derive(Debug, Clone)]
pub enum LoadTarget {
    /// To this place in [`Insert::columns`].
    Column(usize),
    /// To this user variable.
    Variable(String),
}

/// Where the rows of an INSERT come from.
#[derive(Debug, Clone)]
pub enum InsertSource {
    /// They are written out.
    Values(Vec<Vec<InsertValue>>),
    /// They are those of a query.
    Query(Arc<Query>),
    /// They are given when it is run: LOAD DATA.
    Given,
}

impl InsertSource {
    /// The rows that are written out.
    pub fn values(&self) -> &[Vec<InsertValue>] {
        match self {
            InsertSource::Values(rows) => rows,
            InsertSource::Query(_) | InsertSource::Given => &[],
        }
    }
}

/// An UPDATE or DELETE of several tables, or with subqueries that read the rows: what is to be
/// changed is found by a query.
#[derive(Debug, Clone)]
pub struct Change {
    /// Gives, for each target in turn, the columns of its primary key, `NULL` where a row of the
    /// join has none of it, then the values that are assigned, and then what [`ChangeTarget::over_new`] reads.
    pub query: Query,
    /// What is changed.
    pub targets: Vec<ChangeTarget>,
    /// Whether rows are deleted; else updated.
    pub deletes: bool,
    /// `IGNORE`.
    pub ignore: bool,
    /// The hints that were understood.
    pub hints: Hints,
    /// How many `?` the statement has.
    pub parameters_count: usize,
}

/// A table that a [`Change`] changes.
#[derive(Debug, Clone)]
pub struct ChangeTarget {
    /// The table.
    pub table: Arc<Table>,
    /// The columns that are assigned, as positions in the table.
    pub assigned: Vec<usize>,
    /// The values that read columns assigned before them, or assign variables; the query has `NULL` in their places.
    pub over_new: Vec<OverNew>,
    /// How many values of the query these read beside the row.
    pub asked_count: usize,
}

impl ChangeTarget {
    /// How many outputs of the query are about it.
    pub fn outputs_count(&self) -> usize {
        self.table.key.len() + self.values_count()
    }

    /// Those of them behind the key.
    pub fn values_count(&self) -> usize {
        self.assigned.len() + self.asked_count
    }
}

/// A value that is computed over the row as the assignments before it leave it.
#[derive(Debug, Clone)]
pub struct OverNew {
    /// Its place among [`ChangeTarget::assigned`].
    pub position: usize,
    /// Over the columns of the table, and behind them the values that are asked for.
    pub expr: Expr,
}

/// What a duplicate key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertKind {
    /// Error 1062, or `ON DUPLICATE KEY UPDATE`.
    Insert,
    /// The row is left out, with a warning.
    InsertIgnore,
    /// The old row goes.
    Replace,
    /// The named columns are written, the others kept.
    Upsert,
}

/// One value of an inserted row.
#[derive(Debug, Clone)]
pub enum InsertValue {
    /// An expression without row.
    Expr(Expr),
    /// `DEFAULT`.
    Default,
}

/// A bound UPDATE.
#[derive(Debug, Clone)]
pub struct Update {
    /// The table.
    pub table: Arc<Table>,
    /// The alias the table goes by.
    pub alias: String,
    /// The hints that were understood.
    pub hints: Hints,
    /// `IGNORE`.
    pub ignore: bool,
    /// Positions and new values, over the row as changed so far (MySQL: left to right).
    pub assignments: Vec<(usize, InsertValue)>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `ORDER BY`.
    pub order_by: Vec<OrderBy>,
    /// `LIMIT`.
    pub limit: Option<Expr>,
    /// The subqueries in its expressions: each is run once.
    pub subqueries: Vec<Subquery>,
    /// How many `?` the statement has.
    pub parameters_count: usize,
}

impl Update {
    /// Whether it assigns to a column.
    pub fn assigns(&self, column_idx: usize) -> bool {
        let mut assigned = self.assignments.iter();
        assigned.any(|(idx, _)| *idx == column_idx)
    }
}

/// A bound DELETE.
#[derive(Debug, Clone)]
pub struct Delete {
    /// The table.
    pub table: Arc<Table>,
    /// The alias the table goes by.
    pub alias: String,
    /// The hints that were understood.
    pub hints: Hints,
    /// `IGNORE`.
    pub ignore: bool,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `ORDER BY`.
    pub order_by: Vec<OrderBy>,
    /// `LIMIT`.
    pub limit: Option<Expr>,
    /// The subqueries in its expressions: each is run once.
    pub subqueries: Vec<Subquery>,
    /// How many `?` the statement has.
    pub parameters_count: usize,
}
