//! Files that get no name, or do not lose it: renames that fail at a start or at its first write, which
//! then is not done; those of dictionaries, without which values are stored as they are; and files that
//! cannot be removed, which the next start does.

use libtest_mimic::Trial;

use crate::broken::{call, look_at_the_rest, stop};
use crate::client::{Client, Failure};
use crate::faults::Fate;
use crate::flips::optimize;
use crate::{DATABASE, Ending, READ_ONLY, Rounds, connect, connect_bare, trial, writers};

/// Rows whose values make a dictionary.
const ROWS: u64 = 6_000;
const ROWS_PER_INSERT: u64 = 500;
const STEP: usize = 500;
/// What the log says of a dictionary that could not be written, and of one that was.
const NO_DICTIONARY: &str = "no dictionary was written";
const DICTIONARY: &str = "made a dictionary";
/// Calls that fail: all of them.
const ALL: (u64, u64) = (1, 1_000_000_000);

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let of = |name: &str, run| trial(name.to_owned(), (Ending::Point, 1), run);
    vec![
        of("failed_rename_ends_the_first_start", first_start),
        of("failed_rename_ends_the_first_write", first_write),
        of(
            "failed_rename_leaves_values_without_a_dictionary",
            dictionary,
        ),
        of("failed_removals_are_made_up_for", removals),
    ]
}

/// The mark of a data directory cannot be made: nothing starts. The next start begins anew.
fn first_start(rounds: &Rounds) -> Result<String, String> {
    let faults = rounds.faults()?;
    faults.arm(call("rename", "/MESETA"), (1, 1), Fate::Eio)?;
    let told = match rounds.start() {
        Ok(_) => return Err("it was started".to_owned()),
        Err(told) if faults.hits() == 1 => told,
        Err(told) => return Err(format!("no rename failed: {told}")),
    };
    faults.disarm()?;
    let server = rounds.start()?;
    let made = writers::make_tables(&mut connect_bare(&server.address)?);
    made.map_err(|error| error.to_string())?;
    Ok(told)
}

/// The id of a run cannot be written: its first write is not done, nor is any other.
fn first_write(rounds: &Rounds) -> Result<String, String> {
    let faults = rounds.faults()?;
    let server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    let made = writers::make_tables(&mut client);
    let made = made.and_then(|()| client.execute("UPDATE counters SET n = 7 WHERE id = 1"));
    made.map_err(|error| error.to_string())?;
    stop(&server)?;
    faults.arm(call("rename", "/lsm/run"), (1, 1), Fate::Eio)?;
    let server = rounds.start()?;
    look_at_the_rest(&server)?;
    if faults.hits() != 1 || !rounds.log().contains(READ_ONLY) {
        return Err(format!("{} failed: {}", faults.hits(), rounds.log()));
    }
    stop(&server)?;
    faults.disarm()?;
    let server = rounds.start()?;
    let mut client = connect(&server.address)?;
    let rows = client.rows("SELECT n FROM counters WHERE id = 1");
    let rows = rows.map_err(|error| error.to_string())?;
    if rows != [[Some("7".to_owned())]] {
        return Err(format!("what was not done left {rows:?}"));
    }
    let written = client.execute("UPDATE counters SET n = 8 WHERE id = 1");
    written.map_err(|error| error.to_string())?;
    Ok("the next start writes".to_owned())
}

/// A dictionary gets no name: values stay as they are, and the next compaction makes one.
fn dictionary(rounds: &Rounds) -> Result<String, String> {
    let faults = rounds.faults()?;
    let server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    let words = |error: Failure| error.to_string();
    for sql in [
        &format!("CREATE DATABASE {DATABASE}"),
        &format!("USE {DATABASE}"),
        "CREATE TABLE words (id INT PRIMARY KEY, v VARCHAR(200)) COMPRESSION='zstd'",
    ] {
        client.execute(sql).map_err(words)?;
    }
    faults.arm(call("rename", "/dictionaries/"), (1, 1), Fate::Eio)?;
    let mut tries = 0;
    while !rounds.log().contains(DICTIONARY) {
        tries += 1;
        fill(&mut client, tries).map_err(words)?;
        optimize(&mut client, "words").map_err(words)?;
        if 10 < tries {
            return Err(format!("no dictionary was made: {}", rounds.log()));
        }
    }
    if faults.hits() != 1 || !rounds.log().contains(NO_DICTIONARY) {
        return Err(format!("{} failed: {}", faults.hits(), rounds.log()));
    }
    let sql = "SELECT COUNT(*) FROM words WHERE id >= 0 AND v = REPEAT(CONCAT('row ', id), 20)";
    let rows = client.rows(sql).map_err(words)?;
    if rows[0][0] != Some((tries * ROWS).to_string()) {
        return Err(format!(
            "of {} rows these are right: {rows:?}",
            tries * ROWS
        ));
    }
    Ok(format!("compactions {tries} times"))
}

fn fill(client: &mut Client, time: u64) -> Result<(), Failure> {
    for start in ((time - 1) * ROWS..time * ROWS).step_by(STEP) {
        let row = |id: u64| format!("({id}, REPEAT('row {id}', 20))");
        let rows: Vec<String> = (start..start + ROWS_PER_INSERT).map(row).collect();
        client.execute(&format!("INSERT INTO words VALUES {}", rows.join(", ")))?;
    }
    Ok(())
}

/// Files of rows that a compaction has replaced cannot be removed: the server goes on, and the next start removes
/// them.
fn removals(rounds: &Rounds) -> Result<String, String> {
    let faults = rounds.faults()?;
    let server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    writers::make_tables(&mut client).map_err(|error| error.to_string())?;
    faults.arm(call("unlink", "/tables/"), ALL, Fate::Eio)?;
    for start in (0..2 * ROWS).step_by(STEP) {
        let row = |seq| format!("(1000, {seq}, 'a value of row {seq}')");
        let rows: Vec<String> = (start..start + ROWS_PER_INSERT).map(row).collect();
        let sql = format!("INSERT INTO singles VALUES {}", rows.join(", "));
        client.execute(&sql).map_err(|error| error.to_string())?;
    }
    optimize(&mut client, "singles").map_err(|error| error.to_string())?;
    let hits = faults.hits();
    if hits == 0 || rounds.log().contains(READ_ONLY) {
        return Err(format!("{hits} removals failed: {}", rounds.log()));
    }
    stop(&server)?;
    faults.disarm()?;
    // That nothing is left over is looked for at the end of each trial.
    Ok(format!("{hits} removals failed"))
}
