//! The connections of the server: what SHOW PROCESSLIST lists and KILL reaches.
//!
//! A connection registers itself and says what it does; everybody may look and ask it to stop.
//! [`Processes::sweep`], called every [`SWEEP_MS`], is what notices lost clients and idle
//! connections, so that neither costs a running statement anything.
//!
//! Builds that no statement waits for are no connections: they have a number of the same sequence
//! ([`Processes::number`]) and a row of their own ([`ProcessRow::of_build`]).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use super::secrets;
use crate::error::{Code, Error, Result};
use crate::exec::backfill::Job;
use crate::exec::cancel::{CancelToken, Stop};

/// How often [`Processes::sweep`] is to be called: a statement whose client is lost stops within
/// 100 ms.
pub const SWEEP_MS: u64 = 40;

/// Statements that run for less are not checked for a lost client.
const YOUNG_MS: u64 = 20;

/// The most bytes of a statement's text that are kept for SHOW FULL PROCESSLIST.
const TEXT_BYTES_MAX: usize = 4096;

/// Of which an idle connection keeps the memory of this many.
const TEXT_BYTES_IDLE_MAX: usize = 256;

/// Whom builds belong to that no statement waits for, and what they are, in MySQL's words.
const BUILDER: (&str, &str) = ("system user", "Daemon");

/// What KILL ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// The running statement.
    Query,
    /// The statement and its connection.
    Connection,
}

/// The other end of a connection, as far as the sweep needs it.
pub trait Peer: Send + Sync {
    /// Whether the client has closed its end. Must not block.
    fn is_gone(&self) -> bool;

    /// Ends the connection to the client: nothing more is received from it or sent to it. Must not
    /// block.
    fn cut(&self) {}
}

/// All connections.
#[derive(Debug)]
pub struct Processes {
    started: Instant,
    next_id: AtomicU32,
    running: RwLock<BTreeMap<u32, Arc<Process>>>,
    /// What all connections are asked to end for, those that come too.
    stopping: Mutex<Option<Stop>>,
    /// Questions of connections that have ended.
    past_questions: AtomicU64,
    past_connections: AtomicU64,
    /// Seconds from the start to the last FLUSH STATUS.
    flushed_s: AtomicU64,
}

/// One connection.
pub struct Process {
    id: u32,
    host: String,
    cancel: Arc<CancelToken>,
    peer: Box<dyn Peer>,
    /// Milliseconds since the server started, when the current state began.
    since_ms: AtomicU64,
    wait_timeout_ms: AtomicU64,
    questions: AtomicU64,
    doing: Mutex<Doing>,
}

#[derive(Debug, Default)]
struct Doing {
    user: String,
    database: Option<String>,
    command: &'static str,
    state: Cow<'static, str>,
    text: String,
    is_running: bool,
}

/// A row of SHOW PROCESSLIST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// The connection's number.
    pub id: u32,
    /// Who logged in.
    pub user: String,
    /// From where.
    pub host: String,
    /// The current database.
    pub database: Option<String>,
    /// `Query`, `Execute`, `Sleep`, …
    pub command: &'static str,
    /// How long the current state lasts.
    pub seconds: u64,
    /// What the statement is at.
    pub state: Cow<'static, str>,
    /// The statement's text, cut after a few thousand bytes.
    pub text: Option<String>,
}

impl ProcessRow {
    /// That of a build that no statement waits for.
    pub fn of_build(job: &Job) -> ProcessRow {
        let (user, command) = BUILDER;
        ProcessRow {
            id: job.number(),
            user: user.to_owned(),
            host: String::new(),
            database: Some(job.database().to_owned()),
            command,
            seconds: job.age().as_secs(),
            state: Cow::Owned(job.state()),
            text: None,
        }
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Default for Processes {
    fn default() -> Processes {
        Processes {
            started: Instant::now(),
            next_id: AtomicU32::new(1),
            running: RwLock::default(),
            stopping: Mutex::default(),
            past_questions: AtomicU64::new(0),
            past_connections: AtomicU64::new(0),
            flushed_s: AtomicU64::new(0),
        }
    }
}

impl Processes {
    /// Adds a connection; it is taken away when the registration is dropped. One that was accepted before the server
    /// was to stop may come after [`Processes::stop_all`]: it is asked to end, too.
    pub fn register(self: &Arc<Processes>, host: String, peer: Box<dyn Peer>) -> Registration {
        let mut running = self.running.write();
        let id = self.free_number(&running);
        let process = Arc::new(Process {
            id,
            host,
            cancel: Arc::default(),
            peer,
            since_ms: AtomicU64::new(self.now_ms()),
            wait_timeout_ms: AtomicU64::new(u64::MAX),
            questions: AtomicU64::new(0),
            doing: Mutex::new(Doing {
                user: "unauthenticated user".to_owned(),
                command: "Connect",
                state: Cow::Borrowed("login"),
                ..Doing::default()
            }),
        });
        running.insert(id, Arc::clone(&process));
        // The list is locked: it is asked here, or there.
        let stopping = *self.stopping.lock();
        if let Some(stop) = stopping {
            process.cancel.stop(stop);
        }
        Registration {
            processes: Arc::clone(self),
            process,
        }
    }

    /// A number for something else that is listed and killed; no connection gets it before four
    /// thousand million others.
    pub fn number(&self) -> u32 {
        self.free_number(&self.running.read())
    }

    fn free_number(&self, running: &BTreeMap<u32, Arc<Process>>) -> u32 {
        loop {
            let id = self.next_id.fetch_add(1, Ordering::Relaxed);
            if id != 0 && !running.contains_key(&id) {
                return id;
            }
        }
    }

    /// All connections in order of their numbers.
    pub fn list(&self) -> Vec<ProcessRow> {
        let now_ms = self.now_ms();
        let running = self.running.read();
        running
            .values()
            .map(|process| process.row(now_ms))
            .collect()
    }

    /// How many connections there are.
    pub fn count(&self) -> usize {
        self.running.read().len()
    }

    /// How many connections run a statement.
    pub fn running_count(&self) -> usize {
        let running = self.running.read();
        let running = running.values();
        running
            .filter(|process| process.doing.lock().is_running)
            .count()
    }

    /// How many connections there have been, with those that are.
    pub fn connections_count(&self) -> u64 {
        let running = self.running.read();
        let now = u64::try_from(running.len()).unwrap_or(u64::MAX);
        self.past_connections.load(Ordering::Relaxed) + now
    }

    /// How many commands have been answered.
    pub fn questions_count(&self) -> u64 {
        let running = self.running.read();
        let questions = running
            .values()
            .map(|process| process.questions.load(Ordering::Relaxed));
        self.past_questions.load(Ordering::Relaxed) + questions.sum::<u64>()
    }

    /// How long the server runs.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// FLUSH STATUS.
    pub fn note_status_flushed(&self) {
        let seconds = self.uptime().as_secs();
        self.flushed_s.store(seconds, Ordering::Relaxed);
    }

    /// Seconds since the last FLUSH STATUS, or the start.
    pub fn since_status_flushed(&self) -> u64 {
        let flushed = self.flushed_s.load(Ordering::Relaxed);
        self.uptime().as_secs().saturating_sub(flushed)
    }

    /// Who is at a connection; `None` when there is no such connection.
    pub fn user_of(&self, id: u32) -> Option<String> {
        let running = self.running.read();
        running
            .get(&id)
            .map(|process| process.doing.lock().user.clone())
    }

    /// KILL.
    ///
    /// # Errors
    /// 1094 when there is no such connection.
    pub fn kill(&self, id: u32, what: Kill) -> Result<()> {
        let running = self.running.read();
        let process = running
            .get(&id)
            .ok_or_else(|| Error::new(Code::NoSuchThread, format!("Unknown thread id: {id}")))?;
        match what {
            Kill::Query => process.cancel.stop(Stop::Query),
            Kill::Connection => {
                process.cancel.stop(Stop::Connection);
                // Before KILL is answered, as in MySQL: who asks the client afterwards whether its
                // connection lives gets the right answer.
                process.peer.cut();
            }
        }
        Ok(())
    }

    /// A connection's statement is at something long.
    pub fn set_state(&self, id: u32, state: String) {
        if let Some(process) = self.running.read().get(&id) {
            process.doing.lock().state = Cow::Owned(state);
        }
    }

    /// Asks every connection to end, and those that come.
    pub fn stop_all(&self, stop: Stop) {
        let running = self.running.read();
        *self.stopping.lock() = Some(stop);
        for process in running.values() {
            process.cancel.stop(stop);
        }
    }

    /// Stops statements whose client is lost and connections that were idle for too long. Says
    /// whether a statement is running that is not new.
    pub fn sweep(&self) -> bool {
        let now_ms = self.now_ms();
        let mut runs = false;
        for process in self.running.read().values() {
            let age_ms = now_ms.saturating_sub(process.since_ms.load(Ordering::Relaxed));
            if age_ms < YOUNG_MS {
                continue;
            }
            let is_running = process.doing.lock().is_running;
            runs |= is_running;
            if is_running && process.peer.is_gone() {
                process.cancel.stop(Stop::ClientLost);
            }
            if !is_running && process.wait_timeout_ms.load(Ordering::Relaxed) < age_ms {
                process.cancel.stop(Stop::IdleTooLong);
            }
        }
        runs
    }

    fn now_ms(&self) -> u64 {
        millis(self.started.elapsed())
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Process {
    fn row(&self, now_ms: u64) -> ProcessRow {
        let doing = self.doing.lock();
        let age_ms = now_ms.saturating_sub(self.since_ms.load(Ordering::Relaxed));
        let waiting = self.cancel.waiting_state();
        ProcessRow {
            id: self.id,
            user: doing.user.clone(),
            host: self.host.clone(),
            database: doing.database.clone(),
            command: doing.command,
            seconds: age_ms / 1000,
            state: waiting.unwrap_or_else(|| doing.state.clone()),
            text: doing.is_running.then(|| secrets::hidden(&doing.text)),
        }
    }
}

/// As much of a statement's text as is shown.
pub fn shown(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text.get(..TEXT_BYTES_MAX).unwrap_or(text))
}

/// A connection's place in the list; dropping it takes the connection away.
#[derive(Debug)]
pub struct Registration {
    processes: Arc<Processes>,
    process: Arc<Process>,
}

impl Registration {
    /// The connection's number.
    pub fn id(&self) -> u32 {
        self.process.id
    }

    /// What stops the connection's statements.
    pub fn cancel(&self) -> &Arc<CancelToken> {
        &self.process.cancel
    }

    /// Somebody logged in.
    pub fn set_user(&self, user: &str) {
        let mut doing = self.process.doing.lock();
        user.clone_into(&mut doing.user);
    }

    /// Another database may be current.
    pub fn set_database(&self, database: Option<String>) {
        self.process.doing.lock().database = database;
    }

    /// A command begins. Hot: no allocation in steady state.
    pub fn begin(&self, command: &'static str, text: &str) {
        self.process.questions.fetch_add(1, Ordering::Relaxed);
        self.process
            .since_ms
            .store(self.processes.now_ms(), Ordering::Relaxed);
        let mut doing = self.process.doing.lock();
        doing.command = command;
        doing.state = Cow::Borrowed("executing");
        doing.is_running = true;
        doing.text.clear();
        doing.text.push_str(text);
    }

    /// The command has ended; the connection may be idle for `wait_timeout`.
    pub fn end(&self, wait_timeout: Duration) {
        self.process
            .wait_timeout_ms
            .store(millis(wait_timeout), Ordering::Relaxed);
        self.process
            .since_ms
            .store(self.processes.now_ms(), Ordering::Relaxed);
        let mut doing = self.process.doing.lock();
        doing.command = "Sleep";
        doing.state = Cow::Borrowed("");
        doing.is_running = false;
        if TEXT_BYTES_IDLE_MAX < doing.text.capacity() {
            doing.text = String::new();
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Who counts holds the lock too, and finds it in one place.
        let mut running = self.processes.running.write();
        let questions = self.process.questions.load(Ordering::Relaxed);
        self.processes
            .past_questions
            .fetch_add(questions, Ordering::Relaxed);
        self.processes
            .past_connections
            .fetch_add(1, Ordering::Relaxed);
        running.remove(&self.process.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Gone(bool);

    impl Peer for Gone {
        fn is_gone(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn connections_are_listed_killed_and_forgotten() {
        let processes = Arc::new(Processes::default());
        let first = processes.register("localhost".to_owned(), Box::new(Gone(false)));
        let second = processes.register("localhost".to_owned(), Box::new(Gone(false)));
        assert_ne!(first.id(), second.id());
        first.set_user("root");
        first.begin("Query", &shown(b"SELECT \xff"));
        let row = processes.list().remove(0);
        assert_eq!(
            (row.id, row.user.as_str(), row.command),
            (first.id(), "root", "Query")
        );
        assert_eq!(row.text.as_deref(), Some("SELECT \u{fffd}"));
        first.set_database(Some("d".to_owned()));
        first.end(Duration::from_secs(1));
        let row = processes.list().remove(0);
        assert_eq!((row.text, row.database.as_deref()), (None, Some("d")));
        processes.kill(second.id(), Kill::Connection).unwrap();
        assert_eq!(second.cancel().ends_connection(), Some(Stop::Connection));
        let id = second.id();
        drop(second);
        assert_eq!(
            processes.kill(id, Kill::Query).unwrap_err().code(),
            Code::NoSuchThread
        );
        assert_eq!(processes.connections_count(), 2);
        assert_eq!(processes.questions_count(), 1);
    }

    /// Who reads between two steps of a connection's end may not find it in both places.
    #[test]
    fn no_connection_is_counted_twice_when_it_ends() {
        const ROUNDS: u64 = 2000;
        let processes = Arc::new(Processes::default());
        let begun = Arc::new(AtomicU64::new(0));
        let come_and_go = || {
            let (processes, begun) = (Arc::clone(&processes), Arc::clone(&begun));
            std::thread::spawn(move || {
                for _ in 0..ROUNDS {
                    begun.fetch_add(1, Ordering::SeqCst);
                    let one = processes.register(String::new(), Box::new(Gone(false)));
                    one.begin("Query", "");
                }
            })
        };
        let threads = [come_and_go(), come_and_go()];
        while threads.iter().any(|thread| !thread.is_finished()) {
            let seen = (processes.connections_count(), processes.questions_count());
            let most = begun.load(Ordering::SeqCst);
            assert!(seen.0 <= most && seen.1 <= most, "{seen:?} of {most}");
        }
        for thread in threads {
            thread.join().unwrap();
        }
        let all = (processes.connections_count(), processes.questions_count());
        assert_eq!(all, (2 * ROUNDS, 2 * ROUNDS));
    }

    /// Mechanism: a connection whose task had not begun when the others were asked was served until the grace was over.
    #[test]
    fn a_connection_that_comes_late_is_asked_to_end_too() {
        let processes = Arc::new(Processes::default());
        let register = || processes.register(String::new(), Box::new(Gone(false)));
        let early = register();
        assert_eq!(early.cancel().reason(), None);
        for stop in [Stop::Drain, Stop::ShuttingDown] {
            processes.stop_all(stop);
            let late = register();
            for registration in [&early, &late] {
                assert_eq!(registration.cancel().reason(), Some(stop));
            }
        }
    }

    #[test]
    fn the_sweep_stops_lost_and_idle_connections() {
        let processes = Arc::new(Processes::default());
        let lost = processes.register(String::new(), Box::new(Gone(true)));
        let idle = processes.register(String::new(), Box::new(Gone(true)));
        let fine = processes.register(String::new(), Box::new(Gone(false)));
        lost.begin("Query", "");
        fine.begin("Query", "");
        idle.end(Duration::ZERO);
        for registration in [&lost, &idle, &fine] {
            registration.process.since_ms.store(0, Ordering::Relaxed);
        }
        while processes.now_ms() <= YOUNG_MS {
            std::thread::yield_now();
        }
        assert!(processes.sweep());
        assert_eq!(lost.cancel().reason(), Some(Stop::ClientLost));
        assert_eq!(idle.cancel().reason(), Some(Stop::IdleTooLong));
        assert_eq!(fine.cancel().reason(), None);
    }
}
