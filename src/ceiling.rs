//! The memory of this process, and the most that it may be: `--memory-limit`.
//!
//! What the system says is resident counts, whoever took it: caches, memtables, what operators hold,
//! packets, syntax trees, what the allocator keeps for later. Whoever is about to take much asks first:
//!
//! ```text
//!   admit   so many bytes at once, and who wants them; 1041 when that would pass the limit
//!   ask     the same, for who can do without or says later that it could not: an operator that spills
//!   hold    as admit, and counted as long as they are held: for what is filled by and by
//!   drip    bytes of something that grows slowly; asked for once in a while
//! ```
//! Small things do not ask. For them, for what the allocator rounds up, and for what is taken between
//! two readings the last sixteenth is kept free ([`spare`]).
//!
//! The allocator (mimalloc) keeps what is freed for a tenth of a second (`allocator`) before the system has it
//! back, and then waits until somebody frees a page; until then it counts. [`give_back`] frees one, so that it
//! need not wait.
//!
//! There is one for the process, because a process has one memory. Until [`set`] there is no limit.

mod allocator;
mod huge;
mod machine;

use std::fs::{self, File};
use std::hint;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

pub use self::allocator::settle as settle_allocator;
pub use self::huge::allow as allow_huge_pages;
pub use self::machine::memory_bytes;
use crate::error::{Code, Error, Result};

/// Bytes of something that grows slowly between two questions.
pub const GRAIN_BYTES: usize = 256 << 10;

/// What asks for so much at once has not touched all of it when the next one asks: it is counted
/// beside what is resident until then.
const PLEDGE_BYTES_MIN: u64 = 1 << 20;

/// How long it is counted at least; twice as long at most. Touching 64 MiB takes about as long.
const PLEDGE_MS: u64 = 20;

/// A piece of memory that is a page of the allocator's by itself, so that it is freed at once. It lies among
/// others that are in use: past 32 MiB it would be asked of the system each time, in huge pages, and the first
/// of them would be cleared, which takes up to 4 ms.
const PAGE_OF_ITS_OWN_BYTES: usize = 1 << 20;

/// Part of the limit that is kept for what does not ask.
const SPARE_DIVISOR: u64 = 16;

/// Where Linux tells of this process's memory, in pages (proc(5)).
const STATM: &str = "/proc/self/statm";

/// Where it tells how large they are (proc(5), getauxval(3)), and the word for that.
const AUXV: &str = "/proc/self/auxv";
const AT_PAGESZ: usize = 6;

static PROCESS: Ceiling = Ceiling::new(resident_of_process);

/// A limit, and how to learn what is used.
struct Ceiling {
    /// 0 for none.
    bytes_max: AtomicU64,
    /// What is resident; `None` when the system does not tell.
    read: fn() -> Option<u64>,
    pledges: Mutex<Pledges>,
    /// What is counted until it is dropped.
    held_bytes: AtomicU64,
    /// What has grown slowly since somebody asked.
    dripped_bytes: AtomicU64,
    refused_count: AtomicU64,
    /// When the allocator was last told to give back because somebody was refused, in units of [`PLEDGE_MS`].
    gave_back_at: AtomicU64,
}

/// What was admitted lately and may not be touched yet.
#[derive(Debug)]
struct Pledges {
    /// In units of [`PLEDGE_MS`].
    epoch: u64,
    now_bytes: u64,
    before_bytes: u64,
}

/// Why bytes were refused, in the numbers that were compared: `bytes` and `counted_bytes` are more than
/// the limit less what is spared of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// What was asked for.
    bytes: u64,
    /// What is resident, and what is granted.
    counted_bytes: u64,
    /// Of which it is not known how much is resident already: held and pledged.
    granted_bytes: u64,
    /// The limit.
    bytes_max: u64,
}

impl Shortage {
    /// Error 1041 of `what`, which wanted the bytes.
    pub fn error(&self, what: &str) -> Error {
        let Shortage {
            bytes,
            counted_bytes,
            granted_bytes,
            bytes_max,
        } = self;
        let spare = spare(*bytes_max);
        let text = format!(
            "Out of memory: {what} needs {bytes} bytes, the server holds {counted_bytes} with \
             {granted_bytes} that are granted, the most memory-limit allows is {}: {bytes_max} \
             less {spare} that are kept for what does not ask",
            bytes_max - spare
        );
        Error::new(Code::OutOfResources, text)
    }

    /// For tests of who asks.
    #[cfg(test)]
    pub(crate) fn of(bytes: usize) -> Shortage {
        Shortage {
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            counted_bytes: 1 << 30,
            granted_bytes: 1 << 20,
            bytes_max: 1 << 30,
        }
    }
}

/// Bytes that are counted until this is dropped, because they are filled by and by.
#[derive(Debug)]
pub struct Held {
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        PROCESS.held_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Sets the most bytes the process may have resident.
///
/// # Errors
/// When the system does not tell how many it has.
pub fn set(bytes_max: u64) -> std::result::Result<(), String> {
    if resident_of_process().is_none() {
        return Err(format!("the memory of the process is not told in {STATM}"));
    }
    PROCESS.bytes_max.store(bytes_max, Ordering::Relaxed);
    Ok(())
}

/// The limit; 0 for none.
pub fn bytes_max() -> u64 {
    PROCESS.bytes_max.load(Ordering::Relaxed)
}

/// How often somebody was refused.
pub fn refused_count() -> u64 {
    PROCESS.refused_count.load(Ordering::Relaxed)
}

/// Asks for `bytes` that `what` is about to take.
///
/// # Errors
/// 1041 when they would pass the limit.
pub fn admit(what: &str, bytes: usize) -> Result<()> {
    ask(bytes).map_err(|shortage| shortage.error(what))
}

/// Asks for `bytes`; by whom, and whether that is an error, is said by the caller.
///
/// # Errors
/// When they would pass the limit.
pub fn ask(bytes: usize) -> std::result::Result<(), Shortage> {
    PROCESS.admits(bytes)
}

/// Asks for `bytes` that `what` fills by and by.
///
/// # Errors
/// 1041 when they would pass the limit.
pub fn hold(what: &str, bytes: usize) -> Result<Held> {
    let held = PROCESS.holds_at(bytes, epoch());
    let bytes = held.map_err(|shortage| shortage.error(what))?;
    Ok(Held { bytes })
}

/// Counts `bytes` that `what` has grown by, of many a time.
///
/// # Errors
/// 1041 while the limit is passed.
pub fn drip(what: &str, bytes: usize) -> Result<()> {
    ask_dripping(bytes).map_err(|shortage| shortage.error(what))
}

/// As [`drip`]; by whom, and whether that is an error, is said by the caller.
///
/// # Errors
/// While the limit is passed.
pub fn ask_dripping(bytes: usize) -> std::result::Result<(), Shortage> {
    PROCESS.drips(bytes)
}

/// Has the allocator give back what was freed a while ago. To be called every second or so.
pub fn give_back() {
    // The allocator writes to its beginning, nobody to the rest.
    drop(hint::black_box(Vec::<u8>::with_capacity(
        PAGE_OF_ITS_OWN_BYTES,
    )));
}

/// Has the system give no huge pages where there is little room. To be called every second or so.
pub fn heed_huge_pages() {
    if let Some(resident) = resident_of_process() {
        huge::heed(resident, bytes_max());
    }
}

/// The part of a limit that is kept for what does not ask.
pub fn spare(bytes_max: u64) -> u64 {
    bytes_max / SPARE_DIVISOR
}

impl Ceiling {
    const fn new(read: fn() -> Option<u64>) -> Ceiling {
        Ceiling {
            bytes_max: AtomicU64::new(0),
            read,
            pledges: Mutex::new(Pledges {
                epoch: 0,
                now_bytes: 0,
                before_bytes: 0,
            }),
            held_bytes: AtomicU64::new(0),
            dripped_bytes: AtomicU64::new(0),
            refused_count: AtomicU64::new(0),
            gave_back_at: AtomicU64::new(u64::MAX),
        }
    }

    fn admits(&self, bytes: usize) -> std::result::Result<(), Shortage> {
        self.admits_at(bytes, epoch())
    }

    fn admits_at(&self, bytes: usize, epoch: u64) -> std::result::Result<(), Shortage> {
        self.takes(bytes, epoch, |pledges, bytes| {
            if PLEDGE_BYTES_MIN <= bytes {
                pledges.now_bytes = pledges.now_bytes.saturating_add(bytes);
            }
        })
    }

    /// As [`Ceiling::admits_at`]; how many are to be taken from `held_bytes` again, where they are counted
    /// until then.
    fn holds_at(&self, bytes: usize, epoch: u64) -> std::result::Result<u64, Shortage> {
        let mut held = 0;
        self.takes(bytes, epoch, |_, bytes| {
            held = bytes;
            self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        })?;
        Ok(held)
    }

    /// Where there is room for so many bytes they are counted before somebody else asks.
    fn takes(
        &self,
        bytes: usize,
        epoch: u64,
        count: impl FnOnce(&mut Pledges, u64),
    ) -> std::result::Result<(), Shortage> {
        let bytes_max = self.bytes_max.load(Ordering::Relaxed);
        if bytes_max == 0 {
            return Ok(());
        }
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let resident = (self.read)().unwrap_or(0);
        let mut pledges = self.pledges.lock();
        let held = self.held_bytes.load(Ordering::Relaxed);
        let granted_bytes = held.saturating_add(pledges.at(epoch));
        let counted_bytes = resident.saturating_add(granted_bytes);
        if counted_bytes.saturating_add(bytes) <= bytes_max - spare(bytes_max) {
            count(&mut pledges, bytes);
            return Ok(());
        }
        // Nobody who asks waits for the system's call below.
        drop(pledges);
        self.refused_count.fetch_add(1, Ordering::Relaxed);
        if self.gave_back_at.swap(epoch, Ordering::Relaxed) != epoch {
            give_back();
        }
        Err(Shortage {
            bytes,
            counted_bytes,
            granted_bytes,
            bytes_max,
        })
    }

    fn drips(&self, bytes: usize) -> std::result::Result<(), Shortage> {
        if self.bytes_max.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let more = u64::try_from(bytes).unwrap_or(u64::MAX);
        let sum = self
            .dripped_bytes
            .fetch_add(more, Ordering::Relaxed)
            .saturating_add(more);
        if sum < GRAIN_BYTES as u64 {
            return Ok(());
        }
        self.admits(bytes)?;
        self.dripped_bytes.store(0, Ordering::Relaxed);
        Ok(())
    }
}

impl Pledges {
    /// What is pledged at that time.
    fn at(&mut self, epoch: u64) -> u64 {
        if self.epoch < epoch {
            let is_next = self.epoch + 1 == epoch;
            self.before_bytes = if is_next { self.now_bytes } else { 0 };
            self.now_bytes = 0;
            self.epoch = epoch;
        }
        self.now_bytes.saturating_add(self.before_bytes)
    }
}

/// The time since the first question, in units of [`PLEDGE_MS`].
fn epoch() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let elapsed = FIRST.get_or_init(Instant::now).elapsed().as_millis();
    u64::try_from(elapsed).unwrap_or(u64::MAX) / PLEDGE_MS
}

/// What this process has resident. One read of an open file: a microsecond.
fn resident_of_process() -> Option<u64> {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let file = FILE.get_or_init(|| File::open(STATM).ok()).as_ref()?;
    let mut text = [0; 128];
    let count = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..count)?).ok()?;
    // All pages, then those that are resident.
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(page_bytes()?)
}

/// Bytes of a page, by the system's first word to the process. Not by `rustix::param`: it looks for functions of the
/// kernel's where valgrind has none, and ended the processes whose instructions are counted.
fn page_bytes() -> Option<u64> {
    static BYTES: OnceLock<Option<u64>> = OnceLock::new();
    *BYTES.get_or_init(|| page_bytes_in(&fs::read(AUXV).ok()?))
}

/// The same in pairs of words, of which the first says what the second is.
#[expect(
    clippy::host_endian_bytes,
    reason = "they are written by the kernel of this machine"
)]
fn page_bytes_in(pairs: &[u8]) -> Option<u64> {
    let (words, _) = pairs.as_chunks::<{ size_of::<usize>() }>();
    let mut pairs = words.chunks_exact(2);
    let value = pairs.find_map(|pair| match *pair {
        [kind, value] if usize::from_ne_bytes(kind) == AT_PAGESZ => Some(value),
        _ => None,
    });
    u64::try_from(usize::from_ne_bytes(value?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn of(bytes_max: u64) -> Ceiling {
        let ceiling = Ceiling::new(|| Some(100 * MIB));
        ceiling.bytes_max.store(bytes_max, Ordering::Relaxed);
        ceiling
    }

    #[test]
    fn without_a_limit_all_is_admitted() {
        assert!(of(0).admits(usize::MAX).is_ok());
        assert!(of(0).drips(usize::MAX).is_ok());
    }

    #[test]
    fn what_is_resident_and_what_is_pledged_count() {
        let ceiling = of(160 * MIB);
        let admits = |mib: usize, epoch| ceiling.admits_at(mib << 20, epoch).is_ok();
        assert!(!admits(51, 7), "the last sixteenth is kept free");
        assert!(admits(30, 7));
        assert!(!admits(30, 8), "the first is not touched yet");
        assert!(admits(20, 8));
        assert!(!admits(40, 9), "nor is the second");
        assert!(admits(40, 10));
        assert_eq!(ceiling.refused_count.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn what_is_held_counts_once_and_until_it_is_let_go() {
        let ceiling = of(160 * MIB);
        assert_eq!(ceiling.holds_at(30 << 20, 7), Ok(30 * MIB));
        let admitted = ceiling.admits_at(20 << 20, 7);
        assert!(admitted.is_ok(), "it is held and not pledged");
        assert!(ceiling.holds_at(30 << 20, 20).is_err());
        ceiling.held_bytes.fetch_sub(30 * MIB, Ordering::Relaxed);
        assert!(ceiling.admits_at(40 << 20, 20).is_ok());
        assert_eq!(of(0).holds_at(30 << 20, 7), Ok(0), "nobody counts");
    }

    /// The numbers of a refusal: needed, held, of that granted, the most, the limit, what is kept.
    fn numbers_of(shortage: Shortage) -> [u64; 6] {
        let error = shortage.error("a sort");
        assert_eq!(error.code(), Code::OutOfResources);
        let head = "Out of memory: a sort needs ";
        assert!(error.message().starts_with(head), "{error}");
        let words = error.message().split(|c: char| !c.is_ascii_digit());
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        numbers.try_into().unwrap()
    }

    /// Mechanism: the text told what was resident when it was made and the whole limit, which need not even
    /// be passed by what was asked for.
    #[test]
    fn the_numbers_of_a_refusal_add_up() {
        // Refused because of what is kept: 151 MiB are below the limit.
        let ceiling = of(160 * MIB);
        let kept = numbers_of(ceiling.admits_at(51 << 20, 7).unwrap_err());
        assert_eq!(kept, [51, 100, 0, 150, 160, 10].map(|mib| mib * MIB));
        // Refused because of what is granted, pledged and held, and not resident.
        ceiling.admits_at(20 << 20, 7).unwrap();
        ceiling.holds_at(10 << 20, 7).unwrap();
        let refused = [
            ceiling.admits_at(30 << 20, 7).unwrap_err(),
            ceiling.holds_at(30 << 20, 7).unwrap_err(),
        ];
        for granted in refused.map(numbers_of) {
            assert_eq!(granted, [30, 130, 30, 150, 160, 10].map(|mib| mib * MIB));
        }
        let dripped = of(MIB).drips(GRAIN_BYTES).unwrap_err();
        for shortage in [refused[0], refused[1], dripped] {
            let [needs, holds, granted, most, limit, kept] = numbers_of(shortage);
            assert!(most < holds + needs && granted <= holds && most == limit - kept);
        }
    }

    #[test]
    fn pledges_end() {
        let mut pledges = Pledges {
            epoch: 7,
            now_bytes: 5,
            before_bytes: 3,
        };
        assert_eq!(pledges.at(7), 8);
        assert_eq!(pledges.at(8), 5);
        assert_eq!(pledges.at(9), 0);
        pledges.now_bytes = 2;
        assert_eq!(pledges.at(20), 0);
    }

    #[test]
    fn drips_are_asked_for_together() {
        let ceiling = of(MIB);
        for _ in 0..3 {
            assert!(ceiling.drips(GRAIN_BYTES / 4).is_ok());
        }
        assert!(ceiling.drips(GRAIN_BYTES / 4).is_err());
        assert!(ceiling.drips(1).is_err(), "while the limit is passed");
        ceiling.bytes_max.store(200 * MIB, Ordering::Relaxed);
        assert!(ceiling.drips(1).is_ok());
    }

    #[test]
    fn the_system_tells_what_is_resident() {
        let resident = resident_of_process().unwrap();
        assert!(MIB < resident, "{resident}");
    }
}
