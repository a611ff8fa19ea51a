//! The rows of window functions: from slots that stand for their values to places of a row.
//!
//! What does not depend on a window function becomes an input, computed before all of them; so the
//! answers of subqueries, too, are asked for once and early.

use super::same::same;
use super::window::Draft;
use crate::error::Result;
use crate::sql::bound::{OrderBy, Output, Window, Windowing};
use crate::sql::eval::fold;
use crate::sql::expr::{Expr, ExprKind};

/// Puts the windowed row together.
struct Lifter {
    /// Slots of functions, by their position.
    slots: Vec<usize>,
    inputs: Vec<Expr>,
}

/// Rewrites what is selected and sorted by over the windowed row, and makes the windows for it;
/// `None` when there are no window functions.
///
/// # Errors
/// None of its own.
pub(super) fn assemble(
    mut drafts: Vec<Draft>,
    outputs: &mut [Output],
    order_by: &mut [OrderBy],
) -> Result<Option<Windowing>> {
    if drafts.is_empty() {
        return Ok(None);
    }
    let mut lifter = Lifter {
        slots: drafts.iter().map(|draft| draft.slot).collect(),
        inputs: Vec::new(),
    };
    let outputs = outputs.iter_mut().map(|output| &mut output.expr);
    let keys = order_by.iter_mut().map(|key| &mut key.expr);
    outputs.chain(keys).for_each(|expr| lifter.lift(expr));
    for draft in &mut drafts {
        draft.each_expr(&mut |expr| {
            lifter.lift(expr);
            Ok(())
        })?;
    }
    let functions_count = drafts.len();
    let mut windows: Vec<Window> = Vec::new();
    for (position, draft) in drafts.into_iter().enumerate() {
        let mut function = draft.function;
        function.position = position;
        let (partition_by, order_by) = (draft.partition_by, draft.order_by);
        let mut alike = windows.iter_mut();
        match alike.find(|window| is_alike(window, &partition_by, &order_by)) {
            Some(window) => window.functions.push(function),
            None => windows.push(Window {
                partition_by,
                order_by,
                functions: vec![function],
            }),
        }
    }
    Ok(Some(Windowing {
        functions_count,
        inputs: lifter.inputs,
        windows,
    }))
}

fn is_alike(window: &Window, partition_by: &[Expr], order_by: &[OrderBy]) -> bool {
    let keys = window.order_by.iter().zip(order_by);
    let mut parts = window.partition_by.iter().zip(partition_by);
    window.partition_by.len() == partition_by.len()
        && window.order_by.len() == order_by.len()
        && parts.all(|(a, b)| same(a, b))
        && keys
            .into_iter()
            .all(|(a, b)| a.descending == b.descending && same(&a.expr, &b.expr))
}

impl Lifter {
    fn lift(&mut self, expr: &mut Expr) {
        if let Some(position) = self.function(expr) {
            expr.kind = ExprKind::Column(position);
        } else if matches!(expr.kind, ExprKind::Row(_)) || self.has_function(expr) {
            fold::each_child_mut(expr, &mut |child| self.lift(child));
        } else if !fold::is_statement_constant(expr) {
            let known = self.inputs.iter().position(|input| same(input, expr));
            let input = known.unwrap_or_else(|| {
                self.inputs.push(expr.clone());
                self.inputs.len() - 1
            });
            expr.kind = ExprKind::Column(self.slots.len() + input);
        }
    }

    /// The position of the function whose value it is.
    fn function(&self, expr: &Expr) -> Option<usize> {
        match &expr.kind {
            ExprKind::Slot(slot) => self.slots.iter().position(|other| *other == slot.idx),
            _ => None,
        }
    }

    fn has_function(&self, expr: &Expr) -> bool {
        let mut found = self.function(expr).is_some();
        fold::each_child(expr, &mut |child| found |= self.has_function(child));
        found
    }
}
