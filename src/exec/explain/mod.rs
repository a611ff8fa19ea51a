//! The plan of a statement of several tables or queries, for EXPLAIN.
//!
//! The same walk as the statement: subqueries that read nothing of the row around them are answered,
//! so that the plan that is shown is the one that is run. Where one is refused, or stands in a query
//! that is run row by row, a value stands for its answer. With a meter the parts are shown with what
//! they took.

mod join;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::ask;
use super::meter::{Meter, Part};
use super::nest::Nest;
use super::probe;
use super::query::{Body, Program, SetProgram};
use super::rows::BoxFuture;
use super::select::{self, Env, RowLimits, row_limits};
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::plan::TablePlan;
use crate::plan::explain::whole::{
    BlockShown, QueryShown, RecursiveShown, RowsShown, SetShown, SubqueryShown, TableShown, Took,
};
use crate::plan::explain::{self, Step};
use crate::plan::refusal::Refusal;
use crate::plan::stand_in::{self, Choice, StandIns, Surroundings};
use crate::plan::text::{self, Names};
use crate::sql::bound::{Answer, From, Select, Stage, Subquery};
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::expr::Expr;
use crate::sql::members::Members;
use crate::types::Value;

/// What is common to all parts of a statement.
pub struct Walk {
    meter: Option<Arc<Meter>>,
    /// The first refusal that was met.
    refusal: parking_lot::Mutex<Option<Error>>,
}

/// Whether something is only tried out: values stand for what it reads of the rows around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Run,
    Trial,
}

/// The plan of a query, and why it is refused if it is. With the meter of a run, also what that took.
///
/// # Errors
/// Those of the subqueries that are run.
pub async fn shown(
    program: &Program,
    env: Env,
    meter: Option<Arc<Meter>>,
) -> Result<(QueryShown<'_>, Option<Error>)> {
    let walk = Walk {
        meter,
        refusal: parking_lot::Mutex::new(None),
    };
    let query = walk.query(program, (env, Mode::Run)).await?;
    Ok((query, walk.refusal.into_inner()))
}

impl Walk {
    fn query<'w, 'p: 'w>(
        &'w self,
        program: &'p Program,
        (env, mode): (Env, Mode),
    ) -> BoxFuture<'w, Result<QueryShown<'p>>> {
        Box::pin(async move {
            Ok(match &program.body {
                Body::Select(select) => {
                    QueryShown::Block(Box::new(self.block(select, (env, mode)).await?))
                }
                Body::Set(set) => QueryShown::Set(Box::new(self.set(set, (env, mode)).await?)),
                Body::Json(json) => QueryShown::Json(&json.query.table.path_text),
                Body::Recursive(recursive) => {
                    let (nest, ctx, _) = Nest::of(env);
                    let query = &recursive.query;
                    let limits = row_limits(query.limit.as_ref(), query.offset.as_ref(), &ctx)?;
                    let begin = (nest.env(ctx.nested(), None), mode);
                    let go_on = (nest.env(ctx, None), mode);
                    QueryShown::Recursive(Box::new(RecursiveShown {
                        first: self.query(&recursive.first, begin).await?,
                        next: self.query(&recursive.next, go_on).await?,
                        all: query.all,
                        limits: (limits.limit, limits.offset),
                    }))
                }
            })
        })
    }

    async fn set<'p>(
        &self,
        program: &'p SetProgram,
        (env, mode): (Env, Mode),
    ) -> Result<SetShown<'p>> {
        let (nest, ctx, _) = Nest::of(env);
        let query = &program.query;
        let limits = row_limits(query.limit.as_ref(), query.offset.as_ref(), &ctx)?;
        let left = (nest.env(ctx.nested(), None), mode);
        let right = (nest.env(ctx, None), mode);
        Ok(SetShown {
            operator: query.operator,
            all: query.all,
            sides: (
                self.query(&program.sides.0, left).await?,
                self.query(&program.sides.1, right).await?,
            ),
            columns: &query.columns,
            order_by: &query.order_by,
            limits: (limits.limit, limits.offset),
        })
    }

    async fn block<'p>(
        &self,
        program: &'p select::Program,
        (env, mode): (Env, Mode),
    ) -> Result<BlockShown<'p>> {
        let (nest, mut ctx, select_limit) = Nest::of(env);
        let program = turned(program, (&nest, &ctx, mode)).await?;
        let subqueries = self.subqueries(program, (&nest, &mut ctx, mode)).await?;
        let select = &program.select;
        let shown_limits = row_limits(select.limit.as_ref(), select.offset.as_ref(), &ctx)?;
        let limits = RowLimits {
            limit: shown_limits.limit.or(select_limit),
            ..shown_limits
        };
        let mut late = None;
        let (rows, order) = if let Some(shape) = program.shape() {
            let wanted = select::wanted(select, limits);
            let planned = (select.filter.as_ref(), wanted);
            let place = join::Place {
                shape,
                nest: &nest,
                ctx: &ctx,
                mode,
            };
            let joined = self.joined(place, planned).await?;
            late = joined.late;
            let of_rows = joined.ordered;
            let order = Order {
                of_rows,
                ..Order::default()
            };
            (joined.rows, order)
        } else if let Some(table) = select.table() {
            let env = nest.env(ctx.nested(), select_limit);
            let table = self.only_table((program, table), &nest, env).await?;
            let order = Order::of(&table.plan);
            (RowsShown::Table(Box::new(table)), order)
        } else {
            late.clone_from(&select.filter);
            (RowsShown::Nothing, Order::default())
        };
        let took = |part| self.took(program, part);
        Ok(BlockShown {
            rows,
            steps: steps(select, order, shown_limits),
            subqueries,
            took: took(Part::Query),
            took_late: took(Part::Late).filter(|_| late.is_some()),
            took_groups: took(Part::Groups),
            took_sort: took(Part::Sort).map(|sort| Took {
                rows_out: took(Part::Query).map_or(0, |all| all.rows_out),
                ..sort
            }),
            late,
        })
    }

    /// How the only table of a block is read.
    async fn only_table<'p>(
        &self,
        (program, table): (&'p select::Program, &'p Table),
        nest: &Nest,
        env: Env,
    ) -> Result<TableShown<'p>> {
        let select = &program.select;
        let plan = select::explain(program, table, &env).await?;
        let counted = (table, &plan, probe::TO_SHOW);
        let rows = probe::rows(&nest.engine, Some(nest.view.clone()), counted).await?;
        self.note(plan.refusal.as_ref().map(Refusal::error));
        Ok(TableShown {
            table,
            alias: &select.alias,
            plan,
            names: StandIns::of(select.filter.as_ref(), &env.ctx),
            rows_estimate: rows,
        })
    }

    /// The subqueries of a block; the slots of those that are run once are filled.
    async fn subqueries<'p>(
        &self,
        program: &'p select::Program,
        (nest, ctx, mode): (&Nest, &mut EvalContext, Mode),
    ) -> Result<Vec<SubqueryShown<'p>>> {
        let mut shown = Vec::new();
        for (at, (subquery, inner)) in program.subqueries().enumerate() {
            if subquery.captures.is_empty() {
                let env = nest.env(ctx.nested(), ask::rows_max(subquery.answer));
                let query = self.query(inner, (env, mode)).await?;
                let answer = match mode {
                    Mode::Run if !query.is_refused() => {
                        ask::answer((subquery, inner), nest, ctx.nested())
                            .await?
                            .value
                    }
                    Mode::Run | Mode::Trial => stand_in_answer(subquery),
                };
                ctx.fill(subquery.slot, answer);
                shown.push((at, self.subquery(subquery, (query, inner), Vec::new())));
            }
        }
        for (at, (subquery, inner)) in program.subqueries().enumerate() {
            if !subquery.captures.is_empty() {
                let (env, reads) = trial((program, subquery, inner), (nest, ctx));
                let query = self.query(inner, (env, Mode::Trial)).await?;
                shown.push((at, self.subquery(subquery, (query, inner), reads)));
            }
        }
        shown.sort_by_key(|(at, _)| *at);
        Ok(shown.into_iter().map(|(_, shown)| shown).collect())
    }

    fn subquery<'p>(
        &self,
        subquery: &'p Subquery,
        (query, inner): (QueryShown<'p>, &'p Program),
        reads: Vec<String>,
    ) -> SubqueryShown<'p> {
        SubqueryShown {
            name: &subquery.name,
            answer: subquery.answer,
            reads,
            took: self.took(inner, Part::Query),
            query,
        }
    }

    /// Remembers a refusal, if it is the first.
    fn note(&self, refusal: Option<Error>) {
        if let Some(refusal) = refusal {
            self.refusal.lock().get_or_insert(refusal);
        }
    }

    fn took<T>(&self, owner: &T, part: Part) -> Option<Took> {
        self.meter.as_ref().map(|meter| meter.took(owner, part))
    }
}

/// What a subquery that is run for each row is tried out with, and what it reads of the row.
fn trial(
    (program, subquery, inner): (&select::Program, &Subquery, &Program),
    (nest, ctx): (&Nest, &EvalContext),
) -> (Env, Vec<String>) {
    let mut within = ctx.quiet();
    let mut reads = Vec::new();
    let filter = inner.select().and_then(|select| select.filter.as_ref());
    let around = Surroundings::of(filter, ctx);
    for capture in &subquery.captures {
        let name = capture_name(&program.select, (subquery.stage, &capture.expr), ctx);
        let slot = (capture.slot, &capture.expr.ty, name.as_str());
        stand_in::fill(&mut within, slot, Choice::Distinct(&around));
        reads.push(name);
    }
    (nest.env(within, ask::rows_max(subquery.answer)), reads)
}

/// The same program with a subquery run for each row that was refused when it was to be run once.
///
/// # Errors
/// The refusal, where that cannot be done by keys either: then of this, since its advice is better.
/// Those of the engine.
pub async fn for_each_row<'p>(
    program: &'p select::Program,
    (position, refusal): (usize, Error),
    (nest, ctx): (&Nest, &EvalContext),
) -> Result<&'p Arc<select::Program>> {
    let Some(turned) = program.for_each_row(position, &refusal) else {
        return Err(refusal);
    };
    let Some((subquery, inner)) = turned.subqueries().nth(position) else {
        return Err(refusal);
    };
    let (env, _) = trial((turned, subquery, inner), (nest, ctx));
    match refusal_of(inner, (env, Mode::Trial)).await? {
        Some(refusal) => Err(refusal),
        None => Ok(turned),
    }
}

/// Why a query would be refused, if it would be.
async fn refusal_of(program: &Program, (env, mode): (Env, Mode)) -> Result<Option<Error>> {
    let walk = Walk {
        meter: None,
        refusal: parking_lot::Mutex::new(None),
    };
    walk.query(program, (env, mode)).await?;
    Ok(walk.refusal.into_inner())
}

/// The program that is run: with those subqueries run for each row that are refused otherwise.
async fn turned<'p>(
    mut program: &'p select::Program,
    (nest, ctx, mode): (&Nest, &EvalContext, Mode),
) -> Result<&'p select::Program> {
    for position in 0..program.subqueries().count() {
        let Some((subquery, inner)) = program.subqueries().nth(position) else {
            break;
        };
        if subquery.semi.is_none() {
            continue;
        }
        let env = nest.env(ctx.nested(), ask::rows_max(subquery.answer));
        let Some(refusal) = refusal_of(inner, (env, mode)).await? else {
            continue;
        };
        match for_each_row(program, (position, refusal), (nest, ctx)).await {
            Ok(turned) => program = turned,
            Err(error) if is_refusal(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(program)
}

/// What stands for the answer of a subquery that is not run.
fn stand_in_answer(subquery: &Subquery) -> SlotValue {
    let columns = subquery.query.columns();
    let name = Arc::clone(&subquery.name);
    match subquery.answer {
        Answer::Value => {
            let value = columns.first().map(|column| stand_in::any(&column.ty));
            SlotValue::StandIn(value.unwrap_or(Value::Null), name)
        }
        Answer::Exists => SlotValue::StandIn(Value::Int(1), name),
        Answer::Set => {
            let types: Vec<_> = columns.iter().map(|column| column.ty.clone()).collect();
            let row = types.iter().map(stand_in::any).collect();
            SlotValue::Set(Arc::new(Members::stand_in(types, row)))
        }
    }
}

/// What a subquery reads of the row around it, or of the group.
fn capture_name(select: &Select, (stage, expr): (Stage, &Expr), ctx: &EvalContext) -> String {
    let column = |idx| match &select.from {
        From::Joined(joined) => crate::plan::join::column_name(joined, idx),
        From::Table(table) => format!("{}.{}", select.alias, text::column_name(table, idx)),
        From::Nothing => format!("column {idx}"),
    };
    let names = Names {
        column: &column,
        zone: &ctx.zone,
    };
    match aggregate_of(select, Order::default()) {
        Some(step) if stage == Stage::Group => {
            explain::text_behind(&step, expr, (&column, &ctx.zone))
        }
        Some(_) | None => text::expression(expr, names),
    }
}

/// Whether an error is the refusal of a path.
fn is_refusal(error: &Error) -> bool {
    matches!(error.code(), Code::TooBigSelect | Code::UnsafeUpdate)
}

/// The order in which rows come.
#[derive(Debug, Clone, Copy, Default)]
pub struct Order {
    /// Whether it is that of `ORDER BY`.
    pub of_rows: bool,
    /// Whether those of each group come one after the other.
    pub of_groups: bool,
}

impl Order {
    /// That of a table's plan.
    pub fn of(plan: &TablePlan) -> Order {
        Order {
            of_rows: plan.ordered,
            of_groups: plan.grouped_in_order,
        }
    }
}

fn aggregate_of(select: &Select, order: Order) -> Option<Step<'_>> {
    let aggregation = select.aggregation.as_ref()?;
    Some(Step::Aggregate {
        keys: &aggregation.keys,
        aggregates: &aggregation.aggregates,
        rollup: aggregation.rollup,
        in_order: order.of_groups && !aggregation.rollup && !select::asks_of_groups(select),
    })
}

/// What happens to the rows of a SELECT after the residual filter.
pub fn steps(select: &Select, order: Order, limits: RowLimits) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    steps.extend(aggregate_of(select, order));
    steps.extend(select.having.as_ref().map(Step::Having));
    steps.extend(select.windowing.as_ref().map(Step::Windows));
    if select.distinct {
        steps.push(Step::Distinct);
    }
    if !select.order_by.is_empty() && (!order.of_rows || select.rearranges()) {
        let rows_kept = limits
            .limit
            .map(|limit| limit.saturating_add(limits.offset));
        steps.push(Step::Sort {
            keys: &select.order_by,
            rows_kept,
        });
    }
    if limits.limit.is_some() || limits.offset != 0 {
        steps.push(Step::Limit {
            limit: limits.limit,
            offset: limits.offset,
        });
    }
    steps
}
