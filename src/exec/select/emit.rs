//! The rows of a SELECT that were collected, on their way out: groups, rows in order, and what
//! DISTINCT had put off.

use std::sync::Arc;

use super::collector;
use super::stream::{Flow, Phase, RowWork, SelectStream};
use crate::error::Result;
use crate::exec::distinct::Seen;
use crate::exec::group::Step;
use crate::exec::row::ValuesRow;
use crate::exec::rows::RowSink;
use crate::exec::sort::Sorter;
use crate::exec::tuple;

/// Rows handed out per page once they were collected.
const EMIT_PAGE_ROWS: usize = 1024;

impl SelectStream {
    /// What follows when a phase has no more rows.
    pub(super) fn end_phase(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<Flow> {
        let program = Arc::clone(&self.program);
        if let (Some(mut groups), Some(aggregation)) =
            (self.in_order.take(), &program.select.aggregation)
            && let Some(row) = groups.end(aggregation, &self.ctx)?
        {
            self.note(|tally| tally.groups.rows_out += 1);
            let flow = RowWork::of(self).emit(&ValuesRow(&row), sink)?;
            if flow == Flow::Enough {
                return Ok(flow);
            }
        }
        let late = self.seen.take().map(Seen::into_late).transpose()?;
        let Some(late) = late.flatten() else {
            return Ok(Flow::Enough);
        };
        let sorter = Sorter::new(None, "distinct", &self.memory, &self.cancel);
        self.phase = Phase::Late(Box::new((late, sorter)));
        Ok(Flow::More)
    }

    /// Looks through rows that DISTINCT had put off, for a turn.
    pub(super) fn late_page(&mut self) -> Result<Flow> {
        self.cancel.check()?;
        let Phase::Late(mut late) = std::mem::replace(&mut self.phase, Phase::Done) else {
            return Ok(Flow::Enough);
        };
        while collector::late_step(&mut late, &self.memory)? {
            if self.pace.is_over() {
                self.phase = Phase::Late(late);
                return Ok(Flow::More);
            }
        }
        self.phase = Phase::Emitting(late.1.finish()?);
        Ok(Flow::More)
    }

    /// Hands out groups.
    pub(super) fn grouped_page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<Flow> {
        self.cancel.check()?;
        let program = Arc::clone(&self.program);
        let phase = std::mem::replace(&mut self.phase, Phase::Done);
        let (Phase::Grouped(mut groups), Some(aggregation)) = (phase, &program.select.aggregation)
        else {
            return Ok(Flow::Enough);
        };
        let mut work = RowWork::of(self);
        let mut flow = Flow::More;
        for _ in 0..EMIT_PAGE_ROWS {
            flow = match groups.step(aggregation, work.ctx)? {
                Step::Row(row) => {
                    if let Some(tally) = &mut work.tally {
                        tally.groups.rows_out += 1;
                    }
                    work.emit(&ValuesRow(&row), sink)?
                }
                Step::Working | Step::Part => Flow::More,
                Step::End => Flow::Enough,
            };
            if flow == Flow::Enough || sink.is_full() || work.pace.is_over() {
                break;
            }
        }
        self.phase = Phase::Grouped(groups);
        Ok(flow)
    }

    /// Hands out what was sorted.
    pub(super) fn emit_page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<Flow> {
        self.cancel.check()?;
        let Phase::Emitting(sorted) = &mut self.phase else {
            return Ok(Flow::Enough);
        };
        for _ in 0..EMIT_PAGE_ROWS {
            if self.window.left_rows == Some(0) {
                return Ok(Flow::Enough);
            }
            let Some(outputs) = sorted.next_outputs()? else {
                return Ok(Flow::Enough);
            };
            if self.window.admits() {
                let exprs = self
                    .program
                    .select
                    .outputs
                    .iter()
                    .map(|output| &output.expr);
                sink.row(&tuple::decode(outputs, exprs)?)?;
                if sink.is_full() {
                    break;
                }
            }
        }
        Ok(Flow::More)
    }
}
