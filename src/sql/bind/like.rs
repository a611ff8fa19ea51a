//! `LIKE`, and its escape character.

use super::expr::truth;
use super::scope::Scope;
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::expr::{Expr, ExprKind};

impl Scope<'_> {
    pub(super) fn like(
        &mut self,
        operands: &(ast::Expr, ast::Expr),
        escape: Option<&ast::Expr>,
        negated: bool,
    ) -> Result<Expr> {
        let escape = match escape {
            Some(escape) => escape_character(escape)?,
            None => self.usual_escape(operands),
        };
        let (expr, pattern) = (self.value(&operands.0)?, self.value(&operands.1)?);
        let (expr, pattern) = self.caseless(expr, pattern);
        let nullable = expr.nullable || pattern.nullable;
        let kind = ExprKind::Like {
            expr: Box::new(expr),
            pattern: Box::new(pattern),
            escape,
            negated,
        };
        Ok(truth(kind, nullable))
    }

    /// The escape character where none is written: none with `NO_BACKSLASH_ESCAPES` in `sql_mode`.
    fn usual_escape(&self, operands: &(ast::Expr, ast::Expr)) -> Option<char> {
        if !self.names.mode.no_backslash_escapes {
            return Some('\\');
        }
        if let Some(trace) = self.names.trace {
            trace.unescaped(operands);
        }
        None
    }
}

/// What stands after `ESCAPE`: one character, or none.
fn escape_character(escape: &ast::Expr) -> Result<Option<char>> {
    if let ast::Expr::Literal(ast::Literal::Text(text)) = escape {
        let mut chars = text.chars();
        let first = chars.next();
        if chars.next().is_none() {
            return Ok(first);
        }
    }
    Err(Error::new(
        Code::WrongArguments,
        "Incorrect arguments to ESCAPE",
    ))
}
