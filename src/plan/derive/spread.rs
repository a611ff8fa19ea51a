//! What conditions say about the first part of a spread key.
//!
//! ```text
//!   values of all its columns       the part is computed of each combination of them
//!   bucket(c, n), else              each of the n buckets, if what follows is bounded
//!   hash8(c), reverse(c), else      nothing: its values are in no order that a condition follows
//! ```
//! The values of the columns and those of the part go together: `a IN (1, 2)` of the key `(hash8(a), a)` is
//! two keys and not four.

use std::rc::Rc;

use super::super::cut::KeyParts;
use super::super::domain::{Domain, Interval};
use super::{Combination, SPANS_MAX};
use crate::catalog::Spread;
use crate::types::Value;

/// What became of the combinations.
pub(super) enum Expanded {
    /// They are these.
    Combinations(Vec<Combination>),
    /// They are so many full keys, which are more than anybody builds.
    TooMany(u64),
}

/// The combinations with what they say about the first part, if that is computed.
pub(super) fn expanded(combinations: Vec<Combination>, key: KeyParts<'_>) -> Expanded {
    let Some(spread) = key.column(0).and_then(|column| column.spread.as_deref()) else {
        return Expanded::Combinations(combinations);
    };
    let all = Expander::of(spread, key);
    let counts = combinations.iter().map(|one| all.count(one));
    let count = counts.fold(0_u64, u64::saturating_add);
    if count <= SPANS_MAX {
        let expanded = combinations.into_iter().flat_map(|one| all.expand(one));
        return Expanded::Combinations(expanded.collect());
    }
    let listed = |one: &Combination| {
        let mut declared = one.dimensions.iter().skip(1);
        declared.all(|dimension| is_listed(dimension.as_deref()))
    };
    if combinations.iter().all(listed) {
        let counts = combinations.iter().map(full_count);
        return Expanded::TooMany(counts.fold(0, u64::saturating_add));
    }
    Expanded::Combinations(combinations)
}

/// How many full keys a combination of lists is.
fn full_count(one: &Combination) -> u64 {
    let dimensions = one.dimensions.iter().skip(1).flatten();
    dimensions
        .map(|domain| domain.counts().0)
        .fold(1, u64::saturating_mul)
}

fn is_listed(domain: Option<&Domain>) -> bool {
    domain.is_some_and(|domain| domain.counts().1 == 0)
}

/// What a combination allows the key part at a position.
fn domain(one: &Combination, position: usize) -> Option<&Domain> {
    one.dimensions.get(position)?.as_deref()
}

/// Whether what follows the part is bounded.
fn is_bounded(one: &Combination) -> bool {
    domain(one, 1).is_some_and(|domain| !domain.is_everything())
}

struct Expander<'a> {
    spread: &'a Spread,
    key: KeyParts<'a>,
    /// Where its columns are in the key.
    inputs: Vec<usize>,
}

impl<'a> Expander<'a> {
    fn of(spread: &'a Spread, key: KeyParts<'a>) -> Expander<'a> {
        let inputs = spread.inputs.iter().filter_map(|idx| key.position(*idx));
        Expander {
            spread,
            key,
            inputs: inputs.collect(),
        }
    }

    /// Whether the values of all columns of the part are listed.
    fn has_values(&self, one: &Combination) -> bool {
        // Of a key without them, there is nothing to compute the part from.
        self.inputs.len() == self.spread.inputs.len()
            && self
                .inputs
                .iter()
                .all(|position| is_listed(domain(one, *position)))
    }

    /// How many spans a combination becomes at least.
    fn count(&self, one: &Combination) -> u64 {
        if self.has_values(one) {
            let inputs = self.inputs.iter();
            let counts = inputs.filter_map(|position| domain(one, *position));
            return counts
                .map(|domain| domain.counts().0)
                .fold(1, u64::saturating_mul);
        }
        match self.spread.kind.buckets() {
            Some(count) if is_bounded(one) => u64::from(count),
            Some(_) | None => 1,
        }
    }

    fn expand(&self, one: Combination) -> Vec<Combination> {
        if self.has_values(&one) {
            return self.listed(one);
        }
        let Some(count) = self.spread.kind.buckets() else {
            return vec![one];
        };
        if !is_bounded(&one) {
            return vec![one];
        }
        let buckets = (0..count).map(|bucket| Value::UInt(u64::from(bucket)));
        vec![with(one, 0, Domain::points(buckets.collect()))]
    }

    /// One combination for each list of values of the columns.
    fn listed(&self, one: Combination) -> Vec<Combination> {
        let mut all = vec![one];
        for position in &self.inputs {
            let split = all.into_iter().flat_map(|one| {
                let domain = domain(&one, *position);
                let values = domain.map(points).unwrap_or_default();
                let split = values.into_iter();
                let split = split.map(|value| with(one.clone(), *position, Domain::point(value)));
                split.collect::<Vec<_>>()
            });
            all = split.collect();
        }
        let computed = all.into_iter().map(|one| match self.part(&one) {
            Some(part) => with(one, 0, Domain::point(part)),
            None => one,
        });
        computed.collect()
    }

    /// The part, of columns that have one value each.
    fn part(&self, one: &Combination) -> Option<Value<'static>> {
        let value_of = |idx| {
            let position = self.key.position(idx)?;
            domain(one, position)?.single()
        };
        // A domain has values of its column's type: there is no error.
        self.spread.value(self.key.columns, value_of).ok()
    }
}

fn points(domain: &Domain) -> Vec<Value<'static>> {
    let intervals = domain.intervals().iter();
    let points = intervals.filter_map(|interval| match interval {
        Interval::Point(value) => Some(value.clone()),
        Interval::Range { .. } => None,
    });
    points.collect()
}

fn with(mut one: Combination, position: usize, domain: Domain) -> Combination {
    if let Some(dimension) = one.dimensions.get_mut(position) {
        *dimension = Some(Rc::new(domain));
    }
    one
}
