//! Builds that meet a full disk. Where a statement waits for one, it ends with 1021, and what it was to make is taken
//! away; where nobody does, the build waits for room and goes on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Backfill, Job, Turn, in_line};
use crate::error::{Code, Error, Result};

/// How often a build that waits for room looks for it.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

impl Backfill {
    /// Builds, and goes on when there is room again. Others have their turn meanwhile.
    ///
    /// # Errors
    /// Those of a build; 1021 where somebody waits for it.
    pub(super) async fn build_as_room_allows(&self, job: &Job, turn: Turn) -> Result<()> {
        let mut turn = turn;
        loop {
            match self.build(job, turn).await {
                Err(full) if full.code() == Code::DiskFull => self.await_room(job, full).await?,
                ended => return ended,
            }
            turn = in_line(Arc::clone(&self.turn));
        }
    }

    async fn await_room(&self, job: &Job, full: Error) -> Result<()> {
        if !job.is_attended() {
            tracing::warn!(index = %job.name, error = %full, "index build waits for room on the disk");
        }
        job.progress.lacks_room.store(true, Ordering::Relaxed);
        while !job.is_attended() {
            tokio::select! {
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
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
