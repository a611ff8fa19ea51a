//! A data directory from a backup: a copy of its files, each verified while it is copied.
//!
//! The directory gets its version file last. Until then it has the file `RESTORING`, so that no server
//! takes a half of it for an empty one. A restore that fails or is given up takes away what it made.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Backup, Progress, check_empty, copy, damaged, making, writing};
use crate::kv::lsm::directory::{self, RESTORING_FILE, VERSION_FILE_NEW};
use crate::kv::{Error, Result};

/// What the mark has in it, for people.
const RESTORING_TEXT: &[u8] =
    b"Being restored from a backup. If nobody is at it: remove the directory.\n";

/// Makes the data directory `to`, which must be empty or missing, from the backup in `from`; also the
/// directories above it, as a server does.
///
/// # Errors
///
/// [`Error::NoBackup`], [`Error::HalfBackup`]; [`Error::NotEmpty`], [`Error::HalfRestored`],
/// [`Error::IsFile`]; [`Error::Corrupt`] with the file that is damaged; [`Error::Io`], [`Error::DiskFull`].
pub fn restore(from: &Path, to: &Path, progress: Progress<'_>) -> Result<Backup> {
    let backup = Backup::read(from)?;
    let mut made = Made::default();
    match put(&backup, (from, to), (&mut made, progress)) {
        Ok(()) => Ok(backup),
        Err(cause) => {
            made.discard();
            Err(cause)
        }
    }
}

fn put(
    backup: &Backup,
    (from, to): (&Path, &Path),
    (made, progress): (&mut Made, Progress<'_>),
) -> Result<()> {
    made.dirs(to)?;
    check_empty(to)?;
    let mark = to.join(RESTORING_FILE);
    made.mark(&mark, to)?;
    copy::sync_dir(to)?;
    let (_, all) = backup.size();
    let done = std::cell::Cell::new(0);
    let more = |bytes: u64| {
        done.set(done.get() + bytes);
        if progress(done.get(), all) {
            return Ok(());
        }
        Err(Error::Closed)
    };
    let mut dirs = BTreeSet::new();
    for entry in &backup.entries {
        let (source, target) = (from.join(&entry.name), to.join(&entry.name));
        if let Some(dir) = target.parent() {
            made.dirs(dir)?;
            dirs.extend(
                dir.ancestors()
                    .take_while(|dir| *dir != to)
                    .map(Path::to_path_buf),
            );
        }
        made.file(&target)?;
        if copy::copy(&source, &target, &more)? != entry.sum {
            return Err(damaged(&source, "its checksum is not the one in BACKUP"));
        }
    }
    for dir in &dirs {
        copy::sync_dir(dir)?;
    }
    made.paths.push(to.join(VERSION_FILE_NEW));
    let written = directory::write_version(to, &backup.format);
    if directory::is_data(to) {
        // From here on a server may have it, also when a sync failed afterwards.
        made.keep();
    }
    written.map_err(|cause| writing(to, &cause))?;
    fs::remove_file(&mark).map_err(|cause| writing(&mark, &cause))?;
    copy::sync_dir(to)
}

/// The files and directories that a restore has made, in that order.
#[derive(Default)]
struct Made {
    paths: Vec<PathBuf>,
}

impl Made {
    /// Makes a directory, with those above it, unless it is there. A power cut takes none of them away.
    fn dirs(&mut self, dir: &Path) -> Result<()> {
        for dir in directory::missing(dir).into_iter().rev() {
            match copy::make_dir(dir) {
                Ok(()) => {
                    self.paths.push(dir.to_path_buf());
                    directory::sync_above(dir).map_err(|cause| writing(dir, &cause))?;
                }
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(making(dir, &cause)),
            }
        }
        Ok(())
    }

    /// A file that is about to be made.
    fn file(&mut self, path: &Path) -> Result<()> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(writing(path, &io::ErrorKind::AlreadyExists.into()));
        }
        self.paths.push(path.to_path_buf());
        Ok(())
    }

    /// Writes the file that keeps servers out.
    fn mark(&mut self, mark: &Path, to: &Path) -> Result<()> {
        let mut file = match copy::create(mark) {
            Ok(file) => file,
            // Of two that found it empty one has it.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::HalfRestored {
                    dir: to.to_path_buf(),
                });
            }
            Err(cause) => return Err(writing(mark, &cause)),
        };
        self.paths.push(mark.to_path_buf());
        let written = file.write_all(RESTORING_TEXT);
        let written = written.and_then(|()| file.sync_all());
        written.map_err(|cause| writing(mark, &cause))
    }

    /// It is to stay.
    fn keep(&mut self) {
        self.paths.clear();
    }

    /// Takes it away, the last first, so that the mark stays until the rest is gone. What cannot be removed, as a
    /// directory that somebody has put something into, stays; with the mark in it, it says what it is.
    fn discard(self) {
        for path in self.paths.into_iter().rev() {
            let is_dir = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            let _ = if is_dir {
                fs::remove_dir(&path)
            } else {
                fs::remove_file(&path)
            };
        }
    }
}
