//! Types and values for the tests of this room: names of types as text, strategies for values,
//! and the order that values have by themselves.

use std::cmp::Ordering;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;

use super::key::Direction;
use crate::types::column_type::{IntWidth, LobSize};
use crate::types::value::EnumValue;
use crate::types::{ColumnType, Date, Datetime, Decimal, Time, Timestamp, Value, json};

/// The type of a name as `FORMAT.md` and the tests write it.
pub(crate) fn parse_type(name: &str) -> ColumnType {
    let int = |width, unsigned| ColumnType::Int { width, unsigned };
    let (word, arguments) = match name.split_once('(') {
        Some((word, rest)) => (word, rest.strip_suffix(')').unwrap()),
        None => (name, ""),
    };
    let number = |position: usize| {
        arguments
            .split(',')
            .nth(position)
            .map(|n| n.parse().unwrap())
    };
    match word {
        "BOOLEAN" => ColumnType::Boolean,
        "TINYINT" => int(IntWidth::Tiny, false),
        "SMALLINT UNSIGNED" => int(IntWidth::Small, true),
        "INT" => int(IntWidth::Int, false),
        "BIGINT" => int(IntWidth::Big, false),
        "BIGINT UNSIGNED" => int(IntWidth::Big, true),
        "FLOAT" => ColumnType::Float,
        "DOUBLE" => ColumnType::Double,
        "DECIMAL" => ColumnType::Decimal {
            precision: number(0).unwrap(),
            scale: number(1).unwrap(),
        },
        "CHAR" => ColumnType::Char { chars_max: 255 },
        "VARCHAR" => ColumnType::Varchar { chars_max: None },
        "TEXT" => ColumnType::Text(LobSize::Regular),
        "BINARY" => ColumnType::Binary { bytes: 3 },
        "VARBINARY" => ColumnType::Varbinary { bytes_max: None },
        "BLOB" => ColumnType::Blob(LobSize::Long),
        "DATE" => ColumnType::Date,
        "TIME" => ColumnType::Time {
            fsp: number(0).unwrap(),
        },
        "DATETIME" => ColumnType::Datetime {
            fsp: number(0).unwrap(),
        },
        "TIMESTAMP" => ColumnType::Timestamp {
            fsp: number(0).unwrap(),
        },
        "YEAR" => ColumnType::Year,
        "JSON" => ColumnType::Json,
        "ENUM" => ColumnType::Enum(Arc::from([Box::from("red"), Box::from("green")])),
        "NULL" => ColumnType::Null,
        _ => panic!("no type {name}"),
    }
}

/// One of each family and width, and decimals from none to all digits behind the point.
pub(super) const TYPES: &[&str] = &[
    "BOOLEAN",
    "TINYINT",
    "SMALLINT UNSIGNED",
    "INT",
    "BIGINT",
    "BIGINT UNSIGNED",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(5,2)",
    "DECIMAL(38,0)",
    "DECIMAL(38,30)",
    "CHAR",
    "VARCHAR",
    "TEXT",
    "BINARY",
    "VARBINARY",
    "BLOB",
    "DATE",
    "TIME(0)",
    "TIME(6)",
    "DATETIME(0)",
    "DATETIME(3)",
    "TIMESTAMP(0)",
    "TIMESTAMP(6)",
    "YEAR",
    "JSON",
    "ENUM",
    "NULL",
];

pub(super) fn types() -> impl Strategy<Value = ColumnType> {
    select(TYPES).prop_map(parse_type)
}

pub(super) fn directions() -> impl Strategy<Value = Direction> {
    select(&[Direction::Asc, Direction::Desc][..])
}

/// Values of a type, `NULL` among them.
pub(super) fn values(ty: &ColumnType) -> BoxedStrategy<Value<'static>> {
    let some = match ty {
        ColumnType::Null | ColumnType::Dynamic => return Just(Value::Null).boxed(),
        ColumnType::Boolean => (0..2i64).prop_map(Value::Int).boxed(),
        ColumnType::Int {
            width: IntWidth::Tiny,
            ..
        } => any::<i8>().prop_map(|n| Value::Int(n.into())).boxed(),
        ColumnType::Int {
            width: IntWidth::Small,
            ..
        } => any::<u16>().prop_map(|n| Value::UInt(n.into())).boxed(),
        ColumnType::Int {
            width: IntWidth::Int,
            ..
        } => any::<i32>().prop_map(|n| Value::Int(n.into())).boxed(),
        ColumnType::Int {
            unsigned: false, ..
        } => (any::<i64>(), 0..64u32)
            .prop_map(|(n, shift)| Value::Int(n >> shift))
            .boxed(),
        ColumnType::Int { unsigned: true, .. } => (any::<u64>(), 0..64u32)
            .prop_map(|(n, shift)| Value::UInt(n >> shift))
            .boxed(),
        ColumnType::Float => floats().prop_map(Value::Float).boxed(),
        ColumnType::Double => doubles().prop_map(Value::Double).boxed(),
        ColumnType::Decimal { precision, scale } => decimals(*precision, *scale),
        ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_) => {
            texts().prop_map(|text| Value::Text(text.into())).boxed()
        }
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_) => {
            let bytes = prop_oneof![select(&[0, 1, 0xFE, 0xFF][..]), any::<u8>()];
            prop::collection::vec(bytes, 0..6)
                .prop_map(|b| Value::Bytes(b.into()))
                .boxed()
        }
        ColumnType::Json => documents(),
        ColumnType::Date => dates().prop_map(Value::Date).boxed(),
        ColumnType::Time { fsp } => times(*fsp),
        ColumnType::Datetime { fsp } => datetimes(*fsp),
        ColumnType::Timestamp { fsp } => timestamps(*fsp),
        ColumnType::Year => prop_oneof![Just(0), 1901..2156u16]
            .prop_map(Value::Year)
            .boxed(),
        ColumnType::Enum(labels) => {
            let labels = Arc::clone(labels);
            (0..=u16::try_from(labels.len()).unwrap())
                .prop_map(move |index| {
                    let label = usize::from(index).checked_sub(1).map_or("", |i| &labels[i]);
                    Value::Enum(EnumValue {
                        index,
                        label: label.to_owned().into(),
                    })
                })
                .boxed()
        }
    };
    prop_oneof![1 => Just(Value::Null), 9 => some].boxed()
}

fn floats() -> impl Strategy<Value = f32> {
    let odd = [0.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::MIN, 1.0];
    prop_oneof![
        any::<f32>(),
        any::<u32>().prop_map(f32::from_bits),
        select(odd.to_vec())
    ]
}

fn doubles() -> impl Strategy<Value = f64> {
    let odd = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::MIN, 1.0];
    prop_oneof![
        any::<f64>(),
        any::<u64>().prop_map(f64::from_bits),
        select(odd.to_vec())
    ]
}

fn decimals(precision: u8, scale: u8) -> BoxedStrategy<Value<'static>> {
    let limit = 10i128.pow(u32::from(precision));
    (any::<i128>(), 0..128u32)
        .prop_map(move |(n, shift)| Decimal::new((n >> shift) % limit, scale).unwrap())
        .prop_map(Value::Decimal)
        .boxed()
}

/// Short texts that share beginnings, with zero bytes and characters beyond ASCII.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["[ab\0\u{1}\u{ff}\u{1F600}]{0,6}", "host1[0-9]?", ".{0,12}"]
}

fn dates() -> impl Strategy<Value = Date> {
    let calendar = (0..10_000u16, 0..13u8, 0..32u8)
        .prop_filter_map("no such day", |(year, month, day)| {
            Date::new(year, month, day)
        });
    prop_oneof![1 => Just(Date::ZERO), 1 => Just(Date::MAX), 8 => calendar]
}

fn unit(fsp: u8) -> i64 {
    10i64.pow(6 - u32::from(fsp))
}

fn times(fsp: u8) -> BoxedStrategy<Value<'static>> {
    let most = Time::MICROS_MAX / unit(fsp);
    prop_oneof![-most..=most, -2..2i64]
        .prop_map(move |n| Value::Time(Time::from_micros(n * unit(fsp), fsp).unwrap()))
        .boxed()
}

fn datetimes(fsp: u8) -> BoxedStrategy<Value<'static>> {
    let day = 86_400_000_000 / unit(fsp).unsigned_abs();
    (dates(), prop_oneof![Just(0), 0..day])
        .prop_map(move |(date, n)| Datetime::new(date, n * unit(fsp).unsigned_abs(), fsp))
        .prop_map(|datetime| Value::Datetime(datetime.unwrap()))
        .boxed()
}

fn timestamps(fsp: u8) -> BoxedStrategy<Value<'static>> {
    let (least, most) = (
        Timestamp::MICROS_MIN / unit(fsp),
        Timestamp::MICROS_MAX / unit(fsp),
    );
    prop_oneof![1 => Just(0), 9 => least..=most]
        .prop_map(move |n| Value::Timestamp(Timestamp::from_micros(n * unit(fsp), fsp).unwrap()))
        .boxed()
}

/// Documents, and texts that are none.
fn documents() -> BoxedStrategy<Value<'static>> {
    prop_oneof![
        texts(),
        select(
            &[
                "null",
                "-1",
                "2",
                "10.5",
                "\"a\"",
                "{\"a\": 10}",
                "[9]",
                "[9, 1]",
                "true"
            ][..]
        )
        .prop_map(str::to_owned),
    ]
    .prop_map(|text| Value::Json(text.into()))
    .boxed()
}

/// The order of two values of one type, written without the codec: `NULL` first, the two zeros
/// one, NaN last.
pub(super) fn compare(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    let float = |a: f64, b: f64| {
        a.partial_cmp(&b)
            .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    };
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => float((*a).into(), (*b).into()),
        (Value::Double(a), Value::Double(b)) => float(*a, *b),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Json(a), Value::Json(b)) => json::compare(a, b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.total_micros().cmp(&b.total_micros()),
        (Value::Datetime(a), Value::Datetime(b)) => {
            (a.date(), a.micros_of_day()).cmp(&(b.date(), b.micros_of_day()))
        }
        (Value::Timestamp(a), Value::Timestamp(b)) => a.total_micros().cmp(&b.total_micros()),
        (Value::Year(a), Value::Year(b)) => a.cmp(b),
        (Value::Enum(a), Value::Enum(b)) => a.index.cmp(&b.index),
        _ => panic!("{a:?} and {b:?} are not of one type"),
    }
}

/// The order of two values in a key part.
pub(super) fn compare_in(direction: Direction, a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match direction {
        Direction::Asc => compare(a, b),
        Direction::Desc => compare(b, a),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap();
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// The bytes of hexadecimal digits; spaces between them are for people.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}
