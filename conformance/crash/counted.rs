//! Kills the server under writers whose ids it counts: no id is ever given twice, neither by the server
//! that goes on after the kill nor when the rows that had the greatest ids were deleted. Table and index agree.
//!
//! Rows are deleted all the time, so a repeated id would not be a duplicate: the ids are compared here.
//! Beside them long rows are written, so that there are flushes and compactions to be cut off.

use std::collections::HashSet;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Failure};
use crate::indexes;
use crate::{DATABASE, Rounds, connect, connect_bare, is_conflict, is_over};

/// The least and the most time that writers have before the kill.
const ROUND_MS: std::ops::Range<u64> = 30..300;
const WRITERS: u64 = 4;
/// How far an id that a writer gives by hand is ahead of those it was given.
const JUMP: u64 = 700;
/// The long rows, and how long they are.
const BULK_KEYS: u64 = 7;
const BULK_BYTES: u64 = 200_000;

/// Runs all rounds.
pub(crate) fn run(rounds: &Rounds) -> Result<String, String> {
    let mut random = StdRng::seed_from_u64(rounds.seed);
    let mut given = HashSet::new();
    let mut server = rounds.start()?;
    make_table(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    for round in 1..=rounds.count {
        let time = Duration::from_millis(random.random_range(ROUND_MS));
        let writers = start_writers(&server.address, random.random())?;
        thread::sleep(time);
        rounds.end(&server)?;
        for writer in writers {
            let ids = writer.join();
            for id in ids.map_err(|_| "a writer panicked".to_owned())?? {
                if !given.insert(id) {
                    let seed = rounds.seed;
                    return Err(format!(
                        "round {round}, seed {seed}: id {id} was given twice"
                    ));
                }
            }
        }
        server = rounds.start()?;
        indexes::check(&mut connect(&server.address)?, "numbered")
            .and_then(|()| rounds.rest(&server))
            .map_err(|e| format!("round {round}, seed {}: {e}", rounds.seed))?;
    }
    if given.is_empty() {
        return Err("no id was ever given".to_owned());
    }
    Ok(format!("{} ids, each given once", given.len()))
}

fn make_table(client: &mut Client) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    client.execute(&format!("USE {DATABASE}"))?;
    client.execute(
        "CREATE TABLE numbered (id INT AUTO_INCREMENT PRIMARY KEY, v INT, INDEX by_v (v))",
    )?;
    client.execute("CREATE TABLE bulks (k INT PRIMARY KEY, v LONGTEXT)")?;
    Ok(())
}

/// Gives the ids that were acknowledged.
type Writer = JoinHandle<Result<Vec<u64>, String>>;

fn start_writers(address: &str, seed: u64) -> Result<Vec<Writer>, String> {
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let client = connect(address)?;
        let random = StdRng::seed_from_u64(seed.wrapping_add(writer));
        writers.push(thread::spawn(move || write(client, random)));
    }
    let client = connect(address)?;
    writers.push(thread::spawn(move || write_long_rows(client)));
    Ok(writers)
}

/// Writes until the connection breaks; the ids that were acknowledged.
fn write(mut client: Client, mut random: StdRng) -> Result<Vec<u64>, String> {
    let mut ids = Vec::new();
    loop {
        match turn(&mut client, &mut random, &mut ids) {
            // Another writer may have given the id by hand.
            Ok(()) | Err(Failure::Server { errno: 1062, .. }) => {}
            Err(failure) if is_over(&failure) => return Ok(ids),
            Err(failure) if is_conflict(&failure) => {}
            Err(failure) => return Err(failure.to_string()),
        }
    }
}

/// Writes until the connection breaks; gives no ids.
fn write_long_rows(mut client: Client) -> Result<Vec<u64>, String> {
    // Each differs from the one before of its key, wherever the writers before ended.
    let start = u64::from(rand::random::<u32>());
    for (key, seq) in (0..BULK_KEYS).cycle().zip(start..) {
        let sql =
            format!("REPLACE INTO bulks VALUES ({key}, CONCAT({seq}, REPEAT('b', {BULK_BYTES})))");
        match client.execute(&sql) {
            Ok(_) => {}
            Err(failure) if is_over(&failure) => break,
            Err(failure) => return Err(failure.to_string()),
        }
    }
    Ok(Vec::new())
}

fn turn(client: &mut Client, random: &mut StdRng, ids: &mut Vec<u64>) -> Result<(), Failure> {
    let count = random.random_range(1..4);
    let values = vec!["(1)"; count].join(", ");
    client.execute(&format!("INSERT INTO numbered (v) VALUES {values}"))?;
    let rows = client.rows("SELECT LAST_INSERT_ID()")?;
    let first: u64 = rows[0][0].as_deref().unwrap_or("0").parse().unwrap_or(0);
    ids.extend((first..).take(count));
    if random.random_range(0..10) == 0 {
        let given = first + random.random_range(1..JUMP);
        client.execute(&format!("INSERT INTO numbered VALUES ({given}, 2)"))?;
        client.execute(&format!("DELETE FROM numbered WHERE id = {given}"))?;
    }
    client.execute(&format!("DELETE FROM numbered WHERE id >= {first}"))?;
    Ok(())
}
