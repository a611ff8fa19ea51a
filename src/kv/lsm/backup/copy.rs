//! Bytes from file to file, and their checksums: XXH3, 128 bits, as the storage library's own.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::{reading, writing};
use crate::kv::Result;

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 256 << 10;

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
    let mut file = File::create_new(to).map_err(|cause| writing(to, &cause))?;
    let sum = pass(from, &mut file, (to, more))?;
    file.sync_all().map_err(|cause| writing(to, &cause))?;
    Ok(sum)
}

/// Writes a file that is not there yet, and syncs it.
///
/// # Errors
///
/// [`crate::kv::Error::Io`], [`crate::kv::Error::DiskFull`].
pub(super) fn write(to: &Path, bytes: &[u8]) -> Result<Sum> {
    let written = File::create_new(to).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|cause| writing(to, &cause))?;
    Ok(Sum::of(bytes))
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
    fs::create_dir_all(dir).map_err(|cause| writing(dir, &cause))
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
