//! What statements see at READ COMMITTED and READ UNCOMMITTED, while the server is killed again and again.
//!
//! Each statement reads one state of what was committed, none that is older than its beginning, and what its
//! own transaction has written. So the workloads are those of [`isolation`](crate::isolation), and each
//! SELECT of lists is a reader of its own in the history, also where its transaction was refused
//! afterwards: nothing is read that was not committed, and nobody sees a part of a transaction. Only what a transaction
//! reads when it has written counts if it was committed: until it is refused, it sees the rows that it has
//! written as they were when it wrote them.
//!
//! Money is moved by statements that read what they change; the sum, in one statement, stays.

use std::sync::atomic::AtomicU64;

use libtest_mimic::Trial;
use rand::Rng;
use rand::rngs::StdRng;

use crate::client::{Client, Failure};
use crate::history::{End, Transaction, now};
use crate::isolation::{
    self, Attempt, KEYS, Level, Noting, append, balance, numbers_in, without_own, wrong,
};
use crate::{Ending, others, trial};

/// Rounds of the quick profile.
const QUICK: u64 = 4;

const STATEMENTS: Level = Level {
    names: &["READ COMMITTED", "READ UNCOMMITTED"],
    transfer_once,
    list_once,
};

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let of = |ending: Ending| {
        trial(
            format!("{ending}_isolation_of_statements_is_of_what_was_committed"),
            (ending, others(QUICK)),
            |rounds| isolation::run(rounds, &STATEMENTS),
        )
    };
    vec![of(Ending::Kill), of(Ending::Power)]
}

/// A transfer, or a look at the sum.
fn transfer_once(client: &mut Client, random: &mut StdRng) -> Result<Option<i64>, Failure> {
    client.execute("BEGIN")?;
    if random.random_bool(0.3) {
        let sum = balance(client, "SELECT SUM(balance) FROM balances WHERE id >= 0")?;
        client.execute("COMMIT")?;
        return Ok(Some(sum));
    }
    let giver = random.random_range(0..KEYS);
    let taker = (giver + random.random_range(1..KEYS)) % KEYS;
    let amount = random.random_range(1..50);
    for (key, change) in [(giver, -amount), (taker, amount)] {
        client.execute(&format!(
            "UPDATE balances SET balance = balance + {change} WHERE id = {key}"
        ))?;
    }
    client.execute("COMMIT")?;
    Ok(None)
}

fn list_once(
    client: &mut Client,
    random: &mut StdRng,
    (attempt, clock): Noting<'_>,
) -> Result<(), Failure> {
    client.execute("BEGIN")?;
    for _ in 0..random.random_range(1..5) {
        if random.random_bool(0.5) {
            let statement = read_all(client, (&*attempt, clock))?;
            attempt.statements.push(statement);
        } else {
            append(client, random, (&mut *attempt, clock))?;
        }
    }
    client.execute("COMMIT").map(drop)
}

/// All lists, in one statement.
fn read_all(
    client: &mut Client,
    (attempt, clock): (&Attempt, &AtomicU64),
) -> Result<Transaction, Failure> {
    let mut statement = Transaction::begun(clock);
    let rows = client.rows("SELECT v FROM lists WHERE k >= 0 ORDER BY k")?;
    statement.ended = now(clock);
    for (key, row) in (0..).zip(rows) {
        let text = row.into_iter().next().flatten().unwrap_or_default();
        let before = without_own(key, &numbers_in(&text), attempt)?;
        statement.reads.push((key, before));
    }
    if (0..KEYS).ne(statement.reads.iter().map(|read| read.0)) {
        return Err(wrong(format!(
            "of {KEYS} lists these were read: {statement:?}"
        )));
    }
    if attempt.transaction.appends.is_empty() {
        statement.end = End::Committed;
    }
    Ok(statement)
}
