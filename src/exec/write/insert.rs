//! INSERT, INSERT IGNORE, REPLACE, UPSERT, ON DUPLICATE KEY UPDATE.
//!
//! ```text
//!   statement                       old row read   key exists           affected
//!   INSERT                          no             error 1062           1
//!   INSERT in a transaction         yes            error 1062           1
//!   INSERT IGNORE                   yes            warning 1062         0
//!   … ON DUPLICATE KEY UPDATE       yes            row is updated       2, or 0 if unchanged
//!   REPLACE                         yes            row is replaced      2, or 1 if unchanged
//!   UPSERT of all columns           no             row is replaced      1
//!     … with an index               yes            row is replaced      1
//!   UPSERT of some columns          yes            columns are written  1
//! ```
//!
//! A row may collide in the primary key and, with other rows, in each unique index, which are looked
//! at in this order. The first collision counts; REPLACE deletes the rows of all of them, and
//! affects one row and each deleted one, a row of the same key too. UPSERT goes by the primary key
//! alone: a collision in a unique index is error 1062.

use bytes::Bytes;

use super::changer::Changer;
use super::put::is_kept_beside;
use super::row::{self, Stored};
use super::versions::Before;
use super::{Env, Outcome, blind, counted, duplicate_entry, entries, space, warn_of};
use crate::catalog::Table;
use crate::ceiling;
use crate::error::{Error, Result};
use crate::exec::pace::Pace;
use crate::index;
use crate::kv::{Key, Space};
use crate::sql::bound::{Insert, InsertKind, InsertSource, InsertValue};
use crate::sql::eval::eval_exact;
use crate::sql::expr::NoRow;
use crate::types::Value;

/// Bytes of the rows of one INSERT that are asked for at once: a statement of a few short rows need not ask.
const ASKED_BYTES_MIN: usize = 16 << 10;

/// One INSERT at work.
pub(super) struct Inserter<'a> {
    pub(super) insert: &'a Insert,
    pub(super) changer: Changer<'a>,
    pub(super) given: counted::Given,
}

/// A row as proposed: its values by column, its key, and which columns were named.
pub(super) struct Proposed {
    pub(super) values: Vec<Value<'static>>,
    pub(super) key: Key,
    pub(super) id: counted::Id,
    /// Which row of the statement it is, from 1.
    pub(super) number: usize,
}

/// What became of the rows.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) affected: u64,
    pub(super) duplicates: u64,
    pub(super) told: counted::Told,
}

impl Counts {
    /// A row was inserted; it is not seen where a deletion hides it.
    fn inserted(&mut self, row: &Proposed, is_seen: bool) {
        if is_seen {
            self.affected += 1;
            self.told.inserted(row.id);
        }
    }
}

impl<'a> Inserter<'a> {
    pub(super) async fn run(mut self) -> Result<Outcome> {
        let mut counts = Counts {
            told: counted::Told::of(self.table()),
            ..Counts::default()
        };
        let rows = self.proposed_rows(&counts.told).await?;
        let rows_count = rows.len();
        let values = rows.iter().map(|row| row.values.as_slice());
        if blind::may_write((self.insert, values), self.env()) {
            self.lock_if_contended(&rows).await?;
            for row in rows {
                self.given.note(&row.values);
                counts.inserted(&row, true);
                self.put_blindly(row)?;
            }
        } else {
            let old = self.old_rows(&rows).await?;
            let mut pace = Pace::default();
            for (row_idx, (row, old)) in rows.into_iter().zip(old).enumerate() {
                self.env().cancel.check_row(row_idx)?;
                pace.keep().await;
                self.insert_over(&row, old, &mut counts).await?;
            }
        }
        self.given.pass(self.env()).await?;
        Ok(self.outcome(&counts, rows_count))
    }

    fn outcome(&self, counts: &Counts, rows_count: usize) -> Outcome {
        let info = match rows_count {
            1 => String::new(),
            _ => format!(
                "Records: {rows_count}  Duplicates: {}  Warnings: {}",
                counts.duplicates,
                self.env().ctx.warnings.count()
            ),
        };
        Outcome {
            affected_rows: counts.affected,
            last_insert_id: counts.told.first_made,
            other_id: counts.told.last_other,
            info,
            duplicates: counts.duplicates,
        }
    }

    pub(super) fn table(&self) -> &'a Table {
        &self.insert.table
    }

    pub(super) fn env(&self) -> &'a Env {
        self.changer.env
    }

    async fn proposed_rows(&self, told: &counted::Told) -> Result<Vec<Proposed>> {
        let env = self.env();
        let rows_count = match &self.insert.source {
            InsertSource::Values(rows) => rows.len(),
            InsertSource::Query(_) | InsertSource::Given => env.given_rows.len(),
        };
        let mut rows = Vec::with_capacity(rows_count);
        let mut have_made = Vec::with_capacity(rows_count);
        let mut pace = Pace::default();
        let mut unasked_bytes = 0;
        for row_idx in 0..rows_count {
            env.cancel.check_row(row_idx)?;
            pace.keep().await;
            let given = self.given(row_idx)?;
            let (row, is_made) = self.values(given, env.given_before + row_idx + 1)?;
            unasked_bytes += row.iter().map(Value::memory_bytes).sum::<usize>();
            if ASKED_BYTES_MIN <= unasked_bytes {
                ceiling::drip("INSERT", unasked_bytes)?;
                unasked_bytes = 0;
            }
            rows.push(row);
            have_made.push(is_made);
        }
        row::fill_ids(self.table(), &mut rows, env);
        counted::fill(self.table(), &mut rows, env).await?;
        let keyed = rows.into_iter().zip(have_made).zip(env.given_before + 1..);
        let keyed = keyed.map(|((mut values, is_made), row_number)| {
            self.table().fill_spread(&mut values)?;
            let key = row::key(self.table(), &values)?;
            let number = told.number(&values);
            let id = counted::Id { number, is_made };
            Ok(Proposed {
                values,
                key,
                id,
                number: row_number,
            })
        });
        keyed.collect()
    }

    /// What is given for the columns of a row: `None` for a default.
    fn given(&self, row_idx: usize) -> Result<Vec<Option<Value<'a>>>> {
        let ctx = &self.env().ctx;
        let value = |given: &'a InsertValue| match given {
            InsertValue::Expr(expr) => Ok(Some(eval_exact(expr, &NoRow, ctx)?)),
            InsertValue::Default => Ok(None),
        };
        match &self.insert.source {
            InsertSource::Values(rows) => {
                let row = rows.get(row_idx).map_or(&[][..], Vec::as_slice);
                row.iter().map(value).collect()
            }
            InsertSource::Query(_) | InsertSource::Given => {
                let row = self.env().given_rows.get(row_idx);
                let row = row.map_or(&[][..], Vec::as_slice);
                Ok(row.iter().map(|value| Some(value.borrow())).collect())
            }
        }
    }

    /// The values of all columns of one row: given ones coerced, the others from their defaults; and
    /// whether its `AUTO_INCREMENT` id is made.
    fn values(
        &self,
        given: Vec<Option<Value<'_>>>,
        row_number: usize,
    ) -> Result<(Vec<Value<'static>>, bool)> {
        let table = self.table();
        let at = Stored {
            ctx: &self.env().ctx,
            row_number,
            lenient: self.is_lenient(),
        };
        let mut values: Vec<Option<Value<'static>>> = vec![None; table.columns.len()];
        for (column_idx, given) in self.insert.columns.iter().zip(given) {
            let (Some(column), Some(slot)) =
                (table.columns.get(*column_idx), values.get_mut(*column_idx))
            else {
                continue;
            };
            if let Some(value) = given
                && !row::asks_for_id(column, &value, &self.env().ctx)
            {
                let lenient = at.lenient && !(value.is_null() && self.refuses_null());
                let value = Stored { lenient, ..at }.coerce(value, column)?;
                // A text may be zero, too.
                *slot = Some(value).filter(|value| !row::asks_for_id(column, value, at.ctx));
            }
        }
        let mut complete = Vec::with_capacity(values.len());
        let mut is_made = false;
        for (column, value) in table.columns.iter().zip(values) {
            is_made |= value.is_none() && column.auto_increment && !column.hidden;
            complete.push(match value {
                Some(value) => value,
                // They follow from the others.
                None if is_kept_beside(column.place) || column.spread.is_some() => Value::Null,
                // To be filled in when it is known how many there are.
                None if column.auto_increment || column.is_row_id() => Value::Null,
                None => at.default_of(column)?,
            });
        }
        self.renewal().stamp(table, &mut complete)?;
        Ok((complete, is_made))
    }

    /// Whether `NULL` for a NOT NULL column is an error outside strict mode too: in a statement of
    /// one row (MySQL manual, "Data Type Default Values").
    pub(super) fn refuses_null(&self) -> bool {
        self.insert.source.values().len() == 1 && self.insert.kind != InsertKind::InsertIgnore
    }

    pub(super) fn is_lenient(&self) -> bool {
        self.insert.kind == InsertKind::InsertIgnore || !self.env().ctx.mode.strict
    }

    /// Blind writes need no locks for correctness; but where a transaction holds the row they
    /// queue behind it instead of making its commit fail.
    async fn lock_if_contended(&mut self, rows: &[Proposed]) -> Result<()> {
        let transaction = &self.changer.transaction;
        // What was read must be unchanged: who begins again because it is not holds the rows from then on.
        let has_read = transaction.has_snapshot();
        if self.env().autocommit && !has_read && transaction.are_locks_idle() {
            return Ok(());
        }
        self.changer.lock_all(&self.places(rows)?).await
    }

    /// What the rows are locked by: their keys, then their entries in unique indexes.
    fn places(&self, rows: &[Proposed]) -> Result<Vec<(Space, Key)>> {
        let at = space(self.table());
        let row_keys = sorted_keys(rows).into_iter();
        let mut places: Vec<_> = row_keys.map(|key| (at, key.clone())).collect();
        places.extend(self.unique_keys(rows)?);
        Ok(places)
    }

    /// The entries in unique indexes that the rows ask for, in order.
    fn unique_keys(&self, rows: &[Proposed]) -> Result<Vec<(Space, Key)>> {
        let mut keys = Vec::new();
        for index in &self.table().indexes {
            if index.unique && index.state.is_written() {
                for row in rows {
                    let key = entries::unique_key(self.table(), index, &row.values)?;
                    keys.extend(key.map(|key| (index::space(index), key)));
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    fn put_blindly(&mut self, row: Proposed) -> Result<()> {
        if self.insert.kind == InsertKind::Insert {
            return self.changer.put_new(row.key, &row.values);
        }
        self.changer.writes.ask()?;
        let value = row::value(self.table(), &row.values)?;
        let space = space(self.table());
        if self.changer.transaction.has_snapshot() {
            // What the transaction has read may be what it writes now.
            self.changer
                .writes
                .must_be_unchanged(space, row.key.clone());
        }
        self.changer.writes.put(space, row.key, value);
        self.changer.writes.grow(space, None);
        Ok(())
    }

    /// The rows that are there under the proposed keys, locked; each key is read once. So are the
    /// entries of unique indexes.
    async fn old_rows(&mut self, rows: &[Proposed]) -> Result<Vec<Option<Bytes>>> {
        let space = space(self.table());
        let keys: Vec<Key> = sorted_keys(rows).into_iter().cloned().collect();
        self.changer.lock_all(&self.places(rows)?).await?;
        let view = self.changer.transaction.view();
        let values = view.rows(space, &keys, &self.env().cancel).await?;
        self.changer.read_entries(&self.unique_keys(rows)?).await?;
        self.changer.read_deletions(&keys).await?;
        let old = rows.iter().map(|row| {
            let position = keys.binary_search(&row.key).ok()?;
            values.get(position)?.clone()
        });
        Ok(old.collect())
    }

    async fn insert_over(
        &mut self,
        row: &Proposed,
        stored: Option<Bytes>,
        counts: &mut Counts,
    ) -> Result<()> {
        let at = space(self.table());
        let own = self.changer.own_value(at, &row.key);
        if own.is_none() {
            // A key that this transaction itself deleted is in the snapshot still: so also what is
            // not there must be unchanged, rather than absent.
            self.changer.writes.must_be_unchanged(at, row.key.clone());
        }
        let old = own.unwrap_or(stored);
        let old = old.map(|old| self.changer.values(&row.key, &old));
        let old = old.transpose()?;
        match self.insert.kind {
            InsertKind::Insert | InsertKind::InsertIgnore => {
                self.insert_or_meet(row, old, counts).await
            }
            InsertKind::Replace => self.replace(row, old, counts).await,
            InsertKind::Upsert => self.upsert(row, old, counts).await,
        }
    }

    /// INSERT, which may meet one row that is there.
    async fn insert_or_meet(
        &mut self,
        row: &Proposed,
        old: Option<Vec<Value<'static>>>,
        counts: &mut Counts,
    ) -> Result<()> {
        let collision = match old {
            Some(_) => None,
            None => self.changer.collision(&row.key, &row.values).await?,
        };
        if old.is_none() && collision.is_none() {
            return match self.write(row, None).await {
                Err(error) if self.changer.is_surely_there(&error) => self.refuse(error, counts),
                Err(error) => Err(error),
                Ok(is_seen) => {
                    self.given.note(&row.values);
                    counts.inserted(row, is_seen);
                    Ok(())
                }
            };
        }
        if self.insert.on_duplicate.is_empty() {
            let (at, key) = match &collision {
                Some(met) => (met.space, &met.entry_key),
                None => (space(self.table()), &row.key),
            };
            let error = duplicate_entry(self.table(), at, key, &self.changer.env.ctx.zone);
            return self.refuse(error, counts);
        }
        match (old, collision) {
            (Some(old), _) => self.update(row, (&row.key, &old), counts).await,
            (None, Some(met)) => {
                let old = self.changer.row_of(&met).await?;
                self.update(row, (&met.row_key, &old), counts).await
            }
            (None, None) => Ok(()),
        }
    }

    /// Fails, or with IGNORE leaves the row out.
    fn refuse(&self, error: Error, counts: &mut Counts) -> Result<()> {
        if self.insert.kind != InsertKind::InsertIgnore {
            return Err(error);
        }
        counts.duplicates += 1;
        warn_of(&error, self.env());
        Ok(())
    }

    /// `ON DUPLICATE KEY UPDATE` of the row that is met.
    async fn update(
        &mut self,
        row: &Proposed,
        (key, old): (&Key, &[Value<'static>]),
        counts: &mut Counts,
    ) -> Result<()> {
        if *key != row.key {
            self.check_key_stays(old, row)?;
        }
        let new = self.updated(old, row)?;
        let new = self.dated(old, new)?;
        if row::same(&new, old) {
            counts.affected += u64::from(self.env().found_rows);
            return Ok(());
        }
        match self.changer.change(key, Some(old), Some(&new)).await {
            Err(error) if self.changer.is_surely_there(&error) => self.refuse(error, counts),
            other => {
                counts.duplicates += 1;
                counts.affected += 2;
                counts.told.changed(&new);
                other
            }
        }
    }

    async fn upsert(
        &mut self,
        row: &Proposed,
        old: Option<Vec<Value<'static>>>,
        counts: &mut Counts,
    ) -> Result<()> {
        self.given.note(&row.values);
        let Some(old) = old else {
            counts.inserted(row, self.write(row, None).await?);
            return Ok(());
        };
        let mut merged = old.clone();
        for column_idx in &self.insert.columns {
            if let (Some(slot), Some(value)) =
                (merged.get_mut(*column_idx), row.values.get(*column_idx))
            {
                *slot = value.clone();
            }
        }
        self.renewal().stamp(self.table(), &mut merged)?;
        let before = Before {
            values: Some(&old),
            deletion: None,
        };
        let names = |idx| self.insert.columns.contains(&idx);
        let Some(merged) = self.changer.written(before, merged, &names)? else {
            return Ok(());
        };
        counts.affected += 1;
        counts.told.merged(row.id, &merged);
        if row::same(&merged, &old) {
            return Ok(());
        }
        self.changer
            .change(&row.key, Some(&old), Some(&merged))
            .await
    }
}

/// In key order, so that statements that lock the same rows do not lock each other out.
fn sorted_keys(rows: &[Proposed]) -> Vec<&Key> {
    let mut keys: Vec<&Key> = rows.iter().map(|row| &row.key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}
