//! Universally unique identifiers. Source: MySQL manual, "Miscellaneous Functions"; RFC 9562.
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use std::borrow::Cow;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::eval::convert;
use super::{Call, code, of_text, result};
use crate::error::{Code, Error, Result};
use crate::types::Value;

functions! {
    /// Identifiers.
    TABLE of Miscellaneous:
    "UUID" 0..0 "" result::text, Never, Row, Eager(uuid), "A new universally unique identifier.";
    "UUID_SHORT" 0..0 "" result::unsigned, Never, Row, Eager(uuid_short), "A new number of 64 bits, each larger than the last.";
    "IS_UUID" 1..1 "str" result::int, AnyArgument, Constant, Strict(is_uuid), "1 when the text is an identifier, else 0.";
    "UUID_TO_BIN" 1..2 "str [, swap]" result::bytes, AnyArgument, Constant, Strict(uuid_to_bin), "The 16 bytes of an identifier, with its clock in front when it is swapped.";
    "BIN_TO_UUID" 1..2 "bytes [, swap]" result::text, AnyArgument, Constant, Strict(bin_to_uuid), "The identifier of 16 bytes.";
}

/// Bytes of an identifier.
const UUID_BYTES: usize = 16;

/// Version 4 of RFC 9562: random, and so without host or clock in it.
fn uuid<'a>(_: &[Value<'a>], _: &Call<'a>) -> Result<Value<'a>> {
    let bits = rand::random::<u128>();
    let bits = (bits & !(0xF << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    Ok(of_text(grouped(&format!("{bits:032x}"))))
}

/// 32 digits with their dashes.
fn grouped(digits: &str) -> String {
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32];
    groups
        .map(|range| digits.get(range).unwrap_or(""))
        .join("-")
}

/// Seconds of the server's start above 24 bits that count, as MySQL makes it.
fn uuid_short<'a>(_: &[Value<'a>], _: &Call<'a>) -> Result<Value<'a>> {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seconds = since.map_or(0, |since| since.as_secs());
        AtomicU64::new((1 << 56) | (seconds & 0xFFFF_FFFF) << 24)
    });
    Ok(Value::UInt(NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Bytes of the longest text that is one: with dashes and braces.
const TEXT_BYTES_MAX: usize = UUID_BYTES * 2 + 4 + 2;

/// The bytes of 32 digits, with dashes, in braces, or neither.
fn parse(text: &str) -> Option<[u8; UUID_BYTES]> {
    if TEXT_BYTES_MAX < text.len() {
        return None;
    }
    let inner = match text.strip_prefix('{') {
        Some(inner) => inner
            .strip_suffix('}')
            .filter(|inner| inner.contains('-'))?,
        None => text,
    };
    let digits = if inner.contains('-') {
        let lens: Vec<usize> = inner.split('-').map(str::len).collect();
        if lens != [8, 4, 4, 4, 12] {
            return None;
        }
        inner.replace('-', "")
    } else {
        inner.to_owned()
    };
    let is_hex = digits.len() == UUID_BYTES * 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let mut bytes = [0; UUID_BYTES];
    for (idx, byte) in bytes.iter_mut().enumerate().filter(|_| is_hex) {
        let pair = digits.get(idx * 2..idx * 2 + 2)?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    is_hex.then_some(bytes)
}

/// Error 1411: here always an error, as in MySQL.
fn incorrect(shown: &str, call: &Call<'_>) -> Error {
    let name = call.function.name.to_ascii_lowercase();
    let shown = convert::shown(shown);
    let text = format!("Incorrect string value: '{shown}' for function {name}");
    Error::new(Code::WrongValueForFunction, text)
}

fn is_uuid<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::boolean(parse(&call.text(values, 0)).is_some()))
}

/// The low, middle and high part of the clock in the order high, middle, low; the rest as it is.
fn swapped(bytes: [u8; UUID_BYTES]) -> Vec<u8> {
    let part = |range: std::ops::Range<usize>| bytes.get(range).unwrap_or_default();
    [part(6..8), part(4..6), part(0..4), part(8..16)].concat()
}

/// The other way round.
fn unswapped(bytes: [u8; UUID_BYTES]) -> Vec<u8> {
    let part = |range: std::ops::Range<usize>| bytes.get(range).unwrap_or_default();
    [part(4..8), part(2..4), part(0..2), part(8..16)].concat()
}

fn is_swapped(values: &[Value<'_>], call: &Call<'_>) -> Result<bool> {
    Ok(call.count_or(values, 1, 0)? != 0)
}

fn uuid_to_bin<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = call.text(values, 0);
    let bytes = parse(&text).ok_or_else(|| incorrect(&text, call))?;
    let bytes = if is_swapped(values, call)? {
        swapped(bytes)
    } else {
        bytes.to_vec()
    };
    Ok(Value::Bytes(Cow::Owned(bytes)))
}

fn bin_to_uuid<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let given = convert::bytes(Call::arg(values, 0), call.ctx);
    let bytes = <[u8; UUID_BYTES]>::try_from(&*given)
        .map_err(|_| incorrect(&String::from_utf8_lossy(&given), call))?;
    let bytes = if is_swapped(values, call)? {
        unswapped(bytes)
    } else {
        bytes.to_vec()
    };
    Ok(of_text(grouped(&code::hex_of(&bytes))))
}
