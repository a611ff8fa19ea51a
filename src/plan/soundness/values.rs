//! Values for the soundness property: what columns of each type can hold, and the constants that
//! conditions compare with, gathered about the ends of types and where conversions lose something.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "lists of values are per family of types"
)]

use crate::types::column_type::IntWidth;
use crate::types::temporal::DateRules;
use crate::types::value::EnumValue;
use crate::types::{ColumnType, Date, Datetime, Decimal, Time, Timestamp, Value};

pub(super) fn types() -> Vec<ColumnType> {
    let int = |width, unsigned| ColumnType::Int { width, unsigned };
    let labels: Vec<Box<str>> = ["new", "paid", "a"].map(Box::from).into();
    vec![
        int(IntWidth::Tiny, false),
        int(IntWidth::Tiny, true),
        int(IntWidth::Int, false),
        int(IntWidth::Big, false),
        int(IntWidth::Big, true),
        ColumnType::Boolean,
        ColumnType::Decimal {
            precision: 5,
            scale: 2,
        },
        ColumnType::Decimal {
            precision: 30,
            scale: 2,
        },
        ColumnType::Float,
        ColumnType::Double,
        ColumnType::Varchar { chars_max: Some(3) },
        ColumnType::Varchar { chars_max: None },
        ColumnType::Char { chars_max: 2 },
        ColumnType::Varbinary { bytes_max: Some(3) },
        ColumnType::Date,
        ColumnType::Datetime { fsp: 0 },
        ColumnType::Datetime { fsp: 3 },
        ColumnType::Timestamp { fsp: 0 },
        ColumnType::Timestamp { fsp: 3 },
        ColumnType::Time { fsp: 0 },
        ColumnType::Year,
        ColumnType::Enum(labels.into()),
    ]
}

fn decimal(text: &str) -> Value<'static> {
    Value::Decimal(Decimal::parse(text).unwrap())
}

fn timestamp(micros: i64, fsp: u8) -> Value<'static> {
    Value::Timestamp(Timestamp::from_micros(micros, fsp).unwrap())
}

fn text_values() -> Vec<Value<'static>> {
    let texts = ["", "a", "ab", "abc", "b", "é", "a%", "5", "5x", "-1", "1.5"];
    texts.map(|text| Value::Text(text.into())).into()
}

/// Values that a column of the type can hold.
#[expect(clippy::too_many_lines, reason = "a list of values")]
pub(super) fn values_of(ty: &ColumnType) -> Vec<Value<'static>> {
    match ty {
        ColumnType::Boolean | ColumnType::Int { .. } => ints_of(ty),
        ColumnType::Decimal { precision: 5, .. } => {
            ["-999.99", "-1.50", "0.00", "1.50", "1.51", "5.00", "999.99"]
                .map(decimal)
                .into()
        }
        ColumnType::Decimal { .. } => [
            "-1.50",
            "0.00",
            "1.50",
            "9007199254740992.01",
            "9007199254740993.00",
        ]
        .map(decimal)
        .into(),
        ColumnType::Float => [-1.5, 0.0, 0.1, 0.5, 1.0, 5.0, f32::MAX]
            .map(Value::Float)
            .into(),
        ColumnType::Double => [
            -1.5,
            0.0,
            0.1,
            0.5,
            1.0,
            5.0,
            9_007_199_254_740_992.0,
            f64::MAX,
        ]
        .map(Value::Double)
        .into(),
        ColumnType::Varchar { .. } => text_values(),
        ColumnType::Char { .. } => text_values()
            .into_iter()
            .filter(|value| matches!(value, Value::Text(text) if text.chars().count() <= 2))
            .collect(),
        ColumnType::Varbinary { .. } => [&b""[..], b"a", b"ab", b"\x00", b"\xFF", b"5"]
            .map(|bytes| Value::Bytes(bytes.into()))
            .into(),
        ColumnType::Date => dates().into_iter().map(Value::Date).collect(),
        ColumnType::Datetime { fsp } => datetimes()
            .into_iter()
            .map(|at| Value::Datetime(at.truncate(*fsp)))
            .collect(),
        ColumnType::Timestamp { fsp: 0 } => {
            [0, 1_000_000, 1_705_276_800_000_000, 1_705_312_800_000_000]
                .map(|micros| timestamp(micros, 0))
                .into()
        }
        ColumnType::Timestamp { .. } => [1_000_000, 1_705_276_800_000_000, 1_705_312_800_500_000]
            .map(|micros| timestamp(micros, 3))
            .into(),
        ColumnType::Time { .. } => [-36_000_000_000, 0, 1_000_000, 36_000_000_000]
            .map(|micros| Value::Time(Time::from_micros(micros, 0).unwrap()))
            .into(),
        ColumnType::Year => [0, 1901, 1999, 2024, 2155].map(Value::Year).into(),
        ColumnType::Enum(labels) => labels
            .iter()
            .enumerate()
            .map(|(at, label)| {
                Value::Enum(EnumValue {
                    index: u16::try_from(at + 1).unwrap(),
                    label: label.to_string().into(),
                })
            })
            .collect(),
        ColumnType::Null
        | ColumnType::Dynamic
        | ColumnType::Text(_)
        | ColumnType::Binary { .. }
        | ColumnType::Blob(_)
        | ColumnType::Json => panic!("no values of {ty:?}"),
    }
}

/// Integers about the ends of the types and where doubles lose them.
fn ints_of(ty: &ColumnType) -> Vec<Value<'static>> {
    let ints = |list: &[i64]| list.iter().map(|number| Value::Int(*number)).collect();
    let uints = |list: &[u64]| list.iter().map(|number| Value::UInt(*number)).collect();
    match ty {
        ColumnType::Boolean => ints(&[0, 1, 5, -128, 127]),
        ColumnType::Int {
            width: IntWidth::Tiny,
            unsigned: false,
        } => ints(&[-128, -1, 0, 1, 2, 3, 4, 5, 126, 127]),
        ColumnType::Int {
            width: IntWidth::Tiny,
            unsigned: true,
        } => uints(&[0, 1, 2, 3, 4, 5, 254, 255]),
        ColumnType::Int { unsigned: true, .. } => uints(&[
            0,
            1,
            2,
            5,
            (1 << 53) - 1,
            1 << 53,
            (1 << 53) + 1,
            u64::MAX - 1,
            u64::MAX,
        ]),
        ColumnType::Int {
            width: IntWidth::Big,
            ..
        } => ints(&[
            i64::MIN,
            -1,
            0,
            1,
            2,
            5,
            (1 << 53) - 1,
            1 << 53,
            (1 << 53) + 1,
            (1 << 53) + 2,
            20_240_115,
            i64::MAX,
        ]),
        _ => ints(&[-2_147_483_648, -1, 0, 1, 2, 5, 2_147_483_647]),
    }
}

fn dates() -> Vec<Date> {
    [
        "0001-01-01",
        "2024-01-14",
        "2024-01-15",
        "2024-01-16",
        "9999-12-31",
    ]
    .map(|text| Date::parse(text, DateRules::STRICT).unwrap().value)
    .into()
}

fn datetimes() -> Vec<Datetime> {
    [
        "1000-01-01 00:00:00",
        "2024-01-15 00:00:00",
        "2024-01-15 10:00:00",
        "2024-01-15 10:00:00.5",
        "2024-01-16 00:00:00",
    ]
    .map(|text| Datetime::parse(text, 3, DateRules::STRICT).unwrap().value)
    .into()
}

/// Constants that conditions compare with.
#[expect(clippy::too_many_lines, reason = "a list of values")]
pub(super) fn constants() -> Vec<Value<'static>> {
    let mut all = text_values();
    for text in [
        "9007199254740993",
        "1e3",
        " 5 ",
        "2024-01-15",
        "2024-01-15 10:00:00",
        "10:00:00",
        "2024",
        "new",
        "lost",
    ] {
        all.push(Value::Text(text.into()));
    }
    for number in [
        i64::MIN,
        -129,
        -5,
        -1,
        0,
        1,
        2,
        3,
        5,
        126,
        127,
        128,
        255,
        256,
        1999,
        2024,
        20_240_115,
        20_240_115_100_000,
        1_705_276_800_000,
        1_705_312_800_500,
        (1 << 53) + 1,
        i64::MAX,
    ] {
        all.push(Value::Int(number));
    }
    all.extend([1 << 63, u64::MAX].map(Value::UInt));
    all.extend(
        [
            "-1.5",
            "0.5",
            "1.5",
            "1.50",
            "1.505",
            "1000.00",
            "9007199254740993.00",
            "18446744073709551616",
        ]
        .map(decimal),
    );
    all.extend(
        [
            -1e30,
            -1.5,
            0.0,
            0.1,
            0.5,
            1.5,
            5.0,
            9_007_199_254_740_992.0,
            9_007_199_254_740_993e3,
            1e30,
            1e300,
        ]
        .map(Value::Double),
    );
    all.extend(
        [&b"a"[..], b"ab", b"\xFF", b"2024-01-15", b"10:00:00"]
            .map(|bytes| Value::Bytes(bytes.into())),
    );
    all.extend(dates().into_iter().map(Value::Date));
    all.extend(datetimes().into_iter().map(Value::Datetime));
    all.push(Value::Time(Time::from_micros(36_000_000_000, 0).unwrap()));
    all.push(Value::Null);
    all
}
