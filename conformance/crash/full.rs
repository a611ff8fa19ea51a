//! A full disk: writes are refused with the numbers before the disk is full in truth, reads go on, what
//! makes room is done, and writes come back by themselves when there is room.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use rand::Rng;

use crate::client::{Client, Failure};
use crate::disk::Disk;
use crate::indexes::check;
use crate::server::{Launch, Server};
use crate::{
    DATABASE, Ending, READ_ONLY, Rounds, connect, connect_bare, kill, tools, trial,
    with_small_memtables,
};

/// The disk.
pub(crate) const BYTES: u64 = 400 << 20;
/// A row.
const ROW_BYTES: u64 = 500_000;
/// More rows than fit.
const ROWS_MAX: u64 = BYTES / ROW_BYTES;
/// What a delete needs; with less the reserve must be gone.
const NEEDED: u64 = 2 << 20;
/// The error.
pub(crate) const DISK_FULL: u16 = 1021;
/// What the log says of what a start without room does not tidy up.
const LEFT: &str = "is left to the next start";
/// After this time flushes have ended, and journals that are not needed are gone.
const FLUSHED: Duration = Duration::from_secs(2);
/// How long it may take until room that was made is there.
const BACK_MAX: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The disk is filled so often, and all rows are deleted, or one in two: what the first time leaves behind is in the way
/// of the second.
const DELETED_PARTS: [u64; 2] = [1, 2];
/// Rows that one statement deletes.
const DELETED_ROWS: usize = 100;

/// Rows of which a backup is made.
const BACKED_UP_ROWS: u64 = 100;
/// What writing needs beside the room of a compaction: the journal, and more than is in memory.
const WRITING_BYTES: u64 = 72 << 20;

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let of = |name: &str, run| trial(name.to_owned(), (Ending::Full, 1), run);
    vec![
        of("full_disk_ends_nothing_but_writes", run),
        of(
            "backups_and_files_leave_the_room_that_writing_needs",
            back_up,
        ),
        of("deleted_rows_give_their_room_back", delete_all),
    ]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    make_tables(&mut client).map_err(|e| e.to_string())?;
    for sql in [
        "CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY)",
        "INSERT INTO counted VALUES (NULL)",
    ] {
        done(&mut client, sql)?;
    }
    let rows = fill(&mut client)?;
    expect_no_room(&mut client)?;
    expect_reads(&mut client, rows)?;
    let reserve = rounds.directory().join("data/RESERVE");
    done(&mut client, "DELETE FROM large WHERE id = 0")?;
    expect_reads(&mut client, rows - 1)?;
    // Leaves a counter that the next start would delete.
    done(&mut client, "TRUNCATE TABLE counted")?;
    let server = restart_on_full_disk(rounds, server)?;
    let mut client = connect(&server.address)?;
    expect_reads(&mut client, rows - 1)?;
    // The trash keeps what was dropped until it is purged.
    for sql in [
        "CREATE TABLE another (id INT PRIMARY KEY)",
        "DROP TABLE another",
    ] {
        done(&mut client, sql)?;
    }
    done(&mut client, "DROP TABLE large")?;
    done(&mut client, "PURGE TABLE large")?;
    let dropped = wait_until_written(&mut client)?;
    done(
        &mut client,
        "CREATE TABLE large (id INT PRIMARY KEY, v LONGTEXT)",
    )?;
    fill(&mut client)?;
    done(&mut client, "TRUNCATE TABLE large")?;
    let truncated = wait_until_written(&mut client)?;
    let freed = fill_from_outside(rounds, &mut client)?;
    if !reserve.exists() {
        return Err(format!("there is no reserve again: {}", rounds.log()));
    }
    let log = rounds.log();
    if log.contains(READ_ONLY) {
        return Err(format!("the engine gave up: {log}"));
    }
    Ok(format!(
        "1021 after {} MB of {} MB; DROP and PURGE made room in {dropped:?}, TRUNCATE in {truncated:?}, a file's removal in {freed:?}",
        rows * ROW_BYTES / 1_000_000,
        BYTES / 1_000_000
    ))
}

/// DELETE alone makes room: nobody need know of OPTIMIZE, or give a table up.
fn delete_all(rounds: &Rounds) -> Result<String, String> {
    let server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    make_tables(&mut client).map_err(|e| e.to_string())?;
    let (mut counts, mut slowest) = (Vec::new(), Duration::ZERO);
    for part in DELETED_PARTS {
        // It was refused twice, some time apart: neither flushes nor compactions alone make room.
        counts.push(fill_by(&mut client, || incompressible(rounds))?);
        let count = counts.last().copied().unwrap_or(0);
        let until = count / part;
        // A statement that changes more than its memory holds is refused.
        for first in (0..until).step_by(DELETED_ROWS) {
            let last = until.min(first + DELETED_ROWS as u64);
            let sql = format!("DELETE FROM large WHERE id >= {first} AND id < {last}");
            done(&mut client, &sql)?;
        }
        let back = wait_until_written(&mut client);
        let back =
            back.map_err(|error| format!("after {counts:?} rows: {error}: {}", rounds.log()))?;
        slowest = slowest.max(back);
        let sql = "SELECT COUNT(*) FROM large WHERE id >= 0";
        let left = client.rows(sql);
        let left = left.map_err(|error| format!("{sql}: {error}"))?;
        if left != [[Some((count - until).to_string())]] {
            return Err(format!("{sql} after {counts:?} rows: {left:?}"));
        }
    }
    check(&mut client, "large")?;
    check(&mut client, "small")?;
    let log = rounds.log();
    if log.contains(READ_ONLY) {
        return Err(format!("the engine gave up: {log}"));
    }
    kill(&server)?;
    Ok(format!(
        "{counts:?} rows were deleted, and writes were back after {slowest:?} at most"
    ))
}

/// A directory of the disk under another name: what is there cannot be linked to.
struct Bound(PathBuf);

impl Bound {
    fn make(rounds: &Rounds) -> Result<Bound, String> {
        let inner = rounds.directory().join("data/lost+found/backups");
        let outer = rounds.directory().join("backups");
        for dir in [&inner.join("made"), &inner.join("files"), &outer] {
            fs::create_dir_all(dir).map_err(|error| error.to_string())?;
        }
        let places = [inner.as_os_str(), outer.as_os_str()];
        tools::run("mount", ["--bind".as_ref()].into_iter().chain(places))?;
        Ok(Bound(outer))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = tools::run("umount", ["-l".as_ref(), self.0.as_os_str()]);
    }
}

/// A backup that has to copy to the disk of the data is refused before flushes and compactions lack room, and a file of a
/// SELECT there.
fn back_up(rounds: &Rounds) -> Result<String, String> {
    let bound = Bound::make(rounds)?;
    let server = Server::start_with(
        &Launch {
            binary: &rounds.binary,
            engine: "lsm",
            directory: rounds.directory(),
            options: &[
                "--backup-dir",
                &bound.0.join("made").to_string_lossy(),
                "--secure-file-priv",
                &bound.0.join("files").to_string_lossy(),
            ],
        },
        &with_small_memtables(&[]),
    );
    let server = server.map_err(|error| error.to_string())?;
    let mut client = connect_bare(&server.address)?;
    make_tables(&mut client).map_err(|e| e.to_string())?;
    for row in 0..BACKED_UP_ROWS {
        let sql = format!(
            "INSERT INTO large VALUES ({row}, {})",
            incompressible(rounds)
        );
        client
            .execute(&sql)
            .map_err(|error| format!("row {row}: {error}"))?;
    }
    let rows_bytes = bytes_at_rest(&rounds.directory().join("data/lsm/keyspaces/1/tables"))?;
    // Enough for writing, and too little for a copy beside it.
    let filler = rounds.directory().join("data/lost+found/filler");
    fill_with(&filler, rows_bytes + rows_bytes / 2 + WRITING_BYTES)?;
    let backup = bound.0.join("made/one");
    let file = bound.0.join("files/rows");
    let quadruple = "SELECT CONCAT(v, v, v, v) FROM large WHERE id >= 0 INTO OUTFILE";
    for (sql, target) in [
        (format!("BACKUP TO '{}'", backup.display()), &backup),
        (format!("{quadruple} '{}'", file.display()), &file),
    ] {
        match client.execute(&sql) {
            Err(Failure::Server { errno, .. }) if errno == DISK_FULL => {}
            other => return Err(format!("{sql} without room: {other:?}")),
        }
        if target.exists() {
            return Err(format!("what was made by {sql} is there"));
        }
    }
    wait_until_written(&mut client)?;
    fs::remove_file(&filler).map_err(|error| error.to_string())?;
    done(&mut client, "INSERT INTO small VALUES (4, 4)")?;
    let log = rounds.log();
    if log.contains(READ_ONLY) {
        return Err(format!("the engine gave up: {log}"));
    }
    kill(&server)?;
    Ok(format!("{} MB of rows", rows_bytes / 1_000_000))
}

/// A value for a row. What compresses would take no room.
pub(crate) fn incompressible(rounds: &Rounds) -> String {
    let mut random = rounds.random.borrow_mut();
    let letters = (0..ROW_BYTES).map(|_| char::from(random.random_range(b'a'..=b'z')));
    format!("'{}'", letters.collect::<String>())
}

/// The bytes of files, when nothing is written any more.
fn bytes_at_rest(dir: &Path) -> Result<u64, String> {
    let started = Instant::now();
    let (mut bytes, mut since) = (0, started);
    while started.elapsed() < BACK_MAX {
        let found = bytes_of(dir);
        if found != bytes {
            (bytes, since) = (found, Instant::now());
        }
        if FLUSHED <= since.elapsed() && bytes < BACKED_UP_ROWS * ROW_BYTES * 3 / 2 {
            return Ok(bytes);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Err(format!("files of {bytes} bytes do not come to rest"))
}

fn bytes_of(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| entry.metadata().map_or(0, |found| found.len()));
    sizes.sum()
}

pub(crate) fn make_tables(client: &mut Client) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    client.execute(&format!("USE {DATABASE}"))?;
    client.execute("CREATE TABLE large (id INT PRIMARY KEY, v LONGTEXT)")?;
    client.execute("CREATE TABLE small (id INT PRIMARY KEY, v INT, KEY by_v (v))")?;
    client.execute("INSERT INTO small VALUES (1, 1), (2, 2)")?;
    Ok(())
}

/// Writes until there is no room, and none comes back from flushes; says how many rows there are.
fn fill(client: &mut Client) -> Result<u64, String> {
    fill_by(client, || format!("REPEAT('x', {ROW_BYTES})"))
}

/// The same, with the rows' values as they are given.
pub(crate) fn fill_by(
    client: &mut Client,
    mut value: impl FnMut() -> String,
) -> Result<u64, String> {
    let mut row = 0;
    let mut is_refused = false;
    while row < ROWS_MAX {
        let sql = format!("INSERT INTO large VALUES ({row}, {})", value());
        match client.execute(&sql) {
            Ok(_) => {
                row += 1;
                is_refused = false;
            }
            Err(Failure::Server { errno, text, .. }) if errno == DISK_FULL => {
                if !text.contains("bytes free, and writing needs") {
                    return Err(text);
                }
                if is_refused {
                    return Ok(row);
                }
                is_refused = true;
                std::thread::sleep(FLUSHED);
            }
            Err(failure) => return Err(format!("row {row}: {failure}")),
        }
    }
    Err("the disk does not become full".to_owned())
}

fn expect_no_room(client: &mut Client) -> Result<(), String> {
    for sql in [
        "INSERT INTO small VALUES (3, 3)",
        "UPDATE small SET v = 7 WHERE id = 1",
        "REPLACE INTO small VALUES (1, 9)",
    ] {
        match client.execute(sql) {
            Err(Failure::Server { errno, .. }) if errno == DISK_FULL => {}
            Err(failure) => return Err(format!("{sql}: {failure}")),
            Ok(_) => return Err(format!("{sql}: was done")),
        }
    }
    Ok(())
}

fn expect_reads(client: &mut Client, rows: u64) -> Result<(), String> {
    for (sql, expected) in [
        ("SELECT COUNT(*) FROM large WHERE id >= 0", rows.to_string()),
        (
            "SELECT LENGTH(v) FROM large WHERE id = 1",
            ROW_BYTES.to_string(),
        ),
        ("SELECT v FROM small WHERE id = 1", "1".to_owned()),
    ] {
        let found = client
            .rows(sql)
            .map_err(|error| format!("{sql}: {error}"))?;
        if found != [[Some(expected)]] {
            return Err(format!("{sql}: {found:?}"));
        }
    }
    Ok(())
}

pub(crate) fn done(client: &mut Client, sql: &str) -> Result<(), String> {
    let done = client.execute(sql);
    done.map(drop).map_err(|error| format!("{sql}: {error}"))
}

/// With nothing at all left, nor a reserve, a server starts, and reads; what it would tidy up waits.
fn restart_on_full_disk(rounds: &Rounds, server: Server) -> Result<Server, String> {
    kill(&server)?;
    drop(server);
    let reserve = rounds.directory().join("data/RESERVE");
    if reserve.exists() {
        fs::remove_file(&reserve).map_err(|error| error.to_string())?;
    }
    let filler = rounds.directory().join("data/lost+found/filler");
    fill_with(&filler, 0)?;
    let server = rounds.start()?;
    let mut client = connect(&server.address)?;
    let rows = client.rows("SELECT v FROM small WHERE id = 2");
    rows.map_err(|error| format!("a read on a full disk: {error}"))?;
    let log = rounds.log();
    if !log.contains(LEFT) {
        return Err(format!("nothing was left to the next start: {log}"));
    }
    fs::remove_file(&filler).map_err(|error| error.to_string())?;
    Ok(server)
}

/// Others fill the disk, and make room again.
fn fill_from_outside(rounds: &Rounds, client: &mut Client) -> Result<Duration, String> {
    let filler = rounds.directory().join("data/lost+found/filler");
    fill_with(&filler, 0)?;
    match client.execute("INSERT INTO small VALUES (4, 4)") {
        Err(Failure::Server { errno, .. }) if errno == DISK_FULL => {}
        other => return Err(format!("with a disk that others filled: {other:?}")),
    }
    for sql in [
        "DELETE FROM small WHERE id = 2",
        "TRUNCATE TABLE large",
        "DROP TABLE large",
        "PURGE TABLE large",
    ] {
        done(client, sql)?;
    }
    check(client, "small")?;
    let is_needed = Disk::free_bytes(&filler) < NEEDED;
    if is_needed && rounds.directory().join("data/RESERVE").exists() {
        return Err("the reserve was not given up".to_owned());
    }
    fs::remove_file(&filler).map_err(|error| error.to_string())?;
    let took = wait_until_written(client)?;
    check(client, "small")?;
    Ok(took)
}

/// Writes a file until so many bytes are left.
pub(crate) fn fill_with(path: &Path, left: u64) -> Result<(), String> {
    let mut file = File::create(path).map_err(|error| error.to_string())?;
    for bytes in [1 << 20, 4096, 1] {
        let zeros = vec![1; bytes];
        while left < Disk::free_bytes(path) && file.write_all(&zeros).is_ok() {}
    }
    // What the system has promised and not yet looked for.
    let _ = file.sync_all();
    Ok(())
}

pub(crate) fn wait_until_written(client: &mut Client) -> Result<Duration, String> {
    let started = Instant::now();
    loop {
        // Another value each time: what changes nothing is not written.
        let value = rand::random::<u16>();
        match client.execute(&format!("REPLACE INTO small VALUES (5, {value})")) {
            Ok(_) => return Ok(started.elapsed()),
            Err(Failure::Server { errno, .. }) if errno == DISK_FULL => {}
            Err(failure) => return Err(failure.to_string()),
        }
        if BACK_MAX < started.elapsed() {
            return Err(format!("writes have not come back after {BACK_MAX:?}"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
