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

    /// The directory that a path names, links followed.
    ///
    /// # Errors
    /// 1290 outside of the directory and in the data directory, 1210 for a relative path, 1 when the
    /// one above it is missing.
    fn target(&self, text: &str) -> Result<PathBuf> {
        let Some(dir) = self.dir.as_deref() else {
            return Err(prevented("without"));
        };
        let path = Path::new(text);
        if !path.is_absolute() {
            let text = format!("BACKUP TO takes an absolute path, and '{text}' is relative");
            return Err(Error::new(Code::WrongArguments, text));
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(prevented("with"));
        };
        let parent = match parent.canonicalize() {
            Ok(parent) if parent.starts_with(dir) => parent,
            Err(cause) if is_plainly_below(parent, dir) => return Err(not_made(text, &cause)),
            // Whether there is something outside is nobody's business.
            Ok(_) | Err(_) => return Err(prevented("with")),
        };
        let target = parent.join(name);
        // A link would lead out of it again.
        let is_link = fs::symlink_metadata(&target).is_ok_and(|found| found.is_symlink());
        if is_link || self.is_data(&target) {
            return Err(prevented("with"));
        }
        Ok(target)
    }
}

fn is_plainly_below(path: &Path, dir: &Path) -> bool {
    path.starts_with(dir) && !path.components().any(|part| part == Component::ParentDir)
}

/// 1290, in MySQL's words.
fn prevented(with: &str) -> Error {
    let text = format!(
        "The MySQL server is running {with} the --backup-dir option so it cannot execute this statement"
    );
    Error::new(Code::OptionPreventsStatement, text)
}

fn not_made(path: &str, cause: &io::Error) -> Error {
    let text = format!("Can't create directory '{path}' ({cause})");
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
        assert!(Backups::below(Some(&base.path().join("nosuch")), None).is_err());
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
