//! Sorted rows, merged from chunks in memory and runs on disk.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::chunk::{self, Chunk};
use crate::error::Result;
use crate::exec::budget::Budget;
use crate::exec::spill::{SpillFile, SpillReader};

/// Rows in order.
pub(super) enum Source {
    Memory {
        chunk: Chunk,
        /// How many rows are taken; the row to take is the one before.
        taken: usize,
    },
    File(SpillReader),
}

impl Source {
    /// The rows of a sorted chunk.
    pub(super) fn of_chunk(chunk: Chunk) -> Source {
        Source::Memory { chunk, taken: 0 }
    }

    /// The rows of a run.
    pub(super) fn of_file(file: SpillFile) -> Result<Source> {
        Ok(Source::File(file.read()?))
    }

    /// Goes to the next row; `false` when there is none.
    fn advance(&mut self) -> Result<bool> {
        match self {
            Source::Memory { chunk, taken } => {
                *taken += 1;
                Ok(chunk.get(*taken - 1).is_some())
            }
            Source::File(reader) => reader.advance(),
        }
    }

    /// Goes to the next row: its key and outputs.
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let is_there = self.advance()?;
        Ok(is_there.then(|| self.row()))
    }

    /// Key and outputs of the row it stands on.
    #[inline]
    fn row(&self) -> (&[u8], &[u8]) {
        match self {
            Source::Memory { chunk, taken } => {
                let row_idx = taken.checked_sub(1);
                row_idx
                    .and_then(|row_idx| chunk.get(row_idx))
                    .unwrap_or_default()
            }
            Source::File(reader) => (reader.key(), reader.payload()),
        }
    }
}

/// Sorted rows, one at a time.
pub struct Sorted {
    /// The oldest rows first.
    sources: Vec<Source>,
    /// The key that each source stands on, smallest on top.
    heads: BinaryHeap<Reverse<Head>>,
    /// Whether the row on top was handed out.
    is_taken: bool,
    _budget: Budget,
}

/// Where a source stands.
struct Head {
    prefix: u64,
    key: Vec<u8>,
    source_idx: usize,
}

impl Head {
    fn set(&mut self, key: &[u8]) {
        self.prefix = chunk::prefix(key);
        self.key.clear();
        self.key.extend_from_slice(key);
    }
}

impl Ord for Head {
    #[inline]
    fn cmp(&self, other: &Head) -> Ordering {
        let prefixes = self.prefix.cmp(&other.prefix);
        prefixes
            .then_with(|| self.key.cmp(&other.key))
            .then_with(|| self.source_idx.cmp(&other.source_idx))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl Sorted {
    pub(super) fn new(sources: Vec<Source>, budget: Budget) -> Result<Sorted> {
        let mut sorted = Sorted {
            sources,
            heads: BinaryHeap::new(),
            is_taken: false,
            _budget: budget,
        };
        for (source_idx, source) in sorted.sources.iter_mut().enumerate() {
            if let Some((key, _)) = source.next()? {
                let mut head = Head {
                    prefix: 0,
                    key: Vec::new(),
                    source_idx,
                };
                head.set(key);
                sorted.heads.push(Reverse(head));
            }
        }
        Ok(sorted)
    }

    /// Goes to the next row; `false` when there is none.
    ///
    /// # Errors
    /// I/O errors of the spill files.
    pub fn advance(&mut self) -> Result<bool> {
        if !self.is_taken {
            self.is_taken = true;
            return Ok(!self.heads.is_empty());
        }
        if let Some(mut top) = self.heads.peek_mut() {
            let source = self.sources.get_mut(top.0.source_idx);
            let row = source.map(Source::next).transpose()?.flatten();
            match row {
                Some((key, _)) => top.0.set(key),
                None => drop(PeekMut::pop(top)),
            }
        }
        Ok(!self.heads.is_empty())
    }

    /// Key and outputs of the row it stands on.
    pub fn row(&self) -> (&[u8], &[u8]) {
        let top = self.heads.peek();
        let source = top.and_then(|top| self.sources.get(top.0.source_idx));
        source.map(Source::row).unwrap_or_default()
    }

    /// The outputs of the next row.
    ///
    /// # Errors
    /// I/O errors of the spill files.
    pub fn next_outputs(&mut self) -> Result<Option<&[u8]>> {
        if self.advance()? {
            return Ok(Some(self.row().1));
        }
        Ok(None)
    }
}
