//! The property "a wide table is a map of cells with a type each and an end", over random statements,
//! with a clock that the test turns. Each statement is followed by reads along all paths and by CHECK
//! TABLE.
//!
//! A failure prints the seed of its case.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use crate::codec::row::expiry_of;
use crate::error::Code;
use crate::exec::testing::Server;
use crate::kv::expiry::{Expiry, Living};
use crate::kv::memory::Memory;

const CASES: u64 = 15;
const STATEMENTS: usize = 40;

/// The second at which each case begins.
const BEGIN: u64 = 1_700_000_000;

/// Seconds that a row lives after what its column says.
const AFTER_COLUMN: u64 = 60;

/// Columns, and the literals that they get with the texts that are shown of them: those of a type, and
/// those of any.
const COLUMNS: &[(&str, &[(&str, &str)])] = &[
    ("a", NUMBERS),
    ("n_1", NUMBERS),
    ("n_2", NUMBERS),
    ("x", ANY),
    ("y", ANY),
];
const NUMBERS: &[(&str, &str)] = &[("1", "1"), ("'2'", "2"), ("3", "3"), ("NULL", "NULL")];
const ANY: &[(&str, &str)] = &[
    ("5", "5"),
    ("'five'", "five"),
    ("2.50", "2.50"),
    ("DATE'2024-02-29'", "2024-02-29"),
    ("x'41'", "A"),
    ("-1.5e0", "-1.5"),
    ("NULL", "NULL"),
];

#[derive(Debug, Clone, Default, PartialEq)]
struct Row {
    /// What is shown of the columns that are not NULL.
    cells: BTreeMap<&'static str, &'static str>,
    /// The second in the column that the end follows.
    at: Option<u64>,
    end: Option<u64>,
}

struct Model {
    rng: StdRng,
    rows: BTreeMap<u32, Row>,
    now: u64,
    /// The option; 0 for rows that do not end by themselves.
    ttl: u64,
}

/// What a statement says of the column that the end follows.
#[derive(Debug, Clone, Copy)]
enum Moment {
    Unsaid,
    Null,
    At(u64),
}

impl Moment {
    fn text(self) -> Option<String> {
        match self {
            Moment::Unsaid => None,
            Moment::Null => Some("NULL".to_owned()),
            Moment::At(at) => Some(format!("FROM_UNIXTIME({at})")),
        }
    }

    fn put(self, row: &mut Row) {
        match self {
            Moment::Unsaid => {}
            Moment::Null => row.at = None,
            Moment::At(at) => row.at = Some(at),
        }
    }
}

/// Columns with a literal and the text of it.
type Given = Vec<(&'static str, &'static str, &'static str)>;

impl Model {
    fn is_alive(&self, id: u32) -> bool {
        let row = self.rows.get(&id);
        row.is_some_and(|row| row.end.is_none_or(|end| self.now < end))
    }

    fn stamp(&self, row: &mut Row, hint: Option<u64>) {
        let by_option = Some(self.now + self.ttl).filter(|_| self.ttl != 0);
        let by_column = row.at.map(|at| at + AFTER_COLUMN);
        let by_hint = hint.map(|seconds| self.now + seconds);
        let ends = [by_option, by_column, by_hint];
        row.end = ends.into_iter().flatten().min().or(row.end);
    }

    fn given(&mut self) -> Given {
        let count = self.rng.random_range(1..=3);
        let columns = COLUMNS.choose_multiple(&mut self.rng, count);
        let columns: Vec<_> = columns.collect();
        let given = columns.into_iter().map(|(name, values)| {
            let (literal, shown) = values.choose(&mut self.rng).unwrap();
            (*name, *literal, *shown)
        });
        given.collect()
    }

    fn put(row: &mut Row, given: &Given) {
        for (name, _, shown) in given {
            match *shown {
                "NULL" => drop(row.cells.remove(name)),
                shown => drop(row.cells.insert(name, shown)),
            }
        }
    }

    /// What the statement says of the second of the column.
    fn moment(&mut self) -> Moment {
        match self.rng.random_range(0..4) {
            0 => Moment::At(self.now + self.rng.random_range(0..100) - 70),
            1 => Moment::Null,
            _ => Moment::Unsaid,
        }
    }

    /// A statement, and whether it must fail for want of a free key.
    fn statement(&mut self) -> (String, bool) {
        let id = self.rng.random_range(1..=5);
        let given = self.given();
        let moment = self.moment();
        let hint = self
            .rng
            .random_bool(0.3)
            .then(|| self.rng.random_range(1..90));
        let hinted = hint.map_or(String::new(), |s| format!("/*+ _l_ttl_({}) */ ", s * 1000));
        let is_alive = self.is_alive(id);
        let verb = *["UPSERT", "UPSERT", "INSERT", "REPLACE", "UPDATE", "DELETE"]
            .choose(&mut self.rng)
            .unwrap();
        match verb {
            "DELETE" => {
                self.rows.remove(&id);
                (format!("DELETE FROM t WHERE id = {id}"), false)
            }
            "UPDATE" => (self.update((id, &hinted, hint), &given, moment), false),
            _ => {
                let mut names = vec!["id"];
                names.extend(given.iter().map(|(name, ..)| *name));
                let mut values = vec![id.to_string()];
                values.extend(given.iter().map(|(_, literal, _)| (*literal).to_owned()));
                if let Some(at) = moment.text() {
                    names.push("at");
                    values.push(at);
                }
                let (names, values) = (names.join(", "), values.join(", "));
                let sql = format!("{verb} {hinted}INTO t ({names}) VALUES ({values})");
                if verb == "INSERT" && is_alive {
                    return (sql, true);
                }
                let kept = self.rows.get(&id).filter(|_| verb == "UPSERT" && is_alive);
                let mut row = kept.cloned().unwrap_or_default();
                Model::put(&mut row, &given);
                moment.put(&mut row);
                self.stamp(&mut row, hint);
                self.rows.insert(id, row);
                (sql, false)
            }
        }
    }

    fn update(
        &mut self,
        (id, hinted, hint): (u32, &str, Option<u64>),
        given: &Given,
        moment: Moment,
    ) -> String {
        let mut set: Vec<String> = given
            .iter()
            .map(|(name, literal, _)| format!("{name} = {literal}"))
            .collect();
        set.extend(moment.text().map(|at| format!("at = {at}")));
        if self.is_alive(id) {
            let old = self.rows[&id].clone();
            let mut new = old.clone();
            Model::put(&mut new, given);
            moment.put(&mut new);
            if new != old {
                self.stamp(&mut new, hint);
            }
            self.rows.insert(id, new);
        }
        format!("UPDATE {hinted}t SET {} WHERE id = {id}", set.join(", "))
    }

    fn alive(&self) -> impl Iterator<Item = (u32, &Row)> {
        let rows = self.rows.iter().filter(|(id, _)| self.is_alive(**id));
        rows.map(|(id, row)| (*id, row))
    }

    fn texts(&self) -> Vec<Vec<String>> {
        let text = |(id, row): (u32, &Row)| {
            let cells = COLUMNS.iter().map(|(name, _)| {
                let shown = row.cells.get(name).copied().unwrap_or("NULL");
                shown.to_owned()
            });
            std::iter::once(id.to_string()).chain(cells).collect()
        };
        self.alive().map(text).collect()
    }

    fn ids_with(&self, name: &str, shown: &str) -> Vec<Vec<String>> {
        let with = |row: &Row| row.cells.get(name).is_some_and(|cell| *cell == shown);
        let ids = self.alive().filter(|(_, row)| with(row));
        ids.map(|(id, _)| vec![id.to_string()]).collect()
    }
}

async fn agree(server: &Server, model: &Model, told: &str) {
    let sql = "SELECT id, a, n_1, n_2, x, y FROM t ORDER BY id";
    assert_eq!(server.run(sql).await.unwrap(), model.texts(), "{told}");
    let reads = [
        ("a = 2", "a", "2"),
        ("n_1 = 3", "n_1", "3"),
        ("n_2 = 1", "n_2", "1"),
        ("x = 5", "x", "5"),
        ("x = 'five'", "x", "five"),
        ("x = 2.5", "x", "2.50"),
        ("y = '2024-02-29'", "y", "2024-02-29"),
        ("CAST(y AS CHAR(20)) = 'five'", "y", "five"),
    ];
    for (condition, name, shown) in reads {
        let sql = format!("SELECT id FROM t WHERE {condition} ORDER BY id");
        let found = server.run(&sql).await.unwrap();
        assert_eq!(found, model.ids_with(name, shown), "{sql}: {told}");
    }
    let count = server.run("SELECT COUNT(*) FROM t").await.unwrap();
    assert_eq!(count, [[model.alive().count().to_string()]], "{told}");
    assert_eq!(server.check("t").await, ["status OK"], "{told}");
}

async fn case(seed: u64) {
    let clock = Arc::new(AtomicU64::new(BEGIN * 1000));
    let told = Arc::clone(&clock);
    let expiry = Expiry::with_clock(expiry_of, move || told.load(Ordering::Relaxed));
    let engine = Living::new(Arc::new(Memory::default()), Arc::new(expiry));
    let server = Server::on(Arc::new(engine)).await;
    let mut model = Model {
        rng: StdRng::seed_from_u64(seed),
        rows: BTreeMap::new(),
        now: BEGIN,
        ttl: [0, 40, 100][usize::try_from(seed % 3).unwrap()],
    };
    server.run("SET time_zone = '+00:00'").await.unwrap();
    let create = format!(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, at DATETIME, `n_*` INT, KEY ia (a), KEY i1 (n_1), \
         KEY i2 (n_2) INCLUDE (a), KEY iy ((CAST(y AS CHAR(20))))) \
         TTL = at + INTERVAL {AFTER_COLUMN} SECOND \
         WITH (DYNAMIC_COLUMNS='true', TTL='{}')",
        model.ttl
    );
    server.run(&create).await.unwrap();
    let mut log = Vec::new();
    for _ in 0..STATEMENTS {
        let set = format!("SET timestamp = {}", model.now);
        server.run(&set).await.unwrap();
        if model.rng.random_bool(0.05) {
            model.ttl = *[0, 30, 100].choose(&mut model.rng).unwrap();
            let sql = format!("ALTER TABLE t SET 'TTL' = '{}'", model.ttl);
            server.run(&sql).await.unwrap();
            log.push(sql);
        }
        let (sql, must_fail) = model.statement();
        log.push(format!("{} {sql}", model.now));
        let told = || format!("seed {seed}\n{}", log.join(";\n"));
        match server.run(&sql).await {
            Ok(_) => assert!(!must_fail, "{}", told()),
            Err(error) => {
                let is_expected = must_fail && error.code() == Code::DuplicateEntry;
                assert!(is_expected, "{}: {}", error.message(), told());
            }
        }
        agree(&server, &model, &told()).await;
        if model.rng.random_bool(0.4) {
            model.now += model.rng.random_range(1..40);
            clock.store(model.now * 1000, Ordering::Relaxed);
            agree(&server, &model, &format!("at {}: {}", model.now, told())).await;
        }
    }
}

#[tokio::test]
async fn a_wide_table_is_a_map_of_typed_cells_that_end() {
    for seed in 0..CASES {
        case(seed).await;
    }
}

/// More rows than a page, all past, before those that are alive.
#[tokio::test]
async fn rows_behind_many_that_have_ended_are_found() {
    let clock = Arc::new(AtomicU64::new(BEGIN * 1000));
    let told = Arc::clone(&clock);
    let expiry = Expiry::with_clock(expiry_of, move || told.load(Ordering::Relaxed));
    let engine = Living::new(Arc::new(Memory::default()), Arc::new(expiry));
    let server = Server::on(Arc::new(engine)).await;
    let set = format!("SET timestamp = {BEGIN}");
    server.run(&set).await.unwrap();
    let create = "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (TTL='0')";
    server.run(create).await.unwrap();
    for start in (0..20_000).step_by(1000) {
        let rows: Vec<String> = (start..start + 1000)
            .map(|id| format!("({id}, 7)"))
            .collect();
        let sql = format!(
            "UPSERT /*+ _l_ttl_(1000) */ INTO t VALUES {}",
            rows.join(", ")
        );
        server.run(&sql).await.unwrap();
    }
    let alive = "INSERT INTO t VALUES (20000, 7), (20001, 8)";
    server.run(alive).await.unwrap();
    clock.store((BEGIN + 10) * 1000, Ordering::Relaxed);
    server.run("CREATE INDEX iv ON t (v)").await.unwrap();
    assert_eq!(server.check("t").await, ["status OK"]);
    let found = server.run("SELECT id FROM t WHERE v = 7").await.unwrap();
    assert_eq!(found, [["20000"]]);
    let unique = server.run("CREATE UNIQUE INDEX u ON t ((v DIV 2))").await;
    unique.unwrap();
    let twice = server.run("UPDATE t SET v = 9 WHERE id = 20000").await;
    assert_eq!(
        twice.err().map(|error| error.code()),
        Some(Code::DuplicateEntry)
    );
    let dated = "ALTER TABLE t ADD COLUMN d DATE NOT NULL";
    let refused = server.run(dated).await.unwrap_err();
    assert_eq!(refused.code().errno(), 1292, "{refused}");
}

/// The guide, whose examples are run.
const GUIDE: &str = include_str!("../../../../docs/wide.md");

/// What an example's statement must answer.
#[derive(Debug, Default)]
struct Example {
    sql: String,
    told: Vec<String>,
}

/// The examples of a guide.
fn examples(guide: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_code = false;
    let mut is_open = false;
    for line in guide.lines() {
        if line.starts_with("```") {
            is_code = line == "```sql";
        } else if is_code && line.starts_with("-- ") {
            examples.last_mut().unwrap().told.push(line[3..].to_owned());
        } else if is_code {
            if !is_open {
                examples.push(Example::default());
            }
            let example = examples.last_mut().unwrap();
            example.sql.push_str(line.trim_end_matches(';'));
            example.sql.push('\n');
            is_open = !line.ends_with(';');
        }
    }
    examples
}

/// Runs the examples of a guide, each of which must answer what stands below it.
pub(super) async fn run_examples(server: &Server, guide: &str) {
    let examples = examples(guide);
    assert!(20 < examples.len());
    for Example { sql, told } in examples {
        let found = match server.run(&sql).await {
            Ok(rows) => rows.iter().map(|row| row.join(" | ")).collect(),
            Err(error) => vec![format!("ERROR {}", error.code().errno())],
        };
        assert_eq!(found, told, "{sql}");
    }
}

#[tokio::test]
async fn the_examples_of_the_guide_answer_what_it_says() {
    let time = Arc::new(AtomicU64::new(1_800_000_000_000));
    let expiry = Expiry::with_clock(expiry_of, move || time.load(Ordering::Relaxed));
    let engine = Living::new(Arc::new(Memory::default()), Arc::new(expiry));
    let server = Server::on(Arc::new(engine)).await;
    server.run("SET timestamp = 1800000000").await.unwrap();
    run_examples(&server, GUIDE).await;
}
