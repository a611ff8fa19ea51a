//! The spread part of a key in stored definitions: a member that most columns do not have.

use serde_json::{Value as Json, json};

use super::{Damage, Fields, Result, put};
use crate::catalog::schema::Column;
use crate::catalog::spread::{BUCKETS_MAX, Spread, SpreadKind};

/// Adds the member of a column.
pub(super) fn encode(column: &Column, definition: &mut Json) {
    let Some(spread) = &column.spread else {
        return;
    };
    let mut member = json!({ "function": spread.kind.name(), "columns": spread.inputs });
    if let Some(count) = spread.kind.buckets() {
        put(&mut member, "buckets", json!(count));
    }
    put(definition, "spread", member);
}

/// Takes it out again.
pub(super) fn decode(fields: &mut Fields) -> Result<Option<Box<Spread>>> {
    let Some(json) = fields.take_if_any("spread") else {
        return Ok(None);
    };
    let mut fields = Fields::of(json)?;
    let name = fields.text("function")?;
    let kind = match (name.as_str(), fields.number_if_any("buckets")?) {
        ("hash8", None) => SpreadKind::Hash8,
        ("hash32", None) => SpreadKind::Hash32,
        ("hash64", None) => SpreadKind::Hash64,
        ("reverse", None) => SpreadKind::Reverse,
        ("bucket", Some(count)) => {
            let count = u16::try_from(count).ok();
            let count = count.filter(|count| (1..=BUCKETS_MAX).contains(count));
            SpreadKind::Bucket(count.ok_or_else(|| Damage::new("the buckets of a key"))?)
        }
        _ => return Err(Damage::new(format!("a part of a key by {name}"))),
    };
    let inputs = fields.list("columns")?.into_iter();
    let inputs = inputs.map(|json| {
        let idx = json.as_u64().and_then(|idx| usize::try_from(idx).ok());
        idx.ok_or_else(|| Damage::new("the columns of a part of a key"))
    });
    let inputs: Vec<usize> = inputs.collect::<Result<_>>()?;
    fields.finish()?;
    if inputs.is_empty() {
        return Err(Damage::new("a part of a key of no column"));
    }
    Ok(Some(Box::new(Spread { kind, inputs })))
}
