//! Cuts the torn tail off the engine's journal before the engine opens it.
//!
//! After a power cut the last bytes of the journal may be missing, zero or old garbage, in any
//! order, because the system writes pages as it likes. The storage library stops at such a tail in
//! some shapes, refuses to open in others, and cuts silently in front of intact batches in a third.
//! So this file decides, before the library looks:
//!
//! ```text
//! intact batches, then nothing or only zeros                 open as it is
//! intact batches, then garbage, no intact batch behind it    cut the garbage: it was never acknowledged
//! garbage with an intact batch behind it                     refuse: acknowledged bytes are damaged
//!   … unless every such batch says that the bytes before     cut: several batches that nobody waits
//!     it were not yet synced                                 for may be on their way together
//!   … or is none of the server's own                         cut: it is within a client's value
//! intact batches, then one of their run with a later number  as garbage in front of it: the end of a journal is lost
//! ```
//!
//! So every batch carries a [`Marker`], which says what was synced when it was written, and tells a batch
//! from bytes that look like one: see [`run`].
//!
//! The checksum leaves out the head of a batch. Its count is checked by the items themselves; its
//! sequence number must grow, or the batch counts as damaged.
//!
//! Journal format of fjall 3.1.13, numbers little-endian; files `<number>.jnl` in ascending order:
//!
//! ```text
//! batch  = 01 items:u32 seqno:u64  item*  03 checksum:u64 "FJL" 03      checksum: xxh3 of the items
//! item   = 02 type:u8 compression:u8 keyspace:u64 key_len:u16 value_len:u32 stored_len:u32 key stored
//!        | 04 keyspace:u64
//! ```

#![expect(
    clippy::little_endian_bytes,
    reason = "this file reads the journal format of the storage library, and owns the marker's"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use xxhash_rust::xxh3::xxh3_64;

use crate::kv::{Error, Result};

mod older;
mod run;
mod there;

pub(super) use older::{BatchId, Behind, Until, older_than};
pub(super) use run::{Run, path as run_path};
pub(super) use there::{ENDING, check_any, list};
use there::{check_there, numbered, path_of};

const TAG_START: u8 = 1;
const TAG_ITEM: u8 = 2;
const TAG_END: u8 = 3;
const TAG_CLEAR: u8 = 4;
const TRAILER: &[u8] = b"FJL\x03";

/// Largest tag of a value's type and of its compression; greater ones are garbage.
const VALUE_TYPE_MAX: u8 = 4;
const COMPRESSION_MAX: u8 = 1;

/// Background work takes sequence numbers too, so that they grow by more than one from batch to
/// batch; by more than this they are garbage.
const SEQNO_STEP_MAX: u64 = 1 << 32;

/// The library's counter must stay below twice this.
const SEQNO_MAX: u64 = 1 << 62;

/// The engine's key under which batches carry their [`Marker`].
pub(super) const MARKER_KEY: &[u8] = &[0, b'j'];

/// What a batch knows about the batches before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// Tells one run of the server from another.
    pub(super) run: u64,
    /// This batch's number within its run, from 1.
    pub(super) number: u64,
    /// The last batch of this run that was synced before this one was written; 0 for none.
    pub(super) synced: u64,
}

impl Marker {
    pub(super) fn encode(self) -> Vec<u8> {
        let parts = [self.run, self.number, self.synced];
        parts.iter().flat_map(|part| part.to_le_bytes()).collect()
    }

    fn batch(self) -> BatchId {
        BatchId {
            run: self.run,
            number: self.number,
        }
    }

    fn decode(bytes: &[u8]) -> Option<Marker> {
        let mut reader = Reader { bytes, at: 0 };
        let marker = Marker {
            run: reader.u64()?,
            number: reader.u64()?,
            synced: reader.u64()?,
        };
        (reader.at == bytes.len()).then_some(marker)
    }
}

/// What was cut off.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) path: PathBuf,
    pub(super) at: usize,
    pub(super) bytes: usize,
}

/// An unfinished end: what is to be cut off, and the journals behind it, of which nothing stays.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Torn {
    pub(super) cut: Cut,
    behind: Vec<PathBuf>,
}

/// Makes the journals in `dir` such that the engine opens them without losing what it must keep.
///
/// # Errors
///
/// [`Error::Corrupt`] when bytes that were acknowledged are damaged; [`Error::Io`].
pub(super) fn repair(dir: &Path) -> Result<Option<Cut>> {
    run::remove_unfinished(dir)?;
    let Some(torn) = examine(dir)? else {
        return Ok(None);
    };
    for path in &torn.behind {
        cut(path, 0)?;
    }
    cut(&torn.cut.path, torn.cut.at)?;
    Ok(Some(torn.cut))
}

/// Looks for an unfinished end.
///
/// # Errors
///
/// [`Error::Corrupt`] when bytes that were acknowledged are damaged.
pub(super) fn examine(dir: &Path) -> Result<Option<Torn>> {
    check_there(dir)?;
    let journals = list(dir)?;
    let run = last_run(dir);
    let (mut last, mut given_up) = (None, false);
    for (idx, path) in journals.iter().enumerate() {
        let bytes = read(path)?;
        // An empty file is in the place of one whose commits are given up.
        given_up |= bytes.is_empty();
        let walk = walk(&bytes, (last, given_up));
        given_up &= walk.end == 0;
        last = walk.last.or(last);
        let Some(damage) = walk.damage else { continue };
        let behind = journals.get(idx + 1..).unwrap_or_default();
        let later = bytes.get(damage.resume..).unwrap_or_default();
        let mut behind_damage = BehindDamage::new((path, walk.end), last, run);
        behind_damage.is_gap = damage.is_gap;
        behind_damage.check(later)?;
        for path in behind {
            behind_damage.check(&read(path)?)?;
        }
        let cut = Cut {
            path: path.clone(),
            at: walk.end,
            bytes: bytes.len() - walk.end,
        };
        let behind = behind.to_vec();
        return Ok(Some(Torn { cut, behind }));
    }
    Ok(None)
}

/// Whether something was ever written to the journals in `dir`.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn has_batches(dir: &Path) -> Result<bool> {
    for path in list(dir)? {
        if batch(&read(&path)?, 0).is_ok() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The run that writes to the journals in `dir`, or did so last.
pub(super) fn last_run(dir: &Path) -> Option<u64> {
    run::noted(dir).map(|noted| noted.run)
}

/// What the disk has of a file. After a failed sync the system takes its copy in memory for written, so
/// that one is written, if it still can be, and forgotten.
fn read(path: &Path) -> Result<Vec<u8>> {
    let failed = |cause: io::Error| Error::io(format!("reading {}", path.display()), &cause);
    let mut file = File::open(path).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    // Not known on every filesystem, and of use only after such a failure.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn cut(path: &Path, at: usize) -> Result<()> {
    let cannot_cut = |cause: io::Error| Error::io(format!("cutting {}", path.display()), &cause);
    let file = OpenOptions::new()
        .write(true)
        .open(path)
        .map_err(cannot_cut)?;
    file.set_len(at as u64).map_err(cannot_cut)?;
    file.sync_all().map_err(cannot_cut)
}

/// The intact batches from the begin of a file.
struct Walk {
    /// Where the last of them ends.
    end: usize,
    /// The last of them.
    last: Option<Batch>,
    /// What is behind them, unless it is nothing or zeros.
    damage: Option<Damage>,
}

#[derive(Clone, Copy)]
struct Damage {
    /// Where another batch may begin.
    resume: usize,
    /// Whether nothing is broken, but batches are missing.
    is_gap: bool,
}

impl Damage {
    fn broken(resume: usize) -> Damage {
        Damage {
            resume,
            is_gap: false,
        }
    }
}

#[derive(Clone, Copy)]
struct Batch {
    seqno: u64,
    end: usize,
    marker: Option<Marker>,
}

/// `given_up`: whether batches may be missing in front of the first one.
fn walk(bytes: &[u8], (mut last, given_up): (Option<Batch>, bool)) -> Walk {
    let mut end = 0;
    loop {
        let damage = match batch(bytes, end) {
            Ok(next) if !follows(next, last) => Damage::broken(next.end),
            Ok(next) if is_behind_gap(next, last) && !(given_up && end == 0) => Damage {
                resume: end,
                is_gap: true,
            },
            Ok(next) => {
                end = next.end;
                last = Some(next);
                continue;
            }
            Err(damage) => damage,
        };
        let rest = bytes.get(end..).unwrap_or_default();
        let damage = (!is_zeros(rest)).then_some(damage);
        return Walk { end, last, damage };
    }
}

/// Whether batches between these two of one run are missing.
fn is_behind_gap(next: Batch, last: Option<Batch>) -> bool {
    let markers = last.and_then(|last| Some((last.marker?, next.marker?)));
    markers.is_some_and(|(last, next)| {
        last.run == next.run && last.number.saturating_add(1) < next.number
    })
}

fn follows(next: Batch, last: Option<Batch>) -> bool {
    let (after, until) = match last {
        Some(last) => (last.seqno, last.seqno.saturating_add(SEQNO_STEP_MAX)),
        None => (0, SEQNO_MAX),
    };
    (last.is_none() || after < next.seqno) && next.seqno < until
}

const ZEROS: [u8; 4096] = [0; 4096];

/// The library makes its files 64 MiB of zeros long before it writes to them.
fn is_zeros(bytes: &[u8]) -> bool {
    let mut pages = bytes.chunks(ZEROS.len());
    pages.all(|page| ZEROS.get(..page.len()) == Some(page))
}

/// Looks behind damage for a batch that proves that what is damaged was synced once.
struct BehindDamage<'a> {
    damage: (&'a Path, usize),
    /// Whether batches are missing there, and nothing is broken.
    is_gap: bool,
    /// The last batch in front of the damage.
    last: Option<Batch>,
    /// The run whose batches count; `None` for all.
    run: Option<u64>,
    /// Where there is nothing in front: the batch before the first one that was found.
    lost: Option<u64>,
}

impl<'a> BehindDamage<'a> {
    fn new(damage: (&'a Path, usize), last: Option<Batch>, run: Option<u64>) -> BehindDamage<'a> {
        // What is in front may be older than the file, or written by a server that knows of none.
        let is_of = |run: u64, last: Batch| last.marker.is_some_and(|marker| marker.run == run);
        let run = run.filter(|run| last.is_none_or(|last| is_of(*run, last)));
        BehindDamage {
            damage,
            is_gap: false,
            last,
            run,
            lost: None,
        }
    }

    fn check(&mut self, bytes: &[u8]) -> Result<()> {
        let mut at = 0;
        while let Some(found) = next_batch((bytes, at), self.run) {
            at = found.end;
            if self.is_proof(found) {
                return Err(self.refusal());
            }
        }
        Ok(())
    }

    fn refusal(&self) -> Error {
        let (path, at) = self.damage;
        let path = path.display();
        let what = if self.is_gap {
            // In front of the first byte: at the end of the journal before it.
            format!("commits are missing in front of byte {at} of journal {path}")
        } else {
            format!("journal {path} is damaged at byte {at}, in front of intact commits")
        };
        Error::Corrupt { what }
    }

    /// Whether a batch was written when one that is damaged now was synced.
    fn is_proof(&mut self, found: Batch) -> bool {
        let Some(marker) = found.marker else {
            return true;
        };
        let before = marker.number.saturating_sub(1);
        // The number of a batch that is damaged: the first one, where that is known.
        let lost = match self.last {
            Some(last) => match last.marker.filter(|last| last.run == marker.run) {
                Some(last) => last.number.saturating_add(1),
                // The whole run so far. Its first batch is written when all before it is synced.
                None => before.min(1),
            },
            None => *self.lost.get_or_insert(before),
        };
        lost <= marker.synced
    }
}

/// The first intact batch at `at` or behind it, of a run or of any.
fn next_batch((bytes, at): (&[u8], usize), run: Option<u64>) -> Option<Batch> {
    let starts = bytes.iter().enumerate().skip(at);
    let mut starts = starts.filter(|(at, byte)| {
        **byte == TAG_START && run.is_none_or(|run| begins_as_of((bytes, *at), run))
    });
    starts.find_map(|(at, _)| batch(bytes, at).ok())
}

/// Whether what is at `at` begins as a batch of a run does. So nothing more is read of bytes that a
/// client has made up.
fn begins_as_of((bytes, at): (&[u8], usize), run: u64) -> bool {
    let mut reader = Reader { bytes, at };
    let first = reader.start().and_then(|_| reader.item());
    matches!(first, Some(Item::Marker(marker)) if marker.run == run)
}

/// Reads the batch at `at`.
fn batch(bytes: &[u8], at: usize) -> std::result::Result<Batch, Damage> {
    let mut reader = Reader { bytes, at };
    let broken = Damage::broken(at + 1);
    let (seqno, items, marker) = reader.start_and_items().ok_or(broken)?;
    let checksum = reader.end().ok_or(broken)?;
    let end = reader.at;
    if xxh3_64(items) != checksum {
        return Err(Damage::broken(end));
    }
    Ok(Batch { seqno, end, marker })
}

enum Item {
    Marker(Marker),
    Other,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let until = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..until)?;
        self.at = until;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn tag(&mut self, tag: u8) -> Option<()> {
        (self.u8()? == tag).then_some(())
    }

    /// How many items follow, and the sequence number.
    fn start(&mut self) -> Option<(u32, u64)> {
        self.tag(TAG_START)?;
        Some((self.u32()?, self.u64()?))
    }

    fn start_and_items(&mut self) -> Option<(u64, &'a [u8], Option<Marker>)> {
        let (items_count, seqno) = self.start()?;
        let items_at = self.at;
        let mut marker = None;
        for _ in 0..items_count {
            if let Item::Marker(found) = self.item()? {
                marker = Some(found);
            }
        }
        let items = self.bytes.get(items_at..self.at)?;
        Some((seqno, items, marker))
    }

    fn item(&mut self) -> Option<Item> {
        match self.u8()? {
            TAG_ITEM => {}
            TAG_CLEAR => return self.u64().map(|_keyspace| Item::Other),
            _ => return None,
        }
        if VALUE_TYPE_MAX < self.u8()? || COMPRESSION_MAX < self.u8()? {
            return None;
        }
        let _keyspace = self.u64()?;
        let key_len = self.u16()?;
        let _value_len = self.u32()?;
        let stored_len = self.u32()?;
        let key = self.take(usize::from(key_len))?;
        let stored = self.take(usize::try_from(stored_len).ok()?)?;
        let marker = Marker::decode(stored).filter(|_| key == MARKER_KEY);
        Some(marker.map_or(Item::Other, Item::Marker))
    }

    fn end(&mut self) -> Option<u64> {
        self.tag(TAG_END)?;
        let checksum = self.u64()?;
        (self.take(TRAILER.len())? == TRAILER).then_some(checksum)
    }
}

#[cfg(test)]
mod tests;
