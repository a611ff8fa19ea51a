//! Options that take limits away, or other safety: each is in the log of the start as an event of its own.

use std::fs;
use std::path::Path;

use crate::house::House;
use crate::server::{Launch, Server};

/// How the server is started, and the beginning of what is said of each option.
const STARTS: &[(&[&str], &[&str])] = &[
    (&["--memory-limit=1GiB"], &["root has no password: "]),
    (
        &[
            "--durability=async",
            "--allow-full-scan",
            "--http-listen=0.0.0.0:0",
            "--memory-limit=none",
            "--secure-file-priv=/",
            "--root-password=secret",
        ],
        &[
            "durability=async: ",
            "allow-full-scan: ",
            "http-listen: ",
            "memory-limit: ",
            "secure-file-priv: ",
            "root-password: ",
        ],
    ),
];

pub(crate) fn all() -> Result<(), String> {
    for (options, expected) in STARTS {
        let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
        let log = log_of(scratch.path(), options)?;
        let told = unsafe_of(&log);
        let is_so = told.len() == expected.len()
            && told
                .iter()
                .zip(*expected)
                .all(|(told, begin)| told.starts_with(begin));
        if !is_so {
            return Err(format!("{options:?}: {told:?}, in {log}"));
        }
        if log.contains("secret") {
            return Err(format!("the password is in the log: {log}"));
        }
    }
    permitted_for_good()
}

/// What an option permits may be permitted by the data, too.
fn permitted_for_good() -> Result<(), String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut house = House::open(scratch.path(), &[])?;
    house.run("SET PERSIST sql_big_selects = ON")?;
    drop(house);
    let log = log_of(scratch.path(), &["--memory-limit=1GiB"])?;
    let told = unsafe_of(&log);
    match told.as_slice() {
        [scans, _] if scans.starts_with("sql_big_selects is persisted: ") => Ok(()),
        _ => Err(format!("{told:?}, in {log}")),
    }
}

/// What a server logs that is started and stopped in order: its last lines are there by then.
fn log_of(dir: &Path, options: &[&str]) -> Result<String, String> {
    let options = [&["--log-format=json"], options].concat();
    let launch = Launch {
        binary: Path::new(env!("CARGO_BIN_EXE_meseta")),
        engine: "lsm",
        directory: dir,
        options: &options,
    };
    let server = Server::start(&launch).map_err(|e| e.to_string())?;
    let id = server.process_id().to_string();
    let asked = std::process::Command::new("kill")
        .args(["-TERM", &id])
        .status();
    asked.map_err(|e| e.to_string())?;
    server.wait().map_err(|e| e.to_string())?;
    fs::read_to_string(dir.join("server.log")).map_err(|e| e.to_string())
}

/// The field of each event that has it. Every such line is a warning, and ends as an object does.
fn unsafe_of(log: &str) -> Vec<&str> {
    let lines = log
        .lines()
        .filter(|line| line.starts_with('{') && line.ends_with('}'))
        .filter(|line| line.contains(r#""level":"WARN""#));
    let fields = lines.filter_map(|line| {
        let (_, rest) = line.split_once(r#""unsafe_option":""#)?;
        rest.split('"').next()
    });
    fields.collect()
}
