//! Values of the key columns, multiplied into spans.
//!
//! Points multiply and the match goes on; a range or a column without condition ends it. Products
//! are counted before they are built.

use std::ops::Bound;
use std::rc::Rc;

use super::super::cut::{Cut, KeyParts};
use super::super::domain::{Domain, Interval};
use super::super::span::{self, Span};
use super::{Combination, Keys, SPANS_MAX};
use crate::codec::key::Direction;
use crate::types::Value;

/// The spans of all combinations.
pub(super) struct Built {
    /// The keys.
    pub(super) keys: Keys,
    /// Per combination: which branches it was made of.
    pub(super) picks: Vec<Vec<usize>>,
    /// Per combination: how many key parts bound all its spans.
    pub(super) consumed: Vec<usize>,
    /// Whether a limit made the spans wider than they could be.
    pub(super) widened: bool,
}

/// Builds the spans; more than `keys_max` full keys are only counted.
pub(super) fn build(combinations: &[Combination], keys_max: u64, key: KeyParts<'_>) -> Built {
    let picks = combinations.iter().map(|one| one.picks.clone()).collect();
    if combinations.iter().any(|one| one.first().is_none()) {
        return Built {
            keys: Keys::Spans(vec![Span::all()]),
            picks,
            consumed: vec![0; combinations.len()],
            widened: false,
        };
    }
    let full = combinations.iter().all(Combination::is_full);
    let full_count = total(combinations, key.count());
    let exact_count = combinations.len() == 1;
    if full && keys_max < full_count && (exact_count || SPANS_MAX < full_count) {
        return too_many(full_count, picks);
    }
    let depth = (1..=key.count())
        .rev()
        .find(|depth| total(combinations, *depth) <= SPANS_MAX);
    let (mut spans, mut consumed) = (Vec::new(), Vec::new());
    for combination in combinations {
        let mut builder = Builder {
            key,
            dimensions: &combination.dimensions,
            depth: depth.unwrap_or(1),
            spans: &mut spans,
            consumed: usize::MAX,
        };
        match depth {
            Some(_) => builder.extend(&mut Vec::new()),
            None => builder.hull(),
        }
        consumed.push(builder.consumed);
    }
    let keys_count = if full { spans.len() } else { 0 };
    let spans = span::normalise(spans, key);
    let distinct = u64::try_from(spans.len().min(keys_count)).unwrap_or(u64::MAX);
    if keys_max < distinct {
        return too_many(distinct, picks);
    }
    Built {
        keys: Keys::Spans(spans),
        picks,
        consumed,
        widened: depth
            .is_none_or(|depth| total(combinations, depth) < total(combinations, key.count())),
    }
}

/// So many full keys, counted and not built.
pub(super) fn too_many(count: u64, picks: Vec<Vec<usize>>) -> Built {
    Built {
        keys: Keys::TooMany(count),
        consumed: vec![0; picks.len()],
        picks,
        widened: false,
    }
}

/// How many spans the combinations give when the first `depth` parts are used.
fn total(combinations: &[Combination], depth: usize) -> u64 {
    combinations
        .iter()
        .fold(0, |sum: u64, one| sum.saturating_add(one.count(0, depth)))
}

impl Combination {
    fn first(&self) -> Option<&Domain> {
        self.dimensions
            .first()
            .and_then(Option::as_deref)
            .filter(|domain| !domain.is_everything())
    }

    /// Whether every key part has a list of values.
    fn is_full(&self) -> bool {
        self.dimensions.iter().all(|dimension| {
            let counts = dimension.as_deref().map(Domain::counts);
            counts.is_some_and(|(_, ranges)| ranges == 0)
        })
    }

    /// How many spans the parts from `position` up to `depth` give for one prefix.
    fn count(&self, position: usize, depth: usize) -> u64 {
        let dimension = self.dimensions.get(position);
        let Some(Some(domain)) = dimension.filter(|_| position < depth) else {
            return 1;
        };
        match domain.counts() {
            (0, ranges) => ranges,
            (points, ranges) => points
                .saturating_mul(self.count(position + 1, depth))
                .saturating_add(ranges),
        }
    }
}

/// Builds the spans of one combination, in key order.
struct Builder<'a> {
    key: KeyParts<'a>,
    dimensions: &'a [Option<Rc<Domain>>],
    /// How many parts may be used.
    depth: usize,
    spans: &'a mut Vec<Span>,
    /// The fewest parts that bound a span so far.
    consumed: usize,
}

impl Builder<'_> {
    fn extend(&mut self, prefix: &mut Vec<Value<'static>>) {
        let position = prefix.len();
        let dimensions = self.dimensions;
        let dimension = dimensions.get(position).filter(|_| position < self.depth);
        let Some(Some(domain)) = dimension else {
            self.consumed = self.consumed.min(position);
            self.spans.push(Span::of_prefix(prefix.clone()));
            return;
        };
        let intervals = domain.intervals();
        match self.key.direction(position) {
            Direction::Asc => intervals.iter().for_each(|one| self.interval(prefix, one)),
            Direction::Desc => {
                let backwards = intervals.iter().rev();
                backwards.for_each(|one| self.interval(prefix, one));
            }
        }
    }

    fn interval(&mut self, prefix: &mut Vec<Value<'static>>, interval: &Interval) {
        match interval {
            Interval::Point(value) => {
                prefix.push(value.clone());
                self.extend(prefix);
                prefix.pop();
            }
            Interval::Range { low, high } => {
                self.consumed = self.consumed.min(prefix.len() + 1);
                let (first, last) = match self.key.direction(prefix.len()) {
                    Direction::Asc => (low, high),
                    Direction::Desc => (high, low),
                };
                let start = start_cut(prefix, first);
                let until = until_cut(prefix, last);
                self.spans.extend(Span::between(start, until, self.key));
            }
        }
    }

    /// One span from the first to the last value of the first part.
    fn hull(&mut self) {
        let (Some(Some(domain)), Some(column)) = (self.dimensions.first(), self.key.column(0))
        else {
            return;
        };
        for interval in domain.hull(&column.ty).intervals() {
            self.interval(&mut Vec::new(), interval);
        }
        // The hull is wider than the condition, so not even the first part expresses it.
        self.consumed = 0;
    }
}

fn start_cut(prefix: &[Value<'static>], first: &Bound<Value<'static>>) -> Cut {
    match first {
        Bound::Included(value) => Cut::Before(with(prefix, value)),
        Bound::Excluded(value) => Cut::After(with(prefix, value)),
        Bound::Unbounded => Cut::Before(prefix.to_vec()),
    }
}

fn until_cut(prefix: &[Value<'static>], last: &Bound<Value<'static>>) -> Cut {
    match last {
        Bound::Included(value) => Cut::After(with(prefix, value)),
        Bound::Excluded(value) => Cut::Before(with(prefix, value)),
        Bound::Unbounded => Cut::After(prefix.to_vec()),
    }
}

fn with(prefix: &[Value<'static>], value: &Value<'static>) -> Vec<Value<'static>> {
    let mut values = Vec::with_capacity(prefix.len() + 1);
    values.extend_from_slice(prefix);
    values.push(value.clone());
    values
}
