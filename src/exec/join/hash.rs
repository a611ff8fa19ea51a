//! Hash joins: the rows of a unit, kept by the values of its side of the equations.
//!
//! Without equations every row is a candidate: the nested loop of small units. What is a match is
//! checked again on each candidate. A unit that does not fit into memory goes to files (`parted`),
//! where there are equations to part it by.

use std::collections::HashMap;

use super::parted::{OPERATOR, Parted, Taken};
use super::rows::{BATCH_ROWS, Frame, add_matches};
use super::shape::{Batch, JoinedRow, Row, piece_bytes};
use super::unit::UnitReader;
use crate::error::{Error, Result};
use crate::exec::budget::Budget;
use crate::exec::pace::Pace;
use crate::plan::join::Step;
use crate::sql::eval::eval_exact;
use crate::sql::expr::Expr;
use crate::sql::members::Class;
use crate::types::value::GroupKey;

/// What a row costs beyond its pieces.
const ROW_OVERHEAD_BYTES: usize = 64;

/// The values of a row's side of the equations.
pub(super) type Key = Vec<GroupKey<'static>>;

/// A step, and the equations that it joins by.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) step: &'a Step,
    pub(super) keys: &'a [(Expr, Expr)],
}

impl<'a> Sides<'a> {
    /// The sides over the rows of the steps before.
    pub(super) fn far(self) -> impl Iterator<Item = &'a Expr> {
        self.keys.iter().map(|(far, _)| far)
    }

    /// The sides over the unit's rows.
    pub(super) fn own(self) -> impl Iterator<Item = &'a Expr> {
        self.keys.iter().map(|(_, own)| own)
    }
}

/// The rows of a unit by their keys.
pub(super) struct HashTable {
    rows: Vec<Row>,
    by_key: HashMap<Key, Vec<usize>>,
    /// What they take of the statement's memory.
    budget: Budget,
}

/// The rows of a unit, read.
pub(super) enum Built {
    /// They are in memory.
    Memory(HashTable),
    /// They are in files.
    Parted(Box<Parted>),
}

impl Built {
    /// Reads a unit. Returns also how many rows were fetched from the engine.
    pub(super) async fn of(
        mut unit: UnitReader,
        sides: Sides<'_>,
        frame: &Frame<'_>,
    ) -> Result<(Built, u64)> {
        let mut built = Built::Memory(HashTable::new(frame));
        while let Some(batch) = unit.next(frame).await? {
            for row in batch {
                built = built.with(row, sides, frame)?;
            }
            tokio::task::yield_now().await;
        }
        Ok((built, unit.rows_read))
    }

    fn with(mut self, row: Row, sides: Sides<'_>, frame: &Frame<'_>) -> Result<Built> {
        let table = match &mut self {
            Built::Memory(table) => table,
            Built::Parted(parted) => {
                if let Some(key) = key_of(&row, sides.own(), frame)? {
                    parted.take_own(&key, &row)?;
                }
                return Ok(self);
            }
        };
        let Some(row) = table.try_add(row, sides, frame)? else {
            return Ok(self);
        };
        let disk = frame.nest.memory.disk().filter(|_| !sides.keys.is_empty());
        let (disk, table) = match (disk, self) {
            (Some(disk), Built::Memory(table)) => (disk, table),
            (None, Built::Memory(table)) => return Err(table.refusal(&row)),
            (_, parted @ Built::Parted(_)) => return parted.with(row, sides, frame),
        };
        let mut parted = Parted::new(disk);
        for (key, row) in table.into_rows(sides, frame)? {
            parted.take_own(&key, &row)?;
        }
        Built::Parted(Box::new(parted)).with(row, sides, frame)
    }
}

fn row_bytes(row: &Row) -> usize {
    let pieces = row.iter().flatten().map(piece_bytes).sum::<usize>();
    pieces + row.len() * size_of::<usize>() * 2 + ROW_OVERHEAD_BYTES
}

impl HashTable {
    /// No rows yet.
    pub(super) fn new(frame: &Frame<'_>) -> HashTable {
        HashTable {
            rows: Vec::new(),
            by_key: HashMap::new(),
            budget: frame.nest.memory.budget(OPERATOR),
        }
    }

    /// Adds a row; gives it back when there is no room for it.
    pub(super) fn try_add(
        &mut self,
        row: Row,
        sides: Sides<'_>,
        frame: &Frame<'_>,
    ) -> Result<Option<Row>> {
        let Some(key) = key_of(&row, sides.own(), frame)? else {
            return Ok(None);
        };
        if !self.budget.try_take(row_bytes(&row)) {
            return Ok(Some(row));
        }
        self.by_key.entry(key).or_default().push(self.rows.len());
        self.rows.push(row);
        Ok(None)
    }

    /// The rows, each with its key.
    pub(super) fn into_rows(self, sides: Sides<'_>, frame: &Frame<'_>) -> Result<Vec<(Key, Row)>> {
        let mut rows = Vec::with_capacity(self.rows.len());
        for row in self.rows {
            if let Some(key) = key_of(&row, sides.own(), frame)? {
                rows.push((key, row));
            }
        }
        Ok(rows)
    }

    /// Error 1038 or 1041 for a row more, which was refused.
    pub(super) fn refusal(&self, row: &Row) -> Error {
        self.budget.refusal(OPERATOR, row_bytes(row))
    }

    /// Joins a row with its next candidates, [`BATCH_ROWS`] at most: a row may have as many as the table.
    /// Gives it back unless those were the last.
    pub(super) fn probe(
        &self,
        step: &Step,
        mut probing: Probing,
        (frame, batch): (&Frame<'_>, &mut Batch),
    ) -> Result<Option<Probing>> {
        let found = probing.key.as_ref().and_then(|key| self.by_key.get(key));
        let left = found.and_then(|found| found.get(probing.joined_count..));
        let left = left.unwrap_or_default();
        let turn = left.get(..BATCH_ROWS).unwrap_or(left);
        let candidates = turn.iter().filter_map(|idx| self.rows.get(*idx));
        probing.is_matched |= add_matches(step, (&probing.row, candidates), (frame, batch))?;
        if turn.len() < left.len() {
            probing.joined_count += turn.len();
            return Ok(Some(probing));
        }
        if step.is_outer && !probing.is_matched {
            batch.push(probing.row);
        }
        Ok(None)
    }
}

/// A row of the steps before, and how far it is joined.
pub(super) struct Probing {
    pub(super) row: Row,
    /// `None` when there can be no match.
    key: Option<Key>,
    /// So many of its candidates were looked at.
    joined_count: usize,
    pub(super) is_matched: bool,
}

impl Probing {
    /// A row that is not joined with any yet.
    pub(super) fn new(row: Row, sides: Sides<'_>, frame: &Frame<'_>) -> Result<Probing> {
        Ok(Probing {
            key: key_of(&row, sides.far(), frame)?,
            row,
            joined_count: 0,
            is_matched: false,
        })
    }
}

/// The values of a row's keys; `None` when one is `NULL`, which equals nothing.
pub(super) fn key_of<'e>(
    row: &Row,
    keys: impl Iterator<Item = &'e Expr>,
    frame: &Frame<'_>,
) -> Result<Option<Key>> {
    let row = JoinedRow::new(frame.shape, row);
    let mut values = Vec::new();
    for key in keys {
        let value = eval_exact(key, &row, frame.ctx)?;
        if value.is_null() {
            return Ok(None);
        }
        values.push(Class::key(value.into_owned()));
    }
    Ok(Some(values))
}

/// A hash join at work.
pub(super) struct Hashed {
    built: Built,
    /// The row that is not joined to its end.
    current: Option<Probing>,
}

impl Hashed {
    /// By what was read of the unit.
    pub(super) fn new(built: Built) -> Hashed {
        Hashed {
            built,
            current: None,
        }
    }

    /// Whether a row is not joined to its end.
    pub(super) fn has_more(&self) -> bool {
        self.current.is_some()
    }

    /// The files, when the rows of the unit are there.
    pub(super) fn parted(&mut self) -> Option<&mut Parted> {
        match &mut self.built {
            Built::Memory(_) => None,
            Built::Parted(parted) => Some(parted),
        }
    }

    /// Whether the rows of the unit are in files.
    pub(super) fn is_parted(&self) -> bool {
        matches!(self.built, Built::Parted(_))
    }

    /// Joins some of the rows that wait; those whose candidates are in files are put there, and of those
    /// that have none it is said whether they are kept.
    pub(super) async fn next(
        &mut self,
        (sides, keeps_alone): (Sides<'_>, bool),
        waiting: &mut std::vec::IntoIter<Row>,
        frame: &Frame<'_>,
    ) -> Result<Batch> {
        let mut batch = Vec::new();
        let mut pace = Pace::default();
        for turn_idx in 0.. {
            if BATCH_ROWS <= batch.len() {
                break;
            }
            pace.keep().await;
            frame.nest.cancel.check_row(turn_idx)?;
            match &mut self.built {
                Built::Memory(table) => {
                    let probing = match self.current.take() {
                        Some(probing) => probing,
                        None => match waiting.next() {
                            Some(row) => Probing::new(row, sides, frame)?,
                            None => break,
                        },
                    };
                    self.current = table.probe(sides.step, probing, (frame, &mut batch))?;
                }
                Built::Parted(parted) => {
                    let Some(row) = waiting.next() else { break };
                    match parted.take_far(row, (sides, frame))? {
                        Taken::Alone(row) if keeps_alone => batch.push(row),
                        Taken::Alone(_) | Taken::Later => {}
                    }
                }
            }
        }
        Ok(batch)
    }
}
