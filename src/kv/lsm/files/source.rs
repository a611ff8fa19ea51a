//! The entries of one file, or of the memtable, in the order of the tree: by key, and of one key
//! the newest first.
//!
//! This file is hot: nothing is allocated per entry.

use std::ops::Bound;
use std::sync::Arc;

use lsm_tree::table::DataBlock;
use lsm_tree::table::data_block::DataBlockParsedItem;
use lsm_tree::table::util::SliceIndexes;
use lsm_tree::{InternalValue, Memtable, Result, Slice, Table, ValueType};

use super::feed::Feed;
use crate::kv::lsm::spaces::Bounds;

/// Entries that are taken out of the memtable at once: first, each time as many times as the time before, and at most.
/// Where the other entries of a scan are in files, one is often all that is looked at.
const ENTRIES_FIRST: usize = 1;
const ENTRIES_TIMES: usize = 8;
const ENTRIES_MAX: usize = 256;

/// One source of a merge, at an entry.
#[expect(
    clippy::large_enum_variant,
    reason = "a merge has a handful of them, and one memtable"
)]
pub(super) enum Source {
    /// A file, or a part of it, block by block.
    Blocks(Blocks),
    /// Entries of a memtable.
    Memtable(Entries),
}

impl Source {
    /// The entries of a file that lie within the bounds, from blocks of which the first is the first that
    /// may have such.
    pub(super) fn of_table(table: Table, feed: Feed, bounds: &Arc<Bounds>) -> Result<Source> {
        Ok(Source::Blocks(Blocks::open(table, feed, bounds)?))
    }

    /// The memtable's entries within the bounds.
    pub(super) fn of_memtable(memtable: Arc<Memtable>, bounds: &Arc<Bounds>) -> Source {
        Source::Memtable(Entries {
            memtable,
            bounds: Arc::clone(bounds),
            taken: Vec::new().into_iter(),
            take: ENTRIES_FIRST,
            entry: None,
            is_over: false,
        })
    }

    /// Whether its entries are in a file.
    pub(super) fn is_file(&self) -> bool {
        !matches!(self, Source::Memtable(_))
    }

    /// Goes to the next entry; `false` when there is none.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool> {
        match self {
            Source::Blocks(blocks) => blocks.advance(),
            Source::Memtable(entries) => {
                entries.advance();
                Ok(entries.entry.is_some())
            }
        }
    }

    /// The key of the entry.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        match self {
            Source::Blocks(blocks) => &blocks.key,
            Source::Memtable(Entries { entry, .. }) => {
                entry.as_ref().map_or(&[], |entry| &entry.key.user_key)
            }
        }
    }

    /// Gives the key of the entry, which is not looked at again before the next [`Source::advance`].
    #[inline]
    pub(super) fn give_key(&mut self, to: &mut Vec<u8>) {
        if let Source::Blocks(blocks) = self {
            std::mem::swap(&mut blocks.key, to);
            return;
        }
        to.clear();
        to.extend_from_slice(self.key());
    }

    /// How many entries behind this one are known to be before `limit`: those at hand, or none.
    #[inline]
    pub(super) fn count_before(&self, limit: &[u8]) -> usize {
        match self {
            Source::Blocks(blocks) => blocks.count_before(limit),
            Source::Memtable(_) => 0,
        }
    }

    /// Of two entries of one key, that with the higher number is the newer one.
    #[inline]
    pub(super) fn seqno(&self) -> u64 {
        match self {
            Source::Blocks(blocks) => blocks.seqno,
            Source::Memtable(Entries { entry, .. }) => {
                entry.as_ref().map_or(0, |entry| entry.key.seqno)
            }
        }
    }

    /// The value of the entry; `None` when the key was deleted.
    #[inline]
    pub(super) fn value(&self) -> Option<&[u8]> {
        match self {
            Source::Blocks(blocks) => blocks.value(),
            Source::Memtable(Entries { entry, .. }) => entry
                .as_ref()
                .filter(|entry| !entry.key.is_tombstone())
                .map(|entry| entry.value.as_ref()),
        }
    }
}

/// A file whose blocks are read one after the other.
pub(super) struct Blocks {
    table: Table,
    feed: Feed,
    bounds: Arc<Bounds>,
    /// The present block, while entries of it may be found yet.
    block: Option<DataBlock>,
    /// How many are to be found next.
    find: usize,
    data: Slice,
    /// Where the entries that were found lie in the block, up to the last that is wanted.
    items: Vec<DataBlockParsedItem>,
    next: usize,
    key: Vec<u8>,
    seqno: u64,
    value: Option<(usize, usize)>,
}

impl Blocks {
    fn open(table: Table, feed: Feed, bounds: &Arc<Bounds>) -> Result<Blocks> {
        let is_cut = table.metadata.key_range.min().as_ref() < bounds.0.as_slice();
        let mut blocks = Blocks {
            find: feed.entries_at_once(),
            table,
            feed,
            bounds: Arc::clone(bounds),
            block: None,
            data: Slice::empty(),
            items: Vec::new(),
            next: 0,
            key: Vec::new(),
            seqno: 0,
            value: None,
        };
        if is_cut && let Some(block) = blocks.feed.next(&blocks.table)? {
            blocks.find_items(block, &bounds.0, 0);
        }
        Ok(blocks)
    }

    #[inline]
    fn advance(&mut self) -> Result<bool> {
        while self.next == self.items.len() {
            if !self.find_more()? {
                return Ok(false);
            }
        }
        if let Some(item) = self.items.get(self.next) {
            self.next += 1;
            self.seqno = item.seqno + self.table.global_seqno();
            self.value = item.value.as_ref().map(|at| (at.0, at.1));
            write_key(item, &self.data, &mut self.key);
        }
        Ok(true)
    }

    /// Finds the next entries, in the next block if must be; `false` when there are none.
    fn find_more(&mut self) -> Result<bool> {
        if let (Some(block), Some(last)) = (self.block.take(), self.items.last()) {
            let at = last.key.0;
            let mut key = std::mem::take(&mut self.key);
            write_key(last, &self.data, &mut key);
            self.find_items(block, &key, at + 1);
            self.key = key;
            return Ok(true);
        }
        let Some(block) = self.feed.next(&self.table)? else {
            return Ok(false);
        };
        self.find_items(block, &[], 0);
        Ok(true)
    }

    /// Finds the next entries of a block: those from a key on that lie behind a place of it.
    fn find_items(&mut self, block: DataBlock, from: &[u8], at: usize) {
        let mut items = block.iter();
        if !from.is_empty() {
            // Whether it finds the very key does not matter.
            items.seek(from);
        }
        let items = items.skip_while(|item| item.key.0 < at);
        self.items.clear();
        self.items.extend(items.take(self.find));
        self.next = 0;
        let is_whole = self.items.len() < self.find;
        self.find = self.find.saturating_mul(2);
        self.data = block.inner.data.clone();
        self.block = (!is_whole).then_some(block);
        let (data, until) = (&self.data, self.bounds.1.as_slice());
        let is_wanted = |item: &DataBlockParsedItem| is_below(item, data, until);
        if !self.items.last().is_none_or(is_wanted) {
            let wanted = self.items.partition_point(is_wanted);
            self.items.truncate(wanted);
            self.block = None;
            self.feed.end();
        }
    }

    /// How many entries were found behind this one, if they all are before `limit`.
    fn count_before(&self, limit: &[u8]) -> usize {
        match self.items.last() {
            Some(last) if is_below(last, &self.data, limit) => self.items.len() - self.next,
            Some(_) | None => 0,
        }
    }

    #[inline]
    fn value(&self) -> Option<&[u8]> {
        let (start, end) = self.value?;
        self.data.get(start..end)
    }
}

#[inline]
fn write_key(item: &DataBlockParsedItem, data: &Slice, key: &mut Vec<u8>) {
    key.clear();
    if let Some(prefix) = &item.prefix {
        key.extend_from_slice(part(data, prefix));
    }
    key.extend_from_slice(part(data, &item.key));
}

/// Whether the key of an entry is less than `key`.
fn is_below(item: &DataBlockParsedItem, data: &Slice, key: &[u8]) -> bool {
    let rest = part(data, &item.key);
    let Some(prefix) = &item.prefix else {
        return rest < key;
    };
    let prefix = part(data, prefix);
    match key.split_at_checked(prefix.len()) {
        Some((head, tail)) => (prefix, rest) < (head, tail),
        None => prefix < key,
    }
}

fn part<'a>(data: &'a Slice, at: &SliceIndexes) -> &'a [u8] {
    data.get(at.0..at.1).unwrap_or_default()
}

/// Entries of a memtable, some of which are taken out at a time: what is given out must not borrow it.
pub(super) struct Entries {
    memtable: Arc<Memtable>,
    bounds: Arc<Bounds>,
    taken: std::vec::IntoIter<InternalValue>,
    /// How many are to be taken out next.
    take: usize,
    entry: Option<InternalValue>,
    /// Nothing is to be taken out any more.
    is_over: bool,
}

impl Entries {
    fn advance(&mut self) {
        if self.taken.len() == 0 && !self.is_over {
            self.take_more();
        }
        self.entry = self.taken.next();
    }

    fn take_more(&mut self) {
        let (start, until) = &*self.bounds;
        let start = match self.entry.take() {
            Some(last) => Bound::Excluded(last.key),
            None => Bound::Included(before(start).key),
        };
        let range = (start, Bound::Excluded(before(until).key));
        let entries = self.memtable.items.range(range).take(self.take);
        let taken: Vec<InternalValue> = entries
            .map(|entry| InternalValue {
                key: entry.key().clone(),
                value: entry.value().clone(),
            })
            .collect();
        self.is_over = taken.len() < self.take;
        self.taken = taken.into_iter();
        self.take = (ENTRIES_TIMES * self.take).min(ENTRIES_MAX);
    }
}

/// Whether a memtable has no entry within the bounds, of whatever time.
pub(super) fn is_empty(memtable: &Memtable, (start, until): &Bounds) -> bool {
    let (start, until) = (before(start).key, before(until).key);
    let range = (Bound::Included(start), Bound::Excluded(until));
    memtable.items.range(range).next().is_none()
}

/// What would lie before all versions of a key: the newest comes first.
fn before(key: &[u8]) -> InternalValue {
    InternalValue::from_components(key, Slice::empty(), u64::MAX, ValueType::Value)
}
