//! `SOUNDEX`: what an English word sounds like, and `WEIGHT_STRING`: what a text sorts by.
//!
//! Soundex in MySQL's version: the original algorithm, which drops vowels first and repeated
//! digits then, and a result of any length. Source: MySQL manual, "String Functions and Operators".
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use std::borrow::Cow;

use super::super::eval::convert;
use super::{Call, of_text, result};
use crate::error::Result;
use crate::types::Value;

functions! {
    /// Sound and weight.
    TABLE of Text:
    "SOUNDEX" 1..1 "str" result::text, AnyArgument, Constant, Strict(soundex), "The first letter and digits for what an English word sounds like.";
    "WEIGHT_STRING" 1..3 "str [AS {CHAR | BINARY}(n)]" result::bytes, AnyArgument, Constant, Strict(weight_string), "The bytes that the text is compared and sorted by.";
}

/// Characters of the shortest result.
const CHARS_MIN: usize = 4;
/// The digit of each letter from A to Z; a letter with 0 has no sound of its own.
const DIGITS: &[u8; 26] = b"01230120022455012623010202";

/// The digit of a letter; other alphabets have none.
fn digit(letter: char) -> u8 {
    let idx = u32::from(letter.to_ascii_uppercase()).wrapping_sub(u32::from('A'));
    let idx = usize::try_from(idx).unwrap_or(usize::MAX);
    DIGITS.get(idx).copied().unwrap_or(b'0')
}

fn soundex<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = call.text(values, 0);
    let mut letters = text.chars().filter(|c| c.is_alphabetic());
    let Some(first) = letters.next() else {
        return Ok(of_text(""));
    };
    let mut out = String::new();
    out.push(first.to_ascii_uppercase());
    let mut last = digit(first);
    for letter in letters {
        let next = digit(letter);
        if next != b'0' && next != last {
            out.push(char::from(next));
            last = next;
        }
    }
    let chars = out.chars().count();
    out.extend(std::iter::repeat_n('0', CHARS_MIN.saturating_sub(chars)));
    Ok(of_text(out))
}

/// In `utf8mb4_bin` a character weighs its number, in three bytes; a byte weighs itself.
fn weight_string<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let len = usize::try_from(call.count_or(values, 2, 0)?).unwrap_or(0);
    let is_binary = values.get(1).is_some() && call.text(values, 1) == "BINARY";
    let Some(_room) = call.fits(len.checked_mul(3))? else {
        return Ok(Value::Null);
    };
    let value = Call::arg(values, 0);
    if is_binary || matches!(value, Value::Bytes(_)) {
        let mut bytes = convert::bytes(value, call.ctx).into_owned();
        if values.get(1).is_some() {
            bytes.resize(len, 0);
        }
        return Ok(Value::Bytes(Cow::Owned(bytes)));
    }
    if !matches!(value, Value::Text(_) | Value::Enum(_)) {
        return Ok(Value::Null);
    }
    let text = call.text(values, 0);
    let Some(_room) = call.fits(text.len().checked_mul(3))? else {
        return Ok(Value::Null);
    };
    let mut chars: Vec<u32> = text.chars().map(u32::from).collect();
    if values.get(1).is_some() {
        chars.resize(len, u32::from(' '));
    }
    let weight = |c: &u32| [16, 8, 0].map(|shift| u8::try_from(c >> shift & 0xFF).unwrap_or(0));
    Ok(Value::Bytes(Cow::Owned(
        chars.iter().flat_map(weight).collect(),
    )))
}
