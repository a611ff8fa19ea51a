//! The functions of regular expressions. Patterns and their flags are `eval/regexp`.
//!
//! Positions count characters from 1. Source: MySQL manual, "Regular Expressions".

use std::borrow::Cow;

use regex::{Captures, Regex};

use super::super::eval::regexp::{self, Alphabet, Pattern};
use super::super::eval::typing::is_binary;
use super::super::expr::Expr;
use super::growing::Growing;
use super::watch::Watch;
use super::{Call, of_count, result};
use crate::error::{Code, Error, Result};
use crate::types::{ColumnType, Value};

functions! {
    /// Regular expressions.
    TABLE of Text:
    "REGEXP_LIKE" 2..3 "str, pattern [, match_type]" result::int, AnyArgument, Constant, Strict(regexp_like), "1 when the pattern is found in the text, else 0.";
    "REGEXP_INSTR" 2..6 "str, pattern [, pos [, occurrence [, return_option [, match_type]]]]" result::int, AnyArgument, Constant, Strict(regexp_instr), "The position at which the pattern is found, or after it; 0 when it is not.";
    "REGEXP_SUBSTR" 2..5 "str, pattern [, pos [, occurrence [, match_type]]]" found, Always, Constant, Strict(regexp_substr), "The part of the text that matches the pattern.";
    "REGEXP_REPLACE" 3..6 "str, pattern, replacement [, pos [, occurrence [, match_type]]]" found, Always, Constant, Strict(regexp_replace), "The text with what matches the pattern replaced.";
}

/// The type of what is found or made of it: that of what is searched and the pattern together.
fn found(args: &[Expr]) -> ColumnType {
    result::string(args.get(..2).unwrap_or_default())
}

/// What the characters of a call are.
fn alphabet(call: &Call<'_>) -> Alphabet {
    if is_binary(call.ty) {
        return Alphabet::Bytes;
    }
    match call.args {
        [searched, pattern, ..] => Alphabet::of([searched, pattern]),
        _ => Alphabet::Characters,
    }
}

/// The argument at `idx` as it is searched for, searched in or put in.
fn searched<'v, 'a>(values: &'v [Value<'a>], idx: usize, call: &Call<'a>) -> Cow<'v, str> {
    match (alphabet(call), Call::arg(values, idx)) {
        (Alphabet::Bytes, bytes @ Value::Bytes(_)) => Alphabet::Bytes.text(bytes, call.ctx),
        (Alphabet::Bytes | Alphabet::Characters, _) => call.text(values, idx),
    }
}

/// The compiled pattern of the second argument, with the flags of the argument at `flags_idx`, to be
/// searched for in `text`.
fn compiled(
    values: &[Value<'_>],
    (flags_idx, text): (usize, &str),
    call: &Call<'_>,
) -> Result<Pattern> {
    let (pattern, flags) = (searched(values, 1, call), call.text(values, flags_idx));
    regexp::compiled(&pattern, &flags, text.len())
}

fn regexp_like<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = searched(values, 0, call);
    let pattern = compiled(values, (2, &text), call)?;
    let steps = pattern.steps(text.len());
    let is_match = call.ctx.at_length(steps, || pattern.is_match(&text))?;
    Ok(Value::boolean(is_match))
}

/// Bytes of a text that are gone through in about a step, where a pattern has few places.
const BYTES_PER_STEP: usize = 16;

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

/// What searching again and again takes, from each match to the end of the text.
fn searches_steps(pattern: &Pattern, text: &str) -> usize {
    let searches = text.len() / BYTES_PER_STEP;
    pattern
        .steps(text.len())
        .max(text.len().saturating_mul(searches))
}

/// The match of that number from a place on; anchors mean the whole text.
fn nth_match<'t>(
    (pattern, text): (&Pattern, &'t str),
    start: usize,
    (nth, call): (usize, &Call<'_>),
) -> Result<Option<regex::Match<'t>>> {
    let steps = searches_steps(pattern, text);
    let find = || find_nth((pattern.regex(), text), start, (nth, call));
    call.ctx.at_length(steps, find)
}

fn find_nth<'t>(
    (regex, text): (&Regex, &'t str),
    start: usize,
    (nth, call): (usize, &Call<'_>),
) -> Result<Option<regex::Match<'t>>> {
    let (mut at, mut watch) = (start, Watch::default());
    for _ in 0..nth {
        watch.steps(text.len().saturating_sub(at), call.ctx)?;
        let next = regex
            .find_at(text, at)
            .and_then(|found| after(&found, text));
        match next {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    Ok(regex.find_at(text, at))
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
    let text = searched(values, 0, call);
    let pattern = compiled(values, (5, &text), call)?;
    let start = start(&text, values, (2, call))?;
    let is_after = match call.count(values, 4)? {
        0 => false,
        1 => true,
        _ => {
            let text = "Incorrect arguments to regexp_instr: return_option must be 1 or 0.";
            return Err(Error::new(Code::WrongArguments, text));
        }
    };
    let found = nth_match((&pattern, &text), start, (nth(values, 3, call)?, call))?;
    let at = found.map(|found| if is_after { found.end() } else { found.start() });
    let before = at.and_then(|at| text.get(..at));
    Ok(of_count(
        before.map_or(0, |before| before.chars().count() + 1),
    ))
}

fn regexp_substr<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = searched(values, 0, call);
    let pattern = compiled(values, (4, &text), call)?;
    let start = start(&text, values, (2, call))?;
    let found = nth_match((&pattern, &text), start, (nth(values, 3, call)?, call))?;
    let value = |found: regex::Match<'_>| alphabet(call).value(found.as_str().to_owned());
    Ok(found.map_or(Value::Null, value))
}

fn regexp_replace<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (text, new) = (searched(values, 0, call), searched(values, 2, call));
    let pattern = compiled(values, (5, &text), call)?;
    let start = start(&text, values, (3, call))?;
    let occurrence = call.count(values, 4)?;
    let only = usize::try_from(occurrence).ok().filter(|nth| *nth != 0);
    let replace = || replaced((pattern.regex(), &text), (start, only), (&new, call));
    let replaced = call
        .ctx
        .at_length(searches_steps(&pattern, &text), replace)?;
    Ok(replaced.map_or(Value::Null, |text| alphabet(call).value(text)))
}

/// The text with the matches from a place on replaced, or only that of a number; `None` where it would become too
/// long.
fn replaced(
    (regex, text): (&Regex, &str),
    (start, only): (usize, Option<usize>),
    (new, call): (&str, &Call<'_>),
) -> Result<Option<String>> {
    let (mut out, mut at, mut copied) = (Growing::new(call), start, 0);
    let mut watch = Watch::default();
    for turn in 1.. {
        watch.steps(text.len().saturating_sub(at), call.ctx)?;
        let Some(groups) = regex.captures_at(text, at) else {
            break;
        };
        let Some(found) = groups.get(0) else { break };
        if only.is_none_or(|only| only == turn) {
            let between = text.get(copied..found.start()).unwrap_or("");
            if !(out.push(between)? && expand(new, &groups, &mut out)?) {
                return Ok(None);
            }
            copied = found.end();
        }
        match after(&found, text) {
            Some(next) if only.is_none_or(|only| turn < only) => at = next,
            Some(_) | None => break,
        }
    }
    let fits = out.push(text.get(copied..).unwrap_or(""))?;
    Ok(fits.then(|| out.into_text()))
}

/// The replacement with `$1` for a group and `\` in front of what is meant as it is; `false` where the text may
/// not become as long.
fn expand(new: &str, groups: &Captures<'_>, out: &mut Growing<'_, '_>) -> Result<bool> {
    let mut rest = new;
    while let Some(at) = rest.find(['\\', '$']) {
        let (plain, special) = rest.split_at(at);
        let mut chars = special.chars();
        let is_group = chars.next() == Some('$');
        let (part, after) = if is_group {
            let (number, after) = group_number(chars.as_str(), groups.len())?;
            (groups.get(number).map_or("", |group| group.as_str()), after)
        } else {
            chars.next();
            let after = chars.as_str();
            let escaped = special.len() - after.len();
            (special.get(1..escaped).unwrap_or(""), after)
        };
        if !(out.push(plain)? && out.push(part)?) {
            return Ok(false);
        }
        rest = after;
    }
    out.push(rest)
}

/// The number that a text begins with, of as many digits as still name one of `count` groups, and what follows it.
///
/// # Errors
/// 3686 where there is none.
fn group_number(text: &str, count: usize) -> Result<(usize, &str)> {
    let mut number: Option<usize> = None;
    let mut rest = text;
    while let Some(digit) = rest.chars().next().and_then(|c| c.to_digit(10)) {
        let digit = usize::try_from(digit).unwrap_or(0);
        let longer = number.unwrap_or(0).saturating_mul(10).saturating_add(digit);
        if number.is_some() && count <= longer {
            break;
        }
        number = Some(longer);
        rest = rest.get(1..).unwrap_or("");
    }
    let number = number.filter(|number| *number < count);
    number
        .map(|number| (number, rest))
        .ok_or_else(out_of_bounds)
}
