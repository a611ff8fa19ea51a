//! Hash joins: the rows of a unit, kept by the values of its side of the equations.
//!
//! Without equations every row is a candidate: the nested loop of small units. What is a match is
//! checked again on each candidate.

use std::collections::HashMap;

use super::rows::{Frame, add_matches};
use super::shape::{Batch, JoinedRow, Row, piece_bytes};
use super::unit::UnitReader;
use crate::error::Result;
use crate::exec::budget::Budget;
use crate::plan::join::Step;
use crate::sql::eval::eval_exact;
use crate::sql::expr::Expr;
use crate::types::value::GroupKey;

/// What a row costs beyond its pieces.
const ROW_OVERHEAD_BYTES: usize = 64;

type Key = Vec<GroupKey<'static>>;

/// The rows of a unit by their keys.
pub(super) struct HashTable {
    rows: Vec<Row>,
    by_key: HashMap<Key, Vec<usize>>,
    /// What they take of the statement's memory.
    budget: Budget,
}

impl HashTable {
    /// Reads a unit. Returns also how many rows were fetched from the engine.
    pub(super) async fn build(
        mut unit: UnitReader,
        keys: &[(Expr, Expr)],
        frame: &Frame<'_>,
    ) -> Result<(HashTable, u64)> {
        let mut table = HashTable {
            rows: Vec::new(),
            by_key: HashMap::new(),
            budget: frame.nest.memory.budget("hash join"),
        };
        while let Some(batch) = unit.next(frame).await? {
            for row in batch {
                let pieces = row.iter().flatten().map(piece_bytes).sum::<usize>();
                let row_bytes = row.len() * size_of::<usize>() * 2 + ROW_OVERHEAD_BYTES;
                table.budget.take(pieces + row_bytes)?;
                table.add(row, keys, frame)?;
            }
            tokio::task::yield_now().await;
        }
        Ok((table, unit.rows_read))
    }

    fn add(&mut self, row: Row, keys: &[(Expr, Expr)], frame: &Frame<'_>) -> Result<()> {
        let own = keys.iter().map(|(_, own)| own);
        if let Some(key) = key_of(&row, own, frame)? {
            self.by_key.entry(key).or_default().push(self.rows.len());
            self.rows.push(row);
        }
        Ok(())
    }

    /// Adds to the batch what a row of the steps before leads to.
    pub(super) fn probe(
        &self,
        (step, keys): (&Step, &[(Expr, Expr)]),
        row: Row,
        to: (&Frame<'_>, &mut Batch),
    ) -> Result<()> {
        let far = keys.iter().map(|(far, _)| far);
        let found = match key_of(&row, far, to.0)? {
            Some(key) => self.by_key.get(&key),
            None => None,
        };
        let found = found.map_or(&[][..], Vec::as_slice);
        let candidates = found.iter().filter_map(|idx| self.rows.get(*idx));
        add_matches(step, (row, candidates), to)
    }
}

/// The values of a row's keys; `None` when one is `NULL`, which equals nothing.
fn key_of<'e>(
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
        values.push(GroupKey(value.into_owned()));
    }
    Ok(Some(values))
}
