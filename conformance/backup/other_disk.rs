//! Backups on another disk than that of the data, where tables are copied and not linked: under full load they
//! are states that existed all the same, and a disk that becomes full in the middle of one costs nothing but
//! that backup.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;

use crate::client::{Client, Failure};
use crate::load::{self, Load};
use crate::server::Server;
use crate::{
    back_up_under_load, connect, expect_exit, files_below, given_up, rounds, start_with, stop, text,
};

/// A disk in memory.
const OTHER_DISK: &str = "/dev/shm";
/// Backups under load; no more are made at once, whatever is asked for, since all lie in memory.
const ROUNDS: u64 = 3;
const ROUNDS_MAX: u64 = 12;
/// What one of them may take: journals of 64 MB each, and the tables.
const BACKUP_BYTES: u64 = 256 << 20;

/// The disk that becomes full, and what it has when it has room again.
const SMALL_MIB: u64 = 8;
const GROWN_MIB: u64 = 512;
/// Rows of letters by chance, which take more than that even where five bits of each letter are stored.
const ROWS: u64 = 48;
const ROW_BYTES: usize = 500_000;
/// Backups that meet the full disk: to a new directory, and to an empty one.
const FULL_BACKUPS: usize = 2;
/// How long a writer may take for one write more.
const PATIENCE: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A directory on another disk; `None` where there is only the one of `dir`.
pub(crate) fn made(dir: &Path) -> Result<Option<TempDir>, String> {
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    let other = Path::new(OTHER_DISK);
    if device(other).is_none() || device(other) == device(dir) {
        return Ok(None);
    }
    let made = tempfile::tempdir_in(other);
    made.map(Some).map_err(|e| e.to_string())
}

/// What is said where there is none.
pub(crate) fn none() -> String {
    format!("skipped: {OTHER_DISK} is no other disk")
}

/// What the system has for programs without swapping (`proc_meminfo(5)`).
fn available_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// What is shown of backups with links holds for those with copies, which take longer.
pub(crate) fn under_load(dir: &Path) -> Result<String, String> {
    let Some(backups) = made(dir)? else {
        return Ok(none());
    };
    let count = rounds(ROUNDS).min(ROUNDS_MAX);
    let disk = rustix::fs::statvfs(backups.path()).map_err(|e| e.to_string())?;
    // Of memory it promises more than there may be.
    let free = (disk.f_bavail * disk.f_frsize).min(available_bytes());
    let needed = count * BACKUP_BYTES;
    if free < needed {
        return Ok(format!(
            "skipped: {OTHER_DISK} has {free} bytes free, and {count} backups may take {needed}"
        ));
    }
    let backups = backups.path().canonicalize().map_err(|e| e.to_string())?;
    let told = back_up_under_load((dir, &backups), count)?;
    for round in 0..count {
        let made = backups.join(round.to_string());
        if files_below(&made.join("lsm/keyspaces/1/tables")).is_empty() {
            return Err(format!("backup {round}: no table was copied"));
        }
    }
    Ok(format!("on {OTHER_DISK}: {told}"))
}

/// A filesystem of its own in memory; unmounted when dropped.
struct Small(PathBuf);

impl Small {
    /// Takes root, and a system that lets it mount.
    fn mount(dir: PathBuf) -> Result<Small, String> {
        fs::create_dir(&dir).map_err(|e| e.to_string())?;
        let size = format!("size={SMALL_MIB}m");
        run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", &text(&dir)])?;
        Ok(Small(dir))
    }

    /// Makes room.
    fn grow(&self) -> Result<(), String> {
        let size = format!("remount,size={GROWN_MIB}m");
        run("mount", &["-o", &size, &text(&self.0)])
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = run("umount", &["-l", &text(&self.0)]);
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let ended = Command::new(program).args(arguments).output();
    let ended = ended.map_err(|e| format!("{program}: {e}"))?;
    if ended.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&ended.stderr);
    Err(format!("{program}: {}", told.trim()))
}

/// The disk of the backups becomes full in the middle of a table, under load: the backup is refused and taken
/// away, and writers go on. With more room the same places take backups.
pub(crate) fn full(dir: &Path) -> Result<String, String> {
    let small = match Small::mount(dir.join("small")) {
        Ok(small) => small,
        Err(why) => return Ok(format!("skipped: no small disk can be made here: {why}")),
    };
    let server = start_with(dir, &small.0)?;
    let mut client = connect(&server)?;
    Load::make_tables(&mut client)?;
    fill(&mut client)?;
    let load = Load::start(&server.address)?;
    let (new, empty) = (small.0.join("new"), small.0.join("empty"));
    fs::create_dir(&empty).map_err(|e| e.to_string())?;
    for (path, is_new) in [(&new, true), (&empty, false)] {
        expect_full(&server, path)?;
        given_up::expect_nothing(path, is_new)?;
        expect_writes(&load)?;
    }
    small.grow()?;
    for path in [&new, &empty] {
        let sql = format!("BACKUP TO '{}'", text(path));
        client.rows(&sql).map_err(|e| format!("{sql}: {e}"))?;
        expect_exit(&["check", &text(path)], 0)?;
    }
    let times = load.stop()?;
    load::expect_load(&times, FULL_BACKUPS)?;
    drop(client);
    stop(&server)?;
    let writes: usize = times.iter().map(Vec::len).sum();
    Ok(format!(
        "{SMALL_MIB} MiB were full in the middle of a table, {FULL_BACKUPS} times, under {writes} writes"
    ))
}

/// Rows that do not fit on the small disk.
fn fill(client: &mut Client) -> Result<(), String> {
    let mut run = |sql: &str| client.execute(sql).map(drop).map_err(|e| e.to_string());
    run("CREATE TABLE large (id INT PRIMARY KEY, v LONGTEXT)")?;
    let mut random = StdRng::seed_from_u64(2);
    for id in 0..ROWS {
        let letters = (0..ROW_BYTES).map(|_| char::from(random.random_range(b'a'..=b'z')));
        let value: String = letters.collect();
        run(&format!("INSERT INTO large VALUES ({id}, '{value}')"))?;
    }
    Ok(())
}

/// A backup for which there is no room, which is found out while a table is copied.
fn expect_full(server: &Server, path: &Path) -> Result<(), String> {
    let sql = format!("BACKUP TO '{}'", text(path));
    match connect(server)?.rows(&sql) {
        Err(Failure::Server {
            errno: 1021,
            text: told,
            ..
        }) if told.contains("/tables/") => Ok(()),
        other => Err(format!("{sql} on a disk that is too small: {other:?}")),
    }
}

/// Each writer is answered once more at least.
fn expect_writes(load: &Load) -> Result<(), String> {
    let before = load.acknowledged();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = load.acknowledged();
        if before.iter().zip(&now).all(|(before, now)| before < now) {
            return Ok(());
        }
        if deadline < Instant::now() {
            return Err(format!(
                "beside a backup without room writers are stuck: {before:?} writes, then {now:?}"
            ));
        }
        thread::sleep(POLL_INTERVAL);
    }
}
