//! The one thread that writes: it takes everything that waits, checks it, writes it as one batch,
//! syncs once, and answers all.
//!
//! One thread because the storage library holds its journal over the sync anyway, and because it
//! makes the order of commits, of conflict checks and of snapshots one and the same.
//!
//! When a write or sync fails, nothing is acknowledged: the commits of that batch are undetermined
//! and every later one is refused, until the server is started again and the journal is read back.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use fjall::{Database, Keyspace, OwnedWriteBatch, PersistMode, Slice};

use super::Shared;
use super::compression;
use super::counts::{Counted, Counts};
use super::journal::Run;
use super::options::Durability;
use super::queue::{Commit, Outcome, Request, Waits};
use super::recent::{KeyHash, Recent};
use super::reclaim::Job;
use super::room::{Demand, Room};
use super::snapshot::Base;
use super::spaces::{self, SpaceSet};
use super::sparse::Sparse;
use super::thin::{Deleted, Watch};
use crate::kv::{CommitError, Error, Key, Result, Space, Ts, WriteSet};

mod cut;
mod group;
mod health;
mod history;
mod keep;
mod nudge;
mod own_thread;
mod sweep;

use group::{Group, Items};
use nudge::Nudge;
pub(super) use nudge::THREAD_NAME as NUDGE_THREAD_NAME;
pub(super) use own_thread::start;

/// Bytes of one group: about what a disk writes in the time of a sync. A larger write set makes a
/// group of its own.
const GROUP_BYTES_MAX: usize = 4 << 20;

/// How often an idle engine lets go of old files, and looks for failures.
const IDLE_TICK: Duration = Duration::from_millis(250);

/// More than the record of a space takes.
const SPACE_RECORD_BYTES: u64 = 1 << 10;

/// Snapshots in the list before the ones that are gone are looked for.
const BASES_MIN: usize = 64;

/// The committer's own state; its thread is its only user.
pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    pub(super) db: Database,
    pub(super) data: Keyspace,
    pub(super) durability: Durability,
    pub(super) sync_interval: Duration,
    /// Bytes of rows in memory at which commits wait for a flush.
    memtables_bytes_max: u64,
    base: Arc<Base>,
    bases: VecDeque<Weak<Base>>,
    bases_max: usize,
    recent: Recent,
    counts: Counts,
    /// What belongs to the next base.
    sparse: Arc<Sparse>,
    watches: Vec<Watch>,
    /// What small commits deleted, and nobody has looked at.
    deleted: HashMap<Space, Deleted>,
    run: Run,
    /// By when values had ended, as it is written down.
    swept_ms: u64,
    physical: Vec<u8>,
    room: Room,
    failure_looked_for: Instant,
    /// Since when what makes room waits for it, one commit or several in turn.
    stuck_since: Option<Instant>,
    nudge: Nudge,
    /// Somebody read files when those that were replaced were to go: it is tried again.
    owes_room: bool,
}

impl Committer {
    pub(super) fn new(shared: Arc<Shared>, opened: super::Opened) -> Committer {
        let base = opened.base;
        Committer {
            recent: Recent::new(base.ts),
            counts: Counts::default(),
            sparse: Arc::clone(&base.sparse),
            watches: Vec::new(),
            deleted: HashMap::new(),
            bases: VecDeque::from([Arc::downgrade(&base)]),
            bases_max: BASES_MIN,
            run: Run::new(opened.engine_dir),
            swept_ms: sweep::kept_ms(&shared),
            physical: Vec::new(),
            room: opened.room,
            failure_looked_for: Instant::now(),
            stuck_since: None,
            nudge: Nudge::default(),
            owes_room: false,
            base,
            shared,
            db: opened.db,
            data: opened.data,
            durability: opened.durability,
            sync_interval: opened.sync_interval,
            memtables_bytes_max: opened.memtables_bytes_max,
        }
    }

    /// Serves the queue until the engine is closed.
    pub(super) fn run(mut self) {
        loop {
            let is_dirty = self.run.is_dirty();
            let patience = if is_dirty {
                self.sync_interval
            } else {
                IDLE_TICK
            };
            let mut waiting = VecDeque::from(self.shared.queue.take(patience));
            self.look_for_failure();
            self.keep_sweep();
            if waiting.is_empty() && !is_dirty {
                self.let_go();
            }
            while let Some(request) = waiting.pop_front() {
                match request {
                    Request::Commit(first) => self.commit_group(first, &mut waiting),
                    Request::CreateSpace(space, waits, answer) => {
                        let _ = answer.send(self.create_space(space, waits));
                    }
                    Request::DropSpace(space, waits, answer) => {
                        let _ = answer.send(self.drop_space(space, waits));
                    }
                    Request::Sync(answer) => {
                        let _ = answer.send(self.sync());
                    }
                    Request::Watch(watching) => self.watch(watching),
                    Request::Keep(found) => self.keep(found),
                    Request::Cut(answer) => self.cut(answer),
                    Request::LetGo(answer) => {
                        self.owes_room = true;
                        self.let_go();
                        let _ = answer.send(Ok((self.oldest(), self.room.is_scarce())));
                    }
                    Request::Close(answer) => return self.close(answer, waiting),
                }
                self.sync_when_due();
            }
            self.sync_when_due();
        }
    }

    fn commit_group(&mut self, first: Commit, waiting: &mut VecDeque<Request>) {
        let mut group = Group::default();
        if let Err(refused) = self.prepare(self.room.is_made_by(&first.writes)) {
            let _ = first.answer.send(Err(refused.into()));
            return;
        }
        self.admit(first, &mut group);
        while group.bytes < GROUP_BYTES_MAX {
            match waiting.pop_front() {
                Some(Request::Commit(next)) if group.bytes + next.bytes <= GROUP_BYTES_MAX => {
                    self.admit(next, &mut group);
                }
                Some(other) => {
                    waiting.push_front(other);
                    break;
                }
                None => break,
            }
        }
        let is_written = !group.items.is_empty() || !group.counted.is_empty();
        let (began, outcome) = (Instant::now(), self.write(group.items, group.counted));
        if is_written && outcome.is_ok() {
            self.shared.commits.note(group.members.len(), began);
        }
        let members = group.members.into_iter();
        members.for_each(|member| drop(member.send(outcome.clone())));
    }

    /// Checks a write set against what is committed and what is in the group, and adds it.
    fn admit(&mut self, commit: Commit, group: &mut Group) {
        match self.check(&commit, group) {
            Ok(()) => {
                self.add(commit.writes, group);
                group.bytes += commit.bytes;
                group.members.push(commit.answer);
            }
            Err(refused) => {
                let _ = commit.answer.send(Err(refused));
            }
        }
    }

    fn check(&mut self, commit: &Commit, group: &Group) -> std::result::Result<(), CommitError> {
        if let Some(cause) = self.shared.read_only() {
            return Err(cause.into());
        }
        let writes = &commit.writes;
        self.room.admit(Demand {
            bytes: (group.bytes + commit.bytes) as u64,
            makes_room: self.room.is_made_by(writes),
        })?;
        self.check_spaces(writes)?;
        if let Some((space, key)) = writes.unfounded() {
            let (space, key) = (*space, key.clone());
            return Err(CommitError::Conflict { space, key });
        }
        if let Some(start_ts) = writes.start_ts {
            self.check_unchanged(&writes.must_be_unchanged, start_ts)?;
        }
        if let Some((space, _)) = writes.counted {
            self.check_counted(space, writes.start_ts)?;
        }
        for place in &writes.must_be_absent {
            if self.exists(place, commit.absent_at, group)? {
                let (space, key) = place.clone();
                return Err(CommitError::AlreadyExists { space, key });
            }
        }
        Ok(())
    }

    /// The keys of a space that nobody has written need not be looked at one by one: the pages of
    /// an index build in a quiet table.
    fn check_unchanged(
        &mut self,
        keys: &[(Space, Key)],
        start_ts: Ts,
    ) -> std::result::Result<(), CommitError> {
        let mut unwritten = None;
        for (space, key) in keys {
            if unwritten == Some(*space) {
                continue;
            }
            if !self.recent.is_space_changed_since(*space, start_ts) {
                unwritten = Some(*space);
                continue;
            }
            let hash = self.hash(*space, key);
            if self.recent.is_changed_since(hash, start_ts) {
                let (space, key) = (*space, key.clone());
                return Err(CommitError::Conflict { space, key });
            }
        }
        Ok(())
    }

    fn check_counted(
        &self,
        space: Space,
        start_ts: Option<Ts>,
    ) -> std::result::Result<(), CommitError> {
        self.base.spaces.check(space)?;
        let is_held = |ts| !self.recent.is_space_changed_since(space, ts);
        if start_ts.is_some_and(is_held) {
            return Ok(());
        }
        let key = Key::new();
        Err(CommitError::Conflict { space, key })
    }

    fn check_spaces(&self, writes: &WriteSet) -> Result<()> {
        let mut seen = None;
        let (absent, unchanged) = (&writes.must_be_absent, &writes.must_be_unchanged);
        let checked = absent.iter().chain(unchanged).map(|(space, _)| *space);
        for space in writes.written().map(|(space, _)| space).chain(checked) {
            if seen != Some(space) {
                self.base.spaces.check(space)?;
                seen = Some(space);
            }
        }
        Ok(())
    }

    fn exists(
        &mut self,
        place: &(Space, Key),
        absent_at: Option<Ts>,
        group: &Group,
    ) -> Result<bool> {
        let (space, key) = place;
        let hash = self.hash(*space, key);
        if absent_at.is_some_and(|ts| !self.recent.is_changed_since(hash, ts)) {
            return Ok(false);
        }
        match group.items.leaves((hash, &self.physical)) {
            Some(is_there) => Ok(is_there),
            None => self.base.contains(*space, key),
        }
    }

    /// The hash of a key, whose physical form is left in `self.physical`.
    fn hash(&mut self, space: Space, key: &[u8]) -> KeyHash {
        self.physical.clear();
        spaces::put_physical(space, key, &mut self.physical);
        self.recent.hash(&self.physical)
    }

    fn add(&mut self, writes: WriteSet, group: &mut Group) {
        let ts = self.next_ts();
        self.counts.add(&writes, &self.base, &mut group.counted);
        self.note_deleted(&writes.deletes);
        let deletes = writes.deletes.into_iter();
        let deletes = deletes.map(|(space, key)| (space, key, None));
        let puts = writes.puts.into_iter();
        let puts = puts.map(|put| (put.space, put.key, Some(put.value)));
        let mut noted = None;
        group.items.reserve(deletes.len() + puts.len());
        for (space, key, value) in deletes.chain(puts) {
            if noted != Some(space) {
                self.recent.note_space(space, ts);
                noted = Some(space);
            }
            let hash = self.hash(space, &key);
            self.recent.note(hash, ts);
            let item = (hash, self.physical.as_slice());
            group.items.write(item, value.map(Slice::from));
        }
    }

    /// Later than every snapshot there is, not later than the one that will show what is written now.
    fn next_ts(&self) -> Ts {
        Ts(self.base.ts.0 + 1)
    }

    /// Writes a batch, syncs it as the options say, and shows it to readers.
    fn write(&mut self, items: Items, counted: Counted) -> Outcome {
        if items.is_empty() && counted.is_empty() {
            return Ok(self.base.ts);
        }
        let mode = match self.durability {
            Durability::Sync => PersistMode::SyncData,
            Durability::Async => PersistMode::Buffer,
        };
        self.begin_run()?;
        let batch = OwnedWriteBatch::with_capacity(self.db.clone(), items.len() + 1);
        let mut batch = batch.durability(Some(mode));
        self.run.mark((&mut batch, &self.data));
        self.counts.put(counted, (&mut batch, &self.data));
        self.put_sweep(&mut batch);
        let shown = self.next_ts();
        let items = items.into_sorted();
        let sparse = self.sparse.written(&items);
        self.watches.iter_mut().for_each(|watch| watch.note(&items));
        for (key, value) in items {
            self.base.forget(&key, shown);
            match value {
                Some(value) => batch.insert(&self.data, key, compression::stored(value)),
                None => batch.remove(&self.data, key),
            }
        }
        match self.settled(batch.commit()) {
            Ok(()) => {
                if self.durability == Durability::Sync {
                    self.note_synced();
                }
                if let Some(sparse) = sparse {
                    self.sparse = Arc::new(sparse);
                }
                let spaces = Arc::clone(&self.base.spaces);
                self.publish(spaces);
                Ok(self.base.ts)
            }
            // It failed before, and nothing was written now.
            Err(fjall::Error::Poisoned) => Err(self.fail_in_background().into()),
            Err(cause) => {
                // They may lack what was written, and it may be seen all the same.
                self.sparse = Arc::default();
                Err(CommitError::Undetermined {
                    cause: self.fail("writing a commit", &cause).to_string(),
                })
            }
        }
    }

    /// Shows the present state to readers.
    fn publish(&mut self, spaces: Arc<SpaceSet>) {
        let parts = (spaces, Arc::clone(&self.sparse));
        self.base = Arc::new(self.base.next(&self.db, parts));
        self.shared.show(Arc::clone(&self.base));
        self.bases.push_back(Arc::downgrade(&self.base));
        while self
            .bases
            .front()
            .is_some_and(|base| base.strong_count() == 0)
        {
            self.bases.pop_front();
        }
        if self.bases_max < self.bases.len() {
            self.bases.retain(|base| 0 < base.strong_count());
            self.bases_max = BASES_MIN.max(2 * self.bases.len());
        }
        self.recent.prune(self.oldest());
    }

    fn oldest(&self) -> Ts {
        let oldest = self.bases.iter().find_map(Weak::upgrade);
        oldest.map_or(self.base.ts, |base| base.ts)
    }

    fn create_space(&mut self, space: Space, waits: Waits) -> Result<()> {
        let is_live = self.base.spaces.check(space).is_ok();
        if is_live || self.shared.dead.contains(space) || self.shared.gone.contains(space) {
            return Err(Error::SpaceUsed(space));
        }
        let record = spaces::live_record(space);
        self.write_space((space, record), Some(0), waits)?;
        let set = self.base.spaces.with(space);
        self.publish(Arc::new(set));
        Ok(())
    }

    fn drop_space(&mut self, space: Space, waits: Waits) -> Result<()> {
        self.base.spaces.check(space)?;
        let record = spaces::dead_record(space);
        self.write_space((space, record), None, waits)?;
        let set = self.base.spaces.without(space);
        if !self.sparse.is_empty() {
            self.sparse = Arc::new(self.sparse.without(space));
        }
        self.publish(Arc::new(set));
        self.recent.forget_space(space);
        self.counts.forget(space);
        self.deleted.remove(&space);
        self.shared.dead.extend([space]);
        self.shared.compression.let_go(space);
        self.shared.reclaim.send(Job::Dropped(space));
        Ok(())
    }

    /// Writes a record of the registry, and how many keys the space has. Synced in every mode, unless
    /// nobody waits for the disk: then whatever is synced next takes it along, since it is behind it in
    /// the journal.
    fn write_space(
        &mut self,
        (space, record): (Space, (Vec<u8>, &'static [u8])),
        keys_count: Option<u64>,
        waits: Waits,
    ) -> Result<()> {
        self.prepare(true)?;
        if let Some(cause) = self.shared.read_only() {
            return Err(cause);
        }
        self.room.admit(Demand {
            bytes: SPACE_RECORD_BYTES,
            makes_room: true,
        })?;
        self.begin_run()?;
        let (key, value) = record;
        let persist = match waits {
            Waits::ForDisk => PersistMode::SyncData,
            Waits::No => PersistMode::Buffer,
        };
        let mut batch = self.db.batch().durability(Some(persist));
        self.run.mark((&mut batch, &self.data));
        batch.insert(&self.data, key, value);
        let counted = Counted::of(space, keys_count);
        self.counts.put(counted, (&mut batch, &self.data));
        let written = self.settled(batch.commit());
        written.map_err(|cause| self.fail("writing a space record", &cause))?;
        if waits == Waits::ForDisk {
            self.run.note_synced();
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        if let Some(cause) = self.shared.read_only() {
            return Err(cause);
        }
        if let Err(cause) = self.db.persist(PersistMode::SyncData) {
            return Err(self.fail("syncing the journal", &cause));
        }
        self.note_synced();
        Ok(())
    }
}
