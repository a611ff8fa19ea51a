//! Power cuts beside the loops: one in the middle of a server's very first start; and the counter-check,
//! a server whose syncs do nothing, which must be caught losing what it acknowledged.

use std::fs::File;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use rand::Rng;

use crate::disk::Disk;
use crate::oracle::Oracle;
use crate::tools;
use crate::writers;
use crate::{Ending, Rounds, connect, connect_bare, kill, trial, unless};

/// Cuts in a first start.
const FIRST_STARTS: u64 = 10;
/// When they come, after the start of the process.
const FIRST_MS: std::ops::Range<u64> = 1..700;
/// Rounds after which a server without syncs must have lost something: it has in the first, as good as
/// ever.
const UNSYNCED_ROUNDS: u64 = 5;
/// The time its writers have: less than the time after which the system writes by itself.
const UNSYNCED_TIME: Duration = Duration::from_millis(400);

/// Without it syncs are believed.
const MISSING: &str = "libeatmydata is not installed (Debian: libeatmydata1)";

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let of =
        |name: &str, count, run| trial(format!("power_cut_{name}"), (Ending::Power, count), run);
    let counter_check = of(
        "without_syncs_loses_acknowledged_writes",
        UNSYNCED_ROUNDS,
        unsynced,
    );
    let missing = tools::eatmydata().is_none().then_some(MISSING);
    vec![
        of("in_the_first_start_is_no_harm", FIRST_STARTS, first_starts),
        unless(counter_check, missing),
    ]
}

fn first_starts(rounds: &Rounds) -> Result<String, String> {
    let disk = rounds.disk()?;
    let mut before = 0;
    for round in 1..=rounds.count {
        let log = File::create(rounds.directory().join("first.log")).map_err(|e| e.to_string())?;
        let mut child = Command::new(&rounds.binary)
            .args(["--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&disk.mount)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|e| e.to_string())?;
        let time = rounds.random.borrow_mut().random_range(FIRST_MS);
        thread::sleep(Duration::from_millis(time));
        disk.cut()?;
        child
            .kill()
            .and_then(|()| child.wait())
            .map_err(|e| e.to_string())?;
        disk.restore()?;
        before += u64::from(!disk.mount.join("MESETA").exists());
        let told = |e| format!("round {round}, cut after {time} ms: {e}");
        let server = rounds.start().map_err(told)?;
        let mut client = connect_bare(&server.address).map_err(told)?;
        client
            .execute("CREATE DATABASE d")
            .map_err(|e| told(e.to_string()))?;
        drop(client);
        kill(&server)?;
        // The next round begins with nothing again.
        wipe(disk)?;
    }
    Ok(format!(
        "{before} cuts were before the directory was complete"
    ))
}

/// What a server says that refuses what it finds.
const TELLS_LOSS: [&str; 2] = ["damaged", "is missing"];

fn unsynced(rounds: &Rounds) -> Result<String, String> {
    let library = tools::eatmydata().ok_or(MISSING)?;
    let preload = (
        "LD_PRELOAD".to_owned(),
        library.to_string_lossy().into_owned(),
    );
    let mut oracle = Oracle::default();
    let server = rounds.start()?;
    writers::make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    kill(&server)?;
    rounds.disk()?.sync()?;
    for round in 1..=rounds.count {
        let server = rounds.start_with(std::slice::from_ref(&preload))?;
        let logs = writers::run_until_ended((rounds, &server), UNSYNCED_TIME, &oracle)?;
        oracle.note(&logs);
        // A server that refuses what it finds has lost it; one that cannot be asked shows nothing.
        let found = match rounds.start() {
            Ok(server) => oracle.verify(&mut connect(&server.address)?),
            Err(refusal) if TELLS_LOSS.iter().any(|text| rounds.log().contains(text)) => {
                Err(refusal)
            }
            Err(other) => return Err(other),
        };
        if let Err(lost) = found {
            wipe(rounds.disk()?)?;
            return Ok(format!("as it must, it lost in round {round}: {lost}"));
        }
    }
    Err("a server without syncs lost nothing: the power cuts cut nothing".to_owned())
}

/// Removes all that a server wrote.
pub(crate) fn wipe(disk: &Disk) -> Result<(), String> {
    for entry in std::fs::read_dir(&disk.mount)
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = entry.path();
        let removed = match path.is_dir() {
            true if path.ends_with("lost+found") => Ok(()),
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        };
        removed.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    disk.sync()
}
