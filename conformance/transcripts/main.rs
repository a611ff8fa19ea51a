//! Replays what real clients were seen to send, statement by statement, and compares what is refused
//! with the list of what must be.
//!
//! The transcripts are not part of this repository; without them the test says so and passes. Each file
//! gets a fresh server with the tables that the clients read (`tables.sql`). A statement that is
//! refused and is not in `refused.txt`, or is in it and is not refused, fails the test.
//!
//! ```text
//!   cargo test --test transcripts                      all
//!   cargo test --test transcripts -- django            one client
//! ```
//!
//! | environment | meaning |
//! |---|---|
//! | `MESETA_TRANSCRIPTS=dir` | another directory of transcripts |

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::little_endian_bytes,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test program: it may stop at a surprise"
)]

#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/client.rs"]
mod client;
mod replay;
#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/server.rs"]
mod server;
mod transcript;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};

use replay::Replay;
use transcript::Sent;

/// What must be refused: `errno <tab> beginning of the statement <tab> why`.
const REFUSED: &str = include_str!("refused.txt");

/// The tables that the clients read.
const TABLES: &str = include_str!("tables.sql");

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/clients");
    let directory = std::env::var_os("MESETA_TRANSCRIPTS").map_or(default, PathBuf::from);
    let Ok(entries) = std::fs::read_dir(&directory) else {
        println!(
            "transcripts: skipped: there are none in {}",
            directory.display()
        );
        return ExitCode::SUCCESS;
    };
    let used = Arc::new(Mutex::new(BTreeSet::new()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    let trials = paths.into_iter().map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let used = Arc::clone(&used);
        Trial::test(name, move || replayed(&path, &used).map_err(Failed::from))
    });
    let all = arguments.filter.is_none() && arguments.skip.is_empty();
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    if all && !conclusion.has_failed() && !tell_unused(&used.lock().unwrap()) {
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// A line of `refused.txt`.
#[derive(Debug, Clone, Copy)]
struct Line {
    errno: u16,
    beginning: &'static str,
}

fn lines() -> impl Iterator<Item = Line> {
    let lines = REFUSED.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let parts: Vec<&str> = line.split('\t').collect();
        assert_eq!(parts.len(), 3, "a line of refused.txt: {line}");
        Line {
            errno: parts[0].parse().expect("an errno"),
            beginning: parts[1],
        }
    })
}

/// Whether every line of the list was met.
fn tell_unused(used: &BTreeSet<&'static str>) -> bool {
    let mut all_used = true;
    for line in lines().filter(|line| !used.contains(line.beginning)) {
        println!(
            "refused.txt: nothing is refused any more of: {}",
            line.beginning
        );
        all_used = false;
    }
    all_used
}

/// Replays one transcript.
fn replayed(path: &Path, used: &Mutex<BTreeSet<&'static str>>) -> Result<(), String> {
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let transcript = transcript::parse(&String::from_utf8_lossy(&text));
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let server = server::Server::start(&server::Launch {
        binary: Path::new(env!("CARGO_BIN_EXE_meseta")),
        engine: "memory",
        directory: scratch.path(),
        options: &["--allow-full-scan"],
    });
    let server = server.map_err(|error| error.to_string())?;
    prepare(&server.address)?;
    let mut replay = Replay::new(&server.address);
    let mut wrong = Vec::new();
    for sent in &transcript {
        let refused = replay.send(sent)?;
        let expected = expected(sent);
        if let Some(line) = expected {
            used.lock().unwrap().insert(line.beginning);
        }
        let errno = refused.as_ref().map_or(0, |(errno, _)| *errno);
        if expected.map_or(0, |line| line.errno) != errno {
            let text = refused.map_or_else(|| "answered".to_owned(), |(_, text)| text);
            wrong.push(format!("{text}\n    {}", sent.shown()));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(wrong.join("\n"))
}

fn expected(sent: &Sent) -> Option<Line> {
    let text = sent
        .statement()?
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    lines().find(|line| match line.beginning.strip_suffix('$') {
        Some(whole) => text == whole,
        None => text.starts_with(line.beginning),
    })
}

/// Makes the tables.
fn prepare(address: &str) -> Result<(), String> {
    let connect = client::Client::connect(address, "", client::EndForm::Eof);
    let mut client = connect.map_err(|error| error.to_string())?;
    for statement in TABLES.split(";\n").filter(|text| !text.trim().is_empty()) {
        let done = client.execute(statement);
        done.map_err(|error| format!("{error}: {statement}"))?;
    }
    Ok(())
}
