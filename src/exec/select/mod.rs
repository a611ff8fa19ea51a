//! One query block: what it runs with, its plan, and the start of its stream.
//!
//! What happens to the rows is in `stream`, and in `collector` where all are taken in first. One row by its
//! key goes a way of its own, `point`.

mod collector;
mod deep;
mod emit;
mod joined;
mod output;
mod point;
mod stream;
mod tally;
#[cfg(test)]
mod tests;
mod window;

use std::sync::{Arc, OnceLock};

pub use self::collector::asks_of_groups;
pub use self::deep::{Deep, wanted};
pub use self::point::{PointRow, Source};
pub use self::stream::SelectStream;
pub use self::window::Window;
use super::budget::Memory;
use super::cancel::CancelToken;
use super::group::InOrder;
use super::join::{Kind, Shape};
use super::meter::Meter;
use super::nest::RoundRows;
use super::query;
use super::row::Layout;
use super::sample;
use super::uses::Uses;
use super::view::View;
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::kv::{Engine, Key, Space};
use crate::plan::{self, Doubt, Estimates, Policy, RowsKept, TablePlan};
use crate::sql::bound::{Select, Subquery, semi};
use crate::sql::context::EvalContext;
use crate::sql::eval::eval;
use crate::sql::expr::{Expr, NoRow};
use crate::sql::used;
use crate::types::Value;

/// A bound SELECT with what does not change between executions.
#[derive(Debug)]
pub struct Program {
    /// The statement.
    pub select: Select,
    layout: Option<Layout>,
    /// The columns of the row that is read that the statement uses, each once.
    used_columns: Vec<usize>,
    /// What the subqueries of the statement run, in their order.
    subqueries: Vec<Arc<query::Program>>,
    /// What joined rows look like, where rows are not those of one table alone.
    shape: Option<Arc<Shape>>,
    /// Whether it may be a read of one row by its key alone.
    may_be_point: bool,
    /// The same with a subquery run for each row, once that was asked for; one for each subquery.
    turned: Vec<OnceLock<Option<Arc<Program>>>>,
}

impl Program {
    /// Prepares a bound SELECT for execution.
    pub fn new(select: Select) -> Program {
        let layout = select.table().map(|table| Layout::of(table));
        let used_columns = used::columns(&select);
        let subqueries = select.subqueries.iter();
        let subqueries =
            subqueries.map(|one| Arc::new(query::Program::new(one.query.as_ref().clone())));
        let turned = select.subqueries.iter().map(|_| OnceLock::new());
        Program {
            layout,
            turned: turned.collect(),
            subqueries: subqueries.collect(),
            shape: deep::shape(&select, &used_columns),
            may_be_point: point::may_be(&select),
            used_columns,
            select,
        }
    }

    /// The subqueries and what each runs.
    pub fn subqueries(&self) -> impl Iterator<Item = (&Subquery, &Arc<query::Program>)> {
        self.select.subqueries.iter().zip(&self.subqueries)
    }

    /// What joined rows look like, where rows are not those of one table alone.
    pub fn shape(&self) -> Option<&Arc<Shape>> {
        self.shape.as_ref()
    }

    /// The same with a subquery run for each row, where it is refused otherwise and this can be.
    pub fn for_each_row(&self, position: usize, error: &Error) -> Option<&Arc<Program>> {
        if !matches!(error.code(), Code::TooBigSelect | Code::UnsafeUpdate) {
            return None;
        }
        let turned = self.turned.get(position)?.get_or_init(|| {
            let turned = semi::for_each_row(&self.select, position)?;
            Some(Arc::new(Program::new(turned)))
        });
        turned.as_ref()
    }

    /// Whether it has joins or subqueries.
    pub fn is_deep(&self) -> bool {
        self.shape.is_some() || !self.subqueries.is_empty()
    }

    /// All tables that are read, some of them more than once.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let mut tables: Vec<Arc<Table>> = match &self.shape {
            None => self.select.table().into_iter().cloned().collect(),
            Some(shape) => {
                let kinds = shape.kinds.iter();
                let tables = kinds.flat_map(|kind| match kind {
                    Kind::Table(table, _) => vec![Arc::clone(table)],
                    Kind::Query(program) => program.tables().to_vec(),
                    Kind::Round(_) | Kind::Listed(_) => Vec::new(),
                });
                tables.collect()
            }
        };
        let within = self.subqueries.iter();
        tables.extend(within.flat_map(|program| program.tables().iter().cloned()));
        tables
    }
}

/// What a statement runs with.
pub struct Env {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// What the open transaction sees; `None` in autocommit.
    pub view: Option<View>,
    /// Clock, session, parameters.
    pub ctx: EvalContext,
    /// What full scans are permitted.
    pub policy: Policy,
    /// Where it is noted that an index is read.
    pub uses: Arc<Uses>,
    /// What may end it early.
    pub cancel: Arc<CancelToken>,
    /// What its operators may hold, and where they may spill.
    pub memory: Memory,
    /// How many rows are wanted at most of a query without LIMIT: `sql_select_limit` of one whose rows
    /// go to the client, the one row that a subquery is asked for.
    pub select_limit: Option<u64>,
    /// Within a recursive query: the rows of the last round, by the query's number.
    pub rounds: Vec<(usize, RoundRows)>,
    /// Where it is taken down what its parts take; `None` but for EXPLAIN ANALYZE.
    pub meter: Option<Arc<Meter>>,
}

/// The values of LIMIT and OFFSET.
#[derive(Debug, Clone, Copy)]
pub struct RowLimits {
    /// Rows returned at most.
    pub limit: Option<u64>,
    /// Rows left out first.
    pub offset: u64,
}

/// Evaluates LIMIT and OFFSET.
///
/// # Errors
/// 1210-class when a parameter is not a whole number of rows.
pub fn row_limits(
    limit: Option<&Expr>,
    offset: Option<&Expr>,
    ctx: &EvalContext,
) -> Result<RowLimits> {
    let limit = limit.map(|expr| rows_count(expr, ctx)).transpose()?;
    let offset = offset
        .map(|expr| rows_count(expr, ctx))
        .transpose()?
        .unwrap_or(0);
    Ok(RowLimits { limit, offset })
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "nothing else is a number of rows"
)]
fn rows_count(expr: &Expr, ctx: &EvalContext) -> Result<u64> {
    match eval(expr, &NoRow, ctx)? {
        Value::UInt(rows) => Ok(rows),
        Value::Int(rows) if 0 <= rows => Ok(rows.unsigned_abs()),
        other => {
            let shown = other.to_text().into_owned();
            let text =
                format!("LIMIT takes a whole number of rows that is not negative, not {shown}");
            Err(Error::new(Code::WrongArguments, text))
        }
    }
}

/// Plans the table access of a SELECT. A plan in doubt is not to be run: see [`TablePlan::doubt`].
///
/// # Errors
/// Refusals of access paths.
pub fn plan(program: &Program, table: &Table, env: &Env) -> Result<TablePlan> {
    with_request(program, table, env, (plan::plan_table, Estimates::Offered))
}

/// Counts what a plan is in doubt about, and plans again.
async fn settle(
    program: &Program,
    table: &Table,
    (env, view, doubt): (&Env, &View, &Doubt),
    planner: Planner,
) -> Result<TablePlan> {
    let counted = sample::settle(&env.engine, view, (table, doubt)).await?;
    with_request(program, table, env, (planner, Estimates::Given(&counted)))
}

/// The plan of a SELECT for EXPLAIN: a refused full scan is a plan too.
///
/// # Errors
/// 1104 for too many keys.
pub async fn explain(program: &Program, table: &Table, env: &Env) -> Result<TablePlan> {
    let planner = plan::explain_table;
    let plan = with_request(program, table, env, (planner, Estimates::Offered))?;
    match &plan.doubt {
        Some(doubt) => {
            let view = view_of(env);
            settle(program, table, (env, &view, doubt), planner).await
        }
        None => Ok(plan),
    }
}

/// What a statement that needs a snapshot reads.
pub(super) fn view_of(env: &Env) -> View {
    let view = env.view.clone();
    view.unwrap_or_else(|| View::newest(&*env.engine))
}

/// Makes a plan of a request.
type Planner = fn(&plan::Request<'_>) -> Result<TablePlan>;

fn with_request(
    program: &Program,
    table: &Table,
    env: &Env,
    (planner, estimates): (Planner, Estimates<'_>),
) -> Result<TablePlan> {
    let select = &program.select;
    let mut limits = row_limits(select.limit.as_ref(), select.offset.as_ref(), &env.ctx)?;
    limits.limit = limits.limit.or(env.select_limit);
    let rearranges = select.rearranges();
    let wants_all =
        rearranges || select.distinct || (select.having.is_some() && select.aggregation.is_none());
    let aggregation = select.aggregation.as_ref();
    let grouping = aggregation.map(|aggregation| aggregation.keys.as_slice());
    let aggregates = aggregation.map(|aggregation| aggregation.aggregates.as_slice());
    planner(&plan::Request {
        table,
        purpose: select.hints.purpose,
        joined_as: None,
        filter: select.filter.as_ref(),
        grouping,
        aggregates: aggregates.unwrap_or_default(),
        order_by: if rearranges { &[] } else { &select.order_by },
        limit: limits.limit.filter(|_| !wants_all),
        offset: limits.offset,
        wants_all,
        used_columns: Some(&program.used_columns),
        hints: &select.hints,
        ctx: &env.ctx,
        policy: &env.policy,
        rows_kept: rows_kept(select, table, env),
        estimates,
    })
}

/// What is known about the number of rows, if the statement wants nothing else.
fn rows_kept(select: &Select, table: &Table, env: &Env) -> RowsKept {
    let aggregation = select.aggregation.as_ref();
    let only_counts = aggregation.is_some_and(InOrder::only_counts);
    let is_plain = select.filter.is_none() && select.order_by.is_empty();
    let is_last = select.windowing.is_none() && !asks_of_groups(select);
    // The number of rows is known, not that of their versions.
    let is_newest = table.wide.reading.is_none();
    // Nor where rows end by themselves: there is nothing to be counted anew.
    let is_kept = is_newest && !table.expires();
    if !only_counts || !is_plain || !is_last || !is_kept {
        return RowsKept::NotAsked;
    }
    let kept = view_of(env).count(Space(table.id.0));
    kept.map_or(RowsKept::Unknown, RowsKept::Known)
}

/// A SELECT that was planned.
pub enum Opened {
    /// It runs.
    Ready(Box<SelectStream>),
    /// Something is to be counted first. Only statements that go on pay for waiting.
    InDoubt(Box<InDoubt>),
    /// Subqueries are to be answered first, or a join to be planned.
    Deep(Box<Deep>),
}

/// A SELECT whose plan is in doubt.
pub struct InDoubt {
    program: Arc<Program>,
    env: Env,
    limits: RowLimits,
    doubt: Doubt,
}

/// Starts a SELECT: plans it and opens its stream.
///
/// # Errors
/// Refusals, and errors of constants.
pub fn open(program: Arc<Program>, env: Env) -> Result<Opened> {
    if program.is_deep() {
        return Ok(Opened::Deep(Box::new(Deep { program, env })));
    }
    open_flat(program, env)
}

/// As [`open`], of one table of which the rows under these keys are read, in their order, and no others.
///
/// # Errors
/// Errors of constants.
pub fn open_found(program: Arc<Program>, env: Env, keys: Vec<Key>) -> Result<Box<SelectStream>> {
    let select = &program.select;
    let mut limits = row_limits(select.limit.as_ref(), select.offset.as_ref(), &env.ctx)?;
    limits.limit = limits.limit.or(env.select_limit);
    let plan = TablePlan::of_found(keys, select.filter.clone(), select.order_by.is_empty());
    let stream = SelectStream::new(program, env, Some(plan), limits)?;
    Ok(Box::new(stream))
}

/// Starts a SELECT of one table or none, its subqueries answered.
fn open_flat(program: Arc<Program>, env: Env) -> Result<Opened> {
    let select = &program.select;
    let mut limits = row_limits(select.limit.as_ref(), select.offset.as_ref(), &env.ctx)?;
    limits.limit = limits.limit.or(env.select_limit);
    let mut planned = match select.table() {
        Some(table) => Some(plan(&program, table, &env)?),
        None => None,
    };
    let doubt = planned.as_mut().and_then(|plan| plan.doubt.take());
    if let Some(doubt) = doubt {
        return Ok(Opened::InDoubt(Box::new(InDoubt {
            program,
            env,
            limits,
            doubt,
        })));
    }
    let stream = SelectStream::new(program, env, planned, limits)?;
    Ok(Opened::Ready(Box::new(stream)))
}

impl Opened {
    /// The stream, after counting if need be.
    ///
    /// # Errors
    /// As [`open`], and those of the engine.
    pub async fn stream(self) -> Result<Box<SelectStream>> {
        match self {
            Opened::Ready(stream) => Ok(stream),
            Opened::InDoubt(doubt) => Box::pin(doubt.settle()).await,
            Opened::Deep(deep) => Box::pin(deep.stream()).await,
        }
    }
}

impl InDoubt {
    async fn settle(mut self: Box<InDoubt>) -> Result<Box<SelectStream>> {
        let Some(table) = self.program.select.table() else {
            return Err(Error::internal("a plan in doubt without a table"));
        };
        let view = view_of(&self.env);
        let counting = (&self.env, &view, &self.doubt);
        let plan = settle(&self.program, table, counting, plan::plan_table).await?;
        // What was found there holds there alone.
        self.env.view = Some(view);
        let stream = SelectStream::new(self.program, self.env, Some(plan), self.limits)?;
        Ok(Box::new(stream))
    }
}
