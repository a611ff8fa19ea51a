//! SIGINT and SIGTERM: the first drains, the second ends the process at once.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// Notified by the first signal to stop.
///
/// # Errors
/// One line, when signals cannot be watched for.
pub fn stop_signal() -> Result<Arc<Notify>, String> {
    let failed = |error| format!("cannot watch for signals: {error}");
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let stop = Arc::new(Notify::new());
    let notified = Arc::clone(&stop);
    tokio::spawn(async move {
        for is_last in [false, true] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if is_last {
                std::process::exit(1);
            }
            stop.notify_one();
        }
    });
    Ok(notified)
}
