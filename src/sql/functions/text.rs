//! Functions that build, cut and pad strings. Positions and lengths count characters, of a binary
//! string bytes. Source: MySQL manual, "String Functions and Operators".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use std::borrow::Cow;

use super::super::eval::{convert, digits};
use super::{Call, of_count, of_text, result, text_bytes};
use crate::error::Result;
use crate::types::{ColumnType, Value};

functions! {
    /// Strings.
    TABLE of Text:
    "CONCAT" 1..many "a, ..." result::string, AnyArgument, Constant, Strict(concat), "All arguments, one after the other.";
    "CONCAT_WS" 2..many "separator, a, ..." result::string, AnyArgument, Constant, Eager(concat_ws), "All arguments but the first and NULL, with the first between them.";
    "LENGTH" 1..1 "str" result::int, AnyArgument, Constant, Strict(length), "The number of bytes.";
    "OCTET_LENGTH" 1..1 "str" result::int, AnyArgument, Constant, Strict(length), "The number of bytes.";
    "BIT_LENGTH" 1..1 "str" result::int, AnyArgument, Constant, Strict(bit_length), "The number of bits.";
    "CHAR_LENGTH" 1..1 "str" result::int, AnyArgument, Constant, Strict(char_length), "The number of characters.";
    "CHARACTER_LENGTH" 1..1 "str" result::int, AnyArgument, Constant, Strict(char_length), "The number of characters.";
    "LOWER" 1..1 "str" result::string, AnyArgument, Constant, Strict(lower), "The text in small letters.";
    "LCASE" 1..1 "str" result::string, AnyArgument, Constant, Strict(lower), "The text in small letters.";
    "UPPER" 1..1 "str" result::string, AnyArgument, Constant, Strict(upper), "The text in capital letters.";
    "UCASE" 1..1 "str" result::string, AnyArgument, Constant, Strict(upper), "The text in capital letters.";
    "LEFT" 2..2 "str, len" result::first_string, AnyArgument, Constant, StrictOfAll(left), "The first characters.";
    "RIGHT" 2..2 "str, len" result::first_string, AnyArgument, Constant, StrictOfAll(right), "The last characters.";
    "SUBSTRING" 2..3 "str, pos [, len]" result::first_string, AnyArgument, Constant, StrictOfAll(substring), "Characters from a position, at most so many.";
    "SUBSTR" 2..3 "str, pos [, len]" result::first_string, AnyArgument, Constant, StrictOfAll(substring), "Characters from a position, at most so many.";
    "MID" 2..3 "str, pos [, len]" result::first_string, AnyArgument, Constant, StrictOfAll(substring), "Characters from a position, at most so many.";
    "TRIM" 1..2 "[[BOTH | LEADING | TRAILING] [removed] FROM] str" result::string, AnyArgument, Constant, Strict(trim), "The text without blanks, or without another text, at both ends.";
    "LTRIM" 1..2 "str" result::string, AnyArgument, Constant, Strict(ltrim), "The text without blanks, or without another text, at its start.";
    "RTRIM" 1..2 "str" result::string, AnyArgument, Constant, Strict(rtrim), "The text without blanks, or without another text, at its end.";
    "LPAD" 3..3 "str, len, pad" result::string, Always, Constant, StrictOfAll(lpad), "The text filled at its start to a length.";
    "RPAD" 3..3 "str, len, pad" result::string, Always, Constant, StrictOfAll(rpad), "The text filled at its end to a length.";
    "REPEAT" 2..2 "str, n" result::first_string, Always, Constant, StrictOfAll(repeat), "The text, so many times.";
    "SPACE" 1..1 "n" result::text, Always, Constant, Strict(space), "So many blanks.";
    "REVERSE" 1..1 "str" result::first_string, AnyArgument, Constant, Strict(reverse), "The characters from last to first.";
    "INSERT" 4..4 "str, pos, len, new" result::string, AnyArgument, Constant, StrictOfAll(insert), "The text with a part of it replaced.";
    "QUOTE" 1..1 "str" result::string, Never, Constant, Eager(quote), "The text as an SQL literal.";
}

fn concat<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    joined(b"", values, call)
}

fn concat_ws<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some((separator, parts)) = values.split_first().filter(|(first, _)| !first.is_null())
    else {
        return Ok(Value::Null);
    };
    joined(&convert::bytes(separator, call.ctx), parts, call)
}

/// What is not `NULL`, with the separator between.
fn joined<'a>(separator: &[u8], parts: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let mut out: Vec<u8> = Vec::new();
    let mut room = None;
    let args = call.args.iter().skip(call.args.len() - parts.len());
    let given = parts.iter().zip(args).filter(|(part, _)| !part.is_null());
    for (idx, (part, arg)) in given.enumerate() {
        if idx != 0 {
            out.extend_from_slice(separator);
        }
        let number;
        let part = match part {
            Value::Decimal(_) | Value::Double(_) => {
                number = digits::spelled(part.clone(), arg);
                &number
            }
            other => other,
        };
        let part = convert::bytes(part, call.ctx);
        let sizes = (out.capacity(), out.len().checked_add(part.len()));
        if !call.may_grow(&mut room, sizes)? {
            return Ok(Value::Null);
        }
        out.extend_from_slice(&part);
    }
    Ok(of_bytes(out, call.ty))
}

/// Bytes in the variant of the type.
pub(super) fn of_bytes<'a>(bytes: Vec<u8>, ty: &ColumnType) -> Value<'a> {
    if super::super::eval::typing::is_binary(ty) {
        return Value::Bytes(Cow::Owned(bytes));
    }
    match String::from_utf8(bytes) {
        Ok(text) => of_text(text),
        Err(bad) => Value::Bytes(Cow::Owned(bad.into_bytes())),
    }
}

fn bytes_count(values: &[Value<'_>], call: &Call<'_>) -> usize {
    convert::bytes(Call::arg(values, 0), call.ctx).len()
}

fn length<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_count(bytes_count(values, call)))
}

fn bit_length<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_count(bytes_count(values, call).saturating_mul(8)))
}

fn char_length<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_count(match Call::arg(values, 0) {
        Value::Bytes(bytes) => bytes.len(),
        other => convert::text(other, call.ctx).chars().count(),
    }))
}

fn lower<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    recased(values, call, |c| only(c, c.to_lowercase()))
}

fn upper<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    recased(values, call, |c| only(c, c.to_uppercase()))
}

/// The one other letter; the same one where there are several, as with `ß`.
fn only(letter: char, mut others: impl Iterator<Item = char>) -> char {
    match (others.next(), others.next()) {
        (Some(other), None) => other,
        _ => letter,
    }
}

/// Binary strings have no letters and stay.
fn recased<'a>(
    values: &[Value<'a>],
    call: &Call<'a>,
    recase: fn(char) -> char,
) -> Result<Value<'a>> {
    let Some(_room) = call.fits(Some(text_bytes(values)))? else {
        return Ok(Value::Null);
    };
    Ok(match Call::arg(values, 0) {
        Value::Bytes(bytes) => Value::Bytes(bytes.clone()),
        other => of_text(
            convert::text(other, call.ctx)
                .chars()
                .map(recase)
                .collect::<String>(),
        ),
    })
}

/// The part from one character to before another; without copying where the value is borrowed.
fn part<'a>(value: &Value<'a>, (start, until): (usize, usize), call: &Call<'a>) -> Value<'a> {
    let at = |text: &str, chars: usize| {
        text.char_indices()
            .nth(chars)
            .map_or(text.len(), |(offset, _)| offset)
    };
    match value {
        Value::Bytes(Cow::Borrowed(bytes)) => Value::Bytes(Cow::Borrowed(cut(bytes, start, until))),
        Value::Bytes(Cow::Owned(bytes)) => {
            Value::Bytes(Cow::Owned(cut(bytes, start, until).to_vec()))
        }
        Value::Text(Cow::Borrowed(text)) => {
            let range = at(text, start)..at(text, until);
            Value::Text(Cow::Borrowed(text.get(range).unwrap_or("")))
        }
        other => {
            let text = convert::text(other, call.ctx);
            let range = at(&text, start)..at(&text, until);
            of_text(text.get(range).unwrap_or(""))
        }
    }
}

fn cut(bytes: &[u8], start: usize, until: usize) -> &[u8] {
    let until = until.min(bytes.len());
    bytes.get(start.min(until)..until).unwrap_or_default()
}

/// Characters, of a binary string bytes.
fn chars_count(value: &Value<'_>, call: &Call<'_>) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.len(),
        other => convert::text(other, call.ctx).chars().count(),
    }
}

fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

fn left<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let chars = call.count(values, 1)?;
    Ok(part(Call::arg(values, 0), (0, size(chars)), call))
}

fn right<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let value = Call::arg(values, 0);
    let chars = chars_count(value, call);
    let start = chars.saturating_sub(size(call.count(values, 1)?));
    Ok(part(value, (start, chars), call))
}

/// Positions count from 1, negative ones from the end; position 0 gives nothing.
fn substring<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let value = Call::arg(values, 0);
    let position = call.count(values, 1)?;
    let len = size(call.count_or(values, 2, i64::MAX)?);
    let start = if 0 < position {
        Some(size(position - 1))
    } else {
        let back = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
        chars_count(value, call)
            .checked_sub(back)
            .filter(|_| position != 0)
    };
    let Some(start) = start else {
        return Ok(part(value, (0, 0), call));
    };
    Ok(part(value, (start, start.saturating_add(len)), call))
}

/// Which ends are trimmed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Both,
    Start,
    End,
}

fn trim<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    trimmed(values, Ends::Both, call)
}

fn ltrim<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    trimmed(values, Ends::Start, call)
}

fn rtrim<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    trimmed(values, Ends::End, call)
}

fn trimmed<'a>(values: &[Value<'a>], ends: Ends, call: &Call<'a>) -> Result<Value<'a>> {
    let Some(_room) = call.fits(Some(text_bytes(values.get(..1).unwrap_or_default())))? else {
        return Ok(Value::Null);
    };
    let bytes = convert::bytes(Call::arg(values, 0), call.ctx);
    let removed = values
        .get(1)
        .map_or(Cow::Borrowed(b" ".as_slice()), |value| {
            convert::bytes(value, call.ctx)
        });
    let mut rest: &[u8] = &bytes;
    if !removed.is_empty() {
        while let Some(next) = rest.strip_prefix(&*removed).filter(|_| ends != Ends::End) {
            rest = next;
        }
        while let Some(next) = rest.strip_suffix(&*removed).filter(|_| ends != Ends::Start) {
            rest = next;
        }
    }
    Ok(of_bytes(rest.to_vec(), call.ty))
}

fn lpad<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    padded(values, call, |text, filling| [filling, text].concat())
}

fn rpad<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    padded(values, call, |text, filling| [text, filling].concat())
}

fn padded<'a>(
    values: &[Value<'a>],
    call: &Call<'a>,
    join: fn(&[u8], &[u8]) -> Vec<u8>,
) -> Result<Value<'a>> {
    let Ok(wanted) = usize::try_from(call.count(values, 1)?) else {
        return Ok(Value::Null);
    };
    let value = Call::arg(values, 0);
    let text = convert::bytes(value, call.ctx);
    let pad = convert::bytes(Call::arg(values, 2), call.ctx);
    let (chars, pad_units) = (units_count(&text, call), units_count(&pad, call));
    if wanted <= chars {
        return Ok(part(value, (0, wanted), call));
    }
    if pad.is_empty() {
        return Ok(of_bytes(Vec::new(), call.ty));
    }
    let missing = wanted - chars;
    let (whole, rest) = (missing / pad_units, missing % pad_units);
    let bytes = whole
        .checked_mul(pad.len())
        .and_then(|bytes| bytes.checked_add(text.len() + pad.len()));
    let Some(_room) = call.fits(bytes)? else {
        return Ok(Value::Null);
    };
    let mut filling = pad.repeat(whole);
    filling.extend_from_slice(pad.get(..unit_end(&pad, rest, call)).unwrap_or_default());
    Ok(of_bytes(join(&text, &filling), call.ty))
}

/// How many characters; of a binary result how many bytes.
fn units_count(text: &[u8], call: &Call<'_>) -> usize {
    if super::super::eval::typing::is_binary(call.ty) {
        return text.len();
    }
    let begins = text.iter().skip(1).filter(|byte| is_begin(**byte)).count();
    begins + usize::from(!text.is_empty())
}

/// Where the unit of that number, counted from 1, ends: 0 for none, and the end of the text behind the last.
fn unit_end(text: &[u8], units: usize, call: &Call<'_>) -> usize {
    if super::super::eval::typing::is_binary(call.ty) {
        return units.min(text.len());
    }
    let begins = text.iter().enumerate().skip(1);
    let mut begins = begins.filter(|(_, byte)| is_begin(**byte));
    match units.checked_sub(1) {
        None => 0,
        Some(idx) => begins.nth(idx).map_or(text.len(), |(at, _)| at),
    }
}

/// Whether a character begins with this byte.
fn is_begin(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

fn repeat<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = convert::bytes(Call::arg(values, 0), call.ctx);
    let times = size(call.count(values, 1)?);
    let Some(_room) = call.fits(text.len().checked_mul(times))? else {
        return Ok(Value::Null);
    };
    Ok(of_bytes(text.repeat(times), call.ty))
}

fn space<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let times = size(call.count(values, 0)?);
    let Some(_room) = call.fits(Some(times))? else {
        return Ok(Value::Null);
    };
    Ok(of_text(" ".repeat(times)))
}

fn reverse<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some(_room) = call.fits(Some(text_bytes(values)))? else {
        return Ok(Value::Null);
    };
    Ok(match Call::arg(values, 0) {
        Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.iter().rev().copied().collect())),
        other => of_text(
            convert::text(other, call.ctx)
                .chars()
                .rev()
                .collect::<String>(),
        ),
    })
}

/// `INSERT(text, position, length, new)`; a position outside the text changes nothing.
fn insert<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = convert::bytes(Call::arg(values, 0), call.ctx);
    let new = convert::bytes(Call::arg(values, 3), call.ctx);
    let (position, len) = (call.count(values, 1)?, call.count(values, 2)?);
    let Some(_room) = call.fits(text.len().checked_add(new.len()))? else {
        return Ok(Value::Null);
    };
    let units = units_count(&text, call);
    let start = usize::try_from(position).unwrap_or(0);
    if start == 0 || units < start {
        return Ok(of_bytes(text.into_owned(), call.ty));
    }
    let until = usize::try_from(len).map_or(units, |len| (start - 1).saturating_add(len));
    let head = text.get(..unit_end(&text, start - 1, call));
    let tail = text.get(unit_end(&text, until, call)..);
    let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
    Ok(of_bytes([head, &new, tail].concat(), call.ty))
}

fn quote<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if Call::arg(values, 0).is_null() {
        return Ok(of_bytes(b"NULL".to_vec(), call.ty));
    }
    let text = convert::bytes(Call::arg(values, 0), call.ctx);
    let escaped = text
        .iter()
        .filter(|byte| matches!(byte, b'\'' | b'\\' | 0 | 0x1A));
    let bytes = text.len() + escaped.count() + 2;
    let Some(_room) = call.fits(Some(bytes))? else {
        return Ok(Value::Null);
    };
    let mut out = Vec::with_capacity(bytes);
    out.push(b'\'');
    for byte in text.iter() {
        match byte {
            b'\'' | b'\\' => out.extend([b'\\', *byte]),
            0 => out.extend(b"\\0"),
            0x1A => out.extend(b"\\Z"),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
    Ok(of_bytes(out, call.ty))
}
