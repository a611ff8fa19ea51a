//! Comparison of values, as MySQL's operators do it. The order of rows in an index or a sort is
//! not this: that is the total order of `types`.
//!
//! ```text
//!   text, bytes, ENUM with each other     bytes
//!   date or time with text, bytes, ENUM   as dates and times; a bad constant of the statement's is error
//!                                         1525, a bad text of a row a warning: it is before all dates
//!   TIMESTAMP with date or text           in UTC, through the session's zone
//!   date with YEAR                        as dates, the year's month and day zero
//!   date or time with number              as dates when the number is one, else as numbers
//!   integer, DECIMAL with each other      exactly; integer with a text of digits too
//!   anything else with a number           as doubles
//! ```
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use std::cmp::Ordering;

use super::super::expr::{CompareOp, Expr, ExprKind, NoRow};
use super::convert::{self, Number};
use super::{Scope, fold, moment};
use crate::error::{Code, Error, Result};
use crate::sql::context::EvalContext;
use crate::sql::functions::json;
use crate::types::{ColumnType, Datetime, Decimal, Timestamp, Value};

/// `a op b`, for values and for rows.
pub(crate) fn compare<'a>(
    scope: Scope<'a>,
    op: CompareOp,
    operands: (&'a Expr, &'a Expr),
) -> Result<Option<bool>> {
    let (a, b) = operands;
    if let (ExprKind::Row(left), ExprKind::Row(right)) = (&a.kind, &b.kind) {
        return compare_rows(scope, op, (left, right));
    }
    let left = scope.value(a)?;
    if matches!(left, Value::Null) && op != CompareOp::NullSafeEqual {
        return Ok(None);
    }
    let right = scope.value(b)?;
    match (&left, &right) {
        (Value::Int(x), Value::Int(y)) => return Ok(Some(holds(op, x.cmp(y)))),
        (Value::Text(x), Value::Text(y)) => {
            return Ok(Some(holds(op, x.as_bytes().cmp(y.as_bytes()))));
        }
        _ => {}
    }
    // The row of a dynamic column that has a date says nothing about the constant beside it.
    if a.ty != ColumnType::Dynamic && b.ty != ColumnType::Dynamic {
        reject_bad_date(&left, (&right, b), scope.ctx)?;
        reject_bad_date(&right, (&left, a), scope.ctx)?;
    }
    compare_values(op, (&left, &right), scope.ctx)
}

/// How a date lies to a year, which is a date whose month and day are zero (`try_year_cmp_func` in MySQL's
/// `item_cmpfunc.cc`). Operators compare so; in a list and between bounds both are numbers.
fn beside_year(dated: &Value<'_>, year: &Value<'_>, ctx: &EvalContext) -> Result<Option<Ordering>> {
    let (Value::Year(year), true) = (year, is_dated(dated)) else {
        return Ok(None);
    };
    let Some(at) = moment::datetime(dated, ctx)? else {
        return Ok(None);
    };
    let is_later = at.date().month() != 0 || at.date().day() != 0 || at != at.date().at_midnight();
    Ok(Some(at.date().year().cmp(year).then(is_later.cmp(&false))))
}

/// `a op b` of two values.
pub(super) fn compare_values(
    op: CompareOp,
    values: (&Value<'_>, &Value<'_>),
    ctx: &EvalContext,
) -> Result<Option<bool>> {
    let order_of_year = match beside_year(values.0, values.1, ctx)? {
        Some(order) => Some(order),
        None => beside_year(values.1, values.0, ctx)?.map(Ordering::reverse),
    };
    if let Some(order) = order_of_year {
        return Ok(Some(holds(op, order)));
    }
    if op == CompareOp::NullSafeEqual {
        let nulls = (
            matches!(values.0, Value::Null),
            matches!(values.1, Value::Null),
        );
        if nulls.0 || nulls.1 {
            return Ok(Some(nulls.0 == nulls.1));
        }
        return Ok(Some(
            order(values.0, values.1, ctx)? == Some(Ordering::Equal),
        ));
    }
    Ok(order(values.0, values.1, ctx)?.map(|order| holds(op, order)))
}

/// Whether `op` holds between values of this order.
fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Equal | CompareOp::NullSafeEqual => order.is_eq(),
        CompareOp::NotEqual => order.is_ne(),
        CompareOp::Less => order.is_lt(),
        CompareOp::LessOrEqual => order.is_le(),
        CompareOp::Greater => order.is_gt(),
        CompareOp::GreaterOrEqual => order.is_ge(),
    }
}

/// Rows compare by their first pair that is not equal; a `NULL` before it makes it unknown.
fn compare_rows<'a>(
    scope: Scope<'a>,
    op: CompareOp,
    rows: (&'a [Expr], &'a [Expr]),
) -> Result<Option<bool>> {
    if rows.0.len() != rows.1.len() {
        let text = format!("Operand should contain {} column(s)", rows.0.len());
        return Err(Error::new(Code::OperandColumns, text));
    }
    let by_order = match op {
        CompareOp::Equal | CompareOp::NotEqual => false,
        CompareOp::NullSafeEqual => return null_safe_rows(scope, rows),
        CompareOp::Less
        | CompareOp::LessOrEqual
        | CompareOp::Greater
        | CompareOp::GreaterOrEqual => true,
    };
    let mut is_known = true;
    for pair in rows.0.iter().zip(rows.1) {
        match compare(scope, CompareOp::Equal, pair)? {
            Some(true) => {}
            Some(false) if by_order => return compare(scope, op, pair),
            Some(false) => return Ok(Some(op == CompareOp::NotEqual)),
            None if by_order => return Ok(None),
            None => is_known = false,
        }
    }
    Ok(is_known.then(|| holds(op, Ordering::Equal)))
}

fn null_safe_rows<'a>(scope: Scope<'a>, rows: (&'a [Expr], &'a [Expr])) -> Result<Option<bool>> {
    for pair in rows.0.iter().zip(rows.1) {
        if compare(scope, CompareOp::NullSafeEqual, pair)? != Some(true) {
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}

/// `expr IN (list)`.
pub(crate) fn is_in<'a>(
    scope: Scope<'a>,
    expr: &'a Expr,
    list: &'a [Expr],
) -> Result<Option<bool>> {
    let is_row = matches!(expr.kind, ExprKind::Row(_));
    let operand = if is_row {
        Value::Null
    } else {
        scope.value(expr)?
    };
    if !is_row && matches!(operand, Value::Null) {
        return Ok(None);
    }
    let mut answer = Some(false);
    for member in list {
        let equal = if is_row {
            compare(scope, CompareOp::Equal, (expr, member))?
        } else {
            let value = scope.value(member)?;
            if expr.ty != ColumnType::Dynamic {
                reject_bad_date(&operand, (&value, member), scope.ctx)?;
            }
            is_equal(&operand, &value, scope.ctx)?
        };
        match equal {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => answer = None,
        }
    }
    Ok(answer)
}

/// `expr BETWEEN low AND high`. With a number among the three, texts count as numbers, digits beside integers exactly,
/// but not where a date is looked for; with a number and a time, a date counts as one, too.
pub(crate) fn is_between<'a>(
    scope: Scope<'a>,
    expr: &'a Expr,
    bounds: (&'a Expr, &'a Expr),
) -> Result<Option<bool>> {
    let (low_expr, high_expr) = bounds;
    let mut value = scope.value(expr)?;
    let (mut low, mut high) = (scope.value(low_expr)?, scope.value(high_expr)?);
    let all = [&value, &low, &high];
    if all.iter().any(|value| value.is_number()) && !is_dated(&value) {
        let is_exact = |value: &&Value<'_>| is_integer(value) || !value.is_number();
        let are_exact = all.iter().all(is_exact);
        for value in [&mut value, &mut low, &mut high] {
            if is_string(value) {
                *value = number_of_text(value, are_exact, scope.ctx)?;
            }
        }
    }
    if expr.ty != ColumnType::Dynamic {
        reject_bad_date(&value, (&low, low_expr), scope.ctx)?;
        reject_bad_date(&value, (&high, high_expr), scope.ctx)?;
    }
    let all = [&value, &low, &high];
    let is_null = |value: &&Value<'_>| matches!(value, Value::Null);
    let are_numbers = all.iter().any(|value| value.is_number())
        && all.iter().any(|value| matches!(value, Value::Time(_)))
        && !all.iter().any(is_null);
    let order = if are_numbers { order_as_numbers } else { order };
    let from_low = order(&value, &low, scope.ctx)?.map(Ordering::is_ge);
    let to_high = order(&value, &high, scope.ctx)?.map(Ordering::is_le);
    Ok(match (from_low, to_high) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        (None, _) | (_, None) => None,
    })
}

/// A text as a number among others.
fn number_of_text(text: &Value<'_>, is_exact: bool, ctx: &EvalContext) -> Result<Value<'static>> {
    if let Value::Text(digits) = text
        && is_exact
        && let Some(number) = Decimal::parse_plain(digits)
    {
        return Ok(Value::Decimal(number));
    }
    let number = convert::double(text, ctx)?;
    Ok(number.map_or(Value::Null, Value::Double))
}

/// `a = b`.
pub(crate) fn is_equal(a: &Value<'_>, b: &Value<'_>, ctx: &EvalContext) -> Result<Option<bool>> {
    Ok(order(a, b, ctx)?.map(Ordering::is_eq))
}

fn is_integer(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::UInt(_))
}

fn is_string(value: &Value<'_>) -> bool {
    matches!(value, Value::Text(_) | Value::Bytes(_))
}

/// Whether the value has a date.
pub(crate) fn is_dated(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Date(_) | Value::Datetime(_) | Value::Timestamp(_)
    )
}

/// How `a` lies to `b`; `None` when either is `NULL`, or no time where a time must be.
///
/// # Errors
/// 1292 for a bad text in a strict write, 1041 when the process has no memory to read documents.
pub(crate) fn order(a: &Value<'_>, b: &Value<'_>, ctx: &EvalContext) -> Result<Option<Ordering>> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (Value::Int(a), Value::Int(b)) => Ok(Some(a.cmp(b))),
        (Value::Text(a), Value::Text(b)) => Ok(Some(a.as_bytes().cmp(b.as_bytes()))),
        (Value::UInt(a), Value::UInt(b)) => Ok(Some(a.cmp(b))),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Some(a.cmp(b))),
        (Value::Double(a), Value::Double(b)) => Ok(Some(order_doubles(*a, *b))),
        (Value::Json(_), _) => order_json(a, b, ctx),
        (_, Value::Json(_)) => Ok(order_json(b, a, ctx)?.map(Ordering::reverse)),
        (
            Value::Text(_) | Value::Bytes(_) | Value::Enum(_),
            Value::Text(_) | Value::Bytes(_) | Value::Enum(_),
        ) => Ok(Some(convert::bytes(a, ctx).cmp(&convert::bytes(b, ctx)))),
        _ if is_dated(a) => order_dated(a, b, ctx),
        _ if is_dated(b) => Ok(order_dated(b, a, ctx)?.map(Ordering::reverse)),
        (Value::Time(time), _) => order_time(*time, (a, b), ctx),
        (_, Value::Time(time)) => Ok(order_time(*time, (b, a), ctx)?.map(Ordering::reverse)),
        _ => order_as_numbers(a, b, ctx),
    }
}

fn order_doubles(a: f64, b: f64) -> Ordering {
    // There is no NaN in SQL; where one arises it equals all.
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn order_as_numbers(a: &Value<'_>, b: &Value<'_>, ctx: &EvalContext) -> Result<Option<Ordering>> {
    let exact = match (a, b) {
        (Value::Int(_) | Value::UInt(_), Value::Text(text)) => {
            Decimal::parse_plain(text).and_then(|text| exact(a).map(|number| number.cmp(&text)))
        }
        (Value::Text(text), Value::Int(_) | Value::UInt(_)) => {
            Decimal::parse_plain(text).and_then(|text| exact(b).map(|number| text.cmp(&number)))
        }
        _ => None,
    };
    if exact.is_some() {
        return Ok(exact);
    }
    let (Some(a), Some(b)) = (convert::number(a, ctx)?, convert::number(b, ctx)?) else {
        return Ok(None);
    };
    Ok(Some(order_numbers(a, b)))
}

/// How two numbers lie to each other: exactly unless one is a double.
pub(crate) fn order_numbers(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Double(_), _) | (_, Number::Double(_)) => order_doubles(a.to_f64(), b.to_f64()),
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            match (a.to_decimal(), b.to_decimal()) {
                (Some(a), Some(b)) => a.cmp(&b),
                (None, _) | (_, None) => order_doubles(a.to_f64(), b.to_f64()),
            }
        }
        (Number::Int(_) | Number::UInt(_), Number::Int(_) | Number::UInt(_)) => {
            a.to_i128().cmp(&b.to_i128())
        }
    }
}

fn exact(value: &Value<'_>) -> Option<Decimal> {
    match value {
        Value::Int(number) => Some(Decimal::from_i64(*number)),
        Value::UInt(number) => Some(Decimal::from_u64(*number)),
        _ => None,
    }
}

/// `a` is a date, a datetime or a timestamp.
fn order_dated(a: &Value<'_>, b: &Value<'_>, ctx: &EvalContext) -> Result<Option<Ordering>> {
    if let (Value::Timestamp(a), Value::Timestamp(b)) = (a, b) {
        return Ok(Some(a.cmp(b)));
    }
    if let (Value::Timestamp(at), Some(point)) = (a, millis_of(b)) {
        return Ok(Some(i128::from(at.total_micros()).cmp(&point)));
    }
    let other = match b {
        // MySQL takes a bad one as `0000-00-00`, and never as `NULL` (`get_datetime_value` in its
        // `item_cmpfunc.cc`).
        Value::Text(_) | Value::Bytes(_) | Value::Enum(_) => {
            match datetime_of_text(&convert::text(b, ctx), ctx)? {
                Some(at) => Some(at),
                None => return Ok(Some(Ordering::Greater)),
            }
        }
        Value::Date(_) | Value::Datetime(_) | Value::Timestamp(_) | Value::Time(_) => {
            moment::datetime(b, ctx)?
        }
        _ => match moment::datetime_of_number(b, ctx)? {
            Some(at) => Some(at),
            None => return order_as_numbers(a, b, ctx),
        },
    };
    let Some(other) = other else {
        return Ok(None);
    };
    if let Value::Timestamp(at) = a {
        return Ok(Some(order_timestamp(*at, other, ctx)));
    }
    if let (Value::Timestamp(at), Some(datetime)) = (b, moment::datetime(a, ctx)?) {
        return Ok(Some(order_timestamp(*at, datetime, ctx).reverse()));
    }
    Ok(moment::datetime(a, ctx)?.map(|at| at.cmp(&other)))
}

/// The microseconds since 1970 that an integer beside a TIMESTAMP means: milliseconds (README, Known differences),
/// unless it is so large that it must be `YYYYMMDDhhmmss`.
fn millis_of(number: &Value<'_>) -> Option<i128> {
    const DATES_FROM: i128 = 10_000_101_000_000;
    let millis = match number {
        Value::Int(number) => i128::from(*number),
        Value::UInt(number) => i128::from(*number),
        _ => return None,
    };
    (millis < DATES_FROM).then_some(millis * 1000)
}

fn datetime_of_text(text: &str, ctx: &EvalContext) -> Result<Option<Datetime>> {
    let Some(parsed) = moment::parse_datetime(text, ctx) else {
        warn_bad_date(text, ctx);
        return Ok(None);
    };
    if parsed.is_truncated {
        convert::truncated(ctx, "datetime", text)?;
    }
    Ok(Some(parsed.datetime))
}

/// Whether it is a text that is no date.
pub(crate) fn is_bad_date(value: &Value<'_>, ctx: &EvalContext) -> bool {
    matches!(value, Value::Text(_) | Value::Bytes(_) | Value::Enum(_))
        && moment::parse_datetime(&convert::text(value, ctx), ctx).is_none()
}

fn warn_bad_date(text: &str, ctx: &EvalContext) {
    convert::warn(ctx, Code::IncorrectTypeValue, || {
        format!("Incorrect datetime value: '{}'", convert::shown(text))
    });
}

/// A moment against what clocks show, compared in UTC.
fn order_timestamp(at: Timestamp, local: Datetime, ctx: &EvalContext) -> Ordering {
    match ctx.zone.to_timestamp(local).nearest() {
        Some(other) => at.cmp(&other),
        None => ctx.zone.to_datetime(at).cmp(&local),
    }
}

/// `values.0` is the time, and `values.1` no date.
fn order_time(
    time: crate::types::Time,
    values: (&Value<'_>, &Value<'_>),
    ctx: &EvalContext,
) -> Result<Option<Ordering>> {
    match values.1 {
        Value::Time(other) => Ok(Some(time.cmp(other))),
        Value::Text(_) | Value::Bytes(_) | Value::Enum(_) => {
            Ok(moment::time(values.1, ctx)?.map(|other| time.cmp(&other)))
        }
        _ => order_as_numbers(values.0, values.1, ctx),
    }
}

/// A JSON scalar compares with SQL values by what it holds; anything else by its text.
fn order_json(json: &Value<'_>, other: &Value<'_>, ctx: &EvalContext) -> Result<Option<Ordering>> {
    let Value::Json(text) = json else {
        return Ok(None);
    };
    // A number beside anything but a number is never equal as a part of a document, and so beside one.
    let as_parts = match other {
        Value::Text(_) | Value::Enum(_) => true,
        _ => {
            other.is_number()
                && !text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        }
    };
    match other {
        Value::Json(other) => json::order(text, other, ctx).map(Some),
        _ if as_parts => {
            let other = json::text_of(other, ctx)?;
            json::order(text, &other, ctx).map(Some)
        }
        _ if other.is_number() => order_as_numbers(json, other, ctx),
        _ => {
            let unquoted = serde_json::from_str::<String>(text).ok();
            let plain = unquoted.as_deref().unwrap_or(text);
            Ok(Some(plain.cmp(&*convert::text(other, ctx))))
        }
    }
}

/// Error 1525 when a text that the statement says stands against a date and is none.
fn reject_bad_date(dated: &Value<'_>, other: (&Value<'_>, &Expr), ctx: &EvalContext) -> Result<()> {
    let kind = match dated {
        Value::Date(_) => "DATE",
        Value::Datetime(_) => "DATETIME",
        Value::Timestamp(_) => "TIMESTAMP",
        _ => return Ok(()),
    };
    if !fold::is_said(other.1) || !is_bad_date(other.0, ctx) {
        return Ok(());
    }
    Err(bad_date(kind, other.0, ctx))
}

fn bad_date(kind: &str, value: &Value<'_>, ctx: &EvalContext) -> Error {
    let text = convert::text(value, ctx);
    let text = format!("Incorrect {kind} value: '{}'", convert::shown(&text));
    Error::new(Code::DurationOverflow, text)
}

/// Error 1525 for a text of the statement's beside a date, whether or not a row is met.
///
/// # Errors
/// 1525.
pub(crate) fn check_said_date(dated: &Expr, other: &Expr, ctx: &EvalContext) -> Result<()> {
    let kind = match dated.ty {
        ColumnType::Date => "DATE",
        ColumnType::Datetime { .. } => "DATETIME",
        ColumnType::Timestamp { .. } => "TIMESTAMP",
        _ => return Ok(()),
    };
    if !fold::is_said(other) {
        return Ok(());
    }
    let value = match &other.kind {
        ExprKind::Literal(value) => Ok(value.borrow()),
        _ => super::eval_exact(other, &NoRow, &ctx.quiet()).map(Value::into_owned),
    };
    match value {
        Ok(value) if is_bad_date(&value, ctx) => Err(bad_date(kind, &value, ctx)),
        Ok(_) | Err(_) => Ok(()),
    }
}
