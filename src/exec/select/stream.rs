//! The rows of a SELECT: read, filter, group, sort, project, limit.
//!
//! [`SelectStream`] is in one of three phases. Where nothing has to be collected, rows go from the
//! stored page through the filter straight into the sink ([`Phase::Streaming`]). Grouping and
//! sorting first take in everything ([`Phase::Collecting`]), then hand it out in pages
//! ([`Phase::Emitting`]). The streaming phase is hot: no allocation per row but for values that
//! are computed.

use std::sync::Arc;

use super::collector::Collector;
use super::joined::Feed;
use super::{Env, Program, RowLimits};
use crate::codec::key::Direction;
use crate::error::{Error, Result};
use crate::exec::ask::Asker;
use crate::exec::budget::Budget;
use crate::exec::cancel::CancelToken;
use crate::exec::elsewhere;
use crate::exec::group::{Groups, Seen};
use crate::exec::merge::Means;
use crate::exec::pace::Pace;
use crate::exec::read::{Reader, newest};
use crate::exec::row::StoredRow;
use crate::exec::rows::{BoxFuture, PageEnd, RowSink, RowStream};
use crate::exec::sort::{Sorted, Sorter};
use crate::exec::tuple;
use crate::plan::TablePlan;
use crate::sql::bound::{Output, Select};
use crate::sql::context::EvalContext;
use crate::sql::eval::{eval, eval_condition};
use crate::sql::expr::{Expr, NoRow, Row};
use crate::types::Value;

/// Rows handed out per page once they were collected.
const EMIT_PAGE_ROWS: usize = 1024;

/// A running SELECT.
pub struct SelectStream {
    pub(super) program: Arc<Program>,
    pub(super) ctx: EvalContext,
    pub(super) cancel: Arc<CancelToken>,
    pub(super) residual: Option<Expr>,
    /// `None` for a table-less SELECT: one row without columns.
    reader: Option<Reader>,
    /// Instead of the reader: the rows of a join.
    pub(super) feed: Option<Box<Feed>>,
    /// Who answers subqueries row by row.
    pub(super) asker: Option<Box<Asker>>,
    phase: Phase,
    window: Window,
    pub(super) seen: Option<Seen>,
    pub(super) bytes: Vec<u8>,
    pub(super) rows_read: u64,
    pub(super) pace: Pace,
    /// How many rows of the reader's batch are streamed, when a turn ended within it.
    batch_rows_done: usize,
}

/// Whether more rows may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    More,
    Enough,
}

/// LIMIT and OFFSET while they are counted down.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    skip_rows: u64,
    left_rows: Option<u64>,
}

enum Phase {
    Streaming,
    Collecting(Box<Collector>),
    Emitting(Sorted),
    Done,
}

impl SelectStream {
    pub(super) fn new(
        program: Arc<Program>,
        env: Env,
        mut plan: Option<TablePlan>,
        limits: RowLimits,
    ) -> Result<SelectStream> {
        let select = &program.select;
        let ordered = plan.as_ref().is_some_and(|plan| plan.ordered);
        let phase = Phase::first(select, &env, (ordered, limits));
        let reader = match (select.table(), &mut plan) {
            (Some(table), Some(plan)) => {
                env.uses.note(table, plan, env.ctx.now);
                let view = env.view.unwrap_or_else(|| newest(&env.engine, plan));
                let means = Means {
                    memory_bytes_max: env.memory_bytes_max,
                    spill_dir: env.spill_dir,
                    cancel: &env.cancel,
                };
                Some(Reader::new(view, table, plan, &means)?)
            }
            (None, _) | (Some(_), None) => None,
        };
        let residual = match plan {
            Some(plan) => plan.residual,
            None => select.filter.clone(),
        };
        let budget = Budget::new("distinct", env.memory_bytes_max);
        let seen = select.distinct.then(|| Seen::new(budget));
        Ok(SelectStream {
            ctx: env.ctx,
            cancel: env.cancel,
            residual,
            reader,
            feed: None,
            asker: None,
            phase,
            window: Window::new(limits),
            seen,
            bytes: Vec::new(),
            rows_read: 0,
            pace: Pace::default(),
            batch_rows_done: 0,
            program,
        })
    }

    /// A stream of the rows of a join. `late` is what they must still meet.
    pub(super) fn joined(
        program: Arc<Program>,
        env: Env,
        (feed, late, ordered): (Box<Feed>, Option<Expr>, bool),
        (asker, limits): (Option<Box<Asker>>, RowLimits),
    ) -> SelectStream {
        let select = &program.select;
        let phase = Phase::first(select, &env, (ordered, limits));
        let budget = Budget::new("distinct", env.memory_bytes_max);
        let seen = select.distinct.then(|| Seen::new(budget));
        SelectStream {
            ctx: env.ctx,
            cancel: env.cancel,
            residual: late,
            reader: None,
            feed: Some(feed),
            asker,
            phase,
            window: Window::new(limits),
            seen,
            bytes: Vec::new(),
            rows_read: 0,
            pace: Pace::default(),
            batch_rows_done: 0,
            program,
        }
    }

    /// Rows fetched from the engine so far.
    pub fn rows_read(&self) -> u64 {
        self.rows_read
    }

    async fn page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<PageEnd> {
        if self.window.left_rows == Some(0) {
            self.phase = Phase::Done;
        }
        if matches!(self.phase, Phase::Collecting(_)) {
            self.collect().await?;
        }
        let flow = match self.phase {
            Phase::Streaming => self.stream_page(sink).await?,
            Phase::Emitting(_) => self.emit_page(sink)?,
            Phase::Collecting(_) | Phase::Done => Flow::Enough,
        };
        Ok(match flow {
            Flow::More => PageEnd::More,
            Flow::Enough => PageEnd::Last {
                warnings_count: self.ctx.warnings.count(),
            },
        })
    }

    async fn stream_page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<Flow> {
        self.cancel.check()?;
        if self.feed.is_some() {
            return self.stream_joined(sink).await;
        }
        let Some(reader) = &mut self.reader else {
            let mut row = RowWork::of(self);
            row.stream(&NoRow, sink)?;
            return Ok(Flow::Enough);
        };
        if self.batch_rows_done == 0 && !reader.advance().await? {
            return Ok(Flow::Enough);
        }
        self.stream_batch(sink)
    }

    /// Streams the rows of a batch, or as many as a turn has time for and the sink has room for.
    fn stream_batch(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<Flow> {
        let program = Arc::clone(&self.program);
        let (Some(table), Some(layout)) = (program.select.table(), &program.layout) else {
            return Err(Error::internal("a reader without table"));
        };
        let Some(reader) = self.reader.take() else {
            return Ok(Flow::Enough);
        };
        let layout = reader.layout().unwrap_or(layout);
        let batch = reader.batch();
        let mut work = RowWork::of(self);
        let mut flow = Flow::More;
        let mut rows_done = 0;
        for row_idx in work.rows_done..batch.len() {
            work.cancel.check_row(row_idx)?;
            let Some((key, value)) = batch.get(row_idx) else {
                break;
            };
            let row = StoredRow::parse(table, layout, key, value)?;
            if work.stream(&row, sink)? == Flow::Enough {
                flow = Flow::Enough;
                break;
            }
            if work.pace.is_over() || sink.is_full() {
                rows_done = row_idx + 1;
                break;
            }
        }
        self.batch_rows_done = rows_done;
        self.rows_read = reader.rows_read();
        // Known now, the end goes out with the rows: a point read is answered by one send.
        if rows_done == 0 && reader.is_at_end() {
            flow = Flow::Enough;
        }
        self.reader = Some(reader);
        Ok(flow)
    }

    async fn collect(&mut self) -> Result<()> {
        let Phase::Collecting(mut collector) = std::mem::replace(&mut self.phase, Phase::Done)
        else {
            return Ok(());
        };
        let program = Arc::clone(&self.program);
        if let Err(error) = self.take_all(&mut collector, &program).await {
            // Freed with the stream.
            self.phase = Phase::Collecting(collector);
            return Err(error);
        }
        self.phase = Phase::Emitting(collector.finish(&program.select, self).await?);
        Ok(())
    }

    async fn take_all(&mut self, collector: &mut Collector, program: &Program) -> Result<()> {
        if let Some(feed) = self.feed.take() {
            return self.collect_joined(feed, collector).await;
        }
        let Some(mut reader) = self.reader.take() else {
            return collector.add(&program.select, &NoRow, self);
        };
        loop {
            self.cancel.check()?;
            if !reader.advance().await? {
                return Ok(());
            }
            let mut rows_done = 0;
            while rows_done < reader.batch().len() {
                rows_done = collector.add_batch(program, &reader, (self, rows_done))?;
                tokio::task::yield_now().await;
            }
            self.rows_read = reader.rows_read();
        }
    }

    fn emit_page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<Flow> {
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
                sink.row(&tuple::decode(&outputs, exprs)?)?;
                if sink.is_full() {
                    break;
                }
            }
        }
        Ok(Flow::More)
    }
}

impl Drop for SelectStream {
    fn drop(&mut self) {
        if u64::try_from(elsewhere::PIECES_HERE_MAX).is_ok_and(|few| few < self.rows_read) {
            let phase = std::mem::replace(&mut self.phase, Phase::Done);
            let seen = self.seen.take();
            elsewhere::run(move || drop((phase, seen)));
        }
    }
}

impl RowStream for SelectStream {
    fn next_page<'a>(
        &'a mut self,
        sink: &'a mut (dyn RowSink + Send),
    ) -> BoxFuture<'a, Result<PageEnd>> {
        Box::pin(self.page(sink))
    }
}

impl Phase {
    /// Rows are streamed if they come in the order that is asked for.
    fn first(select: &Select, env: &Env, (ordered, limits): (bool, RowLimits)) -> Phase {
        if (ordered || select.order_by.is_empty()) && select.aggregation.is_none() {
            return Phase::Streaming;
        }
        let budget = |operator| Budget::new(operator, env.memory_bytes_max);
        let rows_wanted = Window::new(limits).rows_wanted();
        let spill_dir = env.spill_dir.clone();
        let sorter = Sorter::new(rows_wanted, budget("sort"), spill_dir, &env.cancel);
        let groups = select.aggregation.as_ref();
        let groups =
            groups.map(|aggregation| Groups::new(aggregation, budget("group by"), &env.ctx));
        Phase::Collecting(Box::new(Collector { groups, sorter }))
    }
}

impl Window {
    /// Of these limits, before the first row.
    pub fn new(limits: RowLimits) -> Window {
        Window {
            skip_rows: limits.offset,
            left_rows: limits.limit,
        }
    }

    /// Whether no more rows are returned.
    pub fn is_over(&self) -> bool {
        self.left_rows == Some(0)
    }

    /// How many rows are wanted in all, those that are skipped included.
    pub fn rows_wanted(&self) -> Option<u64> {
        let left = self.left_rows?;
        left.checked_add(self.skip_rows)
    }

    /// Whether the next row is returned; counts it either way.
    pub fn admits(&mut self) -> bool {
        if let Some(skip) = self.skip_rows.checked_sub(1) {
            self.skip_rows = skip;
            return false;
        }
        if let Some(left) = &mut self.left_rows {
            *left = left.saturating_sub(1);
        }
        true
    }
}

/// What the streaming phase needs of a [`SelectStream`] for one row after the other.
pub(super) struct RowWork<'s> {
    outputs: &'s [Output],
    having: Option<&'s Expr>,
    residual: Option<&'s Expr>,
    ctx: &'s EvalContext,
    cancel: &'s CancelToken,
    window: &'s mut Window,
    seen: Option<&'s mut Seen>,
    bytes: &'s mut Vec<u8>,
    pace: &'s mut Pace,
    rows_done: usize,
}

impl<'s> RowWork<'s> {
    pub(super) fn of(stream: &'s mut SelectStream) -> RowWork<'s> {
        RowWork {
            outputs: &stream.program.select.outputs,
            having: stream.program.select.having.as_ref(),
            residual: stream.residual.as_ref(),
            ctx: &stream.ctx,
            cancel: &stream.cancel,
            window: &mut stream.window,
            seen: stream.seen.as_mut(),
            bytes: &mut stream.bytes,
            pace: &mut stream.pace,
            rows_done: stream.batch_rows_done,
        }
    }

    /// Filters, projects and returns one row; [`Flow::Enough`] when LIMIT is reached.
    fn stream(&mut self, row: &dyn Row, sink: &mut (dyn RowSink + Send)) -> Result<Flow> {
        if let Some(residual) = self.residual
            && eval_condition(residual, row, self.ctx)? != Some(true)
        {
            return Ok(Flow::More);
        }
        self.stream_filtered(row, sink)
    }

    /// As [`RowWork::stream`], of a row that has passed the filter.
    #[inline]
    pub(super) fn stream_filtered(
        &mut self,
        row: &dyn Row,
        sink: &mut (dyn RowSink + Send),
    ) -> Result<Flow> {
        if let Some(having) = self.having
            && eval_condition(having, row, self.ctx)? != Some(true)
        {
            return Ok(Flow::More);
        }
        if self.seen.is_none() && !self.window.admits() {
            return Ok(Flow::More);
        }
        with_outputs(self.outputs, row, self.ctx, |values| {
            if let Some(seen) = &mut self.seen {
                self.bytes.clear();
                encode_outputs(self.bytes, self.outputs, values)?;
                if !seen.is_new(self.bytes)? || !self.window.admits() {
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

/// Outputs kept on the stack; wider rows take an allocation each.
const STACK_OUTPUTS: usize = 16;

/// Outputs of a narrow row, whose place on the stack costs less to prepare.
const FEW_OUTPUTS: usize = 4;

/// Evaluates the outputs over `row` and hands them on.
pub(super) fn with_outputs(
    outputs: &[Output],
    row: &dyn Row,
    ctx: &EvalContext,
    take: impl FnOnce(&[Value<'_>]) -> Result<()>,
) -> Result<()> {
    if outputs.len() <= FEW_OUTPUTS {
        return with_stack_outputs::<FEW_OUTPUTS>(outputs, row, ctx, take);
    }
    if outputs.len() <= STACK_OUTPUTS {
        return with_stack_outputs::<STACK_OUTPUTS>(outputs, row, ctx, take);
    }
    let values: Result<Vec<Value<'_>>> = outputs
        .iter()
        .map(|output| eval(&output.expr, row, ctx))
        .collect();
    take(&values?)
}

fn with_stack_outputs<const MOST: usize>(
    outputs: &[Output],
    row: &dyn Row,
    ctx: &EvalContext,
    take: impl FnOnce(&[Value<'_>]) -> Result<()>,
) -> Result<()> {
    let mut values: [Value<'_>; MOST] = [const { Value::Null }; MOST];
    for (slot, output) in values.iter_mut().zip(outputs) {
        *slot = eval(&output.expr, row, ctx)?;
    }
    take(values.get(..outputs.len()).unwrap_or_default())
}

pub(super) fn encode_outputs(
    out: &mut Vec<u8>,
    outputs: &[Output],
    values: &[Value<'_>],
) -> Result<()> {
    for (value, output) in values.iter().zip(outputs) {
        tuple::push(out, value, &output.expr.ty, Direction::Asc)?;
    }
    Ok(())
}
