//! Truths in JSON documents: what is a number anywhere else is `true` or `false` there.

use super::literal;
use crate::sql::ast::{self, Literal};
use crate::sql::expr::{Expr, ExprKind};
use crate::types::{ColumnType, Value};

/// Where an argument becomes a part of a JSON document: a truth, which is a number else, as `true` or
/// `false`.
pub(super) fn keep_truth(arg: &mut Expr, written: Option<&ast::Expr>) {
    let json = |truth: bool| {
        let text = if truth { "true" } else { "false" };
        literal::value(Value::Json(text.into()), ColumnType::Json)
    };
    if let Some(ast::Expr::Literal(Literal::Bool(truth))) = written {
        *arg = json(*truth);
        return;
    }
    if !is_truth(&arg.kind) && !matches!(written, Some(ast::Expr::Exists(_))) {
        return;
    }
    let number = |truth| literal::value(Value::Int(truth), ColumnType::BIGINT);
    let operand = std::mem::replace(arg, literal::null());
    *arg = Expr {
        nullable: operand.nullable,
        ty: ColumnType::Json,
        kind: ExprKind::Case {
            operand: Some(Box::new(operand)),
            branches: vec![(number(1), json(true)), (number(0), json(false))],
            otherwise: None,
        },
    };
}

/// Whether an expression is a comparison or what joins them.
fn is_truth(kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Compare(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Xor(..)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsTruth { .. }
        | ExprKind::InList { .. }
        | ExprKind::InSet { .. }
        | ExprKind::Quantified { .. }
        | ExprKind::Between { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. } => true,
        ExprKind::Call(function, _) => OF_TRUTH.contains(&function.name),
        ExprKind::Literal(_)
        | ExprKind::Column(_)
        | ExprKind::Slot(_)
        | ExprKind::Parameter(_)
        | ExprKind::UserVariable(_)
        | ExprKind::SystemVariable { .. }
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Case { .. }
        | ExprKind::Cast(..)
        | ExprKind::DateShift { .. }
        | ExprKind::Row(_) => false,
    }
}

/// Functions that MySQL counts as comparisons.
const OF_TRUTH: &[&str] = &[
    "ISNULL",
    "IS_IPV4",
    "IS_IPV4_COMPAT",
    "IS_IPV4_MAPPED",
    "IS_IPV6",
    "IS_UUID",
    "JSON_CONTAINS",
    "JSON_CONTAINS_PATH",
    "JSON_OVERLAPS",
    "JSON_SCHEMA_VALID",
    "JSON_VALID",
    "MEMBER_OF",
    "REGEXP_LIKE",
];
