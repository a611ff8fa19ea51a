//! Clearing up after a large statement without making its client wait.
//!
//! Freeing some hundred thousand rows or locks takes a good part of the tenth of a second within
//! which a KILL is answered.

use tokio::runtime::Handle;

/// Pieces of memory up to this many are freed on the spot: in less than a millisecond.
pub const PIECES_HERE_MAX: usize = 10_000;

/// Does `work` on a thread that may be busy for long, or here if there is no runtime. Nobody waits
/// for it.
pub fn run(work: impl FnOnce() + Send + 'static) {
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(work)),
        Err(_) => work(),
    }
}
