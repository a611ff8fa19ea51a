//! Dropped tables: over a restart, past their time, past their number, and with an index that was
//! being built.

use crate::catalog::TRASH_TABLES_MAX;
use crate::error::Code;
use crate::exec::testing::Server;
use crate::kv::Space;

async fn with_rows(server: &Server) {
    server
        .run("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY kb (b))")
        .await
        .unwrap();
    server
        .run("INSERT INTO t VALUES (1, 10), (2, 20)")
        .await
        .unwrap();
}

fn live(server: &Server) -> Vec<Space> {
    server.engine().spaces().live
}

#[tokio::test]
async fn a_dropped_table_outlives_a_restart_and_comes_back_with_its_index() {
    let server = Server::start().await;
    with_rows(&server).await;
    let spaces = live(&server);
    server.run("DROP TABLE t").await.unwrap();
    let server = server.restart().await;
    assert_eq!(live(&server), spaces);
    server.run("UNDROP TABLE t TO u").await.unwrap();
    let server = server.restart().await;
    let found = server.run("SELECT a FROM u WHERE b = 20").await.unwrap();
    assert_eq!(found, [["2"]]);
    assert_eq!(server.check("u").await, ["status OK"]);
    assert_eq!(server.run("SHOW TRASH").await.unwrap().len(), 0);
}

#[tokio::test]
async fn its_storage_comes_back_when_its_time_is_over_or_it_is_purged() {
    let server = Server::start().await;
    let empty = live(&server);
    with_rows(&server).await;
    server.run("DROP TABLE t").await.unwrap();
    assert_ne!(live(&server), empty);
    let told = &server.run("SHOW TRASH").await.unwrap()[0];
    assert_eq!((told[0].as_str(), told[1].as_str()), ("default", "t"));
    for (like, count) in [("t", 1), ("_", 1), ("default", 0), ("u", 0)] {
        let sql = format!("SHOW TRASH LIKE '{like}'");
        assert_eq!(server.run(&sql).await.unwrap().len(), count, "{like}");
    }
    server.run("PURGE TRASH").await.unwrap();
    assert_eq!(live(&server), empty);

    server
        .run("SET GLOBAL trash_retention = 3600")
        .await
        .unwrap();
    with_rows(&server).await;
    server.run("DROP TABLE t").await.unwrap();
    assert_eq!(server.shared().sweep_trash().await.unwrap(), 0);
    server.run("SET GLOBAL trash_retention = 0").await.unwrap();
    assert_eq!(server.shared().sweep_trash().await.unwrap(), 1);
    assert_eq!(live(&server), empty);

    // And nothing is kept from now on.
    with_rows(&server).await;
    server.run("DROP TABLE t").await.unwrap();
    assert_eq!(live(&server), empty);
    server
        .run("SET GLOBAL trash_retention = 86400")
        .await
        .unwrap();
}

#[tokio::test]
async fn past_their_number_the_oldest_go() {
    let server = Server::start().await;
    for number in 0..TRASH_TABLES_MAX + 3 {
        let sql = format!("CREATE TABLE n{number} (a INT PRIMARY KEY)");
        server.run(&sql).await.unwrap();
        server.run(&format!("DROP TABLE n{number}")).await.unwrap();
    }
    let kept = server.run("SHOW TRASH").await.unwrap();
    assert_eq!(kept.len(), TRASH_TABLES_MAX);
    assert_eq!(live(&server).len(), TRASH_TABLES_MAX + 1);
    let gone = server.run("UNDROP TABLE n2").await.unwrap_err();
    assert_eq!(gone.code(), Code::UnknownTable);
    server.run("UNDROP TABLE n3").await.unwrap();
}

#[tokio::test]
async fn a_database_with_more_than_that_number_leaves_no_record_of_what_is_gone() {
    let server = Server::start().await;
    server.run("CREATE DATABASE many").await.unwrap();
    for number in 0..TRASH_TABLES_MAX + 3 {
        let sql = format!("CREATE TABLE many.n{number} (a INT PRIMARY KEY)");
        server.run(&sql).await.unwrap();
    }
    server.run("DROP DATABASE many").await.unwrap();
    let spaces = live(&server);
    assert_eq!(spaces.len(), TRASH_TABLES_MAX + 1);
    let server = server.restart().await;
    let kept = server.run("SHOW TRASH").await.unwrap();
    assert_eq!(kept.len(), TRASH_TABLES_MAX);
    assert_eq!(live(&server), spaces);
    server.run("CREATE DATABASE many").await.unwrap();
    let gone = server.run("UNDROP TABLE many.n2").await.unwrap_err();
    assert_eq!(gone.code(), Code::UnknownTable);
    server.run("UNDROP TABLE many.n3").await.unwrap();
    let found = server.run("SELECT a FROM many.n3 WHERE a = 1").await;
    assert_eq!(found.unwrap().len(), 0);
}

#[tokio::test]
async fn an_index_that_was_being_built_is_disabled_and_can_be_built_again() {
    let server = Server::start().await;
    with_rows(&server).await;
    let held = server.backfill().hold().await;
    server
        .run("CREATE INDEX late ON t (b, a) ASYNC")
        .await
        .unwrap();
    server.run("DROP TABLE t").await.unwrap();
    drop(held);
    server.builds_ended().await;
    server.run("UNDROP TABLE t").await.unwrap();
    let states = server.run("SHOW INDEX FROM t").await.unwrap();
    let disabled = states
        .iter()
        .filter(|row| row.contains(&"DISABLED".to_owned()));
    assert_eq!(disabled.count(), 2);
    server.run("ALTER INDEX late ON t ACTIVE").await.unwrap();
    let found = server
        .run("SELECT a FROM t FORCE INDEX (late) WHERE b = 10")
        .await;
    assert_eq!(found.unwrap(), [["1"]]);
    assert_eq!(server.check("t").await, ["status OK"]);
}
