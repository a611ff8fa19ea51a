//! Forward scans, straight from the blocks of the engine's files.
//!
//! The storage library's own iterator takes some 10 us to begin, and some 240 ns for each row: a heap over all
//! runs, a filter for versions, and two counted references per row, each behind a virtual call. Where
//! rows are read in their order nearly all of them come from one run, so that here
//!
//! - [`View`] holds the files and the memtable as they stood when the snapshot was taken;
//! - `feed` has the blocks of a file, one after the other, from where the range begins;
//! - `source` goes through a file or the memtable, copying nothing but the row;
//! - `merge` follows the source with the least key as long as it has the least key;
//! - `census` counts what a space holds, live and dead, by samples; [`Passage`] meets every entry.
//!
//! That is 50 ns for each row. A long scan ([`FileScan`]) does not put the blocks that it reads into the block
//! cache: a scan of everything does not push out what point reads need; the system's file cache serves it. A
//! short one ([`Few`]) reads through the cache, where the library looks for blocks too; the indexes of files are kept.
//!
//! Nothing is kept open across calls but by [`Parked`]: the next page of the same statement goes on
//! where the last one ended, of several scans that take turns ([`PARKED_MAX`]).

mod census;
mod feed;
mod merge;
mod source;
#[cfg(test)]
mod tests;
mod view;

use fjall::Keyspace;

use super::spaces::Bounds;
use super::{damage, fault, spaces};
use crate::kv::page::PAGE_ROWS;
use crate::kv::{Key, KeyRange, Page, Result, Scan, Space, Ts};
pub(super) use census::census;
#[cfg(test)]
pub(super) use census::passed;
use merge::Merge;
pub(super) use merge::{Met, What};
pub(super) use view::View;

/// Pages below this many rows are read through the cache, unless their scan is known to be long: one that
/// stays short may meet the same blocks again. More than an ordinary page has.
const PAGE_ROWS_MIN: usize = 2 * PAGE_ROWS;

/// Scans of one snapshot that wait for their next page: those of two merges of 16 lanes. Of more, those that
/// waited longest begin anew. Each keeps a few blocks.
pub(super) const PARKED_MAX: usize = 32;

/// A scan of files in the middle of its work.
pub(super) struct FileScan {
    merge: Merge,
    space: Space,
    /// Where it ends.
    until: Option<Key>,
    data: Keyspace,
    /// Whether a page was filled before.
    is_resumed: bool,
}

impl FileScan {
    /// Whether it has filled a page before.
    pub(super) fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// Begins a scan of what was written before `ts`; `None` when it is short, or goes backwards.
    pub(super) fn begin((view, data): (&View, &Keyspace), ts: Ts, scan: &Scan) -> Option<FileScan> {
        let is_long = scan.options.is_long || PAGE_ROWS_MIN <= scan.options.max_rows;
        if scan.options.reverse || !is_long {
            return None;
        }
        let bounds = spaces::physical_range(scan.space, &scan.range);
        Some(FileScan {
            merge: Merge::new(view, bounds, ts.0),
            space: scan.space,
            until: scan.range.until.clone(),
            data: data.clone(),
            is_resumed: false,
        })
    }

    /// Fills a page, and says what is left of the scan.
    ///
    /// # Errors
    /// Those of the disk, and [`crate::kv::Error::Corrupt`].
    pub(super) fn fill(&mut self, scan: &Scan, page: &mut Page) -> Result<()> {
        let filled = self.merge.fill(scan, page);
        filled
            .map_err(|cause| damage::of_scan(&self.data.tree, scan, &fjall::Error::Storage(cause)))
    }

    /// Waits for the next page; `None` when there is none.
    pub(super) fn park(self, page: &Page) -> Option<Parked> {
        let resume = page.rest()?.start.clone();
        Some(Parked { scan: self, resume })
    }
}

/// Whether there is no entry between two physical keys, of whatever time. Files are read as for the first row of a short
/// scan, unless the memtable has one already.
///
/// # Errors
/// Those of the disk, and of damage.
pub(super) fn is_vacant(view: &View, bounds: Bounds) -> fjall::Result<bool> {
    if !source::is_empty(&view.memtable, &bounds) {
        return Ok(false);
    }
    Ok(Merge::of_few(view, bounds, u64::MAX).is_empty()?)
}

/// The rows of a range, of which few are read.
pub(super) struct Few {
    merge: Merge,
    keys_only: bool,
}

impl Few {
    /// Those between two physical keys that were written before `ts`. Where only keys are wanted, values are
    /// as they are stored.
    pub(super) fn begin(view: &View, (ts, bounds): (Ts, Bounds), keys_only: bool) -> Few {
        Few {
            merge: Merge::of_few(view, bounds, ts.0),
            keys_only,
        }
    }

    /// Goes to the next row; `false` when there is none.
    ///
    /// # Errors
    /// Those of the disk, and of damage.
    pub(super) fn next(&mut self) -> fjall::Result<bool> {
        let next = self.merge.next_row(self.keys_only);
        next.map_err(fjall::Error::Storage)
    }

    /// The key of the row, with its space, and the value.
    pub(super) fn row(&self) -> (&[u8], &[u8]) {
        self.merge.row()
    }
}

/// A way through all entries of a range, dead ones included.
pub(super) struct Passage(Merge);

impl Passage {
    /// Begins one between two physical keys: what was written before `ts` is met as what it is.
    pub(super) fn begin(view: &View, (ts, bounds): (Ts, Bounds)) -> Passage {
        Passage(Merge::new(view, bounds, ts.0))
    }

    /// The next entry.
    ///
    /// # Errors
    /// As [`FileScan::fill`].
    pub(super) fn next(&mut self) -> Result<Option<Met<'_>>> {
        let met = self.0.next_entry();
        met.map_err(|cause| fault::error("scanning", &fjall::Error::Storage(cause)))
    }
}

/// A scan between two pages.
pub(super) struct Parked {
    scan: FileScan,
    /// Where the next page begins.
    resume: Key,
}

impl Parked {
    /// Whether it is the scan that is to go on.
    pub(super) fn is_of(&self, scan: &Scan) -> bool {
        let KeyRange { start, until } = &scan.range;
        self.scan.space == scan.space
            && self.resume == *start
            && self.scan.until == *until
            && !scan.options.reverse
    }

    /// The scan.
    pub(super) fn resume(self) -> FileScan {
        FileScan {
            is_resumed: true,
            ..self.scan
        }
    }
}
