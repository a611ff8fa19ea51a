//! The ids that a client is told of: in the OK packet, and by `LAST_INSERT_ID()`.
//!
//! An id that was made for a row that met another was told as that of a row. It is told now of rows that
//! were inserted; a row that ON DUPLICATE KEY UPDATE changed is told in the packet alone. The numbers are
//! those of MariaDB.

use std::time::Duration;

use crate::error::Code;
use crate::exec::testing::Server;

/// A server with `t (id, u UNIQUE, n)`, which has the row `(1, 'x', 0)`, and another table.
async fn start() -> Server {
    let server = Server::start().await;
    for sql in [
        "SET auto_increment_mode = CONSECUTIVE",
        "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, u VARCHAR(9) UNIQUE, n INT)",
        "CREATE TABLE s (k INT PRIMARY KEY, n INT)",
        "INSERT INTO s VALUES (1, 40)",
        "INSERT INTO t (u, n) VALUES ('x', 0)",
    ] {
        server.run(sql).await.unwrap();
    }
    server
}

async fn function(server: &Server) -> u64 {
    let rows = server.run("SELECT LAST_INSERT_ID()").await.unwrap();
    rows[0][0].parse().unwrap()
}

#[tokio::test]
async fn ids_that_are_told_are_those_of_rows() {
    let server = start().await;
    // What is run, the id in the packet, LAST_INSERT_ID() after it.
    let cases = [
        ("INSERT IGNORE INTO t (u, n) VALUES ('x', 1)", 0, 1),
        ("INSERT IGNORE INTO t (u, n) SELECT 'x', 1", 0, 1),
        (
            "INSERT INTO t (u, n) VALUES ('x', 1) ON DUPLICATE KEY UPDATE n = n + 1",
            1,
            1,
        ),
        (
            "INSERT INTO t (u, n) VALUES ('x', 1) ON DUPLICATE KEY UPDATE n = n",
            0,
            1,
        ),
        ("DELETE FROM s WHERE k = 2", 0, 1),
        ("INSERT INTO t (id, u, n) VALUES (10, 'ten', 1)", 10, 1),
        (
            "INSERT INTO t (u, n) VALUES ('x', 1), ('y', 1) ON DUPLICATE KEY UPDATE n = n + 1",
            12,
            12,
        ),
        (
            "INSERT INTO t (u, n) VALUES ('y', 1) ON DUPLICATE KEY UPDATE n = n + 1",
            12,
            12,
        ),
        (
            "INSERT INTO t (u, n) VALUES ('x', 1) \
             ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(id)",
            1,
            1,
        ),
        // MySQL's idiom for it, though `id` is the primary key.
        (
            "INSERT INTO t (u, n) VALUES ('x', 1) \
             ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = 5",
            1,
            1,
        ),
        (
            "INSERT IGNORE INTO t (u, n) VALUES ('x', 1), ('a', 1), ('b', 1)",
            17,
            17,
        ),
        ("UPDATE s SET n = LAST_INSERT_ID(n + 1) WHERE k = 1", 41, 41),
        ("REPLACE INTO t (u, n) VALUES ('a', 2)", 19, 19),
    ];
    for (sql, packet, after) in cases {
        assert_eq!(server.insert_id(sql).await, packet, "{sql}");
        assert_eq!(function(&server).await, after, "after {sql}");
    }
}

/// What `LAST_INSERT_ID(n)` is told is of its own statement.
#[tokio::test]
async fn what_another_statement_said_is_not_told() {
    let server = start().await;
    for sql in ["SELECT LAST_INSERT_ID(77)", "DO LAST_INSERT_ID(78)"] {
        server.run(sql).await.unwrap();
        let update = "UPDATE s SET n = n + 1 WHERE k = 1";
        assert_eq!(server.insert_id(update).await, 0, "{sql}");
    }
}

/// Ids that are spread.
#[tokio::test]
async fn a_spread_id_of_no_row_is_not_told() {
    let server = Server::start().await;
    let create = "CREATE TABLE w (id BIGINT AUTO_INCREMENT PRIMARY KEY, u VARCHAR(9) UNIQUE)";
    server.run(create).await.unwrap();
    let first = server.insert_id("INSERT INTO w (u) VALUES ('x')").await;
    assert_ne!(first, 0);
    for (sql, packet) in [
        ("INSERT IGNORE INTO w (u) VALUES ('x')", 0),
        (
            "INSERT INTO w (u) VALUES ('x') ON DUPLICATE KEY UPDATE u = 'y'",
            first,
        ),
    ] {
        assert_eq!(server.insert_id(sql).await, packet, "{sql}");
        assert_eq!(function(&server).await, first, "after {sql}");
    }
}

/// The idiom tells the key of the row that was met, and leaves the row where it is, whatever its key is.
#[tokio::test]
async fn a_key_that_is_told_stays() {
    let server = start().await;
    for sql in [
        "CREATE TABLE named (k VARCHAR(9) PRIMARY KEY, u INT UNIQUE, n INT)",
        "INSERT INTO named VALUES ('07', 1, 0)",
        "CREATE TABLE below (k INT PRIMARY KEY, u INT UNIQUE, n INT)",
        "INSERT INTO below VALUES (-5, 1, 0)",
        "INSERT INTO named VALUES ('other', 1, 0) ON DUPLICATE KEY UPDATE k = LAST_INSERT_ID(k), n = 7",
        "INSERT INTO below VALUES (9, 1, 0) ON DUPLICATE KEY UPDATE k = LAST_INSERT_ID(k), n = 7",
    ] {
        server.run(sql).await.unwrap();
    }
    for (table, key) in [("named", "07"), ("below", "-5")] {
        let by_index = format!("SELECT k, n FROM {table} WHERE u = 1");
        assert_eq!(server.run(&by_index).await.unwrap(), [[key, "7"]]);
        assert_eq!(server.check(table).await, ["status OK"]);
    }
    // The key of the row that was proposed is another.
    let moved = "INSERT INTO t (id, u, n) VALUES (9, 'x', 1) \
                 ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(VALUES(id)), n = 5";
    assert_eq!(
        server.run(moved).await.unwrap_err().code(),
        Code::NotSupportedYet
    );
}

/// A statement that started over told the id of a row that somebody else had taken meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_starts_over_tells_nothing_of_its_first_attempt() {
    let server = Server::start().await;
    for sql in [
        "CREATE TABLE job (id INT PRIMARY KEY, state INT, who INT, KEY (state))",
        "INSERT INTO job VALUES (7, 0, NULL)",
        "BEGIN",
        "UPDATE job SET state = 1 WHERE id = 7",
    ] {
        server.run(sql).await.unwrap();
    }
    let other = server.another();
    let waiting = tokio::spawn(async move {
        let take = "UPDATE job SET state = 1, who = LAST_INSERT_ID(id) WHERE state = 0 LIMIT 1";
        (other.insert_id(take).await, function(&other).await)
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    server.run("COMMIT").await.unwrap();
    assert_eq!(waiting.await.unwrap(), (0, 0));
}
