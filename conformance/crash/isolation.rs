//! What transactions see of each other, at REPEATABLE READ, while the server is killed again and again.
//!
//! Two workloads of clients on the wire. In one they move money from a balance that they read with a plain
//! SELECT, and write back what they computed, and put and delete pairs of rows whose sum is nothing: the sum
//! stays, whenever anybody looks, at the table or at its index. In the other each transaction reads lists and
//! appends numbers to them, each number once; what it read and what became of it is held to snapshot isolation
//! ([`history`]). In both, clients roll some of what they wrote back.
//!
//! [`crate::committed`] does the same at the levels where each statement sees a state of its own.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use libtest_mimic::Trial;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Failure};
use crate::history::{self, End, List, Transaction};
use crate::{DATABASE, Ending, Rounds, connect, connect_bare, is_conflict, is_over, others, trial};

/// Rounds of the quick profile.
const QUICK: u64 = 6;
/// Rounds of one history: then the lists are empty again, since each read has a copy of one.
const EPOCH: u64 = 10;
const CLIENTS: u64 = 6;
pub(crate) const KEYS: u64 = 5;
const BALANCE: i64 = 1000;
const SUM: &str = "SELECT SUM(balance) FROM balances WHERE id >= 0";
const SUM_BY_INDEX: &str =
    "SELECT SUM(balance) FROM balances FORCE INDEX (by_balance) WHERE balance >= -1000000000";
/// Pairs of rows beside the balances: two rows that lie behind each other, from this id on.
const PAIRS: u64 = 4;
const FIRST_PAIR: u64 = 100;
/// What a run must come to in each of its rounds, on average: else it shows nothing.
const COMMITTED_MIN: usize = 10;
const SUMS_MIN: u64 = 2;
/// What part of the transactions is rolled back by the client.
const TAKEN_BACK: f64 = 0.1;
const ROUND_MS: std::ops::Range<u64> = 150..500;

/// A level, and what clients do at it.
pub(crate) struct Level {
    /// What it is called; each client sets one of these.
    pub(crate) names: &'static [&'static str],
    /// Adds to a balance.
    pub(crate) add: fn(&mut Client, (u64, i64)) -> Result<(), Failure>,
    /// The sum of all balances, as a transaction sees it.
    pub(crate) sum: fn(&mut Client) -> Result<i64, Failure>,
    /// Reads a list, or some.
    pub(crate) read: fn(&mut Client, &mut StdRng, Noting<'_>) -> Result<(), Failure>,
}

const SNAPSHOTS: Level = Level {
    names: &["REPEATABLE READ"],
    add,
    sum,
    read,
};

/// Where a client of lists notes what it does, and the time of all.
pub(crate) type Noting<'a> = (&'a mut Attempt, &'a AtomicU64);

/// A transaction that is tried.
pub(crate) struct Attempt {
    pub(crate) transaction: Transaction,
    /// Its statements, where each reads a state of its own. One without an end counts if the transaction does.
    pub(crate) statements: Vec<Transaction>,
    /// How many reads it made before it wrote, and when the last of them was over.
    before_writes: (usize, u64),
}

impl Attempt {
    /// What it has appended to a list.
    pub(crate) fn own(&self, key: u64) -> List {
        let own = self.transaction.appends.iter().filter(|one| one.0 == key);
        own.map(|one| one.1).collect()
    }

    /// What it did, now that its end is known, or known to be unknown. What it read before it wrote is a snapshot
    /// also where it was refused.
    fn into_history(self, end: End, ended: u64) -> Vec<Transaction> {
        let mut all = self.statements;
        for statement in all.iter_mut().filter(|one| one.end == End::Unknown) {
            statement.end = end;
        }
        let (count, read_at) = self.before_writes;
        if end != End::Committed && 0 < count {
            all.push(Transaction {
                reads: self.transaction.reads.iter().take(count).cloned().collect(),
                appends: Vec::new(),
                began: self.transaction.began,
                ended: read_at,
                end: End::Committed,
            });
        }
        all.push(Transaction {
            ended,
            end,
            ..self.transaction
        });
        all
    }
}

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let of = |ending: Ending| {
        trial(
            format!("{ending}_isolation_is_of_snapshots"),
            (ending, others(QUICK)),
            |rounds| run(rounds, &SNAPSHOTS),
        )
    };
    vec![of(Ending::Kill), of(Ending::Power)]
}

/// Runs all rounds at a level.
pub(crate) fn run(rounds: &Rounds, level: &'static Level) -> Result<String, String> {
    let mut random = StdRng::seed_from_u64(rounds.seed);
    let clock = Arc::new(AtomicU64::new(1));
    let mut history = Vec::new();
    let (mut committed, mut refused, mut taken_back, mut sums) = (0, 0, 0, 0);
    let mut server = rounds.start()?;
    make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    for round in 1..=rounds.count {
        let told = |e| format!("round {round}: {e}");
        let begun = history.len();
        let clients = start(&server.address, (level, &mut random), &clock)?;
        thread::sleep(Duration::from_millis(random.random_range(ROUND_MS)));
        rounds.end(&server)?;
        for (lister, teller) in clients {
            history.extend(joined(lister).map_err(told)?);
            sums += joined(teller).map_err(told)?;
        }
        server = rounds.start()?;
        let mut client = connect(&server.address)?;
        check_sum(&mut client).map_err(told)?;
        let lists = read_lists(&mut client).map_err(|e| told(e.to_string()))?;
        history::check(&mut history, &lists, &clock).map_err(told)?;
        let count = |end| {
            history
                .iter()
                .skip(begun)
                .filter(|one| one.end == end)
                .count()
        };
        committed += count(End::Committed);
        refused += count(End::Refused);
        taken_back += count(End::TakenBack);
        if round % EPOCH == 0 {
            history.clear();
            empty_lists(&mut client).map_err(|e| told(e.to_string()))?;
        }
    }
    let rounds_count = usize::try_from(rounds.count).unwrap_or(usize::MAX);
    let has_none = refused == 0 || taken_back == 0;
    if committed < COMMITTED_MIN * rounds_count || has_none || sums < SUMS_MIN * rounds.count {
        return Err(format!(
            "{committed} were committed, {refused} refused, {taken_back} rolled back, and {sums} sums looked at: \
             too little to show anything"
        ));
    }
    Ok(format!(
        "{committed} transactions and statements of lists were committed, {refused} were refused, {taken_back} \
         rolled back; the sum of balances was looked at {sums} times"
    ))
}

/// A client of lists and what it noted, and one that moves money and how often it looked at the sum.
type Pair = (
    JoinHandle<Result<Vec<Transaction>, String>>,
    JoinHandle<Result<u64, String>>,
);

fn start(
    address: &str,
    (level, random): (&'static Level, &mut StdRng),
    clock: &Arc<AtomicU64>,
) -> Result<Vec<Pair>, String> {
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let (lister, teller) = (
            connect_at(address, (level, &mut *random))?,
            connect_at(address, (level, &mut *random))?,
        );
        let (for_lister, for_teller) = (StdRng::from_rng(random), StdRng::from_rng(random));
        let clock = Arc::clone(clock);
        clients.push((
            thread::spawn(move || list(lister, for_lister, (level, &clock))),
            thread::spawn(move || transfer(teller, for_teller, level)),
        ));
    }
    Ok(clients)
}

/// A connection at a level.
fn connect_at(address: &str, (level, random): (&Level, &mut StdRng)) -> Result<Client, String> {
    let mut client = connect(address)?;
    let name = level.names.choose(random).ok_or("a level has a name")?;
    let set = client.execute(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {name}"));
    set.map_err(|error| error.to_string())?;
    Ok(client)
}

fn joined<T>(thread: JoinHandle<Result<T, String>>) -> Result<T, String> {
    thread.join().map_err(|_| "a client panicked".to_owned())?
}

fn make_tables(client: &mut Client) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    client.execute(&format!("USE {DATABASE}"))?;
    client.execute(
        "CREATE TABLE balances (id INT PRIMARY KEY, balance BIGINT NOT NULL, KEY by_balance (balance))",
    )?;
    client.execute("CREATE TABLE lists (k INT PRIMARY KEY, v LONGTEXT NOT NULL)")?;
    for key in 0..KEYS {
        client.execute(&format!("INSERT INTO balances VALUES ({key}, {BALANCE})"))?;
        client.execute(&format!("INSERT INTO lists VALUES ({key}, '')"))?;
    }
    Ok(())
}

/// Moves money until the server is gone; how often the sum was looked at.
fn transfer(mut client: Client, mut random: StdRng, level: &Level) -> Result<u64, String> {
    let mut sums = 0;
    loop {
        match transfer_once(&mut client, &mut random, level) {
            Ok(None) => {}
            Ok(Some(sum)) if sum == expected_sum() => sums += 1,
            Ok(Some(sum)) => return Err(format!("a transaction saw the sum {sum}")),
            Err(failure) if is_over(&failure) => return Ok(sums),
            Err(failure) if is_conflict(&failure) => {
                let back = client.execute("ROLLBACK");
                if back.is_err_and(|failure| is_over(&failure)) {
                    return Ok(sums);
                }
            }
            Err(failure) => return Err(failure.to_string()),
        }
    }
}

fn expected_sum() -> i64 {
    BALANCE * i64::try_from(KEYS).unwrap_or(0)
}

/// A transfer, a pair that comes or goes, or a look at the sum.
fn transfer_once(
    client: &mut Client,
    random: &mut StdRng,
    level: &Level,
) -> Result<Option<i64>, Failure> {
    client.execute("BEGIN")?;
    if random.random_bool(0.3) {
        let sum = (level.sum)(client)?;
        client.execute("COMMIT")?;
        return Ok(Some(sum));
    }
    if random.random_bool(0.2) {
        change_pair(client, random)?;
        client.execute("COMMIT")?;
        return Ok(None);
    }
    let giver = random.random_range(0..KEYS);
    let taker = (giver + random.random_range(1..KEYS)) % KEYS;
    let amount = random.random_range(1..50);
    (level.add)(client, (giver, -amount))?;
    if random.random_bool(TAKEN_BACK) {
        // Whoever saw this half of it would see another sum.
        client.execute("ROLLBACK")?;
        return Ok(None);
    }
    (level.add)(client, (taker, amount))?;
    client.execute("COMMIT")?;
    Ok(None)
}

/// Puts a pair of rows, one after the other, or deletes one.
fn change_pair(client: &mut Client, random: &mut StdRng) -> Result<(), Failure> {
    let one = FIRST_PAIR + 2 * random.random_range(0..PAIRS);
    let other = one + 1;
    if random.random_bool(0.4) {
        let sql = format!("DELETE FROM balances WHERE id IN ({one}, {other})");
        return client.execute(&sql).map(drop);
    }
    let amount: i64 = random.random_range(1..1_000_000);
    for (id, amount) in [(one, amount), (other, -amount)] {
        client.execute(&format!("UPSERT INTO balances VALUES ({id}, {amount})"))?;
    }
    Ok(())
}

/// Adds to a balance that it reads first.
fn add(client: &mut Client, (key, change): (u64, i64)) -> Result<(), Failure> {
    let before = format!("SELECT balance FROM balances WHERE id = {key}");
    let after = balance(client, &before)? + change;
    let sql = format!("UPDATE balances SET balance = {after} WHERE id = {key}");
    client.execute(&sql).map(drop)
}

/// Looks at the balances one by one, and at the sum of all rows once more at the end.
fn sum(client: &mut Client) -> Result<i64, Failure> {
    let mut sum = 0;
    for key in 0..KEYS {
        let one = format!("SELECT balance FROM balances WHERE id = {key}");
        sum += balance(client, &one)?;
    }
    let again = sums(client)?;
    Ok(if sum == again { sum } else { i64::MIN })
}

/// The sum of all rows by the table and by its index, where these agree.
pub(crate) fn sums(client: &mut Client) -> Result<i64, Failure> {
    let (sum, by_index) = (balance(client, SUM)?, balance(client, SUM_BY_INDEX)?);
    Ok(if sum == by_index { sum } else { i64::MIN })
}

fn balance(client: &mut Client, sql: &str) -> Result<i64, Failure> {
    let rows = client.rows(sql)?;
    let cell = rows.first().and_then(|row| row.first().cloned().flatten());
    Ok(cell.and_then(|text| text.parse().ok()).unwrap_or(i64::MIN))
}

fn empty_lists(client: &mut Client) -> Result<(), Failure> {
    client
        .execute("UPDATE lists SET v = '' WHERE k >= 0")
        .map(drop)
}

fn check_sum(client: &mut Client) -> Result<(), String> {
    let sum = sums(client);
    match sum.map_err(|e| e.to_string())? {
        sum if sum == expected_sum() => Ok(()),
        sum => Err(format!(
            "the sum of balances is {sum}, and was {}",
            expected_sum()
        )),
    }
}

/// Reads and appends until the server is gone.
fn list(
    mut client: Client,
    mut random: StdRng,
    (level, clock): (&Level, &AtomicU64),
) -> Result<Vec<Transaction>, String> {
    let mut done = Vec::new();
    loop {
        let mut attempt = Attempt {
            transaction: Transaction::begun(clock),
            statements: Vec::new(),
            before_writes: (0, 0),
        };
        let tried = list_once(&mut client, &mut random, (level, &mut attempt, clock));
        let ended = history::now(clock);
        let (end, is_last) = match tried {
            Ok(end) => (end, false),
            Err(failure) if is_over(&failure) => (End::Unknown, true),
            Err(failure) if is_conflict(&failure) => {
                let back = client.execute("ROLLBACK");
                (End::Refused, back.is_err_and(|failure| is_over(&failure)))
            }
            Err(failure) => return Err(failure.to_string()),
        };
        done.extend(attempt.into_history(end, ended));
        if is_last {
            return Ok(done);
        }
    }
}

/// A transaction that reads and appends; whether it was committed or taken back.
fn list_once(
    client: &mut Client,
    random: &mut StdRng,
    (level, attempt, clock): (&Level, &mut Attempt, &AtomicU64),
) -> Result<End, Failure> {
    client.execute("BEGIN")?;
    for _ in 0..random.random_range(1..5) {
        if random.random_bool(0.5) {
            (level.read)(client, random, (&mut *attempt, clock))?;
        } else {
            append(client, random, (&mut *attempt, clock))?;
        }
    }
    if random.random_bool(TAKEN_BACK) {
        return client.execute("ROLLBACK").map(|_| End::TakenBack);
    }
    client.execute("COMMIT").map(|_| End::Committed)
}

/// Reads a list, as a part of its transaction.
fn read(
    client: &mut Client,
    random: &mut StdRng,
    (attempt, clock): Noting<'_>,
) -> Result<(), Failure> {
    let key = random.random_range(0..KEYS);
    let list = read_list(client, key)?;
    let before = without_own(key, &list, attempt)?;
    attempt.transaction.reads.push((key, before));
    if attempt.transaction.appends.is_empty() {
        attempt.before_writes = (attempt.transaction.reads.len(), history::now(clock));
    }
    Ok(())
}

/// Appends a number to a list.
fn append(
    client: &mut Client,
    random: &mut StdRng,
    (attempt, clock): Noting<'_>,
) -> Result<(), Failure> {
    let (key, number) = (random.random_range(0..KEYS), history::now(clock));
    let sql = format!("UPDATE lists SET v = CONCAT(v, '{number},') WHERE k = {key}");
    client.execute(&sql)?;
    attempt.transaction.appends.push((key, number));
    Ok(())
}

/// A list as it was before what the transaction has appended: that is always at its end.
pub(crate) fn without_own(key: u64, list: &[u64], attempt: &Attempt) -> Result<List, Failure> {
    let own = attempt.own(key);
    match list.strip_suffix(own.as_slice()) {
        Some(before) => Ok(before.to_vec()),
        None => Err(wrong(format!(
            "list {key} is {list:?} after {own:?} was appended"
        ))),
    }
}

/// An answer that nobody may get.
pub(crate) fn wrong(text: String) -> Failure {
    Failure::Server {
        errno: 0,
        state: String::new(),
        text,
    }
}

fn read_list(client: &mut Client, key: u64) -> Result<List, Failure> {
    let rows = client.rows(&format!("SELECT v FROM lists WHERE k = {key}"))?;
    let text = rows.first().and_then(|row| row.first().cloned().flatten());
    Ok(numbers_in(&text.unwrap_or_default()))
}

/// A list, from what the table has.
pub(crate) fn numbers_in(text: &str) -> List {
    let numbers = text.split_terminator(',');
    numbers.map(|number| number.parse().unwrap_or(0)).collect()
}

fn read_lists(client: &mut Client) -> Result<Vec<List>, Failure> {
    (0..KEYS).map(|key| read_list(client, key)).collect()
}
