//! What others do while an ALTER TABLE looks at rows or builds indexes: none of it is lost, whatever
//! becomes of the statement, and nothing of the statement outlives it.

use std::time::Duration;

use tokio::task::JoinHandle;

use crate::catalog::IndexState;
use crate::error::{Code, Result};
use crate::exec::testing::Server;
use crate::types::ColumnType;

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

/// A column that the statement only restated became as narrow again as it had been, over values that came
/// meanwhile and that nobody had looked at: an ENUM's new member was read as ''.
#[tokio::test]
async fn what_became_wider_meanwhile_ends_the_statement() {
    let server = Server::start().await;
    let define = "CREATE TABLE t (a INT PRIMARY KEY, b INT, n INT NOT NULL DEFAULT 1, \
                  e ENUM('x', 'y'), c VARCHAR(3))";
    run_all(&server, &[define]).await;
    fill(&server, "a, b").await;
    let alter = "ALTER TABLE t MODIFY b INT NOT NULL, MODIFY n INT NOT NULL COMMENT 'k', \
                 MODIFY e ENUM('x', 'y') COMMENT 'k', MODIFY c VARCHAR(3) COMMENT 'k'";
    for meanwhile in [
        "ALTER TABLE t MODIFY n INT NULL",
        "ALTER TABLE t MODIFY e ENUM('x', 'y', 'z')",
        "ALTER TABLE t MODIFY c VARCHAR(9)",
    ] {
        let task = looking(&server, alter).await;
        run_all(&server, &[meanwhile]).await;
        let insert = "INSERT IGNORE INTO t VALUES (9000, 1, NULL, 'z', 'longer')";
        run_all(&server, &[insert]).await;
        let select = "SELECT n, e, c FROM t WHERE a = 9000";
        let before = server.run(select).await.unwrap();
        let code = ended(task).await;
        assert_eq!(code, Some(Code::TableDefinitionChanged), "{meanwhile}");
        assert_eq!(server.run(select).await.unwrap(), before, "{meanwhile}");
        let back = "ALTER TABLE t MODIFY n INT NOT NULL DEFAULT 1, MODIFY e ENUM('x', 'y'), \
                    MODIFY c VARCHAR(3)";
        run_all(&server, &["DELETE FROM t WHERE a = 9000", back]).await;
    }
}

/// A column that is counted went on where another one was that had been dropped, which may be behind the
/// last id that it can have.
#[tokio::test]
async fn a_column_does_not_count_on_where_a_dropped_one_was() {
    let server = Server::start().await;
    let define =
        "CREATE TABLE t (k INT PRIMARY KEY, id INT AUTO_INCREMENT, n TINYINT, KEY (id), KEY (n))";
    let setup = [
        define,
        "INSERT INTO t VALUES (1, 1000, 7)",
        "ALTER TABLE t DROP COLUMN id",
        "ALTER TABLE t MODIFY n TINYINT NOT NULL AUTO_INCREMENT",
    ];
    run_all(&server, &setup).await;
    let server = server.restart().await;
    run_all(&server, &["INSERT INTO t (k) VALUES (2)"]).await;
    let rows = server.run("SELECT k, n FROM t").await.unwrap();
    assert_eq!(rows, [["1", "7"], ["2", "8"]]);
    let server = server.restart().await;
    run_all(&server, &["INSERT INTO t (k) VALUES (3)"]).await;
    let id = server.run("SELECT COUNT(*) FROM t WHERE n > 8").await;
    assert_eq!(id.unwrap(), [["1"]]);
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

/// A statement whose table somebody emptied meanwhile was 1412, and all that it had asked for was there.
#[tokio::test]
async fn a_table_that_is_emptied_meanwhile_has_what_was_asked_for() {
    for (sql, columns) in [
        ("CREATE UNIQUE INDEX n ON t (b)", &["a", "b"][..]),
        (
            "ALTER TABLE t ADD COLUMN c INT, ADD INDEX n (b)",
            &["a", "b", "c"][..],
        ),
    ] {
        let server = Server::start().await;
        run_all(&server, &["CREATE TABLE t (a INT PRIMARY KEY, b INT)"]).await;
        run_all(&server, &["INSERT INTO t VALUES (1, 1), (2, 1)"]).await;
        let held = server.backfill().hold().await;
        let task = building(&server, sql).await;
        run_all(
            &server,
            &["TRUNCATE TABLE t", "INSERT INTO t (a, b) VALUES (3, 3)"],
        )
        .await;
        drop(held);
        task.await.unwrap().unwrap();
        assert_eq!(names_of(&server).0, columns, "{sql}");
        assert_eq!(names_of(&server).1, ["n"], "{sql}");
        assert_eq!(server.table("t").indexes[0].state, IndexState::Active);
        assert_eq!(server.check("t").await, ["status OK"]);
    }
}

/// An index that others had built again meanwhile ended the statement with 1412, and with it those beside it that
/// nobody had touched.
#[tokio::test]
async fn an_index_that_is_built_again_meanwhile_is_waited_for() {
    for (sql, count) in [
        ("CREATE INDEX n ON t (b)", 1),
        ("ALTER TABLE t ADD INDEX n (b), ADD INDEX m (c)", 2),
    ] {
        let server = Server::start().await;
        let define = "CREATE TABLE t (a INT PRIMARY KEY, b FLOAT, c INT)";
        run_all(
            &server,
            &[define, "INSERT INTO t VALUES (1, 1, 1), (2, 1, 1)"],
        )
        .await;
        let held = server.backfill().hold().await;
        let first = building(&server, sql).await;
        let session = server.another();
        let second =
            tokio::spawn(async move { session.run("ALTER TABLE t MODIFY b DOUBLE").await });
        while server.table("t").columns[1].ty == ColumnType::Float {
            tokio::task::yield_now().await;
        }
        // The build of the index as it was has ended by then, and the other one's is in line.
        tokio::time::sleep(Duration::from_millis(200)).await;
        drop(held);
        first.await.unwrap().unwrap();
        let table = server.table("t");
        let states = table.indexes.iter().map(|index| index.state);
        assert_eq!(
            states.collect::<Vec<_>>(),
            vec![IndexState::Active; count],
            "{sql}"
        );
        second.await.unwrap().unwrap();
        assert_eq!(server.check("t").await, ["status OK"], "{sql}");
    }
}

/// A name that two indexes say went with the first and came back with the second, and so the first was dropped
/// before the second was built.
#[tokio::test]
async fn an_index_of_an_undeclared_name_stays_until_the_one_in_its_place_is_built() {
    let server = Server::start().await;
    let setup = [
        "CREATE TABLE t (a INT PRIMARY KEY, `*_n` INT)",
        "INSERT INTO t (a, x_n) VALUES (1, 5), (2, 5)",
        "CREATE INDEX old ON t (x_n)",
    ];
    run_all(&server, &setup).await;
    for sql in [
        "ALTER TABLE t DROP INDEX old, ADD UNIQUE INDEX new (x_n)",
        "ALTER TABLE t DROP INDEX old, ADD COLUMN c INT, ADD UNIQUE INDEX new ((a DIV 10))",
    ] {
        let error = server.run(sql).await.unwrap_err();
        assert_eq!(error.code(), Code::DuplicateEntry, "{sql}: {error}");
        assert_eq!(
            names_of(&server),
            (vec!["a".into(), "x_n".into()], vec!["old".into()])
        );
    }
}

/// A name that an index left which could not be built passed for a column that the statement had changed, and
/// what it had added stayed.
#[tokio::test]
async fn what_a_failed_build_left_is_no_change() {
    let server = Server::start().await;
    let setup = [
        "CREATE TABLE t (a INT PRIMARY KEY, b INT) WITH (DYNAMIC_COLUMNS='true')",
        "INSERT INTO t (a, b, x) VALUES (1, 1, 'r'), (2, 1, 'r')",
    ];
    run_all(&server, &setup).await;
    for sql in [
        "CREATE UNIQUE INDEX u ON t ((CAST(x AS CHAR(9))))",
        "ALTER TABLE t ADD COLUMN c INT, ADD UNIQUE INDEX u (b)",
    ] {
        let error = server.run(sql).await.unwrap_err();
        assert_eq!(error.code(), Code::DuplicateEntry, "{sql}: {error}");
    }
    assert_eq!(names_of(&server).0, ["a", "b"]);
    run_all(&server, &["ALTER TABLE t ADD COLUMN x VARCHAR(9)"]).await;
    assert_eq!(names_of(&server).0, ["a", "b", "x"]);
}

/// Ids began once more where a column lost its `AUTO_INCREMENT`, another one was about to get it, and the first
/// statement was taken back.
#[tokio::test]
async fn ids_go_on_where_a_column_gets_its_counting_back() {
    let server = Server::start().await;
    let setup = [
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, b INT, KEY (n))",
        "INSERT INTO t (n, b) VALUES (1, 1), (2, 1), (3, NULL)",
    ];
    run_all(&server, &setup).await;
    let held = server.backfill().hold().await;
    let failing = building(
        &server,
        "ALTER TABLE t MODIFY id INT, ADD UNIQUE INDEX u (b)",
    )
    .await;
    // It fails when n has been announced to be counted.
    let other = "ALTER TABLE t MODIFY n INT NOT NULL AUTO_INCREMENT, MODIFY b INT NOT NULL";
    assert!(server.run(other).await.is_err());
    drop(held);
    let error = failing.await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::DuplicateEntry);
    run_all(&server, &["INSERT INTO t (n, b) VALUES (4, 1)"]).await;
    let rows = server
        .run("SELECT COUNT(*) FROM t WHERE id > 3")
        .await
        .unwrap();
    assert_eq!(rows, [["1"]]);
}
