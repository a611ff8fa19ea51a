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
//! them every intact batch counts.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fjall::{Keyspace, OwnedWriteBatch};

use super::{MARKER_KEY, Marker};
use crate::kv::{Error, Result};

/// Has the id, as 16 hexadecimal digits and the end of a line.
const FILE: &str = "run";
const FILE_NEW: &str = "run.new";

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
            file.write_all(format!("{:016x}\n", self.id).as_bytes())?;
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
    let text = fs::read_to_string(dir.join(FILE)).ok()?;
    let digits = text
        .strip_suffix('\n')
        .filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}
