//! What only this engine promises: its directory, its files, its group commit.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::*;
use std::time::Instant;

use crate::kv::{Key, Page, Scan};
use fjall::AbstractTree;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

fn options(dir: &Path) -> Options {
    Options {
        cache_bytes: 1 << 20,
        ..Options::new(dir)
    }
}

fn refusal(dir: &Path) -> String {
    Lsm::open(&options(dir)).err().unwrap().to_string()
}

#[tokio::test]
async fn one_server_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let shown = dir.path().display();
    let first = Lsm::open(&options(dir.path())).unwrap();
    let expected =
        format!("data directory {shown} is in use by another server, or by a check or restore");
    assert_eq!(refusal(dir.path()), expected);
    first.close().await.unwrap();
    Lsm::open(&options(dir.path()))
        .unwrap()
        .close()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_strange_directory_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let shown = dir.path().display();
    fs::write(dir.path().join("letter.txt"), "dear").unwrap();
    let expected = format!(
        "directory {shown} is not empty and not a data directory of this server: it holds letter.txt"
    );
    assert_eq!(refusal(dir.path()), expected);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    // Others have keys and logs, too, and locks.
    for name in ["slow.log", "tls-key.pem", "RESERVE"] {
        for has_lock in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join(name), "").unwrap();
            if has_lock {
                fs::write(dir.path().join("LOCK"), "").unwrap();
            }
            let told = refusal(dir.path());
            assert!(told.ends_with(&format!("it holds {name}")), "{told}");
        }
    }
}

/// Mechanism: a directory without the file MESETA was taken for one whose first start had been cut off,
/// whatever was in it, and its rows were removed. Later it was one of somebody else's, since it had a file RESERVE.
#[tokio::test]
async fn rows_without_a_version_file_are_refused_and_stay() {
    for is_flushed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let engine = Lsm::open(&options(dir.path())).unwrap();
        engine.create_space(Space(1)).await.unwrap();
        let mut writes = WriteSet::blind();
        writes.put(Space(1), "key", "value");
        engine.commit(writes).await.unwrap();
        if is_flushed {
            engine.compact(&[Space(1)]).await.unwrap();
        }
        engine.close().await.unwrap();
        let version = dir.path().join("MESETA");
        let text = fs::read(&version).unwrap();
        fs::remove_file(&version).unwrap();
        // What a server makes beside its rows.
        for name in ["RESERVE", "tls-key.pem", "slow.log"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let told = refusal(dir.path());
        assert!(told.contains("MESETA is missing, and"), "{told}");
        fs::write(&version, text).unwrap();
        let engine = Lsm::open(&options(dir.path())).unwrap();
        let found = engine.get_newest(Space(1), b"key").await.unwrap();
        assert_eq!(found.as_deref(), Some(b"value".as_slice()));
        engine.close().await.unwrap();
    }
}

#[tokio::test]
async fn what_a_first_start_left_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let engine_dir = dir.path().join("lsm");
    fs::create_dir_all(engine_dir.join("keyspaces/1/tables")).unwrap();
    fs::write(engine_dir.join("0.jnl"), [0; 5000]).unwrap();
    fs::write(dir.path().join("LOCK"), "").unwrap();
    let engine = Lsm::open(&options(dir.path())).unwrap();
    engine.create_space(Space(1)).await.unwrap();
    engine.close().await.unwrap();
}

#[tokio::test]
async fn another_format_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let shown = dir.path().display();
    Lsm::open(&options(dir.path()))
        .unwrap()
        .close()
        .await
        .unwrap();
    fs::write(
        dir.path().join("MESETA"),
        "Meseta data directory\nformat 7\n",
    )
    .unwrap();
    let expected = format!("data directory {shown} has format 7, this server reads format 3");
    assert_eq!(refusal(dir.path()), expected);
}

/// Mechanism: any other text was taken for somebody else's file MESETA, and a data directory for a strange one.
#[tokio::test]
async fn a_damaged_version_file_is_told_as_that() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Lsm::open(&options(dir.path())).unwrap();
    engine.close().await.unwrap();
    let path = dir.path().join("MESETA");
    let whole = fs::read(&path).unwrap();
    for text in [
        "",
        "plains of Castile",
        "Meseta data directory",
        "Meseta data directory\n",
        "Meseta data directory\nformat 3",
        "Meseta data directory\nformat 3\nand more\n",
        "Meseta data directory\nformat three\n",
        "\0\0\0\0",
    ] {
        fs::write(&path, text).unwrap();
        let expected = format!(
            "stored bytes are damaged: file {}: it does not tell the format of a data directory",
            path.display()
        );
        assert_eq!(refusal(dir.path()), expected, "{text:?}");
        let checked = verify(dir.path(), &|_, _| true).unwrap();
        let [damage] = checked.damaged.as_slice() else {
            panic!("{text:?}: {:?}", checked.damaged)
        };
        assert_eq!(damage.path, path);
        assert!(
            expected.ends_with(&damage.what),
            "{text:?}: {}",
            damage.what
        );
    }
    fs::write(&path, whole).unwrap();
    let engine = Lsm::open(&options(dir.path())).unwrap();
    engine.close().await.unwrap();
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let below = file.join("data");
    let text = refusal(&below);
    let expected = format!("data directory {} cannot be written: ", below.display());
    assert!(text.starts_with(&expected), "{text}");
}

#[tokio::test]
async fn an_unfinished_first_start_is_started_again() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("LOCK"), "").unwrap();
    fs::create_dir(dir.path().join("lsm")).unwrap();
    fs::write(dir.path().join("lsm/0.jnl"), "half").unwrap();
    Lsm::open(&options(dir.path()))
        .unwrap()
        .close()
        .await
        .unwrap();
    let version = fs::read_to_string(dir.path().join("MESETA")).unwrap();
    assert_eq!(version, "Meseta data directory\nformat 3\n");
}

/// Counts up one row from many tasks: each success is one step, and a lost update would show.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_update_is_lost_between_many_writers() {
    const WRITERS: u64 = 16;
    const STEPS: u64 = 20;
    let dir = tempfile::tempdir().unwrap();
    let engine = Arc::new(Lsm::open(&options(dir.path())).unwrap());
    engine.create_space(Space(1)).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..WRITERS {
        let engine = Arc::clone(&engine);
        tasks.push(tokio::spawn(async move {
            let mut done = 0;
            while done < STEPS {
                let snapshot = engine.snapshot();
                let old = snapshot.get(Space(1), b"n").await.unwrap();
                let old: u64 = old.map_or(0, |v| String::from_utf8_lossy(&v).parse().unwrap());
                let mut writes = WriteSet::from_snapshot(snapshot.ts());
                writes.must_be_unchanged.push((Space(1), b"n".to_vec()));
                writes.put(Space(1), "n", (old + 1).to_string());
                match engine.commit(writes).await {
                    Ok(ts) => {
                        assert!(ts <= engine.snapshot().ts());
                        done += 1;
                    }
                    Err(CommitError::Conflict { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let total = engine.get_newest(Space(1), b"n").await.unwrap().unwrap();
    assert_eq!(total, (WRITERS * STEPS).to_string());
}

/// Two rows are always written together; no reader may see them apart, whatever flushes meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_never_sees_half_a_commit() {
    let dir = tempfile::tempdir().unwrap();
    let small = Options {
        memtable_bytes: 64 << 10,
        durability: Durability::Async,
        ..options(dir.path())
    };
    let engine = Arc::new(Lsm::open(&small).unwrap());
    engine.create_space(Space(1)).await.unwrap();
    let writer = {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move {
            for round in 0..1500u32 {
                let mut writes = WriteSet::blind();
                writes.put(Space(1), "a", format!("{round:0500}"));
                writes.put(Space(1), "z", format!("{round:0500}"));
                engine.commit(writes).await.unwrap();
            }
        })
    };
    let mut reads = 0;
    while !writer.is_finished() {
        let snapshot = engine.snapshot();
        let a = snapshot.get(Space(1), b"a").await.unwrap();
        tokio::task::yield_now().await;
        let z = snapshot.get(Space(1), b"z").await.unwrap();
        assert_eq!(a, z);
        assert_eq!(a, snapshot.get(Space(1), b"a").await.unwrap());
        reads += 1;
    }
    writer.await.unwrap();
    assert!(0 < reads);
    engine.close().await.unwrap();
}

#[tokio::test]
async fn a_dropped_space_gives_its_room_back() {
    let dir = tempfile::tempdir().unwrap();
    let small = Options {
        memtable_bytes: 256 << 10,
        durability: Durability::Async,
        ..options(dir.path())
    };
    let engine = Lsm::open(&small).unwrap();
    for id in [1, 2] {
        engine.create_space(Space(id)).await.unwrap();
    }
    for round in 0..200u32 {
        let mut writes = WriteSet::blind();
        for id in [1, 2] {
            // Bytes that do not compress.
            let value: Vec<u8> = (0..8000).map(|_| rand::random()).collect();
            writes.put(Space(id), format!("{round:05}"), value);
        }
        engine.commit(writes).await.unwrap();
    }
    engine.compact(&[Space(1)]).await.unwrap();
    let full = engine.estimate(Space(1), &KeyRange::all());
    assert!((150..=220).contains(&full.rows), "{full:?}");
    assert!((1_000_000..2_000_000).contains(&full.bytes), "{full:?}");
    let half = engine.estimate(Space(1), &KeyRange::between("00000", "00100"));
    assert!((60..=140).contains(&half.rows), "{half:?}");
    engine.drop_space(Space(1)).await.unwrap();
    engine.compact(&[Space(2)]).await.unwrap();
    let base = engine.base().unwrap();
    let tables = base.tree().current_version();
    let bytes: u64 = tables
        .iter_tables()
        .map(|table| table.metadata.file_size)
        .sum();
    assert!(bytes < 2_000_000, "{bytes}");
    assert_eq!(
        engine.estimate(Space(1), &KeyRange::all()),
        Estimate::default()
    );
    let kept = engine.snapshot().get(Space(2), b"00199").await.unwrap();
    assert_eq!(kept.map(|value| value.len()), Some(8000));
    drop(base);
    engine.close().await.unwrap();
}

/// The files of rows, by their paths; keyspace 0 is the library's own.
fn tables_of(dir: &Path) -> BTreeSet<PathBuf> {
    let found = fs::read_dir(dir.join("lsm/keyspaces/1/tables")).unwrap();
    found.map(|entry| entry.unwrap().path()).collect()
}

/// Replaced files stayed while nothing was written, since one list of files more than needed was kept;
/// and while commits came all the time, as the lists were looked through by an idle engine alone.
#[tokio::test]
async fn replaced_files_are_gone_when_a_compaction_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Lsm::open(&options(dir.path())).unwrap();
    engine.create_space(Space(1)).await.unwrap();
    let fill = async |engine: &Lsm, round: u8| {
        let mut writes = WriteSet::blind();
        for row in 0..100u8 {
            writes.put(Space(1), vec![row], vec![round; 500]);
        }
        engine.commit(writes).await.unwrap();
    };
    let mut before = BTreeSet::new();
    for round in 0..3 {
        fill(&engine, round).await;
        engine.compact(&[Space(1)]).await.unwrap();
        let now = tables_of(dir.path());
        assert!(!now.is_empty());
        assert_eq!(now.intersection(&before).next(), None, "round {round}");
        before = now;
    }
    // A snapshot has the files of its time, for as long as it is there.
    let snapshot = engine.snapshot();
    fill(&engine, 9).await;
    engine.compact(&[Space(1)]).await.unwrap();
    assert!(before.is_subset(&tables_of(dir.path())));
    let old = snapshot.get(Space(1), &[7]).await.unwrap().unwrap();
    assert_eq!(old.first(), Some(&2));
    drop(snapshot);
    let until = Instant::now() + Duration::from_mins(1);
    while tables_of(dir.path()).intersection(&before).next().is_some() {
        assert!(Instant::now() < until, "a busy engine lets go of files");
        fill(&engine, 10).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    engine.close().await.unwrap();
}

/// The last one stands for a failing disk: there is no way to make a real one fail here.
#[tokio::test]
async fn after_a_failed_write_every_later_one_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Lsm::open(&options(dir.path())).unwrap();
    engine.create_space(Space(1)).await.unwrap();
    let mut writes = WriteSet::blind();
    writes.put(Space(1), "a", "1");
    engine.commit(writes.clone()).await.unwrap();
    assert_eq!(engine.read_only(), None);
    engine.shared.set_read_only(&Error::Io {
        doing: "writing a commit".to_owned(),
        cause: "input/output error".to_owned(),
    });
    let cause = "storage failed while writing a commit: input/output error".to_owned();
    assert_eq!(engine.read_only().as_deref(), Some(cause.as_str()));
    let expected = Error::ReadOnly { cause };
    assert_eq!(
        engine.commit(writes).await,
        Err(CommitError::Failed(expected.clone()))
    );
    assert_eq!(engine.create_space(Space(2)).await, Err(expected.clone()));
    assert_eq!(engine.sync().await, Err(expected));
    assert_eq!(
        engine.get_newest(Space(1), b"a").await.unwrap().unwrap(),
        "1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_scans_and_multi_gets_come_later_and_are_right() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Lsm::open(&options(dir.path())).unwrap();
    engine.create_space(Space(1)).await.unwrap();
    let mut writes = WriteSet::blind();
    let key = |row: u32| format!("{row:05}").into_bytes();
    for row in 0..5000 {
        writes.put(Space(1), key(row), key(row));
        writes.must_be_absent.push((Space(1), key(row)));
    }
    engine.commit(writes.clone()).await.unwrap();
    let twice = engine.commit(writes).await;
    let (space, first) = (Space(1), key(0));
    assert_eq!(twice, Err(CommitError::AlreadyExists { space, key: first }));
    let snapshot = engine.snapshot();
    let scan = Scan::new(Space(1), KeyRange::all());
    let mut page = Page::default();
    let answer = snapshot.scan(&scan, &mut page);
    assert!(matches!(answer, Answer::Later(_)));
    answer.await.unwrap();
    assert_eq!(page.len(), 1024);
    assert_eq!(page.get(1023), Some((&key(1023)[..], &key(1023)[..])));
    let short = Scan::new(Space(1), KeyRange::prefix(b"0000"));
    assert!(matches!(
        snapshot.scan(&short, &mut page),
        Answer::Now(Ok(()))
    ));
    assert_eq!(page.len(), 10);
    // The second has more keys than are looked for in the row cache.
    for step in [7, 1] {
        let keys: Vec<Key> = (0..5000).rev().step_by(step).map(key).collect();
        let found = snapshot.multi_get(Space(1), &keys).await.unwrap();
        let expected: Vec<Option<Bytes>> =
            keys.iter().cloned().map(|key| Some(key.into())).collect();
        assert_eq!(found, expected);
    }
}

/// Pairs of rows that are always counted up together, by one writer each. Reads must never go
/// back, never see a pair apart, and never change within a snapshot, whatever is cached.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_row_cache_never_shows_another_time() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    for row_cache_bytes in [2 << 10, 512 << 10] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            memtable_bytes: 256 << 10,
            durability: Durability::Async,
            row_cache_bytes: Some(row_cache_bytes),
            ..options(dir.path())
        };
        let engine = Arc::new(Lsm::open(&options).unwrap());
        engine.create_space(Space(1)).await.unwrap();
        let end = Instant::now() + Duration::from_millis(700);
        let mut tasks = Vec::new();
        for who in 0..2 {
            let rng = StdRng::seed_from_u64(seed + who);
            tasks.push(tokio::spawn(count_pairs(
                Arc::clone(&engine),
                rng,
                end,
                who,
            )));
        }
        for who in 2..5 {
            let rng = StdRng::seed_from_u64(seed + who);
            tasks.push(tokio::spawn(watch_pairs(Arc::clone(&engine), rng, end)));
        }
        for task in tasks {
            task.await.unwrap();
        }
        engine.close().await.unwrap();
    }
}

const PAIRS: u64 = 24;

/// What each task does at least, however slow the machine is.
const ROUNDS_MIN: u64 = 10;

fn pair(number: u64) -> [Key; 2] {
    ["a", "z"].map(|side| format!("{side}{number}").into_bytes())
}

fn count(value: Option<Bytes>) -> u64 {
    value.map_or(0, |value| {
        std::str::from_utf8(&value).unwrap().parse().unwrap()
    })
}

/// Counts up pairs whose number is `who` modulo two, until `end`.
async fn count_pairs(engine: Arc<Lsm>, mut rng: StdRng, end: Instant, who: u64) {
    let mut done = 0;
    while Instant::now() < end || done < ROUNDS_MIN {
        let mut writes = WriteSet::blind();
        let number = rng.random_range(0..PAIRS / 2) * 2 + who;
        let [a, z] = pair(number);
        let old = count(engine.get_newest(Space(1), &z).await.unwrap());
        for key in [a, z] {
            writes.put(Space(1), key, (old + 1).to_string());
        }
        engine.commit(writes).await.unwrap();
        let newest = engine.get_newest(Space(1), &pair(number)[0]).await.unwrap();
        assert_eq!(count(newest), old + 1, "a writer reads its own write");
        done += 1;
    }
}

/// Reads pairs in all ways, until `end`.
async fn watch_pairs(engine: Arc<Lsm>, mut rng: StdRng, end: Instant) {
    let mut least = vec![0; usize::try_from(PAIRS).unwrap()];
    let all: Vec<Key> = (0..PAIRS).flat_map(pair).collect();
    let mut old = engine.snapshot();
    let mut seen = old.multi_get(Space(1), &all).await.unwrap();
    let mut done = 0;
    while Instant::now() < end || done < ROUNDS_MIN {
        let number = rng.random_range(0..PAIRS);
        let least = &mut least[usize::try_from(number).unwrap()];
        let [a, z] = pair(number);
        for key in [&a, &z, &a] {
            let newest = count(engine.get_newest(Space(1), key).await.unwrap());
            assert!(*least <= newest, "pair {number}: {newest} after {least}");
            *least = newest;
        }
        let snapshot = engine.snapshot();
        let both = snapshot.multi_get(Space(1), &[a, z]).await.unwrap();
        assert_eq!(both[0], both[1], "pair {number}");
        assert!(*least <= count(both[0].clone()));
        if rng.random_ratio(1, 8) {
            assert_eq!(old.multi_get(Space(1), &all).await.unwrap(), seen);
        }
        if rng.random_ratio(1, 50) {
            old = snapshot;
            seen = old.multi_get(Space(1), &all).await.unwrap();
        }
        tokio::task::yield_now().await;
        done += 1;
    }
}

/// Mechanism: what the row cache had counted as read, so that an answer ended at the first key that it had not.
#[tokio::test]
async fn what_is_cached_makes_no_answer_short() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        cache_bytes: 16 << 20,
        row_cache_bytes: Some(8 << 20),
        ..options(dir.path())
    };
    let engine = Lsm::open(&options).unwrap();
    engine.create_space(Space(1)).await.unwrap();
    let keys: Vec<Key> = (0..240_u8).map(|number| vec![number]).collect();
    for key in &keys {
        let mut writes = WriteSet::blind();
        writes.put(Space(1), key.clone(), vec![b'v'; 12 << 10]);
        engine.commit(writes).await.unwrap();
    }
    let snapshot = engine.snapshot();
    for key in keys.iter().step_by(2) {
        snapshot.get(Space(1), key).await.unwrap();
    }
    let (mut done, mut answers) = (0, 0);
    while done < keys.len() {
        let found = snapshot.multi_get(Space(1), &keys[done..]).await.unwrap();
        assert!(found.iter().all(Option::is_some));
        done += found.len();
        answers += 1;
    }
    assert!(
        answers <= 3,
        "{answers} answers for 1.4 MiB beside the cache"
    );
    drop(snapshot);
    engine.close().await.unwrap();
}

#[tokio::test]
async fn rows_found_again_need_no_tree_and_long_multi_gets_come_now() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Lsm::open(&options(dir.path())).unwrap();
    engine.create_space(Space(1)).await.unwrap();
    let keys: Vec<Key> = (0..500u32)
        .map(|n| format!("{n:05}").into_bytes())
        .collect();
    let mut writes = WriteSet::blind();
    for key in keys.iter().skip(1) {
        writes.put(Space(1), key.clone(), key.clone());
    }
    engine.commit(writes).await.unwrap();
    let snapshot = engine.snapshot();
    let first = snapshot.multi_get(Space(1), &keys);
    assert!(matches!(first, Answer::Later(_)));
    let first = first.await.unwrap();
    assert_eq!(first[0], None);
    assert_eq!(first[499].as_deref(), Some(b"00499".as_slice()));
    let Answer::Now(again) = snapshot.multi_get(Space(1), &keys) else {
        panic!("all were cached");
    };
    assert_eq!(again.unwrap(), first);
    engine.drop_space(Space(1)).await.unwrap();
    let gone = engine.get_newest(Space(1), &keys[1]).await;
    assert_eq!(gone, Err(Error::NoSuchSpace(Space(1))));
    assert_eq!(snapshot.multi_get(Space(1), &keys).await.unwrap(), first);
}

#[test]
fn the_two_caches_share_what_the_operator_gave() {
    for (rows, expected) in [
        (None, (256, 768)),
        (Some(0), (0, 1024)),
        (Some(5000), (1024, 0)),
    ] {
        let options = Options {
            cache_bytes: 1024,
            row_cache_bytes: rows,
            ..Options::new("unused")
        };
        let found = (options.row_cache_bytes(), options.block_cache_bytes());
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn compaction_removes_values_that_have_ended() {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::kv::expiry::{Expiry, Living};

    let time = Arc::new(AtomicU64::new(10));
    let clock = Arc::clone(&time);
    let end_of: fn(&[u8]) -> Option<u64> = |value| value.first().map(|end| u64::from(*end));
    let expiry = Expiry::with_clock(end_of, move || clock.load(Ordering::Relaxed));
    let expiry = Arc::new(expiry);
    let dir = tempfile::tempdir().unwrap();
    let opened = Lsm::open(&Options {
        expiry: Some(Arc::clone(&expiry)),
        ..options(dir.path())
    });
    let raw: Arc<dyn Engine> = Arc::new(opened.unwrap());
    let living = Living::new(Arc::clone(&raw), Arc::clone(&expiry));
    let (ending, lasting) = (Space(1), Space(2));
    for space in [ending, lasting] {
        living.create_space(space).await.unwrap();
    }
    expiry.watch(HashSet::from([ending]));
    // Twice, so that an older value lies below what ends.
    for end in [200, 20] {
        let mut writes = WriteSet::blind();
        for key in 0..100u8 {
            for space in [ending, lasting] {
                let end = if key % 2 == 0 { end } else { 200 };
                writes.put(space, vec![key], vec![end]);
            }
        }
        living.commit(writes).await.unwrap();
        living.compact(&[ending]).await.unwrap();
    }
    // Readers see the files of the last commit.
    let count = async |space| {
        let mut writes = WriteSet::blind();
        writes.put(lasting, vec![0], vec![200]);
        raw.commit(writes).await.unwrap();
        let mut page = Page::default();
        let scan = Scan::new(space, KeyRange::all());
        raw.snapshot().scan(&scan, &mut page).await.unwrap();
        page.len()
    };
    assert_eq!((count(ending).await, count(lasting).await), (100, 100));
    let before = living.snapshot();
    time.store(50, Ordering::Relaxed);
    assert_eq!(
        count(ending).await,
        100,
        "nothing is removed before a compaction"
    );
    living.compact(&[ending]).await.unwrap();
    assert_eq!((count(ending).await, count(lasting).await), (50, 100));
    // A snapshot of before sees what it saw, whoever has looked in between.
    for key in [4, 6] {
        assert!(raw.get_newest(ending, &[key]).await.unwrap().is_none());
        assert!(before.get(ending, &[key]).await.unwrap().is_some());
        assert!(living.get_newest(ending, &[key]).await.unwrap().is_none());
    }
    living.close().await.unwrap();
}

/// Each temporary table leaves a record that its space was there; the records are put together when the
/// engine opens, and an id is never used again.
#[tokio::test]
async fn records_of_dropped_spaces_are_put_together() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Lsm::open(&options(dir.path())).unwrap();
    for id in 1..=50 {
        engine.create_passing_space(Space(id)).await.unwrap();
    }
    let mut writes = WriteSet::blind();
    writes.put(Space(7), "a", "1");
    writes.put(Space(49), "a", "1");
    engine.commit(writes).await.unwrap();
    for id in (1..=50).filter(|id| *id != 49) {
        engine.drop_passing_space(Space(id)).await.unwrap();
    }
    engine.close().await.unwrap();
    for _ in 0..2 {
        let engine = Lsm::open(&options(dir.path())).unwrap();
        // That of the greatest id, and perhaps one that had a key.
        assert!(engine.shared.dead.len() <= 2);
        let known = engine.spaces();
        assert_eq!((known.live, known.next), (vec![Space(49)], Space(51)));
        for id in [1, 7, 30, 50] {
            let made = engine.create_space(Space(id)).await;
            assert_eq!(made, Err(Error::SpaceUsed(Space(id))), "{id}");
        }
        let key = engine.get_newest(Space(49), b"a").await.unwrap();
        assert_eq!(key.as_deref(), Some(b"1".as_slice()));
        engine.close().await.unwrap();
    }
}
