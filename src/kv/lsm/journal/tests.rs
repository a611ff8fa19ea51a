//! A power cut in the middle of a commit, at every byte of it.
//!
//! Mechanism: a batch is on its way to the disk when the power goes, and any of its pages may be
//! missing, zero or garbage. It was not acknowledged, so it may vanish; every batch before it was
//! acknowledged, and the engine must open with all of them. Left alone, the storage library refuses
//! to open after some of these cuts (the first test shows one).

use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::{Cut, Run, batch, check_there, last_run, list, path_of, repair, walk};
use crate::kv::lsm::{Durability, Lsm, Options, Still, verify};
use crate::kv::{Engine, Error, KeyRange, Page, Scan, Space, WriteSet};

const SPACE: Space = Space(1);
const COMMITS: usize = 5;
/// The batch that begins the run, and the one of the space's record.
const BEFORE: usize = 2;
/// The last commit's batch.
const LAST: usize = BEFORE + COMMITS - 1;

fn options(dir: &Path) -> Options {
    Options {
        cache_bytes: 1 << 20,
        ..Options::new(dir)
    }
}

async fn commit(engine: &Lsm, number: usize, rows: usize, value_bytes: usize) {
    let mut writes = WriteSet::blind();
    for row in 0..rows {
        let key = format!("{number:03}/{row:03}");
        // Bytes that do not compress.
        let value: Vec<u8> = (0..value_bytes).map(|_| rand::random()).collect();
        writes.put(SPACE, key, value);
    }
    engine.commit(writes).await.unwrap();
}

/// The rows of each commit, which must be all or none.
async fn rows_by_commit(engine: &Lsm) -> Vec<usize> {
    let mut counts = vec![0; COMMITS + 1];
    let mut scan = Scan::new(SPACE, KeyRange::all());
    let mut page = Page::default();
    loop {
        engine.snapshot().scan(&scan, &mut page).await.unwrap();
        for (key, _) in page.iter() {
            let number: usize = std::str::from_utf8(&key[..3]).unwrap().parse().unwrap();
            counts[number] += 1;
        }
        if !scan.advance(&mut page) {
            return counts;
        }
    }
}

/// A directory with some commits of three rows, and its journal without the zeros behind them, nor the
/// batch that ends it: as after a kill.
async fn made(durability: Durability, value_bytes: usize) -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        durability,
        async_sync_interval: std::time::Duration::from_hours(1),
        ..options(dir.path())
    };
    let engine = Lsm::open(&options).unwrap();
    engine.create_space(SPACE).await.unwrap();
    for number in 0..COMMITS {
        commit(&engine, number, 3, value_bytes).await;
    }
    engine.close().await.unwrap();
    let journal = list(&dir.path().join("lsm")).unwrap().pop().unwrap();
    let bytes = fs::read(&journal).unwrap();
    let end = walk(&bytes, (None, false)).end;
    let bounds = bounds(&bytes[..end]);
    let end = bounds[bounds.len() - 2];
    fs::write(&journal, &bytes[..end]).unwrap();
    (dir, journal, bytes[..end].to_vec())
}

/// Where each batch begins, and the end.
fn bounds(bytes: &[u8]) -> Vec<usize> {
    let mut bounds = vec![0];
    while let Ok(next) = batch(bytes, bounds[bounds.len() - 1]) {
        bounds.push(next.end);
    }
    bounds
}

/// Ways in which bytes from `at` on may come out of a power cut, each with zeros behind.
fn torn(bytes: &[u8], at: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut cut = bytes[..at].to_vec();
    let short = cut.clone();
    cut.resize(bytes.len() + 100, 0);
    let mut garbled = bytes.to_vec();
    garbled[at] ^= 0xff;
    let mut flipped = bytes.to_vec();
    flipped[at] ^= 1;
    let mut hole = bytes.to_vec();
    let hole_end = bytes.len().min(at + 40);
    hole[at..hole_end].fill(0);
    let mut noise = bytes.to_vec();
    for (idx, byte) in noise.iter_mut().enumerate().skip(at) {
        *byte = u8::try_from((idx * 131 + at * 7) % 256).unwrap() | 1;
    }
    let mut old = bytes[..at].to_vec();
    old.extend_from_slice(&[1, 3, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 2]);
    vec![
        ("truncated", short),
        ("zero to the end", cut),
        ("one byte garbled", garbled),
        ("one bit flipped", flipped),
        ("a hole of zeros", hole),
        ("noise to the end", noise),
        ("old bytes", old),
    ]
}

#[tokio::test]
async fn the_library_alone_refuses_a_hole_in_the_last_batch() {
    let (_dir, journal, bytes) = made(Durability::Sync, 5000).await;
    let last = bounds(&bytes)[LAST];
    let mut hole = bytes.clone();
    hole[last + 4096..last + 4200].fill(0);
    fs::write(&journal, &hole).unwrap();
    let opened = fjall::Database::builder(journal.parent().unwrap()).open();
    assert!(matches!(opened, Err(fjall::Error::JournalRecovery(_))));
}

#[tokio::test]
async fn every_tear_of_the_last_batch_leaves_the_others() {
    let (_dir, journal, bytes) = made(Durability::Sync, 20).await;
    let bounds = bounds(&bytes);
    assert_eq!(bounds.len(), BEFORE + COMMITS + 1);
    let (last, end) = (bounds[LAST], bounds[LAST + 1]);
    for at in last..end {
        for (how, torn) in torn(&bytes, at) {
            fs::write(&journal, &torn).unwrap();
            let cut = repair(journal.parent().unwrap()).unwrap();
            let left = fs::read(&journal).unwrap();
            let walk = walk(&left, (None, false));
            // Outside the checksum, and harmless as long as it grows.
            let only_seqno = torn.starts_with(&bytes[..last + 5])
                && torn
                    .get(last + 13..)
                    .is_some_and(|rest| rest.starts_with(&bytes[last + 13..]));
            if only_seqno && walk.end == end {
                continue;
            }
            assert_eq!(walk.end, last, "{how} at {at}");
            assert!(walk.damage.is_none(), "{how} at {at}");
            assert_eq!(left[..last], bytes[..last], "{how} at {at}");
            if let Some(cut) = cut {
                let (path, bytes) = (journal.clone(), torn.len() - last);
                assert_eq!(
                    cut,
                    Cut {
                        path,
                        at: last,
                        bytes
                    }
                );
            }
        }
    }
}

#[tokio::test]
async fn the_engine_opens_after_tears_and_goes_on() {
    let (dir, journal, bytes) = made(Durability::Sync, 20).await;
    let bounds = bounds(&bytes);
    let last = bounds[LAST];
    for at in (last..bytes.len()).step_by(61) {
        for (how, torn) in torn(&bytes, at) {
            fs::write(&journal, &torn).unwrap();
            let engine = Lsm::open(&options(dir.path())).unwrap();
            let mut expected = vec![3; COMMITS - 1];
            expected.extend([0, 0]);
            assert_eq!(rows_by_commit(&engine).await, expected, "{how} at {at}");
            commit(&engine, COMMITS, 2, 20).await;
            engine.close().await.unwrap();
            let engine = Lsm::open(&options(dir.path())).unwrap();
            expected[COMMITS] = 2;
            assert_eq!(rows_by_commit(&engine).await, expected, "{how} at {at}");
            engine.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_large_batch_may_lose_any_of_its_pages() {
    let (dir, journal, bytes) = made(Durability::Sync, 9000).await;
    let last = bounds(&bytes)[LAST];
    for page in (last.next_multiple_of(4096)..bytes.len()).step_by(4096) {
        let mut torn = bytes.clone();
        let until = bytes.len().min(page + 4096);
        torn[page..until].fill(0);
        fs::write(&journal, &torn).unwrap();
        let engine = Lsm::open(&options(dir.path())).unwrap();
        assert_eq!(rows_by_commit(&engine).await, [3, 3, 3, 3, 0, 0]);
        engine.close().await.unwrap();
    }
}

#[tokio::test]
async fn damage_in_front_of_an_acknowledged_batch_is_never_cut() {
    let (dir, journal, bytes) = made(Durability::Sync, 20).await;
    let bounds = bounds(&bytes);
    for damaged in 0..LAST {
        for at in bounds[damaged]..bounds[damaged + 1] {
            // The sequence number is outside the checksum: a slightly greater one in the last
            // batch but one makes the last one look misplaced, and nothing can tell them apart.
            let in_seqno = (5..13).contains(&(at - bounds[damaged]));
            if in_seqno && damaged + 1 == LAST {
                continue;
            }
            let mut torn = bytes.clone();
            torn[at] ^= 0xff;
            fs::write(&journal, &torn).unwrap();
            let refused = repair(journal.parent().unwrap());
            assert!(matches!(refused, Err(Error::Corrupt { .. })), "at {at}");
            assert_eq!(fs::read(&journal).unwrap(), torn, "nothing was cut");
        }
    }
    let opened = Lsm::open(&options(dir.path()));
    let text = opened.err().unwrap().to_string();
    let at = bounds[LAST - 1];
    assert!(
        text.contains(&format!("is damaged at byte {at}, in front of")),
        "{text}"
    );
}

#[tokio::test]
async fn an_older_journal_is_cut_only_before_empty_ones() {
    let (_dir, journal, bytes) = made(Durability::Sync, 20).await;
    let bounds = bounds(&bytes);
    let next = journal.with_file_name(format!("{}.jnl", numbered_of(&journal) + 1));
    let damaged = &bytes[..bytes.len() - 3];
    let newer = &bytes[bounds[LAST]..];
    fs::write(&journal, &bytes[..bounds[LAST] - 3]).unwrap();
    fs::write(&next, newer).unwrap();
    assert!(matches!(
        repair(journal.parent().unwrap()),
        Err(Error::Corrupt { .. })
    ));
    for empty in [&[][..], &[0; 5000], &[7; 50]] {
        fs::write(&journal, damaged).unwrap();
        fs::write(&next, empty).unwrap();
        let cut = repair(journal.parent().unwrap()).unwrap().unwrap();
        assert_eq!(
            (cut.path.as_path(), cut.at),
            (journal.as_path(), bounds[LAST])
        );
    }
}

/// Mechanism: a journal that ended early was taken for whole, and what followed it for what came next: acknowledged commits
/// were gone from the middle in silence.
#[tokio::test]
async fn a_journal_that_has_lost_its_end_is_refused() {
    let (dir, journal, bytes) = made(Durability::Sync, 20).await;
    let bounds = bounds(&bytes);
    let (kept, newer) = (&bytes[..bounds[LAST - 1]], &bytes[bounds[LAST]..]);
    let next = |step| journal.with_file_name(format!("{}.jnl", numbered_of(&journal) + step));
    fs::write(next(1), newer).unwrap();
    for zeros in [0, 5000] {
        fs::write(&journal, [kept, &vec![0; zeros]].concat()).unwrap();
        let refused = repair(journal.parent().unwrap()).unwrap_err().to_string();
        assert!(
            refused.contains("commits are missing in front of byte 0"),
            "{refused}"
        );
        let checked = verify(dir.path(), &|_, _| true).unwrap();
        let told = &checked.damaged[0].what;
        assert!(told.contains("commits are missing"), "{told}");
    }
    // Nothing is: and an empty one is in the place of what is given up.
    fs::write(&journal, &bytes[..bounds[LAST]]).unwrap();
    assert_eq!(repair(journal.parent().unwrap()), Ok(None));
    fs::write(&journal, kept).unwrap();
    fs::write(next(1), b"").unwrap();
    fs::write(next(2), newer).unwrap();
    assert_eq!(repair(journal.parent().unwrap()), Ok(None));
}

/// The last ones were never synced: what is behind the gap goes with what is missing.
#[tokio::test]
async fn what_was_not_synced_goes_with_the_end_of_the_journal_before_it() {
    let (_dir, journal, bytes) = made(Durability::Async, 20).await;
    let bounds = bounds(&bytes);
    let next = journal.with_file_name(format!("{}.jnl", numbered_of(&journal) + 1));
    fs::write(&journal, &bytes[..bounds[LAST - 1]]).unwrap();
    fs::write(&next, &bytes[bounds[LAST]..]).unwrap();
    let cut = repair(journal.parent().unwrap()).unwrap().unwrap();
    assert_eq!((cut.path, cut.at), (next, 0));
}

#[tokio::test]
async fn in_async_mode_batches_may_tear_together() {
    let (dir, journal, bytes) = made(Durability::Async, 20).await;
    let bounds = bounds(&bytes);
    // The first batches are synced in every mode.
    for damaged in 0..BEFORE {
        let mut torn = bytes.clone();
        torn[bounds[damaged] + 30] ^= 0xff;
        fs::write(&journal, &torn).unwrap();
        assert!(matches!(
            repair(journal.parent().unwrap()),
            Err(Error::Corrupt { .. })
        ));
    }
    for damaged in BEFORE..=LAST {
        let mut torn = bytes.clone();
        torn[bounds[damaged] + 30] ^= 0xff;
        fs::write(&journal, &torn).unwrap();
        let engine = Lsm::open(&options(dir.path())).unwrap();
        let mut expected = vec![3; damaged - BEFORE];
        expected.resize(COMMITS + 1, 0);
        assert_eq!(rows_by_commit(&engine).await, expected);
        engine.close().await.unwrap();
    }
}

#[tokio::test]
async fn after_an_orderly_end_damage_to_the_last_commit_is_found() {
    for durability in [Durability::Sync, Durability::Async] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            durability,
            async_sync_interval: std::time::Duration::from_hours(1),
            ..options(dir.path())
        };
        let engine = Lsm::open(&options).unwrap();
        engine.create_space(SPACE).await.unwrap();
        for number in 0..COMMITS {
            commit(&engine, number, 3, 20).await;
        }
        engine.close().await.unwrap();
        let journal = list(&dir.path().join("lsm")).unwrap().pop().unwrap();
        let mut bytes = fs::read(&journal).unwrap();
        let end = walk(&bytes, (None, false)).end;
        let bounds = bounds(&bytes[..end]);
        let last = bounds[bounds.len() - 3];
        bytes[last + 30] ^= 1;
        fs::write(&journal, &bytes).unwrap();
        let refused = repair(journal.parent().unwrap());
        assert!(
            matches!(refused, Err(Error::Corrupt { .. })),
            "{durability:?}"
        );
    }
}

/// A batch without items, and so without marker, as servers wrote them that knew of none.
fn unmarked(seqno: u64) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0, 0];
    bytes.extend(seqno.to_le_bytes());
    bytes.push(3);
    bytes.extend(xxh3_64(&[]).to_le_bytes());
    bytes.extend(b"FJL\x03");
    bytes
}

/// Mechanism: behind damage every byte was looked at for a batch, so that one in a value that a client
/// had chosen counted as proof that the torn commit around it was acknowledged, and the start was
/// refused. A batch proves something only with the id of the run, which clients do not know; and a copy
/// of an older one says of itself that it is older.
#[tokio::test]
async fn what_looks_like_a_batch_within_a_value_proves_nothing() {
    let (_scratch, journal, bytes) = made(Durability::Sync, 20).await;
    let dir = journal.parent().unwrap();
    let last = bounds(&bytes)[LAST];
    let mut other = bytes.clone();
    let id = last_run(dir).unwrap().to_le_bytes();
    for at in 0..other.len() - id.len() {
        if other[at..].starts_with(&id) {
            other[at] ^= 1;
        }
    }
    for forged in [
        unmarked(1 << 30),
        unmarked(0),
        bytes[..last].to_vec(),
        other,
    ] {
        // In the middle of a value, of which the end is missing.
        let mut torn = bytes[..last + 100].to_vec();
        torn.extend_from_slice(&forged);
        torn.extend_from_slice(&[7; 50]);
        fs::write(&journal, &torn).unwrap();
        let cut = repair(dir).unwrap().unwrap();
        assert_eq!(cut.at, last);
        // Nor where nothing is in front: older journals may be gone.
        let mut torn = vec![1, 2, 3];
        torn.extend_from_slice(&unmarked(9));
        fs::write(&journal, &torn).unwrap();
        assert_eq!(repair(dir).unwrap().unwrap().at, 0);
    }
}

#[tokio::test]
async fn journals_of_servers_that_knew_no_marker_are_judged_as_before() {
    let scratch = tempfile::tempdir().unwrap();
    let journal = scratch.path().join("1.jnl");
    let bytes: Vec<u8> = (1..=3).flat_map(unmarked).collect();
    let each = bytes.len() / 3;
    for damaged in 0..3 {
        let mut torn = bytes.clone();
        torn[damaged * each + 15] ^= 1;
        fs::write(&journal, &torn).unwrap();
        let repaired = repair(scratch.path());
        if damaged == 2 {
            assert_eq!(repaired.unwrap().unwrap().at, 2 * each);
        } else {
            assert!(matches!(repaired, Err(Error::Corrupt { .. })), "{damaged}");
        }
    }
}

/// Mechanism: the records of temporary tables' spaces are written without a sync, several may be on
/// their way to the disk together, and in sync mode none of them said so.
#[tokio::test]
async fn what_nobody_waited_for_may_tear_together_in_sync_mode_too() {
    const PASSING: usize = 20;
    let scratch = tempfile::tempdir().unwrap();
    let options = Options {
        async_sync_interval: std::time::Duration::from_hours(1),
        ..options(scratch.path())
    };
    let engine = Lsm::open(&options).unwrap();
    engine.create_space(SPACE).await.unwrap();
    for id in 0..PASSING {
        let space = Space(100 + u32::try_from(id).unwrap());
        engine.create_passing_space(space).await.unwrap();
    }
    let journal = list(&scratch.path().join("lsm")).unwrap().pop().unwrap();
    let dir = journal.parent().unwrap();
    // Closing waits for what is on its way, and nothing writes it before.
    commit(&engine, 0, 3, 20).await;
    engine.close().await.unwrap();
    let bytes = fs::read(&journal).unwrap();
    let bounds = bounds(&bytes);
    let acknowledged = bounds[BEFORE + PASSING];
    for bound in &bounds[BEFORE..BEFORE + PASSING] {
        let at = bound + 40;
        let mut torn = bytes[..acknowledged].to_vec();
        torn[at] ^= 0xff;
        fs::write(&journal, &torn).unwrap();
        assert_eq!(repair(dir).unwrap().unwrap().at, *bound);
        // The commit behind them was synced, and they with it.
        let mut torn = bytes.clone();
        torn[at] ^= 0xff;
        fs::write(&journal, &torn).unwrap();
        assert!(matches!(repair(dir), Err(Error::Corrupt { .. })));
    }
}

/// Mechanism: with the newest journal gone the library began another one, and the commits in it were forgotten in
/// silence.
#[tokio::test]
async fn a_journal_that_is_missing_is_named_and_an_empty_one_takes_its_place() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("lsm");
    let options = options(scratch.path());
    let engine = Lsm::open(&options).unwrap();
    engine.create_space(SPACE).await.unwrap();
    commit(&engine, 0, 3, 20).await;
    engine.close().await.unwrap();
    let newest = list(&dir).unwrap().pop().unwrap();
    let aside = scratch.path().join("aside");
    fs::rename(&newest, &aside).unwrap();
    let refused = |expected: &Path| match Lsm::open(&options) {
        Err(Error::Corrupt { what }) => {
            let expected = format!("journal {} is missing", expected.display());
            assert!(what.contains(&expected), "{what}");
        }
        other => panic!("{:?}", other.err()),
    };
    refused(&newest);
    // One between two others.
    let number = numbered_of(&newest);
    fs::rename(&aside, &newest).unwrap();
    fs::write(path_of(&dir, number + 2), b"").unwrap();
    refused(&path_of(&dir, number + 1));
    fs::write(path_of(&dir, number + 1), b"").unwrap();
    let engine = Lsm::open(&options).unwrap();
    assert_eq!(rows_by_commit(&engine).await[0], 3);
    engine.close().await.unwrap();
}

/// Mechanism: nothing told that there had been one, as `run` was missing, too, and the server began as an empty one: the
/// rows in files have numbers that were still to come. What belongs to no table was removed then.
#[tokio::test]
async fn a_directory_without_any_journal_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("lsm");
    let options = options(scratch.path());
    let engine = Lsm::open(&options).unwrap();
    engine.create_space(SPACE).await.unwrap();
    commit(&engine, 0, 3, 20).await;
    engine.compact(&[SPACE]).await.unwrap();
    engine.close().await.unwrap();
    for journal in list(&dir).unwrap() {
        fs::remove_file(journal).unwrap();
    }
    fs::remove_file(dir.join("run")).unwrap();
    let missing = |what: &str| {
        let begin = format!("the journal (a file *.jnl) of {} is missing", dir.display());
        assert!(what.starts_with(&begin), "{what}");
        assert!(what.contains("restore a backup"), "{what}");
    };
    match Lsm::open(&options) {
        Err(Error::Corrupt { what }) => missing(&what),
        other => panic!("{:?}", other.err()),
    }
    let checked = verify(scratch.path(), &|_, _| true).unwrap();
    assert_eq!(checked.damaged.len(), 1, "{:?}", checked.damaged);
    missing(&checked.damaged[0].what);
    drop(checked);
    match Still::open(scratch.path()) {
        Err(Error::Corrupt { what }) => missing(&what),
        other => panic!("{:?}", other.err()),
    }
    // As it says: with an empty one the rows in files are there.
    fs::write(path_of(&dir, 0), b"").unwrap();
    let engine = Lsm::open(&options).unwrap();
    assert_eq!(rows_by_commit(&engine).await[0], 3);
    engine.close().await.unwrap();
}

/// The one that was begun last is missed, too.
#[tokio::test]
async fn a_journal_that_was_begun_later_is_missed() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("lsm");
    fs::create_dir(&dir).unwrap();
    for number in [3, 4] {
        fs::write(path_of(&dir, number), b"").unwrap();
    }
    let mut run = Run::new(dir.clone());
    run.begin().unwrap();
    check_there(&dir).unwrap();
    for number in [5, 6] {
        fs::write(path_of(&dir, number), b"").unwrap();
    }
    run.note_newest();
    for gone in [3, 4, 5] {
        fs::remove_file(path_of(&dir, gone)).unwrap();
        check_there(&dir).unwrap();
    }
    // Not noted for a while, and those in between are gone.
    fs::rename(path_of(&dir, 6), path_of(&dir, 9)).unwrap();
    run.note_newest();
    fs::rename(path_of(&dir, 9), path_of(&dir, 8)).unwrap();
    let told = check_there(&dir).unwrap_err().to_string();
    assert!(told.contains("9.jnl is missing"), "{told}");
    fs::rename(path_of(&dir, 8), path_of(&dir, 6)).unwrap();
    let mut run = Run::new(dir.clone());
    run.begin().unwrap();
    fs::remove_file(path_of(&dir, 6)).unwrap();
    let told = check_there(&dir).unwrap_err().to_string();
    assert!(told.contains("6.jnl is missing"), "{told}");
    fs::write(path_of(&dir, 6), b"").unwrap();
    check_there(&dir).unwrap();
}

fn numbered_of(path: &Path) -> u64 {
    let name = path.file_stem().unwrap().to_str().unwrap();
    name.parse().unwrap()
}
