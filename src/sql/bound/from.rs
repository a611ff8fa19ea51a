//! What a query reads: tables, queries of their own, and how they are joined; and its subqueries.

use std::sync::Arc;

use super::{Hints, Query};
use crate::catalog::Table;
use crate::sql::expr::Expr;
use crate::sql::listed::Listed;
use crate::types::ColumnType;

/// What a query reads.
#[derive(Debug, Clone)]
pub enum From {
    /// Nothing: there is one row, without columns.
    Nothing,
    /// One table; the row is the table's.
    Table(Arc<Table>),
    /// Several sources, or one that is no table.
    Joined(Box<Joined>),
}

/// Sources and how they are joined. The row is that of all of them, one behind the other.
#[derive(Debug, Clone)]
pub struct Joined {
    /// The sources, in the order of their columns.
    pub sources: Vec<Source>,
    /// How they are joined.
    pub tree: JoinTree,
    /// Whether the order of `FROM` is to be kept: `STRAIGHT_JOIN`.
    pub keeps_order: bool,
}

/// One of the sources of a join.
#[derive(Debug, Clone)]
pub struct Source {
    /// What its rows are.
    pub relation: Relation,
    /// The alias it goes by.
    pub alias: String,
    /// Which keys are to be read.
    pub hints: Hints,
    /// Where its columns begin in the row.
    pub first_column: usize,
    /// `LATERAL`: what a query reads of the sources before it. With any it is run for each of their
    /// rows.
    pub captures: Vec<Capture>,
}

/// The rows of a source.
#[derive(Debug, Clone)]
pub enum Relation {
    /// Those of a table.
    Table(Arc<Table>),
    /// Those of a query that is run on its own.
    Query(Arc<Query>),
    /// Those that the last round of a recursive query has found.
    Round(Arc<Round>),
    /// Those of a table that the server makes up.
    Listed(Arc<Listed>),
}

/// The rows of the last round of a recursive query.
#[derive(Debug, Clone)]
pub struct Round {
    /// Which recursive query: a number of the statement.
    pub number: usize,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
}

/// How sources are joined.
#[derive(Debug, Clone)]
pub enum JoinTree {
    /// One source, by its position.
    Source(usize),
    /// All combinations of rows that meet the conditions.
    Inner {
        /// What is combined.
        members: Vec<JoinTree>,
        /// `ON`, and the conditions of queries that were merged into this one.
        conditions: Vec<Expr>,
    },
    /// Each row of the left side with those of the right side that meet the condition, or with none.
    Left {
        /// The side that is kept.
        left: Box<JoinTree>,
        /// The side that may have no row.
        right: Box<JoinTree>,
        /// `ON`.
        on: Option<Expr>,
    },
}

/// A subquery in an expression.
#[derive(Debug, Clone)]
pub struct Subquery {
    /// What is run.
    pub query: Arc<Query>,
    /// Where its answer goes.
    pub slot: usize,
    /// What stands for it in the text of expressions.
    pub name: Arc<str>,
    /// What is made of its rows.
    pub answer: Answer,
    /// What it reads of the row of the query it stands in; without any it is run once.
    pub captures: Vec<Capture>,
    /// When its answer is needed.
    pub stage: Stage,
    /// How it may be run for each row instead of once, if it is that of an `IN`.
    pub semi: Option<Box<Semi>>,
}

/// The subquery of an `IN` with a condition more: that its row is equal to what it is compared with.
#[derive(Debug, Clone)]
pub struct Semi {
    /// What is run.
    pub query: Arc<Query>,
    /// What it is compared with.
    pub captures: Vec<Capture>,
}

/// A column of an enclosing query that a subquery reads.
#[derive(Debug, Clone)]
pub struct Capture {
    /// Where its value goes.
    pub slot: usize,
    /// What it is, over the row of the enclosing query.
    pub expr: Expr,
}

/// What is made of the rows of a subquery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The only value of the only row; `NULL` when there is none.
    Value,
    /// Whether there is a row.
    Exists,
    /// All rows.
    Set,
}

/// Where a subquery stands that is answered row by row. Conditions ask for the answers that they read
/// themselves, whoever checks them; those of rows and of groups are asked for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// In `ON` of an outer join: of two rows that may be a match.
    Join,
    /// In `WHERE`, or `ON` of an inner join.
    Filter,
    /// For what is computed of each row: outputs, keys of groups, arguments of aggregates.
    Row,
    /// For what is computed of each group.
    Group,
}

impl Joined {
    /// The source that has a position of the row.
    pub fn source_of(&self, column_idx: usize) -> Option<&Source> {
        let after = self
            .sources
            .partition_point(|source| source.first_column <= column_idx);
        self.sources.get(after.checked_sub(1)?)
    }
}

impl Source {
    /// How many columns it has.
    pub fn columns_count(&self) -> usize {
        match &self.relation {
            Relation::Table(table) => table.columns.len(),
            Relation::Query(query) => query.columns().len(),
            Relation::Round(round) => round.types.len(),
            Relation::Listed(listed) => listed.table.columns.len(),
        }
    }

    /// The table, if it is one.
    pub fn table(&self) -> Option<&Arc<Table>> {
        match &self.relation {
            Relation::Table(table) => Some(table),
            Relation::Query(_) | Relation::Round(_) | Relation::Listed(_) => None,
        }
    }
}
