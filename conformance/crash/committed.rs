//! What statements see at READ COMMITTED and READ UNCOMMITTED, while the server is killed again and again.
//!
//! Each statement reads one state of what was committed, none that is older than its beginning, and what its
//! own transaction has written. So the workloads are those of [`isolation`](crate::isolation), and each
//! SELECT of lists is a reader of its own in the history, also where its transaction was refused
//! afterwards: nothing is read that was not committed, and nobody sees a part of a transaction. Only what a transaction
//! reads when it has written counts if it was committed: until it is refused, it sees the rows that it has
//! written as they were when it wrote them.
//!
//! Money is moved by statements that read what they change; the sum that one statement sees stays.

use libtest_mimic::Trial;
use rand::rngs::StdRng;

use crate::client::{Client, Failure};
use crate::history::{End, Transaction, now};
use crate::isolation::{self, KEYS, Level, Noting, numbers_in, sums, without_own, wrong};
use crate::{Ending, others, trial};

/// Rounds of the quick profile.
const QUICK: u64 = 4;

const STATEMENTS: Level = Level {
    names: &["READ COMMITTED", "READ UNCOMMITTED"],
    add,
    sum: sums,
    read: read_all,
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

/// Adds to a balance, in one statement.
fn add(client: &mut Client, (key, change): (u64, i64)) -> Result<(), Failure> {
    let sql = format!("UPDATE balances SET balance = balance + {change} WHERE id = {key}");
    client.execute(&sql).map(drop)
}

/// All lists, in one statement.
fn read_all(
    client: &mut Client,
    _: &mut StdRng,
    (attempt, clock): Noting<'_>,
) -> Result<(), Failure> {
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
    attempt.statements.push(statement);
    Ok(())
}
