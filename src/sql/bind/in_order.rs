//! An UPDATE of one table by a query assigns from left to right: a value that reads a column assigned before it is
//! computed over the row as it is by then, and not by the query, which has the old one. What such a value reads beside
//! the row comes from the query all the same. So is a value that assigns variables: rows change in the order that is asked
//! for, and the query comes to them in another.
//!
//! Source: MySQL manual, "UPDATE Statement": "Single-table UPDATE assignments are generally evaluated from left to
//! right. For multiple-table updates, there is no guarantee that assignments are carried out in any particular order."

use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::sql::bound::{OverNew, Subquery};
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind, Slot};
use crate::sql::functions::assign;

/// The assignments before one.
pub(super) struct Before<'a> {
    pub(super) table: &'a Table,
    /// Where the columns of the table begin in the row of the query.
    pub(super) first_column: usize,
    /// Whether rows are changed one after the other: those of one table.
    pub(super) is_in_order: bool,
    /// The columns that are assigned, as positions in the table.
    pub(super) assigned: &'a [usize],
    /// Those of the statement.
    pub(super) subqueries: &'a [Subquery],
}

impl Before<'_> {
    /// What computes a value over the row by then, if it reads a column that is assigned before, or assigns variables: the
    /// query comes to rows in another order than they are changed in. What it reads of the query goes to `asked`, and comes
    /// behind the columns of the table.
    ///
    /// # Errors
    /// 1235 where a subquery reads such a column.
    pub(super) fn over_new(
        &self,
        (position, value): (usize, &Expr),
        asked: &mut Vec<Expr>,
    ) -> Result<Option<OverNew>> {
        if !self.is_in_order || !self.reads(value)? && !assign::is_in(value) {
            return Ok(None);
        }
        let mut expr = value.clone();
        self.put(&mut expr, asked);
        Ok(Some(OverNew { position, expr }))
    }

    /// The column of the table that a column of the row is.
    fn column(&self, idx: usize) -> Option<usize> {
        let idx = idx.checked_sub(self.first_column);
        idx.filter(|idx| *idx < self.table.columns.len())
    }

    fn is_assigned(&self, expr: &Expr) -> bool {
        let ExprKind::Column(idx) = expr.kind else {
            return false;
        };
        let column = self.column(idx);
        column.is_some_and(|idx| self.assigned.contains(&idx))
    }

    fn reads(&self, expr: &Expr) -> Result<bool> {
        match &expr.kind {
            ExprKind::Slot(slot) => self.refuse_if_read(slot)?,
            ExprKind::InSet { expr, set, .. } | ExprKind::Quantified { expr, set, .. } => {
                self.refuse_if_read(set)?;
                if self.reads(expr)? {
                    return Err(self.refusal(set));
                }
            }
            _ => {}
        }
        let mut found = Ok(self.is_assigned(expr));
        fold::each_child(expr, &mut |child| {
            found = match (std::mem::replace(&mut found, Ok(false)), self.reads(child)) {
                (Ok(before), Ok(now)) => Ok(before || now),
                (Err(error), _) | (_, Err(error)) => Err(error),
            };
        });
        found
    }

    fn refuse_if_read(&self, slot: &Slot) -> Result<()> {
        let mut subqueries = self.subqueries.iter();
        let asked = subqueries.find(|subquery| subquery.slot == slot.idx);
        let semi = asked.and_then(|asked| asked.semi.as_ref());
        let captures = asked.map_or(&[][..], |asked| &asked.captures);
        let mut all = captures
            .iter()
            .chain(semi.iter().flat_map(|semi| &semi.captures));
        if all.any(|capture| self.reads(&capture.expr).unwrap_or(true)) {
            return Err(self.refusal(slot));
        }
        Ok(())
    }

    fn refusal(&self, slot: &Slot) -> Error {
        Error::unsupported(format!(
            "an UPDATE whose {} reads a column of '{}' that is assigned before it",
            slot.text, self.table.name
        ))
    }

    /// Counts columns as those of the table, with what the query is asked for behind them.
    fn put(&self, expr: &mut Expr, asked: &mut Vec<Expr>) {
        let own = match expr.kind {
            ExprKind::Column(idx) => self.column(idx),
            _ => None,
        };
        let is_of_query = matches!(
            expr.kind,
            ExprKind::Column(_)
                | ExprKind::Slot(_)
                | ExprKind::InSet { .. }
                | ExprKind::Quantified { .. }
        );
        if let Some(idx) = own {
            expr.kind = ExprKind::Column(idx);
        } else if is_of_query {
            let behind = ExprKind::Column(self.table.columns.len() + asked.len());
            asked.push(expr.clone());
            expr.kind = behind;
        } else {
            fold::each_child_mut(expr, &mut |child| self.put(child, asked));
        }
    }
}
