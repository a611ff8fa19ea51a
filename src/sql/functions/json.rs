//! Functions of `JSON`, and casts to it. Values are normalised texts: see `types/json`.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value as Json;

use super::super::context::EvalContext;
use super::super::eval::convert;
use super::growing::Growing;
use super::json_path::Path;
use super::{
    ASKED_BYTES_MIN, Call, DRIPPED_BYTES_MIN, Room, code, of_count, of_text, result, room,
    text_bytes,
};
use crate::ceiling::{self, Held};
use crate::error::{Code, Error, Result};
use crate::types::Value;
use crate::types::json::{
    DEPTH_MAX, InvalidJson, TOO_DEEP, compare, depth, in_order, normalize, of_double, parse,
    write_normal, write_string,
};
use crate::types::temporal::FSP_MAX;

functions! {
    /// JSON.
    TABLE of Json:
    "JSON_VALID" 1..1 "a" result::int, AnyArgument, Constant, Strict(valid), "1 when the text is JSON, else 0.";
    "JSON_EXTRACT" 2..many "doc, path, ..." result::json, Always, Constant, Strict(extract), "What the paths find in the document.";
    "JSON_UNQUOTE" 1..1 "a" result::text, Always, Constant, Strict(unquote), "The text of a JSON string, else the JSON itself.";
    "JSON_QUOTE" 1..1 "str" result::text, AnyArgument, Constant, Strict(quote), "The text as a JSON string.";
    "JSON_TYPE" 1..1 "doc" result::text, Always, Constant, Strict(type_name), "The name of the JSON value's type.";
    "JSON_LENGTH" 1..2 "doc [, path]" result::int, Always, Constant, Strict(length), "How many members the document, or what a path finds in it, has.";
    "JSON_KEYS" 1..2 "doc [, path]" result::json, Always, Constant, Strict(keys), "The names of the object's members.";
    "JSON_ARRAY" 0..many "[a, ...]" result::json, Never, Constant, Eager(array), "An array of the arguments.";
    "JSON_OBJECT" 0..many "[name, value, ...]" result::json, Never, Constant, Eager(object), "An object of names and values by turns.";
}

/// What a document takes in memory for each byte of its text, at most: a list of digits.
const BYTES_PER_BYTE: usize = 24;

/// The same of one that is a string: what it is put together in, which grows to its length, and the string.
const BYTES_PER_STRING_BYTE: usize = 4;

/// Steps of reading a byte of a text, and of comparing what it has become.
const STEPS_PER_BYTE: usize = 64;

/// What the JSON text of a binary string takes for each of its bytes: four letters for three, in lines, with what
/// is before them, in quotes; the second has grown to its length.
const BYTES_PER_BINARY_BYTE: usize = 6;

/// What a letter of a text becomes in quotes, at most: `\u0001`.
const QUOTED_BYTES_PER_BYTE: usize = 6;

/// The document in the argument at `idx`.
///
/// # Errors
/// 3141 for a text that is not JSON, 3157 for one that is nested too deeply, 3144 for bytes, 3146 for what is no text.
pub(super) fn document(values: &[Value<'_>], idx: usize, call: &Call<'_>) -> Result<Json> {
    let name = || {
        call.function
            .name
            .to_ascii_lowercase()
            .replace("_of", " of")
    };
    let value = Call::arg(values, idx);
    match value {
        Value::Text(_) | Value::Json(_) | Value::Enum(_) => {}
        Value::Bytes(_) => return Err(of_bytes()),
        _ => {
            let text = format!(
                "Invalid data type for JSON data in argument {} to function {}; a JSON string or \
                 JSON type is required.",
                idx + 1,
                name()
            );
            return Err(Error::new(Code::InvalidTypeForJson, text));
        }
    }
    let text = convert::text(value, call.ctx);
    let _held = hold(&text)?;
    parse(&text).map_err(|bad| {
        invalid(
            &format!("argument {} to function {}", idx + 1, name()),
            &bad,
        )
    })
}

/// Asks for the memory of a document that is not short: counted as taken until what this gives is dropped,
/// which is when the document has been read. Reading a large one takes longer than what is only asked for
/// counts.
///
/// # Errors
/// 1041 when the process has none for it.
pub(super) fn hold(text: &str) -> Result<Option<Held>> {
    if text.len() < ASKED_BYTES_MIN {
        return Ok(None);
    }
    let bytes_per_byte = if text.starts_with('"') {
        BYTES_PER_STRING_BYTE
    } else {
        BYTES_PER_BYTE
    };
    let bytes = text.len().saturating_mul(bytes_per_byte);
    ceiling::hold("a JSON document", bytes).map(Some)
}

/// Asks, before the first of several documents is read, whether there is memory for one that is made of them all:
/// each is asked for again when it is read, and the others are there then.
///
/// # Errors
/// As [`hold`].
pub(super) fn admit_all(values: &[Value<'_>]) -> Result<()> {
    let text_bytes = text_bytes(values);
    if text_bytes < ASKED_BYTES_MIN || values.len() < 2 {
        return Ok(());
    }
    let bytes = text_bytes.saturating_mul(BYTES_PER_BYTE);
    drop(ceiling::hold("a JSON document", bytes)?);
    Ok(())
}

/// 3141, or 3157 for one that is nested too deeply.
pub(super) fn invalid(place: &str, bad: &InvalidJson) -> Error {
    match bad {
        InvalidJson::Malformed { reason, at } => {
            let text = format!("Invalid JSON text in {place}: \"{reason}\" at position {at}.");
            Error::new(Code::InvalidJsonArgument, text)
        }
        InvalidJson::TooDeep => Error::new(Code::JsonTooDeep, TOO_DEEP),
    }
}

/// The document as a value.
///
/// # Errors
/// 3157 when it is nested too deeply.
pub(super) fn of_json<'a>(json: &Json) -> Result<Value<'a>> {
    check_depth(depth(json))?;
    Ok(Value::Json(Cow::Owned(text_of_json(json))))
}

fn check_depth(depth: usize) -> Result<()> {
    if DEPTH_MAX < depth {
        return Err(Error::new(Code::JsonTooDeep, TOO_DEEP));
    }
    Ok(())
}

/// The normal form of a document.
pub(super) fn text_of_json(json: &Json) -> String {
    let mut text = String::new();
    write_normal(json, &mut text);
    text
}

/// Whether the argument at `idx` of a function becomes a part of a document.
pub(crate) fn takes_value(name: &str, idx: usize) -> bool {
    match name {
        "JSON_ARRAY" => true,
        "MEMBER_OF" => idx == 0,
        "JSON_OBJECT" => !idx.is_multiple_of(2),
        "JSON_SET" | "JSON_INSERT" | "JSON_REPLACE" | "JSON_ARRAY_APPEND" | "JSON_ARRAY_INSERT" => {
            idx != 0 && idx.is_multiple_of(2)
        }
        _ => false,
    }
}

/// An SQL value as a part of a document: texts are strings.
///
/// # Errors
/// 3141 when a stored document is damaged, 1041 when the process has no memory for it.
pub(super) fn value_of(value: &Value<'_>, ctx: &EvalContext) -> Result<Json> {
    let text = text_of(value, ctx)?;
    let _held = hold(&text)?;
    parse(&text).map_err(|bad| invalid("a value", &bad))
}

/// `CAST(value AS JSON)`: texts are read, other values become JSON scalars.
///
/// # Errors
/// 3141 for a text that is not JSON, 3157 for one that is nested too deeply, 1041 when the process has no memory
/// for it.
pub(crate) fn cast<'a>(value: Value<'a>, ctx: &EvalContext) -> Result<Value<'a>> {
    match &value {
        Value::Json(_) | Value::Null => Ok(value),
        Value::Text(text) => {
            let _held = hold(text)?;
            let normal = normalize(text);
            let normal =
                normal.map_err(|bad| invalid("argument 1 to function cast_as_json", &bad))?;
            Ok(Value::Json(Cow::Owned(normal)))
        }
        other => Ok(Value::Json(Cow::Owned(text_of(other, ctx)?))),
    }
}

/// The JSON text that holds an SQL value: a number, `null`, or a string.
///
/// # Errors
/// 1041 when the process has no memory for it.
pub(crate) fn text_of(value: &Value<'_>, ctx: &EvalContext) -> Result<String> {
    let _room = room_of_text(made_bytes(value))?;
    Ok(match value {
        Value::Null => "null".to_owned(),
        Value::Json(text) => text.clone().into_owned(),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Year(_) => {
            convert::text(value, ctx).into_owned()
        }
        Value::Float(_) | Value::Double(_) => of_double(convert::text(value, ctx)).into_owned(),
        Value::Bytes(bytes) => quoted(&format!("base64:type253:{}", code::base64_of(bytes))),
        // Times show all digits after the second.
        Value::Time(time) => quoted(&time.with_fsp(FSP_MAX).unwrap_or(*time).to_string()),
        Value::Datetime(at) => quoted(&at.with_fsp(FSP_MAX).unwrap_or(*at).to_string()),
        Value::Timestamp(at) => {
            let at = ctx.zone.to_datetime(*at);
            quoted(&at.with_fsp(FSP_MAX).unwrap_or(at).to_string())
        }
        Value::Text(_) | Value::Date(_) | Value::Enum(_) => quoted(&convert::text(value, ctx)),
    })
}

/// How two documents lie to each other.
///
/// # Errors
/// 1041 when the process has no memory to read them; those whose texts are the same are not read.
pub(crate) fn order(a: &str, b: &str, ctx: &EvalContext) -> Result<Ordering> {
    if a == b {
        return Ok(Ordering::Equal);
    }
    let _held = (hold(a)?, hold(b)?);
    let bytes = a.len().saturating_add(b.len());
    let steps = bytes.saturating_mul(STEPS_PER_BYTE);
    ctx.at_length(steps, || Ok(compare(a, b)))
}

fn room_of_text(bytes: usize) -> Result<Room> {
    room(bytes, || "a JSON text".to_owned())
}

/// Bytes that making the JSON text of a value takes; 0 where they do not matter.
fn made_bytes(value: &Value<'_>) -> usize {
    match value {
        Value::Text(text) if text.len() < DRIPPED_BYTES_MIN / QUOTED_BYTES_PER_BYTE => 0,
        Value::Text(text) => quoted_bytes(text),
        Value::Json(text) => text.len(),
        Value::Bytes(bytes) => bytes.len().saturating_mul(BYTES_PER_BINARY_BYTE),
        _ => 0,
    }
}

/// Bytes of a text in quotes, or a few more.
fn quoted_bytes(text: &str) -> usize {
    let bytes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | 8 | 9 | 10 | 12 | 13 => 2,
        0..0x20 => 6,
        _ => 1,
    });
    bytes.sum::<usize>() + "\"\"".len()
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(quoted_bytes(text));
    write_string(text, &mut out);
    out
}

fn valid<'a>(values: &[Value<'a>], _: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::boolean(match Call::arg(values, 0) {
        Value::Json(_) => true,
        Value::Text(text) => {
            let _held = hold(text)?;
            parse(text).is_ok()
        }
        _ => false,
    }))
}

fn extract<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let document = document(values, 0, call)?;
    let mut found = Vec::new();
    let mut is_plural = 2 < values.len();
    for idx in 1..values.len() {
        let path = Path::parse(&call.text(values, idx))?;
        is_plural |= path.is_plural();
        found.extend(path.find(&document, call.ctx)?);
    }
    match found.as_slice() {
        [] => Ok(Value::Null),
        [only] if !is_plural => of_json(only),
        several => array_of(several, call),
    }
}

/// An array of parts of a document, which can have one in another, or the same again and again.
fn array_of<'a>(cells: &[&Json], call: &Call<'a>) -> Result<Value<'a>> {
    let texts = cells.iter().map(|cell| {
        check_depth(1 + depth(cell))?;
        Ok(text_of_json(cell))
    });
    joined(texts, ["[", "]"], call)
}

/// Texts in brackets, with commas between; `NULL` where they are too long together.
///
/// # Errors
/// Those of the texts; 1041 when the process has no memory for them.
pub(super) fn joined<'a>(
    texts: impl Iterator<Item = Result<String>>,
    [open, close]: [&str; 2],
    call: &Call<'a>,
) -> Result<Value<'a>> {
    let mut out = Growing::new(call);
    let mut fits = out.push(open)?;
    for (idx, text) in texts.enumerate() {
        let between = if idx == 0 { "" } else { ", " };
        fits = fits && out.push(between)? && out.push(&text?)?;
        if !fits {
            return Ok(Value::Null);
        }
    }
    if !out.push(close)? {
        return Ok(Value::Null);
    }
    Ok(Value::Json(Cow::Owned(out.into_text())))
}

/// Bytes have no characters to make JSON of.
fn of_bytes() -> Error {
    let text = "Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
    Error::new(Code::JsonCharset, text)
}

fn not_a_text(function: &str) -> Error {
    let text = format!("Incorrect type for argument 1 in function {function}.");
    Error::new(Code::IncorrectArgumentType, text)
}

fn unquote<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    match Call::arg(values, 0) {
        Value::Text(_) | Value::Enum(_) | Value::Json(_) => {}
        Value::Bytes(_) => return Err(of_bytes()),
        _ => return Err(not_a_text("json_unquote")),
    }
    let text = call.text(values, 0);
    let is_quoted = text.len() >= 2 && text.starts_with('"') && text.ends_with('"');
    if !is_quoted {
        return Ok(of_text(text));
    }
    let unquoted = serde_json::from_str::<String>(&text);
    unquoted.map(of_text).map_err(|error| {
        let place = "argument 1 to function json_unquote";
        invalid(place, &InvalidJson::of(&error, &text))
    })
}

fn quote<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    match Call::arg(values, 0) {
        Value::Text(_) | Value::Enum(_) => {
            let text = call.text(values, 0);
            let Some(_room) = call.fits(Some(quoted_bytes(&text)))? else {
                return Ok(Value::Null);
            };
            Ok(of_text(quoted(&text)))
        }
        Value::Bytes(_) => Err(of_bytes()),
        _ => Err(not_a_text("json_quote")),
    }
}

fn type_name<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::text(match document(values, 0, call)? {
        Json::Null => "NULL",
        Json::Bool(_) => "BOOLEAN",
        Json::Number(number) if number.is_i64() => "INTEGER",
        Json::Number(number) if number.is_u64() => "UNSIGNED INTEGER",
        Json::Number(_) => "DOUBLE",
        Json::String(_) => "STRING",
        Json::Array(_) => "ARRAY",
        Json::Object(_) => "OBJECT",
    }))
}

/// What the path in the second argument finds; the document itself without one.
fn at_path<'j>(
    document: &'j Json,
    values: &[Value<'_>],
    call: &Call<'_>,
) -> Result<Option<&'j Json>> {
    if values.len() < 2 {
        return Ok(Some(document));
    }
    let path = Path::parse_single(&call.text(values, 1))?;
    Ok(path.find(document, call.ctx)?.first().copied())
}

fn length<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let document = document(values, 0, call)?;
    Ok(match at_path(&document, values, call)? {
        None => Value::Null,
        Some(Json::Array(cells)) => of_count(cells.len()),
        Some(Json::Object(members)) => of_count(members.len()),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => Value::Int(1),
    })
}

fn keys<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let document = document(values, 0, call)?;
    let Some(Json::Object(members)) = at_path(&document, values, call)? else {
        return Ok(Value::Null);
    };
    let names = in_order(members).into_iter();
    of_json(&Json::Array(
        names.map(|(name, _)| Json::String(name.clone())).collect(),
    ))
}

fn array<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let cells = values.iter().map(|value| text_of(value, call.ctx));
    joined(cells, ["[", "]"], call)
}

/// Error 3158.
pub(crate) fn null_member() -> Error {
    let text = "JSON documents may not contain NULL member names.";
    Error::new(Code::JsonNullMember, text)
}

fn object<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if !values.len().is_multiple_of(2) {
        let text = "Incorrect parameter count in the call to native function 'json_object'";
        return Err(Error::new(Code::WrongParameterCount, text));
    }
    let members = values.chunks(2).map(|pair| {
        let [name, value] = pair else {
            return Ok(String::new());
        };
        if name.is_null() {
            return Err(null_member());
        }
        let name = text_of(&Value::Text(convert::text(name, call.ctx)), call.ctx)?;
        let value = text_of(value, call.ctx)?;
        let _room = room_of_text(name.len().saturating_add(value.len()))?;
        Ok(format!("{name}: {value}"))
    });
    let Value::Json(text) = joined(members, ["{", "}"], call)? else {
        return Ok(Value::Null);
    };
    let _held = hold(&text)?;
    let normal = normalize(&text).map_err(|bad| invalid("function json_object", &bad))?;
    Ok(Value::Json(Cow::Owned(normal)))
}
