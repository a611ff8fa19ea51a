//! Reads of files that are not open, by a server that may open none: each ends with its rows or with an error that
//! is about files and not about damage, its connection goes on, and with files to open again all rows are there.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::broken::{limit_files, nearly_all, stop};
use crate::client::{Client, Failure};
use crate::files::walk;
use crate::full::{done, incompressible};
use crate::{DATABASE, Ending, READ_ONLY, Rounds, connect, connect_bare, trial};

/// Rows, each of which is more than a memtable takes and lies in a file of its own, until a compaction comes.
const ROWS_MIN: u64 = 12;
const ROWS_MAX: u64 = 40;
/// Files that they lie in at least, before the restart and after it: that may begin with a flush.
const FILES_MIN: usize = 3;
const FILES_LEFT_MIN: usize = 2;
/// After this time without a change nothing is flushed or compacted.
const AT_REST: Duration = Duration::from_secs(2);
/// How long it may take to come to that.
const REST_MAX: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Not the truth about a file that cannot be opened: it is not damaged.
const DAMAGED: u16 = 1712;

/// The reads: of all rows, by ascending and by descending keys, and of one.
const READS: [&str; 4] = [
    "SELECT COUNT(*), SUM(CRC32(v)) FROM several WHERE id >= 0",
    "SELECT id, CRC32(v) FROM several WHERE id >= 0 ORDER BY id",
    "SELECT id, CRC32(v) FROM several WHERE id >= 0 ORDER BY id DESC",
    "SELECT CRC32(v) FROM several WHERE id = 1",
];

type Table = Vec<Vec<Option<String>>>;

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "too_few_files_for_rows_end_their_reads_alone".to_owned();
    vec![trial(name, (Ending::Kill, 1), run)]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let server = rounds.start()?;
    let rows = fill(rounds, &mut connect_bare(&server.address)?)?;
    let mut client = connect(&server.address)?;
    let expected: Result<Vec<Table>, String> =
        READS.iter().map(|sql| ask(&mut client, sql)).collect();
    let expected = expected?;
    drop(client);
    stop(&server)?;
    drop(server);
    // Nobody has read a row of the next server, so that no block of one is in its memory.
    let server = rounds.start()?;
    let mut client = connect(&server.address)?;
    let files = at_rest(rounds)?;
    if files.len() < FILES_LEFT_MIN {
        return Err(format!("{rows} rows lie in {} files", files.len()));
    }
    let process = PathBuf::from(format!("/proc/{}", server.process_id()));
    let open = open_of(&process, &files);
    let before = limit_files(&server, nearly_all(&process, 0)?)?;
    let refused = lack(&mut client, &expected)?;
    limit_files(&server, before)?;
    for (sql, expected) in READS.iter().zip(&expected) {
        let found = ask(&mut client, sql)?;
        if found != *expected {
            return Err(format!("{sql}, with files again: {found:?}"));
        }
    }
    done(&mut client, "INSERT INTO several VALUES (1000, 'x')")?;
    let log = rounds.log();
    if log.contains(READ_ONLY) {
        return Err(format!("the engine gave up: {log}"));
    }
    stop(&server)?;
    Ok(format!(
        "{rows} rows in {} files, {open} of them open: of {} reads {refused} ended with an error",
        files.len(),
        READS.len()
    ))
}

/// Makes the table, with rows in several files; how many rows.
fn fill(rounds: &Rounds, client: &mut Client) -> Result<u64, String> {
    for sql in [
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
        "CREATE TABLE several (id INT PRIMARY KEY, v LONGTEXT)".to_owned(),
    ] {
        done(client, &sql)?;
    }
    let mut files = 0;
    for row in 0..ROWS_MAX {
        let value = incompressible(rounds);
        let sql = format!("INSERT INTO several VALUES ({row}, {value})");
        client
            .execute(&sql)
            .map_err(|e| format!("row {row}: {e}"))?;
        if ROWS_MIN <= row {
            files = at_rest(rounds)?.len();
        }
        if FILES_MIN <= files {
            return Ok(row + 1);
        }
    }
    Err(format!("{ROWS_MAX} rows lie in {files} files"))
}

/// The files of rows, when none comes or goes any more.
fn at_rest(rounds: &Rounds) -> Result<Vec<PathBuf>, String> {
    let dir = rounds.directory().join("data/lsm/keyspaces/1/tables");
    let started = Instant::now();
    let (mut files, mut since) = (Vec::new(), started);
    while since.elapsed() < AT_REST {
        let mut found = Vec::new();
        walk(&dir, &mut found);
        found.sort();
        if found != files {
            (files, since) = (found, Instant::now());
        }
        if REST_MAX < started.elapsed() {
            return Err(format!("files of rows come and go for {REST_MAX:?}"));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(files)
}

/// How many of these files a process has open.
fn open_of(process: &Path, files: &[PathBuf]) -> usize {
    let entries = fs::read_dir(process.join("fd")).into_iter().flatten();
    let names = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let names: Vec<PathBuf> = names.collect();
    files.iter().filter(|file| names.contains(file)).count()
}

/// Reads without files to open; how many ended with an error: some, else there was no lack.
fn lack(client: &mut Client, expected: &[Table]) -> Result<usize, String> {
    let mut refused = 0;
    for (sql, expected) in READS.iter().zip(expected) {
        match client.rows(sql) {
            Ok(found) if found == *expected => {}
            Err(Failure::Server { errno, .. }) if errno != DAMAGED => refused += 1,
            other => return Err(format!("{sql}, without files: {other:?}")),
        }
        let after = ask(client, "SELECT 1")?;
        if after != [[Some("1".to_owned())]] {
            return Err(format!("SELECT 1 behind {sql}: {after:?}"));
        }
    }
    if refused == 0 {
        return Err("every read had its files: nothing was tried".to_owned());
    }
    Ok(refused)
}

fn ask(client: &mut Client, sql: &str) -> Result<Table, String> {
    client.rows(sql).map_err(|e| format!("{sql}: {e}"))
}
