//! One table out of a backup (`meseta restore --table`): from a damaged one, and killed in the middle.
//! It is there whole, or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand::Rng;

use crate::client::{Client, Failure};
use crate::{
    BINARY, FILLED_ROWS, KILL_ROUNDS, connect, expect_exit, files_below, filled, meseta, rounds,
    seeded, start, stop, text,
};

/// A kill comes at any moment, and well behind the usual end: what was dropped before is given back first.
const UNTIL: f64 = 2.0;

/// Where a file is flipped, in parts of 8.
const PLACES: [usize; 2] = [1, 4];

/// Puts the table into the data directory below `target`.
fn restore(backup: &Path, target: &Path) -> [String; 6] {
    let data = text(&target.join("data"));
    let words = [
        "restore",
        &text(backup),
        "--data-dir",
        &data,
        "--table",
        "shop.orders",
    ];
    words.map(str::to_owned)
}

/// A data directory of a server that has ended.
fn make_target(target: &Path) -> Result<(), String> {
    fs::create_dir_all(target).map_err(|e| e.to_string())?;
    stop(&start(target)?)
}

/// Whether a server finds the table, which must be whole then; it is taken away again.
fn is_there(target: &Path) -> Result<bool, String> {
    expect_exit(&["check", &text(&target.join("data"))], 0)?;
    let server = start(target)?;
    let is_there = is_whole(&mut connect(&server)?)?;
    stop(&server)?;
    Ok(is_there)
}

fn is_whole(client: &mut Client) -> Result<bool, String> {
    let told = |e: Failure| e.to_string();
    let sql = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop'";
    let is_there = client.rows(sql).map_err(told)? == [[Some("1".to_owned())]];
    if is_there {
        let sql = "SELECT COUNT(*) FROM shop.orders WHERE id >= 0 AND \
                   note = CONCAT('note ', id, ' ', id, ' ', id)";
        let rows = client.rows(sql).map_err(told)?;
        if rows != [[Some(FILLED_ROWS.to_string())]] {
            return Err(format!("{rows:?} of {FILLED_ROWS} rows are there"));
        }
        let found = client.rows("CHECK TABLE shop.orders").map_err(told)?;
        if found.len() != 1 || found[0][3].as_deref() != Some("OK") {
            return Err(format!("CHECK TABLE says {found:?}"));
        }
        client.execute("DROP TABLE shop.orders").map_err(told)?;
    }
    Ok(is_there)
}

/// A bit is flipped in every file, tables in several places: whatever is read of it is refused, and the
/// file named. Where nothing of the table is, it comes back whole.
pub(crate) fn damaged(dir: &Path) -> Result<String, String> {
    let (server, backup) = filled(dir)?;
    stop(&server)?;
    let target = dir.join("target");
    make_target(&target)?;
    let (mut refused, mut whole) = (0, 0);
    let largest = |path: &PathBuf| fs::metadata(path).map_or(0, |found| found.len());
    let rows = files_below(&backup.join("lsm/keyspaces/1/tables"));
    let rows = rows.into_iter().max_by_key(largest).ok_or("no table")?;
    for file in files_below(&backup) {
        let intact = fs::read(&file).map_err(|e| e.to_string())?;
        // Another file of that name: the old one is the server's, too.
        let put = |bytes: &[u8]| fs::remove_file(&file).and_then(|()| fs::write(&file, bytes));
        let mut was_refused = false;
        for place in PLACES {
            let mut bytes = intact.clone();
            let at = bytes.len() * place / 8;
            let Some(byte) = bytes.get_mut(at) else {
                continue;
            };
            *byte ^= 8;
            put(&bytes).map_err(|e| e.to_string())?;
            let arguments = restore(&backup, &target);
            let (code, told) = meseta(&arguments.each_ref().map(String::as_str))?;
            let place = format!("byte {at} of {}", text(&file));
            match code {
                2 if !told.contains(&text(&file)) => {
                    return Err(format!("{place} is not named: {told}"));
                }
                0 | 2 => {}
                _ => return Err(format!("{place}: exit code {code}: {told}")),
            }
            if is_there(&target).map_err(|e| format!("{place}: {e}"))? != (code == 0) {
                return Err(format!("{place}: exit code {code}, and it is not so"));
            }
            *(if code == 0 { &mut whole } else { &mut refused }) += 1;
            was_refused |= code == 2;
        }
        put(&intact).map_err(|e| e.to_string())?;
        let must_be = file == rows || file.ends_with("BACKUP");
        if must_be && !was_refused {
            return Err(format!("{} was not refused", text(&file)));
        }
    }
    Ok(format!(
        "{refused} flips refused, {whole} where nothing of the table is"
    ))
}

/// Killed at any moment, and tried again.
pub(crate) fn killed(dir: &Path) -> Result<String, String> {
    let (seed, mut random) = seeded();
    let (server, backup) = filled(dir)?;
    stop(&server)?;
    let target = dir.join("target");
    make_target(&target)?;
    let arguments = restore(&backup, &target);
    let started = Instant::now();
    expect_exit(&arguments.each_ref().map(String::as_str), 0)?;
    let usual = started.elapsed();
    if !is_there(&target)? {
        return Err("it was told, and is not there".to_owned());
    }
    let (mut none, mut whole) = (0, 0);
    for round in 0..rounds(KILL_ROUNDS) {
        let time = usual.mul_f64(random.random_range(0.0..UNTIL));
        let was_told = kill_after(&arguments, time)?;
        let told = |e| format!("round {round}, seed {seed}, killed after {time:?}: {e}");
        let is_there = is_there(&target).map_err(told)?;
        if was_told && !is_there {
            return Err(told("it was told, and is not there".to_owned()));
        }
        *(if is_there { &mut whole } else { &mut none }) += 1;
    }
    if none == 0 {
        return Err(format!("seed {seed}: no kill was before the end"));
    }
    expect_exit(&arguments.each_ref().map(String::as_str), 0)?;
    if !is_there(&target)? {
        return Err("after the kills it does not come back".to_owned());
    }
    Ok(format!(
        "seed {seed}: after {none} kills it was not there, after {whole} it was whole; usually it takes {usual:?}"
    ))
}

/// Runs `meseta` and kills it after some time, unless it has ended. Whether it said that all is done.
fn kill_after(arguments: &[String], time: Duration) -> Result<bool, String> {
    let mut child = Command::new(BINARY)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    thread::sleep(time);
    child.kill().map_err(|e| e.to_string())?;
    let status = child.wait().map_err(|e| e.to_string())?;
    Ok(status.success())
}
