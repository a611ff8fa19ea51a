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

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fjall::{Keyspace, OwnedWriteBatch};
use xxhash_rust::xxh3::xxh3_64;

use super::{MARKER_KEY, Marker};
use crate::kv::{Error, Result};

/// Has the id, as 16 hexadecimal digits; then, but for older servers, a space and the checksum of those
/// digits (XXH3, 64 bits), written so too; and the end of a line.
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
        let new = self.dir.join(FILE_NEW);
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(text_of(self.id).as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, self.dir.join(FILE))?;
            File::open(&self.dir)?.sync_all()
        });
        written.map_err(|cause| Error::io(format!("writing {}", new.display()), &cause))?;
        self.has_begun = true;
        Ok(())
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

/// The run that wrote last to the journals in `dir`; `None` where that is not known.
pub(super) fn last_of(dir: &Path) -> Option<u64> {
    id_in(&fs::read_to_string(dir.join(FILE)).ok()?)
}

/// What [`FILE`] has.
fn text_of(id: u64) -> String {
    let digits = format!("{id:016x}");
    let checksum = xxh3_64(digits.as_bytes());
    format!("{digits} {checksum:016x}\n")
}

/// The id, unless the text is damaged.
fn id_in(text: &str) -> Option<u64> {
    let digits = text.get(..DIGITS)?;
    let id = u64::from_str_radix(digits, 16).ok()?;
    (text == text_of(id) || text.strip_prefix(digits) == Some("\n")).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_comes_back_and_damage_does_not() {
        for id in [0, 1, 0x0123_4567_89ab_cdef, u64::MAX] {
            let text = text_of(id);
            assert_eq!(id_in(&text), Some(id), "{text:?}");
            for (place, bit) in
                (0..text.len()).flat_map(|place| (0..8).map(move |bit| (place, bit)))
            {
                let mut bytes = text.clone().into_bytes();
                bytes[place] ^= 1 << bit;
                let found = String::from_utf8(bytes).ok().and_then(|text| id_in(&text));
                assert_eq!(found, None, "bit {bit} of byte {place} of {text:?}");
            }
        }
    }

    #[test]
    fn what_older_servers_wrote_is_read() {
        assert_eq!(id_in("00000000000000ff\n"), Some(255));
        for damaged in ["", "\n", "ff\n", "00000000000000ff", "00000000000000ff \n"] {
            assert_eq!(id_in(damaged), None, "{damaged:?}");
        }
    }
}
