//! The thread that gives disk space back: it unlinks the tables of dropped spaces and compacts.
//!
//! Nothing waits for it but callers of `compact`, and nothing is lost when it stops half-way: what
//! it did not get to, later compactions leave out.

use std::ops::Bound;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Keyspace};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{fault, spaces};
use crate::kv::{Error, KeyRange, Result, Space};

/// How often the thread looks for files worth compacting.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// Deleted keys in files that make compacting worth it, when they are also a quarter of all
/// entries. Stepping over one costs half a microsecond: this many, 25 ms before a scan's first row.
const TOMBSTONES_MIN: u64 = 50_000;

/// Files beyond this are not rewritten for their deleted keys without being asked: it would take
/// the disk for longer than a minute. The ordinary compaction gets to them in its own time.
const REWRITTEN_BYTES_MAX: u64 = 2 << 30;

/// How long closing waits for the job at hand, and how often it looks.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);
const CLOSE_INTERVAL: Duration = Duration::from_millis(1);

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

    /// Ends the thread after the job it is at. A job that takes long is left to itself: the end
    /// of the process may cut it anywhere.
    pub(super) fn close(&self) {
        let Some((sender, thread)) = self.line.lock().take() else {
            return;
        };
        drop(sender);
        let until = Instant::now() + CLOSE_PATIENCE;
        while !thread.is_finished() && Instant::now() < until {
            thread::sleep(CLOSE_INTERVAL);
        }
    }
}

fn work(data: &Keyspace, jobs: &Receiver<Job>) {
    // Deleted keys that the last compaction had to leave for an old snapshot.
    let mut left = 0;
    loop {
        match jobs.recv_timeout(LOOK_INTERVAL) {
            Ok(Job::Dropped(space)) => drop_tables(data, space),
            Ok(Job::Compact(answer)) => {
                let done = compact(data);
                let _ = answer.send(done);
            }
            Err(RecvTimeoutError::Timeout) => {
                if is_worth_compacting(data, left) {
                    if let Err(cause) = compact(data) {
                        tracing::warn!(%cause, "deleted keys were not removed from the files");
                    }
                    left = data.tree.tombstone_count();
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn is_worth_compacting(data: &Keyspace, left: u64) -> bool {
    let tombstones = data.tree.tombstone_count();
    let entries = u64::try_from(data.approximate_len()).unwrap_or(u64::MAX);
    left + TOMBSTONES_MIN <= tombstones
        && entries <= tombstones.saturating_mul(4)
        && data.disk_space() <= REWRITTEN_BYTES_MAX
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
