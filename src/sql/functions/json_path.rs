//! JSON paths: `$`, `.name`, `."any name"`, `[3]`, `[last]`, `[last-1]`, `.*`, `[*]`.
//!
//! `**` and ranges of cells are refused. Source: MySQL manual, "JSON Path Syntax".

use serde_json::Value as Json;

use crate::error::{Code, Error, Result};

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    AnyMember,
    Cell(usize),
    /// Counted from the last cell.
    CellFromEnd(usize),
    AnyCell,
}

/// A path into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    steps: Vec<Step>,
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// 3143 for a text that is none.
    pub(super) fn parse(text: &str) -> Result<Path> {
        let invalid = |rest: &str| {
            let at = text.chars().count().saturating_sub(rest.chars().count());
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
        while !rest.is_empty() {
            let (step, after) = step(rest).ok_or_else(|| invalid(rest))?;
            steps.push(step);
            rest = after.trim_ascii_start();
        }
        Ok(Path { steps })
    }

    /// Whether the path may find more than one value.
    pub(super) fn is_plural(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::AnyMember | Step::AnyCell))
    }

    /// What the path finds.
    pub(super) fn find<'j>(&self, document: &'j Json) -> Vec<&'j Json> {
        self.steps.iter().fold(vec![document], |found, step| {
            found.into_iter().flat_map(|json| step.find(json)).collect()
        })
    }
}

impl Step {
    fn find<'j>(&self, json: &'j Json) -> Vec<&'j Json> {
        match (self, json) {
            (Step::Member(name), Json::Object(members)) => members.get(name).into_iter().collect(),
            (Step::AnyMember, Json::Object(members)) => members.values().collect(),
            (Step::Cell(idx), Json::Array(cells)) => cells.get(*idx).into_iter().collect(),
            (Step::CellFromEnd(back), Json::Array(cells)) => {
                cells.iter().rev().nth(*back).into_iter().collect()
            }
            (Step::AnyCell, Json::Array(cells)) => cells.iter().collect(),
            // What is no array counts as an array of itself.
            (Step::Cell(0) | Step::CellFromEnd(0), scalar) => vec![scalar],
            (
                Step::Member(_)
                | Step::AnyMember
                | Step::Cell(_)
                | Step::CellFromEnd(_)
                | Step::AnyCell,
                _,
            ) => Vec::new(),
        }
    }
}

/// The first step, and what follows it.
fn step(text: &str) -> Option<(Step, &str)> {
    if let Some(after) = text.strip_prefix('[') {
        let (inside, rest) = after.split_once(']')?;
        return cell(inside.trim_ascii()).map(|step| (step, rest));
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

fn cell(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::AnyCell);
    }
    let Some(back) = inside.strip_prefix("last") else {
        return inside.parse().ok().map(Step::Cell);
    };
    if back.is_empty() {
        return Some(Step::CellFromEnd(0));
    }
    back.trim_ascii_start()
        .strip_prefix('-')?
        .trim_ascii()
        .parse()
        .ok()
        .map(Step::CellFromEnd)
}
