//! ORDER BY and LIMIT.

use super::literal;
use super::same::same;
use super::scope::{Clause, Scope};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, Literal, OrderItem};
use crate::sql::bound::OrderBy;
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::ColumnType;

impl Scope<'_> {
    /// Binds ORDER BY of a query: ordinals and aliases mean members of the select list.
    pub(super) fn order_by(&mut self, items: &[OrderItem]) -> Result<Vec<OrderBy>> {
        self.clause = Clause::OrderBy;
        let bind = |item: &OrderItem| {
            Ok(OrderBy {
                expr: self.referring(&item.expr)?,
                descending: item.descending,
            })
        };
        items.iter().map(bind).collect()
    }

    /// Binds ORDER BY of an UPDATE or DELETE.
    pub(super) fn write_order(&mut self, items: &[OrderItem]) -> Result<Vec<OrderBy>> {
        self.clause = Clause::OrderBy;
        let bind = |item: &OrderItem| {
            Ok(OrderBy {
                expr: self.value(&item.expr)?,
                descending: item.descending,
            })
        };
        items.iter().map(bind).collect()
    }

    /// A key of ORDER BY or GROUP BY: an ordinal, a name, or an expression. A name alone means a
    /// member of the select list first in ORDER BY, a column of the table first in GROUP BY.
    pub(super) fn referring(&mut self, expr: &ast::Expr) -> Result<Expr> {
        if let ast::Expr::Literal(Literal::Int(ordinal)) = expr {
            let idx = usize::try_from(*ordinal)
                .ok()
                .and_then(|ordinal| ordinal.checked_sub(1));
            let item = idx.and_then(|idx| self.items.get(idx));
            return match item {
                Some(item) => Ok(item.expr.clone()),
                None => Err(self.unknown(&ordinal.to_string())),
            };
        }
        if let (ast::Expr::Column(name), Clause::OrderBy) = (expr, self.clause)
            && let Some(item) = self.item_named(name)?
        {
            return Ok(item);
        }
        self.value(expr)
    }

    /// Checks that a DISTINCT query is sorted by what it selects: anything else has no one value
    /// per row of the result.
    ///
    /// # Errors
    /// 3065.
    pub(super) fn check_distinct_order(&self, order_by: &[OrderBy]) -> Result<()> {
        for (idx, key) in order_by.iter().enumerate() {
            if self.is_selected(&key.expr) {
                continue;
            }
            return Err(Error::new(
                Code::DistinctOrder,
                format!(
                    "Expression #{} of ORDER BY clause is not in SELECT list; this is incompatible \
                     with DISTINCT",
                    idx + 1
                ),
            ));
        }
        Ok(())
    }

    /// Whether the expression follows from what is selected.
    fn is_selected(&self, expr: &Expr) -> bool {
        if self.items.iter().any(|item| same(&item.expr, expr)) {
            return true;
        }
        let is_slot = matches!(expr.kind, ExprKind::Slot(_));
        let is_window = is_slot && self.has_window(expr);
        let mut selected = !is_window && !matches!(expr.kind, ExprKind::Column(_));
        fold::each_child(expr, &mut |child| {
            selected = selected && self.is_selected(child);
        });
        selected
    }
}

/// `LIMIT` and `OFFSET`.
///
/// # Errors
/// As [`limit`].
pub(super) fn limits(
    limits: Option<&ast::Limit>,
    scope: &mut Scope<'_>,
) -> Result<(Option<Expr>, Option<Expr>)> {
    let Some(limits) = limits else {
        return Ok((None, None));
    };
    let count = limit(&limits.count, scope)?;
    let offset = limits.offset.as_ref();
    let offset = offset.map(|offset| limit(offset, scope)).transpose()?;
    Ok((Some(count), offset))
}

/// A count of rows: a literal or a parameter.
///
/// # Errors
/// An internal one: the grammar knows no other.
pub(super) fn limit(expr: &ast::Expr, scope: &mut Scope<'_>) -> Result<Expr> {
    match expr {
        ast::Expr::Literal(constant) => literal::literal(constant, scope.names.mode),
        ast::Expr::Parameter(position) => {
            Ok(scope.parameter(*position, ColumnType::BIGINT_UNSIGNED))
        }
        other => Err(Error::internal(format!("LIMIT {other:?}"))),
    }
}
