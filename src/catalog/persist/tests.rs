//! Definitions with indexes survive being stored and being printed; what is stored by earlier
//! versions, and what never was, is told apart.

use super::*;
use crate::catalog::describe::create_table;
use crate::catalog::{View, ViewAlgorithm};
use crate::plan::testing;
use crate::types::Zone;

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(20), body TEXT, a INT, doc JSON, \
                     INDEX plain (a DESC) INCLUDE (c), INDEX pre (c(3) DESC, a, body(10)), \
                     UNIQUE INDEX part (a) INCLUDE ALL WHERE c = 'it''s' AND a > 3, \
                     INDEX expr (a, (LOWER(c)), (doc->>'$.a') DESC) WHERE doc IS NOT NULL)";

#[test]
fn index_parts_of_all_kinds_are_stored_and_read() {
    let table = testing::table(TABLE);
    let stored = encode(&table);
    let read = decode(&stored).unwrap();
    assert_eq!(
        create_table(&read, &Zone::UTC),
        create_table(&table, &Zone::UTC)
    );
    assert_eq!(encode(&read), stored);
    for (read, made) in read.indexes.iter().zip(&table.indexes) {
        assert_eq!(format!("{read:?}"), format!("{made:?}"));
    }
}

#[test]
fn the_printed_text_makes_the_same_indexes() {
    let table = testing::table(TABLE);
    let printed = create_table(&table, &Zone::UTC);
    let (again, _) = printed.split_once(" ENGINE=").unwrap();
    assert_eq!(create_table(&testing::table(again), &Zone::UTC), printed);
}

/// A stored definition with one index of these parts, and more members of the index.
fn with_index(parts: &str, more: &str) -> Vec<u8> {
    let text = format!(
        r#"{{"id":7,"database":"d","name":"t","columns":[{},{}],"key":[{{"column":0,"desc":false}}],
        "indexes":[{{"id":8,"name":"i","unique":false,"parts":{parts},"include":[],"state":"ACTIVE",
        "comment":""{more}}}],"options":[],"comment":""}}"#,
        column(1, "a"),
        column(2, "c"),
    );
    [&[FORMAT], text.as_bytes()].concat()
}

fn column(id: u32, name: &str) -> String {
    format!(
        r#"{{"id":{id},"name":"{name}","type":{{"name":"varchar","chars":9}},"nullable":true,
        "default":null,"on_update_now":false,"auto_increment":false,"hidden":false,"comment":""}}"#
    )
}

#[test]
fn definitions_without_index_parts_are_read_as_before() {
    let ty = type_names::to_json(&crate::types::ColumnType::Varchar { chars_max: Some(9) });
    let stored = |parts: &str, more: &str| {
        let bytes = with_index(parts, more);
        let text = String::from_utf8(bytes[1..].to_vec()).unwrap();
        let text = text.replace(r#"{"name":"varchar","chars":9}"#, &ty.to_string());
        decode(&[&[FORMAT], text.as_bytes()].concat())
    };
    let plain = stored(r#"[{"column":1,"desc":true}]"#, "").unwrap();
    assert!(plain.indexes[0].computed.is_empty());
    let prefix = stored(
        r#"[{"column":1,"length":3,"desc":true}]"#,
        r#","where":"`a` = 'x'""#,
    );
    let prefix = prefix.unwrap();
    assert_eq!(prefix.indexes[0].parts[0].column_idx, 2);
    assert_eq!(
        prefix.indexes[0].computed.filter.as_deref(),
        Some("`a` = 'x'")
    );
    let damaged = [
        (r#"[{"column":1,"length":9,"desc":true}]"#, ""),
        (r#"[{"column":1,"length":0,"desc":true}]"#, ""),
        (r#"[{"column":2,"length":3,"desc":true}]"#, ""),
        (r#"[{"column":2,"desc":true}]"#, ""),
        (r#"[{"column":1,"length":3,"desc":true,"more":1}]"#, ""),
        (r#"[{"expression":"lower(`c`)","desc":true}]"#, ""),
        (r#"[{"column":1,"desc":true}]"#, r#","where":7"#),
        (r#"[{"column":1,"desc":true}]"#, r#","more":7"#),
    ];
    for (parts, more) in damaged {
        assert!(stored(parts, more).is_err(), "{parts} {more}");
    }
}

#[test]
fn views_are_stored_and_read() {
    let view = View {
        database: "d".into(),
        name: "v".into(),
        columns: vec!["a".into()],
        algorithm: ViewAlgorithm::TempTable,
        definer: ("u".into(), "h".into()),
        by_invoker: true,
        query: "select 1 AS `a`".into(),
    };
    let stored = encode_view(&view);
    assert_eq!(decode_view(&stored), Ok(view));
    let text = String::from_utf8(stored[1..].to_vec()).unwrap();
    for (part, other) in [
        ("TEMPTABLE", "SOMETHING"),
        (r#"["u","h"]"#, r#"["u"]"#),
        (r#""query""#, r#""queries""#),
        (r#"["a"]"#, "[1]"),
    ] {
        let damaged = text.replace(part, other);
        assert_ne!(damaged, text);
        let bytes = [&[FORMAT], damaged.as_bytes()].concat();
        assert!(decode_view(&bytes).is_err(), "{damaged}");
    }
}
