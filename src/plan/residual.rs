//! What must still be checked per row, given the spans that are read.
//!
//! A conjunct is *absorbed*, and needs no check, when every row in the spans satisfies it: each of
//! its constraints is on a key part that bounds all spans, and together they say no less than the
//! conjunct. A conjunct with alternatives is absorbed when, in each combination of branches that
//! spans were made of, its branch is.

use super::cut::KeyParts;
use super::derive::shape;
use super::derive::{Alternatives, Branch};
use crate::sql::expr::Expr;

/// How far the spans follow the conditions.
#[derive(Debug, Clone, Copy)]
pub struct Reach<'a> {
    /// The conjuncts whose alternatives were multiplied out, by position.
    pub followed: &'a [usize],
    /// Per combination: the branch of each followed conjunct.
    pub picks: &'a [Vec<usize>],
    /// Per combination: how many key parts bound all its spans.
    pub consumed: &'a [usize],
}

/// Whether the spans express the conjunct at position `idx` exactly.
pub fn is_absorbed(
    idx: usize,
    condition: &Alternatives<'_>,
    (reach, key): (&Reach<'_>, KeyParts<'_>),
) -> bool {
    if let [branch] = condition.branches.as_slice() {
        let mut consumed = reach.consumed.iter();
        return consumed.all(|consumed| is_expressed(branch, *consumed, key));
    }
    let Some(at) = reach.followed.iter().position(|followed| *followed == idx) else {
        return false;
    };
    let mut combinations = reach.picks.iter().zip(reach.consumed);
    combinations.all(|(picks, consumed)| {
        let branch = picks.get(at).and_then(|pick| condition.branches.get(*pick));
        branch.is_some_and(|branch| is_expressed(branch, *consumed, key))
    })
}

/// Whether spans that `consumed` parts bound hold only rows that satisfy the branch.
fn is_expressed(branch: &Branch, consumed: usize, key: KeyParts<'_>) -> bool {
    branch.complete
        && branch.constraints.iter().all(|constraint| {
            let position = key.position(constraint.column_idx);
            position.is_some_and(|position| position < consumed)
        })
}

/// The residual filter: the conjunction of what is left; `None` when nothing is.
pub fn filter(residual: &[&Expr]) -> Option<Expr> {
    shape::all_of(residual.iter().copied().cloned().collect())
}
