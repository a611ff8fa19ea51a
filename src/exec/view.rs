//! The state a statement reads: a snapshot, and over it what its own transaction has written.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

use super::cancel::CancelToken;
use super::growth::Growth;
use super::woven::Woven;
use crate::ceiling;
use crate::error::Result;
use crate::kv::{self, Engine, Key, KeyRange, Page, Scan, Snapshot, Space};

type KvResult<T> = kv::Result<T>;

/// What is written to a key: `None` is a delete.
pub(super) type Written = Option<Bytes>;

/// What an open transaction has written and not committed: `None` is a deleted row.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    rows: BTreeMap<(Space, Key), Option<Bytes>>,
    bytes: usize,
    pub(super) growth: Growth,
}

impl Overlay {
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of the written keys and values, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Records a write; what was written to the key before, as [`Overlay::get`] gives it.
    pub fn write(&mut self, space: Space, key: Key, value: Option<Bytes>) -> Option<Option<Bytes>> {
        self.bytes += key.len() + value.as_ref().map_or(0, Bytes::len);
        self.rows.insert((space, key), value)
    }

    /// Takes a write back; `before` is what [`Overlay::write`] gave.
    pub(super) fn restore(&mut self, place: (Space, Key), before: Option<Written>) {
        match before {
            Some(value) => drop(self.rows.insert(place, value)),
            None => drop(self.rows.remove(&place)),
        }
    }

    /// Says what [`Overlay::bytes`] was.
    pub(super) fn set_bytes(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    /// What was written to a key: `None` nothing, `Some(None)` a delete.
    pub fn get(&self, space: Space, key: &[u8]) -> Option<Option<Bytes>> {
        self.rows.get(&(space, key.to_vec())).cloned()
    }

    /// Everything written, in order of space and key.
    pub fn iter(&self) -> impl Iterator<Item = (Space, &Key, Option<&Bytes>)> {
        self.rows
            .iter()
            .map(|((space, key), value)| (*space, key, value.as_ref()))
    }

    /// Whether something was written to a space.
    pub fn has_any_of(&self, space: Space) -> bool {
        let mut behind = self.rows.range((space, Vec::new())..);
        behind.next().is_some_and(|((first, _), _)| *first == space)
    }

    /// What was written to a range, in its order.
    fn range(&self, space: Space, range: &KeyRange) -> Vec<(&Key, Option<&Bytes>)> {
        let start = Bound::Included((space, range.start.clone()));
        let until = match &range.until {
            Some(until) if *until <= range.start => return Vec::new(),
            Some(until) => Bound::Excluded((space, until.clone())),
            None => Bound::Excluded((Space(space.0.saturating_add(1)), Vec::new())),
        };
        let rows = self.rows.range((start, until));
        rows.map(|((_, key), value)| (key, value.as_ref()))
            .collect()
    }
}

/// What a statement reads from: one state of everything.
#[derive(Clone)]
pub struct View {
    /// The state.
    pub snapshot: Arc<dyn Snapshot>,
    /// The transaction's own writes, over it.
    pub own: Option<Arc<Overlay>>,
}

/// Rows that were read: a page of the engine as it came, or rows put together here.
#[derive(Debug)]
pub enum Batch {
    /// A page of the engine.
    Page(Page),
    /// Rows of a multi-get, or of a page merged with a transaction's writes.
    Rows(Vec<(Key, Bytes)>),
    /// Rows of several of the others.
    Woven(Woven),
}

impl Batch {
    /// How many rows.
    pub fn len(&self) -> usize {
        match self {
            Batch::Page(page) => page.len(),
            Batch::Rows(rows) => rows.len(),
            Batch::Woven(woven) => woven.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Key and value of the n-th row.
    pub fn get(&self, row_idx: usize) -> Option<(&[u8], &[u8])> {
        match self {
            Batch::Page(_) | Batch::Rows(_) => self.unwoven(row_idx),
            Batch::Woven(woven) => woven.get(row_idx),
        }
    }

    /// As [`Batch::get`], of rows that are here. Woven ones are in other batches.
    pub(super) fn unwoven(&self, row_idx: usize) -> Option<(&[u8], &[u8])> {
        match self {
            Batch::Page(page) => page.get(row_idx),
            Batch::Rows(rows) => rows
                .get(row_idx)
                .map(|(key, value)| (key.as_slice(), value.as_ref())),
            Batch::Woven(_) => None,
        }
    }
}

impl View {
    /// What is committed now. One asks afterwards whether it has the storage of the tables that were
    /// bound.
    pub fn newest(engine: &dyn Engine) -> View {
        View {
            snapshot: engine.snapshot(),
            own: None,
        }
    }

    /// The value of one key.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn get(&self, space: Space, key: &[u8]) -> KvResult<Option<Bytes>> {
        if let Some(written) = self.own_value(space, key) {
            return Ok(written);
        }
        self.snapshot.get(space, key).await
    }

    /// What the transaction itself has written to a key: `Some(None)` a delete, or a value that has ended since.
    fn own_value(&self, space: Space, key: &[u8]) -> Option<Written> {
        let written = self.own.as_ref()?.get(space, key)?;
        Some(written.filter(|value| !self.snapshot.has_ended(space, value)))
    }

    /// The rows of the first of many keys, in their order: of one at least, and of no more than some megabytes, whose
    /// memory is asked for.
    ///
    /// # Errors
    /// Those of the engine; 1041 when the process has no memory for them.
    pub async fn first_rows(&self, space: Space, keys: &[Key]) -> Result<Vec<Option<Bytes>>> {
        let mut rows = self.snapshot.multi_get(space, keys).await?;
        self.put_own(space, keys, &mut rows);
        let bytes = rows.iter().flatten().map(Bytes::len).sum();
        if ceiling::GRAIN_BYTES <= bytes {
            // What is less is not asked for: a DELETE of some rows is the way out where memory is full.
            ceiling::drip("rows that are looked up", bytes)?;
        }
        Ok(rows)
    }

    /// The rows of all of many keys, in their order.
    ///
    /// # Errors
    /// Those of the engine; 1041 when the process has no memory for them; 1317 and its like.
    pub async fn rows(
        &self,
        space: Space,
        keys: &[Key],
        cancel: &CancelToken,
    ) -> Result<Vec<Option<Bytes>>> {
        let mut rows = Vec::with_capacity(keys.len());
        while let Some(next) = kv::some_keys(keys, rows.len()) {
            cancel.check()?;
            rows.extend(self.first_rows(space, next).await?);
        }
        Ok(rows)
    }

    /// The values of many keys, in their order: of entries, or of others that are small.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn multi_get(&self, space: Space, keys: &[Key]) -> KvResult<Vec<Option<Bytes>>> {
        let mut values = kv::multi_get_all(&*self.snapshot, space, keys).await?;
        self.put_own(space, keys, &mut values);
        Ok(values)
    }

    /// Replaces what the transaction itself has written.
    fn put_own(&self, space: Space, keys: &[Key], values: &mut [Option<Bytes>]) {
        if self.own.is_none() {
            return;
        }
        for (value, key) in values.iter_mut().zip(keys) {
            if let Some(written) = self.own_value(space, key) {
                *value = written;
            }
        }
    }

    /// How many keys a space has, if that is known at once.
    pub fn count(&self, space: Space) -> Option<u64> {
        let count = self.snapshot.count(space).try_now().ok()?;
        let grown = match &self.own {
            Some(own) => own.growth.of(space)?,
            None => 0,
        };
        count.ok().flatten()?.checked_add_signed(grown)
    }

    /// The next page of a scan; `scan` then stands behind it. `reuse` is a batch whose memory may
    /// be used again. The flag says whether there is more.
    ///
    /// # Errors
    /// Those of the engine.
    pub async fn scan(&self, scan: &mut Scan, reuse: Batch) -> KvResult<(Batch, bool)> {
        let mut page = match reuse {
            Batch::Page(page) => page,
            Batch::Rows(_) | Batch::Woven(_) => Page::default(),
        };
        self.snapshot.scan(scan, &mut page).await?;
        let before = self.own.is_some().then(|| scan.range.clone());
        let more = scan.advance(&mut page);
        let (Some(own), Some(before)) = (&self.own, before) else {
            return Ok((Batch::Page(page), more));
        };
        let covered = covered(&before, &scan.range, more, scan.options.reverse);
        let mut written = own.range(scan.space, &covered);
        for (_, value) in &mut written {
            *value = value.filter(|value| !self.snapshot.has_ended(scan.space, value));
        }
        if written.is_empty() {
            return Ok((Batch::Page(page), more));
        }
        Ok((
            Batch::Rows(merge(&page, &written, scan.options.reverse)),
            more,
        ))
    }
}

/// The part of `before` that a page has read when `after` is what is left.
fn covered(before: &KeyRange, after: &KeyRange, more: bool, reverse: bool) -> KeyRange {
    if !more {
        return before.clone();
    }
    if reverse {
        let start = after.until.clone().unwrap_or_default();
        return KeyRange {
            start,
            until: before.until.clone(),
        };
    }
    KeyRange {
        start: before.start.clone(),
        until: Some(after.start.clone()),
    }
}

/// A page with a transaction's writes put in, in the page's direction.
fn merge(page: &Page, written: &[(&Key, Option<&Bytes>)], reverse: bool) -> Vec<(Key, Bytes)> {
    let mut rows: BTreeMap<Key, Bytes> = page
        .iter()
        .map(|(key, value)| (key.to_vec(), Bytes::copy_from_slice(value)))
        .collect();
    for (key, value) in written {
        match value {
            Some(value) => drop(rows.insert((*key).clone(), (*value).clone())),
            None => drop(rows.remove(*key)),
        }
    }
    if reverse {
        rows.into_iter().rev().collect()
    } else {
        rows.into_iter().collect()
    }
}
