//! The order of a join: which unit is read first, and which next.
//!
//! Each unit is tried as the first; after it comes, again and again, the one that costs least next to
//! the rows so far. A table that may not be read as a whole is only ever looked up. Costs are rows
//! read: guesses from counts that somebody has made.

use super::lookup::Trial;
use super::refs::Sources;
use super::units::{Conjunct, Pool, Unit, UnitRows};
use super::{JoinPlan, Method, Setting, Step, table_plan};
use crate::error::{Error, Result};
use crate::plan::TablePlan;
use crate::plan::derive::shape;
use crate::sql::expr::{CompareOp, Expr, ExprKind};
use crate::sql::members::Class;

/// Units that are all tried as the first; of more, the one with the fewest rows is.
const FIRSTS_MAX: usize = 6;

/// What a lookup costs beside a row that is read in passing.
const LOOKUP_ROWS: u64 = 4;

/// What a row that is kept in memory costs beside a row that is read in passing: the smaller side is
/// kept.
const KEPT_ROWS: u64 = 3;

/// Rows that a lateral query is thought to have for each row.
const LATERAL_ROWS: u64 = 4;

/// What is known about a unit.
#[derive(Debug)]
pub struct Facts {
    /// About how many rows it has after the conditions on it alone.
    pub rows: u64,
    /// The plan for reading it by the conditions on it alone; `None` when that is refused, or when
    /// it is no table.
    pub alone: Option<TablePlan>,
    /// Whether it may be read as a whole.
    pub is_permitted: bool,
}

/// Puts the units of a join in order. `facts` is as long as the units of the pool.
///
/// # Errors
/// The refusal of a table that would have to be read as a whole.
pub fn order(pool: &Pool, facts: &[Facts], setting: &Setting<'_>) -> Result<JoinPlan> {
    let can_begin = |idx: &usize| {
        let unit = pool.units.get(*idx);
        let is_permitted = facts.get(*idx).is_some_and(|facts| facts.is_permitted);
        is_permitted && unit.is_some_and(|unit| unit.on.is_none() && unit.after.is_empty())
    };
    let rows_of = |idx: usize| facts.get(idx).map_or(u64::MAX, |facts| facts.rows);
    let mut firsts: Vec<usize> = (0..pool.units.len()).filter(can_begin).collect();
    if setting.joined.keeps_order {
        firsts.retain(|idx| *idx == 0);
    } else if FIRSTS_MAX < pool.units.len() {
        firsts.sort_by_key(|idx| rows_of(*idx));
        firsts.truncate(1);
    }
    let mut best: Option<Line<'_, '_>> = None;
    let mut refusal = None;
    for first in firsts {
        match Line::from(first, (pool, facts, setting)) {
            Ok(line) if best.as_ref().is_none_or(|best| line.cost < best.cost) => {
                best = Some(line);
            }
            Ok(_) => {}
            Err(error) => refusal = Some(error),
        }
    }
    match (best, refusal) {
        (Some(line), _) => Ok(line.into_plan()),
        (None, Some(error)) => Err(error),
        (None, None) => Err(no_first(pool, setting)),
    }
}

/// Why no unit can be the first: the refusal of the first table.
fn no_first(pool: &Pool, setting: &Setting<'_>) -> Error {
    for unit in &pool.units {
        if let (UnitRows::Source(source), None) = (&unit.rows, &unit.on) {
            let local = first_filter(pool, unit);
            let planned = table_plan(setting, *source, (local.as_ref(), setting.ctx), false);
            if let Err(error) = planned {
                return error;
            }
        }
    }
    Error::internal("a join that cannot begin")
}

/// The conditions that a unit is asked about with. One that is alone is read with those that read nothing,
/// too, and is asked as it is read.
pub fn first_filter(pool: &Pool, unit: &Unit) -> Option<Expr> {
    let conjuncts = unit.on.as_ref().unwrap_or(&pool.conjuncts).iter();
    if 1 < pool.units.len() {
        return local_filter(conjuncts, unit.sources);
    }
    let here = conjuncts.filter(|one| one.sources.are_in(unit.sources));
    shape::all_of(here.map(|one| one.expr.clone()).collect())
}

/// The conditions that read these sources alone.
pub fn local_filter<'c>(
    conjuncts: impl Iterator<Item = &'c Conjunct>,
    sources: Sources,
) -> Option<Expr> {
    let local = conjuncts.filter(|one| one.sources.are_in(sources) && !one.sources.is_empty());
    shape::all_of(local.map(|one| one.expr.clone()).collect())
}

/// A row of units, begun with one of them.
struct Line<'p, 's> {
    pool: &'p Pool,
    facts: &'p [Facts],
    setting: &'p Setting<'s>,
    steps: Vec<Step>,
    placed: Sources,
    units_placed: Vec<bool>,
    conjuncts_placed: Vec<bool>,
    rows: u64,
    cost: u64,
    ordered: bool,
}

/// A unit that may come next.
struct Next {
    unit_idx: usize,
    method: Method,
    conditions: Vec<Expr>,
    rows: u64,
    cost: u64,
}

impl<'p, 's> Line<'p, 's> {
    fn from(
        first: usize,
        (pool, facts, setting): (&'p Pool, &'p [Facts], &'p Setting<'s>),
    ) -> Result<Line<'p, 's>> {
        let mut line = Line {
            pool,
            facts,
            setting,
            steps: Vec::new(),
            placed: Sources::default(),
            units_placed: vec![false; pool.units.len()],
            conjuncts_placed: vec![false; pool.conjuncts.len()],
            rows: 1,
            cost: 0,
            ordered: false,
        };
        line.begin(first)?;
        while line.steps.len() < pool.units.len() {
            let next = line.cheapest()?;
            line.place(next);
        }
        Ok(line)
    }

    fn into_plan(self) -> JoinPlan {
        JoinPlan {
            steps: self.steps,
            late: shape::all_of(self.pool.late.clone()),
            ordered: self.ordered,
        }
    }

    fn begin(&mut self, first: usize) -> Result<()> {
        let (Some(unit), Some(facts)) = (self.pool.units.get(first), self.facts.get(first)) else {
            return Err(Error::internal("a unit that is not there"));
        };
        // Conditions that read nothing are checked at once.
        let here: Vec<usize> = self.conjuncts_within(unit.sources);
        let filter = self.take(&here);
        self.ordered = facts.alone.as_ref().is_some_and(|plan| plan.ordered)
            && !self.setting.wanted.order_by.is_empty()
            && self.pool.units.len() == 1
            && self.pool.late.is_empty();
        self.place(Next {
            unit_idx: first,
            method: Method::Scan { filter },
            conditions: Vec::new(),
            rows: facts.rows,
            // Counted with the rows that it gives.
            cost: 0,
        });
        Ok(())
    }

    /// The positions of conditions not placed yet that read nothing but these sources.
    fn conjuncts_within(&self, sources: Sources) -> Vec<usize> {
        let open = self.pool.conjuncts.iter().zip(&self.conjuncts_placed);
        let open = open.enumerate().filter(|(_, (_, is_placed))| !**is_placed);
        let within = open.filter(|(_, (one, _))| one.sources.are_in(sources));
        within.map(|(idx, _)| idx).collect()
    }

    /// Places these conditions; as one.
    fn take(&mut self, conjuncts: &[usize]) -> Option<Expr> {
        let mut exprs = Vec::with_capacity(conjuncts.len());
        for idx in conjuncts {
            if let Some(placed) = self.conjuncts_placed.get_mut(*idx) {
                *placed = true;
            }
            let conjunct = self.pool.conjuncts.get(*idx);
            exprs.extend(conjunct.map(|one| one.expr.clone()));
        }
        shape::all_of(exprs)
    }

    fn cheapest(&self) -> Result<Next> {
        let mut best: Option<Next> = None;
        let mut refusal = None;
        for (unit_idx, unit) in self.pool.units.iter().enumerate() {
            let is_placed = self.units_placed.get(unit_idx).is_none_or(|placed| *placed);
            if is_placed || !unit.after.are_in(self.placed) {
                continue;
            }
            match self.next(unit_idx, unit) {
                Ok(next) => {
                    let worth = |next: &Next| (next.rows.saturating_add(next.cost), next.unit_idx);
                    if best.as_ref().is_none_or(|best| worth(&next) < worth(best)) {
                        best = Some(next);
                    }
                    if self.setting.joined.keeps_order {
                        break;
                    }
                }
                Err(error) if self.setting.joined.keeps_order => return Err(error),
                Err(error) => {
                    refusal.get_or_insert(error);
                }
            }
        }
        match (best, refusal) {
            (Some(next), _) => Ok(next),
            (None, Some(error)) => Err(error),
            (None, None) => Err(Error::internal("a join with nothing to join next")),
        }
    }

    /// How a unit would be joined next.
    fn next(&self, unit_idx: usize, unit: &Unit) -> Result<Next> {
        let Some(facts) = self.facts.get(unit_idx) else {
            return Err(Error::internal("a unit nothing is known about"));
        };
        let conjuncts: Vec<&Conjunct> = if let Some(on) = &unit.on {
            on.iter().collect()
        } else {
            let seen = self.placed.and(unit.sources);
            let open = self.conjuncts_within(seen).into_iter();
            open.filter_map(|idx| self.pool.conjuncts.get(idx))
                .collect()
        };
        if self.is_lateral(unit) {
            return Ok(self.run_for_each(unit_idx, &conjuncts));
        }
        let hashed = facts
            .is_permitted
            .then(|| self.hashed(unit_idx, (unit, facts), &conjuncts));
        let UnitRows::Source(source) = unit.rows else {
            return hashed.ok_or_else(|| Error::internal("a join that may not be read"));
        };
        if super::table_of(self.setting.joined, source).is_none() {
            return hashed.ok_or_else(|| Error::internal("a query that may not be read"));
        }
        let trial = Trial::of(self.setting, source, (&conjuncts, self.placed));
        match (trial, hashed) {
            (Ok(trial), hashed) if trial.helps(facts.alone.as_ref()) => {
                let found = self.looked_up(unit_idx, (unit, facts), (trial, &conjuncts));
                match hashed {
                    Some(hashed) if hashed.cost < found.cost => Ok(hashed),
                    Some(_) | None => Ok(found),
                }
            }
            (_, Some(hashed)) => Ok(hashed),
            (Ok(trial), None) => {
                // Permitted with the rows so far, and not alone: read again for each of them.
                Ok(self.looked_up(unit_idx, (unit, facts), (trial, &conjuncts)))
            }
            (Err(error), None) => Err(error),
        }
    }

    fn is_lateral(&self, unit: &Unit) -> bool {
        let UnitRows::Source(source) = unit.rows else {
            return false;
        };
        let source = self.setting.joined.sources.get(source);
        source.is_some_and(|source| !source.captures.is_empty())
    }

    fn run_for_each(&self, unit_idx: usize, conjuncts: &[&Conjunct]) -> Next {
        let rows = self.rows.saturating_mul(LATERAL_ROWS);
        Next {
            unit_idx,
            method: Method::Each,
            conditions: conjuncts.iter().map(|one| one.expr.clone()).collect(),
            rows,
            cost: self.rows.saturating_mul(LOOKUP_ROWS).saturating_add(rows),
        }
    }

    fn looked_up(
        &self,
        unit_idx: usize,
        (unit, facts): (&Unit, &Facts),
        (trial, conjuncts): (Trial, &[&Conjunct]),
    ) -> Next {
        let found = if trial.plan.access.is_one_row() {
            1
        } else {
            facts.rows.isqrt().max(1)
        };
        let rows = self.rows.saturating_mul(found);
        // What reads nothing of the unit is no matter of finding its rows.
        let rest = conjuncts
            .iter()
            .filter(|one| !one.sources.meet(unit.sources));
        Next {
            unit_idx,
            method: Method::Lookup(trial.lookup),
            conditions: rest.map(|one| one.expr.clone()).collect(),
            rows,
            cost: self.rows.saturating_mul(LOOKUP_ROWS).saturating_add(rows),
        }
    }

    fn hashed(
        &self,
        unit_idx: usize,
        (unit, facts): (&Unit, &Facts),
        conjuncts: &[&Conjunct],
    ) -> Next {
        let filter = local_filter(conjuncts.iter().copied(), unit.sources);
        let mut keys = Vec::new();
        let mut conditions = Vec::new();
        for conjunct in conjuncts {
            let is_local = conjunct.sources.are_in(unit.sources) && !conjunct.sources.is_empty();
            if is_local {
                continue;
            }
            keys.extend(self.key_pair(&conjunct.expr, unit.sources));
            conditions.push(conjunct.expr.clone());
        }
        let all = self.rows.saturating_mul(facts.rows.max(1));
        let rows = if keys.is_empty() {
            all
        } else {
            all / self.rows.max(facts.rows).max(1)
        };
        let kept = facts.rows.saturating_mul(KEPT_ROWS);
        let cost = kept.saturating_add(if keys.is_empty() { all } else { self.rows });
        Next {
            unit_idx,
            method: Method::Hash { filter, keys },
            conditions,
            rows: rows.max(1),
            cost,
        }
    }

    /// The two sides of an equation between the rows so far and the unit, where equals have equal
    /// hashes.
    fn key_pair(&self, expr: &Expr, unit: Sources) -> Option<(Expr, Expr)> {
        let ExprKind::Compare(CompareOp::Equal, a, b) = &expr.kind else {
            return None;
        };
        if Class::of_type(&a.ty)? != Class::of_type(&b.ty)? {
            return None;
        }
        let joined = self.setting.joined;
        let (of_a, of_b) = (Sources::of(a, joined), Sources::of(b, joined));
        let is_between = |far: Sources, near: Sources| {
            far.are_in(self.placed) && near.are_in(unit) && !near.is_empty()
        };
        if is_between(of_a, of_b) {
            return Some((a.as_ref().clone(), b.as_ref().clone()));
        }
        is_between(of_b, of_a).then(|| (b.as_ref().clone(), a.as_ref().clone()))
    }

    fn place(&mut self, next: Next) {
        let Some(unit) = self.pool.units.get(next.unit_idx) else {
            return;
        };
        if let Some(placed) = self.units_placed.get_mut(next.unit_idx) {
            *placed = true;
        }
        self.placed = self.placed.and(unit.sources);
        let here = self.conjuncts_within(self.placed);
        let rest = self.take(&here);
        // Of an inner join the method and its conditions see to all of them.
        let filter = rest.filter(|_| unit.on.is_some());
        self.rows = next.rows;
        self.cost = self
            .cost
            .saturating_add(next.cost)
            .saturating_add(next.rows);
        self.steps.push(Step {
            unit: unit.rows.clone(),
            method: next.method,
            is_outer: unit.on.is_some(),
            conditions: shape::all_of(next.conditions),
            asked: shape::all_of(unit.asked.clone()),
            filter,
            rows_estimate: next.rows,
        });
    }
}
