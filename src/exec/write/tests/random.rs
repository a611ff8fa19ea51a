//! The property "an index rebuilt from the rows is the index that is stored", over random tables,
//! indexes and statements; also when the engine fails now and then, in every way it can.
//!
//! A failure prints the seed of its case.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use super::{ask, indexes, options, session};
use crate::kv::Engine;
use crate::kv::memory::Memory;
use crate::kv::testing::{Fault, Faults, Faulty};
use crate::session::{OpenOptions, Shared};

/// Random cases without faults, and as many with.
const CASES: u64 = 150;

/// Statements of a case.
const STATEMENTS: usize = 30;

/// Types with few values, so that rows meet each other.
const TYPES: &[(&str, &[&str])] = &[
    ("INT", &["1", "2", "-3"]),
    ("BIGINT UNSIGNED", &["0", "1", "18446744073709551615"]),
    ("VARCHAR(8)", &["''", "'a'", "'ab'", "'é'", "'éa'"]),
    ("DECIMAL(5,2)", &["-1.5", "0", "2.25"]),
    ("DOUBLE", &["-1.5", "0", "7"]),
    ("DATE", &["'2001-02-03'", "'2020-12-31'"]),
    ("VARBINARY(4)", &["''", "'x'", "'yz'"]),
];

struct Case {
    rng: StdRng,
    /// Position in [`TYPES`] of each column; the columns of the key come first.
    types: Vec<usize>,
    key_count: usize,
    in_transaction: bool,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut rng = StdRng::seed_from_u64(seed);
        let key_count = rng.random_range(1..=2);
        let columns_count = key_count + rng.random_range(1..=3);
        let types = (0..columns_count).map(|_| rng.random_range(0..TYPES.len()));
        Case {
            types: types.collect(),
            key_count,
            in_transaction: false,
            rng,
        }
    }

    fn definition(&mut self) -> String {
        let columns = self.types.iter().enumerate();
        let mut texts: Vec<String> = columns
            .map(|(idx, ty)| format!("c{idx} {}", TYPES[*ty].0))
            .collect();
        let key: Vec<String> = (0..self.key_count)
            .map(|idx| format!("c{idx}{}", self.direction()))
            .collect();
        texts.push(format!("PRIMARY KEY ({})", key.join(", ")));
        format!("CREATE TABLE t ({})", texts.join(", "))
    }

    fn direction(&mut self) -> &'static str {
        if self.rng.random_bool(0.3) {
            " DESC"
        } else {
            ""
        }
    }

    fn indexes(&mut self) -> String {
        let count = self.rng.random_range(1..=3);
        let indexes: Vec<String> = (0..count).map(|number| self.index(number)).collect();
        indexes.join("; ")
    }

    fn index(&mut self, number: usize) -> String {
        let unique = if self.rng.random_bool(0.5) {
            "UNIQUE "
        } else {
            ""
        };
        let all: Vec<usize> = (0..self.types.len()).collect();
        let parts_count = self.rng.random_range(1..=2);
        let parts: Vec<usize> = all
            .choose_multiple(&mut self.rng, parts_count)
            .copied()
            .collect();
        let parts: Vec<String> = parts
            .into_iter()
            .map(|idx| format!("{}{}", self.part(idx), self.direction()))
            .collect();
        let filter = if self.rng.random_bool(0.3) {
            let idx = self.rng.random_range(0..self.types.len());
            let op = *["=", "<", ">=", "<>", "<=>"].choose(&mut self.rng).unwrap();
            format!(" WHERE c{idx} {op} {}", self.value(idx))
        } else {
            String::new()
        };
        let last = self.types.len() - 1;
        let include = match self.rng.random_range(0..3) {
            0 => String::new(),
            1 => " INCLUDE ALL".to_owned(),
            _ => format!(" INCLUDE (c{last})"),
        };
        let states = [
            "ACTIVE", "ACTIVE", "ACTIVE", "BUILDING", "INACTIVE", "DISABLED",
        ];
        let state = states.choose(&mut self.rng).unwrap();
        let parts = parts.join(", ");
        format!("{unique}i{number} ({parts}){include}{filter} {state}")
    }

    /// A column, its prefix or an expression of it.
    fn part(&mut self, idx: usize) -> String {
        let (ty, _) = TYPES[self.types[idx]];
        let is_string = ty.starts_with("VAR");
        match self.rng.random_range(0..6) {
            0 | 1 if is_string => format!("c{idx}(1)"),
            2 if ty == "DATE" => format!("(MONTH(c{idx}))"),
            2 if is_string => format!("(CONCAT(c{idx}, 'b'))"),
            2 => format!("(c{idx} * 2)"),
            _ => format!("c{idx}"),
        }
    }

    fn value(&mut self, idx: usize) -> String {
        if self.key_count <= idx && self.rng.random_bool(0.2) {
            return "NULL".to_owned();
        }
        let values = TYPES[self.types[idx]].1;
        (*values.choose(&mut self.rng).unwrap()).to_owned()
    }

    fn row(&mut self, columns: &[usize]) -> String {
        let values: Vec<String> = columns.iter().map(|idx| self.value(*idx)).collect();
        format!("({})", values.join(", "))
    }

    fn rows(&mut self, columns: &[usize]) -> String {
        let count = self.rng.random_range(1..=3);
        let rows: Vec<String> = (0..count).map(|_| self.row(columns)).collect();
        rows.join(", ")
    }

    /// Assignments to some columns that are not of the key.
    fn assignments(&mut self) -> String {
        let others: Vec<usize> = (self.key_count..self.types.len()).collect();
        let count = self.rng.random_range(1..=others.len());
        let chosen: Vec<usize> = others
            .choose_multiple(&mut self.rng, count)
            .copied()
            .collect();
        let texts: Vec<String> = chosen
            .into_iter()
            .map(|idx| format!("c{idx} = {}", self.value(idx)))
            .collect();
        texts.join(", ")
    }

    fn condition(&mut self) -> String {
        match self.rng.random_range(0..4) {
            0 => String::new(),
            1 => {
                let idx = self.rng.random_range(0..self.types.len());
                format!(" WHERE c{idx} = {}", self.value(idx))
            }
            _ => {
                let parts: Vec<String> = (0..self.key_count)
                    .map(|idx| format!("c{idx} = {}", self.value(idx)))
                    .collect();
                format!(" WHERE {}", parts.join(" AND "))
            }
        }
    }

    fn statement(&mut self) -> String {
        let all: Vec<usize> = (0..self.types.len()).collect();
        let some: Vec<usize> = all[..self.rng.random_range(self.key_count..=all.len())].to_vec();
        let names = |columns: &[usize]| {
            let names: Vec<String> = columns.iter().map(|idx| format!("c{idx}")).collect();
            names.join(", ")
        };
        match self.rng.random_range(0..14) {
            0..=2 => format!("INSERT INTO t VALUES {}", self.rows(&all)),
            3 => format!("INSERT IGNORE INTO t VALUES {}", self.rows(&all)),
            4 | 5 => format!("REPLACE INTO t VALUES {}", self.rows(&all)),
            6 => format!("UPSERT INTO t VALUES {}", self.rows(&all)),
            7 => format!(
                "UPSERT INTO t ({}) VALUES {}",
                names(&some),
                self.rows(&some)
            ),
            8 | 9 => {
                let ignore = if self.rng.random_bool(0.3) {
                    "IGNORE "
                } else {
                    ""
                };
                let (rows, set) = (self.rows(&all), self.assignments());
                format!("INSERT {ignore}INTO t VALUES {rows} ON DUPLICATE KEY UPDATE {set}")
            }
            10 | 11 => {
                let ignore = if self.rng.random_bool(0.3) {
                    "IGNORE "
                } else {
                    ""
                };
                format!(
                    "UPDATE {ignore}t SET {}{}",
                    self.assignments(),
                    self.condition()
                )
            }
            12 => format!("DELETE FROM t{}", self.condition()),
            _ => self.transaction(),
        }
    }

    fn transaction(&mut self) -> String {
        if !self.in_transaction {
            self.in_transaction = true;
            return "BEGIN".to_owned();
        }
        let ends = [
            "COMMIT",
            "COMMIT",
            "ROLLBACK",
            "SAVEPOINT s",
            "ROLLBACK TO s",
        ];
        let end = *ends.choose(&mut self.rng).unwrap();
        self.in_transaction = !matches!(end, "COMMIT" | "ROLLBACK");
        end.to_owned()
    }
}

/// A server whose tables may be read whole, on an engine that may fail.
async fn serve(engine: &Arc<dyn Engine>) -> Arc<Shared> {
    let options = OpenOptions {
        allow_full_scan: true,
        ..options()
    };
    loop {
        if let Ok(shared) = Shared::over(Arc::clone(engine), None, &options).await {
            // An index stays in the state that it was given.
            shared.backfill().close().await;
            return Arc::new(shared);
        }
    }
}

/// Runs a case; returns how many rows are left.
async fn run(seed: u64, faults: Faults) -> usize {
    let mut case = Case::new(seed);
    let memory: Arc<dyn Engine> = Arc::new(Memory::default());
    let shared = serve(&memory).await;
    let definition = case.definition();
    let made = ask(&mut session(&shared, 1), &definition).await;
    assert!(
        !made.starts_with("error"),
        "seed {seed}: {definition}: {made}"
    );
    let described = case.indexes();
    indexes::add(&shared, &described).await;

    let failing: Arc<dyn Engine> = Arc::new(Faulty::new(Arc::clone(&memory), faults));
    let shared = serve(&failing).await;
    let table = indexes::table(&shared);
    let mut session = session(&shared, 1);
    let mut hint = format!("seed {seed} {faults:?}\n{definition}\n{described}");
    let mut rows_count = 0;
    for _ in 0..STATEMENTS {
        let statement = case.statement();
        let outcome = ask(&mut session, &statement).await;
        let unexpected = [
            "error 1105",
            "error 1712",
            "error 1146",
            "error 1412",
            "error 1064",
        ];
        let is_bad = unexpected.iter().any(|start| outcome.starts_with(start));
        hint = format!("{hint}\n{statement}\n  {outcome}");
        assert!(!is_bad, "{hint}");
        rows_count = indexes::check(memory.as_ref(), &table, &hint).await;
    }
    rows_count
}

#[test]
fn an_index_rebuilt_from_the_rows_is_the_stored_one() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut rows_count = 0;
    for seed in 0..CASES {
        rows_count += runtime.block_on(run(seed, Faults::None));
    }
    assert!(100 < rows_count, "only {rows_count} rows");
}

#[test]
fn a_failing_engine_leaves_no_row_without_its_entries() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for seed in 0..CASES {
        let faults = Faults::Seeded {
            seed,
            per_mille: 100,
        };
        runtime.block_on(run(seed, faults));
    }
    for call in 8..60 {
        let fault = [
            Fault::Refuse,
            Fault::Conflict,
            Fault::LoseRequest,
            Fault::LoseAnswer,
        ];
        let fault = fault[usize::try_from(call % 4).unwrap()];
        runtime.block_on(run(1000 + call, Faults::Nth(call, fault)));
    }
}
