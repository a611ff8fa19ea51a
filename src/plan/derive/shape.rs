//! A filter as a list of conjuncts: constants folded, NOT pushed down, AND flattened.
//!
//! A filter keeps a row only when it is true, so unknown counts as false: `a IS TRUE` is `a` here.
//! Everything else keeps its value in SQL's three-valued logic.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use crate::error::Result;
use crate::sql::context::EvalContext;
use crate::sql::eval::{self, compare};
use crate::sql::expr::{CastType, CompareOp, Expr, ExprKind, NoRow};
use crate::sql::members::Members;
use crate::types::{ColumnType, Value};

/// Rows of a subquery of which keys are made; more are looked up one by one in each row that is read.
const SET_KEYS_MAX: usize = 2000;

/// The conjuncts of a filter, for one execution: parameters and the clock count as constants.
///
/// # Errors
/// What the folding of constants gives; 1366 for a text beside a column of bytes that gives none, as where
/// it is a literal.
pub fn conjuncts(filter: &Expr, ctx: &EvalContext) -> Result<Vec<Expr>> {
    let mut filter = filter.clone();
    put_parameters(&mut filter, ctx);
    let mut folded = eval::fold_for_execution(filter, ctx)?;
    settle(&mut folded, ctx)?;
    let mut list = Vec::new();
    flatten_and(positive(folded), &mut list);
    Ok(list)
}

/// Looks at the texts that the statement says beside dates, before any row is read, as MySQL does.
///
/// # Errors
/// 1525 for one that is no date.
pub fn check_dates(expr: &Expr, ctx: &EvalContext) -> Result<()> {
    let mut checked = match &expr.kind {
        ExprKind::Compare(_, a, b) => check_pair((a, b), ctx),
        ExprKind::InList { expr, list, .. } => match list.as_slice() {
            [only] => check_pair((expr, only), ctx),
            // Of these, and of BETWEEN, MySQL looks at what the rows meet.
            _ => Ok(()),
        },
        _ => Ok(()),
    };
    eval::fold::each_child(expr, &mut |child| {
        if checked.is_ok() {
            checked = check_dates(child, ctx);
        }
    });
    checked
}

fn check_pair((a, b): (&Expr, &Expr), ctx: &EvalContext) -> Result<()> {
    if let (ExprKind::Row(a), ExprKind::Row(b)) = (&a.kind, &b.kind) {
        let mut pairs = a.iter().zip(b);
        return pairs.try_for_each(|pair| check_pair(pair, ctx));
    }
    compare::check_said_date(a, b, ctx)?;
    compare::check_said_date(b, a, ctx)
}

/// Replaces each `?` by its value. Folding would do it too, but slowly for a list of thousands.
fn put_parameters(expr: &mut Expr, ctx: &EvalContext) {
    if let ExprKind::Parameter(position) = expr.kind {
        if let Some(value) = ctx.parameters.get(position) {
            expr.nullable = value.is_null();
            expr.kind = ExprKind::Literal(value.clone());
        }
        return;
    }
    if let ExprKind::Slot(slot) = &expr.kind {
        if let Some(value) = ctx.known(slot) {
            expr.nullable = value.is_null();
            expr.kind = ExprKind::Literal(value.clone());
        }
        return;
    }
    keep_bad_dates(expr, ctx);
    list_members(expr, ctx);
    eval::fold::each_child_mut(expr, &mut |child| put_parameters(child, ctx));
}

/// Has the texts beside dates that come from a row of another query and are no dates looked at in each row,
/// where each gives a warning: as literals they would be error 1525.
fn keep_bad_dates(expr: &mut Expr, ctx: &EvalContext) {
    match &mut expr.kind {
        ExprKind::Compare(_, a, b) => keep_bad_date((a, b), ctx),
        ExprKind::Between {
            expr, low, high, ..
        } => {
            keep_bad_date((expr, low), ctx);
            keep_bad_date((expr, high), ctx);
        }
        ExprKind::InList { expr, list, .. } => {
            for member in list {
                keep_bad_date((expr, member), ctx);
            }
        }
        _ => {}
    }
}

fn keep_bad_date((a, b): (&mut Expr, &mut Expr), ctx: &EvalContext) {
    if let (ExprKind::Row(a), ExprKind::Row(b)) = (&mut a.kind, &mut b.kind) {
        for pair in a.iter_mut().zip(b) {
            keep_bad_date(pair, ctx);
        }
        return;
    }
    let other = match (is_dated(&a.ty), is_dated(&b.ty)) {
        (true, false) => b,
        (false, true) => a,
        (true, true) | (false, false) => return,
    };
    if !eval::fold::reads_slot(other) || !eval::is_statement_constant(other) {
        return;
    }
    let value = eval::eval_exact(other, &NoRow, &ctx.quiet()).map(Value::into_owned);
    if value.is_ok_and(|value| compare::is_bad_date(&value, ctx)) {
        ask_per_row(other);
    }
}

fn is_dated(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Date | ColumnType::Datetime { .. } | ColumnType::Timestamp { .. }
    )
}

fn ask_per_row(expr: &mut Expr) {
    if let ExprKind::Slot(slot) = &mut expr.kind {
        slot.per_row = true;
    }
    eval::fold::each_child_mut(expr, &mut ask_per_row);
}

/// Whether a member stands against a date and is a text that is none.
fn has_bad_date(operand: &Expr, members: &Members, ctx: &EvalContext) -> bool {
    let operands = match &operand.kind {
        ExprKind::Row(operands) => operands.as_slice(),
        _ => std::slice::from_ref(operand),
    };
    let mut operands = operands.iter().enumerate();
    operands.any(|(idx, operand)| {
        is_dated(&operand.ty) && {
            let mut values = members.rows().iter().filter_map(|row| row.get(idx));
            values.any(|value| compare::is_bad_date(value, ctx))
        }
    })
}

/// Turns `a IN (SELECT …)` into a list when its rows are known and few, so that keys can be made of
/// them.
fn list_members(expr: &mut Expr, ctx: &EvalContext) {
    let ExprKind::InSet {
        expr: operand,
        set,
        negated: false,
    } = &mut expr.kind
    else {
        return;
    };
    let Some(members) = ctx.known_set(set) else {
        return;
    };
    if members.is_empty() || SET_KEYS_MAX < members.len() {
        return;
    }
    if has_bad_date(operand, members, ctx) {
        return;
    }
    let operand = operand.as_ref().clone();
    expr.kind = ExprKind::InList {
        expr: Box::new(operand),
        list: members.literals(),
        negated: false,
    };
}

/// Computes the constants that folding leaves because they warn (`1/0`): the key can use them, and
/// the statement warns once. One whose computation fails stays, and fails when a row meets it.
fn settle(expr: &mut Expr, ctx: &EvalContext) -> Result<()> {
    match expr.kind {
        ExprKind::Literal(_) => return Ok(()),
        ExprKind::Row(_) => {}
        _ if eval::is_statement_constant(expr) => {
            match eval::eval_exact(expr, &NoRow, ctx).map(Value::into_owned) {
                Ok(value) => {
                    expr.nullable = value.is_null();
                    expr.kind = ExprKind::Literal(value);
                }
                Err(error) if is_bytes_beside(expr) => return Err(error),
                Err(_) => {}
            }
            return Ok(());
        }
        _ => {}
    }
    let mut settled = Ok(());
    eval::fold::each_child_mut(expr, &mut |child| {
        if settled.is_ok() {
            settled = settle(child, ctx);
        }
    });
    settled
}

fn is_bytes_beside(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Cast(_, CastType::BytesBeside))
}

fn flatten_and(expr: Expr, list: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::And(parts) => parts.into_iter().for_each(|part| flatten_and(part, list)),
        kind => list.push(Expr { kind, ..expr }),
    }
}

/// The conjunction of a list; `None` when it is empty.
pub fn all_of(mut list: Vec<Expr>) -> Option<Expr> {
    let end = list.pop()?;
    if list.is_empty() {
        return Some(end);
    }
    let ty = end.ty.clone();
    list.push(end);
    Some(Expr {
        nullable: list.iter().any(|part| part.nullable),
        kind: ExprKind::And(list),
        ty,
    })
}

/// An expression that is true for the same rows, NOT pushed down.
fn positive(expr: Expr) -> Expr {
    let Expr { kind, ty, nullable } = expr;
    let kind = match kind {
        ExprKind::Not(inner) => return negative(*inner),
        ExprKind::And(parts) => ExprKind::And(parts.into_iter().map(positive).collect()),
        ExprKind::Or(parts) => ExprKind::Or(parts.into_iter().map(positive).collect()),
        ExprKind::IsTruth {
            expr,
            truth: Some(true),
            negated: false,
        } => return positive(*expr),
        ExprKind::IsTruth {
            expr,
            truth: Some(false),
            negated: false,
        } => return negative(*expr),
        other => other,
    };
    Expr { kind, ty, nullable }
}

/// An expression that is true for the rows for which `expr` is false.
fn negative(expr: Expr) -> Expr {
    let Expr { kind, ty, nullable } = expr;
    let kind = match kind {
        ExprKind::Not(inner) => return positive(*inner),
        ExprKind::And(parts) => ExprKind::Or(parts.into_iter().map(negative).collect()),
        ExprKind::Or(parts) => ExprKind::And(parts.into_iter().map(negative).collect()),
        ExprKind::Compare(op, a, b) => match opposite(op).filter(|_| !is_row(&a)) {
            Some(op) => ExprKind::Compare(op, a, b),
            None => not(ExprKind::Compare(op, a, b), (&ty, nullable)),
        },
        ExprKind::InList {
            expr,
            list,
            negated,
        } => ExprKind::InList {
            expr,
            list,
            negated: !negated,
        },
        ExprKind::Between {
            expr,
            low,
            high,
            negated,
        } => ExprKind::Between {
            expr,
            low,
            high,
            negated: !negated,
        },
        ExprKind::Like {
            expr,
            pattern,
            escape,
            negated,
        } => ExprKind::Like {
            expr,
            pattern,
            escape,
            negated: !negated,
        },
        ExprKind::IsNull { expr, negated } => ExprKind::IsNull {
            expr,
            negated: !negated,
        },
        other => not(other, (&ty, nullable)),
    };
    Expr { kind, ty, nullable }
}

fn not(kind: ExprKind, (ty, nullable): (&ColumnType, bool)) -> ExprKind {
    ExprKind::Not(Box::new(Expr {
        kind,
        ty: ty.clone(),
        nullable,
    }))
}

fn is_row(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Row(_))
}

/// The operator that is true where this one is false, and unknown where it is unknown.
fn opposite(op: CompareOp) -> Option<CompareOp> {
    match op {
        CompareOp::Equal => Some(CompareOp::NotEqual),
        CompareOp::NotEqual => Some(CompareOp::Equal),
        CompareOp::Less => Some(CompareOp::GreaterOrEqual),
        CompareOp::LessOrEqual => Some(CompareOp::Greater),
        CompareOp::Greater => Some(CompareOp::LessOrEqual),
        CompareOp::GreaterOrEqual => Some(CompareOp::Less),
        CompareOp::NullSafeEqual => None,
    }
}

/// The operator for exchanged operands.
pub fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Equal | CompareOp::NotEqual | CompareOp::NullSafeEqual => op,
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
    }
}
