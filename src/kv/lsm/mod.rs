//! The embedded engine: durable, ordered, in this process; an LSM tree with group commit in front.
//!
//! The tree is the `fjall` crate's. What is here makes it keep the contract:
//!
//! - [`Options`] and `directory`: where the data lives, whose it is, how much memory it takes;
//! - `tree`: how the crate is set up;
//! - `journal`: cuts a torn tail before the crate would stumble over it;
//! - `manifest` and `damage`: damaged files are found where the crate does not look, and named;
//! - `room`: refuses what the disk has no room for, before the crate would stumble over that;
//! - `committer` with `queue` and `recent`: one batch and one sync for all commits that wait;
//! - `snapshot`: reads, always between two batches;
//! - `files`: long scans, straight from the files;
//! - `rows`: single rows that were read lately, in front of the tree;
//! - `estimate`: the size of a range, from what the files say about themselves;
//! - `stats` and `read_only`: what it tells of itself;
//! - `range`: the rows of a range in their order;
//! - `sparse` and `thin`: ranges of which nearly all is dead, and the rows that are alive in them;
//! - `backup`: copies of the files, made while commits go on, and what is done with them;
//! - `spaces` and `reclaim`: many spaces in one tree, and their room back when they are dropped;
//! - `writeback`: tables go to the disk while they grow, so that no commit waits for a whole one;
//! - `compaction` and `compression`: what becomes of entries when files are rewritten.
//!
//! Nothing above this module sees the crate.

mod absent;
mod backup;
mod committer;
mod compaction;
mod compression;
mod counts;
mod damage;
mod directory;
mod estimate;
mod fault;
mod files;
mod foreign;
mod gone;
mod id_ranges;
mod journal;
mod manifest;
mod options;
mod queue;
mod range;
mod read_only;
mod recent;
mod reclaim;
mod room;
mod rows;
mod snapshot;
mod spaces;
mod sparse;
mod stats;
mod thin;
mod told;
mod tree;
mod writeback;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use bytes::Bytes;
use fjall::{Database, Keyspace};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Semaphore, oneshot};

pub use backup::is_any as is_backup_dir;
pub use backup::{
    Backup, Damage, Extent, Progress, Still, Verified, marks_backup, restore, verify,
};
pub use directory::{is_data as is_data_dir, is_half_restored};
pub use foreign::owner_of;
pub use options::{Durability, Options};

use self::compaction::Rules;
use self::compression::Compression;
use self::directory::DirectoryLock;
use self::gone::Gone;
use self::queue::{Commit, Outcome, Queue, Request, Waits};
use self::read_only::Failed;
use self::reclaim::{Job, Reclaim};
use self::room::Room;
use self::room::pause::Floor;
use self::rows::RowCache;
use self::snapshot::{Base, LsmSnapshot};
use self::spaces::{DeadSpaces, Registry};
use self::stats::Commits;
use self::thin::Suspect;
use self::writeback::Writeback;
use super::expiry::Expiry;
use super::{
    Answer, Capabilities, Census, Checkpoint, CommitError, Engine, Error, Estimate, IsPast,
    KeyRange, Limits, Result, Snapshot, Space, Spaces, Stats, WriteSet,
};

/// A row is at most 64 MiB and a key 30 KiB (docs/limits.md); the storage library takes keys below
/// 64 KiB. A write set is held in memory some three times while it is written.
const LIMITS: Limits = Limits {
    key_bytes_max: 32 << 10,
    value_bytes_max: 65 << 20,
    write_set_bytes_max: 256 << 20,
};

/// Memory that commits may take while they wait; the next one waits outside. Not less than one
/// write set at its limit.
const WAITING_KIB_MAX: usize = 272 << 10;

/// What a commit counts for in the waiting line beside its bytes: bounds the number that waits.
const COMMIT_KIB: usize = 1;

/// The embedded engine.
pub struct Lsm {
    shared: Arc<Shared>,
}

/// What callers and the engine's threads share.
struct Shared {
    /// The state that readers see. `None` once closed.
    base: RwLock<Option<Arc<Base>>>,
    queue: Queue,
    waiting: Arc<Semaphore>,
    dead: DeadSpaces,
    /// Spaces that were dropped before the engine was opened, and of which nothing was left then.
    gone: Gone,
    reclaim: Reclaim,
    /// Where compactions learn that nothing is written any more, or that the engine is to end.
    floor: Arc<Floor>,
    /// Which values have ended.
    expiry: Option<Arc<Expiry>>,
    compression: Arc<Compression>,
    /// When the next range that a reader met is looked at.
    next_look: Mutex<Option<Instant>>,
    /// How often spaces were looked at for values that have ended.
    looks: AtomicUsize,
    /// Why nothing is written any more.
    read_only: RwLock<Option<Failed>>,
    lock: Mutex<Option<DirectoryLock>>,
    commits: Commits,
    /// For what the tree tells of itself. `None` once closed.
    tree: Mutex<Option<(Database, Keyspace)>>,
    /// `None` once closed, too.
    writeback: Mutex<Option<Writeback>>,
    /// Where its files are.
    engine_dir: PathBuf,
}

/// What the committer starts with.
struct Opened {
    db: Database,
    data: Keyspace,
    base: Arc<Base>,
    engine_dir: PathBuf,
    room: Room,
    durability: Durability,
    sync_interval: Duration,
    memtables_bytes_max: u64,
}

impl Lsm {
    /// Opens a data directory, making it when there is none, and repairing what a power cut left.
    /// Blocks; the longest part is reading the journals back.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`], [`Error::ForeignDirectory`], [`Error::ForeignFile`], [`Error::OtherFormat`],
    /// [`Error::Unwritable`], [`Error::Corrupt`], [`Error::Io`].
    pub fn open(options: &Options) -> Result<Lsm> {
        told::listen();
        let mut lock = directory::claim(&options.dir)?;
        let engine_dir = lock.engine_dir();
        look_at_files(&engine_dir, &lock)?;
        let dead = DeadSpaces::default();
        let floor = Arc::new(Floor::new(&options.dir, options.memtables_bytes_max()));
        let compression = Arc::new(Compression::open(&engine_dir, options.memtable_bytes)?);
        let rules = Rules {
            dead: dead.clone(),
            expiry: options.expiry.clone(),
            compression: Arc::clone(&compression),
            floor: Arc::clone(&floor),
        };
        let ((db, data), registry) = open_tree(&engine_dir, options, rules)?;
        dead.extend(registry.dead.iter().copied());
        lock.seal()?;
        let rows = Arc::new(RowCache::new(options.row_cache_bytes()));
        let kept = (rows, Arc::clone(&compression));
        let parts = (kept, (Arc::new(registry.set), Arc::default()));
        let base = Arc::new(Base::take(&db, &data, parts));
        let shared = Arc::new(Shared {
            base: RwLock::new(Some(Arc::clone(&base))),
            queue: Queue::default(),
            waiting: Arc::new(Semaphore::new(WAITING_KIB_MAX)),
            dead,
            gone: registry.gone,
            reclaim: Reclaim::default(),
            floor: Arc::clone(&floor),
            expiry: options.expiry.clone(),
            compression,
            next_look: Mutex::default(),
            looks: AtomicUsize::new(0),
            read_only: RwLock::new(None),
            lock: Mutex::new(Some(lock)),
            commits: Commits::default(),
            tree: Mutex::new(Some((db.clone(), data.clone()))),
            writeback: Mutex::new(Writeback::start(data.path())),
            engine_dir: engine_dir.clone(),
        });
        let means = (Arc::downgrade(&shared), data.clone());
        let owed = (registry.dead.into_iter().collect(), options.memtable_bytes);
        shared.reclaim.start(means, owed)?;
        let opened = Opened {
            db,
            data,
            base,
            engine_dir,
            room: Room::new(&options.dir, options.vital, floor),
            durability: options.durability,
            sync_interval: options.async_sync_interval,
            memtables_bytes_max: options.memtables_bytes_max(),
        };
        committer::start(Arc::clone(&shared), opened)?;
        Ok(Lsm { shared })
    }

    fn base(&self) -> Result<Arc<Base>> {
        self.shared.base.read().clone().ok_or(Error::Closed)
    }

    /// Puts a request to the committer in line and waits for its answer.
    async fn ask(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<()>>) -> Request,
    ) -> Result<()> {
        let (sender, answer) = oneshot::channel();
        self.shared.queue.push(request(sender))?;
        answer.await.unwrap_or_else(|_| Err(self.shared.silence()))
    }
}

/// Looks at the files before the storage library does, and cuts what a power cut left.
fn look_at_files(engine_dir: &Path, lock: &DirectoryLock) -> Result<()> {
    if lock.was_sealed() {
        damage::check_lists(engine_dir)?;
        journal::check_any(engine_dir)?;
    }
    if let Some(cut) = journal::repair(engine_dir)? {
        tracing::warn!(
            journal = %cut.path.display(), at = cut.at, bytes = cut.bytes,
            "cut the unfinished end of the journal, left by a crash"
        );
    }
    Ok(())
}

/// Opens the tree, and reads what the registry in it says.
fn open_tree(
    engine_dir: &Path,
    options: &Options,
    rules: Rules,
) -> Result<((Database, Keyspace), Registry)> {
    let compression = Arc::clone(&rules.compression);
    let named = |cause| damage::at_open(engine_dir, cause);
    let (db, data) = tree::open(engine_dir, options, rules).map_err(named)?;
    let mut registry = gone::read_registry(&db, &data).map_err(named)?;
    registry.tell(options.expiry.as_deref());
    compression.retain(|space| registry.set.check(space).is_ok())?;
    // It saves room, and can wait until there is some.
    if room::check_fits(engine_dir, 0).is_ok() {
        gone::forget_empty(&db, &data, &mut registry).map_err(named)?;
    }
    Ok(((db, data), registry))
}

impl Drop for Lsm {
    fn drop(&mut self) {
        self.hurry();
        let (sender, _) = oneshot::channel();
        // Closed already, or the committer closes on its own thread.
        let _ = self.shared.queue.push(Request::Close(sender));
    }
}

impl Shared {
    fn show(&self, base: Arc<Base>) {
        *self.base.write() = Some(base);
    }

    fn hide(&self) {
        *self.tree.lock() = None;
        *self.writeback.lock() = None;
        *self.base.write() = None;
    }

    /// Whether the disk takes so many bytes beside what the engine needs. [`Error::Closed`], [`Error::NoRoom`].
    fn check_room(&self, bytes: u64) -> Result<()> {
        let tree = self.tree.lock().clone();
        let (db, data) = tree.ok_or(Error::Closed)?;
        room::check_beside(&self.engine_dir, (&db, &data), bytes)
    }

    fn release(&self) {
        self.lock.lock().take();
    }

    /// Why a request got no answer.
    fn silence(&self) -> Error {
        self.read_only().unwrap_or(Error::Closed)
    }
}

impl Engine for Lsm {
    fn name(&self) -> &'static str {
        "lsm"
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn compress(&self, spaces: HashSet<Space>) {
        self.shared.compression.want(spaces);
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            persistent: true,
            estimates: true,
        }
    }

    fn stats(&self) -> Stats {
        stats::of(&self.shared)
    }

    fn read_only(&self) -> Option<String> {
        let failed = self.shared.read_only.read();
        failed.as_ref().map(|failed| failed.cause.clone())
    }

    fn would_write_again(&self) -> bool {
        self.shared.would_write_again()
    }

    fn check_room(&self, bytes: u64) -> Result<()> {
        self.shared.check_room(bytes)
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let base = self.shared.base.read().clone();
        Arc::new(LsmSnapshot::new(base, &self.shared))
    }

    fn get_newest<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        Answer::Now(self.base().and_then(|base| base.get(space, key)))
    }

    fn commit(&self, writes: WriteSet) -> Answer<'_, Outcome> {
        if let Err(refused) = writes.check_limits(&LIMITS) {
            return Answer::Now(Err(refused));
        }
        if let Some(cause) = self.shared.read_only() {
            return Answer::Now(Err(cause.into()));
        }
        let base = match self.base() {
            Ok(base) => base,
            Err(closed) => return Answer::Now(Err(closed.into())),
        };
        let has_checks = !writes.must_be_absent.is_empty() || !writes.must_be_unchanged.is_empty();
        if writes.is_empty() && !has_checks {
            return Answer::Now(Ok(base.ts));
        }
        Answer::later(commit(Arc::clone(&self.shared), base, writes))
    }

    fn create_space(&self, space: Space) -> Answer<'_, Result<()>> {
        let waits = Waits::ForDisk;
        Answer::later(self.ask(move |answer| Request::CreateSpace(space, waits, answer)))
    }

    fn drop_space(&self, space: Space) -> Answer<'_, Result<()>> {
        let waits = Waits::ForDisk;
        Answer::later(self.ask(move |answer| Request::DropSpace(space, waits, answer)))
    }

    fn create_passing_space(&self, space: Space) -> Answer<'_, Result<()>> {
        Answer::later(self.ask(move |answer| Request::CreateSpace(space, Waits::No, answer)))
    }

    fn drop_passing_space(&self, space: Space) -> Answer<'_, Result<()>> {
        Answer::later(self.ask(move |answer| Request::DropSpace(space, Waits::No, answer)))
    }

    fn spaces(&self) -> Spaces {
        match self.base() {
            Ok(base) => base.spaces.spaces(),
            Err(_) => registry_of_nothing(),
        }
    }

    fn estimate(&self, space: Space, range: &KeyRange) -> Estimate {
        match self.base() {
            Ok(base) => estimate::estimate(&base, space, range),
            Err(_) => Estimate::default(),
        }
    }

    fn census(&self, space: Space, is_past: IsPast<'_>) -> Result<Census> {
        let expiry = self.shared.expiry.as_ref();
        let has_ends = expiry.is_some_and(|expiry| expiry.watches(space));
        self.base()?.census((space, has_ends), is_past)
    }

    fn compact<'a>(&'a self, spaces: &'a [Space]) -> Answer<'a, Result<()>> {
        let is_there = self.base().and_then(|base| {
            let mut spaces = spaces.iter();
            spaces.try_for_each(|space| base.spaces.check(*space))
        });
        if let Err(missing) = is_there {
            return Answer::Now(Err(missing));
        }
        Answer::later(async move {
            let (sender, answer) = oneshot::channel();
            self.shared.reclaim.send(Job::Compact(sender));
            answer.await.unwrap_or_else(|_| Err(self.shared.silence()))
        })
    }

    fn checkpoint<'a>(
        &'a self,
        dir: &'a Path,
        is_over: &'a Arc<AtomicBool>,
    ) -> Answer<'a, Result<Option<Checkpoint>>> {
        let means = (Arc::clone(&self.shared), Arc::clone(is_over));
        let made = backup::make(means, dir.to_path_buf());
        Answer::later(async { made.await.map(Some) })
    }

    fn sync(&self) -> Answer<'_, Result<()>> {
        Answer::later(self.ask(Request::Sync))
    }

    fn hurry(&self) {
        self.shared.floor.hurry();
    }

    fn close(&self) -> Answer<'_, Result<()>> {
        // Before the committer comes to it: commits before it may wait for a pass over all files.
        self.hurry();
        Answer::later(async move {
            match self.ask(Request::Close).await {
                Err(Error::Closed) => Ok(()),
                other => other,
            }
        })
    }
}

fn registry_of_nothing() -> Spaces {
    Registry::default().set.spaces()
}

async fn commit(shared: Arc<Shared>, base: Arc<Base>, writes: WriteSet) -> Outcome {
    let (writes, absent_at) = absent::look_for(base, writes).await?;
    let bytes = writes.bytes();
    let kib = u32::try_from((bytes >> 10) + COMMIT_KIB).unwrap_or(u32::MAX);
    let permit = Arc::clone(&shared.waiting).acquire_many_owned(kib).await;
    let permit = permit.map_err(|_| Error::Closed)?;
    let began = Instant::now();
    let (writes, suspects) = Suspect::in_writes(writes).await;
    let (answer, outcome) = oneshot::channel();
    let commit = Commit {
        writes,
        bytes,
        absent_at,
        answer,
        _permit: permit,
    };
    shared.queue.push(Request::Commit(commit))?;
    let outcome = outcome.await.unwrap_or_else(|_| {
        Err(CommitError::Undetermined {
            cause: shared.silence().to_string(),
        })
    })?;
    shared.thin_at_once(suspects, began.elapsed()).await;
    Ok(outcome)
}

#[cfg(test)]
mod crash;
#[cfg(test)]
mod tests;
