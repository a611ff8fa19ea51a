//! Others' files among the engine's: those that are there, and those that are to be.
//!
//! The storage library opens no tree that has a file among its tables whose name is no number, and calls that
//! damage; a file whose name is one it removes. It ends the process where a directory among its trees, or a journal, has
//! a name that is no number, and a directory whose name is one it removes with all that is in it. So what copies and
//! mounts leave there (`.nfs0001`, a half of an rsync, `1.bak`) is told by its name before the library looks, and nobody
//! who writes a file for a statement writes it there.

use std::fs;
use std::path::{Path, PathBuf};

use super::backup;
use super::directory::TABLES_DIR;
use super::{directory, journal, manifest};
use crate::kv::{Error, Result};

/// Names that the library passes over: what macOS leaves in directories.
const PASSED_OVER: &str = ".DS_Store";
const PASSED_OVER_PREFIX: &str = "._";

/// What a directory has among its trees, their tables and its journals that is none of them.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn among_own(engine_dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = directory::children(engine_dir)?;
    found.retain(|path| may_be_journal(path) && !is_journal(path));
    let trees: Vec<PathBuf> = manifest::trees(engine_dir).collect();
    let beside = directory::children(&manifest::trees_dir(engine_dir))?;
    // Files the library passes over.
    let is_foreign = |path: &PathBuf| !trees.contains(path) && !is_file(path);
    found.extend(beside.into_iter().filter(is_foreign));
    for tree in trees {
        let tables = directory::children(&tree.join(TABLES_DIR))?;
        let is_foreign = |path: &PathBuf| !is_passed_over(path) && !is_table(path);
        found.extend(tables.into_iter().filter(is_foreign));
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
    match among_own(engine_dir)?.into_iter().next() {
        None => Ok(()),
        Some(path) => Err(Error::ForeignFile { path }),
    }
}

/// Whether a file among tables may be one.
pub(super) fn is_table(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(is_number) && !path.is_dir()
}

/// Whether the library takes it for a journal, whatever its name is in front of the end, or cannot read its name.
fn may_be_journal(path: &Path) -> bool {
    let ending = path.extension();
    let is_journals = ending.is_some_and(|ending| ending.eq_ignore_ascii_case(journal::ENDING));
    is_journals || path.file_name().is_some_and(|name| name.to_str().is_none())
}

fn is_journal(path: &Path) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str());
    let ending = path.extension();
    name.is_some_and(is_number)
        && ending.is_some_and(|ending| ending == journal::ENDING)
        && is_file(path)
}

/// Whether a name is a number as the library writes it.
fn is_number(name: &str) -> bool {
    let number = name.parse::<u64>();
    number.is_ok_and(|number| number.to_string() == name)
}

/// Whether it is a file itself, and no link to one.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
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
    fn what_is_none_of_the_engines_is_told_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        assert!(among_own(dir).unwrap().is_empty(), "nothing yet");
        let trees = manifest::trees_dir(dir);
        let tables = manifest::names_tree(dir).join(TABLES_DIR);
        for foreign in ["1.bak", "01", "20261129", "lost+found"] {
            fs::create_dir_all(trees.join(foreign)).unwrap();
        }
        fs::create_dir_all(trees.join("1")).unwrap();
        fs::create_dir_all(tables.join("5")).unwrap();
        for name in [
            "7",
            ".DS_Store",
            "._7",
            "x.log",
            ".nfs0001",
            "-1",
            "+5",
            "007",
        ] {
            fs::write(tables.join(name), "").unwrap();
        }
        fs::write(trees.join("README"), "").unwrap();
        for name in [
            "0.jnl", "12.jnl", "+1.jnl", "old.jnl", "3.JNL", "version", "x.log",
        ] {
            fs::write(dir.join(name), "").unwrap();
        }
        fs::create_dir(dir.join("8.jnl")).unwrap();
        let found = among_own(dir).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|path| path.strip_prefix(dir).unwrap())
            .collect();
        let mut expected = ["+1.jnl", "3.JNL", "8.jnl", "old.jnl"]
            .map(PathBuf::from)
            .to_vec();
        let keyspaces = Path::new("keyspaces");
        expected.extend(["01", "1.bak", "20261129", "lost+found"].map(|name| keyspaces.join(name)));
        let own = ["+5", "-1", ".nfs0001", "007", "5", "x.log"];
        expected.extend(own.map(|name| keyspaces.join("0").join(TABLES_DIR).join(name)));
        expected.sort_unstable();
        assert_eq!(found, expected);
        let refused = check(dir).unwrap_err().to_string();
        assert!(refused.contains("/+1.jnl"), "{refused}");
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
