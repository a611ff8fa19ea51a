//! Lines and fields, in one piece and byte by byte; what is written is read back.

use super::read::{Line, Reader, Step};
use super::write::{Field, put_line};
use crate::sql::ast::FileFormat;
use proptest::prelude::*;

type Rows = Vec<Vec<Option<Vec<u8>>>>;

/// The rows of a file that comes in pieces of so many bytes.
fn read(format: &FileFormat, text: &[u8], (fields, skipped, piece): (usize, u64, usize)) -> Rows {
    let mut reader = Reader::new(format, fields, skipped);
    let mut pieces = text.chunks(piece);
    let (mut line, mut rows) = (Line::default(), Rows::new());
    loop {
        match reader.next(&mut line).unwrap() {
            Step::Line => {
                let fields = line.fields().map(|field| field.map(<[u8]>::to_vec));
                rows.push(fields.collect());
                assert_eq!(line.fields_count(), rows.last().unwrap().len());
            }
            Step::More => match pieces.next() {
                Some(piece) => reader.feed().extend_from_slice(piece),
                None => reader.end(),
            },
            Step::End => return rows,
        }
    }
}

/// Rows as text: fields in brackets.
fn shown(rows: &Rows) -> String {
    let field = |field: &Option<Vec<u8>>| match field {
        Some(bytes) => format!("[{}]", bytes.escape_ascii()),
        None => "NULL".to_owned(),
    };
    let rows = rows
        .iter()
        .map(|row| row.iter().map(field).collect::<String>());
    rows.collect::<Vec<_>>().join(" / ")
}

fn csv() -> FileFormat {
    FileFormat {
        fields_end: b",".to_vec(),
        enclosed_by: Some(b'"'),
        ..FileFormat::default()
    }
}

fn check(format: &FileFormat, (fields, skipped): (usize, u64), cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        for piece in [1, 2, 3, 1000] {
            let rows = read(format, text.as_bytes(), (fields, skipped, piece));
            assert_eq!(shown(&rows), *expected, "{text:?} in pieces of {piece}");
        }
    }
}

#[test]
fn tabs_and_backslashes() {
    let cases = [
        ("", ""),
        ("1\ta\n2\tb", "[1][a] / [2][b]"),
        ("1\t\\N\n", "[1]NULL"),
        ("1\t2\t\n3\t4\t5\\\n6\n7\t", "[1][2] / [3][4] / [7]"),
        ("1\tNULL\n\\N2\tx", "[1][NULL] / [N2][x]"),
        ("a\\\tb\tc\\\nd\n", "[a\\tb][c\\nd]"),
        (
            "\\0\\b\\Z\\r\\t\\n\\q\\\\\n",
            "[\\x00\\x08\\x1a\\r\\t\\nq\\\\]",
        ),
        ("\n\t\n", "[] / [][]"),
        ("a\tb\tc\\", "[a][b]"),
        ("end\\", "[end\\\\]"),
    ];
    check(&FileFormat::default(), (2, 0), &cases);
}

#[test]
fn quotes() {
    let cases = [
        ("\"a,b\",\"c\nd\"\n", "[a,b][c\\nd]"),
        ("\"a\"\"b\",\"c\"d\"\n", "[a\\\"b][c\\\"d]"),
        ("NULL,\"NULL\"\n\\N,\"\\N\"\n", "NULL[NULL] / NULLNULL"),
        ("a\"b\",\"x", "[a\\\"b\\\"][\\\"x]"),
        ("\"\"\n", "[]"),
    ];
    check(&csv(), (2, 0), &cases);
    let doubled = FileFormat {
        escaped_by: Some(b'"'),
        ..csv()
    };
    check(
        &doubled,
        (2, 0),
        &[
            ("\"a\"\"b\\n\",1\n", "[a\\\"b\\\\n][1]"),
            ("a\"\"b,c\"\n\"x\"", "[a\\\"b][c\\\"] / [x]"),
        ],
    );
}

#[test]
fn starts_ends_and_skipped_lines() {
    let format = FileFormat {
        fields_end: b"||".to_vec(),
        lines_start: b"->".to_vec(),
        lines_end: b"\r\n".to_vec(),
        escaped_by: None,
        ..FileFormat::default()
    };
    let cases = [
        ("->a||b\r\nnone\r\nx->c|d||\\N\r\n", "[a][b] / [c|d][\\\\N]"),
        ("nothing", ""),
    ];
    check(&format, (2, 0), &cases);
    check(
        &csv(),
        (1, 2),
        &[("a\n\"b\nc\n", "[c]"), ("a", ""), ("a\nb\n", "")],
    );
    let endless = FileFormat {
        lines_end: Vec::new(),
        ..csv()
    };
    check(&endless, (2, 0), &[("1,2,3,4", "[1][2] / [3][4]")]);
}

fn formats() -> impl Strategy<Value = FileFormat> {
    let ends = prop_oneof![Just("\t"), Just(","), Just("||"), Just("ab")];
    let lines = prop_oneof![Just("\n"), Just("\r\n"), Just(";")];
    let quotes = prop_oneof![Just(None), Just(Some(b'"')), Just(Some(b'n'))];
    (
        ends,
        lines,
        quotes,
        any::<bool>(),
        prop_oneof![Just(b'\\'), Just(b'!')],
    )
        .prop_map(
            |(fields, lines, enclosed_by, optionally, escape)| FileFormat {
                fields_end: fields.into(),
                enclosed_by,
                optionally,
                escaped_by: Some(escape),
                lines_start: Vec::new(),
                lines_end: lines.into(),
            },
        )
}

fn texts() -> impl Strategy<Value = Option<Vec<u8>>> {
    let bytes = prop::sample::select(b"ab,|\t\r\n;\"n\\!N0\0\xFF".to_vec());
    prop::option::of(prop::collection::vec(bytes, 0..6))
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        format in formats(),
        rows in prop::collection::vec(prop::collection::vec(texts(), 2..3), 0..4),
        piece in 1_usize..20,
    ) {
        let mut text = Vec::new();
        for row in &rows {
            let fields = row.iter().map(|text| Field { text: text.as_deref(), is_text: true });
            put_line(&mut text, &format, fields);
        }
        // A bare word cannot be told from NULL where there are quotes; texts are always between them.
        prop_assert_eq!(read(&format, &text, (2, 0, piece)), rows);
    }
}

proptest! {
    /// No bytes lead behind the end, and pieces make no difference.
    #[test]
    fn any_bytes_are_lines(
        format in formats(),
        text in prop::collection::vec(prop::sample::select(b"ab,|\t\r\n;\"n\\!N0".to_vec()), 0..60),
        (skipped, piece) in (0_u64..3, 1_usize..20),
    ) {
        let whole = read(&format, &text, (2, skipped, 1000));
        prop_assert_eq!(read(&format, &text, (2, skipped, piece)), whole);
    }
}

/// What is before `LINES STARTING BY` is of no line; all of it was kept until the file ended.
#[test]
fn what_no_line_has_is_not_held() {
    let format = FileFormat {
        lines_start: b"row:".to_vec(),
        ..FileFormat::default()
    };
    let mut reader = Reader::new(&format, 1, 0);
    let mut line = Line::default();
    for _ in 0..50 {
        reader.feed().extend_from_slice(&[b'r'; 10_000]);
        assert_eq!(reader.next(&mut line).unwrap(), Step::More);
        assert!(reader.held_bytes() <= 10_010, "{}", reader.held_bytes());
    }
    reader.feed().extend_from_slice(b"ro");
    assert_eq!(reader.next(&mut line).unwrap(), Step::More);
    reader.feed().extend_from_slice(b"w:a");
    assert_eq!(reader.next(&mut line).unwrap(), Step::More);
    reader.feed().extend_from_slice(b"b\nrow:c");
    let mut fields = Vec::new();
    loop {
        match reader.next(&mut line).unwrap() {
            Step::Line => fields.push(line.fields().next().unwrap().unwrap().to_vec()),
            Step::More => reader.end(),
            Step::End => break,
        }
    }
    assert_eq!(fields, [b"ab", b"c".as_slice()]);
}
