//! Builds through sessions on an engine in memory: what they enter, how they fail, and that they go
//! on where they were.

mod rekey;
mod room;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::record::Record;
use super::*;
use crate::exec::testing::Server;
use crate::kv::Space;

/// The entries of an index, by key.
async fn entries(server: &Server, index: &str) -> Vec<(Key, Vec<u8>)> {
    let table = server.table("t");
    let position = table.index_position(index).unwrap();
    server.rows_of(Space(table.indexes[position].id.0)).await
}

async fn filled(rows: u32) -> Server {
    fill(Server::start().await, rows).await
}

async fn fill(server: Server, rows: u32) -> Server {
    server
        .run("CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(20))")
        .await
        .unwrap();
    for start in (0..rows).step_by(1000) {
        let end = (start + 1000).min(rows);
        let values: Vec<String> = (start..end)
            .map(|a| format!("({a}, {}, 'c{}')", a % 97, a % 13))
            .collect();
        let sql = format!("INSERT INTO t VALUES {}", values.join(", "));
        server.run(&sql).await.unwrap();
    }
    server
}

#[tokio::test]
async fn a_build_enters_every_row_over_several_pages() {
    let server = filled(5000).await;
    server
        .run("CREATE INDEX i ON t (b DESC) INCLUDE (c)")
        .await
        .unwrap();
    assert_eq!(entries(&server, "i").await.len(), 5000);
    assert_eq!(server.check("t").await, ["status OK"]);
    let system = server.rows_of(SYSTEM_SPACE).await;
    let is_record = |key: &Key| matches!(SystemKey::decode(key), Ok(SystemKey::Build(_)));
    assert!(!system.iter().any(|(key, _)| is_record(key)));
}

#[tokio::test]
async fn a_duplicate_ends_a_unique_build_and_the_index_is_gone() {
    let server = filled(300).await;
    let error = server
        .run("CREATE UNIQUE INDEX i ON t (b)")
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::DuplicateEntry);
    assert_eq!(error.message(), "Duplicate entry '0' for key 't.i'");
    assert_eq!(server.table("t").indexes.len(), 0);
    server
        .run("CREATE UNIQUE INDEX i ON t (b, a)")
        .await
        .unwrap();
    assert_eq!(server.check("t").await, ["status OK"]);
}

#[tokio::test]
async fn a_build_goes_on_at_its_position_after_a_restart() {
    let server = filled(3000).await;
    server.run("CREATE INDEX i ON t (b)").await.unwrap();
    let whole = entries(&server, "i").await;
    let table = server.table("t");
    let index = table.indexes[0].id;
    // As if the server had been killed after the row 1499.
    let rows = server.rows_of(Space(table.id.0)).await;
    let position = rows[1500].0.clone();
    let mut writes = WriteSet::blind();
    for (key, _) in &whole {
        let row = crate::index::primary_key(&table, &table.indexes[0], (key, &whole[0].1));
        if position <= row.unwrap() {
            writes.delete(Space(index.0), key.clone());
        }
    }
    let record = Record {
        on_failure: OnFailure::Drop,
        position,
    };
    writes.put(SYSTEM_SPACE, Record::key(index), record.encode());
    let orphan = Record::key(IndexId(u32::MAX));
    writes.put(SYSTEM_SPACE, orphan.clone(), record.encode());
    server.engine().commit(writes).await.unwrap();
    let building = (index, IndexState::Building);
    server.catalog().set_index_state(building).await.unwrap();

    let server = server.restart().await;
    server.builds_ended().await;
    assert_eq!(server.table("t").indexes[0].state, IndexState::Active);
    assert_eq!(entries(&server, "i").await, whole);
    assert_eq!(server.check("t").await, ["status OK"]);
    let system = server.rows_of(SYSTEM_SPACE).await;
    assert!(!system.iter().any(|(key, _)| *key == orphan));
}

/// A build that goes on after a restart, and one that nobody waits for.
#[tokio::test]
async fn builds_that_no_statement_waits_for_are_processes() {
    let server = filled(3000).await;
    let daemons = async |server: &Server| {
        let sql = "SELECT DB, STATE FROM information_schema.PROCESSLIST WHERE COMMAND = 'Daemon'";
        server.run(sql).await.unwrap()
    };
    // Never given back: the server that was killed does nothing more.
    std::mem::forget(server.backfill().hold().await);
    server.run("CREATE INDEX i ON t (b) ASYNC").await.unwrap();
    let waits = "waiting for another index build: default.t.i";
    assert_eq!(daemons(&server).await, [["default", waits]]);
    let server = server.restart().await;
    loop {
        let told = daemons(&server).await;
        let state = told[0][1].as_str();
        if state.starts_with("building index default.t.i: ") {
            break;
        }
        assert_eq!(state, waits);
        tokio::task::yield_now().await;
    }
    server.builds_ended().await;
    assert!(daemons(&server).await.is_empty());
    assert_eq!(server.check("t").await, ["status OK"]);
}

/// An index that is built again, and the server ends before its turn: it is known that it is not dropped when that
/// fails.
#[tokio::test]
async fn an_index_that_waits_to_be_built_again_has_a_record() {
    let server = filled(50).await;
    for sql in [
        "CREATE UNIQUE INDEX i ON t (b)",
        "ALTER INDEX i ON t DISABLED",
        "INSERT INTO t VALUES (1000, 7, 'another')",
    ] {
        server.run(sql).await.unwrap();
    }
    std::mem::forget(server.backfill().hold().await);
    let mut again = Box::pin(server.run("ALTER INDEX i ON t ACTIVE"));
    let key = Record::key(server.table("t").indexes[0].id);
    let mut record = None;
    for _ in 0..1000 {
        tokio::select! {
            ended = &mut again => panic!("{ended:?}"),
            () = tokio::task::yield_now() => {}
        }
        record = server
            .backfill()
            .engine
            .get_newest(SYSTEM_SPACE, &key)
            .await
            .unwrap();
    }
    let record = Record::decode(&record.unwrap()).unwrap();
    assert_eq!(record.on_failure, OnFailure::Disable);
    drop(again);
    let server = server.restart().await;
    server.builds_ended().await;
    assert_eq!(server.table("t").indexes[0].state, IndexState::Disabled);
}

#[tokio::test]
async fn builds_wait_for_their_turn_and_can_be_killed() {
    let server = filled(10).await;
    let backfill = Arc::clone(server.backfill());
    let turn = backfill.turn.lock().await;
    server.run("CREATE INDEX i ON t (b) ASYNC").await.unwrap();
    server.run("CREATE INDEX j ON t (c) ASYNC").await.unwrap();
    let table = server.table("t");
    assert!(
        table
            .indexes
            .iter()
            .all(|index| index.state == IndexState::Building)
    );
    let error = server.run("ALTER INDEX i ON t INACTIVE").await.unwrap_err();
    assert_eq!(error.code(), Code::WrongUsage);
    assert!(error.message().contains("is being built"), "{error}");
    let jobs: Vec<Arc<Job>> = backfill.jobs.lock().values().cloned().collect();
    assert_eq!(
        jobs[0].state(),
        "waiting for another index build: default.t.i"
    );
    jobs[0].kill();
    assert_eq!(
        jobs[0].ended().await.unwrap_err().code(),
        Code::QueryInterrupted
    );
    assert_eq!(server.table("t").index_position("i"), None);
    drop(turn);
    jobs[1].ended().await.unwrap();
    assert_eq!(server.table("t").indexes[0].state, IndexState::Active);
    assert_eq!(server.check("t").await, ["status OK"]);
}

#[tokio::test]
async fn a_table_that_goes_ends_its_build() {
    let server = filled(10).await;
    let backfill = Arc::clone(server.backfill());
    let turn = backfill.turn.lock().await;
    server.run("CREATE INDEX i ON t (b) ASYNC").await.unwrap();
    let job = backfill.jobs.lock().values().next().cloned().unwrap();
    server.run("TRUNCATE TABLE t").await.unwrap();
    assert_eq!(server.table("t").indexes[0].state, IndexState::Active);
    drop(turn);
    let error = job.ended().await.unwrap_err();
    assert_eq!(error.code(), Code::TableDefinitionChanged);
    assert_eq!(server.table("t").indexes.len(), 1);
    assert_eq!(server.check("t").await, ["status OK"]);
}

/// A statement in line waited for the build before it, for nothing.
#[tokio::test]
async fn a_table_that_goes_ends_a_build_in_line() {
    for sql in ["DROP TABLE t", "DROP INDEX i ON t", "TRUNCATE TABLE t"] {
        let server = filled(10).await;
        let backfill = Arc::clone(server.backfill());
        let _turn = backfill.turn.lock().await;
        server.run("CREATE INDEX i ON t (b) ASYNC").await.unwrap();
        let job = backfill.jobs.lock().values().next().cloned().unwrap();
        server.run(sql).await.unwrap();
        let error = job.ended().await.unwrap_err();
        assert_eq!(error.code(), Code::TableDefinitionChanged, "{sql}");
    }
}

#[tokio::test]
async fn a_disabled_index_is_built_again_or_stays_disabled() {
    let server = filled(100).await;
    server.run("CREATE UNIQUE INDEX i ON t (a)").await.unwrap();
    let before = entries(&server, "i").await;
    server.run("ALTER INDEX i ON t DISABLED").await.unwrap();
    assert_eq!(entries(&server, "i").await.len(), 0);
    server.run("ALTER INDEX i ON t ACTIVE").await.unwrap();
    assert_eq!(entries(&server, "i").await, before);
    assert_eq!(server.check("t").await, ["status OK"]);

    server
        .run("CREATE TABLE u (a INT PRIMARY KEY, b INT, UNIQUE i (b))")
        .await
        .unwrap();
    server.run("ALTER INDEX i ON u DISABLED").await.unwrap();
    server
        .run("INSERT INTO u VALUES (1, 1), (2, 1)")
        .await
        .unwrap();
    let error = server.run("ALTER INDEX i ON u ACTIVE").await.unwrap_err();
    assert_eq!(error.code(), Code::DuplicateEntry);
    assert_eq!(server.table("u").indexes[0].state, IndexState::Disabled);
}

#[tokio::test]
async fn values_too_long_for_a_key_end_a_build() {
    let server = Server::start().await;
    server
        .run("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR)")
        .await
        .unwrap();
    let sql = format!("INSERT INTO t VALUES (1, '{}')", "x".repeat(2049));
    server.run(&sql).await.unwrap();
    let error = server.run("CREATE INDEX i ON t (b)").await.unwrap_err();
    assert_eq!(error.code(), Code::KeyTooLong);
    assert!(error.message().contains("2049 bytes in row /1"), "{error}");
    assert_eq!(server.table("t").indexes.len(), 0);
}

#[tokio::test]
async fn a_build_enters_what_the_index_computes() {
    let server = filled(3000).await;
    let indexes = [
        ("CREATE INDEX i ON t (c(2), b)", 3000),
        (
            "CREATE INDEX j ON t ((b * 2) DESC) INCLUDE (c) WHERE c = 'c1'",
            231,
        ),
        (
            "CREATE UNIQUE INDEX k ON t ((a + b)) WHERE a < 50 AND b IS NOT NULL",
            50,
        ),
    ];
    for (sql, expected) in indexes {
        server.run(sql).await.unwrap();
        let name = sql
            .split(" INDEX ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        assert_eq!(entries(&server, name).await.len(), expected, "{sql}");
    }
    assert_eq!(server.check("t").await, ["status OK"]);
    for (sql, message) in [
        (
            "CREATE UNIQUE INDEX l ON t (c(1))",
            "Duplicate entry 'c' for key 't.l'",
        ),
        (
            "CREATE INDEX l ON t ((a * 9223372036854775807))",
            "BIGINT value is out of range in '($1 * 9223372036854775807)'",
        ),
    ] {
        let error = server.run(sql).await.unwrap_err();
        assert_eq!(error.message(), message);
        assert_eq!(server.table("t").indexes.len(), 3);
    }
}

/// The build may fail yet, and then there was no such index.
#[tokio::test]
async fn no_row_goes_for_a_unique_index_that_is_being_built() {
    let server = filled(0).await;
    server
        .run("CREATE TABLE u (a INT PRIMARY KEY, b INT, UNIQUE i (b))")
        .await
        .unwrap();
    server.run("INSERT INTO u VALUES (1, 5)").await.unwrap();
    let building = (server.table("u").indexes[0].id, IndexState::Building);
    server.catalog().set_index_state(building).await.unwrap();
    for sql in [
        "REPLACE INTO u VALUES (2, 5)",
        "INSERT INTO u VALUES (2, 5) ON DUPLICATE KEY UPDATE b = 7",
        "INSERT IGNORE INTO u VALUES (2, 5)",
    ] {
        let error = server.run(sql).await.unwrap_err();
        assert_eq!(error.code(), Code::DuplicateEntry, "{sql}");
    }
    server
        .run("REPLACE INTO u VALUES (3, 6), (3, 7)")
        .await
        .unwrap();
    let rows = server.run("SELECT a, b FROM u WHERE a > 0").await.unwrap();
    assert_eq!(rows, [["1", "5"], ["3", "7"]]);
}

#[tokio::test]
async fn a_braked_build_enters_every_row_too() {
    let server = filled(1500).await;
    server.run("CREATE INDEX i ON t (b)").await.unwrap();
    let whole = entries(&server, "i").await;
    let table = server.table("t");
    let index = table.indexes[0].id;
    let mut writes = WriteSet::blind();
    for (key, _) in &whole {
        writes.delete(Space(index.0), key.clone());
    }
    server.engine().commit(writes).await.unwrap();
    let building = (index, IndexState::Building);
    let catalog = Arc::clone(server.catalog());
    catalog.set_index_state(building).await.unwrap();
    // Clients that never rest.
    let statements = AtomicU64::new(0);
    let traffic: Traffic = Arc::new(move || statements.fetch_add(100, Ordering::Relaxed));
    let backfill = Arc::new(Backfill::new(
        (Arc::clone(server.engine()), catalog),
        (traffic, Arc::new(|| 1)),
        Arc::default(),
    ));
    let target = of_index(index);
    let job = backfill.start(target, &server.table("t"));
    job.ended().await.unwrap();
    assert_eq!(entries(&server, "i").await, whole);
    assert_eq!(server.table("t").indexes[0].state, IndexState::Active);
    assert_eq!(server.check("t").await, ["status OK"]);
}

/// The build of an index of `t`.
fn of_index(index: IndexId) -> Target {
    Target {
        database: "default".to_owned(),
        table: "t".to_owned(),
        goal: Goal::Index,
        index,
        on_failure: OnFailure::Drop,
    }
}

/// Mechanism: whoever waited for it did so for ever, and for the same begun anew.
#[tokio::test]
async fn a_build_whose_task_panics_has_an_end() {
    let server = filled(10).await;
    server.run("CREATE INDEX i ON t (b)").await.unwrap();
    let index = server.table("t").indexes[0].id;
    let building = (index, IndexState::Building);
    let catalog = Arc::clone(server.catalog());
    catalog.set_index_state(building).await.unwrap();
    let traffic: Traffic = Arc::new(|| -> u64 { panic!("as a bug does") });
    let backfill = Arc::new(Backfill::new(
        (Arc::clone(server.engine()), catalog),
        (traffic, Arc::new(|| 1)),
        Arc::default(),
    ));
    let target = of_index(index);
    for _ in 0..2 {
        let job = backfill.start(target.clone(), &server.table("t"));
        let ended = tokio::time::timeout(Duration::from_secs(30), job.ended()).await;
        let error = ended.unwrap().unwrap_err();
        assert_eq!(error.code(), Code::Unknown, "{error}");
        assert_eq!(backfill.count(), 0);
    }
}
