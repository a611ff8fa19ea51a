//! What is said about each way to read a table: taken or not, and why.

use super::access::{Access, Entries, MergeKind, Request};
use super::candidates::{Candidate, Candidates};
use super::derive::Keys;
use super::doubt::Choice;
use super::refusal;
use super::span::Span;
use super::text;
use super::verdict::{End, Path, Permission, Reason, Verdict};
use crate::catalog::{Index, KeyPart, PartSource, Table};
use crate::codec::key::Direction;
use crate::sql::bound::KeyRef;

/// The names of the columns of key parts, in key order.
pub(super) fn columns(table: &Table, parts: &[KeyPart]) -> Vec<String> {
    let parts = parts.iter();
    parts
        .map(|part| text::column_name(table, part.column_idx))
        .collect()
}

/// As [`columns`], of parts of an index.
pub(super) fn index_columns(table: &Table, index: &Index, parts: &[KeyPart]) -> Vec<String> {
    let name = |part: &KeyPart| match index.computed_part(table, part.column_idx) {
        None => text::column_name(table, part.column_idx),
        Some(computed) => match &computed.source {
            PartSource::Prefix { column_idx, length } => {
                format!("{}({length})", text::column_name(table, *column_idx))
            }
            PartSource::Expression(text) => format!("({text})"),
        },
    };
    parts.iter().map(name).collect()
}

/// The path of the primary key, its directions included.
pub(super) fn primary(table: &Table) -> Path {
    Path::PrimaryKey(with_directions(columns(table, &table.key), &table.key))
}

/// The path of a key.
pub(super) fn of_key(table: &Table, key: KeyRef) -> Path {
    let index = match key {
        KeyRef::Primary => None,
        KeyRef::Index(position) => table.indexes.get(position),
    };
    match index {
        Some(index) => Path::Index {
            name: index.name.clone(),
            columns: with_directions(index_columns(table, index, &index.parts), &index.parts),
        },
        None => primary(table),
    }
}

fn with_directions(names: Vec<String>, parts: &[KeyPart]) -> Vec<String> {
    let names = names.into_iter().zip(parts);
    let with_direction = |(name, part): (String, &KeyPart)| match part.direction {
        Direction::Asc => name,
        Direction::Desc => name + " DESC",
    };
    names.map(with_direction).collect()
}

/// Of all candidates, when what is read needs no full scan: whether each is taken, and why.
pub(super) fn instead_of_scan(
    request: &Request<'_>,
    all: &Candidates<'_, '_>,
    told: impl Fn(&Candidate<'_, '_>) -> (bool, Reason),
) -> Vec<Verdict> {
    let verdict = |candidate: &Candidate<'_, '_>| {
        let (is_taken, reason) = told(candidate);
        Verdict {
            path: of_key(request.table, candidate.key),
            is_taken,
            reason,
        }
    };
    let mut verdicts: Vec<Verdict> = all.each().map(verdict).collect();
    verdicts.push(no_full_scan());
    verdicts
}

/// Of the full scan, when there is a better path.
fn no_full_scan() -> Verdict {
    Verdict {
        path: Path::FullScan,
        is_taken: false,
        reason: Reason::NotNeeded,
    }
}

/// Of a row that is found by its primary key.
pub(super) fn of_point(request: &Request<'_>) -> Vec<Verdict> {
    let table = request.table;
    let mut verdicts = vec![Verdict {
        path: primary(table),
        is_taken: true,
        reason: Reason::OneKey,
    }];
    let indexes = (0..table.indexes.len()).map(|position| Verdict {
        path: of_key(table, KeyRef::Index(position)),
        is_taken: false,
        reason: Reason::NotNeeded,
    });
    verdicts.extend(indexes);
    verdicts.push(no_full_scan());
    verdicts
}

/// Of all candidates, one of which is the best.
pub(super) fn verdicts(
    request: &Request<'_>,
    (all, choice): (&Candidates<'_, '_>, &Choice<'_, '_, '_>),
    (access, permission): (&Access, Option<Permission>),
) -> Vec<Verdict> {
    let is_full = matches!(access, Access::FullScan);
    let candidates = std::iter::once(&all.primary).chain(&all.indexes);
    let mut verdicts: Vec<Verdict> = candidates
        .map(|candidate| {
            let is_taken = !is_full && candidate.key == choice.best.key;
            Verdict {
                path: of_key(request.table, candidate.key),
                is_taken,
                reason: if is_taken {
                    skipping(request, candidate, access)
                        .unwrap_or_else(|| taken(request, candidate, access))
                } else {
                    not_taken(request, candidate, choice)
                },
            }
        })
        .collect();
    let full = match permission.filter(|_| is_full) {
        Some(permission) => Reason::Permitted(permission),
        None if is_full => Reason::Refused,
        None => Reason::NotNeeded,
    };
    verdicts.push(Verdict {
        path: Path::FullScan,
        is_taken: is_full && permission.is_some(),
        reason: full,
    });
    verdicts
}

fn taken(request: &Request<'_>, candidate: &Candidate<'_, '_>, access: &Access) -> Reason {
    let of_keys = |count| match count {
        1 => Reason::OneKey,
        count => Reason::Keys { count },
    };
    match access {
        Access::Nothing => Reason::Contradiction,
        Access::PointGet(_) => Reason::OneKey,
        Access::MultiGet(gets) => of_keys(gets.keys.len()),
        Access::Index(index) => match &index.entries {
            Entries::Keys(keys) => of_keys(keys.len()),
            Entries::Ranges(_) if candidate.has_bounds() => bounded(request, candidate),
            Entries::Ranges(_) => match predicate(request, candidate) {
                Some(predicate) => Reason::Partial { predicate },
                None => Reason::InOrder,
            },
        },
        Access::PrefixScan(_) => bounded(request, candidate),
        Access::Count(_) => Reason::Counted,
        Access::Ends(_) => Reason::Ends,
        Access::Merge(merge) => match merge.kind {
            MergeKind::Union => Reason::United,
            MergeKind::Intersection => Reason::Crossed,
        },
        Access::FullScan => Reason::NotNeeded,
    }
}

fn not_taken(
    request: &Request<'_>,
    candidate: &Candidate<'_, '_>,
    choice: &Choice<'_, '_, '_>,
) -> Reason {
    unfit(request, candidate).unwrap_or_else(|| {
        let (than, because) = choice.better_than(candidate);
        Reason::Worse {
            than: of_key(request.table, than).to_string(),
            because,
        }
    })
}

/// Why a candidate would not do, whatever the others are; `None` when it would.
pub(super) fn unfit(request: &Request<'_>, candidate: &Candidate<'_, '_>) -> Option<Reason> {
    if let Some(reason) = &candidate.forbidden {
        return Some(reason.clone());
    }
    let first = first_column(request, candidate);
    (!candidate.is_bounded()).then(|| refusal::first_column(request, &candidate.derived, first))
}

/// The index of a candidate.
fn index<'t>(table: &'t Table, candidate: &Candidate<'_, '_>) -> Option<&'t Index> {
    match candidate.key {
        KeyRef::Primary => None,
        KeyRef::Index(position) => table.indexes.get(position),
    }
}

fn predicate(request: &Request<'_>, candidate: &Candidate<'_, '_>) -> Option<String> {
    index(request.table, candidate)?.computed.filter.clone()
}

/// The names of the parts that spans bound.
fn names(request: &Request<'_>, candidate: &Candidate<'_, '_>) -> Vec<String> {
    let parts = candidate.span_key(request.table).parts;
    match index(request.table, candidate) {
        Some(index) => index_columns(request.table, index, parts),
        None => columns(request.table, parts),
    }
}

/// The first part, and its name.
fn first_column(request: &Request<'_>, candidate: &Candidate<'_, '_>) -> Option<(usize, String)> {
    let key = candidate.span_key(request.table);
    let part = key.parts.first()?;
    let column = request.table.columns.get(part.column_idx);
    let name = match column {
        Some(column) => column.name.clone(),
        None => names(request, candidate).into_iter().next()?,
    };
    Some((part.column_idx, name))
}

fn bounded(request: &Request<'_>, candidate: &Candidate<'_, '_>) -> Reason {
    let derived = &candidate.derived;
    let names = names(request, candidate);
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

/// Of a key whose first column got its values from what was found.
fn skipping(
    request: &Request<'_>,
    candidate: &Candidate<'_, '_>,
    access: &Access,
) -> Option<Reason> {
    let distinct = request.estimates.distinct()?;
    if distinct.key != candidate.key || matches!(access, Access::Nothing) {
        return None;
    }
    let names = columns(request.table, candidate.span_key(request.table).parts);
    let mut names = names.into_iter().take(candidate.derived.parts_used);
    Some(Reason::Skip {
        column: names.next()?,
        count: distinct.values.len(),
        columns: names.collect(),
    })
}
