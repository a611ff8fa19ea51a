//! Room on the disk: who may write when there is little of it.
//!
//! The storage library does not survive a full disk: a flush, a compaction or a commit that meets one
//! ends all writing until a restart. So commits are refused before that, as long as something is left
//! for the work that is under way:
//!
//! ```text
//! free                                puts          what makes room (deletes, DROP, TRUNCATE)
//! least or more                       yes           yes
//! less than least                     1021          yes
//! less than what must be flushed      1021          yes, when the reserve file is given up for it
//! that without the reserve            1021          1021
//! ```
//!
//! *Least* is what rows in memory, the journal and one compaction may take. Writing goes on by itself
//! once there is room again, and for a reserve. The reserve is a file of real blocks, so that
//! others who fill the disk leave room for the statements that make some. Compactions for which all this
//! is not enough wait ([`pause`]).

pub(super) mod pause;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fjall::{AbstractTree, Database, Keyspace};
use rustix::fs::{FallocateFlags, StatVfs, fallocate, statvfs};

use self::pause::Floor;
use crate::kv::{Error, Put, Result, Space, WriteSet};

/// The file that is given up when there is little room.
pub(super) const RESERVE_FILE: &str = "RESERVE";

/// Its size: some hundred thousand deletes, and the definitions of dropped tables.
const RESERVE_BYTES: u64 = 32 << 20;

/// On a small filesystem the reserve takes no more than this part of it.
const RESERVE_PART: u64 = 32;

/// A journal has holes where nothing is written yet, and is as long as this.
const JOURNAL_BYTES: u64 = 64 << 20;

/// The most files that a compaction writes before it removes those it read.
const COMPACTED_BYTES_MAX: u64 = 1 << 30;

/// The most bytes of a change of definitions that is done in any case.
const VITAL_BYTES_MAX: usize = 1 << 20;

/// What stays free whatever is done: for lists of files, and others' small writes.
const REST_BYTES: u64 = 4 << 20;

/// Files that a disk must take still: some flushes and compactions, which make a few each.
const FILES_MIN: u64 = 256;

/// What a list of files takes at most, with the file that names it: one has 33 bytes for each of them.
const LIST_BYTES: u64 = 1 << 20;
const LIST_FILES: u64 = 2;

/// The unit of the blocks that the system tells of a file.
pub(super) const STAT_BLOCK_BYTES: u64 = 512;

/// How often the sizes of the files are asked for. The filesystem is asked for each group of commits: a
/// microsecond.
const FILES_INTERVAL: Duration = Duration::from_secs(1);

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Plenty,
    /// Nothing is put.
    Scarce,
}

/// Bytes, as of now.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    /// What may be written, without the reserve.
    free: u64,
    /// Rows in memory.
    unflushed: u64,
    /// Files of rows.
    files: u64,
    reserve: u64,
}

impl Figures {
    /// What puts leave free.
    fn least(self) -> u64 {
        let compacted = self.files.min(COMPACTED_BYTES_MAX);
        self.must_leave() + JOURNAL_BYTES + compacted
    }

    /// What everything leaves free.
    fn must_leave(self) -> u64 {
        self.unflushed + REST_BYTES
    }

    fn state_after(self, state: State) -> State {
        match state {
            State::Plenty if self.free < self.least() => State::Scarce,
            State::Scarce if self.least() + self.reserve <= self.free => State::Plenty,
            State::Plenty | State::Scarce => state,
        }
    }
}

/// What a commit is, to a disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) bytes: u64,
    pub(super) makes_room: bool,
}

/// Looks after the room; the committer's own.
pub(super) struct Room {
    dir: PathBuf,
    vital: Option<Space>,
    state: State,
    figures: Figures,
    /// Whether the reserve is there, all of it.
    is_reserved: bool,
    /// Whether it could not be made since there is plenty.
    has_failed: bool,
    files_known_at: Option<Instant>,
    floor: Arc<Floor>,
}

impl Room {
    /// Of the disk of a data directory. The reserve is there, or is made when the room is looked at.
    pub(super) fn new(dir: &Path, vital: Option<Space>, floor: Arc<Floor>) -> Room {
        let reserve = statvfs(dir).map_or(RESERVE_BYTES, |disk| reserve_bytes(&disk));
        Room {
            vital,
            is_reserved: reserve <= taken_bytes(&dir.join(RESERVE_FILE)),
            has_failed: false,
            dir: dir.to_path_buf(),
            state: State::Plenty,
            figures: Figures::default(),
            files_known_at: None,
            floor,
        }
    }

    /// Looks how much room there is now.
    pub(super) fn look(&mut self, (db, data): (&Database, &Keyspace)) {
        let Ok(disk) = statvfs(&self.dir) else {
            return;
        };
        let now = Instant::now();
        let is_known = |at: Instant| now.duration_since(at) < FILES_INTERVAL;
        if !self.files_known_at.is_some_and(is_known) {
            self.files_known_at = Some(now);
            self.figures.files = data.disk_space();
        }
        self.figures.reserve = reserve_bytes(&disk);
        self.figures.unflushed = db.write_buffer_size();
        self.figures.free = free_of(&disk);
        self.floor.claim(self.figures.must_leave());
        let after = self.figures.state_after(self.state);
        if after != self.state {
            self.state = after;
            self.has_failed = false;
            self.tell();
        }
        let is_flushing = 0 < data.tree.sealed_memtable_count();
        if self.is_reserved && is_flushing && self.figures.free < self.figures.must_leave() {
            self.give_up_reserve();
        }
        if !self.is_reserved && !self.has_failed && self.state == State::Plenty {
            self.reserve();
        }
    }

    fn tell(&self) {
        let Figures { free, .. } = self.figures;
        let least = self.figures.least();
        let dir = self.dir.display();
        match self.state {
            State::Scarce => tracing::error!(
                %dir, free_bytes = free, least_bytes = least,
                "the disk is all but full: nothing is written but what makes room"
            ),
            State::Plenty => tracing::warn!(
                %dir, free_bytes = free, least_bytes = least,
                "there is room on the disk again: writing goes on"
            ),
        }
    }

    /// Whether nothing is written but what makes room.
    pub(super) fn is_scarce(&self) -> bool {
        self.state == State::Scarce
    }

    /// Compactions stop waiting for room.
    pub(super) fn close(&self) {
        self.floor.close();
    }

    /// What puts are told while there is little room.
    pub(super) fn refusal(&self) -> Error {
        self.no_room(self.figures.least() + self.figures.reserve)
    }

    fn no_room(&self, least_bytes: u64) -> Error {
        Error::NoRoom {
            dir: self.dir.clone(),
            free_bytes: self.figures.free,
            least_bytes,
        }
    }

    /// Whether a write set is one without which there would never be room again.
    pub(super) fn is_made_by(&self, writes: &WriteSet) -> bool {
        let is_vital = |put: &Put| Some(put.space) == self.vital;
        writes.puts.is_empty()
            || writes.puts.iter().all(is_vital) && writes.bytes() <= VITAL_BYTES_MAX
    }

    /// Whether a commit may take its room.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`].
    pub(super) fn admit(&mut self, demand: Demand) -> Result<()> {
        let is_refused = self.state == State::Scarce && !demand.makes_room;
        let least_bytes = if is_refused {
            self.figures.least() + self.figures.reserve
        } else {
            self.figures.must_leave()
        };
        // A commit lies in the journal, and in memory until it is flushed.
        let needed = demand.bytes.saturating_mul(2).saturating_add(least_bytes);
        if demand.makes_room && self.is_reserved && self.figures.free < needed {
            self.give_up_reserve();
        }
        if !is_refused && needed <= self.figures.free {
            return Ok(());
        }
        Err(self.no_room(needed))
    }

    /// Tried once each time there is plenty: where it cannot be, writing goes on without.
    fn reserve(&mut self) {
        let path = self.dir.join(RESERVE_FILE);
        let made = File::create(&path).and_then(|file| {
            fallocate(&file, FallocateFlags::empty(), 0, self.figures.reserve)?;
            file.sync_all()
        });
        self.is_reserved = made.is_ok();
        self.has_failed = made.is_err();
        if let Err(cause) = made {
            tracing::warn!(%cause, "no room is kept for statements that make room");
            // A part of it would only be in the way.
            let _ = fs::remove_file(&path);
        }
    }

    fn give_up_reserve(&mut self) {
        self.is_reserved = false;
        let path = self.dir.join(RESERVE_FILE);
        let bytes = taken_bytes(&path);
        match fs::remove_file(&path) {
            Ok(()) => self.figures.free += bytes,
            Err(cause) => tracing::warn!(%cause, "the reserve was not given up"),
        }
    }
}

/// The size of the reserve on a disk.
fn reserve_bytes(disk: &StatVfs) -> u64 {
    RESERVE_BYTES.min(disk.f_blocks * disk.f_frsize / RESERVE_PART)
}

/// What a file takes on the disk; a file that was cut off in the making takes less than it should.
fn taken_bytes(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.blocks() * STAT_BLOCK_BYTES)
}

/// What a directory's disk has for us; `None` when it does not say.
fn free_bytes(dir: &Path) -> Option<u64> {
    statvfs(dir).ok().as_ref().map(free_of)
}

/// Bytes that a disk has for us. One that takes hardly any more files has none.
fn free_of(disk: &StatVfs) -> u64 {
    // Where files are made of bytes alone, there are none to count.
    let has_files = disk.f_files == 0 || FILES_MIN <= disk.f_favail;
    if has_files {
        disk.f_bavail * disk.f_frsize
    } else {
        0
    }
}

/// Whether the disk of `dir` takes one more list of files, also where it has hardly room for more: a list that is begun and
/// not ended ends all writing. A disk that does not say does.
pub(super) fn takes_list(dir: &Path) -> bool {
    statvfs(dir).ok().is_none_or(|disk| fits_list(&disk))
}

fn fits_list(disk: &StatVfs) -> bool {
    let has_files = disk.f_files == 0 || LIST_FILES <= disk.f_favail;
    has_files && LIST_BYTES <= disk.f_bavail * disk.f_frsize
}

/// What puts leave free, as of now.
fn least_bytes((db, data): (&Database, &Keyspace)) -> u64 {
    let figures = Figures {
        unflushed: db.write_buffer_size(),
        files: data.disk_space(),
        ..Figures::default()
    };
    figures.least()
}

/// Whether the disk of `dir` takes so many bytes more, and puts go on there.
///
/// # Errors
///
/// [`Error::NoRoom`].
pub(super) fn check_beside(dir: &Path, tree: (&Database, &Keyspace), bytes: u64) -> Result<()> {
    check_leaves(dir, bytes, beside_bytes(dir, tree))
}

/// What is left free on the disk of `dir` by whoever writes to it beside the data: puts go on there.
pub(super) fn beside_bytes(dir: &Path, tree: (&Database, &Keyspace)) -> u64 {
    let reserve = statvfs(dir).map_or(RESERVE_BYTES, |disk| reserve_bytes(&disk));
    least_bytes(tree) + reserve
}

/// Whether the disk of `dir` takes so many bytes more, and leaves what must be left.
///
/// # Errors
///
/// [`Error::NoRoom`].
pub(super) fn check_fits(dir: &Path, bytes: u64) -> Result<()> {
    check_leaves(dir, bytes, JOURNAL_BYTES)
}

/// Whether the disk of the data takes so many bytes of a compaction while nothing is put: it leaves what flushes and
/// statements that make room need, and does not wait for more in the middle of its work.
///
/// # Errors
///
/// [`Error::NoRoom`].
pub(super) fn check_compaction((db, data): (&Database, &Keyspace), bytes: u64) -> Result<()> {
    let figures = Figures {
        unflushed: db.write_buffer_size(),
        ..Figures::default()
    };
    check_leaves(data.path(), bytes, figures.must_leave() + pause::LEFT_BYTES)
}

/// Whether the disk of `dir` takes so many bytes more, and leaves others.
///
/// # Errors
///
/// [`Error::NoRoom`].
pub(super) fn check_leaves(dir: &Path, bytes: u64, left_bytes: u64) -> Result<()> {
    let Some(free_bytes) = free_bytes(dir) else {
        return Ok(());
    };
    let least_bytes = bytes.saturating_add(left_bytes);
    if least_bytes <= free_bytes {
        return Ok(());
    }
    Err(Error::NoRoom {
        dir: dir.to_path_buf(),
        free_bytes,
        least_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn floor(dir: &Path) -> Arc<Floor> {
        Arc::new(Floor::new(dir, 0))
    }

    fn room(dir: &Path, state: State, free_mib: u64) -> Room {
        let figures = Figures {
            free: free_mib * MIB,
            unflushed: 10 * MIB,
            files: 100 * MIB,
            reserve: 32 * MIB,
        };
        let reserve = usize::try_from(figures.reserve).unwrap();
        fs::write(dir.join(RESERVE_FILE), vec![1; reserve]).unwrap();
        Room {
            state: figures.state_after(state),
            figures,
            dir: dir.to_path_buf(),
            vital: Some(Space(1)),
            is_reserved: true,
            has_failed: false,
            files_known_at: None,
            floor: floor(dir),
        }
    }

    #[test]
    fn a_disk_that_takes_no_files_has_no_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = statvfs(dir.path()).unwrap();
        (disk.f_bavail, disk.f_frsize) = (10, 4096);
        // Files there may be, those that may be made, and the bytes that are free.
        for (files, left, bytes) in [
            (1000, FILES_MIN, 40960),
            (1000, FILES_MIN - 1, 0),
            (0, 0, 40960),
        ] {
            (disk.f_files, disk.f_favail) = (files, left);
            assert_eq!(free_of(&disk), bytes, "{files} {left}");
        }
    }

    #[test]
    fn a_list_fits_where_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = statvfs(dir.path()).unwrap();
        disk.f_frsize = 4096;
        let blocks = LIST_BYTES / 4096;
        // Files there may be, those that may be made, and blocks.
        for (files, left, free, fits) in [
            (1000, LIST_FILES, blocks, true),
            (1000, LIST_FILES - 1, blocks, false),
            (0, 0, blocks, true),
            (1000, LIST_FILES, blocks - 1, false),
        ] {
            (disk.f_files, disk.f_favail, disk.f_bavail) = (files, left, free);
            assert_eq!(fits_list(&disk), fits, "{files} {left} {free}");
        }
    }

    /// Mechanism: a server that was killed while it made the reserve left an empty file, which counted as
    /// one for ever.
    #[test]
    fn an_empty_reserve_is_none() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(RESERVE_FILE), "").unwrap();
        let mut room = Room::new(dir.path(), None, floor(dir.path()));
        assert!(!room.is_reserved);
        room.figures = Figures::default();
        room.is_reserved = true;
        room.give_up_reserve();
        assert_eq!(room.figures.free, 0);
        let whole = self::room(dir.path(), State::Plenty, 300);
        assert!(whole.is_reserved && Room::new(dir.path(), None, floor(dir.path())).is_reserved);
    }

    #[test]
    fn puts_end_before_the_room_does_and_what_makes_room_goes_on() {
        // Rows in memory 10, journal 64, a compaction 100, rest 4: least is 178 MiB.
        let cases = [
            (State::Plenty, 500, true, true),
            (State::Plenty, 178, true, true),
            (State::Plenty, 177, false, true),
            (State::Scarce, 178, false, true),
            // Not back and forth: with the reserve on top.
            (State::Scarce, 209, false, true),
            (State::Scarce, 210, true, true),
            (State::Scarce, 17, false, true),
            // With the reserve.
            (State::Scarce, 15, false, true),
            (State::Scarce, 0, false, true),
        ];
        let dir = tempfile::tempdir().unwrap();
        for (before, free_mib, puts, frees) in cases {
            let mut room = room(dir.path(), before, free_mib);
            for (makes_room, expected) in [(false, puts), (true, frees)] {
                let demand = Demand {
                    bytes: MIB,
                    makes_room,
                };
                let admitted = room.admit(demand).is_ok();
                assert_eq!(admitted, expected, "{before:?} {free_mib} {makes_room}");
            }
            let is_needed = free_mib < 16;
            assert_eq!(room.is_reserved, !is_needed);
            assert_eq!(dir.path().join(RESERVE_FILE).exists(), !is_needed);
        }
        let mut empty = room(dir.path(), State::Scarce, 15);
        empty.is_reserved = false;
        let demand = Demand {
            bytes: MIB,
            makes_room: true,
        };
        assert!(empty.admit(demand).is_err());
    }

    #[test]
    fn deletes_and_small_definitions_make_room() {
        let dir = tempfile::tempdir().unwrap();
        let room = room(dir.path(), State::Plenty, 300);
        let mut writes = WriteSet::blind();
        writes.delete(Space(7), "k");
        assert!(room.is_made_by(&writes));
        writes.put(Space(1), "k", "v");
        assert!(room.is_made_by(&writes));
        let mut large = writes.clone();
        large.put(Space(1), "l", vec![1; VITAL_BYTES_MAX]);
        assert!(!room.is_made_by(&large));
        writes.put(Space(7), "l", "v");
        assert!(!room.is_made_by(&writes));
    }

    #[test]
    fn a_commit_that_is_larger_than_the_room_is_refused() {
        let demand = |bytes| Demand {
            bytes,
            makes_room: false,
        };
        let dir = tempfile::tempdir().unwrap();
        let mut room = room(dir.path(), State::Plenty, 300);
        assert!(room.admit(demand(100 * MIB)).is_ok());
        let refused = room.admit(demand(200 * MIB)).unwrap_err().to_string();
        assert!(refused.contains("314572800 bytes free"), "{refused}");
    }
}
