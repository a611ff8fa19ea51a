//! Lookup joins: for a batch of rows, the rows of a table by keys that they give.
//!
//! Each row is planned like a statement with constants, the short way where there is one. Those that lead
//! to one key or to one range of keys each, the common cases, are looked up together (`probes`); the
//! matches of any other row are read page by page.

use std::sync::Arc;

use super::probed::Probed;
use super::probes::{Extent, Probes};
use super::rows::{BATCH_ROWS, Frame, add_matches};
use super::shape::{Batch, JoinedRow, Row};
use super::unit::{TableRows, table_of};
use crate::error::{Error, Result};
use crate::exec::pace::Pace;
use crate::plan::join::{self, Lookup, ShortLookup, Step, UnitRows};
use crate::plan::{Access, TablePlan};
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::eval::{eval_exact, fold};
use crate::sql::expr::{CastType, Expr, ExprKind};

/// What some rows led to.
#[derive(Default)]
pub(super) struct Found {
    pub(super) batch: Batch,
    /// Rows fetched from the engine.
    pub(super) rows_read: u64,
}

/// A lookup at work. In memory are a batch of rows with what they led to, and a page of the matches of
/// one row.
#[derive(Default)]
pub(super) struct Matches {
    extent: Extent,
    probed: Option<Probed>,
    current: Option<Box<Current>>,
    /// A row that does not go with those before it.
    next: Option<Box<(Row, TablePlan)>>,
    planning: Planning,
}

/// A row that is not looked up together with others.
struct Current {
    row: Row,
    found: TableRows,
    is_matched: bool,
}

impl Matches {
    /// Whether a row is not joined to its end.
    pub(super) fn has_more(&self) -> bool {
        self.current.is_some() || self.probed.is_some() || self.next.is_some()
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
            } else if let Some(probed) = &mut self.probed {
                if !probed.advance(step, frame, &mut found).await? {
                    self.probed = None;
                }
            } else if self.next.is_some() || !waiting.as_slice().is_empty() {
                self.begin((step, lookup), waiting, frame).await?;
            } else {
                break;
            }
        }
        Ok(found)
    }

    /// Looks up the next rows that go together, or begins with one that goes with no other.
    async fn begin(
        &mut self,
        (step, lookup): (&Step, &Lookup),
        waiting: &mut std::vec::IntoIter<Row>,
        frame: &Frame<'_>,
    ) -> Result<()> {
        let UnitRows::Source(source_idx) = step.unit else {
            return Err(Error::internal("a lookup in what is no table"));
        };
        let (table, _) = table_of(frame.shape, source_idx)?;
        let mut probes = Probes::new(table.wide.reading.is_some());
        if let Some((row, plan)) = self.next.take().map(|next| *next)
            && let Some(alone) = probes.add(row, plan)
        {
            let (row, plan) = *alone;
            self.current = Some(Box::new(Current {
                row,
                found: TableRows::open(source_idx, plan, frame)?,
                is_matched: false,
            }));
            return Ok(());
        }
        let mut ctx = frame.ctx.nested();
        let rows = waiting.by_ref().take(self.extent.rows_max()).enumerate();
        let mut pace = Pace::default();
        for (row_idx, row) in rows {
            frame.nest.cancel.check_row(row_idx)?;
            pace.keep().await;
            let at = (source_idx, lookup);
            let plan = self.planning.plan_for(&row, at, (frame, &mut ctx))?;
            self.next = probes.add(row, plan);
            if self.next.is_some() {
                break;
            }
        }
        let looked_up = (source_idx, &mut self.extent);
        self.probed = Some(probes.read(looked_up, frame).await?);
        Ok(())
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

/// How the matches of rows are read.
#[derive(Default)]
struct Planning {
    /// The short way, where the first plan that reads something has shown one.
    short: Option<ShortLookup>,
    is_begun: bool,
    /// The index whose use was noted last, by its position.
    noted: Option<usize>,
}

impl Planning {
    /// How the matches of one row are read.
    fn plan_for(
        &mut self,
        row: &Row,
        (source_idx, lookup): (usize, &Lookup),
        (frame, ctx): (&Frame<'_>, &mut EvalContext),
    ) -> Result<TablePlan> {
        let joined = JoinedRow::new(frame.shape, row);
        for capture in &lookup.captures {
            let value = eval_exact(&capture.expr, &joined, frame.ctx)?.into_owned();
            ctx.fill(capture.slot, SlotValue::Value(Arc::new(value)));
        }
        let (table, _) = table_of(frame.shape, source_idx)?;
        if let Some(short) = &self.short
            && let Some(plan) = short.plan(table, ctx)?
        {
            return Ok(plan);
        }
        let mut setting = frame.setting();
        setting.wanted = join::Wanted::default();
        let mut plan =
            join::table_plan(&setting, source_idx, (lookup.filter.as_ref(), ctx), false)?;
        if let Some(residual) = &mut plan.residual {
            put_captured(residual, lookup, ctx)?;
        }
        if !self.is_begun && !matches!(plan.access, Access::Nothing) {
            self.is_begun = true;
            if let Some(filter) = &lookup.filter {
                let place = (&setting, source_idx);
                self.short = ShortLookup::of(place, (filter, ctx), &plan)?;
            }
        }
        if let Access::Index(access) = &plan.access
            && self.noted != Some(access.position)
        {
            self.noted = Some(access.position);
            frame.nest.uses.note(table, &plan, frame.ctx.now);
        }
        Ok(plan)
    }
}

/// Puts what was read of the row where a condition asks for it of each row that is found: a text beside a date that is
/// no date, which as a literal would be an error.
fn put_captured(expr: &mut Expr, lookup: &Lookup, ctx: &EvalContext) -> Result<()> {
    if let ExprKind::Slot(slot) = &expr.kind {
        if lookup.captures.iter().any(|one| one.slot == slot.idx) {
            let value = ctx.slot(slot)?.into_owned();
            let literal = Expr {
                kind: ExprKind::Literal(value),
                ..expr.clone()
            };
            expr.kind = ExprKind::Cast(Box::new(literal), CastType::AsIs);
        }
        return Ok(());
    }
    let mut put = Ok(());
    fold::each_child_mut(expr, &mut |child| {
        if put.is_ok() {
            put = put_captured(child, lookup, ctx);
        }
    });
    put
}
