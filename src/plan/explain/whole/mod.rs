//! A planned statement of several tables or queries, as EXPLAIN sees it: blocks, joins, subqueries,
//! set operations.
//!
//! It comes in as data ([`Whole`]). `tree` makes a sentence and a tree (`node` draws it), `table` MySQL's
//! rows, `document` MySQL 8's JSON. What a run took ([`Took`]) stands beside the nodes that it was
//! taken by.

mod document;
mod names;
mod node;
mod table;
mod tree;

use super::{Explanation, Format, Measured, Source, Statement, Step, Write, one_text, traditional};
use crate::catalog::Table;
use crate::error::Error;
use crate::plan::TablePlan;
use crate::plan::stand_in::StandIns;
use crate::sql::ast::SetOperator;
use crate::sql::bound::{Answer, Joined, OrderBy};
use crate::sql::expr::Expr;
use crate::types::ResultColumn;
use crate::types::temporal::Zone;

/// A statement.
#[derive(Debug)]
pub struct Whole<'a> {
    /// What it runs.
    pub query: QueryShown<'a>,
    /// What is done with the rows; `None` for SELECT.
    pub written: Option<Written<'a>>,
    /// Why it is not permitted.
    pub refusal: Option<Error>,
    /// The session's zone, for TIMESTAMP values.
    pub zone: &'a Zone,
    /// What a run of it took, for EXPLAIN ANALYZE.
    pub measured: Option<Measured>,
}

/// What a statement writes.
#[derive(Debug)]
pub struct Written<'a> {
    /// Which statement it is.
    pub statement: Statement,
    /// The tables, in order.
    pub targets: Vec<WrittenTable<'a>>,
}

/// A table that is written.
#[derive(Debug)]
pub struct WrittenTable<'a> {
    /// The alias it goes by in the query; its name when the query is not about it.
    pub alias: &'a str,
    /// How it is written.
    pub write: Write<'a>,
}

impl Written<'_> {
    /// Whether rows are added, and not those of the query changed.
    fn is_insert(&self) -> bool {
        match self.statement {
            Statement::Insert | Statement::Replace | Statement::Upsert => true,
            Statement::Select | Statement::Update | Statement::Delete => false,
        }
    }
}

/// A query.
#[derive(Debug)]
pub enum QueryShown<'a> {
    /// One block.
    Block(Box<BlockShown<'a>>),
    /// Two queries whose rows are put together.
    Set(Box<SetShown<'a>>),
    /// A recursive query.
    Recursive(Box<RecursiveShown<'a>>),
    /// The rows that a path finds in a JSON document.
    Json(&'a str),
}

/// Two queries whose rows are put together.
#[derive(Debug)]
pub struct SetShown<'a> {
    /// How.
    pub operator: SetOperator,
    /// Whether duplicates stay.
    pub all: bool,
    /// Both.
    pub sides: (QueryShown<'a>, QueryShown<'a>),
    /// The columns of the result.
    pub columns: &'a [ResultColumn],
    /// `ORDER BY`, over the columns.
    pub order_by: &'a [OrderBy],
    /// Rows that are returned, and those that are left out first.
    pub limits: (Option<u64>, u64),
}

/// A recursive query.
#[derive(Debug)]
pub struct RecursiveShown<'a> {
    /// The rows of the first round.
    pub first: QueryShown<'a>,
    /// The rows of each later round.
    pub next: QueryShown<'a>,
    /// Whether duplicates stay.
    pub all: bool,
    /// `LIMIT` and `OFFSET`.
    pub limits: (Option<u64>, u64),
}

/// One block.
#[derive(Debug)]
pub struct BlockShown<'a> {
    /// What is read.
    pub rows: RowsShown<'a>,
    /// What the rows must meet besides: conditions that wait for subqueries.
    pub late: Option<Expr>,
    /// What happens to the rows after it.
    pub steps: Vec<Step<'a>>,
    /// The subqueries in its expressions.
    pub subqueries: Vec<SubqueryShown<'a>>,
    /// What all of it took.
    pub took: Option<Took>,
    /// What the condition of `late` took.
    pub took_late: Option<Took>,
    /// What grouping took.
    pub took_groups: Option<Took>,
    /// What sorting took.
    pub took_sort: Option<Took>,
}

/// What a block reads.
#[derive(Debug)]
pub enum RowsShown<'a> {
    /// Nothing: there is one row.
    Nothing,
    /// One table.
    Table(Box<TableShown<'a>>),
    /// Several sources, or one that is no table.
    Join(JoinShown<'a>),
}

/// How one table is read.
#[derive(Debug)]
pub struct TableShown<'a> {
    /// The table.
    pub table: &'a Table,
    /// The alias it goes by.
    pub alias: &'a str,
    /// How.
    pub plan: TablePlan,
    /// What values in the plan stand for.
    pub names: StandIns,
    /// About how many rows the access reads.
    pub rows_estimate: Option<u64>,
}

/// A join.
#[derive(Debug)]
pub struct JoinShown<'a> {
    /// The sources, for their names.
    pub joined: &'a Joined,
    /// The steps, in order. If no order is possible, the sources.
    pub steps: Vec<JoinStepShown<'a>>,
    /// Whether the steps are in an order that can be run.
    pub is_possible: bool,
    /// If not: the conditions between the sources.
    pub open: Vec<Expr>,
}

/// One unit joined to the rows so far.
#[derive(Debug)]
pub struct JoinStepShown<'a> {
    /// What is joined.
    pub unit: UnitShown<'a>,
    /// How its rows are found.
    pub method: MethodShown,
    /// Whether rows without a match are kept.
    pub is_outer: bool,
    /// What makes a match, over the joined row.
    pub conditions: Option<Expr>,
    /// What the joined rows must meet besides.
    pub filter: Option<Expr>,
    /// About how many rows there are after it.
    pub rows_estimate: u64,
    /// What it took.
    pub took: Option<Took>,
}

/// The rows of a unit.
#[derive(Debug)]
pub enum UnitShown<'a> {
    /// Those of a table.
    Table(Box<TableShown<'a>>),
    /// Those of a query, that meet the condition.
    Query(&'a str, QueryShown<'a>, Option<Expr>),
    /// Those of the last round of a recursive query, that meet the condition.
    Round(&'a str, Option<Expr>),
    /// Those of a table that the server makes up, that meet the condition.
    Listed(&'a str, Option<Expr>),
    /// Those of a join, that meet the condition.
    Join(JoinShown<'a>, Option<Expr>),
}

/// How the rows of a unit are found.
#[derive(Debug)]
pub enum MethodShown {
    /// It is read once, and is the first.
    Scan,
    /// For each row so far it is read by keys.
    Lookup,
    /// For each row so far the query is run.
    Each,
    /// It is read once, and kept by the values of its keys.
    Hash(Vec<(Expr, Expr)>),
}

/// A subquery in an expression.
#[derive(Debug)]
pub struct SubqueryShown<'a> {
    /// What stands for it in the text of expressions.
    pub name: &'a str,
    /// What is made of its rows.
    pub answer: Answer,
    /// What it reads of the row around it; nothing if it is run once.
    pub reads: Vec<String>,
    /// What it runs.
    pub query: QueryShown<'a>,
    /// What it took.
    pub took: Option<Took>,
}

/// What a part of a statement took when it was run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Took {
    /// How often it was begun.
    pub runs: u64,
    /// Rows that came in.
    pub rows_in: u64,
    /// Rows that went out.
    pub rows_out: u64,
    /// Rows fetched from the engine.
    pub rows_read: u64,
    /// Batches that were handed on.
    pub batches: u64,
    /// Bytes that were written to disk for want of memory.
    pub spilled_bytes: u64,
    /// Time, in nanoseconds.
    pub nanos: u64,
}

/// Renders a plan.
pub fn explain(whole: &Whole<'_>, format: Format) -> Explanation {
    match format {
        Format::Traditional => Explanation {
            columns: traditional::columns(),
            rows: table::rows(whole),
        },
        Format::Tree => one_text(tree::text(whole)),
        Format::Json => one_text(document::text(whole)),
    }
}

impl QueryShown<'_> {
    /// Whether a table in it may not be read so.
    pub fn is_refused(&self) -> bool {
        match self {
            QueryShown::Block(block) => block.is_refused(),
            QueryShown::Set(set) => set.sides.0.is_refused() || set.sides.1.is_refused(),
            QueryShown::Json(_) => false,
            QueryShown::Recursive(recursive) => {
                recursive.first.is_refused() || recursive.next.is_refused()
            }
        }
    }

    /// What all of it took, if it is one block.
    fn took(&self) -> Option<&Took> {
        match self {
            QueryShown::Block(block) => block.took.as_ref(),
            QueryShown::Set(_) | QueryShown::Recursive(_) | QueryShown::Json(_) => None,
        }
    }

    /// All tables that are read, in the order in which they are shown.
    fn tables(&self) -> Vec<&TableShown<'_>> {
        match self {
            QueryShown::Block(block) => block.tables(),
            QueryShown::Set(set) => [set.sides.0.tables(), set.sides.1.tables()].concat(),
            QueryShown::Json(_) => Vec::new(),
            QueryShown::Recursive(recursive) => {
                [recursive.first.tables(), recursive.next.tables()].concat()
            }
        }
    }
}

impl BlockShown<'_> {
    /// What reading its only table took: time is that of all of it.
    fn took_reading(&self) -> Option<Took> {
        let all = self.took?;
        let is_in = |took: &Option<Took>| took.filter(|took| 0 < took.rows_in);
        let further = is_in(&self.took_groups).or_else(|| is_in(&self.took_sort));
        Some(Took {
            runs: 0,
            rows_out: further.map_or(all.rows_out, |took| took.rows_in),
            nanos: 0,
            ..all
        })
    }

    fn is_refused(&self) -> bool {
        let mut subqueries = self.subqueries.iter();
        let is_join_refused = match &self.rows {
            RowsShown::Nothing | RowsShown::Table(_) => false,
            RowsShown::Join(join) => join.is_refused(),
        };
        is_join_refused
            || self.own_tables().iter().any(|table| table.is_refused())
            || subqueries.any(|subquery| subquery.query.is_refused())
    }

    /// The tables of its `FROM`.
    fn own_tables(&self) -> Vec<&TableShown<'_>> {
        match &self.rows {
            RowsShown::Nothing => Vec::new(),
            RowsShown::Table(table) => vec![table],
            RowsShown::Join(join) => join.tables(),
        }
    }

    fn tables(&self) -> Vec<&TableShown<'_>> {
        let mut tables = self.own_tables();
        for subquery in &self.subqueries {
            tables.extend(subquery.query.tables());
        }
        tables
    }
}

impl JoinShown<'_> {
    fn is_refused(&self) -> bool {
        let mut steps = self.steps.iter();
        !self.is_possible
            || steps.any(|step| match &step.unit {
                UnitShown::Table(table) => table.is_refused(),
                UnitShown::Query(_, query, _) => query.is_refused(),
                UnitShown::Round(..) | UnitShown::Listed(..) => false,
                UnitShown::Join(join, _) => join.is_refused(),
            })
    }

    fn tables(&self) -> Vec<&TableShown<'_>> {
        let mut tables = Vec::new();
        for step in &self.steps {
            match &step.unit {
                UnitShown::Table(table) => tables.push(table.as_ref()),
                UnitShown::Query(_, query, _) => tables.extend(query.tables()),
                UnitShown::Round(..) | UnitShown::Listed(..) => {}
                UnitShown::Join(join, _) => tables.extend(join.tables()),
            }
        }
        tables
    }
}

impl TableShown<'_> {
    fn is_refused(&self) -> bool {
        self.plan.refusal.is_some()
    }

    fn source(&self) -> Source<'_> {
        Source {
            table: self.table,
            alias: self.alias,
            plan: &self.plan,
            rows_estimate: self.rows_estimate,
            names: Some(&self.names),
        }
    }
}
