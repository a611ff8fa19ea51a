//! One run of the server, in the journals: each of its batches begins with a [`Marker`] that has its id,
//! and the file `run` beside them has the id of the run that wrote last.
//!
//! Clients choose what is in a batch, and a value may well look like a batch of its own, or be a copy of
//! a journal. So where damage is looked behind for batches that were acknowledged, bytes count as one
//! only with the id of the run, which is random and told to nobody.
//!
//! A run begins when it writes for the first time, with a batch that has nothing but its marker; the
//! file follows when that batch is synced. So in front of what clients put into a batch there is an
//! intact one of its run, or, where an older journal is gone, the file that tells of the run. Directories
//! of older servers, and those made from a backup, have no such file until somebody writes there: in
//! them every intact batch counts, as where the file is damaged.
//!
//! The file also has the number of the newest journal: the newest is never removed, so a directory
//! without it has lost commits.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fjall::{Keyspace, OwnedWriteBatch};
use xxhash_rust::xxh3::xxh3_64;

use super::{BatchId, MARKER_KEY, Marker};
use crate::kv::lsm::directory::if_there;
use crate::kv::{Error, Result};

/// Has the id, as 16 hexadecimal digits; a space and the number of a journal, written so too, but for older servers; a
/// space and the checksum of what is before it (XXH3, 64 bits), but for still older ones; and the end of a line.
const FILE: &str = "run";
const FILE_NEW: &str = "run.new";
const DIGITS: usize = 16;

/// The run that writes now.
pub(in crate::kv::lsm) struct Run {
    dir: PathBuf,
    id: u64,
    /// Batches so far.
    written: u64,
    /// Those of them that are synced.
    synced: u64,
    synced_at: Instant,
    has_begun: bool,
    /// The newest journal that the file tells of.
    journal: u64,
    /// One that the log says could not be noted.
    warned_of: Option<u64>,
}

/// What [`FILE`] has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Noted {
    /// The run that wrote last.
    pub(super) run: u64,
    /// The newest journal, as far as it is told.
    pub(super) journal: Option<u64>,
}

impl Run {
    /// A run that has written nothing, to the journals in `dir`.
    pub(in crate::kv::lsm) fn new(dir: PathBuf) -> Run {
        Run {
            dir,
            id: rand::random(),
            written: 0,
            synced: 0,
            synced_at: Instant::now(),
            has_begun: false,
            journal: 0,
            warned_of: None,
        }
    }

    /// Whether clients' batches may be written.
    pub(in crate::kv::lsm) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Makes the run known, when its first batch is synced.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::DiskFull`].
    pub(in crate::kv::lsm) fn begin(&mut self) -> Result<()> {
        let journals = super::numbered(&self.dir)?;
        self.journal = journals.last().map_or(0, |(number, _)| *number);
        self.note(self.journal)?;
        self.has_begun = true;
        Ok(())
    }

    /// Notes a journal that was begun since, now and then. Where that fails, the file tells of an older one, until it is
    /// tried again.
    pub(in crate::kv::lsm) fn note_newest(&mut self) {
        if !self.has_begun {
            return;
        }
        let Some(newest) = self.newest() else {
            return;
        };
        match self.note(newest) {
            Ok(()) => {
                self.journal = newest;
                self.warned_of = None;
            }
            Err(cause) if self.warned_of != Some(newest) => {
                self.warned_of = Some(newest);
                tracing::warn!(%cause, "the newest journal is not noted: were it lost, nobody would tell");
            }
            Err(_) => {}
        }
    }

    /// One that is newer than what is noted.
    fn newest(&self) -> Option<u64> {
        let is_there = |number| super::path_of(&self.dir, number).exists();
        if !is_there(self.journal) {
            // Where it was not noted for a while, those behind it may be gone, too.
            let journals = super::numbered(&self.dir).ok()?;
            let newest = journals.last().map(|(number, _)| *number);
            return newest.filter(|newest| self.journal < *newest);
        }
        let newer = (self.journal + 1..).take_while(|number| is_there(*number));
        newer.last()
    }

    fn note(&self, journal: u64) -> Result<()> {
        let new = self.dir.join(FILE_NEW);
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(text_of(self.id, journal).as_bytes())?;
            file.sync_all()?;
            // The journal is to be there for certain before the file says so.
            let dir = File::open(&self.dir)?;
            dir.sync_all()?;
            fs::rename(&new, self.dir.join(FILE))?;
            dir.sync_all()
        });
        written.map_err(|cause| Error::io(format!("writing {}", new.display()), &cause))
    }

    /// Puts the marker in front of everything else that is in a batch.
    pub(in crate::kv::lsm) fn mark(&mut self, (batch, data): (&mut OwnedWriteBatch, &Keyspace)) {
        self.written += 1;
        let marker = Marker {
            run: self.id,
            number: self.written,
            synced: self.synced,
        };
        batch.insert(data, MARKER_KEY, marker.encode());
    }

    /// The last batch, if there is one.
    pub(in crate::kv::lsm) fn last(&self) -> Option<BatchId> {
        (self.written != 0).then_some(BatchId {
            run: self.id,
            number: self.written,
        })
    }

    /// Whether something is written that is not synced.
    pub(in crate::kv::lsm) fn is_dirty(&self) -> bool {
        self.synced < self.written
    }

    /// Whether something is written that has not been synced for so long.
    pub(in crate::kv::lsm) fn is_due(&self, interval: Duration) -> bool {
        self.is_dirty() && interval <= self.synced_at.elapsed()
    }

    /// Everything that was written is on disk.
    pub(in crate::kv::lsm) fn note_synced(&mut self) {
        self.synced = self.written;
        self.synced_at = Instant::now();
    }
}

/// Removes what a server left that ended while it wrote the file: one that only reads would keep it.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn remove_unfinished(dir: &Path) -> Result<()> {
    let new = dir.join(FILE_NEW);
    if_there(fs::remove_file(&new))
        .map_err(|cause| Error::io(format!("removing {}", new.display()), &cause))
}

/// Where it is noted which run wrote to the journals in `dir`.
pub(in crate::kv::lsm) fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// What is noted beside the journals in `dir`; `None` where that is not known.
pub(super) fn noted(dir: &Path) -> Option<Noted> {
    parsed(&fs::read_to_string(path(dir)).ok()?)
}

/// What is noted, as a start reads it: the log says where nothing can be read although the file is there.
pub(super) fn noted_or_warned(dir: &Path) -> Option<Noted> {
    let noted = noted(dir);
    let file = path(dir);
    if noted.is_none() && file.exists() {
        tracing::warn!(
            file = %file.display(),
            "this file is damaged or cannot be read: were the newest journal missing, nobody would tell; the next write \
             makes it anew"
        );
    }
    noted
}

/// What [`FILE`] has.
fn text_of(id: u64, journal: u64) -> String {
    signed(&format!("{id:016x} {journal:016x}"))
}

fn signed(text: &str) -> String {
    let checksum = xxh3_64(text.as_bytes());
    format!("{text} {checksum:016x}\n")
}

/// What a text tells, unless it is damaged.
fn parsed(text: &str) -> Option<Noted> {
    let line = text.strip_suffix('\n')?;
    let words: Vec<&str> = line.split(' ').collect();
    let (id, journal) = match words.as_slice() {
        [id] => (id, None),
        [id, _checksum] if signed(id) == text => (id, None),
        [id, journal, _checksum] if signed(&format!("{id} {journal}")) == text => {
            (id, Some(number_of(journal)?))
        }
        _ => return None,
    };
    let run = number_of(id)?;
    Some(Noted { run, journal })
}

fn number_of(digits: &str) -> Option<u64> {
    let is_whole = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_whole.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_comes_back_and_damage_does_not() {
        for number in [0, 1, 0x0123_4567_89ab_cdef, u64::MAX] {
            let text = text_of(number, !number);
            let noted = Noted {
                run: number,
                journal: Some(!number),
            };
            assert_eq!(parsed(&text), Some(noted), "{text:?}");
            for (place, bit) in
                (0..text.len()).flat_map(|place| (0..8).map(move |bit| (place, bit)))
            {
                let mut bytes = text.clone().into_bytes();
                bytes[place] ^= 1 << bit;
                let found = String::from_utf8(bytes).ok().and_then(|text| parsed(&text));
                assert_eq!(found, None, "bit {bit} of byte {place} of {text:?}");
            }
        }
    }

    #[test]
    fn what_was_not_finished_is_removed_and_what_was_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path();
        // Of a server that told of no journal, as there is none here.
        fs::write(dir.join(FILE), signed(&format!("{:016x}", 7))).unwrap();
        fs::write(dir.join(FILE_NEW), &text_of(8, 2)[..20]).unwrap();
        assert_eq!(super::super::repair(dir).unwrap(), None);
        assert!(!dir.join(FILE_NEW).exists());
        assert_eq!(noted(dir).map(|noted| noted.run), Some(7));
    }

    #[test]
    fn what_older_servers_wrote_is_read() {
        let noted = Noted {
            run: 255,
            journal: None,
        };
        let digits = "00000000000000ff";
        for text in [format!("{digits}\n"), signed(digits)] {
            assert_eq!(parsed(&text), Some(noted), "{text:?}");
        }
        for damaged in ["", "\n", "ff\n", digits, "00000000000000ff \n"] {
            assert_eq!(parsed(damaged), None, "{damaged:?}");
        }
    }
}
