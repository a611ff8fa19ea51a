//! Threads that give way: most of what takes long is done on them, so that short statements do not wait
//! for it.
//!
//! ```text
//!   nice value   a ninth of the processor's time beside a thread that does not give way (sched(7))
//!   end_turn     at the end of each turn whoever waits for the processor has it: a lesser weight alone
//!                keeps it for a time slice of milliseconds once it has it
//!   pool         blocking work of such a thread is done by threads of the same kind
//! ```
//! On a machine that has no idle processor a thread that always stood back would hardly get on. So one that
//! had to wait does not stand back again until it has worked for a part of that time.
//!
//! A thread begins with the nice value of the one that starts it, and cannot lower it. So a thread that
//! gives way has the runtime start none.

use std::cell::Cell;
use std::num::NonZero;
use std::panic::catch_unwind;
use std::sync::LazyLock;
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

/// The least nice value of threads that give way. On Linux each thread has its own. A server that was
/// started with a greater one keeps it: its long statements get no more than its short ones.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// A thread that had to wait works for one part in so many of that time before it stands back again.
const SHARE: u32 = 9;

/// What threads that give way are called.
pub const THREAD_NAME: &str = "meseta-leisure";

/// The stack of each thread that binds, plans or runs statements, wherever it was started: addresses, not
/// memory, until it is used. What nests is worked on by recursion; the limits of nesting (100 in a text, 120
/// queries, 400 operators) fit many times.
pub const STACK_BYTES: usize = 16 << 20;

/// Threads of the pool that may block, for each processor. What is done on one never waits for another.
const BLOCKING_PER_PROCESSOR: usize = 4;

thread_local! {
    /// Of a thread that gives way.
    static TURNS: Cell<Option<Turns>> = const { Cell::new(None) };
}

/// The turns of a thread.
#[derive(Debug, Clone, Copy)]
struct Turns {
    /// When this one began.
    began: Instant,
    /// For how long it need not stand back.
    owed: Duration,
}

impl Turns {
    /// A turn ends: whether it is time to stand back.
    fn end(&mut self, now: Instant) -> bool {
        let worked = now.duration_since(self.began);
        self.owed = self.owed.saturating_sub(worked);
        self.began = now;
        self.owed.is_zero()
    }

    /// The processor is this thread's again.
    fn go_on(&mut self, now: Instant) {
        self.owed = now.duration_since(self.began) / SHARE;
        self.began = now;
    }
}

/// This thread gives way from now on. Where its nice value may not be set, it stands back all the same; on
/// other systems than Linux the whole process would have that value.
pub fn give_way() {
    TURNS.set(Some(Turns {
        began: Instant::now(),
        owed: Duration::ZERO,
    }));
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpriority_process, setpriority_process};

        let given =
            getpriority_process(None).and_then(|own| setpriority_process(None, own.max(NICE)));
        if let Err(cause) = given {
            tracing::debug!(%cause, "a thread has no greater nice value");
        }
    }
}

/// Whether this thread gives way.
pub fn gives_way() -> bool {
    TURNS.get().is_some()
}

/// A turn is over: others have the processor if they wait for it and this thread gives way. To be called
/// several times in a millisecond by whoever works for longer.
pub fn end_turn() {
    let Some(mut turns) = TURNS.get() else {
        return;
    };
    if turns.end(Instant::now()) {
        thread::yield_now();
        turns.go_on(Instant::now());
    }
    TURNS.set(Some(turns));
}

/// Where blocking work of this thread is done: by threads that give way if it does, else by those of the
/// runtime. `None` where there is no runtime.
pub fn pool() -> Option<Handle> {
    let runtime = Handle::try_current().ok()?;
    Some(if gives_way() {
        leisurely(runtime)
    } else {
        runtime
    })
}

/// Where blocking work is done that is part of something long, whoever asks for it.
fn pool_of_long_work() -> Option<Handle> {
    Handle::try_current().ok().map(leisurely)
}

/// Does blocking work where [`pool`] says, or here. `None` when it was stopped, or panicked; what has not
/// begun when nobody waits for it any more never does.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    done_in(pool(), work).await
}

/// As [`blocking`], for what is part of something long.
pub async fn long_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    done_in(pool_of_long_work(), work).await
}

/// Has something long done that waits for other things, beside whoever asks; from the first poll on.
/// `None` when it was stopped, or panicked.
pub async fn long<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    match pool_of_long_work() {
        Some(pool) => Wanted(pool.spawn(work)).end().await,
        None => Some(work.await),
    }
}

/// Work that is stopped when nobody waits for it any more.
struct Wanted<T>(JoinHandle<T>);

impl<T> Wanted<T> {
    async fn end(mut self) -> Option<T> {
        (&mut self.0).await.ok()
    }
}

impl<T> Drop for Wanted<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn done_in<T: Send + 'static>(
    pool: Option<Handle>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    match pool {
        Some(pool) => Wanted(pool.spawn_blocking(work)).end().await,
        None => Some(work()),
    }
}

/// The threads of the pool; those of `runtime` when the system gave none.
fn leisurely(runtime: Handle) -> Handle {
    static POOL: LazyLock<Option<Runtime>> = LazyLock::new(|| {
        let processors = available_parallelism().map_or(1, NonZero::get);
        let build = || {
            Builder::new_multi_thread()
                .thread_name(THREAD_NAME)
                .thread_stack_size(STACK_BYTES)
                .worker_threads(processors)
                .max_blocking_threads(processors.saturating_mul(BLOCKING_PER_PROCESSOR))
                .on_thread_start(give_way)
                .build()
        };
        // The library panics when the system has no thread for it.
        let pool = catch_unwind(build).ok().and_then(Result::ok);
        if pool.is_none() {
            tracing::warn!("long work has no threads of its own");
        }
        pool
    });
    let pool = POOL.as_ref().map(|pool| pool.handle().clone());
    pool.unwrap_or(runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_gives_way_and_never_gets_more() {
        use rustix::process::{getpriority_process, setpriority_process};

        let nice_after = |before: i32| {
            let given = thread::spawn(move || {
                setpriority_process(None, before).unwrap();
                give_way();
                getpriority_process(None).unwrap()
            });
            given.join().unwrap()
        };
        let own = getpriority_process(None).unwrap();
        assert_eq!(nice_after(own), own.max(NICE));
        let greater = own.max(NICE + 5);
        assert_eq!(nice_after(greater), greater);
    }

    #[test]
    fn who_had_to_wait_works_for_a_part_of_that_time_before_it_stands_back_again() {
        let begin = Instant::now();
        let at = |us: u64| begin + Duration::from_micros(us);
        let mut turns = Turns {
            began: begin,
            owed: Duration::ZERO,
        };
        assert!(turns.end(at(250)));
        // Nobody was there.
        turns.go_on(at(251));
        assert!(turns.end(at(501)));
        turns.go_on(at(501 + 9_000));
        let told: Vec<bool> = [9_751, 10_001, 10_251, 10_501, 10_502]
            .map(|us| turns.end(at(us)))
            .into();
        assert_eq!(told, [false, false, false, true, true]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn blocking_work_is_done_by_threads_of_the_same_kind() {
        let of_short = pool().unwrap().spawn_blocking(gives_way).await.unwrap();
        assert!(!of_short);
        let of_long = pool_of_long_work().unwrap();
        assert!(of_long.spawn_blocking(gives_way).await.unwrap());
        let runtime = Handle::current();
        let giving_way = move || {
            let _entered = runtime.enter();
            give_way();
            pool().unwrap()
        };
        let pool = thread::spawn(giving_way).join().unwrap();
        assert!(pool.spawn_blocking(gives_way).await.unwrap());
        // What such a thread starts further is of its kind too.
        let inner = pool.spawn_blocking(|| super::pool().unwrap());
        let inner = inner.await.unwrap();
        assert!(inner.spawn_blocking(gives_way).await.unwrap());
    }

    #[test]
    fn without_a_runtime_there_is_no_pool() {
        assert!(pool().is_none());
        assert!(pool_of_long_work().is_none());
    }
}
