//! Write skew, which snapshots allow and `SELECT … FOR UPDATE` prevents: of some people on duty each may leave
//! as long as another stays. Who looks with FOR UPDATE never finds nobody there, also under kills; who
//! looks with a plain SELECT does before long, which shows that this would be seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Failure};
use crate::{DATABASE, Ending, Rounds, connect, connect_bare, is_conflict, is_over, others, trial};

/// Rounds of the quick profile.
const QUICK: u64 = 4;
const CLIENTS: u64 = 6;
const PEOPLE: u64 = 4;
const ROUND_MS: std::ops::Range<u64> = 100..400;
/// How long those who look with a plain SELECT may take to find nobody.
const PATIENCE: Duration = Duration::from_secs(30);

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "kill_9_for_update_prevents_write_skew".to_owned();
    vec![trial(name, (Ending::Kill, others(QUICK)), run)]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let mut random = StdRng::seed_from_u64(rounds.seed);
    let mut server = rounds.start()?;
    make_table(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    let mut changes = 0;
    for round in 1..=rounds.count {
        let watch = Watch::start(&server.address, "FOR UPDATE", &mut random)?;
        thread::sleep(Duration::from_millis(random.random_range(ROUND_MS)));
        rounds.end(&server)?;
        let (done, empty) = watch.join()?;
        if 0 < empty {
            return Err(format!("round {round}: nobody was there {empty} times"));
        }
        changes += done;
        server = rounds.start()?;
    }
    if changes == 0 {
        return Err("nobody came or left".to_owned());
    }
    let watch = Watch::start(&server.address, "", &mut random)?;
    let began = Instant::now();
    while watch.empty.load(Ordering::SeqCst) == 0 {
        if PATIENCE < began.elapsed() {
            return Err("without FOR UPDATE somebody was there all the time".to_owned());
        }
        thread::sleep(crate::POLL_INTERVAL);
    }
    let took = began.elapsed();
    watch.is_over.store(true, Ordering::SeqCst);
    watch.join()?;
    Ok(format!(
        "{changes} people came or left; without FOR UPDATE nobody was there after {took:?}"
    ))
}

fn make_table(client: &mut Client) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    client.execute(&format!("USE {DATABASE}"))?;
    client.execute("CREATE TABLE duty (id INT PRIMARY KEY, present INT NOT NULL)")?;
    for id in 0..PEOPLE {
        client.execute(&format!("INSERT INTO duty VALUES ({id}, 1)"))?;
    }
    Ok(())
}

/// Clients at work.
struct Watch {
    is_over: Arc<AtomicBool>,
    /// How often nobody was there.
    empty: Arc<AtomicU64>,
    threads: Vec<thread::JoinHandle<Result<u64, String>>>,
}

impl Watch {
    fn start(address: &str, clause: &'static str, random: &mut StdRng) -> Result<Watch, String> {
        let mut watch = Watch {
            is_over: Arc::default(),
            empty: Arc::default(),
            threads: Vec::new(),
        };
        for _ in 0..CLIENTS {
            let (mut client, mut random) = (connect(address)?, StdRng::from_rng(random));
            let (is_over, empty) = (Arc::clone(&watch.is_over), Arc::clone(&watch.empty));
            watch.threads.push(thread::spawn(move || {
                let mut changes = 0;
                while !is_over.load(Ordering::SeqCst) {
                    match change(&mut client, &mut random, (clause, &empty)) {
                        Ok(()) => changes += 1,
                        Err(failure) if is_over_or_lost(&mut client, &failure)? => break,
                        Err(_) => {}
                    }
                }
                Ok(changes)
            }));
        }
        Ok(watch)
    }

    /// How often somebody came or left, and how often nobody was there.
    fn join(self) -> Result<(u64, u64), String> {
        let mut changes = 0;
        for thread in self.threads {
            changes += thread.join().map_err(|_| "a client panicked")??;
        }
        Ok((changes, self.empty.load(Ordering::SeqCst)))
    }
}

/// One looks who is there, and leaves if there is another; where only one is, somebody comes.
fn change(
    client: &mut Client,
    random: &mut StdRng,
    (clause, empty): (&str, &AtomicU64),
) -> Result<(), Failure> {
    client.execute("BEGIN")?;
    let sql = format!("SELECT id FROM duty WHERE id >= 0 AND present = 1 {clause}");
    let rows = client.rows(&sql)?;
    let there: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.first()?.as_deref())
        .collect();
    if there.is_empty() {
        empty.fetch_add(1, Ordering::SeqCst);
    }
    let sql = match there.choose(random) {
        Some(id) if 1 < there.len() => format!("UPDATE duty SET present = 0 WHERE id = {id}"),
        Some(_) | None => {
            let id = random.random_range(0..PEOPLE);
            format!("UPDATE duty SET present = 1 WHERE id = {id}")
        }
    };
    client.execute(&sql)?;
    client.execute("COMMIT").map(drop)
}

/// Whether the server is gone; after a conflict the transaction is taken back.
fn is_over_or_lost(client: &mut Client, failure: &Failure) -> Result<bool, String> {
    if is_over(failure) {
        return Ok(true);
    }
    if !is_conflict(failure) {
        return Err(failure.to_string());
    }
    Ok(client
        .execute("ROLLBACK")
        .is_err_and(|failure| is_over(&failure)))
}
