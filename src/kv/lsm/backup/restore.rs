//! A data directory from a backup: a copy of its files, each verified while it is copied.
//!
//! The directory gets its version file last. Until then it has the file `RESTORING`, so that no server
//! takes a half of it for an empty one.

use std::fs;
use std::path::Path;

use super::{Backup, Progress, copy, damaged, empty_dir, writing};
use crate::kv::lsm::directory::{self, RESTORING_FILE};
use crate::kv::{Error, Result};

/// What the mark has in it, for people.
const RESTORING_TEXT: &[u8] =
    b"Being restored from a backup. If nobody is at it: remove the directory.\n";

/// Makes the data directory `to`, which must be empty or missing, from the backup in `from`.
///
/// # Errors
///
/// [`Error::NoBackup`], [`Error::NotEmpty`]; [`Error::Corrupt`] with the file that is damaged;
/// [`Error::Io`], [`Error::DiskFull`].
pub fn restore(from: &Path, to: &Path, progress: Progress<'_>) -> Result<Backup> {
    let backup = Backup::read(from)?;
    empty_dir(to)?;
    let mark = to.join(RESTORING_FILE);
    copy::write(&mark, RESTORING_TEXT, &|_| Ok(()))?;
    copy::sync_dir(to)?;
    let (_, all) = backup.size();
    let done = std::cell::Cell::new(0);
    let more = |bytes: u64| {
        done.set(done.get() + bytes);
        if progress(done.get(), all) {
            return Ok(());
        }
        Err(Error::Io {
            doing: format!("writing {}", to.display()),
            cause: "it was given up".to_owned(),
        })
    };
    let mut dirs = std::collections::BTreeSet::new();
    for entry in &backup.entries {
        let (source, target) = (from.join(&entry.name), to.join(&entry.name));
        if let Some(dir) = target.parent() {
            copy::make_dirs(dir)?;
            dirs.extend(
                dir.ancestors()
                    .take_while(|dir| *dir != to)
                    .map(Path::to_path_buf),
            );
        }
        if copy::copy(&source, &target, &more)? != entry.sum {
            return Err(damaged(&source, "its checksum is not the one in BACKUP"));
        }
    }
    for dir in &dirs {
        copy::sync_dir(dir)?;
    }
    directory::write_version(to, &backup.format).map_err(|cause| writing(to, &cause))?;
    fs::remove_file(&mark).map_err(|cause| writing(&mark, &cause))?;
    copy::sync_dir(to)?;
    Ok(backup)
}
