//! A table's definition as SQL text that makes the same table again: `SHOW CREATE TABLE`.

use std::fmt::Write as _;

use super::computed::PartSource;
use super::schema::{Column, ColumnDefault, Include, Index, KeyPart, Table};
use crate::codec::key::Direction;
use crate::types::column_type::IntWidth;
use crate::types::literal::string_literal;
use crate::types::{ColumnType, Value, Zone};

/// What a text says of a table beside its columns and keys.
#[derive(Debug, Clone, Copy)]
pub struct Telling<'a> {
    /// The next of counted ids.
    pub next_id: u64,
    /// Whether the options of the table are left out: `NO_TABLE_OPTIONS`.
    pub omits_table_options: bool,
    /// Whether attributes of columns that other databases do not have are: `NO_FIELD_OPTIONS`.
    pub omits_column_options: bool,
    /// The time zone of who reads it: points in time are shown as they are read.
    pub zone: &'a Zone,
}

/// The text of `SHOW CREATE TABLE`, of a table that has given no id yet.
pub fn create_table(table: &Table, zone: &Zone) -> String {
    let telling = Telling {
        next_id: table.counted().map_or(1, |(_, first)| first),
        omits_table_options: false,
        omits_column_options: false,
        zone,
    };
    create_table_telling(table, telling)
}

/// The text of `SHOW CREATE TABLE`.
pub fn create_table_telling(table: &Table, telling: Telling<'_>) -> String {
    let mut lines: Vec<String> = table
        .columns
        .iter()
        .filter(|column| !column.hidden)
        .map(|column| column_line(column, telling))
        .collect();
    let patterns = table.wide.patterns.iter();
    lines.extend(patterns.map(|one| format!("  {} {}", quoted(&one.text), one.ty)));
    if !table.has_hidden_key() {
        lines.push(format!("  PRIMARY KEY ({})", key_text(table)));
    }
    lines.extend(table.indexes.iter().map(|index| index_line(table, index)));
    let mut text = format!(
        "CREATE TABLE {} (\n{}\n)",
        quoted(&table.name),
        lines.join(",\n")
    );
    if telling.omits_table_options {
        return text;
    }
    text.push_str(" ENGINE=Meseta");
    if counts_visibly(table, telling.next_id) {
        let _ = write!(text, " AUTO_INCREMENT={}", telling.next_id);
    }
    text.push_str(" DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin");
    if !table.comment.is_empty() {
        let _ = write!(text, " COMMENT={}", string_literal(&table.comment));
    }
    if let Some(column) = table.wide.ttl.as_ref().and_then(|ttl| ttl.column.as_ref()) {
        let declared = table
            .columns
            .iter()
            .find(|declared| declared.id == column.id);
        let name = declared.map_or("", |declared| declared.name.as_str());
        let (amount, unit) = (column.amount, &column.unit);
        let _ = write!(text, " TTL={} + INTERVAL {amount} {unit}", quoted(name));
    }
    if !table.options.is_empty() {
        let options = table.options.iter();
        let options = options.map(|(name, value)| format!("{name}={}", string_literal(value)));
        let _ = write!(text, " WITH ({})", options.collect::<Vec<_>>().join(", "));
    }
    text
}

/// Whether the next id is shown: as MySQL, from the second on; and always where the ids would be spread
/// without it.
fn counts_visibly(table: &Table, next_id: u64) -> bool {
    let counted = table.counted();
    let column = counted.and_then(|(column_idx, _)| table.columns.get(column_idx));
    column.is_some_and(|column| 1 < next_id || is_big(&column.ty))
}

fn is_big(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Int {
            width: IntWidth::Big,
            ..
        }
    )
}

/// The key columns as in DDL: `` `a`,`b` DESC ``.
pub fn key_text(table: &Table) -> String {
    parts_text(table, &table.key)
}

/// Columns of a key or an index as in DDL.
pub fn parts_text(table: &Table, parts: &[KeyPart]) -> String {
    let parts = parts.iter().filter_map(|part| {
        let column = table.columns.get(part.column_idx)?;
        let name = match &column.spread {
            Some(spread) => table.spread_text(spread),
            None => quoted(&column.name),
        };
        Some(match part.direction {
            Direction::Asc => name,
            Direction::Desc => format!("{name} DESC"),
        })
    });
    parts.collect::<Vec<_>>().join(",")
}

/// The parts of an index as in DDL.
pub fn index_parts_text(table: &Table, index: &Index) -> String {
    let parts = index.parts.iter().filter_map(|part| {
        let text = match index.computed_part(table, part.column_idx) {
            None => quoted(&table.columns.get(part.column_idx)?.name),
            Some(part) => match &part.source {
                PartSource::Prefix { column_idx, length } => {
                    format!(
                        "{}({length})",
                        quoted(&table.columns.get(*column_idx)?.name)
                    )
                }
                PartSource::Expression(text) => format!("({text})"),
            },
        };
        Some(match part.direction {
            Direction::Asc => text,
            Direction::Desc => format!("{text} DESC"),
        })
    });
    parts.collect::<Vec<_>>().join(",")
}

fn index_line(table: &Table, index: &Index) -> String {
    let kind = if index.unique { "UNIQUE KEY" } else { "KEY" };
    let parts = index_parts_text(table, index);
    let mut line = format!("  {kind} {} ({parts})", quoted(&index.name));
    match &index.include {
        Include::None => {}
        Include::All => line.push_str(" INCLUDE ALL"),
        Include::Columns(columns) => {
            let columns = columns.iter().filter_map(|idx| table.columns.get(*idx));
            let names: Vec<String> = columns.map(|column| quoted(&column.name)).collect();
            let _ = write!(line, " INCLUDE ({})", names.join(","));
        }
    }
    if let Some(filter) = &index.computed.filter {
        let _ = write!(line, " WHERE {filter}");
    }
    if !index.comment.is_empty() {
        let _ = write!(line, " COMMENT {}", string_literal(&index.comment));
    }
    line
}

fn column_line(column: &Column, telling: Telling<'_>) -> String {
    let mut line = format!("  {} {}", quoted(&column.name), column.ty);
    if !column.nullable {
        line.push_str(" NOT NULL");
    } else if matches!(column.ty, ColumnType::Timestamp { .. }) {
        line.push_str(" NULL");
    }
    if column.auto_increment && !telling.omits_column_options {
        line.push_str(" AUTO_INCREMENT");
    }
    if let Some(default) = default_text(column, telling.zone) {
        let _ = write!(line, " DEFAULT {default}");
    }
    if column.on_update_now {
        let _ = write!(line, " ON UPDATE {}", now_text(&column.ty));
    }
    if !column.comment.is_empty() {
        let _ = write!(line, " COMMENT {}", string_literal(&column.comment));
    }
    line
}

/// What stands after `DEFAULT`, if anything does.
fn default_text(column: &Column, zone: &Zone) -> Option<String> {
    match &column.default {
        ColumnDefault::Now => Some(now_text(&column.ty)),
        ColumnDefault::Constant(Value::Bytes(bytes)) => {
            let mut digits = String::with_capacity(2 * bytes.len());
            for byte in bytes.iter() {
                let _ = write!(digits, "{byte:02x}");
            }
            Some(format!("x'{digits}'"))
        }
        ColumnDefault::Constant(value) if !value.is_null() => {
            Some(string_literal(&constant_text(value, zone)))
        }
        ColumnDefault::Constant(_) | ColumnDefault::None => {
            let shown = column.nullable && can_have_default(&column.ty);
            shown.then(|| "NULL".to_owned())
        }
    }
}

/// A constant as it is read in a time zone.
pub fn constant_text(value: &Value<'_>, zone: &Zone) -> String {
    if let Value::Timestamp(at) = value {
        return zone.to_datetime(*at).to_string();
    }
    value.to_text().into_owned()
}

/// Whether MySQL prints `DEFAULT NULL` for the type.
fn can_have_default(ty: &ColumnType) -> bool {
    !matches!(
        ty,
        ColumnType::Text(_) | ColumnType::Blob(_) | ColumnType::Json
    )
}

/// `CURRENT_TIMESTAMP` with the digits of the type.
pub fn now_text(ty: &ColumnType) -> String {
    match ty.fsp() {
        0 => "CURRENT_TIMESTAMP".to_owned(),
        fsp => format!("CURRENT_TIMESTAMP({fsp})"),
    }
}

/// An identifier in backticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
