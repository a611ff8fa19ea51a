//! What a change of definitions is told when one of its syncs fails: OK when it took place, 1180 when that
//! is not known, and anything else only when it did not.

use libtest_mimic::Trial;
use rand::seq::SliceRandom;

use crate::faults::{Call, Fate};
use crate::steps::{self, CHANGES, Change};
use crate::{Ending, Rounds, connect, connect_bare, is_in_doubt, kill, others, trial};

/// Changes of the quick profile.
const QUICK: u64 = 4;
/// Syncs of a change; more are a statement that never gets through.
const SYNCS_MAX: u64 = 30;
/// Changes that go on after a restart, whatever was told.
const GO_ON: [&str; 4] = [
    "CREATE INDEX",
    "CREATE UNIQUE",
    "MODIFY",
    "DROP PRIMARY KEY",
];

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "failed_sync_of_a_change_is_told_as_it_is".to_owned();
    vec![trial(name, (Ending::Point, others(QUICK)), run)]
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let server = rounds.start()?;
    steps::make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    kill(&server)?;
    drop(server);
    let is_done_at_once = |change: &&Change| GO_ON.iter().all(|part| !change.sql.contains(part));
    let mut changes: Vec<&Change> = CHANGES.iter().filter(is_done_at_once).collect();
    // This one was told wrongly once.
    let is_first = |change: &&Change| change.sql.starts_with("TRUNCATE");
    changes.shuffle(&mut *rounds.random.borrow_mut());
    changes.sort_by_key(|change| !is_first(change));
    let mut failed = 0;
    for change in changes
        .into_iter()
        .take(usize::try_from(rounds.count).unwrap_or(usize::MAX))
    {
        failed += one(rounds, change).map_err(|text| format!("{}: {text}", change.sql))?;
    }
    Ok(format!("{failed} failed syncs"))
}

/// How many syncs of a change failed, one at a time.
fn one(rounds: &Rounds, change: &Change) -> Result<u64, String> {
    let call = Call {
        name: "sync",
        path: ".jnl",
    };
    for at in 1..=SYNCS_MAX {
        let server = rounds.start()?;
        let mut client = connect(&server.address)?;
        rounds.faults()?.arm(call, (at, at), Fate::Eio)?;
        let told = client.execute(change.sql);
        let is_through = rounds.faults()?.hits() == 0;
        kill(&server)?;
        rounds.faults()?.disarm()?;
        let server = rounds.start()?;
        let mut client = connect(&server.address)?;
        let is_made = steps::settle(&mut client, change)?;
        match &told {
            Ok(_) if is_made => {}
            Err(failure) if !is_made || is_in_doubt(failure) => {}
            other => {
                return Err(format!(
                    "sync {at} failed, it was made: {is_made}, and told {other:?}"
                ));
            }
        }
        if is_made {
            for sql in change.back {
                client.execute(sql).map_err(|e| format!("{sql}: {e}"))?;
            }
        }
        kill(&server)?;
        if is_through {
            return match told {
                Ok(_) if at == 1 => Err("acknowledged without a sync of the journal".to_owned()),
                Ok(_) => Ok(at - 1),
                Err(failure) => Err(format!("without a failure: {failure}")),
            };
        }
    }
    Err(format!("it has not got through after {SYNCS_MAX} failures"))
}
