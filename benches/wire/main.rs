//! What a server's connections cost, and what they survive: the tool of `scripts/connections`, of the
//! `overhead` bench of `scripts/bench`, and of the stream part of `scripts/fuzz`.
//!
//! Each work prints one line of JSON and judges nothing; the scripts start the servers and say what is
//! good enough.
//!
//! `wire WORK address=127.0.0.1:3306 pid=1234 [connections=N] [seconds=N] [rate=N] [seed=N]`
//!
//! | work | what |
//! |---|---|
//! | `constant` | is a server itself: one row from prebuilt bytes for every EXECUTE |
//! | `idle` | opens connections, has each run one statement, and looks at the server's memory |
//! | `storm` | connects, logs in and leaves, so many times per second |
//! | `slow` | one client that asks for much and reads nothing, beside one that works |
//! | `fuzz` | streams of packets that are wrong in places, plain and compressed, from login on |

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::little_endian_bytes,
    reason = "a bench program: it speaks the protocol and stops at the first surprise"
)]

#[allow(dead_code, reason = "shared with the slt runner")]
#[path = "../../sql-tests/runner/client.rs"]
mod client;
mod constant;
mod crowd;
mod fuzz;
#[allow(dead_code, reason = "shared with the load generator")]
#[path = "../load/process.rs"]
mod process;

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

use process::ProcessWatch;

/// What went wrong, as a text.
type Outcome<T> = Result<T, String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let Some((work, rest)) = words.split_first() else {
        // `cargo bench` and `cargo test --benches` run it without saying what.
        return ExitCode::SUCCESS;
    };
    let done = Options::from(rest).and_then(|options| match work.as_str() {
        "constant" => constant::serve(),
        "idle" => crowd::idle(&options),
        "storm" => crowd::storm(&options),
        "slow" => crowd::slow(&options),
        "fuzz" => fuzz::run(&options),
        other => Err(format!("no work is called {other}")),
    });
    match done {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("wire: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The command line.
#[derive(Debug)]
struct Options {
    address: String,
    /// The server's process.
    pid: u32,
    connections: u32,
    duration: Duration,
    /// Connects per second.
    rate: u32,
    seed: u64,
}

impl Options {
    fn from(words: &[String]) -> Outcome<Options> {
        let pairs: HashMap<&str, &str> = words
            .iter()
            .filter_map(|word| word.split_once('='))
            .collect();
        let number = |key: &str, default: u64| -> Outcome<u64> {
            pairs.get(key).map_or(Ok(default), |text| {
                text.parse().map_err(|_| format!("{key}={text}?"))
            })
        };
        let small = |key: &str, default: u64| -> Outcome<u32> {
            u32::try_from(number(key, default)?).map_err(|e| format!("{key}: {e}"))
        };
        Ok(Options {
            address: (*pairs.get("address").unwrap_or(&"127.0.0.1:3306")).to_owned(),
            pid: small("pid", u64::from(std::process::id()))?,
            connections: small("connections", 1000)?,
            duration: Duration::from_secs(number("seconds", 5)?),
            rate: small("rate", 5000)?,
            seed: number("seed", rand::random())?,
        })
    }

    fn watch(&self) -> ProcessWatch {
        ProcessWatch::new(self.pid)
    }
}
