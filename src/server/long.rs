//! Long statements leave the threads of the runtime to short ones: a command that has used some turns
//! ([`crate::exec::pace`]) is finished on a thread of its own, which gives way.
//!
//! A worker of the runtime that computes looks at no socket, and the system gives it as much of a
//! processor as one that has a short statement to answer. Only so many commands have a thread of their
//! own at a time; further ones go on taking turns, and ask again now and then.
//!
//! A command keeps its thread to its end, also while it only waits: for a client that does not read,
//! for a lock, in `SLEEP`. Where so many wait that none is left, long commands take turns as if there
//! were no such threads.

use std::num::NonZero;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::Poll;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

use crate::exec::{elsewhere, pace};

/// Turns after which a command is long, and asks for a thread; again after each so many.
const TURNS_MAX: u32 = 20;

/// Commands that may have a thread of their own, for each processor.
const SEATS_PER_PROCESSOR: usize = 2;

static SEATS: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = available_parallelism().map_or(1, NonZero::get);
    Semaphore::new(processors.saturating_mul(SEATS_PER_PROCESSOR))
});

/// Does `work` here, or what is left of it elsewhere when it takes long.
pub(super) async fn when_long<F>(work: Pin<&mut F>) -> F::Output
where
    F: Future + Send,
    F::Output: Send,
{
    with_seats(work, &SEATS).await
}

async fn with_seats<F>(mut work: Pin<&mut F>, seats: &Semaphore) -> F::Output
where
    F: Future + Send,
    F::Output: Send,
{
    // The first poll goes on with a turn of the connection's: a client may send many commands at once.
    let mut is_again = false;
    loop {
        let mut turns = 0_u32;
        let begun = std::future::poll_fn(|context| {
            let before = pace::turns();
            if std::mem::replace(&mut is_again, true) {
                pace::note_polled_again();
            }
            let polled = work.as_mut().poll(context).map(Some);
            turns = turns.saturating_add(pace::turns().wrapping_sub(before));
            if polled.is_pending() && TURNS_MAX < turns {
                return Poll::Ready(None);
            }
            polled
        });
        if let Some(done) = begun.await {
            return done;
        }
        let Ok(_seat) = seats.try_acquire() else {
            continue;
        };
        return match elsewhere::finish(work.as_mut()) {
            Some(done) => done,
            None => work.await,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::exec::pace::Pace;

    async fn turns(count: u32) -> Option<String> {
        let mut pace = Pace::default();
        for _ in 0..count {
            while !pace.is_over() {
                thread::sleep(Duration::from_micros(50));
            }
            tokio::task::yield_now().await;
        }
        // It may wait for what the runtime drives.
        tokio::time::sleep(Duration::from_millis(1)).await;
        thread::current().name().map(str::to_owned)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_takes_long_ends_on_a_thread_of_its_own() {
        let work = tokio::spawn(async { when_long(pin!(turns(2 * TURNS_MAX))).await });
        // The only worker is free meanwhile.
        let other = tokio::spawn(async { tokio::time::sleep(Duration::from_millis(1)).await });
        other.await.unwrap();
        assert_eq!(work.await.unwrap().as_deref(), Some("meseta-leisure"));
        let short = tokio::spawn(async { when_long(pin!(turns(2))).await });
        let short = short.await.unwrap();
        assert_ne!(short.as_deref(), Some("meseta-leisure"));
    }

    /// Mechanism: the turn of a connection began anew with each command, so that a client that sent many at once never let
    /// others run.
    #[tokio::test]
    async fn many_short_commands_are_turns_of_their_connection() {
        // One that takes long by chance ends a turn in any case.
        for _ in 0..20 {
            let (mut pace, mut count) = (Pace::default(), 0);
            while !pace.is_over() {
                let command = pin!(async { thread::sleep(Duration::from_micros(50)) });
                when_long(command).await;
                count += 1;
                assert!(count < 20, "no turn ends");
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn who_found_no_seat_asks_again() {
        let seats = Arc::new(Semaphore::new(0));
        let free = Arc::clone(&seats);
        let names = tokio::spawn(async move {
            let names = pin!(async {
                let without = turns(3 * TURNS_MAX).await;
                free.add_permits(1);
                (without, turns(3 * TURNS_MAX).await)
            });
            with_seats(names, &seats).await
        });
        let (without, with) = names.await.unwrap();
        assert_ne!(without.as_deref(), Some("meseta-leisure"));
        assert_eq!(with.as_deref(), Some("meseta-leisure"));
    }

    #[tokio::test]
    async fn where_there_is_one_thread_it_stays() {
        let name = when_long(pin!(turns(2 * TURNS_MAX))).await;
        assert_ne!(name.as_deref(), Some("meseta-leisure"));
    }
}
