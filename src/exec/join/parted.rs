//! A hash join that does not fit into memory: both sides go to files, parted by a hash of their keys,
//! and are joined part by part. A part that is still too large is parted again by another hash.
//!
//! Grace hash join: Kitsuregawa, Tanaka, Moto-oka, "Application of Hash to Data Base Machine and Its
//! Architecture", 1983. Each row of the steps before is met in one part alone, so outer joins work as
//! in memory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::asked::Matching;
use super::hash::{HashTable, Key, Probing, Sides, key_of};
use super::rows::Frame;
use super::shape::{Batch, Row, Shape};
use crate::error::{Error, Result};
use crate::exec::exact;
use crate::exec::pace::Pace;
use crate::exec::partition::{DEPTH_MAX, Partitions};
use crate::exec::spill::{Disk, SpillFile, SpillReader};
use crate::plan::join::Step;
use crate::types::Value;

/// What the errors call it.
pub(super) const OPERATOR: &str = "hash join";

/// Turns of a call, each with a row and some of its candidates; rows that are moved from file to file before
/// others have their turn.
const TURN_ROWS: usize = 1024;

/// A hash join through files.
pub(super) struct Parted {
    disk: Arc<Disk>,
    /// Both sides while they are taken in: the unit's rows, and those of the steps before.
    taking: Option<(Partitions, Partitions)>,
    /// Parts that are not joined yet.
    waiting: Vec<Part>,
    current: Option<(HashTable, SpillReader)>,
    /// The row of it that is not joined to its end.
    probing: Option<Probing>,
}

/// A part of both sides, parted `depth` times.
struct Part {
    own: SpillFile,
    far: SpillFile,
    depth: u32,
}

/// What a row of the steps before leads to at once.
pub(super) enum Taken {
    /// Nothing: it waits for its part.
    Later,
    /// It can have no match.
    Alone(Row),
}

impl Parted {
    /// No row yet.
    pub(super) fn new(disk: &Arc<Disk>) -> Parted {
        let parts = || Partitions::new(disk, OPERATOR);
        Parted {
            disk: Arc::clone(disk),
            taking: Some((parts(), parts())),
            waiting: Vec::new(),
            current: None,
            probing: None,
        }
    }

    /// Takes in a row of the unit.
    pub(super) fn take_own(&mut self, key: &Key, row: &Row) -> Result<()> {
        let Some((own, _)) = &mut self.taking else {
            return Err(Error::internal("a row for a hash join that has begun"));
        };
        own.write(hash(key, 0), (&[], &encoded(row)))
    }

    /// Takes in a row of the steps before.
    pub(super) fn take_far(
        &mut self,
        row: Row,
        (sides, frame): (Sides<'_>, &Frame<'_>),
    ) -> Result<Taken> {
        let Some(key) = key_of(&row, sides.far(), frame)? else {
            return Ok(Taken::Alone(row));
        };
        let Some((_, far)) = &mut self.taking else {
            return Err(Error::internal("a row for a hash join that has begun"));
        };
        far.write(hash(&key, 0), (&[], &encoded(&row)))?;
        Ok(Taken::Later)
    }

    /// Whether rows of the steps before are still taken in.
    pub(super) fn is_taking(&self) -> bool {
        self.taking.is_some()
    }

    /// Both sides are taken in.
    pub(super) fn begin(&mut self) -> Result<()> {
        if let Some((own, far)) = self.taking.take() {
            self.wait(own, far, 1)?;
        }
        Ok(())
    }

    fn wait(&mut self, own: Partitions, far: Partitions, depth: u32) -> Result<()> {
        let parts = own.finish()?.into_iter().zip(far.finish()?);
        for (own, far) in parts {
            // Without rows of the steps before there is nothing to join.
            let Some(far) = far else { continue };
            let own = match own {
                Some(own) => own,
                None => crate::exec::spill::SpillWriter::new(&self.disk, OPERATOR, 0)?.finish()?,
            };
            self.waiting.push(Part { own, far, depth });
        }
        Ok(())
    }

    /// The next joined rows; `None` after the last. There may be none and more later.
    pub(super) async fn next(
        &mut self,
        sides: Sides<'_>,
        (frame, mut matching): (&Frame<'_>, Option<Matching<'_>>),
    ) -> Result<Option<Batch>> {
        frame.nest.cancel.check()?;
        let Some((table, far)) = &mut self.current else {
            let Some(part) = self.waiting.pop() else {
                return Ok(None);
            };
            self.load(part, sides, frame).await?;
            return Ok(Some(Vec::new()));
        };
        let mut batch = Vec::new();
        let mut pace = Pace::default();
        for _ in 0..TURN_ROWS {
            pace.keep().await;
            let probing = match self.probing.take() {
                Some(probing) => probing,
                None if far.advance()? => {
                    let row = decoded(far.payload(), frame.shape)?;
                    Probing::new(row, sides, frame)?
                }
                None => {
                    self.current = None;
                    break;
                }
            };
            let to = (frame, &mut batch);
            self.probing = match &mut matching {
                None => table.probe(sides.step, probing, to)?,
                Some(matching) => asked(table, (sides.step, probing), (matching, to)).await?,
            };
            if TURN_ROWS <= batch.len() {
                break;
            }
        }
        tokio::task::yield_now().await;
        Ok(Some(batch))
    }

    /// Takes the unit's rows of a part into memory, or parts both sides again.
    async fn load(&mut self, part: Part, sides: Sides<'_>, frame: &Frame<'_>) -> Result<()> {
        let mut table = HashTable::new(frame);
        let mut own = part.own.read()?;
        let mut rows_count = 0;
        while own.advance()? {
            frame.nest.cancel.check_row(rows_count)?;
            rows_count += 1;
            if rows_count % TURN_ROWS == 0 {
                tokio::task::yield_now().await;
            }
            let row = decoded(own.payload(), frame.shape)?;
            let Some(row) = table.try_add(row, sides, frame)? else {
                continue;
            };
            if DEPTH_MAX <= part.depth {
                return Err(table.refusal(&row));
            }
            let both = (Partitions::new(&self.disk, OPERATOR), part.depth);
            let mut parts = both.0;
            for (key, row) in table.into_rows(sides, frame)? {
                parts.write(hash(&key, part.depth), (&[], &encoded(&row)))?;
            }
            if let Some(key) = key_of(&row, sides.own(), frame)? {
                parts.write(hash(&key, part.depth), (&[], &encoded(&row)))?;
            }
            move_all(own, &mut parts, (part.depth, true, sides), frame).await?;
            let mut far_parts = Partitions::new(&self.disk, OPERATOR);
            let far = part.far.read()?;
            move_all(far, &mut far_parts, (part.depth, false, sides), frame).await?;
            return self.wait(parts, far_parts, part.depth + 1);
        }
        self.current = Some((table, part.far.read()?));
        Ok(())
    }
}

/// As [`HashTable::probe`], where subqueries tell which candidates are matches.
async fn asked(
    table: &HashTable,
    (step, probing): (&Step, Probing),
    (matching, (frame, batch)): (&mut Matching<'_>, (&Frame<'_>, &mut Batch)),
) -> Result<Option<Probing>> {
    let (row, was_matched) = (probing.row.clone(), probing.is_matched);
    let mut candidates = Vec::new();
    let mut probing = table.probe(step, probing, (frame, &mut candidates))?;
    let is_matched = was_matched | matching.add(candidates, (frame, batch)).await?;
    match &mut probing {
        Some(probing) => probing.is_matched = is_matched,
        None if matching.keeps_alone && !is_matched => batch.push(row),
        None => {}
    }
    Ok(probing)
}

/// Moves the rest of a file to parts.
async fn move_all(
    mut from: SpillReader,
    to: &mut Partitions,
    (depth, is_own, sides): (u32, bool, Sides<'_>),
    frame: &Frame<'_>,
) -> Result<()> {
    let mut rows_count = 0;
    while from.advance()? {
        frame.nest.cancel.check_row(rows_count)?;
        rows_count += 1;
        if rows_count % TURN_ROWS == 0 {
            tokio::task::yield_now().await;
        }
        let row = decoded(from.payload(), frame.shape)?;
        let key = if is_own {
            key_of(&row, sides.own(), frame)?
        } else {
            key_of(&row, sides.far(), frame)?
        };
        if let Some(key) = key {
            to.write(hash(&key, depth), (&[], from.payload()))?;
        }
    }
    Ok(())
}

fn hash(key: &Key, depth: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    depth.hash(&mut hasher);
    key.hash(&mut hasher);
    hasher.finish()
}

/// A row as bytes: for each source whether it has a row, and its values.
fn encoded(row: &Row) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in row {
        bytes.push(u8::from(piece.is_some()));
        for value in piece.iter().flat_map(|piece| piece.iter()) {
            exact::push(&mut bytes, value);
        }
    }
    bytes
}

fn decoded(mut bytes: &[u8], shape: &Shape) -> Result<Row> {
    let mut row = shape.empty_row();
    for (piece, used) in row.iter_mut().zip(&shape.used_columns) {
        let Some((is_there, rest)) = bytes.split_first() else {
            return Err(Error::internal("a spilled row that is too short"));
        };
        bytes = rest;
        if *is_there == 0 {
            continue;
        }
        let mut values: Vec<Value<'static>> = Vec::with_capacity(used.len());
        for _ in used {
            let (value, rest) = exact::take(bytes)?;
            values.push(value.into_owned());
            bytes = rest;
        }
        *piece = Some(values.into());
    }
    Ok(row)
}
