//! Asks MariaDB and Meseta the same and compares the answers: every value, and every column's type.
//!
//! Schemas, rows and statements are random, of the grammar in [`grammar`], [`query`] and [`write`]: some
//! queries are asked as prepared statements, and what a write leaves is compared row by row ([`ask`]).
//! A mismatch is made small ([`shrink`]) before it is shown. What MariaDB does in another way than MySQL, whose
//! answers are the ones to give, is listed with a reason in `known.txt` ([`known`]) or not generated.
//! Mismatches that were ours are kept in `sql-tests/differential_found.slt`.
//!
//! ```text
//!   cargo test --test differential                                   some seconds
//!   cargo test --test differential -- --queries 200000 --seed 7      the whole
//!   cargo test --test differential -- --queries 0 --seed 7           the tables of that seed, as SQL
//! ```
//!
//! | environment | meaning |
//! |---|---|
//! | `MESETA_DIFF_QUERIES=n` | as `--queries` |
//! | `MESETA_DIFF_SEED=n` | as `--seed`: that of the first schema; each schema has its own, one more |
//! | `MESETA_DIFF_BINARY=path` | another server than the one just built |
//! | `MESETA_DIFF_SHOW_KNOWN=1` | show each shape of a known difference too, to see what its line hides |

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::little_endian_bytes,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test program: it may stop at a surprise"
)]

mod ask;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/client.rs"]
mod client;
mod compare;
mod expr;
mod grammar;
mod known;
mod mariadb;
mod prepared;
mod query;
mod rows;
mod schema;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/server.rs"]
mod server;
mod shrink;
mod window;
mod wire;
mod words;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use ask::Ask;
use compare::Difference;
use known::Known;
use schema::Schema;
use wire::Pair;
use words::Words;

/// Queries of the quick profile.
const QUICK_QUERIES: u64 = 2_000;

/// The first schema of the quick profile.
const QUICK_SEED: u64 = 1;

/// Queries over one schema, before the next one is made.
const QUERIES_PER_SCHEMA: u64 = 250;

/// Different mismatches that are made small and shown; more would say no more.
const SHOWN_MAX: usize = 150;

fn main() -> ExitCode {
    let mut settings = Settings::from_environment();
    let rest = settings.take_arguments(std::env::args());
    let arguments = Arguments::from_iter(rest);
    let is_missing = settings.queries() != 0 && !mariadb::is_there();
    if is_missing {
        println!("differential: skipped: mariadbd is not installed");
    }
    let trial = Trial::test("answers_are_those_of_mysql", move || {
        run(&settings).map_err(Failed::from)
    });
    let trial = trial.with_ignored_flag(is_missing);
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
}

/// What a run does.
struct Settings {
    queries: Option<u64>,
    seed: Option<u64>,
    binary: PathBuf,
    shows_known: bool,
}

impl Settings {
    fn from_environment() -> Settings {
        let number = |name: &str| std::env::var(name).ok()?.parse().ok();
        Settings {
            queries: number("MESETA_DIFF_QUERIES"),
            seed: number("MESETA_DIFF_SEED"),
            binary: std::env::var_os("MESETA_DIFF_BINARY").map_or_else(
                || PathBuf::from(env!("CARGO_BIN_EXE_meseta")),
                PathBuf::from,
            ),
            shows_known: std::env::var_os("MESETA_DIFF_SHOW_KNOWN").is_some(),
        }
    }

    /// Takes `--seed N` and `--queries N`; gives back what is the test harness's.
    fn take_arguments(&mut self, arguments: impl Iterator<Item = String>) -> Vec<String> {
        let mut rest = Vec::new();
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let target = match argument.as_str() {
                "--seed" => &mut self.seed,
                "--queries" => &mut self.queries,
                _ => {
                    rest.push(argument);
                    continue;
                }
            };
            let value = arguments.next().and_then(|value| value.parse().ok());
            assert!(value.is_some(), "{argument} takes a number");
            *target = value;
        }
        rest
    }

    /// How many queries.
    fn queries(&self) -> u64 {
        self.queries.unwrap_or(QUICK_QUERIES)
    }

    /// That of the first schema. The quick profile asks the same each time: it must not fail for a
    /// reason that is new to everybody.
    fn seed(&self) -> u64 {
        match (self.seed, self.queries) {
            (Some(seed), _) => seed,
            (None, Some(_)) => rand::rng().random_range(0..1_000_000_000),
            (None, None) => QUICK_SEED,
        }
    }
}

/// What was found in a run.
#[derive(Default)]
struct Findings {
    asked: u64,
    /// Queries that both answered with the same error.
    refused: u64,
    /// How often each known difference was met.
    known: BTreeMap<String, Vec<String>>,
    /// Mismatches by the shape of the small query: how often, and the text of the first.
    new: BTreeMap<String, (u64, String)>,
}

fn run(settings: &Settings) -> Result<(), String> {
    let (queries, mut seed) = (settings.queries(), settings.seed());
    if queries == 0 {
        let schema = Schema::random(&mut StdRng::seed_from_u64(seed));
        println!("{};", schema.statements().join(";\n"));
        return Ok(());
    }
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let reference = mariadb::MariaDb::start(&scratch.path().join("mariadb"))?;
    let ours = server::Server::start(&server::Launch {
        binary: &settings.binary,
        engine: "memory",
        directory: &scratch.path().join("meseta"),
        options: &["--allow-full-scan"],
    });
    let ours = ours.map_err(|e| e.to_string())?;
    let mut pair = Pair::connect(&reference.address, &ours.address)?;
    let known = Known::read();
    println!("differential: {queries} queries, MESETA_DIFF_SEED={seed}");
    let mut findings = Findings::default();
    while findings.asked < queries && findings.new.len() < SHOWN_MAX {
        let some = QUERIES_PER_SCHEMA.min(queries - findings.asked);
        ask_about_schema(&mut pair, (seed, some), &known, &mut findings)?;
        seed = seed.wrapping_add(1);
    }
    findings.tell(settings.shows_known)
}

/// Makes the tables of one seed and asks about them.
fn ask_about_schema(
    pair: &mut Pair,
    (seed, queries): (u64, u64),
    known: &Known,
    findings: &mut Findings,
) -> Result<(), String> {
    let mut rng = StdRng::seed_from_u64(seed);
    let schema = Schema::random(&mut rng);
    for sql in schema.statements() {
        pair.execute(&sql)
            .map_err(|error| format!("seed {seed}: {error}\n{sql:.2000}"))?;
    }
    for _ in 0..queries {
        let query = Ask::random(&mut rng, &schema);
        findings.asked += 1;
        let Some(difference) = difference(pair, &query, findings)? else {
            continue;
        };
        let (query, difference) = shrink::smallest(query, difference, |query| {
            compare::differ(&pair.ask(query).ok()?, query)
        });
        let sql = query.to_string();
        let columns = schema.columns_in(&sql);
        let how = match &query {
            Ask::Prepared(_) => ", prepared",
            Ask::Query(_) | Ask::Write(_) => "",
        };
        let text = format!("{sql}\n  seed {seed}{how}: {columns}\n{difference}");
        if let Some(name) = known.name_of(&Words::of(&sql, &schema.types_in(&sql)), &difference) {
            findings.known.entry(name).or_default().push(text);
            continue;
        }
        let entry = findings.new.entry(shrink::shape(&query, &difference));
        let found = entry.or_insert_with(|| {
            println!("differential: mismatch: {text}\n");
            (0, text)
        });
        found.0 += 1;
        if SHOWN_MAX <= findings.new.len() {
            break;
        }
    }
    Ok(())
}

fn difference(
    pair: &mut Pair,
    query: &Ask,
    findings: &mut Findings,
) -> Result<Option<Difference>, String> {
    let answers = pair.ask(query)?;
    findings.refused += u64::from(answers.are_errors());
    Ok(compare::differ(&answers, query))
}

impl Findings {
    fn tell(&self, shows_known: bool) -> Result<(), String> {
        for (name, texts) in &self.known {
            println!(
                "differential: known difference, {} times: {name}",
                texts.len()
            );
            for text in texts.iter().filter(|_| shows_known) {
                println!("{text}");
            }
        }
        let counts: u64 = self.new.values().map(|(count, _)| count).sum();
        let (asked, refused) = (self.asked, self.refused);
        let known: usize = self.known.values().map(Vec::len).sum();
        let kinds = self.new.len();
        println!(
            "differential: {asked} queries, {refused} of them errors of both, {known} known \
             differences, {counts} mismatches of {kinds} kinds"
        );
        if self.new.is_empty() {
            return Ok(());
        }
        for (shape, (count, _)) in &self.new {
            println!("differential: {count} times {shape}");
        }
        Err(format!("{counts} mismatches of {kinds} kinds"))
    }
}
