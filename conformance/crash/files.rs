//! What an idle server may keep: in its data directory, and in memory. The files of rows are
//! those that it counts itself: one that it forgot would stay for good.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::Door;

/// How long a server may take to come to rest.
const SETTLE_MAX: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Files of rows, lists of files, journals: none is left over from earlier servers.
const FILES_MAX: usize = 120;
/// KiB of a process that has done nothing yet but start, compact, and answer what checks the round; its cache
/// is small.
const RSS_KIB_MAX: u64 = 256 << 10;

/// What a server at rest has.
struct Found {
    files: Vec<PathBuf>,
    rss_kib: u64,
}

/// Waits until a server is at rest; says what it has then.
pub(crate) fn settle(data: &Path, process_id: u32, door: &Door) -> Result<String, String> {
    patiently(|| count((look(data, process_id)?, door)))
}

/// Waits until a server has no more files and memory than it may, after a round.
pub(crate) fn rest(data: &Path, process_id: u32) -> Result<(), String> {
    patiently(|| look(data, process_id)).map(drop)
}

fn patiently<T>(find: impl Fn() -> Result<T, String>) -> Result<T, String> {
    let deadline = Instant::now() + SETTLE_MAX;
    loop {
        let found = find();
        if found.is_ok() || deadline < Instant::now() {
            return found;
        }
        // Work behind the start may be writing a file that has its name only when it is whole.
        thread::sleep(POLL_INTERVAL);
    }
}

fn look(data: &Path, process_id: u32) -> Result<Found, String> {
    let mut files = Vec::new();
    walk(data, &mut files);
    if let Some(stray) = files.iter().find(|path| is_stray(data, path)) {
        return Err(format!("{} is left over", stray.display()));
    }
    let rss_kib = rss_kib(process_id)?;
    let count = files.len();
    if FILES_MAX < count || RSS_KIB_MAX < rss_kib {
        return Err(format!(
            "at rest there are {count} files and {rss_kib} KiB of memory"
        ));
    }
    Ok(Found { files, rss_kib })
}

/// Holds the files of rows to those that the server knows of.
fn count((found, door): (Found, &Door)) -> Result<String, String> {
    let Found { files, rss_kib } = found;
    let is_rows = |path: &&PathBuf| path.to_string_lossy().contains("/keyspaces/1/tables/");
    let there = files.iter().filter(is_rows).count();
    let counted = door.metric("meseta_lsm_tables")?;
    if counted.to_string() != there.to_string() {
        return Err(format!(
            "there are {there} files of rows, and the server counts {counted}"
        ));
    }
    let is_dictionary = |path: &&PathBuf| path.to_string_lossy().contains("/dictionaries/");
    let dictionaries = files.iter().filter(is_dictionary).count();
    Ok(format!(
        "{} files, {dictionaries} of them dictionaries, {} MiB of memory",
        files.len(),
        rss_kib >> 10
    ))
}

/// All files below a directory.
pub(crate) fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Whether a file is one that no server needs.
fn is_stray(data: &Path, path: &Path) -> bool {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let within = path
        .strip_prefix(data)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned();
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    if let Some(within) = within.strip_prefix("lsm/") {
        let is_journal = name.strip_suffix(".jnl").is_some_and(is_number);
        let is_list = name == "current" || name.strip_prefix('v').is_some_and(is_number);
        let is_numbered = within.contains("/tables/") || within.starts_with("dictionaries/");
        let is_rows = is_numbered && is_number(&name);
        let is_other = ["lock", "version", "run"].contains(&name.as_str());
        return !(is_journal || is_list || is_rows || is_other);
    }
    within.starts_with("spill") || name.strip_suffix(".new").is_some()
}

fn rss_kib(process_id: u32) -> Result<u64, String> {
    let status = fs::read_to_string(format!("/proc/{process_id}/status"));
    let status = status.map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.ok_or_else(|| "the server is gone".to_owned())
}
