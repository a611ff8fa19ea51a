//! Compactions wait for room on the disk.
//!
//! The files that a compaction replaces stay until nobody reads them any more, and the next compaction may
//! begin before: then more is written than [`super`] has kept room for. The storage library takes a full
//! disk for the end of all writing, so a compaction waits in front of it, in the middle of its work, until old
//! files have gone or somebody has made room. Not for ever, since it holds locks that OPTIMIZE and the
//! unlinking of dropped spaces need: unless there is nothing left to write to, when to go on would end all
//! writing.
//!
//! The library flushes on a thread that never compacts, so flushes go on meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::free_bytes;

/// What compactions leave free beside what others may take: several of them may have looked at the same
/// time, each ends its files with their filters and indexes, and deleted keys are not counted.
pub(super) const LEFT_BYTES: u64 = 16 << 20;

/// Bytes of values that are written between two looks at the disk.
const STRIDE_BYTES: usize = 256 << 10;

/// How often a compaction that waits looks again.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// How long a compaction waits in all. Then it goes on, as long as [`LAST_BYTES`] are left.
const PATIENCE: Duration = Duration::from_secs(30);

/// With less than this a compaction waits for as long as it takes: more than it writes between two looks, with
/// the block that its file has begun.
const LAST_BYTES: u64 = 4 << 20;

/// The room below which compactions wait; known to all of them.
#[derive(Debug)]
pub(in crate::kv::lsm) struct Floor {
    dir: PathBuf,
    /// What flushes and commits may still take, in bytes.
    claimed: AtomicU64,
    /// Whether the engine is to end soon.
    is_hurried: AtomicBool,
    is_closing: AtomicBool,
    /// Whether the engine writes no more.
    has_failed: AtomicBool,
}

impl Floor {
    /// On the disk of a directory, where others may take so many bytes.
    pub(in crate::kv::lsm) fn new(dir: &Path, claimed: u64) -> Floor {
        Floor {
            dir: dir.to_path_buf(),
            claimed: AtomicU64::new(claimed),
            is_hurried: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        }
    }

    pub(super) fn claim(&self, bytes: u64) {
        self.claimed.store(bytes, Ordering::Relaxed);
    }

    /// The engine is to end soon: passes over all files are to be given up. Other compactions go on waiting for room:
    /// what is committed until then may need it.
    pub(in crate::kv::lsm) fn hurry(&self) {
        self.is_hurried.store(true, Ordering::Relaxed);
    }

    /// Whether it is to.
    pub(in crate::kv::lsm) fn is_hurried(&self) -> bool {
        self.is_hurried.load(Ordering::Relaxed)
    }

    /// From now on nothing waits.
    pub(in crate::kv::lsm) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    /// Whether nothing is written any more, as the engine ends.
    pub(in crate::kv::lsm) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    /// The engine has failed: compactions are to end.
    pub(in crate::kv::lsm) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    pub(in crate::kv::lsm) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Whether nobody may wait any more.
    fn is_over(&self) -> bool {
        self.is_closing() || self.has_failed()
    }

    /// Whether so many bytes may be written.
    fn has_room(&self, bytes: usize) -> bool {
        let left = self.claimed.load(Ordering::Relaxed) + LEFT_BYTES;
        self.leaves(left, bytes)
    }

    /// Whether so many bytes can be written at all.
    fn has_last(&self, bytes: usize) -> bool {
        self.leaves(LAST_BYTES, bytes)
    }

    fn leaves(&self, left: u64, bytes: usize) -> bool {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        free_bytes(&self.dir).is_none_or(|free| left.saturating_add(bytes) <= free)
    }
}

/// The waiting of one compaction.
#[derive(Debug)]
pub(in crate::kv::lsm) struct Pause {
    floor: Arc<Floor>,
    /// Since the last look.
    written_bytes: usize,
    /// What is left of [`PATIENCE`].
    patience: Duration,
    /// Whether the log has that it goes on without room.
    has_told: bool,
}

impl Pause {
    /// The first look is at the first value.
    pub(in crate::kv::lsm) fn new(floor: Arc<Floor>) -> Pause {
        Pause {
            floor,
            written_bytes: STRIDE_BYTES,
            patience: PATIENCE,
            has_told: false,
        }
    }

    /// Before so many bytes are written: now and then looks at the disk, and waits for room.
    pub(in crate::kv::lsm) fn before(&mut self, bytes: usize) {
        self.written_bytes = self.written_bytes.saturating_add(bytes);
        if self.written_bytes < STRIDE_BYTES {
            return;
        }
        self.written_bytes = 0;
        if !self.floor.has_room(bytes) {
            self.wait(bytes);
        }
    }

    fn wait(&mut self, bytes: usize) {
        let dir = self.floor.dir.display();
        if self.patience == PATIENCE {
            tracing::warn!(%dir, "a compaction waits for room on the disk");
        }
        let began = Instant::now();
        while !self.floor.has_room(bytes) && !self.floor.is_over() {
            if self.patience < began.elapsed() && self.floor.has_last(bytes) {
                if !self.has_told {
                    tracing::warn!(%dir, "a compaction goes on without room on the disk");
                    self.has_told = true;
                }
                break;
            }
            thread::sleep(LOOK_INTERVAL);
        }
        self.patience = self.patience.saturating_sub(began.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than any disk has.
    const ALL: u64 = u64::MAX / 2;

    fn pause(patience: Duration) -> (tempfile::TempDir, Pause) {
        let dir = tempfile::tempdir().unwrap();
        let floor = Arc::new(Floor::new(dir.path(), ALL));
        let mut pause = Pause::new(floor);
        pause.patience = patience;
        (dir, pause)
    }

    #[test]
    fn the_disk_is_looked_at_now_and_then_and_patience_ends() {
        let (_dir, mut pause) = pause(LOOK_INTERVAL * 2);
        let full = pause.patience;
        pause.before(1);
        assert_eq!(pause.patience, Duration::ZERO, "the first is looked at");
        pause.patience = full;
        pause.before(STRIDE_BYTES - 1);
        assert_eq!(pause.patience, full);
        pause.before(1);
        assert_eq!(pause.patience, Duration::ZERO);
    }

    #[test]
    fn without_a_last_byte_there_is_no_end_of_patience() {
        let (_dir, mut pause) = pause(Duration::ZERO);
        let floor = Arc::clone(&pause.floor);
        thread::scope(|scope| {
            // More than any disk has, too.
            let waiting = scope.spawn(|| pause.before(usize::MAX));
            thread::sleep(LOOK_INTERVAL * 3);
            assert!(!waiting.is_finished());
            floor.fail();
            waiting.join().unwrap();
        });
        assert!(floor.has_failed());
    }

    #[test]
    fn a_wait_ends_with_room_and_with_the_engine() {
        let (_dir, mut pause) = pause(PATIENCE);
        let floor = Arc::clone(&pause.floor);
        for is_closed in [false, true] {
            floor.claim(ALL);
            pause.patience = PATIENCE;
            thread::scope(|scope| {
                let waiting = scope.spawn(|| pause.before(STRIDE_BYTES));
                thread::sleep(LOOK_INTERVAL * 3);
                assert!(!waiting.is_finished(), "{is_closed}");
                if is_closed {
                    floor.close();
                } else {
                    floor.claim(0);
                }
                waiting.join().unwrap();
            });
            let left = pause.patience;
            assert!(left < PATIENCE && PATIENCE / 2 < left, "{is_closed}");
        }
    }

    #[test]
    fn a_value_waits_for_its_own_bytes() {
        let (dir, pause) = pause(PATIENCE);
        pause.floor.claim(0);
        let free = free_bytes(dir.path()).unwrap();
        assert!(pause.floor.has_room(1));
        assert!(!pause.floor.has_room(usize::try_from(free).unwrap()));
    }
}
