//! What each column type makes of each value, in strict mode and without it.

use super::*;
use crate::types::column_type::{IntWidth, LobSize};
use crate::types::{Date, Datetime, Decimal, Parsed};

const LENIENT: StoreMode<'static> = StoreMode {
    is_strict: false,
    ..StoreMode::STRICT
};

/// `errno` in strict mode or the value stored; in lenient mode the value and `errno` after it.
fn stored(value: &Value<'static>, ty: &ColumnType) -> (String, String) {
    let strict = match coerce(value.borrow(), ty, &StoreMode::STRICT) {
        Ok(coerced) => shown_value(&coerced),
        Err(problem) => problem.code().errno().to_string(),
    };
    let lenient = match coerce(value.borrow(), ty, &LENIENT) {
        Ok(coerced) => shown_value(&coerced),
        Err(problem) => problem.code().errno().to_string(),
    };
    (strict, lenient)
}

fn shown_value(coerced: &Coerced<'_>) -> String {
    let mark = match &coerced.adjustment {
        Some(adjustment) if adjustment.is_note => " note ",
        Some(_) => " warning ",
        None => "",
    };
    let errno = coerced
        .adjustment
        .as_ref()
        .map(|a| a.problem.code().errno().to_string());
    format!(
        "{}{mark}{}",
        coerced.value.to_text(),
        errno.unwrap_or_default()
    )
}

fn check(ty: &ColumnType, cases: &[(Value<'static>, &str, &str)]) {
    for (value, strict, lenient) in cases {
        let expected = ((*strict).to_owned(), (*lenient).to_owned());
        assert_eq!(stored(value, ty), expected, "{value:?} in {ty}");
    }
}

fn text(text: &'static str) -> Value<'static> {
    Value::text(text)
}

fn decimal(text: &str) -> Value<'static> {
    Value::Decimal(Decimal::parse(text).unwrap())
}

#[test]
fn integers() {
    let tiny = ColumnType::Int {
        width: IntWidth::Tiny,
        unsigned: false,
    };
    check(
        &tiny,
        &[
            (Value::Int(127), "127", "127"),
            (Value::Int(128), "1264", "127 warning 1264"),
            (Value::UInt(u64::MAX), "1264", "127 warning 1264"),
            (decimal("1.5"), "2", "2"),
            (Value::Double(2.5), "2", "2"),
            (Value::Double(1e300), "1264", "127 warning 1264"),
            (text("12"), "12", "12"),
            (text(" 12.5e0 "), "13", "13"),
            (text("12abc"), "1265", "12 warning 1265"),
            (text("abc"), "1366", "0 warning 1366"),
            (text(""), "1366", "0 warning 1366"),
            (text("-1e99"), "1264", "-128 warning 1264"),
            (Value::Null, "NULL", "NULL"),
        ],
    );
    check(
        &ColumnType::BIGINT_UNSIGNED,
        &[
            (Value::Int(-1), "1264", "0 warning 1264"),
            (
                Value::UInt(u64::MAX),
                "18446744073709551615",
                "18446744073709551615",
            ),
            (
                text("18446744073709551616"),
                "1264",
                "18446744073709551615 warning 1264",
            ),
        ],
    );
    check(
        &ColumnType::Boolean,
        &[
            (Value::Int(1), "1", "1"),
            (Value::Int(200), "1264", "127 warning 1264"),
        ],
    );
    let kept = coerce(
        Value::Int(5),
        &ColumnType::BIGINT_UNSIGNED,
        &StoreMode::STRICT,
    )
    .unwrap();
    assert!(matches!(kept.value, Value::UInt(5)));
}

#[test]
fn doubles_and_decimals() {
    check(
        &ColumnType::Double,
        &[
            (text("1.5"), "1.5", "1.5"),
            (text("1.5x"), "1265", "1.5 warning 1265"),
            (text("x"), "1265", "0 warning 1265"),
            (text("1e400"), "1264", "1.7976931348623157e308 warning 1264"),
        ],
    );
    check(
        &ColumnType::Float,
        &[
            (Value::Double(0.1), "0.1", "0.1"),
            (Value::Double(1e39), "1264", "3.40282e38 warning 1264"),
        ],
    );
    check(
        &ColumnType::Decimal {
            precision: 5,
            scale: 2,
        },
        &[
            (Value::Int(7), "7.00", "7.00"),
            (decimal("1.005"), "1.01 note 1265", "1.01 note 1265"),
            (decimal("999.995"), "1264", "999.99 warning 1264"),
            (Value::Double(0.1), "0.10", "0.10"),
            (Value::Double(-1e300), "1264", "-999.99 warning 1264"),
            (text("12.3"), "12.30", "12.30"),
            (text("abc"), "1366", "0.00 warning 1366"),
            (text("1x"), "1265", "1.00 warning 1265"),
        ],
    );
}

#[test]
fn texts_and_bytes() {
    check(
        &ColumnType::Varchar { chars_max: Some(3) },
        &[
            (text("äöü"), "äöü", "äöü"),
            (text("äöüx"), "1406", "äöü warning 1406"),
            (text("abc  "), "abc note 1265", "abc note 1265"),
            (Value::Int(123), "123", "123"),
            (Value::bytes(b"ab\xff"), "1366", "ab warning 1366"),
        ],
    );
    check(
        &ColumnType::Text(LobSize::Tiny),
        &[(text("ab "), "ab ", "ab ")],
    );
    let long = Value::Text(Cow::Owned("ä".repeat(128)));
    let (strict, lenient) = stored(&long, &ColumnType::Text(LobSize::Tiny));
    assert_eq!(
        (strict.as_str(), lenient),
        ("1406", format!("{} warning 1406", "ä".repeat(127)))
    );
    check(
        &ColumnType::Binary { bytes: 3 },
        &[
            (text("a"), "a\0\0", "a\0\0"),
            (text("abcd"), "1406", "abc warning 1406"),
        ],
    );
    let huge = Value::Text(Cow::Owned("x".repeat(VALUE_BYTES_MAX_DEFAULT + 1)));
    for ty in [
        ColumnType::VARCHAR,
        ColumnType::Varbinary { bytes_max: None },
    ] {
        assert_eq!(stored(&huge, &ty), ("1406".into(), "1406".into()));
    }
}

#[test]
fn dates_and_times() {
    check(
        &ColumnType::Date,
        &[
            (text("2024-02-29"), "2024-02-29", "2024-02-29"),
            (text("2024-02-30"), "1292", "0000-00-00 warning 1292"),
            (
                text("2024-02-29 10:00:00"),
                "2024-02-29 note 1265",
                "2024-02-29 note 1265",
            ),
            (text("2024-02-29x"), "1292", "2024-02-29 warning 1292"),
            (text("0000-00-00"), "1292", "0000-00-00 warning 1292"),
            (Value::Int(20_240_229), "2024-02-29", "2024-02-29"),
            (Value::Date(Date::ZERO), "1292", "0000-00-00 warning 1292"),
        ],
    );
    check(
        &ColumnType::Datetime { fsp: 1 },
        &[
            (
                text("2024-02-29 23:59:59.96"),
                "2024-03-01 00:00:00.0",
                "2024-03-01 00:00:00.0",
            ),
            (text("x"), "1292", "0000-00-00 00:00:00.0 warning 1292"),
            (
                text("9999-12-31 23:59:59.96"),
                "1292",
                "0000-00-00 00:00:00.0 warning 1292",
            ),
            (
                text("2024-01-01 10:00:00+02:00"),
                "2024-01-01 08:00:00.0",
                "2024-01-01 08:00:00.0",
            ),
        ],
    );
    check(
        &ColumnType::Time { fsp: 0 },
        &[
            (text("10:11:12.5"), "10:11:13", "10:11:13"),
            (text("839:00:00"), "1292", "838:59:59 warning 1292"),
            (Value::Int(101_112), "10:11:12", "10:11:12"),
        ],
    );
    check(
        &ColumnType::Year,
        &[
            (Value::Int(0), "0000", "0000"),
            (text("0"), "2000", "2000"),
            (Value::Int(69), "2069", "2069"),
            (Value::Int(1900), "1264", "0000 warning 1264"),
            (text("abc"), "1366", "0000 warning 1366"),
        ],
    );
}

#[test]
fn timestamps() {
    let ty = ColumnType::Timestamp { fsp: 3 };
    check(
        &ty,
        &[
            (
                Value::Int(1_700_000_000_123),
                "2023-11-14 22:13:20.123",
                "2023-11-14 22:13:20.123",
            ),
            (
                Value::Int(20_231_114_221_320),
                "2023-11-14 22:13:20.000",
                "2023-11-14 22:13:20.000",
            ),
            (Value::Int(-5), "1292", "0000-00-00 00:00:00 warning 1292"),
            (Value::Int(999), "1292", "0000-00-00 00:00:00 warning 1292"),
            (Value::Int(0), "1292", "0000-00-00 00:00:00 warning 1292"),
            (
                text("2038-01-19 03:14:08"),
                "1292",
                "0000-00-00 00:00:00 warning 1292",
            ),
            (
                text("2023-11-14 22:13:20+01:00"),
                "2023-11-14 21:13:20.000",
                "2023-11-14 21:13:20.000",
            ),
        ],
    );
    let zone = Zone::parse("Europe/Berlin").unwrap();
    let mode = StoreMode {
        zone: &zone,
        ..StoreMode::STRICT
    };
    let stored = coerce(text("2024-07-01 12:00:00"), &ty, &mode)
        .unwrap()
        .value;
    assert_eq!(stored.to_text(), "2024-07-01 10:00:00.000");
    let gap = coerce(text("2024-03-31 02:30:00"), &ty, &mode).unwrap_err();
    assert_eq!(
        gap.message("c", 2),
        "Incorrect datetime value: '2024-03-31 02:30:00' for column 'c' at row 2"
    );
}

#[test]
fn times_become_datetimes_of_today() {
    let now = Timestamp::from_micros(1_700_000_000_000_000, 0).unwrap();
    let mode = StoreMode {
        now,
        ..StoreMode::STRICT
    };
    let noon = coerce(text("12:00:00"), &ColumnType::Time { fsp: 0 }, &mode)
        .unwrap()
        .value;
    let stored = coerce(noon, &ColumnType::Datetime { fsp: 0 }, &mode)
        .unwrap()
        .value;
    assert_eq!(stored.to_text(), "2023-11-14 12:00:00");
}

#[test]
fn enums_and_json() {
    let labels = ["a", "b", "3"].map(Box::from);
    check(
        &ColumnType::Enum(labels.into()),
        &[
            (text("b"), "b", "b"),
            (text("b "), "b", "b"),
            (text("B"), "1265", " warning 1265"),
            (Value::Int(1), "a", "a"),
            (text("2"), "b", "b"),
            (text("3"), "3", "3"),
            (Value::Int(4), "1265", " warning 1265"),
            (Value::Int(0), "1265", " warning 1265"),
        ],
    );
    check(
        &ColumnType::Json,
        &[
            (
                text("{\"b\":1,\"a\":2}"),
                "{\"a\": 2, \"b\": 1}",
                "{\"a\": 2, \"b\": 1}",
            ),
            (text("{"), "3140", "3140"),
            (Value::Text("[".repeat(128).into()), "3157", "3157"),
            (Value::Int(5), "5", "5"),
        ],
    );
}

#[test]
fn problems_speak_as_mysql_does() {
    let cases = [
        (
            Problem::OutOfRange,
            "Out of range value for column 'c' at row 1",
        ),
        (Problem::TooLong, "Data too long for column 'c' at row 1"),
        (Problem::Truncated, "Data truncated for column 'c' at row 1"),
    ];
    for (problem, expected) in cases {
        assert_eq!(problem.into_error("c", 1).message(), expected);
    }
    let problem = coerce(text("abc"), &ColumnType::BIGINT, &StoreMode::STRICT).unwrap_err();
    assert_eq!(
        problem.message("c", 3),
        "Incorrect integer value: 'abc' for column 'c' at row 3"
    );
    let problem = coerce(
        Value::bytes(b"a\xffb"),
        &ColumnType::VARCHAR,
        &StoreMode::STRICT,
    );
    let message = problem.unwrap_err().message("c", 1);
    assert_eq!(
        message,
        "Incorrect string value: '\\xFFb' for column 'c' at row 1"
    );
}

#[test]
fn stored_texts_are_read_back() {
    let datetime = Datetime::parse("2024-02-29 10:11:12.5", 1, DateRules::STRICT);
    let Some(Parsed { value, .. }) = datetime else {
        panic!("no datetime")
    };
    let cases = [
        (Value::Datetime(value), ColumnType::Datetime { fsp: 1 }),
        (Value::Date(Date::ZERO), ColumnType::Date),
        (Value::UInt(7), ColumnType::BIGINT_UNSIGNED),
        (Value::Year(0), ColumnType::Year),
        (Value::text("x "), ColumnType::VARCHAR),
    ];
    let json = ["2012.00000", "1.0", "1", r#"{"a": [1.50, "x"]}"#];
    let json = json.map(|text| (Value::Json(text.into()), ColumnType::Json));
    let doubles = [1e-300, f64::MAX, 5e-324, 0.1, -0.0, 20_120_229_101_112.5];
    let doubles = doubles.map(|number| (Value::Double(number), ColumnType::Double));
    // `f32::from_bits(0x4b7f_ffff)` is 16777215.
    let floats = [
        1_234_567.0,
        0.1,
        -0.0,
        f32::MAX,
        1e-45,
        f32::from_bits(0x4b7f_ffff),
    ];
    let floats = floats.map(|number| (Value::Float(number), ColumnType::Float));
    let cases = cases.into_iter().chain(json).chain(doubles).chain(floats);
    for (value, ty) in cases {
        let back = from_stored_text(stored_text(&value), &ty).unwrap();
        assert!(value.is_same(&back), "{value:?} {back:?}");
    }
    assert!(from_stored_text("[1".into(), &ColumnType::Json).is_err());
}
