//! Columns that nobody declares, in DDL: patterns of names, the option that lets any name in, and
//! names that indexes say.
//!
//! An index has an order, and so one type: a name whose type a pattern gives can be indexed as it
//! is, and one of a dynamic column by way of a cast, `((CAST(colour AS CHAR(64))))`, which says the
//! type.

use crate::catalog::wide::DYNAMIC_COLUMNS;
use crate::catalog::{Column, ColumnPlace, Pattern, Table};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, KeyPartSource};
use crate::sql::bind::named;
use crate::sql::computed;
use crate::types::ColumnType;

/// Wildcard columns of one table: all of them are tried for a name.
const PATTERNS_MAX: usize = 64;

/// Whether a column of the list is a pattern of names. A pattern has a type and nothing else, so one with
/// `?` in its name and more than a type is a column of that name, as in MySQL; `*` is always meant.
pub(super) fn is_pattern(column: &ast::ColumnDef) -> bool {
    Pattern::is_one(&column.name) && (column.name.contains('*') || !has_attribute(column))
}

fn has_attribute(column: &ast::ColumnDef) -> bool {
    column.nullable == Some(false)
        || column.default.is_some()
        || column.on_update_now
        || column.auto_increment
        || column.unsupported.is_some()
        || !column.comment.is_empty()
}

/// Puts the patterns of a list of columns into a definition that has the declared ones.
///
/// # Errors
/// 1166 for a pattern that matches a declared column or that another one makes ambiguous; 1235 for
/// attributes; 1117 for too many.
pub(super) fn define_patterns<'c>(
    table: &mut Table,
    columns: impl Iterator<Item = &'c ast::ColumnDef>,
) -> Result<()> {
    for column in columns {
        let pattern = pattern_of(column)?;
        check_declared(&pattern, table.columns.iter())?;
        let mut others = table.wide.patterns.iter();
        if let Some(other) = others.find(|other| other.is_ambiguous_with(&pattern)) {
            let text = format!(
                "Incorrect column name '{}': a name can match it and '{}', and neither is longer",
                pattern.text, other.text
            );
            return Err(Error::new(Code::WrongFieldSpecifier, text));
        }
        table.wide.patterns.push(pattern);
    }
    if PATTERNS_MAX < table.wide.patterns.len() {
        let text = format!(
            "Too many columns: {} wildcard ones, the most is {PATTERNS_MAX}",
            table.wide.patterns.len()
        );
        return Err(Error::new(Code::TooManyColumns, text));
    }
    Ok(())
}

/// # Errors
/// 1166 for a pattern that matches a declared column.
fn check_declared<'c>(
    pattern: &Pattern,
    mut columns: impl Iterator<Item = &'c Column>,
) -> Result<()> {
    let is_it = |column: &&Column| !column.hidden && pattern.matches(&column.name);
    let Some(declared) = columns.find(is_it) else {
        return Ok(());
    };
    let text = format!(
        "Incorrect column name '{}': the pattern matches column '{}', which is declared",
        pattern.text, declared.name
    );
    Err(Error::new(Code::WrongFieldSpecifier, text))
}

/// Checks the columns that ALTER TABLE gives a table.
///
/// # Errors
/// 1166 for one that a pattern of the table matches; 1235 for a new pattern.
pub(super) fn check_columns<'c>(
    table: &Table,
    columns: impl Iterator<Item = &'c Column>,
) -> Result<()> {
    for column in columns {
        for pattern in &table.wide.patterns {
            check_declared(pattern, std::iter::once(column))?;
        }
    }
    Ok(())
}

fn pattern_of(column: &ast::ColumnDef) -> Result<Pattern> {
    if has_attribute(column) {
        return Err(Error::unsupported(format!(
            "attributes of the wildcard column {}: it has a type and nothing else",
            column.name
        )));
    }
    // The members of an ENUM are stored by number, and the cells of names by what they say.
    if matches!(column.ty, ColumnType::Enum(_)) {
        return Err(Error::unsupported(format!(
            "a wildcard column of type ENUM ({})",
            column.name
        )));
    }
    Ok(Pattern {
        text: column.name.clone(),
        ty: column.ty.clone(),
    })
}

/// What `DYNAMIC_COLUMNS` is set to.
///
/// # Errors
/// 1221 for another value than `true` and `false`.
pub(super) fn is_switched_on(value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => {
            let text = format!(
                "Incorrect usage of {DYNAMIC_COLUMNS} and '{value}': it is 'true' or 'false'"
            );
            Err(Error::new(Code::WrongUsage, text))
        }
    }
}

/// Sets `DYNAMIC_COLUMNS` of a table that there is.
///
/// # Errors
/// 1221; 1235 when it is to be switched off.
pub(super) fn switch(table: &mut Table, value: &str) -> Result<()> {
    match (table.is_dynamic(), is_switched_on(value)?) {
        (false, true) => {
            let option = (DYNAMIC_COLUMNS.to_owned(), "true".to_owned());
            table.options.push(option);
            Ok(())
        }
        (true, true) | (false, false) => Ok(()),
        (true, false) => Err(Error::unsupported(
            "DYNAMIC_COLUMNS='false' of a table that has them: rows may hold some",
        )),
    }
}

/// Adds the names that an index says, and that nobody declared, to the definition.
///
/// # Errors
/// 1059 and 1166 for names that cannot be.
pub fn add_names(table: &mut Table, index: &ast::IndexDef) -> Result<()> {
    if !table.takes_names() {
        return Ok(());
    }
    let mut names = Vec::new();
    for part in &index.parts {
        match &part.source {
            KeyPartSource::Column(name) | KeyPartSource::Prefix(name, _) => {
                names.push(name.clone());
            }
            KeyPartSource::Function(expr) | KeyPartSource::Expression(expr) => {
                gather(expr, &mut names);
            }
        }
    }
    if let Some(filter) = &index.filter {
        gather(filter, &mut names);
    }
    if let ast::Include::Columns(included) = &index.include {
        names.extend(included.iter().cloned());
    }
    for name in names {
        if table.column_idx(&name).is_some() {
            continue;
        }
        // A time of writing is no column that a row has.
        if table.named_type(&name).is_none() || table.stamped(&name).is_some() {
            continue;
        }
        named::check_name(&name)?;
        let id = table.next_column_id()?;
        let column = table.named_column(id, &name);
        table.add_columns(column);
    }
    Ok(())
}

/// Lets go of the names that no index says any more, as those of an index that was dropped or that could
/// not be built: they can be declared again.
///
/// # Errors
/// 1712 for an index whose definition is none.
pub fn forget_names(table: &mut Table) -> Result<()> {
    let is_named = |column: &Column| column.place == ColumnPlace::Named;
    if !table.columns.iter().any(is_named) {
        return Ok(());
    }
    let mut said = Vec::new();
    for index in &table.indexes {
        said.extend(computed::columns_needed(table, index)?);
    }
    let columns = table.columns.iter().enumerate();
    let kept = columns.filter(|(idx, column)| !is_named(column) || said.contains(idx));
    let kept = kept.map(|(idx, column)| (Some(idx), column.clone()));
    table.reshape(kept.collect())
}

fn gather(expr: &ast::Expr, names: &mut Vec<String>) {
    if let ast::Expr::Column(name) = expr {
        names.push(name.column.clone());
    }
    expr.each_child(&mut |child| gather(child, names));
}

/// Error 1235 for a dynamic column where an index needs a type.
pub(super) fn no_type(name: &str) -> Error {
    Error::unsupported(format!(
        "the dynamic column {name} in an index without a type; say it: \
         (CAST({name} AS CHAR(64))) or a wildcard column"
    ))
}
