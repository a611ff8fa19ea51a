//! What the allocator is told: the server begins again with it, as the same process; who has told it keeps that.

use std::fs;
use std::path::Path;

use crate::server::{Launch, Server};

const NAME: &str = "MIMALLOC_PURGE_DELAY";

pub(crate) fn is_told() -> Result<(), String> {
    for (given, expected) in [(None, "100"), (Some("7"), "7")] {
        let found = told(given)?;
        if found.as_deref() != Some(expected) {
            return Err(format!("{NAME} {given:?} is {found:?}, not {expected}"));
        }
    }
    Ok(())
}

/// What stands in the environment of a server that is started with this in it.
fn told(given: Option<&str>) -> Result<Option<String>, String> {
    let scratch = tempfile::tempdir().map_err(|e| e.to_string())?;
    let launch = Launch {
        binary: Path::new(env!("CARGO_BIN_EXE_meseta")),
        engine: "lsm",
        directory: scratch.path(),
        options: &[],
    };
    let more: Vec<_> = given
        .map(|value| (NAME.to_owned(), value.to_owned()))
        .into_iter()
        .collect();
    let server = Server::start_with(&launch, &more).map_err(|e| e.to_string())?;
    let path = format!("/proc/{}/environ", server.process_id());
    let environment = fs::read(&path).map_err(|e| format!("{path}: {e}"))?;
    let mut words = environment.split(|byte| *byte == 0);
    let found = words.find_map(|word| word.strip_prefix(format!("{NAME}=").as_bytes()));
    Ok(found.map(|value| String::from_utf8_lossy(value).into_owned()))
}
