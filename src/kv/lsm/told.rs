//! What the storage library tells of its failures: its threads in the background have nobody else to tell
//! it to, and a server that stops writing must say why.

use std::sync::Once;

use log::{Level, LevelFilter, Log, Metadata, Record};
use parking_lot::Mutex;

use super::fault;
use crate::kv::Error;

/// The crates of the storage library.
const CRATES: [&str; 2] = ["fjall", "lsm_tree"];

/// What a failure says whose cause is a full disk: ENOSPC in the words of strerror(3).
pub(super) const NO_SPACE: &str = "No space left on device";

/// The last failure of any engine of this process.
static LAST: Mutex<Option<String>> = Mutex::new(None);

static LISTENER: Listener = Listener;

struct Listener;

/// Listens from now on, unless somebody else of this process does.
pub(super) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if log::set_logger(&LISTENER).is_ok() {
            log::set_max_level(LevelFilter::Error);
        }
    });
}

/// The last failure that was told.
pub(super) fn last() -> Option<String> {
    LAST.lock().clone()
}

/// Whether it tells of what this room gave up itself, since the engine is to end.
fn is_given_up(text: &str) -> bool {
    let cause = fault::carried(Error::Closed);
    text.contains(&format!("{cause:?}"))
}

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        metadata.level() == Level::Error && CRATES.iter().any(|name| target.starts_with(name))
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = record.args().to_string();
        if is_given_up(&text) {
            tracing::debug!(cause = %text, "a compaction was given up: the engine is to end");
            return;
        }
        tracing::error!(cause = %text, "the storage library failed");
        *LAST.lock() = Some(text);
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `hidden_guard` of lsm-tree 3 tells it.
    #[test]
    fn what_was_given_up_is_no_failure() {
        let told = |cause: Error| format!("Compaction failed: {:?}", fault::carried(cause));
        assert!(is_given_up(&told(Error::Closed)));
        let cause = "an earlier one".to_owned();
        assert!(!is_given_up(&told(Error::ReadOnly { cause })));
    }

    #[test]
    fn failures_of_the_library_are_heard_and_nobody_elses() {
        let is_heard = |target, level| {
            let metadata = Metadata::builder().target(target).level(level).build();
            LISTENER.enabled(&metadata)
        };
        assert!(is_heard("fjall::worker_pool", Level::Error));
        assert!(is_heard("lsm_tree::table", Level::Error));
        assert!(!is_heard("another", Level::Error));
        assert!(!is_heard("fjall::keyspace", Level::Warn));
    }
}
