//! The rows of a SELECT that come from a join, or that subqueries are answered for.

use std::sync::Arc;

use super::collector::Collector;
use super::stream::{Flow, RowWork, SelectStream};
use crate::error::Result;
use crate::exec::ask::Needed;
use crate::exec::join::{JoinRows, JoinedRow, Row, Shape};
use crate::exec::rows::RowSink;
use crate::sql::bound::Stage;
use crate::sql::eval::eval_condition;
use crate::sql::expr;

/// The rows of a join, and those of its last batch that are not used yet.
pub(super) struct Feed {
    pub(super) shape: Arc<Shape>,
    pub(super) rows: JoinRows,
    pub(super) waiting: std::vec::IntoIter<Row>,
}

impl Feed {
    /// Whether there is a row, or may be one later.
    async fn fill(&mut self) -> Result<bool> {
        if self.waiting.len() == 0 {
            match self.rows.next().await? {
                Some(batch) => self.waiting = batch.into_iter(),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl SelectStream {
    /// Streams the rows of a batch, or as many as a turn has time for and the sink has room for.
    pub(super) async fn stream_joined(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<Flow> {
        let Some(mut feed) = self.feed.take() else {
            return Ok(Flow::Enough);
        };
        let flow = self.stream_feed(&mut feed, sink).await;
        self.rows_read = feed.rows.rows_read();
        self.feed = Some(feed);
        flow
    }

    async fn stream_feed(
        &mut self,
        feed: &mut Feed,
        sink: &mut (dyn RowSink + Send),
    ) -> Result<Flow> {
        if !feed.fill().await? {
            return Ok(Flow::Enough);
        }
        for row in feed.waiting.by_ref() {
            let row = JoinedRow::new(&feed.shape, &row);
            if !self.passes(&row).await? {
                continue;
            }
            if RowWork::of(self).stream_filtered(&row, sink)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
            if self.pace.is_over() || sink.is_full() {
                break;
            }
        }
        Ok(Flow::More)
    }

    /// Takes all rows of the join into the collector.
    pub(super) async fn collect_joined(
        &mut self,
        mut feed: Box<Feed>,
        collector: &mut Collector,
    ) -> Result<()> {
        let program = Arc::clone(&self.program);
        while feed.fill().await? {
            self.cancel.check()?;
            for row in feed.waiting.by_ref() {
                let row = JoinedRow::new(&feed.shape, &row);
                if self.passes(&row).await? {
                    collector.add_filtered(&program.select, &row, self)?;
                }
                self.pace.keep().await;
            }
            self.rows_read = feed.rows.rows_read();
        }
        Ok(())
    }

    /// Answers what must be known of a row, and tells whether it meets the condition.
    async fn passes(&mut self, row: &(dyn expr::Row + Sync)) -> Result<bool> {
        if let Some(asker) = &mut self.asker {
            let needed = Needed::Slots(&self.late_slots);
            asker.answer(needed, row, &mut self.ctx).await?;
        }
        self.note(|tally| tally.late.rows_in += 1);
        if let Some(residual) = &self.residual
            && eval_condition(residual, row, &self.ctx)? != Some(true)
        {
            return Ok(false);
        }
        self.note(|tally| tally.late.rows_out += 1);
        self.ask(Stage::Row, row).await?;
        Ok(true)
    }

    /// Answers the subqueries of a stage for a row.
    pub(super) async fn ask(&mut self, stage: Stage, row: &(dyn expr::Row + Sync)) -> Result<()> {
        match &mut self.asker {
            Some(asker) => asker.answer(Needed::Stage(stage), row, &mut self.ctx).await,
            None => Ok(()),
        }
    }
}
