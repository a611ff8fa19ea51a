//! How one table is read for one statement: which access path, and why not another.
//!
//! A plan holds byte bounds ready for `kv`, the residual filter and what the order of the rows is
//! good for. It never reads data. Refusals (dialect §2 and §3) end here.

use std::borrow::Cow;

use super::cut::{self, KeyParts};
use super::derive::{self, Derived, Keys, shape};
use super::refusal::{self, Refusal};
use super::span::Span;
use super::verdict::{End, Path, Permission, Reason, Verdict};
use super::{order, point, points, residual, text};
use crate::catalog::{KeyPart, Table};
use crate::codec::key::Direction;
use crate::error::Result;
pub use crate::kv::{Key, KeyRange};
use crate::sql::bound::{Hints, OrderBy};
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;
use crate::types::Value;

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
    /// Whether all rows are wanted whatever the LIMIT says: DISTINCT, HAVING without groups.
    pub wants_all: bool,
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
    pub key: Key,
    /// The values it encodes, in key order.
    pub values: Vec<Value<'static>>,
}

/// Rows by their full keys.
#[derive(Debug, Clone)]
pub struct MultiGet {
    /// The encoded keys, ascending, each once.
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
    /// How many key parts bound what is read.
    pub parts_used: usize,
    /// Why a full scan is not permitted; only ever `Some` from [`explain_table`].
    pub refusal: Option<Refusal>,
    pub(super) verdicts: Vec<Verdict>,
}

/// Chooses how a table is read.
///
/// # Errors
/// 1104 or 1175 when only a full scan would do and nothing permits it, 1104 for too many keys.
pub fn plan_table(request: &Request<'_>) -> Result<TablePlan> {
    if let Some(filter) = request.filter.filter(|_| request.limit != Some(0))
        && let Some(plan) = points::multi_get(request, filter)?
    {
        return Ok(plan);
    }
    let plan = explain_table(request)?;
    match &plan.refusal {
        Some(refusal) => Err(refusal.error()),
        None => Ok(plan),
    }
}

/// As [`plan_table`]; a full scan that is not permitted comes with its refusal, for EXPLAIN.
///
/// # Errors
/// 1104 for too many keys; what the folding of constants gives.
pub fn explain_table(request: &Request<'_>) -> Result<TablePlan> {
    let key = KeyParts::primary(request.table);
    if request.limit == Some(0) {
        return Ok(TablePlan::nothing(request, Reason::NoRowsWanted));
    }
    let Some(filter) = request.filter else {
        return plan_conjuncts(request, &[]);
    };
    if let Some(point) = point::point_get(filter, key, request.ctx)? {
        return Ok(TablePlan::point(request, point));
    }
    let conjuncts = shape::conjuncts(filter, request.ctx)?;
    plan_conjuncts(request, &conjuncts)
}

fn plan_conjuncts(request: &Request<'_>, conjuncts: &[Expr]) -> Result<TablePlan> {
    let key = KeyParts::primary(request.table);
    let keys_max = request.policy.multi_get_max_rows;
    let derived = derive::derive(key, conjuncts, keys_max, request.ctx);
    let access = match &derived.keys {
        Keys::Nothing => return Ok(TablePlan::nothing(request, Reason::Contradiction)),
        Keys::TooMany(count) => return Err(refusal::too_many_keys(*count, keys_max)),
        Keys::Spans(spans) => access_of(spans, key)?,
    };
    let order = order::of(request, key, &derived.fixed);
    let is_one_row = matches!(access, Access::PointGet(_));
    let ordered = order.ordered || is_one_row;
    let rows_wanted = request
        .limit
        .filter(|_| request.grouping.is_none() && ordered)
        .map(|limit| limit.saturating_add(request.offset));
    let permission = permission(request, conjuncts, ordered);
    let is_refused = matches!(access, Access::FullScan) && permission.is_none();
    Ok(TablePlan {
        verdicts: verdicts(request, (&access, permission), &derived),
        refusal: is_refused.then(|| Refusal::new(request, &derived)),
        reverse: order.reverse && !is_one_row,
        residual: residual::filter(&derived.residual),
        ordered,
        grouped_in_order: order.grouped || is_one_row,
        rows_wanted,
        parts_used: derived.parts_used,
        access,
    })
}

/// The access path that reads normal spans.
fn access_of(spans: &[Span], key: KeyParts<'_>) -> Result<Access> {
    if spans.iter().any(Span::is_all) {
        return Ok(Access::FullScan);
    }
    let is_point = |span: &Span| span.point().is_some_and(|point| point.len() == key.count());
    if !spans.iter().all(is_point) {
        return Ok(Access::PrefixScan(PrefixScan {
            ranges: spans
                .iter()
                .map(|span| span.encode(key))
                .collect::<Result<_>>()?,
            spans: spans.to_vec(),
        }));
    }
    let encode = |span: &Span| cut::encode_prefix(span.start().values(), key);
    if let [span] = spans {
        return Ok(Access::PointGet(PointGet {
            key: encode(span)?,
            values: span.start().values().to_vec(),
        }));
    }
    Ok(Access::MultiGet(MultiGet {
        keys: spans.iter().map(encode).collect::<Result<_>>()?,
        spans: spans.to_vec(),
    }))
}

/// What permits a full scan, if anything does.
fn permission(request: &Request<'_>, conjuncts: &[Expr], ordered: bool) -> Option<Permission> {
    if request.hints.allow_filtering {
        return Some(Permission::Hint);
    }
    if request.policy.allow_full_scan {
        return Some(Permission::Setting);
    }
    let is_plain = conjuncts.is_empty() && request.grouping.is_none() && ordered;
    let rows_read = request.limit?.saturating_add(request.offset);
    (is_plain && rows_read <= request.policy.full_scan_limit_max).then_some(Permission::Limit)
}

fn verdicts(
    request: &Request<'_>,
    (access, permission): (&Access, Option<Permission>),
    derived: &Derived<'_>,
) -> Vec<Verdict> {
    let is_full = matches!(access, Access::FullScan);
    let keyed = match access {
        Access::Nothing => Reason::Contradiction,
        Access::PointGet(_) => Reason::OneKey,
        Access::MultiGet(gets) => Reason::Keys {
            count: gets.keys.len(),
        },
        Access::PrefixScan(_) => bounded(request, derived),
        Access::FullScan => refusal::first_column(request, derived),
    };
    let full = match permission.filter(|_| is_full) {
        Some(permission) => Reason::Permitted(permission),
        None if is_full => Reason::Refused,
        None => Reason::NotNeeded,
    };
    vec![
        Verdict {
            path: primary_path(request.table),
            is_taken: !is_full,
            reason: keyed,
        },
        Verdict {
            path: Path::FullScan,
            is_taken: is_full && permission.is_some(),
            reason: full,
        },
    ]
}

fn bounded(request: &Request<'_>, derived: &Derived<'_>) -> Reason {
    let names = key_columns(request.table);
    // Spans that a limit made wider than even the first column allows are bounded by it.
    let parts_used = derived.parts_used.max(1);
    let is_range = |spans: &[Span]| {
        let mut spans = spans.iter();
        spans.any(|span| span.point().is_none_or(|point| point.len() < parts_used))
    };
    let end = match (&derived.keys, names.get(parts_used)) {
        _ if derived.widened => End::TooManySpans,
        (Keys::Spans(spans), _) if is_range(spans) => {
            End::Range(names.get(parts_used - 1).cloned().unwrap_or_default())
        }
        (_, Some(next)) => End::NoCondition(next.clone()),
        (_, None) => End::LastPart,
    };
    Reason::Bounded {
        columns: names.into_iter().take(parts_used).collect(),
        end,
    }
}

/// The names of the key's columns, in key order.
pub(super) fn key_columns(table: &Table) -> Vec<String> {
    let parts = table.key.iter();
    parts
        .map(|part| text::column_name(table, part.column_idx))
        .collect()
}

/// The path of the primary key, its directions included.
pub(super) fn primary_path(table: &Table) -> Path {
    let columns = key_columns(table).into_iter().zip(&table.key);
    let with_direction = |(name, part): (String, &KeyPart)| match part.direction {
        Direction::Asc => name,
        Direction::Desc => name + " DESC",
    };
    Path::PrimaryKey(columns.map(with_direction).collect())
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
                    path: primary_path(table),
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
        TablePlan {
            access: Access::Nothing,
            reverse: false,
            residual: None,
            ordered: true,
            grouped_in_order: true,
            rows_wanted: request.limit,
            parts_used: 0,
            verdicts: vec![Verdict {
                path: primary_path(request.table),
                is_taken: true,
                reason,
            }],
            refusal: None,
        }
    }

    /// The plan of the short way; its verdicts are made when EXPLAIN asks for them.
    fn point(request: &Request<'_>, point: PointGet) -> TablePlan {
        TablePlan {
            access: Access::PointGet(point),
            reverse: false,
            residual: None,
            ordered: true,
            grouped_in_order: true,
            rows_wanted: request.limit.filter(|_| request.grouping.is_none()),
            parts_used: request.table.key.len(),
            verdicts: Vec::new(),
            refusal: None,
        }
    }
}
