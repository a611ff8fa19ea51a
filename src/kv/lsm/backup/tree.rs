//! The storage library's own list of a tree's tables, with the checksum of each, read from its files.
//!
//! Numbers are little-endian (lsm-tree 3.1.10, sfa 1.0):
//!
//! ```text
//! current   id:u64 checksum:u128 00          the list in force, and the xxh3-128 of its file
//! v<id>     sections, contents, trailer
//! trailer   "SFA!" 01 00 checksum:u128 contents_at:u64 contents_len:u64
//! contents  "TOC!" count:u32 (at:u64 len:u64 name_len:u16 name)*
//! "tables"  levels:u8 (runs:u8 (tables:u32 (id:u64 00 checksum:u128 seqno:u64)*)*)*
//! ```

#![expect(
    clippy::little_endian_bytes,
    reason = "this file reads the list of tables in the storage library's format"
)]

use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

const CURRENT_FILE: &str = "current";
const TRAILER_BYTES: usize = 4 + 1 + 1 + 16 + 8 + 8;

/// What a tree consists of.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::kv::lsm) struct Tree {
    /// The name of the list's file, and its bytes.
    pub(super) version: (String, Vec<u8>),
    /// The file that names it.
    pub(super) current: Vec<u8>,
    pub(in crate::kv::lsm) tables: Vec<TableFile>,
}

/// A table of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kv::lsm) struct TableFile {
    pub(in crate::kv::lsm) id: u64,
    pub(in crate::kv::lsm) checksum: u128,
}

/// Why there is no list: the file, and what is wrong with it.
#[derive(Debug)]
pub(in crate::kv::lsm) struct Broken {
    pub(super) path: PathBuf,
    pub(super) what: String,
}

impl Tree {
    /// Reads the list of the tree in `dir`.
    ///
    /// # Errors
    ///
    /// [`Broken`].
    pub(in crate::kv::lsm) fn read(dir: &Path) -> Result<Tree, Broken> {
        let path = dir.join(CURRENT_FILE);
        let current = read(&path)?;
        let Some((id, checksum)) = decode_current(&current) else {
            return Err(broken(path, "it does not name a list of tables"));
        };
        let path = dir.join(version_name(id));
        let version = read(&path)?;
        if xxh3_128(&version) != checksum {
            return Err(broken(
                path,
                "its checksum is not the one it was written with",
            ));
        }
        match Tree::of(id, version) {
            Some(tree) => Ok(tree),
            None => Err(broken(path, "it is not a list of tables")),
        }
    }

    /// The tree that the list `version` of this id is of.
    pub(super) fn of(id: u64, version: Vec<u8>) -> Option<Tree> {
        Some(Tree {
            tables: decode_tables(section(&version, b"tables")?)?,
            current: encode_current(id, xxh3_128(&version)),
            version: (version_name(id), version),
        })
    }

    /// The name of the file of `current`.
    pub(super) fn current_name() -> &'static str {
        CURRENT_FILE
    }
}

/// The name of the list's file.
pub(super) fn version_name(id: u64) -> String {
    format!("v{id}")
}

fn read(path: &Path) -> Result<Vec<u8>, Broken> {
    fs::read(path).map_err(|cause| broken(path.to_path_buf(), &format!("cannot be read: {cause}")))
}

fn broken(path: PathBuf, what: &str) -> Broken {
    let what = what.to_owned();
    Broken { path, what }
}

fn encode_current(id: u64, checksum: u128) -> Vec<u8> {
    let mut bytes = id.to_le_bytes().to_vec();
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.push(0);
    bytes
}

fn decode_current(bytes: &[u8]) -> Option<(u64, u128)> {
    let mut cursor = Cursor(bytes);
    let id = cursor.u64()?;
    let checksum = cursor.u128()?;
    (cursor.u8()? == 0 && cursor.0.is_empty()).then_some((id, checksum))
}

fn section<'a>(file: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let trailer_at = file.len().checked_sub(TRAILER_BYTES)?;
    let mut trailer = Cursor(file.get(trailer_at..)?);
    if trailer.take::<6>()? != *b"SFA!\x01\x00" {
        return None;
    }
    trailer.u128()?;
    let contents_at = usize::try_from(trailer.u64()?).ok()?;
    let mut contents = Cursor(file.get(contents_at..trailer_at)?);
    if contents.take::<4>()? != *b"TOC!" {
        return None;
    }
    for _ in 0..contents.u32()? {
        let start = usize::try_from(contents.u64()?).ok()?;
        let len = usize::try_from(contents.u64()?).ok()?;
        let name_len = usize::from(contents.u16()?);
        let (name, rest) = contents.0.split_at_checked(name_len)?;
        contents.0 = rest;
        if name == wanted {
            return file.get(start..start.checked_add(len)?);
        }
    }
    None
}

fn decode_tables(section: &[u8]) -> Option<Vec<TableFile>> {
    let mut cursor = Cursor(section);
    let mut tables = Vec::new();
    for _ in 0..cursor.u8()? {
        for _ in 0..cursor.u8()? {
            for _ in 0..cursor.u32()? {
                let id = cursor.u64()?;
                if cursor.u8()? != 0 {
                    return None;
                }
                let checksum = cursor.u128()?;
                cursor.u64()?;
                tables.push(TableFile { id, checksum });
            }
        }
    }
    cursor.0.is_empty().then_some(tables)
}

/// What is left to be read.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn u128(&mut self) -> Option<u128> {
        self.take().map(u128::from_le_bytes)
    }
}
