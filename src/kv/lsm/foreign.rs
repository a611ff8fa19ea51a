//! Others' files among the engine's: those that are there, and those that are to be.
//!
//! The storage library opens no tree that has a file among its tables whose name is no number, and calls that
//! damage; a file whose name is one it removes. So what copies and mounts leave there (`.nfs0001`, a half of an
//! rsync) is told by its name, and nobody who writes a file for a statement writes it there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::backup;
use super::directory::TABLES_DIR;
use super::{directory, manifest};
use crate::kv::{Error, Result};

/// Names that the library passes over: what macOS leaves in directories.
const PASSED_OVER: &str = ".DS_Store";
const PASSED_OVER_PREFIX: &str = "._";

/// What the trees of a directory have among their tables that is no table.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn among_tables(engine_dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for tree in manifest::trees(engine_dir) {
        let dir = tree.join(TABLES_DIR);
        let failed = |cause: io::Error| Error::io(format!("reading {}", dir.display()), &cause);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            Err(cause) => return Err(failed(cause)),
        };
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if !is_passed_over(&path) && !is_table(&path) {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Before the library opens a directory.
///
/// # Errors
///
/// [`Error::ForeignFile`]; [`Error::Io`].
pub(super) fn check(engine_dir: &Path) -> Result<()> {
    match among_tables(engine_dir)?.into_iter().next() {
        None => Ok(()),
        Some(path) => Err(Error::ForeignFile { path }),
    }
}

/// Whether a file among tables may be one.
pub(super) fn is_table(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_number = name.is_some_and(|name| name.parse::<u64>().is_ok());
    is_number && !path.is_dir()
}

fn is_passed_over(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == PASSED_OVER || name.starts_with(PASSED_OVER_PREFIX)
}

/// The data directory or the backup among whose files one of this path is, or would be: among the engine's of a data
/// directory, or anywhere in a backup, be it whole or not. `None` as well where the directory of the path is missing.
pub fn owner_of(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?.canonicalize().ok()?;
    let mut below = None;
    for dir in parent.ancestors() {
        let is_engines = below.is_some_and(|name| name == backup::ENGINE_DIR);
        if backup::is_any(dir) || is_engines && directory::is_claimed(dir) {
            return Some(dir.to_path_buf());
        }
        below = dir.file_name();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_table_is_told_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        assert!(among_tables(dir.path()).unwrap().is_empty(), "nothing yet");
        let tables = manifest::names_tree(dir.path()).join(TABLES_DIR);
        fs::create_dir_all(tables.join("5")).unwrap();
        for name in ["7", ".DS_Store", "._7", "x.log", ".nfs0001", "-1"] {
            fs::write(tables.join(name), "").unwrap();
        }
        let found = among_tables(dir.path()).unwrap();
        let expected = ["-1", ".nfs0001", "5", "x.log"].map(|name| tables.join(name));
        assert_eq!(found, expected);
        let refused = check(dir.path()).unwrap_err().to_string();
        assert!(refused.contains("/tables/-1"), "{refused}");
    }

    #[test]
    fn who_owns_a_path() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (data, backup) = (dir.join("data"), dir.join("backup"));
        fs::create_dir_all(data.join("lsm/keyspaces")).unwrap();
        fs::create_dir_all(backup.join("lsm")).unwrap();
        fs::create_dir_all(dir.join("others/lsm")).unwrap();
        fs::write(data.join("MESETA"), "").unwrap();
        fs::write(backup.join("BACKUP"), "").unwrap();
        for (path, owner) in [
            ("data/a.log", None),
            ("data/lsm/a.log", Some(&data)),
            ("data/lsm/keyspaces/a.log", Some(&data)),
            ("data/lsm/missing/a.log", None),
            ("backup/a.log", Some(&backup)),
            ("backup/../data/lsm/a.log", Some(&data)),
            ("others/lsm/a.log", None),
        ] {
            assert_eq!(owner_of(&dir.join(path)).as_ref(), owner, "{path}");
        }
    }
}
