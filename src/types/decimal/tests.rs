//! Decimals: their texts, their order, and arithmetic against exact integers.

use proptest::prelude::*;

use super::{DIGITS_MAX, Decimal, SCALE_MAX};

fn d(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|| panic!("not a decimal: {text}"))
}

fn shown(number: Option<Decimal>) -> String {
    number.map_or("none".into(), |n| n.to_string())
}

#[test]
fn texts_are_read_and_written() {
    let cases = [
        ("0", "0"),
        ("-0.00", "0.00"),
        ("1.50", "1.50"),
        ("+.5", "0.5"),
        ("5.", "5"),
        ("-0.05", "-0.05"),
        ("1e3", "1000"),
        ("1.25E-2", "0.0125"),
        (
            "12345678901234567890123456789012345678",
            "12345678901234567890123456789012345678",
        ),
        ("123456789012345678901234567890123456789", "none"),
        (
            "0.12345678901234567890123456789055555",
            "0.123456789012345678901234567891",
        ),
        ("1e38", "none"),
        ("1e37", "10000000000000000000000000000000000000"),
        ("1e-60", "0.000000000000000000000000000000"),
        (
            "99999999999999999999999999999999999999.4",
            "99999999999999999999999999999999999999",
        ),
        ("99999999999999999999999999999999999999.5", "none"),
        ("", "none"),
        (".", "none"),
        ("1x", "none"),
        ("1e", "none"),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(Decimal::parse(text)), expected, "{text}");
    }
    let (number, rest) = Decimal::parse_prefix("12.5abc");
    assert_eq!((shown(number), rest), ("12.5".into(), "abc"));
}

#[test]
fn arithmetic_keeps_mysql_scales() {
    assert_eq!(shown(d("1.5").checked_add(d("2.25"))), "3.75");
    assert_eq!(shown(d("1.5").checked_sub(d("2.25"))), "-0.75");
    assert_eq!(shown(d("1.5").checked_mul(d("-2.25"))), "-3.375");
    assert_eq!(shown(d("1").checked_div(d("2"))), "0.5000");
    assert_eq!(shown(d("2").checked_div(d("3"))), "0.6667");
    assert_eq!(shown(d("-2.0").checked_div(d("3"))), "-0.66667");
    assert_eq!(shown(d("1").checked_div(d("0.00"))), "none");
    assert_eq!(shown(d("7.5").checked_div_int(d("2"))), "3");
    assert_eq!(shown(d("-7.5").checked_rem(d("2"))), "-1.5");
    assert_eq!(shown(d("7").checked_rem(d("0"))), "none");
    let big = d("99999999999999999999999999999999999999");
    assert_eq!(shown(big.checked_add(d("1"))), "none");
    assert_eq!(shown(big.checked_mul(big)), "none");
    assert_eq!(shown(big.checked_div(big)), "1.0000");
    assert_eq!(
        shown(big.checked_add(d("0.4"))),
        "99999999999999999999999999999999999999"
    );
    assert_eq!(
        shown(
            d("0.999999999999999999999999999999")
                .checked_mul(d("0.999999999999999999999999999999"))
        ),
        "0.999999999999999999999999999998"
    );
}

#[test]
fn rounding_is_half_away_from_zero() {
    let cases = [
        ("2.5", 0, "3", "2"),
        ("-2.5", 0, "-3", "-2"),
        ("1.005", 2, "1.01", "1.00"),
        ("1250", -2, "1300", "1200"),
        ("1.5", 3, "1.5", "1.5"),
        ("5", -1, "10", "0"),
        ("5", -60, "0", "0"),
    ];
    for (text, digits, rounded, cut) in cases {
        assert_eq!(
            d(text).round(digits).to_string(),
            rounded,
            "round {text} {digits}"
        );
        assert_eq!(
            d(text).trunc(digits).to_string(),
            cut,
            "trunc {text} {digits}"
        );
    }
    assert_eq!(d("-1.5").ceil().to_string(), "-1");
    assert_eq!(d("-1.5").floor().to_string(), "-2");
    assert_eq!(d("1.5").ceil().to_string(), "2");
}

#[test]
fn rescaling_reports_overflow() {
    assert_eq!(shown(d("99.994").rescale(4, 2)), "99.99");
    assert_eq!(shown(d("99.995").rescale(4, 2)), "none");
    assert_eq!(shown(d("1").rescale(4, 2)), "1.00");
    assert_eq!(
        shown(d("99999999999999999999999999999999999999").rescale(38, 2)),
        "none"
    );
    assert_eq!(Decimal::max_of(5, 2).to_string(), "999.99");
}

#[test]
fn numbers_convert() {
    assert_eq!(d("0.1").to_f64().to_bits(), 0.1f64.to_bits());
    let long = d("12345678901234567890.5").to_f64();
    assert_eq!(long.to_bits(), 12_345_678_901_234_567_890.5f64.to_bits());
    assert_eq!(shown(Decimal::from_f64(1e-7)), "0.0000001");
    assert_eq!(shown(Decimal::from_f64(1e20)), "100000000000000000000");
    assert_eq!(shown(Decimal::from_f64(f64::NAN)), "none");
    assert_eq!(d("-1.5").to_i64(), Some(-2));
    assert_eq!(d("-1.5").to_u64(), None);
    assert_eq!(d("9223372036854775807.4").to_i64(), Some(i64::MAX));
    assert_eq!(d("9223372036854775807.5").to_i64(), None);
    assert_eq!(d("0.05").precision(), 2);
    assert_eq!(d("120.5").precision(), 4);
}

fn any_decimal() -> impl Strategy<Value = Decimal> {
    let digits = 0..=u32::from(DIGITS_MAX);
    (any::<i128>(), digits, 0..=SCALE_MAX).prop_map(|(number, digits, scale)| {
        Decimal::new(number % 10i128.pow(digits), scale).expect("in range")
    })
}

proptest! {
    #[test]
    fn text_round_trips(a in any_decimal()) {
        let b = d(&a.to_string());
        prop_assert_eq!(a.coefficient(), b.coefficient());
        prop_assert_eq!(a.scale(), b.scale());
    }

    #[test]
    fn order_agrees_with_subtraction(a in any_decimal(), b in any_decimal()) {
        if let Some(difference) = a.checked_sub(b) {
            let nearly = difference.is_zero() && a != b;
            let sign = difference.coefficient().signum();
            prop_assert!(nearly || sign.cmp(&0) == a.cmp(&b));
        }
    }

    #[test]
    fn quotient_and_remainder_belong_together(a in any_decimal(), b in any_decimal()) {
        let whole = a.checked_div_int(b).zip(a.checked_rem(b));
        let exact = whole.filter(|(q, _)| q.precision() + b.precision() < DIGITS_MAX);
        if let Some((quotient, rest)) = exact.filter(|_| a.precision() < 30) {
            let product = quotient.checked_mul(b).expect("short enough");
            if product.scale() == b.scale() {
                prop_assert_eq!(product.checked_add(rest), Some(a));
            }
            prop_assert!(rest.abs() < b.abs());
        }
    }

    #[test]
    fn equal_numbers_hash_alike(a in any_decimal()) {
        use std::hash::{BuildHasher, RandomState};
        let state = RandomState::new();
        let b = a.normalized();
        prop_assert_eq!(a, b);
        prop_assert_eq!(state.hash_one(a), state.hash_one(b));
    }
}
