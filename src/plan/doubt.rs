//! Where the rules cannot tell which of several keys reads the fewest rows, somebody counts.
//!
//! ```text
//!   (a) and (a, b), both bounded    no doubt: the longer one reads some of the shorter one's rows
//!   (a) and (b), both bounded       doubt: it depends on the values
//!   (a, b) and a covering (a)       doubt: fewer entries, but each has its row looked up
//!   (a) and an OR over (b) and (c)  doubt: the union may find fewer rows
//!   (a) and (b), many rows of both  doubt: few rows may have both
//!   a full key against anything     no doubt
//! ```
//! Nothing is read here. A plan in doubt says which ranges to count ([`Doubt`]), and the statement is
//! planned again with what was counted ([`Estimates::Given`]). Until then the rules decide.

use super::access::{MergeBranch, MergeKind, Request};
use super::candidates::{self, Candidate, Candidates};
use super::merge::{self, Merged};
use super::skip::{self, Distinct};
use super::verdict::{Advantage, Reason};
use crate::error::Result;
use crate::kv::KeyRange;
use crate::sql::bound::KeyRef;

/// What looking up a row costs, in entries that are read one after the other.
const LOOKUP_ENTRIES: u64 = 3;

/// What is known about the number of rows.
#[derive(Debug, Clone, Copy)]
pub enum Estimates<'a> {
    /// Nothing, and nobody counts.
    Unknown,
    /// Nothing yet; a plan may ask.
    Offered,
    /// What was counted.
    Given(&'a Counted),
}

/// What was counted.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// The rows of rivals. Those that are missing have more rows than those that are there.
    pub rows: Vec<Estimate>,
    /// About how many rows the union finds, counted as often as they are found.
    pub union_rows: Option<u64>,
    /// Two indexes that were looked at side by side.
    pub crossing: Option<Crossing>,
    /// The few values of the first column of a key, in the view that is read.
    pub distinct: Option<Distinct>,
}

/// Two indexes, and how many rows both find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// The indexes.
    pub keys: [KeyRef; 2],
    /// About how many rows are found by both.
    pub rows: u64,
}

/// About how many rows, or entries, are in the spans of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// The key.
    pub key: KeyRef,
    /// About how many.
    pub rows: u64,
}

/// The keys between which the rules cannot decide.
#[derive(Debug, Clone)]
pub struct Doubt {
    /// Of what to count the rows, the rules' favourite first.
    pub rivals: Vec<Rival>,
    /// The scans of a union that could be better than each of the rivals; or none.
    pub union: Vec<MergeBranch>,
    /// Rivals of which two could be better together than the best one alone.
    pub pairs: Vec<[MergeBranch; 2]>,
    /// Of what to find the values of the first column, if they are few: one will do.
    pub skips: Vec<KeyRef>,
}

/// A key, and what would be read of it.
#[derive(Debug, Clone)]
pub struct Rival {
    /// The key.
    pub key: KeyRef,
    /// The encoded ranges.
    pub ranges: Vec<KeyRange>,
}

impl<'a> Estimates<'a> {
    /// The values of the first column of a key, when they were found to be few.
    pub(super) fn distinct(self) -> Option<&'a Distinct> {
        match self {
            Estimates::Unknown | Estimates::Offered => None,
            Estimates::Given(counted) => counted.distinct.as_ref(),
        }
    }
}

/// The candidate that is taken, and how it was chosen.
pub(super) struct Choice<'c, 'a, 'e> {
    /// The one that is taken.
    pub(super) best: &'c Candidate<'a, 'e>,
    /// The one that the rules alone would take.
    ruled: &'c Candidate<'a, 'e>,
    /// Those between which the rules cannot decide, the rules' favourite first; or none.
    rivals: Vec<&'c Candidate<'a, 'e>>,
    /// What was counted.
    estimates: &'c [Estimate],
}

impl<'c, 'a, 'e> Choice<'c, 'a, 'e> {
    /// Chooses by rule, and by what was counted.
    pub(super) fn of(request: &Request<'c>, all: &'c Candidates<'a, 'e>) -> Choice<'c, 'a, 'e> {
        let ruled = all.best(request);
        let mut choice = Choice {
            best: ruled,
            ruled,
            rivals: Vec::new(),
            estimates: &[],
        };
        match request.estimates {
            Estimates::Unknown => return choice,
            Estimates::Offered => {}
            Estimates::Given(counted) => choice.estimates = &counted.rows,
        }
        choice.rivals = rivals(request, all, ruled);
        let costs = choice.rivals.iter().filter_map(|rival| {
            let rows = choice.rows_of(rival)?;
            Some((cost(request, rival, rows), *rival))
        });
        // The first of equals is taken.
        if let Some((_, cheapest)) = costs.min_by_key(|(cost, _)| *cost) {
            choice.best = cheapest;
        }
        choice
    }

    /// What should be counted before this choice is trusted; `unbounded` are the candidates when
    /// none bounds the rows.
    ///
    /// # Errors
    /// A value that does not fit its key part: an internal error.
    pub(super) fn doubt(
        &self,
        request: &Request<'_>,
        (unbounded, union): (Option<&Candidates<'_, '_>>, Option<&Merged<'_>>),
    ) -> Result<Option<Doubt>> {
        if !matches!(request.estimates, Estimates::Offered) {
            return Ok(None);
        }
        let skips = unbounded.filter(|_| request.policy.skip_scan);
        let skips = skips.map_or(Vec::new(), |all| skip::keys(request, all));
        let union = union.map_or(Vec::new(), |union| union.merge.branches.clone());
        let mut rivals = self.rivals.clone();
        if !union.is_empty() && rivals.is_empty() {
            rivals.push(self.ruled);
        }
        if rivals.is_empty() && skips.is_empty() {
            return Ok(None);
        }
        let pairs = merge::pairs(request, &self.rivals)?;
        let rivals = rivals.iter().map(|rival| {
            Ok(Rival {
                key: rival.key,
                ranges: candidates::bounded_ranges(rival, request.table)?,
            })
        });
        let rivals = rivals.collect::<Result<_>>()?;
        Ok(Some(Doubt {
            rivals,
            union,
            pairs,
            skips,
        }))
    }

    /// Whether a union may be better than the best candidate: one side of an OR is filtered.
    pub(super) fn may_unite(&self, request: &Request<'_>) -> bool {
        let is_asked = match request.estimates {
            Estimates::Unknown => false,
            Estimates::Offered => true,
            Estimates::Given(counted) => counted.union_rows.is_some(),
        };
        let best = self.best;
        let has_index = !request.table.indexes.is_empty();
        if !is_asked || !has_index || !is_open(best) || ends_early(request, best) {
            return false;
        }
        let derived = &best.derived;
        let pairs = derived.conjuncts.iter().zip(derived.conditions.iter());
        let mut alternatives = pairs.filter(|(_, condition)| 1 < condition.branches.len());
        alternatives.any(|(conjunct, _)| {
            let mut residual = derived.residual.iter();
            residual.any(|left| std::ptr::eq(*left, conjunct))
        })
    }

    /// How many rows a union finds, when that is cheaper than the best candidate.
    pub(super) fn cheaper_union(&self, request: &Request<'_>) -> Option<u64> {
        let Estimates::Given(counted) = request.estimates else {
            return None;
        };
        let rows = counted.union_rows?;
        let best = cost(request, self.best, self.rows_of(self.best)?);
        (rows.saturating_mul(1 + LOOKUP_ENTRIES) < best).then_some(rows)
    }

    /// Two indexes that are cheaper to read together than the best candidate alone.
    pub(super) fn cheaper_crossing(&self, request: &Request<'_>) -> Option<Crossing> {
        let Estimates::Given(counted) = request.estimates else {
            return None;
        };
        let crossing = counted.crossing?;
        let [one, two] = crossing.keys.map(|key| self.rows_by(key));
        let entries = one?.saturating_add(two?);
        let cost_of_both = entries.saturating_add(crossing.rows.saturating_mul(LOOKUP_ENTRIES));
        let best = cost(request, self.best, self.rows_of(self.best)?);
        (cost_of_both < best).then_some(crossing)
    }

    /// Why a candidate is not read when a union or intersection of so many rows is.
    pub(super) fn worse_than(
        &self,
        other: &Candidate<'_, '_>,
        (kind, rows): (MergeKind, u64),
    ) -> Reason {
        let than = match kind {
            MergeKind::Union => "the union",
            MergeKind::Intersection => "the intersection",
        };
        Reason::Worse {
            than: than.to_owned(),
            because: Advantage::Rows {
                rows,
                against: self.rows_of(other),
                is_looked_up: false,
            },
        }
    }

    /// Which candidate is better than one that was not taken, and what it has.
    pub(super) fn better_than(&self, other: &Candidate<'_, '_>) -> (KeyRef, Advantage) {
        let best = self.best;
        let is_rival = self.rivals.iter().any(|rival| rival.key == other.key);
        let Some(rows) = self.rows_of(best).filter(|_| is_rival) else {
            return (self.ruled.key, self.ruled.advantage(other));
        };
        let against = self.rows_of(other);
        let is_looked_up = best.covering && !other.covering;
        let advantage = match against {
            Some(against) if rows == against && is_looked_up => Advantage::Covering,
            Some(against) if rows == against => best.advantage(other),
            Some(_) | None => Advantage::Rows {
                rows,
                against,
                is_looked_up,
            },
        };
        (best.key, advantage)
    }

    fn rows_of(&self, candidate: &Candidate<'_, '_>) -> Option<u64> {
        self.rows_by(candidate.key)
    }

    fn rows_by(&self, key: KeyRef) -> Option<u64> {
        let mut estimates = self.estimates.iter();
        let found = estimates.find(|estimate| estimate.key == key);
        found.map(|estimate| estimate.rows)
    }
}

/// The candidates that may read fewer rows than the one that the rules take; it comes first. None
/// when there is no doubt.
fn rivals<'c, 'a, 'e>(
    request: &Request<'_>,
    all: &'c Candidates<'a, 'e>,
    ruled: &'c Candidate<'a, 'e>,
) -> Vec<&'c Candidate<'a, 'e>> {
    if all.indexes.is_empty() || !is_open(ruled) || ends_early(request, ruled) {
        return Vec::new();
    }
    let bound = ruled.bound_columns();
    let mut rivals: Vec<_> = all.each().collect();
    rivals.retain(|one| {
        let mut columns = one.bound_columns();
        let is_narrower = columns.any(|idx| !bound.clone().any(|own| own == idx));
        // Computed parts of two indexes are not the same for having the same place.
        let is_other = one.has_computed_parts() || ruled.has_computed_parts();
        let is_cheaper = one.covering && !ruled.covering;
        is_open(one) && one.key != ruled.key && (is_narrower || is_other || is_cheaper)
    });
    if rivals.is_empty() {
        return rivals;
    }
    rivals.push(ruled);
    // Of equals, the one that the rules prefer.
    rivals.sort_by(|a, b| b.compare(a));
    rivals
}

/// Whether a candidate may be read, and how many rows it has is not known.
fn is_open(one: &Candidate<'_, '_>) -> bool {
    one.forbidden.is_none() && one.is_bounded() && !one.has_full_keys()
}

/// Whether LIMIT ends the reading of a candidate.
fn ends_early(request: &Request<'_>, one: &Candidate<'_, '_>) -> bool {
    request.limit.is_some() && one.derived.is_tight() && one.is_ordered_for(request)
}

/// What reading so many rows by a candidate costs, in entries.
fn cost(request: &Request<'_>, candidate: &Candidate<'_, '_>, rows: u64) -> u64 {
    let wanted = request.limit.filter(|_| ends_early(request, candidate));
    let rows = rows.min(wanted.map_or(u64::MAX, |limit| limit.saturating_add(request.offset)));
    if candidate.covering {
        rows
    } else {
        rows.saturating_mul(1 + LOOKUP_ENTRIES)
    }
}
