//! Runs `sql-tests/*.slt` and the stock corpus over a socket: one trial per file and engine.
//!
//! It starts its own servers, one per engine (and one more that allows full scans, for the
//! corpus); every file has a database of its own, so files run in parallel. The files about
//! indexes run twice: where full scans are allowed, for their answers, and where they are refused,
//! to see that exactly those queries are refused that EXPLAIN calls full scans.
//!
//! | environment | meaning |
//! |---|---|
//! | `MESETA_SLT_TARGET=host:port` | run against this MariaDB or MySQL instead |
//! | `MESETA_SLT_BINARY=file` | run this build of the server, not the one built with the tests |
//! | `MESETA_SLT_FULL=1` | the whole corpus instead of a part of its large files |
//! | `MESETA_SLT_REWRITE=1` | write what was found into our own files, to be read by a person |
//! | `MESETA_SLT_TOLD=n` | how many failed records of a file are told |
//! | `MESETA_SLT_CORPUS=file` | the corpus archive, if not at its usual place |

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    clippy::little_endian_bytes,
    reason = "a test program: it speaks the protocol in one file and may stop at a surprise"
)]

#[allow(
    dead_code,
    reason = "shared with the crash test and the load generator"
)]
mod client;
mod fill;
mod present;
mod refusal;
mod scope;
mod script;
#[allow(dead_code, reason = "shared with the crash test")]
mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Arguments, Failed, Trial};

use scope::OutOfScope;
use script::Part;
use server::{Launch, Server};

/// Queries of each `random/expr` file in the quick profile.
const QUICK_QUERIES_MAX: usize = 1500;
/// The quick profile's part of each file about indexes: one predicate on all five tables, some
/// orders of it, here and there.
const QUICK_INDEX_PART: Part = Part::Some { run: 5, skip: 295 };
const ENGINES: [&str; 2] = ["memory", "lsm"];
/// Directories of the corpus, and whether their files also run where full scans are refused.
const CORPUS_FAMILIES: [(&str, bool); 9] = [
    ("evidence", false),
    ("random/expr", false),
    ("random/select", false),
    ("random/groupby", false),
    ("random/aggregates", false),
    (".", false),
    ("index/orderby/10", true),
    ("index/orderby_nosort/10", true),
    ("index/commute/10", true),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let house = Arc::new(House::new());
    let mut trials = Vec::new();
    for engine in house.engines() {
        for file in files_in(&house.root.join("sql-tests"), "slt") {
            trials.push(house.trial(Suite::Own, engine, file));
        }
        for (file, also_refused) in house.corpus_files() {
            if also_refused && house.target.is_none() {
                trials.push(house.trial(Suite::Refused, engine, file.clone()));
            }
            trials.push(house.trial(Suite::Corpus, engine, file));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    println!(
        "slt: {} records passed ({} of them by a refusal), {} failed, {} out of scope",
        count(&house.passed),
        count(&house.refused),
        count(&house.failed),
        count(&house.out_of_scope)
    );
    house.stop();
    conclusion.exit_code()
}

/// Which files a trial belongs to: they run with different options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suite {
    /// `sql-tests/*.slt`: full scans are refused unless the file allows them.
    Own,
    /// The stock corpus: full scans are allowed.
    Corpus,
    /// The stock corpus' files about indexes: full scans are refused.
    Refused,
}

/// What all trials share.
struct House {
    root: PathBuf,
    scratch: tempfile::TempDir,
    target: Option<String>,
    binary: PathBuf,
    full: bool,
    rewrite: bool,
    list: OutOfScope,
    nothing: OutOfScope,
    /// By whether full scans are allowed, and engine; started by the first trial that needs it.
    servers: [[OnceLock<Result<Server, String>>; ENGINES.len()]; 2],
    passed: AtomicUsize,
    refused: AtomicUsize,
    failed: AtomicUsize,
    out_of_scope: AtomicUsize,
}

impl House {
    fn new() -> House {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let list = std::fs::read_to_string(root.join("sql-tests/out-of-scope.txt"))
            .map_err(|e| e.to_string())
            .and_then(|text| OutOfScope::parse(&text))
            .unwrap_or_else(|error| {
                println!("{error}");
                std::process::exit(1)
            });
        let scratch = tempfile::tempdir().unwrap_or_else(|error| {
            println!("no temporary directory: {error}");
            std::process::exit(1)
        });
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| value != "0");
        House {
            root,
            scratch,
            target: std::env::var("MESETA_SLT_TARGET").ok(),
            binary: std::env::var_os("MESETA_SLT_BINARY").map_or_else(
                || PathBuf::from(env!("CARGO_BIN_EXE_meseta")),
                PathBuf::from,
            ),
            full: is_set("MESETA_SLT_FULL"),
            rewrite: is_set("MESETA_SLT_REWRITE"),
            list,
            nothing: OutOfScope::default(),
            servers: Default::default(),
            passed: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
            out_of_scope: AtomicUsize::new(0),
        }
    }

    fn engines(&self) -> Vec<&'static str> {
        match self.target {
            Some(_) => vec!["target"],
            None => ENGINES.to_vec(),
        }
    }

    fn trial(self: &Arc<House>, suite: Suite, engine: &'static str, file: PathBuf) -> Trial {
        let name = match suite {
            Suite::Own => format!("{engine}/{}", stem(&file)),
            Suite::Corpus => format!("corpus/{engine}/{}", in_corpus(&file)),
            Suite::Refused => format!("refused/{engine}/{}", in_corpus(&file)),
        };
        let house = Arc::clone(self);
        let database = format!("f_{}", name.replace(['/', '.', '-'], "_"));
        Trial::test(name, move || {
            house
                .run(suite, engine, (&file, &database))
                .map_err(Failed::from)
        })
    }

    fn run(&self, suite: Suite, engine: &str, place: (&Path, &str)) -> Result<(), String> {
        let (file, database) = place;
        let address = self.address(suite, engine)?;
        let target = script::Target {
            address: &address,
            database,
            labels: match self.target {
                Some(_) => &["mysql", "mariadb"],
                None => &["mysql", "meseta", engine],
            },
            out_of_scope: match (suite, &self.target) {
                (Suite::Corpus | Suite::Refused, None) => &self.list,
                (Suite::Corpus | Suite::Refused, Some(_)) | (Suite::Own, _) => &self.nothing,
            },
            part: self.part(file),
            refuses: suite == Suite::Refused,
        };
        let outcome = script::run_file(file, &target)?;
        self.passed.fetch_add(outcome.passed, Ordering::Relaxed);
        self.refused.fetch_add(outcome.refused, Ordering::Relaxed);
        self.failed
            .fetch_add(outcome.failures.len(), Ordering::Relaxed);
        self.out_of_scope
            .fetch_add(outcome.out_of_scope, Ordering::Relaxed);
        if self.rewrite && suite == Suite::Own {
            present::rewrite(file, &outcome.corrections).map_err(|e| e.to_string())?;
        }
        if outcome.failures.is_empty() {
            Ok(())
        } else {
            Err(outcome.report())
        }
    }

    /// What is run of a file.
    fn part(&self, file: &Path) -> Part {
        let name = in_corpus(file);
        if self.full {
            Part::All
        } else if name.starts_with("random/expr") {
            Part::First(QUICK_QUERIES_MAX)
        } else if name.starts_with("index/") {
            QUICK_INDEX_PART
        } else {
            Part::All
        }
    }

    /// Where the server for these trials listens.
    fn address(&self, suite: Suite, engine: &str) -> Result<String, String> {
        if let Some(target) = &self.target {
            return Ok(target.clone());
        }
        let engine_idx = ENGINES.iter().position(|&e| e == engine).unwrap_or(0);
        let (suite_idx, options): (usize, &[&str]) = match suite {
            Suite::Own | Suite::Refused => (0, &[]),
            Suite::Corpus => (1, &["--allow-full-scan"]),
        };
        let server = self.servers[suite_idx][engine_idx].get_or_init(|| {
            let directory = self.scratch.path().join(format!("{suite_idx}-{engine}"));
            Server::start(&Launch {
                binary: &self.binary,
                engine,
                directory: &directory,
                options,
            })
            .map_err(|e| e.to_string())
        });
        match server {
            Ok(server) => Ok(server.address.clone()),
            Err(error) => Err(error.clone()),
        }
    }

    /// The stock files; none, with a word about it, when the archive is not there.
    fn corpus_files(&self) -> Vec<(PathBuf, bool)> {
        let archive = std::env::var_os("MESETA_SLT_CORPUS").map_or_else(
            || self.root.join("../shared/corpus/slt/corpus.tar.xz"),
            PathBuf::from,
        );
        let directory = self.root.join("sql-tests/.corpus");
        if !directory.join("evidence").is_dir() {
            if !archive.is_file() {
                println!("slt: no stock corpus at {}: skipped", archive.display());
                return Vec::new();
            }
            if let Err(error) = unpack(&archive, &directory) {
                println!("slt: {error}: stock corpus skipped");
                return Vec::new();
            }
        }
        CORPUS_FAMILIES
            .iter()
            .flat_map(|(family, also_refused)| {
                let files = files_in(&directory.join(family), "test");
                files.into_iter().map(|file| (file, *also_refused))
            })
            .collect()
    }

    /// Kills the servers: nothing is dropped behind an `exit`.
    fn stop(self: &Arc<House>) {
        // The servers are children that die with their `Server`; the trials' clones are gone.
        for server in self.servers.iter().flatten() {
            if let Some(Ok(server)) = server.get() {
                let _ = server.kill();
            }
        }
    }
}

/// Unpacks the archive beside its place and renames it in one step, so that two runs at once
/// cannot see half of it.
fn unpack(archive: &Path, directory: &Path) -> Result<(), String> {
    let partial = directory.with_extension(format!("{}", std::process::id()));
    std::fs::create_dir_all(&partial).map_err(|e| e.to_string())?;
    let status = Command::new("tar")
        .arg("-xJf")
        .arg(archive)
        .arg("-C")
        .arg(&partial)
        .status()
        .map_err(|e| format!("tar: {e}"))?;
    if !status.success() {
        return Err(format!("tar ended with {status}"));
    }
    if std::fs::rename(&partial, directory).is_err() {
        let _ = std::fs::remove_dir_all(&partial);
    }
    Ok(())
}

/// The files of a directory with this extension, in order.
fn files_in(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

/// A stock file by its family's directories and its name.
fn in_corpus(path: &Path) -> String {
    let family = path
        .components()
        .skip_while(|part| part.as_os_str() != ".corpus");
    let family: PathBuf = family.skip(1).collect();
    family.with_extension("").to_string_lossy().into_owned()
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
