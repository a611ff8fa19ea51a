//! FORMAT=TREE: one plain sentence, the steps as a tree with the spans, and why each path was taken
//! or not.

use std::fmt::Write as _;

use super::steps::Scope;
use super::{Explained, Source, Statement, Step, Write, branch_text, seek_text};
use crate::plan::access::{Access, Ends, Entries, IndexAccess, Merge, MergeKind};
use crate::plan::fan_out::FanOut;
use crate::plan::span::Span;
use crate::types::temporal::Zone;

/// Spans that are written out; the others are counted.
const SPANS_SHOWN_MAX: usize = 20;
/// Blanks by which a step stands right of the one that it feeds.
const INDENT: usize = 4;

pub(super) fn text(explained: &Explained<'_>) -> String {
    let mut lines = vec![sentence(explained)];
    let mut steps = Vec::new();
    let mut scope = Scope::of(explained);
    if let Some(source) = &explained.source {
        access_lines(source, explained.zone, &mut steps);
        if let Some(residual) = &source.plan.residual {
            steps.push(vec![format!("Filter: {}", scope.text(residual))]);
        }
    } else if explained.write.is_none() {
        steps.push(vec!["One row".to_owned()]);
    }
    for step in &explained.steps {
        steps.push(vec![step_line(step, &scope)]);
        scope.pass(step);
    }
    if let Some(write) = &explained.write {
        let named = (write.table.name.as_str(), write);
        steps.push(vec![write_line(explained.statement, named)]);
    }
    // The last step is the root.
    for (depth, step) in steps.iter().rev().enumerate() {
        let indent = " ".repeat(depth * INDENT);
        for (at, line) in step.iter().enumerate() {
            let mark = if at == 0 { "-> " } else { "   " };
            lines.push(format!("{indent}{mark}{line}"));
        }
    }
    paths(explained, &mut lines);
    measured(explained, &mut lines);
    lines.join("\n")
}

/// `Reads about 9 rows by 9 keys of orders; returns them in key order.`
fn sentence(explained: &Explained<'_>) -> String {
    let Some(source) = &explained.source else {
        return match &explained.write {
            Some(write) => write_sentence(write),
            None => "Reads no table; computes one row.".to_owned(),
        };
    };
    match empty_reason(source) {
        Some(reason) => format!("Reads nothing of {}: {reason}.", source.alias),
        None if source.plan.refusal.is_some() => {
            let (amount, name) = (amount(source), source.alias);
            format!("Is refused: it would read {amount} of {name}.")
        }
        None => format!(
            "Reads {} of {}; {}.{}",
            amount(source),
            source.alias,
            ending(explained, source),
            ended(source)
        ),
    }
}

/// What is said of a table whose rows end by themselves.
fn ended(source: &Source<'_>) -> &'static str {
    if source.table.wide.reading.is_some() {
        return " Each row is read as the versions of it that the hints choose.";
    }
    if source.table.expires() {
        " Rows that have ended (TTL) are left out."
    } else {
        ""
    }
}

fn empty_reason(source: &Source<'_>) -> Option<String> {
    if !matches!(source.plan.access, Access::Nothing) {
        return None;
    }
    let verdicts = source.plan.verdicts(source.table);
    verdicts.first().map(|verdict| verdict.reason.to_string())
}

/// How much is read, and how.
pub(super) fn amount(source: &Source<'_>) -> String {
    // Where every row read is wanted, a LIMIT ends the reading.
    let wanted = source.plan.rows_wanted;
    let takes_all = source.plan.residual.is_none() && !source.table.leaves_rows_out();
    let wanted = wanted.filter(|_| takes_all);
    let estimate = match (source.rows(), wanted) {
        (Some(rows), Some(wanted)) => Some(rows.min(wanted)),
        (rows, _) => rows,
    };
    let about = match estimate {
        Some(count) => format!("about {}", rows(count)),
        None => "an unknown number of rows".to_owned(),
    };
    match &source.plan.access {
        Access::Nothing => "nothing".to_owned(),
        Access::PointGet(_) => "at most 1 row by 1 key".to_owned(),
        Access::MultiGet(gets) => format!("{about} by {} keys", gets.keys.len()),
        Access::PrefixScan(scan) => format!("{about} in {}", counted(scan.ranges.len(), "span")),
        Access::Index(index) => index_amount(source, index, estimate),
        Access::Merge(merge) => {
            let scans = counted(merge.branches.len(), "scan");
            match merge.kind {
                MergeKind::Union => format!("{about} united from {scans}"),
                MergeKind::Intersection => format!("{about} that are in each of {scans}"),
            }
        }
        Access::Ends(ends) => {
            let count = ends.seeks.len();
            format!(
                "at most {} by {}",
                counted(count, "row"),
                counted(count, "seek")
            )
        }
        Access::Count(_) => "the kept number of rows".to_owned(),
        Access::FullScan => match (wanted, estimate) {
            (Some(wanted), _) => format!("at most {}", rows(wanted)),
            (None, Some(count)) => format!("all rows (about {count})"),
            (None, None) => "all rows".to_owned(),
        },
    }
}

/// `about 9 entries in 1 span of index i, then looks up 9 rows`
fn index_amount(source: &Source<'_>, access: &IndexAccess, estimate: Option<u64>) -> String {
    let about = match estimate {
        Some(1) => "about 1 entry".to_owned(),
        Some(count) => format!("about {count} entries"),
        None => "an unknown number of entries".to_owned(),
    };
    let read = match &access.entries {
        Entries::Keys(keys) if keys.len() == 1 => "at most 1 entry by 1 key".to_owned(),
        Entries::Keys(keys) => format!("{about} by {} keys", keys.len()),
        Entries::Ranges(_) if access.spans.iter().any(Span::is_all) => about,
        Entries::Ranges(ranges) => format!("{about} in {}", counted(ranges.len(), "span")),
    };
    let then = match estimate {
        _ if access.covering => String::new(),
        _ if access.is_one_key() => ", then looks up its row".to_owned(),
        Some(count) => format!(", then looks up {}", rows(count)),
        None => ", then looks up their rows".to_owned(),
    };
    format!("{read} of index {}{then}", source.key_name())
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

pub(super) fn rows(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} row{plural}")
}

/// What happens to the rows.
fn ending(explained: &Explained<'_>, source: &Source<'_>) -> String {
    let mut scope = Scope::of(explained);
    let mut ending = Vec::new();
    for step in &explained.steps {
        match step {
            Step::Aggregate { keys: [], .. } => {
                ending.push("aggregates them into one row".to_owned());
            }
            Step::Aggregate { keys, rollup, .. } => {
                ending.push(format!("groups them by {}", scope.groups(keys, *rollup)));
            }
            Step::Sort { keys, .. } => ending.push(format!("sorts by {}", scope.order(keys))),
            Step::Distinct => ending.push("removes duplicates".to_owned()),
            Step::Windows(_) => ending.push("computes window functions".to_owned()),
            Step::Having(_) | Step::Limit { .. } => {}
        }
        scope.pass(step);
    }
    let last = match explained.statement {
        Statement::Update if is_one(source) => "updates it",
        Statement::Delete if is_one(source) => "deletes it",
        Statement::Update => "updates them",
        Statement::Delete => "deletes them",
        Statement::Select | Statement::Insert | Statement::Replace | Statement::Upsert => {
            if !ending.is_empty() {
                return ending.join("; ");
            }
            match &source.plan.access {
                access if access.is_one_row() => "returns it",
                Access::Index(_) if source.plan.reverse => "returns them in reverse index order",
                Access::Index(_) => "returns them in index order",
                Access::PointGet(_)
                | Access::Nothing
                | Access::MultiGet(_)
                | Access::PrefixScan(_)
                | Access::Ends(_)
                | Access::Merge(_)
                | Access::Count(_)
                | Access::FullScan => {
                    if is_by_part(source) {
                        "returns them in the order of what the key begins with"
                    } else if source.plan.reverse {
                        "returns them in reverse key order"
                    } else {
                        "returns them in key order"
                    }
                }
            }
        }
    };
    ending.push(last.to_owned());
    ending.join("; ")
}

/// Whether rows come as they are stored, and not in the order of the declared columns of a spread key.
fn is_by_part(source: &Source<'_>) -> bool {
    let is_scan = matches!(
        source.plan.access,
        Access::PrefixScan(_) | Access::Merge(_) | Access::FullScan
    );
    is_scan && source.plan.fan_out.is_none() && source.table.spread().is_some()
}

/// Whether at most one row is read.
fn is_one(source: &Source<'_>) -> bool {
    source.plan.access.is_one_row()
}

fn write_sentence(write: &Write<'_>) -> String {
    let rows = write.rows_count.map_or("rows".to_owned(), rows);
    let how = if write.reads_old {
        "reads the old rows first"
    } else {
        "does not read the old rows (blind write)"
    };
    format!("Writes {rows} to {}; {how}.", write.table.name)
}

/// How a table is read: a step per list of lines.
pub(super) fn access_lines(source: &Source<'_>, zone: &Zone, steps: &mut Vec<Vec<String>>) {
    let reverse = if source.plan.reverse {
        ", backwards"
    } else {
        ""
    };
    let name = source.alias;
    let mut lines = Vec::new();
    match &source.plan.access {
        Access::Nothing => lines.push("Nothing".to_owned()),
        Access::PointGet(get) => {
            lines.push(format!("PointGet of {name}"));
            lines.push(source.span_text(&get.span(), zone));
        }
        Access::MultiGet(gets) => {
            let keys = counted(gets.keys.len(), "key");
            lines.push(format!("MultiGet of {name}: {keys}{reverse}"));
            span_lines(&gets.spans, (source, zone), &mut lines);
        }
        Access::PrefixScan(scan) => {
            let spans = counted(scan.spans.len(), "span");
            lines.push(format!(
                "PrefixScan of {name}: {spans}{reverse}{}",
                merged(source)
            ));
            span_lines(&scan.spans, (source, zone), &mut lines);
        }
        Access::Index(index) => {
            let (path, amount) = match &index.entries {
                Entries::Keys(keys) => ("IndexGet", counted(keys.len(), "key")),
                Entries::Ranges(ranges) => ("IndexScan", counted(ranges.len(), "span")),
            };
            let covering = if index.covering { ", covering" } else { "" };
            let key = source.key_name();
            lines.push(format!(
                "{path} of {name} by {key}: {amount}{reverse}{covering}"
            ));
            span_lines(&index.spans, (source, zone), &mut lines);
        }
        Access::Merge(merge) => merge_lines(merge, source, zone, &mut lines),
        Access::Ends(ends) => ends_lines(ends, source, zone, &mut lines),
        Access::Count(_) => lines.push(format!("Count of {name}")),
        Access::FullScan => lines.push(format!("FullScan of {name}{reverse}{}", merged(source))),
    }
    steps.push(lines);
    let is_merged = matches!(source.plan.access, Access::Merge(_));
    if is_merged || source.index().is_some_and(|(access, _)| !access.covering) {
        steps.push(vec![format!("Lookup of the rows of {name}")]);
    }
}

/// `, merged from 16 lanes`
fn merged(source: &Source<'_>) -> String {
    let count = source.plan.fan_out.as_ref().and_then(FanOut::merged_count);
    count.map_or(String::new(), |count| {
        format!(", merged from {count} lanes")
    })
}

type Lines = Vec<String>;

fn merge_lines(merge: &Merge, source: &Source<'_>, zone: &Zone, lines: &mut Lines) {
    let reverse = if source.plan.reverse {
        ", backwards"
    } else {
        ""
    };
    let is_sorted = merge.branches.iter().all(|branch| branch.in_key_order);
    let how = if is_sorted { "" } else { ", keys sorted" };
    let kind = match merge.kind {
        MergeKind::Union => "union",
        MergeKind::Intersection => "intersection",
    };
    let scans = counted(merge.branches.len(), "scan");
    let name = source.alias;
    lines.push(format!(
        "IndexMerge of {name}: {kind} of {scans}{how}{reverse}"
    ));
    let branches = merge.branches.iter();
    lines.extend(branches.map(|one| branch_text(one, source, zone)));
}

fn ends_lines(ends: &Ends, source: &Source<'_>, zone: &Zone, lines: &mut Lines) {
    let seeks = counted(ends.seeks.len(), "seek");
    lines.push(format!("Ends of {}: {seeks}", source.alias));
    let shown = ends.seeks.iter().take(SPANS_SHOWN_MAX);
    lines.extend(shown.map(|seek| seek_text(seek, source, zone)));
    hidden_line(ends.seeks.len(), lines);
}

fn span_lines(spans: &[Span], (source, zone): (&Source<'_>, &Zone), lines: &mut Vec<String>) {
    let shown = spans.iter().take(SPANS_SHOWN_MAX);
    lines.extend(shown.map(|span| source.span_text(span, zone)));
    hidden_line(spans.len(), lines);
}

fn hidden_line(count: usize, lines: &mut Vec<String>) {
    let hidden = count.saturating_sub(SPANS_SHOWN_MAX);
    if 0 < hidden {
        lines.push(format!("… and {hidden} more"));
    }
}

/// What a step does.
pub(super) fn step_line(step: &Step<'_>, scope: &Scope<'_>) -> String {
    match step {
        Step::Aggregate {
            keys,
            aggregates,
            in_order,
            rollup,
        } => {
            let calls: Vec<String> = aggregates.iter().map(|one| scope.aggregate(one)).collect();
            let mut line = if keys.is_empty() {
                "Aggregate".to_owned()
            } else {
                let how = if *in_order { "in key order" } else { "hashed" };
                format!("Group by {} ({how})", scope.groups(keys, *rollup))
            };
            if !calls.is_empty() {
                let _ = write!(line, ": {}", calls.join(", "));
            }
            line
        }
        Step::Having(condition) => format!("Filter: {}", scope.text(condition)),
        Step::Windows(windowing) => format!("Window: {}", scope.windows(windowing)),
        Step::Distinct => "Remove duplicates".to_owned(),
        Step::Sort { keys, rows_kept } => {
            let kept = rows_kept.map_or(String::new(), |kept| format!(", keeping {}", rows(kept)));
            format!("Sort: {}{kept}", scope.order(keys))
        }
        Step::Limit { limit, offset } => {
            let limit = limit.map_or("all rows".to_owned(), rows);
            match offset {
                0 => format!("Limit: {limit}"),
                offset => format!("Limit: {limit}, offset {offset}"),
            }
        }
    }
}

pub(super) fn write_line(statement: Statement, (name, write): (&str, &Write<'_>)) -> String {
    let verb = match statement {
        Statement::Update => "Update",
        Statement::Delete => "Delete from",
        Statement::Insert | Statement::Select => "Insert into",
        Statement::Replace => "Replace into",
        Statement::Upsert => "Upsert into",
    };
    let how = if write.reads_old {
        "reads old rows"
    } else {
        "blind write"
    };
    format!("{verb} {name}: {how}")
}

/// Why each path was taken or not; and the refusal, if there is one.
fn paths(explained: &Explained<'_>, lines: &mut Vec<String>) {
    let Some(source) = &explained.source else {
        return;
    };
    lines.push("Paths:".to_owned());
    verdict_lines(source, lines);
    if let Some(refusal) = &source.plan.refusal {
        let error = refusal.error();
        let errno = error.code().errno();
        lines.push(format!("Refused with error {errno}: {}", error.message()));
    }
}

/// Why each path of a table was taken or not.
pub(super) fn verdict_lines(source: &Source<'_>, lines: &mut Vec<String>) {
    for verdict in source.plan.verdicts(source.table).iter() {
        let mark = if verdict.is_taken { '+' } else { '-' };
        lines.push(format!("  {mark} {}: {}", verdict.path, verdict.reason));
    }
}

fn measured(explained: &Explained<'_>, lines: &mut Vec<String>) {
    if let Some(measured) = &explained.measured {
        let millis = measured.micros / 1000;
        let rest = measured.micros % 1000;
        lines.push(format!(
            "Measured: read {} rows, returned {}, took {millis}.{rest:03} ms",
            measured.rows_read, measured.rows_returned
        ));
    }
}
