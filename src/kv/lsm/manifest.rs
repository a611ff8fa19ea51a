//! The storage library's lists of files, looked at before the library reads them.
//!
//! The library knows the checksum of each list and does not look at it; and where a list is missing it
//! begins an empty tree, and removes the files of the one that was there. So this file refuses such a
//! directory. It also removes what a kill leaves of a list that was being replaced.
//!
//! Files of lsm-tree 3.1.10, numbers little-endian, below `keyspaces/<number>/`:
//!
//! ```text
//! v<id>      a list; whole
//! current    id:u64 checksum:u128 type:u8(0)      checksum: xxh3 of the list
//! .tmp…      a `current` that did not become one
//! ```

#![expect(
    clippy::little_endian_bytes,
    reason = "this file reads a format of the storage library"
)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::kv::{Error, Result};

const KEYSPACES: &str = "keyspaces";
const CURRENT: &str = "current";
const UNFINISHED: &str = ".tmp";

/// What marks a directory as the library's, of the format that this server knows.
const VERSION: (&str, &[u8]) = ("version", b"FJL\x03");

/// The tree that knows the names of the others.
const NAMES: &str = "0";

/// It, and the one that holds all data.
const TREES: [&str; 2] = [NAMES, "1"];

/// Looks at the lists of a directory that was complete once.
///
/// # Errors
///
/// [`Error::Corrupt`] names the file; [`Error::Io`].
pub(super) fn check(dir: &Path) -> Result<()> {
    check_version(dir)?;
    for tree in trees(dir) {
        check_list(&tree)?;
        remove_unfinished(&tree)?;
    }
    Ok(())
}

/// Looks at what says that a directory is the library's: where that is missing, it makes an empty one.
///
/// # Errors
///
/// [`Error::Corrupt`] names the file; [`Error::Io`].
pub(super) fn check_version(dir: &Path) -> Result<()> {
    let (name, expected) = VERSION;
    let version = dir.join(name);
    if read(&version)? != expected {
        return Err(damaged(&version));
    }
    Ok(())
}

/// The directories of the trees.
pub(super) fn trees(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let all = trees_dir(dir);
    TREES.into_iter().map(move |tree| all.join(tree))
}

/// The directory that they are in.
pub(super) fn trees_dir(dir: &Path) -> PathBuf {
    dir.join(KEYSPACES)
}

/// The directory of the tree that knows the names of the others.
pub(super) fn names_tree(dir: &Path) -> PathBuf {
    trees_dir(dir).join(NAMES)
}

fn check_list(tree: &Path) -> Result<()> {
    let current = tree.join(CURRENT);
    let bytes = read(&current)?;
    let (id, checksum) = parsed(&bytes).ok_or_else(|| damaged(&current))?;
    let list = list_path(tree, id);
    if xxh3_128(&read(&list)?) != checksum {
        let (list, current) = (list.display(), current.display());
        return Err(Error::Corrupt {
            what: format!("file {list}, or what {current} says of it"),
        });
    }
    Ok(())
}

/// Where the list of a number is.
pub(super) fn list_path(tree: &Path, id: u64) -> PathBuf {
    tree.join(format!("v{id}"))
}

fn parsed(bytes: &[u8]) -> Option<(u64, u128)> {
    let (id, rest) = bytes.split_first_chunk()?;
    let (checksum, kind) = rest.split_first_chunk()?;
    (kind == [0]).then(|| (u64::from_le_bytes(*id), u128::from_le_bytes(*checksum)))
}

fn remove_unfinished(tree: &Path) -> Result<()> {
    let failed = |cause: io::Error| Error::io(format!("tidying {}", tree.display()), &cause);
    for entry in fs::read_dir(tree).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Removes the lists of a tree that are older than one, which is what a start reads, or older than that. Those that
/// cannot be removed stay until the next time; the first reason.
pub(super) fn remove_before(tree: &Path, id: u64) -> io::Result<()> {
    let mut first = Ok(());
    for entry in fs::read_dir(tree)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix('v'));
        let number: Option<u64> = number.and_then(|number| number.parse().ok());
        if number.is_some_and(|number| number < id) {
            first = first.and(fs::remove_file(entry.path()));
        }
    }
    first
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|cause| {
        if cause.kind() == io::ErrorKind::NotFound {
            let what = format!("{} is missing", path.display());
            return Error::Corrupt { what };
        }
        Error::io(format!("reading {}", path.display()), &cause)
    })
}

fn damaged(path: &Path) -> Error {
    let path: PathBuf = path.to_path_buf();
    Error::Corrupt {
        what: format!("file {}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{Engine, Space, WriteSet};

    async fn made(dir: &Path) -> PathBuf {
        let options = Options {
            cache_bytes: 1 << 20,
            ..Options::new(dir)
        };
        let engine = Lsm::open(&options).unwrap();
        engine.create_space(Space(1)).await.unwrap();
        let mut writes = WriteSet::blind();
        writes.put(Space(1), "key", "value");
        engine.commit(writes).await.unwrap();
        engine.compact(&[Space(1)]).await.unwrap();
        engine.close().await.unwrap();
        dir.join("lsm")
    }

    fn lists(dir: &Path) -> Vec<PathBuf> {
        let mut found = vec![dir.join("version")];
        for tree in trees(dir) {
            let current = tree.join(CURRENT);
            let (id, _) = parsed(&fs::read(&current).unwrap()).unwrap();
            found.extend([current, tree.join(format!("v{id}"))]);
        }
        found
    }

    #[tokio::test]
    async fn every_flipped_bit_of_a_list_is_found_and_its_file_named() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = made(scratch.path()).await;
        check(&dir).unwrap();
        let lists = lists(&dir);
        for path in lists {
            let intact = fs::read(&path).unwrap();
            for at in 0..intact.len() * 8 {
                let mut flipped = intact.clone();
                flipped[at / 8] ^= 1 << (at % 8);
                fs::write(&path, &flipped).unwrap();
                let told = check(&dir).unwrap_err().to_string();
                // A flipped number of a list names a list that is not there.
                let name = path.file_name().unwrap().to_str().unwrap();
                let is_number = name == CURRENT && at < 64;
                assert!(told.contains("damaged"), "{told}");
                assert!(is_number || told.contains(path.to_str().unwrap()), "{told}");
            }
            fs::write(&path, &intact).unwrap();
        }
        check(&dir).unwrap();
    }

    #[tokio::test]
    async fn a_missing_list_is_no_empty_tree() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = made(scratch.path()).await;
        for path in lists(&dir) {
            let away = scratch.path().join("away");
            fs::rename(&path, &away).unwrap();
            let opened = Lsm::open(&Options::new(scratch.path()));
            let told = opened.err().unwrap().to_string();
            assert!(told.contains("is missing"), "{told}");
            fs::rename(&away, &path).unwrap();
        }
        let unfinished = dir.join("keyspaces/1/.tmpabc");
        fs::write(&unfinished, "x").unwrap();
        Lsm::open(&Options::new(scratch.path()))
            .unwrap()
            .close()
            .await
            .unwrap();
        assert!(!unfinished.exists());
    }
}
