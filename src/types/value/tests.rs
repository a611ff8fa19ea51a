//! Values: how they are shown, turned into numbers, ordered and hashed.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::types::Parsed;
use crate::types::Zone;

fn double(number: f64) -> String {
    Value::Double(number).to_text().into_owned()
}

#[test]
fn doubles_are_shown_as_mysql_does() {
    let cases = [
        (0.1, "0.1"),
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (1e20, "1e20"),
        (1e14, "100000000000000"),
        (1e15, "1e15"),
        (123_456_789_012_345.6, "123456789012345.6"),
        (1_234_567_890_123_456.7, "1234567890123456.8"),
        (123_456_789_012_345_678.0, "1.2345678901234568e17"),
        (1e-7, "0.0000001"),
        (1.5e-14, "0.000000000000015"),
        (1.5e-15, "0.0000000000000015"),
        (1.5e-16, "1.5e-16"),
        (f64::MAX, "1.7976931348623157e308"),
        (5e-324, "5e-324"),
    ];
    for (number, expected) in cases {
        assert_eq!(double(number), expected);
    }
}

#[test]
fn floats_are_shown_with_six_digits() {
    let cases = [
        (0.1f32, "0.1"),
        (1.234_567_9, "1.23457"),
        (1_234_567.0, "1234570"),
        (16_777_216.0, "16777200"),
        (3.4e38, "3.4e38"),
        (1e-45, "1.4013e-45"),
    ];
    for (number, expected) in cases {
        assert_eq!(Value::Float(number).to_text(), expected);
    }
}

#[test]
fn values_are_shown() {
    let at = Timestamp::from_micros(1_700_000_000_120_000, 2).unwrap();
    let cases = [
        (Value::Null, "NULL"),
        (Value::Int(i64::MIN), "-9223372036854775808"),
        (Value::UInt(u64::MAX), "18446744073709551615"),
        (Value::Int(0), "0"),
        (Value::Year(0), "0000"),
        (Value::Decimal(Decimal::new(-105, 2).unwrap()), "-1.05"),
        (Value::bytes(b"\xff"), "\u{fffd}"),
        (Value::Timestamp(at), "2023-11-14 22:13:20.12"),
        (
            Value::Enum(EnumValue {
                index: 2,
                label: "b".into(),
            }),
            "b",
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(value.to_text(), expected);
    }
    let mut out = Vec::new();
    Value::Timestamp(at).write_text_in(&Zone::parse("+08:00").unwrap(), &mut out);
    assert_eq!(out, b"2023-11-15 06:13:20.12");
}

#[test]
fn texts_read_as_numbers_as_far_as_they_go() {
    let cases = [
        ("12", 12.0, 12, "12", false),
        (" 12 ", 12.0, 12, "12", false),
        ("12abc", 12.0, 12, "12", true),
        ("abc", 0.0, 0, "0", true),
        ("", 0.0, 0, "0", true),
        (".", 0.0, 0, "0", true),
        ("-1e2", -100.0, -1, "-100", false),
        ("1e", 1.0, 1, "1", true),
        (
            "1e400",
            f64::MAX,
            1,
            "99999999999999999999999999999999999999",
            true,
        ),
    ];
    for (text, double, whole, decimal, is_truncated) in cases {
        let value = Value::text(text);
        assert_eq!(
            value.to_f64(),
            Parsed {
                value: double,
                is_truncated
            },
            "{text}"
        );
        assert_eq!(value.to_i64().value, whole, "{text}");
        assert_eq!(value.to_decimal().value.to_string(), decimal, "{text}");
        assert_eq!(value.to_decimal().is_truncated, is_truncated, "{text}");
    }
    let largest = Value::UInt(u64::MAX).to_i64();
    assert_eq!(
        largest,
        Parsed {
            value: i64::MAX,
            is_truncated: true
        }
    );
    assert_eq!(Value::Double(2.5).to_i64().value, 2);
    assert_eq!(
        Value::Decimal(Decimal::new(25, 1).unwrap()).to_i64().value,
        3
    );
    assert_eq!(Value::Float(0.1).to_decimal().value.to_string(), "0.1");
}

#[test]
fn values_of_one_family_order_by_value() {
    let sorted = [
        Value::Null,
        Value::Double(f64::NEG_INFINITY),
        Value::Int(-1),
        Value::Double(0.0),
        Value::Decimal(Decimal::new(5, 1).unwrap()),
        Value::Int((1 << 53) - 1),
        Value::Double(9_007_199_254_740_992.0),
        Value::Int((1 << 53) + 1),
        Value::UInt(u64::MAX),
        Value::Double(1e300),
        Value::Double(f64::NAN),
        Value::text(""),
        Value::text("B"),
        Value::text("a"),
        Value::bytes(b"a\0"),
    ];
    for (i, a) in sorted.iter().enumerate() {
        for (j, b) in sorted.iter().enumerate() {
            assert_eq!(a.total_cmp(b), i.cmp(&j), "{a:?} {b:?}");
        }
    }
    assert_eq!(
        Value::Double(-0.0).total_cmp(&Value::Double(0.0)),
        Ordering::Equal
    );
}

fn any_number() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        any::<i64>().prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        (-4i64..4).prop_map(Value::Int),
        (0u64..4).prop_map(Value::UInt),
        any::<f64>().prop_map(Value::Double),
        (-4i8..4).prop_map(|n| Value::Double(f64::from(n))),
        (-400i128..400, 0u8..4).prop_map(|(n, s)| Value::Decimal(Decimal::new(n, s).unwrap())),
    ]
}

/// Numbers of all types around those that a double has no room for, and around tenths.
fn close_number() -> impl Strategy<Value = Value<'static>> {
    let whole = prop_oneof![
        9_007_199_254_740_990u64..9_007_199_254_741_004,
        9_223_372_036_854_775_800u64..9_223_372_036_854_776_100,
        18_446_744_073_709_551_000u64..=u64::MAX,
        0u64..3,
    ];
    (whole, 0u8..5).prop_map(|(whole, kind)| {
        let tenths = Decimal::new(i128::from(whole) * 10 + 5, 1).unwrap();
        match kind {
            0 => Value::UInt(whole),
            1 => i64::try_from(whole).map_or(Value::UInt(whole), Value::Int),
            2 => Value::Decimal(tenths),
            3 => Value::Double(tenths.to_f64()),
            _ => Value::Double(Decimal::from_u64(whole).to_f64()),
        }
    })
}

#[test]
fn a_double_and_a_decimal_of_its_digits_are_one_number() {
    let decimal = |text: &str| Value::Decimal(Decimal::parse(text).unwrap());
    let state = RandomState::new();
    for (double, text) in [
        (0.1, "0.10"),
        (1.5, "1.5"),
        (-2.25, "-2.250"),
        (1e23, "1e23"),
    ] {
        let (a, b) = (GroupKey(Value::Double(double)), GroupKey(decimal(text)));
        assert_eq!(a, b);
        assert_eq!(state.hash_one(&a), state.hash_one(&b));
    }
    let third = Value::Double(1.0 / 3.0);
    assert!(third.total_cmp(&decimal("0.33333333333333333")).is_lt());
}

proptest! {
    #[test]
    fn equal_numbers_group_together(a in any_number(), b in any_number()) {
        let (a, b) = (GroupKey(a), GroupKey(b));
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        if a == b {
            let state = RandomState::new();
            prop_assert_eq!(state.hash_one(&a), state.hash_one(&b));
        }
    }

    #[test]
    fn numbers_close_together_have_one_order(mut all in vec(close_number(), 3..40)) {
        // Sorting panics when it meets an order that is none.
        all.sort_by(Value::total_cmp);
        let state = RandomState::new();
        for (i, a) in all.iter().enumerate() {
            for b in &all[i..] {
                prop_assert!(a.total_cmp(b).is_le(), "{:?} {:?}", a, b);
                prop_assert_eq!(a.total_cmp(b), b.total_cmp(a).reverse());
                if a.total_cmp(b).is_eq() {
                    let keys = (GroupKey(a.borrow()), GroupKey(b.borrow()));
                    prop_assert_eq!(state.hash_one(&keys.0), state.hash_one(&keys.1));
                }
            }
        }
    }

    #[test]
    fn doubles_read_back_what_is_shown(number in any::<f64>()) {
        prop_assume!(number.is_finite());
        prop_assert_eq!(double(number).parse::<f64>().unwrap().to_bits(), number.to_bits());
    }

    #[test]
    fn whole_numbers_are_shown_as_rust_does(a in any::<i64>(), b in any::<u64>()) {
        prop_assert_eq!(Value::Int(a).to_text().into_owned(), a.to_string());
        prop_assert_eq!(Value::UInt(b).to_text().into_owned(), b.to_string());
    }
}
