//! Writers that go on until they are told to stop, what they were acknowledged, and what must be there.
//!
//! Each writer `w` does writes numbered from 0, each of which is one transaction:
//!
//! - a row `(w, n)` with an indexed text that follows from it;
//! - every fourth is a transfer instead: two accounts and a row that says so, in one BEGIN … COMMIT.
//!
//! Two more write many rows at a time, and definitions ([`wide`]).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::client::{Client, EndForm, Failure};
use crate::wide;

/// Writers of single rows and transfers.
pub(crate) const WRITERS: usize = 6;
/// With the two others.
const ALL_WRITERS: usize = WRITERS + 2;
/// What is asked of each writer and of all together, for each backup that is made meanwhile: less is no load.
/// A few percent of what there is.
const WRITES_MIN: usize = 2;
const ALL_WRITES_MIN: usize = 40;
/// How long indexes are given that a start goes on to build, of tables of a few rows.
const BUILT_MAX: Duration = Duration::from_secs(20);
const BETWEEN_CHECKS: Duration = Duration::from_millis(20);
const ACCOUNTS: u64 = 5;
const BALANCE: i64 = 1000;
const DATABASE: &str = "loaded";

/// How far a writer is.
#[derive(Default)]
struct Log {
    /// Writes below it are acknowledged.
    acknowledged: AtomicU64,
    /// Writes below it have begun.
    begun: AtomicU64,
    /// When each write that was acknowledged began and was acknowledged, from the first on.
    times: Mutex<Vec<Times>>,
}

/// Of one write, by a clock that all writers share: each look at it tells another number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    began: u64,
    acknowledged: u64,
}

/// The writers at work.
pub(crate) struct Load {
    is_over: Arc<AtomicBool>,
    logs: Vec<Arc<Log>>,
    threads: Vec<JoinHandle<Result<(), String>>>,
}

impl Load {
    pub(crate) fn make_tables(client: &mut Client) -> Result<(), String> {
        let mut statements = vec![
            format!("CREATE DATABASE {DATABASE}"),
            format!("USE {DATABASE}"),
            "CREATE TABLE done (w INT, n BIGINT, t VARCHAR(60), PRIMARY KEY (w, n), UNIQUE KEY (t), \
             KEY (n) INCLUDE (t))"
                .to_owned(),
            "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, KEY (balance))".to_owned(),
        ];
        statements.extend(
            (0..ACCOUNTS).map(|id| format!("INSERT INTO accounts VALUES ({id}, {BALANCE})")),
        );
        for sql in statements {
            client.execute(&sql).map_err(|e| format!("{sql}: {e}"))?;
        }
        wide::make_tables(client).map_err(|e| e.to_string())
    }

    /// Starts writers that begin with number 0.
    pub(crate) fn start(address: &str) -> Result<Load, String> {
        Load::from(address, &[0; ALL_WRITERS])
    }

    /// Starts writers that go on behind what is there.
    pub(crate) fn start_on(client: &mut Client, address: &str) -> Result<Load, String> {
        client
            .execute(&format!("USE {DATABASE}"))
            .map_err(|e| e.to_string())?;
        let first: Result<Vec<u64>, String> =
            (0..ALL_WRITERS).map(|w| next_of(client, w)).collect();
        Load::from(address, &first?)
    }

    fn from(address: &str, first: &[u64]) -> Result<Load, String> {
        let is_over = Arc::new(AtomicBool::new(false));
        let clock = Arc::new(AtomicU64::new(0));
        let mut load = Load {
            is_over: Arc::clone(&is_over),
            logs: Vec::new(),
            threads: Vec::new(),
        };
        for (writer, first) in first.iter().enumerate() {
            let log = Arc::new(Log::default());
            log.acknowledged.store(*first, Ordering::SeqCst);
            log.begun.store(*first, Ordering::SeqCst);
            load.logs.push(Arc::clone(&log));
            let client = Client::connect(address, DATABASE, EndForm::Ok);
            let mut client = client.map_err(|e| e.to_string())?;
            let (is_over, clock) = (Arc::clone(&is_over), Arc::clone(&clock));
            load.threads.push(thread::spawn(move || {
                work(&mut client, writer, (&log, &is_over, &clock))
            }));
        }
        Ok(load)
    }

    pub(crate) fn acknowledged(&self) -> Vec<u64> {
        self.logs
            .iter()
            .map(|log| log.acknowledged.load(Ordering::SeqCst))
            .collect()
    }

    pub(crate) fn begun(&self) -> Vec<u64> {
        self.logs
            .iter()
            .map(|log| log.begun.load(Ordering::SeqCst))
            .collect()
    }

    /// Ends the writers, which have begun with number 0; when their writes were.
    pub(crate) fn stop(self) -> Result<Vec<Vec<Times>>, String> {
        self.is_over.store(true, Ordering::SeqCst);
        let logs = self.logs.clone();
        self.killed()?;
        let times = |log: &Arc<Log>| {
            let times = log.times.lock().unwrap_or_else(PoisonError::into_inner);
            times.clone()
        };
        Ok(logs.iter().map(times).collect())
    }

    /// Waits for the writers, whose server is gone: what was acknowledged, what had begun.
    pub(crate) fn killed(mut self) -> Result<(Vec<u64>, Vec<u64>), String> {
        for thread in self.threads.drain(..) {
            thread.join().map_err(|_| "a writer panicked")??;
        }
        Ok((self.acknowledged(), self.begun()))
    }
}

fn work(
    client: &mut Client,
    writer: usize,
    (log, is_over, clock): (&Log, &AtomicBool, &AtomicU64),
) -> Result<(), String> {
    let mut n = log.begun.load(Ordering::SeqCst);
    while !is_over.load(Ordering::SeqCst) {
        log.begun.store(n + 1, Ordering::SeqCst);
        let began = clock.fetch_add(1, Ordering::SeqCst);
        match write(client, writer, n) {
            Ok(()) => {
                n += 1;
                let acknowledged = clock.fetch_add(1, Ordering::SeqCst);
                let mut times = log.times.lock().unwrap_or_else(PoisonError::into_inner);
                times.push(Times {
                    began,
                    acknowledged,
                });
                log.acknowledged.store(n, Ordering::SeqCst);
            }
            Err(Failure::Lost(_)) => return Ok(()),
            // Somebody else had the account: the same write again.
            Err(Failure::Server {
                errno: 1213 | 1205, ..
            }) => match client.execute("ROLLBACK") {
                Err(Failure::Lost(_)) => return Ok(()),
                other => drop(other),
            },
            Err(failure) => return Err(format!("writer {writer}, write {n}: {failure}")),
        }
    }
    Ok(())
}

fn is_transfer(n: u64) -> bool {
    n % 4 == 3
}

fn parties(writer: usize, n: u64) -> (u64, u64) {
    let giver = (writer as u64 + n) % ACCOUNTS;
    (giver, (giver + 1 + n % (ACCOUNTS - 1)) % ACCOUNTS)
}

fn text_of(writer: usize, n: u64) -> String {
    format!("writer {writer} did write {n} of many")
}

fn write(client: &mut Client, writer: usize, n: u64) -> Result<(), Failure> {
    if WRITERS <= writer {
        return wide::write(client, writer, n);
    }
    let row = format!(
        "INSERT INTO done VALUES ({writer}, {n}, '{}')",
        text_of(writer, n)
    );
    if !is_transfer(n) {
        return client.execute(&row).map(drop);
    }
    let (giver, taker) = parties(writer, n);
    client.execute("BEGIN")?;
    client.execute(&format!(
        "UPDATE accounts SET balance = balance - 1 WHERE id = {giver}"
    ))?;
    client.execute(&row)?;
    client.execute(&format!(
        "UPDATE accounts SET balance = balance + 1 WHERE id = {taker}"
    ))?;
    client.execute("COMMIT").map(drop)
}

fn next_of(client: &mut Client, writer: usize) -> Result<u64, String> {
    if WRITERS <= writer {
        return wide::found(client, writer);
    }
    let sql = format!("SELECT COUNT(*) FROM done WHERE w = {writer}");
    let rows = client.rows(&sql).map_err(|e| e.to_string())?;
    let count = rows.first().and_then(|row| row[0].as_deref()?.parse().ok());
    count.ok_or_else(|| format!("{sql}: {rows:?}"))
}

/// Whether so many writes of each writer are a state that there was: when the last of one writer's began,
/// each other writer's that had been acknowledged by then was there already.
pub(crate) fn expect_state(times: &[Vec<Times>], found: &[u64]) -> Result<(), String> {
    let found: Vec<usize> = found
        .iter()
        .map(|count| usize::try_from(*count).unwrap_or(0))
        .collect();
    for (one, count) in found.iter().enumerate() {
        // The last may have been acknowledged after the writers were told to end.
        let Some(last) = times[one].get(..*count).and_then(<[Times]>::last) else {
            continue;
        };
        for (other, there) in found.iter().enumerate() {
            let next = times[other].get(*there);
            if next.is_some_and(|next| next.acknowledged < last.began) {
                return Err(format!(
                    "write {} of writer {one} is there, and write {there} of writer {other} is not, which \
                     had been acknowledged before",
                    count - 1
                ));
            }
        }
    }
    Ok(())
}

/// Holds a server to the log: every write of each writer up to some number, at least those that were
/// acknowledged and at most those that had begun, and nothing else. How many there are of each.
pub(crate) fn verify(
    client: &mut Client,
    acknowledged: &[u64],
    begun: &[u64],
) -> Result<Vec<u64>, String> {
    let told = |e: Failure| e.to_string();
    client.execute(&format!("USE {DATABASE}")).map_err(told)?;
    let mut counts = Vec::new();
    let mut balances = vec![BALANCE; usize::try_from(ACCOUNTS).unwrap_or_default()];
    for writer in 0..WRITERS {
        let sql = format!("SELECT n, t FROM done WHERE w = {writer} ORDER BY n");
        let rows = client.rows(&sql).map_err(told)?;
        for (row, n) in rows.iter().zip(0..) {
            let expected = [Some(n.to_string()), Some(text_of(writer, n))];
            if *row != expected {
                return Err(format!(
                    "writer {writer}: {row:?} in the place of write {n}"
                ));
            }
            if is_transfer(n) {
                let (giver, taker) = parties(writer, n);
                balances[usize::try_from(giver).unwrap_or_default()] -= 1;
                balances[usize::try_from(taker).unwrap_or_default()] += 1;
            }
        }
        counts.push(rows.len() as u64);
    }
    for writer in WRITERS..ALL_WRITERS {
        counts.push(wide::found(client, writer)?);
    }
    for (writer, found) in counts.iter().enumerate() {
        let (least, most) = (acknowledged[writer], begun[writer]);
        if !(least..=most).contains(found) {
            return Err(format!(
                "writer {writer}: {found} writes, not {least} to {most}"
            ));
        }
    }
    for (id, expected) in balances.iter().enumerate() {
        let sql = format!("SELECT balance FROM accounts WHERE id = {id}");
        let rows = client.rows(&sql).map_err(told)?;
        if rows != [[Some(expected.to_string())]] {
            return Err(format!(
                "account {id} has {rows:?}, by the transfers {expected}"
            ));
        }
    }
    let mut tables = wide::tables(counts[wide::DEFINITIONS]);
    tables.extend(["done".to_owned(), "accounts".to_owned()]);
    check_tables(client, &tables)?;
    Ok(counts)
}

/// CHECK TABLE compares every index, once those that a kill has left half built are built.
fn check_tables(client: &mut Client, tables: &[String]) -> Result<(), String> {
    let sql = format!("CHECK TABLE {}", tables.join(", "));
    let deadline = Instant::now() + BUILT_MAX;
    loop {
        let rows = client.rows(&sql).map_err(|e| e.to_string())?;
        if rows.len() == tables.len() && rows.iter().all(|row| row[3].as_deref() == Some("OK")) {
            return Ok(());
        }
        let is_building = |row: &Vec<Option<String>>| {
            let text = row[3].as_deref();
            text.is_some_and(|text| text.ends_with("is BUILDING: not compared"))
        };
        if !rows.iter().any(is_building) || Instant::now() > deadline {
            return Err(format!("CHECK TABLE says {rows:?}"));
        }
        thread::sleep(BETWEEN_CHECKS);
    }
}

/// Refuses a run in which too little was written to show anything: for so many backups, so many writes.
pub(crate) fn expect_load(times: &[Vec<Times>], backups: usize) -> Result<(), String> {
    let counts: Vec<usize> = times.iter().map(Vec::len).collect();
    let is_enough = counts.iter().all(|count| backups * WRITES_MIN <= *count)
        && backups * ALL_WRITES_MIN <= counts.iter().sum();
    is_enough
        .then_some(())
        .ok_or_else(|| format!("{counts:?} writes beside {backups} backups are no load"))
}
