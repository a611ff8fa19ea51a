//! Long work beside short statements: clearing up without making the client wait, and computing or
//! writing for long without keeping a thread of the runtime.
//!
//! Freeing some hundred thousand rows or locks takes a good part of the tenth of a second within
//! which a KILL is answered.

use tokio::runtime::{Handle, RuntimeFlavor};

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

/// Does `work`, which takes long and waits for nobody, here; other tasks of this thread go on
/// elsewhere meanwhile.
pub fn for_long<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(runtime) if runtime.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        Ok(_) | Err(_) => work(),
    }
}
