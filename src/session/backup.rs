//! `BACKUP TO 'directory'`: a copy of all data while the server goes on, below `--backup-dir`.
//!
//! What a backup is made of is the engine's matter (`kv::lsm`, `backup`); here is who may make one
//! where, and what is told of it. Putting it back needs no server: see [`crate::upkeep`].

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::compile::text;
use super::listing::{LONG_TEXT, Listing};
use super::{Reply, Session};
use crate::error::{Code, Error, Result};
use crate::kv::lsm;
use crate::types::{ColumnType, Value};

/// Where backups may be made.
#[derive(Debug, Clone, Default)]
pub(super) struct Backups {
    /// Absolute, without links; `None` for nowhere.
    dir: Option<PathBuf>,
    /// The server's own data, the same; nothing is ever written there.
    data_dir: Option<PathBuf>,
}

impl Backups {
    /// Below a directory, and not in the data directory.
    ///
    /// # Errors
    /// One line for the operator, when it is no directory, or lies in the data directory.
    pub(super) fn below(
        dir: Option<&Path>,
        data_dir: Option<&Path>,
    ) -> std::result::Result<Backups, String> {
        let Some(dir) = dir else {
            return Ok(Backups::default());
        };
        let wrong =
            |error: &dyn std::fmt::Display| format!("--backup-dir {}: {error}", dir.display());
        let found = dir.canonicalize().map_err(|error| wrong(&error))?;
        if !found.is_dir() {
            return Err(wrong(&"not a directory"));
        }
        let data_dir = data_dir.map(Path::canonicalize).transpose();
        let backups = Backups {
            data_dir: data_dir.map_err(|error| wrong(&error))?,
            dir: Some(found),
        };
        if backups
            .dir
            .as_deref()
            .is_some_and(|dir| backups.is_data(dir))
        {
            return Err(wrong(
                &"it lies in the data directory, where no backup may be",
            ));
        }
        Ok(backups)
    }

    /// Whether a path without links is in the server's own data.
    fn is_data(&self, path: &Path) -> bool {
        let data_dir = self.data_dir.as_deref();
        data_dir.is_some_and(|data_dir| path.starts_with(data_dir))
    }

    /// The directory.
    pub(super) fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The directory that a path names, links followed.
    ///
    /// # Errors
    /// 1290 outside of the directory, in the data directory and in a backup, 1210 for a relative path, 1
    /// when the one above it is missing or no directory, or a name too long, 1086 when it is a file.
    fn target(&self, text: &str) -> Result<PathBuf> {
        let Some(dir) = self.dir.as_deref() else {
            let text = "The MySQL server is running without the --backup-dir option so it cannot execute \
                        this statement: start it with --backup-dir, the directory below which backups may be";
            return Err(Error::new(Code::OptionPreventsStatement, text));
        };
        let path = Path::new(text);
        if !path.is_absolute() {
            let text = format!("BACKUP TO takes an absolute path, and '{text}' is relative");
            return Err(Error::new(Code::WrongArguments, text));
        }
        let outside = || prevented(text, &why_outside(path, dir));
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(outside());
        };
        let parent = match parent.canonicalize() {
            Ok(parent) if parent.starts_with(dir) => parent,
            Err(cause) if is_begun_below(parent, dir) => return Err(not_made(text, &cause)),
            // Whether there is something outside is nobody's business.
            Ok(_) | Err(_) => return Err(outside()),
        };
        let target = parent.join(name);
        if self.is_data(&target) {
            let why = "lies in the data directory, where no backup may be";
            return Err(prevented(text, why));
        }
        if let Some(around) = backup_around(&parent, dir) {
            return Err(prevented(
                text,
                &format!("lies in the backup {}", around.display()),
            ));
        }
        check_kind(text, &target)?;
        Ok(target)
    }
}

/// Whether the way to a path leads into the directory as far as there is one.
fn is_begun_below(path: &Path, dir: &Path) -> bool {
    let there = path.ancestors().find_map(|path| path.canonicalize().ok());
    !leads_up(path) && there.is_some_and(|there| there.starts_with(dir))
}

fn leads_up(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// Why a path is not below the directory, told by the path alone: what is outside is nobody's business.
fn why_outside(path: &Path, dir: &Path) -> String {
    let why = if path.canonicalize().is_ok_and(|path| path == dir) {
        "it is that directory itself"
    } else if leads_up(path) {
        "the '..' in it leads elsewhere"
    } else if path.starts_with(dir) {
        "a symbolic link in it leads elsewhere"
    } else {
        "lies elsewhere"
    };
    format!("must lie below {}, and {why}", dir.display())
}

/// The backup that a directory is, or lies in, as far as backups may be.
fn backup_around<'a>(path: &'a Path, dir: &Path) -> Option<&'a Path> {
    let mut around = path.ancestors().take_while(|path| path.starts_with(dir));
    around.find(|path| lsm::is_backup_dir(path))
}

/// Whether a directory can be made there, or is there.
fn check_kind(text: &str, target: &Path) -> Result<()> {
    let found = match fs::symlink_metadata(target) {
        Ok(found) => found,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(not_made(text, &cause)),
    };
    if found.is_symlink() {
        // It would lead out of the directory again.
        return Err(prevented(text, "is a symbolic link"));
    }
    if !found.is_dir() {
        let text =
            format!("Can't make a backup '{text}': it is a file, and a backup is a directory");
        return Err(Error::new(Code::FileExists, text));
    }
    Ok(())
}

/// 1290, in MySQL's words, and what the operator does not see in them.
fn prevented(path: &str, why: &str) -> Error {
    let text = format!(
        "The MySQL server is running with the --backup-dir option so it cannot execute this statement: \
         '{path}' {why}"
    );
    Error::new(Code::OptionPreventsStatement, text)
}

fn not_made(path: &str, cause: &io::Error) -> Error {
    let why = if cause.kind() == io::ErrorKind::NotADirectory {
        "what it is to lie in is a file".to_owned()
    } else {
        cause.to_string()
    };
    let text = format!("Can't create directory '{path}' ({why})");
    Error::new(Code::FileNotCreated, text)
}

impl Session {
    /// Makes a backup; one row: where it is, its files and bytes, and the commits that are in it.
    pub(super) async fn backup(&mut self, path: &str) -> Result<Reply> {
        self.commit_open().await?;
        let target = self.shared.backups.target(path)?;
        let processes = self.shared.processes();
        processes.set_state(self.client.connection_id, "Backing up".to_owned());
        let is_over: Arc<AtomicBool> = Arc::default();
        let mut making = pin!(self.shared.engine.checkpoint(&target, &is_over));
        let made = tokio::select! {
            made = &mut making => made?,
            error = self.cancel.stopped() => {
                is_over.store(true, Ordering::Relaxed);
                // Whoever is answered finds nothing left of it, unless it was done all the same.
                making.await.map_err(|_| error)?
            }
        };
        let Some(made) = made else {
            return Err(Error::unsupported("BACKUP with --engine memory"));
        };
        let (files, bytes) = (made.files, made.bytes);
        tracing::info!(path = %target.display(), files, bytes, "a backup was made");
        let number = ColumnType::BIGINT_UNSIGNED;
        let mut listing = Listing::new(&[
            ("Path", LONG_TEXT),
            ("Files", number.clone()),
            ("Bytes", number.clone()),
            ("Commit_ts", number),
        ]);
        listing.push(vec![
            text(Some(target.display().to_string())),
            Value::UInt(files),
            Value::UInt(bytes),
            Value::UInt(made.ts.0),
        ]);
        Ok(listing.into_reply())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_directory() {
        let base = tempfile::tempdir().unwrap();
        let inside = base.path().join("inside");
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::create_dir(base.path().join("other")).unwrap();
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(base.path().join(to), inside.join(name)).unwrap();
        };
        link("other", "out");
        link("inside/sub", "in");
        let backups = Backups::below(Some(&inside), None).unwrap();
        let errno = |path: &Path| {
            let target = backups.target(&path.display().to_string());
            target.unwrap_err().code().errno()
        };
        for fine in ["b", "sub/b", "in/b", "out/../inside/b"] {
            let target = backups.target(&inside.join(fine).display().to_string());
            assert!(
                target.unwrap().starts_with(inside.canonicalize().unwrap()),
                "{fine}"
            );
        }
        for wrong in [
            "out",
            "in",
            "out/b",
            "..",
            "../other/b",
            "../nosuch/b",
            "nosuch/../../b",
        ] {
            assert_eq!(errno(&inside.join(wrong)), 1290, "{wrong}");
        }
        assert_eq!(errno(&inside), 1290);
        assert_eq!(errno(Path::new("/")), 1290);
        assert_eq!(errno(Path::new("b")), 1210);
        assert_eq!(errno(Path::new("")), 1210);
        assert_eq!(errno(&inside.join("nosuch/b")), 1);
        let error = Backups::default().target("/b").unwrap_err();
        assert_eq!(error.code().errno(), 1290);
        assert!(error.message().contains("start it with --backup-dir"));
        assert!(Backups::below(Some(&base.path().join("nosuch")), None).is_err());
    }

    /// A directory for backups, and what is refused there: errno and text.
    fn refused(base: &Path, target: &str) -> (u16, String) {
        let backups = Backups::below(Some(base), None).unwrap();
        let refused = backups.target(target).unwrap_err();
        let text = refused
            .message()
            .replace(&base.display().to_string(), "BASE");
        (refused.code().errno(), text)
    }

    #[test]
    fn a_refused_path_is_told_with_the_directory_and_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap().join("bk");
        fs::create_dir_all(base.join("sub")).unwrap();
        std::os::unix::fs::symlink(dir.path(), base.join("out")).unwrap();
        let within = |name: &str| base.join(name).display().to_string();
        let begin = "The MySQL server is running with the --backup-dir option so it cannot execute this \
                     statement: ";
        for (target, expected) in [
            (
                within("out/b"),
                "'BASE/out/b' must lie below BASE, and a symbolic link in it leads elsewhere",
            ),
            (
                within("../b"),
                "'BASE/../b' must lie below BASE, and the '..' in it leads elsewhere",
            ),
            (
                within(""),
                "'BASE/' must lie below BASE, and it is that directory itself",
            ),
            (
                within("sub/.."),
                "'BASE/sub/..' must lie below BASE, and it is that directory itself",
            ),
            (
                "/elsewhere/b".to_owned(),
                "'/elsewhere/b' must lie below BASE, and lies elsewhere",
            ),
            (
                "/".to_owned(),
                "'/' must lie below BASE, and lies elsewhere",
            ),
            (within("out"), "'BASE/out' is a symbolic link"),
        ] {
            let told = refused(&base, &target);
            assert_eq!(told, (1290, format!("{begin}{expected}")), "{target}");
        }
    }

    #[test]
    fn no_backup_is_made_within_another() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for (backup, mark) in [("mon", "BACKUP"), ("half", "BACKUP.part")] {
            fs::create_dir_all(base.join(backup).join("lsm")).unwrap();
            fs::write(base.join(backup).join(mark), "").unwrap();
            std::os::unix::fs::symlink(base.join(backup), base.join(format!("to_{mark}"))).unwrap();
            let to_it = format!("to_{mark}/deep");
            for deep in [
                &format!("{backup}/deep"),
                &format!("{backup}/lsm/deep"),
                &to_it,
            ] {
                let (errno, told) = refused(&base, &base.join(deep).display().to_string());
                let end = format!("/{deep}' lies in the backup BASE/{backup}");
                assert!(errno == 1290 && told.ends_with(&end), "{told}");
            }
        }
        let backups = Backups::below(Some(&base), None).unwrap();
        assert!(
            backups
                .target(&base.join("tue").display().to_string())
                .is_ok()
        );
    }

    #[test]
    fn what_no_directory_can_be_made_of_is_no_failure_of_the_storage() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::write(base.join("file"), "").unwrap();
        let long = "x".repeat(300);
        let in_long = format!("{long}/x");
        for (target, errno, expected) in [
            (
                "file",
                1086,
                "'BASE/file': it is a file, and a backup is a directory",
            ),
            (
                "file/x",
                1,
                "'BASE/file/x' (what it is to lie in is a file)",
            ),
            (
                "file/x/y",
                1,
                "'BASE/file/x/y' (what it is to lie in is a file)",
            ),
            (long.as_str(), 1, "(File name too long (os error 36))"),
            (in_long.as_str(), 1, "(File name too long (os error 36))"),
            ("no/such", 1, "(No such file or directory (os error 2))"),
        ] {
            let told = refused(&base, &base.join(target).display().to_string());
            assert!(told.0 == errno && told.1.ends_with(expected), "{told:?}");
        }
    }

    #[test]
    fn nothing_is_written_to_the_data_directory() {
        let base = tempfile::tempdir().unwrap();
        let data = base.path().join("data");
        let trees = data.join("lsm/keyspaces");
        fs::create_dir_all(&trees).unwrap();
        std::os::unix::fs::symlink(&trees, base.path().join("link")).unwrap();
        let backups = Backups::below(Some(base.path()), Some(&data)).unwrap();
        for wrong in [
            "data",
            "data/b",
            "data/lsm/keyspaces/b",
            "link/b",
            "b/../data/b",
        ] {
            let target = base.path().join(wrong).display().to_string();
            let refused = backups.target(&target).unwrap_err();
            assert_eq!(refused.code().errno(), 1290, "{wrong}");
        }
        let beside = base.path().join("data2").display().to_string();
        assert!(backups.target(&beside).is_ok());
        for within in [&data, &trees] {
            let told = Backups::below(Some(within), Some(&data)).unwrap_err();
            assert!(told.contains("lies in the data directory"), "{told}");
        }
    }
}
