//! The data directory: whose it is, which format it has, and that one server at a time uses it.
//!
//! ```text
//! MESETA   two lines of text: what this is and which format it has; written last of all
//! LOCK     held by the running server; its bytes are not used
//! lsm/     the files of the engine
//! RESERVE  room that is given up when there is no other (`room`)
//! RESTORING  in the place of MESETA while a backup is restored; what is left of it beside MESETA goes
//! ```
//!
//! Only [`claim`], [`DirectoryLock::seal`], `room` and a restored backup write here; the files inside `lsm/` are the
//! engine's own.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::journal;
use super::room::RESERVE_FILE;
use crate::kv::{Error, Result};

/// First line of a version file of any format.
const VERSION_HEAD: &str = "Meseta data directory";

/// Its second line: the format that this server writes.
pub(super) const FORMAT: &str = "format 3";

/// The formats before, which know no compressed values (`compression`), and the first no counts of keys
/// (`spaces`) either: read, and marked as new, since a server of their time would not understand what is
/// written now, or write without counting.
const FORMATS_BEFORE: [&str; 2] = ["format 1", "format 2"];

/// A directory that is made is its owner's alone, whatever the mask; one that is there stays as it is.
pub(super) const DIR_MODE: u32 = 0o700;

/// And so is its version file, and what backups write.
pub(super) const FILE_MODE: u32 = 0o600;

/// What everybody else may do. The files with rows are made under the mask of the program, and one that is
/// older may have made them under another.
const OTHERS: u32 = 0o007;

/// What is wrong with a version file that is damaged.
pub(super) const VERSION_TELLS_NOTHING: &str = "it does not tell the format of a data directory";

pub(super) const VERSION_FILE: &str = "MESETA";
pub(super) const VERSION_FILE_NEW: &str = "MESETA.new";
const LOCK_FILE: &str = "LOCK";

/// Of a directory that is being made from a backup.
pub(super) const RESTORING_FILE: &str = "RESTORING";
const ENGINE_DIR: &str = "lsm";

/// How files end that the server makes beside it once it has started: keys and certificates, what these are written as,
/// and logs of slow queries.
const LATER_ENDS: [&str; 3] = [".pem", ".new", ".log"];

/// Within it; the storage library leaves it to the system when its entries are durable.
const TREES_DIR: &str = "keyspaces";

/// Within that: the rows.
const DATA_TREE: &str = "1";
pub(super) const TABLES_DIR: &str = "tables";

/// Holds the data directory for this process until it is dropped.
pub(super) struct DirectoryLock {
    dir: PathBuf,
    was_sealed: bool,
    is_sealed: bool,
    _file: File,
}

/// Takes a directory for this server, making it when there is none.
///
/// # Errors
///
/// [`Error::InUse`], [`Error::ForeignDirectory`], [`Error::HalfRestored`], [`Error::OtherFormat`],
/// [`Error::Unwritable`]; [`Error::Corrupt`] when the version file is damaged, or missing beside rows.
pub(super) fn claim(dir: &Path) -> Result<DirectoryLock> {
    let unwritable = |cause: io::Error| unwritable(dir, &cause);
    if dir.is_file() {
        return Err(unwritable(io::Error::other("it is a file")));
    }
    make(dir).map_err(unwritable)?;
    if check_version(dir)?.is_none() {
        check_not_foreign(dir)?;
    }
    let file = lock(dir)?;
    // Again: until now another server may have been at it.
    let version = check_version(dir)?;
    let is_sealed = version.is_some();
    if is_sealed {
        // A restore was cut off behind its last file but one.
        if_there(fs::remove_file(dir.join(RESTORING_FILE))).map_err(unwritable)?;
    } else {
        check_not_foreign(dir)?;
        remove_unfinished(dir)?;
    }
    if let Err(cause) = if_there(shut_others_out(&dir.join(ENGINE_DIR))) {
        // It may belong to another user, or lie where modes cannot be changed.
        tracing::warn!(%cause, dir = %dir.display(), "others than this user may read the rows");
    }
    Ok(DirectoryLock {
        dir: dir.to_path_buf(),
        was_sealed: is_sealed,
        is_sealed: version == Some(Version::Present),
        _file: file,
    })
}

/// Makes a directory, with those above it, unless it is there. A power cut takes none of them away, nor what is in it
/// with them.
fn make(dir: &Path) -> io::Result<()> {
    let missing = missing(dir);
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(DIR_MODE).create(dir)?;
    missing.into_iter().rev().try_for_each(sync_above)
}

/// Which of a directory and those above it are not there, the innermost first.
pub(super) fn missing(dir: &Path) -> Vec<&Path> {
    let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.exists();
    dir.ancestors().take_while(is_missing).collect()
}

/// Takes from everybody but owner and group what they may do with a directory: what is in it cannot be reached then,
/// whatever its own modes are.
fn shut_others_out(dir: &Path) -> io::Result<()> {
    let mut mode = fs::metadata(dir)?.permissions();
    if mode.mode() & OTHERS != 0 {
        mode.set_mode(mode.mode() & !OTHERS);
        fs::set_permissions(dir, mode)?;
    }
    Ok(())
}

/// What there is none of is no failure.
///
/// # Errors
/// The others.
pub(super) fn if_there<T: Default>(done: io::Result<T>) -> io::Result<T> {
    match done {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        other => other,
    }
}

/// Removes what a first start leaves that was cut off: nothing was ever acknowledged from it. Where
/// something was written, the version file was there once.
fn remove_unfinished(dir: &Path) -> Result<()> {
    let engine_dir = dir.join(ENGINE_DIR);
    if !engine_dir.exists() {
        return Ok(());
    }
    let has_rows = has_tables(&engine_dir) || journal::has_batches(&engine_dir)?;
    if has_rows {
        let (version, engine_dir) = (dir.join(VERSION_FILE), engine_dir.display());
        return Err(Error::Corrupt {
            what: format!(
                "{} is missing, and {engine_dir} holds rows",
                version.display()
            ),
        });
    }
    fs::remove_dir_all(&engine_dir).map_err(|cause| unwritable(dir, &cause))
}

/// Whether there are files of rows.
fn has_tables(engine_dir: &Path) -> bool {
    let tables = engine_dir.join(TREES_DIR).join(DATA_TREE).join(TABLES_DIR);
    fs::read_dir(tables).is_ok_and(|mut tables| tables.next().is_some())
}

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Before,
    Present,
}

impl DirectoryLock {
    /// Where the engine keeps its files.
    pub(super) fn engine_dir(&self) -> PathBuf {
        self.dir.join(ENGINE_DIR)
    }

    /// Whether the directory was complete when it was taken.
    pub(super) fn was_sealed(&self) -> bool {
        self.was_sealed
    }

    /// Marks the directory as complete, once the engine has opened it.
    ///
    /// # Errors
    ///
    /// [`Error::Unwritable`].
    pub(super) fn seal(&mut self) -> Result<()> {
        if self.is_sealed {
            return Ok(());
        }
        let complete = sync_dir(&self.engine_dir().join(TREES_DIR));
        let written = complete.and_then(|()| write_version(&self.dir, FORMAT));
        written.map_err(|cause| unwritable(&self.dir, &cause))?;
        self.is_sealed = true;
        Ok(())
    }
}

/// Whether this is a data directory, of any format.
pub fn is_data(dir: &Path) -> bool {
    dir.join(VERSION_FILE).is_file()
}

/// Whether a server keeps its data here, or is to.
pub(super) fn is_claimed(dir: &Path) -> bool {
    [VERSION_FILE, LOCK_FILE, RESTORING_FILE]
        .iter()
        .any(|name| dir.join(name).is_file())
}

/// Whether a restore into this directory was cut off, or is under way.
pub fn is_half_restored(dir: &Path) -> bool {
    !is_data(dir) && dir.join(RESTORING_FILE).exists()
}

/// A data directory that is kept from servers.
#[derive(Debug)]
pub(super) struct Held {
    /// Whether its version file is none.
    pub(super) is_damaged: bool,
    /// None on a disk that cannot be written, where there is no such file: no server can run there.
    _file: Option<File>,
}

/// Keeps servers out of a data directory for as long as the answer is held, also of one whose version file is damaged.
///
/// # Errors
///
/// [`Error::NoBackup`] when it is no data directory; [`Error::HalfRestored`], [`Error::InUse`],
/// [`Error::OtherFormat`], [`Error::Unwritable`].
pub(super) fn hold(dir: &Path) -> Result<Held> {
    let is_damaged = match check_version(dir) {
        Ok(Some(Version::Before | Version::Present)) => false,
        Ok(None) => {
            check_restored(dir)?;
            return Err(Error::NoBackup {
                dir: dir.to_path_buf(),
                why: "nor is it a data directory: it has neither a file BACKUP nor a file MESETA"
                    .to_owned(),
            });
        }
        Err(Error::Corrupt { .. }) => true,
        Err(cause) => return Err(cause),
    };
    let file = match open_lock(dir) {
        Err(cause) if cause.kind() == io::ErrorKind::ReadOnlyFilesystem => open_to_read(dir),
        other => other.map(Some),
    };
    let file = file.map_err(|cause| unwritable(dir, &cause))?;
    Ok(Held {
        is_damaged,
        _file: file.map(|file| held(file, dir)).transpose()?,
    })
}

/// Marks a directory as one of this format.
///
/// # Errors
///
/// Those of the system.
pub(super) fn write_version(dir: &Path, format: &str) -> io::Result<()> {
    let new = dir.join(VERSION_FILE_NEW);
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true);
    let mut file = options.mode(FILE_MODE).open(&new)?;
    file.write_all(format!("{VERSION_HEAD}\n{format}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, dir.join(VERSION_FILE))?;
    sync_dir(dir)?;
    // The directory itself may be new.
    sync_above(dir)
}

/// Makes the name of a directory survive a power cut. Where the one above it cannot be read, this is passed over: as a
/// rule the directory is not new then.
///
/// # Errors
///
/// Those of the system.
pub(super) fn sync_above(dir: &Path) -> io::Result<()> {
    if let Some(above) = dir.canonicalize()?.parent()
        && let Err(cause) = sync_dir(above)
        && cause.kind() != io::ErrorKind::PermissionDenied
    {
        return Err(cause);
    }
    Ok(())
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Which version file there is.
fn check_version(dir: &Path) -> Result<Option<Version>> {
    let path = dir.join(VERSION_FILE);
    let text = match fs::read(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::io(format!("reading {}", path.display()), &cause)),
    };
    let damaged = || Error::Corrupt {
        what: format!("file {}: {VERSION_TELLS_NOTHING}", path.display()),
    };
    let mut lines = text.lines();
    let is_headed = lines.next() == Some(VERSION_HEAD);
    let format = lines.next().filter(|format| is_headed && is_format(format));
    let format = format.ok_or_else(damaged)?;
    let version = check_format(dir, format)?;
    // Of a format that is known, this is all that there may be.
    let is_all = text == format!("{VERSION_HEAD}\n{format}\n");
    is_all.then_some(Some(version)).ok_or_else(damaged)
}

/// Whether a line tells a format, of whichever server.
fn is_format(line: &str) -> bool {
    let number = line.strip_prefix("format ");
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// # Errors
///
/// [`Error::HalfRestored`].
pub(super) fn check_restored(dir: &Path) -> Result<()> {
    if is_half_restored(dir) {
        return Err(Error::HalfRestored {
            dir: dir.to_path_buf(),
        });
    }
    Ok(())
}

/// Which of the formats that can be read this is.
///
/// # Errors
///
/// [`Error::OtherFormat`].
pub(super) fn check_format(dir: &Path, format: &str) -> Result<Version> {
    let number_of = |format: &str| format.replace("format ", "");
    match format {
        FORMAT => Ok(Version::Present),
        _ if FORMATS_BEFORE.contains(&format) => Ok(Version::Before),
        _ => Err(Error::OtherFormat {
            dir: dir.to_path_buf(),
            found: number_of(format),
            expected: number_of(FORMAT),
        }),
    }
}

/// What is in a directory; nothing where it is missing.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn children(dir: &Path) -> Result<Vec<PathBuf>> {
    let failed = |cause: io::Error| Error::io(format!("reading {}", dir.display()), &cause);
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(failed(cause)),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<io::Result<_>>().map_err(failed)
}

/// Whether a directory without a version file may be this server's: it is empty, or has what a first start leaves that
/// was cut off, or what any start does.
fn check_not_foreign(dir: &Path) -> Result<()> {
    check_restored(dir)?;
    let cannot_read = |cause: io::Error| Error::io(format!("reading {}", dir.display()), &cause);
    let (mut has_lock, mut has_engine) = (false, false);
    let (mut begun, mut later, mut stranger) = (None, None, None);
    for entry in fs::read_dir(dir).map_err(cannot_read)? {
        let name = entry.map_err(cannot_read)?.file_name();
        let name = name.to_string_lossy().into_owned();
        has_engine |= name == ENGINE_DIR;
        match name.as_str() {
            LOCK_FILE => has_lock = true,
            "lost+found" => {}
            ENGINE_DIR | VERSION_FILE_NEW => begun = Some(name),
            RESERVE_FILE => later = Some(name),
            _ if LATER_ENDS.iter().any(|end| name.ends_with(end)) => later = Some(name),
            _ => stranger = Some(name),
        }
    }
    // Others have such files, too.
    let stranger = stranger.or(later.filter(|_| !has_engine || !has_lock));
    match stranger.or(begun.filter(|_| !has_lock)) {
        Some(name) => Err(foreign(dir, &name)),
        None => Ok(()),
    }
}

fn foreign(dir: &Path, found: &str) -> Error {
    Error::ForeignDirectory {
        dir: dir.to_path_buf(),
        found: found.to_owned(),
    }
}

/// How often a locked directory is tried. Once would do, but for a moment a process that another
/// one starts holds all that its parent has open.
const LOCK_TRIES: u32 = 10;

/// Time between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

fn lock(dir: &Path) -> Result<File> {
    let file = open_lock(dir).map_err(|cause| unwritable(dir, &cause))?;
    held(file, dir)
}

fn open_lock(dir: &Path) -> io::Result<File> {
    let mut open = OpenOptions::new();
    open.create(true).truncate(false).read(true).write(true);
    open.open(dir.join(LOCK_FILE))
}

/// The file that is locked, if there is one: a server may have the same directory where it can be written.
fn open_to_read(dir: &Path) -> io::Result<Option<File>> {
    if_there(File::open(dir.join(LOCK_FILE)).map(Some))
}

fn held(file: File, dir: &Path) -> Result<File> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(cause)) => return Err(unwritable(dir, &cause)),
        }
    }
    Err(Error::InUse {
        dir: dir.to_path_buf(),
    })
}

fn unwritable(dir: &Path, cause: &io::Error) -> Error {
    Error::Unwritable {
        dir: dir.to_path_buf(),
        cause: cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_above_are_made_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let above = dir.path().join("a");
        let inner = above.join("b");
        assert_eq!(missing(&inner), [inner.as_path(), above.as_path()]);
        make(&inner).unwrap();
        assert!(missing(&inner).is_empty());
        for made in [&above, &inner] {
            let mode = fs::metadata(made).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, DIR_MODE, "{}", made.display());
        }
        // One that is there, and one that is above all.
        make(&inner).unwrap();
        sync_above(Path::new("/")).unwrap();
        // The one above a single word is that of the process.
        assert_eq!(missing(Path::new("nosuch")), [Path::new("nosuch")]);
        sync_above(Path::new("src")).unwrap();
    }
}
