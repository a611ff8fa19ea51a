//! Compactions wait for room on the disk.
//!
//! The files that a compaction replaces stay until nobody reads them any more, and the next compaction may
//! begin before: then more is written than [`super`] has kept room for. The storage library takes a full
//! disk for the end of all writing, so a compaction waits in front of it, in the middle of its work. It
//! goes on when old files have gone, or the operator has made room; and a little when a space is dropped,
//! of which nothing is written any more.
//!
//! The library flushes on a thread that never compacts, so flushes go on meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::free_bytes;

/// What compactions leave free beside what others may take: several of them may have looked at the same
/// time, and each ends its files with their filters and indexes.
const LEFT_BYTES: u64 = 16 << 20;

/// Bytes that are written between two looks at the disk.
const STRIDE_BYTES: usize = 256 << 10;

/// How often a compaction that waits looks again.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The room below which compactions wait; known to all of them.
#[derive(Debug)]
pub(in crate::kv::lsm) struct Floor {
    dir: PathBuf,
    /// What flushes and commits may still take, in bytes.
    claimed: AtomicU64,
    is_closing: AtomicBool,
}

impl Floor {
    /// On the disk of a directory; nothing is claimed yet.
    pub(in crate::kv::lsm) fn new(dir: &Path) -> Floor {
        Floor {
            dir: dir.to_path_buf(),
            claimed: AtomicU64::new(0),
            is_closing: AtomicBool::new(false),
        }
    }

    pub(super) fn claim(&self, bytes: u64) {
        self.claimed.store(bytes, Ordering::Relaxed);
    }

    /// From now on nothing waits.
    pub(in crate::kv::lsm) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    fn has_room(&self) -> bool {
        let least = self.claimed.load(Ordering::Relaxed) + LEFT_BYTES;
        free_bytes(&self.dir).is_none_or(|free| least <= free)
    }
}

/// How a wait has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kv::lsm) enum Waited {
    /// There is room, or none is needed.
    GoesOn,
    /// The engine is being closed, and there is none.
    Closing,
}

/// The wait of one compaction.
#[derive(Debug)]
pub(in crate::kv::lsm) struct Pause {
    floor: Arc<Floor>,
    /// Since the last look.
    written_bytes: usize,
}

impl Pause {
    /// The first look is at the first value.
    pub(in crate::kv::lsm) fn new(floor: Arc<Floor>) -> Pause {
        Pause {
            floor,
            written_bytes: STRIDE_BYTES,
        }
    }

    /// Before so many bytes are written: whether there is too little room for them.
    pub(in crate::kv::lsm) fn is_due(&mut self, bytes: usize) -> bool {
        self.written_bytes = self.written_bytes.saturating_add(bytes);
        if self.written_bytes < STRIDE_BYTES {
            return false;
        }
        self.written_bytes = 0;
        !self.floor.has_room()
    }

    /// Waits until there is room, or it is not needed any more.
    pub(in crate::kv::lsm) fn wait(&self, is_needed: impl Fn() -> bool) -> Waited {
        let dir = self.floor.dir.display();
        tracing::warn!(%dir, "a compaction waits for room on the disk");
        while is_needed() && !self.floor.has_room() {
            if self.floor.is_closing() {
                return Waited::Closing;
            }
            thread::sleep(LOOK_INTERVAL);
        }
        tracing::info!(%dir, "a compaction that waited for room goes on");
        Waited::GoesOn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than any disk has.
    const ALL: u64 = u64::MAX / 2;

    fn pause() -> (tempfile::TempDir, Pause) {
        let dir = tempfile::tempdir().unwrap();
        let floor = Arc::new(Floor::new(dir.path()));
        (dir, Pause::new(floor))
    }

    #[test]
    fn the_disk_is_looked_at_now_and_then() {
        let (_dir, mut pause) = pause();
        pause.floor.claim(ALL);
        assert!(pause.is_due(1), "the first");
        assert!(!pause.is_due(STRIDE_BYTES - 1));
        assert!(pause.is_due(1));
        pause.floor.claim(0);
        assert!(!pause.is_due(STRIDE_BYTES));
    }

    #[test]
    fn a_wait_ends_with_room_or_its_reason_or_the_engine() {
        let (_dir, pause) = pause();
        pause.floor.claim(ALL);
        assert_eq!(pause.wait(|| false), Waited::GoesOn);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| pause.wait(|| true));
            thread::sleep(LOOK_INTERVAL * 3);
            assert!(!waiting.is_finished());
            pause.floor.claim(0);
            assert_eq!(waiting.join().unwrap(), Waited::GoesOn);
        });
        pause.floor.claim(ALL);
        pause.floor.close();
        assert_eq!(pause.wait(|| true), Waited::Closing);
    }
}
