//! What a session remembers between statements, and what evaluation may ask of it.

mod computed;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};

use self::computed::{is_last_insert_id, moment};
use super::files::Files;
use super::monitor::counts::Own;
use super::reply::Tls;
use super::variables::{Globals, Locals};
use crate::accounts::{AccountName, Privilege, Rights};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::exec::cancel::CancelToken;
use crate::exec::waits::Waits;
use crate::protocol::compression::Algorithm;
use crate::sql::context::{Assigned, Loaded, Pause, SessionFacts, UserVariables};
use crate::sql::expr::VariableScope;
use crate::sql::functions::lock::NamedLocks;
use crate::sql::functions::random::Sequences;
use crate::types::{Timestamp, Value};

/// User variables one session may have.
pub const USER_VARIABLES_MAX: usize = 10_000;

/// What `CURRENT_ROLE()` gives without roles.
const NO_ROLE: &str = "NONE";

/// The memory of a session. Shared with the statements that run in it, which only read it.
#[derive(Debug)]
pub struct State {
    user: String,
    /// The account that was matched.
    account: String,
    connection_id: u32,
    cancel: Arc<CancelToken>,
    kept: Mutex<Kept>,
    /// Whether a database was made current, or none, and nobody has asked since.
    is_database_new: AtomicBool,
    sequences: Mutex<Sequences>,
    named_locks: Arc<NamedLocks>,
    files: Files,
    own: Own,
}

#[derive(Debug)]
struct Kept {
    database: Option<String>,
    /// The active roles, as `CURRENT_ROLE()` gives them.
    roles: String,
    rights: Arc<Rights>,
    tls: Option<Tls>,
    compression: Option<Algorithm>,
    locals: Locals,
    user_variables: UserVariables,
    /// What came by name with the running statement.
    attributes: Vec<(String, Arc<Value<'static>>)>,
    last_insert_id: u64,
    /// What `LAST_INSERT_ID(n)` was told in the running statement.
    told_insert_id: Option<u64>,
    row_count: i64,
    found_rows: u64,
    /// What the running statement has counted for `FOUND_ROWS()`.
    counted_rows: Option<u64>,
    warnings_count: u16,
    errors_count: u16,
}

impl State {
    /// The state of a new session.
    pub fn new(
        (globals, named_locks, files): (&Arc<Globals>, &Arc<NamedLocks>, &Files),
        (user, account): (String, String),
        connection_id: u32,
        cancel: &Arc<CancelToken>,
    ) -> State {
        State {
            user,
            account,
            connection_id,
            cancel: Arc::clone(cancel),
            kept: Mutex::new(Kept {
                database: None,
                roles: NO_ROLE.to_owned(),
                rights: Arc::default(),
                tls: None,
                compression: None,
                locals: Locals::new(Arc::clone(globals)),
                user_variables: UserVariables::default(),
                attributes: Vec::new(),
                last_insert_id: 0,
                told_insert_id: None,
                row_count: -1,
                found_rows: 0,
                counted_rows: None,
                warnings_count: 0,
                errors_count: 0,
            }),
            sequences: Mutex::default(),
            is_database_new: AtomicBool::new(false),
            named_locks: Arc::clone(named_locks),
            files: files.clone(),
            own: Own::default(),
        }
    }

    /// Tells what the session may do, and which roles are active.
    pub fn set_rights(&self, rights: &Arc<Rights>, roles: &BTreeSet<AccountName>) {
        let names: Vec<String> = roles.iter().map(AccountName::quoted).collect();
        let mut kept = self.kept.lock();
        kept.rights = Arc::clone(rights);
        kept.roles = if names.is_empty() {
            NO_ROLE.to_owned()
        } else {
            names.join(",")
        };
    }

    /// Tells how the connection is encrypted.
    pub fn set_tls(&self, tls: Option<Tls>) {
        self.kept.lock().tls = tls;
    }

    /// Tells how the connection is compressed.
    pub fn set_compression(&self, compression: Option<Algorithm>) {
        self.kept.lock().compression = compression;
    }

    /// How the connection is compressed; `None` when it is not.
    pub fn compression(&self) -> Option<Algorithm> {
        self.kept.lock().compression
    }

    /// How the connection is encrypted; `None` when it is not.
    pub fn tls(&self) -> Option<Tls> {
        self.kept.lock().tls.clone()
    }

    /// What the session may do: what tables of the system show is bounded by it.
    pub fn rights(&self) -> Arc<Rights> {
        Arc::clone(&self.kept.lock().rights)
    }

    /// Looks at the current database.
    pub(super) fn with_database<T>(&self, look: impl FnOnce(Option<&str>) -> T) -> T {
        look(self.kept.lock().database.as_deref())
    }

    /// Makes a database current.
    pub fn set_database(&self, database: Option<String>) {
        self.kept.lock().database = database;
        self.is_database_new.store(true, Ordering::Relaxed);
    }

    /// Whether another database may be current than when this was asked before.
    pub fn take_database_news(&self) -> bool {
        self.is_database_new.load(Ordering::Relaxed)
            && self.is_database_new.swap(false, Ordering::Relaxed)
    }

    /// Sets or resets a session variable.
    ///
    /// # Errors
    /// As [`Locals::set`].
    pub fn set_variable(&self, name: &str, value: Option<Value<'static>>) -> Result<()> {
        let mut kept = self.kept.lock();
        if !is_last_insert_id(name) {
            return kept.locals.set(name, value);
        }
        // Kept apart from the others: statements change it, too.
        let mut tried = kept.locals.apart();
        tried.set(name, value)?;
        if let Value::UInt(id) = tried.get(VariableScope::Session, name)? {
            kept.last_insert_id = id;
        }
        Ok(())
    }

    /// The system variables, to try a change of them.
    pub fn variables_apart(&self) -> Locals {
        self.kept.lock().locals.apart()
    }

    /// Where `SET timestamp` holds the clock; `None` when it runs.
    pub fn held_clock(&self) -> Option<Timestamp> {
        self.moment_of("timestamp")
    }

    /// Where `SET debug_ttl_clock` holds the clock that the ends of rows count from, in milliseconds.
    pub fn held_ttl_clock_ms(&self) -> Option<u64> {
        let held = self.moment_of("debug_ttl_clock")?;
        u64::try_from(held.total_micros() / 1000).ok()
    }

    fn moment_of(&self, name: &str) -> Option<Timestamp> {
        let kept = self.kept.lock();
        moment(&kept.locals.get(VariableScope::Session, name).ok()?)
    }

    /// Every system variable of a scope, for `SHOW VARIABLES`.
    pub fn variables(&self, scope: VariableScope) -> Vec<(&'static str, Value<'static>)> {
        let kept = self.kept.lock();
        let mut all = kept.locals.all(scope);
        if scope != VariableScope::Global {
            for (name, value) in &mut all {
                if let Some(computed) = kept.computed(name) {
                    *value = computed;
                }
            }
        }
        all
    }

    /// Every `@name` with its value, in order of name.
    pub fn user_variables(&self) -> Vec<(String, Arc<Value<'static>>)> {
        let kept = self.kept.lock();
        let variables = kept.user_variables.iter();
        let mut all: Vec<_> = variables
            .map(|(name, value)| (name.clone(), Arc::clone(value)))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Sets `@name`.
    ///
    /// # Errors
    /// As [`State::check_user_variables`]; 1041 when the process has no memory for it.
    pub fn set_user_variable(&self, name: &str, value: Value<'static>) -> Result<()> {
        ceiling::drip("a user variable", name.len() + value.memory_bytes())?;
        let mut kept = self.kept.lock();
        kept.check_user_variables([name])?;
        let all = Arc::make_mut(&mut kept.user_variables);
        all.insert(name.to_owned(), Arc::new(value));
        Ok(())
    }

    /// Whether there is room for these `@name`.
    ///
    /// # Errors
    /// 1041 when the session would have too many.
    pub fn check_user_variables<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<()> {
        self.kept.lock().check_user_variables(names)
    }

    /// What came by name with the next statement.
    pub fn set_attributes(&self, attributes: Vec<(String, Value<'static>)>) {
        let shared = attributes.into_iter();
        let shared = shared.map(|(name, value)| (name, Arc::new(value)));
        self.kept.lock().attributes = shared.collect();
    }

    /// A statement changed rows: what `ROW_COUNT()` and `LAST_INSERT_ID()` give next. Returns what
    /// `LAST_INSERT_ID(n)` was told in it; 0 when nothing was.
    pub fn wrote(&self, affected_rows: u64, last_insert_id: u64) -> u64 {
        let mut kept = self.kept.lock();
        kept.row_count = i64::try_from(affected_rows).unwrap_or(i64::MAX);
        if last_insert_id != 0 {
            kept.last_insert_id = last_insert_id;
        }
        kept.told_insert_id.take().unwrap_or(0)
    }

    /// A statement returned rows: what `FOUND_ROWS()` gives next.
    pub fn returned(&self, rows_count: u64) {
        let mut kept = self.kept.lock();
        kept.found_rows = kept.counted_rows.take().unwrap_or(rows_count);
        kept.row_count = -1;
        kept.told_insert_id = None;
    }

    /// The running statement would have returned so many rows without its LIMIT.
    pub fn found(&self, rows_count: u64) {
        self.kept.lock().counted_rows = Some(rows_count);
    }

    /// How many warnings the last statement left: `@@warning_count`. It was no error.
    pub fn set_warnings_count(&self, warnings_count: u16) {
        let mut kept = self.kept.lock();
        kept.warnings_count = warnings_count;
        kept.errors_count = 0;
    }

    /// The last statement failed, and left so many warnings with its error: `@@error_count`.
    pub fn failed(&self, warnings_count: u16) {
        let mut kept = self.kept.lock();
        kept.warnings_count = warnings_count;
        kept.errors_count = 1;
        kept.row_count = -1;
        kept.told_insert_id = None;
    }

    /// What the session has run.
    pub fn own(&self) -> &Own {
        &self.own
    }

    /// Releases the locks that the client named.
    pub fn release_locks(&self) {
        self.named_locks.release_all(u64::from(self.connection_id));
    }

    /// Forgets all but the current database: `COM_RESET_CONNECTION`. Gives the names of the variables
    /// that had been set.
    pub fn reset(&self) -> Vec<&'static str> {
        self.release_locks();
        self.own.reset();
        let mut kept = self.kept.lock();
        let changed = kept.locals.reset();
        kept.user_variables = UserVariables::default();
        kept.last_insert_id = 0;
        kept.row_count = -1;
        kept.found_rows = 0;
        kept.warnings_count = 0;
        kept.errors_count = 0;
        changed
    }
}

impl Kept {
    fn check_user_variables<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<()> {
        let is_new = |name: &&str| !self.user_variables.contains_key(*name);
        let new: BTreeSet<&str> = names.into_iter().filter(is_new).collect();
        if new.is_empty() || self.user_variables.len() + new.len() <= USER_VARIABLES_MAX {
            return Ok(());
        }
        let text = format!("session has {USER_VARIABLES_MAX} user variables, the most allowed");
        Err(Error::new(Code::OutOfResources, text))
    }
}

/// However the connection ended.
impl Drop for State {
    fn drop(&mut self) {
        self.release_locks();
    }
}

impl SessionFacts for State {
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<Value<'static>> {
        let kept = self.kept.lock();
        match name {
            other if scope == VariableScope::Global => kept.locals.get(scope, other),
            other => match kept.computed(other) {
                Some(value) => Ok(value),
                None => kept.locals.get(scope, other),
            },
        }
    }

    fn user_variable(&self, name: &str) -> Option<Arc<Value<'static>>> {
        self.kept.lock().user_variables.get(name).map(Arc::clone)
    }

    fn assigned(&self) -> Option<Box<Assigned>> {
        let kept = self.kept.lock();
        Some(Box::new(Assigned {
            user_variables: Arc::clone(&kept.user_variables),
            last_insert_id: kept.last_insert_id,
            told_insert_id: kept.told_insert_id,
        }))
    }

    fn go_back(&self, assigned: Option<&Assigned>) {
        if let Some(assigned) = assigned {
            let mut kept = self.kept.lock();
            kept.user_variables = Arc::clone(&assigned.user_variables);
            kept.last_insert_id = assigned.last_insert_id;
            kept.told_insert_id = assigned.told_insert_id;
        }
    }

    fn query_attribute(&self, name: &str) -> Option<Arc<Value<'static>>> {
        let kept = self.kept.lock();
        let mut attributes = kept.attributes.iter();
        let found = attributes.find(|(own, _)| own == name);
        found.map(|(_, value)| Arc::clone(value))
    }

    fn assign_user_variable(&self, name: &str, value: Value<'static>) -> Result<()> {
        self.set_user_variable(name, value)
    }

    fn database(&self) -> Option<String> {
        self.kept.lock().database.clone()
    }

    fn user(&self) -> String {
        self.user.clone()
    }

    fn current_user(&self) -> String {
        self.account.clone()
    }

    fn current_role(&self) -> String {
        self.kept.lock().roles.clone()
    }

    fn connection_id(&self) -> u64 {
        u64::from(self.connection_id)
    }

    fn last_insert_id(&self) -> u64 {
        self.kept.lock().last_insert_id
    }

    fn set_last_insert_id(&self, id: u64) {
        let mut kept = self.kept.lock();
        kept.last_insert_id = id;
        kept.told_insert_id = Some(id);
    }

    fn named_locks(&self) -> Option<&NamedLocks> {
        Some(&self.named_locks)
    }

    fn sequences(&self) -> Option<&Mutex<Sequences>> {
        Some(&self.sequences)
    }

    fn row_count(&self) -> i64 {
        self.kept.lock().row_count
    }

    fn found_rows(&self) -> u64 {
        self.kept.lock().found_rows
    }

    fn version(&self) -> &'static str {
        super::VERSION
    }

    fn pause(&self, duration: Duration, pause: Pause) -> Result<bool> {
        let _told = self.cancel.waits(match pause {
            Pause::Sleep => Waits::Sleep,
            Pause::NamedLock => Waits::NamedLock,
        });
        let is_interrupted = blocking(|| self.cancel.pause(duration));
        match self.cancel.ends_connection() {
            Some(stop) if is_interrupted => Err(stop.error()),
            Some(_) | None => Ok(is_interrupted),
        }
    }

    fn load_file(&self, path: &str, bytes_max: usize) -> Loaded {
        if !self.rights().global().has(Privilege::File) {
            return Loaded::Unreadable;
        }
        blocking(|| self.files.load(path, bytes_max))
    }

    fn for_long(&self, work: &mut dyn FnMut()) {
        blocking(work);
    }

    fn check_stop(&self) -> Result<()> {
        self.cancel.check()
    }
}

/// Does what blocks. Another thread takes over the runtime's work meanwhile; a runtime of one thread, as
/// tests have it, waits.
pub(super) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}
