//! Secondary indexes: from their text to their definition, with MySQL's checks. Building one is
//! [`crate::exec::backfill`]'s.

use super::{KEY_COLUMNS_MAX, OPTIONS_KEPT, check_identifier};
use crate::catalog::{Column, Include, Index, IndexId, IndexState, KeyPart, Table};
use crate::codec::key::Direction;
use crate::error::{Code, Error, Result};
use crate::exec::write::row::KEY_COLUMN_BYTES_MAX;
use crate::sql::ast;
use crate::sql::context::{EvalContext, WarningLevel};
use crate::types::ColumnType;

/// What `USING` may name: all mean an ordered index in the table's own storage.
const METHODS: [&str; 2] = ["KV", "BTREE"];

/// Characters of an index's comment, as in MySQL.
const INDEX_COMMENT_CHARS_MAX: usize = 1024;

/// Bytes of one character of utf8mb4, at most.
const CHAR_BYTES_MAX: usize = 4;

/// The definition that an index of `table` asks for; its state is `ACTIVE`, as that of an index of
/// an empty table.
///
/// # Errors
/// MySQL's errors for what cannot be an index; 1235 for what this server does not have.
pub fn define_index(table: &Table, index: &ast::IndexDef, ctx: &EvalContext) -> Result<Index> {
    let unique = refuse(index)?;
    check_options(index, ctx)?;
    let parts = define_parts(table, &index.parts)?;
    let name = match &index.name {
        Some(name) => {
            check_name(name)?;
            if table.index_position(name).is_some() {
                return Err(duplicate_name(name));
            }
            name.clone()
        }
        None => default_name(table, &parts),
    };
    let defined = Index {
        id: IndexId::NEW,
        name,
        unique,
        parts,
        include: define_include(table, &index.include)?,
        state: IndexState::Active,
        comment: index.comment.clone(),
    };
    warn_of_length(table, &defined, ctx);
    Ok(defined)
}

/// Error 1061.
pub fn duplicate_name(name: &str) -> Error {
    Error::new(
        Code::DuplicateKeyName,
        format!("Duplicate key name '{name}'"),
    )
}

/// Checks a name that an index is to have.
///
/// # Errors
/// 1059 and 1280.
pub fn check_name(name: &str) -> Result<()> {
    check_identifier(name, Code::WrongNameForIndex)?;
    if name.eq_ignore_ascii_case("PRIMARY") {
        let text = format!("Incorrect index name '{name}'");
        return Err(Error::new(Code::WrongNameForIndex, text));
    }
    Ok(())
}

/// Whether the index is unique.
fn refuse(index: &ast::IndexDef) -> Result<bool> {
    if let Some(method) = &index.using
        && !METHODS.contains(&method.as_str())
    {
        return Err(Error::unsupported(format!("USING {method}")));
    }
    if index.filter.is_some() {
        return Err(Error::unsupported("a partial index (WHERE)"));
    }
    match index.kind {
        ast::IndexKind::Plain => Ok(false),
        ast::IndexKind::Unique => Ok(true),
        ast::IndexKind::Fulltext => Err(Error::unsupported("FULLTEXT index")),
        ast::IndexKind::Spatial => Err(Error::unsupported("SPATIAL index")),
    }
}

fn check_options(index: &ast::IndexDef, ctx: &EvalContext) -> Result<()> {
    for (name, _) in &index.with {
        let name = name.to_ascii_uppercase();
        if !OPTIONS_KEPT.contains(&name.as_str()) {
            let text = format!("Unknown index option '{name}'");
            return Err(Error::new(Code::WrongUsage, text));
        }
        ctx.warnings
            .add(WarningLevel::Warning, Code::FeatureIgnored, || {
                format!("Index option '{name}' has no effect on this engine")
            });
    }
    if INDEX_COMMENT_CHARS_MAX < index.comment.chars().count() {
        let name = index.name.as_deref().unwrap_or_default();
        let text =
            format!("Comment for index '{name}' is too long (max = {INDEX_COMMENT_CHARS_MAX})");
        return Err(Error::new(Code::IndexCommentTooLong, text));
    }
    Ok(())
}

fn define_parts(table: &Table, declared: &[ast::KeyPart]) -> Result<Vec<KeyPart>> {
    if KEY_COLUMNS_MAX < declared.len() {
        let text = format!(
            "Too many key parts specified; max {KEY_COLUMNS_MAX} parts allowed, {} given",
            declared.len()
        );
        return Err(Error::new(Code::TooManyKeyParts, text));
    }
    let mut parts: Vec<KeyPart> = Vec::with_capacity(declared.len());
    for part in declared {
        let name = match &part.source {
            ast::KeyPartSource::Column(name) => name,
            ast::KeyPartSource::Prefix(name, length) => {
                let what = format!("a prefix part in an index: {name}({length})");
                return Err(Error::unsupported(what));
            }
            ast::KeyPartSource::Expression(_) => {
                return Err(Error::unsupported("an expression part in an index"));
            }
        };
        let (column_idx, column) = visible_column(table, name)?;
        if parts.iter().any(|part| part.column_idx == column_idx) {
            return Err(duplicate_column(name));
        }
        check_type(column)?;
        parts.push(KeyPart {
            column_idx,
            direction: Direction::of(part.descending),
        });
    }
    Ok(parts)
}

fn visible_column<'t>(table: &'t Table, name: &str) -> Result<(usize, &'t Column)> {
    let idx = table.column_idx(name);
    let found = idx.and_then(|idx| Some((idx, table.columns.get(idx)?)));
    found.filter(|(_, column)| !column.hidden).ok_or_else(|| {
        let text = format!("Key column '{name}' doesn't exist in table");
        Error::new(Code::KeyColumnMissing, text)
    })
}

fn duplicate_column(name: &str) -> Error {
    let text = format!("Duplicate column name '{name}'");
    Error::new(Code::DuplicateColumn, text)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other types can be in a key"
)]
fn check_type(column: &Column) -> Result<()> {
    match &column.ty {
        ColumnType::Json => {
            let text = format!(
                "JSON column '{}' supports indexing only via generated columns on a specified \
                 JSON path.",
                column.name
            );
            Err(Error::new(Code::JsonKey, text))
        }
        ColumnType::Text(_) | ColumnType::Blob(_) => {
            let text = format!(
                "BLOB/TEXT column '{}' used in key specification without a key length: use \
                 VARCHAR or VARBINARY",
                column.name
            );
            Err(Error::new(Code::BlobKeyWithoutLength, text))
        }
        _ => Ok(()),
    }
}

fn define_include(table: &Table, include: &ast::Include) -> Result<Include> {
    let names = match include {
        ast::Include::None => return Ok(Include::None),
        ast::Include::All => return Ok(Include::All),
        ast::Include::Columns(names) => names,
    };
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let (column_idx, _) = visible_column(table, name)?;
        if columns.contains(&column_idx) {
            return Err(duplicate_column(name));
        }
        columns.push(column_idx);
    }
    Ok(Include::Columns(columns))
}

/// MySQL's name for an index without one: the first column's, then with `_2`, `_3`, …
fn default_name(table: &Table, parts: &[KeyPart]) -> String {
    let first = parts
        .first()
        .and_then(|part| table.columns.get(part.column_idx));
    let base = first.map_or("key", |column| column.name.as_str());
    let is_free = |name: &String| {
        table.index_position(name).is_none() && !name.eq_ignore_ascii_case("PRIMARY")
    };
    let numbered = (2_u32..).map(|number| format!("{base}_{number}"));
    std::iter::once(base.to_owned())
        .chain(numbered)
        .find(is_free)
        .unwrap_or_default()
}

/// Values are held to the limits when they are written; a column that may have longer ones is worth
/// a word now.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only these types have a declared length above the limit"
)]
fn warn_of_length(table: &Table, index: &Index, ctx: &EvalContext) {
    for part in &index.parts {
        let Some(column) = table.columns.get(part.column_idx) else {
            continue;
        };
        let (length, unit_bytes) = match &column.ty {
            ColumnType::Varchar { chars_max } => (*chars_max, CHAR_BYTES_MAX),
            ColumnType::Varbinary { bytes_max } => (*bytes_max, 1),
            _ => continue,
        };
        let bytes = length.and_then(|length| usize::try_from(length).ok());
        if bytes.unwrap_or(0).saturating_mul(unit_bytes) <= KEY_COLUMN_BYTES_MAX {
            continue;
        }
        ctx.warnings
            .add(WarningLevel::Warning, Code::KeyTooLong, || {
                format!(
                    "Specified key was too long; max key length is {KEY_COLUMN_BYTES_MAX} bytes: \
                     longer values of column '{}' will be refused",
                    column.name
                )
            });
    }
}
