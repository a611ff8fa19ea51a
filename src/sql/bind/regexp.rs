//! `REGEXP`, and that its functions take no text beside a binary string.
//!
//! Source: MySQL manual, "Regular Expressions" (since 8.0.22).

use super::expr::truth;
use super::scope::Scope;
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::eval::typing::is_text;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::ColumnType;

impl Scope<'_> {
    pub(super) fn regexp(
        &mut self,
        operands: &(ast::Expr, ast::Expr),
        negated: bool,
    ) -> Result<Expr> {
        let (expr, pattern) = (self.value(&operands.0)?, self.value(&operands.1)?);
        check_strings("regexp_like", &expr, &pattern)?;
        let kind = ExprKind::Regexp {
            expr: Box::new(expr),
            pattern: Box::new(pattern),
            negated,
        };
        Ok(truth(kind, true))
    }
}

/// # Errors
/// 3995 for a regular expression's function with a text beside a binary string.
pub(super) fn check_call(name: &str, args: &[Expr]) -> Result<()> {
    let [searched, pattern, rest @ ..] = args else {
        return Ok(());
    };
    if !name.starts_with("REGEXP_") {
        return Ok(());
    }
    let name = name.to_ascii_lowercase();
    check_strings(&name, searched, pattern)?;
    match rest {
        [new, ..] if name == "regexp_replace" => {
            check_strings(&name, searched, new)?;
            check_strings(&name, pattern, new)
        }
        _ => Ok(()),
    }
}

fn check_strings(name: &str, a: &Expr, b: &Expr) -> Result<()> {
    let (of_a, of_b) = if is_binary_string(a) && is_surely_text(b) {
        ("binary", "utf8mb4_bin")
    } else if is_surely_text(a) && is_binary_string(b) {
        ("utf8mb4_bin", "binary")
    } else {
        return Ok(());
    };
    let text = format!(
        "Character set '{of_a}' cannot be used in conjunction with '{of_b}' in call to {name}; CAST(... AS \
         CHAR) makes a text of a binary string"
    );
    Err(Error::new(Code::CharacterSetMismatch, text))
}

/// Whether it is what MySQL calls a binary string there: `BLOB` and `BINARY(n)` are none, and are searched
/// byte by byte (`is_binary_string` in `item_regexp_func.cc`). Nor is what a function makes of a `BLOB`: it
/// may be longer than a `VARBINARY`.
fn is_binary_string(expr: &Expr) -> bool {
    matches!(expr.ty, ColumnType::Varbinary { .. }) && !is_of_blob(expr)
}

fn is_of_blob(expr: &Expr) -> bool {
    let makes_one = |args: &[Expr]| args.iter().any(is_of_blob);
    matches!(expr.ty, ColumnType::Blob(_))
        || matches!(&expr.kind, ExprKind::Call(_, args) if makes_one(args))
}

/// Whether it is a text, whatever is given for it: a parameter may become bytes.
fn is_surely_text(expr: &Expr) -> bool {
    is_text(&expr.ty) && !matches!(expr.kind, ExprKind::Parameter(_))
}
