//! Tables of queries: they are found when they are filled.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::catalog::Table;
use crate::error::{Code, Result};
use crate::exec::testing::Server;
use crate::kv::Engine;
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

/// Mechanism: a COMMIT that had taken place was answered with an error, where storage of a temporary table could not be
/// given back behind it, and that of others was forgotten until the next start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storage_that_the_engine_keeps_is_given_back_later() {
    let faulty = Arc::new(Faulty::new(Arc::new(Memory::default()), Faults::None));
    let engine: Arc<dyn Engine> = Arc::clone(&faulty) as _;
    let server = Server::on(Arc::clone(&engine)).await;
    server
        .run("CREATE TABLE t (id INT PRIMARY KEY, v INT, INDEX (v))")
        .await
        .unwrap();
    let before = engine.spaces().live.len();
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
    assert_eq!(engine.spaces().live.len(), before + 3 + 2);
    server.catalog().give_back_owed().await;
    assert_eq!(engine.spaces().live.len(), before + 3 + 2);
    faulty.keep_spaces(false);
    server.catalog().give_back_owed().await;
    assert_eq!(engine.spaces().live.len(), before);
    assert_eq!(server.check("t").await, ["status OK"]);
}
