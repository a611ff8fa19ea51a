//! What operands mean to each other: the types of parameters, numbers in hexadecimal, rows.

use super::literal;
use crate::error::{Code, Error, Result};
use crate::sql::bound::{Query, Select};
use crate::sql::eval::cast::year_beside;
use crate::sql::eval::{fold, typing};
use crate::sql::expr::{BinaryOp, CastType, Expr, ExprKind};
use crate::types::{ColumnType, Value};

/// The type of a value that is only known while the statement runs.
pub(super) fn type_of(value: &Value<'_>) -> ColumnType {
    match value {
        Value::Int(_) => ColumnType::BIGINT,
        Value::UInt(_) => ColumnType::BIGINT_UNSIGNED,
        Value::Float(_) => ColumnType::Float,
        Value::Double(_) => ColumnType::Double,
        Value::Decimal(number) => ColumnType::Decimal {
            precision: number.precision().max(number.scale()).max(1),
            scale: number.scale(),
        },
        Value::Bytes(_) => ColumnType::Varbinary { bytes_max: None },
        Value::Date(_) => ColumnType::Date,
        Value::Time(time) => ColumnType::Time { fsp: time.fsp() },
        Value::Datetime(datetime) => ColumnType::Datetime {
            fsp: datetime.fsp(),
        },
        Value::Timestamp(timestamp) => ColumnType::Timestamp {
            fsp: timestamp.fsp(),
        },
        Value::Year(_) => ColumnType::Year,
        Value::Json(_) => ColumnType::Json,
        Value::Null | Value::Text(_) | Value::Enum(_) => ColumnType::VARCHAR,
    }
}

/// A parameter takes the type of what it meets.
pub(super) fn take_type(a: &mut Expr, b: &Expr) {
    if matches!(a.kind, ExprKind::Parameter(_)) && !matches!(b.kind, ExprKind::Parameter(_)) {
        a.ty = b.ty.clone();
    }
}

/// Both sides of a comparison: parameters get types, hexadecimal literals become numbers beside
/// numbers, and constants years beside columns of them, but not in rows. Behind the `columns_count`
/// columns of a row stand its aggregates, and what is proposed to be inserted, which are no columns.
pub(super) fn comparable(mut a: Expr, mut b: Expr, columns_count: usize) -> (Expr, Expr) {
    if let (ExprKind::Row(left), ExprKind::Row(right)) = (&mut a.kind, &mut b.kind) {
        let (lefts, rights) = (std::mem::take(left), std::mem::take(right));
        let pairs = lefts.into_iter().zip(rights).map(|(a, b)| typed(a, b));
        (*left, *right) = pairs.unzip();
        return (a, b);
    }
    let (a, b) = typed(a, b);
    if is_year_column(&a, columns_count) {
        (a, beside_year(b))
    } else if is_year_column(&b, columns_count) {
        (beside_year(a), b)
    } else {
        (a, b)
    }
}

/// Both sides of a comparison, as [`comparable`], but constants beside columns of years stay what they are.
pub(super) fn typed(mut a: Expr, mut b: Expr) -> (Expr, Expr) {
    if let (ExprKind::Row(_), ExprKind::Row(_)) = (&a.kind, &b.kind) {
        return comparable(a, b, 0);
    }
    take_type(&mut a, &b);
    take_type(&mut b, &a);
    if a.ty.is_numeric() {
        b = literal::as_number(b);
    } else if b.ty.is_numeric() {
        a = literal::as_number(a);
    }
    (a, b)
}

/// What stands before BETWEEN and behind it: constants behind it are years beside a column of years.
pub(super) fn years_between(
    expr: Expr,
    (low, high): (Expr, Expr),
    columns_count: usize,
) -> (Expr, Expr, Expr) {
    let (expr, low) = typed(expr, low);
    let (expr, high) = typed(expr, high);
    if is_year_column(&expr, columns_count) {
        (expr, beside_year(low), beside_year(high))
    } else {
        (expr, low, high)
    }
}

/// What stands before a list and in it: constants are years beside a column of years where all members are
/// constants that are compared in one way, which is not that of whole numbers, or where there is but one, which
/// makes it a comparison (`Item_func_in::resolve_type` in MySQL's `item_cmpfunc.cc`).
pub(super) fn years_in_list(
    expr: Expr,
    mut members: Vec<Expr>,
    columns_count: usize,
) -> (Expr, Vec<Expr>) {
    if members.len() == 1
        && let Some(member) = members.pop()
    {
        let (expr, member) = comparable(expr, member, columns_count);
        return (expr, vec![member]);
    }
    if is_year_column(&expr, columns_count)
        && members.iter().all(fold::is_said)
        && are_alike(&members)
    {
        members = members.into_iter().map(beside_year).collect();
    }
    (expr, members)
}

/// How a member of a list is compared with a whole number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Whole,
    Exact,
    /// Texts and dates too.
    Double,
}

/// Whether all members are compared in one way that takes years; `NULL` is compared in any.
fn are_alike(members: &[Expr]) -> bool {
    let known = members
        .iter()
        .filter(|member| member.ty != ColumnType::Null);
    let mut ways = known.map(|member| match member.ty {
        ColumnType::Decimal { .. } => Way::Exact,
        ref ty if ty.is_integer() || *ty == ColumnType::Year => Way::Whole,
        _ => Way::Double,
    });
    let first = ways.next();
    first != Some(Way::Whole) && ways.all(|way| Some(way) == first)
}

fn is_year_column(expr: &Expr, columns_count: usize) -> bool {
    let is_own = matches!(expr.kind, ExprKind::Column(idx) if idx < columns_count);
    let is_outer = matches!(&expr.kind, ExprKind::Slot(slot) if slot.is_column);
    expr.ty == ColumnType::Year && (is_own || is_outer)
}

/// A constant that a column of years is compared with is a year too, as if it were stored
/// (`convert_constant_arg_to_field` in MySQL's `item_cmpfunc.cc`).
fn beside_year(expr: Expr) -> Expr {
    if may_be_year(&expr) {
        as_year(expr)
    } else {
        expr
    }
}

fn as_year(expr: Expr) -> Expr {
    // The type stays that of what it may go on to be: a number, also where it was a date.
    let ty = if has_date(&expr) {
        ColumnType::BIGINT
    } else {
        expr.ty.clone()
    };
    Expr {
        nullable: expr.nullable,
        ty,
        kind: ExprKind::Cast(Box::new(expr), CastType::YearBeside),
    }
}

/// What a query gives for an operand: quotients and averages with all their digits, of which a client is shown some
/// (`Item_cache_decimal` in MySQL's `item.cc`). The rows of `UNION` and `DISTINCT` have what is shown.
pub(super) fn keep_digits(query: &mut Query) {
    let Query::Select(select) = query else {
        return;
    };
    if select.distinct {
        return;
    }
    for idx in 0..select.outputs.len() {
        let is_computed = is_computed(select, idx);
        if let Some(output) = select.outputs.get_mut(idx).filter(|_| is_computed) {
            let expr = std::mem::replace(&mut output.expr, literal::null());
            output.expr = exact(expr);
        }
    }
}

/// Whether an output is a number that may have more digits than it shows.
pub(super) fn is_computed(select: &Select, output_idx: usize) -> bool {
    let Some(output) = select.outputs.get(output_idx) else {
        return false;
    };
    let ExprKind::Column(idx) = output.expr.kind else {
        return has_more_digits(&output.expr);
    };
    let aggregation = select.aggregation.as_ref();
    let is_aggregate = aggregation.is_some_and(|aggregation| aggregation.keys.len() <= idx);
    (is_aggregate || select.windowing.is_some())
        && matches!(output.expr.ty, ColumnType::Decimal { .. })
}

/// Whether an expression over a row may have more digits than its type shows.
fn has_more_digits(expr: &Expr) -> bool {
    let is_given = matches!(
        expr.kind,
        ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_)
    );
    !is_given && matches!(expr.ty, ColumnType::Decimal { .. })
}

/// The value as it is, with digits that its type does not show.
pub(super) fn exact(expr: Expr) -> Expr {
    Expr {
        nullable: expr.nullable,
        ty: ColumnType::Dynamic,
        kind: ExprKind::Cast(Box::new(expr), CastType::AsIs),
    }
}

/// What a query gives for a column of numbers: bytes that are written out as a number, and a quotient with all its
/// digits, of which a client is shown some.
pub(super) fn as_stored(expr: Expr) -> Expr {
    if has_more_digits(&expr) {
        return exact(expr);
    }
    literal::as_number(expr)
}

fn may_be_year(expr: &Expr) -> bool {
    let is_fit = expr.ty.is_numeric() || expr.ty.is_text() || has_date(expr);
    let is_constant = is_fit && fold::is_said(expr) && !is_date_of_no_year(expr);
    matches!(expr.kind, ExprKind::Parameter(_)) || is_constant
}

/// A literal date whose year is no `YEAR` stays a date.
fn is_date_of_no_year(expr: &Expr) -> bool {
    let ExprKind::Literal(value @ (Value::Date(_) | Value::Datetime(_))) = &expr.kind else {
        return false;
    };
    !matches!(year_beside(value.borrow()), Value::Year(_))
}

fn has_date(expr: &Expr) -> bool {
    matches!(expr.ty, ColumnType::Date | ColumnType::Datetime { .. })
}

/// The arguments of `NULLIF`, which compares them as `=` does: beside a column of years the other is one. The
/// second says so, as the first stays what it is in the answer.
pub(super) fn null_if(mut args: Vec<Expr>, columns_count: usize) -> Vec<Expr> {
    if let [a, b] = args.as_mut_slice()
        && ((is_year_column(a, columns_count) && may_be_year(b))
            || (is_year_column(b, columns_count) && may_be_year(a)))
    {
        *b = as_year(b.clone());
    }
    args
}

/// Both sides of an arithmetic operator: hexadecimal literals become numbers, unless the bits of bytes
/// are meant.
pub(super) fn of_operator(op: BinaryOp, a: Expr, b: Expr) -> (Expr, Expr) {
    match op {
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor if typing::are_bytes(&a, &b) => {
            (a, b)
        }
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::IntegerDivide
        | BinaryOp::Modulo
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => (literal::as_number(a), literal::as_number(b)),
    }
}

/// # Errors
/// 1241 when one side is a row and the other none, or one of another length.
pub(super) fn same_width(a: &Expr, b: &Expr) -> Result<()> {
    match (row_width(a), row_width(b)) {
        (width, other) if width == other => Ok(()),
        (width, _) => Err(operand_columns(width)),
    }
}

fn row_width(expr: &Expr) -> usize {
    match &expr.kind {
        ExprKind::Row(members) => members.len(),
        _ => 1,
    }
}

pub(super) fn operand_columns(count: usize) -> Error {
    Error::new(
        Code::OperandColumns,
        format!("Operand should contain {count} column(s)"),
    )
}
