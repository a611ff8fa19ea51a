//! What operators write to disk when it does not fit into memory: files of records, within the
//! server's quota.
//!
//! A file has no name in the data directory, so that it is gone when the statement ends or the
//! server dies. A record is two rows of bytes, a key and a payload; what they mean is up to who
//! wrote them. Hot: called once per row; nothing is allocated per record.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::elsewhere;
use crate::error::{Code, Error, Result};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 * 1024;

/// Bytes before the parts of a record: the length of each.
const HEAD_BYTES: usize = 8;

/// Where spilled records go, and how many bytes of them there may be.
#[derive(Debug)]
pub struct Disk {
    dir: PathBuf,
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
        Arc::new(Disk {
            dir,
            quota_bytes,
            used_bytes: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            whole: None,
        })
    }

    /// The same disk, whose bytes are counted apart as well.
    pub fn counted(disk: &Arc<Disk>) -> Arc<Disk> {
        Arc::new(Disk {
            dir: disk.dir.clone(),
            quota_bytes: u64::MAX,
            used_bytes: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            whole: Some(Arc::clone(disk)),
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
            self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
            return Ok(());
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
        for part in [key, payload] {
            self.buffer.extend_from_slice(&length(part)?);
        }
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(payload);
        self.records_count += 1;
        if self.buffer_bytes_max <= self.buffer.len() {
            return self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let bytes = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        self.taken.disk.take(self.operator, bytes)?;
        self.taken.bytes += bytes;
        let written = elsewhere::for_long(|| self.file.write_all(&self.buffer));
        written.map_err(|cause| failed(self.operator, "writing", &cause))?;
        self.buffer.clear();
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
            record: Vec::new(),
            key_bytes: 0,
            _taken: self.taken,
        })
    }
}

/// Reads the records of a file, one after the other.
#[derive(Debug)]
pub struct SpillReader {
    operator: &'static str,
    input: BufReader<File>,
    left_count: u64,
    record: Vec<u8>,
    key_bytes: usize,
    _taken: Taken,
}

impl SpillReader {
    /// Reads the next record; `false` when there is none.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn advance(&mut self) -> Result<bool> {
        let Some(left) = self.left_count.checked_sub(1) else {
            return Ok(false);
        };
        self.left_count = left;
        let read = self.read();
        read.map_err(|cause| failed(self.operator, "reading", &cause))?;
        Ok(true)
    }

    fn read(&mut self) -> std::io::Result<()> {
        let mut head = [0; HEAD_BYTES];
        self.input.read_exact(&mut head)?;
        let [key_bytes, payload_bytes] = lengths(head)?;
        self.key_bytes = key_bytes;
        self.record.resize(key_bytes + payload_bytes, 0);
        self.input.read_exact(&mut self.record)
    }

    /// The key of the record read last.
    pub fn key(&self) -> &[u8] {
        self.record.get(..self.key_bytes).unwrap_or_default()
    }

    /// The payload of the record read last.
    pub fn payload(&self) -> &[u8] {
        self.record.get(self.key_bytes..).unwrap_or_default()
    }
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
fn lengths(head: [u8; HEAD_BYTES]) -> std::io::Result<[usize; 2]> {
    let both = u64::from_le_bytes(head);
    let [key, payload] = [both & u64::from(u32::MAX), both >> u32::BITS];
    let length = |number| usize::try_from(number).map_err(std::io::Error::other);
    Ok([length(key)?, length(payload)?])
}

fn failed(operator: &str, doing: &str, cause: &std::io::Error) -> Error {
    let is_full = cause.kind() == std::io::ErrorKind::StorageFull;
    let code = if is_full {
        Code::DiskFull
    } else {
        Code::StorageFailure
    };
    let text = format!("{operator}: {doing} its temporary file failed: {cause}");
    Error::new(code, text)
}

#[cfg(test)]
mod tests {
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
        assert_eq!(disk.used_bytes(), 20 * 11 + 190);
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
}
