//! FORMAT=JSON: the shape of MySQL 8 (`query_block`, `ordering_operation`, `table`…), with spans and
//! verdicts added to the table.

use super::json_text::Json;
use super::steps::Scope;
use super::{Explained, Source, Statement, Step, branch_text, merge_name, seek_text, traditional};
use crate::plan::access::{Access, Entries};
use crate::plan::fan_out::FanOut;
use crate::plan::paths;
use crate::types::temporal::Zone;

pub(super) fn text(explained: &Explained<'_>) -> String {
    let mut block = vec![("select_id", Json::Number(1))];
    block.extend(body(explained));
    if let Some(measured) = &explained.measured {
        block.push((
            "measured",
            Json::Object(vec![
                ("rows_read", Json::Number(measured.rows_read)),
                ("rows_returned", Json::Number(measured.rows_returned)),
                ("microseconds", Json::Number(measured.micros)),
            ]),
        ));
    }
    Json::Object(vec![("query_block", Json::Object(block))]).render()
}

/// The members of an object.
pub(super) type Members = Vec<(&'static str, Json)>;

fn body(explained: &Explained<'_>) -> Members {
    let Some(source) = &explained.source else {
        return match &explained.write {
            Some(write) => {
                let mut members = verb(explained.statement);
                members.push(("table_name", Json::text(&write.table.name)));
                members.push(("access_type", Json::text("ALL")));
                members.push(("reads_old", Json::Bool(write.reads_old)));
                vec![("table", Json::Object(members))]
            }
            None => vec![("message", Json::text("No tables used"))],
        };
    };
    if let Some(message) = traditional::empty_message(source) {
        return vec![("message", Json::text(message))];
    }
    if let Access::Ends(ends) = &source.plan.access {
        let seeks = ends.seeks.iter();
        let seeks = seeks.map(|seek| Json::Text(seek_text(seek, source, explained.zone)));
        return vec![
            ("message", Json::text(traditional::OPTIMIZED_AWAY)),
            ("seeks", Json::List(seeks.collect())),
            ("paths", Json::List(paths(source))),
        ];
    }
    if let Access::Count(_) = &source.plan.access {
        return vec![
            ("message", Json::text(traditional::OPTIMIZED_AWAY)),
            ("paths", Json::List(paths(source))),
        ];
    }
    let mut members = vec![("table", Json::Object(table(explained, source)))];
    let mut scope = Scope::of(explained);
    for step in &explained.steps {
        members = wrapped(step, &scope, members);
        scope.pass(step);
    }
    members
}

/// A step around what feeds it.
pub(super) fn wrapped(step: &Step<'_>, scope: &Scope<'_>, mut inner: Members) -> Members {
    match step {
        Step::Aggregate { keys, rollup, .. } => {
            let mut members = vec![
                (
                    "using_temporary_table",
                    Json::Bool(traditional::is_held(step)),
                ),
                ("using_filesort", Json::Bool(false)),
            ];
            if !keys.is_empty() {
                members.push(("group_by", Json::text(scope.groups(keys, *rollup))));
            }
            members.extend(inner);
            vec![("grouping_operation", Json::Object(members))]
        }
        Step::Having(condition) => {
            inner.insert(0, ("having_condition", Json::text(scope.text(condition))));
            inner
        }
        Step::Windows(windowing) => {
            let mut members = vec![
                ("using_filesort", Json::Bool(true)),
                ("functions", Json::text(scope.windows(windowing))),
            ];
            members.extend(inner);
            vec![("windowing", Json::Object(members))]
        }
        Step::Distinct => {
            let mut members = vec![("using_temporary_table", Json::Bool(true))];
            members.extend(inner);
            vec![("duplicates_removal", Json::Object(members))]
        }
        Step::Sort { keys, .. } => {
            let mut members = vec![
                ("using_filesort", Json::Bool(true)),
                ("sort_key", Json::text(scope.order(keys))),
            ];
            members.extend(inner);
            vec![("ordering_operation", Json::Object(members))]
        }
        Step::Limit { limit, offset } => {
            let mut members = Vec::new();
            members.extend(limit.map(|limit| ("limit", Json::Number(limit))));
            members.push(("offset", Json::Number(*offset)));
            members.extend(inner);
            members
        }
    }
}

pub(super) fn verb(statement: Statement) -> Members {
    match statement {
        Statement::Select => Vec::new(),
        Statement::Update => vec![("update", Json::Bool(true))],
        Statement::Delete => vec![("delete", Json::Bool(true))],
        Statement::Insert | Statement::Upsert => vec![("insert", Json::Bool(true))],
        Statement::Replace => vec![("replace", Json::Bool(true))],
    }
}

fn table(explained: &Explained<'_>, source: &Source<'_>) -> Members {
    let mut members = verb(explained.statement);
    members.push(("table_name", Json::text(source.alias)));
    if let Some(access_type) = source.access_type() {
        members.push(("access_type", Json::text(access_type)));
    }
    access(source, explained.zone, &mut members);
    if let Some(residual) = &source.plan.residual {
        let text = Scope::of(explained).text(residual);
        members.push(("attached_condition", Json::text(text)));
    }
    if let Some(write) = &explained.write {
        members.push(("reads_old", Json::Bool(write.reads_old)));
    }
    reasons(source, &mut members);
    members
}

/// How it is read.
pub(super) fn access(source: &Source<'_>, zone: &Zone, members: &mut Members) {
    if !matches!(source.plan.access, Access::FullScan) {
        key_members(source, members);
    }
    let rows = source.rows();
    members.extend(rows.map(|rows| ("rows_examined_per_scan", Json::Number(rows))));
    if source.plan.residual.is_none() {
        members.push(("filtered", Json::text("100.00")));
    }
    members.push(("access_path", Json::text(path_name(&source.plan.access))));
    if let Some((access, _)) = source.index() {
        members.push(("using_index", Json::Bool(access.covering)));
    }
    let lanes = source.plan.fan_out.as_ref().and_then(FanOut::merged_count);
    if let Some(lanes) = lanes.and_then(|lanes| u64::try_from(lanes).ok()) {
        members.push(("merged_lanes", Json::Number(lanes)));
    }
    if source.plan.reverse {
        members.push(("backward_index_scan", Json::Bool(true)));
    }
    let spans = spans(source, zone);
    if !spans.is_empty() {
        members.push(("spans", Json::List(spans)));
    }
}

/// Why each path was taken or not.
pub(super) fn reasons(source: &Source<'_>, members: &mut Members) {
    members.push(("paths", Json::List(paths(source))));
    if let Some(refusal) = &source.plan.refusal {
        members.push(("refused", Json::text(refusal.to_string())));
    }
}

fn key_members(source: &Source<'_>, members: &mut Members) {
    if let Access::Merge(merge) = &source.plan.access {
        let key = format!("{}({})", merge_name(merge), source.key_name());
        members.push(("key", Json::text(key)));
        return;
    }
    let used = match source.index() {
        Some((_, index)) => paths::index_columns(source.table, index, &source.used_parts()),
        None => paths::columns(source.table, &source.used_parts()),
    };
    let used = used.into_iter().map(Json::Text).collect();
    let possible = source.possible_keys();
    let possible = possible.into_iter().map(Json::Text).collect();
    members.push(("possible_keys", Json::List(possible)));
    members.push(("key", Json::text(source.key_name())));
    members.push(("used_key_parts", Json::List(used)));
    if let Some(bytes) = traditional::key_len(source) {
        members.push(("key_length", Json::text(bytes.to_string())));
    }
}

fn path_name(access: &Access) -> &'static str {
    match access {
        Access::Nothing => "Nothing",
        Access::PointGet(_) => "PointGet",
        Access::MultiGet(_) => "MultiGet",
        Access::PrefixScan(_) => "PrefixScan",
        Access::Index(index) => match index.entries {
            Entries::Keys(_) => "IndexGet",
            Entries::Ranges(_) => "IndexScan",
        },
        Access::Ends(_) => "Ends",
        Access::Count(_) => "Count",
        Access::Merge(_) => "IndexMerge",
        Access::FullScan => "FullScan",
    }
}

/// Spans that are written out.
const SPANS_SHOWN_MAX: usize = 100;

fn spans(source: &Source<'_>, zone: &Zone) -> Vec<Json> {
    let texts = |spans: &[crate::plan::span::Span]| {
        let shown = spans.iter().take(SPANS_SHOWN_MAX);
        let texts = shown.map(|span| Json::Text(source.span_text(span, zone)));
        texts.collect()
    };
    if let Access::Merge(merge) = &source.plan.access {
        let branches = merge.branches.iter();
        let texts = branches.map(|one| Json::Text(branch_text(one, source, zone)));
        return texts.collect();
    }
    match &source.plan.access {
        Access::Merge(_)
        | Access::Nothing
        | Access::Count(_)
        | Access::Ends(_)
        | Access::FullScan => Vec::new(),
        Access::PointGet(get) => texts(&[get.span()]),
        Access::MultiGet(gets) => texts(&gets.spans),
        Access::PrefixScan(scan) => texts(&scan.spans),
        Access::Index(index) => texts(&index.spans),
    }
}

fn paths(source: &Source<'_>) -> Vec<Json> {
    let verdicts = source.plan.verdicts(source.table);
    verdicts
        .iter()
        .map(|verdict| {
            Json::Object(vec![
                ("path", Json::text(verdict.path.to_string())),
                ("chosen", Json::Bool(verdict.is_taken)),
                ("reason", Json::text(verdict.reason.to_string())),
            ])
        })
        .collect()
}
