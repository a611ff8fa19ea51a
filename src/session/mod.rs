//! A session: text or statement id in, a [`Reply`] out.
//!
//! It picks the catalog version and the snapshot a statement runs on, keeps the transaction, the
//! variables and the prepared statements of its connection, and answers what concerns no rows
//! (SET, SHOW, KILL). It knows nothing of packets.
//!
//! - [`shared`]: what all sessions of the server have in common;
//! - `run`: one statement from its syntax tree to its reply; `query`: one with rows; `prepared`: statements
//!   run again;
//! - `compile`: names to tables; `transaction`: BEGIN to COMMIT; `define`: DDL; `temporary`: tables
//!   of one session; `read_only`: what a session that may not write refuses beside rows;
//! - `guard`: whether the session may run a statement; `account`: users, roles, grants;
//! - `maintain`: CHECK TABLE and REPAIR TABLE; `backup`: BACKUP;
//! - [`load`], `outfile`, [`files`]: LOAD DATA, `SELECT … INTO OUTFILE`, and the files of both;
//! - `kill`: KILL; `secrets`: texts without passwords;
//! - [`monitor`]: what is measured of statements;
//! - `set`, `persist`, [`variables`], [`settings`], [`state`]: what a session is told and remembers;
//!   `track`: what it tells of that; `rehearsal`: running something without remembering it;
//! - `system`: `information_schema` and its like, as tables whose rows are made up;
//! - `show`, `fields`, `explain`: what it tells about the server and about plans;
//! - [`processes`]: all connections, for KILL and SHOW PROCESSLIST.

mod account;
mod backup;
mod compile;
mod define;
mod dynamic;
mod explain;
mod explain_row;
mod fields;
pub mod files;
mod found;
mod guard;
mod kill;
mod listing;
pub mod load;
mod maintain;
pub mod monitor;
mod outfile;
mod persist;
mod portions;
mod prepared;
pub mod processes;
mod query;
mod read_only;
mod rehearsal;
pub mod reply;
mod run;
mod secrets;
mod set;
pub mod settings;
pub mod shared;
mod show;
pub mod state;
mod system;
mod temporary;
mod track;
mod transaction;
pub mod variables;
mod wide;
mod write_query;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::error::{Code, Error, Result};
use crate::exec::cancel::CancelToken;
use crate::exec::transaction::Transaction;
use crate::protocol::Status;
use crate::sql::context::Parameters;
use crate::sql::context::{EvalContext, SessionFacts, WarningLevel, Warnings};
use crate::sql::parse::{self, Parsed};
use crate::types::temporal::Zone;
use crate::types::{Timestamp, Value};
use guard::{Identity, Needs};
use monitor::verb::Verb;
pub use monitor::watch::Fetching;
use monitor::watch::{Pending, Text, Watch};
pub use portions::check_memory;
use prepared::PreparedStatement;
pub use reply::{Answer, Client, Done, Prepared, Reply, ResultSet, Tls, WireState};
use settings::Settings;
pub use shared::{OpenOptions, Shared, Storage};
use state::State;
use temporary::Temporary;
use track::Track;
use transaction::Next;

/// What `VERSION()` gives. Drivers switch their behaviour on the first digits.
pub const VERSION: &str = concat!("8.0.40-Meseta-", env!("CARGO_PKG_VERSION"));

/// One connection's session.
pub struct Session {
    shared: Arc<Shared>,
    client: Client,
    cancel: Arc<CancelToken>,
    state: Arc<State>,
    settings: Settings,
    /// The warnings of the last statement that was no SHOW WARNINGS.
    warnings: Arc<Warnings>,
    /// Who this is, and what it may do.
    identity: Identity,
    transaction: Option<Transaction>,
    /// Whether it had read something when the running statement began.
    had_snapshot: bool,
    /// What was said of the next transaction, or of the open one.
    next: Next,
    statements: BTreeMap<u32, Arc<PreparedStatement>>,
    next_statement: u32,
    /// Statements of PREPARE, by name.
    named: HashMap<String, Arc<PreparedStatement>>,
    temporary: Temporary,
    /// What of its changes is to be told; for clients that read it.
    track: Option<Box<Track>>,
    /// Whether the running statement says so many words that binding it may take long.
    is_long: bool,
    /// The catalog's version before names were last looked up for a statement on rows.
    bound_at: u64,
    has_attributes: bool,
    /// The statement whose rows are being sent.
    pending: Pending,
    /// What EXECUTE ran in the statement that is ending: it is measured in its stead.
    executed: Option<Arc<PreparedStatement>>,
}

impl Session {
    /// A session for a client that has logged in.
    ///
    /// # Errors
    /// When the server's variables cannot be read: an internal error.
    pub fn new(shared: &Arc<Shared>, client: Client, cancel: &Arc<CancelToken>) -> Result<Session> {
        let user = format!("{}@{}", client.user, client.host);
        let state = Arc::new(State::new(
            (&shared.globals, &shared.named_locks, &shared.files),
            (user, client.account.plain()),
            client.connection_id,
            cancel,
        ));
        if client.interactive {
            let timeout = shared.globals.get("interactive_timeout")?;
            state.set_variable("wait_timeout", Some(timeout))?;
        }
        let identity = Identity::new(&shared.accounts, client.account.clone(), client.expired);
        state.set_rights(&identity.rights, &identity.roles);
        state.set_tls(client.tls.clone());
        state.set_compression(client.compression);
        let settings = Settings::of(&state, shared.allow_full_scan)?;
        let mut session = Session {
            shared: Arc::clone(shared),
            track: client.session_track.then(Box::default),
            client,
            cancel: Arc::clone(cancel),
            state,
            settings,
            warnings: Arc::default(),
            identity,
            transaction: None,
            had_snapshot: false,
            next: Next::default(),
            statements: BTreeMap::new(),
            next_statement: 1,
            named: HashMap::new(),
            temporary: Temporary::new(&shared.catalog),
            bound_at: 0,
            is_long: false,
            has_attributes: false,
            pending: Pending::default(),
            executed: None,
        };
        session.track_settings();
        Ok(session)
    }

    /// Runs the first statement of `sql`; says where the next begins.
    ///
    /// # Errors
    /// What the client is told; the rest of the text is skipped.
    pub async fn query(&mut self, sql: &[u8]) -> Result<Answer> {
        let sql = without_end(sql);
        let watch = Watch::start(&self.cancel);
        let parsed = match self.parsed(sql) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.forget_warnings();
                return Err(self.ended_unread(watch, error));
            }
        };
        let watch = watch.of(&parsed.statement, (parsed.digest, self.settings.mode));
        self.is_long = parsed.held.is_some();
        let text = Text::whole(sql.get(..parsed.end_offset).unwrap_or(sql));
        // In memory of its own, so that connections that wait do not hold it.
        let result = Box::pin(self.run(&parsed.statement, Vec::new())).await;
        let reply = self.ended(watch, text, result)?;
        let rest = (parsed.rest_offset < sql.len()).then_some(parsed.rest_offset);
        Ok(Answer { reply, rest })
    }

    /// The first statement of a text, if the text may be run.
    fn parsed(&self, sql: &[u8]) -> Result<Parsed> {
        let parsed = parse::parse_first(sql, self.settings.mode)?;
        if parsed.rest_offset < sql.len() && !self.client.multi_statements {
            let rest = sql.get(parsed.rest_offset..).unwrap_or_default();
            return Err(parse::syntax_error(&String::from_utf8_lossy(rest), 1));
        }
        if 0 < parsed.parameters_count {
            return Err(parse::syntax_error("?", 1));
        }
        Ok(parsed)
    }

    /// Keeps an error for SHOW WARNINGS. A deadlock also ends the transaction, as in MySQL, and so
    /// does a changed definition: what was written with the old one cannot be committed.
    fn failed(&mut self, error: &Error) {
        let text = error.message().to_owned();
        self.warnings
            .add(WarningLevel::Error, error.code(), || text);
        self.state.failed(self.warnings.count());
        if matches!(error.code(), Code::Deadlock | Code::TableDefinitionChanged) {
            self.drop_transaction();
        }
    }

    /// The rows of a reply have ended, whole or not.
    pub fn end_rows(&mut self, rows_count: u64) {
        self.resume((rows_count, 0), None);
        self.returned(rows_count);
    }

    /// As [`Session::end_rows`], when an error ended them.
    pub fn fail_rows(&mut self, rows_count: u64, error: &Error) {
        self.resume((rows_count, 0), Some(error.code()));
        self.returned(rows_count);
        self.failed(error);
    }

    /// So many rows were the whole reply, or all of it that was wanted.
    pub fn returned(&self, rows_count: u64) {
        self.state.returned(rows_count);
        self.state.set_warnings_count(self.warnings.count());
    }

    /// Runs `USE` that came as a command of its own.
    ///
    /// # Errors
    /// As [`Session::use_database`].
    pub fn run_use(&mut self, name: &str) -> Result<()> {
        self.forget_warnings();
        let watch = Watch::start(&self.cancel).of_command(Verb::Use);
        let used = self.use_database(name);
        self.state.set_warnings_count(0);
        self.ended_command(watch, used)
    }

    /// Makes a database current.
    ///
    /// # Errors
    /// 1046 when no name is given, 1049 when there is none of that name.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(Error::new(Code::NoDatabase, "No database selected"));
        }
        self.renew_rights();
        self.allow(&Needs::to_use(name))?;
        if !self.knows_database(name) {
            let text = format!("Unknown database '{name}'");
            return Err(Error::new(Code::UnknownDatabase, text));
        }
        let name = system::canonical(name).unwrap_or(name);
        self.state.set_database(Some(name.to_owned()));
        self.track_schema();
        Ok(())
    }

    /// Whether another database may be current than when this was asked before.
    pub fn take_database_news(&self) -> bool {
        self.state.take_database_news()
    }

    /// The current database.
    pub fn database(&self) -> Option<String> {
        self.state.database()
    }

    /// The time zone that points in time are shown in.
    pub fn zone(&self) -> Zone {
        self.settings.zone.clone()
    }

    /// What the connection must know.
    pub fn wire_state(&self) -> WireState {
        let mut status = Status::default();
        if self.settings.autocommit {
            status = status.with(Status::AUTOCOMMIT);
        }
        if let Some(transaction) = &self.transaction {
            status = status.with(Status::IN_TRANSACTION);
            status = status.with_if(Status::IN_READ_ONLY_TRANSACTION, transaction.read_only);
        }
        if self.settings.mode.no_backslash_escapes {
            status = status.with(Status::NO_BACKSLASH_ESCAPES);
        }
        WireState {
            status,
            json_as: self.settings.json_as,
            wait_timeout: self.settings.wait_timeout,
            net_read_timeout: self.settings.net_read_timeout,
            net_write_timeout: self.settings.net_write_timeout,
            packet_bytes_max: self.settings.packet_bytes_max,
        }
    }

    /// A statement begins. Those whose rows are still to come keep their own.
    fn forget_warnings(&mut self) {
        match Arc::get_mut(&mut self.warnings) {
            Some(warnings) => warnings.clear(self.settings.notes),
            None => self.warnings = Arc::new(Warnings::new(self.settings.notes)),
        }
    }

    /// What came by name with the statements that follow: `mysql_query_attribute_string()`.
    pub fn set_attributes(&mut self, attributes: Vec<(String, Value<'static>)>) {
        if !attributes.is_empty() || self.has_attributes {
            self.has_attributes = !attributes.is_empty();
            self.state.set_attributes(attributes);
        }
    }

    /// Allows or forbids several statements in one query.
    pub fn set_multi_statements(&mut self, allowed: bool) {
        self.client.multi_statements = allowed;
    }

    /// Rolls back and forgets everything but the current database.
    ///
    /// # Errors
    /// When the server's variables cannot be read: an internal error.
    pub async fn reset(&mut self) -> Result<()> {
        self.end_temporary().await;
        self.statements.clear();
        self.named.clear();
        self.warnings = Arc::default();
        let changed = self.state.reset();
        self.identity = Identity::new(
            &self.shared.accounts,
            self.client.account.clone(),
            self.identity.expired,
        );
        self.tell_rights();
        self.settings = Settings::of(&self.state, self.shared.allow_full_scan)?;
        self.track_reset(&changed);
        Ok(())
    }

    /// Rolls back; the connection ends.
    pub async fn close(&mut self) {
        // What its client did not wait for.
        self.resume((0, 0), Some(Code::QueryInterrupted));
        self.end_temporary().await;
        self.state.release_locks();
    }

    /// Rolls back, and drops the temporary tables.
    async fn end_temporary(&mut self) {
        self.drop_transaction();
        self.temporary.leave_all();
        self.sweep_temporary().await;
    }

    /// What a statement that begins now may look at.
    fn context(&self, parameters: Parameters) -> EvalContext {
        EvalContext {
            now: self.settings.clock.unwrap_or_else(now),
            zone: self.settings.zone.clone(),
            mode: self.settings.mode,
            parameters,
            slots: Vec::new(),
            facts: Arc::clone(&self.state) as Arc<dyn SessionFacts>,
            warnings: Arc::clone(&self.warnings),
            strict_write: false,
        }
    }
}

/// A text without the semicolons and white space at its end, which mean nothing, as in MySQL.
fn without_end(mut sql: &[u8]) -> &[u8] {
    while let [rest @ .., b';' | b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C] = sql {
        sql = rest;
    }
    sql
}

/// The wall clock, in microseconds.
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let micros = i64::try_from(since.unwrap_or_default().as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(micros, 6).unwrap_or(Timestamp::ZERO)
}
