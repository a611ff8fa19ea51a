//! What `/metrics` tells: docs/metrics.md lists it.
//!
//! Labels are words of ours alone: no text of a statement, no name of a user or a table, so their number
//! is bounded and nothing secret is in them.

use std::time::Duration;

use super::page::{Page, Type};
use super::process;
use crate::ceiling;
use crate::kv::stats::{Amount, Number};
use crate::session::monitor::counts::{Refusal, Sums};
use crate::session::monitor::digests::DIGESTS_MAX;
use crate::session::monitor::verb::Verb;
use crate::session::{Shared, monitor::Monitor};

/// The first bucket of the durations that is told apart: 2^4 microseconds. Fewer are none.
const OCTAVE_FIRST: usize = 4;

/// The page; `started_seconds` is when the process started. May wait for the disk, so it is not made where
/// statements run.
pub(super) fn text(shared: &Shared, started_seconds: Option<u64>) -> String {
    let mut page = Page::default();
    server(shared, &mut page);
    page.one(
        "meseta_read_only",
        "Whether the storage engine takes no more writes.",
        u8::from(shared.read_only().is_some()),
    );
    connections(shared, &mut page);
    statements(shared.monitor(), &mut page);
    failures(shared.monitor(), &mut page);
    digests(shared.monitor(), &mut page);
    memory(shared, &mut page);
    engine(&shared.engine_stats().numbers, &mut page);
    process::tell(&mut page, started_seconds);
    page.into_text()
}

fn server(shared: &Shared, page: &mut Page) {
    let version = env!("CARGO_PKG_VERSION");
    page.family("meseta_info", Type::Gauge, "The version and the engine.");
    let labels = [("version", version), ("engine", shared.engine_name())];
    page.sample("", &labels, 1);
    let uptime = shared.processes().uptime().as_secs_f64();
    page.one(
        "meseta_uptime_seconds",
        "Time since the server started.",
        uptime,
    );
}

fn connections(shared: &Shared, page: &mut Page) {
    let processes = shared.processes();
    page.one(
        "meseta_connections",
        "Connections that there are.",
        processes.count(),
    );
    page.one(
        "meseta_connections_running",
        "Connections that run a statement.",
        processes.running_count(),
    );
    page.one(
        "meseta_connections_max",
        "The most connections at a time.",
        shared.global_number("max_connections"),
    );
    page.one(
        "meseta_connections_total",
        "Connections that there have been.",
        processes.connections_count(),
    );
    page.one(
        "meseta_commands_total",
        "Commands of the protocol that were received.",
        processes.questions_count(),
    );
}

/// A family with a number for each kind of statement.
type OfVerbs = (&'static str, &'static str, fn(&Sums) -> u64);

const OF_VERBS: &[OfVerbs] = &[
    (
        "meseta_statements_total",
        "Statements that have ended, by kind.",
        |sums| sums.statements,
    ),
    (
        "meseta_statement_errors_total",
        "Statements that failed, by kind.",
        |sums| sums.errors,
    ),
    (
        "meseta_rows_examined_total",
        "Rows that were read from tables and indexes, by kind of statement.",
        |sums| sums.rows_examined,
    ),
    (
        "meseta_rows_returned_total",
        "Rows that went to clients, by kind of statement.",
        |sums| sums.rows_sent,
    ),
    (
        "meseta_rows_affected_total",
        "Rows that were changed, by kind of statement.",
        |sums| sums.rows_affected,
    ),
];

fn statements(monitor: &Monitor, page: &mut Page) {
    let all: Vec<(Verb, Sums)> = Verb::ALL
        .iter()
        .map(|verb| (*verb, monitor.counts.of(*verb)))
        .collect();
    for (name, help, number) in OF_VERBS {
        page.family(name, Type::Counter, help);
        for (verb, sums) in &all {
            page.sample("", &[("kind", verb.label())], number(sums));
        }
    }
    page.family(
        "meseta_statement_duration_seconds",
        Type::Histogram,
        "Time from the text of a statement to its last row, by kind; of kinds that there were.",
    );
    for (verb, sums) in all.iter().filter(|(_, sums)| 0 < sums.statements) {
        durations(verb.label(), sums, page);
    }
    let lock_nanos = all.iter().map(|(_, sums)| sums.lock_nanos).sum();
    page.one(
        "meseta_lock_wait_seconds_total",
        "Time that statements waited for row locks.",
        Duration::from_nanos(lock_nanos).as_secs_f64(),
    );
    page.one(
        "meseta_slow_statements_total",
        "Statements that took longer than long_query_time.",
        monitor.slow.count(),
    );
    page.one(
        "meseta_slow_log_failures_total",
        "Slow statements that could not be written to the slow query log.",
        monitor.slow.failures_count(),
    );
}

fn durations(kind: &str, sums: &Sums, page: &mut Page) {
    let mut seen = 0;
    let mut micros: u64 = 1;
    let last = sums.octaves.len().saturating_sub(1);
    for (octave, count) in sums.octaves.iter().enumerate().take(last) {
        seen += count;
        if OCTAVE_FIRST <= octave {
            let until = Duration::from_micros(micros).as_secs_f64().to_string();
            page.sample("_bucket", &[("kind", kind), ("le", &until)], seen);
        }
        micros = micros.saturating_mul(2);
    }
    let of_kind = [("kind", kind)];
    let until_all = [("kind", kind), ("le", "+Inf")];
    page.sample("_bucket", &until_all, sums.statements);
    let took = Duration::from_nanos(sums.nanos).as_secs_f64();
    page.sample("_sum", &of_kind, took);
    page.sample("_count", &of_kind, sums.statements);
}

fn failures(monitor: &Monitor, page: &mut Page) {
    let errors = monitor.counts.errors();
    page.family(
        "meseta_errors_total",
        Type::Counter,
        "Errors that clients were told, by number.",
    );
    for (code, count) in &errors {
        let errno = code.errno().to_string();
        let labels = [("errno", errno.as_str()), ("sqlstate", code.sqlstate())];
        page.sample("", &labels, count);
    }
    page.family(
        "meseta_refusals_total",
        Type::Counter,
        "What was refused although it could have been done, by reason.",
    );
    for refusal in Refusal::ALL {
        let told = errors.iter().filter(|(code, _)| refusal.is_told_by(*code));
        let count: u64 = told.map(|(_, count)| count).sum();
        page.sample("", &[("reason", refusal.label())], count);
    }
    page.one(
        "meseta_internal_errors_total",
        "Broken invariants of the server; should be none.",
        crate::error::internal_errors_count(),
    );
}

fn digests(monitor: &Monitor, page: &mut Page) {
    page.one(
        "meseta_digests",
        "Digests of statements that are told apart.",
        monitor.digests.len(),
    );
    page.one(
        "meseta_digests_max",
        "The most digests that are told apart.",
        DIGESTS_MAX,
    );
    // Not a counter: TRUNCATE TABLE of the digests resets it.
    page.one(
        "meseta_digests_others",
        "Statements whose digests there was no room for.",
        monitor.digests.others_count(),
    );
}

fn memory(shared: &Shared, page: &mut Page) {
    let (taken, most) = shared.query_memory_bytes();
    page.one(
        "meseta_query_memory_bytes",
        "Memory that sorts, groups and joins hold.",
        taken,
    );
    page.one(
        "meseta_query_memory_max_bytes",
        "The most memory that they may hold.",
        most,
    );
    page.one(
        "meseta_memory_limit_bytes",
        "The most memory that the process may have; 0 is no bound.",
        ceiling::bytes_max(),
    );
    page.one(
        "meseta_memory_refused_total",
        "How often what asked for memory got none because of that bound.",
        ceiling::refused_count(),
    );
    let (held, written) = shared.spill_bytes();
    page.one(
        "meseta_spill_bytes",
        "Bytes on disk that sorts, groups and joins hold.",
        held,
    );
    page.one(
        "meseta_spill_written_bytes_total",
        "Bytes that they have written to disk.",
        written,
    );
    page.one(
        "meseta_index_builds",
        "Builds of indexes that wait or run.",
        shared.index_builds_count(),
    );
}

fn engine(numbers: &[Number], page: &mut Page) {
    for number in numbers {
        page.family(number.name, Type::of(number.name), number.help);
        let label = number.of.as_ref();
        let labels: Vec<(&str, &str)> = label
            .map(|(name, value)| (*name, value.as_str()))
            .into_iter()
            .collect();
        match number.amount {
            Amount::Whole(count) => page.sample("", &labels, count),
            Amount::Seconds(time) => page.sample("", &labels, time.as_secs_f64()),
        }
    }
}
