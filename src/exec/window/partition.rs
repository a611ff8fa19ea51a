//! The rows of one partition that are in memory, by their number within the partition.

use std::collections::VecDeque;

use crate::error::{Error, Result};
use crate::exec::budget::Budget;
use crate::exec::exact;
use crate::exec::rows::RowCopy;
use crate::types::Value;

/// A row in memory.
struct Held {
    values: Vec<Value<'static>>,
    /// The number of the first row that is equal to it in order.
    first_peer: u64,
    bytes: usize,
}

/// The rows of a partition.
pub(super) struct Partition {
    rows: VecDeque<Held>,
    /// The number of the first row in memory.
    first: u64,
    /// How many rows were taken in.
    count: u64,
    is_whole: bool,
    /// The first peer of the row taken in last.
    first_peer: u64,
    budget: Budget,
}

impl Partition {
    /// No rows yet.
    pub(super) fn new(budget: Budget) -> Partition {
        Partition {
            rows: VecDeque::new(),
            first: 0,
            count: 0,
            is_whole: false,
            first_peer: 0,
            budget,
        }
    }

    /// Takes in the row that [`exact::push`] wrote.
    ///
    /// # Errors
    /// 1038 when it does not fit.
    pub(super) fn push(&mut self, mut payload: &[u8], is_peer: bool) -> Result<()> {
        let mut values = Vec::new();
        let mut bytes = size_of::<Held>();
        self.budget.take(bytes)?;
        while !payload.is_empty() {
            let (value, rest) = exact::take(payload)?;
            let value_bytes = size_of::<Value<'_>>() + value.memory_bytes();
            self.budget.take(value_bytes)?;
            bytes += value_bytes;
            values.push(value.into_owned());
            payload = rest;
        }
        if !is_peer {
            self.first_peer = self.count;
        }
        self.rows.push_back(Held {
            values,
            first_peer: self.first_peer,
            bytes,
        });
        self.count += 1;
        Ok(())
    }

    /// Notes that there are no more rows.
    pub(super) fn end(&mut self) {
        self.is_whole = true;
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.budget.reset();
        self.first = 0;
        self.count = 0;
        self.is_whole = false;
        self.first_peer = 0;
    }

    /// Whether all rows were taken in.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether no row was taken in.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many rows were taken in.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether the row was taken in.
    pub(super) fn has(&self, number: u64) -> bool {
        number < self.count
    }

    /// The values of a row.
    ///
    /// # Errors
    /// An internal one when it is not in memory.
    pub(super) fn row(&self, number: u64) -> Result<&[Value<'static>]> {
        Ok(&self.held(number)?.values)
    }

    /// The number of the first row that is equal to it in order.
    ///
    /// # Errors
    /// As [`Partition::row`].
    pub(super) fn first_peer(&self, number: u64) -> Result<u64> {
        Ok(self.held(number)?.first_peer)
    }

    fn held(&self, number: u64) -> Result<&Held> {
        let idx = number.checked_sub(self.first);
        let idx = idx.and_then(|idx| usize::try_from(idx).ok());
        let held = idx.and_then(|idx| self.rows.get(idx));
        held.ok_or_else(|| Error::internal(format!("row {number} of a partition is gone")))
    }

    /// The values of a row; rows before `keeps_from` are needed no more.
    ///
    /// # Errors
    /// As [`Partition::row`]; 1041 when the process has no memory for one that is needed yet, and once more.
    pub(super) fn take(&mut self, number: u64, keeps_from: u64) -> Result<Vec<Value<'static>>> {
        let mut taken = None;
        while self.first < keeps_from {
            let Some(held) = self.rows.pop_front() else {
                break;
            };
            self.budget.give_back(held.bytes);
            if self.first == number {
                taken = Some(held.values);
            }
            self.first += 1;
        }
        if let Some(values) = taken {
            return Ok(values);
        }
        let held = self.held(number)?;
        RowCopy::default().add(held.bytes)?;
        Ok(held.values.clone())
    }
}
