//! What must be in the database, told from outside: the acknowledged writes, and the one per
//! writer that was under way at the kill and may or may not have taken place.

use std::collections::HashMap;

use crate::client::Client;
use crate::entries;
use crate::writers::{
    ACCOUNTS, BALANCE, BULK_BYTES, BULK_KEYS, COUNTERS, Job, Log, PARTS, UPSERT_KEYS, WRITERS,
    letter_of, parties, text_of,
};

/// The state of the oracle.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// For each writer, how many of its writes are known to be there.
    done: HashMap<(Job, u64), u64>,
    /// The logs of the last round, until it is verified.
    open: Vec<Log>,
    /// What the counters hold beyond doubt, as of the last verification.
    counters: HashMap<u64, u64>,
    /// How often the database was held against the logs.
    verified: u64,
    acknowledged: u64,
    under_way: u64,
    under_way_kept: u64,
}

/// Rows of numbers and texts, as the server sends them.
type Table = Vec<Vec<Option<String>>>;

impl Oracle {
    /// The number of a writer's next write.
    pub(crate) fn next(&self, job: Job, writer: u64) -> u64 {
        self.done.get(&(job, writer)).copied().unwrap_or(0)
    }

    /// Takes the logs of a round.
    pub(crate) fn note(&mut self, logs: &[Log]) {
        self.open = logs.to_vec();
        for log in logs {
            self.acknowledged += log.next - log.first;
            self.under_way += u64::from(log.in_doubt);
        }
    }

    /// Has the next verification hold the database once more against the logs of a round that was verified: of what
    /// was in doubt it is known now whether it took place.
    pub(crate) fn note_again(&mut self, logs: &[Log]) {
        let settled = |log: &Log| Log {
            next: self.next(log.job, log.writer),
            in_doubt: false,
            ..*log
        };
        // The counters have what they have, beyond doubt.
        let others = logs.iter().filter(|log| log.job != Job::Count);
        self.open = others.map(settled).collect();
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

    /// Holds the database against the logs, and tables to their indexes; what was in doubt is decided by what is
    /// found.
    pub(crate) fn verify(&mut self, client: &mut Client) -> Result<(), String> {
        self.verify_counters(client)?;
        for log in std::mem::take(&mut self.open) {
            let found = match log.job {
                Job::Single => verify_singles(client, &log)?,
                Job::Multi => verify_multis(client, &log)?,
                Job::Upsert => verify_upserts(client, &log)?,
                Job::Transfer => verify_transfers(client, &log)?,
                Job::Bulk => verify_bulks(client, &log)?,
                // Whether one increment took place cannot be told from another's; the numbers
                // only choose the counter, so to skip one is harmless.
                Job::Count => log.next + u64::from(log.in_doubt),
            };
            if found < log.next || log.next + u64::from(log.in_doubt) < found {
                return Err(format!(
                    "{:?} writer {}: {} writes were acknowledged, {found} are there",
                    log.job, log.writer, log.next
                ));
            }
            entries::compare(client, &log)?;
            self.under_way_kept += u64::from(log.job != Job::Count && log.next < found);
            self.done.insert((log.job, log.writer), found);
        }
        self.verify_balances(client)?;
        self.verified += 1;
        entries::check(client, self.verified)
    }

    fn verify_counters(&mut self, client: &mut Client) -> Result<(), String> {
        for id in 0..COUNTERS {
            let sql = format!("SELECT n FROM counters WHERE id = {id}");
            let found = number(&ask(client, &sql)?, 0, 0)?;
            let mut least = self.counters.get(&id).copied().unwrap_or(0);
            let mut doubtful = 0;
            for log in self.open.iter().filter(|log| log.job == Job::Count) {
                least += count_of((log.first..log.next).filter(|seq| seq % COUNTERS == id));
                doubtful += u64::from(log.in_doubt && log.next % COUNTERS == id);
            }
            if found < least || least + doubtful < found {
                return Err(format!(
                    "counter {id} is {found}; {least} increments were acknowledged, \
                     {doubtful} were under way"
                ));
            }
            self.under_way_kept += found - least;
            self.counters.insert(id, found);
        }
        Ok(())
    }

    /// Every account is what the transfers that are there make of it.
    fn verify_balances(&self, client: &mut Client) -> Result<(), String> {
        let balances = ask(client, "SELECT balance FROM accounts WHERE id >= 0")?;
        let mut expected = vec![BALANCE; usize::try_from(ACCOUNTS).unwrap_or(0)];
        for (job, writer) in WRITERS {
            if job != Job::Transfer {
                continue;
            }
            for seq in 0..self.next(job, writer) {
                let (giver, taker) = parties(writer, seq);
                // A balance may fall below zero; modulo 2^64 both sides still agree.
                let giver = &mut expected[usize::try_from(giver).unwrap_or(0)];
                *giver = giver.wrapping_sub(1);
                let taker = &mut expected[usize::try_from(taker).unwrap_or(0)];
                *taker = taker.wrapping_add(1);
            }
        }
        for (id, balance) in expected.iter().enumerate() {
            let found: i64 = cell(&balances, id, 0)?
                .parse()
                .map_err(|e| format!("{e}"))?;
            if found.cast_unsigned() != *balance {
                let expected = balance.cast_signed();
                return Err(format!("account {id} holds {found}, not {expected}"));
            }
        }
        Ok(())
    }
}

/// Rows of a writer are 0..n without a gap; the new ones hold their texts.
fn verify_singles(client: &mut Client, log: &Log) -> Result<u64, String> {
    let writer = log.writer;
    let sql = format!("SELECT COUNT(*) FROM singles WHERE writer = {writer}");
    let found = number(&ask(client, &sql)?, 0, 0)?;
    let first = log.first;
    let sql = format!("SELECT seq, v FROM singles WHERE writer = {writer} AND seq >= {first}");
    let rows = ask(client, &sql)?;
    for (at, seq) in (first..found).enumerate() {
        expect(&rows, at, &(seq, text_of(writer, seq)))?;
    }
    Ok(found)
}

/// Batches are 0..n, each of all its parts.
fn verify_multis(client: &mut Client, log: &Log) -> Result<u64, String> {
    let writer = log.writer;
    let sql = format!("SELECT COUNT(*) FROM multis WHERE writer = {writer}");
    let rows_count = number(&ask(client, &sql)?, 0, 0)?;
    if !rows_count.is_multiple_of(PARTS) {
        return Err(format!(
            "multi-row writer {writer}: {rows_count} rows, not a multiple of {PARTS}"
        ));
    }
    let found = rows_count / PARTS;
    let first = log.first;
    let sql = format!("SELECT batch, v FROM multis WHERE writer = {writer} AND batch >= {first}");
    let rows = ask(client, &sql)?;
    let mut at = 0;
    for batch in first..found {
        for _ in 0..PARTS {
            expect(&rows, at, &(batch, text_of(writer, batch)))?;
            at += 1;
        }
    }
    Ok(found)
}

/// Each key holds the last number written to each column.
fn verify_upserts(client: &mut Client, log: &Log) -> Result<u64, String> {
    let writer = log.writer;
    let sql = format!("SELECT k, a, b FROM upserts WHERE writer = {writer}");
    let rows = ask(client, &sql)?;
    for writes_count in [log.next, log.next + 1] {
        if rows == upserted(writes_count) {
            return Ok(writes_count);
        }
    }
    Err(format!(
        "upsert writer {writer}: {rows:?} is neither the state after {} writes nor the one after",
        log.next
    ))
}

/// The rows after so many UPSERTs.
fn upserted(writes_count: u64) -> Table {
    let mut rows = Vec::new();
    for key in 0..UPSERT_KEYS.min(writes_count) {
        let last = |parity: u64| {
            (0..writes_count)
                .rev()
                .take(usize::try_from(2 * UPSERT_KEYS).unwrap_or(0))
                .find(|seq| seq % UPSERT_KEYS == key && seq % 2 == parity)
                .map(|seq| seq.to_string())
        };
        rows.push(vec![Some(key.to_string()), last(0), last(1)]);
    }
    rows
}

/// Each key holds the last long row, to its end.
fn verify_bulks(client: &mut Client, log: &Log) -> Result<u64, String> {
    let writer = log.writer;
    let sql = format!(
        "SELECT k, seq, LENGTH(v), LEFT(v, 1), v = REPEAT(LEFT(v, 1), {BULK_BYTES}) FROM bulks \
         WHERE writer = {writer}"
    );
    let rows = ask(client, &sql)?;
    for writes_count in [log.next, log.next + 1] {
        if rows == long_rows(writes_count) {
            return Ok(writes_count);
        }
    }
    Err(format!(
        "bulk writer {writer}: {rows:?} is neither the state after {} writes nor the one after",
        log.next
    ))
}

/// The long rows after so many writes.
fn long_rows(writes_count: u64) -> Table {
    let rows = (0..BULK_KEYS.min(writes_count)).map(|k| {
        let seq = k + (writes_count - 1 - k) / BULK_KEYS * BULK_KEYS;
        let cells = [k, seq, BULK_BYTES].map(|number| number.to_string());
        let cells = cells
            .into_iter()
            .chain([letter_of(seq).to_string(), "1".to_owned()]);
        cells.map(Some).collect()
    });
    rows.collect()
}

fn verify_transfers(client: &mut Client, log: &Log) -> Result<u64, String> {
    let writer = log.writer;
    let sql = format!("SELECT COUNT(*) FROM transfers WHERE writer = {writer}");
    let found = number(&ask(client, &sql)?, 0, 0)?;
    let first = log.first;
    let sql =
        format!("SELECT seq, giver FROM transfers WHERE writer = {writer} AND seq >= {first}");
    let rows = ask(client, &sql)?;
    for (at, seq) in (first..found).enumerate() {
        expect(&rows, at, &(seq, parties(writer, seq).0.to_string()))?;
    }
    Ok(found)
}

fn count_of(numbers: impl Iterator<Item = u64>) -> u64 {
    u64::try_from(numbers.count()).unwrap_or(u64::MAX)
}

fn ask(client: &mut Client, sql: &str) -> Result<Table, String> {
    client.rows(sql).map_err(|e| format!("{sql}: {e}"))
}

fn cell(rows: &Table, row: usize, column: usize) -> Result<&str, String> {
    rows.get(row)
        .and_then(|row| row.get(column)?.as_deref())
        .ok_or_else(|| format!("no value in row {row}, column {column}"))
}

fn number(rows: &Table, row: usize, column: usize) -> Result<u64, String> {
    let text = cell(rows, row, column)?;
    text.parse().map_err(|_| format!("{text} is no number"))
}

/// Whether a row holds a number and a text.
fn expect(rows: &Table, row: usize, expected: &(u64, String)) -> Result<(), String> {
    let found = (number(rows, row, 0)?, cell(rows, row, 1)?);
    if found == (expected.0, expected.1.as_str()) {
        return Ok(());
    }
    Err(format!("found {found:?} where {expected:?} must be"))
}
