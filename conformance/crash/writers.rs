//! The writers: each does one kind of write, over and over, until its connection breaks, and says
//! what was acknowledged and what was under way.
//!
//! | job | statement | what must hold after a restart |
//! |---|---|---|
//! | [`Job::Single`] | INSERT of one row | rows 0..n, the one under way or not |
//! | [`Job::Multi`] | INSERT of [`PARTS`] rows | batches 0..n, each whole |
//! | [`Job::Upsert`] | UPSERT of one of two columns | each key's last values, the other column kept |
//! | [`Job::Count`] | `UPDATE … SET n = n + 1`, the same rows by all | no increment lost or doubled |
//! | [`Job::Transfer`] | a transaction: two UPDATEs and an INSERT | the sum of balances, all or nothing |
//! | [`Job::Bulk`] | REPLACE of one of a few long rows, so that journals come and go | each key's last row |

use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::client::{Client, Failure};
use crate::oracle::Oracle;
use crate::server::Server;
use crate::{DATABASE, Rounds, connect, is_conflict, is_in_doubt, is_over};

/// Rows of one multi-row INSERT.
pub(crate) const PARTS: u64 = 10;
/// Rows each UPSERT writer goes around; odd, so that both columns of each are met.
pub(crate) const UPSERT_KEYS: u64 = 7;
/// Shared counters.
pub(crate) const COUNTERS: u64 = 3;
/// Accounts, each of which starts with [`BALANCE`].
pub(crate) const ACCOUNTS: u64 = 8;
/// Long rows each [`Job::Bulk`] writer goes around, and how long they are.
pub(crate) const BULK_KEYS: u64 = 7;
pub(crate) const BULK_BYTES: u64 = 200_000;
/// The first balance of an account.
pub(crate) const BALANCE: u64 = 1000;

/// What a writer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Job {
    Single,
    Multi,
    Upsert,
    Count,
    Transfer,
    Bulk,
}

/// All writers: their job, and their number within it.
pub(crate) const WRITERS: [(Job, u64); 13] = [
    (Job::Single, 0),
    (Job::Single, 1),
    (Job::Single, 2),
    (Job::Multi, 0),
    (Job::Multi, 1),
    (Job::Upsert, 0),
    (Job::Upsert, 1),
    (Job::Count, 0),
    (Job::Count, 1),
    (Job::Count, 2),
    (Job::Transfer, 0),
    (Job::Transfer, 1),
    (Job::Bulk, 0),
];

/// What one writer did in one round: writes are numbered on from `first`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Log {
    pub(crate) job: Job,
    pub(crate) writer: u64,
    /// The number of the first write of the round.
    pub(crate) first: u64,
    /// Every write below this number was acknowledged.
    pub(crate) next: u64,
    /// Whether the next one may have taken place all the same.
    pub(crate) in_doubt: bool,
}

/// Makes the database and what the writers find in it.
pub(crate) fn make_tables(client: &mut Client) -> Result<(), Failure> {
    let mut statements = vec![
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
        "CREATE TABLE singles (writer INT, seq BIGINT, v VARCHAR(40), PRIMARY KEY (writer, seq), \
         INDEX newest (writer, seq DESC) INCLUDE (v)) COMPRESSION='zstd'"
            .to_owned(),
        "CREATE TABLE multis (writer INT, batch BIGINT, part INT, v VARCHAR(40), \
         PRIMARY KEY (writer, batch, part), INDEX newest (writer, batch DESC, part) INCLUDE (v))"
            .to_owned(),
        "CREATE TABLE upserts (writer INT, k BIGINT, a BIGINT, b BIGINT, PRIMARY KEY (writer, k), \
         INDEX by_a (a) INCLUDE (b), UNIQUE INDEX by_b (writer, b))"
            .to_owned(),
        "CREATE TABLE counters (id INT PRIMARY KEY, n BIGINT NOT NULL, INDEX by_n (n))".to_owned(),
        "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, INDEX by_balance (balance))".to_owned(),
        "CREATE TABLE transfers (writer INT, seq BIGINT, giver INT, taker INT, \
         PRIMARY KEY (writer, seq), INDEX newest (writer, seq DESC) INCLUDE (giver, taker))"
            .to_owned(),
        "CREATE TABLE bulks (writer INT, k BIGINT, seq BIGINT, v LONGTEXT, PRIMARY KEY (writer, k), \
         UNIQUE INDEX by_seq (writer, seq)) COMPRESSION='zstd'"
            .to_owned(),
    ];
    statements.extend((0..COUNTERS).map(|id| format!("INSERT INTO counters VALUES ({id}, 0)")));
    statements
        .extend((0..ACCOUNTS).map(|id| format!("INSERT INTO accounts VALUES ({id}, {BALANCE})")));
    for sql in statements {
        client.execute(&sql)?;
    }
    Ok(())
}

/// Lets all writers work for a while, ends the server, and gathers their logs.
pub(crate) fn run_until_ended(
    (rounds, server): (&Rounds, &Server),
    time: Duration,
    oracle: &Oracle,
) -> Result<Vec<Log>, String> {
    let threads = start(server, oracle)?;
    thread::sleep(time);
    // The disk is well, and the server has not been ended yet.
    if threads.iter().any(JoinHandle::is_finished) {
        rounds.end_here(server)?;
        join(threads)?;
        let log = rounds.log();
        return Err(format!("a writer ended before its server: {log}"));
    }
    rounds.end(server)?;
    join(threads)
}

/// A writer at work.
pub(crate) type Writer = JoinHandle<Result<Log, String>>;

/// Starts all writers.
pub(crate) fn start(server: &Server, oracle: &Oracle) -> Result<Vec<Writer>, String> {
    let mut threads = Vec::new();
    for (job, writer) in WRITERS {
        let client = connect(&server.address)?;
        let first = oracle.next(job, writer);
        threads.push(thread::spawn(move || work(client, job, writer, first)));
    }
    Ok(threads)
}

/// Waits for the writers, whose server is gone or lost its disk.
pub(crate) fn join(threads: Vec<Writer>) -> Result<Vec<Log>, String> {
    let join = |thread: Writer| thread.join().map_err(|_| "a writer panicked".to_owned())?;
    threads.into_iter().map(join).collect()
}

/// Writes until the connection breaks; any other error is a failure of the test.
fn work(mut client: Client, job: Job, writer: u64, first: u64) -> Result<Log, String> {
    let mut log = Log {
        job,
        writer,
        first,
        next: first,
        in_doubt: false,
    };
    loop {
        match write(&mut client, job, writer, log.next) {
            Ok(()) => log.next += 1,
            Err(failure) if is_over(&failure) => {
                log.in_doubt = is_in_doubt(&failure);
                return Ok(log);
            }
            Err(failure) if is_conflict(&failure) => {
                // Not acknowledged and, the server says, not done: the same write again.
                let back = client.execute("ROLLBACK");
                if back.is_err_and(|failure| is_over(&failure)) {
                    return Ok(log);
                }
            }
            Err(failure) => {
                let next = log.next;
                return Err(format!("{job:?} writer {writer}, write {next}: {failure}"));
            }
        }
    }
}

fn write(client: &mut Client, job: Job, writer: u64, seq: u64) -> Result<(), Failure> {
    match job {
        Job::Single => client
            .execute(&format!(
                "INSERT INTO singles VALUES ({writer}, {seq}, '{}')",
                text_of(writer, seq)
            ))
            .map(|_| ()),
        Job::Multi => {
            let rows: Vec<String> = (0..PARTS)
                .map(|part| format!("({writer}, {seq}, {part}, '{}')", text_of(writer, seq)))
                .collect();
            client
                .execute(&format!("INSERT INTO multis VALUES {}", rows.join(", ")))
                .map(|_| ())
        }
        Job::Upsert => {
            let column = if seq.is_multiple_of(2) { "a" } else { "b" };
            let key = seq % UPSERT_KEYS;
            client
                .execute(&format!(
                    "UPSERT INTO upserts (writer, k, {column}) VALUES ({writer}, {key}, {seq})"
                ))
                .map(|_| ())
        }
        Job::Count => client
            .execute(&format!(
                "UPDATE counters SET n = n + 1 WHERE id = {}",
                seq % COUNTERS
            ))
            .map(|_| ()),
        Job::Transfer => transfer(client, writer, seq),
        Job::Bulk => client
            .execute(&format!(
                "REPLACE INTO bulks VALUES ({writer}, {}, {seq}, REPEAT('{}', {BULK_BYTES}))",
                seq % BULK_KEYS,
                letter_of(seq)
            ))
            .map(|_| ()),
    }
}

fn transfer(client: &mut Client, writer: u64, seq: u64) -> Result<(), Failure> {
    let (giver, taker) = parties(writer, seq);
    client.execute("BEGIN")?;
    client.execute(&format!(
        "UPDATE accounts SET balance = balance - 1 WHERE id = {giver}"
    ))?;
    client.execute(&format!(
        "UPDATE accounts SET balance = balance + 1 WHERE id = {taker}"
    ))?;
    client.execute(&format!(
        "INSERT INTO transfers VALUES ({writer}, {seq}, {giver}, {taker})"
    ))?;
    client.execute("COMMIT").map(|_| ())
}

/// Who pays whom; never the same account.
pub(crate) fn parties(writer: u64, seq: u64) -> (u64, u64) {
    let giver = (writer * 3 + seq) % ACCOUNTS;
    (giver, (giver + 1 + seq % (ACCOUNTS - 1)) % ACCOUNTS)
}

/// What a long row is made of.
pub(crate) fn letter_of(seq: u64) -> char {
    u32::try_from(seq % 26)
        .ok()
        .and_then(|letter| char::from_u32(u32::from('a') + letter))
        .unwrap_or('?')
}

/// The text that belongs to a numbered write.
pub(crate) fn text_of(writer: u64, seq: u64) -> String {
    format!("writer {writer} of all, write {seq} of all")
}
