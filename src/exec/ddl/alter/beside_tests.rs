//! What others do while an ALTER TABLE looks at rows or builds indexes: none of it is lost, whatever
//! becomes of the statement, and nothing of the statement outlives it.

use tokio::task::JoinHandle;

use crate::error::{Code, Result};
use crate::exec::testing::Server;

type Rows = Result<Vec<Vec<String>>>;

async fn run_all(server: &Server, statements: &[&str]) {
    for sql in statements {
        if let Err(error) = server.run(sql).await {
            panic!("{sql}: {error}");
        }
    }
}

/// Four thousand rows (a, 7): several pages.
async fn fill(server: &Server, columns: &str) {
    for chunk in 0..8 {
        let rows = (chunk * 500 + 1..=(chunk + 1) * 500).map(|key| format!("({key}, 7)"));
        let rows: Vec<String> = rows.collect();
        let sql = format!("INSERT INTO t ({columns}) VALUES {}", rows.join(", "));
        server.run(&sql).await.unwrap();
    }
}

/// Begins a statement in another session; comes back when it looks at rows.
async fn looking(server: &Server, sql: &'static str) -> JoinHandle<Rows> {
    let session = server.another();
    let task = tokio::spawn(async move { session.run(sql).await });
    while !server.table("t").is_pledged() {
        assert!(!task.is_finished(), "{sql} did not look at rows");
        tokio::task::yield_now().await;
    }
    task
}

async fn ended(task: JoinHandle<Rows>) -> Option<Code> {
    assert!(!task.is_finished(), "the look was too short for this test");
    task.await.unwrap().err().map(|error| error.code())
}

async fn server_with_rows() -> Server {
    let server = Server::start().await;
    run_all(&server, &["CREATE TABLE t (a INT PRIMARY KEY, b INT)"]).await;
    fill(&server, "a, b").await;
    server
}

/// An ADD UNIQUE that met a duplicate put the whole definition back as it was at its beginning.
#[tokio::test]
async fn a_failed_alter_takes_back_what_it_did_and_nothing_else() {
    let server = Server::start().await;
    let define = "CREATE TABLE t (a INT PRIMARY KEY, b INT, v INT, w INT DEFAULT 1 COMMENT 'old', x INT) \
                  COMMENT 'first'";
    let insert = "INSERT INTO t (a, b, v) VALUES (1, 1, 5), (2, 2, 5)";
    run_all(&server, &[define, insert]).await;
    let held = server.backfill().hold().await;
    let session = server.another();
    let failing = tokio::spawn(async move {
        let alter = "ALTER TABLE t ADD UNIQUE KEY uv (v), ADD COLUMN mine INT DEFAULT 4, \
                     ADD COLUMN kept INT, RENAME COLUMN x TO y, MODIFY b INT COMMENT 'mine' AFTER w, \
                     ALTER COLUMN w SET DEFAULT 2, COMMENT 'mine', SET 'TTL' = '1000'";
        session.run(alter).await
    });
    while server.table("t").indexes.is_empty() {
        tokio::task::yield_now().await;
    }
    let meanwhile = [
        "ALTER TABLE t ADD COLUMN d INT",
        "UPDATE t SET d = 10 * a, kept = 3, mine = 9 WHERE a > 0",
        "CREATE INDEX ik ON t (kept) ASYNC",
        "ALTER TABLE t RENAME COLUMN v TO vv",
        "ALTER TABLE t MODIFY w INT DEFAULT 2 COMMENT 'new'",
        "ALTER TABLE t SET 'COMPRESSION' = 'zstd'",
        "RENAME TABLE t TO u",
    ];
    run_all(&server, &meanwhile).await;
    drop(held);
    let error = failing.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::DuplicateEntry, "{error}");
    server.builds_ended().await;
    let shown = server.run("SHOW CREATE TABLE u").await.unwrap();
    let expected = "CREATE TABLE `u` (\n  `a` int NOT NULL,\n  `b` int DEFAULT NULL,\n  \
                    `vv` int DEFAULT NULL,\n  `w` int DEFAULT '1' COMMENT 'new',\n  \
                    `x` int DEFAULT NULL,\n  `kept` int DEFAULT NULL,\n  `d` int DEFAULT NULL,\n  \
                    PRIMARY KEY (`a`),\n  KEY `ik` (`kept`)\n)";
    assert!(shown[0][1].starts_with(expected), "{}", shown[0][1]);
    assert!(shown[0][1].contains("COMMENT='first'"), "{}", shown[0][1]);
    assert!(
        shown[0][1].contains("zstd") && !shown[0][1].contains("TTL"),
        "{}",
        shown[0][1]
    );
    let rows = server.run("SELECT a, kept, d FROM u").await.unwrap();
    assert_eq!(rows, [["1", "3", "10"], ["2", "3", "20"]]);
    assert_eq!(server.check("u").await, ["status OK"]);
}

/// What somebody else has set since stays: here a TTL, and with it the rows that have ended.
#[tokio::test]
async fn a_failed_alter_leaves_the_ttl_of_somebody_else() {
    let server = Server::start().await;
    let define = "CREATE TABLE t (a INT PRIMARY KEY, v INT)";
    run_all(&server, &[define, "INSERT INTO t VALUES (1, 5), (2, 5)"]).await;
    let held = server.backfill().hold().await;
    let session = server.another();
    let failing = tokio::spawn(async move {
        let alter = "ALTER TABLE t ADD UNIQUE KEY uv (v), SET 'TTL' = '1000'";
        session.run(alter).await
    });
    while server.table("t").indexes.is_empty() {
        tokio::task::yield_now().await;
    }
    run_all(&server, &["ALTER TABLE t SET 'TTL' = '2000'"]).await;
    drop(held);
    let error = failing.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::DuplicateEntry, "{error}");
    let ttl = server.table("t").wide.ttl.clone().unwrap();
    assert_eq!(ttl.seconds, Some(2000));
    assert_eq!(server.check("t").await, ["status OK"]);
}

/// A look that goes on beside other changes of the table ends as if they had come before it.
#[tokio::test]
async fn a_look_survives_other_changes() {
    let server = server_with_rows().await;
    let task = looking(&server, "ALTER TABLE t MODIFY b INT NOT NULL").await;
    run_all(&server, &["ALTER TABLE t COMMENT 'x', ADD COLUMN c INT"]).await;
    let refused = server.run("INSERT INTO t (a, b) VALUES (9000, NULL)").await;
    assert_eq!(refused.unwrap_err().code(), Code::ColumnNotNull);
    let second = server.run("ALTER TABLE t MODIFY b INT NOT NULL").await;
    assert_eq!(second.unwrap_err().code(), Code::LockWaitTimeout);
    run_all(&server, &["RENAME TABLE t TO u"]).await;
    assert_eq!(ended(task).await, None);
    let table = server.table("u");
    assert!(!table.columns[1].nullable && table.columns.len() == 3);
    assert!(!table.is_pledged());
}

/// The pledge of a statement that ended in an error was left where the table had another name by
/// then: it refused NULL, and every later look, until the server was started again.
#[tokio::test]
async fn a_pledge_ends_with_its_statement() {
    let server = server_with_rows().await;
    run_all(&server, &["INSERT INTO t VALUES (5000, NULL)"]).await;
    let failing = "ALTER TABLE t MODIFY b INT NOT NULL";
    let task = looking(&server, failing).await;
    run_all(&server, &["DROP TABLE t", "UNDROP TABLE t TO u"]).await;
    assert_eq!(ended(task).await, Some(Code::NullInvalid));
    run_all(
        &server,
        &["INSERT INTO u VALUES (6000, NULL)", "RENAME TABLE u TO t"],
    )
    .await;
    // Somebody else renames the column: there is nothing to be changed by that name.
    run_all(&server, &["DELETE FROM t WHERE a >= 5000"]).await;
    let task = looking(&server, failing).await;
    run_all(&server, &["ALTER TABLE t RENAME COLUMN b TO bb"]).await;
    assert_eq!(ended(task).await, Some(Code::TableDefinitionChanged));
    run_all(
        &server,
        &[
            "INSERT INTO t VALUES (6000, NULL)",
            "DELETE FROM t WHERE a = 6000",
        ],
    )
    .await;
    // A client that goes away in the middle.
    let task = looking(&server, "ALTER TABLE t MODIFY bb INT NOT NULL").await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    run_all(
        &server,
        &[
            "INSERT INTO t VALUES (6000, NULL)",
            "DELETE FROM t WHERE a = 6000",
        ],
    )
    .await;
    let task = looking(&server, "ALTER TABLE t MODIFY bb INT NOT NULL").await;
    run_all(&server, &["TRUNCATE TABLE t"]).await;
    // What is emptied has another id, and is looked at again.
    assert_eq!(ended(task).await, None);
    let table = server.table("t");
    assert!(!table.columns[1].nullable && !table.is_pledged());
}

/// A pledge that somebody else has made since is none of this statement's.
#[tokio::test]
async fn a_look_does_not_pass_for_another_one() {
    let server = server_with_rows().await;
    let task = looking(&server, "ALTER TABLE t MODIFY b INT NOT NULL").await;
    let other = crate::catalog::Pledger::default();
    let announced = server.catalog().announce(("default", "t"), |table| {
        let column = &mut table.columns[1];
        column.pledge = Some(other.pledge(column.clone()));
        Ok(())
    });
    announced.await.unwrap();
    run_all(&server, &["INSERT INTO t VALUES (9000, NULL)"]).await;
    assert_eq!(ended(task).await, Some(Code::TableDefinitionChanged));
    assert!(server.table("t").is_pledged());
}

/// Ids were counted from what a scan had seen; a greater one that came meanwhile was run into.
#[tokio::test]
async fn ids_given_while_a_column_becomes_counted_are_passed() {
    for (ty, given) in [("INT NOT NULL", "1000000"), ("VARCHAR(20)", "'1000000'")] {
        let server = Server::start().await;
        let define = format!("CREATE TABLE t (a {ty}, b INT, PRIMARY KEY (b), KEY (a))");
        run_all(&server, &[&define]).await;
        fill(&server, "b, a").await;
        run_all(&server, &["INSERT INTO t (b, a) VALUES (0, 5000)"]).await;
        let task = looking(
            &server,
            "ALTER TABLE t MODIFY a INT NOT NULL AUTO_INCREMENT",
        )
        .await;
        let sql = format!("INSERT INTO t (b, a) VALUES (-1, {given})");
        run_all(&server, &[&sql, "UPDATE t SET a = 1000007 WHERE b = 5"]).await;
        assert_eq!(ended(task).await, None);
        run_all(&server, &["INSERT INTO t (b) VALUES (-2)"]).await;
        let id = server.run("SELECT a FROM t WHERE b = -2").await.unwrap();
        assert_eq!(id, [["1000008"]]);
        let server = server.restart().await;
        run_all(&server, &["INSERT INTO t (b) VALUES (-3)"]).await;
        let again = "SELECT COUNT(*) FROM t WHERE b = -3 AND a > 1000008";
        assert_eq!(server.run(again).await.unwrap(), [["1"]]);
    }
}

/// Begins a statement in another session whose new indexes wait to be built; comes back when they are
/// published.
async fn building(server: &Server, sql: &'static str) -> JoinHandle<Rows> {
    let count = server.table("t").indexes.len();
    let session = server.another();
    let task = tokio::spawn(async move { session.run(sql).await });
    while server.table("t").indexes.len() == count {
        assert!(!task.is_finished(), "{sql} did not build an index");
        tokio::task::yield_now().await;
    }
    task
}

fn names_of(server: &Server) -> (Vec<String>, Vec<String>) {
    let table = server.table("t");
    let columns = table.columns.iter().map(|column| column.name.clone());
    let indexes = table.indexes.iter().map(|index| index.name.clone());
    (columns.collect(), indexes.collect())
}

/// What is dropped behind the build of an index was looked for by its name once more: what somebody
/// else had given that name meanwhile was dropped, and its values were lost.
#[tokio::test]
async fn what_waits_to_be_dropped_is_what_its_name_meant() {
    let server = Server::start().await;
    let define = "CREATE TABLE t (a INT PRIMARY KEY, tmp INT, k INT, c INT, w INT, KEY old (k), \
                  KEY other (w), KEY named (c))";
    run_all(&server, &[define, "INSERT INTO t VALUES (1, 2, 3, 4, 5)"]).await;
    let held = server.backfill().hold().await;
    let alter = "ALTER TABLE t ADD INDEX n (c), DROP COLUMN tmp, DROP INDEX old, \
                 RENAME INDEX named TO renamed";
    let task = building(&server, alter).await;
    let meanwhile = [
        "ALTER TABLE t RENAME COLUMN tmp TO keep, RENAME COLUMN k TO tmp",
        "ALTER TABLE t RENAME INDEX old TO older",
        "ALTER TABLE t RENAME INDEX other TO old",
        "ALTER TABLE t RENAME INDEX named TO mine",
        "ALTER TABLE t RENAME INDEX old TO named",
        "ALTER TABLE t RENAME INDEX named TO old",
    ];
    run_all(&server, &meanwhile).await;
    drop(held);
    task.await.unwrap().unwrap();
    let (columns, indexes) = names_of(&server);
    assert_eq!(columns, ["a", "tmp", "c", "w"]);
    assert_eq!(indexes, ["old", "renamed", "n"]);
    let rows = server.run("SELECT a, tmp, c, w FROM t WHERE a = 1").await;
    assert_eq!(rows.unwrap(), [["1", "3", "4", "5"]]);
    assert_eq!(server.check("t").await, ["status OK"]);
}

/// What cannot be dropped any more ends the statement, which leaves nothing.
#[tokio::test]
async fn what_cannot_be_dropped_any_more_leaves_the_table_as_it_was() {
    let meanwhile = [
        // It has other storage by now, as another index of that name would.
        ("ALTER INDEX k1 ON t DISABLED", Code::TableDefinitionChanged),
        ("DROP INDEX k2 ON t", Code::WrongAutoKey),
    ];
    for (sql, code) in meanwhile {
        let server = Server::start().await;
        let define = "CREATE TABLE t (a INT PRIMARY KEY, b INT AUTO_INCREMENT, c INT, KEY k1 (b), \
                      KEY k2 (b))";
        run_all(&server, &[define, "INSERT INTO t (a, c) VALUES (1, 2)"]).await;
        let held = server.backfill().hold().await;
        let alter = "ALTER TABLE t ADD INDEX n (c), DROP INDEX k1, ADD COLUMN d INT";
        let task = building(&server, alter).await;
        run_all(&server, &[sql]).await;
        let (_, left) = names_of(&server);
        drop(held);
        let error = task.await.unwrap().unwrap_err();
        assert_eq!(error.code(), code, "{sql}: {error}");
        let (columns, indexes) = names_of(&server);
        assert_eq!(columns, ["a", "b", "c"], "{sql}");
        let left: Vec<String> = left.into_iter().filter(|name| name != "n").collect();
        assert_eq!(indexes, left, "{sql}");
        run_all(&server, &["ALTER TABLE t COMMENT 'whole'"]).await;
    }
}
