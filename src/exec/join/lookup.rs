//! Lookup joins: for a batch of rows, the rows of a table by keys that they give.
//!
//! Each row is planned like a statement with constants. Those that lead to one key each, the common
//! case, are fetched together by one multi-get.

use super::rows::{Frame, add_matches};
use super::shape::{Batch, JoinedRow, Row};
use super::unit::{TableRows, table_of};
use crate::error::{Error, Result};
use crate::exec::row::StoredRow;
use crate::exec::sample::space_of;
use crate::kv::Key;
use crate::plan::join::{self, Lookup, Step, UnitRows};
use crate::plan::{Access, TablePlan};
use crate::sql::bound::KeyRef;
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::eval::{eval_condition, eval_exact};
use crate::sql::expr::Expr;

/// What a batch of rows led to.
pub(super) struct Found {
    pub(super) batch: Batch,
    /// Rows fetched from the engine.
    pub(super) rows_read: u64,
}

/// What is known of one row's matches.
enum Matches {
    /// They are under this key, if they meet this.
    Key(usize, Option<Expr>),
    /// They are these.
    Rows(Batch),
}

/// Joins a batch of rows with what is looked up for each of them.
pub(super) async fn lookup(
    (step, lookup): (&Step, &Lookup),
    rows: Batch,
    frame: &Frame<'_>,
) -> Result<Found> {
    let UnitRows::Source(source_idx) = step.unit else {
        return Err(Error::internal("a lookup in what is no table"));
    };
    let mut ctx = frame.ctx.nested();
    let mut keys: Vec<Key> = Vec::with_capacity(rows.len());
    let mut matches = Vec::with_capacity(rows.len());
    let mut rows_read = 0;
    for (row_idx, row) in rows.iter().enumerate() {
        frame.nest.cancel.check_row(row_idx)?;
        let plan = plan_for(row, (source_idx, lookup), (frame, &mut ctx))?;
        match plan.access {
            Access::Nothing => matches.push(Matches::Rows(Vec::new())),
            Access::PointGet(get) => {
                matches.push(Matches::Key(keys.len(), plan.residual));
                keys.push(get.key);
            }
            Access::MultiGet(_)
            | Access::PrefixScan(_)
            | Access::Index(_)
            | Access::Ends(_)
            | Access::Merge(_)
            | Access::FullScan => {
                let (found, read) = read_all(source_idx, plan, frame).await?;
                rows_read += read;
                matches.push(Matches::Rows(found));
            }
        }
    }
    rows_read += u64::try_from(keys.len()).unwrap_or(u64::MAX);
    let fetched = fetch(source_idx, &keys, frame).await?;
    let mut batch = Vec::with_capacity(rows.len());
    for (row, matches) in rows.into_iter().zip(matches) {
        let to = (frame, &mut batch);
        match matches {
            Matches::Rows(found) => add_matches(step, (row, found.iter()), to)?,
            Matches::Key(key_idx, residual) => {
                let found = fetched.row(key_idx, (source_idx, residual.as_ref()), frame)?;
                add_matches(step, (row, found.iter()), to)?;
            }
        }
    }
    Ok(Found { batch, rows_read })
}

/// How the matches of one row are read.
fn plan_for(
    row: &Row,
    (source_idx, lookup): (usize, &Lookup),
    (frame, ctx): (&Frame<'_>, &mut EvalContext),
) -> Result<TablePlan> {
    let joined = JoinedRow::new(frame.shape, row);
    for capture in &lookup.captures {
        let value = eval_exact(&capture.expr, &joined, frame.ctx)?.into_owned();
        ctx.fill(capture.slot, SlotValue::Value(value));
    }
    let mut setting = frame.setting();
    setting.wanted = join::Wanted::default();
    join::table_plan(&setting, source_idx, (lookup.filter.as_ref(), ctx), false)
}

async fn read_all(source_idx: usize, plan: TablePlan, frame: &Frame<'_>) -> Result<(Batch, u64)> {
    let mut rows = TableRows::open(source_idx, plan, frame)?;
    let mut all = Vec::new();
    while let Some(mut batch) = rows.next(frame).await? {
        frame.nest.cancel.check()?;
        all.append(&mut batch);
    }
    Ok((all, rows.rows_read()))
}

/// The values under some keys.
struct Fetched<'k> {
    keys: &'k [Key],
    values: Vec<Option<bytes::Bytes>>,
}

async fn fetch<'k>(source_idx: usize, keys: &'k [Key], frame: &Frame<'_>) -> Result<Fetched<'k>> {
    let (table, _) = table_of(frame.shape, source_idx)?;
    let values = if keys.is_empty() {
        Vec::new()
    } else {
        let space = space_of(table, KeyRef::Primary);
        frame.nest.view.multi_get(space, keys).await?
    };
    Ok(Fetched { keys, values })
}

impl Fetched<'_> {
    /// The row under a key, if there is one and it meets the residual filter.
    fn row(
        &self,
        key_idx: usize,
        (source_idx, residual): (usize, Option<&Expr>),
        frame: &Frame<'_>,
    ) -> Result<Option<Row>> {
        let (Some(key), Some(Some(value))) = (self.keys.get(key_idx), self.values.get(key_idx))
        else {
            return Ok(None);
        };
        let (table, layout) = table_of(frame.shape, source_idx)?;
        let stored = StoredRow::parse(table, layout, key, value)?;
        if let Some(residual) = residual
            && eval_condition(residual, &stored, frame.ctx)? != Some(true)
        {
            return Ok(None);
        }
        let mut row = frame.shape.empty_row();
        let piece = frame.shape.piece_of_stored(source_idx, &stored)?;
        if let Some(place) = row.get_mut(source_idx) {
            *place = Some(piece);
        }
        Ok(Some(row))
    }
}
