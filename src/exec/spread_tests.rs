//! A table with a spread key gives the same rows as one without: random keys, rows, statements and
//! transactions, on both engines. A failure prints the seed of its case.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use tokio::task::JoinSet;

use super::testing::Server;
use crate::kv::Engine;
use crate::kv::lsm::{self, Lsm};
use crate::kv::memory::Memory;

const CASES: u64 = 40;
const CASES_ON_DISK: u64 = 6;
const ROWS: usize = 60;
const STATEMENTS: usize = 40;

/// Texts of the second key column.
const TEXTS: &[&str] = &["", "a", "ab", "b", "ba", "é", "z"];

/// Parts, and whether rows without ORDER BY come in the order of the key.
const PARTS: &[(&str, bool)] = &[
    ("hash8(a)", false),
    ("hash32(b)", false),
    ("hash64(a, b, c)", false),
    ("hash8(c, a)", false),
    ("reverse(b)", false),
    ("reverse(a)", false),
    ("bucket(a, 1)", true),
    ("bucket(a, 3)", true),
    ("bucket(b, 16)", true),
    ("bucket(c, 300)", true),
];

struct Case {
    rng: StdRng,
    server: Server,
    /// The columns of the key, in its order.
    key: Vec<&'static str>,
    is_ordered: bool,
    told: String,
}

impl Case {
    async fn new(seed: u64, engine: Arc<dyn Engine>) -> Case {
        let mut rng = StdRng::seed_from_u64(seed);
        let (part, is_ordered) = *PARTS.choose(&mut rng).unwrap();
        let orders = [
            ["a", "b", "c"],
            ["b", "a", "c"],
            ["c", "b", "a"],
            ["a", "c", "b"],
        ];
        let key = orders.choose(&mut rng).unwrap().to_vec();
        let mut declared = String::new();
        for column in &key {
            let desc = if rng.random_bool(0.3) { " DESC" } else { "" };
            let _ = write!(declared, ", {column}{desc}");
        }
        let server = Server::on(engine).await;
        let mut told = format!("seed {seed}");
        let index = [
            "",
            ", KEY i (v)",
            ", KEY i (b)",
            ", UNIQUE KEY i (v, c, b, a)",
            ", KEY i (v) INCLUDE (w)",
        ];
        let index = index.choose(&mut rng).unwrap();
        for (table, key) in [
            ("s", format!("{part}{declared}")),
            ("p", declared[2..].to_owned()),
        ] {
            let sql = format!(
                "CREATE TABLE {table} (a INT, b VARCHAR(5), c DATE, v INT, w INT, PRIMARY KEY ({key}){index})"
            );
            let _ = write!(told, "\n{sql}");
            server.run(&sql).await.unwrap();
        }
        Case {
            rng,
            server,
            key,
            is_ordered: is_ordered && index.is_empty(),
            told,
        }
    }

    /// Runs a statement on both tables; it says `$t` for the table.
    async fn both(&mut self, sql: &str) -> [Vec<Vec<String>>; 2] {
        let _ = write!(self.told, "\n{sql}");
        let mut answers = Vec::new();
        for table in ["s", "p"] {
            let answer = self.server.run(&sql.replace("$t", table)).await;
            answers.push(
                answer.unwrap_or_else(|error| {
                    panic!("{} on {table}\n{}", error.message(), self.told)
                }),
            );
        }
        answers.try_into().unwrap()
    }

    fn number(&mut self) -> i64 {
        self.rng.random_range(-3..12)
    }

    fn text(&mut self) -> String {
        format!("'{}'", TEXTS.choose(&mut self.rng).unwrap())
    }

    fn date(&mut self) -> String {
        format!("'2024-01-{:02}'", self.rng.random_range(1..5))
    }

    fn constant(&mut self, column: &str) -> String {
        match column {
            "b" => self.text(),
            "c" => self.date(),
            _ => self.number().to_string(),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        if 0 < depth && self.rng.random_bool(0.5) {
            let word = if self.rng.random_bool(0.7) {
                "AND"
            } else {
                "OR"
            };
            let (left, right) = (self.condition(depth - 1), self.condition(depth - 1));
            return format!("({left} {word} {right})");
        }
        let column = *["a", "a", "b", "b", "c", "v"]
            .choose(&mut self.rng)
            .unwrap();
        let one = self.constant(column);
        let two = self.constant(column);
        match self.rng.random_range(0..9) {
            0..3 => format!("{column} = {one}"),
            3 => format!("{column} IN ({one}, {two})"),
            4 => format!("{column} BETWEEN {one} AND {two}"),
            5 if column == "b" => "b LIKE 'a%'".to_owned(),
            5 => format!("{column} <> {one}"),
            6 => {
                let (a, b) = (self.number(), self.text());
                format!(
                    "(a, b) IN (({a}, {b}), ({one_a}, {two_b}))",
                    one_a = self.number(),
                    two_b = self.text()
                )
            }
            _ => {
                let word = ["<", "<=", ">", ">="].choose(&mut self.rng).unwrap();
                format!("{column} {word} {one}")
            }
        }
    }

    /// ORDER BY of all key columns, in a random order or in that of the key.
    fn order(&mut self) -> String {
        let mut columns = self.key.clone();
        if self.rng.random_bool(0.3) {
            columns.reverse();
        }
        let turned = self.rng.random_bool(0.5);
        let mixed = self.rng.random_bool(0.3);
        let keys = columns.iter().map(|column| {
            let desc = if mixed {
                self.rng.random_bool(0.5)
            } else {
                turned
            };
            format!("{column}{}", if desc { " DESC" } else { "" })
        });
        keys.collect::<Vec<_>>().join(", ")
    }

    async fn write(&mut self) {
        let condition = self.condition(2);
        let order = self.order();
        let limit = self.rng.random_range(1..4);
        let sql = match self.rng.random_range(0..6) {
            0 => format!("DELETE FROM $t WHERE {condition} ORDER BY {order} LIMIT {limit}"),
            1 => format!("UPDATE $t SET w = w + 1 WHERE {condition}"),
            2 => {
                format!("UPDATE $t SET v = v + 1 WHERE {condition} ORDER BY {order} LIMIT {limit}")
            }
            _ => {
                let verb = ["REPLACE INTO", "UPSERT INTO", "INSERT IGNORE INTO"];
                let verb = verb.choose(&mut self.rng).unwrap();
                let rows = (0..3).map(|_| self.row()).collect::<Vec<_>>().join(", ");
                format!("{verb} $t (a, b, c, v, w) VALUES {rows}")
            }
        };
        self.both(&sql).await;
    }

    fn row(&mut self) -> String {
        let (a, b, c) = (self.number(), self.text(), self.date());
        format!("({a}, {b}, {c}, {}, {})", self.number(), self.number())
    }

    async fn query(&mut self) {
        let condition = match self.rng.random_range(0..6) {
            0 => String::new(),
            _ => format!(" WHERE {}", self.condition(2)),
        };
        let kind = self.rng.random_range(0..7);
        let sql = match kind {
            0 => format!("SELECT COUNT(*), MIN(a), MAX(a), MIN(c), SUM(v) FROM $t{condition}"),
            1 => format!("SELECT a, COUNT(*) FROM $t{condition} GROUP BY a"),
            2 => format!(
                "SELECT a, b, MAX(v) FROM $t{condition} GROUP BY a, b ORDER BY a DESC, b DESC LIMIT 3"
            ),
            3 => format!("SELECT MAX(a), MIN(b) FROM $t{condition}"),
            4 => format!("SELECT * FROM $t{condition}"),
            _ => {
                let (limit, offset) = (self.rng.random_range(1..9), self.rng.random_range(0..4));
                format!(
                    "SELECT * FROM $t{condition} ORDER BY {} LIMIT {limit} OFFSET {offset}",
                    self.order()
                )
            }
        };
        let [mut spread, mut plain] = self.both(&sql).await;
        let is_free = kind == 1 || kind == 4 && !self.is_ordered;
        if is_free {
            spread.sort();
            plain.sort();
        }
        assert_eq!(spread, plain, "{}", self.told);
    }

    async fn run(mut self) {
        for _ in 0..ROWS / 3 {
            let rows = (0..3).map(|_| self.row()).collect::<Vec<_>>().join(", ");
            self.both(&format!("INSERT IGNORE INTO $t VALUES {rows}"))
                .await;
        }
        for _ in 0..STATEMENTS {
            match self.rng.random_range(0..20) {
                0 => self.plain("BEGIN").await,
                1 => self.plain("COMMIT").await,
                2 => self.plain("ROLLBACK").await,
                3..7 => self.write().await,
                _ => self.query().await,
            }
        }
        self.plain("COMMIT").await;
        let [spread, plain] = self.both("SELECT * FROM $t ORDER BY a, b, c").await;
        assert_eq!(spread, plain, "{}", self.told);
        for table in ["s", "p"] {
            assert_eq!(
                self.server.check(table).await,
                ["status OK"],
                "{}",
                self.told
            );
        }
    }

    async fn plain(&mut self, sql: &str) {
        let _ = write!(self.told, "\n{sql}");
        self.server.run(sql).await.unwrap();
    }
}

#[tokio::test]
async fn a_spread_key_gives_the_rows_that_a_plain_one_gives() {
    for seed in 0..CASES {
        Case::new(seed, Arc::new(Memory::default()))
            .await
            .run()
            .await;
    }
}

#[tokio::test]
async fn a_spread_key_on_disk_gives_the_rows_that_a_plain_one_gives() {
    for seed in 1000..1000 + CASES_ON_DISK {
        let dir = tempfile::tempdir().unwrap();
        let engine = Lsm::open(&lsm::Options::new(dir.path().join("data"))).unwrap();
        Case::new(seed, Arc::new(engine)).await.run().await;
    }
}

/// Rows that EXPLAIN ANALYZE says were read.
async fn rows_read(server: &Server, sql: &str) -> usize {
    let told = server.run(&format!("EXPLAIN ANALYZE {sql}")).await.unwrap();
    let text = told[0][0].clone();
    let (_, rest) = text.split_once("Measured: read ").unwrap();
    rest.split_once(' ').unwrap().0.parse().unwrap()
}

#[tokio::test]
async fn many_rows_are_merged_page_by_page_and_a_limit_ends_the_reading() {
    for buckets in [4, 16] {
        let dir = tempfile::tempdir().unwrap();
        let options = lsm::Options::new(dir.path().join("data"));
        merge_many(buckets, Arc::new(Memory::default())).await;
        merge_many(buckets, Arc::new(Lsm::open(&options).unwrap())).await;
    }
}

/// Rows of which each of a few buckets has several pages.
const MANY: usize = 14_000;

/// Scans at a time: more than there are threads for.
const SCANS: usize = 60;

#[tokio::test]
async fn many_long_scans_at_once_do_not_wait_for_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let options = lsm::Options::new(dir.path().join("data"));
    let server = Arc::new(filled(4, Arc::new(Lsm::open(&options).unwrap())).await);
    let mut scans = JoinSet::new();
    for _ in 0..SCANS {
        let server = Arc::clone(&server);
        scans.spawn(async move {
            let found = server.run("SELECT ts FROM t WHERE ts >= 5 ORDER BY ts");
            found.await.unwrap().len()
        });
    }
    let found = tokio::time::timeout(Duration::from_mins(2), scans.join_all());
    assert_eq!(found.await.unwrap(), [MANY - 5; SCANS]);
}

/// A server with the table `t` of many rows.
async fn filled(buckets: usize, engine: Arc<dyn Engine>) -> Server {
    let server = Server::on(engine).await;
    let run = async |sql: &str| server.run(sql).await.unwrap();
    let key = format!("bucket(ts, {buckets}), ts");
    run(&format!(
        "CREATE TABLE t (ts INT, v VARCHAR(40), PRIMARY KEY ({key}))"
    ))
    .await;
    for first in (0..MANY).step_by(2000) {
        let rows = (first..first + 2000).map(|ts| format!("({ts}, 'row {ts}')"));
        let rows = rows.collect::<Vec<_>>().join(", ");
        run(&format!("INSERT INTO t VALUES {rows}")).await;
    }
    server
}

async fn merge_many(buckets: usize, engine: Arc<dyn Engine>) {
    let server = filled(buckets, engine).await;
    let run = async |sql: &str| server.run(sql).await.unwrap();
    for order in ["ORDER BY ts", "ORDER BY ts DESC", ""] {
        let found = run(&format!("SELECT ts FROM t WHERE ts >= 5 {order}")).await;
        let mut wanted: Vec<Vec<String>> = (5..MANY).map(|ts| vec![ts.to_string()]).collect();
        if order.ends_with("DESC") {
            wanted.reverse();
        }
        assert!(found == wanted, "{order}");
    }
    for sql in [
        "SELECT * FROM t WHERE ts > 77 ORDER BY ts LIMIT 5",
        "SELECT * FROM t WHERE ts > 77 ORDER BY ts DESC LIMIT 5",
        "SELECT * FROM t ORDER BY ts LIMIT 5",
    ] {
        let read = rows_read(&server, sql).await;
        assert!(read <= buckets * 8, "{read} rows by {sql}");
    }
    let read = rows_read(&server, "SELECT MAX(ts) FROM t").await;
    assert_eq!(read, buckets);
}
