//! The rows of a backup or of a data directory that no server has open, without a change to either.
//!
//! Opening a directory changes it: journals are cut and replayed, tables that nobody needs are deleted.
//! So what is opened is a stand-in in the directory for temporary files: its tables are symbolic links,
//! all else is copied. No background work runs there.

use std::fs;
use std::os::unix::fs::symlink;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use fjall::{AbstractTree, Database, Keyspace};
use tempfile::TempDir;

use super::{ENGINE_DIR, TABLES_DIR, TREES_DIR, copy, reading, writing};
use crate::kv::lsm::compression::Compression;
use crate::kv::lsm::options::Options;
use crate::kv::lsm::rows::RowCache;
use crate::kv::lsm::snapshot::{Base, LsmSnapshot};
use crate::kv::lsm::spaces::{self, PREFIX_BYTES};
use crate::kv::lsm::tree::{self, DATA};
use crate::kv::lsm::{LIMITS, damage, estimate, fault, foreign, gone, journal, manifest};
use crate::kv::{
    Answer, Capabilities, Census, CommitError, Engine, Error, Estimate, IsPast, Key, KeyRange,
    Limits, Page, Result, Scan, Snapshot, Space, Spaces, Ts, WriteSet,
};

/// Memory for blocks.
const CACHE_BYTES: u64 = 64 << 20;

/// Memory for single rows.
const ROW_CACHE_BYTES: u64 = 1 << 20;

/// What a stand-in's name begins with.
const PREFIX: &str = "meseta-still-";

/// An engine that reads and does not write.
pub struct Still {
    base: Arc<Base>,
    data: Keyspace,
    names: Arc<Names>,
    swept_ms: u64,
    _db: Database,
    // Last: it is taken away when nobody has its files open.
    _dir: TempDir,
}

/// What one table of the data tree holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The first key.
    pub first: Place,
    /// The last key.
    pub last: Place,
    /// The last key in front of the damage, if it is within the rows and not before all of them.
    pub readable_to: Option<Place>,
}

/// A space and a key in it; no space for what is the engine's own.
type Place = Option<(Space, Key)>;

impl Still {
    /// Opens a backup or a data directory.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`], [`Error::Io`].
    pub fn open(dir: &Path) -> Result<Still> {
        let stand_in = tempfile::Builder::new().prefix(PREFIX).tempdir();
        let stand_in = stand_in
            .map_err(|cause| Error::io("making a directory for temporary files", &cause))?;
        let names = Names {
            dir: dir.display().to_string(),
            stand_in: stand_in.path().display().to_string(),
        };
        let engine_dir = dir.join(ENGINE_DIR);
        let opened = open_in(dir, stand_in.path());
        let (db, data) = opened.map_err(|cause| names.told(cause))?;
        let registry = gone::read_registry(&db, &data);
        let of_file = |cause| damage::at_open_to_read(&engine_dir, names.told(cause));
        let registry = registry.map_err(of_file)?;
        let rows = Arc::new(RowCache::new(ROW_CACHE_BYTES));
        let compression = Compression::open(&engine_dir, Options::new("").memtable_bytes)?;
        let kept = (rows, Arc::new(compression));
        let parts = (kept, (Arc::new(registry.set), Arc::default()));
        let base = Base::take(&db, &data, parts);
        Ok(Still {
            base: Arc::new(base),
            data,
            names: Arc::new(names),
            swept_ms: registry.swept_ms,
            _db: db,
            _dir: stand_in,
        })
    }

    /// By when values had ended for those who wrote or removed by it ([`crate::kv::expiry`]): its rows and
    /// entries agree by that time, and by later ones.
    pub fn swept_ms(&self) -> u64 {
        self.swept_ms
    }

    /// What the table of this id holds, and how far it can be read.
    pub fn extent(&self, table_id: u64) -> Option<Extent> {
        let version = self.data.tree.current_version();
        let table = version.iter_tables().find(|table| table.id() == table_id)?;
        let keys = &table.metadata.key_range;
        let mut readable_to = None;
        for entry in table.scan().ok()? {
            match entry {
                Ok(entry) => readable_to = Some(place(&entry.key.user_key)),
                Err(_) => break,
            }
        }
        Some(Extent {
            first: place(keys.min()),
            last: place(keys.max()),
            readable_to,
        })
    }
}

fn place(physical: &[u8]) -> Place {
    let space = spaces::space_of(physical)?;
    let key = physical.get(PREFIX_BYTES..).unwrap_or_default();
    Some((space, key.to_vec()))
}

/// Where the files are, and where they are read. Errors that name files of the stand-in are told of those
/// that it stands for: it is gone when somebody looks.
struct Names {
    dir: String,
    stand_in: String,
}

impl Names {
    fn told(&self, cause: Error) -> Error {
        let told = |text: String| text.replace(&self.stand_in, &self.dir);
        match cause {
            Error::Corrupt { what } => Error::Corrupt { what: told(what) },
            Error::Io { doing, cause } => Error::Io {
                doing: told(doing),
                cause: told(cause),
            },
            other @ (Error::DiskFull { .. }
            | Error::NoRoom { .. }
            | Error::NoSuchSpace(_)
            | Error::SpaceUsed(_)
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
            | Error::Injected { .. }) => other,
        }
    }
}

/// A snapshot whose errors are told so.
struct Told {
    inner: LsmSnapshot,
    names: Arc<Names>,
}

impl Snapshot for Told {
    fn ts(&self) -> Ts {
        self.inner.ts()
    }

    fn judged_ms(&self) -> Option<u64> {
        self.inner.judged_ms()
    }

    fn has_ended(&self, space: Space, value: &[u8]) -> bool {
        self.inner.has_ended(space, value)
    }

    fn get<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        let found = self.inner.get(space, key);
        found.map(|found| found.map_err(|cause| self.names.told(cause)))
    }

    fn multi_get<'a>(
        &'a self,
        space: Space,
        keys: &'a [Key],
    ) -> Answer<'a, Result<Vec<Option<Bytes>>>> {
        let found = self.inner.multi_get(space, keys);
        found.map(|found| found.map_err(|cause| self.names.told(cause)))
    }

    fn scan<'a>(&'a self, scan: &'a Scan, page: &'a mut Page) -> Answer<'a, Result<()>> {
        let read = self.inner.scan(scan, page);
        read.map(|read| read.map_err(|cause| self.names.told(cause)))
    }

    fn count(&self, space: Space) -> Answer<'_, Result<Option<u64>>> {
        let count = self.inner.count(space);
        count.map(|count| count.map_err(|cause| self.names.told(cause)))
    }
}

fn open_in(dir: &Path, stand_in: &Path) -> Result<(Database, Keyspace)> {
    let dir = dir.canonicalize().map_err(|cause| reading(dir, &cause))?;
    let (from, to) = (dir.join(ENGINE_DIR), stand_in.join(ENGINE_DIR));
    copy::make_dirs(&to.join(TREES_DIR))?;
    copy_files(&from, &to)?;
    for tree in manifest::trees(&from) {
        let to = to
            .join(TREES_DIR)
            .join(tree.file_name().unwrap_or_default());
        copy::make_dirs(&to.join(TABLES_DIR))?;
        copy_files(&tree, &to)?;
        let tables = children(&tree.join(TABLES_DIR))?;
        for table in tables.into_iter().filter(|path| foreign::is_table(path)) {
            let link = to
                .join(TABLES_DIR)
                .join(table.file_name().unwrap_or_default());
            symlink(&table, &link).map_err(|cause| writing(&link, &cause))?;
        }
    }
    // Without them the library would make an empty directory of it.
    manifest::check_version(&to)?;
    journal::check_any(&to)?;
    journal::repair(&to)?;
    open_tree(to).map_err(|cause| damage::at_open_to_read(&from, cause))
}

fn open_tree(engine_dir: PathBuf) -> Result<(Database, Keyspace)> {
    let open = move || {
        let builder = Database::builder(engine_dir)
            .cache_size(CACHE_BYTES)
            .manual_journal_persist(true)
            .worker_threads_unchecked(0);
        let db = builder.open()?;
        let data = db.keyspace(DATA, || tree::keyspace_options(&Options::new("")))?;
        Ok((db, data))
    };
    // As in `lsm`: the library asserts where it should return errors.
    match panic::catch_unwind(AssertUnwindSafe(open)) {
        Ok(Ok(opened)) => Ok(opened),
        Ok(Err(cause)) => Err(fault::error("opening the storage engine", &cause)),
        Err(_) => Err(Error::Corrupt {
            what: "the storage engine could not read its files".to_owned(),
        }),
    }
}

fn children(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).map_err(|cause| reading(dir, &cause))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths
        .collect::<std::io::Result<_>>()
        .map_err(|cause| reading(dir, &cause))
}

/// Copies the files of a directory. The zeros that the library puts behind the last batch of a journal
/// stay away.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for path in children(from)? {
        if !path.is_file() {
            continue;
        }
        let mut bytes = fs::read(&path).map_err(|cause| reading(&path, &cause))?;
        if path.extension().is_some_and(|extension| extension == "jnl") {
            let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
            bytes.truncate(bytes.len() - zeros);
        }
        let to = to.join(path.file_name().unwrap_or_default());
        fs::write(&to, bytes).map_err(|cause| writing(&to, &cause))?;
    }
    Ok(())
}

fn refused() -> Error {
    Error::ReadOnly {
        cause: "it is open to be read and nothing else".to_owned(),
    }
}

impl Engine for Still {
    fn name(&self) -> &'static str {
        "lsm, to be read"
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            persistent: true,
            estimates: true,
        }
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(Told {
            inner: LsmSnapshot::still(Arc::clone(&self.base)),
            names: Arc::clone(&self.names),
        })
    }

    fn get_newest<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        Answer::Now(
            self.base
                .get(space, key)
                .map_err(|cause| self.names.told(cause)),
        )
    }

    fn commit(&self, _: WriteSet) -> Answer<'_, std::result::Result<Ts, CommitError>> {
        Answer::Now(Err(refused().into()))
    }

    fn create_space(&self, _: Space) -> Answer<'_, Result<()>> {
        Answer::Now(Err(refused()))
    }

    fn drop_space(&self, _: Space) -> Answer<'_, Result<()>> {
        Answer::Now(Err(refused()))
    }

    fn spaces(&self) -> Spaces {
        self.base.spaces.spaces()
    }

    fn estimate(&self, space: Space, range: &KeyRange) -> Estimate {
        estimate::estimate(&self.base, space, range)
    }

    fn census(&self, space: Space, is_past: IsPast<'_>) -> Result<Census> {
        let census = self.base.census((space, true), is_past);
        census.map_err(|cause| self.names.told(cause))
    }

    fn compact<'a>(&'a self, _: &'a [Space]) -> Answer<'a, Result<()>> {
        Answer::Now(Err(refused()))
    }

    fn sync(&self) -> Answer<'_, Result<()>> {
        Answer::Now(Ok(()))
    }

    fn close(&self) -> Answer<'_, Result<()>> {
        Answer::Now(Ok(()))
    }
}
