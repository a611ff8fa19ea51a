//! Every step of a change of definitions: the server is killed in front of the first sync of the journal
//! that the statement asks for, and behind it, then at the second, and so on until the statement gets
//! through. After each kill the change was made or was not, and table and indexes agree.

use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use rand::seq::SliceRandom;

use crate::client::{Client, Failure};
use crate::faults::{Call, Fate};
use crate::indexes::check;
use crate::{DATABASE, Ending, Rounds, connect, connect_bare, is_over, kill, others, trial};

/// Changes of the quick profile; [`CHANGES`] in full.
const QUICK: u64 = 4;
/// How long what goes on after a restart may take.
const SETTLE_MAX: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Steps of a change; more are a statement that never gets through.
const STEPS_MAX: u64 = 60;
/// Rows of the table.
const ROWS: u64 = 300;

/// A change, a query that has rows when it was made and none when not, and how it is taken back.
pub(crate) struct Change {
    pub(crate) sql: &'static str,
    made: &'static str,
    pub(crate) back: &'static [&'static str],
}

const fn change(sql: &'static str, made: &'static str, back: &'static [&'static str]) -> Change {
    Change { sql, made, back }
}

/// The build of an index.
const BUILD: &str = "CREATE INDEX by_b ON t (b) SYNC";

pub(crate) const CHANGES: &[Change] = &[
    change(
        "CREATE TABLE n (id INT PRIMARY KEY, v INT, INDEX (v))",
        "SHOW TABLES LIKE 'n'",
        &["DROP TABLE n"],
    ),
    change(
        "CREATE TABLE m (PRIMARY KEY (id), INDEX (a)) SELECT /*+ _l_allow_filtering_ */ id, a FROM t",
        "SHOW TABLES LIKE 'm'",
        &["DROP TABLE m"],
    ),
    change(
        BUILD,
        "SHOW INDEX FROM t WHERE Key_name = 'by_b'",
        &["DROP INDEX by_b ON t"],
    ),
    change(
        "CREATE UNIQUE INDEX by_b ON t (b) SYNC",
        "SHOW INDEX FROM t WHERE Key_name = 'by_b'",
        &["DROP INDEX by_b ON t"],
    ),
    change(
        "DROP INDEX by_a ON t",
        "SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = 'crash' AND index_name = 'by_a')",
        &["CREATE INDEX by_a ON t (a) SYNC"],
    ),
    change(
        "ALTER TABLE t ADD COLUMN c INT DEFAULT 5",
        "SHOW COLUMNS FROM t LIKE 'c'",
        &["ALTER TABLE t DROP COLUMN c"],
    ),
    change(
        "ALTER TABLE t MODIFY b VARCHAR(40) NOT NULL",
        "SHOW COLUMNS FROM t WHERE Field = 'b' AND `Null` = 'NO'",
        &["ALTER TABLE t MODIFY b VARCHAR(40)"],
    ),
    change(
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (b, id)",
        "SHOW INDEX FROM t WHERE Key_name = 'PRIMARY' AND Column_name = 'b'",
        &["ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id)"],
    ),
    change(
        "RENAME TABLE t TO r",
        "SHOW TABLES LIKE 'r'",
        &["RENAME TABLE r TO t"],
    ),
    change(
        "TRUNCATE TABLE e",
        "SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM e WHERE id = 1)",
        &["INSERT INTO e VALUES (1, 1), (2, 2)"],
    ),
    change(
        "DROP TABLE e",
        "SELECT 1 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = 'crash' AND table_name = 'e')",
        &["UNDROP TABLE e"],
    ),
    change(
        "CREATE VIEW w AS SELECT a FROM t WHERE id = 1",
        "SHOW TABLES LIKE 'w'",
        &["DROP VIEW w"],
    ),
    change(
        "CREATE USER 'x'@'%' IDENTIFIED BY 'y'",
        "SELECT 1 FROM mysql.user WHERE user = 'x'",
        &["DROP USER 'x'@'%'"],
    ),
    change(
        "CREATE DATABASE d",
        "SHOW DATABASES LIKE 'd'",
        &["DROP DATABASE d"],
    ),
];

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "kill_9_at_each_step_of_a_change".to_owned();
    vec![trial(name, (Ending::Point, others(QUICK)), run)]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let mut server = rounds.start()?;
    make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    kill(&server)?;
    let mut changes: Vec<&Change> = CHANGES.iter().collect();
    changes.shuffle(&mut *rounds.random.borrow_mut());
    // The one with the most steps is among few, too.
    if let Some(build) = changes.iter().position(|one| one.sql == BUILD) {
        changes.swap(0, build);
    }
    let mut kills = 0;
    let mut made = 0;
    for change in changes
        .into_iter()
        .take(usize::try_from(rounds.count).unwrap_or(usize::MAX))
    {
        let told = |text: String| format!("{}: {text}", change.sql);
        for step in 1.. {
            if STEPS_MAX < step {
                return Err(told(format!(
                    "it has not got through after {STEPS_MAX} kills"
                )));
            }
            let fate = [Fate::KillBefore, Fate::KillAfter][usize::try_from(step % 2).unwrap_or(0)];
            let at = step.div_ceil(2);
            server = rounds.start().map_err(told)?;
            let is_through = one_step(rounds, &server.address, (change, at, fate)).map_err(told)?;
            kill(&server)?;
            rounds.faults()?.disarm()?;
            server = rounds.start().map_err(told)?;
            let mut client = connect(&server.address).map_err(told)?;
            let is_made = settle(&mut client, change).map_err(told)?;
            if is_through && !is_made {
                return Err(told(format!(
                    "acknowledged, and not made: step {at}, {fate}"
                )));
            }
            if is_made {
                for sql in change.back {
                    client
                        .execute(sql)
                        .map_err(|e| told(format!("{sql}: {e}")))?;
                }
            }
            kills += u64::from(!is_through);
            made += u64::from(is_made && !is_through);
            kill(&server)?;
            if is_through && step == 1 {
                return Err(told(
                    "acknowledged without a sync of the journal".to_owned(),
                ));
            }
            if is_through {
                break;
            }
        }
    }
    drop(server);
    Ok(format!(
        "{kills} kills between two steps, {made} changes were made all the same"
    ))
}

pub(crate) fn make_tables(client: &mut Client) -> Result<(), Failure> {
    client.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    client.execute(&format!("USE {DATABASE}"))?;
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(40), INDEX by_a (a))")?;
    let rows: Vec<String> = (0..ROWS)
        .map(|id| format!("({id}, {}, 'b{id}')", id % 7))
        .collect();
    client.execute(&format!("INSERT INTO t VALUES {}", rows.join(", ")))?;
    client.execute("CREATE TABLE e (id INT PRIMARY KEY, v INT)")?;
    client.execute("INSERT INTO e VALUES (1, 1), (2, 2)")?;
    Ok(())
}

/// Asks for the change with a kill at one of its syncs; whether it was acknowledged.
fn one_step(
    rounds: &Rounds,
    address: &str,
    (change, at, fate): (&Change, u64, Fate),
) -> Result<bool, String> {
    let mut client = connect(address)?;
    let call = Call {
        name: "sync",
        path: ".jnl",
    };
    rounds.faults()?.arm(call, (at, at), fate)?;
    match client.execute(change.sql) {
        Ok(_) => Ok(true),
        Err(failure) if is_over(&failure) => Ok(false),
        Err(failure) => Err(failure.to_string()),
    }
}

/// Waits until nothing goes on any more; whether the change was made.
pub(crate) fn settle(client: &mut Client, change: &Change) -> Result<bool, String> {
    let deadline = Instant::now() + SETTLE_MAX;
    let tables = names(client, "SHOW TABLES")?;
    for table in tables.iter().filter(|table| *table != "w") {
        let sql = format!("SHOW INDEX FROM {table}");
        while client
            .rows(&sql)
            .map_err(|e| e.to_string())?
            .iter()
            .any(|row| row.contains(&Some("BUILDING".to_owned())))
        {
            wait(deadline)?;
        }
        // Refused while its primary key is changed.
        let sql = format!("ALTER TABLE {table} COMMENT = ''");
        while let Err(failure) = client.execute(&sql) {
            match failure {
                Failure::Server {
                    errno: 1205 | 1412, ..
                } => wait(deadline)?,
                other @ (Failure::Server { .. } | Failure::Lost(_)) => {
                    return Err(format!("{sql}: {other}"));
                }
            }
        }
        check(client, table)?;
    }
    // The table by either of its names, and the one that is made of it: whole, where it is there.
    for table in tables
        .iter()
        .filter(|name| ["r", "t", "m"].contains(&name.as_str()))
    {
        let sql = format!("SELECT /*+ _l_allow_filtering_ */ COUNT(*) FROM {table}");
        let rows = names(client, &sql)?;
        if rows != [ROWS.to_string()] {
            return Err(format!("there are {rows:?} rows in {table}"));
        }
    }
    names(client, change.made).map(|rows| !rows.is_empty())
}

fn wait(deadline: Instant) -> Result<(), String> {
    if deadline < Instant::now() {
        return Err(format!("what goes on has not ended after {SETTLE_MAX:?}"));
    }
    thread::sleep(POLL_INTERVAL);
    Ok(())
}

fn names(client: &mut Client, sql: &str) -> Result<Vec<String>, String> {
    let rows = client.rows(sql).map_err(|e| format!("{sql}: {e}"))?;
    Ok(rows
        .into_iter()
        .filter_map(|row| row.into_iter().next().flatten())
        .collect())
}
