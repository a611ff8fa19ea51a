//! `meseta check`: every file, every row, every entry of an index.
//!
//! Files first, by their checksums, since that needs no understanding; then the tables as far as they can
//! be read. A damaged file is told with what it holds, a damaged row with its key.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::interrupt::INTERRUPTED;
use super::progress::{self, Bar};
use super::{Outcome, locate, tell, told};
use crate::catalog::{Definitions, Table};
use crate::codec::row::expiry_of;
use crate::exec::cancel::CancelToken;
use crate::exec::check::{Checker, Finding, keys_to_read};
use crate::kv::expiry::{Expiry, Living};
use crate::kv::lsm::{self, Damage, Still};
use crate::kv::{Engine, Error};

/// What there was to look at, and what is wrong with it.
#[derive(Default)]
struct Report {
    lines: Vec<String>,
    tables: usize,
    indexes: usize,
    damages: usize,
}

impl Report {
    fn damaged(&mut self, what: &str) {
        self.damages += 1;
        self.lines.push(format!("damaged: {what}"));
    }
}

/// Verifies a backup or a data directory, and tells what was found.
///
/// # Errors
/// Why it cannot be looked at, in one line; or that it is not to be any more.
pub(super) async fn run(
    dir: &Path,
    (cancel, out): (&CancelToken, &mut dyn Write),
) -> Result<Outcome, String> {
    let bar = Bar::new("reading files");
    let progress = |done, all| {
        bar.show(done, all);
        cancel.reason().is_none()
    };
    let verified = lsm::verify(dir, &progress);
    drop(bar);
    let verified = verified.map_err(|error| told(&error))?;
    let mut report = Report::default();
    report
        .lines
        .extend(verified.notes.iter().map(|note| format!("note: {note}")));
    match Still::open(dir) {
        Ok(still) => check_rows((still, cancel), &verified.damaged, &mut report).await,
        // Nothing is known of the rows.
        Err(error) if verified.damaged.is_empty() && !matches!(error, Error::Corrupt { .. }) => {
            return Err(told(&error));
        }
        Err(error) => {
            for damage in &verified.damaged {
                report.damaged(&format!("{}: {}", damage.path.display(), damage.what));
            }
            report.damaged(&format!("the tables cannot be read: {error}"));
        }
    }
    // Half of a report would be taken for all of it.
    if cancel.reason().is_some() {
        return Err(INTERRUPTED.to_owned());
    }
    let is_fine = report.damages == 0;
    let found = match report.damages {
        0 => "nothing is damaged".to_owned(),
        count => format!("{count} damages"),
    };
    report.lines.push(format!(
        "checked {} files ({}), {} tables, {} indexes: {found}",
        verified.files,
        progress::size(verified.bytes),
        report.tables,
        report.indexes
    ));
    tell(out, &(report.lines.join("\n") + "\n"))?;
    Ok(if is_fine {
        Outcome::Fine
    } else {
        Outcome::Damaged
    })
}

async fn check_rows(
    (still, cancel): (Still, &CancelToken),
    damaged: &[Damage],
    report: &mut Report,
) {
    let still = Arc::new(still);
    let expiry = Arc::new(Expiry::new(expiry_of));
    expiry.note_sweep(still.swept_ms());
    let inner: Arc<dyn Engine> = Arc::clone(&still) as _;
    let engine: Arc<dyn Engine> = Arc::new(Living::new(inner, expiry));
    let definitions = Definitions::read(engine.as_ref()).await;
    let tables: Vec<Arc<Table>> = match &definitions {
        Ok(definitions) => {
            let trashed = definitions
                .trash()
                .into_iter()
                .map(|trashed| &trashed.table);
            definitions.all_tables().chain(trashed).cloned().collect()
        }
        Err(_) => Vec::new(),
    };
    let known = definitions.is_ok().then_some(tables.as_slice());
    for damage in damaged {
        if cancel.reason().is_some() {
            return;
        }
        let extent = damage.table.and_then(|id| still.extent(id));
        let holds = extent.map(|extent| locate::extent_text(known, &extent));
        let holds = holds.unwrap_or_default();
        report.damaged(&format!(
            "{}: {}{holds}",
            damage.path.display(),
            damage.what
        ));
    }
    if let Err(error) = definitions {
        report.damaged(&format!(
            "the definitions of the tables: {}",
            error.message()
        ));
    }
    check_tables((&engine, cancel), &tables, report).await;
}

/// The bar goes by keys, so that it moves within a large table too. Of how many, the engine guesses: a
/// table ends where its guess does.
async fn check_tables(
    (engine, cancel): (&Arc<dyn Engine>, &CancelToken),
    tables: &[Arc<Table>],
    report: &mut Report,
) {
    let bar = Bar::new("reading tables");
    let keys = tables
        .iter()
        .map(|table| keys_to_read(engine.as_ref(), table));
    let keys: Vec<u64> = keys.collect();
    let all = keys.iter().sum();
    let mut before = 0;
    for (table, keys) in tables.iter().zip(keys) {
        if cancel.reason().is_some() {
            return;
        }
        bar.show(before, all);
        let read = AtomicUsize::new(0);
        let progress = |more| {
            let read = read.fetch_add(more, Ordering::Relaxed).saturating_add(more);
            let read = u64::try_from(read).unwrap_or(u64::MAX);
            bar.show(before + read.min(keys), all);
        };
        report.tables += 1;
        report.indexes += table.indexes.len();
        check_table((engine, cancel, &progress), table, report).await;
        before += keys;
    }
}

async fn check_table(
    (engine, cancel, progress): (&Arc<dyn Engine>, &CancelToken, &(dyn Fn(usize) + Sync)),
    table: &Table,
    report: &mut Report,
) {
    let name = format!("{}.{}", table.database, table.name);
    let checker = Checker {
        engine,
        cancel,
        repairs: false,
        progress,
    };
    match checker.run(table).await {
        Ok(findings) => findings
            .iter()
            .for_each(|finding| note(&name, finding, report)),
        Err(error) => {
            let at = locate::unreadable(engine.as_ref(), (table, cancel)).await;
            report.damaged(&format!("table {name}{at}: {}", error.message()));
        }
    }
}

fn note(name: &str, finding: &Finding, report: &mut Report) {
    if let Some(why) = &finding.skipped {
        report.lines.push(format!("note: table {name}: {why}"));
    }
    if finding.is_clean() {
        return;
    }
    for what in &finding.shown {
        report
            .lines
            .push(format!("table {name}, {}: {what}", finding.place));
    }
    let (place, count) = (&finding.place, finding.differences);
    report.damaged(&format!("table {name}, {place}: {count} differences"));
}
