//! Whether strings that are put together are text or bytes.
//!
//! Each string has a coercibility, how readily its collation gives way to another's, from 0 (never) to
//! 6 (always). Of a text and a binary string the one that gives way less decides; of two that are alike
//! in that, the binary one. So a column of text beside `X'41'` is text, and `'a'` beside it is bytes.
//!
//! Source: MySQL manual, "Collation Coercibility in Expressions", "The binary Collation Compared to
//! _bin Collations".
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use super::super::expr::{Expr, ExprKind};
use super::super::functions::Category;
use super::typing::{is_binary, is_text};
use crate::types::ColumnType;

/// A column, or what is made of one.
const IMPLICIT: u8 = 2;
/// A constant of the system: `USER()`.
const SYSTEM: u8 = 3;
/// A literal.
const COERCIBLE: u8 = 4;
/// A number, a date.
const NUMERIC: u8 = 5;
/// `NULL`.
const IGNORABLE: u8 = 6;

/// Functions whose result has the collation that all their arguments have together.
const JOINING: &[&str] = &[
    "COALESCE",
    "CONCAT",
    "CONCAT_WS",
    "ELT",
    "GREATEST",
    "IFNULL",
    "INSERT",
    "LCASE",
    "LEAST",
    "LEFT",
    "LOWER",
    "LPAD",
    "LTRIM",
    "MAKE_SET",
    "MID",
    "NULLIF",
    "QUOTE",
    "REPEAT",
    "REPLACE",
    "REVERSE",
    "RIGHT",
    "RPAD",
    "RTRIM",
    "SOUNDEX",
    "SUBSTR",
    "SUBSTRING",
    "SUBSTRING_INDEX",
    "TRIM",
    "UCASE",
    "UPPER",
];

/// Those of the arguments whose collation together the result of a function has; `None` where it has one of
/// its own.
fn joined<'e>(name: &str, args: &'e [Expr]) -> Option<&'e [Expr]> {
    let range = match name {
        "IF" => 1..args.len(),
        "EXPORT_SET" => 1..args.len().min(4),
        // That of the format.
        "DATE_FORMAT" | "TIME_FORMAT" => 1..2,
        "REGEXP_REPLACE" | "REGEXP_SUBSTR" => 0..2,
        _ if JOINING.contains(&name) => 0..args.len(),
        _ => return None,
    };
    args.get(range)
}

/// What a string is, as far as others beside it care.
#[derive(Clone, Copy)]
struct Kind {
    is_binary: bool,
    level: u8,
}

impl Kind {
    fn of(expr: &Expr) -> Kind {
        Kind {
            is_binary: is_binary(&expr.ty) || expr.ty == ColumnType::Null,
            level: coercibility(expr),
        }
    }

    fn beside(self, other: Kind) -> Kind {
        match self.level.cmp(&other.level) {
            std::cmp::Ordering::Less => self,
            std::cmp::Ordering::Greater => other,
            std::cmp::Ordering::Equal => Kind {
                is_binary: self.is_binary || other.is_binary,
                ..self
            },
        }
    }

    fn of_all<'e>(exprs: impl Iterator<Item = &'e Expr>) -> Option<Kind> {
        exprs.map(Kind::of).reduce(Kind::beside)
    }
}

/// How readily the collation of an expression gives way, from 0 (never) to 6 (always).
pub(crate) fn coercibility(expr: &Expr) -> u8 {
    let is_string = is_text(&expr.ty) || is_binary(&expr.ty) || expr.ty == ColumnType::Json;
    match &expr.kind {
        _ if expr.ty == ColumnType::Null => IGNORABLE,
        ExprKind::SystemVariable { .. } => SYSTEM,
        ExprKind::Call(function, _) if function.category == Category::Information => SYSTEM,
        _ if !is_string => NUMERIC,
        ExprKind::Column(_)
        | ExprKind::Slot(_)
        | ExprKind::UserVariable(_)
        | ExprKind::Cast(..) => IMPLICIT,
        ExprKind::Case {
            branches,
            otherwise,
            ..
        } => {
            let results = branches.iter().map(|(_, result)| result);
            let kind = Kind::of_all(results.chain(otherwise.as_deref()));
            kind.map_or(COERCIBLE, |kind| kind.level)
        }
        ExprKind::Call(function, args) => joined(function.name, args)
            .and_then(|args| Kind::of_all(args.iter()))
            .map_or(COERCIBLE, |kind| kind.level),
        _ => COERCIBLE,
    }
}

/// Whether what is put together of these is a binary string.
pub(crate) fn are_bytes<'e>(exprs: impl Iterator<Item = &'e Expr> + Clone) -> bool {
    exprs.clone().any(|expr| is_binary(&expr.ty))
        && Kind::of_all(exprs).is_some_and(|kind| kind.is_binary)
}
