//! UPDATE and DELETE: rows found by a keyed condition, changed one by one.
//!
//! Rows are locked before they are read where the keys are known beforehand (a point get or
//! multi-get); rows that a scan meets are locked as they are met, and the commit's check that they
//! are unchanged sends an autocommit statement back to a newer snapshot if it waited.

use std::sync::Arc;

use super::changer::Changer;
use super::expiry::Renewal;
use super::row::{self, Stored};
use super::versions::Before;
use super::{Env, Outcome, moved, space};
use crate::catalog::Table;
use crate::error::Result;
use crate::exec::budget::Budget;
use crate::exec::merge::Means;
use crate::exec::pace::{self, Pace};
use crate::exec::read::Reader;
use crate::exec::row::{Layout, StoredRow, ValuesRow};
use crate::exec::sample;
use crate::exec::select::row_limits;
use crate::exec::sort;
use crate::exec::transaction::Transaction;
use crate::exec::tuple;
use crate::exec::view::View;
use crate::kv::Key;
use crate::plan::{self, Access, Estimates, TablePlan};
use crate::sql::bind;
use crate::sql::bound::{Delete, Hints, InsertValue, OrderBy, Update};
use crate::sql::context::EvalContext;
use crate::sql::eval::{eval_condition, eval_exact};
use crate::sql::expr::Expr;
use crate::types::Value;

/// What a found row costs beyond its values.
const FOUND_OVERHEAD_BYTES: usize = 64;

/// Rows of an UPDATE whose new entries in unique indexes are read together.
const BATCH_ROWS: usize = 256;

/// Which rows a statement changes.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The table.
    pub table: &'a Arc<Table>,
    /// `WHERE`.
    pub filter: Option<&'a Expr>,
    /// `ORDER BY`.
    pub order_by: &'a [OrderBy],
    /// `LIMIT`.
    pub limit: Option<&'a Expr>,
    /// `OFFSET`: so many rows more are found.
    pub offset: Option<&'a Expr>,
    /// The statement's hints.
    pub hints: &'a Hints,
}

impl<'a> Target<'a> {
    /// The rows of an UPDATE.
    pub fn of_update(update: &'a Update) -> Target<'a> {
        Target {
            table: &update.table,
            filter: update.filter.as_ref(),
            order_by: &update.order_by,
            limit: update.limit.as_ref(),
            offset: None,
            hints: &update.hints,
        }
    }

    /// The rows of a DELETE.
    pub fn of_delete(delete: &'a Delete) -> Target<'a> {
        Target {
            table: &delete.table,
            filter: delete.filter.as_ref(),
            order_by: &delete.order_by,
            limit: delete.limit.as_ref(),
            offset: None,
            hints: &delete.hints,
        }
    }

    /// How its rows are found. A plan in doubt is not to be run: see [`TablePlan::doubt`].
    ///
    /// # Errors
    /// 1175 when only a full scan would find them.
    pub fn plan(&self, env: &Env, estimates: Estimates<'_>) -> Result<TablePlan> {
        self.with_request((&env.ctx, &env.policy), plan::plan_table, estimates)
    }

    /// How its rows are found, for EXPLAIN: a refused full scan is a plan too.
    ///
    /// # Errors
    /// 1104 for too many keys.
    pub async fn explain(&self, env: &Env, view: Option<View>) -> Result<TablePlan> {
        let with = (&env.ctx, &env.policy);
        let plan = self.with_request(with, plan::explain_table, Estimates::Offered)?;
        let Some(doubt) = &plan.doubt else {
            return Ok(plan);
        };
        let view = view.unwrap_or_else(|| View::newest(&*env.engine));
        let counted = sample::settle(&env.engine, &view, (self.table, doubt)).await?;
        self.with_request(with, plan::explain_table, Estimates::Given(&counted))
    }

    fn with_request(
        &self,
        (ctx, policy): (&EvalContext, &plan::Policy),
        planner: fn(&plan::Request<'_>) -> Result<TablePlan>,
        estimates: Estimates<'_>,
    ) -> Result<TablePlan> {
        let limits = row_limits(self.limit, self.offset, ctx)?;
        planner(&plan::Request {
            table: self.table,
            purpose: self.hints.purpose,
            joined_as: None,
            filter: self.filter,
            grouping: None,
            aggregates: &[],
            order_by: self.order_by,
            limit: limits.limit,
            offset: limits.offset,
            wants_all: false,
            used_columns: None,
            hints: self.hints,
            ctx,
            policy,
            rows_kept: plan::RowsKept::NotAsked,
            estimates,
        })
    }
}

/// A row that is to be changed.
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) values: Vec<Value<'static>>,
}

pub(super) async fn update(update: &Update, mut changer: Changer<'_>) -> Result<Outcome> {
    let found = Finder::of(Target::of_update(update), &mut changer)
        .find()
        .await?;
    let env = changer.env;
    let matched = u64::try_from(found.len()).unwrap_or(u64::MAX);
    let mut changed_count = 0;
    let mut pace = Pace::default();
    let mut batch = Vec::with_capacity(found.len().min(BATCH_ROWS));
    for (row_idx, found) in found.into_iter().enumerate() {
        env.cancel.check_row(row_idx)?;
        pace.keep().await;
        // A row that stays as it is counts as read for writing too, and one that cannot be changed.
        let at = space(&update.table);
        changer.writes.must_be_unchanged(at, found.key.clone());
        let new = updated(update, &found.values, row_idx + 1, env)?;
        if let Some(new) = dated(update, &changer, (&found.values, new))? {
            batch.push((found, new));
        }
        if batch.len() == BATCH_ROWS {
            changed_count += change_rows(update, &mut changer, std::mem::take(&mut batch)).await?;
        }
    }
    changed_count += change_rows(update, &mut changer, batch).await?;
    let warnings = env.ctx.warnings.count();
    Ok(Outcome {
        affected_rows: if env.found_rows {
            matched
        } else {
            changed_count
        },
        info: format!("Rows matched: {matched}  Changed: {changed_count}  Warnings: {warnings}"),
        ..Outcome::default()
    })
}

/// A row after the assignments, as it is dated; `None` when nothing changes.
fn dated(
    update: &Update,
    changer: &Changer<'_>,
    (old, new): (&[Value<'static>], Vec<Value<'static>>),
) -> Result<Option<Vec<Value<'static>>>> {
    if !changer.is_dated() && row::same(&new, old) {
        return Ok(None);
    }
    if update.table.wide.versions.is_none() {
        return Ok(Some(new));
    }
    let before = Before {
        values: Some(old),
        deletion: None,
    };
    let names = |idx| update.assigns(idx);
    let written = changer.written(before, new, &names)?;
    Ok(written.filter(|new| !row::same(new, old)))
}

/// Gives rows their new values, one after the other; how many have them then.
async fn change_rows(
    update: &Update,
    changer: &mut Changer<'_>,
    rows: Vec<(Found, Vec<Value<'static>>)>,
) -> Result<u64> {
    let pairs = rows.iter().map(|(old, new)| (&old.values[..], &new[..]));
    changer.read_new_entries(pairs).await?;
    let may_move = moved::may_move(update);
    let mut changed_count = 0;
    let mut pace = Pace::default();
    for (old, new) in rows {
        pace.keep().await;
        let done = if may_move {
            moved::change_or_move(changer, &old, new).await
        } else {
            changer
                .change(&old.key, Some(&old.values), Some(&new))
                .await
        };
        match done {
            Err(error) if update.ignore && changer.is_surely_there(&error) => {
                super::warn_of(&error, changer.env);
            }
            other => {
                other?;
                changed_count += 1;
            }
        }
    }
    Ok(changed_count)
}

/// The row after the assignments, each of which sees those before it.
fn updated(
    update: &Update,
    old: &[Value<'static>],
    row_number: usize,
    env: &Env,
) -> Result<Vec<Value<'static>>> {
    let lenient = update.ignore || !env.ctx.mode.strict;
    let at = Stored {
        ctx: &env.ctx,
        row_number,
        lenient,
    };
    let mut new = old.to_vec();
    for (column_idx, assigned) in &update.assignments {
        let Some(column) = update.table.columns.get(*column_idx) else {
            continue;
        };
        let value = match assigned {
            InsertValue::Default => at.default_of(column)?,
            // Also one that would not be accepted today stays.
            InsertValue::Expr(expr) if expr.is_column(*column_idx) => continue,
            InsertValue::Expr(expr) => {
                let value = eval_exact(expr, &ValuesRow(&new), &env.ctx)?.into_owned();
                at.coerce(value, column)?
            }
        };
        if let Some(slot) = new.get_mut(*column_idx) {
            let stays = update.table.wide.versions.is_some()
                && update.table.key_position(*column_idx).is_some();
            if stays && slot.total_cmp(&value).is_ne() {
                return Err(bind::key_assigned(&update.table, *column_idx));
            }
            *slot = value;
        }
    }
    let is_same = row::same(&new, old);
    if !is_same {
        let is_assigned = |idx| update.assigns(idx);
        row::touch(&update.table, &mut new, &is_assigned, &env.ctx)?;
    }
    // What is dated is written, whatever it says.
    if !is_same || update.hints.ts_ms.is_some() {
        let renewal = Renewal {
            env,
            ttl_ms: update.hints.ttl_ms,
            ts_ms: update.hints.ts_ms,
        };
        renewal.stamp(&update.table, &mut new)?;
    }
    Ok(new)
}

pub(super) async fn delete(delete: &Delete, mut changer: Changer<'_>) -> Result<Outcome> {
    let found = Finder::of(Target::of_delete(delete), &mut changer)
        .find()
        .await?;
    let mut affected_rows = 0;
    let cancel = &changer.env.cancel;
    let mut pace = Pace::default();
    for (row_idx, Found { key, values }) in found.into_iter().enumerate() {
        cancel.check_row(row_idx)?;
        pace.keep().await;
        let at = space(&delete.table);
        changer.writes.must_be_unchanged(at, key.clone());
        affected_rows += u64::from(changer.delete_row(&key, &values).await?);
    }
    Ok(Outcome {
        affected_rows,
        ..Outcome::default()
    })
}

/// Finds and locks the rows of a statement.
pub(super) struct Finder<'a> {
    target: Target<'a>,
    layout: &'a Layout,
    env: &'a Env,
    transaction: &'a mut Transaction,
    /// The keys that the statement names, whatever is there; they are locked.
    pub(super) known_keys: Vec<Key>,
    /// Whether rows were locked when there was a snapshot already, which may be older than the locks.
    pub(super) locked_late: bool,
}

impl<'a> Finder<'a> {
    fn of(target: Target<'a>, changer: &'a mut Changer<'_>) -> Finder<'a> {
        Finder::new(
            target,
            (changer.layout, changer.env),
            &mut *changer.transaction,
        )
    }

    pub(super) fn new(
        target: Target<'a>,
        (layout, env): (&'a Layout, &'a Env),
        transaction: &'a mut Transaction,
    ) -> Finder<'a> {
        Finder {
            target,
            layout,
            env,
            transaction,
            known_keys: Vec::new(),
            locked_late: false,
        }
    }

    pub(super) async fn find(&mut self) -> Result<Vec<Found>> {
        let mut plan = self.target.plan(self.env, Estimates::Offered)?;
        if let Some(doubt) = &plan.doubt {
            let view = self.transaction.view();
            let at = (&**self.target.table, doubt);
            let counted = sample::settle(&self.env.engine, &view, at).await?;
            plan = self.target.plan(self.env, Estimates::Given(&counted))?;
        }
        let env = self.env;
        env.uses.note(self.target.table, &plan, env.ctx.now);
        self.lock_known_keys(&plan).await?;
        let locks_found = matches!(
            plan.access,
            Access::PrefixScan(_) | Access::Index(_) | Access::Merge(_) | Access::FullScan
        );
        let limits = row_limits(self.target.limit, self.target.offset, &self.env.ctx)?;
        let sorted = self.target.order_by.is_empty() || plan.ordered;
        let limit = limits
            .limit
            .and_then(|rows| usize::try_from(rows.saturating_add(limits.offset)).ok())
            .unwrap_or(usize::MAX);
        let mut budget = self.env.memory.budget("the rows to change");
        let mut found = Vec::new();
        let mut pace = Pace::default();
        let means = Means {
            memory: self.env.memory.clone(),
            cancel: &self.env.cancel,
        };
        let (view, table) = (self.transaction.view(), self.target.table);
        let mut reader = Reader::new(view, table, &mut plan, &means)?;
        // Behind the last row that is wanted the condition is asked of none: it may assign a variable.
        let wanted = if sorted { limit } else { usize::MAX };
        while found.len() < wanted && reader.advance().await? {
            self.env.cancel.check()?;
            let mut rows_done = 0;
            while found.len() < wanted && rows_done < reader.batch().len() {
                let turns = pace::turns();
                let into = (&mut found, wanted, &mut budget, &mut pace);
                rows_done = self.take_rows((&reader, rows_done), plan.residual.as_ref(), into)?;
                pace::keep_since(turns).await;
            }
        }
        if !sorted {
            self.sort(&mut found).await?;
        }
        found.truncate(limit);
        if locks_found {
            self.lock_found(&found).await?;
        }
        Ok(found)
    }

    async fn lock_known_keys(&mut self, plan: &TablePlan) -> Result<()> {
        let (space, cancel) = (space(self.target.table), &self.env.cancel);
        self.locked_late = self.transaction.has_snapshot();
        match &plan.access {
            Access::PointGet(get) => {
                self.known_keys = vec![get.key.clone()];
                self.transaction.lock(space, &get.key, cancel).await
            }
            Access::MultiGet(get) => {
                // All lock in one order, so that none waits for another in a ring.
                self.known_keys.clone_from(&get.keys);
                self.known_keys.sort_unstable();
                for key in &self.known_keys {
                    self.transaction.lock(space, key, cancel).await?;
                }
                Ok(())
            }
            // The rows of index entries are known, and locked, when they were read.
            Access::Nothing
            | Access::PrefixScan(_)
            | Access::Index(_)
            | Access::Count(_)
            | Access::Ends(_)
            | Access::Merge(_)
            | Access::FullScan => Ok(()),
        }
    }

    async fn lock_found(&mut self, found: &[Found]) -> Result<()> {
        let mut keys: Vec<&Key> = found.iter().map(|row| &row.key).collect();
        keys.sort_unstable();
        self.locked_late = true;
        let mut pace = Pace::default();
        for (row_idx, key) in keys.into_iter().enumerate() {
            self.env.cancel.check_row(row_idx)?;
            pace.keep().await;
            self.transaction
                .lock(space(self.target.table), key, &self.env.cancel)
                .await?;
        }
        Ok(())
    }

    /// Takes the rows of a batch from `rows_done` on, or as many as are wanted or a turn has time for. Returns how
    /// many of the batch are done.
    fn take_rows(
        &self,
        (reader, rows_done): (&Reader, usize),
        residual: Option<&Expr>,
        (found, wanted, budget, pace): (&mut Vec<Found>, usize, &mut Budget, &mut Pace),
    ) -> Result<usize> {
        let batch = reader.batch();
        for row_idx in rows_done..batch.len() {
            self.env.cancel.check_row(row_idx)?;
            let Some((key, value)) = batch.get(row_idx) else {
                break;
            };
            let row = StoredRow::parse(self.target.table, self.layout, key, value)?;
            let passes = match residual {
                Some(residual) => eval_condition(residual, &row, &self.env.ctx)? == Some(true),
                None => true,
            };
            if passes {
                budget.take(key.len() + 4 * value.len() + FOUND_OVERHEAD_BYTES)?;
                found.push(Found {
                    key: key.to_vec(),
                    values: row.to_values()?,
                });
            }
            if wanted <= found.len() || pace.is_over() {
                return Ok(row_idx + 1);
            }
        }
        Ok(batch.len())
    }

    async fn sort(&self, found: &mut Vec<Found>) -> Result<()> {
        let mut keyed = Vec::with_capacity(found.len());
        let mut pace = Pace::default();
        for (row_idx, row) in found.drain(..).enumerate() {
            self.env.cancel.check_row(row_idx)?;
            pace.keep().await;
            let mut key = Vec::new();
            let values = ValuesRow(&row.values);
            tuple::push_order(&mut key, self.target.order_by, &values, &self.env.ctx)?;
            keyed.push((key, row));
        }
        *found = sort::sorted_by_key(keyed, &self.env.cancel).await?;
        Ok(())
    }
}
