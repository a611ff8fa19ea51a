//! Every byte of a backup, or of the data directory of a stopped server, against its checksum.
//!
//! A backup has a checksum for each file. In a data directory the storage library's lists have those of
//! the tables, and the journals those of their batches. What is in no list is of no use to anybody, and
//! is left out.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::tree::Tree;
use super::{
    BACKUP_FILE, Backup, ENGINE_DIR, Entry, Progress, Sum, TABLES_DIR, copy, is_half, no_backup,
    reading, table_id,
};
use crate::kv::lsm::directory::{self, Held, VERSION_FILE, VERSION_TELLS_NOTHING};
use crate::kv::lsm::{compression, foreign, journal, manifest};
use crate::kv::{Error, Result};

/// What the storage library's file `version` says.
const LIBRARY_VERSION: &[u8] = b"FJL\x03";

/// What was found.
#[derive(Debug, Default)]
pub struct Verified {
    /// Files that were read.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Those that are not what was written.
    pub damaged: Vec<Damage>,
    /// What is worth a word and no damage.
    pub notes: Vec<String>,
    /// Keeps servers out of a data directory.
    _held: Option<Held>,
}

/// A file that is not what was written.
#[derive(Debug)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
    /// Which table of the data tree it is, for [`super::Still::extent`].
    pub table: Option<u64>,
}

/// A file to be read.
struct Wanted {
    path: PathBuf,
    checksum: u128,
    /// Where it is known.
    bytes: Option<u64>,
}

/// Reads all files of a backup or a data directory. While the answer is kept, no server opens that
/// directory.
///
/// # Errors
///
/// [`Error::NoBackup`] when it is neither; [`Error::HalfBackup`], [`Error::HalfRestored`]; [`Error::InUse`],
/// [`Error::OtherFormat`]; [`Error::Io`] for directories that cannot be read; [`Error::Closed`] when it was
/// not to go on.
pub fn verify(dir: &Path, progress: Progress<'_>) -> Result<Verified> {
    if !dir.is_dir() || is_half(dir) {
        return Err(no_backup(dir));
    }
    let is_backup = dir.join(BACKUP_FILE).exists();
    let held = (!is_backup).then(|| directory::hold(dir)).transpose()?;
    let is_damaged = held.as_ref().is_some_and(|held| held.is_damaged);
    let mut found = Verified {
        _held: held,
        ..Verified::default()
    };
    if is_damaged {
        found.add(dir.join(VERSION_FILE), VERSION_TELLS_NOTHING);
    }
    let wanted = if is_backup {
        wanted_of_backup(dir, &mut found)?
    } else {
        wanted_of_data(dir, &mut found)?
    };
    note_foreign(dir, is_backup, &mut found)?;
    let size = |wanted: &Wanted| fs::metadata(&wanted.path).map_or(0, |found| found.len());
    let all = wanted.iter().map(size).sum();
    let done = Cell::new(0);
    for wanted in wanted {
        let more = |bytes: u64| {
            done.set(done.get() + bytes);
            progress(done.get(), all).then_some(()).ok_or(Error::Closed)
        };
        found.files += 1;
        match copy::sum_of(&wanted.path, &more) {
            Ok(sum) => {
                found.bytes += sum.bytes;
                if let Some(what) = difference(&wanted, sum) {
                    found.add(wanted.path, what);
                }
            }
            Err(Error::Closed) => return Err(Error::Closed),
            // Whoever may not read it does not know what is in it.
            Err(cause) if is_forbidden(&wanted.path) => return Err(cause),
            Err(cause) => found.add(wanted.path, cause.to_string()),
        }
    }
    Ok(found)
}

impl Verified {
    fn add(&mut self, path: PathBuf, what: impl Into<String>) {
        let table = table_id(&path.to_string_lossy());
        let what = what.into();
        self.damaged.push(Damage { path, what, table });
    }
}

/// Others' files are no damage, and not looked at.
fn note_foreign(dir: &Path, is_backup: bool, found: &mut Verified) -> Result<()> {
    let what = if is_backup {
        "it is no part of the backup, and `meseta restore` leaves it out"
    } else {
        "it is none of the server's, which does not start until it is moved away"
    };
    for path in foreign::among_own(&dir.join(ENGINE_DIR))? {
        found.notes.push(format!("{}: {what}", path.display()));
    }
    Ok(())
}

fn is_forbidden(path: &Path) -> bool {
    let opened = fs::File::open(path);
    opened.is_err_and(|cause| cause.kind() == io::ErrorKind::PermissionDenied)
}

fn difference(wanted: &Wanted, sum: Sum) -> Option<String> {
    match wanted.bytes {
        Some(bytes) if bytes != sum.bytes => {
            Some(format!("it has {} bytes, {bytes} were written", sum.bytes))
        }
        _ if wanted.checksum == sum.checksum => None,
        _ => Some(format!(
            "its checksum is {:032x}, written was {:032x}",
            sum.checksum, wanted.checksum
        )),
    }
}

fn wanted_of_backup(dir: &Path, found: &mut Verified) -> Result<Vec<Wanted>> {
    let backup = match Backup::read(dir) {
        Ok(backup) => backup,
        Err(Error::Corrupt { .. }) => {
            found.add(dir.join(BACKUP_FILE), "it is not what was written there");
            return Ok(Vec::new());
        }
        Err(cause) => return Err(cause),
    };
    let wanted = |entry: &Entry| Wanted {
        path: dir.join(&entry.name),
        checksum: entry.sum.checksum,
        bytes: Some(entry.sum.bytes),
    };
    Ok(backup.entries.iter().map(wanted).collect())
}

fn wanted_of_data(dir: &Path, found: &mut Verified) -> Result<Vec<Wanted>> {
    let engine_dir = dir.join(ENGINE_DIR);
    let version = engine_dir.join("version");
    found.files += 1;
    match fs::read(&version) {
        Ok(text) if text == LIBRARY_VERSION => {}
        Ok(_) => found.add(version, "it does not say FJL 3"),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            found.add(version, "it is missing");
        }
        Err(cause) => return Err(reading(&version, &cause)),
    }
    check_journals(&engine_dir, found)?;
    check_run(&engine_dir, found)?;
    for path in compression::files(&engine_dir)? {
        found.files += 1;
        if let Err(cause) = compression::check(&path) {
            found.add(path, cause.to_string());
        }
    }
    let mut wanted = Vec::new();
    for dir in manifest::trees(&engine_dir) {
        found.files += 2;
        match Tree::read(&dir) {
            Ok(tree) => wanted.extend(tree.tables.iter().map(|table| Wanted {
                path: dir.join(TABLES_DIR).join(table.id.to_string()),
                checksum: table.checksum,
                bytes: None,
            })),
            Err(broken) => found.add(broken.path, broken.what),
        }
    }
    Ok(wanted)
}

fn check_journals(engine_dir: &Path, found: &mut Verified) -> Result<()> {
    for path in journal::list(engine_dir)? {
        found.files += 1;
        found.bytes += fs::metadata(&path).map_or(0, |found| found.len());
    }
    let examined = journal::check_any(engine_dir).and_then(|()| journal::examine(engine_dir));
    match examined {
        Ok(None) => {}
        Ok(Some(torn)) => found.notes.push(format!(
            "{}: the last {} bytes, behind byte {}, are no whole commit; a crash leaves such an end, \
             and a server cuts it off",
            torn.cut.path.display(),
            torn.cut.bytes,
            torn.cut.at
        )),
        Err(Error::Corrupt { what }) => found.add(engine_dir.to_path_buf(), what),
        Err(cause) => return Err(cause),
    }
    Ok(())
}

/// A directory that no server has written to since it was restored has no such file.
fn check_run(engine_dir: &Path, found: &mut Verified) -> Result<()> {
    let path = journal::run_path(engine_dir);
    if !path.exists() {
        return Ok(());
    }
    found.files += 1;
    if journal::last_run(engine_dir).is_some() {
        return Ok(());
    }
    if is_forbidden(&path) {
        return Err(reading(&path, &io::ErrorKind::PermissionDenied.into()));
    }
    found.add(
        path,
        "it does not tell which run of a server wrote last; the next write makes it anew",
    );
    Ok(())
}
