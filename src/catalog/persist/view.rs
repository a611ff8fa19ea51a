//! A view's definition as stored bytes, and back: as a table's, with members of its own.

use serde_json::{Value as Json, json};

use super::{Damage, FORMAT, Fields, Result, json_of};
use crate::catalog::view::{View, ViewAlgorithm};

/// The bytes of a definition.
pub fn encode_view(view: &View) -> Vec<u8> {
    let (user, host) = &view.definer;
    let definition = json!({
        "database": view.database, "name": view.name, "columns": view.columns,
        "algorithm": view.algorithm.name(), "definer": [user, host],
        "by_invoker": view.by_invoker, "query": view.query,
    });
    let mut bytes = vec![FORMAT];
    bytes.extend_from_slice(definition.to_string().as_bytes());
    bytes
}

/// The definition of stored bytes.
///
/// # Errors
/// [`Damage`] for bytes that [`encode_view`] does not make.
pub fn decode_view(bytes: &[u8]) -> Result<View> {
    let mut fields = Fields::of(json_of(bytes)?)?;
    let algorithm = fields.text("algorithm")?;
    let definer = texts(fields.list("definer")?)?;
    let [user, host] = <[String; 2]>::try_from(definer)
        .map_err(|found| Damage::new(format!("a definer of {} parts", found.len())))?;
    let view = View {
        database: fields.text("database")?,
        name: fields.text("name")?,
        columns: texts(fields.list("columns")?)?,
        algorithm: ViewAlgorithm::of_name(&algorithm)
            .ok_or_else(|| Damage::new(format!("an algorithm {algorithm}")))?,
        definer: (user, host),
        by_invoker: fields.truth("by_invoker")?,
        query: fields.text("query")?,
    };
    fields.finish()?;
    Ok(view)
}

fn texts(list: Vec<Json>) -> Result<Vec<String>> {
    let text = |item: Json| match item {
        Json::String(text) => Ok(text),
        other => Err(Damage::new(format!("{other} is no text"))),
    };
    list.into_iter().map(text).collect()
}
