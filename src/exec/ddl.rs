//! From the text of CREATE TABLE to a table's definition: what MySQL allows, within this server's
//! limits (dialect §1).

use std::borrow::Cow;
use std::collections::HashSet;

use super::write::row::Stored;
use crate::catalog::{Column, ColumnDefault, KeyPart, Table, TableId};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::context::{EvalContext, WarningLevel};
use crate::types::{ColumnType, Decimal, Value};

/// Declared columns of one table.
pub const COLUMNS_MAX: usize = 4096;

/// Columns of one primary key.
pub const KEY_COLUMNS_MAX: usize = 16;

/// Characters of one identifier, as in MySQL.
pub const IDENTIFIER_CHARS_MAX: usize = 64;

/// Characters of a column's comment, as in MySQL.
const COLUMN_COMMENT_CHARS_MAX: usize = 1024;

/// The only character set, and what counts as it.
const CHARSETS: [&str; 4] = ["utf8mb4", "utf8mb3", "utf8", "binary"];

/// Table options (dialect §5) that are kept, shown and not yet acted on.
const OPTIONS_KEPT: [&str; 8] = [
    "COMPRESSION",
    "NUMREGIONS",
    "STARTKEY",
    "ENDKEY",
    "SPLITKEYS",
    "COMPACTION_MAJOR_PERIOD",
    "CONSISTENCY",
    "MUTABILITY",
];

/// Table options that would change what a statement means, and are not there yet: refused.
const OPTIONS_REFUSED: [&str; 3] = ["DYNAMIC_COLUMNS", "TTL", "VERSIONS"];

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
    refuse(create, indexes, constraints)?;
    check_identifier(&create.table.name, Code::WrongTableName)?;
    check_columns(columns)?;
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
        key: Vec::new(),
        options: kept_options(options, ctx)?,
        comment: options.comment.clone().unwrap_or_default(),
    };
    for (column_idx, column) in columns.iter().enumerate() {
        table.columns.push(define_column(column, column_idx, ctx)?);
    }
    match primary_key {
        Some(parts) => define_key(&mut table, parts, columns)?,
        None => hide_key(&mut table, ctx)?,
    }
    check_auto_increment(&table)?;
    Ok(table)
}

fn refuse(
    create: &ast::CreateTable,
    indexes: &[ast::IndexDef],
    constraints: &[String],
) -> Result<()> {
    if create.temporary {
        return Err(Error::unsupported("CREATE TEMPORARY TABLE"));
    }
    if !indexes.is_empty() {
        return Err(Error::unsupported("secondary indexes in CREATE TABLE"));
    }
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

fn check_columns(columns: &[ast::ColumnDef]) -> Result<()> {
    if columns.is_empty() {
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

/// Accepts utf8mb4 and its kin; another collation is replaced with a warning (dialect §1).
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

fn kept_options(options: &ast::TableOptions, ctx: &EvalContext) -> Result<Vec<(String, String)>> {
    let mut kept = Vec::new();
    for (name, value) in &options.with {
        let name = name.to_ascii_uppercase();
        if OPTIONS_REFUSED.contains(&name.as_str()) {
            return Err(Error::unsupported(format!("WITH ({name}=…)")));
        }
        if !OPTIONS_KEPT.contains(&name.as_str()) {
            let text = format!("Unknown table option '{name}'");
            return Err(Error::new(Code::WrongUsage, text));
        }
        ctx.warnings
            .add(WarningLevel::Warning, Code::FeatureIgnored, || {
                format!("Table option '{name}' is kept but has no effect on this engine")
            });
        kept.push((name, value.clone()));
    }
    Ok(kept)
}

fn define_column(column: &ast::ColumnDef, column_idx: usize, ctx: &EvalContext) -> Result<Column> {
    if let Some(attribute) = &column.unsupported {
        return Err(Error::unsupported(attribute));
    }
    check_charset(column.charset.as_deref(), column.collation.as_deref(), ctx)?;
    check_type(column)?;
    if COLUMN_COMMENT_CHARS_MAX < column.comment.chars().count() {
        let text = format!(
            "Comment for field '{}' is too long (max = {COLUMN_COMMENT_CHARS_MAX})",
            column.name
        );
        return Err(Error::new(Code::WrongFieldSpec, text));
    }
    let id = u32::try_from(column_idx + 1).map_err(Error::internal)?;
    let mut defined = Column {
        id: ColumnId(id),
        name: column.name.clone(),
        ty: column.ty.clone(),
        nullable: column.nullable.unwrap_or(true),
        default: ColumnDefault::None,
        on_update_now: column.on_update_now,
        auto_increment: column.auto_increment,
        hidden: false,
        comment: column.comment.clone(),
    };
    if column.on_update_now && !takes_now(&column.ty) {
        let text = format!("Invalid ON UPDATE clause for '{}' column", column.name);
        return Err(Error::new(Code::InvalidDefault, text));
    }
    if let Some(default) = &column.default {
        defined.default = define_default(&defined, default, ctx)?;
    }
    Ok(defined)
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

fn define_default(
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

fn define_key(table: &mut Table, parts: &[ast::KeyPart], columns: &[ast::ColumnDef]) -> Result<()> {
    if KEY_COLUMNS_MAX < parts.len() {
        let text = format!(
            "Too many key parts specified; max {KEY_COLUMNS_MAX} parts allowed, {} given",
            parts.len()
        );
        return Err(Error::new(Code::TooManyKeyParts, text));
    }
    for part in parts {
        let name = match &part.source {
            ast::KeyPartSource::Column(name) => name,
            ast::KeyPartSource::Prefix(..) => {
                return Err(Error::unsupported("a prefix part in a primary key"));
            }
            ast::KeyPartSource::Expression(_) => {
                return Err(Error::unsupported("an expression part in a primary key"));
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
        let direction = if part.descending {
            Direction::Desc
        } else {
            Direction::Asc
        };
        table.key.push(KeyPart {
            column_idx,
            direction,
        });
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
    if declared.nullable == Some(true) {
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

/// Gives a table without primary key its hidden `_rowid` (dialect §1), and says what that means.
fn hide_key(table: &mut Table, ctx: &EvalContext) -> Result<()> {
    let id = u32::try_from(table.columns.len() + 1).map_err(Error::internal)?;
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
    table.columns.push(Column {
        id: ColumnId(id),
        name: "_rowid".to_owned(),
        ty: ColumnType::BIGINT,
        nullable: false,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        hidden: true,
        comment: String::new(),
    });
    Ok(())
}

/// `AUTO_INCREMENT`: one column, of the key, of 8 bytes, since its ids are spread (dialect §5).
fn check_auto_increment(table: &Table) -> Result<()> {
    let mut columns = table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.auto_increment);
    let Some((column_idx, column)) = columns.next() else {
        return Ok(());
    };
    if columns.next().is_some() || table.key_position(column_idx).is_none() {
        let text = "Incorrect table definition; there can be only one auto column and it must be \
                    defined as a key";
        return Err(Error::new(Code::WrongAutoKey, text));
    }
    let big = matches!(
        column.ty,
        ColumnType::Int {
            width: crate::types::column_type::IntWidth::Big,
            ..
        }
    );
    if big {
        return Ok(());
    }
    let text = format!(
        "Incorrect column specifier for column '{}': AUTO_INCREMENT ids are spread over 63 bits \
         and need BIGINT",
        column.name
    );
    Err(Error::new(Code::WrongFieldSpec, text))
}
