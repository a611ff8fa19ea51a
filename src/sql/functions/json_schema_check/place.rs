//! Places in a schema and in a document, and references from one place of a schema to another.
//!
//! Source: RFC 6901, with its section on fragments of an URI.

use serde_json::Value as Json;

use crate::error::{Error, Result};

/// A place in a document: the way to it, the last step first.
#[derive(Clone, Copy)]
pub(super) enum At<'p> {
    /// `#`, or a place that is spelled out.
    Spelled(&'p str),
    Member(&'p At<'p>, &'p str),
    Cell(&'p At<'p>, usize),
}

impl At<'_> {
    /// The pointer as a fragment of an URI.
    pub(super) fn spell(self) -> String {
        match self {
            At::Spelled(text) => text.to_owned(),
            At::Cell(parent, idx) => format!("{}/{idx}", parent.spell()),
            At::Member(parent, name) => {
                let mut text = parent.spell();
                text.push('/');
                put_token(name, &mut text);
                text
            }
        }
    }
}

/// Appends a step of a pointer as it stands in an URI.
fn put_token(name: &str, out: &mut String) {
    for byte in name.bytes() {
        match byte {
            b'~' => out.push_str("~0"),
            b'/' => out.push_str("~1"),
            b'-' | b'.' | b'_' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => {
                let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
                out.push('%');
                out.push(digit(byte >> 4).to_ascii_uppercase());
                out.push(digit(byte & 15).to_ascii_uppercase());
            }
        }
    }
}

/// The whole document, and what no schema is about.
pub(super) const ROOT: At<'static> = At::Spelled("#");

/// # Errors
/// 1235 for a reference that leads out of the schema, wherever it stands.
pub(in crate::sql::functions) fn check_references(schema: &Json) -> Result<()> {
    match schema {
        Json::Array(cells) => cells.iter().try_for_each(check_references),
        Json::Object(members) => {
            if let Some(Json::String(reference)) = members.get("$ref") {
                own_pointer(reference)
                    .ok_or_else(|| Error::unsupported("references in JSON Schema"))?;
            }
            members.values().try_for_each(check_references)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Ok(()),
    }
}

/// The pointer of a reference into the schema that it stands in; `None` for any other.
pub(super) fn own_pointer(reference: &str) -> Option<String> {
    let fragment = reference.strip_prefix('#')?;
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut half = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (half()?, half()?);
        bytes.push(u8::try_from(high << 4 | low).ok()?);
    }
    let pointer = String::from_utf8(bytes).ok()?;
    (pointer.is_empty() || pointer.starts_with('/')).then_some(pointer)
}

/// A pointer as it stands in an URI.
pub(super) fn respelled(pointer: &str) -> String {
    let mut text = "#".to_owned();
    for token in pointer.split('/').skip(1) {
        text.push('/');
        put_token(&token.replace("~1", "/").replace("~0", "~"), &mut text);
    }
    text
}
