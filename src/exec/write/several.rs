//! UPDATE and DELETE of the rows that a query has found, in one table or several.
//!
//! The query gives keys and new values; the rows themselves are read again here, locked, and must be
//! unchanged since the query's snapshot when the statement commits. A row that several rows of a join
//! meet is changed once, by the first of them.

use std::collections::HashSet;
use std::sync::Arc;

use super::changer::Changer;
use super::expiry::Renewal;
use super::row::{self, Stored};
use super::versions::{Before, Dating};
use super::{Env, Outcome, Rows, space};
use crate::error::Result;
use crate::exec::pace::Pace;
use crate::exec::query;
use crate::exec::row::{Layout, ValuesRow};
use crate::exec::transaction::{BoundTable, StatementWrites, Transaction};
use crate::kv::Key;
use crate::sql::bound::{Change, ChangeTarget};
use crate::sql::eval::eval_exact;
use crate::types::Value;

/// Rows that are read together.
const BATCH_ROWS: usize = 256;

/// A bound change with what does not change between executions.
#[derive(Debug)]
pub struct Program {
    /// The statement.
    pub change: Change,
    /// What finds the rows.
    pub query: Arc<query::Program>,
    catalog_version: u64,
}

/// What became of the rows of all targets.
#[derive(Debug, Default)]
struct Counts {
    matched: u64,
    changed: u64,
}

/// A row that is to be changed: its key, and the values that are assigned.
struct Wanted<'r> {
    key: Key,
    /// Which of the rows it is, from 1, in the order in which they change.
    number: usize,
    /// And what those read that are computed over the row.
    values: &'r [Value<'static>],
}

impl Program {
    /// Prepares a bound change for execution. `catalog_version` is that of before it was bound.
    pub fn new(change: Change, catalog_version: u64) -> Program {
        let query = Arc::new(query::Program::new(change.query.clone()));
        Program {
            change,
            query,
            catalog_version,
        }
    }
}

/// Changes the rows that the query has found; the writes are staged in `transaction`.
///
/// # Errors
/// Those of evaluation, coercion and locking.
pub async fn run(
    program: &Program,
    rows: &Rows,
    (env, transaction): (&Env, &mut Transaction),
) -> Result<Outcome> {
    for target in &program.change.targets {
        transaction.check_may_write(&target.table)?;
    }
    let mut counts = Counts::default();
    let mut first_output = 0;
    let dating = Dating::checked(env, program.change.hints.ts_ms)?;
    for target in &program.change.targets {
        let mut writes = StatementWrites::of(BoundTable {
            table: Arc::clone(&target.table),
            catalog_version: program.catalog_version,
        });
        let layout = Layout::of(&target.table);
        let changer = Changer::new(
            (&target.table, &layout),
            (env, dating),
            transaction,
            &mut writes,
        );
        let work = Work {
            change: &program.change,
            target,
            first_output,
            changer,
        };
        work.run(rows, &mut counts).await?;
        transaction.stage(writes)?;
        first_output += target.outputs_count();
    }
    Ok(outcome(&program.change, &counts, env))
}

fn outcome(change: &Change, counts: &Counts, env: &Env) -> Outcome {
    let (matched, changed) = (counts.matched, counts.changed);
    if change.deletes {
        return Outcome {
            affected_rows: changed,
            ..Outcome::default()
        };
    }
    let warnings = env.ctx.warnings.count();
    Outcome {
        affected_rows: if env.found_rows { matched } else { changed },
        info: format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}"),
        ..Outcome::default()
    }
}

/// The change of one target.
struct Work<'a> {
    change: &'a Change,
    target: &'a ChangeTarget,
    /// Where the outputs about it begin.
    first_output: usize,
    changer: Changer<'a>,
}

impl Work<'_> {
    async fn run(mut self, rows: &Rows, counts: &mut Counts) -> Result<()> {
        let mut wanted = self.wanted(rows)?;
        let is_ordered = self.change.query.is_ordered();
        if is_ordered {
            // They change in the order that was asked for: which of them meets another in a unique index
            // is up to it.
            self.lock_in_order(&wanted).await?;
        } else {
            wanted.sort_by(|a, b| a.key.cmp(&b.key));
        }
        for (number, one) in (1..).zip(&mut wanted) {
            one.number = number;
        }
        let mut pace = Pace::default();
        for batch in wanted.chunks(BATCH_ROWS) {
            self.changer.env.cancel.check()?;
            pace.keep().await;
            if !is_ordered {
                self.lock_in_order(batch).await?;
            }
            self.batch(batch, counts).await?;
        }
        Ok(())
    }

    /// Locks rows in key order, so that statements that lock the same ones do not lock each other out.
    async fn lock_in_order(&mut self, wanted: &[Wanted<'_>]) -> Result<()> {
        let at = space(&self.target.table);
        let mut places: Vec<_> = wanted.iter().map(|one| (at, one.key.clone())).collect();
        places.sort_unstable();
        self.changer.lock_all(&places).await
    }

    /// The rows that are there in each row of the join, each once.
    fn wanted<'r>(&self, rows: &'r Rows) -> Result<Vec<Wanted<'r>>> {
        let table = &self.target.table;
        let mut seen = HashSet::new();
        let mut wanted = Vec::new();
        let mut values = vec![Value::Null; table.columns.len()];
        for row in rows.iter() {
            let mut outputs = row.iter().skip(self.first_output);
            let mut is_there = true;
            for part in &table.key {
                let value = outputs.next().cloned().unwrap_or(Value::Null);
                is_there &= !value.is_null();
                if let Some(slot) = values.get_mut(part.column_idx) {
                    *slot = value;
                }
            }
            if !is_there {
                continue;
            }
            let key = row::key(table, &values)?;
            if seen.insert(key.clone()) {
                let first = self.first_output + table.key.len();
                let until = first + self.target.values_count();
                let values = row.get(first..until).unwrap_or_default();
                wanted.push(Wanted {
                    key,
                    number: 0,
                    values,
                });
            }
        }
        Ok(wanted)
    }

    async fn batch(&mut self, batch: &[Wanted<'_>], counts: &mut Counts) -> Result<()> {
        let at = space(&self.target.table);
        let keys: Vec<Key> = batch.iter().map(|wanted| wanted.key.clone()).collect();
        let view = self.changer.transaction.view();
        let stored = view.rows(at, &keys, &self.changer.env.cancel).await?;
        let mut changes = Vec::with_capacity(batch.len());
        for (wanted, stored) in batch.iter().zip(stored) {
            self.changer
                .writes
                .must_be_unchanged(at, wanted.key.clone());
            let Some(stored) = stored else { continue };
            counts.matched += 1;
            let old = self.changer.values(&wanted.key, &stored)?;
            let new = if self.change.deletes {
                None
            } else {
                let new = self.updated(wanted, &old)?;
                Some(self.written(new, &old)?)
            };
            if new.as_ref().is_none_or(|new| !row::same(new, &old)) {
                changes.push((wanted.key.clone(), old, new));
            }
        }
        let updated = changes.iter();
        let updated = updated.filter_map(|(_, old, new)| Some((&old[..], new.as_deref()?)));
        self.changer.read_new_entries(updated).await?;
        for (key, old, new) in changes {
            let Some(new) = new else {
                counts.changed += u64::from(self.changer.delete_row(&key, &old).await?);
                continue;
            };
            match self.changer.change(&key, Some(&old), Some(&new)).await {
                Err(error) if self.change.ignore && self.changer.is_surely_there(&error) => {
                    super::warn_of(&error, self.changer.env);
                }
                other => {
                    other?;
                    counts.changed += 1;
                }
            }
        }
        Ok(())
    }

    /// The row after an UPDATE, as it is dated; the old one when nothing changes.
    fn written(
        &self,
        new: Vec<Value<'static>>,
        old: &[Value<'static>],
    ) -> Result<Vec<Value<'static>>> {
        if !self.changer.is_dated() && row::same(&new, old) {
            return Ok(new);
        }
        let before = Before {
            values: Some(old),
            deletion: None,
        };
        let names = |idx| self.target.assigned.contains(&idx);
        let written = self.changer.written(before, new, &names)?;
        Ok(written.unwrap_or_else(|| old.to_vec()))
    }

    /// The value at a place among those assigned, if it is computed over the row as it is by then.
    fn over_new(
        &self,
        position: usize,
        (new, wanted): (&[Value<'static>], &Wanted<'_>),
    ) -> Result<Option<Value<'static>>> {
        let mut all = self.target.over_new.iter();
        let Some(later) = all.find(|later| later.position == position) else {
            return Ok(None);
        };
        let asked = wanted.values.get(self.target.assigned.len()..);
        let row: Vec<_> = new
            .iter()
            .chain(asked.unwrap_or_default())
            .cloned()
            .collect();
        let row = ValuesRow(&row);
        let value = eval_exact(&later.expr, &row, &self.changer.env.ctx)?;
        Ok(Some(value.into_owned()))
    }

    fn updated(&self, wanted: &Wanted<'_>, old: &[Value<'static>]) -> Result<Vec<Value<'static>>> {
        let env = self.changer.env;
        let at = Stored {
            ctx: &env.ctx,
            row_number: wanted.number,
            lenient: self.change.ignore || !env.ctx.mode.strict,
        };
        let table = &self.target.table;
        let mut new = old.to_vec();
        let assigned = self.target.assigned.iter().zip(wanted.values);
        for (position, (idx, value)) in assigned.enumerate() {
            let later = self.over_new(position, (&new, wanted))?;
            let value = later.as_ref().unwrap_or(value);
            if let (Some(column), Some(slot)) = (table.columns.get(*idx), new.get_mut(*idx)) {
                // Also one that would not be accepted today stays.
                if slot.is_same(value) {
                    continue;
                }
                *slot = at.coerce(value.clone(), column)?;
            }
        }
        let is_same = row::same(&new, old);
        if !is_same {
            let is_assigned = |idx| self.target.assigned.contains(&idx);
            row::touch(table, &mut new, &is_assigned, &env.ctx)?;
        }
        if !is_same || self.changer.is_dated() {
            let renewal = Renewal {
                env,
                ttl_ms: self.change.hints.ttl_ms,
                ts_ms: self.change.hints.ts_ms,
            };
            renewal.stamp(table, &mut new)?;
        }
        Ok(new)
    }
}
