//! A short query right after something that may make it slow: how long the first takes, and the others.

use std::time::Instant;

use crate::client::{Client, EndForm};
use crate::fill::perform;
use crate::{DATABASE, Options, Outcome};

/// How often the query is run.
const REPEATS: usize = 200;

/// Runs the statements of `setup`, and then the query without a pause.
pub(crate) fn repeat(options: &Options) -> Outcome<String> {
    let mut client =
        Client::connect(&options.address, DATABASE, EndForm::Ok).map_err(|e| e.to_string())?;
    let start = Instant::now();
    for sql in options.setup.split(';').filter(|sql| !sql.is_empty()) {
        perform(&mut client, sql)?;
    }
    let setup = start.elapsed().as_secs_f64();
    let mut latencies_us = Vec::with_capacity(REPEATS);
    let mut rows = 0;
    for _ in 0..REPEATS {
        let start = Instant::now();
        let found = client.rows(&options.sql);
        latencies_us.push(start.elapsed().as_micros());
        rows = found.map_err(|e| format!("{}: {e}", options.sql))?.len();
    }
    let first = latencies_us[0];
    latencies_us.sort_unstable();
    Ok(format!(
        "{{\"rows\": {rows}, \"setup_seconds\": {setup:.3}, \"first_us\": {first}, \
         \"p50_us\": {}, \"p99_us\": {}}}",
        latencies_us[REPEATS / 2],
        latencies_us[REPEATS * 99 / 100]
    ))
}
