//! Rows whose keys and unique values others take when they have ended: a clock that goes back must not have two
//! rows with one of them, nor entries that say otherwise than their rows, however often the server was killed
//! between.

use std::collections::HashSet;

use crate::client::{Client, Failure};

/// Keys, and as many unique values: few, so that most writes meet a row that there was.
const KEYS: i64 = 40;

/// A statement that finds a unique value taken.
const DUPLICATE_ENTRY: u16 = 1062;

pub(super) fn make_table(client: &mut Client, ttl_s: i64) -> Result<(), Failure> {
    client.execute(&format!(
        "CREATE TABLE reused (id INT PRIMARY KEY, a INT, u INT, KEY ka (a), UNIQUE KEY ku (u)) \
         WITH (TTL='{ttl_s}')"
    ))?;
    Ok(())
}

/// One write, told by its number. The values are as if they were drawn.
pub(super) fn write(client: &mut Client, number: i64) -> Result<(), Failure> {
    let drawn = |times: i64| number.wrapping_mul(times).rem_euclid(10_007) % KEYS;
    let (id, a, u) = (drawn(7_919), drawn(104_729), drawn(1_299_709));
    let sql = match number % 4 {
        0 => format!("INSERT INTO reused VALUES ({id}, {a}, {u})"),
        1 => format!("REPLACE INTO reused VALUES ({id}, {a}, {u})"),
        2 => format!("UPDATE reused SET a = {a}, u = {u} WHERE id = {id}"),
        _ => format!("DELETE FROM reused WHERE id = {id}"),
    };
    match client.execute(&sql) {
        Err(Failure::Server { errno, .. }) if errno == DUPLICATE_ENTRY => Ok(()),
        other => other.map(drop),
    }
}

/// Whether no two rows have one unique value; what indexes say is looked at by `CHECK TABLE`.
pub(super) fn verify(client: &mut Client) -> Result<(), String> {
    let rows = client.rows("SELECT id, a, u FROM reused WHERE id >= 0");
    let rows = rows.map_err(|e| e.to_string())?;
    let mut seen = HashSet::new();
    match rows.iter().find(|row| !seen.insert(&row[2])) {
        Some(row) => Err(format!(
            "the unique value of {row:?} is there twice: {rows:?}"
        )),
        None => Ok(()),
    }
}
