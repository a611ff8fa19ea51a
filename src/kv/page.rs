//! What a scan asks for and what it brings: a key range, options, and pages of rows.
//!
//! A [`Page`] is one buffer and one list of ends, so filling it allocates nothing per row and a
//! page that is used again allocates nothing at all. This file is hot: no allocation per row, no
//! lock, no log.

use super::{Key, Result, Snapshot, Space};

/// Rows in a page unless told otherwise. To find where a range begins costs as much as some dozens of rows, so
/// that a thousand rows hide it.
pub const PAGE_ROWS: usize = 1024;

/// Bytes of keys and values in a page unless told otherwise.
pub const PAGE_BYTES: usize = 1 << 20;

/// The keys from `start` (in it) up to `until` (not in it).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRange {
    /// The first key of the range. Empty: the begin of the space.
    pub start: Key,
    /// The first key behind the range. `None`: the end of the space.
    pub until: Option<Key>,
}

impl KeyRange {
    /// Every key of a space.
    pub fn all() -> KeyRange {
        KeyRange::default()
    }

    /// From `start` (in) to `until` (out).
    pub fn between(start: impl Into<Key>, until: impl Into<Key>) -> KeyRange {
        KeyRange {
            start: start.into(),
            until: Some(until.into()),
        }
    }

    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        KeyRange {
            start: prefix.to_vec(),
            until: prefix_end(prefix),
        }
    }

    /// Exactly this key.
    pub fn only(key: &[u8]) -> KeyRange {
        KeyRange {
            start: key.to_vec(),
            until: Some(successor(key)),
        }
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.start.as_slice() <= key && self.until.as_deref().is_none_or(|until| key < until)
    }

    /// Whether no key can lie in the range.
    pub fn is_empty(&self) -> bool {
        self.until
            .as_deref()
            .is_some_and(|until| until <= self.start.as_slice())
    }
}

/// The first key behind all keys that begin with `prefix`; `None` when there is no such key.
pub fn prefix_end(prefix: &[u8]) -> Option<Key> {
    let kept = prefix.iter().rposition(|byte| *byte < 0xff)?;
    let mut end = prefix.get(..=kept)?.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    Some(end)
}

/// The first key behind `key`.
pub fn successor(key: &[u8]) -> Key {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}

/// Where a key lies between two others, from 0 to 1, as if the bytes behind their common prefix
/// were evenly spread.
pub fn position(key: &[u8], first: &[u8], last: &[u8]) -> f64 {
    if key <= first {
        return 0.0;
    }
    if last < key {
        return 1.0;
    }
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |bytes: &[u8]| {
        let digits = bytes
            .iter()
            .skip(common)
            .chain(std::iter::repeat(&0))
            .take(8);
        digits.fold(0.0, |number, byte| number * 256.0 + f64::from(*byte))
    };
    let (first, last) = (number(first), number(last));
    ((number(key) - first) / (last - first).max(1.0)).clamp(0.0, 1.0)
}

/// How much a page may hold, and in which direction it is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanOptions {
    /// Rows a page holds at most.
    pub max_rows: usize,
    /// Bytes after which no further row is begun.
    pub max_bytes: usize,
    /// From the end of the range to its start.
    pub reverse: bool,
    /// Leave the values empty.
    pub keys_only: bool,
    /// One of many pages of a scan, however few rows this one holds: a hint.
    pub is_long: bool,
    /// Values that had ended by then need not be brought ([`super::expiry`]).
    pub past_ms: Option<u64>,
}

impl Default for ScanOptions {
    fn default() -> ScanOptions {
        ScanOptions {
            max_rows: PAGE_ROWS,
            max_bytes: PAGE_BYTES,
            reverse: false,
            keys_only: false,
            is_long: false,
            past_ms: None,
        }
    }
}

/// A scan of one range of one space, page by page:
///
/// ```
/// # use meseta::kv::{Engine, KeyRange, Page, Result, Scan, Space};
/// # async fn rows(engine: &dyn Engine) -> Result<usize> {
/// let snapshot = engine.snapshot();
/// let mut scan = Scan::new(Space(7), KeyRange::prefix(b"host1"));
/// let mut page = Page::default();
/// let mut rows = 0;
/// loop {
///     snapshot.scan(&scan, &mut page).await?;
///     rows += page.iter().count();
///     if !scan.advance(&mut page) {
///         return Ok(rows);
///     }
/// }
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// Where the keys are.
    pub space: Space,
    /// What is still to be read.
    pub range: KeyRange,
    /// How it is to be read.
    pub options: ScanOptions,
}

impl Scan {
    /// A forward scan with pages of the usual size.
    pub fn new(space: Space, range: KeyRange) -> Scan {
        Scan {
            space,
            range,
            options: ScanOptions::default(),
        }
    }

    /// A forward scan of all keys of a space, in many pages of the usual size.
    pub fn whole(space: Space) -> Scan {
        let mut scan = Scan::new(space, KeyRange::all());
        scan.options.is_long = true;
        scan
    }

    /// Moves the scan behind `page`. False when nothing is left.
    pub fn advance(&mut self, page: &mut Page) -> bool {
        match page.rest.take() {
            Some(rest) => {
                self.range = rest;
                true
            }
            None => false,
        }
    }

    /// Reads on until there is a row, over pages that are empty although the scan goes on: where
    /// values end, they may be. False when there is none left.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn first_page(&mut self, snapshot: &dyn Snapshot, page: &mut Page) -> Result<bool> {
        loop {
            snapshot.scan(self, page).await?;
            if !page.is_empty() {
                return Ok(true);
            }
            if !self.advance(page) {
                return Ok(false);
            }
            self.options.max_rows = self.options.max_rows.max(PAGE_ROWS);
        }
    }
}

/// Where the key and the value of one row end; a row begins where the one before it ends.
#[derive(Debug, Clone, Copy)]
struct Ends {
    key: u32,
    value: u32,
}

/// Some rows of a scan, in its order.
#[derive(Debug, Clone, Default)]
pub struct Page {
    buffer: Vec<u8>,
    rows: Vec<Ends>,
    rest: Option<KeyRange>,
}

impl Page {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// The key and the value of a row.
    pub fn get(&self, row_idx: usize) -> Option<(&[u8], &[u8])> {
        let start = match row_idx.checked_sub(1) {
            Some(before) => self.rows.get(before)?.value,
            None => 0,
        };
        self.rows.get(row_idx).map(|ends| self.row(start, *ends))
    }

    /// The rows in order: key and value.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> + ExactSizeIterator {
        (0..self.rows.len()).map(|row_idx| self.get(row_idx).unwrap_or_default())
    }

    /// What is left of the range behind this page; `None` when the scan is finished.
    pub fn rest(&self) -> Option<&KeyRange> {
        self.rest.as_ref()
    }

    fn row(&self, start: u32, ends: Ends) -> (&[u8], &[u8]) {
        let bytes = |from: u32, to: u32| self.buffer.get(from as usize..to as usize);
        let key = bytes(start, ends.key).unwrap_or_default();
        let value = bytes(ends.key, ends.value).unwrap_or_default();
        (key, value)
    }

    /// Makes the page empty and keeps its memory. For engines.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.rows.clear();
        self.rest = None;
    }

    /// Adds a row. False, and nothing added, when the page's offsets cannot reach it. For engines.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> bool {
        let key_end = self.buffer.len() + key.len();
        let (Ok(key_end), Ok(value_end)) =
            (u32::try_from(key_end), u32::try_from(key_end + value.len()))
        else {
            return false;
        };
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(value);
        self.rows.push(Ends {
            key: key_end,
            value: value_end,
        });
        true
    }

    /// Leaves out rows; what is left of the range stays as it is. For engines.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        if self.iter().all(|(key, value)| keep(key, value)) {
            return;
        }
        let mut kept = Page {
            rest: self.rest.take(),
            ..Page::default()
        };
        for (key, value) in self.iter().filter(|(key, value)| keep(key, value)) {
            // What was in one page fits into one.
            let _ = kept.push(key, value);
        }
        *self = kept;
    }

    /// Whether another row may be begun under these options. For engines.
    pub fn has_room(&self, options: ScanOptions) -> bool {
        self.rows.is_empty()
            || (self.rows.len() < options.max_rows && self.buffer.len() < options.max_bytes)
    }

    /// Notes that `scan` has more behind the last row of this page. For engines.
    pub fn set_rest(&mut self, scan: &Scan) {
        let Some((last, _)) = self.get(self.rows.len().wrapping_sub(1)) else {
            self.rest = None;
            return;
        };
        let last = last.to_vec();
        self.set_rest_behind(scan, &last);
    }

    /// Notes that `scan` has more behind a key that was passed, a row of this page or not. For
    /// engines.
    pub fn set_rest_behind(&mut self, scan: &Scan, passed: &[u8]) {
        let rest = if scan.options.reverse {
            KeyRange {
                start: scan.range.start.clone(),
                until: Some(passed.to_vec()),
            }
        } else {
            KeyRange {
                start: successor(passed),
                until: scan.range.until.clone(),
            }
        };
        self.rest = (!rest.is_empty()).then_some(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_between_the_ends() {
        let at = |key: &str| position(key.as_bytes(), b"k100", b"k200");
        assert!(at("a") <= 0.0 && 1.0 <= at("z"));
        assert!(at("k110") < at("k150") && at("k150") < at("k190"));
        assert!((0.0..=1.0).contains(&at("k1")));
    }
}
