//! Which file is damaged, once reading has met damage: the storage library says that a checksum does not
//! fit, and not where; or it cannot open a directory at all.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;

use fjall::AbstractTree;
use lsm_tree::{AnyTree, Table};
use xxhash_rust::xxh3::Xxh3;

use super::backup::Tree;
use super::directory::TABLES_DIR;
use super::{fault, foreign, manifest, spaces};
use crate::kv::{Error, Result, Scan};

/// Files that are read to find the damaged one; a read of one key meets at most a few.
const FILES_MAX: usize = 32;

/// Bytes that are read to find it where a directory cannot be opened, unless one file alone has more: some
/// seconds. `meseta check` reads them all.
const OPENING_BYTES_MAX: u64 = 8 << 30;

/// What is read of a file at once.
const READ_BYTES: usize = 1 << 20;

/// What a failed read of the physical keys between `start` and `until`, both in, means. Where the bytes
/// are damaged, the file is named.
pub(super) fn error(
    tree: &AnyTree,
    (start, until): (&[u8], &[u8]),
    (doing, cause): (&str, &fjall::Error),
) -> Error {
    let found = fault::error(doing, cause);
    let Error::Corrupt { what } = &found else {
        return found;
    };
    if fault::is_carried(cause) {
        // It has the name of what is damaged.
        return found;
    }
    let version = tree.current_version();
    let is_met = |table: &&Table| {
        let range = &table.metadata.key_range;
        range.min().as_ref() <= until && start <= range.max().as_ref()
    };
    let mut tables = version.iter_tables().filter(is_met).take(FILES_MAX);
    let Some(path) = tables.find_map(damaged) else {
        return found;
    };
    let path = path.display();
    tracing::error!(file = %path, "a file of rows is damaged");
    Error::Corrupt {
        what: format!("file {path}: {what}"),
    }
}

/// What a failed scan means.
pub(super) fn of_scan(tree: &AnyTree, scan: &Scan, cause: &fjall::Error) -> Error {
    let (start, until) = spaces::physical_range(scan.space, &scan.range);
    error(tree, (&start, &until), ("scanning", cause))
}

/// What it means that a directory cannot be opened. A file that is damaged is named, or it is told how to find
/// one. There is no tree to ask, only the lists of the trees' files.
pub(super) fn at_open(engine_dir: &Path, cause: Error) -> Error {
    match (named(engine_dir, &cause), cause) {
        (Some(named), _) => named,
        (None, Error::Corrupt { what }) => {
            let what = format!("{what}; `meseta check` with the data directory reads every file");
            Error::Corrupt { what }
        }
        (None, cause) => cause,
    }
}

/// As [`at_open`] for who reads every file anyway, or copies it: there is no check to advise.
pub(super) fn at_open_to_read(engine_dir: &Path, cause: Error) -> Error {
    named(engine_dir, &cause).unwrap_or(cause)
}

/// The same error with the name of a file that is damaged, if one is found, or why none can be looked for.
fn named(engine_dir: &Path, cause: &Error) -> Option<Error> {
    let what = if let Error::Corrupt { what } = cause {
        what.clone()
    } else if let Error::Io { doing, cause } = cause {
        // Where a length is damaged, the library reads behind the end of a file.
        format!("{cause}, met while {doing}")
    } else {
        return None;
    };
    let path = match damaged_of_lists(engine_dir) {
        Ok(path) => path?,
        Err(unreadable) => return Some(unreadable),
    };
    let what = format!("file {}: {what}", path.display());
    Some(Error::Corrupt { what })
}

/// Looks at the lists of a directory that was complete once, and at all of the files that have the names of the
/// trees: they are small, and the library reads a part of them. What is no file of the trees is no damage, and told.
///
/// # Errors
///
/// [`Error::ForeignFile`], [`Error::Corrupt`] name the file; [`Error::Io`].
pub(super) fn check_lists(engine_dir: &Path) -> Result<()> {
    foreign::check(engine_dir)?;
    manifest::check(engine_dir)?;
    let files = files_of(&manifest::names_tree(engine_dir));
    match first_damaged(files)? {
        None => Ok(()),
        Some(path) => Err(Error::Corrupt {
            what: format!("file {}: a checksum does not fit", path.display()),
        }),
    }
}

/// What it means that a compaction failed: as [`at_open`].
pub(super) fn in_compaction(engine_dir: &Path, cause: Error) -> Error {
    if let Error::Corrupt { .. } = &cause {
        return at_open(engine_dir, cause);
    }
    cause
}

/// Whether the storage library speaks of stored bytes when it tells of a failure.
pub(super) fn is_told_by(text: &str) -> bool {
    ["Checksum", "Invalid", "Decompress", "Unrecoverable"]
        .iter()
        .any(|word| text.contains(word))
}

/// Names the damaged file in the log, some time: nobody waits for it.
pub(super) fn name_beside(engine_dir: PathBuf) {
    let named = thread::Builder::new().name("meseta-damage".to_owned());
    let looking = named.spawn(move || match damaged_of_lists(&engine_dir) {
        Ok(Some(path)) => tracing::error!(file = %path.display(), "a file of rows is damaged"),
        Ok(None) => {}
        Err(cause) => tracing::error!(%cause, "the damaged file was not found"),
    });
    if let Err(cause) = looking {
        tracing::error!(%cause, "nobody looks for the damaged file");
    }
}

/// The first file that is not what its list says.
fn damaged_of_lists(engine_dir: &Path) -> Result<Option<PathBuf>> {
    let files = manifest::trees(engine_dir).flat_map(|dir| files_of(&dir));
    first_damaged(files.collect())
}

/// The files of a tree as its list knows them: length, place and checksum.
fn files_of(tree_dir: &Path) -> Vec<(u64, PathBuf, u128)> {
    let tables = Tree::read(tree_dir).map(|tree| tree.tables);
    let tables = tables.unwrap_or_default().into_iter();
    let files = tables.map(|table| {
        let path = tree_dir.join(TABLES_DIR).join(table.id.to_string());
        let bytes = fs::metadata(&path).map_or(0, |found| found.len());
        (bytes, path, table.checksum)
    });
    files.collect()
}

/// The first of them that is not what was written, small files first: opening reads little of large ones.
fn first_damaged(mut files: Vec<(u64, PathBuf, u128)>) -> Result<Option<PathBuf>> {
    files.sort_unstable();
    let mut left = OPENING_BYTES_MAX;
    for (bytes, path, written) in files {
        match checksum(&path) {
            Ok(found) if found == written => {}
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io(format!("reading {}", path.display()), &cause));
            }
            Ok(_) | Err(_) => return Ok(Some(path)),
        }
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => break,
        }
    }
    Ok(None)
}

/// Where a file is, when it is not what was written.
fn damaged(table: &Table) -> Option<PathBuf> {
    let is_intact = checksum(&table.path).is_ok_and(|found| found == table.checksum().into_u128());
    (!is_intact).then(|| table.path.to_path_buf())
}

fn checksum(path: &Path) -> io::Result<u128> {
    let mut file = File::open(path)?;
    let mut hasher = Xxh3::new();
    let mut bytes = vec![0; READ_BYTES];
    loop {
        let count = file.read(&mut bytes)?;
        match bytes.get(..count) {
            Some(read) if 0 < count => hasher.update(read),
            Some(_) | None => return Ok(hasher.digest128()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::lsm::{Lsm, Options};
    use crate::kv::{Engine, Space, WriteSet};

    /// So many bits are between two that are flipped.
    const STEP_BITS: usize = 499;

    /// So many rows in files, and these files.
    async fn closed(dir: &Path, rows: u32) -> Vec<PathBuf> {
        let engine = Lsm::open(&options(dir)).unwrap();
        engine.create_space(Space(1)).await.unwrap();
        let mut writes = WriteSet::blind();
        for number in 0..rows {
            writes.put(Space(1), number.to_string(), vec![b'v'; 10]);
        }
        engine.commit(writes).await.unwrap();
        engine.compact(&[Space(1)]).await.unwrap();
        engine.close().await.unwrap();
        let mut tables = Vec::new();
        for tree in manifest::trees(&dir.join("lsm")) {
            let dir = tree.join(TABLES_DIR);
            let files = fs::read_dir(dir).into_iter().flatten();
            tables.extend(files.map(|file| file.unwrap().path()));
        }
        tables
    }

    fn options(dir: &Path) -> Options {
        Options {
            cache_bytes: 1 << 20,
            ..Options::new(dir)
        }
    }

    #[tokio::test]
    async fn a_table_that_keeps_the_engine_from_opening_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("data");
        let tables = closed(&dir, 100).await;
        assert!(!tables.is_empty());
        let (mut named, copy) = (0, scratch.path().join("copy"));
        for path in tables {
            let bytes = fs::read(&path).unwrap();
            for bit in (0..bytes.len() * 8).step_by(STEP_BITS) {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let status = std::process::Command::new("cp")
                    .arg("-a")
                    .args([&dir, &copy])
                    .status();
                assert!(status.unwrap().success());
                let path = copy.join(path.strip_prefix(&dir).unwrap());
                fs::write(&path, flipped).unwrap();
                match Lsm::open(&options(&copy)) {
                    Ok(engine) => {
                        // Those of the other tree are read as far as that is needed.
                        let never_half_read = manifest::names_tree(&copy.join("lsm"));
                        assert!(!path.starts_with(never_half_read), "bit {bit} of {path:?}");
                        engine.close().await.unwrap();
                    }
                    Err(cause) => {
                        expect_named(&cause, &path);
                        named += 1;
                    }
                }
                fs::remove_dir_all(&copy).unwrap();
            }
        }
        assert!(0 < named);
    }

    /// Mechanism: the spaces are read when an engine is opened, and lie in the first block; only who reads rows meets
    /// another. A compaction told that a checksum did not fit, and not of which file.
    #[tokio::test]
    async fn a_table_that_a_compaction_cannot_read_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("data");
        let size = |path: &PathBuf| fs::metadata(path).unwrap().len();
        let tables = closed(&dir, 10_000).await;
        let path = tables.into_iter().max_by_key(size).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
        let engine = Lsm::open(&options(&dir)).unwrap();
        assert!(engine.shared.reclaim.may_rewrite());
        let cause = engine.compact(&[Space(1)]).await.unwrap_err();
        expect_named(&cause, &path);
        // What it has written stays: the next one is not begun unasked.
        assert!(!engine.shared.reclaim.may_rewrite());
        engine.close().await.unwrap();
    }

    fn expect_named(cause: &Error, path: &Path) {
        let told = cause.to_string();
        assert!(told.contains(path.to_str().unwrap()), "{told}");
    }

    #[test]
    fn damage_is_known_by_the_words_of_the_library() {
        let [got, expected] = [1, 2].map(lsm_tree::Checksum::from_raw);
        for cause in [
            lsm_tree::Error::ChecksumMismatch { got, expected },
            lsm_tree::Error::InvalidHeader("block"),
            lsm_tree::Error::InvalidTrailer,
            lsm_tree::Error::InvalidTag(("block type", 9)),
            lsm_tree::Error::Unrecoverable,
        ] {
            let cause = fjall::Error::Storage(cause);
            assert!(
                is_told_by(&format!("Worker #1 crashed: {cause:?}")),
                "{cause:?}"
            );
        }
        let io = io::Error::from_raw_os_error(5);
        assert!(!is_told_by(&format!(
            "Worker #1 crashed: {:?}",
            fjall::Error::Io(io)
        )));
    }
}
