//! System keys, keys taken apart, and the text of keys.

use proptest::prelude::*;

use super::*;
use crate::codec::test_values::{parse_type, unhex};
use crate::types::{Date, Decimal, Time};

proptest! {
    #[test]
    fn system_keys_come_back(
        name in "[^\0]{0,20}",
        database in "[^\u{0}]{0,20}",
        id in any::<u32>(),
    ) {
        let view = SystemKey::View { database, name: name.clone() };
        let account = SystemKey::Account(name.clone(), name.clone());
        let numbered = [
            SystemKey::Table(id), SystemKey::Build(id), SystemKey::Counter(id), SystemKey::Trash(id),
        ];
        let named = [SystemKey::Database(name.clone()), SystemKey::Variable(name), view, account];
        for key in numbered.into_iter().chain(named) {
            prop_assert_eq!(SystemKey::decode(&key.encode()), Ok(key));
        }
    }

    #[test]
    fn any_bytes_are_a_system_key_in_its_one_form_or_corrupt(
        kind in 0..8u8,
        tail in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&tail);
        if let Ok(key) = SystemKey::decode(&bytes) {
            prop_assert_eq!(key.encode(), bytes);
        }
    }
}

#[test]
fn databases_sort_before_tables() {
    let last_database = SystemKey::Database("\u{10FFFF}".to_owned()).encode();
    assert!(last_database < SystemKey::Table(0).encode());
    assert!(SystemKey::Table(255).encode() < SystemKey::Table(256).encode());
}

#[test]
fn a_key_is_taken_apart_to_its_last_byte() {
    let (text, int) = (parse_type("VARCHAR"), parse_type("INT"));
    let parts = [(&text, Direction::Asc), (&int, Direction::Desc)];
    let (host, number) = (Value::Text("host1".into()), Value::Int(7));
    let values = [
        (&host, &text, Direction::Asc),
        (&number, &int, Direction::Desc),
    ];
    let mut key = row_key(values).unwrap();
    let decoded = decode_row_key(&key, parts).unwrap();
    assert_eq!(format_key(&decoded), "/'host1'/7");

    key.push(0);
    assert_eq!(
        decode_row_key(&key, parts).unwrap_err(),
        Corrupt::bad(10, "bytes behind the end of a key")
    );
    key.truncate(9);
    assert_eq!(
        decode_row_key(&key, parts).unwrap_err(),
        Corrupt::missing(9)
    );
    let damaged = unhex("28 68 6f 73 74 31 00 01 77");
    let error = crate::error::Error::from(decode_row_key(&damaged, parts).unwrap_err());
    assert_eq!(error.code(), crate::error::Code::StorageCorrupt);
    assert_eq!(
        error.message(),
        "stored bytes are damaged: byte 8 is 0x77 and not the tag of an integer"
    );
}

#[test]
fn parts_have_one_text() {
    let check = |value: Value<'_>, text: &str| assert_eq!(format_part(&value), text);
    check(Value::Null, "NULL");
    check(Value::Int(-7), "-7");
    check(Value::UInt(u64::MAX), "18446744073709551615");
    check(Value::Double(0.1), "0.1");
    check(Value::Double(1e300), "1e300");
    check(Value::Float(0.1), "0.1");
    check(Value::Decimal(Decimal::new(-150, 2).unwrap()), "-1.50");
    check(Value::Text("it's".into()), "'it''s'");
    check(Value::Text("a\nb\\\0\u{7}".into()), "'a\\nb\\\\\\0\\x07'");
    check(Value::Bytes(vec![0, 0xFF].into()), "x'00ff'");
    check(Value::Date(Date::ZERO), "'0000-00-00'");
    check(
        Value::Time(Time::from_micros(-1_500_000, 1).unwrap()),
        "'-00:00:01.5'",
    );
    check(Value::Year(2024), "2024");
    assert_eq!(format_key(&[]), "/");
    assert_eq!(
        format_key(&[Value::Text("alipay".into()), Value::Int(7)]),
        "/'alipay'/7"
    );
}
