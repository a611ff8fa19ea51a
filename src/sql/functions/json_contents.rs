//! Functions that ask what a `JSON` document holds, and where.
//!
//! Source: MySQL manual, "Functions That Search JSON Values".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use serde_json::Value as Json;

use super::json::{document, of_json, text_of_json, value_of};
use super::json_path::{Path, sorted};
use super::{Call, of_text, result};
use crate::error::{Code, Error, Result};
use crate::sql::eval::{convert, like};
use crate::types::Value;
use crate::types::json::{compare_json, write_string};

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
        path.find(&target).first().copied()
    };
    Ok(found.map_or(Value::Null, |target| {
        Value::boolean(has(target, &candidate))
    }))
}

/// An array has what one of its cells has; an object has the objects of some of its members.
fn has(target: &Json, candidate: &Json) -> bool {
    match (target, candidate) {
        (Json::Array(_), Json::Array(wanted)) => wanted.iter().all(|wanted| has(target, wanted)),
        (Json::Array(cells), wanted) => cells.iter().any(|cell| has(cell, wanted)),
        (Json::Object(members), Json::Object(wanted)) => wanted.iter().all(|(name, wanted)| {
            let member = members.get(name);
            member.is_some_and(|member| has(member, wanted))
        }),
        (target, candidate) => compare_json(target, candidate).is_eq(),
    }
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
        let is_found = !path.find(&document).is_empty();
        if is_found != is_all {
            return Ok(Value::boolean(is_found));
        }
        found_any = is_found;
    }
    Ok(Value::boolean(found_any))
}

fn overlaps<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (a, b) = (document(values, 0, call)?, document(values, 1, call)?);
    Ok(Value::boolean(match (&a, &b) {
        (Json::Object(a), Json::Object(b)) => a.iter().any(|(name, member)| {
            b.get(name)
                .is_some_and(|other| compare_json(member, other).is_eq())
        }),
        (Json::Array(a), Json::Array(b)) => a.iter().any(|cell| is_cell(cell, b)),
        (Json::Array(cells), other) | (other, Json::Array(cells)) => is_cell(other, cells),
        (a, b) => compare_json(a, b).is_eq(),
    }))
}

fn is_cell(wanted: &Json, cells: &[Json]) -> bool {
    cells.iter().any(|cell| compare_json(cell, wanted).is_eq())
}

fn member_of<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let wanted = value_of(Call::arg(values, 0), call.ctx)?;
    let document = document(values, 1, call)?;
    Ok(Value::boolean(match &document {
        Json::Array(cells) => is_cell(&wanted, cells),
        other => compare_json(other, &wanted).is_eq(),
    }))
}

/// A search through a document.
struct Search<'s, 'c> {
    pattern: &'s str,
    escape: Option<char>,
    /// Where to look; everywhere when there is none.
    roots: Option<Vec<*const Json>>,
    is_all: bool,
    found: Vec<String>,
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
    let mut roots = (4 < values.len()).then(Vec::new);
    for idx in 4..values.len() {
        let path = Path::parse(&call.text(values, idx))?;
        let found = path.find(&document);
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
        call,
    };
    let is_inside = search.roots.is_none();
    search.visit(&document, "$", is_inside)?;
    match search.found.as_slice() {
        [] => Ok(Value::Null),
        [only] => of_json(&Json::String(only.clone())),
        several => of_json(&Json::Array(
            several.iter().cloned().map(Json::String).collect(),
        )),
    }
}

impl Search<'_, '_> {
    fn visit(&mut self, json: &Json, path: &str, is_inside: bool) -> Result<()> {
        if !self.is_all && !self.found.is_empty() {
            return Ok(());
        }
        let is_root = |roots: &Vec<*const Json>| roots.contains(&std::ptr::from_ref(json));
        let is_inside = is_inside || self.roots.as_ref().is_some_and(is_root);
        match json {
            Json::String(text) if is_inside => {
                let go_on = || self.call.ctx.facts.check_stop();
                if like::is_like(text, self.pattern, self.escape, go_on)? {
                    self.found.push(path.to_owned());
                }
            }
            Json::Array(cells) => {
                for (idx, cell) in cells.iter().enumerate() {
                    self.visit(cell, &format!("{path}[{idx}]"), is_inside)?;
                }
            }
            Json::Object(members) => {
                for (name, member) in sorted(members) {
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

/// `JSON_VALUE(doc, path, on_empty, default, on_error, default)`: the actions are `NULL`, `ERROR`
/// and `DEFAULT`.
fn value<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if Call::arg(values, 0).is_null() || Call::arg(values, 1).is_null() {
        return Ok(Value::Null);
    }
    let path = Path::parse(&call.text(values, 1))?;
    let found = match document(values, 0, call) {
        Ok(document) => path
            .find(&document)
            .into_iter()
            .cloned()
            .collect::<Vec<_>>(),
        Err(error) => return on(values, (4, call), error),
    };
    match <[Json; 1]>::try_from(found) {
        Ok([Json::Null]) => Ok(Value::Null),
        Ok([Json::String(text)]) => Ok(of_text(text)),
        Ok([other]) => Ok(of_text(text_of_json(&other))),
        Err(several) if several.is_empty() => {
            let text = "No value was found by 'json_value' on the specified path.";
            on(values, (2, call), Error::new(Code::JsonValueMissing, text))
        }
        Err(_) => {
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
            let default = Call::arg(values, idx + 1);
            Ok(of_text(convert::text(default, call.ctx)))
        }
        _ => Ok(Value::Null),
    }
}
