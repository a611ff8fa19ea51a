//! A power cut right behind a BACKUP that was acknowledged: it is whole, and has what was acknowledged
//! before it began. Data and backups lie on the disk that is cut, so that tables are links.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use libtest_mimic::Trial;

use crate::client::Client;
use crate::server::{Launch, Server};
use crate::{
    Ending, Rounds, connect_bare, freeze, kill, others, power, trial, with_small_memtables,
};

/// Cuts.
const CUTS: u64 = 6;
/// Statements before a backup: some, so that there are tables, which are linked, and a journal.
const STATEMENTS: u64 = 60;
const ROWS: u64 = 10;

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "power_cut_spares_an_acknowledged_backup".to_owned();
    vec![trial(name, (Ending::Power, others(CUTS)), run)]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let disk = rounds.disk()?;
    let (mut statements, started) = (0, Instant::now());
    for round in 1..=rounds.count {
        let told = |e| format!("round {round}: {e}");
        let dir = disk.mount.join("server");
        let backups = disk.mount.join("backups");
        fs::create_dir_all(&backups).map_err(|e| e.to_string())?;
        disk.sync()?;
        let server = start(rounds, &dir, &backups).map_err(told)?;
        let mut client = connect_bare(&server.address)?;
        let backup = backups.join(format!("b{round}"));
        let sql = format!("BACKUP TO '{}'", backup.display());
        statements = write_more(&mut client, statements).map_err(told)?;
        client.rows(&sql).map_err(|e| told(e.to_string()))?;
        freeze(&server)?;
        disk.cut()?;
        kill(&server)?;
        disk.restore()?;
        let new = rounds.directory().join(format!("new-{round}"));
        expect_whole(rounds, (&backup, &new), statements).map_err(told)?;
        // Of many rounds the backups would fill the disk.
        for dir in [&new, &backup] {
            fs::remove_dir_all(dir).map_err(|e| e.to_string())?;
        }
    }
    power::wipe(disk)?;
    let took = started.elapsed();
    Ok(format!(
        "{} backups are whole, the last has {statements} statements; all in {took:?}",
        rounds.count
    ))
}

fn start(rounds: &Rounds, dir: &Path, backups: &Path) -> Result<Server, String> {
    let launch = Launch {
        binary: &rounds.binary,
        engine: "lsm",
        directory: dir,
        options: &["--backup-dir", &backups.display().to_string()],
    };
    let server = Server::start_with(&launch, &with_small_memtables(&[]));
    server.map_err(|e| e.to_string())
}

/// Some more statements, which are numbered; how many there are of them now, all acknowledged.
fn write_more(client: &mut Client, before: u64) -> Result<u64, String> {
    let mut run = |sql: &str| {
        client
            .execute(sql)
            .map(drop)
            .map_err(|e| format!("{sql}: {e}"))
    };
    if before == 0 {
        run("CREATE DATABASE d")?;
        run("CREATE TABLE d.t (n INT, part INT, v VARCHAR(600), PRIMARY KEY (n, part), KEY (v))")?;
    }
    let after = before + STATEMENTS;
    for n in before..after {
        let row = |part| format!("({n}, {part}, REPEAT('{n} {part} ', 50))");
        let rows: Vec<String> = (0..ROWS).map(row).collect();
        run(&format!("INSERT INTO d.t VALUES {}", rows.join(", ")))?;
    }
    Ok(after)
}

/// The backup is well, and becomes a server that has these statements and nothing else.
fn expect_whole(
    rounds: &Rounds,
    (backup, new): (&Path, &Path),
    statements: u64,
) -> Result<(), String> {
    let data = new.join("data");
    fs::create_dir(new).map_err(|e| e.to_string())?;
    let meseta = |arguments: &[&Path]| {
        let ran = Command::new(&rounds.binary).args(arguments).output();
        let ran = ran.map_err(|e| e.to_string())?;
        let text = [ran.stdout, ran.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        ran.status.success().then_some(()).ok_or(text)
    };
    meseta(&[Path::new("check"), backup])?;
    meseta(&[Path::new("restore"), backup, Path::new("--data-dir"), &data])?;
    let server = start(rounds, new, new)?;
    let mut client = connect_bare(&server.address)?;
    let sql = "SELECT COUNT(*), MAX(n) FROM d.t WHERE n >= 0 AND v = REPEAT(CONCAT(n, ' ', part, ' '), 50)";
    let found = client.rows(sql).map_err(|e| e.to_string())?;
    let expected = [statements * ROWS, statements - 1].map(|number| Some(number.to_string()));
    if found != [expected] {
        return Err(format!("after {statements} statements {found:?} is there"));
    }
    let found = client.rows("CHECK TABLE d.t").map_err(|e| e.to_string())?;
    if found.len() != 1 || found[0][3].as_deref() != Some("OK") {
        return Err(format!("CHECK TABLE says {found:?}"));
    }
    kill(&server)
}
