//! Reports of how far a statement is, from the session to the client while it waits for the answer.
//!
//! Only the newest report is kept: a client that reads slowly misses some. What is reported, and how
//! often, is up to the session; how it looks on the wire, to [`reply`](crate::protocol::reply).

use tokio::sync::watch;

use super::wire::Wire;
use crate::protocol::reply::Progress;

/// The way from a session to its client.
#[derive(Debug)]
pub(super) struct Reports {
    sender: watch::Sender<Progress>,
    receiver: watch::Receiver<Progress>,
}

impl Reports {
    /// For a client that reads them.
    pub(super) fn new() -> Reports {
        let (sender, receiver) = watch::channel(Progress::default());
        Reports { sender, receiver }
    }

    /// The session's end.
    pub(super) fn sender(&self) -> watch::Sender<Progress> {
        self.sender.clone()
    }

    /// Waits for a session's answer, and sends what it reports until then.
    pub(super) async fn send_until<T>(
        &mut self,
        wire: &mut Wire,
        answer: impl Future<Output = T>,
    ) -> T {
        // What an earlier statement said last.
        self.receiver.mark_unchanged();
        let mut answer = std::pin::pin!(answer);
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answer,
                // The sender is here, so the channel is open.
                _ = self.receiver.changed() => {
                    let progress = self.receiver.borrow_and_update().clone();
                    wire.report(&progress);
                }
            }
        }
    }
}
