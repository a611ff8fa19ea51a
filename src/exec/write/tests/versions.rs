//! The property "a table that keeps versions is a map of cells to values by time", over random
//! statements that are dated in any order, with a clock that the test turns, changes of the number of
//! versions, ends of rows and compactions. Each statement is followed by reads of other times and by
//! CHECK TABLE.
//!
//! The model keeps all that was ever written, and says what may be seen of it; nothing of how the
//! server stores it. A failure prints the seed of its case.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use super::super::versions::DELETION_KEPT_MS;
use crate::codec::row::expiry_of;
use crate::error::Code;
use crate::exec::testing::Server;
use crate::kv::expiry::{Expiry, Living};
use crate::kv::lsm::{Lsm, Options};
use crate::kv::memory::Memory;
use crate::kv::{Engine, Space};
use crate::plan::testing::run_goldens;

const STATEMENTS: usize = 60;

/// The second at which each case begins.
const BEGIN_S: u64 = 1_700_000_000;

const COLUMNS: [&str; 3] = ["a", "b", "x"];

type Cell = Option<i64>;

/// All that was written to a row since it last became one.
#[derive(Debug, Clone, Default)]
struct Row {
    /// By column and time; each with the least number of versions that was kept since it was written.
    cells: BTreeMap<&'static str, BTreeMap<u64, Cell>>,
    newest_ms: u64,
    deletion: Option<(u64, u64)>,
    end_ms: Option<u64>,
}

struct Model {
    rng: StdRng,
    rows: BTreeMap<u32, Row>,
    /// Of rows that are not there: up to which time writes are hidden, and until when.
    deletions: BTreeMap<u32, (u64, u64)>,
    now_ms: u64,
    keep: usize,
    /// Seconds; 0 for rows that do not end by themselves.
    ttl_s: u64,
}

impl Row {
    /// Drops what is beyond the number of versions.
    fn cut(&mut self, keep: usize) {
        for versions in self.cells.values_mut() {
            while keep < versions.len() {
                versions.pop_first();
            }
        }
    }

    /// Lets go of a dynamic column that has been `NULL` for as long as a deletion counts.
    fn fade(&mut self, now_ms: u64) {
        let is_past = |ms: u64| ms < now_ms - DELETION_KEPT_MS;
        let versions = self.cells.get("x");
        if versions.is_some_and(|all| all.iter().all(|(ms, cell)| cell.is_none() && is_past(*ms))) {
            self.cells.remove("x");
        }
    }

    fn newest(&self, column: &str) -> Option<(u64, Cell)> {
        let versions = self.cells.get(column)?;
        versions.last_key_value().map(|(ms, cell)| (*ms, *cell))
    }
}

/// Columns with their new values.
type Given = Vec<(&'static str, Cell)>;

impl Model {
    fn is_alive(&self, id: u32) -> bool {
        let row = self.rows.get(&id);
        row.is_some_and(|row| row.end_ms.is_none_or(|end_ms| self.now_ms < end_ms))
    }

    fn given(&mut self) -> Given {
        let count = self.rng.random_range(1..=2);
        let columns: Vec<&'static str> = COLUMNS
            .choose_multiple(&mut self.rng, count)
            .copied()
            .collect();
        let mut cell = || {
            let value = self.rng.random_range(0..5);
            (value != 0).then_some(value)
        };
        columns.into_iter().map(|name| (name, cell())).collect()
    }

    fn time(&mut self) -> Option<u64> {
        let is_given = self.rng.random_bool(0.6);
        let back = self.rng.random_range(0..120_000);
        is_given.then(|| self.now_ms - back + 60_000)
    }

    /// When a write to a row is dated, by the hint or without.
    fn dated(&self, hint: Option<u64>, row: &Row) -> u64 {
        let hidden = row.deletion.map_or(0, |(ms, _)| ms);
        hint.unwrap_or_else(|| self.now_ms.max(row.newest_ms.max(hidden) + 1))
    }

    /// Writes cells; `false` when a deletion hides them.
    fn write(&mut self, id: u32, hint: Option<u64>, given: &Given) -> bool {
        let mut row = match self.rows.get(&id).filter(|_| self.is_alive(id)) {
            Some(row) => row.clone(),
            None => Row {
                deletion: self.deletions.get(&id).copied(),
                ..Row::default()
            },
        };
        row.fade(self.now_ms);
        row.deletion = row.deletion.filter(|(_, until)| self.now_ms < *until);
        let ms = self.dated(hint, &row);
        if row.deletion.is_some_and(|(hidden, _)| ms <= hidden) {
            return false;
        }
        for (name, cell) in given {
            row.cells.entry(name).or_default().insert(ms, *cell);
        }
        row.cut(self.keep);
        if row.newest_ms <= ms && self.ttl_s != 0 {
            row.end_ms = Some(hint.unwrap_or(self.now_ms) + self.ttl_s * 1000);
        }
        row.newest_ms = row.newest_ms.max(ms);
        self.rows.insert(id, row);
        self.deletions.remove(&id);
        true
    }

    fn delete(&mut self, id: u32, hint: Option<u64>) {
        if !self.is_alive(id) {
            return;
        }
        let Some(row) = self.rows.get_mut(&id) else {
            return;
        };
        let ms = hint.unwrap_or(self.now_ms.max(row.newest_ms));
        let before = row.deletion.filter(|(_, until)| self.now_ms < *until);
        let (hidden, until) = before.unwrap_or((0, 0));
        let until = until.max(self.now_ms + DELETION_KEPT_MS);
        let deletion = (hidden.max(ms), until);
        if row.newest_ms <= ms {
            self.rows.remove(&id);
            self.deletions.insert(id, deletion);
            return;
        }
        row.deletion = Some(deletion);
        for versions in row.cells.values_mut() {
            *versions = versions.split_off(&(ms + 1));
        }
        row.cells.retain(|_, versions| !versions.is_empty());
    }

    /// A statement, and whether it must fail for want of a free key.
    fn statement(&mut self) -> (String, bool) {
        let id = self.rng.random_range(1..=4);
        let (given, hint) = (self.given(), self.time());
        let hinted = hint.map_or(String::new(), |ms| format!("/*+ _l_ts_({ms}) */ "));
        let text = |cell: &Cell| cell.map_or("NULL".to_owned(), |value| value.to_string());
        let verbs = ["UPSERT", "UPSERT", "INSERT", "REPLACE", "UPDATE", "DELETE"];
        let verb = *verbs.choose(&mut self.rng).unwrap();
        let is_alive = self.is_alive(id);
        match verb {
            "DELETE" => {
                self.delete(id, hint);
                (format!("DELETE {hinted}FROM t WHERE id = {id}"), false)
            }
            "UPDATE" => {
                let set = given
                    .iter()
                    .map(|(name, cell)| format!("{name} = {}", text(cell)));
                let set = set.collect::<Vec<_>>().join(", ");
                let changes = is_alive && {
                    let row = &self.rows[&id];
                    let of = |name| row.newest(name).and_then(|(_, cell)| cell);
                    hint.is_some() || given.iter().any(|(name, cell)| of(*name) != *cell)
                };
                if changes {
                    self.write(id, hint, &given);
                }
                (format!("UPDATE {hinted}t SET {set} WHERE id = {id}"), false)
            }
            _ => {
                let names = given.iter().map(|(name, _)| format!(", {name}"));
                let names = names.collect::<String>();
                let values = given.iter().map(|(_, cell)| format!(", {}", text(cell)));
                let values = values.collect::<String>();
                let sql = format!("{verb} {hinted}INTO t (id{names}) VALUES ({id}{values})");
                if verb == "INSERT" && is_alive {
                    return (sql, true);
                }
                let mut given = given;
                if verb == "REPLACE" {
                    self.replaced(id, is_alive, &mut given);
                }
                self.write(id, hint, &given);
                (sql, false)
            }
        }
    }

    /// REPLACE names all columns, dynamic ones that the row has ever had.
    fn replaced(&self, id: u32, is_alive: bool, given: &mut Given) {
        for name in COLUMNS {
            let is_given = given.iter().any(|(other, _)| *other == name);
            let has = is_alive && {
                let mut row = self.rows[&id].clone();
                row.fade(self.now_ms);
                row.cells.contains_key(name)
            };
            if !is_given && (name != "x" || has) {
                given.push((name, None));
            }
        }
    }

    /// The rows that are read with these bounds.
    fn read(&self, (count, min, until): (usize, u64, Option<u64>)) -> Vec<Vec<String>> {
        let takes = |ms: u64| min <= ms && until.is_none_or(|until| ms < until);
        let mut rows = Vec::new();
        for (id, row) in self.rows.iter().filter(|(id, _)| self.is_alive(**id)) {
            let of = |name: &str| -> Vec<(u64, Cell)> {
                let versions = row.cells.get(name).into_iter().flatten();
                let within = versions.rev().filter(|(ms, _)| takes(**ms));
                within.take(count).map(|(ms, cell)| (*ms, *cell)).collect()
            };
            let cells = COLUMNS.map(of);
            let longest = cells.iter().map(Vec::len).max().unwrap_or(0);
            for k in 0..longest.max(usize::from(takes(row.newest_ms))) {
                let mut texts = vec![id.to_string()];
                for versions in &cells {
                    let version = versions.get(k);
                    let null = || "NULL".to_owned();
                    let cell = version.and_then(|(_, cell)| *cell);
                    texts.push(cell.map_or_else(null, |value| value.to_string()));
                    texts.push(version.map_or_else(null, |(ms, _)| ms.to_string()));
                }
                rows.push(texts);
            }
        }
        rows
    }
}

async fn agree(server: &Server, model: &mut Model, told: &str) {
    let columns = "id, a, a_l_ts, b, b_l_ts, x, x_l_ts";
    let plain = format!("SELECT {columns} FROM t ORDER BY id");
    let newest = model.read((1, 0, None));
    assert_eq!(server.run(&plain).await.unwrap(), newest, "{told}");
    let at = model.now_ms - model.rng.random_range(0..60_000);
    let reads = [
        ("_l_versions_(9)".to_owned(), (9, 0, None)),
        ("_l_versions_(2)".to_owned(), (2, 0, None)),
        (format!("_l_ts_max_({at})"), (1, 0, Some(at))),
        (format!("_l_ts_min_({at})"), (1, at, None)),
        (
            format!(
                "_l_versions_(3), _l_ts_min_({}), _l_ts_max_({at})",
                at - 30_000
            ),
            (3, at - 30_000, Some(at)),
        ),
    ];
    for (hints, bounds) in reads {
        let sql = format!("SELECT /*+ {hints} */ {columns} FROM t ORDER BY id");
        let found = server.run(&sql).await.unwrap();
        assert_eq!(found, model.read(bounds), "{hints}: {told}");
    }
    for (name, value) in [("a", 2), ("b", 3), ("x", 1)] {
        let sql = format!("SELECT id FROM t WHERE {name} = {value} ORDER BY id");
        let at = 1 + 2 * COLUMNS.iter().position(|one| *one == name).unwrap();
        let with = newest.iter().filter(|row| row[at] == value.to_string());
        let ids: Vec<_> = with.map(|row| vec![row[0].clone()]).collect();
        assert_eq!(server.run(&sql).await.unwrap(), ids, "{sql}: {told}");
    }
    let count = server.run("SELECT COUNT(*) FROM t").await.unwrap();
    assert_eq!(count, [[newest.len().to_string()]], "{told}");
    assert_eq!(server.check("t").await, ["status OK"], "{told}");
}

/// Changes that are no write of rows: the number of versions, compaction, time.
async fn shake(server: &Server, model: &mut Model, clock: &AtomicU64) -> Option<String> {
    match model.rng.random_range(0..12) {
        0 | 1 => {
            model.keep = model.rng.random_range(1..=4);
            let keep = model.keep;
            model.rows.values_mut().for_each(|row| row.cut(keep));
            let sql = format!("ALTER TABLE t SET 'VERSIONS' = '{keep}'");
            server.run(&sql).await.unwrap();
            Some(sql)
        }
        2 => {
            let table = server.table("t");
            let spaces = [table.id.0, table.deletions_space().unwrap()];
            let spaces = spaces.map(Space);
            server.engine().compact(&spaces).await.unwrap();
            Some("compacted".to_owned())
        }
        3 => {
            model.now_ms += DELETION_KEPT_MS / 2;
            clock.store(model.now_ms, Ordering::Relaxed);
            model
                .deletions
                .retain(|_, (_, until)| model.now_ms < *until);
            Some("half a day later".to_owned())
        }
        4..8 => {
            model.now_ms += 1000 * model.rng.random_range(1..40);
            clock.store(model.now_ms, Ordering::Relaxed);
            model
                .deletions
                .retain(|_, (_, until)| model.now_ms < *until);
            None
        }
        _ => None,
    }
}

async fn case(seed: u64) {
    let clock = Arc::new(AtomicU64::new(BEGIN_S * 1000));
    let told = Arc::clone(&clock);
    let expiry = Arc::new(Expiry::with_clock(expiry_of, move || {
        told.load(Ordering::Relaxed)
    }));
    let dir = tempfile::tempdir().unwrap();
    let engine: Arc<dyn Engine> = if seed.is_multiple_of(5) {
        let mut options = Options::new(dir.path().join("data"));
        options.expiry = Some(Arc::clone(&expiry));
        Arc::new(Lsm::open(&options).unwrap())
    } else {
        Arc::new(Memory::default())
    };
    let server = Server::on(Arc::new(Living::new(engine, expiry))).await;
    let mut model = Model {
        rng: StdRng::seed_from_u64(seed),
        rows: BTreeMap::new(),
        deletions: BTreeMap::new(),
        now_ms: BEGIN_S * 1000,
        keep: 1 + usize::try_from(seed % 4).unwrap(),
        ttl_s: [0, 0, 90][usize::try_from(seed % 3).unwrap()],
    };
    let ttl = match model.ttl_s {
        0 => String::new(),
        ttl => format!(", TTL='{ttl}'"),
    };
    let create = format!(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY ia (a), KEY ib (b) INCLUDE (a)) \
         WITH (DYNAMIC_COLUMNS='true', VERSIONS='{}'{ttl})",
        model.keep
    );
    server.run(&create).await.unwrap();
    let mut log = vec![create];
    for _ in 0..STATEMENTS {
        let set = format!("SET timestamp = {}", model.now_ms / 1000);
        server.run(&set).await.unwrap();
        log.extend(shake(&server, &mut model, &clock).await);
        let set = format!("SET timestamp = {}", model.now_ms / 1000);
        server.run(&set).await.unwrap();
        let (sql, must_fail) = model.statement();
        log.push(format!("{} {sql}", model.now_ms));
        let told = || format!("seed {seed}\n{}", log.join(";\n"));
        match server.run(&sql).await {
            Ok(_) => assert!(!must_fail, "{}", told()),
            Err(error) => {
                let is_expected = must_fail && error.code() == Code::DuplicateEntry;
                assert!(is_expected, "{}: {}", error.message(), told());
            }
        }
        agree(&server, &mut model, &told()).await;
    }
}

#[tokio::test]
async fn versions_are_a_map_of_cells_by_time() {
    for seed in 0..20 {
        case(seed).await;
    }
}

/// Runs the lines of a case; what the last one answers.
async fn told(input: &str) -> String {
    let clock = Arc::new(AtomicU64::new(BEGIN_S * 1000));
    let time = Arc::clone(&clock);
    let expiry = Expiry::with_clock(expiry_of, move || time.load(Ordering::Relaxed));
    let engine = Living::new(Arc::new(Memory::default()), Arc::new(expiry));
    let server = Server::on(Arc::new(engine)).await;
    let mut told = Vec::new();
    for line in input.lines() {
        if let Some(ms) = line.strip_prefix("later ") {
            clock.fetch_add(ms.parse().unwrap(), Ordering::Relaxed);
            continue;
        }
        let seconds = clock.load(Ordering::Relaxed) / 1000;
        server
            .run(&format!("SET timestamp = {seconds}"))
            .await
            .unwrap();
        told = match server.run(line).await {
            Ok(rows) => rows.iter().map(|row| row.join(" | ")).collect(),
            Err(error) => vec![error.to_string()],
        };
    }
    told.join("\n")
}

#[test]
fn goldens_of_explain_row() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let answer = |_: &[String], input: &str| runtime.block_on(told(input));
    let cases = run_goldens("src/exec/testdata/why", &answer);
    assert_eq!(cases, 12);
}

/// A row that ended takes its versions with it: what is written next begins anew, after compaction
/// and before.
#[tokio::test]
async fn nothing_of_what_was_deleted_or_has_ended_comes_back() {
    for compacts in [false, true] {
        let clock = Arc::new(AtomicU64::new(BEGIN_S * 1000));
        let time = Arc::clone(&clock);
        let expiry = Arc::new(Expiry::with_clock(expiry_of, move || {
            time.load(Ordering::Relaxed)
        }));
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::new(dir.path().join("data"));
        options.expiry = Some(Arc::clone(&expiry));
        let engine = Arc::new(Lsm::open(&options).unwrap());
        let server = Server::on(Arc::new(Living::new(engine, expiry))).await;
        let run = async |sql: &str| {
            let ms = clock.load(Ordering::Relaxed);
            server
                .run(&format!("SET timestamp = {}", ms / 1000))
                .await
                .unwrap();
            server.run(sql).await.unwrap()
        };
        run("CREATE TABLE t (id INT PRIMARY KEY, a INT) WITH (VERSIONS='5', TTL='60')").await;
        run("INSERT INTO t VALUES (1, 1)").await;
        run("UPSERT INTO t VALUES (1, 2)").await;
        run("INSERT INTO t VALUES (2, 1)").await;
        run("DELETE FROM t WHERE id = 2").await;
        clock.fetch_add(60_000 + DELETION_KEPT_MS, Ordering::Relaxed);
        if compacts {
            let table = server.table("t");
            let spaces = [table.id.0, table.deletions_space().unwrap()].map(Space);
            server.engine().compact(&spaces).await.unwrap();
        }
        let late = format!("_l_ts_({})", clock.load(Ordering::Relaxed) - 1000);
        run(&format!(
            "UPSERT /*+ {late} */ INTO t VALUES (1, 3), (2, 3)"
        ))
        .await;
        let found = run("SELECT /*+ _l_versions_(9) */ id, a FROM t WHERE id > 0").await;
        assert_eq!(found, [["1", "3"], ["2", "3"]]);
        assert_eq!(server.check("t").await, ["status OK"]);
    }
}

/// Each name that was ever written stayed in the row as a version that says `NULL`, up to the most
/// names that a row can have; now it leaves the row when it has been `NULL` for a day.
#[tokio::test]
async fn names_that_are_null_leave_the_row() {
    let clock = Arc::new(AtomicU64::new(BEGIN_S * 1000));
    let time = Arc::clone(&clock);
    let expiry = Expiry::with_clock(expiry_of, move || time.load(Ordering::Relaxed));
    let engine = Living::new(Arc::new(Memory::default()), Arc::new(expiry));
    let server = Server::on(Arc::new(engine)).await;
    let run = async |sql: &str| {
        let ms = clock.load(Ordering::Relaxed);
        let set = format!("SET timestamp = {}", ms / 1000);
        server.run(&set).await.unwrap();
        server.run(sql).await.unwrap()
    };
    run("CREATE TABLE t (id INT PRIMARY KEY, a INT) WITH (DYNAMIC_COLUMNS='true', VERSIONS='1')")
        .await;
    run("INSERT INTO t (id, a, x, y) VALUES (1, NULL, 1, 2)").await;
    run("UPSERT INTO t (id, x) VALUES (1, NULL)").await;
    let told = async || {
        let lines = run("EXPLAIN ROW t WHERE id = 1").await;
        lines.into_iter().map(|line| line[0].clone())
    };
    clock.fetch_add(DELETION_KEPT_MS, Ordering::Relaxed);
    run("UPSERT INTO t (id, y) VALUES (1, 3)").await;
    assert!(told().await.eq(["(row)", "a", "x", "y"]));
    clock.fetch_add(DELETION_KEPT_MS, Ordering::Relaxed);
    run("UPSERT INTO t (id, y) VALUES (1, 4)").await;
    assert!(told().await.eq(["(row)", "a", "y"]));
    assert_eq!(server.check("t").await, ["status OK"]);
}
