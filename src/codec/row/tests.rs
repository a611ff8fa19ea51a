//! Rows come back as they were set; damaged ones are told, or at least never bring us down.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::codec::test_values::{TYPES, compare, parse_type, types, unhex, values};
use crate::types::{ColumnType, Decimal, Value};

/// A type and a value of it.
fn typed() -> impl Strategy<Value = (ColumnType, Value<'static>)> {
    types().prop_flat_map(|ty| {
        let value = values(&ty);
        (Just(ty), value)
    })
}

#[derive(Debug, Clone)]
struct Row {
    columns: BTreeMap<u32, (ColumnType, Value<'static>)>,
    expiry_ms: Option<u64>,
    written_ms: Option<u64>,
    cells: BTreeMap<u32, u64>,
    dynamic: BTreeMap<String, Value<'static>>,
}

fn rows() -> impl Strategy<Value = Row> {
    let ids = prop_oneof![8 => 0..40u32, 1 => 250..260u32, 1 => any::<u32>()];
    let columns = prop::collection::btree_map(ids.clone(), typed(), 0..12);
    let times = prop::option::of(any::<u64>());
    let cells = prop::collection::btree_map(ids, any::<u64>(), 0..4);
    let dynamic = prop::collection::btree_map("[a-c]{0,3}", typed(), 0..4);
    (columns, times.clone(), times, cells, dynamic).prop_map(
        |(columns, expiry_ms, written_ms, cells, dynamic)| {
            let cells = if written_ms.is_some() {
                cells
            } else {
                BTreeMap::new()
            };
            let dynamic = dynamic
                .into_iter()
                .map(|(name, (_, value))| (name, value))
                .collect();
            Row {
                columns,
                expiry_ms,
                written_ms,
                cells,
                dynamic,
            }
        },
    )
}

fn encode(row: &Row, reverse: bool) -> Vec<u8> {
    let mut builder = RowBuilder::new();
    let mut columns: Vec<_> = row.columns.iter().collect();
    if reverse {
        columns.reverse();
    }
    for (id, (ty, value)) in columns {
        builder.set(ColumnId(*id), value, ty).unwrap();
    }
    if let Some(ms) = row.expiry_ms {
        builder.expiry(ms);
    }
    if let Some(ms) = row.written_ms {
        builder.versions(&versions(row, ms));
    }
    for (name, value) in &row.dynamic {
        builder.dynamic(name, value).unwrap();
    }
    builder.finish().unwrap()
}

/// Each cell has one version more, of half the time.
fn versions(row: &Row, row_ms: u64) -> Vec<u8> {
    let deletion = (row_ms % 2 == 1).then_some(Deletion {
        ms: row_ms / 2,
        until_ms: row_ms,
    });
    let mut versions = VersionsBuilder::new(VersionsHead {
        epoch: 7,
        row_ms,
        deletion,
    });
    let values: Vec<_> = row.columns.values().map(|(_, value)| value).collect();
    for (id, ms) in &row.cells {
        let older = values.first().filter(|_| 0 < *ms);
        let older = older.map(|value| (*ms / 2, *value));
        let name = CellName::Id(ColumnId(*id));
        versions
            .cell(name, *ms, older.into_iter().collect::<Vec<_>>().into_iter())
            .unwrap();
    }
    for (name, value) in &row.dynamic {
        let older = [(3, value), (2, &Value::Null)];
        versions
            .cell(CellName::Name(name), 4, older.into_iter())
            .unwrap();
    }
    versions.finish().unwrap()
}

/// Equal as stored: floats by their bits, an `ENUM` without declaration as its label.
fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::Text(a), Value::Enum(b)) => *a == b.label,
        _ => compare(a, b).is_eq(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_row_comes_back_as_it_was_set(row in rows(), reverse in any::<bool>()) {
        let bytes = encode(&row, reverse);
        prop_assert!(!bytes.is_empty());
        prop_assert_eq!(&bytes, &encode(&row, !reverse));
        let view = RowView::parse(&bytes).unwrap();
        view.verify().unwrap();
        for (id, (ty, value)) in &row.columns {
            match view.get(ColumnId(*id), ty).unwrap() {
                Cell::Value(found) => prop_assert!(same(&found, value), "{:?}", found),
                Cell::Null => prop_assert!(matches!(value, Value::Null)),
                Cell::Absent => prop_assert!(false, "{} is absent", id),
            }
        }
        let absent = view.get(ColumnId(100), &ColumnType::BIGINT).unwrap();
        prop_assert_eq!(matches!(absent, Cell::Absent), !row.columns.contains_key(&100));
        let ids: Vec<u32> = view.columns().map(|column| column.unwrap().0.0).collect();
        prop_assert_eq!(ids, row.columns.keys().copied().collect::<Vec<_>>());
        prop_assert_eq!(view.columns_count(), row.columns.len());
    }

    #[test]
    fn sections_come_back_as_they_were_set(row in rows()) {
        let bytes = encode(&row, false);
        let view = RowView::parse(&bytes).unwrap();
        prop_assert_eq!(view.expiry_ms(), row.expiry_ms);
        let versions = view.versions().unwrap();
        prop_assert_eq!(versions.map(|found| found.head.row_ms), row.written_ms);
        if let Some(versions) = versions {
            for (id, ms) in &row.cells {
                let found = versions.newest_ms(CellName::Id(ColumnId(*id))).unwrap();
                prop_assert_eq!(found, Some(*ms));
            }
            for cell in versions.cells().map(Result::unwrap) {
                let older: Vec<_> = cell.older().map(Result::unwrap).collect();
                if let CellName::Name(name) = cell.name {
                    prop_assert_eq!(older.len(), 2);
                    prop_assert!(same(&older[0].1, &row.dynamic[name]));
                    prop_assert!(older[1].1.is_null());
                }
            }
        }
        let expected: Vec<_> =
            row.dynamic.iter().filter(|(_, value)| !matches!(value, Value::Null)).collect();
        let found: Vec<_> = view.dynamic_columns().unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(found.len(), expected.len());
        for (found, (name, value)) in found.iter().zip(expected) {
            prop_assert_eq!(found.name, name);
            prop_assert!(same(&found.value, value));
            let again = view.dynamic(name).unwrap().unwrap();
            prop_assert!(same(&again, value));
        }
        prop_assert!(view.dynamic("nobody").unwrap().is_none());
    }

    #[test]
    fn a_row_can_be_taken_over_as_stored(row in rows()) {
        let plain = Row { expiry_ms: None, written_ms: None, cells: BTreeMap::new(), dynamic: BTreeMap::new(), ..row };
        let bytes = encode(&plain, false);
        let mut builder = RowBuilder::new();
        for column in RowView::parse(&bytes).unwrap().columns() {
            let (id, stored) = column.unwrap();
            builder.set_stored(id, stored);
        }
        prop_assert_eq!(builder.finish().unwrap(), bytes);
    }

    #[test]
    fn damaged_rows_never_panic(
        row in rows(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        kept in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encode(&row, false);
        read_all(&bytes[..kept.index(bytes.len())]);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        read_all(&bytes);
    }

    #[test]
    fn random_bytes_never_panic(
        flags in 0..0x20u8,
        tail in prop::collection::vec(prop_oneof![0..4u8, any::<u8>()], 0..60),
    ) {
        read_all(&tail);
        let mut bytes = vec![FORMAT, flags];
        bytes.extend_from_slice(&tail);
        read_all(&bytes);
    }
}

/// Asks for everything that a row can be asked for.
fn read_all(bytes: &[u8]) {
    let Ok(view) = RowView::parse(bytes) else {
        return;
    };
    let ids: Vec<ColumnId> = view
        .columns()
        .map_while(Result::ok)
        .map(|(id, _)| id)
        .collect();
    for name in TYPES {
        let ty = parse_type(name);
        for id in ids.iter().copied().chain([ColumnId(0), ColumnId(u32::MAX)]) {
            let _ = view.get(id, &ty);
        }
    }
    let names: Vec<&str> = view
        .dynamic_columns()
        .unwrap()
        .map_while(Result::ok)
        .map(|c| c.name)
        .collect();
    for name in names.into_iter().chain(["", "b"]) {
        let _ = view.dynamic(name);
    }
    if let Ok(Some(versions)) = view.versions() {
        for cell in versions.cells().map_while(Result::ok) {
            let _ = cell.older().count();
        }
    }
    let _ = view.verify();
}

#[test]
fn a_column_set_twice_is_refused() {
    let id = ColumnId(3);
    let mut builder = RowBuilder::new();
    builder
        .set(id, &Value::Int(1), &ColumnType::BIGINT)
        .unwrap();
    builder.set_null(id);
    assert_eq!(builder.finish(), Err(EncodeError::SetTwice(id)));
    builder.set_null(id);
    builder.set_null(id);
    assert_eq!(builder.finish(), Err(EncodeError::SetTwice(id)));
    assert_eq!(builder.finish(), Ok(vec![FORMAT, 0, 0, 0]));
}

#[test]
fn many_and_long_columns_take_the_large_form() {
    let ty = parse_type("TEXT");
    let mut builder = RowBuilder::new();
    let long = Value::Text("x".repeat(40_000).into());
    for id in [7, 300] {
        builder.set(ColumnId(id), &long, &ty).unwrap();
    }
    builder.set_null(ColumnId(70_000));
    let bytes = builder.finish().unwrap();
    let view = RowView::parse(&bytes).unwrap();
    view.verify().unwrap();
    for id in [7, 300] {
        let Cell::Value(Value::Text(text)) = view.get(ColumnId(id), &ty).unwrap() else {
            panic!()
        };
        assert_eq!(text.len(), 40_000);
    }
    assert!(matches!(view.get(ColumnId(70_000), &ty), Ok(Cell::Null)));
    assert!(matches!(view.get(ColumnId(8), &ty), Ok(Cell::Absent)));
}

#[test]
fn rows_and_columns_have_a_limit() {
    let ty = parse_type("BLOB");
    let mut builder = RowBuilder::new();
    let half = Value::Bytes(vec![1; ROW_BYTES_MAX / 2].into());
    builder.set(ColumnId(1), &half, &ty).unwrap();
    builder.set(ColumnId(2), &half, &ty).unwrap();
    assert!(matches!(
        builder.finish(),
        Err(EncodeError::RowTooLong { .. })
    ));
    for id in 0..=0xFFFF {
        builder.set_null(ColumnId(id));
    }
    assert!(matches!(
        builder.finish(),
        Err(EncodeError::TooManyColumns { .. })
    ));
}

#[test]
fn a_widened_column_reads_what_was_written_before() {
    let read = |written: Value<'static>, old: &str, new: &str| {
        let mut builder = RowBuilder::new();
        builder
            .set(ColumnId(1), &written, &parse_type(old))
            .unwrap();
        let bytes = builder.finish().unwrap();
        let ty = parse_type(new);
        match RowView::parse(&bytes)
            .unwrap()
            .get(ColumnId(1), &ty)
            .unwrap()
        {
            Cell::Value(value) => crate::codec::keyspace::format_part(&value),
            Cell::Null | Cell::Absent => panic!("no value"),
        }
    };
    assert_eq!(read(Value::Int(-7), "TINYINT", "BIGINT"), "-7");
    assert_eq!(
        read(Value::UInt(65_535), "SMALLINT UNSIGNED", "BIGINT UNSIGNED"),
        "65535"
    );
    assert_eq!(read(Value::Float(0.5), "FLOAT", "DOUBLE"), "0.5");
    let price = Value::Decimal(Decimal::new(-125, 2).unwrap());
    assert_eq!(
        read(price, "DECIMAL(5,2)", "DECIMAL(38,30)"),
        "-1.250000000000000000000000000000"
    );
}

#[test]
fn ids_out_of_order_are_told_by_verify() {
    let rows = [
        "01 00 02 00  02 01  0100 0200  0a0b",
        "01 00 01 01  05 05  0100  0a",
    ];
    for row in rows {
        let bytes = unhex(row);
        let view = RowView::parse(&bytes).unwrap();
        assert!(view.verify().is_err(), "{row}");
    }
}
