//! Index merge: an OR of which each side is bounded by some key is read as the union of them, an AND
//! of two sides that are in many rows each as the intersection of two indexes.
//!
//! ```text
//!   a = 1 OR b = 2                    [/1] by index (a), [/2] by index (b)
//!   (a = 1 OR id > 7) AND c = 3       [/1] by index (a), (/7 - ] by the primary key; c = 3 is filtered
//!   a = 1 AND b = 2                   [/1] by index (a) and [/2] by index (b), where few rows have both
//! ```
//! A union only where no key alone bounds what is read, or where it was counted to be cheaper. Each
//! side is planned as if it were the whole condition, by the same rules; rows come in the order of the
//! primary key, each once. Scans whose entries come in that order are merged as they are read, the
//! keys of others are sorted first. An intersection only where it was counted to be cheaper, and of
//! entries that come in that order.

use super::access::{Access, Entries, Merge, MergeBranch, MergeKind, Request};
use super::candidates::{self, Candidate, Candidates};
use super::cut::KeyParts;
use super::derive::{Alternatives, Branch, Conditions, Derived};
use super::doubt::Choice;
use super::order::{self, Order};
use super::paths;
use super::verdict::{Reason, Verdict};
use crate::catalog::Table;
use crate::error::Result;
use crate::sql::bound::KeyRef;
use crate::sql::expr::Expr;

/// Scans that are united. Each holds a page of keys.
const BRANCHES_MAX: usize = 32;

/// Pairs of indexes of which the two with the fewest entries are looked at.
const PAIRS_MAX: usize = 8;

/// A union or intersection, and what remains to be done with its rows.
pub(super) struct Merged<'e> {
    /// The scans; none when no side can be true.
    pub(super) merge: Merge,
    /// Conjuncts that some scan does not express.
    pub(super) residual: Vec<&'e Expr>,
    /// What the order of the primary key is good for.
    pub(super) order: Order,
}

/// The union that answers a statement, when an OR has a key for each side.
///
/// # Errors
/// 1104 for too many keys; a value that does not fit its key part: an internal error.
pub(super) fn of<'e>(
    request: &Request<'_>,
    (all, conjuncts): (&Candidates<'_, 'e>, &'e [Expr]),
) -> Result<Option<Merged<'e>>> {
    let conditions = &all.primary.derived.conditions;
    for (at, condition) in conditions.iter().enumerate() {
        let count = condition.branches.len();
        if !(2..=BRANCHES_MAX).contains(&count) {
            continue;
        }
        if let Some(union) = side_by_side(request, (all, conjuncts), at)? {
            return Ok(Some(union));
        }
    }
    Ok(None)
}

/// The union over the branches of one condition.
fn side_by_side<'e>(
    request: &Request<'_>,
    (all, conjuncts): (&Candidates<'_, 'e>, &'e [Expr]),
    at: usize,
) -> Result<Option<Merged<'e>>> {
    let derived = &all.primary.derived;
    let conditions = &derived.conditions;
    let order = order::of(request, KeyParts::primary(request.table), &derived.fixed);
    // Any order will do here, as the rows are sorted anyhow, and each is looked up.
    let request = &Request {
        order_by: &[],
        limit: None,
        used_columns: None,
        ..*request
    };
    let mut merge = Merge {
        kind: MergeKind::Union,
        branches: Vec::new(),
    };
    // The key that bounds the whole is not to be read once for each side.
    let bounded = all.best(request);
    let weak = bounded.is_bounded().then_some(bounded.key);
    let mut residual = vec![false; conjuncts.len()];
    let branches = conditions.get(at).map(|one| one.branches.as_slice());
    for branch in branches.unwrap_or_default() {
        let mut alone: Vec<Alternatives<'e>> = conditions.to_vec();
        if let Some(condition) = alone.get_mut(at) {
            condition.branches = vec![branch.clone()];
        }
        let alone: Conditions<'e> = alone.into();
        // One side may contradict the other conditions.
        let Some(mut side) = Candidates::with(request, (conjuncts, &alone)) else {
            continue;
        };
        if let Some(weak) = weak {
            side.forbid(weak);
        }
        let best = side.best(request);
        if !is_key(best) {
            return Ok(None);
        }
        merge.branches.push(branch_of(best, request)?);
        for left in &best.derived.residual {
            let mut pairs = conjuncts.iter().zip(&mut residual);
            if let Some((_, stays)) = pairs.find(|(conjunct, _)| std::ptr::eq(*conjunct, *left)) {
                *stays = true;
            }
        }
    }
    let residual = conjuncts.iter().zip(residual).filter(|(_, stays)| *stays);
    Ok(Some(Merged {
        merge,
        residual: residual.map(|(conjunct, _)| conjunct).collect(),
        order,
    }))
}

/// Pairs of rivals that might be read together, as what is read of each.
///
/// # Errors
/// A value that does not fit its key part: an internal error.
pub(super) fn pairs(
    request: &Request<'_>,
    rivals: &[&Candidate<'_, '_>],
) -> Result<Vec<[MergeBranch; 2]>> {
    let mut pairs = Vec::new();
    for (at, first) in rivals.iter().enumerate() {
        for second in rivals.iter().skip(at + 1) {
            if PAIRS_MAX <= pairs.len() || !is_crossing(first, second, request.table) {
                continue;
            }
            pairs.push([branch_of(first, request)?, branch_of(second, request)?]);
        }
    }
    Ok(pairs)
}

/// Whether two indexes can be intersected: each bounds something that the other does not, and the
/// entries of both come in the order of the primary key.
fn is_crossing(one: &Candidate<'_, '_>, two: &Candidate<'_, '_>, table: &Table) -> bool {
    let is_fit = |side: &Candidate<'_, '_>| {
        side.key != KeyRef::Primary
            && side.forbidden.is_none()
            && !side.has_computed_parts()
            && side.has_bounds()
            && side.is_in_key_order(table)
    };
    let adds = |one: &Candidate<'_, '_>, two: &Candidate<'_, '_>| {
        let mut columns = one.bound_columns();
        columns.any(|idx| two.bound_columns().all(|other| other != idx))
    };
    is_fit(one) && is_fit(two) && adds(one, two) && adds(two, one)
}

/// The intersection of two indexes.
///
/// # Errors
/// A value that does not fit its key part: an internal error.
pub(super) fn crossed<'e>(
    request: &Request<'_>,
    (all, conjuncts): (&Candidates<'_, 'e>, &'e [Expr]),
    keys: [KeyRef; 2],
) -> Result<Option<Merged<'e>>> {
    let find = |key: KeyRef| all.indexes.iter().find(|one| one.key == key);
    let [Some(one), Some(two)] = keys.map(find) else {
        return Ok(None);
    };
    if !is_crossing(one, two, request.table) {
        return Ok(None);
    }
    // What either of them expresses holds for the rows of both.
    let stays = |side: &Candidate<'_, 'e>, conjunct: &Expr| {
        let mut residual = side.derived.residual.iter();
        residual.any(|left| std::ptr::eq(*left, conjunct))
    };
    let residual = conjuncts.iter();
    let residual = residual.filter(|conjunct| stays(one, conjunct) && stays(two, conjunct));
    let primary = &all.primary.derived;
    Ok(Some(Merged {
        merge: Merge {
            kind: MergeKind::Intersection,
            branches: vec![branch_of(one, request)?, branch_of(two, request)?],
        },
        residual: residual.collect(),
        order: order::of(request, KeyParts::primary(request.table), &primary.fixed),
    }))
}

/// Whether some key bounds a side of an OR that stands alone.
pub(super) fn has_key(request: &Request<'_>, derived: &Derived<'_>, branch: &Branch) -> bool {
    let alone: Conditions<'_> = vec![Alternatives {
        branches: vec![branch.clone()],
        blocked: Vec::new(),
    }]
    .into();
    let conjuncts = derived.conjuncts.get(..1).unwrap_or_default();
    let side = Candidates::with(request, (conjuncts, &alone));
    side.is_none_or(|side| is_key(side.best(request)))
}

fn is_key(best: &Candidate<'_, '_>) -> bool {
    best.is_bounded() && best.forbidden.is_none()
}

/// What is read of a candidate, as one of several scans.
fn branch_of(candidate: &Candidate<'_, '_>, request: &Request<'_>) -> Result<MergeBranch> {
    let access = candidates::access(candidate, request)?;
    let (entries, spans) = match access {
        Access::Index(index) => (index.entries, index.spans),
        // Keys of the table are scanned: what is not there is passed over.
        Access::PointGet(_)
        | Access::MultiGet(_)
        | Access::PrefixScan(_)
        | Access::Nothing
        | Access::Count(_)
        | Access::Ends(_)
        | Access::Merge(_)
        | Access::FullScan => {
            let ranges = candidates::bounded_ranges(candidate, request.table)?;
            (Entries::Ranges(ranges), candidate.spans().to_vec())
        }
    };
    let in_key_order = match (&entries, candidate.key) {
        (_, KeyRef::Primary) => true,
        (Entries::Keys(keys), KeyRef::Index(_)) => keys.len() == 1,
        (Entries::Ranges(_), KeyRef::Index(_)) => candidate.is_in_key_order(request.table),
    };
    Ok(MergeBranch {
        key: candidate.key,
        entries,
        spans,
        in_key_order,
    })
}

/// What is said about each path.
pub(super) fn verdicts(
    request: &Request<'_>,
    (all, merge): (&Candidates<'_, '_>, &Merge),
    (choice, fewer): (&Choice<'_, '_, '_>, Option<u64>),
) -> Vec<Verdict> {
    paths::instead_of_scan(request, all, |candidate| {
        let is_taken = merge.branches.iter().any(|one| one.key == candidate.key);
        let reason = if is_taken {
            match merge.kind {
                MergeKind::Union => Reason::United,
                MergeKind::Intersection => Reason::Crossed,
            }
        } else {
            let unfit = paths::unfit(request, candidate);
            unfit.unwrap_or_else(|| match fewer {
                Some(rows) => choice.worse_than(candidate, (merge.kind, rows)),
                None => Reason::NotNeeded,
            })
        };
        (is_taken, reason)
    })
}
