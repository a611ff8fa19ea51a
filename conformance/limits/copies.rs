//! One value that a statement names thousands of times: each copy is asked for before it is made, so the process has
//! little more than `--memory-limit`.

use crate::house::{House, Told};
use crate::kept::{OPTIONS, is_well};

/// How often each statement names its value.
const COPIES: usize = 1000;
/// Bytes of a stored value, near the most.
const VALUE_BYTES: usize = 2_000_000;
/// … of a variable's, less than what is asked for alone.
const VARIABLE_BYTES: usize = 1_000_000;
/// … of the result of a function.
const RESULT_BYTES: usize = 16_383;
/// How many of those there are.
const RESULTS: usize = 40_000;

/// The memory of the process, and that of one statement, whichever is too little first.
const REFUSALS: [u16; 2] = [1041, 1038];

/// The trial.
pub(crate) fn all() -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut house = House::open(scratch.path(), OPTIONS)?;
    house.run("CREATE TABLE t (id INT PRIMARY KEY, x INT, v LONGTEXT)")?;
    house.run(&format!(
        "INSERT INTO t VALUES (1, 2, REPEAT('v', {VALUE_BYTES})), (2, 1, REPEAT('w', {VALUE_BYTES}))"
    ))?;
    house.run(&format!("SET @long = REPEAT('a', {VARIABLE_BYTES})"))?;
    house.run("SET @doc = CONCAT('\"', @long, '\"')")?;
    house.run("SET group_concat_max_len = 4000000")?;
    let columns: Vec<String> = (0..COPIES).map(|n| format!("c{n} LONGTEXT")).collect();
    let columns = columns.join(", ");
    house.run(&format!(
        "CREATE TABLE wide (id INT PRIMARY KEY, {columns})"
    ))?;
    let parameters = vec!["?"; COPIES].join(", ");
    house.run(&format!("PREPARE many FROM 'SELECT {parameters}'"))?;
    for (what, sql) in statements() {
        expect_refused(&mut house, what, &sql)?;
    }
    house.eventually("SELECT LENGTH(REPEAT('a', 60000000))")
}

/// Each would have gigabytes.
fn statements() -> Vec<(&'static str, String)> {
    let times = |count: usize, part: &str| vec![part; count].join(", ");
    let values = times(COPIES, "v");
    let paths: Vec<String> = (0..COPIES).map(|n| format!("c{n} JSON PATH '$'")).collect();
    let concats = times(COPIES, "GROUP_CONCAT(v ORDER BY id)");
    let little = times(RESULTS, &format!("REPEAT('a', {RESULT_BYTES})"));
    vec![
        (
            "a sort",
            format!("SELECT {values} FROM t ORDER BY x LIMIT 1"),
        ),
        (
            "a union",
            format!(
                "SELECT {values} FROM t WHERE id = 1 UNION ALL SELECT {values} FROM t WHERE id = 2"
            ),
        ),
        (
            "variables of a row",
            format!(
                "SELECT {values} FROM t WHERE id = 1 INTO {}",
                named(COPIES, "@v")
            ),
        ),
        (
            "INSERT … SELECT",
            format!("INSERT INTO wide SELECT 1, {values} FROM t WHERE id = 1"),
        ),
        ("groups", format!("SELECT {concats} FROM t")),
        (
            "a join with a derived table",
            format!(
                "SELECT COUNT(*) FROM (SELECT {} FROM t LIMIT 2) d JOIN t ON t.id > 0 WHERE CONCAT({}) <> ''",
                named(COPIES, "v AS v"),
                named(COPIES, "d.v"),
            ),
        ),
        (
            "JSON_TABLE",
            format!(
                "SELECT COUNT(*) FROM JSON_TABLE(@doc, '$' COLUMNS ({})) j",
                paths.join(", ")
            ),
        ),
        (
            "user variables",
            format!("SELECT {}", times(COPIES, "@long")),
        ),
        (
            "parameters",
            format!("EXECUTE many USING {}", times(COPIES, "@long")),
        ),
        (
            "results of functions",
            format!("SELECT LENGTH(CONCAT_WS('', {little}))"),
        ),
        (
            "a JSON text",
            "SELECT JSON_ARRAY(CONVERT(REPEAT(CHAR(1), 60000000) USING utf8mb4))".to_owned(),
        ),
    ]
}

/// `part0, part1, …`.
fn named(count: usize, part: &str) -> String {
    let parts: Vec<String> = (0..count).map(|n| format!("{part}{n}")).collect();
    parts.join(", ")
}

fn expect_refused(house: &mut House, what: &str, sql: &str) -> Result<(), String> {
    match house.ask(sql)? {
        Told::Error { errno, .. } if REFUSALS.contains(&errno) => is_well(house, what),
        Told::Error { errno, text } => Err(format!("{what}: {errno} {text}, not {REFUSALS:?}")),
        Told::Rows(_) | Told::Done => Err(format!("{what}: answered, not {REFUSALS:?}")),
    }
}
