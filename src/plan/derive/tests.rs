//! Goldens of `derive`: key and predicate in, spans and residual out.

use super::{BRANCHES_MAX, Keys, derive, shape};
use crate::catalog::{KeyPart, Table};
use crate::plan::cut::KeyParts;
use crate::plan::span::Span;
use crate::plan::testing::{self, directive};
use crate::plan::{refusal, text};
use crate::sql::context::EvalContext;
use crate::types::Value;

/// Spans that a golden writes out.
const SPANS_SHOWN_MAX: usize = 30;

#[test]
fn goldens_of_derive() {
    let cases = testing::run_goldens("src/plan/testdata/derive", &answer);
    assert!(150 <= cases, "only {cases} cases");
}

fn answer(directives: &[String], input: &str) -> String {
    let table = directive(directives, "table").expect("a table");
    let table = testing::table(&format!("CREATE TABLE t {table}"));
    let zone = directive(directives, "zone").unwrap_or("+00:00");
    let ctx = testing::context(zone, Vec::new());
    let filter = testing::condition(input, &table);
    let conjuncts = shape::conjuncts(&filter, &ctx).expect("conjuncts");
    let parts = parts(&table);
    let key = KeyParts {
        columns: &table.columns,
        parts: &parts,
    };
    let derived = derive(key, &conjuncts, 2000, &ctx);
    let mut lines = Vec::new();
    let spans = match &derived.keys {
        Keys::Nothing => return "Nothing".to_owned(),
        Keys::TooMany(count) => return refusal::too_many_keys(*count, 2000).to_string(),
        Keys::Spans(spans) => spans,
    };
    for span in spans.iter().take(SPANS_SHOWN_MAX) {
        lines.push(span.text(&ctx.zone));
    }
    if SPANS_SHOWN_MAX < spans.len() {
        lines.push(format!("… and {} more", spans.len() - SPANS_SHOWN_MAX));
    }
    if derived.is_tight() {
        lines.push("tight".to_owned());
    }
    for conjunct in &derived.residual {
        let text = text::over_table(conjunct, &table, &ctx.zone);
        lines.push(format!("residual: {text}"));
    }
    if derived.widened {
        lines.push("widened".to_owned());
    }
    lines.extend(blocked(&derived, (&table, key), &ctx));
    assert_encodes(spans, key);
    lines.join("\n")
}

/// The key that is derived for: the first index, or the primary key of a table without.
fn parts(table: &Table) -> Vec<KeyPart> {
    match table.indexes.first() {
        Some(index) if index.unique => index.parts.clone(),
        Some(index) => index.entry_parts(table),
        None => table.key.clone(),
    }
}

/// Why conditions on key columns say nothing.
fn blocked(
    derived: &super::Derived<'_>,
    (table, key): (&Table, KeyParts<'_>),
    ctx: &EvalContext,
) -> Vec<String> {
    let all = derived.conditions.iter().flat_map(|one| &one.blocked);
    all.filter(|blocked| key.position(blocked.column_idx).is_some())
        .map(|blocked| {
            let condition = text::over_table(blocked.condition, table, &ctx.zone);
            let column = text::column_name(table, blocked.column_idx);
            format!("blocked on {column}: {condition} {}", blocked.obstacle)
        })
        .collect()
}

/// Spans are ordered, apart, and not empty as bytes either.
fn assert_encodes(spans: &[Span], key: KeyParts<'_>) {
    let mut last: Option<Vec<u8>> = None;
    for span in spans {
        let range = span.encode(key).expect("a span that encodes");
        if let Some(until) = &range.until {
            assert!(range.start < *until, "empty as bytes: {span:?}");
        }
        assert!(last.is_none_or(|last| last <= range.start), "out of order");
        last = Some(range.until.unwrap_or_else(|| vec![0xFF; 8]));
    }
}

/// Past the most alternatives a value is read, too: as part of a wider span.
#[test]
fn no_value_of_a_long_or_is_left_out() {
    let table = testing::table("CREATE TABLE t (k INT, c INT, PRIMARY KEY (k, c))");
    let ctx = testing::context("+00:00", Vec::new());
    let parts = parts(&table);
    let key = KeyParts {
        columns: &table.columns,
        parts: &parts,
    };
    for count in [
        BRANCHES_MAX,
        BRANCHES_MAX + 1,
        BRANCHES_MAX + 2,
        2 * BRANCHES_MAX,
    ] {
        let values: Vec<String> = (1..=count).map(|value| format!("k = {value}")).collect();
        let filter = testing::condition(&values.join(" OR "), &table);
        let conjuncts = shape::conjuncts(&filter, &ctx).expect("conjuncts");
        let derived = derive(key, &conjuncts, 2000, &ctx);
        let Keys::Spans(spans) = &derived.keys else {
            panic!("no spans of {count} values");
        };
        let last = i64::try_from(count).expect("a small number");
        let last = Span::of_prefix(vec![Value::Int(last)]);
        let mut with_last = spans.iter().filter_map(|span| span.intersect(&last, key));
        assert!(with_last.next().is_some(), "{count}: {spans:?}");
    }
}
