//! Files of the server that statements name: only below `--secure-file-priv`, and nowhere without it. Those
//! of the data directory and of backups are the server's alone, wherever they lie.
//!
//! What a path leads to is looked up with the links in it followed, so none leads out of the directory.
//! Reading and writing happen on threads that may block.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::load::FileSource;
use crate::error::{Code, Error, Result};
use crate::exec::rows::BoxFuture;
use crate::exec::spill::STRIDE_BYTES;
use crate::kv::{Engine, lsm};
use crate::leisure;
use crate::sql::context::Loaded;

/// Bytes that are read or written at a time.
pub(super) const CHUNK_BYTES: usize = 256 * 1024;

/// Who may read a file that a statement makes: the server's user and group, as with MySQL.
const FILE_MODE: u32 = 0o640;

/// Where statements may read and write files.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Absolute, without links; `None` for nowhere.
    dir: Option<PathBuf>,
    /// The server's own data, the same; nothing of it is read or written.
    data_dir: Option<PathBuf>,
}

impl Files {
    /// Those below a directory, and not in the data directory.
    ///
    /// # Errors
    /// One line for the operator, when it is no directory, or lies in the data directory.
    pub fn below(
        dir: Option<&Path>,
        data_dir: Option<&Path>,
    ) -> std::result::Result<Files, String> {
        let Some(dir) = dir else {
            return Ok(Files::default());
        };
        let wrong = |error: &dyn std::fmt::Display| {
            format!("--secure-file-priv {}: {error}", dir.display())
        };
        let found = dir.canonicalize().map_err(|error| wrong(&error))?;
        if !found.is_dir() {
            return Err(wrong(&"not a directory"));
        }
        let data_dir = data_dir.map(Path::canonicalize).transpose();
        let data_dir = data_dir.map_err(|error| wrong(&error))?;
        if data_dir
            .as_deref()
            .is_some_and(|data_dir| found.starts_with(data_dir))
        {
            return Err(wrong(
                &"it lies in the data directory, where no statement may read or write",
            ));
        }
        Ok(Files {
            data_dir,
            dir: Some(found),
        })
    }

    /// The directory.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Opens a file to be read.
    ///
    /// # Errors
    /// 1290 outside of the directory, in the data directory and in a backup, 13 when it cannot be read, 1085 when it is
    /// no ordinary file.
    pub(super) fn open(&self, path: &str) -> Result<ServerFile> {
        let (dir, parent) = self.parent_of(path)?;
        let unreadable = |error: &io::Error| {
            let text = format!("Can't get stat of '{path}' ({})", cause(error));
            Error::new(Code::FileUnreadable, text)
        };
        let name = Path::new(path).file_name().unwrap_or_default();
        let found = parent.join(name).canonicalize();
        let found = found.map_err(|error| unreadable(&error))?;
        if !found.starts_with(dir) {
            return Err(prevented());
        }
        self.check_owner(path, &found)?;
        if !found.is_file() {
            let text = format!(
                "The file '{path}' must be in the database directory or be readable by all"
            );
            return Err(Error::new(Code::TextFileNotReadable, text));
        }
        let file = File::open(found).map_err(|error| unreadable(&error))?;
        Ok(ServerFile { file: Some(file) })
    }

    /// The bytes of a file, for `LOAD_FILE`; blocks.
    pub(super) fn load(&self, path: &str, bytes_max: usize) -> Loaded {
        let opened = self.open(path).ok().and_then(|opened| opened.file);
        let (Some(file), Ok(bytes_max)) = (opened, u64::try_from(bytes_max)) else {
            return Loaded::Unreadable;
        };
        let is_over = |metadata: std::fs::Metadata| bytes_max < metadata.len();
        match file.metadata().map(is_over) {
            Ok(false) => {}
            Ok(true) => return Loaded::TooLarge,
            Err(_) => return Loaded::Unreadable,
        }
        // Somebody may be writing it.
        let mut bytes = Vec::new();
        match file
            .take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)
        {
            Ok(count) if u64::try_from(count).is_ok_and(|count| count <= bytes_max) => {
                Loaded::Bytes(bytes)
            }
            Ok(_) => Loaded::TooLarge,
            Err(_) => Loaded::Unreadable,
        }
    }

    /// Makes a file that is not there yet.
    ///
    /// # Errors
    /// 1290 outside of the directory, in the data directory and in a backup, 1086 when it is there, 1 when
    /// it cannot be made.
    pub(super) fn create(&self, path: &str) -> Result<NewFile> {
        let (_, parent) = self.parent_of(path)?;
        let at = parent.join(Path::new(path).file_name().unwrap_or_default());
        if lsm::marks_backup(&at) {
            let text = format!("{PREVENTED}: '{path}' has a name that marks a backup");
            return Err(Error::new(Code::OptionPreventsStatement, text));
        }
        // Made only if nothing is there, not even a link that leads nowhere.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(FILE_MODE);
        let device = |path: &Path| path.metadata().ok().map(|found| found.dev());
        let data_device = self.data_dir.as_deref().and_then(device);
        match options.open(&at) {
            Ok(file) => Ok(NewFile {
                file: Some(file),
                is_beside_data: data_device.is_some() && device(&parent) == data_device,
                unseen_bytes: 0,
                at,
                path: path.to_owned(),
            }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let text = format!("File '{path}' already exists");
                Err(Error::new(Code::FileExists, text))
            }
            Err(error) => {
                let text = format!("Can't create/write to file '{path}' ({})", cause(&error));
                Err(Error::new(Code::FileNotCreated, text))
            }
        }
    }

    /// Whether what a path leads to is none of the server's own data, and of no backup.
    ///
    /// # Errors
    /// 1290.
    fn check_owner(&self, path: &str, found: &Path) -> Result<()> {
        let data_dir = self.data_dir.as_deref();
        let place = if data_dir.is_some_and(|data_dir| found.starts_with(data_dir)) {
            "the data directory".to_owned()
        } else if let Some(owner) = lsm::owner_of(found) {
            format!("a data directory or backup, {}", owner.display())
        } else {
            return Ok(());
        };
        let text = format!("{PREVENTED}: '{path}' lies in {place}");
        Err(Error::new(Code::OptionPreventsStatement, text))
    }

    /// The directory, and that of a path in it.
    ///
    /// # Errors
    /// 1290.
    fn parent_of(&self, path: &str) -> Result<(&Path, PathBuf)> {
        let text = path;
        let path = Path::new(text);
        let dir = self.dir.as_deref().ok_or_else(prevented)?;
        let parent = path.parent().filter(|_| path.is_absolute());
        let named = parent.filter(|_| path.file_name().is_some());
        // Whether there is something outside is nobody's business.
        let parent = named.and_then(|parent| parent.canonicalize().ok());
        let parent = parent.filter(|parent| parent.starts_with(dir));
        let parent = parent.ok_or_else(prevented)?;
        self.check_owner(text, &parent.join(path.file_name().unwrap_or_default()))?;
        Ok((dir, parent))
    }
}

/// What 1290 says.
const PREVENTED: &str = "The MySQL server is running with the --secure-file-priv option so it cannot execute \
                         this statement";

/// 1290.
fn prevented() -> Error {
    Error::new(Code::OptionPreventsStatement, PREVENTED)
}

/// The cause in the words of MySQL: `OS errno 2 - No such file or directory`.
fn cause(error: &io::Error) -> String {
    let errno = error.raw_os_error().unwrap_or(0);
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    format!("OS errno {errno} - {text}")
}

/// A file that is read from its beginning to its end.
#[derive(Debug)]
pub(super) struct ServerFile {
    /// `None` while a thread reads it, and after that failed.
    file: Option<File>,
}

impl FileSource for ServerFile {
    fn more<'a>(&'a mut self, out: &'a mut Vec<u8>) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let Some(mut file) = self.file.take() else {
                return Err(Error::internal("a file is read that failed"));
            };
            let read = move || {
                let mut bytes = vec![0; CHUNK_BYTES];
                let count = file.read(&mut bytes)?;
                bytes.truncate(count);
                Ok::<_, io::Error>((file, bytes))
            };
            let failed = |error: &io::Error| {
                let text = format!("Error reading file ({})", cause(error));
                Error::new(Code::FileUnreadable, text)
            };
            let read = leisure::blocking(read).await;
            let (file, bytes) = read.ok_or_else(stopped)?.map_err(|error| failed(&error))?;
            self.file = Some(file);
            out.extend_from_slice(&bytes);
            Ok(!bytes.is_empty())
        })
    }
}

fn stopped() -> Error {
    Error::internal("the thread of a file was stopped")
}

fn size_of_bytes(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// A file that a statement has made.
#[derive(Debug)]
pub(super) struct NewFile {
    /// `None` while a thread writes it, and after that failed.
    file: Option<File>,
    at: PathBuf,
    path: String,
    /// Whether it is on the disk of the data.
    is_beside_data: bool,
    /// Written since it was looked whether the disk has room.
    unseen_bytes: u64,
}

impl NewFile {
    /// Appends bytes, and leaves the engine the room that its own work needs.
    ///
    /// # Errors
    /// 3 when they cannot be written, 1021 where the data need what is left of their disk.
    pub(super) async fn append(&mut self, engine: &dyn Engine, bytes: Vec<u8>) -> Result<()> {
        self.look(engine, size_of_bytes(&bytes))?;
        let Some(mut file) = self.file.take() else {
            return Err(Error::internal("a file is written that failed"));
        };
        let write = move || file.write_all(&bytes).map(|()| file);
        let written = leisure::blocking(write).await;
        let written = written.ok_or_else(stopped)?;
        self.file = Some(written.map_err(|error| {
            let text = format!("Error writing file '{}' ({})", self.path, cause(&error));
            Error::new(Code::FileFailed, text)
        })?);
        Ok(())
    }

    /// Before the first bytes, and then for each stride.
    fn look(&mut self, engine: &dyn Engine, bytes: u64) -> Result<()> {
        if !self.is_beside_data {
            return Ok(());
        }
        let is_due = self.unseen_bytes == 0 || STRIDE_BYTES <= self.unseen_bytes + bytes;
        if is_due {
            engine.check_room(bytes.max(STRIDE_BYTES))?;
            self.unseen_bytes = 0;
        }
        self.unseen_bytes += bytes;
        Ok(())
    }

    /// Takes the file away: its statement has failed.
    pub(super) fn discard(self) {
        if let Err(error) = std::fs::remove_file(&self.at) {
            tracing::warn!("{}: {error}", self.at.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_directory() {
        let base = tempfile::tempdir().unwrap();
        let inside = base.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(base.path().join("secret"), "x").unwrap();
        std::fs::write(inside.join("open"), "x").unwrap();
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(base.path().join(to), inside.join(name)).unwrap();
        };
        link("secret", "link");
        link("", "up");
        link("nowhere", "dangling");
        let files = Files::below(Some(&inside), None).unwrap();
        let path = |name: &str| inside.join(name).display().to_string();
        let errno = |error: Error| error.code().errno();
        assert!(files.open(&path("open")).is_ok());
        assert_eq!(files.load(&path("open"), 1), Loaded::Bytes(b"x".to_vec()));
        assert_eq!(files.load(&path("open"), 0), Loaded::TooLarge);
        for wrong in ["link", "../secret", "up/secret", "missing", "."] {
            assert_eq!(files.load(&path(wrong), 9), Loaded::Unreadable, "{wrong}");
        }
        assert_eq!(Files::default().load(&path("open"), 9), Loaded::Unreadable);
        for wrong in ["link", "../secret", "up/secret", "no/such", "up/nowhere"] {
            assert_eq!(
                errno(files.open(&path(wrong)).unwrap_err()),
                1290,
                "{wrong}"
            );
        }
        assert_eq!(errno(files.open("open").unwrap_err()), 1290);
        assert_eq!(errno(files.open(&path("missing")).unwrap_err()), 13);
        assert_eq!(errno(files.open(&path(".")).unwrap_err()), 1290);
        for taken in ["open", "link", "dangling"] {
            assert_eq!(
                errno(files.create(&path(taken)).unwrap_err()),
                1086,
                "{taken}"
            );
        }
        assert_eq!(errno(files.create(&path("up/new")).unwrap_err()), 1290);
        files.create(&path("new")).unwrap().discard();
        assert!(!inside.join("new").exists());
        assert_eq!(
            errno(Files::default().open(&path("open")).unwrap_err()),
            1290
        );
        assert!(Files::below(Some(&inside.join("open")), None).is_err());
    }

    #[test]
    fn the_data_directory_is_the_servers_alone() {
        let base = tempfile::tempdir().unwrap();
        let data = base.path().join("data");
        std::fs::create_dir_all(data.join("lsm")).unwrap();
        std::fs::create_dir(base.path().join("files")).unwrap();
        for name in ["data/lsm/1.jnl", "files/mine"] {
            std::fs::write(base.path().join(name), "x").unwrap();
        }
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(base.path().join(to), base.path().join(name)).unwrap();
        };
        link("data/lsm", "lsm");
        link("data/lsm/1.jnl", "files/link");
        let path = |name: &str| base.path().join(name).display().to_string();
        let refused = |error: Error, name: &str| {
            let end = format!("statement: '{}' lies in the data directory", path(name));
            assert_eq!(error.code().errno(), 1290, "{name}");
            assert!(error.message().ends_with(&end), "{error}");
        };
        for dir in [data.as_path(), &data.join("lsm")] {
            let told = Files::below(Some(dir), Some(&data)).unwrap_err();
            assert!(told.contains("it lies in the data directory"), "{told}");
        }
        let files = Files::below(Some(base.path()), Some(&data)).unwrap();
        for name in ["data/lsm/1.jnl", "data/../data/lsm/1.jnl", "data/missing"] {
            refused(files.open(&path(name)).unwrap_err(), name);
            assert_eq!(files.load(&path(name), 9), Loaded::Unreadable);
        }
        for name in ["data/new", "data/lsm/new", "data/lsm/../new"] {
            refused(files.create(&path(name)).unwrap_err(), name);
        }
        for name in ["files/link", "lsm/1.jnl"] {
            refused(files.open(&path(name)).unwrap_err(), name);
        }
        refused(files.create(&path("lsm/new")).unwrap_err(), "lsm/new");
        assert!(!data.join("lsm/new").exists());
        assert!(files.open(&path("files/mine")).is_ok());
        files.create(&path("files/new")).unwrap().discard();
        files.create(&path("data2")).unwrap().discard();
    }

    #[test]
    fn backups_are_the_servers_alone() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().canonicalize().unwrap();
        std::fs::create_dir_all(dir.join("backups/mon/lsm")).unwrap();
        for name in ["backups/mon/BACKUP", "backups/mon/lsm/1.jnl"] {
            std::fs::write(dir.join(name), "x").unwrap();
        }
        let files = Files::below(Some(&dir), None).unwrap();
        let path = |name: &str| dir.join(name).display().to_string();
        for name in ["backups/mon/BACKUP", "backups/mon/lsm/1.jnl"] {
            let refused = files.open(&path(name)).unwrap_err();
            let end = format!(
                "lies in a data directory or backup, {}",
                path("backups/mon")
            );
            assert!(refused.message().ends_with(&end), "{refused}");
        }
        // One of the first names would make a backup of what is around it.
        for name in [
            "backups/BACKUP",
            "BACKUP.part",
            "backups/mon/new",
            "backups/mon/lsm/new",
        ] {
            let refused = files.create(&path(name)).unwrap_err();
            assert_eq!(refused.code(), Code::OptionPreventsStatement, "{name}");
        }
        files.create(&path("backups/new")).unwrap().discard();
    }
}
