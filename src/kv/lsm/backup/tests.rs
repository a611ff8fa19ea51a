//! Backups of a live engine: under writers, damaged, half made, restored.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::kv::lsm::{Durability, Lsm, Options, is_data_dir};
use crate::kv::{Engine, KeyRange, Page, Scan, Snapshot, Space, WriteSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const SPACE: Space = Space(1);
const OTHER: Space = Space(2);

fn options(dir: &Path) -> Options {
    Options {
        cache_bytes: 1 << 20,
        memtable_bytes: 64 << 10,
        ..Options::new(dir)
    }
}

async fn engine(dir: &Path) -> Lsm {
    let engine = Lsm::open(&options(dir)).unwrap();
    for space in [SPACE, OTHER] {
        if !engine.spaces().live.contains(&space) {
            engine.create_space(space).await.unwrap();
        }
    }
    engine
}

/// One commit: a row in each space.
async fn put(engine: &Lsm, writer: u32, number: u32) {
    let mut set = WriteSet::blind();
    for space in [SPACE, OTHER] {
        let key = format!("{writer:03}/{number:08}");
        set.put(space, key, vec![b'v'; 200]);
    }
    engine.commit(set).await.unwrap();
}

async fn keys(snapshot: &dyn Snapshot, space: Space) -> Vec<String> {
    let mut scan = Scan::new(space, KeyRange::all());
    let mut page = Page::default();
    let mut keys = Vec::new();
    loop {
        snapshot.scan(&scan, &mut page).await.unwrap();
        keys.extend(
            page.iter()
                .map(|(key, _)| String::from_utf8_lossy(key).into_owned()),
        );
        if !scan.advance(&mut page) {
            return keys;
        }
    }
}

fn go_on(_: u64, _: u64) -> bool {
    true
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_backup_under_writers_is_a_prefix_of_every_writer() {
    for durability in [Durability::Sync, Durability::Async] {
        let base = tempfile::tempdir().unwrap();
        let engine = Lsm::open(&Options {
            durability,
            ..options(&base.path().join("data"))
        });
        let engine = Arc::new(engine.unwrap());
        engine.create_space(SPACE).await.unwrap();
        engine.create_space(OTHER).await.unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let writers = (0..4).map(|writer| {
            let (engine, is_over) = (Arc::clone(&engine), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut number = 0;
                while !is_over.load(Ordering::Relaxed) {
                    put(&engine, writer, number).await;
                    number += 1;
                }
                number
            })
        });
        let writers: Vec<_> = writers.collect();
        let mut counts = Vec::new();
        for number in 0..4 {
            let dir = base.path().join(format!("backup-{number}"));
            let before = keys(engine.snapshot().as_ref(), SPACE).await.len();
            let made = engine.checkpoint(&dir, &Arc::default()).await.unwrap();
            let made = made.unwrap();
            let after = keys(engine.snapshot().as_ref(), SPACE).await.len();
            assert_eq!(Backup::read(&dir).unwrap().commit, made.ts);
            let still = Still::open(&dir).unwrap();
            let found = keys(still.snapshot().as_ref(), SPACE).await;
            assert_eq!(found, keys(still.snapshot().as_ref(), OTHER).await);
            assert!((before..=after).contains(&found.len()));
            for writer in 0..4 {
                let of_writer = found
                    .iter()
                    .filter(|key| key.starts_with(&format!("{writer:03}")));
                for (key, number) in of_writer.zip(0..) {
                    assert_eq!(*key, format!("{writer:03}/{number:08}"));
                }
            }
            assert!(verify(&dir, &go_on).unwrap().damaged.is_empty());
            let size = Some(found.len());
            assert_eq!(
                still.snapshot().count(SPACE).await.unwrap().map(|_| 0),
                None,
                "blind writes"
            );
            counts.push(size);
        }
        assert!(counts.is_sorted());
        is_over.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        engine.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_restored_is_a_data_directory_and_the_backup_stays_as_it_is() {
    let base = tempfile::tempdir().unwrap();
    let (data, backup) = (base.path().join("data"), base.path().join("backup"));
    let live = engine(&data).await;
    for number in 0..500 {
        put(&live, 7, number).await;
    }
    let made = live
        .checkpoint(&backup, &Arc::default())
        .await
        .unwrap()
        .unwrap();
    put(&live, 8, 0).await;
    let new = base.path().join("new");
    let restored = restore(&backup, &new, &go_on).unwrap();
    assert_eq!(restored.size(), (made.files, made.bytes));
    assert!(is_data_dir(&new));
    let cause = restore(&backup, &new, &go_on).unwrap_err();
    assert!(matches!(cause, Error::NotEmpty { .. }), "{cause}");
    let again = engine(&new).await;
    assert_eq!(keys(again.snapshot().as_ref(), SPACE).await.len(), 500);
    for number in 0..500 {
        put(&again, 9, number).await;
    }
    again.compact(&[SPACE]).await.unwrap();
    again.close().await.unwrap();
    live.compact(&[SPACE]).await.unwrap();
    live.close().await.unwrap();
    for dir in [&backup, &new, &data] {
        assert!(
            verify(dir, &go_on).unwrap().damaged.is_empty(),
            "{}",
            dir.display()
        );
    }
    assert_eq!(
        keys(Still::open(&backup).unwrap().snapshot().as_ref(), SPACE)
            .await
            .len(),
        500
    );
    assert_eq!(
        keys(Still::open(&new).unwrap().snapshot().as_ref(), SPACE)
            .await
            .len(),
        1000
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_bit_is_found_in_every_file() {
    let base = tempfile::tempdir().unwrap();
    let (data, backup) = (base.path().join("data"), base.path().join("backup"));
    let live = engine(&data).await;
    for number in 0..2000 {
        put(&live, 1, number).await;
    }
    live.checkpoint(&backup, &Arc::default())
        .await
        .unwrap()
        .unwrap();
    live.close().await.unwrap();
    let mut tried = 0;
    for path in files_below(&backup) {
        let whole = fs::read(&path).unwrap();
        for at in [0, whole.len() / 2, whole.len().saturating_sub(1)] {
            if whole.len() <= at {
                continue;
            }
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            // A new file: the old one may be shared with the data directory.
            fs::remove_file(&path).unwrap();
            fs::write(&path, &bytes).unwrap();
            let found = verify(&backup, &go_on).unwrap().damaged;
            let paths: Vec<_> = found.iter().map(|damage| damage.path.clone()).collect();
            assert_eq!(paths, std::slice::from_ref(&path), "byte {at}");
            let new = base.path().join(format!("new-{tried}"));
            let cause = restore(&backup, &new, &go_on).unwrap_err();
            assert!(
                matches!(&cause, Error::Corrupt { what } if what.contains(&path.display().to_string()))
            );
            assert!(!new.exists(), "what it made is taken away");
            tried += 1;
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(20 <= tried, "{tried}");
    assert!(verify(&backup, &go_on).unwrap().damaged.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_bit_in_a_data_directory_is_found_with_what_it_holds() {
    let base = tempfile::tempdir().unwrap();
    let data = base.path().join("data");
    let live = engine(&data).await;
    for number in 0..3000 {
        put(&live, 1, number).await;
    }
    live.compact(&[SPACE]).await.unwrap();
    live.close().await.unwrap();
    assert!(verify(&data, &go_on).unwrap().damaged.is_empty());
    let tables = data.join("lsm/keyspaces/1/tables");
    let table = files_below(&tables)
        .into_iter()
        .max_by_key(|path| fs::metadata(path).unwrap().len());
    let table = table.unwrap();
    let mut bytes = fs::read(&table).unwrap();
    let at = bytes.len() / 3;
    bytes[at] ^= 1;
    fs::write(&table, bytes).unwrap();
    let found = verify(&data, &go_on).unwrap();
    assert_eq!(found.damaged.len(), 1);
    assert_eq!(found.damaged[0].path, table);
    let still = Still::open(&data).unwrap();
    let extent = still.extent(found.damaged[0].table.unwrap()).unwrap();
    assert!(extent.first < extent.readable_to.clone().unwrap());
    assert!(extent.readable_to.unwrap() < extent.last);
    // A list that is damaged, and one that is gone.
    drop(found);
    let current = data.join("lsm/keyspaces/1/current");
    let whole = fs::read(&current).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&current, bytes).unwrap();
        let found = verify(&data, &go_on).unwrap();
        assert_eq!(found.damaged.len(), 1, "byte {at}");
    }
    fs::remove_file(&current).unwrap();
    assert_eq!(verify(&data, &go_on).unwrap().damaged[0].path, current);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directories_that_will_not_do_are_refused() {
    let base = tempfile::tempdir().unwrap();
    let (data, backup) = (base.path().join("data"), base.path().join("backup"));
    let live = engine(&data).await;
    put(&live, 1, 0).await;
    // Somebody's.
    fs::create_dir(&backup).unwrap();
    fs::write(backup.join("x"), "x").unwrap();
    let cause = live.checkpoint(&backup, &Arc::default()).await.unwrap_err();
    assert!(matches!(cause, Error::NotEmpty { .. }), "{cause}");
    fs::remove_file(backup.join("x")).unwrap();
    // Empty is fine.
    live.checkpoint(&backup, &Arc::default())
        .await
        .unwrap()
        .unwrap();
    let cause = live.checkpoint(&backup, &Arc::default()).await.unwrap_err();
    assert!(matches!(cause, Error::NotEmpty { .. }), "{cause}");
    let cause = live
        .checkpoint(&base.path().join("no/such"), &Arc::default())
        .await
        .unwrap_err();
    assert!(cause.to_string().contains("no/such"), "{cause}");
    let cause = verify(&data, &go_on).unwrap_err();
    assert!(matches!(cause, Error::InUse { .. }), "{cause}");
    let cause = verify(base.path(), &go_on).unwrap_err();
    assert!(matches!(cause, Error::NoBackup { .. }), "{cause}");
    let cause = restore(&data, &base.path().join("new"), &go_on).unwrap_err();
    assert!(matches!(cause, Error::NoBackup { .. }), "{cause}");
    // A backup is no data directory.
    let cause = Lsm::open(&options(&backup)).err().unwrap();
    assert!(matches!(cause, Error::ForeignDirectory { .. }), "{cause}");
    live.close().await.unwrap();
    let cause = live
        .checkpoint(&base.path().join("late"), &Arc::default())
        .await
        .unwrap_err();
    assert_eq!(cause, Error::Closed);
    assert!(
        !base.path().join("late").exists(),
        "a failed backup is taken away"
    );
}

#[test]
fn what_a_backup_says_of_itself_comes_back() {
    let sum = Sum::of(b"x");
    let entry = |name: &str| Entry {
        name: name.to_owned(),
        sum,
    };
    let backup = Backup {
        commit: Ts(42),
        taken: "2026-01-02T03:04:05Z".to_owned(),
        format: directory::FORMAT.to_owned(),
        entries: vec![entry("lsm/0.jnl"), entry("lsm/keyspaces/1/tables/7")],
    };
    let text = backup.encode();
    assert_eq!(Backup::parse(&text), Some(backup.clone()));
    for at in 0..text.len() - 1 {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let damaged = String::from_utf8(bytes).unwrap();
        assert_ne!(Backup::parse(&damaged), Some(backup.clone()), "byte {at}");
        assert_eq!(Backup::parse(&text[..at]), None, "cut at {at}");
    }
    assert_eq!(table_id("lsm/keyspaces/1/tables/7"), Some(7));
    assert_eq!(table_id("/x/lsm/keyspaces/0/tables/7"), None);
    assert_eq!(table_id("lsm/keyspaces/1/v7"), None);
}

/// Mechanism: what a cut-off backup leaves was told as "it holds lsm", or without what to do about it.
#[tokio::test]
async fn half_of_a_backup_says_that_it_can_be_removed() {
    let base = tempfile::tempdir().unwrap();
    let backup = base.path().join("backup");
    let live = engine(&base.path().join("data")).await;
    live.checkpoint(&backup, &Arc::default()).await.unwrap();
    fs::rename(backup.join(BACKUP_FILE), backup.join(PART_FILE)).unwrap();
    let expected = format!(
        "directory {} has a backup that was not finished: unless it is being made just now, the directory can be \
         removed",
        backup.display()
    );
    for cause in [
        verify(&backup, &go_on).unwrap_err(),
        restore(&backup, &base.path().join("new"), &go_on).unwrap_err(),
        live.checkpoint(&backup, &Arc::default()).await.unwrap_err(),
    ] {
        assert_eq!(cause.to_string(), expected);
    }
    assert!(!base.path().join("new").exists());
    live.close().await.unwrap();
}

/// Mechanism: what a cut-off restore leaves was told as a strange file RESTORING, and not what to do about it.
#[tokio::test]
async fn half_of_a_restore_says_so() {
    let base = tempfile::tempdir().unwrap();
    let backup = base.path().join("backup");
    let live = engine(&base.path().join("data")).await;
    live.checkpoint(&backup, &Arc::default()).await.unwrap();
    live.close().await.unwrap();
    let half = base.path().join("half");
    fs::create_dir_all(half.join("lsm/keyspaces")).unwrap();
    fs::write(half.join(directory::RESTORING_FILE), "Being restored").unwrap();
    let expected = format!(
        "directory {} has a restore that was not finished: unless it is under way, remove the directory and \
         restore again",
        half.display()
    );
    for cause in [
        Lsm::open(&options(&half)).err().unwrap(),
        verify(&half, &go_on).unwrap_err(),
        restore(&backup, &half, &go_on).unwrap_err(),
    ] {
        assert_eq!(cause.to_string(), expected);
    }
    assert_eq!(files_below(&half).len(), 1, "nothing was changed");
}

/// Mechanism: a restore that failed left half of a data directory.
#[tokio::test]
async fn a_restore_that_fails_takes_away_what_it_made_and_nothing_else() {
    let base = tempfile::tempdir().unwrap();
    let backup = base.path().join("backup");
    let live = engine(&base.path().join("data")).await;
    put(&live, 1, 0).await;
    live.checkpoint(&backup, &Arc::default()).await.unwrap();
    live.close().await.unwrap();
    let given_up = |to: &Path| restore(&backup, to, &|_, _| false).unwrap_err();
    // With the directories above it, which it makes.
    given_up(&base.path().join("no/such/dir"));
    assert!(!base.path().join("no").exists());
    fs::create_dir(base.path().join("no")).unwrap();
    given_up(&base.path().join("no/such/dir"));
    assert_eq!(fs::read_dir(base.path().join("no")).unwrap().count(), 0);
    // An empty directory stays, with what may be in an empty one.
    let empty = base.path().join("empty");
    fs::create_dir_all(empty.join("lost+found")).unwrap();
    fs::write(empty.join("lost+found/found"), "x").unwrap();
    given_up(&empty);
    assert_eq!(files_below(&empty), [empty.join("lost+found/found")]);
    assert!(!empty.join("lsm").exists());
    // At any moment.
    for calls in 0..40 {
        let left = std::cell::Cell::new(calls);
        let dir = base.path().join("some");
        let progress = |_, _| left.replace(left.get() - 1) != 0;
        if restore(&backup, &dir, &progress).is_ok() {
            break;
        }
        assert!(!dir.exists(), "{calls}");
    }
    // What somebody puts there meanwhile is not its own.
    let shared = base.path().join("shared");
    let put = |_, _| {
        fs::write(shared.join("letter.txt"), "dear").unwrap();
        false
    };
    restore(&backup, &shared, &put).unwrap_err();
    assert_eq!(files_below(&shared), [shared.join("letter.txt")]);
    let whole = base.path().join("new/with/above");
    restore(&backup, &whole, &go_on).unwrap();
    engine(&whole).await.close().await.unwrap();
}

#[tokio::test]
async fn a_file_or_nothing_in_the_place_of_a_directory_is_told_so() {
    let base = tempfile::tempdir().unwrap();
    let (backup, file) = (base.path().join("backup"), base.path().join("file"));
    fs::write(&file, "x").unwrap();
    let live = engine(&base.path().join("data")).await;
    live.checkpoint(&backup, &Arc::default()).await.unwrap();
    let told = |cause: Error| {
        cause
            .to_string()
            .replace(&base.path().display().to_string(), "")
    };
    let new = base.path().join("new");
    let missing = base.path().join("missing");
    for (cause, expected) in [
        (
            verify(&missing, &go_on).unwrap_err(),
            "/missing is no backup: it does not exist",
        ),
        (
            verify(&file, &go_on).unwrap_err(),
            "/file is no backup: it is a file",
        ),
        (
            restore(&missing, &new, &go_on).unwrap_err(),
            "/missing is no backup: it does not exist",
        ),
        (
            restore(&file, &new, &go_on).unwrap_err(),
            "/file is no backup: it is a file",
        ),
        (
            restore(&backup, &file, &go_on).unwrap_err(),
            "/file is no directory: it is a file",
        ),
        (
            live.checkpoint(&file, &Arc::default()).await.unwrap_err(),
            "/file is no directory: it is a file",
        ),
    ] {
        assert_eq!(told(cause), expected);
    }
    assert_eq!(fs::read(&file).unwrap(), b"x");
    live.close().await.unwrap();
}

/// Mechanism: KILL QUERY was answered at once, and the directory went some time later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_is_over_is_taken_away_by_the_time_of_its_answer() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("backup");
    let live = engine(&base.path().join("data")).await;
    put(&live, 1, 0).await;
    let is_over = Arc::new(AtomicBool::new(true));
    assert!(live.checkpoint(&dir, &is_over).await.is_err());
    assert!(!dir.exists());
    live.close().await.unwrap();
}

#[test]
fn a_backup_that_nobody_waits_for_is_taken_away() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("backup");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let live = engine(&base.path().join("data")).await;
        put(&live, 1, 0).await;
        let is_over = Arc::default();
        tokio::select! {
            biased;
            _ = live.checkpoint(&dir, &is_over) => panic!("it was done at once"),
            () = async {} => {}
        }
        // Others are none the worse.
        let other = base.path().join("other");
        live.checkpoint(&other, &Arc::default())
            .await
            .unwrap()
            .unwrap();
        live.close().await.unwrap();
    });
    // Waits for what still runs.
    drop(runtime);
    assert!(!dir.exists() || dir.join(BACKUP_FILE).exists());
    assert!(
        verify(&base.path().join("other"), &go_on)
            .unwrap()
            .damaged
            .is_empty()
    );
}

/// Mechanism: names were joined to the data directory as they were, so that a backup that somebody had
/// made up could write anywhere.
#[test]
fn names_that_lead_out_of_a_backup_are_damage() {
    let parsed = |name: &str| {
        let backup = Backup {
            commit: Ts(1),
            taken: "2026-01-01T00:00:00Z".to_owned(),
            format: directory::FORMAT.to_owned(),
            entries: vec![Entry {
                name: name.to_owned(),
                sum: Sum::default(),
            }],
        };
        Backup::parse(&backup.encode())
    };
    assert!(parsed("lsm/keyspaces/1/v7").is_some());
    for name in ["../x", "/etc/x", "lsm/../../x", "lsm/..", "", "."] {
        assert_eq!(parsed(name), None, "{name}");
    }
}

#[tokio::test]
async fn what_is_made_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let base = tempfile::tempdir().unwrap();
    let (data, backup, restored) = (
        base.path().join("data"),
        base.path().join("backup"),
        base.path().join("restored"),
    );
    let engine = engine(&data).await;
    put(&engine, 1, 1).await;
    engine.checkpoint(&backup, &Arc::default()).await.unwrap();
    engine.close().await.unwrap();
    restore(&backup, &restored, &go_on).unwrap();
    let others = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o77;
    for dir in [
        &data,
        &backup,
        &backup.join("lsm/keyspaces"),
        &restored,
        &restored.join("lsm"),
    ] {
        assert_eq!(others(dir), 0, "{}", dir.display());
    }
    assert_eq!(others(&backup.join("lsm/version")), 0);
    for file in [
        backup.join("BACKUP"),
        restored.join("lsm/version"),
        restored.join("MESETA"),
        data.join("MESETA"),
    ] {
        assert_eq!(others(&file), 0, "{}", file.display());
    }
}

/// Mechanism: a restore was cut off between its last two steps, or could not remove its mark. The server opened the
/// directory, and the file in it went on saying that it may be removed.
#[tokio::test]
async fn a_mark_that_a_restore_has_left_goes() {
    let base = tempfile::tempdir().unwrap();
    let data = base.path().join("data");
    engine(&data).await.close().await.unwrap();
    let mark = data.join(directory::RESTORING_FILE);
    fs::write(&mark, "Being restored").unwrap();
    engine(&data).await.close().await.unwrap();
    assert!(!mark.exists());
    // In the place of the version file it keeps servers out.
    fs::remove_file(data.join("MESETA")).unwrap();
    fs::write(&mark, "Being restored").unwrap();
    let refused = Lsm::open(&options(&data)).err();
    assert!(
        matches!(&refused, Some(Error::HalfRestored { .. })),
        "{refused:?}"
    );
}

/// Mechanism: the slow query log, or an rsync that was cut off, left a file among the tables. The library called that
/// damage, and did not say which file.
#[tokio::test]
async fn a_file_of_others_among_the_tables_is_told_and_no_damage() {
    let base = tempfile::tempdir().unwrap();
    let (data, backup) = (base.path().join("data"), base.path().join("backup"));
    let engine = engine(&data).await;
    put(&engine, 1, 1).await;
    engine.checkpoint(&backup, &Arc::default()).await.unwrap();
    engine.close().await.unwrap();
    for dir in [&data, &backup] {
        let stray = dir.join("lsm/keyspaces/1/tables/.5.aB3xYz");
        fs::write(&stray, "").unwrap();
        fs::write(dir.join("lsm/keyspaces/x"), "").unwrap();
        let found = verify(dir, &go_on).unwrap();
        assert!(found.damaged.is_empty(), "{:?}", found.damaged);
        let [note] = found.notes.as_slice() else {
            panic!("{:?}", found.notes)
        };
        assert!(note.contains(".5.aB3xYz"), "{note}");
        drop(found);
        let still = Still::open(dir).unwrap();
        assert_eq!(keys(still.snapshot().as_ref(), SPACE).await.len(), 1);
    }
    let refused = Lsm::open(&options(&data)).err();
    assert!(
        matches!(&refused, Some(Error::ForeignFile { path }) if path.ends_with(".5.aB3xYz")),
        "{refused:?}"
    );
}

#[test]
fn who_may_not_write_where_a_backup_is_to_be_is_told_so() {
    let dir = Path::new("/var/backups/monday");
    for kind in [
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
    ] {
        let told = new_file(dir, &io::Error::from(kind), making);
        assert!(matches!(told, Error::Forbidden { .. }), "{told}");
        assert!(told.to_string().contains("/var/backups/monday"), "{told}");
    }
    let told = new_file(dir, &io::Error::from(io::ErrorKind::StorageFull), making);
    assert!(!matches!(told, Error::Forbidden { .. }), "{told}");
}
