//! Columns of CREATE TABLE: their types within their limits, and their defaults.

use std::borrow::Cow;
use std::collections::HashSet;

use super::check_charset;
use crate::catalog::{Column, ColumnDefault};
use crate::codec::row::ColumnId;
use crate::error::{Code, Error, Result};
use crate::exec::write::row::Stored;
use crate::sql::ast;
use crate::sql::context::{EvalContext, WarningLevel};
use crate::types::{ColumnType, Decimal, Value};

/// Characters of a column's comment, as in MySQL.
const COLUMN_COMMENT_CHARS_MAX: usize = 1024;

pub(super) fn define_column(
    column: &ast::ColumnDef,
    id: ColumnId,
    ctx: &EvalContext,
) -> Result<Column> {
    if let Some(attribute) = &column.unsupported {
        return Err(Error::unsupported(attribute));
    }
    check_charset(column.charset.as_deref(), column.collation.as_deref(), ctx)?;
    check_type(column)?;
    if column.checks_sign {
        note_sign(&column.name, ctx);
    }
    if COLUMN_COMMENT_CHARS_MAX < column.comment.chars().count() {
        let text = format!(
            "Comment for field '{}' is too long (max = {COLUMN_COMMENT_CHARS_MAX})",
            column.name
        );
        return Err(Error::new(Code::WrongFieldSpec, text));
    }
    let mut defined = Column {
        nullable: column.nullable.unwrap_or(true),
        on_update_now: column.on_update_now,
        auto_increment: column.auto_increment,
        comment: column.comment.clone(),
        ..Column::new(id, &column.name, column.ty.clone())
    };
    if column.on_update_now && !takes_now(&column.ty) {
        let text = format!("Invalid ON UPDATE clause for '{}' column", column.name);
        return Err(Error::new(Code::InvalidOnUpdate, text));
    }
    if let Some(default) = &column.default {
        defined.default = define_default(&defined, default, ctx)?;
    }
    Ok(defined)
}

fn note_sign(name: &str, ctx: &EvalContext) {
    let text = || format!("CHECK ({name} >= 0) is not kept: column '{name}' is UNSIGNED");
    ctx.warnings
        .add(WarningLevel::Note, Code::FeatureIgnored, text);
}

fn takes_now(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Datetime { .. } | ColumnType::Timestamp { .. }
    )
}

/// Limits that the grammar does not know.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other types have no limit of their own"
)]
fn check_type(column: &ast::ColumnDef) -> Result<()> {
    let name = &column.name;
    match &column.ty {
        ColumnType::Decimal { precision, scale } => check_decimal(name, *precision, *scale),
        ColumnType::Time { fsp } | ColumnType::Datetime { fsp } | ColumnType::Timestamp { fsp }
            if 6 < *fsp =>
        {
            let text = format!("Too-big precision {fsp} specified for '{name}'. Maximum is 6.");
            Err(Error::new(Code::TooBigPrecision, text))
        }
        ColumnType::Char { chars_max } if 255 < *chars_max => Err(too_long(name, 255)),
        ColumnType::Binary { bytes } if 255 < *bytes => Err(too_long(name, 255)),
        ColumnType::Enum(labels) => check_labels(name, labels),
        _ => Ok(()),
    }
}

fn too_long(name: &str, max: u32) -> Error {
    let text = format!(
        "Column length too big for column '{name}' (max = {max}); use BLOB or TEXT instead"
    );
    Error::new(Code::ColumnTooBig, text)
}

fn check_decimal(name: &str, precision: u8, scale: u8) -> Result<()> {
    if 38 < precision {
        let text = format!("Too-big precision {precision} specified for '{name}'. Maximum is 38.");
        return Err(Error::new(Code::TooBigPrecision, text));
    }
    if 30 < scale {
        let text = format!("Too big scale {scale} specified for column '{name}'. Maximum is 30.");
        return Err(Error::new(Code::TooBigFraction, text));
    }
    if precision < scale {
        let text = format!(
            "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{name}')."
        );
        return Err(Error::new(Code::ScaleOverPrecision, text));
    }
    Ok(())
}

fn check_labels(name: &str, labels: &[Box<str>]) -> Result<()> {
    if labels.is_empty() || usize::from(u16::MAX) < labels.len() {
        let text = format!(
            "Column '{name}' has {} labels, allowed are 1 to 65535",
            labels.len()
        );
        return Err(Error::new(Code::WrongFieldSpec, text));
    }
    let mut seen: HashSet<&str> = HashSet::new();
    match labels
        .iter()
        .map(AsRef::as_ref)
        .find(|label| !seen.insert(*label))
    {
        None => Ok(()),
        Some(label) => {
            let text = format!("Column '{name}' has duplicated value '{label}' in ENUM");
            Err(Error::new(Code::DuplicateEnumMember, text))
        }
    }
}

pub(super) fn define_default(
    column: &Column,
    default: &ast::DefaultValue,
    ctx: &EvalContext,
) -> Result<ColumnDefault> {
    let invalid = || {
        let text = format!("Invalid default value for '{}'", column.name);
        Error::new(Code::InvalidDefault, text)
    };
    let (literal, negative) = match default {
        ast::DefaultValue::Now { fsp } => {
            let fits = takes_now(&column.ty) && *fsp == column.ty.fsp();
            return if fits {
                Ok(ColumnDefault::Now)
            } else {
                Err(invalid())
            };
        }
        ast::DefaultValue::Expression(_) => return Err(Error::unsupported("DEFAULT (expression)")),
        ast::DefaultValue::Literal { literal, negative } => (literal, *negative),
    };
    let value = literal_value(literal, negative).ok_or_else(invalid)?;
    if value.is_null() {
        return if column.nullable {
            Ok(ColumnDefault::None)
        } else {
            Err(invalid())
        };
    }
    let lob = matches!(
        column.ty,
        ColumnType::Text(_) | ColumnType::Blob(_) | ColumnType::Json
    );
    if lob {
        let text = format!(
            "BLOB, TEXT, GEOMETRY or JSON column '{}' can't have a default value",
            column.name
        );
        return Err(Error::new(Code::BlobDefault, text));
    }
    if column.auto_increment {
        return Err(invalid());
    }
    let at = Stored {
        ctx,
        row_number: 1,
        lenient: false,
    };
    at.coerce(value, column)
        .map(ColumnDefault::Constant)
        .map_err(|_| invalid())
}

fn literal_value(literal: &ast::Literal, negative: bool) -> Option<Value<'static>> {
    let value = match literal {
        ast::Literal::Null => Value::Null,
        ast::Literal::Bool(truth) => Value::Int(i64::from(*truth)),
        ast::Literal::Int(number) if negative => Value::Decimal(Decimal::from_u64(*number).neg()),
        ast::Literal::Int(number) => Value::UInt(*number),
        ast::Literal::Decimal(digits) => {
            let number = Decimal::parse(digits)?;
            Value::Decimal(if negative { number.neg() } else { number })
        }
        ast::Literal::Double(number) => Value::Double(if negative { -number } else { *number }),
        ast::Literal::Text(text)
        | ast::Literal::Date(text)
        | ast::Literal::Time(text)
        | ast::Literal::Timestamp(text) => Value::Text(Cow::Owned(text.clone())),
        ast::Literal::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.clone())),
    };
    Some(value)
}
