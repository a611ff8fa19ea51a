//! Builds of secondary indexes, and of tables with another primary key, while writers go on.
//!
//! An index is published in the state `BUILDING`; from then on every commit maintains it. What was
//! in the table before is entered here, page by page (`build`), with
//! a `brake` for when clients are busy. One build runs at a time, others wait for their turn in the
//! order they came; one that met a full disk comes last (`room`). A build that cannot be ended because the server
//! stops goes on at the next start ([`Backfill::resume`]), from the position that is stored with
//! every page (`record`).
//!
//! A table whose primary key changes has a shadow, which every commit writes too. It is filled in the
//! same way, rows and entries together (`copy`), and then takes the place of the table.

mod brake;
mod build;
pub(crate) mod copy;
mod ending;
pub mod own;
mod progress;
mod record;
mod room;
pub(crate) mod rows;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::task::JoinSet;

pub use self::brake::Traffic;
use self::build::Build;
use self::ending::Ending;
use self::progress::Progress;
use self::record::Record;
use super::cancel::{CancelToken, Stop};
use super::counters::Sequence;
use super::ids::Ids;
use crate::catalog::store::{SYSTEM_SPACE, pass_without_writes};
use crate::catalog::{Catalog, IndexId, IndexState, Table, TableId};
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::{Engine, Key, KeyRange, Page, Scan, WriteSet};

/// How often a build that waits looks whether there is room by now, or still something to build.
const LOOK_EVERY: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 1000 });

/// What becomes of an index whose build fails or is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// It is dropped: it was new.
    Drop,
    /// It is disabled, as it was before.
    Disable,
}

/// What is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// An index.
    Index,
    /// The shadow of a table.
    Key,
}

/// An index that is to be built, or a shadow to be filled.
#[derive(Debug, Clone)]
pub struct Target {
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// What is meant by the id.
    pub goal: Goal,
    /// The index, in the state `BUILDING`; or the number of the shadow's storage, which no index has.
    pub index: IndexId,
    /// What becomes of it otherwise.
    pub on_failure: OnFailure,
}

/// Gives numbers that no connection has.
pub type Numbers = Arc<dyn Fn() -> u32 + Send + Sync>;

/// One build, waiting or running.
#[derive(Debug)]
pub struct Job {
    /// What KILL and SHOW PROCESSLIST know it by.
    number: u32,
    /// When it took its place in the line.
    began: Instant,
    target: Target,
    /// Table and index, for people.
    name: String,
    cancel: CancelToken,
    progress: Progress,
    outcome: watch::Sender<Option<Result<()>>>,
}

/// Somebody waits for a build, and tells of it, for as long as this is held.
pub struct Audience {
    _outcome: watch::Receiver<Option<Result<()>>>,
}

impl Job {
    /// Its number, as if it were a connection.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The database of its table.
    pub fn database(&self) -> &str {
        &self.target.database
    }

    /// How long it has waited and run, since this start of the server.
    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Says that somebody tells of it.
    pub fn attend(&self) -> Audience {
        Audience {
            _outcome: self.outcome.subscribe(),
        }
    }

    fn is_attended(&self) -> bool {
        self.outcome.receiver_count() != 0
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// 1062 for a duplicate, 1071 for values that are too long, 1317 when it was killed, 1412 when
    /// the index was dropped; those of the engine.
    pub async fn ended(&self) -> Result<()> {
        let mut outcome = self.outcome.subscribe();
        match outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Ok(())),
            Err(_) => Err(Error::internal("a build ended without outcome")),
        }
    }

    /// Stops the build; the index becomes what [`OnFailure`] says.
    pub fn kill(&self) {
        self.cancel.stop(Stop::Query);
    }

    /// How much is done.
    pub fn percent(&self) -> u8 {
        self.progress.percent.load(Ordering::Relaxed)
    }

    /// What it is at, for people.
    pub fn activity(&self) -> String {
        let doing = if self.progress.lacks_room.load(Ordering::Relaxed) {
            "waiting for room on the disk:"
        } else if self.progress.has_begun.load(Ordering::Relaxed) {
            match self.target.goal {
                Goal::Index => "building index",
                Goal::Key => "changing the primary key of",
            }
        } else {
            "waiting for another index build:"
        };
        format!("{doing} {}", self.name)
    }

    /// What it is at, for SHOW PROCESSLIST.
    pub fn state(&self) -> String {
        if self.progress.has_begun.load(Ordering::Relaxed) {
            let rows = self.progress.rows.load(Ordering::Relaxed);
            return format!("{}: {}%, {rows} rows", self.activity(), self.percent());
        }
        self.activity()
    }
}

/// The builds of a server.
pub struct Backfill {
    engine: Arc<dyn Engine>,
    catalog: Arc<Catalog>,
    traffic: Traffic,
    numbers: Numbers,
    ids: Arc<Ids>,
    jobs: Mutex<BTreeMap<IndexId, Arc<Job>>>,
    /// Held by the one build that runs; given in the order it was asked for.
    turn: Arc<tokio::sync::Mutex<()>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Backfill {
    /// How many builds wait or run.
    pub fn count(&self) -> usize {
        self.jobs.lock().len()
    }

    /// None is running. They make room for the statements that `traffic` counts.
    pub fn new(
        (engine, catalog): (Arc<dyn Engine>, Arc<Catalog>),
        (traffic, numbers): (Traffic, Numbers),
        ids: Arc<Ids>,
    ) -> Backfill {
        Backfill {
            engine,
            catalog,
            traffic,
            numbers,
            ids,
            jobs: Mutex::default(),
            turn: Arc::default(),
            tasks: Mutex::default(),
        }
    }

    /// Begins to build an index; the build of it that is there already, if there is one.
    pub fn start(self: &Arc<Backfill>, target: Target, table: &Table) -> Arc<Job> {
        let mut jobs = self.jobs.lock();
        if let Some(job) = jobs.get(&target.index) {
            return Arc::clone(job);
        }
        let index = table.indexes.iter().find(|index| index.id == target.index);
        let mut name = format!("{}.{}", target.database, target.table);
        if let Some(index) = index {
            name = format!("{name}.{}", index.name);
        }
        let job = Arc::new(Job {
            number: (self.numbers)(),
            began: Instant::now(),
            name,
            cancel: CancelToken::default(),
            progress: Progress::default(),
            outcome: watch::Sender::new(None),
            target,
        });
        jobs.insert(job.target.index, Arc::clone(&job));
        let turn = in_line(Arc::clone(&self.turn));
        drop(jobs);
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(Arc::clone(self).work(Arc::clone(&job), turn));
        job
    }

    /// Begins to build what was being built when the server stopped, and forgets records of builds
    /// that had ended.
    ///
    /// # Errors
    /// Those of the engine; 1712 for a record that cannot be read.
    pub async fn resume(self: &Arc<Backfill>) -> Result<()> {
        let mut records = self.records().await?;
        let definitions = self.catalog.current();
        for database in definitions.databases() {
            for table in definitions.tables(database)? {
                if let Some(shadow) = &table.shadow {
                    records.remove(&IndexId(shadow.id.0));
                    tracing::info!(table = %table.name, "change of the primary key goes on");
                    self.rekey(table, shadow.id);
                }
                for index in &table.indexes {
                    if index.state != IndexState::Building {
                        continue;
                    }
                    let record = records.remove(&index.id);
                    let target = Target {
                        database: database.to_owned(),
                        table: table.name.clone(),
                        goal: Goal::Index,
                        index: index.id,
                        // The server ended right behind the definition: the index may be an old one.
                        on_failure: record.map_or(OnFailure::Disable, |record| record.on_failure),
                    };
                    tracing::info!(index = %index.name, table = %table.name, "index build goes on");
                    self.start(target, table);
                }
            }
        }
        for index in records.into_keys() {
            let forgotten = self.forget(index).await;
            let doing = "forgetting an index build that has ended";
            pass_without_writes(self.engine.as_ref(), (doing, forgotten))?;
        }
        Ok(())
    }

    /// Begins to fill the shadow of a table; what fills it already, if there is one.
    pub fn rekey(self: &Arc<Backfill>, table: &Table, shadow: TableId) -> Arc<Job> {
        let target = Target {
            database: table.database.clone(),
            table: table.name.clone(),
            goal: Goal::Key,
            index: IndexId(shadow.0),
            on_failure: OnFailure::Drop,
        };
        self.start(target, table)
    }

    async fn records(&self) -> Result<BTreeMap<IndexId, Record>> {
        let snapshot = self.engine.snapshot();
        let range = KeyRange {
            start: SystemKey::Build(0).encode(),
            until: None,
        };
        let mut scan = Scan::new(SYSTEM_SPACE, range);
        let mut page = Page::default();
        let mut records = BTreeMap::new();
        loop {
            snapshot.scan(&scan, &mut page).await?;
            for (key, value) in page.iter() {
                if let SystemKey::Build(id) = SystemKey::decode(key)? {
                    records.insert(IndexId(id), Record::decode(value)?);
                }
            }
            if !scan.advance(&mut page) {
                return Ok(records);
            }
        }
    }

    /// How much of an index is built, in percent; `None` when it is not being built.
    pub fn percent(&self, index: IndexId) -> Option<u8> {
        self.jobs.lock().get(&index).map(|job| job.percent())
    }

    /// The builds that no statement waits for: those that go on after a restart, and `ASYNC` ones.
    pub fn unattended(&self) -> Vec<Arc<Job>> {
        let jobs = self.jobs.lock();
        let alone = jobs.values().filter(|job| !job.is_attended());
        alone.cloned().collect()
    }

    /// The build that has this number.
    pub fn numbered(&self, number: u32) -> Option<Arc<Job>> {
        let jobs = self.jobs.lock();
        jobs.values().find(|job| job.number == number).cloned()
    }

    /// No build begins before what this gives is dropped.
    #[cfg(test)]
    pub(crate) async fn hold(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Waits until all builds of now have ended.
    #[cfg(test)]
    pub(crate) async fn settled(&self) {
        let jobs: Vec<Arc<Job>> = self.jobs.lock().values().cloned().collect();
        for job in jobs {
            let _ = job.ended().await;
        }
    }

    /// Stops all builds and waits for them; they go on at the next start.
    pub async fn close(&self) {
        for job in self.jobs.lock().values() {
            job.cancel.stop(Stop::ShuttingDown);
        }
        let mut tasks = std::mem::take(&mut *self.tasks.lock());
        while tasks.join_next().await.is_some() {}
    }

    async fn work(self: Arc<Backfill>, job: Arc<Job>, turn: Turn) {
        let _ending = Ending {
            backfill: &self,
            job: &job,
        };
        let built = self.build_as_room_allows(&job, turn).await;
        let outcome = match built {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed(&job, error).await),
        };
        self.end(&job, outcome);
    }

    async fn build(&self, job: &Job, turn: Turn) -> Result<()> {
        // Its turn may come after a restart.
        let record = Build::record(self, job).await?;
        let _turn = self.turn_of(job, turn).await?;
        job.cancel.check()?;
        job.progress.has_begun.store(true, Ordering::Relaxed);
        Build::begin(self, job, record).await?.run().await?;
        let target = &job.target;
        if target.goal == Goal::Key {
            return self.put_in_place(job).await;
        }
        let active = (target.index, IndexState::Active);
        self.catalog.set_index_state(active).await?;
        if let Err(error) = self.forget(target.index).await {
            // The index is whole. The next start finds that, too.
            tracing::warn!(index = %job.name, %error, "the record of an index build stays");
        }
        Ok(())
    }

    /// Waits for its turn, for as long as there is something to build.
    async fn turn_of(&self, job: &Job, mut turn: Turn) -> Result<OwnedMutexGuard<()>> {
        loop {
            tokio::select! {
                mine = &mut turn => return Ok(mine),
                error = job.cancel.stopped() => return Err(error),
                () = tokio::time::sleep(LOOK_EVERY) => drop(job.definition(self)?),
            }
        }
    }

    /// Puts a filled shadow in the place of its table.
    async fn put_in_place(&self, job: &Job) -> Result<()> {
        let table = job.definition(self)?.table;
        let shadow = TableId(job.target.index.0);
        if let Some(sequence) = Sequence::of(&table) {
            let counters = &self.ids.counters;
            let heir = (&sequence, shadow);
            counters.inherit(self.engine.as_ref(), heir).await?;
        }
        self.catalog.finish_rekey(shadow).await.map(drop)
    }

    /// After a failed build: takes the index away, unless the storage takes no more writes or the server stops: then
    /// the next start goes on with it. A full disk is no such failure, nor is a read that failed.
    async fn failed(&self, job: &Job, error: Error) -> Error {
        let is_ending = job.cancel.reason() == Some(Stop::ShuttingDown);
        if is_ending || self.engine.read_only().is_some() || is_in_doubt(&error) {
            tracing::warn!(index = %job.name, %error, "index build stopped; it goes on after a restart");
            return error;
        }
        tracing::warn!(index = %job.name, %error, "index build failed");
        let error = match job.definition(self) {
            Ok(_) => error,
            Err(gone) => gone,
        };
        let cleared = self.take_away(&job.target).await;
        if let Err(second) = cleared {
            tracing::warn!(index = %job.name, error = %second, "the index could not be taken away");
        }
        error
    }

    async fn take_away(&self, target: &Target) -> Result<()> {
        let id = target.index;
        if target.goal == Goal::Key {
            self.catalog.give_up_rekey(TableId(id.0)).await?;
            return self.forget(id).await;
        }
        let owner = self.catalog.current().owner(id).map(|owner| owner.id);
        let Some(owner) = owner else {
            return self.forget(id).await;
        };
        // By its id: somebody may give it another name meanwhile.
        let changed = self.catalog.change_table_of(owner, |table| {
            match target.on_failure {
                OnFailure::Drop => table.indexes.retain(|index| index.id != id),
                OnFailure::Disable => table.disable_index(id),
            }
            Ok(())
        });
        changed.await?;
        self.forget(id).await
    }

    async fn forget(&self, index: IndexId) -> Result<()> {
        let mut writes = WriteSet::blind();
        let key: Key = Record::key(index);
        writes.delete(SYSTEM_SPACE, key);
        self.engine.commit(writes).await?;
        Ok(())
    }
}

/// Waiting for the turn.
type Turn = Pin<Box<dyn Future<Output = OwnedMutexGuard<()>> + Send>>;

/// Takes a place in the line now, and not when the task of the build first runs: tasks need not run
/// in the order they were spawned.
fn in_line(turn: Arc<tokio::sync::Mutex<()>>) -> Turn {
    let mut waiting: Turn = Box::pin(turn.lock_owned());
    let mut nobody = Context::from_waker(Waker::noop());
    match waiting.as_mut().poll(&mut nobody) {
        Poll::Ready(turn) => Box::pin(std::future::ready(turn)),
        Poll::Pending => waiting,
    }
}

/// Whether an error says nothing about the index, and nobody knows what was written.
fn is_in_doubt(error: &Error) -> bool {
    matches!(
        error.code(),
        Code::EngineReadOnly | Code::ShuttingDown | Code::ErrorDuringCommit
    )
}
