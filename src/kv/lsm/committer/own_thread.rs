//! The thread that commits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use tokio::sync::oneshot;

use super::Committer;
use crate::kv::lsm::queue::Request;
use crate::kv::lsm::{Opened, Shared};
use crate::kv::{Error, Result};

/// Tells callers when the committer's thread ends in a way that nobody planned.
struct Watch(Arc<Shared>);

impl Drop for Watch {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.set_read_only(&Error::Io {
                doing: "committing".to_owned(),
                cause: "the committer's thread panicked".to_owned(),
            });
        }
        for late in self.0.queue.close() {
            late.refuse(self.0.silence());
        }
    }
}

/// Starts the thread.
///
/// # Errors
///
/// [`Error::Io`].
pub(in crate::kv::lsm) fn start(shared: Arc<Shared>, opened: Opened) -> Result<()> {
    let watch = Watch(Arc::clone(&shared));
    let named = thread::Builder::new().name("meseta-commit".to_owned());
    let started = named.spawn(move || {
        let _watch = watch;
        Committer::new(shared, opened).run();
    });
    match started {
        Ok(_) => Ok(()),
        Err(cause) => Err(Error::io("starting a thread", &cause)),
    }
}

impl Committer {
    /// What is done last: nothing is written from then on.
    pub(super) fn close(mut self, answer: oneshot::Sender<Result<()>>, waiting: VecDeque<Request>) {
        let synced = self.sync().and_then(|()| self.write_end());
        for late in waiting.into_iter().chain(self.shared.queue.close()) {
            late.refuse(Error::Closed);
        }
        self.room.close();
        self.shared.reclaim.close();
        self.shared.hide();
        self.nudge.end();
        let shared = Arc::clone(&self.shared);
        drop(self);
        shared.release();
        let _ = answer.send(synced);
    }
}
