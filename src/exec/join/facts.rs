//! What a join is planned by: about how many rows each of its units has.

use std::sync::Arc;

use super::shape::{Kind, Shape};
use crate::error::Result;
use crate::exec::nest::Nest;
use crate::exec::probe;
use crate::plan::Policy;
use crate::plan::join::{self, Facts, JoinPlan, Pool, Setting, Unit, UnitRows, Wanted};
use crate::sql::context::EvalContext;
use crate::sql::expr::Expr;

/// Rows that a query in `FROM` is thought to have.
const QUERY_ROWS: u64 = 1000;

/// A join that was planned.
#[derive(Debug)]
pub struct Planned {
    /// Its units and conditions.
    pub pool: Pool,
    /// Its steps.
    pub plan: JoinPlan,
}

/// Plans a join.
///
/// # Errors
/// Refusals of access paths; those of the engine.
pub async fn planned(
    shape: &Shape,
    (filter, wanted): (Option<&Expr>, Wanted<'_>),
    (nest, ctx): (&Nest, &EvalContext),
) -> Result<Planned> {
    let pool = join::pool(&shape.joined, filter, ctx)?;
    let plan = plan_pool(&pool, (shape, wanted), (nest, ctx, &nest.policy)).await?;
    Ok(Planned { pool, plan })
}

/// Plans the units of a pool.
///
/// # Errors
/// As [`planned`].
pub async fn plan_pool(
    pool: &Pool,
    (shape, wanted): (&Shape, Wanted<'_>),
    (nest, ctx, policy): (&Nest, &EvalContext, &Policy),
) -> Result<JoinPlan> {
    let has_late = !pool.late.is_empty();
    let setting = Setting {
        joined: &shape.joined,
        used_columns: &shape.used_columns,
        ctx,
        policy,
        wanted: if has_late { Wanted::default() } else { wanted },
    };
    let mut facts = Vec::with_capacity(pool.units.len());
    for unit in &pool.units {
        facts.push(facts_of(unit, pool, (shape, &setting, nest)).await?);
    }
    join::order(pool, &facts, &setting)
}

async fn facts_of(
    unit: &Unit,
    pool: &Pool,
    (shape, setting, nest): (&Shape, &Setting<'_>, &Nest),
) -> Result<Facts> {
    let unknown = Facts {
        rows: QUERY_ROWS,
        alone: None,
        is_permitted: true,
    };
    let UnitRows::Source(source_idx) = unit.rows else {
        return Ok(unknown);
    };
    let table = match shape.kinds.get(source_idx) {
        Some(Kind::Table(table, _)) => table,
        Some(Kind::Query(_) | Kind::Round(_) | Kind::Listed(_)) | None => return Ok(unknown),
    };
    let local = join::first_filter(pool, unit);
    let plan = join::table_plan(setting, source_idx, (local.as_ref(), setting.ctx), true)?;
    let view = Some(nest.view.clone());
    let counted = (Arc::as_ref(table), &plan, probe::TO_RUN);
    let rows = probe::rows(&nest.engine, view, counted).await?;
    Ok(Facts {
        rows: rows.unwrap_or(QUERY_ROWS).max(1),
        is_permitted: plan.refusal.is_none(),
        alone: Some(plan),
    })
}
