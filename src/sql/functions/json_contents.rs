//! Functions that ask what a `JSON` document holds, and where.
//!
//! Source: MySQL manual, "Functions That Search JSON Values".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use std::collections::HashSet;

use serde_json::Value as Json;

use super::json::{document, joined, of_json, quoted, text_of_json, value_of};
use super::json_path::Path;
use super::json_table::{self, not_of_type, scalar_of};
use super::watch::Watch;
use super::{Call, result};
use crate::ceiling;
use crate::error::{Code, Error, Result};
use crate::sql::context::EvalContext;
use crate::sql::eval::like;
use crate::types::json::{compare_json, in_order, write_string};
use crate::types::{ColumnType, Value};

functions! {
    /// Contents of documents.
    TABLE of Json:
    "JSON_CONTAINS" 2..3 "doc, candidate [, path]" result::int, Always, Constant, Strict(contains), "1 when the document, or what a path finds in it, contains the candidate, else 0.";
    "JSON_CONTAINS_PATH" 3..many "doc, {'one' | 'all'}, path, ..." result::int, Always, Constant, Strict(contains_path), "1 when one of the paths, or each of them, finds something, else 0.";
    "JSON_OVERLAPS" 2..2 "doc, doc" result::int, AnyArgument, Constant, Strict(overlaps), "1 when the documents have a member or cell in common, else 0.";
    "JSON_SEARCH" 3..many "doc, {'one' | 'all'}, pattern [, escape [, path, ...]]" result::json, Always, Constant, Eager(search), "The paths to strings that a LIKE pattern matches.";
    "JSON_VALUE" 2..6 "doc, path [RETURNING type] [{NULL | ERROR | DEFAULT a} ON {EMPTY | ERROR}]" result::text, Always, Constant, Eager(value), "The text of the scalar that a path finds.";
    "MEMBER_OF" 2..2 "a, doc" result::int, AnyArgument, Constant, Strict(member_of), "1 when the value is a cell of the array, else 0: what MEMBER OF computes.";
}

fn contains<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (target, candidate) = (document(values, 0, call)?, document(values, 1, call)?);
    let found = if values.len() < 3 {
        Some(&target)
    } else {
        let path = Path::parse_single(&call.text(values, 2))?;
        path.find(&target, call.ctx)?.first().copied()
    };
    let Some(target) = found else {
        return Ok(Value::Null);
    };
    let mut comparison = Comparison::of(call.ctx);
    comparison.has(target, &candidate).map(Value::boolean)
}

/// Comparing parts of one document with parts of another: as often as they have parts, times each other, so it is
/// asked now and then whether to go on.
struct Comparison<'c> {
    ctx: &'c EvalContext,
    watch: Watch,
}

/// What comparing two values counts, in steps of [`Watch`].
const COMPARISON_STEPS: usize = 16;

impl<'c> Comparison<'c> {
    fn of(ctx: &'c EvalContext) -> Comparison<'c> {
        Comparison {
            ctx,
            watch: Watch::default(),
        }
    }

    /// Whether a document has another: an array has what one of its cells has, and another array where it has all of
    /// its cells; an object has the objects of some of its members.
    fn has(&mut self, target: &Json, candidate: &Json) -> Result<bool> {
        self.step()?;
        match (target, candidate) {
            (Json::Array(cells), Json::Array(wanted)) => {
                all(wanted, |wanted| self.has_in_cell(cells, wanted))
            }
            (Json::Array(cells), wanted) => self.has_in_cell(cells, wanted),
            (Json::Object(members), Json::Object(wanted)) => {
                all(wanted, |(name, wanted)| match members.get(name) {
                    Some(member) => self.has(member, wanted),
                    None => self.step().map(|()| false),
                })
            }
            (target, candidate) => self.are_equal(target, candidate),
        }
    }

    fn has_in_cell(&mut self, cells: &[Json], wanted: &Json) -> Result<bool> {
        any(cells, |cell| self.has(cell, wanted))
    }

    /// Whether a value is one of the cells.
    fn is_cell(&mut self, wanted: &Json, cells: &[Json]) -> Result<bool> {
        any(cells, |cell| self.are_equal(cell, wanted))
    }

    fn are_equal(&mut self, a: &Json, b: &Json) -> Result<bool> {
        self.step()?;
        match (a, b) {
            (Json::Array(a), Json::Array(b)) => {
                let pairs = a.iter().zip(b);
                Ok(a.len() == b.len() && all(pairs, |(a, b)| self.are_equal(a, b))?)
            }
            (Json::Object(a), Json::Object(b)) => {
                let is_there = |(name, member)| match b.get(name) {
                    Some(other) => self.are_equal(member, other),
                    None => Ok(false),
                };
                Ok(a.len() == b.len() && all(a, is_there)?)
            }
            (a, b) => Ok(compare_json(a, b).is_eq()),
        }
    }

    fn step(&mut self) -> Result<()> {
        self.watch.steps(COMPARISON_STEPS, self.ctx)
    }
}

/// Whether a condition holds for all, until it fails.
fn all<T>(
    parts: impl IntoIterator<Item = T>,
    mut holds: impl FnMut(T) -> Result<bool>,
) -> Result<bool> {
    any(parts, |part| Ok(!holds(part)?)).map(|fails| !fails)
}

/// Whether a condition holds for one, until it does.
fn any<T>(
    parts: impl IntoIterator<Item = T>,
    mut holds: impl FnMut(T) -> Result<bool>,
) -> Result<bool> {
    for part in parts {
        if holds(part)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether all paths are asked for.
///
/// # Errors
/// 3154 for another word.
fn is_all(values: &[Value<'_>], call: &Call<'_>) -> Result<bool> {
    let word = call.text(values, 1).to_ascii_lowercase();
    match word.as_str() {
        "all" => Ok(true),
        "one" => Ok(false),
        _ => {
            let name = call.function.name.to_ascii_lowercase();
            let text =
                format!("The oneOrAll argument to {name} may take these values: 'one' or 'all'.");
            Err(Error::new(Code::JsonOneOrAll, text))
        }
    }
}

fn contains_path<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let document = document(values, 0, call)?;
    let is_all = is_all(values, call)?;
    let mut found_any = false;
    for idx in 2..values.len() {
        let path = Path::parse(&call.text(values, idx))?;
        let is_found = !path.find(&document, call.ctx)?.is_empty();
        if is_found != is_all {
            return Ok(Value::boolean(is_found));
        }
        found_any = is_found;
    }
    Ok(Value::boolean(found_any))
}

fn overlaps<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (a, b) = (document(values, 0, call)?, document(values, 1, call)?);
    let mut comparison = Comparison::of(call.ctx);
    let overlap = match (&a, &b) {
        (Json::Object(a), Json::Object(b)) => any(a, |(name, member)| match b.get(name) {
            Some(other) => comparison.are_equal(member, other),
            None => Ok(false),
        }),
        (Json::Array(a), Json::Array(b)) => any(a, |cell| comparison.is_cell(cell, b)),
        (Json::Array(cells), other) | (other, Json::Array(cells)) => {
            comparison.is_cell(other, cells)
        }
        (a, b) => comparison.are_equal(a, b),
    };
    overlap.map(Value::boolean)
}

fn member_of<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let wanted = value_of(Call::arg(values, 0), call.ctx)?;
    let document = document(values, 1, call)?;
    let mut comparison = Comparison::of(call.ctx);
    let is_member = match &document {
        Json::Array(cells) => comparison.is_cell(&wanted, cells),
        other => comparison.are_equal(other, &wanted),
    };
    is_member.map(Value::boolean)
}

/// What a value that is looked at counts, in steps of [`Watch`]: its path is written.
const VISIT_STEPS: usize = 64;

/// Bytes of a path that was found, besides its text.
const FOUND_BYTES: usize = 2 * size_of::<String>();

/// A search through a document.
struct Search<'s, 'c> {
    pattern: &'s str,
    escape: Option<char>,
    /// Where to look; everywhere when there is none.
    roots: Option<HashSet<*const Json>>,
    is_all: bool,
    found: Vec<String>,
    watch: Watch,
    call: &'s Call<'c>,
}

fn search<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let is_null = |idx: usize| Call::arg(values, idx).is_null();
    if (0..3).any(is_null) || (4..values.len()).any(is_null) {
        return Ok(Value::Null);
    }
    let document = document(values, 0, call)?;
    let is_all = is_all(values, call)?;
    let escape = call.text(values, 3);
    if 1 < escape.chars().count() {
        let text = "Incorrect arguments to ESCAPE";
        return Err(Error::new(Code::WrongArguments, text));
    }
    let mut roots = (4 < values.len()).then(HashSet::new);
    for idx in 4..values.len() {
        let path = Path::parse(&call.text(values, idx))?;
        let found = path.find(&document, call.ctx)?;
        roots
            .get_or_insert_default()
            .extend(found.into_iter().map(std::ptr::from_ref::<Json>));
    }
    let mut search = Search {
        pattern: &call.text(values, 2),
        escape: Some(escape.chars().next().unwrap_or('\\')),
        roots,
        is_all,
        found: Vec::new(),
        watch: Watch::default(),
        call,
    };
    let is_inside = search.roots.is_none();
    search.visit(&document, "$", is_inside)?;
    match search.found.as_slice() {
        [] => Ok(Value::Null),
        [only] => of_json(&Json::String(only.clone())),
        several => {
            let texts = several.iter().map(|path| Ok(quoted(path)));
            joined(texts, ["[", "]"], call)
        }
    }
}

impl Search<'_, '_> {
    fn visit(&mut self, json: &Json, path: &str, is_inside: bool) -> Result<()> {
        if !self.is_all && !self.found.is_empty() {
            return Ok(());
        }
        self.watch.steps(VISIT_STEPS + path.len(), self.call.ctx)?;
        let is_root = |roots: &HashSet<*const Json>| roots.contains(&std::ptr::from_ref(json));
        let is_inside = is_inside || self.roots.as_ref().is_some_and(is_root);
        match json {
            Json::String(text) if is_inside => {
                let go_on = || self.call.ctx.facts.check_stop();
                if like::is_like(text, self.pattern, self.escape, go_on)? {
                    ceiling::drip("json_search()", FOUND_BYTES + path.len())?;
                    self.found.push(path.to_owned());
                }
            }
            Json::Array(cells) => {
                for (idx, cell) in cells.iter().enumerate() {
                    self.visit(cell, &format!("{path}[{idx}]"), is_inside)?;
                }
            }
            Json::Object(members) => {
                for (name, member) in in_order(members) {
                    self.visit(member, &format!("{path}.{}", shown_name(name)), is_inside)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A member's name as a path has it: in quotes unless it is a plain word.
fn shown_name(name: &str) -> String {
    let is_word = name.chars().enumerate().all(|(idx, c)| {
        c == '_' || c == '$' || c.is_alphabetic() || (idx != 0 && c.is_alphanumeric())
    });
    if is_word && !name.is_empty() {
        return name.to_owned();
    }
    let mut quoted = String::new();
    write_string(name, &mut quoted);
    quoted
}

/// `JSON_VALUE(doc, path, on_empty, default, on_error, default)`, of the type of the call: the actions are
/// `NULL`, `ERROR` and `DEFAULT`.
fn value<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if Call::arg(values, 0).is_null() || Call::arg(values, 1).is_null() {
        return Ok(Value::Null);
    }
    let path = Path::parse(&call.text(values, 1))?;
    let document = match document(values, 0, call) {
        Ok(document) => document,
        Err(error) => return on(values, (4, call), error),
    };
    match path.find(&document, call.ctx)?.as_slice() {
        [found] if *call.ty == ColumnType::Json => Ok(Value::Json(text_of_json(found).into())),
        [Json::Null] => Ok(Value::Null),
        [found] => match json_table::stored(scalar_of(found, call.ty), call.ty, call.ctx) {
            Some(value) => Ok(value),
            None => on(values, (4, call), not_of_type(call.ty, "json_value")),
        },
        [] => {
            let text = "No value was found by 'json_value' on the specified path.";
            on(values, (2, call), Error::new(Code::JsonValueMissing, text))
        }
        _ => {
            let text = "More than one value was found by 'json_value' on the specified path.";
            on(values, (4, call), Error::new(Code::JsonValuesMany, text))
        }
    }
}

/// What the action in the argument at `idx` makes of an error.
fn on<'a>(
    values: &[Value<'a>],
    (idx, call): (usize, &Call<'a>),
    error: Error,
) -> Result<Value<'a>> {
    match &*call.text(values, idx) {
        "ERROR" => Err(error),
        "DEFAULT" => {
            let default = Call::arg(values, idx + 1).clone();
            let stored = json_table::stored(default, call.ty, call.ctx);
            stored.ok_or_else(|| not_of_type(call.ty, "json_value"))
        }
        _ => Ok(Value::Null),
    }
}
