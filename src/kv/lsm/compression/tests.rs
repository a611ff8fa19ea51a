//! Engines with compressed spaces, against a model.

use std::collections::BTreeMap;
use std::ops::Range;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::*;
use crate::kv::expiry::Expiry;
use crate::kv::lsm::{Lsm, Options, Still, restore, verify};
use crate::kv::{Engine, KeyRange, Page, Scan, Snapshot, WriteSet};

/// Compressed, and not.
const SPACES: [Space; 2] = [Space(1), Space(2)];
const KEYS: Range<u32> = 0..600;

type Model = BTreeMap<(Space, Vec<u8>), Vec<u8>>;

fn options(dir: &Path) -> Options {
    Options {
        cache_bytes: 1 << 20,
        memtable_bytes: 128 << 10,
        ..Options::new(dir)
    }
}

async fn open(dir: &Path) -> Lsm {
    let engine = Lsm::open(&options(dir)).unwrap();
    for space in SPACES {
        if !engine.spaces().live.contains(&space) {
            engine.create_space(space).await.unwrap();
        }
    }
    engine
}

fn want(engine: &Lsm, spaces: &[Space]) {
    engine.compress(spaces.iter().copied().collect());
}

fn key(number: u32) -> Vec<u8> {
    format!("key {number:06}").into_bytes()
}

/// Rows that are alike, and all that a stored form could be mistaken for: of the first space texts, of the second
/// one digits, which are packed by a model.
fn value(space: Space, random: &mut StdRng) -> Vec<u8> {
    let first = *[1, 1, 1, 1, 1, 1, 0, PACKED, ESCAPED]
        .choose(random)
        .unwrap();
    let mut value = vec![first];
    match random.random_range(0..20) {
        0 => {}
        1 => value.extend((0..random.random_range(0..300)).map(|_| random.random::<u8>())),
        2 => {
            for _ in 0..random.random_range(1..100) {
                value.extend(text(space, random).bytes());
            }
        }
        _ => value.extend(text(space, random).bytes()),
    }
    value
}

fn text(space: Space, random: &mut StdRng) -> String {
    if space == SPACES[0] {
        let number: u32 = random.random();
        let town = number % 9;
        return format!("{{\"user\":\"user {number}\",\"town\":\"town {town}\"}}");
    }
    let pair = || random.random_range(10..100).to_string();
    let pairs: Vec<String> = std::iter::repeat_with(pair).take(60).collect();
    pairs.join("-")
}

async fn change(engine: &Lsm, model: &mut Model, random: &mut StdRng) {
    let mut writes = WriteSet::blind();
    for _ in 0..random.random_range(1..40) {
        let (space, key) = (
            *SPACES.choose(random).unwrap(),
            key(random.random_range(KEYS)),
        );
        if random.random_ratio(1, 10) {
            model.remove(&(space, key.clone()));
            writes.deletes.push((space, key));
        } else {
            let value = value(space, random);
            writes
                .deletes
                .retain(|deleted| *deleted != (space, key.clone()));
            writes.put(space, key.clone(), value.clone());
            model.insert((space, key), value);
        }
    }
    // A delete of a key counts before its put.
    for (space, key) in writes.deletes.clone() {
        writes
            .puts
            .retain(|put| (put.space, &put.key) != (space, &key));
    }
    engine.commit(writes).await.unwrap();
}

async fn scanned(snapshot: &dyn Snapshot, mut scan: Scan) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut page, mut rows) = (Page::default(), Vec::new());
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

/// All ways of reading see the model.
async fn check(snapshot: &dyn Snapshot, model: &Model) {
    for space in SPACES {
        let rows = model.iter().filter(|((of, _), _)| *of == space);
        let mut rows: Vec<_> = rows
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect();
        let keys: Vec<Vec<u8>> = KEYS.map(key).collect();
        let found = snapshot.multi_get(space, &keys).await.unwrap();
        for (key, found) in keys.iter().zip(found) {
            let expected = model.get(&(space, key.clone())).map(Vec::as_slice);
            assert_eq!(found.as_deref(), expected);
            let alone = snapshot.get(space, key).await.unwrap();
            assert_eq!(alone.as_deref(), expected);
        }
        let scan = |is_long, max_rows, reverse| {
            let mut scan = Scan::new(space, KeyRange::all());
            scan.options.is_long = is_long;
            scan.options.max_rows = max_rows;
            scan.options.reverse = reverse;
            scan
        };
        for (is_long, max_rows) in [(false, 50), (true, 50), (false, 5000)] {
            assert_eq!(
                scanned(snapshot, scan(is_long, max_rows, false)).await,
                rows
            );
        }
        rows.reverse();
        assert_eq!(scanned(snapshot, scan(false, 70, true)).await, rows);
    }
}

/// Whether a text is anywhere in the files of rows.
fn is_in_files(dir: &Path, text: &str) -> bool {
    let tables = dir.join("lsm/keyspaces/1/tables");
    let mut tables = fs::read_dir(tables).unwrap();
    tables.any(|table| {
        let bytes = fs::read(table.unwrap().path()).unwrap();
        bytes
            .windows(text.len())
            .any(|found| found == text.as_bytes())
    })
}

/// Bytes of the files of rows.
fn table_bytes(dir: &Path) -> usize {
    let tables = fs::read_dir(dir.join("lsm/keyspaces/1/tables")).unwrap();
    let bytes = tables.map(|table| table.unwrap().metadata().unwrap().len());
    usize::try_from(bytes.sum::<u64>()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_the_same_whatever_is_compressed_when() {
    let seed = rand::rng().random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("data");
    let mut engine = open(&dir).await;
    let mut model = Model::new();
    let mut held = Vec::new();
    for step in 0..400 {
        change(&engine, &mut model, &mut random).await;
        if step % 40 == 7 {
            held.push((engine.snapshot(), model.clone()));
        }
        match random.random_range(0..60) {
            0 => engine.compact(&SPACES).await.unwrap(),
            1 => want(&engine, &SPACES[..1]),
            2 => want(&engine, &SPACES),
            3 => want(&engine, &[]),
            4 => {
                held.clear();
                engine.close().await.unwrap();
                engine = open(&dir).await;
            }
            _ => {}
        }
    }
    want(&engine, &SPACES);
    engine.compact(&SPACES).await.unwrap();
    assert!(dir.join("lsm/dictionaries/1").exists(), "seed {seed}");
    assert!(dir.join("lsm/dictionaries/2").exists(), "seed {seed}");
    check(engine.snapshot().as_ref(), &model).await;
    for (snapshot, model) in held {
        check(snapshot.as_ref(), &model).await;
    }
    let live = model
        .keys()
        .filter(|(space, _)| *space == SPACES[0])
        .count();
    let census = engine.census(SPACES[0], &|value| value.is_empty()).unwrap();
    assert_eq!(census.live, live as u64);
    let copy = scratch.path().join("backup");
    engine.checkpoint(&copy, &Arc::default()).await.unwrap();
    engine.close().await.unwrap();
    let restored = scratch.path().join("restored");
    restore(&copy, &restored, &|_, _| true).unwrap();
    for dir in [&dir, &copy, &restored] {
        assert!(verify(dir, &|_, _| true).unwrap().damaged.is_empty());
        check(Still::open(dir).unwrap().snapshot().as_ref(), &model).await;
    }
    let engine = open(&restored).await;
    check(engine.snapshot().as_ref(), &model).await;
    engine.close().await.unwrap();
}

/// A directory whose space 1 is compressed, closed.
async fn compressed(dir: &Path) -> Model {
    let engine = open(dir).await;
    want(&engine, &SPACES[..1]);
    let (mut model, mut random) = (Model::new(), StdRng::seed_from_u64(1));
    for _ in 0..100 {
        change(&engine, &mut model, &mut random).await;
    }
    engine.compact(&SPACES).await.unwrap();
    // What the dictionary was made of.
    engine.compact(&SPACES).await.unwrap();
    engine.close().await.unwrap();
    model
}

#[tokio::test]
async fn digits_are_packed_by_a_model_and_long_values_are_not() {
    let scratch = tempfile::tempdir().unwrap();
    let options = Options {
        memtable_bytes: 1 << 20,
        ..options(scratch.path())
    };
    let engine = Lsm::open(&options).unwrap();
    for space in SPACES {
        engine.create_space(space).await.unwrap();
    }
    want(&engine, &SPACES[1..]);
    let (mut model, mut random) = (Model::new(), StdRng::seed_from_u64(1));
    let mut writes = WriteSet::blind();
    for number in KEYS {
        let texts = if number % 50 == 1 { 40 } else { 1 };
        let text: String = (0..texts).map(|_| text(SPACES[1], &mut random)).collect();
        writes.put(SPACES[1], key(number), text.clone());
        model.insert((SPACES[1], key(number)), text.into_bytes());
    }
    engine.commit(writes).await.unwrap();
    for _ in 0..2 {
        engine.compact(&SPACES).await.unwrap();
    }
    let path = scratch.path().join("lsm/dictionaries/2");
    assert!(Dictionary::read(&path).unwrap().model.is_some());
    let plain: usize = model.values().map(Vec::len).sum();
    let stored = table_bytes(scratch.path());
    // 4 of 9 bits of a byte are those of the digits, and there are keys.
    assert!(stored < plain * 9 / 20, "{stored} of {plain}");
    check(engine.snapshot().as_ref(), &model).await;
    engine.close().await.unwrap();
    let engine = open(scratch.path()).await;
    check(engine.snapshot().as_ref(), &model).await;
    engine.close().await.unwrap();
}

#[tokio::test]
async fn rows_become_small_and_stay_so_until_they_are_written() {
    let scratch = tempfile::tempdir().unwrap();
    let (small, large) = (scratch.path().join("small"), scratch.path().join("large"));
    let make = async |dir: &Path, spaces: &[Space]| {
        let engine = open(dir).await;
        want(&engine, spaces);
        let mut writes = WriteSet::blind();
        for number in 0..2000_u32 {
            let value = format!("unmistakable, and row {number} is like all others");
            writes.put(SPACES[0], key(number), value);
        }
        engine.commit(writes).await.unwrap();
        for _ in 0..2 {
            engine.compact(&SPACES).await.unwrap();
        }
        engine
    };
    let engine = make(&large, &[]).await;
    engine.close().await.unwrap();
    assert!(is_in_files(&large, "unmistakable"));
    let engine = make(&small, &SPACES[..1]).await;
    assert!(!is_in_files(&small, "unmistakable"));
    want(&engine, &[]);
    engine.compact(&SPACES).await.unwrap();
    assert!(!is_in_files(&small, "unmistakable"));
    let mut writes = WriteSet::blind();
    let value = "unmistakable, and row 7 is like all others";
    writes.put(SPACES[0], key(7), value);
    engine.commit(writes).await.unwrap();
    engine.compact(&SPACES).await.unwrap();
    assert!(is_in_files(&small, "unmistakable"));
    engine.close().await.unwrap();
}

#[tokio::test]
async fn a_dictionary_that_is_missing_or_damaged_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("data");
    let mut model = compressed(&dir).await;
    let path = dir.join("lsm/dictionaries/1");
    let intact = fs::read(&path).unwrap();
    let mut flipped = intact.clone();
    flipped[40] ^= 1;
    // Another one that is intact.
    let other = scratch.path().join("other");
    let samples = "something else altogether, 0123456789".repeat(100);
    Dictionary::train(samples.as_bytes(), &[37; 100])
        .unwrap()
        .write(&other)
        .unwrap();
    for (bytes, is_told) in [
        (Some(flipped), true),
        (Some(fs::read(&other).unwrap()), false),
        (None, false),
    ] {
        let is_missing = bytes.is_none();
        match bytes {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let found = verify(&dir, &|_, _| true).unwrap().damaged;
        assert_eq!(found.iter().any(|damage| damage.path == path), is_told);
        let engine = Lsm::open(&options(&dir)).unwrap();
        let snapshot = engine.snapshot();
        let mut page = Page::default();
        let mut scan = Scan::new(SPACES[0], KeyRange::all());
        for is_long in [false, true] {
            scan.options.is_long = is_long;
            let told = snapshot.scan(&scan, &mut page).await.unwrap_err();
            assert!(matches!(told, Error::Corrupt { .. }), "{told}");
            assert!(told.to_string().contains("dictionaries/1"), "{told}");
        }
        let keys: Vec<Vec<u8>> = KEYS.map(key).collect();
        let told = snapshot.multi_get(SPACES[0], &keys).await.unwrap_err();
        assert!(told.to_string().contains("dictionaries/1"), "{told}");
        snapshot.multi_get(SPACES[1], &keys).await.unwrap();
        if is_missing {
            // Nothing takes its place, however many values there are to make one of.
            want(&engine, &SPACES[..1]);
            let mut writes = WriteSet::blind();
            for number in KEYS.end..KEYS.end + 2000 {
                let value = format!("a row of number {number}, which is like all the others");
                writes.put(SPACES[0], key(number), value.clone());
                model.insert((SPACES[0], key(number)), value.into_bytes());
            }
            engine.commit(writes).await.unwrap();
            engine.compact(&SPACES).await.unwrap();
            assert!(!path.exists());
        }
        engine.close().await.unwrap();
    }
    fs::write(&path, intact).unwrap();
    let engine = Lsm::open(&options(&dir)).unwrap();
    check(engine.snapshot().as_ref(), &model).await;
    engine.close().await.unwrap();
}

#[tokio::test]
async fn the_dictionary_of_a_dropped_space_goes_and_the_others_stay() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("data");
    let model = compressed(&dir).await;
    let path = dir.join("lsm/dictionaries");
    fs::write(path.join("1.new"), "unfinished").unwrap();
    fs::copy(path.join("1"), path.join("77")).unwrap();
    fs::copy(path.join("1"), path.join("1.kept")).unwrap();
    let engine = open(&dir).await;
    check(engine.snapshot().as_ref(), &model).await;
    assert!(path.join("1").exists());
    assert!(!path.join("1.new").exists() && !path.join("77").exists());
    engine.drop_space(SPACES[0]).await.unwrap();
    engine.close().await.unwrap();
    Lsm::open(&options(&dir)).unwrap().close().await.unwrap();
    assert!(!path.join("1").exists());
    assert!(path.join("1.kept").exists());
}

/// Mechanism: a compaction that had begun before there was a dictionary, and saw enough values after the space was dropped, made
/// another one in its place, or found that none is of use: who had begun to read before could not go on.
#[test]
fn a_dictionary_that_is_there_is_not_made_again() {
    let scratch = tempfile::tempdir().unwrap();
    let compression = Arc::new(Compression::open(scratch.path(), 128 << 10).unwrap());
    let space = SPACES[0];
    compression.want(HashSet::from([space]));
    let mut random = StdRng::seed_from_u64(7);
    let [mut first, mut alike, mut noise] = [0; 3].map(|_| Press::of(&compression, space));
    let mut pass = |press: &mut Press, value: fn(&mut StdRng) -> Vec<u8>| {
        (0..1000).any(|_| press.pass(space, &value(&mut random)).is_some())
    };
    assert!(pass(&mut first, |random| text(SPACES[0], random).into_bytes()));
    let made = fs::read(compression.path(space)).unwrap();
    compression.let_go(space);
    pass(&mut alike, |random| text(SPACES[1], random).into_bytes());
    compression.let_go(space);
    pass(&mut noise, |random| {
        let byte = |_| random.random_range(2..=u8::MAX);
        (0..100).map(byte).collect()
    });
    assert_eq!(fs::read(compression.path(space)).unwrap(), made);
    let packs = |press: &Press| matches!(press, Press::Pack(_));
    assert!(packs(&alike) && packs(&noise));
    assert!(compression.dictionary(space).unwrap().is_some());
}

#[tokio::test]
async fn compressed_values_end() {
    let scratch = tempfile::tempdir().unwrap();
    let now = Arc::new(std::sync::atomic::AtomicU64::new(10));
    let clock = Arc::clone(&now);
    let end_of = |value: &[u8]| value.first().map(|end| u64::from(*end));
    let expiry = Expiry::with_clock(end_of, move || {
        clock.load(std::sync::atomic::Ordering::Relaxed)
    });
    let expiry = Arc::new(expiry);
    let engine = Lsm::open(&Options {
        expiry: Some(Arc::clone(&expiry)),
        ..options(scratch.path())
    });
    let engine = engine.unwrap();
    engine.create_space(SPACES[0]).await.unwrap();
    expiry.watch(HashSet::from([SPACES[0]]));
    want(&engine, &SPACES[..1]);
    let mut writes = WriteSet::blind();
    for number in KEYS {
        let end = if number % 3 == 0 { 20 } else { 200 };
        let text = format!("{number} is a row like all the others that are here");
        writes.put(SPACES[0], key(number), [&[end], text.as_bytes()].concat());
    }
    engine.commit(writes).await.unwrap();
    for _ in 0..2 {
        engine.compact(&SPACES[..1]).await.unwrap();
    }
    let census = || {
        let past = |value: &[u8]| expiry.is_past(value, 100);
        engine.census(SPACES[0], &past).unwrap()
    };
    assert_eq!((census().live, census().expired), (400, 200));
    now.store(100, std::sync::atomic::Ordering::Relaxed);
    engine.compact(&SPACES[..1]).await.unwrap();
    assert_eq!((census().live, census().expired), (400, 0));
    engine.close().await.unwrap();
}
