//! The rules of JSON schemas, draft 4: what a document must be, and where it first is not.
//!
//! A document is looked at in the order of its text, the members of an object in MySQL's order; of several
//! faults the first one met is told, as MySQL tells it, whose validator reads the document once from its
//! beginning. What a schema says in another type than it must is as good as not said, as there.
//! References lead to places of the schema itself alone. Patterns are those of `eval/regexp`.
//!
//! Source: JSON Schema draft 4 (core and validation); MySQL manual, "JSON Schema Validation Functions".

mod effort;
mod equal;
mod number;
mod place;

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use effort::{Effort, Halt};
use equal::canonical;
use number::check_number;
pub(super) use place::check_references;
use place::{At, ROOT, own_pointer, respelled};

use crate::error::Error;
use crate::sql::context::EvalContext;
use crate::types::json::in_order;

/// Schemas within one another that are applied to one document: three to each level of the deepest document
/// there is. What goes deeper refers to itself without end.
const LEVELS_MAX: usize = 300;

/// References that lead to references.
const REFERENCES_MAX: usize = 100;

/// The first fault of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The word of the schema that is not met.
    pub(super) keyword: &'static str,
    /// Where the schema has it.
    pub(super) schema_at: String,
    /// What of the document does not meet it.
    pub(super) document_at: String,
}

/// A schema with its place, and the value it is applied to with its place.
#[derive(Clone, Copy)]
struct Case<'p> {
    schema: &'p Map<String, Json>,
    schema_at: &'p At<'p>,
    value: &'p Json,
    value_at: &'p At<'p>,
}

impl<'p> Case<'p> {
    #[expect(clippy::unnecessary_wraps, reason = "what every rule gives")]
    fn fails(&self, keyword: &'static str) -> Checked {
        Ok(Some(Failure {
            keyword,
            schema_at: self.schema_at.spell(),
            document_at: self.value_at.spell(),
        }))
    }

    fn whole(&self, keyword: &str) -> Option<u64> {
        self.schema.get(keyword).and_then(Json::as_u64)
    }

    fn is_true(&self, keyword: &str) -> bool {
        self.schema.get(keyword) == Some(&Json::Bool(true))
    }

    fn object(&self, keyword: &str) -> Option<&'p Map<String, Json>> {
        self.schema.get(keyword).and_then(Json::as_object)
    }

    /// A list that is not empty.
    fn list(&self, keyword: &str) -> Option<&'p [Json]> {
        let list = self.schema.get(keyword).and_then(Json::as_array);
        list.map(Vec::as_slice).filter(|list| !list.is_empty())
    }
}

/// The first fault, if there is one.
type Checked = Result<Option<Failure>, Halt>;

/// Returns from a function that gives [`Checked`] if there is a fault.
macro_rules! stop_at_fault {
    ($checked:expr) => {
        if let Some(failure) = $checked? {
            return Ok(Some(failure));
        }
    };
}

/// The first fault of a document. What takes long is begun again where it keeps nobody from running.
///
/// # Errors
/// 1235 for references without end, 3685 for patterns that are none here; 1317 and its like.
pub(super) fn first_failure(
    schema: &Json,
    document: &Json,
    ctx: &EvalContext,
) -> Result<Option<Failure>, Error> {
    let mut checked = Check::of(schema, Effort::short(ctx)).document(document);
    if matches!(checked, Err(Halt::Long)) {
        let mut again = || checked = Check::of(schema, Effort::long(ctx)).document(document);
        ctx.facts.for_long(&mut again);
    }
    checked.map_err(|halt| match halt {
        Halt::Failed(error) => error,
        Halt::Long => Error::internal("a schema that may take long takes too long"),
    })
}

/// Applies a schema.
struct Check<'j> {
    root: &'j Json,
    effort: Effort<'j>,
    level: usize,
}

impl<'j> Check<'j> {
    fn of(root: &'j Json, effort: Effort<'j>) -> Check<'j> {
        Check {
            root,
            effort,
            level: 0,
        }
    }

    fn document(&mut self, document: &Json) -> Checked {
        self.apply((self.root, &ROOT), (document, &ROOT))
    }

    /// Applies a schema to a value. What is no object says nothing.
    fn apply(&mut self, schema: (&Json, &At<'_>), (value, value_at): (&Json, &At<'_>)) -> Checked {
        self.effort.steps(1)?;
        if LEVELS_MAX <= self.level {
            return Err(endless().into());
        }
        let (Json::Object(members), schema_at) = schema else {
            return Ok(None);
        };
        let case = Case {
            schema: members,
            schema_at,
            value,
            value_at,
        };
        self.level += 1;
        let checked = match members.get("$ref") {
            Some(Json::String(reference)) => self.referred(reference, (value, value_at)),
            Some(_) | None => self.own(case),
        };
        self.level -= 1;
        checked
    }

    /// Applies what a reference leads to. One that leads to nothing says nothing.
    fn referred(&mut self, reference: &str, (value, value_at): (&Json, &At<'_>)) -> Checked {
        let mut reference = reference;
        for _ in 0..REFERENCES_MAX {
            self.effort.steps(1)?;
            self.effort.bytes(reference.len())?;
            let pointer = own_pointer(reference).unwrap_or_default();
            let Some(Json::Object(members)) = self.root.pointer(&pointer) else {
                return Ok(None);
            };
            if let Some(Json::String(next)) = members.get("$ref") {
                reference = next;
                continue;
            }
            let spelled = respelled(&pointer);
            return self.own(Case {
                schema: members,
                schema_at: &At::Spelled(&spelled),
                value,
                value_at,
            });
        }
        Err(endless().into())
    }

    /// Applies a schema that is no reference.
    fn own(&mut self, case: Case<'_>) -> Checked {
        self.effort
            .steps(case.list("type").map_or(0, <[Json]>::len))?;
        if !has_type(&case) {
            return case.fails("type");
        }
        match case.value {
            Json::Number(number) => stop_at_fault!(check_number(&case, number)),
            Json::String(text) => stop_at_fault!(self.text(case, text)),
            Json::Object(members) => stop_at_fault!(self.members(case, members)),
            Json::Array(cells) => stop_at_fault!(self.cells(case, cells)),
            Json::Null | Json::Bool(_) => {}
        }
        if let Some(list) = case.list("enum") {
            let value = self.canonical(case.value)?;
            let mut is_there = false;
            for one in list {
                is_there = self.canonical(one)? == value;
                if is_there {
                    break;
                }
            }
            if !is_there {
                return case.fails("enum");
            }
        }
        self.combined(case)
    }

    /// As [`canonical`], counted.
    fn canonical(&mut self, json: &Json) -> Result<String, Halt> {
        let text = canonical(json);
        self.effort.steps(1)?;
        self.effort.bytes(text.len())?;
        Ok(text)
    }

    /// `allOf`, `anyOf`, `oneOf`, `not`.
    fn combined(&mut self, case: Case<'_>) -> Checked {
        if let Some(list) = case.list("allOf")
            && self.count_met(case, list, |met, seen| met < seen)? < list.len()
        {
            return case.fails("allOf");
        }
        if let Some(list) = case.list("anyOf")
            && self.count_met(case, list, |met, _| 0 < met)? == 0
        {
            return case.fails("anyOf");
        }
        if let Some(list) = case.list("oneOf")
            && self.count_met(case, list, |met, _| 1 < met)? != 1
        {
            return case.fails("oneOf");
        }
        if let Some(not) = case.schema.get("not").filter(|not| not.is_object())
            && self.meets(not, (case.value, case.value_at))?
        {
            return case.fails("not");
        }
        Ok(None)
    }

    /// How many schemas the value meets, as far as it matters.
    fn count_met(
        &mut self,
        case: Case<'_>,
        list: &[Json],
        is_enough: fn(usize, usize) -> bool,
    ) -> Result<usize, Halt> {
        let mut met = 0;
        for (idx, schema) in list.iter().enumerate() {
            met += usize::from(self.meets(schema, (case.value, case.value_at))?);
            if is_enough(met, idx + 1) {
                break;
            }
        }
        Ok(met)
    }

    /// Whether the value is as a schema wants it that is only a part of another: where it is not is not told.
    fn meets(&mut self, schema: &Json, value: (&Json, &At<'_>)) -> Result<bool, Halt> {
        let Some(failure) = self.apply((schema, &ROOT), value)? else {
            return Ok(true);
        };
        // Places were spelled for it, of names as long as one likes.
        self.effort.bytes(failure.schema_at.len())?;
        self.effort.bytes(failure.document_at.len())?;
        Ok(false)
    }

    fn text(&mut self, case: Case<'_>, text: &str) -> Checked {
        let (min, max) = (case.whole("minLength"), case.whole("maxLength"));
        if min.is_some() || max.is_some() {
            self.effort.bytes(text.len())?;
            let count = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
            if min.is_some_and(|min| count < min) {
                return case.fails("minLength");
            }
            if max.is_some_and(|max| max < count) {
                return case.fails("maxLength");
            }
        }
        match case.schema.get("pattern") {
            Some(Json::String(pattern)) => match self.effort.matches(text, pattern)? {
                Some(false) => case.fails("pattern"),
                Some(true) | None => Ok(None),
            },
            Some(_) | None => Ok(None),
        }
    }

    fn members(&mut self, case: Case<'_>, members: &Map<String, Json>) -> Checked {
        self.effort.steps(members.len())?;
        for (name, member) in in_order(members) {
            let at = At::Member(case.value_at, name);
            let case = Case {
                value: member,
                value_at: &at,
                ..case
            };
            stop_at_fault!(self.member(case, name));
        }
        for name in case.list("required").unwrap_or_default() {
            self.effort.steps(1)?;
            if name
                .as_str()
                .is_some_and(|name| !members.contains_key(name))
            {
                return case.fails("required");
            }
        }
        let count = u64::try_from(members.len()).unwrap_or(u64::MAX);
        if case.whole("minProperties").is_some_and(|min| count < min) {
            return case.fails("minProperties");
        }
        if case.whole("maxProperties").is_some_and(|max| max < count) {
            return case.fails("maxProperties");
        }
        self.dependencies(case, members)
    }

    /// A member of an object, by the schema of the object.
    fn member(&mut self, case: Case<'_>, name: &str) -> Checked {
        let mut is_meant = false;
        let mut is_met = true;
        for (pattern, schema) in case.object("patternProperties").into_iter().flatten() {
            if self.effort.matches(name, pattern)? == Some(true) {
                is_meant = true;
                is_met = is_met && self.meets(schema, (case.value, case.value_at))?;
            }
        }
        let place = At::Member(case.schema_at, "properties");
        let place = At::Member(&place, name);
        let beside = At::Member(case.schema_at, "additionalProperties");
        let own = match case.object("properties").and_then(|own| own.get(name)) {
            Some(own) => Some((own, &place)),
            None if is_meant => None,
            None => match case.schema.get("additionalProperties") {
                Some(Json::Bool(false)) => return case.fails("additionalProperties"),
                other => other.map(|other| (other, &beside)),
            },
        };
        if !is_meant {
            return match own {
                Some(own) => self.apply(own, (case.value, case.value_at)),
                None => Ok(None),
            };
        }
        if let Some((own, _)) = own {
            is_met = is_met && self.meets(own, (case.value, case.value_at))?;
        }
        if is_met {
            return Ok(None);
        }
        // MySQL has the place of no schema for it.
        let nowhere = Case {
            schema_at: &ROOT,
            ..case
        };
        nowhere.fails("patternProperties")
    }

    fn dependencies(&mut self, case: Case<'_>, members: &Map<String, Json>) -> Checked {
        for (name, needed) in case.object("dependencies").into_iter().flatten() {
            self.effort.steps(1)?;
            if !members.contains_key(name) {
                continue;
            }
            let is_met = if let Json::Array(names) = needed {
                self.effort.steps(names.len())?;
                let mut names = names.iter().filter_map(Json::as_str);
                names.all(|name| members.contains_key(name))
            } else {
                self.meets(needed, (case.value, case.value_at))?
            };
            if !is_met {
                return case.fails("dependencies");
            }
        }
        Ok(None)
    }

    fn cells(&mut self, case: Case<'_>, cells: &[Json]) -> Checked {
        let is_unique = case.is_true("uniqueItems");
        let mut seen = HashSet::new();
        for (idx, cell) in cells.iter().enumerate() {
            let at = At::Cell(case.value_at, idx);
            let case = Case {
                value: cell,
                value_at: &at,
                ..case
            };
            self.effort.steps(1)?;
            stop_at_fault!(self.cell(case, idx));
            if is_unique && !seen.insert(self.canonical(cell)?) {
                return case.fails("uniqueItems");
            }
        }
        let count = u64::try_from(cells.len()).unwrap_or(u64::MAX);
        if case.whole("minItems").is_some_and(|min| count < min) {
            return case.fails("minItems");
        }
        if case.whole("maxItems").is_some_and(|max| max < count) {
            return case.fails("maxItems");
        }
        Ok(None)
    }

    /// A cell of an array, by the schema of the array.
    fn cell(&mut self, case: Case<'_>, idx: usize) -> Checked {
        let place = At::Member(case.schema_at, "items");
        let value = (case.value, case.value_at);
        match case.schema.get("items") {
            Some(Json::Array(schemas)) => {
                if let Some(schema) = schemas.get(idx) {
                    return self.apply((schema, &At::Cell(&place, idx)), value);
                }
                match case.schema.get("additionalItems") {
                    Some(Json::Bool(false)) => case.fails("additionalItems"),
                    Some(schema) => {
                        let place = At::Member(case.schema_at, "additionalItems");
                        self.apply((schema, &place), value)
                    }
                    None => Ok(None),
                }
            }
            Some(schema) => self.apply((schema, &place), value),
            None => Ok(None),
        }
    }
}

/// 1235: there is no end of references.
fn endless() -> Error {
    Error::unsupported("references in JSON Schema that lead back to themselves")
}

/// Whether the value has one of the types; any if there is no such word.
fn has_type(case: &Case<'_>) -> bool {
    let is_it = |name: &Json| match case.value {
        Json::Null => name == "null",
        Json::Bool(_) => name == "boolean",
        Json::Number(number) => name == "number" || (name == "integer" && !number.is_f64()),
        Json::String(_) => name == "string",
        Json::Array(_) => name == "array",
        Json::Object(_) => name == "object",
    };
    match case.schema.get("type") {
        None => true,
        Some(Json::Array(names)) => names.iter().any(is_it),
        Some(name) => is_it(name),
    }
}

#[cfg(test)]
mod tests;
