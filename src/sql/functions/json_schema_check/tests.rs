//! Of the rules of JSON schemas.

use super::*;
use crate::sql::eval::tests::context;
use crate::types::json::parse;

/// Schema, document, and `valid`, or the keyword, the place in the schema and that in the document.
const CASES: &[(&str, &str, &str)] = &[
    ("{}", "1", "valid"),
    (r#"{"type": 7}"#, "1", "type # #"),
    (r#"{"type": "integer"}"#, "1", "valid"),
    (r#"{"type": "integer"}"#, "1.0", "type # #"),
    (r#"{"type": "number"}"#, "1", "valid"),
    (r#"{"type": ["null", "string"]}"#, "null", "valid"),
    (r#"{"type": ["null", "string"]}"#, "[]", "type # #"),
    (r#"{"type": "any"}"#, "1", "type # #"),
    (r#"{"minimum": 2, "maximum": 3}"#, "2", "valid"),
    (r#"{"minimum": 2, "maximum": 3}"#, "1.9", "minimum # #"),
    (r#"{"minimum": 2, "maximum": 3}"#, "3.1", "maximum # #"),
    (
        r#"{"minimum": 2, "exclusiveMinimum": true}"#,
        "2",
        "exclusiveMinimum # #",
    ),
    (
        r#"{"maximum": 2, "exclusiveMaximum": true}"#,
        "2.0",
        "exclusiveMaximum # #",
    ),
    (
        r#"{"minimum": 9007199254740993}"#,
        "9007199254740992",
        "minimum # #",
    ),
    (r#"{"minimum": "2"}"#, "1", "valid"),
    (r#"{"multipleOf": 3}"#, "-9", "valid"),
    (r#"{"multipleOf": 3}"#, "10", "multipleOf # #"),
    (r#"{"multipleOf": 0.1}"#, "0.3", "valid"),
    (r#"{"multipleOf": 0.1}"#, "0.35", "multipleOf # #"),
    (r#"{"multipleOf": 0}"#, "5", "valid"),
    (r#"{"minLength": 2}"#, r#""é""#, "minLength # #"),
    (r#"{"maxLength": 1}"#, r#""é""#, "valid"),
    (r#"{"maxLength": 1}"#, r#""ab""#, "maxLength # #"),
    (r#"{"pattern": "^a.c$"}"#, r#""abc""#, "valid"),
    (r#"{"pattern": "b"}"#, r#""abc""#, "valid"),
    (r#"{"pattern": "B"}"#, r#""abc""#, "pattern # #"),
    (r#"{"pattern": ""}"#, r#""""#, "valid"),
    (r#"{"required": ["a", "b"]}"#, r#"{"a": 1}"#, "required # #"),
    (r#"{"required": ["a", "b"]}"#, "[]", "valid"),
    (r#"{"minProperties": 1}"#, "{}", "minProperties # #"),
    (
        r#"{"maxProperties": 1}"#,
        r#"{"a": 1, "b": 2}"#,
        "maxProperties # #",
    ),
    (
        r#"{"properties": {"a": {"properties": {"b/c ~": {"type": "string"}}}}}"#,
        r#"{"a": {"b/c ~": 1}}"#,
        "type #/properties/a/properties/b~1c%20~0 #/a/b~1c%20~0",
    ),
    (
        r#"{"properties": {"a": {}}, "additionalProperties": false}"#,
        r#"{"a": 1, "bb": 2}"#,
        "additionalProperties # #/bb",
    ),
    (
        r#"{"properties": {"a": {}}, "additionalProperties": {"type": "null"}}"#,
        r#"{"a": 1, "bb": 2}"#,
        "type #/additionalProperties #/bb",
    ),
    (
        r#"{"patternProperties": {"^i": {"type": "integer"}}, "additionalProperties": false}"#,
        r#"{"i1": 1}"#,
        "valid",
    ),
    (
        r#"{"patternProperties": {"^i": {"type": "integer"}}}"#,
        r#"{"i1": "x"}"#,
        "patternProperties # #/i1",
    ),
    (
        r#"{"properties": {"i": {"maximum": 2}}, "patternProperties": {"^i": {"type": "integer"}}}"#,
        r#"{"i": 3}"#,
        "patternProperties # #/i",
    ),
    (
        r#"{"dependencies": {"a": ["b"]}}"#,
        r#"{"a": 1}"#,
        "dependencies # #",
    ),
    (
        r#"{"dependencies": {"a": {"required": ["c"]}}}"#,
        r#"{"a": 1, "b": 1}"#,
        "dependencies # #",
    ),
    (r#"{"dependencies": {"a": ["b"]}}"#, r#"{"c": 1}"#, "valid"),
    (
        r#"{"items": {"type": "null"}}"#,
        "[null, 1]",
        "type #/items #/1",
    ),
    (
        r#"{"items": [{}, {"type": "null"}]}"#,
        "[1, 2]",
        "type #/items/1 #/1",
    ),
    (
        r#"{"items": [{}], "additionalItems": false}"#,
        "[1, 2]",
        "additionalItems # #/1",
    ),
    (
        r#"{"items": [{}], "additionalItems": {"type": "null"}}"#,
        "[1, 2]",
        "type #/additionalItems #/1",
    ),
    (r#"{"additionalItems": false}"#, "[1]", "valid"),
    (r#"{"minItems": 1}"#, "[]", "minItems # #"),
    (r#"{"maxItems": 1}"#, "[1, 2]", "maxItems # #"),
    (r#"{"uniqueItems": true}"#, r#"[1, "1", 2]"#, "valid"),
    (
        r#"{"uniqueItems": true}"#,
        "[1, 2, 1.0]",
        "uniqueItems # #/2",
    ),
    (
        r#"{"uniqueItems": true}"#,
        r#"[{"a": 0, "b": [-0.0]}, {"b": [0], "a": 0.0}]"#,
        "uniqueItems # #/1",
    ),
    (r#"{"enum": [1, {"a": [2]}]}"#, r#"{"a": [2.0]}"#, "valid"),
    (r#"{"enum": [1, {"a": [2]}]}"#, "2", "enum # #"),
    (r#"{"enum": []}"#, "2", "valid"),
    (
        r#"{"allOf": [{"minimum": 1}, {"maximum": 2}]}"#,
        "3",
        "allOf # #",
    ),
    (
        r#"{"allOf": [{"minimum": 1}, {"maximum": 2}]}"#,
        "2",
        "valid",
    ),
    (
        r#"{"anyOf": [{"type": "null"}, {"maximum": 2}]}"#,
        "3",
        "anyOf # #",
    ),
    (
        r#"{"anyOf": [{"type": "null"}, {"maximum": 2}]}"#,
        "1",
        "valid",
    ),
    (
        r#"{"oneOf": [{"minimum": 1}, {"minimum": 2}]}"#,
        "1",
        "valid",
    ),
    (
        r#"{"oneOf": [{"minimum": 1}, {"minimum": 2}]}"#,
        "2",
        "oneOf # #",
    ),
    (
        r#"{"oneOf": [{"minimum": 1}, {"minimum": 2}]}"#,
        "0",
        "oneOf # #",
    ),
    (r#"{"not": {"type": "null"}}"#, "null", "not # #"),
    (r#"{"not": {"type": "null"}}"#, "0", "valid"),
    (
        r##"{"definitions": {"p q": {"type": "null"}}, "items": {"$ref": "#/definitions/p%20q"}}"##,
        "[1]",
        "type #/definitions/p%20q #/0",
    ),
    (
        r##"{"properties": {"n": {"$ref": "#"}, "v": {"type": "integer"}}}"##,
        r#"{"v": 1, "n": {"v": 2, "n": {"v": "x"}}}"#,
        "type #/properties/v #/n/n/v",
    ),
    (r##"{"$ref": "#/nowhere"}"##, "1", "valid"),
    (r##"{"$ref": "#"}"##, "1", "error 1235"),
    (r##"{"allOf": [{"$ref": "#"}]}"##, "1", "error 1235"),
    (r#"{"items": {"$ref": "other.json#/a"}}"#, "1", "error 1235"),
    (r##"{"items": {"$ref": "#named"}}"##, "1", "error 1235"),
    (r#"{"pattern": "("}"#, r#""abc""#, "valid"),
    (
        r#"{"patternProperties": {"(": {"type": "null"}}}"#,
        r#"{"(": 1}"#,
        "valid",
    ),
    (r#"{"pattern": "(a)\\1"}"#, r#""aa""#, "error 3685"),
    (r#"{"pattern": "(?=a)"}"#, r#""a""#, "error 3685"),
];

#[test]
fn documents_meet_their_schemas_or_fail_where_it_is_told() {
    let ctx = context();
    for (schema, document, expected) in CASES {
        let (schema, document) = (parse(schema).unwrap(), parse(document).unwrap());
        let checked =
            check_references(&schema).and_then(|()| first_failure(&schema, &document, &ctx));
        let found = match checked {
            Ok(None) => "valid".to_owned(),
            Ok(Some(failure)) => format!(
                "{} {} {}",
                failure.keyword, failure.schema_at, failure.document_at
            ),
            Err(error) => format!("error {}", error.code().errno()),
        };
        assert_eq!(found, *expected, "{schema} {document}");
    }
}

#[test]
fn the_deepest_document_fits_the_stack() {
    let ctx = context();
    let deep = parse(&format!("{}{}", "[".repeat(100), "]".repeat(100))).unwrap();
    let schema = r##"{"anyOf": [{"items": {"allOf": [{"$ref": "#"}]}}]}"##;
    let schema = parse(schema).unwrap();
    assert_eq!(first_failure(&schema, &deep, &ctx), Ok(None));
}

/// Here everything that takes long is stopped at once.
#[track_caller]
fn check_stopped(schema: &str, document: &str) {
    let (schema, document) = (parse(schema).unwrap(), parse(document).unwrap());
    let stopped = first_failure(&schema, &document, &context());
    assert_eq!(stopped.unwrap_err().code().errno(), 1317);
}

/// Each name means the next one twice: 2^24 schemas are asked, if nobody stops it.
#[test]
fn a_schema_that_takes_long_can_be_stopped() {
    let name = |idx: usize| {
        let next = idx + 1;
        format!(r##""d{idx}": {{"allOf": [{{"$ref": "#/d{next}"}}, {{"$ref": "#/d{next}"}}]}}"##)
    };
    let names: Vec<String> = (0..24).map(name).collect();
    let schema = format!(r##"{{"$ref": "#/d0", {}, "d24": {{}}}}"##, names.join(", "));
    check_stopped(&schema, "null");
}

/// With one pattern more than a thread keeps, each was compiled anew for each member, and nobody asked.
#[test]
fn patterns_can_be_stopped() {
    let pattern = |idx: usize| format!(r#""^\\w{{18}}z{idx}$": {{}}"#);
    let patterns: Vec<String> = (0..17).map(pattern).collect();
    let schema = format!(r#"{{"patternProperties": {{{}}}}}"#, patterns.join(", "));
    check_stopped(&schema, r#"{"a": 1, "b": 2}"#);
}

#[test]
fn long_lists_and_texts_can_be_stopped() {
    let list = |one: &str| vec![one; 2000].join(", ");
    let text = format!(r#""{}""#, "x".repeat(100_000));
    check_stopped(&format!(r#"{{"enum": [{}]}}"#, list("1")), "2");
    check_stopped(&format!(r#"{{"enum": [{text}]}}"#), "2");
    check_stopped(&format!(r#"{{"type": [{}]}}"#, list(r#""null""#)), "2");
    check_stopped(
        &format!(r#"{{"required": [{}]}}"#, list(r#""a""#)),
        r#"{"a": 1}"#,
    );
    let needed = list(r#""a""#);
    check_stopped(
        &format!(r#"{{"dependencies": {{"a": [{needed}]}}}}"#),
        r#"{"a": 1}"#,
    );
    let numbers: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
    check_stopped(
        r#"{"uniqueItems": true}"#,
        &format!("[{}]", numbers.join(", ")),
    );
    check_stopped(r#"{"pattern": "^a"}"#, &text);
    check_stopped(r#"{"minLength": 2}"#, &text);
    let schema = r#"{"not": {"additionalProperties": {"type": "null"}}}"#;
    check_stopped(schema, &format!("{{{text}: 1}}"));
}
