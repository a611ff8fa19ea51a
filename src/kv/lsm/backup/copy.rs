//! Bytes from file to file, and their checksums: XXH3, 128 bits, as the storage library's own.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::{reading, writing};
use crate::kv::Result;
use crate::kv::lsm::directory::{DIR_MODE, FILE_MODE};

/// Bytes that are read or written at a time: some dozens of microseconds, in which the system lets nobody else
/// have the processor.
const CHUNK_BYTES: usize = 64 << 10;

/// What is known of the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::kv::lsm) struct Sum {
    pub(super) bytes: u64,
    pub(super) checksum: u128,
}

impl Sum {
    pub(super) fn of(bytes: &[u8]) -> Sum {
        Sum {
            bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            checksum: xxh3_128(bytes),
        }
    }
}

/// Reads a file to its end; `more` is told how many bytes came, and says whether to go on.
///
/// # Errors
///
/// [`crate::kv::Error::Io`].
pub(super) fn sum_of(path: &Path, more: &dyn Fn(u64) -> Result<()>) -> Result<Sum> {
    pass(path, &mut io::sink(), (path, more))
}

/// Copies a file that is not there yet, and syncs it.
///
/// # Errors
///
/// [`crate::kv::Error::Io`], [`crate::kv::Error::DiskFull`].
pub(super) fn copy(from: &Path, to: &Path, more: &dyn Fn(u64) -> Result<()>) -> Result<Sum> {
    let mut file = create(to).map_err(|cause| writing(to, &cause))?;
    let sum = pass(from, &mut file, (to, more))?;
    file.sync_all().map_err(|cause| writing(to, &cause))?;
    Ok(sum)
}

/// Writes a file that is not there yet, and syncs it; `more` says before each piece whether to go on.
///
/// # Errors
///
/// [`crate::kv::Error::Io`], [`crate::kv::Error::DiskFull`]; that of `more`.
pub(super) fn write(to: &Path, bytes: &[u8], more: &dyn Fn(u64) -> Result<()>) -> Result<Sum> {
    let failed = |cause: io::Error| writing(to, &cause);
    let mut file = create(to).map_err(failed)?;
    for piece in bytes.chunks(CHUNK_BYTES) {
        more(u64::try_from(piece.len()).unwrap_or(u64::MAX))?;
        file.write_all(piece).map_err(failed)?;
    }
    file.sync_all().map_err(failed)?;
    Ok(Sum::of(bytes))
}

/// A file that is not there yet, and nobody else's to read: rows, and hashes of passwords.
///
/// # Errors
/// Those of the system.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(FILE_MODE);
    options.open(path)
}

/// Makes the names in a directory survive a power cut.
///
/// # Errors
///
/// [`crate::kv::Error::Io`].
pub(super) fn sync_dir(dir: &Path) -> Result<()> {
    let synced = File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|cause| writing(dir, &cause))
}

/// Makes a directory with those above it.
///
/// # Errors
///
/// [`crate::kv::Error::Io`].
pub(super) fn make_dirs(dir: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(DIR_MODE).create(dir);
    made.map_err(|cause| writing(dir, &cause))
}

/// Makes a directory in one that is there.
///
/// # Errors
///
/// Those of the system.
pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIR_MODE).create(dir)
}

fn pass(
    from: &Path,
    out: &mut dyn Write,
    (to, more): (&Path, &dyn Fn(u64) -> Result<()>),
) -> Result<Sum> {
    let mut file = File::open(from).map_err(|cause| reading(from, &cause))?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut hasher = Xxh3::new();
    let mut bytes = 0;
    loop {
        let count = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => return Err(reading(from, &cause)),
        };
        let read = chunk.get(..count).unwrap_or_default();
        hasher.update(read);
        out.write_all(read).map_err(|cause| writing(to, &cause))?;
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        bytes += count;
        more(count)?;
    }
    let checksum = hasher.digest128();
    Ok(Sum { bytes, checksum })
}
