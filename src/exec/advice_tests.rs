//! The advice of a refusal holds: each query of a corpus is refused, the `CREATE INDEX` in the text
//! is run as printed, and then the same query is accepted, keyed, and reads at most a fiftieth of
//! the table. Queries that no index helps are refused without one.
//!
//! A corpus has a table, how it is filled, and its queries, those marked `none` without advice.
//! Queries that are given the same index are asked together, as an index of many rows takes time.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "makes values of the types that the corpus has and fails on others"
)]

use std::collections::BTreeMap;
use std::path::Path;

use super::testing::Server;
use super::write;
use crate::catalog::Table;
use crate::error::Code;
use crate::kv::{Space, WriteSet};
use crate::types::temporal::{Date, Datetime};
use crate::types::value::EnumValue;
use crate::types::{ColumnType, Decimal, Value};

/// Rows of one commit.
const BATCH_ROWS: u64 = 5_000;
/// By what an index must make a query cheaper.
const TIMES_CHEAPER: u64 = 50;
/// Queries of a table of a hundred thousand rows that are refused and given an index.
const QUERIES_MIN: usize = 60;

/// A corpus file.
#[derive(Default)]
struct Corpus {
    table: String,
    rows: u64,
    /// How many values each column has; `None` for the number of the row.
    fill: BTreeMap<String, Option<u64>>,
    helped: Vec<String>,
    not_helped: Vec<String>,
}

impl Corpus {
    fn read(name: &str) -> Corpus {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/exec/testdata/advice");
        let text = std::fs::read_to_string(root.join(name)).unwrap();
        let mut corpus = Corpus::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("#", _) => {}
                ("table", create) => corpus.table = create.to_owned(),
                ("rows", rows) => corpus.rows = rows.parse().unwrap(),
                ("fill", columns) => {
                    let columns = columns.split(' ').map(|one| one.split_once('=').unwrap());
                    let columns =
                        columns.map(|(name, count)| (name.to_owned(), count.parse().ok()));
                    corpus.fill = columns.collect();
                }
                ("none", query) => corpus.not_helped.push(query.to_owned()),
                _ => corpus.helped.push(line.to_owned()),
            }
        }
        corpus
    }
}

/// A number that has nothing to do with its neighbours (the finisher of splitmix64).
fn mixed(number: u64) -> u64 {
    let a = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let a = (a ^ (a >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let a = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    a ^ (a >> 31)
}

fn value(ty: &ColumnType, number: u64) -> Value<'static> {
    let small = i64::try_from(number).unwrap();
    let day = |days: i64| {
        let first = Date::new(2020, 1, 1).unwrap();
        first.add_days(days).unwrap()
    };
    match ty {
        ColumnType::Int { .. } if ty.is_unsigned() => Value::UInt(number),
        ColumnType::Boolean | ColumnType::Int { .. } => Value::Int(small),
        ColumnType::Varchar { .. } => Value::Text(format!("v{number}").into()),
        ColumnType::Decimal { scale, .. } => {
            let cents = i128::from(small) * 25;
            Value::Decimal(Decimal::new(cents, *scale).unwrap())
        }
        ColumnType::Double => Value::Double(f64::from(u32::try_from(number).unwrap()) / 2.0),
        ColumnType::Float => Value::Float(f32::from(u16::try_from(number).unwrap())),
        ColumnType::Date => Value::Date(day(small)),
        ColumnType::Datetime { .. } => {
            let midnight: Datetime = day(0).at_midnight();
            Value::Datetime(midnight.add_micros(small * 60_000_000).unwrap())
        }
        ColumnType::Enum(labels) => {
            let index = u16::try_from(number + 1).unwrap();
            let label = labels[usize::try_from(number).unwrap()].to_string().into();
            Value::Enum(EnumValue { index, label })
        }
        other => panic!("{other:?}"),
    }
}

fn row(table: &Table, corpus: &Corpus, number: u64) -> Vec<Value<'static>> {
    let values = table.columns.iter().enumerate().map(|(idx, column)| {
        let seed = number * 64 + u64::try_from(idx).unwrap();
        match corpus.fill.get(&column.name) {
            Some(Some(count)) => value(&column.ty, mixed(seed) % count),
            Some(None) => value(&column.ty, number),
            None if column.hidden => value(&column.ty, number),
            None => Value::Null,
        }
    });
    values.collect()
}

/// Puts rows into a table without index, past the statements.
async fn fill(server: &Server, table: &Table, corpus: &Corpus) {
    for begin in (0..corpus.rows / BATCH_ROWS).map(|batch| batch * BATCH_ROWS) {
        let mut writes = WriteSet::blind();
        for number in begin..begin + BATCH_ROWS {
            let row = row(table, corpus, number);
            let key = write::row::key(table, &row).unwrap();
            writes.put(
                Space(table.id.0),
                key,
                write::row::value(table, &row).unwrap(),
            );
        }
        server.engine().commit(writes).await.unwrap();
    }
}

/// The index that the refusal of a query prints.
async fn advice(server: &Server, query: &str) -> Option<String> {
    let Err(error) = server.run(query).await else {
        panic!("is accepted: {query}");
    };
    let code = if query.starts_with("SELECT") {
        Code::TooBigSelect
    } else {
        Code::UnsafeUpdate
    };
    assert_eq!(error.code(), code, "{query}: {}", error.message());
    let text = error.message();
    let create = &text[text.find("CREATE INDEX")?..];
    let end = create.find(", or allow it once").unwrap();
    Some(create[..end].to_owned())
}

/// Asks a query that an index was made for.
async fn assert_cheap(server: &Server, rows: u64, (query, create): (&str, &str)) {
    let story = format!("{query}\n{create}");
    let shown = server.run(&format!("EXPLAIN {query}")).await.unwrap();
    assert_ne!(shown[0][4], "ALL", "{story}");
    let rows_read: u64 = if query.starts_with("SELECT") {
        let told = server.run(&format!("EXPLAIN ANALYZE {query}")).await;
        let told = told.unwrap_or_else(|error| panic!("{}\n{story}", error.message()));
        let measured = told[0][0].split("Measured: read ").nth(1).unwrap();
        measured.split(' ').next().unwrap().parse().unwrap()
    } else if query.contains("LIMIT") {
        // A write is not run: its LIMIT ends the reading.
        query.rsplit(' ').next().unwrap().parse().unwrap()
    } else {
        shown[0][9].parse().unwrap()
    };
    assert!(
        rows_read * TIMES_CHEAPER <= rows,
        "reads {rows_read}: {story}"
    );
    if query.starts_with("SELECT") {
        server.run(query).await.unwrap();
    }
}

async fn check(name: &str) -> usize {
    let corpus = Corpus::read(name);
    let server = Server::refusing().await;
    server.run(&corpus.table).await.unwrap();
    let definitions = server.catalog().current();
    let table = definitions.tables("default").unwrap().next().unwrap();
    fill(&server, table, &corpus).await;
    for query in &corpus.not_helped {
        assert_eq!(advice(&server, query).await, None, "{query}");
    }
    let mut asked: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for query in &corpus.helped {
        let Some(create) = advice(&server, query).await else {
            panic!("no advice: {query}");
        };
        asked.entry(create).or_default().push(query);
    }
    for (create, queries) in &asked {
        for create in create.split(" and ") {
            server.run(create).await.unwrap();
        }
        for query in queries {
            assert_cheap(&server, corpus.rows, (query, create)).await;
        }
        for create in create.split(" and ") {
            let made = create.strip_prefix("CREATE INDEX ").unwrap();
            let (index, on) = made.split_once(" ON ").unwrap();
            let (table, _) = on.split_once(" (").unwrap();
            let drop = format!("DROP INDEX {index} ON {table}");
            server.run(&drop).await.unwrap();
        }
    }
    corpus.helped.len()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.enable_all().build().unwrap().block_on(future)
}

#[test]
fn the_index_that_a_refusal_prints_makes_the_query_cheap() {
    let queries = block_on(check("orders.txt"));
    assert!(QUERIES_MIN <= queries, "{queries}");
}

#[test]
fn advice_holds_for_indexes_of_several_columns() {
    block_on(check("several_columns.txt"));
}

#[test]
fn advice_holds_for_tables_and_columns_of_any_name() {
    block_on(check("events.txt"));
}
