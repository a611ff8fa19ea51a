//! When a server starts anew by itself: a full disk has ended writing, and there is room again.
//!
//! The storage library takes one failed write for the end of all writing, whatever the cause. For a failed sync that
//! is right. Of a full disk nothing is unknown that reading the journal back would not tell: so the program begins
//! again, as an operator would have it do.

use std::sync::Weak;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::ceiling;
use crate::program;
use crate::session::Shared;

/// How long a server serves at least before it starts anew: where a disk has room and takes nothing all the same,
/// it does no harm to try so often.
const LIFE_MIN: Duration = Duration::from_secs(10);

/// How often it is looked for room.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Why a server is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was told to stop.
    Stopped,
    /// It is to start anew.
    Again,
}

/// Waits until a server is to end that has just started.
pub async fn end(stop: &Notify, shared: Weak<Shared>) -> End {
    tokio::select! {
        () = stop.notified() => End::Stopped,
        () = would_help(shared) => End::Again,
    }
}

/// Waits until starting anew would help; for ever, as it does for nearly all servers.
async fn would_help(shared: Weak<Shared>) {
    sleep(LIFE_MIN).await;
    loop {
        sleep(LOOK_INTERVAL).await;
        let Some(shared) = shared
            .upgrade()
            .filter(|shared| shared.read_only().is_some())
        else {
            continue;
        };
        // Asks the file system, which may take its time.
        let is_so = spawn_blocking(move || shared.would_write_again()).await;
        if is_so.unwrap_or(false) {
            tracing::warn!("there is room on the disk again: the server starts anew");
            return;
        }
    }
}

/// What comes of a server that has ended: one that was told to stop meanwhile does not start anew.
pub async fn after(end: End, stop: &Notify) -> End {
    match timeout(Duration::ZERO, stop.notified()).await {
        Ok(()) => End::Stopped,
        Err(_) => end,
    }
}

/// Begins the program anew in the place of this one, with the same options. Its data must be closed.
///
/// # Errors
/// Why it could not, for the operator; else it does not return.
pub fn begin() -> Result<(), String> {
    ceiling::allow_huge_pages();
    let error = program::begin_anew(&[]);
    Err(format!(
        "cannot start anew after the disk was full: {error}"
    ))
}
