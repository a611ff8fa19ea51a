//! Texts that stand for bytes: with `LINDORM` in `sql_mode`, a text that is compared with a column of
//! bytes gives them in hexadecimal digits, as Lindorm's clients write them. In any other mode it is
//! MySQL's: the bytes of the text. What is stored is read so where it is stored
//! (`types::coerce::bytes_of_digits`).
//!
//! A literal is read here. What gives a text only when the statement runs, such as a parameter, is read
//! then ([`CastType::BytesBeside`]); one value for the whole statement still makes a key.

use super::operands::take_type;
use super::scope::Scope;
use crate::error::Result;
use crate::sql::ast;
use crate::sql::eval::cast::bytes_compared;
use crate::sql::expr::{CastType, Expr, ExprKind};
use crate::sql::functions::Function;
use crate::types::{ColumnType, Value};

impl Scope<'_> {
    /// Both sides of a comparison, a text beside a column of bytes as the bytes that it gives; in rows,
    /// member by member.
    ///
    /// # Errors
    /// As [`Scope::digits_beside`].
    pub(super) fn of_digits(
        &self,
        (a, b): (Expr, Expr),
        written: &(ast::Expr, ast::Expr),
    ) -> Result<(Expr, Expr)> {
        let b = self.digits_beside(&a, (b, &written.1))?;
        let a = self.digits_beside(&b, (a, &written.0))?;
        Ok((a, b))
    }

    /// What is compared with `expr`, which stays as it is because more is compared with it: a text as the
    /// bytes that it gives where `expr` is a column of bytes. It is told how it is written, too.
    ///
    /// # Errors
    /// 1366 for a literal that gives none: nothing could be equal to it.
    pub(super) fn digits_beside(
        &self,
        expr: &Expr,
        (mut other, written): (Expr, &ast::Expr),
    ) -> Result<Expr> {
        if !self.names.mode.lindorm {
            return Ok(other);
        }
        if let (ExprKind::Row(members), ExprKind::Row(others), ast::Expr::Row(written)) =
            (&expr.kind, &mut other.kind, written)
        {
            let pairs = std::mem::take(others).into_iter().zip(written);
            *others = members
                .iter()
                .zip(pairs)
                .map(|(member, other)| self.digits_beside(member, other))
                .collect::<Result<_>>()?;
            return Ok(other);
        }
        if !is_column_of_bytes(expr) || !may_be_digits(&other) {
            return Ok(other);
        }
        if let Some(trace) = self.names.trace {
            trace.digits(written);
        }
        take_type(&mut other, expr);
        bytes_of(other)
    }

    /// What a `CASE` compares with its operand, if it has one.
    ///
    /// # Errors
    /// As [`Scope::digits_beside`].
    pub(super) fn digits_beside_operand(
        &self,
        operand: Option<&Expr>,
        (condition, written): (Expr, &ast::Expr),
    ) -> Result<Expr> {
        match operand {
            Some(operand) => self.digits_beside(operand, (condition, written)),
            None => Ok(condition),
        }
    }

    /// The arguments of a function: `NULLIF` compares its second with its first.
    ///
    /// # Errors
    /// As [`Scope::digits_beside`].
    pub(super) fn digits_in_call(
        &self,
        function: &Function,
        (mut args, written): (Vec<Expr>, &[ast::Expr]),
    ) -> Result<Vec<Expr>> {
        if function.name == "NULLIF"
            && let [_, written] = written
            && let (Some(other), Some(first)) = (args.pop(), args.first())
        {
            let other = self.digits_beside(first, (other, written))?;
            args.push(other);
        }
        Ok(args)
    }
}

fn is_column_of_bytes(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Column(_))
        && matches!(
            expr.ty,
            ColumnType::Binary { .. } | ColumnType::Varbinary { .. }
        )
}

/// Whether it is a text. A parameter has the type of the column here, whatever is sent for it.
fn may_be_digits(expr: &Expr) -> bool {
    expr.ty.is_text() || matches!(expr.kind, ExprKind::Parameter(_))
}

fn bytes_of(expr: Expr) -> Result<Expr> {
    let ty = ColumnType::Varbinary { bytes_max: None };
    if let ExprKind::Literal(Value::Text(text)) = &expr.kind {
        let bytes = bytes_compared(text)?;
        return Ok(Expr {
            ty,
            kind: ExprKind::Literal(Value::Bytes(bytes.into())),
            nullable: false,
        });
    }
    Ok(Expr {
        ty,
        nullable: expr.nullable,
        kind: ExprKind::Cast(Box::new(expr), CastType::BytesBeside),
    })
}
