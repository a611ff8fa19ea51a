//! A step of a join at work: the rows that wait at it, and what its method has read.

use super::asked::{Asking, Late, Matching, Unsettled};
use super::each::Each;
use super::hash::{Built, Hashed, Sides};
use super::lookup::{Found, Matches};
use super::rows::Frame;
use super::shape::{Batch, Row};
use super::unit::{UnitReader, keep};
use crate::error::{Error, Result};
use crate::plan::join::{Method, Step};

/// A step that runs.
pub(super) struct Running {
    pub(super) step: Step,
    /// Whether rows without a match are kept. `step.is_outer` says so only where the method knows what a
    /// match is: where subqueries tell, it is false, so that the method adds no such row itself.
    pub(super) keeps_alone: bool,
    /// What makes a match besides.
    pub(super) late: Option<Late>,
    state: State,
    /// Rows of the steps before it that are not joined yet.
    pub(super) waiting: std::vec::IntoIter<Row>,
    /// Where matches are asked for: the rows that the method is at.
    pub(super) unsettled: Unsettled,
}

enum State {
    /// Nothing was read.
    New,
    Scan(Box<UnitReader>),
    Lookup(Box<Matches>),
    Each(Each),
    Hash(Box<Hashed>),
}

impl Running {
    pub(super) fn new(mut step: Step) -> Running {
        let keeps_alone = step.is_outer;
        let late = step.asked.take().map(Late::new);
        step.is_outer &= late.is_none();
        Running {
            step,
            keeps_alone,
            late,
            state: State::New,
            waiting: Vec::new().into_iter(),
            unsettled: Unsettled::default(),
        }
    }

    /// Begins to read the first unit of a join.
    pub(super) async fn scan(&mut self, frame: &Frame<'_>) -> Result<()> {
        let Method::Scan { filter } = &self.step.method else {
            return Err(Error::internal("a join that begins with a lookup"));
        };
        let reader = UnitReader::open(&self.step.unit, filter.as_ref(), frame).await?;
        self.state = State::Scan(Box::new(reader));
        Ok(())
    }

    /// The next rows of the first unit.
    pub(super) async fn scanned(&mut self, frame: &Frame<'_>) -> Result<Option<Batch>> {
        let State::Scan(reader) = &mut self.state else {
            return Err(Error::internal("a join that was not begun"));
        };
        reader.next(frame).await
    }

    /// Rows of the first unit that were fetched from the engine.
    pub(super) fn rows_scanned(&self) -> u64 {
        match &self.state {
            State::Scan(reader) => reader.rows_read,
            State::New | State::Lookup(_) | State::Each(_) | State::Hash(_) => 0,
        }
    }

    /// Whether rows of the steps before it are not joined to their end.
    pub(super) fn has_waiting(&self) -> bool {
        let is_within = match &self.state {
            State::Lookup(matches) => matches.has_more(),
            State::Each(each) => each.has_more(),
            State::Hash(hashed) => hashed.has_more(),
            State::New | State::Scan(_) => false,
        };
        is_within || 0 < self.waiting.len()
    }

    /// Whether the rows of the unit are in files.
    pub(super) fn is_parted(&self) -> bool {
        matches!(&self.state, State::Hash(hashed) if hashed.is_parted())
    }

    /// Joins some of the rows that wait.
    pub(super) async fn join(
        &mut self,
        frame: &Frame<'_>,
        asking: Option<&mut Asking>,
    ) -> Result<Found> {
        match (&self.late, asking) {
            (Some(_), Some(asking)) => self.ask(frame, asking).await,
            (Some(_), None) => Err(Error::internal("a step that nobody answers")),
            (None, _) => self.advance(frame).await,
        }
    }

    /// Joins some of the rows that wait, by its method alone.
    pub(super) async fn advance(&mut self, frame: &Frame<'_>) -> Result<Found> {
        let rows_read = self.prepare(frame).await?;
        let (step, waiting) = (&self.step, &mut self.waiting);
        let mut found = match (&mut self.state, &step.method) {
            (State::Lookup(matches), Method::Lookup(lookup)) => {
                matches.next((step, lookup), waiting, frame).await?
            }
            (State::Each(each), Method::Each) => each.next(step, waiting, frame).await?,
            (State::Hash(hashed), Method::Hash { keys, .. }) => {
                let joining = (Sides { step, keys }, self.keeps_alone);
                Found {
                    batch: hashed.next(joining, waiting, frame).await?,
                    rows_read: 0,
                }
            }
            (_, Method::Scan { .. }) => return Err(Error::internal("a second scan in a join")),
            (_, Method::Lookup(_) | Method::Each | Method::Hash { .. }) => {
                return Err(Error::internal("a step that was not prepared"));
            }
        };
        found.rows_read += rows_read;
        Ok(found)
    }

    /// Reads what its method needs before the first row. Returns how many rows were fetched from the
    /// engine.
    pub(super) async fn prepare(&mut self, frame: &Frame<'_>) -> Result<u64> {
        if !matches!(self.state, State::New) {
            return Ok(0);
        }
        let mut rows_read = 0;
        self.state = match &self.step.method {
            Method::Scan { .. } => return Ok(0),
            Method::Lookup(_) => State::Lookup(Box::default()),
            Method::Each => State::Each(Each::default()),
            Method::Hash { filter, keys } => {
                let step = &self.step;
                let unit = UnitReader::open(&step.unit, filter.as_ref(), frame).await?;
                let sides = Sides { step, keys };
                let built;
                (built, rows_read) = Built::of(unit, sides, frame).await?;
                State::Hash(Box::new(Hashed::new(built)))
            }
        };
        Ok(rows_read)
    }

    /// The next rows of those that were put into files; `None` after the last.
    pub(super) async fn of_files(
        &mut self,
        frame: &Frame<'_>,
        asking: Option<&mut Asking>,
    ) -> Result<Option<Batch>> {
        let (State::Hash(hashed), Method::Hash { keys, .. }) = (&mut self.state, &self.step.method)
        else {
            return Ok(None);
        };
        let Some(parted) = hashed.parted() else {
            return Ok(None);
        };
        if parted.is_taking() {
            parted.begin()?;
        }
        let sides = Sides {
            step: &self.step,
            keys,
        };
        let matching = match (&self.late, asking) {
            (Some(late), Some(asking)) => Some(Matching {
                asking,
                late,
                keeps_alone: self.keeps_alone,
            }),
            (Some(_), None) => return Err(Error::internal("a step that nobody answers")),
            (None, _) => None,
        };
        parted.next(sides, (frame, matching)).await
    }

    /// Keeps the joined rows that meet what the step has to see to besides.
    pub(super) fn filter(&self, batch: &mut Batch, frame: &Frame<'_>) -> Result<()> {
        match &self.step.filter {
            Some(filter) => keep(batch, filter, (frame.shape, frame.ctx)),
            None => Ok(()),
        }
    }
}
