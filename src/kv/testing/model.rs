//! The model checker: random histories of commits, snapshots and scans on every engine, against a
//! list of plain maps.
//!
//! proptest prints the seed of a failure and keeps it in `proptest-regressions`; a seed that found
//! something becomes a script.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::{Fault, Faults, Faulty, Mirror};
use crate::kv::lsm::{Lsm, Options};
use crate::kv::memory::Memory;
use crate::kv::{
    CommitError, Engine, Error, KeyRange, Page, Scan, ScanOptions, Snapshot, Space, WriteSet,
};

const SPACES: u32 = 3;

/// What an engine should hold: the keys of each space.
type Model = BTreeMap<u32, BTreeMap<Vec<u8>, Vec<u8>>>;

#[derive(Debug, Clone)]
enum Step {
    Snapshot,
    Release(usize),
    Commit {
        from: Option<usize>,
        changes: Vec<(u32, u8, Option<u8>)>,
        is_counted: bool,
        absent: Vec<(u32, u8)>,
        unchanged: Vec<(u32, u8)>,
    },
    Get(usize, u32, u8),
    Scan(usize, u32, (u8, Option<u8>), (usize, bool, bool)),
    Replace(u32),
    Compact,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..24u8;
    let place = (0..SPACES, key.clone());
    let change = (
        0..SPACES,
        key.clone(),
        prop::option::weighted(0.7, any::<u8>()),
    );
    let commit = (
        prop::option::of(0..8usize),
        (
            prop::collection::vec(change, 0..6),
            prop::bool::weighted(0.9),
        ),
        prop::collection::vec(place.clone(), 0..2),
        prop::collection::vec(place, 0..3),
    );
    let commit = commit.prop_map(
        |(from, (changes, is_counted), absent, unchanged)| Step::Commit {
            from,
            changes,
            is_counted,
            absent,
            unchanged,
        },
    );
    let range = (key.clone(), prop::option::of(key.clone()));
    let options = (1..7usize, any::<bool>(), any::<bool>());
    let step = prop_oneof![
        3 => Just(Step::Snapshot),
        2 => (0..8usize).prop_map(Step::Release),
        12 => commit,
        4 => (0..8usize, 0..SPACES, key).prop_map(|(at, s, k)| Step::Get(at, s, k)),
        6 => (0..8usize, 0..SPACES, range, options)
            .prop_map(|(at, s, range, options)| Step::Scan(at, s, range, options)),
        1 => (0..SPACES).prop_map(Step::Replace),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..60)
}

fn key(number: u8) -> Vec<u8> {
    // Of several lengths, so that some keys begin with others.
    vec![number / 3; usize::from(number % 3) + 1]
}

struct Taken {
    snapshot: Arc<dyn Snapshot>,
    model: Model,
    ids: Vec<Space>,
    commits: u64,
}

struct Checker {
    open: Box<dyn Fn() -> Arc<dyn Engine>>,
    is_persistent: bool,
    engine: Arc<dyn Engine>,
    model: Model,
    /// The engine's id of each of the model's spaces.
    ids: Vec<Space>,
    taken: Vec<Taken>,
    commits: u64,
    changed: BTreeMap<(u32, Vec<u8>), u64>,
    /// Spaces to which somebody has written without saying how the number of keys changes.
    uncounted: BTreeSet<Space>,
}

/// Deletes first: that is how a write set is defined.
fn put_all(model: &mut Model, changes: &[(u32, u8, Option<u8>)]) {
    for pass in [false, true] {
        for (space, number, value) in changes.iter().filter(|(_, _, v)| v.is_some() == pass) {
            let keys = model.get_mut(space).unwrap();
            match value {
                Some(value) => keys.insert(key(*number), vec![*value; 3]),
                None => keys.remove(&key(*number)),
            };
        }
    }
}

impl Checker {
    async fn new(open: Box<dyn Fn() -> Arc<dyn Engine>>, is_persistent: bool) -> Checker {
        let engine = open();
        let ids: Vec<Space> = (0..SPACES).map(Space).collect();
        for id in &ids {
            engine.create_space(*id).await.unwrap();
        }
        Checker {
            open,
            is_persistent,
            engine,
            model: (0..SPACES).map(|s| (s, BTreeMap::new())).collect(),
            ids,
            taken: Vec::new(),
            commits: 0,
            changed: BTreeMap::new(),
            uncounted: BTreeSet::new(),
        }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Snapshot => self.taken.push(Taken {
                snapshot: self.engine.snapshot(),
                model: self.model.clone(),
                ids: self.ids.clone(),
                commits: self.commits,
            }),
            Step::Release(at) => {
                if *at < self.taken.len() {
                    self.taken.remove(*at);
                }
            }
            Step::Commit { from, .. } => self.commit(*from, step).await,
            Step::Get(at, space, number) => self.get(*at, *space, &key(*number)).await,
            Step::Scan(at, space, range, options) => {
                self.scan(*at, *space, (*range, *options)).await;
            }
            Step::Replace(space) => self.replace(*space).await,
            Step::Compact => self.engine.compact(&self.ids[..1]).await.unwrap(),
            Step::Reopen => {
                if self.is_persistent {
                    self.taken.clear();
                    self.engine.close().await.unwrap();
                    self.engine = (self.open)();
                }
            }
        }
    }

    async fn commit(&mut self, from: Option<usize>, step: &Step) {
        let Step::Commit {
            changes,
            absent,
            unchanged,
            is_counted,
            ..
        } = step
        else {
            return;
        };
        let from = from.and_then(|at| self.taken.get(at));
        let since = from.map(|taken| taken.commits);
        let at = |(space, number): &(u32, u8)| (self.ids[*space as usize], key(*number));
        let mut writes = WriteSet {
            start_ts: from.map(|taken| taken.snapshot.ts()),
            must_be_absent: absent.iter().map(at).collect(),
            must_be_unchanged: unchanged.iter().map(at).collect(),
            ..WriteSet::default()
        };
        for (space, number, value) in changes {
            let id = self.ids[*space as usize];
            match value {
                Some(value) => writes.put(id, key(*number), vec![*value; 3]),
                None => writes.delete(id, key(*number)),
            }
        }
        if *is_counted {
            writes.growth = self.growth(changes);
        }
        let is_stale = |(space, number): &(u32, u8)| {
            let changed = self.changed.get(&(*space, key(*number)));
            since.is_none_or(|since| changed.is_some_and(|at| since < *at))
        };
        let is_there = |(space, number): &(u32, u8)| self.model[space].contains_key(&key(*number));
        let expected = if let Some(place) = unchanged.iter().find(|place| is_stale(place)) {
            let (space, key) = at(place);
            Err(CommitError::Conflict { space, key })
        } else if let Some(place) = absent.iter().find(|place| is_there(place)) {
            let (space, key) = at(place);
            Err(CommitError::AlreadyExists { space, key })
        } else {
            Ok(())
        };
        let outcome = self.engine.commit(writes).await.map(|_| ());
        assert_eq!(outcome, expected);
        if outcome.is_ok() {
            self.apply(changes);
            if !is_counted {
                let ids = changes.iter().map(|(space, ..)| self.ids[*space as usize]);
                self.uncounted.extend(ids);
            }
        }
    }

    /// By how much each space grows.
    fn growth(&self, changes: &[(u32, u8, Option<u8>)]) -> BTreeMap<Space, i64> {
        let mut after = self.model.clone();
        put_all(&mut after, changes);
        let spaces = self.model.iter().zip(after.values());
        let growth = spaces.map(|((space, before), after)| {
            let rows = |of: &BTreeMap<_, _>| i64::try_from(of.len()).unwrap();
            (self.ids[*space as usize], rows(after) - rows(before))
        });
        growth.collect()
    }

    /// What is known of the number of keys is true, and known unless somebody did not say.
    async fn count(&self, taken: &Taken, space: u32) {
        let id = taken.ids[space as usize];
        let count = taken.snapshot.count(id).await.unwrap();
        if let Some(count) = count {
            assert_eq!(count, taken.model[&space].len() as u64);
        } else {
            assert!(self.uncounted.contains(&id));
        }
    }

    fn apply(&mut self, changes: &[(u32, u8, Option<u8>)]) {
        self.commits += 1;
        put_all(&mut self.model, changes);
        for (space, number, _) in changes {
            self.changed.insert((*space, key(*number)), self.commits);
        }
    }

    async fn get(&self, at: usize, space: u32, key: &[u8]) {
        let newest = self
            .engine
            .get_newest(self.ids[space as usize], key)
            .await
            .unwrap();
        assert_eq!(
            newest.as_deref(),
            self.model[&space].get(key).map(Vec::as_slice)
        );
        if let Some(taken) = self.taken.get(at) {
            self.count(taken, space).await;
            let expected = taken.model[&space].get(key).cloned();
            let id = taken.ids[space as usize];
            let found = taken.snapshot.get(id, key).await.unwrap();
            assert_eq!(found.as_deref(), expected.as_deref());
            let keys = [key.to_vec(), vec![99], key.to_vec()];
            let found = taken.snapshot.multi_get(id, &keys).await.unwrap();
            let found: Vec<_> = found.iter().map(|value| value.as_deref()).collect();
            assert_eq!(found, [expected.as_deref(), None, expected.as_deref()]);
        }
    }

    async fn scan(&self, at: usize, space: u32, how: ((u8, Option<u8>), (usize, bool, bool))) {
        let Some(taken) = self.taken.get(at) else {
            return;
        };
        let ((start, until), (max_rows, reverse, keys_only)) = how;
        let range = KeyRange {
            start: key(start),
            until: until.map(key),
        };
        let rows = taken.model[&space]
            .iter()
            .filter(|(key, _)| range.contains(key));
        let value_of = |value: &Vec<u8>| if keys_only { Vec::new() } else { value.clone() };
        let mut expected: Vec<_> = rows.map(|(k, v)| (k.clone(), value_of(v))).collect();
        if reverse {
            expected.reverse();
        }
        let mut scan = Scan::new(taken.ids[space as usize], range);
        scan.options = ScanOptions {
            max_rows,
            reverse,
            keys_only,
            ..ScanOptions::default()
        };
        let mut page = Page::default();
        let mut found = Vec::new();
        loop {
            taken.snapshot.scan(&scan, &mut page).await.unwrap();
            assert!(page.len() <= max_rows);
            found.extend(page.iter().map(|(k, v)| (k.to_vec(), v.to_vec())));
            if !scan.advance(&mut page) {
                break;
            }
            assert!(!scan.range.is_empty());
        }
        assert_eq!(found, expected);
    }

    /// As TRUNCATE does it: another space in the place of this one.
    async fn replace(&mut self, space: u32) {
        let old = self.ids[space as usize];
        self.engine.drop_space(old).await.unwrap();
        let gone = self.engine.snapshot().get(old, b"k").await;
        assert_eq!(gone, Err(Error::NoSuchSpace(old)));
        let used = self.engine.create_space(old).await;
        assert_eq!(used, Err(Error::SpaceUsed(old)));
        let new = self.engine.spaces().next;
        self.engine.create_space(new).await.unwrap();
        self.ids[space as usize] = new;
        self.model.get_mut(&space).unwrap().clear();
        self.changed.retain(|(of, _), _| *of != space);
    }
}

async fn check(open: Box<dyn Fn() -> Arc<dyn Engine>>, is_persistent: bool, steps: Vec<Step>) {
    let mut checker = Checker::new(open, is_persistent).await;
    for step in &steps {
        checker.step(step).await;
    }
    checker.taken.clear();
    checker.engine.close().await.unwrap();
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn lsm_at(dir: &std::path::Path, row_cache_bytes: u64) -> Arc<dyn Engine> {
    let options = Options {
        cache_bytes: 1 << 20,
        row_cache_bytes: Some(row_cache_bytes),
        ..Options::new(dir)
    };
    Arc::new(Lsm::open(&options).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn memory_is_a_list_of_maps(steps in steps()) {
        let open = || Arc::new(Memory::new()) as Arc<dyn Engine>;
        runtime().block_on(check(Box::new(open), false, steps));
    }
}

/// None, room for ten rows, and room for all.
fn row_cache_bytes() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(2 << 10), Just(512 << 10)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn lsm_is_a_list_of_maps(steps in steps(), rows in row_cache_bytes()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_path_buf();
        let open = move || lsm_at(&path, rows);
        runtime().block_on(check(Box::new(open), true, steps));
    }

    #[test]
    fn lsm_and_memory_are_the_same(steps in steps(), rows in row_cache_bytes()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_path_buf();
        let open = move || {
            let mirror = Mirror::new(lsm_at(&path, rows), Arc::new(Memory::new()));
            Arc::new(mirror) as Arc<dyn Engine>
        };
        runtime().block_on(check(Box::new(open), false, steps));
    }
}

#[tokio::test]
async fn a_fault_hits_the_call_it_was_meant_for() {
    for (fault, is_done) in [
        (Fault::Refuse, false),
        (Fault::Conflict, false),
        (Fault::LoseRequest, false),
        (Fault::LoseAnswer, true),
    ] {
        let faulty = Faulty::new(Arc::new(Memory::new()), Faults::Nth(2, fault));
        faulty.create_space(Space(1)).await.unwrap();
        let mut writes = WriteSet::blind();
        writes.put(Space(1), "k", "v");
        let outcome = faulty.commit(writes).await.unwrap_err();
        let is_undetermined = matches!(outcome, CommitError::Undetermined { .. });
        assert_eq!(
            is_undetermined,
            matches!(fault, Fault::LoseRequest | Fault::LoseAnswer)
        );
        let found = faulty.get_newest(Space(1), b"k").await.unwrap();
        assert_eq!(found.is_some(), is_done);
        assert_eq!(faulty.calls(), 3);
    }
    let seeded = Faults::Seeded {
        seed: 7,
        per_mille: 100,
    };
    let faulty = Faulty::new(Arc::new(Memory::new()), seeded);
    let mut failed = 0;
    for _ in 0..1000 {
        failed +=
            u32::from(faulty.get_newest(Space(1), b"k").await == Err(Error::NoSuchSpace(Space(1))));
    }
    assert!((850..950).contains(&failed), "{failed}");
}
