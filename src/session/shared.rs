//! What all sessions of a server share: the engine, the catalog, the locks, the global variables.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::backup::Backups;
use super::files::Files;
use super::monitor::Monitor;
use super::persist::{self, Persisted};
use super::portions::Portions;
use super::processes::Processes;
use super::variables::Globals;
use crate::accounts::Accounts;
use crate::catalog::Catalog;
use crate::catalog::store::SYSTEM_SPACE;
use crate::ceiling;
use crate::codec::row::expiry_of;
use crate::error::{Code, Error};
use crate::exec::backfill::{Backfill, Numbers, Traffic};
use crate::exec::budget::{Memory, Pool};
use crate::exec::ids::Ids;
use crate::exec::locks::Locks;
use crate::exec::spill::Disk;
use crate::exec::uses::Uses;
use crate::kv::Engine;
use crate::kv::expiry::{Expiry, Living};
use crate::kv::lsm::{self, Lsm};
use crate::kv::memory;
use crate::kv::stats::Stats;
use crate::sql::functions::lock::NamedLocks;
use crate::types::Value;
use crate::types::temporal::Zone;

/// How long the end of the server waits for the slow query log.
const SLOW_LOG_TIME_MAX: Duration = Duration::from_secs(5);

/// How the server's data is opened; what [`Shared::open`] takes.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Where rows are kept.
    pub storage: Storage,
    /// Whether a commit waits for the disk.
    pub durable: bool,
    /// Whether queries may read whole tables.
    pub allow_full_scan: bool,
    /// What the process may have; `None` sets no limit.
    pub memory_limit_bytes: Option<u64>,
    /// The block cache; `None` takes a quarter of the limit, or of the machine's memory.
    pub cache_bytes: Option<u64>,
    /// What the buffering operators of all statements may hold together; `None` takes a quarter of
    /// the limit, or of the machine's memory.
    pub query_memory_total_bytes: Option<u64>,
    /// What they may spill together; `None` takes whatever the disk has.
    pub spill_quota_bytes: Option<u64>,
    /// Where statements may read and write files; `None` for nowhere.
    pub secure_file_priv: Option<PathBuf>,
    /// Where BACKUP may make directories; `None` for nowhere.
    pub backup_dir: Option<PathBuf>,
    /// The port the server listens on, for `@@port`.
    pub port: u16,
    /// `@@max_connections`.
    pub connections_max: u32,
    /// `@@max_allowed_packet`.
    pub packet_bytes_max: u32,
    /// `@@wait_timeout` and `@@interactive_timeout`, seconds.
    pub wait_timeout_s: u32,
    /// `@@net_write_timeout`, seconds.
    pub net_write_timeout_s: u32,
    /// `@@connect_timeout`, seconds.
    pub connect_timeout_s: u32,
    /// `@@require_secure_transport`.
    pub requires_tls: bool,
}

impl OpenOptions {
    /// The data directory, where there is one.
    fn data_dir(&self) -> Option<&Path> {
        match &self.storage {
            Storage::Lsm(dir) => Some(dir),
            Storage::Memory => None,
        }
    }
}

/// Where rows are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// In files below this directory.
    Lsm(PathBuf),
    /// In memory.
    Memory,
}

/// What all sessions of a server share.
pub struct Shared {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) accounts: Arc<Accounts>,
    /// The builds of indexes.
    pub(super) backfill: Arc<Backfill>,
    pub(super) locks: Arc<Locks>,
    pub(super) ids: Arc<Ids>,
    pub(super) uses: Arc<Uses>,
    pub(super) globals: Arc<Globals>,
    pub(super) persisted: Persisted,
    /// The locks of `GET_LOCK`.
    pub(super) named_locks: Arc<NamedLocks>,
    pub(super) allow_full_scan: bool,
    /// The files that statements may name.
    pub(super) files: Files,
    /// Where backups are made.
    pub(super) backups: Backups,
    /// What the buffering operators of all statements may hold.
    pool: Arc<Pool>,
    /// Where they may spill; nowhere on the memory engine.
    disk: Option<Arc<Disk>>,
    processes: Arc<Processes>,
    pub(super) monitor: Monitor,
}

impl Shared {
    /// Opens the server's data.
    ///
    /// # Errors
    /// One line for the operator.
    pub async fn open(options: OpenOptions) -> Result<Arc<Shared>, String> {
        if let Some(bytes) = options.memory_limit_bytes {
            ceiling::set(bytes)?;
        }
        let (engine, spill_dir) = open_engine(&options).await?;
        let shared = Shared::over(engine, spill_dir, &options).await;
        let shared = shared.map(Arc::new);
        let shared = shared.map_err(|error| error.message().to_owned())?;
        Shared::keep_sweeping(&shared);
        Ok(shared)
    }

    /// Serves what an engine holds that is open already.
    ///
    /// # Errors
    /// 1712 when its definitions cannot be read; those of the engine.
    pub async fn over(
        engine: Arc<dyn Engine>,
        spill_dir: Option<PathBuf>,
        options: &OpenOptions,
    ) -> Result<Shared, Error> {
        let globals = Arc::new(Globals::default());
        install(&globals, options)?;
        let files = Files::below(options.secure_file_priv.as_deref(), options.data_dir());
        let files = files.map_err(|text| Error::new(Code::WrongArguments, text))?;
        let backups = Backups::below(options.backup_dir.as_deref(), options.data_dir());
        let backups = backups.map_err(|text| Error::new(Code::WrongArguments, text))?;
        for (name, dir) in [
            ("secure_file_priv", files.dir()),
            ("backup_dir", backups.dir()),
        ] {
            let dir = dir.map(|dir| dir.display().to_string());
            globals.install(name, super::compile::text(dir))?;
        }
        let catalog = Arc::new(Catalog::open(Arc::clone(&engine)).await?);
        let persisted = persist::restore(engine.as_ref(), &globals).await?;
        let accounts = Arc::new(Accounts::open(Arc::clone(&engine)).await?);
        let ids = Arc::new(Ids::default());
        ids.counters.load(engine.as_ref()).await?;
        let processes = Arc::new(Processes::default());
        let counted = Arc::clone(&processes);
        let traffic: Traffic = Arc::new(move || counted.questions_count());
        let numbering = Arc::clone(&processes);
        let numbers: Numbers = Arc::new(move || numbering.number());
        let backfill = Backfill::new(
            (Arc::clone(&engine), Arc::clone(&catalog)),
            (traffic, numbers),
            Arc::clone(&ids),
        );
        let backfill = Arc::new(backfill);
        backfill.resume().await?;
        let quota_bytes = options.spill_quota_bytes.unwrap_or(u64::MAX);
        let disk = spill_dir.map(|dir| Disk::of_engine(Arc::clone(&engine), dir, quota_bytes));
        Ok(Shared {
            catalog,
            accounts,
            backfill,
            engine,
            locks: Arc::default(),
            ids,
            uses: Arc::default(),
            globals,
            persisted,
            named_locks: Arc::default(),
            allow_full_scan: options.allow_full_scan,
            files,
            backups,
            pool: Pool::new(Portions::of(options).query_bytes),
            disk,
            processes,
            monitor: Monitor::new(options.data_dir().map(Path::to_path_buf)),
        })
    }

    /// What a statement may use that begins now.
    pub(super) fn memory(&self, bytes_max: usize) -> Memory {
        Memory::new(&self.pool, bytes_max, self.disk.as_ref())
    }

    /// What is measured of statements.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Why the engine takes no more writes; `None` while it does. Waits for nothing.
    pub fn read_only(&self) -> Option<String> {
        self.engine.read_only()
    }

    /// Whether nothing is written any more for want of room on the disk, and a server that starts anew would write.
    pub fn would_write_again(&self) -> bool {
        self.engine.would_write_again()
    }

    /// What the engine tells of itself. May wait for the disk.
    pub fn engine_stats(&self) -> Stats {
        self.engine.stats()
    }

    /// The engine's name.
    pub fn engine_name(&self) -> &'static str {
        self.engine.name()
    }

    /// What the operators of all statements hold in memory, and the most that they may.
    pub fn query_memory_bytes(&self) -> (usize, usize) {
        (self.pool.taken_bytes(), self.pool.bytes_max())
    }

    /// What they have on disk, and what they have ever written there.
    pub fn spill_bytes(&self) -> (u64, u64) {
        let disk = self.disk.as_ref();
        disk.map_or((0, 0), |disk| (disk.used_bytes(), disk.written_bytes()))
    }

    /// How many builds of indexes wait or run.
    pub fn index_builds_count(&self) -> usize {
        self.backfill.count()
    }

    /// What the statements hold in memory and on disk, for tests.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> (usize, u64) {
        let spilled = self.disk.as_ref().map_or(0, |disk| disk.used_bytes());
        (self.pool.taken_bytes(), spilled)
    }

    /// The definitions, for tests.
    #[cfg(test)]
    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The row locks of the server, for tests.
    #[cfg(test)]
    pub(crate) fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    /// The builds of indexes, for tests.
    #[cfg(test)]
    pub(crate) fn backfill(&self) -> &Arc<Backfill> {
        &self.backfill
    }

    /// The accounts of the server.
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    /// Tells a variable what the server was started with.
    ///
    /// # Errors
    /// 1193 for a name that is not in the registry.
    pub fn install(&self, name: &str, value: Value<'static>) -> Result<(), Error> {
        self.globals.install(name, value)
    }

    /// The value of a global variable that is a number; 0 when it is none.
    pub fn global_number(&self, name: &str) -> u64 {
        let value = self.globals.get(name);
        value.map_or(0, |value| value.to_text().parse().unwrap_or(0))
    }

    /// The text of a global variable; empty when there is none of that name.
    pub fn global_text(&self, name: &str) -> String {
        let value = self.globals.get(name);
        value.map_or_else(|_| String::new(), |value| value.to_text().into_owned())
    }

    /// The connections of the server.
    pub fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    /// What `FLUSH LOGS` does, and SIGHUP: forgets what is kept of accounts for speed, and closes the files of logs. Done
    /// when they are closed: who rotates them may then take them away.
    ///
    /// # Errors
    /// When too many wait for the log's disk.
    pub async fn flush_logs(&self) -> io::Result<()> {
        self.accounts.forget_fast();
        self.monitor.slow.reopen().await
    }

    /// The server ends soon: what takes long, and what nobody needs for that, is given up. What waits for it goes on.
    pub fn hurry(&self) {
        self.engine.hurry();
    }

    /// Writes out what has to be, when the last connection has ended.
    pub async fn close(&self) {
        self.hurry();
        self.backfill.close().await;
        if let Err(error) = self.ids.counters.settle(self.engine.as_ref()).await {
            tracing::warn!("AUTO_INCREMENT ids will have a gap: {error}");
        }
        if let Err(error) = self.engine.close().await {
            tracing::error!("closing the storage engine failed: {error}");
        }
        // A log whose disk hangs does not hold the server.
        let _ = timeout(SLOW_LOG_TIME_MAX, self.monitor.slow.settled()).await;
    }
}

async fn open_engine(options: &OpenOptions) -> Result<(Arc<dyn Engine>, Option<PathBuf>), String> {
    let expiry = Arc::new(Expiry::new(expiry_of));
    let dir = match &options.storage {
        Storage::Memory => {
            let engine = Arc::new(memory::Memory::default());
            return Ok((Arc::new(Living::new(engine, expiry)), None));
        }
        Storage::Lsm(dir) => dir.clone(),
    };
    let mut lsm_options = lsm::Options::new(&dir);
    lsm_options.expiry = Some(Arc::clone(&expiry));
    lsm_options.vital = Some(SYSTEM_SPACE);
    if !options.durable {
        lsm_options.durability = lsm::Durability::Async;
    }
    if let Some(bytes) = Portions::of(options).cache_bytes {
        lsm_options.cache_bytes = bytes;
    }
    let opened = tokio::task::spawn_blocking(move || Lsm::open(&lsm_options)).await;
    let engine = opened
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
    let living = Living::new(Arc::new(engine), expiry);
    Ok((Arc::new(living), Some(dir)))
}

/// Tells the variables what the server was started with.
fn install(globals: &Globals, options: &OpenOptions) -> Result<(), Error> {
    let number = |number: u32| Value::UInt(u64::from(number));
    globals.install("port", number(u32::from(options.port)))?;
    globals.install("max_connections", number(options.connections_max))?;
    globals.install("max_allowed_packet", number(options.packet_bytes_max))?;
    globals.install("wait_timeout", number(options.wait_timeout_s))?;
    globals.install("interactive_timeout", number(options.wait_timeout_s))?;
    globals.install("net_write_timeout", number(options.net_write_timeout_s))?;
    globals.install("connect_timeout", number(options.connect_timeout_s))?;
    let requires_tls = Value::Int(i64::from(options.requires_tls));
    globals.install("require_secure_transport", requires_tls)?;
    let limit = options.memory_limit_bytes.unwrap_or(0);
    globals.install("memory_limit", Value::UInt(limit))?;
    let text = |text: String| Value::Text(Cow::Owned(text));
    globals.install("system_time_zone", text(Zone::system_name()))?;
    if let Some(name) = host_name() {
        globals.install("hostname", text(name))?;
    }
    if let Storage::Lsm(dir) = &options.storage {
        globals.install("datadir", text(dir.display().to_string()))?;
    }
    Ok(())
}

/// The machine's name, where the system tells it in a file.
fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
