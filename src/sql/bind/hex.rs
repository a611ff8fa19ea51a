//! Texts that stand for bytes: with `LINDORM` in `sql_mode`, a text that is compared with a column of
//! bytes gives them in hexadecimal digits, as Lindorm's clients write them. In any other mode it is
//! MySQL's: the bytes of the text. What is stored is read so where it is stored
//! (`types::coerce::bytes_of_digits`).

use super::scope::Scope;
use crate::error::{Error, Result};
use crate::sql::expr::{Expr, ExprKind};
use crate::types::{ColumnType, Value, coerce};

impl Scope<'_> {
    /// Both sides of a comparison, a text beside a column of bytes as the bytes that it gives; in rows,
    /// member by member.
    ///
    /// # Errors
    /// As [`Scope::digits_beside`].
    pub(super) fn of_digits(&self, a: Expr, b: Expr) -> Result<(Expr, Expr)> {
        let b = self.digits_beside(&a, b)?;
        let a = self.digits_beside(&b, a)?;
        Ok((a, b))
    }

    /// What is compared with `expr`, which stays as it is because more is compared with it: a text as the
    /// bytes that it gives where `expr` is a column of bytes.
    ///
    /// # Errors
    /// 1366 for a text that gives none: nothing could be equal to it.
    pub(super) fn digits_beside(&self, expr: &Expr, mut other: Expr) -> Result<Expr> {
        if !self.names.mode.lindorm {
            return Ok(other);
        }
        if let (ExprKind::Row(members), ExprKind::Row(others)) = (&expr.kind, &mut other.kind) {
            let pairs = members.iter().zip(std::mem::take(others));
            *others = pairs
                .map(|(member, other)| self.digits_beside(member, other))
                .collect::<Result<_>>()?;
            return Ok(other);
        }
        if is_column_of_bytes(expr) {
            return bytes_of(other);
        }
        Ok(other)
    }
}

fn is_column_of_bytes(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Column(_))
        && matches!(
            expr.ty,
            ColumnType::Binary { .. } | ColumnType::Varbinary { .. }
        )
}

fn bytes_of(expr: Expr) -> Result<Expr> {
    let ExprKind::Literal(Value::Text(text)) = &expr.kind else {
        return Ok(expr);
    };
    let bytes = coerce::bytes_of_digits(text).map_err(|problem| {
        let text = format!("Comparison with a column of bytes: {problem}");
        Error::new(problem.code(), text)
    })?;
    Ok(Expr {
        ty: ColumnType::Varbinary { bytes_max: None },
        kind: ExprKind::Literal(Value::Bytes(bytes.into())),
        nullable: false,
    })
}
