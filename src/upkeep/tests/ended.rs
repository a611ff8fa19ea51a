//! Rows that have ended, in what is checked and restored.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{House, Outcome, stop};
use crate::codec::row::expiry_of;
use crate::kv::expiry::Expiry;

const DAY_MS: u128 = 86_400_000;

/// In the trash is an ended row whose unique value another one took. Ended rows of dropped tables counted as
/// alive, and two rows as having one entry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_have_ended_are_no_damage_in_a_dropped_table_either() {
    let house = House::new();
    let server = house.server("data").await;
    for sql in [
        "CREATE TABLE s (id INT PRIMARY KEY, u INT, UNIQUE KEY k (u)) WITH (TTL='600')",
        "SET debug_ttl_clock = UNIX_TIMESTAMP() - 7200",
        "INSERT INTO s VALUES (1, 10), (2, 20)",
        "SET debug_ttl_clock = DEFAULT",
        "INSERT INTO s VALUES (3, 20)",
        "CREATE TABLE kept LIKE s",
        "DROP TABLE s",
    ] {
        server.run(sql).await.unwrap();
    }
    stop(server).await;
    let (outcome, lines) = house.check("data").await;
    assert_eq!(outcome, Outcome::Fine, "{lines:?}");
    assert!(lines[0].contains(" 2 tables"), "{lines:?}");
}

/// A clock was a day ahead when a row took the unique value of one that had ended. Restored where the clock is
/// right, both rows were there, and one entry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_had_ended_in_the_backup_has_ended_where_a_table_is_restored() {
    let house = House::new();
    let server = house.server("data").await;
    for sql in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.s (id INT PRIMARY KEY, u INT, UNIQUE KEY k (u)) WITH (TTL='600')",
        "INSERT INTO shop.s VALUES (1, 10), (2, 20)",
    ] {
        server.run(sql).await.unwrap();
    }
    stop(server).await;
    let ahead = Expiry::with_clock(expiry_of, || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::try_from(since.as_millis() + DAY_MS).unwrap()
    });
    let server = house.server_with("data", ahead).await;
    server
        .run("INSERT INTO shop.s VALUES (3, 20)")
        .await
        .unwrap();
    let backup = house.path("backup");
    let made = server.engine().checkpoint(&backup, &Arc::default()).await;
    made.unwrap();
    stop(server).await;
    stop(house.server("other").await).await;
    house.restore_table("shop.s", "other").await.unwrap();
    let (outcome, lines) = house.check("other").await;
    assert_eq!(outcome, Outcome::Fine, "{lines:?}");
    let other = house.server("other").await;
    let rows = other.run("SELECT * FROM shop.s ORDER BY id").await;
    assert_eq!(rows.unwrap(), [["3", "20"]]);
    stop(other).await;
}
