//! What is done with one row after the other in the streaming phase: filter, take into a group or
//! project, limit. Hot.

use super::{Flow, SelectStream};
use crate::error::Result;
use crate::exec::cancel::CancelToken;
use crate::exec::distinct::{Met, Seen};
use crate::exec::group::{InOrder, StoredRows};
use crate::exec::named;
use crate::exec::pace::Pace;
use crate::exec::row::ValuesRow;
use crate::exec::rows::RowSink;
use crate::exec::select::output::{typed, with_outputs};
use crate::exec::select::tally::Tally;
use crate::exec::select::window::Window;
use crate::sql::bound::{Aggregation, Select};
use crate::sql::context::EvalContext;
use crate::sql::eval::eval_condition;
use crate::sql::expr::{Expr, Row};

/// What the streaming phase needs of a [`SelectStream`] for one row after the other.
pub(in crate::exec::select) struct RowWork<'s> {
    select: &'s Select,
    residual: Option<&'s Expr>,
    /// The groups that rows are taken into.
    in_order: Option<(&'s mut InOrder, &'s Aggregation)>,
    pub(in crate::exec::select) ctx: &'s EvalContext,
    pub(super) cancel: &'s CancelToken,
    window: &'s mut Window,
    seen: Option<&'s mut Seen>,
    pub(in crate::exec::select) pace: &'s mut Pace,
    pub(super) rows_done: usize,
    pub(in crate::exec::select) tally: Option<&'s mut Tally>,
}

impl<'s> RowWork<'s> {
    pub(in crate::exec::select) fn of(stream: &'s mut SelectStream) -> RowWork<'s> {
        RowWork {
            select: &stream.program.select,
            residual: stream.residual.as_ref(),
            in_order: stream
                .in_order
                .as_deref_mut()
                .zip(stream.program.select.aggregation.as_ref()),
            ctx: &stream.ctx,
            cancel: &stream.cancel,
            window: &mut stream.window,
            seen: stream.seen.as_mut(),
            pace: &mut stream.pace,
            rows_done: stream.batch_rows_done,
            tally: stream.tally.as_deref_mut(),
        }
    }

    /// Counts a batch at once where the statement does nothing else with it.
    pub(super) fn counts_batch(&mut self, rows_count: usize) -> bool {
        match &mut self.in_order {
            Some((groups, aggregation))
                if self.residual.is_none() && InOrder::only_counts(aggregation) =>
            {
                groups.add_counted(u64::try_from(rows_count).unwrap_or(u64::MAX));
                true
            }
            Some(_) | None => false,
        }
    }

    /// Takes rows of one group in together where that is possible; how many they were.
    #[inline]
    pub(super) fn stream_run(&mut self, rows: &StoredRows<'_>, from_idx: usize) -> Result<usize> {
        let (Some((groups, aggregation)), None) = (&mut self.in_order, self.residual) else {
            return Ok(0);
        };
        let count = groups.add_run(aggregation, (rows, from_idx), self.ctx)?;
        if let Some(tally) = &mut self.tally {
            tally.groups.rows_in += u64::try_from(count).unwrap_or(u64::MAX);
        }
        Ok(count)
    }

    /// Filters one row and returns it, or takes it into its group; [`Flow::Enough`] when LIMIT is
    /// reached.
    pub(super) fn stream(
        &mut self,
        row: &dyn Row,
        sink: &mut (dyn RowSink + Send),
    ) -> Result<Flow> {
        if let Some(residual) = self.residual
            && eval_condition(residual, row, self.ctx)? != Some(true)
        {
            return Ok(Flow::More);
        }
        self.stream_filtered(row, sink)
    }

    /// As [`RowWork::stream`], of a row that has passed the filter.
    #[inline]
    pub(in crate::exec::select) fn stream_filtered(
        &mut self,
        row: &dyn Row,
        sink: &mut (dyn RowSink + Send),
    ) -> Result<Flow> {
        let Some((groups, aggregation)) = &mut self.in_order else {
            return self.emit(row, sink);
        };
        let ended = groups.add(aggregation, row, self.ctx)?;
        if let Some(tally) = &mut self.tally {
            tally.groups.rows_in += 1;
            tally.groups.rows_out += u64::from(ended.is_some());
        }
        match ended {
            Some(ended) => self.emit(&ValuesRow(&ended), sink),
            None => Ok(Flow::More),
        }
    }

    /// Projects and returns one row, grouped or not.
    pub(in crate::exec::select) fn emit(
        &mut self,
        row: &dyn Row,
        sink: &mut (dyn RowSink + Send),
    ) -> Result<Flow> {
        let flow = self.project(row, sink);
        flow.map_err(|error| named::of_output(error, self.select))
    }

    #[inline]
    fn project(&mut self, row: &dyn Row, sink: &mut (dyn RowSink + Send)) -> Result<Flow> {
        if let Some(having) = &self.select.having
            && eval_condition(having, row, self.ctx)? != Some(true)
        {
            return Ok(Flow::More);
        }
        if self.seen.is_none() && !self.window.admits() {
            return Ok(Flow::More);
        }
        let outputs = &self.select.outputs;
        with_outputs(outputs, row, self.ctx, |values| {
            if let Some(seen) = &mut self.seen {
                match seen.meet(typed(outputs, values))? {
                    Met::New => {}
                    Met::Before => return Ok(()),
                    Met::Unknown => return seen.put_off_in_order(),
                }
                if !self.window.admits() {
                    return Ok(());
                }
            }
            sink.row(values)
        })?;
        Ok(if self.window.left_rows == Some(0) {
            Flow::Enough
        } else {
            Flow::More
        })
    }
}
