//! Two more writers, whose writes are not rows of one table alone. What is there after so many of their
//! writes follows from the number, and the number from what is there: no two numbers leave the same.
//!
//! | write of a block | [`BATCHES`] | [`DEFINITIONS`] |
//! |---|---|---|
//! | 0 | INSERT of [`PARTS`] rows | CREATE TABLE of the block |
//! | 1 | REPLACE of some of them | INSERT of a few rows |
//! | 2 | DELETE of others | CREATE INDEX |
//! | 3 | UPDATE of what is left of those | TRUNCATE TABLE |
//! | 4 | | INSERT of another row |
//! | 5 | | DROP TABLE of the block before |

use std::collections::BTreeMap;

use crate::client::{Client, Failure};

/// The writer of many rows at a time.
pub(crate) const BATCHES: usize = super::load::WRITERS;
/// The writer of definitions.
pub(crate) const DEFINITIONS: usize = BATCHES + 1;

/// Rows of one INSERT.
const PARTS: u64 = 8;
const BATCH_WRITES: u64 = 4;
const DEFINITION_WRITES: u64 = 6;
/// So that memtables are filled and written to files while backups are made.
const PADDING_BYTES: usize = 1500;

const BATCH_TABLE: &str = "CREATE TABLE batches (k BIGINT PRIMARY KEY, n BIGINT NOT NULL, \
                           t VARCHAR(1600) NOT NULL, KEY by_n (n))";

/// The tables at the start: the first block finds one before it.
const TABLES: &[&str] = &[
    BATCH_TABLE,
    "CREATE TABLE made_0 (id INT PRIMARY KEY, v INT, KEY by_v (v))",
    "INSERT INTO made_0 VALUES (4, 40)",
];

pub(crate) fn make_tables(client: &mut Client) -> Result<(), Failure> {
    TABLES
        .iter()
        .try_for_each(|sql| client.execute(sql).map(drop))
}

/// Does write `n` of one of the two.
pub(crate) fn write(client: &mut Client, writer: usize, n: u64) -> Result<(), Failure> {
    let statement = match writer {
        BATCHES => batch(n),
        _ => definition(n),
    };
    client.execute(&statement).map(drop)
}

fn padded(n: u64) -> String {
    format!("{n:0PADDING_BYTES$}")
}

fn rows(keys: impl Iterator<Item = u64>, n: u64) -> String {
    let text = padded(n);
    let rows: Vec<String> = keys.map(|k| format!("({k}, {n}, '{text}')")).collect();
    rows.join(", ")
}

fn list(keys: &[u64]) -> String {
    let texts: Vec<String> = keys.iter().map(u64::to_string).collect();
    texts.join(", ")
}

/// The keys that a write of many rows is about.
fn keys_of(n: u64) -> Vec<u64> {
    let first = n / BATCH_WRITES * PARTS;
    let parts: &[u64] = match n % BATCH_WRITES {
        0 => &[0, 1, 2, 3, 4, 5, 6, 7],
        1 => &[1, 3, 7],
        2 => &[0, 1, 5],
        _ => &[2, 3],
    };
    parts.iter().map(|part| first + part).collect()
}

fn batch(n: u64) -> String {
    let keys = keys_of(n);
    match n % BATCH_WRITES {
        0 => format!("INSERT INTO batches VALUES {}", rows(keys.into_iter(), n)),
        1 => format!("REPLACE INTO batches VALUES {}", rows(keys.into_iter(), n)),
        2 => format!("DELETE FROM batches WHERE k IN ({})", list(&keys)),
        _ => format!(
            "UPDATE batches SET n = {n}, t = '{}' WHERE k IN ({})",
            padded(n),
            list(&keys)
        ),
    }
}

/// Each key, and which write its row is of, after `count` writes.
fn batches_after(count: u64) -> BTreeMap<u64, u64> {
    let mut rows = BTreeMap::new();
    for n in 0..count {
        for key in keys_of(n) {
            match n % BATCH_WRITES {
                2 => rows.remove(&key),
                _ => rows.insert(key, n),
            };
        }
    }
    rows
}

fn definition(n: u64) -> String {
    let block = n / DEFINITION_WRITES + 1;
    match n % DEFINITION_WRITES {
        0 => format!("CREATE TABLE made_{block} (id INT PRIMARY KEY, v INT)"),
        1 => format!("INSERT INTO made_{block} VALUES (1, 10), (2, 20), (3, 30)"),
        2 => format!("CREATE INDEX by_v ON made_{block} (v)"),
        3 => format!("TRUNCATE TABLE made_{block}"),
        4 => format!("INSERT INTO made_{block} VALUES (4, 40)"),
        _ => format!("DROP TABLE made_{}", block - 1),
    }
}

/// A table of the writer of definitions: whether it has its index, and its ids.
type Made = (bool, Vec<u64>);

/// The tables by their blocks after `count` writes.
fn made_after(count: u64) -> BTreeMap<u64, Made> {
    let (block, stage) = (count / DEFINITION_WRITES + 1, count % DEFINITION_WRITES);
    let mut tables = BTreeMap::from([(block - 1, (true, vec![4]))]);
    if 0 < stage {
        let ids = match stage {
            1 | 4 => vec![],
            2 | 3 => vec![1, 2, 3],
            _ => vec![4],
        };
        tables.insert(block, (3 <= stage, ids));
    }
    tables
}

/// How many writes of one of the two there are.
pub(crate) fn found(client: &mut Client, writer: usize) -> Result<u64, String> {
    match writer {
        BATCHES => found_batches(client),
        _ => found_definitions(client),
    }
}

fn numbers(client: &mut Client, sql: &str) -> Result<Vec<Vec<u64>>, String> {
    let rows = client.rows(sql).map_err(|e| format!("{sql}: {e}"))?;
    let number = |cell: &Option<String>| cell.as_deref().and_then(|cell| cell.parse().ok());
    let parsed: Option<Vec<Vec<u64>>> = rows
        .iter()
        .map(|row| row.iter().map(number).collect())
        .collect();
    parsed.ok_or_else(|| format!("{sql}: {rows:?}"))
}

fn found_batches(client: &mut Client) -> Result<u64, String> {
    // The text is its number, filled up with zeros.
    let sql = "SELECT k, n, LENGTH(t), t + 0 FROM batches WHERE k >= 0";
    let mut rows = BTreeMap::new();
    for row in numbers(client, sql)? {
        if row[2] != PADDING_BYTES as u64 || row[3] != row[1] {
            return Err(format!("batches: {row:?}"));
        }
        rows.insert(row[0], row[1]);
    }
    let count = rows.values().max().map_or(0, |last| last + 1);
    // A DELETE leaves nothing that has its number.
    let is_so = |count: &u64| batches_after(*count) == rows;
    let found = [count, count + 1].into_iter().find(is_so);
    found.ok_or_else(|| format!("batches: no number of writes leaves {rows:?}"))
}

fn found_definitions(client: &mut Client) -> Result<u64, String> {
    let mut tables = BTreeMap::new();
    let sql = "SELECT CAST(SUBSTRING(TABLE_NAME, 6) AS UNSIGNED) FROM information_schema.TABLES \
               WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'made\\_%'";
    for block in numbers(client, sql)?.into_iter().flatten() {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND \
             TABLE_NAME = 'made_{block}' AND INDEX_NAME = 'by_v'"
        );
        let has_index = numbers(client, &sql)? == [[1]];
        let ids = numbers(
            client,
            &format!("SELECT id FROM made_{block} WHERE id >= 0"),
        )?;
        tables.insert(block, (has_index, ids.into_iter().flatten().collect()));
    }
    let last = tables.keys().max().copied().unwrap_or(0);
    let until = last * DEFINITION_WRITES;
    let mut counts = until.saturating_sub(DEFINITION_WRITES)..=until;
    let found = counts.find(|count| made_after(*count) == tables);
    found.ok_or_else(|| format!("definitions: no number of writes leaves {tables:?}"))
}

/// The tables of the two, for CHECK TABLE.
pub(crate) fn tables(count: u64) -> Vec<String> {
    let made = made_after(count).into_keys();
    let made = made.map(|block| format!("made_{block}"));
    made.chain(["batches".to_owned()]).collect()
}

/// Of no use is a table of cases in which two are alike.
pub(crate) fn check_cases() -> Result<(), String> {
    let upto = 3 * BATCH_WRITES * DEFINITION_WRITES;
    for count in 0..upto {
        for other in 0..count {
            if batches_after(count) == batches_after(other)
                || made_after(count) == made_after(other)
            {
                return Err(format!("{count} writes leave what {other} leave"));
            }
        }
    }
    Ok(())
}
