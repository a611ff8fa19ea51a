//! The gate between commits and changes of definitions.
//!
//! A commit was gathered with one definition of each table that it writes. It passes the gate, looks
//! whether those definitions are still the published ones, and is done before it leaves. A change of
//! definitions closes the gate, waits until those inside have left, and opens it again when the new
//! definitions are published. So every commit is done either wholly before a change or with the
//! changed definition: an index that was published is maintained by all later commits.
//!
//! Passing costs two atomic additions and waits for nothing while the gate is open.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The bit that says that the gate is closed; the others count who is inside.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// Many may be inside, or one may have it closed.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: AtomicUsize,
    /// The last one has left a closed gate.
    emptied: Notify,
    opened: Notify,
}

/// Being inside; ends when dropped.
#[derive(Debug)]
#[must_use = "dropping it leaves the gate"]
pub struct Pass<'a> {
    gate: &'a Gate,
}

/// The gate is closed; it opens when this is dropped.
#[derive(Debug)]
#[must_use = "dropping it opens the gate"]
pub(super) struct Closed<'a> {
    gate: &'a Gate,
}

impl Gate {
    /// Goes in, when the gate is open.
    pub(super) async fn enter(&self) -> Pass<'_> {
        loop {
            if self.state.fetch_add(1, Ordering::AcqRel) & CLOSED == 0 {
                return Pass { gate: self };
            }
            self.leave();
            let mut opened = std::pin::pin!(self.opened.notified());
            // Listens before it looks, so that an opening in between is not missed.
            opened.as_mut().enable();
            if self.state.load(Ordering::Acquire) & CLOSED != 0 {
                opened.await;
            }
        }
    }

    fn leave(&self) {
        if self.state.fetch_sub(1, Ordering::AcqRel) == CLOSED + 1 {
            self.emptied.notify_one();
        }
    }

    /// Closes the gate and waits until nobody is inside. One at a time: the caller sees to that.
    pub(super) async fn close(&self) -> Closed<'_> {
        self.state.fetch_or(CLOSED, Ordering::AcqRel);
        // From here on it opens again, also when the wait is given up.
        let closed = Closed { gate: self };
        while self.state.load(Ordering::Acquire) != CLOSED {
            self.emptied.notified().await;
        }
        closed
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.leave();
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.gate.state.fetch_and(!CLOSED, Ordering::AcqRel);
        self.gate.opened.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[tokio::test]
    async fn closing_waits_for_who_is_inside_and_entering_waits_for_the_opening() {
        let gate = Arc::new(Gate::default());
        let pass = gate.enter().await;
        let is_closed = Arc::new(AtomicBool::new(false));
        let (closing, seen) = (Arc::clone(&gate), Arc::clone(&is_closed));
        let closer = tokio::spawn(async move {
            let closed = closing.close().await;
            seen.store(true, Ordering::SeqCst);
            tokio::task::yield_now().await;
            seen.store(false, Ordering::SeqCst);
            drop(closed);
        });
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(!is_closed.load(Ordering::SeqCst));
        let (entering, seen) = (Arc::clone(&gate), Arc::clone(&is_closed));
        let enterer = tokio::spawn(async move {
            let _pass = entering.enter().await;
            assert!(!seen.load(Ordering::SeqCst));
        });
        tokio::task::yield_now().await;
        assert!(!enterer.is_finished());
        drop(pass);
        closer.await.unwrap();
        enterer.await.unwrap();
        assert_eq!(gate.state.load(Ordering::SeqCst), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn nobody_is_inside_while_it_is_closed() {
        let gate = Arc::new(Gate::default());
        let is_closed = Arc::new(AtomicBool::new(false));
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let (gate, is_closed) = (Arc::clone(&gate), Arc::clone(&is_closed));
                tokio::spawn(async move {
                    for _ in 0..2000 {
                        let _pass = gate.enter().await;
                        assert!(!is_closed.load(Ordering::SeqCst));
                        tokio::task::yield_now().await;
                        assert!(!is_closed.load(Ordering::SeqCst));
                    }
                })
            })
            .collect();
        for _ in 0..200 {
            let closed = gate.close().await;
            is_closed.store(true, Ordering::SeqCst);
            tokio::task::yield_now().await;
            is_closed.store(false, Ordering::SeqCst);
            drop(closed);
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(gate.state.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_closing_that_is_given_up_opens_again() {
        let gate = Gate::default();
        let pass = gate.enter().await;
        {
            let closing = std::pin::pin!(gate.close());
            let no_wait = std::time::Duration::ZERO;
            assert!(tokio::time::timeout(no_wait, closing).await.is_err());
        }
        drop(gate.enter().await);
        drop(pass);
        drop(gate.close().await);
    }
}
