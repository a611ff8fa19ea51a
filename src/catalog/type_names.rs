//! Column types and default values in stored definitions: see [`super::persist`].

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of JSON value is damage, today's and tomorrow's"
)]

use std::borrow::Cow;

use serde_json::{Value as Json, json};

use super::persist::{Damage, Fields};
use crate::types::column_type::{IntWidth, LobSize};
use crate::types::{ColumnType, Value, coerce};

type Result<T> = std::result::Result<T, Damage>;

/// The stored form of a type: its name and, where it has one, its size.
pub(super) fn to_json(ty: &ColumnType) -> Json {
    match ty {
        ColumnType::Null => json!({ "name": "null" }),
        ColumnType::Dynamic => json!({ "name": "dynamic" }),
        ColumnType::Boolean => json!({ "name": "boolean" }),
        ColumnType::Int { width, unsigned } => {
            json!({ "name": int_name(*width), "unsigned": unsigned })
        }
        ColumnType::Float => json!({ "name": "float" }),
        ColumnType::Double => json!({ "name": "double" }),
        ColumnType::Decimal { precision, scale } => {
            json!({ "name": "decimal", "precision": precision, "scale": scale })
        }
        ColumnType::Char { chars_max } => json!({ "name": "char", "size": chars_max }),
        ColumnType::Varchar { chars_max } => json!({ "name": "varchar", "size": chars_max }),
        ColumnType::Text(size) => json!({ "name": format!("{}text", lob_name(*size)) }),
        ColumnType::Binary { bytes } => json!({ "name": "binary", "size": bytes }),
        ColumnType::Varbinary { bytes_max } => json!({ "name": "varbinary", "size": bytes_max }),
        ColumnType::Blob(size) => json!({ "name": format!("{}blob", lob_name(*size)) }),
        ColumnType::Date => json!({ "name": "date" }),
        ColumnType::Time { fsp } => json!({ "name": "time", "size": fsp }),
        ColumnType::Datetime { fsp } => json!({ "name": "datetime", "size": fsp }),
        ColumnType::Timestamp { fsp } => json!({ "name": "timestamp", "size": fsp }),
        ColumnType::Year => json!({ "name": "year" }),
        ColumnType::Json => json!({ "name": "json" }),
        ColumnType::Enum(labels) => {
            let labels: Vec<&str> = labels.iter().map(AsRef::as_ref).collect();
            json!({ "name": "enum", "labels": labels })
        }
    }
}

fn int_name(width: IntWidth) -> &'static str {
    match width {
        IntWidth::Tiny => "tinyint",
        IntWidth::Small => "smallint",
        IntWidth::Medium => "mediumint",
        IntWidth::Int => "int",
        IntWidth::Big => "bigint",
    }
}

fn lob_name(size: LobSize) -> &'static str {
    match size {
        LobSize::Tiny => "tiny",
        LobSize::Regular => "",
        LobSize::Medium => "medium",
        LobSize::Long => "long",
    }
}

/// The type of a stored form.
pub(super) fn from_json(json: Json) -> Result<ColumnType> {
    let mut fields = Fields::of(json)?;
    let name = fields.text("name")?;
    let ty = match name.as_str() {
        "tinyint" => int(IntWidth::Tiny, &mut fields)?,
        "smallint" => int(IntWidth::Small, &mut fields)?,
        "mediumint" => int(IntWidth::Medium, &mut fields)?,
        "int" => int(IntWidth::Int, &mut fields)?,
        "bigint" => int(IntWidth::Big, &mut fields)?,
        "decimal" => ColumnType::Decimal {
            precision: small(&mut fields, "precision")?,
            scale: small(&mut fields, "scale")?,
        },
        "char" => ColumnType::Char {
            chars_max: fields.number("size")?,
        },
        "varchar" => ColumnType::Varchar {
            chars_max: maybe_size(&mut fields)?,
        },
        "binary" => ColumnType::Binary {
            bytes: fields.number("size")?,
        },
        "varbinary" => ColumnType::Varbinary {
            bytes_max: maybe_size(&mut fields)?,
        },
        "time" => ColumnType::Time {
            fsp: small(&mut fields, "size")?,
        },
        "datetime" => ColumnType::Datetime {
            fsp: small(&mut fields, "size")?,
        },
        "timestamp" => ColumnType::Timestamp {
            fsp: small(&mut fields, "size")?,
        },
        "enum" => ColumnType::Enum(labels(fields.list("labels")?)?.into()),
        other => plain(other)?,
    };
    fields.finish()?;
    Ok(ty)
}

/// Types without size.
fn plain(name: &str) -> Result<ColumnType> {
    match name {
        "boolean" => Ok(ColumnType::Boolean),
        "dynamic" => Ok(ColumnType::Dynamic),
        "float" => Ok(ColumnType::Float),
        "double" => Ok(ColumnType::Double),
        "tinytext" => Ok(ColumnType::Text(LobSize::Tiny)),
        "text" => Ok(ColumnType::Text(LobSize::Regular)),
        "mediumtext" => Ok(ColumnType::Text(LobSize::Medium)),
        "longtext" => Ok(ColumnType::Text(LobSize::Long)),
        "tinyblob" => Ok(ColumnType::Blob(LobSize::Tiny)),
        "blob" => Ok(ColumnType::Blob(LobSize::Regular)),
        "mediumblob" => Ok(ColumnType::Blob(LobSize::Medium)),
        "longblob" => Ok(ColumnType::Blob(LobSize::Long)),
        "date" => Ok(ColumnType::Date),
        "year" => Ok(ColumnType::Year),
        "json" => Ok(ColumnType::Json),
        other => Err(Damage::new(format!("unknown type {other}"))),
    }
}

fn int(width: IntWidth, fields: &mut Fields) -> Result<ColumnType> {
    Ok(ColumnType::Int {
        width,
        unsigned: fields.truth("unsigned")?,
    })
}

fn small(fields: &mut Fields, name: &str) -> Result<u8> {
    let number = fields.number(name)?;
    u8::try_from(number).map_err(|_| Damage::new(format!("{name} is {number}, at most 255")))
}

fn maybe_size(fields: &mut Fields) -> Result<Option<u32>> {
    match fields.take("size")? {
        Json::Null => Ok(None),
        other => {
            let size = other.as_u64().and_then(|size| u32::try_from(size).ok());
            size.map(Some)
                .ok_or_else(|| Damage::new(format!("size {other}")))
        }
    }
}

fn labels(items: Vec<Json>) -> Result<Vec<Box<str>>> {
    let texts = items.into_iter().map(|item| match item {
        Json::String(text) => Ok(text.into_boxed_str()),
        other => Err(Damage::new(format!("label {other}"))),
    });
    texts.collect()
}

/// The value of a stored default: its text, read as a value of the column's type.
pub(super) fn value_of(text: String, ty: &ColumnType) -> Result<Value<'static>> {
    let value = coerce::from_stored_text(Cow::Owned(text), ty);
    value.map_err(|problem| Damage::new(format!("default of a {ty} column: {problem}")))
}
