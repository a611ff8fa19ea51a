//! What transactions read and appended to lists, held to snapshot isolation.
//!
//! Each number is appended once, so a list tells the order of its versions. A history is as snapshots allow when
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
use std::sync::atomic::{AtomicU64, Ordering};

use libtest_mimic::Trial;

/// A list, as the table has it: numbers with commas.
pub(crate) type List = Vec<u64>;

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Committed,
    Refused,
    /// The client has rolled it back.
    TakenBack,
    Unknown,
}

/// One transaction, or one statement where each reads a state of its own.
#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    /// By key: what it read first, before its own numbers.
    pub(crate) reads: Vec<(u64, List)>,
    pub(crate) appends: Vec<(u64, u64)>,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) end: End,
}

impl Transaction {
    /// One that begins.
    pub(crate) fn begun(clock: &AtomicU64) -> Transaction {
        Transaction {
            reads: Vec::new(),
            appends: Vec::new(),
            began: now(clock),
            ended: u64::MAX,
            end: End::Unknown,
        }
    }
}

/// The time, which is another one whenever anybody asks.
pub(crate) fn now(clock: &AtomicU64) -> u64 {
    clock.fetch_add(1, Ordering::SeqCst)
}

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let known = Trial::test("isolation_that_is_none_is_told", || {
        anomalies().map_err(libtest_mimic::Failed::from)
    });
    vec![known]
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

/// Holds a history to the lists that are found after a restart.
pub(crate) fn check(
    history: &mut [Transaction],
    lists: &[List],
    clock: &AtomicU64,
) -> Result<(), String> {
    settle(history, lists, clock);
    History::of(history, lists).and_then(|history| history.check())
}

/// What was in doubt is decided by what is found, once and for all.
fn settle(history: &mut [Transaction], lists: &[List], clock: &AtomicU64) {
    let found: HashSet<u64> = lists.iter().flatten().copied().collect();
    let now = now(clock);
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
