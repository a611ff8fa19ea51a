//! Functions that change and merge `JSON` documents. Values are normalised texts: see `types/json`.
//!
//! Source: MySQL manual, "Functions That Modify JSON Values".

use serde_json::Value as Json;

use super::json::{admit_all, document, of_json, value_of};
use super::json_path::{Index, Path, Step, find_mut};
use super::watch::Watch;
use super::{Call, result, text_bytes};
use crate::error::{Code, Error, Result};
use crate::types::Value;

functions! {
    /// Changes of documents.
    TABLE of Json:
    "JSON_SET" 3..many "doc, path, value, ..." result::json, Always, Constant, Eager(set), "The document with values put at paths, whether something is there or not.";
    "JSON_INSERT" 3..many "doc, path, value, ..." result::json, Always, Constant, Eager(insert), "The document with values put at paths where nothing is.";
    "JSON_REPLACE" 3..many "doc, path, value, ..." result::json, Always, Constant, Eager(replace), "The document with values put at paths where something is.";
    "JSON_REMOVE" 2..many "doc, path, ..." result::json, Always, Constant, Strict(remove), "The document without what is at the paths.";
    "JSON_ARRAY_APPEND" 3..many "doc, path, value, ..." result::json, Always, Constant, Eager(array_append), "The document with values added at the end of the arrays at the paths.";
    "JSON_ARRAY_INSERT" 3..many "doc, path, value, ..." result::json, Always, Constant, Eager(array_insert), "The document with values put in front of the cells at the paths.";
    "JSON_MERGE_PRESERVE" 2..many "doc, doc, ..." result::json, AnyArgument, Constant, Strict(merge_preserve), "The documents in one, equal members as arrays of both values.";
    "JSON_MERGE" 2..many "doc, doc, ..." result::json, AnyArgument, Constant, Strict(merge_preserve), "As JSON_MERGE_PRESERVE; deprecated.";
    "JSON_MERGE_PATCH" 2..many "doc, doc, ..." result::json, Always, Constant, Eager(merge_patch), "The documents in one by RFC 7396: later members win, null removes.";
}

/// What may be put where.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Set,
    Insert,
    Replace,
}

fn set<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    changed(values, call, |document, path, value| {
        put(document, path, value, Rule::Set);
        Ok(())
    })
}

fn insert<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    changed(values, call, |document, path, value| {
        put(document, path, value, Rule::Insert);
        Ok(())
    })
}

fn replace<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    changed(values, call, |document, path, value| {
        put(document, path, value, Rule::Replace);
        Ok(())
    })
}

/// The document of the first argument, changed by each pair of path and value.
fn changed<'a>(
    values: &[Value<'a>],
    call: &Call<'a>,
    change: fn(&mut Json, &Path, Json) -> Result<()>,
) -> Result<Value<'a>> {
    if values.len().is_multiple_of(2) {
        let name = call.function.name.to_ascii_lowercase();
        let text = format!("Incorrect parameter count in the call to native function '{name}'");
        return Err(Error::new(Code::WrongParameterCount, text));
    }
    let is_null = |idx: usize| Call::arg(values, idx).is_null();
    if is_null(0) || (1..values.len()).step_by(2).any(is_null) {
        return Ok(Value::Null);
    }
    admit_all(values)?;
    let mut json = document(values, 0, call)?;
    let (steps, mut watch) = (text_bytes(values), Watch::default());
    for idx in (1..values.len()).step_by(2) {
        watch.steps(steps, call.ctx)?;
        let path = Path::parse_single(&call.text(values, idx))?;
        let value = value_of(Call::arg(values, idx + 1), call.ctx)?;
        change(&mut json, &path, value)?;
    }
    of_json(&json)
}

fn put(document: &mut Json, path: &Path, value: Json, rule: Rule) {
    if let Some(there) = path.find_mut(document) {
        if rule != Rule::Insert {
            *there = value;
        }
        return;
    }
    let Some((steps, last)) = path.split_last().filter(|_| rule != Rule::Replace) else {
        return;
    };
    let Some(parent) = find_mut(steps, document) else {
        return;
    };
    match (last, parent) {
        (Step::Member(name), Json::Object(members)) => {
            members.insert(name.clone(), value);
        }
        (Step::Cell(index), Json::Array(cells)) => {
            let at = index.at(cells.len()).unwrap_or_else(|edge| edge);
            cells.insert(at, value);
        }
        // What is no array becomes one.
        (Step::Cell(index), scalar) => {
            let old = scalar.take();
            *scalar = Json::Array(match index {
                Index::Start(_) => vec![old, value],
                Index::End(_) => vec![value, old],
            });
        }
        (
            Step::Member(_) | Step::AnyMember | Step::Cells(..) | Step::AnyCell | Step::Anywhere,
            _,
        ) => {}
    }
}

fn remove<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let mut json = document(values, 0, call)?;
    let (steps, mut watch) = (text_bytes(values), Watch::default());
    for idx in 1..values.len() {
        watch.steps(steps, call.ctx)?;
        let path = Path::parse_single(&call.text(values, idx))?;
        let Some((steps, last)) = path.split_last() else {
            let text = "The path expression '$' is not allowed in this context.";
            return Err(Error::new(Code::JsonVacuousPath, text));
        };
        match (last, find_mut(steps, &mut json)) {
            (Step::Member(name), Some(Json::Object(members))) => {
                members.remove(name);
            }
            (Step::Cell(index), Some(Json::Array(cells))) => {
                if let Ok(at) = index.at(cells.len()) {
                    cells.remove(at);
                }
            }
            (
                Step::Member(_)
                | Step::AnyMember
                | Step::Cell(_)
                | Step::Cells(..)
                | Step::AnyCell
                | Step::Anywhere,
                _,
            ) => {}
        }
    }
    of_json(&json)
}

fn array_append<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    changed(values, call, |document, path, value| {
        match path.find_mut(document) {
            None => {}
            Some(Json::Array(cells)) => cells.push(value),
            Some(scalar) => *scalar = Json::Array(vec![scalar.take(), value]),
        }
        Ok(())
    })
}

fn array_insert<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    changed(values, call, |document, path, value| {
        let Some((steps, Step::Cell(index))) = path.split_last() else {
            let text = "A path expression is not a path to a cell in an array.";
            return Err(Error::new(Code::JsonPathNoCell, text));
        };
        if let Some(Json::Array(cells)) = find_mut(steps, document) {
            let at = index.at(cells.len()).unwrap_or_else(|edge| edge);
            cells.insert(at, value);
        }
        Ok(())
    })
}

fn merge_preserve<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    admit_all(values)?;
    let mut merged = document(values, 0, call)?;
    for idx in 1..values.len() {
        merged = both(merged, document(values, idx, call)?);
    }
    of_json(&merged)
}

/// Arrays one after the other, objects member by member, anything else as an array of both.
fn both(a: Json, b: Json) -> Json {
    match (a, b) {
        (Json::Object(mut members), Json::Object(others)) => {
            for (name, other) in others {
                let merged = match members.remove(&name) {
                    Some(member) => both(member, other),
                    None => other,
                };
                members.insert(name, merged);
            }
            Json::Object(members)
        }
        (a, b) => {
            let mut cells = into_cells(a);
            cells.extend(into_cells(b));
            Json::Array(cells)
        }
    }
}

fn into_cells(json: Json) -> Vec<Json> {
    match json {
        Json::Array(cells) => cells,
        other @ (Json::Null
        | Json::Bool(_)
        | Json::Number(_)
        | Json::String(_)
        | Json::Object(_)) => vec![other],
    }
}

/// `NULL` lasts until a patch that is no object stands for the whole.
fn merge_patch<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    admit_all(values)?;
    let mut merged: Option<Json> = None;
    for (idx, value) in values.iter().enumerate() {
        merged = if value.is_null() {
            None
        } else {
            match (merged, document(values, idx, call)?) {
                (None, patch) if idx == 0 => Some(patch),
                (None, Json::Object(_)) => None,
                (None, patch) => Some(patch),
                (Some(target), patch) => Some(patched(target, patch)),
            }
        };
    }
    match merged {
        Some(merged) => of_json(&merged),
        None => Ok(Value::Null),
    }
}

fn patched(target: Json, patch: Json) -> Json {
    let Json::Object(changes) = patch else {
        return patch;
    };
    let mut members = match target {
        Json::Object(members) => members,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            serde_json::Map::new()
        }
    };
    for (name, change) in changes {
        let old = members.remove(&name);
        if !change.is_null() {
            members.insert(name, patched(old.unwrap_or(Json::Null), change));
        }
    }
    Json::Object(members)
}
