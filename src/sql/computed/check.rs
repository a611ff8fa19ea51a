//! What an index cannot compute, because it is not the same for every session and at every time.
//!
//! ```text
//!   variables, parameters, NOW(), UUID(), …   never
//!   TIMESTAMP                                 only IS [NOT] NULL: all else sees the session's zone
//!   TIME                                      with TIME and texts: as a date it is one of today
//!   a text as date or time                    a constant without offset; else zone and sql_mode
//!   YEAR(d), DATE_FORMAT(d, f), …             of DATE and DATETIME
//! ```
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "names the shapes that are refused; all others are taken"
)]

use crate::sql::eval::{self, Stability, fold};
use crate::sql::expr::{CastType, Expr, ExprKind};
use crate::types::{ColumnType, Value};

/// Functions of dates that depend on the session only where they read texts or timestamps.
const OF_DATES: &[&str] = &[
    "ADDDATE",
    "DATE",
    "DATEDIFF",
    "DATE_FORMAT",
    "DAY",
    "DAYNAME",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "EXTRACT",
    "HOUR",
    "LAST_DAY",
    "MICROSECOND",
    "MINUTE",
    "MONTH",
    "MONTHNAME",
    "QUARTER",
    "SECOND",
    "SUBDATE",
    "TIMESTAMPADD",
    "TIMESTAMPDIFF",
    "TO_DAYS",
    "TO_SECONDS",
    "WEEK",
    "WEEKDAY",
    "WEEKOFYEAR",
    "YEAR",
    "YEARWEEK",
];

/// Of them, those that take a `TIME` as it is.
const OF_TIMES: &[&str] = &["HOUR", "MINUTE", "SECOND", "MICROSECOND"];

/// Functions that bring their arguments to one type, or compare them.
const OF_ONE_TYPE: &[&str] = &[
    "COALESCE", "ELT", "FIELD", "GREATEST", "IF", "IFNULL", "INTERVAL", "LEAST", "NULLIF",
];

/// What of an expression an index cannot compute, in words; `None` when it can.
pub(super) fn obstacle(expr: &Expr) -> Option<String> {
    let own = match &expr.kind {
        ExprKind::Parameter(_) => Some("a parameter".to_owned()),
        ExprKind::UserVariable(name) => Some(format!("the variable @{name}")),
        ExprKind::SystemVariable { name, .. } => Some(format!("the variable @@{name}")),
        ExprKind::IsNull { expr, .. } if matches!(expr.kind, ExprKind::Column(_)) => return None,
        ExprKind::Column(_) if matches!(expr.ty, ColumnType::Timestamp { .. }) => Some(
            "a TIMESTAMP, which every session sees in its own time zone: use DATETIME".to_owned(),
        ),
        ExprKind::Call(function, args) => call(function.name, function.stability, args),
        ExprKind::Compare(_, a, b) => compared(a, b),
        ExprKind::Between {
            expr, low, high, ..
        } => mixed(&[expr, low, high]),
        ExprKind::InList { expr, list, .. } => {
            list.iter().find_map(|member| compared(expr, member))
        }
        ExprKind::Case {
            operand,
            branches,
            otherwise,
        } => {
            let results = branches.iter().map(|(_, result)| result);
            let results: Vec<&Expr> = results.chain(otherwise.as_deref()).collect();
            let conditions = branches.iter().map(|(condition, _)| condition);
            let mut pairs = operand.as_deref().into_iter().flat_map(|operand| {
                let conditions = conditions.clone();
                conditions.map(move |condition| [operand, condition])
            });
            mixed(&results).or_else(|| pairs.find_map(|pair| mixed(&pair)))
        }
        ExprKind::Cast(a, target) => cast(a, target),
        ExprKind::DateShift { date, .. } if !is_date(date) => Some(text_as_date("+ INTERVAL")),
        _ => None,
    };
    own.or_else(|| {
        let mut found = None;
        fold::each_child(expr, &mut |child| {
            if found.is_none() {
                found = obstacle(child);
            }
        });
        found
    })
}

fn call(name: &str, stability: Stability, args: &[Expr]) -> Option<String> {
    let called = || format!("{}()", name.to_ascii_lowercase());
    if name == "CONVERT_TZ" {
        return Some(format!("{}: the rules of time zones change", called()));
    }
    match stability {
        Stability::Constant if OF_ONE_TYPE.contains(&name) => {
            mixed(&args.iter().collect::<Vec<_>>())
        }
        Stability::Constant => None,
        Stability::Row => Some(called()),
        Stability::Statement if !OF_DATES.contains(&name) => Some(called()),
        Stability::Statement => {
            let takes = |arg: &Expr| match arg.ty {
                _ if eval::is_constant(arg) => !has_offset(arg),
                ColumnType::Time { .. } => OF_TIMES.contains(&name),
                ref ty => is_date(arg) || ty.is_numeric(),
            };
            let is_of_row = !args.iter().all(eval::is_constant);
            (!is_of_row || !args.iter().all(takes)).then(|| text_as_date(&called()))
        }
    }
}

fn cast(a: &Expr, target: &CastType) -> Option<String> {
    let is_temporal = matches!(
        target,
        CastType::Date
            | CastType::Datetime(_)
            | CastType::Time(_)
            | CastType::Year
            | CastType::YearBeside
    );
    let takes = match a.ty {
        ColumnType::Date | ColumnType::Datetime { .. } | ColumnType::Year => true,
        ColumnType::Time { .. } => matches!(target, CastType::Time(_)),
        _ => eval::is_constant(a) && !has_offset(a),
    };
    (is_temporal && !takes).then(|| text_as_date("CAST"))
}

/// The comparison of two operands, which may be rows.
fn compared(a: &Expr, b: &Expr) -> Option<String> {
    match (&a.kind, &b.kind) {
        (ExprKind::Row(a), ExprKind::Row(b)) => a.iter().zip(b).find_map(|(a, b)| compared(a, b)),
        _ => mixed(&[a, b]),
    }
}

/// A comparison of dates or times with something else than a constant.
fn mixed(operands: &[&Expr]) -> Option<String> {
    let is_time = |expr: &&&Expr| matches!(expr.ty, ColumnType::Time { .. });
    let dates = operands.iter().filter(|operand| is_date(operand)).count();
    let times = operands.iter().filter(is_time).count();
    let is_plain = |operand: &&Expr| match operand.ty {
        // Beside a date it is a time of today, a constant too.
        ColumnType::Time { .. } => dates == 0,
        _ if eval::is_constant(operand) => !has_offset(operand),
        ref ty => is_date(operand) || ty.is_numeric(),
    };
    let is_mixed = dates + times != 0 && !operands.iter().all(is_plain);
    is_mixed.then(|| text_as_date("a comparison"))
}

fn is_date(expr: &Expr) -> bool {
    matches!(expr.ty, ColumnType::Date | ColumnType::Datetime { .. })
}

/// Whether a constant text ends with `+hh:mm` or `-hh:mm`: then it is another time in each zone.
fn has_offset(expr: &Expr) -> bool {
    let ExprKind::Literal(Value::Text(text)) = &expr.kind else {
        return false;
    };
    let end = text.len().checked_sub(6).and_then(|at| text.get(at..));
    end.is_some_and(|end| end.starts_with(['+', '-']) && end.get(3..4) == Some(":"))
}

fn text_as_date(what: &str) -> String {
    format!("{what} of what is no DATE or DATETIME: what it means depends on the session")
}
