//! The bar of `meseta check` and `meseta restore`, as a terminal gets it: it moves within one table, never
//! goes back, and is gone before anything else is said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{BINARY, connect, files_below, filled, start, stop, text};

/// Rows enough, with the indexes, to read for several times as long as lies between two drawings of the bar.
const BLOCKS: u64 = 120;
const BLOCK_ROWS: u64 = 500;
const TABLE: &str = "CREATE TABLE shop.large (id INT PRIMARY KEY, a INT, b INT, v VARCHAR(40), KEY (a), \
                     KEY (b), KEY (v), KEY (a, b), KEY (b, a), KEY (v, a), KEY (a, v))";
/// Takes the bar away.
const CLEARED: &str = "\r\u{1b}[K";

pub(crate) fn all(dir: &Path) -> Result<String, String> {
    if Command::new("script").arg("--version").output().is_err() {
        return Ok("skipped: no script command to give it a terminal".to_owned());
    }
    let backup = large(dir)?;
    let told = on_terminal(&["check", &text(&backup)])?;
    let checked = expect_moved(&told, "reading tables")?;
    expect_end(&told, "checked ")?;

    let target = dir.join("target");
    fs::create_dir(&target).map_err(|e| e.to_string())?;
    stop(&start(&target)?)?;
    let data = text(&target.join("data"));
    let table = ["--data-dir", &data, "--table", "shop.large"];
    damage_end(&backup)?;
    let told = on_terminal(&[&["restore", &text(&backup)][..], &table].concat())?;
    expect_end(&told, "meseta: ")?;
    damage_end(&backup)?;
    let told = on_terminal(&[&["restore", &text(&backup)][..], &table].concat())?;
    let copied = expect_moved(&told, "copying")?;
    expect_end(&told, "restored shop.large")?;
    Ok(format!(
        "{checked} states of the bar of a check, {copied} of a restored table"
    ))
}

/// A backup with one large table.
pub(crate) fn large(dir: &Path) -> Result<PathBuf, String> {
    let (server, _) = filled(dir)?;
    let mut client = connect(&server)?;
    client.execute(TABLE).map_err(|e| e.to_string())?;
    for block in 0..BLOCKS {
        let row = |id| format!("({id}, {}, {id}, 'note {id} of many')", id % 1000);
        let first = block * BLOCK_ROWS;
        let rows: Vec<String> = (first..first + BLOCK_ROWS).map(row).collect();
        let sql = format!("INSERT INTO shop.large VALUES {}", rows.join(", "));
        client.execute(&sql).map_err(|e| e.to_string())?;
    }
    let path = dir.join("backups/large");
    let made = client.rows(&format!("BACKUP TO '{}'", text(&path)));
    made.map_err(|e| e.to_string())?;
    drop(client);
    stop(&server)?;
    Ok(path)
}

/// Flips bits of the rows in the newest table, which is read behind others; or flips them back.
fn damage_end(backup: &Path) -> Result<(), String> {
    let tables = files_below(&backup.join("lsm/keyspaces/1/tables"));
    let largest = |path: &PathBuf| fs::metadata(path).map_or(0, |found| found.len());
    let file = tables.into_iter().max_by_key(largest).ok_or("no table")?;
    let mut bytes = fs::read(&file).map_err(|e| e.to_string())?;
    let at = bytes.len() / 2;
    bytes[at] ^= 8;
    // The old file of that name is the server's, too.
    let written = fs::remove_file(&file).and_then(|()| fs::write(&file, bytes));
    written.map_err(|e| e.to_string())
}

/// What `meseta` writes to a terminal of its own.
fn on_terminal(arguments: &[&str]) -> Result<String, String> {
    let command = [&[BINARY], arguments].concat().join(" ");
    let ran = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    let ran = ran.map_err(|e| e.to_string())?;
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// How many states there were of the bar: some within the table, and none behind a later one.
fn expect_moved(told: &str, what: &str) -> Result<usize, String> {
    let begin = format!("\r{what} [");
    let shown = told.split(&begin).skip(1);
    let percents: Option<Vec<u32>> = shown
        .map(|rest| {
            let (_, rest) = rest.split_once("] ")?;
            rest.split_once(" %")?.0.trim().parse().ok()
        })
        .collect();
    let percents = percents.ok_or_else(|| format!("no percents: {told:?}"))?;
    let within = percents
        .iter()
        .filter(|percent| (1..100).contains(*percent));
    if within.count() < 2 || !percents.is_sorted() {
        return Err(format!("{what}: {percents:?}, in {told:?}"));
    }
    Ok(percents.len())
}

/// The bar is gone when the last is said, which begins its line.
fn expect_end(told: &str, begin: &str) -> Result<(), String> {
    let last = told.rsplit(CLEARED).next().unwrap_or_default();
    let is_so = told.contains(CLEARED) && last.starts_with(begin) && !last.contains('[');
    is_so
        .then_some(())
        .ok_or_else(|| format!("'{begin}' does not come behind the bar: {told:?}"))
}
