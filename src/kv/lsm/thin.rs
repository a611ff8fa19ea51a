//! Finds stretches of keys of which nearly all are dead ([`super::sparse`]).
//!
//! Suspect is where many keys were deleted, by one commit or by many small ones, and where a scan met
//! little else than values that had ended. A suspect range is gone through once, and what is sparse in
//! it is kept. The committer notes what is written to the range meanwhile (a [`Watch`]), so that a
//! stretch is true of the state in which it is first seen.
//!
//! A large delete is gone through before it is acknowledged, for a fraction of what it cost: so the
//! next reader does not pay for it. All else, and what that fraction did not suffice for, is done by the
//! reclaiming thread. Time is bounded by entries, dead ones included, and not by the rows that are found.

mod suspect;
#[cfg(test)]
mod tests;
mod walk;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use fjall::Slice;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

pub(super) use self::suspect::{Deleted, Looked, Suspect, counts_of};
use self::walk::Walk;
use super::Shared;
use super::queue::Request;
use super::snapshot::Base;
use super::spaces::Bounds;
use super::sparse::Stretch;
use crate::kv::Result;
use crate::leisure;

/// Deleted keys of a space that make a range suspect: stepping over them takes longer than a short scan.
pub(super) const DELETES_MIN: usize = 512;

/// A stretch is worth keeping with so many dead keys for each live one …
const DEAD_PER_ROW: u64 = 4;
/// … counted as if there were some more of those, or every gap would be one.
const ROWS_MORE: u64 = 16;

/// What looking takes at most of the time of a commit that waits for it, …
const FOREGROUND_BUDGET: Duration = Duration::from_millis(20);
/// … or this part of what the commit took, if that is more.
const FOREGROUND_PART: u32 = 3;

/// How long a commit that is on the disk waits for the committer's part in it, who may itself wait for a compaction.
const FOREGROUND_PATIENCE: Duration = Duration::from_secs(1);

/// How often what readers met is looked at, …
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// … and how many times the length of a look lies between two at least.
const LOOK_PAUSE: u32 = 10;

/// Writes that a watch notes; past it, nothing of what is found is kept.
const TOUCHED_MAX: usize = 4096;

/// Whether so many dead keys are worth stretches, beside so many live ones.
pub(super) fn is_sparse(dead: u64, rows: usize) -> bool {
    let rows = u64::try_from(rows).unwrap_or(u64::MAX);
    DEAD_PER_ROW.saturating_mul(rows.saturating_add(ROWS_MORE)) <= dead
}

/// What the committer notes for a walk that goes on.
pub(super) struct Watch {
    range: Bounds,
    touched: Vec<Slice>,
    is_lost: bool,
    walker: Weak<()>,
}

impl Watch {
    /// Whether somebody waits for what it notes.
    pub(super) fn is_wanted(&self) -> bool {
        0 < self.walker.strong_count()
    }

    /// Whether it is that of a walker.
    pub(super) fn is_of(&self, walker: &Arc<()>) -> bool {
        self.walker.as_ptr() == Arc::as_ptr(walker)
    }

    /// Notes a batch, in order of its keys.
    pub(super) fn note(&mut self, changes: &[(Slice, Option<Slice>)]) {
        let before = |bound: &[u8]| changes.partition_point(|(key, _)| key.as_ref() < bound);
        let own = changes.get(before(&self.range.0)..before(&self.range.1));
        let own = own.unwrap_or_default();
        self.is_lost |= TOUCHED_MAX < self.touched.len() + own.len();
        if !self.is_lost {
            self.touched.extend(own.iter().map(|(key, _)| key.clone()));
        }
    }

    /// Those of the stretches that hold still.
    pub(super) fn unchanged(&mut self, mut found: Vec<Stretch>) -> Vec<Stretch> {
        if self.is_lost {
            return Vec::new();
        }
        self.touched.sort_unstable();
        let before = |bound: &[u8]| self.touched.partition_point(|key| key.as_ref() < bound);
        found.retain(|one| before(&one.from) == before(&one.until));
        found
    }
}

/// Asks the committer to note what is written to a range.
pub(super) struct Watching {
    pub(super) range: Bounds,
    pub(super) walker: Arc<()>,
    pub(super) answer: oneshot::Sender<Result<Arc<Base>>>,
}

impl Watching {
    pub(super) fn watch(&self) -> Watch {
        Watch {
            range: self.range.clone(),
            touched: Vec::new(),
            is_lost: false,
            walker: Arc::downgrade(&self.walker),
        }
    }
}

/// Hands the committer what a walk has found.
pub(super) struct Found {
    pub(super) walker: Arc<()>,
    pub(super) stretches: Vec<Stretch>,
    pub(super) answer: oneshot::Sender<Result<()>>,
}

impl Shared {
    /// Has a range looked at by the reclaiming thread, unless it was asked for that just now.
    pub(super) fn look_at(&self, suspect: Suspect) {
        let now = Instant::now();
        let mut next = self.next_look.lock();
        if next.is_none_or(|next| next <= now) {
            *next = now.checked_add(LOOK_INTERVAL);
            drop(next);
            self.reclaim.look(suspect);
        }
    }

    /// After a look that took so long, readers need not ask for another one soon: looking takes a small
    /// part of the time, whatever they meet.
    pub(super) fn put_off_looks(&self, took: Duration) {
        let pause = took.saturating_mul(LOOK_PAUSE).max(LOOK_INTERVAL);
        let mut next = self.next_look.lock();
        *next = (*next).max(Instant::now().checked_add(pause));
    }

    /// Does what [`Shared::thin`] does where that keeps nobody from being served, for some time at most: what was to be
    /// written is. What has not begun by then, the reclaiming thread gets.
    pub(super) async fn thin_at_once(self: Arc<Shared>, suspects: Vec<Suspect>, took: Duration) {
        if suspects.is_empty() || Handle::try_current().is_err() {
            return;
        }
        let waiting = Arc::new(Mutex::new(suspects));
        let (shared, begun) = (Arc::clone(&self), Arc::clone(&waiting));
        let thinned = leisure::blocking(move || {
            let suspects = std::mem::take(&mut *begun.lock());
            shared.thin(suspects, took);
        });
        if timeout(FOREGROUND_PATIENCE, thinned).await.is_err() {
            let left = std::mem::take(&mut *waiting.lock());
            for suspect in left {
                self.reclaim.look(suspect);
            }
        }
    }

    /// Goes through ranges for a commit that has taken so long, and keeps what is sparse in them; what
    /// there is no time for, the reclaiming thread gets. Blocks: the time counts from now, and what the
    /// committer has to do before it answers is part of it. A failure costs nothing but the time of those
    /// who read there.
    fn thin(&self, suspects: Vec<Suspect>, took: Duration) {
        let budget = FOREGROUND_BUDGET.max(took / FOREGROUND_PART);
        let deadline = Instant::now() + budget;
        for suspect in suspects {
            if deadline <= Instant::now() {
                self.reclaim.look(suspect);
                continue;
            }
            if let Err(cause) = self.thin_until(suspect, deadline) {
                tracing::debug!(%cause, "a sparse range was not looked at");
            }
        }
    }

    /// Goes through a range for a commit that waits; the rest is the reclaiming thread's.
    fn thin_until(&self, suspect: Suspect, deadline: Instant) -> Result<()> {
        let suspect = self.with_gap(suspect)?;
        let watched = self.watch(&suspect)?;
        if deadline <= Instant::now() {
            self.reclaim.look(suspect);
            return Ok(());
        }
        let (looked, kept) = self.thin_watched(suspect, watched, deadline)?;
        match looked {
            Looked::Through => {}
            Looked::UpTo(rest) | Looked::Never(rest) => self.reclaim.look(rest),
        }
        if Instant::now() < deadline {
            self.await_kept(kept)?;
        }
        Ok(())
    }

    /// Goes through a range for so long at most, and waits until what was found is kept.
    pub(super) fn thin_one(&self, suspect: Suspect, budget: Duration) -> Result<Looked> {
        let suspect = self.with_gap(suspect)?;
        let watched = self.watch(&suspect)?;
        let deadline = Instant::now() + budget;
        let (looked, kept) = self.thin_watched(suspect, watched, deadline)?;
        self.await_kept(kept)?;
        Ok(looked)
    }

    /// The suspect with the gap before it, if that is small.
    fn with_gap(&self, suspect: Suspect) -> Result<Suspect> {
        let base = self.base.read().clone();
        match base.as_deref().map(|base| (base, &base.view)) {
            Some((base, Some(view))) => suspect.starting_at_stretch_before((base, view)),
            Some((_, None)) | None => Ok(suspect),
        }
    }

    /// Has what is written to a range noted from now on; the state that it has now.
    fn watch(&self, suspect: &Suspect) -> Result<(Arc<()>, Arc<Base>)> {
        let walker = Arc::new(());
        let (answer, base) = oneshot::channel();
        self.queue.push(Request::Watch(Watching {
            range: suspect.range.clone(),
            walker: Arc::clone(&walker),
            answer,
        }))?;
        let base = base
            .blocking_recv()
            .unwrap_or_else(|_| Err(self.silence()))?;
        Ok((walker, base))
    }

    /// Goes through a range that is watched, and hands in what is found; what says that it is kept.
    fn thin_watched(
        &self,
        suspect: Suspect,
        (walker, base): (Arc<()>, Arc<Base>),
        deadline: Instant,
    ) -> Result<(Looked, Option<Kept>)> {
        let Some(view) = &base.view else {
            return Ok((Looked::Never(suspect), None));
        };
        if !suspect.is_close((&base, view))? {
            return Ok((Looked::Through, None));
        }
        let past = self.expiry.as_ref().map(|expiry| {
            (
                expiry.as_ref(),
                expiry.now_ms().saturating_add(suspect.ahead_ms),
            )
        });
        let mut walk = Walk::new((&base, view), &suspect, past);
        walk.deadline = deadline;
        let rest = walk.run()?;
        let (stretches, spendable) = (walk.found, (walk.left, walk.room));
        drop(base);
        let (answer, kept) = oneshot::channel();
        self.queue.push(Request::Keep(Found {
            walker,
            stretches,
            answer,
        }))?;
        let rest = rest.and_then(|start| suspect.rest_from(start, spendable));
        Ok((rest.map_or(Looked::Through, Looked::UpTo), Some(kept)))
    }

    fn await_kept(&self, kept: Option<Kept>) -> Result<()> {
        let kept = kept.map(oneshot::Receiver::blocking_recv);
        kept.map_or(Ok(()), |kept| kept.unwrap_or_else(|_| Err(self.silence())))
    }
}

/// What the committer answers when it has kept what was found.
type Kept = oneshot::Receiver<Result<()>>;
