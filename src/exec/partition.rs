//! Records parted by hash into files, so that each part is small enough to be worked on in memory.
//!
//! A part that is still too large is parted again by another hash: the depth is a part of it.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::spill::{Disk, SpillFile, SpillWriter};
use crate::error::Result;

/// Parts of one whole.
pub const PARTS: usize = 16;

/// How often a part may be parted again. What does not fit then is more than `PARTS` to the power
/// of this times the memory, or rows of one key.
pub const DEPTH_MAX: u32 = 6;

/// Bytes that are written to a part at once.
const BUFFER_BYTES: usize = 32 * 1024;

/// The top bits of a hash choose the part, the low ones a place in a table.
const PART_SHIFT: u32 = u64::BITS - PARTS.trailing_zeros();

/// The hash of a key after it was parted `depth` times.
pub fn hash(key: &[u8], depth: u32) -> u64 {
    xxh3_64_with_seed(key, u64::from(depth))
}

/// The part that a hash belongs to.
pub fn part_of(hash: u64) -> usize {
    usize::try_from(hash >> PART_SHIFT).unwrap_or(0)
}

/// The parts that are being written.
#[derive(Debug)]
pub struct Partitions {
    disk: Arc<Disk>,
    operator: &'static str,
    writers: [Option<SpillWriter>; PARTS],
}

impl Partitions {
    /// No record yet.
    pub fn new(disk: &Arc<Disk>, operator: &'static str) -> Partitions {
        Partitions {
            disk: Arc::clone(disk),
            operator,
            writers: [const { None }; PARTS],
        }
    }

    /// Writes a record to the part of its hash.
    ///
    /// # Errors
    /// Those of [`SpillWriter::write`].
    pub fn write(&mut self, hash: u64, (key, payload): (&[u8], &[u8])) -> Result<()> {
        let Some(slot) = self.writers.get_mut(part_of(hash)) else {
            return Ok(());
        };
        let writer = match slot {
            Some(writer) => writer,
            None => slot.insert(SpillWriter::new(&self.disk, self.operator, BUFFER_BYTES)?),
        };
        writer.write(key, payload)
    }

    /// The files, each at the place of its part.
    ///
    /// # Errors
    /// Those of [`SpillWriter::finish`].
    pub fn finish(self) -> Result<Vec<Option<SpillFile>>> {
        let files = self.writers.into_iter();
        files
            .map(|writer| writer.map(SpillWriter::finish).transpose())
            .collect()
    }
}
