//! What the committer does beside committing: it looks after the disk, and after what an idle engine owes
//! it.
//!
//! The storage library's own threads flush and compact. One that fails ends, and nobody is told but the
//! next commit; a commit that waits for a flush then would wait for ever. So the committer waits itself,
//! in front of the library, and looks for the failure meanwhile and when it is idle.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use fjall::{AbstractTree, PersistMode};

use super::super::{damage, fault, spaces, told};
use super::Committer;
use crate::kv::{Error, Result};

/// How often a failure in the background is looked for, and whether commits wait for what nobody has begun; it is found half a second later at most, as the
/// idle thread wakes up as often.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Memtables that wait to be flushed before commits wait for one of them, however small they are; the
/// library's own waiting begins with one more.
const FLUSHES_MAX: usize = 3;

/// Files that lie over each other before commits wait for a compaction: as large as memtables are, they have
/// the bytes for which [`super::super::room`] keeps room. The library's own waiting begins with four more.
pub(super) const OVERLAPS_MAX: usize = 16;

/// How long what makes room waits for a compaction that may itself wait for room, from when the first had to wait; then
/// it is refused, so that nobody waits without an end, nor one behind the other.
const STUCK_MAX: Duration = Duration::from_secs(10);

/// How often a commit that waits looks whether it must.
const WAIT_INTERVAL: Duration = Duration::from_millis(1);

impl Committer {
    /// Before a batch: waits until it will be taken, and looks how much room there is.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`] when what it would wait for waits for room itself.
    pub(super) fn prepare(&mut self, makes_room: bool) -> Result<()> {
        while self.is_behind() && self.shared.read_only().is_none() {
            if self.room.is_scarce() && (!makes_room || self.is_stuck()) {
                return Err(self.room.refusal());
            }
            thread::sleep(WAIT_INTERVAL);
            self.look_for_failure();
            self.refuse_sweep();
            self.sync_when_due();
        }
        self.stuck_since = None;
        self.room.look((&self.db, &self.data));
        Ok(())
    }

    /// Whether what makes room has waited long enough; asked while it waits.
    fn is_stuck(&mut self) -> bool {
        let since = *self.stuck_since.get_or_insert_with(Instant::now);
        STUCK_MAX < since.elapsed() || self.shared.queue.is_ending()
    }

    pub(super) fn is_behind(&self) -> bool {
        let tree = &self.data.tree;
        let flushes = tree.sealed_memtable_count();
        let is_full = 0 < flushes && self.memtables_bytes_max <= self.db.write_buffer_size();
        is_full || FLUSHES_MAX <= flushes || OVERLAPS_MAX <= tree.l0_run_count()
    }

    /// Now and then: whether a thread in the background has failed.
    pub(super) fn look_for_failure(&mut self) {
        if self.failure_looked_for.elapsed() < LOOK_INTERVAL {
            return;
        }
        self.failure_looked_for = Instant::now();
        if !self.is_behind() {
            self.stuck_since = None;
        }
        if self.shared.read_only().is_some() {
            return;
        }
        self.nudge();
        self.run.note_newest();
        self.room.look((&self.db, &self.data));
        if self.room.is_scarce() || self.owes_room || self.has_many_lists() {
            // Those who try again and again would keep it from ever being idle.
            self.let_go();
        }
        match self.db.persist(PersistMode::Buffer) {
            Ok(()) => {}
            Err(fjall::Error::Poisoned) => drop(self.fail_in_background()),
            Err(cause) => drop(self.fail("writing the journal", &cause)),
        }
    }

    /// What came of writing a batch, with what threads in the background say by then. They let go of the journal before they
    /// say that a sync of theirs has failed, or that of the journal's name: who gets the journal in between writes where a
    /// power cut may take everything away, and must not say that it is kept.
    pub(super) fn settled(&self, written: fjall::Result<()>) -> fjall::Result<()> {
        written?;
        match self.db.persist(PersistMode::Buffer) {
            Err(fjall::Error::Poisoned) => {
                let cause = self.fail_in_background().to_string();
                Err(fjall::Error::Io(io::Error::other(cause)))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Before the first batch of this run: writes the one that it begins with.
    pub(super) fn begin_run(&mut self) -> Result<()> {
        if self.run.has_begun() {
            return Ok(());
        }
        let mut batch = self.db.batch().durability(Some(PersistMode::SyncData));
        self.run.mark((&mut batch, &self.data));
        let begun = batch.commit();
        let begun = begun.map_err(|cause| self.fail("beginning the journal", &cause));
        self.run.note_synced();
        let begun = begun.and_then(|()| self.run.begin());
        begun.map_err(|cause| self.read_only(cause))
    }

    /// In async mode: syncs what has waited long enough.
    pub(super) fn sync_when_due(&mut self) {
        if self.run.is_due(self.sync_interval) && self.sync().is_err() {
            // Every later write says why; there is nobody to tell now.
            self.run.note_synced();
        }
    }

    /// A last batch behind all that were acknowledged: so damage to the last of those cannot look like
    /// a commit that was under way when the power went, which is cut off.
    pub(super) fn write_end(&mut self) -> Result<()> {
        self.begin_run()?;
        let mut batch = self.db.batch().durability(Some(PersistMode::SyncData));
        self.run.mark((&mut batch, &self.data));
        batch.insert(&self.data, spaces::END_KEY, spaces::END_VALUE);
        let written = batch.commit();
        written.map_err(|cause| self.fail("ending the journal", &cause))
    }

    /// After a failure nothing is certain any more.
    pub(super) fn fail(&self, doing: &str, cause: &fjall::Error) -> Error {
        if let fjall::Error::Poisoned = cause {
            // It failed before, and nothing was written now.
            return self.fail_in_background();
        }
        self.give_up(fault::error(doing, cause))
    }

    /// After one that the library keeps to itself: [`Error::ReadOnly`].
    pub(super) fn fail_in_background(&self) -> Error {
        let doing = "flushing or compacting".to_owned();
        let cause = told::last();
        let cause = cause.unwrap_or_else(|| "a thread of the storage engine failed".to_owned());
        let is_damage = damage::is_told_by(&cause);
        if self.shared.read_only().is_none() && is_damage {
            damage::name_beside(self.shared.engine_dir.clone());
        }
        self.read_only(if cause.contains(told::NO_SPACE) {
            Error::DiskFull { doing }
        } else if is_damage {
            let what = format!("{cause}, met while {doing}");
            Error::Corrupt { what }
        } else {
            Error::Io { doing, cause }
        })
    }

    /// After a failure in front of what was to be written: nothing of that is.
    fn read_only(&self, cause: Error) -> Error {
        let cause = self.give_up(cause);
        self.shared.read_only().unwrap_or(cause)
    }

    pub(super) fn give_up(&self, cause: Error) -> Error {
        self.shared.give_up(&cause);
        cause
    }
}
