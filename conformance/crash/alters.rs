//! Kills the server while a table is altered and writers go on: the primary key, a column whose values
//! are looked at, an index. After the restart the definition is the old one or the new one, what was
//! acknowledged is there, and what goes on goes on to its end.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::builds::{BUILD_TIMEOUT, POLL_INTERVAL, fill, wait_until_built};
use crate::client::{Client, Failure};
use crate::indexes::{check, check_built};
use crate::ring::Ring;
use crate::server::Server;
use crate::{LONG, Rounds, connect, connect_bare, is_over};

/// The table.
const TABLE: &str = "altered";
/// Its options: to say them again changes nothing.
const OPTIONS: &str = "COMMENT = 'altered'";
/// The least and the most time from the start of a change to the kill.
const ROUND_MS: std::ops::Range<u64> = 5..500;
/// Another change is under way, or has just been made.
const BUSY: [u16; 2] = [1205, 1412];

/// Keys that the statements of the writers can use.
const KEYS: [&str; 5] = [
    "(`writer`,`k`,`part`)",
    "(`k` DESC,`writer`,`part` DESC)",
    "(`writer` DESC,`part`,`k`)",
    "(`k`,`part`,`writer`)",
    "(`writer`,`k`)",
];
/// The one of them that several rows have, as long as [`Ring::shares_keys`].
const SHARED_KEY: &str = KEYS[4];

/// The lines of SHOW CREATE TABLE, without commas.
type Definition = BTreeSet<String>;

/// One change.
#[derive(Debug, Clone)]
struct Plan {
    actions: String,
    /// The line that goes, by how it begins.
    old: Option<&'static str>,
    /// The line that comes.
    new: Option<String>,
    fit: Fit,
}

/// Whether the rows that are there fit a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Always,
    /// While no two of them have one key.
    Unshared,
    Never,
}

/// A change that was asked for, and what was answered.
#[derive(Debug, Clone)]
struct Asked {
    plan: Plan,
    told: Told,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Done,
    /// The rows do not fit.
    Refused,
    /// The server ended before.
    Nothing,
}

#[derive(Debug, Default)]
struct Counts {
    done: u32,
    /// Of those: to [`SHARED_KEY`].
    unshared: u32,
    refused: u32,
    gone: u32,
    resumed: u32,
}

/// Runs all rounds.
pub(crate) fn run(rounds: &Rounds) -> Result<String, String> {
    let mut random = StdRng::seed_from_u64(rounds.seed);
    let mut ring = Ring::default();
    let mut counts = Counts::default();
    let mut server = rounds.start()?;
    let mut client = connect_bare(&server.address)?;
    fill(&mut client, TABLE, OPTIONS).map_err(|e| e.to_string())?;
    let index = format!("CREATE UNIQUE INDEX by_u ON {TABLE} (u) INCLUDE (v)");
    client.execute(&index).map_err(|e| e.to_string())?;
    let mut before = definition(&mut client)?;
    let mut open = None;
    for round in 1..=rounds.count {
        let told = |e| format!("round {round}, seed {}: {e}", rounds.seed);
        let writers = ring.start(&server.address, TABLE)?;
        let asking = match open {
            None => Some(ask(&server, plan(&mut random, &before))?),
            Some(_) => None,
        };
        thread::sleep(Duration::from_millis(random.random_range(ROUND_MS)));
        rounds.end(&server)?;
        let acknowledged = Ring::join(writers).map_err(told)?;
        if let Some(asking) = asking {
            let asked = asking.join();
            let asked = asked.map_err(|_| "a changer panicked".to_owned())?;
            open = Some(asked.map_err(told)?);
        }
        server = rounds.start()?;
        counts.resumed += u32::from(has_resumed(rounds.directory()));
        let mut client = connect(&server.address)?;
        ring.verify(&mut client, TABLE, &acknowledged)
            .and_then(|()| check_built(&mut client, TABLE))
            .and_then(|()| rounds.rest(&server))
            .map_err(told)?;
        // At times the next round kills the same change again.
        let is_last = round == rounds.count;
        if let Some(asked) = &open
            && (is_last || random.random_bool(0.7))
        {
            let state = (asked, &mut before, ring.shares_keys());
            settle(&mut client, state, &mut counts).map_err(told)?;
            ring.verify(&mut client, TABLE, &acknowledged)
                .map_err(told)?;
            open = None;
        }
    }
    ring.check_progress()?;
    if LONG <= rounds.count && counts.resumed == 0 {
        return Err("no kill fell into a change that went on".to_owned());
    }
    if counts.done + counts.refused + counts.gone == 0 {
        return Err("no change was asked for".to_owned());
    }
    Ok(format!(
        "{} changes were made, {} of them to a key that rows may share, {} were refused, {} were \
         gone or did not fit, {} went on after a kill; {}; CHECK TABLE OK every time",
        counts.done,
        counts.unshared,
        counts.refused,
        counts.gone,
        counts.resumed,
        ring.summary()
    ))
}

fn plan(random: &mut StdRng, before: &Definition) -> Plan {
    let has = |begin: &str| before.iter().any(|line| line.starts_with(begin));
    match random.random_range(0..8) {
        0..=3 => {
            let others: Vec<&&str> = KEYS.iter().filter(|key| !has(&primary(key))).collect();
            let key = others.choose(random).copied().copied().unwrap_or(KEYS[0]);
            rekey(random, key)
        }
        4 if has("`g` int NOT NULL") => line(
            Some("`g`"),
            "`g` int DEFAULT NULL",
            "MODIFY g INT",
            Fit::Always,
        ),
        4 => line(
            Some("`g`"),
            "`g` int NOT NULL",
            "MODIFY g INT NOT NULL",
            Fit::Always,
        ),
        5 => line(
            Some("`v`"),
            "`v` varchar(8) DEFAULT NULL",
            "MODIFY v VARCHAR(8)",
            Fit::Never,
        ),
        6 if has("`x`") => Plan {
            actions: "DROP COLUMN x".to_owned(),
            old: Some("`x`"),
            new: None,
            fit: Fit::Always,
        },
        6 => line(
            None,
            "`x` int DEFAULT '7'",
            "ADD COLUMN x INT DEFAULT 7",
            Fit::Always,
        ),
        _ if has("KEY `i`") => Plan {
            actions: "DROP INDEX i".to_owned(),
            old: Some("KEY `i`"),
            new: None,
            fit: Fit::Always,
        },
        _ => line(
            None,
            "KEY `i` (`g`,`v` DESC)",
            "ADD INDEX i (g, v DESC)",
            Fit::Always,
        ),
    }
}

/// A plan where a line comes, in the place of another or not.
fn line(old: Option<&'static str>, new: &str, actions: &str, fit: Fit) -> Plan {
    Plan {
        actions: actions.to_owned(),
        old,
        new: Some(new.to_owned()),
        fit,
    }
}

fn rekey(random: &mut StdRng, key: &str) -> Plan {
    let actions = match random.random_range(0..2) {
        0 => format!("PRIMARY KEY {key}"),
        _ => format!("DROP PRIMARY KEY, ADD PRIMARY KEY {key}"),
    };
    let fit = match key {
        SHARED_KEY => Fit::Unshared,
        _ => Fit::Always,
    };
    line(Some("PRIMARY KEY"), &primary(key), &actions, fit)
}

fn primary(key: &str) -> String {
    format!("PRIMARY KEY {key}")
}

/// Asks for a change, on a connection of its own.
fn ask(server: &Server, plan: Plan) -> Result<JoinHandle<Result<Asked, String>>, String> {
    let mut client = connect(&server.address)?;
    Ok(thread::spawn(move || {
        let sql = format!("ALTER TABLE {TABLE} {}", plan.actions);
        let told = match client.execute(&sql) {
            Ok(_) if plan.fit == Fit::Never => return Err(format!("{sql}: was done")),
            Ok(_) => Told::Done,
            Err(failure) if is_over(&failure) => Told::Nothing,
            Err(Failure::Server { errno: 1062, .. }) if plan.fit == Fit::Unshared => Told::Refused,
            Err(Failure::Server { errno: 1406, .. }) if plan.fit == Fit::Never => Told::Refused,
            Err(failure) => return Err(format!("{sql}: {failure}")),
        };
        Ok(Asked { plan, told })
    }))
}

/// Whether the server went on with a change when it was started.
fn has_resumed(directory: &Path) -> bool {
    let log = std::fs::read_to_string(directory.join("server.log")).unwrap_or_default();
    log.contains("change of the primary key goes on") || log.contains("index build goes on")
}

/// Waits for the end of the change, and holds the definition to it. Whether rows share keys is known of the
/// time when the server ended: nobody writes since.
fn settle(
    client: &mut Client,
    (asked, before, are_shared): (&Asked, &mut Definition, bool),
    counts: &mut Counts,
) -> Result<(), String> {
    wait_until_settled(client)?;
    wait_until_built(client, TABLE)?;
    check(client, TABLE)?;
    let Plan { old, new, fit, .. } = &asked.plan;
    let may_fit = match fit {
        Fit::Always => true,
        Fit::Unshared => !are_shared,
        Fit::Never => false,
    };
    let mut after = before.clone();
    after.retain(|line| !old.is_some_and(|begin| line.starts_with(begin)));
    after.extend(new.clone());
    let found = definition(client)?;
    if found == after && may_fit && asked.told != Told::Refused {
        counts.done += 1;
        counts.unshared += u32::from(*fit == Fit::Unshared);
    } else if found == *before && asked.told != Told::Done {
        // What goes on after the kill may not fit either: nobody is told.
        counts.gone += u32::from(asked.told == Told::Nothing);
        counts.refused += u32::from(asked.told == Told::Refused);
    } else {
        return Err(format!(
            "{asked:?}: the definition was {before:?}, and is {found:?}"
        ));
    }
    *before = found;
    Ok(())
}

/// A change of nothing is refused while the primary key is being changed.
fn wait_until_settled(client: &mut Client) -> Result<(), String> {
    let deadline = Instant::now() + BUILD_TIMEOUT;
    let sql = format!("ALTER TABLE {TABLE} {OPTIONS}");
    loop {
        match client.execute(&sql) {
            Ok(_) => return Ok(()),
            Err(Failure::Server { errno, .. }) if BUSY.contains(&errno) => {}
            Err(failure) => return Err(format!("{sql}: {failure}")),
        }
        if deadline < Instant::now() {
            return Err(format!("the change has not ended after {BUILD_TIMEOUT:?}"));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn definition(client: &mut Client) -> Result<Definition, String> {
    let rows = client.rows(&format!("SHOW CREATE TABLE {TABLE}"));
    let rows = rows.map_err(|e| e.to_string())?;
    let text = rows.first().and_then(|row| row.get(1).cloned().flatten());
    let text = text.ok_or("SHOW CREATE TABLE says nothing")?;
    let lines = text.lines().map(|line| line.trim().trim_end_matches(','));
    Ok(lines.map(str::to_owned).collect())
}
