//! Which sources an expression reads.

use crate::sql::bound::Joined;
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};

/// A set of sources: bit n is the n-th. There are at most as many as bits (the binder sees to it).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Sources(u128);

impl Sources {
    /// The set of one source.
    pub fn one(source_idx: usize) -> Sources {
        let bit = u32::try_from(source_idx).ok();
        Sources(bit.and_then(|bit| 1_u128.checked_shl(bit)).unwrap_or(0))
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of both.
    #[must_use]
    pub fn and(self, other: Sources) -> Sources {
        Sources(self.0 | other.0)
    }

    /// These without those of `other`.
    #[must_use]
    pub fn without(self, other: Sources) -> Sources {
        Sources(self.0 & !other.0)
    }

    /// Whether all of these are in `other`.
    pub fn are_in(self, other: Sources) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether one of these is in `other`.
    pub fn meet(self, other: Sources) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the source is one of these.
    pub fn has(self, source_idx: usize) -> bool {
        self.meet(Sources::one(source_idx))
    }

    /// The sources that an expression over the row of the join reads.
    pub fn of(expr: &Expr, joined: &Joined) -> Sources {
        let mut all = Sources::default();
        if let ExprKind::Column(idx) = expr.kind {
            all = source_idx(joined, idx).map_or(all, Sources::one);
        }
        fold::each_child(expr, &mut |child| all = all.and(Sources::of(child, joined)));
        all
    }
}

/// The source that has a column of the row.
pub(super) fn source_idx(joined: &Joined, column_idx: usize) -> Option<usize> {
    let after = joined
        .sources
        .partition_point(|source| source.first_column <= column_idx);
    after.checked_sub(1)
}

/// An expression over a row that begins at `first` of the row it was over.
pub fn shifted(expr: &Expr, first: usize) -> Expr {
    let mut expr = expr.clone();
    shift(&mut expr, first);
    expr
}

fn shift(expr: &mut Expr, first: usize) {
    if let ExprKind::Column(idx) = &mut expr.kind {
        // What is not of this row is left alone, and fails where it is read.
        *idx = idx.checked_sub(first).unwrap_or(*idx);
    }
    fold::each_child_mut(expr, &mut |child| shift(child, first));
}

/// Whether something in it waits for a subquery that is answered row by row.
pub(super) fn is_late(expr: &Expr) -> bool {
    !late_slots(expr).is_empty()
}

/// The slots of the subqueries in it that are answered row by row.
pub fn late_slots(expr: &Expr) -> Vec<usize> {
    let mut slots = Vec::new();
    add_late_slots(expr, &mut slots);
    slots
}

fn add_late_slots(expr: &Expr, slots: &mut Vec<usize>) {
    if let ExprKind::Slot(slot)
    | ExprKind::InSet { set: slot, .. }
    | ExprKind::Quantified { set: slot, .. } = &expr.kind
        && slot.per_row
    {
        slots.push(slot.idx);
    }
    fold::each_child(expr, &mut |child| add_late_slots(child, slots));
}
