//! Kills the server while an index is being built and writers go on: the build goes on after the
//! restart, ends `ACTIVE`, and table and index agree; a unique build that meets a duplicate leaves
//! nothing behind.

use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Failure};
use crate::indexes::{check, check_built};
use crate::ring::{self, GROUPS, Ring};
use crate::server::Server;
use crate::{DATABASE, LONG, Rounds, connect, connect_bare, is_over};

/// The table.
const TABLE: &str = "built";
/// Rows that are there before the first build, of a writer that never writes again.
const ROWS: u64 = 30_000;
/// Rows of one statement that fills.
const ROWS_PER_INSERT: u64 = 2_000;
/// The number of the writer of those rows, above all others.
const FILLER: u64 = 1_000;
/// The least and the most time from the start of a build to the kill.
const ROUND_MS: std::ops::Range<u64> = 5..300;
/// How long a build may go on after a restart.
pub(crate) const BUILD_TIMEOUT: Duration = Duration::from_mins(2);
/// How often it is looked at.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Where SHOW INDEX has the name of the index, and its state.
const NAME_COLUMN: usize = 2;
const STATE_COLUMN: usize = 15;

/// The index of one build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    unique: bool,
    definition: &'static str,
    mode: &'static str,
    /// Two rows have the same value: it cannot be built.
    is_hopeless: bool,
}

/// An index that was asked for, and what the server said to that.
#[derive(Debug, Clone, Copy)]
struct Asked {
    plan: Plan,
    /// `ASYNC` was answered: the index must come.
    is_acknowledged: bool,
}

#[derive(Debug, Default)]
struct Counts {
    built: u32,
    failed: u32,
    never_begun: u32,
    resumed: u32,
}

/// Runs all rounds.
pub(crate) fn run(rounds: &Rounds) -> Result<String, String> {
    let mut random = StdRng::seed_from_u64(rounds.seed);
    let mut ring = Ring::default();
    let mut counts = Counts::default();
    let mut server = rounds.start()?;
    fill(&mut connect_bare(&server.address)?, TABLE, "").map_err(|e| e.to_string())?;
    let mut open = None;
    for round in 1..=rounds.count {
        let told = |e| format!("round {round}, seed {}: {e}", rounds.seed);
        let writers = ring.start(&server.address, TABLE)?;
        let asking = match open {
            None => Some(ask(&server, plan(&mut random))?),
            Some(_) => None,
        };
        thread::sleep(Duration::from_millis(random.random_range(ROUND_MS)));
        rounds.end(&server)?;
        let acknowledged = Ring::join(writers)?;
        if let Some(asking) = asking {
            let asked = asking
                .join()
                .map_err(|_| "a builder panicked".to_owned())?
                .map_err(told)?;
            open = Some(asked);
        }
        server = rounds.start()?;
        counts.resumed += u32::from(has_resumed(rounds.directory()));
        let mut client = connect(&server.address)?;
        ring.verify(&mut client, TABLE, &acknowledged)
            .and_then(|()| check_built(&mut client, TABLE))
            .and_then(|()| rounds.rest(&server))
            .map_err(told)?;
        // At times the next round kills the same build again.
        let is_last = round == rounds.count;
        if let Some(asked) = open
            && (is_last || random.random_bool(0.7))
        {
            settle(&mut client, asked, &mut counts).map_err(told)?;
            open = None;
        }
    }
    ring.check_progress()?;
    if LONG <= rounds.count && counts.resumed == 0 {
        return Err("no kill fell into a build that went on".to_owned());
    }
    if counts.built + counts.failed + counts.never_begun == 0 {
        return Err("no index was asked for".to_owned());
    }
    Ok(format!(
        "{} builds ended active, {} met a duplicate and are gone, {} had not begun, {} kills fell \
         into a build that went on; {}; CHECK TABLE OK every time",
        counts.built,
        counts.failed,
        counts.never_begun,
        counts.resumed,
        ring.summary()
    ))
}

/// Makes a table with rows, and with options.
pub(crate) fn fill(client: &mut Client, table: &str, options: &str) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    client.execute(&format!("USE {DATABASE}"))?;
    client.execute(&format!(
        "CREATE TABLE {table} ({}) {options}",
        ring::COLUMNS
    ))?;
    for start in (0..ROWS).step_by(usize::try_from(ROWS_PER_INSERT).unwrap_or(1)) {
        let rows: Vec<String> = (start..start + ROWS_PER_INSERT)
            .map(|k| {
                // Below all values of the writers, whose numbers are not negative.
                let (u, g) = (i64::try_from(k).unwrap_or(0) - i64::MAX, k % GROUPS);
                format!("({FILLER}, {k}, 0, {u}, {g}, 'filler {k}')")
            })
            .collect();
        client.execute(&format!("INSERT INTO {table} VALUES {}", rows.join(", ")))?;
    }
    Ok(())
}

fn plan(random: &mut StdRng) -> Plan {
    let (unique, definition, is_hopeless) = match random.random_range(0..5) {
        0 => (false, "(g) INCLUDE (v)", false),
        1 => (false, "(v DESC, g)", false),
        2 => (true, "(u)", false),
        3 => (true, "(v DESC, u)", false),
        _ => (true, "(g)", true),
    };
    Plan {
        unique,
        definition,
        mode: if random.random_bool(0.5) {
            "ASYNC"
        } else {
            "SYNC"
        },
        is_hopeless,
    }
}

/// Asks for an index, on a connection of its own.
fn ask(server: &Server, plan: Plan) -> Result<JoinHandle<Result<Asked, String>>, String> {
    let mut client = connect(&server.address)?;
    Ok(thread::spawn(move || {
        let unique = if plan.unique { "UNIQUE " } else { "" };
        let (definition, mode) = (plan.definition, plan.mode);
        let sql = format!("CREATE {unique}INDEX i ON {TABLE} {definition} {mode}");
        let is_acknowledged = match client.execute(&sql) {
            Ok(_) if plan.is_hopeless && mode == "SYNC" => {
                return Err(format!("{sql}: no duplicate was found"));
            }
            Ok(_) => true,
            Err(failure) if is_over(&failure) => false,
            Err(Failure::Server { errno: 1062, .. }) if plan.is_hopeless => false,
            Err(failure) => return Err(format!("{sql}: {failure}")),
        };
        Ok(Asked {
            plan,
            is_acknowledged,
        })
    }))
}

/// Whether the server went on with a build when it was started.
fn has_resumed(directory: &Path) -> bool {
    let log = std::fs::read_to_string(directory.join("server.log")).unwrap_or_default();
    log.contains("index build goes on")
}

/// Waits for the end of the build, and looks at what came of it.
fn settle(client: &mut Client, asked: Asked, counts: &mut Counts) -> Result<(), String> {
    let state = wait_until_built(client, TABLE)?;
    check(client, TABLE)?;
    match state {
        Some(_) if asked.plan.is_hopeless => {
            return Err("a unique index is there in spite of duplicates".to_owned());
        }
        Some(state) if state == "ACTIVE" => counts.built += 1,
        Some(state) => return Err(format!("the index is {state}")),
        None if asked.plan.is_hopeless => counts.failed += 1,
        None if asked.is_acknowledged => {
            return Err("an index that was promised is not there".to_owned());
        }
        None => counts.never_begun += 1,
    }
    let dropped = client.execute(&format!("DROP INDEX IF EXISTS i ON {TABLE}"));
    dropped.map(drop).map_err(|e| e.to_string())
}

/// The state of the index once it is not being built; `None` when there is none.
pub(crate) fn wait_until_built(client: &mut Client, table: &str) -> Result<Option<String>, String> {
    let deadline = Instant::now() + BUILD_TIMEOUT;
    loop {
        let rows = client.rows(&format!("SHOW INDEX FROM {table}"));
        let rows = rows.map_err(|e| e.to_string())?;
        let row = rows
            .iter()
            .find(|row| row[NAME_COLUMN].as_deref() == Some("i"));
        let state = row.and_then(|row| row[STATE_COLUMN].clone());
        if state.as_deref() != Some("BUILDING") {
            return Ok(state);
        }
        if deadline < Instant::now() {
            return Err(format!("the build has not ended after {BUILD_TIMEOUT:?}"));
        }
        thread::sleep(POLL_INTERVAL);
    }
}
