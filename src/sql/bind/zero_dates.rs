//! `d IS NULL` of a `DATE` or `DATETIME` column that is declared NOT NULL: in a condition it finds the rows whose date is
//! `0000-00-00`, as if it were `d = '0000-00-00'`, by which keys are read.
//!
//! Source: MySQL manual, "Comparison Functions and Operators", `IS NULL`; what it is done for is MariaDB's: `WHERE` and
//! the `ON` of an inner join, there what stands alone or in `AND` and `OR`. It is done neither for what is computed nor in
//! HAVING, where MariaDB does it too. Where an outer join may leave the column without a row, it finds these as well.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes and types; all others are one case"
)]

use super::expr::truth;
use super::literal;
use super::scope::Scope;
use crate::error::Result;
use crate::sql::ast;
use crate::sql::expr::{CompareOp, Expr, ExprKind};
use crate::types::{ColumnType, Date, Datetime, Value};

impl Scope<'_> {
    /// Binds what every row must meet: `WHERE`, or the `ON` of an inner join.
    ///
    /// # Errors
    /// As [`Scope::value`].
    pub(super) fn condition(&mut self, condition: &ast::Expr) -> Result<Expr> {
        let condition = self.value(condition)?;
        Ok(self.with_zero_dates(condition))
    }

    fn with_zero_dates(&self, condition: Expr) -> Expr {
        let Expr { kind, ty, nullable } = condition;
        let kind = match kind {
            ExprKind::And(members) => {
                let members = members.into_iter();
                ExprKind::And(members.map(|one| self.with_zero_dates(one)).collect())
            }
            ExprKind::Or(members) => {
                let members = members.into_iter();
                let members = members.map(|one| self.with_zero_dates(one));
                ExprKind::Or(members.flat_map(alternatives).collect())
            }
            kind => match self.zero_date_of(&kind) {
                Some(zero_date) => return zero_date,
                None => kind,
            },
        };
        Expr { kind, ty, nullable }
    }

    /// What stands for the question whether such a column is `NULL`; `None` for all else.
    fn zero_date_of(&self, kind: &ExprKind) -> Option<Expr> {
        let column = match kind {
            ExprKind::IsNull {
                expr,
                negated: false,
            } => &**expr,
            ExprKind::Call(function, args) if function.name == "ISNULL" => args.first()?,
            _ => return None,
        };
        let zero = match column.ty {
            ColumnType::Date => Value::Date(Date::ZERO),
            ColumnType::Datetime { .. } => Value::Datetime(Datetime::ZERO),
            _ => return None,
        };
        let is_declared = match &column.kind {
            ExprKind::Column(idx) => self.from.is_declared_present(*idx),
            ExprKind::Slot(slot) => slot.is_column && !column.nullable,
            _ => false,
        };
        if !is_declared {
            return None;
        }
        let zero = Box::new(literal::value(zero, column.ty.clone()));
        let kind_of_zero = ExprKind::Compare(CompareOp::Equal, Box::new(column.clone()), zero);
        let is_zero = truth(kind_of_zero, column.nullable);
        if !column.nullable {
            return Some(is_zero);
        }
        let either = vec![is_zero, truth(kind.clone(), false)];
        Some(truth(ExprKind::Or(either), true))
    }
}

/// What a member of an `OR` stands for: `OR` is flat.
fn alternatives(member: Expr) -> Vec<Expr> {
    match member.kind {
        ExprKind::Or(members) => members,
        kind => vec![Expr { kind, ..member }],
    }
}
