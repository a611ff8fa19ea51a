//! Ctrl-C, SIGTERM and SIGHUP in the middle of a task: it is told to stop, and takes away what it has made for itself
//! on the way out. A second Ctrl-C or SIGTERM ends the process at once.

use std::fs;
use std::future;
use std::io::{self, Write};
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::EXIT_FAILED;
use crate::exec::cancel::{CancelToken, Stop};

/// What is said of a task that did not come to its end for a signal.
pub(super) const INTERRUPTED: &str = "interrupted";

/// What comes sooner after the first is of the same occasion: a terminal that is closed sends SIGHUP by its shell and by
/// the system, the end of a session SIGTERM and SIGHUP.
const APART: Duration = Duration::from_millis(500);

/// Has signals stop whatever looks at the answer.
///
/// # Errors
/// When they cannot be watched for.
pub(super) fn watch() -> io::Result<Arc<CancelToken>> {
    // On a thread of its own: those of the task's runtime may be busy with reading.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let entered = runtime.enter();
    let mut signals = signals()?;
    drop(entered);
    let cancel = Arc::new(CancelToken::default());
    let told = Arc::clone(&cancel);
    let wait = move || {
        runtime.block_on(async {
            any(&mut signals).await;
            told.stop(Stop::ShuttingDown);
            let first = Instant::now();
            while any(&mut signals).await == SignalKind::hangup() || first.elapsed() < APART {}
        });
        let _ = writeln!(io::stderr(), "meseta: {INTERRUPTED} at once");
        std::process::exit(i32::from(EXIT_FAILED));
    };
    let thread = thread::Builder::new().name("meseta-signals".to_owned());
    thread.spawn(wait)?;
    Ok(cancel)
}

/// Those that are not ignored: a check under `nohup` goes on when its terminal is closed.
fn signals() -> io::Result<Vec<(SignalKind, Signal)>> {
    let ignored = ignored(&fs::read_to_string("/proc/self/status").unwrap_or_default());
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let is_watched = |kind: &SignalKind| {
        let number = u32::try_from(kind.as_raw_value()).unwrap_or(0);
        ignored.checked_shr(number.saturating_sub(1)).unwrap_or(0) & 1 == 0
    };
    let watched = kinds.into_iter().filter(is_watched);
    watched.map(|kind| Ok((kind, signal(kind)?))).collect()
}

/// The signals that whoever began this process has it ignore: bit 0 is signal 1 (proc(5), `SigIgn`).
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0)
}

/// Waits for one, and says which.
async fn any(signals: &mut [(SignalKind, Signal)]) -> SignalKind {
    future::poll_fn(|context| {
        let mut signals = signals.iter_mut();
        let come =
            signals.find_map(|(kind, one)| one.poll_recv(context).is_ready().then_some(*kind));
        come.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_known() {
        let status = "Name:\tmeseta\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000004001\n";
        assert_eq!(ignored(status), 1 << 14 | 1);
        assert_eq!(ignored(""), 0);
    }
}
