//! The conditions of a statement as an index sees them that has more than columns.
//!
//! ```text
//!   c(n)           what bounds c bounds its prefixes: = to one, < <= > >= LIKE to a range with its ends
//!   (expression)   the same expression in a condition, ORDER BY or GROUP BY is a column
//!   WHERE p        usable when the conditions imply p: each conjunct of p is one of the statement's,
//!                  or allows its column all that the statement's conjuncts allow it
//! ```
//! What bounds a computed part never replaces the condition: that is checked for each row.

use std::ops::Bound as End;
use std::rc::Rc;
use std::sync::Arc;

use super::access::Request;
use super::derive::{self, Alternatives, Blocked, Branch, Conditions, Constraint, shape};
use super::domain::{Domain, Interval};
use super::verdict::Reason;
use crate::catalog::{Column, Index, Table};
use crate::sql::bind::same::same;
use crate::sql::bound::OrderBy;
use crate::sql::computed::{self, Bound, CONTEXT, Part, prefix};
use crate::sql::eval::{self, fold};
use crate::sql::expr::{Expr, ExprKind};
use crate::types::Value;

/// A statement as one index sees it.
#[derive(Debug)]
pub(super) struct View {
    bound: Arc<Bound>,
    /// The conjuncts with computed parts in the place of their expressions; empty when the index
    /// has no expressions.
    conjuncts: Vec<Expr>,
    order_by: Vec<OrderBy>,
    grouping: Option<Vec<Expr>>,
    /// The conjuncts of the condition of a partial index.
    predicate: Vec<Expr>,
    /// Why the index cannot be used, whatever the conditions.
    unusable: Option<Reason>,
}

impl View {
    /// The view of an index; `None` when it has nothing but columns.
    pub(super) fn of(request: &Request<'_>, index: &Index, conjuncts: &[Expr]) -> Option<View> {
        let (bound, mut unusable) = match computed::of(request.table, index) {
            Ok(None) => return None,
            Ok(Some(bound)) => (bound, None),
            Err(_) => (nothing(request.table), Some(Reason::Unreadable("damaged"))),
        };
        if bound.has_expressions() && !computed::is_default_mode(&request.ctx.mode) {
            unusable = Some(Reason::Unreadable(
                "computed under the default sql_mode, which the session has changed",
            ));
        }
        let mut view = View {
            bound,
            conjuncts: Vec::new(),
            order_by: request.order_by.to_vec(),
            grouping: request.grouping.map(<[Expr]>::to_vec),
            predicate: Vec::new(),
            unusable,
        };
        if let Some(filter) = &view.bound.filter {
            match shape::conjuncts(filter, &CONTEXT) {
                Ok(predicate) => view.predicate = predicate,
                Err(_) => view.unusable = Some(Reason::Unreadable("damaged")),
            }
        }
        if view.unusable.is_none() && view.has_expression_parts() {
            view.rewrite_all(request, conjuncts);
        }
        Some(view)
    }

    fn has_expression_parts(&self) -> bool {
        let mut parts = self.bound.parts.iter();
        parts.any(|part| match part {
            Part::Expression(_) => true,
            Part::Prefix { .. } => false,
        })
    }

    fn rewrite_all(&mut self, request: &Request<'_>, conjuncts: &[Expr]) {
        let bound = Arc::clone(&self.bound);
        self.conjuncts = conjuncts.to_vec();
        for conjunct in &mut self.conjuncts {
            rewrite(conjunct, &bound);
        }
        let folded = |expr: &mut Expr| {
            if let Ok(folded) = eval::fold_for_execution(expr.clone(), request.ctx) {
                *expr = folded;
            }
            rewrite(expr, &bound);
        };
        match &mut self.grouping {
            // ORDER BY is over the grouped row.
            Some(groups) => groups.iter_mut().for_each(folded),
            None => self
                .order_by
                .iter_mut()
                .map(|key| &mut key.expr)
                .for_each(folded),
        }
    }

    /// The columns of the table, and behind them the computed ones.
    pub(super) fn columns(&self) -> &[Column] {
        &self.bound.columns
    }

    /// What the statement wants, said with computed parts.
    pub(super) fn request<'v>(&'v self, request: &Request<'v>) -> Request<'v> {
        Request {
            order_by: &self.order_by,
            grouping: self.grouping.as_deref(),
            ..*request
        }
    }

    /// What the conjuncts allow the columns and the computed parts.
    pub(super) fn conditions<'e>(
        &self,
        request: &Request<'_>,
        (conjuncts, conditions): (&'e [Expr], &Conditions<'e>),
    ) -> Conditions<'e> {
        if self.bound.parts.is_empty() || self.unusable.is_some() {
            return Rc::clone(conditions);
        }
        if !self.has_expression_parts() {
            let all = conditions.iter().zip(conjuncts);
            return all
                .map(|(condition, conjunct)| self.extended(condition, conjunct))
                .collect();
        }
        let rewritten = derive::conditions(&self.conjuncts, self.columns(), request.ctx);
        let all = rewritten.iter().zip(conjuncts);
        all.map(|(condition, conjunct)| self.extended(condition, conjunct))
            .collect()
    }

    /// A condition with what it allows prefixes; where it is on expressions, it is never absorbed.
    /// People see it as it is written.
    fn extended<'e>(&self, condition: &Alternatives<'_>, conjunct: &'e Expr) -> Alternatives<'e> {
        let blocked = condition.blocked.iter().map(|blocked| Blocked {
            column_idx: blocked.column_idx,
            obstacle: blocked.obstacle.clone(),
            condition: conjunct,
        });
        let mut extended = Alternatives {
            branches: condition.branches.clone(),
            blocked: blocked.collect(),
        };
        for branch in &mut extended.branches {
            for (at, part) in self.bound.parts.iter().enumerate() {
                let idx = self.bound.column_idx(at);
                match part {
                    Part::Expression(_) => {
                        let mut constraints = branch.constraints.iter();
                        branch.complete &= constraints.all(|one| one.column_idx != idx);
                    }
                    Part::Prefix { column_idx, length } => {
                        self.add_prefix(branch, (idx, *column_idx), *length);
                    }
                }
            }
        }
        extended
    }

    fn add_prefix(&self, branch: &mut Branch, (idx, source_idx): (usize, usize), length: usize) {
        let mut constraints = branch.constraints.iter();
        let of_source = constraints.find(|one| one.column_idx == source_idx);
        let (Some(constraint), Some(column)) = (of_source, self.columns().get(idx)) else {
            return;
        };
        let domain = prefixes(&constraint.domain, length, column);
        if domain.is_everything() {
            return;
        }
        branch.constraints.push(Constraint {
            column_idx: idx,
            domain: Rc::new(domain),
        });
    }

    /// Why the index cannot be used for the statement.
    pub(super) fn forbidden(
        &self,
        index: &Index,
        known: (&[Expr], &Conditions<'_>),
    ) -> Option<Reason> {
        if let Some(reason) = &self.unusable {
            return Some(reason.clone());
        }
        if self.is_implied(known) {
            return None;
        }
        let predicate = index.computed.filter.clone().unwrap_or_default();
        Some(Reason::NotImplied { predicate })
    }

    /// Whether every row that has an entry satisfies a conjunct, as it is one of the index's own.
    pub(super) fn is_satisfied(&self, conjunct: &Expr) -> bool {
        self.unusable.is_none() && self.predicate.iter().any(|own| same(own, conjunct))
    }

    /// Whether every row that satisfies the statement's conjuncts satisfies those of the index.
    fn is_implied(&self, (conjuncts, conditions): (&[Expr], &Conditions<'_>)) -> bool {
        let wanted = &self.predicate;
        let allowed = derive::conditions(wanted, self.columns(), &CONTEXT);
        wanted.iter().zip(allowed.iter()).all(|(wanted, allowed)| {
            conjuncts.iter().any(|conjunct| same(conjunct, wanted))
                || self.follows(allowed, conditions)
        })
    }

    /// Whether the columns may only have values that `allowed` allows.
    fn follows(&self, allowed: &Alternatives<'_>, conditions: &Conditions<'_>) -> bool {
        let [branch] = allowed.branches.as_slice() else {
            return false;
        };
        branch.complete
            && branch.constraints.iter().all(|wanted| {
                let domain = self.domain(wanted.column_idx, conditions);
                domain.is_some_and(|domain| wanted.domain.contains(&domain))
            })
    }

    /// What the conditions without alternatives allow a column together.
    fn domain(&self, column_idx: usize, conditions: &Conditions<'_>) -> Option<Domain> {
        let column = self.columns().get(column_idx)?;
        let single = conditions
            .iter()
            .filter_map(|one| match one.branches.as_slice() {
                [branch] => Some(branch),
                _ => None,
            });
        let constraints = single.flat_map(|branch| &branch.constraints);
        let mut domains = constraints.filter(|one| one.column_idx == column_idx);
        let first = Domain::clone(&domains.next()?.domain);
        Some(domains.fold(first, |all, one| all.intersect(&one.domain, &column.ty)))
    }
}

/// What stands for a definition that cannot be read.
fn nothing(table: &Table) -> Arc<Bound> {
    Arc::new(Bound::without_parts(table))
}

/// Puts computed parts in the place of their expressions.
fn rewrite(expr: &mut Expr, bound: &Bound) {
    for (at, part) in bound.parts.iter().enumerate() {
        let column_idx = bound.column_idx(at);
        if let (Part::Expression(computed), Some(column)) = (part, bound.columns.get(column_idx))
            && computed.ty == expr.ty
            && same(computed, expr)
        {
            *expr = Expr {
                kind: ExprKind::Column(column_idx),
                ty: column.ty.clone(),
                nullable: column.nullable,
            };
            return;
        }
    }
    fold::each_child_mut(expr, &mut |child| rewrite(child, bound));
}

/// The prefixes of the values of a domain. Texts and their prefixes have one order, so that the
/// prefixes of a range lie between those of its ends, which belong to them.
fn prefixes(domain: &Domain, length: usize, column: &Column) -> Domain {
    let cut = |value: &Value<'static>| prefix(value, length).into_owned();
    let low = |end: End<&Value<'static>>| match end {
        End::Excluded(Value::Null) => End::Excluded(Value::Null),
        End::Included(value) | End::Excluded(value) => End::Included(cut(value)),
        End::Unbounded => End::Unbounded,
    };
    let high = |end: End<&Value<'static>>| match end {
        // What is less than a short text has a prefix that is less.
        End::Excluded(value) if cut(value).total_cmp(value).is_eq() => End::Excluded(value.clone()),
        End::Included(value) | End::Excluded(value) => End::Included(cut(value)),
        End::Unbounded => End::Unbounded,
    };
    let intervals = domain.intervals().iter().map(|interval| match interval {
        Interval::Point(value) => Domain::point(cut(value)),
        Interval::Range { .. } => Domain::from(Interval::between(
            low(interval.low()),
            high(interval.high()),
            &column.ty,
        )),
    });
    Domain::union(intervals.collect::<Vec<_>>(), &column.ty)
}
