//! `@a := value`, and reading a variable that the same statement assigns: no functions by name, but
//! computed anew for each row as such functions are.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

use super::{Call, Function, Value, result};
use crate::error::{Error, Result};
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::ColumnType;

functions! {
    /// Not part of the registry: nobody can call them.
    TABLE of Information:
    ":=" 2..2 "name, value" result::of_second, Always, Row, Eager(assign), "Sets a variable of the session.";
    "@" 1..1 "name" result::text, Always, Row, Eager(read), "A variable of the session, as it is now.";
}

/// `@name := value`.
pub(crate) fn assignment(name: &str, value: Expr) -> Result<Expr> {
    let (ty, nullable) = (value.ty.clone(), value.nullable);
    of(0, vec![name_of(name), value], (ty, nullable))
}

/// `@name`, read for each row.
pub(crate) fn reading(name: &str, ty: ColumnType) -> Result<Expr> {
    of(1, vec![name_of(name)], (ty, true))
}

/// Such an expression as SQL writes it, but for the value that is assigned.
pub(crate) fn text(function: &Function, args: &[Expr]) -> Option<String> {
    let ExprKind::Literal(name) = &args.first()?.kind else {
        return None;
    };
    match function.name {
        ":=" => Some(format!("@{} := ", name.to_text())),
        "@" => Some(format!("@{}", name.to_text())),
        _ => None,
    }
}

/// Whether a variable is assigned or read in it for each row.
pub(crate) fn is_in(expr: &Expr) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Call(function, args) => text(function, args).is_some(),
        _ => false,
    };
    fold::each_child(expr, &mut |child| found |= is_in(child));
    found
}

fn of(position: usize, args: Vec<Expr>, (ty, nullable): (ColumnType, bool)) -> Result<Expr> {
    let Some(function) = TABLE.get(position) else {
        return Err(Error::internal("a function that is not there"));
    };
    let kind = ExprKind::Call(function, args);
    Ok(Expr { kind, ty, nullable })
}

fn name_of(name: &str) -> Expr {
    Expr {
        kind: ExprKind::Literal(Value::Text(name.to_owned().into())),
        ty: ColumnType::VARCHAR,
        nullable: false,
    }
}

fn assign<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let [name, value] = values else {
        return Err(Error::internal("an assignment without value"));
    };
    let kept = value.clone().into_owned();
    call.ctx.facts.assign_user_variable(&name.to_text(), kept)?;
    Ok(value.clone())
}

fn read<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let name = values.first().map(Value::to_text).unwrap_or_default();
    call.ctx.facts.copied_user_variable(&name)
}
