//! Functions that tell how a `JSON` document is built and how much room it takes.
//!
//! Source: MySQL manual, "JSON Utility Functions"; for the sizes, the description of the binary
//! format in MySQL's `sql-common/json_binary.h`. Documents are kept here as texts: the size is the one
//! that MySQL would need, for people who compare.

use serde_json::Value as Json;

use super::json::document;
use super::{Call, of_count, of_text, result};
use crate::error::Result;
use crate::types::Value;
use crate::types::json::{depth, in_order, write_normal, write_string};

functions! {
    /// Build and size of documents.
    TABLE of Json:
    "JSON_DEPTH" 1..1 "doc" result::int, AnyArgument, Constant, Strict(json_depth), "How many levels the document has.";
    "JSON_PRETTY" 1..1 "doc" result::text, AnyArgument, Constant, Strict(pretty), "The document with a line for each part.";
    "JSON_STORAGE_SIZE" 1..1 "doc" result::int, AnyArgument, Constant, Strict(storage_size), "The bytes that MySQL's binary format of the document takes.";
    "JSON_STORAGE_FREE" 1..1 "doc" result::int, AnyArgument, Constant, Strict(storage_free), "The bytes that changes in place have freed: none.";
}

fn json_depth<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_count(depth(&document(values, 0, call)?)))
}

fn storage_free<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    document(values, 0, call)?;
    Ok(Value::Int(0))
}

fn pretty<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let document = document(values, 0, call)?;
    let Some(_room) = call.fits(Some(pretty_bytes(&document, 0)))? else {
        return Ok(Value::Null);
    };
    let mut out = String::new();
    write_pretty(&document, 0, &mut out);
    Ok(of_text(out))
}

/// Blanks of one level.
const INDENT: &str = "  ";

/// Bytes of lines, blanks, signs and texts, at least: a value in many brackets has blanks for each of them.
fn pretty_bytes(json: &Json, level: usize) -> usize {
    let line = 1 + INDENT.len() * level;
    let inside: usize = match json {
        Json::Array(cells) => cells.iter().map(|cell| pretty_bytes(cell, level + 1)).sum(),
        Json::Object(members) => {
            let member = |(name, member): (&String, _)| {
                name.len() + pretty_bytes(member, level + 1) + "\"\": ".len()
            };
            members.iter().map(member).sum()
        }
        Json::String(text) => text.len(),
        Json::Null | Json::Bool(_) | Json::Number(_) => 1,
    };
    line + inside
}

fn write_pretty(json: &Json, level: usize, out: &mut String) {
    let new_line = |level: usize, out: &mut String| {
        out.push('\n');
        out.push_str(&INDENT.repeat(level));
    };
    match json {
        Json::Array(cells) if !cells.is_empty() => {
            out.push('[');
            for (idx, cell) in cells.iter().enumerate() {
                out.push_str(if idx == 0 { "" } else { "," });
                new_line(level + 1, out);
                write_pretty(cell, level + 1, out);
            }
            new_line(level, out);
            out.push(']');
        }
        Json::Object(members) if !members.is_empty() => {
            out.push('{');
            for (idx, (name, member)) in in_order(members).into_iter().enumerate() {
                out.push_str(if idx == 0 { "" } else { "," });
                new_line(level + 1, out);
                write_string(name, out);
                out.push_str(": ");
                write_pretty(member, level + 1, out);
            }
            new_line(level, out);
            out.push('}');
        }
        Json::Null
        | Json::Bool(_)
        | Json::Number(_)
        | Json::String(_)
        | Json::Array(_)
        | Json::Object(_) => write_normal(json, out),
    }
}

/// Bytes that offsets of small documents reach.
const SMALL_BYTES_MAX: usize = 0xFFFF;

fn storage_size<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    // The byte in front tells the type.
    Ok(of_count(1 + value_bytes(&document(values, 0, call)?)))
}

fn value_bytes(json: &Json) -> usize {
    match json {
        Json::Null | Json::Bool(_) => 1,
        Json::Number(number) => number_bytes(number),
        Json::String(text) => text_bytes(text.len()),
        Json::Array(cells) => container_bytes(&cells.iter().collect::<Vec<_>>(), None),
        Json::Object(members) => {
            let names = members.keys().map(String::len).sum();
            container_bytes(&members.values().collect::<Vec<_>>(), Some(names))
        }
    }
}

fn number_bytes(number: &serde_json::Number) -> usize {
    let whole = match (number.as_i64(), number.as_u64()) {
        (Some(whole), _) => i128::from(whole),
        (None, Some(whole)) => i128::from(whole),
        (None, None) => return 8,
    };
    if i16::try_from(whole).is_ok() || u16::try_from(whole).is_ok() {
        2
    } else if i32::try_from(whole).is_ok() || u32::try_from(whole).is_ok() {
        4
    } else {
        8
    }
}

/// A length of seven bits to the byte, and the text.
fn text_bytes(len: usize) -> usize {
    let bits = (usize::BITS - len.leading_zeros()).max(1);
    len + usize::try_from(bits.div_ceil(7)).unwrap_or(0)
}

/// Count and size, an entry for each name and each value, the names, and the values that do not
/// lie in their entries.
fn container_bytes(parts: &[&Json], names_bytes: Option<usize>) -> usize {
    // Once for both, or containers in containers would be gone through twice as often at each level.
    let others = parts.iter().map(|part| match part {
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
        Json::String(_) | Json::Array(_) | Json::Object(_) => value_bytes(part),
    });
    let others: usize = others.sum();
    let sized = |offset_bytes: usize| {
        let name_entries = names_bytes.map_or(0, |_| parts.len() * (offset_bytes + 2));
        let numbers = parts.iter().map(|part| match part {
            Json::Number(number) if number.is_f64() => 8,
            Json::Number(number) => {
                let bytes = number_bytes(number);
                if bytes <= offset_bytes { 0 } else { bytes }
            }
            Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => 0,
        });
        2 * offset_bytes
            + name_entries
            + names_bytes.unwrap_or(0)
            + parts.len() * (1 + offset_bytes)
            + others
            + numbers.sum::<usize>()
    };
    let small = sized(2);
    if small <= SMALL_BYTES_MAX {
        small
    } else {
        sized(4)
    }
}
