//! The end of a build: whoever waits for it is told how it went, where its task panics too.

use std::thread;

use super::{Backfill, Job};
use crate::error::{Error, Result};

impl Backfill {
    /// It is forgotten, and whoever waits for it is told.
    pub(super) fn end(&self, job: &Job, outcome: Result<()>) {
        self.jobs.lock().remove(&job.target.index);
        job.outcome.send_replace(Some(outcome));
    }
}

/// Ends a build whose task panics: else whoever waits for it would do so for ever, and whoever begins the same anew.
pub(super) struct Ending<'a> {
    pub(super) backfill: &'a Backfill,
    pub(super) job: &'a Job,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !thread::panicking() || self.job.outcome.borrow().is_some() {
            return;
        }
        let error = Error::internal(format_args!("the build of {} panicked", self.job.name));
        self.backfill.end(self.job, Err(error));
    }
}
