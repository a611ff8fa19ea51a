//! The types of functions' results, from their arguments.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use super::super::eval::collation;
use super::super::eval::typing::{Numeric, common_of, has_no_sign};
use super::super::expr::{Expr, ExprKind};
use crate::types::column_type::LobSize;
use crate::types::decimal::{DIGITS_MAX, SCALE_MAX};
use crate::types::{ColumnType, Value};

/// `BIGINT`.
pub(super) fn int(_: &[Expr]) -> ColumnType {
    ColumnType::BIGINT
}

/// `BIGINT UNSIGNED`.
pub(super) fn unsigned(_: &[Expr]) -> ColumnType {
    ColumnType::BIGINT_UNSIGNED
}

/// `DOUBLE`.
pub(super) fn double(_: &[Expr]) -> ColumnType {
    ColumnType::Double
}

/// A text, whatever the arguments are.
pub(super) fn of_second(args: &[Expr]) -> ColumnType {
    args.get(1).map_or(ColumnType::Null, |arg| arg.ty.clone())
}

pub(super) fn text(_: &[Expr]) -> ColumnType {
    ColumnType::Varchar { chars_max: None }
}

/// Bytes, whatever the arguments are.
pub(super) fn bytes(_: &[Expr]) -> ColumnType {
    ColumnType::Varbinary { bytes_max: None }
}

/// Bytes that may be any number.
pub(super) fn long_blob(_: &[Expr]) -> ColumnType {
    ColumnType::Blob(LobSize::Long)
}

/// Bytes when the arguments are that together, else a text.
pub(super) fn string(args: &[Expr]) -> ColumnType {
    if collation::are_bytes(args.iter()) {
        return ColumnType::Varbinary { bytes_max: None };
    }
    ColumnType::Varchar { chars_max: None }
}

/// As [`string`], by the first argument alone.
pub(super) fn first_string(args: &[Expr]) -> ColumnType {
    string(args.get(..1).unwrap_or_default())
}

/// As [`string`], by all arguments but the first.
pub(super) fn string_of_rest(args: &[Expr]) -> ColumnType {
    string(args.get(1..).unwrap_or_default())
}

/// `JSON`.
pub(super) fn json(_: &[Expr]) -> ColumnType {
    ColumnType::Json
}

/// `DATE`.
pub(super) fn date(_: &[Expr]) -> ColumnType {
    ColumnType::Date
}

/// What holds all arguments.
pub(super) fn common(args: &[Expr]) -> ColumnType {
    common_of(args.iter())
}

/// What holds all arguments but the first.
pub(super) fn common_tail(args: &[Expr]) -> ColumnType {
    common(args.get(1..).unwrap_or_default())
}

/// The type of the first argument.
pub(super) fn first(args: &[Expr]) -> ColumnType {
    args.first().map_or(ColumnType::Null, |arg| arg.ty.clone())
}

/// The number type of the first argument.
pub(super) fn number(args: &[Expr]) -> ColumnType {
    if args
        .first()
        .is_some_and(|arg| arg.ty == ColumnType::Dynamic)
    {
        return ColumnType::Dynamic;
    }
    match args.first().map(|arg| Numeric::of(&arg.ty)) {
        Some(Numeric::Int { unsigned: true, .. }) => ColumnType::BIGINT_UNSIGNED,
        Some(Numeric::Int {
            unsigned: false, ..
        }) => ColumnType::BIGINT,
        Some(Numeric::Decimal { precision, scale }) => ColumnType::Decimal { precision, scale },
        Some(Numeric::Double) | None => ColumnType::Double,
    }
}

/// As [`number`], without digits after the point.
pub(super) fn whole(args: &[Expr]) -> ColumnType {
    /// Digits that surely fit a `BIGINT`.
    const BIGINT_DIGITS: u8 = 18;
    match number(args) {
        ColumnType::Decimal { precision, scale } if precision - scale < BIGINT_DIGITS => {
            if args.first().is_some_and(has_no_sign) {
                return ColumnType::BIGINT_UNSIGNED;
            }
            ColumnType::BIGINT
        }
        ColumnType::Decimal { precision, scale } => ColumnType::Decimal {
            precision: precision.saturating_sub(scale).max(1),
            scale: 0,
        },
        other => other,
    }
}

/// As [`number`], with as many digits after the point as the second argument says.
pub(super) fn rounded(args: &[Expr]) -> ColumnType {
    let digits = match args.get(1).map(|digits| &digits.kind) {
        None => Some(0),
        Some(ExprKind::Literal(Value::Int(digits))) => Some(*digits),
        Some(_) => None,
    };
    match (number(args), digits) {
        (ColumnType::Decimal { precision, scale }, Some(digits)) => {
            let kept = u8::try_from(digits.max(0))
                .unwrap_or(SCALE_MAX)
                .min(SCALE_MAX);
            // Rounding up may need one digit more before the point.
            let precision = (precision - scale + kept + u8::from(kept < scale)).max(1);
            ColumnType::Decimal {
                precision: precision.min(DIGITS_MAX),
                scale: kept,
            }
        }
        (other, _) => other,
    }
}

/// Digits after the second that the argument at `idx` says or has.
pub(super) fn fsp_of_literal(args: &[Expr], idx: usize) -> u8 {
    match args.get(idx).map(|arg| &arg.kind) {
        Some(ExprKind::Literal(Value::Int(fsp))) => u8::try_from(*fsp).unwrap_or(6).min(6),
        _ => 0,
    }
}

/// As [`fsp_of_value`], of an argument that counts seconds: a text may have any.
pub(super) fn fsp_of_number(arg: Option<&Expr>) -> u8 {
    match arg.map(|arg| &arg.kind) {
        Some(ExprKind::Literal(Value::Text(_))) => 6,
        Some(_) | None => fsp_of_value(arg),
    }
}

/// Digits after the second that values of an argument have.
pub(super) fn fsp_of_value(arg: Option<&Expr>) -> u8 {
    match arg.map(|arg| (&arg.ty, &arg.kind)) {
        Some((_, ExprKind::Literal(Value::Text(text)))) => {
            super::super::eval::moment::fraction_digits(text)
        }
        Some((
            ColumnType::Time { fsp } | ColumnType::Datetime { fsp } | ColumnType::Timestamp { fsp },
            _,
        )) => *fsp,
        Some((ColumnType::Decimal { scale, .. }, _)) => (*scale).min(6),
        Some((
            ColumnType::Null | ColumnType::Date | ColumnType::Int { .. } | ColumnType::Year,
            _,
        ))
        | None => 0,
        Some(_) => 6,
    }
}
