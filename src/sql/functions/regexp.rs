//! The functions of regular expressions. Patterns and their flags are `eval/regexp`.
//!
//! Positions count characters from 1. Source: MySQL manual, "Regular Expressions".

use std::borrow::Cow;

use regex::{Captures, Regex};

use super::super::eval::regexp;
use super::{Call, of_count, of_text, result};
use crate::error::{Code, Error, Result};
use crate::types::Value;

functions! {
    /// Regular expressions.
    TABLE of Text:
    "REGEXP_LIKE" 2..3 "str, pattern [, match_type]" result::int, AnyArgument, Constant, Strict(regexp_like), "1 when the pattern is found in the text, else 0.";
    "REGEXP_INSTR" 2..6 "str, pattern [, pos [, occurrence [, return_option [, match_type]]]]" result::int, AnyArgument, Constant, Strict(regexp_instr), "The position at which the pattern is found, or after it; 0 when it is not.";
    "REGEXP_SUBSTR" 2..5 "str, pattern [, pos [, occurrence [, match_type]]]" result::text, Always, Constant, Strict(regexp_substr), "The part of the text that matches the pattern.";
    "REGEXP_REPLACE" 3..6 "str, pattern, replacement [, pos [, occurrence [, match_type]]]" result::text, Always, Constant, Strict(regexp_replace), "The text with what matches the pattern replaced.";
}

/// The compiled pattern of the second argument, with the flags of the argument at `flags_idx`.
fn compiled(values: &[Value<'_>], flags_idx: usize, call: &Call<'_>) -> Result<Regex> {
    regexp::compiled(&call.text(values, 1), &call.text(values, flags_idx))
}

fn regexp_like<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let regex = compiled(values, 2, call)?;
    Ok(Value::boolean(regex.is_match(&call.text(values, 0))))
}

/// Error 3686.
fn out_of_bounds() -> Error {
    let text = "Index out of bounds in regular expression search.";
    Error::new(Code::RegexpOutOfBounds, text)
}

/// Where the search begins, in bytes: at the character that the argument at `idx` says.
fn start(text: &str, values: &[Value<'_>], (idx, call): (usize, &Call<'_>)) -> Result<usize> {
    let skipped = usize::try_from(call.count_or(values, idx, 1)?)
        .ok()
        .and_then(|position| position.checked_sub(1));
    let mut starts = text
        .char_indices()
        .map(|(start, _)| start)
        .chain([text.len()]);
    skipped
        .and_then(|skipped| starts.nth(skipped))
        .ok_or_else(out_of_bounds)
}

/// Which occurrence is meant, from 0; what is below the first means the first.
fn nth(values: &[Value<'_>], idx: usize, call: &Call<'_>) -> Result<usize> {
    let occurrence = call.count_or(values, idx, 1)?;
    Ok(usize::try_from(occurrence).map_or(0, |nth| nth.saturating_sub(1)))
}

/// Matches from a place on; anchors mean the whole text.
fn matches<'r>(
    regex: &'r Regex,
    text: &'r str,
    start: usize,
) -> impl Iterator<Item = regex::Match<'r>> {
    let mut at = Some(start);
    std::iter::from_fn(move || {
        let found = regex.find_at(text, at.filter(|at| *at <= text.len())?)?;
        at = after(&found, text);
        Some(found)
    })
}

/// Where the search goes on; behind an empty match one character later.
fn after(found: &regex::Match<'_>, text: &str) -> Option<usize> {
    if !found.is_empty() {
        return Some(found.end());
    }
    let next = text.get(found.end()..)?.chars().next()?;
    Some(found.end() + next.len_utf8())
}

fn regexp_instr<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = call.text(values, 0);
    let regex = compiled(values, 5, call)?;
    let start = start(&text, values, (2, call))?;
    let is_after = match call.count(values, 4)? {
        0 => false,
        1 => true,
        _ => {
            let text = "Incorrect arguments to regexp_instr: return_option must be 1 or 0.";
            return Err(Error::new(Code::WrongArguments, text));
        }
    };
    let found = matches(&regex, &text, start).nth(nth(values, 3, call)?);
    let at = found.map(|found| if is_after { found.end() } else { found.start() });
    let before = at.and_then(|at| text.get(..at));
    Ok(of_count(
        before.map_or(0, |before| before.chars().count() + 1),
    ))
}

fn regexp_substr<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = call.text(values, 0);
    let regex = compiled(values, 4, call)?;
    let start = start(&text, values, (2, call))?;
    let found = matches(&regex, &text, start).nth(nth(values, 3, call)?);
    Ok(found.map_or(Value::Null, |found| of_text(found.as_str())))
}

fn regexp_replace<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (text, new) = (call.text(values, 0), call.text(values, 2));
    let regex = compiled(values, 5, call)?;
    let mut at = start(&text, values, (3, call))?;
    let occurrence = call.count(values, 4)?;
    let only = usize::try_from(occurrence).ok().filter(|nth| *nth != 0);
    let mut out = text.get(..at).unwrap_or("").to_owned();
    let mut copied = at;
    for turn in 1.. {
        let Some(groups) = regex.captures_at(&text, at) else {
            break;
        };
        let Some(found) = groups.get(0) else { break };
        if only.is_none_or(|only| only == turn) {
            out.push_str(text.get(copied..found.start()).unwrap_or(""));
            expand(&new, &groups, &mut out)?;
            copied = found.end();
            if !call.fits(out.len().checked_add(text.len())) {
                return Ok(Value::Null);
            }
        }
        match after(&found, &text) {
            Some(next) if only.is_none_or(|only| turn < only) => at = next,
            Some(_) | None => break,
        }
    }
    out.push_str(text.get(copied..).unwrap_or(""));
    Ok(Value::Text(Cow::Owned(out)))
}

/// The replacement with `$1` for a group and `\` in front of what is meant as it is.
fn expand(new: &str, groups: &Captures<'_>, out: &mut String) -> Result<()> {
    let mut chars = new.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            '$' => {
                let mut number: Option<usize> = None;
                // As many digits as still name a group.
                while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                    let digit = usize::try_from(digit).unwrap_or(0);
                    let longer = number.unwrap_or(0).saturating_mul(10).saturating_add(digit);
                    if number.is_some() && groups.len() <= longer {
                        break;
                    }
                    number = Some(longer);
                    chars.next();
                }
                let number = number.filter(|number| *number < groups.len());
                let number = number.ok_or_else(out_of_bounds)?;
                out.push_str(groups.get(number).map_or("", |group| group.as_str()));
            }
            other => out.push(other),
        }
    }
    Ok(())
}
