//! The steps of a join, one after the other: each takes a batch of the rows so far and adds the rows
//! of its unit.

use std::sync::Arc;

use super::asked::{Asking, Late};
use super::facts;
use super::running::Running;
use super::shape::{Batch, JoinedRow, Row, Shape};
use crate::error::{Error, Result};
use crate::exec::meter::{self, Part, Watch};
use crate::exec::nest::Nest;
use crate::exec::rows::BoxFuture;
use crate::exec::select;
use crate::plan::explain::whole::Took;
use crate::plan::join::{JoinPlan, Pool, Setting, Step, Wanted, sources_of};
use crate::sql::context::EvalContext;
use crate::sql::eval::eval_condition;

/// Rows that a step hands on at once, and candidates of one row that it looks at in one turn; what there is
/// beyond them waits.
pub(super) const BATCH_ROWS: usize = 1024;

/// The rows of a join.
pub struct JoinRows {
    site: Site,
    steps: Vec<Running>,
    /// What its rows must meet besides.
    late: Option<Late>,
    /// Where conditions wait for subqueries.
    asking: Option<Asking>,
    rows_read: u64,
}

/// Where a join runs.
struct Site {
    program: Arc<select::Program>,
    shape: Arc<Shape>,
    nest: Nest,
    ctx: EvalContext,
}

impl Site {
    fn frame<'a>(&'a self, wanted: Wanted<'a>) -> Frame<'a> {
        Frame {
            program: &self.program,
            shape: &self.shape,
            nest: &self.nest,
            ctx: &self.ctx,
            wanted,
        }
    }
}

/// What everything that runs within a join looks at.
pub(super) struct Frame<'a> {
    pub(super) program: &'a Arc<select::Program>,
    pub(super) shape: &'a Arc<Shape>,
    pub(super) nest: &'a Nest,
    pub(super) ctx: &'a EvalContext,
    pub(super) wanted: Wanted<'a>,
}

impl<'a> Frame<'a> {
    /// What its tables are planned with.
    pub(super) fn setting(&self) -> Setting<'a> {
        Setting {
            joined: &self.shape.joined,
            used_columns: &self.shape.used_columns,
            ctx: self.ctx,
            policy: &self.nest.policy,
            wanted: self.wanted,
        }
    }
}

impl JoinRows {
    /// The rows of a planned join of a program. `wanted` is what it was planned with; who sees to `late`
    /// of the plan takes it out before.
    ///
    /// # Errors
    /// Those of the first unit.
    pub async fn open(
        (program, shape): (&Arc<select::Program>, &Arc<Shape>),
        (plan, wanted): (JoinPlan, Wanted<'_>),
        (nest, ctx): (&Nest, EvalContext),
    ) -> Result<JoinRows> {
        let site = Site {
            program: Arc::clone(program),
            shape: Arc::clone(shape),
            nest: nest.clone(),
            ctx,
        };
        let late = plan.late.map(Late::new);
        let asks = late.is_some() || plan.steps.iter().any(|step| step.asked.is_some());
        let asking = asks.then(|| Asking::of(&site.frame(wanted)));
        let mut rows = JoinRows {
            steps: plan.steps.into_iter().map(Running::new).collect(),
            late,
            asking: asking.transpose()?,
            site,
            rows_read: 0,
        };
        rows.begin(wanted).await?;
        Ok(rows)
    }

    /// The rows of a join within a join.
    pub(super) async fn of_pool(pool: &Pool, frame: &Frame<'_>) -> Result<JoinRows> {
        let wanted = Wanted::default();
        let policy = &frame.nest.policy;
        let plan = Box::pin(facts::plan_pool(
            pool,
            (frame.shape, wanted),
            (frame.nest, frame.ctx, policy),
        ));
        let plan = plan.await?;
        open_within(frame, plan).await
    }

    /// Opens what the first step reads.
    async fn begin(&mut self, wanted: Wanted<'_>) -> Result<()> {
        let Some(first) = self.steps.first_mut() else {
            return Err(Error::internal("a join without steps"));
        };
        first.scan(&self.site.frame(wanted)).await
    }

    /// The next rows; `None` after the last. There may be none and more later.
    ///
    /// # Errors
    /// Those of evaluation and of the engine; 1038 when what a step keeps does not fit.
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        let Some(last) = self.steps.len().checked_sub(1) else {
            return Ok(None);
        };
        let batch = self.of_step(last).await?;
        match (batch, &self.late, &mut self.asking) {
            (Some(batch), Some(late), Some(asking)) => {
                let frame = self.site.frame(Wanted::default());
                Ok(Some(asking.kept(late, batch, &frame).await?))
            }
            (Some(_), Some(_), None) => Err(Error::internal("a join that nobody answers")),
            (batch, _, _) => Ok(batch),
        }
    }

    /// Rows fetched from the engine so far.
    pub fn rows_read(&self) -> u64 {
        let scanned = self.steps.iter().map(Running::rows_scanned);
        self.rows_read + scanned.sum::<u64>()
    }

    /// The next rows of a step.
    fn of_step(&mut self, step_idx: usize) -> BoxFuture<'_, Result<Option<Batch>>> {
        if self.site.nest.meter.is_some() {
            return Box::pin(self.metered_step(step_idx));
        }
        self.advanced(step_idx)
    }

    /// As [`JoinRows::of_step`], for EXPLAIN ANALYZE.
    async fn metered_step(&mut self, step_idx: usize) -> Result<Option<Batch>> {
        let watch = Watch::start(self.site.nest.meter.as_ref());
        let batch = self.advanced(step_idx).await?;
        if let Some(running) = self.steps.get(step_idx) {
            let part = Part::Step(sources_of(&running.step.unit));
            watch.stop((self.site.shape.as_ref(), part), || Took {
                batches: u64::from(batch.is_some()),
                rows_out: batch.as_ref().map_or(0, |batch| meter::count(batch.len())),
                ..Took::default()
            });
        }
        Ok(batch)
    }

    /// Takes down what a step took in.
    fn note_in(&self, step_idx: usize, (rows_in, rows_read): (usize, u64)) {
        if let (Some(meter), Some(running)) = (&self.site.nest.meter, self.steps.get(step_idx)) {
            let part = Part::Step(sources_of(&running.step.unit));
            let took = Took {
                rows_in: meter::count(rows_in),
                rows_read,
                ..Took::default()
            };
            meter.add((self.site.shape.as_ref(), part), took);
        }
    }

    fn advanced(&mut self, step_idx: usize) -> BoxFuture<'_, Result<Option<Batch>>> {
        Box::pin(async move {
            let Some(before) = step_idx.checked_sub(1) else {
                let read_before = self.rows_read();
                let batch = self.scanned().await?;
                self.note_in(0, (0, self.rows_read() - read_before));
                return Ok(batch);
            };
            let has_waiting = self.steps.get(step_idx).is_some_and(Running::has_waiting);
            if !has_waiting {
                let Some(batch) = self.of_step(before).await? else {
                    return self.of_files(step_idx).await;
                };
                if let Some(running) = self.steps.get_mut(step_idx) {
                    running.waiting = batch.into_iter();
                }
            }
            let (waiting, read_before) = (self.waiting_count(step_idx), self.rows_read());
            let batch = self.joined(step_idx).await?;
            let rows_in = waiting - self.waiting_count(step_idx);
            self.note_in(step_idx, (rows_in, self.rows_read() - read_before));
            Ok(Some(batch))
        })
    }

    fn waiting_count(&self, step_idx: usize) -> usize {
        let running = self.steps.get(step_idx);
        running.map_or(0, |running| running.waiting.len())
    }

    /// The next rows of a step that has kept rows in files, once the steps before have no more.
    async fn of_files(&mut self, step_idx: usize) -> Result<Option<Batch>> {
        let Some(running) = self.steps.get_mut(step_idx) else {
            return Ok(None);
        };
        let frame = self.site.frame(Wanted::default());
        let batch = running.of_files(&frame, self.asking.as_mut()).await?;
        let Some(mut batch) = batch else {
            return Ok(None);
        };
        running.filter(&mut batch, &frame)?;
        Ok(Some(batch))
    }

    async fn scanned(&mut self) -> Result<Option<Batch>> {
        let Some(first) = self.steps.first_mut() else {
            return Ok(None);
        };
        first.scanned(&self.site.frame(Wanted::default())).await
    }

    /// Joins rows that wait at a step.
    async fn joined(&mut self, step_idx: usize) -> Result<Batch> {
        let Some(running) = self.steps.get_mut(step_idx) else {
            return Err(Error::internal("a step that is not there"));
        };
        let frame = self.site.frame(Wanted::default());
        let mut found = running.join(&frame, self.asking.as_mut()).await?;
        self.rows_read += found.rows_read;
        running.filter(&mut found.batch, &frame)?;
        Ok(found.batch)
    }
}

/// The boxed future of a join within a join: as an unnamed one its type would contain itself.
fn open_within<'a>(frame: &'a Frame<'_>, plan: JoinPlan) -> BoxFuture<'a, Result<JoinRows>> {
    let ctx = frame.ctx.nested();
    Box::pin(async move {
        let of = (frame.program, frame.shape);
        JoinRows::open(of, (plan, Wanted::default()), (frame.nest, ctx)).await
    })
}

/// Adds to `batch` the matches of a row among candidates, which it is joined with. Whether there are
/// any.
pub(super) fn add_matches<'r>(
    step: &Step,
    (row, candidates): (&Row, impl Iterator<Item = &'r Row>),
    (frame, batch): (&Frame<'_>, &mut Batch),
) -> Result<bool> {
    let before = batch.len();
    for (idx, candidate) in candidates.enumerate() {
        frame.nest.cancel.check_row(idx)?;
        let joined = overlay(row, candidate);
        if is_match(step, &joined, frame)? {
            batch.push(joined);
        }
    }
    Ok(before < batch.len())
}

/// Whether a row and a candidate, joined, are a match at a step.
pub(super) fn is_match(step: &Step, row: &Row, frame: &Frame<'_>) -> Result<bool> {
    match &step.conditions {
        Some(condition) => {
            let row = JoinedRow::new(frame.shape, row);
            Ok(eval_condition(condition, &row, frame.ctx)? == Some(true))
        }
        None => Ok(true),
    }
}

/// The pieces of both rows.
fn overlay(row: &Row, more: &Row) -> Row {
    let pairs = row.iter().zip(more);
    let pieces = pairs.map(|(own, other)| own.as_ref().or(other.as_ref()).cloned());
    pieces.collect()
}
