//! The plan of a join, for EXPLAIN: its steps in order, or its tables when no order is permitted.

use super::{Mode, Walk, is_refusal};
use crate::error::Result;
use crate::exec::join::{Kind, Planned, Shape, plan_pool, planned};
use crate::exec::meter::Part;
use crate::exec::nest::Nest;
use crate::exec::probe;
use crate::exec::query::Program;
use crate::exec::rows::BoxFuture;
use crate::plan::derive::shape::all_of;
use crate::plan::explain::whole::{
    JoinShown, JoinStepShown, MethodShown, RowsShown, TableShown, UnitShown,
};
use crate::plan::join::{
    self, Conjunct, JoinPlan, Lookup, Method, Pool, Setting, Step, UnitRows, Wanted,
};
use crate::plan::refusal::Refusal;
use crate::plan::stand_in::{self, Choice, StandIns, Surroundings};
use crate::plan::text::{self, Names};
use crate::sql::bound::Capture;
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;

/// Where a join stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'p, 'w> {
    pub(super) shape: &'p Shape,
    pub(super) nest: &'w Nest,
    pub(super) ctx: &'w EvalContext,
    pub(super) mode: Mode,
}

/// The plan of what a block reads.
pub(super) struct Joined<'p> {
    pub(super) rows: RowsShown<'p>,
    pub(super) late: Option<Expr>,
    pub(super) ordered: bool,
}

impl<'p, 'w> Place<'p, 'w> {
    fn setting(&self, wanted: Wanted<'w>) -> Setting<'w>
    where
        'p: 'w,
    {
        Setting {
            joined: &self.shape.joined,
            used_columns: &self.shape.used_columns,
            ctx: self.ctx,
            policy: &self.nest.policy,
            wanted,
        }
    }
}

impl Walk {
    /// The plan of the join of a block.
    pub(super) async fn joined<'p>(
        &self,
        place: Place<'p, '_>,
        (filter, wanted): (Option<&Expr>, Wanted<'_>),
    ) -> Result<Joined<'p>> {
        let with = (place.nest, place.ctx);
        match planned(place.shape, (filter, wanted), with).await {
            Ok(Planned { plan, .. }) => {
                let (late, ordered) = (plan.late.clone(), plan.ordered);
                let shown = self.steps(place, plan, wanted).await?;
                Ok(Joined {
                    rows: RowsShown::Join(shown),
                    late,
                    ordered,
                })
            }
            Err(error) if is_refusal(&error) => {
                self.note(Some(error));
                let pool = join::pool(&place.shape.joined, filter, place.ctx)?;
                let late = all_of(pool.late.clone());
                Ok(Joined {
                    rows: RowsShown::Join(self.impossible(place, &pool).await?),
                    late,
                    ordered: false,
                })
            }
            Err(error) => Err(error),
        }
    }

    fn steps<'w, 'p: 'w>(
        &'w self,
        place: Place<'p, 'w>,
        plan: JoinPlan,
        wanted: Wanted<'w>,
    ) -> BoxFuture<'w, Result<JoinShown<'p>>> {
        Box::pin(async move {
            let mut steps = Vec::with_capacity(plan.steps.len());
            let mut rows_before = 1;
            for step in plan.steps {
                let rows_estimate = step.rows_estimate;
                steps.push(self.step(place, step, (wanted, rows_before)).await?);
                rows_before = rows_estimate.max(1);
            }
            Ok(JoinShown {
                joined: &place.shape.joined,
                steps,
                is_possible: true,
                open: Vec::new(),
            })
        })
    }

    async fn step<'p>(
        &self,
        place: Place<'p, '_>,
        step: Step,
        (wanted, rows_before): (Wanted<'_>, u64),
    ) -> Result<JoinStepShown<'p>> {
        let took = self.took(place.shape, Part::Step(join::sources_of(&step.unit)));
        let (unit, method) = match step.method {
            Method::Scan { filter } => {
                let unit = self.unit(place, &step.unit, (filter, wanted)).await?;
                (unit, MethodShown::Scan)
            }
            Method::Hash { filter, keys } => {
                let read = (filter, Wanted::default());
                let unit = self.unit(place, &step.unit, read).await?;
                (unit, MethodShown::Hash(keys))
            }
            Method::Each => {
                let read = (None, Wanted::default());
                (self.unit(place, &step.unit, read).await?, MethodShown::Each)
            }
            Method::Lookup(lookup) => {
                let rows = (step.rows_estimate / rows_before).max(1);
                (
                    looked_up(place, &step.unit, (&lookup, rows))?,
                    MethodShown::Lookup,
                )
            }
        };
        let matches = step.conditions.into_iter().chain(step.asked);
        Ok(JoinStepShown {
            unit,
            method,
            is_outer: step.is_outer,
            conditions: all_of(matches.collect()),
            filter: step.filter,
            rows_estimate: step.rows_estimate,
            took,
        })
    }

    /// How a unit is read that is read once.
    async fn unit<'p>(
        &self,
        place: Place<'p, '_>,
        unit: &UnitRows,
        (filter, wanted): (Option<Expr>, Wanted<'_>),
    ) -> Result<UnitShown<'p>> {
        let source_idx = match unit {
            UnitRows::Join(pool) => {
                let with = (place.nest, place.ctx, &place.nest.policy);
                let read = (place.shape, Wanted::default());
                let inside = match plan_pool(pool, read, with).await {
                    Ok(plan) => self.steps(place, plan, Wanted::default()).await?,
                    Err(error) if is_refusal(&error) => {
                        self.note(Some(error));
                        self.impossible(place, pool).await?
                    }
                    Err(error) => return Err(error),
                };
                let late = pool.late.iter().cloned();
                let filter = all_of(filter.into_iter().chain(late).collect());
                return Ok(UnitShown::Join(inside, filter));
            }
            UnitRows::Source(source_idx) => *source_idx,
        };
        let source = place.shape.joined.sources.get(source_idx);
        let alias = source.map_or("", |source| source.alias.as_str());
        match place.shape.kinds.get(source_idx) {
            Some(Kind::Query(program)) => {
                let captures = source.map_or(&[][..], |source| &source.captures);
                let (within, mode) = match captures {
                    [] => (place.ctx.nested(), place.mode),
                    captures => (lateral(place, program, captures), Mode::Trial),
                };
                let env = place.nest.env(within, None);
                let query = self.query(program, (env, mode)).await?;
                Ok(UnitShown::Query(alias, query, filter))
            }
            Some(Kind::Listed(_)) => Ok(UnitShown::Listed(alias, filter)),
            Some(Kind::Round(_)) => Ok(UnitShown::Round(alias, filter)),
            Some(Kind::Table(..)) | None => {
                let table = self.table(place, source_idx, (filter.as_ref(), wanted));
                Ok(UnitShown::Table(Box::new(table.await?)))
            }
        }
    }

    async fn table<'p>(
        &self,
        place: Place<'p, '_>,
        source_idx: usize,
        (filter, wanted): (Option<&Expr>, Wanted<'_>),
    ) -> Result<TableShown<'p>> {
        let setting = place.setting(wanted);
        let plan = join::table_plan(&setting, source_idx, (filter, place.ctx), true)?;
        self.note(plan.refusal.as_ref().map(Refusal::error));
        let (source, table) = table_of(place, source_idx)?;
        let counted = (table, &plan, probe::TO_SHOW);
        let view = Some(place.nest.view.clone());
        let rows_estimate = probe::rows(&place.nest.engine, view, counted).await?;
        Ok(TableShown {
            table,
            alias: &source.alias,
            names: StandIns::of(filter, place.ctx),
            rows_estimate,
            plan,
        })
    }

    /// The units of a join that cannot be run in any order.
    fn impossible<'w, 'p: 'w>(
        &'w self,
        place: Place<'p, 'w>,
        pool: &'w Pool,
    ) -> BoxFuture<'w, Result<JoinShown<'p>>> {
        Box::pin(async move {
            let mut steps = Vec::with_capacity(pool.units.len());
            let mut open: Vec<Expr> = between(&pool.conjuncts, pool).collect();
            for unit in &pool.units {
                open.extend(between(unit.on.as_deref().unwrap_or_default(), pool));
                open.extend(unit.asked.iter().cloned());
                let conjuncts: &[Conjunct] = unit.on.as_ref().unwrap_or(&pool.conjuncts);
                let filter = join::local_filter(conjuncts.iter(), unit.sources);
                let shown = match &unit.rows {
                    UnitRows::Join(inside) => {
                        let late = all_of(inside.late.clone());
                        UnitShown::Join(self.impossible(place, inside).await?, late)
                    }
                    UnitRows::Source(_) => {
                        let read = (filter, Wanted::default());
                        self.unit(place, &unit.rows, read).await?
                    }
                };
                steps.push(JoinStepShown {
                    unit: shown,
                    method: MethodShown::Scan,
                    is_outer: unit.on.is_some(),
                    conditions: None,
                    filter: None,
                    rows_estimate: 0,
                    took: None,
                });
            }
            Ok(JoinShown {
                joined: &place.shape.joined,
                steps,
                is_possible: false,
                open,
            })
        })
    }
}

/// What a lateral query is tried out with.
fn lateral(place: Place<'_, '_>, program: &Program, captures: &[Capture]) -> EvalContext {
    let mut within = place.ctx.quiet();
    let filter = program.select().and_then(|select| select.filter.as_ref());
    let around = Surroundings::of(filter, place.ctx);
    for capture in captures {
        let name = capture_name(place, &capture.expr);
        let slot = (capture.slot, &capture.expr.ty, name.as_str());
        stand_in::fill(&mut within, slot, Choice::Distinct(&around));
    }
    within
}

/// What a lateral query reads of the rows before it.
fn capture_name(place: Place<'_, '_>, expr: &Expr) -> String {
    let column = |idx| join::column_name(&place.shape.joined, idx);
    let names = Names {
        column: &column,
        zone: &place.ctx.zone,
    };
    text::expression(expr, names)
}

/// The conditions that read more than one unit.
fn between<'c>(conjuncts: &'c [Conjunct], pool: &'c Pool) -> impl Iterator<Item = Expr> + 'c {
    let is_local = |one: &Conjunct| {
        let mut units = pool.units.iter();
        units.any(|unit| one.sources.are_in(unit.sources))
    };
    let open = conjuncts.iter().filter(move |one| !is_local(one));
    open.map(|one| one.expr.clone())
}

/// How a table is read for each of the rows so far.
fn looked_up<'p>(
    place: Place<'p, '_>,
    unit: &UnitRows,
    (lookup, rows): (&Lookup, u64),
) -> Result<UnitShown<'p>> {
    let UnitRows::Source(source_idx) = unit else {
        return Err(crate::error::Error::internal(
            "a lookup in what is no table",
        ));
    };
    let setting = place.setting(Wanted::default());
    let (plan, names) = join::shown_lookup(&setting, *source_idx, lookup)?;
    let (source, table) = table_of(place, *source_idx)?;
    Ok(UnitShown::Table(Box::new(TableShown {
        table,
        alias: &source.alias,
        plan,
        names,
        rows_estimate: Some(rows),
    })))
}

fn table_of<'p>(
    place: Place<'p, '_>,
    source_idx: usize,
) -> Result<(&'p crate::sql::bound::Source, &'p crate::catalog::Table)> {
    let found = join::table_of(&place.shape.joined, source_idx);
    found.ok_or_else(|| crate::error::Error::internal("a source that is no table"))
}
