//! Kills the server under writers of tables that have a unique index, an index with INCLUDE and a
//! descending one: after each restart table and indexes agree, and what was acknowledged is there.
//!
//! Beside the writers whose rows are known ([`ring`]) some fight over the same few unique values:
//! of theirs only that the table agrees with its indexes can be told.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Failure};
use crate::ring::{self, Ring};
use crate::{Rounds, connect, connect_bare, is_conflict, is_over};

/// The least and the most time that writers have before the kill.
const ROUND_MS: std::ops::Range<u64> = 30..400;
/// Writers that fight.
const FIGHTERS: u64 = 4;
/// Keys and unique values that they fight over.
const PRIZES: u64 = 20;
/// The indexes of both tables.
const INDEXES: &str = "UNIQUE INDEX by_u (u), INDEX by_g (g) INCLUDE (v), INDEX by_v (v DESC, g)";
/// What a fighter may be told: a duplicate, or a conflict.
const DUPLICATE: u16 = 1062;

/// Runs all rounds.
pub(crate) fn run(rounds: &Rounds) -> Result<String, String> {
    let mut random = StdRng::seed_from_u64(rounds.seed);
    let mut ring = Ring::default();
    let mut fought = 0;
    let mut server = rounds.start()?;
    make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    for round in 1..=rounds.count {
        let time = Duration::from_millis(random.random_range(ROUND_MS));
        let writers = ring.start(&server.address, "ringed")?;
        let fighters = start_fighters(&server.address, random.random())?;
        thread::sleep(time);
        rounds.end(&server)?;
        let acknowledged = Ring::join(writers)?;
        for fighter in fighters {
            fought += fighter
                .join()
                .map_err(|_| "a fighter panicked".to_owned())??;
        }
        server = rounds.start()?;
        let mut client = connect(&server.address)?;
        let verified = ring
            .verify(&mut client, "ringed", &acknowledged)
            .and_then(|()| check(&mut client, "ringed"))
            .and_then(|()| check(&mut client, "fights"))
            .and_then(|()| compare_counts(&mut client))
            .and_then(|()| rounds.rest(&server));
        verified.map_err(|e| format!("round {round}, seed {}: {e}", rounds.seed))?;
    }
    ring.check_progress()?;
    if fought == 0 {
        return Err("nobody wrote over the same unique values".to_owned());
    }
    Ok(format!(
        "{}; {fought} writes over the same unique values; CHECK TABLE OK every time",
        ring.summary()
    ))
}

fn make_tables(client: &mut Client) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {}", crate::DATABASE))?;
    client.execute(&format!("USE {}", crate::DATABASE))?;
    let columns = ring::COLUMNS;
    client.execute(&format!("CREATE TABLE ringed ({columns}, {INDEXES})"))?;
    let columns = "id INT PRIMARY KEY, u INT, g INT, v VARCHAR(40)";
    client.execute(&format!("CREATE TABLE fights ({columns}, {INDEXES})"))?;
    Ok(())
}

/// Whether CHECK TABLE says OK, of all indexes.
pub(crate) fn check(client: &mut Client, table: &str) -> Result<(), String> {
    match &told_of(client, table)?[..] {
        [(kind, text)] if kind == "status" && text == "OK" => Ok(()),
        told => Err(format!("CHECK TABLE {table}: {told:?}")),
    }
}

/// The same where indexes may be in the making, of which it says that it left them out.
pub(crate) fn check_built(client: &mut Client, table: &str) -> Result<(), String> {
    let told = told_of(client, table)?;
    match told.split_last() {
        Some(((_, text), notes))
            if text == "OK" && notes.iter().all(|(kind, _)| kind == "note") =>
        {
            Ok(())
        }
        _ => Err(format!("CHECK TABLE {table}: {told:?}")),
    }
}

/// The kinds and texts of what CHECK TABLE says.
fn told_of(client: &mut Client, table: &str) -> Result<Vec<(String, String)>, String> {
    let sql = format!("CHECK TABLE {table}");
    let rows = client.rows(&sql).map_err(|e| format!("{sql}: {e}"))?;
    let cell =
        |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    Ok(rows
        .iter()
        .map(|row| (cell(row, 2), cell(row, 3)))
        .collect())
}

/// Each index read alone has as many rows as the table.
fn compare_counts(client: &mut Client) -> Result<(), String> {
    let allowed = "SELECT /*+ _l_allow_filtering_ */ COUNT(*) FROM ringed";
    let mut counts = Vec::new();
    for sql in [
        allowed.to_owned(),
        "SELECT COUNT(*) FROM ringed FORCE INDEX (by_u) WHERE u >= 0".to_owned(),
        "SELECT COUNT(*) FROM ringed FORCE INDEX (by_g) WHERE g >= 0".to_owned(),
        "SELECT COUNT(*) FROM ringed FORCE INDEX (by_v) WHERE v >= ''".to_owned(),
    ] {
        counts.push(client.rows(&sql).map_err(|e| format!("{sql}: {e}"))?);
    }
    if counts.iter().all(|count| *count == counts[0]) {
        return Ok(());
    }
    Err(format!("table and indexes count {counts:?}"))
}

fn start_fighters(
    address: &str,
    seed: u64,
) -> Result<Vec<JoinHandle<Result<u64, String>>>, String> {
    let mut fighters = Vec::new();
    for fighter in 0..FIGHTERS {
        let client = connect(address)?;
        let random = StdRng::seed_from_u64(seed.wrapping_add(fighter));
        fighters.push(thread::spawn(move || fight(client, random)));
    }
    Ok(fighters)
}

/// Writes until the connection breaks; how many writes took place.
fn fight(mut client: Client, mut random: StdRng) -> Result<u64, String> {
    let mut done = 0;
    loop {
        let sql = blow(&mut random);
        match client.execute(&sql) {
            Ok(_) => done += 1,
            Err(failure) if is_over(&failure) => return Ok(done),
            Err(Failure::Server { errno, .. }) if errno == DUPLICATE => {}
            Err(failure) if is_conflict(&failure) => {}
            Err(failure) => return Err(format!("{sql}: {failure}")),
        }
    }
}

fn blow(random: &mut StdRng) -> String {
    let mut prize = || random.random_range(0..PRIZES);
    let (id, other, u, g) = (prize(), prize(), prize(), prize());
    let v = format!("text {g}");
    match random.random_range(0..8) {
        0 => format!("INSERT INTO fights VALUES ({id}, {u}, {g}, '{v}')"),
        1 => format!("INSERT INTO fights VALUES ({id}, NULL, {g}, '{v}')"),
        2 => format!("REPLACE INTO fights VALUES ({id}, {u}, {g}, '{v}')"),
        3 => format!(
            "INSERT INTO fights VALUES ({id}, {u}, {g}, '{v}') \
             ON DUPLICATE KEY UPDATE g = VALUES(g), v = 'again'"
        ),
        4 => format!("UPSERT INTO fights (id, u) VALUES ({id}, {u})"),
        5 => format!("UPDATE fights SET u = {u}, v = '{v}' WHERE id IN ({id}, {other})"),
        6 => format!("UPDATE fights SET g = {g} WHERE u = {u}"),
        _ => format!("DELETE FROM fights WHERE id = {id}"),
    }
}
