//! Writers at the same time: a unique value has one owner, indexes stay true to their rows, and a
//! definition that is published is kept to by every later commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::{ask, indexes, options, session};
use crate::catalog::{Computed, Include, Index, IndexId, IndexState, KeyPart};
use crate::codec::key::Direction;
use crate::codec::keyspace;
use crate::exec::testing::Server;
use crate::index;
use crate::kv::lsm::{self, Lsm};
use crate::kv::memory::Memory;
use crate::kv::{Engine, Space};
use crate::session::{OpenOptions, Shared};

const WRITERS: u32 = 16;

async fn serve(definition: &str, described: &str) -> (Arc<dyn Engine>, Arc<Shared>) {
    serve_over(Arc::new(Memory::default()), definition, described).await
}

async fn serve_over(
    engine: Arc<dyn Engine>,
    definition: &str,
    described: &str,
) -> (Arc<dyn Engine>, Arc<Shared>) {
    let options = OpenOptions {
        allow_full_scan: true,
        ..options()
    };
    let shared = Shared::over(Arc::clone(&engine), None, &options).await;
    let shared = Arc::new(shared.unwrap());
    let made = ask(&mut session(&shared, 1), definition).await;
    assert_eq!(made, "affected 0");
    indexes::add(&shared, described).await;
    (engine, shared)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_unique_value_is_won_by_one_of_many_writers() {
    const VALUES: u32 = 60;
    let definition = "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)";
    let (engine, shared) = serve(definition, "UNIQUE u (b); i (c) INCLUDE ALL").await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                let mut session = session(&shared, writer);
                let mut won = Vec::new();
                for value in 0..VALUES {
                    let key = value * 100 + writer;
                    let insert = format!("INSERT INTO t VALUES ({key}, {value}, {writer})");
                    let outcome = if writer % 2 == 0 {
                        ask(&mut session, &insert).await
                    } else {
                        ask(&mut session, "BEGIN").await;
                        if writer % 3 == 0 {
                            // A snapshot that may be older than the lock.
                            ask(&mut session, "SELECT * FROM t WHERE a = 0").await;
                        }
                        let inserted = ask(&mut session, &insert).await;
                        let ended = ask(&mut session, "COMMIT").await;
                        if inserted.starts_with("error") {
                            inserted
                        } else {
                            ended
                        }
                    };
                    if outcome.starts_with("affected") {
                        won.push(value);
                    } else {
                        let expected = ["error 1062", "error 1213"];
                        let known = expected.iter().any(|start| outcome.starts_with(start));
                        assert!(known, "{outcome}");
                    }
                    let key = 1_000_000 + key;
                    let insert = format!("INSERT INTO t VALUES ({key}, NULL, NULL)");
                    assert_eq!(ask(&mut session, &insert).await, "affected 1");
                }
                won
            })
        })
        .collect();
    let mut winners = BTreeMap::new();
    for writer in writers {
        for value in writer.await.unwrap() {
            *winners.entry(value).or_insert(0) += 1;
        }
    }
    assert_eq!(winners, (0..VALUES).map(|value| (value, 1)).collect());
    let rows_count = indexes::check(engine.as_ref(), &indexes::table(&shared), "at the end").await;
    assert_eq!(
        rows_count,
        usize::try_from(VALUES + VALUES * WRITERS).unwrap()
    );
}

/// One statement of many that get in each other's way.
fn statement(rng: &mut StdRng) -> String {
    let (key, b, c) = (
        rng.random_range(0..40),
        rng.random_range(0..40),
        rng.random_range(0..5),
    );
    match rng.random_range(0..8) {
        0 => format!("INSERT INTO t VALUES ({key}, {b}, {c})"),
        1 => format!("INSERT IGNORE INTO t VALUES ({key}, {b}, {c}), ({b}, {key}, {c})"),
        2 => format!("REPLACE INTO t VALUES ({key}, {b}, {c})"),
        3 => format!("UPSERT INTO t (a, c) VALUES ({key}, {c})"),
        4 => format!("INSERT INTO t VALUES ({key}, {b}, {c}) ON DUPLICATE KEY UPDATE b = {b} + 1"),
        5 => format!("UPDATE t SET b = {b}, c = c + 1 WHERE a = {key}"),
        6 => format!("UPDATE t SET b = NULL WHERE a IN ({key}, {b})"),
        _ => format!("DELETE FROM t WHERE a = {key}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn indexes_stay_true_to_their_rows_among_many_writers() {
    write_much(Arc::new(Memory::default())).await;
    let dir = tempfile::tempdir().unwrap();
    let mut options = lsm::Options::new(dir.path());
    options.durability = lsm::Durability::Async;
    write_much(Arc::new(Lsm::open(&options).unwrap())).await;
}

async fn write_much(engine: Arc<dyn Engine>) {
    let definition = "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)";
    let described = "UNIQUE u (b) INCLUDE (c); i (c DESC, b); UNIQUE v (b, c) BUILDING; \
                     UNIQUE w ((b DIV 2)) WHERE c > 2; p ((b + c) DESC) WHERE b IS NOT NULL";
    let (engine, shared) = serve_over(engine, definition, described).await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                let mut rng = StdRng::seed_from_u64(u64::from(writer));
                let mut session = session(&shared, writer);
                for _ in 0..150 {
                    let begins = rng.random_bool(0.2);
                    let statements_count = if begins { 3 } else { 1 };
                    if begins {
                        ask(&mut session, "BEGIN").await;
                    }
                    for _ in 0..statements_count {
                        let text = statement(&mut rng);
                        let outcome = ask(&mut session, &text).await;
                        let expected = ["affected", "error 1062", "error 1213"];
                        let known = expected.iter().any(|start| outcome.starts_with(start));
                        assert!(known, "writer {writer}: {text}: {outcome}");
                    }
                    if begins {
                        ask(&mut session, "COMMIT").await;
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    indexes::check(engine.as_ref(), &indexes::table(&shared), "at the end").await;
    engine.close().await.unwrap();
}

fn index_of_b(number: usize) -> Index {
    Index {
        id: IndexId(0),
        name: format!("i{number}"),
        unique: false,
        parts: vec![KeyPart {
            column_idx: 1,
            direction: Direction::Asc,
        }],
        computed: Computed::default(),
        include: Include::None,
        state: IndexState::Building,
        comment: String::new(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_commit_after_an_index_is_published_maintains_it() {
    publish_among_writers(Arc::new(Memory::default())).await;
    let dir = tempfile::tempdir().unwrap();
    let mut options = lsm::Options::new(dir.path());
    options.durability = lsm::Durability::Async;
    publish_among_writers(Arc::new(Lsm::open(&options).unwrap())).await;
}

async fn publish_among_writers(engine: Arc<dyn Engine>) {
    let definition = "CREATE TABLE t (a INT PRIMARY KEY, b INT)";
    let (engine, shared) = serve_over(engine, definition, "none").await;
    let (next, is_over) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let (shared, next) = (Arc::clone(&shared), Arc::clone(&next));
            let is_over = Arc::clone(&is_over);
            tokio::spawn(async move {
                let mut session = session(&shared, writer);
                let insert = session.prepare(b"INSERT INTO t VALUES (?, ?)").unwrap().id;
                while !is_over.load(Ordering::Relaxed) {
                    let key = i64::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap();
                    let key = crate::types::Value::Int(key);
                    let done = session.execute(insert, vec![key.clone(), key]).await;
                    assert!(done.is_ok(), "{:?}", done.err());
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let mut before = Vec::new();
    for number in 0..6 {
        while next.load(Ordering::Relaxed) < 200 * (number + 1) {
            tokio::task::yield_now().await;
        }
        let index = index_of_b(usize::try_from(number).unwrap());
        let table = shared.catalog().add_index(("default", "t"), index).await;
        before.push((table.unwrap(), engine.snapshot()));
    }
    while next.load(Ordering::Relaxed) < 1500 {
        tokio::task::yield_now().await;
    }
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let now = engine.snapshot();
    for (number, (table, snapshot)) in before.iter().enumerate() {
        let space = Space(table.id.0);
        let old = indexes::scan(snapshot.as_ref(), space).await;
        let new = indexes::scan(now.as_ref(), space).await;
        let entries = indexes::scan(now.as_ref(), index::space(&table.indexes[number])).await;
        let owners = entries.iter().map(|(key, value)| {
            index::primary_key(table, &table.indexes[number], (key, value)).unwrap()
        });
        let owners: std::collections::BTreeSet<_> = owners.collect();
        let missing = new
            .keys()
            .filter(|key| !old.contains_key(*key) && !owners.contains(*key));
        assert_eq!(missing.count(), 0, "index {number}");
        assert!(!old.is_empty() && old.len() < new.len());
    }
    drop(before);
    engine.close().await.unwrap();
}

#[tokio::test]
async fn a_transaction_that_wrote_a_changed_table_is_refused_with_1412() {
    let definition = "CREATE TABLE t (a INT PRIMARY KEY, b INT)";
    let (engine, shared) = serve(definition, "none").await;
    let mut session = session(&shared, 1);
    ask(&mut session, "BEGIN").await;
    assert_eq!(
        ask(&mut session, "INSERT INTO t VALUES (1, 1)").await,
        "affected 1"
    );
    let table = shared
        .catalog()
        .add_index(("default", "t"), index_of_b(0))
        .await;
    let text = "error 1412: Table definition has changed, please retry transaction";
    assert_eq!(ask(&mut session, "COMMIT").await, text);
    assert_eq!(
        indexes::check(engine.as_ref(), &table.unwrap(), "").await,
        0
    );
    assert_eq!(
        ask(&mut session, "INSERT INTO t VALUES (1, 1)").await,
        "affected 1"
    );
    // A unique index that is younger than the snapshot cannot be asked.
    ask(&mut session, "BEGIN").await;
    assert_eq!(ask(&mut session, "SELECT * FROM t").await, "rows 1");
    indexes::add(&shared, "UNIQUE u (b)").await;
    assert_eq!(ask(&mut session, "INSERT INTO t VALUES (2, 2)").await, text);
    assert_eq!(ask(&mut session, "ROLLBACK").await, "affected 0");
    assert_eq!(
        ask(&mut session, "INSERT INTO t VALUES (2, 2)").await,
        "affected 1"
    );
}

/// Rows with equal values that a unique index in the making does not know yet must not take each
/// other's entries away: the build would go past a row without an entry.
#[tokio::test]
async fn while_a_unique_index_is_built_an_entry_belongs_to_who_came_first() {
    let definition = "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)";
    let (engine, shared) = serve(definition, "none").await;
    let mut session = session(&shared, 1);
    let rows = "INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0)";
    assert_eq!(ask(&mut session, rows).await, "affected 3");
    indexes::add(&shared, "UNIQUE u (b) INCLUDE (c) BUILDING").await;
    let table = indexes::table(&shared);
    let owners = async || {
        let entries =
            indexes::scan(engine.snapshot().as_ref(), index::space(&table.indexes[0])).await;
        let owners = entries.iter().map(|(key, value)| {
            let key = index::primary_key(&table, &table.indexes[0], (key, value)).unwrap();
            let ty = &table.columns[0].ty;
            let parts = keyspace::decode_row_key(&key, [(ty, Direction::Asc)]).unwrap();
            keyspace::format_key(&parts)
        });
        owners.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        ask(&mut session, "INSERT INTO t VALUES (4, 10, 0)").await,
        "affected 1"
    );
    assert_eq!(owners().await, "/4");
    assert_eq!(
        ask(&mut session, "UPDATE t SET c = 5 WHERE a = 1").await,
        "affected 1"
    );
    assert_eq!(
        ask(&mut session, "UPDATE t SET c = 5 WHERE a = 2").await,
        "affected 1"
    );
    assert_eq!(owners().await, "/4 /2");
    let taken = "error 1062: Duplicate entry '10' for key 't.u'";
    assert_eq!(
        ask(&mut session, "UPDATE t SET b = 10 WHERE a = 3").await,
        taken
    );
    // IGNORE leaves no row as it is for an index that may never be.
    for update in [
        "UPDATE IGNORE t SET b = 10 WHERE a = 3",
        "UPDATE IGNORE t JOIN (SELECT 3 AS k) s ON t.a = s.k SET t.b = 10",
        "INSERT IGNORE INTO t VALUES (3, 0, 0) ON DUPLICATE KEY UPDATE b = 10",
    ] {
        assert_eq!(ask(&mut session, update).await, taken, "{update}");
    }
    assert_eq!(
        ask(&mut session, "UPDATE t SET b = 11 WHERE a = 1").await,
        "affected 1"
    );
    assert_eq!(owners().await, "/4 /1 /2");
    assert_eq!(
        ask(&mut session, "INSERT INTO t VALUES (5, 30, 0)").await,
        "affected 1"
    );
    assert_eq!(
        ask(&mut session, "DELETE FROM t WHERE a = 3").await,
        "affected 1"
    );
    assert_eq!(owners().await, "/4 /1 /2 /5");
    indexes::check(engine.as_ref(), &table, "all were written").await;
}

/// Autocommit statements do not notice that definitions change: they are bound again, reads too.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn statements_go_on_while_tables_are_emptied_and_indexes_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = lsm::Options::new(dir.path());
    options.durability = lsm::Durability::Async;
    let engine = Arc::new(Lsm::open(&options).unwrap());
    let definition = "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)";
    let (engine, shared) = serve_over(engine, definition, "none").await;
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let (shared, is_over) = (Arc::clone(&shared), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut rng = StdRng::seed_from_u64(u64::from(writer));
                let mut session = session(&shared, writer);
                let mut statements_count = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let c = rng.random_range(0..5);
                    let text = match rng.random_range(0..10) {
                        0..3 => format!("SELECT /*+ _l_allow_filtering_ */ * FROM t WHERE c = {c}"),
                        3..5 => format!("SELECT * FROM t WHERE a = {c}"),
                        _ => statement(&mut rng),
                    };
                    let outcome = ask(&mut session, &text).await;
                    let expected = ["affected", "rows", "error 1062", "error 1213"];
                    let known = expected.iter().any(|start| outcome.starts_with(start));
                    assert!(known, "writer {writer}: {text}: {outcome}");
                    statements_count += 1;
                }
                statements_count
            })
        })
        .collect();
    let mut definer = session(&shared, 100);
    for _ in 0..25 {
        indexes::add(&shared, "UNIQUE u (b) BUILDING; i (c)").await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert_eq!(ask(&mut definer, "TRUNCATE TABLE t").await, "affected 0");
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        // Emptied when both were there already, so they know every row.
        indexes::check(engine.as_ref(), &indexes::table(&shared), "emptied").await;
        for name in ["u", "i"] {
            let dropped = format!("DROP INDEX {name} ON t");
            assert_eq!(ask(&mut definer, &dropped).await, "affected 0");
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        assert!(0 < writer.await.unwrap());
    }
    engine.close().await.unwrap();
}

/// Until somebody waits for a row lock.
async fn until_waited_for(shared: &Arc<Shared>) {
    while shared.locks().waiting() == 0 {
        tokio::task::yield_now().await;
    }
}

/// What a statement assigns is assigned once, however often it starts over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_starts_over_assigns_its_variables_anew() {
    let definition = "CREATE TABLE t (a INT PRIMARY KEY, n INT, v INT)";
    let (_, shared) = serve(definition, "none").await;
    let (mut first, mut second) = (session(&shared, 1), session(&shared, 2));
    for update in [
        "UPDATE t SET n = (@i := @i + 1) WHERE a > 0 ORDER BY a",
        "UPDATE t JOIN (SELECT 1 AS one) o ON o.one < t.a + 1 SET n = (@i := @i + 1) WHERE t.a > 0",
    ] {
        ask(&mut first, "DELETE FROM t WHERE a > 0").await;
        let rows = "INSERT INTO t VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0)";
        assert_eq!(ask(&mut first, rows).await, "affected 3");
        ask(&mut second, "BEGIN").await;
        ask(&mut second, "UPDATE t SET v = v + 1 WHERE a = 2").await;
        ask(&mut first, "SET @i := 0").await;
        let updating = tokio::spawn(async move {
            let done = ask(&mut first, update).await;
            (first, done)
        });
        until_waited_for(&shared).await;
        assert_eq!(ask(&mut second, "COMMIT").await, "affected 0");
        let done;
        (first, done) = updating.await.unwrap();
        assert_eq!(done, "affected 3", "{update}");
        let found = "SELECT a FROM t WHERE a > 0 AND n = a";
        assert_eq!(ask(&mut first, found).await, "rows 3", "{update}");
        assert_eq!(
            ask(&mut first, "SELECT a FROM t WHERE a = @i").await,
            "rows 1"
        );
    }
}

/// Who wants values that another transaction gives up waits until it has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_a_transaction_gives_up_is_waited_for() {
    let definition = "CREATE TABLE t (a INT PRIMARY KEY, b INT)";
    let (_, shared) = serve(definition, "UNIQUE u (b)").await;
    let taken = "error 1062: Duplicate entry '5' for key 't.u'";
    for (gives_up, end, told) in [
        ("UPDATE t SET b = 6 WHERE a = 1", "COMMIT", "affected 1"),
        ("DELETE FROM t WHERE a = 1", "COMMIT", "affected 1"),
        ("DELETE FROM t WHERE a = 1", "ROLLBACK", taken),
    ] {
        let (mut first, mut second) = (session(&shared, 1), session(&shared, 2));
        ask(&mut first, "DELETE FROM t WHERE a > 0").await;
        ask(&mut first, "INSERT INTO t VALUES (1, 5)").await;
        ask(&mut first, "BEGIN").await;
        assert_eq!(ask(&mut first, gives_up).await, "affected 1");
        let inserting =
            tokio::spawn(async move { ask(&mut second, "INSERT INTO t VALUES (2, 5)").await });
        until_waited_for(&shared).await;
        assert_eq!(ask(&mut first, end).await, "affected 0");
        assert_eq!(inserting.await.unwrap(), told, "{gives_up}, {end}");
    }
}

const TAKES: &str = "UPDATE t SET s = 'taken' WHERE a = 1";
const FREES: &str = "UPDATE t SET s = 'free' WHERE c = 5";
const GIVES_UP: &str = "DELETE FROM t WHERE a = 2";
const WANTS: &str = "UPDATE t SET b = 6 WHERE a = 1";

/// What an open transaction does, how it ends, what begins meanwhile and waits for it, and what that is told.
const WAITS: [[&str; 5]; 9] = [
    [TAKES, "COMMIT", "", FREES, "affected 1"],
    [TAKES, "ROLLBACK", "", FREES, "affected 0"],
    [TAKES, "COMMIT", "BEGIN", FREES, "affected 1"],
    [GIVES_UP, "COMMIT", "", WANTS, "affected 1"],
    [GIVES_UP, "COMMIT", "BEGIN", WANTS, "affected 1"],
    [
        GIVES_UP,
        "COMMIT",
        "",
        "UPDATE IGNORE t SET b = 6 WHERE a = 1",
        "affected 1",
    ],
    [
        GIVES_UP,
        "ROLLBACK",
        "",
        WANTS,
        "error 1062: Duplicate entry '6' for key 't.u'",
    ],
    [
        GIVES_UP,
        "COMMIT",
        "",
        "INSERT INTO t VALUES (3, 5, 5, 'x') ON DUPLICATE KEY UPDATE b = 6",
        "affected 2",
    ],
    [
        "UPDATE t SET b = 1 WHERE a = 1",
        "COMMIT",
        "",
        "UPDATE t SET b = 2147483645 + b WHERE c = 5",
        "affected 1",
    ],
];

/// Mechanism: an UPDATE read, then waited for who was changing what it had read, and went by what it had read: a value that was
/// free by then was taken all the same, and a row that had got another value kept it, since it was to get the one that it
/// had before.
#[tokio::test]
async fn an_update_that_has_waited_goes_by_what_is_there_then() {
    let definition = "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, s VARCHAR(9))";
    let (_, shared) = serve(definition, "UNIQUE u (b); i (c)").await;
    for [does, end, begin, waits, told] in WAITS {
        let (mut first, mut second) = (session(&shared, 1), session(&shared, 2));
        ask(&mut first, "DELETE FROM t WHERE a > 0").await;
        let rows = "INSERT INTO t VALUES (1, 5, 5, 'free'), (2, 6, 6, 'x')";
        assert_eq!(ask(&mut first, rows).await, "affected 2");
        ask(&mut first, "BEGIN").await;
        assert_eq!(ask(&mut first, does).await, "affected 1");
        let waiting = tokio::spawn(async move {
            if !begin.is_empty() {
                ask(&mut second, begin).await;
            }
            let told = ask(&mut second, waits).await;
            ask(&mut second, "COMMIT").await;
            told
        });
        until_waited_for(&shared).await;
        assert_eq!(ask(&mut first, end).await, "affected 0");
        assert_eq!(waiting.await.unwrap(), told, "{does}, {end}: {waits}");
        if waits == FREES {
            let found = "SELECT * FROM t WHERE a = 1 AND s = 'free'";
            assert_eq!(ask(&mut first, found).await, "rows 1", "{end}");
        }
    }
}

/// An UPDATE of a join gave its locks up with each attempt, and so many at a time met one another until they
/// had no more attempts.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn updates_of_a_join_wait_for_one_another() {
    const CLIENTS: usize = 64;
    const UPDATES: usize = 10;
    let server = Server::start().await;
    for sql in [
        "CREATE TABLE c (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE x (id INT PRIMARY KEY, d INT)",
        "INSERT INTO c VALUES (1, 0)",
        "INSERT INTO x VALUES (1, 1)",
    ] {
        server.run(sql).await.unwrap();
    }
    let clients = (0..CLIENTS).map(|_| {
        let client = server.another();
        tokio::spawn(async move {
            let update = "UPDATE c JOIN x ON x.id = c.id SET c.n = c.n + x.d WHERE c.id = 1";
            for _ in 0..UPDATES {
                client.run(update).await.unwrap();
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    let count = server.run("SELECT n FROM c WHERE id = 1").await.unwrap();
    assert_eq!(count, [[(CLIENTS * UPDATES).to_string()]]);
}
