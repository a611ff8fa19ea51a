//! Where the blocks of a file come from, one after the other.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom, Take};

use lsm_tree::table::block::BlockType;
use lsm_tree::table::{Block, BlockHandle, DataBlock, IndexBlock};
use lsm_tree::{CompressionType, Error, GlobalTableId, Result, Table};

/// What is read of a file at once: two dozen blocks.
const READ_BYTES: usize = 128 << 10;

/// Blocks whose places are taken out of the index at once.
const HANDLES: usize = 8;

/// Entries that who reads little wants of a block at first: more than a restart interval of the library has,
/// which is the least that it finds at once.
const ENTRIES_AT_ONCE: usize = 16;

/// No entry has a number so high: all versions of a key are wanted.
const BEFORE_ALL: u64 = u64::MAX;

/// The blocks with entries of a file, in their order.
pub(super) enum Feed {
    /// From the file, in large parts that are kept nowhere: for whoever reads much.
    Stream(Stream),
    /// Each by itself, from the library's cache of blocks, or the file and into the cache: for whoever reads
    /// little, and may be back.
    Cached(Cached),
}

impl Feed {
    /// The next block; `None` behind the last one.
    pub(super) fn next(&mut self, table: &Table) -> Result<Option<DataBlock>> {
        let block = match self {
            Feed::Stream(stream) => stream.next(table)?,
            Feed::Cached(cached) => cached.next(table)?,
        };
        Ok(block.map(DataBlock::new))
    }

    /// How many entries of a block are worth finding at once, at first.
    pub(super) fn entries_at_once(&self) -> usize {
        match self {
            Feed::Stream(_) => usize::MAX,
            Feed::Cached(_) => ENTRIES_AT_ONCE,
        }
    }

    /// No further block is wanted.
    pub(super) fn end(&mut self) {
        match self {
            Feed::Stream(stream) => stream.0.set_limit(0),
            Feed::Cached(cached) => cached.end(),
        }
    }
}

/// A file that is read up to the end of its blocks.
pub(super) struct Stream(Take<BufReader<File>>);

impl Stream {
    /// From the first block that may have keys from `start` on.
    pub(super) fn open(table: &Table, start: &[u8]) -> Result<Stream> {
        let mut file = File::open(&*table.path)?;
        let regions = &table.regions;
        // The index is written behind the blocks, in one piece or in parts and an index of these.
        let end = *regions.index.unwrap_or(regions.tli).offset();
        let range = &table.metadata.key_range;
        let begin = if range.min().as_ref() < start {
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
        let reader = BufReader::with_capacity(READ_BYTES, file);
        Ok(Stream(reader.take(end - begin)))
    }

    fn next(&mut self, table: &Table) -> Result<Option<Block>> {
        if self.0.limit() == 0 {
            return Ok(None);
        }
        let compression = table.metadata.data_block_compression;
        let block = Block::from_reader(&mut self.0, compression)?;
        checked(block, BlockType::Data).map(Some)
    }
}

/// Where the first block begins that may have keys from `start` on; `None` when no block has.
fn find_block(table: &Table, file: &File, start: &[u8]) -> Result<Option<u64>> {
    let find = |index: BlockHandle| -> Result<Option<BlockHandle>> {
        let compression = table.metadata.index_block_compression;
        let block = Block::from_file(file, index, compression)?;
        let block = IndexBlock::new(checked(block, BlockType::Index)?);
        let mut items = block.iter();
        let is_found = items.seek(start, BEFORE_ALL);
        let found = is_found.then(|| items.next()).flatten();
        Ok(found.map(|item| BlockHandle::new(item.offset, item.size)))
    };
    let mut found = find(table.regions.tli)?;
    if let (Some(part), Some(_)) = (found, table.regions.index) {
        found = find(part)?;
    }
    Ok(found.map(|block| *block.offset()))
}

/// The index of a file, or the uppermost part of it.
pub(super) fn read_index(table: &Table) -> Result<IndexBlock> {
    let file = File::open(&*table.path)?;
    let compression = table.metadata.index_block_compression;
    let block = Block::from_file(&file, table.regions.tli, compression)?;
    checked(block, BlockType::Index).map(IndexBlock::new)
}

/// Blocks that are kept in the library's cache, where it looks for them itself.
pub(super) struct Cached {
    /// What the file is called there.
    id: GlobalTableId,
    /// The index, or its uppermost part.
    top: IndexBlock,
    /// Where the next blocks are.
    handles: VecDeque<BlockHandle>,
    /// The block of the last of those that were taken out of the index: where it is, and its last key.
    last: Option<(u64, Vec<u8>)>,
    /// Nothing is to be taken out of the index any more.
    is_over: bool,
}

impl Cached {
    /// From the first block that may have keys from `start` on.
    pub(super) fn open(
        (table, id): (&Table, GlobalTableId),
        top: IndexBlock,
        start: &[u8],
    ) -> Result<Cached> {
        let mut cached = Cached {
            id,
            top,
            handles: VecDeque::with_capacity(HANDLES),
            last: None,
            is_over: false,
        };
        cached.find_more(table, start)?;
        if cached.handles.is_empty() && start <= table.metadata.key_range.max().as_ref() {
            return Err(Error::Unrecoverable);
        }
        Ok(cached)
    }

    fn end(&mut self) {
        self.handles.clear();
        self.is_over = true;
    }

    fn next(&mut self, table: &Table) -> Result<Option<Block>> {
        if self.handles.is_empty()
            && !self.is_over
            && let Some((_, key)) = &self.last
        {
            let key = key.clone();
            self.find_more(table, &key)?;
        }
        let Some(handle) = self.handles.pop_front() else {
            return Ok(None);
        };
        let compression = table.metadata.data_block_compression;
        let block = self.block(table, (handle, compression))?;
        checked(block, BlockType::Data).map(Some)
    }

    /// Finds the next blocks that may have keys from `from` on.
    fn find_more(&mut self, table: &Table, from: &[u8]) -> Result<()> {
        let top = self.top.clone();
        if table.regions.index.is_none() {
            self.is_over = self.take_handles(&top, from) < HANDLES;
            return Ok(());
        }
        let mut parts = top.iter();
        if parts.seek(from, BEFORE_ALL) {
            let compression = table.metadata.index_block_compression;
            for part in parts {
                let handle = BlockHandle::new(part.offset, part.size);
                let part = self.block(table, (handle, compression))?;
                let part = IndexBlock::new(checked(part, BlockType::Index)?);
                if 0 < self.take_handles(&part, from) {
                    return Ok(());
                }
            }
        }
        self.is_over = true;
        Ok(())
    }

    /// Takes the next blocks out of an index: those behind the last one that was taken. How many there were.
    fn take_handles(&mut self, index: &IndexBlock, from: &[u8]) -> usize {
        let mut items = index.iter();
        if !items.seek(from, BEFORE_ALL) {
            return 0;
        }
        let behind = self.last.as_ref().map(|(offset, _)| *offset);
        let items = items.filter(|item| behind.is_none_or(|behind| behind < *item.offset));
        let mut last = None;
        for item in items.take(HANDLES) {
            self.handles
                .push_back(BlockHandle::new(item.offset, item.size));
            last = Some(item);
        }
        if let Some(item) = last {
            let bytes = index.as_slice();
            let mut key = self.last.take().map_or_else(Vec::new, |(_, key)| key);
            key.clear();
            let prefix = item.prefix.and_then(|at| bytes.get(at.0..at.1));
            key.extend_from_slice(prefix.unwrap_or_default());
            let rest = bytes.get(item.end_key.0..item.end_key.1);
            key.extend_from_slice(rest.unwrap_or_default());
            self.last = Some((*item.offset, key));
        }
        self.handles.len()
    }

    /// A block, from the cache or into it. The file is opened for each that is not there: many scans may wait
    /// for their next page, and the library's table of open files is its own.
    fn block(
        &self,
        table: &Table,
        (handle, compression): (BlockHandle, CompressionType),
    ) -> Result<Block> {
        if let Some(block) = table.cache.get_block(self.id, handle.offset()) {
            return Ok(block);
        }
        let file = File::open(&*table.path)?;
        let block = Block::from_file(&file, handle, compression)?;
        let kept = block.clone();
        table.cache.insert_block(self.id, handle.offset(), kept);
        Ok(block)
    }
}

fn checked(block: Block, kind: BlockType) -> Result<Block> {
    if block.header.block_type == kind {
        return Ok(block);
    }
    let found = block.header.block_type.into();
    Err(Error::InvalidTag(("BlockType", found)))
}
