//! The keys by which a table can be read, and which of them is the best.
//!
//! ```text
//!   the primary key     always; every row when nothing bounds it
//!   an index            when it can be read, no hint forbids it, and spans bound it
//!   an index, unbound   when there is no condition, it gives the order, and LIMIT ends the reading
//! ```
//! The choice goes by rule, not by cost; [`Merit`] is the rule. Where it cannot tell, `doubt` does.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};

use super::access::{
    Access, Entries, IndexAccess, MultiGet, PointGet, PrefixScan, Request, permission,
};
use super::computed::View;
use super::cut::{self, KeyParts};
use super::derive::{self, Conditions, Derived, Keys};
use super::fan_out;
use super::merit::{Full, Merit, bounded_parts};
use super::order::{self, Order};
use super::refusal;
use super::span::Span;
use super::verdict::{Advantage, Reason};
use crate::catalog::{Index, KeyPart, Table};
use crate::error::Result;
use crate::kv::{Key, KeyRange};
use crate::sql::bound::KeyRef;
use crate::sql::expr::Expr;
use crate::types::Value;

/// One key by which the table can be read.
pub(super) struct Candidate<'a, 'e> {
    /// Which key.
    pub(super) key: KeyRef,
    /// The parts that order what is read.
    order_parts: Cow<'a, [KeyPart]>,
    /// How many of them spans may bound: a unique index has the rest of the primary key in some of
    /// its entries only.
    span_parts_count: usize,
    /// What the conditions say about it.
    pub(super) derived: Derived<'e>,
    /// What its order is good for.
    pub(super) order: Order,
    /// Whether no row need be looked up.
    pub(super) covering: bool,
    /// The statement as the index sees it, when it has more than columns.
    view: Option<View>,
    /// Whether it is a partial index whose condition the statement implies.
    partial: bool,
    /// Why a hint or its state forbids it.
    pub(super) forbidden: Option<Reason>,
    merit: Merit,
}

/// All candidates of a table.
pub(super) struct Candidates<'a, 'e> {
    /// The primary key.
    pub(super) primary: Candidate<'a, 'e>,
    /// The indexes of the table, in its order.
    pub(super) indexes: Vec<Candidate<'a, 'e>>,
}

impl<'a, 'e> Candidates<'a, 'e> {
    /// The candidates; `None` when the conditions contradict each other.
    pub(super) fn of(request: &Request<'a>, conjuncts: &'e [Expr]) -> Option<Candidates<'a, 'e>> {
        let conditions = derive::conditions(conjuncts, &request.table.columns, request.ctx);
        Candidates::with(request, (conjuncts, &conditions))
    }

    /// As [`Candidates::of`], from what the conjuncts are known to allow.
    pub(super) fn with(request: &Request<'a>, known: Known<'_, 'e>) -> Option<Candidates<'a, 'e>> {
        let table = request.table;
        let primary = Candidate::primary(request, known)?;
        let indexes = table.indexes.iter().enumerate();
        let indexes = indexes.map(|(at, index)| Candidate::index(request, (at, index), known));
        Some(Candidates {
            primary,
            indexes: indexes.collect::<Option<_>>()?,
        })
    }

    /// The best candidate; the primary key when nothing bounds any.
    pub(super) fn best(&self, request: &Request<'_>) -> &Candidate<'a, 'e> {
        let allowed = || self.each().filter(|one| one.forbidden.is_none());
        if let Some(best) = allowed()
            .filter(|one| one.is_bounded())
            .max_by_key(|one| one.merit)
        {
            return best;
        }
        if request.hints.indexes_named.is_some() && self.primary.is_bounded() {
            return &self.primary;
        }
        let in_order = |one: &&Candidate<'_, '_>| one.only_orders(request);
        match allowed().find(in_order) {
            Some(best) if !self.primary.order.ordered => best,
            Some(_) | None => &self.primary,
        }
    }

    /// Takes one candidate of others in place of its own.
    pub(super) fn take(&mut self, key: KeyRef, from: Candidates<'a, 'e>) {
        match key {
            KeyRef::Primary => self.primary = from.primary,
            KeyRef::Index(position) => {
                let new = from.indexes.into_iter().nth(position);
                if let (Some(own), Some(new)) = (self.indexes.get_mut(position), new) {
                    *own = new;
                }
            }
        }
    }

    /// Leaves a candidate out of the choice.
    pub(super) fn forbid(&mut self, key: KeyRef) {
        let mut all = std::iter::once(&mut self.primary).chain(&mut self.indexes);
        if let Some(one) = all.find(|one| one.key == key) {
            one.forbidden = Some(Reason::NotNeeded);
        }
    }

    /// All, the primary key first.
    pub(super) fn each(&self) -> impl Iterator<Item = &Candidate<'a, 'e>> {
        std::iter::once(&self.primary).chain(&self.indexes)
    }
}

/// Conjuncts and what they allow.
type Known<'k, 'e> = (&'e [Expr], &'k Conditions<'e>);

impl<'a, 'e> Candidate<'a, 'e> {
    fn primary(request: &Request<'a>, known: Known<'_, 'e>) -> Option<Candidate<'a, 'e>> {
        let key = KeyParts::primary(request.table);
        let forbidden = forbidden(request, KeyRef::Primary);
        // Rows are read in its order all the same, if every row is read.
        let span_parts_count = if forbidden == Some(Reason::Ignored) {
            0
        } else {
            key.count()
        };
        let span_key = KeyParts {
            columns: key.columns,
            parts: key.parts.get(..span_parts_count).unwrap_or_default(),
        };
        let keys_max = request.policy.multi_get_max_rows;
        let derived = derive::derive_from(span_key, known, keys_max);
        let mut fixed = Cow::Borrowed(&derived.fixed);
        if let Some(first) = key.parts.first()
            && fan_out::has_order(request.table, &derived.keys)
        {
            fixed.to_mut().push(first.column_idx);
        }
        let order = order::of(request, key, &fixed);
        let candidate = Candidate {
            key: KeyRef::Primary,
            order_parts: Cow::Borrowed(&request.table.key),
            span_parts_count,
            order,
            derived,
            covering: true,
            view: None,
            partial: false,
            forbidden,
            merit: Merit::NONE,
        };
        candidate.judged(request)
    }

    fn index(
        request: &Request<'a>,
        (position, index): (usize, &'a Index),
        known: Known<'_, 'e>,
    ) -> Option<Candidate<'a, 'e>> {
        let table = request.table;
        let order_parts = index.entry_parts(table);
        let span_parts_count = if index.unique {
            index.parts.len()
        } else {
            order_parts.len()
        };
        let view = View::of(request, index, known.0);
        let columns = view.as_ref();
        let columns = columns.map_or(table.columns.as_slice(), View::columns);
        let key = KeyParts {
            columns,
            parts: order_parts.get(..span_parts_count).unwrap_or(&order_parts),
        };
        let whole = KeyParts {
            columns,
            parts: &order_parts,
        };
        let (derived, order) = match &view {
            None => {
                let derived = derive::derive_from(key, known, u64::MAX);
                let order = order::of(request, whole, &derived.fixed);
                (derived, order)
            }
            Some(view) => {
                let conditions = view.conditions(request, known);
                let mut derived = derive::derive_from(key, (known.0, &conditions), u64::MAX);
                derived
                    .residual
                    .retain(|conjunct| !view.is_satisfied(conjunct));
                let order = order::of(&view.request(request), whole, &derived.fixed);
                (derived, order)
            }
        };
        let used = request.used_columns;
        let candidate = Candidate {
            key: KeyRef::Index(position),
            span_parts_count,
            order,
            derived,
            covering: used.is_some_and(|used| index.covers(table, used.iter().copied())),
            partial: index.computed.filter.is_some(),
            forbidden: unreadable(request, index)
                .or_else(|| forbidden(request, KeyRef::Index(position)))
                .or_else(|| view.as_ref()?.forbidden(index, known)),
            merit: Merit::NONE,
            view,
            order_parts: Cow::Owned(order_parts),
        };
        candidate.judged(request)
    }

    /// With its merit; `None` when no row can satisfy the conditions.
    fn judged(mut self, request: &Request<'_>) -> Option<Candidate<'a, 'e>> {
        let (equal_parts, range) = match &self.derived.keys {
            Keys::Nothing => return None,
            Keys::TooMany(_) => (self.span_parts_count, false),
            Keys::Spans(spans) => bounded_parts(spans),
        };
        // The computed part of a spread key says no more than the columns it is computed from.
        let is_spread = self.key == KeyRef::Primary && request.table.spread().is_some();
        let equal_parts = equal_parts.saturating_sub(usize::from(is_spread));
        self.merit = Merit {
            full: self.full(request.table),
            equal_parts: equal_parts + usize::from(self.partial),
            covering: self.covering,
            ordered: !request.order_by.is_empty() && self.order.ordered,
            range,
            place: Reverse(match self.key {
                KeyRef::Primary => 0,
                KeyRef::Index(position) => position + 1,
            }),
        };
        Some(self)
    }

    fn full(&self, table: &Table) -> Full {
        let (one, many, is_unique) = match self.key {
            KeyRef::Primary => (Full::PrimaryKey, Full::PrimaryKeys, true),
            KeyRef::Index(position) => {
                let index = table.indexes.get(position);
                let is_unique = index.is_some_and(|index| index.unique);
                (Full::UniqueKey, Full::UniqueKeys, is_unique)
            }
        };
        match &self.derived.keys {
            Keys::TooMany(_) => many,
            Keys::Spans(spans) if is_unique && self.are_full_keys(spans) => {
                match spans.as_slice() {
                    [_] => one,
                    _ => many,
                }
            }
            Keys::Nothing | Keys::Spans(_) => Full::No,
        }
    }

    /// Whether each span is one full key. Entries with a `NULL` have no full key in a unique index.
    fn are_full_keys(&self, spans: &[Span]) -> bool {
        spans.iter().all(|span| {
            span.point().is_some_and(|point| {
                !point.is_empty()
                    && point.len() == self.span_parts_count
                    && !point.iter().any(Value::is_null)
            })
        })
    }

    /// Whether it is an index of more than columns.
    pub(super) fn has_computed_parts(&self) -> bool {
        self.view.is_some()
    }

    /// Whether it finds rows by their full keys.
    pub(super) fn has_full_keys(&self) -> bool {
        self.merit.full != Full::No
    }

    /// Whether it gives the order that is asked for, or none is.
    pub(super) fn is_ordered_for(&self, request: &Request<'_>) -> bool {
        request.grouping.is_none() && self.order.ordered
    }

    /// The columns that bound its spans.
    pub(super) fn bound_columns(&self) -> impl Iterator<Item = usize> + Clone {
        // Spans that a limit made wider than even the first column allows are bounded by it.
        let count = self.derived.parts_used.max(1).min(self.span_parts_count);
        let parts = self.order_parts.iter().take(count);
        parts.map(|part| part.column_idx)
    }

    /// Whether spans bound what is read, or a condition that all entries satisfy.
    pub(super) fn is_bounded(&self) -> bool {
        self.has_bounds() || self.partial && self.forbidden.is_none()
    }

    /// Whether spans bound what is read.
    pub(super) fn has_bounds(&self) -> bool {
        match &self.derived.keys {
            Keys::Nothing | Keys::TooMany(_) => true,
            Keys::Spans(spans) => !spans.iter().any(Span::is_all),
        }
    }

    /// Whether reading all of an index is worth it, because it gives the order and LIMIT ends it.
    fn only_orders(&self, request: &Request<'_>) -> bool {
        let KeyRef::Index(_) = self.key else {
            return false;
        };
        let conjuncts = self.derived.conjuncts;
        self.order.ordered
            && request.limit.is_some()
            && request.grouping.is_none()
            && conjuncts.is_empty()
            && permission(request, conjuncts, true).is_some()
    }

    /// Which of two the rules prefer: the greater one.
    pub(super) fn compare(&self, other: &Candidate<'_, '_>) -> Ordering {
        self.merit.cmp(&other.merit)
    }

    /// What `self` has that `other` has not, when it is the better one.
    pub(super) fn advantage(&self, other: &Candidate<'_, '_>) -> Advantage {
        self.merit.advantage(&other.merit)
    }

    /// The spans that are read.
    pub(super) fn spans(&self) -> &[Span] {
        match &self.derived.keys {
            Keys::Nothing | Keys::TooMany(_) => &[],
            Keys::Spans(spans) => spans,
        }
    }

    /// Whether its entries come in the order of the primary key, because the parts in front of it
    /// have one value each.
    pub(super) fn is_in_key_order(&self, table: &Table) -> bool {
        let [span] = self.spans() else {
            return false;
        };
        let count = span.point().map_or(0, <[Value<'_>]>::len);
        let fixed = self.order_parts.get(..count).unwrap_or_default();
        let is_free = |part: &&KeyPart| fixed.iter().all(|one| one.column_idx != part.column_idx);
        let rest = self.order_parts.iter().skip(count);
        rest.eq(table.key.iter().filter(is_free))
    }

    /// The key as spans see it.
    pub(super) fn span_key<'s>(&'s self, table: &'s Table) -> KeyParts<'s> {
        let parts = self.order_parts.get(..self.span_parts_count);
        KeyParts {
            columns: match &self.view {
                Some(view) => view.columns(),
                None => &table.columns,
            },
            parts: parts.unwrap_or(&self.order_parts),
        }
    }
}

/// Why an index cannot be read, whatever the statement says.
fn unreadable(request: &Request<'_>, index: &Index) -> Option<Reason> {
    if !index.state.is_read() {
        return Some(Reason::Unreadable(index.state.name()));
    }
    (!request.policy.use_indexes).then_some(Reason::OlderView)
}

/// Why a hint forbids a key.
fn forbidden(request: &Request<'_>, key: KeyRef) -> Option<Reason> {
    let hints = request.hints;
    if hints.indexes_ignored.contains(&key) {
        return Some(Reason::Ignored);
    }
    let named = hints.indexes_named.as_ref()?;
    // `USE INDEX ()` names none: the primary key is left.
    let is_named = named.contains(&key) || (named.is_empty() && key == KeyRef::Primary);
    (!is_named).then_some(Reason::NotNamed)
}

/// The access path of a candidate.
///
/// # Errors
/// 1104 for too many keys; a value that does not fit its key part: an internal error.
pub(super) fn access(candidate: &Candidate<'_, '_>, request: &Request<'_>) -> Result<Access> {
    let key = candidate.span_key(request.table);
    let spans = match &candidate.derived.keys {
        Keys::Nothing => return Ok(Access::Nothing),
        Keys::TooMany(count) => {
            return Err(refusal::too_many_keys(
                *count,
                request.policy.multi_get_max_rows,
            ));
        }
        Keys::Spans(spans) => spans,
    };
    match candidate.key {
        KeyRef::Primary => primary_access((candidate, request.table), spans, key),
        KeyRef::Index(position) => Ok(Access::Index(IndexAccess {
            position,
            entries: match candidate.merit.full {
                Full::UniqueKey | Full::UniqueKeys => Entries::Keys(keys(spans, key)?),
                Full::No | Full::PrimaryKey | Full::PrimaryKeys => {
                    Entries::Ranges(ranges(spans, key)?)
                }
            },
            spans: spans.clone(),
            covering: candidate.covering,
        })),
    }
}

/// The access path that reads normal spans of the primary key.
fn primary_access(
    (candidate, table): (&Candidate<'_, '_>, &Table),
    spans: &[Span],
    key: KeyParts<'_>,
) -> Result<Access> {
    if !candidate.is_bounded() {
        return Ok(Access::FullScan);
    }
    match (candidate.merit.full, spans) {
        (Full::PrimaryKey, [span]) => Ok(Access::PointGet(PointGet {
            key: cut::encode_prefix(span.start().values(), key)?,
            values: span.start().values().to_vec(),
        })),
        (Full::PrimaryKey | Full::PrimaryKeys, _) => {
            let mut gets = MultiGet {
                keys: keys(spans, key)?,
                spans: spans.to_vec(),
            };
            fan_out::arrange(table, &mut gets)?;
            Ok(Access::MultiGet(gets))
        }
        (Full::No | Full::UniqueKey | Full::UniqueKeys, _) => Ok(Access::PrefixScan(PrefixScan {
            ranges: ranges(spans, key)?,
            spans: spans.to_vec(),
        })),
    }
}

/// The encoded ranges that a bounded candidate reads.
///
/// # Errors
/// A value that does not fit its key part: an internal error.
pub(super) fn bounded_ranges(
    candidate: &Candidate<'_, '_>,
    table: &Table,
) -> Result<Vec<KeyRange>> {
    match &candidate.derived.keys {
        Keys::Nothing | Keys::TooMany(_) => Ok(Vec::new()),
        Keys::Spans(spans) => ranges(spans, candidate.span_key(table)),
    }
}

fn keys(spans: &[Span], key: KeyParts<'_>) -> Result<Vec<Key>> {
    let keys = spans.iter();
    keys.map(|span| cut::encode_prefix(span.start().values(), key))
        .collect()
}

fn ranges(spans: &[Span], key: KeyParts<'_>) -> Result<Vec<KeyRange>> {
    spans.iter().map(|span| span.encode(key)).collect()
}
