//! The primary key of CREATE TABLE: the declared one, or the hidden one, and the column that counts.

use super::spread;
use crate::catalog::{Column, KeyPart, Table};
use crate::codec::key::Direction;
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::context::{EvalContext, WarningLevel};
use crate::sql::expr::VariableScope;
use crate::types::ColumnType;
use crate::types::column_type::IntWidth;

/// Columns of one primary key.
pub const KEY_COLUMNS_MAX: usize = 16;

pub(super) fn define_key(
    table: &mut Table,
    parts: &[ast::KeyPart],
    columns: &[ast::ColumnDef],
) -> Result<()> {
    if KEY_COLUMNS_MAX < parts.len() {
        let text = format!(
            "Too many key parts specified; max {KEY_COLUMNS_MAX} parts allowed, {} given",
            parts.len()
        );
        return Err(Error::new(Code::TooManyKeyParts, text));
    }
    let spread = parts
        .first()
        .and_then(|part| Some((part, spread::call(part)?)));
    for part in parts.iter().skip(usize::from(spread.is_some())) {
        let name = match &part.source {
            ast::KeyPartSource::Column(name) => name,
            ast::KeyPartSource::Prefix(..) => {
                return Err(Error::unsupported("a prefix part in a primary key"));
            }
            ast::KeyPartSource::Function(_) => return Err(spread::misplaced()),
            ast::KeyPartSource::Expression(_) => {
                let text = "The primary key cannot be an expression index: use a column, and an \
                            index on the expression";
                return Err(Error::new(Code::ExpressionPrimaryKey, text));
            }
        };
        let column_idx = table.column_idx(name).ok_or_else(|| {
            let text = format!("Key column '{name}' doesn't exist in table");
            Error::new(Code::KeyColumnMissing, text)
        })?;
        if table.key_position(column_idx).is_some() {
            let text = format!("Duplicate column name '{name}'");
            return Err(Error::new(Code::DuplicateColumn, text));
        }
        check_key_column(table, column_idx, columns)?;
        table.key.push(KeyPart {
            column_idx,
            direction: Direction::of(part.descending),
        });
    }
    if let Some((part, call)) = spread {
        spread::define(table, part, call)?;
    }
    for part in table.key.clone() {
        if let Some(column) = table.columns.get_mut(part.column_idx) {
            column.nullable = false;
        }
    }
    Ok(())
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other types can be in a key"
)]
fn check_key_column(table: &Table, column_idx: usize, columns: &[ast::ColumnDef]) -> Result<()> {
    let (Some(column), Some(declared)) = (table.columns.get(column_idx), columns.get(column_idx))
    else {
        return Ok(());
    };
    // What counts is never NULL, whatever is said.
    if declared.nullable == Some(true) && !declared.auto_increment {
        let text = "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use \
                    UNIQUE instead";
        return Err(Error::new(Code::PrimaryKeyNull, text));
    }
    match &column.ty {
        ColumnType::Json => {
            let text = format!("JSON column '{}' cannot be in a key", column.name);
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

/// Gives a table without primary key its hidden `_rowid`, and says what that means.
pub(super) fn hide_key(table: &mut Table, ctx: &EvalContext) -> Result<()> {
    ctx.warnings
        .add(WarningLevel::Warning, Code::NoPrimaryKey, || {
            format!(
                "Table '{}' has no PRIMARY KEY: every filtered read of it is a full table scan",
                table.name
            )
        });
    if table.column_idx("_rowid").is_some() {
        let text = "Column name '_rowid' is taken by the hidden key of a table without PRIMARY KEY";
        return Err(Error::new(Code::DuplicateColumn, text));
    }
    table.key.push(KeyPart {
        column_idx: table.columns.len(),
        direction: Direction::Asc,
    });
    let hidden = Column {
        nullable: false,
        hidden: true,
        ..Column::new(table.next_column_id()?, "_rowid", ColumnType::BIGINT)
    };
    table.columns.push(hidden);
    Ok(())
}

/// `AUTO_INCREMENT`: one integer column, the first of a key. BIGINT ids are spread (docs/loading.md) unless the
/// table or the session says that they are counted; there is no room to spread those of smaller types.
pub(super) fn define_auto_increment(
    table: &mut Table,
    first: Option<u64>,
    ctx: &EvalContext,
) -> Result<()> {
    let columns = table.columns.iter().enumerate();
    let mut columns = columns.filter(|(_, column)| column.auto_increment);
    let Some((column_idx, _)) = columns.next() else {
        return Ok(());
    };
    if columns.next().is_some() || !leads_a_key(table, column_idx) {
        let text = "Incorrect table definition; there can be only one auto column and it must be \
                    defined as a key";
        return Err(Error::new(Code::WrongAutoKey, text));
    }
    let Some(column) = table.columns.get_mut(column_idx) else {
        return Ok(());
    };
    if column.ty.int_range().is_none() {
        let text = format!("Incorrect column specifier for column '{}'", column.name);
        return Err(Error::new(Code::WrongFieldSpec, text));
    }
    let is_big = matches!(
        column.ty,
        ColumnType::Int {
            width: IntWidth::Big,
            ..
        }
    );
    column.nullable = false;
    if !is_big || first.is_some() || counts_by_default(ctx) {
        column.counted_from = Some(first.unwrap_or(1).max(1));
    }
    Ok(())
}

fn leads_a_key(table: &Table, column_idx: usize) -> bool {
    let keys = table.indexes.iter().map(|index| index.parts.as_slice());
    let mut keys = keys.chain([table.declared_key()]);
    keys.any(|parts| {
        parts
            .first()
            .is_some_and(|part| part.column_idx == column_idx)
    })
}

/// `auto_increment_mode`.
fn counts_by_default(ctx: &EvalContext) -> bool {
    let mode = ctx
        .facts
        .system_variable(VariableScope::Any, "auto_increment_mode");
    mode.is_ok_and(|mode| mode.to_text() == "CONSECUTIVE")
}
