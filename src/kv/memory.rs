//! The reference model: every key with all its versions in one ordered map.
//!
//! Not fast and not durable; simple enough to be obviously right. The embedded engine is tested
//! against it, and the server runs on it unchanged for tests and trials.
//!
//! A version carries the timestamp of its commit. Versions that no snapshot can see any more are
//! removed by later commits, which find them through the list of overwritten keys.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;

use super::page::PAGE_BYTES;
use super::{
    Answer, Capabilities, Census, CommitError, Engine, Error, Estimate, IsPast, Key, KeyRange,
    Limits, Page, Result, Scan, Snapshot, Space, Spaces, Ts, WriteSet,
};

/// Sizes that no statement within the limits of docs/limits.md reaches.
const LIMITS: Limits = Limits {
    key_bytes_max: 32 << 10,
    value_bytes_max: 65 << 20,
    write_set_bytes_max: 256 << 20,
};

/// The in-memory engine. Its data ends with it.
#[derive(Default)]
pub struct Memory {
    state: Arc<RwLock<State>>,
}

impl Memory {
    /// An empty engine.
    pub fn new() -> Memory {
        Memory::default()
    }
}

/// The values a key had, oldest first; `None` for a delete.
type Versions = Vec<(Ts, Option<Bytes>)>;

struct SpaceState {
    created: Ts,
    dropped: Option<Ts>,
    keys: BTreeMap<Key, Versions>,
    /// How many keys there were, oldest first; `None` where that is not known. One of these at
    /// every commit that wrote here.
    counts: Vec<(Ts, Option<u64>)>,
}

struct State {
    now: Ts,
    is_closed: bool,
    spaces: BTreeMap<Space, SpaceState>,
    /// How many snapshots are open at each timestamp.
    snapshots: BTreeMap<Ts, usize>,
    /// Keys with a version that is of no use to snapshots at this timestamp or later.
    stale: VecDeque<(Ts, Space, Key)>,
    /// Changes up to here may have been forgotten, so an older `start_ts` cannot be checked.
    horizon: Ts,
}

impl Default for State {
    fn default() -> State {
        State {
            now: Ts(1),
            is_closed: false,
            spaces: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            stale: VecDeque::new(),
            horizon: Ts(0),
        }
    }
}

impl State {
    fn space_at(&self, space: Space, ts: Ts) -> Result<&SpaceState> {
        let missing = Error::NoSuchSpace(space);
        if self.is_closed {
            return Err(Error::Closed);
        }
        let state = self.spaces.get(&space).ok_or_else(|| missing.clone())?;
        let is_there = state.created <= ts && state.dropped.is_none_or(|dropped| ts < dropped);
        if is_there { Ok(state) } else { Err(missing) }
    }

    fn get_at(&self, space: Space, key: &[u8], ts: Ts) -> Result<Option<Bytes>> {
        let state = self.space_at(space, ts)?;
        Ok(state
            .keys
            .get(key)
            .and_then(|versions| value_at(versions, ts)))
    }

    fn tick(&mut self) -> Ts {
        self.now = Ts(self.now.0 + 1);
        self.now
    }

    fn oldest_snapshot(&self) -> Ts {
        self.snapshots.keys().next().copied().unwrap_or(self.now)
    }

    fn check(&self, writes: &WriteSet) -> std::result::Result<(), CommitError> {
        writes.check_limits(&LIMITS)?;
        let checked = writes
            .must_be_absent
            .iter()
            .chain(&writes.must_be_unchanged);
        for (space, _) in writes
            .written()
            .chain(checked.map(|(s, k)| (*s, k.as_slice())))
        {
            self.space_at(space, self.now)?;
        }
        if let Some((space, _)) = writes.counted {
            self.check_counted(space, writes.start_ts)?;
        }
        if let Some((space, key)) = writes.unfounded() {
            let (space, key) = (*space, key.clone());
            return Err(CommitError::Conflict { space, key });
        }
        if let Some(start_ts) = writes.start_ts {
            for (space, key) in &writes.must_be_unchanged {
                self.check_unchanged(*space, key, start_ts)?;
            }
        }
        for (space, key) in &writes.must_be_absent {
            if self.get_at(*space, key, self.now)?.is_some() {
                let (space, key) = (*space, key.clone());
                return Err(CommitError::AlreadyExists { space, key });
            }
        }
        Ok(())
    }

    fn check_unchanged(
        &self,
        space: Space,
        key: &Key,
        start_ts: Ts,
    ) -> std::result::Result<(), CommitError> {
        let versions = self.space_at(space, self.now)?.keys.get(key);
        let changed = versions
            .and_then(|versions| versions.last())
            .map(|(ts, _)| *ts);
        if start_ts < self.horizon || changed.is_some_and(|changed| start_ts < changed) {
            let key = key.clone();
            return Err(CommitError::Conflict { space, key });
        }
        Ok(())
    }

    fn check_counted(
        &self,
        space: Space,
        start_ts: Option<Ts>,
    ) -> std::result::Result<(), CommitError> {
        let counts = &self.space_at(space, self.now)?.counts;
        let written = counts.last().map(|(ts, _)| *ts);
        if written <= start_ts {
            return Ok(());
        }
        let key = Key::new();
        Err(CommitError::Conflict { space, key })
    }

    fn count_at(&self, space: Space, ts: Ts) -> Result<Option<u64>> {
        let counts = &self.space_at(space, ts)?.counts;
        let newest = counts.iter().rev().find(|(at, _)| *at <= ts);
        Ok(newest.and_then(|(_, count)| *count))
    }

    fn count(&mut self, writes: &WriteSet, ts: Ts) {
        for space in writes.spaces() {
            if let Some(state) = self.spaces.get_mut(&space) {
                let before = state.counts.last().and_then(|(_, count)| *count);
                state.counts.push((ts, writes.count_after(space, before)));
            }
        }
        let counted = writes.counted.as_ref();
        let counted =
            counted.and_then(|(space, count)| self.spaces.get_mut(space).zip(Some(count)));
        if let Some((state, count)) = counted {
            state.counts.push((ts, Some(*count)));
        }
    }

    fn apply(&mut self, writes: WriteSet) -> Ts {
        let ts = self.tick();
        self.count(&writes, ts);
        for (space, key) in writes.deletes {
            self.write(space, key, (ts, None));
        }
        for put in writes.puts {
            self.write(put.space, put.key, (ts, Some(put.value.into())));
        }
        self.forget_stale();
        ts
    }

    fn write(&mut self, space: Space, key: Key, version: (Ts, Option<Bytes>)) {
        let Some(state) = self.spaces.get_mut(&space) else {
            return;
        };
        let ts = version.0;
        let versions = state.keys.entry(key.clone()).or_default();
        versions.retain(|(older, _)| *older < ts);
        let leaves_stale = !versions.is_empty() || version.1.is_none();
        versions.push(version);
        if leaves_stale {
            self.stale.push_back((ts, space, key));
        }
    }

    /// Removes the versions that every open snapshot is past.
    fn forget_stale(&mut self) {
        let oldest = self.oldest_snapshot();
        while self.stale.front().is_some_and(|(ts, _, _)| *ts <= oldest) {
            let Some((ts, space, key)) = self.stale.pop_front() else {
                return;
            };
            let Some(state) = self.spaces.get_mut(&space) else {
                continue;
            };
            let Some(versions) = state.keys.get_mut(&key) else {
                continue;
            };
            let newest = versions.iter().rposition(|(at, _)| *at <= oldest);
            versions.drain(..newest.unwrap_or(0));
            if versions.len() == 1
                && versions
                    .iter()
                    .all(|(at, value)| *at <= oldest && value.is_none())
            {
                state.keys.remove(&key);
            }
            self.horizon = self.horizon.max(ts);
        }
        for state in self.spaces.values_mut() {
            let newest = state.counts.iter().rposition(|(at, _)| *at <= oldest);
            state.counts.drain(..newest.unwrap_or(0));
            if state.dropped.is_some_and(|dropped| dropped <= oldest) {
                state.keys.clear();
            }
        }
    }

    fn fill(&self, scan: &Scan, ts: Ts, page: &mut Page) -> Result<()> {
        page.clear();
        let keys = &self.space_at(scan.space, ts)?.keys;
        if scan.range.is_empty() {
            return Ok(());
        }
        let until = match &scan.range.until {
            Some(until) => Bound::Excluded(until.as_slice()),
            None => Bound::Unbounded,
        };
        let range = (Bound::Included(scan.range.start.as_slice()), until);
        let rows = keys.range::<[u8], _>(range);
        let mut rows: Box<dyn Iterator<Item = (&Key, &Versions)>> = if scan.options.reverse {
            Box::new(rows.rev())
        } else {
            Box::new(rows)
        };
        let full = rows.try_for_each(|(key, versions)| {
            let Some(value) = value_at(versions, ts) else {
                return Ok(());
            };
            if !page.has_room(scan.options) {
                return Err(());
            }
            let value = if scan.options.keys_only {
                Bytes::new()
            } else {
                value
            };
            if page.push(key, &value) {
                Ok(())
            } else {
                Err(())
            }
        });
        if full.is_err() {
            page.set_rest(scan);
        }
        Ok(())
    }
}

fn value_at(versions: &Versions, ts: Ts) -> Option<Bytes> {
    let newest = versions.iter().rev().find(|(at, _)| *at <= ts);
    newest.and_then(|(_, value)| value.clone())
}

impl Engine for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            persistent: false,
            estimates: false,
        }
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let mut state = self.state.write();
        let ts = state.now;
        *state.snapshots.entry(ts).or_default() += 1;
        let engine = Arc::clone(&self.state);
        Arc::new(MemorySnapshot { ts, engine })
    }

    fn get_newest<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        let state = self.state.read();
        Answer::Now(state.get_at(space, key, state.now))
    }

    fn commit(&self, writes: WriteSet) -> Answer<'_, std::result::Result<Ts, CommitError>> {
        let mut state = self.state.write();
        if state.is_closed {
            return Answer::Now(Err(Error::Closed.into()));
        }
        let outcome = state.check(&writes).map(|()| {
            if writes.is_empty() {
                return state.now;
            }
            state.apply(writes)
        });
        Answer::Now(outcome)
    }

    fn create_space(&self, space: Space) -> Answer<'_, Result<()>> {
        let mut state = self.state.write();
        if state.is_closed {
            return Answer::Now(Err(Error::Closed));
        }
        if state.spaces.contains_key(&space) {
            return Answer::Now(Err(Error::SpaceUsed(space)));
        }
        let created = state.tick();
        let empty = SpaceState {
            created,
            dropped: None,
            keys: BTreeMap::new(),
            counts: vec![(created, Some(0))],
        };
        state.spaces.insert(space, empty);
        Answer::Now(Ok(()))
    }

    fn drop_space(&self, space: Space) -> Answer<'_, Result<()>> {
        let mut state = self.state.write();
        if let Err(missing) = state.space_at(space, state.now) {
            return Answer::Now(Err(missing));
        }
        let dropped = state.tick();
        if let Some(state) = state.spaces.get_mut(&space) {
            state.dropped = Some(dropped);
        }
        state.forget_stale();
        Answer::Now(Ok(()))
    }

    fn spaces(&self) -> Spaces {
        let state = self.state.read();
        let is_live =
            |(space, state): (&Space, &SpaceState)| state.dropped.is_none().then_some(*space);
        let used: BTreeSet<Space> = state.spaces.keys().copied().collect();
        Spaces {
            live: state.spaces.iter().filter_map(is_live).collect(),
            next: Space(used.last().map_or(0, |space| space.0.saturating_add(1))),
        }
    }

    fn estimate(&self, space: Space, _range: &KeyRange) -> Estimate {
        let state = self.state.read();
        let rows = match state.space_at(space, state.now) {
            Ok(space) => space.keys.len() as u64,
            Err(_) => 0,
        };
        Estimate { rows, bytes: 0 }
    }

    /// Exact, but that deleted keys are not told: nothing is in their place.
    fn census(&self, space: Space, is_past: IsPast<'_>) -> Result<Census> {
        let state = self.state.read();
        let space = state.space_at(space, state.now)?;
        let mut census = Census::nothing();
        let values = space.keys.values();
        for value in values.filter_map(|versions| value_at(versions, state.now)) {
            census.add(Some(&value), is_past);
        }
        Ok(census)
    }

    fn compact<'a>(&'a self, spaces: &'a [Space]) -> Answer<'a, Result<()>> {
        let mut state = self.state.write();
        state.forget_stale();
        let mut spaces = spaces.iter();
        Answer::Now(spaces.try_for_each(|space| state.space_at(*space, state.now).map(drop)))
    }

    fn sync(&self) -> Answer<'_, Result<()>> {
        let is_closed = self.state.read().is_closed;
        Answer::Now(if is_closed {
            Err(Error::Closed)
        } else {
            Ok(())
        })
    }

    fn close(&self) -> Answer<'_, Result<()>> {
        self.state.write().is_closed = true;
        Answer::Now(Ok(()))
    }
}

struct MemorySnapshot {
    ts: Ts,
    engine: Arc<RwLock<State>>,
}

impl Snapshot for MemorySnapshot {
    fn ts(&self) -> Ts {
        self.ts
    }

    /// It leaves nothing out: who looks at ends is in front of it.
    fn judged_ms(&self) -> Option<u64> {
        None
    }

    fn has_ended(&self, _space: Space, _value: &[u8]) -> bool {
        false
    }

    fn get<'a>(&'a self, space: Space, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>>> {
        Answer::Now(self.engine.read().get_at(space, key, self.ts))
    }

    fn multi_get<'a>(
        &'a self,
        space: Space,
        keys: &'a [Key],
    ) -> Answer<'a, Result<Vec<Option<Bytes>>>> {
        let state = self.engine.read();
        let found = state.space_at(space, self.ts).and_then(|_| {
            let mut values = Vec::with_capacity(keys.len());
            let mut bytes = 0;
            for key in keys {
                let value = state.get_at(space, key, self.ts)?;
                bytes += value.as_ref().map_or(0, Bytes::len);
                values.push(value);
                if PAGE_BYTES < bytes {
                    break;
                }
            }
            Ok(values)
        });
        Answer::Now(found)
    }

    fn scan<'a>(&'a self, scan: &'a Scan, page: &'a mut Page) -> Answer<'a, Result<()>> {
        Answer::Now(self.engine.read().fill(scan, self.ts, page))
    }

    fn count(&self, space: Space) -> Answer<'_, Result<Option<u64>>> {
        Answer::Now(self.engine.read().count_at(space, self.ts))
    }
}

impl Drop for MemorySnapshot {
    fn drop(&mut self) {
        let mut state = self.engine.write();
        if let Some(open) = state.snapshots.get_mut(&self.ts) {
            *open = open.saturating_sub(1);
            if *open == 0 {
                state.snapshots.remove(&self.ts);
            }
        }
    }
}
