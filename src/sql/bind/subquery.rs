//! Subqueries in expressions: their answer is a slot that is filled before the expression is
//! evaluated.

use std::sync::Arc;

use super::expr::truth;
use super::operands::operand_columns;
use super::scope::{AggregateRule, Clause, Scope};
use super::{Names, Widening, operands, push, query, select};
use crate::error::{Error, Result};
use crate::sql::ast::{self, QueryBody, SelectItem};
use crate::sql::bound::{Answer, Capture, Query, Semi, Stage, Subquery};
use crate::sql::expr::{CompareOp, Expr, ExprKind, Slot};
use crate::types::{ColumnType, Value};

/// # Errors
/// 1235 for a row that is compared with a subquery.
pub(super) fn check_beside_row(both: &(ast::Expr, ast::Expr)) -> Result<()> {
    if let (ast::Expr::Row(_), ast::Expr::Subquery(_))
    | (ast::Expr::Subquery(_), ast::Expr::Row(_)) = both
    {
        let what = "a row compared with a subquery, which IN and = ANY take";
        return Err(Error::unsupported(what));
    }
    Ok(())
}

impl Scope<'_> {
    /// `(SELECT …)` as a value. Without a table it is the expression that it selects.
    ///
    /// # Errors
    /// 1241 when it has more columns than one.
    pub(super) fn scalar_subquery(&mut self, select: &ast::Select) -> Result<Expr> {
        if let Some(expr) = plain_expression(select) {
            return self.value(expr);
        }
        let names = self.names;
        self.scalar_of(select, &names)
    }

    /// As [`Scope::scalar_subquery`], of a query on a table, with names of its own.
    pub(super) fn scalar_of(&mut self, select: &ast::Select, names: &Names<'_>) -> Result<Expr> {
        let (slot, query) = self.subquery_of(select, (Answer::Value, names))?;
        match query.columns().as_slice() {
            [column] => Ok(Expr {
                kind: ExprKind::Slot(Slot {
                    decimals: column.decimals,
                    ..slot
                }),
                ty: column.ty.clone(),
                nullable: true,
            }),
            _ => Err(operand_columns(1)),
        }
    }

    /// `EXISTS (SELECT …)`.
    pub(super) fn exists(&mut self, select: &ast::Select) -> Result<Expr> {
        let stars_before = self.names.widening.map_or(0, Widening::stars_count);
        let (slot, _) = self.subquery(select, Answer::Exists)?;
        if let Some(widening) = self.names.widening {
            widening.forget_stars(stars_before);
        }
        Ok(truth(ExprKind::Slot(slot), false))
    }

    /// `expr [NOT] IN (SELECT …)`.
    ///
    /// # Errors
    /// 1241 when the two sides have not the same number of columns.
    pub(super) fn in_select(
        &mut self,
        expr: &ast::Expr,
        select: &ast::Select,
        negated: bool,
    ) -> Result<Expr> {
        let expr = Box::new(self.operand(expr)?);
        let (set, query) = self.subquery(select, Answer::Set)?;
        let columns = query.columns();
        let width = match &expr.kind {
            ExprKind::Row(members) => members.len(),
            _ => 1,
        };
        if columns.len() != width {
            return Err(operand_columns(width));
        }
        let nullable = expr.nullable || columns.iter().any(|column| column.nullable);
        let semi = self.semi(&expr, &query);
        if let Some(subquery) = self.subqueries.last_mut() {
            subquery.semi = subquery.captures.is_empty().then_some(semi).flatten();
        }
        Ok(truth(ExprKind::InSet { expr, set, negated }, nullable))
    }

    /// `expr op ANY (SELECT …)`, `expr op ALL (SELECT …)`.
    ///
    /// # Errors
    /// 1241 for more than one column.
    pub(super) fn quantified(
        &mut self,
        (expr, op): (&ast::Expr, CompareOp),
        all: bool,
        select: &ast::Select,
    ) -> Result<Expr> {
        if matches!(expr, ast::Expr::Row(_)) {
            // MySQL takes rows where it means `IN`.
            let (is_in, is_not_in) = (op == CompareOp::Equal, op == CompareOp::NotEqual);
            if is_in && !all || is_not_in && all {
                return self.in_select(expr, select, is_not_in);
            }
        }
        let expr = Box::new(self.value(expr)?);
        let (set, query) = self.subquery(select, Answer::Set)?;
        if query.columns().len() != 1 {
            return Err(operand_columns(1));
        }
        Ok(truth(ExprKind::Quantified { expr, op, all, set }, true))
    }

    fn subquery(&mut self, select: &ast::Select, answer: Answer) -> Result<(Slot, Arc<Query>)> {
        let names = self.names;
        self.subquery_of(select, (answer, &names))
    }

    fn subquery_of(
        &mut self,
        select: &ast::Select,
        (answer, names): (Answer, &Names<'_>),
    ) -> Result<(Slot, Arc<Query>)> {
        let _level = names.numbering.deeper()?;
        let outside = std::mem::take(&mut self.captures);
        let query = query::query(select, names, Some(self));
        let captures = std::mem::replace(&mut self.captures, outside);
        let mut query = query?;
        operands::keep_digits(&mut query);
        let query = Arc::new(query);
        self.parameters_count = self.parameters_count.max(query.parameters_count());
        let slot = Slot {
            idx: names.numbering.next(),
            per_row: !captures.is_empty(),
            text: format!("(subquery {})", names.numbering.next_subquery()).into(),
            is_column: false,
            decimals: None,
        };
        self.subqueries.push(Subquery {
            query: Arc::clone(&query),
            slot: slot.idx,
            name: Arc::clone(&slot.text),
            answer,
            captures,
            stage: self.stage(),
            semi: None,
        });
        Ok((slot, query))
    }

    /// How the subquery of an `IN` can be run for each row; `None` when no condition can be added.
    fn semi(&mut self, expr: &Expr, query: &Arc<Query>) -> Option<Box<Semi>> {
        // Variables would be assigned for other rows.
        if self.names.numbering.is_assigning() {
            return None;
        }
        let members = match &expr.kind {
            ExprKind::Row(members) => members.as_slice(),
            _ => std::slice::from_ref(expr),
        };
        let columns = query.columns().into_iter().enumerate();
        let (mut conditions, mut captures) = (Vec::new(), Vec::new());
        for (member, (idx, column)) in members.iter().zip(columns) {
            if !push::is_of_the_row(member) {
                return None;
            }
            let slot = self.names.numbering.next();
            let column = Expr {
                kind: ExprKind::Column(idx),
                ty: column.ty.clone(),
                nullable: column.nullable,
            };
            conditions.push(equal(column, member, slot));
            captures.push(Capture {
                slot,
                expr: member.clone(),
            });
        }
        let mut narrowed = Query::clone(query);
        let condition = select::all_of(conditions, None)?;
        if !push::narrow(&mut narrowed, condition) {
            return None;
        }
        let mut pairs = members.iter().zip(query.columns());
        if pairs.all(|(member, column)| member.ty == column.ty)
            && let Query::Select(select) = &mut narrowed
        {
            // Its rows are as good as one another.
            select.limit = Some(Expr {
                kind: ExprKind::Literal(Value::UInt(1)),
                ty: ColumnType::BIGINT_UNSIGNED,
                nullable: false,
            });
        }
        let query = Arc::new(narrowed);
        Some(Box::new(Semi { query, captures }))
    }

    /// When the answer of a subquery that stands here is needed.
    fn stage(&self) -> Stage {
        let is_inside = self.aggregate_rule == AggregateRule::Inside;
        match self.clause {
            Clause::Where | Clause::On => Stage::Filter,
            Clause::GroupBy => Stage::Row,
            Clause::FieldList
            | Clause::Having
            | Clause::OrderBy
            | Clause::WindowPartition
            | Clause::WindowOrder => {
                if is_inside {
                    Stage::Row
                } else {
                    Stage::Group
                }
            }
        }
    }
}

/// A column of a subquery and what it is compared with, which comes in a slot.
fn equal(column: Expr, with: &Expr, slot: usize) -> Expr {
    let with = Expr {
        kind: ExprKind::Slot(Slot {
            idx: slot,
            per_row: false,
            text: "(the value looked for)".into(),
            is_column: false,
            decimals: None,
        }),
        ty: with.ty.clone(),
        nullable: with.nullable,
    };
    let (left, right) = (Box::new(column), Box::new(with));
    truth(ExprKind::Compare(CompareOp::Equal, left, right), true)
}

/// The expression of `(SELECT expression)`, which reads nothing.
fn plain_expression(select: &ast::Select) -> Option<&ast::Expr> {
    let QueryBody::Block(block) = &select.body else {
        return None;
    };
    let is_plain = block.from.is_empty()
        && block.filter.is_none()
        && block.group_by.is_empty()
        && block.having.is_none()
        && select.limit.is_none()
        && select.with.ctes.is_empty()
        && select.into.is_none();
    match block.items.as_slice() {
        [SelectItem::Expr { expr, .. }] if is_plain && !expr.has(&is_aggregate) => Some(expr),
        _ => None,
    }
}

/// Whether it is an aggregate, or a window function: it is the subquery's own, or of a query around.
fn is_aggregate(expr: &ast::Expr) -> bool {
    let ast::Expr::Call(call) = expr else {
        return false;
    };
    call.star || call.over.is_some() || super::call::is_aggregate(&call.name)
}
