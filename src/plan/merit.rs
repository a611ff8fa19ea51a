//! How good a key is for a statement: the rule by which one is chosen.

use std::cmp::Reverse;

use super::span::Span;
use super::verdict::Advantage;

/// How good a candidate is; fields are compared in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Merit {
    pub(super) full: Full,
    /// Leading parts that have one value, or a list of them; the condition of a partial index counts
    /// as one.
    pub(super) equal_parts: usize,
    pub(super) covering: bool,
    /// Whether it gives an order that is asked for.
    pub(super) ordered: bool,
    /// Whether a range bounds one part more.
    pub(super) range: bool,
    /// The primary key first, then the indexes in their order.
    pub(super) place: Reverse<usize>,
}

/// Whether spans are full keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Full {
    No,
    UniqueKeys,
    PrimaryKeys,
    UniqueKey,
    PrimaryKey,
}

impl Merit {
    /// Before anything is known.
    pub(super) const NONE: Merit = Merit {
        full: Full::No,
        equal_parts: 0,
        covering: false,
        ordered: false,
        range: false,
        place: Reverse(usize::MAX),
    };

    /// What `self` has that `other` has not, when it is the better one.
    pub(super) fn advantage(&self, other: &Merit) -> Advantage {
        if self.full != other.full {
            Advantage::FullKeys
        } else if self.equal_parts != other.equal_parts {
            Advantage::EqualParts
        } else if self.covering != other.covering {
            Advantage::Covering
        } else if self.ordered != other.ordered {
            Advantage::Order
        } else if self.range != other.range {
            Advantage::Range
        } else {
            Advantage::Place
        }
    }
}

/// How many leading parts have values in all spans, and whether a range follows in some.
pub(super) fn bounded_parts(spans: &[Span]) -> (usize, bool) {
    let counts = spans.iter().map(|span| span.common_prefix().len());
    let ranges = spans.iter().any(|span| span.point().is_none());
    (counts.min().unwrap_or(0), ranges)
}
