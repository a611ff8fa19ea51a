//! Conditions of a join that wait for subqueries: these are answered for each row that may be a match.
//!
//! Each join has an asker of its own, one within another join, too: what is answered for a row is only
//! what the condition at hand reads, as the other sources may not be joined yet. A step finds candidates
//! by its method, for many rows together; which of its rows has none that is a match is told here, by
//! the order: candidates come in that of the rows that they are for.

use std::collections::VecDeque;
use std::sync::Arc;

use super::lookup::Found;
use super::rows::Frame;
use super::running::Running;
use super::shape::{Batch, JoinedRow, Row};
use crate::error::{Error, Result};
use crate::exec::ask::{Asker, Needed};
use crate::exec::pace::Pace;
use crate::plan::join::late_slots;
use crate::sql::context::EvalContext;
use crate::sql::eval::eval_condition;
use crate::sql::expr::Expr;

/// A condition that waits for subqueries.
pub(super) struct Late {
    condition: Expr,
    /// The slots of their answers.
    slots: Vec<usize>,
}

impl Late {
    pub(super) fn new(condition: Expr) -> Late {
        Late {
            slots: late_slots(&condition),
            condition,
        }
    }
}

/// Answers the subqueries of a join's conditions.
pub(super) struct Asking {
    asker: Asker,
    ctx: EvalContext,
    pace: Pace,
}

impl Asking {
    pub(super) fn of(frame: &Frame<'_>) -> Result<Asking> {
        let asker = Asker::new(frame.program, frame.nest);
        Ok(Asking {
            asker: asker.ok_or_else(|| Error::internal("a condition that waits for nothing"))?,
            ctx: frame.ctx.nested(),
            pace: Pace::default(),
        })
    }

    async fn is_met(&mut self, late: &Late, row: &Row, frame: &Frame<'_>) -> Result<bool> {
        self.pace.keep().await;
        frame.nest.cancel.check()?;
        let row = JoinedRow::new(frame.shape, row);
        let needed = Needed::Slots(&late.slots);
        self.asker.answer(needed, &row, &mut self.ctx).await?;
        Ok(eval_condition(&late.condition, &row, &self.ctx)? == Some(true))
    }

    /// The rows of a batch that meet a condition.
    pub(super) async fn kept(
        &mut self,
        late: &Late,
        batch: Batch,
        frame: &Frame<'_>,
    ) -> Result<Batch> {
        let mut kept = Vec::new();
        for row in batch {
            if self.is_met(late, &row, frame).await? {
                kept.push(row);
            }
        }
        Ok(kept)
    }
}

/// What makes a match at a step, besides what its method sees to.
pub(super) struct Matching<'a> {
    pub(super) asking: &'a mut Asking,
    pub(super) late: &'a Late,
    /// Whether a row without a match is kept.
    pub(super) keeps_alone: bool,
}

impl Matching<'_> {
    /// Adds those of a row's candidates that are matches. Whether there are any.
    pub(super) async fn add(
        &mut self,
        candidates: Batch,
        (frame, batch): (&Frame<'_>, &mut Batch),
    ) -> Result<bool> {
        self.asking.pace.keep().await;
        let mut matches = self.asking.kept(self.late, candidates, frame).await?;
        let is_matched = !matches.is_empty();
        batch.append(&mut matches);
        Ok(is_matched)
    }
}

/// Rows of the steps before that may have candidates to come, in their order.
#[derive(Default)]
pub(super) struct Unsettled {
    rows: VecDeque<Row>,
    /// Whether the first of them has a match.
    is_matched: bool,
}

impl Unsettled {
    /// Settles the rows before the one that a candidate is for. Each row has pieces of its own, by which
    /// it is known.
    fn settle_before(&mut self, candidate: &Row, alone: &mut Batch) -> Result<()> {
        while let Some(row) = self.rows.front() {
            let mut pieces = row.iter().zip(candidate);
            if pieces.all(|pair| match pair {
                (None, _) => true,
                (Some(own), Some(other)) => Arc::ptr_eq(own, other),
                (Some(_), None) => false,
            }) {
                return Ok(());
            }
            self.settle_first(alone);
        }
        Err(Error::internal("a candidate for no row"))
    }

    fn settle_first(&mut self, alone: &mut Batch) {
        let row = self.rows.pop_front();
        alone.extend(row.filter(|_| !self.is_matched));
        self.is_matched = false;
    }
}

impl Running {
    /// Joins rows that wait, where subqueries tell what a match is.
    pub(super) async fn ask(&mut self, frame: &Frame<'_>, asking: &mut Asking) -> Result<Found> {
        let rows_read = self.prepare(frame).await?;
        if !self.is_parted() && self.unsettled.rows.is_empty() {
            self.unsettled.rows = self.waiting.as_slice().iter().cloned().collect();
        }
        let mut found = self.advance(frame).await?;
        found.rows_read += rows_read;
        let Some(late) = &self.late else {
            return Err(Error::internal("a step that asks for nothing"));
        };
        if self.is_parted() {
            // Candidates come later, part by part.
            return Ok(found);
        }
        let candidates = std::mem::take(&mut found.batch);
        let mut alone = Vec::new();
        for candidate in candidates {
            self.unsettled.settle_before(&candidate, &mut alone)?;
            if asking.is_met(late, &candidate, frame).await? {
                self.unsettled.is_matched = true;
                found.batch.push(candidate);
            }
        }
        while !self.has_waiting() && !self.unsettled.rows.is_empty() {
            self.unsettled.settle_first(&mut alone);
        }
        if self.keeps_alone {
            found.batch.append(&mut alone);
        }
        Ok(found)
    }
}
