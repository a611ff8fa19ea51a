//! The type that holds values of several types: of CASE, IF, COALESCE and the like, and of the columns
//! of a UNION. The types of operators are `typing`.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use super::super::expr::Expr;
use super::collation;
use super::typing::{Numeric, bigint, decimal, is_binary, is_text};
use crate::types::ColumnType;
use crate::types::column_type::{IntWidth, LobSize};

/// The type that holds values of all `types`: of CASE, IF, COALESCE, and UNION columns.
pub fn common_type<'a>(types: impl IntoIterator<Item = &'a ColumnType>) -> ColumnType {
    let mut common = ColumnType::Null;
    for ty in types {
        common = common_type_of_two(common, ty);
    }
    // Only a column is an ENUM: what is chosen among several is a text.
    if matches!(common, ColumnType::Enum(_)) {
        return common_text(&common, &ColumnType::Null);
    }
    common
}

/// As [`common_type`], of expressions: bytes beside a text are one where they give way to it.
pub fn common_of<'e>(exprs: impl Iterator<Item = &'e Expr> + Clone) -> ColumnType {
    let ty = common_type(exprs.clone().map(|expr| &expr.ty));
    let is_mixed = exprs.clone().any(|expr| !is_binary(&expr.ty));
    if is_binary(&ty) && is_mixed && !collation::are_bytes(exprs.clone()) {
        let texts = exprs.map(|expr| &expr.ty).filter(|ty| !is_binary(ty));
        return common_text(&common_type(texts), &ColumnType::VARCHAR);
    }
    if let ColumnType::Decimal { scale, .. } = ty {
        let digits = exprs.filter_map(|expr| Numeric::of_expr(expr).digits());
        let most = digits.map(|(digits, _)| digits).max();
        return most.map_or(ty, |most| decimal(most, scale));
    }
    ty
}

fn common_type_of_two(a: ColumnType, b: &ColumnType) -> ColumnType {
    match (&a, b) {
        (_, ColumnType::Null) => return a,
        (ColumnType::Null, _) => return b.clone(),
        _ if a == *b => return a,
        (ColumnType::Dynamic, _) | (_, ColumnType::Dynamic) => return ColumnType::Dynamic,
        _ => {}
    }
    if is_binary(&a) || is_binary(b) {
        return ColumnType::Varbinary { bytes_max: None };
    }
    if is_text(&a) || is_text(b) || a == ColumnType::Json || *b == ColumnType::Json {
        return common_text(&a, b);
    }
    if is_temporal(&a) && is_temporal(b) {
        return common_temporal(&a, b);
    }
    if is_temporal(&a) || is_temporal(b) {
        return ColumnType::Varchar {
            chars_max: Some(29),
        };
    }
    common_number(&a, b)
}

fn common_text(a: &ColumnType, b: &ColumnType) -> ColumnType {
    match (a, b) {
        (ColumnType::Text(x), ColumnType::Text(y)) => ColumnType::Text(*x.max(y)),
        (ColumnType::Text(_), _) | (_, ColumnType::Text(_)) => ColumnType::Text(LobSize::Long),
        _ => ColumnType::Varchar {
            chars_max: chars_of(a).zip(chars_of(b)).map(|(x, y)| x.max(y)),
        },
    }
}

/// The most characters that values of the type take as text, where that is known.
pub fn chars_of(ty: &ColumnType) -> Option<u32> {
    match ty {
        ColumnType::Null => Some(0),
        ColumnType::Boolean | ColumnType::Year => Some(4),
        ColumnType::Int { .. } => match Numeric::of(ty) {
            Numeric::Int { digits, unsigned } => Some(u32::from(digits) + u32::from(!unsigned)),
            Numeric::Decimal { .. } | Numeric::Double => None,
        },
        ColumnType::Float => Some(12),
        ColumnType::Double => Some(22),
        ColumnType::Decimal { precision, .. } => Some(u32::from(*precision) + 2),
        ColumnType::Char { chars_max } => Some(*chars_max),
        ColumnType::Varchar { chars_max } => *chars_max,
        ColumnType::Binary { bytes } => Some(*bytes),
        ColumnType::Varbinary { bytes_max } => *bytes_max,
        ColumnType::Date => Some(10),
        ColumnType::Time { fsp } => Some(10 + fraction_chars(*fsp)),
        ColumnType::Datetime { fsp } | ColumnType::Timestamp { fsp } => {
            Some(19 + fraction_chars(*fsp))
        }
        ColumnType::Enum(labels) => labels
            .iter()
            .map(|label| u32::try_from(label.chars().count()).unwrap_or(u32::MAX))
            .max(),
        ColumnType::Dynamic | ColumnType::Text(_) | ColumnType::Blob(_) | ColumnType::Json => None,
    }
}

fn fraction_chars(fsp: u8) -> u32 {
    u32::from(fsp) + u32::from(fsp > 0)
}

fn fsp_of(ty: &ColumnType) -> u8 {
    match ty {
        ColumnType::Time { fsp } | ColumnType::Datetime { fsp } | ColumnType::Timestamp { fsp } => {
            *fsp
        }
        _ => 0,
    }
}

fn common_temporal(a: &ColumnType, b: &ColumnType) -> ColumnType {
    let fsp = fsp_of(a).max(fsp_of(b));
    match (a, b) {
        (ColumnType::Time { .. }, ColumnType::Time { .. }) => ColumnType::Time { fsp },
        (ColumnType::Timestamp { .. }, ColumnType::Timestamp { .. }) => {
            ColumnType::Timestamp { fsp }
        }
        _ => ColumnType::Datetime { fsp },
    }
}

/// Whether `a` is a FLOAT that takes the whole numbers of `b` in without loss.
fn is_float_beside(a: &ColumnType, b: &ColumnType) -> bool {
    let is_short = match b {
        ColumnType::Int { width, .. } => *width <= IntWidth::Medium,
        _ => matches!(b, ColumnType::Boolean | ColumnType::Year),
    };
    *a == ColumnType::Float && is_short
}

fn common_number(a: &ColumnType, b: &ColumnType) -> ColumnType {
    match (a, b) {
        (
            ColumnType::Int { width, unsigned },
            ColumnType::Int {
                width: other_width,
                unsigned: other_unsigned,
            },
        ) if unsigned == other_unsigned => {
            return ColumnType::Int {
                width: *width.max(other_width),
                unsigned: *unsigned,
            };
        }
        _ => {}
    }
    if is_float_beside(a, b) || is_float_beside(b, a) {
        return ColumnType::Float;
    }
    let (left, right) = (Numeric::of(a), Numeric::of(b));
    match (left, right) {
        (
            Numeric::Int {
                unsigned: x,
                digits: dx,
            },
            Numeric::Int {
                unsigned: y,
                digits: dy,
            },
        ) => {
            if x == y || dx.max(dy) < 19 {
                bigint(x && y)
            } else {
                decimal(20, 0)
            }
        }
        _ => match (left.digits(), right.digits()) {
            (Some((x, xs)), Some((y, ys))) => decimal(x.max(y), xs.max(ys)),
            _ if *a == ColumnType::Float && *b == ColumnType::Float => ColumnType::Float,
            _ => ColumnType::Double,
        },
    }
}

fn is_temporal(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Date
            | ColumnType::Time { .. }
            | ColumnType::Datetime { .. }
            | ColumnType::Timestamp { .. }
    )
}
