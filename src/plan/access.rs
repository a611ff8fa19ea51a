//! How one table is read for one statement: which access path, and why not another.
//!
//! A plan holds byte bounds ready for `kv`, the residual filter and what the order of the rows is
//! good for. It never reads data. Refusals (dialect §2 and §3) end here.

use super::span::Span;
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::sql::bound::{Hints, OrderBy};
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;

/// Keys one statement may fetch one by one, unless a variable says otherwise (dialect §2).
pub const MULTI_GET_ROWS_MAX: u64 = 2000;
/// Rows that a `LIMIT` may let an unfiltered statement read, unless an option says otherwise
/// (dialect §3).
pub const FULL_SCAN_LIMIT_MAX: u64 = 10_000;

/// What the server and the session permit.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// `--allow-full-scan` or `sql_big_selects`.
    pub allow_full_scan: bool,
    /// `full_scan_limit_max`, rows.
    pub full_scan_limit_max: u64,
    /// `multi_get_max_rows`, rows.
    pub multi_get_max_rows: u64,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            allow_full_scan: false,
            full_scan_limit_max: FULL_SCAN_LIMIT_MAX,
            multi_get_max_rows: MULTI_GET_ROWS_MAX,
        }
    }
}

/// What the rows are read for: decides the errno of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// SELECT: error 1104.
    Select,
    /// UPDATE: error 1175.
    Update,
    /// DELETE: error 1175.
    Delete,
}

/// What a statement wants of one table.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The table.
    pub table: &'a Table,
    /// What the rows are for.
    pub purpose: Purpose,
    /// `WHERE`, over the table's row.
    pub filter: Option<&'a Expr>,
    /// The keys of `GROUP BY`; empty for aggregates without it; `None` when nothing is grouped.
    pub grouping: Option<&'a [Expr]>,
    /// `ORDER BY`: over the table's row, or over the grouped row when `grouping` is given.
    pub order_by: &'a [OrderBy],
    /// `LIMIT`, evaluated.
    pub limit: Option<u64>,
    /// `OFFSET`, evaluated.
    pub offset: u64,
    /// The hints of the statement.
    pub hints: &'a Hints,
    /// Parameters, clock and session.
    pub ctx: &'a EvalContext,
    /// What is permitted.
    pub policy: &'a Policy,
}

/// How the rows of one table are fetched.
#[derive(Debug, Clone)]
pub enum Access {
    /// The predicate cannot be true: nothing is read.
    Nothing,
    /// One row by its full key.
    PointGet(PointGet),
    /// Rows by their full keys.
    MultiGet(MultiGet),
    /// Ranges of keys.
    PrefixScan(PrefixScan),
    /// Every row.
    FullScan,
}

/// One row by its full key.
#[derive(Debug, Clone)]
pub struct PointGet {
    /// The encoded key.
    pub key: Vec<u8>,
    /// The same as a span, for people.
    pub span: Span,
}

/// Rows by their full keys.
#[derive(Debug, Clone)]
pub struct MultiGet {
    /// The encoded keys, ascending, each once.
    pub keys: Vec<Vec<u8>>,
    /// The same as spans, for people.
    pub spans: Vec<Span>,
}

/// Ranges of keys, ascending, apart from each other.
#[derive(Debug, Clone)]
pub struct PrefixScan {
    /// The ranges.
    pub ranges: Vec<KeyRange>,
}

/// One range of keys, encoded.
#[derive(Debug, Clone)]
pub struct KeyRange {
    /// The first key that may be in it.
    pub start: Vec<u8>,
    /// The first key behind it; `None` for the end of the table.
    pub until: Option<Vec<u8>>,
    /// The same as a span, for people.
    pub span: Span,
}

/// How one table is read, and what remains to be done with its rows.
#[derive(Debug, Clone)]
pub struct TablePlan {
    /// How rows are fetched.
    pub access: Access,
    /// Whether the order of keys (and ranges, and rows within them) is turned round. `MultiGet`
    /// and `PrefixScan` list ascending whatever this says.
    pub reverse: bool,
    /// What must still hold for each row; constants folded, parameters put in.
    pub residual: Option<Expr>,
    /// Whether the rows come in the order of `ORDER BY`. With grouping: whether the groups do,
    /// if they are emitted in the order in which they are first met.
    pub ordered: bool,
    /// Whether the rows of each group of `GROUP BY` come one after the other.
    pub grouped_in_order: bool,
    /// Rows after the residual filter that suffice (`LIMIT` + `OFFSET`), when neither sort nor
    /// grouping needs all.
    pub rows_wanted: Option<u64>,
}

/// Chooses how a table is read.
///
/// # Errors
/// 1104 or 1175 when only a full scan would do and nothing permits it, 1104 for too many keys.
pub fn plan_table(request: &Request<'_>) -> Result<TablePlan> {
    Err(Error::unsupported(format!(
        "planning of {}",
        request.table.name
    )))
}
