//! The names that the expressions of a statement of several tables see.

use super::{BlockShown, JoinShown, RowsShown, TableShown};
use crate::plan::explain::steps::Scope;
use crate::plan::join;
use crate::plan::text;
use crate::sql::expr::{Expr, ExprKind};
use crate::types::temporal::Zone;

/// Over the row that a block reads.
pub(super) fn of_block<'a>(block: &'a BlockShown<'_>, zone: &'a Zone) -> Scope<'a> {
    match &block.rows {
        RowsShown::Nothing => Scope::over(zone, |idx| format!("column {idx}")),
        RowsShown::Table(table) => of_table(table, zone),
        RowsShown::Join(join) => of_join(join, zone),
    }
}

/// Over the row of a join.
pub(super) fn of_join<'a>(join: &'a JoinShown<'_>, zone: &'a Zone) -> Scope<'a> {
    Scope::over(zone, |idx| join::column_name(join.joined, idx))
}

/// Over the row of a table.
pub(super) fn of_table<'a>(table: &'a TableShown<'_>, zone: &'a Zone) -> Scope<'a> {
    Scope::over(zone, |idx| {
        let name = text::column_name(table.table, idx);
        format!("{}.{name}", table.alias)
    })
}

/// The condition that is left for each row that is read of a table.
pub(super) fn residual(table: &TableShown<'_>, zone: &Zone) -> Option<String> {
    let residual = table.plan.residual.as_ref()?;
    Some(of_table(table, zone).text(&table.names.named(residual)))
}

/// The members of a condition.
pub(super) fn conjuncts(condition: Option<&Expr>) -> Vec<&Expr> {
    match condition {
        Some(Expr {
            kind: ExprKind::And(members),
            ..
        }) => members.iter().collect(),
        Some(other) => vec![other],
        None => Vec::new(),
    }
}
