//! The thread that gives disk space back: it unlinks the tables of dropped spaces and compacts.
//!
//! Nothing waits for it but callers of `compact`, and nothing is lost when it stops half-way: what
//! it did not get to, later compactions leave out.

use std::ops::Bound;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use fjall::{AbstractTree, Keyspace};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{fault, spaces};
use crate::kv::{Error, KeyRange, Result, Space};

/// Something to reclaim.
pub(super) enum Job {
    /// A space was dropped.
    Dropped(Space),
    /// A caller wants everything rewritten without dead entries.
    Compact(oneshot::Sender<Result<()>>),
}

/// The line to the thread. `None` once the engine is closed.
#[derive(Default)]
pub(super) struct Reclaim {
    line: Mutex<Option<(Sender<Job>, JoinHandle<()>)>>,
}

impl Reclaim {
    /// Starts the thread; `dropped` are the spaces that may still have files.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when there can be no more threads.
    pub(super) fn start(&self, data: Keyspace, dropped: Vec<Space>) -> Result<()> {
        let (sender, jobs) = mpsc::channel();
        let named = thread::Builder::new().name("meseta-reclaim".to_owned());
        let thread = named.spawn(move || {
            for space in dropped {
                drop_tables(&data, space);
            }
            work(&data, &jobs);
        });
        let thread = thread.map_err(|cause| Error::io("starting a thread", &cause))?;
        *self.line.lock() = Some((sender, thread));
        Ok(())
    }

    /// Hands over a job; after closing it is forgotten.
    pub(super) fn send(&self, job: Job) {
        if let Some((sender, _)) = self.line.lock().as_ref() {
            // The thread ends only after the line was closed.
            let _ = sender.send(job);
        }
    }

    /// Ends the thread after the job it is at.
    pub(super) fn close(&self) {
        let line = self.line.lock().take();
        if let Some((sender, thread)) = line {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn work(data: &Keyspace, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        match job {
            Job::Dropped(space) => drop_tables(data, space),
            Job::Compact(answer) => {
                let done = compact(data);
                let _ = answer.send(done);
            }
        }
    }
}

/// Unlinks the tables that hold nothing but keys of a dropped space.
fn drop_tables(data: &Keyspace, space: Space) {
    let (start, until) = spaces::physical_range(space, &KeyRange::all());
    let bounds = (Bound::Included(start), Bound::Excluded(until));
    if let Err(cause) = data.tree.drop_range::<Vec<u8>, _>(bounds) {
        tracing::warn!(%cause, %space, "tables of a dropped space were not removed");
    }
}

fn compact(data: &Keyspace) -> Result<()> {
    let failed = |cause: fjall::Error| fault::error("compacting", &cause);
    data.rotate_memtable_and_wait().map_err(failed)?;
    data.major_compact().map_err(failed)
}
