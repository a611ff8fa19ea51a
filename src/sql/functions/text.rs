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

use super::super::eval::convert;
use super::{Call, of_count, of_text, result};
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
    "LEFT" 2..2 "str, len" result::first_string, AnyArgument, Constant, Strict(left), "The first characters.";
    "RIGHT" 2..2 "str, len" result::first_string, AnyArgument, Constant, Strict(right), "The last characters.";
    "SUBSTRING" 2..3 "str, pos [, len]" result::first_string, AnyArgument, Constant, Strict(substring), "Characters from a position, at most so many.";
    "SUBSTR" 2..3 "str, pos [, len]" result::first_string, AnyArgument, Constant, Strict(substring), "Characters from a position, at most so many.";
    "MID" 2..3 "str, pos [, len]" result::first_string, AnyArgument, Constant, Strict(substring), "Characters from a position, at most so many.";
    "TRIM" 1..2 "[[BOTH | LEADING | TRAILING] [removed] FROM] str" result::first_string, AnyArgument, Constant, Strict(trim), "The text without blanks, or without another text, at both ends.";
    "LTRIM" 1..2 "str" result::first_string, AnyArgument, Constant, Strict(ltrim), "The text without blanks, or without another text, at its start.";
    "RTRIM" 1..2 "str" result::first_string, AnyArgument, Constant, Strict(rtrim), "The text without blanks, or without another text, at its end.";
    "LPAD" 3..3 "str, len, pad" result::text, Always, Constant, Strict(lpad), "The text filled at its start to a length.";
    "RPAD" 3..3 "str, len, pad" result::text, Always, Constant, Strict(rpad), "The text filled at its end to a length.";
    "REPEAT" 2..2 "str, n" result::text, Always, Constant, Strict(repeat), "The text, so many times.";
    "SPACE" 1..1 "n" result::text, Always, Constant, Strict(space), "So many blanks.";
    "REVERSE" 1..1 "str" result::first_string, AnyArgument, Constant, Strict(reverse), "The characters from last to first.";
    "INSERT" 4..4 "str, pos, len, new" result::text, AnyArgument, Constant, Strict(insert), "The text with a part of it replaced.";
    "QUOTE" 1..1 "str" result::text, Never, Constant, Eager(quote), "The text as an SQL literal.";
    "FORMAT" 2..3 "x, digits [, locale]" result::text, AnyArgument, Constant, Strict(format), "The number with commas and so many digits after the point.";
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
    for (idx, part) in parts.iter().filter(|part| !part.is_null()).enumerate() {
        if idx != 0 {
            out.extend_from_slice(separator);
        }
        let part = convert::bytes(part, call.ctx);
        if !call.fits(out.len().checked_add(part.len())) {
            return Ok(Value::Null);
        }
        out.extend_from_slice(&part);
    }
    Ok(of_bytes(out, call.ty))
}

/// Bytes in the variant of the type.
fn of_bytes<'a>(bytes: Vec<u8>, ty: &ColumnType) -> Value<'a> {
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
    Ok(recased(Call::arg(values, 0), call, |c| {
        only(c, c.to_lowercase())
    }))
}

fn upper<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(recased(Call::arg(values, 0), call, |c| {
        only(c, c.to_uppercase())
    }))
}

/// The one other letter; the same one where there are several, as with `ß`.
fn only(letter: char, mut others: impl Iterator<Item = char>) -> char {
    match (others.next(), others.next()) {
        (Some(other), None) => other,
        _ => letter,
    }
}

/// Binary strings have no letters and stay.
fn recased<'a>(value: &Value<'a>, call: &Call<'a>, recase: fn(char) -> char) -> Value<'a> {
    match value {
        Value::Bytes(bytes) => Value::Bytes(bytes.clone()),
        other => of_text(
            convert::text(other, call.ctx)
                .chars()
                .map(recase)
                .collect::<String>(),
        ),
    }
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
    padded(values, call, |text, filling| filling + text)
}

fn rpad<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    padded(values, call, |text, filling| text.to_owned() + &filling)
}

fn padded<'a>(
    values: &[Value<'a>],
    call: &Call<'a>,
    join: fn(&str, String) -> String,
) -> Result<Value<'a>> {
    let (text, pad) = (call.text(values, 0), call.text(values, 2));
    let Ok(wanted) = usize::try_from(call.count(values, 1)?) else {
        return Ok(Value::Null);
    };
    let chars = text.chars().count();
    if wanted <= chars {
        return Ok(part(Call::arg(values, 0), (0, wanted), call));
    }
    if pad.is_empty() {
        return Ok(of_text(""));
    }
    let missing = wanted - chars;
    let char_bytes = pad.chars().map(char::len_utf8).max().unwrap_or(1);
    if !call.fits(
        missing
            .checked_mul(char_bytes)
            .and_then(|n| n.checked_add(text.len())),
    ) {
        return Ok(Value::Null);
    }
    Ok(of_text(join(
        &text,
        pad.chars().cycle().take(missing).collect(),
    )))
}

fn repeat<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (text, times) = (call.text(values, 0), size(call.count(values, 1)?));
    if !call.fits(text.len().checked_mul(times)) {
        return Ok(Value::Null);
    }
    Ok(of_text(text.repeat(times)))
}

fn space<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let times = size(call.count(values, 0)?);
    if !call.fits(Some(times)) {
        return Ok(Value::Null);
    }
    Ok(of_text(" ".repeat(times)))
}

fn reverse<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
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
    let (text, new) = (call.text(values, 0), call.text(values, 3));
    let (position, len) = (call.count(values, 1)?, call.count(values, 2)?);
    let chars = text.chars().count();
    let start = usize::try_from(position).unwrap_or(0);
    if start == 0 || chars < start {
        return Ok(of_text(text));
    }
    let until = usize::try_from(len).map_or(chars, |len| (start - 1).saturating_add(len));
    if !call.fits(text.len().checked_add(new.len())) {
        return Ok(Value::Null);
    }
    let head = text.chars().take(start - 1);
    let tail = text.chars().skip(until);
    Ok(of_text(
        head.chain(new.chars()).chain(tail).collect::<String>(),
    ))
}

fn quote<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if Call::arg(values, 0).is_null() {
        return Ok(of_text("NULL"));
    }
    let text = call.text(values, 0);
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            '\0' => out.push_str("\\0"),
            '\x1a' => out.push_str("\\Z"),
            other => out.push(other),
        }
    }
    out.push('\'');
    Ok(of_text(out))
}

/// Digits after the point that `FORMAT` shows at most.
const FORMAT_DIGITS_MAX: i64 = 30;

fn format<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let digits = call.count(values, 1)?.clamp(0, FORMAT_DIGITS_MAX);
    let number =
        convert::number(Call::arg(values, 0), call.ctx)?.unwrap_or(convert::Number::Int(0));
    let width = usize::try_from(digits).unwrap_or(0);
    let scale = u8::try_from(digits).unwrap_or(0);
    let exact = number
        .to_decimal()
        .and_then(|number| number.rescale(38, scale));
    let text = match exact {
        Some(number) => number.to_string(),
        None => format!("{:.width$}", number.to_f64()),
    };
    Ok(of_text(with_commas(&text)))
}

fn with_commas(number: &str) -> String {
    let (whole, fraction) = number
        .split_once('.')
        .map_or((number, None), |(w, f)| (w, Some(f)));
    let (sign, digits) = whole
        .strip_prefix('-')
        .map_or(("", whole), |digits| ("-", digits));
    let mut out = sign.to_owned();
    for (idx, digit) in digits.chars().enumerate() {
        if idx != 0 && (digits.len() - idx).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}
