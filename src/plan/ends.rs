//! `MIN` and `MAX` by one seek each: the first or the last row of a span whose next key part is the
//! aggregated column.
//!
//! ```text
//!   MIN(b)                    index (b)      first entry behind the NULLs
//!   MIN(b), MAX(b) … a = 1    index (a, b)   first and last entry of [/1], NULLs left out
//!   MAX(b) … a IN (1, 2)      index (a, b)   last entry of [/1] and of [/2]
//! ```
//! The rows found are aggregated like any others, and duplicates do no harm. Only conditions that
//! the spans express exactly are answered so: a residual filter might drop the row at the end.

use super::access::{Ends, Request, Seek};
use super::candidates::{Candidate, Candidates};
use super::cut::KeyParts;
use super::derive::{self, Conditions, Derived, Keys};
use super::fan_out;
use super::paths;
use super::span::Span;
use super::verdict::{Advantage, Reason, Verdict};
use crate::codec::key::Direction;
use crate::error::Result;
use crate::sql::bound::{Aggregate, AggregateKind, KeyRef};
use crate::sql::expr::{Expr, ExprKind};
use crate::types::ColumnType;

/// Spans of which the end is sought for one aggregate; more of them are scanned, not sought.
const SPANS_MAX: usize = 100;

/// One aggregate: a column, and which end of its values.
struct Wanted<'a> {
    column: &'a Expr,
    column_idx: usize,
    is_max: bool,
}

/// The columns whose least or greatest value is asked for, if nothing else is.
pub(super) fn columns(request: &Request<'_>) -> Vec<usize> {
    let mut columns = Vec::new();
    for one in wanted(request).unwrap_or_default() {
        if !columns.contains(&one.column_idx) {
            columns.push(one.column_idx);
        }
    }
    columns
}

fn wanted<'a>(request: &Request<'a>) -> Option<Vec<Wanted<'a>>> {
    let is_one_group = request.grouping.is_some_and(<[Expr]>::is_empty);
    // The row at the end may have no version that is read.
    if request.table.wide.reading.is_some() {
        return None;
    }
    if !is_one_group || request.aggregates.is_empty() {
        return None;
    }
    let aggregates = request.aggregates.iter();
    aggregates.map(|one| Wanted::of(one, request)).collect()
}

impl<'a> Wanted<'a> {
    fn of(aggregate: &'a Aggregate, request: &Request<'_>) -> Option<Wanted<'a>> {
        let is_max = match aggregate.kind {
            AggregateKind::Min => false,
            AggregateKind::Max => true,
            AggregateKind::Count
            | AggregateKind::Sum
            | AggregateKind::Avg
            | AggregateKind::GroupConcat
            | AggregateKind::BitAnd
            | AggregateKind::BitOr
            | AggregateKind::BitXor
            | AggregateKind::StddevPop
            | AggregateKind::StddevSamp
            | AggregateKind::VarPop
            | AggregateKind::VarSamp
            | AggregateKind::JsonArray
            | AggregateKind::JsonObject
            | AggregateKind::AnyValue => return None,
        };
        let [column] = aggregate.args.as_slice() else {
            return None;
        };
        let ExprKind::Column(column_idx) = column.kind else {
            return None;
        };
        // Labels are compared as texts, and lie in the order of the members.
        let ty = &request.table.columns.get(column_idx)?.ty;
        (!matches!(ty, ColumnType::Enum(_))).then_some(Wanted {
            column,
            column_idx,
            is_max,
        })
    }

    /// The conjuncts, and that the column is not NULL.
    fn conjuncts(&self, conjuncts: &[Expr]) -> Vec<Expr> {
        let mut all = conjuncts.to_vec();
        all.push(Expr {
            kind: ExprKind::IsNull {
                expr: Box::new(self.column.clone()),
                negated: true,
            },
            ty: ColumnType::BIGINT,
            nullable: false,
        });
        all
    }
}

/// The seeks that answer a statement of nothing but `MIN` and `MAX`; `None` when a key is missing.
///
/// # Errors
/// A value that does not fit its key part: an internal error.
pub(super) fn of(
    request: &Request<'_>,
    (all, conjuncts): (&Candidates<'_, '_>, &[Expr]),
) -> Result<Option<Ends>> {
    let Some(wanted) = wanted(request) else {
        return Ok(None);
    };
    let mut seeks: Vec<Seek> = Vec::new();
    for one in &wanted {
        let conjuncts = one.conjuncts(conjuncts);
        let conditions = derive::conditions(&conjuncts, &request.table.columns, request.ctx);
        let found = all
            .each()
            .filter(|candidate| candidate.forbidden.is_none())
            .filter_map(|candidate| {
                let found = seeks_of(one, candidate, (request, &conjuncts, &conditions))?;
                let is_looked_up = !candidate.covering;
                Some(((found.len(), is_looked_up), candidate, found))
            })
            .min_by_key(|(cost, _, _)| *cost);
        let Some((_, candidate, spans)) = found else {
            return Ok(None);
        };
        let key = candidate.span_key(request.table);
        for span in spans {
            let position = key.position(one.column_idx).unwrap_or_default();
            let is_turned = key.direction(position) == Direction::Desc;
            seeks.push(Seek {
                key: candidate.key,
                range: span.encode(key)?,
                is_last: one.is_max != is_turned,
                covering: candidate.covering,
                span,
            });
        }
    }
    seeks.dedup_by(|a, b| (a.key, &a.range, a.is_last) == (b.key, &b.range, b.is_last));
    Ok(Some(Ends { seeks }))
}

/// The spans of a key whose ends answer one aggregate; `None` when it cannot.
fn seeks_of(
    one: &Wanted<'_>,
    candidate: &Candidate<'_, '_>,
    (request, conjuncts, conditions): (&Request<'_>, &[Expr], &Conditions<'_>),
) -> Option<Vec<Span>> {
    let key: KeyParts<'_> = candidate.span_key(request.table);
    let position = key.position(one.column_idx)?;
    let derived: Derived<'_> = derive::derive_from(key, (conjuncts, conditions), u64::MAX);
    match derived.keys {
        // The column has no value.
        Keys::Nothing => Some(Vec::new()),
        Keys::TooMany(_) => None,
        Keys::Spans(ref spans) => {
            let buckets = (candidate.key == KeyRef::Primary && spans.iter().any(Span::is_all))
                .then(|| fan_out::buckets(request.table))
                .flatten();
            let spans = buckets.as_ref().unwrap_or(spans);
            let mut all = spans.iter();
            let are_sorted = all.all(|span| position <= span.common_prefix().len());
            let is_exact = derived.is_tight() && spans.len() <= SPANS_MAX;
            (are_sorted && is_exact).then(|| spans.clone())
        }
    }
}

/// What is said about each path.
pub(super) fn verdicts(
    request: &Request<'_>,
    (all, ends): (&Candidates<'_, '_>, &Ends),
) -> Vec<Verdict> {
    let first = ends.seeks.first().map_or(KeyRef::Primary, |seek| seek.key);
    let than = paths::of_key(request.table, first).to_string();
    paths::instead_of_scan(request, all, |candidate| {
        let is_taken = ends.seeks.iter().any(|seek| seek.key == candidate.key);
        let reason = match paths::unfit(request, candidate) {
            _ if is_taken => Reason::Ends,
            Some(reason) => reason,
            None => Reason::Worse {
                than: than.clone(),
                because: Advantage::Ends,
            },
        };
        (is_taken, reason)
    })
}
