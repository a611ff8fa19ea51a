//! Rows from many sources: of each key the newest entry that the snapshot sees.
//!
//! The source with the least key leads, and is not compared with all the others until its key
//! reaches the least of theirs: mostly, one comparison per block. A file is opened when the merge
//! reaches its first key. This file is hot: nothing is allocated per row that is not packed.

use std::borrow::Cow;
use std::sync::Arc;

use lsm_tree::{Result, Table};

use super::feed::{Cached, Feed, Stream};
use super::source::Source;
use super::view::{Files, View};
use crate::kv::lsm::compression::Compression;
use crate::kv::lsm::fault;
use crate::kv::lsm::spaces::{Bounds, PREFIX_BYTES};
use crate::kv::{Census, IsPast, Page, Scan};

/// A merge of the sources of one range.
pub(super) struct Merge {
    files: Arc<Files>,
    /// The runs with a file whose first key was not reached yet.
    lanes: Vec<Lane>,
    /// The files that were reached, and the memtable: each at an entry.
    open: Vec<Source>,
    /// Which of `open` has the least key, and of that key the newest entry.
    leader: Option<usize>,
    /// Before this key nobody but the leader has an entry; `None` when nobody else has any.
    limit: Option<Vec<u8>>,
    /// So many more entries of the leader are known to be before the limit.
    free_entries: usize,
    /// The key that was dealt with last: older entries of it are not looked at.
    done: Vec<u8>,
    bounds: Arc<Bounds>,
    /// Entries with this number or a higher one are not seen.
    seqno: u64,
    /// Whether only the first entries will be read.
    is_of_few: bool,
    compression: Arc<Compression>,
    /// The last value that was not stored as it is.
    unpacked: Vec<u8>,
    /// Where the value of the row is.
    value: Place,
}

/// Where the value of a row is.
enum Place {
    /// In the leader's entry, behind so many bytes.
    Stored(usize),
    /// In [`Merge::unpacked`].
    Unpacked,
}

/// What is to be read yet of a run, in its order.
struct Lane {
    run: usize,
    /// The file that comes next.
    next: usize,
}

impl Lane {
    /// Of a run, what reaches into the range; `None` when nothing does.
    fn begin(files: &Files, run: usize, bounds: &Bounds) -> Option<Lane> {
        let tables = files.runs().get(run)?;
        let next = tables.partition_point(|table| last_key(table) < bounds.0.as_slice());
        Lane { run, next }.within(files, bounds)
    }

    /// Itself, while its next file has a key in the range.
    fn within(self, files: &Files, bounds: &Bounds) -> Option<Lane> {
        let first = first_key(self.table(files)?);
        (first < bounds.1.as_slice()).then_some(self)
    }

    fn table<'a>(&self, files: &'a Files) -> Option<&'a Table> {
        files.runs().get(self.run)?.get(self.next)
    }
}

/// One entry.
pub(in crate::kv::lsm) struct Met<'a> {
    /// With its space.
    pub(in crate::kv::lsm) key: &'a [u8],
    pub(in crate::kv::lsm) what: What<'a>,
}

/// What an entry is to a snapshot.
pub(in crate::kv::lsm) enum What<'a> {
    /// The value of a key.
    Row(&'a [u8]),
    /// The key is deleted.
    Deleted,
    /// There is a newer one of its key, or it is newer than the snapshot.
    Other,
}

/// What some entries were.
pub(super) struct Tally {
    /// How many there were, older versions included.
    pub(super) entries: u64,
    /// How many of them were in files.
    pub(super) in_files: u64,
    /// Bytes of their keys and values.
    pub(super) bytes: u64,
    /// Their keys.
    pub(super) found: Census,
    /// Whether the range ended with them.
    pub(super) is_whole: bool,
}

impl Merge {
    /// The merge of all that lies between two physical keys: from (in), until (out).
    pub(super) fn new(view: &View, bounds: Bounds, seqno: u64) -> Merge {
        let files = Arc::clone(&view.files);
        let bounds = Arc::new(bounds);
        let lanes = (0..files.runs().len()).filter_map(|run| Lane::begin(&files, run, &bounds));
        let memtable = Source::of_memtable(Arc::clone(&view.memtable), &bounds);
        Merge {
            lanes: lanes.collect(),
            files,
            open: vec![memtable],
            leader: None,
            limit: None,
            free_entries: 0,
            done: Vec::new(),
            bounds,
            seqno,
            is_of_few: false,
            compression: Arc::clone(&view.compression),
            unpacked: Vec::new(),
            value: Place::Stored(0),
        }
    }

    /// The same, of which only the first entries will be read: block by block, through the cache.
    pub(super) fn of_few(view: &View, bounds: Bounds, seqno: u64) -> Merge {
        Merge {
            is_of_few: true,
            ..Merge::new(view, bounds, seqno)
        }
    }

    /// Adds rows to the page until it is full or the range ends. After an error it is not to be used again.
    pub(super) fn fill(&mut self, scan: &Scan, page: &mut Page) -> Result<()> {
        let options = scan.options;
        if self.leader.is_none() {
            self.begin()?;
        }
        while let Some(leader) = self.leader {
            let Some(source) = self.open.get_mut(leader) else {
                break;
            };
            let key = source.key();
            if source.seqno() < self.seqno && differ(key, &self.done) {
                if let Some(value) = source.value() {
                    let value = if options.keys_only { &[] } else { value };
                    let value = self.compression.plain_of(key, value);
                    let value = value.map_err(fault::carried)?;
                    let key = key.get(PREFIX_BYTES..).unwrap_or_default();
                    if !page.has_room(options) || !page.push(key, &value) {
                        page.set_rest(scan);
                        return Ok(());
                    }
                }
                source.give_key(&mut self.done);
            }
            self.pass(leader)?;
        }
        Ok(())
    }

    /// Goes to the next row, whose value need not be known where only keys are wanted; `false` when there is
    /// none.
    pub(super) fn next_row(&mut self, keys_only: bool) -> Result<bool> {
        loop {
            match self.leader {
                Some(leader) => self.pass(leader)?,
                None => self.begin()?,
            }
            let Some(source) = self.leader.and_then(|at| self.open.get_mut(at)) else {
                return Ok(false);
            };
            if self.seqno <= source.seqno() || !differ(source.key(), &self.done) {
                continue;
            }
            source.give_key(&mut self.done);
            let Some(stored) = source.value() else {
                continue;
            };
            let stored = if keys_only { &[] } else { stored };
            let value = self.compression.plain_of(&self.done, stored);
            self.value = match value.map_err(fault::carried)? {
                Cow::Borrowed(plain) => Place::Stored(stored.len() - plain.len()),
                Cow::Owned(value) => {
                    self.unpacked = value;
                    Place::Unpacked
                }
            };
            return Ok(true);
        }
    }

    /// The key of the row that it is at, with its space, and the value.
    pub(super) fn row(&self) -> (&[u8], &[u8]) {
        let value = match self.value {
            Place::Unpacked => Some(self.unpacked.as_slice()),
            Place::Stored(from) => {
                let source = self.leader.and_then(|at| self.open.get(at));
                source
                    .and_then(Source::value)
                    .and_then(|value| value.get(from..))
            }
        };
        (&self.done, value.unwrap_or_default())
    }

    /// Whether there is no entry at all, dead or alive; to be asked first.
    pub(super) fn is_empty(&mut self) -> Result<bool> {
        self.begin()?;
        Ok(self.leader.is_none())
    }

    /// The next entry, dead ones included.
    pub(super) fn next_entry(&mut self) -> Result<Option<Met<'_>>> {
        match self.leader {
            Some(leader) => self.pass(leader)?,
            None => self.begin()?,
        }
        let Some(source) = self.leader.and_then(|at| self.open.get(at)) else {
            return Ok(None);
        };
        let key = source.key();
        let is_newest = source.seqno() < self.seqno && key != self.done.as_slice();
        if is_newest {
            self.done.clear();
            self.done.extend_from_slice(key);
        }
        let what = match source.value() {
            Some(stored) if is_newest => {
                let value = self.compression.plain_of(key, stored);
                match value.map_err(fault::carried)? {
                    Cow::Borrowed(value) => What::Row(value),
                    Cow::Owned(value) => {
                        self.unpacked = value;
                        What::Row(&self.unpacked)
                    }
                }
            }
            None if is_newest => What::Deleted,
            Some(_) | None => What::Other,
        };
        Ok(Some(Met { key, what }))
    }

    /// Counts what the next entries are, up to so many entries or bytes of them and those of the last
    /// key.
    pub(super) fn tally(
        &mut self,
        (entries_max, bytes_max): (u64, u64),
        is_past: IsPast<'_>,
    ) -> Result<Tally> {
        let mut tally = Tally {
            entries: 0,
            in_files: 0,
            bytes: 0,
            found: Census::nothing(),
            is_whole: false,
        };
        if self.leader.is_none() {
            self.begin()?;
        }
        loop {
            let leading = self.leader.and_then(|at| Some((at, self.open.get(at)?)));
            let Some((leader, source)) = leading else {
                tally.is_whole = true;
                return Ok(tally);
            };
            let is_new = source.key() != self.done.as_slice();
            let is_full = entries_max <= tally.entries || bytes_max <= tally.bytes;
            if is_full && is_new {
                return Ok(tally);
            }
            tally.entries += 1;
            tally.bytes += bytes_of(source);
            tally.in_files += u64::from(source.is_file());
            if source.seqno() < self.seqno && is_new {
                tally.found.add(source.value(), is_past);
                self.done.clear();
                self.done.extend_from_slice(source.key());
            }
            self.pass(leader)?;
        }
    }

    /// Goes to the next entry of the leader, or of who leads then.
    #[inline]
    fn pass(&mut self, leader: usize) -> Result<()> {
        let Some(source) = self.open.get_mut(leader) else {
            return Ok(());
        };
        if !source.advance()? {
            self.open.swap_remove(leader);
            return self.elect();
        }
        if let Some(left) = self.free_entries.checked_sub(1) {
            self.free_entries = left;
            return Ok(());
        }
        let Some(limit) = &self.limit else {
            return Ok(());
        };
        if limit.as_slice() <= source.key() {
            return self.elect();
        }
        self.free_entries = source.count_before(limit);
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        let mut memtable = std::mem::take(&mut self.open);
        for mut source in memtable.drain(..) {
            if source.advance()? {
                self.open.push(source);
            }
        }
        self.elect()
    }

    /// Finds the leader, opening the files that may have the least key.
    fn elect(&mut self) -> Result<()> {
        loop {
            self.leader = self.least();
            let leading = self.leader.and_then(|leader| self.open.get(leader));
            let Some((lane, first)) = self.first_lane() else {
                break;
            };
            if leading.is_some_and(|source| source.key() < first) {
                break;
            }
            self.open_next(lane)?;
        }
        self.set_limit();
        self.free_entries = 0;
        Ok(())
    }

    /// The lane with the least first key, and that.
    fn first_lane(&self) -> Option<(usize, &[u8])> {
        let lanes = self.lanes.iter().enumerate();
        let firsts =
            lanes.filter_map(|(idx, lane)| Some((idx, first_key(lane.table(&self.files)?))));
        firsts.min_by(|(_, one), (_, other)| one.cmp(other))
    }

    /// Opens the next file of a lane.
    fn open_next(&mut self, idx: usize) -> Result<()> {
        let Lane { run, next } = self.lanes.swap_remove(idx);
        let behind = Lane {
            run,
            next: next + 1,
        };
        let Some(table) = Lane { run, next }.table(&self.files).cloned() else {
            return Ok(());
        };
        self.lanes.extend(behind.within(&self.files, &self.bounds));
        let start = self.bounds.0.as_slice();
        let feed = if self.is_of_few {
            let id = self.files.cached_id(&table);
            Feed::Cached(Cached::open(
                (&table, id),
                self.files.index_of(&table)?,
                start,
            )?)
        } else {
            Feed::Stream(Stream::open(&table, start)?)
        };
        let mut source = Source::of_table(table, feed, &self.bounds)?;
        if source.advance()? {
            self.open.push(source);
        }
        Ok(())
    }

    fn least(&self) -> Option<usize> {
        let order = |a: &Source, b: &Source| {
            let newest_first = || b.seqno().cmp(&a.seqno());
            a.key().cmp(b.key()).then_with(newest_first)
        };
        let open = self.open.iter().enumerate();
        open.min_by(|(_, a), (_, b)| order(a, b))
            .map(|(idx, _)| idx)
    }

    /// Makes the limit the least key of all but the leader.
    fn set_limit(&mut self) {
        let mut limit = self.limit.take().unwrap_or_default();
        let others = self.open.iter().enumerate();
        let others = others.filter(|(idx, _)| Some(*idx) != self.leader);
        let open = others.map(|(_, source)| source.key());
        let least = open.chain(self.first_lane().map(|(_, first)| first)).min();
        self.limit = least.map(|least| {
            limit.clear();
            limit.extend_from_slice(least);
            limit
        });
    }
}

fn first_key(table: &Table) -> &[u8] {
    table.metadata.key_range.min()
}

fn last_key(table: &Table) -> &[u8] {
    table.metadata.key_range.max()
}

/// Whether two keys are not the same one. Those that follow each other mostly differ in their last byte.
#[inline]
fn differ(one: &[u8], other: &[u8]) -> bool {
    one.last() != other.last() || one != other
}

fn bytes_of(source: &Source) -> u64 {
    let bytes = source.key().len() + source.value().map_or(0, <[u8]>::len);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
