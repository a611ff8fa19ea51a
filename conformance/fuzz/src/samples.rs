//! Column types, and a value of each.

use std::borrow::Cow;
use std::sync::LazyLock;

use meseta::types::column_type::{IntWidth, LobSize};
use meseta::types::value::EnumValue;
use meseta::types::{ColumnType, Date, Datetime, Decimal, Time, Timestamp, Value};

/// One type of every kind that a column or a key can have.
pub static TYPES: LazyLock<Vec<ColumnType>> = LazyLock::new(|| {
    let int = |width, unsigned| ColumnType::Int { width, unsigned };
    let labels = ["red", "green"].map(Box::from);
    vec![
        ColumnType::Null,
        ColumnType::Boolean,
        int(IntWidth::Tiny, false),
        int(IntWidth::Int, true),
        ColumnType::BIGINT,
        ColumnType::BIGINT_UNSIGNED,
        ColumnType::Float,
        ColumnType::Double,
        ColumnType::Decimal {
            precision: 5,
            scale: 2,
        },
        ColumnType::Decimal {
            precision: 38,
            scale: 30,
        },
        ColumnType::Char { chars_max: 4 },
        ColumnType::VARCHAR,
        ColumnType::Text(LobSize::Tiny),
        ColumnType::Binary { bytes: 4 },
        ColumnType::Varbinary { bytes_max: None },
        ColumnType::Blob(LobSize::Long),
        ColumnType::Date,
        ColumnType::Time { fsp: 0 },
        ColumnType::Time { fsp: 6 },
        ColumnType::Datetime { fsp: 0 },
        ColumnType::Datetime { fsp: 6 },
        ColumnType::Timestamp { fsp: 0 },
        ColumnType::Timestamp { fsp: 3 },
        ColumnType::Year,
        ColumnType::Json,
        ColumnType::Enum(labels.into()),
    ]
});

/// Which value of a type.
#[derive(Debug, Clone, Copy)]
pub enum Sample {
    /// An ordinary one.
    Usual,
    /// The least one.
    Least,
    /// The greatest one.
    Greatest,
    /// `NULL`.
    Null,
}

/// A value as a column of the type would hold it.
pub fn value(sample: Sample, ty: &ColumnType) -> Value<'static> {
    let pick = |usual, least, greatest| match sample {
        Sample::Usual | Sample::Null => usual,
        Sample::Least => least,
        Sample::Greatest => greatest,
    };
    if matches!(sample, Sample::Null) {
        return Value::Null;
    }
    match ty {
        ColumnType::Null | ColumnType::Dynamic => Value::Null,
        ColumnType::Boolean | ColumnType::Int { .. } => integer(ty, pick(0, 1, 2)),
        ColumnType::Float => Value::Float([1.5, f32::MIN, f32::MAX][pick(0, 1, 2)]),
        ColumnType::Double => Value::Double([-0.25, f64::MIN, f64::MAX][pick(0, 1, 2)]),
        ColumnType::Decimal { precision, scale } => {
            let most = Decimal::max_of(*precision, *scale);
            let number = [1, -most.coefficient(), most.coefficient()][pick(0, 1, 2)];
            Value::Decimal(Decimal::new(number, *scale).expect("has few enough digits"))
        }
        ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text(_) => {
            let text = ["12é\u{1F600}", "", "\u{10FFFF}\0%_\\"][pick(0, 1, 2)];
            Value::Text(Cow::Borrowed(text))
        }
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob(_) => {
            let bytes: &[u8] = [&b"ab\0\xff"[..], b"", b"\xff\xff\xff\xff"][pick(0, 1, 2)];
            Value::Bytes(Cow::Borrowed(bytes))
        }
        ColumnType::Date => Value::Date([date(2024, 2, 29), Date::ZERO, Date::MAX][pick(0, 1, 2)]),
        ColumnType::Time { fsp } => {
            let micros = [45_296_000_000, i64::MIN / 2, i64::MAX / 2][pick(0, 1, 2)];
            Value::Time(Time::clipped(micros, *fsp).0)
        }
        ColumnType::Datetime { fsp } => {
            let date = [date(2024, 2, 29), Date::ZERO, Date::MAX][pick(0, 1, 2)];
            let micros = [45_296_000_000, 0, 86_399_000_000][pick(0, 1, 2)];
            Value::Datetime(Datetime::new(date, micros, *fsp).expect("is a time of a day"))
        }
        ColumnType::Timestamp { fsp } => {
            let micros = [1_700_000_000_000_000, 0, 253_402_300_799_000_000][pick(0, 1, 2)];
            Value::Timestamp(Timestamp::from_micros(micros, *fsp).unwrap_or(Timestamp::ZERO))
        }
        ColumnType::Year => Value::Year([2024, 0, 2155][pick(0, 1, 2)]),
        ColumnType::Json => {
            let text = [r#"{"a": [1, "x"]}"#, "null", "[]"][pick(0, 1, 2)];
            Value::Json(Cow::Borrowed(text))
        }
        ColumnType::Enum(labels) => {
            let index = [1, 0, labels.len()][pick(0, 1, 2)];
            let label = index.checked_sub(1).and_then(|idx| labels.get(idx));
            let label = label.map_or(String::new(), |label| label.to_string());
            let index = u16::try_from(index).expect("there are few labels");
            Value::Enum(EnumValue {
                index,
                label: Cow::Owned(label),
            })
        }
    }
}

fn integer(ty: &ColumnType, position: usize) -> Value<'static> {
    let (least, greatest) = ty.int_range().expect("is an integer type");
    let number = [7, least, greatest][position];
    if ty.is_unsigned() {
        return Value::UInt(u64::try_from(number).expect("is in range"));
    }
    Value::Int(i64::try_from(number).expect("is in range"))
}

fn date(year: u16, month: u8, day: u8) -> Date {
    Date::new(year, month, day).expect("is a date")
}
