//! What operators write to disk when it does not fit into memory: files of records, within the
//! server's quota.
//!
//! A file has no name in the data directory, so that it is gone when the statement ends or the
//! server dies. A record is two rows of bytes, a key and a payload; what they mean is up to who
//! wrote them. Hot: called once per row; nothing is allocated per record.
//!
//! Records lie in blocks, each behind its length and its checksum (XXH3), so that what has changed on the
//! disk is never taken for rows.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use super::elsewhere;
use crate::error::{Code, Error, Result};
use crate::kv::Engine;

/// Bytes at which a block ends. It is read at once.
const BLOCK_BYTES: usize = 64 * 1024;

/// Bytes before a block: its length and its checksum, both without them.
const BLOCK_HEAD_BYTES: usize = 16;

/// Bytes that are read to get at the head of a block; the rest of it is read into its place.
const READ_BYTES: usize = 4 * 1024;

/// Bytes before the parts of a record: the length of each.
const HEAD_BYTES: usize = 8;

/// What is written between two looks at the room on the disk: little beside what the engine has left.
pub(crate) const STRIDE_BYTES: u64 = 1024 * 1024;

/// Whose files lie on the same disk, and need room there.
struct Neighbour(Arc<dyn Engine>);

impl fmt::Debug for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// Where spilled records go, and how many bytes of them there may be.
#[derive(Debug)]
pub struct Disk {
    dir: PathBuf,
    neighbour: Option<Neighbour>,
    quota_bytes: u64,
    used_bytes: AtomicU64,
    /// Bytes written in all.
    written_bytes: AtomicU64,
    /// Whose quota it is, when bytes are counted apart for one statement.
    whole: Option<Arc<Disk>>,
}

impl Disk {
    /// Files in `dir`, all together of at most `quota_bytes`.
    pub fn new(dir: PathBuf, quota_bytes: u64) -> Arc<Disk> {
        Arc::new(Disk::beside(None, dir, quota_bytes))
    }

    /// As [`Disk::new`], on the disk of an engine: what that needs of it is left.
    pub fn of_engine(engine: Arc<dyn Engine>, dir: PathBuf, quota_bytes: u64) -> Arc<Disk> {
        Arc::new(Disk::beside(Some(Neighbour(engine)), dir, quota_bytes))
    }

    fn beside(neighbour: Option<Neighbour>, dir: PathBuf, quota_bytes: u64) -> Disk {
        Disk {
            dir,
            neighbour,
            quota_bytes,
            used_bytes: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            whole: None,
        }
    }

    /// The same disk, whose bytes are counted apart as well.
    pub fn counted(disk: &Arc<Disk>) -> Arc<Disk> {
        Arc::new(Disk {
            whole: Some(Arc::clone(disk)),
            ..Disk::beside(None, disk.dir.clone(), u64::MAX)
        })
    }

    /// Bytes that were ever written.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of all files that there are.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    fn take(&self, operator: &str, bytes: u64) -> Result<()> {
        if let Some(whole) = &self.whole {
            whole.take(operator, bytes)?;
        }
        let used = self.used_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if used <= self.quota_bytes {
            let before = self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
            return self
                .look((before, bytes))
                .inspect_err(|_| self.give_back(bytes));
        }
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let text = format!(
            "{operator} needs {bytes} bytes more on disk, where all statements together would \
             hold {used}, the most spill-quota allows is {}",
            self.quota_bytes
        );
        Err(Error::new(Code::TableFull, text))
    }
}

impl Disk {
    /// Now and then, by what was written `before`: whether the engine has its room beside `bytes` more.
    fn look(&self, (before, bytes): (u64, u64)) -> Result<()> {
        let is_due = before == 0 || before / STRIDE_BYTES < (before + bytes) / STRIDE_BYTES;
        match &self.neighbour {
            Some(Neighbour(engine)) if is_due => Ok(engine.check_room(bytes.max(STRIDE_BYTES))?),
            Some(_) | None => Ok(()),
        }
    }

    fn give_back(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.give_back(bytes);
        }
    }
}

/// Bytes that a file takes of the quota until it is dropped.
#[derive(Debug)]
struct Taken {
    disk: Arc<Disk>,
    bytes: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.disk.give_back(self.bytes);
    }
}

/// Writes records to a new file.
#[derive(Debug)]
pub struct SpillWriter {
    operator: &'static str,
    file: File,
    buffer: Vec<u8>,
    /// Where the last block begins in it, or will begin.
    block_start: usize,
    buffer_bytes_max: usize,
    records_count: u64,
    taken: Taken,
}

impl SpillWriter {
    /// A file of that operator, written so many bytes at once.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn new(
        disk: &Arc<Disk>,
        operator: &'static str,
        buffer_bytes_max: usize,
    ) -> Result<SpillWriter> {
        let file = tempfile::tempfile_in(&disk.dir);
        Ok(SpillWriter {
            operator,
            file: file.map_err(|cause| failed(operator, "making", &cause))?,
            buffer: Vec::new(),
            block_start: 0,
            buffer_bytes_max,
            records_count: 0,
            taken: Taken {
                disk: Arc::clone(disk),
                bytes: 0,
            },
        })
    }

    /// Writes one record.
    ///
    /// # Errors
    /// 1114 past the quota, 1021 when the disk is full.
    pub fn write(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        if self.block_start == self.buffer.len() {
            self.buffer.extend_from_slice(&[0; BLOCK_HEAD_BYTES]);
        }
        for part in [key, payload] {
            self.buffer.extend_from_slice(&length(part)?);
        }
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(payload);
        self.records_count += 1;
        if self.block_start + BLOCK_BYTES <= self.buffer.len() {
            self.end_block();
        }
        if self.buffer_bytes_max <= self.buffer.len() {
            return self.flush();
        }
        Ok(())
    }

    /// Writes the head of the last block, if it has begun.
    fn end_block(&mut self) {
        let block = self.buffer.get_mut(self.block_start..).unwrap_or_default();
        if let Some((head, records)) = block.split_first_chunk_mut() {
            *head = head_of(records);
        }
        self.block_start = self.buffer.len();
    }

    fn flush(&mut self) -> Result<()> {
        self.end_block();
        let bytes = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        self.taken.disk.take(self.operator, bytes)?;
        self.taken.bytes += bytes;
        let written = elsewhere::for_long(|| self.file.write_all(&self.buffer));
        written.map_err(|cause| failed(self.operator, "writing", &cause))?;
        self.buffer.clear();
        self.block_start = 0;
        Ok(())
    }

    /// The written file.
    ///
    /// # Errors
    /// As [`SpillWriter::write`].
    pub fn finish(mut self) -> Result<SpillFile> {
        self.flush()?;
        Ok(SpillFile {
            operator: self.operator,
            file: self.file,
            records_count: self.records_count,
            taken: self.taken,
        })
    }
}

/// A file of records.
#[derive(Debug)]
pub struct SpillFile {
    operator: &'static str,
    file: File,
    records_count: u64,
    taken: Taken,
}

impl SpillFile {
    /// Reads it from its beginning.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn read(mut self) -> Result<SpillReader> {
        let start = self.file.seek(SeekFrom::Start(0));
        start.map_err(|cause| failed(self.operator, "reading", &cause))?;
        Ok(SpillReader {
            operator: self.operator,
            input: BufReader::with_capacity(READ_BYTES, self.file),
            left_count: self.records_count,
            block: Vec::new(),
            record_start: 0,
            key_bytes: 0,
            record_until: 0,
            taken: self.taken,
        })
    }
}

/// Reads the records of a file, one after the other.
#[derive(Debug)]
pub struct SpillReader {
    operator: &'static str,
    input: BufReader<File>,
    left_count: u64,
    /// Its records, without the head.
    block: Vec<u8>,
    /// Where the key of the record read last begins, and where its payload ends.
    record_start: usize,
    key_bytes: usize,
    record_until: usize,
    taken: Taken,
}

impl SpillReader {
    /// Reads the next record; `false` when there is none.
    ///
    /// # Errors
    /// Those of the disk; 1712 when it gives something else than was written.
    pub fn advance(&mut self) -> Result<bool> {
        let Some(left) = self.left_count.checked_sub(1) else {
            return Ok(false);
        };
        self.left_count = left;
        let read = self.read();
        read.map_err(|cause| failed(self.operator, "reading", &cause))?;
        Ok(true)
    }

    fn read(&mut self) -> io::Result<()> {
        if self.record_until == self.block.len() {
            self.read_block()?;
        }
        let rest = self.block.get(self.record_until..).unwrap_or_default();
        let (head, _) = rest.split_first_chunk().ok_or_else(changed)?;
        let [key_bytes, payload_bytes] = lengths(*head)?;
        self.record_start = self.record_until + HEAD_BYTES;
        self.key_bytes = key_bytes;
        self.record_until = self.record_start + key_bytes + payload_bytes;
        Ok(())
    }

    fn read_block(&mut self) -> io::Result<()> {
        let mut head = [0; BLOCK_HEAD_BYTES];
        self.input.read_exact(&mut head)?;
        let bytes = length_in(head);
        if self.taken.bytes < bytes {
            return Err(changed());
        }
        self.block
            .resize(usize::try_from(bytes).map_err(|_| changed())?, 0);
        self.input.read_exact(&mut self.block)?;
        self.record_until = 0;
        if head_of(&self.block) == head {
            Ok(())
        } else {
            Err(changed())
        }
    }

    /// The key of the record read last.
    pub fn key(&self) -> &[u8] {
        let key = self.record_start..self.record_start + self.key_bytes;
        self.block.get(key).unwrap_or_default()
    }

    /// The payload of the record read last.
    pub fn payload(&self) -> &[u8] {
        let payload = self.record_start + self.key_bytes..self.record_until;
        self.block.get(payload).unwrap_or_default()
    }
}

/// What is before a block with these records.
#[expect(
    clippy::little_endian_bytes,
    reason = "a spill file is read by the process that wrote it"
)]
fn head_of(records: &[u8]) -> [u8; BLOCK_HEAD_BYTES] {
    let bytes = u64::try_from(records.len()).unwrap_or(u64::MAX);
    let both = u128::from(xxh3_64(records)) << u64::BITS | u128::from(bytes);
    both.to_le_bytes()
}

/// The length that a head tells.
#[expect(
    clippy::little_endian_bytes,
    reason = "a spill file is read by the process that wrote it"
)]
fn length_in(head: [u8; BLOCK_HEAD_BYTES]) -> u64 {
    let both = u128::from_le_bytes(head);
    u64::try_from(both & u128::from(u64::MAX)).unwrap_or(u64::MAX)
}

fn changed() -> io::Error {
    let text = "what was written there has changed on the disk";
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[expect(
    clippy::little_endian_bytes,
    reason = "a spill file is read by the process that wrote it"
)]
fn length(part: &[u8]) -> Result<[u8; 4]> {
    let length = u32::try_from(part.len());
    let length = length.map_err(|_| Error::internal("a spilled row of 4 GiB"))?;
    Ok(length.to_le_bytes())
}

#[expect(
    clippy::little_endian_bytes,
    reason = "a spill file is read by the process that wrote it"
)]
fn lengths(head: [u8; HEAD_BYTES]) -> io::Result<[usize; 2]> {
    let both = u64::from_le_bytes(head);
    let [key, payload] = [both & u64::from(u32::MAX), both >> u32::BITS];
    let length = |number| usize::try_from(number).map_err(io::Error::other);
    Ok([length(key)?, length(payload)?])
}

fn failed(operator: &str, doing: &str, cause: &io::Error) -> Error {
    let kind = cause.kind();
    let code = if kind == io::ErrorKind::StorageFull {
        Code::DiskFull
    } else if [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof].contains(&kind) {
        Code::StorageCorrupt
    } else {
        Code::StorageFailure
    };
    let text = format!("{operator}: {doing} its temporary file failed: {cause}");
    Error::new(code, text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn records_come_back_and_the_quota_does_too() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::new(dir.path().into(), 1000);
        let mut writer = SpillWriter::new(&disk, "sort", 16).unwrap();
        let records: Vec<(Vec<u8>, Vec<u8>)> = (0..20)
            .map(|number| (vec![number; usize::from(number)], vec![number, 1, 2]))
            .collect();
        for (key, payload) in &records {
            writer.write(key, payload).unwrap();
        }
        let mut reader = writer.finish().unwrap().read().unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        // Each record is a block of its own.
        assert_eq!(disk.used_bytes(), 20 * (16 + 11) + 190);
        for (key, payload) in &records {
            assert!(reader.advance().unwrap());
            assert_eq!((reader.key(), reader.payload()), (&key[..], &payload[..]));
        }
        assert!(!reader.advance().unwrap());
        let mut other = SpillWriter::new(&disk, "group by", 16).unwrap();
        let error = (0..).find_map(|_| other.write(b"key", &[0; 100]).err());
        let error = error.unwrap();
        assert_eq!(error.code(), Code::TableFull);
        assert!(error.message().starts_with("group by needs"), "{error}");
        drop((reader, other));
        assert_eq!(disk.used_bytes(), 0);
    }

    /// Several blocks, and one record that is longer than a block.
    #[test]
    fn records_of_many_blocks_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::new(dir.path().into(), u64::MAX);
        let mut writer = SpillWriter::new(&disk, "sort", 3 * BLOCK_BYTES).unwrap();
        let payload_of = |number: u32| match number {
            1_000 => vec![7; 5 * BLOCK_BYTES],
            _ => vec![1; 900],
        };
        for number in 0..2_000_u32 {
            let key = number.to_string();
            writer.write(key.as_bytes(), &payload_of(number)).unwrap();
        }
        let mut reader = writer.finish().unwrap().read().unwrap();
        for number in 0..2_000_u32 {
            assert!(reader.advance().unwrap());
            assert_eq!(reader.key(), number.to_string().as_bytes());
            assert_eq!(reader.payload(), payload_of(number));
        }
        assert!(!reader.advance().unwrap());
    }

    /// Mechanism: blocks had no checksums, and a bit that flipped on the disk was a row's.
    #[test]
    fn each_flipped_bit_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::new(dir.path().into(), u64::MAX);
        let written = || {
            let mut writer = SpillWriter::new(&disk, "sort", 0).unwrap();
            writer.write(b"first key", b"payload").unwrap();
            writer.write(b"", b"second").unwrap();
            writer.finish().unwrap()
        };
        let bits = disk_bits(&written());
        assert!(bits > 8 * u64::try_from(2 * BLOCK_HEAD_BYTES).unwrap());
        for bit in 0..bits {
            let file = written();
            let mut byte = [0];
            file.file.read_exact_at(&mut byte, bit / 8).unwrap();
            byte[0] ^= 1 << (bit % 8);
            file.file.write_all_at(&byte, bit / 8).unwrap();
            let mut reader = file.read().unwrap();
            let told = (0..2).find_map(|_| reader.advance().err());
            let told = told.unwrap_or_else(|| panic!("bit {bit} is not told"));
            assert_eq!(told.code(), Code::StorageCorrupt, "bit {bit}: {told}");
        }
    }

    fn disk_bits(file: &SpillFile) -> u64 {
        8 * file.file.metadata().unwrap().len()
    }
}
