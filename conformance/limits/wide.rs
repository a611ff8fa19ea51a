//! Rows and values that are large: what a statement makes of them takes memory for some at a time, and for each
//! once, however many there are and however deep what reads them is nested.

use std::time::{Duration, Instant};

use crate::house::House;

/// Rows of [`WIDE_BYTES`] each.
const WIDE_ROWS: usize = 50;
/// Bytes of a stored value, near the most.
const WIDE_BYTES: usize = 2_000_000;
/// Rows of a few bytes.
const NARROW_ROWS: usize = 200;
/// What a statement over all the wide rows may take.
const SOME_ROWS_BYTES_MAX: u64 = 48 << 20;
/// Bytes of a text that stands in a statement.
const TEXT_BYTES: usize = 1_000_000;
/// Levels of a `UNION`, groups with a separator, queries within a query: each would have a text of its own.
const LEVELS: usize = 90;
/// What a statement with such a text may take: it is there some times, and not once for each level.
const SOME_TEXTS_BYTES_MAX: u64 = 24 << 20;
/// Parts of a statement.
const PARTS: usize = 4000;
/// Aggregates of a query.
const AGGREGATES_MAX: usize = 16_384;
/// Window functions of a query.
const FUNCTIONS_MAX: usize = 4096;
/// Windows that a query names.
const WINDOWS_MAX: usize = 128;
/// How long statements of so many parts may take, in a debug build on a machine that is busy. If each part were
/// compared with each, they would take a multiple.
const PARTS_TIMEOUT: Duration = Duration::from_secs(30);

/// The trial.
pub(crate) fn all(house: &mut House) -> Result<(), String> {
    house.run("CREATE TABLE wide (id INT PRIMARY KEY, n INT, v LONGTEXT, INDEX (n))")?;
    for id in 0..WIDE_ROWS {
        let row = format!("({id}, {}, REPEAT('{}', {WIDE_BYTES}))", id / 2, id % 10);
        house.run(&format!("INSERT INTO wide VALUES {row}"))?;
    }
    // A compaction of so large rows has memory, too.
    house.run("OPTIMIZE TABLE wide")?;
    house.run("CREATE TABLE narrow (id INT PRIMARY KEY)")?;
    let ids: Vec<String> = (0..NARROW_ROWS).map(|id| format!("({id})")).collect();
    house.run(&format!("INSERT INTO narrow VALUES {}", ids.join(", ")))?;
    house.run("SET query_memory_bytes = 4194304")?;
    some_rows_at_a_time(house)?;
    many_parts(house)?;
    a_text_once(house)?;
    house.run("SET query_memory_bytes = DEFAULT").map(drop)
}

/// What has thousands of parts that are compared with each other: bound in no time, or refused.
fn many_parts(house: &mut House) -> Result<(), String> {
    let list = |count: usize, part: &dyn Fn(usize) -> String| {
        let parts: Vec<String> = (0..count).map(part).collect();
        parts.join(", ")
    };
    let began = Instant::now();
    let sums = |count| list(count, &|n| format!("SUM(id + {n})"));
    house.run(&format!("SELECT {} FROM narrow", sums(PARTS)))?;
    let long = list(AGGREGATES_MAX + 1, &|n| format!("SUM(id + {n}) > 1"));
    let having = format!(
        "SELECT 1 FROM narrow HAVING {}",
        long.replace(", ", " AND ")
    );
    house.refused(&having, 1117, &["16384"])?;
    let over = list(FUNCTIONS_MAX + 1, &|n| format!("SUM(id + {n}) OVER ()"));
    house.refused(&format!("SELECT {over} FROM narrow"), 1117, &["4096"])?;
    let columns = list(PARTS, &|n| format!("{n} AS c{n}"));
    let names = list(PARTS, &|n| format!("c{n}"));
    house.run(&format!("SELECT {names} FROM (SELECT {columns} LIMIT 1) x"))?;
    let windows = |count| {
        let more = list(count - 1, &|n| format!("w{} AS (w{n})", n + 1));
        format!("SELECT COUNT(*) OVER w0 FROM narrow WINDOW w0 AS (ORDER BY id), {more} LIMIT 1")
    };
    house.run(&windows(WINDOWS_MAX))?;
    house.refused(&windows(WINDOWS_MAX + 1), 1436, &["128"])?;
    if PARTS_TIMEOUT < began.elapsed() {
        return Err(format!("many parts take {:?}", began.elapsed()));
    }
    Ok(())
}

/// Each reads all wide rows, and gives how many bytes they have.
fn some_rows_at_a_time(house: &mut House) -> Result<(), String> {
    let keys: Vec<String> = (0..WIDE_ROWS).map(|id| id.to_string()).collect();
    let keys = keys.join(", ");
    let halves: Vec<String> = (0..WIDE_ROWS / 2).map(|n| n.to_string()).collect();
    let halves = halves.join(", ");
    let bytes = (WIDE_ROWS * WIDE_BYTES).to_string();
    for sql in [
        "SELECT SUM(LENGTH(v)) FROM wide".to_owned(),
        format!("SELECT SUM(LENGTH(v)) FROM wide WHERE id IN ({keys})"),
        format!("SELECT SUM(LENGTH(v)) FROM wide FORCE INDEX (n) WHERE n IN ({halves})"),
        "SELECT SUM(LENGTH(wide.v)) FROM narrow JOIN wide ON wide.id = narrow.id".to_owned(),
        "SELECT SUM(LENGTH(wide.v)) FROM narrow JOIN wide ON wide.n = narrow.id".to_owned(),
        "SELECT SUM(LENGTH(v)) FROM (SELECT v FROM wide ORDER BY n DESC, id LIMIT 1000) x".to_owned(),
        "SELECT SUM(LENGTH(v)) FROM (SELECT v, id FROM wide UNION ALL SELECT 'a', 1 FROM narrow WHERE id < 0 \
         ORDER BY id DESC LIMIT 1000) x"
            .to_owned(),
        "SELECT SUM(LENGTH(v)) FROM (SELECT v, ROW_NUMBER() OVER (ORDER BY n DESC, id) FROM wide LIMIT 1000) x"
            .to_owned(),
    ] {
        house.grows_by_at_most(SOME_ROWS_BYTES_MAX, |house| {
            let found = house.value(&sql)?;
            if found == bytes {
                return Ok(());
            }
            Err(format!("{sql}: {found}, not {bytes}"))
        })?;
    }
    Ok(())
}

/// Each has a long text that all its levels could have copies of.
fn a_text_once(house: &mut House) -> Result<(), String> {
    let text = "t".repeat(TEXT_BYTES);
    let union = vec!["SELECT 1"; LEVELS].join(" UNION ALL ");
    house.run("SET group_concat_max_len = 4000000")?;
    for sql in [
        format!("SELECT LENGTH('{text}') UNION ALL {union}"),
        format!(
            "SELECT COUNT(*) FROM (SELECT GROUP_CONCAT(id SEPARATOR '{text}') FROM narrow GROUP BY id) x"
        ),
        format!(
            "SELECT COUNT(*) FROM narrow WHERE id < {LEVELS} AND EXISTS (SELECT 1 FROM narrow b WHERE b.id = narrow.id \
             AND '{text}' <> CONCAT(narrow.id))"
        ),
    ] {
        house.grows_by_at_most(SOME_TEXTS_BYTES_MAX, |house| house.run(&sql).map(drop))?;
    }
    house.run("SET group_concat_max_len = DEFAULT").map(drop)
}
