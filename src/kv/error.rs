//! What can go wrong in a store of bytes, and who must act.
//!
//! [`Error`] is for reads and for the engine as a whole, [`CommitError`] for the outcomes of a
//! commit. Both turn into the client's [`crate::error::Error`] here, at the room's door.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::{Key, Space};
use crate::error::{self, Code};

/// What the caller should do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Try again from a new snapshot; it may well succeed.
    Retry,
    /// Trying again cannot help: tell the client, or the operator.
    GiveUp,
}

/// A failed call on an engine or a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The operating system refused a read, write or sync.
    Io {
        /// What the engine was doing.
        doing: String,
        /// What the system said.
        cause: String,
    },
    /// No room is left on the device. Nothing was acknowledged.
    DiskFull {
        /// What the engine was doing.
        doing: String,
    },
    /// Hardly any room is left on the device, so that only what makes room is written. Nothing was
    /// written, and writing goes on by itself when there is room again.
    NoRoom {
        /// The data directory.
        dir: PathBuf,
        /// What is left.
        free_bytes: u64,
        /// What must be left.
        least_bytes: u64,
    },
    /// Stored bytes are damaged.
    Corrupt {
        /// Where and how.
        what: String,
    },
    /// The space was never created, or was dropped before this snapshot.
    NoSuchSpace(Space),
    /// The id was given to a space before, and ids are used once.
    SpaceUsed(Space),
    /// The engine was closed.
    Closed,
    /// An earlier write or sync failed, so the engine takes no more writes until it is restarted.
    ReadOnly {
        /// The failure that made it so.
        cause: String,
    },
    /// The state this snapshot holds is no longer kept.
    SnapshotTooOld,
    /// Another process has the data directory open.
    InUse {
        /// The data directory.
        dir: PathBuf,
    },
    /// The directory holds something that is not a data directory of this server.
    ForeignDirectory {
        /// The directory.
        dir: PathBuf,
        /// A file that was found there.
        found: String,
    },
    /// Among the engine's files and directories there is one that is none of them.
    ForeignFile {
        /// Its path.
        path: PathBuf,
    },
    /// The directory was written by another version of the format.
    OtherFormat {
        /// The data directory.
        dir: PathBuf,
        /// The format it says it has.
        found: String,
        /// The format this server writes.
        expected: String,
    },
    /// The directory cannot be created or written.
    Unwritable {
        /// The data directory.
        dir: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// A place that whoever runs the server may not write.
    Forbidden {
        /// What was to be made.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// The directory must be empty, and is not.
    NotEmpty {
        /// The directory.
        dir: PathBuf,
        /// A file that was found there.
        found: String,
    },
    /// There is a file where a directory must be.
    IsFile {
        /// Its path.
        path: PathBuf,
    },
    /// The directory is no backup.
    NoBackup {
        /// The directory.
        dir: PathBuf,
        /// What is missing.
        why: String,
    },
    /// The directory has what is left of a backup that was cut off, or one is being made there.
    HalfBackup {
        /// The directory.
        dir: PathBuf,
    },
    /// The directory has what is left of a restore that was cut off, or one is under way there.
    HalfRestored {
        /// The directory.
        dir: PathBuf,
    },
    /// A wrapper for tests answered instead of the engine.
    Injected {
        /// Which call it was.
        call: u64,
    },
}

impl Error {
    /// An error of the operating system, met while `doing` something.
    pub fn io(doing: impl Into<String>, cause: &io::Error) -> Error {
        let doing = doing.into();
        if cause.kind() == io::ErrorKind::StorageFull {
            return Error::DiskFull { doing };
        }
        let cause = cause.to_string();
        Error::Io { doing, cause }
    }

    /// Whether trying again can help.
    pub fn advice(&self) -> Advice {
        match self {
            Error::SnapshotTooOld => Advice::Retry,
            Error::Io { .. }
            | Error::DiskFull { .. }
            | Error::NoRoom { .. }
            | Error::Corrupt { .. }
            | Error::NoSuchSpace(_)
            | Error::SpaceUsed(_)
            | Error::Closed
            | Error::ReadOnly { .. }
            | Error::InUse { .. }
            | Error::ForeignDirectory { .. }
            | Error::ForeignFile { .. }
            | Error::OtherFormat { .. }
            | Error::Unwritable { .. }
            | Error::Forbidden { .. }
            | Error::NotEmpty { .. }
            | Error::IsFile { .. }
            | Error::NoBackup { .. }
            | Error::HalfBackup { .. }
            | Error::HalfRestored { .. }
            | Error::Injected { .. } => Advice::GiveUp,
        }
    }

    fn code(&self) -> Code {
        match self {
            Error::Io { .. } | Error::Injected { .. } => Code::StorageFailure,
            Error::DiskFull { .. } | Error::NoRoom { .. } => Code::DiskFull,
            Error::Corrupt { .. } => Code::StorageCorrupt,
            Error::NoSuchSpace(_) => Code::TableMissing,
            Error::SpaceUsed(_) => Code::Unknown,
            Error::Closed => Code::ShuttingDown,
            Error::ReadOnly { .. } => Code::EngineReadOnly,
            Error::SnapshotTooOld => Code::Deadlock,
            Error::InUse { .. }
            | Error::ForeignDirectory { .. }
            | Error::ForeignFile { .. }
            | Error::OtherFormat { .. }
            | Error::Unwritable { .. }
            | Error::NoBackup { .. } => Code::CantCreateFile,
            Error::Forbidden { .. } => Code::FileNotCreated,
            Error::NotEmpty { .. }
            | Error::IsFile { .. }
            | Error::HalfBackup { .. }
            | Error::HalfRestored { .. } => Code::FileExists,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { doing, cause } => write!(f, "storage failed while {doing}: {cause}"),
            Error::DiskFull { doing } => write!(f, "the disk is full, met while {doing}"),
            Error::NoRoom {
                dir,
                free_bytes,
                least_bytes,
            } => write!(
                f,
                "the disk of {} has {free_bytes} bytes free, and writing needs {least_bytes}: \
                 delete rows, truncate tables, PURGE those that were dropped, or make room on the disk",
                dir.display()
            ),
            Error::Corrupt { what } => write!(f, "stored bytes are damaged: {what}"),
            Error::NoSuchSpace(space) => {
                write!(
                    f,
                    "the table or index was dropped meanwhile (storage space {space})"
                )
            }
            Error::SpaceUsed(space) => write!(f, "storage space {space} was used before"),
            Error::Closed => f.write_str("the storage engine is closed"),
            Error::ReadOnly { cause } => write!(
                f,
                "the storage engine takes no more writes until a restart, because: {cause}"
            ),
            Error::SnapshotTooOld => f.write_str("the snapshot is too old: try again"),
            Error::InUse { dir } => of_data(f, dir, IN_USE),
            Error::ForeignDirectory { dir, found } => write!(
                f,
                "directory {} is not empty and not a data directory of this server: it holds {found}",
                dir.display()
            ),
            Error::ForeignFile { path } => write!(
                f,
                "{} is none of this server's: move it away, since the storage engine takes what is there for its own",
                path.display()
            ),
            Error::OtherFormat {
                dir,
                found,
                expected,
            } => write!(
                f,
                "data directory {} has format {found}, this server reads format {expected}",
                dir.display()
            ),
            Error::Unwritable { dir, cause } => {
                of_data(f, dir, &format!("cannot be written: {cause}"))
            }
            Error::Forbidden { path, cause } => of_place(f, path, cause),
            Error::NotEmpty { dir, found } => {
                of_dir(f, dir, &format!("is not empty: it holds {found}"))
            }
            Error::IsFile { path } => write!(f, "{} is no directory: it is a file", path.display()),
            Error::NoBackup { dir, why } => write!(f, "{} is no backup: {why}", dir.display()),
            Error::HalfBackup { dir } => of_dir(f, dir, HALF_BACKUP),
            Error::HalfRestored { dir } => of_dir(f, dir, HALF_RESTORED),
            Error::Injected { call } => write!(f, "injected failure at call {call}"),
        }
    }
}

/// What is said of a data directory that somebody has locked.
const IN_USE: &str = "is in use by another server, or by a check or restore";

/// What is said of a directory with what is left of a backup that was cut off.
const HALF_BACKUP: &str = "has a backup that was not finished: unless it is being made just now, the directory \
                           can be removed";

/// The same of a restore.
const HALF_RESTORED: &str = "has a restore that was not finished: unless it is under way, remove the directory \
                             and restore again";

fn of_dir(f: &mut fmt::Formatter<'_>, dir: &Path, text: &str) -> fmt::Result {
    write!(f, "directory {} {text}", dir.display())
}

fn of_place(f: &mut fmt::Formatter<'_>, path: &Path, cause: &str) -> fmt::Result {
    let path = path.display();
    write!(
        f,
        "{path} cannot be made by the user that the server runs as: {cause}"
    )
}

fn of_data(f: &mut fmt::Formatter<'_>, dir: &Path, text: &str) -> fmt::Result {
    write!(f, "data directory {} {text}", dir.display())
}

impl std::error::Error for Error {}

impl From<Error> for error::Error {
    fn from(cause: Error) -> error::Error {
        match cause {
            Error::SpaceUsed(_) => error::Error::internal(&cause),
            Error::Io { .. }
            | Error::DiskFull { .. }
            | Error::NoRoom { .. }
            | Error::Corrupt { .. }
            | Error::NoSuchSpace(_)
            | Error::Closed
            | Error::ReadOnly { .. }
            | Error::SnapshotTooOld
            | Error::InUse { .. }
            | Error::ForeignDirectory { .. }
            | Error::ForeignFile { .. }
            | Error::OtherFormat { .. }
            | Error::Unwritable { .. }
            | Error::Forbidden { .. }
            | Error::NotEmpty { .. }
            | Error::IsFile { .. }
            | Error::NoBackup { .. }
            | Error::HalfBackup { .. }
            | Error::HalfRestored { .. }
            | Error::Injected { .. } => error::Error::new(cause.code(), cause.to_string()),
        }
    }
}

/// A commit that was not, or perhaps not, applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitError {
    /// Another transaction wrote this key after the snapshot.
    Conflict {
        /// The space of the key.
        space: Space,
        /// A key that changed.
        key: Key,
    },
    /// A key that must be absent is there.
    AlreadyExists {
        /// The space of the key.
        space: Space,
        /// The key that is there.
        key: Key,
    },
    /// A key, a value or the whole set is larger than the engine takes.
    TooLarge {
        /// What is too large: `key`, `value` or `transaction`.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The most the engine takes.
        bytes_max: usize,
    },
    /// It is unknown whether the set was applied. Never retried blindly.
    Undetermined {
        /// What is known.
        cause: String,
    },
    /// Not applied, for a reason that has nothing to do with the set.
    Failed(Error),
}

impl CommitError {
    /// Whether trying again from a new snapshot can help.
    pub fn advice(&self) -> Advice {
        match self {
            CommitError::Conflict { .. } => Advice::Retry,
            CommitError::AlreadyExists { .. }
            | CommitError::TooLarge { .. }
            | CommitError::Undetermined { .. } => Advice::GiveUp,
            CommitError::Failed(cause) => cause.advice(),
        }
    }
}

impl From<Error> for CommitError {
    fn from(cause: Error) -> CommitError {
        CommitError::Failed(cause)
    }
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommitError::Conflict { .. } => {
                f.write_str("a concurrent transaction changed the same rows; try again")
            }
            CommitError::AlreadyExists { space, key } => {
                write!(
                    f,
                    "key {} exists in storage space {space}",
                    key.escape_ascii()
                )
            }
            CommitError::TooLarge {
                what,
                bytes,
                bytes_max,
            } => write!(f, "{what} is {bytes} bytes, the most is {bytes_max}"),
            CommitError::Undetermined { cause } => {
                write!(f, "it is unknown whether the commit took place: {cause}")
            }
            CommitError::Failed(cause) => cause.fmt(f),
        }
    }
}

impl std::error::Error for CommitError {}

impl From<CommitError> for error::Error {
    fn from(cause: CommitError) -> error::Error {
        let code = match &cause {
            CommitError::Conflict { .. } => Code::Deadlock,
            CommitError::AlreadyExists { .. } => Code::DuplicateEntry,
            CommitError::TooLarge { .. } => Code::TransactionTooLarge,
            CommitError::Undetermined { .. } => Code::ErrorDuringCommit,
            CommitError::Failed(inner) => return inner.clone().into(),
        };
        error::Error::new(code, cause.to_string())
    }
}
