//! JSON in sort keys and group keys: in the order of [`json::compare`], documents that are equal by it as one key.
//!
//! ```text
//!   2b, then a value:
//!   null        01
//!   number      as one of a dynamic column: 1 and 1.0 are one
//!   string      as text
//!   object      40, how many members as an integer; for each, in MySQL's order, its name as text and its value
//!   array       41, the values, 00
//!   false       50
//!   true        51
//!   bad text    60, the text, as text: no document, which a sound server does not hold
//! ```
//!
//! What is handed on rather than compared is the text itself: see [`encode_text`].

use std::borrow::Cow;

use serde_json::{Map, Number, Value as Json};

use super::cursor::Cursor;
use super::{Corrupt, compact, dynamic, escaped, tag, utf8};
use crate::types::{Value, json};

/// Behind the last value of an array; before every value.
const END: u8 = 0x00;
const OBJECT: u8 = 0x40;
const ARRAY: u8 = 0x41;
const FALSE: u8 = 0x50;
const TRUE: u8 = 0x51;
const BAD_TEXT: u8 = 0x60;

/// Appends a document to be compared.
pub(super) fn encode(out: &mut Vec<u8>, text: &str) {
    out.push(tag::JSON);
    match json::parse(text) {
        Ok(json) => put(out, &json),
        Err(_) => escaped::encode(out, BAD_TEXT, text.as_bytes()),
    }
}

/// Appends a document to be read again, not to be compared: its text, in which `1` and `1.0` differ.
pub(super) fn encode_text(out: &mut Vec<u8>, text: &str) {
    escaped::encode(out, tag::JSON_TEXT, text.as_bytes());
}

fn put(out: &mut Vec<u8>, json: &Json) {
    match json {
        Json::Null => out.push(tag::NULL),
        Json::Bool(false) => out.push(FALSE),
        Json::Bool(true) => out.push(TRUE),
        Json::Number(number) => dynamic::encode(out, &json::number(number)),
        Json::String(text) => escaped::encode(out, tag::TEXT, text.as_bytes()),
        Json::Array(items) => {
            out.push(ARRAY);
            for item in items {
                put(out, item);
            }
            out.push(END);
        }
        Json::Object(members) => {
            out.push(OBJECT);
            let count = i128::try_from(members.len()).unwrap_or(i128::MAX);
            compact::encode(out, count, tag::INTEGER);
            for (name, member) in json::in_order(members) {
                escaped::encode(out, tag::TEXT, name.as_bytes());
                put(out, member);
            }
        }
    }
}

/// The document behind a tag: the one that was written, or one equal to it. `None` for bytes that
/// [`encode`] and [`encode_text`] do not make.
pub(super) fn decode<'a>(cursor: &mut Cursor<'a>, tag: u8) -> Result<Option<Value<'a>>, Corrupt> {
    if tag == tag::JSON_TEXT {
        return Ok(utf8(escaped::decode(cursor)?).map(Value::Json));
    }
    let start = *cursor;
    let kind = cursor.byte()?;
    if kind == BAD_TEXT {
        let text = utf8(escaped::decode(cursor)?).filter(|text| json::parse(text).is_err());
        return Ok(text.map(Value::Json));
    }
    let Some(json) = value(cursor, kind, json::DEPTH_MAX)? else {
        return Ok(None);
    };
    // A document has one form.
    let mut again = Vec::new();
    put(&mut again, &json);
    let taken = start.rest().iter().take(cursor.at() - start.at());
    if !taken.map(|byte| byte ^ start.mask()).eq(again) {
        return Ok(None);
    }
    let mut text = String::new();
    json::write_normal(&json, &mut text);
    Ok(Some(Value::Json(Cow::Owned(text))))
}

fn value(cursor: &mut Cursor<'_>, kind: u8, depth_left: usize) -> Result<Option<Json>, Corrupt> {
    let Some(depth_left) = depth_left.checked_sub(1) else {
        return Ok(None);
    };
    Ok(match kind {
        tag::NULL => Some(Json::Null),
        FALSE => Some(Json::Bool(false)),
        TRUE => Some(Json::Bool(true)),
        tag::NUMBER => dynamic::decode(cursor, kind)?.and_then(|number| number_of(&number)),
        tag::TEXT => string(cursor)?.map(Json::String),
        ARRAY => array(cursor, depth_left)?,
        OBJECT => object(cursor, depth_left)?,
        _ => None,
    })
}

/// A number as it is read of a text: whole if it is one of 64 bits.
fn number_of(number: &Value<'_>) -> Option<Json> {
    let number = match number {
        Value::Int(whole) => Some(Number::from(*whole)),
        Value::UInt(whole) => Some(Number::from(*whole)),
        Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            Number::from_f64(number.to_f64().value)
        }
        Value::Null
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_)
        | Value::Json(_)
        | Value::Enum(_) => None,
    };
    number.map(Json::Number)
}

fn string(cursor: &mut Cursor<'_>) -> Result<Option<String>, Corrupt> {
    Ok(utf8(escaped::decode(cursor)?).map(Cow::into_owned))
}

fn array(cursor: &mut Cursor<'_>, depth_left: usize) -> Result<Option<Json>, Corrupt> {
    let mut items = Vec::new();
    loop {
        let kind = cursor.byte()?;
        if kind == END {
            return Ok(Some(Json::Array(items)));
        }
        let Some(item) = value(cursor, kind, depth_left)? else {
            return Ok(None);
        };
        items.push(item);
    }
}

fn object(cursor: &mut Cursor<'_>, depth_left: usize) -> Result<Option<Json>, Corrupt> {
    let count_tag = cursor.byte()?;
    let count = compact::decode_any(cursor, count_tag, tag::INTEGER)?;
    let mut members = Map::new();
    for _ in 0..count {
        if cursor.byte()? != tag::TEXT {
            return Ok(None);
        }
        let Some(name) = string(cursor)? else {
            return Ok(None);
        };
        let kind = cursor.byte()?;
        let Some(member) = value(cursor, kind, depth_left)? else {
            return Ok(None);
        };
        members.insert(name, member);
    }
    Ok(Some(Json::Object(members)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Direction, decode_part, encode_part, encode_shown, skip_part};
    use super::*;
    use crate::types::ColumnType;

    fn key(text: &str, direction: Direction) -> Vec<u8> {
        let mut out = Vec::new();
        let value = Value::Json(Cow::Borrowed(text));
        encode_part(&mut out, &value, &ColumnType::Json, direction).unwrap();
        out
    }

    fn documents() -> impl Strategy<Value = String> {
        let number = prop_oneof![
            (-3i64..4).prop_map(Json::from),
            (-3i32..4).prop_map(|n| Json::from(f64::from(n))),
            (-30i32..30).prop_map(|n| Json::from(f64::from(n) / 10.0)),
            any::<i64>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
        ];
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            number,
            "[ab\0\u{1}é]{0,3}".prop_map(Json::String),
        ];
        let json = leaf.prop_recursive(3, 12, 3, |inner| {
            let members = proptest::collection::btree_map("[ab]{0,2}", inner.clone(), 0..3);
            prop_oneof![
                proptest::collection::vec(inner, 0..3).prop_map(Json::Array),
                members.prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        });
        json.prop_map(|json| {
            let mut text = String::new();
            json::write_normal(&json, &mut text);
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn keys_order_as_documents_do(a in documents(), b in documents()) {
            let found = key(&a, Direction::Asc).cmp(&key(&b, Direction::Asc));
            prop_assert_eq!(found, json::compare(&a, &b), "{} {}", a, b);
            let turned = key(&a, Direction::Desc).cmp(&key(&b, Direction::Desc));
            prop_assert_eq!(turned, found.reverse());
        }

        #[test]
        fn keys_give_an_equal_document_back(text in documents(), is_desc: bool) {
            let direction = Direction::of(is_desc);
            let mut bytes = key(&text, direction);
            bytes.push(7);
            let (found, rest) = decode_part(&bytes, &ColumnType::Json, direction).unwrap();
            prop_assert_eq!(rest, &[7][..]);
            let rest = skip_part(&bytes, &ColumnType::Json, direction).unwrap();
            prop_assert_eq!(rest, &[7][..]);
            prop_assert!(json::compare(&found.to_text(), &text).is_eq(), "{:?} {}", found, text);
            prop_assert_eq!(key(&found.to_text(), direction), key(&text, direction));
        }

        #[test]
        fn what_is_shown_is_the_same_text(text in documents()) {
            let value = Value::Json(Cow::Borrowed(&*text));
            for ty in [ColumnType::Json, ColumnType::Dynamic] {
                let mut bytes = Vec::new();
                encode_shown(&mut bytes, &value, &ty).unwrap();
                let (found, rest) = decode_part(&bytes, &ty, Direction::Asc).unwrap();
                prop_assert_eq!((&*found.to_text(), rest), (&*text, &[][..]));
            }
        }

        #[test]
        fn any_bytes_are_a_document_or_damage(
            bytes in proptest::collection::vec(prop_oneof![0x3Fu8..0x42, any::<u8>()], 0..40),
        ) {
            let bytes = [&[tag::JSON][..], &bytes].concat();
            let decoded = decode_part(&bytes, &ColumnType::Json, Direction::Asc);
            let skipped = skip_part(&bytes, &ColumnType::Json, Direction::Asc);
            prop_assert_eq!(skipped.ok(), decoded.ok().map(|(_, rest)| rest));
        }
    }

    #[test]
    fn documents_that_are_too_deep_are_damage() {
        let mut bytes = vec![tag::JSON];
        bytes.resize(100_000, ARRAY);
        assert!(decode_part(&bytes, &ColumnType::Json, Direction::Asc).is_err());
    }
}
