//! The two laws of key parts, and that no bytes are read as anything but what was written.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::codec::keyspace;
use crate::codec::test_values::{
    TYPES, compare, compare_in, directions, hex, parse_type, types, values,
};
use crate::error::Code;
use crate::types::Decimal;
use crate::types::value::EnumValue;

fn encode(value: &Value<'_>, ty: &ColumnType, direction: Direction) -> Vec<u8> {
    let mut out = Vec::new();
    encode_part(&mut out, value, ty, direction).unwrap();
    out
}

/// A type and two values of it.
fn pairs() -> impl Strategy<Value = (ColumnType, Value<'static>, Value<'static>)> {
    types().prop_flat_map(|ty| {
        let (a, b) = (values(&ty), values(&ty));
        (Just(ty), a, b)
    })
}

type Part = (ColumnType, Direction, Value<'static>, Value<'static>);

/// The parts of two composite keys; often the two agree in their first parts.
fn composites() -> impl Strategy<Value = Vec<Part>> {
    let part = (pairs(), directions(), any::<bool>()).prop_map(|((ty, a, b), direction, same)| {
        let b = if same { a.clone() } else { b };
        (ty, direction, a, b)
    });
    prop::collection::vec(part, 1..5)
}

fn key_of(parts: &[Part], first: bool) -> Vec<u8> {
    let part =
        |(ty, direction, a, b): &Part| (if first { a } else { b }.clone(), ty.clone(), *direction);
    let parts: Vec<_> = parts.iter().map(part).collect();
    keyspace::row_key(
        parts
            .iter()
            .map(|(value, ty, direction)| (value, ty, *direction)),
    )
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn bytes_order_as_values((ty, a, b) in pairs(), direction in directions()) {
        let order = encode(&a, &ty, direction).cmp(&encode(&b, &ty, direction));
        prop_assert_eq!(order, compare_in(direction, &a, &b));
    }

    #[test]
    fn bytes_order_as_the_order_of_statements((ty, a, b) in pairs()) {
        let order = encode(&a, &ty, Direction::Asc).cmp(&encode(&b, &ty, Direction::Asc));
        prop_assert_eq!(order, a.total_cmp(&b));
    }

    #[test]
    fn no_encoding_begins_another((ty, a, b) in pairs(), direction in directions()) {
        let (left, right) = (encode(&a, &ty, direction), encode(&b, &ty, direction));
        prop_assert_eq!(left.starts_with(&right), compare(&a, &b).is_eq());
    }

    #[test]
    fn decoding_gives_value_and_rest(
        (ty, value, _) in pairs(),
        direction in directions(),
        behind in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let mut bytes = encode(&value, &ty, direction);
        bytes.extend_from_slice(&behind);
        let (decoded, rest) = decode_part(&bytes, &ty, direction).unwrap();
        prop_assert_eq!(compare(&decoded, &value), Ordering::Equal);
        prop_assert_eq!(rest, &behind[..]);
        prop_assert_eq!(skip_part(&bytes, &ty, direction).unwrap(), rest);
    }

    #[test]
    fn a_first_byte_is_one_that_storage_takes((ty, value, _) in pairs(), direction in directions()) {
        let first = encode(&value, &ty, direction)[0];
        prop_assert!(first < 0xFF);
        prop_assert!(!b"mtxr".contains(&first));
    }

    #[test]
    fn keys_order_as_their_parts(parts in composites()) {
        let expected = parts.iter().fold(Ordering::Equal, |order, (_, direction, a, b)| {
            order.then(compare_in(*direction, a, b))
        });
        prop_assert_eq!(key_of(&parts, true).cmp(&key_of(&parts, false)), expected);
    }

    #[test]
    fn a_prefix_holds_exactly_the_keys_that_begin_with_its_parts(
        parts in composites(),
        count in 1..5usize,
    ) {
        let count = count.min(parts.len());
        let prefix = key_of(&parts[..count], true);
        let key = key_of(&parts, false);
        let is_inside = parts[..count].iter().all(|(_, _, a, b)| compare(a, b).is_eq());
        let until = prefix_successor(prefix.clone()).unwrap();
        prop_assert_eq!(prefix <= key && key < until, is_inside);
    }

    #[test]
    fn any_bytes_are_a_value_in_its_one_form_or_corrupt(
        ty in types(),
        direction in directions(),
        tag in 0u8..0x70,
        tail in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..20),
    ) {
        let mut bytes = vec![tag ^ direction.mask()];
        bytes.extend_from_slice(&tail);
        check_any(&bytes, &ty, direction);
    }

    #[test]
    fn damaged_bytes_are_a_value_in_its_one_form_or_corrupt(
        (ty, value, _) in pairs(),
        direction in directions(),
        at in any::<prop::sample::Index>(),
        bits in 0..=255u8,
        kept in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encode(&value, &ty, direction);
        let at = at.index(bytes.len());
        bytes[at] ^= bits;
        check_any(&bytes, &ty, direction);
        check_any(&bytes[..kept.index(bytes.len())], &ty, direction);
        for other in TYPES {
            check_any(&bytes, &parse_type(other), direction);
        }
    }
}

/// Whatever decodes was written so, and is skipped as it is decoded.
fn check_any(bytes: &[u8], ty: &ColumnType, direction: Direction) {
    let skipped = skip_part(bytes, ty, direction);
    let Ok((value, rest)) = decode_part(bytes, ty, direction) else {
        return;
    };
    assert_eq!(skipped, Ok(rest));
    let used = &bytes[..bytes.len() - rest.len()];
    // A document that is handed on has another form than one that is compared.
    let is_shown = used.first() == Some(&(tag::JSON_TEXT ^ direction.mask()));
    let written = if is_shown {
        let mut shown = Vec::new();
        encode_shown(&mut shown, &value, ty).unwrap();
        shown.iter().map(|byte| byte ^ direction.mask()).collect()
    } else {
        encode(&value, ty, direction)
    };
    assert_eq!(hex(&written), hex(used), "{value:?}");
}

#[test]
fn ascending_text_without_zero_is_borrowed() {
    let ty = parse_type("VARCHAR");
    let bytes = encode(&Value::Text("abc".into()), &ty, Direction::Asc);
    let (value, _) = decode_part(&bytes, &ty, Direction::Asc).unwrap();
    assert!(matches!(value, Value::Text(Cow::Borrowed("abc"))));
}

#[test]
fn one_number_has_one_form_in_every_width() {
    let (int, unsigned) = (parse_type("INT"), parse_type("BIGINT UNSIGNED"));
    let small = encode(&Value::Int(300), &int, Direction::Asc);
    assert_eq!(small, encode(&Value::UInt(300), &unsigned, Direction::Asc));
    assert_eq!(small, encode(&Value::Int(300), &unsigned, Direction::Asc));
}

#[test]
fn a_value_of_another_type_is_refused() {
    let refused = |value: Value<'_>, ty: &str| {
        let error = encode_part(&mut Vec::new(), &value, &parse_type(ty), Direction::Asc);
        crate::error::Error::from(error.unwrap_err()).code()
    };
    assert_eq!(refused(Value::Text("1".into()), "INT"), Code::Unknown);
    assert_eq!(refused(Value::Int(-1), "BIGINT UNSIGNED"), Code::Unknown);
    assert_eq!(refused(Value::UInt(u64::MAX), "BIGINT"), Code::Unknown);
    assert_eq!(refused(Value::Int(1), "NULL"), Code::Unknown);
    let three_digits = Decimal::new(1_001, 3).unwrap();
    assert_eq!(
        refused(Value::Decimal(three_digits), "DECIMAL(5,2)"),
        Code::Unknown
    );
    assert_eq!(
        refused(Value::Int(i64::MAX), "DECIMAL(38,30)"),
        Code::NumericOverflow
    );
    let blue = EnumValue {
        index: 3,
        label: "blue".into(),
    };
    assert_eq!(refused(Value::Enum(blue), "ENUM"), Code::Unknown);
}

#[test]
fn decimals_of_another_scale_are_brought_to_the_column_s() {
    let ty = parse_type("DECIMAL(5,2)");
    let bytes = encode(
        &Value::Decimal(Decimal::new(125, 2).unwrap()),
        &ty,
        Direction::Asc,
    );
    for same in [Decimal::new(1_2500, 4), Decimal::new(125, 2)] {
        assert_eq!(
            encode(&Value::Decimal(same.unwrap()), &ty, Direction::Asc),
            bytes
        );
    }
}

#[test]
fn the_successor_of_the_highest_bytes_is_none() {
    assert_eq!(prefix_successor(vec![]), None);
    assert_eq!(prefix_successor(vec![0xFF, 0xFF]), None);
    assert_eq!(prefix_successor(vec![0x01, 0xFF]), Some(vec![0x02]));
}
