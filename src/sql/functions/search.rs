//! Functions that look for one string in another, or among several.
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use super::super::eval::typing::is_binary;
use super::super::eval::{convert, fit};
use super::field::field;
use super::text::of_bytes;
use super::{Call, of_count, result};
use crate::error::Result;
use crate::types::Value;

functions! {
    /// Search in strings.
    TABLE of Text:
    "INSTR" 2..2 "str, part" result::int, AnyArgument, Constant, StrictOfAll(instr), "The position of the second text in the first; 0 when it is not there.";
    "LOCATE" 2..3 "part, str [, pos]" result::int, AnyArgument, Constant, StrictOfAll(locate), "The position of the first text in the second, from a third on; 0 when it is not there.";
    "POSITION" 2..2 "part IN str" result::int, AnyArgument, Constant, StrictOfAll(locate), "The position of the first text in the second; 0 when it is not there.";
    "STRCMP" 2..2 "a, b" result::int, AnyArgument, Constant, Strict(strcmp), "-1, 0 or 1, as the first text is below, equal to or above the second.";
    "REPLACE" 3..3 "str, from, to" result::string, Always, Constant, Strict(replace), "The text with every occurrence of another replaced.";
    "SUBSTRING_INDEX" 3..3 "str, delimiter, n" result::string, AnyArgument, Constant, StrictOfAll(substring_index), "What stands before the n-th delimiter, or after it counted from the end.";
    "FIELD" 2..many "a, b, ..." result::int, Never, Constant, Lazy(field), "The position of the first argument among the others; 0 when it is not there.";
    "ELT" 2..many "n, a, ..." result::string_of_rest, Always, Constant, Lazy(elt), "The n-th of the arguments after the first.";
    "FIND_IN_SET" 2..2 "str, list" result::int, AnyArgument, Constant, StrictOfAll(find_in_set), "The position of a text in a list separated by commas.";
}

fn instr<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (text, wanted) = (Call::arg(values, 0), Call::arg(values, 1));
    Ok(of_count(position(text, wanted, (1, call))))
}

fn locate<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (wanted, text) = (Call::arg(values, 0), Call::arg(values, 1));
    let from = usize::try_from(call.count_or(values, 2, 1)?).unwrap_or(0);
    Ok(of_count(position(text, wanted, (from, call))))
}

/// The position of `wanted`, counted from 1 and not before `from`; 0 when it is not there.
fn position(text: &Value<'_>, wanted: &Value<'_>, (from, call): (usize, &Call<'_>)) -> usize {
    let Some(skipped) = from.checked_sub(1) else {
        return 0;
    };
    if let (Value::Bytes(bytes), wanted) = (text, convert::bytes(wanted, call.ctx)) {
        let rest = bytes.get(skipped..).unwrap_or_default();
        if wanted.is_empty() {
            return if skipped <= bytes.len() { from } else { 0 };
        }
        let found = positions(rest, &wanted).next();
        return found.map_or(0, |offset| skipped + offset + 1);
    }
    let (text, wanted) = (
        convert::text(text, call.ctx),
        convert::text(wanted, call.ctx),
    );
    let start = match text.char_indices().nth(skipped) {
        Some((start, _)) => start,
        None if text.chars().count() == skipped => text.len(),
        None => return 0,
    };
    let rest = text.get(start..).unwrap_or("");
    rest.find(&*wanted).map_or(0, |offset| {
        skipped
            + rest
                .get(..offset)
                .map_or(0, |before| before.chars().count())
            + 1
    })
}

fn strcmp<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (a, b) = (Call::arg(values, 0), Call::arg(values, 1));
    let order = convert::bytes(a, call.ctx).cmp(&convert::bytes(b, call.ctx));
    Ok(Value::Int(match order {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    }))
}

fn replace<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let [text, from, to] = [0, 1, 2].map(|idx| convert::bytes(Call::arg(values, idx), call.ctx));
    if from.is_empty() {
        return Ok(of_bytes(text.into_owned(), call.ty));
    }
    let grown = match to.len().checked_sub(from.len()) {
        // It becomes no longer, however often.
        None | Some(0) => Some(0),
        Some(grows_by) => positions(&text, &from).count().checked_mul(grows_by),
    };
    let Some(_room) = call.fits(grown.and_then(|grown| grown.checked_add(text.len())))? else {
        return Ok(Value::Null);
    };
    let mut out = Vec::with_capacity(text.len());
    let mut copied = 0;
    for start in positions(&text, &from) {
        out.extend_from_slice(text.get(copied..start).unwrap_or_default());
        out.extend_from_slice(&to);
        copied = start + from.len();
    }
    out.extend_from_slice(text.get(copied..).unwrap_or_default());
    Ok(of_bytes(out, call.ty))
}

/// From so many bytes on what is wanted is searched for in linear time, which takes a copy of the text.
const LONG_BYTES_MIN: usize = 32;

/// Where something begins in a text, each time after the last one's end.
enum Positions<'t> {
    /// Of texts, in linear time.
    Text(std::str::MatchIndices<'t, &'t str>),
    /// Found before, in linear time.
    Long(std::vec::IntoIter<usize>),
    /// Of bytes, that something short is looked for in from `at` on.
    Short {
        text: &'t [u8],
        wanted: &'t [u8],
        at: usize,
    },
}

impl Iterator for Positions<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        match self {
            Positions::Text(found) => found.next().map(|(at, _)| at),
            Positions::Long(found) => found.next(),
            Positions::Short { text, wanted, at } => {
                let rest = text.get(*at..)?;
                let next = rest
                    .windows(wanted.len())
                    .position(|part| part == *wanted)?;
                let start = *at + next;
                *at = start + wanted.len();
                Some(start)
            }
        }
    }
}

/// Where `wanted`, which is not empty, begins in the text. Of texts in UTF-8 no match begins within a
/// character.
fn positions<'t>(text: &'t [u8], wanted: &'t [u8]) -> Positions<'t> {
    if let (Ok(text), Ok(wanted)) = (std::str::from_utf8(text), std::str::from_utf8(wanted)) {
        return Positions::Text(text.match_indices(wanted));
    }
    if LONG_BYTES_MIN <= wanted.len() {
        return Positions::Long(long_positions(text, wanted).into_iter());
    }
    Positions::Short {
        text,
        wanted,
        at: 0,
    }
}

/// As [`positions`], from the end of the text to its beginning.
fn positions_back<'t>(text: &'t [u8], wanted: &'t [u8]) -> Box<dyn Iterator<Item = usize> + 't> {
    if LONG_BYTES_MIN <= wanted.len() {
        let reversed = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<u8>>();
        let starts = long_positions(&reversed(text), &reversed(wanted)).into_iter();
        let start = move |at: usize| text.len() - at - wanted.len();
        return Box::new(starts.map(start));
    }
    let mut rest = text;
    Box::new(std::iter::from_fn(move || {
        let last = rest
            .windows(wanted.len())
            .rposition(|part| part == wanted)?;
        rest = rest.get(..last)?;
        Some(last)
    }))
}

/// As [`positions`], for bytes that are no text: each is taken for the character of its number, and
/// texts are searched in linear time, whatever is wanted.
fn long_positions(text: &[u8], wanted: &[u8]) -> Vec<usize> {
    let as_text = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| char::from(*byte))
            .collect::<String>()
    };
    let (text, wanted) = (as_text(text), as_text(wanted));
    let (mut chars_before, mut counted) = (0, 0);
    let starts = text.match_indices(&wanted).map(|(at, _)| {
        chars_before += text.get(counted..at).unwrap_or_default().chars().count();
        counted = at;
        chars_before
    });
    starts.collect()
}

fn substring_index<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = convert::bytes(Call::arg(values, 0), call.ctx);
    let delimiter = convert::bytes(Call::arg(values, 1), call.ctx);
    let count = call.count(values, 2)?;
    let nth = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if delimiter.is_empty() || nth == 0 {
        return Ok(of_bytes(Vec::new(), call.ty));
    }
    let part = if 0 < count {
        let end = positions(&text, &delimiter).nth(nth - 1);
        end.map_or(&*text, |end| text.get(..end).unwrap_or_default())
    } else {
        // Texts are always gone through from the beginning, as in MySQL.
        let start = if is_binary(call.ty) {
            positions_back(&text, &delimiter).nth(nth - 1)
        } else {
            let before = positions(&text, &delimiter).count().checked_sub(nth);
            before.and_then(|before| positions(&text, &delimiter).nth(before))
        };
        start.map_or(&*text, |start| {
            text.get(start + delimiter.len()..).unwrap_or_default()
        })
    };
    let Some(_room) = call.fits(Some(part.len()))? else {
        return Ok(Value::Null);
    };
    Ok(of_bytes(part.to_vec(), call.ty))
}

/// The others are not evaluated, so that they cannot fail.
fn elt<'a>(call: &Call<'a>) -> Result<Value<'a>> {
    let Some(place) = call.args.first() else {
        return Ok(Value::Null);
    };
    let place = call.scope().value(place)?;
    if place.is_null() {
        return Ok(Value::Null);
    }
    let nth = usize::try_from(call.count(&[place], 0)?).unwrap_or(0);
    match call.args.get(nth).filter(|_| nth != 0) {
        Some(chosen) => fit::of((call.scope().value(chosen)?, chosen), call.ty, call.ctx),
        None => Ok(Value::Null),
    }
}

fn find_in_set<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let [wanted, list] = [0, 1].map(|idx| convert::bytes(Call::arg(values, idx), call.ctx));
    if list.is_empty() {
        return Ok(Value::Int(0));
    }
    let mut members = list.split(|byte| *byte == b',');
    let found = members.position(|member| member == &*wanted);
    Ok(of_count(found.map_or(0, |idx| idx + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long parts of bytes are searched for in another way than short ones, and found in the same places.
    #[test]
    fn long_parts_are_found_where_short_ones_are() {
        let plain = |text: &[u8], wanted: &[u8]| {
            let (mut found, mut at) = (Vec::new(), 0);
            while at + wanted.len() <= text.len() {
                if &text[at..at + wanted.len()] == wanted {
                    found.push(at);
                    at += wanted.len();
                } else {
                    at += 1;
                }
            }
            found
        };
        let part: Vec<u8> = (0..40).map(|n| 0xC0 + n).collect();
        let mut text = vec![0xFF, 0x80, 7];
        for n in 0..5 {
            text.extend_from_slice(&part);
            text.extend_from_slice(&part[..n * 3]);
        }
        assert_eq!(
            positions(&text, &part).collect::<Vec<_>>(),
            plain(&text, &part)
        );
        let reversed: Vec<usize> = positions_back(&text, &part).collect();
        assert_eq!(reversed.first(), plain(&text, &part).last());
        assert_eq!(reversed.len(), plain(&text, &part).len());
        assert_eq!(positions(&text, &part[..2]).next(), Some(3));
        assert_eq!(positions(b"abcab", b"ab").collect::<Vec<_>>(), [0, 3]);
    }
}
