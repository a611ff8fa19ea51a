//! The union or the intersection of several scans: the primary keys of the rows that any of them
//! finds, or all of them, each once, in the order of the primary key or against it.
//!
//! ```text
//!   scans in key order    a page of keys each, merged as they are read
//!   other scans           all their keys are sorted first, on disk when they are many
//! ```
//! A call reads one page at most of each scan, so whoever drives it can stop in between.

use std::collections::VecDeque;
use std::sync::Arc;

use super::budget::Memory;
use super::cancel::CancelToken;
use super::sample::space_of;
use super::sort::{Sorted, Sorter};
use super::view::{Batch, View};
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::index;
use crate::kv::{Key, KeyRange, Page, Scan, ScanOptions, Space};
use crate::plan::{Entries, Merge, MergeBranch, MergeKind};
use crate::sql::bound::KeyRef;

/// Keys read of one scan, and of the sorted keys, at once.
const PAGE_KEYS: usize = 512;

/// Pages without a key that are passed over in one go; then the driver looks whether to stop.
const EMPTY_PAGES_MAX: usize = 16;

/// What a statement may use to put rows in order.
#[derive(Clone)]
pub struct Means<'a> {
    /// What it may hold, and where it may spill.
    pub memory: Memory,
    /// What may end it early.
    pub cancel: &'a Arc<CancelToken>,
}

/// The primary keys that several scans find.
pub(super) struct Merger {
    table: Arc<Table>,
    kind: MergeKind,
    reverse: bool,
    /// Scans whose keys are still to be sorted.
    unsorted: Vec<KeyScan>,
    /// Where they go.
    sorter: Option<Sorter>,
    lanes: Vec<Lane>,
    last: Option<Key>,
}

/// Keys in order.
struct Lane {
    source: Source,
    /// Read and not yet merged.
    keys: VecDeque<Key>,
}

enum Source {
    Scan(KeyScan),
    Sorted(Sorted),
    Finished,
}

/// The primary keys of what one scan finds, in its order.
struct KeyScan {
    key: KeyRef,
    space: Space,
    reverse: bool,
    work: Work,
    cancel: Arc<CancelToken>,
}

enum Work {
    Keys(VecDeque<Key>),
    Ranges {
        current: Option<Scan>,
        ranges: VecDeque<KeyRange>,
    },
}

impl Merger {
    /// Over the scans of a plan.
    pub(super) fn new(
        (table, reverse): (&Arc<Table>, bool),
        merge: Merge,
        means: &Means<'_>,
    ) -> Merger {
        let kind = merge.kind;
        let (in_order, others): (Vec<_>, Vec<_>) = merge
            .branches
            .into_iter()
            .partition(|branch| branch.in_key_order);
        let scan = |branch: MergeBranch| KeyScan::new(table, branch, (reverse, means.cancel));
        let lanes = in_order.into_iter().map(|branch| Lane {
            source: Source::Scan(scan(branch)),
            keys: VecDeque::new(),
        });
        let lanes = lanes.collect();
        let sorter = (!others.is_empty())
            .then(|| Sorter::new(None, "index merge", &means.memory, means.cancel));
        Merger {
            table: Arc::clone(table),
            kind,
            reverse,
            unsorted: others.into_iter().map(scan).collect(),
            sorter,
            lanes,
            last: None,
        }
    }

    /// The next keys, which may be none though there are more; `None` at the end.
    ///
    /// # Errors
    /// Those of the engine; 1038 when the keys to sort do not fit; 1712 for a damaged entry.
    pub(super) async fn next_keys(
        &mut self,
        view: &View,
        keys_max: usize,
    ) -> Result<Option<Vec<Key>>> {
        if let Some(scan) = self.unsorted.last_mut() {
            match scan.page(view, &self.table).await? {
                Some(keys) => self.take(&keys)?,
                None => drop(self.unsorted.pop()),
            }
            return Ok(Some(Vec::new()));
        }
        if let Some(sorter) = self.sorter.take() {
            self.lanes.push(Lane {
                source: Source::Sorted(sorter.finish()?),
                keys: VecDeque::new(),
            });
        }
        for lane in &mut self.lanes {
            if !lane.fill(view, &self.table).await? {
                return Ok(Some(Vec::new()));
            }
        }
        match self.kind {
            MergeKind::Union => {
                self.lanes.retain(|lane| !lane.keys.is_empty());
                let is_over = self.lanes.is_empty();
                Ok((!is_over).then(|| self.unite(keys_max)))
            }
            MergeKind::Intersection => {
                let is_over = self.lanes.iter().any(|lane| lane.keys.is_empty());
                Ok((!is_over).then(|| self.intersect(keys_max)))
            }
        }
    }

    fn take(&mut self, keys: &[Key]) -> Result<()> {
        let Some(sorter) = &mut self.sorter else {
            return Err(Error::internal("keys to sort without a sorter"));
        };
        for key in keys {
            sorter.push(&turned(key, self.reverse), key)?;
        }
        Ok(())
    }

    /// Keys that are in all lanes, in order, until a lane has to be filled again.
    fn intersect(&mut self, keys_max: usize) -> Vec<Key> {
        let mut common = Vec::new();
        while common.len() < keys_max {
            let fronts = || self.lanes.iter().map(|lane| lane.keys.front());
            if fronts().any(|front| front.is_none()) {
                break;
            }
            let last = if self.reverse {
                fronts().min()
            } else {
                fronts().max()
            };
            let Some(last) = last.flatten().cloned() else {
                break;
            };
            let is_common = fronts().all(|front| front == Some(&last));
            // No lane that is at a key before this one will find it in the one that is at this.
            for lane in &mut self.lanes {
                lane.pass(&last, (self.reverse, is_common));
            }
            if is_common {
                common.push(last);
            }
        }
        common
    }

    /// Keys that are in any lane, in order, until a lane has to be filled again.
    fn unite(&mut self, keys_max: usize) -> Vec<Key> {
        let mut merged = Vec::new();
        while merged.len() < keys_max {
            let reverse = self.reverse;
            let lanes = self.lanes.iter_mut();
            let first = lanes.min_by(|a, b| {
                let (a, b) = (a.keys.front(), b.keys.front());
                if reverse { b.cmp(&a) } else { a.cmp(&b) }
            });
            let Some(lane) = first else { break };
            let Some(key) = lane.keys.pop_front() else {
                break;
            };
            let is_empty = lane.keys.is_empty();
            if self.last.as_ref() != Some(&key) {
                self.last = Some(key.clone());
                merged.push(key);
            }
            if is_empty {
                break;
            }
        }
        merged
    }
}

/// What the beginnings of two scans have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overlap {
    /// Keys of the first scan that were looked at.
    pub(super) seen: usize,
    /// Those of them that the second scan finds too.
    pub(super) common: usize,
}

/// Reads a page of each of two scans that are in key order, and compares them as far as both reach.
///
/// # Errors
/// Those of the engine; 1712 for a damaged entry.
pub(super) async fn overlap(
    view: &View,
    table: &Table,
    pair: &[MergeBranch; 2],
) -> Result<Overlap> {
    let [one, two] = pair;
    let mut pages = Vec::new();
    // One page of each: nobody has to stop it.
    let cancel = Arc::default();
    for branch in [one, two] {
        let mut scan = KeyScan::new(table, branch.clone(), (false, &cancel));
        pages.push(scan.page(view, table).await?.unwrap_or_default());
    }
    let ends = pages.iter().filter(|page| PAGE_KEYS <= page.len());
    let until = ends.filter_map(|page| page.last()).min();
    let within = |key: &&Key| until.is_none_or(|until| *key <= until);
    let [first, second] = pages.as_slice() else {
        return Err(Error::internal("a pair of scans that is none"));
    };
    let seen = first.iter().filter(within);
    let common = seen.clone().filter(|key| second.binary_search(key).is_ok());
    Ok(Overlap {
        seen: seen.clone().count(),
        common: common.count(),
    })
}

/// Bytes that are ordered as the key, or against it: no key begins with another one, so all the
/// bits turned round turn the order round.
fn turned(key: &[u8], reverse: bool) -> Key {
    let flip = if reverse { u8::MAX } else { 0 };
    key.iter().map(|byte| byte ^ flip).collect()
}

impl Lane {
    /// Passes over the keys in front of one, and over that one too if it is taken.
    fn pass(&mut self, key: &Key, (reverse, is_taken): (bool, bool)) {
        while let Some(front) = self.keys.front() {
            let is_before = if reverse { key < front } else { front < key };
            if !(is_before || is_taken && front == key) {
                break;
            }
            self.keys.pop_front();
        }
    }

    /// Reads keys when there are none; `false` when that takes longer than one call may.
    async fn fill(&mut self, view: &View, table: &Table) -> Result<bool> {
        for _ in 0..EMPTY_PAGES_MAX {
            if !self.keys.is_empty() {
                return Ok(true);
            }
            match &mut self.source {
                Source::Finished => return Ok(true),
                Source::Scan(scan) => match scan.page(view, table).await? {
                    Some(keys) => self.keys.extend(keys),
                    None => self.source = Source::Finished,
                },
                Source::Sorted(sorted) => {
                    while self.keys.len() < PAGE_KEYS {
                        let Some(key) = sorted.next_outputs()? else {
                            break;
                        };
                        self.keys.push_back(key.to_vec());
                    }
                    if self.keys.is_empty() {
                        self.source = Source::Finished;
                    }
                }
            }
        }
        Ok(!self.keys.is_empty())
    }
}

impl KeyScan {
    fn new(
        table: &Table,
        branch: MergeBranch,
        (reverse, cancel): (bool, &Arc<CancelToken>),
    ) -> KeyScan {
        let work = match branch.entries {
            Entries::Keys(keys) => Work::Keys(VecDeque::from(keys)),
            Entries::Ranges(ranges) => Work::Ranges {
                current: None,
                ranges: VecDeque::from(ranges),
            },
        };
        KeyScan {
            key: branch.key,
            space: space_of(table, branch.key),
            reverse,
            work,
            cancel: Arc::clone(cancel),
        }
    }

    /// The primary keys of the next page, which may be empty; `None` at the end.
    async fn page(&mut self, view: &View, table: &Table) -> Result<Option<Vec<Key>>> {
        let (current, ranges) = match &mut self.work {
            Work::Keys(keys) if keys.is_empty() => return Ok(None),
            Work::Keys(keys) => {
                let keys: Vec<Key> = keys.drain(..keys.len().min(PAGE_KEYS)).collect();
                let values = view.rows(self.space, &keys, &self.cancel).await?;
                let found = keys.into_iter().zip(values);
                let found = found.filter_map(|(key, value)| Some((key, value?)));
                return self.primary_keys(&Batch::Rows(found.collect()), table);
            }
            Work::Ranges { current, ranges } => (current, ranges),
        };
        if current.is_none() {
            let next = if self.reverse {
                ranges.pop_back()
            } else {
                ranges.pop_front()
            };
            let Some(range) = next else { return Ok(None) };
            *current = Some(Scan::new(self.space, range));
        }
        let Some(scan) = current else { return Ok(None) };
        scan.options = ScanOptions {
            reverse: self.reverse,
            max_rows: PAGE_KEYS,
            // A unique index has the rest of the primary key in the values.
            keys_only: self.key == KeyRef::Primary,
            ..ScanOptions::default()
        };
        let (batch, more) = view.scan(scan, Batch::Page(Page::default())).await?;
        if !more {
            *current = None;
        }
        self.primary_keys(&batch, table)
    }

    fn primary_keys(&self, batch: &Batch, table: &Table) -> Result<Option<Vec<Key>>> {
        let index = match self.key {
            KeyRef::Primary => None,
            KeyRef::Index(position) => table.indexes.get(position),
        };
        let mut keys = Vec::with_capacity(batch.len());
        for at in 0..batch.len() {
            let Some((key, value)) = batch.get(at) else {
                break;
            };
            keys.push(match index {
                Some(index) => index::primary_key(table, index, (key, value))?,
                None => key.to_vec(),
            });
        }
        Ok(Some(keys))
    }
}
