//! The text of key parts and keys: the same in spans, goldens, errors and EXPLAIN.
//!
//! ```text
//!  'alipay'   'it''s'   'two\nlines'   '2024-02-29'   x'00ff'   -7   1.50   NULL
//!  /'alipay'/7        a key of two parts; / alone is the key of none
//! ```
//!
//! Not here: the text of error 1062, which joins the parts with dashes.

use std::fmt::Write as _;

use crate::types::Value;

/// The text of one part.
#[must_use]
pub fn format_part(value: &Value<'_>) -> String {
    let mut out = String::new();
    push_part(&mut out, value);
    out
}

/// The text of a key, or of the first parts of one.
pub fn format_key<'v>(values: impl IntoIterator<Item = &'v Value<'v>>) -> String {
    let mut out = String::new();
    for value in values {
        out.push('/');
        push_part(&mut out, value);
    }
    if out.is_empty() {
        out.push('/');
    }
    out
}

fn push_part(out: &mut String, value: &Value<'_>) {
    match value {
        Value::Null => out.push_str("NULL"),
        Value::Int(number) => push(out, number),
        Value::UInt(number) => push(out, number),
        Value::Float(_) | Value::Double(_) => out.push_str(&value.to_text()),
        Value::Decimal(number) => push(out, number),
        Value::Text(text) | Value::Json(text) => push_quoted(out, text),
        Value::Bytes(bytes) => push_hex(out, bytes),
        Value::Date(date) => push_quoted(out, &date.to_string()),
        Value::Time(time) => push_quoted(out, &time.to_string()),
        Value::Datetime(datetime) => push_quoted(out, &datetime.to_string()),
        Value::Timestamp(timestamp) => push_quoted(out, &timestamp.to_string()),
        Value::Year(year) => push(out, year),
        Value::Enum(member) => push_quoted(out, &member.label),
    }
}

fn push(out: &mut String, number: &impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{number}");
}

/// A string literal of SQL; control bytes that have no escape of their own are shown
/// by number.
fn push_quoted(out: &mut String, text: &str) {
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    out.push_str("x'");
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out.push('\'');
}
