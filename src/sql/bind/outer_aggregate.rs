//! Aggregates of a query around: in a subquery, an aggregate that reads columns of a query around it alone is
//! computed by that one, over its groups (ISO/IEC 9075-2, "set function specification").
//!
//! To the subquery it is a value from outside, as a column of that query's row would be.

use super::scope::{AggregateRule, Clause, Scope};
use crate::error::{Error, Result};
use crate::sql::ast::{self, ColumnName};
use crate::sql::bound::AggregateKind;
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};

/// An aggregate as it is written.
#[derive(Clone, Copy)]
pub(super) struct AggregateCall<'c> {
    pub(super) call: &'c ast::Call,
    pub(super) kind: AggregateKind,
    /// The columns that it reads.
    names: &'c [ColumnName],
}

impl Scope<'_> {
    /// The aggregate as a slot that is filled before this query runs, when it is one of a query around.
    ///
    /// # Errors
    /// As [`Scope::call`].
    pub(super) fn outer_aggregate(
        &mut self,
        call: &ast::Call,
        kind: AggregateKind,
    ) -> Result<Option<Expr>> {
        if self.outer.is_none() {
            return Ok(None);
        }
        let mut names = Vec::new();
        let is_plain = call.args.iter().all(|arg| names_in(arg, &mut names));
        if !is_plain || names.is_empty() || self.has_any(&names) {
            return Ok(None);
        }
        let names = &names;
        match &mut self.outer {
            Some(outer) => outer.aggregate_of(AggregateCall { call, kind, names }),
            None => Ok(None),
        }
    }

    /// As [`Outer::aggregate_of`].
    pub(super) fn aggregate_around(&mut self, it: AggregateCall<'_>) -> Result<Option<Expr>> {
        if !self.has_any(it.names) {
            return match &mut self.outer {
                Some(outer) => outer.aggregate_of(it),
                None => Ok(None),
            };
        }
        match self.aggregate_rule {
            // Where this query may have none, it is the subquery's, as in MySQL.
            AggregateRule::Forbidden => Ok(None),
            // An aggregate of an aggregate: refused there.
            AggregateRule::Inside | AggregateRule::Allowed => {
                let aggregate = self.aggregate(it.call, it.kind)?;
                let text = format!("{}()", it.call.name.to_ascii_lowercase());
                Ok(Some(self.captured(text, aggregate)))
            }
        }
    }

    /// Whether one of the names means something in the row of this query.
    fn has_any(&self, names: &[ColumnName]) -> bool {
        let sees_items = match self.clause {
            Clause::OrderBy | Clause::GroupBy | Clause::WindowPartition | Clause::WindowOrder => {
                true
            }
            Clause::FieldList | Clause::Where | Clause::Having | Clause::On => false,
        };
        let is_absent = |found: Result<Option<Expr>>| matches!(found, Ok(None));
        let mut names = names.iter();
        names.any(|name| {
            !is_absent(self.table_column(name)) || sees_items && !is_absent(self.item_named(name))
        })
    }

    /// # Errors
    /// 1235 for an aggregate whose arguments have subqueries, and read a query around this one alone.
    pub(super) fn refuse_outer(&self, name: &str, args: &[Expr]) -> Result<()> {
        let Some(outer) = &self.outer else {
            return Ok(());
        };
        let mut slots = Vec::new();
        if args.iter().any(|arg| reads_row(arg, &mut slots)) {
            return Ok(());
        }
        if slots.into_iter().any(|slot| outer.may_aggregate(slot)) {
            return Err(Error::unsupported(format!(
                "{name}() in a subquery, of another subquery and columns of the query around it alone"
            )));
        }
        Ok(())
    }
}

/// Takes the names of columns; `false` where others may be in a subquery.
fn names_in(expr: &ast::Expr, names: &mut Vec<ColumnName>) -> bool {
    match expr {
        ast::Expr::Column(name) | ast::Expr::DefaultOf(name) | ast::Expr::Values(name) => {
            names.push(ColumnName::clone(name));
        }
        ast::Expr::Subquery(_)
        | ast::Expr::Exists(_)
        | ast::Expr::InSelect { .. }
        | ast::Expr::Quantified { .. } => return false,
        _ => {}
    }
    let mut is_plain = true;
    expr.each_child(&mut |child| is_plain = is_plain && names_in(child, names));
    is_plain
}

/// Whether an expression reads the row; else what it reads of queries around this one.
fn reads_row(expr: &Expr, slots: &mut Vec<usize>) -> bool {
    match &expr.kind {
        ExprKind::Column(_) => return true,
        ExprKind::Slot(slot) => slots.push(slot.idx),
        _ => {}
    }
    let mut reads = false;
    fold::each_child(expr, &mut |child| reads = reads || reads_row(child, slots));
    reads
}
