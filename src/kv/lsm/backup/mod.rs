//! Copies of a data directory: made while commits go on, read, verified, put back.
//!
//! ```text
//! BACKUP        what this is, and each file with its size and checksum; written last of all
//! BACKUP.part   instead of it, while the copy is being made
//! lsm/          the files of the engine, as a crash at one commit would leave them
//! ```
//!
//! The engine's files are of two kinds. Tables (`keyspaces/1/tables/*`, nearly all of the bytes) are
//! written once and never again, so that a copy of one is a hard link. The journals grow, and the list
//! of the tables is replaced: those are copied, as they stand between two commits.
//!
//! - `cut`: what belongs to one state, taken by the committer between two batches;
//! - `write`: the copy of it;
//! - `tree`: the storage library's own list of a tree's tables;
//! - `copy`: bytes from file to file, and their checksums;
//! - [`verify`]: every byte of a copy or a data directory against its checksum;
//! - [`Still`]: the rows of either, without changing anything there;
//! - [`restore`]: a data directory from a copy.

mod copy;
mod cut;
mod restore;
mod still;
#[cfg(test)]
mod tests;
mod tree;
mod verify;
mod write;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Component, Path};

use xxhash_rust::xxh3::xxh3_128;

pub(super) use copy::Sum;
pub(super) use cut::{Cut, take};
pub use restore::restore;
pub use still::{Extent, Still};
pub(in crate::kv::lsm) use tree::Tree;
pub use verify::{Damage, Verified, verify};
pub(super) use write::make;

use super::directory::{self, TABLES_DIR};
use crate::kv::{Error, Result, Ts};

/// The file that makes a directory a backup.
const BACKUP_FILE: &str = "BACKUP";

/// Its name while the backup is being made.
const PART_FILE: &str = "BACKUP.part";

/// The first lines of it.
const HEAD: &str = "Meseta backup\nformat 1\n";

/// The directory of the engine's files, as in a data directory.
pub(super) const ENGINE_DIR: &str = "lsm";

/// The storage library's trees, below [`ENGINE_DIR`]: its own is `0`.
const TREES_DIR: &str = "keyspaces";
const LIBRARY_TREE: &str = "0";

/// Told how many bytes of how many are done; says whether to go on.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) -> bool + 'a);

/// What the file `BACKUP` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The commits that are in it: those not after this one.
    pub commit: Ts,
    /// When it was begun, by the clock of the server.
    pub taken: String,
    /// The format of the data, as a data directory says it.
    format: String,
    entries: Vec<Entry>,
}

/// One file of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its path below the backup's directory, parted by `/`.
    name: String,
    sum: Sum,
}

/// Whether this is a backup, or what is there of one: what is put there besides would be part of neither.
pub fn is_any(dir: &Path) -> bool {
    [BACKUP_FILE, PART_FILE]
        .iter()
        .any(|name| dir.join(name).is_file())
}

/// Whether a file of this name makes its directory a backup.
pub fn marks_backup(path: &Path) -> bool {
    let name = path.file_name();
    name.is_some_and(|name| name == BACKUP_FILE || name == PART_FILE)
}

/// The id of the data tree's table that is in the file of this name.
fn table_id(name: &str) -> Option<u64> {
    let mut parts = name.rsplit('/');
    let id = parts.next()?.parse().ok()?;
    let is_one = parts.next()? == TABLES_DIR && parts.next()? != LIBRARY_TREE;
    is_one.then_some(id)
}

impl Backup {
    /// Reads what a backup says of itself.
    ///
    /// # Errors
    ///
    /// [`Error::NoBackup`] when the directory is none, [`Error::HalfBackup`] when it was not finished;
    /// [`Error::OtherFormat`], [`Error::Corrupt`], [`Error::Io`].
    pub fn read(dir: &Path) -> Result<Backup> {
        let path = dir.join(BACKUP_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(cause) if is_missing(&cause) => return Err(no_backup(dir)),
            Err(cause) if cause.kind() == io::ErrorKind::InvalidData => {
                return Err(damaged(&path, "it is not a text"));
            }
            Err(cause) => return Err(reading(&path, &cause)),
        };
        let backup = Backup::parse(&text);
        let backup = backup.ok_or_else(|| damaged(&path, "it is not what was written there"))?;
        directory::check_format(dir, &backup.format)?;
        Ok(backup)
    }

    /// Files, and bytes of them.
    pub fn size(&self) -> (u64, u64) {
        let files = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
        (
            files,
            self.entries.iter().map(|entry| entry.sum.bytes).sum(),
        )
    }

    /// Reads what is not protected by checksums of its own wherever it is read: all but the tables.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] with the file that is not what was written, [`Error::Io`].
    pub fn check_lists(&self, dir: &Path) -> Result<()> {
        let entries = self.entries.iter();
        for entry in entries.filter(|entry| table_id(&entry.name).is_none()) {
            let path = dir.join(&entry.name);
            if copy::sum_of(&path, &|_| Ok(()))? != entry.sum {
                return Err(damaged(&path, "its checksum is not the one in BACKUP"));
            }
        }
        Ok(())
    }

    fn encode(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let mut text = format!(
            "{HEAD}server {version}\ndata {}\ntaken {}\ncommit {}\n",
            self.format, self.taken, self.commit.0
        );
        for Entry { name, sum } in &self.entries {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "file {:032x} {} {name}", sum.checksum, sum.bytes);
        }
        let checksum = xxh3_128(text.as_bytes());
        let _ = writeln!(text, "end {checksum:032x}");
        text
    }

    fn parse(text: &str) -> Option<Backup> {
        let (body, last) = text.trim_end_matches('\n').rsplit_once('\n')?;
        let body = text.get(..=body.len())?;
        let checksum = u128::from_str_radix(last.strip_prefix("end ")?, 16).ok()?;
        if checksum != xxh3_128(body.as_bytes()) {
            return None;
        }
        let mut lines = body.strip_prefix(HEAD)?.lines();
        lines.next()?.strip_prefix("server ")?;
        let format = lines.next()?.strip_prefix("data ")?.to_owned();
        let taken = lines.next()?.strip_prefix("taken ")?.to_owned();
        let commit = lines.next()?.strip_prefix("commit ")?.parse().ok()?;
        Some(Backup {
            commit: Ts(commit),
            taken,
            format,
            entries: lines.map(parse_entry).collect::<Option<_>>()?,
        })
    }
}

fn parse_entry(line: &str) -> Option<Entry> {
    let mut parts = line.strip_prefix("file ")?.splitn(3, ' ');
    let checksum = u128::from_str_radix(parts.next()?, 16).ok()?;
    let bytes = parts.next()?.parse().ok()?;
    let name = parts.next()?.to_owned();
    // Whoever joins it to a directory stays within.
    let mut steps = Path::new(&name).components();
    if name.is_empty() || !steps.all(|step| matches!(step, Component::Normal(_))) {
        return None;
    }
    let sum = Sum { bytes, checksum };
    Some(Entry { name, sum })
}

/// Whether a backup in this directory was cut off, or is being made.
fn is_half(dir: &Path) -> bool {
    dir.join(PART_FILE).exists() && !dir.join(BACKUP_FILE).exists()
}

/// Why what has no file BACKUP is no backup.
fn no_backup(dir: &Path) -> Error {
    if is_half(dir) {
        return Error::HalfBackup {
            dir: dir.to_path_buf(),
        };
    }
    let why = match fs::metadata(dir) {
        Ok(found) if found.is_dir() => "it has no file BACKUP",
        Ok(_) => "it is a file",
        Err(cause) if is_missing(&cause) => "it does not exist",
        Err(cause) => return reading(dir, &cause),
    };
    Error::NoBackup {
        dir: dir.to_path_buf(),
        why: why.to_owned(),
    }
}

/// Whether there is nothing of that name; a file in the place of a directory leads to nothing either.
fn is_missing(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::Corrupt {
        what: format!("file {}: {what}", path.display()),
    }
}

fn reading(path: &Path, cause: &io::Error) -> Error {
    Error::io(format!("reading {}", path.display()), cause)
}

/// Why something was not made: `doing` says it, unless whoever runs the server may not write there.
fn new_file(path: &Path, cause: &io::Error, doing: fn(&Path, &io::Error) -> Error) -> Error {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};

    if matches!(cause.kind(), PermissionDenied | ReadOnlyFilesystem) {
        return Error::Forbidden {
            path: path.to_path_buf(),
            cause: cause.to_string(),
        };
    }
    doing(path, cause)
}

fn writing(path: &Path, cause: &io::Error) -> Error {
    Error::io(format!("writing {}", path.display()), cause)
}

fn making(dir: &Path, cause: &io::Error) -> Error {
    Error::io(format!("making directory {}", dir.display()), cause)
}

/// Makes a directory, or takes one that is empty. Whether it was made.
///
/// # Errors
///
/// Those of [`check_empty`]; [`Error::Forbidden`], [`Error::Io`].
fn empty_dir(dir: &Path) -> Result<bool> {
    match copy::make_dir(dir) {
        Ok(()) => return Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
        Err(cause) => return Err(new_file(dir, &cause, making)),
    }
    check_empty(dir)?;
    Ok(false)
}

/// # Errors
///
/// [`Error::NotEmpty`], [`Error::HalfBackup`], [`Error::HalfRestored`] for what is in the directory;
/// [`Error::IsFile`], [`Error::Io`].
fn check_empty(dir: &Path) -> Result<()> {
    if !dir.is_dir() {
        return Err(Error::IsFile {
            path: dir.to_path_buf(),
        });
    }
    if is_half(dir) {
        return Err(no_backup(dir));
    }
    directory::check_restored(dir)?;
    let entries = fs::read_dir(dir).map_err(|cause| reading(dir, &cause))?;
    for entry in entries {
        let name = entry.map_err(|cause| reading(dir, &cause))?.file_name();
        // What every ext4 has at its top.
        if name != "lost+found" {
            return Err(Error::NotEmpty {
                dir: dir.to_path_buf(),
                found: name.to_string_lossy().into_owned(),
            });
        }
    }
    Ok(())
}
