//! Statements outside of transactions that are several writes, `INSERT … SELECT` and `LOAD DATA` of many bytes: what
//! one that was cut off leaves is a beginning of its rows, each of them whole and with its index entries. Of
//! one that was answered all is there.
//!
//! Each gives all rows its own number, in the order of their ids. So the numbers never grow from one id to the next,
//! and none is older than the last statement that was answered.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use libtest_mimic::Trial;
use rand::Rng;

use crate::client::{Client, Failure};
use crate::{DATABASE, Ending, Rounds, connect, connect_bare, indexes, is_over, others, trial};

/// Rounds of the quick profile.
const QUICK: u64 = 4;
/// The least and the most time that there is before the end.
const ROUND_MS: std::ops::Range<u64> = 30..2000;
/// Rows that a statement writes: some 90 MB, three times what is written at once.
const ROWS: u64 = 3000;
/// A row's text, of its id.
const PAD: &str = "REPEAT(LPAD(id, 6, '0'), 5000)";
/// A part of it in the file: of LOAD DATA the lines count, and more than this memory takes are several writes.
const PART: &str = "REPEAT(LPAD(id, 6, '0'), 200)";
const PARTS: &str = "REPEAT(@part, 25)";
const MEMORY: &str = "SET query_memory_bytes = 1048576";
/// So many rounds, and one must have been cut off between two writes.
const MANY: u64 = 10;

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    [Ending::Kill, Ending::Power]
        .map(|ending| {
            let name = format!("{ending}_leaves_the_beginning_of_what_is_several_writes");
            trial(name, (ending, others(QUICK)), run)
        })
        .into()
}

fn run(rounds: &Rounds) -> Result<String, String> {
    // Leaked, as options are of the whole process: once for a trial.
    let files = rounds.directory().join("files").display().to_string();
    let option: &'static str = format!("--secure-file-priv={files}").leak();
    rounds.options.set(vec![option].leak());
    std::fs::create_dir(&files).map_err(|e| e.to_string())?;
    let file = format!("{files}/rows");
    let mut server = rounds.start()?;
    make_tables(&mut connect_bare(&server.address)?, &file)?;
    // The number of the last statement, and that of the last one that was answered.
    let (mut last, mut answered, mut cut) = (0, 0, 0);
    for round in 1..=rounds.count {
        let time = Duration::from_millis(rounds.random.borrow_mut().random_range(ROUND_MS));
        let writer = start_writer(&server.address, (last + 1, file.clone()))?;
        thread::sleep(time);
        rounds.end(&server)?;
        let tried = writer.join().map_err(|_| "the writer panicked")??;
        if last + 1 < tried {
            answered = tried - 1;
        }
        let told = |text: String| format!("round {round}, {answered} was answered: {text}");
        server = rounds.start()?;
        let mut client = connect(&server.address)?;
        let numbers = check(&mut client).map_err(told)?;
        let (Some(newest), Some(oldest)) = (numbers.first(), numbers.last()) else {
            return Err(told("there are no rows".to_owned()));
        };
        if *oldest < answered || tried < *newest {
            return Err(told(format!("rows are of {oldest} to {newest}")));
        }
        rounds.rest(&server).map_err(told)?;
        cut += u64::from(newest != oldest);
        last = tried;
    }
    if MANY <= rounds.count && cut == 0 {
        return Err("no statement was cut off between two of its writes".to_owned());
    }
    Ok(format!(
        "{last} statements, {cut} were cut off between two of their writes"
    ))
}

/// The rows that are written again and again, as a table and as a file, and where to.
fn make_tables(client: &mut Client, file: &str) -> Result<(), String> {
    let ids: Vec<String> = (0..ROWS).map(|id| format!("({id})")).collect();
    for sql in [
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
        "CREATE TABLE source (id INT PRIMARY KEY)".to_owned(),
        "CREATE TABLE copies (id INT PRIMARY KEY, n INT, pad TEXT, INDEX by_n (n))".to_owned(),
        format!("INSERT INTO source VALUES {}", ids.join(", ")),
        format!("SELECT id, {PART} INTO OUTFILE '{file}' FROM source WHERE id >= 0"),
        MEMORY.to_owned(),
    ] {
        client.execute(&sql).map_err(|e| e.to_string())?;
    }
    for is_of_file in [false, true] {
        let sql = write(0, is_of_file.then_some(file));
        client.execute(&sql).map_err(|e| format!("{sql}: {e}"))?;
        let notes = client.rows("SHOW WARNINGS").map_err(|e| e.to_string())?;
        let is_told = |note: &Vec<Option<String>>| {
            let text = note.last().cloned().flatten().unwrap_or_default();
            text.contains("pieces, each of them atomic")
        };
        if !notes.iter().any(is_told) {
            return Err(format!("{sql} is one write: {notes:?}"));
        }
    }
    Ok(())
}

/// The n-th statement.
fn write(n: u64, file: Option<&str>) -> String {
    match file {
        None => format!("REPLACE INTO copies SELECT id, {n}, {PAD} FROM source WHERE id >= 0"),
        Some(file) => format!(
            "LOAD DATA INFILE '{file}' REPLACE INTO TABLE copies (id, @part) SET n = {n}, pad = {PARTS}"
        ),
    }
}

/// Writes until the connection breaks; the number of the statement that was not answered.
fn start_writer(
    address: &str,
    (first, file): (u64, String),
) -> Result<JoinHandle<Result<u64, String>>, String> {
    let mut client = connect(address)?;
    client.execute(MEMORY).map_err(|e| e.to_string())?;
    Ok(thread::spawn(move || {
        for n in first.. {
            let sql = write(n, n.is_multiple_of(2).then_some(&file));
            match client.execute(&sql) {
                Ok(_) => {}
                Err(failure) if is_over(&failure) => return Ok(n),
                Err(failure) => return Err(format!("{sql}: {failure}")),
            }
        }
        Ok(first)
    }))
}

/// The numbers of the rows by their ids, once each is found whole and in its place.
fn check(client: &mut Client) -> Result<Vec<u64>, String> {
    indexes::check(client, "copies")?;
    let sql = format!("SELECT id, n, pad = {PAD} FROM copies WHERE id >= 0 ORDER BY id");
    let rows = client.rows(&sql).map_err(|e: Failure| e.to_string())?;
    let mut numbers = Vec::new();
    for (id, row) in (0..).zip(&rows) {
        let told = || format!("row {id} is {row:?}");
        let [Some(of_row), Some(n), Some(is_whole)] = row.as_slice() else {
            return Err(told());
        };
        if *of_row != id.to_string() || is_whole != "1" {
            return Err(told());
        }
        numbers.push(n.parse().map_err(|_| told())?);
    }
    if rows.len() as u64 != ROWS {
        return Err(format!("there are {} rows of {ROWS}", rows.len()));
    }
    match numbers.array_windows().position(|[one, next]| one < next) {
        Some(id) => Err(format!("row {id} is older than the next one")),
        None => Ok(numbers),
    }
}
