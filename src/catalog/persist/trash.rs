//! A dropped table as stored bytes, and back: its definition, and when it was dropped.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{Damage, FORMAT, Fields, Result, decode, encode, json_of};
use crate::catalog::trash::Trashed;

/// The bytes of a dropped table.
pub fn encode_trashed(trashed: &Trashed) -> Vec<u8> {
    let table = encode(&trashed.table);
    let text = table.get(1..).unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let definition = json!({ "dropped_ms": trashed.dropped_ms, "table": text });
    let mut bytes = vec![FORMAT];
    bytes.extend_from_slice(definition.to_string().as_bytes());
    bytes
}

/// The dropped table of stored bytes.
///
/// # Errors
/// [`Damage`] for bytes that [`encode_trashed`] does not make.
pub fn decode_trashed(bytes: &[u8]) -> Result<Trashed> {
    let mut fields = Fields::of(json_of(bytes)?)?;
    let mut table = vec![FORMAT];
    table.extend_from_slice(fields.text("table")?.as_bytes());
    let dropped: Json = fields.take("dropped_ms")?;
    let trashed = Trashed {
        table: Arc::new(decode(&table)?),
        dropped_ms: dropped
            .as_u64()
            .ok_or_else(|| Damage::new("dropped_ms is no number"))?,
    };
    fields.finish()?;
    Ok(trashed)
}
