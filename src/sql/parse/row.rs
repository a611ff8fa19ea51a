//! Rows within rows, `((a, b), c)`.
//!
//! Rows are compared member by member, and so are those in them: as one row of all the values is. Where
//! all sides are built alike nothing is left of the inner ones; others stay, and `bind` refuses them.

use crate::sql::ast::Expr;

/// Both sides of a comparison, without rows in rows.
pub(super) fn flat_both((a, b): (Expr, Expr)) -> (Expr, Expr) {
    if is_nested(&a) && are_alike(&a, &b) {
        return (flat(a), flat(b));
    }
    (a, b)
}

/// What stands before `IN` and in its list, without rows in rows.
pub(super) fn flat_list(expr: Expr, list: Vec<Expr>) -> (Expr, Vec<Expr>) {
    if is_nested(&expr) && list.iter().all(|member| are_alike(&expr, member)) {
        return (flat(expr), list.into_iter().map(flat).collect());
    }
    (expr, list)
}

fn is_row(expr: &Expr) -> bool {
    matches!(expr, Expr::Row(_))
}

fn is_nested(expr: &Expr) -> bool {
    matches!(expr, Expr::Row(members) if members.iter().any(is_row))
}

/// Whether both have rows of the same lengths at the same places.
fn are_alike(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Row(a), Expr::Row(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_alike(a, b))
        }
        _ => !is_row(a) && !is_row(b),
    }
}

fn flat(expr: Expr) -> Expr {
    let mut values = Vec::new();
    push_values(expr, &mut values);
    Expr::Row(values)
}

fn push_values(expr: Expr, values: &mut Vec<Expr>) {
    match expr {
        Expr::Row(members) => members
            .into_iter()
            .for_each(|member| push_values(member, values)),
        value => values.push(value),
    }
}
