//! Lookup joins: for a batch of rows, the rows of a table by keys that they give.
//!
//! Each row is planned like a statement with constants. Those that lead to one key each, the common
//! case, are fetched together by one multi-get; the matches of any other row are read page by page.

use super::rows::{Frame, add_all, add_matches};
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

/// Rows that are looked up together, and joined rows that are enough to hand on.
const BATCH_ROWS: usize = 1024;

/// What some rows led to.
#[derive(Default)]
pub(super) struct Found {
    pub(super) batch: Batch,
    /// Rows fetched from the engine.
    pub(super) rows_read: u64,
}

/// A lookup at work. In memory are a batch of rows with one match each at most, and a page of the
/// matches of one row.
#[derive(Default)]
pub(super) struct Matches {
    current: Option<Box<Current>>,
}

/// A row that leads to more than one key.
struct Current {
    row: Row,
    found: TableRows,
    is_matched: bool,
}

/// Rows that lead to one key each, or to none.
#[derive(Default)]
struct Points {
    /// Whether a key may lead to several rows: the versions of one.
    multiplies: bool,
    rows: Vec<(Row, Option<Point>)>,
    keys: Vec<Key>,
}

/// Where a row's match is, and what it must meet.
struct Point {
    key_idx: usize,
    residual: Option<Expr>,
}

impl Matches {
    /// Whether a row is not joined to its end.
    pub(super) fn has_more(&self) -> bool {
        self.current.is_some()
    }

    /// Joins some of the rows that wait with what is looked up for them.
    pub(super) async fn next(
        &mut self,
        (step, lookup): (&Step, &Lookup),
        waiting: &mut std::vec::IntoIter<Row>,
        frame: &Frame<'_>,
    ) -> Result<Found> {
        let mut found = Found::default();
        while found.batch.len() < BATCH_ROWS {
            if let Some(current) = self.current.take() {
                self.current = current.advance(step, frame, &mut found).await?;
            } else if !waiting.as_slice().is_empty() {
                self.begin((step, lookup), (waiting, frame), &mut found)
                    .await?;
            } else {
                break;
            }
        }
        Ok(found)
    }

    /// Joins the next rows that lead to one key each, and begins one that does not.
    async fn begin(
        &mut self,
        (step, lookup): (&Step, &Lookup),
        (waiting, frame): (&mut std::vec::IntoIter<Row>, &Frame<'_>),
        to: &mut Found,
    ) -> Result<()> {
        let UnitRows::Source(source_idx) = step.unit else {
            return Err(Error::internal("a lookup in what is no table"));
        };
        let mut ctx = frame.ctx.nested();
        let (table, _) = table_of(frame.shape, source_idx)?;
        let mut points = Points {
            multiplies: table.wide.reading.is_some(),
            ..Points::default()
        };
        let rows = waiting.by_ref().take(BATCH_ROWS).enumerate();
        for (row_idx, row) in rows {
            frame.nest.cancel.check_row(row_idx)?;
            let plan = plan_for(&row, (source_idx, lookup), (frame, &mut ctx))?;
            if let Some(plan) = points.add(row, plan) {
                let (row, plan) = *plan;
                self.current = Some(Box::new(Current {
                    row,
                    found: TableRows::open(source_idx, plan, frame)?,
                    is_matched: false,
                }));
                break;
            }
        }
        points.join(step, (source_idx, frame), to).await
    }
}

impl Current {
    /// Joins the row with the next page of its matches; `None` when it was the last.
    async fn advance(
        mut self: Box<Self>,
        step: &Step,
        frame: &Frame<'_>,
        to: &mut Found,
    ) -> Result<Option<Box<Current>>> {
        frame.nest.cancel.check()?;
        let read_before = self.found.rows_read();
        let page = self.found.next(frame).await?;
        to.rows_read += self.found.rows_read() - read_before;
        let Some(page) = page else {
            if step.is_outer && !self.is_matched {
                to.batch.push(self.row);
            }
            return Ok(None);
        };
        self.is_matched |= add_matches(step, (&self.row, page.iter()), (frame, &mut to.batch))?;
        Ok(Some(self))
    }
}

impl Points {
    /// Adds a row by its plan; gives both back when there may be more than one match.
    fn add(&mut self, row: Row, mut plan: TablePlan) -> Option<Box<(Row, TablePlan)>> {
        match std::mem::replace(&mut plan.access, Access::Nothing) {
            Access::Nothing => self.rows.push((row, None)),
            Access::PointGet(get) if !self.multiplies => {
                let point = Point {
                    key_idx: self.keys.len(),
                    residual: plan.residual,
                };
                self.keys.push(get.key);
                self.rows.push((row, Some(point)));
            }
            access @ (Access::PointGet(_)
            | Access::MultiGet(_)
            | Access::PrefixScan(_)
            | Access::Index(_)
            | Access::Count(_)
            | Access::Ends(_)
            | Access::Merge(_)
            | Access::FullScan) => {
                plan.access = access;
                return Some(Box::new((row, plan)));
            }
        }
        None
    }

    /// Fetches all keys at once, and joins each row with its match.
    async fn join(
        self,
        step: &Step,
        (source_idx, frame): (usize, &Frame<'_>),
        to: &mut Found,
    ) -> Result<()> {
        let fetched = fetch(source_idx, &self.keys, frame).await?;
        to.rows_read += u64::try_from(self.keys.len()).unwrap_or(u64::MAX);
        frame.nest.cancel.count_rows(self.keys.len());
        for (row, point) in self.rows {
            let found = match point {
                Some(Point { key_idx, residual }) => {
                    fetched.row(key_idx, (source_idx, residual.as_ref()), frame)?
                }
                None => None,
            };
            add_all(step, (row, found.iter()), (frame, &mut to.batch))?;
        }
        Ok(())
    }
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
        let piece = frame.shape.piece_of_stored(source_idx, &stored)?;
        let row = frame.shape.row_with(source_idx, piece);
        Ok(Some(row))
    }
}
