//! What a statement wants of one table, and what is permitted.

use super::doubt::Estimates;
use crate::catalog::Table;
pub use crate::sql::bound::Purpose;
use crate::sql::bound::{Aggregate, Hints, OrderBy};
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;

/// Keys one statement may fetch one by one, unless a variable says otherwise (docs/limits.md).
pub const MULTI_GET_ROWS_MAX: u64 = 2000;

/// How far ahead of the clock a hint may date a write, in milliseconds, unless it is set otherwise: more
/// than clocks of servers differ by, far less than what a wrong unit gives.
pub const CLOCK_SKEW_MS_MAX: u64 = 300_000;
/// Rows that a `LIMIT` may let an unfiltered statement read, unless an option says otherwise
/// (docs/limits.md).
pub const FULL_SCAN_LIMIT_MAX: u64 = 10_000;

/// Which full scans are permitted without a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullScans {
    /// None.
    Refused,
    /// Those of `--allow-full-scan` or `sql_big_selects`, but under `sql_safe_updates`: all but those of an UPDATE or
    /// DELETE without LIMIT.
    Safe,
    /// `--allow-full-scan` or `sql_big_selects`.
    All,
}

/// What the server and the session permit.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Which full scans.
    pub full_scans: FullScans,
    /// `full_scan_limit_max`, rows.
    pub full_scan_limit_max: u64,
    /// `multi_get_max_rows`, rows.
    pub multi_get_max_rows: u64,
    /// `max_clock_skew_ms`: how far ahead of the clock a hint may date a write.
    pub max_clock_skew_ms: u64,
    /// `debug_ttl_clock`: what the ends of rows count from instead of the clock, in milliseconds since
    /// 1970.
    pub ttl_from_ms: Option<u64>,
    /// Whether secondary indexes may be read: not by a transaction that sees a state of before the
    /// definitions of now.
    pub use_indexes: bool,
    /// Whether a key may be read whose first column has no condition: `optimizer_switch`.
    pub skip_scan: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            full_scans: FullScans::Refused,
            full_scan_limit_max: FULL_SCAN_LIMIT_MAX,
            multi_get_max_rows: MULTI_GET_ROWS_MAX,
            max_clock_skew_ms: CLOCK_SKEW_MS_MAX,
            ttl_from_ms: None,
            use_indexes: true,
            skip_scan: false,
        }
    }
}

/// The number of rows of a table, where it is all that a statement wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsKept {
    /// It wants something else.
    NotAsked,
    /// It is not known: somebody wrote rows without looking whether they were there.
    Unknown,
    /// It is known.
    Known(u64),
}

/// What a statement wants of one table.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The table.
    pub table: &'a Table,
    /// What the rows are for.
    pub purpose: Purpose,
    /// The alias it goes by, where it is one of several that are joined.
    pub joined_as: Option<&'a str>,
    /// `WHERE`, over the table's row.
    pub filter: Option<&'a Expr>,
    /// The keys of `GROUP BY`; empty for aggregates without it; `None` when nothing is grouped.
    pub grouping: Option<&'a [Expr]>,
    /// The aggregates of the groups.
    pub aggregates: &'a [Aggregate],
    /// `ORDER BY`: over the table's row, or over the grouped row when `grouping` is given.
    pub order_by: &'a [OrderBy],
    /// `LIMIT`, evaluated.
    pub limit: Option<u64>,
    /// `OFFSET`, evaluated.
    pub offset: u64,
    /// Whether all rows are wanted whatever the LIMIT says: DISTINCT, HAVING without groups.
    pub wants_all: bool,
    /// The columns that the statement uses, as positions in the table; `None` for all.
    pub used_columns: Option<&'a [usize]>,
    /// The hints of the statement.
    pub hints: &'a Hints,
    /// Parameters, clock and session.
    pub ctx: &'a EvalContext,
    /// What is permitted.
    pub policy: &'a Policy,
    /// What is known about the number of rows of the table, if the statement wants nothing else.
    pub rows_kept: RowsKept,
    /// What is known about the number of rows.
    pub estimates: Estimates<'a>,
}

impl Request<'_> {
    /// Whether a setting permits a full scan.
    pub(super) fn is_allowed_full_scan(&self) -> bool {
        match self.policy.full_scans {
            FullScans::Refused => false,
            FullScans::Safe => self.purpose == Purpose::Select || self.limit.is_some(),
            FullScans::All => true,
        }
    }
}
