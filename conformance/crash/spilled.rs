//! Statements that spill to the disk of the data leave what flushes and compactions need: they end with 1021, writing
//! goes on by itself, and the engine has not noticed.

use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use rand::Rng;
use rand::rngs::StdRng;

use crate::client::{Client, Failure};
use crate::full::{DISK_FULL, make_tables, wait_until_written};
use crate::{DATABASE, Ending, READ_ONLY, Rounds, connect, connect_bare, kill, trial};

/// Rows that are sorted, and their bytes.
const ROWS: u64 = 100;
const ROW_BYTES: usize = 500_000;
/// Who spills at once: more than the disk has room for beside the rows.
const SORTERS: usize = 6;
/// How long they do, beside a writer.
const PRESSURE: Duration = Duration::from_secs(5);
/// How long a writer waits that had no room.
const PAUSE: Duration = Duration::from_millis(20);
/// The sort, as one that must spill.
const MEMORY: &str = "SET query_memory_bytes = 4194304";
const SORT: &str = "SELECT id, LENGTH(v) FROM large WHERE id >= 0 ORDER BY v";

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "what_spills_leaves_the_room_that_writing_needs".to_owned();
    vec![trial(name, (Ending::Full, 1), run)]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    make_tables(&mut client).map_err(|e| e.to_string())?;
    for row in 0..ROWS {
        let text = letters(&mut rounds.random.borrow_mut());
        let sql = format!("INSERT INTO large VALUES ({row}, '{text}')");
        client
            .execute(&sql)
            .map_err(|error| format!("row {row}: {error}"))?;
    }
    let until = Instant::now() + PRESSURE;
    let sorters: Vec<_> = (0..SORTERS)
        .map(|_| {
            let address = server.address.clone();
            thread::spawn(move || sort(&address, until))
        })
        .collect();
    let (mut tries, mut writes) = (0, 0);
    while Instant::now() < until {
        let sql = format!("REPLACE INTO small VALUES ({}, {tries})", tries % 1000);
        tries += 1;
        match client.execute(&sql) {
            Ok(_) => writes += 1,
            // While a compaction has its room.
            Err(Failure::Server { errno, .. }) if errno == DISK_FULL => thread::sleep(PAUSE),
            Err(failure) => return Err(format!("a write beside those who spill: {failure}")),
        }
    }
    let mut refused = 0;
    for sorter in sorters {
        refused += sorter.join().map_err(|_| "a sorter panicked")??;
    }
    if refused == 0 {
        return Err("all sorts had room: nothing was tried".to_owned());
    }
    wait_until_written(&mut client)?;
    let log = rounds.log();
    if log.contains(READ_ONLY) {
        return Err(format!("the engine gave up: {log}"));
    }
    kill(&server)?;
    if writes == 0 {
        return Err("nothing was written beside the sorts".to_owned());
    }
    Ok(format!(
        "{refused} sorts ended with 1021, and {} of {tries} writes",
        tries - writes
    ))
}

/// What does not compress.
fn letters(random: &mut StdRng) -> String {
    let letters = (0..ROW_BYTES).map(|_| char::from(random.random_range(b'a'..=b'z')));
    letters.collect()
}

/// Sorts again and again; how often there was no room.
fn sort(address: &str, until: Instant) -> Result<usize, String> {
    let mut client: Client = connect(address)?;
    for sql in [&format!("USE {DATABASE}"), MEMORY] {
        client.execute(sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    let mut refused = 0;
    while Instant::now() < until {
        match client.rows(SORT) {
            Ok(rows) if rows.len() as u64 == ROWS => {}
            Ok(rows) => return Err(format!("{SORT}: {} rows", rows.len())),
            Err(Failure::Server { errno, text, .. }) if errno == DISK_FULL => {
                if !text.contains("bytes free, and writing needs") {
                    return Err(text);
                }
                refused += 1;
            }
            Err(failure) => return Err(format!("{SORT}: {failure}")),
        }
    }
    Ok(refused)
}
