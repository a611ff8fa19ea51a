//! Storing in columns of characters and bytes, `JSON` and `ENUM` among them.

use std::borrow::Cow;
use std::fmt::Write;

use super::{Coerced, Problem, StoreMode, adjusted, exact, noted, shown};
use crate::types::column_type::LobSize;
use crate::types::value::EnumValue;
use crate::types::{Value, json};

/// A value of a dynamic column stays as it is; a member of an `ENUM` is its label.
pub(super) fn to_dynamic<'a>(value: Value<'a>, mode: &StoreMode<'_>) -> Coerced<'a> {
    let value = if let Value::Enum(member) = value {
        Value::Text(member.label)
    } else {
        value
    };
    let bytes = value.as_bytes().map_or(0, <[u8]>::len);
    match too_large(bytes, mode) {
        Some(problem) => adjusted(value, problem),
        None => exact(value),
    }
}

/// The bytes of a value's text, borrowed where it has them.
fn bytes_of<'a>(value: Value<'a>, mode: &StoreMode<'_>) -> Cow<'a, [u8]> {
    match value {
        Value::Bytes(bytes) => bytes,
        Value::Text(text) | Value::Json(text) => into_bytes(text),
        Value::Enum(member) => into_bytes(member.label),
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_) => {
            let mut out = Vec::new();
            value.write_text_in(mode.zone, &mut out);
            Cow::Owned(out)
        }
    }
}

fn into_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// The characters of a value; the problem is bytes that are not UTF-8, from which on it is cut.
fn chars_of<'a>(value: Value<'a>, mode: &StoreMode<'_>) -> (Cow<'a, str>, Option<Problem>) {
    if let Value::Text(text) = value {
        return (text, None);
    }
    match bytes_of(value, mode) {
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), None),
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                (String::from_utf8_lossy(valid), Some(not_utf8(rest)))
            }
        },
        Cow::Owned(bytes) => match String::from_utf8(bytes) {
            Ok(text) => (Cow::Owned(text), None),
            Err(error) => {
                let up_to = error.utf8_error().valid_up_to();
                let (valid, rest) = error.as_bytes().split_at(up_to);
                let text = String::from_utf8_lossy(valid).into_owned();
                (Cow::Owned(text), Some(not_utf8(rest)))
            }
        },
    }
}

/// As MySQL shows it: the first six bytes that are no text.
fn not_utf8(rest: &[u8]) -> Problem {
    const BYTES_SHOWN: usize = 6;
    let mut shown = String::new();
    for &byte in rest.iter().take(BYTES_SHOWN) {
        match byte {
            0x20..0x7f => shown.push(char::from(byte)),
            other => {
                let _ = write!(shown, "\\x{other:02X}");
            }
        }
    }
    if BYTES_SHOWN < rest.len() {
        shown.push_str("...");
    }
    Problem::IncorrectValue {
        wanted: "string",
        shown,
    }
}

fn too_large(bytes: usize, mode: &StoreMode<'_>) -> Option<Problem> {
    let bytes_max = mode.value_bytes_max;
    (bytes_max < bytes).then_some(Problem::ValueTooLarge { bytes, bytes_max })
}

/// The first `len` bytes, borrowed where they were.
fn shortened(text: Cow<'_, str>, len: usize) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..len).unwrap_or(text)),
        Cow::Owned(mut text) => {
            text.truncate(len);
            Cow::Owned(text)
        }
    }
}

/// `CHAR`: spaces at the end are no part of the value, however many they are.
pub(super) fn to_fixed_chars<'a>(
    value: Value<'a>,
    chars_max: u32,
    mode: &StoreMode<'_>,
) -> Coerced<'a> {
    let value = if let Value::Text(text) = value {
        let len = text.trim_end_matches(' ').len();
        Value::Text(shortened(text, len))
    } else if let Value::Bytes(bytes) = value {
        Value::Bytes(without_spaces(bytes))
    } else {
        value
    };
    to_chars(value, Some(chars_max), mode)
}

fn without_spaces(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let last = bytes.iter().rposition(|byte| *byte != b' ');
    let len = last.map_or(0, |last| last + 1);
    match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(..len).unwrap_or_default()),
        Cow::Owned(mut bytes) => {
            bytes.truncate(len);
            Cow::Owned(bytes)
        }
    }
}

/// `CHAR` and `VARCHAR`: at most so many characters; more spaces than fit are cut off with a note.
pub(super) fn to_chars<'a>(
    value: Value<'a>,
    chars_max: Option<u32>,
    mode: &StoreMode<'_>,
) -> Coerced<'a> {
    let (text, problem) = chars_of(value, mode);
    let limit = chars_max
        .and_then(|most| usize::try_from(most).ok())
        .unwrap_or(usize::MAX);
    // A text of few bytes has few characters: most are never counted.
    let cut = if text.len() <= limit {
        None
    } else {
        text.char_indices().nth(limit)
    };
    if let Some((len, _)) = cut {
        let only_spaces = text.bytes().skip(len).all(|b| b == b' ');
        let kept = shortened(text, len);
        if let Some(problem) = too_large(kept.len(), mode) {
            return adjusted(Value::Text(kept), problem);
        }
        return match problem {
            Some(problem) => adjusted(Value::Text(kept), problem),
            None if only_spaces => noted(Value::Text(kept), Problem::Truncated),
            None => adjusted(Value::Text(kept), Problem::TooLong),
        };
    }
    match too_large(text.len(), mode).or(problem) {
        Some(problem) => adjusted(Value::Text(text), problem),
        None => exact(Value::Text(text)),
    }
}

/// The `TEXT` family: at most so many bytes, cut between characters.
pub(super) fn to_text_lob<'a>(
    value: Value<'a>,
    size: LobSize,
    mode: &StoreMode<'_>,
) -> Coerced<'a> {
    let (text, problem) = chars_of(value, mode);
    let limit = usize::try_from(size.bytes_max()).unwrap_or(usize::MAX);
    if text.len() <= limit {
        return match too_large(text.len(), mode).or(problem) {
            Some(problem) => adjusted(Value::Text(text), problem),
            None => exact(Value::Text(text)),
        };
    }
    let len = text.floor_char_boundary(limit);
    let kept = shortened(text, len);
    let problem = too_large(kept.len(), mode).unwrap_or(Problem::TooLong);
    adjusted(Value::Text(kept), problem)
}

/// `VARBINARY` and the `BLOB` family: at most so many bytes.
pub(super) fn to_bytes<'a>(
    value: Value<'a>,
    bytes_max: Option<u64>,
    mode: &StoreMode<'_>,
) -> Coerced<'a> {
    let bytes = bytes_of(value, mode);
    let limit = bytes_max
        .and_then(|most| usize::try_from(most).ok())
        .unwrap_or(usize::MAX);
    let is_too_long = limit < bytes.len();
    let kept = match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(..limit).unwrap_or(bytes)),
        Cow::Owned(mut bytes) => {
            bytes.truncate(limit);
            Cow::Owned(bytes)
        }
    };
    let problem = too_large(kept.len(), mode).or(is_too_long.then_some(Problem::TooLong));
    match problem {
        Some(problem) => adjusted(Value::Bytes(kept), problem),
        None => exact(Value::Bytes(kept)),
    }
}

/// `BINARY(n)`: exactly so many bytes, zeros where the value has none.
pub(super) fn to_binary<'a>(value: Value<'a>, bytes: u32, mode: &StoreMode<'_>) -> Coerced<'a> {
    let Coerced { value, adjustment } = to_bytes(value, Some(u64::from(bytes)), mode);
    let width = usize::try_from(bytes).unwrap_or(usize::MAX);
    let is_short = value.as_bytes().is_some_and(|bytes| bytes.len() < width);
    if is_short && adjustment.is_none() {
        let mut padded = bytes_of(value, mode).into_owned();
        padded.resize(width, 0);
        return match too_large(width, mode) {
            Some(problem) => adjusted(Value::Bytes(Cow::Owned(padded)), problem),
            None => exact(Value::Bytes(Cow::Owned(padded))),
        };
    }
    Coerced { value, adjustment }
}

/// `JSON`: texts are read, everything else becomes a JSON scalar.
pub(super) fn to_json<'a>(value: Value<'a>, mode: &StoreMode<'_>) -> Result<Coerced<'a>, Problem> {
    let text = match value {
        Value::Json(text) => text,
        Value::Text(_) | Value::Bytes(_) => {
            let (text, problem) = chars_of(value, mode);
            if let Some(problem) = problem {
                return Err(problem);
            }
            let normal = json::normalize(&text).map_err(|bad| match bad {
                json::InvalidJson::Malformed { reason, at } => Problem::InvalidJson { reason, at },
                json::InvalidJson::TooDeep => Problem::JsonTooDeep,
            })?;
            Cow::Owned(normal)
        }
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Decimal(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Year(_) => chars_of(value, mode).0,
        Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Enum(_) => {
            let mut quoted = String::new();
            json::write_string(&chars_of(value, mode).0, &mut quoted);
            Cow::Owned(quoted)
        }
    };
    Ok(match too_large(text.len(), mode) {
        Some(problem) => adjusted(Value::Json(text), problem),
        None => exact(Value::Json(text)),
    })
}

/// `ENUM`: a label, or a position from 1 as a number or its text. A member of another `ENUM` goes by its label alone.
pub(super) fn to_enum(
    value: &Value<'_>,
    labels: &[Box<str>],
    mode: &StoreMode<'_>,
) -> Coerced<'static> {
    let is_number = matches!(
        value,
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_)
    );
    if !is_number {
        let (text, _) = chars_of(value.borrow(), mode);
        let wanted = text.trim_end_matches(' ');
        let found = labels
            .iter()
            .position(|label| label.trim_end_matches(' ') == wanted);
        if let Some(member) = found.and_then(|idx| member(labels, idx + 1)) {
            return exact(member);
        }
    }
    let error_member = Value::Enum(EnumValue {
        index: 0,
        label: Cow::Borrowed(""),
    });
    if let Value::Enum(other) = value {
        return match other.index {
            0 => exact(error_member),
            _ => adjusted(error_member, Problem::Truncated),
        };
    }
    let number = value.to_i128();
    let position = usize::try_from(number.value)
        .ok()
        .filter(|_| !number.is_truncated);
    let chosen = position
        .filter(|&position| position != 0)
        .and_then(|p| member(labels, p));
    match chosen {
        Some(member) => exact(member),
        None => adjusted(error_member, Problem::Truncated),
    }
}

/// The member at a position that counts from 1.
fn member(labels: &[Box<str>], position: usize) -> Option<Value<'static>> {
    let label = labels.get(position.checked_sub(1)?)?;
    let index = u16::try_from(position).ok()?;
    Some(Value::Enum(EnumValue {
        index,
        label: Cow::Owned(label.to_string()),
    }))
}

/// The problem of a value that is no calendar value; here because it shows text.
pub(super) fn incorrect_time(
    value: &Value<'_>,
    wanted: &'static str,
    mode: &StoreMode<'_>,
) -> Problem {
    Problem::IncorrectTime {
        wanted,
        shown: shown(value, mode),
    }
}
