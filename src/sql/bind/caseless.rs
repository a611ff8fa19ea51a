//! Texts of system tables that are compared without case, as in MySQL: names of columns and
//! variables, words such as `PRI`. All other texts have one order, that of their bytes.

use super::scope::Scope;
use crate::sql::bound::Relation;
use crate::sql::expr::{Expr, ExprKind};
use crate::sql::functions;

impl Scope<'_> {
    /// Both sides of a comparison in lower case, if one of them is such a text.
    pub(super) fn caseless(&self, a: Expr, b: Expr) -> (Expr, Expr) {
        if a.ty.is_text() && b.ty.is_text() && (self.is_caseless(&a) || self.is_caseless(&b)) {
            (lower(a), lower(b))
        } else {
            (a, b)
        }
    }

    /// Whether it is such a text.
    pub(super) fn is_caseless(&self, expr: &Expr) -> bool {
        let ExprKind::Column(idx) = expr.kind else {
            return false;
        };
        let mut relations = self.from.relations.iter();
        self.from.is_caseless
            || relations.any(|source| match &source.relation {
                Relation::Listed(listed) => idx
                    .checked_sub(source.first_column)
                    .is_some_and(|idx| listed.caseless.contains(&idx)),
                Relation::Table(_) | Relation::Query(_) | Relation::Round(_) => false,
            })
    }
}

/// A text in lower case; what is no text stays.
pub(super) fn lower(expr: Expr) -> Expr {
    match functions::find("LOWER") {
        Some(function) if expr.ty.is_text() => Expr {
            ty: expr.ty.clone(),
            nullable: expr.nullable,
            kind: ExprKind::Call(function, vec![expr]),
        },
        Some(_) | None => expr,
    }
}
