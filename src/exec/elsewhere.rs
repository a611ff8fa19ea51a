//! Long work beside short statements: clearing up without making the client wait, and computing or
//! writing for long without keeping a thread of the runtime.
//!
//! Freeing some hundred thousand rows or locks takes a good part of the tenth of a second within
//! which a KILL is answered.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::thread::{self, JoinHandle};

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::error::{Code, Error, Result};
use crate::leisure;

/// Pieces of memory up to this many are freed on the spot: in less than a millisecond.
pub const PIECES_HERE_MAX: usize = 10_000;

/// Does `work` on a thread that may be busy for long, or here if there is no runtime. Nobody waits
/// for it.
pub fn run(work: impl FnOnce() + Send + 'static) {
    match leisure::pool() {
        Some(pool) => drop(pool.spawn_blocking(work)),
        None => work(),
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

/// As [`for_long`], on a thread that gives way to those that serve short statements: where there are
/// fewer processors than work, they do not wait for a time slice of this to end.
///
/// # Errors
/// 1135 when the system gives no thread; those of `work`.
pub fn at_leisure<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    for_long(|| {
        thread::scope(|scope| {
            let working = named().spawn_scoped(scope, giving_way(work));
            let working = working.map_err(|cause| no_thread(&cause))?;
            result_of(working.join())
        })
    })
}

/// Waits for what is left of `work` on a thread that gives way; other tasks of this one go on
/// elsewhere. `None` where there is only this thread, or no other to be had.
pub fn finish<F>(mut work: Pin<&mut F>) -> Option<F::Output>
where
    F: Future + Send,
    F::Output: Send,
{
    let runtime = Handle::try_current().ok()?;
    if runtime.runtime_flavor() != RuntimeFlavor::MultiThread {
        return None;
    }
    tokio::task::block_in_place(|| {
        thread::scope(|scope| {
            let done = giving_way(|| runtime.block_on(work.as_mut()));
            let working = named().spawn_scoped(scope, done).ok()?;
            let done = working.join();
            Some(done.unwrap_or_else(|panicked| resume_unwind(panicked)))
        })
    })
}

/// Begins `work` on a thread that gives way; [`end`] waits for it.
///
/// # Errors
/// 1135 when the system gives no thread.
pub fn begin<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<JoinHandle<Result<T>>> {
    let begun = named().spawn(giving_way(work));
    begun.map_err(|cause| no_thread(&cause))
}

/// Waits for what was begun.
///
/// # Errors
/// Those of the work.
pub fn end<T>(working: JoinHandle<Result<T>>) -> Result<T> {
    result_of(working.join())
}

/// A thread that may go on with a statement: as deep as it nests.
fn named() -> thread::Builder {
    let named = thread::Builder::new().name(leisure::THREAD_NAME.to_owned());
    named.stack_size(leisure::STACK_BYTES)
}

/// A panic goes on where the work was asked for.
fn result_of<T>(joined: thread::Result<Result<T>>) -> Result<T> {
    joined.unwrap_or_else(|panicked| resume_unwind(panicked))
}

fn no_thread(cause: &std::io::Error) -> Error {
    let text = format!("Can't create a new thread ({cause}); fewer sorts at a time need fewer");
    Error::new(Code::CantCreateThread, text)
}

fn giving_way<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    || {
        leisure::give_way();
        work()
    }
}
