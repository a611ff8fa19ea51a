//! Entries are as `codec/FORMAT.md` says, lead back to their rows, and collide only where they must.

use super::*;
use crate::catalog::{Column, ColumnDefault, Computed, Include, IndexId, IndexState, TableId};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::codec::test_values::{hex, parse_type, unhex};
use crate::exec::ddl::index::define_index;
use crate::plan::testing;
use crate::sql::ast::Statement;
use crate::sql::computed;
use crate::types::ColumnType;
use crate::types::column_type::IntWidth;

const INT: ColumnType = ColumnType::Int {
    width: IntWidth::Int,
    unsigned: false,
};

/// `(a, b, c)` with the primary key `(a, b DESC)`.
fn table() -> Table {
    let columns = ["a", "b", "c", "d"].iter().zip(1..);
    let part = |column_idx, is_descending| KeyPart {
        column_idx,
        direction: Direction::of(is_descending),
    };
    Table {
        id: TableId(1),
        database: "shop".to_owned(),
        name: "t".to_owned(),
        columns: columns
            .map(|(name, id)| Column {
                default: ColumnDefault::None,
                ..Column::new(ColumnId(id), name, INT)
            })
            .collect(),
        key: vec![part(0, false), part(1, true)],
        shadow: None,
        columns_made: 0,
        indexes: Vec::new(),
        options: Vec::new(),
        comment: String::new(),
        wide: crate::catalog::Wide::default(),
    }
}

fn index(parts: &[(usize, bool)], unique: bool) -> Index {
    let part = |(column_idx, is_descending): &(usize, bool)| KeyPart {
        column_idx: *column_idx,
        direction: Direction::of(*is_descending),
    };
    Index {
        id: IndexId(2),
        name: "i".to_owned(),
        unique,
        parts: parts.iter().map(part).collect(),
        computed: Computed::default(),
        include: Include::All,
        state: IndexState::Active,
        comment: String::new(),
    }
}

fn row(values: [Option<i64>; 4]) -> Vec<Value<'static>> {
    let value = |value: Option<i64>| value.map_or(Value::Null, Value::Int);
    values.into_iter().map(value).collect()
}

fn row_key(table: &Table, values: &[Value<'_>]) -> Key {
    let mut key = Vec::new();
    push_parts(&mut key, (table, &index(&[], false)), &table.key, values).unwrap();
    key
}

#[test]
fn an_entry_leads_back_to_its_row() {
    let table = table();
    let shapes: [&[(usize, bool)]; 5] = [
        &[(2, false)],
        &[(2, true), (1, false)],
        &[(1, true), (2, false)],
        &[(0, true), (1, false)],
        &[(2, false), (3, true)],
    ];
    for parts in shapes {
        for unique in [false, true] {
            let index = index(parts, unique);
            for c in [None, Some(-5), Some(7)] {
                let values = row([Some(3), Some(-4), c, Some(9)]);
                let entry = entry(&table, &index, &values).unwrap();
                let found = primary_key(&table, &index, (&entry.key, &entry.value)).unwrap();
                assert_eq!(found, row_key(&table, &values), "{parts:?} {unique} {c:?}");
            }
        }
    }
}

#[test]
fn only_equal_values_without_null_collide_in_a_unique_index() {
    let table = table();
    let key = |unique, values| {
        entry(&table, &index(&[(2, false)], unique), values)
            .unwrap()
            .key
    };
    let (one, other) = (
        row([Some(1), Some(1), Some(5), None]),
        row([Some(2), Some(1), Some(5), None]),
    );
    assert_eq!(key(true, &one), key(true, &other));
    assert_ne!(key(false, &one), key(false, &other));
    let (one, other) = (
        row([Some(1), Some(1), None, None]),
        row([Some(2), Some(1), None, None]),
    );
    assert_ne!(key(true, &one), key(true, &other));
}

const FORMAT: &str = include_str!("../../codec/FORMAT.md");

/// An index as a vector gives it: `UNIQUE (c DESC, a(2)) INCLUDE (d)`.
fn parse_index(table: &Table, text: &str) -> Index {
    let unique = text.strip_prefix("UNIQUE ");
    let kind = if unique.is_some() { "UNIQUE " } else { "" };
    let sql = format!("CREATE {kind}INDEX i ON t {}", unique.unwrap_or(text));
    let Statement::CreateIndex(create) = testing::statement(&sql) else {
        panic!("{sql}")
    };
    define_index(
        table,
        &create.index,
        &testing::context("+00:00", Vec::new()),
    )
    .unwrap()
}

fn parse_value(text: &str) -> Value<'_> {
    match text.strip_prefix('\'') {
        Some(quoted) => Value::Text(quoted.trim_end_matches('\'').into()),
        None if text == "NULL" => Value::Null,
        None => Value::Int(text.parse().unwrap()),
    }
}

#[test]
fn entry_vectors_hold() {
    let mut table = table();
    table.columns[1].ty = parse_type("VARCHAR");
    let block = FORMAT.split("```index\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let mut differences = Vec::new();
    for line in block.lines() {
        let fields: Vec<&str> = line.split(" | ").collect();
        let index = parse_index(&table, fields[0]);
        let values: Vec<Value<'_>> = fields[1].split(", ").map(parse_value).collect();
        let image = computed::image(&table, &index, &values).unwrap();
        let [described, row, key, value, row_key] = fields[..] else {
            assert!(image.is_none() && fields[2..] == ["none"], "{line}");
            continue;
        };
        let values = image.expect("an entry");
        let said = [key, value, row_key].map(|bytes| hex(&unhex(bytes)));
        let entry = entry(&table, &index, &values).unwrap();
        let owner = primary_key(&table, &index, (&entry.key, &entry.value)).unwrap();
        let found = [&entry.key, &entry.value, &owner].map(|bytes| hex(bytes));
        if said != found {
            differences.push(format!(
                "{described} | {row}\nsaid  {said:?}\nfound {found:?}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn bytes_that_are_no_entry_are_damage() {
    let table = table();
    let values = row([Some(3), Some(-4), Some(5), Some(9)]);
    for unique in [false, true] {
        let index = index(&[(2, false)], unique);
        let made = entry(&table, &index, &values).unwrap();
        for bytes in 0..made.key.len() {
            let cut = primary_key(&table, &index, (&made.key[..bytes], &made.value));
            let whole = row_key(&table, &values);
            assert!(cut.as_ref().map_or(true, |key| *key != whole), "{cut:?}");
        }
        let longer = [made.key.as_slice(), &[0x18]].concat();
        assert!(primary_key(&table, &index, (&longer, &made.value)).is_err());
        if unique {
            assert!(primary_key(&table, &index, (&made.key, &[])).is_err());
        }
    }
}
