//! The room that a backup leaves, and journals that it does not take.

use super::super::take;
use super::*;
use crate::kv::expiry::Expiry;
use crate::kv::lsm::{Lsm, Options};
use crate::kv::{Engine, Space, Ts, WriteSet};

/// An engine with a space.
async fn engine(base: &Path) -> Lsm {
    let engine = Lsm::open(&Options {
        cache_bytes: 1 << 20,
        ..Options::new(base.join("data"))
    });
    let engine = engine.unwrap();
    engine.create_space(Space(1)).await.unwrap();
    engine
}

/// Mechanism: journals are always copied, and tables where they cannot be linked, also to the disk of
/// the data: until it was full, and a flush failed.
#[tokio::test]
async fn a_copy_that_would_take_the_room_of_flushes_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let engine = engine(base.path()).await;
    let mut writes = WriteSet::blind();
    writes.put(Space(1), "key", "value");
    engine.commit(writes).await.unwrap();
    let (_, data) = engine.shared.tree.lock().clone().unwrap();
    let cut = take((Ts(u64::MAX), None), &data).unwrap();
    let dir = base.path().join("backup");
    let is_over = AtomicBool::new(false);
    for (left_bytes, is_refused) in [(Some(u64::MAX), true), (Some(0), false), (None, false)] {
        let making = Making::claim(&dir, &is_over).unwrap();
        let mut copy = Copy {
            making: &making,
            left_bytes,
            entries: Vec::new(),
        };
        let copied = copy.all(&cut);
        assert_eq!(matches!(copied, Err(Error::NoRoom { .. })), is_refused);
        assert_eq!(copied.is_ok(), !is_refused, "{copied:?}");
        making.discard();
    }
    // What is left is of the data's disk alone.
    let left = left_bytes(&engine.shared, (base.path(), &cut.engine_dir));
    assert!(64 << 20 <= left.unwrap());
    let elsewhere = left_bytes(&engine.shared, (Path::new("/proc"), &cut.engine_dir));
    assert_eq!(elsewhere, None);
    engine.close().await.unwrap();
}

/// Mechanism: the file `BACKUP` is there before the sync of its directory, and that may fail. What was
/// then taken away from a directory that had been there before was all but that file: half a backup that
/// says it is whole.
#[test]
fn a_backup_that_fails_at_its_very_end_leaves_nothing() {
    let base = tempfile::tempdir().unwrap();
    let is_over = AtomicBool::new(false);
    for is_own in [true, false] {
        let dir = base.path().join("backup");
        if !is_own {
            fs::create_dir(&dir).unwrap();
        }
        let making = Making::claim(&dir, &is_over).unwrap();
        copy::make_dirs(&dir.join(ENGINE_DIR)).unwrap();
        let backup = Backup {
            commit: Ts(1),
            taken: "2024-02-29T00:00:00Z".to_owned(),
            format: directory::FORMAT.to_owned(),
            entries: Vec::new(),
        };
        making.seal(&backup).unwrap();
        assert!(dir.join(BACKUP_FILE).exists());
        making.discard();
        assert_eq!(dir.exists(), !is_own);
        if !is_own {
            assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
        }
    }
}

/// Mechanism: a backup took what is in front of damage for the whole journal, and answered OK.
#[tokio::test]
async fn a_journal_that_is_damaged_in_front_of_commits_is_no_part_of_a_backup() {
    let base = tempfile::tempdir().unwrap();
    let engine = engine(base.path()).await;
    for key in ["a", "b", "c", "d", "e"] {
        let mut writes = WriteSet::blind();
        writes.put(Space(1), key, "value");
        engine.commit(writes).await.unwrap();
    }
    let (_, data) = engine.shared.tree.lock().clone().unwrap();
    let cut = take((Ts(u64::MAX), None), &data).unwrap();
    let (name, file) = cut.journals.first().unwrap();
    let whole = Journals::of(&cut).bytes_of(name, file).unwrap();
    let path = cut.engine_dir.join(name);
    let damage = |at: usize| {
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
    };
    damage(whole.len() / 2);
    let told = Journals::of(&cut).bytes_of(name, file);
    assert!(
        matches!(&told, Err(Error::Corrupt { what }) if what.contains(name)),
        "{told:?}"
    );
    damage(whole.len() / 2);
    // At its end it is what is being written, unless another journal follows.
    damage(whole.len() - 2);
    let mut journals = Journals::of(&cut);
    assert!(journals.bytes_of(name, file).unwrap().len() < whole.len());
    damage(whole.len() - 2);
    let told = journals.bytes_of("the next", file);
    assert!(
        matches!(&told, Err(Error::Corrupt { what }) if what.contains(name)),
        "{told:?}"
    );
    engine.close().await.unwrap();
}

/// As the committer takes it.
async fn cut_of(engine: &Lsm) -> Cut {
    let (sender, answer) = oneshot::channel();
    engine.shared.queue.push(Request::Cut(sender)).unwrap();
    answer.await.unwrap().unwrap()
}

/// Mechanism: each journal behind the last commit was read, and 64 MiB of zeros take longer than all else.
#[tokio::test]
async fn behind_the_last_commit_no_journal_is_read() {
    let base = tempfile::tempdir().unwrap();
    let engine = engine(base.path()).await;
    let cut = cut_of(&engine).await;
    let (name, file) = cut.journals.first().unwrap();
    let mut journals = Journals::of(&cut);
    assert!(!journals.bytes_of(name, file).unwrap().is_empty());
    // Were it read, it would be taken once more.
    assert!(journals.bytes_of("the next", file).unwrap().is_empty());
    journals.end().unwrap();
    engine.close().await.unwrap();
}

/// Mechanism: a damaged end of the journal was taken for what was being written, and the backup was one
/// commit short and whole.
#[tokio::test]
async fn a_damaged_last_commit_is_no_part_of_a_backup() {
    let base = tempfile::tempdir().unwrap();
    let engine = engine(base.path()).await;
    let mut writes = WriteSet::blind();
    writes.put(Space(1), "key", "value");
    engine.commit(writes).await.unwrap();
    let cut = cut_of(&engine).await;
    let (name, file) = cut.journals.first().unwrap();
    let end = Journals::of(&cut).bytes_of(name, file).unwrap().len();
    let path = cut.engine_dir.join(name);
    let whole = fs::read(&path).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let zeroed = || {
        let mut bytes = whole.clone();
        bytes[end - 8..end].fill(0);
        bytes
    };
    for damaged in [flipped(end - 30), flipped(end - 2), zeroed()] {
        fs::write(&path, &damaged).unwrap();
        let mut journals = Journals::of(&cut);
        assert!(journals.bytes_of(name, file).unwrap().len() < end);
        let told = journals.end();
        assert!(
            matches!(&told, Err(Error::Corrupt { what }) if what.contains(name)),
            "{told:?}"
        );
    }
    fs::write(&path, &whole).unwrap();
    // Nothing is known of a run that left no batch: its journals are gone, since the tables have all.
    Journals::of(&cut).end().unwrap();
    engine.close().await.unwrap();
}

/// Mechanism: what is written without a commit, the time by which values had ended, was shown after what
/// had been asked meanwhile. A cut that was asked for did not have it, and compaction may have removed values by it.
#[tokio::test]
async fn what_was_written_without_a_commit_belongs_to_the_cut() {
    let base = tempfile::tempdir().unwrap();
    let expiry = Arc::new(Expiry::with_clock(|_| None, || 10));
    let engine = Lsm::open(&Options {
        cache_bytes: 1 << 20,
        expiry: Some(Arc::clone(&expiry)),
        ..Options::new(base.path().join("data"))
    });
    let engine = engine.unwrap();
    engine.create_space(Space(1)).await.unwrap();
    // As compaction does: it is written when the committer has something to do, which is the cut.
    expiry.want_kept(10);
    let cut = cut_of(&engine).await;
    let mut journals = Journals::of(&cut);
    for (name, file) in &cut.journals {
        journals.bytes_of(name, file).unwrap();
    }
    assert!(journals.is_over);
    assert_eq!(expiry.kept_ms(), 10);
    engine.close().await.unwrap();
}
