//! The values that a predicate allows one column: intervals in the order of the column's type.
//!
//! Directions play no part here; `derive::product` turns domains into spans. Integers have one form
//! for each set: `a > 5` is kept as `6 <= a`, so that an interval of one value is a point and one
//! without values is seen to be empty.

use std::cmp::Ordering;
use std::ops::Bound;

use super::values;
use crate::types::{ColumnType, Value};

/// Part of a column's values without gap.
#[derive(Debug, Clone)]
pub enum Interval {
    /// One value.
    Point(Value<'static>),
    /// From one bound to another; more than one value can lie between them.
    Range {
        /// The lower bound.
        low: Bound<Value<'static>>,
        /// The upper bound.
        high: Bound<Value<'static>>,
    },
}

/// The values that a predicate allows a column: ascending intervals, apart from each other.
#[derive(Debug, Clone)]
pub struct Domain {
    intervals: Vec<Interval>,
}

impl Interval {
    /// What lies between two bounds of a column of type `ty`; `None` when nothing does.
    pub fn between(
        low: Bound<Value<'static>>,
        high: Bound<Value<'static>>,
        ty: &ColumnType,
    ) -> Option<Interval> {
        if let (Bound::Included(a), Bound::Included(b)) = (&low, &high)
            && values::compare(a, b).is_eq()
        {
            return Some(Interval::Point(a.clone()));
        }
        let low = values::lower_bound(low, ty)?;
        let high = values::upper_bound(high, ty)?;
        if let (Bound::Included(Value::Null), false) = (&low, ends_at_null(&high)) {
            // NULL comes first: a range that begins with it has no bound there.
            let low = Bound::Unbounded;
            return Some(Interval::Range { low, high });
        }
        let order = match (&low, &high) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => Ordering::Less,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
                values::compare(a, b)
            }
        };
        match (order, low, high) {
            (Ordering::Less, low, high) => Some(Interval::Range { low, high }),
            (Ordering::Equal, Bound::Included(value), Bound::Included(_)) => {
                Some(Interval::Point(value))
            }
            (Ordering::Equal | Ordering::Greater, _, _) => None,
        }
    }

    /// Whether it is more than one value.
    pub fn is_range(&self) -> bool {
        match self {
            Interval::Point(_) => false,
            Interval::Range { .. } => true,
        }
    }

    /// Where it begins.
    pub fn low(&self) -> Bound<&Value<'static>> {
        match self {
            Interval::Point(value) => Bound::Included(value),
            Interval::Range { low, .. } => low.as_ref(),
        }
    }

    /// Where it ends.
    pub fn high(&self) -> Bound<&Value<'static>> {
        match self {
            Interval::Point(value) => Bound::Included(value),
            Interval::Range { high, .. } => high.as_ref(),
        }
    }

    fn intersect(&self, other: &Interval, ty: &ColumnType) -> Option<Interval> {
        let low = match compare_low(self.low(), other.low()) {
            Ordering::Less => other.low(),
            Ordering::Equal | Ordering::Greater => self.low(),
        };
        let high = match compare_high(self.high(), other.high()) {
            Ordering::Greater => other.high(),
            Ordering::Equal | Ordering::Less => self.high(),
        };
        Interval::between(low.cloned(), high.cloned(), ty)
    }
}

impl Domain {
    /// No value.
    pub fn empty() -> Domain {
        Domain {
            intervals: Vec::new(),
        }
    }

    /// Every value, `NULL` included.
    pub fn everything() -> Domain {
        Domain::from(Some(Interval::Range {
            low: Bound::Unbounded,
            high: Bound::Unbounded,
        }))
    }

    /// Every value that is not `NULL`.
    pub fn not_null(nullable: bool) -> Domain {
        Domain::from(Some(Interval::Range {
            low: least(nullable),
            high: Bound::Unbounded,
        }))
    }

    /// One value.
    pub fn point(value: Value<'static>) -> Domain {
        Domain::from(Some(Interval::Point(value)))
    }

    /// Each of these values.
    pub fn points(mut list: Vec<Value<'static>>) -> Domain {
        list.sort_by(values::compare);
        list.dedup_by(|a, b| values::compare(a, b) == Ordering::Equal);
        Domain {
            intervals: list.into_iter().map(Interval::Point).collect(),
        }
    }

    /// The intervals, ascending.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Whether no value is allowed.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Whether every value is allowed.
    pub fn is_everything(&self) -> bool {
        matches!(
            self.intervals.as_slice(),
            [Interval::Range {
                low: Bound::Unbounded,
                high: Bound::Unbounded
            }]
        )
    }

    /// The value, when just one is allowed.
    pub fn single(&self) -> Option<&Value<'static>> {
        match self.intervals.as_slice() {
            [Interval::Point(value)] => Some(value),
            _ => None,
        }
    }

    /// How many points and how many ranges it has.
    pub fn counts(&self) -> (u64, u64) {
        let points = self
            .intervals
            .iter()
            .filter(|interval| matches!(interval, Interval::Point(_)))
            .count();
        let ranges = self.intervals.len() - points;
        (count(points), count(ranges))
    }

    /// The values that both allow.
    pub fn intersect(&self, other: &Domain, ty: &ColumnType) -> Domain {
        match (self.single(), other.single()) {
            (Some(value), _) => return other.restricted_to(value),
            (_, Some(value)) => return self.restricted_to(value),
            (None, None) => {}
        }
        let mut intervals = Vec::new();
        let (mut ours, mut theirs) = (
            self.intervals.iter().peekable(),
            other.intervals.iter().peekable(),
        );
        while let (Some(a), Some(b)) = (ours.peek(), theirs.peek()) {
            intervals.extend(a.intersect(b, ty));
            match compare_high(a.high(), b.high()) {
                Ordering::Less => ours.next(),
                Ordering::Equal | Ordering::Greater => theirs.next(),
            };
        }
        Domain { intervals }
    }

    /// Just `value`, when it is allowed. By binary search: row lists meet long IN lists.
    fn restricted_to(&self, value: &Value<'static>) -> Domain {
        let at = Bound::Included(value);
        let first = self
            .intervals
            .partition_point(|interval| compare_high(interval.high(), at).is_lt());
        match self.intervals.get(first) {
            Some(interval) if compare_low(interval.low(), at).is_le() => {
                Domain::point(value.clone())
            }
            Some(_) | None => Domain::empty(),
        }
    }

    /// Whether it allows all that `other` allows.
    pub fn contains(&self, other: &Domain) -> bool {
        let holds = |inner: &Interval| {
            self.intervals.iter().any(|outer| {
                compare_low(outer.low(), inner.low()).is_le()
                    && compare_high(outer.high(), inner.high()).is_ge()
            })
        };
        other.intervals.iter().all(holds)
    }

    /// The values that any of the domains allows.
    pub fn union(domains: impl IntoIterator<Item = Domain>, ty: &ColumnType) -> Domain {
        let mut all: Vec<Interval> = domains
            .into_iter()
            .flat_map(|domain| domain.intervals)
            .collect();
        all.sort_by(|a, b| compare_low(a.low(), b.low()));
        let mut merged: Vec<Interval> = Vec::with_capacity(all.len());
        for interval in all {
            match merged.last_mut() {
                Some(last) if reaches(last, &interval, ty) => extend(last, &interval),
                Some(_) | None => merged.push(interval),
            }
        }
        Domain { intervals: merged }
    }

    /// From the least to the greatest allowed value.
    pub fn hull(&self, ty: &ColumnType) -> Domain {
        let ends = self.intervals.first().zip(self.intervals.last());
        Domain::from(ends.and_then(|(first, last)| {
            Interval::between(first.low().cloned(), last.high().cloned(), ty)
        }))
    }
}

impl From<Option<Interval>> for Domain {
    fn from(interval: Option<Interval>) -> Domain {
        Domain {
            intervals: interval.into_iter().collect(),
        }
    }
}

/// The lower bound of a comparison: `NULL`, which sorts first, is never in it.
pub fn least(nullable: bool) -> Bound<Value<'static>> {
    if nullable {
        Bound::Excluded(Value::Null)
    } else {
        Bound::Unbounded
    }
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn extend(last: &mut Interval, next: &Interval) {
    if compare_high(last.high(), next.high()) == Ordering::Less {
        let low = match last.low() {
            Bound::Included(Value::Null) => Bound::Unbounded,
            low @ (Bound::Included(_) | Bound::Excluded(_) | Bound::Unbounded) => low.cloned(),
        };
        *last = Interval::Range {
            low,
            high: next.high().cloned(),
        };
    }
}

/// Whether nothing but `NULL` can lie below this bound.
fn ends_at_null(high: &Bound<Value<'static>>) -> bool {
    match high {
        Bound::Included(value) | Bound::Excluded(value) => value.is_null(),
        Bound::Unbounded => false,
    }
}

fn compare_low(a: Bound<&Value<'static>>, b: Bound<&Value<'static>>) -> Ordering {
    match (a, b) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Less,
        (_, Bound::Unbounded) => Ordering::Greater,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            values::compare(a, b)
        }
    }
    .then_with(|| matches!(a, Bound::Excluded(_)).cmp(&matches!(b, Bound::Excluded(_))))
}

fn compare_high(a: Bound<&Value<'static>>, b: Bound<&Value<'static>>) -> Ordering {
    match (a, b) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Greater,
        (_, Bound::Unbounded) => Ordering::Less,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            values::compare(a, b)
        }
    }
    .then_with(|| matches!(b, Bound::Excluded(_)).cmp(&matches!(a, Bound::Excluded(_))))
}

/// Whether `next`, which begins no earlier, overlaps or touches `last`. Two neighbouring integers
/// do not touch: as points they can be fetched, as a range only scanned.
fn reaches(last: &Interval, next: &Interval, ty: &ColumnType) -> bool {
    match (last.high(), next.low()) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Excluded(high), Bound::Excluded(low)) => {
            values::compare(low, high) == Ordering::Less
        }
        (
            Bound::Included(high) | Bound::Excluded(high),
            Bound::Included(low) | Bound::Excluded(low),
        ) => {
            values::compare(low, high) != Ordering::Greater
                || last.is_range() && next.is_range() && values::follows(low, high, ty)
        }
    }
}
