//! What signals do. SIGINT and SIGTERM end the server: the first drains, the second ends the process at once. SIGHUP
//! closes the files of logs, as `FLUSH LOGS` does, and the server goes on.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, oneshot};

use crate::session::Shared;

/// What comes sooner after the first is of the same occasion: timeout(1) and terminals send to a process, and to the group
/// that it is in.
const APART: Duration = Duration::from_millis(500);

/// Signals that are watched for.
pub struct Signals {
    hangup: Signal,
    /// To whoever waits for those that end the server.
    heeded: oneshot::Sender<Arc<Notify>>,
}

fn watch(kind: SignalKind) -> Result<Signal, String> {
    signal(kind).map_err(|error| format!("cannot watch for signals: {error}"))
}

impl Signals {
    /// From now on no SIGHUP ends the process: one that comes while the data is opened is heeded afterwards. Those
    /// that end the server end it at once until it heeds them, since nobody is served. They are not left to what the
    /// system does with them, which is nothing where the server is the first process of a container.
    ///
    /// # Errors
    /// One line, when signals cannot be watched for.
    pub fn watch() -> Result<Signals, String> {
        let hangup = watch(SignalKind::hangup())?;
        let ends = Ends {
            interrupt: watch(SignalKind::interrupt())?,
            terminate: watch(SignalKind::terminate())?,
        };
        let (heeded, serving) = oneshot::channel();
        tokio::spawn(ends.end_server(serving));
        Ok(Signals { hangup, heeded })
    }

    /// Has a server heed them; what it answers is notified by the first signal to stop.
    pub fn heed(self, shared: &Arc<Shared>) -> Arc<Notify> {
        let stop = Arc::new(Notify::new());
        // Who waits does so until the process ends.
        let _ = self.heeded.send(Arc::clone(&stop));
        // A task of its own: a log's disk that hangs keeps nobody from stopping the server.
        tokio::spawn(flush_logs(self.hangup, Arc::downgrade(shared)));
        stop
    }
}

/// The signals that end the server.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
}

impl Ends {
    async fn end_server(mut self, serving: oneshot::Receiver<Arc<Notify>>) {
        let stop = tokio::select! {
            stop = serving => stop,
            () = self.next() => {
                tracing::info!("told to stop while the data was opened");
                std::process::exit(0);
            }
        };
        let Ok(stop) = stop else {
            return;
        };
        self.next().await;
        stop.notify_one();
        let first = Instant::now();
        self.next().await;
        while first.elapsed() < APART {
            self.next().await;
        }
        tracing::warn!("told to stop a second time: the server ends at once");
        std::process::exit(1);
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

async fn flush_logs(mut hangup: Signal, shared: Weak<Shared>) {
    while hangup.recv().await.is_some() {
        let Some(shared) = shared.upgrade() else {
            return;
        };
        match shared.flush_logs().await {
            Ok(()) => tracing::info!("SIGHUP: logs were flushed, as by FLUSH LOGS"),
            Err(cause) => tracing::warn!(%cause, "SIGHUP: logs could not be flushed"),
        }
    }
}
