//! Runs the vectors of `FORMAT.md`: what the document says is what the code does.
//!
//! Blocks fenced as `key`, `row`, `system` and `corrupt` are run; how their lines read is said in
//! the document. To see all that differs at once, run the tests: each prints what it found.

use super::key::{self, Direction};
use super::keyspace::{self, SystemKey, format_part};
use super::row::{Cell, CellName, ColumnId, RowBuilder, RowView, VersionsBuilder};
use super::test_values::{hex, parse_type, unhex};
use crate::types::ColumnType;

const FORMAT: &str = include_str!("FORMAT.md");

/// The lines of all blocks of a kind, block by block.
fn blocks(kind: &str) -> Vec<Vec<&'static str>> {
    let mut blocks = Vec::new();
    let mut lines = FORMAT.lines();
    while let Some(line) = lines.next() {
        if line.strip_prefix("```") == Some(kind) {
            blocks.push(lines.by_ref().take_while(|line| *line != "```").collect());
        }
    }
    assert!(!blocks.is_empty(), "no block {kind}");
    blocks
}

fn cells(line: &str) -> Vec<&str> {
    line.split(" | ").map(str::trim).collect()
}

/// Compares what the document says with what is found, and shows both.
fn check(differences: &mut Vec<String>, said: &str, found: &str) {
    if said != found {
        differences.push(format!("said  {said}\nfound {found}"));
    }
}

/// The text of the part that the bytes are, and the bytes that it is written with.
fn shown(bytes: &[u8], ty: &ColumnType, direction: Direction) -> String {
    match key::decode_part(bytes, ty, direction) {
        Ok((value, [])) => {
            let again = keyspace::row_key([(&value, ty, direction)]).unwrap();
            format!("{} | {}", format_part(&value), hex(&again))
        }
        Ok((value, rest)) => format!("{} and rest {}", format_part(&value), hex(rest)),
        Err(corrupt) => corrupt.to_string(),
    }
}

#[test]
fn spread_vectors_hold() {
    let mut differences = Vec::new();
    for line in blocks("spread").concat() {
        let cells = cells(line);
        let (said, parts) = cells.split_last().unwrap();
        let types: Vec<_> = parts.chunks(2).map(|part| parse_type(part[0])).collect();
        let bytes: Vec<_> = parts.chunks(2).map(|part| unhex(part[1])).collect();
        let pairs = bytes.iter().zip(&types);
        let values: Vec<_> = pairs
            .map(|(bytes, ty)| key::decode_part(bytes, ty, Direction::Asc).unwrap().0)
            .collect();
        let hash = super::spread::hash(values.iter().zip(&types)).unwrap();
        let found = format!("{} | {hash:016x}", parts.join(" | "));
        check(
            &mut differences,
            &format!("{} | {said}", parts.join(" | ")),
            &found,
        );
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn key_vectors_hold() {
    let mut differences = Vec::new();
    for line in blocks("key").concat() {
        let [ty, text, ascending, descending] = cells(line)[..] else {
            panic!("{line}")
        };
        let parsed = parse_type(ty);
        for (direction, said) in [(Direction::Asc, ascending), (Direction::Desc, descending)] {
            let bytes = unhex(said);
            let found = shown(&bytes, &parsed, direction);
            check(
                &mut differences,
                &format!("{text} | {}", hex(&bytes)),
                &found,
            );
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn vectors_of_a_type_stand_in_order() {
    for block in blocks("key") {
        let pairs = block.iter().zip(block.iter().skip(1));
        for (a, b) in pairs.filter(|(a, b)| cells(a)[0] == cells(b)[0]) {
            assert!(unhex(cells(a)[2]) < unhex(cells(b)[2]), "{a}\n{b}");
            assert!(unhex(cells(a)[3]) > unhex(cells(b)[3]), "{a}\n{b}");
        }
    }
}

#[test]
fn system_vectors_hold() {
    for line in blocks("system").concat() {
        let [text, said] = cells(line)[..] else {
            panic!("{line}")
        };
        let key = SystemKey::decode(&unhex(said)).unwrap();
        assert_eq!(text, format!("{key:?}"));
        assert_eq!(hex(&key.encode()), hex(&unhex(said)));
    }
}

#[test]
fn corrupt_vectors_hold() {
    let mut differences = Vec::new();
    for line in blocks("corrupt").concat() {
        let [what, bytes, said] = cells(line)[..] else {
            panic!("{line}")
        };
        let bytes = unhex(bytes);
        let found = match what {
            "row" => RowView::parse(&bytes)
                .and_then(|row| row.verify())
                .unwrap_err(),
            "system" => SystemKey::decode(&bytes).unwrap_err(),
            part => {
                let (ty, direction) = part.rsplit_once(' ').unwrap();
                let direction = if direction == "ASC" {
                    Direction::Asc
                } else {
                    Direction::Desc
                };
                let ty = parse_type(ty);
                keyspace::decode_row_key(&bytes, [(&ty, direction)]).unwrap_err()
            }
        };
        check(
            &mut differences,
            &format!("stored bytes are damaged: {said}"),
            &found.to_string(),
        );
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A line of a row block that is not its bytes: `what = text`.
fn facts<'a>(block: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let lines = block.iter().filter(|line| line.contains(" = "));
    lines.map(|line| line.split_once(" = ").unwrap()).collect()
}

/// The bytes of a row block: the lines without `=`, up to a `;` that begins a remark.
fn row_bytes(block: &[&str]) -> Vec<u8> {
    let lines = block.iter().filter(|line| !line.contains(" = "));
    lines
        .flat_map(|line| unhex(line.split(';').next().unwrap()))
        .collect()
}

fn column_of(what: &str) -> (ColumnId, ColumnType) {
    let (id, ty) = what
        .strip_prefix("column ")
        .unwrap()
        .split_once(' ')
        .unwrap();
    (ColumnId(id.parse().unwrap()), parse_type(ty))
}

/// What the row says to the question of a line.
fn answer(row: RowView<'_>, what: &str) -> String {
    let ms = |ms: Option<u64>| ms.map_or("none".to_owned(), |ms| ms.to_string());
    if what == "expiry" {
        return ms(row.expiry_ms());
    }
    if what == "versions" {
        return head_text(row);
    }
    if let Some(cell) = what.strip_prefix("versions of ") {
        return versions_text(row, cell);
    }
    if let Some(name) = what.strip_prefix("dynamic ") {
        return row
            .dynamic(name)
            .unwrap()
            .map_or("absent".to_owned(), |value| format_part(&value));
    }
    let (id, ty) = column_of(what);
    match row.get(id, &ty).unwrap() {
        Cell::Absent => "absent".to_owned(),
        Cell::Null => "NULL".to_owned(),
        Cell::Value(value) => format_part(&value),
    }
}

fn head_text(row: RowView<'_>) -> String {
    let Some(versions) = row.versions().unwrap() else {
        return "none".to_owned();
    };
    let head = versions.head;
    let deletion = head.deletion.map_or(String::new(), |deletion| {
        format!(", deleted {} until {}", deletion.ms, deletion.until_ms)
    });
    format!("epoch {}, {}{deletion}", head.epoch, head.row_ms)
}

fn versions_text(row: RowView<'_>, cell: &str) -> String {
    let versions = row.versions().unwrap().unwrap();
    let name = match cell.strip_prefix("column ") {
        Some(id) => CellName::Id(ColumnId(id.parse().unwrap())),
        None => CellName::Name(cell),
    };
    let found = versions.cells().map(Result::unwrap);
    let Some(cell) = found.into_iter().find(|cell| cell.name == name) else {
        return "none".to_owned();
    };
    let older = cell.older().map(Result::unwrap);
    let older = older.map(|(ms, value)| format!("; {ms} {}", format_part(&value)));
    format!("{}{}", cell.newest_ms, older.collect::<String>())
}

fn rebuilt_versions(row: RowView<'_>) -> Vec<u8> {
    let versions = row.versions().unwrap().unwrap();
    let mut rebuilt = VersionsBuilder::new(versions.head);
    for cell in versions.cells().map(Result::unwrap) {
        let older: Vec<_> = cell.older().map(Result::unwrap).collect();
        let older = older.iter().map(|(ms, value)| (*ms, value));
        rebuilt.cell(cell.name, cell.newest_ms, older).unwrap();
    }
    rebuilt.finish().unwrap()
}

/// Builds the row again from what it says, in the reverse order of the lines.
fn rebuild(row: RowView<'_>, facts: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = RowBuilder::new();
    for (what, text) in facts
        .iter()
        .rev()
        .filter(|(_, text)| !matches!(*text, "absent" | "none"))
    {
        let ms = || text.parse().unwrap();
        if *what == "expiry" {
            builder.expiry(ms());
        } else if *what == "versions" {
            builder.versions(&rebuilt_versions(row));
        } else if what.starts_with("versions of ") {
            // With all the others.
        } else if let Some(name) = what.strip_prefix("dynamic ") {
            builder
                .dynamic(name, &row.dynamic(name).unwrap().unwrap())
                .unwrap();
        } else {
            let (id, ty) = column_of(what);
            match row.get(id, &ty).unwrap() {
                Cell::Value(value) => builder.set(id, &value, &ty).unwrap(),
                Cell::Null => builder.set_null(id),
                Cell::Absent => {}
            }
        }
    }
    builder.finish().unwrap()
}

#[test]
fn row_vectors_hold() {
    let mut differences = Vec::new();
    for block in blocks("row") {
        let bytes = row_bytes(&block);
        let row = RowView::parse(&bytes).unwrap_or_else(|corrupt| panic!("{block:?}: {corrupt}"));
        row.verify().unwrap();
        let facts = facts(&block);
        for (what, said) in &facts {
            check(
                &mut differences,
                &format!("{what} = {said}"),
                &format!("{what} = {}", answer(row, what)),
            );
        }
        check(&mut differences, &hex(&bytes), &hex(&rebuild(row, &facts)));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
