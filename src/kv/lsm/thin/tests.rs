//! What is kept of sparse ranges is what the tree has, whatever is written meanwhile; and it bounds what
//! a scan steps over.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::*;
use crate::kv::expiry::{Expiry, Living};
use crate::kv::lsm::reclaim::Job;
use crate::kv::lsm::spaces;
use crate::kv::lsm::sparse::Part;
use crate::kv::lsm::{Durability, Lsm, Options, files};
use crate::kv::{Engine, KeyRange, Page, Scan, Snapshot, Space, WriteSet};

const SPACE: Space = Space(7);

/// Keys in use: few, so that what is written and what is kept meet.
const KEYS: u32 = 600;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// The first four bytes of a value say when it ends; 0 is never.
fn end_of(value: &[u8]) -> Option<u64> {
    let digits = value.get(..4).unwrap_or_default();
    let end = digits
        .iter()
        .fold(0, |end, byte| end * 256 + u64::from(*byte));
    Some(end).filter(|end| *end != 0)
}

fn value(end: u32, rng: &mut StdRng) -> Vec<u8> {
    let mut value: Vec<u8> = (0..4)
        .rev()
        .map(|at| u8::try_from(end >> (8 * at) & 0xff).unwrap())
        .collect();
    value.extend(vec![b'v'; rng.random_range(1..40)]);
    value
}

fn key(at: u32) -> Vec<u8> {
    format!("{at:08}").into_bytes()
}

/// An engine whose clock stands where it is put.
struct World {
    lsm: Arc<Lsm>,
    living: Living,
    clock: Arc<AtomicU64>,
    _dir: tempfile::TempDir,
}

async fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicU64::new(1000));
    let time = Arc::clone(&clock);
    let expiry = Expiry::with_clock(end_of, move || time.load(Ordering::Relaxed));
    let expiry = Arc::new(expiry);
    let options = Options {
        cache_bytes: 1 << 20,
        expiry: Some(Arc::clone(&expiry)),
        durability: Durability::Async,
        ..Options::new(dir.path())
    };
    let lsm = Arc::new(Lsm::open(&options).unwrap());
    lsm.create_space(SPACE).await.unwrap();
    expiry.watch(HashSet::from([SPACE]));
    World {
        living: Living::new(Arc::clone(&lsm) as Arc<dyn Engine>, expiry),
        lsm,
        clock,
        _dir: dir,
    }
}

async fn rows(snapshot: &dyn Snapshot, scan: &Scan) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut scan = scan.clone();
    let mut page = Page::default();
    let mut rows = Vec::new();
    loop {
        snapshot.scan(&scan, &mut page).await.unwrap();
        rows.extend(
            page.iter()
                .map(|(key, value)| (key.to_vec(), value.to_vec())),
        );
        if !scan.advance(&mut page) {
            return rows;
        }
    }
}

fn random_scan(rng: &mut StdRng) -> Scan {
    let mut ends = [rng.random_range(0..KEYS), rng.random_range(0..KEYS)];
    ends.sort_unstable();
    let range = match rng.random_range(0..3) {
        0 => KeyRange::all(),
        _ => KeyRange::between(key(ends[0]), key(ends[1])),
    };
    let mut scan = Scan::new(SPACE, range);
    scan.options.reverse = rng.random();
    scan.options.max_rows = rng.random_range(1..80);
    scan
}

fn expected(model: &Model, scan: &Scan, now_ms: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let alive = |value: &Vec<u8>| end_of(value).is_none_or(|end| now_ms < end);
    let rows = model
        .iter()
        .filter(|(key, value)| scan.range.contains(key) && alive(value));
    let mut rows: Vec<_> = rows
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if scan.options.reverse {
        rows.reverse();
    }
    rows
}

/// A commit of some changes, and the same in the model.
async fn change(world: &World, model: &mut Model, rng: &mut StdRng) {
    let mut writes = WriteSet::blind();
    let first = rng.random_range(0..KEYS);
    let now = u32::try_from(world.clock.load(Ordering::Relaxed)).unwrap();
    match rng.random_range(0..6) {
        // A run of deletes, so that something is sparse.
        0 | 1 => {
            for at in first..KEYS.min(first + 150) {
                writes.delete(SPACE, key(at));
                model.remove(&key(at));
            }
        }
        2 => {
            for at in first..KEYS.min(first + 120) {
                let value = value(now + rng.random_range(0..3), rng);
                writes.put(SPACE, key(at), value.clone());
                model.insert(key(at), value);
            }
        }
        _ => {
            for _ in 0..rng.random_range(1..4) {
                let at = key(rng.random_range(0..KEYS));
                if rng.random_ratio(1, 3) {
                    writes.puts.retain(|put| put.key != at);
                    writes.delete(SPACE, at.clone());
                    model.remove(&at);
                } else {
                    let end = if rng.random() {
                        0
                    } else {
                        now + rng.random_range(0..5)
                    };
                    let value = value(end, rng);
                    writes.put(SPACE, at.clone(), value.clone());
                    model.insert(at, value);
                }
            }
        }
    }
    world.lsm.commit(writes).await.unwrap();
}

/// All of the space, as if all of it had been deleted.
fn suspect() -> Suspect {
    let mut deleted = Deleted::default();
    (0..KEYS).for_each(|at| deleted.note(&key(at)));
    Suspect::of_deleted(SPACE, deleted).unwrap()
}

/// As long as it takes.
const AT_LEISURE: Duration = Duration::from_mins(1);

fn keep_thinning(world: &World, stop: &Arc<AtomicBool>) -> std::thread::JoinHandle<u64> {
    let (shared, stop) = (Arc::clone(&world.lsm.shared), Arc::clone(stop));
    std::thread::spawn(move || {
        let mut rounds = 0;
        while !stop.load(Ordering::Relaxed) {
            let whole = || Suspect::of_range(SPACE, &KeyRange::all());
            let suspects = [suspect(), whole(), whole().looking_ahead(rounds % 4)];
            for suspect in suspects {
                shared.thin_one(suspect, AT_LEISURE).unwrap();
            }
            rounds += 1;
            std::thread::sleep(Duration::from_millis(1));
        }
        rounds
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_is_what_the_tree_has_whatever_is_written_meanwhile() {
    for seed in 0..4 {
        let world = world().await;
        let mut rng = StdRng::seed_from_u64(seed);
        let mut model = Model::new();
        let mut held = Vec::new();
        let stop = Arc::new(AtomicBool::new(false));
        let thinning = keep_thinning(&world, &stop);
        let mut kept = 0;
        for step in 0..400 {
            change(&world, &mut model, &mut rng).await;
            match rng.random_range(0..20) {
                0 => world.lsm.compact(&[SPACE]).await.unwrap(),
                1 => drop(world.clock.fetch_add(1, Ordering::Relaxed)),
                // A clock may go back.
                2 => drop(world.clock.fetch_sub(1, Ordering::Relaxed)),
                3 => tokio::time::sleep(Duration::from_millis(3)).await,
                _ => {}
            }
            kept += u32::from(!world.lsm.base().unwrap().sparse.is_empty());
            let expiry = world.living.expiry().unwrap();
            let now_ms = expiry.now_ms();
            let snapshot = world.living.snapshot();
            if now_ms != expiry.now_ms() {
                // A compaction began, which keeps the clock from going back.
                continue;
            }
            let scan = random_scan(&mut rng);
            let found = rows(snapshot.as_ref(), &scan).await;
            assert!(
                found == expected(&model, &scan, now_ms),
                "seed {seed}, step {step}: {scan:?}"
            );
            if step % 40 == 0 {
                held.push((snapshot, model.clone(), now_ms));
            }
        }
        for (snapshot, model, now_ms) in held {
            let scan = random_scan(&mut rng);
            let found = rows(snapshot.as_ref(), &scan).await;
            assert_eq!(
                found,
                expected(&model, &scan, now_ms),
                "seed {seed}: {scan:?}"
            );
        }
        stop.store(true, Ordering::Relaxed);
        let rounds = tokio::task::spawn_blocking(|| thinning.join().unwrap())
            .await
            .unwrap();
        assert!(
            0 < rounds && 0 < kept,
            "nothing was kept in {rounds} rounds"
        );
        world.lsm.close().await.unwrap();
    }
}

/// What a scan steps over for its first rows: rows that are kept, and every entry of the tree, dead or
/// alive, in the parts that it goes to.
fn steps(world: &World, rows_wanted: u64) -> u64 {
    steps_in(world, (SPACE, &KeyRange::all()), rows_wanted)
}

fn steps_in(world: &World, (space, range): (Space, &KeyRange), rows_wanted: u64) -> u64 {
    let base = world.lsm.base().unwrap();
    let now_ms = world.clock.load(Ordering::Relaxed);
    let mut left = Some(spaces::physical_range(space, range));
    let (mut steps, mut rows) = (0, 0);
    while let Some(range) = left {
        let (part, rest) = base.sparse.part(range, false, now_ms);
        match part {
            Part::Kept(_, kept) => {
                let kept = u64::try_from(kept.len()).unwrap();
                steps += kept.min(rows_wanted - rows);
                rows += kept;
            }
            Part::Tree(start, until) => {
                let view = base.view.as_ref().unwrap();
                let found = files::passed(view, (base.ts, (start, until)), rows_wanted - rows);
                steps += found.0;
                rows += found.1;
            }
        }
        if rows_wanted <= rows {
            return steps;
        }
        left = rest;
    }
    steps
}

/// Waits until something is so, or for as long as a test may take.
async fn becomes(is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is_so() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn fill(world: &World, rows: u32, end: u32) {
    fill_each(world, rows, |_| end).await;
}

async fn fill_each(world: &World, rows: u32, end: impl Fn(u32) -> u32) {
    let mut rng = StdRng::seed_from_u64(1);
    let mut writes = WriteSet::blind();
    for at in 0..rows {
        writes.put(SPACE, key(at), value(end(at), &mut rng));
    }
    world.lsm.commit(writes).await.unwrap();
    // Into files, as most rows are.
    world.lsm.compact(&[SPACE]).await.unwrap();
}

async fn delete(world: &World, is_deleted: impl Fn(u32) -> bool, rows: u32) {
    let mut writes = WriteSet::blind();
    for at in (0..rows).filter(|at| is_deleted(*at)) {
        writes.delete(SPACE, key(at));
    }
    world.lsm.commit(writes).await.unwrap();
}

/// Entries that a scan of a hundred rows of a fresh table steps over, and as many again.
const STEPS_MAX: u64 = 200;
const ROWS: u32 = 60_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_rows_behind_many_deleted_ones_take_two_hundred_steps() {
    type IsDeleted = fn(u32) -> bool;
    let cases: [IsDeleted; 3] = [
        |at| at % 100 != 99,
        |at| at < ROWS / 100 * 99,
        |at| 100 <= at && at % 1000 != 0,
    ];
    for is_deleted in cases {
        let world = world().await;
        fill(&world, ROWS, 0).await;
        assert!(steps(&world, 100) <= 101);
        // Right after the delete is acknowledged.
        delete(&world, is_deleted, ROWS).await;
        // What there was no time for is looked at in the background.
        becomes(|| steps(&world, 100) <= STEPS_MAX).await;
        assert!(steps(&world, 100) <= STEPS_MAX, "{}", steps(&world, 100));
        let scan = Scan::new(SPACE, KeyRange::all());
        let found = rows(world.living.snapshot().as_ref(), &scan).await;
        let alive = (0..ROWS).filter(|at| !is_deleted(*at)).count();
        assert_eq!(found.len(), alive);
        // And when it is gone from the files.
        world.lsm.compact(&[SPACE]).await.unwrap();
        assert!(steps(&world, 100) <= STEPS_MAX, "{}", steps(&world, 100));
        world.lsm.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_small_deletes_are_looked_at_too() {
    let world = world().await;
    fill(&world, 20_000, 0).await;
    for at in 0..15_000 {
        world
            .lsm
            .commit({
                let mut writes = WriteSet::blind();
                writes.delete(SPACE, key(at));
                writes
            })
            .await
            .unwrap();
    }
    // What was deleted last is not looked at before more is deleted.
    becomes(|| steps(&world, 100) <= 2000).await;
    assert!(steps(&world, 100) <= 2000, "{}", steps(&world, 100));
    world.lsm.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_meets_what_has_ended_has_it_looked_at() {
    let world = world().await;
    fill(&world, 30_000, 2000).await;
    let mut rng = StdRng::seed_from_u64(1);
    let mut writes = WriteSet::blind();
    for at in (0..30_000).filter(|at| at % 100 == 0) {
        writes.put(SPACE, key(at), value(0, &mut rng));
    }
    world.lsm.commit(writes).await.unwrap();
    let early = world.living.snapshot();
    world.clock.store(2000, Ordering::Relaxed);
    let mut scan = Scan::new(SPACE, KeyRange::all());
    scan.options.max_rows = 100;
    let mut page = Page::default();
    world
        .living
        .snapshot()
        .scan(&scan, &mut page)
        .await
        .unwrap();
    becomes(|| steps(&world, 100) <= STEPS_MAX).await;
    assert!(steps(&world, 100) <= STEPS_MAX, "{}", steps(&world, 100));
    let census = world.living.census(SPACE, &|_| false).unwrap();
    assert_eq!((census.live, census.expired), (300, 29_700), "{census:?}");
    // Who began earlier sees all.
    let found = rows(early.as_ref(), &Scan::new(SPACE, KeyRange::all())).await;
    assert_eq!(found.len(), 30_000);
    world.lsm.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_census_is_exact_or_within_its_bounds() {
    let world = world().await;
    fill(&world, ROWS, 0).await;
    delete(&world, |at| at % 3 == 0, ROWS).await;
    let census = world.living.census(SPACE, &|_| false).unwrap();
    assert_eq!(
        (census.live, census.deleted),
        (40_000, 20_000),
        "{census:?}"
    );
    assert!(census.is_exact && census.low == 40_000 && census.high == 40_000);
    // More than are counted one by one.
    let many = 300_000;
    fill(&world, many, 0).await;
    delete(&world, |at| at % 2 == 0 && at < many / 2, many).await;
    let census = world.living.census(SPACE, &|_| false).unwrap();
    let live = u64::from(many / 4 * 3);
    assert!(
        !census.is_exact && census.low <= live && live <= census.high,
        "{census:?}"
    );
    assert!(census.live.abs_diff(live) < live / 10, "{census:?}");
    world.lsm.close().await.unwrap();
}

/// A table with two indexes: each space gets a third of the deletes, by single rows and by some hundred.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletes_are_counted_for_each_space() {
    let world = world().await;
    let all = [SPACE, Space(8), Space(9)];
    for space in &all[1..] {
        world.lsm.create_space(*space).await.unwrap();
    }
    let mut writes = WriteSet::blind();
    for space in all {
        (0..8000).for_each(|at| writes.put(space, key(at), vec![0; 8]));
    }
    world.lsm.commit(writes).await.unwrap();
    world.lsm.compact(&all).await.unwrap();
    let rows_of = |first: u32, count: u32| {
        let mut writes = WriteSet::blind();
        for at in first..first + count {
            for space in all {
                writes.delete(space, key(at));
            }
        }
        writes
    };
    for at in 0..3000 {
        world.lsm.commit(rows_of(at, 1)).await.unwrap();
    }
    for at in (3000..6000).step_by(200) {
        world.lsm.commit(rows_of(at, 200)).await.unwrap();
    }
    for space in all {
        let steps = || steps_in(&world, (space, &KeyRange::all()), 100);
        becomes(|| steps() <= 1500).await;
        assert!(steps() <= 1500, "{space}: {}", steps());
    }
    world.lsm.close().await.unwrap();
}

/// Whatever else is to be done, and however often.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_ended_is_looked_for_however_much_is_deleted() {
    let world = world().await;
    let shared = Arc::clone(&world.lsm.shared);
    let looks = || shared.looks.load(Ordering::Relaxed);
    let until = Instant::now() + Duration::from_secs(25);
    while looks() < 2 && Instant::now() < until {
        shared.reclaim.send(Job::Look);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(2 <= looks());
    world.lsm.close().await.unwrap();
}

#[test]
fn few_ranges_wait_to_be_looked_at() {
    let reclaim = crate::kv::lsm::reclaim::Reclaim::default();
    (0..1000).for_each(|_| reclaim.look(suspect()));
    assert_eq!(reclaim.waiting(), 32);
}

/// Entries that are gone through before the clock is looked at.
const ROUND: u32 = 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_ends_in_time_and_what_is_kept_is_not_looked_at_again() {
    let world = world().await;
    fill(&world, ROWS, 2000).await;
    world.clock.store(2000, Ordering::Relaxed);
    let shared = Arc::clone(&world.lsm.shared);
    let look = move |suspect| shared.thin_one(suspect, Duration::ZERO).unwrap();
    let whole = || Suspect::of_range(SPACE, &KeyRange::all());
    let rounds = tokio::task::spawn_blocking(move || {
        let mut rounds = 1;
        let mut looked = look(whole());
        while let Looked::UpTo(rest) = looked {
            rounds += 1;
            looked = look(rest);
        }
        assert!(matches!(looked, Looked::Through));
        let again = look(whole());
        assert!(matches!(again, Looked::Through));
        rounds
    });
    let rounds = rounds.await.unwrap();
    assert!(ROWS / ROUND <= rounds, "{rounds}");
    assert_eq!(steps(&world, 100), 0);
    world.lsm.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_ended_behind_what_is_alive_is_found() {
    let world = world().await;
    let end = |at: u32| {
        if (3000..18_000).contains(&at) {
            2000
        } else {
            0
        }
    };
    fill_each(&world, 20_000, end).await;
    world.clock.store(2000, Ordering::Relaxed);
    let shared = Arc::clone(&world.lsm.shared);
    let looked = tokio::task::spawn_blocking(move || {
        let whole = Suspect::of_range(SPACE, &KeyRange::all());
        shared.thin_one(whole, AT_LEISURE).unwrap()
    });
    assert!(matches!(looked.await.unwrap(), Looked::Through));
    let behind = KeyRange {
        start: key(3200),
        until: None,
    };
    let steps = steps_in(&world, (SPACE, &behind), 100);
    assert!(steps <= STEPS_MAX, "{steps}");
    world.lsm.close().await.unwrap();
}

/// More has ended than a page passes over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_pass_over_much_lose_nothing() {
    for seed in 0..3 {
        let world = world().await;
        let mut rng = StdRng::seed_from_u64(seed);
        let mut model = Model::new();
        let mut writes = WriteSet::blind();
        for at in 0..40_000 {
            let is_alive = (15_000..15_500).contains(&at) || rng.random_ratio(1, 500);
            let value = value(if is_alive { 0 } else { 2000 }, &mut rng);
            writes.put(SPACE, key(at), value.clone());
            model.insert(key(at), value);
        }
        world.lsm.commit(writes).await.unwrap();
        if seed == 1 {
            world.lsm.compact(&[SPACE]).await.unwrap();
        }
        world.clock.store(2000, Ordering::Relaxed);
        // Of a state without stretches, then of one with some.
        let early = world.living.snapshot();
        for round in 0..6 {
            let late = world.living.snapshot();
            let snapshot = if round < 3 { &early } else { &late };
            for reverse in [false, true] {
                let mut scan = Scan::new(SPACE, KeyRange::all());
                scan.options.reverse = reverse;
                scan.options.max_rows = rng.random_range(1..300);
                let found = rows(snapshot.as_ref(), &scan).await;
                let expected = expected(&model, &scan, 2000);
                assert!(found == expected, "seed {seed}, round {round}: {scan:?}");
            }
            becomes(|| round < 2 || !world.lsm.base().unwrap().sparse.is_empty()).await;
        }
        assert!(!world.lsm.base().unwrap().sparse.is_empty());
        world.lsm.close().await.unwrap();
    }
}

/// Who reads first after values have ended steps over none of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_will_end_soon_is_looked_at_before() {
    let world = world().await;
    let end = |at: u32| {
        if at.is_multiple_of(100) {
            0
        } else {
            20_000 + at % 50
        }
    };
    fill_each(&world, 20_000, end).await;
    let before = steps(&world, 100);
    world.lsm.shared.look_for_ended();
    becomes(|| !world.lsm.base().unwrap().sparse.is_empty()).await;
    becomes(|| world.lsm.shared.reclaim.waiting() == 0).await;
    // Until then everybody reads what is there.
    for (now_ms, alive) in [(1000, 20_000), (20_000, 19_800), (20_049, 200)] {
        world.clock.store(now_ms, Ordering::Relaxed);
        let scan = Scan::new(SPACE, KeyRange::all());
        let found = rows(world.living.snapshot().as_ref(), &scan).await;
        assert_eq!(found.len(), alive, "at {now_ms}");
    }
    assert_eq!((before, steps(&world, 100)), (100, 100));
    world.lsm.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_wrong_while_nothing_is_removed_leaves_no_trace() {
    let world = world().await;
    let expiry = Arc::clone(world.living.expiry().unwrap());
    fill(&world, 1000, 9000).await;
    world.clock.store(5000, Ordering::Relaxed);
    world.lsm.compact(&[SPACE]).await.unwrap();
    world.clock.store(1000, Ordering::Relaxed);
    assert_eq!(expiry.now_ms(), 1000);
    // Where something is removed, it stays so.
    world.clock.store(9500, Ordering::Relaxed);
    world.lsm.compact(&[SPACE]).await.unwrap();
    world.clock.store(1000, Ordering::Relaxed);
    assert_eq!(expiry.now_ms(), 9500);
    world.lsm.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_kept_of_a_space_that_was_dropped_meanwhile() {
    let world = world().await;
    fill(&world, 100, 0).await;
    let shared = Arc::clone(&world.lsm.shared);
    let walker = Arc::new(());
    let range = spaces::physical_range(SPACE, &KeyRange::all());
    let (answer, base) = oneshot::channel();
    let watching = Watching {
        range: range.clone(),
        walker: Arc::clone(&walker),
        answer,
    };
    shared.queue.push(Request::Watch(watching)).unwrap();
    base.await.unwrap().unwrap();
    world.lsm.drop_space(SPACE).await.unwrap();
    let (answer, done) = oneshot::channel();
    let stretch = Stretch {
        from: range.0,
        until: range.1,
        rows: Vec::new(),
        ended_ms: 0,
    };
    let found = Found {
        walker,
        stretches: vec![stretch],
        answer,
    };
    shared.queue.push(Request::Keep(found)).unwrap();
    done.await.unwrap().unwrap();
    assert!(world.lsm.base().unwrap().sparse.is_empty());
    world.lsm.close().await.unwrap();
}

/// Large values are not all read to count them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_census_reads_some_megabytes_at_most() {
    let world = world().await;
    let mut writes = WriteSet::blind();
    for at in 0..400 {
        let mut value = vec![0; 100_000];
        StdRng::seed_from_u64(at.into()).fill(&mut value[4..]);
        writes.put(SPACE, key(at), value);
    }
    world.lsm.commit(writes).await.unwrap();
    world.lsm.compact(&[SPACE]).await.unwrap();
    let read = AtomicU64::new(0);
    let counted = |value: &[u8]| {
        read.fetch_add(value.len().try_into().unwrap(), Ordering::Relaxed);
        false
    };
    let census = world.lsm.census(SPACE, &counted).unwrap();
    assert!(
        !census.is_exact && census.low <= 400 && 400 <= census.high,
        "{census:?}"
    );
    let read = read.load(Ordering::Relaxed);
    assert!(read < 20_000_000, "{read} bytes");
    world.lsm.close().await.unwrap();
}

/// Mechanism: the first rows of a queue are deleted again and again, some hundreds at a time. Each time made a
/// stretch of its own, with a gap before it that was read as any range: after an hour a scan from the beginning
/// went through thousands of both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deleted_rows_of_a_queue_are_one_stretch() {
    let world = world().await;
    let rows = 40 * 700;
    fill(&world, rows + 100, 0).await;
    let shared = &world.lsm.shared;
    for round in 0..40 {
        let mut writes = WriteSet::blind();
        let mut deleted = Deleted::default();
        for at in round * 700..(round + 1) * 700 {
            writes.delete(SPACE, key(at));
            deleted.note(&key(at));
        }
        world.lsm.commit(writes).await.unwrap();
        let suspect = Suspect::of_deleted(SPACE, deleted).unwrap();
        let shared = Arc::clone(shared);
        let look = move || shared.thin_one(suspect, AT_LEISURE).map(drop);
        tokio::task::spawn_blocking(look).await.unwrap().unwrap();
    }
    let base = world.lsm.base().unwrap();
    let mut left = Some(spaces::physical_range(SPACE, &KeyRange::all()));
    let mut kept = 0;
    while let Some(range) = left {
        let (part, rest) = base.sparse.part(range, false, 0);
        kept += u32::from(matches!(part, Part::Kept(..)));
        left = rest;
    }
    assert_eq!(kept, 1);
    assert!(steps(&world, 100) <= 101);
    world.lsm.close().await.unwrap();
}
