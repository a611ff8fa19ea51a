//! A compaction without room waits for some, and ends nothing: not reads, not what makes room, not the
//! server's own end; and writes come back by themselves.

use std::fs;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::broken::stop;
use crate::client::{Client, Failure};
use crate::full::{done, fill_with, make_tables, wait_until_written};
use crate::http::Door;
use crate::{DATABASE, Ending, READ_ONLY, Rounds, connect, connect_bare, trial};

/// Rows: of a few memtables, as small as they are in these tests.
const ROWS: u64 = 60_000;
/// Rows of one statement.
const CHUNK: u64 = 2_000;
/// Chunks that are deleted at most: fewer flushes than the storage library waits for.
const DELETED_CHUNKS_MAX: u64 = ROWS / CHUNK;
/// What others leave: more than deletes need, less than a compaction leaves free.
const LEFT_BYTES: u64 = 14 << 20;
/// What the log says of it.
const WAITS: &str = "a compaction waits for room on the disk";
const GOES_ON: &str = "a compaction goes on without room";
/// How long the log may take to say so.
const TOLD_MAX: Duration = Duration::from_secs(30);
/// How long a flush may take that nothing keeps from its end.
const FLUSHED_MAX: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// For longer than a compaction has patience nothing is left at all.
const FULL: Duration = Duration::from_secs(40);

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let of = |name: &str, run| trial(name.to_owned(), (Ending::Full, 1), run);
    vec![
        of("compaction_without_room_goes_on_when_there_is_some", go_on),
        of("compaction_without_room_keeps_no_server_from_its_end", end),
        of("compaction_outlasts_a_disk_that_stays_full", outlast),
    ]
}

/// Deletes rows until a compaction waits; how many are gone.
fn make_one_wait(rounds: &Rounds, client: &mut Client) -> Result<u64, String> {
    make_tables(client).map_err(|error| error.to_string())?;
    for chunk in 1..=ROWS / CHUNK {
        let rows = (chunk * CHUNK..(chunk + 1) * CHUNK).map(|id| format!("({id}, {id})"));
        let rows: Vec<String> = rows.collect();
        done(
            client,
            &format!("INSERT INTO small VALUES {}", rows.join(", ")),
        )?;
    }
    // What is there lies in files, so that the deletes are written to others.
    expect_ok(client, "OPTIMIZE TABLE small")?;
    fill_with(&filler(rounds), LEFT_BYTES)?;
    for chunk in 1..=DELETED_CHUNKS_MAX {
        let (from, until) = (chunk * CHUNK, (chunk + 1) * CHUNK);
        done(
            client,
            &format!("DELETE FROM small WHERE id >= {from} AND id < {until}"),
        )?;
        if rounds.log().contains(WAITS) {
            return Ok(chunk * CHUNK);
        }
        // Flushes take their time.
        std::thread::sleep(POLL_INTERVAL);
    }
    until_told(rounds)?;
    Ok(DELETED_CHUNKS_MAX * CHUNK)
}

fn filler(rounds: &Rounds) -> std::path::PathBuf {
    rounds.directory().join("data/lost+found/filler")
}

fn until_told(rounds: &Rounds) -> Result<(), String> {
    let started = Instant::now();
    while !rounds.log().contains(WAITS) {
        if TOLD_MAX < started.elapsed() {
            return Err(format!("the log does not say {WAITS:?}: {}", rounds.log()));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Reads are answered, and what puts rows is refused.
fn expect_life(client: &mut Client, rows: u64) -> Result<(), String> {
    let sql = "SELECT COUNT(*) FROM small WHERE id >= 0";
    let found = client.rows(sql);
    let found = found.map_err(|error| format!("{sql}: {error}"))?;
    if found != [[Some(rows.to_string())]] {
        return Err(format!("{sql}: {found:?}, and not {rows}"));
    }
    match client.execute("INSERT INTO small VALUES (3, 3)") {
        Err(Failure::Server { errno: 1021, .. }) => Ok(()),
        other => Err(format!("an insert without room: {other:?}")),
    }
}

/// A statement of which each row of answers ends so.
fn expect_ok(client: &mut Client, sql: &str) -> Result<(), String> {
    let told = client.rows(sql);
    let told = told.map_err(|error| format!("{sql}: {error}"))?;
    let is_well = |row: &Vec<Option<String>>| row.last() == Some(&Some("OK".to_owned()));
    if told.is_empty() || !told.iter().all(is_well) {
        return Err(format!("{sql}: {told:?}"));
    }
    Ok(())
}

fn expect_health(rounds: &Rounds, client: &mut Client) -> Result<(), String> {
    expect_ok(client, "CHECK TABLE small")?;
    let log = rounds.log();
    for what in [READ_ONLY, GOES_ON] {
        if log.contains(what) {
            return Err(format!("the log says {what:?}: {log}"));
        }
    }
    Ok(())
}

fn go_on(rounds: &Rounds) -> Result<String, String> {
    let server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    let gone = make_one_wait(rounds, &mut client)?;
    expect_life(&mut client, ROWS + 2 - gone)?;
    fs::remove_file(filler(rounds)).map_err(|error| error.to_string())?;
    let back = wait_until_written(&mut client)?;
    expect_health(rounds, &mut client)?;
    stop(&server)?;
    Ok(format!(
        "it waited after {gone} deletes; writes were back after {back:?}"
    ))
}

/// Until no flush is under way.
fn until_flushed(door: &Door) -> Result<(), String> {
    let started = Instant::now();
    while door.metric("meseta_lsm_sealed_memtables")? != 0.0 {
        if FLUSHED_MAX < started.elapsed() {
            return Err(format!("a flush has not ended after {FLUSHED_MAX:?}"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Nobody makes room for longer than a compaction waits where something is left.
fn outlast(rounds: &Rounds) -> Result<String, String> {
    let door = Door::new()?;
    let server = rounds.start_at(&door)?;
    let mut client = connect_bare(&server.address)?;
    let gone = make_one_wait(rounds, &mut client)?;
    // A flush that meets the end of the disk is a failed write, which other trials are about.
    until_flushed(&door)?;
    let rest = rounds.directory().join("data/lost+found/rest");
    fill_with(&rest, 0)?;
    let until = Instant::now() + FULL;
    while Instant::now() < until {
        expect_life(&mut client, ROWS + 2 - gone)?;
        std::thread::sleep(POLL_INTERVAL * 20);
    }
    for path in [filler(rounds), rest] {
        fs::remove_file(path).map_err(|error| error.to_string())?;
    }
    let back = wait_until_written(&mut client)?;
    expect_health(rounds, &mut client)?;
    stop(&server)?;
    Ok(format!("after {FULL:?} writes were back after {back:?}"))
}

fn end(rounds: &Rounds) -> Result<String, String> {
    let server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    let gone = make_one_wait(rounds, &mut client)?;
    drop(client);
    stop(&server)?;
    drop(server);
    let server = rounds.start()?;
    let mut client = connect(&server.address)?;
    done(&mut client, &format!("USE {DATABASE}"))?;
    expect_life(&mut client, ROWS + 2 - gone)?;
    fs::remove_file(filler(rounds)).map_err(|error| error.to_string())?;
    wait_until_written(&mut client)?;
    expect_health(rounds, &mut client)?;
    stop(&server)?;
    Ok(format!("it waited after {gone} deletes"))
}
