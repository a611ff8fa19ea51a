//! How several sources are joined: in which order, and by which method each.
//!
//! `units` takes the tree of joins apart: what is left of it is a set of [`Unit`]s, each with what
//! must be read before it, and conditions. `order` puts them into a row of [`Step`]s, with the number
//! of rows that somebody has counted; each step adds one unit to the rows so far. Nothing is read
//! here.

mod lookup;
mod order;
mod refs;
mod short;
mod strict;
mod units;

#[cfg(test)]
mod tests;

pub use lookup::{Lookup, Trial, column_name, shown as shown_lookup};
pub use order::{Facts, first_filter, local_filter, order};
pub use refs::{Sources, late_slots, shifted};
pub use short::ShortLookup;
pub use units::{Conjunct, Pool, Unit, UnitRows, pool, sources_of};

use super::request::{Policy, Request, RowsKept};
use super::{Estimates, TablePlan, explain_table, plan_table};
use crate::catalog::Table;
use crate::error::Result;
use crate::sql::bound::{Joined, OrderBy, Source};
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;

/// What a join is planned with.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The sources.
    pub joined: &'a Joined,
    /// For each source, the columns of it that the statement uses.
    pub used_columns: &'a [Vec<usize>],
    /// Parameters, clock, session, slots.
    pub ctx: &'a EvalContext,
    /// What is permitted.
    pub policy: &'a Policy,
    /// What the statement asks of the order and number of rows, when there is one source alone.
    pub wanted: Wanted<'a>,
}

/// Order and number of rows that the statement wants.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// `ORDER BY`.
    pub order_by: &'a [OrderBy],
    /// `LIMIT`.
    pub limit: Option<u64>,
    /// `OFFSET`.
    pub offset: u64,
}

/// The steps of a join.
#[derive(Debug, Clone)]
pub struct JoinPlan {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// What is left to check for each joined row once subqueries have been answered for it: of a join
    /// within a join, by that; of any other, by who reads its rows.
    pub late: Option<Expr>,
    /// Whether the rows come in the order of `ORDER BY`.
    pub ordered: bool,
}

/// One unit joined to the rows so far.
#[derive(Debug, Clone)]
pub struct Step {
    /// What is joined.
    pub unit: UnitRows,
    /// How its rows are found.
    pub method: Method,
    /// Whether rows without a match are kept.
    pub is_outer: bool,
    /// What makes a match, over the joined row; as far as the method does not see to it.
    pub conditions: Option<Expr>,
    /// What makes a match besides, once subqueries have been answered for the two rows.
    pub asked: Option<Expr>,
    /// What the joined rows must meet besides.
    pub filter: Option<Expr>,
    /// About how many rows there are after it.
    pub rows_estimate: u64,
}

/// How the rows of a unit are found.
#[derive(Debug, Clone)]
pub enum Method {
    /// It is read once, and is the first.
    Scan {
        /// Conditions on the unit alone.
        filter: Option<Expr>,
    },
    /// For each row so far it is read by keys.
    Lookup(Lookup),
    /// For each row so far the query is run: `LATERAL`.
    Each,
    /// It is read once, and kept by the values of its keys. Without keys every row is a match.
    Hash {
        /// Conditions on the unit alone.
        filter: Option<Expr>,
        /// Pairs of equals: over the rows so far, and over the unit.
        keys: Vec<(Expr, Expr)>,
    },
}

/// Plans one table of a join with conditions on its own columns and on slots. The conditions are over
/// the row of the join.
///
/// # Errors
/// Refusals of access paths.
pub fn table_plan(
    setting: &Setting<'_>,
    source_idx: usize,
    (filter, ctx): (Option<&Expr>, &EvalContext),
    for_explain: bool,
) -> Result<TablePlan> {
    let Some((source, table)) = table_of(setting.joined, source_idx) else {
        return Err(crate::error::Error::internal("a source that is no table"));
    };
    let filter = filter.map(|filter| shifted(filter, source.first_column));
    let is_alone = setting.joined.sources.len() == 1;
    let wanted = if is_alone {
        setting.wanted
    } else {
        Wanted::default()
    };
    let used = setting.used_columns.get(source_idx);
    let request = Request {
        table,
        purpose: source.hints.purpose,
        joined_as: (!is_alone).then_some(source.alias.as_str()),
        filter: filter.as_ref(),
        grouping: None,
        aggregates: &[],
        order_by: wanted.order_by,
        limit: wanted.limit,
        offset: wanted.offset,
        wants_all: false,
        used_columns: used.map(Vec::as_slice),
        hints: &source.hints,
        ctx,
        policy: setting.policy,
        rows_kept: RowsKept::NotAsked,
        estimates: Estimates::Unknown,
    };
    if for_explain {
        explain_table(&request)
    } else {
        plan_table(&request)
    }
}

/// The table of a source.
pub fn table_of(joined: &Joined, source_idx: usize) -> Option<(&Source, &Table)> {
    let source = joined.sources.get(source_idx)?;
    Some((source, source.table()?))
}
