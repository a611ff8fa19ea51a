//! The way through a suspect range: what is sparse in it, and where its time ended.

use std::time::Instant;

use fjall::Slice;

use super::is_sparse;
use super::suspect::Suspect;
use crate::kv::Result;
use crate::kv::expiry::Expiry;
use crate::kv::lsm::files::{Passage, View, What};
use crate::kv::lsm::snapshot::Base;
use crate::kv::lsm::spaces::{self, PREFIX_BYTES};
use crate::kv::lsm::sparse::{Part, STRETCH_BYTES, STRETCH_ROWS, Stretch};
use crate::kv::page::successor;

/// Entries between two looks at the clock; so many bytes count for one more.
const CLOCK_ENTRIES: usize = 1024;
const ENTRY_BYTES: usize = 256;

/// A way through a suspect range, in one state.
pub(super) struct Walk<'a> {
    base: &'a Base,
    view: &'a View,
    suspect: &'a Suspect,
    /// By when values count as past.
    past: Option<(&'a Expiry, u64)>,
    pub(super) deadline: Instant,
    /// Entries since the clock was looked at.
    unclocked: usize,
    /// Entries that may still be passed.
    pub(super) left: u64,
    /// Bytes that may still be kept.
    pub(super) room: usize,
    pub(super) found: Vec<Stretch>,
}

/// How a part of the way ends.
enum Way {
    /// Where the part does.
    Ended,
    /// Where it is not sparse any more.
    NotSparse(Vec<u8>),
    /// Where time or room does.
    Stopped(Vec<u8>),
}

/// A stretch in the making.
struct Open {
    stretch: Stretch,
    bytes: usize,
    dead: u64,
}

impl Open {
    fn at(from: Vec<u8>) -> Open {
        let stretch = Stretch {
            until: Vec::new(),
            from,
            rows: Vec::new(),
            ended_ms: 0,
        };
        Open {
            stretch,
            bytes: 0,
            dead: 0,
        }
    }

    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.bytes += key.len() + value.len();
        self.stretch
            .rows
            .push((Slice::from(key), Slice::from(value)));
    }

    fn end(&mut self, end_ms: u64) {
        self.dead += 1;
        self.stretch.ended_ms = self.stretch.ended_ms.max(end_ms);
    }

    fn is_full(&self) -> bool {
        STRETCH_ROWS <= self.stretch.rows.len() || STRETCH_BYTES <= self.bytes
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        (base, view): (&'a Base, &'a View),
        suspect: &'a Suspect,
        past: Option<(&'a Expiry, u64)>,
    ) -> Walk<'a> {
        let prefix = suspect.range.0.get(..PREFIX_BYTES);
        let space = prefix.and_then(spaces::space_of);
        let ends = |(expiry, _): &(&Expiry, u64)| space.is_some_and(|space| expiry.watches(space));
        Walk {
            base,
            view,
            suspect,
            past: past.filter(ends),
            deadline: Instant::now(),
            unclocked: 0,
            left: suspect.left,
            room: suspect.room,
            found: Vec::new(),
        }
    }

    /// Keeps what is sparse and not kept yet; where it stopped before the end.
    pub(super) fn run(&mut self) -> Result<Option<Vec<u8>>> {
        let past_ms = self.past.map_or(0, |(_, now_ms)| now_ms);
        let mut left = Some(self.suspect.range.clone());
        while let Some(range) = left {
            let start = range.0.clone();
            let (part, rest) = self.base.sparse.part(range, false, past_ms);
            let stopped = match part {
                Part::Tree(from, until) => self.go(from, &until)?,
                Part::Kept(stretch, _) if self.is_worn(&stretch) => {
                    let until = stretch
                        .until
                        .as_slice()
                        .min(self.suspect.range.1.as_slice());
                    self.go(start, until)?
                }
                Part::Kept(..) => None,
            };
            if stopped.is_some() {
                return Ok(stopped);
            }
            left = rest;
        }
        Ok(None)
    }

    /// Whether most of the rows of a stretch have ended since it was made. One that serves now stays until
    /// then: what takes its place might serve only later.
    fn is_worn(&self, stretch: &Stretch) -> bool {
        let Some((expiry, past_ms)) = self.past else {
            return false;
        };
        let now_ms = past_ms.saturating_sub(self.suspect.ahead_ms);
        let has_ended = |(_, value): &&(Slice, Slice)| expiry.is_past(value, now_ms);
        let ended = stretch.rows.iter().filter(has_ended).count();
        0 < ended && stretch.rows.len() <= 2 * ended
    }

    /// Goes through a part; where it stopped before its end.
    fn go(&mut self, from: Vec<u8>, until: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut from = Some(from);
        while let Some(start) = from.take_if(|start| start.as_slice() < until) {
            match self.pass(start, until)? {
                Way::Ended => {}
                Way::Stopped(at) => return Ok(Some(at)),
                Way::NotSparse(behind) if self.deadline <= Instant::now() => {
                    return Ok(Some(behind));
                }
                Way::NotSparse(behind) => from = self.next_deleted(&behind),
            }
        }
        Ok(None)
    }

    /// Keeps what is sparse from here on, until it is not any more where keys were deleted; where values
    /// have ended, what is not sparse is passed over.
    fn pass(&mut self, start: Vec<u8>, until: &[u8]) -> Result<Way> {
        let mut passage =
            Passage::begin(self.view, (self.base.ts, (start.clone(), until.to_vec())));
        let mut open = Open::at(start);
        while let Some(met) = passage.next()? {
            self.left = self.left.saturating_sub(1);
            self.unclocked += 1;
            match met.what {
                What::Row(value) => {
                    self.unclocked += value.len() / ENTRY_BYTES;
                    match self.end_of(value) {
                        Some(end_ms) => open.end(end_ms),
                        None => open.add(met.key, value),
                    }
                }
                What::Deleted => open.dead += 1,
                What::Other => {}
            }
            if open.is_full() {
                let behind = successor(met.key);
                let is_sparse = self.close(open, behind.clone());
                if !is_sparse && !self.suspect.deleted.is_empty() {
                    return Ok(Way::NotSparse(behind));
                }
                open = Open::at(behind);
            }
            if self.is_over() {
                let behind = successor(met.key);
                if open.stretch.from < behind {
                    self.close(open, behind.clone());
                }
                return Ok(Way::Stopped(behind));
            }
        }
        self.close(open, until.to_vec());
        Ok(Way::Ended)
    }

    fn is_over(&mut self) -> bool {
        if self.left == 0 || self.room == 0 {
            return true;
        }
        if self.unclocked < CLOCK_ENTRIES {
            return false;
        }
        self.unclocked = 0;
        self.deadline <= Instant::now()
    }

    fn end_of(&self, value: &[u8]) -> Option<u64> {
        let (expiry, now_ms) = self.past?;
        expiry.end_by(value, now_ms)
    }

    /// Keeps a stretch, if it is sparse; says whether it is.
    fn close(&mut self, open: Open, until: Vec<u8>) -> bool {
        let mut stretch = open.stretch;
        stretch.until = until;
        let fits = stretch.bytes() <= 2 * STRETCH_BYTES;
        let is_sparse = fits && is_sparse(open.dead, stretch.rows.len());
        if is_sparse {
            self.room = self.room.saturating_sub(stretch.bytes());
            self.found.push(stretch);
        }
        is_sparse
    }

    fn next_deleted(&self, from: &[u8]) -> Option<Vec<u8>> {
        let deleted = &self.suspect.deleted;
        let at = deleted.partition_point(|key| key.as_slice() < from);
        deleted.get(at).cloned()
    }
}
