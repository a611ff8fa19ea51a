//! Lateral joins: for each row so far a query is run, with what it reads of that row.

use std::sync::Arc;

use super::lookup::Found;
use super::rows::{Frame, add_matches};
use super::shape::{JoinedRow, Row};
use super::unit::UnitReader;
use crate::error::{Error, Result};
use crate::plan::join::{Step, UnitRows};
use crate::sql::context::SlotValue;
use crate::sql::eval::eval_exact;

/// Joined rows that are enough to hand on.
const BATCH_ROWS: usize = 1024;

/// A lateral join at work. In memory is a page of the rows that belong to one row.
#[derive(Default)]
pub(super) struct Each {
    current: Option<Box<Current>>,
}

/// A row, and the rows that belong to it.
struct Current {
    row: Row,
    reader: UnitReader,
    is_matched: bool,
}

impl Each {
    /// Whether a row is not joined to its end.
    pub(super) fn has_more(&self) -> bool {
        self.current.is_some()
    }

    /// Joins some of the rows that wait with what the query has for them.
    pub(super) async fn next(
        &mut self,
        step: &Step,
        waiting: &mut std::vec::IntoIter<Row>,
        frame: &Frame<'_>,
    ) -> Result<Found> {
        let mut found = Found::default();
        while found.batch.len() < BATCH_ROWS {
            if let Some(current) = self.current.take() {
                self.current = current.advance(step, frame, &mut found).await?;
            } else if let Some(row) = waiting.next() {
                self.current = Some(Box::new(Current {
                    reader: reader(step, &row, frame).await?,
                    row,
                    is_matched: false,
                }));
            } else {
                break;
            }
        }
        Ok(found)
    }
}

/// Begins the query for a row.
async fn reader(step: &Step, row: &Row, frame: &Frame<'_>) -> Result<UnitReader> {
    let UnitRows::Source(source_idx) = step.unit else {
        return Err(Error::internal("a lateral join with a join"));
    };
    let mut ctx = frame.ctx.nested();
    if let Some(source) = frame.shape.joined.sources.get(source_idx) {
        let joined = JoinedRow::new(frame.shape, row);
        for capture in &source.captures {
            let value = eval_exact(&capture.expr, &joined, frame.ctx)?.into_owned();
            ctx.fill(capture.slot, SlotValue::Value(Arc::new(value)));
        }
    }
    UnitReader::of_query(source_idx, ctx, frame).await
}

impl Current {
    /// Joins the row with the next page of its rows; `None` when it was the last.
    async fn advance(
        mut self: Box<Self>,
        step: &Step,
        frame: &Frame<'_>,
        to: &mut Found,
    ) -> Result<Option<Box<Current>>> {
        let read_before = self.reader.rows_read;
        let page = self.reader.next(frame).await?;
        to.rows_read += self.reader.rows_read - read_before;
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
