//! From a predicate and a key to spans: the leftmost match (README, Prefix scan).
//!
//! ```text
//!   shape       constants folded, NOT pushed down, AND flattened: a list of conjuncts
//!   condition   each conjunct: which values it allows which columns (alternatives, if OR)
//!   spread      values of the computed part of a spread key, from those of its columns
//!   product     values of k1, k2, … multiplied into spans, until a range or a gap ends the match
//! ```
//! A conjunct that the spans express exactly is *absorbed*; the others are the residual filter. The
//! spans are *tight* when nothing is left. Knowingly lost: conditions on columns behind a range,
//! alternatives beyond the limits below, ENUM labels compared by order, columns compared with each
//! other. They stay in the residual, so an answer is never wrong, only wider.

mod alternatives;
mod condition;
mod like;
mod product;
mod rows;
pub mod shape;
mod spread;

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

pub use alternatives::{Alternatives, Blocked, Branch, Constraint};

use super::cut::KeyParts;
use super::domain::Domain;
use super::residual;
use super::span::{self, Span};
use crate::catalog::Column;
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;

/// Spans one statement may produce. Past it the key is not extended further: fewer, wider spans
/// and a residual filter. Planning with that many takes a few milliseconds.
pub const SPANS_MAX: u64 = 10_000;
/// Alternatives (branches of OR, members of row lists) that are followed, multiplied over all
/// conjuncts. No greater than [`SPANS_MAX`]: each gives at least one span.
pub const BRANCHES_MAX: usize = 10_000;

/// What a predicate says about the keys of the rows that satisfy it.
#[derive(Debug)]
pub struct Derived<'e> {
    /// Which keys.
    pub keys: Keys,
    /// Conjuncts that the keys do not express, in the order written.
    pub residual: Vec<&'e Expr>,
    /// Columns that have one value in all rows, in no order.
    pub fixed: Vec<usize>,
    /// How many key parts bound every span.
    pub parts_used: usize,
    /// Whether a limit made the spans wider than they could be.
    pub widened: bool,
    /// The conjuncts.
    pub conjuncts: &'e [Expr],
    /// What each conjunct allows, and why some say nothing.
    pub conditions: Conditions<'e>,
}

/// What each conjunct of a statement allows the columns; the same for every key.
pub type Conditions<'e> = Rc<[Alternatives<'e>]>;

/// The keys that rows can have.
#[derive(Debug)]
pub enum Keys {
    /// None: the predicate is a contradiction.
    Nothing,
    /// Those in these spans, which are normal. One span without bounds: any key.
    Spans(Vec<Span>),
    /// This many full keys, more than allowed; they were counted and not built.
    TooMany(u64),
}

impl Derived<'_> {
    /// Whether exactly the rows in the spans satisfy the predicate.
    pub fn is_tight(&self) -> bool {
        self.residual.is_empty()
    }
}

/// Derives spans of `key` from `conjuncts`. More than `keys_max` full keys are counted, not built.
pub fn derive<'e>(
    key: KeyParts<'_>,
    conjuncts: &'e [Expr],
    keys_max: u64,
    ctx: &EvalContext,
) -> Derived<'e> {
    let conditions = conditions(conjuncts, key.columns, ctx);
    derive_from(key, (conjuncts, &conditions), keys_max)
}

/// What each conjunct allows the columns.
pub fn conditions<'e>(
    conjuncts: &'e [Expr],
    columns: &[Column],
    ctx: &EvalContext,
) -> Conditions<'e> {
    let conditions = conjuncts.iter();
    conditions
        .map(|conjunct| condition::alternatives(conjunct, columns, ctx))
        .collect()
}

/// As [`derive()`], from what the conjuncts are known to allow.
pub fn derive_from<'e>(
    key: KeyParts<'_>,
    (conjuncts, conditions): (&'e [Expr], &Conditions<'e>),
    keys_max: u64,
) -> Derived<'e> {
    let conditions = Rc::clone(conditions);
    let base = merge_single(&conditions, key);
    let Some(base) = base else {
        return nothing(conjuncts, conditions);
    };
    let choice = Choice::of(&conditions, key);
    let combinations = choice.combine(&conditions, &base, key);
    if combinations.is_empty() {
        return nothing(conjuncts, conditions);
    }
    let built = match spread::expanded(combinations, key) {
        spread::Expanded::Combinations(all) => product::build(&all, keys_max, key),
        spread::Expanded::TooMany(count) => product::too_many(count, Vec::new()),
    };
    let reach = residual::Reach {
        followed: &choice.followed,
        picks: &built.picks,
        consumed: &built.consumed,
    };
    let residual = conjuncts
        .iter()
        .zip(conditions.iter())
        .enumerate()
        .filter(|(idx, (_, condition))| !residual::is_absorbed(*idx, condition, (&reach, key)))
        .map(|(_, (conjunct, _))| conjunct)
        .collect();
    let parts_used = built.consumed.iter().copied().min().unwrap_or(0);
    let fixed = fixed_columns(&base, &built.keys, key);
    Derived {
        residual,
        fixed,
        parts_used: parts_used.min(key.count()),
        widened: built.widened,
        keys: built.keys,
        conjuncts,
        conditions,
    }
}

fn nothing<'e>(conjuncts: &'e [Expr], conditions: Conditions<'e>) -> Derived<'e> {
    Derived {
        keys: Keys::Nothing,
        residual: Vec::new(),
        fixed: Vec::new(),
        parts_used: 0,
        widened: false,
        conjuncts,
        conditions,
    }
}

/// What each column may be; shared, as alternatives differ in few columns.
type Domains = BTreeMap<usize, Rc<Domain>>;

/// What the conjuncts without alternatives allow each column, key column or not; `None` when they
/// contradict each other.
fn merge_single(conditions: &[Alternatives<'_>], key: KeyParts<'_>) -> Option<Domains> {
    let mut base = Domains::new();
    for condition in conditions {
        match condition.branches.as_slice() {
            [] => return None,
            [branch] => merge_branch(&mut base, branch, key)?,
            _ => {}
        }
    }
    Some(base)
}

fn merge_branch(domains: &mut Domains, branch: &Branch, key: KeyParts<'_>) -> Option<()> {
    for constraint in &branch.constraints {
        let column = key.columns.get(constraint.column_idx)?;
        let merged = match domains.get(&constraint.column_idx) {
            Some(domain) => Rc::new(domain.intersect(&constraint.domain, &column.ty)),
            None => Rc::clone(&constraint.domain),
        };
        if merged.is_empty() {
            return None;
        }
        domains.insert(constraint.column_idx, merged);
    }
    Some(())
}

/// Which conjuncts with alternatives are multiplied out.
struct Choice {
    /// Their positions among the conjuncts.
    followed: Vec<usize>,
}

/// One way to satisfy the followed conjuncts.
#[derive(Clone)]
struct Combination {
    /// Which branch of each followed conjunct.
    picks: Vec<usize>,
    /// What it allows each key part; `None` for any value.
    dimensions: Vec<Option<Rc<Domain>>>,
}

impl Choice {
    /// Follows those of which every branch bounds a key column, while their product stays small.
    fn of(conditions: &[Alternatives<'_>], key: KeyParts<'_>) -> Choice {
        let mut product = 1_usize;
        let mut followed = Vec::new();
        for (idx, condition) in conditions.iter().enumerate() {
            let bounds_key = condition.branches.iter().all(|branch| {
                let mut columns = branch.constraints.iter();
                columns.any(|constraint| key.position(constraint.column_idx).is_some())
            });
            let next = product.saturating_mul(condition.branches.len());
            if 1 < condition.branches.len() && bounds_key && next <= BRANCHES_MAX {
                product = next;
                followed.push(idx);
            }
        }
        Choice { followed }
    }

    /// Every combination of branches that is no contradiction.
    fn combine(
        &self,
        conditions: &[Alternatives<'_>],
        base: &Domains,
        key: KeyParts<'_>,
    ) -> Vec<Combination> {
        let followed = self.followed.iter().filter_map(|idx| conditions.get(*idx));
        let followed: Vec<&Alternatives<'_>> = followed.collect();
        // Each combination has a copy: only of what is asked for below.
        let constraints = followed.iter().flat_map(|condition| &condition.branches);
        let constraints = constraints.flat_map(|branch| &branch.constraints);
        let met: HashSet<usize> = constraints
            .map(|constraint| constraint.column_idx)
            .collect();
        let mut base = base.clone();
        base.retain(|column_idx, _| {
            key.position(*column_idx).is_some() || met.contains(column_idx)
        });
        let mut partial = vec![(Vec::new(), base)];
        for condition in followed {
            let mut next = Vec::new();
            for (picks, domains) in &partial {
                for (pick, branch) in condition.branches.iter().enumerate() {
                    let mut merged = domains.clone();
                    if merge_branch(&mut merged, branch, key).is_some() {
                        let mut picks: Vec<usize> = picks.clone();
                        picks.push(pick);
                        next.push((picks, merged));
                    }
                }
            }
            partial = next;
        }
        let dimension = |mut domains: Domains| {
            let parts = key.parts.iter();
            parts
                .map(|part| domains.remove(&part.column_idx))
                .collect::<Vec<_>>()
        };
        partial
            .into_iter()
            .map(|(picks, domains)| Combination {
                picks,
                dimensions: dimension(domains),
            })
            .collect()
    }
}

/// Columns of which the conjuncts, or the spans, allow one value.
fn fixed_columns(base: &Domains, keys: &Keys, key: KeyParts<'_>) -> Vec<usize> {
    let mut fixed: Vec<usize> = base
        .iter()
        .filter(|(_, domain)| domain.single().is_some())
        .map(|(column_idx, _)| *column_idx)
        .collect();
    if let Keys::Spans(spans) = keys {
        let shared = span::shared_prefix_count(spans);
        let parts = key.parts.iter().take(shared);
        fixed.extend(parts.map(|part| part.column_idx));
    }
    fixed
}

#[cfg(test)]
mod tests;
