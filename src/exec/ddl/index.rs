//! Secondary indexes: from their text to their definition, with MySQL's checks. Building one is
//! [`crate::exec::backfill`]'s.

use std::sync::Arc;

use super::options::KEPT;
use super::{KEY_COLUMNS_MAX, check_identifier, spread, wide};
use crate::catalog::computed::prefix_type;
use crate::catalog::schema::COMPRESSION;
use crate::catalog::{
    Column, ColumnPlace, Computed, ComputedPart, Include, Index, IndexId, IndexState, KeyPart,
    PartSource, Table,
};
use crate::codec::key::Direction;
use crate::error::{Code, Error, Result};
use crate::exec::write::row::KEY_COLUMN_BYTES_MAX;
use crate::sql::ast;
use crate::sql::computed::define;
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
    let declared_name = index.name.as_deref().unwrap_or_default();
    let mut definer = Definer {
        table,
        shared: None,
        index_name: declared_name,
        ctx,
        computed: Computed::default(),
    };
    let parts = definer.parts(&index.parts)?;
    definer.filter(index.filter.as_ref())?;
    let computed = definer.computed;
    let name = match &index.name {
        Some(name) => {
            check_name(name)?;
            if table.index_position(name).is_some() {
                return Err(duplicate_name(name));
            }
            name.clone()
        }
        None => default_name((table, &computed), &parts),
    };
    let made = Index {
        id: IndexId::NEW,
        name,
        unique,
        parts,
        computed,
        include: define_include(table, &index.include)?,
        state: IndexState::Active,
        comment: index.comment.clone(),
    };
    warn_of_length(table, &made, ctx);
    Ok(made)
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
        if !KEPT.contains(&name.as_str()) {
            let text = format!("Unknown index option '{name}'");
            return Err(Error::new(Code::WrongUsage, text));
        }
        if name == COMPRESSION {
            return Err(Error::unsupported(
                "COMPRESSION of an index: its entries are compressed as the rows of its table are",
            ));
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

/// The parts of an index while it is defined.
struct Definer<'a> {
    table: &'a Table,
    /// The table as binding wants it.
    shared: Option<Arc<Table>>,
    index_name: &'a str,
    ctx: &'a EvalContext,
    computed: Computed,
}

impl Definer<'_> {
    fn parts(&mut self, declared: &[ast::KeyPart]) -> Result<Vec<KeyPart>> {
        if KEY_COLUMNS_MAX < declared.len() {
            let text = format!(
                "Too many key parts specified; max {KEY_COLUMNS_MAX} parts allowed, {} given",
                declared.len()
            );
            return Err(Error::new(Code::TooManyKeyParts, text));
        }
        let mut parts: Vec<KeyPart> = Vec::with_capacity(declared.len());
        let mut columns = Vec::with_capacity(declared.len());
        for part in declared {
            let column_idx = match &part.source {
                ast::KeyPartSource::Column(name) => self.column(name, &mut columns)?,
                ast::KeyPartSource::Prefix(name, length) => {
                    self.prefix((name, *length), &mut columns)?
                }
                ast::KeyPartSource::Function(call) => {
                    return Err(spread::in_index(call, declared));
                }
                ast::KeyPartSource::Expression(expr) => {
                    let shared = self.shared();
                    let part = define::part((&shared, self.index_name), expr, self.ctx)?;
                    self.add(part)
                }
            };
            parts.push(KeyPart {
                column_idx,
                direction: Direction::of(part.descending),
            });
        }
        Ok(parts)
    }

    fn filter(&mut self, declared: Option<&ast::Expr>) -> Result<()> {
        if let Some(expr) = declared {
            let shared = self.shared();
            let filter = define::filter((&shared, self.index_name), expr, self.ctx)?;
            self.computed.filter = Some(filter);
        }
        Ok(())
    }

    fn shared(&mut self) -> Arc<Table> {
        let shared = self
            .shared
            .get_or_insert_with(|| Arc::new(self.table.clone()));
        Arc::clone(shared)
    }

    /// The position that means a new computed part.
    fn add(&mut self, part: ComputedPart) -> usize {
        self.computed.parts.push(part);
        self.table.columns.len() + self.computed.parts.len() - 1
    }

    fn column(&self, name: &str, columns: &mut Vec<usize>) -> Result<usize> {
        let (column_idx, column) = once(self.table, name, columns)?;
        check_type(column)?;
        Ok(column_idx)
    }

    /// `c(n)`: the column itself when no value is longer.
    fn prefix(&mut self, (name, length): (&str, u32), columns: &mut Vec<usize>) -> Result<usize> {
        let (column_idx, column) = once(self.table, name, columns)?;
        let Some((_, length_max)) = prefix_type(&column.ty, length) else {
            if matches!(column.ty, ColumnType::Json | ColumnType::Dynamic) {
                check_type(column)?;
            }
            return Err(wrong_prefix(name, "is no string"));
        };
        if length == 0 {
            let text = format!("Key part '{name}' length cannot be 0");
            return Err(Error::new(Code::PrefixKeyZero, text));
        }
        if let Some(max) = length_max.filter(|max| *max < length) {
            return Err(wrong_prefix(
                name,
                &format!("has {max} at most, not {length}"),
            ));
        }
        match ComputedPart::prefix((column_idx, column), length) {
            Some(part) => Ok(self.add(part)),
            None => Ok(column_idx),
        }
    }
}

/// A column that is not among the parts yet.
fn once<'t>(table: &'t Table, name: &str, columns: &mut Vec<usize>) -> Result<(usize, &'t Column)> {
    let (column_idx, column) = visible_column(table, name)?;
    if columns.contains(&column_idx) {
        return Err(duplicate_column(name));
    }
    columns.push(column_idx);
    Ok((column_idx, column))
}

fn wrong_prefix(name: &str, why: &str) -> Error {
    let text = format!(
        "Incorrect prefix key; the used key part isn't a string, the used length is longer than \
         the key part, or the storage engine doesn't support unique prefix keys: column '{name}' \
         {why}"
    );
    Error::new(Code::WrongPrefixKey, text)
}

fn visible_column<'t>(table: &'t Table, name: &str) -> Result<(usize, &'t Column)> {
    let idx = table.column_idx(name);
    let found = idx.and_then(|idx| Some((idx, table.columns.get(idx)?)));
    let can_be = |column: &Column| !column.hidden || column.place == ColumnPlace::Named;
    found.filter(|(_, column)| can_be(column)).ok_or_else(|| {
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
pub(super) fn check_type(column: &Column) -> Result<()> {
    match &column.ty {
        ColumnType::Dynamic => Err(wide::no_type(&column.name)),
        ColumnType::Json => {
            let text = format!(
                "JSON column '{}' supports indexing only via generated columns on a specified \
                 JSON path: index a path, as in (({}->>'$.name'))",
                column.name, column.name
            );
            Err(Error::new(Code::JsonKey, text))
        }
        ColumnType::Text(_) | ColumnType::Blob(_) => {
            let text = format!(
                "BLOB/TEXT column '{}' used in key specification without a key length: give one, \
                 as in {}(100), or use VARCHAR or VARBINARY",
                column.name, column.name
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
        let (column_idx, column) = visible_column(table, name)?;
        if column.ty == ColumnType::Dynamic {
            return Err(wide::no_type(name));
        }
        if columns.contains(&column_idx) {
            return Err(duplicate_column(name));
        }
        columns.push(column_idx);
    }
    Ok(Include::Columns(columns))
}

/// MySQL's name for an index without one: the first column's, then with `_2`, `_3`, …
fn default_name((table, computed): (&Table, &Computed), parts: &[KeyPart]) -> String {
    let first = parts.first().map_or(0, |part| part.column_idx);
    let base = match first.checked_sub(table.columns.len()) {
        None => table.columns.get(first).map(|column| &column.name),
        Some(at) => computed.parts.get(at).and_then(|part| match part.source {
            PartSource::Prefix { .. } => Some(&part.column.name),
            PartSource::Expression(_) => None,
        }),
    };
    let base = base.map_or("functional_index", String::as_str);
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
        let Some(column) = index.column(table, part.column_idx) else {
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
