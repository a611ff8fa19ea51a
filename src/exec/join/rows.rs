//! The steps of a join, one after the other: each takes a batch of the rows so far and adds the rows
//! of its unit.

use std::sync::Arc;

use super::each::Each;
use super::facts;
use super::hash::{Built, Sides, hashed};
use super::lookup::{Found, Matches};
use super::shape::{Batch, JoinedRow, Row, Shape};
use super::unit::{UnitReader, keep};
use crate::error::{Error, Result};
use crate::exec::ask::Asker;
use crate::exec::meter::{self, Part, Watch};
use crate::exec::nest::Nest;
use crate::exec::pace::Pace;
use crate::exec::rows::BoxFuture;
use crate::plan::explain::whole::Took;
use crate::plan::join::{JoinPlan, Method, Pool, Setting, Step, Wanted, sources_of};
use crate::sql::bound::Stage;
use crate::sql::context::EvalContext;
use crate::sql::eval::eval_condition;
use crate::sql::expr::Expr;

/// Rows that a step hands on at once; what a batch leads to beyond them waits.
pub(super) const BATCH_ROWS: usize = 1024;

/// The rows of a join.
pub struct JoinRows {
    shape: Arc<Shape>,
    nest: Nest,
    ctx: EvalContext,
    steps: Vec<Running>,
    /// For subqueries in ON of outer joins.
    asking: Option<Asking>,
    rows_read: u64,
}

/// Answers subqueries for two rows that may be a match.
struct Asking {
    asker: Box<Asker>,
    ctx: EvalContext,
}

/// What everything that runs within a join looks at.
pub(super) struct Frame<'a> {
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

/// A step that runs.
struct Running {
    step: Step,
    /// Whether rows without a match are kept, where what makes a match is asked for each.
    keeps_alone: bool,
    state: State,
    /// Rows of the steps before it that are not joined yet.
    waiting: std::vec::IntoIter<Row>,
}

enum State {
    /// Nothing was read.
    New,
    Scan(Box<UnitReader>),
    Lookup(Box<Matches>),
    Each(Each),
    Hash(Built),
}

impl JoinRows {
    /// The rows of a planned join. `wanted` is what it was planned with.
    ///
    /// # Errors
    /// Those of the first unit.
    pub async fn open(
        shape: &Arc<Shape>,
        (plan, wanted): (JoinPlan, Wanted<'_>),
        (nest, ctx): (&Nest, EvalContext),
        asker: Option<Box<Asker>>,
    ) -> Result<JoinRows> {
        let asks = plan.steps.iter().any(|step| step.asked.is_some());
        let asking = asker.filter(|_| asks).map(|asker| Asking {
            asker,
            ctx: ctx.nested(),
        });
        if asks && asking.is_none() {
            return Err(Error::unsupported(
                "a subquery in ON within an outer join that refers to the joined tables",
            ));
        }
        let mut rows = JoinRows {
            shape: Arc::clone(shape),
            nest: nest.clone(),
            ctx,
            steps: plan.steps.into_iter().map(Running::new).collect(),
            asking,
            rows_read: 0,
        };
        rows.begin(wanted).await?;
        Ok(rows)
    }

    /// The rows of a join within a join.
    pub(super) async fn of_pool(pool: &Pool, frame: &Frame<'_>) -> Result<JoinRows> {
        if !pool.late.is_empty() {
            return Err(Error::unsupported(
                "a subquery in ON within an outer join that refers to the joined tables",
            ));
        }
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
        let Method::Scan { filter } = &first.step.method else {
            return Err(Error::internal("a join that begins with a lookup"));
        };
        let frame = Frame {
            shape: &self.shape,
            nest: &self.nest,
            ctx: &self.ctx,
            wanted,
        };
        let reader = UnitReader::open(&first.step.unit, filter.as_ref(), &frame).await?;
        first.state = State::Scan(Box::new(reader));
        Ok(())
    }

    /// The next rows; `None` after the last. There may be none and more later.
    ///
    /// # Errors
    /// Those of evaluation and of the engine; 1038 when what a step keeps does not fit.
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        match self.steps.len().checked_sub(1) {
            Some(last) => self.of_step(last).await,
            None => Ok(None),
        }
    }

    /// Rows fetched from the engine so far.
    pub fn rows_read(&self) -> u64 {
        let scanned = self.steps.iter().map(|running| match &running.state {
            State::Scan(reader) => reader.rows_read,
            State::New | State::Lookup(_) | State::Each(_) | State::Hash(_) => 0,
        });
        self.rows_read + scanned.sum::<u64>()
    }

    /// The next rows of a step.
    fn of_step(&mut self, step_idx: usize) -> BoxFuture<'_, Result<Option<Batch>>> {
        if self.nest.meter.is_some() {
            return Box::pin(self.metered_step(step_idx));
        }
        self.advanced(step_idx)
    }

    /// As [`JoinRows::of_step`], for EXPLAIN ANALYZE.
    async fn metered_step(&mut self, step_idx: usize) -> Result<Option<Batch>> {
        let watch = Watch::start(self.nest.meter.as_ref());
        let batch = self.advanced(step_idx).await?;
        if let Some(running) = self.steps.get(step_idx) {
            let part = Part::Step(sources_of(&running.step.unit));
            watch.stop((self.shape.as_ref(), part), || Took {
                batches: u64::from(batch.is_some()),
                rows_out: batch.as_ref().map_or(0, |batch| meter::count(batch.len())),
                ..Took::default()
            });
        }
        Ok(batch)
    }

    /// Takes down what a step took in.
    fn note_in(&self, step_idx: usize, (rows_in, rows_read): (usize, u64)) {
        if let (Some(meter), Some(running)) = (&self.nest.meter, self.steps.get(step_idx)) {
            let part = Part::Step(sources_of(&running.step.unit));
            let took = Took {
                rows_in: meter::count(rows_in),
                rows_read,
                ..Took::default()
            };
            meter.add((self.shape.as_ref(), part), took);
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
        let (State::Hash(Built::Parted(parted)), Method::Hash { keys, .. }) =
            (&mut running.state, &running.step.method)
        else {
            return Ok(None);
        };
        let frame = Frame {
            shape: &self.shape,
            nest: &self.nest,
            ctx: &self.ctx,
            wanted: Wanted::default(),
        };
        if parted.is_taking() {
            parted.begin()?;
        }
        let sides = Sides {
            step: &running.step,
            keys,
        };
        let Some(mut batch) = parted.next(sides, &frame).await? else {
            return Ok(None);
        };
        if let Some(filter) = &running.step.filter {
            keep(&mut batch, filter, (&self.shape, &self.ctx))?;
        }
        Ok(Some(batch))
    }

    async fn scanned(&mut self) -> Result<Option<Batch>> {
        let Some(first) = self.steps.first_mut() else {
            return Ok(None);
        };
        let State::Scan(reader) = &mut first.state else {
            return Err(Error::internal("a join that was not begun"));
        };
        let frame = Frame {
            shape: &self.shape,
            nest: &self.nest,
            ctx: &self.ctx,
            wanted: Wanted::default(),
        };
        reader.next(&frame).await
    }

    /// Joins rows that wait at a step.
    async fn joined(&mut self, step_idx: usize) -> Result<Batch> {
        let Some(running) = self.steps.get_mut(step_idx) else {
            return Err(Error::internal("a step that is not there"));
        };
        let frame = Frame {
            shape: &self.shape,
            nest: &self.nest,
            ctx: &self.ctx,
            wanted: Wanted::default(),
        };
        let mut batch = match &running.step.method {
            Method::Scan { .. } => return Err(Error::internal("a second scan in a join")),
            Method::Lookup(lookup) => {
                if matches!(running.state, State::New) {
                    running.state = State::Lookup(Box::default());
                }
                let State::Lookup(matches) = &mut running.state else {
                    return Err(Error::internal("a lookup without its state"));
                };
                let step = (&running.step, lookup);
                let found = matches.next(step, &mut running.waiting, &frame).await?;
                self.rows_read += found.rows_read;
                found.batch
            }
            Method::Each => {
                let found = running.each(&frame).await?;
                self.rows_read += found.rows_read;
                found.batch
            }
            Method::Hash { filter, keys } => {
                let sides = Sides {
                    step: &running.step,
                    keys,
                };
                if matches!(running.state, State::New) {
                    let opened = UnitReader::open(&running.step.unit, filter.as_ref(), &frame);
                    let (built, rows_read) = Built::of(opened.await?, sides, &frame).await?;
                    self.rows_read += rows_read;
                    running.state = State::Hash(built);
                }
                let State::Hash(built) = &mut running.state else {
                    return Err(Error::internal("a hash join without a table"));
                };
                match (&mut self.asking, &running.step.asked) {
                    (Some(asking), Some(_)) => {
                        let keeps_alone = running.keeps_alone;
                        let rows = (sides, &mut running.waiting, keeps_alone);
                        asked(built, rows, (&frame, asking)).await?
                    }
                    (Some(_) | None, _) => {
                        hashed(built, (sides, &mut running.waiting), &frame).await?
                    }
                }
            }
        };
        if let Some(filter) = &running.step.filter {
            keep(&mut batch, filter, (&self.shape, &self.ctx))?;
        }
        Ok(batch)
    }
}

/// Joins rows by a hash table where subqueries tell what a match is.
async fn asked(
    built: &Built,
    (sides, waiting, keeps_alone): (Sides<'_>, &mut std::vec::IntoIter<Row>, bool),
    (frame, asking): (&Frame<'_>, &mut Asking),
) -> Result<Batch> {
    let Built::Memory(table) = built else {
        return Err(Error::unsupported(
            "a subquery in ON of an outer join that does not fit into memory",
        ));
    };
    let mut batch = Vec::new();
    let mut pace = Pace::default();
    for row in waiting {
        let before = batch.len();
        let mut candidates = Vec::new();
        table.probe(sides, row.clone(), (frame, &mut candidates))?;
        for candidate in candidates {
            pace.keep().await;
            frame.nest.cancel.check()?;
            if asking
                .are_match(sides.step, &candidate, frame.shape)
                .await?
            {
                batch.push(candidate);
            }
        }
        if keeps_alone && batch.len() == before {
            batch.push(row);
        }
        if BATCH_ROWS <= batch.len() {
            break;
        }
    }
    Ok(batch)
}

impl Asking {
    async fn are_match(&mut self, step: &Step, row: &Row, shape: &Shape) -> Result<bool> {
        let row = JoinedRow::new(shape, row);
        self.asker.answer(Stage::Join, &row, &mut self.ctx).await?;
        match &step.asked {
            Some(condition) => Ok(eval_condition(condition, &row, &self.ctx)? == Some(true)),
            None => Ok(true),
        }
    }
}

/// The boxed future of a join within a join: as an unnamed one its type would contain itself.
fn open_within<'a>(frame: &'a Frame<'_>, plan: JoinPlan) -> BoxFuture<'a, Result<JoinRows>> {
    let ctx = frame.ctx.nested();
    Box::pin(async move {
        let place = (frame.nest, ctx);
        JoinRows::open(frame.shape, (plan, Wanted::default()), place, None).await
    })
}

impl Running {
    fn new(mut step: Step) -> Running {
        let keeps_alone = step.is_outer;
        step.is_outer &= step.asked.is_none();
        Running {
            step,
            keeps_alone,
            state: State::New,
            waiting: Vec::new().into_iter(),
        }
    }

    /// Joins rows that wait at a lateral step.
    async fn each(&mut self, frame: &Frame<'_>) -> Result<Found> {
        if matches!(self.state, State::New) {
            self.state = State::Each(Each::default());
        }
        let State::Each(each) = &mut self.state else {
            return Err(Error::internal("a lateral join without its state"));
        };
        each.next(&self.step, &mut self.waiting, frame).await
    }

    /// Whether rows of the steps before it are not joined to their end.
    fn has_waiting(&self) -> bool {
        let is_within = match &self.state {
            State::Lookup(matches) => matches.has_more(),
            State::Each(each) => each.has_more(),
            State::New | State::Scan(_) | State::Hash(_) => false,
        };
        is_within || 0 < self.waiting.len()
    }
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
        if meets(step.conditions.as_ref(), &joined, frame)? {
            batch.push(joined);
        }
    }
    Ok(before < batch.len())
}

/// As [`add_matches`], where the candidates are all there are: adds the row itself when it has no
/// match, and such rows are kept.
pub(super) fn add_all<'r>(
    step: &Step,
    (row, candidates): (Row, impl Iterator<Item = &'r Row>),
    (frame, batch): (&Frame<'_>, &mut Batch),
) -> Result<()> {
    let is_matched = add_matches(step, (&row, candidates), (frame, batch))?;
    if step.is_outer && !is_matched {
        batch.push(row);
    }
    Ok(())
}

fn meets(condition: Option<&Expr>, row: &Row, frame: &Frame<'_>) -> Result<bool> {
    match condition {
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
