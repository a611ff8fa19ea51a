//! A SELECT of one table or of none: what it runs with, its plan, and the start of its stream.
//!
//! What happens to the rows is in `stream`.

mod stream;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

pub use self::stream::SelectStream;
use super::cancel::CancelToken;
use super::row::Layout;
use super::uses::Uses;
use super::view::View;
use crate::catalog::Table;
use crate::error::{Code, Error, Result};
use crate::kv::Engine;
use crate::plan::{self, Policy, Purpose, TablePlan};
use crate::sql::bound::Select;
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
    /// The columns of the table that it uses, each once.
    used_columns: Vec<usize>,
}

impl Program {
    /// Prepares a bound SELECT for execution.
    pub fn new(select: Select) -> Program {
        let layout = select.table.as_deref().map(Layout::of);
        let used_columns = used::columns(&select);
        Program {
            select,
            layout,
            used_columns,
        }
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
    /// `query_memory_bytes`.
    pub memory_bytes_max: usize,
    /// Where sorts may spill.
    pub spill_dir: Option<PathBuf>,
    /// `sql_select_limit`, when the statement has no LIMIT.
    pub select_limit: Option<u64>,
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

/// Plans the table access of a SELECT.
///
/// # Errors
/// Refusals of dialect §2 and §3.
pub fn plan(program: &Program, table: &Table, env: &Env) -> Result<TablePlan> {
    with_request(program, table, env, plan::plan_table)
}

/// As [`plan()`], for EXPLAIN: a refused full scan is a plan too.
///
/// # Errors
/// 1104 for too many keys.
pub fn explain(program: &Program, table: &Table, env: &Env) -> Result<TablePlan> {
    with_request(program, table, env, plan::explain_table)
}

fn with_request(
    program: &Program,
    table: &Table,
    env: &Env,
    planner: fn(&plan::Request<'_>) -> Result<TablePlan>,
) -> Result<TablePlan> {
    let select = &program.select;
    let mut limits = row_limits(select.limit.as_ref(), select.offset.as_ref(), &env.ctx)?;
    limits.limit = limits.limit.or(env.select_limit);
    let wants_all = select.distinct || (select.having.is_some() && select.aggregation.is_none());
    let grouping = select
        .aggregation
        .as_ref()
        .map(|aggregation| aggregation.keys.as_slice());
    planner(&plan::Request {
        table,
        purpose: Purpose::Select,
        filter: select.filter.as_ref(),
        grouping,
        order_by: &select.order_by,
        limit: limits.limit.filter(|_| !wants_all),
        offset: limits.offset,
        wants_all,
        used_columns: Some(&program.used_columns),
        hints: &select.hints,
        ctx: &env.ctx,
        policy: &env.policy,
    })
}

/// Starts a SELECT: plans it and opens its stream.
///
/// # Errors
/// Refusals, and errors of constants.
pub fn open(program: Arc<Program>, env: Env) -> Result<SelectStream> {
    let select = &program.select;
    let mut limits = row_limits(select.limit.as_ref(), select.offset.as_ref(), &env.ctx)?;
    limits.limit = limits.limit.or(env.select_limit);
    let plan = match &select.table {
        Some(table) => {
            let plan = plan(&program, table, &env)?;
            env.uses.note(table, &plan, env.ctx.now);
            Some(plan)
        }
        None => None,
    };
    SelectStream::new(program, env, plan, limits)
}
