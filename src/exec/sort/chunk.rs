//! Rows to be sorted, side by side: the bytes in one place, and what is moved while sorting in
//! another.

use crate::error::{Error, Result};

/// Bytes of the rows of one chunk: with their entries they fit into a processor's cache.
const CHUNK_BYTES: usize = 1 << 20;

/// What is sorted in a tenth of a millisecond or two.
const SHORT_ROWS_MAX: usize = 1000;
const SHORT_BYTES_MAX: usize = 128 << 10;

/// What a row costs beyond its bytes, with room to grow.
pub(super) const ROW_OVERHEAD_BYTES: usize = 2 * size_of::<Entry>();

/// Rows in order of arrival, or sorted.
#[derive(Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// Where a row is.
#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    start: u32,
    key_bytes: u32,
    output_bytes: u32,
}

/// The first bytes of a key as a number: most keys differ there.
#[expect(
    clippy::big_endian_bytes,
    reason = "numbers are to be ordered as the bytes they are made of"
)]
#[inline]
pub(super) fn prefix(key: &[u8]) -> u64 {
    if let Some(first) = key.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}

impl Chunk {
    /// A chunk that is going to be as full as this one became: growing would copy its rows.
    pub(super) fn like(&self) -> Chunk {
        Chunk {
            bytes: Vec::with_capacity(self.bytes.len()),
            entries: Vec::with_capacity(self.entries.len()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether it is sorted sooner than another thread is woken: long keys may have to be compared to their ends.
    pub(super) fn is_short(&self) -> bool {
        self.entries.len() <= SHORT_ROWS_MAX && self.bytes.len() <= SHORT_BYTES_MAX
    }

    /// Whether a row of so many bytes goes into it.
    pub(super) fn has_room(&self, row_bytes: usize) -> bool {
        self.is_empty() || self.bytes.len() + row_bytes <= CHUNK_BYTES
    }

    /// Adds a row.
    pub(super) fn push(&mut self, key: &[u8], outputs: &[u8]) -> Result<()> {
        let number = |length: usize| {
            u32::try_from(length).map_err(|_| Error::internal("a chunk of 4 GiB to sort"))
        };
        self.entries.push(Entry {
            prefix: prefix(key),
            start: number(self.bytes.len())?,
            key_bytes: number(key.len())?,
            output_bytes: number(outputs.len())?,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(outputs);
        Ok(())
    }

    /// Puts the rows in order, stably.
    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.sort_unstable_by(|one, other| {
            let prefixes = one.prefix.cmp(&other.prefix);
            prefixes
                .then_with(|| one.parts(bytes).0.cmp(other.parts(bytes).0))
                .then_with(|| one.start.cmp(&other.start))
        });
    }

    /// Key and outputs of the n-th row.
    pub(super) fn get(&self, row_idx: usize) -> Option<(&[u8], &[u8])> {
        Some(self.entries.get(row_idx)?.parts(&self.bytes))
    }
}

impl Entry {
    #[inline]
    fn parts<'b>(&self, bytes: &'b [u8]) -> (&'b [u8], &'b [u8]) {
        let [start, key_bytes, output_bytes] = [self.start, self.key_bytes, self.output_bytes]
            .map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let row = bytes.get(start..start + key_bytes + output_bytes);
        row.and_then(|row| row.split_at_checked(key_bytes))
            .unwrap_or_default()
    }
}
