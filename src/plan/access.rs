//! How one table is read for one statement: which access path, and why not another.
//!
//! A plan holds byte bounds ready for `kv`, the residual filter and what the order of the rows is
//! good for. It never reads data. The paths there are, and which is the best, is in `candidates`;
//! refusals end here.

use std::borrow::Cow;

use super::candidates::{self, Candidates};
use super::cut::KeyParts;
use super::derive::shape;
use super::doubt::{Choice, Doubt};
use super::fan_out::{self, FanOut};
use super::refusal::Refusal;
pub use super::request::{
    CLOCK_SKEW_MS_MAX, FULL_SCAN_LIMIT_MAX, FullScans, MULTI_GET_ROWS_MAX, Policy, Purpose,
    Request, RowsKept,
};
use super::span::Span;
use super::verdict::{Path, Permission, Reason, Verdict};
use super::{contradiction, ends, merge, order, paths, point, points, residual, skip};
use crate::catalog::Table;
use crate::error::Result;
pub use crate::kv::{Key, KeyRange};
use crate::sql::bound::{KeyRef, OrderBy};
use crate::sql::expr::{Expr, ExprKind};
use crate::types::Value;

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
    /// Entries of an index, and the rows that they belong to.
    Index(IndexAccess),
    /// The first or last row of each of a few spans.
    Ends(Ends),
    /// The rows that any of several scans finds, or that all of them find.
    Merge(Merge),
    /// How many rows there are is known: none is read.
    Count(u64),
    /// Every row.
    FullScan,
}

/// One row by its full key.
#[derive(Debug, Clone)]
pub struct PointGet {
    /// The encoded key.
    pub key: Key,
    /// The values it encodes, in key order.
    pub values: Vec<Value<'static>>,
}

/// Rows by their full keys.
#[derive(Debug, Clone)]
pub struct MultiGet {
    /// The encoded keys, ascending, each once; of a spread key in the order of its declared columns.
    pub keys: Vec<Key>,
    /// The same as spans, for people; only [`explain_table`] always makes them.
    pub spans: Vec<Span>,
}

/// Ranges of keys, ascending, apart from each other.
#[derive(Debug, Clone)]
pub struct PrefixScan {
    /// The encoded ranges.
    pub ranges: Vec<KeyRange>,
    /// The same as spans, for people.
    pub spans: Vec<Span>,
}

/// Entries of an index.
#[derive(Debug, Clone)]
pub struct IndexAccess {
    /// The index: its position in [`Table::indexes`].
    pub position: usize,
    /// Which entries.
    pub entries: Entries,
    /// The same as spans over the indexed columns, for people.
    pub spans: Vec<Span>,
    /// Whether the entries have all that the statement uses, so that no row is read.
    pub covering: bool,
}

/// Which entries of an index are read.
#[derive(Debug, Clone)]
pub enum Entries {
    /// Those of a unique index with these full keys: encoded, ascending, each once.
    Keys(Vec<Key>),
    /// Those in these encoded ranges, ascending, apart from each other.
    Ranges(Vec<KeyRange>),
}

/// The first or last row of each of a few spans: `MIN` and `MAX`. A row may be found twice.
#[derive(Debug, Clone)]
pub struct Ends {
    /// Where they are, in no order.
    pub seeks: Vec<Seek>,
}

/// The first or last row of a range of keys, if there is one.
#[derive(Debug, Clone)]
pub struct Seek {
    /// The key that is read.
    pub key: KeyRef,
    /// The encoded range.
    pub range: KeyRange,
    /// The same as span, for people.
    pub span: Span,
    /// Whether the last one is wanted, not the first.
    pub is_last: bool,
    /// Whether no row need be looked up.
    pub covering: bool,
}

/// The rows that several scans find, each once, in the order of the primary key.
#[derive(Debug, Clone)]
pub struct Merge {
    /// Which rows.
    pub kind: MergeKind,
    /// The scans. Those of an intersection are all in key order.
    pub branches: Vec<MergeBranch>,
}

/// Which rows of several scans are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeKind {
    /// Those that any of them finds.
    Union,
    /// Those that all of them find.
    Intersection,
}

/// One of the scans of a [`Merge`].
#[derive(Debug, Clone)]
pub struct MergeBranch {
    /// The key that is read.
    pub key: KeyRef,
    /// What is read of it. Of the primary key, ranges.
    pub entries: Entries,
    /// The same as spans, for people.
    pub spans: Vec<Span>,
    /// Whether the entries come in the order of the primary key.
    pub in_key_order: bool,
}

/// How one table is read, and what remains to be done with its rows.
#[derive(Debug, Clone)]
pub struct TablePlan {
    /// How rows are fetched.
    pub access: Access,
    /// Whether the order of keys (and ranges, and rows within them) is turned round. `MultiGet`
    /// and `PrefixScan` list ascending whatever this says.
    pub reverse: bool,
    /// The position of the key part by which the rows are in order, where it is the only one.
    pub order_part: Option<usize>,
    /// In which order to read the ranges of a spread key, if not one after the other. Of a full scan,
    /// too.
    pub fan_out: Option<FanOut>,
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
    /// How many key parts bound what is read.
    pub parts_used: usize,
    /// Why a full scan is not permitted; only ever `Some` from [`explain_table`].
    pub refusal: Option<Refusal>,
    /// What to count, and then to plan again: only where [`super::Estimates::Offered`]. The plan may
    /// not be the best, or is one that would be refused.
    pub doubt: Option<Doubt>,
    pub(super) verdicts: Vec<Verdict>,
}

/// What a plan is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// To be run: nothing is said about the paths.
    Run,
    /// To be shown.
    Explain,
}

/// Chooses how a table is read.
///
/// # Errors
/// 1104 or 1175 when only a full scan would do and nothing permits it, 1104 for too many keys.
pub fn plan_table(request: &Request<'_>) -> Result<TablePlan> {
    contradiction::planned(request, to_run)
}

fn to_run(request: &Request<'_>) -> Result<TablePlan> {
    if let Some(filter) = request.filter.filter(|_| request.limit != Some(0))
        && !order::multiplies(request)
        && !request.hints.may_leave_primary()
        && !points::has_index_within_key(request.table)
        && let Some(plan) = points::multi_get(request, filter)?
    {
        return Ok(plan);
    }
    let plan = plan_filter(request, Detail::Run)?;
    match &plan.refusal {
        // What is in doubt is not run before it is planned again.
        Some(refusal) if plan.doubt.is_none() => Err(refusal.error()),
        Some(_) | None => Ok(plan),
    }
}

/// As [`plan_table`]; a full scan that is not permitted comes with its refusal, for EXPLAIN.
///
/// # Errors
/// 1104 for too many keys; what the folding of constants gives.
pub fn explain_table(request: &Request<'_>) -> Result<TablePlan> {
    contradiction::planned(request, |request| plan_filter(request, Detail::Explain))
}

fn plan_filter(request: &Request<'_>, detail: Detail) -> Result<TablePlan> {
    if request.limit == Some(0) {
        return Ok(TablePlan::nothing(request, Reason::NoRowsWanted));
    }
    if let RowsKept::Known(rows) = request.rows_kept {
        return Ok(TablePlan::counted(rows));
    }
    let Some(filter) = request.filter else {
        return plan_conjuncts(request, &[], detail);
    };
    let key = KeyParts::primary(request.table);
    // People are told why each other key is not read.
    let is_told = detail == Detail::Explain && request.hints.name_keys();
    if !is_told
        && !request.hints.may_leave_primary()
        && !order::multiplies(request)
        && let Some(point) = point::point_get(filter, key, request.ctx)?
    {
        let mut plan = TablePlan::point(request, point);
        if detail == Detail::Explain && !request.table.indexes.is_empty() {
            plan.verdicts = paths::of_point(request);
        }
        return Ok(plan);
    }
    shape::check_dates(filter, request.ctx)?;
    let conjuncts = shape::conjuncts(filter, request.ctx)?;
    plan_conjuncts(request, &conjuncts, detail)
}

fn plan_conjuncts(request: &Request<'_>, conjuncts: &[Expr], detail: Detail) -> Result<TablePlan> {
    let all = Candidates::of(request, conjuncts);
    let all = match request.estimates.distinct() {
        Some(values) => all.and_then(|all| skip::with_values(request, (all, conjuncts), values)),
        None => all,
    };
    let Some(all) = all else {
        return Ok(TablePlan::nothing(request, Reason::Contradiction));
    };
    let choice = Choice::of(request, &all);
    let best = choice.best;
    if !best.has_full_keys()
        && let Some(ends) = ends::of(request, (&all, conjuncts))?
    {
        let verdicts = ends::verdicts(request, (&all, &ends));
        return Ok(TablePlan::ends(ends, verdicts));
    }
    let access = candidates::access(best, request)?;
    let is_full = matches!(access, Access::FullScan);
    let mut union = None;
    if is_full || choice.may_unite(request) {
        union = merge::of(request, (&all, conjuncts))?;
    }
    let fewer = choice.cheaper_union(request);
    if let Some(union) = union.take_if(|_| is_full || fewer.is_some()) {
        let verdicts = merge::verdicts(request, (&all, &union.merge), (&choice, fewer));
        return Ok(TablePlan::merged(request, union, verdicts));
    }
    if let Some(crossing) = choice.cheaper_crossing(request)
        && let Some(both) = merge::crossed(request, (&all, conjuncts), crossing.keys)?
    {
        let fewer = Some(crossing.rows);
        let verdicts = merge::verdicts(request, (&all, &both.merge), (&choice, fewer));
        return Ok(TablePlan::merged(request, both, verdicts));
    }
    let is_one_row = access.is_one_row() && !order::multiplies(request);
    let ordered = best.order.ordered || is_one_row;
    let permission = permission(request, conjuncts, ordered);
    let is_refused = is_full && permission.is_none();
    // Nobody reads why a plan that is run was chosen.
    let verdicts = if is_refused || detail == Detail::Explain {
        paths::verdicts(request, (&all, &choice), (&access, permission))
    } else {
        Vec::new()
    };
    Ok(TablePlan {
        fan_out: fan_out::of(request, best, &access)?,
        refusal: is_refused.then(|| Refusal::new(request, &all.primary.derived, &verdicts)),
        verdicts,
        reverse: best.order.reverse && !is_one_row,
        order_part: best.order.part,
        residual: residual::filter(&best.derived.residual),
        ordered,
        grouped_in_order: best.order.grouped || is_one_row,
        rows_wanted: rows_wanted(request, ordered),
        parts_used: best.derived.parts_used,
        doubt: choice.doubt(request, (is_full.then_some(&all), union.as_ref()))?,
        access,
    })
}

/// Rows after the residual filter that suffice.
fn rows_wanted(request: &Request<'_>, ordered: bool) -> Option<u64> {
    let limit = request.limit;
    let limit = limit.filter(|_| request.grouping.is_none() && ordered)?;
    Some(limit.saturating_add(request.offset))
}

/// What permits a full scan, if anything does.
pub(super) fn permission(
    request: &Request<'_>,
    conjuncts: &[Expr],
    ordered: bool,
) -> Option<Permission> {
    if request.hints.allow_filtering {
        return Some(Permission::Hint);
    }
    if request.is_allowed_full_scan() {
        return Some(Permission::Setting);
    }
    if request.hints.reads_whole && conjuncts.is_empty() && is_dump(request) {
        return Some(Permission::Whole);
    }
    let is_plain = conjuncts.is_empty()
        && !request.table.leaves_rows_out()
        && request.grouping.is_none()
        && ordered;
    let rows_read = request.limit?.saturating_add(request.offset);
    (is_plain && rows_read <= request.policy.full_scan_limit_max).then_some(Permission::Limit)
}

/// Whether the statement returns the rows of one table as they are, sorted by columns of the primary
/// key if at all: what dumps read.
fn is_dump(request: &Request<'_>) -> bool {
    let is_of_key = |key: &OrderBy| {
        let position = |column_idx| request.table.key_position(column_idx);
        matches!(key.expr.kind, ExprKind::Column(column_idx) if position(column_idx).is_some())
    };
    request.purpose == Purpose::Select
        && request.joined_as.is_none()
        && request.grouping.is_none()
        && !request.wants_all
        && request.order_by.iter().all(is_of_key)
}

impl Access {
    /// Whether at most one row is read.
    pub fn is_one_row(&self) -> bool {
        match self {
            Access::PointGet(_) => true,
            Access::Index(index) => index.is_one_key(),
            Access::Nothing
            | Access::MultiGet(_)
            | Access::PrefixScan(_)
            | Access::Ends(_)
            | Access::Merge(_)
            | Access::Count(_)
            | Access::FullScan => false,
        }
    }
}

impl IndexAccess {
    /// Whether one full key of a unique index is read.
    pub fn is_one_key(&self) -> bool {
        matches!(&self.entries, Entries::Keys(keys) if keys.len() == 1)
    }
}

impl PointGet {
    /// The key as a span.
    pub fn span(&self) -> Span {
        Span::of_prefix(self.values.clone())
    }
}

impl TablePlan {
    /// Why each path was taken or not.
    pub fn verdicts(&self, table: &Table) -> Cow<'_, [Verdict]> {
        if self.verdicts.is_empty() {
            return Cow::Owned(vec![
                Verdict {
                    path: paths::primary(table),
                    is_taken: true,
                    reason: Reason::OneKey,
                },
                Verdict {
                    path: Path::FullScan,
                    is_taken: false,
                    reason: Reason::NotNeeded,
                },
            ]);
        }
        Cow::Borrowed(&self.verdicts)
    }

    fn nothing(request: &Request<'_>, reason: Reason) -> TablePlan {
        let verdicts = vec![Verdict {
            path: paths::primary(request.table),
            is_taken: true,
            reason,
        }];
        TablePlan {
            rows_wanted: request.limit,
            ..TablePlan::at_once(Access::Nothing, verdicts)
        }
    }

    /// The plan of a statement that wants nothing but the number of rows.
    fn counted(rows: u64) -> TablePlan {
        let verdicts = vec![Verdict {
            path: Path::FullScan,
            is_taken: false,
            reason: Reason::Counted,
        }];
        TablePlan::at_once(Access::Count(rows), verdicts)
    }

    /// The plan of `MIN` and `MAX` by seeks.
    fn ends(ends: Ends, verdicts: Vec<Verdict>) -> TablePlan {
        TablePlan::at_once(Access::Ends(ends), verdicts)
    }

    /// A plan that reads no more than its answer.
    pub(super) fn at_once(access: Access, verdicts: Vec<Verdict>) -> TablePlan {
        TablePlan {
            access,
            reverse: false,
            order_part: None,
            fan_out: None,
            residual: None,
            ordered: true,
            grouped_in_order: true,
            rows_wanted: None,
            parts_used: 0,
            refusal: None,
            doubt: None,
            verdicts,
        }
    }

    /// The plan of several scans.
    fn merged(
        request: &Request<'_>,
        merged: merge::Merged<'_>,
        verdicts: Vec<Verdict>,
    ) -> TablePlan {
        if merged.merge.branches.is_empty() {
            return TablePlan::nothing(request, Reason::Contradiction);
        }
        TablePlan {
            access: Access::Merge(merged.merge),
            reverse: merged.order.reverse,
            order_part: None,
            fan_out: None,
            residual: residual::filter(&merged.residual),
            ordered: merged.order.ordered,
            grouped_in_order: merged.order.grouped,
            rows_wanted: rows_wanted(request, merged.order.ordered),
            parts_used: 0,
            refusal: None,
            doubt: None,
            verdicts,
        }
    }

    /// The plan of the short way; its verdicts are made when EXPLAIN asks for them.
    fn point(request: &Request<'_>, point: PointGet) -> TablePlan {
        TablePlan {
            rows_wanted: request.limit.filter(|_| request.grouping.is_none()),
            parts_used: request.table.key.len(),
            ..TablePlan::at_once(Access::PointGet(point), Vec::new())
        }
    }
}
