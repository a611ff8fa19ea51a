//! The line in front of the committer: what waits to be written, and for how long it may.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::backup::Cut;
use super::thin::{Found, Watching};
use crate::kv::{CommitError, Error, Result, Space, Ts, WriteSet};

/// How a commit ends.
pub(super) type Outcome = std::result::Result<Ts, CommitError>;

/// A write set on its way, with everything that is known about it.
pub(super) struct Commit {
    pub(super) writes: WriteSet,
    pub(super) bytes: usize,
    /// All of `must_be_absent` was absent at this time; `None` when it was not.
    pub(super) absent_at: Option<Ts>,
    pub(super) answer: oneshot::Sender<Outcome>,
    /// The part of the waiting line's memory that it takes.
    pub(super) _permit: OwnedSemaphorePermit,
}

/// Whether an answer waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    ForDisk,
    No,
}

/// Something for the committer to do.
pub(super) enum Request {
    Commit(Commit),
    CreateSpace(Space, Waits, oneshot::Sender<Result<()>>),
    DropSpace(Space, Waits, oneshot::Sender<Result<()>>),
    Sync(oneshot::Sender<Result<()>>),
    /// The state of now, for a backup.
    Cut(oneshot::Sender<Result<Cut>>),
    /// What is written to a range is to be noted.
    Watch(Watching),
    /// Sparse stretches are to be kept.
    Keep(Found),
    /// Files that were replaced are to be let go of, as far as nobody reads them. The oldest state that somebody reads,
    /// and whether nothing is put for lack of room.
    LetGo(oneshot::Sender<Result<(Ts, bool)>>),
    Close(oneshot::Sender<Result<()>>),
}

impl Request {
    /// Tells the caller that nothing was done, and why.
    pub(super) fn refuse(self, cause: Error) {
        // A caller that is gone does not mind.
        match self {
            Request::Commit(commit) => drop(commit.answer.send(Err(cause.into()))),
            Request::Watch(watching) => drop(watching.answer.send(Err(cause))),
            Request::Keep(found) => drop(found.answer.send(Err(cause))),
            Request::CreateSpace(_, _, answer)
            | Request::DropSpace(_, _, answer)
            | Request::Sync(answer)
            | Request::Close(answer) => drop(answer.send(Err(cause))),
            Request::LetGo(answer) => drop(answer.send(Err(cause))),
            Request::Cut(answer) => drop(answer.send(Err(cause))),
        }
    }
}

/// The waiting line. Its length is bounded by the callers' permits.
#[derive(Default)]
pub(super) struct Queue {
    line: Mutex<Line>,
    arrived: Condvar,
}

#[derive(Default)]
struct Line {
    waiting: Vec<Request>,
    /// Somebody wants the end.
    is_ending: bool,
    is_closed: bool,
}

impl Queue {
    /// Puts a request in line.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] when nobody will come for it.
    pub(super) fn push(&self, request: Request) -> Result<()> {
        let mut line = self.line.lock();
        if line.is_closed {
            return Err(Error::Closed);
        }
        line.is_ending |= matches!(request, Request::Close(_));
        line.waiting.push(request);
        let is_first = line.waiting.len() == 1;
        drop(line);
        if is_first {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Whether the engine is to be closed.
    pub(super) fn is_ending(&self) -> bool {
        self.line.lock().is_ending
    }

    /// Everything that waits, after waiting for it up to `patience`; perhaps nothing.
    pub(super) fn take(&self, patience: Duration) -> Vec<Request> {
        let mut line = self.line.lock();
        if line.waiting.is_empty() {
            self.arrived.wait_for(&mut line, patience);
        }
        std::mem::take(&mut line.waiting)
    }

    /// Refuses everything from now on, and gives back what still waits.
    pub(super) fn close(&self) -> Vec<Request> {
        let mut line = self.line.lock();
        line.is_closed = true;
        std::mem::take(&mut line.waiting)
    }
}
