//! Takes stored key bytes apart from the front. Bytes come out as they were before inversion.

use super::{Corrupt, Direction};

/// A position in the bytes of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// The length of what the cursor began with.
    bytes_count: usize,
    mask: u8,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], direction: Direction) -> Cursor<'a> {
        Cursor {
            rest: bytes,
            bytes_count: bytes.len(),
            mask: direction.mask(),
        }
    }

    /// What lies ahead, as stored.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// What turns stored bytes into plain ones, by exclusive or.
    pub(super) fn mask(&self) -> u8 {
        self.mask
    }

    /// Bytes passed.
    pub(super) fn at(&self) -> usize {
        self.bytes_count - self.rest.len()
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8, Corrupt> {
        let Some((first, rest)) = self.rest.split_first() else {
            return Err(Corrupt::missing(self.bytes_count));
        };
        self.rest = rest;
        Ok(first ^ self.mask)
    }

    /// The next `count` bytes, as stored.
    pub(super) fn stored(&mut self, count: usize) -> Result<&'a [u8], Corrupt> {
        let Some((head, rest)) = self.rest.split_at_checked(count) else {
            return Err(Corrupt::missing(self.bytes_count));
        };
        self.rest = rest;
        Ok(head)
    }

    /// The next N bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Corrupt> {
        let Some((head, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(Corrupt::missing(self.bytes_count));
        };
        self.rest = rest;
        Ok(head.map(|byte| byte ^ self.mask))
    }

    /// Passes `count` bytes.
    pub(super) fn skip(&mut self, count: usize) -> Result<(), Corrupt> {
        self.stored(count).map(|_| ())
    }
}
