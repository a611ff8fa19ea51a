//! JSON paths: `$`, `.name`, `."any name"`, `.*`, `[3]`, `[last-1]`, `[1 to last]`, `[*]`, `**`.
//!
//! Reading them and following them to what is there; making what is not there is `json_change`.
//! Source: MySQL manual, "JSON Path Syntax".

use std::collections::HashSet;

use serde_json::Value as Json;

use super::watch::Watch;
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::sql::context::EvalContext;
use crate::types::json::in_order;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// `.name`.
    Member(String),
    /// `.*`.
    AnyMember,
    /// `[n]`.
    Cell(Index),
    /// `[n to m]`.
    Cells(Index, Index),
    /// `[*]`.
    AnyCell,
    /// `**`: here and everywhere below.
    Anywhere,
}

/// The position of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    /// From the first, which is 0.
    Start(usize),
    /// From the last, which is 0.
    End(usize),
}

impl Index {
    /// The position in an array of so many cells; `Err` has the end that it lies beyond.
    pub(super) fn at(self, len: usize) -> std::result::Result<usize, usize> {
        match self {
            Index::Start(idx) if idx < len => Ok(idx),
            Index::Start(_) => Err(len),
            Index::End(back) => len.checked_sub(back.saturating_add(1)).ok_or(0),
        }
    }
}

/// Steps of a path: more than documents have levels, for what is no array counts as one of itself.
const STEPS_MAX: usize = 1000;

/// What finding a value counts, in steps of [`Watch`].
const VALUE_STEPS: usize = 16;

/// What is remembered is asked for in pieces of this; less is not.
const LARGE_BYTES_MIN: usize = 16 << 10;

/// Bytes that remembering one takes, in a list and in a set.
const VALUE_BYTES: usize = 32;

/// A path into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    steps: Vec<Step>,
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// 3143 for a text that is none, 3157 past [`STEPS_MAX`].
    pub(super) fn parse(text: &str) -> Result<Path> {
        let invalid = |rest: &str| {
            let passed = text.chars().count().saturating_sub(rest.chars().count());
            let begins_step = rest.starts_with(['.', '[', '*']) || passed == 0;
            let at = passed + usize::from(begins_step);
            let text = format!(
                "Invalid JSON path expression. The error is around character position {at}."
            );
            Error::new(Code::InvalidJsonPath, text)
        };
        let trimmed = text.trim_ascii();
        let mut rest = trimmed
            .strip_prefix('$')
            .ok_or_else(|| invalid(text))?
            .trim_ascii_start();
        let mut steps = Vec::new();
        let mut count = 0_usize;
        while !rest.is_empty() {
            let (step, after) = step(rest).ok_or_else(|| invalid(rest))?;
            count += 1;
            if count <= STEPS_MAX {
                steps.push(step);
            }
            rest = after.trim_ascii_start();
        }
        if STEPS_MAX < count {
            let text = format!("The JSON path has {count} steps, the most is {STEPS_MAX}.");
            return Err(Error::new(Code::JsonTooDeep, text));
        }
        if steps.last() == Some(&Step::Anywhere) {
            return Err(invalid(rest));
        }
        Ok(Path { steps })
    }

    /// As [`Path::parse`], of a path that leads to one value.
    ///
    /// # Errors
    /// 3143 for a text that is no path, 3149 for one that may find more than one value.
    pub(super) fn parse_single(text: &str) -> Result<Path> {
        let path = Path::parse(text)?;
        if path.is_plural() {
            let text = "In this situation, path expressions may not contain the * and ** tokens \
                        or an array range.";
            return Err(Error::new(Code::JsonPathWildcard, text));
        }
        Ok(path)
    }

    /// The path without its last step, and that step; `None` for `$`.
    pub(super) fn split_last(&self) -> Option<(&[Step], &Step)> {
        self.steps.split_last().map(|(last, rest)| (rest, last))
    }

    /// Whether the path may find more than one value.
    pub(super) fn is_plural(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Member(_) | Step::Cell(_) => false,
            Step::AnyMember | Step::Cells(..) | Step::AnyCell | Step::Anywhere => true,
        })
    }

    /// What the path finds, each value once.
    ///
    /// # Errors
    /// When the statement is to stop: 1317 and its like.
    pub(super) fn find<'j>(&self, document: &'j Json, ctx: &EvalContext) -> Result<Vec<&'j Json>> {
        let is_plural_below = self.steps.contains(&Step::Anywhere);
        let (mut found, mut watch, mut new_bytes) = (vec![document], Watch::default(), 0);
        for step in &self.steps {
            let mut next: Vec<&Json> = Vec::new();
            let mut seen = HashSet::new();
            for json in found {
                let before = next.len();
                if *step == Step::Anywhere {
                    below(json, &mut seen, &mut next);
                } else {
                    step.find(json, &mut next);
                }
                let more = next.len() - before;
                new_bytes += VALUE_BYTES * more;
                if LARGE_BYTES_MIN <= new_bytes {
                    ceiling::drip("a JSON path", std::mem::take(&mut new_bytes))?;
                }
                watch.steps(VALUE_STEPS * (1 + more), ctx)?;
            }
            // Only below `**` can two ways lead to one value.
            if is_plural_below && *step != Step::Anywhere {
                next.retain(|json| seen.insert(std::ptr::from_ref::<Json>(json)));
            }
            found = next;
        }
        Ok(found)
    }

    /// The one value that a path without wildcards finds, to be changed.
    pub(super) fn find_mut<'j>(&self, document: &'j mut Json) -> Option<&'j mut Json> {
        find_mut(&self.steps, document)
    }
}

/// Follows steps without wildcards.
pub(super) fn find_mut<'j>(steps: &[Step], document: &'j mut Json) -> Option<&'j mut Json> {
    let mut at = document;
    for step in steps {
        at = match (step, at) {
            (Step::Member(name), Json::Object(members)) => members.get_mut(name)?,
            (Step::Cell(index), Json::Array(cells)) => {
                let idx = index.at(cells.len()).ok()?;
                cells.get_mut(idx)?
            }
            (Step::Cell(index), scalar) if index.at(1).is_ok() => scalar,
            (
                Step::Member(_)
                | Step::AnyMember
                | Step::Cell(_)
                | Step::Cells(..)
                | Step::AnyCell
                | Step::Anywhere,
                _,
            ) => return None,
        };
    }
    Some(at)
}

impl Step {
    /// What one step finds in one value; of [`Step::Anywhere`] see [`below`].
    fn find<'j>(&self, json: &'j Json, found: &mut Vec<&'j Json>) {
        match (self, json) {
            (Step::Member(name), Json::Object(members)) => found.extend(members.get(name)),
            (Step::AnyMember, Json::Object(members)) => {
                found.extend(in_order(members).into_iter().map(|(_, member)| member));
            }
            (Step::Cell(index), Json::Array(cells)) => {
                found.extend(index.at(cells.len()).ok().and_then(|idx| cells.get(idx)));
            }
            (Step::Cells(from, to), Json::Array(cells)) => {
                let start = from.at(cells.len()).unwrap_or_else(|edge| edge);
                let until = to.at(cells.len()).map_or_else(|edge| edge, |idx| idx + 1);
                found.extend(cells.get(start..until).unwrap_or_default());
            }
            (Step::AnyCell, Json::Array(cells)) => found.extend(cells),
            // What is no array counts as an array of itself.
            (Step::Cell(index), scalar) => {
                found.extend(index.at(1).ok().map(|_| scalar));
            }
            (Step::Cells(from, to), scalar) => {
                let start = from.at(1).unwrap_or_else(|edge| edge);
                let until = to.at(1).map_or_else(|edge| edge, |idx| idx + 1);
                if start < until {
                    found.push(scalar);
                }
            }
            (Step::Member(_) | Step::AnyMember | Step::AnyCell | Step::Anywhere, _) => {}
        }
    }
}

/// The value itself and all values in it, but those that were seen, which have been gone through.
fn below<'j>(json: &'j Json, seen: &mut HashSet<*const Json>, found: &mut Vec<&'j Json>) {
    if !seen.insert(std::ptr::from_ref(json)) {
        return;
    }
    found.push(json);
    match json {
        Json::Array(cells) => cells.iter().for_each(|cell| below(cell, seen, found)),
        Json::Object(members) => {
            for (_, member) in in_order(members) {
                below(member, seen, found);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// The first step, and what follows it.
fn step(text: &str) -> Option<(Step, &str)> {
    if let Some(rest) = text.strip_prefix("**") {
        return Some((Step::Anywhere, rest)).filter(|_| !rest.starts_with('*'));
    }
    if let Some(after) = text.strip_prefix('[') {
        let (inside, rest) = after.split_once(']')?;
        return cells(inside.trim_ascii()).map(|step| (step, rest));
    }
    let after = text.strip_prefix('.')?.trim_ascii_start();
    if let Some(rest) = after.strip_prefix('*') {
        return Some((Step::AnyMember, rest));
    }
    if after.starts_with('"') {
        let mut names = serde_json::Deserializer::from_str(after).into_iter::<String>();
        let name = names.next()?.ok()?;
        return Some((Step::Member(name), after.get(names.byte_offset()..)?));
    }
    let len = after
        .char_indices()
        .find(|(_, c)| !(c.is_alphanumeric() || matches!(c, '_' | '$')))
        .map_or(after.len(), |(len, _)| len);
    let (name, rest) = after.split_at_checked(len)?;
    let is_name = name
        .chars()
        .next()
        .is_some_and(|first| !first.is_ascii_digit());
    is_name.then(|| (Step::Member(name.to_owned()), rest))
}

/// What stands between brackets.
fn cells(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::AnyCell);
    }
    let (from, rest) = index(inside)?;
    if rest.is_empty() {
        return Some(Step::Cell(from));
    }
    let is_apart = rest.starts_with(|c: char| c.is_ascii_whitespace());
    let to = rest.trim_ascii_start().strip_prefix("to")?;
    let is_apart = is_apart && to.starts_with(|c: char| c.is_ascii_whitespace());
    let (to, rest) = index(to.trim_ascii_start())?;
    let is_forward = match (from, to) {
        (Index::Start(from), Index::Start(to)) => from <= to,
        (Index::End(from), Index::End(to)) => to <= from,
        (Index::Start(_), Index::End(_)) | (Index::End(_), Index::Start(_)) => true,
    };
    (is_apart && is_forward && rest.is_empty()).then_some(Step::Cells(from, to))
}

/// `3`, `last` or `last - 3`, and what follows it.
fn index(text: &str) -> Option<(Index, &str)> {
    let Some(after) = text.strip_prefix("last") else {
        return number(text).map(|(idx, rest)| (Index::Start(idx), rest));
    };
    match after.trim_ascii_start().strip_prefix('-') {
        None => Some((Index::End(0), after)),
        Some(back) => number(back.trim_ascii_start()).map(|(idx, rest)| (Index::End(idx), rest)),
    }
}

/// The largest index of a cell, as in MySQL.
const CELL_MAX: usize = 0xFFFF_FFFF;

fn number(text: &str) -> Option<(usize, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(len)?;
    let number = digits.parse().ok().filter(|number| *number <= CELL_MAX)?;
    Some((number, rest))
}
