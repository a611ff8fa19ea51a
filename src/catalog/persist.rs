//! A table's definition as stored bytes, and back; those of views are in `view`.
//!
//! One format byte, then a JSON text with these members and no others: a definition is small,
//! rarely read, and worth reading with the naked eye when a disk is examined. The mapping is
//! written out by hand, so that a renamed field in Rust cannot change what is stored. An unknown
//! member, type or format is [`Damage`]: it is never skipped, because it may change what rows mean.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of JSON value is damage, today's and tomorrow's"
)]

mod constants;
mod past;
mod shadow;
mod spread;
mod trash;
mod view;
mod wide;

use serde_json::{Map, Value as Json, json};

use super::computed::{Computed, ComputedPart, PartSource};
use super::schema::{
    Column, ColumnDefault, Include, Index, IndexId, IndexState, KeyPart, Table, TableId,
};
use super::type_names;
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::types::{Value, coerce};
pub use constants::check_constants;
pub use trash::{decode_trashed, encode_trashed};
pub use view::{decode_view, encode_view};

/// The first byte of every stored definition.
pub const FORMAT: u8 = 1;

/// A stored definition that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage(pub String);

impl Damage {
    pub(crate) fn new(what: impl Into<String>) -> Damage {
        Damage(what.into())
    }
}

type Result<T> = std::result::Result<T, Damage>;

/// The bytes of a definition.
pub fn encode(table: &Table) -> Vec<u8> {
    let columns: Vec<Json> = table.columns.iter().map(encode_column).collect();
    let key: Vec<Json> = table.key.iter().map(encode_key_part).collect();
    let options: Vec<Json> = table
        .options
        .iter()
        .map(|(name, value)| json!([name, value]))
        .collect();
    let indexes = table.indexes.iter();
    let indexes: Vec<Json> = indexes.map(|index| encode_index(table, index)).collect();
    let mut definition = json!({
        "id": table.id.0, "database": table.database, "name": table.name,
        "columns": columns, "key": key, "indexes": indexes, "options": options,
        "comment": table.comment,
    });
    wide::encode(&table.wide, &mut definition);
    if table.columns_made != greatest_id(&table.columns) {
        put(&mut definition, "columns_made", json!(table.columns_made));
    }
    if let Some(shadow) = &table.shadow {
        put(&mut definition, "shadow", shadow::encode(shadow));
    }
    let mut bytes = vec![FORMAT];
    bytes.extend_from_slice(definition.to_string().as_bytes());
    bytes
}

impl Table {
    /// Whether two definitions are stored alike, the order of their options apart.
    pub fn is_like(&self, other: &Table) -> bool {
        let sorted = |table: &Table| {
            let mut table = table.clone();
            table.options.sort();
            encode(&table)
        };
        sorted(self) == sorted(other)
    }
}

/// Adds a member that most definitions do not have.
fn put(definition: &mut Json, name: &str, value: Json) {
    if let Json::Object(members) = definition {
        members.insert(name.to_owned(), value);
    }
}

fn greatest_id(columns: &[Column]) -> u32 {
    columns.iter().map(|column| column.id.0).max().unwrap_or(0)
}

fn encode_key_part(part: &KeyPart) -> Json {
    json!({ "column": part.column_idx, "desc": part.direction == Direction::Desc })
}

fn encode_index(table: &Table, index: &Index) -> Json {
    let parts = index.parts.iter();
    let parts: Vec<Json> = parts
        .map(|part| match index.computed_part(table, part.column_idx) {
            Some(computed) => encode_computed_part(computed, part.direction),
            None => encode_key_part(part),
        })
        .collect();
    let include = match &index.include {
        Include::None => json!([]),
        Include::Columns(columns) => json!(columns),
        Include::All => json!("all"),
    };
    let mut definition = json!({
        "id": index.id.0, "name": index.name, "unique": index.unique, "parts": parts,
        "include": include, "state": index.state.name(), "comment": index.comment,
    });
    if let Some(filter) = &index.computed.filter {
        put(&mut definition, "where", json!(filter));
    }
    definition
}

fn encode_computed_part(part: &ComputedPart, direction: Direction) -> Json {
    let desc = direction == Direction::Desc;
    match &part.source {
        PartSource::Prefix { column_idx, length } => {
            json!({ "column": column_idx, "length": length, "desc": desc })
        }
        PartSource::Expression(text) => json!({
            "expression": text, "type": type_names::to_json(&part.column.ty),
            "nullable": part.column.nullable, "desc": desc,
        }),
    }
}

fn encode_column(column: &Column) -> Json {
    let mut definition = json!({
        "id": column.id.0, "name": column.name, "type": type_names::to_json(&column.ty),
        "nullable": column.nullable, "default": encode_default(&column.default),
        "on_update_now": column.on_update_now, "auto_increment": column.auto_increment,
        "hidden": column.hidden, "comment": column.comment,
    });
    spread::encode(column, &mut definition);
    wide::encode_place(column.place, &mut definition);
    if let Some(first) = column.counted_from {
        put(&mut definition, "counted_from", json!(first));
    }
    past::encode(&column.past, &mut definition);
    definition
}

fn encode_default(default: &ColumnDefault) -> Json {
    match default {
        ColumnDefault::None => Json::Null,
        ColumnDefault::Now => json!({ "now": true }),
        ColumnDefault::Constant(Value::Bytes(bytes)) => json!({ "bytes": bytes.as_ref() }),
        ColumnDefault::Constant(value) if value.is_null() => json!({ "null": true }),
        ColumnDefault::Constant(value) => json!({ "text": coerce::stored_text(value) }),
    }
}

/// The definition in `bytes`.
///
/// # Errors
/// [`Damage`] when the bytes are not what [`encode`] writes.
pub fn decode(bytes: &[u8]) -> Result<Table> {
    let mut fields = Fields::of(json_of(bytes)?)?;
    let columns = fields.list("columns")?.into_iter().map(decode_column);
    let columns: Vec<Column> = columns.collect::<Result<_>>()?;
    let indexes = fields.list("indexes")?.into_iter();
    let indexes = indexes.map(|json| decode_index(json, &columns));
    let indexes = indexes.collect::<Result<_>>()?;
    let wide = wide::decode(&mut fields)?;
    let columns_made = match fields.number_if_any("columns_made")? {
        Some(made) => made.max(greatest_id(&columns)),
        None => greatest_id(&columns),
    };
    let shadow = fields.take_if_any("shadow");
    let mut table = Table {
        id: TableId(fields.number("id")?),
        database: fields.text("database")?,
        name: fields.text("name")?,
        columns,
        columns_made,
        key: fields
            .list("key")?
            .into_iter()
            .map(decode_key_part)
            .collect::<Result<_>>()?,
        indexes,
        options: fields
            .list("options")?
            .into_iter()
            .map(decode_option)
            .collect::<Result<_>>()?,
        comment: fields.text("comment")?,
        wide,
        shadow: None,
    };
    fields.finish()?;
    if let Some(shadow) = shadow {
        table.shadow = Some(shadow::decode(shadow, &table)?);
    }
    check(table)
}

/// What stands behind the format byte.
fn json_of(bytes: &[u8]) -> Result<Json> {
    let Some((&FORMAT, text)) = bytes.split_first() else {
        return Err(Damage::new(format!(
            "format byte {:?}, known is {FORMAT}",
            bytes.first()
        )));
    };
    serde_json::from_slice(text).map_err(|error| Damage::new(error.to_string()))
}

/// The invariants that the rest of the server relies on.
fn check(table: Table) -> Result<Table> {
    let columns_count = table.columns.len();
    let in_range = |parts: &[KeyPart], count: usize| {
        !parts.is_empty() && parts.iter().all(|part| part.column_idx < count)
    };
    for index in &table.indexes {
        let includes = match &index.include {
            Include::Columns(columns) => columns.iter().all(|column| *column < columns_count),
            Include::None | Include::All => true,
        };
        let count = columns_count + index.computed.parts.len();
        if !in_range(&index.parts, count) || !includes {
            let text = format!(
                "index {} of table {} names no column",
                index.name, table.name
            );
            return Err(Damage::new(text));
        }
    }
    let mut spreads = table.columns.iter().filter_map(|one| one.spread.as_deref());
    let is_spread_well = spreads.all(|one| one.inputs.iter().all(|idx| *idx < columns_count));
    if !in_range(&table.key, columns_count) || !is_spread_well {
        return Err(Damage::new(format!(
            "key of table {} names no column",
            table.name
        )));
    }
    Ok(table)
}

fn decode_key_part(json: Json) -> Result<KeyPart> {
    let mut fields = Fields::of(json)?;
    let column: u32 = fields.number("column")?;
    let direction = Direction::of(fields.truth("desc")?);
    fields.finish()?;
    let column_idx = usize::try_from(column).map_err(|error| Damage::new(error.to_string()))?;
    Ok(KeyPart {
        column_idx,
        direction,
    })
}

fn decode_index(json: Json, columns: &[Column]) -> Result<Index> {
    let mut fields = Fields::of(json)?;
    let mut computed = Computed {
        filter: fields.text_if_any("where")?,
        ..Computed::default()
    };
    let parts = fields.list("parts")?.into_iter();
    let parts = parts.map(|json| decode_index_part(json, columns, &mut computed.parts));
    let parts = parts.collect::<Result<_>>()?;
    let state = fields.text("state")?;
    let index = Index {
        id: IndexId(fields.number("id")?),
        name: fields.text("name")?,
        unique: fields.truth("unique")?,
        parts,
        computed,
        include: decode_include(&fields.take("include")?)?,
        state: IndexState::of_name(&state)
            .ok_or_else(|| Damage::new(format!("an index state {state}")))?,
        comment: fields.text("comment")?,
    };
    fields.finish()?;
    Ok(index)
}

/// A part of an index; a computed one is put to `computed`.
fn decode_index_part(
    json: Json,
    columns: &[Column],
    computed: &mut Vec<ComputedPart>,
) -> Result<KeyPart> {
    let is_computed = |name: &str| json.get(name).is_some();
    if !is_computed("length") && !is_computed("expression") {
        return decode_key_part(json);
    }
    let mut fields = Fields::of(json)?;
    let direction = Direction::of(fields.truth("desc")?);
    let part = if let Some(text) = fields.text_if_any("expression")? {
        let ty = type_names::from_json(fields.take("type")?)?;
        let nullable = fields.truth("nullable")?;
        let name = text.clone();
        ComputedPart::new(PartSource::Expression(text), (&name, ty, nullable))
    } else {
        let column: u32 = fields.number("column")?;
        let length = fields.number("length")?;
        let column_idx = usize::try_from(column).map_err(|error| Damage::new(error.to_string()))?;
        let column = columns.get(column_idx);
        let part = column.and_then(|column| ComputedPart::prefix((column_idx, column), length));
        part.ok_or_else(|| Damage::new(format!("a prefix of {length} of column {column_idx}")))?
    };
    fields.finish()?;
    computed.push(part);
    Ok(KeyPart {
        column_idx: columns.len() + computed.len() - 1,
        direction,
    })
}

fn decode_include(json: &Json) -> Result<Include> {
    match json {
        Json::String(all) if all == "all" => Ok(Include::All),
        Json::Array(columns) if columns.is_empty() => Ok(Include::None),
        Json::Array(columns) => {
            let columns = columns
                .iter()
                .map(|column| column.as_u64().and_then(|idx| usize::try_from(idx).ok()));
            let columns: Option<Vec<usize>> = columns.collect();
            let columns = columns.ok_or_else(|| Damage::new("columns of an index"))?;
            Ok(Include::Columns(columns))
        }
        other => Err(Damage::new(format!("columns of an index: {other}"))),
    }
}

fn decode_column(json: Json) -> Result<Column> {
    let mut fields = Fields::of(json)?;
    let ty = type_names::from_json(fields.take("type")?)?;
    let past = past::decode(&mut fields, &ty)?;
    let column = Column {
        id: ColumnId(fields.number("id")?),
        name: fields.text("name")?,
        default: decode_default(fields.take("default")?, &ty)?,
        ty,
        nullable: fields.truth("nullable")?,
        on_update_now: fields.truth("on_update_now")?,
        auto_increment: fields.truth("auto_increment")?,
        counted_from: fields.large_number_if_any("counted_from")?,
        hidden: fields.truth("hidden")?,
        spread: spread::decode(&mut fields)?,
        place: wide::decode_place(&mut fields)?,
        comment: fields.text("comment")?,
        past,
        pledge: None,
    };
    fields.finish()?;
    Ok(column)
}

fn decode_default(json: Json, ty: &crate::types::ColumnType) -> Result<ColumnDefault> {
    if json.is_null() {
        return Ok(ColumnDefault::None);
    }
    let mut fields = Fields::of(json)?;
    if fields.take("now").is_ok() {
        return Ok(ColumnDefault::Now);
    }
    if fields.take("null").is_ok() {
        return Ok(ColumnDefault::Constant(Value::Null));
    }
    if let Ok(Json::Array(numbers)) = fields.take("bytes") {
        let bytes = numbers
            .iter()
            .map(|number| number.as_u64().and_then(|n| u8::try_from(n).ok()));
        let bytes: Option<Vec<u8>> = bytes.collect();
        let bytes = bytes.ok_or_else(|| Damage::new("bytes of a default"))?;
        return Ok(ColumnDefault::Constant(Value::Bytes(bytes.into())));
    }
    let text = fields.text("text")?;
    type_names::value_of(text, ty).map(ColumnDefault::Constant)
}

fn decode_option(json: Json) -> Result<(String, String)> {
    match json {
        Json::Array(pair) => match pair.as_slice() {
            [Json::String(name), Json::String(value)] => Ok((name.clone(), value.clone())),
            _ => Err(Damage::new("an option is not a pair of texts")),
        },
        other => Err(Damage::new(format!("option {other}"))),
    }
}

/// The members of one JSON object, each taken out once; what is left over is unknown.
pub(crate) struct Fields(Map<String, Json>);

impl Fields {
    pub(crate) fn of(json: Json) -> Result<Fields> {
        match json {
            Json::Object(members) => Ok(Fields(members)),
            other => Err(Damage::new(format!("expected an object, found {other}"))),
        }
    }

    pub(crate) fn take(&mut self, name: &str) -> Result<Json> {
        self.0
            .remove(name)
            .ok_or_else(|| Damage::new(format!("member {name} is missing")))
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<String> {
        match self.take(name)? {
            Json::String(text) => Ok(text),
            other => Err(Damage::new(format!("{name} is {other}, not a text"))),
        }
    }

    /// The member, if there is one.
    pub(crate) fn text_if_any(&mut self, name: &str) -> Result<Option<String>> {
        if self.0.contains_key(name) {
            return self.text(name).map(Some);
        }
        Ok(None)
    }

    /// The member, if there is one.
    pub(crate) fn number_if_any(&mut self, name: &str) -> Result<Option<u32>> {
        if self.0.contains_key(name) {
            return self.number(name).map(Some);
        }
        Ok(None)
    }

    /// The member, if there is one.
    pub(crate) fn take_if_any(&mut self, name: &str) -> Option<Json> {
        self.0.remove(name)
    }

    pub(crate) fn truth(&mut self, name: &str) -> Result<bool> {
        self.take(name)?
            .as_bool()
            .ok_or_else(|| Damage::new(format!("{name} is no truth value")))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn number(&mut self, name: &str) -> Result<u32> {
        let number = self
            .take(name)?
            .as_u64()
            .and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| Damage::new(format!("{name} is no number below 2^32")))
    }

    /// The member, if there is one: of 64 bits.
    fn large_number_if_any(&mut self, name: &str) -> Result<Option<u64>> {
        let Some(json) = self.0.remove(name) else {
            return Ok(None);
        };
        let number = json.as_u64();
        let number =
            number.ok_or_else(|| Damage::new(format!("{name} is no number below 2^64")))?;
        Ok(Some(number))
    }

    pub(crate) fn list(&mut self, name: &str) -> Result<Vec<Json>> {
        match self.take(name)? {
            Json::Array(items) => Ok(items),
            other => Err(Damage::new(format!("{name} is {other}, not a list"))),
        }
    }

    pub(crate) fn finish(self) -> Result<()> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(Damage::new(format!("unknown member {name}"))),
        }
    }
}

#[cfg(test)]
mod tests;
