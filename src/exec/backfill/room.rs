//! Builds that meet a full disk, or a read that fails: too few descriptors, say. Where a statement waits for one, it ends
//! with 1021, or what failed, and what it was to make is taken away; where nobody does, the build waits and goes on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Backfill, Job, LOOK_EVERY, Turn, in_line};
use crate::error::{Code, Error, Result};

/// After this time a build is tried again that a failed read has ended.
const RETRY_INTERVAL: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 2000 });

impl Backfill {
    /// Builds, and goes on when there is room again. Others have their turn meanwhile.
    ///
    /// # Errors
    /// Those of a build; 1021, and 1030 for a failed read, where somebody waits for it.
    pub(super) async fn build_as_room_allows(&self, job: &Job, turn: Turn) -> Result<()> {
        let mut turn = turn;
        loop {
            match self.build(job, turn).await {
                Err(full) if full.code() == Code::DiskFull => self.await_room(job, full).await?,
                Err(failed) if self.may_pass(&failed) => self.pause(job, failed).await?,
                ended => return ended,
            }
            turn = in_line(Arc::clone(&self.turn));
        }
    }

    /// Whether the storage failed, and takes writes all the same.
    fn may_pass(&self, error: &Error) -> bool {
        error.code() == Code::StorageFailure && self.engine.read_only().is_none()
    }

    async fn pause(&self, job: &Job, failed: Error) -> Result<()> {
        if job.is_attended() {
            return Err(failed);
        }
        tracing::warn!(index = %job.name, error = %failed, "index build failed, and is tried again");
        tokio::select! {
            () = tokio::time::sleep(RETRY_INTERVAL) => {}
            error = job.cancel.stopped() => return Err(error),
        }
        // It is in line again.
        job.progress.has_begun.store(false, Ordering::Relaxed);
        Ok(())
    }

    async fn await_room(&self, job: &Job, full: Error) -> Result<()> {
        if !job.is_attended() {
            tracing::warn!(index = %job.name, error = %full, "index build waits for room on the disk");
        }
        job.progress.lacks_room.store(true, Ordering::Relaxed);
        while !job.is_attended() {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                error = job.cancel.stopped() => return Err(error),
            }
            if self.engine.check_room(0).is_ok() {
                job.progress.lacks_room.store(false, Ordering::Relaxed);
                // It is in line again.
                job.progress.has_begun.store(false, Ordering::Relaxed);
                return Ok(());
            }
        }
        Err(full)
    }
}
