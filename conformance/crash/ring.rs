//! Writers whose table can be told from the number of their writes: each goes around a ring of
//! keys, and inserts, updates and deletes the rows of the next key in turn.
//!
//! ```text
//!  write m of a writer is about the key m % KEYS; times around (m / KEYS) % 3:
//!    0   INSERT   u, g and v are of write m
//!    1   UPDATE   u, g and v when m is even, only g when m is odd
//!    2   DELETE
//! ```
//!
//! The columns: `u` is never the same in two rows, `g` is one of a few, `v` is text.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::thread::{self, JoinHandle};

use crate::client::{Client, Failure};
use crate::{connect, is_conflict, is_over};

/// Keys of a ring.
const KEYS: u64 = 61;
/// The most rows of one key, and so the distance of `u` from write to write.
const PARTS_MAX: u64 = 8;
/// The most writes of one writer, and so the distance of `u` from writer to writer.
const WRITES_MAX: u64 = 1_000_000_000;
/// Values of `g`.
pub(crate) const GROUPS: u64 = 10;

/// How errors about keys end that are built in vain; no writer meets another row there otherwise.
const BUILT_IN_VAIN: [&str; 2] = ["for key 'built.i'", "for key 'altered.PRIMARY'"];
/// Whether a text is too long is a matter of a change that looks at the rows in vain.
const TOO_LONG: u16 = 1406;

/// The columns of a ring's table.
pub(crate) const COLUMNS: &str = "writer INT, k INT, part INT, u BIGINT, g INT, v VARCHAR(40), \
                                  PRIMARY KEY (writer, k, part)";

/// How a writer writes the rows of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// One row, one statement.
    Single,
    /// Several rows, one statement.
    Batch,
    /// Several rows, a transaction with a statement for each.
    Transaction,
}

/// The writers: their numbers are their places.
pub(crate) const WRITERS: [Style; 5] = [
    Style::Single,
    Style::Single,
    Style::Batch,
    Style::Transaction,
    Style::Single,
];

impl Style {
    fn parts(self) -> u64 {
        match self {
            Style::Single => 1,
            Style::Batch => 5,
            Style::Transaction => 3,
        }
    }
}

/// The columns `k`, `part`, `u`, `g`, `v` of one row, as text.
type Row = Vec<Option<String>>;

/// What is known of the writers of one table.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    /// By writer: how many of its writes took place.
    done: HashMap<u64, u64>,
    acknowledged: u64,
    under_way: u64,
    under_way_kept: u64,
}

/// A writer at work; ends with the number of its acknowledged writes.
pub(crate) type Writer = JoinHandle<Result<u64, String>>;

impl Ring {
    /// Starts all writers.
    pub(crate) fn start(&self, address: &str, table: &'static str) -> Result<Vec<Writer>, String> {
        let mut threads = Vec::new();
        for (writer, style) in (0..).zip(WRITERS) {
            let client = connect(address)?;
            let first = self.done.get(&writer).copied().unwrap_or(0);
            let place = (table, writer);
            threads.push(thread::spawn(move || work(client, place, style, first)));
        }
        Ok(threads)
    }

    /// Waits for the writers, whose server was killed.
    pub(crate) fn join(writers: Vec<Writer>) -> Result<Vec<u64>, String> {
        let join = |writer: Writer| writer.join().map_err(|_| "a writer panicked".to_owned())?;
        writers.into_iter().map(join).collect()
    }

    /// Holds the table against what was acknowledged: each writer's rows are those after its last
    /// acknowledged write, or after the one that was under way.
    pub(crate) fn verify(
        &mut self,
        client: &mut Client,
        table: &str,
        acknowledged: &[u64],
    ) -> Result<(), String> {
        for ((writer, style), next) in (0..).zip(WRITERS).zip(acknowledged) {
            let sql = format!(
                "SELECT /*+ _l_allow_filtering_ */ k, part, u, g, v FROM {table} \
                 WHERE writer = {writer} ORDER BY k, part"
            );
            let rows = client.rows(&sql).map_err(|e| format!("{sql}: {e}"))?;
            let fits = |writes: &u64| rows_after(writer, style, *writes) == rows;
            let Some(found) = [*next, next + 1].into_iter().find(fits) else {
                return Err(format!(
                    "{table}, writer {writer} ({style:?}): the rows are neither those after \
                     {next} writes nor those after the next one:\n{rows:?}"
                ));
            };
            let before = self.done.insert(writer, found).unwrap_or(0);
            self.acknowledged += next - before.min(*next);
            self.under_way += 1;
            self.under_way_kept += found - next;
        }
        Ok(())
    }

    /// Whether several rows have one (`writer`, `k`). Those who write such rows may have deleted them all,
    /// and wait with the next of them for the end of a change to a key that cannot hold them.
    pub(crate) fn shares_keys(&self) -> bool {
        let mut writers = (0..).zip(WRITERS);
        writers.any(|(writer, style)| {
            let done = self.done.get(&writer).copied().unwrap_or(0);
            1 < style.parts() && !rows_after(writer, style, done).is_empty()
        })
    }

    /// Refuses a run in which nothing was written: it shows nothing.
    pub(crate) fn check_progress(&self) -> Result<(), String> {
        if self.acknowledged == 0 {
            return Err("no write was ever acknowledged".to_owned());
        }
        Ok(())
    }

    /// One line for the end.
    pub(crate) fn summary(&self) -> String {
        format!(
            "{} acknowledged writes all there, {} of {} writes under way at a kill took place",
            self.acknowledged, self.under_way_kept, self.under_way
        )
    }
}

/// Writes until the connection breaks; the number of the write that was not acknowledged.
fn work(
    mut client: Client,
    place: (&'static str, u64),
    style: Style,
    first: u64,
) -> Result<u64, String> {
    let mut write_no = first;
    loop {
        match write(&mut client, place, style, write_no) {
            // A row less was lost before, and is not found any more.
            Ok(rows) if rows != style.parts() => {
                let parts = style.parts();
                return Err(format!(
                    "writer {place:?}, write {write_no}: {rows} rows of {parts}"
                ));
            }
            Ok(_) => write_no += 1,
            Err(failure) if is_over(&failure) => return Ok(write_no),
            Err(failure) if is_to_repeat(&failure) => {
                if client
                    .execute("ROLLBACK")
                    .is_err_and(|failure| is_over(&failure))
                {
                    return Ok(write_no);
                }
            }
            Err(failure) => return Err(format!("writer {place:?}, write {write_no}: {failure}")),
        }
    }
}

/// A conflict, a definition that changed under a transaction, or a change that is made in vain and is
/// held to until that is known.
fn is_to_repeat(failure: &Failure) -> bool {
    match failure {
        Failure::Server {
            errno: 1412 | TOO_LONG,
            ..
        } => true,
        Failure::Server {
            errno: 1062, text, ..
        } => BUILT_IN_VAIN.iter().any(|end| text.ends_with(end)),
        Failure::Server { .. } | Failure::Lost(_) => is_conflict(failure),
    }
}

/// One write; how many rows it inserted, changed or deleted.
fn write(
    client: &mut Client,
    place: (&str, u64),
    style: Style,
    write_no: u64,
) -> Result<u64, Failure> {
    let parts: Vec<u64> = (0..style.parts()).collect();
    if style != Style::Transaction {
        let done = client.execute(&statement(place, write_no, &parts))?;
        return Ok(done.affected_rows);
    }
    client.execute("BEGIN")?;
    let mut rows = 0;
    for part in parts {
        let done = client.execute(&statement(place, write_no, &[part]))?;
        rows += done.affected_rows;
    }
    client.execute("COMMIT")?;
    Ok(rows)
}

/// The statement of a write about some of its rows.
fn statement((table, writer): (&str, u64), write_no: u64, parts: &[u64]) -> String {
    let k = write_no % KEYS;
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    let place = format!("writer = {writer} AND k = {k} AND part BETWEEN {first} AND {last}");
    let values = Values { writer, write_no };
    match (write_no / KEYS) % 3 {
        0 => {
            let mut sql = format!("INSERT INTO {table} (writer, k, part, u, g, v) VALUES");
            for part in parts {
                let comma = if *part == first { "" } else { "," };
                let (u, g, v) = (values.u(*part), values.g(), values.v());
                let _ = write!(sql, "{comma} ({writer}, {k}, {part}, {u}, {g}, '{v}')");
            }
            sql
        }
        1 if write_no.is_multiple_of(2) => format!(
            "UPDATE {table} SET u = {} + part, g = {}, v = '{}' WHERE {place}",
            values.u(0),
            values.g(),
            values.v()
        ),
        1 => format!("UPDATE {table} SET g = {} WHERE {place}", values.g()),
        _ => format!("DELETE FROM {table} WHERE {place}"),
    }
}

/// What a write puts into the columns.
#[derive(Debug, Clone, Copy)]
struct Values {
    writer: u64,
    write_no: u64,
}

impl Values {
    fn u(self, part: u64) -> u64 {
        (self.writer * WRITES_MAX + self.write_no) * PARTS_MAX + part
    }

    fn g(self) -> u64 {
        self.write_no % GROUPS
    }

    fn v(self) -> String {
        format!("writer {} write {}", self.writer, self.write_no)
    }
}

/// A writer's rows after so many writes, in key order.
fn rows_after(writer: u64, style: Style, writes_count: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for k in 0..KEYS.min(writes_count) {
        // The last write about this key.
        let write_no = k + (writes_count - 1 - k) / KEYS * KEYS;
        let Some((newest, rest)) = sources(writer, write_no) else {
            continue;
        };
        for part in 0..style.parts() {
            rows.push(vec![
                Some(k.to_string()),
                Some(part.to_string()),
                Some(rest.u(part).to_string()),
                Some(newest.g().to_string()),
                Some(rest.v()),
            ]);
        }
    }
    rows
}

/// Whose values a row has after this write about it: those of `g`, and those of `u` and `v`.
fn sources(writer: u64, write_no: u64) -> Option<(Values, Values)> {
    let newest = Values { writer, write_no };
    match (write_no / KEYS) % 3 {
        0 => Some((newest, newest)),
        1 if write_no.is_multiple_of(2) => Some((newest, newest)),
        1 => {
            let write_no = write_no - KEYS;
            Some((newest, Values { writer, write_no }))
        }
        _ => None,
    }
}
