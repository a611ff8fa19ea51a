//! Functions that tell whether a `JSON` document is as a JSON schema wants it. The rules are
//! `json_schema_check`.
//!
//! Source: MySQL manual, "JSON Schema Validation Functions".

use serde_json::{Value as Json, json};

use super::json::{document, of_json};
use super::json_schema_check::{Failure, check_references, first_failure};
use super::{Call, result};
use crate::error::{Code, Error, Result};
use crate::types::Value;

functions! {
    /// Schemas of documents.
    TABLE of Json:
    "JSON_SCHEMA_VALID" 2..2 "schema, doc" result::int, AnyArgument, Constant, Strict(valid), "1 when the document is as the JSON schema (draft 4) wants it, else 0.";
    "JSON_SCHEMA_VALIDATION_REPORT" 2..2 "schema, doc" result::json, AnyArgument, Constant, Strict(report), "Whether the document is as the JSON schema (draft 4) wants it, and if not, what fails and where.";
}

/// What of the document is first found to be otherwise than the schema wants it.
///
/// # Errors
/// 3141 for texts that are no JSON, 3853 for a schema that is no object, 1235 for references that lead out
/// of the schema or to nothing but themselves, 3685 for a pattern that is none here.
fn failure(values: &[Value<'_>], call: &Call<'_>) -> Result<Option<Failure>> {
    let schema = document(values, 0, call)?;
    if !schema.is_object() {
        let name = call.function.name.to_ascii_lowercase();
        let text =
            format!("Invalid JSON type in argument 1 to function {name}; an object is required.");
        return Err(Error::new(Code::InvalidJsonType, text));
    }
    check_references(&schema)?;
    let document = document(values, 1, call)?;
    first_failure(&schema, &document, call.ctx)
}

fn valid<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::boolean(failure(values, call)?.is_none()))
}

fn report<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some(failure) = failure(values, call)? else {
        return of_json(&json!({ "valid": true }));
    };
    let Failure {
        keyword,
        schema_at,
        document_at,
    } = failure;
    let reason = format!(
        "The JSON document location '{document_at}' failed requirement '{keyword}' at JSON Schema \
         location '{schema_at}'"
    );
    let report: Json = json!({
        "valid": false,
        "reason": reason,
        "schema-location": schema_at,
        "document-location": document_at,
        "schema-failed-keyword": keyword,
    });
    of_json(&report)
}
