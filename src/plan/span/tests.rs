//! The algebra of spans, told in their text.

use super::{Span, intersect, normalise, union};
use crate::plan::cut::{Cut, KeyParts};
use crate::plan::derive::{Keys, derive, shape};
use crate::plan::testing;
use crate::types::temporal::Zone;

const TABLE: &str = "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b DESC))";

/// The spans of a predicate.
fn spans(predicate: &str) -> Vec<Span> {
    let table = testing::table(TABLE);
    let ctx = testing::context("+00:00", Vec::new());
    let filter = testing::condition(predicate, &table);
    let conjuncts = shape::conjuncts(&filter, &ctx).unwrap();
    match derive(KeyParts::primary(&table), &conjuncts, 2000, &ctx).keys {
        Keys::Spans(spans) => spans,
        Keys::Nothing | Keys::TooMany(_) => Vec::new(),
    }
}

fn shown(spans: &[Span]) -> String {
    let texts: Vec<String> = spans.iter().map(|span| span.text(&Zone::UTC)).collect();
    texts.join(" ")
}

#[test]
fn spans_unite_and_meet() {
    let table = testing::table(TABLE);
    let key = KeyParts::primary(&table);
    // Two predicates; their union; their intersection.
    let cases = [
        ("a < 5", "a > 3", "[ - ]", "[/4]"),
        ("a = 1", "a = 2", "[/1] [/2]", ""),
        ("a = 1", "a = 1 AND b > 2", "[/1]", "[/1 - /1/3]"),
        ("a IN (1, 3)", "a BETWEEN 2 AND 5", "[/1] [/2 - /5]", "[/3]"),
        (
            "a = 1 AND b > 2",
            "a = 1 AND b < 5",
            "[/1]",
            "[/1/4 - /1/3]",
        ),
        ("a > 5", "a < 3", "[ - /2] [/6 - ]", ""),
    ];
    for (a, b, both, common) in cases {
        let (left, right) = (spans(a), spans(b));
        assert_eq!(
            shown(&union(left.clone(), right.clone(), key)),
            both,
            "{a} or {b}"
        );
        assert_eq!(shown(&intersect(&left, &right, key)), common, "{a} and {b}");
    }
}

#[test]
fn normal_spans_are_ascending_and_apart() {
    let table = testing::table(TABLE);
    let key = KeyParts::primary(&table);
    let mut shuffled = spans("a = 7");
    shuffled.extend(spans("a = 1"));
    shuffled.extend(spans("a = 1 AND b = 3"));
    shuffled.extend(spans("a = 7"));
    assert_eq!(shown(&normalise(shuffled, key)), "[/1] [/7]");
}

#[test]
fn a_span_without_room_cannot_be_built() {
    let table = testing::table(TABLE);
    let key = KeyParts::primary(&table);
    assert!(Span::between(Cut::end(), Cut::start(), key).is_none());
    assert!(Span::between(Cut::start(), Cut::start(), key).is_none());
    assert!(Span::between(Cut::start(), Cut::end(), key).is_some_and(|all| all.is_all()));
}
