//! A disk that hardly holds more than a journal and the rows in memory, full of rows: those that `TRUNCATE` and
//! `PURGE` have dropped give their room back by themselves, time and again, and other rows stay.

use std::time::Duration;

use libtest_mimic::Trial;

use crate::client::Client;
use crate::full::{done, fill_by, incompressible, make_tables, wait_until_written};
use crate::{Ending, MEMTABLE_VARIABLE, READ_ONLY, Rounds, connect_bare, kill, trial};

/// The disk.
pub(crate) const BYTES: u64 = 260 << 20;
/// Rows in memory are flushed at as much as usual.
const MEMTABLE_BYTES: u64 = 64 << 20;
/// Rows that stay.
const KEPT_ROWS: u64 = 20;
/// How often the disk is filled and emptied.
const TURNS: usize = 2;

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "dropped_rows_give_the_room_of_a_small_disk_back".to_owned();
    vec![trial(name, (Ending::Tight, 1), run)]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let memtables = [(MEMTABLE_VARIABLE.to_owned(), MEMTABLE_BYTES.to_string())];
    let server = rounds.start_with(&memtables)?;
    let mut client = connect_bare(&server.address)?;
    make_tables(&mut client).map_err(|e| e.to_string())?;
    let kept = "CREATE TABLE kept (id INT PRIMARY KEY, v LONGTEXT)";
    done(&mut client, kept)?;
    for row in 0..KEPT_ROWS {
        let value = incompressible(rounds);
        done(
            &mut client,
            &format!("INSERT INTO kept VALUES ({row}, {value})"),
        )?;
    }
    let expected = sum_of(&mut client)?;
    let (mut slowest, mut rows) = (Duration::ZERO, Vec::new());
    for _ in 0..TURNS {
        for way in [
            &["TRUNCATE TABLE large"][..],
            &[
                "DROP TABLE large",
                "PURGE TABLE large",
                "CREATE TABLE large (id INT PRIMARY KEY, v LONGTEXT)",
            ],
        ] {
            rows.push(fill_by(&mut client, || incompressible(rounds))?);
            for sql in way {
                done(&mut client, sql)?;
            }
            let told = wait_until_written(&mut client);
            let took = told.map_err(|error| format!("{way:?} after {rows:?} rows: {error}"))?;
            slowest = slowest.max(took);
        }
    }
    if sum_of(&mut client)? != expected {
        return Err("rows that stay are others".to_owned());
    }
    let log = rounds.log();
    if log.contains(READ_ONLY) {
        return Err(format!("the engine gave up: {log}"));
    }
    kill(&server)?;
    Ok(format!(
        "filled with {rows:?} rows, written again after {slowest:?} at most"
    ))
}

/// What the rows that stay are.
fn sum_of(client: &mut Client) -> Result<Vec<Vec<Option<String>>>, String> {
    let sql = "SELECT COUNT(*), SUM(CRC32(v)) FROM kept WHERE id >= 0";
    client.rows(sql).map_err(|error| format!("{sql}: {error}"))
}
