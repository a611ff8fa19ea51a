//! ALTER TABLE against a model that changes rows one by one; against writers at the same time; and
//! SHOW CREATE TABLE of random tables, read back. A failure prints the seed of its case.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{Rng as _, SeedableRng as _};

use crate::catalog::describe;
use crate::error::Code;
use crate::exec::rows::{PageEnd, RowSink};
use crate::exec::testing::Server;
use crate::kv::Engine;
use crate::kv::memory::Memory;
use crate::kv::testing::{Fault, Faults, Faulty};
use crate::types::{Value, Zone};

/// Random cases.
const CASES: u64 = 60;

/// Statements of a case.
const STATEMENTS: usize = 50;

/// Each type holds what the one before it holds.
const TYPES: [&str; 4] = ["INT", "BIGINT", "DECIMAL(20,2)", "VARCHAR(40)"];

#[derive(Clone)]
struct Column {
    name: String,
    /// Position in [`TYPES`].
    ty: usize,
    /// As text; `NULL` for none.
    default: String,
}

/// A table whose rows hold every column.
struct Model {
    rng: StdRng,
    columns: Vec<Column>,
    rows: BTreeMap<u32, BTreeMap<String, String>>,
    indexes: Vec<String>,
    names: u32,
}

/// A value as a type shows it.
fn shown(value: &str, ty: usize) -> String {
    if value != "NULL" && ty == 2 && !value.contains('.') {
        return format!("{value}.00");
    }
    value.to_owned()
}

impl Model {
    fn new(seed: u64) -> Model {
        Model {
            rng: StdRng::seed_from_u64(seed),
            columns: Vec::new(),
            rows: BTreeMap::new(),
            indexes: Vec::new(),
            names: 0,
        }
    }

    fn value(&mut self) -> String {
        if self.rng.random_bool(0.25) {
            return "NULL".to_owned();
        }
        self.rng.random_range(-3..200).to_string()
    }

    fn name(&mut self) -> String {
        self.names += 1;
        // Names come again after they were dropped.
        format!("c{}", self.names % 7)
    }

    /// A statement, and the model after it.
    fn step(&mut self) -> String {
        match self.rng.random_range(0..10) {
            0..4 => self.insert(),
            4 | 5 if !self.columns.is_empty() => self.update(),
            _ => self.alter(),
        }
    }

    fn insert(&mut self) -> String {
        let key = self.rng.random_range(0..40);
        let mut row: BTreeMap<String, String> = BTreeMap::new();
        let mut given = vec!["a".to_owned()];
        let mut values = vec![key.to_string()];
        for column in self.columns.clone() {
            if self.rng.random_bool(0.5) {
                let value = self.value();
                row.insert(column.name.clone(), shown(&value, column.ty));
                given.push(column.name);
                values.push(value);
            } else {
                row.insert(column.name, shown(&column.default, column.ty));
            }
        }
        self.rows.insert(key, row);
        let (given, values) = (given.join(", "), values.join(", "));
        format!("REPLACE INTO t ({given}) VALUES ({values})")
    }

    fn update(&mut self) -> String {
        let column = self.columns.choose(&mut self.rng).unwrap().clone();
        let until = self.rng.random_range(0..40);
        let value = self.value();
        for (_, row) in self.rows.range_mut(..until) {
            row.insert(column.name.clone(), shown(&value, column.ty));
        }
        format!("UPDATE t SET {} = {value} WHERE a < {until}", column.name)
    }

    fn alter(&mut self) -> String {
        let mut actions = Vec::new();
        for _ in 0..self.rng.random_range(1..3) {
            if let Some(action) = self.action(&actions) {
                actions.push(action);
            }
        }
        format!("ALTER TABLE t {}", actions.join(", "))
    }

    /// An action on a column that is in no other of the same statement, as far as that matters.
    #[expect(clippy::too_many_lines, reason = "a list of kinds of actions")]
    fn action(&mut self, before: &[String]) -> Option<String> {
        let is_named = |name: &str| before.iter().any(|action| action.contains(name));
        let choice = self.rng.random_range(0..7);
        if choice < 2 || self.columns.is_empty() {
            return self.add();
        }
        let at = self.rng.random_range(0..self.columns.len());
        let name = self.columns[at].name.clone();
        if is_named(&name) || self.indexes.iter().any(|index| is_named(index)) {
            return None;
        }
        match choice {
            2 => {
                self.columns.remove(at);
                for row in self.rows.values_mut() {
                    row.remove(&name);
                }
                self.indexes.retain(|index| *index != format!("i_{name}"));
                Some(format!("DROP COLUMN {name}"))
            }
            3 => {
                let to = self.name();
                if is_named(&to) || self.columns.iter().any(|column| column.name == to) {
                    return None;
                }
                // An index keeps its name: one of that name may come again.
                if self.indexes.contains(&format!("i_{name}")) {
                    return None;
                }
                self.columns[at].name.clone_from(&to);
                for row in self.rows.values_mut() {
                    let value = row.remove(&name).unwrap();
                    row.insert(to.clone(), value);
                }
                Some(format!("RENAME COLUMN {name} TO {to}"))
            }
            4 => {
                let ty = self.rng.random_range(self.columns[at].ty..TYPES.len());
                let column = &mut self.columns[at];
                column.ty = ty;
                column.default = shown(&column.default, ty);
                for row in self.rows.values_mut() {
                    let value = row.get_mut(&name).unwrap();
                    *value = shown(value, ty);
                }
                Some(format!(
                    "MODIFY {name} {} DEFAULT {}",
                    TYPES[ty], column.default
                ))
            }
            5 => {
                let default = self.value();
                self.columns[at].default.clone_from(&default);
                Some(format!("ALTER COLUMN {name} SET DEFAULT {default}"))
            }
            _ => {
                let index = format!("i_{name}");
                if self.indexes.contains(&index) {
                    self.indexes.retain(|other| *other != index);
                    return Some(format!("DROP INDEX {index}"));
                }
                self.indexes.push(index.clone());
                let include = ["", " INCLUDE ALL"].choose(&mut self.rng).unwrap();
                Some(format!("ADD INDEX {index} ({name}){include}"))
            }
        }
    }

    fn add(&mut self) -> Option<String> {
        let name = self.name();
        if self.columns.iter().any(|column| column.name == name) || 6 <= self.columns.len() {
            return None;
        }
        let ty = self.rng.random_range(0..TYPES.len());
        let default = self.value();
        for row in self.rows.values_mut() {
            row.insert(name.clone(), shown(&default, ty));
        }
        let action = format!("ADD COLUMN {name} {} DEFAULT {default}", TYPES[ty]);
        let column = Column { name, ty, default };
        if self.rng.random_bool(0.3) {
            self.columns.insert(0, column);
            return Some(format!("{action} AFTER a"));
        }
        self.columns.push(column);
        Some(action)
    }

    async fn compare(&self, server: &Server, told: &str) {
        let found = server.run("SELECT * FROM t WHERE a >= 0").await.unwrap();
        let expected = self.rows.iter().map(|(key, row)| {
            let values = self.columns.iter().map(|column| row[&column.name].clone());
            std::iter::once(key.to_string())
                .chain(values)
                .collect::<Vec<_>>()
        });
        assert_eq!(found, expected.collect::<Vec<_>>(), "{told}");
        assert_eq!(server.check("t").await, ["status OK"], "{told}");
        for index in &self.indexes {
            let name = &index[2..];
            let column = self.columns.iter().find(|column| column.name == name);
            let quote = if column.unwrap().ty == 3 { "'" } else { "" };
            let sql = format!(
                "SELECT COUNT(*) FROM t FORCE INDEX ({index}) WHERE {name} = {quote}5{quote}"
            );
            let is_five = |row: &&BTreeMap<String, String>| ["5", "5.00"].contains(&&*row[name]);
            // A text that was a decimal is not equal to '5'.
            let is_text = column.unwrap().ty == 3;
            let count = self.rows.values().filter(is_five);
            let count = count.filter(|row| !is_text || row[name] == "5").count();
            let found = server.run(&sql).await.unwrap();
            assert_eq!(found, [[count.to_string()]], "{told}: {sql}");
        }
    }
}

#[tokio::test]
async fn rows_are_what_they_would_be_had_each_been_changed() {
    let only = std::env::var("MESETA_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seeds = only.map_or(0..CASES, |seed: u64| seed..seed + 1);
    for seed in seeds {
        let mut server = Server::start().await;
        server
            .run("CREATE TABLE t (a INT PRIMARY KEY)")
            .await
            .unwrap();
        let mut model = Model::new(seed);
        let mut told = format!("MESETA_SEED={seed}");
        for step in 0..STATEMENTS {
            let sql = model.step();
            told.push_str(";\n");
            told.push_str(&sql);
            let done = server.run(&sql).await;
            assert!(done.is_ok(), "{told}\n{done:?}");
            if step % 10 == 9 {
                model.compare(&server, &told).await;
            }
        }
        server = server.restart().await;
        model.compare(&server, &told).await;
        let text = describe::create_table(&server.table("t"), &Zone::UTC);
        server.run("DROP TABLE t").await.unwrap();
        server.run(&text).await.unwrap();
        assert_eq!(
            describe::create_table(&server.table("t"), &Zone::UTC),
            text,
            "{told}"
        );
    }
}

/// Writers write `NULL` now and then, while the column is to take none any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_null_slips_into_a_column_that_has_just_become_not_null() {
    for round in 0..8 {
        let server = Server::start().await;
        let define = "CREATE TABLE t (a INT PRIMARY KEY, b INT)";
        server.run(define).await.unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..4_u32)
            .map(|writer| {
                let (session, is_over) = (server.another(), Arc::clone(&is_over));
                tokio::spawn(async move {
                    let mut rng = StdRng::seed_from_u64(u64::from(writer) + round * 10);
                    let mut refused = 0_u32;
                    for number in 0..100_000_u32 {
                        if is_over.load(Ordering::SeqCst) {
                            break;
                        }
                        let key = number * 4 + writer;
                        let value = if rng.random_bool(0.02) { "NULL" } else { "1" };
                        let sql = format!("INSERT INTO t VALUES ({key}, {value})");
                        if let Err(error) = session.run(&sql).await {
                            assert_eq!(error.code(), Code::ColumnNotNull, "{error}");
                            refused += 1;
                        }
                    }
                    refused
                })
            })
            .collect();
        let not_null = "ALTER TABLE t MODIFY b INT NOT NULL";
        let mut attempts = 0;
        while let Err(error) = server.run(not_null).await {
            assert_eq!(error.code(), Code::NullInvalid, "{error}");
            attempts += 1;
            server
                .run("DELETE FROM t WHERE b IS NULL AND a >= 0")
                .await
                .unwrap();
            assert!(attempts < 10_000);
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        is_over.store(true, Ordering::SeqCst);
        for writer in writers {
            writer.await.unwrap();
        }
        server.run("ALTER TABLE t MODIFY b INT NULL").await.unwrap();
        let nulls = "SELECT COUNT(*) FROM t WHERE b IS NULL AND a >= 0";
        assert_eq!(server.run(nulls).await.unwrap(), [["0"]], "round {round}");
    }
}

/// A crash while the rows are looked at leaves the table as it was.
#[tokio::test]
async fn a_pledge_is_not_stored() {
    let server = Server::start().await;
    server
        .run("CREATE TABLE t (a INT PRIMARY KEY, b INT)")
        .await
        .unwrap();
    let catalog = server.catalog();
    let statement = crate::catalog::Pledger::default();
    let pledged = catalog.announce(("default", "t"), |table| {
        let new = crate::catalog::Column {
            nullable: false,
            ..table.columns[1].clone()
        };
        table.columns[1].pledge = Some(statement.pledge(new));
        Ok(())
    });
    pledged.await.unwrap();
    let refused = server.run("INSERT INTO t VALUES (1, NULL)").await;
    assert_eq!(refused.unwrap_err().code(), Code::ColumnNotNull);
    let server = server.restart().await;
    server.run("INSERT INTO t VALUES (1, NULL)").await.unwrap();
}

/// Rows that were written before a column was added have nothing but its definition. That kept a FLOAT with six
/// digits, and JSON as it would be read: after a restart it was another value than the index had.
#[tokio::test]
async fn what_old_rows_have_is_the_same_after_a_restart() {
    let server = Server::start().await;
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, y YEAR NOT NULL DEFAULT 2012)",
        "INSERT INTO t (id) VALUES (1), (2)",
        "ALTER TABLE t ADD COLUMN f FLOAT NOT NULL DEFAULT 1234567.0, ADD INDEX kf (f), \
         ADD COLUMN d DOUBLE NOT NULL DEFAULT 0.1, ADD COLUMN at DATETIME(3) NOT NULL DEFAULT '2024-02-29 10:11:12.345', \
         ADD COLUMN yy YEAR NOT NULL DEFAULT 2012",
        "INSERT INTO t (id) VALUES (3)",
        "ALTER TABLE t MODIFY yy DECIMAL(20,5) NOT NULL",
        "ALTER TABLE t MODIFY yy JSON NOT NULL",
        "ALTER TABLE t MODIFY at FLOAT NOT NULL",
    ] {
        server
            .run(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {}", error.message()));
    }
    let all = "SELECT id, f + 0e0, d, at + 0e0, yy FROM t ORDER BY id";
    let before = server.run(all).await.unwrap();
    assert_eq!(before[0][1], "1234567");
    assert_eq!(before[0][4], "2012.00000");
    let server = server.restart().await;
    assert_eq!(server.run(all).await.unwrap(), before);
    let by_index = "SELECT COUNT(*) FROM t FORCE INDEX (kf) WHERE f = 1234567";
    assert_eq!(server.run(by_index).await.unwrap(), [["3"]]);
    assert_eq!(server.check("t").await, ["status OK"]);
}

/// Each other type is one more that old rows pass when they are read.
#[tokio::test]
async fn a_column_had_only_so_many_types() {
    let server = Server::start().await;
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 7)",
    ] {
        server.run(sql).await.unwrap();
    }
    for _ in 0..32 {
        for ty in ["DECIMAL(5,1)", "INT"] {
            let sql = format!("ALTER TABLE t MODIFY v {ty}");
            server.run(&sql).await.unwrap();
        }
    }
    let one_more = server.run("ALTER TABLE t MODIFY v BIGINT").await;
    let refused = one_more.unwrap_err();
    assert!(
        refused.message().contains("had 64 other types"),
        "{}",
        refused.message()
    );
    let rows = server.run("SELECT v FROM t WHERE id = 1").await;
    assert_eq!(rows.unwrap(), [["7"]]);
}

/// What compares equal to the default of an added column is not always the same.
#[tokio::test]
async fn a_value_that_only_equals_what_old_rows_have_is_kept() {
    let server = Server::start().await;
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD COLUMN j INT NOT NULL DEFAULT 1, ADD COLUMN d DOUBLE NOT NULL DEFAULT 0, \
         ADD COLUMN f FLOAT NOT NULL DEFAULT 0, ADD COLUMN s VARCHAR(9) NOT NULL DEFAULT 'a', \
         ADD INDEX by_id (f) INCLUDE (j, d, s)",
        "ALTER TABLE t MODIFY j JSON NOT NULL",
        "INSERT INTO t VALUES (2, '1.0', '-0', '-0', 'A'), (3, '1', 0, 0, 'a')",
    ] {
        server
            .run(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {}", error.message()));
    }
    // A key has one form of zero.
    for (read, float) in [
        ("WHERE id > 0", "-0"),
        ("FORCE INDEX (by_id) WHERE f >= 0", "0"),
    ] {
        let sql = format!("SELECT id, j, d, f, s FROM t {read}");
        let rows = server.run(&sql).await.unwrap();
        let expected = [
            ["1", "1", "0", "0", "a"],
            ["2", "1.0", "-0", float, "A"],
            ["3", "1", "0", "0", "a"],
        ];
        assert_eq!(rows, expected, "{sql}");
    }
    assert_eq!(server.check("t").await, ["status OK"]);
}

#[tokio::test]
async fn a_table_that_is_renamed_while_its_index_is_built_has_it() {
    let server = Server::start().await;
    server
        .run("CREATE TABLE t (a INT PRIMARY KEY, b INT)")
        .await
        .unwrap();
    server
        .run("CREATE TABLE other (a INT PRIMARY KEY)")
        .await
        .unwrap();
    for chunk in 0..8 {
        let rows = (chunk * 500..(chunk + 1) * 500).map(|key| format!("({key}, {})", key % 10));
        let rows: Vec<String> = rows.collect();
        let sql = format!("INSERT INTO t VALUES {}", rows.join(", "));
        server.run(&sql).await.unwrap();
    }
    let held = server.backfill().hold().await;
    server.run("CREATE INDEX i ON t (b) ASYNC").await.unwrap();
    server.run("RENAME TABLE t TO u, other TO t").await.unwrap();
    server
        .run("ALTER TABLE u ADD COLUMN c INT DEFAULT 3, RENAME COLUMN b TO bb")
        .await
        .unwrap();
    drop(held);
    server.builds_ended().await;
    let counted = server
        .run("SELECT COUNT(*) FROM u FORCE INDEX (i) WHERE bb = 3")
        .await;
    assert_eq!(counted.unwrap(), [["400"]]);
    assert_eq!(server.check("u").await, ["status OK"]);
}

/// Whatever call of the engine fails, and however: after a restart the table is whole, has its rows,
/// and each column that it has has the values that it must have.
#[tokio::test]
async fn a_failing_engine_leaves_a_table_that_is_whole() {
    const ALTERS: &[&str] = &[
        "ALTER TABLE t ADD COLUMN c INT DEFAULT 7, ADD INDEX ic (c)",
        "ALTER TABLE t MODIFY b BIGINT NOT NULL",
        "ALTER TABLE t MODIFY b VARCHAR(9)",
        "ALTER TABLE t DROP INDEX ib, ADD UNIQUE ub (b), DROP COLUMN gone",
        "ALTER TABLE t RENAME COLUMN c TO d, RENAME TO u",
        "RENAME TABLE u TO t",
        "DROP TABLE t",
        "UNDROP TABLE t",
    ];
    let faults = [Fault::Refuse, Fault::LoseRequest, Fault::LoseAnswer];
    for call in 1..70 {
        for fault in faults {
            let memory: Arc<dyn Engine> = Arc::new(Memory::default());
            let server = Server::over(Arc::clone(&memory), true).await;
            let define = "CREATE TABLE t (a INT PRIMARY KEY, b INT, gone INT, KEY ib (b))";
            server.run(define).await.unwrap();
            server
                .run("INSERT INTO t VALUES (1, 10, 1), (2, 20, 2)")
                .await
                .unwrap();
            let wrapped = Faulty::new(Arc::clone(&memory), Faults::Nth(call, fault));
            let failing = Server::over_or_none(Arc::new(wrapped)).await;
            let mut errors = Vec::new();
            if let Some(failing) = failing {
                for sql in ALTERS {
                    if let Err(error) = failing.run(sql).await {
                        errors.push(format!("{sql}: {error}"));
                    }
                }
                failing.builds_ended().await;
            }
            drop(server);
            let server = Server::over(memory, true).await;
            server.builds_ended().await;
            let told = format!("call {call} {fault:?}: {errors:#?}");
            check_whole(&server, &told).await;
        }
    }
}

/// Mechanism: the storage of what was there before is given back when the new definition is published;
/// when that failed, a change that had taken place was told as failed.
#[tokio::test]
async fn a_change_that_took_place_is_never_told_as_failed() {
    // Each with a query that has rows as long as it has not taken place.
    let changes = [
        ("TRUNCATE TABLE t", "SELECT a FROM t WHERE a > 0"),
        (
            "DROP INDEX ib ON t",
            "SHOW INDEX FROM t WHERE Key_name = 'ib'",
        ),
        (
            "ALTER TABLE t DROP INDEX ib, ADD COLUMN c INT",
            "SHOW INDEX FROM t WHERE Key_name = 'ib'",
        ),
        ("PURGE TABLE old", "SHOW TRASH"),
    ];
    let mut refused = 0;
    for (sql, before) in changes {
        for call in 1..60 {
            let memory: Arc<dyn Engine> = Arc::new(Memory::default());
            let server = Server::over(Arc::clone(&memory), true).await;
            for sql in [
                "CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY ib (b))",
                "INSERT INTO t VALUES (1, 10), (2, 20)",
                "CREATE TABLE old (a INT PRIMARY KEY)",
                "DROP TABLE old",
            ] {
                server.run(sql).await.unwrap();
            }
            let wrapped = Faulty::new(Arc::clone(&memory), Faults::Nth(call, Fault::Refuse));
            let Some(failing) = Server::over_or_none(Arc::new(wrapped)).await else {
                continue;
            };
            let told = failing.run(sql).await;
            drop(server);
            let server = Server::over(memory, true).await;
            let is_as_before = !server.run(before).await.unwrap().is_empty();
            assert_eq!(told.is_err(), is_as_before, "call {call}: {sql}: {told:?}");
            refused += u32::from(told.is_err());
        }
    }
    assert!(0 < refused);
}

async fn check_whole(server: &Server, told: &str) {
    for sql in [
        "UNDROP TABLE t",
        "UNDROP TABLE u TO t",
        "RENAME TABLE u TO t",
    ] {
        // Wherever the table is by now.
        let _ = server.run(sql).await;
    }
    let found = server.run("SELECT a FROM t WHERE a > 0").await;
    assert_eq!(
        found,
        Ok(vec![vec!["1".to_owned()], vec!["2".to_owned()]]),
        "{told}"
    );
    for (column, values) in [("b", ["10", "20"]), ("c", ["7", "7"]), ("d", ["7", "7"])] {
        let sql = format!("SELECT {column} FROM t WHERE a > 0");
        match server.run(&sql).await {
            Ok(found) => assert_eq!(found, values.map(|value| [value]), "{told}: {column}"),
            Err(error) => assert_eq!(error.code(), Code::UnknownColumn, "{told}"),
        }
    }
    let checked = server.check("t").await;
    assert_eq!(
        checked.last().map(String::as_str),
        Some("status OK"),
        "{told}"
    );
}

/// The name and the text of a random table, of everything that CREATE TABLE has.
#[expect(clippy::too_many_lines, reason = "a list of what there is")]
fn random_table(rng: &mut StdRng) -> (String, String) {
    const TYPES: &[(&str, &[&str])] = &[
        ("BOOLEAN", &["0", "1"]),
        ("TINYINT", &["-128"]),
        ("SMALLINT UNSIGNED", &["65535"]),
        ("MEDIUMINT", &["7"]),
        ("INT", &["'5'"]),
        ("BIGINT UNSIGNED", &["18446744073709551615"]),
        ("FLOAT", &["1.5", "-1e10"]),
        ("DOUBLE", &["1e100", "0.1"]),
        ("DECIMAL(10,3)", &["-1.5", "0"]),
        ("CHAR(3)", &["'a''b'", "''"]),
        ("VARCHAR(20)", &["'x\\\\y'", "'\\n\\t'", "'%é'"]),
        ("VARCHAR", &["'free'"]),
        ("TEXT", &[]),
        ("TINYTEXT", &[]),
        ("BINARY(4)", &["'ab'"]),
        ("VARBINARY(9)", &["x'00ff'"]),
        ("MEDIUMBLOB", &[]),
        ("DATE", &["'2024-02-29'"]),
        ("TIME(2)", &["'-12:34:56.78'"]),
        ("DATETIME", &["CURRENT_TIMESTAMP", "'2024-02-29 01:02:03'"]),
        ("DATETIME(6)", &["CURRENT_TIMESTAMP(6)"]),
        ("TIMESTAMP NULL", &["CURRENT_TIMESTAMP", "NULL"]),
        ("YEAR", &["2024"]),
        ("JSON", &[]),
        ("ENUM('a','b''c','')", &["'b''c'"]),
    ];
    let mut lines = Vec::new();
    let count = rng.random_range(1..8);
    let mut keyed = Vec::new();
    for at in 0..count {
        let (ty, defaults) = TYPES.choose(rng).unwrap();
        let name = match rng.random_range(0..12) {
            0 => format!("`we ``ird {at}`"),
            1 => format!("`größe-{at} 表`"),
            2 => format!("`\"select\".{at}`"),
            _ => format!("c{at}"),
        };
        let mut line = format!("{name} {ty}");
        let is_null = ty.ends_with("NULL");
        if rng.random_bool(0.4) && !is_null {
            line.push_str(" NOT NULL");
        }
        if let Some(default) = defaults.choose(rng).filter(|_| rng.random_bool(0.5)) {
            line = format!("{line} DEFAULT {default}");
        }
        if ty.starts_with("DATETIME(") && rng.random_bool(0.5) {
            line.push_str(" ON UPDATE CURRENT_TIMESTAMP(6)");
        }
        if rng.random_bool(0.2) {
            line.push_str(" COMMENT 'it''s \\\\ \"so\"'");
        }
        lines.push(line);
        let is_lob = ["TEXT", "BLOB", "JSON"].iter().any(|lob| ty.contains(lob));
        keyed.push((
            name,
            !is_lob,
            ty.contains("TEXT") || ty.contains("VARCHAR("),
        ));
    }
    let may_be_key = |(name, is_whole, _): &&(String, bool, bool)| {
        let line = lines.iter().find(|line| line.starts_with(name.as_str()));
        let text = line.unwrap().replace("NOT NULL", "");
        *is_whole && !text.contains("NULL")
    };
    let mut keys = Vec::new();
    let mut parts: Vec<String> = keyed
        .iter()
        .filter(may_be_key)
        .map(|(name, ..)| name.clone())
        .collect();
    parts.shuffle(rng);
    parts.truncate(rng.random_range(0..4));
    for part in &mut parts {
        part.push_str([" ASC", "", " DESC"].choose(rng).unwrap());
    }
    if !parts.is_empty() {
        keys.push(format!("PRIMARY KEY ({})", parts.join(", ")));
    }
    for number in 0..rng.random_range(0..4) {
        let Some((name, is_whole, has_prefix)) = keyed.choose(rng) else {
            continue;
        };
        let part = match rng.random_range(0..3) {
            0 if *has_prefix => format!("{name}(2)"),
            1 if *has_prefix => format!("(LENGTH({name}) + 1)"),
            _ if *is_whole => format!("{name} DESC"),
            _ => continue,
        };
        let unique = ["", "UNIQUE "].choose(rng).unwrap();
        let of_first = format!(" INCLUDE ({})", keyed[0].0);
        let include = ["", " INCLUDE ALL", &of_first]
            .choose(rng)
            .unwrap()
            .to_owned();
        let is_partial = rng.random_bool(0.2);
        let filter = format!(" WHERE {} IS NOT NULL", keyed[0].0);
        let filter = if is_partial { filter } else { String::new() };
        keys.push(format!(
            "{unique}KEY k{number} ({part}){include}{filter} COMMENT 'k {number}'"
        ));
    }
    if rng.random_bool(0.2) {
        lines.push("`*_wild` DECIMAL(8,2)".to_owned());
        lines.push("`w``?` VARCHAR(5)".to_owned());
    }
    if rng.random_bool(0.15) && !lines.iter().any(|line| line.starts_with("id ")) {
        let ty = ["INT", "BIGINT", "SMALLINT UNSIGNED"].choose(rng).unwrap();
        lines.push(format!("id {ty} NOT NULL AUTO_INCREMENT"));
        keys.push("UNIQUE KEY `the id` (id)".to_owned());
    }
    lines.extend(keys);
    let comment = ["", " COMMENT='t''s'"].choose(rng).unwrap();
    let with = [
        "",
        " WITH (COMPRESSION='ZSTD', NUMREGIONS='4')",
        " WITH (DYNAMIC_COLUMNS='true')",
        " WITH (TTL='86400', DYNAMIC_COLUMNS='TRUE', CONSISTENCY='it''s')",
    ];
    let with = with.choose(rng).unwrap();
    let name = ["r", "r", "`r``s \"t\" 表`"].choose(rng).unwrap();
    let ttl = keyed.iter().find(|(name, ..)| {
        let begin = format!("{name} DATE");
        lines.iter().any(|line| line.starts_with(&begin))
    });
    let ttl = match ttl.filter(|_| rng.random_bool(0.5)) {
        Some((column, ..)) => format!(" TTL={column} + INTERVAL 90 DAY"),
        None => String::new(),
    };
    (
        (*name).to_owned(),
        format!(
            "CREATE TABLE {name} ({}){comment}{ttl}{with}",
            lines.join(", ")
        ),
    )
}

#[tokio::test]
async fn what_show_create_table_says_makes_the_same_table() {
    let server = Server::start().await;
    let mut made = 0;
    for seed in 0..800 {
        let mut rng = StdRng::seed_from_u64(seed);
        let (name, text) = random_table(&mut rng);
        let (show, drop) = (
            format!("SHOW CREATE TABLE {name}"),
            format!("DROP TABLE {name}"),
        );
        match server.run(&text).await {
            Ok(_) => made += 1,
            // Not every combination is a table.
            Err(error) => {
                assert_ne!(error.code(), Code::Parse, "seed {seed}: {text}\n{error}");
                assert_ne!(error.code(), Code::Unknown, "seed {seed}: {text}\n{error}");
                continue;
            }
        }
        let shown = server.run(&show).await.unwrap()[0][1].clone();
        server.run(&drop).await.unwrap();
        let again = server.run(&shown).await;
        assert!(again.is_ok(), "seed {seed}: {text}\n{shown}\n{again:?}");
        let twice = server.run(&show).await.unwrap()[0][1].clone();
        assert_eq!(shown, twice, "seed {seed}: {text}");
        server.run(&drop).await.unwrap();
    }
    assert!(300 < made, "{made} tables");
}

/// DROP and ADD of one name in one statement: who reads already ends with the column as it was, and
/// who comes after finds the new one.
#[tokio::test]
async fn a_statement_in_flight_ends_with_the_columns_it_began_with() {
    const ROWS: usize = 3000;
    let server = Server::start().await;
    server
        .run("CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY (b))")
        .await
        .unwrap();
    let rows: Vec<String> = (0..ROWS).map(|a| format!("({a}, {})", a * 2)).collect();
    let insert = format!("INSERT INTO t VALUES {}", rows.join(", "));
    server.run(&insert).await.unwrap();
    let mut reader = crate::exec::testing::session(server.shared(), 7);
    let answer = reader.query(b"SELECT b FROM t").await.unwrap();
    let crate::session::Reply::Rows(mut set) = answer.reply else {
        panic!("rows");
    };
    let mut prepared = crate::exec::testing::session(server.shared(), 8);
    prepared
        .query(b"PREPARE p FROM 'SELECT b FROM t WHERE a = 1'")
        .await
        .unwrap();
    let alter = "ALTER TABLE t DROP COLUMN b, ADD COLUMN b VARCHAR(5) DEFAULT 'new'";
    server.run(alter).await.unwrap();
    let mut seen = Seen(Vec::new());
    while let PageEnd::More = set.rows.next_page(&mut seen).await.unwrap() {}
    let expected: Vec<String> = (0..ROWS).map(|a| (a * 2).to_string()).collect();
    assert_eq!(seen.0, expected);
    let now = server.run("SELECT b FROM t WHERE a = 1").await.unwrap();
    assert_eq!(now, [["new"]]);
    let answer = prepared.query(b"EXECUTE p").await.unwrap();
    let crate::session::Reply::Rows(mut set) = answer.reply else {
        panic!("rows");
    };
    let mut seen = Seen(Vec::new());
    while let PageEnd::More = set.rows.next_page(&mut seen).await.unwrap() {}
    assert_eq!(seen.0, ["new"]);
}

/// The first column of rows that are read.
struct Seen(Vec<String>);

impl RowSink for Seen {
    fn row(&mut self, row: &[Value<'_>]) -> crate::error::Result<()> {
        self.0.push(row[0].to_text().into_owned());
        Ok(())
    }
}
