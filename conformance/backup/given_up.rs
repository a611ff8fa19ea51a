//! `KILL QUERY` of a BACKUP that is being made: it ends, and nothing is left of it.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::Failure;
use crate::server::Server;
use crate::{connect, expect_exit, fill_journal, other_disk, start_with, stop, text};

/// How long a backup may take to begin.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn all(dir: &Path) -> Result<String, String> {
    let backups = dir.join("backups");
    fs::create_dir_all(&backups).map_err(|e| e.to_string())?;
    on_disk(&dir.join("one"), &backups)?;
    // A copy of a table can be no link there.
    let Some(backups) = other_disk::made(dir)? else {
        return Ok(format!("on one disk; {}", other_disk::none()));
    };
    on_disk(&dir.join("other"), backups.path())?;
    Ok("on the disk of the data and on another one".to_owned())
}

fn on_disk(dir: &Path, backups: &Path) -> Result<(), String> {
    let server = start_with(dir, backups)?;
    let mut client = connect(&server)?;
    for sql in ["CREATE DATABASE d", "USE d"] {
        client.execute(sql).map_err(|e| e.to_string())?;
    }
    // Tens of megabytes, which are copied wherever the backup lies.
    fill_journal(&mut client)?;
    let (new, empty) = (backups.join("new"), backups.join("empty"));
    fs::create_dir(&empty).map_err(|e| e.to_string())?;
    for (path, is_new) in [(&new, true), (&empty, false)] {
        give_up(&server, path)?;
        expect_nothing(path, is_new)?;
    }
    // The places are free, and the server makes backups.
    for path in [&new, &empty] {
        let sql = format!("BACKUP TO '{}'", text(path));
        client.rows(&sql).map_err(|e| format!("{sql}: {e}"))?;
        expect_exit(&["check", &text(path)], 0)?;
    }
    drop(client);
    stop(&server)
}

/// Nothing is left of a backup: its directory is gone if it was made for it, and else empty, as it was.
pub(crate) fn expect_nothing(path: &Path, is_new: bool) -> Result<(), String> {
    let is_gone = match fs::read_dir(path) {
        Err(_) => is_new,
        Ok(mut left) => !is_new && left.next().is_none(),
    };
    if is_gone {
        return Ok(());
    }
    Err(format!("something is left in {}", text(path)))
}

/// Has a BACKUP begin, kills it, and sees it end so; its connection goes on.
fn give_up(server: &Server, path: &Path) -> Result<(), String> {
    let mut victim = connect(server)?;
    let id = victim.connection_id;
    let sql = format!("BACKUP TO '{}'", text(path));
    let running = thread::spawn(move || {
        let ended = victim.rows(&sql);
        (ended, victim.rows("SELECT 1"))
    });
    let deadline = Instant::now() + PATIENCE;
    while !path.join("BACKUP.part").exists() {
        if deadline < Instant::now() {
            return Err(format!("no backup begins in {}", text(path)));
        }
        thread::sleep(Duration::from_millis(1));
    }
    let mut client = connect(server)?;
    let killed = client.execute(&format!("KILL QUERY {id}"));
    killed.map_err(|e| e.to_string())?;
    match running.join().map_err(|_| "a thread panicked")? {
        (Err(Failure::Server { errno: 1317, .. }), Ok(_)) => Ok(()),
        (ended, after) => Err(format!("BACKUP: {ended:?}; SELECT: {after:?}")),
    }
}
