//! A disk that loses what it was given. The system has taken it into its memory and confirmed the write; then the
//! device below has no block for it. The next sync tells of that, once. Whoever syncs again hears that all is well,
//! and whoever reads is shown from memory what the disk has not.
//!
//! So a server that went on, or that read its journal back from memory, would acknowledge what is gone. No call is
//! made to fail here: the disk is a loop device upon memory that is full ([`crate::disk`]).

use std::thread::{self, JoinHandle};
use std::time::Duration;

use libtest_mimic::Trial;
use rand::Rng;

use crate::again::{until, wait_until_back};
use crate::broken::{END_MAX, look_at_the_rest, stop};
use crate::oracle::Oracle;
use crate::server::{Server, addresses_in};
use crate::writers::{self, Log};
use crate::{Ending, LONG, READ_ONLY, Rounds, connect, connect_bare, kill, others, trial};

/// Of the quick profile.
const ROUNDS: u64 = 8;
/// Each of so many waits until the server starts anew by itself, which takes ten seconds.
const PATIENT: u64 = 4;
/// Of the memtables.
const MEMTABLE_BYTES: u64 = 2 << 20;
/// What the disk has left when writers begin, doubled so often at most: of less than a memtable a commit is the first
/// to miss some, of more a flush or a compaction.
const LEFT_BYTES: u64 = 64 << 10;
const DOUBLED: u32 = 7;
/// Enough for the compactions that a start begins.
const QUIET: Duration = Duration::from_millis(300);
/// What the log says when it was told of want of room, and not of an error.
const FULL: &str = "the disk is full";
/// And of a commit.
const COMMIT: &str = "while writing a commit";

/// What this file runs.
pub(crate) fn trials() -> Vec<Trial> {
    let name = "disk_that_loses_what_it_was_given_ends_all_writing".to_owned();
    vec![trial(name, (Ending::Thin, others(ROUNDS)), run)]
}

/// How often a server ended by what, and the next one was what.
#[derive(Debug, Default)]
struct Ends {
    /// A commit; of the others a flush or a compaction.
    commit: u64,
    /// The same process, started anew by itself.
    anew: u64,
    /// Another, on the filesystem as it was left.
    next: u64,
    /// Another, when the filesystem was mounted again: it had lost blocks of its own.
    mounted: u64,
}

fn run(rounds: &Rounds) -> Result<String, String> {
    let mut oracle = Oracle::default();
    let mut ends = Ends::default();
    rounds.make_with_memtables(MEMTABLE_BYTES)?;
    let server = rounds.start()?;
    writers::make_tables(&mut connect_bare(&server.address)?).map_err(|e| e.to_string())?;
    stop(&server)?;
    for round in 1..=rounds.count {
        let lost = lose(
            rounds,
            (&mut oracle, &mut ends),
            round.is_multiple_of(PATIENT),
        );
        lost.map_err(|text| format!("round {round}: {text}: {}", rounds.log()))?;
    }
    oracle.check_progress()?;
    let is_lacking = [ends.commit, ends.next, ends.anew].contains(&0);
    if ends.next + ends.anew == 0 || LONG <= rounds.count && is_lacking {
        return Err(format!("what this is about never came: {ends:?}"));
    }
    Ok(format!("{ends:?}; {}", oracle.summary()))
}

/// One server loses what it wrote. What the next one finds is held to what was acknowledged, and what the disk has,
/// once the system has forgotten everything, to what that one found.
fn lose(
    rounds: &Rounds,
    (oracle, ends): (&mut Oracle, &mut Ends),
    is_patient: bool,
) -> Result<(), String> {
    let disk = rounds.disk()?;
    let server = rounds.start()?;
    begin(&server)?;
    thread::sleep(QUIET);
    disk.starve(LEFT_BYTES << rounds.random.borrow_mut().random_range(0..DOUBLED))?;
    let logs = write_until_it_ends(rounds, (&server, oracle))?;
    oracle.note(&logs);
    ends.commit += u64::from(rounds.log().contains(COMMIT));
    disk.feed()?;
    let next = if !disk.takes_writes() {
        stop(&server)?;
        disk.restore()?;
        ends.mounted += 1;
        rounds.start()?
    } else if is_patient && rounds.log().contains(FULL) {
        wait_until_back(rounds, &server)?;
        ends.anew += 1;
        server
    } else {
        stop(&server)?;
        ends.next += 1;
        rounds.start()?
    };
    oracle.verify(&mut connect(&newest_address(rounds)?)?)?;
    kill(&next)?;
    disk.restore()?;
    let last = rounds.start()?;
    oracle.note_again(&logs);
    oracle.verify(&mut connect(&last.address)?)?;
    stop(&last)
}

/// Of the server that runs: the one that started anew has told two.
fn newest_address(rounds: &Rounds) -> Result<String, String> {
    let addresses = addresses_in(&rounds.log());
    addresses
        .last()
        .cloned()
        .ok_or_else(|| "there is no address".to_owned())
}

/// The first write of a server makes a file: that is not to be the one that fails.
fn begin(server: &Server) -> Result<(), String> {
    let mut client = connect(&server.address)?;
    for sql in [
        "CREATE TABLE IF NOT EXISTS begun (id BIGINT AUTO_INCREMENT PRIMARY KEY)",
        "INSERT INTO begun VALUES (NULL)",
    ] {
        let done = client.execute(sql);
        done.map_err(|error| format!("{sql}: {error}"))?;
    }
    Ok(())
}

/// Has writers write until the server takes no more; what they were told.
fn write_until_it_ends(
    rounds: &Rounds,
    (server, oracle): (&Server, &Oracle),
) -> Result<Vec<Log>, String> {
    let threads = writers::start(server, oracle)?;
    until(END_MAX, "the writers to end", || {
        Ok(threads.iter().all(JoinHandle::is_finished))
    })?;
    let logs = writers::join(threads)?;
    look_at_the_rest(server)?;
    if rounds.log().contains(READ_ONLY) {
        Ok(logs)
    } else {
        Err("the log does not tell".to_owned())
    }
}
