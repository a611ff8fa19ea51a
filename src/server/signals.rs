//! What signals do. SIGINT and SIGTERM end the server: the first drains, the second ends the process at once. SIGHUP
//! closes the files of logs, as `FLUSH LOGS` does, and the server goes on.

use std::sync::{Arc, Weak};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use crate::session::Shared;

/// Signals that are watched for.
pub struct Signals {
    hangup: Signal,
}

fn watch(kind: SignalKind) -> Result<Signal, String> {
    signal(kind).map_err(|error| format!("cannot watch for signals: {error}"))
}

impl Signals {
    /// From now on no SIGHUP ends the process: one that comes while the data is opened is heeded afterwards. Those
    /// that end the server may still end it at once, since nobody is served.
    ///
    /// # Errors
    /// One line, when signals cannot be watched for.
    pub fn watch() -> Result<Signals, String> {
        let hangup = watch(SignalKind::hangup())?;
        Ok(Signals { hangup })
    }

    /// Has a server heed them; what it answers is notified by the first signal to stop.
    ///
    /// # Errors
    /// As [`Signals::watch`].
    pub fn heed(self, shared: &Arc<Shared>) -> Result<Arc<Notify>, String> {
        let mut interrupt = watch(SignalKind::interrupt())?;
        let mut terminate = watch(SignalKind::terminate())?;
        let stop = Arc::new(Notify::new());
        let notified = Arc::clone(&stop);
        tokio::spawn(async move {
            for is_last in [false, true] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if is_last {
                    tracing::warn!("told to stop a second time: the server ends at once");
                    std::process::exit(1);
                }
                stop.notify_one();
            }
        });
        // A task of its own: a log's disk that hangs keeps nobody from stopping the server.
        tokio::spawn(flush_logs(self.hangup, Arc::downgrade(shared)));
        Ok(notified)
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
