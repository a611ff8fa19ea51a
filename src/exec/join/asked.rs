//! Conditions of a join that wait for subqueries: these are answered for each row that may be a match.
//!
//! Each join has an asker of its own, one within another join, too: what is answered for a row is only
//! what the condition at hand reads, as the other sources may not be joined yet.

use super::lookup::Found;
use super::rows::{BATCH_ROWS, Frame};
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
}

impl Asking {
    pub(super) fn of(frame: &Frame<'_>) -> Result<Asking> {
        let asker = Asker::new(frame.program, frame.nest);
        Ok(Asking {
            asker: asker.ok_or_else(|| Error::internal("a condition that waits for nothing"))?,
            ctx: frame.ctx.nested(),
        })
    }

    async fn is_met(&mut self, late: &Late, row: &Row, frame: &Frame<'_>) -> Result<bool> {
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
        let mut pace = Pace::default();
        for row in batch {
            pace.keep().await;
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
    /// Adds the matches among candidates. Whether there are any.
    async fn add(&mut self, candidates: Batch, to: (&Frame<'_>, &mut Batch)) -> Result<bool> {
        let mut matches = self.asking.kept(self.late, candidates, to.0).await?;
        let is_matched = !matches.is_empty();
        to.1.append(&mut matches);
        Ok(is_matched)
    }

    /// Adds what a row leads to whose candidates are all there are.
    pub(super) async fn add_all(
        &mut self,
        (row, candidates): (Row, Batch),
        (frame, batch): (&Frame<'_>, &mut Batch),
    ) -> Result<()> {
        let is_matched = self.add(candidates, (frame, batch)).await?;
        if self.keeps_alone && !is_matched {
            batch.push(row);
        }
        Ok(())
    }
}

/// A row of the steps before whose candidates are looked through.
pub(super) struct Current {
    row: Row,
    /// The row, until the method has taken it.
    waiting: std::vec::IntoIter<Row>,
    is_matched: bool,
}

impl Running {
    /// Joins rows that wait, one after the other, where subqueries tell what a match is.
    pub(super) async fn ask(&mut self, frame: &Frame<'_>, asking: &mut Asking) -> Result<Found> {
        let rows_read = self.prepare(frame).await?;
        if self.is_parted() {
            // Candidates come later, part by part.
            return self.advance(frame).await;
        }
        let mut found = Found {
            rows_read,
            ..Found::default()
        };
        while found.batch.len() < BATCH_ROWS {
            let mut current = match self.current.take() {
                Some(current) => current,
                None => match self.waiting.next() {
                    Some(row) => Box::new(Current {
                        waiting: vec![row.clone()].into_iter(),
                        row,
                        is_matched: false,
                    }),
                    None => break,
                },
            };
            let candidates = self.find(&mut current.waiting, frame).await?;
            found.rows_read += candidates.rows_read;
            let is_last = !self.is_within() && current.waiting.as_slice().is_empty();
            let Some(late) = &self.late else {
                return Err(Error::internal("a step that asks for nothing"));
            };
            let mut matching = Matching {
                asking,
                late,
                keeps_alone: self.keeps_alone,
            };
            let to = (frame, &mut found.batch);
            current.is_matched |= matching.add(candidates.batch, to).await?;
            if !is_last {
                self.current = Some(current);
            } else if self.keeps_alone && !current.is_matched {
                found.batch.push(current.row);
            }
        }
        Ok(found)
    }
}
