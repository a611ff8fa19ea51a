//! Values that stand for those that are not known yet, while it is tried out how something would be
//! read: the columns of other tables in a lookup, those of the row around a subquery.
//!
//! They go into slots, and the planner takes them for constants. Where its plan is shown, each is shown
//! as what it stands for; so they are chosen apart from each other and from the constants of the
//! statement (`surroundings`), among values that its type has (`samples`). Where they contradict what
//! the statement says, `contradiction` plans without a part of it.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "asks for a few shapes of expression; all others are one case"
)]

mod samples;
mod surroundings;

#[cfg(test)]
mod tests;

pub use samples::{any, typical};
pub use surroundings::Surroundings;

use std::cmp::Ordering;
use std::sync::Arc;

use super::text::{self, Names};
use super::values;
use crate::sql::context::{EvalContext, SlotValue};
use crate::sql::eval::{self, fold};
use crate::sql::expr::{Expr, ExprKind, NoRow, Slot};
use crate::sql::members::Members;
use crate::types::temporal::Zone;
use crate::types::{ColumnType, Value};

/// How a value is chosen.
#[derive(Debug, Clone, Copy)]
pub enum Choice<'s> {
    /// The same for all slots of a type.
    Same,
    /// One that stands in no other slot and not among these.
    Distinct(&'s Surroundings<'s>),
}

/// What the values in a plan stand for.
#[derive(Debug, Clone, Default)]
pub struct StandIns {
    known: Vec<(Value<'static>, Arc<str>)>,
}

/// Fills a slot with a value of its type that stands for what is named.
pub fn fill(
    ctx: &mut EvalContext,
    (slot, ty, name): (usize, &ColumnType, &str),
    choice: Choice<'_>,
) {
    let value = match choice {
        Choice::Same => any(ty),
        Choice::Distinct(around) => around.choose((slot, ty), ctx),
    };
    ctx.fill(slot, SlotValue::StandIn(value, name.into()));
}

/// Whether two values are the same, or are by the text that is shown of them.
fn is_same(a: &Value<'static>, b: &Value<'static>) -> bool {
    values::compare(a, b) == Ordering::Equal || a.to_text() == b.to_text()
}

impl StandIns {
    /// Those of the slots of a context, and of what an expression computes from them.
    pub fn of(filter: Option<&Expr>, ctx: &EvalContext) -> StandIns {
        let mut known = Vec::new();
        for slot in &ctx.slots {
            if let SlotValue::StandIn(value, name) = slot {
                known.push((value.clone(), Arc::clone(name)));
            }
        }
        let mut all = StandIns { known };
        if let Some(filter) = filter.filter(|_| !all.known.is_empty()) {
            all.add_computed(filter, &ctx.quiet());
        }
        for (value, name) in all.known.clone() {
            for (value, more) in samples::neighbours(&value).into_iter().flatten() {
                all.known.push((value, format!("{name}{more}").into()));
            }
        }
        all
    }

    /// Adds the outermost parts of an expression that are computed from nothing but these.
    fn add_computed(&mut self, expr: &Expr, ctx: &EvalContext) {
        let is_plain = matches!(expr.kind, ExprKind::Slot(_) | ExprKind::Row(_));
        if !is_plain && reads_stand_in(expr, ctx) && eval::is_statement_constant(expr) {
            if let Ok(value) = eval::eval_exact(expr, &NoRow, ctx) {
                let name = |idx| format!("column {idx}");
                let names = Names {
                    column: &name,
                    zone: &ctx.zone,
                };
                let text = text::expression(expr, names);
                self.known.push((value.into_owned(), text.into()));
            }
            return;
        }
        fold::each_child(expr, &mut |child| self.add_computed(child, ctx));
    }

    /// What a value stands for.
    pub fn name_of(&self, value: &Value<'static>) -> Option<&Arc<str>> {
        let mut known = self.known.iter();
        let found = known.find(|(other, _)| is_same(other, value))?;
        Some(&found.1)
    }

    /// A value as it is shown.
    pub fn text_of(&self, value: &Value<'static>, zone: &Zone) -> String {
        match self.name_of(value) {
            Some(name) => name.to_string(),
            None => values::literal(value, zone),
        }
    }

    /// An expression with the names of what its constants stand for.
    #[must_use]
    pub fn named(&self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        if !self.known.is_empty() {
            self.put_names(&mut expr);
        }
        expr
    }

    fn put_names(&self, expr: &mut Expr) {
        if let ExprKind::Literal(value) = &expr.kind {
            if let Some(name) = self.name_of(value) {
                let text = Arc::clone(name);
                let (idx, per_row) = (usize::MAX, true);
                expr.kind = ExprKind::Slot(Slot {
                    idx,
                    per_row,
                    text,
                    is_column: false,
                    decimals: None,
                });
            }
            return;
        }
        fold::each_child_mut(expr, &mut |child| self.put_names(child));
    }
}

/// Whether a stand-in is among what an expression reads.
pub fn reads_stand_in(expr: &Expr, ctx: &EvalContext) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Slot(slot) => {
            matches!(ctx.slots.get(slot.idx), Some(SlotValue::StandIn(..)))
        }
        ExprKind::InSet { set, .. } | ExprKind::Quantified { set, .. } => {
            ctx.known_set(set).is_some_and(Members::is_stand_in)
        }
        _ => false,
    };
    fold::each_child(expr, &mut |child| {
        found = found || reads_stand_in(child, ctx);
    });
    found
}

/// Whether a stand-in is in a slot.
pub fn has_stand_in(ctx: &EvalContext) -> bool {
    ctx.slots.iter().any(|slot| match slot {
        SlotValue::StandIn(..) => true,
        SlotValue::Set(members) => members.is_stand_in(),
        SlotValue::Unset | SlotValue::Value(_) | SlotValue::Failed(_) => false,
    })
}
