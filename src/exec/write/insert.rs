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
//!   UPSERT of some columns          yes            columns are written  1
//! ```

use bytes::Bytes;

use super::row::{self, Stored};
use super::{Env, Outcome, duplicate_entry, space};
use crate::catalog::Table;
use crate::error::Result;
use crate::exec::pace::Pace;
use crate::exec::row::{Layout, PairRow, StoredRow};
use crate::exec::transaction::{StatementWrites, Transaction};
use crate::kv::Key;
use crate::sql::bound::{Insert, InsertKind, InsertValue};
use crate::sql::context::WarningLevel;
use crate::sql::eval::eval_exact;
use crate::sql::expr::NoRow;
use crate::types::Value;

/// One INSERT at work.
pub(super) struct Inserter<'a> {
    pub(super) insert: &'a Insert,
    pub(super) layout: &'a Layout,
    pub(super) env: &'a Env,
    pub(super) transaction: &'a mut Transaction,
    pub(super) writes: &'a mut StatementWrites,
}

/// A row as proposed: its values by column, its key, and which columns were named.
struct Proposed {
    values: Vec<Value<'static>>,
    key: Key,
}

/// What became of the rows.
#[derive(Debug, Default)]
struct Counts {
    affected: u64,
    duplicates: u64,
    first_id: u64,
}

impl Inserter<'_> {
    pub(super) async fn run(mut self) -> Result<Outcome> {
        let mut counts = Counts::default();
        let rows = self.proposed_rows(&mut counts).await?;
        let rows_count = rows.len();
        if is_blind(self.insert, self.env) {
            self.lock_if_contended(&rows).await?;
            for row in rows {
                self.insert_blindly(row)?;
                counts.affected += 1;
            }
        } else {
            let old = self.old_rows(&rows).await?;
            let mut pace = Pace::default();
            for (row_idx, (row, old)) in rows.into_iter().zip(old).enumerate() {
                self.env.cancel.check_row(row_idx)?;
                pace.keep().await;
                self.insert_over(&row, old, &mut counts)?;
            }
        }
        Ok(self.outcome(&counts, rows_count))
    }

    fn outcome(&self, counts: &Counts, rows_count: usize) -> Outcome {
        let info = match rows_count {
            1 => String::new(),
            _ => format!(
                "Records: {rows_count}  Duplicates: {}  Warnings: {}",
                counts.duplicates,
                self.env.ctx.warnings.count()
            ),
        };
        Outcome {
            affected_rows: counts.affected,
            last_insert_id: counts.first_id,
            info,
        }
    }

    fn table(&self) -> &Table {
        &self.insert.table
    }

    async fn proposed_rows(&self, counts: &mut Counts) -> Result<Vec<Proposed>> {
        let mut rows = Vec::with_capacity(self.insert.rows.len());
        let mut pace = Pace::default();
        for (row_idx, given) in self.insert.rows.iter().enumerate() {
            self.env.cancel.check_row(row_idx)?;
            pace.keep().await;
            let values = self.values(given, row_idx + 1, counts)?;
            let key = row::key(self.table(), &values)?;
            rows.push(Proposed { values, key });
        }
        Ok(rows)
    }

    /// The values of all columns of one row: given ones coerced, the others from their defaults.
    fn values(
        &self,
        given: &[InsertValue],
        row_number: usize,
        counts: &mut Counts,
    ) -> Result<Vec<Value<'static>>> {
        let table = self.table();
        let at = Stored {
            ctx: &self.env.ctx,
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
            if let InsertValue::Expr(expr) = given {
                let value = eval_exact(expr, &NoRow, &self.env.ctx)?;
                if !row::asks_for_id(column, &value, &self.env.ctx) {
                    let lenient = at.lenient && !(value.is_null() && self.refuses_null());
                    *slot = Some(Stored { lenient, ..at }.coerce(value, column)?);
                }
            }
        }
        let mut complete = Vec::with_capacity(values.len());
        for (column, value) in table.columns.iter().zip(values) {
            complete.push(match value {
                Some(value) => value,
                None if column.auto_increment || column.hidden => self.new_id(column, counts),
                None => at.default_of(column)?,
            });
        }
        Ok(complete)
    }

    /// Whether `NULL` for a NOT NULL column is an error outside strict mode too: in a statement of
    /// one row (MySQL manual, "Data Type Default Values").
    fn refuses_null(&self) -> bool {
        self.insert.rows.len() == 1 && self.insert.kind != InsertKind::InsertIgnore
    }

    fn is_lenient(&self) -> bool {
        self.insert.kind == InsertKind::InsertIgnore || !self.env.ctx.mode.strict
    }

    fn new_id(&self, column: &crate::catalog::Column, counts: &mut Counts) -> Value<'static> {
        let id = self.env.ids.next();
        if !column.hidden && counts.first_id == 0 {
            counts.first_id = id.unsigned_abs();
        }
        row::id_value(id, &column.ty)
    }

    /// Blind writes need no locks for correctness; but where a transaction holds the row they
    /// queue behind it instead of making its commit fail.
    async fn lock_if_contended(&mut self, rows: &[Proposed]) -> Result<()> {
        if self.env.autocommit && self.transaction.are_locks_idle() {
            return Ok(());
        }
        let space = space(&self.insert.table);
        for (row_idx, key) in sorted_keys(rows).into_iter().enumerate() {
            self.env.cancel.check_row(row_idx)?;
            self.transaction.lock(space, key, &self.env.cancel).await?;
        }
        Ok(())
    }

    fn insert_blindly(&mut self, row: Proposed) -> Result<()> {
        let space = space(&self.insert.table);
        let value = row::value(self.table(), &row.values)?;
        if self.insert.kind == InsertKind::Insert {
            let put = self.writes.put_new(space, row.key, value);
            return put.map_err(|key| duplicate_entry(self.table(), &key));
        }
        self.writes.put(space, row.key, value);
        Ok(())
    }

    /// The rows that are there under the proposed keys, locked; each key is read once.
    async fn old_rows(&mut self, rows: &[Proposed]) -> Result<Vec<Option<Bytes>>> {
        let space = space(&self.insert.table);
        let keys: Vec<Key> = sorted_keys(rows).into_iter().cloned().collect();
        for (row_idx, key) in keys.iter().enumerate() {
            self.env.cancel.check_row(row_idx)?;
            self.transaction.lock(space, key, &self.env.cancel).await?;
        }
        let values = self.transaction.view().multi_get(space, &keys).await?;
        let old = rows.iter().map(|row| {
            let position = keys.binary_search(&row.key).ok()?;
            values.get(position)?.clone()
        });
        Ok(old.collect())
    }

    fn insert_over(
        &mut self,
        row: &Proposed,
        stored: Option<Bytes>,
        counts: &mut Counts,
    ) -> Result<()> {
        let space = space(&self.insert.table);
        let own = self
            .writes
            .get(space, &row.key)
            .map(Option::<&Bytes>::cloned);
        if own.is_none() {
            match &stored {
                Some(_) => self.writes.must_be_unchanged(space, row.key.clone()),
                None => self.require_absent(&row.key),
            }
        }
        let Some(old) = own.unwrap_or(stored) else {
            counts.affected += 1;
            return self.put(&row.key, &row.values);
        };
        let old = StoredRow::parse(&self.insert.table, self.layout, &row.key, &old)?.to_values()?;
        self.meet(row, &old, counts)
    }

    /// A key that this transaction itself deleted is in the snapshot still: then it must be
    /// unchanged there, else absent.
    fn require_absent(&mut self, key: &Key) {
        let space = space(&self.insert.table);
        self.writes.must_be_unchanged(space, key.clone());
    }

    /// Decides what a proposed row does to the row it meets.
    fn meet(&mut self, row: &Proposed, old: &[Value<'static>], counts: &mut Counts) -> Result<()> {
        match self.insert.kind {
            InsertKind::Insert if self.insert.on_duplicate.is_empty() => {
                Err(duplicate_entry(self.table(), &row.key))
            }
            InsertKind::InsertIgnore if self.insert.on_duplicate.is_empty() => {
                counts.duplicates += 1;
                let error = duplicate_entry(self.table(), &row.key);
                let text = error.message().to_owned();
                self.env
                    .ctx
                    .warnings
                    .add(WarningLevel::Warning, error.code(), || text);
                Ok(())
            }
            InsertKind::Insert | InsertKind::InsertIgnore => {
                let new = self.updated(old, &row.values)?;
                let changed = !row::same(&new, old);
                counts.duplicates += u64::from(changed);
                counts.affected += match (changed, self.env.found_rows) {
                    (true, _) => 2,
                    (false, true) => 1,
                    (false, false) => 0,
                };
                self.put_changed(row, &new, old)
            }
            InsertKind::Replace => {
                let changed = !row::same(&row.values, old);
                counts.duplicates += u64::from(changed);
                counts.affected += if changed { 2 } else { 1 };
                self.put_changed(row, &row.values, old)
            }
            InsertKind::Upsert => {
                let mut merged = old.to_vec();
                for column_idx in &self.insert.columns {
                    if let (Some(slot), Some(value)) =
                        (merged.get_mut(*column_idx), row.values.get(*column_idx))
                    {
                        *slot = value.clone();
                    }
                }
                counts.affected += 1;
                self.put_changed(row, &merged, old)
            }
        }
    }

    /// The row after `ON DUPLICATE KEY UPDATE`.
    fn updated(
        &self,
        old: &[Value<'static>],
        proposed: &[Value<'static>],
    ) -> Result<Vec<Value<'static>>> {
        let at = Stored {
            ctx: &self.env.ctx,
            row_number: 1,
            lenient: self.is_lenient(),
        };
        let mut new = old.to_vec();
        for (column_idx, expr) in &self.insert.on_duplicate {
            let pair = PairRow {
                old: &new,
                new: proposed,
            };
            let value = eval_exact(expr, &pair, &self.env.ctx)?.into_owned();
            let Some(column) = self.insert.table.columns.get(*column_idx) else {
                continue;
            };
            let value = at.coerce(value, column)?;
            if let Some(slot) = new.get_mut(*column_idx) {
                *slot = value;
            }
        }
        if !row::same(&new, old) {
            row::touch(&self.insert.table, &mut new, old, &self.env.ctx)?;
        }
        Ok(new)
    }

    /// Writes a row that was there, unless it stays as it is.
    fn put_changed(
        &mut self,
        row: &Proposed,
        new: &[Value<'static>],
        old: &[Value<'static>],
    ) -> Result<()> {
        if row::same(new, old) {
            return Ok(());
        }
        self.put(&row.key, new)
    }

    fn put(&mut self, key: &Key, values: &[Value<'static>]) -> Result<()> {
        let value = row::value(&self.insert.table, values)?;
        self.writes
            .put(space(&self.insert.table), key.clone(), value);
        Ok(())
    }
}

/// In key order, so that statements that lock the same rows do not lock each other out.
fn sorted_keys(rows: &[Proposed]) -> Vec<&Key> {
    let mut keys: Vec<&Key> = rows.iter().map(|row| &row.key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Whether no old row is needed.
pub fn is_blind(insert: &Insert, env: &Env) -> bool {
    match insert.kind {
        InsertKind::Insert => env.autocommit && insert.on_duplicate.is_empty(),
        InsertKind::Upsert => names_every_column(insert),
        InsertKind::InsertIgnore | InsertKind::Replace => false,
    }
}

/// Whether every column of the table is given a value, so that nothing old can remain.
fn names_every_column(insert: &Insert) -> bool {
    let columns_count = insert.table.columns.len();
    (0..columns_count).all(|column_idx| insert.columns.contains(&column_idx))
}
