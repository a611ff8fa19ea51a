//! What one condition allows the columns: the shapes of expression that bound a column.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use super::super::domain::Domain;
use super::super::verdict::Obstacle;
use super::super::{place, values};
use super::alternatives::Alternatives;
use super::{like, rows, shape};
use crate::catalog::Column;
use crate::sql::context::EvalContext;
use crate::sql::eval;
use crate::sql::expr::{CompareOp, Expr, ExprKind, NoRow};
use crate::types::value::number::parse_f64;
use crate::types::{ColumnType, Decimal, Value};

/// Members of NOT IN that become gaps between spans. More of them bound nothing worth reading.
const NOT_IN_MAX: usize = 100;

/// What `condition` allows the columns.
pub(super) fn alternatives<'e>(
    condition: &'e Expr,
    columns: &[Column],
    ctx: &EvalContext,
) -> Alternatives<'e> {
    let scope = Scope { columns, ctx };
    scope.alternatives(condition)
}

/// What conditions are looked at with.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The columns of the table.
    pub(super) columns: &'a [Column],
    /// Zone and session.
    pub(super) ctx: &'a EvalContext,
}

impl Scope<'_> {
    /// What `condition` allows the columns.
    pub(super) fn alternatives(self, condition: &Expr) -> Alternatives<'_> {
        match &condition.kind {
            ExprKind::Literal(_) => self.constant(condition),
            ExprKind::And(parts) => {
                let all = parts.iter().map(|part| self.alternatives(part));
                self.all_of(all, condition)
            }
            ExprKind::Or(parts) => {
                let any = parts.iter().map(|part| self.alternatives(part));
                self.any_of(any, condition)
            }
            ExprKind::Compare(op, a, b) => self.compare(*op, (a, b), condition),
            ExprKind::InList {
                expr,
                list,
                negated,
            } => self.in_list((expr, list), *negated, condition),
            ExprKind::Between {
                expr,
                low,
                high,
                negated,
            } => self.between((expr, low, high), *negated, condition),
            ExprKind::Like {
                expr,
                pattern,
                escape,
                negated: false,
            } => self.like((expr, pattern), *escape, condition),
            ExprKind::IsNull { expr, negated } => self.is_null(expr, *negated, condition),
            ExprKind::Column(idx) => self.truth(*idx, CompareOp::NotEqual, condition),
            ExprKind::Not(inner) => match inner.kind {
                ExprKind::Column(idx) => self.truth(idx, CompareOp::Equal, condition),
                _ => Alternatives::unknown(condition, &Obstacle::Operator),
            },
            ExprKind::Parameter(_)
            | ExprKind::Slot(_)
            | ExprKind::InSet { .. }
            | ExprKind::Quantified { .. }
            | ExprKind::UserVariable(_)
            | ExprKind::SystemVariable { .. }
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Xor(..)
            | ExprKind::IsTruth { .. }
            | ExprKind::Like { negated: true, .. }
            | ExprKind::Regexp { .. }
            | ExprKind::Case { .. }
            | ExprKind::Cast(..)
            | ExprKind::DateShift { .. }
            | ExprKind::Call(..)
            | ExprKind::Row(_) => Alternatives::unknown(condition, &Obstacle::Operator),
        }
    }

    /// A condition without column: true, or never.
    fn constant(self, condition: &Expr) -> Alternatives<'_> {
        match eval::eval_condition(condition, &NoRow, self.ctx) {
            Ok(Some(true)) => Alternatives::always(),
            Ok(Some(false) | None) => Alternatives::never(),
            // Whoever runs the residual filter meets the error, if there is a row.
            Err(_) => Alternatives::unknown(condition, &Obstacle::Operator),
        }
    }

    /// An integer column as a condition.
    fn truth(self, column_idx: usize, op: CompareOp, condition: &Expr) -> Alternatives<'_> {
        match self.columns.get(column_idx).map(|column| &column.ty) {
            Some(ColumnType::Boolean | ColumnType::Int { .. }) => {
                self.compare_column(op, (column_idx, &Value::Int(0)), condition)
            }
            Some(_) | None => Alternatives::unknown(condition, &Obstacle::Operator),
        }
    }

    fn compare<'e>(
        self,
        op: CompareOp,
        (a, b): (&'e Expr, &'e Expr),
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        match (&a.kind, &b.kind) {
            (ExprKind::Row(a), ExprKind::Row(b)) => rows::compare(self, op, (a, b), condition),
            (ExprKind::Column(idx), ExprKind::Literal(value)) => {
                self.compare_column(op, (*idx, value), condition)
            }
            (ExprKind::Literal(value), ExprKind::Column(idx)) => {
                self.compare_column(shape::mirrored(op), (*idx, value), condition)
            }
            (ExprKind::Literal(_), _) | (_, ExprKind::Literal(_)) => {
                Alternatives::unknown(condition, &Obstacle::Wrapped)
            }
            _ => Alternatives::unknown(condition, &Obstacle::NotConstant),
        }
    }

    /// `column op value`.
    pub(super) fn compare_column<'e>(
        self,
        op: CompareOp,
        (column_idx, value): (usize, &Value<'static>),
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        let Some(column) = self.columns.get(column_idx) else {
            return Alternatives::unknown(condition, &Obstacle::Unordered);
        };
        match place::compare(op, value, column, self.ctx) {
            Ok(allowed) => Alternatives::column(column_idx, allowed, condition),
            Err(obstacle) => Alternatives::unknown(condition, &obstacle),
        }
    }

    /// `a op b` for the operands of a row comparison, which have no condition of their own.
    pub(super) fn compare_operands<'e>(
        self,
        op: CompareOp,
        operands: (&'e Expr, &'e Expr),
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        if let (ExprKind::Literal(_), ExprKind::Literal(_)) = (&operands.0.kind, &operands.1.kind) {
            return Alternatives::unknown(condition, &Obstacle::Operator);
        }
        self.compare(op, operands, condition)
    }

    fn in_list<'e>(
        self,
        (expr, list): (&'e Expr, &'e [Expr]),
        negated: bool,
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        match (&expr.kind, negated) {
            (ExprKind::Column(idx), false) => self.in_column(*idx, list, condition),
            (ExprKind::Column(idx), true) => self.not_in_column(*idx, list, condition),
            (ExprKind::Row(parts), false) => rows::in_list(self, parts, list, condition),
            (ExprKind::Literal(_), false) => {
                let any = list
                    .iter()
                    .map(|member| self.compare(CompareOp::Equal, (member, expr), condition));
                self.any_of(any, condition)
            }
            _ => Alternatives::unknown(condition, &Obstacle::Wrapped),
        }
    }

    fn in_column<'e>(
        self,
        column_idx: usize,
        list: &'e [Expr],
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        let Some(column) = self.columns.get(column_idx) else {
            return Alternatives::unknown(condition, &Obstacle::Unordered);
        };
        let (mut points, mut domains, mut tight) = (Vec::new(), Vec::new(), true);
        for member in list {
            let ExprKind::Literal(value) = &member.kind else {
                return Alternatives::unknown(condition, &Obstacle::NotConstant);
            };
            if let Some(value) = place::exact_value(value, &column.ty, self.ctx) {
                points.push(value);
                continue;
            }
            match place::compare(CompareOp::Equal, value, column, self.ctx) {
                Ok((domain, exactly)) => {
                    tight &= exactly;
                    domains.push(domain);
                }
                Err(obstacle) => return Alternatives::unknown(condition, &obstacle),
            }
        }
        let mut domain = Domain::points(points);
        if !domains.is_empty() {
            domains.push(domain);
            domain = Domain::union(domains, &column.ty);
        }
        Alternatives::column(column_idx, (domain, tight), condition)
    }

    fn not_in_column<'e>(
        self,
        column_idx: usize,
        list: &'e [Expr],
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        if NOT_IN_MAX < list.len() {
            return Alternatives::unknown(condition, &Obstacle::TooManyAlternatives);
        }
        let all = list.iter().map(|member| match &member.kind {
            ExprKind::Literal(value) => {
                self.compare_column(CompareOp::NotEqual, (column_idx, value), condition)
            }
            _ => Alternatives::unknown(condition, &Obstacle::NotConstant),
        });
        self.all_of(all, condition)
    }

    fn between<'e>(
        self,
        (expr, low, high): (&'e Expr, &'e Expr, &'e Expr),
        negated: bool,
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        let texts_are_numbers = self.is_numeric(expr) && (is_text(low) || is_text(high));
        if texts_are_numbers {
            return self.between_numbers((expr, low, high), negated, condition);
        }
        if mixes_text_and_numbers(low, high) {
            return Alternatives::unknown(condition, &Obstacle::ComparesAsNumbers);
        }
        if negated {
            let below = self.compare_operands(CompareOp::Less, (expr, low), condition);
            let above = self.compare_operands(CompareOp::Greater, (expr, high), condition);
            return self.any_of([below, above].into_iter(), condition);
        }
        let above = self.compare_operands(CompareOp::GreaterOrEqual, (expr, low), condition);
        let below = self.compare_operands(CompareOp::LessOrEqual, (expr, high), condition);
        self.all_of([above, below].into_iter(), condition)
    }

    fn is_numeric(self, expr: &Expr) -> bool {
        let ExprKind::Column(idx) = expr.kind else {
            return false;
        };
        let column = self.columns.get(idx);
        column.is_some_and(|column| {
            values::int_range(&column.ty).is_some()
                || matches!(
                    column.ty,
                    ColumnType::Decimal { .. }
                        | ColumnType::Float
                        | ColumnType::Double
                        | ColumnType::Year
                )
        })
    }

    /// BETWEEN reads texts beside a numeric column as doubles, but where all numbers are integers.
    fn between_numbers<'e>(
        self,
        (expr, low, high): (&'e Expr, &'e Expr, &'e Expr),
        negated: bool,
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        let ExprKind::Column(idx) = &expr.kind else {
            return Alternatives::unknown(condition, &Obstacle::ComparesAsNumbers);
        };
        let column = self.columns.get(*idx);
        let is_integer = column.is_some_and(|column| values::int_range(&column.ty).is_some());
        let is_exact = is_integer && may_be_exact(low) && may_be_exact(high);
        let (Some(low), Some(high)) = (as_number(low, is_exact), as_number(high, is_exact)) else {
            return Alternatives::unknown(condition, &Obstacle::ComparesAsNumbers);
        };
        let bound = |op, value: &Value<'static>| self.compare_column(op, (*idx, value), condition);
        if negated {
            let below = bound(CompareOp::Less, &low);
            let above = bound(CompareOp::Greater, &high);
            return self.any_of([below, above].into_iter(), condition);
        }
        let above = bound(CompareOp::GreaterOrEqual, &low);
        let below = bound(CompareOp::LessOrEqual, &high);
        self.all_of([above, below].into_iter(), condition)
    }

    fn like<'e>(
        self,
        (expr, pattern): (&'e Expr, &'e Expr),
        escape: Option<char>,
        condition: &'e Expr,
    ) -> Alternatives<'e> {
        let (ExprKind::Column(idx), ExprKind::Literal(pattern)) = (&expr.kind, &pattern.kind)
        else {
            return Alternatives::unknown(condition, &Obstacle::Wrapped);
        };
        let Some(column) = self.columns.get(*idx) else {
            return Alternatives::unknown(condition, &Obstacle::Unordered);
        };
        match like::domain(pattern, escape, column) {
            Ok(allowed) => Alternatives::column(*idx, allowed, condition),
            Err(obstacle) => Alternatives::unknown(condition, &obstacle),
        }
    }

    fn is_null<'e>(self, expr: &'e Expr, negated: bool, condition: &'e Expr) -> Alternatives<'e> {
        let ExprKind::Column(idx) = expr.kind else {
            return Alternatives::unknown(condition, &Obstacle::Wrapped);
        };
        let Some(column) = self.columns.get(idx) else {
            return Alternatives::unknown(condition, &Obstacle::Unordered);
        };
        let domain = match (negated, column.nullable) {
            (true, nullable) => Domain::not_null(nullable),
            (false, true) => Domain::point(Value::Null),
            (false, false) => Domain::empty(),
        };
        Alternatives::column(idx, (domain, true), condition)
    }
}

/// BETWEEN has one kind of comparison for both bounds.
fn mixes_text_and_numbers(low: &Expr, high: &Expr) -> bool {
    (is_text(low) && is_number(high)) || (is_number(low) && is_text(high))
}

/// Whether texts beside it may be exact: it is no number but an integer.
fn may_be_exact(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(value) if matches!(value, Value::Int(_) | Value::UInt(_)) || !value.is_number())
}

/// A literal, read as a number when it is a text that is one: digits exactly, if they may be, others as a double.
fn as_number(expr: &Expr, is_exact: bool) -> Option<Value<'static>> {
    match &expr.kind {
        ExprKind::Literal(Value::Text(text)) => {
            if let Some(exact) = Decimal::parse_plain(text).filter(|_| is_exact) {
                return Some(Value::Decimal(exact));
            }
            let parsed = parse_f64(text.as_bytes());
            (!parsed.is_truncated).then_some(Value::Double(parsed.value))
        }
        ExprKind::Literal(value) => Some(value.clone()),
        _ => None,
    }
}

fn is_number(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(value) if value.is_number())
}

fn is_text(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Literal(Value::Text(_) | Value::Bytes(_))
    )
}
