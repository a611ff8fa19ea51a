//! The parser's tests: goldens, limits, real clients' statements, random tokens.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{Parsed, parse_first};
use crate::error::{Code, Result};
use crate::sql::context::Mode;

/// MySQL 8's default mode.
pub(crate) const DEFAULT_MODE: Mode = Mode {
    strict: true,
    error_for_division_by_zero: true,
    no_zero_date: true,
    no_zero_in_date: true,
    no_unsigned_subtraction: false,
    real_as_float: false,
    no_backslash_escapes: false,
    pipes_as_concat: false,
    ansi_quotes: false,
    only_full_group_by: true,
    no_auto_value_on_zero: false,
    lindorm: false,
};

fn parse(sql: &str) -> Result<Parsed> {
    parse_first(sql.as_bytes(), DEFAULT_MODE)
}

/// Runs every golden of a directory: cases are an input, `----`, the output, a blank line. Lines
/// with `#` in front tell about the cases after them. `UPDATE_GOLDENS=1` writes the outputs.
pub(in crate::sql) fn goldens(directory: &str, answer: impl Fn(&str, &str) -> String) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/sql/testdata")
        .join(directory);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let old = std::fs::read_to_string(&path).unwrap();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let new = rewritten(&old, |input| answer(&stem, input));
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            std::fs::write(&path, new).unwrap();
        } else if old != new {
            let line = old.lines().zip(new.lines()).find(|(old, new)| old != new);
            panic!("{}: golden differs: {line:?}", path.display());
        }
    }
}

fn rewritten(old: &str, answer: impl Fn(&str) -> String) -> String {
    let mut new = String::new();
    for case in old
        .split("\n\n")
        .map(|case| case.trim_matches('\n'))
        .filter(|case| !case.is_empty())
    {
        let body: Vec<&str> = case.lines().collect();
        let comments = body
            .iter()
            .take_while(|line| line.starts_with("# "))
            .count();
        for line in &body[..comments] {
            writeln!(new, "{line}").unwrap();
        }
        let input: Vec<&str> = body[comments..]
            .iter()
            .take_while(|line| **line != "----")
            .copied()
            .collect();
        if !input.is_empty() {
            let input = input.join("\n");
            writeln!(new, "{input}\n----\n{}", answer(&input)).unwrap();
        }
        new.push('\n');
    }
    new.truncate(new.trim_end().len());
    new.push('\n');
    new
}

/// Drops the fields that say nothing from a `Debug` text.
pub(in crate::sql) fn brief(text: &str) -> String {
    let mut text = text.to_owned();
    for empty in [": None", ": []", ": false", "comment: \"\""] {
        for end in [", ", " }"] {
            let ending = format!("{empty}{end}");
            while let Some(at) = text.find(&ending) {
                let start = text[..=at].rfind([' ', '{']).unwrap() + 1;
                let end = at + ending.len() - if end == ", " { 0 } else { 2 };
                text.replace_range(start..end, "");
            }
        }
    }
    text.replace(",  }", " }")
        .replace("{  }", "{}")
        .replace(",  ", ", ")
}

#[test]
fn statements_print_as_in_the_goldens() {
    goldens("parse", |file, input| {
        let mode = Mode {
            ansi_quotes: file == "ansi",
            pipes_as_concat: file == "ansi",
            no_backslash_escapes: file == "ansi",
            ..DEFAULT_MODE
        };
        let mut output = Vec::new();
        let mut rest = input.as_bytes();
        loop {
            match parse_first(rest, mode) {
                Ok(parsed) => {
                    output.push(brief(&format!("{:?}", parsed.statement)));
                    if parsed.parameters_count != 0 {
                        output.push(format!("parameters: {}", parsed.parameters_count));
                    }
                    rest = &rest[parsed.rest_offset..];
                }
                Err(error) => {
                    output.push(error.to_string());
                    rest = &[];
                }
            }
            if rest.is_empty() {
                return output.join("\n");
            }
        }
    });
}

fn code(sql: &str) -> Code {
    parse(sql).unwrap_err().code()
}

#[test]
fn deep_statements_are_refused_and_do_not_overflow_the_stack() {
    let deep = |open: &str, close: &str| {
        format!("SELECT {}1{}", open.repeat(100_000), close.repeat(100_000))
    };
    for (open, close) in [
        ("(", ")"),
        ("NOT ", ""),
        ("- ", ""),
        ("!", ""),
        ("~", ""),
        ("ABS(", ")"),
        ("(SELECT ", ")"),
        ("CASE WHEN ", " THEN 1 END"),
        ("1 + (", ")"),
        ("1 IN (", ")"),
        ("CAST(", " AS SIGNED)"),
        ("@a := ", ""),
        ("BINARY ", ""),
        ("DATE_ADD(", ", INTERVAL 1 DAY)"),
        ("INTERVAL(", ", 1)"),
        ("INTERVAL ", " DAY + 1"),
        ("EXISTS (SELECT ", ")"),
        ("TRIM(", ")"),
        ("1 + INTERVAL ", " DAY"),
    ] {
        let code = code(&deep(open, close));
        assert!(matches!(code, Code::TooDeep), "{open}: {code:?}");
    }
    let froms = format!(
        "SELECT 1 FROM {}t{}",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    assert_eq!(code(&froms), Code::TooDeep);
    for join in [" JOIN t", " LEFT JOIN t"] {
        let joins = format!("SELECT 1 FROM t{}", join.repeat(100_000));
        assert_eq!(code(&joins), Code::TooDeep);
    }
    let trailing = format!(
        "SELECT 1 FROM t{}{}",
        " JOIN t".repeat(90),
        " ON 1".repeat(90)
    );
    assert!(parse(&trailing).is_ok());
    let conditions = format!("SELECT 1 FROM t{}", " JOIN t ON 1".repeat(1000));
    assert!(parse(&conditions).is_ok());
    let queries = format!("{}SELECT 1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(code(&queries), Code::TooDeep);
    let explains = format!("{}SELECT 1", "EXPLAIN ".repeat(100_000));
    assert_eq!(code(&explains), Code::Parse);
}

#[test]
fn chains_of_and_are_flat_and_chains_of_plus_are_bounded() {
    let chain = |sign: &str, count: usize| format!("SELECT 1{}", sign.repeat(count));
    assert!(parse(&chain(" AND 1", 100_000)).is_ok());
    assert!(parse(&chain(" OR 1", 100_000)).is_ok());
    assert!(parse(&chain(" + 1", 390)).is_ok());
    assert_eq!(code(&chain(" + 1", 100_000)), Code::TooDeep);
    assert_eq!(code(&chain(" < 1", 100_000)), Code::TooDeep);
    assert_eq!(code(&chain(" IS NULL", 100_000)), Code::TooDeep);
    assert_eq!(code(&chain(" COLLATE a", 100_000)), Code::TooDeep);
    assert_eq!(code(&chain(" XOR 1", 100_000)), Code::TooDeep);
    assert_eq!(code(&chain(" + INTERVAL 1 DAY", 100_000)), Code::TooDeep);
    assert_eq!(code(&chain(" UNION SELECT 1", 100_000)), Code::TooDeep);
}

#[test]
fn the_deepest_allowed_expressions_parse() {
    let parens = 90;
    assert!(
        parse(&format!(
            "SELECT {}1{}",
            "(".repeat(parens),
            ")".repeat(parens)
        ))
        .is_ok()
    );
    assert!(parse(&format!("SELECT {}1{}", "ABS(".repeat(45), ")".repeat(45))).is_ok());
}

#[test]
fn long_lists_and_many_parameters_meet_their_limits() {
    let list = format!("SELECT 1 IN (0{})", ",1".repeat(1_000_000));
    assert!(parse(&list).is_ok());
    let most = format!("SELECT ?{}", ",?".repeat(65_534));
    assert_eq!(parse(&most).unwrap().parameters_count, 65_535);
    let more = format!("SELECT ?{}", ",?".repeat(65_535));
    assert_eq!(code(&more), Code::TooManyPlaceholders);
    let words = format!("SELECT 0{}", ",1".repeat(5 << 20));
    assert_eq!(code(&words), Code::ParserCapacity);
}

/// Found by the fuzzer: looking for the end of the parentheses never came to one.
#[test]
fn queries_in_parentheses_end_where_the_text_does() {
    for text in [
        "SELECT a.x FROM ((SELECT 1 AS\0\n)) AS a",
        "SELECT a.x FROM ((SELECT 1\0AS x LIMIT 1) UNION (SELECT 2 LIMIT 1)) AS a ORDER BY a.x",
        "SELECT 1 FROM ((SELECT 1",
    ] {
        assert_eq!(code(text), Code::Parse, "{text:?}");
    }
    let deep = 100_000;
    let nested = format!(
        "SELECT 1 FROM {}SELECT 1{}",
        "(".repeat(deep),
        ")".repeat(deep)
    );
    assert_eq!(code(&nested), Code::TooDeep);
}

#[test]
fn bytes_that_are_not_utf8_are_kept_in_texts_only() {
    let parsed = parse_first(b"SELECT '\xff', _binary'\xfe'", DEFAULT_MODE).unwrap();
    let printed = format!("{:?}", parsed.statement);
    assert!(
        printed.contains("x'ff'") && printed.contains("x'fe'"),
        "{printed}"
    );
    for bad in [
        &b"SELECT \xff"[..],
        b"SELECT `\xff`",
        b"SELECT _utf8mb4'\xff'",
    ] {
        let error = parse_first(bad, DEFAULT_MODE).unwrap_err();
        assert_eq!(error.code(), Code::InvalidCharacterString);
    }
}

/// The statements of every recorded client; `None` when the recordings are not there.
fn recorded() -> Option<Vec<String>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/clients");
    let mut statements = Vec::new();
    for entry in std::fs::read_dir(directory).ok()? {
        let path = entry.ok()?.path();
        if path.ends_with("README.md") {
            continue;
        }
        for line in std::fs::read_to_string(path).ok()?.lines() {
            let verbs = ["COM_QUERY ", "COM_STMT_PREPARE "];
            if let Some(sql) = verbs.iter().find_map(|verb| line.strip_prefix(verb)) {
                statements.push(sql.to_owned());
            }
        }
    }
    Some(statements)
}

/// Recorded lines are cut at some length or at a line's end; such a statement fails.
fn was_cut(sql: &str) -> bool {
    sql.is_empty() || 100 <= sql.len() || sql.matches('\'').count() % 2 == 1
}

#[test]
fn statements_of_real_clients_parse() {
    let Some(statements) = recorded() else {
        eprintln!("skipped: no recordings of clients beside the repository");
        return;
    };
    assert!(200 < statements.len());
    let mut failures = String::new();
    for sql in &statements {
        let mut rest = sql.as_bytes();
        while !rest.is_empty() {
            match parse_first(rest, DEFAULT_MODE) {
                Ok(parsed) => rest = &rest[parsed.rest_offset..],
                Err(error) => {
                    if !was_cut(sql) {
                        writeln!(failures, "{sql}\n    {error}").unwrap();
                    }
                    break;
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

const SOUP: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "(",
    ")",
    ",",
    "1",
    "'a'",
    "a",
    "`b`",
    ".",
    "*",
    "+",
    "-",
    "NOT",
    "IN",
    "BETWEEN",
    "AND",
    "OR",
    "LIKE",
    "IS",
    "NULL",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "INTERVAL",
    "DAY",
    "?",
    "@a",
    "@@",
    "SET",
    "=",
    ":=",
    "INSERT",
    "INTO",
    "VALUES",
    "UPDATE",
    "DELETE",
    "ON",
    "DUPLICATE",
    "KEY",
    "CREATE",
    "TABLE",
    "INT",
    "PRIMARY",
    "INDEX",
    "SHOW",
    "COUNT",
    "GROUP",
    "BY",
    "ORDER",
    "LIMIT",
    "EXPLAIN",
    "FORMAT",
    "WITH",
    "UNION",
    "AS",
    "CAST",
    "x'41'",
    "0x4",
    "1e5",
    ";",
    "/*!",
    "*/",
    "/*+ a(b) */",
    "--",
    "\n",
    "#",
    "'",
    "\"",
    "`",
    "\\",
    "_binary",
    "N'x'",
    "||",
    "<=>",
    "->",
    "DEFAULT",
    "ROW",
    "JOIN",
    "USING",
    "DESC",
    "ENUM",
    "VARCHAR",
    "TRANSACTION",
    "START",
    "{d",
    "}",
    "é",
    "TRIM",
];

proptest! {
    #[test]
    fn random_tokens_never_panic(words in prop::collection::vec(prop::sample::select(SOUP), 0..40)) {
        let sql = words.join(" ");
        if let Ok(parsed) = parse(&sql) {
            prop_assert!(parsed.rest_offset <= sql.len());
            let _ = format!("{:?}", parsed.statement);
        }
        let _ = parse(&words.concat());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = parse_first(&bytes, DEFAULT_MODE);
    }
}
