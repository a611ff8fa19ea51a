//! Going back to savepoints, and what a transaction compares with at its commit.

use std::time::Instant;

use super::*;
use crate::exec::locks::Locks;
use crate::kv::memory::Memory;
use crate::kv::{Key, WriteSet};

const ROWS: Space = Space(7);

async fn begun() -> (Arc<dyn Engine>, Arc<Catalog>, Arc<Locks>) {
    let engine: Arc<dyn Engine> = Arc::new(Memory::default());
    let catalog = Arc::new(Catalog::open(Arc::clone(&engine)).await.unwrap());
    engine.create_space(ROWS).await.unwrap();
    (engine, catalog, Arc::default())
}

fn transaction(of: &(Arc<dyn Engine>, Arc<Catalog>, Arc<Locks>)) -> Transaction {
    let locks = of.2.owner(0);
    Transaction::new(
        Arc::clone(&of.0),
        Arc::clone(&of.1),
        locks,
        Duration::from_secs(1),
    )
}

fn put(key: &str, value: &str, by: Option<i64>) -> StatementWrites {
    let mut writes = StatementWrites::default();
    let key: Key = key.into();
    let new = writes.put_new(ROWS, key.clone(), value.into());
    assert!(new.is_ok());
    writes.must_be_unchanged(ROWS, key);
    writes.grow(ROWS, by);
    writes
}

fn delete(key: &str) -> StatementWrites {
    let mut writes = StatementWrites::default();
    writes.delete(ROWS, key.into());
    writes.grow(ROWS, Some(-1));
    writes
}

#[test]
fn deletes_are_not_asked_for() {
    let mut writes = delete("abc");
    assert_eq!((writes.bytes(), writes.put_bytes), (3, 0));
    writes.put(ROWS, b"d".to_vec(), b"ef".to_vec());
    writes.put_new(ROWS, b"g".to_vec(), b"h".to_vec()).unwrap();
    writes
        .put_new(ROWS, b"g".to_vec(), b"h".to_vec())
        .unwrap_err();
    assert_eq!((writes.bytes(), writes.put_bytes), (8, 5));
}

/// All that a commit would be made of.
fn told(transaction: &Transaction) -> String {
    let staged = &transaction.staged;
    let rows: Vec<_> = staged.overlay.iter().collect();
    let growth = staged.overlay.growth.of(ROWS);
    let (absent, unchanged) = (&staged.absent, &staged.unchanged);
    let bytes = staged.overlay.bytes();
    format!("{rows:?} {growth:?} {absent:?} {unchanged:?} {bytes}")
}

#[tokio::test]
async fn going_back_takes_back_all_that_was_written_behind_the_mark() {
    let place = begun().await;
    let mut transaction = transaction(&place);
    transaction.snapshot();
    transaction.stage(put("a", "1", Some(1))).unwrap();
    let mut states = Vec::new();
    for (name, statement) in [
        ("one", put("b", "22", Some(1))),
        ("two", delete("a")),
        ("three", put("a", "333", None)),
        ("four", delete("b")),
        ("five", put("b", "4", Some(1))),
    ] {
        states.push((name, told(&transaction)));
        transaction.savepoint(name).unwrap();
        transaction.stage(statement).unwrap();
    }
    while let Some((name, state)) = states.pop() {
        let behind = told(&transaction);
        transaction.rollback_to(name).unwrap();
        assert_eq!(told(&transaction), state, "{name}, before: {behind}");
        transaction.stage(put("c", "5", Some(1))).unwrap();
        transaction.rollback_to(name).unwrap();
        assert_eq!(told(&transaction), state, "{name} again");
    }
    let mark = transaction.mark();
    transaction.stage(delete("a")).unwrap();
    let state = told(&transaction);
    transaction.end_mark(mark, true);
    assert_eq!(told(&transaction), state);
}

/// Each savepoint and each mark of a statement copied all that was written before.
#[tokio::test]
async fn many_savepoints_cost_what_is_written_behind_them() {
    const COUNT: u32 = 10_000;
    let place = begun().await;
    let mut transaction = transaction(&place);
    transaction.snapshot();
    let began = Instant::now();
    for number in 0..COUNT {
        transaction.savepoint("again").unwrap();
        let mark = transaction.mark();
        let key = format!("{number:08}");
        transaction.stage(put(&key, "value", Some(1))).unwrap();
        transaction.end_mark(mark, true);
        if number % 2 == 0 {
            transaction.rollback_to("again").unwrap();
        }
    }
    let took = began.elapsed();
    assert_eq!(transaction.staged.overlay.iter().count(), 5_000);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

/// A transaction that reads anew with each statement compares with what the first of its writes was
/// made from.
#[tokio::test]
async fn reading_anew_forgets_no_conflict() {
    let place = begun().await;
    let commit = |key: &str, value: &str| {
        let mut writes = WriteSet::blind();
        writes.put(ROWS, key, value);
        writes
    };
    place.0.commit(commit("a", "1")).await.unwrap();
    let mut transaction = transaction(&place);
    transaction.reads_anew = true;
    transaction.snapshot();
    place.0.commit(commit("a", "2")).await.unwrap();
    transaction.begin_statement(Duration::from_secs(1));
    let seen = transaction.view().get(ROWS, b"a").await.unwrap();
    assert_eq!(seen.as_deref(), Some(b"2".as_slice()));
    let mut writes = StatementWrites::default();
    writes.put(ROWS, b"a".to_vec(), b"3".to_vec());
    writes.must_be_unchanged(ROWS, b"a".to_vec());
    transaction.stage(writes).unwrap();
    place.0.commit(commit("a", "9")).await.unwrap();
    transaction.begin_statement(Duration::from_secs(1));
    let seen = transaction.view().get(ROWS, b"a").await.unwrap();
    assert_eq!(seen.as_deref(), Some(b"3".as_slice()));
    let memory = transaction.commit_memory().unwrap();
    let failed = transaction.commit(memory).await.unwrap_err();
    let Failed::Engine(CommitError::Conflict { .. }) = failed else {
        panic!("{failed:?}");
    };
    let left = place.0.get_newest(ROWS, b"a").await.unwrap();
    assert_eq!(left.as_deref(), Some(b"9".as_slice()));
}
