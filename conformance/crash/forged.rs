//! A client stores bytes that look like commits: an empty one, and a copy of the journal itself. The server
//! is killed behind each write to the journal that the statement makes, and starts again: what looks like
//! a commit within a torn one is none.

use std::fmt::Write as _;
use std::fs;

use libtest_mimic::Trial;
use rand::Rng;

use crate::faults::{Call, Fate};
use crate::{DATABASE, Ending, Rounds, connect, connect_bare, is_over, kill, trial};

/// A commit without items, with its checksum, as the storage library writes it.
const EMPTY: &str = "0100000000887766554433221103c294d3380580062d464a4c03";
/// Bytes behind it: more than the library holds back before it writes.
const REST_BYTES: usize = 9000;
/// Bytes of the journal that are copied.
const COPIED_BYTES: usize = 64 << 10;
/// Rows of the statement.
const ROWS: usize = 3;
/// Writes of the statement; more are one that never gets through.
const WRITES_MAX: u64 = 100;

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "stored_bytes_that_look_like_commits_are_none".to_owned();
    vec![trial(name, (Ending::Point, 1), run)]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    for sql in [
        format!("CREATE DATABASE {DATABASE}"),
        format!("CREATE TABLE {DATABASE}.t (id INT PRIMARY KEY, v LONGBLOB)"),
    ] {
        client.execute(&sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    kill(&server)?;
    let mut torn = 0;
    for at in 1..=WRITES_MAX {
        let server = rounds.start()?;
        let mut client = connect(&server.address)?;
        let sql = statement(rounds)?;
        let call = Call {
            name: "write",
            path: ".jnl",
        };
        rounds.faults()?.arm(call, (at, at), Fate::KillAfter)?;
        let is_through = match client.execute(&sql) {
            Ok(_) => true,
            Err(failure) if is_over(&failure) => false,
            Err(failure) => return Err(failure.to_string()),
        };
        kill(&server)?;
        rounds.faults()?.disarm()?;
        let server = rounds
            .start()
            .map_err(|e| format!("killed behind write {at}: {e}"))?;
        torn += u64::from(rounds.log().contains("cut the unfinished end"));
        let mut client = connect(&server.address)?;
        let rows = client.rows("SELECT id FROM t WHERE id >= 0");
        let count = rows.map_err(|e| e.to_string())?.len();
        if count != ROWS && (is_through || count != 0) {
            return Err(format!("{count} rows, killed behind write {at}"));
        }
        client
            .execute("DELETE FROM t WHERE id >= 0")
            .map_err(|e| e.to_string())?;
        kill(&server)?;
        if is_through {
            if torn == 0 {
                return Err("no commit was torn".to_owned());
            }
            return Ok(format!("{torn} torn commits in {at} kills"));
        }
    }
    Err(format!("it has not got through after {WRITES_MAX} kills"))
}

fn statement(rounds: &Rounds) -> Result<String, String> {
    let copied = hex(&journal(rounds)?);
    let mut random = rounds.random.borrow_mut();
    let mut rest = || {
        hex(&(0..REST_BYTES)
            .map(|_| random.random())
            .collect::<Vec<u8>>())
    };
    Ok(format!(
        "INSERT INTO t VALUES (1, x'{EMPTY}{}'), (2, x'{copied}{}'), (3, x'{EMPTY}{}')",
        rest(),
        rest(),
        rest()
    ))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The last journal, as far as something is written there.
fn journal(rounds: &Rounds) -> Result<Vec<u8>, String> {
    let dir = rounds.directory().join("data/lsm");
    let entries = fs::read_dir(&dir).map_err(|e| e.to_string())?.flatten();
    let mut journals: Vec<_> = entries.map(|entry| entry.path()).collect();
    journals.retain(|path| path.extension().is_some_and(|name| name == "jnl"));
    journals.sort_by_key(|path| fs::metadata(path).and_then(|found| found.modified()).ok());
    let last = journals.last().ok_or("there is no journal")?;
    let mut bytes = fs::read(last).map_err(|e| e.to_string())?;
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
    bytes.truncate(end);
    Ok(bytes.split_off(end.saturating_sub(COPIED_BYTES)))
}
