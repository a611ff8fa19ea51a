//! The entries of one file, or of the memtable, in the order of the tree: by key, and of one key
//! the newest first.
//!
//! This file is hot: nothing is allocated per entry.

use std::fs::File;
use std::io::BufReader;
use std::ops::Bound;
use std::sync::Arc;

use lsm_tree::table::block::BlockType;
use lsm_tree::table::data_block::DataBlockParsedItem;
use lsm_tree::table::util::SliceIndexes;
use lsm_tree::table::{Block, DataBlock};
use lsm_tree::{Error, InternalValue, Memtable, Result, Slice, Table, ValueType};

/// What is read of a file at once: two dozen blocks.
const READ_BYTES: usize = 128 << 10;

/// Entries that are taken out of the memtable at once.
const MEMTABLE_ENTRIES: usize = 256;

/// One source of a merge, at an entry.
pub(super) enum Source {
    /// A file that is read from its first block to its last.
    Blocks(Blocks),
    /// Entries of a part of a file.
    Entries(Entries),
    /// Entries of a memtable.
    Memtable(Entries),
}

impl Source {
    /// The file's entries from `start` (in) to `until` (out).
    pub(super) fn of_table(table: &Table, (start, until): (&[u8], &[u8])) -> Result<Source> {
        let range = &table.metadata.key_range;
        if start <= range.min().as_ref() && range.max().as_ref() < until {
            return Ok(Source::Blocks(Blocks::open(table)?));
        }
        let bounds = (
            Bound::Included(Slice::from(start)),
            Bound::Excluded(Slice::from(until)),
        );
        let entries: EntryIter = Box::new(table.range(bounds));
        Ok(Source::Entries(Entries::new(entries)))
    }

    /// The memtable's entries from `start` (in) to `until` (out).
    pub(super) fn of_memtable(memtable: Arc<Memtable>, bounds: (Vec<u8>, Vec<u8>)) -> Source {
        let entries = MemtableIter {
            memtable,
            bounds,
            last: None,
            taken: Vec::new().into_iter(),
        };
        Source::Memtable(Entries::new(Box::new(entries)))
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
            Source::Entries(entries) | Source::Memtable(entries) => entries.advance(),
        }
    }

    /// The key of the entry.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        match self {
            Source::Blocks(blocks) => &blocks.key,
            Source::Entries(entries) | Source::Memtable(entries) => {
                entries.entry().map_or(&[], |entry| &entry.key.user_key)
            }
        }
    }

    /// Of two entries of one key, that with the higher number is the newer one.
    #[inline]
    pub(super) fn seqno(&self) -> u64 {
        match self {
            Source::Blocks(blocks) => blocks.seqno,
            Source::Entries(entries) | Source::Memtable(entries) => {
                entries.entry().map_or(0, |entry| entry.key.seqno)
            }
        }
    }

    /// The value of the entry; `None` when the key was deleted.
    #[inline]
    pub(super) fn value(&self) -> Option<&[u8]> {
        match self {
            Source::Blocks(blocks) => blocks.value(),
            Source::Entries(entries) | Source::Memtable(entries) => entries
                .entry()
                .filter(|entry| !entry.key.is_tombstone())
                .map(|entry| entry.value.as_ref()),
        }
    }
}

/// A file that is read block by block.
pub(super) struct Blocks {
    table: Table,
    reader: BufReader<File>,
    /// Blocks that were not read yet.
    left: u64,
    data: Slice,
    /// Where the entries of the block lie in it.
    items: Vec<DataBlockParsedItem>,
    next: usize,
    key: Vec<u8>,
    seqno: u64,
    value: Option<(usize, usize)>,
}

impl Blocks {
    fn open(table: &Table) -> Result<Blocks> {
        Ok(Blocks {
            reader: BufReader::with_capacity(READ_BYTES, File::open(&*table.path)?),
            left: table.metadata.data_block_count,
            table: table.clone(),
            data: Slice::empty(),
            items: Vec::new(),
            next: 0,
            key: Vec::new(),
            seqno: 0,
            value: None,
        })
    }

    #[inline]
    fn advance(&mut self) -> Result<bool> {
        while self.next == self.items.len() {
            if self.left == 0 {
                return Ok(false);
            }
            self.read_block()?;
        }
        if let Some(item) = self.items.get(self.next) {
            self.next += 1;
            self.seqno = item.seqno + self.table.global_seqno();
            self.value = item.value.as_ref().map(|at| (at.0, at.1));
            self.key.clear();
            if let Some(prefix) = &item.prefix {
                self.key.extend_from_slice(part(&self.data, prefix));
            }
            self.key.extend_from_slice(part(&self.data, &item.key));
        }
        Ok(true)
    }

    /// Reads the next block, whose checksum is looked at, and finds its entries.
    fn read_block(&mut self) -> Result<()> {
        let compression = self.table.metadata.data_block_compression;
        let block = Block::from_reader(&mut self.reader, compression)?;
        if block.header.block_type != BlockType::Data {
            let found = block.header.block_type.into();
            return Err(Error::InvalidTag(("BlockType", found)));
        }
        self.left -= 1;
        let block = DataBlock::new(block);
        self.items.clear();
        self.items.extend(block.iter());
        self.next = 0;
        self.data = block.inner.data;
        Ok(())
    }

    #[inline]
    fn value(&self) -> Option<&[u8]> {
        let (start, end) = self.value?;
        self.data.get(start..end)
    }
}

fn part<'a>(data: &'a Slice, at: &SliceIndexes) -> &'a [u8] {
    data.get(at.0..at.1).unwrap_or_default()
}

type EntryIter = Box<dyn Iterator<Item = Result<InternalValue>> + Send>;

/// Entries that come one by one.
pub(super) struct Entries {
    iter: EntryIter,
    entry: Option<InternalValue>,
}

impl Entries {
    fn new(iter: EntryIter) -> Entries {
        Entries { iter, entry: None }
    }

    fn entry(&self) -> Option<&InternalValue> {
        self.entry.as_ref()
    }

    fn advance(&mut self) -> Result<bool> {
        self.entry = self.iter.next().transpose()?;
        Ok(self.entry.is_some())
    }
}

/// Goes through the memtable, some entries at a time: what it gives out must not borrow it.
struct MemtableIter {
    memtable: Arc<Memtable>,
    bounds: (Vec<u8>, Vec<u8>),
    /// The entry that was taken out last.
    last: Option<InternalValue>,
    taken: std::vec::IntoIter<InternalValue>,
}

impl MemtableIter {
    fn take_more(&mut self) {
        // Before all versions of a key: the newest comes first.
        let before = |key: &[u8]| {
            InternalValue::from_components(key, Slice::empty(), u64::MAX, ValueType::Value).key
        };
        let (start, until) = &self.bounds;
        let start = match self.last.take() {
            Some(last) => Bound::Excluded(last.key),
            None => Bound::Included(before(start)),
        };
        let range = (start, Bound::Excluded(before(until)));
        let entries = self.memtable.items.range(range).take(MEMTABLE_ENTRIES);
        let taken: Vec<InternalValue> = entries
            .map(|entry| InternalValue {
                key: entry.key().clone(),
                value: entry.value().clone(),
            })
            .collect();
        self.last = taken.last().cloned();
        self.taken = taken.into_iter();
    }
}

impl Iterator for MemtableIter {
    type Item = Result<InternalValue>;

    fn next(&mut self) -> Option<Result<InternalValue>> {
        if self.taken.len() == 0 {
            self.take_more();
        }
        self.taken.next().map(Ok)
    }
}
