//! Ordered bytes to bytes: the contract between the database and whatever stores its data.
//!
//! Keys live in logical [`Space`]s (one per table and one per index) and are compared as plain
//! bytes. Reads go through a [`Snapshot`], writes are one atomic [`WriteSet`]. Nothing here knows
//! a type, a table or a word of SQL, and no engine's peculiarity shows through: what engines
//! differ in is data ([`Limits`], [`Capabilities`]) that the layers above may ask for.
//!
//! There is no open write transaction inside an engine, and no lock or iterator is held across
//! this seam: a scan arrives in [`Page`]s and says where the next one begins.
//!
//! - [`memory`]: the reference model, simple enough to be obviously right;
//! - [`lsm`]: the embedded engine, durable, with group commit;
//! - [`testing`]: wrappers that record, compare and break any engine, and the contract suite.
//!
//! What a call promises is written at the traits [`Engine`] and [`Snapshot`].

pub mod answer;
pub mod census;
pub mod error;
pub mod expiry;
pub mod guess;
pub mod later;
pub mod lsm;
pub mod memory;
pub mod page;
pub mod stats;
pub mod testing;
pub mod write_set;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;

pub use answer::Answer;
pub use census::{Census, IsPast};
pub use error::{Advice, CommitError, Error};
pub use page::{KeyRange, Page, Scan, ScanOptions};
pub use stats::Stats;
pub use write_set::{Put, WriteSet};

/// What calls of this room return.
pub type Result<T> = std::result::Result<T, Error>;

/// The bytes of one key, without its space.
pub type Key = Vec<u8>;

/// One ordered set of keys: a table or an index. The number is chosen by the caller and is never
/// used again once its space was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Space(pub u32);

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// A point in the order of commits. A snapshot sees exactly the commits whose timestamp is not
/// greater than its own. Timestamps mean nothing outside the engine that gave them, and nothing
/// after that engine was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ts(pub u64);

/// The sizes an engine accepts; past them a commit is refused with [`CommitError::TooLarge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one key.
    pub key_bytes_max: usize,
    /// Bytes of one value.
    pub value_bytes_max: usize,
    /// Bytes of all keys and values of one write set.
    pub write_set_bytes_max: usize,
}

/// What an engine can do beyond the contract; data for the layers above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Acknowledged commits survive the end of the process.
    pub persistent: bool,
    /// [`Engine::estimate`] answers from real sizes and not from a constant guess.
    pub estimates: bool,
}

/// A guess about a key range, made without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Estimate {
    /// Live keys, roughly.
    pub rows: u64,
    /// Bytes stored for them, roughly.
    pub bytes: u64,
}

/// A copy of one committed state in files of its own ([`Engine::checkpoint`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// The state: the commits that are not after it.
    pub ts: Ts,
    /// Files of the copy.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// Which spaces there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spaces {
    /// The spaces that can be read and written, ascending.
    pub live: Vec<Space>,
    /// One above the highest id that was ever created, dropped ones included.
    pub next: Space,
}

/// A store of ordered bytes. All methods take `&self` and may be called from any thread.
///
/// # Contract
///
/// - A commit is atomic over all spaces: a snapshot sees all of it or nothing.
/// - After `commit` answered, every later [`Engine::snapshot`] and [`Engine::get_newest`] sees
///   it, and on a persistent engine in durable mode it survives a power cut.
/// - After an I/O failure on the write path nothing is acknowledged any more: the engine reads
///   on, and every later write answers [`Error::ReadOnly`].
/// - Space ids are used once. A space that was dropped is gone for every later snapshot
///   ([`Error::NoSuchSpace`]); a snapshot taken before reads it to its end.
pub trait Engine: Send + Sync + 'static {
    /// The engine's name, for people: logs and the console.
    fn name(&self) -> &'static str;

    /// The sizes this engine accepts.
    fn limits(&self) -> Limits;

    /// What this engine can do beyond the contract.
    fn capabilities(&self) -> Capabilities;

    /// What it tells of itself. May look at files' sizes, and so wait for the disk; reads no data.
    fn stats(&self) -> Stats {
        Stats::default()
    }

    /// Why nothing is written any more; `None` while writes are taken. Waits for nothing.
    fn read_only(&self) -> Option<String> {
        None
    }

    /// Whether nothing is written any more for want of room, and there is room again: opened anew it would
    /// write. Asks the file system.
    fn would_write_again(&self) -> bool {
        false
    }

    /// Whether so many bytes more can be written beside the engine, where its files are, with what its own work
    /// needs left. Asks the file system.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`]; [`Error::Closed`].
    fn check_room(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// The newest committed state, held fast for as long as the snapshot lives.
    fn snapshot(&self) -> Arc<dyn Snapshot>;

    /// What is told about values that end by themselves; `None` when none do.
    fn expiry(&self) -> Option<&Arc<expiry::Expiry>> {
        None
    }

    /// From now on the values of these spaces, and of no others, are kept compressed by zstd, from when their
    /// files are next written anew. For engines that have it; nobody sees a difference.
    fn compress(&self, _spaces: HashSet<Space>) {}

    /// One key in the newest committed state: the cheapest read there is.
    fn get_newest<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>>;

    /// As [`Engine::get_newest`], of a value that has ended too, as long as it is stored.
    fn get_with_past<'a>(
        &'a self,
        space: Space,
        key: &'a [u8],
    ) -> Answer<'a, Result<Option<Bytes>>> {
        self.get_newest(space, key)
    }

    /// Applies a write set, or none of it. Never waits for another transaction.
    ///
    /// # Errors
    ///
    /// [`CommitError`] says which check failed, or that it is unknown whether the set was applied.
    fn commit(&self, writes: WriteSet) -> Answer<'_, std::result::Result<Ts, CommitError>>;

    /// Makes an empty space.
    ///
    /// # Errors
    ///
    /// [`Error::SpaceUsed`] when the id exists or has existed.
    fn create_space(&self, space: Space) -> Answer<'_, Result<()>>;

    /// As [`Engine::create_space`], of a space that nobody looks for after a crash: nothing waits for the
    /// disk, and a crash may undo it with all that was written to the space.
    fn create_passing_space(&self, space: Space) -> Answer<'_, Result<()>> {
        self.create_space(space)
    }

    /// As [`Engine::drop_space`], of such a space: after a crash it may be there again.
    fn drop_passing_space(&self, space: Space) -> Answer<'_, Result<()>> {
        self.drop_space(space)
    }

    /// Forgets a space and all its keys at once; the disk space comes back in the background.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchSpace`].
    fn drop_space(&self, space: Space) -> Answer<'_, Result<()>>;

    /// The spaces there are now.
    fn spaces(&self) -> Spaces;

    /// A guess about the size of a range. Never blocks and never reads data.
    fn estimate(&self, space: Space, range: &KeyRange) -> Estimate;

    /// What a space holds now, live and dead: exact for a small one, else guessed from samples, with
    /// bounds. Blocks, and reads data: some 130,000 entries or 8 MiB, and samples of as many bytes where
    /// there is more; while files are being written it waits for them, a tenth of a second at most.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchSpace`]; those of the disk.
    fn census(&self, space: Space, is_past: IsPast<'_>) -> Result<Census>;

    /// Removes deleted and overwritten entries of these spaces from the disk, as far as no snapshot can
    /// see them. To be asked once for all that belongs together: an engine that cannot tell spaces
    /// apart in its files (`lsm`) rewrites all of them, however few spaces are named.
    fn compact<'a>(&'a self, spaces: &'a [Space]) -> Answer<'a, Result<()>>;

    /// Puts a copy of the newest committed state into a directory, which is made, or must be empty;
    /// commits go on meanwhile. `None` from an engine without files. Once `is_over` is set the copy is
    /// given up, and taken away by the time of the answer; so it is, some time, when nobody waits for
    /// the answer any more.
    ///
    /// # Errors
    ///
    /// [`Error::NotEmpty`], [`Error::HalfBackup`], [`Error::HalfRestored`], [`Error::IsFile`]; [`Error::Io`],
    /// [`Error::DiskFull`], [`Error::NoRoom`].
    fn checkpoint<'a>(
        &'a self,
        _dir: &'a Path,
        _is_over: &'a Arc<AtomicBool>,
    ) -> Answer<'a, Result<Option<Checkpoint>>> {
        Answer::Now(Ok(None))
    }

    /// Makes everything acknowledged so far survive a power cut, also in async mode.
    fn sync(&self) -> Answer<'_, Result<()>>;

    /// It is to be closed soon: from now on what takes long, and what nobody needs for that, is given up, with
    /// [`Error::Closed`] for whoever waits for it. Commits go on. Waits for nothing.
    fn hurry(&self) {}

    /// Finishes waiting commits, syncs, and refuses every later call with [`Error::Closed`].
    /// Closing twice is fine.
    fn close(&self) -> Answer<'_, Result<()>>;
}

/// One committed state of all spaces.
///
/// A call on a space that did not exist in this state answers [`Error::NoSuchSpace`].
pub trait Snapshot: Send + Sync {
    /// Which commits this snapshot sees: those not after it.
    fn ts(&self) -> Ts;

    /// As of when values were left out of what it answered because they had ended, in milliseconds since
    /// 1970; `None` when none were. What is written by such answers says so ([`WriteSet::judged_ms`]).
    fn judged_ms(&self) -> Option<u64>;

    /// Whether a value that is not committed yet has ended for this snapshot, as one that it would leave out.
    fn has_ended(&self, space: Space, value: &[u8]) -> bool;

    /// The value of one key.
    fn get<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>>;

    /// The values of many keys, in the order asked, with `None` for each missing one. Keys may
    /// repeat and need not be sorted. An answer is shorter than the keys where the values that are read for
    /// it come to more than [`page::PAGE_BYTES`], but never empty when there is a key: who wants the others
    /// asks for them again ([`multi_get_all`]).
    fn multi_get<'a>(
        &'a self,
        space: Space,
        keys: &'a [Key],
    ) -> Answer<'a, Result<Vec<Option<Bytes>>>>;

    /// Fills `page` with the first rows of the scan, in its direction. [`Page::rest`] then says
    /// what is left. A page holds at least one row when there is one, however large.
    fn scan<'a>(&'a self, scan: &'a Scan, page: &'a mut Page) -> Answer<'a, Result<()>>;

    /// How many keys a space has, without looking at them: known as long as every commit since the
    /// space was made, or counted, has said how the number changes ([`WriteSet::growth`]).
    fn count(&self, space: Space) -> Answer<'_, Result<Option<u64>>>;
}

/// Keys that one of many multi-gets is asked for: an answer may have the first of them only, and the rest are
/// asked for again.
const MULTI_GET_KEYS_MAX: usize = 4096;

/// What to ask for next of many keys, the first of which are answered; `None` when all are.
pub fn some_keys(keys: &[Key], answered: usize) -> Option<&[Key]> {
    let rest = keys.get(answered..).filter(|rest| !rest.is_empty())?;
    rest.get(..MULTI_GET_KEYS_MAX).or(Some(rest))
}

/// The values of all of many keys, however large they are: [`Snapshot::multi_get`] again and again.
///
/// # Errors
/// Those of the engine.
pub async fn multi_get_all(
    snapshot: &dyn Snapshot,
    space: Space,
    keys: &[Key],
) -> Result<Vec<Option<Bytes>>> {
    let mut values = Vec::with_capacity(keys.len());
    while let Some(next) = some_keys(keys, values.len()) {
        values.extend(snapshot.multi_get(space, next).await?);
    }
    Ok(values)
}
