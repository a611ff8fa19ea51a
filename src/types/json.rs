//! `JSON` texts: checked, brought into MySQL's normal form, compared.
//!
//! The normal form has object keys sorted by length and then by bytes, the last of equal keys, and
//! `", "` and `": "` between parts (MySQL manual, "The JSON Data Type"). Paths are not here.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use serde_json::{Map, Value as Json};

/// The most levels of arrays and objects, as in MySQL; the parser itself stops at 128.
pub const DEPTH_MAX: usize = 100;

/// What is said of a document with more.
pub const TOO_DEEP: &str = "The JSON document exceeds the maximum depth.";

/// What the parser says of a document that it goes no deeper into.
const STOPPED: &str = "recursion limit exceeded";

/// Why a text is not taken as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidJson {
    /// It is none.
    Malformed {
        /// What is wrong.
        reason: String,
        /// Where, in bytes from the beginning.
        at: usize,
    },
    /// It has more levels than [`DEPTH_MAX`].
    TooDeep,
}

/// What the parser says, and what MySQL says instead.
const REASONS: &[(&str, &str)] = &[
    (
        "EOF while parsing a string",
        "Missing a closing quotation mark in string.",
    ),
    (
        "EOF while parsing a list",
        "Missing a comma or ] after an array element.",
    ),
    (
        "EOF while parsing an object",
        "Missing a comma or } after an object member.",
    ),
    (
        "expected `,` or `]`",
        "Missing a comma or ] after an array element.",
    ),
    (
        "expected `,` or `}`",
        "Missing a comma or } after an object member.",
    ),
    (
        "expected `:`",
        "Missing a colon after a name of object member.",
    ),
    ("key must be a string", "Missing a name for object member."),
    (
        "trailing characters",
        "The document root must not be followed by other values.",
    ),
    ("invalid escape", "Invalid escape character in string."),
    ("control character", "Invalid encoding in string."),
    (
        "number out of range",
        "Number too big to be stored in double.",
    ),
    (
        "lone leading surrogate",
        "The surrogate pair in string is invalid.",
    ),
    (
        "unexpected end of hex escape",
        "The surrogate pair in string is invalid.",
    ),
];

impl InvalidJson {
    /// The parser's error in MySQL's words, with the place in the whole text.
    pub fn of(error: &serde_json::Error, text: &str) -> InvalidJson {
        if text.trim_ascii().is_empty() {
            let reason = "The document is empty.".to_owned();
            return InvalidJson::Malformed { reason, at: 0 };
        }
        let said = error.to_string();
        if said.starts_with(STOPPED) {
            return InvalidJson::TooDeep;
        }
        let lines = text.split_inclusive('\n');
        let before: usize = lines
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum();
        // The end is where it is missed; else it is the character before the column.
        let at = before + error.column().saturating_sub(usize::from(!error.is_eof()));
        if DEPTH_MAX < depth_before(text, at) {
            return InvalidJson::TooDeep;
        }
        let known = REASONS.iter().find(|(theirs, _)| said.starts_with(theirs));
        InvalidJson::Malformed {
            reason: known.map_or("Invalid value.", |(_, ours)| ours).to_owned(),
            at,
        }
    }
}

/// The most levels that are open at a time in front of a byte: MySQL counts them while it reads.
fn depth_before(text: &str, at: usize) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for byte in text.bytes().take(at) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'[' | b'{' if !is_quoted => depth += 1,
            b']' | b'}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

/// The text with `0` for each `-0`, which is a whole number in MySQL, as its parser is `RapidJSON`: here it would
/// become the double `-0.0`, which stays one.
fn without_negative_zeros(text: &str) -> Cow<'_, str> {
    let signs = if text.contains("-0") {
        signs_of_zeros(text)
    } else {
        Vec::new()
    };
    if signs.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut rest = text;
    let mut parts = Vec::with_capacity(signs.len() + 1);
    for at in signs.into_iter().rev() {
        let (before, behind) = rest.split_at(at);
        parts.push(behind.strip_prefix('-').unwrap_or(behind));
        rest = before;
    }
    parts.push(rest);
    Cow::Owned(parts.into_iter().rev().collect())
}

/// Where the signs of the whole zeros are.
fn signs_of_zeros(text: &str) -> Vec<usize> {
    let (mut is_quoted, mut is_escaped, mut may_begin) = (false, false, true);
    let mut signs = Vec::new();
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        if may_begin && byte == b'-' {
            let mut ahead = bytes.clone().map(|(_, byte)| byte);
            let is_zero = ahead.next() == Some(b'0');
            let goes_on = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E');
            if is_zero && !ahead.next().is_some_and(goes_on) {
                signs.push(at);
            }
        }
        is_quoted ^= byte == b'"' && !is_escaped;
        is_escaped = is_quoted && byte == b'\\' && !is_escaped;
        may_begin = !is_quoted && matches!(byte, b'[' | b',' | b':' | b' ' | b'\t' | b'\n' | b'\r');
    }
    signs
}

/// Reads a text.
///
/// # Errors
/// When it is not one JSON value, or nested deeper than [`DEPTH_MAX`].
pub fn parse(text: &str) -> Result<Json, InvalidJson> {
    let read = serde_json::from_str(&without_negative_zeros(text));
    let json: Json = read.or_else(|_| {
        // Once more, for the position in the text as it is.
        serde_json::from_str(text).map_err(|error| InvalidJson::of(&error, text))
    })?;
    if DEPTH_MAX < depth(&json) {
        return Err(InvalidJson::TooDeep);
    }
    Ok(json)
}

/// The normal form of a text.
///
/// # Errors
/// As [`parse`].
pub fn normalize(text: &str) -> Result<String, InvalidJson> {
    let mut out = String::with_capacity(text.len());
    write_normal(&parse(text)?, &mut out);
    Ok(out)
}

/// Appends the normal form.
pub fn write_normal(json: &Json, out: &mut String) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Json::Number(number) => write_number(number, out),
        Json::String(text) => write_string(text, out),
        Json::Array(items) => {
            out.push('[');
            for (idx, item) in items.iter().enumerate() {
                if idx != 0 {
                    out.push_str(", ");
                }
                write_normal(item, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (idx, (key, member)) in in_order(members).into_iter().enumerate() {
                if idx != 0 {
                    out.push_str(", ");
                }
                write_string(key, out);
                out.push_str(": ");
                write_normal(member, out);
            }
            out.push('}');
        }
    }
}

/// The members of an object in the order of the normal form.
pub fn in_order(members: &Map<String, Json>) -> Vec<(&String, &Json)> {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by(|(a, _), (b, _)| (a.len(), *a).cmp(&(b.len(), *b)));
    members
}

/// Doubles keep a point or an exponent, so that `1.0` stays a double.
fn write_number(number: &serde_json::Number, out: &mut String) {
    let Some(double) = number.as_f64().filter(|_| number.is_f64()) else {
        return out.push_str(&number.to_string());
    };
    let mut text = Vec::new();
    super::value::text::write_f64(double, &mut text);
    out.push_str(&of_double(String::from_utf8_lossy(&text)));
}

/// The text of a double as it is in the normal form.
pub fn of_double(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains(['.', 'e']) {
        text
    } else {
        Cow::Owned(format!("{text}.0"))
    }
}

/// A string in quotes, escaped as MySQL shows it.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                let code = u32::from(control);
                let digit = |nibble: u32| char::from_digit(nibble, 16).unwrap_or('0');
                out.push_str("\\u00");
                out.extend([digit(code >> 4), digit(code & 15)]);
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// How many levels there are; a scalar is one.
pub fn depth(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 1,
    }
}

/// The order of two normalised texts (MySQL manual, "Comparison and Ordering of JSON Values"). A text that is
/// none comes last.
pub fn compare(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    match (parse(a), parse(b)) {
        (Ok(a), Ok(b)) => compare_json(&a, &b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

/// As [`compare`], of values that were read. Of objects, whose order MySQL leaves open, the one with fewer members
/// comes first, and then the first member that differs decides, by name and by value. The keys of a sort have the
/// same order (`codec::key`).
pub fn compare_json(a: &Json, b: &Json) -> Ordering {
    match (a, b) {
        (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
        (Json::String(a), Json::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Json::Number(a), Json::Number(b)) => number(a).total_cmp(&number(b)),
        (Json::Array(a), Json::Array(b)) => {
            let unequal = a.iter().zip(b).map(|(a, b)| compare_json(a, b));
            let first = unequal.into_iter().find(|order| order.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Json::Object(a), Json::Object(b)) => compare_objects(a, b),
        (a, b) => precedence(a).cmp(&precedence(b)),
    }
}

fn compare_objects(a: &Map<String, Json>, b: &Map<String, Json>) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| {
        let pairs = in_order(a).into_iter().zip(in_order(b));
        let mut orders = pairs.map(|((a_name, a), (b_name, b))| {
            let names = a_name.as_bytes().cmp(b_name.as_bytes());
            names.then_with(|| compare_json(a, b))
        });
        orders
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    })
}

/// Higher is later.
fn precedence(json: &Json) -> u8 {
    match json {
        Json::Null => 0,
        Json::Number(_) => 1,
        Json::String(_) => 2,
        Json::Object(_) => 3,
        Json::Array(_) => 4,
        Json::Bool(_) => 5,
    }
}

/// A number as an SQL value.
pub fn number(number: &serde_json::Number) -> super::Value<'static> {
    if let Some(whole) = number.as_i64() {
        super::Value::Int(whole)
    } else if let Some(whole) = number.as_u64() {
        super::Value::UInt(whole)
    } else {
        super::Value::Double(number.as_f64().unwrap_or(0.0))
    }
}

/// Feeds a hash so that texts equal by [`compare`] feed the same.
pub fn hash<H: Hasher>(text: &str, state: &mut H) {
    match parse(text) {
        Ok(json) => hash_json(&json, state),
        Err(_) => text.hash(state),
    }
}

fn hash_json<H: Hasher>(json: &Json, state: &mut H) {
    precedence(json).hash(state);
    match json {
        Json::Null => {}
        Json::Bool(truth) => truth.hash(state),
        Json::Number(digits) => number(digits).hash_group(state),
        Json::String(text) => text.hash(state),
        Json::Array(items) => items.iter().for_each(|item| hash_json(item, state)),
        Json::Object(members) => {
            for (name, member) in in_order(members) {
                name.hash(state);
                hash_json(member, state);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use super::*;

    #[test]
    fn texts_get_their_normal_form() {
        let cases = [
            (
                r#"{"bb":1,"a":[1,2.0,1e30,true,null],"a":3}"#,
                r#"{"a": 3, "bb": 1}"#,
            ),
            (
                r#"[1,2.0,1e30,-0.5,"\u00e9\u0001\n"]"#,
                "[1, 2.0, 1e30, -0.5, \"é\\u0001\\n\"]",
            ),
            (
                "{\"c\":{},\"bb\":[],\"a\":\"\"}",
                r#"{"a": "", "c": {}, "bb": []}"#,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(normalize(text).unwrap(), expected);
            assert_eq!(normalize(expected).unwrap(), expected);
        }
        for text in ["", "{", "[1,]", "nul", "1 2", "'a'"] {
            assert!(normalize(text).is_err(), "{text}");
        }
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(normalize(&deep(100)).is_ok());
        // One that has no end, and one whose brackets are text.
        assert_eq!(normalize(&"[".repeat(110)), Err(InvalidJson::TooDeep));
        let quoted = format!(r#"["\"{}" "#, "[".repeat(110));
        assert!(matches!(
            normalize(&quoted),
            Err(InvalidJson::Malformed { .. })
        ));
        // The parser stops by itself at the last of these.
        for levels in [101, 127, 128, 100_000] {
            assert_eq!(
                normalize(&deep(levels)),
                Err(InvalidJson::TooDeep),
                "{levels}"
            );
        }
    }

    #[test]
    fn values_order_by_kind_and_then_by_value() {
        let sorted = [
            "null",
            "1",
            "1.5",
            "2",
            "\"a\"",
            "{\"a\": 1}",
            "[1]",
            "[1, 0]",
            "false",
            "true",
        ];
        for pair in sorted.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
        for (a, b) in [
            ("1", "1.0"),
            ("[1, 0]", "[1.0, -0.0]"),
            (r#"{"a": 1, "bb": [2]}"#, r#"{"a": 1.0, "bb": [2.0]}"#),
        ] {
            assert_eq!(compare(a, b), Ordering::Equal, "{a} {b}");
            let state = RandomState::new();
            let hash_of = |text| {
                let mut hasher = state.build_hasher();
                hash(text, &mut hasher);
                hasher.finish()
            };
            assert_eq!(hash_of(a), hash_of(b), "{a} {b}");
        }
        let objects = [
            "{}",
            r#"{"a": 2}"#,
            r#"{"a": 10.0}"#,
            r#"{"b": 1}"#,
            r#"{"a": 1, "b": 1}"#,
        ];
        for pair in objects.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
    }
}
