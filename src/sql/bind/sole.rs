//! Whether the rows whose column equals one value all have one and the same value in it.
//!
//! They have where the comparison (see [`crate::sql::eval`]) tells all values of the column apart: that of texts
//! with a number does not (`'5'` and `'5.0'` equal 5), nor does that of doubles for numbers with more digits
//! than a double has. `-0` and `0` count as one, as they do in GROUP BY.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes and types; all others are one case"
)]

use crate::sql::expr::{Expr, ExprKind};
use crate::types::value::number::parse_f64;
use crate::types::{ColumnType, Decimal, Value};

/// So many digits of any number come through a double as they are.
const DOUBLE_DIGITS: u8 = 15;

/// Whether `column = other` leaves one value of the column for each value of `other`. A parameter counts as a value of
/// the column's type, which it takes ([`super::operands::take_type`]).
pub(super) fn is_sole(column: &Expr, other: &Expr) -> bool {
    let ty = &other.ty;
    if *ty == ColumnType::Null {
        return true;
    }
    match &column.ty {
        // Of documents `1` and `1.0` are equal, and a dynamic column has values of any type.
        ColumnType::Null | ColumnType::Dynamic | ColumnType::Json => false,
        ColumnType::Boolean | ColumnType::Int { .. } | ColumnType::Decimal { .. } => {
            is_exact(ty) || (is_rounded(ty) && is_told_by_doubles(&column.ty, other))
        }
        ColumnType::Float | ColumnType::Double => ty.is_numeric() || ty.is_text(),
        ColumnType::Year => ty.is_numeric() || ty.is_text() || is_dated(ty),
        ColumnType::Char { .. }
        | ColumnType::Varchar { .. }
        | ColumnType::Text(_)
        | ColumnType::Binary { .. }
        | ColumnType::Varbinary { .. }
        | ColumnType::Blob(_) => is_string(ty),
        // Beside a text '' the error member is equal to a declared ''.
        ColumnType::Enum(labels) => {
            ty.is_numeric() || (is_string(ty) && labels.iter().all(|label| !label.is_empty()))
        }
        ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Datetime { .. }
        | ColumnType::Timestamp { .. } => is_sole_moment(&column.ty, ty),
    }
}

/// Whether a value of the type is equal to one moment of a column.
fn is_sole_moment(column: &ColumnType, ty: &ColumnType) -> bool {
    match ty {
        // Where clocks are put forward several of a zone's datetimes are one timestamp.
        ColumnType::Timestamp { .. } => !matches!(column, ColumnType::Datetime { .. }),
        // A number that is no date is compared with the digits of one, and a double has not all of them.
        ColumnType::Float | ColumnType::Double => column.fsp() == 0,
        _ => is_exact(ty) || ty.is_text() || ty.is_temporal(),
    }
}

/// Whether the numbers of a column differ as doubles, or those do that may be equal to a literal.
fn is_told_by_doubles(column: &ColumnType, other: &Expr) -> bool {
    let scale = match column {
        ColumnType::Decimal { precision, .. } if *precision <= DOUBLE_DIGITS => return true,
        ColumnType::Decimal { scale, .. } => *scale,
        _ if is_narrow(column) => return true,
        _ => 0,
    };
    let is_whole = !matches!(column, ColumnType::Decimal { .. });
    let number = match &other.kind {
        ExprKind::Literal(Value::Double(number)) => *number,
        // A text of digits is compared with integers exactly.
        ExprKind::Literal(Value::Text(text))
            if is_whole && Decimal::parse_plain(text).is_some() =>
        {
            return true;
        }
        ExprKind::Literal(Value::Text(text)) => parse_f64(text.as_bytes()).value,
        _ => return false,
    };
    number.abs() < 10_f64.powi(i32::from(DOUBLE_DIGITS) - i32::from(scale))
}

/// Whether an integer type has fewer digits than a double.
fn is_narrow(ty: &ColumnType) -> bool {
    ty.int_range()
        .is_some_and(|(_, most)| most <= i128::from(u32::MAX))
}

/// What is compared with a number digit by digit.
fn is_exact(ty: &ColumnType) -> bool {
    ty.is_integer() || matches!(ty, ColumnType::Decimal { .. } | ColumnType::Year)
}

/// What is compared with a number as a double.
fn is_rounded(ty: &ColumnType) -> bool {
    ty.is_text() || matches!(ty, ColumnType::Float | ColumnType::Double)
}

fn is_string(ty: &ColumnType) -> bool {
    ty.is_text() || ty.is_binary() || matches!(ty, ColumnType::Enum(_))
}

fn is_dated(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Date | ColumnType::Datetime { .. } | ColumnType::Timestamp { .. }
    )
}
