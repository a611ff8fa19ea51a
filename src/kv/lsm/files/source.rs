//! The entries of one file, or of the memtable, in the order of the tree: by key, and of one key
//! the newest first.
//!
//! This file is hot: nothing is allocated per entry.

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom, Take};
use std::ops::Bound;
use std::sync::Arc;

use lsm_tree::table::block::BlockType;
use lsm_tree::table::data_block::DataBlockParsedItem;
use lsm_tree::table::util::SliceIndexes;
use lsm_tree::table::{Block, BlockHandle, DataBlock, IndexBlock};
use lsm_tree::{Error, InternalValue, Memtable, Result, Slice, Table, ValueType};

/// What is read of a file at once: two dozen blocks.
const READ_BYTES: usize = 128 << 10;

/// Entries that are taken out of the memtable at once.
const MEMTABLE_ENTRIES: usize = 256;

/// One source of a merge, at an entry.
pub(super) enum Source {
    /// A file, or a part of it, that is read block by block.
    Blocks(Blocks),
    /// A few entries of a file, as the library reads them: it has the index in memory.
    Few(Few),
    /// Entries of a memtable.
    Memtable(Entries),
}

impl Source {
    /// The file's entries from `start` (in) to `until` (out).
    pub(super) fn of_table(table: &Table, bounds: (&[u8], &[u8])) -> Result<Source> {
        Ok(Source::Blocks(Blocks::open(table, bounds)?))
    }

    /// The same, where only the first of them will be read.
    pub(super) fn of_few(table: &Table, (start, until): (&[u8], &[u8])) -> Source {
        let bounds = (
            Bound::Included(Slice::from(start)),
            Bound::Excluded(Slice::from(until)),
        );
        Source::Few(Few {
            iter: Box::new(table.range(bounds)),
            entry: None,
        })
    }

    /// The memtable's entries from `start` (in) to `until` (out).
    pub(super) fn of_memtable(memtable: Arc<Memtable>, bounds: (Vec<u8>, Vec<u8>)) -> Source {
        Source::Memtable(Entries {
            memtable,
            bounds,
            taken: Vec::new().into_iter(),
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
            Source::Few(few) => {
                few.entry = few.iter.next().transpose()?;
                Ok(few.entry.is_some())
            }
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
            Source::Few(Few { entry, .. }) | Source::Memtable(Entries { entry, .. }) => {
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
            Source::Few(_) | Source::Memtable(_) => 0,
        }
    }

    /// Of two entries of one key, that with the higher number is the newer one.
    #[inline]
    pub(super) fn seqno(&self) -> u64 {
        match self {
            Source::Blocks(blocks) => blocks.seqno,
            Source::Few(Few { entry, .. }) | Source::Memtable(Entries { entry, .. }) => {
                entry.as_ref().map_or(0, |entry| entry.key.seqno)
            }
        }
    }

    /// The value of the entry; `None` when the key was deleted.
    #[inline]
    pub(super) fn value(&self) -> Option<&[u8]> {
        match self {
            Source::Blocks(blocks) => blocks.value(),
            Source::Few(Few { entry, .. }) | Source::Memtable(Entries { entry, .. }) => entry
                .as_ref()
                .filter(|entry| !entry.key.is_tombstone())
                .map(|entry| entry.value.as_ref()),
        }
    }
}

/// A file whose blocks are read one after the other.
pub(super) struct Blocks {
    table: Table,
    /// Up to the end of the blocks.
    reader: Take<BufReader<File>>,
    /// No entry from here on is wanted.
    until: Vec<u8>,
    data: Slice,
    /// Where the entries of the block lie in it, up to the last that is wanted.
    items: Vec<DataBlockParsedItem>,
    next: usize,
    key: Vec<u8>,
    seqno: u64,
    value: Option<(usize, usize)>,
}

impl Blocks {
    /// At the entries of a file from `start` (in) to `until` (out).
    fn open(table: &Table, (start, until): (&[u8], &[u8])) -> Result<Blocks> {
        let mut file = File::open(&*table.path)?;
        let regions = &table.regions;
        // The index is written behind the blocks, in one piece or in parts and an index of these.
        let end = *regions.index.unwrap_or(regions.tli).offset();
        let range = &table.metadata.key_range;
        let is_cut = range.min().as_ref() < start;
        let begin = if is_cut {
            find_block(table, &file, start)?
        } else {
            Some(0)
        };
        let begin = match begin {
            Some(begin) if begin < end => begin,
            // It has no such keys.
            None if range.max().as_ref() < start => end,
            Some(_) | None => return Err(Error::Unrecoverable),
        };
        file.seek(SeekFrom::Start(begin))?;
        let left = end - begin;
        let mut blocks = Blocks {
            reader: BufReader::with_capacity(READ_BYTES, file).take(left),
            table: table.clone(),
            until: until.to_vec(),
            data: Slice::empty(),
            items: Vec::new(),
            next: 0,
            key: Vec::new(),
            seqno: 0,
            value: None,
        };
        if is_cut && 0 < left {
            blocks.read_block()?;
            let data = &blocks.data;
            let is_before = |item: &DataBlockParsedItem| is_below(item, data, start);
            blocks.next = blocks.items.partition_point(is_before);
        }
        Ok(blocks)
    }

    #[inline]
    fn advance(&mut self) -> Result<bool> {
        while self.next == self.items.len() {
            if self.reader.limit() == 0 {
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
        let block = DataBlock::new(block);
        self.items.clear();
        self.items.extend(block.iter());
        self.next = 0;
        self.data = block.inner.data;
        let (data, until) = (&self.data, self.until.as_slice());
        let is_wanted = |item: &DataBlockParsedItem| is_below(item, data, until);
        if !self.items.last().is_none_or(is_wanted) {
            let wanted = self.items.partition_point(is_wanted);
            self.items.truncate(wanted);
            self.reader.set_limit(0);
        }
        Ok(())
    }

    /// How many entries of the block come behind this one, if they all are before `limit`.
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

/// Entries of a file that come one by one.
pub(super) struct Few {
    iter: Box<dyn Iterator<Item = Result<InternalValue>> + Send>,
    entry: Option<InternalValue>,
}

/// Where the first block begins that may have keys from `start` on; `None` when no block has.
fn find_block(table: &Table, file: &File, start: &[u8]) -> Result<Option<u64>> {
    let find = |index: BlockHandle| -> Result<Option<BlockHandle>> {
        let compression = table.metadata.index_block_compression;
        let block = Block::from_file(file, index, compression)?;
        if block.header.block_type != BlockType::Index {
            let found = block.header.block_type.into();
            return Err(Error::InvalidTag(("BlockType", found)));
        }
        let block = IndexBlock::new(block);
        let mut items = block.iter();
        // No entry has a number so high: all versions of the key are wanted.
        let is_found = items.seek(start, u64::MAX);
        let found = is_found.then(|| items.next()).flatten();
        Ok(found.map(|item| BlockHandle::new(item.offset, item.size)))
    };
    let mut found = find(table.regions.tli)?;
    if let (Some(part), Some(_)) = (found, table.regions.index) {
        found = find(part)?;
    }
    Ok(found.map(|block| *block.offset()))
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
    bounds: (Vec<u8>, Vec<u8>),
    taken: std::vec::IntoIter<InternalValue>,
    entry: Option<InternalValue>,
    is_over: bool,
}

impl Entries {
    fn advance(&mut self) {
        if self.taken.len() == 0 && !self.is_over {
            self.take_more();
        }
        self.entry = self.taken.next();
        self.is_over = self.entry.is_none();
    }

    fn take_more(&mut self) {
        // Before all versions of a key: the newest comes first.
        let before = |key: &[u8]| {
            InternalValue::from_components(key, Slice::empty(), u64::MAX, ValueType::Value).key
        };
        let (start, until) = &self.bounds;
        let start = match self.entry.take() {
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
        self.taken = taken.into_iter();
    }
}
