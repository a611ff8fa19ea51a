//! Functions between strings, bytes and numbers in other notations.
//!
//! Source: MySQL manual, "String Functions and Operators", `CONV`, `HEX`, `TO_BASE64`.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]
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
    /// Notations.
    TABLE of Text:
    "ASCII" 1..1 "str" result::int, AnyArgument, Constant, Strict(ascii), "The first byte as a number.";
    "ORD" 1..1 "str" result::int, AnyArgument, Constant, Strict(ord), "The bytes of the first character as a number.";
    "CHAR" 1..many "n, ..." result::bytes, Never, Constant, Eager(chars), "The bytes that the numbers stand for.";
    "HEX" 1..1 "value" result::text, AnyArgument, Constant, Strict(hex), "A number or the bytes of a text in hexadecimal digits.";
    "UNHEX" 1..1 "str" result::bytes, Always, Constant, Strict(unhex), "The bytes that hexadecimal digits stand for.";
    "BIN" 1..1 "n" result::text, AnyArgument, Constant, Strict(bin), "The number in binary digits.";
    "OCT" 1..1 "n" result::text, AnyArgument, Constant, Strict(oct), "The number in octal digits.";
    "TO_BASE64" 1..1 "str" result::text, Always, Constant, Strict(to_base64), "The bytes in base 64.";
    "FROM_BASE64" 1..1 "str" result::bytes, Always, Constant, Strict(from_base64), "The bytes that a text in base 64 stands for.";
}

functions! {
    /// Numbers in other notations.
    NUMBERS of Numeric:
    "CONV" 3..3 "n, from_base, to_base" result::text, Always, Constant, StrictOfAll(conv), "The number carried from one base to another.";
}

fn ascii<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let bytes = convert::bytes(Call::arg(values, 0), call.ctx);
    Ok(Value::Int(bytes.first().map_or(0, |&byte| i64::from(byte))))
}

fn ord<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if let Value::Bytes(_) = Call::arg(values, 0) {
        return ascii(values, call);
    }
    let text = call.text(values, 0);
    let first: String = text.chars().take(1).collect();
    Ok(Value::Int(
        first
            .bytes()
            .fold(0, |number, byte| number * 256 + i64::from(byte)),
    ))
}

/// Each number gives as many bytes as it has, one at least; `NULL` gives none.
fn chars<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let mut out = Vec::with_capacity(values.len());
    for value in values.iter().filter(|value| !value.is_null()) {
        let number = convert::bits(value, call.ctx)?.unwrap_or(0) & 0xFFFF_FFFF;
        let bytes = [number >> 24, number >> 16, number >> 8, number]
            .map(|shifted| u8::try_from(shifted & 0xFF).unwrap_or(0));
        let zeros = bytes.iter().take(3).take_while(|&&byte| byte == 0).count();
        out.extend(bytes.iter().skip(zeros));
    }
    Ok(Value::Bytes(Cow::Owned(out)))
}

/// Halves are rounded away from zero; all ones for what lies beyond (`Item_func_hex` in MySQL and MariaDB).
fn bits_of_double(number: f64, call: &Call<'_>) -> Result<u64> {
    const LEAST: f64 = -9_223_372_036_854_775_808.0;
    const MOST: f64 = 18_446_744_073_709_551_616.0;
    if number <= LEAST || MOST <= number {
        return Ok(u64::MAX);
    }
    let whole = Value::Double((number + 0.5_f64.copysign(number)).trunc());
    Ok(convert::bits(&whole, call.ctx)?.unwrap_or(0))
}

fn hex<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let value = Call::arg(values, 0);
    match value {
        Value::Int(_) | Value::UInt(_) | Value::Year(_) => {
            let bits = convert::bits(value, call.ctx)?.unwrap_or(0);
            Ok(of_text(format!("{bits:X}")))
        }
        Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            let number = convert::double(value, call.ctx)?.unwrap_or(0.0);
            let bits = bits_of_double(number, call)?;
            Ok(of_text(format!("{bits:X}")))
        }
        _ => {
            let bytes = convert::bytes(value, call.ctx);
            let Some(_room) = call.fits(bytes.len().checked_mul(2))? else {
                return Ok(Value::Null);
            };
            Ok(of_text(hex_of(&bytes).to_ascii_uppercase()))
        }
    }
}

/// The bytes in small hexadecimal digits.
pub(super) fn hex_of(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

fn unhex<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = call.text(values, 0);
    let Some(_room) = call.fits(Some(text.len()))? else {
        return Ok(Value::Null);
    };
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let Some(mut digits) = digits else {
        return Ok(Value::Null);
    };
    if !digits.len().is_multiple_of(2) {
        digits.insert(0, 0);
    }
    let bytes = digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, half| byte << 4 | half));
    Ok(Value::Bytes(Cow::Owned(bytes.collect())))
}

fn bin<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_text(format!("{:b}", leading_bits(values, call))))
}

fn oct<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_text(format!("{:o}", leading_bits(values, call))))
}

/// The bits of the digits that the argument's text begins with: nothing is rounded.
fn leading_bits(values: &[Value<'_>], call: &Call<'_>) -> u64 {
    let text = call.text(values, 0);
    convert::bits_of(digits_of(&text, 10))
}

/// The number whose digits in a base a text begins with.
fn digits_of(text: &str, base: u32) -> i128 {
    let body = text.trim_ascii();
    let (is_negative, digits) = match body.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, body.strip_prefix('+').unwrap_or(body)),
    };
    let size = digits
        .chars()
        .map_while(|c| c.to_digit(base))
        .fold(0i128, |number, digit| {
            number
                .saturating_mul(i128::from(base))
                .saturating_add(i128::from(digit))
        });
    if is_negative { -size } else { size }
}

/// A number that is read with its sign ends at the limits of such; another as `strtoull` of C has it.
fn conv_bits(number: i128, is_signed: bool) -> u64 {
    if is_signed {
        return convert::bits_of(number.clamp(i64::MIN.into(), i64::MAX.into()));
    }
    match u64::try_from(number.unsigned_abs()) {
        Ok(size) if number < 0 => size.wrapping_neg(),
        Ok(size) => size,
        Err(_) => u64::MAX,
    }
}

/// A negative base reads or shows the number with its sign, else as 64 bits.
fn conv<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let base = |number: i64| {
        u32::try_from(number.unsigned_abs())
            .ok()
            .filter(|base| (2..=36).contains(base))
    };
    let (from, to) = (call.count(values, 1)?, call.count(values, 2)?);
    let (Some(from_base), Some(to_base)) = (base(from), base(to)) else {
        return Ok(Value::Null);
    };
    let text = call.text(values, 0);
    if text.is_empty() {
        return Ok(Value::Null);
    }
    let bits = conv_bits(digits_of(&text, from_base), from < 0);
    let shown = if to < 0 {
        let signed = bits.cast_signed();
        let sign = if signed < 0 { "-" } else { "" };
        format!("{sign}{}", in_base(signed.unsigned_abs(), to_base))
    } else {
        in_base(bits, to_base)
    };
    Ok(of_text(shown))
}

fn in_base(number: u64, base: u32) -> String {
    let mut digits = Vec::new();
    let mut left = number;
    loop {
        let digit = u32::try_from(left % u64::from(base)).unwrap_or(0);
        digits.push(
            char::from_digit(digit, base)
                .unwrap_or('0')
                .to_ascii_uppercase(),
        );
        left /= u64::from(base);
        if left == 0 {
            break;
        }
    }
    digits.iter().rev().collect()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters of a line of base 64.
const BASE64_LINE_CHARS: usize = 76;

fn to_base64<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let bytes = convert::bytes(Call::arg(values, 0), call.ctx);
    let Some(_room) = call.fits(bytes.len().checked_mul(2))? else {
        return Ok(Value::Null);
    };
    Ok(of_text(base64_of(&bytes)))
}

/// The bytes in base 64, in lines.
pub(super) fn base64_of(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + 4);
    let mut line_chars = 0;
    for chunk in bytes.chunks(3) {
        if line_chars == BASE64_LINE_CHARS {
            out.push('\n');
            line_chars = 0;
        }
        let byte = |idx: usize| usize::from(chunk.get(idx).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (idx, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = BASE64.get(bits >> shift & 63).copied().unwrap_or(b'=');
            out.push(if chunk.len() < idx {
                '='
            } else {
                char::from(letter)
            });
        }
        line_chars += 4;
    }
    out
}

fn from_base64<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = call.text(values, 0);
    let Some(_room) = call.fits(Some(text.len()))? else {
        return Ok(Value::Null);
    };
    let letters: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let decoded = letters
        .len()
        .is_multiple_of(4)
        .then(|| decode(&letters))
        .flatten();
    Ok(decoded.map_or(Value::Null, |bytes| Value::Bytes(Cow::Owned(bytes))))
}

fn decode(letters: &[u8]) -> Option<Vec<u8>> {
    let padding = letters
        .iter()
        .rev()
        .take_while(|&&letter| letter == b'=')
        .count();
    if 2 < padding {
        return None;
    }
    let mut out = Vec::with_capacity(letters.len() / 4 * 3);
    let (mut bits, mut bits_count) = (0u32, 0u32);
    for letter in letters.iter().take(letters.len() - padding) {
        let digit = BASE64.iter().position(|known| known == letter)?;
        bits = bits << 6 | u32::try_from(digit).ok()?;
        bits_count += 6;
        if 8 <= bits_count {
            bits_count -= 8;
            out.push(u8::try_from(bits >> bits_count & 0xFF).ok()?);
            bits &= (1 << bits_count) - 1;
        }
    }
    Some(out)
}
