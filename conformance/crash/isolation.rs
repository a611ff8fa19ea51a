//! What transactions see of each other, at REPEATABLE READ, while the server is killed again and again.
//!
//! Two workloads of clients on the wire. In one they move money from a balance that they read with a plain
//! SELECT, and write back what they computed: the sum stays, whenever anybody looks. In the other each
//! transaction reads lists and appends numbers to them, each number once; what it read and what became
//! of it goes to [`History`], which is held to snapshot isolation:
//!
//! - what was acknowledged is in the final lists, once and in whole transactions; what was refused is
//!   not (no lost update, no dirty write);
//! - every list that was read begins the final one (no read of what was not committed);
//! - no reader sees a part of a transaction, or a state between (no read skew): the order *wrote the
//!   version that the other overwrote or read*, with what began after it had been acknowledged, and each
//!   of these followed by at most one *read what the other overwrote*, has no cycle. Lists tell their
//!   whole order of versions, so that is all of snapshot isolation (Cerone, Gotsman: Analysing Snapshot
//!   Isolation, 2018, theorem 10).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use libtest_mimic::Trial;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Failure};
use crate::{DATABASE, Ending, Rounds, connect, connect_bare, is_conflict, is_over, others, trial};

/// Rounds of the quick profile.
const QUICK: u64 = 6;
const CLIENTS: u64 = 6;
const KEYS: u64 = 5;
const BALANCE: i64 = 1000;
const ROUND_MS: std::ops::Range<u64> = 150..500;

/// A list, as the table has it: numbers with commas.
type List = Vec<u64>;

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Committed,
    Refused,
    Unknown,
}

/// One transaction of the second workload.
#[derive(Debug, Clone)]
struct Transaction {
    /// By key: what it read first, before its own numbers.
    reads: Vec<(u64, List)>,
    appends: Vec<(u64, u64)>,
    began: u64,
    ended: u64,
    end: End,
}

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let of = |ending: Ending| {
        trial(
            format!("{ending}_isolation_is_of_snapshots"),
            (ending, others(QUICK)),
            run,
        )
    };
    let known = Trial::test("isolation_that_is_none_is_told", || {
        anomalies().map_err(libtest_mimic::Failed::from)
    });
    vec![of(Ending::Kill), of(Ending::Power), known]
}

/// Histories that no snapshots allow, each of which must be told, beside one that they allow.
fn anomalies() -> Result<(), String> {
    let one = |reads: &[(u64, &[u64])], appends: &[(u64, u64)], (began, ended)| Transaction {
        reads: reads
            .iter()
            .map(|(key, list)| (*key, list.to_vec()))
            .collect(),
        appends: appends.to_vec(),
        began,
        ended,
        end: End::Committed,
    };
    let of = |all: &[Transaction], lists: &[&[u64]]| {
        let lists: Vec<List> = lists.iter().map(|list| list.to_vec()).collect();
        History::of(all, &lists).and_then(|history| history.check())
    };
    // Each reads what the other writes: write skew, which snapshots allow.
    let skewed = [
        one(&[(0, &[])], &[(1, 1)], (1, 4)),
        one(&[(1, &[])], &[(0, 2)], (2, 3)),
    ];
    of(&skewed, &[&[2], &[1]])?;
    let both = [
        one(&[], &[(0, 1), (1, 2)], (1, 4)),
        one(&[(0, &[1]), (1, &[])], &[], (2, 3)),
    ];
    let lost = [
        one(&[(0, &[])], &[(0, 1)], (1, 4)),
        one(&[(0, &[])], &[(0, 2)], (2, 3)),
    ];
    let late = [one(&[], &[(0, 1)], (1, 2)), one(&[(0, &[])], &[], (3, 4))];
    let forked = [
        one(&[], &[(0, 1)], (1, 8)),
        one(&[], &[(1, 2)], (2, 7)),
        one(&[(0, &[1]), (1, &[])], &[], (3, 6)),
        one(&[(0, &[]), (1, &[2])], &[], (4, 5)),
    ];
    for (what, found) in [
        ("a part of a transaction is read", of(&both, &[&[1], &[2]])),
        ("an update that is lost", of(&lost, &[&[1, 2]])),
        (
            "what was acknowledged before is not read",
            of(&late, &[&[1]]),
        ),
        ("two readers see two orders", of(&forked, &[&[1], &[2]])),
        ("what was refused is read", of(&late[1..], &[&[1]])),
        ("what was acknowledged is not there", of(&late[..1], &[&[]])),
    ] {
        if found.is_ok() {
            return Err(format!("not told: {what}"));
        }
    }
    Ok(())
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let mut random = StdRng::seed_from_u64(rounds.seed);
    let clock = Arc::new(AtomicU64::new(1));
    let mut history = Vec::new();
    let mut sums = 0;
    let mut server = rounds.start()?;
    make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    for round in 1..=rounds.count {
        let told = |e| format!("round {round}: {e}");
        let mut listers = Vec::new();
        let mut tellers = Vec::new();
        for _ in 0..CLIENTS {
            let clients = (connect(&server.address)?, connect(&server.address)?);
            let (lister, teller) = (StdRng::from_rng(&mut random), StdRng::from_rng(&mut random));
            let clock = Arc::clone(&clock);
            listers.push(thread::spawn(move || list(clients.0, lister, &clock)));
            tellers.push(thread::spawn(move || transfer(clients.1, teller)));
        }
        thread::sleep(Duration::from_millis(random.random_range(ROUND_MS)));
        rounds.end(&server)?;
        for lister in listers {
            history.extend(joined(lister).map_err(told)?);
        }
        for teller in tellers {
            sums += joined(teller).map_err(told)?;
        }
        server = rounds.start()?;
        let mut client = connect(&server.address)?;
        check_sum(&mut client).map_err(told)?;
        let lists = read_lists(&mut client).map_err(|e| told(e.to_string()))?;
        settle(&mut history, &lists, &clock);
        History::of(&history, &lists)
            .and_then(|history| history.check())
            .map_err(told)?;
    }
    let count = |end| history.iter().filter(|one| one.end == end).count();
    Ok(format!(
        "{} transactions of lists committed, {} were refused; the sum of balances was looked at {sums} \
         times",
        count(End::Committed),
        count(End::Refused)
    ))
}

fn joined<T>(thread: JoinHandle<Result<T, String>>) -> Result<T, String> {
    thread.join().map_err(|_| "a client panicked".to_owned())?
}

fn make_tables(client: &mut Client) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    client.execute(&format!("USE {DATABASE}"))?;
    client.execute("CREATE TABLE balances (id INT PRIMARY KEY, balance BIGINT NOT NULL)")?;
    client.execute("CREATE TABLE lists (k INT PRIMARY KEY, v LONGTEXT NOT NULL)")?;
    for key in 0..KEYS {
        client.execute(&format!("INSERT INTO balances VALUES ({key}, {BALANCE})"))?;
        client.execute(&format!("INSERT INTO lists VALUES ({key}, '')"))?;
    }
    Ok(())
}

/// Moves money until the server is gone; how often the sum was looked at.
fn transfer(mut client: Client, mut random: StdRng) -> Result<u64, String> {
    let mut sums = 0;
    loop {
        match transfer_once(&mut client, &mut random) {
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

/// A transfer; or looks at the balances one by one, and at their sum once more at the end.
fn transfer_once(client: &mut Client, random: &mut StdRng) -> Result<Option<i64>, Failure> {
    client.execute("BEGIN")?;
    if random.random_bool(0.3) {
        let mut sum = 0;
        for key in 0..KEYS {
            sum += balance(
                client,
                &format!("SELECT balance FROM balances WHERE id = {key}"),
            )?;
        }
        let again = balance(client, "SELECT SUM(balance) FROM balances WHERE id >= 0")?;
        client.execute("COMMIT")?;
        return Ok(Some(if sum == again { sum } else { i64::MIN }));
    }
    let giver = random.random_range(0..KEYS);
    let taker = (giver + random.random_range(1..KEYS)) % KEYS;
    let amount = random.random_range(1..50);
    for (key, change) in [(giver, -amount), (taker, amount)] {
        let before = balance(
            client,
            &format!("SELECT balance FROM balances WHERE id = {key}"),
        )?;
        let after = before + change;
        client.execute(&format!(
            "UPDATE balances SET balance = {after} WHERE id = {key}"
        ))?;
    }
    client.execute("COMMIT")?;
    Ok(None)
}

fn balance(client: &mut Client, sql: &str) -> Result<i64, Failure> {
    let rows = client.rows(sql)?;
    let cell = rows.first().and_then(|row| row.first().cloned().flatten());
    Ok(cell.and_then(|text| text.parse().ok()).unwrap_or(i64::MIN))
}

fn check_sum(client: &mut Client) -> Result<(), String> {
    let sum = balance(client, "SELECT SUM(balance) FROM balances WHERE id >= 0");
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
    clock: &AtomicU64,
) -> Result<Vec<Transaction>, String> {
    let mut done = Vec::new();
    loop {
        let mut transaction = Transaction {
            reads: Vec::new(),
            appends: Vec::new(),
            began: clock.fetch_add(1, Ordering::SeqCst),
            ended: u64::MAX,
            end: End::Unknown,
        };
        let ended = list_once(&mut client, &mut random, (&mut transaction, clock));
        transaction.ended = clock.fetch_add(1, Ordering::SeqCst);
        match ended {
            Ok(()) => transaction.end = End::Committed,
            Err(failure) if is_over(&failure) => {
                done.push(transaction);
                return Ok(done);
            }
            Err(failure) if is_conflict(&failure) => {
                transaction.end = End::Refused;
                let back = client.execute("ROLLBACK");
                if back.is_err_and(|failure| is_over(&failure)) {
                    done.push(transaction);
                    return Ok(done);
                }
            }
            Err(failure) => return Err(failure.to_string()),
        }
        done.push(transaction);
    }
}

fn list_once(
    client: &mut Client,
    random: &mut StdRng,
    (transaction, clock): (&mut Transaction, &AtomicU64),
) -> Result<(), Failure> {
    client.execute("BEGIN")?;
    for _ in 0..random.random_range(1..5) {
        let key = random.random_range(0..KEYS);
        if random.random_bool(0.5) {
            let read = read_list(client, key)?;
            let own: Vec<u64> = transaction
                .appends
                .iter()
                .filter(|one| one.0 == key)
                .map(|one| one.1)
                .collect();
            let Some(before) = read.strip_suffix(own.as_slice()) else {
                let text = format!("list {key} is {read:?} after {own:?} was appended");
                return Err(Failure::Server {
                    errno: 0,
                    state: String::new(),
                    text,
                });
            };
            transaction.reads.push((key, before.to_vec()));
        } else {
            let number = clock.fetch_add(1, Ordering::SeqCst);
            let sql = format!("UPDATE lists SET v = CONCAT(v, '{number},') WHERE k = {key}");
            client.execute(&sql)?;
            transaction.appends.push((key, number));
        }
    }
    client.execute("COMMIT").map(drop)
}

fn read_list(client: &mut Client, key: u64) -> Result<List, Failure> {
    let rows = client.rows(&format!("SELECT v FROM lists WHERE k = {key}"))?;
    let text = rows.first().and_then(|row| row.first().cloned().flatten());
    let numbers = text.unwrap_or_default();
    let numbers = numbers
        .split_terminator(',')
        .map(|number| number.parse().unwrap_or(0));
    Ok(numbers.collect())
}

fn read_lists(client: &mut Client) -> Result<Vec<List>, Failure> {
    (0..KEYS).map(|key| read_list(client, key)).collect()
}

/// What was in doubt is decided by what is found, once and for all.
fn settle(history: &mut [Transaction], lists: &[List], clock: &AtomicU64) {
    let found: HashSet<u64> = lists.iter().flatten().copied().collect();
    let now = clock.fetch_add(1, Ordering::SeqCst);
    for transaction in history.iter_mut().filter(|one| one.end == End::Unknown) {
        let is_there = transaction
            .appends
            .iter()
            .any(|(_, number)| found.contains(number));
        transaction.end = if is_there {
            End::Committed
        } else {
            End::Refused
        };
        transaction.ended = now;
    }
}

/// The committed transactions, and who wrote what.
struct History<'a> {
    committed: Vec<&'a Transaction>,
    lists: &'a [List],
    /// By number: the transaction that appended it.
    writers: HashMap<u64, usize>,
}

impl<'a> History<'a> {
    /// Holds the final lists to what became of the transactions.
    fn of(all: &'a [Transaction], lists: &'a [List]) -> Result<History<'a>, String> {
        let committed: Vec<_> = all.iter().filter(|one| one.end == End::Committed).collect();
        let mut writers = HashMap::new();
        let mut expected = HashSet::new();
        for (idx, transaction) in committed.iter().enumerate() {
            for (key, number) in &transaction.appends {
                writers.insert(*number, idx);
                expected.insert((*key, *number));
            }
        }
        for (key, list) in (0..).zip(lists) {
            for number in list {
                if !expected.remove(&(key, *number)) {
                    return Err(format!(
                        "list {key} has {number}, which was refused, or twice"
                    ));
                }
            }
        }
        if let Some((key, number)) = expected.iter().next() {
            return Err(format!(
                "list {key} has lost {number}, which was acknowledged"
            ));
        }
        Ok(History {
            committed,
            lists,
            writers,
        })
    }

    fn check(&self) -> Result<(), String> {
        let (mut before, mut overwritten) = (Vec::new(), Vec::new());
        for list in self.lists {
            let writers: Vec<usize> = list.iter().map(|number| self.writers[number]).collect();
            before.extend(writers.windows(2).map(|pair| (pair[0], pair[1])));
        }
        for (reader, transaction) in self.committed.iter().enumerate() {
            for (key, read) in &transaction.reads {
                let list = &self.lists[usize::try_from(*key).unwrap_or(usize::MAX)];
                if !list.starts_with(read) {
                    return Err(format!("list {key} was read as {read:?}, and is {list:?}"));
                }
                before.extend(read.last().map(|number| (self.writers[number], reader)));
                let next = list.get(read.len()).map(|number| self.writers[number]);
                overwritten.extend(next.map(|writer| (reader, writer)));
            }
        }
        self.check_order(before, &overwritten)
    }

    /// No cycle of `before`, each followed by at most one of `overwritten`.
    fn check_order(
        &self,
        mut before: Vec<(usize, usize)>,
        overwritten: &[(usize, usize)],
    ) -> Result<(), String> {
        // Nodes beside the transactions: moments. Who has ended is before them, who begins behind.
        let mut moments: Vec<(u64, usize, bool)> = Vec::new();
        for (idx, transaction) in self.committed.iter().enumerate() {
            moments.push((transaction.began, idx, false));
            moments.push((transaction.ended, idx, true));
        }
        moments.sort_unstable();
        let (mut moment, mut nodes) = (None, self.committed.len());
        for (_, idx, has_ended) in moments {
            if has_ended {
                before.extend(moment.map(|earlier| (earlier, nodes)));
                before.push((idx, nodes));
                moment = Some(nodes);
                nodes += 1;
            } else {
                before.extend(moment.map(|earlier| (earlier, idx)));
            }
        }
        before.retain(|(one, other)| one != other);
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        let mut overwriters: HashMap<usize, Vec<usize>> = HashMap::new();
        for (reader, writer) in overwritten {
            if reader != writer {
                overwriters.entry(*reader).or_default().push(*writer);
            }
        }
        for (one, other) in before {
            next[one].push(other);
            next[one].extend(overwriters.get(&other).into_iter().flatten());
        }
        match in_cycle(&next).filter(|idx| *idx < self.committed.len()) {
            None => Ok(()),
            Some(idx) => Err(format!(
                "no snapshot is as this one saw it: {:?}",
                self.committed[idx]
            )),
        }
    }
}

/// A node that no order has a place for.
fn in_cycle(next: &[Vec<usize>]) -> Option<usize> {
    let mut incoming = vec![0_usize; next.len()];
    for node in next.iter().flatten() {
        incoming[*node] += 1;
    }
    let mut free: Vec<usize> = (0..next.len())
        .filter(|node| incoming[*node] == 0)
        .collect();
    while let Some(node) = free.pop() {
        for other in &next[node] {
            incoming[*other] -= 1;
            if incoming[*other] == 0 {
                free.push(*other);
            }
        }
    }
    incoming.iter().position(|count| *count != 0)
}
