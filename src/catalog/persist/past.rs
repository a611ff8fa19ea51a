//! The past of a column in stored definitions: members that most columns do not have.

use serde_json::{Value as Json, json};

use super::{Damage, Fields, Result, decode_default, encode_default, put, type_names};
use crate::catalog::past::{Former, Past};
use crate::catalog::schema::ColumnDefault;
use crate::codec::row::ColumnId;
use crate::types::{ColumnType, Value};

/// Adds the members for a past, if there is one.
pub(super) fn encode(past: &Past, definition: &mut Json) {
    if !past.absent.is_null() {
        let absent = ColumnDefault::Constant(past.absent.clone());
        put(definition, "absent", encode_default(&absent));
    }
    if past.former.is_empty() {
        return;
    }
    let former = past.former.iter();
    let former = former
        .map(|former| json!({ "id": former.id.0, "type": type_names::to_json(&former.ty) }))
        .collect();
    put(definition, "former", Json::Array(former));
}

/// Takes the members out again.
pub(super) fn decode(fields: &mut Fields, ty: &ColumnType) -> Result<Past> {
    let absent = match fields.take_if_any("absent") {
        None => Value::Null,
        Some(json) => match decode_default(json, ty)? {
            ColumnDefault::Constant(value) => value,
            ColumnDefault::None | ColumnDefault::Now => {
                return Err(Damage::new("an absent value that is none"));
            }
        },
    };
    let former = match fields.take_if_any("former") {
        None => Vec::new(),
        Some(Json::Array(former)) => former
            .into_iter()
            .map(decode_former)
            .collect::<Result<_>>()?,
        Some(other) => return Err(Damage::new(format!("former types: {other}"))),
    };
    Ok(Past { absent, former })
}

fn decode_former(json: Json) -> Result<Former> {
    let mut fields = Fields::of(json)?;
    let former = Former {
        id: ColumnId(fields.number("id")?),
        ty: type_names::from_json(fields.take("type")?)?,
    };
    fields.finish()?;
    Ok(former)
}
