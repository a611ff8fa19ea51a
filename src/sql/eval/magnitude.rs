//! The most digits that a whole number computed by an expression can have: what a DECIMAL computed from
//! it needs before its point.
//!
//! ```text
//!   a + b, a - b     one more than the larger one        IF, CASE, COALESCE…    the larger one
//!   a * b            both together                       a DIV b, -a, ABS(a)    those of a
//!   a % b            the larger one                      YEAR, LENGTH…          a list
//! ```
//! Anything else has as many as its type. Source: `max_length` in MySQL 8.0 (`resolve_type` of the
//! items).
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of expression has as many digits as its type"
)]

use super::super::expr::{BinaryOp, CastType, Expr, ExprKind, UnaryOp};
use super::typing::{Numeric, chars_of};
use crate::types::Value;

/// Digits of what functions give, in the order of names.
const OF_FUNCTIONS: &[(&str, u8)] = &[
    ("ASCII", 3),
    ("BIT_COUNT", 2),
    ("BIT_LENGTH", 11),
    ("CHARACTER_LENGTH", 10),
    ("CHAR_LENGTH", 10),
    ("CRC32", 10),
    ("DATEDIFF", 7),
    ("DAY", 2),
    ("DAYOFMONTH", 2),
    ("DAYOFWEEK", 1),
    ("DAYOFYEAR", 3),
    ("EXTRACT", 14),
    ("FIELD", 3),
    ("FIND_IN_SET", 3),
    ("HOUR", 3),
    ("INSTR", 11),
    ("INTERVAL", 2),
    ("ISNULL", 1),
    ("IS_IPV4", 1),
    ("IS_IPV6", 1),
    ("LENGTH", 10),
    ("LOCATE", 11),
    ("MICROSECOND", 6),
    ("MINUTE", 2),
    ("MONTH", 2),
    ("OCTET_LENGTH", 10),
    ("ORD", 10),
    ("PERIOD_ADD", 6),
    ("PERIOD_DIFF", 6),
    ("POSITION", 11),
    ("QUARTER", 1),
    ("SECOND", 2),
    ("SIGN", 1),
    ("STRCMP", 1),
    ("TIME_TO_SEC", 10),
    ("TO_DAYS", 7),
    ("TO_SECONDS", 12),
    ("UNIX_TIMESTAMP", 11),
    ("WEEK", 2),
    ("WEEKDAY", 1),
    ("WEEKOFYEAR", 2),
    ("YEAR", 4),
    ("YEARWEEK", 6),
];

/// Functions that give one of their arguments, or what has as many digits.
const CHOOSING: &[&str] = &[
    "ABS", "CEIL", "CEILING", "COALESCE", "FLOOR", "GREATEST", "IFNULL", "LEAST",
];

/// The most digits of a whole number; `None` where the type tells them.
pub(super) fn digits(expr: &Expr) -> Option<u8> {
    match &expr.kind {
        ExprKind::Literal(Value::Int(number)) => Some(of_number(number.unsigned_abs())),
        ExprKind::Literal(Value::UInt(number)) => Some(of_number(*number)),
        ExprKind::Unary(UnaryOp::Negate, a) => of(a),
        ExprKind::Binary(op, a, b) => of_operator(*op, of(a)?, of(b)?),
        ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Xor(..)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsTruth { .. }
        | ExprKind::InList { .. }
        | ExprKind::InSet { .. }
        | ExprKind::Quantified { .. }
        | ExprKind::Between { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. } => Some(1),
        ExprKind::Case {
            branches,
            otherwise,
            ..
        } => {
            let results = branches.iter().map(|(_, result)| result);
            most(results.chain(otherwise.as_deref()))
        }
        ExprKind::Cast(a, CastType::Signed | CastType::Unsigned) => {
            of(a).or_else(|| u8::try_from(chars_of(&a.ty)?).ok())
        }
        ExprKind::Call(function, args) => of_call(function.name, args),
        _ => None,
    }
}

/// The digits before the point of any exact number.
fn of(expr: &Expr) -> Option<u8> {
    Numeric::of_expr(expr).digits().map(|(digits, _)| digits)
}

fn of_operator(op: BinaryOp, a: u8, b: u8) -> Option<u8> {
    match op {
        BinaryOp::Add | BinaryOp::Subtract => Some(a.max(b).saturating_add(1)),
        BinaryOp::Multiply => Some(a.saturating_add(b)),
        BinaryOp::IntegerDivide => Some(a),
        BinaryOp::Modulo => Some(a.max(b)),
        BinaryOp::Divide
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => None,
    }
}

fn of_call(name: &str, args: &[Expr]) -> Option<u8> {
    match name {
        "IF" => most(args.iter().skip(1)),
        "NULLIF" | "TRUNCATE" => of(args.first()?),
        "ROUND" => Some(of(args.first()?)?.saturating_add(1)),
        _ if CHOOSING.contains(&name) => most(args.iter()),
        _ => {
            let mut known = OF_FUNCTIONS.iter();
            known
                .find(|(other, _)| *other == name)
                .map(|(_, digits)| *digits)
        }
    }
}

fn most<'e>(exprs: impl Iterator<Item = &'e Expr>) -> Option<u8> {
    exprs
        .map(of)
        .try_fold(0, |most, digits| Some(most.max(digits?)))
}

fn of_number(number: u64) -> u8 {
    let digits = number.checked_ilog10().unwrap_or(0) + 1;
    u8::try_from(digits).unwrap_or(u8::MAX)
}
