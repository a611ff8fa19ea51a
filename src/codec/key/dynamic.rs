//! Values of dynamic columns in sort keys and group keys: each says its own type.
//!
//! Numbers come first, by what they are worth: `1`, `1.0` and `1e0` are one key. Behind them lie
//! texts, byte strings, documents, dates, times, datetimes and timestamps, in this order. Not in the
//! keys of rows and indexes, whose parts have one type.
//!
//! ```text
//!   number      08, as a DOUBLE (8), the whole part, the fraction in units of 10^-30
//!               08, as a DOUBLE (8), 01     more digits than a DECIMAL has
//!   others      as a part of their type; calendar values with a byte behind them that says how many
//!               digits after the second they have
//! ```

use super::cursor::Cursor;
use super::{Corrupt, compact, escaped, fixed, json, tag, utf8};
use crate::types::decimal::SCALE_MAX;
use crate::types::value::digits_of;
use crate::types::{Date, Datetime, Decimal, Time, Timestamp, Value};

/// Units of a fraction in one.
const UNITS: i128 = 10i128.pow(30);

/// Appends a value, which may be `NULL`.
pub(super) fn encode(out: &mut Vec<u8>, value: &Value<'_>) {
    match value {
        Value::Null => out.push(tag::NULL),
        Value::Int(number) => put_decimal(out, Decimal::from_i64(*number)),
        Value::UInt(number) => put_decimal(out, Decimal::from_u64(*number)),
        Value::Year(year) => put_decimal(out, Decimal::from_u64(u64::from(*year))),
        Value::Decimal(number) => put_decimal(out, *number),
        Value::Float(number) => put_double(out, f64::from(*number)),
        Value::Double(number) => put_double(out, *number),
        Value::Text(text) => escaped::encode(out, tag::TEXT, text.as_bytes()),
        Value::Enum(member) => escaped::encode(out, tag::TEXT, member.label.as_bytes()),
        Value::Bytes(bytes) => escaped::encode(out, tag::BYTES, bytes),
        Value::Json(text) => json::encode(out, text),
        Value::Date(date) => fixed::put(out, tag::DATE, fixed::date_bytes(date.packed())),
        Value::Time(time) => {
            fixed::put(out, tag::TIME, fixed::time_bytes(time.total_micros()));
            out.push(time.fsp());
        }
        Value::Datetime(datetime) => {
            fixed::put(out, tag::DATETIME, datetime.packed().to_be_bytes());
            out.push(datetime.fsp());
        }
        Value::Timestamp(at) => {
            let micros = fixed::timestamp_bytes(at.total_micros());
            fixed::put(out, tag::TIMESTAMP, micros);
            out.push(at.fsp());
        }
    }
}

fn put_double(out: &mut Vec<u8>, number: f64) {
    if let Some(digits) = digits_of(number) {
        return put_parts(out, number, digits);
    }
    fixed::put(out, tag::NUMBER, fixed::double_bytes(number));
    out.push(tag::NULL);
}

fn put_decimal(out: &mut Vec<u8>, number: Decimal) {
    put_parts(out, number.to_f64(), number);
}

fn put_parts(out: &mut Vec<u8>, nearest: f64, number: Decimal) {
    let floor = number.floor();
    let whole = floor.trunc_to_i128();
    let (digits, scale) = (number.coefficient(), number.scale());
    let one = 10i128.pow(u32::from(scale));
    let rest = digits.rem_euclid(one);
    let fraction = rest.saturating_mul(10i128.pow(u32::from(SCALE_MAX.saturating_sub(scale))));
    fixed::put(out, tag::NUMBER, fixed::double_bytes(nearest));
    compact::encode(out, whole, tag::DECIMAL);
    compact::encode(out, fraction, tag::DECIMAL);
}

/// The value behind a tag; `None` for bytes that [`encode`] does not make.
pub(super) fn decode<'a>(cursor: &mut Cursor<'a>, tag: u8) -> Result<Option<Value<'a>>, Corrupt> {
    Ok(match tag {
        tag::NUMBER => number(cursor)?,
        tag::TEXT => utf8(escaped::decode(cursor)?).map(Value::Text),
        tag::BYTES => Some(Value::Bytes(escaped::decode(cursor)?)),
        tag::JSON | tag::JSON_TEXT => json::decode(cursor, tag)?,
        tag::DATE => Date::from_packed(fixed::date_of(cursor.array()?)).map(Value::Date),
        tag::TIME => {
            let micros = fixed::time_of(cursor.array()?);
            Time::from_micros(micros, cursor.byte()?).map(Value::Time)
        }
        tag::DATETIME => {
            let packed = u64::from_be_bytes(cursor.array()?);
            Datetime::from_packed(packed, cursor.byte()?).map(Value::Datetime)
        }
        tag::TIMESTAMP => {
            let micros = fixed::timestamp_of(cursor.array()?);
            Timestamp::from_micros(micros, cursor.byte()?).map(Value::Timestamp)
        }
        _ => None,
    })
}

/// A number in the narrowest variant that is exact.
fn number<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Value<'a>>, Corrupt> {
    let nearest = fixed::double_of(cursor.array()?);
    let part_tag = cursor.byte()?;
    if part_tag == tag::NULL {
        return Ok(nearest.map(Value::Double));
    }
    let whole = compact::decode_any(cursor, part_tag, tag::DECIMAL)?;
    let part_tag = cursor.byte()?;
    let fraction = compact::decode_any(cursor, part_tag, tag::DECIMAL)?;
    if fraction == 0 {
        return Ok(whole_number(whole));
    }
    Ok(with_fraction(whole, fraction).map(Value::Decimal))
}

fn whole_number<'a>(whole: i128) -> Option<Value<'a>> {
    if let Ok(number) = i64::try_from(whole) {
        return Some(Value::Int(number));
    }
    match u64::try_from(whole) {
        Ok(number) => Some(Value::UInt(number)),
        Err(_) => Decimal::new(whole, 0).map(Value::Decimal),
    }
}

fn with_fraction(whole: i128, mut fraction: i128) -> Option<Decimal> {
    if !(0..UNITS).contains(&fraction) {
        return None;
    }
    let mut scale = SCALE_MAX;
    while fraction % 10 == 0 && 0 < scale {
        fraction /= 10;
        scale -= 1;
    }
    let one = 10i128.pow(u32::from(scale));
    Decimal::new(whole.checked_mul(one)?.checked_add(fraction)?, scale)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::super::{Direction, decode_part, encode_part, skip_part};
    use super::*;
    use crate::types::ColumnType;

    fn key(value: &Value<'_>, direction: Direction) -> Vec<u8> {
        let mut out = Vec::new();
        encode_part(&mut out, value, &ColumnType::Dynamic, direction).unwrap();
        out
    }

    fn some_value() -> impl Strategy<Value = Value<'static>> {
        let decimal = (any::<i64>(), 0u8..=30).prop_map(|(digits, scale)| {
            Value::Decimal(Decimal::new(digits.into(), scale).unwrap())
        });
        prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::Int),
            (-3i64..3).prop_map(Value::Int),
            any::<u64>().prop_map(Value::UInt),
            (-40i64..40).prop_map(|n| Value::Decimal(Decimal::new(n.into(), 1).unwrap())),
            decimal,
            any::<f64>()
                .prop_filter("a number", |number| number.is_finite())
                .prop_map(Value::Double),
            (-8i32..8).prop_map(|n| Value::Double(f64::from(n) / 4.0)),
            (-8i32..8).prop_map(|n| Value::Double(f64::from(n) / 10.0)),
            close_number(),
            ".{0,6}".prop_map(|text| Value::Text(Cow::Owned(text))),
            proptest::collection::vec(any::<u8>(), 0..5)
                .prop_map(|bytes| Value::Bytes(Cow::Owned(bytes))),
        ]
    }

    /// Around the whole numbers that a double has no room for.
    fn close_number() -> impl Strategy<Value = Value<'static>> {
        (9_007_199_254_740_990i64..9_007_199_254_741_004, 0u8..4).prop_map(|(whole, kind)| {
            let tenths = Decimal::new(i128::from(whole) * 10 + 5, 1).unwrap();
            match kind {
                0 => Value::Int(whole),
                1 => Value::Decimal(tenths),
                2 => Value::Decimal(Decimal::from_i64(whole)),
                _ => Value::Double(tenths.to_f64()),
            }
        })
    }

    /// The class of a value, in the order of the head of this file.
    fn class(value: &Value<'_>) -> u8 {
        if value.is_null() {
            return 0;
        }
        if value.is_number() {
            return 1;
        }
        2 + u8::from(matches!(value, Value::Bytes(_)))
    }

    proptest! {
        #[test]
        fn keys_order_as_values_do(a in some_value(), b in some_value()) {
            let of_class = class(&a).cmp(&class(&b));
            let wanted = of_class.then_with(|| a.total_cmp(&b));
            let found = key(&a, Direction::Asc).cmp(&key(&b, Direction::Asc));
            prop_assert_eq!(found, wanted);
            let turned = key(&a, Direction::Desc).cmp(&key(&b, Direction::Desc));
            prop_assert_eq!(turned, found.reverse());
        }

        #[test]
        fn keys_give_the_value_back(value in some_value(), is_desc: bool) {
            let direction = Direction::of(is_desc);
            let mut bytes = key(&value, direction);
            bytes.push(7);
            let (found, rest) = decode_part(&bytes, &ColumnType::Dynamic, direction).unwrap();
            prop_assert_eq!(rest, &[7][..]);
            let rest = skip_part(&bytes, &ColumnType::Dynamic, direction).unwrap();
            prop_assert_eq!(rest, &[7][..]);
            // Of a double the key has the digits that tell it from all others.
            let is_same = if let Value::Double(number) = &value {
                found.to_text().parse() == Ok(*number)
            } else {
                found.total_cmp(&value).is_eq()
            };
            prop_assert!(is_same, "{:?} {:?}", found, value);
        }

        #[test]
        fn any_bytes_are_a_value_or_damage(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode_part(&bytes, &ColumnType::Dynamic, Direction::Asc);
            let _ = decode_part(&bytes, &ColumnType::Dynamic, Direction::Desc);
        }
    }
}
