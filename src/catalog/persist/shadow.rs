//! What a table is to be when its primary key has changed: only what differs from the table is stored.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{Fields, Result, check, decode_index, decode_key_part, encode_index, encode_key_part};
use crate::catalog::schema::{KeyPart, Table, TableId};

/// The member of the table's definition.
pub(super) fn encode(shadow: &Table) -> Json {
    let key: Vec<Json> = shadow.key.iter().map(encode_key_part).collect();
    let indexes = shadow.indexes.iter();
    let indexes: Vec<Json> = indexes.map(|index| encode_index(shadow, index)).collect();
    json!({ "id": shadow.id.0, "key": key, "indexes": indexes })
}

/// # Errors
/// [`super::Damage`] for what [`encode`] does not make.
pub(super) fn decode(json: Json, table: &Table) -> Result<Arc<Table>> {
    let mut fields = Fields::of(json)?;
    let id = TableId(fields.number("id")?);
    let key = fields.list("key")?.into_iter().map(decode_key_part);
    let key: Vec<KeyPart> = key.collect::<Result<_>>()?;
    let indexes = fields.list("indexes")?.into_iter();
    let indexes = indexes.map(|json| decode_index(json, &table.columns));
    let indexes = indexes.collect::<Result<_>>()?;
    fields.finish()?;
    let mut shadow = check(table.with_key(key))?;
    shadow.id = id;
    shadow.indexes = indexes;
    Ok(Arc::new(check(shadow)?))
}
