//! The operations that are counted, and the tables they are done on.

use std::fmt::Write as _;

use crate::statement::Parameter;

/// The database of the tables.
pub(crate) const DATABASE: &str = "bench";
/// Rows of `points`, `indexed` and `wide`, and of all prefixes of `facts`.
const ROWS: i64 = 10_000;
/// Rows of one prefix of `facts`: what a scan, a GROUP BY and an ORDER BY read.
const PREFIX_ROWS: i64 = 1000;
/// Groups of a prefix.
const GROUPS: i64 = 100;
/// Keys of a multi-get, rows of a multi-row INSERT.
const BATCH: i64 = 100;
/// Rows of one INSERT while filling.
const FILL_ROWS: i64 = 1000;
/// Odd and no multiple of five: times an id, modulo a power of ten, every value comes once.
const SCATTER: i64 = 7_368_787;
/// Columns of `wide` beside its key.
const WIDE_COLUMNS: i64 = 20;
/// The inserted text of 100 bytes.
const TEXT: &[u8; 100] =
    b"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

/// One kind of statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    /// What it is called in the committed file.
    pub(crate) name: &'static str,
    /// How many are counted.
    pub(crate) count: i64,
    /// Whether rows are written: each statement then has keys of its own.
    pub(crate) writes: bool,
    pub(crate) form: Form,
}

/// How a statement is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// `COM_QUERY` with this text, made of the statement's number.
    Text(fn(i64) -> String),
    /// `COM_STMT_EXECUTE` of this text, with parameters made of the statement's number.
    Prepared(fn() -> String, fn(i64) -> Vec<Parameter<'static>>),
}

/// All of them.
pub(crate) const ALL: &[Operation] = &[
    Operation {
        name: "point-prepared",
        count: 1000,
        writes: false,
        form: Form::Prepared(
            || "SELECT c FROM points WHERE id = ?".to_owned(),
            |at| vec![Parameter::Integer(scattered(at))],
        ),
    },
    Operation {
        name: "point-text",
        count: 1000,
        writes: false,
        form: Form::Text(|at| format!("SELECT c FROM points WHERE id = {}", scattered(at))),
    },
    Operation {
        name: "multi-get-100",
        count: 100,
        writes: false,
        form: Form::Prepared(
            || {
                format!(
                    "SELECT id, c FROM points WHERE id IN ({})",
                    repeated("?", BATCH)
                )
            },
            |at| {
                let ids = (0..BATCH).map(|key| scattered(at * BATCH + key));
                ids.map(Parameter::Integer).collect()
            },
        ),
    },
    Operation {
        name: "scan-1000",
        count: 50,
        writes: false,
        form: Form::Text(|at| {
            let prefix = prefix(at);
            format!("SELECT id, payload FROM facts WHERE k = {prefix}")
        }),
    },
    Operation {
        name: "range-wide-50",
        count: 200,
        writes: false,
        form: Form::Prepared(
            || "SELECT * FROM wide WHERE id >= ? LIMIT 50".to_owned(),
            |at| vec![Parameter::Integer(scattered(at))],
        ),
    },
    Operation {
        name: "point-by-index",
        count: 1000,
        writes: false,
        form: Form::Prepared(
            || "SELECT c FROM indexed WHERE k = ?".to_owned(),
            |at| vec![Parameter::Integer(scattered(at))],
        ),
    },
    Operation {
        name: "insert-1",
        count: 500,
        writes: true,
        form: Form::Prepared(|| insert_text(1), |at| inserted(at, 1)),
    },
    Operation {
        name: "insert-100",
        count: 20,
        writes: true,
        form: Form::Prepared(|| insert_text(BATCH), |at| inserted(at, BATCH)),
    },
    Operation {
        name: "update-by-key",
        count: 500,
        writes: true,
        form: Form::Prepared(
            || "UPDATE points SET k = k + 1 WHERE id = ?".to_owned(),
            |at| vec![Parameter::Integer(scattered(at))],
        ),
    },
    Operation {
        name: "group-1000",
        count: 50,
        writes: false,
        form: Form::Text(|at| {
            let prefix = prefix(at);
            format!("SELECT g, COUNT(*), SUM(v) FROM facts WHERE k = {prefix} GROUP BY g")
        }),
    },
    Operation {
        name: "sort-1000",
        count: 50,
        writes: false,
        form: Form::Text(|at| {
            let prefix = prefix(at);
            format!("SELECT id, v FROM facts WHERE k = {prefix} ORDER BY v")
        }),
    },
];

/// The statements that make and fill the tables. Afterwards all rows lie in files.
pub(crate) fn preparation() -> Vec<String> {
    let wide = wide_text();
    // What is written to is the last: no file has its keys within its range.
    let mut all: Vec<String> = [
        "CREATE DATABASE bench",
        "USE bench",
        "CREATE TABLE points (id BIGINT PRIMARY KEY, k INT NOT NULL, c VARCHAR(120) NOT NULL)",
        "CREATE TABLE indexed (id BIGINT PRIMARY KEY, k BIGINT NOT NULL, c VARCHAR(120) NOT NULL, \
         KEY by_k (k))",
        "CREATE TABLE facts (k INT, id BIGINT, g INT NOT NULL, v BIGINT NOT NULL, \
         payload VARCHAR(60) NOT NULL, PRIMARY KEY (k, id))",
        &wide,
        "CREATE TABLE writes (id BIGINT PRIMARY KEY, k INT NOT NULL, c VARCHAR(120) NOT NULL)",
    ]
    .map(str::to_owned)
    .to_vec();
    all.extend(filling("points", |id| {
        format!("({id},{},'{id:0100}')", id % 1000)
    }));
    all.extend(filling("indexed", |id| {
        format!("({id},{},'{id:0100}')", scattered(id))
    }));
    all.extend(filling("facts", |id| {
        let (prefix, value) = (id / PREFIX_ROWS, scattered(id));
        format!("({prefix},{id},{},{value},'{value:040}')", value % GROUPS)
    }));
    all.extend(filling("wide", |id| {
        let values = repeated(&format!("'{id:020}'"), WIDE_COLUMNS);
        format!("({id},{values})")
    }));
    all
}

fn wide_text() -> String {
    let columns: Vec<_> = (0..WIDE_COLUMNS)
        .map(|column| format!("c{column} VARCHAR(20)"))
        .collect();
    let columns = columns.join(", ");
    format!("CREATE TABLE wide (id BIGINT PRIMARY KEY, {columns})")
}

fn filling(table: &str, row: impl Fn(i64) -> String) -> Vec<String> {
    let inserts = (0..ROWS / FILL_ROWS).map(|at| {
        let mut sql = format!("INSERT INTO {table} VALUES ");
        for id in at * FILL_ROWS..(at + 1) * FILL_ROWS {
            let comma = if id % FILL_ROWS == 0 { "" } else { "," };
            let _ = write!(sql, "{comma}{}", row(id));
        }
        sql
    });
    inserts.collect()
}

/// A key of a filled table: each once, in no order.
fn scattered(at: i64) -> i64 {
    at.wrapping_mul(SCATTER).rem_euclid(ROWS)
}

/// A prefix of `facts`.
fn prefix(at: i64) -> i64 {
    at % (ROWS / PREFIX_ROWS)
}

fn repeated(item: &str, count: i64) -> String {
    let items: Vec<&str> = (0..count).map(|_| item).collect();
    items.join(", ")
}

fn insert_text(rows: i64) -> String {
    let rows = repeated("(?, ?, ?)", rows);
    format!("INSERT INTO writes (id, k, c) VALUES {rows}")
}

fn inserted(at: i64, rows: i64) -> Vec<Parameter<'static>> {
    let ids = at * rows..(at + 1) * rows;
    ids.flat_map(|id| {
        [
            Parameter::Integer(id),
            Parameter::Integer(id % 1000),
            Parameter::Text(TEXT),
        ]
    })
    .collect()
}
