//! A clock that goes back after a row took what another one had that had ended: its key, its unique value, its
//! place in an index that was built meanwhile. Rows and entries agree all the same, since time stands still
//! until the clock has caught up; what was only looked at is there again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::codec::row::expiry_of;
use crate::exec::testing::Server;
use crate::kv::expiry::{Expiry, Living};
use crate::kv::memory::Memory;

/// Some moment, in milliseconds.
const BEGIN_MS: u64 = 1_800_000_000_000;

const TTL_MS: u64 = 600_000;

struct House {
    server: Server,
    clock: Arc<AtomicU64>,
}

impl House {
    /// With two rows that end.
    async fn new() -> House {
        let clock = Arc::new(AtomicU64::new(BEGIN_MS));
        let told = Arc::clone(&clock);
        let expiry = Expiry::with_clock(expiry_of, move || told.load(Ordering::SeqCst));
        let engine = Living::new(Arc::new(Memory::default()), Arc::new(expiry));
        let server = Server::on(Arc::new(engine)).await;
        let house = House { server, clock };
        house
            .run(
                "CREATE TABLE s (id INT PRIMARY KEY, a INT, u INT, KEY ka (a), UNIQUE KEY k (u)) \
                 WITH (TTL='600')",
            )
            .await;
        house.run("CREATE TABLE lasting (id INT PRIMARY KEY)").await;
        house
            .run("INSERT INTO s VALUES (1,10,100), (2,20,200)")
            .await;
        house
    }

    /// Lets the clock say that so much time has passed since the begin.
    fn set(&self, passed_ms: u64) {
        self.clock.store(BEGIN_MS + passed_ms, Ordering::SeqCst);
    }

    async fn run(&self, sql: &str) {
        let ran = self.server.run(sql).await;
        ran.unwrap_or_else(|error| panic!("{sql}: {}", error.message()));
    }

    async fn rows(&self, sql: &str) -> Vec<String> {
        let rows = self.server.run(sql).await.unwrap();
        rows.iter().map(|row| row.join(" ")).collect()
    }

    async fn agrees(&self, rows: &[&str]) {
        assert_eq!(self.server.check("s").await, ["status OK"]);
        assert_eq!(self.rows("SELECT * FROM s ORDER BY id").await, rows);
        let by_a = self.rows("SELECT * FROM s FORCE INDEX (ka) WHERE a > 0 ORDER BY id");
        assert_eq!(by_a.await, rows);
    }
}

#[tokio::test]
async fn a_key_and_a_unique_value_that_were_taken_are_not_had_by_two() {
    let house = House::new().await;
    house.set(TTL_MS + 1000);
    house.run("INSERT INTO s VALUES (1,11,101)").await;
    house.run("INSERT INTO s VALUES (3,30,200)").await;
    for passed_ms in [TTL_MS - 1, 0, TTL_MS + 999] {
        house.set(passed_ms);
        house.agrees(&["1 11 101", "3 30 200"]).await;
        assert_eq!(house.rows("SELECT id FROM s WHERE a = 10").await, [""; 0]);
        house.run("DELETE FROM s WHERE id = 2").await;
        house.agrees(&["1 11 101", "3 30 200"]).await;
    }
    // What is written meanwhile counts from where time stands.
    house.run("INSERT INTO s VALUES (4,40,400)").await;
    house.set(2 * TTL_MS + 999);
    house.agrees(&["1 11 101", "3 30 200", "4 40 400"]).await;
    house.set(2 * TTL_MS + 1000);
    house.agrees(&[]).await;
}

#[tokio::test]
async fn the_clock_may_go_back_within_a_transaction() {
    for level in ["REPEATABLE READ", "READ COMMITTED"] {
        let house = House::new().await;
        house
            .run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))
            .await;
        house.set(TTL_MS);
        house.run("BEGIN").await;
        house.run("INSERT INTO s VALUES (3,30,200)").await;
        house.set(0);
        house.run("INSERT INTO lasting VALUES (1)").await;
        house.run("COMMIT").await;
        house.agrees(&["3 30 200"]).await;
    }
}

#[tokio::test]
async fn an_index_that_was_built_without_ended_rows_has_all_that_are_there() {
    let house = House::new().await;
    house.set(TTL_MS);
    house.run("INSERT INTO s VALUES (3,30,300)").await;
    house.set(0);
    house.run("INSERT INTO s VALUES (4,40,400)").await;
    house.set(TTL_MS + 1);
    house.run("CREATE INDEX au ON s (a, u)").await;
    house.set(0);
    let by_au = house.rows("SELECT id FROM s FORCE INDEX (au) WHERE a > 0 ORDER BY id");
    assert_eq!(
        by_au.await,
        house.rows("SELECT id FROM s ORDER BY id").await
    );
    assert_eq!(house.server.check("s").await, ["status OK"]);
}

/// No page with an entry is written that could tell by when they had ended.
#[tokio::test]
async fn what_was_defined_when_all_rows_had_ended_holds_for_all_that_are_there() {
    for definition in [
        "CREATE UNIQUE INDEX au ON s (a)",
        "ALTER TABLE s MODIFY a INT NOT NULL",
        "ALTER TABLE s MODIFY a TINYINT",
        "ALTER TABLE s DROP PRIMARY KEY, ADD PRIMARY KEY (u)",
    ] {
        let house = House::new().await;
        house
            .run("INSERT INTO s VALUES (3,10,300), (4,NULL,400), (5,1000,500)")
            .await;
        house.set(TTL_MS);
        house.run(definition).await;
        house.set(0);
        house.agrees(&[]).await;
    }
}

#[tokio::test]
async fn what_nobody_replaced_is_there_again() {
    let house = House::new().await;
    house.set(TTL_MS);
    assert_eq!(house.rows("SELECT COUNT(*) FROM s").await, ["0"]);
    house.run("INSERT INTO lasting SELECT 7 FROM lasting").await;
    house.run("INSERT INTO lasting VALUES (1)").await;
    house.set(TTL_MS - 1);
    house.agrees(&["1 10 100", "2 20 200"]).await;
}
