//! The load generator of `scripts/bench`: one kind of work against one server, one line of JSON.
//!
//! It speaks the protocol itself, on one thread, so that little of the shared cores goes to it.
//! It judges nothing: `scripts/bench` starts the servers, repeats the runs and makes the table.
//!
//! `load WORK address=127.0.0.1:3306 pid=1234 [connections=N] [seconds=N] [count=N] [rows=N] [rate=N]
//! [exact=1] [seed=N] [indexes=N] [put=VERB] [suffix=TEXT] [sql=STATEMENT] [setup=STATEMENTS]`, where
//! WORK is one of the names in [`Work::parse`].

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::little_endian_bytes,
    reason = "a bench program: it speaks the protocol and stops at the first surprise"
)]

#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/client.rs"]
mod client;
mod fill;
mod lindorm;
mod points;
mod process;
mod random;
mod repeat;
mod scan;
mod statement;
mod traffic;
mod ycsb;

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

use process::ProcessWatch;

/// What went wrong, as a text.
type Outcome<T> = Result<T, String>;

/// The database all benches work in.
const DATABASE: &str = "bench";
/// Keys of one multi-get, rows of one multi-row INSERT.
const BATCH_ROWS: u32 = 100;

fn main() -> ExitCode {
    match run() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<String> {
    let options = Options::from_args()?;
    match options.work {
        Work::FillPoints => fill::points(&options),
        Work::FillScan => fill::scan(&options),
        Work::FillFacts => fill::facts(&options),
        Work::FillNothing => fill::nothing(&options),
        Work::FillIndexed => fill::indexed(&options),
        Work::FillIndexedNothing => fill::indexed_nothing(&options),
        Work::FillSbtest => fill::sbtest(&options),
        Work::FillYcsb => fill::ycsb(&options),
        Work::FillLindorm => fill::lindorm(&options),
        Work::Sql => fill::sql(&options),
        Work::Point
        | Work::ByUnique
        | Work::ByIndex
        | Work::MultiGet
        | Work::Insert
        | Work::InsertIndexed
        | Work::InsertMany
        | Work::Update => traffic::closed_loop(&options, &points::plan(&options)),
        Work::Ycsb(mix) => traffic::closed_loop(&options, &ycsb::plan(&options, mix)),
        Work::Lindorm(kind) => traffic::closed_loop(&options, &lindorm::plan(&options, kind)),
        Work::Repeat => repeat::repeat(&options),
        Work::Scan | Work::ScanCovering | Work::Query => scan::scan(&options),
    }
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Makes and fills the table for `point` and `multi-get`.
    FillPoints,
    /// Makes and fills the table for `scan`.
    FillScan,
    /// Makes and fills the table that is counted, grouped and sorted.
    FillFacts,
    /// Makes the empty table for `insert` and `insert-many`.
    FillNothing,
    /// Makes and fills the table for `by-unique` and `by-index`.
    FillIndexed,
    /// Makes the empty table for `insert-indexed`, with as many indexes as `indexes` says.
    FillIndexedNothing,
    /// Makes and fills the table for `update`, as sysbench has it.
    FillSbtest,
    /// Makes and fills the table for `ycsb-…`.
    FillYcsb,
    /// Makes and fills the table for `lindorm-…`.
    FillLindorm,
    /// The statement that `sql` gives, once.
    Sql,
    /// The same, whose rows are read; before it, the statements in `setup`.
    Query,
    /// The statement that `sql` gives, over and over right after the statements in `setup`.
    Repeat,
    /// Prepared point SELECT by the full key.
    Point,
    /// Prepared point SELECT through a unique index that does not cover it.
    ByUnique,
    /// Prepared SELECT of one row through an index that is not unique and does not cover it.
    ByIndex,
    /// Prepared SELECT of [`BATCH_ROWS`] keys in one IN.
    MultiGet,
    /// One SELECT of a whole prefix, text protocol.
    Scan,
    /// The same rows from a covering index called `covering`.
    ScanCovering,
    /// Prepared single-row INSERT.
    Insert,
    /// Prepared single-row INSERT into a table that may have indexes.
    InsertIndexed,
    /// Prepared INSERT of [`BATCH_ROWS`] rows.
    InsertMany,
    /// Prepared UPDATE of one row, any as likely as another.
    Update,
    /// One of YCSB's workloads.
    Ycsb(ycsb::Mix),
    /// One of the works that Lindorm publishes figures of.
    Lindorm(lindorm::Kind),
}

impl Work {
    fn parse(name: &str) -> Option<Work> {
        if let Some(name) = name.strip_prefix("ycsb-") {
            return ycsb::Mix::named(name).map(Work::Ycsb);
        }
        if let Some(name) = name.strip_prefix("lindorm-") {
            return lindorm::Kind::named(name).map(Work::Lindorm);
        }
        Some(match name {
            "fill-points" => Work::FillPoints,
            "fill-scan" => Work::FillScan,
            "fill-facts" => Work::FillFacts,
            "fill-nothing" => Work::FillNothing,
            "fill-indexed" => Work::FillIndexed,
            "fill-indexed-nothing" => Work::FillIndexedNothing,
            "fill-sbtest" => Work::FillSbtest,
            "fill-ycsb" => Work::FillYcsb,
            "fill-lindorm" => Work::FillLindorm,
            "sql" => Work::Sql,
            "query" => Work::Query,
            "repeat" => Work::Repeat,
            "point" => Work::Point,
            "by-unique" => Work::ByUnique,
            "by-index" => Work::ByIndex,
            "multi-get" => Work::MultiGet,
            "scan" => Work::Scan,
            "scan-covering" => Work::ScanCovering,
            "insert" => Work::Insert,
            "insert-indexed" => Work::InsertIndexed,
            "insert-many" => Work::InsertMany,
            "update" => Work::Update,
            _ => return None,
        })
    }
}

/// The command line.
#[derive(Debug)]
struct Options {
    work: Work,
    address: String,
    /// The server's process, for its CPU time and memory.
    pid: u32,
    connections: u32,
    duration: Duration,
    /// Operations of all connections together, from the first; 0: as many as `duration` lets through, after a
    /// warm-up.
    count: u64,
    /// Rows that lie in the table, or that are to be put there.
    rows: u64,
    /// Statements per second of all connections; 0: as many as there can be.
    rate: u32,
    /// Whether the rate is held to the microsecond, which takes a core, and not to the timer's milliseconds.
    is_exact: bool,
    /// What is drawn: with another, other keys and values. Less than 2^32.
    seed: u64,
    /// Indexes of an empty table.
    indexes: u32,
    /// How a row is put that may be there: `REPLACE`, or another word that goes before `INTO`.
    put: String,
    /// What stands behind the definition of the table of [`Work::FillSbtest`].
    suffix: String,
    /// The text of [`Work::Sql`], [`Work::Query`] and [`Work::Repeat`].
    sql: String,
    /// What is run before [`Work::Query`] and [`Work::Repeat`], with semicolons between.
    setup: String,
}

impl Options {
    fn from_args() -> Outcome<Options> {
        let mut words = std::env::args()
            .skip(1)
            .filter(|word| !word.starts_with("--"));
        let name = words.next().ok_or("which work? see the head of the file")?;
        let work = Work::parse(&name).ok_or_else(|| format!("no work is called {name}"))?;
        let pairs: HashMap<String, String> = words
            .filter_map(|word| {
                let (key, value) = word.split_once('=')?;
                Some((key.to_owned(), value.to_owned()))
            })
            .collect();
        let number = |key: &str, default: u32| -> Outcome<u32> {
            pairs.get(key).map_or(Ok(default), |text| {
                text.parse().map_err(|_| format!("{key}={text}?"))
            })
        };
        let text = |key: &str, default: &str| {
            let found = pairs.get(key);
            found.map_or(default, String::as_str).to_owned()
        };
        Ok(Options {
            work,
            address: text("address", "127.0.0.1:3306"),
            pid: number("pid", std::process::id())?,
            connections: number("connections", 1)?,
            duration: Duration::from_secs(u64::from(number("seconds", 5)?)),
            count: u64::from(number("count", 0)?),
            rows: u64::from(number("rows", 1_000_000)?),
            rate: number("rate", 0)?,
            is_exact: 0 < number("exact", 0)?,
            seed: u64::from(number("seed", 0)?),
            indexes: number("indexes", 0)?,
            put: text("put", "REPLACE"),
            suffix: text("suffix", ""),
            sql: text("sql", ""),
            setup: text("setup", ""),
        })
    }

    fn watch(&self) -> ProcessWatch {
        ProcessWatch::new(self.pid)
    }
}
