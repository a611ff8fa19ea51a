//! Holds the writers' tables to their indexes.
//!
//! Tables that keep their size are checked whole after each restart. Those that grow are read by their index and
//! without it as far as the round wrote to them, and checked whole now and then: rows that were written long ago
//! are in files, which later rounds merge.

use crate::client::Client;
use crate::indexes;
use crate::writers::{Job, Log};

type Row = Vec<Option<String>>;

/// After so many restarts the tables that grow are checked whole.
const RARELY: u64 = 16;
/// All tables of the writers.
const GROWING: [&str; 3] = ["singles", "multis", "transfers"];
const STEADY: [&str; 4] = ["upserts", "counters", "accounts", "bulks"];

/// Whether each of the writers' tables agrees with its indexes, of those that are worth it after the n-th restart.
pub(crate) fn check(client: &mut Client, restarts: u64) -> Result<(), String> {
    if restarts.is_multiple_of(RARELY) {
        check_growing(client)?;
    }
    STEADY
        .iter()
        .try_for_each(|table| indexes::check(client, table))
}

/// The same of those that grow.
pub(crate) fn check_growing(client: &mut Client) -> Result<(), String> {
    GROWING
        .iter()
        .try_for_each(|table| indexes::check(client, table))
}

/// Whether the rows that a writer wrote in a round are the same by the index and without it.
pub(crate) fn compare(client: &mut Client, log: &Log) -> Result<(), String> {
    let (table, columns, number) = match log.job {
        Job::Single => ("singles", "seq, v", "seq"),
        Job::Multi => ("multis", "batch, part, v", "batch"),
        Job::Transfer => ("transfers", "seq, giver, taker", "seq"),
        // Their tables are checked whole.
        Job::Upsert | Job::Count | Job::Bulk => return Ok(()),
    };
    let (writer, first) = (log.writer, log.first);
    let mut read = |index: &str| {
        let sql = format!(
            "SELECT {columns} FROM {table} FORCE INDEX ({index}) \
             WHERE writer = {writer} AND {number} >= {first}"
        );
        let rows = client.rows(&sql).map_err(|e| format!("{sql}: {e}"));
        rows.map(|mut rows| {
            rows.sort();
            rows
        })
    };
    let (rows, entries) = (read("PRIMARY")?, read("newest")?);
    if rows == entries {
        return Ok(());
    }
    Err(format!(
        "{table} of writer {writer} from {first} on: {} rows without their entry, {} entries without their row",
        missing(&rows, &entries),
        missing(&entries, &rows)
    ))
}

/// How many rows the others do not have.
fn missing(rows: &[Row], others: &[Row]) -> usize {
    rows.iter().filter(|row| !others.contains(row)).count()
}
