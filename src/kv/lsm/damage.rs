//! Which file is damaged, once reading has met damage: the storage library says that a checksum does not
//! fit, and not where.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use fjall::AbstractTree;
use lsm_tree::{AnyTree, Table};
use xxhash_rust::xxh3::Xxh3;

use super::{fault, spaces};
use crate::kv::{Error, Scan};

/// Files that are read to find the damaged one; a read of one key meets at most a few.
const FILES_MAX: usize = 32;

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

/// Where a file is, when it is not what was written.
fn damaged(table: &Table) -> Option<PathBuf> {
    let is_intact = checksum(table).is_ok_and(|found| found == table.checksum().into_u128());
    (!is_intact).then(|| table.path.to_path_buf())
}

fn checksum(table: &Table) -> io::Result<u128> {
    let mut file = File::open(&*table.path)?;
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
