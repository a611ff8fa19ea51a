//! One long statement: all its rows to one client, which only counts them.

use std::io::Read as _;
use std::time::Instant;

use crate::client::{COM_QUERY, Client, EndForm};
use crate::fill::perform;
use crate::statement::AnswerReader;
use crate::{DATABASE, Options, Outcome, Work};

/// Runs `scan`, `scan-covering` and `query`: all rows of one statement to one client, which only
/// counts them.
pub(crate) fn scan(options: &Options) -> Outcome<String> {
    let mut client =
        Client::connect(&options.address, DATABASE, EndForm::Ok).map_err(|e| e.to_string())?;
    for sql in options.setup.split(';').filter(|sql| !sql.is_empty()) {
        perform(&mut client, sql)?;
    }
    let text = if options.work == Work::Query {
        options.sql.clone()
    } else {
        crate::points::statement_text(options.work)
    };
    let watch = options.watch();
    let (before_kib, sampler) = (watch.resident_kib(), watch.sample_memory());
    let (cpu_before, start) = (watch.cpu_seconds(), Instant::now());
    client
        .command(COM_QUERY, text.as_bytes())
        .map_err(|e| e.to_string())?;
    let mut answer = AnswerReader::new(client.deprecates_eof());
    let mut stream = client.into_stream();
    let mut input = vec![0; 1 << 20];
    let mut filled = 0;
    let mut first_row = None;
    loop {
        let read = stream
            .read(&mut input[filled..])
            .map_err(|e| e.to_string())?;
        if read == 0 {
            return Err("the server closed the connection".to_owned());
        }
        filled += read;
        let (used, ended) = answer.advance(&input[..filled])?;
        if first_row.is_none() && 0 < answer.rows {
            first_row = Some(start.elapsed());
        }
        if ended && answer.conflict {
            return Err(format!("{text}: the answer is a conflict"));
        }
        if ended {
            break;
        }
        input.copy_within(used..filled, 0);
        filled -= used;
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu = watch.cpu_seconds() - cpu_before;
    Ok(format!(
        "{{\"rows\": {}, \"seconds\": {seconds:.3}, \"server_cpu\": {cpu:.2}, \
         \"first_row_ms\": {:.1}, \"rss_before_kib\": {before_kib}, \"rss_most_kib\": {}}}",
        answer.rows,
        first_row.unwrap_or_default().as_secs_f64() * 1000.0,
        sampler.finish()
    ))
}
