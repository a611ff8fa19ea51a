//! A server under load that is meant to hurt it: statements, values, patterns and transactions at their
//! limits and beyond. Each is answered, or refused with an error that tells value and limit; then the server
//! lives, the connection goes on, others are served, and its memory is back near where it was.
//!
//! ```text
//!   cargo test --test limits                 all
//!   cargo test --test limits -- nesting      some
//! ```
//! What each limit is, its errno and the option that changes it: docs/limits.md.

#![allow(
    clippy::indexing_slicing,
    clippy::little_endian_bytes,
    clippy::print_stdout,
    reason = "a test program: it may stop at a surprise"
)]

mod allocator;
mod blows;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/client.rs"]
mod client;
mod copies;
mod crowd;
mod house;
mod kept;
mod long;
mod many;
mod nesting;
mod persisted;
mod pressure;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/server.rs"]
mod server;
mod signals;
mod unsafe_options;
mod wide;

use std::process::ExitCode;
use std::time::Instant;

use libtest_mimic::{Arguments, Failed, Trial};

use house::House;

/// What the servers of most trials are started with: little that hides what is left behind.
const OPTIONS: &[&str] = &[
    "--allow-full-scan",
    "--durability=async",
    "--cache-bytes=16MiB",
    "--max-allowed-packet=16MiB",
];

/// How often each blow is struck on the same server.
const ROUNDS: usize = 3;

type Blow = fn(&mut House) -> Result<(), String>;

const BLOWS: &[(&str, Blow)] = &[
    ("packets", blows::packets),
    ("columns", blows::columns),
    ("values", blows::values),
    ("in_lists", blows::in_lists),
    ("key_lists", blows::key_lists),
    ("nesting", nesting::all),
    ("documents", nesting::documents),
    ("patterns", blows::patterns),
    ("what_takes_long_ends", long::ends),
    (
        "what_takes_long_keeps_nobody_waiting",
        long::keeps_nobody_waiting,
    ),
    ("what_looks_long_is_short", long::is_short),
    (
        "many_statements_keep_nobody_waiting",
        crowd::keeps_nobody_waiting,
    ),
    (
        "many_commands_keep_nobody_waiting",
        crowd::commands_keep_nobody_waiting,
    ),
    ("results", blows::results),
    ("wide_rows", wide::all),
    ("recursion_and_cross_joins", blows::endless),
    ("prepared_statements", many::prepared_statements),
    ("cursors", many::cursors),
    ("user_variables", many::user_variables),
    ("temporary_tables", many::temporary_tables),
    ("transactions", many::transactions),
];

type Alone = fn() -> Result<(), String>;

/// Each with a server of its own.
const ALONE: &[(&str, Alone)] = &[
    (
        "many_statements_end_with_the_server",
        crowd::ends_with_the_server,
    ),
    ("signals", signals::all),
    ("the_allocator_is_told", allocator::is_told),
    ("memory_limit", pressure::memory_limit),
    ("slow_growth", pressure::slow_growth),
    ("memory_limit_of_cursors", kept::cursors),
    ("memory_limit_of_wide_statements", kept::wide_statements),
    ("memory_limit_of_copies", copies::all),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Memory is measured, and time is short.
    arguments.test_threads = Some(1);
    let mut trials: Vec<Trial> = BLOWS
        .iter()
        .map(|(name, blow)| trial(name, *blow))
        .collect();
    trials.extend(
        ALONE
            .iter()
            .map(|(name, run)| Trial::test(*name, move || run().map_err(Failed::from))),
    );
    trials.push(Trial::test("lists_without_memory", || {
        let memory = blows::lists_without_memory().map_err(Failed::from)?;
        println!("limits: lists_without_memory: {memory}");
        Ok(())
    }));
    trials.push(Trial::test("unsafe_options_are_logged", || {
        unsafe_options::all().map_err(Failed::from)
    }));
    trials.push(Trial::test("what_is_persisted_is_there", || {
        persisted::all().map_err(Failed::from)
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Strikes as often as [`ROUNDS`]: what is left behind once may be a cache that was filled, and more of it
/// each time is a leak.
fn trial(name: &'static str, blow: Blow) -> Trial {
    Trial::test(name, move || {
        let began = Instant::now();
        let scratch = tempfile::tempdir().map_err(|e| Failed::from(e.to_string()))?;
        let mut house = House::open(scratch.path(), OPTIONS).map_err(Failed::from)?;
        for round in 1..=ROUNDS {
            let struck = blow(&mut house);
            let well = house.is_well();
            struck.map_err(Failed::from)?;
            let memory = well.map_err(|text| Failed::from(format!("round {round}: {text}")))?;
            let seconds = began.elapsed().as_secs_f64();
            println!("limits: {name}: round {round}: {memory}; {seconds:.1} s");
            house.renew().map_err(Failed::from)?;
            if round == 1 {
                house.measure_again().map_err(Failed::from)?;
            }
        }
        Ok(())
    })
}
