//! The rows of a SELECT: read, filter, group, sort, project, limit.
//!
//! [`SelectStream`] is in one of a few phases. Where nothing has to be collected, rows go from the
//! stored page through the filter straight into the sink ([`Phase::Streaming`]), or into groups
//! that come one after the other, and these into the sink. Other groups and sorts first take in
//! everything ([`Phase::Collecting`]), then hand it out in pages ([`Phase::Grouped`],
//! [`Phase::Emitting`]). What DISTINCT could not keep in memory follows at the end
//! ([`Phase::Late`]). The streaming phase is hot: no allocation per row but for values that are
//! computed.

mod row_work;

use std::sync::Arc;

use super::collector::{self, Collector, Grouping};
use super::joined::Feed;
use super::tally::Tally;
use super::window::Window;
use super::{Env, Program, RowLimits};
use crate::error::{Error, Result};
use crate::exec::ask::Asker;
use crate::exec::budget::{Budget, Memory};
use crate::exec::cancel::CancelToken;
use crate::exec::distinct::{LateRows, Seen};
use crate::exec::elsewhere;
use crate::exec::group::{GroupRows, InOrder, StoredRows};
use crate::exec::merge::Means;
use crate::exec::named;
use crate::exec::pace::{self, Pace};
use crate::exec::read::Reader;
use crate::exec::rows::{BoxFuture, PageEnd, RowSink, RowStream};
use crate::exec::sort::{Sorted, Sorter};
use crate::exec::view::View;
use crate::exec::window::Windowed;
use crate::plan::join::late_slots;
use crate::plan::{Access, TablePlan};
use crate::sql::bound::Select;
use crate::sql::context::EvalContext;
use crate::sql::expr::{Expr, NoRow};
pub(super) use row_work::RowWork;

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
    /// The slots of the subqueries in `residual` that are answered for each row.
    pub(super) late_slots: Vec<usize>,
    /// What the answers of subqueries that were run once take of the statement's memory.
    pub(super) answers: Vec<Budget>,
    pub(super) phase: Phase,
    /// Groups that come one after the other, while rows are streamed into them.
    pub(super) in_order: Option<Box<InOrder>>,
    pub(super) window: Window,
    pub(super) memory: Memory,
    pub(super) seen: Option<Seen>,
    pub(super) bytes: Vec<u8>,
    pub(super) rows_read: u64,
    pub(super) pace: Pace,
    /// How many rows of the reader's batch are streamed, when a turn ended within it.
    batch_rows_done: usize,
    /// For EXPLAIN ANALYZE.
    pub(super) tally: Option<Box<Tally>>,
}

/// Whether more rows may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    More,
    Enough,
}

/// What a stream is doing.
pub(super) enum Phase {
    Streaming,
    Collecting(Box<Collector>),
    /// Groups go out as they come from their hash table.
    Grouped(Box<GroupRows>),
    /// Rows that DISTINCT had put off are put in order.
    Late(Box<(LateRows, Sorter)>),
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
        let rows_counted = match plan.as_ref().map(|plan| &plan.access) {
            Some(Access::Count(rows)) => Some(*rows),
            _ => None,
        };
        let mut reader = reader(select, &env, plan.as_mut())?;
        let orders = match &plan {
            Some(plan) => (plan.grouped_in_order, plan.ordered),
            None => (false, false),
        };
        let residual = match plan {
            Some(plan) => plan.residual,
            None => select.filter.clone(),
        };
        let mut stream = SelectStream::begun(program, env, orders, limits);
        // Batches are counted whole only where no row of theirs is looked at.
        let grouped = stream.in_order.is_some();
        let aggregation = stream.program.select.aggregation.as_ref();
        if grouped && residual.is_none() && aggregation.is_some_and(InOrder::only_counts) {
            reader.iter_mut().for_each(Reader::leave_values_out);
        }
        if let Some(rows) = rows_counted {
            let groups = stream.in_order.as_mut();
            let groups = groups.ok_or_else(|| Error::internal("a count without its group"))?;
            groups.add_counted(rows);
        }
        stream.reader = reader;
        stream.residual = residual;
        Ok(stream)
    }

    /// A stream of the rows of a join. `late` is what they must still meet.
    pub(super) fn joined(
        program: Arc<Program>,
        env: Env,
        (feed, late, ordered): (Box<Feed>, Option<Expr>, bool),
        (asker, limits): (Option<Box<Asker>>, RowLimits),
    ) -> SelectStream {
        let mut stream = SelectStream::begun(program, env, (false, ordered), limits);
        stream.feed = Some(feed);
        stream.asker = asker;
        stream.late_slots = late.as_ref().map(late_slots).unwrap_or_default();
        stream.residual = late;
        stream
    }

    /// A stream that reads nothing yet. Its rows come group by group, in the order that is asked
    /// for, or not.
    fn begun(
        program: Arc<Program>,
        env: Env,
        (in_order, ordered): (bool, bool),
        limits: RowLimits,
    ) -> SelectStream {
        let select = &program.select;
        let (phase, in_order) = Phase::first(select, &env, (in_order, ordered, limits));
        let seen = select.distinct.then(|| Seen::new(&env.memory));
        SelectStream {
            ctx: env.ctx,
            cancel: env.cancel,
            residual: None,
            reader: None,
            feed: None,
            asker: None,
            late_slots: Vec::new(),
            answers: Vec::new(),
            phase,
            in_order,
            memory: env.memory,
            window: Window::new(limits),
            seen,
            bytes: Vec::new(),
            rows_read: 0,
            pace: Pace::default(),
            batch_rows_done: 0,
            tally: Tally::of(env.meter.as_ref()),
            program,
        }
    }

    /// Rows fetched from the engine so far.
    pub fn rows_read(&self) -> u64 {
        self.rows_read
    }

    pub(super) async fn page(&mut self, sink: &mut (dyn RowSink + Send)) -> Result<PageEnd> {
        if self.window.left_rows == Some(0) {
            self.phase = Phase::Done;
        }
        if matches!(self.phase, Phase::Collecting(_)) {
            self.collect().await?;
        }
        let flow = match self.phase {
            Phase::Streaming => self.stream_page(sink).await?,
            Phase::Grouped(_) => self.grouped_page(sink)?,
            Phase::Late(_) => self.late_page()?,
            Phase::Emitting(_) => self.emit_page(sink)?,
            Phase::Collecting(_) | Phase::Done => Flow::Enough,
        };
        let flow = match flow {
            Flow::Enough if self.window.left_rows != Some(0) => self.end_phase(sink)?,
            Flow::Enough | Flow::More => flow,
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
        loop {
            let Some(reader) = &mut self.reader else {
                let mut row = RowWork::of(self);
                row.stream(&NoRow, sink)?;
                return Ok(Flow::Enough);
            };
            if self.batch_rows_done == 0 && !reader.advance().await? {
                return Ok(Flow::Enough);
            }
            let flow = self.stream_batch(sink)?;
            if flow == Flow::Enough || sink.is_full() || !self.goes_on_in_this_turn() {
                return Ok(flow);
            }
            self.cancel.check()?;
        }
    }

    /// Whether a short range was read to its end and another is to be read in the same turn: ten of them are one page,
    /// and nobody is woken for a part of it.
    fn goes_on_in_this_turn(&mut self) -> bool {
        let reader = self.reader.as_ref();
        self.batch_rows_done == 0
            && reader.is_some_and(Reader::is_between_ranges)
            && !self.pace.is_over()
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
        if work.counts_batch(batch.len()) {
            work.rows_done = batch.len();
        }
        let rows = StoredRows {
            table,
            layout,
            batch,
        };
        let mut row_idx = work.rows_done;
        while let Some(row) = rows.get(row_idx)? {
            work.cancel.check_row(row_idx)?;
            let run = work.stream_run(&rows, row_idx)?;
            row_idx += run.max(1);
            if run == 0 && work.stream(&row, sink)? == Flow::Enough {
                flow = Flow::Enough;
                break;
            }
            if work.pace.is_over() || sink.is_full() {
                rows_done = row_idx;
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
        let (all, taking) = (self.lap(), self.lap());
        if let Err(error) = self.take_all(&mut collector, &program).await {
            // Freed with the stream.
            self.phase = Phase::Collecting(collector);
            return Err(error);
        }
        let is_grouped = program.select.aggregation.is_some();
        self.note_lap(taking, |tally| is_grouped.then_some(&mut tally.groups));
        self.phase = match collector.into_unsorted_groups(&program.select) {
            Ok(groups) => Phase::Grouped(Box::new(groups.finish()?)),
            Err(collector) => Phase::Emitting(collector.finish(&program.select, self).await?),
        };
        self.note_lap(all, |tally| Some(&mut tally.sort));
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
                let turns = pace::turns();
                rows_done = collector.add_batch(program, &reader, (self, rows_done))?;
                pace::keep_since(turns).await;
            }
            self.rows_read = reader.rows_read();
        }
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
        if self.tally.is_some() {
            return Box::pin(self.tallied_page(sink));
        }
        let program = Arc::clone(&self.program);
        Box::pin(async move {
            let page = self.page(sink).await;
            page.map_err(|error| named::of_select(error, &program.select))
        })
    }
}

/// What reads the table along the path of its plan; `None` without a table.
fn reader(select: &Select, env: &Env, plan: Option<&mut TablePlan>) -> Result<Option<Reader>> {
    let (Some(table), Some(plan)) = (select.table(), plan) else {
        return Ok(None);
    };
    env.uses.note(table, plan, env.ctx.now);
    let view = env.view.clone();
    let view = view.unwrap_or_else(|| View::newest(&*env.engine));
    let means = Means {
        memory: env.memory.clone(),
        cancel: &env.cancel,
    };
    Ok(Some(Reader::new(view, table, plan, &means)?))
}

impl Phase {
    /// Rows are streamed if they come in the order that is asked for, and groups if theirs come so:
    /// then rows are streamed into what is returned beside the phase.
    fn first(
        select: &Select,
        env: &Env,
        (in_order, ordered, limits): (bool, bool, RowLimits),
    ) -> (Phase, Option<Box<InOrder>>) {
        let windowed = select.windowing.is_some();
        let windowed = windowed.then(|| Box::new(Windowed::new(&env.memory, &env.cancel)));
        let ordered = ordered && !select.rearranges() || select.order_by.is_empty();
        let streams = ordered && windowed.is_none();
        match Grouping::new(select, in_order, env) {
            Grouping::None if streams => (Phase::Streaming, None),
            Grouping::InOrder(groups) if streams && !collector::asks_of_groups(select) => {
                (Phase::Streaming, Some(groups))
            }
            grouping @ (Grouping::None | Grouping::InOrder(_) | Grouping::Hash(_)) => {
                let rows_wanted = Window::new(limits).rows_wanted();
                let sorter = Sorter::new(rows_wanted, "sort", &env.memory, &env.cancel);
                let collector = Collector::new(grouping, windowed, (sorter, &env.memory));
                (Phase::Collecting(Box::new(collector)), None)
            }
        }
    }
}
