//! How a running statement learns that it should stop.
//!
//! One [`CancelToken`] per connection. KILL, a lost client, a deadline or the end of the server
//! set it from any task; the statement calls [`CancelToken::check`] once per page and
//! [`CancelToken::check_row`] once per row, because a row can be dear, and awaits
//! [`CancelToken::stopped`] beside anything that may wait long (a row lock, a client that does not
//! read). What it waits for it tells by [`CancelToken::waits`]. Nothing is aborted from outside: a commit
//! that has begun ends.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::waits::{Place, Told, Waits};
use crate::error::{Code, Error, Result};

/// Why to stop, mildest first: a milder reason never replaces a graver one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// `KILL QUERY id`: this statement.
    Query = 1,
    /// The session itself asked to end: `RELEASE`, `KILL` of itself. The statement runs on.
    Released = 2,
    /// The server drains: the connection ends after this statement; the statement runs on.
    Drain = 3,
    /// The connection was silent for longer than `wait_timeout`.
    IdleTooLong = 4,
    /// `KILL id`: this statement and the connection.
    Connection = 5,
    /// The server stops now.
    ShuttingDown = 6,
    /// Nobody is left to read the answer.
    ClientLost = 7,
}

impl Stop {
    const ALL: [Stop; 7] = [
        Stop::Query,
        Stop::Released,
        Stop::Drain,
        Stop::IdleTooLong,
        Stop::Connection,
        Stop::ShuttingDown,
        Stop::ClientLost,
    ];

    fn of_number(number: u8) -> Option<Stop> {
        Stop::ALL.into_iter().find(|stop| *stop as u8 == number)
    }

    /// Whether a statement that is running should stop.
    fn stops_statements(self) -> bool {
        match self {
            Stop::Released | Stop::Drain => false,
            Stop::Query
            | Stop::IdleTooLong
            | Stop::Connection
            | Stop::ShuttingDown
            | Stop::ClientLost => true,
        }
    }

    /// What the client is told.
    pub fn error(self) -> Error {
        match self {
            // MySQL's sessions hear the same, whichever of both KILLs it was (`THD::send_kill_message`).
            Stop::Query | Stop::Released | Stop::Connection | Stop::ClientLost => {
                Error::new(Code::QueryInterrupted, "Query execution was interrupted")
            }
            Stop::IdleTooLong => Error::new(
                Code::IdleTooLong,
                "The client was disconnected by the server because of inactivity. \
                 See wait_timeout and interactive_timeout for configuring this behavior.",
            ),
            Stop::Drain | Stop::ShuttingDown => {
                Error::new(Code::ShuttingDown, "Server shutdown in progress")
            }
        }
    }
}

/// "No deadline", in [`CancelToken::deadline_micros`].
const NO_DEADLINE: u64 = u64::MAX;

/// Rows between two looks at the clock: a look costs as much as reading a small row.
const CLOCK_ROWS: usize = 64;

/// Tells the statements of one connection to stop; and, since whatever reads has it, counts what they
/// read and how long they wait, and tells what for.
pub struct CancelToken {
    /// A [`Stop`] as its number; 0 while there is none.
    stop: AtomicU8,
    /// Microseconds since `born`.
    deadline_micros: AtomicU64,
    born: Instant,
    changed: Notify,
    /// Wakes the connection's task while it is at rest.
    resting: Mutex<Option<Waker>>,
    /// Wakes threads in [`CancelToken::pause`]; the lock keeps a stop from falling in between.
    awake: Condvar,
    pausing: Mutex<()>,
    /// Rows that all statements have read.
    rows_read: AtomicU64,
    /// Nanoseconds that they have waited for row locks.
    lock_nanos: AtomicU64,
    /// What the running one waits for.
    waits: Place,
}

impl Default for CancelToken {
    fn default() -> CancelToken {
        CancelToken {
            stop: AtomicU8::new(0),
            deadline_micros: AtomicU64::new(NO_DEADLINE),
            born: Instant::now(),
            changed: Notify::new(),
            resting: Mutex::new(None),
            awake: Condvar::new(),
            pausing: Mutex::new(()),
            rows_read: AtomicU64::new(0),
            lock_nanos: AtomicU64::new(0),
            waits: Place::default(),
        }
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("stop", &self.reason())
            .finish_non_exhaustive()
    }
}

impl CancelToken {
    /// Sets the reason unless a graver one is set.
    pub fn stop(&self, stop: Stop) {
        self.stop.fetch_max(stop as u8, Ordering::AcqRel);
        self.changed.notify_waiters();
        if let Some(connection) = self.resting.lock().take() {
            connection.wake();
        }
        drop(self.pausing.lock());
        self.awake.notify_all();
    }

    /// Why to stop, if at all.
    pub fn reason(&self) -> Option<Stop> {
        Stop::of_number(self.stop.load(Ordering::Acquire))
    }

    /// Why the connection should end, if at all.
    pub fn ends_connection(&self) -> Option<Stop> {
        self.reason().filter(|stop| *stop != Stop::Query)
    }

    /// A new statement begins: a KILL QUERY of the one before, and its deadline, are past.
    pub fn begin_statement(&self) {
        let query = Stop::Query as u8;
        let _ = self
            .stop
            .compare_exchange(query, 0, Ordering::AcqRel, Ordering::Relaxed);
        self.clear_time_limit();
    }

    /// The running statement may take as long as it likes.
    pub fn clear_time_limit(&self) {
        self.deadline_micros.store(NO_DEADLINE, Ordering::Relaxed);
    }

    /// Rows were read for the running statement.
    pub fn count_rows(&self, rows: usize) {
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        self.rows_read.fetch_add(rows, Ordering::Relaxed);
    }

    /// How many rows the statements of this connection have read.
    pub fn rows_read(&self) -> u64 {
        self.rows_read.load(Ordering::Relaxed)
    }

    /// The running statement has waited for a row lock.
    pub fn count_lock_wait(&self, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.lock_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// How long the statements of this connection have waited for row locks.
    pub fn lock_nanos(&self) -> u64 {
        self.lock_nanos.load(Ordering::Relaxed)
    }

    /// The running statement waits, until what this gives is dropped.
    pub fn waits(&self, waits: Waits) -> Told<'_> {
        self.waits.tell(waits)
    }

    /// What the running statement waits for, for people; `None` when it is busy.
    pub fn waiting_state(&self) -> Option<Cow<'static, str>> {
        self.waits.told().map(|waits| waits.state())
    }

    /// The running statement may take this long from now on (`max_execution_time`).
    pub fn set_time_limit(&self, limit: Duration) {
        let until = self.born.elapsed().saturating_add(limit);
        let micros = u64::try_from(until.as_micros()).unwrap_or(NO_DEADLINE);
        self.deadline_micros.store(micros, Ordering::Relaxed);
    }

    /// To be called once per page: an error when the statement should stop.
    ///
    /// # Errors
    /// 1317 when killed, 3024 when the time limit is over, 1053 when the server stops.
    pub fn check(&self) -> Result<()> {
        match self.reason() {
            Some(stop) if stop.stops_statements() => return Err(stop.error()),
            Some(_) | None => {}
        }
        match self.time_left() {
            Some(Duration::ZERO) => Err(Error::new(
                Code::QueryTimeout,
                "Query execution was interrupted, maximum statement execution time exceeded",
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// As [`CancelToken::check`], to be called for every row of a loop with the row's place in it.
    /// Hot: one load, and rarely a look at the clock.
    ///
    /// # Errors
    /// As [`CancelToken::check`].
    #[inline]
    pub fn check_row(&self, row_idx: usize) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) == 0 && row_idx % CLOCK_ROWS != CLOCK_ROWS - 1 {
            return Ok(());
        }
        self.check()
    }

    /// Blocks this thread until `duration` is over (`false`) or the statement should stop (`true`).
    pub fn pause(&self, duration: Duration) -> bool {
        let until = Instant::now().checked_add(duration);
        let mut pausing = self.pausing.lock();
        loop {
            if self.check().is_err() {
                return true;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return false;
            }
            match left.into_iter().chain(self.time_left()).min() {
                Some(left) => drop(self.awake.wait_for(&mut pausing, left)),
                None => self.awake.wait(&mut pausing),
            }
        }
    }

    fn time_left(&self) -> Option<Duration> {
        let deadline = self.deadline_micros.load(Ordering::Relaxed);
        let limit = (deadline != NO_DEADLINE).then(|| Duration::from_micros(deadline));
        limit.map(|limit| limit.saturating_sub(self.born.elapsed()))
    }

    /// Waits until the statement should stop, and says why.
    pub async fn stopped(&self) -> Error {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Listens before it looks, so that nothing falls in between.
            changed.as_mut().enable();
            if let Err(error) = self.check() {
                return error;
            }
            match self.time_left() {
                Some(left) => {
                    let _ = tokio::time::timeout(left, changed).await;
                }
                None => changed.await,
            }
        }
    }

    /// For a connection at rest: waits until it should end, and says why.
    pub async fn connection_ended(&self) -> Stop {
        self.reached(|stop| stop != Stop::Query).await
    }

    /// As [`CancelToken::connection_ended`], for the one task that serves the connection. Hot: runs for
    /// each command that is waited for, and puts nothing into a list.
    pub fn poll_connection_ended(&self, context: &mut Context<'_>) -> Poll<Stop> {
        self.poll_reached(context, |stop| stop != Stop::Query)
    }

    /// As [`CancelToken::poll_connection_ended`], for one that waits for its client in the middle of a
    /// statement: a server that drains lets it end.
    pub fn poll_connection_broken(&self, context: &mut Context<'_>) -> Poll<Stop> {
        self.poll_reached(context, |stop| Stop::Drain < stop)
    }

    fn poll_reached(&self, context: &mut Context<'_>, wanted: impl Fn(Stop) -> bool) -> Poll<Stop> {
        // Listens before it looks, so that nothing falls in between.
        match &mut *self.resting.lock() {
            Some(waker) => waker.clone_from(context.waker()),
            nobody @ None => *nobody = Some(context.waker().clone()),
        }
        let reached = self.reason().filter(|stop| wanted(*stop));
        reached.map_or(Poll::Pending, Poll::Ready)
    }

    /// For a connection that is sending: waits until nothing is to be sent any more.
    pub async fn connection_broken(&self) -> Stop {
        self.reached(|stop| Stop::Drain < stop).await
    }

    async fn reached(&self, wanted: impl Fn(Stop) -> bool) -> Stop {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(stop) = self.reason().filter(|stop| wanted(*stop)) {
                return stop;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_stopped_once_and_a_connection_for_good() {
        let token = CancelToken::default();
        assert!(token.check().is_ok());
        token.stop(Stop::Query);
        assert_eq!(token.check().unwrap_err().code(), Code::QueryInterrupted);
        assert_eq!(token.ends_connection(), None);
        token.begin_statement();
        assert!(token.check().is_ok());
        token.stop(Stop::Drain);
        assert!(token.check().is_ok());
        assert_eq!(token.ends_connection(), Some(Stop::Drain));
        token.stop(Stop::Connection);
        token.stop(Stop::Query);
        token.begin_statement();
        assert_eq!(token.check().unwrap_err().code(), Code::QueryInterrupted);
    }

    #[test]
    fn a_pause_lasts_its_time_unless_stopped() {
        let token = std::sync::Arc::new(CancelToken::default());
        let before = Instant::now();
        assert!(!token.pause(Duration::from_millis(20)));
        assert!(Duration::from_millis(20) <= before.elapsed());
        let stopper = std::sync::Arc::clone(&token);
        let stop = std::thread::spawn(move || stopper.stop(Stop::Query));
        assert!(token.pause(Duration::MAX));
        stop.join().unwrap();
        assert!(token.check_row(0).is_err());
        token.begin_statement();
        token.set_time_limit(Duration::from_millis(1));
        assert!(token.pause(Duration::MAX));
        assert!((0..CLOCK_ROWS).any(|row_idx| token.check_row(row_idx).is_err()));
    }

    #[tokio::test]
    async fn a_connection_at_rest_wakes_to_its_end_alone() {
        let token = std::sync::Arc::new(CancelToken::default());
        let resting = std::sync::Arc::clone(&token);
        let rest = async move {
            std::future::poll_fn(|context| resting.poll_connection_ended(context)).await
        };
        let rest = tokio::spawn(rest);
        tokio::task::yield_now().await;
        token.stop(Stop::Query);
        tokio::task::yield_now().await;
        assert!(!rest.is_finished());
        token.stop(Stop::IdleTooLong);
        assert_eq!(rest.await.unwrap(), Stop::IdleTooLong);
    }

    #[tokio::test]
    async fn a_connection_in_a_statement_is_not_broken_by_a_server_that_drains() {
        let token = std::sync::Arc::new(CancelToken::default());
        let receiving = std::sync::Arc::clone(&token);
        let receive = async move {
            std::future::poll_fn(|context| receiving.poll_connection_broken(context)).await
        };
        let receive = tokio::spawn(receive);
        for mild in [Stop::Query, Stop::Released, Stop::Drain] {
            tokio::task::yield_now().await;
            token.stop(mild);
        }
        tokio::task::yield_now().await;
        assert!(!receive.is_finished());
        token.stop(Stop::ShuttingDown);
        assert_eq!(receive.await.unwrap(), Stop::ShuttingDown);
    }

    #[tokio::test]
    async fn waiting_ends_when_stopped_or_when_time_is_over() {
        let token = CancelToken::default();
        token.set_time_limit(Duration::ZERO);
        assert_eq!(token.stopped().await.code(), Code::QueryTimeout);
        token.begin_statement();
        let stop = async {
            tokio::task::yield_now().await;
            token.stop(Stop::Query);
        };
        let (error, ()) = tokio::join!(token.stopped(), stop);
        assert_eq!(error.code(), Code::QueryInterrupted);
    }
}
