//! Tables of queries: they are found when they are filled.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::catalog::{IndexState, Table};
use crate::error::{Code, Result};
use crate::exec::cancel::Stop;
use crate::exec::testing::{Server, session};
use crate::kv::Engine;
use crate::kv::lsm::{self, Lsm};
use crate::kv::memory::Memory;
use crate::kv::testing::{Faults, Faulty};

/// Two rows, the second of which comes late.
const ROWS: &str = "SELECT 1 AS id UNION ALL SELECT 2 + SLEEP(0.3)";
/// By then the first has come.
const WAIT: Duration = Duration::from_millis(100);

/// Makes a table of [`ROWS`] in another session, and returns in the middle of it.
async fn making(server: &Server, create: &str) -> JoinHandle<Result<Vec<Vec<String>>>> {
    let session = server.another();
    let sql = format!("{create} (PRIMARY KEY (id)) {ROWS}");
    let task = tokio::spawn(async move { session.run(&sql).await });
    tokio::time::sleep(WAIT).await;
    task
}

async fn code_of(server: &Server, sql: &str) -> Code {
    server.run(sql).await.unwrap_err().code()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_a_query_is_found_when_its_rows_are_there() {
    let server = Server::start().await;
    let made = making(&server, "CREATE TABLE n").await;
    assert_eq!(
        code_of(&server, "SELECT * FROM n").await,
        Code::TableMissing
    );
    made.await.unwrap().unwrap();
    let rows = server.run("SELECT * FROM n").await.unwrap();
    assert_eq!(rows, [["1"], ["2"]]);
}

/// Mechanism: a table that could not be filled was dropped by its name, with what others had put into it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_another_session_makes_meanwhile_stays() {
    let server = Server::start().await;
    for (create, told) in [
        ("CREATE TABLE n", Some(Code::TableExists)),
        ("CREATE TABLE IF NOT EXISTS n", None),
    ] {
        let made = making(&server, create).await;
        server.run("CREATE TABLE n (v INT)").await.unwrap();
        server.run("INSERT INTO n VALUES (7)").await.unwrap();
        assert_eq!(made.await.unwrap().err().map(|error| error.code()), told);
        assert_eq!(server.run("SELECT v FROM n").await.unwrap(), [["7"]]);
        server.run("DROP TABLE n").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_dropped_meanwhile_ends_it() {
    let server = Server::start().await;
    server.run("CREATE DATABASE d").await.unwrap();
    let made = making(&server, "CREATE TABLE d.n").await;
    server.run("DROP DATABASE d").await.unwrap();
    let error = made.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::UnknownDatabase);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_stays_of_a_table_that_a_crash_meets_half_filled() {
    let engine: Arc<dyn Engine> = Arc::new(Memory::default());
    let server = Server::on(Arc::clone(&engine)).await;
    server
        .run("CREATE TABLE t (id INT PRIMARY KEY, v INT, INDEX (v))")
        .await
        .unwrap();
    let before = engine.spaces().live;
    let mut half = Table::clone(&server.table("t"));
    half.name = "n".to_owned();
    server.catalog().foster(half).await.unwrap();
    assert_eq!(engine.spaces().live.len(), before.len() + 2);
    let server = server.restart().await;
    assert_eq!(
        code_of(&server, "SELECT * FROM n").await,
        Code::TableMissing
    );
    assert_eq!(engine.spaces().live, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_stays_of_a_table_that_cannot_be_filled() {
    let engine: Arc<dyn Engine> = Arc::new(Memory::default());
    let server = Server::on(Arc::clone(&engine)).await;
    let before = engine.spaces().live;
    let twice = "CREATE TABLE n (k INT PRIMARY KEY) SELECT 1 AS k UNION ALL SELECT 1";
    for autocommit in [1, 0] {
        let set = format!("SET autocommit = {autocommit}");
        server.run(&set).await.unwrap();
        assert_eq!(code_of(&server, twice).await, Code::DuplicateEntry);
        assert_eq!(
            code_of(&server, "SELECT * FROM n").await,
            Code::TableMissing
        );
        assert_eq!(engine.spaces().live, before);
    }
}

/// A server on an engine, with a table of two spaces; how many there are.
async fn with_indexed_table(faulty: &Arc<Faulty>) -> (Server, usize) {
    let server = Server::on(Arc::clone(faulty) as _).await;
    server
        .run("CREATE TABLE t (id INT PRIMARY KEY, v INT, INDEX (v))")
        .await
        .unwrap();
    (server, faulty.spaces().live.len())
}

/// Mechanism: a COMMIT that had taken place was answered with an error, where storage of a temporary table could not be
/// given back behind it, and that of others was forgotten until the next start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storage_that_the_engine_keeps_is_given_back_later() {
    let faulty = Arc::new(Faulty::new(Arc::new(Memory::default()), Faults::None));
    let (server, before) = with_indexed_table(&faulty).await;
    let live = || faulty.spaces().live.len();
    for sql in [
        "BEGIN",
        "CREATE TEMPORARY TABLE x (id INT PRIMARY KEY, v INT, INDEX (v))",
        "CREATE TEMPORARY TABLE y (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1, 1)",
        "DROP TEMPORARY TABLE x, y",
    ] {
        server.run(sql).await.unwrap();
    }
    faulty.keep_spaces(true);
    server.run("COMMIT").await.unwrap();
    server.run("TRUNCATE TABLE t").await.unwrap();
    assert_eq!(live(), before + 3 + 2);
    server.catalog().give_back_owed().await;
    assert_eq!(live(), before + 3 + 2);
    faulty.keep_spaces(false);
    server.catalog().give_back_owed().await;
    assert_eq!(live(), before);
    assert_eq!(server.check("t").await, ["status OK"]);
}

/// Who gives back thousands of spaces holds up nobody who changes a definition: of two that drop the same the second
/// finds it done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storage_is_given_back_by_two_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let opened = Lsm::open(&lsm::Options {
        cache_bytes: 1 << 20,
        ..lsm::Options::new(dir.path())
    });
    let faulty = Arc::new(Faulty::new(Arc::new(opened.unwrap()), Faults::None));
    let (server, before) = with_indexed_table(&faulty).await;
    let live = || faulty.spaces().live.len();
    faulty.keep_spaces(true);
    for _ in 0..3 {
        server.run("TRUNCATE TABLE t").await.unwrap();
    }
    assert_eq!(live(), before + 3 * 2);
    faulty.keep_spaces(false);
    let catalog = server.catalog();
    tokio::join!(
        catalog.give_back_owed(),
        async { server.run("TRUNCATE TABLE t").await.unwrap() },
        catalog.give_back_owed(),
    );
    assert_eq!(live(), before);
    faulty.close().await.unwrap();
}

/// Mechanism: the wait for the first ended with the server, and the others were taken away as after a failure.
#[tokio::test]
async fn all_builds_of_a_statement_go_on_when_the_server_starts_again() {
    let server = Server::start().await;
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)",
        "INSERT INTO t VALUES (1, 2, 3), (4, 5, 6)",
    ] {
        server.run(sql).await.unwrap();
    }
    let turn = server.backfill().hold().await;
    let mut session = session(server.shared(), 2);
    let cancel = Arc::clone(&session.cancel);
    let altering = tokio::spawn(async move {
        let sql = "ALTER TABLE t ADD INDEX a (a), ADD INDEX b (b)";
        session.query(sql.as_bytes()).await.map(drop)
    });
    while server.backfill().count() < 2 {
        assert!(!altering.is_finished());
        tokio::task::yield_now().await;
    }
    cancel.stop(Stop::ShuttingDown);
    let error = altering.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::ShuttingDown);
    server.backfill().close().await;
    drop(turn);
    let server = server.restart().await;
    server.builds_ended().await;
    let table = server.table("t");
    let indexes = table.indexes.iter();
    let built: Vec<_> = indexes
        .map(|index| (index.name.as_str(), index.state))
        .collect();
    assert_eq!(
        built,
        [("a", IndexState::Active), ("b", IndexState::Active)]
    );
    assert_eq!(server.check("t").await, ["status OK"]);
}

/// Mechanism: only a COMMIT gave back what temporary tables had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn temporary_tables_leave_nothing_however_their_transaction_ends() {
    let faulty = Arc::new(Faulty::new(Arc::new(Memory::default()), Faults::None));
    let (server, before) = with_indexed_table(&faulty).await;
    for end in [
        "ROLLBACK",
        "COMMIT",
        "BEGIN",
        "TRUNCATE TABLE t",
        "ROLLBACK AND CHAIN",
    ] {
        for sql in [
            "BEGIN",
            "CREATE TEMPORARY TABLE x (id INT PRIMARY KEY)",
            "INSERT INTO x VALUES (1)",
            "DROP TEMPORARY TABLE x",
            end,
        ] {
            server.run(sql).await.unwrap();
        }
        assert_eq!(faulty.spaces().live.len(), before, "{end}");
    }
}
