//! Skip scan: a key whose first column has no condition and few values is read as if the condition
//! were a list of them.
//!
//! ```text
//!   b = 5, index (a, b), a has the values 1, 2, 3     [/1/5] [/2/5] [/3/5]
//! ```
//! Off unless `optimizer_switch` has `skip_scan=on`, and only where nothing else bounds the rows. The
//! values are found by a seek each (see `doubt`), and are those of the view that is then read.

use std::rc::Rc;

use super::access::Request;
use super::candidates::Candidates;
use super::cut::KeyParts;
use super::derive::{self, Alternatives, Branch, Conditions, Constraint, Keys};
use super::domain::Domain;
use super::span::{self, Span};
use crate::sql::bound::KeyRef;
use crate::sql::expr::Expr;
use crate::types::Value;

/// Values of the first column that are skipped through. More of them are nearly a full scan.
pub const VALUES_MAX: usize = 100;
/// Keys of which the first column is looked at.
const KEYS_MAX: usize = 4;

/// The first column of a key has these values and no others.
#[derive(Debug, Clone)]
pub struct Distinct {
    /// The key.
    pub key: KeyRef,
    /// The values, in key order.
    pub values: Vec<Value<'static>>,
}

/// The keys that would bound the rows if their first column had few values; the best one first.
pub(super) fn keys(request: &Request<'_>, all: &Candidates<'_, '_>) -> Vec<KeyRef> {
    let known = &all.primary.derived;
    let mut found: Vec<(usize, bool, KeyRef)> = Vec::new();
    for candidate in all.each().filter(|one| one.forbidden.is_none()) {
        let key = candidate.span_key(request.table);
        let Some((_, parts)) = key.parts.split_first() else {
            continue;
        };
        let rest = KeyParts {
            columns: key.columns,
            parts,
        };
        let derived = derive::derive_from(rest, (known.conjuncts, &known.conditions), u64::MAX);
        let Keys::Spans(spans) = &derived.keys else {
            continue;
        };
        if !parts.is_empty() && !spans.iter().any(Span::is_all) {
            let equal = span::shared_prefix_count(spans);
            found.push((equal, candidate.covering, candidate.key));
        }
    }
    // The sort is stable: of equals, the primary key and then the indexes in their order.
    found.sort_by_key(|(equal, covering, _)| std::cmp::Reverse((*equal, *covering)));
    found.truncate(KEYS_MAX);
    found.into_iter().map(|(_, _, key)| key).collect()
}

/// Gives a candidate the list of values of its first column. `None` when that leaves no row.
pub(super) fn with_values<'a, 'e>(
    request: &Request<'a>,
    (mut all, conjuncts): (Candidates<'a, 'e>, &'e [Expr]),
    distinct: &Distinct,
) -> Option<Candidates<'a, 'e>> {
    let known = &all.primary.derived.conditions;
    let first = all.each().find(|one| one.key == distinct.key);
    let key = first.map(|one| one.span_key(request.table));
    let column_idx = key.and_then(|key| key.parts.first().map(|part| part.column_idx))?;
    let listed = Branch {
        constraints: vec![Constraint {
            column_idx,
            domain: Rc::new(Domain::points(distinct.values.clone())),
        }],
        complete: true,
    };
    let mut conditions: Vec<Alternatives<'e>> = known.to_vec();
    // It belongs to no conjunct, and holds for every row.
    conditions.push(Alternatives {
        branches: vec![listed],
        blocked: Vec::new(),
    });
    let conditions: Conditions<'e> = conditions.into();
    let listed = Candidates::with(request, (conjuncts, &conditions))?;
    all.take(distinct.key, listed);
    Some(all)
}
