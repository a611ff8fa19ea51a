//! From the text of CREATE TABLE to a table's definition: what MySQL allows, within this server's
//! limits (docs/limits.md). Here is the table as a whole; its columns and its key have files of their
//! own.

pub mod alter;
mod column;
pub mod index;
mod key;
pub mod options;
mod spread;
mod ttl;
mod versions;
pub mod wide;

use std::collections::HashSet;

use self::column::define_column;
pub use self::key::KEY_COLUMNS_MAX;
use self::key::{define_auto_increment, define_key, hide_key};
use crate::catalog::{Table, TableId, Wide};
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::context::{EvalContext, WarningLevel};

/// Declared columns of one table.
pub const COLUMNS_MAX: usize = 4096;

/// Characters of one identifier, as in MySQL.
pub const IDENTIFIER_CHARS_MAX: usize = 64;

/// The only character set, and what counts as it.
const CHARSETS: [&str; 4] = ["utf8mb4", "utf8mb3", "utf8", "binary"];

/// Checks a name that DDL gives.
///
/// # Errors
/// 1059 when it is too long, `code` when it is empty or ends with a space.
pub fn check_identifier(name: &str, code: Code) -> Result<()> {
    let chars = name.chars().count();
    if IDENTIFIER_CHARS_MAX < chars {
        let text = format!(
            "Identifier name '{name}' is too long: {chars} characters, the most is \
             {IDENTIFIER_CHARS_MAX}"
        );
        return Err(Error::new(Code::IdentifierTooLong, text));
    }
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        let kind = if code == Code::WrongDatabaseName {
            "database"
        } else if code == Code::WrongTableName {
            "table"
        } else if code == Code::WrongNameForIndex {
            "index"
        } else {
            "column"
        };
        return Err(Error::new(code, format!("Incorrect {kind} name '{name}'")));
    }
    Ok(())
}

/// The definition that a CREATE TABLE with a column list asks for.
///
/// # Errors
/// MySQL's errors for what cannot be a table; 1235 for what this server does not have.
pub fn define(create: &ast::CreateTable, database: &str, ctx: &EvalContext) -> Result<Table> {
    let ast::TableSource::Columns {
        columns,
        primary_key,
        indexes,
        constraints,
    } = &create.source
    else {
        return Err(Error::internal("CREATE TABLE … LIKE has no column list"));
    };
    refuse(create, constraints)?;
    check_identifier(&create.table.name, Code::WrongTableName)?;
    let (declared, patterns): (Vec<_>, Vec<_>) = columns
        .iter()
        .cloned()
        .partition(|one| !wide::is_pattern(one));
    check_columns(columns, declared.len())?;
    let options = &create.options;
    check_charset(
        options.charset.as_deref(),
        options.collation.as_deref(),
        ctx,
    )?;
    let mut table = Table {
        id: TableId(0),
        database: database.to_owned(),
        name: create.table.name.clone(),
        columns: Vec::with_capacity(columns.len() + 1),
        shadow: None,
        columns_made: 0,
        key: Vec::new(),
        indexes: Vec::new(),
        options: options::kept(options, ctx)?,
        comment: options.comment.clone().unwrap_or_default(),
        wide: Wide::default(),
    };
    for column in &declared {
        let id = table.next_column_id()?;
        table.columns.push(define_column(column, id, ctx)?);
    }
    wide::define_patterns(&mut table, patterns.iter())?;
    match primary_key {
        Some(parts) => define_key(&mut table, parts, &declared)?,
        None => hide_key(&mut table, ctx)?,
    }
    ttl::define(&mut table, &options.with)?;
    versions::define(&mut table, &options.with)?;
    for declared in indexes {
        wide::add_names(&mut table, declared)?;
        let index = index::define_index(&table, declared, ctx)?;
        table.indexes.push(index);
    }
    table.check_indexes_count()?;
    define_auto_increment(&mut table, options.auto_increment, ctx)?;
    Ok(table)
}

fn refuse(create: &ast::CreateTable, constraints: &[String]) -> Result<()> {
    if let Some(constraint) = constraints.first() {
        return Err(Error::unsupported(constraint));
    }
    if create.options.partitioned {
        return Err(Error::unsupported(
            "PARTITION BY (rows are ordered by primary key instead)",
        ));
    }
    Ok(())
}

fn check_columns(columns: &[ast::ColumnDef], declared_count: usize) -> Result<()> {
    if declared_count == 0 {
        let text = "A table must have at least 1 column";
        return Err(Error::new(Code::TableMustHaveColumns, text));
    }
    if COLUMNS_MAX < columns.len() {
        let text = format!(
            "Too many columns: {}, the most is {COLUMNS_MAX}",
            columns.len()
        );
        return Err(Error::new(Code::TooManyColumns, text));
    }
    let mut names = HashSet::new();
    for column in columns {
        check_identifier(&column.name, Code::WrongFieldSpecifier)?;
        if !names.insert(column.name.to_lowercase()) {
            let text = format!("Duplicate column name '{}'", column.name);
            return Err(Error::new(Code::DuplicateColumn, text));
        }
    }
    Ok(())
}

/// Accepts utf8mb4 and its kin; another collation is replaced with a warning.
///
/// # Errors
/// 1115 for another character set.
pub fn check_charset(
    charset: Option<&str>,
    collation: Option<&str>,
    ctx: &EvalContext,
) -> Result<()> {
    if let Some(charset) = charset.filter(|charset| !CHARSETS.contains(charset)) {
        let text = format!("Unknown character set: '{charset}': this server stores utf8mb4 only");
        return Err(Error::new(Code::UnknownCharset, text));
    }
    if let Some(collation) = collation.filter(|collation| *collation != "utf8mb4_bin") {
        ctx.warnings
            .add(WarningLevel::Warning, Code::UnknownCollation, || {
                format!(
                    "Collation '{collation}' is not available: utf8mb4_bin (bytes) is used instead"
                )
            });
    }
    Ok(())
}
