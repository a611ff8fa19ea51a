//! `COLUMNS`, and what MySQL tells of a type.

use std::sync::Arc;

use super::INFORMATION_SCHEMA;
use super::schemata::{CATALOG, CHARSET, COLLATION, Kind, each_table, position};
use super::table::{
    BIGINT, LONGTEXT, MEDIUMTEXT, Made, NAME, TEXT, UBIGINT, UINT, YES_NO, column, maybe, text,
    varchar, yes_no,
};
use crate::catalog::{Column, ColumnDefault, Table, describe};
use crate::session::show::key_word;
use crate::types::column_type::IntWidth;
use crate::types::{ColumnType, Value, Zone};

/// Bytes of a character at most.
const CHAR_BYTES_MAX: u64 = 4;

/// Bytes of a value whose type names no bound: `max_value_bytes`.
const VALUE_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// A column of a table.
pub(super) struct ColumnOf {
    table: Arc<Table>,
    is_listed: bool,
    idx: usize,
    column: Column,
    /// As it is read in the session's time zone.
    zone: Zone,
}

/// `information_schema.COLUMNS`.
pub(super) static COLUMNS: Made<ColumnOf> = Made {
    database: INFORMATION_SCHEMA,
    name: "COLUMNS",
    each: |scene, wants, give| {
        let zone = scene.zone()?;
        each_table(scene, wants, &mut |table| {
            let of_view = table.view().map(|view| scene.view_as_table(view));
            let definition = of_view.map_or_else(|| Arc::clone(&table.table), Arc::new);
            let columns = definition.columns.iter().enumerate();
            let shown = columns.filter(|(_, column)| !column.hidden);
            let wanted = shown.filter(|(_, column)| wants.has("COLUMN_NAME", &column.name));
            for (idx, column) in wanted {
                give(ColumnOf {
                    table: Arc::clone(&definition),
                    is_listed: matches!(table.kind, Kind::Listed),
                    idx,
                    column: column.clone(),
                    zone: zone.clone(),
                })?;
            }
            Ok(())
        })
    },
    columns: &[
        column("TABLE_CATALOG", NAME, |_| Value::text(CATALOG)),
        column("TABLE_SCHEMA", NAME, |c| text(c.table.database.as_str())),
        column("TABLE_NAME", NAME, |c| text(c.table.name.as_str())),
        column("COLUMN_NAME", NAME, |c| text(c.column.name.as_str())),
        column("ORDINAL_POSITION", UINT, |c| position(c.idx)),
        column("COLUMN_DEFAULT", TEXT, |c| {
            maybe(default(&c.column, &c.zone))
        }),
        column("IS_NULLABLE", YES_NO, |c| yes_no(c.column.nullable)),
        column("DATA_TYPE", LONGTEXT, |c| text(type_name(&c.column.ty))),
        column("CHARACTER_MAXIMUM_LENGTH", BIGINT, |c| {
            number(lengths(&c.column.ty).map(|lengths| lengths.0))
        }),
        column("CHARACTER_OCTET_LENGTH", BIGINT, |c| {
            number(lengths(&c.column.ty).map(|lengths| lengths.1))
        }),
        column("NUMERIC_PRECISION", UBIGINT, |c| {
            digits(digits_of(&c.column.ty).map(|digits| digits.0))
        }),
        column("NUMERIC_SCALE", UBIGINT, |c| {
            digits(digits_of(&c.column.ty).and_then(|digits| digits.1))
        }),
        column("DATETIME_PRECISION", UINT, |c| {
            let ty = &c.column.ty;
            let has_time = ty.is_temporal() && *ty != ColumnType::Date;
            digits(has_time.then(|| ty.fsp()))
        }),
        column("CHARACTER_SET_NAME", NAME, |c| {
            maybe(has_charset(&c.column.ty).then_some(CHARSET))
        }),
        column("COLLATION_NAME", NAME, |c| {
            maybe(has_charset(&c.column.ty).then_some(COLLATION))
        }),
        column("COLUMN_TYPE", MEDIUMTEXT, |c| text(c.column.ty.to_string())),
        column("COLUMN_KEY", varchar(3), |c| {
            Value::text(key_word(&c.table, c.idx))
        }),
        column("EXTRA", varchar(256), |c| text(extra(&c.column))),
        column("PRIVILEGES", varchar(154), |c| {
            Value::text(if c.is_listed {
                "select"
            } else {
                "select,insert,update,references"
            })
        }),
        column("COLUMN_COMMENT", TEXT, |c| text(c.column.comment.as_str())),
        column("GENERATION_EXPRESSION", LONGTEXT, |_| Value::text("")),
        column("SRS_ID", UINT, |_| Value::Null),
    ],
};

/// A number of characters or bytes.
fn number(number: Option<u64>) -> Value<'static> {
    number.map_or(Value::Null, |number| {
        Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
    })
}

fn digits(digits: Option<u8>) -> Value<'static> {
    digits.map_or(Value::Null, |digits| Value::UInt(u64::from(digits)))
}

/// The word of a type, without what is behind it.
pub(super) fn type_name(ty: &ColumnType) -> String {
    let text = ty.to_string();
    let end = text.find(['(', ' ']).unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_owned()
}

/// Whether values are of characters.
pub(super) fn has_charset(ty: &ColumnType) -> bool {
    ty.is_text() || matches!(ty, ColumnType::Enum(_))
}

/// The most characters and bytes of a text, bytes and bytes of a binary string.
fn lengths(ty: &ColumnType) -> Option<(u64, u64)> {
    let of_chars = |chars: u64| (chars, chars * CHAR_BYTES_MAX);
    match ty {
        ColumnType::Char { chars_max } => Some(of_chars(u64::from(*chars_max))),
        ColumnType::Varchar { chars_max } => Some(match chars_max {
            Some(chars) => of_chars(u64::from(*chars)),
            None => (VALUE_BYTES_MAX, VALUE_BYTES_MAX),
        }),
        ColumnType::Text(size) | ColumnType::Blob(size) => {
            Some((size.bytes_max(), size.bytes_max()))
        }
        ColumnType::Binary { bytes } => Some((u64::from(*bytes), u64::from(*bytes))),
        ColumnType::Varbinary { bytes_max } => {
            let bytes = bytes_max.map_or(VALUE_BYTES_MAX, u64::from);
            Some((bytes, bytes))
        }
        ColumnType::Enum(labels) => {
            let longest = labels.iter().map(|label| label.chars().count()).max();
            let chars = u64::try_from(longest.unwrap_or(0)).unwrap_or(u64::MAX);
            Some((chars, chars.saturating_mul(CHAR_BYTES_MAX)))
        }
        ColumnType::Null
        | ColumnType::Dynamic
        | ColumnType::Boolean
        | ColumnType::Int { .. }
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Datetime { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::Year
        | ColumnType::Json => None,
    }
}

/// Digits in all, and digits behind the point.
fn digits_of(ty: &ColumnType) -> Option<(u8, Option<u8>)> {
    match ty {
        ColumnType::Boolean => Some((3, Some(0))),
        ColumnType::Int { width, unsigned } => {
            let digits = match width {
                IntWidth::Tiny => 3,
                IntWidth::Small => 5,
                IntWidth::Medium => 7,
                IntWidth::Int => 10,
                IntWidth::Big if *unsigned => 20,
                IntWidth::Big => 19,
            };
            Some((digits, Some(0)))
        }
        ColumnType::Float => Some((12, None)),
        ColumnType::Double => Some((22, None)),
        ColumnType::Decimal { precision, scale } => Some((*precision, Some(*scale))),
        ColumnType::Null
        | ColumnType::Dynamic
        | ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text(_)
        | ColumnType::Binary { .. }
        | ColumnType::Varbinary { .. }
        | ColumnType::Blob(_)
        | ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Datetime { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::Year
        | ColumnType::Json
        | ColumnType::Enum(_) => None,
    }
}

fn default(column: &Column, zone: &Zone) -> Option<String> {
    match &column.default {
        ColumnDefault::None => None,
        ColumnDefault::Now => Some(describe::now_text(&column.ty)),
        ColumnDefault::Constant(value) if value.is_null() => None,
        ColumnDefault::Constant(value) => Some(describe::constant_text(value, zone)),
    }
}

fn extra(column: &Column) -> String {
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_owned());
    }
    if matches!(column.default, ColumnDefault::Now) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_now {
        words.push(format!("on update {}", describe::now_text(&column.ty)));
    }
    words.join(" ")
}
